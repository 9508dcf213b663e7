/* transpose.c - check of the transposers: blocks of N vectors in, the transposed blocks out in their order, none lost under back-pressure. */
#include "score.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define N_MAX 32u
#define BLOCKS 4u /* at most: the one that leaves, one that waits in the cells, the one that enters */

typedef struct state {
    tb_sig in_valid, in_ready, in_data, out_valid, out_ready, out_data;
    int8_t in[N_MAX * N_MAX]; /* the block that enters */
    uint32_t in_vec, out_vec;
    int8_t due[BLOCKS][N_MAX * N_MAX];
    uint64_t entered, left; /* blocks */
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const npu_score_sig sigs[] = {{"in_valid_i", &s->in_valid},   {"in_ready_o", &s->in_ready},   {"in_data_i", &s->in_data},
                                  {"out_valid_o", &s->out_valid}, {"out_ready_i", &s->out_ready}, {"out_data_o", &s->out_data}};
    if (npu_score_bind(c, sigs, sizeof sigs / sizeof *sigs, err, err_size) != 0) {
        return -1;
    }
    const tb_sig wake[] = {s->in_valid, s->out_valid};
    return npu_score_wake(c, wake, sizeof wake / sizeof *wake, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->in_vec = s->out_vec = 0;
    s->entered = s->left = 0;
}

/* A vector on offer, taken or not. */
static void look(tb_check *c, const state *s) {
    const uint32_t n = npu_score_n(c);
    const uint64_t vector = s->left * n + s->out_vec;
    if (s->left == s->entered) {
        tb_check_fail(c, "vector", vector, NULL, "a vector", "none: no block has entered");
        return;
    }
    const int8_t *got = (const int8_t *)s->out_data.ptr;
    const int8_t *expected = &s->due[s->left % BLOCKS][s->out_vec * n];
    for (uint32_t i = 0; memcmp(got, expected, n) != 0 && i < n; i++) {
        if (got[i] != expected[i]) {
            char where[96], g[16], e[16];
            snprintf(where, sizeof where, "block %" PRIu64 ", pixel %" PRIu32 ", channel %" PRIu32, s->left, s->out_vec, i);
            snprintf(g, sizeof g, "%d", got[i]);
            snprintf(e, sizeof e, "%d", expected[i]);
            tb_check_fail(c, "vector", vector, where, g, e);
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
    /* a vector pushes one out of the cells as long as blocks before it have not left */
    const uint64_t behind = (s->entered - s->left) * n - s->out_vec;
    if (*(const uint8_t *)s->out_valid.ptr != 0 && *(const uint8_t *)s->out_ready.ptr == 0 && behind > 1) {
        tb_check_fail(c, "in_ready", s->entered * n + s->in_vec, NULL, "1", "0: the vector on offer would be lost");
        return;
    }
    memcpy(&s->in[s->in_vec * n], s->in_data.ptr, n);
    if (++s->in_vec < n) {
        return;
    }
    s->in_vec = 0;
    if (s->entered - s->left == BLOCKS) {
        tb_check_fail(c, "in_ready", s->entered * n, NULL, "one more block", "blocks that leave first");
        return;
    }
    cm_transpose(n, s->in, s->due[s->entered++ % BLOCKS]);
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (*(const uint8_t *)s->out_valid.ptr != 0) {
        look(c, s);
    }
    const bool out = npu_score_fire(s->out_valid, s->out_ready);
    if (npu_score_fire(s->in_valid, s->in_ready)) {
        take_in(c, s);
    }
    if (out) {
        take_out(c, s);
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->left != s->entered || s->in_vec != 0) {
        char got[40], expected[40];
        snprintf(got, sizeof got, "%" PRIu64 " blocks", s->left);
        snprintf(expected, sizeof expected, "%" PRIu64, s->entered + (s->in_vec != 0));
        tb_check_fail(c, "vector", s->left * npu_score_n(c) + s->out_vec, NULL, got, expected);
    }
}

const tb_check_ops npu_score_transpose = {
    .unit = "transpose", .state_bytes = sizeof(state), .open = open, .clear = clear, .cycle = cycle, .finish = finish};
