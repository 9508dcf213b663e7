/* classify.c - tandem-net classify: the most probable classes of pictures. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "photos.h"
#include "report/report.h"

uint32_t photos_next_top(const float *value, uint32_t count, uint32_t last) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        bool behind = last == UINT32_MAX || value[i] < value[last] || (value[i] == value[last] && i > last);
        if (behind && value[i] == value[i] && (best == UINT32_MAX || value[i] > value[best])) {
            best = i;
        }
    }
    return best;
}

static void print_top(const float *value, uint32_t count, uint32_t top, const photos_names *n) {
    uint32_t best = photos_next_top(value, count, UINT32_MAX);
    for (uint32_t k = 1; k <= top && best != UINT32_MAX; k++) {
        printf("top%u %u %.6f%s%s\n", k, best, (double)value[best], best < n->count ? " " : "",
               best < n->count ? n->line[best] : "");
        best = photos_next_top(value, count, best);
    }
}

int photos_print_top(const float *value, uint32_t count, uint32_t top, const char *path) {
    photos_names n = {0};
    net_error err;
    const net_status status = path != NULL ? photos_names_load(&n, path, &err) : NET_OK;
    if (status == NET_OK) {
        print_top(value, count, top, &n);
    }
    photos_names_free(&n);
    return status == NET_OK ? 0 : photos_failed(status, &err);
}

/* ---- dump ---- */

static bool dump_array(const char *folder, uint32_t number, const char *end, const void *data, size_t size,
                       size_t count) {
    char path[600];
    FILE *file = NULL;
    if (snprintf(path, sizeof path, "%s/%u.%s", folder, number, end) < (int)sizeof path) {
        file = fopen(path, "wb");
    }
    bool ok = file != NULL && fwrite(data, size, count, file) == count;
    ok = file != NULL && fclose(file) == 0 && ok;
    if (!ok) {
        fprintf(stderr, "tandem-net: %s: cannot write: %s\n", path, strerror(errno));
    }
    return ok;
}

static bool dump(const char *folder, const net_graph *g, const net_int8 *net) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->num_blobs; i++) {
        size_t count = net_shape_elements(&g->blob[i].shape);
        const int8_t *q = net_int8_q_blob(net, i);
        ok = q != NULL ? dump_array(folder, i, "s8", q, 1, count)
                       : dump_array(folder, i, "f32", net_int8_blob(net, i), 4, count);
    }
    for (uint32_t i = 0; ok && i < g->num_layers; i++) {
        const int8_t *q = net_int8_q_input(net, i);
        ok = q == NULL || dump_array(folder, i, "qin.s8", q, 1, net_shape_elements(&g->blob[g->layer[i].in[0]].shape));
    }
    return ok;
}

/* ---- the job ---- */

static int run(const photos_options *o, const net_graph *g, const net_shape *shape, photos_engine *engine,
               const photos_names *n) {
    photos_source source;
    net_error err;
    float *input = malloc(net_shape_elements(shape) * sizeof *input);
    if (input == NULL) {
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    net_status status = photos_source_open(&source, o, shape, &err);
    if (status == NET_OK && o->dump != NULL && source.count != 1) {
        (void)snprintf(err.text, sizeof err.text, "--dump takes one input, not %u", source.count);
        status = NET_ERR_ARG;
    }
    for (uint32_t i = 0; status == NET_OK && i < source.count; i++) {
        char name[4200];
        status = photos_input(&source, i, input, &err);
        if (status != NET_OK) {
            break;
        }
        double start = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
        status = photos_engine_infer(engine, input, &err);
        double seconds = rep_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
        if (status != NET_OK) {
            break;
        }
        photos_source_name(&source, i, name, sizeof name);
        printf("image %s\n", name);
        for (uint32_t k = 0; k < g->num_outputs; k++) {
            const net_blob *blob = &g->blob[g->outputs[k]];
            if (g->num_outputs > 1) {
                printf("output %s\n", blob->name);
            }
            print_top(photos_engine_blob(engine, g->outputs[k]), net_shape_elements(&blob->shape), o->top, n);
        }
        if (o->time) {
            printf("time %.6f s of CPU time\n", seconds);
        }
    }
    free(input);
    photos_source_free(&source);
    status = status == NET_OK ? photos_engine_finish(engine, &err) : status;
    if (status != NET_OK) {
        return photos_failed(status, &err);
    }
    return o->dump == NULL || dump(o->dump, g, engine->cpu) ? 0 : 1;
}

static net_status prepare(const photos_options *o, net_graph *g, net_shape *shape, photos_engine *engine,
                          net_error *err) {
    net_table table = {0};
    net_status status = photos_load(o, g, shape, err);
    if (status == NET_OK && o->table != NULL) {
        status = net_table_load(&table, o->table, err);
        status = status == NET_OK ? net_quantize_table(g, &table, err) : status;
        net_table_free(&table);
    }
    return status == NET_OK ? photos_engine_open(engine, o, g, err) : status;
}

int photos_classify(const photos_options *o) {
    net_graph graph = {0};
    net_shape shape;
    photos_engine engine = {0};
    net_error err;
    photos_names n = {0};
    net_status status = o->names != NULL ? photos_names_load(&n, o->names, &err) : NET_OK;
    status = status == NET_OK ? prepare(o, &graph, &shape, &engine, &err) : status;
    int result = status == NET_OK ? run(o, &graph, &shape, &engine, &n) : photos_failed(status, &err);
    photos_engine_free(&engine);
    net_graph_free(&graph);
    photos_names_free(&n);
    return result;
}
