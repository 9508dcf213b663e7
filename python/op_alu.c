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

static bool take_act(alu_call *c, PyObject *name, PyObject *params) {
    uint32_t act = NPU_ACT_NONE;
    const bool ok = arg_enum(name, "act", act_names, ACT_NAMES_COUNT, &act) && arg_f32s(params, "act_p", c->e.act_p, 2);
    c->e.act = (npu_act)act;
    return ok;
}

CORE_METHOD(device_alu) {
    static const args_def def = {"alu", 4, 2, {"op", "a", "p", "q", "act", "act_p", NULL}};
    PyObject *in[6];
    alu_call c = {.e = {.op = NPU_ALU_COPY}};
    uint32_t number = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_enum(in[0], "op", alu_names, ALU_NAMES_COUNT, &number)) {
        return NULL;
    }
    if (NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, number)) {
        return PyErr_Format(PyExc_ValueError, "op: %s reduces: see dot() and global_average()", alu_names[number]);
    }
    PyObject *result = NULL;
    const bool integer = number == NPU_ALU_ADD_I32;
    c.e.op = (npu_alu_op)number;
    if (nd_get(&c.a, in[1], "a", integer ? ND_I32 | ND_U32 : ND_FP32, false) && shape_of(&c.a, &c.e.a) &&
        take_act(&c, in[4], in[5]) && take_factor(&c, 0, in[2], "p", integer, &c.e.p_kind, &c.e.p) &&
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
    if (args_take(&def, args, nargs, kwnames, in) && take_act(&c, in[1], in[2]) &&
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
