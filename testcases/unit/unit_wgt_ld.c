/* dut: wgt_ld_bench */
/*
 * Tasks in sequence through the loaders of both banks. The bench plays a queue for each bank (one may be tasks ahead of the other), the read channels (data after
 * the requests, in any rhythm) and im2col (blocks are used and released in their order). Checked: every request and every word against packed weights whose bytes
 * follow from their address, the bank of every block, nothing written into a full bank, full exactly when a block is complete, tasks given up when nothing is left.
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
#define BLOCKS_MAX (TASKS_MAX * 256u)
#define REQS 16u    /* of a channel in flight */
#define PATIENCE 4u /* cycles from the last word to full */
#define QUIET 40u   /* cycles to watch at the end */

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS_MAX, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"words", 1, BANK_WORDS, TB_KNOB_SMALL, NULL, NULL, "most words of a block, of 4608 (a block has at least N)"},
    {"full", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks with that many"},
    {"blocks", 1, 256, TB_KNOB_SMALL, NULL, NULL, "most blocks of a task"},
    {"hoard", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: a bank is released only when the next block stands in the other one"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("req", "percent of cycles in which a request waits"),
    UNIT_STALL_KNOB("dat", "percent of cycles without data"),
    UNIT_STALL_KNOB("use", "percent of cycles in which im2col does not finish with a full bank"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    const int64_t words = tb_knobs_get(k, "words");
    tb_knobs_draw_in(k, "tasks", seed, 2, words > 1000 ? 5 : 16);
    tb_knobs_draw_in(k, "blocks", seed, 1, words > 1000 ? 5 : 12);
    tb_knobs_draw_in(k, "full", seed, 0, 30);
}

/* One block of N output channels, in the sequence of all tasks. */
typedef struct block {
    uint32_t addr, words;
    uint32_t task;
} block;

typedef struct side {
    tb_sig task, req_addr, req_bytes, dat, waddr, wdata;
    bool on, dat_on, waiting, release, ready;
    uint32_t task_no;      /* next task to offer or on offer */
    uint32_t next;         /* block that is being loaded, of this parity */
    uint32_t asked, words; /* of that block: bytes requested, words written */
    bool full;             /* a complete block waits for im2col */
    uint32_t late;         /* cycles since the last word without full_o */
    uint32_t req_addr_q[REQS], req_left[REQS];
    uint32_t req_in, req_out;
    unit_stall task_stall, req_stall, dat_stall;
} side;

typedef struct bench {
    tb_sig task_valid, pop, req_valid, req_ready, dat_valid, dat_ready, we, full, release;
    cm_gemm_task t[TASKS_MAX];
    uint32_t first[TASKS_MAX + 1]; /* block of each task */
    block blocks[BLOCKS_MAX];
    uint32_t tasks, total, used; /* used: blocks that im2col has released */
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

static void draw_task(const unit *u, bench *b, uint32_t number) {
    const uint32_t most = least((uint32_t)unit_knob(u, "words"), BANK_WORDS) / N;
    const bool full = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "full"), 100);
    cm_gemm_task *t = &b->t[number];
    task_noise_fields(&b->rng, t);
    const uint32_t steps = most < 1 ? 1 : full ? most : (uint32_t)tb_rng_small(&b->rng, 1, most); /* kw*kh*ICB */
    t->kw = (uint32_t)tb_rng_small(&b->rng, 1, least(steps, 255));
    t->kh = (uint32_t)tb_rng_small(&b->rng, 1, least(steps / t->kw, 255));
    const uint32_t icb = steps / t->kw / t->kh;
    t->ic = (uint32_t)tb_rng_range(&b->rng, (icb - 1) * N + 1, icb * N);
    const uint32_t ocb = (uint32_t)tb_rng_small(&b->rng, 1, least((uint32_t)unit_knob(u, "blocks"), 1024 / N));
    t->oc = (uint32_t)tb_rng_range(&b->rng, (ocb - 1) * N + 1, ocb * N);
    t->wgt_addr &= ~UINT32_C(15);
    const uint32_t words = t->kw * t->kh * icb * N;
    for (uint32_t i = 0; i < ocb; i++) {
        b->blocks[b->total++] = (block){.addr = t->wgt_addr + i * words * N, .words = words, .task = number};
    }
    b->first[number + 1] = b->total;
}

static void drive_side(bench *b, uint32_t s) {
    side *d = &b->side[s];
    if (!d->on && d->task_no < b->tasks && unit_go(&d->task_stall)) {
        npu_task_set(d->task, &b->t[d->task_no]);
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

/* im2col: the next block of the sequence, when it is there and has been worked on for a while. */
static void drive_release(const unit *u, bench *b) {
    side *here = &b->side[b->used & 1u];
    const side *there = &b->side[~b->used & 1u];
    here->release = b->side[~b->used & 1u].release = false;
    const bool keep = unit_knob(u, "hoard") == 1 && b->used + 1 < b->total && !there->full;
    here->release = here->full && !keep && unit_go(&b->use_stall);
}

static uint64_t both(bool low, bool high) {
    return (uint64_t)low | (uint64_t)high << 1;
}

static void drive(const unit *u, bench *b) {
    drive_side(b, 0);
    drive_side(b, 1);
    drive_release(u, b);
    tb_set(b->task_valid, both(b->side[0].on, b->side[1].on));
    tb_set(b->req_ready, both(b->side[0].ready, b->side[1].ready));
    tb_set(b->dat_valid, both(b->side[0].dat_on, b->side[1].dat_on));
    tb_set(b->release, both(b->side[0].release, b->side[1].release));
}

static void fail_block(unit *u, const bench *b, uint32_t s, const char *kind, uint64_t got, uint64_t expected) {
    const side *d = &b->side[s];
    unit_fail(u, kind,
              "%s, bank %" PRIu32 ", task %" PRIu32 ", block %" PRIu32 " of all (%" PRIu32 " bytes requested, word %" PRIu32
              "), cycle %" PRIu64 ": got 0x%" PRIx64 ", expected 0x%" PRIx64,
              kind, s, d->task_no, d->next, d->asked, d->words, u->cycle, got, expected);
}

/* May the loader fetch its next block: the task is on offer and the bank is free. */
static bool may_load(const bench *b, const side *d) {
    return d->on && !d->full && d->next < b->total && b->blocks[d->next].task == d->task_no;
}

static void sample_request(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    if (!(tb_get(b->req_valid) >> s & 1u)) {
        if (d->waiting) {
            fail_block(u, b, s, "req_valid_o", 0, 1);
        }
        return;
    }
    const block *k = &b->blocks[d->next];
    const uint32_t left = may_load(b, d) ? k->words * N - d->asked : 0;
    const uint32_t bytes = (uint32_t)tb_get(d->req_bytes);
    if (left == 0) {
        fail_block(u, b, s, "req_valid_o", 1, 0);
        return;
    }
    if (bytes == 0 || bytes > least(left, PIECE) || bytes % 16 != 0) {
        fail_block(u, b, s, "req_bytes_o", bytes, least(left, PIECE));
    } else if (tb_get(d->req_addr) != (uint32_t)(k->addr + d->asked)) {
        fail_block(u, b, s, "req_addr_o", tb_get(d->req_addr), (uint32_t)(k->addr + d->asked));
    }
    d->waiting = !d->ready;
    if (d->ready) {
        d->req_addr_q[d->req_in % REQS] = k->addr + d->asked;
        d->req_left[d->req_in++ % REQS] = bytes;
        d->asked += bytes;
    }
}

static void sample_word(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    if (!(tb_get(b->we) >> s & 1u)) {
        return;
    }
    const block *k = &b->blocks[d->next];
    if (!may_load(b, d) || d->words == k->words) {
        fail_block(u, b, s, "we_o", 1, 0);
        return;
    }
    if (tb_get(d->waddr) != d->words) {
        fail_block(u, b, s, "waddr_o", tb_get(d->waddr), d->words);
    }
    uint8_t got[32], expected[32];
    unit_get_slice(d->wdata, 0, got, N);
    for (uint32_t i = 0; i < N; i++) {
        expected[i] = weight(b, k->addr + d->words * N + i);
    }
    unit_compare(u, got, expected, N, "bank %" PRIu32 ", task %" PRIu32 ", block %" PRIu32 " of all, word %" PRIu32, s, d->task_no, d->next,
                 d->words);
    d->words++;
}

/* full_o against the words written up to the last cycle. */
static void sample_full(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    const bool full = tb_get(b->full) >> s & 1u;
    if (d->full && !full) {
        fail_block(u, b, s, "full_o", full, 1);
    } else if (!d->full && full) {
        if (!may_load(b, d) || d->words < b->blocks[d->next].words) {
            fail_block(u, b, s, "full_o", full, 0);
            return;
        }
        d->full = true;
        d->next += 2;
        d->asked = d->words = d->late = 0;
    } else if (!full && may_load(b, d) && d->words == b->blocks[d->next].words && ++d->late > PATIENCE) {
        fail_block(u, b, s, "full_o late", full, 1);
    }
}

static void sample_pop(unit *u, bench *b, uint32_t s) {
    side *d = &b->side[s];
    if (!(tb_get(b->pop) >> s & 1u)) {
        return;
    }
    if (!d->on || d->next < b->first[d->task_no + 1]) {
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
    if (d->release) {
        d->full = false;
        b->used++;
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
                 {&d->wdata, {"wdata0_o", "wdata1_o"}}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name[s]);
    }
    d->next = s;
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
                 {&b->release, "release_i"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
    find_side(u, &b->side[0], 0);
    find_side(u, &b->side[1], 1);
}

static bool finished(const bench *b) {
    return b->used == b->total && b->side[0].task_no == b->tasks && b->side[1].task_no == b->tasks;
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || unit_expect_init(u, 1, "column", N, false) != 0) {
        free(b);
        return -1;
    }
    find_ports(u, b);
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
        unit_edge(u);
    }
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "wgt_ld",
                                    .about = "requests, words and bank sequence of the two weight loaders",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
