/* args.c - arguments of functions, with messages that name them. */
#include "tandem_py.h"
#include "npu_regs.h"

#include <math.h>
#include <string.h>

const char *const act_names[ACT_NAMES_COUNT] = NPU_GEMM_ACT_TYPE_NAMES;
const char *const alu_names[ALU_NAMES_COUNT] = NPU_ALU_CTRL_OP_NAMES;
const char *const func_names[FUNC_NAMES_COUNT] = NPU_ALU_ACT_FUNC_NAMES;

static int find_name(const args_def *def, PyObject *key) {
    for (int i = 0; def->name[i] != NULL; i++) {
        if (PyUnicode_CompareWithASCIIString(key, def->name[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* Clears out[] and fills in the positional arguments. */
static bool take_positional(const args_def *def, PyObject *const *args, Py_ssize_t nargs, PyObject **out) {
    for (int i = 0; def->name[i] != NULL; i++) {
        out[i] = NULL;
    }
    if (nargs > def->positional) {
        return arg_refuse(PyExc_TypeError, "%s() takes at most %d positional arguments, got %zd", def->func,
                          def->positional, nargs);
    }
    for (Py_ssize_t i = 0; i < nargs; i++) {
        out[i] = args[i];
    }
    return true;
}

static bool take_key(const args_def *def, PyObject *key, PyObject *value, PyObject **out) {
    const int i = find_name(def, key);
    if (i < 0) {
        return arg_refuse(PyExc_TypeError, "%s() has no argument %R", def->func, key);
    }
    if (out[i] != NULL) {
        return arg_refuse(PyExc_TypeError, "%s() got argument '%s' twice", def->func, def->name[i]);
    }
    out[i] = value;
    return true;
}

/* None counts as not given. */
static bool take_end(const args_def *def, PyObject **out) {
    for (int i = 0; def->name[i] != NULL; i++) {
        out[i] = out[i] == Py_None ? NULL : out[i];
        if (i < def->required && out[i] == NULL) {
            return arg_refuse(PyExc_TypeError, "%s() needs argument '%s'", def->func, def->name[i]);
        }
    }
    return true;
}

bool args_take(const args_def *def, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **out) {
    bool ok = take_positional(def, args, nargs, out);
    const Py_ssize_t keys = kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; ok && k < keys; k++) {
        ok = take_key(def, PyTuple_GET_ITEM(kwnames, k), args[nargs + k], out);
    }
    return ok && take_end(def, out);
}

bool args_take_call(const args_def *def, PyObject *args, PyObject *kwargs, PyObject **out) {
    PyObject *const *items = PySequence_Fast_ITEMS(args);
    bool ok = take_positional(def, items, PyTuple_GET_SIZE(args), out);
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (ok && kwargs != NULL && PyDict_Next(kwargs, &at, &key, &value)) {
        ok = take_key(def, key, value, out);
    }
    return ok && take_end(def, out);
}

bool arg_refuse(PyObject *type, const char *format, ...) {
    va_list args;
    va_start(args, format);
    PyErr_FormatV(type, format, args);
    va_end(args);
    return false;
}

static bool wrong(const char *name, const char *expected, PyObject *obj) {
    return arg_refuse(PyExc_TypeError, "%s: expected %s, got %.100s", name, expected, Py_TYPE(obj)->tp_name);
}

bool arg_int(PyObject *obj, const char *name, int64_t lo, int64_t hi, int64_t *v) {
    if (obj == NULL) {
        return true;
    }
    if (!PyIndex_Check(obj)) {
        return wrong(name, "an integer", obj);
    }
    PyObject *index = PyNumber_Index(obj);
    if (index == NULL) {
        return false;
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow != 0 || value < lo || value > hi) {
        return arg_refuse(PyExc_ValueError, "%s: expected %lld..%lld, got %S", name, (long long)lo, (long long)hi, obj);
    }
    *v = value;
    return true;
}

bool arg_u32(PyObject *obj, const char *name, uint32_t lo, uint32_t hi, uint32_t *v) {
    int64_t value = *v;
    if (!arg_int(obj, name, lo, hi, &value)) {
        return false;
    }
    *v = (uint32_t)value;
    return true;
}

bool arg_u64(PyObject *obj, const char *name, uint64_t *v) {
    if (obj == NULL) {
        return true;
    }
    if (!PyIndex_Check(obj)) {
        return wrong(name, "an integer", obj);
    }
    PyObject *index = PyNumber_Index(obj);
    if (index == NULL) {
        return false;
    }
    const unsigned long long value = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (value == (unsigned long long)-1 && PyErr_Occurred() != NULL) {
        return arg_refuse(PyExc_ValueError, "%s: expected 0..2^64-1, got %S", name, obj);
    }
    *v = value;
    return true;
}

bool arg_bool(PyObject *obj, const char *name, bool *v) {
    if (obj == NULL) {
        return true;
    }
    const int truth = PyObject_IsTrue(obj);
    if (truth < 0) {
        PyErr_Clear();
        return wrong(name, "True or False", obj);
    }
    *v = truth != 0;
    return true;
}

bool arg_f32(PyObject *obj, const char *name, uint32_t *bits) {
    if (obj == NULL) {
        return true;
    }
    const double value = PyFloat_AsDouble(obj);
    if (value == -1.0 && PyErr_Occurred() != NULL) {
        PyErr_Clear();
        return wrong(name, "a number", obj);
    }
    const float f = (float)value;
    if (isinf(f) && !isinf(value)) {
        return arg_refuse(PyExc_ValueError, "%s: %S is too large for FP32", name, obj);
    }
    memcpy(bits, &f, sizeof *bits);
    return true;
}

PyObject *arg_sequence(PyObject *obj, const char *name, const char *expected) {
    PyObject *seq = PyUnicode_Check(obj) || !PySequence_Check(obj) ? NULL : PySequence_Fast(obj, name);
    if (seq == NULL && (PyErr_Occurred() == NULL || PyErr_ExceptionMatches(PyExc_Exception))) {
        PyErr_Clear();
        wrong(name, expected, obj);
    }
    return seq;
}

bool arg_f32s(PyObject *obj, const char *name, uint32_t *bits, size_t max) {
    if (obj == NULL) {
        return true;
    }
    if (!PySequence_Check(obj) || PyUnicode_Check(obj)) {
        return arg_f32(obj, name, bits);
    }
    PyObject *seq = arg_sequence(obj, name, "a number or a sequence of numbers");
    if (seq == NULL) {
        return false;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(seq);
    bool ok = (size_t)count <= max;
    if (!ok) {
        PyErr_Format(PyExc_ValueError, "%s: expected at most %zu numbers, got %zd", name, max, count);
    }
    /* the conversion of an element may run Python code that changes the sequence */
    for (Py_ssize_t i = 0; ok && i < count && i < PySequence_Fast_GET_SIZE(seq); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(seq, i);
        Py_INCREF(item);
        ok = arg_f32(item, name, &bits[i]);
        Py_DECREF(item);
    }
    Py_DECREF(seq);
    return ok;
}

/* `count` integers from a sequence of that length. */
static bool integers(PyObject *seq, const char *name, uint32_t lo, uint32_t hi, uint32_t *v, Py_ssize_t count) {
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < count && i < PySequence_Fast_GET_SIZE(seq); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(seq, i);
        Py_INCREF(item);
        ok = arg_u32(item, name, lo, hi, &v[i]);
        Py_DECREF(item);
    }
    return ok;
}

bool arg_pair(PyObject *obj, const char *name, uint32_t lo, uint32_t hi, uint32_t v[2]) {
    if (obj == NULL) {
        return true;
    }
    if (PyIndex_Check(obj)) {
        const bool ok = arg_u32(obj, name, lo, hi, &v[0]);
        v[1] = v[0];
        return ok;
    }
    PyObject *seq = arg_sequence(obj, name, "an integer or two of them");
    if (seq == NULL) {
        return false;
    }
    bool ok = PySequence_Fast_GET_SIZE(seq) == 2;
    if (!ok) {
        PyErr_Format(PyExc_ValueError, "%s: expected one or two integers, got %zd", name,
                     PySequence_Fast_GET_SIZE(seq));
    }
    ok = ok && integers(seq, name, lo, hi, v, 2);
    Py_DECREF(seq);
    return ok;
}

bool arg_pads(PyObject *obj, const char *name, uint32_t pad[4]) {
    if (obj == NULL || PyIndex_Check(obj)) {
        const bool ok = arg_u32(obj, name, 0, 255, &pad[0]);
        pad[1] = pad[2] = pad[3] = pad[0];
        return ok;
    }
    PyObject *seq = arg_sequence(obj, name, "an integer, two or four of them");
    if (seq == NULL) {
        return false;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(seq);
    bool ok = count == 2 || count == 4;
    if (!ok) {
        PyErr_Format(PyExc_ValueError, "%s: expected one, two or four integers, got %zd", name, count);
    }
    ok = ok && integers(seq, name, 0, 255, pad, count);
    if (count == 2) {
        pad[2] = pad[0];
        pad[3] = pad[1];
    }
    Py_DECREF(seq);
    return ok;
}

bool arg_enum(PyObject *obj, const char *name, const char *const *names, size_t count, uint32_t *v) {
    if (obj == NULL) {
        return true;
    }
    if (!PyUnicode_Check(obj)) {
        return arg_u32(obj, name, 0, (uint32_t)count - 1, v);
    }
    for (size_t i = 0; i < count; i++) {
        if (PyUnicode_CompareWithASCIIString(obj, names[i]) == 0) {
            *v = (uint32_t)i;
            return true;
        }
    }
    return arg_refuse(PyExc_ValueError, "%s: %R is none of %s ... %s", name, obj, names[0], names[count - 1]);
}

const char *arg_text(PyObject *obj, const char *name) {
    if (!PyUnicode_Check(obj)) {
        wrong(name, "a str", obj);
        return NULL;
    }
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(obj, &len);
    if (text != NULL && strlen(text) != (size_t)len) {
        PyErr_Format(PyExc_ValueError, "%s: embedded null character", name);
        return NULL;
    }
    return text;
}

PyObject *arg_path(PyObject *obj, const char *name) {
    PyObject *bytes = NULL;
    if (PyUnicode_FSConverter(obj, &bytes) == 0) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            wrong(name, "a path", obj);
        }
        return NULL;
    }
    return bytes;
}
