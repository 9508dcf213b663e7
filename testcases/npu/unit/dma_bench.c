/* dma_bench.c - the AXI side of the DMA benches. */
#include "dma_bench.h"

#include <string.h>

const char *const dma_profile_names[6] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};

int dma_bus_open(unit *u, dma_bus *bus, bool write) {
    char err[256] = "";
    const tb_axi_profile *profile = tb_axi_profile_find(tb_knobs_get_name(u->knobs, "bus"));
    memset(bus, 0, sizeof *bus);
    if (tb_axi_bind(&bus->port, &u->run.sim, "m_", false, err, sizeof err) != 0 || !profile) {
        tb_result_fail(u->result, TB_ERROR, "bind", "%s: %s", u->name, profile ? err : "no such bus profile");
        return -1;
    }
    if (tb_ddr_init(&bus->mem, DMA_BASE, write ? DMA_FAR : DMA_SIZE, u->seed) != 0) {
        return -1;
    }
    tb_axi_mon_cfg mon;
    tb_axi_mon_defaults(&mon, "m", &bus->port);
    mon.proj = (tb_axi_project){.on = true,
                                .max_reads = DMA_OUTSTANDING,
                                .max_writes = DMA_OUTSTANDING,
                                .incr_only = true,
                                .no_lock = true,
                                .read_only = !write,
                                .write_only = write,
                                .ids = 1,
                                .addr_bits = 32};
    if (tb_axi_mon_init(&bus->mon, &mon) != 0) {
        tb_ddr_free(&bus->mem);
        return -1;
    }
    if (tb_axi_slave_init(&bus->slave, &bus->port, &bus->mem, profile, unit_stream(u, "bus_timing")) != 0) {
        tb_axi_mon_free(&bus->mon);
        tb_ddr_free(&bus->mem);
        return -1;
    }
    tb_axi_mon_reset(&bus->mon); /* the bench begins behind a reset */
    bus->up = true;
    bus->flush = unit_port(u, write ? "wr_flush_i" : "rd_flush_i");
    bus->idle = unit_port(u, write ? "wr_idle_o" : "rd_idle_o");
    bus->rng_flush = unit_stream(u, "flush_at");
    tb_rng rng = unit_stream(u, "errors_at");
    for (int64_t i = 0; i < unit_knob(u, "errors"); i++) {
        tb_axi_slave_inject(&bus->slave, write, tb_rng_range(&rng, 0, (uint64_t)unit_knob(u, "jobs")));
    }
    return 0;
}

void dma_bus_close(dma_bus *bus) {
    if (bus->up) {
        tb_axi_slave_free(&bus->slave);
        tb_axi_mon_free(&bus->mon);
        tb_ddr_free(&bus->mem);
    }
}

static void check_rules(unit *u, const dma_bus *bus) {
    if (bus->mon.violations > 0) {
        char text[320];
        tb_axi_violation_text(&bus->mon, &bus->mon.first[0], text, sizeof text);
        unit_fail(u, tb_axi_rule_name(bus->mon.first[0].rule), "%s", text);
    }
}

bool dma_bus_flush(dma_bus *bus, uint32_t rate) {
    const bool begins = bus->flush_left == 0 && tb_rng_chance(&bus->rng_flush, rate, 10000);
    if (begins) {
        bus->flush_left = (uint32_t)tb_rng_range(&bus->rng_flush, 1, 40);
    }
    tb_set(bus->flush, bus->flush_left > 0);
    return begins;
}

void dma_bus_drive(unit *u, dma_bus *bus) {
    tb_axi_slave_drive(&bus->slave, u->cycle);
    unit_settle(u);
}

void dma_bus_edge(unit *u, dma_bus *bus) {
    tb_axi_sample s;
    tb_axi_sample_port(&bus->port, u->cycle, true, &s);
    tb_axi_slave_sample(&bus->slave);
    tb_axi_mon_step(&bus->mon, &s);
    check_rules(u, bus);
    unit_edge(u);
    bus->flush_left -= bus->flush_left > 0;
}

void dma_bus_finish(unit *u, dma_bus *bus) {
    tb_axi_mon_finish(&bus->mon, u->cycle);
    check_rules(u, bus);
}

dma_job dma_draw_job(tb_rng *rng, uint32_t size_max) {
    dma_job job = {0};
    job.bytes = (uint32_t)tb_rng_small(rng, 1, size_max);
    const uint32_t room = DMA_SIZE - job.bytes;
    switch (tb_rng_range(rng, 0, 3)) {
    case 0: /* starts at a bus beat */
        job.addr = (uint32_t)tb_rng_range(rng, 0, room) & ~15u;
        break;
    case 1: /* ends or begins within two beats of a 4 KB line */
        job.addr = (uint32_t)tb_rng_range(rng, 1, DMA_SIZE / 4096 - 8) * 4096;
        job.addr += (uint32_t)tb_rng_range_i64(rng, -32, 32);
        if (tb_rng_chance(rng, 1, 2) && job.addr >= job.bytes) {
            job.addr -= job.bytes;
        }
        break;
    default:
        job.addr = (uint32_t)tb_rng_range(rng, 0, room);
        break;
    }
    job.addr = DMA_BASE + (job.addr < room ? job.addr : room);
    return job;
}
