/* dma_bench.c - the AXI side of the DMA benches. */
#include "dma_bench.h"

const char *const dma_profile_names[6] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};

/* Project rules of a channel beyond the protocol. */
static void rules(tb_axi_mon_cfg *cfg, bool write) {
    cfg->proj = (tb_axi_project){.on = true,
                                 .max_reads = DMA_OUTSTANDING,
                                 .max_writes = DMA_OUTSTANDING,
                                 .incr_only = true,
                                 .no_lock = true,
                                 .read_only = !write,
                                 .write_only = write,
                                 .ids = 1,
                                 .addr_bits = 32};
}

static void read_rules(tb_axi_mon_cfg *cfg) {
    rules(cfg, false);
}

static void write_rules(tb_axi_mon_cfg *cfg) {
    rules(cfg, true);
}

int dma_bus_open(unit *u, dma_bus *bus, bool write) {
    const tb_run_port_cfg cfg = {
        .name = "m", .prefix = "m_", .mem = &u->mem, .rules = write ? write_rules : read_rules};
    if (tb_ddr_init(&u->mem, DMA_BASE, write ? DMA_FAR : DMA_SIZE, u->seed) != 0) {
        return -1;
    }
    tb_run_port *port = unit_bus(u, cfg, tb_axi_profile_find(tb_knobs_get_name(u->knobs, "bus")));
    if (port == NULL) {
        return -1;
    }
    bus->flush = unit_port(u, write ? "wr_flush_i" : "rd_flush_i");
    bus->idle = unit_port(u, write ? "wr_idle_o" : "rd_idle_o");
    bus->rng_flush = unit_stream(u, "flush_at");
    tb_rng rng = unit_stream(u, "errors_at");
    for (int64_t i = 0; i < unit_knob(u, "errors"); i++) {
        tb_axi_slave_inject(&port->slave, write, tb_rng_range(&rng, 0, (uint64_t)unit_knob(u, "jobs")));
    }
    return 0;
}

bool dma_bus_flush(dma_bus *bus, uint32_t rate) {
    const bool begins = bus->flush_left == 0 && tb_rng_chance(&bus->rng_flush, rate, 10000);
    if (begins) {
        bus->flush_left = (uint32_t)tb_rng_range(&bus->rng_flush, 1, 40);
    }
    tb_set(bus->flush, bus->flush_left > 0);
    return begins;
}

void dma_bus_edge(unit *u, dma_bus *bus) {
    unit_edge(u);
    bus->flush_left -= bus->flush_left > 0;
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
