/* op_conv.c - convolutions, fully connected layers and conversions on a device. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#define ONE 0x3F800000u

/* A convolution with its operands in the caller's arrays. */
typedef struct conv_call {
    const char *what;
    bool linear;
    uint32_t in_len; /* linear */
    nd x, w, bias, w_scale, out;
    uint32_t bias_value, w_scale_value;
    npu_conv conv;
    npu_conv_plan plan;
    npu_conv_split split;
    bool steps; /* qlinear_conv: between INT8 tensors in steps; bias is int32, w_scale has steps */
    float x_step, y_step;
} conv_call;

static void call_free(conv_call *c) {
    nd_release(&c->x);
    nd_release(&c->w);
    nd_release(&c->bias);
    nd_release(&c->w_scale);
    nd_release(&c->out);
}

/* ---- arguments ---- */

/* One number for all output channels, or an array of them. */
static bool per_channel(nd *a, uint32_t *value, PyObject *obj, const char *what, uint32_t channels) {
    if (obj == NULL || PyFloat_Check(obj) || PyLong_Check(obj)) {
        return arg_f32(obj, what, value);
    }
    return nd_get(a, obj, what, ND_FP32, false) && nd_is(a, what, 1, (Py_ssize_t[]){channels});
}

/* Arguments that conv2d, depthwise and linear share. */
typedef struct common_args {
    PyObject *in_scale, *w_scale, *bias, *act, *act_p, *out_scale;
} common_args;

static bool take_common(conv_call *c, const common_args *a) {
    npu_conv *v = &c->conv;
    uint32_t act = NPU_ACT_NONE;
    if (a->bias != NULL && !per_channel(&c->bias, &c->bias_value, a->bias, "bias", v->oc)) {
        return false;
    }
    v->in_scale = ONE;
    v->has_bias = a->bias != NULL;
    c->w_scale_value = ONE;
    const bool ok =
        per_channel(&c->w_scale, &c->w_scale_value, a->w_scale, "w_scale", v->oc) &&
        arg_f32(a->in_scale, "in_scale", &v->in_scale) && arg_f32(a->out_scale, "out_scale", &v->out_scale) &&
        arg_enum(a->act, "act", act_names, ACT_NAMES_COUNT, &act) && arg_f32s(a->act_p, "act_p", v->act_p, 2);
    v->act = (npu_act)act;
    return ok;
}

enum { MAX_OW, MAX_OH, MAX_IC, MAX_OC, GROUP, SERIAL, SPLITS };
static const char *const split_names[SPLITS] = {"max_ow", "max_oh", "max_ic", "max_oc", "group", "serial"};

/* Limits on the splits as a dict. */
static bool take_split(PyObject *obj, npu_conv_split *split) {
    if (obj == NULL) {
        return true;
    }
    if (!PyDict_Check(obj)) {
        return arg_refuse(PyExc_TypeError, "split: expected a dict, got %.100s", Py_TYPE(obj)->tp_name);
    }
    uint32_t *const where[SPLITS] = {&split->max_ow, &split->max_oh, &split->max_ic,
                                     &split->max_oc, &split->group,  NULL};
    Py_ssize_t known = 0;
    for (size_t i = 0; i < SPLITS; i++) {
        PyObject *value = PyDict_GetItemString(obj, split_names[i]);
        known += value != NULL ? 1 : 0;
        if (i == SERIAL ? !arg_bool(value, "serial", &split->serial)
                        : !arg_u32(value, split_names[i], 0, i == GROUP ? 255 : 65535, where[i])) {
            return false;
        }
    }
    if (known != PyDict_Size(obj)) {
        return arg_refuse(PyExc_ValueError, "split: expected max_ow, max_oh, max_ic, max_oc, group, serial");
    }
    return true;
}

/* ---- work, without the GIL ---- */

static bool put_weights(op *o, conv_call *c) {
    npu_conv *v = &c->conv;
    const npu_conv_plan *p = &c->plan;
    const int8_t *w = (const int8_t *)c->w.data;
    int8_t *packed = (int8_t *)op_malloc(o, p->wgt_bytes);
    float *oscale = (float *)op_malloc(o, p->param_bytes);
    float *w_scale = (float *)op_malloc(o, (size_t)v->oc * 4);
    bool ok = packed != NULL && oscale != NULL && w_scale != NULL;
    for (uint32_t i = 0; ok && i < v->oc; i++) {
        memcpy(&w_scale[i], c->w_scale.view.obj != NULL ? (const uint32_t *)c->w_scale.data + i : &c->w_scale_value, 4);
    }
    ok = ok && op_status(o, c->linear ? npu_linear_pack_weights(v, p, c->in_len, w, packed, p->wgt_bytes)
                                      : npu_conv_pack_weights(v, p, w, packed, p->wgt_bytes));
    ok = ok &&
         op_status(o, c->steps ? npu_conv_make_multiplier(v, p, c->x_step, w_scale, c->y_step, oscale, p->param_bytes)
                               : npu_conv_make_oscale(v, p, w_scale, oscale, p->param_bytes));
    if (ok) {
        v->wgt_addr = op_put(o, packed, p->wgt_bytes);
        v->oscale_addr = op_put(o, oscale, p->param_bytes);
        ok = v->wgt_addr != 0 && v->oscale_addr != 0;
    }
    free(packed);
    free(oscale);
    free(w_scale);
    return ok;
}

/* The int32 biases with the zero-point of the input folded into them. */
static bool put_folded(op *o, conv_call *c) {
    int32_t *folded = (int32_t *)op_malloc(o, c->plan.param_bytes);
    const int32_t *bias = c->bias.view.obj != NULL ? (const int32_t *)c->bias.data : NULL;
    if (folded != NULL && op_status(o, npu_conv_fold_bias(&c->conv, &c->plan, (const int8_t *)c->w.data, bias, folded,
                                                          c->plan.param_bytes))) {
        c->conv.bias_addr = op_put(o, folded, c->plan.param_bytes);
    }
    free(folded);
    return c->conv.bias_addr != 0;
}

static bool put_params(op *o, conv_call *c) {
    npu_conv *v = &c->conv;
    if (!put_weights(o, c)) {
        return false;
    }
    if (c->steps && !put_folded(o, c)) {
        return false;
    }
    if (v->has_bias && !c->steps) {
        v->bias_addr = op_put_f32(o, c->bias.view.obj != NULL ? (const uint32_t *)c->bias.data : NULL, c->bias_value,
                                  v->oc, c->plan.param_bytes);
        if (v->bias_addr == 0) {
            return false;
        }
    }
    v->scratch_bytes = c->plan.scratch_bytes;
    v->scratch_addr = v->scratch_bytes != 0 ? op_alloc(o, v->scratch_bytes, NPU_BUF_SCRATCH) : 0;
    return v->scratch_bytes == 0 || v->scratch_addr != 0;
}

/* The input of a fully connected layer: contiguous FP32 values, up to the next 16 bytes; one pixel of INT8. */
static bool put_vector(op *o, conv_call *c, npu_tensor *in) {
    if (c->conv.in_layout == NPU_INT8_NHWC) {
        return op_input(o, in, c->x.data);
    }
    in->addr = op_put_f32(o, (const uint32_t *)c->x.data, 0, c->in_len, ((uint64_t)c->in_len + 3) / 4 * 16);
    return in->addr != 0;
}

static void conv_work(op *o, conv_call *c) {
    npu_conv *v = &c->conv;
    npu_tensor in = {.w = v->iw, .h = v->ih, .c = v->ic, .layout = v->in_layout};
    npu_tensor out = {.w = c->plan.ow, .h = c->plan.oh, .c = v->oc, .layout = v->out_layout};
    if (!(c->linear ? put_vector(o, c, &in) : op_input(o, &in, c->x.data)) || !op_output(o, &out) ||
        !put_params(o, c)) {
        return;
    }
    v->ifm_addr = in.addr;
    v->ofm_addr = out.addr;
    if (!c->linear) { /* npu_linear_make() sets the others */
        v->ifm_cstep = in.step;
        v->ofm_cstep = out.step;
    } else {
        out.step = v->ofm_cstep;
    }
    if (op_status(o, npu_conv_run(&o->self->npu, v, &c->plan))) {
        op_fetch(o, &out, c->out.data);
    }
}

/* All arguments are set, except for the result and its plan. */
static PyObject *conv_run(device *self, conv_call *c, int dims) {
    const core_state *state = core_of((PyObject *)self);
    if (state == NULL || !device_begin(self)) {
        return NULL;
    }
    const npu_status status = npu_conv_plan_make(npu_dev_n(self->dev), &c->conv, &c->split, &c->plan);
    if (status != NPU_OK) {
        device_raise(self, status, c->what);
        device_leave(self);
        return NULL;
    }
    const bool int8 = c->conv.out_layout == NPU_INT8_NHWC;
    const Py_ssize_t shape[3] = {c->conv.oc, c->plan.oh, c->plan.ow};
    PyObject *result = nd_new(&state->np, int8 ? ND_I8 : ND_F32, dims, shape, &c->out);
    if (result == NULL) {
        device_leave(self);
        return NULL;
    }
    op o = op_begin(self);
    Py_BEGIN_ALLOW_THREADS;
    conv_work(&o, c);
    Py_END_ALLOW_THREADS;
    if (!op_end(&o, c->what)) {
        Py_CLEAR(result);
    }
    return result;
}

/* ---- conv2d, depthwise ---- */

typedef struct window_args {
    PyObject *stride, *dilation, *padding, *split;
} window_args;

static bool take_window(conv_call *c, const window_args *a) {
    uint32_t stride[2] = {1, 1}, dilation[2] = {1, 1}, pad[4] = {0};
    if (!arg_pair(a->stride, "stride", 1, 255, stride) || !arg_pair(a->dilation, "dilation", 1, 255, dilation) ||
        !arg_pads(a->padding, "padding", pad) || !take_split(a->split, &c->split)) {
        return false;
    }
    npu_conv *v = &c->conv;
    v->stride_h = stride[0];
    v->stride_w = stride[1];
    v->dil_h = dilation[0];
    v->dil_w = dilation[1];
    v->pad_t = pad[0];
    v->pad_l = pad[1];
    v->pad_b = pad[2];
    v->pad_r = pad[3];
    return true;
}

/* Shape of the input, from x. */
static bool take_input(conv_call *c, PyObject *obj) {
    npu_tensor t;
    if (!nd_get(&c->x, obj, "x", ND_FP32 | ND_I8, false) || !tensor_of(&c->x, "x", c->x.type == ND_I8, &t)) {
        return false;
    }
    c->conv.iw = t.w;
    c->conv.ih = t.h;
    c->conv.ic = t.c;
    c->conv.in_layout = t.layout;
    return true;
}

static bool in_range(const nd *w, const char *shape) {
    for (int i = 0; i < w->dims; i++) {
        if (w->shape[i] < 1 || w->shape[i] > (i < w->dims - 2 ? 65535 : 255)) {
            return arg_refuse(PyExc_ValueError, "w: expected shape %s: channels 1..65535, kernel 1..255", shape);
        }
    }
    return true;
}

CORE_METHOD(device_conv2d) {
    static const args_def def = {"conv2d",
                                 2,
                                 2,
                                 {"x", "w", "in_scale", "w_scale", "bias", "stride", "dilation", "padding", "groups",
                                  "act", "act_p", "out_scale", "split", NULL}};
    PyObject *in[13];
    conv_call c = {.what = "conv2d"};
    npu_conv *v = &c.conv;
    PyObject *result = NULL;
    v->groups = 1;
    if (args_take(&def, args, nargs, kwnames, in) && take_input(&c, in[0]) && nd_get(&c.w, in[1], "w", ND_I8, false) &&
        arg_u32(in[8], "groups", 1, 65535, &v->groups)) {
        v->out_layout = in[11] != NULL ? NPU_INT8_NHWC : NPU_FP32_NCHW;
        if (v->ic % v->groups != 0) {
            PyErr_Format(PyExc_ValueError, "groups: %u does not divide the %u channels of x", v->groups, v->ic);
        } else if (nd_is(&c.w, "w", 4, (Py_ssize_t[]){-1, v->ic / v->groups, -1, -1}) &&
                   in_range(&c.w, "(out, in / groups, height, width)")) {
            v->oc = (uint32_t)c.w.shape[0];
            v->kh = (uint32_t)c.w.shape[2];
            v->kw = (uint32_t)c.w.shape[3];
            if (take_window(&c, &(window_args){in[5], in[6], in[7], in[12]}) &&
                take_common(&c, &(common_args){in[2], in[3], in[4], in[9], in[10], in[11]})) {
                result = conv_run((device *)self, &c, 3);
            }
        }
    }
    call_free(&c);
    return result;
}

CORE_METHOD(device_depthwise) {
    static const args_def def = {"depthwise",
                                 2,
                                 2,
                                 {"x", "w", "in_scale", "w_scale", "bias", "stride", "dilation", "padding", "act",
                                  "act_p", "out_scale", "split", NULL}};
    PyObject *in[12];
    conv_call c = {.what = "depthwise"};
    npu_conv *v = &c.conv;
    PyObject *result = NULL;
    if (args_take(&def, args, nargs, kwnames, in) && take_input(&c, in[0]) && nd_get(&c.w, in[1], "w", ND_I8, false) &&
        nd_is(&c.w, "w", 3, (Py_ssize_t[]){v->ic, -1, -1}) && in_range(&c.w, "(channels, height, width)")) {
        v->groups = v->oc = v->ic;
        v->kh = (uint32_t)c.w.shape[1];
        v->kw = (uint32_t)c.w.shape[2];
        v->out_layout = in[10] != NULL ? NPU_INT8_NHWC : NPU_FP32_NCHW;
        if (take_window(&c, &(window_args){in[5], in[6], in[7], in[11]}) &&
            take_common(&c, &(common_args){in[2], in[3], in[4], in[8], in[9], in[10]})) {
            result = conv_run((device *)self, &c, 3);
        }
    }
    call_free(&c);
    return result;
}

/* ---- qlinear_conv ---- */

static bool take_zero(PyObject *obj, const char *what, int8_t *zero) {
    const long value = obj == NULL ? 0 : PyLong_AsLong(obj);
    if (value == -1 && PyErr_Occurred()) {
        return false;
    }
    *zero = (int8_t)value;
    return (value >= -128 && value <= 127) || arg_refuse(PyExc_ValueError, "%s: expected -128..127", what);
}

static bool take_step(PyObject *obj, const char *what, float *step) {
    uint32_t bits = ONE;
    if (!arg_f32(obj, what, &bits)) {
        return false;
    }
    memcpy(step, &bits, sizeof bits);
    return *step > 0.0f || arg_refuse(PyExc_ValueError, "%s: expected a step above 0", what);
}

/* ONNX's QLinearConv, int8 in, weights and out; the zero-point of the weights is 0. */
CORE_METHOD(device_qlinear_conv) {
    static const args_def def = {"qlinear_conv",
                                 2,
                                 2,
                                 {"x", "w", "x_step", "x_zero", "w_step", "y_step", "y_zero", "bias", "stride",
                                  "dilation", "padding", "groups", "split", NULL}};
    PyObject *in[13];
    conv_call c = {.what = "qlinear_conv", .steps = true, .w_scale_value = ONE};
    npu_conv *v = &c.conv;
    PyObject *result = NULL;
    v->groups = 1;
    v->out_layout = NPU_INT8_NHWC;
    v->in_scale = v->out_scale = ONE;
    v->has_bias = v->int_bias = true;
    v->quant.to_even = v->quant.full = true;
    bool ok = args_take(&def, args, nargs, kwnames, in) && take_input(&c, in[0]) &&
              nd_get(&c.w, in[1], "w", ND_I8, false) && arg_u32(in[11], "groups", 1, 65535, &v->groups) &&
              take_step(in[2], "x_step", &c.x_step) && take_zero(in[3], "x_zero", &v->quant.in_zero) &&
              take_step(in[5], "y_step", &c.y_step) && take_zero(in[6], "y_zero", &v->quant.out_zero);
    if (ok && (c.x.type != ND_I8 || v->ic % v->groups != 0)) {
        ok = arg_refuse(PyExc_ValueError, "x: expected int8, %u channels in %u groups", v->ic, v->groups);
    }
    if (ok && nd_is(&c.w, "w", 4, (Py_ssize_t[]){-1, v->ic / v->groups, -1, -1}) &&
        in_range(&c.w, "(out, in / groups, height, width)")) {
        v->oc = (uint32_t)c.w.shape[0];
        v->kh = (uint32_t)c.w.shape[2];
        v->kw = (uint32_t)c.w.shape[3];
        if (per_channel(&c.w_scale, &c.w_scale_value, in[4], "w_step", v->oc) &&
            (in[7] == NULL ||
             (nd_get(&c.bias, in[7], "bias", ND_I32, false) && nd_is(&c.bias, "bias", 1, (Py_ssize_t[]){v->oc}))) &&
            take_window(&c, &(window_args){in[8], in[9], in[10], in[12]})) {
            result = conv_run((device *)self, &c, 3);
        }
    }
    call_free(&c);
    return result;
}

/* ---- linear ---- */

/* The convolution that computes it, which depends on the mesh size. */
static bool linear_make(device *self, conv_call *c, bool requant) {
    if (!device_enter(self)) {
        return false;
    }
    c->in_len = (uint32_t)c->x.shape[0];
    const npu_status status = npu_linear_make(npu_dev_n(self->dev), c->in_len, (uint32_t)c->w.shape[0],
                                              c->x.type == ND_I8 ? NPU_INT8_NHWC : NPU_FP32_NCHW,
                                              requant ? NPU_INT8_NHWC : NPU_FP32_NCHW, &c->conv);
    if (status != NPU_OK) {
        device_raise(self, status, c->what);
    }
    device_leave(self);
    return status == NPU_OK;
}

CORE_METHOD(device_linear) {
    static const args_def def = {
        "linear", 2, 2, {"x", "w", "in_scale", "w_scale", "bias", "act", "act_p", "out_scale", NULL}};
    PyObject *in[8];
    conv_call c = {.what = "linear", .linear = true};
    PyObject *result = NULL;
    const bool taken = args_take(&def, args, nargs, kwnames, in) && nd_get(&c.x, in[0], "x", ND_FP32 | ND_I8, false) &&
                       nd_is(&c.x, "x", 1, (Py_ssize_t[]){-1}) && nd_get(&c.w, in[1], "w", ND_I8, false) &&
                       nd_is(&c.w, "w", 2, (Py_ssize_t[]){-1, c.x.shape[0]});
    if (taken && (c.x.shape[0] > 65535 * 16 || c.w.shape[0] > 65535)) {
        PyErr_SetString(PyExc_ValueError, "w: expected at most 65535 outputs and 1048560 inputs");
    } else if (taken && linear_make((device *)self, &c, in[7] != NULL) &&
               take_common(&c, &(common_args){in[2], in[3], in[4], in[5], in[6], in[7]})) {
        result = conv_run((device *)self, &c, 1);
    }
    call_free(&c);
    return result;
}

/* ---- convert ---- */

static void convert_work(op *o, npu_convert *cv, const nd *x, nd *out) {
    if (!op_input(o, &cv->in, x->data) || !op_output(o, &cv->out)) {
        return;
    }
    if (cv->in.layout == NPU_INT8_NHWC) {
        const size_t bytes = ((size_t)cv->in.c + 3) / 4 * 16;
        float *factors = (float *)op_malloc(o, bytes);
        cv->factor_addr = factors != NULL && op_status(o, npu_convert_make_factors(cv, factors, bytes))
                              ? op_put(o, factors, bytes)
                              : 0;
        free(factors);
        if (cv->factor_addr == 0) {
            return;
        }
    }
    if (op_status(o, npu_convert_run(&o->self->npu, cv))) {
        op_fetch(o, &cv->out, out->data);
    }
}

CORE_METHOD(device_convert) {
    static const args_def def = {"convert", 2, 2, {"x", "scale", NULL}};
    PyObject *in[2];
    nd x, out = {.data = NULL};
    npu_convert cv = {.scale = ONE};
    const core_state *state = core_of(self);
    if (state == NULL || !args_take(&def, args, nargs, kwnames, in) || !arg_f32(in[1], "scale", &cv.scale) ||
        !nd_get(&x, in[0], "x", ND_FP32 | ND_I8, false)) {
        return NULL;
    }
    PyObject *result = NULL;
    const bool int8 = x.type == ND_I8;
    if (tensor_of(&x, "x", int8, &cv.in) && device_begin((device *)self)) {
        cv.out = cv.in;
        cv.out.layout = int8 ? NPU_FP32_NCHW : NPU_INT8_NHWC;
        op o = op_begin((device *)self);
        result = nd_new(&state->np, int8 ? ND_F32 : ND_I8, 3, x.shape, &out);
        if (result != NULL) {
            Py_BEGIN_ALLOW_THREADS;
            convert_work(&o, &cv, &x, &out);
            Py_END_ALLOW_THREADS;
        }
        if (!op_end(&o, "convert")) {
            Py_CLEAR(result);
        }
    }
    nd_release(&x);
    nd_release(&out);
    return result;
}
