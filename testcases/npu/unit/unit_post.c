/* dut: post each Chan=0,1 shared: task_valid_i task_i par_ready_i task_done_i tile_i */
/*
 * Both post units on random tasks. The bench models acc (tiles arrive, also of the next task), ofm_buf and par_buf, the
 * read channel that brings partial sums, send_buf and the write channel.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "post_work.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define COLS (N >= 16 ? 4u : N / 4) /* columns of a wide read */
#define RING_TILES (1024 / N)       /* tiles that ofm_buf holds */
#define RING_WORDS 512u             /* words of a column */
#define TASKS 8u
#define PAR_WORDS 256u
#define SEND_WORDS 512u /* of send_buf, this client */
#define READS 4096u     /* partial sums: more requests than can wait for their data */

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"pixels", 1, 1500, TB_KNOB_UNIFORM, NULL, NULL, "most output pixels"},
    {"channels", 1, 100, TB_KNOB_UNIFORM, NULL, NULL, "most output channels"},
    {"group", 1, 255, TB_KNOB_SMALL, NULL, NULL, "most tiles written back together"},
    UNIT_INT16_KNOB,
    {"values", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: factors and biases are any floats"},
    UNIT_STALL_KNOB("task", "percent of cycles in which a task, its factors or its end wait"),
    UNIT_STALL_KNOB("tile", "percent of cycles without a new tile"),
    UNIT_STALL_KNOB("req", "percent of cycles in which requests wait"),
    UNIT_STALL_KNOB("psum", "percent of cycles without partial sums"),
    UNIT_STALL_KNOB("wr", "percent of cycles in which send_buf keeps its words, or (REQUANT) accepts none"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "tasks", seed, 2, 6);
    tb_knobs_draw_in(k, "pixels", seed, 1, 1500);
    tb_knobs_draw_in(k, "channels", seed, 1, 3 * N);
    if (seed % 4 == 0) { /* no stalls, to check the pace of the units */
        static const char *const stalls[] = {"stall_task", "stall_tile", "stall_req", "stall_psum", "stall_wr"};
        for (size_t i = 0; i < sizeof stalls / sizeof *stalls; i++) {
            tb_knobs_draw_in(k, stalls[i], seed, 0, 0);
        }
    }
}

/* Request for partial sums. */
typedef struct read {
    uint32_t offset, bytes; /* from the first partial sum of the task on */
} read;

typedef struct chan {
    read reads[READS];
    uint64_t asked, got; /* requests accepted, and those whose data are complete */
    uint32_t beat;       /* of the request whose data are being sent */
    uint64_t freed;      /* tiles released */
    bool psum_on;
    uint32_t level;            /* words in send_buf */
    uint64_t granted, drained; /* words that accepted jobs may read from it, and that they have read */
    int32_t ofm_read[16];      /* data of the buffers from the next cycle on */
    uint32_t par_read[2][4];
    unit_stall wr_req_stall, ps_req_stall, psum_stall, drain_stall, wr_stall;
} chan;

#define PORTS                                                                                                          \
    task_valid_i, task_i, par_ready_i, task_wait_o, task_done_i, tile_i, free_o, free_tiles_o, par_re_o, par_addr_o,   \
        par_oscale_i, par_bias_i, ofm_re_o, ofm_col_o, ofm_addr_o, ofm_data_i, psum_req_valid_o, psum_req_ready_i,     \
        psum_req_addr_o, psum_req_bytes_o, psum_valid_i, psum_ready_o, psum_i, wr_req_valid_o, wr_req_ready_i,         \
        wr_req_bytes_o, wr_valid_o, wr_ready_i, wr_level_i
typedef struct bench {
    TB_PORTS(ports, PORTS);
    post_work w[TASKS];
    uint32_t tasks, current;
    uint32_t tile_task; /* next tile to arrive */
    npu_score_post_walk tile_walk;
    uint32_t tile_sub;
    bool tile_half; /* INT16: the second half of the tile is next */
    uint64_t arrived;
    int32_t ring[32][RING_WORDS][4]; /* column, word */
    uint32_t par[2][PAR_WORDS][4];
    uint32_t par_base;
    chan ch[2];
    unit_stall task_stall, tile_stall;
    tb_rng rng, rng_data;
} bench;

static const post_work *current(const bench *b) {
    return &b->w[b->current];
}

static const cm_gemm_task *task_of(const bench *b) {
    return &current(b)->order.t;
}

static bool any_factors(const bench *b) {
    return task_of(b)->oscale_en || task_of(b)->bias_en;
}

static void load_factors(bench *b) {
    const post_work *w = current(b);
    for (uint32_t i = 0; any_factors(b) && i < (w->order.t.oc + 3) / 4; i++) {
        memcpy(b->par[0][(b->par_base + i) % PAR_WORDS], &w->oscale[4 * i], 16);
        memcpy(b->par[1][(b->par_base + i) % PAR_WORDS], &w->bias[4 * i], 16);
    }
}

/* ---- the units around post ---- */

/* One more tile into ofm_buf when the ring has space on both channels. */
static void drive_tile(bench *b) {
    const uint64_t freed = b->ch[0].freed < b->ch[1].freed ? b->ch[0].freed : b->ch[1].freed;
    const bool come = unit_go(&b->tile_stall) && b->tile_task < b->tasks && b->arrived - freed < RING_TILES;
    tb_set(b->tile_i, come);
    if (!come) {
        return;
    }
    const post_work *w = &b->w[b->tile_task];
    const uint32_t slot = (uint32_t)(b->arrived % RING_TILES);
    const size_t tile = (size_t)b->tile_walk.ob * w->order.tiles + b->tile_walk.tile + b->tile_sub;
    for (uint32_t col = 0; col < N; col++) {
        const int32_t *src = &w->sums[(tile * N + col) * POST_WORDS + (b->tile_half ? POST_TILE : 0)];
        memcpy(b->ring[col][slot * (N / 2)], src, POST_TILE * sizeof *src);
    }
    b->arrived++;
    b->tile_half = w->order.t.wide && !b->tile_half;
    if (b->tile_half) {
        return;
    }
    if (++b->tile_sub == npu_score_post_walk_tiles(&w->order, &b->tile_walk)) {
        b->tile_sub = 0;
        npu_score_post_walk_next(&w->order, &b->tile_walk);
        if (b->tile_walk.end && ++b->tile_task < b->tasks) {
            b->tile_walk = npu_score_post_walk_first(&b->w[b->tile_task].order, NPU_WALK_GROUPS);
        }
    }
}

static void drive_psum(bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const post_work *w = current(b);
    /* data only for requests that were accepted before */
    if (!h->psum_on && h->got != h->asked) {
        h->psum_on = unit_go(&h->psum_stall);
    }
    tb_set_field(b->psum_valid_i, c, 1, h->psum_on);
    int32_t beat[4];
    tb_rng_fill(&b->rng_data, beat, sizeof beat);
    const read *r = &h->reads[h->got % READS];
    const uint32_t pitch = w->order.t.psum_cstep, half = r->offset % pitch / 4, channel = r->offset / pitch;
    const size_t pixels = (size_t)w->order.pixels << w->order.t.wide; /* int32 of a channel */
    for (uint32_t i = 4 * h->beat; h->psum_on && i < 4 * h->beat + 4 && i < r->bytes / 4; i++) {
        const size_t at = channel * pixels + half + i;
        beat[i % 4] = at < w->order.t.oc * pixels ? w->psums[at] : 0;
    }
    unit_set_slice(b->psum_i, 16 * c, beat, 16);
}

static void sample_psum(bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    if (h->psum_on && tb_get_field(b->psum_ready_o, c, 1)) {
        h->psum_on = false;
        if (16 * ++h->beat >= h->reads[h->got % READS].bytes) {
            h->beat = 0;
            h->got++;
        }
    }
    if (tb_get_field(b->psum_req_valid_o, c, 1) && tb_get_field(b->psum_req_ready_i, c, 1)) {
        h->reads[h->asked++ % READS] =
            (read){.offset = (uint32_t)tb_get_field(b->psum_req_addr_o, 32 * c, 32) - task_of(b)->psum_addr,
                   .bytes = (uint32_t)tb_get_field(b->psum_req_bytes_o, 24 * c, 24)};
    }
}

/* send_buf gives words to accepted jobs; it accepts FP32 words whenever it has space. */
static void drive_send(bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const bool go = unit_go(&h->wr_stall);
    if (unit_go(&h->drain_stall) && h->level > 0 && h->drained < h->granted) {
        h->level--;
        h->drained++;
    }
    tb_set_field(b->wr_level_i, 16 * c, 16, h->level);
    tb_set_field(b->wr_ready_i, c, 1, h->level < SEND_WORDS && (go || !task_of(b)->requant));
}

static void sample_send(bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    h->level += tb_get_field(b->wr_valid_o, c, 1) && tb_get_field(b->wr_ready_i, c, 1);
    if (tb_get_field(b->wr_req_valid_o, c, 1) && tb_get_field(b->wr_req_ready_i, c, 1)) {
        h->granted += (tb_get_field(b->wr_req_bytes_o, 24 * c, 24) + 15) / 16;
    }
}

/* ---- reads, and released tiles ---- */

static void serve_ofm(bench *b, uint32_t c) {
    const uint32_t tw = b->free_tiles_o.width / 2;
    const uint32_t cw = b->ofm_col_o.width / 2;
    const uint32_t col = (uint32_t)tb_get_field(b->ofm_col_o, cw * c, cw);
    const uint32_t word = (uint32_t)tb_get_field(b->ofm_addr_o, tw * c, tw) % RING_WORDS;
    int32_t *dst = b->ch[c].ofm_read;
    tb_rng_fill(&b->rng_data, dst, sizeof b->ch[c].ofm_read);
    if (!task_of(b)->requant) {
        memcpy(dst, b->ring[(2 * col + c) % N][word], 16);
        return;
    }
    for (uint32_t j = 0; j < COLS; j++) { /* the unit's own bank of Cols columns; bit 0 is ignored */
        memcpy(dst + 4 * j, b->ring[(COLS * col + j) % N][(word & ~1u) | c], 16);
    }
}

/* Released tiles become garbage. */
static void take_back(bench *b, uint32_t c) {
    const uint32_t tw = b->free_tiles_o.width / 2;
    chan *h = &b->ch[c];
    const uint32_t tiles = (uint32_t)tb_get_field(b->free_tiles_o, tw * c, tw);
    for (uint32_t i = 0; i < tiles * (N / 2); i++) {
        const uint32_t word = (uint32_t)(h->freed * (N / 2) + i) % RING_WORDS;
        for (uint32_t col = 0; col < N; col++) {
            if (task_of(b)->requant ? word % 2 == c : col % 2 == c) {
                memset(b->ring[col][word], 0xa5, 16);
            }
        }
    }
    h->freed += tiles;
}

static void serve_reads(bench *b, uint32_t c) {
    if (tb_get_field(b->par_re_o, c, 1)) {
        const uint32_t a = (uint32_t)tb_get_field(b->par_addr_o, 8 * c, 8);
        memcpy(b->ch[c].par_read[0], b->par[0][a], 16);
        memcpy(b->ch[c].par_read[1], b->par[1][a], 16);
    }
    if (tb_get_field(b->ofm_re_o, c, 1)) {
        serve_ofm(b, c);
    }
    if (tb_get_field(b->free_o, c, 1)) {
        take_back(b, c);
    }
}

/* ---- time ---- */

static bool chan_done(const bench *b, uint32_t c) {
    return b->ch[c].drained == b->ch[c].granted && tb_get_field(b->task_wait_o, c, 1);
}

static void cycle(unit *u, bench *b, bool valid, bool par, bool done) {
    if (valid) {
        npu_task_set(b->task_i, task_of(b));
    } else {
        task_noise_port(&b->rng_data, b->task_i);
    }
    tb_set(b->task_valid_i, valid);
    tb_set(b->par_ready_i, par);
    tb_set(b->task_done_i, done);
    drive_tile(b);
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        tb_set_field(b->wr_req_ready_i, c, 1, unit_go(&h->wr_req_stall));
        tb_set_field(b->psum_req_ready_i, c, 1, unit_go(&h->ps_req_stall));
        drive_send(b, c);
        drive_psum(b, c);
    }
    unit_settle(u);
    for (uint32_t c = 0; c < 2; c++) {
        sample_send(b, c);
        sample_psum(b, c);
        serve_reads(b, c);
    }
    unit_edge(u);
    for (uint32_t c = 0; c < 2; c++) {
        unit_set_slice(b->par_oscale_i, 16 * c, b->ch[c].par_read[0], 16);
        unit_set_slice(b->par_bias_i, 16 * c, b->ch[c].par_read[1], 16);
        unit_set_slice(b->ofm_data_i, 16 * COLS * c, b->ch[c].ofm_read, 16 * COLS);
    }
}

static void run_task(unit *u, bench *b) {
    load_factors(b);
    while (unit_ok(u) && !unit_go(&b->task_stall)) {
        cycle(u, b, false, false, false);
    }
    while (unit_ok(u) && !unit_go(&b->task_stall)) {
        cycle(u, b, true, false, false);
    }
    while (unit_ok(u) && !(chan_done(b, 0) && chan_done(b, 1) && unit_go(&b->task_stall))) {
        cycle(u, b, true, true, false);
    }
    if (unit_ok(u)) {
        cycle(u, b, true, true, true);
    }
    if (any_factors(b)) {
        b->par_base = (b->par_base + (task_of(b)->oc + 3) / 4) % PAR_WORDS;
    }
}

static void setup(unit *u, bench *b) {
    b->rng = unit_stream(u, "shape");
    b->rng_data = unit_stream(u, "values");
    b->task_stall = unit_stall_make(u, "task");
    b->tile_stall = unit_stall_make(u, "tile");
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        h->wr_req_stall = unit_stall_nth(u, "req", c);
        h->ps_req_stall = unit_stall_nth(u, "req", 2 + c);
        h->psum_stall = unit_stall_nth(u, "psum", 4 + c);
        h->wr_stall = unit_stall_nth(u, "wr", 6 + c);
        h->drain_stall = unit_stall_nth(u, "wr", 8 + c);
    }
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    int rc = 0;
    setup(u, b);
    b->tasks = (uint32_t)unit_knob(u, "tasks");
    const post_limits limits = {.pixels = (uint64_t)unit_knob(u, "pixels"),
                                .channels = (uint64_t)unit_knob(u, "channels"),
                                .group = (uint64_t)unit_knob(u, "group"),
                                .hard = unit_knob(u, "values") != 0,
                                .int16 = (int)unit_knob(u, "int16")};
    for (uint32_t i = 0; i < b->tasks && rc == 0; i++) {
        rc = post_work_make(&b->w[i], &limits, &b->rng, &b->rng_data);
    }
    if (rc == 0) {
        b->tile_walk = npu_score_post_walk_first(&b->w[0].order, NPU_WALK_GROUPS);
        unit_reset(u);
        for (b->current = 0; b->current < b->tasks && unit_ok(u); b->current++) {
            run_task(u, b);
        }
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        post_work_free(&b->w[i]);
    }
    return rc;
}

UNIT_BENCH("post", "sums to results, written back", knobs, TB_STATE(bench, PORTS), .constrain = constrain);
