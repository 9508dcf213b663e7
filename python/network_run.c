/* network_run.c - inferences: on a device, and the FP32 reference. */
#include "network.h"

#include <stdlib.h>
#include <string.h>

/* Results of each inference: blobs, and their arrays. */
typedef struct wanted {
    uint32_t count;
    uint32_t *blob;
    PyObject **array;
    nd *to;
} wanted;

static void wanted_free(wanted *w) {
    for (uint32_t i = 0; w->array != NULL && i < w->count; i++) {
        nd_release(&w->to[i]);
        Py_XDECREF(w->array[i]);
    }
    PyMem_Free(w->blob);
    PyMem_Free(w->array);
    PyMem_Free(w->to);
}

static bool wanted_make(wanted *w, const core_state *state, const net_graph *g, bool tensors, Py_ssize_t batch) {
    w->count = tensors ? g->num_blobs : g->num_outputs;
    w->blob = PyMem_Calloc(w->count + 1, sizeof *w->blob);
    w->array = PyMem_Calloc(w->count + 1, sizeof *w->array);
    w->to = PyMem_Calloc(w->count + 1, sizeof *w->to);
    if (w->blob == NULL || w->array == NULL || w->to == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (uint32_t i = 0; i < w->count; i++) {
        Py_ssize_t shape[NET_MAX_DIMS + 1];
        w->blob[i] = tensors ? i : g->outputs[i];
        const int dims = network_shape(&g->blob[w->blob[i]].shape, batch, shape);
        w->array[i] = nd_new(&state->np, ND_F32, dims, shape, &w->to[i]);
        if (w->array[i] == NULL) {
            return false;
        }
    }
    return true;
}

static PyObject *wanted_dict(const wanted *w, const net_graph *g) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict != NULL && i < w->count; i++) {
        if (PyDict_SetItemString(dict, g->blob[w->blob[i]].name, w->array[i]) != 0) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

/* Elements of a blob of inference k. */
static void keep(const wanted *w, uint32_t i, const net_graph *g, uint32_t k, const float *values) {
    const size_t elements = net_shape_elements(&g->blob[w->blob[i]].shape);
    memcpy((float *)w->to[i].data + (size_t)k * elements, values, elements * sizeof *values);
}

/* ---- on a device ---- */

static net_status infer(network *self, device *dev, const nd *x, uint32_t count, const wanted *w, bool tensors,
                        net_rt **rt, net_error *err) {
    const net_rt_options options = {.reuse = !tensors};
    const size_t elements = net_graph_input_elements(&self->graph);
    net_status status = net_rt_new_with(&self->graph, dev->dev, &options, rt, err);
    for (uint32_t k = 0; status == NET_OK && k < count; k++) {
        status = net_rt_run(*rt, (const float *)x->data + k * elements, err);
        for (uint32_t i = 0; status == NET_OK && i < w->count; i++) {
            keep(w, i, &self->graph, k, net_rt_blob(*rt, w->blob[i]));
        }
    }
    return status;
}

static PyObject *where_list(const net_graph *g, const net_rt *rt) {
    static const char *const places[] = {"npu", "cpu", "nowhere"};
    static const char *const units[] = {NULL, "gemm", "alu", "pool"};
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < g->num_layers; i++) {
        const net_rt_where where = net_rt_layer_where(rt, i);
        PyObject *one =
            Py_BuildValue("{s:s,s:s,s:z,s:O,s:z,s:K}", "name", g->layer[i].name, "place", places[where.place], "unit",
                          units[where.unit], "fused", where.fused ? Py_True : Py_False, "reason",
                          where.place == NET_ON_CPU ? where.reason : NULL, "cycles", (unsigned long long)where.cycles);
        if (one == NULL || PyList_Append(list, one) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    return list;
}

/* With the device and the network entered. */
static bool run_inside(network *net, device *dev, const nd *x, uint32_t count, const wanted *w, bool tensors) {
    net_rt *rt = NULL;
    net_error err = {.text = ""};
    const size_t bufs = npu_dev_bufs(dev->dev);
    net_status status;
    dev->stale = true; /* the runtime has its own instance of the driver */
    Py_BEGIN_ALLOW_THREADS;
    status = infer(net, dev, x, count, w, tensors, &rt, &err);
    Py_END_ALLOW_THREADS;
    if (status == NET_OK) {
        PyObject *where = where_list(&net->graph, rt);
        if (where != NULL) {
            Py_SETREF(net->where, where);
        }
    }
    net_rt_free(rt);
    npu_dev_alloc_drop(dev->dev, bufs);
    if (device_ok(dev) && status != NET_OK) {
        network_raise((PyObject *)net, status, &err);
    }
    return PyErr_Occurred() == NULL;
}

CORE_METHOD(network_run) {
    static const args_def def = {"run", 2, 2, {"device", "x", "tensors", "batch", NULL}};
    PyObject *in[4];
    network *net = (network *)self;
    bool tensors = false, batch = false;
    uint32_t count = 0;
    nd x = {.data = NULL};
    wanted w = {.count = 0};
    const core_state *state = core_of(self);
    if (state == NULL || !args_take(&def, args, nargs, kwnames, in) || !arg_bool(in[2], "tensors", &tensors) ||
        !arg_bool(in[3], "batch", &batch)) {
        return NULL;
    }
    if (!Py_IS_TYPE(in[0], (PyTypeObject *)state->device_type)) {
        return PyErr_Format(PyExc_TypeError, "device: expected a tandem.Device, got %.100s", Py_TYPE(in[0])->tp_name);
    }
    if (!network_enter(net)) {
        return NULL;
    }
    device *dev = (device *)in[0];
    PyObject *result = NULL;
    if (network_input(net, in[1], batch, &x, &count) &&
        wanted_make(&w, state, &net->graph, tensors, batch ? (Py_ssize_t)count : 0) && device_enter(dev)) {
        const bool ok = device_ok(dev) && run_inside(net, dev, &x, count, &w, tensors);
        device_leave(dev);
        result = ok ? wanted_dict(&w, &net->graph) : NULL;
    }
    nd_release(&x);
    wanted_free(&w);
    network_leave(net);
    return result;
}

/* ---- the reference ---- */

static net_status refer(network *self, const nd *x, uint32_t count, const wanted *w, net_error *err) {
    const size_t elements = net_graph_input_elements(&self->graph);
    net_ref *ref = NULL;
    net_status status = net_ref_new(&self->graph, &ref, err);
    for (uint32_t k = 0; status == NET_OK && k < count; k++) {
        net_ref_run(ref, (const float *)x->data + k * elements);
        for (uint32_t i = 0; i < w->count; i++) {
            keep(w, i, &self->graph, k, net_ref_blob(ref, w->blob[i]));
        }
    }
    net_ref_free(ref);
    return status;
}

CORE_METHOD(network_reference) {
    static const args_def def = {"reference", 1, 1, {"x", "tensors", "batch", NULL}};
    PyObject *in[3];
    network *net = (network *)self;
    bool tensors = false, batch = false;
    uint32_t count = 0;
    nd x = {.data = NULL};
    wanted w = {.count = 0};
    net_error err = {.text = ""};
    const core_state *state = core_of(self);
    if (state == NULL || !args_take(&def, args, nargs, kwnames, in) || !arg_bool(in[1], "tensors", &tensors) ||
        !arg_bool(in[2], "batch", &batch) || !network_enter(net)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (network_input(net, in[0], batch, &x, &count) &&
        wanted_make(&w, state, &net->graph, tensors, batch ? (Py_ssize_t)count : 0)) {
        net_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = refer(net, &x, count, &w, &err);
        Py_END_ALLOW_THREADS;
        if (status == NET_OK) {
            result = wanted_dict(&w, &net->graph);
        } else {
            network_raise(self, status, &err);
        }
    }
    nd_release(&x);
    wanted_free(&w);
    network_leave(net);
    return result;
}
