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
#define FLAGS_KEPT 64u  /* more vectors than the mesh holds, a power of two */
#define OFM_WORDS 1024u /* sums of one column that ofm_buf holds, over 2N banks: tiles times N */

/* Signals of the parts. */
#define WGT_LD_PORTS busy_o
#define IM2COL_PORTS                                                                                                   \
    task_wide_i, task_pop_o, ifm_all_i, tile_room_i, tile_start_o, mesh_en_o, acc_first_o, acc_last_o, act_valid_o,    \
        act_wide_o, wait_ifm_o, wait_wgt_o, wait_ofm_o
#define IFM_LD_PORTS loaded_o, busy_o
#define ACC_PORTS first_i, last_i, wide_i, valid_o
#define PAR_LD_PORTS task_pop_o, free_i, free_words_i, busy_o
typedef struct parts {
    TB_SIGNALS(wgt_ld[2], WGT_LD_PORTS);
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
/* Signals of one bit that are compared in every cycle: FLAGS_OF_VECTOR is the first one of three. */
#define TILE_ROOM 0x1u
#define TILE_DONE 0x2u
#define BUSY 0x20u
#define PAR_READY 0x40u
#define IFM_ALL 0x80u
#define FLAGS_OF_VECTOR 2u /* three flags of a vector: first and last block, INT16 */

/* Signals that are looked at in every cycle, side by side: of up to 8 bits, and of 9 to 16. */
typedef struct wires {
    npu_score_row flags, events; /* events: four of loads, vectors, and three of waits */
    const uint8_t *sum;          /* byte of acc.valid_o that has the last column, */
    uint32_t column;             /* its bit there */
    const uint8_t *wide, *loaded, *start, *tiles_free, *mesh_en, *vector[3];
    const void *event_o, *level_ofm;
    const uint8_t *rd_valid, *rd_ready, *rd_id, *d_valid, *d_ready;
    const uint8_t *req_valid, *req_ready, *wr_valid, *wr_ready;
    const uint8_t *post_wait, *wr_idle, *done, *im_pop, *par_pop, *task_valid, *task_ready;
} wires;

typedef struct state {
    /* ---- members used in every cycle ---- */
    wires w;
    uint32_t n, used, least; /* tiles in use; the smaller room */
    uint32_t counted;        /* flags that follow from the counts of tasks */
    uint32_t results;        /* of the last column in the tile that is being summed */
    bool may_end;            /* the input of the oldest task has been released */
    bool int16;              /* without, the flag is random in an empty queue, and the design ignores it */
    uint32_t pushed, change; /* vectors that entered the mesh; the last one whose flags differed from the ones before */
    uint32_t flags;          /* of the newest one */
    uint8_t passed[FLAGS_KEPT];
    /* of the task that is being written: requested; words that were requested and have not arrived */
    uint64_t bytes, owed;
    int64_t limit; /* of `bytes`; -1: no task */
    uint64_t taken, finished, im_popped, par_popped;
    uint64_t words, tiles;
    TB_PORTS(ports, PORTS);
    parts p;
    uint32_t room[2]; /* tiles that may be started, by the space that each post has released */
    struct {
        uint64_t bytes;   /* that the task writes */
        uint32_t factors; /* words of them */
    } ring[TASKS];
} state;

static int open_parts(const tb_check *c, parts *p, char *err, size_t err_size) {
    const struct {
        const char *kind;
        size_t index;
        tb_ports ports;
    } all[] = {{"wgt_ld", 0, TB_PORTS_OF(p->wgt_ld[0], WGT_LD_PORTS)},
               {"wgt_ld", 1, TB_PORTS_OF(p->wgt_ld[1], WGT_LD_PORTS)},
               {"im2col", 0, TB_PORTS_OF(p->im2col, IM2COL_PORTS)},
               {"ifm_ld", 0, TB_PORTS_OF(p->ifm_ld, IFM_LD_PORTS)},
               {"acc", 0, TB_PORTS_OF(p->acc, ACC_PORTS)},
               {"par_ld", 0, TB_PORTS_OF(p->par_ld, PAR_LD_PORTS)}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (tb_taps_ports(&c->all->taps, all[i].kind, all[i].index, all[i].ports, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

/* What follows from the counts of tasks. */
__attribute__((noinline)) static void recount(state *s) {
    const bool task = s->taken != s->finished;
    s->counted = (s->par_popped != s->finished ? PAR_READY : 0) | (task ? BUSY : 0);
    s->may_end = task && s->im_popped != s->finished;
    s->limit = task ? (int64_t)s->ring[s->finished % TASKS].bytes : -1;
}

static void set_room(state *s, uint32_t first, uint32_t second) {
    s->room[0] = first;
    s->room[1] = second;
    s->least = first < second ? first : second;
    s->used = OFM_WORDS / s->n - s->least;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->taken = s->finished = s->im_popped = s->par_popped = 0;
    s->bytes = s->owed = 0;
    s->results = 0;
    memset(s->passed, 0, sizeof s->passed);
    s->flags = s->pushed = 0;
    s->change = UINT32_MAX / 2; /* long ago */
    set_room(s, OFM_WORDS / s->n, OFM_WORDS / s->n);
    recount(s);
    c->task = 0;
}

/*
 * The check compares signals with each other and with what it has counted. As long as no compared signal changes and
 * nothing is counted, the comparisons of the cycle before hold.
 */
static int open_wakes(tb_check *c, const state *s, char *err, size_t err_size) {
    const parts *p = &s->p;
    /* transfers, starts and ends */
    const tb_sig set[] = {s->task_valid_i,        s->wr_req_valid_o,    s->wr_valid_o,
                          s->tiles_free,          s->task_done_o,       p->im2col.task_pop_o,
                          p->im2col.tile_start_o, p->par_ld.task_pop_o, p->acc.valid_o};
    const tb_sig change[] = {s->rd_valid_i,
                             s->rd_ready_o,
                             s->rd_id_i,
                             s->d_valid,
                             s->d_ready,
                             s->event_o,
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
    return npu_score_wakes(c, set, sizeof set / sizeof *set, change, sizeof change / sizeof *change, err, err_size);
}

static const uint8_t *at(tb_sig s) {
    return (const uint8_t *)s.ptr;
}

static void open_wires(state *s) {
    const parts *p = &s->p;
    const tb_sig flags[8] = {p->im2col.tile_room_i, s->tile_done, p->acc.wide_i, p->acc.last_i,
                             p->acc.first_i,        s->busy_o,    s->par_ready,  p->im2col.ifm_all_i};
    const tb_sig events[8] = {p->wgt_ld[0].busy_o,   p->wgt_ld[1].busy_o,  p->ifm_ld.busy_o,     p->par_ld.busy_o,
                              p->im2col.act_valid_o, p->im2col.wait_ifm_o, p->im2col.wait_wgt_o, p->im2col.wait_ofm_o};
    s->w = (wires){
        .sum = at(p->acc.valid_o) + (s->n - 1) / 8,
        .column = (s->n - 1) % 8,
        .wide = at(p->im2col.task_wide_i),
        .loaded = at(p->ifm_ld.loaded_o),
        .start = at(p->im2col.tile_start_o),
        .tiles_free = at(s->tiles_free),
        .mesh_en = at(p->im2col.mesh_en_o),
        .vector = {at(p->im2col.acc_first_o), at(p->im2col.acc_last_o), at(p->im2col.act_wide_o)},
        .event_o = s->event_o.ptr,
        .level_ofm = s->level_ofm_o.ptr,
        .rd_valid = at(s->rd_valid_i),
        .rd_ready = at(s->rd_ready_o),
        .rd_id = at(s->rd_id_i),
        .d_valid = at(s->d_valid),
        .d_ready = at(s->d_ready),
        .req_valid = at(s->wr_req_valid_o),
        .req_ready = at(s->wr_req_ready_i),
        .wr_valid = at(s->wr_valid_o),
        .wr_ready = at(s->wr_ready_i),
        .post_wait = at(s->post_wait),
        .wr_idle = at(s->wr_idle_i),
        .done = at(s->task_done_o),
        .im_pop = at(p->im2col.task_pop_o),
        .par_pop = at(p->par_ld.task_pop_o),
        .task_valid = at(s->task_valid_i),
        .task_ready = at(s->task_ready_o),
    };
    npu_score_row_open(&s->w.flags, flags);
    npu_score_row_open(&s->w.events, events);
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (open_parts(c, &s->p, err, err_size) != 0 || npu_score_ifm_words(c, err, err_size) != 0) {
        return -1;
    }
    s->n = npu_score_n(c);
    s->int16 = npu_score_int16(c);
    open_wires(s);
    clear(c);
    return open_wakes(c, s, err, err_size);
}

/* ---- tasks and their writes ---- */

static void take_task(state *s) {
    const uint32_t n = s->n, oc = (uint32_t)tb_get(s->task_oc_i);
    const uint32_t wide = (uint32_t)tb_get(s->task_wide_i);
    const uint64_t pixels = tb_get(s->task_ow_i) * tb_get(s->task_oh_i);
    s->ring[s->taken % TASKS].bytes = tb_get(s->task_requant_i) != 0
                                          ? (pixels * tb_align_up(oc, n)) << wide
                                          : (4 * pixels * oc) << (wide & (uint32_t)tb_get(s->task_raw_out_i));
    s->ring[s->taken % TASKS].factors =
        (tb_get(s->task_oscale_en_i) | tb_get(s->task_bias_en_i)) != 0 ? (oc + 3) / 4 : 0;
    s->taken++;
}

__attribute__((cold)) static void too_many(tb_check *c, const state *s, uint64_t bytes) {
    tb_check_failf(c, "bytes written", s->finished, "%" PRIu64 " bytes|%" PRIu64, bytes,
                   s->limit < 0 ? UINT64_C(0) : (uint64_t)s->limit);
}

/* A bit for each channel that accepts a request, and a word. */
static inline void see_writes(tb_check *c, state *s, uint32_t fire, uint32_t words) {
    if (fire != 0) {
        const uint64_t bytes = tb_get(s->wr_req_bytes_o);
        const uint32_t first = fire & 1u ? bytes & 0xffffffu : 0, second = fire & 2u ? bytes >> 24 & 0xffffffu : 0;
        s->bytes += first + second;
        s->owed += (first + 15) / 16 + (second + 15) / 16;
        if ((int64_t)s->bytes > s->limit) {
            const uint64_t before = s->bytes - second;
            too_many(c, s, (fire & 1u) != 0 && (int64_t)before > s->limit ? before : s->bytes);
        }
    }
    const uint32_t count = (words & 1u) + (words >> 1);
    s->words += count;
    s->owed -= count; /* a word may arrive before its request is accepted */
}

__attribute__((cold)) static void wrong_done(tb_check *c, const state *s, bool done) {
    tb_check_failf(c, "done", s->finished,
                   "post waits %u, write responses arrived %u, input released by im2col %u|%s|%s",
                   npu_score_b(s->post_wait), (unsigned)tb_get(s->wr_idle_i), s->im_popped != s->finished,
                   done ? "1" : "0", done ? "0" : "1");
}

__attribute__((noinline)) static void see_end(tb_check *c, state *s) {
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

static inline void see_done(tb_check *c, state *s, uint32_t done) {
    const uint32_t due = s->may_end && (*s->w.post_wait & *s->w.wr_idle) == 3;
    if (done != due) {
        wrong_done(c, s, done);
    } else if (done) {
        see_end(c, s);
    }
}

/* ---- between the parts ---- */

__attribute__((cold)) static void wrong_read(tb_check *c, const state *s, uint32_t valid) {
    for (uint32_t ch = 0; ch < 2; ch++) {
        const uint32_t id = npu_score_b(s->rd_id_i) >> 3 * ch & 7u, to = npu_score_b(s->d_valid) >> READERS * ch & 15u;
        if ((valid >> ch & 1u) != 0) {
            tb_check_value(c, "read data to", s->words, to, UINT64_C(1) << id);
            tb_check_value(c, "read data taken", s->words, npu_score_b(s->rd_ready_o) >> ch & 1u,
                           npu_score_b(s->d_ready) >> (READERS * ch + id) & 1u);
        }
    }
}

/* Read data of both channels must go to the requester with their number, and be taken when it takes them. */
static inline void see_read(tb_check *c, const state *s, uint32_t valid) {
    const wires *w = &s->w;
    const uint32_t first = *w->rd_id & 7u, second = *w->rd_id >> 3, to = *w->d_valid, ready = *w->d_ready,
                   taken = *w->rd_ready;
    const uint32_t wrong0 = ((to & 15u) ^ 1u << first) | ((taken ^ ready >> first) & 1u);
    const uint32_t wrong1 = (to >> READERS ^ 1u << second) | ((taken >> 1 ^ ready >> (READERS + second)) & 1u);
    if (((valid & 1u) != 0 && wrong0 != 0) || ((valid & 2u) != 0 && wrong1 != 0)) {
        wrong_read(c, s, valid);
    }
}

void npu_score_gemm_word(tb_check *c, uint32_t valid, uint32_t fire, bool written, uint32_t got, uint32_t expected) {
    const state *s = (const state *)c->state;
    if (npu_score_b(c->reset_n) == 0) {
        return;
    }
    if (valid == 0) {
        tb_check_fail(c, "layout word", s->words, NULL, "a write", "none: no word is on offer");
    } else if ((fire != 1 && fire != 2) || !written) {
        tb_check_failf(c, "layout word", s->words, "words on offer 0x%x, taken 0x%x|%s|one word written", valid, fire,
                       written ? "a write" : "no write");
    } else if (got != expected) {
        tb_check_value(c, "layout word address", s->words, got, expected);
    } else {
        tb_check_fail(c, "layout word", s->words, NULL, "other data in ifm_buf", "those of the unit whose turn it is");
    }
}

/*
 * Flags of the vectors must reach acc together with the results. This notes those of a vector that enters the mesh.
 * True: the flag that reaches acc, the one after it and all newer ones are not equal.
 */
static inline bool see_vector(state *s) {
    uint32_t flags = 0;
    for (uint32_t i = 0; i < 3; i++) {
        flags = 2 * flags + *s->w.vector[i];
    }
    if (flags != s->flags) {
        s->flags = flags;
        s->change = s->pushed;
    }
    s->passed[s->pushed++ % FLAGS_KEPT] = (uint8_t)flags;
    return s->pushed - s->change < s->n + 2;
}

/* Tiles start, and post frees space of ofm_buf. */
__attribute__((noinline, hot)) static void move_room(state *s, uint32_t start, uint32_t freed) {
    uint32_t room[2];
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t bits = s->free_tiles.width / 2; /* of each post, side by side */
        room[i] =
            s->room[i] + ((freed >> i & 1u) != 0 ? (uint32_t)tb_get_field(s->free_tiles, bits * i, bits) : 0) - start;
    }
    set_room(s, room[0], room[1]);
}

static void check_flag(tb_check *c, const char *stream, uint64_t transaction, uint32_t got, uint32_t want,
                       uint32_t bit) {
    tb_check_value(c, stream, transaction, (got & bit) != 0, (want & bit) != 0);
}

/* A flag, an event or the number of tiles in use differs. */
__attribute__((cold)) static void wrong_flag(tb_check *c, const state *s, uint32_t got, uint32_t want,
                                             uint32_t events) {
    check_flag(c, "input complete", s->im_popped, got, want, IFM_ALL);
    check_flag(c, "factors complete", s->finished, got, want, PAR_READY);
    tb_check_value(c, "events", s->tiles, tb_get(s->event_o) & 31u, events);
    check_flag(c, "busy", s->finished, got, want, BUSY);
    check_flag(c, "first block", s->tiles, got, want, 4u << FLAGS_OF_VECTOR);
    check_flag(c, "last block", s->tiles, got, want, 2u << FLAGS_OF_VECTOR);
    check_flag(c, "INT16", s->tiles, got, want, 1u << FLAGS_OF_VECTOR);
    check_flag(c, "tile", s->tiles, got, want, TILE_DONE);
    check_flag(c, "tile room", s->tiles, got, want, TILE_ROOM);
    tb_check_value(c, "tiles in use", s->tiles, tb_get(s->level_ofm_o), s->used);
}

/*
 * The numbers of arrived tasks that im2col and post get, events, tiles: complete ones counted for post, free space of
 * ofm_buf for im2col. What is counted here is compared in the next cycle.
 */
static inline void see_flags(tb_check *c, state *s) {
    const wires *w = &s->w;
    const uint32_t wide = s->int16 ? *w->wide : 0; /* a tile of INT16 is two */
    const bool sum = (*w->sum >> w->column & 1u) != 0, whole = sum && s->results == s->n - 1;
    const uint32_t got = (uint32_t)npu_score_row_bits(&w->flags), row = (uint32_t)npu_score_row_bits(&w->events);
    const uint32_t events = row >> 4 | (uint32_t)((row & 15u) != 0) << 4; /* some part loads */
    const uint32_t want = s->counted | (((uint32_t)s->im_popped - *w->loaded) % 8 != 0) * IFM_ALL |
                          (uint32_t)s->passed[(s->pushed - 1 - s->n) % FLAGS_KEPT] << FLAGS_OF_VECTOR |
                          whole * TILE_DONE | (s->least > wide) * TILE_ROOM;
    if (((got ^ want) | ((npu_score_half(w->event_o) & 31u) ^ events) | (npu_score_half(w->level_ofm) ^ s->used)) !=
        0) {
        wrong_flag(c, s, got, want, events);
    }
    if (sum) {
        s->results = whole ? 0 : s->results + 1;
        s->tiles += whole;
        c->again = true;
    }
    const uint32_t start = (uint32_t)*w->start << wide, freed = *w->tiles_free;
    if ((start | freed) != 0) {
        move_room(s, start, freed);
        c->again = true;
    }
}

/* Tasks enter and leave the parts. */
__attribute__((noinline)) static void move_tasks(tb_check *c, state *s) {
    s->im_popped += *s->w.im_pop;
    s->par_popped += *s->w.par_pop;
    if ((*s->w.task_valid & *s->w.task_ready) != 0) {
        take_task(s);
    }
    recount(s);
    c->again = true;
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const wires *w = &s->w;
    see_flags(c, s);
    if (*w->mesh_en != 0 && see_vector(s)) {
        c->again = true;
    }
    const uint32_t read = *w->rd_valid;
    if (read != 0) {
        see_read(c, s, read);
    }
    const uint32_t fire = *w->req_valid & *w->req_ready, words = *w->wr_valid & *w->wr_ready;
    if ((fire | words) != 0) {
        see_writes(c, s, fire, words);
    }
    const uint32_t done = *w->done;
    see_done(c, s, done);
    if ((done | *w->im_pop | *w->par_pop | (*w->task_valid & *w->task_ready)) != 0) {
        move_tasks(c, s);
    }
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
