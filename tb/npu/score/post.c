/*
 * post.c - check of the two post units: their reads, the order of these, and the results.
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
    s->cols = s->ofm_data_i.width / 128;
    s->most_slots = s->n >= 16 ? 8 : 16;
    /*
     * The events of waits: for space in every such cycle, as wr_level_i counts; for partial sums in the first one, as
     * psum_valid_i wakes, too. While a task waits for its end there is nothing to check.
     */
    return tb_check_wake_bits(c, s->event_o, 2, err, err_size) != 0 ||
                   tb_check_watch(c, s->event_o, err, err_size) != 0 ||
                   tb_check_watch(c, s->task_wait_o, err, err_size) != 0 || exact_widths(c, s, err, err_size) != 0
               ? -1
               : 0;
}

static void clear(tb_check *c) {
    post_state *s = (post_state *)c->state;
    s->f = (post_flow){.busy = false};
}

/* ---- outputs ---- */

__attribute__((cold, noinline)) static void fp32_differs(tb_check *c, const post_state *s, const post_word *o) {
    const uint32_t *got = (const uint32_t *)s->wr_data_o.ptr;
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
    if (memcmp(s->wr_data_o.ptr, o->y, 16) != 0) {
        fp32_differs(c, s, o);
    }
    if (!ready && npu_score_h(s->wr_level_i) >= SEND_WORDS) {
        tb_check_fail(c, "word", f->words, NULL, "a word", "none before there is space in send_buf");
    }
    f->words++;
}

/* The next block begins. False: there is none. */
__attribute__((noinline)) static bool begin_block(post_state *s) {
    post_flow *f = &s->f;
    npu_score_post_settle(s);
    if (f->left == f->full) {
        return false;
    }
    const post_block *k = &s->ring[f->left % BLOCKS];
    f->block = (post_words){.value = k->value, .left = k->b.pixels * k->b.bytes};
    return true;
}

__attribute__((cold, noinline)) static void requant_differs(tb_check *c, const post_state *s) {
    const post_flow *f = &s->f;
    const post_block *k = &s->ring[f->left % BLOCKS];
    const int8_t *got = (const int8_t *)s->wr_data_o.ptr, *expected = f->block.value;
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
    if (b->left == 0 && !begin_block(s)) {
        tb_check_fail(c, "word", f->words, NULL, "a word", "none: no tile is complete");
        return;
    }
    if (b->job == 0) { /* a word holds bytes of one job */
        const uint32_t most = s->job * s->bytes;
        b->job = b->left < most ? b->left : most;
    }
    const uint32_t bytes = b->job < 16 ? b->job : 16;
    if (!npu_score_same(s->wr_data_o.ptr, b->value, bytes)) {
        requant_differs(c, s);
    }
    b->value += bytes;
    b->job -= bytes;
    b->left -= bytes;
    f->left += b->left == 0;
    f->words++;
}

__attribute__((noinline)) static void take_back(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (!npu_score_post_allowed(c, "tiles given back", f->frees, &f->group)) {
        return;
    }
    if (f->read.groups <= f->group.groups) {
        tb_check_fail(c, "tiles given back", f->frees, NULL, "a group", "none before its last sums are read");
    }
    const uint32_t tiles = npu_score_post_walk_tiles(&s->w, &f->group);
    npu_score_post_expect(c, "tiles given back", f->frees, &f->group, tb_get(s->free_tiles_o), tiles << s->w.t.wide);
    f->avail -= (uint64_t)tiles << s->w.t.wide;
    npu_score_post_walk_next(&s->w, &f->group);
    f->frees++;
}

/* ---- pace ---- */

/*
 * Cycles that a task takes when no other unit stalls post. FP32: four results a cycle. REQUANT: 4 * Cols results, with
 * partial sums 4, INT16: half of that, or the rate of the transposer or of the write jobs. A few more for each group,
 * and for the begin and the end of the task.
 */
static uint64_t task_cycles(const post_state *s) {
    const npu_score_post_work *w = &s->w;
    const uint64_t n = w->n, in = (w->t.psum_add ? n * n / 2 : n * n / 4 / s->cols) << w->t.wide,
                   out = (n > 16 ? 2 * n : n) << w->t.wide;
    uint64_t sum = w->t.requant ? 40 + 3 * n : 40;
    for (npu_score_post_walk k = npu_score_post_walk_first(w, NPU_WALK_GROUPS); !k.end;
         npu_score_post_walk_next(w, &k)) {
        const uint64_t tiles = npu_score_post_walk_tiles(w, &k), words = (tiles * (n / 2)) << w->t.wide;
        sum += w->t.requant ? tiles * (in > out ? in : out) + 10 : (words > 3 ? words : 3) * (n / 2) + 14;
    }
    return sum;
}

__attribute__((cold, noinline)) static void too_long(tb_check *c, const post_state *s, uint64_t now) {
    const post_flow *f = &s->f;
    if (!(f->waited && f->word_in == f->word_out)) {
        tb_check_failf(c, "pace", f->words, "%" PRIu64 " cycles of its own|%" PRIu64 " at most for the whole task",
                       f->most + (now - f->limit), f->most);
    }
}

/*
 * A cycle in which the unit waits for sums or partial sums: those before it in which the check slept are not its own
 * either. Is it held up in this one?
 */
__attribute__((noinline)) static bool held_by_sums(post_state *s, uint64_t now) {
    post_flow *f = &s->f;
    f->limit += now - f->seen - 1;
    return (f->waits & POST_NO_SUMS) != 0 || !high(s->psum_valid_i);
}

/* What post has to wait for from the next cycle on. */
__attribute__((noinline)) static uint8_t find_waits(post_state *s) {
    post_flow *f = &s->f;
    /* a unit without a channel in the group waits for its tiles, too */
    const npu_score_post_walk *k = f->read.end ? &f->group : &f->read;
    const bool no_sums = !k->end && !npu_score_post_sums_there(s, k);
    /* also behind the last word: the last beat of a pair belongs to the other unit, but this one reads it, too */
    const bool no_psums = s->w.t.psum_add && f->beat_in == f->beat_out && f->asked != f->got;
    return (uint8_t)((no_sums ? POST_NO_SUMS : 0) | (no_psums ? POST_NO_PSUMS : 0));
}

/* ---- task ---- */

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
    f->most = task_cycles(s);
    f->seen = c->all->sim->cycle;
    f->limit = f->seen + f->most;
    f->waits = find_waits(s);
    npu_score_post_aim(s);
}

/* The unit signals that it has made all requests. */
__attribute__((noinline)) static void check_wait(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    f->waited = true;
    npu_score_post_settle(s);
    const char *missing = !f->job.end                 ? "write jobs"
                          : !f->ps_req.end            ? "requests for partial sums"
                          : !f->ps_dat.end            ? "partial sums"
                          : !f->read.end              ? "sums to read"
                          : !f->group.end             ? "tiles to release"
                          : f->beat_in != f->beat_out ? "partial sums to use"
                          : f->left != f->begun       ? "pixels to write"
                                                      : NULL;
    if (missing != NULL) {
        tb_check_failf(c, "task_wait", c->task, "1|0: there are %s left", missing);
    }
}

__attribute__((noinline)) static void end_task(post_state *s) {
    post_flow *f = &s->f;
    /* the end of another task, not the unit's error: from here on its actions cannot be predicted */
    f->lost = !f->waited;
    f->ring += f->group.passed << s->w.t.wide;
    if (s->any_factors) {
        f->par_base = (f->par_base + (s->w.t.oc + 3) / 4) % PAR_WORDS;
    }
    f->busy = false;
}

/* Events that are wrong: busy; waits for space; waits for partial sums. */
__attribute__((noinline)) static void check_events(tb_check *c, const post_state *s, uint32_t event) {
    if ((high(s->wr_req_valid_o) || high(s->ofm_re_o)) && (event & 1u) == 0) {
        tb_check_fail(c, "event", 0, NULL, "0", "1: it works");
    }
    if ((event & 2u) != 0 && !s->w.t.requant && tb_get(s->wr_level_i) + SLACK < SEND_WORDS) {
        tb_check_fail(c, "event", 1, NULL, "1", "0: there is space in send_buf");
    }
    if ((event & 4u) != 0 && (!s->w.t.psum_add || high(s->psum_valid_i))) {
        tb_check_fail(c, "event", 2, NULL, "1", "0: no partial sum is missing");
    }
}

/* ---- time ---- */

static inline void cycle_busy(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    const uint64_t now = c->all->sim->cycle;
    const uint32_t valid = npu_score_b(s->wr_valid_o), ready = npu_score_b(s->wr_ready_i);
    bool held = valid > ready || npu_score_b(s->wr_req_valid_o) > npu_score_b(s->wr_req_ready_i) ||
                npu_score_b(s->psum_req_valid_o) > npu_score_b(s->psum_req_ready_i) ||
                (!s->w.t.requant && npu_score_h(s->wr_level_i) + SLACK >= SEND_WORDS);
    if (f->waits != 0) {
        held |= held_by_sums(s, now);
    }
    f->limit += held;
    if (now > f->limit) {
        too_long(c, s, now);
    }
    npu_score_post_arrive(c, s);
    if (valid != 0) {
        if (!s->w.t.requant) {
            word_fp32(c, s, ready != 0);
        } else if (ready != 0) {
            word_requant(c, s);
        }
    }
    npu_score_post_follow(c, s);
    if (high(s->free_o)) {
        take_back(c, s);
    }
    const uint32_t event = npu_score_b(s->event_o);
    if (event != 1) {
        check_events(c, s, event);
    }
    if (high(s->task_wait_o) && !f->waited) {
        check_wait(c, s);
    }
    f->waits = 0;
    if (!f->read.ready || s->w.t.psum_add) {
        f->waits = find_waits(s);
        f->seen = now;
    }
    if (high(s->task_done_i)) {
        end_task(s);
    }
}

/* A cycle without a task. */
__attribute__((noinline)) static void cycle_idle(tb_check *c, post_state *s) {
    if ((npu_score_b(s->event_o) | npu_score_b(s->wr_valid_o) | npu_score_b(s->ofm_re_o)) != 0) {
        tb_check_fail(c, "event", 0, NULL, "an event, a read or a word", "none: there is no task");
    } else if (npu_score_fire(s->task_valid_i, s->par_ready_i)) {
        begin_task(c, s);
    }
}

static void cycle(tb_check *c) {
    post_state *s = (post_state *)c->state;
    post_flow *f = &s->f;
    if (f->lost) {
        return;
    }
    if (f->busy) {
        cycle_busy(c, s);
    } else {
        cycle_idle(c, s);
    }
    f->avail += high(s->tile_i);
    c->again = !f->busy || f->sums_due || f->par_due || (!f->waited && high(s->task_wait_o)) ||
               (f->waited && f->word_in != f->word_out);
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
    .cycle = cycle,
    .finish = finish};
