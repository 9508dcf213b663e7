/* core.c - the module tandem._core: devices, networks, waveforms, exceptions. tandem/__init__.py exports its public
 * parts. */
#include "core.h"

#include "network.h"

static PyObject *builds(PyObject *module, PyObject *unused) {
    (void)unused;
    return rtl_builds(module);
}

static PyMethodDef core_methods[] = {
    {"rtl_builds", builds, METH_NOARGS,
     "rtl_builds()\n--\n\nThe builds of the RTL that this package has: a sorted list of (n, build).\n\nMore of them: "
     "make python CFG=n16 "
     "KIND=fast."},
    CORE_ROW("test_seed", rng_test_seed,
             "test_seed(run_seed, test, index)\n--\n\nSeed of case `index` of a test in a run: that of a program "
             "`tandem` for a test of "
             "this name."),
    CORE_ROW("draw", rng_draw,
             "draw(seed, name, lowest, highest)\n--\n\nAn integer from lowest to highest, both included (64 bits, "
             "signed): the first draw of "
             "the stream `name` of a seed.\n\nA pure function of its arguments (docs/architecture.md section 3)."),
    CORE_ROW("_wave_signals", wave_signals,
             "_wave_signals(path)\n--\n\n(first time, last time, exponent, [(path, width, range, parameter, handle), "
             "...]) of an FST or "
             "VCD file."),
    CORE_ROW("_wave_read", wave_read,
             "_wave_read(path, handles, first, last)\n--\n\nA list with (times, values, unknown) for each handle. See "
             "tandem.Fst."),
    CORE_ROW("_check_axi", check_axi,
             "_check_axi(path, **options)\n--\n\nThe JSON of tandem axi-check, or the text of --list. See "
             "tandem.check_axi."),
    {NULL, NULL, 0, NULL},
};

static PyObject *new_error(PyObject *module, const char *name, const char *doc, PyObject *base) {
    char full[64];
    PyOS_snprintf(full, sizeof full, "tandem.%s", name);
    PyObject *error = PyErr_NewExceptionWithDoc(full, doc, base, NULL);
    if (error != NULL && PyModule_AddObjectRef(module, name, error) != 0) {
        Py_CLEAR(error);
    }
    return error;
}

static int add_errors(PyObject *module, core_state *state) {
    state->error = new_error(module, "Error", "Errors of devices, networks and files.", PyExc_RuntimeError);
    if (state->error == NULL) {
        return -1;
    }
    state->driver_error =
        new_error(module, "DriverError",
                  "The driver refused an operator or timed out. status: its number; what: the operator.", state->error);
    state->device_error = new_error(
        module, "DeviceError",
        "A device has failed: a bus rule, an assertion, a hang, a wrong access to memory.\n\n"
        "signature: stable name of the failure; unit: the unit in which it was detected, or None; cycle; path: "
        "instance of a\n"
        "failed assertion, or None; text: the whole report.",
        state->error);
    if (state->driver_error == NULL || state->device_error == NULL) {
        return -1;
    }
    state->divergence = new_error(module, "Divergence", "RTL and golden model differ. Attributes as of DeviceError.",
                                  state->device_error);
    return state->divergence == NULL ? -1 : 0;
}

/* Steals the reference `value`. */
static int add(PyObject *module, const char *name, PyObject *value) {
    const int rc = value == NULL ? -1 : PyModule_AddObjectRef(module, name, value);
    Py_XDECREF(value);
    return rc;
}

static PyObject *add_type(PyObject *module, PyType_Spec *spec) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type != NULL && PyModule_AddType(module, (PyTypeObject *)type) != 0) {
        Py_CLEAR(type);
    }
    return type;
}

static int core_exec(PyObject *module) {
    core_state *state = (core_state *)PyModule_GetState(module);
    if (!nd_numpy_init(&state->np) || add_errors(module, state) != 0) {
        return -1;
    }
    state->device_type = add_type(module, &device_spec);
    state->network_type = state->device_type != NULL ? add_type(module, &network_spec) : NULL;
    if (state->network_type == NULL) {
        return -1;
    }
    if (add(module, "REGISTERS", device_registers()) != 0 || add(module, "COUNTERS", device_counter_names()) != 0) {
        return -1;
    }
    return PyModule_AddIntConstant(module, "DDR_BASE", NPU_DEV_DDR_BASE);
}

static int core_traverse(PyObject *module, visitproc visit, void *arg) {
    core_state *state = (core_state *)PyModule_GetState(module);
    Py_VISIT(state->error);
    Py_VISIT(state->driver_error);
    Py_VISIT(state->device_error);
    Py_VISIT(state->divergence);
    Py_VISIT(state->device_type);
    Py_VISIT(state->network_type);
    return nd_numpy_visit(&state->np, visit, arg);
}

static int core_clear(PyObject *module) {
    core_state *state = (core_state *)PyModule_GetState(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->driver_error);
    Py_CLEAR(state->device_error);
    Py_CLEAR(state->divergence);
    Py_CLEAR(state->device_type);
    Py_CLEAR(state->network_type);
    nd_numpy_clear(&state->np);
    return 0;
}

static void core_free(void *module) {
    core_clear((PyObject *)module);
}

static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, (void *)core_exec}, {0, NULL}};

struct PyModuleDef core_def = {
    PyModuleDef_HEAD_INIT,        .m_name = "tandem._core",  .m_doc = "Devices, networks and waveforms.",
    .m_size = sizeof(core_state), .m_methods = core_methods, .m_slots = core_slots,
    .m_traverse = core_traverse,  .m_clear = core_clear,     .m_free = core_free};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&core_def);
}
