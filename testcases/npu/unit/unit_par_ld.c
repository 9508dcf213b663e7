/* dut: par_ld */
/*
 * Tasks in sequence. The bench models the queue, the two read channels (data after the requests, in any rhythm) and
 * post (words are freed in task order at any time).
 */
#include <stdlib.h>

#include "bench.h"
#include "npu_task.h"
#include "task_noise.h"

#define RING 256u
#define TASKS_MAX 10000u
#define QUIET 40u /* cycles to watch at the end */

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS_MAX, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"oc", 1, 1024, TB_KNOB_SMALL, NULL, NULL, "most output channels"},
    {"full", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks with the largest number"},
    {"neither", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with neither scales nor biases"},
    {"hoard", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: words are freed only when the next task needs them"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("req", "percent of cycles in which a request waits"),
    UNIT_STALL_KNOB("dat", "percent of cycles without data"),
    UNIT_STALL_KNOB("free", "percent of cycles in which post frees nothing"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "tasks", seed, 10, 60);
    tb_knobs_draw_in(k, "full", seed, 0, 30);
    tb_knobs_draw_in(k, "neither", seed, 0, 50);
}

/* Bytes of one of the two arrays of a task. */
typedef struct array {
    uint32_t asked, came;
} array;

#define PORTS                                                                                                          \
    task_valid_i, task_i, task_pop_o, free_i, free_words_i, req_valid_o, req_ready_i, req_bytes_o, dat_valid_i,        \
        dat_ready_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
    cm_gemm_task t;
    array part[2];
    uint32_t words;
    bool on, begun, freeing, ready[2], dat[2];
    uint16_t size[TASKS_MAX];
    uint32_t popped, freed, used;
    unit_stall task_stall, req_stall[2], dat_stall[2], free_stall;
    tb_rng rng;
} bench;

static void offer_task(const unit *u, bench *b) {
    const uint32_t most = (uint32_t)unit_knob(u, "oc");
    cm_gemm_task *t = &b->t;
    task_noise_fields(&b->rng, t);
    t->oc =
        tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "full"), 100) ? most : (uint32_t)tb_rng_small(&b->rng, 1, most);
    t->oscale_addr &= ~UINT32_C(15);
    t->bias_addr &= ~UINT32_C(15);
    if (tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "neither"), 100)) {
        t->oscale_en = t->bias_en = false;
    }
    b->part[0] = b->part[1] = (array){0};
    b->words = t->oscale_en || t->bias_en ? (t->oc + 3) / 4 : 0;
    b->size[b->popped] = (uint16_t)b->words;
    b->begun = false;
    b->on = true;
    npu_task_set(b->task_i, t);
}

static void drive(const unit *u, bench *b) {
    if (!b->on) {
        if (b->popped < (uint32_t)unit_knob(u, "tasks") && unit_go(&b->task_stall)) {
            offer_task(u, b);
        } else {
            task_noise_port(&b->rng, b->task_i);
        }
    }
    tb_set(b->task_valid_i, b->on);
    for (uint32_t c = 0; c < 2; c++) {
        b->ready[c] = unit_go(&b->req_stall[c]);
        b->dat[c] = b->dat[c] || (b->part[c].came < b->part[c].asked && unit_go(&b->dat_stall[c]));
    }
    tb_set(b->req_ready_i, b->ready[0] | (uint32_t)b->ready[1] << 1);
    tb_set(b->dat_valid_i, b->dat[0] | (uint32_t)b->dat[1] << 1);
    const bool needed = b->on && !b->begun && b->used + b->words > RING;
    const bool keep = unit_knob(u, "hoard") == 1 && !needed;
    b->freeing = b->freed < b->popped && !keep && unit_go(&b->free_stall);
    tb_set(b->free_i, b->freeing);
    tb_set(b->free_words_i, b->freeing ? b->size[b->freed] : tb_rng_range(&b->rng, 0, RING));
}

static void sample(bench *b) {
    if (tb_get(b->task_pop_o)) {
        b->on = false;
        b->popped++;
    }
    for (uint32_t c = 0; c < 2; c++) {
        if (b->dat[c] && (tb_get(b->dat_ready_o) >> c & 1u)) {
            b->part[c].came += 16;
            b->dat[c] = false;
        }
        if (tb_get(b->req_valid_o) >> c & 1u) {
            b->used += b->begun ? 0 : b->words;
            b->begun = true;
            b->part[c].asked += b->ready[c] ? (uint32_t)tb_get(b->req_bytes_o) : 0;
        }
    }
    if (b->freeing) {
        b->used -= b->size[b->freed++];
    }
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    b->rng = unit_stream(u, "shape");
    b->task_stall = unit_stall_make(u, "task");
    b->free_stall = unit_stall_make(u, "free");
    unit_stalls(u, "req", b->req_stall, 2);
    unit_stalls(u, "dat", b->dat_stall, 2);
    unit_reset(u);
    for (uint32_t quiet = 0; quiet < QUIET && unit_ok(u); quiet += b->popped == (uint32_t)unit_knob(u, "tasks")) {
        drive(u, b);
        unit_settle(u);
        sample(b);
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("par_ld", "requests, word addresses and ring of the factor loader", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
