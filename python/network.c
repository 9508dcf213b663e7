/* network.c - the type Network: reading, calibrating, quantising, saving. */
#include "network.h"

#include <stdlib.h>
#include <string.h>

bool network_enter(network *self) {
    if (self->busy) {
        return arg_refuse(PyExc_RuntimeError, "network: another call is using it");
    }
    self->busy = true;
    return true;
}

void network_leave(network *self) {
    self->busy = false;
}

void network_raise(PyObject *self, net_status status, const net_error *err) {
    const core_state *state = core_of(self);
    if (state == NULL) {
        return;
    }
    PyObject *type = status == NET_ERR_MEMORY ? PyExc_MemoryError
                     : status == NET_ERR_ARG  ? PyExc_ValueError
                                              : state->error;
    PyObject *text = PyUnicode_DecodeUTF8(err->text, (Py_ssize_t)strlen(err->text), "backslashreplace");
    if (text != NULL) {
        PyErr_SetObject(type, text);
        Py_DECREF(text);
    }
}

int network_shape(const net_shape *s, Py_ssize_t count, Py_ssize_t *shape) {
    int dims = 0;
    if (count > 0) {
        shape[dims++] = count;
    }
    uint32_t size[NET_MAX_DIMS];
    net_shape_outer(s, size);
    for (uint32_t i = 0; i < s->dims; i++) {
        shape[dims++] = size[i];
    }
    return dims;
}

bool network_input(network *self, PyObject *obj, bool batch, nd *x, uint32_t *count) {
    const size_t elements = net_graph_input_elements(&self->graph);
    *count = 1;
    if (!nd_get(x, obj, "x", ND_F32, false)) {
        return false;
    }
    if (batch && x->dims > 1 && x->shape[0] > 0 && x->shape[0] < 1 << 20) {
        *count = (uint32_t)x->shape[0];
    }
    if ((batch && x->dims < 2) || x->count != elements * *count) {
        return arg_refuse(PyExc_ValueError,
                          batch ? "x: expected rows of %zu elements, one for each inference"
                                : "x: expected %zu elements, got %zu",
                          elements, x->count);
    }
    return true;
}

/* ---- opening ---- */

typedef struct loading {
    const char *param, *bin;
    uint32_t shape[3]; /* c, h, w; 0: of the file */
    uint64_t seed;
} loading;

static net_status load(net_graph *g, const loading *l, net_error *err) {
    net_status status =
        l->bin == NULL ? net_graph_load_param(g, l->param, err) : net_graph_load(g, l->param, l->bin, err);
    status = status == NET_OK && l->shape[0] != 0 ? net_graph_set_input(g, l->shape[2], l->shape[1], l->shape[0], err)
                                                  : status;
    status = status == NET_OK ? net_graph_plan(g, err) : status;
    return status == NET_OK && l->bin == NULL ? net_graph_random_weights(g, l->seed, err) : status;
}

static bool take_shape(PyObject *obj, uint32_t shape[3]) {
    PyObject *seq = obj != NULL ? arg_sequence(obj, "shape", "(channels, height, width)") : NULL;
    if (seq == NULL) {
        return obj == NULL;
    }
    bool ok = PySequence_Fast_GET_SIZE(seq) == 3;
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "shape: expected (channels, height, width)");
    }
    for (Py_ssize_t i = 0; ok && i < 3 && i < PySequence_Fast_GET_SIZE(seq); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(seq, i);
        Py_INCREF(item);
        ok = arg_u32(item, "shape", 1, 65536, &shape[i]);
        Py_DECREF(item);
    }
    Py_DECREF(seq);
    return ok;
}

static PyObject *network_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const args_def def = {"Network", 2, 1, {"param", "bin", "shape", "seed", NULL}};
    PyObject *in[4];
    loading l = {.seed = 1};
    net_error err = {.text = ""};
    if (!args_take_call(&def, args, kwargs, in) || !take_shape(in[2], l.shape) || !arg_u64(in[3], "seed", &l.seed)) {
        return NULL;
    }
    PyObject *param = arg_path(in[0], "param");
    PyObject *bin = param != NULL && in[1] != NULL ? arg_path(in[1], "bin") : NULL;
    network *self = PyErr_Occurred() == NULL ? (network *)type->tp_alloc(type, 0) : NULL;
    if (self != NULL) {
        net_status status;
        self->where = Py_NewRef(Py_None);
        self->measured = Py_NewRef(Py_None);
        l.param = PyBytes_AS_STRING(param);
        l.bin = bin != NULL ? PyBytes_AS_STRING(bin) : NULL;
        Py_BEGIN_ALLOW_THREADS;
        status = load(&self->graph, &l, &err);
        Py_END_ALLOW_THREADS;
        if (status != NET_OK) {
            network_raise((PyObject *)self, status, &err);
            Py_CLEAR(self);
        }
    }
    Py_XDECREF(param);
    Py_XDECREF(bin);
    return (PyObject *)self;
}

static void network_dealloc(PyObject *obj) {
    network *self = (network *)obj;
    PyTypeObject *type = Py_TYPE(obj);
    net_graph_free(&self->graph);
    net_table_free(&self->table);
    Py_XDECREF(self->where);
    Py_XDECREF(self->measured);
    type->tp_free(obj);
    Py_DECREF(type);
}

/* ---- quantisation ---- */

/* text: a table itself, path: its file, at most one of them; else the last one of calibrate(). keep: layers that stay
 * float. */
typedef struct scales {
    const char *text, *path;
    const uint64_t *seed;
    const char **keep;
    Py_ssize_t count;
} scales;

static net_status copy_table(const net_table *from, net_table *to, net_error *err) {
    char *text = NULL;
    size_t bytes = 0;
    net_status status = net_table_print(from, &text, &bytes, err);
    status = status == NET_OK ? net_table_parse(to, text, bytes, "the table", err) : status;
    free(text);
    return status;
}

static net_status quantise(network *self, const scales *s, net_error *err) {
    net_table table = {0};
    if (s->seed != NULL) {
        return net_quantize_seeded(&self->graph, *s->seed, err);
    }
    if (s->text == NULL && s->path == NULL && s->count == 0) {
        return net_quantize_table(&self->graph, &self->table, err); /* without scales where no layer needs any */
    }
    net_status status = s->text != NULL   ? net_table_parse(&table, s->text, strlen(s->text), "the table", err)
                        : s->path != NULL ? net_table_load(&table, s->path, err)
                                          : copy_table(&self->table, &table, err);
    for (Py_ssize_t i = 0; status == NET_OK && i < s->count; i++) {
        if (!net_table_remove(&table, s->keep[i])) {
            PyOS_snprintf(err->text, sizeof err->text, "keep: '%.200s' is no layer that would become INT8", s->keep[i]);
            status = NET_ERR_ARG;
        }
    }
    status = status == NET_OK ? net_quantize_table(&self->graph, &table, err) : status;
    net_table_free(&table);
    return status;
}

/* Names of layers, which live as long as the sequence. false: an exception. */
static bool take_keep(PyObject *seq, scales *s) {
    s->count = seq != NULL ? PySequence_Fast_GET_SIZE(seq) : 0;
    s->keep = PyMem_Calloc((size_t)s->count + 1, sizeof *s->keep);
    if (s->keep == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < s->count; i++) {
        s->keep[i] = arg_text(PySequence_Fast_GET_ITEM(seq, i), "keep");
        if (s->keep[i] == NULL) {
            return false;
        }
    }
    return true;
}

static CORE_METHOD(network_quantise) {
    static const args_def def = {"quantise", 1, 0, {"table", "seed", "keep", NULL}};
    PyObject *in[3];
    network *net = (network *)self;
    uint64_t seed = 0;
    net_error err = {.text = ""};
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u64(in[1], "seed", &seed)) {
        return NULL;
    }
    if (in[0] == NULL && in[1] == NULL && net->table.count == 0 && !net_needs_no_table(&net->graph)) {
        return PyErr_Format(PyExc_ValueError, "quantise: expected a table, a seed, or calibrate() before");
    }
    /* what calibrate() returned has lines, which no name of a file has */
    const bool is_text = in[0] != NULL && PyUnicode_Check(in[0]) &&
                         PyUnicode_FindChar(in[0], '\n', 0, PyUnicode_GET_LENGTH(in[0]), 1) >= 0;
    const char *text = is_text ? PyUnicode_AsUTF8(in[0]) : NULL;
    PyObject *path = in[0] != NULL && !is_text ? arg_path(in[0], "table") : NULL;
    PyObject *keep = in[2] != NULL ? arg_sequence(in[2], "keep", "names of layers") : NULL;
    scales s = {
        .text = text, .path = path != NULL ? PyBytes_AS_STRING(path) : NULL, .seed = in[1] != NULL ? &seed : NULL};
    if ((in[0] != NULL && path == NULL && text == NULL) || (in[2] != NULL && keep == NULL) || !take_keep(keep, &s) ||
        !network_enter(net)) {
        PyMem_Free(s.keep);
        Py_XDECREF(keep);
        Py_XDECREF(path);
        return NULL;
    }
    net_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = quantise(net, &s, &err);
    Py_END_ALLOW_THREADS;
    network_leave(net);
    PyMem_Free(s.keep);
    Py_XDECREF(keep);
    Py_XDECREF(path);
    if (status != NET_OK) {
        network_raise(self, status, &err);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *network_optimise(PyObject *self, PyObject *unused) {
    network *net = (network *)self;
    uint32_t changes = 0;
    net_error err = {.text = ""};
    net_status status;
    (void)unused;
    if (!network_enter(net)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = net_optimize(&net->graph, NULL, NULL, &changes, &err);
    Py_END_ALLOW_THREADS;
    network_leave(net);
    if (status != NET_OK) {
        network_raise(self, status, &err);
        return NULL;
    }
    return PyLong_FromUnsignedLong(changes);
}

static CORE_METHOD(network_save) {
    static const args_def def = {"save", 2, 2, {"param", "bin", NULL}};
    PyObject *in[2];
    network *net = (network *)self;
    net_error err = {.text = ""};
    if (!args_take(&def, args, nargs, kwnames, in)) {
        return NULL;
    }
    PyObject *param = arg_path(in[0], "param");
    PyObject *bin = param != NULL ? arg_path(in[1], "bin") : NULL;
    PyObject *result = NULL;
    if (bin != NULL && network_enter(net)) {
        const net_status status =
            net_graph_save(&net->graph, PyBytes_AS_STRING(param), PyBytes_AS_STRING(bin), NULL, &err);
        network_leave(net);
        if (status == NET_OK) {
            result = Py_NewRef(Py_None);
        } else {
            network_raise(self, status, &err);
        }
    }
    Py_XDECREF(param);
    Py_XDECREF(bin);
    return result;
}

static CORE_METHOD(network_memory) {
    static const args_def def = {"memory", 1, 1, {"n", "tensors", NULL}};
    PyObject *in[2];
    network *net = (network *)self;
    uint32_t n = 8;
    bool tensors = false;
    uint64_t bytes = 0;
    net_error err = {.text = ""};
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u32(in[0], "n", 4, 32, &n) ||
        !arg_bool(in[1], "tensors", &tensors) || !network_enter(net)) {
        return NULL;
    }
    const net_rt_options options = {.reuse = !tensors};
    const net_status status = net_rt_memory(&net->graph, n, &options, &bytes, &err);
    network_leave(net);
    if (status != NET_OK) {
        network_raise(self, status, &err);
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(bytes);
}

/* ---- attributes ---- */

/* (name, shape) of blobs. */
static PyObject *blob_list(const net_graph *g, const uint32_t *blob, uint32_t count) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        Py_ssize_t shape[NET_MAX_DIMS + 1];
        const net_blob *b = &g->blob[blob[i]];
        const int dims = network_shape(&b->shape, 0, shape);
        PyObject *sizes = dims == 4   ? Py_BuildValue("(nnnn)", shape[0], shape[1], shape[2], shape[3])
                          : dims == 3 ? Py_BuildValue("(nnn)", shape[0], shape[1], shape[2])
                          : dims == 2 ? Py_BuildValue("(nn)", shape[0], shape[1])
                                      : Py_BuildValue("(n)", shape[0]);
        PyObject *pair = sizes != NULL ? Py_BuildValue("(sN)", b->name, sizes) : NULL;
        if (pair == NULL || PyList_Append(list, pair) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
    }
    return list;
}

static PyObject *layer_list(const net_graph *g) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < g->num_layers; i++) {
        const net_layer *l = &g->layer[i];
        PyObject *one = Py_BuildValue("{s:s,s:s,s:I,s:K,s:N,s:N}", "name", l->name, "type", l->type, "line", l->line,
                                      "macs", (unsigned long long)net_layer_macs(g, i), "inputs",
                                      blob_list(g, l->in, l->num_in), "outputs", blob_list(g, l->out, l->num_out));
        if (one == NULL || PyList_Append(list, one) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    return list;
}

#define GETTER(name, value)                                                                                            \
    static PyObject *get_##name(PyObject *obj, void *unused) {                                                         \
        network *self = (network *)obj;                                                                                \
        (void)unused;                                                                                                  \
        if (!network_enter(self)) {                                                                                    \
            return NULL;                                                                                               \
        }                                                                                                              \
        PyObject *result = value;                                                                                      \
        network_leave(self);                                                                                           \
        return result;                                                                                                 \
    }
GETTER(inputs, blob_list(&self->graph, self->graph.inputs, self->graph.num_inputs))
GETTER(outputs, blob_list(&self->graph, self->graph.outputs, self->graph.num_outputs))
GETTER(layers, layer_list(&self->graph))
GETTER(macs, PyLong_FromUnsignedLongLong(net_graph_macs(&self->graph)))
GETTER(int8, PyBool_FromLong(net_graph_is_int8(&self->graph)))
GETTER(last_run, Py_NewRef(self->where))
GETTER(calibration, Py_NewRef(self->measured))

static PyGetSetDef network_getset[] = {
    {"inputs", get_inputs, NULL, "Input blobs: a list of (name, shape).", NULL},
    {"outputs", get_outputs, NULL, "Output blobs: a list of (name, shape).", NULL},
    {"layers", get_layers, NULL, "Layers in the order of the file: dicts with name, type, line, macs, inputs, outputs.",
     NULL},
    {"macs", get_macs, NULL, "Useful multiply-accumulates of one inference.", NULL},
    {"int8", get_int8, NULL, "True when a layer is INT8.", NULL},
    {"calibration", get_calibration, NULL,
     "Of the last calibrate(): a dict with method, output_db, inputs, and where they are known labels, right or "
     "objects, map_50_95; None before.",
     NULL},
    {"last_run", get_last_run, NULL,
     "Of the last run(): for each layer a dict with name, place ('npu', 'cpu', 'nowhere'), unit ('gemm', 'alu', 'pool' "
     "or None), fused, "
     "reason, cycles.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef network_methods[] = {
    CORE_ROW(
        "calibrate", network_calibrate,
        "calibrate(inputs, method='auto', *, percent=99.99, labels=None, objects=None, head=None, anchors=None, "
        "threshold=None, overlap=None, least=10.0)\n--\n\nFind the scales of the layers that become INT8, with the "
        "FP32 reference.\n\n"
        "inputs: float32, one row for each input. method: 'kl', 'minmax', 'mse', 'percentile' (percent), or 'auto': "
        "the best of them,\nby what is known of the inputs, else by the outputs. labels: integers, the class of each "
        "input, -1: unknown.\n"
        "objects: float32 (objects, 6), of a network that finds boxes: number of the input, class from 1, x, y, width "
        "and height\nin pixels of the input. head, anchors: kind of a network without a detection layer, as "
        "tandem-net detect has them.\nthreshold, overlap: as there; of a head from 0.01 on.\n"
        "least: RuntimeWarning where the outputs of the INT8 network have less than this ratio to their error, in "
        "dB.\n"
        "Returns ncnn's calibration table as text; quantise() takes it; calibration has what was measured. Error: no "
        "float weights."),
    CORE_ROW("quantise", network_quantise,
             "quantise(table=None, *, seed=None, keep=())\n--\n\nTurn float layers into INT8 layers, in "
             "place.\n\ntable: file "
             "of a calibration table, or its text, as calibrate() returns it; None: that of the last "
             "calibrate(). seed: instead of a table, scales from one\ninference over drawn values. keep: names of "
             "layers that stay "
             "float."),
    {"optimise", network_optimise, METH_NOARGS,
     "optimise()\n--\n\nFold and fuse layers, in place (docs/network.md). Returns the number of changes."},
    CORE_ROW("save", network_save, "save(param, bin)\n--\n\nWrite the network as ncnn files."),
    CORE_ROW("memory", network_memory,
             "memory(n, *, tensors=False)\n--\n\nBytes of device memory that run() takes on a mesh of size n: "
             "Device(memory=...)."),
    CORE_ROW("run", network_run,
             "run(device, x, *, tensors=False, batch=False)\n--\n\nInference on a device: on the NPU what its driver "
             "can do, the rest in plain "
             "C.\n\n"
             "x: float32, all input blobs one after the other; batch: one row for each inference. tensors: every blob, "
             "not only the outputs.\n"
             "Returns a dict: name of a blob to float32 array (batch: with the number of the inference as the first "
             "dimension).\n"
             "Divergence, DeviceError: the device has failed. MemoryError: device memory. The GIL is released."),
    CORE_ROW("reference", network_reference,
             "reference(x, *, tensors=False, batch=False)\n--\n\nThe same in plain C in FP32, for a network with float "
             "weights. Error: an "
             "INT8 network."),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)network_new},
    {Py_tp_dealloc, (void *)network_dealloc},
    {Py_tp_methods, network_methods},
    {Py_tp_getset, network_getset},
    {Py_tp_doc, (void *)"Network(param, bin=None, *, shape=None, seed=1)\n--\n\nA neural network in ncnn's files.\n\n"
                        "param, bin: files; without bin the weights are drawn from the seed. shape: (channels, height, "
                        "width) of inputs "
                        "that give none.\n"
                        "Calls at the same time from several threads: RuntimeError. Error: damaged or unsupported, "
                        "with layer and line."},
    {0, NULL},
};

PyType_Spec network_spec = {.name = "tandem.Network",
                            .basicsize = sizeof(network),
                            .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                            .slots = slots};
