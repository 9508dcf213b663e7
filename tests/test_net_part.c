/* Parts of a network on the golden model: each layer alone, and any row of layers, gives what the whole network gave; a
 * value that differs is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../network/rt.h"
#include "../tb/case/rng.h"
#include "net_random.h"

typedef struct rig {
    char text[NET_RANDOM_TEXT];
    net_graph graph;
    float *input;
    npu_dev *dev;
    net_rt *whole;
    uint32_t n;
} rig;

static uint32_t networks(void) {
    return getenv("TANDEM_CHECK") != NULL ? 200 : 12;
}

static npu_dev *open_model(uint32_t n) {
    char err[400] = "";
    npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = n, .seed = 1, .poison_reads = true};
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    if (dev == NULL) {
        fail_msg("%s", err);
    }
    return dev;
}

static void check(net_status status, const net_error *err, const char *text) {
    if (status != NET_OK) {
        fail_msg("%s\n%s", err->text, text);
    }
}

static void make(rig *r, uint64_t seed) {
    net_error err = {""};
    net_graph *g = &r->graph;
    size_t bytes = net_random_param(seed, 4 + (uint32_t)(seed % 28), r->text);
    check(net_graph_parse_param(g, r->text, bytes, "random", &err), &err, r->text);
    check(net_graph_plan(g, &err), &err, r->text);
    check(net_graph_random_weights(g, seed, &err), &err, r->text);
    check(net_optimize(g, NULL, NULL, NULL, &err), &err, r->text);
    check(net_quantize_seeded(g, seed, &err), &err, r->text);
    check(net_optimize(g, NULL, NULL, NULL, &err), &err, r->text);
    r->n = 4u << seed % 3;
    r->input = malloc(net_graph_input_elements(g) * sizeof *r->input + 1);
    assert_non_null(r->input);
    net_seeded_input(g, seed, r->input);
    r->dev = open_model(r->n);
    check(net_rt_new(g, r->dev, &r->whole, &err), &err, r->text);
    check(net_rt_run(r->whole, r->input, &err), &err, r->text);
}

static void end(rig *r) {
    net_rt_free(r->whole);
    npu_dev_close(r->dev);
    net_graph_free(&r->graph);
    free(r->input);
    memset(r, 0, sizeof *r);
}

static net_status part(rig *r, uint32_t first, uint32_t last, net_error *err) {
    const net_rt_options options = {.part = true, .first = first, .last = last};
    npu_dev *dev = open_model(r->n);
    net_rt *rt = NULL;
    net_status status = net_rt_new_with(&r->graph, dev, &options, &rt, err);
    status = status == NET_OK ? net_rt_run_part(rt, r->whole, err) : status;
    net_rt_free(rt);
    npu_dev_close(dev);
    return status;
}

static void test_each_layer(void **state) {
    uint32_t int8_inputs = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= networks(); seed++) {
        rig r = {0};
        net_error err = {""};
        make(&r, seed);
        for (uint32_t i = 0; i < r.graph.num_layers; i++) {
            const net_layer *layer = &r.graph.layer[i];
            int8_inputs += layer->num_in > 0 && r.whole->layer[i].kind == RT_CONV && r.whole->blob[layer->in[0]].int8;
            check(part(&r, i, i, &err), &err, r.text);
        }
        end(&r);
    }
    assert_true(int8_inputs > 0); /* else nothing was tried of INT8 tensors as inputs */
}

static void test_rows_of_layers(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= networks(); seed++) {
        rig r = {0};
        net_error err = {""};
        make(&r, seed + 1000);
        tb_rng s = tb_rng_stream(seed, "rows");
        for (uint32_t k = 0; k < 6; k++) {
            const uint32_t first = (uint32_t)tb_rng_range(&s, 0, r.graph.num_layers - 1);
            const uint32_t last = (uint32_t)tb_rng_range(&s, first, r.graph.num_layers - 1);
            check(part(&r, first, last, &err), &err, r.text);
        }
        check(part(&r, 0, r.graph.num_layers - 1, &err), &err, r.text);
        end(&r);
    }
}

/* A wrong value in what the whole network gave is found where it stands. */
static void test_difference(void **state) {
    rig r = {0};
    net_error err = {""};
    uint32_t tried = 0;
    (void)state;
    make(&r, 5);
    for (uint32_t i = 0; i < r.graph.num_layers; i++) {
        const net_layer *layer = &r.graph.layer[i];
        if (r.whole->layer[i].kind != RT_CONV) {
            continue;
        }
        const net_shape *s = &r.graph.blob[layer->out[0]].shape;
        float *out = rt_host(r.whole, layer->out[0]);
        const uint32_t at = net_shape_elements(s) - 1;
        char text[100];
        const float kept = out[at];
        out[at] += 1.0f;
        assert_int_equal(part(&r, i, i, &err), NET_ERR_DEVICE);
        (void)snprintf(text, sizeof text, "layer %u '%.60s'", i, layer->name);
        assert_non_null(strstr(err.text, text));
        (void)snprintf(text, sizeof text, "element %u (channel %u, row %u, column %u)", at, s->c - 1, s->h - 1,
                       s->w - 1);
        if (s->dims == 3) {
            assert_non_null(strstr(err.text, text));
        }
        out[at] = kept;
        tried++;
    }
    assert_true(tried > 0);
    end(&r);
}

static void test_arguments(void **state) {
    rig r = {0};
    net_error err = {""};
    (void)state;
    make(&r, 2);
    assert_int_equal(part(&r, 3, 2, &err), NET_ERR_ARG);
    assert_int_equal(part(&r, r.graph.num_layers, r.graph.num_layers + 1, &err), NET_ERR_ARG);
    assert_int_equal(net_rt_run_part(r.whole, r.whole, &err), NET_ERR_ARG);
    end(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_layer),
        cmocka_unit_test(test_rows_of_layers),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
