/* dut: post_bench */
/*
 * Both post units on random tasks. The bench plays acc (tiles arrive, also of the next task), ofm_buf and par_buf, the read channel that brings partial sums and the
 * write channel. Requests, every result, the tiles given back and the end of a task are checked on each channel.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "npu_task.h"

#define N ((uint32_t)NPU_CFG_N)
#define TILE (2 * N)          /* pixels */
#define RING_TILES (1024 / N) /* tiles that ofm_buf holds */
#define RING_WORDS 512u       /* words of a column */
#define TASKS 8u
#define PAR_WORDS 256u

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"pixels", 1, 1500, TB_KNOB_UNIFORM, NULL, NULL, "most output pixels"},
    {"channels", 1, 100, TB_KNOB_UNIFORM, NULL, NULL, "most output channels"},
    {"group", 1, 128, TB_KNOB_SMALL, NULL, NULL, "most tiles written back together"},
    {"values", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: factors and biases are any floats"},
    UNIT_STALL_KNOB("task", "percent of cycles in which a task, its factors or its end wait"),
    UNIT_STALL_KNOB("tile", "percent of cycles without a new tile"),
    UNIT_STALL_KNOB("req", "percent of cycles in which requests wait"),
    UNIT_STALL_KNOB("psum", "percent of cycles without partial sums"),
    UNIT_STALL_KNOB("wr", "percent of cycles in which results wait"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "tasks", seed, 2, 6);
    tb_knobs_draw_in(k, "pixels", seed, 1, 1500);
    tb_knobs_draw_in(k, "channels", seed, 1, 3 * N);
}

typedef struct work {
    cm_gemm_task t;
    uint32_t pixels, tiles, ocb, group; /* group as the hardware clips it */
    int32_t *sums;                      /* [ocb][tile][column][pixel] */
    int32_t *psums;                     /* [oc][pixel] */
    uint32_t *oscale, *bias;            /* [align(oc, 4)] */
} work;

/* A position in the order of jobs of one channel: output block, first tile of the group, column, word. */
typedef struct walk {
    uint32_t ob, tile, col, word;
    bool end;
} walk;

typedef struct chan {
    walk wr_req, ps_req, ps_dat, wr_dat, group; /* requests; data; the group that is given back next (column unused) */
    uint64_t freed;
    bool psum_on;
    int32_t ofm_read[4]; /* what the buffers show from the next cycle on */
    uint32_t par_read[2][4];
    unit_stall wr_req_stall, ps_req_stall, psum_stall, wr_stall;
} chan;

typedef struct bench {
    tb_sig task_valid, task, par_ready, wait, done, tile, free, free_tiles, par_re, par_addr, par_oscale, par_bias, ofm_re, ofm_col,
        ofm_addr, ofm_data, ps_req_valid, ps_req_ready, ps_req_addr, ps_req_bytes, psum_valid, psum_ready, psum, wr_req_valid, wr_req_ready,
        wr_req_addr, wr_req_bytes, wr_valid, wr_ready, wr_data;
    work w[TASKS];
    uint32_t tasks, current;
    uint32_t tile_task, tile_ob, tile_index; /* next tile to arrive */
    uint64_t arrived;
    int32_t ring[32][RING_WORDS][4]; /* column, word */
    uint32_t par[2][PAR_WORDS][4];
    uint32_t par_base;
    chan ch[2];
    unit_stall task_stall, tile_stall;
    tb_rng rng, rng_data;
} bench;

/* ---- tasks ---- */

static uint32_t draw_float(const unit *u, bench *b) {
    const float real = tb_rng_f32_range(&b->rng_data, -2.0f, 2.0f);
    const uint32_t hard = tb_rng_f32_hard(&b->rng_data);
    uint32_t bits;
    memcpy(&bits, &real, 4);
    return unit_knob(u, "values") ? hard : bits;
}

static int make_work(const unit *u, bench *b, work *w) {
    const uint32_t bits = tb_rng_u32(&b->rng);
    cm_gemm_task *t = &w->t;
    t->raw_out = (bits & 3u) == 0;
    t->psum_add = (bits >> 2) & 1u;
    t->oscale_en = !t->raw_out && ((bits >> 3) & 3u) != 0;
    t->bias_en = !t->raw_out && ((bits >> 5) & 3u) != 0;
    t->act = !t->raw_out && ((bits >> 7) & 1u);
    const uint64_t most = (uint64_t)unit_knob(u, "pixels");
    const bool large = tb_rng_chance(&b->rng, 1, 2);
    const uint32_t pixels = (uint32_t)tb_rng_range(&b->rng, large ? most / 2 + 1 : 1, most);
    t->ow = (uint32_t)tb_rng_small(&b->rng, 1, pixels);
    t->oh = pixels / t->ow;
    t->oc = (uint32_t)tb_rng_range(&b->rng, 1, (uint64_t)unit_knob(u, "channels"));
    t->group = (uint32_t)tb_rng_range(&b->rng, 1, (uint64_t)unit_knob(u, "group"));
    t->ofm_addr = tb_rng_u32(&b->rng) & ~3u;
    t->psum_addr = tb_rng_u32(&b->rng) & ~3u;
    t->ofm_cstep = (t->ow * t->oh * 4 + 15 + (tb_rng_u32(&b->rng) & 0xfffu)) & ~15u;
    w->pixels = t->ow * t->oh;
    w->tiles = (w->pixels + TILE - 1) / TILE;
    w->ocb = (t->oc + N - 1) / N;
    w->group = t->group < 512 / N ? t->group : 512 / N;
    const size_t sums = (size_t)w->ocb * w->tiles * N * TILE;
    w->sums = malloc(sums * sizeof *w->sums);
    w->psums = malloc((size_t)t->oc * w->pixels * sizeof *w->psums);
    w->oscale = calloc(t->oc + 4u, sizeof *w->oscale);
    w->bias = calloc(t->oc + 4u, sizeof *w->bias);
    if (!w->sums || !w->psums || !w->oscale || !w->bias) {
        return -1;
    }
    for (size_t i = 0; i < sums; i++) {
        const uint32_t x = tb_rng_u32(&b->rng_data);
        w->sums[i] = (int32_t)(x >> (x % 29)) * ((x & 64u) ? 1 : -1);
    }
    tb_rng_fill(&b->rng_data, w->psums, (size_t)t->oc * w->pixels * sizeof *w->psums);
    for (uint32_t i = 0; i < t->oc; i++) {
        w->oscale[i] = draw_float(u, b);
        w->bias[i] = draw_float(u, b);
    }
    return 0;
}

/* ---- the order of jobs ---- */

static uint32_t group_tiles(const work *w, const walk *k) {
    const uint32_t left = w->tiles - k->tile;
    return left < w->group ? left : w->group;
}

static uint32_t job_pixels(const work *w, const walk *k) {
    const uint32_t left = w->pixels - k->tile * TILE;
    const uint32_t most = group_tiles(w, k) * TILE;
    return left < most ? left : most;
}

static uint32_t channel_of(const walk *k) {
    return k->ob * N + k->col;
}

static void next_group(const work *w, walk *k) {
    k->tile += group_tiles(w, k);
    if (k->tile >= w->tiles) {
        k->tile = 0;
        k->end = ++k->ob == w->ocb;
    }
}

/* To the next job of this channel; skips columns that do not exist. */
static void settle_job(const work *w, walk *k, uint32_t c) {
    while (!k->end && (k->col >= N || channel_of(k) >= w->t.oc)) {
        k->col = c;
        next_group(w, k);
    }
}

static void next_job(const work *w, walk *k, uint32_t c) {
    k->col += 2;
    k->word = 0;
    settle_job(w, k, c);
}

static walk first_job(const work *w, uint32_t c) {
    walk k = {.col = c};
    settle_job(w, &k, c);
    return k;
}

static void begin_task(bench *b) {
    const work *w = &b->w[b->current];
    npu_task_set(b->task, &w->t);
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        h->wr_req = h->wr_dat = first_job(w, c);
        h->ps_req = h->ps_dat = h->wr_req;
        h->ps_req.end = h->ps_dat.end = h->wr_req.end || !w->t.psum_add;
        h->group = (walk){0};
    }
    if (w->t.oscale_en || w->t.bias_en) {
        for (uint32_t i = 0; i < (w->t.oc + 3) / 4; i++) {
            memcpy(b->par[0][(b->par_base + i) % PAR_WORDS], &w->oscale[4 * i], 16);
            memcpy(b->par[1][(b->par_base + i) % PAR_WORDS], &w->bias[4 * i], 16);
        }
    }
}

/* ---- the surroundings ---- */

/* One more tile into ofm_buf when the ring has room on both channels. */
static void drive_tile(bench *b) {
    const uint64_t freed = b->ch[0].freed < b->ch[1].freed ? b->ch[0].freed : b->ch[1].freed;
    const bool come = unit_go(&b->tile_stall) && b->tile_task < b->tasks && b->arrived - freed < RING_TILES;
    tb_set(b->tile, come);
    if (!come) {
        return;
    }
    const work *w = &b->w[b->tile_task];
    const uint32_t slot = (uint32_t)(b->arrived % RING_TILES);
    for (uint32_t col = 0; col < N; col++) {
        const int32_t *src = &w->sums[(((size_t)b->tile_ob * w->tiles + b->tile_index) * N + col) * TILE];
        memcpy(b->ring[col][slot * (N / 2)], src, TILE * sizeof *src);
    }
    b->arrived++;
    if (++b->tile_index == w->tiles) {
        b->tile_index = 0;
        if (++b->tile_ob == w->ocb) {
            b->tile_ob = 0;
            b->tile_task++;
        }
    }
}

static void drive_psum(bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const work *w = &b->w[b->current];
    /* data only for requests that were taken before */
    const bool due = !h->ps_dat.end && (h->ps_req.end || memcmp(&h->ps_req, &h->ps_dat, offsetof(walk, word)) != 0);
    if (!h->psum_on && due) {
        h->psum_on = unit_go(&h->psum_stall);
    }
    tb_set_field(b->psum_valid, c, 1, h->psum_on);
    if (h->psum_on) {
        int32_t beat[4] = {0};
        for (uint32_t i = 0; i < 4 && 4 * h->ps_dat.word + i < job_pixels(w, &h->ps_dat); i++) {
            beat[i] = w->psums[(size_t)channel_of(&h->ps_dat) * w->pixels + h->ps_dat.tile * TILE + 4 * h->ps_dat.word + i];
        }
        unit_set_slice(b->psum, 16 * c, beat, 16);
    }
}

static void sample_psum(bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const work *w = &b->w[b->current];
    if (h->psum_on && tb_get_field(b->psum_ready, c, 1)) {
        h->psum_on = false;
        if (4 * ++h->ps_dat.word >= job_pixels(w, &h->ps_dat)) {
            next_job(w, &h->ps_dat, c);
        }
    }
}

static void sample_request(unit *u, bench *b, uint32_t c, bool write) {
    chan *h = &b->ch[c];
    const work *w = &b->w[b->current];
    walk *k = write ? &h->wr_req : &h->ps_req;
    const tb_sig valid = write ? b->wr_req_valid : b->ps_req_valid;
    const tb_sig ready = write ? b->wr_req_ready : b->ps_req_ready;
    if (!tb_get_field(valid, c, 1) || !tb_get_field(ready, c, 1)) {
        return;
    }
    if (k->end) {
        unit_fail(u, "request", "channel %" PRIu32 ", cycle %" PRIu64 ": a %s request too many", c, u->cycle, write ? "write" : "read");
        return;
    }
    const uint32_t base = write ? w->t.ofm_addr : w->t.psum_addr;
    const uint32_t addr = base + channel_of(k) * w->t.ofm_cstep + 4 * k->tile * TILE;
    unit_expect_value(u, "request address", tb_get_field(write ? b->wr_req_addr : b->ps_req_addr, 32 * c, 32), addr);
    unit_expect_value(u, "request bytes", tb_get_field(write ? b->wr_req_bytes : b->ps_req_bytes, 24 * c, 24), 4 * job_pixels(w, k));
    next_job(w, k, c);
}

static void sample_result(unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const work *w = &b->w[b->current];
    walk *k = &h->wr_dat;
    uint32_t got[4], expected[4];
    if (!tb_get_field(b->wr_valid, c, 1) || !tb_get_field(b->wr_ready, c, 1)) {
        return;
    }
    if (k->end) {
        unit_fail(u, "result", "channel %" PRIu32 ", cycle %" PRIu64 ": a word that no job needs", c, u->cycle);
        return;
    }
    unit_get_slice(b->wr_data, 16 * c, got, 16);
    const uint32_t left = job_pixels(w, k) - 4 * k->word;
    const uint32_t count = left < 4 ? left : 4;
    const uint32_t oc = channel_of(k);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t pixel = k->tile * TILE + 4 * k->word + i;
        const int32_t sum = w->sums[(((size_t)k->ob * w->tiles + pixel / TILE) * N + k->col) * TILE + pixel % TILE];
        expected[i] = cm_post(&w->t, sum, w->psums[(size_t)oc * w->pixels + pixel], w->oscale[oc], w->bias[oc]);
    }
    unit_compare(u, got, expected, count, "task %" PRIu32 ", output channel %" PRIu32 ", pixel %" PRIu32, b->current, oc,
                 k->tile * TILE + 4 * k->word);
    if (4 * ++k->word >= job_pixels(w, k)) {
        next_job(w, k, c);
    }
}

/* Reads of this cycle, and tiles that are given back. */
static void serve_reads(unit *u, bench *b, uint32_t c) {
    const uint32_t tw = b->free_tiles.width / 2;
    const uint32_t cw = b->ofm_col.width / 2;
    if (tb_get_field(b->par_re, c, 1)) {
        const uint32_t a = (uint32_t)tb_get_field(b->par_addr, 8 * c, 8);
        memcpy(b->ch[c].par_read[0], b->par[0][a], 16);
        memcpy(b->ch[c].par_read[1], b->par[1][a], 16);
    }
    if (tb_get_field(b->ofm_re, c, 1)) {
        const uint32_t col = 2 * (uint32_t)tb_get_field(b->ofm_col, cw * c, cw) + c;
        memcpy(b->ch[c].ofm_read, b->ring[col % N][tb_get_field(b->ofm_addr, tw * c, tw) % RING_WORDS], 16);
    }
    if (tb_get_field(b->free, c, 1)) {
        chan *h = &b->ch[c];
        const work *w = &b->w[b->current];
        const uint32_t tiles = h->group.end ? 0 : group_tiles(w, &h->group);
        unit_expect_value(u, "free_tiles_o", tb_get_field(b->free_tiles, tw * c, tw), tiles);
        for (uint32_t i = 0; i < tiles; i++) {
            const uint32_t slot = (uint32_t)((h->freed + i) % RING_TILES);
            for (uint32_t col = c; col < N; col += 2) { /* what was given back is garbage */
                memset(b->ring[col][slot * (N / 2)], 0xa5, TILE * 4);
            }
        }
        h->freed += tiles;
        next_group(w, &h->group);
    }
}

static bool chan_done(const bench *b, uint32_t c) {
    const chan *h = &b->ch[c];
    return h->wr_req.end && h->wr_dat.end && h->ps_dat.end && h->group.end && tb_get_field(b->wait, c, 1);
}

static void cycle(unit *u, bench *b, bool valid, bool par, bool done) {
    tb_set(b->task_valid, valid);
    tb_set(b->par_ready, par);
    tb_set(b->done, done);
    drive_tile(b);
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        tb_set_field(b->wr_req_ready, c, 1, unit_go(&h->wr_req_stall));
        tb_set_field(b->ps_req_ready, c, 1, unit_go(&h->ps_req_stall));
        tb_set_field(b->wr_ready, c, 1, unit_go(&h->wr_stall));
        drive_psum(b, c);
    }
    unit_settle(u);
    for (uint32_t c = 0; c < 2; c++) {
        if (tb_get_field(b->wait, c, 1) && !b->ch[c].wr_req.end) {
            unit_fail(u, "task_wait_o", "channel %" PRIu32 ", cycle %" PRIu64 ": waits for the end with requests still to come", c,
                      u->cycle);
        }
        sample_result(u, b, c);
        sample_psum(b, c);
        sample_request(u, b, c, true);
        sample_request(u, b, c, false);
        serve_reads(u, b, c);
    }
    unit_edge(u);
    for (uint32_t c = 0; c < 2; c++) {
        unit_set_slice(b->par_oscale, 16 * c, b->ch[c].par_read[0], 16);
        unit_set_slice(b->par_bias, 16 * c, b->ch[c].par_read[1], 16);
        unit_set_slice(b->ofm_data, 16 * c, b->ch[c].ofm_read, 16);
    }
}

static void run_task(unit *u, bench *b) {
    const work *w = &b->w[b->current];
    begin_task(b);
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
    if (w->t.oscale_en || w->t.bias_en) {
        b->par_base = (b->par_base + (w->t.oc + 3) / 4) % PAR_WORDS;
    }
}

static void setup(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->task_valid, "task_valid_i"},
                 {&b->task, "task_i"},
                 {&b->par_ready, "par_ready_i"},
                 {&b->wait, "task_wait_o"},
                 {&b->done, "task_done_i"},
                 {&b->tile, "tile_i"},
                 {&b->free, "free_o"},
                 {&b->free_tiles, "free_tiles_o"},
                 {&b->par_re, "par_re_o"},
                 {&b->par_addr, "par_addr_o"},
                 {&b->par_oscale, "par_oscale_i"},
                 {&b->par_bias, "par_bias_i"},
                 {&b->ofm_re, "ofm_re_o"},
                 {&b->ofm_col, "ofm_col_o"},
                 {&b->ofm_addr, "ofm_addr_o"},
                 {&b->ofm_data, "ofm_data_i"},
                 {&b->ps_req_valid, "psum_req_valid_o"},
                 {&b->ps_req_ready, "psum_req_ready_i"},
                 {&b->ps_req_addr, "psum_req_addr_o"},
                 {&b->ps_req_bytes, "psum_req_bytes_o"},
                 {&b->psum_valid, "psum_valid_i"},
                 {&b->psum_ready, "psum_ready_o"},
                 {&b->psum, "psum_i"},
                 {&b->wr_req_valid, "wr_req_valid_o"},
                 {&b->wr_req_ready, "wr_req_ready_i"},
                 {&b->wr_req_addr, "wr_req_addr_o"},
                 {&b->wr_req_bytes, "wr_req_bytes_o"},
                 {&b->wr_valid, "wr_valid_o"},
                 {&b->wr_ready, "wr_ready_i"},
                 {&b->wr_data, "wr_data_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
    b->rng = unit_stream(u, "shape");
    b->rng_data = unit_stream(u, "values");
    b->task_stall = unit_stall_make(u, "task");
    b->tile_stall = unit_stall_make(u, "tile");
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        h->wr_req_stall = h->ps_req_stall = unit_stall_make(u, "req");
        h->psum_stall = unit_stall_make(u, "psum");
        h->wr_stall = unit_stall_make(u, "wr");
        unit_stall *const all[] = {&h->wr_req_stall, &h->ps_req_stall, &h->psum_stall, &h->wr_stall};
        for (uint32_t i = 0; i < 4; i++) {
            all[i]->rng = tb_rng_fork(&all[i]->rng, 2 * i + c);
        }
    }
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || unit_expect_init(u, 4, "lane", 4, false) != 0) {
        free(b);
        return -1;
    }
    int rc = 0;
    setup(u, b);
    b->tasks = (uint32_t)unit_knob(u, "tasks");
    for (uint32_t i = 0; i < b->tasks && rc == 0; i++) {
        rc = make_work(u, b, &b->w[i]);
    }
    if (rc == 0) {
        unit_reset(u);
        for (b->current = 0; b->current < b->tasks && unit_ok(u); b->current++) {
            run_task(u, b);
        }
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        free(b->w[i].sums);
        free(b->w[i].psums);
        free(b->w[i].oscale);
        free(b->w[i].bias);
    }
    free(b);
    return rc;
}

const unit_bench unit_this_bench = {.name = "post",
                                    .about = "sums to results, written back",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
