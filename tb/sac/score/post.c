/* post.c - checks of pool, pool_tail, feature_writer and full_size_pool. */
#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"
#include "sac_contract.h"
#include "sac_regs.h"
#include "score.h"

/* ---- pool: the maximum of each window, from the map that has entered ---- */

#define POOL_PORTS clr_i, start_i, valid_i, ready_o, data_i, valid_o, ready_i, data_o
typedef struct pool {
    TB_PORTS(ports, POOL_PORTS);
    bool on;
    uint64_t in, out; /* columns */
    int8_t *map;      /* the batch that enters and the one before it: [2][row][column][filter] */
    size_t bytes;
} pool;

static void pool_clear(tb_check *c) {
    pool *s = (pool *)c->state;
    s->on = false;
    s->in = s->out = 0;
}

static void pool_close(tb_check *c) {
    free(((pool *)c->state)->map);
}

/* Column number `out` of the output: rows that the stride keeps, all positions up to the last one that it keeps. */
static void pool_expected(const tb_check *c, const pool *s, uint8_t *expected) {
    const cm_layer_task *t = sac_task_of(c);
    const uint32_t nv = sac_build_of(c)->n, wide = (t->pw - 1) * t->pool_stride + 1;
    const uint64_t row = s->out / wide, batch = row / t->ph;
    const int64_t x0 = (int64_t)(s->out % wide) - t->pool_pl, y0 = (int64_t)(row % t->ph) * t->pool_stride - t->pool_pt;
    memset(expected, 0x80, nv);
    for (int64_t y = y0; y < y0 + t->win; y++) {
        for (int64_t x = x0; x < x0 + t->win; x++) {
            for (uint32_t n = 0; n < nv && x >= 0 && x < t->ow && y >= 0 && y < t->oh; n++) {
                const int8_t v = s->map[(((batch % 2) * t->oh + (uint64_t)y) * t->ow + (uint64_t)x) * nv + n];
                expected[n] = v > (int8_t)expected[n] ? (uint8_t)v : expected[n];
            }
        }
    }
}

static void pool_start(tb_check *c, pool *s) {
    const cm_layer_task *t = sac_task_of(c);
    const size_t bytes = 2 * (size_t)t->oh * t->ow * sac_build_of(c)->n;
    pool_clear(c);
    c->task++;
    if (bytes > s->bytes && t->pool) {
        free(s->map);
        s->map = malloc(bytes);
        s->bytes = s->map != NULL ? bytes : 0;
    }
    s->on = !t->pool || s->map != NULL;
}

__attribute__((hot)) static void pool_cycle(tb_check *c) {
    pool *s = (pool *)c->state;
    const cm_layer_task *t = sac_task_of(c);
    const uint32_t nv = sac_build_of(c)->n;
    uint8_t expected[SAC_N_MAX];
    const bool in = sac_bit(s->valid_i) && sac_bit(s->ready_o), out = sac_bit(s->valid_o) && sac_bit(s->ready_i);
    if (s->on && !t->pool) {
        if (in != out) {
            tb_check_fail(c, "pass", s->out, NULL, "a handshake on one side", "on both: there is no pooling");
        } else if (out) {
            sac_score_bytes(c, "data", s->out, sac_bytes(s->data_o), sac_bytes(s->data_i), nv);
        }
    } else if (s->on && out) {
        pool_expected(c, s, expected);
        sac_score_bytes(c, "data", s->out, sac_bytes(s->data_o), expected, nv);
    }
    s->out += out;
    if (s->on && t->pool && in) {
        memcpy(s->map + s->in % (2 * (uint64_t)t->oh * t->ow) * nv, s->data_i.ptr, nv);
    }
    s->in += in;
    if (sac_bit(s->start_i)) {
        pool_start(c, s);
    }
    if (sac_bit(s->clr_i)) {
        pool_clear(c);
    }
}

const tb_check_ops sac_score_pool = {.unit = "pool",
                                     .inputs = (const char *const[]){"relu", NULL},
                                     TB_STATE(pool, POOL_PORTS),
                                     .cycle = pool_cycle,
                                     .clear = pool_clear,
                                     .close = pool_close};

/* ---- tail: columns that the stride keeps, packed to pages ---- */

#define TAIL_PORTS clr_i, start_i, valid_i, ready_o, data_i, valid_o, ready_i, page_o, cols_o
typedef struct tail {
    TB_PORTS(ports, TAIL_PORTS);
    bool on;
    uint32_t pos, cols;                     /* of the row; in the page that is filled */
    uint8_t fill[SAC_W_MAX * SAC_N_MAX];    /* it */
    uint8_t page[2][SAC_W_MAX * SAC_N_MAX]; /* complete ones that have not left */
    uint32_t page_cols[2], have, pages;
} tail;

static void tail_clear(tb_check *c) {
    tail *s = (tail *)c->state;
    s->on = false;
    s->pos = s->cols = s->have = s->pages = 0;
}

static void tail_column(const tb_check *c, tail *s) {
    const cm_layer_task *t = sac_task_of(c);
    const sac_build *b = sac_build_of(c);
    const uint32_t wide = t->pool ? (t->pw - 1) * t->pool_stride + 1 : t->ow;
    if (s->cols == 0) {
        memset(s->fill, 0, sizeof s->fill);
    }
    if (!t->pool || s->pos % t->pool_stride == 0) {
        memcpy(s->fill + s->cols++ * b->n, s->data_i.ptr, b->n);
    }
    s->pos = (s->pos + 1) % wide;
    if (s->cols == b->w || (s->pos == 0 && s->cols > 0)) {
        memcpy(s->page[s->have % 2], s->fill, sizeof s->fill);
        s->page_cols[s->have++ % 2] = s->cols;
        s->cols = 0;
    }
}

__attribute__((hot)) static void tail_cycle(tb_check *c) {
    tail *s = (tail *)c->state;
    const sac_build *b = sac_build_of(c);
    if (s->on && !tb_check_value(c, "valid", s->pages, sac_bit(s->valid_o), s->have > s->pages)) {
        return;
    }
    if (s->on && sac_bit(s->valid_o) && sac_bit(s->ready_i)) {
        (void)(tb_check_value(c, "columns", s->pages, tb_get(s->cols_o), s->page_cols[s->pages % 2]) &&
               sac_score_bytes(c, "page", s->pages, sac_bytes(s->page_o), s->page[s->pages % 2], b->w * b->n));
        s->pages++;
    }
    if (s->on && sac_bit(s->valid_i) && sac_bit(s->ready_o)) {
        tail_column(c, s);
    }
    if (sac_bit(s->clr_i) || sac_bit(s->start_i)) {
        tail_clear(c);
        s->on = sac_bit(s->start_i) && !sac_bit(s->clr_i);
        c->task++;
    }
}

const tb_check_ops sac_score_tail = {.unit = "tail",
                                     .inputs = (const char *const[]){"pool", NULL},
                                     TB_STATE(tail, TAIL_PORTS),
                                     .cycle = tail_cycle,
                                     .clear = tail_clear};

/* ---- writer: beats of a page, with residual ---- */

#define WRITER_PORTS                                                                                                   \
    clr_i, start_i, p_we_i, p_n_i, p_place_i, p_i, valid_i, ready_o, page_i, cols_i, res_valid_i, res_ready_o, res_i,  \
        valid_o, ready_i, data_o, mask_o, beat_o, group_o, place_o, cpage_o, first_o, last_o
typedef struct writer {
    TB_PORTS(ports, WRITER_PORTS);
    bool on, have; /* have: a beat is at the output */
    uint8_t param[4][SAC_N_MAX][16];
    uint64_t beats; /* into the output, of the task */
    uint32_t batch, page, group, beat;
    struct {
        uint8_t data[16];
        uint32_t mask, beat, group, place, cpage;
        bool first, last;
    } out;
} writer;

static void writer_clear(tb_check *c) {
    writer *s = (writer *)c->state;
    s->on = s->have = false;
    s->beats = 0;
    s->batch = s->page = s->group = s->beat = 0;
}

/* The beat that is made now. */
static void writer_make(const tb_check *c, writer *s) {
    const sac_build *b = sac_build_of(c);
    const cm_layer_task *t = sac_task_of(c);
    uint32_t w, h;
    sac_score_map(c, &w, &h);
    const uint32_t pages = sac_up(w, b->w) * h, cols = (uint32_t)tb_get(s->cols_i), left = sac_left(c, s->batch);
    s->out.mask = 0;
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t lane = s->beat * 16 + i, col = lane / b->c, n = s->group * b->c + lane % b->c;
        const uint8_t *p = s->param[s->batch % 4][n];
        int8_t a = col < b->w ? (int8_t)sac_bytes(s->page_i)[col * b->n + n] : 0;
        if (t->add) {
            const int r = (int8_t)(p[7] << 3) >> 3;
            a = sac_residual(a, (int8_t)sac_bytes(s->res_i)[i], p[5] & 7, p[6] & 7, r);
        }
        a = (int8_t)(t->post_relu && a < 0 ? 0 : a);
        s->out.data[i] = (uint8_t)(col < cols && n < left ? a : 0);
        s->out.mask |= (uint32_t)(col < cols) << i;
    }
    s->out.beat = s->beat;
    s->out.group = s->group;
    s->out.place = s->batch % 4;
    s->out.cpage = (s->batch * (b->n / b->c) + s->group) * pages + s->page;
    s->out.first = s->page == 0;
    s->have = true;
    s->beats++;
    bool next = ++s->beat == sac_page_bytes(b) / 16;
    s->beat = next ? 0 : s->beat;
    next = next && ++s->group == sac_groups_of(c, s->batch);
    s->group = next ? 0 : s->group;
    next = next && ++s->page == pages;
    s->out.last = next;
    s->page = next ? 0 : s->page;
    s->batch += next;
}

static void writer_compare(tb_check *c, const writer *s) {
    const uint64_t k = s->beats - 1;
    (void)(sac_score_bytes(c, "data", k, sac_bytes(s->data_o), s->out.data, 16) &&
           tb_check_value(c, "mask", k, tb_get(s->mask_o), s->out.mask) &&
           tb_check_value(c, "beat", k, tb_get(s->beat_o), s->out.beat) &&
           tb_check_value(c, "group", k, tb_get(s->group_o), s->out.group) &&
           tb_check_value(c, "place", k, tb_get(s->place_o), s->out.place) &&
           tb_check_value(c, "cache page", k, tb_get(s->cpage_o), s->out.cpage) &&
           tb_check_value(c, "first", k, sac_bit(s->first_o), s->out.first) &&
           tb_check_value(c, "last", k, sac_bit(s->last_o), s->out.last));
}

__attribute__((hot)) static void writer_cycle(tb_check *c) {
    writer *s = (writer *)c->state;
    const cm_layer_task *t = sac_task_of(c);
    if (s->on) {
        if (!tb_check_value(c, "valid", s->beats, sac_bit(s->valid_o), s->have)) {
            return;
        }
        if (s->have) {
            writer_compare(c, s);
        }
        const bool free = !s->have || sac_bit(s->ready_i);
        const bool step = free && sac_bit(s->valid_i) && (!t->add || sac_bit(s->res_valid_i));
        s->have = s->have && !free;
        if (step) {
            writer_make(c, s);
        }
        const bool page_ends = step && s->beat == 0 && s->group == 0;
        (void)(tb_check_value(c, "ready", s->beats, sac_bit(s->ready_o), page_ends) &&
               tb_check_value(c, "residual", s->beats, sac_bit(s->res_ready_o) && sac_bit(s->res_valid_i),
                              step && t->add));
    }
    if (sac_bit(s->p_we_i)) {
        memcpy(s->param[tb_get(s->p_place_i)][tb_get(s->p_n_i)], s->p_i.ptr, 16);
    }
    if (sac_bit(s->clr_i) || sac_bit(s->start_i)) {
        writer_clear(c);
        s->on = sac_bit(s->start_i) && !sac_bit(s->clr_i);
        c->task++;
    }
}

const tb_check_ops sac_score_writer = {.unit = "writer",
                                       .inputs = (const char *const[]){"tail", "filter", NULL},
                                       TB_STATE(writer, WRITER_PORTS),
                                       .cycle = writer_cycle,
                                       .clear = writer_clear};

/* ---- full: maximum or average of a batch, as a page for each channel group ---- */

#define FULL_PORTS                                                                                                     \
    clr_i, start_i, p_we_i, p_n_i, p_place_i, p_i, valid_i, ready_o, data_i, mask_i, beat_i, group_i, place_i,         \
        cpage_i, first_i, last_i, valid_o, ready_i, data_o, beat_o, cpage_o, last_o
typedef struct full {
    TB_PORTS(ports, FULL_PORTS);
    bool on;
    int8_t g[4][SAC_N_MAX];
    int32_t sum[SAC_N_MAX], max[SAC_N_MAX];
    uint32_t place;
    uint32_t in, out; /* batches that have entered, and left */
    uint32_t group, beat;
    uint8_t value[SAC_N_MAX];
} full;

static void full_clear(tb_check *c) {
    full *s = (full *)c->state;
    s->on = false;
    s->in = s->out = s->group = s->beat = 0;
}

static void full_take(const tb_check *c, full *s) {
    const sac_build *b = sac_build_of(c);
    const cm_layer_task *t = sac_task_of(c);
    uint32_t w, h;
    sac_score_map(c, &w, &h);
    for (uint32_t n = 0; n < b->n && sac_bit(s->first_i) && tb_get(s->beat_i) == 0 && tb_get(s->group_i) == 0; n++) {
        s->sum[n] = 0;
        s->max[n] = INT8_MIN;
    }
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t n = (uint32_t)tb_get(s->group_i) * b->c + i % b->c;
        const int8_t v = (int8_t)sac_bytes(s->data_i)[i];
        if ((tb_get(s->mask_i) >> i & 1) != 0) {
            s->sum[n] += v;
            s->max[n] = v > s->max[n] ? v : s->max[n];
        }
    }
    if (sac_bit(s->last_i)) {
        const uint8_t place = (uint8_t)tb_get(s->place_i);
        for (uint32_t n = 0; n < b->n; n++) {
            s->value[n] =
                (uint8_t)(t->full == SAC_MODE_FULL_MAX ? s->max[n] : sac_average(s->sum[n], w * h, s->g[place][n]));
        }
        s->in++;
    }
}

static void full_send(tb_check *c, full *s) {
    const sac_build *b = sac_build_of(c);
    uint8_t expected[16] = {0};
    for (uint32_t i = 0; i < b->c && s->beat == 0; i++) {
        expected[i] = s->value[s->group * b->c + i];
    }
    if (s->out == s->in) {
        tb_check_fail(c, "beat", s->out, NULL, "a beat", "none: the map is not complete");
        return;
    }
    const bool ends = s->beat + 1 == sac_page_bytes(b) / 16, last = ends && s->group + 1 == sac_groups_of(c, s->out);
    (void)(sac_score_bytes(c, "data", s->out, sac_bytes(s->data_o), expected, 16) &&
           tb_check_value(c, "beat", s->out, tb_get(s->beat_o), s->beat) &&
           tb_check_value(c, "cache page", s->out, tb_get(s->cpage_o), s->out * (b->n / b->c) + s->group) &&
           tb_check_value(c, "last", s->out, sac_bit(s->last_o), last));
    s->beat = ends ? 0 : s->beat + 1;
    s->group = last ? 0 : s->group + ends;
    s->out += last;
}

static void full_pass(tb_check *c, full *s) {
    /* a task of the driver begins a little before the unit starts with it: nothing moves then */
    const bool in = sac_bit(s->valid_i) && sac_bit(s->ready_o), out = sac_bit(s->valid_o) && sac_bit(s->ready_i);
    (void)(tb_check_value(c, "pass", s->out, out, in) &&
           (!sac_bit(s->valid_o) ||
            (sac_score_bytes(c, "data", s->out, sac_bytes(s->data_o), sac_bytes(s->data_i), 16) &&
             tb_check_value(c, "beat", s->out, tb_get(s->beat_o), tb_get(s->beat_i)) &&
             tb_check_value(c, "cache page", s->out, tb_get(s->cpage_o), tb_get(s->cpage_i)) &&
             tb_check_value(c, "last", s->out, sac_bit(s->last_o), sac_bit(s->last_i)))));
}

__attribute__((hot)) static void full_cycle(tb_check *c) {
    full *s = (full *)c->state;
    if (s->on && sac_task_of(c)->full == SAC_MODE_FULL_NONE) {
        full_pass(c, s);
    } else if (s->on) {
        if (sac_bit(s->valid_o) && sac_bit(s->ready_i)) {
            full_send(c, s);
        }
        if (sac_bit(s->valid_i) && sac_bit(s->ready_o)) {
            full_take(c, s);
        }
    }
    if (sac_bit(s->p_we_i)) {
        s->g[tb_get(s->p_place_i)][tb_get(s->p_n_i)] = (int8_t)((int8_t)(sac_bytes(s->p_i)[8] << 4) >> 4);
    }
    if (sac_bit(s->clr_i) || sac_bit(s->start_i)) {
        full_clear(c);
        s->on = sac_bit(s->start_i) && !sac_bit(s->clr_i);
        c->task++;
    }
}

const tb_check_ops sac_score_full = {.unit = "full",
                                     .inputs = (const char *const[]){"writer", NULL},
                                     TB_STATE(full, FULL_PORTS),
                                     .cycle = full_cycle,
                                     .clear = full_clear};
