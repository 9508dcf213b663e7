/*
 * The runtime on the golden model: random small networks, each layer of which is compared with its definition over the
 * inputs that the runtime itself gave it. INT8 layers bit for bit with the reference of ncnn's arithmetic (ncnn_ref.h),
 * the others with the FP32 reference of their type: bit for bit, but for averages and functions with an exponential.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../network/rt.h"
#include "../tb/case/rng.h"
#include "ncnn_ref.h"
#include "net_random.h"

#define FIT_BOUND 1e-3f /* docs/npu/activations.md: of max(1, |v|) */

/* What must have happened over all networks. */
typedef enum event {
    E_CONV,
    E_DEPTHWISE,
    E_GROUPS,
    E_INNER_PRODUCT,
    E_LINEAR,
    E_MATRIX,    /* an inner product of each row of a matrix */
    E_UNALIGNED, /* an inner product over a vector inside a Concat */
    E_INT8_OUT,
    E_INT8_IN,
    E_FUSED_CONV,
    E_FUSED_ELTWISE,
    E_POOL,
    E_GLOBAL,
    E_ELTWISE,
    E_THREE,
    E_BY_CHANNEL,
    E_SWAPPED,
    E_ROWS,     /* a broadcast by rows */
    E_ELEMENTS, /* one operand has an element for each piece */
    E_SUM,
    E_WINDOW, /* a reduction of rows or columns alone */
    E_NORM,
    E_ACT,
    E_SOFTMAX,
    E_ACROSS,
    E_LAYER_NORM,
    E_RMS_NORM,
    E_NORMS,
    E_UPSAMPLE,
    E_CONCAT,
    E_COPY, /* an output of a Split that lies elsewhere */
    E_RESHAPE,
    E_MOVE,
    E_CPU,
    E_GAPS,
    E_REUSED,
    E_POOLS_FIRST, /* before a Concat instead of behind it */
    E_COPIED_CONCAT,
    E_OVERLAP, /* joined maps of which none is part of the other */
    E_SLICE,   /* all outputs are where they were */
    E_MERGED,
    EVENTS
} event;

static const char *const event_names[EVENTS] = {"convolution",
                                                "depthwise",
                                                "groups",
                                                "inner product",
                                                "vector",
                                                "rows of a matrix",
                                                "unaligned vector",
                                                "INT8 output",
                                                "INT8 input",
                                                "fused into conv",
                                                "fused into ALU",
                                                "pooling",
                                                "global pool",
                                                "element-wise",
                                                "three inputs",
                                                "one by channel",
                                                "operands swapped",
                                                "broadcast rows",
                                                "broadcast elements",
                                                "sum",
                                                "reduced rows",
                                                "normalisation",
                                                "activation layer",
                                                "softmax of rows",
                                                "softmax across",
                                                "layer norm",
                                                "RMS norm",
                                                "maps one by one",
                                                "upsampling",
                                                "concat",
                                                "copy of a Split",
                                                "reshape in place",
                                                "channels moved",
                                                "CPU",
                                                "gaps between channels",
                                                "memory reused",
                                                "poolings moved before a Concat",
                                                "Concat as copies",
                                                "joined maps that overlap",
                                                "slice in place",
                                                "convolutions merged"};

typedef struct rig {
    ncnn_fit fit;
    uint64_t seen[EVENTS];
    uint64_t layers;
    char text[NET_RANDOM_TEXT];
    uint64_t seed;
    net_graph graph;
    npu_dev *dev;
    net_rt *rt;
} rig;

static npu_dev *open_model(uint32_t n, uint64_t bytes) {
    char err[400] = "";
    npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = n, .seed = 1, .poison_reads = true, .ddr_bytes = bytes};
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    if (dev == NULL) {
        fail_msg("%s", err);
    }
    return dev;
}

/* ---- networks ---- */

/* A random network that is INT8 where it can be; every second one through the optimiser, so that both layers of their
 * own and fused ones run. */
static void make_network(rig *r, uint64_t seed) {
    net_error err = {""};
    size_t bytes = net_random_param(seed, 4 + (uint32_t)(seed % 28), r->text);
    net_graph *g = &r->graph;
    r->seed = seed;
    net_status status = net_graph_parse_param(g, r->text, bytes, "random", &err);
    status = status == NET_OK ? net_graph_plan(g, &err) : status;
    status = status == NET_OK ? net_graph_random_weights(g, seed, &err) : status;
    /* an output without weights: its scale becomes 0 */
    for (uint32_t i = 0; status == NET_OK && seed % 3 == 0 && i < g->num_layers; i++) {
        net_tensor *t = &g->layer[i].tensor[0];
        for (uint32_t k = 0; g->layer[i].op->macs != NULL && k < t->count / g->layer[i].conv.num_output; k++) {
            t->f32[k] = 0.0f;
        }
    }
    status = status == NET_OK && seed % 2 == 0 ? net_optimize(g, NULL, NULL, NULL, &err) : status;
    status = status == NET_OK && seed % 11 != 0 ? net_quantize_seeded(g, seed, &err) : status;
    status = status == NET_OK && seed % 2 == 0 ? net_optimize(g, NULL, NULL, NULL, &err) : status;
    if (status != NET_OK) {
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, err.text, r->text);
    }
}

static void wrong(const rig *r, const net_layer *layer, size_t at, double got, double expected) {
    fail_msg("seed %llu, layer '%s' (%s), element %zu: %.9g, expected %.9g\n%s", (unsigned long long)r->seed,
             layer->name, layer->type, at, got, expected, r->text);
}

/* ---- INT8 layers ---- */

static ncnn_layer describe(const net_graph *g, const net_layer *layer) {
    const net_conv *c = &layer->conv;
    const net_shape *is = &g->blob[layer->in[0]].shape;
    bool vector = g->blob[layer->out[0]].shape.dims != 3;
    return (ncnn_layer){.kind = vector                                    ? NCNN_INNER_PRODUCT
                                : strcmp(layer->type, "Convolution") == 0 ? NCNN_CONVOLUTION
                                                                          : NCNN_CONVOLUTION_DW,
                        .w = vector ? (int32_t)(net_shape_elements(is) / g->blob[layer->out[0]].shape.h)
                                    : (int32_t)is->w,
                        .h = vector ? 1 : (int32_t)is->h,
                        .c = vector ? 1 : (int32_t)is->c,
                        .num_output = (int32_t)c->num_output,
                        .kernel_w = (int32_t)c->kernel_w,
                        .kernel_h = (int32_t)c->kernel_h,
                        .dilation_w = (int32_t)c->dilation_w,
                        .dilation_h = (int32_t)c->dilation_h,
                        .stride_w = (int32_t)c->stride_w,
                        .stride_h = (int32_t)c->stride_h,
                        .pad_left = (int32_t)c->pad_l,
                        .pad_right = (int32_t)c->pad_r,
                        .pad_top = (int32_t)c->pad_t,
                        .pad_bottom = (int32_t)c->pad_b,
                        .bias_term = net_layer_tensor(layer, NET_ROLE_BIAS) != NULL,
                        .group = (int32_t)c->groups,
                        .activation_type = (int32_t)layer->act.type,
                        .weight_scales = (int32_t)net_layer_tensor(layer, NET_ROLE_WEIGHT_SCALE)->count,
                        .activation_params = {layer->act.a, layer->act.b},
                        .bottom_scale = net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0]};
}

/* The reference's output as floats; of an INT8 blob the INT8 values. */
static float *reference(rig *r, const net_layer *layer, bool activate) {
    const net_graph *g = &r->graph;
    ncnn_layer l = describe(g, layer);
    const rt_blob *out = &r->rt->blob[layer->out[0]];
    ncnn_blobs b = {.in = net_rt_blob(r->rt, layer->in[0]),
                    .weight = net_layer_tensor(layer, NET_ROLE_WEIGHT)->i8,
                    .weight_scale = net_layer_tensor(layer, NET_ROLE_WEIGHT_SCALE)->f32,
                    .bias = l.bias_term != 0 ? net_layer_tensor(layer, NET_ROLE_BIAS)->f32 : NULL};
    uint32_t count = net_shape_elements(&g->blob[layer->out[0]].shape);
    float *values = calloc((size_t)count + 1, sizeof *values);
    assert_non_null(values);
    l.activation_type = activate ? l.activation_type : NCNN_ACT_NONE;
    l.out_int8 = out->int8;
    l.top_scale = out->int8 ? net_layer_tensor(layer, NET_ROLE_TOP_SCALE)->f32[0] : 0.0f;
    for (uint32_t row = 0; row < g->blob[layer->out[0]].shape.h; row++) {
        assert_int_equal(ncnn_ref_run(&l, &b, &r->fit, NCNN_RIGHT, NULL, values + (size_t)row * (uint32_t)l.num_output),
                         0);
        if (l.kind != NCNN_INNER_PRODUCT) {
            break; /* a map at once */
        }
        b.in = (const float *)b.in + l.w;
    }
    for (uint32_t i = count; out->int8 && i-- > 0;) { /* widened where they lie, from the end */
        int8_t q;
        memcpy(&q, (const int8_t *)values + i, 1);
        values[i] = (float)q;
    }
    return values;
}

/* Functions that the NPU fits. */
static bool is_fitted(const net_act *act) {
    return act->type == NET_ACT_SIGMOID || act->type == NET_ACT_MISH || act->type == NET_ACT_SWISH ||
           act->type == NET_ACT_TANH || act->type == NET_ACT_ELU || act->type == NET_ACT_SOFTPLUS ||
           act->type == NET_ACT_GELU || act->type == NET_ACT_GELU_TANH;
}

/* v: what the function was applied to. */
static bool near(float got, float expected, float v, float bound) {
    float size = fabsf(v) > 1.0f ? fabsf(v) : 1.0f;
    return got == expected || (isnan(got) && isnan(expected)) || fabsf(got - expected) <= bound * size;
}

/* On the NPU every activation that ncnn can fuse is bit for bit that of the contract; on the CPU all are those of the
 * FP32 reference. */
static void check_int8(rig *r, uint32_t number) {
    const net_graph *g = &r->graph;
    const net_layer *layer = &g->layer[number];
    const rt_layer *rl = &r->rt->layer[number];
    const rt_blob *out = &r->rt->blob[layer->out[0]];
    const float *got = net_rt_blob(r->rt, layer->out[0]);
    bool on_npu = rl->kind == RT_CONV || rl->rows > 0;
    const net_act *act = !on_npu ? &layer->act : rl->fused != NET_NONE ? &g->layer[rl->fused].act : NULL;
    float *before = reference(r, layer, on_npu);
    float bound = act != NULL && on_npu && is_fitted(act) ? FIT_BOUND : 0.0f;
    for (uint32_t i = 0; i < net_shape_elements(&g->blob[layer->out[0]].shape); i++) {
        float value = out->int8 ? (float)net_quantize_value(got[i], out->scale) : got[i];
        float expected = before[i];
        if (act != NULL) {
            net_act_apply(act, &before[i], &expected, 1);
        }
        if (bound == 0.0f ? memcmp(&value, &expected, sizeof value) != 0 : !near(value, expected, before[i], bound)) {
            wrong(r, layer, i, (double)value, (double)expected);
        }
    }
    free(before);
}

/* ---- all layers ---- */

/* Every layer by the library's own definition. */
static void check_defined(rig *r, uint32_t number) {
    const net_layer *layer = &r->graph.layer[number];
    net_rt_difference first;
    net_error err = {""};
    bool equal = false;
    assert_int_equal(net_rt_check(r->rt, number, &equal, &first, &err), NET_OK);
    if (!equal) {
        wrong(r, layer, first.element, (double)first.got, (double)first.expected);
    }
}

/* ---- what happened ---- */

static void count_place(rig *r, uint32_t number) {
    const net_layer *layer = &r->graph.layer[number];
    const rt_blob *in = layer->num_in > 0 ? &r->rt->blob[layer->in[0]] : NULL;
    for (uint32_t i = 0; r->rt->layer[number].kind == RT_NOTHING && layer->num_in == 1 && i < layer->num_out; i++) {
        const rt_blob *out = &r->rt->blob[layer->out[i]];
        r->seen[E_COPY] += rt_is_copied(r->rt, layer->in[0], layer->out[i]);
        r->seen[E_RESHAPE] +=
            out->root == in->root && (strcmp(layer->type, "Flatten") == 0 || strcmp(layer->type, "Reshape") == 0);
    }
    r->seen[E_CONCAT] += strcmp(layer->type, "Concat") == 0;
    r->seen[E_SLICE] += strcmp(layer->type, "Slice") == 0;
}

static void count_conv(rig *r, uint32_t number) {
    const net_layer *layer = &r->graph.layer[number];
    const rt_layer *rl = &r->rt->layer[number];
    bool vector = r->graph.blob[layer->out[0]].shape.dims != 3;
    r->seen[vector                    ? E_INNER_PRODUCT
            : layer->conv.groups == 1 ? E_CONV
            : layer->conv.groups == 2 ? E_GROUPS
                                      : E_DEPTHWISE]++;
    r->seen[E_LINEAR] += rl->linear;
    r->seen[E_UNALIGNED] += r->rt->blob[layer->in[0]].dev_at % 16 != 0 && !rl->linear && vector;
    r->seen[E_INT8_OUT] += r->rt->blob[layer->out[0]].int8;
    r->seen[E_INT8_IN] += r->rt->blob[layer->in[0]].int8;
    r->seen[E_FUSED_CONV] += rl->fused != NET_NONE;
}

static void count_layer(rig *r, uint32_t number) {
    const net_layer *layer = &r->graph.layer[number];
    const rt_layer *rl = &r->rt->layer[number];
    r->layers++;
    switch (rl->kind) {
    case RT_CONV:
        count_conv(r, number);
        break;
    case RT_POOL:
        r->seen[rl->pool.global ? E_GLOBAL : E_POOL]++;
        r->seen[E_SUM] += rl->pool.sum;
        r->seen[E_WINDOW] += strcmp(layer->type, "Reduction") == 0 && (rl->pool.kw == 1) != (rl->pool.kh == 1);
        break;
    case RT_ELTWISE:
        r->seen[net_op_is_act(layer->op) ? E_ACT : layer->num_in > 1 ? E_ELTWISE : E_NORM]++;
        r->seen[E_THREE] += layer->num_in == 3;
        r->seen[E_BY_CHANNEL] += rl->by_channel;
        r->seen[E_SWAPPED] += rl->swapped;
        r->seen[E_ROWS] += rl->pieces > 0 && rl->elt.p_kind == NPU_VECTOR;
        r->seen[E_ELEMENTS] += rl->pieces > 0 && rl->elt.p_kind == NPU_CHANNEL;
        r->seen[E_FUSED_ELTWISE] += rl->fused != NET_NONE;
        break;
    case RT_UPSAMPLE:
        r->seen[E_UPSAMPLE]++;
        break;
    case RT_MOVE:
        r->seen[E_MOVE]++;
        break;
    case RT_NORM:
        r->seen[rl->norm.kind == NPU_ROWS_SOFTMAX          ? E_SOFTMAX
                : rl->norm.kind == NPU_ROWS_SOFTMAX_ACROSS ? E_ACROSS
                : rl->norm.kind == NPU_ROWS_LAYER_NORM     ? E_LAYER_NORM
                                                           : E_RMS_NORM]++;
        r->seen[E_NORMS] += rl->norms > 1;
        break;
    case RT_CPU:
        r->seen[rl->rows > 0 ? E_MATRIX : E_CPU]++;
        break;
    case RT_NOTHING:
    default:
        count_place(r, number);
        break;
    }
    r->seen[E_GAPS] += rl->kind > RT_NOTHING && !rt_gapless(&r->graph.blob[layer->out[0]].shape);
}

/* Maps in one root, with bytes in common, of which none holds the other. */
static void count_overlaps(rig *r) {
    const net_graph *g = &r->graph;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        const rt_blob *a = &r->rt->blob[i];
        const uint32_t a_end = a->host_at + net_shape_elements(&g->blob[i].shape);
        for (uint32_t k = 0; k < g->num_blobs; k++) {
            const rt_blob *b = &r->rt->blob[k];
            const uint32_t b_end = b->host_at + net_shape_elements(&g->blob[k].shape);
            r->seen[E_OVERLAP] += a->root == b->root && a->host_at < b->host_at && b->host_at < a_end && a_end < b_end;
        }
    }
}

/* ---- tests ---- */

/* Roots that are alive together do not overlap, on either side; a blob lies inside its root. */
static void check_memory(const rig *r) {
    const net_rt *rt = r->rt;
    for (uint32_t i = 0; i < r->graph.num_blobs; i++) {
        const rt_root *a = &rt->root[i];
        const rt_blob *b = &rt->blob[i];
        assert_true(rt->blob[b->root].root == b->root);
        assert_true(b->host_at + net_shape_elements(&r->graph.blob[i].shape) <= rt->root[b->root].elements);
        for (uint32_t k = 0; b->root == i && k < i; k++) {
            const rt_root *c = &rt->root[k];
            bool together = rt->blob[k].root == k && c->first <= a->last && a->first <= c->last;
            uint64_t as = a->elements;
            uint64_t cs = c->elements;
            if (together && a->dev && c->dev) {
                assert_true(a->dev_place + a->dev_bytes <= c->dev_place || c->dev_place + c->dev_bytes <= a->dev_place);
            }
            if (together && a->host && c->host) {
                assert_true(a->host_place + as <= c->host_place || c->host_place + cs <= a->host_place);
            }
        }
    }
}

static void open_with(rig *r, uint32_t n, net_rt_options options) {
    net_error err = {""};
    uint64_t bytes = 0;
    assert_int_equal(net_rt_memory(&r->graph, n, &options, &bytes, &err), NET_OK);
    r->dev = open_model(n, bytes);
    if (net_rt_new_with(&r->graph, r->dev, &options, &r->rt, &err) != NET_OK) {
        fail_msg("seed %llu: %s\n%s", (unsigned long long)r->seed, err.text, r->text);
    }
    check_memory(r);
}

static void open_runtime(rig *r, uint32_t n, bool reuse) {
    open_with(r, n, (net_rt_options){.reuse = reuse});
}

static void run_network(rig *r, const float *input) {
    net_error err = {""};
    if (net_rt_run(r->rt, input, &err) != NET_OK) {
        fail_msg("seed %llu: %s\n%s", (unsigned long long)r->seed, err.text, r->text);
    }
}

static void close_runtime(rig *r) {
    net_rt_free(r->rt);
    assert_true(npu_dev_finish(r->dev));
    npu_dev_close(r->dev);
}

/* Other plans and another graph for the same function: splits by search, a Concat as copies, joined maps apart,
 * poolings before a Concat, convolutions merged. */
static void other_ways(rig *r, uint32_t n, const float *input, const uint64_t *hash) {
    const net_graph *g = &r->graph;
    net_error err = {""};
    uint32_t moved = 0;
    assert_int_equal(net_opt_pools_first(&r->graph, &moved, &err), NET_OK);
    r->seen[E_POOLS_FIRST] += moved;
    moved = 0;
    assert_int_equal(net_opt_merge_convs(&r->graph, &moved, &err), NET_OK);
    r->seen[E_MERGED] += moved;
    open_with(
        r, n,
        (net_rt_options){
            .reuse = true, .search = r->seed % 8 == 1, .copy_concat = r->seed % 4 == 0, .apart = r->seed % 4 == 3});
    for (uint32_t i = 0; i < g->num_layers; i++) {
        r->seen[E_COPIED_CONCAT] += r->rt->layer[i].kind == RT_MOVE && net_op_joins(&g->layer[i]);
    }
    run_network(r, input);
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        assert_true(hash[i] ==
                    net_hash(net_rt_blob(r->rt, g->outputs[i]), net_shape_elements(&g->blob[g->outputs[i]].shape)));
    }
    close_runtime(r);
}

/* The same network once with memory of its own for every blob, where every layer is checked, and once with reuse, where
 * the outputs must be the same. */
static void one_network(rig *r, uint64_t seed) {
    make_network(r, seed);
    const net_graph *g = &r->graph;
    uint32_t n = 4u << seed % 4;
    uint64_t *hash = calloc((size_t)g->num_outputs + 1, sizeof *hash);
    float *input = malloc(net_graph_input_elements(g) * sizeof *input + 1);
    assert_true(hash != NULL && input != NULL);
    net_seeded_input(g, seed + 1, input);
    open_runtime(r, n, false);
    run_network(r, input);
    count_overlaps(r);
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const rt_layer *rl = &r->rt->layer[i];
        bool fused = net_rt_layer_where(r->rt, i).fused;
        const bool on_npu = (rl->kind != RT_CPU && rl->kind != RT_NOTHING) || rl->rows > 0;
        const net_rt_estimate e = net_rt_predict(r->rt, i);
        const bool copies = rl->kind == RT_NOTHING && e.tasks > 0; /* into the part of a larger blob */
        assert_true(on_npu || copies ? e.tasks > 0 && e.cycles >= e.bound && e.cycles < 50 * (e.bound + 200 * e.tasks)
                                     : e.cycles == 0);
        count_layer(r, i);
        if (g->layer[i].kind == NET_INPUT || fused) {
            continue; /* what a fused layer gave was checked with the layer that did it */
        }
        if (rl->kind != RT_NOTHING && rt_is_int8(&g->layer[i])) {
            check_int8(r, i);
        }
        check_defined(r, i);
    }
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        hash[i] = net_hash(net_rt_blob(r->rt, g->outputs[i]), net_shape_elements(&g->blob[g->outputs[i]].shape));
    }
    close_runtime(r);
    open_runtime(r, n, true);
    net_rt_memory_use use = net_rt_memory_used(r->rt);
    r->seen[E_REUSED] += use.device_arena < use.device_blobs;
    for (uint32_t k = 0; k < 2; k++) { /* what the first run left behind makes no difference */
        run_network(r, input);
        for (uint32_t i = 0; i < g->num_outputs; i++) {
            assert_true(hash[i] ==
                        net_hash(net_rt_blob(r->rt, g->outputs[i]), net_shape_elements(&g->blob[g->outputs[i]].shape)));
        }
    }
    close_runtime(r);
    other_ways(r, n, input, hash);
    net_graph_free(&r->graph);
    free(hash);
    free(input);
}

static void test_random(void **state) {
    (void)state;
    rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    uint64_t count = getenv("TANDEM_CHECK") != NULL ? 20000 : 1500;
    const char *first = getenv("TANDEM_SEED");
    uint64_t base = first != NULL ? strtoull(first, NULL, 10) : 1;
    assert_int_equal(ncnn_fit_load(&r->fit, "regs/act_fit.txt"), 0);
    for (uint64_t seed = base; seed < base + count; seed++) {
        one_network(r, seed);
    }
    uint32_t never = 0;
    for (uint32_t e = 0; e < EVENTS; e++) {
        printf("%10llu  %s\n", (unsigned long long)r->seen[e], event_names[e]);
        never += r->seen[e] == 0;
    }
    printf("%10llu  layers\n", (unsigned long long)r->layers);
    assert_int_equal(never, 0);
    free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
