/* int8.c - an INT8 network on the CPU: quantised layers in integers, the others as in the FP32 reference. */
#include <stdlib.h>
#include <string.h>

#include "int8.h"
#include "int8_sums.h"

struct net_int8 {
    const net_graph *graph;
    net_int8_path path;
    float **blob;    /* one array for each FP32 blob, inputs of a Concat inside its output */
    int8_t **q_blob; /* INT8 blobs; the outputs of a Split are its input */
    bool *owner;     /* the blob owns its memory */
    int8_layer *layer;
    int8_scratch scratch;
    net_exec exec;
};

static bool is_split(const net_layer *layer) {
    return layer->kind == NET_SPLIT;
}

/* ---- preparation ---- */

/* Is every consumer of an INT8 blob, through Split layers, a layer with INT8 products? */
static bool all_take_int8(const net_int8 *net, uint32_t blob) {
    uint32_t consumer = net->graph->blob[blob].consumer;
    if (consumer == NET_NONE || !is_split(&net->graph->layer[consumer])) {
        return consumer != NET_NONE && net->layer[consumer].used;
    }
    const net_layer *split = &net->graph->layer[consumer];
    for (uint32_t i = 0; i < split->num_out; i++) {
        if (!all_take_int8(net, split->out[i])) {
            return false;
        }
    }
    return true;
}

/* A vector of n elements is a map of n channels, and so is the input of one row of an inner product. */
static void describe(const net_graph *g, const net_layer *layer, int8_layer *l) {
    const net_shape *in = &g->blob[layer->in[0]].shape;
    const net_shape *out = &g->blob[layer->out[0]].shape;
    bool product = strcmp(layer->type, "InnerProduct") == 0;
    l->conv = &layer->conv;
    l->in = *in;
    l->out = *out;
    l->rows = product && in->dims == 2 && out->dims == 2 ? in->h : 1;
    if (product || in->dims == 1) {
        l->in = (net_shape){3, 1, 1, net_shape_elements(in) / l->rows, 1};
        l->out = (net_shape){3, 1, 1, layer->conv.num_output, 1};
    }
}

/* Weights as in the file, or float ones quantised with the file's scales; and the factors. false: out of memory. */
static bool prepare_arrays(const net_layer *layer, int8_layer *l) {
    const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
    const net_tensor *scale = net_layer_tensor(layer, NET_ROLE_WEIGHT_SCALE);
    const net_tensor *bias = net_layer_tensor(layer, NET_ROLE_BIAS);
    const net_tensor *top = net_layer_tensor(layer, NET_ROLE_TOP_SCALE);
    uint32_t outputs = layer->conv.num_output;
    uint32_t filter = weight->count / outputs;
    uint32_t share = outputs / scale->count; /* outputs of a weight scale */
    l->weight = malloc((size_t)weight->count + 1);
    l->factor = malloc(outputs * sizeof *l->factor);
    if (l->weight == NULL || l->factor == NULL) {
        return false;
    }
    l->bottom = net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0];
    l->requant = top != NULL;
    l->top = top != NULL ? top->f32[0] : 0.0f;
    l->bias = bias != NULL ? bias->f32 : NULL;
    for (uint32_t oc = 0; oc < outputs; oc++) {
        float of_weights = scale->f32[oc / share];
        float product = l->bottom * of_weights;
        l->factor[oc] = of_weights == 0.0f ? 0.0f : 1.0f / product;
        for (size_t i = (size_t)oc * filter; i < (size_t)(oc + 1) * filter; i++) {
            l->weight[i] = weight->i8 != NULL ? weight->i8[i] : net_quantize_value(weight->f32[i], of_weights);
        }
    }
    return true;
}

static net_status no_memory(const net_int8 *net, net_error *err) {
    return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory for the INT8 layers", net->graph->name);
}

static net_status prepare_layer(net_int8 *net, uint32_t number, net_error *err) {
    const net_layer *layer = &net->graph->layer[number];
    const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
    const net_tensor *scale = net_layer_tensor(layer, NET_ROLE_WEIGHT_SCALE);
    int8_layer *l = &net->layer[number];
    if (net_layer_products_are_dynamic(layer)) {
        return NET_OK; /* its row of the table computes it, in INT8 */
    }
    bool has_scales = scale != NULL && net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE) != NULL;
    if (!has_scales && (weight == NULL || weight->f32 != NULL)) {
        return NET_OK;
    }
    if (layer->asym.used || layer->wide) {
        return net_fail(err, NET_ERR_UNSUPPORTED, NET_WHERE ": %s the runtime", net->graph->name, layer->line,
                        layer->name, layer->type, layer->wide ? "INT16 needs" : "zero-points need");
    }
    if (!has_scales || weight == NULL || layer->conv.num_output == 0 || scale->count == 0 ||
        layer->conv.num_output % scale->count != 0) {
        return net_fail(err, NET_ERR_UNSUPPORTED, NET_WHERE ": INT8 weights with such scales are not supported",
                        net->graph->name, layer->line, layer->name, layer->type);
    }
    describe(net->graph, layer, l);
    if (!prepare_arrays(layer, l)) {
        return no_memory(net, err);
    }
    l->used = true;
    bool ok = true;
    if (net->path == NET_INT8_FAST && int8_vnni_takes(l)) {
        ok = int8_vnni_prepare(l);
    } else if (net->path != NET_INT8_SCALAR && int8_fast_takes(l)) {
        ok = int8_fast_prepare(l);
    }
    return ok ? NET_OK : no_memory(net, err);
}

static bool prepare_scratch(net_int8 *net) {
    size_t sums = 1;
    size_t planes = 1;
    size_t map = 1;
    size_t patch = 1;
    for (uint32_t i = 0; i < net->graph->num_layers; i++) {
        const int8_layer *l = &net->layer[i];
        if (l->used) {
            size_t outputs = net_shape_elements(&l->out);
            size_t plane = (size_t)l->out.w * l->out.h;
            sums = outputs > sums ? outputs : sums;
            planes = plane > planes ? plane : planes;
        }
        if (l->wide != NULL) {
            map = int8_fast_map(l) > map ? int8_fast_map(l) : map;
            patch = int8_fast_patch(l) > patch ? int8_fast_patch(l) : patch;
        } else if (l->packed != NULL) { /* bytes, two to an element */
            map = int8_vnni_map(l) / 2 + 1 > map ? int8_vnni_map(l) / 2 + 1 : map;
            patch = int8_vnni_patch(l) / 2 + 1 > patch ? int8_vnni_patch(l) / 2 + 1 : patch;
        }
    }
    net->scratch.sum = malloc(sums * sizeof *net->scratch.sum);
    net->scratch.value = malloc(planes * sizeof *net->scratch.value);
    net->scratch.map = malloc(map * sizeof *net->scratch.map);
    net->scratch.patch = malloc(patch * sizeof *net->scratch.patch);
    return net->scratch.sum != NULL && net->scratch.value != NULL && net->scratch.map != NULL &&
           net->scratch.patch != NULL;
}

/* Memory of a layer's outputs, and of its quantised input. Producers come before consumers. */
static bool prepare_blobs(net_int8 *net, uint32_t number) {
    const net_graph *g = net->graph;
    const net_layer *layer = &g->layer[number];
    int8_layer *l = &net->layer[number];
    if (l->used) {
        l->own_input = net->q_blob[layer->in[0]] == NULL;
        l->input = l->own_input ? malloc(net_shape_elements(&g->blob[layer->in[0]].shape)) : net->q_blob[layer->in[0]];
        if (l->input == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < layer->num_out; i++) {
        uint32_t b = layer->out[i];
        size_t count = net_shape_elements(&g->blob[b].shape);
        if (is_split(layer) && net->q_blob[layer->in[0]] != NULL) {
            net->q_blob[b] = net->q_blob[layer->in[0]];
        } else if (l->used && l->requant) {
            net->owner[b] = true;
            net->q_blob[b] = malloc(count);
        } else if (g->blob[b].home == b) {
            net->owner[b] = true;
            net->blob[b] = calloc(count, sizeof **net->blob);
        }
        if (net->owner[b] && net->blob[b] == NULL && net->q_blob[b] == NULL) {
            return false;
        }
    }
    return true;
}

static net_status prepare(net_int8 *net, net_error *err) {
    const net_graph *g = net->graph;
    net_status status = NET_OK;
    for (uint32_t i = 0; status == NET_OK && i < g->num_layers; i++) {
        status = prepare_layer(net, i, err);
    }
    for (uint32_t i = 0; status == NET_OK && i < g->num_layers; i++) {
        const net_layer *layer = &g->layer[i];
        if (net->layer[i].used && net->layer[i].requant && !all_take_int8(net, layer->out[0])) {
            return net_fail(err, NET_ERR_UNSUPPORTED,
                            NET_WHERE ": an INT8 output for a layer with FP32 inputs is not supported", g->name,
                            layer->line, layer->name, layer->type);
        }
    }
    for (uint32_t i = 0; status == NET_OK && i < g->num_layers; i++) {
        status = prepare_blobs(net, i) ? NET_OK : no_memory(net, err);
    }
    for (uint32_t i = 0; status == NET_OK && i < g->num_blobs; i++) {
        const net_blob *blob = &g->blob[i];
        if (!net->owner[i] && net->q_blob[i] == NULL) {
            net->blob[i] = net->blob[blob->home] + blob->offset;
        }
    }
    return status != NET_OK ? status : prepare_scratch(net) ? NET_OK : no_memory(net, err);
}

net_status net_int8_new(const net_graph *graph, net_int8_path path, net_int8 **out, net_error *err) {
    if (graph == NULL || out == NULL || !graph->planned || !graph->has_weights || (unsigned)path > NET_INT8_PLAIN) {
        return net_fail(err, NET_ERR_ARG, "net_int8_new: a planned graph with weights is needed");
    }
    net_int8 *net = calloc(1, sizeof *net);
    if (net == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    net->graph = graph;
    net->path = path;
    net->blob = calloc(graph->num_blobs, sizeof *net->blob);
    net->q_blob = calloc(graph->num_blobs, sizeof *net->q_blob);
    net->owner = calloc(graph->num_blobs, sizeof *net->owner);
    net->layer = calloc(graph->num_layers, sizeof *net->layer);
    bool ok = net->blob != NULL && net->q_blob != NULL && net->owner != NULL && net->layer != NULL;
    net_status status = ok ? prepare(net, err) : no_memory(net, err);
    status = status == NET_OK ? net_exec_new(graph, &net->exec, err) : status;
    if (status != NET_OK) {
        net_int8_free(net);
        return status;
    }
    *out = net;
    return NET_OK;
}

void net_int8_free(net_int8 *net) {
    if (net == NULL) {
        return;
    }
    for (uint32_t i = 0; net->owner != NULL && i < net->graph->num_blobs; i++) {
        if (net->owner[i]) {
            free(net->blob[i]);
            free(net->q_blob[i]);
        }
    }
    for (uint32_t i = 0; net->layer != NULL && i < net->graph->num_layers; i++) {
        int8_layer *l = &net->layer[i];
        free(l->weight);
        free(l->factor);
        free(l->wide);
        free(l->packed);
        free(l->base);
        if (l->own_input) {
            free(l->input);
        }
    }
    free(net->blob);
    free(net->q_blob);
    free(net->owner);
    free(net->layer);
    free(net->scratch.sum);
    free(net->scratch.value);
    free(net->scratch.map);
    free(net->scratch.patch);
    net_exec_free(&net->exec);
    free(net);
}

/* ---- one inference ---- */

static void quantize(const net_int8 *net, const float *in, float scale, int8_t *out, size_t count) {
    if (net->path != NET_INT8_SCALAR) {
        int8_quantize_fast(in, scale, out, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = net_quantize_value(in[i], scale);
    }
}

/* From sums to the outputs of one map. */
static void finish(const net_int8 *net, const net_layer *layer, const int8_layer *l, float *out, int8_t *q_out) {
    size_t plane = (size_t)l->out.w * l->out.h;
    for (uint32_t oc = 0; oc < l->out.c; oc++) {
        const int32_t *sum = net->scratch.sum + oc * plane;
        float *value = l->requant ? net->scratch.value : out + oc * plane;
        float factor = l->factor[oc];
        for (size_t i = 0; i < plane; i++) {
            float v = (float)sum[i] * factor;
            value[i] = l->bias == NULL ? v : v + l->bias[oc];
        }
        net_act_apply(&layer->act, value, value, plane);
        if (l->requant) {
            quantize(net, value, l->top, q_out + oc * plane, plane);
        }
    }
}

static void run_int8(net_int8 *net, uint32_t number) {
    const net_graph *g = net->graph;
    const net_layer *layer = &g->layer[number];
    const int8_layer *l = &net->layer[number];
    size_t in = net_shape_elements(&l->in);
    size_t out = net_shape_elements(&l->out);
    if (l->own_input) {
        quantize(net, net->blob[layer->in[0]], l->bottom, l->input, in * l->rows);
    }
    for (uint32_t row = 0; row < l->rows; row++) {
        (l->packed != NULL ? int8_sums_vnni
         : l->wide != NULL ? int8_sums_fast
                           : int8_sums_scalar)(l, l->input + row * in, &net->scratch);
        float *to = l->requant ? NULL : net->blob[layer->out[0]] + row * out;
        int8_t *q_to = l->requant ? net->q_blob[layer->out[0]] + row * out : NULL;
        finish(net, layer, l, to, q_to);
    }
}

void net_int8_set_input(net_int8 *net, const float *input) {
    const net_graph *g = net->graph;
    for (uint32_t i = 0; i < g->num_inputs; i++) {
        uint32_t count = net_shape_elements(&g->blob[g->inputs[i]].shape);
        memcpy(net->blob[g->inputs[i]], input, count * sizeof *input);
        input += count;
    }
}

void net_int8_run_layer(net_int8 *net, uint32_t number) {
    const net_layer *layer = &net->graph->layer[number];
    if (net->layer[number].used) {
        run_int8(net, number);
        return;
    }
    if (is_split(layer) && net->q_blob[layer->in[0]] != NULL) {
        return;
    }
    for (uint32_t i = 0; i < layer->num_in; i++) {
        net->exec.in[i] = net->blob[layer->in[i]];
    }
    for (uint32_t i = 0; i < layer->num_out; i++) {
        net->exec.out[i] = net->blob[layer->out[i]];
    }
    net_exec_layer(&net->exec, net->graph, layer);
}

void net_int8_run(net_int8 *net, const float *input) {
    net_int8_set_input(net, input);
    for (uint32_t i = 0; i < net->graph->num_layers; i++) {
        net_int8_run_layer(net, i);
    }
}

const float *net_int8_blob(const net_int8 *net, uint32_t blob) {
    return net->blob[blob];
}

const int8_t *net_int8_q_blob(const net_int8 *net, uint32_t blob) {
    return net->q_blob[blob];
}

const int8_t *net_int8_q_input(const net_int8 *net, uint32_t layer) {
    return net->layer[layer].used ? net->layer[layer].input : NULL;
}
