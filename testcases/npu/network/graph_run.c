/* graph_run.c - the executor of the test `graph`: from knobs to a quantised network on the device, and the comparison
 * of its results with the definition. */
#include "graph_run.h"

#include <stdio.h>
#include <stdlib.h>

#define WIDE 8.0f

typedef struct rig {
    tc_run *run;
    graph_knobs knobs;
    graph shape;
    net_graph net;
    net_rt *rt;
    float *input;
    uint64_t *hash;        /* of the outputs */
    npu_cov_layer *layers; /* their kinds and places; --cov only */
    uint32_t layer_count;
    net_error err;
} rig;

/* The library refused a network of graph_resolve(), or returned an error: a failure, so that it can be shrunk. -1: out
 * of memory. */
static int refused(const rig *r, const char *what, net_status status) {
    char signature[96];
    if (status == NET_ERR_MEMORY) {
        snprintf(r->run->err, sizeof r->run->err, "%s: %.300s", what, r->err.text);
        return -1;
    }
    snprintf(signature, sizeof signature, "graph: %s", what);
    tc_fail(r->run, signature, "%s: %.350s", what, r->err.text);
    return 0;
}

static graph_prec prec_of(const rig *r, const net_layer *layer) {
    const uint32_t i = graph_number(layer->name);
    return i >= 1 && i <= GRAPH_LAYERS ? r->knobs.layer[i].prec : GRAPH_INT8;
}

/* ---- the network ---- */

/* The first output of each layer with weights gets zeros only: its scale becomes 0. */
static void kill_outputs(net_graph *net) {
    for (uint32_t i = 0; i < net->num_layers; i++) {
        net_layer *l = &net->layer[i];
        net_tensor *t = l->num_tensors > 0 ? &l->tensor[0] : NULL;
        const uint32_t filter = t != NULL && l->conv.num_output > 0 ? t->count / l->conv.num_output : 0;
        for (uint32_t k = 0; net_layer_macs(net, i) > 0 && t->f32 != NULL && k < filter; k++) {
            t->f32[k] = 0.0f;
        }
    }
}

/* The optimiser gives every layer an INT8 output that may have one; here the knobs select the layers. */
static net_status unchain(const rig *r, net_layer *layer) {
    if (layer->conv.int8_scale_term <= 100 || prec_of(r, layer) == GRAPH_CHAIN) {
        return NET_OK;
    }
    net_tensor *top = &layer->tensor[layer->num_tensors - 1];
    free(top->f32);
    *top = (net_tensor){0};
    layer->num_tensors--;
    layer->conv.int8_scale_term -= 100;
    return net_layer_set_int(layer, 8, (int32_t)layer->conv.int8_scale_term);
}

static net_status quantise(rig *r) {
    net_graph *net = &r->net;
    bool *stay = calloc((size_t)net->num_layers + 1, sizeof *stay);
    if (stay == NULL) {
        return NET_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < net->num_layers; i++) {
        stay[i] = prec_of(r, &net->layer[i]) == GRAPH_FLOAT;
    }
    const net_status status = net_quantize_seeded_some(net, r->run->seed, stay, &r->err);
    free(stay);
    return status;
}

/* 0, also with a failure; -1 with run->err. */
static int make_network(rig *r) {
    const tb_knobs *k = r->run->knobs;
    const uint32_t optimise = tc_knob(k, "optimise");
    net_graph *net = &r->net;
    char *text = malloc(GRAPH_TEXT);
    if (text == NULL) {
        return tc_no_memory(r->run);
    }
    const size_t bytes = graph_print(&r->shape, text);
    net_status status = net_graph_parse_param(net, text, bytes, "graph", &r->err);
    free(text);
    status = status == NET_OK ? net_graph_plan(net, &r->err) : status;
    status = status == NET_OK ? net_graph_random_weights(net, r->run->seed, &r->err) : status;
    if (status != NET_OK) {
        return refused(r, "network", status);
    }
    if (tb_knobs_get(k, "dead") != 0) {
        kill_outputs(net);
    }
    status = (optimise & 1) != 0 ? net_optimize(net, NULL, NULL, NULL, &r->err) : status;
    status = status == NET_OK ? quantise(r) : status;
    status = status == NET_OK && (optimise & 2) != 0 ? net_optimize(net, NULL, NULL, NULL, &r->err) : status;
    for (uint32_t i = 0; status == NET_OK && i < net->num_layers; i++) {
        status = unchain(r, &net->layer[i]);
    }
    return status == NET_OK ? 0 : refused(r, "quantiser", status);
}

static int make_input(rig *r) {
    const size_t count = net_graph_input_elements(&r->net);
    r->input = malloc(count * sizeof *r->input + 1);
    r->hash = calloc((size_t)r->net.num_outputs + 1, sizeof *r->hash);
    if (r->input == NULL || r->hash == NULL) {
        return tc_no_memory(r->run);
    }
    net_seeded_input(&r->net, r->run->seed + 1, r->input);
    for (size_t i = 0; i < count; i++) {
        switch ((graph_data)tb_knobs_get(r->run->knobs, "data")) {
        case GRAPH_ZEROS:
            r->input[i] = i % 2 == 0 ? 0.0f : -0.0f;
            break;
        case GRAPH_ONES:
            r->input[i] = 1.0f;
            break;
        case GRAPH_RAMP:
            r->input[i] = (float)(i % 255) / 127.0f - 1.0f;
            break;
        case GRAPH_WIDE:
            r->input[i] *= WIDE;
            break;
        default:
            break;
        }
    }
    return 0;
}

/* --dump, and so the tensors of a report: network.param and network.bin, for `tandem-net run`. 0 or -1 with run->err.
 */
static int save_network(rig *r) {
    const net_save_options options = {.layout = NET_LAYOUT_STOCK, .storage = NET_STORE_EXACT};
    char param[1200];
    char bin[1200];
    tc_run *run = r->run;
    snprintf(param, sizeof param, "%.1000s/network.param", run->dump);
    snprintf(bin, sizeof bin, "%.1000s/network.bin", run->dump);
    if (tb_make_folder(run->dump, run->err, sizeof run->err) != 0) {
        return -1;
    }
    if (net_graph_save(&r->net, param, bin, &options, &r->err) != NET_OK) {
        return opt_fail(run->err, sizeof run->err, "%.400s", r->err.text);
    }
    return 0;
}

/* ---- on the device ---- */

static int start_runtime(rig *r, bool reuse) {
    const net_rt_options options = {.reuse = reuse, .poll = tb_knobs_get(r->run->knobs, "wait") != 0};
    const net_status status = net_rt_new_with(&r->net, r->run->dev, &options, &r->rt, &r->err);
    return status == NET_OK ? 0 : refused(r, "runtime", status);
}

static int infer(rig *r) {
    tc_run *run = r->run;
    const net_status status = net_rt_run(r->rt, r->input, &r->err);
    if (status == NET_OK) {
        return 0;
    }
    npu_dev_check_hang(run->dev); /* the device's failure has more information than the driver's */
    const npu_dev_failure *f = npu_dev_get_failure(run->dev);
    if (status == NET_ERR_DEVICE && f != NULL && f->signature[0] != '\0') {
        tb_result_fail(run->result, TB_FAIL, f->signature, "%s", r->err.text); /* with the name of the layer */
        return 0;
    }
    return refused(r, "inference", status);
}

static int check_results(rig *r) {
    net_status status = graph_check_layers(r->run, &r->net, r->rt, &r->err);
    if (status == NET_OK && tc_ok(r->run)) {
        status = graph_check_whole(r->run, &r->net, r->rt, r->input, &r->err);
    }
    return status == NET_OK ? 0 : refused(r, "check", status);
}

static uint64_t hash_of(const rig *r, uint32_t output) {
    const uint32_t blob = r->net.outputs[output];
    return net_hash(net_rt_blob(r->rt, blob), net_shape_elements(&r->net.blob[blob].shape));
}

/* A second inference from the start, with blobs that share memory on the host, too. */
static int second_inference(rig *r) {
    for (uint32_t i = 0; i < r->net.num_outputs; i++) {
        r->hash[i] = hash_of(r, i);
    }
    net_rt_free(r->rt);
    r->rt = NULL;
    npu_dev_alloc_reset(r->run->dev);
    int rc = start_runtime(r, true);
    rc = rc == 0 && tc_ok(r->run) ? infer(r) : rc;
    for (uint32_t i = 0; rc == 0 && tc_ok(r->run) && i < r->net.num_outputs; i++) {
        if (hash_of(r, i) != r->hash[i]) {
            tc_fail(r->run, "graph: second inference", "output '%s' differs in the second inference",
                    r->net.blob[r->net.outputs[i]].name);
        }
    }
    return rc;
}

static int run_network(rig *r) {
    tc_run *run = r->run;
    const tb_knobs *k = run->knobs;
    const net_rt_options options = {0};
    uint64_t bytes = 0;
    const net_status status = net_rt_memory(&r->net, run->n, &options, &bytes, &r->err);
    if (status != NET_OK) {
        return refused(r, "memory", status);
    }
    int rc = tc_open(run, bytes, TENSOR_TIMEOUT_US);
    rc = rc == 0 && tc_ok(run) ? start_runtime(r, false) : rc;
    rc = rc == 0 && tc_ok(run) ? infer(r) : rc;
    rc = rc == 0 && tc_ok(run) ? check_results(r) : rc;
    if (run->cov != NULL && rc == 0 && tc_ok(run)) {
        r->layers = graph_describe(&r->net, r->rt, &r->layer_count);
    }
    return rc == 0 && tc_ok(run) && tb_knobs_get(k, "again") != 0 ? second_inference(r) : rc;
}

/* Only of a device without failure. */
static void count_layers(const rig *r) {
    char what[400];
    tc_close(r->run);
    for (uint32_t i = 0; i < r->layer_count && tc_ok(r->run); i++) {
        if (npu_cov_layer_ran(r->run->cov, &r->layers[i], what, sizeof what) > 0) {
            tc_fail(r->run, "illegal coverage", "illegal bin hit: %s", what);
        }
    }
}

int graph_execute(tc_run *run) {
    rig *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return tc_no_memory(run);
    }
    r->run = run;
    graph_from_knobs(run->knobs, &r->knobs);
    graph_resolve(&r->knobs, &r->shape);
    int rc = make_network(r);
    rc = rc == 0 && tc_ok(run) ? make_input(r) : rc;
    if (rc == 0 && tc_ok(run) && run->dump != NULL) {
        rc = save_network(r);
    }
    rc = rc == 0 && tc_ok(run) ? run_network(r) : rc;
    if (r->layers != NULL) {
        count_layers(r);
    }
    net_rt_free(r->rt);
    net_graph_free(&r->net);
    free(r->layers);
    free(r->input);
    free(r->hash);
    free(r);
    return rc;
}
