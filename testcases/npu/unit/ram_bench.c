/* ram_bench.c - random accesses to a memory and a copy of it in C. */
#include "ram_bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const tb_knob ram_bench_knobs[RAM_BENCH_KNOBS] = {
    {"cycles", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "cycles"},
    {"window", 1, 16384, TB_KNOB_SMALL, NULL, NULL, "addresses in use; few of them meet often"},
    UNIT_STALL_KNOB("wr", "percent of cycles in which a write port rests"),
    UNIT_STALL_KNOB("rd", "percent of cycles in which a read port rests"),
    UNIT_STALL_RUN_KNOB,
};

void ram_bench_constrain(tb_knobs *knobs, uint64_t seed) {
    tb_knobs_draw_in(knobs, "cycles", seed, 4000, 8000);
}

typedef struct bench {
    const ram_desc *desc;
    tb_sig we[RAM_PORTS], waddr[RAM_PORTS], wdata[RAM_PORTS], re[RAM_PORTS], raddr[RAM_PORTS], rdata[RAM_PORTS], bank_port;
    uint32_t writes, enables, addrs, reads;
    uint8_t *mem[RAM_MEMS];
    bool *known[RAM_MEMS];
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

static void set_bit(tb_sig port, uint32_t bit, bool value) {
    tb_set_field(port, bit, 1, value);
}

/* Draw and drive this cycle's reads; writes are drawn afterwards since a word of a bank that is read may not be written. */
static void drive_reads(bench *b) {
    for (uint32_t i = 0; i < b->enables; i++) {
        b->on[i] = unit_go(&b->rd[i]);
        set_bit(b->re[i], b->desc->enable[i].bit, b->on[i]);
    }
    for (uint32_t i = 0; i < b->addrs; i++) {
        b->addr[i] = draw_addr(b);
        tb_set(b->raddr[i], b->addr[i]);
    }
    if (b->desc->bank_port) {
        b->bank = (uint32_t)tb_rng_range(&b->rng_addr, 0, RAM_MEMS - 1);
        tb_set(b->bank_port, b->bank);
    }
}

/* What each enabled read must give; taken before the writes of the same cycle. */
static void expect_reads(const bench *b, uint8_t expected[RAM_PORTS][32], bool *check, uint32_t *mem_of) {
    for (uint32_t i = 0; i < b->reads; i++) {
        const ram_read *r = &b->desc->read[i];
        mem_of[i] = r->mem == RAM_BANKED ? b->bank : r->mem;
        const uint32_t a = b->addr[r->addr];
        check[i] = b->on[r->enable] && b->known[mem_of[i]][a];
        memcpy(expected[i], b->mem[mem_of[i]] + (size_t)a * b->desc->bytes, b->desc->bytes);
    }
}

static void drive_writes(bench *b) {
    uint8_t word[32];
    for (uint32_t i = 0; i < b->writes; i++) {
        const ram_write *w = &b->desc->write[i];
        const uint32_t a = draw_addr(b);
        const bool busy = b->desc->bank_port && b->on[0] && b->bank == w->mem && a == b->addr[0];
        const bool on = unit_go(&b->wr[i]) && !busy;
        tb_rng_fill(&b->rng_data, word, b->desc->bytes);
        set_bit(b->we[i], w->bit, on);
        tb_set(b->waddr[i], a);
        unit_set_slice(b->wdata[i], 0, word, b->desc->bytes);
        if (on) {
            memcpy(b->mem[w->mem] + (size_t)a * b->desc->bytes, word, b->desc->bytes);
            b->known[w->mem][a] = true;
        }
    }
}

static void find_ports(unit *u, bench *b) {
    const ram_desc *d = b->desc;
    for (uint32_t i = 0; i < RAM_PORTS && d->write[i].enable; i++, b->writes++) {
        b->we[i] = unit_port(u, d->write[i].enable);
        b->waddr[i] = unit_port(u, d->write[i].addr);
        b->wdata[i] = unit_port(u, d->write[i].data);
        b->wr[i] = unit_stall_make(u, "wr");
        b->wr[i].rng = tb_rng_fork(&b->wr[i].rng, i);
    }
    for (uint32_t i = 0; i < RAM_PORTS && d->enable[i].port; i++, b->enables++) {
        b->re[i] = unit_port(u, d->enable[i].port);
        b->rd[i] = unit_stall_make(u, "rd");
        b->rd[i].rng = tb_rng_fork(&b->rd[i].rng, i);
    }
    for (uint32_t i = 0; i < RAM_PORTS && d->addr[i]; i++, b->addrs++) {
        b->raddr[i] = unit_port(u, d->addr[i]);
    }
    for (uint32_t i = 0; i < RAM_PORTS && d->read[i].data; i++, b->reads++) {
        b->rdata[i] = unit_port(u, d->read[i].data);
    }
    if (d->bank_port) {
        b->bank_port = unit_port(u, d->bank_port);
    }
}

static void run_cycles(unit *u, bench *b, uint64_t cycles) {
    uint8_t expected[RAM_PORTS][32], got[32];
    bool check[RAM_PORTS];
    uint32_t mem_of[RAM_PORTS];
    for (uint64_t k = 0; k < cycles && unit_ok(u); k++) {
        drive_reads(b);
        expect_reads(b, expected, check, mem_of);
        drive_writes(b);
        unit_settle(u);
        if (!unit_edge(u)) {
            return;
        }
        for (uint32_t i = 0; i < b->reads; i++) {
            if (check[i]) {
                unit_get_slice(b->rdata[i], 0, got, b->desc->bytes);
                unit_compare(u, got, expected[i], b->desc->bytes, "%s, memory %" PRIu32 ", word %" PRIu32, b->desc->read[i].data, mem_of[i],
                             b->addr[b->desc->read[i].addr]);
            }
        }
    }
}

int ram_bench_run(unit *u, const ram_desc *desc) {
    bench *b = calloc(1, sizeof *b);
    int rc = b ? 0 : -1;
    if (b) {
        b->desc = desc;
        for (uint32_t m = 0; m < RAM_MEMS; m++) {
            b->mem[m] = calloc(desc->depth, desc->bytes);
            b->known[m] = calloc(desc->depth, sizeof *b->known[m]);
            rc = b->mem[m] && b->known[m] ? rc : -1;
        }
    }
    if (rc == 0) {
        rc = unit_expect_init(u, 1, "byte", desc->bytes, false);
    }
    if (rc == 0) {
        find_ports(u, b);
        b->rng_addr = unit_stream(u, "addr");
        b->rng_data = unit_stream(u, "values");
        const uint32_t window = (uint32_t)unit_knob(u, "window");
        b->window = window < desc->depth ? window : desc->depth;
        b->base = (uint32_t)tb_rng_range(&b->rng_addr, 0, desc->depth - 1);
        if (desc->has_reset) {
            unit_reset(u);
        }
        run_cycles(u, b, (uint64_t)unit_knob(u, "cycles"));
    }
    for (uint32_t m = 0; b && m < RAM_MEMS; m++) {
        free(b->mem[m]);
        free(b->known[m]);
    }
    free(b);
    return rc;
}
