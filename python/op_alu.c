/* op_alu.c - the element-wise operators and reductions of the ALU on a device. */
#include "core.h"

#include <string.h>

#define ONE 0x3F800000u

/* ---- element-wise ---- */

typedef struct alu_call {
    npu_eltwise e;
    nd a, factor[2], out; /* factor: p and q, held when they are arrays */
} alu_call;

static void alu_free(alu_call *c) {
    nd_release(&c->a);
    nd_release(&c->factor[0]);
    nd_release(&c->factor[1]);
    nd_release(&c->out);
}

/* Shape (c, h, w) of one to three dimensions; missing leading ones are 1. */
static bool shape_of(const nd *a, npu_tensor *t) {
    Py_ssize_t size[3] = {1, 1, 1};
    if (a->dims < 1 || a->dims > 3) {
        return arg_refuse(PyExc_ValueError, "a: expected one to three dimensions, got %d", a->dims);
    }
    for (int i = 0; i < a->dims; i++) {
        size[3 - a->dims + i] = a->shape[i];
        if (a->shape[i] < 1 || a->shape[i] > 65535) {
            return arg_refuse(PyExc_ValueError, "a: dimension %d is %zd, expected 1..65535", i, a->shape[i]);
        }
    }
    *t = (npu_tensor){.c = (uint32_t)size[0], .h = (uint32_t)size[1], .w = (uint32_t)size[2], .layout = NPU_FP32_NCHW};
    return true;
}

/* p or q: a number, an array with one value for each channel, or a tensor of the shape of a. */
static bool take_factor(alu_call *c, int which, PyObject *obj, const char *name, bool integer, npu_operand *kind,
                        uint32_t *value) {
    nd *f = &c->factor[which];
    int64_t whole = 0;
    *kind = NPU_SCALAR;
    if (obj == NULL) {
        return true;
    }
    if (integer && PyLong_Check(obj)) {
        const bool ok = arg_int(obj, name, INT32_MIN, INT32_MAX, &whole);
        *value = (uint32_t)whole;
        return ok;
    }
    if (PyFloat_Check(obj) || PyLong_Check(obj)) {
        return arg_f32(obj, name, value);
    }
    if (!nd_get(f, obj, name, integer ? ND_I32 | ND_U32 : ND_FP32, false)) {
        return false;
    }
    if (f->dims == 1 && c->a.dims == 3 && f->shape[0] == c->a.shape[0]) {
        *kind = NPU_CHANNEL;
        return true;
    }
    *kind = NPU_VECTOR;
    if (which == 1 && c->e.p_kind == NPU_VECTOR) {
        return arg_refuse(PyExc_ValueError, "q: the ALU reads only one tensor besides a, and p is one");
    }
    return nd_is(f, name, c->a.dims, c->a.shape);
}

static bool put_factor(op *o, alu_call *c, int which, npu_operand kind, uint32_t *addr) {
    const nd *f = &c->factor[which];
    npu_eltwise *e = &c->e;
    if (kind == NPU_CHANNEL) {
        *addr = op_put(o, f->data, (uint64_t)f->view.len);
        return *addr != 0;
    }
    if (kind == NPU_VECTOR) {
        e->b = e->a;
        return op_input(o, &e->b, f->data);
    }
    return true;
}

static void alu_work(op *o, alu_call *c) {
    npu_eltwise *e = &c->e;
    npu_tensor shape = e->a;
    e->out = shape;
    if (op_input(o, &e->a, c->a.data) && op_output(o, &e->out) && put_factor(o, c, 0, e->p_kind, &e->p_addr) &&
        put_factor(o, c, 1, e->q_kind, &e->q_addr) && op_status(o, npu_eltwise_run(&o->self->npu, e))) {
        op_fetch(o, &e->out, c->out.data);
    }
}

static PyObject *alu_run(PyObject *self, alu_call *c, const char *what) {
    const core_state *state = core_of(self);
    if (state == NULL || !device_begin((device *)self)) {
        return NULL;
    }
    op o = op_begin((device *)self);
    PyObject *result = nd_new(&state->np, c->e.op == NPU_ALU_ADD_I32 ? ND_I32 : ND_F32, c->a.dims, c->a.shape, &c->out);
    if (result != NULL) {
        Py_BEGIN_ALLOW_THREADS;
        alu_work(&o, c);
        Py_END_ALLOW_THREADS;
    }
    if (!op_end(&o, what)) {
        Py_CLEAR(result);
    }
    return result;
}

static bool take_act(alu_call *c, PyObject *name, PyObject *params, PyObject *function) {
    uint32_t act = NPU_ACT_NONE, func = NPU_FUNC_NONE;
    bool ok = arg_enum(name, "act", act_names, ACT_NAMES_COUNT, &act) && arg_f32s(params, "act_p", c->e.act_p, 2) &&
              arg_enum(function, "func", func_names, FUNC_NAMES_COUNT, &func);
    if (ok && func != NPU_FUNC_NONE && act != NPU_ACT_NONE) {
        ok = arg_refuse(PyExc_ValueError, "func: expected without an activation, whose place it takes");
    }
    c->e.act = (npu_act)act;
    c->e.func = (npu_func)func;
    return ok;
}

CORE_METHOD(device_alu) {
    static const args_def def = {"alu", 4, 2, {"op", "a", "p", "q", "act", "act_p", "func", NULL}};
    PyObject *in[7];
    alu_call c = {.e = {.op = NPU_ALU_COPY}};
    uint32_t number = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_enum(in[0], "op", alu_names, ALU_NAMES_COUNT, &number)) {
        return NULL;
    }
    if (NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, number)) {
        return PyErr_Format(PyExc_ValueError, "op: %s reduces: see dot(), global_average(), softmax(), layer_norm()",
                            alu_names[number]);
    }
    PyObject *result = NULL;
    const bool integer = number == NPU_ALU_ADD_I32;
    c.e.op = (npu_alu_op)number;
    if (nd_get(&c.a, in[1], "a", integer ? ND_I32 | ND_U32 : ND_FP32, false) && shape_of(&c.a, &c.e.a) &&
        take_act(&c, in[4], in[5], in[6]) && take_factor(&c, 0, in[2], "p", integer, &c.e.p_kind, &c.e.p) &&
        take_factor(&c, 1, in[3], "q", integer, &c.e.q_kind, &c.e.q)) {
        result = alu_run(self, &c, "alu");
    }
    alu_free(&c);
    return result;
}

CORE_METHOD(device_act) {
    static const args_def def = {"act", 3, 2, {"x", "act", "act_p", NULL}};
    PyObject *in[3];
    alu_call c = {.e = {.op = NPU_ALU_COPY}};
    PyObject *result = NULL;
    if (args_take(&def, args, nargs, kwnames, in) && take_act(&c, in[1], in[2], NULL) &&
        nd_get(&c.a, in[0], "x", ND_FP32, false) && shape_of(&c.a, &c.e.a)) {
        result = alu_run(self, &c, "act");
    }
    alu_free(&c);
    return result;
}

/* ---- reductions ---- */

static void dot_work(op *o, const nd *a, const nd *b, uint32_t scale, uint32_t *value) {
    const uint32_t a_addr = op_put(o, a->data, (uint64_t)a->view.len);
    const uint32_t b_addr = a_addr != 0 ? op_put(o, b->data, (uint64_t)b->view.len) : 0;
    const uint32_t out = b_addr != 0 ? op_alloc(o, 4, NPU_BUF_OUT) : 0;
    if (out != 0) {
        op_status(o, npu_dot_run(&o->self->npu, a_addr, b_addr, (uint32_t)a->count, scale, out, value));
    }
}

CORE_METHOD(device_dot) {
    static const args_def def = {"dot", 3, 2, {"a", "b", "scale", NULL}};
    PyObject *in[3];
    nd a, b = {.data = NULL};
    uint32_t scale = ONE;
    uint32_t bits = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_f32(in[2], "scale", &scale) ||
        !nd_get(&a, in[0], "a", ND_FP32, false)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (nd_is(&a, "a", 1, (Py_ssize_t[]){-1}) && nd_get(&b, in[1], "b", ND_FP32, false) && nd_is(&b, "b", 1, a.shape)) {
        if (a.count > UINT32_MAX / 8) {
            PyErr_SetString(PyExc_ValueError, "a: too long");
        } else if (device_begin((device *)self)) {
            op o = op_begin((device *)self);
            Py_BEGIN_ALLOW_THREADS;
            dot_work(&o, &a, &b, scale, &bits);
            Py_END_ALLOW_THREADS;
            if (op_end(&o, "dot")) {
                float f;
                memcpy(&f, &bits, sizeof f);
                result = PyFloat_FromDouble((double)f);
            }
        }
    }
    nd_release(&a);
    nd_release(&b);
    return result;
}

/* ---- rows ---- */

#define EPS 0x3727C5ACu /* 1e-5 */

typedef struct rows_call {
    npu_rows r;
    uint32_t blocks; /* of r.rows rows each, one after the other */
    nd x, y, gamma, beta;
} rows_call;

static void rows_free(rows_call *c) {
    nd_release(&c->x);
    nd_release(&c->y);
    nd_release(&c->gamma);
    nd_release(&c->beta);
}

/* Sizes along an axis of x: the last one gives rows, another one is gone along in columns (softmax across). */
static bool take_rows(rows_call *c, int axis) {
    size_t before = 1, after = 1;
    for (int i = 0; i < c->x.dims; i++) {
        before *= i < axis ? (size_t)c->x.shape[i] : 1;
        after *= i > axis ? (size_t)c->x.shape[i] : 1;
    }
    const bool across = after > 1;
    const size_t along = c->x.dims > 0 ? (size_t)c->x.shape[axis] : 0, rows = across ? along : before;
    const size_t cols = across ? after : along, blocks = across ? before : 1;
    if (rows == 0 || cols == 0 || blocks == 0) {
        return arg_refuse(PyExc_ValueError, "x: expected one to eight dimensions and at least one element");
    }
    if (rows > 65535 || cols > 0xFFFFFF || c->x.count > UINT32_MAX / 4) {
        return arg_refuse(PyExc_ValueError, "x: %zu rows of %zu elements, expected at most 65535 of 16777215", rows,
                          cols);
    }
    c->r.kind = across ? NPU_ROWS_SOFTMAX_ACROSS : c->r.kind;
    c->r.rows = (uint32_t)rows;
    c->r.cols = (uint32_t)cols;
    c->r.in_step = c->r.out_step = (uint32_t)cols * 4;
    c->blocks = (uint32_t)blocks;
    return true;
}

static bool put_vector(op *o, const nd *v, uint32_t *addr) {
    *addr = v->data != NULL ? op_put(o, v->data, (uint64_t)v->view.len) : 0;
    return v->data == NULL || *addr != 0;
}

static void rows_work(op *o, rows_call *c) {
    npu_rows *r = &c->r;
    npu_tensor out = {.w = (uint32_t)c->x.count, .h = 1, .c = 1, .layout = NPU_FP32_NCHW};
    r->scratch_bytes = npu_rows_scratch_bytes(r);
    r->in_addr = op_put(o, c->x.data, (uint64_t)c->x.view.len);
    bool ok = r->in_addr != 0 && put_vector(o, &c->gamma, &r->gamma_addr) && put_vector(o, &c->beta, &r->beta_addr) &&
              op_output(o, &out);
    r->out_addr = out.addr;
    r->scratch_addr = ok ? op_alloc(o, r->scratch_bytes, NPU_BUF_SCRATCH) : 0;
    ok = r->scratch_addr != 0;
    for (uint32_t i = 0; ok && i < c->blocks; i++) {
        ok = op_status(o, npu_rows_run(&o->self->npu, r));
        r->in_addr += r->rows * r->in_step;
        r->out_addr += r->rows * r->out_step;
    }
    if (ok) {
        op_fetch(o, &out, c->y.data);
    }
}

static PyObject *rows_run(PyObject *self, rows_call *c, const char *what) {
    const core_state *state = core_of(self);
    if (state == NULL || !device_begin((device *)self)) {
        return NULL;
    }
    op o = op_begin((device *)self);
    PyObject *result = nd_new(&state->np, ND_F32, c->x.dims, c->x.shape, &c->y);
    if (result != NULL) {
        Py_BEGIN_ALLOW_THREADS;
        rows_work(&o, c);
        Py_END_ALLOW_THREADS;
    }
    if (!op_end(&o, what)) {
        Py_CLEAR(result);
    }
    return result;
}

CORE_METHOD(device_softmax) {
    static const args_def def = {"softmax", 2, 1, {"x", "axis", NULL}};
    PyObject *in[2];
    rows_call c = {.r = {.kind = NPU_ROWS_SOFTMAX}};
    PyObject *result = NULL;
    int64_t axis = -1;
    if (args_take(&def, args, nargs, kwnames, in) && nd_get(&c.x, in[0], "x", ND_FP32, false) &&
        arg_int(in[1], "axis", c.x.dims > 0 ? -c.x.dims : -1, c.x.dims > 0 ? c.x.dims - 1 : 0, &axis) &&
        take_rows(&c, (int)(axis < 0 ? axis + c.x.dims : axis))) {
        result = rows_run(self, &c, "softmax");
    }
    rows_free(&c);
    return result;
}

/* A vector with an element for each column, if it is given. */
static bool take_vector(const rows_call *c, nd *v, PyObject *obj, const char *name) {
    return obj == NULL || (nd_get(v, obj, name, ND_FP32, false) && nd_is(v, name, 1, (Py_ssize_t[]){c->r.cols}));
}

/* in: x, gamma, beta, eps. */
static PyObject *norm(PyObject *self, PyObject *const *in, npu_rows_kind kind, const char *what) {
    rows_call c = {.r = {.kind = kind, .eps = EPS}};
    PyObject *result = NULL;
    bool ok = nd_get(&c.x, in[0], "x", ND_FP32, false) && take_rows(&c, c.x.dims - 1) &&
              take_vector(&c, &c.gamma, in[1], "gamma") && take_vector(&c, &c.beta, in[2], "beta") &&
              arg_f32(in[3], "eps", &c.r.eps);
    if (ok && in[2] != NULL && in[1] == NULL) {
        ok = arg_refuse(PyExc_ValueError, "beta: expected together with gamma");
    }
    if (ok) {
        result = rows_run(self, &c, what);
    }
    rows_free(&c);
    return result;
}

CORE_METHOD(device_layer_norm) {
    static const args_def def = {"layer_norm", 3, 1, {"x", "gamma", "beta", "eps", NULL}};
    PyObject *in[4];
    return args_take(&def, args, nargs, kwnames, in) ? norm(self, in, NPU_ROWS_LAYER_NORM, "layer_norm") : NULL;
}

CORE_METHOD(device_rms_norm) {
    static const args_def def = {"rms_norm", 2, 1, {"x", "gamma", "eps", NULL}};
    PyObject *in[3];
    if (!args_take(&def, args, nargs, kwnames, in)) {
        return NULL;
    }
    return norm(self, (PyObject *const[]){in[0], in[1], NULL, in[2]}, NPU_ROWS_RMS_NORM, "rms_norm");
}
