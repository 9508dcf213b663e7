/* net.c - a small network with random weights, executed: what can be planned runs within the arrays of its blobs,
 * whatever its settings are. */
#include <stdlib.h>
#include <string.h>

#include "../../network/network.h"
#include "case/rng.h"
#include "fuzz.h"

#define MOST_ELEMENTS 100000u
#define MOST_MACS 2000000u

/* All blobs together, and what stands in the .bin. */
static bool is_small(const net_graph *g) {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        elements += net_shape_elements(&g->blob[i].shape);
    }
    return elements <= MOST_ELEMENTS && net_graph_macs(g) <= MOST_MACS;
}

static void run(const net_graph *g) {
    net_error err = {""};
    net_ref *ref = NULL;
    size_t count = 0;
    for (uint32_t i = 0; i < g->num_inputs; i++) {
        count += net_shape_elements(&g->blob[g->inputs[i]].shape);
    }
    float *input = malloc((count + 1) * sizeof *input);
    if (input == NULL || net_ref_new(g, &ref, &err) != NET_OK) {
        free(input);
        return;
    }
    tb_rng rng = tb_rng_stream(1, "fuzz_net");
    for (size_t i = 0; i < count; i++) {
        /* mostly -4..4, now and then any bits: infinities, NaN, huge numbers */
        uint64_t draw = tb_rng_u64(&rng);
        const uint32_t bits = (uint32_t)draw;
        input[i] = (float)(int32_t)bits * 0x1p-29f;
        if (draw >> 60 == 0) {
            memcpy(&input[i], &bits, sizeof bits);
        }
    }
    net_ref_run(ref, input);
    net_ref_free(ref);
    free(input);
}

void fuzz_net(const uint8_t *data, size_t size) {
    net_graph g;
    net_error err = {""};
    if (net_graph_parse_param(&g, (const char *)data, size, "fuzz", &err) != NET_OK) {
        return;
    }
    if (net_graph_set_input(&g, 8, 6, 3, &err) != NET_OK || net_graph_plan(&g, &err) != NET_OK) {
        fuzz_check_line(err.text);
    } else if (is_small(&g)) {
        /* the settings may ask for more weights than the shapes do: that is refused before memory is taken, or it is an
         * error */
        if (net_graph_random_weights(&g, 7, &err) != NET_OK) {
            fuzz_check_line(err.text);
        } else if (!net_graph_is_int8(&g)) {
            run(&g);
        }
    }
    net_graph_free(&g);
}
