/* dut: im2col */
/*
 * Random tasks of all kinds, one after the other. The bench plays the loaders, which work ahead (pixels and weight blocks arrive in any rhythm; what has not arrived
 * or was given back is garbage), the two buffers and the room in ofm_buf. The ring of ifm_buf is as small as the limits allow, or larger. Checked: every weight word
 * and row vector, which cycle it leaves in relation to its block, register selects, first and last flags, no gap inside a tile and none at all when nobody hesitates,
 * the array enabled until its last sum is out, releases of banks, words returned to the ring, events.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "im2col_work.h"
#include "npu_task.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define TASKS 24u
#define HISTORY 64u /* cycles, at least N */
#define CHUNK 64u   /* pixels for which the loader allocates room at a time */

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"ahead", 0, 3, TB_KNOB_UNIFORM, NULL, NULL, "tasks that the loaders may be ahead"},
    {"kernel", 1, 255, TB_KNOB_UNIFORM, NULL, NULL, "largest kernel"},
    {"stride", 1, 255, TB_KNOB_UNIFORM, NULL, NULL, "largest stride"},
    {"dilation", 1, 255, TB_KNOB_SMALL, NULL, NULL, "largest dilation"},
    {"pad", 0, 255, TB_KNOB_SMALL, NULL, NULL, "most padding"},
    {"map", 1, 4096, TB_KNOB_UNIFORM, NULL, NULL, "largest input rows and columns"},
    {"channels", 1, 512, TB_KNOB_UNIFORM, NULL, NULL, "most channels"},
    {"group", 1, 255, TB_KNOB_SMALL, NULL, NULL, "most tiles of a group"},
    {"work", 100, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "most cycles of the mesh for a task"},
    {"arrive", 1, 64, TB_KNOB_SMALL, NULL, NULL, "most pixels that arrive in a cycle"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("ifm", "percent of cycles in which no pixels arrive"),
    UNIT_STALL_KNOB("wgt", "percent of cycles in which an empty bank stays empty"),
    UNIT_STALL_KNOB("ofm", "percent of cycles without room for a tile"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    /* mostly maps of several tiles, with strides: the walk over rows is where the unit can go wrong */
    tb_knobs_draw_in(k, "tasks", seed, 4, 12);
    const bool wild = seed % 8 == 3; /* now and then the ends of the fields */
    tb_knobs_draw_in(k, "kernel", seed, 1, wild ? 255 : 4);
    tb_knobs_draw_in(k, "stride", seed, 1, wild ? 255 : 4);
    tb_knobs_draw_in(k, "dilation", seed, 1, wild ? 255 : 3);
    tb_knobs_draw_in(k, "pad", seed, 0, wild ? 255 : 6);
    tb_knobs_draw_in(k, "arrive", seed, 1, 8);
    tb_knobs_draw_in(k, "work", seed, 4000, 12000);
    if (seed % 7 == 4) { /* more tiles than a group may have */
        tb_knobs_draw_in(k, "group", seed, 120, 255);
    }
    tb_knobs_draw_in(k, "map", seed, 6, wild ? 4096 : seed % 5 == 1 ? 128 : 40);
    tb_knobs_draw_in(k, "channels", seed, 1, seed % 5 == 2 ? 16 * N : 3 * N);
    if (seed % 4 == 0) { /* nobody hesitates: no gaps */
        static const char *const stalls[] = {"stall_ifm", "stall_wgt", "stall_ofm"};
        for (size_t i = 0; i < sizeof stalls / sizeof *stalls; i++) {
            tb_knobs_draw_in(k, stalls[i], seed, 0, 0);
        }
        tb_knobs_draw_in(k, "arrive", seed, 64, 64);
    }
}

/* One cycle of the outputs to the mesh that do not belong to a vector. */
typedef struct past {
    int8_t word[32];
    bool p, en;
} past;

typedef struct bench {
    tb_sig task_valid, task, pop, ifm_all, pix_ready, wgt_full, wgt_blocks, wgt_release, free, free_words, tile_room, tile_start, wgt_re,
        wgt_bank, wgt_raddr, wgt_rdata, ifm_re, ifm_ra[2], ifm_rd[2], mesh_en, wgt_p, wgt_word, sel, act[2], act_valid, acc_first, acc_last,
        wait[3];
    im2col_work w[TASKS];
    uint64_t base[TASKS + 1]; /* first word of the ring, counted over all tasks */
    uint32_t cap[TASKS];      /* words that the ring may hold while the task runs */
    uint32_t tasks, ahead, arrive;
    uint32_t now; /* task at im2col */
    /* input */
    int8_t (*ring)[32];
    uint32_t room_task, room_pix; /* next chunk to get room */
    uint32_t here_task, here_pix; /* next pixel to arrive */
    uint64_t freed;               /* words, over all tasks */
    /* weights */
    im2col_bank bank[2];
    uint32_t read_bank, released; /* next bank to be released; releases of this task */
    /* the next vector to come */
    uint32_t vec_task, step;
    im2col_walk walk;
    int8_t expected[64 * 32]; /* vectors of the current block */
    past history[HISTORY];
    uint64_t last_vector, next_vector; /* cycle of the last vector; when the next one must come (0: any time) */
    bool first_vector_seen, calm, all_here;
    uint64_t tiles_started;
    im2col_walk start;                    /* block of the next tile to start */
    uint32_t late;                        /* cycles in a row of waiting for input that is there */
    int8_t wgt_read[32], ifm_read[2][32]; /* what the buffers show from the next cycle on */
    tb_rng rng, rng_data;
    unit_stall task_stall, ifm_stall, ofm_stall;
} bench;

/* ---- the loaders ---- */

/* Tasks that the loaders know. */
static uint32_t known(const bench *b) {
    return b->now + 1 + b->ahead < b->tasks ? b->now + 1 + b->ahead : b->tasks;
}

/* Room is given chunk by chunk; pixels arrive in raster order with all their channel blocks. */
static void load_input(bench *b) {
    if (b->now < b->tasks && b->room_task < known(b)) {
        const im2col_work *w = &b->w[b->room_task];
        const uint32_t left = w->pixels - b->room_pix;
        const uint32_t pixels = left < CHUNK ? left : CHUNK;
        const uint64_t used = b->base[b->room_task] + (uint64_t)b->room_pix * w->icb - b->freed;
        if (used + pixels * w->icb <= b->cap[b->now]) {
            b->room_pix += pixels;
            if (b->room_pix == w->pixels) {
                b->room_pix = 0;
                b->room_task++;
            }
        }
    }
    uint32_t more = (uint32_t)tb_rng_range(&b->rng, 1, b->arrive);
    if (!unit_go(&b->ifm_stall)) {
        return;
    }
    for (; more > 0 && (b->here_task < b->room_task || b->here_pix < b->room_pix); more--) {
        const im2col_work *w = &b->w[b->here_task];
        for (uint32_t i = 0; i < w->icb; i++) {
            const uint32_t word = b->here_pix * w->icb + i;
            memcpy(b->ring[(b->base[b->here_task] + word) % IM2COL_IFM_WORDS], &w->ifm[(size_t)word * N], N);
        }
        if (++b->here_pix == w->pixels) {
            b->here_pix = 0;
            b->here_task++;
            return;
        }
    }
}

/* ---- vectors ---- */

/* The N weight words of the block whose first vector leaves now left in the N cycles before, last word first. */
static void check_weights(unit *u, bench *b, bool sel) {
    for (uint32_t i = 0; i < N; i++) {
        const past *h = &b->history[(u->cycle - N + i) % HISTORY];
        int8_t word[32];
        im2col_weights(&b->w[b->vec_task], &b->walk, N - 1 - i, word);
        unit_compare(u, h->word, word, N,
                     "weights of task %" PRIu32 ", output block %" PRIu32 ", tile %" PRIu32 ", block %" PRIu32 ", word %" PRIu32,
                     b->vec_task, b->walk.ob, b->walk.tile, b->walk.block, N - 1 - i);
        unit_expect_value(u, "wgt_p_o at a block's weights", h->p, sel);
        unit_expect_value(u, "mesh_en_o at a block's weights", h->en, 1);
    }
}

/* The vector after this one. */
static void next_vector(const unit *u, bench *b) {
    const im2col_work *w = &b->w[b->vec_task];
    b->last_vector = u->cycle;
    b->first_vector_seen = true;
    b->next_vector = u->cycle + 1;
    if (++b->step < N) {
        return;
    }
    b->step = 0;
    im2col_next(w, &b->walk);
    if (b->walk.end) {
        b->walk = (im2col_walk){0};
        b->vec_task++;
        b->next_vector = 0;
    } else if (b->walk.block == 0 && !(b->calm && b->all_here)) {
        b->next_vector = 0;
    }
}

static void check_vector(unit *u, bench *b) {
    int8_t got[32];
    if (b->vec_task > b->now || b->vec_task == b->tasks) {
        unit_fail(u, "act_valid_o", "cycle %" PRIu64 ": a vector after the end of the task", u->cycle);
        return;
    }
    const im2col_walk *k = &b->walk;
    const im2col_work *w = &b->w[b->vec_task];
    const bool sel = tb_get(b->sel) != 0;
    if (b->step == 0) {
        im2col_vectors(w, k, b->expected);
        check_weights(u, b, sel);
    }
    unit_expect_value(u, "wgt_p_o beside vectors", tb_get(b->wgt_p), !sel);
    unit_expect_value(u, "acc_first_o", tb_get(b->acc_first), k->block == 0);
    unit_expect_value(u, "acc_last_o", tb_get(b->acc_last), k->block + 1 == w->blocks);
    for (uint32_t s = 0; s < 2; s++) {
        unit_get_slice(b->act[s], 0, got, N);
        unit_compare(u, got, &b->expected[(2 * b->step + s) * N], N,
                     "task %" PRIu32 ", output block %" PRIu32 ", tile %" PRIu32 ", block %" PRIu32 ", stream %" PRIu32 ", vector %" PRIu32,
                     b->vec_task, k->ob, k->tile, k->block, s, b->step);
    }
    next_vector(u, b);
}

/* Outputs of this cycle. */
static void sample(unit *u, bench *b) {
    past *h = &b->history[u->cycle % HISTORY];
    unit_get_slice(b->wgt_word, 0, h->word, N);
    h->p = tb_get(b->wgt_p) != 0;
    h->en = tb_get(b->mesh_en) != 0;
    if (tb_get(b->act_valid)) {
        unit_expect_value(u, "mesh_en_o at a vector", h->en, 1);
        check_vector(u, b);
    } else {
        unit_expect_value(u, "acc_first_o, acc_last_o without a vector", tb_get(b->acc_first) | tb_get(b->acc_last), 0);
        if (b->next_vector != 0) {
            unit_fail(u, "gap", "cycle %" PRIu64 ": gap in task %" PRIu32 ", output block %" PRIu32 ", tile %" PRIu32 ", block %" PRIu32,
                      u->cycle, b->vec_task, b->walk.ob, b->walk.tile, b->walk.block);
        }
    }
    /* the last sum leaves column N-1 after 2N cycles and acc one later */
    if (b->first_vector_seen && u->cycle - b->last_vector <= 2 * N + 1) {
        unit_expect_value(u, "mesh_en_o while sums are under way", h->en, 1);
    }
}

/* ---- buffers ---- */

/* Reads of this cycle give data after the edge; a read enable that is low keeps the data. */
static void serve_reads(unit *u, bench *b) {
    if (tb_get(b->wgt_re)) {
        const im2col_work *w = &b->w[b->now < b->tasks ? b->now : 0];
        const im2col_bank *k = &b->bank[tb_get(b->wgt_bank)];
        const uint32_t word = (uint32_t)tb_get(b->wgt_raddr);
        const bool there = w->t.wgt_res ? k->held && word < k->blocks * w->words : k->full && word < w->words;
        if (!there) {
            unit_fail(u, "wgt_re_o", "cycle %" PRIu64 ": read of word %" PRIu32 " of bank %" PRIu64 ", which is not there", u->cycle, word,
                      tb_get(b->wgt_bank));
            return;
        }
        memcpy(b->wgt_read, k->mem[word], N);
    }
    if (tb_get(b->ifm_re)) {
        for (uint32_t s = 0; s < 2; s++) {
            memcpy(b->ifm_read[s], b->ring[tb_get(b->ifm_ra[s]) % IM2COL_IFM_WORDS], N);
        }
    }
}

static void take_weights(unit *u, bench *b) {
    const uint64_t release = tb_get(b->wgt_release);
    if (release == 0) {
        return;
    }
    const im2col_work *w = &b->w[b->now < b->tasks ? b->now : 0];
    unit_expect_value(u, "wgt_release_o", release, w->t.op == 2 ? 0 : w->t.wgt_res ? 3 : UINT64_C(1) << b->read_bank);
    b->released++;
    for (uint32_t i = 0; i < 2; i++) {
        if (release >> i & 1u) {
            unit_expect_value(u, "a released bank in use", b->bank[i].full || b->bank[i].held, 1);
            im2col_bank_release(&b->bank[i], b->now + 1 < b->tasks && b->w[b->now + 1].t.wgt_keep, &b->rng_data);
        }
    }
    b->read_bank ^= !w->t.wgt_res;
}

/* Words that come back are garbage from now on. */
static void take_input(unit *u, bench *b) {
    const bool pop = tb_get(b->pop) != 0;
    if (!tb_get(b->free)) {
        unit_expect_value(u, "free_o at task_pop_o", pop, 0);
        return;
    }
    if (b->now == b->tasks) {
        unit_fail(u, "free_o", "cycle %" PRIu64 ": words returned without a task", u->cycle);
        return;
    }
    const im2col_work *w = &b->w[b->now];
    const uint64_t words = tb_get(b->free_words);
    const uint64_t here = b->here_task > b->now ? b->base[b->now + 1] : b->base[b->now] + (uint64_t)b->here_pix * w->icb;
    if (b->freed + words > here) {
        unit_fail(u, "free_words_o", "cycle %" PRIu64 ": %" PRIu64 " words returned, and only %" PRIu64 " of the task are there", u->cycle,
                  b->freed + words - b->base[b->now], here - b->base[b->now]);
        return;
    }
    for (uint64_t i = 0; i < words; i++) {
        tb_rng_fill(&b->rng_data, b->ring[(b->freed + i) % IM2COL_IFM_WORDS], N);
    }
    b->freed += words;
    if (!w->t.wgt_res) {
        unit_expect_value(u, "free_o without wgt_res", 1, pop);
    }
}

static void take_back(unit *u, bench *b) {
    take_weights(u, b);
    take_input(u, b);
    if (tb_get(b->tile_start)) {
        unit_expect_value(u, "tile_start_o without room", tb_get(b->tile_room), 1);
        b->all_here = b->tiles_started++ == 0 ? b->here_task > b->now : b->all_here;
        for (uint32_t i = b->now < b->tasks ? b->w[b->now].blocks : 0; i > 0; i--) {
            im2col_next(&b->w[b->now], &b->start);
        }
    }
    if (tb_get(b->pop) && unit_ok(u)) {
        const im2col_work *w = &b->w[b->now];
        unit_expect_value(u, "task_pop_o without a task", tb_get(b->task_valid), 1);
        unit_expect_value(u, "words returned over the task", b->freed - b->base[b->now], (uint64_t)w->pixels * w->icb);
        unit_expect_value(u, "tiles started", b->tiles_started, (uint64_t)w->tiles * w->ocb);
        unit_expect_value(u, "releases", b->released, w->t.op == 2 ? 0 : w->t.wgt_res ? 1 : w->ocb);
        unit_expect_value(u, "tasks with all vectors out", b->vec_task, b->now + 1);
        b->tiles_started = b->released = 0;
        b->start = (im2col_walk){0};
        b->now++;
    }
}

static void check_events(unit *u, bench *b) {
    const uint64_t ifm = tb_get(b->wait[0]), wgt = tb_get(b->wait[1]), ofm = tb_get(b->wait[2]);
    if (ifm + wgt + ofm > 1) {
        unit_fail(u, "wait_*_o", "cycle %" PRIu64 ": waits for more than one thing", u->cycle);
    }
    /* the check of the rows takes up to 3 cycles */
    const bool there = b->now < b->tasks && (b->here_task > b->now || b->here_pix >= im2col_need(&b->w[b->now], &b->start));
    b->late = ifm && there ? b->late + 1 : 0;
    if (b->late > 3) {
        unit_fail(u, "wait_ifm_o", "cycle %" PRIu64 ": waits for input of task %" PRIu32 ", tile %" PRIu32 ", all of which is there",
                  u->cycle, b->now, b->start.tile);
    }
    if (ofm) {
        unit_expect_value(u, "tile_room_i at wait_ofm_o", tb_get(b->tile_room), 0);
    }
    if (ifm + wgt + ofm > 0) {
        unit_expect_value(u, "task_valid_i at a wait", tb_get(b->task_valid), 1);
        unit_expect_value(u, "tile_start_o at a wait", tb_get(b->tile_start), 0);
    }
}

/* ---- time ---- */

static void cycle(unit *u, bench *b, bool offer) {
    load_input(b);
    for (uint32_t i = 0; i < 2; i++) {
        im2col_bank_load(&b->bank[i], i, b->w, known(b));
    }
    if (offer) {
        npu_task_set(b->task, &b->w[b->now].t);
    } else {
        task_noise_port(&b->rng_data, b->task);
    }
    tb_set(b->task_valid, offer);
    tb_set(b->ifm_all, b->here_task > b->now);
    tb_set(b->pix_ready, b->here_pix); /* of the first task that is not complete */
    tb_set(b->wgt_full, (uint64_t)b->bank[0].full | ((uint64_t)b->bank[1].full << 1));
    tb_set(b->wgt_blocks, b->bank[0].blocks | (b->bank[1].blocks << 10));
    tb_set(b->tile_room, unit_go(&b->ofm_stall));
    unit_settle(u);
    sample(u, b);
    check_events(u, b);
    serve_reads(u, b);
    take_back(u, b);
    unit_edge(u);
    unit_set_slice(b->wgt_rdata, 0, b->wgt_read, N);
    unit_set_slice(b->ifm_rd[0], 0, b->ifm_read[0], N);
    unit_set_slice(b->ifm_rd[1], 0, b->ifm_read[1], N);
}

static void run_tasks(unit *u, bench *b) {
    while (unit_ok(u) && b->now < b->tasks) {
        const uint32_t task = b->now;
        while (unit_ok(u) && !unit_go(&b->task_stall)) {
            cycle(u, b, false);
        }
        while (unit_ok(u) && b->now == task) {
            cycle(u, b, true);
        }
    }
    for (uint32_t i = 0; i < 2 * N + 8 && unit_ok(u); i++) {
        cycle(u, b, false);
    }
}

static void find_ports(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->task_valid, "task_valid_i"},
                 {&b->task, "task_i"},
                 {&b->pop, "task_pop_o"},
                 {&b->ifm_all, "ifm_all_i"},
                 {&b->pix_ready, "pix_ready_i"},
                 {&b->wgt_full, "wgt_full_i"},
                 {&b->wgt_blocks, "wgt_blocks_i"},
                 {&b->wgt_release, "wgt_release_o"},
                 {&b->free, "free_o"},
                 {&b->free_words, "free_words_o"},
                 {&b->tile_room, "tile_room_i"},
                 {&b->tile_start, "tile_start_o"},
                 {&b->wgt_re, "wgt_re_o"},
                 {&b->wgt_bank, "wgt_bank_o"},
                 {&b->wgt_raddr, "wgt_raddr_o"},
                 {&b->wgt_rdata, "wgt_rdata_i"},
                 {&b->ifm_re, "ifm_re_o"},
                 {&b->ifm_ra[0], "ifm_raddr0_o"},
                 {&b->ifm_ra[1], "ifm_raddr1_o"},
                 {&b->ifm_rd[0], "ifm_rdata0_i"},
                 {&b->ifm_rd[1], "ifm_rdata1_i"},
                 {&b->mesh_en, "mesh_en_o"},
                 {&b->wgt_p, "wgt_p_o"},
                 {&b->wgt_word, "wgt_word_o"},
                 {&b->sel, "sel_o"},
                 {&b->act[0], "act0_o"},
                 {&b->act[1], "act1_o"},
                 {&b->act_valid, "act_valid_o"},
                 {&b->acc_first, "acc_first_o"},
                 {&b->acc_last, "acc_last_o"},
                 {&b->wait[0], "wait_ifm_o"},
                 {&b->wait[1], "wait_wgt_o"},
                 {&b->wait[2], "wait_ofm_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
}

static void setup(unit *u, bench *b) {
    b->rng = unit_stream(u, "shape");
    b->rng_data = unit_stream(u, "values");
    b->arrive = (uint32_t)unit_knob(u, "arrive");
    b->ahead = (uint32_t)unit_knob(u, "ahead");
    b->tasks = (uint32_t)unit_knob(u, "tasks");
    b->task_stall = unit_stall_make(u, "task");
    b->ifm_stall = unit_stall_make(u, "ifm");
    b->ofm_stall = unit_stall_make(u, "ofm");
    for (uint32_t i = 0; i < 2; i++) {
        b->bank[i].stall = unit_stall_make(u, "wgt");
        b->bank[i].stall.rng = tb_rng_fork(&b->bank[i].stall.rng, i);
    }
    b->calm = b->ifm_stall.percent + b->ofm_stall.percent + b->bank[0].stall.percent == 0;
}

static int make_tasks(const unit *u, bench *b) {
    const im2col_limits limits = {.kernel = (uint64_t)unit_knob(u, "kernel"),
                                  .stride = (uint64_t)unit_knob(u, "stride"),
                                  .dilation = (uint64_t)unit_knob(u, "dilation"),
                                  .pad = (uint64_t)unit_knob(u, "pad"),
                                  .map = (uint64_t)unit_knob(u, "map"),
                                  .channels = (uint64_t)unit_knob(u, "channels"),
                                  .group = (uint64_t)unit_knob(u, "group"),
                                  .cycles = (uint64_t)unit_knob(u, "work")};
    for (uint32_t i = 0; i < b->tasks; i++) {
        im2col_work *w = &b->w[i];
        if (im2col_work_make(w, i > 0 ? &b->w[i - 1] : NULL, &limits, &b->rng, &b->rng_data) != 0) {
            return -1;
        }
        b->base[i + 1] = b->base[i] + (uint64_t)w->pixels * w->icb;
        b->cap[i] = tb_rng_chance(&b->rng, 1, 2) ? w->least : (uint32_t)tb_rng_range(&b->rng, w->least, IM2COL_IFM_WORDS);
    }
    return 0;
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    int rc = -1;
    if (b) {
        b->ring = malloc(sizeof *b->ring * IM2COL_IFM_WORDS);
        b->bank[0].mem = malloc(sizeof *b->bank[0].mem * IM2COL_WGT_WORDS);
        b->bank[1].mem = malloc(sizeof *b->bank[1].mem * IM2COL_WGT_WORDS);
    }
    if (b && b->ring && b->bank[0].mem && b->bank[1].mem && unit_expect_init(u, 1, "channel", N, true) == 0) {
        find_ports(u, b);
        setup(u, b);
        tb_rng_fill(&b->rng_data, b->ring, sizeof *b->ring * IM2COL_IFM_WORDS);
        rc = make_tasks(u, b);
    }
    if (rc == 0) {
        unit_reset(u);
        run_tasks(u, b);
    }
    if (b) {
        free(b->ring);
        free(b->bank[0].mem);
        free(b->bank[1].mem);
        for (uint32_t i = 0; i < TASKS; i++) {
            im2col_work_free(&b->w[i]);
        }
    }
    free(b);
    return rc;
}

const unit_bench unit_this_bench = {.name = "im2col",
                                    .about = "streams of weight words and row vectors",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
