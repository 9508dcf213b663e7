/* runtime.c - the runtime: what can be planned runs on the golden model, twice with the same outputs, with memory of
 * its own for each blob and with reuse. */
#include <stdlib.h>
#include <string.h>

#include "../../network/network.h"
#include "fuzz.h"

#define MOST 24576u /* elements of all blobs */

/* Small enough to be executed many times a second. */
static bool is_small(const net_graph *g) {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        elements += net_shape_elements(&g->blob[i].shape);
    }
    return elements <= MOST && net_graph_macs(g) <= 300000;
}

static uint64_t outputs(const net_graph *g, npu_dev *dev, bool reuse) {
    const net_rt_options options = {.reuse = reuse};
    static float input[MOST];
    net_error err = {""};
    net_rt *rt = NULL;
    uint64_t hash = 0;
    npu_dev_alloc_reset(dev);
    if (net_rt_new_with(g, dev, &options, &rt, &err) != NET_OK) {
        fuzz_check_line(err.text);
        return 0;
    }
    net_seeded_input(g, 1, input);
    if (net_rt_run(rt, input, &err) != NET_OK) {
        fuzz_fail("what is planned runs", err.text);
    }
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        hash = hash * 31 + net_hash(net_rt_blob(rt, g->outputs[i]), net_shape_elements(&g->blob[g->outputs[i]].shape));
    }
    net_rt_free(rt);
    return hash;
}

/* The first byte of a comment-free file is '7', so the choices come from its size: quantised or not, simplified or not,
 * and N. */
static void run(net_graph *g, size_t size) {
    char text[400];
    net_error err = {""};
    const npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = 4u << size % 4, .seed = 1, .poison_reads = true};
    net_status status = net_graph_random_weights(g, 1, &err);
    status = status == NET_OK && size / 4 % 2 == 0 ? net_optimize(g, NULL, NULL, NULL, &err) : status;
    status = status == NET_OK && size / 8 % 4 != 0 ? net_quantize_seeded(g, 1, &err) : status;
    status = status == NET_OK && size / 4 % 2 == 0 ? net_optimize(g, NULL, NULL, NULL, &err) : status;
    if (status != NET_OK) {
        fuzz_check_line(err.text);
        return;
    }
    npu_dev *dev = npu_dev_open(&cfg, text, sizeof text);
    if (dev == NULL) {
        fuzz_fail("a device of the golden model opens", text);
    }
    uint64_t first = outputs(g, dev, false);
    if (first != outputs(g, dev, true)) {
        fuzz_fail("memory reuse changes no output", g->name);
    }
    npu_dev_close(dev);
}

void fuzz_runtime(const uint8_t *data, size_t size) {
    net_graph g;
    net_error err = {""};
    if (net_graph_parse_param(&g, (const char *)data, size, "fuzz", &err) != NET_OK) {
        return;
    }
    if (net_graph_plan(&g, &err) == NET_OK && is_small(&g)) {
        run(&g, size);
    }
    net_graph_free(&g);
}
