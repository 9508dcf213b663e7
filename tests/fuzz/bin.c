/* bin.c - .bin files in both layouts: what is read can be written, in either layout, and that is the same network. */
#include <stdlib.h>

#include "../net_equal.h"
#include "fuzz.h"

/* The graph without its weights once more. */
static void parse_again(net_graph *h, const char *text, size_t bytes) {
    net_error err = {""};
    if (net_graph_parse_param(h, text, bytes, "again", &err) != NET_OK) {
        fuzz_fail("the same text is read twice", err.text);
    }
}

static void write_and_read(const net_graph *g, const char *text, size_t text_bytes, net_layout layout) {
    const net_save_options how = {layout, NET_STORE_EXACT};
    net_graph h;
    net_error err = {""};
    uint8_t *packed = NULL;
    size_t bytes = 0;
    if (net_graph_pack_bin(g, &how, &packed, &bytes, &err) != NET_OK) {
        fuzz_fail("what is read can be written", err.text);
    }
    parse_again(&h, text, text_bytes);
    if (net_graph_parse_bin_as(&h, layout, packed, bytes, "packed", &err) != NET_OK) {
        fuzz_fail("what is written can be read", err.text);
    }
    if (!net_equal(g, &h)) {
        fuzz_fail("what is written is the same network", g->name);
    }
    net_graph_free(&h);
    free(packed);
}

void fuzz_bin(const uint8_t *data, size_t size) {
    const uint8_t *zero = size == 0 ? NULL : memchr(data, 0, size);
    if (zero == NULL) {
        return;
    }
    const char *text = (const char *)data;
    const size_t text_bytes = (size_t)(zero - data);
    const size_t bytes = size - text_bytes - 1;
    net_graph g;
    net_error err = {""};
    if (net_graph_parse_param(&g, text, text_bytes, "fuzz", &err) != NET_OK) {
        return;
    }
    bool fits[2] = {false, false};
    for (int layout = NET_LAYOUT_STOCK; layout <= NET_LAYOUT_AUTO; layout++) {
        err.text[0] = '\0';
        if (net_graph_parse_bin_as(&g, (net_layout)layout, zero + 1, bytes, "fuzz.bin", &err) != NET_OK) {
            fuzz_check_line(err.text);
            if (g.has_weights) {
                fuzz_fail("a graph that was not read has no weights", err.text);
            }
            if (layout == NET_LAYOUT_AUTO && (fits[0] || fits[1])) {
                fuzz_fail("a layout that fits is found", err.text);
            }
            continue;
        }
        if (layout == NET_LAYOUT_AUTO && !fits[g.layout]) {
            fuzz_fail("the layout that is found fits", g.name);
        }
        fits[g.layout] = true;
        write_and_read(&g, text, text_bytes, NET_LAYOUT_STOCK);
        write_and_read(&g, text, text_bytes, NET_LAYOUT_ALIGNED);
    }
    if (net_graph_plan(&g, &err) != NET_OK) {
        fuzz_check_line(err.text);
    }
    net_graph_free(&g);
}
