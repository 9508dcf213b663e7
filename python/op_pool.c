/* op_pool.c - pooling, global averages, upsampling and copies on a device. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* An operator with one tensor in and one out. */
typedef struct map_call {
    const char *what;
    npu_tensor in, out;
    nd x, y;
    npu_pool pool;
    npu_status (*run)(npu *dev, struct map_call *c);
} map_call;

static bool put_table(op *o, npu_pool *p) {
    uint32_t bytes = 0;
    if (!op_status(o, npu_pool_table_bytes(p, &bytes))) {
        return false;
    }
    if (bytes == 0) {
        return true;
    }
    float *table = (float *)op_malloc(o, bytes);
    p->table_bytes = bytes;
    p->table_addr = table != NULL && op_status(o, npu_pool_make_table(p, table, bytes)) ? op_put(o, table, bytes) : 0;
    free(table);
    return p->table_addr != 0;
}

static npu_status run_pool(npu *dev, map_call *c) {
    c->pool.in = c->in;
    c->pool.out = c->out;
    return npu_pool_run(dev, &c->pool);
}

static npu_status run_average(npu *dev, map_call *c) {
    return npu_global_average_run(dev, &c->in, c->out.addr, c->out.step);
}

static npu_status run_upsample(npu *dev, map_call *c) {
    return npu_upsample2x_run(dev, &c->in, &c->out);
}

static npu_status run_copy(npu *dev, map_call *c) {
    return npu_copy_run(dev, &c->in, &c->out);
}

static void map_work(op *o, map_call *c) {
    if (op_input(o, &c->in, c->x.data) && op_output(o, &c->out) && (c->run != run_pool || put_table(o, &c->pool)) &&
        op_status(o, c->run(&o->self->npu, c))) {
        op_fetch(o, &c->out, c->y.data);
    }
}

/* Runs with the sizes in c->out. dims: of the result, 3 or 1. */
static PyObject *map_run(PyObject *self, map_call *c, int dims) {
    const core_state *state = core_of(self);
    if (state == NULL || !device_begin((device *)self)) {
        return NULL;
    }
    const Py_ssize_t shape[3] = {c->out.c, c->out.h, c->out.w};
    op o = op_begin((device *)self);
    PyObject *result = nd_new(&state->np, c->x.type == ND_I8 ? ND_I8 : ND_F32, dims, shape, &c->y);
    if (result != NULL) {
        Py_BEGIN_ALLOW_THREADS;
        map_work(&o, c);
        Py_END_ALLOW_THREADS;
    }
    if (!op_end(&o, c->what)) {
        Py_CLEAR(result);
    }
    return result;
}

static bool take_x(map_call *c, PyObject *obj, unsigned types) {
    if (!nd_get(&c->x, obj, "x", types, false) || !tensor_of(&c->x, "x", c->x.type == ND_I8, &c->in)) {
        return false;
    }
    c->out = c->in;
    return true;
}

static void map_free(map_call *c) {
    nd_release(&c->x);
    nd_release(&c->y);
}

/* One number, (vertical, horizontal), or (top, left, bottom, right). */
static bool take_pads(PyObject *obj, npu_pool *p) {
    uint32_t pad[4] = {0, 0, 0, 0};
    if (!arg_pads(obj, "padding", pad)) {
        return false;
    }
    p->pad_t = pad[0];
    p->pad_l = pad[1];
    p->pad_b = pad[2];
    p->pad_r = pad[3];
    return true;
}

static bool take_window(PyObject *const *in, npu_pool *p) {
    static const char *const modes[] = {"max", "average"}; /* of POOL_CTRL.TYPE */
    uint32_t kernel[2] = {1, 1};
    p->global = in[1] == NULL;
    if (!arg_pair(in[1], "kernel", 1, 255, kernel)) {
        return false;
    }
    uint32_t stride[2] = {kernel[0], kernel[1]};
    const bool ok = arg_pair(in[2], "stride", 1, 255, stride) && take_pads(in[3], p) &&
                    arg_enum(in[4], "mode", modes, 2, &p->type) && arg_bool(in[5], "exclude_pad", &p->exclude_pad) &&
                    arg_bool(in[6], "ceil_mode", &p->ceil_mode);
    p->kh = kernel[0];
    p->kw = kernel[1];
    p->stride_h = stride[0];
    p->stride_w = stride[1];
    return ok;
}

CORE_METHOD(device_pool) {
    static const args_def def = {
        "pool", 2, 1, {"x", "kernel", "stride", "padding", "mode", "exclude_pad", "ceil_mode", NULL}};
    PyObject *in[7];
    map_call c = {.what = "pool", .run = run_pool};
    PyObject *result = NULL;
    if (args_take(&def, args, nargs, kwnames, in) && take_window(in, &c.pool) && take_x(&c, in[0], ND_FP32 | ND_I8)) {
        c.pool.in = c.in;
        c.pool.out = c.in;
        const npu_status status = npu_pool_shape(&c.pool, &c.out.w, &c.out.h);
        if (status == NPU_OK) {
            c.pool.out = c.out;
            result = map_run(self, &c, 3);
        } else if (device_enter((device *)self)) {
            device_raise((device *)self, status, "pool");
            device_leave((device *)self);
        }
    }
    map_free(&c);
    return result;
}

CORE_METHOD(device_global_average) {
    static const args_def def = {"global_average", 1, 1, {"x", NULL}};
    PyObject *in[1];
    map_call c = {.what = "global_average", .run = run_average};
    PyObject *result = NULL;
    if (args_take(&def, args, nargs, kwnames, in) && take_x(&c, in[0], ND_FP32)) {
        c.out.w = c.out.h = 1;
        result = map_run(self, &c, 1);
    }
    map_free(&c);
    return result;
}

CORE_METHOD(device_upsample2x) {
    static const args_def def = {"upsample2x", 1, 1, {"x", NULL}};
    PyObject *in[1];
    map_call c = {.what = "upsample2x", .run = run_upsample};
    PyObject *result = NULL;
    if (args_take(&def, args, nargs, kwnames, in) && take_x(&c, in[0], ND_FP32 | ND_I8)) {
        c.out.w *= 2;
        c.out.h *= 2;
        result = map_run(self, &c, 3);
    }
    map_free(&c);
    return result;
}

CORE_METHOD(device_copy) {
    static const args_def def = {"copy", 1, 1, {"x", NULL}};
    PyObject *in[1];
    map_call c = {.what = "copy", .run = run_copy};
    PyObject *result = NULL;
    if (args_take(&def, args, nargs, kwnames, in) && take_x(&c, in[0], ND_FP32 | ND_I8)) {
        result = map_run(self, &c, 3);
    }
    map_free(&c);
    return result;
}
