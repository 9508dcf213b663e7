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

#define PORTS in_valid_i, in_ready_o, in_data_i, in_last_i, out_valid_o, out_ready_i, out_data_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    int8_t in[N_MAX * N_MAX]; /* the block that is entering */
    uint32_t in_vec, out_vec;
    int8_t due[BLOCKS][N_MAX * N_MAX];
    uint64_t entered, left; /* blocks */
    uint32_t cells;         /* vectors of a complete block that are still in the cells */
    bool held, flush;       /* a vector is at the output; the block in the cells is flushed */
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->in_vec = s->out_vec = s->cells = 0;
    s->entered = s->left = 0;
    s->held = s->flush = false;
}

/* A vector on offer, accepted or not. */
static void look(tb_check *c, const state *s) {
    const uint32_t n = npu_score_n(c);
    const uint64_t vector = s->left * n + s->out_vec;
    const int8_t *got = (const int8_t *)s->out_data_o.ptr;
    const int8_t *expected = &s->due[s->left % BLOCKS][s->out_vec * n];
    for (uint32_t i = 0; !npu_score_same(got, expected, n) && i < n; i++) {
        if (got[i] != expected[i]) {
            tb_check_failf(c, "vector", vector, "block %" PRIu64 ", pixel %" PRIu32 ", channel %" PRIu32 "|%d|%d",
                           s->left, s->out_vec, i, got[i], expected[i]);
            return;
        }
    }
}

static void take_out(tb_check *c, state *s) {
    if (++s->out_vec == npu_score_n(c)) {
        s->out_vec = 0;
        s->left++;
    }
}

static void take_in(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c);
    memcpy(&s->in[s->in_vec * n], s->in_data_i.ptr, n);
    if (++s->in_vec < n) {
        return;
    }
    s->in_vec = 0;
    s->cells = n;
    s->flush = *(const uint8_t *)s->in_last_i.ptr != 0;
    cm_transpose(n, s->in, s->due[s->entered++ % BLOCKS]);
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const bool valid = *(const uint8_t *)s->out_valid_o.ptr != 0,
               taken = valid && *(const uint8_t *)s->out_ready_i.ptr != 0;
    const bool free = !valid || taken, ready = !s->flush && (s->cells == 0 || free);
    if (!tb_check_value(c, "out_valid", s->left * npu_score_n(c) + s->out_vec, valid, s->held) ||
        !tb_check_value(c, "in_ready", s->entered * npu_score_n(c) + s->in_vec, *(const uint8_t *)s->in_ready_o.ptr,
                        ready)) {
        return;
    }
    if (valid) {
        look(c, s);
    }
    if (taken) {
        take_out(c, s);
    }
    const bool enters = ready && *(const uint8_t *)s->in_valid_i.ptr != 0;
    const bool push = (s->flush ? free : enters) && s->cells > 0;
    s->cells -= push;
    s->held = push || (s->held && !taken);
    s->flush = s->flush && s->cells > 0;
    if (enters) {
        take_in(c, s);
    }
    c->again = s->flush || s->held;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->left != s->entered || s->in_vec != 0) {
        tb_check_failf(c, "vector", s->left * npu_score_n(c) + s->out_vec, "%" PRIu64 " blocks|%" PRIu64, s->left,
                       s->entered + (s->in_vec != 0));
    }
}

const tb_check_ops npu_score_transpose = {.unit = "transpose",
                                          TB_STATE(state, PORTS),
                                          .wake = "in_valid_i, out_valid_o",
                                          .clear = clear,
                                          .cycle = cycle,
                                          .finish = finish};
