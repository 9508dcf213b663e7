/* array.c - checks of sequencer, retriever, pe and relu, and of what connects sequencer and filter reader. */
#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"
#include "sac_contract.h"
#include "score.h"

#define DEPTH 16u /* results behind the array */

/* ---- seq: the loops, with divisions where the unit adds ---- */

#define SEQ_PORTS                                                                                                      \
    clr_i, start_i, loaded_i, pop_i, done_o, computed_o, ev_load_o, ev_write_o, valid_o, page_o, bank_o, col_o,        \
        row_ok_o, group_o, word_o, third_o, half_o, place_o, first_o, last_o, slot_o
typedef struct seq {
    TB_PORTS(ports, SEQ_PORTS);
    bool on;
    uint64_t vectors;  /* so far, of the task */
    uint32_t results;  /* whose first vector was offered */
    uint32_t room;     /* results that may begin */
    uint32_t red, vec; /* vectors of a result, results of an output row */
} seq;

static void seq_clear(tb_check *c) {
    seq *s = (seq *)c->state;
    s->on = false;
    s->vectors = s->results = 0;
}

static void seq_vector(tb_check *c, seq *s) {
    const sac_build *b = sac_build_of(c);
    const cm_layer_task *t = sac_task_of(c);
    const uint32_t taps = sac_up(t->kw, 3), wow = t->kw == 1 ? b->w : b->w - 2, pages = sac_up(t->w, b->w);
    const uint32_t inner = (uint32_t)(s->vectors % s->red), result = (uint32_t)(s->vectors / s->red);
    const uint32_t tap = inner % taps, r = inner / taps % t->kh, group = inner / taps / t->kh;
    const uint32_t ov = result % s->vec, oy = result / s->vec % t->oh, batch = result / s->vec / t->oh;
    const int32_t row = (int32_t)(oy * t->stride + r) - (int32_t)t->pt;
    const int32_t col = (int32_t)(ov * wow + 3 * tap) - (int32_t)t->pl;
    const int32_t w = (int32_t)b->w, bank = ((col % w) + w) % w, page = (col - bank) / w;
    const int64_t at = (int64_t)group * t->h * pages + (int64_t)row * pages + page;
    const uint32_t word = t->kw == 1 ? group / 3 * t->kh + r : (group * t->kh + r) * taps + tap;
    const struct {
        const char *name;
        tb_sig sig;
        uint64_t expected;
    } rows[] = {{"page", s->page_o, (uint64_t)at & 0x7FFFF},
                {"bank", s->bank_o, (uint64_t)bank},
                {"column", s->col_o, (uint64_t)col & 0x3FFF},
                {"row", s->row_ok_o, row >= 0 && row < (int32_t)t->h},
                {"group", s->group_o, group},
                {"word", s->word_o, word},
                {"third", s->third_o, t->kw == 1 ? group % 3 : tb_get(s->third_o)},
                {"half", s->half_o, batch % 2},
                {"place", s->place_o, batch % 4},
                {"first", s->first_o, inner == 0},
                {"last", s->last_o, inner == s->red - 1},
                {"slot", s->slot_o, result % DEPTH},
                {"loaded", s->loaded_i, tb_get(s->loaded_i) > batch ? tb_get(s->loaded_i) : batch + 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!tb_check_value(c, rows[i].name, s->vectors, tb_get(rows[i].sig), rows[i].expected)) {
            return;
        }
    }
    if (inner == 0 && s->room-- == 0) {
        tb_check_fail(c, "space", result, NULL, "one more result", "none: there is no space for it");
    }
    s->vectors++;
    s->on = s->vectors < sac_task_conv(b, t);
    tb_check_value(c, "done", s->vectors, sac_bit(s->done_o), !s->on);
}

__attribute__((hot)) static void seq_cycle(tb_check *c) {
    seq *s = (seq *)c->state;
    const cm_layer_task *t = sac_task_of(c);
    const sac_build *b = sac_build_of(c);
    if (s->on && sac_bit(s->pop_i)) {
        s->room++;
    }
    if (s->on) {
        const uint32_t result = (uint32_t)(s->vectors / s->red), batch = result / s->vec / t->oh;
        const bool idle = tb_get(s->loaded_i) <= batch;
        if (!tb_check_value(c, "waits for filters", s->vectors, sac_bit(s->ev_load_o), idle) ||
            !tb_check_value(c, "computed", s->vectors, tb_get(s->computed_o), batch)) {
            return;
        }
    }
    if (sac_bit(s->valid_o)) {
        if (!s->on) {
            tb_check_fail(c, "vector", s->vectors, NULL, "a vector", "none");
            return;
        }
        /* a place that is freed in this cycle is free in the next one */
        s->room -= sac_bit(s->pop_i);
        seq_vector(c, s);
        s->room += sac_bit(s->pop_i);
    }
    if (sac_bit(s->start_i)) {
        seq_clear(c);
        s->on = true;
        s->room = DEPTH;
        s->red = sac_up(t->c, b->c) * t->kh * sac_up(t->kw, 3);
        s->vec = sac_up((t->ow - 1) * t->stride + 1, t->kw == 1 ? b->w : b->w - 2);
        c->task++;
    } else if (sac_bit(s->clr_i)) {
        seq_clear(c);
    }
}

const tb_check_ops sac_score_seq = {.unit = "seq",
                                    .inputs = (const char *const[]){"setup", NULL},
                                    TB_STATE(seq, SEQ_PORTS),
                                    .cycle = seq_cycle,
                                    .clear = seq_clear};

/* ---- conv: what the filter reader hears from the sequencer is about its own task: no batch is computed unread ---- */

#define CONV_PORTS go_i, loaded_o, computed
typedef struct conv {
    TB_PORTS(ports, CONV_PORTS);
} conv;

__attribute__((hot)) static void conv_cycle(tb_check *c) {
    const conv *s = (const conv *)c->state;
    const uint64_t loaded = tb_get(s->loaded_o), computed = tb_get(s->computed);
    if (computed > loaded) {
        tb_check_failf(c, "computed", computed, "%u batches computed|at most the %u that are loaded",
                       (unsigned)computed, (unsigned)loaded);
    }
    c->task += sac_bit(s->go_i);
}

const tb_check_ops sac_score_conv = {.unit = "conv",
                                     .inputs = (const char *const[]){"filter", "seq", NULL},
                                     TB_STATE(conv, CONV_PORTS),
                                     .cycle = conv_cycle};

/* ---- retriever: a copy of the cache, and of the table of d ---- */

#define RETRIEVER_PORTS                                                                                                \
    we_i, we_half_i, we_page_i, we_beat_i, we_data_i, d_we_i, d_addr_i, d_i, valid_i, page_i, bank_i, col_i, row_ok_i, \
        group_i, flags_i, valid_o, flags_o, x_o
typedef struct vector {
    bool valid;
    uint64_t flags;
    int16_t x[SAC_W_MAX * SAC_C_MAX];
} vector;
typedef struct retriever {
    TB_PORTS(ports, RETRIEVER_PORTS);
    uint8_t *cache; /* [half][page][column][channel] */
    uint8_t d[4096];
    vector pipe[2]; /* what leaves next, and after that */
    uint64_t vectors;
} retriever;

static int retriever_open(tb_check *c, char *err, size_t err_size) {
    retriever *s = (retriever *)c->state;
    const sac_build *b = sac_build_of(c);
    s->cache = calloc(2 * (size_t)b->pages, b->w * b->c);
    return s->cache != NULL ? 0 : opt_fail(err, err_size, "out of memory");
}

static void retriever_close(tb_check *c) {
    free(((retriever *)c->state)->cache);
}

static void retriever_clear(tb_check *c) {
    retriever *s = (retriever *)c->state;
    s->pipe[0].valid = s->pipe[1].valid = false;
}

static void retriever_read(const tb_check *c, retriever *s, vector *v) {
    const sac_build *b = sac_build_of(c);
    const cm_layer_task *t = sac_task_of(c);
    const uint32_t bank = (uint32_t)tb_get(s->bank_i), group = (uint32_t)tb_get(s->group_i);
    const int32_t col = (int32_t)((uint32_t)tb_get(s->col_i) << 18) >> 18;
    v->valid = true;
    v->flags = tb_get(s->flags_i);
    for (uint32_t lane = 0; lane < b->w; lane++) {
        const bool ok = sac_bit(s->row_ok_i) && col + (int32_t)lane >= 0 && col + (int32_t)lane < (int32_t)t->w;
        const uint64_t page = (tb_get(s->page_i) + (bank + lane >= b->w)) & 0x7FFFF; /* wraps below the map */
        for (uint32_t ch = 0; ch < b->c; ch++) {
            const uint32_t channel = group * b->c + ch;
            int16_t x = 0;
            if (ok && channel < t->c && page < b->pages) {
                const size_t at = ((t->half * (size_t)b->pages + page) * b->w + (bank + lane) % b->w) * b->c + ch;
                x = (int16_t)((int8_t)s->cache[at] * (1 << s->d[channel]));
            }
            v->x[lane * b->c + ch] = x;
        }
    }
}

__attribute__((hot)) static void retriever_cycle(tb_check *c) {
    retriever *s = (retriever *)c->state;
    const sac_build *b = sac_build_of(c);
    const vector *out = &s->pipe[0];
    if (!tb_check_value(c, "valid", s->vectors, sac_bit(s->valid_o), out->valid)) {
        return;
    }
    if (out->valid) {
        const int16_t *got = (const int16_t *)s->x_o.ptr;
        if (!tb_check_value(c, "flags", s->vectors, tb_get(s->flags_o), out->flags)) {
            return;
        }
        for (uint32_t i = 0; i < b->w * b->c; i++) {
            if (got[i] != out->x[i]) {
                tb_check_failf(c, "x", s->vectors, "column %u, channel %u|%d|%d", i / b->c, i % b->c, got[i],
                               out->x[i]);
                return;
            }
        }
        s->vectors++;
    }
    s->pipe[0] = s->pipe[1];
    s->pipe[1].valid = false;
    if (sac_bit(s->valid_i)) {
        retriever_read(c, s, &s->pipe[1]);
    }
    if (sac_bit(s->we_i)) {
        const size_t page = sac_bit(s->we_half_i) * (size_t)b->pages + tb_get(s->we_page_i);
        for (uint32_t i = 0; i < 16; i++) {
            const uint32_t at = (uint32_t)tb_get(s->we_beat_i) * 16 + i;
            if (at < b->w * b->c && page < 2 * (size_t)b->pages) {
                s->cache[page * b->w * b->c + at] = sac_bytes(s->we_data_i)[i];
            }
        }
    }
    if (sac_bit(s->d_we_i)) {
        for (uint32_t i = 0; i < 16; i++) {
            s->d[tb_get(s->d_addr_i) * 16 + i] = tb_get(s->d_i) >> (3 * i) & 7;
        }
    }
}

const tb_check_ops sac_score_retriever = {.unit = "retriever",
                                          .inputs = (const char *const[]){"input", "filter", "seq", "full", NULL},
                                          TB_STATE(retriever, RETRIEVER_PORTS),
                                          .open = retriever_open,
                                          .cycle = retriever_cycle,
                                          .clear = retriever_clear,
                                          .close = retriever_close};

/* ---- pe: results of the whole array, from vectors, filter words and PARAM ---- */

#define PE_PORTS                                                                                                       \
    k1_i, valid_i, flags_i, x_i, p_we_i, p_n_i, p_place_i, p_i, f_valid_i, f_n_i, f_half_i, f_addr_i, f_i, done_o,     \
        rd_en_i, rd_slot_i, rd_col_i, rd_place_i, a_o
typedef struct pe {
    TB_PORTS(ports, PE_PORTS);
    uint8_t *filters; /* [PE][half][1024][tap * C_VECTOR + channel] */
    int32_t bias[4][SAC_N_MAX];
    int8_t sh[4][SAC_N_MAX];
    bool known[4]; /* PARAM of a place has been written */
    uint32_t acc[SAC_W_MAX][SAC_N_MAX];
    uint32_t result[DEPTH][SAC_W_MAX][SAC_N_MAX];
    uint32_t cols[DEPTH];   /* of the result in the entry */
    uint64_t number[DEPTH]; /* of the result in the entry, from 1 on; 0: none */
    uint64_t due[DEPTH];    /* cycle in which done_o must be 1 for it */
    uint64_t cycle, complete, done;
    bool read1, read2; /* what the two stages of the read hold, by the entries that they hold */
    uint32_t acc1[SAC_N_MAX], place1;
    uint8_t out2[SAC_N_MAX];
    uint64_t reads;
} pe;

static int pe_open(tb_check *c, char *err, size_t err_size) {
    pe *s = (pe *)c->state;
    const sac_build *b = sac_build_of(c);
    s->filters = calloc((size_t)b->n * 2 * 1024, 3 * b->c);
    return s->filters != NULL ? 0 : opt_fail(err, err_size, "out of memory");
}

static void pe_close(tb_check *c) {
    free(((pe *)c->state)->filters);
}

static void pe_clear(tb_check *c) {
    pe *s = (pe *)c->state;
    s->complete = s->done = 0;
    memset(s->number, 0, sizeof s->number);
    s->read1 = s->read2 = false;
}

/* A vector: sums of all PEs; with `last` a result. */
static void pe_vector(const tb_check *c, pe *s) {
    const sac_build *b = sac_build_of(c);
    const uint64_t flags = tb_get(s->flags_i);
    const uint32_t slot = flags & 15, place = flags >> 6 & 3, half = flags >> 8 & 1, third = flags >> 9 & 3;
    const uint32_t word = flags >> 11 & 1023, cols = sac_bit(s->k1_i) ? b->w : b->w - 2,
                   taps = sac_bit(s->k1_i) ? 1 : 3;
    const int16_t *x = (const int16_t *)s->x_i.ptr;
    for (uint32_t n = 0; n < b->n; n++) {
        const uint8_t *codes = s->filters + (((size_t)n * 2 + half) * 1024 + word) * 3 * b->c;
        for (uint32_t o = 0; o < cols; o++) {
            uint32_t acc = (flags >> 5 & 1) != 0 ? (uint32_t)s->bias[place][n] : s->acc[o][n];
            for (uint32_t i = 0; i < taps * b->c; i++) {
                const uint8_t code = codes[taps == 1 ? third * b->c + i : i];
                const int32_t term = x[(o + i / b->c) * b->c + i % b->c] * (1 << (code & 7));
                acc += (code & 7) == 7 ? 0 : (uint32_t)((code & 8) != 0 ? term : -term);
            }
            s->acc[o][n] = acc;
        }
    }
    if ((flags >> 4 & 1) != 0) {
        memcpy(s->result[slot], s->acc, sizeof s->acc);
        s->due[s->complete++ % DEPTH] = s->cycle + b->n + 2;
        s->number[slot] = s->complete;
        s->cols[slot] = cols;
    }
}

static void pe_reads(tb_check *c, pe *s) {
    const sac_build *b = sac_build_of(c);
    if (s->read2 && !sac_score_bytes(c, "result", s->reads, sac_bytes(s->a_o), s->out2, b->n)) {
        return;
    }
    if (!sac_bit(s->rd_en_i)) {
        return;
    }
    s->reads += s->read2;
    s->read2 = s->read1;
    for (uint32_t n = 0; n < b->n; n++) {
        s->out2[n] = (uint8_t)sac_shr((int32_t)s->acc1[n], s->sh[s->place1][n]);
    }
    /* not compared: columns that a result does not have, entries with none or none yet, places without PARAM */
    const uint64_t slot = tb_get(s->rd_slot_i), number = s->number[slot], col = tb_get(s->rd_col_i);
    s->place1 = (uint32_t)tb_get(s->rd_place_i);
    s->read1 = number > 0 && number <= s->done && s->known[s->place1] && col < s->cols[slot];
    if (s->read1) {
        memcpy(s->acc1, s->result[slot][col], sizeof s->acc1);
    }
}

__attribute__((hot)) static void pe_cycle(tb_check *c) {
    pe *s = (pe *)c->state;
    const sac_build *b = sac_build_of(c);
    s->cycle++;
    const bool due = s->done < s->complete && s->due[s->done % DEPTH] == s->cycle;
    if (!tb_check_value(c, "done", s->done, sac_bit(s->done_o), due)) {
        return;
    }
    pe_reads(c, s);
    s->done += due;
    if (sac_bit(s->valid_i)) {
        pe_vector(c, s);
    }
    if (sac_bit(s->p_we_i)) {
        const uint8_t *p = sac_bytes(s->p_i);
        const uint32_t n = (uint32_t)tb_get(s->p_n_i), place = (uint32_t)tb_get(s->p_place_i);
        s->known[place] = s->known[place] || n + 1 == b->n;
        memcpy(&s->bias[place][n], p, 4);
        s->sh[place][n] = (int8_t)((int8_t)(p[4] << 2) >> 2);
    }
    if (sac_bit(s->f_valid_i)) {
        const size_t at = ((size_t)tb_get(s->f_n_i) * 2 + sac_bit(s->f_half_i)) * 1024 + tb_get(s->f_addr_i);
        for (uint32_t i = 0; i < 3 * b->c; i++) {
            s->filters[at * 3 * b->c + i] = sac_bytes(s->f_i)[i / 2] >> (i % 2 * 4) & 15;
        }
    }
}

const tb_check_ops sac_score_pe = {.unit = "pe",
                                   .inputs = (const char *const[]){"retriever", "filter", "relu", NULL},
                                   TB_STATE(pe, PE_PORTS),
                                   .open = pe_open,
                                   .cycle = pe_cycle,
                                   .clear = pe_clear,
                                   .close = pe_close};

/* ---- relu: which column of which result, mask and max(0, x) ---- */

#define RELU_PORTS                                                                                                     \
    clr_i, start_i, done_i, pop_o, rd_en_o, rd_slot_o, rd_col_o, rd_place_o, a_i, valid_o, ready_i, data_o
typedef struct relu {
    TB_PORTS(ports, RELU_PORTS);
    bool on;
    uint64_t have, popped; /* results */
    uint64_t read, out;    /* columns */
    bool stage[2];         /* columns in the array's read */
} relu;

static void relu_clear(tb_check *c) {
    relu *s = (relu *)c->state;
    s->on = s->stage[0] = s->stage[1] = false;
    s->have = s->popped = s->read = s->out = 0;
}

/* Batch, and column at stride 1, of a column of the output. */
static void relu_place(const tb_check *c, uint64_t column, uint32_t *batch, uint64_t *result, uint32_t *pos) {
    const cm_layer_task *t = sac_task_of(c);
    const sac_build *b = sac_build_of(c);
    const uint32_t wow = t->kw == 1 ? b->w : b->w - 2, vec = sac_up((t->ow - 1) * t->stride + 1, wow);
    const uint32_t x = (uint32_t)(column % t->ow) * t->stride;
    *batch = (uint32_t)(column / t->ow / t->oh);
    *result = column / t->ow * vec + x / wow;
    *pos = x % wow;
}

static void relu_output(tb_check *c, relu *s) {
    const sac_build *b = sac_build_of(c);
    const cm_layer_task *t = sac_task_of(c);
    uint8_t expected[SAC_N_MAX];
    uint32_t batch, pos;
    uint64_t result;
    relu_place(c, s->out, &batch, &result, &pos);
    for (uint32_t n = 0; n < b->n; n++) {
        const uint8_t a = sac_bytes(s->a_i)[n];
        expected[n] = n >= sac_left(c, batch) || (t->relu && (a & 0x80) != 0) ? 0 : a;
    }
    sac_score_bytes(c, "data", s->out, sac_bytes(s->data_o), expected, b->n);
}

__attribute__((hot)) static void relu_cycle(tb_check *c) {
    relu *s = (relu *)c->state;
    const cm_layer_task *t = sac_task_of(c);
    uint32_t batch = 0, pos = 0;
    uint64_t result = 0;
    if (s->on && !tb_check_value(c, "valid", s->out, sac_bit(s->valid_o), s->stage[1])) {
        return;
    }
    if (s->on && sac_bit(s->valid_o) && sac_bit(s->ready_i)) {
        relu_output(c, s);
        s->out++;
    }
    if (s->on && sac_bit(s->rd_en_o)) {
        const uint64_t all = (uint64_t)t->ow * t->oh * sac_up(t->n, sac_build_of(c)->n);
        relu_place(c, s->read, &batch, &result, &pos);
        const bool take = s->read < all && s->popped < s->have && result == s->popped;
        if (take && (!tb_check_value(c, "slot", s->read, tb_get(s->rd_slot_o), result % DEPTH) ||
                     !tb_check_value(c, "column", s->read, tb_get(s->rd_col_o), pos) ||
                     !tb_check_value(c, "place", s->read, tb_get(s->rd_place_o), batch % 4))) {
            return;
        }
        s->stage[1] = s->stage[0];
        s->stage[0] = take;
        bool pop = s->popped < s->have && !take;
        if (take) {
            s->read++;
            relu_place(c, s->read, &batch, &result, &pos);
            pop = result != s->popped;
        }
        if (!tb_check_value(c, "pop", s->popped, sac_bit(s->pop_o), pop)) {
            return;
        }
        s->popped += pop;
    }
    s->have += s->on && sac_bit(s->done_i);
    if (sac_bit(s->clr_i) || sac_bit(s->start_i)) {
        relu_clear(c);
        s->on = sac_bit(s->start_i) && !sac_bit(s->clr_i);
        c->task++;
    }
}

const tb_check_ops sac_score_relu = {.unit = "relu",
                                     .inputs = (const char *const[]){"pe", NULL},
                                     TB_STATE(relu, RELU_PORTS),
                                     .cycle = relu_cycle,
                                     .clear = relu_clear};
