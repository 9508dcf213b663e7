/*
 * mac.c - check of the lanes: every pass in its order, every sum from the operands that the lanes have read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cm_fp.h"
#include "score.h"

#define ENTRIES (SGEMM_SCORE_MAX + 3)
#define CHAINS 4u

/* An element of C on its way down the lanes. */
typedef struct element {
    bool valid, half, c_half, c_zero, pass_end, tile_end;
    uint32_t i, j, kb, rows; /* rows: of the group, that exist */
    uint32_t sum[CHAINS], prod[CHAINS];
} element;

typedef struct pass {
    uint32_t mb, nb, kb;
    bool half, c_half, c_zero, last;
} pass;

#define PORTS                                                                                                          \
    pass_valid_i, pass_ready_o, pass_mb_i, pass_nb_i, pass_kb_i, pass_half_i, pass_c_half_i, pass_c_zero_i,            \
        pass_last_i, lane_o, a_i, b_i, c_re_o, c_rhalf_o, c_raddr_o, c_rdata_i, c_we_o, c_whalf_o, c_waddr_o,          \
        c_wsel_o, c_wdata_o, drained_o, tile_o, dim, vec, r, elemw
typedef struct state {
    TB_PORTS(ports, PORTS);
    element way[ENTRIES]; /* at lane k */
    pass now;
    bool run, wait;
    uint32_t i, j, age;
    uint64_t elements;
    uint32_t vecs, chains, dims, width; /* parameters */
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    memset(s->way, 0, sizeof s->way);
    s->run = s->wait = false;
}

/* Parameters are constants of the model, which have their values from the first evaluation on. */
static void parameters(state *s) {
    s->dims = (uint32_t)tb_get(s->dim);
    s->vecs = (uint32_t)tb_get(s->vec);
    s->chains = (uint32_t)tb_get(s->r);
    s->width = (uint32_t)tb_get(s->elemw);
}

/* Operand of a lane: element `index` of the word that lane k has read. */
static uint32_t operand(const state *s, tb_sig words, uint32_t k, uint32_t index) {
    const uint32_t v = sgemm_score_bits(words, (4 * k + index) * s->width, s->width);
    return s->width == 16 ? cm_fp_from_f16((uint16_t)v) : v;
}

static uint32_t c_word(const state *s, const element *e) {
    return e->i / s->chains * (s->dims / 4) + e->j / 4;
}

/* What the lanes hand out in this cycle. */
static bool outputs(tb_check *c, state *s) {
    const element *rd = &s->way[1], *wr = &s->way[s->vecs + 2];
    const uint32_t lead = s->vecs > 8 ? 8 : s->vecs - 1;
    const element *dr = &s->way[s->vecs - 1 - lead];
    const bool end = s->run && s->j == s->now.nb - 1 && s->i + s->chains >= s->now.mb;
    const bool last = s->age >= s->vecs + 1 && (s->wait || end);
    if (!tb_check_value(c, "ready", c->task, sgemm_score_b(s->pass_ready_o), (!s->run && !s->wait) || last) ||
        !tb_check_value(c, "drained", c->task, sgemm_score_b(s->drained_o), dr->valid && dr->pass_end) ||
        !tb_check_value(c, "tile", c->task, sgemm_score_b(s->tile_o), wr->valid && wr->tile_end) ||
        !tb_check_value(c, "c read", s->elements, sgemm_score_b(s->c_re_o), rd->valid && !rd->c_zero) ||
        !tb_check_value(c, "c write", s->elements, tb_get(s->c_we_o), wr->valid ? wr->rows : 0)) {
        return false;
    }
    if (rd->valid && !rd->c_zero &&
        (!tb_check_value(c, "c read address", s->elements, tb_get(s->c_raddr_o), c_word(s, rd)) ||
         !tb_check_value(c, "c read half", s->elements, sgemm_score_b(s->c_rhalf_o), rd->c_half))) {
        return false;
    }
    if (!wr->valid) {
        return true;
    }
    if (!tb_check_value(c, "c write address", s->elements, tb_get(s->c_waddr_o), c_word(s, wr)) ||
        !tb_check_value(c, "c write half", s->elements, sgemm_score_b(s->c_whalf_o), wr->c_half) ||
        !tb_check_value(c, "c write column", s->elements, tb_get(s->c_wsel_o), 1u << wr->j % 4)) {
        return false;
    }
    for (uint32_t r = 0; r < s->chains; r++) {
        const uint32_t got = sgemm_score_bits(s->c_wdata_o, 32 * r, 32);
        if ((wr->rows >> r & 1) != 0 && got != wr->sum[r]) {
            tb_check_failf(c, "sum", s->elements, "row %" PRIu32 ", column %" PRIu32 "|0x%08" PRIx32 "|0x%08" PRIx32,
                           wr->i + r, wr->j, got, wr->sum[r]);
            return false;
        }
    }
    s->elements++;
    return true;
}

/* The entries that the lanes see, as the buffers read by them. */
static bool lanes(tb_check *c, const state *s) {
    for (uint32_t k = 0; k < s->vecs; k++) {
        const element *e = &s->way[k];
        const uint32_t got = sgemm_score_bits(s->lane_o, 32 * k, 32);
        const uint32_t want = (uint32_t)e->valid | (uint32_t)e->half << 1 | e->i << 2 | e->j << 9 | e->kb << 16;
        if (e->valid ? (got & 0x7FFFFF) != want : (got & 1) != 0) {
            tb_check_failf(c, "entry", s->elements, "lane %" PRIu32 "|0x%" PRIx32 "|0x%" PRIx32, k, got & 0x7FFFFF,
                           want);
            return false;
        }
    }
    return true;
}

/* Products of the words that were read, sums of the products of the cycle before. */
static void compute(state *s) {
    for (uint32_t k = s->vecs; k-- > 0;) {
        element *add = &s->way[k + 2];
        for (uint32_t r = 0; r < s->chains && add->valid; r++) {
            const uint32_t from = k > 0         ? add->sum[r]
                                  : add->c_zero ? 0
                                                : sgemm_score_bits(s->c_rdata_i, 128 * r + 32 * (add->j % 4), 32);
            add->sum[r] = cm_fp_add(from, add->prod[r]);
        }
    }
    for (uint32_t k = 0; k < s->vecs; k++) {
        element *mul = &s->way[k + 1];
        for (uint32_t r = 0; r < s->chains && mul->valid; r++) {
            mul->prod[r] = k < mul->kb ? cm_fp_mul(operand(s, s->a_i, k, mul->i % 4 + r < 4 ? mul->i % 4 + r : 3),
                                                   operand(s, s->b_i, k, mul->j % 4))
                                       : 0x80000000u;
        }
    }
}

static void issue(state *s) {
    element e = {.valid = s->run};
    if (s->run) {
        const pass *p = &s->now;
        e.half = p->half;
        e.c_half = p->c_half;
        e.c_zero = p->c_zero;
        e.i = s->i;
        e.j = s->j;
        e.kb = p->kb;
        for (uint32_t r = 0; r < s->chains; r++) {
            e.rows |= (s->i + r < p->mb ? 1u : 0u) << r;
        }
        e.pass_end = s->j == p->nb - 1 && s->i + s->chains >= p->mb;
        e.tile_end = e.pass_end && p->last;
    }
    memmove(&s->way[1], &s->way[0], (s->vecs + 2) * sizeof s->way[0]);
    s->way[0] = e;
}

static void advance(tb_check *c, state *s) {
    const bool end = s->run && s->j == s->now.nb - 1 && s->i + s->chains >= s->now.mb;
    const bool ready = (!s->run && !s->wait) || (s->age >= s->vecs + 1 && (s->wait || end));
    if (ready) {
        s->wait = false;
        s->run = sgemm_score_b(s->pass_valid_i);
        s->i = s->j = s->age = 0;
        if (s->run) {
            c->task++;
            s->now = (pass){.mb = (uint32_t)tb_get(s->pass_mb_i),
                            .nb = (uint32_t)tb_get(s->pass_nb_i),
                            .kb = (uint32_t)tb_get(s->pass_kb_i),
                            .half = sgemm_score_b(s->pass_half_i),
                            .c_half = sgemm_score_b(s->pass_c_half_i),
                            .c_zero = sgemm_score_b(s->pass_c_zero_i),
                            .last = sgemm_score_b(s->pass_last_i)};
        }
        return;
    }
    s->age++;
    if (s->run) {
        s->wait = end;
        s->run = !end;
        s->i += s->j == s->now.nb - 1 ? s->chains : 0;
        s->j = s->j == s->now.nb - 1 ? 0 : s->j + 1;
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (s->vecs == 0) {
        parameters(s);
    }
    if (outputs(c, s) && lanes(c, s)) {
        compute(s);
        issue(s);
        advance(c, s);
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    uint64_t left = s->run || s->wait;
    for (uint32_t k = 0; k < s->vecs + 3; k++) {
        left += s->way[k].valid;
    }
    tb_check_value(c, "elements left", s->elements, left, 0);
}

static const char *const inputs[] = {"sgemm_blk_buf", "sgemm_c_buf", NULL};
const tb_check_ops sgemm_score_mac = {
    .unit = "sgemm_mac", .inputs = inputs, TB_STATE(state, PORTS), .cycle = cycle, .clear = clear, .finish = finish};
