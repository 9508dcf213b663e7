/*
 * tandem_py.h - what the files of the extension share: arguments of functions, arrays, exceptions.
 *
 * There are no mutable static variables: objects of an interpreter are kept in the state of its modules. A function
 * that fails has set an exception.
 */
#ifndef TANDEM_PY_H
#define TANDEM_PY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "npu_regs.h"

/* ---- args.c: arguments of a function of kind METH_FASTCALL | METH_KEYWORDS ---- */

#define ARGS_MAX 24

typedef struct args_def {
    const char *func;
    int positional;                 /* the first so many may be given by position */
    int required;                   /* the first so many must be given */
    const char *name[ARGS_MAX + 1]; /* NULL-terminated */
} args_def;

/* out[i]: borrowed reference of argument i, NULL where it was not given or is None. false: TypeError. */
bool args_take(const args_def *def, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **out);

/* The same for the arguments of a type: a tuple and a dict (or NULL). */
bool args_take_call(const args_def *def, PyObject *args, PyObject *kwargs, PyObject **out);

/* An exception, as PyErr_Format() makes it. Returns false. */
bool arg_refuse(PyObject *type, const char *format, ...);
/* Values; an argument that was not given (NULL) leaves *v as it is. false: TypeError or ValueError with `name` in it.
 */
bool arg_int(PyObject *obj, const char *name, int64_t lo, int64_t hi, int64_t *v);
bool arg_u32(PyObject *obj, const char *name, uint32_t lo, uint32_t hi, uint32_t *v);
bool arg_u64(PyObject *obj, const char *name, uint64_t *v);
bool arg_bool(PyObject *obj, const char *name, bool *v);
/* FP32 bits of a number (rounded to nearest). A finite number that is too large is an error. */
bool arg_f32(PyObject *obj, const char *name, uint32_t *bits);
/* A new reference to a list or tuple with the items of a sequence (not of a str). NULL: TypeError, for any error. */
PyObject *arg_sequence(PyObject *obj, const char *name, const char *expected);
/* Up to `max` numbers as FP32 bits: a sequence, or one number. The others stay as they are. */
bool arg_f32s(PyObject *obj, const char *name, uint32_t *bits, size_t max);
/* One number for both, or a pair. */
bool arg_pair(PyObject *obj, const char *name, uint32_t lo, uint32_t hi, uint32_t v[2]);
/* Padding: one number, (vertical, horizontal), or (top, left, bottom, right), 0..255 each. */
bool arg_pads(PyObject *obj, const char *name, uint32_t pad[4]);
/* One of `count` names ("relu"), or its number. */
bool arg_enum(PyObject *obj, const char *name, const char *const *names, size_t count, uint32_t *v);
/* UTF-8 of a str; valid as long as the object. NULL: TypeError. */
const char *arg_text(PyObject *obj, const char *name);
/* A new reference to the bytes of a path (str, bytes, os.PathLike), NULL with an exception. */
PyObject *arg_path(PyObject *obj, const char *name);

/* Names of activations, the numbers of GEMM_ACT.TYPE; of operations and functions of the ALU. */
#define ACT_NAMES_COUNT NPU_GEMM_ACT_TYPE_COUNT
extern const char *const act_names[ACT_NAMES_COUNT];
#define ALU_NAMES_COUNT NPU_ALU_CTRL_OP_COUNT
extern const char *const alu_names[ALU_NAMES_COUNT];
#define FUNC_NAMES_COUNT NPU_ALU_ACT_FUNC_COUNT
extern const char *const func_names[FUNC_NAMES_COUNT];

/* ---- nd.c: arrays, through the buffer protocol ---- */

/* Types of elements; an array may have one of several. */
typedef enum nd_type {
    ND_I8 = 1,
    ND_U8 = 2,
    ND_I32 = 4,
    ND_U32 = 8,
    ND_F32 = 16,
    ND_U16 = 32,
    ND_U64 = 64,
    ND_BOOL = 128
} nd_type;
#define ND_FP32 (ND_F32 | ND_U32) /* FP32 values, or their bits */
#define ND_WORD (ND_FP32 | ND_I32)

/* References to NumPy in the state of a module. */
typedef struct nd_numpy {
    PyObject *empty; /* numpy.empty */
    PyObject *dtype[8];
} nd_numpy;
bool nd_numpy_init(nd_numpy *np);
int nd_numpy_visit(nd_numpy *np, visitproc visit, void *arg);
void nd_numpy_clear(nd_numpy *np);

#define ND_DIMS 8

/* An array of the caller, held during a call. */
typedef struct nd {
    Py_buffer view; /* view.obj NULL: no array is held */
    nd_type type;
    void *data;
    int dims;
    Py_ssize_t shape[ND_DIMS];
    size_t count; /* elements */
} nd;

/*
 * Hold an array: C-contiguous, aligned, elements in this machine's byte order, of one of `types`; with `write` not
 * read-only. `what` names it in messages. false: TypeError (no array, or other elements) or ValueError.
 */
bool nd_get(nd *a, PyObject *obj, const char *what, unsigned types, bool write);
/* Release it. Safe on a zeroed struct. */
void nd_release(nd *a);
/* The shape must be this one; -1: any size of at least 1. false: ValueError. */
bool nd_is(const nd *a, const char *what, int dims, const Py_ssize_t *shape);
/* Do two arrays share bytes? */
bool nd_meet(const nd *a, const nd *b);
/* A new array of NumPy, not yet written; held in *a. NULL with an exception. The caller owns both the reference and *a.
 */
PyObject *nd_new(const nd_numpy *np, nd_type type, int dims, const Py_ssize_t *shape, nd *a);
/*
 * The array of a result: `out` (may be NULL) with exactly this type and shape, or a new array. A new reference, held in
 * *a for writing; NULL with an exception.
 */
PyObject *nd_out(const nd_numpy *np, PyObject *out, unsigned types, nd_type type, int dims, const Py_ssize_t *shape,
                 nd *a);

#endif
