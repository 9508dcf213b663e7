/* model_task.c - units whose function needs a task: post, requant, one element of the ALU; whole tasks from register
 * values on a memory. */
#include "model.h"

#include <string.h>

#include "npu_regs.h"

#define REG_WORDS 128

/* ---- post, requant ---- */

/* A factor: one number, or one for each channel (the first dimension of the sums). */
typedef struct factor {
    nd a;
    uint32_t scalar;
    bool given;
} factor;

static bool factor_get(factor *f, PyObject *obj, const char *what, const nd *sums) {
    f->a.view.obj = NULL;
    f->given = obj != NULL;
    if (obj == NULL) {
        return true;
    }
    if (PyFloat_Check(obj) || PyLong_Check(obj)) {
        return arg_f32(obj, what, &f->scalar);
    }
    return nd_get(&f->a, obj, what, ND_FP32, false) && nd_is(&f->a, what, 1, sums->shape);
}

static uint32_t factor_at(const factor *f, size_t channel) {
    return !f->given ? 0 : f->a.view.obj != NULL ? ((const uint32_t *)f->a.data)[channel] : f->scalar;
}

static void post_all(const cm_gemm_task *t, const nd *sums, const nd *psum, const factor *oscale, const factor *bias,
                     uint32_t *out) {
    const size_t channels = sums->dims > 0 ? (size_t)sums->shape[0] : 1;
    const size_t each = channels > 0 ? sums->count / channels : 0;
    const int32_t *s = (const int32_t *)sums->data;
    const int32_t *p = t->psum_add ? (const int32_t *)psum->data : NULL;
    for (size_t c = 0; c < channels; c++) {
        const uint32_t scale = factor_at(oscale, c);
        const uint32_t add = factor_at(bias, c);
        for (size_t i = c * each; i < (c + 1) * each; i++) {
            out[i] = cm_post(t, s[i], p != NULL ? p[i] : 0, scale, add);
        }
    }
}

static MODEL_FUNC(post) {
    static const args_def def = {
        "post", 1, 1, {"sums", "psum", "oscale", "bias", "act", "act_p", "raw_out", "out", NULL}};
    PyObject *in[8];
    cm_gemm_task t = {.act = 0};
    nd sums = {.data = NULL}, psum = {.data = NULL}, out = {.data = NULL};
    factor oscale = {.given = false}, bias = {.given = false};
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_enum(in[4], "act", act_names, ACT_NAMES_COUNT, &t.act) ||
        !arg_f32s(in[5], "act_p", t.act_p, 4) || !arg_bool(in[6], "raw_out", &t.raw_out) ||
        !nd_get(&sums, in[0], "sums", ND_I32, false)) {
        return NULL;
    }
    PyObject *result = NULL;
    t.psum_add = in[1] != NULL;
    t.oscale_en = in[2] != NULL;
    t.bias_en = in[3] != NULL;
    if (sums.dims == 0) {
        PyErr_SetString(PyExc_ValueError, "sums: expected at least one dimension");
    } else if ((!t.psum_add ||
                (nd_get(&psum, in[1], "psum", ND_I32, false) && nd_is(&psum, "psum", sums.dims, sums.shape))) &&
               factor_get(&oscale, in[2], "oscale", &sums) && factor_get(&bias, in[3], "bias", &sums)) {
        result = nd_out(model_np(module), in[7], t.raw_out ? ND_I32 : ND_FP32, t.raw_out ? ND_I32 : ND_F32, sums.dims,
                        sums.shape, &out);
    }
    if (result != NULL) {
        post_all(&t, &sums, &psum, &oscale, &bias, (uint32_t *)out.data);
    }
    nd_release(&sums);
    nd_release(&psum);
    nd_release(&oscale.a);
    nd_release(&bias.a);
    nd_release(&out);
    return result;
}

static MODEL_FUNC(requant) {
    static const args_def def = {"requant", 3, 2, {"y", "out_scale", "out", NULL}};
    PyObject *in[3];
    cm_gemm_task t = {.requant = true};
    nd y, out;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_f32(in[1], "out_scale", &t.out_scale) ||
        !nd_get(&y, in[0], "y", ND_FP32, false)) {
        return NULL;
    }
    PyObject *result = nd_out(model_np(module), in[2], ND_I8, ND_I8, y.dims, y.shape, &out);
    if (result != NULL) {
        for (size_t i = 0; i < y.count; i++) {
            ((int8_t *)out.data)[i] = cm_requant(&t, ((const uint32_t *)y.data)[i]);
        }
        nd_release(&out);
    }
    nd_release(&y);
    return result;
}

/* ---- alu ---- */

typedef struct alu_operand {
    nd a;
    uint32_t scalar;
    const uint32_t *v;
    size_t step;
} alu_operand;

static bool alu_operand_get(alu_operand *o, PyObject *obj, const char *what, bool integer, const nd *x) {
    o->v = &o->scalar;
    if (obj == NULL) {
        return true;
    }
    if (integer && PyLong_Check(obj)) {
        int64_t value = 0;
        const bool ok = arg_int(obj, what, INT32_MIN, INT32_MAX, &value);
        o->scalar = (uint32_t)value;
        return ok;
    }
    if (PyFloat_Check(obj) || PyLong_Check(obj)) {
        return arg_f32(obj, what, &o->scalar);
    }
    if (!nd_get(&o->a, obj, what, integer ? ND_I32 | ND_U32 : ND_FP32, false)) {
        return false;
    }
    o->v = (const uint32_t *)o->a.data;
    o->step = 1;
    return nd_is(&o->a, what, x->dims, x->shape);
}

static MODEL_FUNC(alu_element) {
    static const args_def def = {"alu_element", 5, 2, {"op", "x", "p", "q", "out", NULL}};
    PyObject *in[5];
    uint32_t op = 0;
    nd x = {.data = NULL}, out = {.data = NULL};
    alu_operand p = {.step = 0}, q = {.step = 0};
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_enum(in[0], "op", alu_names, ALU_NAMES_COUNT, &op)) {
        return NULL;
    }
    if (NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, op)) {
        return PyErr_Format(PyExc_ValueError, "op: %s reduces, expected an operation on single elements",
                            alu_names[op]);
    }
    const bool integer = op == NPU_ALU_CTRL_OP_ADD_I32;
    PyObject *result = NULL;
    if (nd_get(&x, in[1], "x", integer ? ND_I32 | ND_U32 : ND_FP32, false) &&
        alu_operand_get(&p, in[2], "p", integer, &x) && alu_operand_get(&q, in[3], "q", integer, &x)) {
        result = nd_out(model_np(module), in[4], integer ? ND_I32 | ND_U32 : ND_FP32, integer ? ND_I32 : ND_F32, x.dims,
                        x.shape, &out);
    }
    if (result != NULL) {
        const uint32_t *v = (const uint32_t *)x.data;
        for (size_t i = 0; i < x.count; i++) {
            ((uint32_t *)out.data)[i] = cm_alu_element(op, v[i], p.v[i * p.step], q.v[i * q.step]);
        }
    }
    nd_release(&x);
    nd_release(&p.a);
    nd_release(&q.a);
    nd_release(&out);
    return result;
}

/* ---- whole tasks ---- */

/* Register values: uint32 (128,), word i is the register at byte offset 4 * i. Copied, so that they do not change
 * while they are used. */
static bool take_regs(PyObject *obj, const char *what, uint32_t regs[REG_WORDS]) {
    nd a;
    if (!nd_get(&a, obj, what, ND_U32, false)) {
        return false;
    }
    const bool ok = nd_is(&a, what, 1, (Py_ssize_t[]){REG_WORDS});
    if (ok) {
        memcpy(regs, a.data, REG_WORDS * sizeof *regs);
    }
    nd_release(&a);
    return ok;
}

static bool take_n(PyObject *obj, uint32_t *n) {
    return arg_u32(obj, "n", 0, 32, n) && model_n(*n, "n");
}

/* Steals the reference `value`. */
static bool put(PyObject *dict, const char *name, PyObject *value) {
    const bool ok = value != NULL && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return ok;
}

static bool put_act_p(PyObject *dict, const uint32_t p[4]) {
    return put(dict, "act_p",
               Py_BuildValue("(dddd)", (double)cm_fp_to_float(p[0]), (double)cm_fp_to_float(p[1]),
                             (double)cm_fp_to_float(p[2]), (double)cm_fp_to_float(p[3])));
}

/* Add a member by its name; elements of arrays are not separate members. */
static bool put_member(PyObject *dict, const char *name, bool flag, uint32_t value) {
    static const char *const floats[] = {"in_scale", "out_scale", "p", "q", "recip"};
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        if (strcmp(name, floats[i]) == 0) {
            return put(dict, name, PyFloat_FromDouble((double)cm_fp_to_float(value)));
        }
    }
    return strchr(name, '[') != NULL ||
           put(dict, name, flag ? PyBool_FromLong((long)value) : PyLong_FromUnsignedLong(value));
}

#define PUT(name, element, ...)                                                                                        \
    &&put_member(dict, #element, _Generic(t.element, bool : true, default : false), t.element)

static PyObject *finish(PyObject *dict, bool ok) {
    if (!ok) {
        Py_CLEAR(dict);
    }
    return dict;
}

static MODEL_FUNC(gemm_decode) {
    static const args_def def = {"gemm_decode", 2, 2, {"n", "regs", NULL}};
    PyObject *in[2];
    uint32_t n = 0;
    uint32_t regs[REG_WORDS];
    cm_gemm_task t;
    (void)module;
    if (!args_take(&def, args, nargs, kwnames, in) || !take_n(in[0], &n) || !take_regs(in[1], "regs", regs)) {
        return NULL;
    }
    if (!cm_gemm_decode(n, regs, &t)) {
        Py_RETURN_NONE;
    }
    PyObject *dict = PyDict_New();
    return finish(dict, dict != NULL CM_GEMM_TASK_TABLE(PUT) && put_act_p(dict, t.act_p));
}

static MODEL_FUNC(alu_decode) {
    static const args_def def = {"alu_decode", 1, 1, {"regs", NULL}};
    PyObject *in[1];
    uint32_t regs[REG_WORDS];
    cm_alu_task t;
    (void)module;
    if (!args_take(&def, args, nargs, kwnames, in) || !take_regs(in[0], "regs", regs)) {
        return NULL;
    }
    if (!cm_alu_decode(regs, &t)) {
        Py_RETURN_NONE;
    }
    PyObject *dict = PyDict_New();
    return finish(dict, dict != NULL CM_ALU_TASK_TABLE(PUT) && put_act_p(dict, t.act_p));
}

static MODEL_FUNC(pool_decode) {
    static const args_def def = {"pool_decode", 2, 2, {"n", "regs", NULL}};
    PyObject *in[2];
    uint32_t n = 0;
    uint32_t regs[REG_WORDS];
    cm_pool_task t;
    (void)module;
    if (!args_take(&def, args, nargs, kwnames, in) || !take_n(in[0], &n) || !take_regs(in[1], "regs", regs)) {
        return NULL;
    }
    if (!cm_pool_decode(n, regs, &t)) {
        Py_RETURN_NONE;
    }
    PyObject *dict = PyDict_New();
    return finish(dict, dict != NULL CM_POOL_TASK_TABLE(PUT));
}

static bool take_gemm(uint32_t n, PyObject *obj, const char *what, cm_gemm_task *t) {
    uint32_t regs[REG_WORDS];
    if (!take_regs(obj, what, regs)) {
        return false;
    }
    if (!cm_gemm_decode(n, regs, t)) {
        return arg_refuse(PyExc_ValueError, "%s: no legal task (docs/npu/npu.md section 3.2)", what);
    }
    return true;
}

static MODEL_FUNC(gemm_follows) {
    static const args_def def = {"gemm_follows", 3, 2, {"n", "regs", "before", NULL}};
    PyObject *in[3];
    uint32_t n = 0;
    cm_gemm_task before, task;
    (void)module;
    if (!args_take(&def, args, nargs, kwnames, in) || !take_n(in[0], &n) || !take_gemm(n, in[1], "regs", &task) ||
        (in[2] != NULL && !take_gemm(n, in[2], "before", &before))) {
        return NULL;
    }
    return PyBool_FromLong(cm_gemm_follows(in[2] != NULL ? &before : NULL, &task));
}

/* A memory that belongs to the caller. */
typedef struct memory {
    uint8_t *data;
    uint64_t base, bytes;
} memory;

static bool inside(const memory *m, uint32_t addr, uint32_t bytes) {
    return addr >= m->base && bytes <= m->bytes && addr - m->base <= m->bytes - bytes;
}

static bool memory_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    const memory *m = (const memory *)ctx;
    if (!inside(m, addr, bytes)) {
        return false;
    }
    memcpy(dst, m->data + (addr - m->base), bytes);
    return true;
}

static bool memory_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    const memory *m = (const memory *)ctx;
    if (!inside(m, addr, bytes)) {
        return false;
    }
    memcpy(m->data + (addr - m->base), src, bytes);
    return true;
}

typedef enum task_unit { TASK_GEMM, TASK_ALU, TASK_POOL } task_unit;

/* 1 done, 0 an access failed, -1 refused. */
static int execute(task_unit unit, uint32_t n, const uint32_t *regs, const cm_mem *mem, uint32_t *value) {
    cm_gemm_task gemm;
    cm_alu_task alu;
    cm_pool_task pool;
    switch (unit) {
    case TASK_GEMM:
        return !cm_gemm_decode(n, regs, &gemm) ? -1 : cm_gemm_run(n, &gemm, mem);
    case TASK_ALU:
        return !cm_alu_decode(regs, &alu) ? -1 : cm_alu_run(&alu, mem, value);
    case TASK_POOL:
    default:
        return !cm_pool_decode(n, regs, &pool) ? -1 : cm_pool_run(n, &pool, mem);
    }
}

static bool run_task(task_unit unit, uint32_t n, PyObject *regs_obj, PyObject *mem_obj, PyObject *base_obj,
                     uint32_t *value) {
    static const char *const sections[] = {"3.2", "3.3", "3.4"};
    uint32_t regs[REG_WORDS];
    uint32_t base = 0;
    nd a;
    if (!take_regs(regs_obj, "regs", regs) || !arg_u32(base_obj, "base", 0, UINT32_MAX, &base) ||
        !nd_get(&a, mem_obj, "mem", ND_U8 | ND_I8 | ND_WORD, true)) {
        return false;
    }
    memory m = {.data = (uint8_t *)a.data, .base = base, .bytes = (uint64_t)a.view.len};
    const cm_mem mem = {.ctx = &m, .read = memory_read, .write = memory_write};
    int done;
    Py_BEGIN_ALLOW_THREADS;
    done = execute(unit, n, regs, &mem, value);
    Py_END_ALLOW_THREADS;
    nd_release(&a);
    if (done < 0) {
        PyErr_Format(PyExc_ValueError, "regs: no legal task (docs/npu/npu.md section %s)", sections[unit]);
    } else if (done == 0) {
        PyErr_Format(PyExc_IndexError, "mem: the task accesses memory outside of %zd bytes at 0x%08x",
                     (Py_ssize_t)m.bytes, base);
    }
    return done > 0;
}

static PyObject *run_on_mesh(task_unit unit, const args_def *def, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames) {
    PyObject *in[4];
    uint32_t n = 0;
    if (!args_take(def, args, nargs, kwnames, in) || !take_n(in[0], &n) ||
        !run_task(unit, n, in[1], in[2], in[3], NULL)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static MODEL_FUNC(gemm_run) {
    static const args_def def = {"gemm_run", 4, 3, {"n", "regs", "mem", "base", NULL}};
    (void)module;
    return run_on_mesh(TASK_GEMM, &def, args, nargs, kwnames);
}

static MODEL_FUNC(pool_run) {
    static const args_def def = {"pool_run", 4, 3, {"n", "regs", "mem", "base", NULL}};
    (void)module;
    return run_on_mesh(TASK_POOL, &def, args, nargs, kwnames);
}

static MODEL_FUNC(alu_run) {
    static const args_def def = {"alu_run", 3, 2, {"regs", "mem", "base", NULL}};
    PyObject *in[3];
    uint32_t value = 0;
    (void)module;
    if (!args_take(&def, args, nargs, kwnames, in) || !run_task(TASK_ALU, 0, in[0], in[1], in[2], &value)) {
        return NULL;
    }
    return PyLong_FromUnsignedLong(value);
}

#define REGS "regs: uint32 (128,), word i is the register at byte offset 4 * i (tandem.REGISTERS).\n"
#define MEM                                                                                                            \
    "mem: writable bytes, the memory from address `base` on; results are written there. The GIL is released.\n"        \
    "ValueError: no legal task. IndexError: it accesses memory outside of mem (earlier accesses have been made).\n"

const PyMethodDef model_task_methods[] = {
    MODEL_ROW(
        "post", post,
        "post(sums, *, psum=None, oscale=None, bias=None, act='none', act_p=(), raw_out=False, out=None)\n--\n\n"
        "From int32 sums to results: (sums + psum) * oscale + bias, then the activation.\n\n"
        "sums, psum: int32 of one shape. oscale, bias: a number, or float32 with one value for each index of the first "
        "dimension.\n"
        "act_p: FP32 parameters P0..P3. Returns float32 of the shape of sums; raw_out: the int32 sums.\n"
        "TypeError: other elements. ValueError: shape, layout. Source: cmodel/npu/post.c, docs/npu/npu.md section 2."),
    MODEL_ROW("requant", requant,
              "requant(y, out_scale, out=None)\n--\n\nResults as INT8.\n\ny: float32, any shape. out_scale: number "
              "(FP32), 127/threshold.\n"
              "Returns int8, -127..127. Source: cmodel/npu/post.c, docs/npu/npu.md section 2."),
    MODEL_ROW("alu_element", alu_element,
              "alu_element(op, x, p=0, q=0, out=None)\n--\n\nAn operation of the ALU on single elements, before the "
              "activation.\n\n"
              "op: a name of ALU_OPS, neither dot nor sum. x: float32, any shape (add_i32: int32); p, q: a number or "
              "an array of that shape.\n"
              "Returns float32 (add_i32: int32). Source: cmodel/npu/alu.c, docs/npu/npu.md section 3.3."),
    MODEL_ROW(
        "gemm_decode", gemm_decode,
        "gemm_decode(n, regs)\n--\n\nThe GEMM registers as a task: a dict, or None where the limits refuse it.\n\n" REGS
        "Source: cmodel/npu/decode.c, docs/npu/npu.md section 3.2."),
    MODEL_ROW(
        "alu_decode", alu_decode,
        "alu_decode(regs)\n--\n\nThe ALU registers as a task: a dict, or None where the limits refuse it.\n\n" REGS
        "Source: cmodel/npu/alu.c, docs/npu/npu.md section 3.3."),
    MODEL_ROW(
        "pool_decode", pool_decode,
        "pool_decode(n, regs)\n--\n\nThe POOL registers as a task: a dict, or None where the limits refuse it.\n\n" REGS
        "Source: cmodel/npu/pool.c, docs/npu/npu.md section 3.4."),
    MODEL_ROW("gemm_follows", gemm_follows,
              "gemm_follows(n, regs, before=None)\n--\n\nMay this task run after the task `before` (its registers; "
              "None: there was none)?\n"
              "False if it keeps weights that are not on chip.\n\n" REGS
              "ValueError: no legal task. Source: cmodel/npu/decode.c, docs/npu/npu.md section 3.2."),
    MODEL_ROW("gemm_run", gemm_run,
              "gemm_run(n, regs, mem, base=0)\n--\n\nExecute a GEMM task on a memory.\n\n" REGS MEM
              "Source: cmodel/npu/gemm.c, docs/npu/npu.md section 3.2."),
    MODEL_ROW("alu_run", alu_run,
              "alu_run(regs, mem, base=0)\n--\n\nExecute an ALU task on a memory. Returns the bits of ALU_RESULT (dot, "
              "sum; else 0).\n\n" REGS MEM "Source: cmodel/npu/alu.c, docs/npu/npu.md section 3.3."),
    MODEL_ROW("pool_run", pool_run,
              "pool_run(n, regs, mem, base=0)\n--\n\nExecute a POOL task on a memory.\n\n" REGS MEM
              "Source: cmodel/npu/pool.c, docs/npu/npu.md section 3.4."),
};
const size_t model_task_count = sizeof model_task_methods / sizeof model_task_methods[0];
