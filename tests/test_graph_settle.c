/* Knobs of the test graph: settling them (testcases/npu/network/graph.c) changes no network, whatever layers are left
 * out, and a network keeps its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../testcases/npu/network/graph_run.h"

#define MESH 8u

static bool has_weights(const graph_layer *l) {
    return strncmp(l->type, "Convolution", 11) == 0 || strcmp(l->type, "InnerProduct") == 0;
}

/* The same but for the numbers in names of layers. */
static bool same_layer(const graph_layer *a, const graph_layer *b) {
    return strcmp(a->type, b->type) == 0 && strcmp(a->settings, b->settings) == 0 && a->num_in == b->num_in &&
           memcmp(a->in, b->in, a->num_in * sizeof a->in[0]) == 0 && a->out == b->out && a->out2 == b->out2;
}

/* Random knobs with a third of the layers left out, and the number of layers among them. */
static void draw(uint64_t seed, tb_knobs *knobs) {
    char text[400];
    tb_rng rng = tb_rng_stream(seed, "test_graph_settle");
    tb_knobs_init(knobs, tc_graph.knobs, tc_graph.knob_count);
    assert_int_equal(tc_generate(&tc_graph, MESH, seed, false, knobs, text, sizeof text), 0);
    for (uint32_t i = 1; i <= GRAPH_LAYERS; i++) {
        if (tb_rng_chance(&rng, 1, 3)) {
            snprintf(text, sizeof text, "op%u", i);
            assert_int_equal(tb_knobs_set(knobs, text, GRAPH_SKIP), 0);
        }
    }
}

static void test_settle(void **state) {
    (void)state;
    const uint32_t count = getenv("TANDEM_CHECK") != NULL ? 100000 : 3000;
    uint32_t fewer = 0;
    for (uint32_t i = 0; i < count; i++) {
        static graph before, after;
        static char text[GRAPH_TEXT];
        graph_knobs kb, ka;
        tb_knobs knobs;
        draw(i, &knobs);
        tb_knobs settled = knobs;
        tc_graph.settle(&settled);
        tb_knobs twice = settled;
        tc_graph.settle(&twice);
        assert_memory_equal(twice.value, settled.value, sizeof settled.value);
        graph_from_knobs(&knobs, &kb);
        graph_from_knobs(&settled, &ka);
        graph_resolve(&kb, &before);
        graph_resolve(&ka, &after);
        assert_int_equal(before.layers, after.layers);
        assert_int_equal(before.blobs, after.blobs);
        assert_true(before.layers < GRAPH_MOST && before.blobs < GRAPH_MOST);
        const size_t bytes = graph_print(&before, text);
        assert_true(bytes + 1024 < GRAPH_TEXT && text[bytes - 1] == '\n');
        for (uint32_t l = 0; l < before.layers; l++) {
            const graph_layer *a = &before.layer[l];
            const graph_layer *b = &after.layer[l];
            assert_true(same_layer(a, b));
            assert_true(!has_weights(a) ||
                        kb.layer[graph_number(a->name)].prec == ka.layer[graph_number(b->name)].prec);
        }
        fewer += ka.layers < kb.layers;
    }
    assert_true(fewer > count / 2); /* else it was no test */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
