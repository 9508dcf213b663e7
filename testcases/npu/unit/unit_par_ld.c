/* dut: par_ld */
/*
 * Tasks in sequence. The bench plays the queue, the two read channels (data after the requests, in any rhythm) and post (words are freed in task order at any time).
 * Checked: requests that cover the arrays of the task and nothing else, word addresses of all data, no request before the task's words are free, the task given up
 * when all has arrived and not before.
 */
#include <inttypes.h>
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
    {"full", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks with that many"},
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

/* One of the two arrays of a task. */
typedef struct array {
    uint32_t addr, bytes; /* 0 bytes: not used */
    uint32_t asked, came; /* bytes */
} array;

typedef struct bench {
    tb_sig task_valid, task, pop, busy, free, free_words, req_valid, req_ready, req_addr[2], req_bytes, dat_valid, dat_ready, we, waddr[2];
    cm_gemm_task t;
    array part[2];
    uint32_t words, base;
    bool on, begun, freeing, ready[2], dat[2], waiting[2];
    uint16_t size[TASKS_MAX];
    uint32_t popped, freed, used;
    unit_stall task_stall, req_stall[2], dat_stall[2], free_stall;
    tb_rng rng;
} bench;

static void offer_task(const unit *u, bench *b) {
    const uint32_t most = (uint32_t)unit_knob(u, "oc");
    cm_gemm_task *t = &b->t;
    task_noise_fields(&b->rng, t);
    t->oc = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "full"), 100) ? most : (uint32_t)tb_rng_small(&b->rng, 1, most);
    t->oscale_addr &= ~UINT32_C(15);
    t->bias_addr &= ~UINT32_C(15);
    if (tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "neither"), 100)) {
        t->oscale_en = t->bias_en = false;
    }
    const uint32_t bytes = (t->oc + 3) / 4 * 16; /* align(oc, 4) FP32 */
    b->part[0] = (array){.addr = t->oscale_addr, .bytes = t->oscale_en ? bytes : 0};
    b->part[1] = (array){.addr = t->bias_addr, .bytes = t->bias_en ? bytes : 0};
    b->words = t->oscale_en || t->bias_en ? bytes / 16 : 0;
    b->size[b->popped] = (uint16_t)b->words;
    b->begun = false;
    b->on = true;
    npu_task_set(b->task, t);
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
    for (uint32_t c = 0; c < 2; c++) {
        b->ready[c] = unit_go(&b->req_stall[c]);
        b->dat[c] = b->dat[c] || (b->part[c].came < b->part[c].asked && unit_go(&b->dat_stall[c]));
    }
    tb_set(b->req_ready, b->ready[0] | (uint32_t)b->ready[1] << 1);
    tb_set(b->dat_valid, b->dat[0] | (uint32_t)b->dat[1] << 1);
    const bool needed = b->on && !b->begun && b->used + b->words > RING;
    const bool keep = unit_knob(u, "hoard") == 1 && !needed;
    b->freeing = b->freed < b->popped && !keep && unit_go(&b->free_stall);
    tb_set(b->free, b->freeing);
    tb_set(b->free_words, b->freeing ? b->size[b->freed] : tb_rng_range(&b->rng, 0, RING));
}

static void begin(unit *u, bench *b) {
    if (b->begun) {
        return;
    }
    b->begun = true;
    b->used += b->words;
    if (b->used > RING) {
        unit_fail(u, "ring",
                  "task %" PRIu32 ", cycle %" PRIu64 ": a request while %" PRIu32
                  " words are not free, expected at most %u with the task's own %" PRIu32,
                  b->popped, u->cycle, b->used, RING, b->words);
    }
}

static void expect_field(unit *u, const bench *b, const char *name, uint32_t chan, uint64_t got, uint64_t expected) {
    if (got != expected) {
        unit_fail(u, name,
                  "%s, task %" PRIu32 ", channel %" PRIu32 ", byte %" PRIu32 " of %" PRIu32 ", cycle %" PRIu64 ": got 0x%" PRIx64
                  ", expected 0x%" PRIx64,
                  name, b->popped, chan, b->part[chan].came, b->part[chan].bytes, u->cycle, got, expected);
    }
}

/* Busy while an array has data to come; it may be so before the first request is on offer. */
static void sample_busy(unit *u, const bench *b) {
    bool owed = false, asks = false;
    for (uint32_t c = 0; c < 2; c++) {
        owed = owed || (b->on && b->begun && b->part[c].came < b->part[c].bytes);
        asks = asks || (b->on && b->part[c].came < b->part[c].bytes);
    }
    const bool busy = tb_get(b->busy) != 0;
    if ((owed && !busy) || (!asks && busy)) {
        unit_fail(u, "busy_o", "busy_o, task %" PRIu32 ", cycle %" PRIu64 ": got %d, expected %d", b->popped, u->cycle, busy, owed);
    }
}

static void sample_request(unit *u, bench *b, uint32_t c) {
    array *p = &b->part[c];
    const bool valid = tb_get(b->req_valid) >> c & 1u;
    if (!valid) {
        expect_field(u, b, "req_valid_o", c, b->waiting[c], 0);
        return;
    }
    const uint32_t left = b->on ? p->bytes - p->asked : 0;
    const uint64_t bytes = tb_get(b->req_bytes);
    if (left == 0 || bytes == 0 || bytes > left) {
        unit_fail(u, "req_bytes_o",
                  "req_bytes_o, task %" PRIu32 ", channel %" PRIu32 ", cycle %" PRIu64 ": got %" PRIu64 ", expected at most %" PRIu32,
                  b->popped, c, u->cycle, bytes, left);
        return;
    }
    begin(u, b);
    expect_field(u, b, "req_addr_o", c, tb_get(b->req_addr[c]), (uint32_t)(p->addr + p->asked));
    b->waiting[c] = !b->ready[c];
    if (b->ready[c]) {
        p->asked += (uint32_t)bytes;
    }
}

static void sample_data(unit *u, bench *b, uint32_t c) {
    array *p = &b->part[c];
    const bool taken = b->dat[c] && (tb_get(b->dat_ready) >> c & 1u);
    expect_field(u, b, "we_o", c, tb_get(b->we) >> c & 1u, taken);
    if (taken) {
        const uint64_t at = tb_get(b->waddr[c]);
        expect_field(u, b, "waddr_o", c, at, (b->base + p->came / 16) % RING);
        p->came += 16;
        b->dat[c] = false;
    }
}

static void sample_pop(unit *u, bench *b) {
    if (!tb_get(b->pop)) {
        return;
    }
    for (uint32_t c = 0; c < 2; c++) {
        if (!b->on || b->part[c].came < b->part[c].bytes) {
            unit_fail(u, "task_pop_o",
                      "task_pop_o, task %" PRIu32 ", cycle %" PRIu64 ": got 1 after %" PRIu32 " of %" PRIu32 " bytes of channel %" PRIu32
                      ", expected 0",
                      b->popped, u->cycle, b->part[c].came, b->part[c].bytes, c);
            return;
        }
    }
    b->base = (b->base + b->words) % RING;
    b->on = false;
    b->popped++;
}

static void sample(unit *u, bench *b) {
    sample_busy(u, b);
    sample_pop(u, b); /* before the data of this cycle */
    for (uint32_t c = 0; c < 2 && unit_ok(u); c++) {
        sample_data(u, b, c); /* before the requests of this cycle: data was asked for earlier */
        sample_request(u, b, c);
    }
    if (b->freeing) {
        b->used -= b->size[b->freed++];
    }
}

static void find_ports(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->task_valid, "task_valid_i"},
                 {&b->task, "task_i"},
                 {&b->pop, "task_pop_o"},
                 {&b->busy, "busy_o"},
                 {&b->free, "free_i"},
                 {&b->free_words, "free_words_i"},
                 {&b->req_valid, "req_valid_o"},
                 {&b->req_ready, "req_ready_i"},
                 {&b->req_addr[0], "req_addr0_o"},
                 {&b->req_addr[1], "req_addr1_o"},
                 {&b->req_bytes, "req_bytes_o"},
                 {&b->dat_valid, "dat_valid_i"},
                 {&b->dat_ready, "dat_ready_o"},
                 {&b->we, "we_o"},
                 {&b->waddr[0], "waddr0_o"},
                 {&b->waddr[1], "waddr1_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b) {
        return -1;
    }
    find_ports(u, b);
    b->rng = unit_stream(u, "shape");
    b->task_stall = unit_stall_make(u, "task");
    b->free_stall = unit_stall_make(u, "free");
    for (uint32_t i = 0; i < 2; i++) {
        b->req_stall[i] = unit_stall_make(u, "req");
        b->dat_stall[i] = unit_stall_make(u, "dat");
        b->req_stall[i].rng = tb_rng_fork(&b->req_stall[i].rng, i);
        b->dat_stall[i].rng = tb_rng_fork(&b->dat_stall[i].rng, i);
    }
    unit_reset(u);
    for (uint32_t quiet = 0; quiet < QUIET && unit_ok(u); quiet += b->popped == (uint32_t)unit_knob(u, "tasks")) {
        drive(u, b);
        unit_settle(u);
        sample(u, b);
        unit_edge(u);
    }
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "par_ld",
                                    .about = "requests, word addresses and ring of the factor loader",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
