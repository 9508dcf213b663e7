/* network_calib.c - calibration: scales from inputs, chosen by what is known of these. */
#include "network.h"

#include "../network/precision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define METHOD_AUTO NET_CALIB_METHODS /* behind those of the library */
static const char *const methods[] = {NET_CALIB_METHOD_WORDS, "auto"};

typedef struct calib_call {
    nd x, labels, objects;
    uint32_t count;  /* inputs */
    uint32_t method; /* of net_calib_method, or METHOD_AUTO */
    double percent, least;
    float threshold, overlap; /* NaN: not given */
    const char *head, *anchors;
    net_finder finder;
    net_object *object;
    net_fit *fit;
    int64_t *label;
    net_known known;
    net_table table;
    net_calib_method taken;
    net_calib_score score[NET_CALIB_METHODS];
} calib_call;

static void calib_free(calib_call *c) {
    nd_release(&c->x);
    nd_release(&c->labels);
    nd_release(&c->objects);
    net_finder_free(&c->finder);
    PyMem_Free(c->object);
    PyMem_Free(c->fit);
    PyMem_Free(c->label);
    net_table_free(&c->table);
}

/* ---- arguments ---- */

static bool no_memory(void) {
    PyErr_NoMemory();
    return false;
}

static bool take_labels(calib_call *c, PyObject *obj) {
    PyObject *seq = obj != NULL ? arg_sequence(obj, "labels", "a class for each input") : NULL;
    if (seq == NULL) {
        return obj == NULL;
    }
    bool ok = PySequence_Fast_GET_SIZE(seq) == (Py_ssize_t)c->count;
    if (!ok) {
        PyErr_Format(PyExc_ValueError, "labels: expected a class for each of %u inputs", c->count);
    }
    c->label = ok ? PyMem_Calloc((size_t)c->count + 1, sizeof *c->label) : NULL;
    ok = ok && (c->label != NULL || no_memory());
    /* __index__() of an element may change a list */
    for (uint32_t i = 0; ok && i < c->count && (Py_ssize_t)i < PySequence_Fast_GET_SIZE(seq); i++) {
        PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(seq, i));
        ok = arg_int(item, "labels", -1, INT32_MAX, &c->label[i]);
        Py_DECREF(item);
    }
    Py_DECREF(seq);
    c->known.label = c->label;
    return ok;
}

/* A row of objects: input (a whole number), class, x, y, width, height. */
static bool is_object(const float v[6], uint32_t inputs) {
    return v[0] >= 0.0f && v[0] < (float)inputs && v[0] == floorf(v[0]) && v[1] >= 1.0f && v[1] < 65536.0f &&
           v[1] == floorf(v[1]) && isfinite(v[2]) && isfinite(v[3]) && v[4] > 0.0f && isfinite(v[4]) && v[5] > 0.0f &&
           isfinite(v[5]);
}

static bool take_objects(calib_call *c, PyObject *obj, const net_shape *input) {
    if (obj == NULL) {
        return true;
    }
    if (!nd_get(&c->objects, obj, "objects", ND_F32, false) ||
        !nd_is(&c->objects, "objects", 2, (Py_ssize_t[]){-1, 6})) {
        return false;
    }
    const uint32_t count = (uint32_t)c->objects.shape[0];
    c->object = PyMem_Calloc(count, sizeof *c->object);
    c->fit = PyMem_Calloc(c->count, sizeof *c->fit);
    if (c->object == NULL || c->fit == NULL) {
        return no_memory();
    }
    for (uint32_t i = 0; i < count; i++) {
        const float *v = (const float *)c->objects.data + (size_t)i * 6;
        if (!is_object(v, c->count)) {
            return arg_refuse(PyExc_ValueError,
                              "objects: row %u: expected input (0..%u), class from 1, x, y, width, height", i,
                              c->count - 1);
        }
        c->object[i] = (net_object){(uint32_t)v[0], {(uint32_t)v[1], 0.0f, v[2], v[3], v[4], v[5]}};
    }
    for (uint32_t i = 0; i < c->count; i++) {
        c->fit[i] = (net_fit){
            .w = input->w, .h = input->h, .in_w = input->w, .in_h = input->h, .scale_x = 1.0f, .scale_y = 1.0f};
    }
    c->known.object = c->object;
    c->known.objects = count;
    c->known.finder = &c->finder;
    c->known.fit = c->fit;
    return true;
}

static bool take_double(PyObject *obj, const char *name, double lo, double hi, double *v) {
    if (obj != NULL) {
        *v = PyFloat_AsDouble(obj);
        if (PyErr_Occurred() != NULL) {
            return false;
        }
        if (!(*v >= lo && *v <= hi)) {
            return arg_refuse(PyExc_ValueError, "%s: expected %g..%g", name, lo, hi);
        }
    }
    return true;
}

static bool take_limit(PyObject *obj, const char *name, float *v) {
    double value = NAN;
    const bool ok = take_double(obj, name, 0.0, 1.0, &value);
    *v = (float)value;
    return ok;
}

/* in: head, anchors, threshold, overlap. */
static bool take_heads(calib_call *c, PyObject *const *in) {
    c->head = in[0] != NULL ? arg_text(in[0], "head") : NULL;
    c->anchors = in[1] != NULL ? arg_text(in[1], "anchors") : NULL;
    if (PyErr_Occurred() != NULL || !take_limit(in[2], "threshold", &c->threshold) ||
        !take_limit(in[3], "overlap", &c->overlap)) {
        return false;
    }
    const bool raw = c->head != NULL || c->anchors != NULL;
    if ((raw && c->known.object == NULL) || (!raw && (in[2] != NULL || in[3] != NULL))) {
        return arg_refuse(PyExc_ValueError, raw ? "head, anchors: expected together with objects"
                                                : "threshold, overlap: expected together with head or anchors");
    }
    return true;
}

/* ---- work, without the GIL ---- */

static net_status row(void *user, uint32_t i, float *input, net_error *err) {
    const nd *x = (const nd *)user;
    const size_t elements = x->count / (size_t)x->shape[0];
    (void)err;
    memcpy(input, (const float *)x->data + (size_t)i * elements, elements * sizeof *input);
    return NET_OK;
}

static net_status find_boxes(network *net, calib_call *c, net_error *err) {
    net_finder *f = &c->finder;
    net_status status = NET_OK;
    f->raw = c->head != NULL || c->anchors != NULL;
    f->least = isnan(c->threshold) ? 0.01f : c->threshold;
    f->overlap = isnan(c->overlap) ? 0.45f : c->overlap;
    if (c->head != NULL) {
        status = net_heads_named(&f->heads, c->head, c->anchors, err);
    } else if (f->raw) {
        status = net_heads_parse(&f->heads, c->anchors, err);
    }
    return status == NET_OK ? net_finder_init(f, &net->graph, err) : status;
}

static net_status calibrate(network *net, calib_call *c, net_error *err) {
    const net_inputs inputs = {.count = c->count, .load = row, .user = &c->x, .known = &c->known};
    const uint32_t wanted = c->method == METHOD_AUTO ? NET_CALIB_ALL : 1u << c->method;
    net_hist *hist = calloc(net->graph.num_layers, sizeof *hist);
    if (hist == NULL) {
        PyOS_snprintf(err->text, sizeof err->text, "out of memory");
        return NET_ERR_MEMORY;
    }
    net_status status = c->object != NULL ? find_boxes(net, c, err) : NET_OK;
    status = status == NET_OK ? net_calib_collect(&net->graph, &inputs, hist, err) : status;
    status = status == NET_OK
                 ? net_calib_auto(&net->graph, &inputs, hist, wanted, c->percent, &c->table, &c->taken, c->score, err)
                 : status;
    free(hist);
    return status;
}

/* ---- results ---- */

static PyObject *table_text(PyObject *self, const net_table *table) {
    char *text = NULL;
    size_t bytes;
    net_error err;
    const net_status status = net_table_print(table, &text, &bytes, &err);
    if (status != NET_OK) {
        network_raise(self, status, &err);
        return NULL;
    }
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "backslashreplace");
    free(text);
    return result;
}

static PyObject *measured(const calib_call *c) {
    const net_calib_score *s = &c->score[c->taken];
    uint32_t labels = 0;
    for (uint32_t i = 0; c->label != NULL && i < c->count; i++) {
        labels += c->label[i] >= 0;
    }
    return labels > 0 ? Py_BuildValue("{s:s,s:d,s:I,s:I,s:I}", "method", methods[c->taken], "output_db", s->output_db,
                                      "inputs", c->count, "labels", labels, "right", s->right)
           : c->object != NULL
               ? Py_BuildValue("{s:s,s:d,s:I,s:I,s:d}", "method", methods[c->taken], "output_db", s->output_db,
                               "inputs", c->count, "objects", c->known.objects, "map_50_95", s->precision)
               : Py_BuildValue("{s:s,s:d,s:I}", "method", methods[c->taken], "output_db", s->output_db, "inputs",
                               c->count);
}

/* The table becomes the network's. */
static PyObject *take_result(network *net, calib_call *c) {
    PyObject *result = table_text((PyObject *)net, &c->table);
    PyObject *numbers = result != NULL ? measured(c) : NULL;
    if (numbers == NULL) {
        Py_XDECREF(result);
        return NULL;
    }
    Py_SETREF(net->measured, numbers);
    net_table_free(&net->table);
    net->table = c->table;
    c->table = (net_table){0};
    return result;
}

/* After the network was left, as a warning may call Python code. */
static bool warn(const calib_call *c) {
    char text[160];
    const double db = c->score[c->taken].output_db;
    PyOS_snprintf(text, sizeof text, "calibrate: the outputs of the INT8 network have %.2f dB, less than %.2f (least)",
                  db, c->least);
    return !(db < c->least) || PyErr_WarnEx(PyExc_RuntimeWarning, text, 1) == 0;
}

static PyObject *run(network *net, calib_call *c) {
    net_error err = {.text = ""};
    net_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = calibrate(net, c, &err);
    Py_END_ALLOW_THREADS;
    if (status != NET_OK) {
        network_raise((PyObject *)net, status, &err);
        return NULL;
    }
    return take_result(net, c);
}

CORE_METHOD(network_calibrate) {
    static const args_def def = {
        "calibrate",
        2,
        1,
        {"inputs", "method", "percent", "labels", "objects", "head", "anchors", "threshold", "overlap", "least", NULL}};
    PyObject *in[10];
    network *net = (network *)self;
    calib_call c = {.method = METHOD_AUTO, .percent = 99.99, .least = 10.0};
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_enum(in[1], "method", methods, METHOD_AUTO + 1, &c.method) ||
        !take_double(in[2], "percent", 1e-6, 100.0, &c.percent) || !take_double(in[9], "least", -1e3, 1e3, &c.least) ||
        !network_enter(net)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (network_input(net, in[0], true, &c.x, &c.count) && take_labels(&c, in[3]) &&
        take_objects(&c, in[4], &net->graph.blob[net->graph.inputs[0]].shape) && take_heads(&c, &in[5])) {
        result = run(net, &c);
    }
    network_leave(net);
    if (result != NULL && !warn(&c)) {
        Py_CLEAR(result);
    }
    calib_free(&c);
    return result;
}
