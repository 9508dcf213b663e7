/*
 * act.c - check of the activation units, in post and in the ALU: each vector against cm_activate(), in its cycle.
 */
#include "npu_regs.h"
#include "score.h"

#include <inttypes.h>
#include <string.h>

#define LATENCY 6u
#define LANES 12u /* at most: post at N = 16 and 32 has 4 and 12 */
#define RING 8u

typedef struct vector {
    uint32_t x[LANES], y[LANES];
    uint32_t act;
} vector;

#define PORTS valid_i, act_i, p_i[4], x_i, valid_o, y_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint32_t lanes;
    uint32_t history; /* bit i: a vector entered i + 1 cycles ago */
    vector ring[RING];
    uint64_t in, out;
} state;

static const char *const names[CM_ACT_COUNT] = NPU_GEMM_ACT_TYPE_NAMES;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->lanes = s->x_i.width / 32;
    if (s->lanes > LANES) {
        return opt_fail(err, err_size, "%s: %u lanes, expected at most %u", c->tap->path, s->lanes, LANES);
    }
    return 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->history = 0;
    s->in = s->out = 0;
}

static void take_out(tb_check *c, state *s) {
    const vector *v = &s->ring[s->out % RING];
    const uint32_t *got = (const uint32_t *)s->y_o.ptr;
    for (uint32_t l = 0; l < s->lanes; l++) {
        if (got[l] != v->y[l]) {
            tb_check_failf(c, "y", s->out, "%s, lane %" PRIu32 ", v 0x%08" PRIx32 "|0x%08" PRIx32 "|0x%08" PRIx32,
                           v->act < CM_ACT_COUNT ? names[v->act] : "?", l, v->x[l], got[l], v->y[l]);
            break;
        }
    }
    s->out++;
}

static void take_in(state *s) {
    vector *v = &s->ring[s->in++ % RING];
    const uint32_t p[4] = {(uint32_t)tb_get(s->p_i[0]), (uint32_t)tb_get(s->p_i[1]), (uint32_t)tb_get(s->p_i[2]),
                           (uint32_t)tb_get(s->p_i[3])};
    v->act = (uint32_t)tb_get(s->act_i);
    memcpy(v->x, s->x_i.ptr, 4 * s->lanes);
    for (uint32_t l = 0; l < s->lanes; l++) {
        v->y[l] = cm_activate(v->act, p, v->x[l]);
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t due = (s->history >> (LATENCY - 1)) & 1u;
    if (*(const uint8_t *)s->valid_o.ptr != due) {
        tb_check_value(c, "valid", s->out, *(const uint8_t *)s->valid_o.ptr, due);
    } else if (due != 0) {
        take_out(c, s);
    }
    const uint32_t in = *(const uint8_t *)s->valid_i.ptr;
    s->history = s->history << 1 | in;
    if (in != 0) {
        take_in(s);
    }
    c->again = (s->history & ((1u << LATENCY) - 1)) != 0;
}

const tb_check_ops npu_score_act = {.unit = "act",
                                    .inputs = (const char *const[]){"fp_add", "fp_mul", "fp_i32_to_f32", NULL},
                                    TB_STATE(state, PORTS),
                                    .wake = "valid_i, valid_o",
                                    .open = open,
                                    .clear = clear,
                                    .cycle = cycle};
