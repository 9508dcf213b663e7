/* dut: ifm_ld */
/*
 * Tasks in sequence. The bench plays the queue, two layout units (jobs finish in order in each, at any time) and im2col (words are freed in task order at any time).
 * Checked: unit, order and fields of every job, no job before its task's words are free, the stride while jobs run, pixels ready never ahead of the jobs that are done
 * and never stuck behind them, the task given up when all is loaded and not before.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench.h"
#include "npu_task.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define RING 16384u
#define CHUNK 64u
#define JOBS 4u /* a layout unit holds */
#define TASKS_MAX 1000u
#define PATIENCE 4u /* cycles in which pix_ready may stay behind */
#define QUIET 40u   /* cycles to watch at the end */

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS_MAX, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"words", 1, RING, TB_KNOB_SMALL, NULL, NULL, "most words of a task, of 16384"},
    {"deep", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with many channel blocks and few pixels"},
    {"full", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks that take all words that there may be"},
    {"hoard", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: words are freed only when the next task needs them"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("job", "percent of cycles in which a layout unit takes no job"),
    UNIT_STALL_KNOB("done", "percent of cycles in which a layout unit finishes no job"),
    UNIT_STALL_KNOB("free", "percent of cycles in which im2col frees nothing"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_rng rng = tb_rng_stream(seed, "contention");
    if (tb_rng_chance(&rng, 1, 2)) { /* small tasks alone never fill the ring */
        tb_knobs_draw_in(k, "words", seed, tb_rng_chance(&rng, 1, 2) ? RING : 5000, RING);
        tb_knobs_draw_in(k, "full", seed, 15, 60);
    } else {
        tb_knobs_draw_in(k, "full", seed, 0, 25);
    }
    tb_knobs_draw_in(k, "tasks", seed, 3, tb_knobs_get(k, "words") > 4096 ? 6 : 12);
}

typedef struct bench {
    tb_sig task_valid, task, pop, free, free_words, job_valid, job_ready, job_addr, job_nch, job_cnt, job_waddr, job_stride, job_done,
        pix_ready;
    cm_gemm_task t;
    uint32_t pixels, icb, chunks, words, base; /* of the task on offer */
    bool on;
    uint32_t next_chunk, next_blk, jobs; /* next job of the task; jobs taken */
    uint32_t *chunk_done;                /* finished jobs of each chunk */
    uint32_t lead;                       /* leading chunks that are complete */
    uint32_t held[2][JOBS];              /* chunk of each job that a layout unit works on */
    uint32_t in[2], out[2];              /* jobs taken and finished by each unit */
    uint64_t pix_seen;
    uint32_t late;            /* cycles since pix_ready was behind and stood still */
    uint32_t size[TASKS_MAX]; /* words of each task */
    uint32_t popped, freed;   /* tasks */
    uint32_t used;            /* words of loaded tasks that are not freed, and of the one in progress once it has begun */
    bool begun, ready[2], done[2], freeing;
    bool waiting; /* a job was offered and not taken */
    unit_stall task_stall, job_stall[2], done_stall[2], free_stall;
    tb_rng rng;
} bench;

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static uint32_t draw_icb(const unit *u, bench *b, uint32_t words) {
    const bool deep = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "deep"), 100);
    const uint32_t most = least(words, (65535u + N - 1) / N);
    return deep ? (uint32_t)tb_rng_range(&b->rng, most / 4 + 1, most) : (uint32_t)tb_rng_small(&b->rng, 1, least(most, 16));
}

/* Inside the limits: at most 16384 words, at most 65535 channels. */
static void draw_task(const unit *u, bench *b) {
    const uint32_t most = (uint32_t)unit_knob(u, "words");
    const bool full = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "full"), 100);
    const uint32_t words =
        full ? most : (uint32_t)(tb_rng_chance(&b->rng, 1, 2) ? tb_rng_small(&b->rng, 1, most) : tb_rng_range(&b->rng, 1, most));
    cm_gemm_task *t = &b->t;
    task_noise_fields(&b->rng, t);
    b->icb = draw_icb(u, b, words);
    while (full && words % b->icb != 0) { /* nothing is left over */
        b->icb--;
    }
    const uint32_t area = words / b->icb;
    const bool whole = area >= CHUNK && tb_rng_chance(&b->rng, 1, 4); /* chunks only */
    t->iw = full ? area : whole ? CHUNK : (uint32_t)tb_rng_range(&b->rng, 1, area);
    t->ih = area / t->iw;
    if (tb_rng_chance(&b->rng, 1, 2)) {
        const uint32_t swap = t->iw;
        t->iw = t->ih;
        t->ih = swap;
    }
    const uint32_t high = least(b->icb * N, 65535);
    t->ic = tb_rng_chance(&b->rng, 1, 2) ? high : (uint32_t)tb_rng_range(&b->rng, (b->icb - 1) * N + 1, high);
    t->ifm_addr &= ~UINT32_C(3);
    t->ifm_cstep &= ~UINT32_C(15);
    b->pixels = t->iw * t->ih;
    b->chunks = (b->pixels + CHUNK - 1) / CHUNK;
    b->words = b->pixels * b->icb;
}

static void offer_task(const unit *u, bench *b) {
    draw_task(u, b);
    b->size[b->popped] = b->words;
    b->next_chunk = b->next_blk = b->jobs = b->lead = b->late = 0;
    b->in[0] = b->in[1] = b->out[0] = b->out[1] = 0;
    b->pix_seen = 0;
    b->begun = false;
    for (uint32_t c = 0; c < b->chunks; c++) {
        b->chunk_done[c] = 0;
    }
    npu_task_set(b->task, &b->t);
    b->on = true;
}

static void drive_free(const unit *u, bench *b) {
    const bool needed = b->on && !b->begun && b->used + b->words > RING;
    const bool keep = unit_knob(u, "hoard") == 1 && !needed;
    b->freeing = b->freed < b->popped && !keep && unit_go(&b->free_stall);
    tb_set(b->free, b->freeing);
    tb_set(b->free_words, b->freeing ? b->size[b->freed] : tb_rng_range(&b->rng, 0, RING));
}

static void drive(const unit *u, bench *b) {
    if (!b->on) {
        if (b->popped < (uint32_t)unit_knob(u, "tasks") && unit_go(&b->task_stall)) {
            offer_task(u, b);
        } else {
            task_noise_port(&b->rng, b->task);
        }
    }
    tb_set(b->task_valid, b->on);
    for (uint32_t i = 0; i < 2; i++) {
        b->ready[i] = b->in[i] - b->out[i] < JOBS && unit_go(&b->job_stall[i]);
        b->done[i] = b->on && b->out[i] < b->in[i] && unit_go(&b->done_stall[i]);
    }
    tb_set(b->job_ready, b->ready[0] | (uint32_t)b->ready[1] << 1);
    tb_set(b->job_done, b->done[0] | (uint32_t)b->done[1] << 1);
    drive_free(u, b);
}

static void expect_field(unit *u, const bench *b, const char *name, uint64_t got, uint64_t expected) {
    if (got != expected) {
        unit_fail(u, name,
                  "%s, task %" PRIu32 ", job %" PRIu32 " (chunk %" PRIu32 ", block %" PRIu32 "), cycle %" PRIu64 ": got 0x%" PRIx64
                  ", expected 0x%" PRIx64,
                  name, b->popped, b->jobs, b->next_chunk, b->next_blk, u->cycle, got, expected);
    }
}

static void check_job(unit *u, bench *b) {
    const uint32_t pixel = b->next_chunk * CHUNK;
    expect_field(u, b, "job_addr_o", tb_get(b->job_addr), (uint32_t)(b->t.ifm_addr + b->next_blk * N * b->t.ifm_cstep + 4 * pixel));
    expect_field(u, b, "job_nch_o", tb_get(b->job_nch), least(N, b->t.ic - b->next_blk * N));
    expect_field(u, b, "job_cnt_o", tb_get(b->job_cnt), least(CHUNK, b->pixels - pixel));
    expect_field(u, b, "job_waddr_o", tb_get(b->job_waddr), (b->base + pixel * b->icb + b->next_blk) % RING);
}

/* The job on offer, if any: in every cycle, so that it stands until it is taken. */
static void sample_job(unit *u, bench *b) {
    const uint64_t valid = tb_get(b->job_valid);
    u->hash = tb_hash_u64(u->hash, valid | tb_get(b->job_waddr) << 2 | u->cycle << 20);
    if (valid == 0) {
        if (b->waiting) {
            unit_fail(u, "job_valid_o", "job_valid_o, task %" PRIu32 ", job %" PRIu32 ", cycle %" PRIu64 ": fell before the job was taken",
                      b->popped, b->jobs, u->cycle);
        }
        return;
    }
    if (!b->on || b->next_chunk == b->chunks) {
        unit_fail(u, "job_valid_o", "job_valid_o, cycle %" PRIu64 ": got %" PRIu64 ", expected 0 (no job is left)", u->cycle, valid);
        return;
    }
    expect_field(u, b, "job_valid_o", valid, UINT64_C(1) << (b->jobs & 1u));
    if (!b->begun) {
        b->begun = true;
        b->used += b->words;
        if (b->used > RING) {
            unit_fail(u, "ring",
                      "task %" PRIu32 ", cycle %" PRIu64 ": a job while %" PRIu32
                      " words are not free, expected at most %u with the task's own %" PRIu32,
                      b->popped, u->cycle, b->used, RING, b->words);
        }
    }
    check_job(u, b);
    const uint32_t to = b->jobs & 1u;
    b->waiting = !b->ready[to];
    if (!b->waiting) {
        b->held[to][b->in[to]++ % JOBS] = b->next_chunk;
        b->jobs++;
        if (++b->next_blk == b->icb) {
            b->next_blk = 0;
            b->next_chunk++;
        }
    }
}

/* Jobs done up to the last cycle decide how many pixels may count as ready. */
static void sample_ready(unit *u, bench *b) {
    const uint64_t got = tb_get(b->pix_ready);
    const uint64_t most = b->on ? (uint64_t)b->lead * CHUNK : 0;
    if (got > most) {
        unit_fail(u, "pix_ready_o", "pix_ready_o, task %" PRIu32 ", cycle %" PRIu64 ": got %" PRIu64 ", expected at most %" PRIu64,
                  b->popped, u->cycle, got, most);
    } else if (b->on && got < b->pix_seen) {
        unit_fail(u, "pix_ready_o", "pix_ready_o, task %" PRIu32 ", cycle %" PRIu64 ": got %" PRIu64 " after %" PRIu64, b->popped, u->cycle,
                  got, b->pix_seen);
    }
    b->late = b->on && got < least((uint32_t)most, b->pixels) && got == b->pix_seen ? b->late + 1 : 0;
    if (b->late > PATIENCE) {
        unit_fail(u, "pix_ready_o late",
                  "pix_ready_o, task %" PRIu32 ", cycle %" PRIu64 ": got %" PRIu64 ", expected %" PRIu64 " some cycles ago", b->popped,
                  u->cycle, got, most);
    }
    b->pix_seen = got;
}

static void sample_pop(unit *u, bench *b) {
    if (!tb_get(b->pop)) {
        return;
    }
    if (!b->on || b->lead < b->chunks) {
        unit_fail(u, "task_pop_o",
                  "task_pop_o, task %" PRIu32 ", cycle %" PRIu64 ": got 1 after %" PRIu32 " of %" PRIu32 " chunks, expected 0", b->popped,
                  u->cycle, b->lead, b->on ? b->chunks : 0);
        return;
    }
    b->base = (b->base + b->words) % RING;
    b->begun = false; /* its words stay in `used` until they are freed */
    b->on = false;
    b->popped++;
}

static void note_done(bench *b) {
    for (uint32_t i = 0; i < 2; i++) {
        if (b->done[i]) {
            b->chunk_done[b->held[i][b->out[i]++ % JOBS]]++;
        }
    }
    while (b->lead < b->chunks && b->chunk_done[b->lead] == b->icb) {
        b->lead++;
    }
}

static void sample(unit *u, bench *b) {
    if (b->on && b->in[0] + b->in[1] > b->out[0] + b->out[1] && b->pixels > 1) {
        expect_field(u, b, "job_stride_o", tb_get(b->job_stride), b->icb);
    }
    sample_ready(u, b);
    sample_job(u, b);
    const bool was_on = b->on;
    sample_pop(u, b);
    if (was_on) {
        note_done(b);
    }
    if (b->freeing) {
        b->used -= b->size[b->freed++];
    }
}

static void find_ports(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {
        {&b->task_valid, "task_valid_i"}, {&b->task, "task_i"},           {&b->pop, "task_pop_o"},        {&b->free, "free_i"},
        {&b->free_words, "free_words_i"}, {&b->job_valid, "job_valid_o"}, {&b->job_ready, "job_ready_i"}, {&b->job_addr, "job_addr_o"},
        {&b->job_nch, "job_nch_o"},       {&b->job_cnt, "job_cnt_o"},     {&b->job_waddr, "job_waddr_o"}, {&b->job_stride, "job_stride_o"},
        {&b->job_done, "job_done_i"},     {&b->pix_ready, "pix_ready_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    uint32_t *chunk_done = calloc(RING / CHUNK + 1, sizeof *chunk_done);
    if (!b || !chunk_done) {
        free(b);
        free(chunk_done);
        return -1;
    }
    find_ports(u, b);
    b->chunk_done = chunk_done;
    b->rng = unit_stream(u, "shape");
    b->task_stall = unit_stall_make(u, "task");
    b->free_stall = unit_stall_make(u, "free");
    for (uint32_t i = 0; i < 2; i++) {
        b->job_stall[i] = unit_stall_make(u, "job");
        b->done_stall[i] = unit_stall_make(u, "done");
        b->job_stall[i].rng = tb_rng_fork(&b->job_stall[i].rng, i);
        b->done_stall[i].rng = tb_rng_fork(&b->done_stall[i].rng, i);
    }
    unit_reset(u);
    for (uint32_t quiet = 0; quiet < QUIET && unit_ok(u); quiet += b->popped == (uint32_t)unit_knob(u, "tasks")) {
        drive(u, b);
        unit_settle(u);
        sample(u, b);
        unit_edge(u);
    }
    free(chunk_done);
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "ifm_ld",
                                    .about = "layout jobs, ring and progress of the input loader",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
