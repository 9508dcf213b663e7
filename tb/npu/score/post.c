/*
 * post.c - check of the two post units: their reads, the order of these, and the results. post_in.c has what is rare.
 *
 * Each read of ofm_buf is predicted (docs/npu/npu.md section 4.2), and so are requests, factors and released tiles.
 * Results are predicted from the sums, factors and partial sums that the unit received; where act, an arithmetic unit,
 * requant or transpose inside is wrong, its own check fails no later, and is listed before this one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "post_state.h"
#include "task_bits.h"

/* Those of signals that are read as 16 or 32 bits, or as 8. */
static int exact_widths(tb_check *c, post_state *s, char *err, size_t err_size) {
    return tb_check_sig(c, "ofm_addr_o", 9, &s->ofm_addr_o, err, err_size) != 0 ||
                   tb_check_sig(c, "par_addr_o", 8, &s->par_addr_o, err, err_size) != 0 ||
                   tb_check_sig(c, "wr_level_i", 16, &s->wr_level_i, err, err_size) != 0 ||
                   tb_check_sig(c, "wr_req_addr_o", 32, &s->wr_req_addr_o, err, err_size) != 0 ||
                   tb_check_sig(c, "wr_req_bytes_o", 24, &s->wr_req_bytes_o, err, err_size) != 0
               ? -1
               : 0;
}

static int open(tb_check *c, char *err, size_t err_size) {
    post_state *s = (post_state *)c->state;
    s->n = npu_score_n(c);
    if (NPU_AT_FIND(c, s, err, err_size) != 0) {
        return -1;
    }
    s->cols = s->ofm_data_i.width / 128;
    s->most_slots = s->n >= 16 ? 8 : 16;
    /*
     * The events of waits: for space in every such cycle, as wr_level_i counts; for partial sums in the first one, and
     * in others only if none are to come, as psum_valid_i wakes, too. While a task waits for its end there is nothing
     * to check.
     */
    return tb_check_wake_bits(c, s->event_o, 2, err, err_size) != 0 ||
                   tb_check_watch(c, s->event_o, err, err_size) != 0 ||
                   tb_check_watch(c, s->task_wait_o, err, err_size) != 0 || exact_widths(c, s, err, err_size) != 0
               ? -1
               : 0;
}

/* ---- reads ---- */

static inline void read_fp32(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    post_next *x = &f->next;
    npu_score_post_walk *k = &f->read;
    if (NPU_AT_BYTE(s, ofm_col_o) != x->column || NPU_AT_HALF(s, ofm_addr_o) != x->address) {
        npu_score_post_read_differs(c, s);
    }
    /* INT16: a word has two sums, and an odd number of words is followed by a read that does not matter */
    if (s->w.t.psum_add && x->left != 0 && !npu_score_post_use_beat(c, s)) {
        return;
    }
    if (s->any_factors) {
        if (f->channels >= f->factors) {
            tb_check_fail(c, "read", f->reads, NULL, "a read", "none before its factors");
            return;
        }
        f->sums.oscale = s->factor[f->channels % FACTORS][0];
        f->sums.bias = s->factor[f->channels % FACTORS][1];
    }
    const uint32_t count = x->left < s->size ? x->left : s->size;
    f->sums.at = (post_place){
        .pixel = x->pixel, .channel = (uint16_t)npu_score_post_walk_channel(&s->w, k), .count = (uint16_t)count};
    f->sums.word = k->word++;
    x->left -= count;
    x->pixel += count;
    x->address = (x->address + 1) % RING_WORDS;
    if (x->left == 0 && !(s->pairs && k->word % 2 != 0)) {
        f->channels++;
        npu_score_post_walk_next(&s->w, k);
        npu_score_post_aim_read(s);
    }
}

/* REQUANT: the first read of a pass, and perhaps of its block. */
static inline bool begin_pass(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (f->slots >= s->most_slots) {
        tb_check_fail(c, "read", f->reads, NULL, "a new pass", "none before a slot of the gather buffer is free");
        return false;
    }
    f->slots++;
    if (f->read.col == 0 && !npu_score_post_begin_tile(c, s)) {
        return false;
    }
    f->next.to = &s->ring[(f->begun - 1) % BLOCKS].value[f->read.col];
    return true;
}

/* REQUANT: behind the last read of a pass. */
static inline void end_pass(post_state *s) {
    post_flow *f = &s->f;
    post_next *x = &f->next;
    npu_score_post_walk *k = &f->read;
    k->word = 0;
    k->col += s->columns;
    if (k->col >= s->n) {
        k->col = 0;
        f->sums.last = true;
        npu_score_post_walk_next(&s->w, k);
        npu_score_post_aim_read(s);
        return;
    }
    const uint32_t left = k->col < x->channels ? x->channels - k->col : 0;
    x->columns = left < s->columns ? left : s->columns;
    x->column += (k->col & (s->cols - 1)) == 0; /* a power of two, as `run` */
    x->address = x->tile;
    x->factors = (x->par + k->col / 4) % PAR_WORDS;
}

static inline void read_requant(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    post_next *x = &f->next;
    npu_score_post_walk *k = &f->read;
    if (k->word == 0 && !begin_pass(c, s)) {
        return;
    }
    if (NPU_AT_BYTE(s, ofm_col_o) != x->column || (NPU_AT_HALF(s, ofm_addr_o) & ~1u) != x->address ||
        (s->any_factors && (NPU_AT_BYTE(s, par_re_o) != 1 || NPU_AT_BYTE(s, par_addr_o) != x->factors))) {
        npu_score_post_read_differs(c, s);
    }
    if (s->w.t.psum_add && x->columns != 0 &&
        s->size * (2 * k->word + s->w.chan) < npu_score_post_walk_pixels(&s->w, k) && !npu_score_post_use_beat(c, s)) {
        return;
    }
    f->sums.to = x->to;
    f->sums.col = k->col;
    f->sums.columns = x->columns;
    f->sums.last = false;
    x->to += s->run * s->bytes;
    x->address = (x->address + 2) % RING_WORDS;
    if (++k->word == s->pass) {
        end_pass(s);
    }
}

static inline void take_read(tb_check *c, post_state *s, bool requant) {
    post_flow *f = &s->f;
    if (!npu_score_post_allowed(c, "read", f->reads, &f->read)) {
        return;
    }
    if (requant) {
        read_requant(c, s);
    } else {
        read_fp32(c, s);
    }
    f->sums_due = true;
    f->reads++;
}

/* ---- results ---- */

static inline void sums_fp32(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (f->word_in - f->word_out == WORDS) {
        tb_check_fail(c, "word", f->words, NULL, "none for many cycles", "words of sums that were read");
        return;
    }
    if (s->w.t.wide) {
        npu_score_post_sums_wide(s);
        return;
    }
    post_word *o = &s->out[f->word_in++ % WORDS];
    o->at = f->sums.at;
    cm_post_lanes(&s->w.t, (const int32_t *)NPU_AT(s, ofm_data_i), f->sums.psum, f->sums.oscale, f->sums.bias, o->y);
}

/* Channels that do not exist are 0. Pixels that do not exist are set, too, but not compared. */
static inline void sums_requant(post_state *s) {
    const post_sums *r = &s->f.sums;
    /* with partial sums only one of the columns that were read is used */
    const int32_t *sum = (const int32_t *)NPU_AT(s, ofm_data_i) + (s->columns == 1 ? 4 * (r->col % s->cols) : 0);
    s->f.full += r->last;
    if (s->w.t.wide) {
        npu_score_post_sums_requant_wide(s, sum);
        return;
    }
    const uint32_t *oscale = (const uint32_t *)NPU_AT(s, par_oscale_i) + r->col % 4;
    const uint32_t *bias = (const uint32_t *)NPU_AT(s, par_bias_i) + r->col % 4;
    cm_post_columns(&s->w.t, s->n, r->columns, sum, r->psum, oscale, bias, r->to);
    for (uint32_t j = r->columns; j < s->columns; j++) {
        for (uint32_t i = 0; i < 4; i++) {
            r->to[i * s->n + j] = 0;
        }
    }
}

/* ---- write jobs ---- */

static inline void job_requant(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    const uint32_t pixels = f->tile.left < s->job ? f->tile.left : s->job;
    npu_score_post_expect(c, "write address", f->jobs, &f->job, NPU_AT_WORD(s, wr_req_addr_o), f->tile.addr);
    npu_score_post_expect(c, "write bytes", f->jobs, &f->job, NPU_AT_WORD(s, wr_req_bytes_o), pixels * s->bytes);
    f->tile.left -= pixels;
    f->tile.done += pixels;
    /* behind a run are those of the other unit */
    f->tile.addr += (pixels + ((f->tile.done & (s->run - 1)) == 0 ? s->run : 0)) * s->w.t.ofm_cstep;
    if (f->tile.left == 0) {
        npu_score_post_walk_next(&s->w, &f->job);
        npu_score_post_aim_job(s);
    }
}

static inline void take_job(tb_check *c, post_state *s, bool requant) {
    post_flow *f = &s->f;
    if (!npu_score_post_allowed(c, "write job", f->jobs, &f->job)) {
        return;
    }
    if (requant) {
        job_requant(c, s);
    } else {
        npu_score_post_job_fp32(c, s);
    }
    f->jobs++;
}

/* ---- words ---- */

__attribute__((cold, noinline)) static void fp32_differs(tb_check *c, const post_state *s, const post_word *o) {
    const uint32_t *got = (const uint32_t *)NPU_AT(s, wr_data_o);
    uint32_t i = 0;
    while (i < o->at.count && got[i] == o->y[i]) {
        i++;
    }
    if (i == o->at.count) { /* results that do not exist */
        return;
    }
    char where[96], g[40], e[40];
    npu_score_post_place(s, o->at.channel, o->at.pixel + i, where);
    if (s->w.t.raw_out) {
        snprintf(g, sizeof g, "%" PRId32, (int32_t)got[i]);
        snprintf(e, sizeof e, "%" PRId32, (int32_t)o->y[i]);
    } else {
        snprintf(g, sizeof g, "0x%08" PRIx32, got[i]);
        snprintf(e, sizeof e, "0x%08" PRIx32, o->y[i]);
    }
    tb_check_fail(c, "word", s->f.words, where, g, e);
}

static inline void word_fp32(tb_check *c, post_state *s, bool ready) {
    post_flow *f = &s->f;
    if (f->word_out == f->word_in) {
        tb_check_fail(c, "word", f->words, NULL, "a word", "none: no sums were read for it");
        return;
    }
    const post_word *o = &s->out[f->word_out++ % WORDS];
    if (memcmp(NPU_AT(s, wr_data_o), o->y, 16) != 0) {
        fp32_differs(c, s, o);
    }
    if (!ready && NPU_AT_HALF(s, wr_level_i) >= SEND_WORDS) {
        tb_check_fail(c, "word", f->words, NULL, "a word", "none before there is space in send_buf");
    }
    f->words++;
}

__attribute__((cold, noinline)) static void requant_differs(tb_check *c, const post_state *s) {
    const post_flow *f = &s->f;
    const post_block *k = &s->ring[f->left % BLOCKS];
    const int8_t *got = (const int8_t *)NPU_AT(s, wr_data_o), *expected = f->block.value;
    const uint32_t first = (uint32_t)(expected - k->value);
    uint32_t i = 0;
    while (got[i] == expected[i]) {
        i++;
    }
    char where[96];
    npu_score_post_place(s, k->ob * s->n + (first + i) % s->n,
                         k->pixel + npu_score_tile_pixel(&k->b, s->w.chan, (first + i) / k->b.bytes), where);
    tb_check_failf(c, "word", f->words, "%s|%d|%d", where, got[i], expected[i]);
}

static inline void word_requant(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    post_words *b = &f->block;
    if (b->left == 0 && !npu_score_post_begin_block(s)) {
        tb_check_fail(c, "word", f->words, NULL, "a word", "none: no tile is complete");
        return;
    }
    if (b->job == 0) { /* a word holds bytes of one job */
        const uint32_t most = s->job * s->bytes;
        b->job = b->left < most ? b->left : most;
    }
    const uint32_t bytes = b->job < 16 ? b->job : 16;
    if (!npu_score_same(NPU_AT(s, wr_data_o), b->value, bytes)) {
        requant_differs(c, s);
    }
    b->value += bytes;
    b->job -= bytes;
    b->left -= bytes;
    f->left += b->left == 0;
    f->words++;
}

/* ---- time ---- */

/* Events that are wrong: busy; waits for space; waits for partial sums. */
__attribute__((noinline)) static void check_events(tb_check *c, const post_state *s, uint32_t event) {
    if ((high(s, wr_req_valid_o) || high(s, ofm_re_o)) && (event & 1u) == 0) {
        tb_check_fail(c, "event", 0, NULL, "0", "1: it works");
    }
    if ((event & 2u) != 0 && !s->w.t.requant && tb_get(s->wr_level_i) + SLACK < SEND_WORDS) {
        tb_check_fail(c, "event", 1, NULL, "1", "0: there is space in send_buf");
    }
    if ((event & 4u) != 0 && (!s->w.t.psum_add || high(s, psum_valid_i))) {
        tb_check_fail(c, "event", 2, NULL, "1", "0: no partial sum is missing");
    }
}

static void cycle_idle(tb_check *c);

__attribute__((noinline)) static void end_task(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    /* the end of another task, not the unit's error: from here on its actions cannot be predicted */
    f->lost = !f->waited;
    f->ring += f->group.passed << s->w.t.wide;
    if (s->any_factors) {
        f->par_base = (f->par_base + (s->w.t.oc + 3) / 4) % PAR_WORDS;
    }
    f->busy = false;
    c->cycle = cycle_idle;
}

/* A cycle in which the unit has a task. */
__attribute__((always_inline)) static inline void cycle_busy(tb_check *c, const bool requant) {
    post_state *s = (post_state *)c->state;
    post_flow *f = &s->f;
    const uint64_t now = c->all->sim->cycle;
    const uint32_t valid = NPU_AT_BYTE(s, wr_valid_o), ready = NPU_AT_BYTE(s, wr_ready_i);
    const uint32_t job = NPU_AT_BYTE(s, wr_req_valid_o), job_ready = NPU_AT_BYTE(s, wr_req_ready_i);
    const uint32_t request = NPU_AT_BYTE(s, psum_req_valid_o), request_ready = NPU_AT_BYTE(s, psum_req_ready_i);
    bool held = valid > ready || job > job_ready || request > request_ready ||
                (!requant && NPU_AT_HALF(s, wr_level_i) + SLACK >= SEND_WORDS);
    if (f->waits != 0) {
        held |= npu_score_post_held_by_sums(s, now);
    }
    f->limit += held;
    if (now > f->limit) {
        npu_score_post_too_long(c, s, now);
    }
    if (f->sums_due) {
        f->sums_due = false;
        if (requant) {
            sums_requant(s);
        } else {
            sums_fp32(c, s);
        }
    }
    if (f->par_due) {
        npu_score_post_factors_arrive(s);
    }
    if (requant ? (valid & ready) != 0 : valid != 0) {
        if (requant) {
            word_requant(c, s);
        } else {
            word_fp32(c, s, ready != 0);
        }
    }
    /* partial sums first: a read in the same cycle uses them */
    if ((NPU_AT_BYTE(s, psum_valid_i) & NPU_AT_BYTE(s, psum_ready_o)) != 0) {
        npu_score_post_take_beat(c, s);
    }
    if (high(s, ofm_re_o)) {
        take_read(c, s, requant);
    }
    if (high(s, pass_pop) && f->slots > 0) {
        f->slots--;
    }
    if ((request & request_ready) != 0) {
        npu_score_post_take_request(c, s);
    }
    if ((job & job_ready) != 0) {
        take_job(c, s, requant);
    }
    if (!requant && high(s, par_re_o)) {
        npu_score_post_take_factors(c, s);
    }
    if (high(s, free_o)) {
        npu_score_post_take_back(c, s);
    }
    const uint32_t event = NPU_AT_BYTE(s, event_o);
    if (event != 1) {
        check_events(c, s, event);
    }
    if (high(s, task_wait_o) && !f->waited) {
        npu_score_post_check_wait(c, s);
    }
    f->waits = 0;
    if (!f->read.ready || s->w.t.psum_add) {
        f->waits = npu_score_post_find_waits(s);
        f->seen = now;
    }
    f->avail += NPU_AT_BYTE(s, tile_i);
    /* a wait for partial sums that were not requested, or for words that do not come, takes time of its own */
    c->again = f->sums_due || f->par_due || (f->waited && f->word_in != f->word_out) ||
               ((event & 4u) != 0 && (f->waits & POST_NO_PSUMS) == 0);
    if (high(s, task_done_i)) {
        end_task(c, s);
        c->again = true;
    }
}

__attribute__((hot)) static void cycle_fp32(tb_check *c) {
    cycle_busy(c, false);
}

__attribute__((hot)) static void cycle_requant(tb_check *c) {
    cycle_busy(c, true);
}

static void begin_task(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    npu_score_task task;
    npu_score_task_get(NPU_SCORE_GEMM, s->task_i, &task);
    const cm_gemm_task t = task.gemm;
    npu_score_post_work_set(&s->w, &t, s->n, c->index);
    c->task = s->tasks++;
    f->busy = true;
    f->waited = false;
    f->group = npu_score_post_walk_first(&s->w, NPU_WALK_GROUPS);
    f->par = npu_score_post_walk_first(&s->w, NPU_WALK_CHANNELS);
    f->job = f->read = npu_score_post_walk_first(&s->w, t.requant ? NPU_WALK_TILES : NPU_WALK_CHANNELS);
    f->ps_req = f->ps_dat = npu_score_post_walk_first(&s->w, t.requant ? NPU_WALK_TILE_CHANNELS : NPU_WALK_CHANNELS);
    f->ps_req.end = f->ps_dat.end = f->ps_req.end || !t.psum_add;
    f->factors = f->channels = 0;
    f->most = npu_score_post_task_cycles(s);
    f->seen = c->all->sim->cycle;
    f->limit = f->seen + f->most;
    f->waits = npu_score_post_find_waits(s);
    npu_score_post_aim(s);
    c->cycle = t.requant ? cycle_requant : cycle_fp32;
}

/* A cycle without a task. */
__attribute__((hot)) static void cycle_idle(tb_check *c) {
    post_state *s = (post_state *)c->state;
    if (s->f.lost) {
        return;
    }
    if ((NPU_AT_BYTE(s, event_o) | NPU_AT_BYTE(s, wr_valid_o) | NPU_AT_BYTE(s, ofm_re_o)) != 0) {
        tb_check_fail(c, "event", 0, NULL, "an event, a read or a word", "none: there is no task");
    } else if ((NPU_AT_BYTE(s, task_valid_i) & NPU_AT_BYTE(s, par_ready_i)) != 0) {
        begin_task(c, s);
    }
    s->f.avail += NPU_AT_BYTE(s, tile_i);
    c->again = !s->f.busy || high(s, task_wait_o);
}

__attribute__((hot)) static void clear(tb_check *c) {
    post_state *s = (post_state *)c->state;
    s->f = (post_flow){.busy = false};
    c->cycle = cycle_idle;
}

static void finish(tb_check *c) {
    const post_state *s = (const post_state *)c->state;
    if (!s->f.lost && (s->f.busy || s->f.word_in != s->f.word_out)) {
        tb_check_fail(c, "word", s->f.words, NULL, "none more", "the rest of the task");
    }
}

const tb_check_ops npu_score_post = {
    .unit = "post",
    .inputs = (const char *const[]){"ofm_buf", "par_buf", "dma_rd", "gemm_queue", "act", "requant", "fp_i32_to_f32",
                                    "fp_mul", "fp_add", NULL},
    TB_STATE(post_state, PORTS),
    .wake = "wr_valid_o, ofm_re_o, tile_i, wr_req_valid_o, psum_req_valid_o, psum_valid_i, par_re_o, free_o, pass_pop, "
            "task_done_i",
    .open = open,
    .clear = clear,
    .cycle = cycle_idle,
    .finish = finish};
