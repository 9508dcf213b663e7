/* axi.c - checks the rules of AXI on a port in a waveform file, as `tandem axi-check` does, with its options as
 * arguments. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#include "../tb/prog/axi_check.h"

enum {
    PATH,
    PREFIX,
    SIDE,
    PROTOCOL,
    CLOCK,
    RESET,
    RESET_LEVEL,
    FIRST,
    LAST,
    RUNNING,
    AT_REST,
    OPEN_END,
    NPU_RULES,
    PROJECT,
    RANGES,
    SEVERITY,
    MAX_WAITS,
    STRICT,
    ERROR_DATA_X,
    NOTES,
    MOST,
    LIST,
    ALL_PORTS,
    ARGUMENTS
};

static const args_def def = {
    "check_axi", 2, 1, {"path",         "prefix",  "side",   "protocol", "clock",     "reset",
                        "reset_level",  "first",   "last",   "running",  "at_rest",   "open_end",
                        "npu_rules",    "project", "ranges", "severity", "max_waits", "strict",
                        "error_data_x", "notes",   "most",   "list",     "all_ports", NULL}};

static bool take_texts(PyObject *const *in, axi_check_options *o) {
    static const char *const sides[] = {"master", "slave"};
    static const char *const protocols[] = {"lite", "axi4"};
    const struct {
        int i;
        const char **text;
    } texts[] = {{PREFIX, &o->prefix}, {CLOCK, &o->clock}, {RESET, &o->reset}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        PyObject *obj = in[texts[i].i];
        if (obj != NULL && (*texts[i].text = arg_text(obj, def.name[texts[i].i])) == NULL) {
            return false;
        }
    }
    uint32_t choice = 0;
    if (!arg_enum(in[SIDE], "side", sides, 2, &choice)) {
        return false;
    }
    if (in[SIDE] != NULL) {
        o->side = choice == 0 ? TB_AXI_SIDE_MASTER : TB_AXI_SIDE_SLAVE;
    }
    if (!arg_enum(in[PROTOCOL], "protocol", protocols, 2, &choice)) {
        return false;
    }
    if (in[PROTOCOL] != NULL) {
        o->protocol = choice == 0 ? TB_AXI_WAVE_LITE : TB_AXI_WAVE_AXI4;
    }
    return true;
}

static bool take_values(PyObject *const *in, axi_check_options *o) {
    const struct {
        int i;
        bool *on;
    } switches[] = {{RUNNING, &o->running}, {AT_REST, &o->at_rest}, {OPEN_END, &o->open_end},
                    {STRICT, &o->strict},   {NOTES, &o->notes},     {ERROR_DATA_X, &o->error_data_x},
                    {LIST, &o->list},       {ALL_PORTS, &o->all}};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (!arg_bool(in[switches[i].i], def.name[switches[i].i], switches[i].on)) {
            return false;
        }
    }
    bool npu_rules = false;
    int64_t level = -1;
    int64_t waits = (int64_t)o->max_waits;
    if (!arg_bool(in[NPU_RULES], "npu_rules", &npu_rules) || !arg_u64(in[FIRST], "first", &o->from) ||
        !arg_u64(in[LAST], "last", &o->to) || !arg_u64(in[MOST], "most", &o->max) ||
        !arg_int(in[RESET_LEVEL], "reset_level", 0, 1, &level) ||
        !arg_int(in[MAX_WAITS], "max_waits", 1, UINT32_MAX - 1, &waits)) {
        return false;
    }
    o->project_rules = npu_rules ? npu_dev_axi_rules : NULL;
    o->reset_level = (int)level;
    o->max_waits = (uint64_t)waits;
    o->have_to = in[LAST] != NULL;
    if (o->have_to && o->to < o->from) {
        PyErr_SetString(PyExc_ValueError, "last: expected a cycle that is not before first");
    } else if (o->running && o->at_rest) {
        PyErr_SetString(PyExc_ValueError, "at_rest: contradicts running");
    } else if (o->all && o->prefix != NULL) {
        PyErr_SetString(PyExc_ValueError, "all_ports: contradicts prefix");
    }
    return PyErr_Occurred() == NULL;
}

/* A dict of str to something, item by item. */
static bool each(PyObject *dict, const char *what, axi_check_options *o,
                 bool (*put)(axi_check_options *o, const char *name, PyObject *value)) {
    Py_ssize_t at = 0;
    PyObject *key, *value;
    if (dict == NULL) {
        return true;
    }
    if (!PyDict_Check(dict)) {
        return arg_refuse(PyExc_TypeError, "%s: expected a dict, got %.100s", what, Py_TYPE(dict)->tp_name);
    }
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name = arg_text(key, what);
        if (name == NULL || !put(o, name, value)) {
            return false;
        }
    }
    return true;
}

static bool put_severity(axi_check_options *o, const char *name, PyObject *value) {
    const tb_axi_rule rule = tb_axi_rule_find(name);
    const char *text = arg_text(value, "severity");
    if (text == NULL) {
        return false;
    }
    const tb_axi_severity severity = tb_axi_severity_find(text);
    if (rule == TB_AXI_RULES) {
        PyErr_Format(PyExc_ValueError, "severity: no rule %s (docs/axi-rules.md has all of them)", name);
    } else if (severity == TB_AXI_SEV_DEFAULT) {
        PyErr_Format(PyExc_ValueError, "severity: %s: expected off, note, warning or error, got %s", name, text);
    } else {
        o->severity[rule] = (uint8_t)severity;
    }
    return PyErr_Occurred() == NULL;
}

/* A rule with a number, or with True. */
static bool put_project(axi_check_options *o, const char *name, PyObject *value) {
    tb_axi_project scratch = {.on = false};
    uint64_t number = 0;
    const tb_axi_project_kind kind = tb_axi_project_kind_of(name);
    if (kind == TB_AXI_PROJECT_UNKNOWN) {
        char names[512];
        tb_axi_project_names(names, sizeof names);
        return arg_refuse(PyExc_ValueError, "project: no rule %s, expected one of %s", name, names);
    }
    if (value == Py_False && kind != TB_AXI_PROJECT_NUMBER) {
        return true;
    }
    if ((kind == TB_AXI_PROJECT_NUMBER) == (value == Py_True) ||
        (kind == TB_AXI_PROJECT_NUMBER && !arg_u64(value, "project", &number)) ||
        !tb_axi_project_set(&scratch, name, number)) {
        if (PyErr_Occurred() == NULL) {
            PyErr_Format(PyExc_ValueError, "project: %s: expected %s, got %S", name,
                         kind == TB_AXI_PROJECT_NUMBER ? "a number" : "True", value);
        }
        return false;
    }
    if (o->projects == AXI_CHECK_PROJECT) {
        return arg_refuse(PyExc_ValueError, "project: at most %u rules", AXI_CHECK_PROJECT);
    }
    PyOS_snprintf(o->project[o->projects].name, sizeof o->project[0].name, "%s", name);
    o->project[o->projects++].value = number;
    return true;
}

/* A list of (base, bytes). */
static bool take_ranges(PyObject *obj, axi_check_options *o) {
    PyObject *seq = obj != NULL ? arg_sequence(obj, "ranges", "a list of (base, bytes)") : NULL;
    if (seq == NULL) {
        return obj == NULL;
    }
    bool ok = PySequence_Fast_GET_SIZE(seq) <= (Py_ssize_t)AXI_CHECK_RANGES;
    if (!ok) {
        PyErr_Format(PyExc_ValueError, "ranges: at most %u", AXI_CHECK_RANGES);
    }
    for (Py_ssize_t i = 0; ok && i < PySequence_Fast_GET_SIZE(seq); i++) {
        uint64_t base = 0, bytes = 0;
        PyObject *pair = PySequence_Fast_GET_ITEM(seq, i);
        Py_INCREF(pair);
        ok = PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 &&
             arg_u64(PyTuple_GET_ITEM(pair, 0), "ranges", &base) &&
             arg_u64(PyTuple_GET_ITEM(pair, 1), "ranges", &bytes) && bytes > 0;
        Py_DECREF(pair);
        if (ok) {
            o->range[o->ranges++] = (tb_axi_range){.base = base, .bytes = bytes};
        } else if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "ranges: expected a list of (base, bytes)");
        }
    }
    Py_DECREF(seq);
    return ok;
}

CORE_METHOD(check_axi) {
    PyObject *in[ARGUMENTS];
    axi_check_options o = {
        .prog = "check", .json = true, .reset_level = -1, .max = 100, .max_waits = 16, .to = UINT64_MAX};
    if (!args_take(&def, args, nargs, kwnames, in) || !take_texts(in, &o) || !take_values(in, &o) ||
        !each(in[PROJECT], "project", &o, put_project) || !each(in[SEVERITY], "severity", &o, put_severity) ||
        !take_ranges(in[RANGES], &o)) {
        return NULL;
    }
    PyObject *path = arg_path(in[PATH], "path");
    if (path == NULL) {
        return NULL;
    }
    o.file = PyBytes_AS_STRING(path);
    PyObject *bytes = child_run((const core_state *)PyModule_GetState(self), o.file, axi_check_file, &o, 2);
    PyObject *text = bytes != NULL
                         ? PyUnicode_DecodeUTF8(PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes), "backslashreplace")
                         : NULL;
    Py_XDECREF(bytes);
    Py_DECREF(path);
    return text;
}
