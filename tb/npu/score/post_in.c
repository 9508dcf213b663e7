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

/* Compare with coordinates. */
void npu_score_post_expect(tb_check *c, const char *stream, uint64_t transaction, const npu_score_post_walk *k,
                           uint64_t got, uint64_t expected) {
    if (got != expected) {
        const post_state *s = (const post_state *)c->state;
        char where[96];
        npu_score_post_place(s, npu_score_post_walk_channel(&s->w, k), npu_score_post_walk_pixel(&s->w, k), where);
        tb_check_failf(c, stream, transaction, "%s|0x%" PRIx64 "|0x%" PRIx64, where, got, expected);
    }
}

/* May the unit be at this place? In the group that is released next, it needs all sums of the group. */
bool npu_score_post_sums_there(const post_state *s, const npu_score_post_walk *k) {
    const post_flow *f = &s->f;
    if (k->groups != f->group.groups) {
        return k->groups < f->group.groups;
    }
    return f->avail >= (uint64_t)npu_score_post_walk_tiles(&s->w, k) << s->w.t.wide;
}

/* Reports a transaction at a place after the end of the walk, or too early. */
bool npu_score_post_allowed(tb_check *c, const char *stream, uint64_t transaction, const npu_score_post_walk *k) {
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

void npu_score_post_settle(post_state *s) {
    post_flow *f = &s->f;
    while (s->w.t.requant && !f->job.end && f->job_at.pixel == block_at(s, &f->job).pixels) {
        f->job_at.pixel = 0;
        npu_score_post_walk_next(&s->w, &f->job);
    }
}

static void take_job(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    npu_score_post_settle(s);
    if (!npu_score_post_allowed(c, "write job", f->jobs, &f->job)) {
        return;
    }
    const npu_score_post_walk *k = &f->job;
    const uint32_t addr = (uint32_t)tb_get(s->wr_req_addr_o), bytes = (uint32_t)tb_get(s->wr_req_bytes_o);
    if (s->w.t.requant) {
        const npu_score_nhwc b = block_at(s, k);
        npu_score_post_expect(c, "write address", f->jobs, k, addr, npu_score_job_addr(&b, f->job_at));
        npu_score_post_expect(c, "write bytes", f->jobs, k, bytes, npu_score_job_bytes(&b, f->job_at));
        npu_score_next_job(&b, &f->job_at);
    } else {
        const uint32_t first = npu_score_post_walk_pixel(&s->w, k), size = 4u << (s->w.t.wide && s->w.t.raw_out);
        npu_score_post_expect(
            c, "write address", f->jobs, k, addr,
            (uint32_t)(s->w.t.ofm_addr + npu_score_post_walk_channel(&s->w, k) * s->w.t.ofm_cstep + size * first));
        npu_score_post_expect(c, "write bytes", f->jobs, k, bytes, size * npu_score_post_walk_pixels(&s->w, k));
        npu_score_post_walk_next(&s->w, &f->job);
    }
    f->jobs++;
}

static void take_request(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    const npu_score_post_walk *k = &f->ps_req;
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

static void take_beat(tb_check *c, post_state *s) {
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
static void take_factors(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (!post_any_factors(s) || !npu_score_post_allowed(c, "factors", f->factors, &f->par)) {
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

static void factors_arrive(post_state *s) {
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

static void read_fp32(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    npu_score_post_walk *k = &f->read;
    npu_score_post_expect(c, "read column", f->reads, k, tb_get(s->ofm_col_o), k->col / 2);
    npu_score_post_expect(c, "read word", f->reads, k, tb_get(s->ofm_addr_o), (ring_word(s, k) + k->word) % RING_WORDS);
    /* INT16: a word has two sums, and an odd number of words is followed by a read that does not matter */
    const uint32_t size = 4u >> s->w.t.wide, pixels = npu_score_post_walk_pixels(&s->w, k);
    f->sums.behind = size * k->word >= pixels;
    if (s->w.t.psum_add && !f->sums.behind && !use_beat(c, s)) {
        return;
    }
    if (post_any_factors(s)) {
        if (f->channels >= f->factors) {
            tb_check_fail(c, "read", f->reads, NULL, "a read", "none before its factors");
            return;
        }
        f->sums.oscale = s->factor[f->channels % FACTORS][0];
        f->sums.bias = s->factor[f->channels % FACTORS][1];
    }
    const uint32_t left = f->sums.behind ? 0 : pixels - size * k->word;
    f->sums.channel = npu_score_post_walk_channel(&s->w, k);
    f->sums.pixel = npu_score_post_walk_pixel(&s->w, k) + size * k->word;
    f->sums.count = left < size ? left : size;
    f->sums.word = k->word;
    k->word++;
    if (size * k->word >= pixels && !(post_pairs(s) && k->word % 2 != 0)) {
        f->channels++;
        npu_score_post_walk_next(&s->w, k);
    }
}

void npu_score_post_settle_blocks(post_state *s) {
    post_flow *f = &s->f;
    while (f->left < f->full && f->data_at.pixel == s->ring[f->left % BLOCKS].b.pixels) {
        f->data_at.pixel = 0;
        f->left++;
    }
}

/* REQUANT: the first read of a pass, and perhaps of its block. */
static bool begin_pass(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (f->slots >= s->most_slots) {
        tb_check_fail(c, "read", f->reads, NULL, "a new pass", "none before a slot of the gather buffer is free");
        return false;
    }
    f->slots++;
    if (f->read.col != 0) {
        return true;
    }
    npu_score_post_settle_blocks(s);
    if (f->begun - f->left >= BLOCKS) {
        tb_check_fail(c, "read", f->reads, NULL, "a new tile", "none before earlier tiles are sent");
        return false;
    }
    post_block *b = &s->ring[f->begun++ % BLOCKS];
    b->b = block_at(s, &f->read);
    b->ob = f->read.ob;
    b->pixel = npu_score_post_walk_pixel(&s->w, &f->read);
    memset(b->value, 0, s->n * b->b.bytes);
    return true;
}

static void read_requant(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    npu_score_post_walk *k = &f->read;
    const uint32_t columns = s->w.t.psum_add ? 1 : s->cols;
    if (k->word == 0 && !begin_pass(c, s)) {
        return;
    }
    const uint32_t at = (ring_word(s, k) + ((k->sub * (s->n / 2)) << s->w.t.wide) + 2 * k->word) % RING_WORDS;
    npu_score_post_expect(c, "read column", f->reads, k, tb_get(s->ofm_col_o), k->col / s->cols);
    npu_score_post_expect(c, "read word", f->reads, k, tb_get(s->ofm_addr_o) & ~UINT64_C(1), at);
    if (post_any_factors(s)) {
        npu_score_post_expect(c, "factor read", f->reads, k, high(s->par_re_o), 1);
        npu_score_post_expect(c, "factor address", f->reads, k, tb_get(s->par_addr_o),
                              (f->par_base + npu_score_post_walk_channel(&s->w, k) / 4) % PAR_WORDS);
    }
    const bool exists = npu_score_post_walk_channel(&s->w, k) < s->w.t.oc &&
                        (4u >> s->w.t.wide) * (2 * k->word + s->w.chan) < npu_score_post_walk_pixels(&s->w, k);
    if (s->w.t.psum_add && exists && !use_beat(c, s)) {
        return;
    }
    f->sums.channel = npu_score_post_walk_channel(&s->w, k);
    f->sums.col = k->col;
    f->sums.word = k->word;
    f->sums.columns = columns;
    f->sums.last = false;
    if (++k->word == (s->n / 4) << s->w.t.wide) {
        k->word = 0;
        k->col += columns;
        if (k->col >= s->n) {
            k->col = 0;
            f->sums.last = true;
            npu_score_post_walk_next(&s->w, k);
        }
    }
}

static void take_read(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (!npu_score_post_allowed(c, "read", f->reads, &f->read)) {
        return;
    }
    if (s->w.t.requant) {
        read_requant(c, s);
    } else {
        read_fp32(c, s);
    }
    f->sums.due = true;
    f->reads++;
}

/* INT16: two results of a word of ofm_buf, which make half of one of send_buf, or a whole one of int64 sums. */
static void sums_wide(post_state *s) {
    post_flow *f = &s->f;
    const bool second = post_pairs(s) && f->sums.word % 2 != 0;
    int64_t sum[2], psum[2];
    memcpy(sum, s->ofm_data_i.ptr, sizeof sum);
    memcpy(psum, f->sums.psum, sizeof psum);
    post_word *o = &s->half;
    if (!second) {
        o->channel = f->sums.channel;
        o->pixel = f->sums.pixel;
        o->count = 0;
    }
    for (uint32_t i = 0; i < f->sums.count; i++) {
        const uint64_t y = cm_post_wide(&s->w.t, sum[i], psum[i], f->sums.oscale, f->sums.bias);
        o->y[o->count++] = (uint32_t)y;
        if (s->w.t.raw_out) {
            o->y[o->count++] = (uint32_t)(y >> 32);
        }
    }
    if (second || !post_pairs(s)) {
        s->out[f->word_in++ % WORDS] = *o;
    }
}

static void sums_fp32(tb_check *c, post_state *s) {
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
    const int32_t *sum = (const int32_t *)s->ofm_data_i.ptr;
    o->channel = f->sums.channel;
    o->pixel = f->sums.pixel;
    o->count = f->sums.count;
    if (o->count == 4) {
        cm_post_lanes(&s->w.t, sum, f->sums.psum, f->sums.oscale, f->sums.bias, o->y);
        return;
    }
    for (uint32_t i = 0; i < o->count; i++) {
        o->y[i] = cm_post(&s->w.t, sum[i], f->sums.psum[i], f->sums.oscale, f->sums.bias);
    }
}

static void sums_requant(post_state *s) {
    post_flow *f = &s->f;
    const post_sums *r = &f->sums;
    post_block *b = &s->ring[(f->begun - 1) % BLOCKS];
    /* with partial sums only one of the columns that were read is used */
    const int32_t *sum = (const int32_t *)s->ofm_data_i.ptr + (r->columns == 1 ? 4 * (r->col % s->cols) : 0);
    const uint32_t *oscale = (const uint32_t *)s->par_oscale_i.ptr, *bias = (const uint32_t *)s->par_bias_i.ptr;
    for (uint32_t j = 0; j < r->columns && r->channel + j < s->w.t.oc; j++) {
        const uint32_t lane = (r->col + j) % 4;
        for (uint32_t i = 0; s->w.t.wide && i < 2 && 2 * r->word + i < b->b.pixels; i++) {
            int64_t v, psum;
            memcpy(&v, &sum[4 * j + 2 * i], sizeof v);
            memcpy(&psum, &r->psum[2 * i], sizeof psum);
            const int16_t q =
                cm_requant_wide(&s->w.t, (uint32_t)cm_post_wide(&s->w.t, v, psum, oscale[lane], bias[lane]));
            int8_t *value = &b->value[(2 * r->word + i) * b->b.bytes + r->col + j];
            value[0] = (int8_t)(q & 0xFF);
            value[s->n] = (int8_t)(q >> 8);
        }
        if (s->w.t.wide) {
            continue;
        }
        uint32_t y[4];
        int8_t q[4];
        cm_post_lanes(&s->w.t, &sum[4 * j], r->psum, oscale[lane], bias[lane], y);
        cm_requant_lanes(&s->w.t, y, q);
        for (uint32_t i = 0; i < 4 && 4 * r->word + i < b->b.pixels; i++) {
            b->value[(4 * r->word + i) * s->n + r->col + j] = q[i];
        }
    }
    f->full += r->last;
}

/* ---- time ---- */

void npu_score_post_arrive(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    if (f->sums.due) {
        f->sums.due = false;
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
