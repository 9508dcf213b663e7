/*
 * conv.c - the tests conv, dw and linear: one convolution through the driver, and once more with other splits on the
 * same data: same bytes.
 */
#include "conv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_POINTS 32u

/* One run of the operator; *image: its output, to be freed. 0, or -1 (could not run); failures are noted. */
static int run_once(conv_op *op, bool second, uint8_t **image) {
    tc_run *run = op->run;
    const npu_conv_split split = conv_split_of(run->knobs, second);
    const char *what = second ? "second run" : "first run";
    npu_status status = npu_conv_plan_make(run->n, &op->drive, &split, &op->plan);
    if (status != NPU_OK) {
        tc_driver_failed(run, what, status, NPU_OK);
        return 0;
    }
    if (tensor_new(run, "output", &op->out, op->out.addr & 15u, NPU_BUF_OUT) != 0 ||
        tensor_prefill(run, &op->out) != 0 || conv_op_params(op) != 0) {
        return -1;
    }
    if (!second) {
        status = npu_perf_clear(&run->npu);
    }
    const tensor_clock start = tensor_now(run);
    const uint16_t started = run->npu.started[NPU_UNIT_GEMM];
    if (status == NPU_OK) {
        status = npu_conv_run(&run->npu, &op->drive, &op->plan);
    }
    if (!second) {
        tensor_measure(run, start);
        op->tasks = (uint16_t)(run->npu.started[NPU_UNIT_GEMM] - started);
        conv_op_describe(op);
    }
    if (status == NPU_OK && !second) {
        status = npu_perf_read(&run->npu, run->stats.perf, NPU_PERF_COUNT);
    }
    if (status != NPU_OK) {
        tc_driver_failed(run, what, status, NPU_OK);
        return 0;
    }
    *image = tensor_read(run, what, &op->out);
    if (*image != NULL) {
        tensor_check_gaps(run, what, &op->out, *image);
    }
    return *image == NULL && tc_ok(run) ? -1 : 0;
}

/* Are the settings such that equal outputs everywhere would be an error? */
static bool is_ordinary(const conv_op *op) {
    const tb_knobs *k = op->run->knobs;
    const npu_conv *c = &op->math;
    /* all windows overlap the map */
    const bool windows = c->pad_l < c->kw && c->pad_t < c->kh && c->dil_w == 1 && c->dil_h == 1;
    const bool scales =
        (tb_knobs_get(k, "in_scale") == CONV_SCALE_CALIB || tb_knobs_get(k, "in_scale") == CONV_SCALE_POW2) &&
        /* with smaller scales conv_data.c does not scale the input up and everything may round to 0 */
        ref_float(c->in_scale) >= 1e-3f;
    const bool data = tb_knobs_get(k, "data") == CONV_UNIFORM && tb_knobs_get(k, "wdata") == CONV_W_UNIFORM &&
                      tb_knobs_get(k, "wscale") == CONV_WSCALE_PLAIN && tb_knobs_get(k, "bias") != 2;
    return windows && scales && data && c->act == NPU_ACT_NONE && c->out_layout == NPU_FP32_NCHW;
}

static void check_not_trivial(conv_op *op, const uint8_t *image) {
    const npu_tensor *o = &op->out;
    if (!is_ordinary(op) || (uint64_t)o->w * o->h * o->c < 32) {
        return;
    }
    for (uint32_t c = 0; c < o->c; c++) {
        for (uint32_t i = 0; i < o->w * o->h; i++) {
            if (memcmp(image, image + tensor_offset(o, c, i), 4) != 0) {
                return;
            }
        }
    }
    tc_fail(op->run, "conv: constant output", "all outputs are 0x%08X", tensor_word(image));
}

static int run_both(conv_op *op) {
    tc_run *run = op->run;
    uint8_t *first = NULL;
    uint8_t *second = NULL;
    int rc = run_once(op, false, &first);
    if (rc == 0 && tc_ok(run)) {
        check_not_trivial(op, first);
        conv_op_check(op, first, REFERENCE_POINTS);
    }
    if (rc == 0 && tc_ok(run) && tb_knobs_get(run->knobs, "second") != 0) {
        rc = run_once(op, true, &second);
        if (rc == 0 && tc_ok(run)) {
            tensor_check_same(run, "conv: depends on splits", &op->out, first, second);
        }
    }
    free(first);
    free(second);
    return rc;
}

/* Distance of a tensor's address from a multiple of 16. */
static uint32_t shift_of(const tc_run *run, const char *knob, npu_layout layout) {
    const uint32_t unit = layout == NPU_INT8_NHWC ? run->n : 4;
    return tc_knob(run->knobs, knob) * unit & 15u;
}

static int place_and_run(conv_op *op) {
    tc_run *run = op->run;
    const bool tight = tb_knobs_get(run->knobs, "tight") != 0;
    /* A vector is read in units of 16 bytes from its start. */
    const uint32_t in_shift = op->linear ? 0 : shift_of(run, "in_shift", op->math.in_layout);
    conv_op_tensors(op, tc_knob(run->knobs, "gap"), tight);
    op->out.addr = shift_of(run, "out_shift", op->math.out_layout);
    if (tensor_new(run, "input", &op->in, in_shift, NPU_BUF_IN) != 0 ||
        tensor_write_elements(run, &op->in, op->t->input != NULL ? (const void *)op->t->input : op->t->quantised) !=
            0) {
        return -1;
    }
    return run_both(op);
}

int conv_execute(tc_run *run) {
    const tb_knobs *k = run->knobs;
    const conv_draw draw = conv_draw_of(k, run->seed);
    conv_case what;
    conv_tensors tensors;
    conv_op op = {.run = run, .name = "", .t = &tensors};
    npu_status status = conv_case_of(run->n, k, &what);
    if (status == NPU_OK) {
        status = npu_conv_plan_make(run->n, &what.drive, NULL, &op.plan);
    }
    if (status != NPU_OK) { /* conv_check() has accepted it */
        return opt_fail(run->err, sizeof run->err, "%s: impossible shape", run->test->name);
    }
    op.linear = what.linear;
    op.math = what.math;
    op.drive = what.drive;
    conv_draw_factors(&draw, &op.math);
    op.drive.in_scale = op.math.in_scale;
    op.drive.out_scale = op.math.out_scale;
    op.drive.quant = op.math.quant;
    op.drive.int_bias = op.math.int_bias;
    memcpy(op.drive.act_p, op.math.act_p, sizeof op.math.act_p);
    int rc = conv_tensors_make(&tensors, &op.math, &draw);
    tensors.linear = op.linear;
    if (rc != 0) {
        tc_no_memory(run);
    }
    if (rc == 0) {
        rc = tc_open(run, conv_memory(&op.math, &op.plan), TENSOR_GEMM_TIMEOUT_US);
    }
    if (rc == 0) {
        rc = place_and_run(&op);
    }
    conv_tensors_free(&tensors);
    return rc;
}
