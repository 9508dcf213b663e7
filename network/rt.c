/* rt.c - a graph on a device: one layer after the other, on the NPU where possible, else in plain C. Blobs are copied
 * between device and host when the other side needs them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt.h"
#include "num.h"

#define TASK_TIMEOUT_US 1000000u

/* ---- opening and closing ---- */

static net_status allocate(net_rt *rt, net_error *err) {
    rt->layer = calloc((size_t)rt->graph->num_layers + 1, sizeof *rt->layer);
    rt->blob = calloc((size_t)rt->graph->num_blobs + 1, sizeof *rt->blob);
    for (uint32_t i = 0; rt->blob != NULL && i < rt->graph->num_blobs; i++) {
        rt->blob[i].root = i;
    }
    return rt->layer == NULL || rt->blob == NULL
               ? net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", rt->graph->name)
               : NET_OK;
}

static net_status plan(net_rt *rt, const net_graph *graph, const net_rt_options *options, net_error *err) {
    if (graph == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "the runtime needs a device and a planned graph with weights");
    }
    rt->graph = graph;
    rt->options = options == NULL ? (net_rt_options){0} : *options;
    net_status status = allocate(rt, err);
    status = status == NET_OK ? rt_map(rt, err) : status;
    return status == NET_OK ? rt_place(rt, err) : status;
}

net_status net_rt_plan(const net_graph *graph, uint32_t n, const net_rt_options *options, net_rt **out,
                       net_error *err) {
    static const npu_hal nothing;
    if (out == NULL || (n != 4 && n != 8 && n != 16 && n != 32)) {
        return net_fail(err, NET_ERR_ARG, "the runtime's plan: a mesh of %u", n);
    }
    net_rt *rt = calloc(1, sizeof *rt);
    if (rt == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    /* a graph with INT16 layers is for a device that has them */
    rt->npu = (npu){.hal = &nothing, .n = n, .int16 = true, .units = (1u << NPU_UNIT_COUNT) - 1};
    net_status status = plan(rt, graph, options, err);
    if (status != NET_OK) {
        net_rt_free(rt);
        return status;
    }
    *out = rt;
    return NET_OK;
}

net_status net_rt_memory(const net_graph *graph, uint32_t n, const net_rt_options *options, uint64_t *bytes,
                         net_error *err) {
    net_rt *rt = NULL;
    if (bytes == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_rt_memory: a mesh of %u", n);
    }
    net_status status = net_rt_plan(graph, n, options, &rt, err);
    *bytes = status == NET_OK ? rt_load_bytes(rt) : 0;
    net_rt_free(rt);
    return status;
}

net_status net_rt_new_with(const net_graph *graph, npu_dev *dev, const net_rt_options *options, net_rt **out,
                           net_error *err) {
    if (dev == NULL || out == NULL) {
        return net_fail(err, NET_ERR_ARG, "the runtime needs a device and a planned graph with weights");
    }
    net_rt *rt = calloc(1, sizeof *rt);
    if (rt == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    rt->dev = dev;
    npu_status ns = npu_init(&rt->npu, npu_dev_hal(dev),
                             options != NULL && options->poll ? NPU_WAIT_POLL : NPU_WAIT_IRQ, TASK_TIMEOUT_US);
    const npu_dev_failure *failure = npu_dev_get_failure(dev);
    net_status status =
        ns == NPU_OK ? NET_OK
        : failure->signature[0] == '\0'
            ? net_fail(err, NET_ERR_DEVICE, "npu_init: %s", npu_strerror(ns))
            : net_fail(err, NET_ERR_DEVICE, "npu_init: %.40s: %.280s", failure->signature, failure->message);
    status = status == NET_OK ? plan(rt, graph, options, err) : status;
    if (status == NET_OK) {
        rt->host = calloc(1, (size_t)rt->host_bytes + 64);
        status = rt->host == NULL ? net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory for the blobs", graph->name)
                                  : net_exec_new(graph, &rt->exec, err);
    }
    status = status == NET_OK ? rt_load(rt, err) : status;
    if (status != NET_OK) {
        net_rt_free(rt);
        return status;
    }
    *out = rt;
    return NET_OK;
}

net_status net_rt_new(const net_graph *graph, npu_dev *dev, net_rt **out, net_error *err) {
    return net_rt_new_with(graph, dev, NULL, out, err);
}

void net_rt_free(net_rt *rt) {
    if (rt == NULL) {
        return;
    }
    for (uint32_t i = 0; rt->layer != NULL && i < rt->graph->num_layers; i++) {
        free(rt->layer[i].p.data);
        free(rt->layer[i].q.data);
        free(rt->layer[i].move);
    }
    free(rt->host);
    free(rt->blob);
    free(rt->root);
    free(rt->layer);
    net_exec_free(&rt->exec);
    free(rt);
}

/* ---- blobs on both sides ---- */

float *rt_host(const net_rt *rt, uint32_t blob) {
    const rt_blob *b = &rt->blob[blob];
    return rt->host + rt->root[b->root].host_place + b->host_at;
}

/* INT8 pixels as floats, which give the same INT8 values when quantised with the same scale. */
static bool download_int8(net_rt *rt, uint32_t blob) {
    const net_shape *s = &rt->graph->blob[blob].shape;
    const uint32_t n = rt->npu.n;
    size_t plane = (size_t)s->w * s->h;
    size_t pitch = tb_align_up(s->c, n);
    int8_t *pixels = malloc(plane * pitch + 1);
    float *host = rt_host(rt, blob);
    float scale = rt->blob[blob].scale;
    bool ok = pixels != NULL && npu_dev_read(rt->dev, rt_addr(rt, blob), pixels, plane * pitch);
    for (size_t p = 0; ok && p < plane; p++) {
        for (uint32_t c = 0; c < s->c; c++) {
            host[c * plane + p] = (float)pixels[p * pitch + c] / scale;
        }
    }
    free(pixels);
    return ok;
}

/* Copy an FP32 blob between its gapless form on the host and device memory. */
static bool transfer(net_rt *rt, uint32_t blob, bool to_device) {
    const net_shape *s = &rt->graph->blob[blob].shape;
    bool gapless = rt_gapless(s);
    size_t plane = gapless ? net_shape_elements(s) : (size_t)s->w * s->h;
    bool ok = true;
    for (uint32_t c = 0; ok && c < (gapless ? 1 : s->c); c++) {
        float *host = rt_host(rt, blob) + c * plane;
        uint32_t addr = rt_addr(rt, blob) + c * (uint32_t)rt_cstep(s);
        ok = to_device ? npu_dev_write(rt->dev, addr, host, plane * sizeof *host)
                       : npu_dev_read(rt->dev, addr, host, plane * sizeof *host);
    }
    return ok;
}

bool rt_need_host(net_rt *rt, uint32_t blob) {
    rt_blob *b = &rt->blob[blob];
    b->on_host = b->on_host || (b->int8 ? download_int8(rt, blob) : transfer(rt, blob, false));
    return b->on_host;
}

/* The inverse of download_int8(), for a part of a network; padding channels are zero. */
static bool upload_int8(net_rt *rt, uint32_t blob) {
    const net_shape *s = &rt->graph->blob[blob].shape;
    const uint32_t n = rt->npu.n;
    const size_t plane = (size_t)s->w * s->h;
    const size_t pitch = tb_align_up(s->c, n);
    int8_t *pixels = calloc(1, plane * pitch + 1);
    const float *host = rt_host(rt, blob);
    for (size_t p = 0; pixels != NULL && p < plane; p++) {
        for (uint32_t c = 0; c < s->c; c++) {
            pixels[p * pitch + c] = (int8_t)lrintf(host[c * plane + p] * rt->blob[blob].scale);
        }
    }
    bool ok = pixels != NULL && npu_dev_write(rt->dev, rt_addr(rt, blob), pixels, plane * pitch);
    free(pixels);
    return ok;
}

static bool need_dev(net_rt *rt, uint32_t blob) {
    rt_blob *b = &rt->blob[blob];
    b->on_dev = b->on_dev || (b->int8 ? upload_int8(rt, blob) : transfer(rt, blob, true));
    return b->on_dev;
}

/* ---- layers ---- */

net_status rt_device_failed(const net_rt *rt, const net_layer *layer, npu_status ns, net_error *err) {
    const npu_dev_failure *failure = npu_dev_get_failure(rt->dev);
    if (failure != NULL && failure->signature[0] != '\0') {
        return net_fail(err, NET_ERR_DEVICE, "layer '%.60s': %.40s: %.280s", layer->name, failure->signature,
                        failure->message);
    }
    return net_fail(err, NET_ERR_DEVICE, "%.150s:%u: layer '%.60s': %s (ERR 0x%08x)", rt->graph->name, layer->line,
                    layer->name, npu_strerror(ns), rt->npu.last_err);
}

/* Two inputs at a time, with the intermediate result in the output. The activation follows the last one. */
static npu_status run_eltwise(net_rt *rt, const net_layer *layer, const rt_layer *rl) {
    npu_eltwise op = rl->elt;
    npu_status ns = NPU_OK;
    for (uint32_t k = 1; ns == NPU_OK && (k == 1 || k < layer->num_in); k++) {
        bool last = k + 1 >= layer->num_in;
        op.act = last ? rl->elt.act : NPU_ACT_NONE;
        if (k > 1) {
            op.a = op.out;
            op.b.addr = rt_addr(rt, layer->in[k]);
        }
        ns = npu_eltwise_run(&rt->npu, &op);
    }
    return ns;
}

/* Without the cycles of the testbench's compare points: in tandem a layer takes as long as on the RTL alone. */
static uint64_t own_cycles(const npu_dev *dev) {
    return npu_dev_cycles(dev) - npu_dev_compare_cycles(dev);
}

/* The layer's row of the table, with the NPU for its products. */
static npu_status run_products(net_rt *rt, const net_layer *layer) {
    rt->products.status = NPU_OK;
    rt->exec.product = rt_run_product;
    rt->exec.softmax = rt_run_softmax;
    rt->exec.user = rt;
    net_exec_layer(&rt->exec, rt->graph, layer);
    rt->exec.product = NULL;
    rt->exec.softmax = NULL;
    return rt->products.status;
}

static npu_status run_kind(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const rt_layer *rl = &rt->layer[number];
    if (rl->products) {
        return run_products(rt, layer);
    }
    return rl->rows > 0             ? rt_run_rows(rt, rl, rt->exec.in[0], rt->exec.out[0])
           : rl->kind == RT_CONV    ? npu_conv_run(&rt->npu, &rl->conv, &rl->plan)
           : rl->kind == RT_POOL    ? npu_pool_run(&rt->npu, &rl->pool)
           : rl->pieces > 0         ? rt_run_broadcast(rt, number)
           : rl->kind == RT_ELTWISE ? run_eltwise(rt, layer, rl)
           : rl->kind == RT_MOVE    ? rt_run_move(rt, number)
           : rl->kind == RT_NORM    ? rt_run_norm(rt, rl)
                                    : npu_upsample2x_run(&rt->npu, &rl->elt.a, &rl->elt.out);
}

static net_status run_npu(net_rt *rt, uint32_t number, net_error *err) {
    const net_layer *layer = &rt->graph->layer[number];
    rt_layer *rl = &rt->layer[number];
    bool counters = rt->options.stalls && npu_dev_get_kind(rt->dev) != NPU_DEV_MODEL;
    npu_status ns = counters ? npu_perf_clear(&rt->npu) : NPU_OK;
    const uint64_t before = own_cycles(rt->dev);
    for (uint32_t i = 0; rl->kind != RT_CPU && i < layer->num_in; i++) {
        ns = need_dev(rt, layer->in[i]) ? ns : NPU_ERR_HAL;
    }
    ns = ns == NPU_OK ? run_kind(rt, number) : ns;
    rl->cycles = own_cycles(rt->dev) - before;
    ns = ns == NPU_OK && counters ? npu_perf_read(&rt->npu, rl->perf, NPU_PERF_COUNT) : ns;
    const npu_dev_failure *failure = npu_dev_get_failure(rt->dev);
    if (ns != NPU_OK || (failure != NULL && failure->signature[0] != '\0') || !npu_dev_compare(rt->dev)) {
        return rt_device_failed(rt, layer, ns, err);
    }
    rt->blob[layer->out[0]].on_dev = rl->kind != RT_CPU;
    return NET_OK;
}

static net_status run_cpu(net_rt *rt, uint32_t number, net_error *err) {
    const net_layer *layer = &rt->graph->layer[number];
    for (uint32_t i = 0; i < layer->num_in; i++) {
        if (!rt_need_host(rt, layer->in[i])) {
            return rt_device_failed(rt, layer, NPU_ERR_HAL, err);
        }
        rt->exec.in[i] = rt_host(rt, layer->in[i]);
    }
    for (uint32_t i = 0; i < layer->num_out; i++) {
        rt->exec.out[i] = rt_host(rt, layer->out[i]);
        rt->blob[layer->out[i]].on_host = true;
    }
    if (rt->layer[number].rows > 0 || rt->layer[number].products) {
        return run_npu(rt, number, err);
    }
    if (rt_is_int8(layer)) {
        return rt_int8_layer(rt->graph, layer, rt->exec.in[0], rt->exec.out[0], err);
    }
    net_exec_layer(&rt->exec, rt->graph, layer);
    return NET_OK;
}

/* An output that does not share the input's memory. */
static bool copy_blob(net_rt *rt, uint32_t from, uint32_t to, npu_status *ns) {
    if (rt_copies_on_device(rt, from, to)) {
        npu_tensor in = rt_tensor(rt, from, rt_addr(rt, from));
        npu_tensor out = rt_tensor(rt, to, rt_addr(rt, to));
        *ns = need_dev(rt, from) ? npu_copy_run(&rt->npu, &in, &out) : NPU_ERR_HAL;
        rt->blob[to].on_dev = *ns == NPU_OK;
        return *ns == NPU_OK;
    }
    bool ok = rt_need_host(rt, from);
    memcpy(rt_host(rt, to), rt_host(rt, from),
           (size_t)net_shape_elements(&rt->graph->blob[from].shape) * sizeof *rt->host);
    rt->blob[to].on_host = ok;
    return ok;
}

/* A layer without computation: its outputs share the memory of its inputs. */
static net_status run_nothing(net_rt *rt, const net_layer *layer, net_error *err) {
    bool dev = true;
    bool host = true;
    bool ok = true;
    npu_status ns = NPU_ERR_HAL;
    for (uint32_t i = 0; i < layer->num_in; i++) {
        dev = dev && rt->blob[layer->in[i]].on_dev;
        host = host && rt->blob[layer->in[i]].on_host;
    }
    if (!dev && !host) { /* a Concat of blobs on both sides */
        dev = rt->root[rt->blob[layer->out[0]].root].dev;
        host = !dev;
        for (uint32_t i = 0; i < layer->num_in; i++) {
            ok = (dev ? need_dev(rt, layer->in[i]) : rt_need_host(rt, layer->in[i])) && ok;
        }
    }
    for (uint32_t i = 0; ok && i < layer->num_out; i++) {
        rt_blob *out = &rt->blob[layer->out[i]];
        if (layer->num_in == 1 && rt_is_copied(rt, layer->in[0], layer->out[i])) {
            ok = copy_blob(rt, layer->in[0], layer->out[i], &ns);
            continue;
        }
        out->on_dev = dev;
        out->on_host = host;
    }
    return ok ? NET_OK : rt_device_failed(rt, layer, ns, err);
}

net_status rt_run_layer(net_rt *rt, uint32_t number, net_error *err) {
    const net_layer *layer = &rt->graph->layer[number];
    rt_layer *rl = &rt->layer[number];
    net_status status = rl->kind == RT_CPU       ? run_cpu(rt, number, err)
                        : rl->kind == RT_NOTHING ? run_nothing(rt, layer, err)
                                                 : run_npu(rt, number, err);
    for (uint32_t i = 0; status == NET_OK && !rt->options.reuse && i < layer->num_out; i++) {
        status = rt_need_host(rt, layer->out[i]) ? NET_OK : rt_device_failed(rt, layer, NPU_ERR_HAL, err);
    }
    if (status == NET_OK && !rt->options.reuse) {
        rl->hash = net_hash(rt_host(rt, layer->out[0]), net_shape_elements(&rt->graph->blob[layer->out[0]].shape));
    }
    return status;
}

net_status net_rt_run(net_rt *rt, const float *input, net_error *err) {
    const net_graph *g = rt->graph;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        rt->blob[i].on_dev = rt->blob[i].on_host = false;
    }
    for (uint32_t i = 0; i < g->num_inputs; i++) {
        uint32_t count = net_shape_elements(&g->blob[g->inputs[i]].shape);
        memcpy(rt_host(rt, g->inputs[i]), input, count * sizeof *input);
        rt->blob[g->inputs[i]].on_host = true;
        input += count;
    }
    for (uint32_t i = 0; i < g->num_layers; i++) {
        net_status status = g->layer[i].kind == NET_INPUT ? NET_OK : rt_run_layer(rt, i, err);
        if (status != NET_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        if (!rt_need_host(rt, g->outputs[i])) {
            return rt_device_failed(rt, &g->layer[g->blob[g->outputs[i]].producer], NPU_ERR_HAL, err);
        }
    }
    return NET_OK;
}

/* ---- queries ---- */

const float *net_rt_blob(const net_rt *rt, uint32_t blob) {
    return rt_host(rt, blob);
}

bool net_rt_blob_is_int8(const net_rt *rt, uint32_t blob) {
    return rt->blob[blob].int8;
}

uint64_t net_rt_layer_hash(const net_rt *rt, uint32_t layer) {
    return rt->layer[layer].hash;
}

bool net_rt_layer_on_npu(const net_rt *rt, uint32_t layer) {
    return net_rt_layer_where(rt, layer).place == NET_ON_NPU;
}

/* The FP32 average of whole maps is a reduction of the ALU. */
static net_unit unit_of(const rt_layer *rl) {
    bool alu =
        rl->kind > RT_POOL || (rl->kind == RT_POOL && rl->pool.global && rl->pool.type == NPU_POOL_CTRL_TYPE_AVG);
    return rl->rows > 0 || rl->products ? NET_UNIT_GEMM
           : rl->kind <= RT_NOTHING     ? NET_UNIT_NONE
           : rl->kind == RT_CONV        ? NET_UNIT_GEMM
           : alu                        ? NET_UNIT_ALU
                                        : NET_UNIT_POOL;
}

net_rt_where net_rt_layer_where(const net_rt *rt, uint32_t layer) {
    const rt_layer *rl = &rt->layer[layer];
    net_rt_where where = {
        .place = NET_ON_NPU,
        .unit = unit_of(rl),
        .reason = rl->reason,
        .cycles = rl->cycles,
        .mesh = rl->perf[NPU_PERF_SEL_SEL_GEMM_COMPUTE],
        .wait_input = rl->perf[NPU_PERF_SEL_SEL_IM2COL_WAITS_ROWS] + rl->perf[NPU_PERF_SEL_SEL_ALU_WAITS_OPERANDS] +
                      rl->perf[NPU_PERF_SEL_SEL_POOL_WAITS_INPUT],
        .wait_weights = rl->perf[NPU_PERF_SEL_SEL_IM2COL_WAITS_WEIGHTS],
        .wait_room = rl->perf[NPU_PERF_SEL_SEL_IM2COL_WAITS_ROOM] + rl->perf[NPU_PERF_SEL_SEL_ALU_WAITS_ROOM] +
                     rl->perf[NPU_PERF_SEL_SEL_POOL_WAITS_ROOM]};
    if (rl->kind == RT_CPU && rl->rows == 0 && !rl->products) {
        where.place = NET_ON_CPU;
    } else if (rl->kind == RT_NOTHING) {
        const net_layer *l = &rt->graph->layer[layer];
        bool fused = l->num_in == 1 && rt->layer[rt->graph->blob[l->in[0]].producer].fused == layer;
        where.place = fused ? NET_ON_NPU : NET_NOWHERE;
        where.fused = fused;
        where.unit = fused ? unit_of(&rt->layer[rt->graph->blob[l->in[0]].producer]) : NET_UNIT_NONE;
    }
    return where;
}

const uint64_t *net_rt_counters(const net_rt *rt, uint32_t layer) {
    return rt->layer[layer].perf;
}

net_rt_memory_use net_rt_memory_used(const net_rt *rt) {
    net_rt_memory_use use = {
        .device_arena = rt->arena_bytes, .host_arena = rt->host_bytes, .device_all = rt_load_bytes(rt)};
    for (uint32_t i = 0; i < rt->graph->num_blobs; i++) {
        const rt_root *root = &rt->root[i];
        use.device_blobs += rt->blob[i].root == i && root->dev ? root->dev_bytes : 0;
    }
    return use;
}
