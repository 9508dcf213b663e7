/* show.c - tandem-net --show: the contents of a .param file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "netjob.h"
#include "netopt.h"

typedef struct hints {
    uint32_t same, different;
} hints;

static void print_shape(const net_shape *shape) {
    uint32_t size[NET_MAX_DIMS];
    net_shape_outer(shape, size);
    for (uint32_t i = shape->dims; i > 0; i--) {
        printf("%s%u", i == shape->dims ? " " : "x", size[i - 1]);
    }
}

/* Sizes that the dimensions do not use are 1 here and anything in the file. */
static bool same_shape(const net_shape *shape, const net_hint *hint) {
    return shape->dims == hint->dims && shape->w == hint->w && (shape->dims < 2 || shape->h == hint->h) &&
           (shape->dims < 3 || shape->c == hint->c) && (shape->dims < 4 || shape->d == hint->d);
}

static void show_layer(const net_graph *graph, const net_layer *layer, hints *seen) {
    net_hint hint;
    printf("%-24s %-32s", layer->type, layer->name);
    for (uint32_t i = 0; graph->planned && i < layer->num_out; i++) {
        const net_shape *shape = &graph->blob[layer->out[i]].shape;
        print_shape(shape);
        if (!net_layer_hint(layer, i, &hint) || hint.dims == 0) {
            continue;
        }
        bool same = same_shape(shape, &hint);
        seen->same += same;
        seen->different += !same;
        if (!same) {
            printf(" (the file says %u: %ux%ux%ux%u)", hint.dims, hint.w, hint.h, hint.d, hint.c);
        }
    }
    printf("\n");
}

int netjob_show(const char *path, const uint32_t shape[3]) {
    net_graph graph;
    net_error err = {""};
    hints seen = {0};
    if (net_graph_load_param(&graph, path, &err) != NET_OK) {
        fprintf(stderr, "tandem-net: %s\n", err.text);
        return 2;
    }
    net_status status = shape[0] != 0 ? net_graph_set_input(&graph, shape[0], shape[1], shape[2], &err) : NET_OK;
    status = status == NET_OK ? net_graph_plan(&graph, &err) : status;
    for (uint32_t i = 0; i < graph.num_layers; i++) {
        show_layer(&graph, &graph.layer[i], &seen);
    }
    printf("%u layers, %u blobs, %u lines after them\n", graph.num_layers, graph.num_blobs, graph.extra_lines);
    if (status == NET_OK) {
        printf("multiply-accumulates %" PRIu64 "\n", net_graph_macs(&graph));
        printf("shapes noted in the file: %u as computed, %u others\n", seen.same, seen.different);
    }
    net_graph_free(&graph);
    (void)fflush(stdout); /* what is known comes before the error */
    if (status != NET_OK) {
        fprintf(stderr, "tandem-net: %s\n", err.text);
        return status == NET_ERR_MEMORY ? 1 : 2;
    }
    return 0;
}
