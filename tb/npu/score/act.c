/*
 * act.c - check of the activation units, in post and in the ALU: each vector against cm_activate(), in its cycle.
 */
#include "cm_fp_lanes.h"
#include "npu_regs.h"
#include "score.h"

#include <inttypes.h>
#include <string.h>

#define LATENCY 6u
#define LANES 12u /* at most: post at N = 16 and 32 has 4 and 12 */
#define RING 8u

/* those of most cycles first */
#define PORTS valid_i, valid_o, act_i, x_i, y_o, p_i[4]
typedef struct state {
    _Alignas(TB_CHECK_LINE) uint8_t act[RING];
    uint32_t lanes;   /* a multiple of CM_FP_LANES */
    uint32_t history; /* bit i: a vector entered i + 1 cycles ago */
    uint64_t in, out; /* vectors */
    NPU_AT_PORTS(PORTS);
    uint32_t ring[RING * 2 * LANES]; /* for each vector its values and their results */
    TB_PORTS(ports, PORTS);
} state;

static const char *const names[CM_ACT_COUNT] = NPU_GEMM_ACT_TYPE_NAMES;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->lanes = s->x_i.width / 32;
    if (s->lanes > LANES || s->lanes % CM_FP_LANES != 0) {
        return opt_fail(err, err_size, "%s: %u lanes, expected 4, 8 or 12", c->tap->path, s->lanes);
    }
    return NPU_AT_FIND(c, s, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->history = 0;
    s->in = s->out = 0;
}

static inline cm_fp_lanes lanes_at(const uint32_t *from) {
    cm_fp_lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

__attribute__((cold, noinline)) static void differs(tb_check *c, const state *s, const uint32_t *x) {
    const uint32_t *got = (const uint32_t *)NPU_AT(s, y_o), *y = x + s->lanes;
    const uint32_t act = s->act[s->out % RING];
    uint32_t l = 0;
    while (got[l] == y[l]) {
        l++;
    }
    tb_check_failf(c, "y", s->out, "%s, lane %" PRIu32 ", v 0x%08" PRIx32 "|0x%08" PRIx32 "|0x%08" PRIx32,
                   act < CM_ACT_COUNT ? names[act] : "?", l, x[l], got[l], y[l]);
}

static inline void take_out(tb_check *c, state *s, const uint32_t lanes) {
    const uint32_t *x = &s->ring[s->out % RING * (2 * lanes)];
    const uint32_t *got = (const uint32_t *)NPU_AT(s, y_o);
    cm_fp_lanes differ = cm_fp_all(0);
    for (uint32_t l = 0; l < lanes; l += CM_FP_LANES) {
        differ |= lanes_at(&got[l]) ^ lanes_at(&x[lanes + l]);
    }
    if (cm_fp_any(differ)) {
        differs(c, s, x);
    }
    s->out++;
}

/* The results of functions that are more than a comparison. */
__attribute__((noinline, hot)) static void predict(const state *s, uint32_t act, const uint32_t *x, uint32_t *y) {
    const uint32_t p[4] = {(uint32_t)tb_get(s->p_i[0]), (uint32_t)tb_get(s->p_i[1]), (uint32_t)tb_get(s->p_i[2]),
                           (uint32_t)tb_get(s->p_i[3])};
    for (uint32_t l = 0; l < s->lanes; l++) {
        y[l] = cm_activate(act, p, x[l]);
    }
}

static inline void take_in(state *s, const uint32_t lanes) {
    const uint32_t act = NPU_AT_BYTE(s, act_i);
    const uint32_t *from = (const uint32_t *)NPU_AT(s, x_i);
    uint32_t *x = &s->ring[s->in % RING * (2 * lanes)], *y = x + lanes;
    s->act[s->in++ % RING] = (uint8_t)act;
    for (uint32_t l = 0; l < lanes; l += CM_FP_LANES) {
        const cm_fp_lanes v = lanes_at(&from[l]), result = act == CM_ACT_RELU ? cm_fp_relu_lanes(v) : v;
        memcpy(&x[l], &v, sizeof v);
        memcpy(&y[l], &result, sizeof result);
    }
    if (act != CM_ACT_NONE && act != CM_ACT_RELU) {
        predict(s, act, x, y);
    }
}

/* One cycle; true: call it in the next one, too. */
__attribute__((always_inline)) static inline bool step(tb_check *c, state *s, const uint32_t lanes) {
    const uint32_t due = (s->history >> (LATENCY - 1)) & 1u, valid = NPU_AT_BYTE(s, valid_o);
    if (valid != due) {
        tb_check_value(c, "valid", s->out, valid, due);
    } else if (due != 0) {
        take_out(c, s, lanes);
    }
    const uint32_t in = NPU_AT_BYTE(s, valid_i);
    s->history = (s->history << 1 | in) & ((1u << LATENCY) - 1);
    if (in != 0) {
        take_in(s, lanes);
    }
    return s->history != 0;
}

__attribute__((hot)) static uint64_t cycle_all(tb_check *check, void *states, uint64_t due) {
    uint64_t again = 0;
    for (; due != 0; due &= due - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(due);
        state *s = &((state *)states)[i];
        const bool next = s->lanes == 4 ? step(&check[i], s, 4) : step(&check[i], s, s->lanes);
        again |= (uint64_t)next << i;
    }
    return again;
}

const tb_check_ops npu_score_act = {.unit = "act",
                                    .inputs = (const char *const[]){"fp_add", "fp_mul", "fp_i32_to_f32", NULL},
                                    TB_STATE(state, PORTS),
                                    .wake = "valid_i, valid_o",
                                    .open = open,
                                    .clear = clear,
                                    .cycle_all = cycle_all};
