/* rt_load.c - device memory, weights and addresses. */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

#define ZEROS (1u << 20)
#define BUFFER_COST 128u /* alignment and guard of a buffer on the device */

void rt_address(rt_layer *rl, const uint32_t in[2], uint32_t out) {
    uint32_t a = rl->swapped ? 1 : 0;
    rl->conv.ifm_addr = in[0];
    rl->conv.ofm_addr = out;
    rl->pool.in.addr = in[0];
    rl->pool.out.addr = out;
    rl->pool.table_addr = rl->p.addr;
    rl->norm.in_addr = in[0];
    rl->norm.out_addr = out;
    rl->norm.gamma_addr = rl->p.addr;
    rl->norm.beta_addr = rl->q.addr;
    rl->elt.a.addr = in[a];
    rl->elt.b.addr = in[1 - a];
    rl->elt.out.addr = out;
    rl->elt.p_addr = rl->by_channel ? in[1 - a] : rl->p.addr;
    rl->elt.q_addr = rl->q.addr;
}

static uint64_t layer_bytes(const rt_layer *rl) {
    uint64_t bytes = rl->p.bytes + rl->q.bytes + 2 * (uint64_t)BUFFER_COST;
    if (rl->rows > 0) {
        bytes += rt_rows_bytes(rl) + 3 * (uint64_t)BUFFER_COST;
    }
    return rl->kind == RT_CONV || rl->rows > 0
               ? bytes + rl->plan.wgt_bytes + 2 * (uint64_t)rl->plan.param_bytes + 3 * (uint64_t)BUFFER_COST
               : bytes;
}

uint64_t rt_load_bytes(const net_rt *rt) {
    uint64_t bytes = rt->arena_bytes + BUFFER_COST + rt_products_bytes(rt) + 7 * (uint64_t)BUFFER_COST;
    for (uint32_t i = 0; i < rt->graph->num_layers; i++) {
        bytes += rt_runs(rt, i) ? layer_bytes(&rt->layer[i]) : 0;
    }
    return bytes;
}

static net_status device_memory(const net_rt *rt, const net_layer *layer, net_error *err) {
    return net_fail(err, NET_ERR_MEMORY, "%.150s:%u: layer '%.60s' does not fit into device memory", rt->graph->name,
                    layer->line, layer->name);
}

/* Upload bytes into a new input buffer. 0: does not fit. */
static uint32_t upload_new(npu_dev *dev, const void *src, uint32_t bytes) {
    uint32_t addr = npu_dev_alloc(dev, bytes, 16, NPU_BUF_IN);
    return addr != 0 && npu_dev_write(dev, addr, src, bytes) ? addr : 0;
}

static npu_status pack(const net_rt *rt, const net_layer *layer, const rt_layer *rl, const int8_t *weights,
                       int8_t *packed) {
    if (rl->linear) {
        uint32_t length = net_shape_elements(&rt->graph->blob[layer->in[0]].shape);
        return npu_linear_pack_weights(&rl->conv, &rl->plan, length, weights, packed, rl->plan.wgt_bytes);
    }
    return npu_conv_pack_weights(&rl->conv, &rl->plan, weights, packed, rl->plan.wgt_bytes);
}

/* Biases in FP32; of a layer with a zero-point int32 in steps of the sums, less the sum of the weights times that. */
static void make_bias(const net_layer *layer, const int8_t *weights, void *param) {
    const net_tensor *bias = net_layer_tensor(layer, NET_ROLE_BIAS);
    uint32_t outputs = layer->conv.num_output;
    uint32_t filter = net_layer_tensor(layer, NET_ROLE_WEIGHT)->count / outputs;
    int32_t *steps = param;
    if (!layer->asym.used) {
        memcpy(param, bias->f32, outputs * sizeof *bias->f32);
        return;
    }
    for (uint32_t c = 0; c < outputs; c++) {
        int64_t sum = 0;
        for (size_t i = (size_t)c * filter; i < (size_t)(c + 1) * filter; i++) {
            sum += weights[i];
        }
        steps[c] = (int32_t)(uint32_t)(rt_asym_bias(layer, c) - layer->asym.zero * sum);
    }
}

/* Factors, and the bias if there is one. false: no memory on the device. */
static bool upload_factors(net_rt *rt, const net_layer *layer, rt_layer *rl, const int8_t *weights, float *param,
                           npu_status *ns) {
    const bool bias = rl->conv.has_bias;
    uint32_t outputs = layer->conv.num_output;
    float *scale = malloc((size_t)outputs * sizeof *scale + 1);
    if (scale == NULL) {
        return false;
    }
    for (uint32_t c = 0; c < outputs; c++) {
        scale[c] = rt_weight_scale(layer, c);
    }
    *ns = npu_conv_make_oscale(&rl->conv, &rl->plan, scale, param, rl->plan.param_bytes);
    free(scale);
    rl->conv.oscale_addr = upload_new(rt->dev, param, rl->plan.param_bytes);
    if (bias) {
        memset(param, 0, rl->plan.param_bytes);
        make_bias(layer, weights, param);
        rl->conv.bias_addr = upload_new(rt->dev, param, rl->plan.param_bytes);
    }
    return rl->conv.oscale_addr != 0 && (!bias || rl->conv.bias_addr != 0);
}

static net_status load_conv(net_rt *rt, const net_layer *layer, rt_layer *rl, net_error *err) {
    int8_t *weights = layer->wide ? NULL : rt_int8_weights(layer);
    int16_t *weights16 = layer->wide ? rt_int16_weights(layer) : NULL;
    int8_t *packed = malloc((size_t)rl->plan.wgt_bytes + 1);
    float *param = calloc(1, (size_t)rl->plan.param_bytes + 4);
    net_status status = (weights == NULL && weights16 == NULL) || packed == NULL || param == NULL
                            ? net_fail(err, NET_ERR_MEMORY, "out of memory for '%.60s'", layer->name)
                            : NET_OK;
    if (status == NET_OK) {
        npu_status ns = layer->wide
                            ? npu_conv_pack_weights16(&rl->conv, &rl->plan, weights16, packed, rl->plan.wgt_bytes)
                            : pack(rt, layer, rl, weights, packed);
        bool ok = ns == NPU_OK;
        if (ok) {
            rl->conv.wgt_addr = upload_new(rt->dev, packed, rl->plan.wgt_bytes);
            ok = upload_factors(rt, layer, rl, weights, param, &ns) && rl->conv.wgt_addr != 0;
        }
        status = ns != NPU_OK ? net_fail(err, NET_ERR_DEVICE, "%.150s:%u: layer '%.60s': %s", rt->graph->name,
                                         layer->line, layer->name, npu_strerror(ns))
                 : ok         ? NET_OK
                              : device_memory(rt, layer, err);
    }
    free(weights);
    free(weights16);
    free(packed);
    free(param);
    return status;
}

/*
 * The arena is filled with zeros: the NPU may read gaps between channels, and reads of unwritten bytes are a failure.
 */
static bool make_arena(net_rt *rt) {
    if (rt->arena_bytes == 0) {
        return true;
    }
    uint32_t bytes = (uint32_t)rt->arena_bytes;
    uint8_t *zeros = calloc(1, ZEROS);
    rt->arena = npu_dev_alloc(rt->dev, bytes, 64, NPU_BUF_SCRATCH);
    bool ok = zeros != NULL && rt->arena != 0;
    for (uint32_t at = 0; ok && at < bytes; at += ZEROS) {
        ok = npu_dev_write(rt->dev, rt->arena + at, zeros, bytes - at < ZEROS ? bytes - at : ZEROS);
    }
    free(zeros);
    return ok;
}

uint32_t rt_addr(const net_rt *rt, uint32_t blob) {
    const rt_blob *b = &rt->blob[blob];
    return rt->arena + (uint32_t)(rt->root[b->root].dev_place + b->dev_at);
}

static bool upload_array(net_rt *rt, rt_array *array) {
    array->addr = array->data == NULL ? 0 : upload_new(rt->dev, array->data, array->bytes);
    return array->data == NULL || array->addr != 0;
}

net_status rt_load(net_rt *rt, net_error *err) {
    if (!make_arena(rt)) {
        return net_fail(err, NET_ERR_MEMORY, "%.150s: blobs of %llu bytes do not fit into device memory",
                        rt->graph->name, (unsigned long long)rt->arena_bytes);
    }
    if (!rt_load_products(rt)) {
        return net_fail(err, NET_ERR_MEMORY, "%.150s: products of %llu bytes do not fit into device memory",
                        rt->graph->name, (unsigned long long)rt_products_bytes(rt));
    }
    for (uint32_t i = 0; i < rt->graph->num_layers; i++) {
        const net_layer *layer = &rt->graph->layer[i];
        rt_layer *rl = &rt->layer[i];
        if ((rl->kind <= RT_NOTHING && rl->rows == 0) || !rt_runs(rt, i)) {
            continue;
        }
        if (rl->rows > 0) {
            net_status status = rt_load_rows(rt, rl) ? load_conv(rt, layer, rl, err) : device_memory(rt, layer, err);
            if (status != NET_OK) {
                return status;
            }
            continue;
        }
        if (!upload_array(rt, &rl->p) || !upload_array(rt, &rl->q)) {
            return device_memory(rt, layer, err);
        }
        const uint32_t in[2] = {rt_addr(rt, layer->in[0]), rt_addr(rt, layer->in[layer->num_in > 1 ? 1 : 0])};
        rt_address(rl, in, rt_addr(rt, layer->out[0]));
        rl->conv.scratch_addr = rt->arena + rl->scratch;
        rl->conv.scratch_bytes = rl->kind == RT_CONV ? rl->plan.scratch_bytes : 0;
        rl->norm.scratch_addr = rt->arena + rl->scratch;
        rl->norm.scratch_bytes = npu_rows_scratch_bytes(&rl->norm);
        net_status status = rl->kind == RT_CONV ? load_conv(rt, layer, rl, err) : NET_OK;
        if (status != NET_OK) {
            return status;
        }
    }
    return NET_OK;
}
