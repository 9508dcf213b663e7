/*
 * sequence.c - random tasks of GEMM, ALU and POOL one after another and concurrently on one device, without a reset
 * between them.
 *
 * Written on the registers, so that every legal setting occurs, also those that the driver does not use.
 */
#include "sequence.h"

#include "npu_regs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_US 1000000u
#define MAX_POLLS 20000000u

enum { ANY, GEMM, ALU, POOL };
static const char *const unit_names[] = {"any", "gemm", "alu", "pool"};

enum { DRAWN, ZEROS, ONES, RAMP };
static const char *const value_names[] = {"drawn", "zeros", "ones", "ramp"};

#define LATER_UNIFORM (TB_KNOB_UNIFORM | TB_KNOB_LATER)
#define LATER_ENUM (TB_KNOB_ENUM | TB_KNOB_LATER)
#define CUTS 7 /* 64, 32 .. 1 */
static const uint32_t error_weights[SEQ_MAX_ERRORS + 1] = {12, 3, 2, 1, 1, 1};
static const tb_knob knobs[] = {
    {"tasks", 1, SEQ_MAX_TASKS, TB_KNOB_SMALL, NULL, NULL, "tasks"},
    {"units", 0, 3, TB_KNOB_ENUM, unit_names, NULL, "unit of all tasks, or any"},
    {"serial", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: wait for each task before the next is started"},
    {"first", 0, SEQ_MAX_TASKS - 1, TB_KNOB_SMALL, NULL, NULL, "tasks before this one are drawn but not started"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
    {"errors", 0, SEQ_MAX_ERRORS, (tb_knob_kind)(TB_KNOB_WEIGHTED | TB_KNOB_LATER), NULL, error_weights,
     "bursts answered with SLVERR in a second run; a third one is clean again"},
    {"skip", 0, (1 << SEQ_MAX_TASKS) - 1, (tb_knob_kind)LATER_UNIFORM, NULL, NULL,
     "bit i: task i is drawn but not started (this and the following: for shrinking)"},
    {"cut_map", 0, CUTS, (tb_knob_kind)LATER_UNIFORM, NULL, NULL,
     "1..7: maps and rows of at most 64, 32 .. 1; 0: as drawn"},
    {"cut_ch", 0, CUTS, (tb_knob_kind)LATER_UNIFORM, NULL, NULL, "the same of channels and planes"},
    {"cut_k", 0, CUTS, (tb_knob_kind)LATER_UNIFORM, NULL, NULL, "the same of kernels and windows"},
    {"values", 0, RAMP, (tb_knob_kind)LATER_ENUM, value_names, NULL, "data of all operands"},
};

static const struct {
    uint32_t count_reg, ready_mask;
    const char *count_name;
} units[NPU_UNIT_COUNT] = {
    [NPU_UNIT_ALU] = {NPU_REG_ALU_COUNT, NPU_STATUS_ALU_READY_MASK, "ALU_COUNT"},
    [NPU_UNIT_POOL] = {NPU_REG_POOL_COUNT, NPU_STATUS_POOL_READY_MASK, "POOL_COUNT"},
    [NPU_UNIT_GEMM] = {NPU_REG_GEMM_COUNT, NPU_STATUS_GEMM_READY_MASK, "GEMM_COUNT"},
};

void seq_write(seq_task *task, uint32_t offset, uint32_t value) {
    if (task->write_count < SEQ_MAX_WRITES) {
        task->writes[task->write_count][0] = offset;
        task->writes[task->write_count++][1] = value;
    }
}

void seq_out(seq_task *task, seq_output out) {
    if (task->output_count < SEQ_MAX_OUTPUTS) {
        task->outputs[task->output_count++] = out;
    }
}

uint32_t seq_cut(const tc_run *run, const char *knob, uint32_t size) {
    const uint32_t cut = tc_knob(run->knobs, knob);
    const uint32_t most = 128u >> cut;
    return cut != 0 && size > most ? most : size;
}

void seq_set_bytes(const tc_run *run, int8_t *data, uint32_t count) {
    const uint32_t kind = tc_knob(run->knobs, "values");
    for (uint32_t i = 0; i < count && kind != DRAWN; i++) {
        data[i] = kind == RAMP ? (int8_t)((int)(i % 255) - 127) : (int8_t)(kind == ONES);
    }
}

static void set_values(const tc_run *run, uint32_t *data, uint32_t count) {
    const uint32_t kind = tc_knob(run->knobs, "values");
    for (uint32_t i = 0; i < count && kind != DRAWN; i++) {
        const float v = kind == RAMP ? (float)(i % 255) - 127.0f : kind == ONES ? 1.0f : 0.0f;
        memcpy(&data[i], &v, 4);
    }
}

uint32_t seq_small(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_small(rng, lo, hi);
}

bool seq_chance(tb_rng *rng, uint32_t one_in) {
    return tb_rng_chance(rng, 1, one_in);
}

uint32_t seq_float(tb_rng *rng) {
    uint32_t bits = 0;
    if (seq_chance(rng, 8)) {
        return tb_rng_f32_hard(rng);
    }
    const float v = tb_rng_f32_range(rng, -4.0f, 4.0f);
    memcpy(&bits, &v, 4);
    return bits;
}

uint32_t seq_alloc(tc_run *run, tb_rng *rng, uint32_t bytes, uint32_t align, npu_buf_kind kind) {
    const uint32_t addr = npu_dev_alloc(run->dev, bytes, 64, kind);
    return addr == 0 ? 0 : addr + align * seq_small(rng, 0, 63 / align);
}

bool seq_fill_bytes(tc_run *run, tb_rng *rng, uint32_t addr, uint32_t bytes) {
    uint8_t *data = malloc(bytes);
    bool good = data != NULL;
    if (good) {
        tb_rng_fill(rng, data, bytes);
        for (uint32_t i = 0; i < bytes; i++) {
            data[i] = data[i] == 0x80 ? 0x81 : data[i]; /* -128 does not occur in tensors */
        }
        seq_set_bytes(run, (int8_t *)data, bytes);
        good = npu_dev_write(run->dev, addr, data, bytes);
    }
    free(data);
    return good;
}

bool seq_fill_f32(tc_run *run, tb_rng *rng, seq_output at, bool special) {
    uint32_t *data = malloc(at.bytes);
    bool good = data != NULL;
    for (uint32_t p = 0; good && p < at.planes; p++) {
        for (uint32_t r = 0; good && r < at.rows; r++) {
            for (uint32_t i = 0; i < at.bytes / 4; i++) {
                const float v = tb_rng_f32_range(rng, -4.0f, 4.0f);
                memcpy(&data[i], &v, 4);
            }
            if (special && seq_chance(rng, 4)) {
                data[tb_rng_range(rng, 0, at.bytes / 4 - 1)] = tb_rng_f32_hard(rng);
            }
            set_values(run, data, at.bytes / 4);
            good = npu_dev_write(run->dev, at.addr + p * at.pstep + r * at.rstep, data, at.bytes);
        }
    }
    free(data);
    return good;
}

static bool poll(tc_run *run, const char *name, uint32_t offset, uint32_t mask, uint32_t want, const char *what) {
    uint32_t value = ~want;
    for (uint32_t i = 0; i < MAX_POLLS && (value & mask) != want; i++) {
        if (!tc_read(run, offset, &value)) {
            return false;
        }
    }
    if ((value & mask) != want) {
        tc_fail(run, "sequence: time-out", "%s is 0x%08X after %u reads, expected 0x%08X (%s)", name, value, MAX_POLLS,
                want, what);
    }
    return (value & mask) == want;
}

static void declare(tc_run *run, const seq_task *t) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    for (uint32_t i = 0; i < t->output_count; i++) {
        const seq_output *o = &t->outputs[i];
        for (uint32_t p = 0; p < o->planes; p++) {
            if (hal->task_output_rows != NULL) {
                hal->task_output_rows(hal->ctx, o->addr + p * o->pstep, o->bytes, o->rows, o->rstep);
                continue;
            }
            for (uint32_t r = 0; r < o->rows; r++) {
                hal->task_output(hal->ctx, o->addr + p * o->pstep + r * o->rstep, o->bytes);
            }
        }
    }
}

static bool start(tc_run *run, const seq_task *t) {
    const uint32_t ready = units[t->unit].ready_mask;
    if (!poll(run, "STATUS", NPU_REG_STATUS, ready, ready, t->what)) {
        return false;
    }
    declare(run, t);
    for (uint32_t w = 0; w < t->write_count; w++) {
        if (!tc_write(run, t->writes[w][0], t->writes[w][1])) {
            return false;
        }
    }
    return true;
}

static bool wait_all(tc_run *run, const uint32_t started[NPU_UNIT_COUNT], const char *what) {
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        if (!poll(run, units[u].count_name, units[u].count_reg, 0xFFFF, started[u], what)) {
            return false;
        }
    }
    return true;
}

static int draw(tc_run *run, tb_rng *rng, seq_weights *before, seq_task *task) {
    const uint32_t pinned = tc_knob(run->knobs, "units");
    const uint32_t unit = pinned != ANY ? pinned : (uint32_t)tb_rng_range(rng, GEMM, POOL);
    return unit == GEMM  ? seq_draw_gemm(run, rng, before, task)
           : unit == ALU ? seq_draw_alu(run, rng, task)
                         : seq_draw_pool(run, rng, task);
}

static uint32_t *write_of(seq_task *t, uint32_t reg) {
    uint32_t w = t->write_count - 1;
    while (w > 0 && t->writes[w][0] != reg) {
        w--;
    }
    return &t->writes[w][1];
}

/* A task that keeps weights which are not on the chip, because a task was skipped, loads them. */
static void load_if_missing(seq_task *t, const seq_weights *now, uint32_t *on_chip) {
    if (t->unit != NPU_UNIT_GEMM) {
        return;
    }
    if (*on_chip != now->addr) {
        *write_of(t, NPU_REG_GEMM_CTRL) &= ~NPU_GEMM_CTRL_WGT_KEEP_MASK;
    }
    *on_chip = now->resident ? now->addr : 0;
}

static int draw_all(tc_run *run, seq_list *list) {
    const uint32_t tasks = tc_knob(run->knobs, "tasks");
    const uint32_t first = tc_knob(run->knobs, "first");
    const tb_rng base = tb_rng_stream(run->seed, "sequence.tasks");
    const uint32_t skip = tc_knob(run->knobs, "skip");
    seq_weights before = {0};
    uint32_t on_chip = 0;
    for (uint32_t i = 0; i < tasks; i++) {
        tb_rng rng = tb_rng_fork(&base, i);
        seq_task *task = &list->task[list->count];
        if (i == first) {
            before = (seq_weights){0};
        }
        if (draw(run, &rng, &before, task) != 0) {
            return -1;
        }
        task->number = i;
        if (i >= first && (skip >> i & 1u) == 0) {
            load_if_missing(task, &before, &on_chip);
            list->count++;
        }
    }
    return 0;
}

bool seq_run(tc_run *run, seq_list *list, bool serial) {
    uint32_t started[NPU_UNIT_COUNT] = {0};
    const seq_task *task = NULL;
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        if (!tc_read(run, units[u].count_reg, &started[u])) {
            return false;
        }
    }
    list->runs++;
    for (list->started = 0; list->started < list->count; list->started++) {
        task = &list->task[list->started];
        snprintf(run->stats.what, sizeof run->stats.what, "%s", task->what);
        if (!start(run, task)) {
            return false;
        }
        started[task->unit] = (started[task->unit] + 1) & 0xFFFF;
        if (serial && !wait_all(run, started, task->what)) {
            return false;
        }
    }
    return tc_ok(run) && wait_all(run, started, "after the last task");
}

/* Text of the tasks, for the report of a failure. */
static void print_list(const seq_list *list) {
    if (list->runs > 1) {
        printf("sequence: failed in run %u%s\n", list->runs,
               list->runs == 2 ? ", the one with errors on the bus" : ", after the errors");
    }
    for (uint32_t i = 0; i < list->errors; i++) {
        const seq_error *e = &list->error[i];
        printf("sequence: SLVERR on %s burst %u of channel %u\n", e->write ? "write" : "read", e->burst, e->channel);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        printf("sequence: task %u%s: %s\n", list->task[i].number, i < list->started ? "" : " (not started)",
               list->task[i].what);
    }
}

static void run_tasks(tc_run *run, seq_list *list) {
    const uint32_t errors = tc_knob(run->knobs, "errors");
    if (errors != 0 && run->setup.kind == NPU_DEV_MODEL) {
        printf("not run: errors=%u: the model has no bus that could answer with an error\n", errors);
    }
    if (errors != 0 && run->setup.kind != NPU_DEV_MODEL) {
        seq_run_with_errors(run, list, errors);
    } else if (seq_run(run, list, tc_knob(run->knobs, "serial") != 0)) {
        tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, 0);
    }
}

static int execute(tc_run *run) {
    seq_list *list = calloc(1, sizeof *list);
    int rc = list == NULL ? tc_no_memory(run) : tc_open(run, 256u << 20, TIMEOUT_US);
    if (rc == 0) {
        rc = draw_all(run, list);
    }
    if (rc == 0) {
        run_tasks(run, list);
        tc_close(run); /* the final checks belong to these tasks */
        if (run->result->outcome != TB_PASS) {
            print_list(list);
        }
    }
    free(list);
    return rc;
}

static int check(uint32_t n, const tb_knobs *given, char *err, size_t err_size) {
    (void)n;
    if (tc_knob(given, "first") >= tc_knob(given, "tasks")) {
        return opt_fail(err, err_size, "first: expected less than tasks");
    }
    const uint32_t all = (1u << tc_knob(given, "tasks")) - (1u << tc_knob(given, "first"));
    if ((tc_knob(given, "skip") & all) == all) {
        return opt_fail(err, err_size, "skip: expected a number that leaves one of the tasks");
    }
    return 0;
}

static void generate(const tc_gen *g) {
    tb_knobs_draw(g->knobs, g->seed);
    /* only for reducing a failure */
    static const char *const pinned_only[] = {"first", "skip", "cut_map", "cut_ch", "cut_k", "values"};
    for (size_t i = 0; i < sizeof pinned_only / sizeof pinned_only[0]; i++) {
        tb_knobs_draw_in(g->knobs, pinned_only[i], g->seed, 0, 0);
    }
}

const tc_test tc_sequence = {.name = "sequence",
                             .help = "random tasks of all units, in sequence and concurrent",
                             TB_KNOBS_OF(knobs),
                             .generate = generate,
                             .check = check,
                             .execute = execute};
