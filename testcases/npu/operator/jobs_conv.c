/*
 * jobs_conv.c - a small convolution as one of several jobs. Where the device has INT16, every second one is of INT16,
 * so that tasks of both widths follow each other. An INT16 tensor of C channels is placed, filled and compared as its
 * bytes: INT8 pixels of 2*align(C, N) channels.
 */
#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_BYTES (UINT64_C(4) << 20) /* of all buffers, more than enough */

typedef struct jobs_conv_op {
    tensor_op op;
    npu_conv conv;
    npu_conv_plan plan;
    bool known; /* out.v holds the results of the first run */
} jobs_conv_op;

static uint64_t bytes_of(uint32_t n, const tb_knobs *knobs) {
    (void)n;
    (void)knobs;
    return MAX_BYTES;
}

static uint32_t draw(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_range(rng, lo, hi);
}

static npu_conv draw_conv(tb_rng *rng, uint32_t n) {
    npu_conv c = {.dil_w = 1, .dil_h = 1, .groups = 1};
    c.kw = draw(rng, 1, 3);
    c.kh = draw(rng, 1, 3);
    c.stride_w = draw(rng, 1, 2);
    c.stride_h = draw(rng, 1, 2);
    c.pad_l = c.pad_r = draw(rng, 0, 1);
    c.pad_t = c.pad_b = draw(rng, 0, 1);
    c.iw = draw(rng, 3, 24);
    c.ih = draw(rng, 3, 24);
    c.ic = draw(rng, 1, 2 * n);
    c.oc = draw(rng, 1, 3 * n);
    c.in_layout = tb_rng_chance(rng, 1, 2) ? NPU_INT8_NHWC : NPU_FP32_NCHW;
    c.out_layout = tb_rng_chance(rng, 1, 2) ? NPU_INT8_NHWC : NPU_FP32_NCHW;
    c.has_bias = tb_rng_chance(rng, 1, 2);
    c.act = tb_rng_chance(rng, 1, 2) ? NPU_ACT_RELU : tb_rng_chance(rng, 1, 2) ? NPU_ACT_SWISH : NPU_ACT_NONE;
    c.in_scale = ref_bits(127.0f / 4.0f);
    c.out_scale = ref_bits(127.0f / 8.0f);
    return c;
}

/* The same convolution of INT16. */
static void make_wide(npu_conv *c) {
    c->wide = true;
    c->in_layout = c->in_layout == NPU_INT8_NHWC ? NPU_INT16_NHWC : c->in_layout;
    c->out_layout = c->out_layout == NPU_INT8_NHWC ? NPU_INT16_NHWC : c->out_layout;
    c->in_scale = ref_bits(32767.0f / 4.0f);
    c->out_scale = ref_bits(32767.0f / 1024.0f);
}

/* INT8 and one tap: its results are produced faster than a slow memory accepts them, and there are more of them than
 * send_buf has words. */
static void make_prolific(tb_rng *rng, uint32_t n, npu_conv *c) {
    c->kw = c->kh = c->stride_w = c->stride_h = 1;
    c->iw += 20;
    c->ih += 20;
    c->ic = draw(rng, 1, n);
    c->in_layout = c->out_layout = NPU_INT8_NHWC;
}

static uint32_t halved(uint32_t size, uint32_t times, uint32_t least) {
    return size >> times > least ? size >> times : size < least ? size : least;
}

/* An aligned buffer of the GEMM with these contents; 0 with run->err. */
static uint32_t place_block(tc_run *run, const void *src, uint32_t bytes, npu_buf_kind kind) {
    const uint32_t addr = npu_dev_alloc(run->dev, bytes, 64, kind);
    if (addr == 0 || (src != NULL && !npu_dev_write(run->dev, addr, src, bytes))) {
        tc_no_memory(run);
        return 0;
    }
    return addr;
}

static int put_weights(tc_run *run, jobs_conv_op *o, tb_rng *rng) {
    npu_conv *c = &o->conv;
    const size_t bytes = ((size_t)c->oc * c->ic * c->kw * c->kh) << c->wide;
    void *weights = malloc(bytes);
    int8_t *packed = malloc(o->plan.wgt_bytes);
    int rc = -1;
    if (weights != NULL && packed != NULL) {
        tb_rng_fill(rng, weights, bytes);
        const npu_status status = c->wide ? npu_conv_pack_weights16(c, &o->plan, weights, packed, o->plan.wgt_bytes)
                                          : npu_conv_pack_weights(c, &o->plan, weights, packed, o->plan.wgt_bytes);
        if (status != NPU_OK) {
            tc_driver_failed(run, "packing", status, NPU_OK);
        }
        c->wgt_addr = place_block(run, packed, o->plan.wgt_bytes, NPU_BUF_IN);
        rc = c->wgt_addr == 0 ? -1 : 0;
    } else {
        tc_no_memory(run);
    }
    free(weights);
    free(packed);
    return rc;
}

static int put_factors(tc_run *run, jobs_conv_op *o, tb_rng *rng) {
    npu_conv *c = &o->conv;
    const uint32_t count = o->plan.param_bytes / 4;
    float *values = malloc(o->plan.param_bytes);
    if (values == NULL) {
        return tc_no_memory(run);
    }
    for (uint32_t i = 0; i < count; i++) {
        values[i] = tb_rng_f32_range(rng, 1e-5f, 1e-3f);
    }
    c->oscale_addr = place_block(run, values, o->plan.param_bytes, NPU_BUF_IN);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = tb_rng_f32_range(rng, -1.0f, 1.0f);
    }
    c->bias_addr = place_block(run, values, o->plan.param_bytes, NPU_BUF_IN);
    free(values);
    c->scratch_bytes = o->plan.scratch_bytes;
    c->scratch_addr = c->scratch_bytes == 0 ? 0 : place_block(run, NULL, c->scratch_bytes, NPU_BUF_SCRATCH);
    return c->oscale_addr != 0 && c->bias_addr != 0 && (c->scratch_bytes == 0 || c->scratch_addr != 0) ? 0 : -1;
}

static npu_tensor shape_of(uint32_t n, uint32_t w, uint32_t h, uint32_t c, npu_layout layout) {
    if (layout == NPU_INT16_NHWC) { /* its bytes */
        return (npu_tensor){.w = w, .h = h, .c = 2 * tb_align_up(c, n), .layout = NPU_INT8_NHWC};
    }
    return (npu_tensor){.w = w, .h = h, .c = c, .layout = layout};
}

static int put_tensors(tc_run *run, const tb_knobs *knobs, uint64_t seed, jobs_conv_op *o, tb_rng *rng) {
    npu_conv *c = &o->conv;
    const tensor_place place = {.knobs = knobs, .seed = seed, .wide = c->wide};
    const npu_tensor in = shape_of(run->n, c->iw, c->ih, c->ic, c->in_layout);
    const npu_tensor out = shape_of(run->n, o->plan.ow, o->plan.oh, c->oc, c->out_layout);
    if (tensor_make(run, &place, "input", in, NPU_BUF_IN, &o->op.a) != 0 ||
        tensor_make(run, &place, "output", out, NPU_BUF_OUT, &o->op.out) != 0) {
        return -1;
    }
    static const tensor_data values[] = {TENSOR_PLAIN, TENSOR_ZEROS, TENSOR_ONES, TENSOR_RAMP};
    tensor_fill(&o->op.a, rng, values[tc_knob(knobs, "values")]);
    c->ifm_addr = o->op.a.at.addr;
    c->ifm_cstep = o->op.a.at.step;
    c->ofm_addr = o->op.out.at.addr;
    c->ofm_cstep = o->op.out.at.step;
    return tensor_put(run, &o->op.a, false) != 0 || tensor_blank(run, &o->op.out) != 0 ? -1 : 0;
}

static uint64_t mac_cycles(uint32_t n, const npu_conv *c, const npu_conv_plan *p) {
    const uint64_t macs = (uint64_t)p->ow * p->oh * c->oc * c->ic * c->kw * c->kh, one = 2 * n * n;
    return ((macs << c->wide) + one - 1) / one;
}

static int prepare(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op) {
    jobs_conv_op *o = (jobs_conv_op *)op;
    tb_rng rng = tb_rng_stream(seed, "jobs.conv");
    npu_conv_split split = {0};
    o->conv = draw_conv(&rng, run->n);
    if (tc_knob(knobs, "writes") != 0) {
        make_prolific(&rng, run->n, &o->conv);
    }
    tb_rng width = tb_rng_stream(seed, "jobs.wide"); /* the other draws are those of a device without INT16 */
    if (run->npu.int16 && tb_rng_chance(&width, 1, 2)) {
        make_wide(&o->conv);
    }
    const uint32_t cut = tc_knob(knobs, "cut");
    o->conv.iw = halved(o->conv.iw, cut, 3); /* the largest kernel */
    o->conv.ih = halved(o->conv.ih, cut, 3);
    o->conv.ic = halved(o->conv.ic, cut, 1);
    o->conv.oc = halved(o->conv.oc, cut, 1);
    split.max_oh = tb_rng_chance(&rng, 1, 2) ? draw(&rng, 1, 8) : 0; /* several tasks */
    split.max_ic = tb_rng_chance(&rng, 1, 3) ? run->n : 0;           /* sums through memory */
    split.serial = tb_rng_chance(&rng, 1, 4);
    const npu_status status = npu_conv_plan_make(run->n, &o->conv, &split, &o->plan);
    if (status != NPU_OK) {
        tc_driver_failed(run, "plan", status, NPU_OK);
        return 0;
    }
    const npu_conv *c = &o->conv;
    snprintf(op->what, sizeof op->what, "%sconv %ux%ux%u -> %ux%ux%u, kernel %ux%u", c->wide ? "INT16 " : "", c->iw,
             c->ih, c->ic, o->plan.ow, o->plan.oh, c->oc, c->kw, c->kh);
    if (put_tensors(run, knobs, seed, o, &rng) != 0 || put_weights(run, o, &rng) != 0) {
        return -1;
    }
    op->bounds = (tc_bounds){.op = "conv",
                             .read_bytes = o->op.a.count * (o->op.a.at.layout == NPU_INT8_NHWC ? 1 : 4) +
                                           o->plan.wgt_bytes + 2 * o->plan.param_bytes,
                             .write_bytes = o->op.out.count * (o->op.out.at.layout == NPU_INT8_NHWC ? 1 : 4),
                             .mac_cycles = mac_cycles(run->n, c, &o->plan)};
    return put_factors(run, o, &rng);
}

static npu_status start(const npu *dev, const tensor_op *op, npu_job *job) {
    const jobs_conv_op *o = (const jobs_conv_op *)op;
    return npu_job_conv(job, dev, &o->conv, &o->plan);
}

static npu_status run_it(npu *dev, tensor_op *op) {
    const jobs_conv_op *o = (const jobs_conv_op *)op;
    return npu_conv_run(dev, &o->conv, &o->plan);
}

static void verify(tc_run *run, tensor_op *op) {
    jobs_conv_op *o = (jobs_conv_op *)op;
    if (!o->known && !tensor_get(run, &o->op.out)) {
        tc_fail(run, "output unreadable", "conv: the output at 0x%08X cannot be read", o->op.out.at.addr);
        return;
    }
    o->known = true;
    tensor_check(run, &o->op.out, "conv", NULL, NULL);
}

const tensor_kind jobs_conv_kind = {.test = &tc_conv,
                                    .size = sizeof(jobs_conv_op),
                                    .bytes = bytes_of,
                                    .prepare = prepare,
                                    .start = start,
                                    .run = run_it,
                                    .verify = verify};
