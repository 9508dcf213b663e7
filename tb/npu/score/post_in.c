/*
 * post_in.c - check of post: its requests and reads, with their addresses; from sums, factors and partial sums to
 * results.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "post_state.h"

void npu_score_post_place(const post_state *s, uint32_t channel, uint32_t pixel, char where[96]) {
    snprintf(where, 96, "n 0, c %" PRIu32 ", h %" PRIu32 ", w %" PRIu32, channel, pixel / s->w.t.ow, pixel % s->w.t.ow);
}

void npu_score_post_differs(tb_check *c, const char *stream, uint64_t transaction, const npu_score_post_walk *k,
                            uint64_t got, uint64_t expected) {
    const post_state *s = (const post_state *)c->state;
    char where[96];
    npu_score_post_place(s, npu_score_post_walk_channel(&s->w, k), npu_score_post_walk_pixel(&s->w, k), where);
    tb_check_failf(c, stream, transaction, "%s|0x%" PRIx64 "|0x%" PRIx64, where, got, expected);
}

/* May the unit be at this place? In the group that is released next, it needs all sums of the group. */
bool npu_score_post_sums_there(const post_state *s, const npu_score_post_walk *k) {
    const post_flow *f = &s->f;
    if (k->groups != f->group.groups) {
        return k->groups < f->group.groups;
    }
    return f->avail >= (uint64_t)npu_score_post_walk_tiles(&s->w, k) << s->w.t.wide;
}

/* Reports a transaction at a place after the end of the walk, or too early. The sums of a group stay until it is
 * released, so one look at them is enough. */
bool npu_score_post_first(tb_check *c, const char *stream, uint64_t transaction, npu_score_post_walk *k) {
    const post_state *s = (const post_state *)c->state;
    if (!s->f.busy || k->end) {
        tb_check_fail(c, stream, transaction, NULL, "one more",
                      s->f.busy ? "none: the task has no more" : "none: there is no task");
        return false;
    }
    if (!npu_score_post_sums_there(s, k)) {
        char where[96];
        npu_score_post_place(s, npu_score_post_walk_channel(&s->w, k), npu_score_post_walk_pixel(&s->w, k), where);
        tb_check_fail(c, stream, transaction, where, "it", "none before all sums of the group are in ofm_buf");
        return false;
    }
    k->ready = true;
    return true;
}

/* ---- requests ---- */

/* REQUANT: the block at the walk's position. */
static npu_score_nhwc block_at(const post_state *s, const npu_score_post_walk *k) {
    const uint32_t first = npu_score_post_walk_pixel(&s->w, k);
    npu_score_nhwc b = npu_score_share(s->n, s->w.t.wide, s->w.chan, npu_score_post_walk_pixels(&s->w, k));
    b.addr = s->w.t.ofm_addr + (first + b.run * s->w.chan) * s->w.t.ofm_cstep + k->ob * b.bytes;
    b.pitch = s->w.t.ofm_cstep;
    return b;
}

/* REQUANT: the tile of the next write job; those of which this unit writes nothing have none. */
static void aim_job(post_state *s) {
    post_flow *f = &s->f;
    f->tile.left = 0;
    while (!f->job.end) {
        const npu_score_nhwc b = block_at(s, &f->job);
        if (b.pixels != 0) {
            f->tile = (post_jobs){.addr = b.addr, .left = b.pixels};
            return;
        }
        npu_score_post_walk_next(&s->w, &f->job);
    }
}

static inline void job_requant(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    const uint32_t pixels = f->tile.left < s->job ? f->tile.left : s->job;
    npu_score_post_expect(c, "write address", f->jobs, &f->job, npu_score_w(s->wr_req_addr_o), f->tile.addr);
    npu_score_post_expect(c, "write bytes", f->jobs, &f->job, npu_score_w(s->wr_req_bytes_o), pixels * s->bytes);
    f->tile.left -= pixels;
    f->tile.done += pixels;
    /* behind a run are those of the other unit */
    f->tile.addr += (pixels + (f->tile.done % s->run == 0 ? s->run : 0)) * s->w.t.ofm_cstep;
    if (f->tile.left == 0) {
        npu_score_post_walk_next(&s->w, &f->job);
        aim_job(s);
    }
}

__attribute__((noinline)) static void job_fp32(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    const npu_score_post_walk *k = &f->job;
    const uint32_t first = npu_score_post_walk_pixel(&s->w, k), size = 4u << (s->w.t.wide && s->w.t.raw_out);
    npu_score_post_expect(
        c, "write address", f->jobs, k, npu_score_w(s->wr_req_addr_o),
        (uint32_t)(s->w.t.ofm_addr + npu_score_post_walk_channel(&s->w, k) * s->w.t.ofm_cstep + size * first));
    npu_score_post_expect(c, "write bytes", f->jobs, k, npu_score_w(s->wr_req_bytes_o),
                          size * npu_score_post_walk_pixels(&s->w, k));
    npu_score_post_walk_next(&s->w, &f->job);
}

static inline void take_job(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (!npu_score_post_allowed(c, "write job", f->jobs, &f->job)) {
        return;
    }
    if (s->w.t.requant) {
        job_requant(c, s);
    } else {
        job_fp32(c, s);
    }
    f->jobs++;
}

__attribute__((noinline)) static void take_request(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    npu_score_post_walk *k = &f->ps_req;
    if (!npu_score_post_allowed(c, "read job", f->requests, k)) {
        return;
    }
    const uint32_t size = 4u << s->w.t.wide;
    const uint32_t offset =
        npu_score_post_walk_channel(&s->w, k) * s->w.t.psum_cstep + size * npu_score_post_walk_pixel(&s->w, k);
    npu_score_post_expect(c, "read address", f->requests, k, tb_get(s->psum_req_addr_o),
                          (uint32_t)(s->w.t.psum_addr + offset));
    npu_score_post_expect(c, "read bytes", f->requests, k, tb_get(s->psum_req_bytes_o),
                          size * npu_score_post_walk_pixels(&s->w, k));
    npu_score_post_walk_next(&s->w, &f->ps_req);
    f->requests++;
    f->asked++;
}

/* ---- partial sums, factors, sums ---- */

__attribute__((noinline)) static void take_beat(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    npu_score_post_walk *k = &f->ps_dat;
    if (!f->busy || f->got == f->asked) {
        tb_check_fail(c, "partial sums", f->beat_in, NULL, "a beat taken", "none: there was no request");
        return;
    }
    if (!s->w.t.requant || k->word % 2 == s->w.chan) { /* REQUANT: the other beats belong to the other unit */
        if (f->beat_in - f->beat_out == BEATS) {
            tb_check_fail(c, "partial sums", f->beat_in, NULL, "a beat taken",
                          "none before a read of ofm_buf for earlier ones");
            return;
        }
        memcpy(s->beat[f->beat_in++ % BEATS], s->psum_i.ptr, 16);
    }
    if ((4u >> s->w.t.wide) * ++k->word >= npu_score_post_walk_pixels(&s->w, k)) {
        npu_score_post_walk_next(&s->w, k);
        f->got++;
    }
}

/* FP32: the factors of the next channel. */
__attribute__((noinline)) static void take_factors(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (!s->any_factors || !npu_score_post_allowed(c, "factors", f->factors, &f->par)) {
        return;
    }
    const uint32_t at = f->par_base + npu_score_post_walk_channel(&s->w, &f->par) / 4;
    npu_score_post_expect(c, "factor address", f->factors, &f->par, tb_get(s->par_addr_o), at % PAR_WORDS);
    if (f->factors - f->channels >= FACTORS) {
        tb_check_fail(c, "factors", f->factors, NULL, "one more read",
                      "none before earlier channels are read from ofm_buf");
        return;
    }
    f->par_due = true;
}

__attribute__((noinline)) static void factors_arrive(post_state *s) {
    post_flow *f = &s->f;
    const uint32_t lane = npu_score_post_walk_channel(&s->w, &f->par) % 4;
    uint32_t *dst = s->factor[f->factors++ % FACTORS];
    dst[0] = ((const uint32_t *)s->par_oscale_i.ptr)[lane];
    dst[1] = ((const uint32_t *)s->par_bias_i.ptr)[lane];
    npu_score_post_walk_next(&s->w, &f->par);
    f->par_due = false;
}

/* The partial sums of this read. */
static bool use_beat(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (f->beat_in == f->beat_out) {
        tb_check_fail(c, "read", f->reads, NULL, "a read", "none before its partial sums");
        return false;
    }
    memcpy(f->sums.psum, s->beat[f->beat_out++ % BEATS], 16);
    return true;
}

static uint32_t ring_word(const post_state *s, const npu_score_post_walk *k) {
    return (uint32_t)((s->f.ring + (k->passed << s->w.t.wide)) * (s->n / 2));
}

/* The first read of a place. */
static void aim_read(post_state *s) {
    post_flow *f = &s->f;
    post_next *x = &f->next;
    const npu_score_post_walk *k = &f->read;
    if (k->end) {
        return;
    }
    x->address = ring_word(s, k) % RING_WORDS;
    if (s->w.t.requant) {
        const uint32_t channels = s->w.t.oc - k->ob * s->n;
        x->tile = x->address = (x->address + ((k->sub * (s->n / 2)) << s->w.t.wide)) % RING_WORDS;
        x->par = f->par_base + k->ob * (s->n / 4);
        x->factors = x->par % PAR_WORDS;
        x->channels = channels < s->n ? channels : s->n;
        x->columns = x->channels < s->columns ? x->channels : s->columns;
        x->column = 0;
    } else {
        x->column = k->col / 2;
        x->pixel = npu_score_post_walk_pixel(&s->w, k);
        x->left = npu_score_post_walk_pixels(&s->w, k);
    }
}

void npu_score_post_aim(post_state *s) {
    const cm_gemm_task *t = &s->w.t;
    s->any_factors = t->oscale_en || t->bias_en;
    s->pairs = t->wide && !t->requant && !t->raw_out;
    s->size = 4u >> t->wide;
    s->columns = t->psum_add ? 1 : s->cols;
    s->pass = (s->n / 4) << t->wide;
    s->bytes = s->n << t->wide;
    s->run = 4u >> t->wide;
    s->job = t->ofm_cstep != s->bytes ? 1 : s->run;
    aim_read(s);
    if (t->requant) {
        aim_job(s);
    }
}

__attribute__((cold, noinline)) static void read_differs(tb_check *c, const post_state *s) {
    const post_flow *f = &s->f;
    const npu_score_post_walk *k = &f->read;
    const uint64_t address = tb_get(s->ofm_addr_o);
    npu_score_post_expect(c, "read column", f->reads, k, tb_get(s->ofm_col_o), f->next.column);
    npu_score_post_expect(c, "read word", f->reads, k, s->w.t.requant ? address & ~UINT64_C(1) : address,
                          f->next.address);
    if (s->w.t.requant && s->any_factors) {
        npu_score_post_expect(c, "factor read", f->reads, k, high(s->par_re_o), 1);
        npu_score_post_expect(c, "factor address", f->reads, k, tb_get(s->par_addr_o), f->next.factors);
    }
}

static inline void read_fp32(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    post_next *x = &f->next;
    npu_score_post_walk *k = &f->read;
    if (npu_score_b(s->ofm_col_o) != x->column || npu_score_h(s->ofm_addr_o) != x->address) {
        read_differs(c, s);
    }
    /* INT16: a word has two sums, and an odd number of words is followed by a read that does not matter */
    if (s->w.t.psum_add && x->left != 0 && !use_beat(c, s)) {
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
        aim_read(s);
    }
}

void npu_score_post_settle(post_state *s) {
    post_flow *f = &s->f;
    while (f->block.left == 0 && f->left < f->full && s->ring[f->left % BLOCKS].b.pixels == 0) {
        f->left++;
    }
}

/* REQUANT: the first read of a tile. */
__attribute__((noinline)) static bool begin_tile(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    npu_score_post_settle(s);
    if (f->begun - f->left >= BLOCKS) {
        tb_check_fail(c, "read", f->reads, NULL, "a new tile", "none before earlier tiles are sent");
        return false;
    }
    post_block *b = &s->ring[f->begun++ % BLOCKS];
    b->b = block_at(s, &f->read);
    b->ob = f->read.ob;
    b->pixel = npu_score_post_walk_pixel(&s->w, &f->read);
    return true;
}

/* REQUANT: the first read of a pass, and perhaps of its block. */
static inline bool begin_pass(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (f->slots >= s->most_slots) {
        tb_check_fail(c, "read", f->reads, NULL, "a new pass", "none before a slot of the gather buffer is free");
        return false;
    }
    f->slots++;
    if (f->read.col == 0 && !begin_tile(c, s)) {
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
        aim_read(s);
        return;
    }
    const uint32_t left = k->col < x->channels ? x->channels - k->col : 0;
    x->columns = left < s->columns ? left : s->columns;
    x->column += k->col % s->cols == 0;
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
    if (npu_score_b(s->ofm_col_o) != x->column || (npu_score_h(s->ofm_addr_o) & ~1u) != x->address ||
        (s->any_factors && (npu_score_b(s->par_re_o) != 1 || npu_score_b(s->par_addr_o) != x->factors))) {
        read_differs(c, s);
    }
    if (s->w.t.psum_add && x->columns != 0 &&
        s->size * (2 * k->word + s->w.chan) < npu_score_post_walk_pixels(&s->w, k) && !use_beat(c, s)) {
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

static inline void take_read(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (!npu_score_post_allowed(c, "read", f->reads, &f->read)) {
        return;
    }
    if (s->w.t.requant) {
        read_requant(c, s);
    } else {
        read_fp32(c, s);
    }
    f->sums_due = true;
    f->reads++;
}

/* ---- results ---- */

/* INT16: two results of a word of ofm_buf, which make half of one of send_buf, or a whole one of int64 sums. */
__attribute__((noinline)) static void sums_wide(post_state *s) {
    post_flow *f = &s->f;
    const bool second = s->pairs && f->sums.word % 2 != 0;
    int64_t sum[2], psum[2];
    memcpy(sum, s->ofm_data_i.ptr, sizeof sum);
    memcpy(psum, f->sums.psum, sizeof psum);
    post_word *o = &s->half;
    if (!second) {
        o->at = f->sums.at;
        o->at.count = 0;
    }
    for (uint32_t i = 0; i < f->sums.at.count; i++) {
        const uint64_t y = cm_post_wide(&s->w.t, sum[i], psum[i], f->sums.oscale, f->sums.bias);
        o->y[o->at.count++] = (uint32_t)y;
        if (s->w.t.raw_out) {
            o->y[o->at.count++] = (uint32_t)(y >> 32);
        }
    }
    if (second || !s->pairs) {
        s->out[f->word_in++ % WORDS] = *o;
    }
}

static inline void sums_fp32(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (f->word_in - f->word_out == WORDS) {
        tb_check_fail(c, "word", f->words, NULL, "none for many cycles", "words of sums that were read");
        return;
    }
    if (s->w.t.wide) {
        sums_wide(s);
        return;
    }
    post_word *o = &s->out[f->word_in++ % WORDS];
    o->at = f->sums.at;
    cm_post_lanes(&s->w.t, (const int32_t *)s->ofm_data_i.ptr, f->sums.psum, f->sums.oscale, f->sums.bias, o->y);
}

/* REQUANT, INT16: two results of each column. */
__attribute__((noinline)) static void sums_requant_wide(post_state *s, const int32_t *sum) {
    const post_sums *r = &s->f.sums;
    const uint32_t *oscale = (const uint32_t *)s->par_oscale_i.ptr, *bias = (const uint32_t *)s->par_bias_i.ptr;
    for (uint32_t j = 0; j < s->columns; j++) {
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t lane = (r->col + j) % 4;
            int64_t v, psum;
            memcpy(&v, &sum[4 * j + 2 * i], sizeof v);
            memcpy(&psum, &r->psum[2 * i], sizeof psum);
            const uint32_t y = (uint32_t)cm_post_wide(&s->w.t, v, psum, oscale[lane], bias[lane]);
            const int16_t q = j < r->columns ? cm_requant_wide(&s->w.t, y) : 0;
            int8_t *value = &r->to[i * s->bytes + j];
            value[0] = (int8_t)(q & 0xFF);
            value[s->n] = (int8_t)(q >> 8);
        }
    }
}

/* Channels that do not exist are 0. Pixels that do not exist are set, too, but not compared. */
static inline void sums_requant(post_state *s) {
    const post_sums *r = &s->f.sums;
    /* with partial sums only one of the columns that were read is used */
    const int32_t *sum = (const int32_t *)s->ofm_data_i.ptr + (s->columns == 1 ? 4 * (r->col % s->cols) : 0);
    s->f.full += r->last;
    if (s->w.t.wide) {
        sums_requant_wide(s, sum);
        return;
    }
    const uint32_t *oscale = (const uint32_t *)s->par_oscale_i.ptr + r->col % 4;
    const uint32_t *bias = (const uint32_t *)s->par_bias_i.ptr + r->col % 4;
    cm_post_columns(&s->w.t, s->n, r->columns, sum, r->psum, oscale, bias, r->to);
    for (uint32_t j = r->columns; j < s->columns; j++) {
        for (uint32_t i = 0; i < 4; i++) {
            r->to[i * s->n + j] = 0;
        }
    }
}

/* ---- time ---- */

void npu_score_post_arrive(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (f->sums_due) {
        f->sums_due = false;
        if (s->w.t.requant) {
            sums_requant(s);
        } else {
            sums_fp32(c, s);
        }
    }
    if (f->par_due) {
        factors_arrive(s);
    }
}

void npu_score_post_follow(tb_check *c, post_state *s) {
    /* partial sums first: a read in the same cycle uses them */
    if (npu_score_fire(s->psum_valid_i, s->psum_ready_o)) {
        take_beat(c, s);
    }
    if (high(s->ofm_re_o)) {
        take_read(c, s);
    }
    if (high(s->pass_pop) && s->f.slots > 0) {
        s->f.slots--;
    }
    if (npu_score_fire(s->psum_req_valid_o, s->psum_req_ready_i)) {
        take_request(c, s);
    }
    if (npu_score_fire(s->wr_req_valid_o, s->wr_req_ready_i)) {
        take_job(c, s);
    }
    if (high(s->par_re_o) && !s->w.t.requant) {
        take_factors(c, s);
    }
}
