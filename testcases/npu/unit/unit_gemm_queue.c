/* dut: gemm_queue */
/*
 * Tasks of random bits, offered in any rhythm, against a list in C. Each engine pops at its own speed; the last one (write-back) never overtakes another one, as in
 * the machine. Checked in every cycle: ready with and without a fence, every engine's valid, pointer and task, busy.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench.h"
#include "task_noise.h"

#define ENGINES 6u
#define LAST (ENGINES - 1u)
#define DEPTH 4u
#define WORDS ((TASK_BITS + 31u) / 32u)
#define FENCE_BIT (TASK_BITS - 3u) /* below the two bits of op */

static const tb_knob knobs[] = {
    {"tasks", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"fences", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks with a fence"},
    {"order", 0, 2, TB_KNOB_WEIGHTED, NULL, (const uint32_t[]){2, 1, 1},
     "0: every engine at the same speed; 1: write-back slow; 2: one engine very slow"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("pop", "percent of cycles in which an engine keeps its task"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "tasks", seed, 50, 400);
    tb_knobs_draw_in(k, "fences", seed, 0, 60);
}

typedef struct bench {
    tb_sig valid, ready, task, engine_valid, engine_task, pop, ptr, busy;
    uint32_t kept[DEPTH][WORDS];
    uint32_t offer[WORDS];
    uint64_t pushed, popped[ENGINES];
    bool on, fence;
    uint32_t pops; /* of this cycle */
    unit_stall task_stall, pop_stall[ENGINES];
    tb_rng rng;
} bench;

static uint32_t bits_of_word(uint32_t w) {
    return w == WORDS - 1 ? TASK_BITS - 32 * (WORDS - 1) : 32;
}

static void read_task(tb_sig port, uint32_t index, uint32_t *dst) {
    for (uint32_t w = 0; w < WORDS; w++) {
        dst[w] = (uint32_t)tb_get_field(port, TASK_BITS * index + 32 * w, bits_of_word(w));
    }
}

static void drive(const unit *u, bench *b) {
    if (!b->on) {
        task_noise_port(&b->rng, b->task);
        b->fence = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "fences"), 100);
        tb_set_field(b->task, FENCE_BIT, 1, b->fence);
        b->on = b->pushed < (uint64_t)unit_knob(u, "tasks") && unit_go(&b->task_stall);
        read_task(b->task, 0, b->offer);
    }
    tb_set(b->valid, b->on);
    b->pops = 0;
    for (uint32_t e = 0; e < ENGINES; e++) {
        bool may = b->popped[e] < b->pushed && unit_go(&b->pop_stall[e]);
        for (uint32_t i = 0; e == LAST && i < LAST; i++) {
            may = may && b->popped[i] > b->popped[LAST];
        }
        b->pops |= (uint32_t)may << e;
    }
    tb_set(b->pop, b->pops);
}

static void check_engine(unit *u, const bench *b, uint32_t e) {
    const bool valid = tb_get(b->engine_valid) >> e & 1u;
    const bool expected = b->popped[e] < b->pushed;
    const uint64_t ptr = tb_get_field(b->ptr, 3 * e, 3);
    if (valid != expected) {
        unit_fail(u, "valid_o", "valid_o of engine %" PRIu32 ", cycle %" PRIu64 ": got %d, expected %d", e, u->cycle, valid, expected);
    } else if (ptr != (b->popped[e] & 7u)) {
        unit_fail(u, "ptr_o", "ptr_o of engine %" PRIu32 ", cycle %" PRIu64 ": got %" PRIu64 ", expected %" PRIu64, e, u->cycle, ptr,
                  b->popped[e] & 7u);
    } else if (valid) {
        uint32_t got[WORDS];
        read_task(b->engine_task, e, got);
        unit_compare(u, got, b->kept[b->popped[e] % DEPTH], WORDS, "engine %" PRIu32 ", task %" PRIu64, e, b->popped[e]);
    }
}

static void sample(unit *u, bench *b) {
    const uint64_t held = b->pushed - b->popped[LAST];
    const bool ready = tb_get(b->ready) != 0;
    if (b->on) {
        const bool expected = held < DEPTH && (!b->fence || held == 0);
        if (ready != expected) {
            unit_fail(u, "task_ready_o",
                      "task_ready_o for task %" PRIu64 " (fence %d, %" PRIu64 " held), cycle %" PRIu64 ": got %d, expected %d", b->pushed,
                      b->fence, held, u->cycle, ready, expected);
        }
    }
    unit_expect_value(u, "busy_o", tb_get(b->busy), held > 0);
    for (uint32_t e = 0; e < ENGINES && unit_ok(u); e++) {
        check_engine(u, b, e);
    }
    for (uint32_t e = 0; e < ENGINES; e++) {
        b->popped[e] += b->pops >> e & 1u;
    }
    if (b->on && ready) {
        for (uint32_t w = 0; w < WORDS; w++) {
            b->kept[b->pushed % DEPTH][w] = b->offer[w];
        }
        b->pushed++;
        b->on = false;
    }
}

static void make_stalls(const unit *u, bench *b) {
    const int64_t order = unit_knob(u, "order");
    const uint32_t slow = order == 1 ? LAST : (uint32_t)tb_rng_range(&b->rng, 0, LAST);
    b->task_stall = unit_stall_make(u, "task");
    for (uint32_t e = 0; e < ENGINES; e++) {
        b->pop_stall[e] = unit_stall_make(u, "pop");
        b->pop_stall[e].rng = tb_rng_fork(&b->pop_stall[e].rng, e);
        if (order != 0 && e == slow) {
            b->pop_stall[e].percent = order == 1 ? 80 : 95;
        }
    }
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || unit_expect_init(u, 4, "word", WORDS, false) != 0) {
        free(b);
        return -1;
    }
    b->valid = unit_port(u, "task_valid_i");
    b->ready = unit_port(u, "task_ready_o");
    b->task = unit_port(u, "task_i");
    b->engine_valid = unit_port(u, "valid_o");
    b->engine_task = unit_port(u, "task_o");
    b->pop = unit_port(u, "pop_i");
    b->ptr = unit_port(u, "ptr_o");
    b->busy = unit_port(u, "busy_o");
    unit_expect_value(u, "bits of a task", b->task.width, TASK_BITS);
    unit_expect_value(u, "bits of task_o", b->engine_task.width, TASK_BITS * ENGINES);
    b->rng = unit_stream(u, "tasks");
    make_stalls(u, b);
    unit_reset(u);
    while (unit_ok(u) && (b->pushed < (uint64_t)unit_knob(u, "tasks") || b->popped[LAST] < b->pushed)) {
        drive(u, b);
        unit_settle(u);
        sample(u, b);
        unit_edge(u);
    }
    if (unit_ok(u)) { /* empty again */
        drive(u, b);
        unit_settle(u);
        sample(u, b);
    }
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "gemm_queue",
                                    .about = "task queue with one pointer for each engine against a list",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
