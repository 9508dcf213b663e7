/* dut: send_buf */
/*
 * Three writers and one reader that serves one client at a time, as dma_wr does. Checked in every cycle: who may write (priority, capacity), the levels, and the
 * words against a queue for each client. The client that has been served for some cycles must have its word ready in each cycle in which one is due.
 */
#include <inttypes.h>
#include <string.h>

#include "bench.h"

#define CLIENTS 3u
#define WORD 16u
#define CAP_MAX 512u
#define SETTLED 4u /* cycles after which a served client has a word in every cycle, and a written word can be read */

static const uint32_t capacity[CLIENTS] = {512, 256, 256}; /* docs/npu/npu.md section 4: GEMM, POOL, ALU */

static const tb_knob knobs[] = {
    {"words", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "words of each client"},
    {"serve", 1, 1000, TB_KNOB_SMALL, NULL, NULL, "most cycles for which one client is served"},
    UNIT_STALL_KNOB("gemm", "percent of cycles in which client 0 waits"),
    UNIT_STALL_KNOB("pool", "percent of cycles in which client 1 waits"),
    UNIT_STALL_KNOB("alu", "percent of cycles in which client 2 waits"),
    UNIT_STALL_KNOB("out", "percent of cycles in which the reader waits"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "words", seed, 2000, 6000);
}

typedef struct client {
    uint8_t queue[CAP_MAX][WORD];
    uint64_t at[CAP_MAX]; /* cycle of the write */
    uint32_t head, count;
    uint8_t word[WORD]; /* offered */
    bool valid;
    uint64_t left;
    unit_stall wr;
    tb_rng data;
} client;

typedef struct box {
    tb_sig wvalid, wready, wdata, rvalid, rready, rdata, level;
    client c[CLIENTS];
    uint32_t served, serve_left; /* the client of the reader, CLIENTS: none */
    uint64_t served_since;
    tb_rng serve;
} box;

static void drive(unit *u, box *b, bool out_go) {
    uint64_t wvalid = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        client *c = &b->c[i];
        if (!c->valid && unit_go(&c->wr) && c->left > 0) {
            c->valid = true;
            tb_rng_fill(&c->data, c->word, WORD);
        }
        wvalid |= (uint64_t)c->valid << i;
        unit_set_slice(b->wdata, WORD * i, c->word, WORD);
    }
    if (b->serve_left == 0) {
        b->served = (uint32_t)tb_rng_range(&b->serve, 0, CLIENTS - 1);
        b->serve_left = (uint32_t)tb_rng_range(&b->serve, 1, (uint64_t)unit_knob(u, "serve"));
        b->served_since = u->cycle;
    }
    b->serve_left--;
    if (!out_go) {
        b->served_since = u->cycle + 1;
    }
    tb_set(b->wvalid, wvalid);
    tb_set(b->rready, out_go ? UINT64_C(1) << b->served : 0);
}

static void pop(unit *u, box *b, uint32_t i) {
    client *c = &b->c[i];
    uint8_t got[WORD];
    unit_get_slice(b->rdata, WORD * i, got, WORD);
    unit_compare(u, got, c->queue[c->head], WORD, "client %" PRIu32, i);
    c->head = (c->head + 1) % CAP_MAX;
    c->count--;
}

static void sample(unit *u, box *b, bool out_go) {
    const uint64_t rvalid = tb_get(b->rvalid);
    const uint64_t wready = tb_get(b->wready);
    bool free = true; /* no client of higher priority writes */
    for (uint32_t i = 0; i < CLIENTS; i++) {
        client *c = &b->c[i];
        const bool room = c->count < capacity[i];
        const bool due = c->count > 0 && u->cycle - c->at[c->head] >= SETTLED;
        const bool valid = (rvalid >> i) & 1u;
        const bool push = c->valid && room && free;
        unit_expect_value(u, "level_o", tb_get_field(b->level, 16 * i, 16), c->count);
        unit_expect_value(u, "wready_o", (wready >> i) & 1u, room && free);
        if (push) {
            free = false;
        }
        if (valid && c->count == 0) {
            unit_fail(u, "rvalid_o", "cycle %" PRIu64 ", client %" PRIu32 ": a word and none was written", u->cycle, i);
        }
        if (!valid && due && out_go && i == b->served && u->cycle >= b->served_since + SETTLED) {
            unit_fail(u, "bubble",
                      "cycle %" PRIu64 ", client %" PRIu32 ": served since cycle %" PRIu64 ", %" PRIu32 " words held, none ready", u->cycle,
                      i, b->served_since, c->count);
        }
        if (!unit_ok(u)) {
            return;
        }
        if (valid && out_go && i == b->served) {
            pop(u, b, i);
        }
        if (push) {
            const uint32_t slot = (c->head + c->count) % CAP_MAX;
            memcpy(c->queue[slot], c->word, WORD);
            c->at[slot] = u->cycle;
            c->count++;
            c->left--;
            c->valid = false;
        }
    }
}

static int run(unit *u) {
    static const char *const names[CLIENTS] = {"gemm", "pool", "alu"};
    box b = {.wvalid = unit_port(u, "wvalid_i"),
             .wready = unit_port(u, "wready_o"),
             .wdata = unit_port(u, "wdata_i"),
             .rvalid = unit_port(u, "rvalid_o"),
             .rready = unit_port(u, "rready_i"),
             .rdata = unit_port(u, "rdata_o"),
             .level = unit_port(u, "level_o"),
             .serve = unit_stream(u, "serve")};
    const tb_rng data = unit_stream(u, "data");
    unit_stall out = unit_stall_make(u, "out");
    if (unit_expect_init(u, 1, "byte", WORD, false) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        b.c[i].wr = unit_stall_make(u, names[i]);
        b.c[i].data = tb_rng_fork(&data, i);
        b.c[i].left = (uint64_t)unit_knob(u, "words");
    }
    unit_reset(u);
    for (bool busy = true; busy && unit_ok(u);) {
        const bool out_go = unit_go(&out);
        drive(u, &b, out_go);
        unit_settle(u);
        sample(u, &b, out_go);
        unit_edge(u);
        busy = false;
        for (uint32_t i = 0; i < CLIENTS; i++) {
            busy = busy || b.c[i].left > 0 || b.c[i].count > 0;
        }
    }
    return 0;
}

const unit_bench unit_this_bench = {.name = "send_buf",
                                    .about = "output buffer of three clients against a queue for each",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
