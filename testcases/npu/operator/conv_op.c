/* conv_op.c - a convolution with its operands on the device, and the comparison of its output with the definition. */
#include "conv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void conv_op_tensors(conv_op *op, uint32_t gap, bool tight) {
    const npu_conv *c = &op->math;
    op->in = (npu_tensor){.w = c->iw, .h = c->ih, .c = c->ic, .layout = c->in_layout};
    op->out = (npu_tensor){.w = op->plan.ow, .h = op->plan.oh, .c = c->oc, .layout = c->out_layout};
    /* The vectors of a fully connected layer are contiguous. */
    op->in.step = tensor_step(op->run, &op->in, op->linear ? 0 : gap, tight || op->linear);
    op->out.step = tensor_step(op->run, &op->out, op->linear ? 0 : gap, tight || op->linear);
}

static uint32_t new_stream(conv_op *op, const char *what, uint32_t bytes, npu_buf_kind kind) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", op->name, what);
    return tensor_alloc(op->run, name, bytes, 0, kind);
}

static int put_bias(conv_op *op) {
    const uint32_t bytes = op->plan.param_bytes;
    uint8_t *bias = malloc(bytes);
    if (bias == NULL) {
        return tc_no_memory(op->run);
    }
    memset(bias, 0xFF, bytes); /* padding entries are read and not used */
    memcpy(bias, op->t->bias, (size_t)op->math.oc * 4);
    if (op->math.int_bias && !op->linear) {
        const npu_status status =
            npu_conv_fold_bias(&op->drive, &op->plan, op->t->weights, (const int32_t *)(const void *)op->t->bias,
                               (int32_t *)(void *)bias, bytes);
        if (status != NPU_OK) {
            tc_driver_failed(op->run, "folding", status, NPU_OK);
        }
    }
    op->drive.bias_addr = new_stream(op, "bias", bytes, NPU_BUF_IN);
    const int rc = op->drive.bias_addr == 0 ? -1 : tensor_write(op->run, op->drive.bias_addr, bias, bytes);
    free(bias);
    return rc;
}

static npu_status pack(conv_op *op, int8_t *packed, float *oscale) {
    const npu_conv_plan *p = &op->plan;
    const npu_status status =
        op->linear ? npu_linear_pack_weights(&op->drive, p, op->math.ic, op->t->weights, packed, p->wgt_bytes)
                   : npu_conv_pack_weights(&op->drive, p, op->t->weights, packed, p->wgt_bytes);
    return status != NPU_OK ? status : npu_conv_make_oscale(&op->drive, p, op->t->w_scale, oscale, p->param_bytes);
}

static int put_weights(conv_op *op) {
    npu_conv *c = &op->drive;
    const npu_conv_plan *p = &op->plan;
    int8_t *packed = malloc(p->wgt_bytes);
    float *oscale = malloc(p->param_bytes);
    int rc = -1;
    if (packed == NULL || oscale == NULL) {
        tc_no_memory(op->run);
    } else {
        const npu_status status = pack(op, packed, oscale);
        if (status != NPU_OK) {
            tc_driver_failed(op->run, "packing", status, NPU_OK);
        }
        c->wgt_addr = new_stream(op, "weights", p->wgt_bytes, NPU_BUF_IN);
        c->oscale_addr = new_stream(op, "oscale", p->param_bytes, NPU_BUF_IN);
        if (c->wgt_addr != 0 && c->oscale_addr != 0 && tensor_write(op->run, c->wgt_addr, packed, p->wgt_bytes) == 0) {
            rc = tensor_write(op->run, c->oscale_addr, oscale, p->param_bytes);
        }
    }
    free(packed);
    free(oscale);
    return rc;
}

int conv_op_params(conv_op *op) {
    npu_conv *c = &op->drive;
    int rc = put_weights(op);
    if (rc == 0 && c->has_bias) {
        rc = put_bias(op);
    }
    c->scratch_addr = 0;
    c->scratch_bytes = op->plan.scratch_bytes;
    if (rc == 0 && c->scratch_bytes != 0) {
        c->scratch_addr = new_stream(op, "scratch", c->scratch_bytes, NPU_BUF_SCRATCH);
        rc = c->scratch_addr == 0 ? -1 : 0;
    }
    c->ifm_addr = op->in.addr;
    c->ofm_addr = op->out.addr;
    if (!op->linear) { /* npu_linear_make() sets the others */
        c->ifm_cstep = op->in.step;
        c->ofm_cstep = op->out.step;
    }
    return rc;
}

static void check_point(conv_op *op, const uint8_t *image, uint32_t oc, uint32_t y, uint32_t x) {
    const npu_conv *c = &op->math;
    const size_t at = tensor_offset(&op->out, oc, y * op->out.w + x);
    const ref_value want = ref_act(c->act, c->act_p, conv_reference(c, op->t, oc, y, x));
    if (c->out_layout == NPU_INT8_NHWC) {
        const int8_t got = (int8_t)image[at];
        if (!ref_is_i8(&want, c->out_scale, &c->quant, got)) {
            tc_fail(op->run, "conv: reference",
                    "%schannel %u row %u column %u: got %d, the definition gives %.9g times the output scale", op->name,
                    oc, y, x, got, ref_middle(&want));
        }
        return;
    }
    const uint32_t got = tensor_word(image + at);
    if (!ref_is_f32(&want, got)) {
        tc_fail(op->run, "conv: reference",
                "%schannel %u row %u column %u: got 0x%08X (%.9g), the definition gives %s%.9g", op->name, oc, y, x,
                got, (double)ref_float(got), want.exact ? "" : "about ", ref_middle(&want));
    }
}

void conv_op_check(conv_op *op, const uint8_t *image, uint32_t points) {
    tb_rng rng = tb_rng_stream(op->run->seed, "conv.reference");
    const npu_tensor *o = &op->out;
    for (uint32_t i = 0; i < points && tc_ok(op->run); i++) {
        uint32_t oc = (uint32_t)tb_rng_range(&rng, 0, o->c - 1);
        uint32_t y = (uint32_t)tb_rng_range(&rng, 0, o->h - 1);
        uint32_t x = (uint32_t)tb_rng_range(&rng, 0, o->w - 1);
        if (i < 8) {
            oc = (i & 1) != 0 ? o->c - 1 : 0;
            y = (i & 2) != 0 ? o->h - 1 : 0;
            x = (i & 4) != 0 ? o->w - 1 : 0;
        }
        check_point(op, image, oc, y, x);
    }
    for (uint64_t i = 0; points == 0 && i < (uint64_t)o->c * o->h * o->w && tc_ok(op->run); i++) {
        const uint32_t pixel = (uint32_t)(i % ((uint64_t)o->h * o->w));
        check_point(op, image, (uint32_t)(i / ((uint64_t)o->h * o->w)), pixel / o->w, pixel % o->w);
    }
}

static uint32_t bytes_of(npu_layout layout) {
    return layout == NPU_INT8_NHWC ? 1 : 4;
}

static void fill_bounds(const conv_op *op) {
    const npu_conv *c = &op->math;
    const npu_conv_plan *p = &op->plan;
    tc_stats *s = &op->run->stats;
    const uint64_t peak = 2 * (uint64_t)op->run->n * op->run->n;
    const bool depthwise = p->op == NPU_GEMM_DEPTHWISE;
    s->bounds.op = op->linear ? "fully connected" : depthwise ? "depthwise convolution" : "conv";
    s->bounds.mac_cycles = (s->macs + peak - 1) / peak;
    s->bounds.read_bytes = (uint64_t)c->iw * c->ih * c->ic * bytes_of(c->in_layout) + p->wgt_bytes +
                           (c->has_bias ? 2 : 1) * (uint64_t)p->param_bytes;
    s->bounds.write_bytes = (uint64_t)p->ow * p->oh * c->oc * bytes_of(c->out_layout);
}

void conv_op_describe(const conv_op *op) {
    const npu_conv *c = &op->math;
    const npu_conv_plan *p = &op->plan;
    tc_stats *s = &op->run->stats;
    char extra[96] = "";
    char zeros[48] = "";
    s->macs = conv_macs(c, p);
    if (c->quant.in_zero != 0 || c->quant.out_zero != 0) {
        snprintf(zeros, sizeof zeros, ", zero-points %d %d", c->quant.in_zero, c->quant.out_zero);
    }
    if (c->groups != 1 || c->dil_w != 1 || c->dil_h != 1) {
        snprintf(extra, sizeof extra, ", groups %u, dilation %u %u", c->groups, c->dil_w, c->dil_h);
    }
    snprintf(s->what, sizeof s->what,
             "%ux%ux%u %s -> %ux%ux%u %s, kernel %ux%u, stride %u %u, padding %u %u %u %u%s%s%s, act %s", c->iw, c->ih,
             c->ic, conv_layout_names[c->in_layout], p->ow, p->oh, c->oc, conv_layout_names[c->out_layout], c->kw,
             c->kh, c->stride_w, c->stride_h, c->pad_l, c->pad_r, c->pad_t, c->pad_b, extra,
             c->int_bias   ? ", int32 bias"
             : c->has_bias ? ", bias"
                           : "",
             zeros, conv_act_names[c->act]);
    snprintf(s->tasks, sizeof s->tasks, "%u (%s%srows %ux%u, columns %ux%u, channels in %ux%u, out %ux%u, batches %u)",
             op->tasks, p->row_split ? "kernel rows, " : "", p->resident ? "weights stay, " : "", p->oh_tasks,
             p->oh_task, p->ow_tasks, p->ow_task, p->ic_tasks, p->ic_task, p->oc_tasks, p->oc_task, p->group_tasks);
    fill_bounds(op);
}
