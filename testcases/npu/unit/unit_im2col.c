/* dut: im2col */
/*
 * Random tasks of all kinds, one after the other. The bench models the loaders, which run ahead (pixels and weight
 * blocks arrive in any rhythm; words that have not arrived or were released are garbage), the two buffers and the free
 * space of ofm_buf. The ring of ifm_buf is as small as the limits allow, or larger.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "im2col_work.h"
#include "npu_task.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define TASKS 24u
#define CHUNK 64u /* pixels for which the loader allocates space at a time */

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
    UNIT_INT16_KNOB,
    {"work", 100, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "most cycles of the mesh for a task"},
    {"arrive", 1, 64, TB_KNOB_SMALL, NULL, NULL, "most pixels that arrive in a cycle"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("ifm", "percent of cycles in which no pixels arrive"),
    UNIT_STALL_KNOB("wgt", "percent of cycles in which an empty bank stays empty"),
    UNIT_STALL_KNOB("ofm", "percent of cycles without space for a tile"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    /* mostly maps of several tiles, with strides: errors are most likely in the walk over rows */
    tb_knobs_draw_in(k, "tasks", seed, 4, 12);
    const bool wild = seed % 8 == 3; /* sometimes the limits of the fields */
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
    if (seed % 4 == 0) { /* no stalls: no idle cycles */
        static const char *const stalls[] = {"stall_ifm", "stall_wgt", "stall_ofm"};
        for (size_t i = 0; i < sizeof stalls / sizeof *stalls; i++) {
            tb_knobs_draw_in(k, stalls[i], seed, 0, 0);
        }
        tb_knobs_draw_in(k, "arrive", seed, 64, 64);
    }
}

#define PORTS                                                                                                          \
    task_valid_i, task_i, task_pop_o, ifm_all_i, pix_ready_i, wgt_full_i, wgt_blocks_i, wgt_release_o, free_o,         \
        free_words_o, tile_room_i, wgt_re_o, wgt_bank_o, wgt_raddr_o, wgt_rdata_i, ifm_re_o, ifm_raddr_o[2],           \
        ifm_rdata_i[2]
typedef struct bench {
    TB_PORTS(ports, PORTS);
    im2col_work w[TASKS];
    uint64_t base[TASKS + 1]; /* first word of the ring, counted over all tasks */
    uint32_t cap[TASKS];      /* words that the ring may hold while the task runs */
    uint32_t tasks, ahead, arrive;
    uint32_t now; /* task at im2col */
    /* input */
    int8_t ring[IM2COL_IFM_WORDS][32];
    uint32_t room_task, room_pix; /* next chunk to be allocated */
    uint32_t here_task, here_pix; /* next pixel to arrive */
    uint64_t freed;               /* words, over all tasks */
    im2col_bank bank[2];
    int8_t wgt_read[32], ifm_read[2][32]; /* data of the buffers from the next cycle on */
    tb_rng rng, rng_data;
    unit_stall task_stall, ifm_stall, ofm_stall;
} bench;

/* ---- the loaders ---- */

/* Number of tasks that the loaders have got. */
static uint32_t known(const bench *b) {
    return b->now + 1 + b->ahead < b->tasks ? b->now + 1 + b->ahead : b->tasks;
}

/* Space is allocated chunk by chunk; pixels arrive in raster order with all their channel blocks. */
static void load_input(bench *b) {
    if (b->now < b->tasks && b->room_task < known(b)) {
        const im2col_work *w = &b->w[b->room_task];
        const uint32_t left = w->pixels - b->room_pix;
        const uint32_t pixels = left < CHUNK ? left : CHUNK;
        const uint64_t used = b->base[b->room_task] + (uint64_t)b->room_pix * w->icw - b->freed;
        if (used + pixels * w->icw <= b->cap[b->now]) {
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
        for (uint32_t i = 0; i < w->icw; i++) {
            const uint32_t word = b->here_pix * w->icw + i;
            memcpy(b->ring[(b->base[b->here_task] + word) % IM2COL_IFM_WORDS], &w->ifm[(size_t)word * N], N);
        }
        if (++b->here_pix == w->pixels) {
            b->here_pix = 0;
            b->here_task++;
            return;
        }
    }
}

/* ---- buffers ---- */

/* Reads of this cycle give data after the edge; a read enable that is low keeps the data. */
static void serve_reads(bench *b) {
    if (tb_get(b->wgt_re_o)) {
        memcpy(b->wgt_read, b->bank[tb_get(b->wgt_bank_o)].mem[tb_get(b->wgt_raddr_o) % IM2COL_WGT_WORDS], N);
    }
    for (uint32_t s = 0; s < 2 && tb_get(b->ifm_re_o); s++) {
        memcpy(b->ifm_read[s], b->ring[tb_get(b->ifm_raddr_o[s]) % IM2COL_IFM_WORDS], N);
    }
}

/* Released banks and words are garbage from now on. */
static void take_back(bench *b) {
    const uint64_t release = tb_get(b->wgt_release_o), words = tb_get(b->free_o) ? tb_get(b->free_words_o) : 0;
    for (uint32_t i = 0; i < 2; i++) {
        if (release >> i & 1u) {
            im2col_bank_release(&b->bank[i], b->now + 1 < b->tasks && b->w[b->now + 1].t.wgt_keep, &b->rng_data);
        }
    }
    for (uint64_t i = 0; i < words; i++) {
        tb_rng_fill(&b->rng_data, b->ring[(b->freed + i) % IM2COL_IFM_WORDS], N);
    }
    b->freed += words;
    b->now += tb_get(b->task_pop_o) != 0 && b->now < b->tasks;
}

/* ---- time ---- */

static void cycle(unit *u, bench *b, bool offer) {
    load_input(b);
    for (uint32_t i = 0; i < 2; i++) {
        im2col_bank_load(&b->bank[i], i, b->w, known(b));
    }
    if (offer) {
        npu_task_set(b->task_i, &b->w[b->now].t);
    } else {
        task_noise_port(&b->rng_data, b->task_i);
    }
    tb_set(b->task_valid_i, offer);
    tb_set(b->ifm_all_i, b->here_task > b->now);
    tb_set(b->pix_ready_i, b->here_pix); /* of the first task that is not complete */
    tb_set(b->wgt_full_i, (uint64_t)b->bank[0].full | ((uint64_t)b->bank[1].full << 1));
    tb_set(b->wgt_blocks_i, b->bank[0].blocks | (b->bank[1].blocks << 10));
    tb_set(b->tile_room_i, unit_go(&b->ofm_stall));
    unit_settle(u);
    serve_reads(b);
    take_back(b);
    unit_edge(u);
    unit_set_slice(b->wgt_rdata_i, 0, b->wgt_read, N);
    unit_set_slice(b->ifm_rdata_i[0], 0, b->ifm_read[0], N);
    unit_set_slice(b->ifm_rdata_i[1], 0, b->ifm_read[1], N);
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

static void setup(const unit *u, bench *b) {
    b->rng = unit_stream(u, "shape");
    b->rng_data = unit_stream(u, "values");
    b->arrive = (uint32_t)unit_knob(u, "arrive");
    b->ahead = (uint32_t)unit_knob(u, "ahead");
    b->tasks = (uint32_t)unit_knob(u, "tasks");
    b->task_stall = unit_stall_make(u, "task");
    b->ifm_stall = unit_stall_make(u, "ifm");
    b->ofm_stall = unit_stall_make(u, "ofm");
    b->bank[0].stall = unit_stall_nth(u, "wgt", 0);
    b->bank[1].stall = unit_stall_nth(u, "wgt", 1);
}

static int make_tasks(const unit *u, bench *b) {
    const im2col_limits limits = {.kernel = (uint64_t)unit_knob(u, "kernel"),
                                  .stride = (uint64_t)unit_knob(u, "stride"),
                                  .dilation = (uint64_t)unit_knob(u, "dilation"),
                                  .pad = (uint64_t)unit_knob(u, "pad"),
                                  .map = (uint64_t)unit_knob(u, "map"),
                                  .channels = (uint64_t)unit_knob(u, "channels"),
                                  .group = (uint64_t)unit_knob(u, "group"),
                                  .cycles = (uint64_t)unit_knob(u, "work"),
                                  .int16 = (int)unit_knob(u, "int16")};
    for (uint32_t i = 0; i < b->tasks; i++) {
        im2col_work *w = &b->w[i];
        if (im2col_work_make(w, i > 0 ? &b->w[i - 1] : NULL, &limits, &b->rng, &b->rng_data) != 0) {
            return -1;
        }
        b->base[i + 1] = b->base[i] + (uint64_t)w->pixels * w->icw;
        b->cap[i] =
            tb_rng_chance(&b->rng, 1, 2) ? w->least : (uint32_t)tb_rng_range(&b->rng, w->least, IM2COL_IFM_WORDS);
    }
    return 0;
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    setup(u, b);
    tb_rng_fill(&b->rng_data, b->ring, sizeof b->ring);
    const int rc = make_tasks(u, b);
    if (rc == 0) {
        unit_reset(u);
        run_tasks(u, b);
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        im2col_work_free(&b->w[i]);
    }
    return rc;
}

UNIT_BENCH("im2col", "streams of weight words and row vectors", knobs, TB_STATE(bench, PORTS), .constrain = constrain);
