/* device.c - the type Device: opening and closing, lock, failures. */
#include "core.h"

#include <string.h>

#define TIMEOUT_US 1000000u
#define PLUSARGS 16

/* ---- one thread at a time ---- */

bool device_enter(device *self) {
    const unsigned long me = PyThread_get_thread_ident();
    if (!PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) {
        if (self->owner == me) { /* code that the garbage collector runs during a call */
            return arg_refuse(PyExc_RuntimeError, "device: a call of this thread is still using it");
        }
        Py_BEGIN_ALLOW_THREADS;
        PyThread_acquire_lock(self->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS;
    }
    self->owner = me;
    if (self->dev == NULL) {
        device_leave(self);
        return arg_refuse(PyExc_ValueError, "device: is closed");
    }
    return true;
}

void device_leave(device *self) {
    self->owner = 0;
    PyThread_release_lock(self->lock);
}

/* ---- failures ---- */

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Is the failure a difference from the golden model? */
static bool differs(const char *signature) {
    static const char *const classes[] = {"mem:differ", "event:", "tandem:", "unit:"};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (starts(signature, classes[i])) {
            return true;
        }
    }
    return starts(signature, "reg:") && !starts(signature, "reg:response") && !starts(signature, "reg:reserved");
}

/* The unit as a str, or None: named in the signature, or the only one that writes where memory differs. */
static PyObject *unit_of(const npu_dev_failure *f) {
    static const char *const names[] = {"alu", "pool", "gemm"};
    static const char *const before[] = {"unit:", "watchdog:hang:"};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        if (starts(f->signature, before[i])) {
            const char *name = f->signature + strlen(before[i]);
            return PyUnicode_FromStringAndSize(name, (Py_ssize_t)strcspn(name, ":"));
        }
    }
    for (unsigned u = 0; u < 3; u++) {
        if (f->units == 1u << u) {
            return PyUnicode_FromString(names[u]);
        }
    }
    Py_RETURN_NONE;
}

/* Steals the reference `value`. */
static bool set(PyObject *obj, const char *name, PyObject *value) {
    const bool ok = value != NULL && PyObject_SetAttrString(obj, name, value) == 0;
    Py_XDECREF(value);
    return ok;
}

static PyObject *text_of(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* The failure that the device noted. */
static void raise_failure(const core_state *state, npu_dev *dev) {
    const npu_dev_failure *f = npu_dev_get_failure(dev);
    const char *hang = npu_dev_hang_text(dev);
    PyObject *text = hang != NULL ? PyUnicode_FromFormat("%s\n%s", f->message, hang) : text_of(f->message);
    PyObject *type = differs(f->signature) ? state->divergence : state->device_error;
    PyObject *message =
        PyUnicode_FromFormat("%s: %s (cycle %llu)", f->signature, f->message, (unsigned long long)f->cycle);
    PyObject *error = text != NULL && message != NULL ? PyObject_CallOneArg(type, message) : NULL;
    if (error != NULL && set(error, "signature", text_of(f->signature)) && set(error, "unit", unit_of(f)) &&
        set(error, "cycle", PyLong_FromUnsignedLongLong(f->cycle)) &&
        set(error, "path", f->path[0] != '\0' ? text_of(f->path) : Py_NewRef(Py_None)) &&
        set(error, "text", Py_NewRef(text))) {
        PyErr_SetObject(type, error);
    }
    Py_XDECREF(text);
    Py_XDECREF(message);
    Py_XDECREF(error);
}

static bool failed(const device *self) {
    return npu_dev_get_failure(self->dev)->signature[0] != '\0';
}

bool device_ok(device *self) {
    const core_state *state = core_of((PyObject *)self);
    if (state != NULL && failed(self)) {
        raise_failure(state, self->dev);
        return false;
    }
    return state != NULL;
}

void device_raise(device *self, npu_status status, const char *what) {
    const core_state *state = core_of((PyObject *)self);
    if (state == NULL) {
        return;
    }
    /* lower statuses are refusals without any access of the device */
    self->stale |= status == NPU_ERR_TIMEOUT || status == NPU_ERR_HAL || status == NPU_ERR_BUSY;
    if (status == NPU_ERR_TIMEOUT &&
        !failed(self)) { /* to get its hang report, which has more information than the driver's status */
        Py_BEGIN_ALLOW_THREADS;
        npu_dev_check_hang(self->dev);
        Py_END_ALLOW_THREADS;
    }
    if (failed(self)) {
        raise_failure(state, self->dev);
        return;
    }
    char extra[40] = "";
    if (status == NPU_ERR_BUS || status == NPU_ERR_DEVICE) {
        PyOS_snprintf(extra, sizeof extra, " (ERR = 0x%02X)", self->npu.last_err);
    }
    PyObject *message = PyUnicode_FromFormat("%s: %s%s", what, npu_strerror(status), extra);
    PyObject *error = message != NULL ? PyObject_CallOneArg(state->driver_error, message) : NULL;
    if (error != NULL && set(error, "status", PyLong_FromLong((long)status)) && set(error, "what", text_of(what))) {
        PyErr_SetObject(state->driver_error, error);
    }
    Py_XDECREF(message);
    Py_XDECREF(error);
}

/* ---- the driver ---- */

static npu_status start_driver(device *self) {
    npu_status status;
    const npu_wait wait = self->npu.wait;
    const uint32_t timeout_us = self->npu.timeout_us;
    Py_BEGIN_ALLOW_THREADS;
    status = npu_init(&self->npu, npu_dev_hal(self->dev), wait, timeout_us);
    Py_END_ALLOW_THREADS;
    /* npu_init() may or may not have reset them */
    self->npu.wait = wait;
    self->npu.timeout_us = timeout_us;
    return status;
}

bool device_begin(device *self) {
    if (!device_enter(self)) {
        return false;
    }
    if (!device_ok(self)) {
        device_leave(self);
        return false;
    }
    if (self->stale) {
        const npu_status status = start_driver(self);
        if (status != NPU_OK) {
            device_raise(self, status, "npu_init");
            device_leave(self);
            return false;
        }
        self->stale = false;
    }
    return true;
}

/* ---- opening ---- */

/* Arguments of Device() besides npu_dev_cfg. */
typedef struct opening {
    npu_dev_cfg cfg;
    uint32_t wait, timeout_us;
    const char *build;
    PyObject *wave;              /* bytes */
    PyObject *plusarg[PLUSARGS]; /* bytes */
    const char *plusarg_text[PLUSARGS + 1];
} opening;

static void opening_free(opening *o) {
    Py_XDECREF(o->wave);
    for (size_t i = 0; i < PLUSARGS; i++) {
        Py_XDECREF(o->plusarg[i]);
    }
}

static bool take_plusargs(PyObject *obj, opening *o) {
    if (obj == NULL) {
        return true;
    }
    PyObject *seq = arg_sequence(obj, "plusargs", "a list of str");
    if (seq == NULL) {
        return false;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(seq);
    bool ok = count <= PLUSARGS;
    if (!ok) {
        PyErr_Format(PyExc_ValueError, "plusargs: expected at most %d, got %zd", PLUSARGS, count);
    }
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(seq, i);
        const char *text = arg_text(item, "plusargs");
        ok = text != NULL;
        if (ok && text[0] != '+') {
            ok = arg_refuse(PyExc_ValueError, "plusargs: expected \"+name\", got %R", item);
        }
        o->plusarg[i] = ok ? PyUnicode_AsUTF8String(item) : NULL;
        ok = ok && o->plusarg[i] != NULL;
        o->plusarg_text[i] = ok ? PyBytes_AS_STRING(o->plusarg[i]) : NULL;
    }
    Py_DECREF(seq);
    o->cfg.plusargs = o->plusarg_text;
    return ok;
}

enum {
    KIND,
    N,
    SEED,
    BUS,
    MEMORY,
    WAVE,
    BUILD,
    INIT_SEED,
    POISON,
    MAX_CYCLES,
    WATCHDOG,
    WAIT,
    TIMEOUT,
    PLUS,
    CHECKS,
    ARGUMENTS
};

/* Enough for the networks that people have: pages are made when they are used. */
#define DEFAULT_MEMORY (UINT64_C(1) << 30)

static bool take_numbers(PyObject *const *in, opening *o) {
    static const char *const waits[] = {"irq", "poll"};
    npu_dev_cfg *c = &o->cfg;
    bool checks = true;
    c->have_init_seed = in[INIT_SEED] != NULL;
    c->ddr_bytes = DEFAULT_MEMORY;
    if (!arg_u32(in[N], "n", 0, 32, &c->n) || !arg_u64(in[SEED], "seed", &c->seed) ||
        !arg_u64(in[MEMORY], "memory", &c->ddr_bytes) || !arg_u64(in[INIT_SEED], "init_seed", &c->init_seed) ||
        !arg_bool(in[POISON], "poison_reads", &c->poison_reads) ||
        !arg_u64(in[MAX_CYCLES], "max_cycles", &c->max_cycles) ||
        !arg_u64(in[WATCHDOG], "watchdog", &c->watchdog_cycles) || !arg_enum(in[WAIT], "wait", waits, 2, &o->wait) ||
        !arg_u32(in[TIMEOUT], "timeout_us", 1, UINT32_MAX / 1000, &o->timeout_us) ||
        !arg_bool(in[CHECKS], "checks", &checks)) {
        return false;
    }
    c->no_checks = !checks;
    if (c->n != 4 && c->n != 8 && c->n != 16 && c->n != 32) {
        return arg_refuse(PyExc_ValueError, "n: expected 4, 8, 16 or 32, got %u", c->n);
    }
    /* npu_dev_open() rounds it up */
    if (c->ddr_bytes > UINT64_C(0x100000000) - NPU_DEV_DDR_BASE) {
        return arg_refuse(PyExc_ValueError, "memory: does not fit below 4 GiB");
    }
    return true;
}

static bool take_opening(PyObject *const *in, opening *o) {
    static const char *const kinds[] = {"model", "rtl", "tandem"};
    uint32_t kind = 0;
    if (!arg_enum(in[KIND], "kind", kinds, 3, &kind) || !take_numbers(in, o) || !take_plusargs(in[PLUS], o)) {
        return false;
    }
    o->cfg.kind = (npu_dev_kind)kind;
    if (in[BUS] != NULL && (o->cfg.bus_profile = arg_text(in[BUS], "bus")) == NULL) {
        return false;
    }
    if (in[BUILD] != NULL && (o->build = arg_text(in[BUILD], "build")) == NULL) {
        return false;
    }
    if (in[WAVE] != NULL) {
        o->wave = arg_path(in[WAVE], "wave");
        o->cfg.wave = o->wave != NULL ? PyBytes_AS_STRING(o->wave) : NULL;
        if (o->wave != NULL && kind == NPU_DEV_MODEL) {
            PyErr_SetString(PyExc_ValueError, "wave: the golden model has no waveform");
        }
    }
    return PyErr_Occurred() == NULL;
}

static bool open_device(device *self, opening *o) {
    char err[512];
    PyObject *module = PyType_GetModuleByDef(Py_TYPE(self), &core_def);
    const core_state *state = core_of((PyObject *)self);
    if (state == NULL) {
        return false;
    }
    if (o->cfg.kind != NPU_DEV_MODEL) {
        o->cfg.shim = rtl_load(state, module, o->cfg.n, o->build, o->wave != NULL);
        if (o->cfg.shim == NULL) {
            return false;
        }
    }
    Py_BEGIN_ALLOW_THREADS;
    self->dev = npu_dev_open(&o->cfg, err, sizeof err);
    Py_END_ALLOW_THREADS;
    if (self->dev == NULL) {
        PyErr_SetString(state->error, err);
        return false;
    }
    self->npu.wait = (npu_wait)o->wait;
    self->npu.timeout_us = o->timeout_us;
    const npu_status status = start_driver(self);
    if (status != NPU_OK) {
        device_raise(self, status, "npu_init");
    }
    return status == NPU_OK;
}

PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const args_def def = {"Device",
                                 3,
                                 1,
                                 {"kind", "n", "seed", "bus", "memory", "wave", "build", "init_seed", "poison_reads",
                                  "max_cycles", "watchdog", "wait", "timeout_us", "plusargs", "checks", NULL}};
    PyObject *in[ARGUMENTS];
    opening o = {.cfg = {.n = 8, .seed = 1, .poison_reads = true}, .timeout_us = TIMEOUT_US};
    device *self = NULL;
    if (args_take_call(&def, args, kwargs, in) && take_opening(in, &o)) {
        self = (device *)type->tp_alloc(type, 0);
    }
    if (self != NULL) {
        self->seed = o.cfg.seed;
        self->lock = PyThread_allocate_lock();
        if (self->lock == NULL) {
            PyErr_NoMemory();
        }
        if (self->lock == NULL || !open_device(self, &o)) {
            Py_CLEAR(self);
        }
    }
    opening_free(&o);
    return (PyObject *)self;
}

/* ---- closing ---- */

static void close_dev(npu_dev *dev) {
    Py_BEGIN_ALLOW_THREADS;
    npu_dev_close(dev);
    Py_END_ALLOW_THREADS;
}

void device_dealloc(PyObject *obj) {
    device *self = (device *)obj;
    PyTypeObject *type = Py_TYPE(obj);
    npu_dev *dev = self->dev;
    self->dev = NULL;
    if (dev != NULL) {
        close_dev(dev);
    }
    if (self->lock != NULL) {
        PyThread_free_lock(self->lock);
    }
    type->tp_free(obj);
    Py_DECREF(type);
}

PyObject *device_close(PyObject *obj, PyObject *unused) {
    device *self = (device *)obj;
    (void)unused;
    if (self->dev == NULL) {
        Py_RETURN_NONE;
    }
    if (!device_enter(self)) {
        if (self->dev == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) { /* meanwhile closed by another thread */
            PyErr_Clear();
            Py_RETURN_NONE;
        }
        return NULL;
    }
    npu_dev *dev = self->dev;
    const bool before = failed(self);
    Py_BEGIN_ALLOW_THREADS;
    npu_dev_finish(dev);
    Py_END_ALLOW_THREADS;
    const bool ok = before || device_ok(self); /* an earlier failure has already been raised */
    self->dev = NULL;
    device_leave(self);
    close_dev(dev);
    if (!ok) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *device_start(PyObject *obj, PyObject *unused) {
    (void)unused;
    if (!device_enter((device *)obj)) {
        return NULL;
    }
    device_leave((device *)obj);
    return Py_NewRef(obj);
}

/* An exception of the block has priority over one of the end. */
PyObject *device_end(PyObject *obj, PyObject *args) {
    PyObject *done = device_close(obj, NULL);
    if (done == NULL && PyTuple_Check(args) && PyTuple_GET_SIZE(args) > 0 && PyTuple_GET_ITEM(args, 0) != Py_None) {
        PyErr_Clear();
        done = Py_NewRef(Py_None);
    }
    return done;
}

/* ---- attributes ---- */

#define GETTER(name, value)                                                                                            \
    static PyObject *get_##name(PyObject *obj, void *unused) {                                                         \
        device *self = (device *)obj;                                                                                  \
        (void)unused;                                                                                                  \
        if (!device_enter(self)) {                                                                                     \
            return NULL;                                                                                               \
        }                                                                                                              \
        PyObject *result = value;                                                                                      \
        device_leave(self);                                                                                            \
        return result;                                                                                                 \
    }

static PyObject *kind_text(const device *self) {
    static const char *const kinds[] = {"model", "rtl", "tandem"};
    return PyUnicode_FromString(kinds[npu_dev_get_kind(self->dev)]);
}

static PyObject *seconds(const device *self) {
    double rtl, harness;
    npu_dev_time_split(self->dev, &rtl, &harness);
    return Py_BuildValue("(dd)", rtl, harness);
}

static PyObject *failure(const device *self) {
    return failed(self) ? text_of(npu_dev_get_failure(self->dev)->signature) : Py_NewRef(Py_None);
}

GETTER(n, PyLong_FromUnsignedLong(npu_dev_n(self->dev)))
GETTER(kind, kind_text(self))
GETTER(seed, PyLong_FromUnsignedLongLong(self->seed))
GETTER(cycles, PyLong_FromUnsignedLongLong(npu_dev_cycles(self->dev)))
GETTER(macs, PyLong_FromUnsignedLongLong(npu_dev_macs(self->dev)))
GETTER(trace_hash, PyLong_FromUnsignedLongLong(npu_dev_trace_hash(self->dev)))
GETTER(seconds, seconds(self))
GETTER(failure, failure(self))

static PyObject *get_closed(PyObject *obj, void *unused) {
    (void)unused;
    return PyBool_FromLong(((device *)obj)->dev == NULL);
}

PyGetSetDef device_getset[] = {
    {"n", get_n, NULL, "Mesh size: 4, 8, 16 or 32.", NULL},
    {"kind", get_kind, NULL, "\"model\", \"rtl\" or \"tandem\".", NULL},
    {"seed", get_seed, NULL, "Seed of bus timing and initial state.", NULL},
    {"cycles", get_cycles, NULL, "Clock cycles of the RTL since it was opened; 0 for the model.", NULL},
    {"macs", get_macs, NULL, "Multiply-accumulates that the golden model has executed; 0 for RTL alone.", NULL},
    {"trace_hash", get_trace_hash, NULL, "Hash over all port beats so far; over the final memory, too, after finish().",
     NULL},
    {"seconds", get_seconds, NULL,
     "CPU seconds of this process since the device was opened: (in the RTL, in the rest without the golden model).",
     NULL},
    {"failure", get_failure, NULL, "Signature of the first failure, or None.", NULL},
    {"closed", get_closed, NULL, "True after close().", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
