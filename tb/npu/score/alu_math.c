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
    bool used;
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
    entry ring[RING];        /* by the cycle of the result */
    bool waiting;            /* a word waits for its vector operand, which arrives a cycle later */
    uint32_t wx[LANES], wp, wq, wlanes;
    bool wfirst, wlast;
    uint32_t acc[ACC], word; /* word: of the row, modulo 8 */
    uint64_t results;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (npu_score_alu_bind(c, "act", 0, TB_PORTS_OF(s->inner, ACT_PORTS), err, err_size) != 0) {
        return -1;
    }
    return npu_score_alu_bind(c, "alu_func", 0, TB_PORTS_OF(s->func, FUNC_PORTS), err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    memset(s->ring, 0, sizeof s->ring);
    s->now = s->last_word = 0;
    s->waiting = false;
}

/* ---- outputs ---- */

static void fail_value(tb_check *c, const state *s, const char *stream, const entry *e, uint32_t lane, uint32_t got,
                       uint32_t expected) {
    tb_check_failf(c, stream, s->results, "operation %" PRIu32 ", lane %" PRIu32 "|0x%08" PRIx32 "|0x%08" PRIx32, e->op,
                   lane, got, expected);
}

static bool has_func(const state *s) {
    return tb_get(s->func_i) != NPU_ALU_ACT_FUNC_NONE;
}

/* Values that enter the activation or the function. */
static void compare_values(tb_check *c, const state *s, const entry *e) {
    const uint32_t *got = (const uint32_t *)(has_func(s) ? s->func.x_i.ptr : s->inner.x_i.ptr);
    for (uint32_t l = 0; l < LANES; l++) {
        if ((e->lanes >> l & 1u) != 0 && got[l] != e->v[l]) {
            fail_value(c, s, "value", e, l, got[l], e->v[l]);
        }
    }
    if (has_func(s)) {
        tb_check_value(c, "function", s->results, tb_get(s->func.func_i), tb_get(s->func_i));
        return;
    }
    tb_check_value(c, "activation", s->results, tb_get(s->inner.act_i), tb_get(s->act_i));
    for (uint32_t i = 0; i < 4; i++) {
        tb_check_value(c, "activation", s->results, tb_get(s->inner.p_i[i]), tb_get(s->act_p_i[i]));
    }
}

static void compare_outputs(tb_check *c, state *s) {
    entry *out = &s->ring[s->now % RING];
    const entry *in = &s->ring[(s->now + ACT_LATENCY) % RING];
    const bool func = has_func(s);
    tb_check_value(c, "value valid in the other unit", s->results, tb_get(func ? s->inner.valid_i : s->func.valid_i),
                   0);
    if (tb_check_value(c, "value valid", s->results, tb_get(func ? s->func.valid_i : s->inner.valid_i), in->used) &&
        in->used) {
        compare_values(c, s, in);
    }
    if (tb_check_value(c, "result valid", s->results, tb_get(s->valid_o), out->used) && out->used) {
        const uint32_t *got = (const uint32_t *)s->y_o.ptr;
        const uint32_t *expected = (const uint32_t *)(func ? s->func.y_o.ptr : s->inner.y_o.ptr);
        for (uint32_t l = 0; l < LANES; l++) {
            if ((out->lanes >> l & 1u) != 0 && got[l] != expected[l]) {
                fail_value(c, s, "result", out, l, got[l], expected[l]);
            }
        }
        out->used = false;
        s->results++;
    }
    if (s->last_word != 0 && npu_score_alu_reduces((uint32_t)tb_get(s->op_i))) {
        const uint64_t age = s->now - s->last_word;
        if (age < ROW_GAP) {
            tb_check_value(c, "ready for last word", s->results, tb_get(s->last_ok_o), 0);
        } else if (age == MUL_SLOT) {
            tb_check_value(c, "ready for word", s->results, tb_get(s->word_ok_o), 0);
        }
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
    return cm_fp_mul(s->acc[0], (uint32_t)tb_get(s->red_q_i));
}

/* The word of the cycle before, whose vector operand has arrived now. */
static void compute(state *s) {
    const uint32_t *vec = (const uint32_t *)s->vec_i.ptr;
    const bool p_vec = tb_get(s->p_vec_i) != 0, q_vec = tb_get(s->q_vec_i) != 0;
    const uint32_t op = (uint32_t)tb_get(s->op_i);
    uint32_t p[LANES];
    s->waiting = false;
    for (uint32_t l = 0; l < LANES; l++) {
        p[l] = p_vec ? vec[l] : s->wp;
    }
    if (!npu_score_alu_reduces(op)) {
        entry *e = &s->ring[(s->now - 1 + LATENCY) % RING];
        *e = (entry){.used = true, .lanes = s->wlanes, .op = op};
        for (uint32_t l = 0; l < LANES; l++) {
            e->v[l] = (s->wlanes >> l & 1u) != 0 ? cm_alu_element(op, s->wx[l], p[l], q_vec ? vec[l] : s->wq) : 0;
        }
        return;
    }
    add_word(s, op, p);
    if (s->wlast) {
        entry *e = &s->ring[(s->now - 1 + REDUCE_LATENCY) % RING];
        *e = (entry){.used = true, .lanes = 1, .op = op, .v = {result_of_row(s, op)}};
    }
}

static void take_word(state *s) {
    memcpy(s->wx, s->x_i.ptr, sizeof s->wx);
    s->wp = (uint32_t)tb_get(s->p_i);
    s->wq = (uint32_t)tb_get(s->q_i);
    s->wlanes = (uint32_t)tb_get(s->lanes_i);
    s->wfirst = tb_get(s->first_i) != 0;
    s->wlast = tb_get(s->last_i) != 0;
    s->waiting = true;
    if (s->wlast) {
        s->last_word = s->now;
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    s->alu = s->alu != NULL ? s->alu : npu_score_alu_whole(c);
    c->task = s->alu->task;
    s->now++;
    if (s->waiting) {
        compute(s);
    }
    compare_outputs(c, s);
    if (tb_get(s->valid_i) != 0) {
        take_word(s);
    }
}

const tb_check_ops npu_score_alu_math = {.unit = "alu_math",
                                         .inputs = (const char *const[]){"act", "alu_func", "alu_chan", NULL},
                                         TB_STATE(state, PORTS),
                                         .open = open,
                                         .clear = clear,
                                         .cycle = cycle};
