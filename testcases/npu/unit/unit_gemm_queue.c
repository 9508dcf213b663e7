/* dut: gemm_queue */
/*
 * Tasks of random bits, offered in any rhythm. Each engine pops at its own speed; the last one (write-back) never
 * overtakes another one, as in the NPU.
 */
#include "bench.h"
#include "task_noise.h"

#define ENGINES 6u
#define LAST (ENGINES - 1u)
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

#define PORTS task_valid_i, task_ready_o, task_i, pop_i
typedef struct bench {
    TB_PORTS(ports, PORTS);
    uint64_t pushed, popped[ENGINES];
    bool on;
    uint32_t pops; /* of this cycle */
    unit_stall task_stall, pop_stall[ENGINES];
    tb_rng rng;
} bench;

static void drive(unit *u, bench *b) {
    if (!b->on) {
        task_noise_port(&b->rng, b->task_i);
        tb_set_field(b->task_i, FENCE_BIT, 1, tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "fences"), 100));
        b->on = b->pushed < (uint64_t)unit_knob(u, "tasks") && unit_go(&b->task_stall);
    }
    tb_set(b->task_valid_i, b->on);
    b->pops = 0;
    for (uint32_t e = 0; e < ENGINES; e++) {
        bool may = b->popped[e] < b->pushed && unit_go(&b->pop_stall[e]);
        for (uint32_t i = 0; e == LAST && i < LAST; i++) {
            may = may && b->popped[i] > b->popped[LAST];
        }
        b->pops |= (uint32_t)may << e;
    }
    tb_set(b->pop_i, b->pops);
    unit_settle(u);
}

static void sample(bench *b) {
    for (uint32_t e = 0; e < ENGINES; e++) {
        b->popped[e] += b->pops >> e & 1u;
    }
    if (b->on && tb_get(b->task_ready_o) != 0) {
        b->pushed++;
        b->on = false;
    }
}

static void make_stalls(const unit *u, bench *b) {
    const int64_t order = unit_knob(u, "order");
    const uint32_t slow = order == 1 ? LAST : (uint32_t)tb_rng_range(&b->rng, 0, LAST);
    b->task_stall = unit_stall_make(u, "task");
    unit_stalls(u, "pop", b->pop_stall, ENGINES);
    if (order != 0) {
        b->pop_stall[slow].percent = order == 1 ? 80 : 95;
    }
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    unit_expect_value(u, "bits of a task", b->task_i.width, TASK_BITS);
    b->rng = unit_stream(u, "tasks");
    make_stalls(u, b);
    unit_reset(u);
    while (unit_ok(u) && (b->pushed < (uint64_t)unit_knob(u, "tasks") || b->popped[LAST] < b->pushed)) {
        drive(u, b);
        sample(b);
        unit_edge(u);
    }
    drive(u, b); /* empty again */
    unit_look(u);
    return 0;
}

UNIT_BENCH("gemm_queue", "task queue with one pointer for each engine", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
