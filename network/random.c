/* random.c - seeded random weights for networks of which only the .param file exists. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../tb/case/rng.h"
#include "op.h"

/* Scale of random INT8 layers: activations of -4..4 fill the range. */
#define ACTIVATION_SCALE 31.75f

/* Range of a uniform draw, by role. Weights keep the magnitude of the values: variance 2 / inputs, as half of it is
 * lost in a ReLU. */
static void range_of(net_role role, uint64_t inputs, float *lo, float *hi) {
    float weight = sqrtf(6.0f / (float)inputs);
    switch (role) {
    case NET_ROLE_WEIGHT:
        *lo = -weight;
        *hi = weight;
        break;
    case NET_ROLE_SCALE:
    case NET_ROLE_VARIANCE:
        *lo = 0.5f;
        *hi = 1.5f;
        break;
    case NET_ROLE_BIAS:
    case NET_ROLE_MEAN:
        *lo = -0.1f;
        *hi = 0.1f;
        break;
    case NET_ROLE_WEIGHT_SCALE: /* set from the weights */
    case NET_ROLE_BOTTOM_SCALE:
    case NET_ROLE_TOP_SCALE:
        *lo = *hi = ACTIVATION_SCALE;
        break;
    case NET_ROLE_OTHER:
    default:
        *lo = -1.0f;
        *hi = 1.0f;
        break;
    }
}

/* 127 / largest weight, for each group of weights that shares a scale. */
static void scales_from_weights(const net_tensor *weight, net_tensor *scale) {
    uint32_t share = scale->count == 0 ? 0 : weight->count / scale->count;
    for (uint32_t i = 0; i < scale->count; i++) {
        float largest = 0.0f;
        for (uint32_t k = 0; k < share; k++) {
            float v = fabsf(weight->f32[(size_t)i * share + k]);
            largest = v > largest ? v : largest;
        }
        scale->f32[i] = largest > 0.0f ? 127.0f / largest : 0.0f;
    }
}

static net_status random_layer(net_graph *graph, net_layer *layer, const tb_rng *rng, uint64_t *elements,
                               net_error *err) {
    net_arrays arrays;
    net_op_arrays(layer, &arrays);
    for (uint32_t k = 0; k < arrays.count; k++) {
        int64_t count = arrays.item[k].elements;
        *elements += count > 0 ? (uint64_t)count : 0;
        if (count < 0 || *elements > NET_MAX_BIN_BYTES / 4) {
            return net_fail(err, NET_ERR_FORMAT, NET_WHERE ": an impossible number of weights: %lld", graph->name,
                            layer->line, layer->name, layer->type, (long long)count);
        }
        net_tensor *t = &layer->tensor[k];
        tb_rng own = tb_rng_fork(rng, k);
        int32_t outputs = net_layer_int(layer, 0, 1);
        float lo;
        float hi;
        layer->num_tensors = k + 1;
        t->role = arrays.item[k].role;
        t->count = (uint32_t)count;
        t->f32 = malloc((size_t)count * sizeof *t->f32 + 1);
        if (t->f32 == NULL) {
            return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory for %lld weights", graph->name,
                            (long long)count);
        }
        range_of(t->role, outputs > 0 && count > outputs ? (uint64_t)count / (uint32_t)outputs : 1, &lo, &hi);
        for (int64_t i = 0; i < count; i++) {
            t->f32[i] = tb_rng_f32_range(&own, lo, hi);
        }
        if (t->role == NET_ROLE_WEIGHT_SCALE) {
            scales_from_weights(&layer->tensor[0], t);
        }
    }
    return NET_OK;
}

net_status net_graph_random_weights(net_graph *graph, uint64_t seed, net_error *err) {
    if (graph == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_graph_random_weights: null argument");
    }
    uint64_t elements = 0;
    net_status status = NET_OK;
    tb_rng rng = tb_rng_stream(seed, "network.weights");
    net_graph_free_weights(graph);
    for (uint32_t i = 0; status == NET_OK && i < graph->num_layers; i++) {
        tb_rng own = tb_rng_fork(&rng, i);
        status = random_layer(graph, &graph->layer[i], &own, &elements, err);
    }
    if (status != NET_OK) {
        net_graph_free_weights(graph);
        return status;
    }
    graph->has_weights = true;
    return NET_OK;
}
