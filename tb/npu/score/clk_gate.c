/*
 * clk_gate.c - a gated clock has an edge where its enable was 1 before the edge, and no other. Only for designs with
 * gates: without them (ClkGate = 0) the clock always runs.
 */
#include "score.h"

/* Looked at in every cycle: no more than this. */
typedef struct state {
    const uint8_t *en, *edges;
    uint64_t cycles;  /* that it was looked at */
    uint8_t expected; /* edges so far, modulo 256; not known in the first cycle */
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    TB_SIGNALS(p, en_i, edges);
    if (tb_tap_ports(c->tap, TB_PORTS_OF(p, en_i, edges), err, err_size) != 0) {
        return -1;
    }
    s->en = (const uint8_t *)p.en_i.ptr;
    s->edges = (const uint8_t *)p.edges.ptr;
    return 0;
}

static void clear(tb_check *c) {
    (void)c; /* the gate has no reset */
}

/* The first cycle, or a wrong number of edges. */
__attribute__((cold)) static void differs(tb_check *c, const state *s, uint8_t edges) {
    if (s->cycles > 0) {
        tb_check_value(c, "edges", s->cycles, edges, s->expected);
    }
}

static uint64_t cycle_all(tb_check *check, void *states, uint64_t due) {
    for (uint64_t left = due; left != 0; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(left);
        state *s = &((state *)states)[i];
        const uint8_t edges = *s->edges;
        if (__builtin_expect(edges != s->expected, 0)) {
            differs(&check[i], s, edges);
        }
        s->expected = (uint8_t)(edges + *s->en);
        s->cycles++;
    }
    return due;
}

/*
 * Inner parts first. Not all gates: the checks of DMA, send_buf, task queue and registers watch their ports in every
 * cycle, for they sleep otherwise, and a clock to look at costs as much.
 */
static const tb_check_gate gated[] = {{"u_requant", "u_rq_gate"},    {"u_post", "u_post_gate"},
                                      {"u_ifm_ld", "u_ld_gate"},     {"u_layout", "u_ld_gate"},
                                      {"u_wgt_ld", "u_ld_gate"},     {"u_par_ld", "u_ld_gate"},
                                      {"u_gemm", "g_clk[0].u_gate"}, {"u_alu", "g_clk[1].u_gate"},
                                      {"u_pool", "g_clk[2].u_gate"}, {NULL, NULL}};

const tb_check_ops npu_score_clk_gate = {.unit = "clk_gate",
                                         .state_bytes = sizeof(state),
                                         .gates = gated,
                                         .open = open,
                                         .clear = clear,
                                         .cycle_all = cycle_all};
