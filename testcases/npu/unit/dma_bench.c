/* dma_bench.c - the AXI side of the DMA benches. */
#include "dma_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const dma_profile_names[6] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};

int dma_bus_open(unit *u, dma_bus *bus, bool write) {
    char err[256] = "";
    const tb_axi_profile *profile = tb_axi_profile_find(tb_knobs_get_name(u->knobs, "bus"));
    memset(bus, 0, sizeof *bus);
    bus->write = write;
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
    bus->err = unit_port(u, write ? "wr_err_o" : "rd_err_o");
    bus->wait_bus = unit_port(u, write ? "wr_ev_wait_bus_o" : "rd_ev_wait_bus_o");
    bus->inflight = unit_port(u, write ? "wr_inflight_o" : "rd_inflight_o");
    bus->up = true;
    return 0;
}

void dma_bus_close(dma_bus *bus) {
    if (bus->up) {
        tb_axi_slave_free(&bus->slave);
        tb_axi_mon_free(&bus->mon);
        tb_ddr_free(&bus->mem);
    }
}

void dma_bus_drive(unit *u, dma_bus *bus) {
    tb_axi_slave_drive(&bus->slave, u->cycle);
}

static void check_burst(unit *u, dma_bus *bus, const tb_axi_ax *ax) {
    if (bus->burst_out == bus->burst_in) {
        unit_fail(u, "burst", "cycle %" PRIu64 ": burst at 0x%08" PRIx64 " that no job needs", u->cycle, ax->addr);
        return;
    }
    const cm_dma_burst *want = &bus->burst[bus->burst_out % DMA_QUEUE];
    if (ax->addr != want->addr || ax->len + 1u != want->beats || ax->size != 4 || ax->burst != TB_AXI_INCR || ax->id != 0) {
        unit_fail(u, "burst",
                  "burst %" PRIu64 ", cycle %" PRIu64 ": got address 0x%08" PRIx64 " beats %u size %u burst %u id %" PRIu64
                  ", expected address 0x%08" PRIx32 " beats %" PRIu32 " size 4 burst 1 id 0",
                  bus->burst_out, u->cycle, ax->addr, ax->len + 1u, ax->size, ax->burst, ax->id, want->addr, want->beats);
    }
    bus->burst_out++;
}

/* Pulses and levels of this cycle, and what the pulses of the next one must be. */
static void check_status(unit *u, dma_bus *bus, const tb_axi_ax *ax) {
    const tb_axi_port *p = &bus->port;
    const uint64_t flight = bus->burst_out + ax->valid - bus->answered;
    const bool data_waits = bus->write ? *p->w_valid && !*p->w_ready : flight > 0 && !*p->r_valid;
    const bool answer = bus->write ? *p->b_valid && *p->b_ready : *p->r_valid && *p->r_ready;
    const uint64_t resp = bus->write ? *p->b_resp : *p->r_resp;
    unit_expect_value(u, "err_o", tb_get(bus->err), bus->err_due);
    unit_expect_value(u, "ev_wait_bus_o", tb_get(bus->wait_bus), bus->wait_due);
    unit_expect_value(u, "inflight_o", tb_get(bus->inflight), flight);
    bus->wait_due = (ax->valid && !ax->ready) || data_waits;
    bus->err_due = 0;
    if (answer && flight > 0) {
        const uint32_t owner = bus->owner[bus->answered % DMA_QUEUE];
        const bool complete = bus->write || *p->r_last;
        bus->err_due = resp >= TB_AXI_SLVERR ? UINT64_C(1) << owner : 0;
        bus->answered += complete;
        bus->owed[owner] -= complete;
    }
}

static void check_rules(unit *u, const dma_bus *bus) {
    if (bus->mon.violations > 0) {
        char text[320];
        tb_axi_violation_text(&bus->mon, &bus->mon.first[0], text, sizeof text);
        unit_fail(u, tb_axi_rule_name(bus->mon.first[0].rule), "%s", text);
    }
}

void dma_bus_sample(unit *u, dma_bus *bus) {
    tb_axi_sample s;
    tb_axi_sample_port(&bus->port, u->cycle, true, &s);
    const tb_axi_ax *ax = bus->write ? &s.aw : &s.ar;
    tb_axi_slave_sample(&bus->slave);
    tb_axi_mon_step(&bus->mon, &s);
    check_rules(u, bus);
    check_status(u, bus, ax);
    if (ax->valid && ax->ready) {
        check_burst(u, bus, ax);
    }
}

void dma_bus_finish(unit *u, dma_bus *bus) {
    tb_axi_mon_finish(&bus->mon, u->cycle);
    check_rules(u, bus);
}

void dma_bus_expect(unit *u, dma_bus *bus, const dma_job *job) {
    cm_dma_burst cut[16];
    const size_t count = cm_dma_split(job->addr, job->bytes, cut, 16);
    if (count > 16) {
        unit_fail(u, "bench", "a job of %" PRIu32 " bytes has too many bursts for the bench", job->bytes);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bus->owner[bus->burst_in % DMA_QUEUE] = job->requester;
        bus->burst[bus->burst_in++ % DMA_QUEUE] = cut[i];
    }
    bus->owed[job->requester] += (uint32_t)count;
}

void dma_bus_flush(dma_bus *bus) {
    const bool shown = *(bus->write ? bus->port.aw.valid : bus->port.ar.valid) != 0;
    const uint64_t keep = bus->burst_out + (shown ? 1u : 0u);
    while (bus->burst_in > keep) {
        bus->owed[bus->owner[--bus->burst_in % DMA_QUEUE]]--;
    }
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
