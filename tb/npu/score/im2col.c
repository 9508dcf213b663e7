/*
 * im2col.c - predicts weights and vectors from tasks, progress of the loaders and data of the buffers.
 *
 * The check models the unit's two stages: from the start of a tile on, every output has a fixed cycle. The unit may
 * choose when a tile starts, as long as everything that the tile needs has arrived.
 */
#include "gemm_work.h"

#include <inttypes.h>
#include <stdio.h>

#define RING 16384u
/*
 * cycles from a task on offer to its first tile, besides those of the division of 2N by OW, when input and weights have
 * arrived
 */
#define SETUP 8u
#define LATE 3u /* cycles that the unit may take to notice that the rows have arrived */

/* Inputs of the mesh in this cycle; the buffers were read in the one before. */
typedef struct outputs {
    bool weight, vector;
    bool p;
    npu_score_walk weight_at, vector_at;
    uint32_t row, step;
    bool high;      /* INT16: the word has the high bytes of its row */
    bool inside[2]; /* stream: the pixel is inside the map */
    bool sel;
} outputs;

/* An output pixel, and the word of the input that it needs at the block's position in the kernel. */
typedef struct cursor {
    uint32_t pixel, ow; /* of the map, of its row */
    uint32_t y, x;      /* of the input; beyond it, modulo 2^32, when outside */
    uint32_t addr;      /* modulo RING */
} cursor;

#define PORTS                                                                                                          \
    task_valid_i, task_pop_o, ifm_all_i, pix_ready_i, wgt_full_i, wgt_blocks_i, wgt_release_o, free_o, free_words_o,   \
        tile_room_i, tile_start_o, wgt_re_o, wgt_bank_o, wgt_raddr_o, wgt_rdata_i, ifm_re_o, ifm_raddr_o[2],           \
        ifm_rdata_i[2], mesh_en_o, wgt_p_o, wgt_wide_o, wgt_word_o, sel_o, act_wide_o, act_o[2], act_valid_o,          \
        acc_first_o, acc_last_o, wait_ifm_o, wait_wgt_o, wait_ofm_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    tb_sig shape[NPU_SCORE_SHAPE_SIGS];
    uint32_t n;
    /* the task */
    bool have;
    npu_score_shape *t;
    uint32_t base;             /* of its input in the ring */
    uint32_t freed;            /* words released */
    bool pp;                   /* bank of the next block of weights without wgt_res */
    npu_score_walk next, w, a; /* next tile to start; blocks in the weight stage and the activation stage */
    uint32_t need;             /* pixels for the next tile */
    bool w_valid, a_valid, w_bank;
    bool p_now, a_sel;
    uint32_t step;
    cursor in;            /* even pixel of this step */
    uint32_t oh0, ow0;    /* first pixel of the tile */
    uint32_t right, down; /* from a word to those of the next pixel: in its row, in the next row */
    outputs out;
    uint32_t busy; /* cycles for which the mesh must stay enabled */
    uint32_t late;
    uint32_t ready;                     /* cycles for which input and weights of the next tile have been available */
    uint64_t enabled, weights, vectors; /* not cleared by a reset */
    npu_score_work work;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->n = s->work.n = npu_score_n(c);
    return npu_score_shape_open(c, s->shape, err, err_size);
}

const npu_score_work *npu_score_work_of(const tb_check *c) {
    for (size_t i = 0; i < c->all->count; i++) {
        if (c->all->check[i].ops == &npu_score_im2col) {
            return &((const state *)c->all->check[i].state)->work;
        }
    }
    return NULL;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->have = s->pp = s->w_valid = s->a_valid = s->p_now = false;
    s->base = s->step = s->busy = s->late = s->ready = 0;
    s->out = (outputs){0};
    s->work.tiles = 0;
}

/* ---- reports ---- */

static npu_score_block block_at(const state *s, const npu_score_walk *k) {
    return (npu_score_block){.task = s->t->number, .at = *k};
}

__attribute__((cold)) static void fail_here(tb_check *c, const char *stream, uint64_t transaction,
                                            const npu_score_walk *k, uint32_t pixel, const char *got,
                                            const char *expected) {
    const state *s = (const state *)c->state;
    char where[96];
    const npu_score_block b = block_at(s, k);
    npu_score_block_text(&s->work, &b, pixel, s->n, true, where, sizeof where);
    tb_check_fail(c, stream, transaction, where, got, expected);
}

__attribute__((cold)) static bool check_at(tb_check *c, const char *stream, uint64_t transaction,
                                           const npu_score_walk *k, uint32_t pixel, uint64_t got, uint64_t expected) {
    if (got == expected) {
        return true;
    }
    char g[24], e[24];
    snprintf(g, sizeof g, "%" PRIu64, got);
    snprintf(e, sizeof e, "%" PRIu64, expected);
    fail_here(c, stream, transaction, k, pixel, g, e);
    return false;
}

/* ---- to the mesh ---- */

__attribute__((cold)) static void wrong_word(tb_check *c, const state *s, const int8_t *got, const int8_t *data) {
    const outputs *o = &s->out;
    const npu_score_walk *k = &o->weight_at;
    uint32_t i = 0;
    while (got[i] == data[i]) {
        i++;
    }
    char where[96];
    snprintf(where, sizeof where,
             "output channel %" PRIu32 ", tile %" PRIu32 ", kernel (%" PRIu32 ", %" PRIu32 "), channel block %" PRIu32
             ", word %" PRIu32,
             k->ob * s->n + i, k->tile, k->ky, k->kx, k->ib, o->row);
    tb_check_failf(c, "weight", s->weights - 1, "%s|%d|%d", where, got[i], data[i]);
}

/* Not of a convolution: a word of the diagonal. */
static void check_diagonal(tb_check *c, const state *s) {
    const outputs *o = &s->out;
    const int8_t *got = (const int8_t *)s->wgt_word_o.ptr;
    int8_t diagonal[32] = {0};
    diagonal[o->row] = s->t->op == NPU_SCORE_CONVERT ? !o->high : ((const int8_t *)s->wgt_rdata_i.ptr)[o->row];
    if (!npu_score_same(got, diagonal, s->n)) {
        wrong_word(c, s, got, diagonal);
    }
}

static inline void check_word(tb_check *c, state *s) {
    const int8_t *got = (const int8_t *)s->wgt_word_o.ptr, *data = (const int8_t *)s->wgt_rdata_i.ptr;
    s->weights++;
    if (s->t->op != NPU_SCORE_CONV) {
        check_diagonal(c, s);
    } else if (!npu_score_same(got, data, s->n)) {
        wrong_word(c, s, got, data);
    }
}

__attribute__((cold)) static void wrong_vector(tb_check *c, const state *s, uint32_t stream, const int8_t *data) {
    const outputs *o = &s->out;
    const int8_t *got = (const int8_t *)s->act_o[stream].ptr;
    uint32_t i = 0;
    while (got[i] == data[i]) {
        i++;
    }
    char g[32], e[32];
    snprintf(g, sizeof g, "%d in channel %" PRIu32, got[i], o->vector_at.ib * s->n + i);
    snprintf(e, sizeof e, "%d%s", data[i], o->inside[stream] ? "" : ", the padding");
    fail_here(c, stream == 0 ? "vector 0" : "vector 1", s->vectors, &o->vector_at,
              s->t->wide ? o->step : 2 * o->step + stream, g, e);
}

/* Outside the map. */
static void check_padding(tb_check *c, const state *s, uint32_t stream) {
    int8_t padding[32];
    memset(padding, (int)s->t->zin, sizeof padding);
    if (!npu_score_same(s->act_o[stream].ptr, padding, s->n)) {
        wrong_vector(c, s, stream, padding);
    }
}

static inline void check_vector(tb_check *c, const state *s, uint32_t stream) {
    const int8_t *data = (const int8_t *)s->ifm_rdata_i[stream].ptr;
    if (!s->out.inside[stream]) {
        check_padding(c, s, stream);
    } else if (!npu_score_same(s->act_o[stream].ptr, data, s->n)) {
        wrong_vector(c, s, stream, data);
    }
}

static void check_vectors(tb_check *c, state *s) {
    const outputs *o = &s->out;
    const npu_score_walk *k = &o->vector_at;
    const uint32_t pixel = o->step << !s->t->wide;
    if (o->step == 0) {
        s->work.block[s->work.blocks++ % NPU_SCORE_BLOCKS] =
            (npu_score_block){.vector = s->enabled, .task = s->t->number, .at = *k};
    }
    const uint32_t flags = npu_score_b(s->acc_first_o) | npu_score_b(s->acc_last_o) << 1 | npu_score_b(s->sel_o) << 2 |
                           npu_score_b(s->act_wide_o) << 3;
    const uint32_t expected = (uint32_t)(k->block == 0) | (uint32_t)(k->block + 1 == s->t->blocks) << 1 |
                              (uint32_t)o->sel << 2 | (uint32_t)s->t->wide << 3;
    if (flags != expected) {
        check_at(c, "first block", s->vectors, k, pixel, flags & 1u, expected & 1u);
        check_at(c, "last block", s->vectors, k, pixel, flags >> 1 & 1u, expected >> 1 & 1u);
        check_at(c, "register select", s->vectors, k, pixel, flags >> 2 & 1u, expected >> 2 & 1u);
        check_at(c, "INT16", s->vectors, k, pixel, flags >> 3, expected >> 3);
    }
    check_vector(c, s, 0);
    check_vector(c, s, 1);
    s->vectors++;
    s->busy = 2 * s->n + 2; /* then the last column's sums have left acc */
}

static inline void check_outputs(tb_check *c, state *s) {
    const outputs *o = &s->out;
    if (npu_score_b(s->act_valid_o) != (uint32_t)o->vector) {
        tb_check_fail(c, "vector", s->vectors, NULL, o->vector ? "none" : "one",
                      o->vector ? "one: a tile has no idle cycles" : "none");
        return;
    }
    if (o->vector) {
        check_vectors(c, s);
    } else if ((npu_score_b(s->acc_first_o) | npu_score_b(s->acc_last_o)) != 0) {
        tb_check_fail(c, "first, last block", s->vectors, NULL, "1", "0: there is no vector");
    }
    if (o->weight) {
        check_word(c, s);
        if (npu_score_b(s->wgt_wide_o) != (uint32_t)s->t->wide) {
            tb_check_value(c, "INT16 of weights", s->weights, npu_score_b(s->wgt_wide_o), s->t->wide);
        }
    }
    const bool en = npu_score_b(s->mesh_en_o) != 0;
    if (en) {
        if (npu_score_b(s->wgt_p_o) != (uint32_t)o->p) {
            tb_check_value(c, "register to load", s->weights, npu_score_b(s->wgt_p_o), o->p);
        }
    } else if (o->weight || s->busy > 0) {
        tb_check_fail(c, "mesh enable", s->vectors, NULL, "0", "1: weights, vectors or sums are in flight");
    }
    s->busy -= s->busy > 0;
    s->enabled += en;
}

/* ---- reads ---- */

static void check_weight_read(tb_check *c, state *s) {
    const npu_score_shape *t = s->t;
    const npu_score_walk *k = &s->w;
    const bool on = s->w_valid && t->op != NPU_SCORE_CONVERT;
    if (npu_score_b(s->wgt_re_o) != (uint32_t)on) {
        tb_check_fail(c, "weight read", s->weights, NULL, on ? "none" : "one", on ? "one" : "none");
        return;
    }
    if (on) {
        const uint32_t first = t->wgt_res ? (k->ob >> 1) * t->words : 0;
        const uint32_t word = t->op == NPU_SCORE_CONV ? k->block * t->cycles + t->cycles - 1 - s->step
                              : t->wide               ? 2 * k->block + (s->step % 2 == 0)
                                                      : k->block;
        if (npu_score_b(s->wgt_bank_o) != s->w_bank || tb_get(s->wgt_raddr_o) != first + word) {
            check_at(c, "weight bank", s->weights, k, 0, npu_score_b(s->wgt_bank_o), s->w_bank);
            check_at(c, "weight address", s->weights, k, 0, tb_get(s->wgt_raddr_o), first + word);
        }
    }
}

/* A bank is released with the last word of the last tile that needs it. */
static void check_release(tb_check *c, state *s) {
    const npu_score_shape *t = s->t;
    uint32_t expected = 0;
    if (s->w_valid && s->step == t->cycles - 1 && s->w.block + 1 == t->blocks && s->w.tile + 1 == t->tiles &&
        t->op != NPU_SCORE_CONVERT) {
        expected = !t->wgt_res ? 1u << s->w_bank : s->w.ob + 1 == t->ocb ? 3 : 0;
    }
    if (npu_score_b(s->wgt_release_o) != expected) {
        tb_check_value(c, "release of weights", s->weights, npu_score_b(s->wgt_release_o), expected);
    }
    if (expected != 0 && !t->wgt_res) {
        s->pp = !s->pp;
    }
}

static inline void next_pixel(const state *s, cursor *k) {
    const npu_score_shape *t = s->t;
    k->pixel++;
    if (++k->ow == t->ow) {
        k->ow = 0;
        k->y += t->sh;
        k->x -= (t->ow - 1) * t->sw;
        k->addr += s->down;
    } else {
        k->x += t->sw;
        k->addr += s->right;
    }
}

static inline bool inside(const npu_score_shape *t, const cursor *k) {
    return k->pixel < t->pixels && k->y < t->ih && k->x < t->iw;
}

/* Outside of the map any word may be read. */
static inline void check_input_addr(tb_check *c, const state *s, uint32_t stream, uint32_t addr) {
    if (s->out.inside[stream] && tb_get(s->ifm_raddr_o[stream]) != addr % RING) {
        check_at(c, stream == 0 ? "input address 0" : "input address 1", s->vectors, &s->a,
                 s->t->wide ? s->step : 2 * s->step + stream, tb_get(s->ifm_raddr_o[stream]), addr % RING);
    }
}

static inline void check_input_read(tb_check *c, state *s) {
    if (npu_score_b(s->ifm_re_o) != (uint32_t)s->a_valid) {
        tb_check_fail(c, "input read", s->vectors, NULL, s->a_valid ? "none" : "one", s->a_valid ? "one" : "none");
        return;
    }
    if (!s->a_valid) {
        return;
    }
    const npu_score_shape *t = s->t;
    cursor k = s->in;
    s->out.inside[0] = inside(t, &k);
    check_input_addr(c, s, 0, k.addr);
    if (t->wide) { /* both words of one pixel, not two pixels */
        s->out.inside[1] = s->out.inside[0];
        check_input_addr(c, s, 1, k.addr + 1);
    } else {
        next_pixel(s, &k);
        s->out.inside[1] = inside(t, &k);
        check_input_addr(c, s, 1, k.addr);
    }
    next_pixel(s, &k);
    s->in = k;
}

/* ---- flow ---- */

static void take_task(tb_check *c, state *s) {
    c->task = s->work.tasks;
    s->t = npu_score_task(&s->work, s->work.tasks);
    s->t->number = s->work.tasks++;
    npu_score_shape_read(s->t, s->n, s->shape);
    s->have = true;
    s->freed = 0;
    s->next = (npu_score_walk){0};
    s->need = npu_score_need(s->t, s->n, &s->next);
}

static bool rows_there(const state *s) {
    return npu_score_b(s->ifm_all_i) != 0 || tb_get(s->pix_ready_i) >= s->need;
}

static bool boundary(const state *s) {
    return (!s->w_valid && !s->a_valid) || s->step == s->t->cycles - 1;
}

static bool in_tile(const state *s) {
    return s->w_valid && s->w.block + 1 < s->t->blocks;
}

/* The bank of the next tile. */
static bool next_bank(const state *s) {
    return s->t->wgt_res ? (s->next.ob & 1u) != 0 : s->pp;
}

static bool weights_there(const state *s) {
    const uint32_t bank = next_bank(s);
    const uint64_t blocks = tb_get(s->wgt_blocks_i) >> (10 * bank) & 0x3ff;
    return s->t->op == NPU_SCORE_CONVERT ||
           (s->t->wgt_res ? blocks > s->next.ob >> 1 : (npu_score_b(s->wgt_full_i) >> bank & 1u) != 0);
}

/* Could a tile start, considering only the block before it? */
static bool may_start(const state *s) {
    return s->have && !s->next.end && boundary(s) && !in_tile(s);
}

/* A tile must start when everything that it needs has been available for as long as the unit takes to see it: no idle
 * cycle between tiles when no side stalls. */
static void check_pause(tb_check *c, state *s) {
    const uint32_t limit = s->next.tile == 0 && s->next.ob == 0 ? SETUP + 2 * s->n / s->t->ow : LATE;
    if (s->ready > limit && may_start(s) && npu_score_b(s->wait_ofm_o) == 0) {
        const bool room = npu_score_b(s->tile_room_i) != 0;
        fail_here(c, room ? "tile start" : "waits", s->work.tiles, &s->next, 0, "none",
                  room ? "one: input, weights and space are available" : "for space: there is none");
    }
}

static void check_start(tb_check *c, state *s) {
    const uint64_t tile = s->work.tiles;
    if (!may_start(s)) {
        tb_check_fail(c, "tile start", tile, NULL, "a start",
                      !s->have || s->next.end ? "none: there is no tile" : "none in a block");
        return;
    }
    if (!rows_there(s)) {
        char got[40], expected[40];
        snprintf(got, sizeof got, "%" PRIu64 " pixels of the input", tb_get(s->pix_ready_i));
        snprintf(expected, sizeof expected, "%" PRIu32, s->need);
        fail_here(c, "tile start", tile, &s->next, 0, got, expected);
    } else if (!weights_there(s)) {
        fail_here(c, "tile start", tile, &s->next, 0, "a start", "none before the weights have arrived");
    } else if (npu_score_b(s->tile_room_i) == 0) {
        fail_here(c, "tile start", tile, &s->next, 0, "a start", "none without space in ofm_buf");
    }
}

/* Words of the input that may have been released: all of them have arrived, and none is still to be read. */
static uint32_t may_free(const state *s) {
    const npu_score_walk *k = s->a_valid ? &s->a : s->w_valid ? &s->w : &s->next;
    const uint32_t pixels = npu_score_first_row(s->t, s->n, k) * s->t->iw;
    const uint64_t here = npu_score_b(s->ifm_all_i) != 0 ? UINT64_MAX : tb_get(s->pix_ready_i);
    return (uint32_t)(here < pixels ? here : pixels) * s->t->icw;
}

static void check_free(tb_check *c, state *s) {
    const bool pop = npu_score_b(s->task_pop_o) != 0;
    const uint32_t words = (uint32_t)tb_get(s->free_words_o);
    if (!s->have || (pop && (s->w_valid || s->a_valid || !s->next.end || npu_score_b(s->ifm_all_i) == 0))) {
        tb_check_fail(c, "end of the task", s->work.tasks, NULL, "words returned",
                      s->have ? "more vectors" : "none: no task");
        return;
    }
    const uint32_t limit = pop ? s->t->ifm_words : s->t->wgt_res ? may_free(s) : 0;
    s->freed += words;
    if (s->freed > limit || (pop && s->freed < limit)) {
        tb_check_failf(c, "words returned", s->work.tasks, "%" PRIu32 " words returned so far|%s%" PRIu32, s->freed,
                       pop ? "" : "at most ", limit);
    }
}

static void check_waits(tb_check *c, state *s) {
    const uint32_t ifm = npu_score_b(s->wait_ifm_o), wgt = npu_score_b(s->wait_wgt_o), ofm = npu_score_b(s->wait_ofm_o);
    if (ifm + wgt + ofm > 1 || !s->have || s->next.end || npu_score_b(s->tile_start_o) != 0 ||
        ofm == npu_score_b(s->tile_room_i)) {
        tb_check_fail(c, "waits", s->work.tiles, NULL,
                      ifm   ? "for input"
                      : wgt ? "for weights"
                            : "for room",
                      "another reason, or none");
        return;
    }
    s->late = ifm != 0 && rows_there(s) ? s->late + 1 : 0;
    if (s->late > LATE) {
        fail_here(c, "waits", s->work.tiles, &s->next, 0, "for input", "none: its rows have arrived");
    }
}

/* ---- the stages ---- */

static void enter_activation(state *s) {
    s->a_valid = s->w_valid;
    if (!s->w_valid) {
        return;
    }
    s->a = s->w;
    s->a_sel = s->p_now;
    s->p_now = !s->p_now;
    if (s->a.block == 0) {
        const uint32_t first = s->a.tile * 2 * s->n;
        s->oh0 = first / s->t->ow;
        s->ow0 = first % s->t->ow;
    }
    const npu_score_shape *t = s->t;
    const uint32_t y = s->oh0 * t->sh + s->a.ky * t->dh - t->pad_t, x = s->ow0 * t->sw + s->a.kx * t->dw - t->pad_l;
    s->in = (cursor){.pixel = s->a.tile * 2 * s->n,
                     .ow = s->ow0,
                     .y = y,
                     .x = x,
                     .addr = s->base + (y * t->iw + x) * t->icw + (s->a.ib << t->wide)};
    s->right = t->sw * t->icw;
    s->down = (t->sh * t->iw - (t->ow - 1) * t->sw) * t->icw;
}

static void enter_weights(state *s, bool start) {
    if (in_tile(s)) {
        npu_score_walk_block(s->t, &s->w);
        return;
    }
    s->w_valid = start;
    if (!start) {
        return;
    }
    s->w = s->next;
    s->w_bank = next_bank(s);
    s->work.tile[s->work.tiles++ % NPU_SCORE_TILES] = block_at(s, &s->w);
    npu_score_walk_tile(s->t, &s->next);
    s->need = s->next.end ? 0 : npu_score_need(s->t, s->n, &s->next);
}

static void advance(state *s, bool start) {
    outputs *o = &s->out;
    o->weight = s->w_valid;
    o->vector = s->a_valid;
    o->p = s->p_now;
    o->sel = s->a_sel;
    o->step = s->step;
    o->row = s->n - 1 - (s->have && s->t->wide ? s->step / 2 : s->step);
    o->high = s->have && s->t->wide && s->step % 2 == 0;
    if (s->step == 0) {
        o->weight_at = s->w;
        o->vector_at = s->a;
    }
    if (!boundary(s)) {
        s->step++;
        return;
    }
    s->step = 0;
    enter_activation(s);
    enter_weights(s, start);
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    check_outputs(c, s);
    if (!s->have && npu_score_b(s->task_valid_i) != 0) {
        take_task(c, s);
    }
    check_weight_read(c, s);
    check_input_read(c, s);
    check_release(c, s);
    if ((npu_score_b(s->wait_ifm_o) | npu_score_b(s->wait_wgt_o) | npu_score_b(s->wait_ofm_o)) != 0) {
        check_waits(c, s);
    } else {
        s->late = 0;
    }
    const bool start = npu_score_b(s->tile_start_o) != 0;
    s->ready = s->have && !s->next.end && rows_there(s) && weights_there(s) ? s->ready + 1 : 0;
    if (start) {
        check_start(c, s);
        s->ready = 0;
    } else {
        check_pause(c, s);
    }
    if (npu_score_b(s->free_o) != 0) {
        check_free(c, s);
    } else if (npu_score_b(s->task_pop_o) != 0) {
        tb_check_fail(c, "end of the task", s->work.tasks, NULL, "no words returned", "all remaining ones");
    }
    if (c->failed) {
        return;
    }
    advance(s, start);
    if (npu_score_b(s->task_pop_o) != 0) {
        s->base = (s->base + s->t->ifm_words) % RING;
        s->have = false;
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->have) {
        tb_check_fail(c, "end of the task", s->work.tasks, NULL, "none", "all tasks done");
    }
}

const tb_check_ops npu_score_im2col = {
    .unit = "im2col",
    .inputs = (const char *const[]){"gemm_queue", "ifm_ld", "wgt_ld", "ifm_buf", "wgt_buf", NULL},
    TB_STATE(state, PORTS),
    .open = open,
    .clear = clear,
    .cycle = cycle,
    .finish = finish};
