/*
 * ld.c - check of a loader: the jobs of every block in order, and the words that it makes of their data.
 */
#include <inttypes.h>
#include <string.h>

#include "cm_fp.h"
#include "score.h"
#include "walk.h"

#define WORDS 16u /* on their way from the data to the buffer; a power of two */
#define BLOCKS 4u

typedef struct word {
    bool half, last;
    uint32_t seg, grp, mask, value[4];
} word;

#define PORTS                                                                                                          \
    start_i, m_i, n_i, k_i, outer_i, inner_i, addr_i, ld_i, f16_i, half_i, factor_i, allow_i, free_i, taken_o,         \
        taken_first_o, asked_o, loaded_o, req_valid_o, req_ready_i, req_addr_o, req_bytes_o, dat_valid_i, dat_ready_o, \
        dat_i, wr_valid_o, wr_half_o, wr_seg_o, wr_grp_o, wr_mask_o, wr_data_o, dim, vec, scale, round, elemw
typedef struct state {
    TB_PORTS(ports, PORTS);
    walk next;     /* block that is taken next */
    walk asked;    /* that is being requested */
    uint32_t seg;  /* its next segment */
    uint32_t free; /* halves of the buffer */
    uint64_t jobs, words;
    struct {
        uint32_t segs, elems;
    } block[BLOCKS];      /* taken, whose data are not complete */
    uint64_t taken, done; /* blocks */
    uint32_t data_seg, data_elem;
    bool data_half;
    word queue[WORDS];
    uint64_t in, out;
    bool known; /* parameters */
    bool asking;
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->next.on = s->asking = s->data_half = false;
    s->taken = s->done = s->in = s->out = 0;
    s->data_seg = s->data_elem = 0;
    s->free = 2;
}

static uint32_t element_bytes(const state *s) {
    return sgemm_score_b(s->f16_i) ? 2 : 4;
}

/* The next job of the block that is being requested. */
static bool job(tb_check *c, state *s) {
    const uint32_t outer = (uint32_t)tb_get(s->outer_i), inner = (uint32_t)tb_get(s->inner_i);
    const uint64_t at = (uint64_t)(s->asked.at[outer] + s->seg) * tb_get(s->ld_i) + s->asked.at[inner];
    const uint32_t addr = (uint32_t)(tb_get(s->addr_i) + at * element_bytes(s));
    if (!s->asking) {
        tb_check_fail(c, "job", s->jobs, NULL, "a job", "none: no block was taken");
        return false;
    }
    if (!tb_check_value(c, "address", s->jobs, tb_get(s->req_addr_o), addr) ||
        !tb_check_value(c, "bytes", s->jobs, tb_get(s->req_bytes_o), walk_size(&s->asked, inner) * element_bytes(s))) {
        return false;
    }
    s->jobs++;
    s->seg++;
    const bool last = s->seg == walk_size(&s->asked, outer);
    s->asking = !last;
    return tb_check_value(c, "asked", s->jobs, sgemm_score_b(s->asked_o), last);
}

/* A block is taken: half of the buffer is free, and it may be. */
static bool take(tb_check *c, state *s) {
    if (!s->next.on || s->free == 0 || !sgemm_score_b(s->allow_i) || s->asking) {
        tb_check_fail(c, "block", s->taken, NULL, "a block is requested",
                      !s->next.on    ? "none: the walk is over"
                      : s->asking    ? "none: the one before is not complete"
                      : s->free == 0 ? "none: no half of the buffer is free"
                                     : "none: it may not be requested yet");
        return false;
    }
    s->asked = s->next;
    s->asking = true;
    s->seg = 0;
    s->free--;
    s->block[s->taken % BLOCKS].segs = walk_size(&s->asked, (uint32_t)tb_get(s->outer_i));
    s->block[s->taken % BLOCKS].elems = walk_size(&s->asked, (uint32_t)tb_get(s->inner_i));
    s->taken++;
    const bool first = walk_first(&s->next);
    walk_next(&s->next);
    return tb_check_value(c, "first", s->taken, sgemm_score_b(s->taken_first_o), first);
}

static uint32_t processed(const state *s, uint32_t v) {
    if (tb_get(s->scale) != 0) {
        v = cm_fp_mul((uint32_t)tb_get(s->factor_i), v);
    }
    if (tb_get(s->elemw) == 16) {
        return cm_fp_to_f16(v);
    }
    return tb_get(s->round) != 0 && sgemm_score_b(s->half_i) ? cm_fp_from_f16(cm_fp_to_f16(v)) : v;
}

/* A beat of data: one word, or two of binary16. */
static bool beat(tb_check *c, state *s) {
    if (s->done == s->taken) {
        tb_check_fail(c, "data", s->words, NULL, "a beat", "none: no block was requested");
        return false;
    }
    const bool f16 = sgemm_score_b(s->f16_i);
    const uint32_t elems = s->block[s->done % BLOCKS].elems, segs = s->block[s->done % BLOCKS].segs;
    for (uint32_t part = 0; part < (f16 ? 2u : 1u) && (part == 0 || s->data_elem != 0); part++) {
        word *w = &s->queue[s->in++ % WORDS];
        *w = (word){.half = s->data_half, .seg = s->data_seg, .grp = s->data_elem / 4};
        for (uint32_t l = 0; l < 4 && s->data_elem + l < elems; l++) {
            const uint32_t v = f16 ? cm_fp_from_f16((uint16_t)sgemm_score_bits(s->dat_i, 64 * part + 16 * l, 16))
                                   : sgemm_score_bits(s->dat_i, 32 * l, 32);
            w->mask |= 1u << l;
            w->value[l] = processed(s, v);
        }
        s->data_elem += 4;
        if (s->data_elem >= elems) {
            s->data_elem = 0;
            s->data_seg++;
            w->last = s->data_seg == segs;
            if (w->last) {
                s->data_seg = 0;
                s->data_half = !s->data_half;
                s->done++;
                break;
            }
        }
    }
    return true;
}

/* A word for the buffer. */
static bool write(tb_check *c, state *s) {
    const word *w = &s->queue[s->out % WORDS];
    const uint32_t width = (uint32_t)tb_get(s->elemw);
    if (s->out == s->in) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: its data have not arrived");
        return false;
    }
    s->out++;
    if (!tb_check_value(c, "half", s->words, sgemm_score_b(s->wr_half_o), w->half) ||
        !tb_check_value(c, "segment", s->words, tb_get(s->wr_seg_o), w->seg) ||
        !tb_check_value(c, "group", s->words, tb_get(s->wr_grp_o), w->grp) ||
        !tb_check_value(c, "mask", s->words, tb_get(s->wr_mask_o), w->mask) ||
        !tb_check_value(c, "loaded", s->words, sgemm_score_b(s->loaded_o), w->last)) {
        return false;
    }
    for (uint32_t l = 0; l < 4; l++) {
        const uint32_t got = sgemm_score_bits(s->wr_data_o, width * l, width);
        if ((w->mask >> l & 1) != 0 && got != w->value[l]) {
            tb_check_failf(c, "value", s->words,
                           "segment %" PRIu32 ", element %" PRIu32 "|0x%08" PRIx32 "|0x%08" PRIx32, w->seg,
                           4 * w->grp + l, got, w->value[l]);
            return false;
        }
    }
    s->words++;
    return true;
}

static void begin(tb_check *c, state *s) {
    c->task++;
    s->next.dim = (uint32_t)tb_get(s->dim);
    s->next.vec = (uint32_t)tb_get(s->vec);
    walk_begin(&s->next, (uint32_t)tb_get(s->m_i), (uint32_t)tb_get(s->n_i), (uint32_t)tb_get(s->k_i));
    s->free = 2;
    s->data_half = false;
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (!s->known) {
        s->known = true;
        clear(c);
    }
    bool ok = true;
    if (sgemm_score_b(s->wr_valid_o)) {
        ok = write(c, s);
    }
    if (ok && sgemm_score_b(s->dat_valid_i) && sgemm_score_b(s->dat_ready_o)) {
        ok = beat(c, s);
    }
    if (ok && sgemm_score_b(s->req_valid_o) && sgemm_score_b(s->req_ready_i)) {
        ok = job(c, s);
    }
    if (ok && sgemm_score_b(s->taken_o)) {
        ok = take(c, s);
    }
    s->free += sgemm_score_b(s->free_i) ? 1 : 0;
    if (sgemm_score_b(s->start_i)) {
        begin(c, s);
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (tb_check_value(c, "blocks left", s->taken, s->next.on || s->asking, 0) &&
        tb_check_value(c, "data left", s->words, s->taken - s->done, 0)) {
        tb_check_value(c, "words left", s->words, s->in - s->out, 0);
    }
}

static const char *const inputs[] = {NULL};
const tb_check_ops sgemm_score_ld = {
    .unit = "sgemm_ld", .inputs = inputs, TB_STATE(state, PORTS), .cycle = cycle, .clear = clear, .finish = finish};
