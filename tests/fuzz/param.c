/* param.c - ncnn's .param: what is read can be printed, and that is the same graph; planning it does no harm. */
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
    }
    questions(&g);
    net_graph_free(&g);
}
