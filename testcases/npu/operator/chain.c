/*
 * chain.c - fences: tasks that read results of the task before them, all started as early as the device accepts them.
 * Then once more, one at a time: same bytes.
 *
 * It writes the registers directly, since the driver never has two operators in flight.
 */
#include "../tests.h"

#include "npu_regs.h"
#include "num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_US 1000u
#define MAX_TASKS 6u
#define MAX_POLLS 2000000u

static const tb_knob knobs[] = {
    {"tasks", 2, MAX_TASKS, TB_KNOB_UNIFORM, NULL, NULL, "length of the chain"},
    {"side", 1, 10, TB_KNOB_SMALL, NULL, NULL, "rows and columns of each map"},
    {"channels", 1, 24, TB_KNOB_SMALL, NULL, NULL, "channels of each map"},
    {"radius", 0, 2, TB_KNOB_UNIFORM, NULL, NULL, "kernel 1, 3 or 5, padded so that maps keep their size"},
    {"group", 0, 255, TB_KNOB_SMALL, NULL, NULL, "tiles written back together"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

typedef struct chain {
    uint32_t tasks, side, channels, kernel, radius;
    uint32_t cstep, map_bytes, wgt_bytes, par_bytes;
    uint32_t wgt, oscale;
    uint32_t map[MAX_TASKS + 1]; /* map[0] is the input, map[i + 1] the output of task i */
    uint16_t started;
} chain;

/* A new buffer of random bytes, floats between -127 and 127, or zeros. 0: no room. */
enum { ZEROS, BYTES, FLOATS };
static uint32_t new_buffer(tc_run *run, const char *stream, uint32_t bytes, int kind, npu_buf_kind buf) {
    const uint32_t addr = npu_dev_alloc(run->dev, bytes, 64, buf);
    uint8_t *data = calloc(1, bytes);
    bool good = addr != 0 && data != NULL;
    if (good) {
        tb_rng rng = tb_rng_stream(run->seed, stream);
        if (kind == BYTES) {
            tb_rng_fill(&rng, data, bytes);
        }
        for (uint32_t i = 0; kind == FLOATS && i + 4 <= bytes; i += 4) {
            const float v = tb_rng_f32_range(&rng, -127.0f, 127.0f);
            memcpy(data + i, &v, 4);
        }
        good = npu_dev_write(run->dev, addr, data, bytes);
    }
    free(data);
    return good ? addr : 0;
}

static int make(tc_run *run, chain *c) {
    const uint32_t n = run->n;
    const uint32_t blocks = tb_div_up(tc_knob(run->knobs, "channels"), n);
    c->tasks = tc_knob(run->knobs, "tasks");
    c->side = tc_knob(run->knobs, "side");
    c->channels = tc_knob(run->knobs, "channels");
    c->radius = tc_knob(run->knobs, "radius");
    c->kernel = 2 * c->radius + 1;
    c->cstep = (c->side * c->side * 4 + 15u) & ~15u;
    c->map_bytes = c->channels * c->cstep;
    c->wgt_bytes = blocks * blocks * c->kernel * c->kernel * n * n;
    c->par_bytes = (c->channels + 3u) / 4 * 16;
    c->wgt = new_buffer(run, "chain.weights", c->wgt_bytes, BYTES, NPU_BUF_IN);
    c->map[0] = new_buffer(run, "chain.input", c->map_bytes, FLOATS, NPU_BUF_IN);
    /* sums of products go back to the range of the quantiser */
    c->oscale = npu_dev_alloc(run->dev, c->par_bytes, 64, NPU_BUF_IN);
    for (uint32_t i = 0; c->oscale != 0 && i < c->par_bytes; i += 4) {
        const float scale = 1.0f / (64.0f * (float)(c->kernel + (i / 4) % 3));
        if (!npu_dev_write(run->dev, c->oscale + i, &scale, 4)) {
            c->oscale = 0;
        }
    }
    return c->wgt != 0 && c->map[0] != 0 && c->oscale != 0 ? 0 : tc_no_memory(run);
}

/* Fresh, zeroed maps for every task. */
static int make_maps(tc_run *run, chain *c) {
    for (uint32_t i = 1; i <= c->tasks; i++) {
        c->map[i] = new_buffer(run, "chain.map", c->map_bytes, ZEROS, NPU_BUF_SCRATCH);
        if (c->map[i] == 0) {
            return tc_no_memory(run);
        }
    }
    return 0;
}

static bool poll(tc_run *run, const char *name, uint32_t offset, uint32_t mask, uint32_t want) {
    uint32_t value = ~want;
    for (uint32_t i = 0; i < MAX_POLLS && (value & mask) != want; i++) {
        if (!tc_read(run, offset, &value)) {
            return false;
        }
    }
    if ((value & mask) != want) {
        tc_fail(run, "chain: time-out", "%s is 0x%08X after %u reads, expected 0x%08X", name, value, MAX_POLLS, want);
    }
    return (value & mask) == want;
}

static bool start(tc_run *run, chain *c, uint32_t i) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    const uint32_t size = c->side << 16 | c->side;
    const uint32_t r = c->radius;
    const uint32_t ctrl =
        NPU_GEMM_CTRL_EN_MASK | NPU_GEMM_CTRL_LAYOUT_MASK | NPU_GEMM_CTRL_OSCALE_MASK | NPU_GEMM_CTRL_FENCE_MASK |
        c->kernel << NPU_GEMM_CTRL_KERNEL_LSB | 1u << NPU_GEMM_CTRL_STRIDE_LSB | r << NPU_GEMM_CTRL_PAD_LEFT_LSB |
        r << NPU_GEMM_CTRL_PAD_RIGHT_LSB | r << NPU_GEMM_CTRL_PAD_TOP_LSB | r << NPU_GEMM_CTRL_PAD_BOTTOM_LSB;
    const uint32_t writes[][2] = {{NPU_REG_GEMM_IFM_ADDR, c->map[i]},
                                  {NPU_REG_GEMM_IFM_CSTEP, c->cstep},
                                  {NPU_REG_GEMM_WGT_ADDR, c->wgt},
                                  {NPU_REG_GEMM_OSCALE_ADDR, c->oscale},
                                  {NPU_REG_GEMM_OFM_ADDR, c->map[i + 1]},
                                  {NPU_REG_GEMM_OFM_CSTEP, c->cstep},
                                  {NPU_REG_GEMM_IFM_SIZE, size},
                                  {NPU_REG_GEMM_CHANNELS, c->channels << 16 | c->channels},
                                  {NPU_REG_GEMM_OFM_SIZE, size},
                                  {NPU_REG_GEMM_IN_SCALE, 0x3F800000u},
                                  {NPU_REG_GEMM_GROUP, tc_knob(run->knobs, "group")},
                                  {NPU_REG_GEMM_ACT, 0},
                                  {NPU_REG_GEMM_CTRL, ctrl}};
    if (!poll(run, "STATUS", NPU_REG_STATUS, NPU_STATUS_GEMM_READY_MASK, NPU_STATUS_GEMM_READY_MASK)) {
        return false;
    }
    for (uint32_t ch = 0; ch < c->channels; ch++) {
        hal->task_output(hal->ctx, c->map[i + 1] + ch * c->cstep, c->side * c->side * 4);
    }
    for (size_t w = 0; w < sizeof writes / sizeof writes[0]; w++) {
        if (!tc_write(run, writes[w][0], writes[w][1])) {
            return false;
        }
    }
    c->started++;
    return true;
}

/* The whole chain; its last map into out. */
static int run_chain(tc_run *run, chain *c, bool one_at_a_time, uint8_t *out) {
    if (make_maps(run, c) != 0) {
        return -1;
    }
    bool good = true;
    for (uint32_t i = 0; i < c->tasks && good; i++) {
        good = start(run, c, i);
        if (good && (one_at_a_time || i + 1 == c->tasks)) {
            good = poll(run, "GEMM_COUNT", NPU_REG_GEMM_COUNT, NPU_GEMM_COUNT_DONE_MASK, c->started);
        }
    }
    if (good && tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, 0) &&
        !npu_dev_read(run->dev, c->map[c->tasks], out, c->map_bytes)) {
        tc_fail(run, "chain: output unreadable", "the output at 0x%08X cannot be read", c->map[c->tasks]);
    }
    return 0;
}

static int execute(tc_run *run) {
    chain c = {0};
    uint8_t *first = NULL;
    uint8_t *second = NULL;
    int rc = tc_open(run, 0, TIMEOUT_US);
    if (rc == 0) {
        rc = make(run, &c);
    }
    if (rc == 0) {
        first = calloc(1, c.map_bytes);
        second = calloc(1, c.map_bytes);
        rc = first == NULL || second == NULL ? tc_no_memory(run) : run_chain(run, &c, false, first);
    }
    if (rc == 0 && tc_ok(run)) {
        rc = run_chain(run, &c, true, second);
    }
    if (rc == 0 && tc_ok(run) && memcmp(first, second, c.map_bytes) != 0) {
        tc_fail(run, "chain: fence",
                "a chain of %u tasks in flight has a different output than the same tasks one at a time", c.tasks);
    }
    free(first);
    free(second);
    return rc;
}

static int check(uint32_t n, const tb_knobs *given, char *err, size_t err_size) {
    const uint32_t kernel = 2 * tc_knob(given, "radius") + 1;
    const uint32_t channels = tb_align_up(tc_knob(given, "channels"), n);
    if (kernel * kernel * channels > 4608) {
        return opt_fail(err, err_size, "radius and channels: more weights than the weight buffer holds");
    }
    return 0;
}

static void generate(const tc_gen *g) {
    tb_knobs_draw(g->knobs, g->seed);
}

const tc_test tc_chain = {.name = "chain",
                          .help = "fences: tasks that read what the task before them wrote",
                          TB_KNOBS_OF(knobs),
                          .generate = generate,
                          .check = check,
                          .execute = execute};
