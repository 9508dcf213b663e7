/*
 * alu_func.c - check of the functions of the ALU: each vector against cm_func(), in its cycle.
 */
#include "npu_regs.h"
#include "score.h"

#include <inttypes.h>
#include <string.h>

#define LATENCY 6u
#define LANES 4u
#define RING 8u

typedef struct vector {
    uint32_t x[LANES], y[LANES];
    uint32_t func;
} vector;

#define PORTS valid_i, func_i, x_i, valid_o, y_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint32_t history; /* bit i: a vector entered i + 1 cycles ago */
    vector ring[RING];
    uint64_t in, out;
} state;

static const char *const names[NPU_ALU_ACT_FUNC_COUNT] = NPU_ALU_ACT_FUNC_NAMES;

static int open(tb_check *c, char *err, size_t err_size) {
    const state *s = (const state *)c->state;
    if (s->x_i.width != 32 * LANES) {
        return opt_fail(err, err_size, "%s: %u bits, expected those of %u lanes", c->tap->path, s->x_i.width, LANES);
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
    for (uint32_t l = 0; l < LANES; l++) {
        if (got[l] != v->y[l]) {
            tb_check_failf(c, "y", s->out, "%s, lane %" PRIu32 ", v 0x%08" PRIx32 "|0x%08" PRIx32 "|0x%08" PRIx32,
                           names[v->func], l, v->x[l], got[l], v->y[l]);
            break;
        }
    }
    s->out++;
}

static void take_in(state *s) {
    vector *v = &s->ring[s->in++ % RING];
    v->func = (uint32_t)tb_get(s->func_i);
    memcpy(v->x, s->x_i.ptr, sizeof v->x);
    for (uint32_t l = 0; l < LANES; l++) {
        v->y[l] = cm_func(v->func, v->x[l]);
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t due = (s->history >> (LATENCY - 1)) & 1u;
    if (npu_score_b(s->valid_o) != due) {
        tb_check_value(c, "valid", s->out, npu_score_b(s->valid_o), due);
    } else if (due != 0) {
        take_out(c, s);
    }
    const uint32_t in = npu_score_b(s->valid_i);
    s->history = s->history << 1 | in;
    if (in != 0) {
        take_in(s);
    }
    c->again = (s->history & ((1u << LATENCY) - 1)) != 0;
}

const tb_check_ops npu_score_alu_func = {.unit = "alu_func",
                                         .inputs = (const char *const[]){"fp_add", "fp_mul", NULL},
                                         TB_STATE(state, PORTS),
                                         .wake = "valid_i, valid_o",
                                         .open = open,
                                         .clear = clear,
                                         .cycle = cycle};
