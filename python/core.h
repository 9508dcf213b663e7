/*
 * core.h - private to the module tandem._core: its state, and devices.
 */
#ifndef TANDEM_PY_CORE_H
#define TANDEM_PY_CORE_H

#include "tandem_py.h"

#include "../drivers/npu/npu.h"
#include "device.h"

typedef struct core_state {
    nd_numpy np;
    PyObject *error, *driver_error, *device_error, *divergence; /* exceptions */
    PyObject *device_type, *network_type;
} core_state;

extern struct PyModuleDef core_def;

static inline core_state *core_of(PyObject *self) {
    PyObject *module = PyType_GetModuleByDef(Py_TYPE(self), &core_def);
    return module != NULL ? (core_state *)PyModule_GetState(module) : NULL;
}

#define CORE_METHOD(name) PyObject *name(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
#define CORE_ROW(name, func, doc)                                                                                      \
    { name, (PyCFunction)(void (*)(void))(func), METH_FASTCALL | METH_KEYWORDS, doc }

/* ---- rng.c: the testbench's random numbers ---- */

CORE_METHOD(rng_test_seed);
CORE_METHOD(rng_draw);

/* ---- rtl.c ---- */

/*
 * The design of mesh size n in the package's folder, of a kind of build ("fast", "tap", "debug", "san"; NULL: "fast",
 * or for a waveform any build with tracing). It stays loaded. NULL with tandem.Error, which names the command that
 * builds it, if there is no such file.
 */
const tb_shim *rtl_load(const core_state *state, PyObject *module, uint32_t n, const char *build, bool wave);
/* Available builds: a list of (n, build). */
PyObject *rtl_builds(PyObject *module);

/* ---- device.c ---- */

typedef struct device {
    PyObject ob_base;
    npu_dev *dev; /* NULL: closed */
    npu npu;
    PyThread_type_lock lock;
    unsigned long owner; /* thread that uses it; 0: none */
    uint64_t seed;
    bool stale; /* the driver must be initialised again: its last call ended in an error */
} device;

/* Lock the device for this thread. false: RuntimeError (this thread uses it already), ValueError (closed). */
bool device_enter(device *self);
void device_leave(device *self);
/*
 * An exception for a device that has failed (Divergence, DeviceError), or for a status of the driver (DriverError). The
 * caller has entered the device.
 */
void device_raise(device *self, npu_status status, const char *what);
/* true: no failure so far; else with the exception. */
bool device_ok(device *self);
/* Begin an operator: device_enter(), and the driver is ready. */
bool device_begin(device *self);

PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
void device_dealloc(PyObject *obj);
PyObject *device_close(PyObject *obj, PyObject *unused);
PyObject *device_start(PyObject *obj, PyObject *unused);
PyObject *device_end(PyObject *obj, PyObject *args);
extern PyGetSetDef device_getset[];

/* ---- device_type.c ---- */
extern PyType_Spec device_spec;

/* ---- device_io.c: memory, time, waveform, faults ---- */
CORE_METHOD(device_alloc);
CORE_METHOD(device_write);
CORE_METHOD(device_read);
CORE_METHOD(device_read_into);
CORE_METHOD(device_wave);
CORE_METHOD(device_run);
CORE_METHOD(device_inject_flip);
CORE_METHOD(device_inject_error);
CORE_METHOD(device_inject_hang);
PyObject *device_free_all(PyObject *self, PyObject *unused);
PyObject *device_reset(PyObject *self, PyObject *unused);
PyObject *device_compare(PyObject *self, PyObject *unused);
PyObject *device_finish(PyObject *self, PyObject *unused);
PyObject *device_bus_stats(PyObject *self, PyObject *unused);

/* ---- device_regs.c: registers and counters ---- */
CORE_METHOD(device_read_register);
CORE_METHOD(device_write_register);
PyObject *device_all_registers(PyObject *self, PyObject *unused);
PyObject *device_counters(PyObject *self, PyObject *unused);
PyObject *device_clear_counters(PyObject *self, PyObject *unused);

/* ---- op_conv.c, op_alu.c, op_pool.c: the driver's operators ---- */
CORE_METHOD(device_conv2d);
CORE_METHOD(device_depthwise);
CORE_METHOD(device_qlinear_conv);
CORE_METHOD(device_linear);
CORE_METHOD(device_convert);
CORE_METHOD(device_alu);
CORE_METHOD(device_act);
CORE_METHOD(device_dot);
CORE_METHOD(device_softmax);
CORE_METHOD(device_layer_norm);
CORE_METHOD(device_rms_norm);
CORE_METHOD(device_pool);
CORE_METHOD(device_global_average);
CORE_METHOD(device_upsample2x);
CORE_METHOD(device_copy);

/* Registers, fields and their values, by name: a dict for tandem.REGISTERS. */
PyObject *device_registers(void);
/* Names of the counters: a tuple. */
PyObject *device_counter_names(void);

/* ---- tensor.c: operands on the device. All of them without the GIL ---- */

/* Errors besides those of the driver. */
typedef enum op_trouble { OP_FINE, OP_DRIVER, OP_DEVICE_MEMORY, OP_HOST_MEMORY } op_trouble;

/* An operator in progress: its buffers are freed at the end. */
typedef struct op {
    device *self;
    size_t keep; /* number of buffers before it */
    op_trouble trouble;
    npu_status status; /* OP_DRIVER */
    uint64_t bytes;    /* OP_DEVICE_MEMORY: size that did not fit */
} op;

/* Begin an operator on a device that was entered. */
op op_begin(device *self);
/* With the GIL again: free the buffers, leave the device. true: success; else an exception that begins with `what`. */
bool op_end(op *o, const char *what);
/* Note a status. true: NPU_OK. */
bool op_status(op *o, npu_status status);
/* Memory of the host; NULL is recorded as an error. */
void *op_malloc(op *o, size_t bytes);
/* A buffer of device memory. 0: recorded as an error. */
uint32_t op_alloc(op *o, uint64_t bytes, npu_buf_kind kind);
/* A buffer with these bytes. 0: recorded as an error. */
uint32_t op_put(op *o, const void *src, uint64_t bytes);
/* `count` FP32 values, padded with zeros to `bytes`; all of them equal to *scalar where v is NULL. */
uint32_t op_put_f32(op *o, const uint32_t *v, uint32_t scalar, uint32_t count, uint64_t bytes);
/* Elements of (c, h, w) on the device: t->w, h, c, layout are set, step and addr are filled in. Elements are 4 bytes
 * (NCHW), 1 byte (NHWC). */
bool op_input(op *o, npu_tensor *t, const void *elements);
bool op_output(op *o, npu_tensor *t);
bool op_fetch(op *o, const npu_tensor *t, void *elements);

/* The tensor of an array (c, h, w), float32 or (int8 true) int8; without step and address. false: ValueError. */
bool tensor_of(const nd *a, const char *what, bool int8, npu_tensor *t);

/* ---- child.c: isolation of damaged files ---- */

/* Run work(ctx) in a child process (tb_wave_guard): returns its standard output as bytes. A result of `bad` or above is
 * an error, and so is a child that dies: tandem.Error with the first line of its standard error, without the prefix
 * "check: ". NULL with an exception. */
PyObject *child_run(const core_state *state, const char *path, int (*work)(void *ctx), void *ctx, int bad);

/* ---- wave.c, axi.c: functions of the module ---- */
CORE_METHOD(wave_signals);
CORE_METHOD(wave_read);
CORE_METHOD(check_axi);

#endif
