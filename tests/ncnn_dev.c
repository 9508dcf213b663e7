/*
 * ncnn_dev.c - see ncnn_dev.h.
 */
#include "ncnn_dev.h"

#include <stdlib.h>
#include <string.h>

#include "cmodel.h"
#include "npu.h"

#define BASE 0x20000000u
#define BYTES (24u << 20)
#define OLD 0xA5u /* what lies in memory that nobody has written */
#define MARGIN 32u

struct ncnn_dev {
    uint8_t *bytes;
    uint32_t top; /* offset of what is free */
    cm_device *model;
    npu_hal hal;
    npu npu;
    npu_tensor out; /* of the last layer */
};

/* ---- the device ---- */

static bool inside(uint32_t addr, uint32_t bytes) {
    return addr >= BASE && bytes <= BYTES && addr - BASE <= BYTES - bytes;
}

static bool mem_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    const ncnn_dev *d = ctx;
    if (!inside(addr, bytes)) {
        return false;
    }
    memcpy(dst, d->bytes + (addr - BASE), bytes);
    return true;
}

static bool mem_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    ncnn_dev *d = ctx;
    if (!inside(addr, bytes)) {
        return false;
    }
    memcpy(d->bytes + (addr - BASE), src, bytes);
    return true;
}

static npu_hal_status reg_read(void *ctx, uint32_t offset, uint32_t *value) {
    *value = cm_device_read(((ncnn_dev *)ctx)->model, offset);
    return NPU_HAL_OK;
}

static npu_hal_status reg_write(void *ctx, uint32_t offset, uint32_t value) {
    cm_device_write(((ncnn_dev *)ctx)->model, offset, value, 0xF);
    return NPU_HAL_OK;
}

static npu_hal_status wait_irq(void *ctx, uint32_t mask, uint32_t timeout_us) {
    (void)timeout_us;
    return (cm_device_irq(((ncnn_dev *)ctx)->model) & mask) != 0 ? NPU_HAL_OK : NPU_HAL_TIMEOUT;
}

static void delay_us(void *ctx, uint32_t us) {
    (void)ctx;
    (void)us;
}

ncnn_dev *ncnn_dev_open(uint32_t n) {
    ncnn_dev *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return NULL;
    }
    const cm_mem mem = {d, mem_read, mem_write};
    d->bytes = malloc(BYTES);
    d->model = cm_device_new(n, &mem);
    d->hal =
        (npu_hal){.ctx = d, .reg_read = reg_read, .reg_write = reg_write, .wait_irq = wait_irq, .delay_us = delay_us};
    if (d->bytes == NULL || d->model == NULL || npu_init(&d->npu, &d->hal, NPU_WAIT_IRQ, 100) != NPU_OK ||
        d->npu.n != n) {
        ncnn_dev_close(d);
        return NULL;
    }
    memset(d->bytes, OLD, BYTES);
    d->top = MARGIN;
    return d;
}

void ncnn_dev_close(ncnn_dev *d) {
    if (d->model != NULL) {
        cm_device_free(d->model);
    }
    free(d->bytes);
    free(d);
}

void ncnn_dev_begin(ncnn_dev *d) {
    memset(d->bytes, OLD, d->top);
    d->top = MARGIN;
    d->out = (npu_tensor){0};
}

/* ---- memory ---- */

/* The device address of a new buffer on a multiple of 32; 0 when the memory is full. */
static uint32_t allocate(ncnn_dev *d, uint64_t bytes) {
    const uint32_t at = (d->top + 31) / 32 * 32;
    if (at + bytes + MARGIN > BYTES) {
        return 0;
    }
    d->top = at + (uint32_t)bytes + MARGIN;
    return BASE + at;
}

static uint8_t *at(const ncnn_dev *d, uint32_t addr) {
    return d->bytes + (addr - BASE);
}

static uint32_t up(uint32_t v, uint32_t to) {
    return (v + to - 1) / to * to;
}

static bool make_tensor(ncnn_dev *d, npu_layout layout, uint32_t w, uint32_t h, uint32_t c, npu_tensor *t) {
    *t = (npu_tensor){.w = w, .h = h, .c = c, .layout = layout};
    const bool int8 = layout == NPU_INT8_NHWC;
    t->step = int8 ? up(c, d->npu.n) : w * h == 1 ? 4 : up(w * h * 4, 16);
    t->addr = allocate(d, (uint64_t)t->step * (int8 ? w * h : c) + 16);
    return t->addr != 0;
}

static uint8_t *element(const ncnn_dev *d, const npu_tensor *t, uint32_t c, uint32_t pixel) {
    return at(d, t->layout == NPU_INT8_NHWC ? t->addr + pixel * t->step + c : t->addr + c * t->step + pixel * 4);
}

/* From [c][h][w] into the tensor. */
static void put_input(const ncnn_dev *d, const npu_tensor *t, const void *data) {
    const bool int8 = t->layout == NPU_INT8_NHWC;
    const size_t size = int8 ? 1 : 4;
    const uint8_t *from = data;
    if (int8) {
        memset(at(d, t->addr), 0, (size_t)t->step * t->w * t->h); /* pad channels */
    }
    for (uint32_t c = 0; c < t->c; c++) {
        for (uint32_t i = 0; i < t->w * t->h; i++, from += size) {
            memcpy(element(d, t, c, i), from, size);
        }
    }
}

/* Pad channels are 0, gaps and what follows the tensor are as they were. */
static bool margins_kept(const ncnn_dev *d, const npu_tensor *t) {
    const bool int8 = t->layout == NPU_INT8_NHWC;
    const uint32_t pieces = int8 ? t->w * t->h : t->c;
    const uint32_t used = int8 ? t->c : t->w * t->h * 4;
    for (uint32_t i = 0; i < pieces; i++) {
        const uint8_t *p = at(d, t->addr + i * t->step);
        for (uint32_t b = used; b < t->step; b++) {
            if (p[b] != (int8 ? 0 : OLD)) {
                return false;
            }
        }
    }
    for (uint32_t b = 0; b < 16; b++) {
        if (*at(d, t->addr + pieces * t->step + b) != OLD) {
            return false;
        }
    }
    return true;
}

/* ---- layers ---- */

static uint32_t bits(float f) {
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

static npu_act act_of(int32_t type) {
    static const npu_act acts[NCNN_ACTS] = {NPU_ACT_NONE,    NPU_ACT_RELU, NPU_ACT_LEAKY,    NPU_ACT_CLIP,
                                            NPU_ACT_SIGMOID, NPU_ACT_MISH, NPU_ACT_HARDSWISH};
    return acts[type];
}

static npu_layout layout_of(int32_t int8) {
    return int8 != 0 ? NPU_INT8_NHWC : NPU_FP32_NCHW;
}

static int convolution_of(const ncnn_dev *d, const ncnn_layer *l, npu_conv *c) {
    if (l->kind == NCNN_INNER_PRODUCT) {
        const npu_status status = npu_linear_make(d->npu.n, (uint32_t)l->w, (uint32_t)l->num_output,
                                                  layout_of(l->in_int8), layout_of(l->out_int8), c);
        if (status != NPU_OK) {
            return status;
        }
    } else {
        *c =
            (npu_conv){.iw = (uint32_t)l->w, .ih = (uint32_t)l->h, .ic = (uint32_t)l->c, .oc = (uint32_t)l->num_output};
        c->kw = (uint32_t)l->kernel_w;
        c->kh = (uint32_t)l->kernel_h;
        c->stride_w = (uint32_t)l->stride_w;
        c->stride_h = (uint32_t)l->stride_h;
        c->dil_w = (uint32_t)l->dilation_w;
        c->dil_h = (uint32_t)l->dilation_h;
        c->pad_l = (uint32_t)l->pad_left;
        c->pad_r = (uint32_t)l->pad_right;
        c->pad_t = (uint32_t)l->pad_top;
        c->pad_b = (uint32_t)l->pad_bottom;
        c->groups = (uint32_t)l->group;
        c->in_layout = layout_of(l->in_int8);
        c->out_layout = layout_of(l->out_int8);
    }
    c->act = act_of(l->activation_type);
    c->act_p[0] = bits(l->activation_params[0]);
    c->act_p[1] = bits(l->activation_params[1]);
    c->has_bias = l->bias_term != 0;
    c->in_scale = bits(l->bottom_scale);
    c->out_scale = bits(l->top_scale);
    return NPU_OK;
}

/* The driver wants a weight scale for each output channel, ncnn has one for each channel, each group or all of them. */
static int put_factors(ncnn_dev *d, const ncnn_layer *l, const ncnn_blobs *b, const npu_conv_plan *plan, npu_conv *c) {
    c->oscale_addr = allocate(d, plan->param_bytes);
    c->bias_addr = allocate(d, plan->param_bytes);
    float *scale = malloc(c->oc * sizeof *scale);
    float *oscale = malloc(plan->param_bytes);
    int status = -1;
    if (scale != NULL && oscale != NULL && c->oscale_addr != 0 && c->bias_addr != 0) {
        for (uint32_t o = 0; o < c->oc; o++) {
            memcpy(&scale[o], &b->weight_scale[(uint64_t)o * (uint32_t)l->weight_scales / c->oc], sizeof *scale);
        }
        status = npu_conv_make_oscale(c, plan, scale, oscale, plan->param_bytes);
        memcpy(at(d, c->oscale_addr), oscale, plan->param_bytes);
        if (l->bias_term != 0) {
            memcpy(at(d, c->bias_addr), b->bias, c->oc * sizeof *b->bias);
        }
    }
    free(scale);
    free(oscale);
    return status;
}

static int put_weights(ncnn_dev *d, const ncnn_layer *l, const ncnn_blobs *b, const npu_conv_plan *plan, npu_conv *c) {
    c->wgt_addr = allocate(d, plan->wgt_bytes);
    c->scratch_bytes = plan->scratch_bytes;
    c->scratch_addr = allocate(d, plan->scratch_bytes);
    if (c->wgt_addr == 0 || c->scratch_addr == 0) {
        return -1;
    }
    int8_t *to = (int8_t *)at(d, c->wgt_addr);
    if (l->kind == NCNN_INNER_PRODUCT) {
        return npu_linear_pack_weights(c, plan, (uint32_t)l->w, b->weight, to, plan->wgt_bytes);
    }
    return npu_conv_pack_weights(c, plan, b->weight, to, plan->wgt_bytes);
}

static int run_convolution(ncnn_dev *d, const ncnn_layer *l, const ncnn_blobs *b, const ncnn_cut *cut,
                           const npu_tensor *in) {
    npu_conv c;
    npu_conv_plan plan;
    const npu_conv_split split = {.max_oh = cut->max_oh,
                                  .max_ic = cut->max_ic,
                                  .max_oc = cut->max_oc,
                                  .group = cut->group,
                                  .serial = cut->serial != 0,
                                  .no_resident = cut->no_resident != 0};
    int status = convolution_of(d, l, &c);
    if (status == NPU_OK) {
        status = npu_conv_plan_make(d->npu.n, &c, &split, &plan);
    }
    if (status == NPU_OK) {
        status = put_factors(d, l, b, &plan, &c);
    }
    if (status == NPU_OK) {
        status = put_weights(d, l, b, &plan, &c);
    }
    if (status != NPU_OK) {
        return status;
    }
    if (!make_tensor(d, c.out_layout, plan.ow, plan.oh, c.oc, &d->out)) {
        return -1;
    }
    c.ifm_addr = in->addr;
    c.ofm_addr = d->out.addr;
    if (l->kind != NCNN_INNER_PRODUCT) {
        c.ifm_cstep = in->step;
        c.ofm_cstep = d->out.step;
    }
    return npu_conv_run(&d->npu, &c, &plan);
}

static int run_convert(ncnn_dev *d, const ncnn_layer *l, const npu_tensor *in) {
    npu_convert cv = {.in = *in, .scale = bits(l->bottom_scale)};
    if (!make_tensor(d, layout_of(l->out_int8), in->w, in->h, in->c, &d->out)) {
        return -1;
    }
    const uint32_t factors = up(in->c, 4) * 4;
    cv.out = d->out;
    cv.factor_addr = allocate(d, factors);
    float *f = malloc(factors);
    if (cv.factor_addr == 0 || f == NULL) {
        free(f);
        return -1;
    }
    int status = npu_convert_make_factors(&cv, f, factors);
    if (l->kind == NCNN_DEQUANTIZE) {
        memcpy(at(d, cv.factor_addr), f, factors);
    }
    free(f);
    return status == NPU_OK ? (int)npu_convert_run(&d->npu, &cv) : status;
}

int ncnn_dev_layer(ncnn_dev *d, const ncnn_layer *l, const ncnn_blobs *b, const ncnn_cut *cut) {
    npu_tensor in = d->out;
    if (b->in != NULL) {
        const bool vector = l->kind == NCNN_INNER_PRODUCT && l->in_int8 != 0; /* one pixel */
        if (!make_tensor(d, layout_of(l->in_int8), (uint32_t)(vector ? 1 : l->w), (uint32_t)l->h,
                         (uint32_t)(vector ? l->w : l->c), &in)) {
            return -1;
        }
        put_input(d, &in, b->in);
    }
    const bool convert = l->kind == NCNN_QUANTIZE || l->kind == NCNN_DEQUANTIZE;
    const int status = convert ? run_convert(d, l, &in) : run_convolution(d, l, b, cut, &in);
    return status == NPU_OK && !margins_kept(d, &d->out) ? -1 : status;
}

void ncnn_dev_output(const ncnn_dev *d, void *out) {
    const npu_tensor *t = &d->out;
    const size_t size = t->layout == NPU_INT8_NHWC ? 1 : 4;
    uint8_t *to = out;
    for (uint32_t c = 0; c < t->c; c++) {
        for (uint32_t i = 0; i < t->w * t->h; i++, to += size) {
            memcpy(to, element(d, t, c, i), size);
        }
    }
}
