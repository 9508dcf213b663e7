/*
 * alu_math.c - the arithmetic of a channel of the ALU: words in, values that reach the activation and results, each in
 * its cycle (header of alu_math.sv).
 *
 * The activation itself is compared by the check of act, in the same cycle, a function by that of alu_func.
 */
#include "alu_part.h"

#include <inttypes.h>

#define LANES 4u
#define ACC 32u            /* accumulators of a reduction */
#define LATENCY 10u        /* from a word to its results */
#define ACT_LATENCY 6u     /* of these in the activation or the function */
#define REDUCE_LATENCY 22u /* from the last word of a row */
#define ROW_GAP 10u        /* cycles from the last word of a row to that of the next one, at least */
#define MUL_SLOT 12u       /* cycles from the last word of a row to the one in which no word may enter */
#define RING 32u           /* cycles that a result is predicted in advance: more than REDUCE_LATENCY */

/* Values in flight: the input of the activation, and the lanes that are used. */
typedef struct entry {
    uint32_t lanes, op;
    uint32_t v[LANES];
} entry;

#define ACT_PORTS valid_i, x_i, y_o, act_i, p_i[4]
#define FUNC_PORTS valid_i, x_i, y_o, func_i
#define PORTS                                                                                                          \
    op_i, p_vec_i, q_vec_i, red_q_i, valid_i, x_i, p_i, q_i, lanes_i, first_i, last_i, vec_i, word_ok_o, last_ok_o,    \
        valid_o, y_o, act_i, act_p_i[4], func_i
typedef struct state {
    TB_PORTS(ports, PORTS);
    TB_SIGNALS(inner, ACT_PORTS); /* the activation inside, and the functions */
    TB_SIGNALS(func, FUNC_PORTS);
    const tb_check *alu;
    uint64_t now, last_word; /* cycles; of the last word of a row, 0: none yet */
    uint32_t due;            /* bit i: there is a result i cycles after `now` */
    entry ring[RING];        /* by the cycle of the result */
    bool waiting;            /* a word waits for its vector operand, which arrives a cycle later */
    uint32_t wx[LANES], wp, wq, wlanes;
    bool wfirst, wlast;
    uint32_t acc[ACC], word; /* word: of the row, modulo 8 */
    uint64_t results;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    return npu_score_alu_bind(c, "act", 0, TB_PORTS_OF(s->inner, ACT_PORTS), err, err_size) != 0 ||
                   npu_score_alu_bind(c, "alu_func", 0, TB_PORTS_OF(s->func, FUNC_PORTS), err, err_size) != 0 ||
                   tb_check_wake(c, s->inner.valid_i, err, err_size) != 0 ||
                   tb_check_wake(c, s->func.valid_i, err, err_size) != 0
               ? -1
               : 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->last_word = 0;
    s->due = 0;
    s->waiting = false;
}

/* ---- outputs ---- */

static void fail_value(tb_check *c, const state *s, const char *stream, const entry *e, uint32_t lane, uint32_t got,
                       uint32_t expected) {
    tb_check_failf(c, stream, s->results, "operation %" PRIu32 ", lane %" PRIu32 "|0x%08" PRIx32 "|0x%08" PRIx32, e->op,
                   lane, got, expected);
}

static inline bool has_func(const state *s) {
    return npu_score_b(s->func_i) != NPU_ALU_ACT_FUNC_NONE;
}

/* Words of a port, in the lanes that are used. */
static inline void compare_lanes(tb_check *c, const state *s, const char *stream, const entry *e, const void *port,
                                 const uint32_t expected[LANES]) {
    const uint32_t *got = (const uint32_t *)port;
    if (memcmp(got, expected, LANES * sizeof *got) == 0) {
        return;
    }
    for (uint32_t l = 0; l < LANES; l++) {
        if ((e->lanes >> l & 1u) != 0 && got[l] != expected[l]) {
            fail_value(c, s, stream, e, l, got[l], expected[l]);
        }
    }
}

/* Values that enter the activation or the function. */
static inline void compare_values(tb_check *c, const state *s, bool func) {
    const entry *e = &s->ring[(s->now + ACT_LATENCY) % RING];
    compare_lanes(c, s, "value", e, func ? s->func.x_i.ptr : s->inner.x_i.ptr, e->v);
    if (func) {
        tb_check_value(c, "function", s->results, npu_score_b(s->func.func_i), npu_score_b(s->func_i));
        return;
    }
    uint32_t differ = npu_score_b(s->inner.act_i) ^ npu_score_b(s->act_i);
    for (uint32_t i = 0; i < 4; i++) {
        differ |= npu_score_w(s->inner.p_i[i]) ^ npu_score_w(s->act_p_i[i]);
    }
    if (differ != 0) {
        tb_check_value(c, "activation", s->results, npu_score_b(s->inner.act_i), npu_score_b(s->act_i));
        for (uint32_t i = 0; i < 4; i++) {
            tb_check_value(c, "activation", s->results, npu_score_w(s->inner.p_i[i]), npu_score_w(s->act_p_i[i]));
        }
    }
}

/* The times at which the last word of a row, and any word, may not enter. */
__attribute__((noinline)) static void check_gaps(tb_check *c, const state *s) {
    const uint64_t age = s->now - s->last_word;
    if (age < ROW_GAP) {
        tb_check_value(c, "ready for last word", s->results, npu_score_b(s->last_ok_o), 0);
    } else if (age == MUL_SLOT) {
        tb_check_value(c, "ready for word", s->results, npu_score_b(s->word_ok_o), 0);
    }
}

static inline void compare_outputs(tb_check *c, state *s) {
    const uint32_t out = s->due & 1u, in = s->due >> ACT_LATENCY & 1u, func = has_func(s);
    const uint32_t in_act = npu_score_b(s->inner.valid_i), in_func = npu_score_b(s->func.valid_i);
    if (((in_act ^ (in & ~func)) | (in_func ^ (in & func)) | (npu_score_b(s->valid_o) ^ out)) != 0) {
        tb_check_value(c, "value valid in the other unit", s->results, func != 0 ? in_act : in_func, 0);
        tb_check_value(c, "value valid", s->results, func != 0 ? in_func : in_act, in);
        tb_check_value(c, "result valid", s->results, npu_score_b(s->valid_o), out);
        return;
    }
    if (in != 0) {
        compare_values(c, s, func != 0);
    }
    if (out != 0) {
        compare_lanes(c, s, "result", &s->ring[s->now % RING], s->y_o.ptr,
                      (const uint32_t *)(func != 0 ? s->func.y_o.ptr : s->inner.y_o.ptr));
        s->results++;
    }
    if (s->last_word != 0 && npu_score_alu_reduces(npu_score_b(s->op_i))) {
        check_gaps(c, s);
    }
}

/* ---- arithmetic ---- */

static void add_word(state *s, uint32_t op, const uint32_t p[LANES]) {
    if (s->wfirst) {
        for (uint32_t i = 0; i < ACC; i++) {
            s->acc[i] = cm_alu_start(op);
        }
        s->word = 0;
    }
    for (uint32_t l = 0; l < LANES; l++) {
        if ((s->wlanes >> l & 1u) != 0) {
            uint32_t *acc = &s->acc[(LANES * s->word + l) % ACC];
            *acc = cm_alu_join(op, *acc, cm_alu_element(op, s->wx[l], p[l], 0));
        }
    }
    s->word = (s->word + 1) % (ACC / LANES);
}

static uint32_t result_of_row(state *s, uint32_t op) {
    for (uint32_t half = ACC / 2; half > 0; half /= 2) {
        for (uint32_t j = 0; j < half; j++) {
            s->acc[j] = cm_alu_join(op, s->acc[j], s->acc[j + half]);
        }
    }
    return cm_fp_mul(s->acc[0], npu_score_w(s->red_q_i));
}

/* The word of the cycle before, whose vector operand has arrived now. */
static void compute(state *s) {
    const uint32_t *vec = (const uint32_t *)s->vec_i.ptr;
    const bool p_vec = npu_score_b(s->p_vec_i) != 0, q_vec = npu_score_b(s->q_vec_i) != 0;
    const uint32_t op = npu_score_b(s->op_i);
    uint32_t p[LANES];
    s->waiting = false;
    for (uint32_t l = 0; l < LANES; l++) {
        p[l] = p_vec ? vec[l] : s->wp;
    }
    if (!npu_score_alu_reduces(op)) {
        entry *e = &s->ring[(s->now - 1 + LATENCY) % RING];
        e->lanes = s->wlanes;
        e->op = op;
        s->due |= 1u << (LATENCY - 1);
        for (uint32_t l = 0; l < LANES; l++) {
            e->v[l] = (s->wlanes >> l & 1u) != 0 ? cm_alu_element(op, s->wx[l], p[l], q_vec ? vec[l] : s->wq) : 0;
        }
        return;
    }
    add_word(s, op, p);
    if (s->wlast) {
        entry *e = &s->ring[(s->now - 1 + REDUCE_LATENCY) % RING];
        *e = (entry){.lanes = 1, .op = op, .v = {result_of_row(s, op)}};
        s->due |= 1u << (REDUCE_LATENCY - 1);
    }
}

static void take_word(state *s) {
    memcpy(s->wx, s->x_i.ptr, sizeof s->wx);
    s->wp = npu_score_w(s->p_i);
    s->wq = npu_score_w(s->q_i);
    s->wlanes = npu_score_b(s->lanes_i);
    s->wfirst = npu_score_b(s->first_i) != 0;
    s->wlast = npu_score_b(s->last_i) != 0;
    s->waiting = true;
    if (s->wlast) {
        s->last_word = s->now;
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    s->alu = s->alu != NULL ? s->alu : npu_score_alu_whole(c);
    c->task = s->alu->task;
    s->now = c->all->sim->cycle;
    s->due >>= 1; /* when it was not called in the cycle before, there is none */
    if (s->waiting) {
        compute(s);
    }
    compare_outputs(c, s);
    if (npu_score_b(s->valid_i) != 0) {
        take_word(s);
    }
    c->again = s->waiting || s->due > 1 || (s->last_word != 0 && s->now - s->last_word <= MUL_SLOT);
}

const tb_check_ops npu_score_alu_math = {.unit = "alu_math",
                                         .inputs = (const char *const[]){"act", "alu_func", "alu_chan", NULL},
                                         TB_STATE(state, PORTS),
                                         .wake = "valid_i, valid_o",
                                         .open = open,
                                         .clear = clear,
                                         .cycle = cycle};
