/* load.c - checks of setup, input_reader, filter_reader and of the jobs for output and residual. */
#include "sac_layer.h"
#include "score.h"

/* ---- setup: sizes by division instead of counting, and the verdict ---- */

#define SETUP_PORTS                                                                                                    \
    start_i, done_o, ok_o, geom_k1_o, geom_in_pages_o, geom_in_group_o, geom_in_all_o, geom_groups_o, geom_taps_o,     \
        geom_out_pages_o, geom_out_group_o, geom_batches_o, geom_words_o, geom_map_w_o, geom_map_h_o, geom_pixels_o,   \
        geom_pool_ux_o, geom_pool_uy_o, geom_ow1_o
typedef struct setup {
    TB_PORTS(ports, SETUP_PORTS);
} setup;

__attribute__((hot)) static void setup_cycle(tb_check *c) {
    const setup *s = (const setup *)c->state;
    const sac_build *b = sac_build_of(c);
    const cm_layer_task *t = sac_task_of(c);
    c->task += sac_bit(s->start_i);
    if (!sac_bit(s->done_o)) {
        return;
    }
    const bool legal = sac_task_legal(b, t);
    if (!tb_check_value(c, "ok", 0, sac_bit(s->ok_o), legal) || !legal) {
        return;
    }
    uint32_t w, h;
    sac_layer_map(t, &w, &h);
    const struct {
        const char *name;
        tb_sig sig;
        uint64_t expected;
    } rows[] = {{"k1", s->geom_k1_o, t->kw == 1},
                {"in_pages", s->geom_in_pages_o, sac_up(t->w, b->w)},
                {"in_group", s->geom_in_group_o, sac_up(t->w, b->w) * t->h},
                {"in_all", s->geom_in_all_o, sac_task_in_pages(b, t)},
                {"groups", s->geom_groups_o, sac_up(t->c, b->c)},
                {"taps", s->geom_taps_o, sac_up(t->kw, 3)},
                {"out_pages", s->geom_out_pages_o, sac_up(w, b->w)},
                {"out_group", s->geom_out_group_o, sac_up(w, b->w) * h},
                {"batches", s->geom_batches_o, sac_up(t->n, b->n)},
                {"words", s->geom_words_o, sac_task_words(b, t)},
                {"map_w", s->geom_map_w_o, w},
                {"map_h", s->geom_map_h_o, h},
                {"pixels", s->geom_pixels_o, t->full != 0 ? w * h : tb_get(s->geom_pixels_o)},
                {"pool_ux", s->geom_pool_ux_o, t->pool ? (t->pw - 1) * t->pool_stride : tb_get(s->geom_pool_ux_o)},
                {"pool_uy", s->geom_pool_uy_o, t->pool ? (t->ph - 1) * t->pool_stride : tb_get(s->geom_pool_uy_o)},
                {"ow1", s->geom_ow1_o, (t->ow - 1) * t->stride + 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!tb_check_value(c, rows[i].name, 0, tb_get(rows[i].sig), rows[i].expected)) {
            return;
        }
    }
}

static void setup_clear(tb_check *c) {
    (void)c;
}

const tb_check_ops sac_score_setup = {.unit = "setup",
                                      TB_STATE(setup, SETUP_PORTS),
                                      .wake = "start_i, done_o",
                                      .cycle = setup_cycle,
                                      .clear = setup_clear};

/* ---- input: jobs row by row, beats to pages in their order ---- */

#define INPUT_PORTS                                                                                                    \
    clr_i, start_i, done_o, req_valid_o, req_ready_i, req_addr_o, req_bytes_o, dat_valid_i, dat_i, we_o, page_o,       \
        beat_o, data_o
typedef struct input {
    TB_PORTS(ports, INPUT_PORTS);
    uint32_t jobs, beats, all_jobs, all_beats; /* so far, of the task */
} input;

static void input_clear(tb_check *c) {
    input *s = (input *)c->state;
    s->jobs = s->beats = s->all_jobs = s->all_beats = 0;
}

__attribute__((hot)) static void input_cycle(tb_check *c) {
    input *s = (input *)c->state;
    const sac_build *b = sac_build_of(c);
    const cm_layer_task *t = sac_task_of(c);
    const uint32_t row_bytes = sac_up(t->w, b->w) * sac_page_bytes(b), page_beats = sac_page_bytes(b) / 16;
    if (!tb_check_value(c, "request", s->jobs, sac_bit(s->req_valid_o), s->jobs < s->all_jobs)) {
        return;
    }
    if (sac_bit(s->req_valid_o) && sac_bit(s->req_ready_i)) {
        const uint32_t group = s->jobs / t->h, row = s->jobs % t->h;
        const uint32_t addr = t->in * 16 + group * t->in_step * 16 + row * row_bytes;
        (void)(tb_check_value(c, "address", s->jobs, tb_get(s->req_addr_o), addr) &&
               tb_check_value(c, "bytes", s->jobs, tb_get(s->req_bytes_o), row_bytes));
        s->jobs++;
    }
    const bool beat = sac_bit(s->dat_valid_i) && s->beats < s->all_beats;
    if (!tb_check_value(c, "write", s->beats, sac_bit(s->we_o), beat)) {
        return;
    }
    if (beat) {
        (void)(tb_check_value(c, "page", s->beats, tb_get(s->page_o), s->beats / page_beats) &&
               tb_check_value(c, "beat", s->beats, tb_get(s->beat_o), s->beats % page_beats) &&
               sac_score_bytes(c, "data", s->beats, sac_bytes(s->data_o), sac_bytes(s->dat_i), 16));
        s->beats++;
        tb_check_value(c, "done", s->beats, sac_bit(s->done_o), s->beats == s->all_beats);
    }
    if (sac_bit(s->start_i)) {
        s->jobs = s->beats = 0;
        s->all_jobs = sac_up(t->c, b->c) * t->h;
        s->all_beats = s->all_jobs * sac_up(t->w, b->w) * page_beats;
        c->task++;
    }
    if (sac_bit(s->clr_i)) {
        input_clear(c);
    }
}

const tb_check_ops sac_score_input = {
    .unit = "input", TB_STATE(input, INPUT_PORTS), .cycle = input_cycle, .clear = input_clear};

/* ---- filter: DTAB, then PARAM and words of each batch ---- */

#define FILTER_PORTS                                                                                                   \
    clr_i, start_i, go_i, computed_i, drained_i, loaded_o, req_valid_o, req_ready_i, req_addr_o, req_bytes_o,          \
        dat_valid_i, dat_ready_o, dat_i, d_we_o, d_addr_o, d_o, p_we_o, p_n_o, p_place_o, p_o, f_valid_o, f_n_o,       \
        f_half_o, f_addr_o, f_o
typedef struct filter {
    TB_PORTS(ports, FILTER_PORTS);
    bool on;
    uint32_t jobs;        /* accepted; job 0 is DTAB, then PARAM and filters in turns */
    uint32_t table_beats; /* of DTAB that have arrived */
    uint32_t batch;       /* whose data arrive */
    uint32_t params, beats, words;
    uint8_t held[48 + 16]; /* bytes of the batch that are in no word yet */
    uint32_t level;
} filter;

static void filter_clear(tb_check *c) {
    filter *s = (filter *)c->state;
    s->on = false;
    s->jobs = s->table_beats = s->batch = s->params = s->beats = s->words = s->level = 0;
}

static void filter_job(tb_check *c, filter *s) {
    const sac_build *b = sac_build_of(c);
    const cm_layer_task *t = sac_task_of(c);
    const uint32_t batch = (s->jobs - 1) / 2, stream = sac_task_batch_bytes(b, t);
    const uint64_t used = (uint64_t)sac_task_words(b, t) * b->n * b->c * 12 / 8;
    const bool param = s->jobs % 2 == 1;
    const uint64_t addr = s->jobs == 0 ? t->dtab * 16
                          : param      ? t->param * 16 + batch * b->n * 16
                                       : t->filt * 16 + batch * stream;
    const uint64_t bytes = s->jobs == 0 ? t->c : param ? b->n * 16 : used;
    (void)(tb_check_value(c, "address", s->jobs, tb_get(s->req_addr_o), (uint32_t)addr) &&
           tb_check_value(c, "bytes", s->jobs, tb_get(s->req_bytes_o), bytes));
    if (param && (batch >= tb_get(s->computed_i) + 2 || batch >= tb_get(s->drained_i) + 4)) {
        tb_check_failf(c, "early", s->jobs, "batch %u, %u computed, %u written|no place for it", batch,
                       (unsigned)tb_get(s->computed_i), (unsigned)tb_get(s->drained_i));
    }
    s->jobs++;
}

/* A beat that arrives: DTAB, PARAM or filters. */
static void filter_beat(tb_check *c, filter *s) {
    const sac_build *b = sac_build_of(c);
    const cm_layer_task *t = sac_task_of(c);
    const uint8_t *data = sac_bytes(s->dat_i);
    if (s->table_beats < sac_up(t->c, 16)) {
        uint64_t d = 0;
        for (unsigned i = 0; i < 16; i++) {
            d |= (uint64_t)(data[i] & 7u) << (3 * i);
        }
        (void)(tb_check_value(c, "table write", s->table_beats, sac_bit(s->d_we_o), 1) &&
               tb_check_value(c, "table address", s->table_beats, tb_get(s->d_addr_o), s->table_beats) &&
               tb_check_value(c, "table", s->table_beats, tb_get(s->d_o), d));
        s->table_beats++;
    } else if (s->params < b->n) {
        (void)(tb_check_value(c, "param write", s->params, sac_bit(s->p_we_o), 1) &&
               tb_check_value(c, "param number", s->params, tb_get(s->p_n_o), s->params) &&
               tb_check_value(c, "param place", s->params, tb_get(s->p_place_o), s->batch % 4) &&
               sac_score_bytes(c, "param", s->params, sac_bytes(s->p_o), data, 16));
        s->params++;
    } else {
        for (unsigned i = 0; i < 16 && s->level < sizeof s->held; i++) {
            s->held[s->level++] = data[i];
        }
        s->beats++;
    }
}

static void filter_word(tb_check *c, filter *s) {
    const sac_build *b = sac_build_of(c);
    const uint32_t words = sac_task_words(b, sac_task_of(c)), bytes = b->c * 12 / 8;
    if (s->level < bytes) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: its beats have not arrived");
        return;
    }
    (void)(tb_check_value(c, "number", s->words, tb_get(s->f_n_o), s->words / words) &&
           tb_check_value(c, "cache address", s->words, tb_get(s->f_addr_o), s->words % words) &&
           tb_check_value(c, "half", s->words, tb_get(s->f_half_o), s->batch % 2) &&
           sac_score_bytes(c, "word", s->words, sac_bytes(s->f_o), s->held, bytes));
    for (uint32_t i = bytes; i < s->level; i++) {
        s->held[i - bytes] = s->held[i];
    }
    s->level -= bytes;
    if (++s->words == words * b->n) {
        s->words = s->params = s->beats = s->level = 0;
        s->batch++;
    }
}

__attribute__((hot)) static void filter_cycle(tb_check *c) {
    filter *s = (filter *)c->state;
    if (s->on && !tb_check_value(c, "loaded", s->batch, tb_get(s->loaded_o), s->batch)) {
        return;
    }
    if (s->on && sac_bit(s->req_valid_o) && sac_bit(s->req_ready_i)) {
        filter_job(c, s);
    }
    if (s->on && sac_bit(s->f_valid_o)) {
        filter_word(c, s);
    }
    if (s->on && sac_bit(s->dat_valid_i) && sac_bit(s->dat_ready_o)) {
        filter_beat(c, s);
    } else if (s->on && (sac_bit(s->d_we_o) || sac_bit(s->p_we_o))) {
        tb_check_fail(c, "write", s->batch, NULL, "a write", "none: nothing has arrived");
    }
    if (sac_bit(s->clr_i) || sac_bit(s->start_i)) {
        filter_clear(c);
        s->on = sac_bit(s->start_i);
        c->task++;
    }
}

const tb_check_ops sac_score_filter = {
    .unit = "filter", TB_STATE(filter, FILTER_PORTS), .cycle = filter_cycle, .clear = filter_clear};

/* ---- jobs: batch, page (or row), channel group ---- */

#define JOBS_PORTS clr_i, start_i, full_i, base_i, step_i, req_valid_o, req_ready_i, req_addr_o, req_bytes_o
typedef struct jobs {
    TB_PORTS(ports, JOBS_PORTS);
    bool on;
    uint32_t batch, item, group, count;
} jobs;

static void jobs_clear(tb_check *c) {
    jobs *s = (jobs *)c->state;
    s->on = false;
    s->batch = s->item = s->group = s->count = 0;
}

__attribute__((hot)) static void jobs_cycle(tb_check *c) {
    jobs *s = (jobs *)c->state;
    const sac_build *b = sac_build_of(c);
    uint32_t w, h;
    sac_score_map(c, &w, &h);
    const bool full = sac_bit(s->full_i), single = b->n > b->c;
    const uint32_t pages = full ? 1 : sac_up(w, b->w), bytes = sac_page_bytes(b) * (single ? 1 : pages);
    const uint32_t items = (full ? 1 : h) * (single ? pages : 1);
    if (!tb_check_value(c, "request", s->count, sac_bit(s->req_valid_o), s->on)) {
        return;
    }
    if (s->on && sac_bit(s->req_ready_i)) {
        const uint32_t group = s->batch * (b->n / b->c) + s->group;
        const uint32_t addr =
            (uint32_t)tb_get(s->base_i) * 16 + group * (uint32_t)tb_get(s->step_i) * 16 + s->item * bytes;
        (void)(tb_check_value(c, "address", s->count, tb_get(s->req_addr_o), addr) &&
               tb_check_value(c, "bytes", s->count, tb_get(s->req_bytes_o), bytes));
        s->count++;
        if (++s->group == sac_groups_of(c, s->batch)) {
            s->group = 0;
            s->item++;
        }
        if (s->item == items) {
            s->item = 0;
            s->batch++;
            s->on = s->batch < sac_up(sac_task_of(c)->n, b->n);
        }
    }
    if (sac_bit(s->clr_i) || sac_bit(s->start_i)) {
        jobs_clear(c);
        s->on = sac_bit(s->start_i) && !sac_bit(s->clr_i);
        c->task++;
    }
}

const tb_check_ops sac_score_jobs = {
    .unit = "jobs", TB_STATE(jobs, JOBS_PORTS), .cycle = jobs_cycle, .clear = jobs_clear};
