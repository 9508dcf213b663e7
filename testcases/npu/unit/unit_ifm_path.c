/* dut: ifm_path_bench */
/*
 * The path of the input from memory to ifm_buf: loader, both layout units and the shared write port together. The bench
 * emulates the queue, two read channels with a latency (one beat a cycle each) and im2col, which frees pixels when they
 * count as ready. The units' checks compare jobs and words. This bench checks the time of all units together, for tasks
 * of one kind without stalls: at most 1 percent and 40 cycles above the bound of the structure, for INT8 that of the
 * busier of channels and write port, for FP32 see time_of().
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "npu_task.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define RING 16384u
#define CHUNK 64u
#define QUEUE 4u
#define BANKS 4u    /* of a layout unit */
#define JOBS 4u     /* that it runs ahead of its data */
#define REQS 16u    /* of a channel in flight */
#define BETWEEN 20u /* cycles that small tasks may lose between each other */

static const tb_knob knobs[] = {
    {"tasks", 1, 100, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"iw", 1, 1024, TB_KNOB_SMALL, NULL, NULL, "columns of the input, most of them with vary"},
    {"ih", 1, 1024, TB_KNOB_SMALL, NULL, NULL, "rows"},
    {"ic", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "channels"},
    {"int8", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with INT8 input"},
    {"gap", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: INT8 pixels do not follow each other without a gap"},
    {"vary", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: sizes are drawn up to iw, ih, ic"},
    {"latency", 1, 60, TB_KNOB_SMALL, NULL, NULL, "cycles from a request to its first beat"},
    UNIT_STALL_KNOB("req", "percent of cycles in which a request waits"),
    UNIT_STALL_KNOB("dat", "percent of cycles without data"),
    UNIT_STALL_KNOB("free", "percent of cycles in which im2col frees nothing"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    static const char *const stalls[] = {"stall_req", "stall_dat", "stall_free"};
    tb_rng rng = tb_rng_stream(seed, "speed");
    if (tb_rng_chance(&rng, 2, 5)) { /* measure: tasks of one kind and size */
        const int64_t int8 = tb_rng_chance(&rng, 1, 3) ? 100 : 0;
        for (uint32_t i = 0; i < sizeof stalls / sizeof *stalls; i++) {
            tb_knobs_draw_in(k, stalls[i], seed, 0, 0);
        }
        tb_knobs_draw_in(k, "int8", seed, int8, int8);
        tb_knobs_draw_in(k, "latency", seed, 1, 20);
        tb_knobs_draw_in(k, "vary", seed, 0, 0);
    }
    tb_knobs_draw_in(k, "tasks", seed, 1, 6);
    tb_knobs_draw_in(k, "iw", seed, 1, 100);
    tb_knobs_draw_in(k, "ih", seed, 1, 40);
    tb_knobs_draw_in(k, "ic", seed, 1, tb_knobs_get(k, "iw") * tb_knobs_get(k, "ih") > 400 ? 80 : 300);
}

typedef struct request {
    uint32_t addr, left; /* bytes */
    uint64_t due;        /* cycle of the first beat */
} request;

typedef struct channel {
    request queue[REQS];
    uint32_t in, out;
    bool ready, dat_on;
    uint64_t beats;
    unit_stall req_stall, dat_stall;
} channel;

typedef struct map {
    cm_gemm_task t;
    uint32_t pixels, icb;
} map;

#define PORTS                                                                                                          \
    task_valid_i, task_i, task_pop_o, free_i, free_words_i, pix_ready_o, loaded_o, req_valid_o, req_ready_i,           \
        req_addr_o[2], req_bytes_o[2], dat_valid_i, dat_ready_o, dat_i[2], we_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
    map maps[QUEUE + 1];
    uint32_t offered, popped; /* tasks */
    channel chan[2];
    uint64_t words;
    uint32_t use_task, use_pixel, use_ready; /* im2col: next pixel to free, pixels of the task that are ready */
    uint32_t loaded_seen;
    uint32_t freeing;
    uint64_t begin, end; /* cycles of the first offer and of the last task loaded */
    unit_stall free_stall;
    tb_rng rng, memory;
} bench;

/* Memory: floats around the quantiser's range. */
static uint32_t word_at(const bench *b, uint32_t addr) {
    const uint64_t h = tb_rng_at(&b->memory, addr / 4);
    const float real = (float)((int32_t)(h >> 40) - (1 << 23)) * (140.0f / (float)(1 << 23));
    uint32_t bits;
    memcpy(&bits, &real, 4);
    return bits;
}

static uint32_t draw_size(const unit *u, bench *b, const char *name) {
    const uint32_t most = (uint32_t)unit_knob(u, name);
    return unit_knob(u, "vary") == 1 ? (uint32_t)tb_rng_small(&b->rng, 1, most) : most;
}

static void draw_task(const unit *u, bench *b, map *m) {
    cm_gemm_task *t = &m->t;
    task_noise_fields(&b->rng, t);
    t->iw = draw_size(u, b, "iw");
    t->ih = draw_size(u, b, "ih");
    t->ic = tb_min_u32(draw_size(u, b, "ic"), RING * N);
    t->nhwc_in = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "int8"), 100);
    m->icb = (t->ic + N - 1) / N;
    m->pixels = t->iw * t->ih;
    if (tb_min_u32(m->pixels, CHUNK) * m->icb > RING ||
        m->pixels > 65535) { /* a chunk must fit, and sizes have 16 bits */
        t->iw = t->ih = m->pixels = 1;
    }
    const float real = tb_rng_f32_range(&b->rng, 0.5f, 2.0f);
    memcpy(&t->in_scale, &real, 4);
    t->ifm_addr = tb_rng_u32(&b->rng) & 0x00fffff0u;
    t->ifm_cstep = (m->pixels * 4 + 15) & ~15u;
    if (t->nhwc_in) {
        const uint32_t gap = unit_knob(u, "gap") == 1 ? (uint32_t)tb_rng_range(&b->rng, 1, 8) * N : 0;
        t->ifm_addr += (uint32_t)tb_rng_range(&b->rng, 0, 3) * N;
        t->ifm_cstep = m->icb * N + gap;
    }
}

static void offer_task(const unit *u, bench *b) {
    map *m = &b->maps[b->offered % (QUEUE + 1)];
    draw_task(u, b, m);
    npu_task_set(b->task_i, &m->t);
    b->begin = b->offered == 0 ? u->cycle : b->begin;
    b->offered++;
}

static void drive_channel(const unit *u, bench *b, uint32_t c) {
    channel *ch = &b->chan[c];
    ch->ready = ch->in - ch->out < REQS && unit_go(&ch->req_stall);
    if (!ch->dat_on && ch->in != ch->out && u->cycle >= ch->queue[ch->out % REQS].due && unit_go(&ch->dat_stall)) {
        uint32_t beat[5];
        const uint32_t addr = ch->queue[ch->out % REQS].addr;
        for (uint32_t i = 0; i < 5; i++) {
            beat[i] = word_at(b, (addr & ~3u) + 4 * i);
        }
        unit_set_slice(b->dat_i[c], 0, (const uint8_t *)beat + addr % 4, 16);
        ch->dat_on = true;
    }
}

/* Pixels that are ready are freed some time later. */
static void drive_free(bench *b) {
    const map *m = &b->maps[b->use_task % (QUEUE + 1)];
    b->freeing = b->use_ready > b->use_pixel && unit_go(&b->free_stall) ? b->use_ready - b->use_pixel : 0;
    tb_set(b->free_i, b->freeing > 0);
    tb_set(b->free_words_i, b->freeing * m->icb);
}

static void drive(const unit *u, bench *b) {
    const bool on = b->offered > b->popped;
    if (!on && b->offered < (uint32_t)unit_knob(u, "tasks") && b->offered - b->use_task < QUEUE) {
        offer_task(u, b);
    }
    tb_set(b->task_valid_i, b->offered > b->popped);
    drive_channel(u, b, 0);
    drive_channel(u, b, 1);
    drive_free(b);
    tb_set(b->req_ready_i, b->chan[0].ready | (uint32_t)b->chan[1].ready << 1);
    tb_set(b->dat_valid_i, b->chan[0].dat_on | (uint32_t)b->chan[1].dat_on << 1);
}

static void sample_channel(bench *b, const unit *u, uint32_t c) {
    channel *ch = &b->chan[c];
    if (ch->dat_on && (tb_get(b->dat_ready_o) >> c & 1u)) {
        request *r = &ch->queue[ch->out % REQS];
        ch->dat_on = false;
        ch->beats++;
        r->addr += 16;
        r->left -= tb_min_u32(16, r->left);
        ch->out += r->left == 0;
    }
    if (ch->ready && (tb_get(b->req_valid_o) >> c & 1u)) {
        ch->queue[ch->in++ % REQS] = (request){.addr = (uint32_t)tb_get(b->req_addr_o[c]),
                                               .left = (uint32_t)tb_get(b->req_bytes_o[c]),
                                               .due = u->cycle + (uint64_t)unit_knob(u, "latency")};
    }
}

/* Progress by the unit's outputs, for the current task of im2col. */
static void sample_ready(const unit *u, bench *b) {
    const map *m = &b->maps[b->use_task % (QUEUE + 1)];
    if (tb_get(b->loaded_o) != b->loaded_seen % 8) {
        b->loaded_seen++;
        b->end = u->cycle;
    }
    b->use_ready = b->loaded_seen > b->use_task ? m->pixels
                   : b->use_task < b->offered && b->use_task == b->loaded_seen
                       ? tb_min_u32((uint32_t)tb_get(b->pix_ready_o), m->pixels)
                       : 0;
}

static void sample(const unit *u, bench *b) {
    sample_ready(u, b);
    b->words += tb_get(b->we_o) != 0;
    sample_channel(b, u, 0);
    sample_channel(b, u, 1);
    b->popped += tb_get(b->task_pop_o) != 0;
    b->use_pixel += b->freeing;
    if (b->freeing > 0 && b->use_pixel == b->maps[b->use_task % (QUEUE + 1)].pixels) {
        b->use_task++;
        b->use_pixel = b->use_ready = 0;
    }
}

/* ---- the time of FP32 tasks ---- */

/* A job of a layout unit: a block of channels of a chunk. */
typedef struct job {
    uint32_t words, beats;
    uint64_t due; /* cycle of its first beat */
} job;

typedef struct flow {
    job queue[JOBS];
    uint32_t words[BANKS];           /* that full banks still hold */
    uint64_t given, filled, drained; /* jobs */
    uint64_t asked;                  /* cycle in which all requests are out */
} flow;

/* Tasks of one size, and the next job; chunk: of all tasks. */
typedef struct plan {
    uint32_t tasks, pixels, ic, icb, chunks, latency, chunk, blk;
} plan;

/*
 * In order, block by block and chunk by chunk, alternating between the units (docs/npu/npu.md section 4.2): the next
 * job waits for its own unit.
 */
static void hand_out(flow flows[2], plan *p, uint64_t cycle) {
    flow *f = &flows[(p->chunk + p->blk) % 2];
    if (p->chunk == p->tasks * p->chunks || f->given - f->filled == JOBS || cycle < f->asked) {
        return;
    }
    const uint32_t nch = tb_min_u32(N, p->ic - p->blk * N),
                   pixels = tb_min_u32(CHUNK, p->pixels - p->chunk % p->chunks * CHUNK);
    f->queue[f->given++ % JOBS] =
        (job){.words = pixels, .beats = nch * ((pixels + 3) / 4), .due = cycle + p->latency + 1};
    f->asked = cycle + nch;
    p->blk = (p->blk + 1) % p->icb;
    p->chunk += p->blk == 0;
}

/* A beat a cycle, while one of the banks is free. */
static void fill(flow *f, uint64_t cycle) {
    job *j = &f->queue[f->filled % JOBS];
    if (f->filled == f->given || cycle < j->due || f->filled - f->drained == BANKS || --j->beats > 0) {
        return;
    }
    f->words[f->filled++ % BANKS] = j->words;
}

/*
 * Cycles that the tasks need in such a structure: a bank holds one job, its words leave when all of its channels are
 * there, and both units share one write port. So jobs of few pixels, the end of most maps, cannot overtake the long
 * ones before them: they occupy all banks while the port is busy, the channels stall, and afterwards the port waits for
 * the first long job. The bound of channels or port alone would be lower.
 */
static uint64_t time_of(plan p) {
    flow f[2] = {{.given = 0}};
    uint64_t cycle = 0;
    uint32_t turn = 0;
    for (bool more = true; more; cycle++) {
        turn = f[turn].filled != f[turn].drained ? turn : 1 - turn;
        flow *out = &f[turn];
        if (out->filled != out->drained) {
            out->drained += --out->words[out->drained % BANKS] == 0;
            turn = 1 - turn;
        }
        fill(&f[0], cycle);
        fill(&f[1], cycle);
        hand_out(f, &p, cycle);
        more = p.chunk < p.tasks * p.chunks || f[0].given != f[0].drained || f[1].given != f[1].drained;
    }
    return cycle;
}

static void check_time(unit *u, const bench *b) {
    const channel *c = b->chan;
    const bool mixed = unit_knob(u, "vary") == 1 || unit_knob(u, "int8") % 100 != 0;
    if (mixed || c[0].req_stall.percent + c[1].dat_stall.percent + b->free_stall.percent != 0) {
        return;
    }
    uint64_t need = c[0].beats > c[1].beats ? c[0].beats : c[1].beats;
    need = b->words > need ? b->words : need;
    /* the number of requests in flight is limited, each for at least a latency, which delays short ones */
    const uint64_t latency = (uint64_t)unit_knob(u, "latency");
    const uint64_t waits = (c[0].in > c[1].in ? c[0].in : c[1].in) * (latency + 2) / REQS;
    const map *m = &b->maps[0];
    const plan p = {.tasks = b->offered,
                    .pixels = m->pixels,
                    .ic = m->t.ic,
                    .icb = m->icb,
                    .chunks = (m->pixels + CHUNK - 1) / CHUNK,
                    .latency = (uint32_t)latency};
    uint64_t best = m->t.nhwc_in ? need + latency : time_of(p);
    best = waits + latency > best ? waits + latency : best;
    const uint64_t most = best + best / 100 + 40 + (uint64_t)(b->offered - 1) * BETWEEN;
    if (b->end - b->begin > most) {
        unit_fail(u, "time",
                  "%" PRIu64 " cycles for %" PRIu64 " and %" PRIu64 " beats on the channels and %" PRIu64
                  " words, which take %" PRIu64 " at best, expected at most %" PRIu64,
                  b->end - b->begin, c[0].beats, c[1].beats, b->words, best, most);
    }
}

static void setup(const unit *u, bench *b) {
    channel *c = b->chan;
    for (uint32_t i = 0; i < 2; i++) {
        c[i].req_stall = unit_stall_nth(u, "req", i);
        c[i].dat_stall = unit_stall_nth(u, "dat", i);
    }
    b->free_stall = unit_stall_make(u, "free");
    b->rng = unit_stream(u, "shape");
    b->memory = unit_stream(u, "memory");
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    setup(u, b);
    unit_reset(u);
    while (unit_ok(u) && b->use_task < (uint32_t)unit_knob(u, "tasks")) {
        drive(u, b);
        unit_settle(u);
        sample(u, b);
        unit_edge(u);
    }
    if (unit_ok(u)) {
        check_time(u, b);
    }
    return 0;
}

UNIT_BENCH("ifm_path", "input from memory to ifm_buf: speed", knobs, TB_STATE(bench, PORTS), .constrain = constrain);
