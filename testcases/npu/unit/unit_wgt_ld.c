/* dut: wgt_ld each Bank=0,1 numbered: task_i req_addr_o req_bytes_o dat_i waddr_o wdata_o blocks_o */
/*
 * Tasks of all kinds in sequence through the loaders of both banks. The bench models a queue for each bank (one may be
 * tasks ahead of the other), the read channels (weights whose bytes follow from their address, in any rhythm) and
 * im2col (blocks are used in their order; released one by one, resident tasks as a whole).
 */
#include <stdlib.h>

#include "bench.h"
#include "npu_task.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define BANK_WORDS 4608u
#define TASKS_MAX 200u
#define REQS 16u  /* of a channel in flight */
#define SETTLE 4u /* cycles from the offer of a resident task, or the release before, to its release */
#define QUIET 40u /* cycles to watch at the end */

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS_MAX, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"words", 1, BANK_WORDS, TB_KNOB_SMALL, NULL, NULL, "most words of a block, of 4608 (a block has at least N)"},
    {"full", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks with the largest number"},
    {"blocks", 1, 256, TB_KNOB_SMALL, NULL, NULL, "most blocks of a task"},
    {"depthwise", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of depthwise tasks"},
    {"none", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks without weights"},
    {"resident", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with resident weights"},
    {"keep", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks after these that keep them"},
    UNIT_INT16_KNOB,
    {"hoard", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: a bank is released only when the next block is in the other one"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("req", "percent of cycles in which a request waits"),
    UNIT_STALL_KNOB("dat", "percent of cycles without data"),
    UNIT_STALL_KNOB("use", "percent of cycles in which im2col does not finish a block"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    const int64_t words = tb_knobs_get(k, "words");
    tb_knobs_draw_in(k, "tasks", seed, 2, words > 1000 ? 5 : 16);
    tb_knobs_draw_in(k, "blocks", seed, 1, words > 1000 ? 5 : 12);
    tb_knobs_draw_in(k, "full", seed, 0, 30);
    tb_knobs_draw_in(k, "none", seed, 0, 40);
}

typedef struct side {
    bool on, dat_on, release, ready;
    uint64_t offered[TASKS_MAX]; /* cycle, for tasks before task_no and the current one */
    uint32_t task_no;            /* next or current task */
    bool full;                   /* a complete block of a task without resident weights waits for im2col */
    uint64_t seen;               /* blocks_o */
    uint32_t req_addr_q[REQS], req_left[REQS];
    uint32_t req_in, req_out;
    unit_stall task_stall, req_stall, dat_stall;
} side;

#define PORTS                                                                                                          \
    task_valid_i, task_pop_o, req_valid_o, req_ready_i, dat_valid_i, dat_ready_o, full_o, release_i, task_i[2],        \
        req_addr_o[2], req_bytes_o[2], dat_i[2], blocks_o[2]
typedef struct bench {
    TB_PORTS(ports, PORTS);
    cm_gemm_task t[TASKS_MAX];
    uint32_t sequence[TASKS_MAX + 1]; /* blocks of tasks without resident weights before each task */
    uint32_t tasks;
    uint32_t use_task, use_blk; /* position of im2col */
    uint64_t released;          /* cycle of the last release of a resident task */
    side side[2];
    unit_stall use_stall;
    tb_rng rng, memory, rng_wide;
} bench;

/* The weight at an address: no two addresses of a case share a pattern. */
static uint8_t weight(const bench *b, uint32_t addr) {
    return (uint8_t)(tb_rng_at(&b->memory, addr / 8) >> 8 * (addr % 8));
}

static uint32_t blocks_of(const cm_gemm_task *t) {
    return t->op == 2 ? 0 : (t->oc + N - 1) / N;
}

static bool resident(const cm_gemm_task *t) {
    return t->op != 2 && t->wgt_res;
}

/* Shape of a task that is not kept. */
static void draw_shape(const unit *u, bench *b, cm_gemm_task *t) {
    const bool deep = t->op != 1; /* a depthwise task has one word for each tap */
    t->wide = unit_int16(&b->rng_wide, (int)unit_knob(u, "int16"));
    const uint32_t most = tb_min_u32((uint32_t)unit_knob(u, "words"), BANK_WORDS) / (deep ? N : 1) >> t->wide;
    const bool full = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "full"), 100);
    const uint32_t steps = most < 1 ? 1 : full ? most : (uint32_t)tb_rng_small(&b->rng, 1, most); /* kw*kh*ICB */
    t->kw = (uint32_t)tb_rng_small(&b->rng, 1, tb_min_u32(steps, 255));
    t->kh = (uint32_t)tb_rng_small(&b->rng, 1, tb_min_u32(steps / t->kw, 255));
    const uint32_t icb = deep ? steps / t->kw / t->kh : 1;
    const uint32_t words = (t->kw * t->kh * icb * (deep ? N : 1)) << t->wide;
    uint32_t ocb = (uint32_t)tb_rng_small(&b->rng, 1, tb_min_u32((uint32_t)unit_knob(u, "blocks"), 1024 / N));
    t->wgt_res = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "resident"), 100);
    t->wgt_keep = false;
    if (t->wgt_res) {
        ocb = tb_min_u32(ocb, BANK_WORDS / words * 2);
    }
    t->oc = (uint32_t)tb_rng_range(&b->rng, (ocb - 1) * N + 1, ocb * N);
    t->ic = deep ? (uint32_t)tb_rng_range(&b->rng, (icb - 1) * N + 1, icb * N) : t->oc;
}

static void draw_task(const unit *u, bench *b, uint32_t number) {
    cm_gemm_task *t = &b->t[number];
    task_noise_fields(&b->rng, t);
    t->wgt_addr &= ~UINT32_C(15);
    t->op = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "none"), 100)        ? 2
            : tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "depthwise"), 100) ? 1
                                                                               : 0;
    draw_shape(u, b, t);
    if (number > 0 && resident(&b->t[number - 1]) && tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "keep"), 100)) {
        const cm_gemm_task *before = &b->t[number - 1];
        t->op = before->op;
        t->wide = before->wide;
        t->wgt_addr = before->wgt_addr;
        t->kw = before->kw;
        t->kh = before->kh;
        t->ic = before->ic;
        t->oc = before->oc;
        t->wgt_res = t->wgt_keep = true;
    }
    b->sequence[number + 1] = b->sequence[number] + (resident(t) ? 0 : blocks_of(t));
}

/* The oldest task with resident weights that im2col has not finished, or `tasks`. */
static uint32_t oldest_resident(const bench *b) {
    uint32_t t = b->use_task;
    while (t < b->tasks && !resident(&b->t[t])) {
        t++;
    }
    return t;
}

static void drive_side(const unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    if (!d->on && d->task_no < b->tasks && unit_go(&d->task_stall)) {
        npu_task_set(b->task_i[s], &b->t[d->task_no]);
        d->offered[d->task_no] = u->cycle;
        d->on = true;
    } else if (!d->on) {
        task_noise_port(&b->rng, b->task_i[s]);
    }
    d->ready = d->req_in - d->req_out < REQS && unit_go(&d->req_stall);
    if (!d->dat_on && d->req_in != d->req_out && unit_go(&d->dat_stall)) {
        const uint32_t addr = d->req_addr_q[d->req_out % REQS];
        uint8_t beat[16];
        for (uint32_t i = 0; i < 16; i++) {
            beat[i] = weight(b, addr + i);
        }
        unit_set_slice(b->dat_i[s], 0, beat, 16);
        d->dat_on = true;
    }
}

/* May a resident task be released in this cycle: both loaders must have had it for some cycles. */
static bool settled(const unit *u, const bench *b) {
    for (uint32_t s = 0; s < 2; s++) {
        const side *d = &b->side[s];
        const bool known = d->task_no > b->use_task || (d->on && d->task_no == b->use_task);
        if (!known || u->cycle < d->offered[b->use_task] + SETTLE) {
            return false;
        }
    }
    return u->cycle >= b->released + SETTLE;
}

/* im2col: the next block in order, when it is complete and some cycles have passed. */
static void drive_release(const unit *u, bench *b) {
    b->side[0].release = b->side[1].release = false;
    while (b->use_task < b->tasks && blocks_of(&b->t[b->use_task]) == 0) {
        b->use_task++;
    }
    if (b->use_task == b->tasks) {
        return;
    }
    const cm_gemm_task *t = &b->t[b->use_task];
    const bool last = b->use_blk + 1 == blocks_of(t);
    if (resident(t)) {
        const bool there = b->side[b->use_blk & 1u].seen > b->use_blk / 2 && oldest_resident(b) == b->use_task;
        if (there && (!last || settled(u, b)) && unit_go(&b->use_stall)) {
            b->side[0].release = b->side[1].release = last;
            b->use_blk += !last;
        }
        return;
    }
    side *here = &b->side[(b->sequence[b->use_task] + b->use_blk) & 1u];
    const side *there = here == &b->side[0] ? &b->side[1] : &b->side[0];
    const bool keep = unit_knob(u, "hoard") == 1 && !last && !there->full;
    here->release = here->full && !keep && unit_go(&b->use_stall);
}

static uint64_t both(bool low, bool high) {
    return (uint64_t)low | (uint64_t)high << 1;
}

static void drive(const unit *u, bench *b) {
    drive_side(u, b, 0);
    drive_side(u, b, 1);
    drive_release(u, b);
    tb_set(b->task_valid_i, both(b->side[0].on, b->side[1].on));
    tb_set(b->req_ready_i, both(b->side[0].ready, b->side[1].ready));
    tb_set(b->dat_valid_i, both(b->side[0].dat_on, b->side[1].dat_on));
    tb_set(b->release_i, both(b->side[0].release, b->side[1].release));
}

static void sample_side(const bench *b, uint32_t s, side *d) {
    const bool taken = d->dat_on && (tb_get(b->dat_ready_o) >> s & 1u);
    d->full = tb_get(b->full_o) >> s & 1u;
    d->seen = tb_get(b->blocks_o[s]);
    if (d->ready && (tb_get(b->req_valid_o) >> s & 1u)) {
        d->req_addr_q[d->req_in % REQS] = (uint32_t)tb_get(b->req_addr_o[s]);
        d->req_left[d->req_in++ % REQS] = ((uint32_t)tb_get(b->req_bytes_o[s]) + 15) & ~UINT32_C(15);
    }
    if (taken) {
        d->dat_on = false;
        d->req_addr_q[d->req_out % REQS] += 16;
        d->req_left[d->req_out % REQS] -= 16;
        d->req_out += d->req_left[d->req_out % REQS] == 0;
    }
    if (tb_get(b->task_pop_o) >> s & 1u) {
        d->on = false;
        d->task_no++;
    }
}

/* The releases of this cycle, after all outputs have been sampled. */
static void note_release(const unit *u, bench *b) {
    side *d = b->side;
    if (!d[0].release && !d[1].release) {
        return;
    }
    const cm_gemm_task *t = &b->t[b->use_task];
    for (uint32_t s = 0; s < 2; s++) {
        d[s].full = d[s].full && !d[s].release;
        d[s].seen = d[s].release ? 0 : d[s].seen;
    }
    b->released = resident(t) ? u->cycle : b->released;
    if (++b->use_blk == blocks_of(t)) {
        b->use_blk = 0;
        b->use_task++;
    }
}

static void make_stalls(const unit *u, bench *b) {
    side *d = b->side;
    for (uint32_t s = 0; s < 2; s++) {
        d[s].task_stall = unit_stall_nth(u, "task", s);
        d[s].req_stall = unit_stall_nth(u, "req", s);
        d[s].dat_stall = unit_stall_nth(u, "dat", s);
    }
}

static bool finished(const bench *b) {
    return b->use_task == b->tasks && b->side[0].task_no == b->tasks && b->side[1].task_no == b->tasks;
}

static void play(unit *u, bench *b) {
    b->rng = unit_stream(u, "shape");
    b->memory = unit_stream(u, "memory");
    b->rng_wide = unit_stream(u, "int16");
    b->use_stall = unit_stall_make(u, "use");
    b->tasks = (uint32_t)unit_knob(u, "tasks");
    for (uint32_t i = 0; i < b->tasks; i++) {
        draw_task(u, b, i);
    }
    unit_reset(u);
    for (uint32_t quiet = 0; quiet < QUIET && unit_ok(u); quiet += finished(b)) {
        drive(u, b);
        unit_settle(u);
        sample_side(b, 0, &b->side[0]);
        sample_side(b, 1, &b->side[1]);
        note_release(u, b);
        unit_edge(u);
    }
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    make_stalls(u, b);
    play(u, b);
    return 0;
}

UNIT_BENCH("wgt_ld", "requests, words and bank sequence of the two weight loaders", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
