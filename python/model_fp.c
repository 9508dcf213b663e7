/* model_fp.c - the FP32 steps and activations of the golden model on arrays. */
#include "model.h"

/* One value for all elements, or one for each. */
typedef struct operand {
    nd a;
    uint32_t scalar;
    const uint32_t *v;
    size_t step;
} operand;

static bool operand_get(operand *o, PyObject *obj, const char *what, const nd *like) {
    o->a.view.obj = NULL;
    o->v = &o->scalar;
    o->step = 0;
    if (PyFloat_Check(obj) || PyLong_Check(obj)) {
        return arg_f32(obj, what, &o->scalar);
    }
    if (!nd_get(&o->a, obj, what, ND_FP32, false) || !nd_is(&o->a, what, like->dims, like->shape)) {
        nd_release(&o->a);
        return false;
    }
    o->v = (const uint32_t *)o->a.data;
    o->step = 1;
    return true;
}

typedef void binary_loop(const uint32_t *a, const uint32_t *b, size_t step, void *out, size_t count);
typedef void unary_loop(const void *a, void *out, size_t count);

static PyObject *binary(PyObject *module, const args_def *def, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames, binary_loop *loop, unsigned types, nd_type type) {
    PyObject *in[3];
    operand b;
    nd a, out;
    if (!args_take(def, args, nargs, kwnames, in) || !nd_get(&a, in[0], "a", ND_FP32, false)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (operand_get(&b, in[1], "b", &a)) {
        result = nd_out(model_np(module), in[2], types, type, a.dims, a.shape, &out);
        if (result != NULL) {
            loop((const uint32_t *)a.data, b.v, b.step, out.data, a.count);
            nd_release(&out);
        }
        nd_release(&b.a);
    }
    nd_release(&a);
    return result;
}

static PyObject *unary(PyObject *module, const args_def *def, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *kwnames, unary_loop *loop, unsigned in_types, unsigned types, nd_type type) {
    PyObject *in[2];
    nd a, out;
    if (!args_take(def, args, nargs, kwnames, in) || !nd_get(&a, in[0], "a", in_types, false)) {
        return NULL;
    }
    PyObject *result = nd_out(model_np(module), in[1], types, type, a.dims, a.shape, &out);
    if (result != NULL) {
        loop(a.data, out.data, a.count);
        nd_release(&out);
    }
    nd_release(&a);
    return result;
}

/* name, C function, type of an element of the result in C, types that `out` may have, type of a new array */
#define BINARY_TABLE(X)                                                                                                \
    X(mul, uint32_t, ND_FP32, ND_F32)                                                                                  \
    X(add, uint32_t, ND_FP32, ND_F32)                                                                                  \
    X(sub, uint32_t, ND_FP32, ND_F32)                                                                                  \
    X(max, uint32_t, ND_FP32, ND_F32)                                                                                  \
    X(min, uint32_t, ND_FP32, ND_F32)                                                                                  \
    X(lt, bool, ND_BOOL, ND_BOOL)                                                                                      \
    X(le, bool, ND_BOOL, ND_BOOL)                                                                                      \
    X(eq, bool, ND_BOOL, ND_BOOL)
#define UNARY_TABLE(X)                                                                                                 \
    X(relu, uint32_t, uint32_t, ND_FP32, ND_FP32, ND_F32)                                                              \
    X(i32_to_f32, int32_t, uint32_t, ND_I32, ND_FP32, ND_F32)                                                          \
    X(f32_to_i32, uint32_t, int32_t, ND_FP32, ND_I32, ND_I32)                                                          \
    X(f32_to_i8, uint32_t, int8_t, ND_FP32, ND_I8, ND_I8)

#define BINARY(op, ctype, types, type)                                                                                 \
    static void op##_loop(const uint32_t *a, const uint32_t *b, size_t step, void *out, size_t count) {                \
        for (size_t i = 0; i < count; i++) {                                                                           \
            ((ctype *)out)[i] = cm_fp_##op(a[i], b[i * step]);                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static MODEL_FUNC(fp_##op) {                                                                                       \
        static const args_def def = {"fp_" #op, 3, 2, {"a", "b", "out", NULL}};                                        \
        return binary(module, &def, args, nargs, kwnames, op##_loop, types, type);                                     \
    }
BINARY_TABLE(BINARY)

#define UNARY(op, from, to, in_types, types, type)                                                                     \
    static void op##_loop(const void *a, void *out, size_t count) {                                                    \
        for (size_t i = 0; i < count; i++) {                                                                           \
            ((to *)out)[i] = cm_fp_##op(((const from *)a)[i]);                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static MODEL_FUNC(fp_##op) {                                                                                       \
        static const args_def def = {"fp_" #op, 2, 1, {"a", "out", NULL}};                                             \
        return unary(module, &def, args, nargs, kwnames, op##_loop, in_types, types, type);                            \
    }
UNARY_TABLE(UNARY)

/* x, out: activations, and functions in their place. */
static PyObject *each_value(PyObject *module, PyObject *x, PyObject *to, uint32_t act, const uint32_t *p,
                            uint32_t func) {
    nd a, out;
    if (!nd_get(&a, x, "x", ND_FP32, false)) {
        return NULL;
    }
    PyObject *result = nd_out(model_np(module), to, ND_FP32, ND_F32, a.dims, a.shape, &out);
    if (result != NULL) {
        const uint32_t *v = (const uint32_t *)a.data;
        uint32_t *y = (uint32_t *)out.data;
        for (size_t i = 0; i < a.count; i++) {
            y[i] = cm_func(func, cm_activate(act, p, v[i]));
        }
        nd_release(&out);
    }
    nd_release(&a);
    return result;
}

static MODEL_FUNC(activate) {
    static const args_def def = {"activate", 4, 2, {"x", "act", "p", "out", NULL}};
    PyObject *in[4];
    uint32_t act = 0;
    uint32_t p[4] = {0};
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_enum(in[1], "act", act_names, ACT_NAMES_COUNT, &act) ||
        !arg_f32s(in[2], "p", p, 4)) {
        return NULL;
    }
    return each_value(module, in[0], in[3], act, p, NPU_ALU_ACT_FUNC_NONE);
}

static MODEL_FUNC(function) {
    static const args_def def = {"function", 3, 2, {"x", "func", "out", NULL}};
    PyObject *in[3];
    uint32_t func = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_enum(in[1], "func", func_names, FUNC_NAMES_COUNT, &func)) {
        return NULL;
    }
    return each_value(module, in[0], in[2], CM_ACT_NONE, (uint32_t[4]){0}, func);
}

#define FP_SOURCE                                                                                                      \
    "a, b: float32 (or uint32: the bits), any shape, C-contiguous; b may be one number.\n"                             \
    "out: an array for the result, of the shape of a; may be a or b. Round to nearest even, subnormals kept, NaN out " \
    "is 0x7FC00000.\n"                                                                                                 \
    "TypeError: other elements. ValueError: shape, layout. Source: cmodel/lib/cm_fp.h, docs/npu/npu.md section 2."

const PyMethodDef model_fp_methods[] = {
    MODEL_ROW("fp_mul", fp_mul, "fp_mul(a, b, out=None)\n--\n\nProducts a * b in FP32.\n\n" FP_SOURCE),
    MODEL_ROW("fp_add", fp_add, "fp_add(a, b, out=None)\n--\n\nSums a + b in FP32.\n\n" FP_SOURCE),
    MODEL_ROW("fp_sub", fp_sub, "fp_sub(a, b, out=None)\n--\n\nDifferences a - b in FP32.\n\n" FP_SOURCE),
    MODEL_ROW(
        "fp_max", fp_max,
        "fp_max(a, b, out=None)\n--\n\nb > a ? b : a, bits kept; a where one is NaN or both are zeros.\n\n" FP_SOURCE),
    MODEL_ROW(
        "fp_min", fp_min,
        "fp_min(a, b, out=None)\n--\n\nb < a ? b : a, bits kept; a where one is NaN or both are zeros.\n\n" FP_SOURCE),
    MODEL_ROW("fp_lt", fp_lt,
              "fp_lt(a, b, out=None)\n--\n\na < b as bool; False where one is NaN; -0 equals +0.\n\n" FP_SOURCE),
    MODEL_ROW("fp_le", fp_le,
              "fp_le(a, b, out=None)\n--\n\na <= b as bool; False where one is NaN; -0 equals +0.\n\n" FP_SOURCE),
    MODEL_ROW("fp_eq", fp_eq,
              "fp_eq(a, b, out=None)\n--\n\na == b as bool; False where one is NaN; -0 equals +0.\n\n" FP_SOURCE),
    MODEL_ROW("fp_relu", fp_relu,
              "fp_relu(a, out=None)\n--\n\na > 0 ? a : +0. float32 in, float32 out, any shape.\n\nSource: "
              "cmodel/lib/cm_fp.h, docs/npu/npu.md "
              "section 2."),
    MODEL_ROW("fp_i32_to_f32", fp_i32_to_f32,
              "fp_i32_to_f32(a, out=None)\n--\n\nint32 to float32, round to nearest even.\n\nSource: "
              "cmodel/lib/cm_fp.h, docs/npu/npu.md "
              "section 2."),
    MODEL_ROW("fp_f32_to_i32", fp_f32_to_i32,
              "fp_f32_to_i32(a, out=None)\n--\n\nfloat32 to int32: round to nearest even, saturates, NaN is "
              "0.\n\nSource: cmodel/lib/cm_fp.h, "
              "docs/npu/npu.md section 2."),
    MODEL_ROW("fp_f32_to_i8", fp_f32_to_i8,
              "fp_f32_to_i8(a, out=None)\n--\n\nfloat32 to int8: halves away from zero, -127..127, NaN is "
              "0.\n\nSource: cmodel/lib/cm_fp.h, "
              "docs/npu/npu.md section 2."),
    MODEL_ROW("activate", activate,
              "activate(x, act, p=(), out=None)\n--\n\nAn activation of FP32 values.\n\n"
              "x: float32, any shape. act: its name (ACTIVATIONS) or number. p: up to four FP32 parameters P0..P3 of "
              "the unit, the others "
              "are 0.\n"
              "TypeError, ValueError: as fp_mul. Source: cmodel/npu/act.c, docs/npu/npu.md section 2."),
    MODEL_ROW("function", function,
              "function(x, func, out=None)\n--\n\nA function of the ALU: e^x, 1/x, 1/sqrt(x).\n\n"
              "x: float32, any shape. func: its name (FUNCTIONS: 'exp', 'recip', 'rsqrt') or number. Within 0.75 units "
              "in the last place.\n"
              "TypeError, ValueError: as fp_mul. Source: cmodel/npu/alu_func.c, docs/npu/npu.md section 2."),
};
const size_t model_fp_count = sizeof model_fp_methods / sizeof model_fp_methods[0];
