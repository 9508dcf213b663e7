/*
 * sequence.c - random tasks of GEMM, ALU and POOL one after another and side by side on one device, without a reset between them.
 *
 * Written on the registers, so that every legal setting occurs, also those that the driver has no use for.
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

static const uint32_t error_weights[SEQ_MAX_ERRORS + 1] = {12, 3, 2, 1, 1, 1};
static const tb_knob knobs[] = {
    {"tasks", 1, SEQ_MAX_TASKS, TB_KNOB_SMALL, NULL, NULL, "tasks"},
    {"units", 0, 3, TB_KNOB_ENUM, unit_names, NULL, "unit of all tasks, or any"},
    {"serial", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: wait for each task before the next is started"},
    {"first", 0, SEQ_MAX_TASKS - 1, TB_KNOB_SMALL, NULL, NULL, "tasks before this one are drawn and left out"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
    {"errors", 0, SEQ_MAX_ERRORS, (tb_knob_kind)(TB_KNOB_WEIGHTED | TB_KNOB_LATER), NULL, error_weights,
     "bursts answered with SLVERR in a second run; a third one is clean again"},
};

static const struct {
    uint32_t count_reg, ready_mask;
    const char *count_name;
} units[NPU_UNIT_COUNT] = {
    [NPU_UNIT_ALU] = {NPU_REG_ALU_COUNT, NPU_STATUS_ALU_READY_MASK, "ALU_COUNT"},
    [NPU_UNIT_POOL] = {NPU_REG_POOL_COUNT, NPU_STATUS_POOL_READY_MASK, "POOL_COUNT"},
    [NPU_UNIT_GEMM] = {NPU_REG_GEMM_COUNT, NPU_STATUS_GEMM_READY_MASK, "GEMM_COUNT"},
};

int seq_no_memory(tc_run *run) {
    snprintf(run->err, sizeof run->err, "sequence: out of memory");
    return -1;
}

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
        tc_fail(run, "sequence: time-out", "%s is 0x%08X after %u reads, expected 0x%08X (%s)", name, value, MAX_POLLS, want, what);
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

static int draw_all(tc_run *run, seq_list *list) {
    const uint32_t tasks = tc_knob(run->knobs, "tasks");
    const uint32_t first = tc_knob(run->knobs, "first");
    const tb_rng base = tb_rng_stream(run->seed, "sequence.tasks");
    seq_weights before = {0};
    for (uint32_t i = 0; i < tasks; i++) {
        tb_rng rng = tb_rng_fork(&base, i);
        seq_task *task = &list->task[list->count];
        if (i == first) {
            before = (seq_weights){0};
        }
        if (draw(run, &rng, &before, task) != 0) {
            return -1;
        }
        list->count += i >= first ? 1 : 0;
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

/* What ran, for a person who looks at a failure. */
static void print_list(const tc_run *run, const seq_list *list) {
    if (list->runs > 1) {
        printf("sequence: failed in run %u%s\n", list->runs, list->runs == 2 ? ", the one with errors on the bus" : ", after the errors");
    }
    for (uint32_t i = 0; i < list->errors; i++) {
        const seq_error *e = &list->error[i];
        printf("sequence: SLVERR on %s burst %u of channel %u\n", e->write ? "write" : "read", e->burst, e->channel);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        printf("sequence: task %u%s: %s\n", i + tc_knob(run->knobs, "first"), i < list->started ? "" : " (not started)",
               list->task[i].what);
    }
}

static void run_tasks(tc_run *run, seq_list *list) {
    const uint32_t errors = tc_knob(run->knobs, "errors");
    if (errors != 0 && run->kind == NPU_DEV_MODEL) {
        printf("not run: errors=%u: the model has no bus that could answer with an error\n", errors);
    }
    if (errors != 0 && run->kind != NPU_DEV_MODEL) {
        seq_run_with_errors(run, list, errors);
    } else if (seq_run(run, list, tc_knob(run->knobs, "serial") != 0)) {
        tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, 0);
    }
}

static int execute(tc_run *run) {
    seq_list *list = calloc(1, sizeof *list);
    int rc = list == NULL ? seq_no_memory(run)
                          : tc_open(run, tb_knobs_get_name(run->knobs, "bus"), (uint64_t)tb_knobs_get(run->knobs, "dseed"), 256u << 20,
                                    NPU_WAIT_POLL, TIMEOUT_US);
    if (rc == 0) {
        rc = draw_all(run, list);
    }
    if (rc == 0) {
        run_tasks(run, list);
        tc_close(run); /* the checks at the end belong to these tasks */
        if (run->result->outcome != TB_PASS) {
            print_list(run, list);
        }
    }
    free(list);
    return rc;
}

static int check(uint32_t n, const tb_knobs *given, char *err, size_t err_size) {
    (void)n;
    if (tc_knob(given, "first") >= tc_knob(given, "tasks")) {
        snprintf(err, err_size, "first: expected less than tasks");
        return -1;
    }
    return 0;
}

static int generate(uint32_t n, uint64_t seed, bool plain, tb_knobs *drawn, char *err, size_t err_size) {
    (void)plain;
    tb_knobs_draw(drawn, seed);
    tb_knobs_draw_in(drawn, "first", seed, 0, 0); /* only ever pinned, to cut a failure down */
    return check(n, drawn, err, err_size);
}

const tc_test tc_sequence = {.name = "sequence",
                             .help = "random tasks of all units one after another and side by side",
                             .knobs = knobs,
                             .knob_count = sizeof knobs / sizeof knobs[0],
                             .generate = generate,
                             .check = check,
                             .execute = execute};
