/*
 * gemm.c - check of what the GEMM path does beyond its parts: tasks are done in order and not before all they write is
 * written and answered; read data, words of the layout units, flags and credits go from part to part as they should.
 * The far ends are seen through the taps of the parts.
 */
#include "score.h"
#include "num.h"

#include <inttypes.h>
#include <stdio.h>

#define TASKS 8u /* more than the queue holds, a power of two */
#define READERS 4u
#define OFM_WORDS 1024u /* sums of one column that ofm_buf holds, over 2N banks: tiles times N */

typedef struct part_sigs {
    /* layout units, ifm_buf */
    tb_sig lw_valid[2], lw_ready[2], lw_addr[2], lw_data[2], buf_we, buf_addr, buf_data;
    /* im2col, ifm_ld */
    tb_sig im_pop, ifm_all, tile_room, tile_start, mesh_en, first, last, act_valid, wait[3], loaded;
    tb_sig acc_first, acc_last, acc_valid; /* acc */
    /* par_ld; the loaders */
    tb_sig par_pop, par_free, par_words, busy[4];
} part_sigs;

typedef struct state {
    tb_sig valid, ready, requant, oscale_en, bias_en, ow, oh, oc, done, busy, rd_valid, rd_ready, rd_id, req_valid,
        req_ready, req_bytes, wr_valid, wr_ready, wr_idle, event, level, d_valid, d_ready, freed, free_tiles, tile_done,
        par_ready, post_wait;
    part_sigs p;
    struct {
        uint64_t bytes;   /* that the task writes */
        uint32_t factors; /* words of them */
    } ring[TASKS];
    uint64_t taken, finished, im_popped, par_popped;
    /* of the task that is being written: asked for; words that were asked for and have not come */
    uint64_t bytes, owed;
    uint32_t room[2];     /* tiles that may be started, as each post leaves room */
    uint32_t results;     /* of the last column in the tile that is being summed */
    uint64_t first, last; /* flags of the vectors in the mesh, newest in bit 0 */
    uint64_t words, tiles;
} state;

static int open_part(const tb_check *c, const char *kind, size_t index, const npu_score_sig *sigs, size_t count,
                     char *err, size_t err_size) {
    const tb_tap *tap = tb_taps_find(&c->all->taps, kind, index);
    if (tap == NULL) {
        snprintf(err, err_size, "%s: there is no tap of %s %zu", c->tap->path, kind, index);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (tb_tap_sig(tap, sigs[i].name, 0, sigs[i].sig, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int open_parts(const tb_check *c, part_sigs *p, char *err, size_t err_size) {
    for (size_t i = 0; i < 2; i++) {
        const npu_score_sig layout[] = {{"wr_valid_o", &p->lw_valid[i]},
                                        {"wr_ready_i", &p->lw_ready[i]},
                                        {"wr_addr_o", &p->lw_addr[i]},
                                        {"wr_data_o", &p->lw_data[i]}};
        const npu_score_sig wgt[] = {{"busy_o", &p->busy[i]}};
        if (open_part(c, "layout", i, layout, COUNT(layout), err, err_size) != 0 ||
            open_part(c, "wgt_ld", i, wgt, COUNT(wgt), err, err_size) != 0) {
            return -1;
        }
    }
    const npu_score_sig buf[] = {{"we_i", &p->buf_we}, {"waddr_i", &p->buf_addr}, {"wdata_i", &p->buf_data}};
    const npu_score_sig im[] = {
        {"task_pop_o", &p->im_pop},       {"ifm_all_i", &p->ifm_all},     {"tile_room_i", &p->tile_room},
        {"tile_start_o", &p->tile_start}, {"mesh_en_o", &p->mesh_en},     {"acc_first_o", &p->first},
        {"acc_last_o", &p->last},         {"act_valid_o", &p->act_valid}, {"wait_ifm_o", &p->wait[0]},
        {"wait_wgt_o", &p->wait[1]},      {"wait_ofm_o", &p->wait[2]}};
    const npu_score_sig ifm[] = {{"loaded_o", &p->loaded}, {"busy_o", &p->busy[2]}};
    const npu_score_sig acc[] = {{"first_i", &p->acc_first}, {"last_i", &p->acc_last}, {"valid_o", &p->acc_valid}};
    const npu_score_sig par[] = {{"task_pop_o", &p->par_pop},
                                 {"free_i", &p->par_free},
                                 {"free_words_i", &p->par_words},
                                 {"busy_o", &p->busy[3]}};
    return open_part(c, "ifm_buf", 0, buf, COUNT(buf), err, err_size) != 0 ||
                   open_part(c, "im2col", 0, im, COUNT(im), err, err_size) != 0 ||
                   open_part(c, "ifm_ld", 0, ifm, COUNT(ifm), err, err_size) != 0 ||
                   open_part(c, "acc", 0, acc, COUNT(acc), err, err_size) != 0 ||
                   open_part(c, "par_ld", 0, par, COUNT(par), err, err_size) != 0
               ? -1
               : 0;
}

static uint32_t tiles_of(const tb_check *c) {
    return OFM_WORDS / npu_score_n(c);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->taken = s->finished = s->im_popped = s->par_popped = 0;
    s->bytes = s->owed = s->first = s->last = 0;
    s->room[0] = s->room[1] = tiles_of(c);
    s->results = 0;
    c->task = 0;
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const npu_score_sig sigs[] = {
        {"task_ready_o", &s->ready},
        {"task_requant_i", &s->requant},
        {"task_oscale_en_i", &s->oscale_en},
        {"task_bias_en_i", &s->bias_en},
        {"task_ow_i", &s->ow},
        {"task_oh_i", &s->oh},
        {"task_oc_i", &s->oc},
        {"task_done_o", &s->done},
        {"event_o", &s->event},
        {"level_ofm_o", &s->level},
        {"d_valid", &s->d_valid},
        {"d_ready", &s->d_ready},
        {"tiles_free", &s->freed},
        {"free_tiles", &s->free_tiles},
        {"tile_done", &s->tile_done},
        {"par_ready", &s->par_ready},
        {"post_wait", &s->post_wait},
        {"task_valid_i", &s->valid},
        {"busy_o", &s->busy},
        {"rd_valid_i", &s->rd_valid},
        {"rd_ready_o", &s->rd_ready},
        {"rd_id_i", &s->rd_id},
        {"wr_req_valid_o", &s->req_valid},
        {"wr_req_ready_i", &s->req_ready},
        {"wr_req_bytes_o", &s->req_bytes},
        {"wr_valid_o", &s->wr_valid},
        {"wr_ready_i", &s->wr_ready},
        {"wr_idle_i", &s->wr_idle},
    };
    if (npu_score_bind(c, sigs, COUNT(sigs), err, err_size) != 0 || open_parts(c, &s->p, err, err_size) != 0) {
        return -1;
    }
    clear(c);
    return 0;
}

static uint32_t bit(tb_sig s) {
    return *(const uint8_t *)s.ptr;
}

/* ---- tasks and what they write ---- */

static void take_task(const tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c), oc = (uint32_t)tb_get(s->oc);
    const uint64_t pixels = tb_get(s->ow) * tb_get(s->oh);
    s->ring[s->taken % TASKS].bytes = tb_get(s->requant) != 0 ? pixels * tb_align_up(oc, n) : 4 * pixels * oc;
    s->ring[s->taken % TASKS].factors = (tb_get(s->oscale_en) | tb_get(s->bias_en)) != 0 ? (oc + 3) / 4 : 0;
    s->taken++;
}

static void see_writes(tb_check *c, state *s, uint32_t fire, uint32_t words) {
    for (uint32_t ch = 0; ch < 2; ch++) {
        if ((fire >> ch & 1u) != 0) {
            const uint32_t bytes = (uint32_t)(tb_get(s->req_bytes) >> 24 * ch) & 0xffffffu;
            s->bytes += bytes;
            s->owed += (bytes + 15) / 16;
            if (s->taken == s->finished || s->bytes > s->ring[s->finished % TASKS].bytes) {
                char got[40], expected[40];
                snprintf(got, sizeof got, "%" PRIu64 " bytes", s->bytes);
                snprintf(expected, sizeof expected, "%" PRIu64,
                         s->taken == s->finished ? UINT64_C(0) : s->ring[s->finished % TASKS].bytes);
                tb_check_fail(c, "bytes written", s->finished, NULL, got, expected);
            }
        }
        s->words += words >> ch & 1u;
        s->owed -= words >> ch & 1u; /* a word may come before its request is taken */
    }
}

static void see_done(tb_check *c, state *s) {
    const bool done = bit(s->done) != 0, all = s->im_popped != s->finished;
    const bool due = bit(s->post_wait) == 3 && tb_get(s->wr_idle) == 3 && all && s->taken != s->finished;
    if (done != due) {
        char where[96];
        snprintf(where, sizeof where, "post waits %u, write responses arrived %u, input given up by im2col %u",
                 bit(s->post_wait), (unsigned)tb_get(s->wr_idle), all);
        tb_check_fail(c, "done", s->finished, where, done ? "1" : "0", due ? "1" : "0");
        return;
    }
    if (!done) {
        return;
    }
    const uint64_t bytes = s->ring[s->finished % TASKS].bytes;
    if (s->bytes != bytes || s->owed != 0) {
        char got[80], expected[40];
        snprintf(got, sizeof got, "%" PRIu64 " bytes, %" PRId64 " words still to come", s->bytes, (int64_t)s->owed);
        snprintf(expected, sizeof expected, "%" PRIu64 " bytes", bytes);
        tb_check_fail(c, "bytes written", s->finished, NULL, got, expected);
    }
    if (bit(s->p.par_free) == 0 || tb_get(s->p.par_words) != s->ring[s->finished % TASKS].factors) {
        tb_check_value(c, "factors freed", s->finished, bit(s->p.par_free) != 0 ? tb_get(s->p.par_words) : 0,
                       s->ring[s->finished % TASKS].factors);
    }
    s->bytes = s->owed = 0;
    s->finished++;
    c->task++;
}

/* ---- between the parts ---- */

/* Read data of both channels: to the requester whose number they carry. */
static void see_read(tb_check *c, const state *s, uint32_t valid) {
    for (uint32_t ch = 0; ch < 2; ch++) {
        const uint32_t id = (uint32_t)(tb_get(s->rd_id) >> 3 * ch) & 7u, to = bit(s->d_valid) >> READERS * ch & 15u;
        if ((valid >> ch & 1u) == 0) {
            continue;
        }
        if (to != 1u << id) {
            tb_check_value(c, "read data to", s->words, to, UINT64_C(1) << id);
        }
        if ((bit(s->rd_ready) >> ch & 1u) != (bit(s->d_ready) >> (READERS * ch + id) & 1u)) {
            tb_check_value(c, "read data taken", s->words, bit(s->rd_ready) >> ch & 1u,
                           bit(s->d_ready) >> (READERS * ch + id) & 1u);
        }
    }
}

/* Words of the layout units: one of them enters ifm_buf. */
static void see_layout(tb_check *c, const state *s, uint32_t valid) {
    const part_sigs *p = &s->p;
    const uint32_t fire = valid & (bit(p->lw_ready[0]) | bit(p->lw_ready[1]) << 1);
    if ((fire != 1 && fire != 2) || bit(p->buf_we) == 0) {
        char where[64];
        snprintf(where, sizeof where, "words on offer 0x%x, taken 0x%x", valid, fire);
        tb_check_fail(c, "layout word", s->words, where, bit(p->buf_we) != 0 ? "a write" : "no write",
                      "one word written");
        return;
    }
    const uint32_t from = fire >> 1;
    if (tb_get(p->lw_addr[from]) != tb_get(p->buf_addr)) {
        tb_check_value(c, "layout word address", s->words, tb_get(p->buf_addr), tb_get(p->lw_addr[from]));
    }
    if (memcmp(p->buf_data.ptr, p->lw_data[from].ptr, npu_score_n(c)) != 0) {
        tb_check_fail(c, "layout word", s->words, NULL, "other data in ifm_buf", "those of the unit whose turn it is");
    }
}

/* Flags of the vectors reach acc together with the results. */
static void see_flags(tb_check *c, state *s) {
    const uint32_t late = npu_score_n(c), first = s->first >> late & 1u, last = s->last >> late & 1u;
    if (bit(s->p.acc_first) != first) {
        tb_check_value(c, "first block", s->tiles, bit(s->p.acc_first), first);
    }
    if (bit(s->p.acc_last) != last) {
        tb_check_value(c, "last block", s->tiles, bit(s->p.acc_last), last);
    }
    if (bit(s->p.mesh_en) != 0) {
        s->first = s->first << 1 | bit(s->p.first);
        s->last = s->last << 1 | bit(s->p.last);
    }
}

/* Tiles: complete ones counted for post, room of ofm_buf for im2col. */
static void see_tiles(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c), least = s->room[0] < s->room[1] ? s->room[0] : s->room[1];
    const bool sum = (tb_get(s->p.acc_valid) >> (n - 1) & 1u) != 0, whole = sum && s->results == n - 1;
    if (bit(s->tile_done) != whole) {
        tb_check_value(c, "tile", s->tiles, bit(s->tile_done), whole);
    }
    if (bit(s->p.tile_room) != (least > 0)) {
        tb_check_value(c, "tile room", s->tiles, bit(s->p.tile_room), least > 0);
    }
    if (tb_get(s->level) != tiles_of(c) - least) {
        tb_check_value(c, "tiles in use", s->tiles, tb_get(s->level), tiles_of(c) - least);
    }
    if (sum) {
        s->results = whole ? 0 : s->results + 1;
        s->tiles += whole;
    }
    const uint32_t start = bit(s->p.tile_start), freed = bit(s->freed);
    if ((start | freed) != 0) {
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t bits = s->free_tiles.width / 2; /* of each post, side by side */
            s->room[i] += ((freed >> i & 1u) != 0 ? (uint32_t)tb_get_field(s->free_tiles, bits * i, bits) : 0) - start;
        }
    }
}

/* What im2col and post learn of tasks that have arrived, and events. */
static void see_progress(tb_check *c, state *s) {
    const part_sigs *p = &s->p;
    if (bit(p->ifm_all) != ((s->im_popped - bit(p->loaded)) % 8 != 0)) {
        tb_check_value(c, "input complete", s->im_popped, bit(p->ifm_all), (s->im_popped - bit(p->loaded)) % 8 != 0);
    }
    if (bit(s->par_ready) != (s->par_popped != s->finished)) {
        tb_check_value(c, "factors complete", s->finished, bit(s->par_ready), s->par_popped != s->finished);
    }
    const uint32_t loads = bit(p->busy[0]) | bit(p->busy[1]) | bit(p->busy[2]) | bit(p->busy[3]);
    const uint32_t events =
        bit(p->act_valid) | bit(p->wait[0]) << 1 | bit(p->wait[1]) << 2 | bit(p->wait[2]) << 3 | loads << 4;
    if ((tb_get(s->event) & 31u) != events) {
        tb_check_value(c, "events", s->tiles, tb_get(s->event) & 31u, events);
    }
    if (bit(s->busy) != (s->taken != s->finished)) {
        tb_check_value(c, "busy", s->finished, bit(s->busy), s->taken != s->finished);
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    see_progress(c, s);
    see_flags(c, s);
    see_tiles(c, s);
    const uint32_t read = bit(s->rd_valid), layout = bit(s->p.lw_valid[0]) | bit(s->p.lw_valid[1]) << 1;
    if (read != 0) {
        see_read(c, s, read);
    }
    if (layout != 0) {
        see_layout(c, s, layout);
    } else if (bit(s->p.buf_we) != 0) {
        tb_check_fail(c, "layout word", s->words, NULL, "a write", "none: no word is on offer");
    }
    const uint32_t fire = bit(s->req_valid) & bit(s->req_ready), words = bit(s->wr_valid) & bit(s->wr_ready);
    if ((fire | words) != 0) {
        see_writes(c, s, fire, words);
    }
    see_done(c, s);
    s->im_popped += bit(s->p.im_pop);
    s->par_popped += bit(s->p.par_pop);
    if ((bit(s->valid) & bit(s->ready)) != 0) {
        take_task(c, s);
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->taken != s->finished) {
        char got[40], expected[24];
        snprintf(got, sizeof got, "%" PRIu64 " tasks done", s->finished);
        snprintf(expected, sizeof expected, "%" PRIu64, s->taken);
        tb_check_fail(c, "done", s->finished, NULL, got, expected);
    }
}

static const char *const inputs[] = {"layout", "ifm_ld", "wgt_ld", "par_ld", "im2col", "acc", NULL};

const tb_check_ops npu_score_gemm = {.unit = "gemm",
                                     .inputs = inputs,
                                     .state_bytes = sizeof(state),
                                     .open = open,
                                     .clear = clear,
                                     .cycle = cycle,
                                     .finish = finish};
