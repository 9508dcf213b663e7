/*
 * clk_gate.c - a gated clock has an edge where its enable was 1 before the edge, and no other. Only for designs with
 * gates: without them (ClkGate = 0) the clock always runs.
 */
#include "score.h"

#include <string.h>

#define RUN 16u /* gates at most */

/*
 * Looked at in every cycle, so gates whose enables and counters are neighbours in memory, in this order, are compared
 * together: a run of them, with the state of its first one. Gates behind a gate whose clock stands still are not due.
 */
typedef struct state {
    const uint8_t *en, *edges;
    uint64_t all;                        /* due in the cycle before, if they are one run that begins with this gate */
    uint64_t now;                        /* cycles that the run was looked at, */
    _Alignas(RUN) uint8_t expected[RUN]; /* edges so far, modulo 256, of each; not known in the first cycle */
    uint8_t mask[RUN];                   /* bytes of those that are due */
    uint64_t since;                      /* those when `due` changed, */
    uint64_t cycles;                     /* those of the gate */
    uint32_t lead;                       /* so many states before this one is the first of its run */
    uint32_t members;                    /* bit i: there is a gate i in the run */
    uint32_t due;                        /* bit i: gate i of the run, in the cycle before */
} state;

typedef uint8_t gates __attribute__((vector_size(RUN), may_alias));
typedef uint8_t gates_anywhere __attribute__((vector_size(RUN), aligned(1), may_alias));

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    TB_SIGNALS(p, en_i, edges);
    if (tb_check_list(c, TB_PORTS_OF(p, en_i, edges), err, err_size) != 0) {
        return -1;
    }
    s->en = (const uint8_t *)p.en_i.ptr;
    s->edges = (const uint8_t *)p.edges.ptr;
    const size_t at = (size_t)(c - c->all->check);
    state *first = c->index > 0 ? s - 1 - (s - 1)->lead : s;
    const uint32_t i = (uint32_t)(s - first);
    if (i > 0 && i < RUN && at / 64 == (at - i) / 64 && s->en == first->en + i && s->edges == first->edges + i) {
        s->lead = i;
    } else {
        first = s;
    }
    first->members |= 1u << s->lead;
    return 0;
}

static void clear(tb_check *c) {
    (void)c; /* the gate has no reset */
}

/* Other gates are due than in the cycle before. */
__attribute__((noinline)) static void change_due(state *s, uint32_t due) {
    for (uint32_t i = 0; i < RUN; i++) {
        if ((s->due >> i & 1u) != 0) {
            s[i].cycles += s->now - s->since;
        }
        s->mask[i] = (due >> i & 1u) != 0 ? 0xff : 0;
    }
    s->due = due;
    s->since = s->now;
}

/* The first cycle, or a wrong number of edges of some gates. */
__attribute__((cold)) static void differ(tb_check *check, state *s) {
    change_due(s, s->due); /* counts cycles */
    for (uint32_t i = 0; i < RUN; i++) {
        if ((s->due >> i & 1u) != 0 && s[i].cycles > 0) {
            tb_check_value(&check[i], "edges", s[i].cycles, s->edges[i], s->expected[i]);
        }
    }
}

static inline bool any(gates wrong) {
    uint64_t half[2];
    memcpy(half, &wrong, sizeof half);
    return (half[0] | half[1]) != 0;
}

__attribute__((noinline)) static void cycle_runs(tb_check *check, state *states, uint64_t due) {
    for (uint64_t left = due; left != 0;) {
        const uint32_t first = (uint32_t)__builtin_ctzll(left), i = first - states[first].lead;
        state *s = &states[i];
        const uint32_t now = (uint32_t)(left >> i) & s->members;
        left &= ~((uint64_t)s->members << i);
        if (now != s->due) {
            change_due(s, now);
        }
        const gates edges = *(const gates_anywhere *)s->edges, mask = *(const gates *)s->mask;
        const gates expected = *(const gates *)s->expected;
        if (any((edges ^ expected) & mask)) {
            differ(&check[i], s);
        }
        *(gates *)s->expected = ((edges + *(const gates_anywhere *)s->en) & mask) | (expected & ~mask);
        s->now++;
    }
    states->all = (due & ~(uint64_t)states->members) == 0 ? due : 0;
}

/* In most cycles one run is due, as in the cycle before, and right. */
__attribute__((hot)) static uint64_t cycle_all(tb_check *check, void *states, uint64_t due) {
    state *s = (state *)states;
    const gates expected = *(const gates *)s->expected, mask = *(const gates *)s->mask;
    if (due == s->all && !any((*(const gates_anywhere *)s->edges ^ expected) & mask)) {
        *(gates *)s->expected = expected + (*(const gates_anywhere *)s->en & mask);
        s->now++;
    } else {
        cycle_runs(check, s, due);
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
