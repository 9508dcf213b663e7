/* run.c - a graph on a device: INT8 convolutions on the NPU, everything else in plain C. */
#include <stdlib.h>
#include <string.h>

#include "../drivers/npu.h"
#include "op.h"

#define TASK_TIMEOUT_US 1000000u

typedef struct rt_layer {
    bool on_npu;
    bool fused; /* a ReLU layer that its convolution does */
    npu_conv conv;
    npu_conv_plan plan;
    uint64_t hash;
} rt_layer;

/* A blob without memory of its own (Split outputs, the output of a fused ReLU) points to the one that holds its values. */
typedef struct rt_blob {
    uint32_t root;
    float *host;    /* gapless; set for roots */
    uint32_t addr;  /* on the device; 0: no convolution touches it */
    uint32_t cstep; /* bytes from channel to channel on the device */
    bool uploaded;  /* the device's copy is that of the running inference */
} rt_blob;

struct net_rt {
    const net_graph *graph;
    npu_dev *dev;
    npu npu;
    rt_layer *layer;
    rt_blob *blob;
    net_exec exec; /* for layers in plain C */
};

static rt_blob *root_of(const net_rt *rt, uint32_t blob) {
    return &rt->blob[rt->blob[blob].root];
}

static net_status device_memory(const net_rt *rt, const net_layer *layer, net_error *err) {
    return net_fail(err, NET_ERR_MEMORY, "%.150s:%u: layer '%.60s' does not fit into device memory", rt->graph->name, layer->line,
                    layer->name);
}

/* ---- preparation ---- */

/* Upload bytes into a new input buffer. 0: does not fit. */
static uint32_t upload_new(npu_dev *dev, const void *src, uint32_t bytes) {
    uint32_t addr = npu_dev_alloc(dev, bytes, 16, NPU_BUF_IN);
    return addr != 0 && npu_dev_write(dev, addr, src, bytes) ? addr : 0;
}

/* Device memory of a blob. Gaps are zeroed: the NPU may read them, and unwritten bytes that are read are a failure. */
static bool blob_memory(net_rt *rt, uint32_t number, npu_buf_kind kind) {
    rt_blob *blob = root_of(rt, number);
    if (blob->addr != 0) {
        return true;
    }
    const net_shape *shape = &rt->graph->blob[number].shape;
    uint64_t cstep = ((uint64_t)shape->w * shape->h * 4 + 15) & ~UINT64_C(15);
    uint64_t bytes = cstep * shape->c;
    void *zeros = bytes > UINT32_MAX ? NULL : calloc(1, (size_t)bytes);
    if (zeros == NULL) {
        return false;
    }
    blob->cstep = (uint32_t)cstep;
    blob->addr = npu_dev_alloc(rt->dev, (uint32_t)bytes, 16, kind);
    bool ok = blob->addr != 0 && npu_dev_write(rt->dev, blob->addr, zeros, (size_t)bytes);
    free(zeros);
    return ok;
}

/* A requantised output (102) is the same as quantising in the next layer, provided both use one scale: look at every consumer, through Split layers. */
static bool same_scale_below(const net_graph *graph, uint32_t blob, float scale) {
    if (graph->blob[blob].consumer == NET_NONE) {
        return false;
    }
    const net_layer *next = &graph->layer[graph->blob[blob].consumer];
    if (next->kind == NET_SPLIT) {
        for (uint32_t i = 0; i < next->num_out; i++) {
            if (!same_scale_below(graph, next->out[i], scale)) {
                return false;
            }
        }
        return true;
    }
    const net_tensor *bottom = net_layer_tensor(next, NET_ROLE_BOTTOM_SCALE);
    return next->kind == NET_CONV && bottom != NULL && memcmp(&bottom->f32[0], &scale, sizeof scale) == 0;
}

static net_status check_int8(const net_graph *graph, const net_layer *layer, net_error *err) {
    const net_tensor *top = net_layer_tensor(layer, NET_ROLE_TOP_SCALE);
    if (net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE) == NULL) {
        return net_fail(err, NET_ERR_UNSUPPORTED, "%.150s:%u: layer '%.60s' is not INT8: quantise the network first", graph->name,
                        layer->line, layer->name);
    }
    if (top != NULL && !same_scale_below(graph, layer->out[0], top->f32[0])) {
        return net_fail(err, NET_ERR_UNSUPPORTED,
                        "%.150s:%u: layer '%.60s' is requantised with another scale than its consumers' is not supported", graph->name,
                        layer->line, layer->name);
    }
    return NET_OK;
}

static void describe(const net_rt *rt, uint32_t number, npu_conv *c) {
    const net_layer *layer = &rt->graph->layer[number];
    const net_conv *conv = &layer->conv;
    const net_shape *in = &rt->graph->blob[layer->in[0]].shape;
    memset(c, 0, sizeof *c);
    c->iw = in->w;
    c->ih = in->h;
    c->ic = in->c;
    c->oc = conv->num_output;
    c->kw = conv->kernel_w;
    c->kh = conv->kernel_h;
    c->stride_w = conv->stride_w;
    c->stride_h = conv->stride_h;
    c->dil_w = conv->dilation_w;
    c->dil_h = conv->dilation_h;
    c->groups = 1;
    c->pad_l = conv->pad_l;
    c->pad_r = conv->pad_r;
    c->pad_t = conv->pad_t;
    c->pad_b = conv->pad_b;
    c->has_bias = conv->has_bias;
    c->act = conv->relu ? NPU_ACT_RELU : NPU_ACT_NONE;
    memcpy(&c->in_scale, &net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0], sizeof c->in_scale);
}

/* A ReLU layer right behind a convolution is done by the convolution: their outputs share memory. */
static void fuse_relu(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    uint32_t next = rt->graph->blob[layer->out[0]].consumer;
    if (next != NET_NONE && rt->graph->layer[next].kind == NET_RELU && rt->graph->layer[next].act.type == NET_ACT_RELU) {
        rt->layer[number].conv.act = NPU_ACT_RELU;
        rt->layer[next].fused = true;
    }
}

/* INT8 weights of a layer: those of the file, or float ones quantised with the file's scales. NULL: no memory. */
static int8_t *int8_weights(const net_layer *layer) {
    const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
    const float *scale = net_layer_tensor(layer, NET_ROLE_WEIGHT_SCALE)->f32;
    uint32_t filter = weight->count / layer->conv.num_output;
    int8_t *q = malloc((size_t)weight->count + 1);
    for (uint32_t i = 0; q != NULL && i < weight->count; i++) {
        q[i] = weight->i8 != NULL ? weight->i8[i] : net_quantize_value(weight->f32[i], scale[i / filter]);
    }
    return q;
}

static net_status upload_weights(net_rt *rt, const net_layer *layer, rt_layer *rl, net_error *err) {
    int8_t *weights = int8_weights(layer);
    int8_t *packed = malloc((size_t)rl->plan.wgt_bytes + 1);
    float *param = calloc(1, (size_t)rl->plan.param_bytes + 4);
    net_status status = weights == NULL || packed == NULL || param == NULL
                            ? net_fail(err, NET_ERR_MEMORY, "out of memory for '%.60s'", layer->name)
                            : NET_OK;
    if (status == NET_OK) {
        npu_status ns = npu_conv_pack_weights(&rl->conv, &rl->plan, weights, packed, rl->plan.wgt_bytes);
        const float *scale = net_layer_tensor(layer, NET_ROLE_WEIGHT_SCALE)->f32;
        ns = ns == NPU_OK ? npu_conv_make_oscale(&rl->conv, &rl->plan, scale, param, rl->plan.param_bytes) : ns;
        if (ns != NPU_OK) {
            status =
                net_fail(err, NET_ERR_DEVICE, "%.150s:%u: layer '%.60s': %s", rt->graph->name, layer->line, layer->name, npu_strerror(ns));
        }
    }
    if (status == NET_OK) {
        rl->conv.wgt_addr = upload_new(rt->dev, packed, rl->plan.wgt_bytes);
        rl->conv.oscale_addr = upload_new(rt->dev, param, rl->plan.param_bytes);
        bool ok = rl->conv.wgt_addr != 0 && rl->conv.oscale_addr != 0;
        if (rl->conv.has_bias) {
            memset(param, 0, rl->plan.param_bytes);
            memcpy(param, net_layer_tensor(layer, NET_ROLE_BIAS)->f32, layer->conv.num_output * sizeof *param);
            rl->conv.bias_addr = upload_new(rt->dev, param, rl->plan.param_bytes);
            ok = ok && rl->conv.bias_addr != 0;
        }
        status = ok ? NET_OK : device_memory(rt, layer, err);
    }
    free(weights);
    free(packed);
    free(param);
    return status;
}

static net_status prepare_conv(net_rt *rt, uint32_t number, net_error *err) {
    const net_layer *layer = &rt->graph->layer[number];
    rt_layer *rl = &rt->layer[number];
    net_status status = check_int8(rt->graph, layer, err);
    if (status != NET_OK) {
        return status;
    }
    if (layer->act.type > NET_ACT_RELU || rt->graph->blob[layer->in[0]].shape.dims != 3) {
        return net_fail(err, NET_ERR_UNSUPPORTED,
                        "%.150s:%u: layer '%.60s': an activation of type %d or an input of %u dimensions is not supported on the NPU",
                        rt->graph->name, layer->line, layer->name, (int)layer->act.type, rt->graph->blob[layer->in[0]].shape.dims);
    }
    describe(rt, number, &rl->conv);
    fuse_relu(rt, number);
    npu_conv_split split;
    memset(&split, 0, sizeof split);
    npu_status ns = npu_conv_plan_make(rt->npu.n, &rl->conv, &split, &rl->plan);
    if (ns != NPU_OK) {
        return net_fail(err, NET_ERR_UNSUPPORTED, "%.150s:%u: layer '%.60s' cannot run on the NPU: %s", rt->graph->name, layer->line,
                        layer->name, npu_strerror(ns));
    }
    rl->on_npu = true;
    if (!blob_memory(rt, layer->in[0], NPU_BUF_SCRATCH) || !blob_memory(rt, layer->out[0], NPU_BUF_SCRATCH)) {
        return device_memory(rt, layer, err);
    }
    rl->conv.ifm_addr = root_of(rt, layer->in[0])->addr;
    rl->conv.ifm_cstep = root_of(rt, layer->in[0])->cstep;
    rl->conv.ofm_addr = root_of(rt, layer->out[0])->addr;
    rl->conv.ofm_cstep = root_of(rt, layer->out[0])->cstep;
    return upload_weights(rt, layer, rl, err);
}

/* Roots and host memory of a layer's outputs. */
static bool prepare_blobs(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    for (uint32_t i = 0; i < layer->num_out; i++) {
        rt_blob *blob = &rt->blob[layer->out[i]];
        if (layer->kind == NET_SPLIT || rt->layer[number].fused) {
            blob->root = rt->blob[layer->in[0]].root;
            continue;
        }
        blob->root = layer->out[i];
        blob->host = calloc(net_shape_elements(&rt->graph->blob[layer->out[i]].shape), sizeof *blob->host);
        if (blob->host == NULL) {
            return false;
        }
    }
    return true;
}

static net_status prepare(net_rt *rt, net_error *err) {
    npu_status ns = npu_init(&rt->npu, npu_dev_hal(rt->dev), NPU_WAIT_IRQ, TASK_TIMEOUT_US);
    if (ns != NPU_OK) {
        return net_fail(err, NET_ERR_DEVICE, "npu_init: %s", npu_strerror(ns));
    }
    rt->layer = calloc(rt->graph->num_layers, sizeof *rt->layer);
    rt->blob = calloc(rt->graph->num_blobs, sizeof *rt->blob);
    if (rt->layer == NULL || rt->blob == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < rt->graph->num_layers; i++) {
        if (!prepare_blobs(rt, i)) {
            return net_fail(err, NET_ERR_MEMORY, "out of memory");
        }
        net_status status = rt->graph->layer[i].kind == NET_CONV ? prepare_conv(rt, i, err) : NET_OK;
        if (status != NET_OK) {
            return status;
        }
    }
    return NET_OK;
}

net_status net_rt_new(const net_graph *graph, npu_dev *dev, net_rt **out, net_error *err) {
    if (graph == NULL || dev == NULL || out == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_rt_new: a device and a planned graph with weights are needed");
    }
    if (graph->input == NET_NONE) {
        return net_fail(err, NET_ERR_UNSUPPORTED, "%.150s: %u inputs, expected one", graph->name, graph->num_inputs);
    }
    net_rt *rt = calloc(1, sizeof *rt);
    if (rt == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    rt->graph = graph;
    rt->dev = dev;
    net_status status = prepare(rt, err);
    status = status == NET_OK ? net_exec_new(graph, &rt->exec, err) : status;
    if (status != NET_OK) {
        net_rt_free(rt);
        return status;
    }
    *out = rt;
    return NET_OK;
}

void net_rt_free(net_rt *rt) {
    if (rt == NULL) {
        return;
    }
    for (uint32_t i = 0; rt->blob != NULL && i < rt->graph->num_blobs; i++) {
        free(rt->blob[i].host);
    }
    free(rt->blob);
    free(rt->layer);
    net_exec_free(&rt->exec);
    free(rt);
}

/* ---- one inference ---- */

/* Copy a blob between its gapless host form and device memory. */
static bool transfer(net_rt *rt, uint32_t number, bool to_device) {
    rt_blob *blob = root_of(rt, number);
    const net_shape *shape = &rt->graph->blob[number].shape;
    size_t plane = (size_t)shape->w * shape->h;
    bool ok = true;
    for (uint32_t c = 0; ok && c < shape->c; c++) {
        float *host = blob->host + c * plane;
        uint32_t addr = blob->addr + c * blob->cstep;
        ok = to_device ? npu_dev_write(rt->dev, addr, host, plane * sizeof *host) : npu_dev_read(rt->dev, addr, host, plane * sizeof *host);
    }
    blob->uploaded = ok;
    return ok;
}

static net_status run_conv(net_rt *rt, uint32_t number, net_error *err) {
    const net_layer *layer = &rt->graph->layer[number];
    rt_layer *rl = &rt->layer[number];
    bool ok = root_of(rt, layer->in[0])->uploaded || transfer(rt, layer->in[0], true);
    npu_status ns = ok ? npu_conv_run(&rt->npu, &rl->conv, &rl->plan) : NPU_ERR_HAL;
    const npu_dev_failure *failure = npu_dev_get_failure(rt->dev);
    if (failure != NULL && failure->signature[0] != '\0') {
        return net_fail(err, NET_ERR_DEVICE, "layer '%.60s': %.40s: %.280s", layer->name, failure->signature, failure->message);
    }
    if (ns != NPU_OK || !transfer(rt, layer->out[0], false)) {
        return net_fail(err, NET_ERR_DEVICE, "%.150s:%u: layer '%.60s': %s (ERR 0x%08x)", rt->graph->name, layer->line, layer->name,
                        npu_strerror(ns), rt->npu.last_err);
    }
    return NET_OK;
}

static void run_cpu(net_rt *rt, const net_layer *layer) {
    for (uint32_t i = 0; i < layer->num_in; i++) {
        rt->exec.in[i] = root_of(rt, layer->in[i])->host;
    }
    for (uint32_t i = 0; i < layer->num_out; i++) {
        rt->exec.out[i] = root_of(rt, layer->out[i])->host;
    }
    net_exec_layer(&rt->exec, rt->graph, layer);
}

net_status net_rt_run(net_rt *rt, const float *input, net_error *err) {
    const net_graph *g = rt->graph;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        rt->blob[i].uploaded = false;
    }
    memcpy(root_of(rt, g->input)->host, input, net_shape_elements(&g->blob[g->input].shape) * sizeof *input);
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const net_layer *layer = &g->layer[i];
        if (layer->kind == NET_INPUT) {
            continue;
        }
        net_status status = rt->layer[i].on_npu ? run_conv(rt, i, err) : NET_OK;
        if (status != NET_OK) {
            return status;
        }
        if (!rt->layer[i].on_npu && !rt->layer[i].fused && layer->kind != NET_SPLIT) {
            run_cpu(rt, layer);
        }
        rt->layer[i].hash = net_hash(net_rt_blob(rt, layer->out[0]), net_shape_elements(&g->blob[layer->out[0]].shape));
    }
    return NET_OK;
}

const float *net_rt_blob(const net_rt *rt, uint32_t blob) {
    return root_of(rt, blob)->host;
}

uint64_t net_rt_layer_hash(const net_rt *rt, uint32_t layer) {
    return rt->layer[layer].hash;
}

bool net_rt_layer_on_npu(const net_rt *rt, uint32_t layer) {
    return rt->layer[layer].on_npu || rt->layer[layer].fused;
}
