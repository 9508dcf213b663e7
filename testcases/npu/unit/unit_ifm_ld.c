/* dut: ifm_ld */
/*
 * Tasks in sequence. The bench models the queue, two layout units (jobs finish in order in each, at any time) and
 * im2col (words that have arrived are freed in order, in any parts).
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "npu_task.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define RING 16384u
#define CHUNK 64u
#define CHUNKS_MAX 1024u
#define JOBS 6u /* a layout unit holds */
#define TASKS_MAX 1000u
#define QUEUE 4u  /* tasks between the first job and the last freed word */
#define QUIET 40u /* cycles to watch at the end */

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS_MAX, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"words", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "most words of a task (the ring has 16384)"},
    {"deep", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with many channel blocks and few pixels"},
    {"full", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks with the largest number of words"},
    {"int8", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with INT8 input"},
    UNIT_INT16_KNOB,
    {"hoard", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: words are freed only when the next chunk needs them"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("job", "percent of cycles in which a layout unit accepts no job"),
    UNIT_STALL_KNOB("done", "percent of cycles in which a layout unit finishes no job"),
    UNIT_STALL_KNOB("free", "percent of cycles in which im2col frees nothing"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_rng rng = tb_rng_stream(seed, "contention");
    if (tb_rng_chance(&rng, 1, 2)) { /* small tasks alone never fill the ring */
        tb_knobs_draw_in(k, "words", seed, tb_rng_chance(&rng, 1, 2) ? RING : 5000,
                         tb_rng_chance(&rng, 1, 2) ? RING : 40000);
        tb_knobs_draw_in(k, "full", seed, 15, 60);
    } else {
        tb_knobs_draw_in(k, "full", seed, 0, 25);
    }
    tb_knobs_draw_in(k, "tasks", seed, 3, tb_knobs_get(k, "words") > 4096 ? 6 : 12);
}

/* A task between its offer and its last freed word. */
typedef struct map {
    cm_gemm_task t;
    uint32_t pixels, icb, chunks;
    uint32_t icw;              /* words of a pixel */
    uint32_t done[CHUNKS_MAX]; /* finished jobs of each chunk */
    uint32_t lead;             /* leading chunks that are complete */
    uint32_t freed;            /* words */
} map;

#define PORTS task_valid_i, task_i, task_pop_o, free_i, free_words_i, job_valid_o, job_ready_i, job_done_i, loaded_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
    map maps[QUEUE + 1];           /* by task number */
    uint32_t popped;               /* tasks whose jobs are all issued: the number of the current one */
    bool on, begun;                /* begun: words of the next chunk are allocated */
    uint32_t next_chunk, next_blk; /* next job */
    uint32_t held[2][JOBS];        /* task and chunk of each job that a layout unit works on */
    uint32_t in[2], out[2];        /* jobs accepted and finished by each unit */
    uint32_t loaded_seen;          /* tasks, by the unit's output */
    uint32_t free_task, used;
    uint32_t freeing; /* words */
    bool ready[2], done[2];
    unit_stall task_stall, job_stall[2], done_stall[2], free_stall;
    tb_rng rng, rng_wide;
} bench;

static map *map_of(bench *b, uint32_t task) {
    return &b->maps[task % (QUEUE + 1)];
}

/* Words of the first `chunks` chunks. */
static uint32_t words_of(const map *m, uint32_t chunks) {
    return tb_min_u32(chunks * CHUNK, m->pixels) * m->icw;
}

static uint32_t draw_icb(const unit *u, bench *b, uint32_t words) {
    const bool deep = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "deep"), 100);
    const uint32_t most = tb_min_u32(tb_min_u32(words, RING), (65535u + N - 1) / N);
    return deep ? (uint32_t)tb_rng_range(&b->rng, most / 4 + 1, most)
                : (uint32_t)tb_rng_small(&b->rng, 1, tb_min_u32(most, 16));
}

/* Inside the limits: a chunk fits into the ring, at most 65535 channels. */
static void draw_task(const unit *u, bench *b, map *m) {
    const uint32_t most = (uint32_t)unit_knob(u, "words");
    const bool full = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "full"), 100);
    const uint32_t words = full ? most
                                : (uint32_t)(tb_rng_chance(&b->rng, 1, 2) ? tb_rng_small(&b->rng, 1, most)
                                                                          : tb_rng_range(&b->rng, 1, most));
    cm_gemm_task *t = &m->t;
    task_noise_fields(&b->rng, t);
    t->nhwc_in = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "int8"), 100);
    t->wide = unit_int16(&b->rng_wide, (int)unit_knob(u, "int16")) && words > 1;
    m->icb = draw_icb(u, b, words >> t->wide);
    while (full && (words >> t->wide) % m->icb != 0) { /* no partial chunk */
        m->icb--;
    }
    while (m->icb << t->wide > RING) {
        m->icb /= 2;
    }
    m->icw = m->icb << t->wide;
    uint32_t area = words / m->icw;
    if (tb_min_u32(area, CHUNK) * m->icw > RING) {
        area = RING / m->icw;
    }
    const bool whole = area >= CHUNK && tb_rng_chance(&b->rng, 1, 4); /* chunks only */
    t->iw = full ? area : whole ? CHUNK : (uint32_t)tb_rng_range(&b->rng, 1, area);
    t->ih = area / t->iw;
    if (tb_rng_chance(&b->rng, 1, 2)) {
        const uint32_t swap = t->iw;
        t->iw = t->ih;
        t->ih = swap;
    }
    const uint32_t high = tb_min_u32(m->icb * N, 65535);
    t->ic = tb_rng_chance(&b->rng, 1, 2) ? high : (uint32_t)tb_rng_range(&b->rng, (m->icb - 1) * N + 1, high);
    t->ifm_addr &= ~UINT32_C(3);
    t->ifm_cstep &= ~UINT32_C(15);
    m->pixels = t->iw * t->ih;
    m->chunks = (m->pixels + CHUNK - 1) / CHUNK;
    m->lead = m->freed = 0;
    memset(m->done, 0, sizeof m->done);
}

static void offer_task(const unit *u, bench *b) {
    map *m = map_of(b, b->popped);
    draw_task(u, b, m);
    b->next_chunk = b->next_blk = 0;
    b->begun = false;
    npu_task_set(b->task_i, &m->t);
    b->on = true;
}

/* im2col: some of the words that have arrived, or all of them. */
static void drive_free(const unit *u, bench *b) {
    const map *next = map_of(b, b->popped);
    const bool chunk =
        b->on && !b->begun && b->used + words_of(next, b->next_chunk + 1) - words_of(next, b->next_chunk) > RING;
    const bool needed = chunk || b->popped - b->free_task == QUEUE;
    const bool keep = unit_knob(u, "hoard") == 1 && !needed;
    const map *m = map_of(b, b->free_task);
    const bool started = b->free_task < b->popped || (b->on && b->free_task == b->popped);
    const uint32_t there = started ? words_of(m, m->lead) - m->freed : 0;
    b->freeing = 0;
    if (there > 0 && !keep && unit_go(&b->free_stall)) {
        b->freeing = tb_rng_chance(&b->rng, 1, 2) ? there : (uint32_t)tb_rng_range(&b->rng, 1, there);
    }
    tb_set(b->free_i, b->freeing > 0);
    tb_set(b->free_words_i, b->freeing > 0 ? b->freeing : tb_rng_range(&b->rng, 0, RING));
}

static void drive(const unit *u, bench *b) {
    if (!b->on) {
        if (b->popped < (uint32_t)unit_knob(u, "tasks") && b->popped - b->free_task < QUEUE &&
            unit_go(&b->task_stall)) {
            offer_task(u, b);
        } else {
            task_noise_port(&b->rng, b->task_i);
        }
    }
    tb_set(b->task_valid_i, b->on);
    for (uint32_t i = 0; i < 2; i++) {
        b->ready[i] = b->in[i] - b->out[i] < JOBS && unit_go(&b->job_stall[i]);
        b->done[i] = b->out[i] < b->in[i] && unit_go(&b->done_stall[i]);
    }
    tb_set(b->job_ready_i, b->ready[0] | (uint32_t)b->ready[1] << 1);
    tb_set(b->job_done_i, b->done[0] | (uint32_t)b->done[1] << 1);
    drive_free(u, b);
}

static void take_job(bench *b, uint32_t to) {
    const map *m = map_of(b, b->popped);
    b->held[to][b->in[to]++ % JOBS] = b->popped * CHUNKS_MAX + b->next_chunk;
    if (m->t.nhwc_in || ++b->next_blk == m->icb) {
        b->next_blk = 0;
        b->next_chunk++;
        b->begun = false;
    }
}

/* The presented job, if any; the first one of a chunk allocates the space. */
static void sample_job(bench *b) {
    const uint64_t valid = tb_get(b->job_valid_o);
    if (valid == 0 || !b->on) {
        return;
    }
    const map *m = map_of(b, b->popped);
    b->used += b->begun ? 0 : words_of(m, b->next_chunk + 1) - words_of(m, b->next_chunk);
    b->begun = true;
    if (b->ready[valid >> 1 & 1u]) {
        take_job(b, valid >> 1 & 1u);
    }
}

static void note_done(bench *b) {
    for (uint32_t i = 0; i < 2; i++) {
        if (b->done[i]) {
            const uint32_t held = b->held[i][b->out[i]++ % JOBS];
            map *m = map_of(b, held / CHUNKS_MAX);
            m->done[held % CHUNKS_MAX]++;
            while (m->lead < m->chunks && m->done[m->lead] == (m->t.nhwc_in ? 1 : m->icb)) {
                m->lead++;
            }
        }
    }
}

static void sample(bench *b) {
    b->loaded_seen += tb_get(b->loaded_o) != b->loaded_seen % 8;
    sample_job(b);
    if (tb_get(b->task_pop_o)) {
        b->on = false;
        b->popped++;
    }
    note_done(b);
    map *m = map_of(b, b->free_task);
    b->used -= b->freeing;
    m->freed += b->freeing;
    if (b->freeing > 0 && m->freed == words_of(m, m->chunks)) {
        b->free_task++;
    }
}

static void find_ports(unit *u, bench *b) {
    b->rng = unit_stream(u, "shape");
    b->rng_wide = unit_stream(u, "int16");
    b->task_stall = unit_stall_make(u, "task");
    b->free_stall = unit_stall_make(u, "free");
    unit_stalls(u, "job", b->job_stall, 2);
    unit_stalls(u, "done", b->done_stall, 2);
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    find_ports(u, b);
    unit_reset(u);
    for (uint32_t quiet = 0; quiet < QUIET && unit_ok(u); quiet += b->loaded_seen == (uint32_t)unit_knob(u, "tasks")) {
        drive(u, b);
        unit_settle(u);
        sample(b);
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("ifm_ld", "layout jobs, ring and progress of the input loader", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
