/* dut: send_buf */
/* Three writers and one reader that serves one client at a time, as dma_wr does. */
#include "bench.h"

#define CLIENTS 3u
#define WORD 16u

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
    uint8_t word[WORD]; /* offered */
    bool valid;
    uint64_t left, held; /* words to write; written and not read */
    unit_stall wr;
    tb_rng data;
} client;

#define PORTS wvalid_i, wready_o, wdata_i, rvalid_o, rready_i
typedef struct box {
    TB_PORTS(ports, PORTS);
    client c[CLIENTS];
    uint32_t served, serve_left; /* the client of the reader */
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
        unit_set_slice(b->wdata_i, WORD * i, c->word, WORD);
    }
    if (b->serve_left == 0) {
        b->served = (uint32_t)tb_rng_range(&b->serve, 0, CLIENTS - 1);
        b->serve_left = (uint32_t)tb_rng_range(&b->serve, 1, (uint64_t)unit_knob(u, "serve"));
    }
    b->serve_left--;
    tb_set(b->wvalid_i, wvalid);
    tb_set(b->rready_i, out_go ? UINT64_C(1) << b->served : 0);
}

static void sample(box *b) {
    const uint64_t written = tb_get(b->wvalid_i) & tb_get(b->wready_o),
                   read = tb_get(b->rvalid_o) & tb_get(b->rready_i);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        client *c = &b->c[i];
        c->held -= read >> i & 1u;
        if (written >> i & 1u) {
            c->held++;
            c->left--;
            c->valid = false;
        }
    }
}

static int run(unit *u) {
    static const char *const names[CLIENTS] = {"gemm", "pool", "alu"};
    box *b = (box *)u->state;
    b->serve = unit_stream(u, "serve");
    const tb_rng data = unit_stream(u, "data");
    unit_stall out = unit_stall_make(u, "out");
    for (uint32_t i = 0; i < CLIENTS; i++) {
        b->c[i].wr = unit_stall_make(u, names[i]);
        b->c[i].data = tb_rng_fork(&data, i);
        b->c[i].left = (uint64_t)unit_knob(u, "words");
    }
    unit_reset(u);
    for (bool busy = true; busy && unit_ok(u);) {
        drive(u, b, unit_go(&out));
        unit_settle(u);
        sample(b);
        unit_edge(u);
        busy = false;
        for (uint32_t i = 0; i < CLIENTS; i++) {
            busy = busy || b->c[i].left > 0 || b->c[i].held > 0;
        }
    }
    return 0;
}

UNIT_BENCH("send_buf", "output buffer of three clients", knobs, TB_STATE(box, PORTS), .constrain = constrain);
