/*
 * clk_gate.c - a gated clock has an edge where its enable was 1 before the edge, and no other. Only for designs with
 * gates: without them (ClkGate = 0) the clock always runs.
 */
#include "score.h"

#define PORTS en_i, edges
typedef struct state {
    TB_PORTS(ports, PORTS);
    bool known;       /* not the first cycle */
    uint8_t expected; /* edges so far, modulo 256 */
    uint64_t cycles;
} state;

static void clear(tb_check *c) {
    (void)c; /* the gate has no reset */
}

static void cycle(tb_check *c, state *s) {
    const uint8_t edges = *(const uint8_t *)s->edges.ptr;
    if (s->known && edges != s->expected) {
        tb_check_value(c, "edges", s->cycles, edges, s->expected);
    }
    s->known = true;
    s->expected = (uint8_t)(edges + *(const uint8_t *)s->en_i.ptr);
    s->cycles++;
}

static uint64_t cycle_all(tb_check *check, void *states, uint64_t due) {
    for (uint64_t left = due; left != 0; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(left);
        cycle(&check[i], &((state *)states)[i]);
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

const tb_check_ops npu_score_clk_gate = {
    .unit = "clk_gate", TB_STATE(state, PORTS), .gates = gated, .clear = clear, .cycle_all = cycle_all};
