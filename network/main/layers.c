/* layers.c - tandem-net --layers: one network in FP32, layer by layer: shapes, multiply-accumulates, time. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../tb/case/rng.h"
#include "netjob.h"

typedef struct layers_job {
    const netjob_options *opt;
    net_graph graph;
    net_ref *ref;
    float *input;
    size_t inputs; /* elements */
    tb_result *result;
} layers_job;

static bool failed(layers_job *job, const net_error *err) {
    tb_result_fail(job->result, TB_ERROR, "network/input", "%s", err->text);
    return false;
}

static bool no_memory(layers_job *job) {
    tb_result_fail(job->result, TB_ERROR, "network/memory", "out of memory");
    return false;
}

/* Lists layer types of the file that cannot be executed, each once. false: there are some. */
static bool all_known(layers_job *job) {
    const net_graph *g = &job->graph;
    char text[300] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < g->num_layers; i++) {
        bool seen = net_type_is_known(g->layer[i].type);
        for (uint32_t k = 0; !seen && k < i; k++) {
            seen = strcmp(g->layer[k].type, g->layer[i].type) == 0;
        }
        if (!seen && used < sizeof text) {
            int n = snprintf(text + used, sizeof text - used, "%s'%.40s' (line %u)", used == 0 ? "" : ", ",
                             g->layer[i].type, g->layer[i].line);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    if (used > 0) {
        tb_result_fail(job->result, TB_ERROR, "network/input", "%.150s: not supported: layers of type %.200s", g->name,
                       text);
    }
    return used == 0;
}

static void print_change(void *user, const char *line) {
    (void)user;
    printf("%s\n", line);
}

static bool load(layers_job *job) {
    const netjob_options *opt = job->opt;
    const uint32_t *shape = opt->shape;
    net_error err;
    net_status status = opt->random ? net_graph_load_param(&job->graph, opt->net, &err)
                                    : net_graph_load(&job->graph, opt->net, opt->bin, &err);
    if (status != NET_OK) {
        return failed(job, &err);
    }
    if (!all_known(job)) {
        return false;
    }
    status = shape[0] != 0 ? net_graph_set_input(&job->graph, shape[0], shape[1], shape[2], &err) : NET_OK;
    status = status == NET_OK ? net_graph_plan(&job->graph, &err) : status;
    status = status == NET_OK && opt->random ? net_graph_random_weights(&job->graph, opt->random_seed, &err) : status;
    status = status == NET_OK && opt->optimise ? net_optimize(&job->graph, print_change, NULL, NULL, &err) : status;
    status = status == NET_OK ? net_ref_new(&job->graph, &job->ref, &err) : status;
    for (uint32_t i = 0; i < job->graph.num_inputs; i++) {
        job->inputs += net_shape_elements(&job->graph.blob[job->graph.inputs[i]].shape);
    }
    return status == NET_OK || failed(job, &err);
}

/* All inputs one after the other: floats of a file, or random ones of -1..1. */
static bool make_input(layers_job *job) {
    const char *path = job->opt->input;
    job->input = malloc(job->inputs * sizeof *job->input + 1);
    if (job->input == NULL) {
        return no_memory(job);
    }
    if (path == NULL) {
        tb_rng rng = tb_rng_stream(job->opt->random_seed, "network.input");
        for (size_t i = 0; i < job->inputs; i++) {
            job->input[i] = tb_rng_f32_range(&rng, -1.0f, 1.0f);
        }
        return true;
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        tb_result_fail(job->result, TB_ERROR, "network/input", "%.200s: cannot open: %s", path, strerror(errno));
        return false;
    }
    bool ok = fread(job->input, sizeof *job->input, job->inputs, file) == job->inputs && fgetc(file) == EOF;
    fclose(file);
    if (!ok) {
        tb_result_fail(job->result, TB_ERROR, "network/input",
                       "%.200s: expected %zu bytes, a float for each element of the inputs", path,
                       job->inputs * sizeof *job->input);
    }
    return ok;
}

static void shape_text(const net_shape *s, char text[40]) {
    if (s->dims == 4) {
        (void)snprintf(text, 40, "%ux%ux%ux%u", s->c, s->d, s->h, s->w);
    } else if (s->dims == 3) {
        (void)snprintf(text, 40, "%ux%ux%u", s->c, s->h, s->w);
    } else if (s->dims == 2) {
        (void)snprintf(text, 40, "%ux%u", s->h, s->w);
    } else {
        (void)snprintf(text, 40, "%u", s->w);
    }
}

/* CPU time, which does not depend on other programs. */
static uint64_t now_us(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void print_layer(const net_graph *g, uint32_t number, uint64_t us) {
    const net_layer *layer = &g->layer[number];
    char first[40];
    shape_text(&g->blob[layer->out[0]].shape, first);
    printf("%4u %-22s %-32s %-16s %9.3f MMAC %9.3f ms", number, layer->type, layer->name, first,
           (double)net_layer_macs(g, number) / 1e6, (double)us / 1e3);
    for (uint32_t i = 1; i < layer->num_out; i++) {
        char more[40];
        shape_text(&g->blob[layer->out[i]].shape, more);
        if (strcmp(more, first) != 0) {
            printf(" %s", more);
        }
    }
    printf("\n");
}

/* A blob as floats into DIR/<number>.f32. */
static bool dump_blob(layers_job *job, uint32_t number) {
    char path[512];
    if (snprintf(path, sizeof path, "%s/%u.f32", job->opt->dump, number) >= (int)sizeof path) {
        tb_result_fail(job->result, TB_ERROR, "network/dump", "the name of the folder is too long: %.200s",
                       job->opt->dump);
        return false;
    }
    size_t count = net_shape_elements(&job->graph.blob[number].shape);
    FILE *file = fopen(path, "wb");
    bool ok = file != NULL && fwrite(net_ref_blob(job->ref, number), sizeof(float), count, file) == count;
    ok = file != NULL && fclose(file) == 0 && ok;
    if (!ok) {
        tb_result_fail(job->result, TB_ERROR, "network/dump", "%.300s: cannot write: %s", path, strerror(errno));
    }
    return ok;
}

static bool run(layers_job *job) {
    const net_graph *g = &job->graph;
    uint64_t total = 0;
    net_ref_set_input(job->ref, job->input);
    for (uint32_t i = 0; i < g->num_layers; i++) {
        uint64_t start = now_us();
        net_ref_run_layer(job->ref, i);
        uint64_t us = now_us() - start;
        total += us;
        print_layer(g, i, us);
    }
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        uint32_t blob = g->outputs[i];
        char shape[40];
        shape_text(&g->blob[blob].shape, shape);
        printf("output     %s %s hash %016" PRIx64 " blob %u\n", g->blob[blob].name, shape,
               net_hash(net_ref_blob(job->ref, blob), net_shape_elements(&g->blob[blob].shape)), blob);
    }
    printf("network    %u layers, %u inputs, %u outputs, %.3f MMAC, %.1f ms of CPU time in FP32\n", g->num_layers,
           g->num_inputs, g->num_outputs, (double)net_graph_macs(g) / 1e6, (double)total / 1e3);
    for (uint32_t i = 0; job->opt->dump != NULL && i < g->num_blobs; i++) {
        if (!dump_blob(job, i)) {
            return false;
        }
    }
    return true;
}

void netjob_layers(const netjob_options *opt, tb_result *result) {
    layers_job job = {.opt = opt, .result = result};
    (void)(load(&job) && make_input(&job) && run(&job));
    net_ref_free(job.ref);
    net_graph_free(&job.graph);
    free(job.input);
}
