/*
 * Graph passes of document 002 on the golden model: joined maps that share memory, and convolutions of one input that
 * become one. Each network runs in every form (Concat as copies, joined maps apart, shared, poolings first, merged)
 * with equal outputs, bit for bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../network/rt.h"

#define MOST_OUTPUTS 8u

typedef struct forms {
    uint32_t apart, shared; /* copies and moves of blobs that the runtime makes then */
} forms;

static void check(net_status status, const net_error *err, const char *text) {
    if (status != NET_OK) {
        fail_msg("%s\n%s", err->text, text);
    }
}

/* The layers as a file, with its counts. */
static char *file_of(const char *layers) {
    char *text = malloc(strlen(layers) + 64);
    uint32_t count = 0;
    uint32_t blobs = 0;
    assert_non_null(text);
    for (const char *line = layers; *line != '\0'; line = strchr(line, '\n') + 1) {
        uint32_t outputs = 0;
        assert_int_equal(sscanf(line, "%*s %*s %*u %u", &outputs), 1);
        blobs += outputs;
        count++;
    }
    (void)sprintf(text, "7767517\n%u %u\n%s", count, blobs, layers);
    return text;
}

typedef enum form { FP32, INT8, ASYM, INT16, FORMS } form;

/* requantise: INT8 outputs, too, where all layers behind take INT8. */
static void make(net_graph *g, const char *layers, form f, bool requantise) {
    float lo[32];
    float hi[32];
    net_error err = {""};
    for (uint32_t i = 0; i < 32; i++) { /* by layer: its input, which is the same for several */
        lo[i] = -0.75f;
        hi[i] = 2.0f;
    }
    char *text = file_of(layers);
    check(net_graph_parse_param(g, text, strlen(text), "passes", &err), &err, text);
    check(net_graph_plan(g, &err), &err, text);
    check(net_graph_random_weights(g, 5, &err), &err, text);
    assert_true(g->num_layers <= 32);
    check(f == INT8    ? net_quantize_seeded(g, 5, &err)
          : f == ASYM  ? net_quantize_asym(g, lo, hi, &err)
          : f == INT16 ? net_quantize_wide(g, lo, hi, &err)
                       : NET_OK,
          &err, text);
    check(requantise ? net_optimize(g, NULL, NULL, NULL, &err) : NET_OK, &err, text);
    free(text);
}

/* Copies of whole blobs by a Split, and parts that a Slice moves. */
static uint32_t copies_of(const net_rt *rt) {
    const net_graph *g = rt->graph;
    uint32_t copies = 0;
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const net_layer *layer = &g->layer[i];
        for (uint32_t k = 0; rt->layer[i].kind == RT_NOTHING && layer->num_in == 1 && k < layer->num_out; k++) {
            copies += rt_is_copied(rt, layer->in[0], layer->out[k]);
        }
        copies += strcmp(layer->type, "Slice") == 0 ? rt->layer[i].moves : 0;
    }
    return copies;
}

/* Runs it and gives the hashes of its outputs. Every layer is checked, too, where memory is not reused. */
static uint32_t run(const net_graph *g, uint32_t n, net_rt_options options, uint64_t hash[MOST_OUTPUTS]) {
    char message[400] = "";
    net_error err = {""};
    const npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = n, .seed = 1, .poison_reads = true, .int16 = true};
    npu_dev *dev = npu_dev_open(&cfg, message, sizeof message);
    net_rt *rt = NULL;
    uint64_t bytes = 0;
    float *input = malloc(net_graph_input_elements(g) * sizeof *input + 1);
    assert_true(dev != NULL && input != NULL && g->num_outputs <= MOST_OUTPUTS);
    net_seeded_input(g, 3, input);
    check(net_rt_memory(g, n, &options, &bytes, &err), &err, "");
    check(net_rt_new_with(g, dev, &options, &rt, &err), &err, "");
    assert_int_equal(bytes, net_rt_memory_used(rt).device_all); /* as it was planned without the device */
    check(net_rt_run(rt, input, &err), &err, "");
    for (uint32_t i = 0; !options.reuse && i < g->num_layers; i++) {
        net_rt_difference first;
        bool equal = g->layer[i].kind == NET_INPUT || net_rt_layer_where(rt, i).fused;
        check(equal ? NET_OK : net_rt_check(rt, i, &equal, &first, &err), &err, g->layer[i].name);
        assert_true(equal);
    }
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        const uint32_t blob = g->outputs[i];
        hash[i] = net_hash(net_rt_blob(rt, blob), net_shape_elements(&g->blob[blob].shape));
    }
    const uint32_t copies = copies_of(rt);
    net_rt_free(rt);
    assert_true(npu_dev_finish(dev));
    npu_dev_close(dev);
    free(input);
    return copies;
}

static void same_outputs(const net_graph *g, uint32_t n, net_rt_options options, const uint64_t *expected,
                         uint32_t copies) {
    for (uint32_t k = 0; k < 2; k++) {
        uint64_t hash[MOST_OUTPUTS];
        options.reuse = k == 1;
        const uint32_t made = run(g, n, options, hash);
        if (copies != UINT32_MAX && made != copies) {
            fail_msg("%s: %u copies, expected %u", g->layer[g->num_layers - 1].name, made, copies);
        }
        assert_memory_equal(hash, expected, g->num_outputs * sizeof *hash);
    }
}

/* In all forms. */
static void check_forms(const char *layers, forms f) {
    for (uint32_t k = 0; k < 2 * FORMS; k++) {
        const uint32_t n = k % 2 == 0 ? 4 : 8;
        uint64_t expected[MOST_OUTPUTS];
        net_error err = {""};
        uint32_t changes = 0;
        net_graph g;
        make(&g, layers, (form)(k / 2), k / 2 == INT8);
        (void)run(&g, n, (net_rt_options){.copy_concat = true}, expected);
        same_outputs(&g, n, (net_rt_options){.apart = true}, expected, f.apart);
        same_outputs(&g, n, (net_rt_options){0}, expected, f.shared);
        check(net_opt_pools_first(&g, &changes, &err), &err, layers);
        check(net_opt_merge_convs(&g, &changes, &err), &err, layers);
        same_outputs(&g, n, (net_rt_options){0}, expected, UINT32_MAX);
        net_graph_free(&g);
    }
}

/* ---- joined maps ---- */

/* Maps of 25 pixels, so that channels have gaps between them; their numbers of channels are no multiples of N. */
#define BRANCHES                                                                                                       \
    "Input in 0 1 in 0=5 1=5 2=3\n"                                                                                    \
    "Split s 1 5 in i0 i1 i2 i3 i4\n"                                                                                  \
    "Convolution a 1 1 i0 A 0=3 1=1 6=9\n"                                                                             \
    "Convolution b 1 1 i1 B 0=5 1=3 4=1 5=1 6=135\n"                                                                   \
    "Sigmoid c 1 1 i2 C\n"                                                                                             \
    "Convolution d 1 1 i3 D 0=9 1=1 5=1 6=27\n"                                                                        \
    "ReLU e 1 1 i4 E\n"

static void test_two_maps(void **state) {
    (void)state;
    check_forms(BRANCHES "Split t 1 2 A A0 A1\n" /* [B A C] */
                         "Concat x 2 1 B A0 X 0=0\n"
                         "Concat y 2 1 A1 C Y 0=0\n",
                (forms){1, 0});
    check_forms(BRANCHES "Split t 1 2 A A0 A1\n" /* B and C would be in one place */
                         "Concat x 2 1 A0 B X 0=0\n"
                         "Concat y 2 1 A1 C Y 0=0\n",
                (forms){1, 1});
    check_forms(BRANCHES "Split t 1 2 A A0 A1\n" /* twice in one map */
                         "Concat x 3 1 A0 B A1 X 0=0\n",
                (forms){1, 1});
    check_forms(BRANCHES "Split t 1 2 A A0 A1\n" /* with two maps in common */
                         "Split u 1 2 B B0 B1\n"
                         "Concat x 3 1 C A0 B0 X 0=0\n"
                         "Concat y 3 1 A1 B1 D Y 0=0\n",
                (forms){2, 0});
    check_forms(BRANCHES "Split t 1 2 A A0 A1\n" /* in another order */
                         "Split u 1 2 B B0 B1\n"
                         "Concat x 3 1 C A0 B0 X 0=0\n"
                         "Concat y 3 1 B1 A1 D Y 0=0\n",
                (forms){2, 1});
}

static void test_three_maps(void **state) {
    (void)state;
    check_forms(BRANCHES "Split t 1 3 A A0 A1 A2\n" /* the third one has no room */
                         "Concat x 2 1 B A0 X 0=0\n"
                         "Concat y 2 1 A1 C Y 0=0\n"
                         "Concat z 3 1 D A2 E Z 0=0\n",
                (forms){2, 1});
    check_forms(BRANCHES "Split t 1 3 A A0 A1 A2\n" /* one holds both others */
                         "Split u 1 2 B B0 B1\n"
                         "Split v 1 2 C C0 C1\n"
                         "Concat x 2 1 B0 A0 X 0=0\n"
                         "Concat y 2 1 A1 C0 Y 0=0\n"
                         "Concat z 3 1 B1 A2 C1 Z 0=0\n",
                (forms){4, 0});
}

static void test_joined_again(void **state) {
    (void)state;
    check_forms(BRANCHES "Concat x 2 1 A B X 0=0\n" /* [C [A B] D] */
                         "Split t 1 2 X X0 X1\n"
                         "Concat y 2 1 C X0 Y 0=0\n"
                         "Concat z 2 1 X1 D Z 0=0\n",
                (forms){1, 0});
    check_forms(BRANCHES "Split t 1 2 B B0 B1\n" /* B alone, and as the end of [A B]: [A B C] */
                         "Concat x 2 1 A B0 X 0=0\n"
                         "Concat y 2 1 X D Y 0=0\n"
                         "Concat z 2 1 B1 C Z 0=0\n",
                (forms){1, 1});
    /* [A B A B A ..]: the maps fit onto each other two channels on, where D1 would be copied onto a part of itself */
    check_forms("Input in 0 1 in 0=5 1=5 2=1\n"
                "Split s 1 3 in i0 i1 i2\n"
                "Sigmoid a 1 1 i0 A\n"
                "Split t 1 2 A A0 A1\n"
                "ReLU b 1 1 i1 B\n"
                "ReLU e 1 1 i2 E\n"
                "Concat f 2 1 B A0 F 0=0\n"
                "Split u 1 3 F F0 F1 F2\n"
                "Concat d 2 1 A1 F0 D 0=0\n"
                "Split v 1 2 D D0 D1\n"
                "Concat g 2 1 D0 F1 G 0=0\n"
                "Concat h 2 1 F2 E H 0=0\n"
                "Split w 1 2 H H0 H1\n"
                "Concat x 2 1 G H0 X 0=0\n"
                "Concat y 2 1 D1 H1 Y 0=0\n",
                (forms){UINT32_MAX, UINT32_MAX});
}

static void test_outputs(void **state) {
    (void)state;
    check_forms(BRANCHES "Split t 1 3 A A0 A1 out\n" /* a part of both is an output of the network, and so is one map */
                         "Concat x 2 1 B A0 X 0=0\n"
                         "Split u 1 2 X X0 X1\n"
                         "Pooling p 1 1 X1 P 0=0 1=3 2=2\n"
                         "Concat y 2 1 A1 C Y 0=0\n",
                (forms){1, 0});
}

static void test_slices(void **state) {
    (void)state;
    check_forms(BRANCHES "Slice s9 1 2 D P Q -23300=2,4,-233 1=0\n" /* [A P Q B] */
                         "Concat x 2 1 A P X 0=0\n"
                         "Concat y 2 1 Q B Y 0=0\n",
                (forms){2, 0});
    check_forms(BRANCHES "Slice s9 1 3 D P Q R -23300=3,4,2,-233 1=0\n" /* Q and B would be in one place */
                         "Concat x 2 1 P B X 0=0\n"
                         "ReLU q 1 1 Q Q1\n",
                (forms){1, 1});
    check_forms(BRANCHES "Slice s9 1 2 D P out -23300=2,4,-233 1=0\n" /* one part is an output, the other one is joined
                                                                          in the other order */
                         "Split t 1 2 P P0 P1\n"
                         "Concat x 2 1 P0 A X 0=0\n"
                         "Convolution k 1 1 P1 K 0=4 1=1 6=16\n",
                (forms){1, 1});
}

/* Channels of a single pixel are 4 bytes apart, which is not what the driver needs. */
static void test_without_room(void **state) {
    (void)state;
    check_forms("Input in 0 1 in 0=1 1=1 2=6\n"
                "Split s 1 3 in i0 i1 i2\n"
                "Sigmoid a 1 1 i0 A\n"
                "ReLU b 1 1 i1 B\n"
                "TanH c 1 1 i2 C\n"
                "Split t 1 2 A A0 A1\n"
                "Concat x 2 1 B A0 X 0=0\n"
                "Concat y 2 1 A1 C Y 0=0\n",
                (forms){1, 1});
    check_forms("Input in 0 1 in 0=6\n"
                "Split s 1 3 in i0 i1 i2\n"
                "InnerProduct a 1 1 i0 A 0=8 2=48\n"
                "InnerProduct b 1 1 i1 B 0=8 2=48\n"
                "InnerProduct c 1 1 i2 C 0=3 2=18\n"
                "Split t 1 2 A A0 A1\n"
                "Concat x 2 1 B A0 X 0=0\n"
                "Concat y 2 1 A1 C Y 0=0\n",
                (forms){1, 1});
}

/* ---- merged convolutions ---- */

static uint32_t count(const net_graph *g, const char *type) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < g->num_layers; i++) {
        found += strcmp(g->layer[i].type, type) == 0;
    }
    return found;
}

/* Merging leaves so many convolutions, and the outputs as they were; the runtime then copies so many blobs. */
static void check_merged(const char *layers, uint32_t convs, uint32_t copies) {
    for (uint32_t k = 0; k < FORMS; k++) {
        net_error err = {""};
        uint64_t expected[MOST_OUTPUTS];
        uint32_t changes = 0;
        net_graph g;
        make(&g, layers, (form)k, false);
        const uint32_t before = count(&g, "Convolution");
        const uint32_t outputs = g.num_outputs;
        (void)run(&g, 8, (net_rt_options){0}, expected);
        check(net_opt_merge_convs(&g, &changes, &err), &err, layers);
        assert_int_equal(g.num_outputs, outputs);
        assert_int_equal(count(&g, "Convolution"), convs);
        assert_true((changes > 0) == (convs < before));
        same_outputs(&g, 8, (net_rt_options){0}, expected, copies);
        net_graph_free(&g);
    }
}

#define SISTERS                                                                                                        \
    "Input in 0 1 in 0=7 1=6 2=5\n"                                                                                    \
    "Split s 1 2 in i0 i1\n"                                                                                           \
    "Convolution a 1 1 i0 A 0=6 1=3 4=1 5=1 6=270 9=1\n"

static void test_merge(void **state) {
    (void)state;
    check_merged(SISTERS "Convolution b 1 1 i1 B 0=3 1=3 4=1 5=1 6=135 9=1\n", 1, 0); /* both are outputs */
    check_merged(
        "Input in 0 1 in 0=7 1=6 2=5\n" /* two pairs and a single one; the order of one is that of its Concat */
        "Split s 1 5 in i0 i1 i2 i3 i4\n"
        "Convolution a 1 1 i0 A 0=6 1=3 4=1 5=1 6=270 9=2 -23310=1,0.1\n"
        "Convolution b 1 1 i1 B 0=3 1=1 6=15\n"
        "Convolution c 1 1 i2 C 0=7 1=1 6=35\n"
        "Convolution d 1 1 i3 D 0=2 1=3 4=1 5=1 6=90 9=2 -23310=1,0.1\n"
        "Convolution e 1 1 i4 E 0=2 1=3 4=1 5=1 6=90 9=1\n"
        "Split t 1 2 A A0 A1\n"
        "Convolution f 1 1 A1 F 0=4 1=3 4=1 6=216\n"
        "Concat x 3 1 F D A0 X 0=0\n"
        "Concat y 2 1 C B Y 0=0\n",
        4, 0);
    check_merged(SISTERS "Convolution b 1 1 i1 B 0=3 1=3 4=1 5=1 6=135 9=1\n" /* [B A ..]: A is the last one of [C A] */
                         "Convolution c 1 1 B C 0=4 1=1 6=12\n"
                         "Concat x 2 1 C A X 0=0\n",
                 2, 0);
    check_merged("Input in 0 1 in 0=7 1=6 2=5\n" /* activations behind them are one, too; one of them is an output */
                 "Split s 1 2 in i0 i1\n"
                 "Convolution a 1 1 i0 A 0=6 1=1 6=30\n"
                 "Swish as 1 1 A A1\n"
                 "Convolution b 1 1 i1 B 0=2 1=1 6=10\n"
                 "Swish bs 1 1 B B1\n"
                 "Pooling p 1 1 A1 P 0=1 1=2 2=2\n",
                 1, 0);
}

static void test_not_merged(void **state) {
    static const char *const second[] = {
        "Convolution b 1 1 i1 B 0=3 1=1 4=0 5=1 6=15 9=1\n",                    /* kernel */
        "Convolution b 1 1 i1 B 0=3 1=3 4=2 5=1 6=135 9=1\n",                   /* padding */
        "Convolution b 1 1 i1 B 0=3 1=3 4=1 15=0 5=1 6=135 9=1\n",              /* padding on one side */
        "Convolution b 1 1 i1 B 0=3 1=3 3=2 4=1 5=1 6=135 9=1\n",               /* stride */
        "Convolution b 1 1 i1 B 0=3 1=3 2=2 4=1 5=1 6=135 9=1\n",               /* dilation */
        "Convolution b 1 1 i1 B 0=3 1=3 4=1 6=135 9=1\n",                       /* bias */
        "Convolution b 1 1 i1 B 0=3 1=3 4=1 5=1 6=135 9=2 -23310=1,0.5\n",      /* activation */
        "Convolution b 1 1 i1 B 0=3 1=3 4=1 5=1 6=135\n",                       /* none */
        "Convolution b 1 1 i1 B0 0=3 1=3 4=1 5=1 6=135\nReLU r 1 1 B0 B\n",     /* a layer of its own */
        "ConvolutionDepthWise b 1 1 i1 B 0=5 1=3 4=1 5=1 6=45 7=5 9=1\n",       /* groups */
        "Dropout o 1 1 i1 j\nConvolution b 1 1 j B 0=3 1=3 4=1 5=1 6=135 9=1\n" /* not the same blob */
    };
    (void)state;
    for (size_t i = 0; i < sizeof second / sizeof second[0]; i++) {
        char layers[600];
        (void)snprintf(layers, sizeof layers, "%s%s", SISTERS, second[i]);
        check_merged(layers, strstr(second[i], "DepthWise") != NULL ? 1 : 2, 0);
    }
    /* an INT8 output in NHWC, which has no place for a Slice: the convolution behind it takes INT8 */
    net_graph g;
    uint32_t changes = 0;
    make(&g,
         SISTERS "Convolution b 1 1 i1 B 0=3 1=3 4=1 5=1 6=135 9=1\n"
                 "Convolution c 1 1 B C 0=4 1=1 6=12\n",
         INT8, true);
    assert_int_equal(g.layer[3].conv.int8_scale_term, 102);
    assert_int_equal(net_opt_merge_convs(&g, &changes, NULL), NET_OK);
    assert_int_equal(changes, 0);
    net_graph_free(&g);
}

/* Inputs quantised with different scales or zero-points, and a graph that is not ready. */
static void test_scales(void **state) {
    net_error err = {""};
    uint32_t changes = 0;
    net_graph g;
    (void)state;
    make(&g, SISTERS "Convolution b 1 1 i1 B 0=3 1=3 4=1 5=1 6=135 9=1\n", INT8, false);
    for (uint32_t i = 0; i < g.layer[3].num_tensors; i++) {
        net_tensor *t = &g.layer[3].tensor[i];
        if (t->role == NET_ROLE_BOTTOM_SCALE) {
            t->f32[0] *= 1.5f;
            changes++;
        }
    }
    assert_int_equal(changes, 1);
    changes = 0;
    assert_int_equal(net_opt_merge_convs(&g, &changes, &err), NET_OK);
    assert_int_equal(changes, 0);
    assert_int_equal(count(&g, "Convolution"), 2);
    net_graph_free(&g);
    make(&g, SISTERS "Convolution b 1 1 i1 B 0=3 1=3 4=1 5=1 6=135 9=1\n", ASYM, false);
    g.layer[3].asym.zero++;
    assert_int_equal(net_opt_merge_convs(&g, &changes, &err), NET_OK);
    assert_int_equal(changes, 0);
    g.planned = false;
    assert_int_equal(net_opt_merge_convs(&g, &changes, &err), NET_ERR_ARG);
    assert_int_equal(net_opt_merge_convs(NULL, &changes, &err), NET_ERR_ARG);
    assert_non_null(strstr(err.text, "net_opt_merge_convs"));
    net_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_maps), cmocka_unit_test(test_three_maps), cmocka_unit_test(test_joined_again),
        cmocka_unit_test(test_outputs),  cmocka_unit_test(test_slices),     cmocka_unit_test(test_without_room),
        cmocka_unit_test(test_merge),    cmocka_unit_test(test_not_merged), cmocka_unit_test(test_scales)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
