/* INT8 networks on the CPU: by hand, scalar definition against the vectorised loops, against the device, tables to
 * networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../network/int8_sums.h"
#include "../network/network.h"
#include "../tb/case/rng.h"

static bool full(void) {
    return getenv("TANDEM_CHECK") != NULL;
}

static void make(net_graph *g, const char *text, uint64_t seed) {
    net_error err = {""};
    net_status status = net_graph_parse_param(g, text, strlen(text), "t", &err);
    status = status == NET_OK ? net_graph_random_weights(g, seed, &err) : status;
    status = status == NET_OK ? net_graph_plan(g, &err) : status;
    if (status != NET_OK) {
        fail_msg("%s\n%s", err.text, text);
    }
}

static float *random_input(const net_graph *g, uint64_t seed) {
    uint32_t count = net_shape_elements(&g->blob[g->input].shape);
    tb_rng rng = tb_rng_stream(seed, "test_net_int8.input");
    float *input = malloc(count * sizeof *input);
    assert_non_null(input);
    for (uint32_t i = 0; i < count; i++) {
        input[i] = tb_rng_f32_range(&rng, -5.0f, 5.0f);
    }
    return input;
}

/* A path and the definition over one input: every blob and every quantised input, bit for bit. Returns how many arrays
 * were compared. */
static uint32_t one_path(const net_graph *g, uint64_t seed, net_int8_path path) {
    net_int8 *scalar = NULL;
    net_int8 *fast = NULL;
    net_error err = {""};
    uint32_t compared = 0;
    if (net_int8_new(g, NET_INT8_SCALAR, &scalar, &err) != NET_OK || net_int8_new(g, path, &fast, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
    float *input = random_input(g, seed);
    net_int8_run(scalar, input);
    net_int8_run(fast, input);
    net_int8_run(fast, input); /* nothing is left over from the run before */
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        size_t count = net_shape_elements(&g->blob[i].shape);
        assert_true((net_int8_blob(scalar, i) == NULL) == (net_int8_q_blob(scalar, i) != NULL));
        if (net_int8_q_blob(scalar, i) != NULL) {
            assert_memory_equal(net_int8_q_blob(scalar, i), net_int8_q_blob(fast, i), count);
        } else {
            assert_memory_equal(net_int8_blob(scalar, i), net_int8_blob(fast, i), count * sizeof(float));
        }
        compared++;
    }
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const int8_t *q = net_int8_q_input(scalar, i);
        assert_true((q == NULL) == (net_int8_q_input(fast, i) == NULL));
        if (q != NULL) {
            assert_memory_equal(q, net_int8_q_input(fast, i), net_shape_elements(&g->blob[g->layer[i].in[0]].shape));
            compared++;
        }
    }
    net_int8_free(scalar);
    net_int8_free(fast);
    free(input);
    return compared;
}

/* Both of the faster paths: with instructions for byte products where the build has them, and the plain loops. */
static uint32_t both_paths(const net_graph *g, uint64_t seed) {
    uint32_t compared = one_path(g, seed, NET_INT8_FAST);
    assert_int_equal(one_path(g, seed, NET_INT8_PLAIN), compared);
    return compared;
}

/* ---- by hand ---- */

static const char two[] = "7767517\n3 3\nInput in 0 1 x 0=3 1=1 2=1\nConvolution a 1 1 x y 0=1 1=1 5=1 6=1 8=102 9=1\n"
                          "Convolution b 1 1 y z 0=2 1=2 11=1 4=1 14=0 15=0 16=0 5=1 6=4 8=2\n";

static void test_by_hand(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    net_int8 *net = NULL;
    make(&g, two, 1);
    /* a: weight 3, bias 0.5, weight scale 2, input scale 4, output scale 8; b: weights (1, -2), (0, 5), bias (0, 1),
     * weight scales 1 and 0, input scale 8 */
    const net_layer *a = &g.layer[1];
    const net_layer *b = &g.layer[2];
    const float scales_b[2] = {1.0f, 0.0f};
    const float bias_b[2] = {0.0f, 1.0f};
    const float of_a[4] = {0.5f, 2.0f, 4.0f, 8.0f};
    const net_role roles[4] = {NET_ROLE_BIAS, NET_ROLE_WEIGHT_SCALE, NET_ROLE_BOTTOM_SCALE, NET_ROLE_TOP_SCALE};
    for (uint32_t i = 0; i < 4; i++) {
        net_layer_tensor(a, roles[i])->f32[0] = of_a[i];
    }
    memcpy(net_layer_tensor(b, NET_ROLE_BIAS)->f32, bias_b, sizeof bias_b);
    memcpy(net_layer_tensor(b, NET_ROLE_WEIGHT_SCALE)->f32, scales_b, sizeof scales_b);
    net_layer_tensor(b, NET_ROLE_BOTTOM_SCALE)->f32[0] = 8.0f;
    /* weights as floats: quantised with their scales */
    net_layer_tensor(a, NET_ROLE_WEIGHT)->f32[0] = 1.5f;
    const float weights_b[4] = {1.0f, -2.0f, 0.0f, 5.0f};
    memcpy(net_layer_tensor(b, NET_ROLE_WEIGHT)->f32, weights_b, sizeof weights_b);
    const float input[3] = {1.0f, -2.0f, 40.0f};
    for (net_int8_path path = NET_INT8_SCALAR; path <= NET_INT8_PLAIN; path++) {
        assert_int_equal(net_int8_new(&g, path, &net, &err), NET_OK);
        net_int8_run(net, input);
        /* 4, -8, 160 -> 127; times 3 / 8: 1.5, -3, 47.625; + 0.5; ReLU; * 8: 16, 0, 385 -> 127 */
        assert_memory_equal(net_int8_q_input(net, 1), "\x04\xf8\x7f", 3);
        assert_memory_equal(net_int8_q_blob(net, a->out[0]), "\x10\x00\x7f", 3);
        assert_null(net_int8_blob(net, a->out[0]));
        assert_ptr_equal(net_int8_q_input(net, 2), net_int8_q_blob(net, a->out[0]));
        assert_null(net_int8_q_input(net, 0));
        const float expected[6] = {-2.0f * 16 / 8, 16.0f / 8, -2.0f * 127 / 8, 1.0f, 1.0f, 1.0f};
        assert_memory_equal(net_int8_blob(net, b->out[0]), expected, sizeof expected);
        net_int8_free(net);
    }
    net_graph_free(&g);
}

static void test_quantise(void **state) {
    (void)state;
    const float edge[] = {0.5f,        1.5f,  -0.5f,  126.5f,   126.49999f, 127.5f, -126.5f, -128.0f,
                          0.49999997f, 1e30f, -1e30f, INFINITY, -INFINITY,  NAN,    -0.0f,   1e-40f};
    int8_t got[sizeof edge / sizeof edge[0]];
    int8_quantize_fast(edge, 1.0f, got, sizeof edge / sizeof edge[0]);
    for (size_t i = 0; i < sizeof edge / sizeof edge[0]; i++) {
        assert_int_equal(got[i], net_quantize_value(edge[i], 1.0f));
    }
    /* all floats, or one of 997; with sanitizers one of 97 */
#ifdef __SANITIZE_ADDRESS__
    const uint64_t step = full() ? 97 : 997;
#else
    const uint64_t step = full() ? 1 : 997;
#endif
    enum { BLOCK = 1 << 16 };
    float *value = malloc(BLOCK * sizeof *value);
    int8_t *q = malloc(BLOCK);
    assert_true(value != NULL && q != NULL);
    uint64_t compared = 0;
    uint32_t used = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += step) {
        uint32_t word = (uint32_t)bits;
        memcpy(&value[used++], &word, sizeof word);
        if (used == BLOCK || bits + step > UINT32_MAX) {
            int8_quantize_fast(value, 1.0f, q, used);
            for (uint32_t i = 0; i < used; i++) {
                if (q[i] != net_quantize_value(value[i], 1.0f)) {
                    fail_msg("%a: %d, expected %d", (double)value[i], q[i], net_quantize_value(value[i], 1.0f));
                }
            }
            compared += used;
            used = 0;
        }
    }
    free(value);
    free(q);
    printf("%llu values quantised alike\n", (unsigned long long)compared);
}

/* ---- random layers ---- */

static uint32_t draw(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_range(rng, lo, hi);
}

/* Input, one layer of each kind with INT8, in random sizes. */
static void random_text(tb_rng *rng, char *text, size_t size) {
    uint32_t w = draw(rng, 3, 13);
    uint32_t h = draw(rng, 3, 13);
    uint32_t groups = draw(rng, 1, 3);
    uint32_t channels = groups * draw(rng, 1, 6);
    uint32_t outputs = groups * draw(rng, 1, 7);
    uint32_t kw = draw(rng, 1, 3);
    uint32_t kh = draw(rng, 1, 3);
    uint32_t mid = draw(rng, 1, 20);
    uint32_t pad = draw(rng, 1, 2);
    int used = snprintf(text, size, "7767517\n6 6\nInput in 0 1 x 0=%u 1=%u 2=%u\n", w, h, channels);
    used +=
        snprintf(text + used, size - (size_t)used,
                 "ConvolutionDepthWise g 1 1 x a 0=%u 1=%u 11=%u 2=%u 12=%u 3=%u 13=%u 4=%u 15=%u 14=%u 16=%u 5=%u "
                 "6=%u 7=%u 8=%u 9=%u\n",
                 outputs, kw, kh, draw(rng, 1, 2), draw(rng, 1, 2), draw(rng, 1, 2), draw(rng, 1, 2), pad, pad, pad,
                 pad, draw(rng, 0, 1), outputs * channels / groups * kw * kh, groups, draw(rng, 1, 2), draw(rng, 0, 1));
    used += snprintf(text + used, size - (size_t)used, "Convolution c 1 1 a b 0=%u 1=1 5=1 6=%u 8=102 9=%u\n", mid,
                     mid * outputs, draw(rng, 0, 1));
    used += snprintf(text + used, size - (size_t)used,
                     "Convolution d 1 1 b c 0=9 1=3 4=1 5=1 6=%u 8=2 9=2 -23310=1,0.1\n", mid * 81);
    used += snprintf(text + used, size - (size_t)used,
                     "Pooling p 1 1 c d 0=1 4=1\nInnerProduct e 1 1 d e 0=10 1=1 2=90 8=2\n");
    assert_true((size_t)used < size);
}

static void test_random(void **state) {
    (void)state;
    uint32_t compared = 0;
    for (uint64_t seed = 0; seed < (full() ? 2000 : 200); seed++) {
        char text[2000];
        net_graph g;
        tb_rng rng = tb_rng_stream(seed, "test_net_int8.text");
        random_text(&rng, text, sizeof text);
        make(&g, text, seed);
        compared += both_paths(&g, seed);
        net_graph_free(&g);
    }
    printf("%u arrays, the same on both paths\n", compared);
}

/* Rows of a matrix through an inner product; more products than the fast path takes. */
static void test_inner_product(void **state) {
    (void)state;
    net_graph g;
    make(&g, "7767517\n2 2\nInput in 0 1 x 0=37 1=5\nInnerProduct e 1 1 x y 0=6 1=1 2=222 8=2\n", 3);
    assert_int_equal(g.blob[g.output].shape.dims, 2);
    assert_int_equal(both_paths(&g, 3), 3);
    net_graph_free(&g);
    make(&g, "7767517\n2 2\nInput in 0 1 x 0=140000\nInnerProduct e 1 1 x y 0=2 1=1 2=280000 8=2\n", 4);
    assert_int_equal(both_paths(&g, 4), 3);
    net_graph_free(&g);
}

/* What is outside the int8 executor. */
static void test_refused(void **state) {
    (void)state;
    net_graph g;
    net_int8 *net = NULL;
    net_error err = {""};
    make(&g, "7767517\n3 3\nInput in 0 1 x 0=3 1=1 2=1\nConvolution a 1 1 x y 0=1 1=1 5=1 6=1 8=102\nReLU r 1 1 y z\n",
         1);
    assert_int_equal(net_int8_new(&g, NET_INT8_FAST, &net, &err), NET_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "t:4: layer 'a' of type 'Convolution': an INT8 output for a layer with FP32"));
    assert_int_equal(net_int8_new(&g, (net_int8_path)7, &net, &err), NET_ERR_ARG);
    net_graph_free(&g);
    make(&g, "7767517\n2 2\nInput in 0 1 x 0=3 1=1 2=1\nConvolution a 1 1 x y 0=1 1=1 5=1 6=1 8=102\n", 1);
    assert_int_equal(net_int8_new(&g, NET_INT8_FAST, &net, &err), NET_ERR_UNSUPPORTED);
    net_graph_free(&g);
    net_int8_free(NULL);
}

/* ---- against the device ---- */

static void test_device(void **state) {
    (void)state;
    const char *text = "7767517\n7 8\nInput in 0 1 x 0=11 1=9 2=5\nConvolution a 1 1 x y 0=7 1=3 3=2 4=1 5=1 6=315 "
                       "8=102 9=1\nSplit s 1 2 y y1 y2\n"
                       "Convolution b 1 1 y1 u 0=6 1=1 5=1 6=42 8=2\nConvolution c 1 1 y2 v 0=4 1=3 4=1 6=252 8=2 "
                       "9=1\nConcat k 2 1 u v w\nFlatten f 1 1 "
                       "w o\n";
    for (uint64_t seed = 0; seed < 8; seed++) {
        net_graph g;
        net_error err = {""};
        char message[400] = "";
        net_int8 *net = NULL;
        net_rt *rt = NULL;
        make(&g, text, seed);
        /* the device takes a requantised output only with the scale of its consumers */
        float scale = net_layer_tensor(&g.layer[1], NET_ROLE_TOP_SCALE)->f32[0];
        net_layer_tensor(&g.layer[3], NET_ROLE_BOTTOM_SCALE)->f32[0] = scale;
        net_layer_tensor(&g.layer[4], NET_ROLE_BOTTOM_SCALE)->f32[0] = scale;
        const npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = 4, .seed = seed, .poison_reads = true};
        npu_dev *dev = npu_dev_open(&cfg, message, sizeof message);
        assert_non_null(dev);
        if (net_rt_new(&g, dev, &rt, &err) != NET_OK || net_int8_new(&g, NET_INT8_FAST, &net, &err) != NET_OK) {
            fail_msg("%s", err.text);
        }
        float *input = random_input(&g, seed);
        assert_int_equal(net_rt_run(rt, input, &err), NET_OK);
        net_int8_run(net, input);
        const uint32_t blobs[3] = {g.layer[3].out[0], g.layer[4].out[0], g.output};
        for (uint32_t i = 0; i < 3; i++) {
            assert_memory_equal(net_rt_blob(rt, blobs[i]), net_int8_blob(net, blobs[i]),
                                net_shape_elements(&g.blob[blobs[i]].shape) * sizeof(float));
        }
        free(input);
        net_int8_free(net);
        net_rt_free(rt);
        npu_dev_close(dev);
        net_graph_free(&g);
    }
}

/* ---- tables ---- */

static void test_table(void **state) {
    (void)state;
    const char *text = "7767517\n4 4\nInput in 0 1 x 0=4 1=4 2=6\nConvolutionDepthWise a 1 1 x y 0=6 1=3 4=1 5=1 6=54 "
                       "7=6\nConvolution b 1 "
                       "1 y u 0=3 1=1 6=18\n"
                       "InnerProduct c 1 1 u v 0=2 1=1 2=96\n";
    net_graph g;
    net_error err = {""};
    net_table table = {0};
    const float ones[6] = {1, 2, 3, 4, 5, 6};
    make(&g, text, 5);
    assert_int_equal(net_table_add(&table, "a", true, ones, 6, &err), NET_OK);
    assert_int_equal(net_table_add(&table, "a", false, ones + 1, 1, &err), NET_OK);
    assert_int_equal(net_table_add(&table, "c", true, ones, 2, &err), NET_OK);
    assert_int_equal(net_table_add(&table, "c", false, ones + 2, 1, &err), NET_OK);
    /* without an input scale b stays float */
    assert_int_equal(net_table_add(&table, "b", true, ones, 3, &err), NET_OK);
    assert_int_equal(net_quantize_table(&g, &table, &err), NET_OK);
    assert_int_equal(net_layer_int(&g.layer[1], 8, 0), 1);
    assert_int_equal(net_layer_int(&g.layer[2], 8, 0), 0);
    assert_int_equal(net_layer_int(&g.layer[3], 8, 0), 2);
    assert_non_null(net_layer_tensor(&g.layer[1], NET_ROLE_WEIGHT)->i8);
    assert_non_null(net_layer_tensor(&g.layer[2], NET_ROLE_WEIGHT)->f32);
    assert_true(net_layer_tensor(&g.layer[3], NET_ROLE_BOTTOM_SCALE)->f32[0] == 3.0f);
    /* what is written is read again as the same network */
    uint8_t *bin = NULL;
    size_t bytes = 0;
    char *param = NULL;
    size_t param_bytes = 0;
    net_graph again;
    assert_int_equal(net_graph_pack_bin(&g, NULL, &bin, &bytes, &err), NET_OK);
    assert_int_equal(net_graph_print_param(&g, &param, &param_bytes, &err), NET_OK);
    assert_int_equal(net_graph_parse_param(&again, param, param_bytes, "again", &err), NET_OK);
    assert_int_equal(net_graph_parse_bin(&again, bin, bytes, "again", &err), NET_OK);
    assert_int_equal(net_graph_plan(&again, &err), NET_OK);
    assert_int_equal(both_paths(&again, 6), 6);
    free(bin);
    free(param);
    net_graph_free(&again);
    net_graph_free(&g);
    net_table_free(&table);
    make(&g, text, 5);
    assert_int_equal(net_table_add(&table, "a", true, ones, 5, &err), NET_OK);
    assert_int_equal(net_table_add(&table, "a", false, ones, 1, &err), NET_OK);
    assert_int_equal(net_quantize_table(&g, &table, &err), NET_ERR_FORMAT);
    assert_non_null(strstr(err.text, "t:4: layer 'a': the table has 5 and 1 scales, expected 6 and 1"));
    net_table_free(&table);
    net_graph_free(&g);
}

/* ncnn's own INT8 model: the float network, its table, and the optimiser give the same file, byte for byte. */
static void squeezenet(const char *table_name, const char *model) {
    const char *root = getenv("TANDEM_DATA");
    char path[3][512];
    const char *names[3] = {"squeezenet_v1.1.param", "squeezenet_v1.1.bin", table_name};
    net_graph g;
    net_graph theirs;
    net_error err = {""};
    net_table table;
    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(path[i], sizeof path[i], "%s/squeezenet/%s", root != NULL ? root : "../shared/data", names[i]);
    }
    if (access(path[0], R_OK) != 0) {
        printf("not run: no data (%s)\n", path[0]);
        return;
    }
    net_status status = net_graph_load(&g, path[0], path[1], &err);
    status = status == NET_OK ? net_graph_plan(&g, &err) : status;
    status = status == NET_OK ? net_table_load(&table, path[2], &err) : status;
    status = status == NET_OK ? net_quantize_table(&g, &table, &err) : status;
    status = status == NET_OK ? net_optimize(&g, NULL, NULL, NULL, &err) : status;
    (void)snprintf(path[0], sizeof path[0], "%s/squeezenet/%s.param", root != NULL ? root : "../shared/data", model);
    (void)snprintf(path[1], sizeof path[1], "%s/squeezenet/%s.bin", root != NULL ? root : "../shared/data", model);
    status = status == NET_OK ? net_graph_load(&theirs, path[0], path[1], &err) : status;
    uint8_t *bin = NULL;
    uint8_t *expected = NULL;
    size_t bytes = 0;
    size_t expected_bytes = 0;
    status = status == NET_OK ? net_graph_pack_bin(&g, NULL, &bin, &bytes, &err) : status;
    status = status == NET_OK ? net_graph_pack_bin(&theirs, NULL, &expected, &expected_bytes, &err) : status;
    if (status != NET_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(bytes, expected_bytes);
    uint32_t layers = 0;
    for (uint32_t i = 0; i < theirs.num_layers; i++) {
        if (theirs.layer[i].kind != NET_CONV) {
            continue;
        }
        for (uint32_t k = 0; k < g.num_layers; k++) {
            if (strcmp(g.layer[k].name, theirs.layer[i].name) == 0) {
                assert_int_equal(net_layer_int(&g.layer[k], 8, 0), net_layer_int(&theirs.layer[i], 8, 0));
                layers++;
            }
        }
    }
    assert_int_equal(layers, 26);
    assert_memory_equal(bin, expected, bytes);
    printf("%s: %zu bytes, the same as ncnn's\n", model, bytes);
    free(bin);
    free(expected);
    net_table_free(&table);
    net_graph_free(&g);
    net_graph_free(&theirs);
}

static void test_squeezenet(void **state) {
    (void)state;
    squeezenet("squeezenet.table", "sq-int8");
    squeezenet("squeezenet-w127.table", "sq-int8-w127");
}

/* ---- thresholds ---- */

static void test_thresholds(void **state) {
    (void)state;
    net_hist *h = calloc(1, sizeof *h);
    assert_non_null(h);
    for (net_calib_method m = NET_CALIB_KL; m <= NET_CALIB_PERCENTILE; m++) {
        assert_true(net_hist_threshold(h, m, 50.0) == 0.0f);
    }
    h->bin[0] = 1;
    h->bin[9] = 98;
    h->bin[2047] = 1;
    assert_true(net_hist_threshold(h, NET_CALIB_MINMAX, 0) == 2048.0f);
    assert_true(net_hist_threshold(h, NET_CALIB_PERCENTILE, 1.0) == 1.0f);
    assert_true(net_hist_threshold(h, NET_CALIB_PERCENTILE, 99.0) == 10.0f);
    assert_true(net_hist_threshold(h, NET_CALIB_PERCENTILE, 99.5) == 2048.0f);
    assert_true(net_hist_threshold(h, NET_CALIB_PERCENTILE, 100.0) == 2048.0f);
    /* one bin holds everything below 128: 128 bins are 128 levels, and nothing is lost */
    memset(h, 0, sizeof *h);
    h->bin[17] = 1000;
    assert_true(net_hist_threshold(h, NET_CALIB_KL, 0) == 128.5f);
    /* equal bins: clipping any of them makes the last one stand out */
    for (uint32_t i = 0; i < NET_CALIB_BINS; i++) {
        h->bin[i] = 1000;
    }
    assert_true(net_hist_threshold(h, NET_CALIB_KL, 0) > 2000.0f);
    assert_true(net_hist_threshold(h, NET_CALIB_MSE, 0) > 1900.0f);
    free(h);
}

/* Which method is taken, from its scores. */
static void test_choose(void **state) {
    static const struct {
        net_calib_score score[NET_CALIB_METHODS];
        uint32_t best;
    } row[] = {
        /* SqueezeNet over twelve pictures: within 3 dB the classes decide */
        {{{true, 0, 8, 15.41, 0.0}, {true, 0, 11, 20.0, 0.0}, {true, 0, 8, 22.19, 0.0}, {true, 0, 8, 16.49, 0.0}},
         NET_CALIB_MINMAX},
        {{{true, 0, 12, 15.41, 0.0}, {true, 0, 7, 19.0, 0.0}, {true, 0, 8, 22.19, 0.0}, {true, 0, 8, 22.1, 0.0}},
         NET_CALIB_MSE},
        {{{true, 5, 0, 10.0, 0.0}, {true, 4, 9, 40.0, 0.0}, {true, 5, 1, 8.0, 0.0}, {true, 5, 0, 10.5, 0.0}},
         NET_CALIB_MSE},
        {{{true, 0, 0, 10.0, 0.0}, {true, 0, 0, 12.0, 0.0}, {true, 0, 0, 12.0, 0.0}, {true, 0, 0, 11.0, 0.0}},
         NET_CALIB_MINMAX},
        {{{true, 0, 0, NAN, 0.0}, {false, 0, 0, 0.0, 0.0}, {true, 0, 0, -5.0, 0.0}, {false, 0, 9, 90.0, 0.0}},
         NET_CALIB_MSE},
        {{{true, 0, 0, 50.0, 0.0}, {true, 0, 0, INFINITY, 0.0}, {true, 0, 3, 50.0, 0.0}, {true, 0, 1, NAN, 0.0}},
         NET_CALIB_MINMAX},
        {{{false, 0, 0, 0.0, 0.0}, {false, 0, 0, 0.0, 0.0}, {false, 0, 0, 0.0, 0.0}, {true, 0, 0, NAN, 0.0}},
         NET_CALIB_PERCENTILE},
        /* boxes: half a point of mean average precision is no difference */
        {{{true, 0, 0, 41.0, 0.60}, {true, 0, 0, 10.0, 0.64}, {true, 0, 0, 48.0, 0.62}, {true, 0, 0, 42.0, 0.636}},
         NET_CALIB_PERCENTILE},
        {{{true, 0, 0, 41.0, 0.6}, {true, 0, 0, 10.0, 0.5}, {true, 0, 0, 48.0, 0.594}, {true, 0, 0, 9.0, 0.6}},
         NET_CALIB_KL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_int_equal(net_calib_choose(row[i].score), row[i].best);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose),     cmocka_unit_test(test_by_hand),       cmocka_unit_test(test_quantise),
        cmocka_unit_test(test_random),     cmocka_unit_test(test_inner_product), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_device),     cmocka_unit_test(test_table),         cmocka_unit_test(test_squeezenet),
        cmocka_unit_test(test_thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
