/*
 * transpose.c - check of the transposers: blocks of N vectors in, the transposed blocks out in the same order, each
 * vector in its cycle (header of transpose.sv).
 *
 * A block leaves the cells vector by vector as the next one enters; the unit flushes the last block of a run by itself.
 * So each handshake is determined by the other side's, and a bubble or a vector lost under back-pressure is found at
 * once.
 */
#include "score.h"

#include <inttypes.h>
#include <string.h>

#define N_MAX 32u
#define BLOCKS 4u /* more than are inside the unit */

#define PORTS out_valid_o, out_ready_i, in_ready_o, in_valid_i, in_data_i, in_last_i, out_data_o
typedef struct state {
    NPU_AT_PORTS(PORTS);
    uint32_t n, size;         /* of a vector, of a block */
    uint32_t cells;           /* vectors of a complete block that are still in the cells */
    uint32_t held, flush;     /* a vector is at the output; the block in the cells is flushed */
    uint32_t in_at, out_at;   /* of the next vectors: bytes in `in` and in `due` */
    uint64_t ins, outs;       /* vectors */
    int8_t in[N_MAX * N_MAX]; /* the block that is entering */
    int8_t due[BLOCKS * N_MAX * N_MAX];
    TB_PORTS(ports, PORTS);
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->n = npu_score_n(c);
    s->size = s->n * s->n;
    return NPU_AT_FIND(c, s, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->cells = s->held = s->flush = s->in_at = s->out_at = 0;
    s->ins = s->outs = 0;
}

__attribute__((cold, noinline)) static void vector_differs(tb_check *c, const state *s) {
    const int8_t *got = (const int8_t *)NPU_AT(s, out_data_o), *expected = &s->due[s->out_at];
    uint32_t i = 0;
    while (i + 1 < s->n && got[i] == expected[i]) {
        i++;
    }
    tb_check_failf(c, "vector", s->outs, "block %" PRIu64 ", pixel %" PRIu64 ", channel %" PRIu32 "|%d|%d",
                   s->outs / s->n, s->outs % s->n, i, got[i], expected[i]);
}

/* A vector on offer, accepted or not. */
static inline void look(tb_check *c, const state *s) {
    if (!npu_score_same(NPU_AT(s, out_data_o), &s->due[s->out_at], s->n)) {
        vector_differs(c, s);
    }
}

/* The last vector of a block has entered. */
__attribute__((noinline, hot)) static void complete(state *s) {
    s->in_at = 0;
    s->cells = s->n;
    s->flush = NPU_AT_BYTE(s, in_last_i);
    cm_transpose(s->n, s->in, &s->due[(s->ins / s->n - 1) % BLOCKS * s->n * s->n]);
}

static inline void take_in(state *s) {
    const uint32_t n = s->n;
    const uint8_t *from = (const uint8_t *)NPU_AT(s, in_data_i);
    if (n == 4) {
        memcpy(&s->in[s->in_at], from, 4);
    }
    for (uint32_t i = 0; i + 8 <= n; i += 8) {
        memcpy(&s->in[s->in_at + i], from + i, 8);
    }
    s->ins++;
    s->in_at += n;
    if (s->in_at == s->size) {
        complete(s);
    }
}

__attribute__((cold, noinline)) static void out_of_step(tb_check *c, const state *s, uint32_t ready) {
    tb_check_value(c, "out_valid", s->outs, NPU_AT_BYTE(s, out_valid_o), s->held);
    tb_check_value(c, "in_ready", s->ins, NPU_AT_BYTE(s, in_ready_o), ready);
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t valid = NPU_AT_BYTE(s, out_valid_o), taken = valid & NPU_AT_BYTE(s, out_ready_i);
    const uint32_t free = (valid ^ 1) | taken, full = s->cells != 0, ready = (s->flush ^ 1) & ((full ^ 1) | free);
    if (((valid ^ s->held) | (NPU_AT_BYTE(s, in_ready_o) ^ ready)) != 0) {
        out_of_step(c, s, ready);
        return;
    }
    if (valid != 0) {
        look(c, s);
    }
    const uint32_t enters = ready & NPU_AT_BYTE(s, in_valid_i), push = (s->flush != 0 ? free : enters) & full;
    s->outs += taken;
    s->out_at = (s->out_at + (taken != 0 ? s->n : 0)) & (BLOCKS * s->size - 1); /* a power of two */
    s->cells -= push;
    s->held = push | (s->held & (taken ^ 1));
    s->flush &= s->cells != 0;
    if (enters != 0) {
        take_in(s);
    }
    c->again = (s->flush | s->held) != 0;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    const uint64_t left = s->outs / s->n, entered = s->ins / s->n;
    if (left != entered || s->in_at != 0) {
        tb_check_failf(c, "vector", s->outs, "%" PRIu64 " blocks|%" PRIu64, left, entered + (s->in_at != 0));
    }
}

const tb_check_ops npu_score_transpose = {.unit = "transpose",
                                          TB_STATE(state, PORTS),
                                          .wake = "in_valid_i, out_valid_o",
                                          .open = open,
                                          .clear = clear,
                                          .cycle = cycle,
                                          .finish = finish};
