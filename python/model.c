/* model.c - the module tandem.model: the units of the golden model as functions on arrays. */
#include "model.h"

#include <string.h>

bool model_n(uint32_t n, const char *what) {
    if (n == 4 || n == 8 || n == 16 || n == 32) {
        return true;
    }
    return arg_refuse(PyExc_ValueError, "%s: mesh size %u, expected 4, 8, 16 or 32", what, n);
}

/* Arrays of a call, released together. */
static void release(nd *a, size_t count) {
    for (size_t i = 0; i < count; i++) {
        nd_release(&a[i]);
    }
}

/* A result that the unit writes while it reads its inputs. */
static bool apart(const nd *out, const nd *in, const char *what) {
    if (nd_meet(out, in)) {
        return arg_refuse(PyExc_ValueError, "out: shares memory with %s", what);
    }
    return true;
}

static MODEL_FUNC(dma_split) {
    static const args_def def = {"dma_split", 2, 2, {"addr", "nbytes", NULL}};
    PyObject *in[2];
    uint32_t addr = 0;
    uint32_t bytes = 0;
    nd out;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u32(in[0], "addr", 0, UINT32_MAX, &addr) ||
        !arg_u32(in[1], "nbytes", 1, UINT32_MAX, &bytes)) {
        return NULL;
    }
    const size_t count = cm_dma_split(addr, bytes, NULL, 0);
    cm_dma_burst *burst = PyMem_Calloc(count, sizeof *burst);
    if (burst == NULL) {
        return PyErr_NoMemory();
    }
    cm_dma_split(addr, bytes, burst, count);
    const Py_ssize_t shape[2] = {(Py_ssize_t)count, 3};
    PyObject *result = nd_new(model_np(module), ND_U32, 2, shape, &out);
    if (result != NULL) {
        uint32_t *v = (uint32_t *)out.data;
        for (size_t i = 0; i < count; i++) {
            v[3 * i] = burst[i].addr;
            v[3 * i + 1] = burst[i].beats;
            v[3 * i + 2] = burst[i].bytes;
        }
        nd_release(&out);
    }
    PyMem_Free(burst);
    return result;
}

static MODEL_FUNC(layout) {
    static const args_def def = {"layout", 4, 3, {"x", "in_scale", "n", "out", NULL}};
    PyObject *in[4];
    uint32_t scale = 0;
    uint32_t n = 0;
    nd a[2] = {{.data = NULL}, {.data = NULL}};
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_f32(in[1], "in_scale", &scale) ||
        !arg_u32(in[2], "n", 0, 32, &n) || !model_n(n, "n") || !nd_get(&a[0], in[0], "x", ND_FP32, false)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (a[0].dims != 2 || a[0].shape[0] < 1 || a[0].shape[0] > n || a[0].shape[1] < 1 || a[0].shape[1] > 64) {
        PyErr_Format(PyExc_ValueError, "x: expected shape (1..%u channels, 1..64 pixels)", n);
    } else {
        const Py_ssize_t shape[2] = {a[0].shape[1], n};
        result = nd_out(model_np(module), in[3], ND_I8, ND_I8, 2, shape, &a[1]);
        if (result != NULL && apart(&a[1], &a[0], "x")) {
            cm_layout(n, (uint32_t)a[0].shape[0], (uint32_t)a[0].shape[1], scale, 0, (const uint32_t *)a[0].data,
                      (int8_t *)a[1].data);
        } else {
            Py_CLEAR(result);
        }
    }
    release(a, 2);
    return result;
}

/* Sizes of a convolution as im2col needs them; pairs are (height, width). */
static bool im2col_task(PyObject *const *in, cm_gemm_task *t) {
    uint32_t out[2] = {0, 0};
    uint32_t stride[2] = {1, 1};
    uint32_t dilation[2] = {1, 1};
    uint32_t pad[2] = {0, 0};
    if (!arg_pair(in[0], "out_size", 1, 65535, out) || !arg_pair(in[1], "stride", 1, 255, stride) ||
        !arg_pair(in[2], "dilation", 1, 255, dilation) || !arg_pair(in[3], "padding", 0, 255, pad)) {
        return false;
    }
    *t = (cm_gemm_task){.oh = out[0],
                        .ow = out[1],
                        .sh = stride[0],
                        .sw = stride[1],
                        .dh = dilation[0],
                        .dw = dilation[1],
                        .pad_t = pad[0],
                        .pad_l = pad[1]};
    return true;
}

static MODEL_FUNC(im2col_block) {
    static const args_def def = {
        "im2col_block",
        7,
        7,
        {"ifm", "n", "out_size", "tile", "ky", "kx", "block", "stride", "dilation", "padding", "out", NULL}};
    PyObject *in[11];
    cm_gemm_task t;
    uint32_t n = 0, tile = 0, ky = 0, kx = 0, block = 0;
    nd a[2] = {{.data = NULL}, {.data = NULL}};
    if (!args_take(&def, args, nargs, kwnames, in) || !im2col_task((PyObject *[]){in[2], in[7], in[8], in[9]}, &t) ||
        !arg_u32(in[1], "n", 0, 32, &n) || !model_n(n, "n") || !arg_u32(in[3], "tile", 0, UINT32_MAX, &tile) ||
        !arg_u32(in[4], "ky", 0, 254, &ky) || !arg_u32(in[5], "kx", 0, 254, &kx) ||
        !arg_u32(in[6], "block", 0, 65535, &block) || !nd_get(&a[0], in[0], "ifm", ND_I8, false)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (a[0].dims != 3 || a[0].count == 0 || a[0].shape[0] > 65535 || a[0].shape[1] > 65535 || a[0].shape[2] > 65536 ||
        a[0].shape[2] % n != 0) {
        PyErr_Format(PyExc_ValueError, "ifm: expected shape (rows, columns, channels), channels a multiple of n = %u",
                     n);
    } else if (block >= a[0].shape[2] / n) {
        PyErr_Format(PyExc_ValueError, "block: expected 0..%zd, got %u", a[0].shape[2] / (Py_ssize_t)n - 1, block);
    } else {
        const Py_ssize_t shape[2] = {2 * n, n};
        t.ih = (uint32_t)a[0].shape[0];
        t.iw = (uint32_t)a[0].shape[1];
        t.ic = (uint32_t)a[0].shape[2];
        result = nd_out(model_np(module), in[10], ND_I8, ND_I8, 2, shape, &a[1]);
        if (result != NULL && apart(&a[1], &a[0], "ifm")) {
            cm_im2col_block(&t, n, (const int8_t *)a[0].data, tile, ky, kx, block, (int8_t *)a[1].data);
        } else {
            Py_CLEAR(result);
        }
    }
    release(a, 2);
    return result;
}

/* Pixels of a tile: shape (2n, n). 0: ValueError. */
static uint32_t mesh_size(const nd *act) {
    const bool fits = act->dims == 2 && act->shape[0] == 2 * act->shape[1] &&
                      (act->shape[1] == 4 || act->shape[1] == 8 || act->shape[1] == 16 || act->shape[1] == 32);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "act: expected shape (2n, n) with n = 4, 8, 16 or 32");
    }
    return fits ? (uint32_t)act->shape[1] : 0;
}

static PyObject *mesh(PyObject *module, PyObject *const *in, bool diagonal) {
    nd a[3] = {{.data = NULL}, {.data = NULL}, {.data = NULL}};
    PyObject *result = NULL;
    uint32_t n = 0;
    if (nd_get(&a[0], in[0], "act", ND_I8, false) && (n = mesh_size(&a[0])) != 0 &&
        (in[1] == NULL ||
         (nd_get(&a[1], in[1], "wgt", ND_I8, false) && nd_is(&a[1], "wgt", diagonal ? 1 : 2, (Py_ssize_t[]){n, n})))) {
        result = nd_out(model_np(module), in[2], ND_I32, ND_I32, 2, (Py_ssize_t[]){2 * n, n}, &a[2]);
    }
    if (result != NULL && apart(&a[2], &a[0], "act") && apart(&a[2], &a[1], "wgt")) {
        const int8_t *wgt = in[1] != NULL ? (const int8_t *)a[1].data : NULL;
        (diagonal ? cm_mesh_diagonal : cm_mesh_block)(n, (const int8_t *)a[0].data, wgt, (int32_t *)a[2].data);
    } else {
        Py_CLEAR(result);
    }
    release(a, 3);
    return result;
}

static MODEL_FUNC(mesh_block) {
    static const args_def def = {"mesh_block", 3, 2, {"act", "wgt", "out", NULL}};
    PyObject *in[3];
    return args_take(&def, args, nargs, kwnames, in) ? mesh(module, in, false) : NULL;
}

static MODEL_FUNC(mesh_diagonal) {
    static const args_def def = {"mesh_diagonal", 3, 1, {"act", "wgt", "out", NULL}};
    PyObject *in[3];
    return args_take(&def, args, nargs, kwnames, in) ? mesh(module, in, true) : NULL;
}

static MODEL_FUNC(acc) {
    static const args_def def = {"acc", 3, 2, {"sums", "x", "first", NULL}};
    PyObject *in[3];
    bool first = false;
    nd a[2] = {{.data = NULL}, {.data = NULL}};
    (void)module;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_bool(in[2], "first", &first) ||
        !nd_get(&a[0], in[0], "sums", ND_I32, true)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (nd_get(&a[1], in[1], "x", ND_I32, false) && nd_is(&a[1], "x", a[0].dims, a[0].shape)) {
        if (a[0].data != a[1].data && nd_meet(&a[0], &a[1])) {
            PyErr_SetString(PyExc_ValueError, "sums: shares memory with x");
        } else if (a[0].data != a[1].data || !first) {
            cm_acc(first, a[0].count, (const int32_t *)a[1].data, (int32_t *)a[0].data);
        }
        result = PyErr_Occurred() == NULL ? Py_NewRef(in[0]) : NULL;
    }
    release(a, 2);
    return result;
}

static MODEL_FUNC(transpose) {
    static const args_def def = {"transpose", 2, 1, {"x", "out", NULL}};
    PyObject *in[2];
    nd a[2] = {{.data = NULL}, {.data = NULL}};
    if (!args_take(&def, args, nargs, kwnames, in) || !nd_get(&a[0], in[0], "x", ND_I8, false)) {
        return NULL;
    }
    PyObject *result = NULL;
    const uint32_t n = a[0].dims == 2 && a[0].shape[1] <= 32 ? (uint32_t)a[0].shape[1] : 0;
    if (model_n(n, "x") && nd_is(&a[0], "x", 2, (Py_ssize_t[]){n, n})) {
        result = nd_out(model_np(module), in[1], ND_I8, ND_I8, 2, a[0].shape, &a[1]);
        if (result != NULL && apart(&a[1], &a[0], "x")) {
            cm_transpose(n, (const int8_t *)a[0].data, (int8_t *)a[1].data);
        } else {
            Py_CLEAR(result);
        }
    }
    release(a, 2);
    return result;
}

/* ---- module ---- */

#define ERRORS "TypeError: other elements. ValueError: shape, layout, range.\n"

static const PyMethodDef unit_methods[] = {
    MODEL_ROW("dma_split", dma_split,
              "dma_split(addr, nbytes)\n--\n\nSplit a job into AXI bursts of 16-byte beats.\n\naddr: byte "
              "address; nbytes: 1 and more.\n"
              "Returns uint32 (bursts, 3): AxADDR, beats (1..256), bytes of the job in this burst.\n"
              "A job that runs past 2^32 wraps. Source: cmodel/npu/dma.c, docs/npu/npu.md section 1."),
    MODEL_ROW("layout", layout,
              "layout(x, in_scale, n, out=None)\n--\n\nQuantise FP32 pixels: channel planes in, pixels of n INT8 "
              "channels out.\n\n"
              "x: float32 (1..n channels, 1..64 pixels). in_scale: number (FP32), 127/threshold. Returns int8 (pixels, "
              "n), missing "
              "channels 0.\n" ERRORS "Source: cmodel/npu/layout.c, docs/npu/npu.md sections 2 and 4."),
    MODEL_ROW(
        "im2col_block", im2col_block,
        "im2col_block(ifm, n, out_size, tile, ky, kx, block, *, stride=1, dilation=1, padding=0, out=None)\n--\n\n"
        "Row vectors of one block: for the 2n output pixels of a tile the input at kernel position (ky, kx) and "
        "channel block `block`.\n\n"
        "ifm: int8 (rows, columns, channels), channels a multiple of n. out_size, stride, dilation, padding (top, "
        "left): (height, width).\n"
        "Returns int8 (2n, n), zeros outside the map.\n" ERRORS
        "Source: cmodel/npu/im2col.c, docs/npu/npu.md sections 3 and 4."),
    MODEL_ROW("mesh_block", mesh_block,
              "mesh_block(act, wgt, out=None)\n--\n\nOne block on the mesh: out[j][c] = sum over r of act[j][r] * "
              "wgt[r][c].\n\n"
              "act: int8 (2n, n); wgt: int8 (n, n). Returns int32 (2n, n). n: 4, 8, 16, 32.\n" ERRORS
              "Source: cmodel/npu/mesh.c, docs/npu/npu.md section 4."),
    MODEL_ROW("mesh_diagonal", mesh_diagonal,
              "mesh_diagonal(act, wgt=None, out=None)\n--\n\nThe mesh with a diagonal of weights: out[j][c] = "
              "act[j][c] * wgt[c].\n\n"
              "act: int8 (2n, n); wgt: int8 (n,), None: all are 1. Returns int32 (2n, n).\n" ERRORS
              "Source: cmodel/npu/mesh.c, docs/npu/npu.md section 4."),
    MODEL_ROW("acc", acc,
              "acc(sums, x, first=False)\n--\n\nsums += x in place (first: sums = x), wrapping.\n\nsums, x: int32 of "
              "one shape. Returns "
              "sums.\n" ERRORS "Source: cmodel/npu/acc.c, docs/npu/npu.md section 2."),
    MODEL_ROW("transpose", transpose,
              "transpose(x, out=None)\n--\n\nOne block of the transposer.\n\nx: int8 (n, n), n: 4, 8, 16, 32. Returns "
              "int8 (n, n).\n" ERRORS "Source: cmodel/npu/transpose.c, docs/npu/npu.md section 4."),
};
#define UNITS_COUNT (sizeof unit_methods / sizeof unit_methods[0])

/* The functions are in several files. They are bound to the module, so that they have access to its state. */
static int add_functions(PyObject *module, const PyMethodDef *row, size_t count) {
    PyObject *name = PyModule_GetNameObject(module);
    int rc = name == NULL ? -1 : 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        PyObject *func = PyCFunction_NewEx((PyMethodDef *)(uintptr_t)&row[i], module, name);
        rc = func == NULL ? -1 : PyModule_AddObjectRef(module, row[i].ml_name, func);
        Py_XDECREF(func);
    }
    Py_XDECREF(name);
    return rc;
}

static int add_names(PyObject *module, const char *what, const char *const *names, size_t count) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *text = PyUnicode_FromString(names[i]);
        if (text == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, text);
        }
    }
    const int rc = tuple == NULL ? -1 : PyModule_AddObjectRef(module, what, tuple);
    Py_XDECREF(tuple);
    return rc;
}

static int model_exec(PyObject *module) {
    model_state *state = (model_state *)PyModule_GetState(module);
    if (!nd_numpy_init(&state->np) || add_functions(module, unit_methods, UNITS_COUNT) != 0 ||
        add_functions(module, model_fp_methods, model_fp_count) != 0 ||
        add_functions(module, model_task_methods, model_task_count) != 0 ||
        add_names(module, "ACTIVATIONS", act_names, ACT_NAMES_COUNT) != 0 ||
        add_names(module, "FUNCTIONS", func_names, FUNC_NAMES_COUNT) != 0) {
        return -1;
    }
    return add_names(module, "ALU_OPS", alu_names, ALU_NAMES_COUNT);
}

static int model_traverse(PyObject *module, visitproc visit, void *arg) {
    return nd_numpy_visit(&((model_state *)PyModule_GetState(module))->np, visit, arg);
}

static int model_clear(PyObject *module) {
    nd_numpy_clear(&((model_state *)PyModule_GetState(module))->np);
    return 0;
}

static PyModuleDef_Slot model_slots[] = {{Py_mod_exec, (void *)model_exec}, {0, NULL}};

static struct PyModuleDef model_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tandem.model",
    .m_doc = "The units of the NPU's golden model as functions on NumPy arrays and other buffers.",
    .m_size = sizeof(model_state),
    .m_slots = model_slots,
    .m_traverse = model_traverse,
    .m_clear = model_clear};

PyMODINIT_FUNC PyInit_model(void);
PyMODINIT_FUNC PyInit_model(void) {
    return PyModuleDef_Init(&model_def);
}
