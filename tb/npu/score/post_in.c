/*
 * post_in.c - check of post: what is not done in every cycle. Places and groups, requests, factors, partial sums, tiles
 * and blocks, INT16, and the time of a task.
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
__attribute__((hot)) void npu_score_post_aim_job(post_state *s) {
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

void npu_score_post_job_fp32(tb_check *c, post_state *s) {
    post_flow *f = &s->f;
    const npu_score_post_walk *k = &f->job;
    const uint32_t first = npu_score_post_walk_pixel(&s->w, k), size = 4u << (s->w.t.wide && s->w.t.raw_out);
    npu_score_post_expect(
        c, "write address", f->jobs, k, NPU_AT_WORD(s, wr_req_addr_o),
        (uint32_t)(s->w.t.ofm_addr + npu_score_post_walk_channel(&s->w, k) * s->w.t.ofm_cstep + size * first));
    npu_score_post_expect(c, "write bytes", f->jobs, k, NPU_AT_WORD(s, wr_req_bytes_o),
                          size * npu_score_post_walk_pixels(&s->w, k));
    npu_score_post_walk_next(&s->w, &f->job);
}

void npu_score_post_take_request(tb_check *c, post_state *s) {
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

void npu_score_post_take_beat(tb_check *c, post_state *s) {
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
        memcpy(s->beat[f->beat_in++ % BEATS], NPU_AT(s, psum_i), 16);
    }
    if ((4u >> s->w.t.wide) * ++k->word >= npu_score_post_walk_pixels(&s->w, k)) {
        npu_score_post_walk_next(&s->w, k);
        f->got++;
    }
}

/* FP32: the factors of the next channel. */
void npu_score_post_take_factors(tb_check *c, post_state *s) {
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

void npu_score_post_factors_arrive(post_state *s) {
    post_flow *f = &s->f;
    const uint32_t lane = npu_score_post_walk_channel(&s->w, &f->par) % 4;
    uint32_t *dst = s->factor[f->factors++ % FACTORS];
    dst[0] = ((const uint32_t *)NPU_AT(s, par_oscale_i))[lane];
    dst[1] = ((const uint32_t *)NPU_AT(s, par_bias_i))[lane];
    npu_score_post_walk_next(&s->w, &f->par);
    f->par_due = false;
}

/* The partial sums of this read. */
bool npu_score_post_use_beat(tb_check *c, post_state *s) {
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
__attribute__((hot)) void npu_score_post_aim_read(post_state *s) {
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
    npu_score_post_aim_read(s);
    if (t->requant) {
        npu_score_post_aim_job(s);
    }
}

void npu_score_post_read_differs(tb_check *c, const post_state *s) {
    const post_flow *f = &s->f;
    const npu_score_post_walk *k = &f->read;
    const uint64_t address = tb_get(s->ofm_addr_o);
    npu_score_post_expect(c, "read column", f->reads, k, tb_get(s->ofm_col_o), f->next.column);
    npu_score_post_expect(c, "read word", f->reads, k, s->w.t.requant ? address & ~UINT64_C(1) : address,
                          f->next.address);
    if (s->w.t.requant && s->any_factors) {
        npu_score_post_expect(c, "factor read", f->reads, k, high(s, par_re_o), 1);
        npu_score_post_expect(c, "factor address", f->reads, k, tb_get(s->par_addr_o), f->next.factors);
    }
}

void npu_score_post_settle(post_state *s) {
    post_flow *f = &s->f;
    while (f->block.left == 0 && f->left < f->full && s->ring[f->left % BLOCKS].b.pixels == 0) {
        f->left++;
    }
}

/* REQUANT: the first read of a tile. */
__attribute__((hot)) bool npu_score_post_begin_tile(tb_check *c, post_state *s) {
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

/* ---- INT16 ---- */

/* INT16: two results of a word of ofm_buf, which make half of one of send_buf, or a whole one of int64 sums. */
void npu_score_post_sums_wide(post_state *s) {
    post_flow *f = &s->f;
    const bool second = s->pairs && f->sums.word % 2 != 0;
    int64_t sum[2], psum[2];
    memcpy(sum, NPU_AT(s, ofm_data_i), sizeof sum);
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

/* REQUANT, INT16: two results of each column. */
void npu_score_post_sums_requant_wide(post_state *s, const int32_t *sum) {
    const post_sums *r = &s->f.sums;
    const uint32_t *oscale = (const uint32_t *)NPU_AT(s, par_oscale_i), *bias = (const uint32_t *)NPU_AT(s, par_bias_i);
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

/* ---- tiles, blocks, tasks ---- */

/* The next block begins. False: there is none. */
__attribute__((hot)) bool npu_score_post_begin_block(post_state *s) {
    post_flow *f = &s->f;
    npu_score_post_settle(s);
    if (f->left == f->full) {
        return false;
    }
    const post_block *k = &s->ring[f->left % BLOCKS];
    f->block = (post_words){.value = k->value, .left = k->b.pixels * k->b.bytes};
    return true;
}

void npu_score_post_take_back(tb_check *c, post_state *s) {
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

/* The unit signals that it has made all requests. */
void npu_score_post_check_wait(tb_check *c, post_state *s) {
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

/* ---- pace ---- */

/*
 * Cycles that a task takes when no other unit stalls post. FP32: four results a cycle. REQUANT: 4 * Cols results, with
 * partial sums 4, INT16: half of that, or the rate of the transposer or of the write jobs. A few more for each group,
 * and for the begin and the end of the task.
 */
uint64_t npu_score_post_task_cycles(const post_state *s) {
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

void npu_score_post_too_long(tb_check *c, const post_state *s, uint64_t now) {
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
__attribute__((hot)) bool npu_score_post_held_by_sums(post_state *s, uint64_t now) {
    post_flow *f = &s->f;
    f->limit += now - f->seen - 1;
    return (f->waits & POST_NO_SUMS) != 0 || !high(s, psum_valid_i);
}

/* What post has to wait for from the next cycle on. */
__attribute__((hot)) uint8_t npu_score_post_find_waits(post_state *s) {
    post_flow *f = &s->f;
    /* a unit without a channel in the group waits for its tiles, too */
    const npu_score_post_walk *k = f->read.end ? &f->group : &f->read;
    const bool no_sums = !k->end && !npu_score_post_sums_there(s, k);
    /* also behind the last word: the last beat of a pair belongs to the other unit, but this one reads it, too */
    const bool no_psums = s->w.t.psum_add && f->beat_in == f->beat_out && f->asked != f->got;
    return (uint8_t)((no_sums ? POST_NO_SUMS : 0) | (no_psums ? POST_NO_PSUMS : 0));
}
