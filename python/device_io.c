/* device_io.c - a device's memory, time, waveform and faults. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>

#include "tb.h"
#include "report/report.h"

#define ANY (ND_I8 | ND_U8 | ND_I32 | ND_U32 | ND_F32 | ND_U16 | ND_U64 | ND_BOOL)

CORE_METHOD(device_alloc) {
    static const args_def def = {"alloc", 3, 1, {"nbytes", "align", "kind", NULL}};
    static const char *const kinds[] = {"in", "out", "scratch"};
    PyObject *in[3];
    uint32_t bytes = 0, align = 64, kind = NPU_BUF_SCRATCH;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u32(in[0], "nbytes", 1, UINT32_MAX, &bytes) ||
        !arg_u32(in[1], "align", 16, 1u << 24, &align) || !arg_enum(in[2], "kind", kinds, 3, &kind)) {
        return NULL;
    }
    if ((align & (align - 1)) != 0) {
        return PyErr_Format(PyExc_ValueError, "align: expected a power of two, got %u", align);
    }
    if (!device_enter((device *)self)) {
        return NULL;
    }
    const uint32_t addr = npu_dev_alloc(((device *)self)->dev, bytes, align, (npu_buf_kind)kind);
    device_leave((device *)self);
    if (addr == 0) {
        return PyErr_Format(PyExc_MemoryError,
                            "device memory: no room for %u bytes (Device(memory=...) makes it larger)", bytes);
    }
    return PyLong_FromUnsignedLong(addr);
}

PyObject *device_free_all(PyObject *self, PyObject *unused) {
    (void)unused;
    if (!device_enter((device *)self)) {
        return NULL;
    }
    npu_dev_alloc_reset(((device *)self)->dev);
    const bool ok = device_ok((device *)self);
    device_leave((device *)self);
    return ok ? Py_NewRef(Py_None) : NULL;
}

static PyObject *outside(uint32_t addr, Py_ssize_t bytes) {
    return PyErr_Format(PyExc_IndexError, "device memory: %zd bytes at 0x%08x lie outside of it", bytes, addr);
}

CORE_METHOD(device_write) {
    static const args_def def = {"write", 2, 2, {"addr", "data", NULL}};
    PyObject *in[2];
    uint32_t addr = 0;
    nd a;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u32(in[0], "addr", 0, UINT32_MAX, &addr) ||
        !nd_get(&a, in[1], "data", ANY, false)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (device_enter((device *)self)) {
        const bool ok = npu_dev_write(((device *)self)->dev, addr, a.data, (size_t)a.view.len);
        device_leave((device *)self);
        result = ok ? Py_NewRef(Py_None) : outside(addr, a.view.len);
    }
    nd_release(&a);
    return result;
}

static PyObject *read_into(device *self, uint32_t addr, nd *a, PyObject *array) {
    if (!device_enter(self)) {
        return NULL;
    }
    const bool ok = npu_dev_read(self->dev, addr, a->data, (size_t)a->view.len);
    device_leave(self);
    return ok ? Py_NewRef(array) : outside(addr, a->view.len);
}

CORE_METHOD(device_read_into) {
    static const args_def def = {"read_into", 2, 2, {"addr", "out", NULL}};
    PyObject *in[2];
    uint32_t addr = 0;
    nd a;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u32(in[0], "addr", 0, UINT32_MAX, &addr) ||
        !nd_get(&a, in[1], "out", ANY, true)) {
        return NULL;
    }
    PyObject *result = read_into((device *)self, addr, &a, in[1]);
    nd_release(&a);
    return result;
}

CORE_METHOD(device_read) {
    static const args_def def = {"read", 3, 2, {"addr", "shape", "dtype", NULL}};
    PyObject *in[3];
    uint32_t addr = 0;
    nd a;
    const core_state *state = core_of(self);
    if (state == NULL || !args_take(&def, args, nargs, kwnames, in) || !arg_u32(in[0], "addr", 0, UINT32_MAX, &addr)) {
        return NULL;
    }
    PyObject *array =
        PyObject_CallFunctionObjArgs(state->np.empty, in[1], in[2] != NULL ? in[2] : state->np.dtype[1], NULL);
    if (array == NULL || !nd_get(&a, array, "dtype", ANY, true)) {
        Py_XDECREF(array);
        return NULL;
    }
    PyObject *result = read_into((device *)self, addr, &a, array);
    nd_release(&a);
    Py_DECREF(array);
    return result;
}

/* A long call without a result: runs without the GIL, then checks the device for a failure. */
typedef void work(npu_dev *dev, uint64_t number);

static PyObject *do_work(PyObject *obj, work *f, uint64_t number) {
    device *self = (device *)obj;
    if (!device_enter(self)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    f(self->dev, number);
    Py_END_ALLOW_THREADS;
    const bool ok = device_ok(self);
    device_leave(self);
    return ok ? Py_NewRef(Py_None) : NULL;
}

CORE_METHOD(device_run) {
    static const args_def def = {"run", 1, 1, {"cycles", NULL}};
    PyObject *in[1];
    uint64_t cycles = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u64(in[0], "cycles", &cycles)) {
        return NULL;
    }
    return do_work(self, npu_dev_run, cycles);
}

static void compare(npu_dev *dev, uint64_t unused) {
    (void)unused;
    npu_dev_compare(dev);
}

PyObject *device_compare(PyObject *self, PyObject *unused) {
    (void)unused;
    return do_work(self, compare, 0);
}

static void finish(npu_dev *dev, uint64_t unused) {
    (void)unused;
    npu_dev_finish(dev);
}

PyObject *device_finish(PyObject *self, PyObject *unused) {
    (void)unused;
    return do_work(self, finish, 0);
}

static void reset(npu_dev *dev, uint64_t unused) {
    (void)unused;
    npu_dev_reset(dev);
}

PyObject *device_reset(PyObject *self, PyObject *unused) {
    (void)unused;
    ((device *)self)->stale = true;
    return do_work(self, reset, 0);
}

CORE_METHOD(device_wave) {
    static const args_def def = {"wave", 1, 0, {"path", NULL}};
    PyObject *in[1];
    char err[512];
    if (!args_take(&def, args, nargs, kwnames, in)) {
        return NULL;
    }
    PyObject *path = in[0] != NULL ? arg_path(in[0], "path") : NULL;
    if (in[0] != NULL && path == NULL) {
        return NULL;
    }
    PyObject *result = NULL;
    const core_state *state = core_of(self);
    if (state != NULL && device_enter((device *)self)) {
        const int rc =
            npu_dev_wave(((device *)self)->dev, path != NULL ? PyBytes_AS_STRING(path) : NULL, err, sizeof err);
        device_leave((device *)self);
        if (rc == 0) {
            result = Py_NewRef(Py_None);
        } else {
            PyErr_SetString(state->error, err);
        }
    }
    Py_XDECREF(path);
    return result;
}

CORE_METHOD(device_inject_flip) {
    static const args_def def = {"inject_flip", 2, 2, {"channel", "k", NULL}};
    PyObject *in[2];
    uint32_t channel = 0;
    uint64_t k = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u32(in[0], "channel", 0, 1, &channel) ||
        !arg_u64(in[1], "k", &k)) {
        return NULL;
    }
    if (!device_enter((device *)self)) {
        return NULL;
    }
    npu_dev_inject_flip(((device *)self)->dev, channel, k);
    device_leave((device *)self);
    Py_RETURN_NONE;
}

CORE_METHOD(device_inject_error) {
    static const args_def def = {"inject_error", 3, 2, {"channel", "direction", "k", NULL}};
    static const char *const directions[] = {"read", "write"};
    PyObject *in[3];
    uint32_t channel = 0, direction = 0;
    uint64_t k = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u32(in[0], "channel", 0, 1, &channel) ||
        !arg_enum(in[1], "direction", directions, 2, &direction) || !arg_u64(in[2], "k", &k)) {
        return NULL;
    }
    if (!device_enter((device *)self)) {
        return NULL;
    }
    npu_dev_inject_error(((device *)self)->dev, channel, direction, k);
    const bool ok = device_ok((device *)self);
    device_leave((device *)self);
    return ok ? Py_NewRef(Py_None) : NULL;
}

CORE_METHOD(device_inject_hang) {
    static const args_def def = {"inject_hang", 3, 2, {"channel", "axi", "k", NULL}};
    static const char *const channels[] = {"AW", "W", "B", "AR", "R"};
    PyObject *in[3];
    uint32_t channel = 0, axi = 0;
    uint64_t k = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u32(in[0], "channel", 0, 1, &channel) ||
        !arg_enum(in[1], "axi", channels, 5, &axi) || !arg_u64(in[2], "k", &k)) {
        return NULL;
    }
    if (!device_enter((device *)self)) {
        return NULL;
    }
    npu_dev_inject_hang(((device *)self)->dev, channel, axi, k);
    device_leave((device *)self);
    Py_RETURN_NONE;
}

PyObject *device_bus_stats(PyObject *self, PyObject *unused) {
    char *text = NULL;
    size_t size = 0;
    (void)unused;
    if (!device_enter((device *)self)) {
        return NULL;
    }
    FILE *out = rep_memory(&text, &size);
    if (out != NULL) {
        npu_dev_bus_stats(((device *)self)->dev, true, out);
    }
    device_leave((device *)self);
    if (out == NULL || fclose(out) != 0) {
        free(text);
        return PyErr_NoMemory();
    }
    PyObject *json = PyImport_ImportModule("json");
    PyObject *result = json != NULL ? PyObject_CallMethod(json, "loads", "s", size > 0 ? text : "[]") : NULL;
    Py_XDECREF(json);
    free(text);
    return result;
}
