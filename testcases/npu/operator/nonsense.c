/*
 * nonsense.c - settings that no driver would choose. Illegal settings must be refused with ERR.CONFIG and an interrupt,
 * by RTL and model alike; legal ones must be executed, at any addresses; a soft reset must end any task; and after each
 * of these the results of the next sensible tasks must be exact.
 *
 * Nearly all of the memory is one scratch buffer, so that random addresses point into it or outside of memory, but
 * never to the buffers of the sensible tasks after it.
 */
#include "nonsense.h"

#include "npu_regs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_US 1000000u
#define MAX_POLLS 4000000u
#define MAX_TASKS 64u
#define DDR_BYTES (64u << 20)
#define SCRATCH_BYTES (48u << 20)
#define GUARD 64u /* guard bytes of the device at the ends of its memory */
#define TRIES 200u
#define WORK_ALONE 20000u /* cycles, of a sensible task */
#define IDLE NPU_REG_STATUS_RESET
#define CHUNK 65536u

enum { ANY_UNIT };
static const char *const unit_choice[] = {"any", "alu", "pool", "gemm"};

static const tb_knob knobs[] = {
    {"tasks", 1, MAX_TASKS, TB_KNOB_SMALL, NULL, NULL, "tasks that are started"},
    {"units", 0, 3, TB_KNOB_ENUM, unit_choice, NULL, "unit of all tasks, or any"},
    {"kind", 0, NON_KINDS - 1, TB_KNOB_ENUM, non_kind_names, NULL,
     "corruption: one field, a few, one bit, all, nothing"},
    {"first", 0, MAX_TASKS - 1, TB_KNOB_SMALL, NULL, NULL, "tasks before this one are drawn but not started"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"edges", 0, 8, (tb_knob_kind)(TB_KNOB_UNIFORM | TB_KNOB_LATER), NULL, NULL,
     "tasks at one limit each that are started before each of them"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

static const struct {
    const char *name;
    uint32_t ready, config, irq, count, bus;
} units[NPU_UNIT_COUNT] = {
    [NPU_UNIT_ALU] = {"ALU", NPU_STATUS_ALU_READY_MASK, NPU_ERR_ALU_CONFIG_MASK, NPU_IRQ_STATUS_ALU_MASK,
                      NPU_REG_ALU_COUNT,
                      NPU_ERR_ALU_BUS_RD0_MASK | NPU_ERR_ALU_BUS_RD1_MASK | NPU_ERR_ALU_BUS_WR0_MASK |
                          NPU_ERR_ALU_BUS_WR1_MASK},
    [NPU_UNIT_POOL] = {"POOL", NPU_STATUS_POOL_READY_MASK, NPU_ERR_POOL_CONFIG_MASK, NPU_IRQ_STATUS_POOL_MASK,
                       NPU_REG_POOL_COUNT,
                       NPU_ERR_POOL_BUS_RD0_MASK | NPU_ERR_POOL_BUS_RD1_MASK | NPU_ERR_POOL_BUS_WR0_MASK |
                           NPU_ERR_POOL_BUS_WR1_MASK},
    [NPU_UNIT_GEMM] = {"GEMM", NPU_STATUS_GEMM_READY_MASK, NPU_ERR_CONFIG_MASK, NPU_IRQ_STATUS_GEMM_MASK,
                       NPU_REG_GEMM_COUNT,
                       NPU_ERR_BUS_RD0_MASK | NPU_ERR_BUS_RD1_MASK | NPU_ERR_BUS_WR0_MASK | NPU_ERR_BUS_WR1_MASK},
};

typedef struct nonsense {
    tc_run *run;
    seq_task base[MAX_TASKS]; /* originals of the corrupted tasks */
    uint32_t tasks;
    uint64_t sensible[NPU_UNIT_COUNT]; /* number of the fork of the stream that gives a small task */
    seq_list list;                     /* the sensible tasks */
    uint32_t scratch;
    non_ranges reads, writes;
    non_before before;
    uint32_t refused, ran, undefined, stopped; /* outcomes of the tasks */
    uint32_t index;                            /* number of the last started task */
    non_task task;                             /* that task */
    char what[64];
} nonsense;

/* ---- preparation ---- */

static uint64_t work_limit(const tc_run *run) {
    return 400000u / run->n; /* the model's time grows with N */
}

static bool there(const tc_run *run, npu_unit unit) {
    return (run->npu.units >> unit & 1u) != 0;
}

static int draw_sensible(tc_run *run, npu_unit unit, uint64_t index, seq_task *task) {
    const tb_rng base = tb_rng_stream(run->seed, units[unit].name);
    tb_rng rng = tb_rng_fork(&base, index);
    seq_weights none = {0};
    return unit == NPU_UNIT_GEMM  ? seq_draw_gemm(run, &rng, &none, task)
           : unit == NPU_UNIT_ALU ? seq_draw_alu(run, &rng, task)
                                  : seq_draw_pool(run, &rng, task);
}

/* Only the registers of these tasks are used; their buffers are freed. */
static int draw_bases(nonsense *s) {
    tc_run *run = s->run;
    const uint32_t pinned = tc_knob(run->knobs, "units");
    tb_rng rng = tb_rng_stream(run->seed, "nonsense.units");
    for (s->tasks = 0; s->tasks < tc_knob(run->knobs, "tasks"); s->tasks++) {
        const npu_unit unit =
            pinned != ANY_UNIT ? (npu_unit)(pinned - 1) : (npu_unit)tb_rng_range(&rng, 0, NPU_UNIT_COUNT - 1);
        if (draw_sensible(run, unit, 1000 + s->tasks, &s->base[s->tasks]) != 0) {
            return -1;
        }
        npu_dev_alloc_reset(run->dev);
    }
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        const non_before none = {0};
        seq_task task;
        non_task t = {.work = UINT64_MAX};
        for (uint64_t i = 0; i < 1000 && t.work > WORK_ALONE; i++) {
            if (draw_sensible(run, (npu_unit)u, i, &task) != 0) {
                return -1;
            }
            npu_dev_alloc_reset(run->dev);
            non_from(&task, &t);
            non_judge(run->n, &none, &t);
            if (!t.legal) {
                tc_fail(run, "nonsense: limits", "the test calls this task illegal: %s", task.what);
                return 0;
            }
            if (u == NPU_UNIT_ALU && t.regs[NPU_REG_ALU_A_ADDR / 4] == t.regs[NPU_REG_ALU_O_ADDR / 4]) {
                t.work = UINT64_MAX; /* in place: a second execution would have other results */
            }
            s->sensible[u] = i;
        }
    }
    return 0;
}

static int fill_memory(tc_run *run) {
    tb_rng rng = tb_rng_stream(run->seed, "nonsense.memory");
    uint8_t *chunk = malloc(CHUNK);
    bool good = chunk != NULL;
    if (good) {
        tb_rng_fill(&rng, chunk, CHUNK);
    }
    for (uint32_t at = 0; good && at < DDR_BYTES; at += CHUNK) {
        good = npu_dev_write(run->dev, NPU_DEV_DDR_BASE + at, chunk, CHUNK);
    }
    free(chunk);
    return good ? 0 : tc_no_memory(run);
}

/* The scratch buffer, followed by the sensible tasks and their buffers. */
static int lay_out(nonsense *s) {
    tc_run *run = s->run;
    s->list.count = 0;
    s->before = (non_before){0};
    npu_dev_allow_overlap(run->dev, true); /* results that depend on it are not checked */
    s->scratch = npu_dev_alloc(run->dev, SCRATCH_BYTES, 64, NPU_BUF_SCRATCH);
    if (s->scratch == 0 || fill_memory(run) != 0) {
        return tc_no_memory(run);
    }
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        if (there(run, (npu_unit)u) &&
            draw_sensible(run, (npu_unit)u, s->sensible[u], &s->list.task[s->list.count++]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- one task ---- */

/* May not be written: the device's guards, and everything after the scratch buffer. */
static bool forbidden(const nonsense *s, const non_ranges *writes) {
    return non_touches(writes, NPU_DEV_DDR_BASE, NPU_DEV_DDR_BASE + GUARD) ||
           non_touches(writes, s->scratch + SCRATCH_BYTES, NPU_DEV_DDR_BASE + DDR_BYTES);
}

/* May this task be started: it must be illegal, or have the intended duration. */
static bool may_start(nonsense *s, bool long_one, non_task *t) {
    t->legal = t->legal && there(s->run, t->unit);
    if (!t->legal) {
        return !long_one;
    }
    non_reach(s->run->n, t, &s->reads, &s->writes);
    const bool is_long = t->work > work_limit(s->run) || !s->reads.all || !s->writes.all;
    return is_long == long_one && !forbidden(s, &s->writes);
}

/* Draws a corrupted task that may be started; long_one: one that is too long to wait for. false: none was found. */
static bool draw(nonsense *s, tb_rng *rng, uint32_t index, bool long_one, non_task *t) {
    const uint32_t pinned = tc_knob(s->run->knobs, "kind");
    for (uint32_t i = 0; i < TRIES; i++) {
        const non_kind kind = pinned != NON_ANY ? (non_kind)pinned
                              : long_one        ? NON_FEW
                                                : (non_kind)tb_rng_range(rng, 1, NON_KINDS - 1);
        s->index = index;
        non_from(&s->base[index], t);
        non_spoil(rng, kind, s->scratch, SCRATCH_BYTES, t);
        non_judge(s->run->n, &s->before, t);
        snprintf(s->what, sizeof s->what, "%s corrupted (%s)", units[t->unit].name, non_kind_names[kind]);
        if (may_start(s, long_one, t)) {
            return true;
        }
    }
    return false;
}

static bool poll(nonsense *s, const char *name, uint32_t offset, uint32_t mask, uint32_t want) {
    uint32_t value = ~want;
    for (uint32_t i = 0; i < MAX_POLLS && (value & mask) != want; i++) {
        if (!tc_read(s->run, offset, &value)) {
            return false;
        }
    }
    if ((value & mask) != want) {
        tc_fail(s->run, "nonsense: hang", "%s is 0x%08X after %u reads, expected 0x%08X in the bits 0x%08X (%s)", name,
                value, MAX_POLLS, want, mask, s->what);
    }
    return (value & mask) == want;
}

static bool soft_reset(nonsense *s) {
    s->before.resident = false;
    return tc_write(s->run, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK) &&
           poll(s, "STATUS", NPU_REG_STATUS, UINT32_MAX, IDLE) &&
           tc_expect(s->run, "ERR", NPU_REG_ERR, UINT32_MAX, 0) &&
           tc_expect(s->run, "IRQ_STATUS", NPU_REG_IRQ_STATUS, UINT32_MAX, 0);
}

static bool start(nonsense *s, const non_task *t) {
    uint32_t first = 0;
    uint32_t last = 0;
    uint32_t ctrl = 0;
    uint32_t en = 0;
    non_unit_regs(t->unit, &first, &last, &ctrl, &en);
    if (!poll(s, "STATUS", NPU_REG_STATUS, units[t->unit].ready, units[t->unit].ready)) {
        return false;
    }
    for (uint32_t offset = first; offset <= last; offset += 4) {
        if (offset != ctrl && !tc_write(s->run, offset, t->regs[offset / 4])) {
            return false;
        }
    }
    s->task = *t;
    if (t->legal) {
        non_remember(t, &s->before);
    }
    return tc_write(s->run, ctrl, t->regs[ctrl / 4] | en);
}

/* The sensible tasks must have exact results after any other task, and leave no flags. */
static bool sensible(nonsense *s) {
    if (!seq_run(s->run, &s->list, false) || !tc_expect(s->run, "ERR", NPU_REG_ERR, UINT32_MAX, 0)) {
        return false;
    }
    for (uint32_t i = 0; i < s->list.count; i++) {
        if (s->list.task[i].unit == NPU_UNIT_GEMM) {
            non_task t;
            non_from(&s->list.task[i], &t);
            non_remember(&t, &s->before);
        }
    }
    return tc_write(s->run, NPU_REG_IRQ_STATUS, UINT32_MAX);
}

/* Checks ERR and IRQ_STATUS after a task; bus errors of its unit are ignored. */
static bool check_flags(nonsense *s, const non_task *t) {
    uint32_t err = 0;
    const uint32_t want = t->legal ? 0 : units[t->unit].config;
    const uint32_t ignore = t->legal ? units[t->unit].bus : 0;
    if (!tc_read(s->run, NPU_REG_ERR, &err)) {
        return false;
    }
    if ((err & ~ignore) != want) {
        tc_fail(s->run, t->legal ? "nonsense: legal task refused" : "nonsense: illegal task accepted",
                "ERR is 0x%08X after a task that docs/npu/npu.md section 3 %s, expected 0x%08X (%s)", err,
                t->legal ? "allows" : "forbids", want, s->what);
        return false;
    }
    return tc_expect(s->run, "IRQ_STATUS", NPU_REG_IRQ_STATUS, UINT32_MAX, units[t->unit].irq);
}

/* End of a task with defined results: the reads of the counts are the compare point of tandem. */
static bool finish(nonsense *s, const non_task *t, const uint32_t before[NPU_UNIT_COUNT]) {
    if (!poll(s, "STATUS", NPU_REG_STATUS, UINT32_MAX, IDLE) || !check_flags(s, t)) {
        return false;
    }
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        const uint32_t done = u == t->unit && t->legal ? 1 : 0;
        if (!tc_expect(s->run, "COUNT", units[u].count, UINT32_MAX, (before[u] + done) & 0xFFFF)) {
            return false;
        }
    }
    return tc_write(s->run, NPU_REG_ERR, UINT32_MAX) && tc_write(s->run, NPU_REG_IRQ_STATUS, UINT32_MAX);
}

static bool read_counts(nonsense *s, uint32_t count[NPU_UNIT_COUNT]) {
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        if (!tc_read(s->run, units[u].count, &count[u])) {
            return false;
        }
    }
    return true;
}

static bool wait_a_little(nonsense *s, tb_rng *rng) {
    uint32_t status = 0;
    for (uint64_t i = tb_rng_small(rng, 0, 400); i > 0; i--) {
        if (!tc_read(s->run, NPU_REG_STATUS, &status)) {
            return false;
        }
    }
    return true;
}

/*
 * Start it; it ends in one of three ways: completed and compared; completed with undefined results, which a reset
 * drops; cut: stopped by a reset.
 */
static bool run_one(nonsense *s, tb_rng *rng, const non_task *t, bool cut) {
    uint32_t before[NPU_UNIT_COUNT];
    const bool exact = !t->legal || (!t->keeps && non_determinate(&s->reads, &s->writes));
    if (!read_counts(s, before) || !start(s, t)) {
        return false;
    }
    s->refused += t->legal ? 0 : 1;
    if (cut) {
        s->stopped += t->legal ? 1 : 0;
        return wait_a_little(s, rng) && soft_reset(s) && (!seq_chance(rng, 2) || sensible(s));
    }
    if (!exact) {
        s->undefined++;
        return poll(s, "STATUS", NPU_REG_STATUS, UINT32_MAX, IDLE) && check_flags(s, t) && soft_reset(s);
    }
    s->ran += t->legal ? 1 : 0;
    return finish(s, t, before);
}

/* Tasks that violate exactly one limit, or just comply with it. */
static bool run_edges(nonsense *s, uint32_t index) {
    const tb_rng base = tb_rng_stream(s->run->seed, "nonsense.edges");
    tb_rng rng = tb_rng_fork(&base, index);
    for (uint32_t i = 0; i < tc_knob(s->run->knobs, "edges"); i++) {
        non_task t;
        s->index = index;
        non_from(&s->base[index], &t);
        const uint32_t limit = (uint32_t)tb_rng_range(&rng, 0, non_limits(t.unit) - 1);
        const bool beyond = !seq_chance(&rng, 3);
        const bool found = non_edge(s->run->n, &s->before, &rng, limit, beyond, s->scratch, SCRATCH_BYTES, &t);
        snprintf(s->what, sizeof s->what, "%s at the limit: %s", units[t.unit].name, non_limit_name(t.unit, limit));
        if (found && may_start(s, false, &t) && !run_one(s, &rng, &t, false)) {
            return false;
        }
    }
    return true;
}

static bool run_tasks(nonsense *s) {
    const tb_rng base = tb_rng_stream(s->run->seed, "nonsense.tasks");
    for (uint32_t i = 0; i < s->tasks; i++) {
        tb_rng rng = tb_rng_fork(&base, i);
        non_task t;
        if (i >= tc_knob(s->run->knobs, "first") && !run_edges(s, i)) {
            return false;
        }
        if (!draw(s, &rng, i, false, &t) || i < tc_knob(s->run->knobs, "first")) {
            continue;
        }
        if (!run_one(s, &rng, &t, seq_chance(&rng, 4)) || (seq_chance(&rng, 8) && !sensible(s))) {
            return false;
        }
    }
    return soft_reset(s) && sensible(s);
}

/* ---- tasks that are too long to complete ---- */

/* Hash of the results of the sensible tasks. */
static uint64_t results(const nonsense *s) {
    uint64_t hash = TB_HASH_INIT;
    for (uint32_t i = 0; i < s->list.count; i++) {
        const seq_output *o = &s->list.task[i].outputs[0];
        uint8_t *bytes = malloc(o->bytes);
        for (uint32_t p = 0; bytes != NULL && p < o->planes; p++) {
            for (uint32_t r = 0; r < o->rows; r++) {
                npu_dev_read(s->run->dev, o->addr + p * o->pstep + r * o->rstep, bytes, o->bytes);
                hash = tb_hash_bytes(hash, bytes, o->bytes);
            }
        }
        free(bytes);
    }
    return hash;
}

/* Without the model, which would have to execute them. Several may be in flight at the reset. */
static bool run_long(nonsense *s) {
    const tb_rng base = tb_rng_stream(s->run->seed, "nonsense.long");
    if (!sensible(s)) {
        return false;
    }
    const uint64_t want = results(s);
    for (uint32_t i = 0; i < s->tasks && s->stopped < 6; i++) {
        tb_rng rng = tb_rng_fork(&base, i);
        non_task t;
        if (!draw(s, &rng, i, true, &t)) {
            continue;
        }
        s->stopped++;
        if (!start(s, &t) || !wait_a_little(s, &rng)) {
            return false;
        }
        if (seq_chance(&rng, 2)) { /* a second task in flight, if its unit accepts one */
            uint32_t status = 0;
            if (!tc_read(s->run, NPU_REG_STATUS, &status)) {
                return false;
            }
            if ((status & (NPU_STATUS_ALU_READY_MASK | NPU_STATUS_POOL_READY_MASK | NPU_STATUS_GEMM_READY_MASK)) ==
                IDLE) {
                continue;
            }
        }
        if (!soft_reset(s) || !sensible(s)) {
            return false;
        }
        if (results(s) != want) {
            tc_fail(s->run, "nonsense: not clean",
                    "the sensible tasks give other results after a long task was stopped (%s)", s->what);
            return false;
        }
    }
    return soft_reset(s) && sensible(s);
}

static int on_rtl_alone(nonsense *s) {
    tc_run *run = s->run;
    tc_close(run);
    if (run->result->outcome != TB_PASS) {
        return 0;
    }
    run->setup.kind = NPU_DEV_RTL;
    if (tc_open(run, DDR_BYTES, TIMEOUT_US) != 0 || lay_out(s) != 0) {
        return -1;
    }
    (void)run_long(s); /* failures are noted */
    return 0;
}

static int execute_with(nonsense *s) {
    tc_run *run = s->run;
    s->reads.cap = s->writes.cap = 8 * NON_PIECES;
    s->reads.r = malloc(s->reads.cap * sizeof *s->reads.r);
    s->writes.r = malloc(s->writes.cap * sizeof *s->writes.r);
    if (s->reads.r == NULL || s->writes.r == NULL) {
        return tc_no_memory(run);
    }
    if (tc_open(run, DDR_BYTES, TIMEOUT_US) != 0 || draw_bases(s) != 0) {
        return -1;
    }
    if (!tc_ok(run) || lay_out(s) != 0) {
        return tc_ok(run) ? -1 : 0;
    }
    const bool good = run_tasks(s);
    if (run->setup.kind == NPU_DEV_MODEL) {
        printf("not run: tasks too long to wait for: the model executes a task at once\n");
        return 0;
    }
    return good && tc_ok(run) ? on_rtl_alone(s) : 0;
}

static int execute(tc_run *run) {
    nonsense *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_no_memory(run);
    }
    s->run = run;
    const int rc = execute_with(s);
    tc_close(run); /* the final checks belong to these tasks */
    if (run->result->outcome != TB_PASS) {
        printf("nonsense: task %u: %s, made from: %s\n", s->index, s->what, s->base[s->index].what);
        non_print(&s->task);
    }
    free(s->reads.r);
    free(s->writes.r);
    free(s);
    return rc;
}

static int check(uint32_t n, const tb_knobs *given, char *err, size_t err_size) {
    (void)n;
    if (tc_knob(given, "first") >= tc_knob(given, "tasks")) {
        return opt_fail(err, err_size, "first: expected less than tasks");
    }
    return 0;
}

static void generate(const tc_gen *g) {
    tb_knobs_draw(g->knobs, g->seed);
    tb_knobs_draw_in(g->knobs, "first", g->seed, 0, 0); /* 0 unless pinned, to reduce a failure */
}

const tc_test tc_nonsense = {.name = "nonsense",
                             .help = "settings that make no sense: refused or survived, and the next task is exact",
                             TB_KNOBS_OF(knobs),
                             .generate = generate,
                             .check = check,
                             .execute = execute};
