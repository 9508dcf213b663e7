/*
 * gemm.c - check of the GEMM path beyond its parts: tasks are done in order, and only when all their writes have
 * responses; read data, words of the layout units, flags and credits are passed between the parts correctly. The
 * receiving ends are observed through the taps of the parts.
 */
#include "score.h"
#include "num.h"

#include <inttypes.h>

#define TASKS 8u /* more than the queue holds, a power of two */
#define READERS 4u
#define OFM_WORDS 1024u /* sums of one column that ofm_buf holds, over 2N banks: tiles times N */

/* Signals of the parts. */
#define LAYOUT_PORTS wr_valid_o, wr_ready_i, wr_addr_o, wr_data_o
#define WGT_LD_PORTS busy_o
#define IFM_BUF_PORTS we_i, waddr_i, wdata_i
#define IM2COL_PORTS                                                                                                   \
    task_wide_i, task_pop_o, ifm_all_i, tile_room_i, tile_start_o, mesh_en_o, acc_first_o, acc_last_o, act_valid_o,    \
        act_wide_o, wait_ifm_o, wait_wgt_o, wait_ofm_o
#define IFM_LD_PORTS loaded_o, busy_o
#define ACC_PORTS first_i, last_i, wide_i, valid_o
#define PAR_LD_PORTS task_pop_o, free_i, free_words_i, busy_o
typedef struct parts {
    TB_SIGNALS(layout[2], LAYOUT_PORTS);
    TB_SIGNALS(wgt_ld[2], WGT_LD_PORTS);
    TB_SIGNALS(ifm_buf, IFM_BUF_PORTS);
    TB_SIGNALS(im2col, IM2COL_PORTS);
    TB_SIGNALS(ifm_ld, IFM_LD_PORTS);
    TB_SIGNALS(acc, ACC_PORTS);
    TB_SIGNALS(par_ld, PAR_LD_PORTS);
} parts;

#define PORTS                                                                                                          \
    task_ready_o, task_requant_i, task_wide_i, task_raw_out_i, task_oscale_en_i, task_bias_en_i, task_ow_i, task_oh_i, \
        task_oc_i, task_done_o, event_o, level_ofm_o, d_valid, d_ready, tiles_free, free_tiles, tile_done, par_ready,  \
        post_wait, task_valid_i, busy_o, rd_valid_i, rd_ready_o, rd_id_i, wr_req_valid_o, wr_req_ready_i,              \
        wr_req_bytes_o, wr_valid_o, wr_ready_i, wr_idle_i
typedef struct state {
    TB_PORTS(ports, PORTS);
    parts p;
    struct {
        uint64_t bytes;   /* that the task writes */
        uint32_t factors; /* words of them */
    } ring[TASKS];
    uint64_t taken, finished, im_popped, par_popped;
    /* of the task that is being written: requested; words that were requested and have not arrived */
    uint64_t bytes, owed;
    uint32_t room[2];           /* tiles that may be started, by the space that each post has released */
    bool int16;                 /* without, the flag is random in an empty queue, and the design ignores it */
    uint32_t results;           /* of the last column in the tile that is being summed */
    uint64_t first, last, wide; /* flags of the vectors in the mesh, newest in bit 0 */
    uint64_t words, tiles;
} state;

static int open_parts(const tb_check *c, parts *p, char *err, size_t err_size) {
    const struct {
        const char *kind;
        size_t index;
        tb_ports ports;
    } all[] = {
        {"layout", 0, TB_PORTS_OF(p->layout[0], LAYOUT_PORTS)}, {"layout", 1, TB_PORTS_OF(p->layout[1], LAYOUT_PORTS)},
        {"wgt_ld", 0, TB_PORTS_OF(p->wgt_ld[0], WGT_LD_PORTS)}, {"wgt_ld", 1, TB_PORTS_OF(p->wgt_ld[1], WGT_LD_PORTS)},
        {"ifm_buf", 0, TB_PORTS_OF(p->ifm_buf, IFM_BUF_PORTS)}, {"im2col", 0, TB_PORTS_OF(p->im2col, IM2COL_PORTS)},
        {"ifm_ld", 0, TB_PORTS_OF(p->ifm_ld, IFM_LD_PORTS)},    {"acc", 0, TB_PORTS_OF(p->acc, ACC_PORTS)},
        {"par_ld", 0, TB_PORTS_OF(p->par_ld, PAR_LD_PORTS)}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (tb_taps_ports(&c->all->taps, all[i].kind, all[i].index, all[i].ports, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

static uint32_t tiles_of(const tb_check *c) {
    return OFM_WORDS / npu_score_n(c);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->taken = s->finished = s->im_popped = s->par_popped = 0;
    s->bytes = s->owed = s->first = s->last = s->wide = 0;
    s->room[0] = s->room[1] = tiles_of(c);
    s->results = 0;
    c->task = 0;
}

/*
 * The check compares signals with each other and with what it has counted. As long as no compared signal changes and
 * nothing is counted, the comparisons of the cycle before hold.
 */
static int open_wakes(tb_check *c, const state *s, char *err, size_t err_size) {
    const parts *p = &s->p;
    /* transfers, starts and ends */
    const tb_sig set[] = {s->task_valid_i, s->rd_valid_i,        s->wr_req_valid_o,       s->wr_valid_o,
                          s->tiles_free,   s->task_done_o,       p->layout[0].wr_valid_o, p->layout[1].wr_valid_o,
                          p->ifm_buf.we_i, p->im2col.task_pop_o, p->im2col.tile_start_o,  p->par_ld.task_pop_o,
                          p->acc.valid_o};
    const tb_sig change[] = {s->event_o,
                             s->level_ofm_o,
                             s->tile_done,
                             s->par_ready,
                             s->post_wait,
                             s->busy_o,
                             s->wr_idle_i,
                             p->wgt_ld[0].busy_o,
                             p->wgt_ld[1].busy_o,
                             p->ifm_ld.busy_o,
                             p->ifm_ld.loaded_o,
                             p->par_ld.busy_o,
                             p->im2col.task_wide_i,
                             p->im2col.ifm_all_i,
                             p->im2col.tile_room_i,
                             p->im2col.mesh_en_o,
                             p->im2col.acc_first_o,
                             p->im2col.acc_last_o,
                             p->im2col.act_valid_o,
                             p->im2col.act_wide_o,
                             p->im2col.wait_ifm_o,
                             p->im2col.wait_wgt_o,
                             p->im2col.wait_ofm_o,
                             p->acc.first_i,
                             p->acc.last_i,
                             p->acc.wide_i};
    int status = 0;
    for (size_t i = 0; i < sizeof set / sizeof *set && status == 0; i++) {
        status = tb_check_wake(c, set[i], err, err_size);
    }
    for (size_t i = 0; i < sizeof change / sizeof *change && status == 0; i++) {
        status = tb_check_watch(c, change[i], err, err_size);
    }
    return status;
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (open_parts(c, &s->p, err, err_size) != 0) {
        return -1;
    }
    clear(c);
    s->int16 = npu_score_int16(c);
    return open_wakes(c, s, err, err_size);
}

/* ---- tasks and their writes ---- */

static void take_task(const tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c), oc = (uint32_t)tb_get(s->task_oc_i);
    const uint32_t wide = (uint32_t)tb_get(s->task_wide_i);
    const uint64_t pixels = tb_get(s->task_ow_i) * tb_get(s->task_oh_i);
    s->ring[s->taken % TASKS].bytes = tb_get(s->task_requant_i) != 0
                                          ? (pixels * tb_align_up(oc, n)) << wide
                                          : (4 * pixels * oc) << (wide & (uint32_t)tb_get(s->task_raw_out_i));
    s->ring[s->taken % TASKS].factors =
        (tb_get(s->task_oscale_en_i) | tb_get(s->task_bias_en_i)) != 0 ? (oc + 3) / 4 : 0;
    s->taken++;
}

static void see_writes(tb_check *c, state *s, uint32_t fire, uint32_t words) {
    for (uint32_t ch = 0; ch < 2; ch++) {
        if ((fire >> ch & 1u) != 0) {
            const uint32_t bytes = (uint32_t)(tb_get(s->wr_req_bytes_o) >> 24 * ch) & 0xffffffu;
            s->bytes += bytes;
            s->owed += (bytes + 15) / 16;
            if (s->taken == s->finished || s->bytes > s->ring[s->finished % TASKS].bytes) {
                tb_check_failf(c, "bytes written", s->finished, "%" PRIu64 " bytes|%" PRIu64, s->bytes,
                               s->taken == s->finished ? UINT64_C(0) : s->ring[s->finished % TASKS].bytes);
            }
        }
        s->words += words >> ch & 1u;
        s->owed -= words >> ch & 1u; /* a word may arrive before its request is accepted */
    }
}

static void see_done(tb_check *c, state *s) {
    const bool done = npu_score_b(s->task_done_o) != 0, all = s->im_popped != s->finished;
    const bool due = npu_score_b(s->post_wait) == 3 && tb_get(s->wr_idle_i) == 3 && all && s->taken != s->finished;
    if (done != due) {
        tb_check_failf(
            c, "done", s->finished, "post waits %u, write responses arrived %u, input released by im2col %u|%s|%s",
            npu_score_b(s->post_wait), (unsigned)tb_get(s->wr_idle_i), all, done ? "1" : "0", due ? "1" : "0");
        return;
    }
    if (!done) {
        return;
    }
    const uint64_t bytes = s->ring[s->finished % TASKS].bytes;
    if (s->bytes != bytes || s->owed != 0) {
        tb_check_failf(c, "bytes written", s->finished,
                       "%" PRIu64 " bytes, %" PRId64 " words still to come|%" PRIu64 " bytes", s->bytes,
                       (int64_t)s->owed, bytes);
    }
    if (npu_score_b(s->p.par_ld.free_i) == 0 ||
        tb_get(s->p.par_ld.free_words_i) != s->ring[s->finished % TASKS].factors) {
        tb_check_value(c, "factors freed", s->finished,
                       npu_score_b(s->p.par_ld.free_i) != 0 ? tb_get(s->p.par_ld.free_words_i) : 0,
                       s->ring[s->finished % TASKS].factors);
    }
    s->bytes = s->owed = 0;
    s->finished++;
    c->task++;
}

/* ---- between the parts ---- */

/* Read data of both channels must go to the requester with their number. */
static void see_read(tb_check *c, const state *s, uint32_t valid) {
    for (uint32_t ch = 0; ch < 2; ch++) {
        const uint32_t id = (uint32_t)(tb_get(s->rd_id_i) >> 3 * ch) & 7u,
                       to = npu_score_b(s->d_valid) >> READERS * ch & 15u;
        if ((valid >> ch & 1u) == 0) {
            continue;
        }
        if (to != 1u << id) {
            tb_check_value(c, "read data to", s->words, to, UINT64_C(1) << id);
        }
        if ((npu_score_b(s->rd_ready_o) >> ch & 1u) != (npu_score_b(s->d_ready) >> (READERS * ch + id) & 1u)) {
            tb_check_value(c, "read data taken", s->words, npu_score_b(s->rd_ready_o) >> ch & 1u,
                           npu_score_b(s->d_ready) >> (READERS * ch + id) & 1u);
        }
    }
}

/* Words of the layout units: one of them enters ifm_buf. */
static void see_layout(tb_check *c, const state *s, uint32_t valid) {
    const parts *p = &s->p;
    const uint32_t fire = valid & (npu_score_b(p->layout[0].wr_ready_i) | npu_score_b(p->layout[1].wr_ready_i) << 1);
    if ((fire != 1 && fire != 2) || npu_score_b(p->ifm_buf.we_i) == 0) {
        tb_check_failf(c, "layout word", s->words, "words on offer 0x%x, taken 0x%x|%s|one word written", valid, fire,
                       npu_score_b(p->ifm_buf.we_i) != 0 ? "a write" : "no write");
        return;
    }
    const uint32_t from = fire >> 1;
    if (tb_get(p->layout[from].wr_addr_o) != tb_get(p->ifm_buf.waddr_i)) {
        tb_check_value(c, "layout word address", s->words, tb_get(p->ifm_buf.waddr_i),
                       tb_get(p->layout[from].wr_addr_o));
    }
    if (memcmp(p->ifm_buf.wdata_i.ptr, p->layout[from].wr_data_o.ptr, npu_score_n(c)) != 0) {
        tb_check_fail(c, "layout word", s->words, NULL, "other data in ifm_buf", "those of the unit whose turn it is");
    }
}

/* Are all these flags equal, the one that reaches acc, the one after it and all newer ones? */
static bool settled(uint64_t flags, uint32_t late) {
    const uint64_t all = (UINT64_C(4) << late) - 1, some = flags & all;
    return some == 0 || some == all;
}

/* Flags of the vectors must reach acc together with the results. False: they are as in the cycle before. */
static bool see_flags(tb_check *c, state *s) {
    const uint32_t late = npu_score_n(c), first = s->first >> late & 1u, last = s->last >> late & 1u;
    if (npu_score_b(s->p.acc.first_i) != first) {
        tb_check_value(c, "first block", s->tiles, npu_score_b(s->p.acc.first_i), first);
    }
    if (npu_score_b(s->p.acc.last_i) != last) {
        tb_check_value(c, "last block", s->tiles, npu_score_b(s->p.acc.last_i), last);
    }
    if (npu_score_b(s->p.acc.wide_i) != (s->wide >> late & 1u)) {
        tb_check_value(c, "INT16", s->tiles, npu_score_b(s->p.acc.wide_i), s->wide >> late & 1u);
    }
    if (npu_score_b(s->p.im2col.mesh_en_o) == 0) {
        return false;
    }
    s->wide = s->wide << 1 | npu_score_b(s->p.im2col.act_wide_o);
    s->first = s->first << 1 | npu_score_b(s->p.im2col.acc_first_o);
    s->last = s->last << 1 | npu_score_b(s->p.im2col.acc_last_o);
    return !settled(s->wide, late) || !settled(s->first, late) || !settled(s->last, late);
}

/* Tiles: complete ones counted for post, free space of ofm_buf for im2col. True: something was counted. */
static bool see_tiles(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c), least = s->room[0] < s->room[1] ? s->room[0] : s->room[1];
    const bool sum = (tb_get(s->p.acc.valid_o) >> (n - 1) & 1u) != 0, whole = sum && s->results == n - 1;
    if (npu_score_b(s->tile_done) != whole) {
        tb_check_value(c, "tile", s->tiles, npu_score_b(s->tile_done), whole);
    }
    const uint32_t wide = s->int16 ? npu_score_b(s->p.im2col.task_wide_i) : 0; /* a tile of INT16 is two */
    if (npu_score_b(s->p.im2col.tile_room_i) != (least > wide)) {
        tb_check_value(c, "tile room", s->tiles, npu_score_b(s->p.im2col.tile_room_i), least > wide);
    }
    if (tb_get(s->level_ofm_o) != tiles_of(c) - least) {
        tb_check_value(c, "tiles in use", s->tiles, tb_get(s->level_ofm_o), tiles_of(c) - least);
    }
    if (sum) {
        s->results = whole ? 0 : s->results + 1;
        s->tiles += whole;
    }
    const uint32_t start = npu_score_b(s->p.im2col.tile_start_o) << wide, freed = npu_score_b(s->tiles_free);
    if ((start | freed) != 0) {
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t bits = s->free_tiles.width / 2; /* of each post, side by side */
            s->room[i] += ((freed >> i & 1u) != 0 ? (uint32_t)tb_get_field(s->free_tiles, bits * i, bits) : 0) - start;
        }
    }
    return sum || (start | freed) != 0;
}

/* The numbers of arrived tasks that im2col and post get, and events. */
static void see_progress(tb_check *c, state *s) {
    const parts *p = &s->p;
    if (npu_score_b(p->im2col.ifm_all_i) != ((s->im_popped - npu_score_b(p->ifm_ld.loaded_o)) % 8 != 0)) {
        tb_check_value(c, "input complete", s->im_popped, npu_score_b(p->im2col.ifm_all_i),
                       (s->im_popped - npu_score_b(p->ifm_ld.loaded_o)) % 8 != 0);
    }
    if (npu_score_b(s->par_ready) != (s->par_popped != s->finished)) {
        tb_check_value(c, "factors complete", s->finished, npu_score_b(s->par_ready), s->par_popped != s->finished);
    }
    const uint32_t loads = npu_score_b(p->wgt_ld[0].busy_o) | npu_score_b(p->wgt_ld[1].busy_o) |
                           npu_score_b(p->ifm_ld.busy_o) | npu_score_b(p->par_ld.busy_o);
    const uint32_t events = npu_score_b(p->im2col.act_valid_o) | npu_score_b(p->im2col.wait_ifm_o) << 1 |
                            npu_score_b(p->im2col.wait_wgt_o) << 2 | npu_score_b(p->im2col.wait_ofm_o) << 3 |
                            loads << 4;
    if ((tb_get(s->event_o) & 31u) != events) {
        tb_check_value(c, "events", s->tiles, tb_get(s->event_o) & 31u, events);
    }
    if (npu_score_b(s->busy_o) != (s->taken != s->finished)) {
        tb_check_value(c, "busy", s->finished, npu_score_b(s->busy_o), s->taken != s->finished);
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    see_progress(c, s);
    const bool shifted = see_flags(c, s), counted = see_tiles(c, s);
    const uint32_t read = npu_score_b(s->rd_valid_i),
                   layout = npu_score_b(s->p.layout[0].wr_valid_o) | npu_score_b(s->p.layout[1].wr_valid_o) << 1;
    if (read != 0) {
        see_read(c, s, read);
    }
    if (layout != 0) {
        see_layout(c, s, layout);
    } else if (npu_score_b(s->p.ifm_buf.we_i) != 0) {
        tb_check_fail(c, "layout word", s->words, NULL, "a write", "none: no word is on offer");
    }
    const uint32_t fire = npu_score_b(s->wr_req_valid_o) & npu_score_b(s->wr_req_ready_i),
                   words = npu_score_b(s->wr_valid_o) & npu_score_b(s->wr_ready_i);
    if ((fire | words) != 0) {
        see_writes(c, s, fire, words);
    }
    see_done(c, s);
    const uint32_t popped = npu_score_b(s->p.im2col.task_pop_o), factors = npu_score_b(s->p.par_ld.task_pop_o),
                   task = npu_score_b(s->task_valid_i) & npu_score_b(s->task_ready_o);
    s->im_popped += popped;
    s->par_popped += factors;
    if (task != 0) {
        take_task(c, s);
    }
    /* what was counted now is compared in the next cycle */
    c->again = shifted || counted || (popped | factors | task | npu_score_b(s->task_done_o)) != 0;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->taken != s->finished) {
        tb_check_failf(c, "done", s->finished, "%" PRIu64 " tasks done|%" PRIu64, s->finished, s->taken);
    }
}

const tb_check_ops npu_score_gemm = {
    .unit = "gemm",
    .inputs = (const char *const[]){"layout", "ifm_ld", "wgt_ld", "par_ld", "im2col", "acc", NULL},
    TB_STATE(state, PORTS),
    .open = open,
    .clear = clear,
    .cycle = cycle,
    .finish = finish};
