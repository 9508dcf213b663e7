/* dut: wgt_ld_bench */
/*
 * Tasks of all kinds in sequence through the loaders of both banks. The bench plays a queue for each bank (one may be tasks ahead of the other), the read channels
 * (data after the requests, in any rhythm) and im2col (blocks are used in their order; released one by one, resident tasks as a whole). Checked: every request and every
 * word against packed weights whose bytes follow from their address, the bank and place of every block, nothing written into a bank that is in use, full and blocks exactly
 * when a block is complete, kept weights at once, tasks given up when nothing is left.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench.h"
#include "npu_task.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define BANK_WORDS 4608u
#define PIECE 1024u
#define TASKS_MAX 200u
#define LOADS_MAX (TASKS_MAX * 256u)
#define REQS 16u    /* of a channel in flight */
#define AHEAD 1024u /* bytes in flight beyond which a resident task requests nothing after its first block */
#define PATIENCE 4u /* cycles from the last word to full, from an offer without weights to its pop */
#define SETTLE 4u   /* cycles from the offer of a resident task, or the release before, to its release */
#define QUIET 40u   /* cycles to watch at the end */

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS_MAX, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"words", 1, BANK_WORDS, TB_KNOB_SMALL, NULL, NULL, "most words of a block, of 4608 (a block has at least N)"},
    {"full", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks with that many"},
    {"blocks", 1, 256, TB_KNOB_SMALL, NULL, NULL, "most blocks of a task"},
    {"depthwise", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of depthwise tasks"},
    {"none", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks without weights"},
    {"resident", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with resident weights"},
    {"keep", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks after these that keep them"},
    {"hoard", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: a bank is released only when the next block stands in the other one"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("req", "percent of cycles in which a request waits"),
    UNIT_STALL_KNOB("dat", "percent of cycles without data"),
    UNIT_STALL_KNOB("use", "percent of cycles in which im2col does not finish with a block"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    const int64_t words = tb_knobs_get(k, "words");
    tb_knobs_draw_in(k, "tasks", seed, 2, words > 1000 ? 5 : 16);
    tb_knobs_draw_in(k, "blocks", seed, 1, words > 1000 ? 5 : 12);
    tb_knobs_draw_in(k, "full", seed, 0, 30);
    tb_knobs_draw_in(k, "none", seed, 0, 40);
}

/* A block that one of the two loaders brings, in the order of all tasks. */
typedef struct load {
    uint32_t addr, words;
    uint32_t place; /* word of the bank */
    uint32_t task;
} load;

typedef struct side {
    tb_sig task, req_addr, req_bytes, dat, waddr, wdata, blocks;
    bool on, dat_on, waiting, release, ready;
    load *loads;
    uint32_t total;
    uint32_t first[TASKS_MAX + 1]; /* load of each task */
    uint64_t offered[TASKS_MAX];   /* cycle, for tasks before task_no and the one on offer */
    uint32_t task_no;              /* next task to offer or on offer */
    uint32_t asked_for, asked;     /* block that is being requested, bytes of it that are */
    uint32_t next, words;          /* block whose data arrive, words of it that have */
    bool full;                     /* a complete block of a task without resident weights waits for im2col */
    uint64_t seen;                 /* blocks_o */
    uint32_t late, late_blocks;    /* cycles since the last word without full_o; since blocks_o is behind */
    uint32_t req_addr_q[REQS], req_left[REQS];
    uint32_t req_in, req_out;
    unit_stall task_stall, req_stall, dat_stall;
} side;

typedef struct bench {
    tb_sig task_valid, pop, req_valid, req_ready, dat_valid, dat_ready, we, full, release, busy;
    cm_gemm_task t[TASKS_MAX];
    uint32_t sequence[TASKS_MAX + 1]; /* blocks of tasks without resident weights before each task */
    uint32_t tasks;
    uint32_t use_task, use_blk; /* where im2col is */
    uint64_t released;          /* cycle of the last release of a resident task */
    side side[2];
    unit_stall use_stall;
    tb_rng rng, memory;
} bench;

/* The weight at an address: no two addresses of a case share a pattern. */
static uint8_t weight(const bench *b, uint32_t addr) {
    return (uint8_t)(tb_rng_at(&b->memory, addr / 8) >> 8 * (addr % 8));
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static uint32_t blocks_of(const cm_gemm_task *t) {
    return t->op == 2 ? 0 : (t->oc + N - 1) / N;
}

static bool resident(const cm_gemm_task *t) {
    return t->op != 2 && t->wgt_res;
}

static bool kept(const cm_gemm_task *t) {
    return resident(t) && t->wgt_keep;
}

/* Shape of a task that is not kept. */
static void draw_shape(const unit *u, bench *b, cm_gemm_task *t) {
    const bool deep = t->op != 1; /* a depthwise task has one word for each tap */
    const uint32_t most = least((uint32_t)unit_knob(u, "words"), BANK_WORDS) / (deep ? N : 1);
    const bool full = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "full"), 100);
    const uint32_t steps = most < 1 ? 1 : full ? most : (uint32_t)tb_rng_small(&b->rng, 1, most); /* kw*kh*ICB */
    t->kw = (uint32_t)tb_rng_small(&b->rng, 1, least(steps, 255));
    t->kh = (uint32_t)tb_rng_small(&b->rng, 1, least(steps / t->kw, 255));
    const uint32_t icb = deep ? steps / t->kw / t->kh : 1;
    const uint32_t words = t->kw * t->kh * icb * (deep ? N : 1);
    uint32_t ocb = (uint32_t)tb_rng_small(&b->rng, 1, least((uint32_t)unit_knob(u, "blocks"), 1024 / N));
    t->wgt_res = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "resident"), 100);
    t->wgt_keep = false;
    if (t->wgt_res) {
        ocb = least(ocb, BANK_WORDS / words * 2);
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
        t->wgt_addr = before->wgt_addr;
        t->kw = before->kw;
        t->kh = before->kh;
        t->ic = before->ic;
        t->oc = before->oc;
        t->wgt_res = t->wgt_keep = true;
    }
    const uint32_t words = t->kw * t->kh * (t->op == 1 ? 1 : (t->ic + N - 1) / N * N);
    const uint32_t ocb = blocks_of(t), step = (words * N + 15) & ~UINT32_C(15);
    for (uint32_t i = 0; i < ocb && !kept(t); i++) {
        side *d = &b->side[(resident(t) ? i : b->sequence[number] + i) & 1u];
        d->loads[d->total++] =
            (load){.addr = t->wgt_addr + i * step, .words = words, .place = resident(t) ? i / 2 * words : 0, .task = number};
    }
    b->sequence[number + 1] = b->sequence[number] + (resident(t) ? 0 : ocb);
    b->side[0].first[number + 1] = b->side[0].total;
    b->side[1].first[number + 1] = b->side[1].total;
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
        npu_task_set(d->task, &b->t[d->task_no]);
        d->offered[d->task_no] = u->cycle;
        d->on = true;
    } else if (!d->on) {
        task_noise_port(&b->rng, d->task);
    }
    d->ready = d->req_in - d->req_out < REQS && unit_go(&d->req_stall);
    if (!d->dat_on && d->req_in != d->req_out && unit_go(&d->dat_stall)) {
        const uint32_t addr = d->req_addr_q[d->req_out % REQS];
        uint8_t beat[16];
        for (uint32_t i = 0; i < 16; i++) {
            beat[i] = weight(b, addr + i);
        }
        unit_set_slice(d->dat, 0, beat, 16);
        d->dat_on = true;
    }
}

/* May a resident task be released in this cycle: both loaders know it for some cycles. */
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

/* im2col: the next block in its order, when it is there and has been worked on for a while. */
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
    tb_set(b->task_valid, both(b->side[0].on, b->side[1].on));
    tb_set(b->req_ready, both(b->side[0].ready, b->side[1].ready));
    tb_set(b->dat_valid, both(b->side[0].dat_on, b->side[1].dat_on));
    tb_set(b->release, both(b->side[0].release, b->side[1].release));
}

static void fail_block(unit *u, const bench *b, uint32_t s, const char *kind, uint64_t got, uint64_t expected) {
    const side *d = &b->side[s];
    unit_fail(u, kind,
              "%s, bank %" PRIu32 ", task %" PRIu32 ", block %" PRIu32 " of all (word %" PRIu32 "; %" PRIu32 " bytes of block %" PRIu32
              " requested), cycle %" PRIu64 ": got 0x%" PRIx64 ", expected 0x%" PRIx64,
              kind, s, d->task_no, d->next, d->words, d->asked, d->asked_for, u->cycle, got, expected);
}

/* May the loader work on this block: its task is on offer and the bank is free for it. */
static bool may_load(const bench *b, const side *d, uint32_t number) {
    return d->on && !d->full && number < d->total && d->loads[number].task == d->task_no && oldest_resident(b) >= d->task_no;
}

static uint32_t bytes_in_flight(const side *d) {
    uint32_t bytes = 0;
    for (uint32_t i = d->req_out; i != d->req_in; i++) {
        bytes += d->req_left[i % REQS];
    }
    return bytes;
}

static void sample_request(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    if (!(tb_get(b->req_valid) >> s & 1u)) {
        if (d->waiting) {
            fail_block(u, b, s, "req_valid_o", 0, 1);
        }
        return;
    }
    const load *k = &d->loads[d->asked_for];
    const bool may = may_load(b, d, d->asked_for) && (resident(&b->t[d->task_no]) || d->asked_for == d->next);
    const uint32_t left = may ? k->words * N - d->asked : 0;
    const uint32_t bytes = (uint32_t)tb_get(d->req_bytes);
    if (left == 0) {
        fail_block(u, b, s, "req_valid_o", 1, 0);
        return;
    }
    if (bytes == 0 || bytes > least(left, PIECE) || (bytes % 16 != 0 && bytes != left)) {
        fail_block(u, b, s, "req_bytes_o", bytes, least(left, PIECE));
    } else if (tb_get(d->req_addr) != (uint32_t)(k->addr + d->asked)) {
        fail_block(u, b, s, "req_addr_o", tb_get(d->req_addr), (uint32_t)(k->addr + d->asked));
    } else if (!d->waiting && d->asked_for != d->first[d->task_no] && resident(&b->t[d->task_no]) && bytes_in_flight(d) > AHEAD + 32) {
        fail_block(u, b, s, "req_valid_o in flight", bytes_in_flight(d), AHEAD);
    }
    d->waiting = !d->ready;
    if (d->ready) {
        d->req_addr_q[d->req_in % REQS] = k->addr + d->asked;
        d->req_left[d->req_in++ % REQS] = (bytes + 15) & ~UINT32_C(15);
        d->asked += bytes;
        if (d->asked == k->words * N) {
            d->asked = 0;
            d->asked_for++;
        }
    }
}

static void sample_word(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    if (!(tb_get(b->we) >> s & 1u)) {
        return;
    }
    const load *k = &d->loads[d->next];
    if (!may_load(b, d, d->next) || d->words == k->words) {
        fail_block(u, b, s, "we_o", 1, 0);
        return;
    }
    if (!(tb_get(b->busy) >> s & 1u)) {
        fail_block(u, b, s, "busy_o", 0, 1);
    }
    if (tb_get(d->waddr) != k->place + d->words) {
        fail_block(u, b, s, "waddr_o", tb_get(d->waddr), k->place + d->words);
    }
    uint8_t got[32], expected[32];
    unit_get_slice(d->wdata, 0, got, N);
    for (uint32_t i = 0; i < N; i++) {
        expected[i] = weight(b, k->addr + d->words * N + i);
    }
    unit_compare(u, got, expected, N, "bank %" PRIu32 ", task %" PRIu32 ", block %" PRIu32 " of all, word %" PRIu32, s, d->task_no, d->next,
                 d->words);
    d->words++;
    if (d->words == k->words && resident(&b->t[k->task])) {
        d->next++;
        d->words = 0;
    }
}

/* full_o against the words written up to the last cycle. */
static void sample_full(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    const bool full = tb_get(b->full) >> s & 1u;
    const bool whole = may_load(b, d, d->next) && d->words == d->loads[d->next].words;
    if (d->full && !full) {
        fail_block(u, b, s, "full_o", full, 1);
    } else if (!d->full && full) {
        if (!whole) {
            fail_block(u, b, s, "full_o", full, 0);
            return;
        }
        d->full = true;
        d->next++;
        d->words = d->late = 0;
    } else if (!full && whole && ++d->late > PATIENCE) {
        fail_block(u, b, s, "full_o late", full, 1);
    }
}

/* blocks_o against the blocks of the oldest resident task that are complete up to the last cycle. */
static void sample_blocks(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    const uint32_t oldest = oldest_resident(b);
    uint64_t due = 0, most = 0;
    d->seen = tb_get(d->blocks);
    if (oldest < b->tasks && kept(&b->t[oldest])) {
        /* on offer in the last cycle, and the task before is released */
        most = (blocks_of(&b->t[oldest]) + 1 - s) / 2;
        const bool known = d->task_no > oldest || (d->on && d->task_no == oldest);
        due = known && d->offered[oldest] < u->cycle ? most : 0;
    } else if (oldest < b->tasks && d->next > d->first[oldest]) {
        due = most = least(d->next, d->first[oldest + 1]) - d->first[oldest];
    }
    d->late_blocks = d->seen < due ? d->late_blocks + 1 : 0;
    const uint32_t patience = oldest < b->tasks && kept(&b->t[oldest]) ? 0 : PATIENCE;
    if (d->seen > most || d->late_blocks > patience) {
        fail_block(u, b, s, "blocks_o", d->seen, most);
    }
}

static void sample_pop(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    if (!(tb_get(b->pop) >> s & 1u)) {
        if (d->on && b->t[d->task_no].op == 2 && u->cycle > d->offered[d->task_no] + PATIENCE) {
            fail_block(u, b, s, "task_pop_o late", 0, 1);
        }
        return;
    }
    if (!d->on || d->next < d->first[d->task_no + 1]) {
        fail_block(u, b, s, "task_pop_o", 1, 0);
        return;
    }
    d->on = false;
    d->task_no++;
}

static void sample_side(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    sample_full(u, b, s);
    if (unit_ok(u)) {
        sample_blocks(u, b, s);
    }
    if (unit_ok(u)) {
        sample_word(u, b, s);
    }
    if (unit_ok(u)) {
        const bool taken = d->dat_on && (tb_get(b->dat_ready) >> s & 1u);
        sample_request(u, b, s);
        if (taken) {
            d->dat_on = false;
            d->req_addr_q[d->req_out % REQS] += 16;
            d->req_left[d->req_out % REQS] -= 16;
            d->req_out += d->req_left[d->req_out % REQS] == 0;
        }
    }
    if (unit_ok(u)) {
        sample_pop(u, b, s);
    }
}

/* The releases of this cycle, after all has been sampled. */
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

static void find_side(unit *u, side *d, uint32_t s) {
    const struct {
        tb_sig *sig;
        const char *name[2];
    } ports[] = {{&d->task, {"task0_i", "task1_i"}},
                 {&d->req_addr, {"req_addr0_o", "req_addr1_o"}},
                 {&d->req_bytes, {"req_bytes0_o", "req_bytes1_o"}},
                 {&d->dat, {"dat0_i", "dat1_i"}},
                 {&d->waddr, {"waddr0_o", "waddr1_o"}},
                 {&d->wdata, {"wdata0_o", "wdata1_o"}},
                 {&d->blocks, {"blocks0_o", "blocks1_o"}}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name[s]);
    }
    d->task_stall = unit_stall_make(u, "task");
    d->req_stall = unit_stall_make(u, "req");
    d->dat_stall = unit_stall_make(u, "dat");
    d->task_stall.rng = tb_rng_fork(&d->task_stall.rng, s);
    d->req_stall.rng = tb_rng_fork(&d->req_stall.rng, s);
    d->dat_stall.rng = tb_rng_fork(&d->dat_stall.rng, s);
}

static void find_ports(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->task_valid, "task_valid_i"},
                 {&b->pop, "task_pop_o"},
                 {&b->req_valid, "req_valid_o"},
                 {&b->req_ready, "req_ready_i"},
                 {&b->dat_valid, "dat_valid_i"},
                 {&b->dat_ready, "dat_ready_o"},
                 {&b->we, "we_o"},
                 {&b->full, "full_o"},
                 {&b->busy, "busy_o"},
                 {&b->release, "release_i"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
    find_side(u, &b->side[0], 0);
    find_side(u, &b->side[1], 1);
}

static bool finished(const bench *b) {
    return b->use_task == b->tasks && b->side[0].task_no == b->tasks && b->side[1].task_no == b->tasks;
}

static void play(unit *u, bench *b) {
    b->rng = unit_stream(u, "shape");
    b->memory = unit_stream(u, "memory");
    b->use_stall = unit_stall_make(u, "use");
    b->tasks = (uint32_t)unit_knob(u, "tasks");
    for (uint32_t i = 0; i < b->tasks; i++) {
        draw_task(u, b, i);
    }
    unit_reset(u);
    for (uint32_t quiet = 0; quiet < QUIET && unit_ok(u); quiet += finished(b)) {
        drive(u, b);
        unit_settle(u);
        sample_side(u, b, 0);
        sample_side(u, b, 1);
        note_release(u, b);
        unit_edge(u);
    }
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    load *loads = calloc(2 * LOADS_MAX, sizeof *loads);
    const bool able = b && loads && unit_expect_init(u, 1, "column", N, false) == 0;
    if (able) {
        find_ports(u, b);
        b->side[0].loads = loads;
        b->side[1].loads = loads + LOADS_MAX;
        play(u, b);
    }
    free(loads);
    free(b);
    return able ? 0 : -1;
}

const unit_bench unit_this_bench = {.name = "wgt_ld",
                                    .about = "requests, words and bank sequence of the two weight loaders",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
