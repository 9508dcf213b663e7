/* device_regs.c - registers by name, and the performance counters. */
#include "core.h"

#include <string.h>

#include "npu_regs.h"

typedef struct reg_name {
    const char *name;
    uint32_t offset;
} reg_name;

typedef struct field_name {
    const char *name;
    uint32_t offset, lsb, width;
} field_name;

typedef struct value_name {
    const char *field, *name;
    uint32_t offset, value;
} value_name;

#define REG_ROW(name, offset, access, exact, timed, w1c, reset) {#name, offset},
static const reg_name regs[] = {NPU_REGS_TABLE(REG_ROW)};
#define FIELD_ROW(reg, field, offset, lsb, width) {#field, offset, lsb, width},
static const field_name fields[] = {NPU_FIELD_TABLE(FIELD_ROW)};
#define VALUE_ROW(reg, field, name, offset, lsb, value) {#field, #name, offset, value},
static const value_name values[] = {NPU_ENUM_TABLE(VALUE_ROW)};
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* docs/npu/npu.md section 5, by number; NULL: there is no such counter. */
static const char *const counters[NPU_PERF_COUNT] = NPU_PERF_SEL_SEL_NAMES;

/* Steals the reference `value`. */
static bool put(PyObject *dict, const char *name, PyObject *value) {
    const bool ok = value != NULL && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return ok;
}

static PyObject *values_of(uint32_t offset, const char *field) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < COUNT(values); i++) {
        if (values[i].offset == offset && strcmp(values[i].field, field) == 0 &&
            !put(dict, values[i].name, PyLong_FromUnsignedLong(values[i].value))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *fields_of(uint32_t offset) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < COUNT(fields); i++) {
        if (fields[i].offset == offset &&
            !put(dict, fields[i].name,
                 Py_BuildValue("(IIN)", fields[i].lsb, fields[i].width, values_of(offset, fields[i].name)))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

PyObject *device_registers(void) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < COUNT(regs); i++) {
        if (!put(dict, regs[i].name, Py_BuildValue("(IN)", regs[i].offset, fields_of(regs[i].offset)))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

PyObject *device_counter_names(void) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < NPU_PERF_COUNT; i++) {
        PyObject *text = counters[i] != NULL ? PyUnicode_FromString(counters[i]) : NULL;
        if (counters[i] != NULL && (text == NULL || PyList_Append(list, text) != 0)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(text);
    }
    PyObject *tuple = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static bool arg_register(PyObject *obj, uint32_t *offset) {
    if (!PyUnicode_Check(obj)) {
        if (!arg_u32(obj, "register", 0, 508, offset)) {
            return false;
        }
        if (*offset % 4 != 0) {
            PyErr_Format(PyExc_ValueError, "register: expected a multiple of 4, got %u", *offset);
        }
        return *offset % 4 == 0;
    }
    for (size_t i = 0; i < COUNT(regs); i++) {
        if (PyUnicode_CompareWithASCIIString(obj, regs[i].name) == 0) {
            *offset = regs[i].offset;
            return true;
        }
    }
    return arg_refuse(PyExc_ValueError, "register: no register %R (tandem.REGISTERS has all of them)", obj);
}

/* An access of the HAL. The caller has entered the device. */
static bool bus_access(device *self, uint32_t offset, bool write, uint32_t *value) {
    const npu_hal *hal = npu_dev_hal(self->dev);
    npu_hal_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = write ? hal->reg_write(hal->ctx, offset, *value) : hal->reg_read(hal->ctx, offset, value);
    Py_END_ALLOW_THREADS;
    if (status != NPU_HAL_OK) {
        device_raise(self, NPU_ERR_HAL, write ? "write_register" : "read_register");
    }
    return status == NPU_HAL_OK;
}

CORE_METHOD(device_read_register) {
    static const args_def def = {"read_register", 1, 1, {"register", NULL}};
    PyObject *in[1];
    uint32_t offset = 0, value = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_register(in[0], &offset) || !device_enter((device *)self)) {
        return NULL;
    }
    const bool ok = bus_access((device *)self, offset, false, &value);
    device_leave((device *)self);
    return ok ? PyLong_FromUnsignedLong(value) : NULL;
}

CORE_METHOD(device_write_register) {
    static const args_def def = {"write_register", 2, 2, {"register", "value", NULL}};
    PyObject *in[2];
    uint32_t offset = 0, value = 0;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_register(in[0], &offset) ||
        !arg_u32(in[1], "value", 0, UINT32_MAX, &value) || !device_enter((device *)self)) {
        return NULL;
    }
    /* the driver's count of tasks may be wrong now: it is initialised again before its next operator */
    ((device *)self)->stale = true;
    const bool ok = bus_access((device *)self, offset, true, &value);
    device_leave((device *)self);
    return ok ? Py_NewRef(Py_None) : NULL;
}

PyObject *device_all_registers(PyObject *self, PyObject *unused) {
    (void)unused;
    if (!device_enter((device *)self)) {
        return NULL;
    }
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < COUNT(regs); i++) {
        uint32_t value = 0;
        if (!bus_access((device *)self, regs[i].offset, false, &value) ||
            !put(dict, regs[i].name, PyLong_FromUnsignedLong(value))) {
            Py_CLEAR(dict);
        }
    }
    device_leave((device *)self);
    return dict;
}

PyObject *device_counters(PyObject *obj, PyObject *unused) {
    device *self = (device *)obj;
    uint64_t value[NPU_PERF_COUNT] = {0};
    npu_status status;
    (void)unused;
    if (!device_begin(self)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = npu_perf_read(&self->npu, value, NPU_PERF_COUNT);
    Py_END_ALLOW_THREADS;
    if (status != NPU_OK) {
        device_raise(self, status, "counters");
    }
    device_leave(self);
    PyObject *dict = status == NPU_OK ? PyDict_New() : NULL;
    for (size_t i = 0; dict != NULL && i < NPU_PERF_COUNT; i++) {
        if (counters[i] != NULL && !put(dict, counters[i], PyLong_FromUnsignedLongLong(value[i]))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

PyObject *device_clear_counters(PyObject *obj, PyObject *unused) {
    device *self = (device *)obj;
    npu_status status;
    (void)unused;
    if (!device_begin(self)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = npu_perf_clear(&self->npu);
    Py_END_ALLOW_THREADS;
    if (status != NPU_OK) {
        device_raise(self, status, "clear_counters");
    }
    device_leave(self);
    return status == NPU_OK ? Py_NewRef(Py_None) : NULL;
}
