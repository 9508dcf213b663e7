/* layer.c - convolutions as parts of a small network. */
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MACS UINT64_C(2000000) /* more are sampled */
#define CHECK_POINTS 256u

static uint32_t pick(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_range(rng, lo, hi);
}

/* One dimension: kernel, dilation and padding with at least one window. */
static void draw_side(tb_rng *rng, bool keep, uint32_t map, uint32_t *k, uint32_t *dil, uint32_t *before,
                      uint32_t *after) {
    static const uint64_t sizes[] = {1, 1, 2, 3, 3, 3, 5, 7};
    *k = (uint32_t)tb_rng_pick(rng, sizes, sizeof sizes / sizeof sizes[0]);
    *dil = tb_rng_chance(rng, 1, 5) ? pick(rng, 1, 3) : 1;
    *k = keep ? *k | 1 : *k;
    *before = *after = (*k - 1) * *dil / 2;
    if (!keep) {
        *before = pick(rng, 0, *k / 2);
        *after = pick(rng, 0, *k / 2);
        if ((*k - 1) * *dil + 1 > map + *before + *after) {
            *k = *dil = 1;
        }
    }
}

static uint32_t draw_groups(tb_rng *rng, uint32_t ic) {
    uint32_t groups = pick(rng, 1, ic);
    while (ic % groups != 0) {
        groups--;
    }
    return groups;
}

static void draw_conv(tb_rng *rng, const layer_spec *s, npu_conv *c) {
    uint32_t stride = s->stride != 0 ? s->stride : tb_rng_chance(rng, 1, 3) ? pick(rng, 1, 3) : 1;
    *c = (npu_conv){.iw = s->in.w,
                    .ih = s->in.h,
                    .ic = s->in.c,
                    .oc = pick(rng, 1, s->max_oc),
                    .kw = 1,
                    .kh = 1,
                    .stride_w = stride,
                    .stride_h = stride,
                    .dil_w = 1,
                    .dil_h = 1,
                    .groups = 1,
                    .act = (npu_act)pick(rng, 0, NPU_ACT_COUNT - 1),
                    .has_bias = tb_rng_chance(rng, 2, 3),
                    .in_layout = s->in.layout,
                    .out_layout = s->out_layout,
                    .in_scale = s->in_scale};
    if (s->kind == LAYER_WHOLE) {
        c->kw = s->in.w;
        c->kh = s->in.h;
    } else if (s->kind != LAYER_LINEAR) {
        draw_side(rng, s->keep_size, s->in.w, &c->kw, &c->dil_w, &c->pad_l, &c->pad_r);
        draw_side(rng, s->keep_size, s->in.h, &c->kh, &c->dil_h, &c->pad_t, &c->pad_b);
    }
    if (s->kind == LAYER_DW) {
        c->groups = c->oc = c->ic;
    } else if (s->kind == LAYER_GROUPED) {
        c->groups = draw_groups(rng, c->ic);
        c->oc = c->groups * pick(rng, 1, 1 + s->max_oc / c->groups);
    }
}

static void draw_split(tb_rng *rng, uint32_t n, npu_conv_split *split) {
    *split = (npu_conv_split){.max_oh = tb_rng_chance(rng, 1, 3) ? pick(rng, 1, 8) : 0,
                              .max_ic = tb_rng_chance(rng, 1, 5) ? n : 0,
                              .max_oc = tb_rng_chance(rng, 1, 5) ? n : 0,
                              .group = tb_rng_chance(rng, 1, 4) ? pick(rng, 1, 16) : 0,
                              .serial = tb_rng_chance(rng, 1, 5),
                              .no_resident = tb_rng_chance(rng, 1, 4)};
}

/* The convolution that the driver runs. */
static npu_status make_drive(layer *l, const layer_spec *s) {
    conv_op *op = &l->op;
    op->linear = s->kind == LAYER_LINEAR;
    op->drive = op->math;
    if (!op->linear) {
        return NPU_OK;
    }
    const npu_conv *m = &op->math;
    const npu_status status = npu_linear_make(op->run->n, m->ic, m->oc, m->in_layout, m->out_layout, &op->drive);
    op->drive.act = m->act;
    memcpy(op->drive.act_p, m->act_p, sizeof m->act_p);
    op->drive.has_bias = m->has_bias;
    op->drive.in_scale = m->in_scale;
    op->drive.out_scale = m->out_scale;
    return status;
}

int layer_make(layer *l, tc_run *run, const layer_spec *spec, uint32_t gap) {
    const uint64_t seed = tb_rng_test_seed(run->seed, "layer", spec->index);
    const conv_draw draw = {.seed = seed, .in_scale = CONV_SCALE_CALIB, .out_scale = CONV_SCALE_CALIB};
    tb_rng rng = tb_rng_stream(seed, "layer.shape");
    *l = (layer){.op = {.run = run}};
    snprintf(l->name, sizeof l->name, "layer %u: ", spec->index);
    l->op.name = l->name;
    l->op.t = &l->tensors;
    draw_conv(&rng, spec, &l->op.math);
    draw_split(&rng, run->n, &l->split);
    conv_draw_factors(&draw, &l->op.math);
    npu_status status = make_drive(l, spec);
    if (status == NPU_OK) {
        status = npu_conv_plan_make(run->n, &l->op.drive, &l->split, &l->op.plan);
    }
    if (status != NPU_OK) {
        return opt_fail(run->err, sizeof run->err, "%sno plan: %s", l->name, npu_strerror(status));
    }
    conv_op_tensors(&l->op, gap, false);
    if (spec->in.addr != 0) {
        l->op.in = spec->in;
    }
    return conv_tensors_make(&l->tensors, &l->op.math, &draw) != 0 ? tc_no_memory(run) : 0;
}

void layer_free(layer *l) {
    conv_tensors_free(&l->tensors);
}

int layer_set_input(layer *l, const uint8_t *image) {
    const npu_tensor *in = &l->op.in;
    const size_t pixels = (size_t)in->w * in->h;
    if (in->layout == NPU_INT8_NHWC) {
        free(l->tensors.quantised);
        l->tensors.quantised = tensor_take_i8(in, image);
        return l->tensors.quantised == NULL ? tc_no_memory(l->op.run) : 0;
    }
    for (size_t i = 0; i < pixels * in->c; i++) {
        const uint32_t v = tensor_word(image + tensor_offset(in, (uint32_t)(i / pixels), (uint32_t)(i % pixels)));
        l->tensors.input[i] = v;
        l->tensors.quantised[i] = ref_quantise(v, l->op.math.in_scale);
    }
    return 0;
}

void layer_check(layer *l, const uint8_t *image) {
    const npu_conv *c = &l->op.math;
    const npu_tensor *o = &l->op.out;
    const uint64_t macs = (uint64_t)o->w * o->h * o->c * (c->ic / c->groups) * c->kw * c->kh;
    conv_op_check(&l->op, image, macs > CHECK_MACS ? CHECK_POINTS : 0);
}
