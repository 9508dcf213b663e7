/*
 * bus_error.c - directed test: an error response on the bus. The driver reports it, the device becomes idle, and after
 * npu_init() the same task is clean.
 */
#include "../tests.h"

#include "npu_regs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_US 100000u
#define SIDE 8u
#define PIXELS (SIDE * SIDE)
#define NOWHERE 0x08000000u /* below the memory of the device */

enum { READ, WRITE, UNMAPPED };
static const char *const what_names[] = {"read", "write", "unmapped"};
static const char *const wait_names[] = {"irq", "poll"};

static const tb_knob knobs[] = {
    {"what", 0, 2, TB_KNOB_ENUM, what_names, NULL,
     "a burst that is answered with SLVERR, or an input where no memory is"},
    {"channel", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "DMA channel of the burst"},
    {"burst", 0, 4095, TB_KNOB_UNIFORM, NULL, NULL, "number of the burst, modulo those of a clean run"},
    {"serial", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: one task in flight"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"wait", 0, 1, TB_KNOB_ENUM, wait_names, NULL, "how the driver waits"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

/* 8 x 8 x 2N -> 8 x 8 x 2N, kernel 3, padding 1, in several tasks. */
typedef struct op {
    npu_conv conv;
    npu_conv_plan plan;
    uint8_t *first, *again; /* outputs of the two clean runs */
    uint32_t out_bytes;
} op;

static uint32_t new_buffer(tc_run *run, uint32_t bytes, const void *src, npu_buf_kind kind) {
    const uint32_t addr = npu_dev_alloc(run->dev, bytes, 64, kind);
    return addr != 0 && npu_dev_write(run->dev, addr, src, bytes) ? addr : 0;
}

static int make_buffers(tc_run *run, op *o) {
    npu_conv *c = &o->conv;
    const uint32_t in_bytes = c->ic * PIXELS * 4;
    const uint32_t big = in_bytes > o->plan.wgt_bytes ? in_bytes : o->plan.wgt_bytes;
    tb_rng rng = tb_rng_stream(run->seed, "bus_error.data");
    uint8_t *bytes = malloc(big > o->out_bytes ? big : o->out_bytes);
    if (bytes == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < in_bytes; i += 4) {
        const float v = tb_rng_f32_range(&rng, -127.0f, 127.0f);
        memcpy(bytes + i, &v, 4);
    }
    c->ifm_addr = new_buffer(run, in_bytes, bytes, NPU_BUF_IN);
    tb_rng_fill(&rng, bytes, o->plan.wgt_bytes);
    c->wgt_addr = new_buffer(run, o->plan.wgt_bytes, bytes, NPU_BUF_IN);
    for (uint32_t i = 0; i < o->plan.param_bytes; i += 4) {
        const float v = tb_rng_f32_range(&rng, 0.001f, 1.0f);
        memcpy(bytes + i, &v, 4);
    }
    c->oscale_addr = new_buffer(run, o->plan.param_bytes, bytes, NPU_BUF_IN);
    c->bias_addr = new_buffer(run, o->plan.param_bytes, bytes, NPU_BUF_IN);
    memset(bytes, 0, o->out_bytes);
    c->ofm_addr = new_buffer(run, o->out_bytes, bytes, NPU_BUF_OUT);
    free(bytes);
    return c->ifm_addr != 0 && c->wgt_addr != 0 && c->oscale_addr != 0 && c->bias_addr != 0 && c->ofm_addr != 0 ? 0
                                                                                                                : -1;
}

static int make(tc_run *run, op *o) {
    const uint32_t ch = 2 * run->n;
    const npu_conv_split split = {.max_oh = 3, .max_ic = run->n, .serial = tb_knobs_get(run->knobs, "serial") != 0};
    o->conv = (npu_conv){.iw = SIDE,
                         .ih = SIDE,
                         .ic = ch,
                         .oc = ch,
                         .kw = 3,
                         .kh = 3,
                         .stride_w = 1,
                         .stride_h = 1,
                         .dil_w = 1,
                         .dil_h = 1,
                         .groups = 1,
                         .pad_l = 1,
                         .pad_r = 1,
                         .pad_t = 1,
                         .pad_b = 1,
                         .has_bias = true,
                         .in_scale = 0x3F800000u,
                         .ifm_cstep = PIXELS * 4,
                         .ofm_cstep = PIXELS * 4};
    const npu_status status = npu_conv_plan_make(run->n, &o->conv, &split, &o->plan);
    if (status != NPU_OK) {
        tc_driver_failed(run, "plan", status, NPU_OK);
        return -1;
    }
    o->out_bytes = ch * PIXELS * 4;
    o->first = malloc(o->out_bytes);
    o->again = malloc(o->out_bytes);
    if (o->first == NULL || o->again == NULL || make_buffers(run, o) != 0) {
        return tc_no_memory(run);
    }
    return 0;
}

/* A run without error, its output, and its counters. */
static bool clean_run(tc_run *run, op *o, const char *what, uint8_t *out, uint64_t *perf) {
    npu_status status = npu_perf_clear(&run->npu);
    if (status == NPU_OK) {
        status = npu_conv_run(&run->npu, &o->conv, &o->plan);
    }
    if (status == NPU_OK) {
        status = npu_perf_read(&run->npu, perf, NPU_PERF_COUNT);
    }
    if (status != NPU_OK) {
        tc_driver_failed(run, what, status, NPU_OK);
        return false;
    }
    return npu_dev_read(run->dev, o->conv.ofm_addr, out, o->out_bytes);
}

/* The bit of ERR that must be among those reported. */
static uint32_t arm(tc_run *run, op *o, const uint64_t *perf) {
    static const uint32_t bits[2][2] = {{NPU_ERR_BUS_RD0_MASK, NPU_ERR_BUS_RD1_MASK},
                                        {NPU_ERR_BUS_WR0_MASK, NPU_ERR_BUS_WR1_MASK}};
    const unsigned what = (unsigned)tb_knobs_get(run->knobs, "what");
    const unsigned channel = (unsigned)tb_knobs_get(run->knobs, "channel");
    if (what == UNMAPPED) {
        o->conv.ifm_addr = NOWHERE;
        return NPU_ERR_BUS_RD0_MASK;
    }
    const uint64_t bursts =
        perf[(what == READ ? NPU_PERF_SEL_SEL_READ0_BURSTS : NPU_PERF_SEL_SEL_WRITE0_BURSTS) + channel];
    if (bursts == 0) {
        tc_fail(run, "bus_error: no bursts", "the counter of %s bursts on channel %u is 0 after a convolution",
                what_names[what], channel);
        return 0;
    }
    npu_dev_inject_error(run->dev, channel, what, (uint64_t)tb_knobs_get(run->knobs, "burst") % bursts);
    return bits[what][channel];
}

static void run_all(tc_run *run, op *o) {
    uint64_t perf[NPU_PERF_COUNT];
    const uint32_t ifm_addr = o->conv.ifm_addr;
    if (!clean_run(run, o, "run before the error", o->first, perf)) {
        return;
    }
    const uint32_t bit = arm(run, o, perf);
    npu_status status = bit != 0 ? npu_conv_run(&run->npu, &o->conv, &o->plan) : NPU_OK;
    if (!tc_ok(run)) {
        tc_fail(run, "bus_error", "failed in the run with the error");
        return;
    }
    if (status != NPU_ERR_BUS || (run->npu.last_err & bit) == 0) {
        tc_fail(run, "bus_error: not reported",
                "the driver answered \"%s\" with ERR = 0x%02X, expected \"%s\" with bit 0x%02X", npu_strerror(status),
                run->npu.last_err, npu_strerror(NPU_ERR_BUS), bit);
        return;
    }
    o->conv.ifm_addr = ifm_addr;
    status = npu_init(&run->npu, npu_dev_hal(run->dev), run->npu.wait, TIMEOUT_US);
    if (status != NPU_OK) {
        tc_driver_failed(run, "npu_init after the error", status, NPU_OK);
        return;
    }
    if (clean_run(run, o, "run after the error", o->again, perf) && memcmp(o->first, o->again, o->out_bytes) != 0) {
        tc_fail(run, "bus_error: not clean", "the run after the error gives another output than the run before it");
    }
}

static int execute(tc_run *run) {
    op o = {0};
    if (run->setup.kind == NPU_DEV_MODEL && tb_knobs_get(run->knobs, "what") != UNMAPPED) {
        printf("not run: what=%s: the model has no bus that could answer with an error\n",
               tb_knobs_get_name(run->knobs, "what"));
        return 0;
    }
    int rc = tc_open(run, 0, TIMEOUT_US);
    if (rc == 0) {
        rc = make(run, &o);
    }
    if (rc == 0) {
        run_all(run, &o);
    }
    free(o.first);
    free(o.again);
    return rc;
}

const tc_test tc_bus_error = {.name = "bus_error",
                              .help = "an error response on the bus is reported, and the next task is clean",
                              TB_KNOBS_OF(knobs),
                              .execute = execute};
