/*
 * act.c - check of the activation units, those of post and of the ALU: each vector against cm_activate(), at its cycle.
 */
#include "npu_regs.h"
#include "score.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LATENCY 6u
#define LANES 12u /* at most: post at N = 16 and 32 has 4 and 12 */
#define RING 8u

typedef struct vector {
    uint32_t x[LANES], y[LANES];
    uint32_t act;
} vector;

typedef struct state {
    tb_sig valid, act, p[4], x, valid_out, y;
    uint32_t lanes;
    uint32_t history; /* bit i: a vector entered i + 1 cycles ago */
    vector ring[RING];
    uint64_t in, out;
} state;

static const char *const names[CM_ACT_COUNT] = NPU_GEMM_ACT_TYPE_NAMES;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const npu_score_sig sigs[] = {{"valid_i", &s->valid}, {"act_i", &s->act},         {"p0_i", &s->p[0]},
                                  {"p1_i", &s->p[1]},     {"p2_i", &s->p[2]},         {"p3_i", &s->p[3]},
                                  {"x_i", &s->x},         {"valid_o", &s->valid_out}, {"y_o", &s->y}};
    if (npu_score_bind(c, sigs, sizeof sigs / sizeof *sigs, err, err_size) != 0) {
        return -1;
    }
    s->lanes = s->x.width / 32;
    if (s->lanes > LANES) {
        snprintf(err, err_size, "%s: %u lanes, expected at most %u", c->tap->path, s->lanes, LANES);
        return -1;
    }
    const tb_sig wake[] = {s->valid, s->valid_out};
    return npu_score_wake(c, wake, sizeof wake / sizeof *wake, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->history = 0;
    s->in = s->out = 0;
}

static void take_out(tb_check *c, state *s) {
    const vector *v = &s->ring[s->out % RING];
    const uint32_t *got = (const uint32_t *)s->y.ptr;
    for (uint32_t l = 0; l < s->lanes; l++) {
        if (got[l] != v->y[l]) {
            char where[96], g[16], e[16];
            snprintf(where, sizeof where, "%s, lane %" PRIu32 ", v 0x%08" PRIx32,
                     v->act < CM_ACT_COUNT ? names[v->act] : "?", l, v->x[l]);
            snprintf(g, sizeof g, "0x%08" PRIx32, got[l]);
            snprintf(e, sizeof e, "0x%08" PRIx32, v->y[l]);
            tb_check_fail(c, "y", s->out, where, g, e);
            break;
        }
    }
    s->out++;
}

static void take_in(state *s) {
    vector *v = &s->ring[s->in++ % RING];
    const uint32_t p[4] = {(uint32_t)tb_get(s->p[0]), (uint32_t)tb_get(s->p[1]), (uint32_t)tb_get(s->p[2]),
                           (uint32_t)tb_get(s->p[3])};
    v->act = (uint32_t)tb_get(s->act);
    memcpy(v->x, s->x.ptr, 4 * s->lanes);
    for (uint32_t l = 0; l < s->lanes; l++) {
        v->y[l] = cm_activate(v->act, p, v->x[l]);
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t due = (s->history >> (LATENCY - 1)) & 1u;
    if (*(const uint8_t *)s->valid_out.ptr != due) {
        tb_check_value(c, "valid", s->out, *(const uint8_t *)s->valid_out.ptr, due);
    } else if (due != 0) {
        take_out(c, s);
    }
    const uint32_t in = *(const uint8_t *)s->valid.ptr;
    s->history = s->history << 1 | in;
    if (in != 0) {
        take_in(s);
    }
    c->again = (s->history & ((1u << LATENCY) - 1)) != 0;
}

static const char *const inputs[] = {"fp_add", "fp_mul", "fp_i32_to_f32", NULL};

const tb_check_ops npu_score_act = {
    .unit = "act", .inputs = inputs, .state_bytes = sizeof(state), .open = open, .clear = clear, .cycle = cycle};
