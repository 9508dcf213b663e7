/* nd.c - arrays: the buffer protocol for arguments, NumPy for results. NumPy's own C interface is not used, because it
 * keeps its table in a static pointer. */
#include "tandem_py.h"

#include <string.h>

typedef struct kind {
    nd_type type;
    const char *name;    /* of NumPy's type */
    const char *formats; /* of the struct module */
    Py_ssize_t size;
} kind;

static const kind kinds[8] = {{ND_I8, "int8", "b", 1},     {ND_U8, "uint8", "B", 1},    {ND_I32, "int32", "il", 4},
                              {ND_U32, "uint32", "IL", 4}, {ND_F32, "float32", "f", 4}, {ND_U16, "uint16", "H", 2},
                              {ND_U64, "uint64", "LQ", 8}, {ND_BOOL, "bool", "?", 1}};
#define KINDS (sizeof kinds / sizeof kinds[0])

bool nd_numpy_init(nd_numpy *np) {
    PyObject *module = PyImport_ImportModule("numpy");
    if (module == NULL) {
        return false;
    }
    PyObject *dtype = PyObject_GetAttrString(module, "dtype");
    np->empty = PyObject_GetAttrString(module, "empty");
    bool ok = dtype != NULL && np->empty != NULL;
    for (size_t i = 0; ok && i < KINDS; i++) {
        np->dtype[i] = PyObject_CallFunction(dtype, "s", kinds[i].name);
        ok = np->dtype[i] != NULL;
    }
    Py_XDECREF(dtype);
    Py_DECREF(module);
    return ok;
}

int nd_numpy_visit(nd_numpy *np, visitproc visit, void *arg) {
    Py_VISIT(np->empty);
    for (size_t i = 0; i < KINDS; i++) {
        Py_VISIT(np->dtype[i]);
    }
    return 0;
}

void nd_numpy_clear(nd_numpy *np) {
    Py_CLEAR(np->empty);
    for (size_t i = 0; i < KINDS; i++) {
        Py_CLEAR(np->dtype[i]);
    }
}

/* Type of a buffer's elements; 0: not supported. */
static nd_type type_of(const Py_buffer *view) {
    const char *f = view->format != NULL ? view->format : "B";
    f += (*f == '@' || *f == '=' || *f == '<') && f[1] != '\0' ? 1 : 0;
    for (size_t i = 0; i < KINDS && f[0] != '\0' && f[1] == '\0'; i++) {
        if (strchr(kinds[i].formats, f[0]) != NULL && view->itemsize == kinds[i].size) {
            return kinds[i].type;
        }
    }
    return 0;
}

/* "int8 or uint8" */
static const char *type_names(unsigned types, char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; i < KINDS; i++) {
        if ((types & kinds[i].type) != 0) {
            const size_t len = strlen(text);
            PyOS_snprintf(text + len, size - len, "%s%s", len > 0 ? " or " : "", kinds[i].name);
        }
    }
    return text;
}

static bool check(nd *a, const char *what, unsigned types, bool write) {
    char names[80];
    const Py_buffer *v = &a->view;
    a->type = type_of(v);
    if (((unsigned)a->type & types) == 0) {
        return arg_refuse(PyExc_TypeError, "%s: expected elements of %s, got format '%.40s' of %zd bytes", what,
                          type_names(types, names, sizeof names), v->format != NULL ? v->format : "B", v->itemsize);
    }
    if (write && v->readonly) {
        return arg_refuse(PyExc_ValueError, "%s: is read-only", what);
    }
    if (v->ndim > ND_DIMS) {
        return arg_refuse(PyExc_ValueError, "%s: expected at most %d dimensions, got %d", what, ND_DIMS, v->ndim);
    }
    if (!PyBuffer_IsContiguous(v, 'C')) {
        return arg_refuse(PyExc_ValueError, "%s: expected a C-contiguous array (numpy.ascontiguousarray)", what);
    }
    if ((uintptr_t)v->buf % (size_t)v->itemsize != 0 && v->len > 0) {
        return arg_refuse(PyExc_ValueError, "%s: elements are not aligned to %zd bytes", what, v->itemsize);
    }
    return true;
}

bool nd_get(nd *a, PyObject *obj, const char *what, unsigned types, bool write) {
    a->view.obj = NULL;
    if (!PyObject_CheckBuffer(obj)) {
        return arg_refuse(PyExc_TypeError, "%s: expected an array, got %.100s", what, Py_TYPE(obj)->tp_name);
    }
    if (PyObject_GetBuffer(obj, &a->view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        PyObject *error, *value, *trace;
        PyErr_Fetch(&error, &value, &trace);
        PyErr_Format(PyExc_ValueError, "%s: not a plain array: %S", what, value != NULL ? value : Py_None);
        Py_XDECREF(error);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        a->view.obj = NULL;
        return false;
    }
    if (!check(a, what, types, write)) {
        nd_release(a);
        return false;
    }
    a->data = a->view.buf;
    a->dims = a->view.ndim;
    a->count = (size_t)(a->view.len / a->view.itemsize);
    for (int i = 0; i < a->dims; i++) {
        a->shape[i] = a->view.shape[i];
    }
    return true;
}

void nd_release(nd *a) {
    if (a->view.obj != NULL) {
        PyBuffer_Release(&a->view);
    }
}

/* "(2, 3)"; "any" for a size that is not fixed */
static const char *shape_text(int dims, const Py_ssize_t *shape, char *text, size_t size) {
    size_t len = 0;
    text[0] = '\0';
    for (int i = 0; i < dims && len < size; i++) {
        char one[32];
        PyOS_snprintf(one, sizeof one, shape[i] < 0 ? "any" : "%zd", shape[i]);
        PyOS_snprintf(text + len, size - len, "%s%s", i > 0 ? ", " : "", one);
        len = strlen(text);
    }
    return text;
}

bool nd_is(const nd *a, const char *what, int dims, const Py_ssize_t *shape) {
    bool ok = a->dims == dims;
    for (int i = 0; ok && i < dims; i++) {
        ok = shape[i] < 0 ? a->shape[i] > 0 : a->shape[i] == shape[i];
    }
    if (!ok) {
        char want[200];
        char got[200];
        PyErr_Format(PyExc_ValueError, "%s: expected shape (%s), got (%s)", what,
                     shape_text(dims, shape, want, sizeof want), shape_text(a->dims, a->shape, got, sizeof got));
    }
    return ok;
}

bool nd_meet(const nd *a, const nd *b) {
    const uintptr_t x = (uintptr_t)a->data;
    const uintptr_t y = (uintptr_t)b->data;
    return a->view.obj != NULL && b->view.obj != NULL && x < y + (size_t)b->view.len && y < x + (size_t)a->view.len;
}

PyObject *nd_new(const nd_numpy *np, nd_type type, int dims, const Py_ssize_t *shape, nd *a) {
    size_t k = 0;
    while (kinds[k].type != type) {
        k++;
    }
    a->view.obj = NULL;
    PyObject *sizes = PyTuple_New(dims);
    for (int i = 0; sizes != NULL && i < dims; i++) {
        PyObject *size = PyLong_FromSsize_t(shape[i]);
        if (size == NULL) {
            Py_CLEAR(sizes);
        } else {
            PyTuple_SET_ITEM(sizes, i, size);
        }
    }
    if (sizes == NULL) {
        return NULL;
    }
    PyObject *const args[] = {sizes, np->dtype[k]};
    PyObject *array = PyObject_Vectorcall(np->empty, args, 2, NULL);
    Py_DECREF(sizes);
    if (array != NULL && !nd_get(a, array, "result", type, true)) {
        Py_CLEAR(array);
    }
    return array;
}

PyObject *nd_out(const nd_numpy *np, PyObject *out, unsigned types, nd_type type, int dims, const Py_ssize_t *shape,
                 nd *a) {
    if (out == NULL) {
        return nd_new(np, type, dims, shape, a);
    }
    if (!nd_get(a, out, "out", types, true)) {
        return NULL;
    }
    bool same = a->dims == dims;
    for (int i = 0; same && i < dims; i++) {
        same = a->shape[i] == shape[i];
    }
    if (!same) {
        nd_is(a, "out", dims, shape);
        nd_release(a);
        return NULL;
    }
    Py_INCREF(out);
    return out;
}
