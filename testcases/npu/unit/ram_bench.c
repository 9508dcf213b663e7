/* ram_bench.c - random accesses to a memory. */
#include "ram_bench.h"

const tb_knob ram_bench_knobs[RAM_BENCH_KNOBS] = {
    {"cycles", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "cycles"},
    {"window", 1, 16384, TB_KNOB_SMALL, NULL, NULL, "addresses in use; with few of them, collisions are frequent"},
    UNIT_STALL_KNOB("wr", "percent of cycles in which a write port is idle"),
    UNIT_STALL_KNOB("rd", "percent of cycles in which a read port is idle"),
    UNIT_STALL_RUN_KNOB,
};

void ram_bench_constrain(tb_knobs *knobs, uint64_t seed) {
    tb_knobs_draw_in(knobs, "cycles", seed, 4000, 8000);
}

typedef struct bench {
    const ram_desc *desc;
    tb_sig we, waddr[RAM_PORTS], wdata[RAM_PORTS], re, raddr[RAM_PORTS], bank_port;
    uint32_t writes, addrs;
    /* this cycle */
    uint32_t addr[RAM_PORTS], bank;
    bool on[RAM_PORTS];
    unit_stall wr[RAM_PORTS], rd[RAM_PORTS];
    tb_rng rng_addr, rng_data;
    uint32_t base, window;
} bench;

static uint32_t draw_addr(bench *b) {
    return (b->base + (uint32_t)tb_rng_range(&b->rng_addr, 0, b->window - 1)) % b->desc->depth;
}

/* Reads come first: a word of a bank that is read may not be written. */
static void drive_reads(bench *b) {
    for (uint32_t i = 0; i < b->desc->enables; i++) {
        b->on[i] = unit_go(&b->rd[i]);
        tb_set_field(b->re, i, 1, b->on[i]);
    }
    for (uint32_t i = 0; i < b->addrs; i++) {
        b->addr[i] = draw_addr(b);
        tb_set(b->raddr[i], b->addr[i]);
    }
    if (b->desc->bank_port) {
        b->bank = (uint32_t)tb_rng_range(&b->rng_addr, 0, 1);
        tb_set(b->bank_port, b->bank);
    }
}

static void drive_writes(bench *b) {
    uint8_t word[32];
    for (uint32_t i = 0; i < b->writes; i++) {
        const uint32_t a = draw_addr(b);
        const bool busy = b->desc->bank_port && b->on[0] && b->bank == i && a == b->addr[0];
        tb_set_field(b->we, i, 1, unit_go(&b->wr[i]) && !busy);
        tb_rng_fill(&b->rng_data, word, b->desc->bytes);
        tb_set(b->waddr[i], a);
        unit_set_slice(b->wdata[i], 0, word, b->desc->bytes);
    }
}

static void find_ports(unit *u, bench *b) {
    const ram_desc *d = b->desc;
    b->we = unit_port(u, "we_i");
    b->re = unit_port(u, "re_i");
    for (uint32_t i = 0; i < RAM_PORTS && d->write[i].addr; i++, b->writes++) {
        b->waddr[i] = unit_port(u, d->write[i].addr);
        b->wdata[i] = unit_port(u, d->write[i].data);
    }
    for (uint32_t i = 0; i < RAM_PORTS && d->addr[i]; i++, b->addrs++) {
        b->raddr[i] = unit_port(u, d->addr[i]);
    }
    if (d->bank_port) {
        b->bank_port = unit_port(u, d->bank_port);
    }
    unit_stalls(u, "wr", b->wr, RAM_PORTS);
    unit_stalls(u, "rd", b->rd, RAM_PORTS);
}

int ram_bench_run(unit *u, const ram_desc *desc) {
    bench b = {.desc = desc, .rng_addr = unit_stream(u, "addr"), .rng_data = unit_stream(u, "values")};
    const uint32_t window = (uint32_t)unit_knob(u, "window");
    find_ports(u, &b);
    b.window = window < desc->depth ? window : desc->depth;
    b.base = (uint32_t)tb_rng_range(&b.rng_addr, 0, desc->depth - 1);
    if (desc->has_reset) {
        unit_reset(u);
    }
    for (int64_t k = unit_knob(u, "cycles"); k > 0 && unit_ok(u); k--) {
        drive_reads(&b);
        drive_writes(&b);
        unit_settle(u);
        unit_edge(u);
    }
    tb_set(b.re, 0);
    tb_set(b.we, 0);
    unit_look(u); /* read in the last cycle */
    return 0;
}
