/* im2col_report.c - what of im2col's outputs to the mesh and of its reads differs from what they must be. */
#include "im2col_state.h"

#include <inttypes.h>
#include <stdio.h>

typedef im2col_state state;

void npu_im2col_fail(tb_check *c, const char *stream, uint64_t transaction, const npu_score_walk *k, uint32_t pixel,
                     const char *got, const char *expected) {
    const state *s = (const state *)c->state;
    char where[96];
    const npu_score_block b = npu_im2col_block(s, k);
    npu_score_block_text(&s->work, &b, pixel, s->n, true, where, sizeof where);
    tb_check_fail(c, stream, transaction, where, got, expected);
}

static void check_at(tb_check *c, const char *stream, uint64_t transaction, const npu_score_walk *k, uint32_t pixel,
                     uint64_t got, uint64_t expected) {
    if (got != expected) {
        char g[24], e[24];
        snprintf(g, sizeof g, "%" PRIu64, got);
        snprintf(e, sizeof e, "%" PRIu64, expected);
        npu_im2col_fail(c, stream, transaction, k, pixel, g, e);
    }
}

/* ---- to the mesh: in the first cycle of a block still of the one before ---- */

static const npu_score_walk *weights_of(const state *s) {
    return s->step == 0 ? &s->a : &s->w;
}

static const npu_score_walk *vector_of(const state *s) {
    return s->step == 0 ? &s->before : &s->a;
}

static void check_word(tb_check *c, state *s) {
    const npu_score_walk *k = weights_of(s);
    const int8_t *got = (const int8_t *)s->word, *data = npu_im2col_word(s);
    for (uint32_t i = 0; i < s->n; i++) {
        if (got[i] != data[i]) {
            char where[96];
            snprintf(where, sizeof where,
                     "output channel %" PRIu32 ", tile %" PRIu32 ", kernel (%" PRIu32 ", %" PRIu32
                     "), channel block %" PRIu32 ", word %" PRIu32,
                     k->ob * s->n + i, k->tile, k->ky, k->kx, k->ib, s->n - 1 - (s->shown >> s->t->wide));
            tb_check_failf(c, "weight", s->weights, "%s|%d|%d", where, got[i], data[i]);
            return;
        }
    }
}

static void check_vector(tb_check *c, const state *s, uint32_t stream) {
    const npu_score_walk *k = vector_of(s);
    const int8_t *got = (const int8_t *)s->act[stream], *data = npu_im2col_vector(s, stream);
    for (uint32_t i = 0; i < s->n; i++) {
        if (got[i] != data[i]) {
            char g[32], e[32];
            snprintf(g, sizeof g, "%d in channel %" PRIu32, got[i], k->ib * s->n + i);
            snprintf(e, sizeof e, "%d%s", data[i], s->inside[stream] != 0 ? "" : ", the padding");
            npu_im2col_fail(c, stream == 0 ? "vector 0" : "vector 1", s->vectors, k,
                            s->t->wide ? s->shown : 2 * s->shown + stream, g, e);
            return;
        }
    }
}

static void check_vectors(tb_check *c, const state *s, uint64_t got) {
    const npu_score_walk *k = vector_of(s);
    const uint32_t pixel = s->shown << !s->t->wide;
    const uint64_t want = s->now.want;
    check_at(c, "first block", s->vectors, k, pixel, (got & FIRST) != 0, (want & FIRST) != 0);
    check_at(c, "last block", s->vectors, k, pixel, (got & LAST) != 0, (want & LAST) != 0);
    check_at(c, "register select", s->vectors, k, pixel, (got & SEL) != 0, (want & SEL) != 0);
    check_at(c, "INT16", s->vectors, k, pixel, (got & ACT_WIDE) != 0, (want & ACT_WIDE) != 0);
    check_vector(c, s, 0);
    check_vector(c, s, 1);
}

static void check_outputs(tb_check *c, state *s, uint64_t got) {
    const uint64_t want = s->now.want;
    const bool vector = (want & ACT_VALID) != 0, word = (want & WORD) != 0;
    if ((got & ACT_VALID) != (want & ACT_VALID)) {
        tb_check_fail(c, "vector", s->vectors, NULL, vector ? "none" : "one",
                      vector ? "one: a tile has no idle cycles" : "none");
        return;
    }
    if (vector) {
        check_vectors(c, s, got);
    } else if ((got & (FIRST | LAST)) != 0) {
        tb_check_fail(c, "first, last block", s->vectors, NULL, "1", "0: there is no vector");
    }
    if (word) {
        check_word(c, s);
        tb_check_value(c, "INT16 of weights", s->weights + 1, (got & WGT_WIDE) != 0, (want & WGT_WIDE) != 0);
    }
    if ((got & MESH_EN) != 0) {
        tb_check_value(c, "register to load", s->weights + word, (got & WGT_P) != 0, (want & WGT_P) != 0);
    } else if (vector || word || s->busy > 0) {
        tb_check_fail(c, "mesh enable", s->vectors + vector, NULL, "0", "1: weights, vectors or sums are in flight");
    }
}

/* ---- reads ---- */

static void check_weight_read(tb_check *c, const state *s, uint64_t got) {
    const uint64_t want = s->now.want;
    const bool on = (want & WGT_RE) != 0;
    if ((got & WGT_RE) != (want & WGT_RE)) {
        tb_check_fail(c, "weight read", s->weights, NULL, on ? "none" : "one", on ? "one" : "none");
    } else if (on) {
        check_at(c, "weight bank", s->weights, &s->w, 0, (got & WGT_BANK) != 0, (want & WGT_BANK) != 0);
        check_at(c, "weight address", s->weights, &s->w, 0, npu_score_half(s->wgt_raddr),
                 s->weight_base - (s->step & s->weight_step));
    }
}

static void check_input_read(tb_check *c, const state *s, uint64_t got) {
    const bool on = (s->now.want & IFM_RE) != 0;
    if (((got & IFM_RE) != 0) != on) {
        tb_check_fail(c, "input read", s->vectors, NULL, on ? "none" : "one", on ? "one" : "none");
        return;
    }
    for (uint32_t stream = 0; on && stream < 2; stream++) {
        const uint32_t i = 2 * s->step + stream;
        if (s->mask[i] != 0) { /* outside of the map any word may be read */
            check_at(c, stream == 0 ? "input address 0" : "input address 1", s->vectors, &s->a,
                     s->t->wide ? s->step : i, npu_score_half(s->ifm_raddr[stream]), s->addr[i] % RING);
        }
    }
}

void npu_im2col_differs(tb_check *c, uint64_t got) {
    state *s = (state *)c->state;
    s->weights = npu_im2col_shown(s, WORD);
    s->vectors = npu_im2col_shown(s, ACT_VALID);
    check_outputs(c, s, got);
    s->weights += (s->now.want & WORD) != 0;
    s->vectors += (s->now.want & ACT_VALID) != 0;
    check_weight_read(c, s, got);
    check_input_read(c, s, got);
}
