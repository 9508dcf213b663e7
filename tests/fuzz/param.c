/* param.c - ncnn's .param: what is read can be printed, and that is the same graph; planning it does no harm, and what
 * is planned can be executed and simplified. */
#include <stdlib.h>

#include "../net_equal.h"
#include "fuzz.h"

static void questions(const net_graph *g) {
    for (uint32_t i = 0; i < g->num_layers; i++) {
        net_hint hint;
        for (uint32_t k = 0; k < g->layer[i].num_out + 1 && k < 4; k++) {
            (void)net_layer_hint(&g->layer[i], k, &hint);
        }
        for (uint32_t key = 0; key <= NET_MAX_KEY; key++) {
            (void)net_layer_int(&g->layer[i], key, 0);
            (void)net_layer_float(&g->layer[i], key, 0.0f);
        }
    }
    (void)net_graph_macs(g);
}

/* Small enough to be executed many times a second. */
static bool is_small(const net_graph *g) {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        elements += net_shape_elements(&g->blob[i].shape);
    }
    return elements <= 4096 && net_graph_macs(g) <= 200000;
}

/* What is planned can be executed and simplified, whatever its settings are. */
static void run(net_graph *g) {
    static const float input[4096];
    net_error err = {""};
    net_ref *ref = NULL;
    for (int simplified = 0; simplified < 2; simplified++) {
        net_status status =
            simplified == 0 ? net_graph_random_weights(g, 1, &err) : net_optimize(g, NULL, NULL, NULL, &err);
        if (status != NET_OK || net_ref_new(g, &ref, &err) != NET_OK) {
            fuzz_fail("a planned graph can be executed", err.text);
        }
        net_ref_run(ref, input);
        net_ref_free(ref);
    }
}

void fuzz_param(const uint8_t *data, size_t size) {
    net_graph g;
    net_graph h;
    net_error err = {""};
    if (net_graph_parse_param(&g, (const char *)data, size, "fuzz", &err) != NET_OK) {
        fuzz_check_line(err.text);
        return;
    }
    char *text = NULL;
    size_t bytes = 0;
    if (net_graph_print_param(&g, &text, &bytes, &err) != NET_OK) {
        fuzz_fail("what is read can be printed", err.text);
    }
    if (net_graph_parse_param(&h, text, bytes, "again", &err) != NET_OK) {
        fuzz_fail("what is printed can be read", err.text);
    }
    if (!net_equal(&g, &h)) {
        fuzz_fail("what is printed is the same graph", text);
    }
    free(text);
    net_graph_free(&h);
    questions(&g);
    if (net_graph_plan(&g, &err) != NET_OK) {
        fuzz_check_line(err.text);
    } else if (is_small(&g)) {
        run(&g);
    }
    questions(&g);
    net_graph_free(&g);
}
