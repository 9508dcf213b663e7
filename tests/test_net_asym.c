/*
 * test_net_asym.c - networks with zero-points: steps and zero-points from extremes, and every layer of a random network
 * on the golden model against its definition over the inputs that the runtime gave it, bit for bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../network/network.h"
#include "../network/int8.h"
#include "../tb/case/rng.h"

/* The map of c2 is all padding at its border; dw has groups; fc a vector whose length is no multiple of 4. */
static const char text[] = "7767517\n7 7\n"
                           "Input in 0 1 x 0=9 1=7 2=3\n"
                           "Convolution c1 1 1 x a 0=6 1=3 4=1 5=1 6=162\n"
                           "ConvolutionDepthWise dw 1 1 a b 0=6 1=3 4=1 5=1 6=54 7=6\n"
                           "ReLU r1 1 1 b c\n"
                           "Convolution c2 1 1 c d 0=5 1=2 3=2 4=3 5=0 6=120\n"
                           "InnerProduct fc 1 1 d e 0=7 1=1 2=1470\n"
                           "InnerProduct last 1 1 e y 0=3 1=1 2=21\n";

static void random_network(net_graph *g, uint64_t seed) {
    net_error err = {""};
    tb_rng rng = tb_rng_stream(seed, "test_net_asym.weights");
    assert_int_equal(net_graph_parse_param(g, text, strlen(text), "t", &err), NET_OK);
    uint8_t *bin = malloc(1u << 16);
    size_t used = 0;
    static const uint32_t counts[][2] = {{162, 6}, {54, 6}, {120, 0}, {1470, 7}, {21, 3}}; /* weights, biases */
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        memset(bin + used, 0, 4);
        used += 4;
        for (uint32_t k = 0; k < counts[i][0] + counts[i][1]; k++, used += 4) {
            const float value = ((float)tb_rng_range(&rng, 0, 2000) - 1000.0f) / 1000.0f;
            memcpy(bin + used, &value, 4);
        }
    }
    if (net_graph_parse_bin(g, bin, used, "b", &err) != NET_OK || net_graph_plan(g, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
    free(bin);
}

static const net_tensor *array(const net_layer *layer, net_role role) {
    for (uint32_t k = 0; k < layer->num_tensors; k++) {
        if (layer->tensor[k].role == role) {
            return &layer->tensor[k];
        }
    }
    return NULL;
}

/* Output element of a layer with weights, by the definition: exact sum of (q - zero) * w and the bias in steps. */
static float definition(const net_graph *g, const net_layer *l, const float *in, uint32_t oc, uint32_t oy,
                        uint32_t ox) {
    const net_conv *c = &l->conv;
    const net_tensor *weight = array(l, NET_ROLE_WEIGHT), *bias = array(l, NET_ROLE_BIAS);
    const net_tensor *scales = array(l, NET_ROLE_WEIGHT_SCALE);
    const float scale = array(l, NET_ROLE_BOTTOM_SCALE)->f32[0];
    const float wscale = scales->f32[oc * scales->count / c->num_output];
    const net_shape *is = &g->blob[l->in[0]].shape;
    const bool product = strcmp(l->type, "InnerProduct") == 0;
    const uint32_t w = product ? 1 : is->w, h = product ? 1 : is->h;
    const uint32_t icg = (product ? net_shape_elements(is) : is->c) / c->groups;
    const uint32_t first = oc / (c->num_output / c->groups) * icg;
    int64_t sum = 0;
    for (uint32_t i = 0; i < icg * c->kernel_h * c->kernel_w; i++) {
        const int64_t y = (int64_t)oy * c->stride_h + (int64_t)(i / c->kernel_w % c->kernel_h) - c->pad_t;
        const int64_t x = (int64_t)ox * c->stride_w + (int64_t)(i % c->kernel_w) - c->pad_l;
        if (y >= 0 && y < h && x >= 0 && x < w) {
            const uint32_t ic = first + i / (c->kernel_w * c->kernel_h);
            const double v = rint((double)(in[(ic * h + (uint32_t)y) * w + (uint32_t)x] * scale)) + l->asym.zero;
            const int q = (int)(v > 127.0 ? 127.0 : v < -128.0 ? -128.0 : v);
            sum += (q - l->asym.zero) * weight->i8[(size_t)oc * icg * c->kernel_h * c->kernel_w + i];
        }
    }
    const float product_of = scale * wscale;
    sum += bias == NULL ? 0 : (int64_t)rint((double)bias->f32[oc] * (double)product_of);
    const float factor = 1.0f / product_of;
    return (float)sum * factor;
}

static void check_layers(const net_graph *g, const net_rt *rt, uint32_t *compared) {
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const net_layer *l = &g->layer[i];
        if (!l->asym.used) {
            continue;
        }
        const float *in = net_rt_blob(rt, l->in[0]), *out = net_rt_blob(rt, l->out[0]);
        const net_shape *os = &g->blob[l->out[0]].shape;
        const bool relu = strcmp(l->name, "dw") == 0; /* fused: its output has the values behind it */
        const uint32_t w = os->dims == 3 ? os->w : 1, plane = os->dims == 3 ? os->w * os->h : 1;
        for (uint32_t k = 0; k < net_shape_elements(os); k++) {
            float want = definition(g, l, in, k / plane, k % plane / w, k % w);
            want = relu && !(want > 0.0f) ? 0.0f : want;
            if (memcmp(&out[k], &want, sizeof want) != 0 && !(out[k] == 0.0f && want == 0.0f)) {
                fail_msg("layer %s, element %u: got %.9g, the definition gives %.9g", l->name, k, (double)out[k],
                         (double)want);
            }
            ++*compared;
        }
    }
}

static void test_layers(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 8, 32};
    for (uint32_t s = 0; s < 6; s++) {
        net_graph g = {0};
        net_error err = {""};
        random_network(&g, s);
        float lo[8], hi[8], input[9 * 7 * 3];
        tb_rng rng = tb_rng_stream(s, "test_net_asym.ranges");
        for (uint32_t i = 0; i < g.num_layers; i++) {
            lo[i] = i == 4 ? 0.0f : -(float)tb_rng_range(&rng, 0, 400) / 100.0f; /* behind the ReLU: zero-point -128 */
            hi[i] = (float)tb_rng_range(&rng, 1, 400) / 100.0f;
        }
        for (size_t i = 0; i < sizeof input / sizeof *input; i++) {
            input[i] = ((float)tb_rng_range(&rng, 0, 2000) - 1000.0f) / 300.0f;
        }
        assert_int_equal(net_quantize_asym(&g, lo, hi, &err), NET_OK);
        assert_int_equal(g.layer[4].asym.zero, -128);
        net_int8 *cpu = NULL;
        assert_int_equal(net_int8_new(&g, NET_INT8_FAST, &cpu, &err), NET_ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "zero-points"));
        char text_of[400] = "";
        npu_dev_cfg cfg = {
            .kind = NPU_DEV_MODEL, .n = sizes[s % 3], .seed = 1, .poison_reads = true, .ddr_bytes = 1u << 24};
        npu_dev *dev = npu_dev_open(&cfg, text_of, sizeof text_of);
        net_rt *rt = NULL;
        assert_non_null(dev);
        uint32_t compared = 0;
        if (net_rt_new(&g, dev, &rt, &err) != NET_OK || net_rt_run(rt, input, &err) != NET_OK) {
            fail_msg("%s", err.text);
        }
        for (uint32_t i = 0; i < g.num_layers; i++) {
            assert_true(!g.layer[i].asym.used || net_rt_layer_on_npu(rt, i));
        }
        check_layers(&g, rt, &compared);
        assert_true(compared > 700);
        net_rt_free(rt);
        assert_true(npu_dev_finish(dev));
        npu_dev_close(dev);
        net_graph_free(&g);
    }
}

static void test_values(void **state) {
    (void)state;
    assert_int_equal(net_quantize_asym_value(2.5f, 1.0f, 0), 2);
    assert_int_equal(net_quantize_asym_value(3.5f, 1.0f, -4), 0);
    assert_int_equal(net_quantize_asym_value(NAN, 1.0f, -128), -128);
    assert_int_equal(net_quantize_asym_value(INFINITY, 1.0f, -128), 127);
    assert_int_equal(net_quantize_asym_value(-1e30f, 1.0f, 127), -128);
    assert_int_equal(net_asym_bias(2.5f, 1.0f, 1.0f), 2);
    assert_int_equal(net_asym_bias(-1e30f, 1.0f, 1.0f), INT32_MIN);
    assert_int_equal(net_asym_bias(1e30f, 1.0f, 1.0f), INT32_MAX);
    assert_int_equal(net_asym_bias(NAN, 1.0f, 1.0f), 0);
}

/* 0 is a value of every range, exactly; a useless range has step 1 and zero-point 0. */
static void test_ranges(void **state) {
    (void)state;
    static const struct {
        float lo, hi, scale;
        int zero;
    } known[] = {{-1.0f, 1.0f, 127.5f, 0},
                 {0.0f, 5.1f, 255.0f / 5.1f, -128},
                 {-5.1f, 0.0f, 255.0f / 5.1f, 127},
                 {2.0f, 5.1f, 255.0f / 5.1f, -128},
                 {0.0f, 0.0f, 1.0f, 0},
                 {0.0f, INFINITY, 1.0f, 0}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        net_graph g = {0};
        net_error err = {""};
        float lo[8], hi[8];
        random_network(&g, 1);
        for (uint32_t k = 0; k < 8; k++) {
            lo[k] = known[i].lo;
            hi[k] = known[i].hi;
        }
        assert_int_equal(net_quantize_asym(&g, lo, hi, &err), NET_OK);
        assert_int_equal(g.layer[1].asym.zero, known[i].zero);
        assert_float_equal(array(&g.layer[1], NET_ROLE_BOTTOM_SCALE)->f32[0], known[i].scale, 1e-3);
        assert_int_equal(net_quantize_asym_value(0.0f, known[i].scale, (int8_t)known[i].zero), known[i].zero);
        net_graph_free(&g);
    }
    net_error err = {""};
    assert_int_equal(net_quantize_asym(NULL, NULL, NULL, &err), NET_ERR_ARG);
}

/* Parts of a Concat, through Split and max pooling, share one range; an average, an activation or a convolution ends
 * it. */
static void test_unified(void **state) {
    (void)state;
    static const char joined[] = "7767517\n15 19\n"
                                 "Input in 0 1 x 0=8 1=8 2=4\n"
                                 "Convolution c1 1 1 x a 0=4 1=1 5=0 6=16\n"
                                 "Split s1 1 4 a a0 a1 a2 a3\n"
                                 "Convolution c2 1 1 a0 b 0=4 1=1 5=0 6=16\n"
                                 "Concat k1 2 1 a1 b c\n"
                                 "Pooling p1 1 1 c d 0=0 1=2 2=2\n"
                                 "Convolution c3 1 1 d e 0=4 1=1 5=0 6=32\n"
                                 "Pooling p2 1 1 a2 f 0=1 1=2 2=2\n"
                                 "Convolution c4 1 1 f g 0=4 1=1 5=0 6=16\n"
                                 "ReLU r1 1 1 a3 h\n"
                                 "Convolution c5 1 1 h i 0=4 1=1 5=0 6=16\n"
                                 "Concat k2 2 1 e g j\n"
                                 "Split s2 1 2 j j0 j1\n"
                                 "Convolution c6 1 1 j0 k 0=4 1=1 5=0 6=32\n"
                                 "Convolution c7 1 1 j1 l 0=4 1=1 5=0 6=32\n";
    net_graph g = {0};
    net_error err = {""};
    if (net_graph_parse_param(&g, joined, strlen(joined), "t", &err) != NET_OK || net_graph_plan(&g, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
    float lo[15] = {0}, hi[15] = {0};
    static const struct {
        uint32_t layer;
        float lo, hi, new_lo, new_hi;
    } known[] = {{1, -9, 9, -9, 9}, {3, -1, 2, -3, 5}, {6, -3, 5, -3, 5}, {8, 0, 4, 0, 4},
                 {10, 0, 7, 0, 7},  {13, 0, 8, -6, 8}, {14, -6, 1, -6, 8}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        lo[known[i].layer] = known[i].lo;
        hi[known[i].layer] = known[i].hi;
    }
    assert_int_equal(net_unify_ranges(&g, lo, hi, &err), NET_OK);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (lo[known[i].layer] != known[i].new_lo || hi[known[i].layer] != known[i].new_hi) {
            fail_msg("layer %u: %g..%g", known[i].layer, (double)lo[known[i].layer], (double)hi[known[i].layer]);
        }
    }
    assert_float_equal(lo[2], 0.0f, 0.0f);
    assert_int_equal(net_unify_ranges(NULL, lo, hi, &err), NET_ERR_ARG);
    net_graph_free(&g);
}

/* INT16: scales 32767/absmax, values that saturate at +-32767, weights in FP32. */
static void test_wide(void **state) {
    (void)state;
    net_graph g = {0};
    net_error err = {""};
    random_network(&g, 3);
    float lo[8], hi[8], largest = 0.0f;
    for (uint32_t k = 0; k < 8; k++) {
        lo[k] = -2.5f;
        hi[k] = 1.5f;
    }
    for (uint32_t k = 0; k < 27; k++) {
        largest = fmaxf(largest, fabsf(g.layer[1].tensor[0].f32[k]));
    }
    assert_int_equal(net_quantize_wide(&g, lo, hi, &err), NET_OK);
    assert_true(g.layer[1].wide && !g.layer[1].asym.used && !g.layer[0].wide);
    assert_true(array(&g.layer[1], NET_ROLE_BOTTOM_SCALE)->f32[0] == 32767.0f / 2.5f);
    assert_true(array(&g.layer[1], NET_ROLE_WEIGHT_SCALE)->f32[0] == 32767.0f / largest);
    assert_non_null(array(&g.layer[1], NET_ROLE_WEIGHT)->f32);
    assert_int_equal(net_quantize_wide_value(0.5f, 1.0f), 1);
    assert_int_equal(net_quantize_wide_value(-0.5f, 1.0f), -1);
    assert_int_equal(net_quantize_wide_value(NAN, 1.0f), 0);
    assert_int_equal(net_quantize_wide_value(INFINITY, 1.0f), 32767);
    assert_int_equal(net_quantize_wide_value(-32768.0f, 1.0f), -32767);
    assert_int_equal(net_quantize_wide(NULL, NULL, NULL, &err), NET_ERR_ARG);
    net_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unified), cmocka_unit_test(test_wide),   cmocka_unit_test(test_values),
        cmocka_unit_test(test_ranges),  cmocka_unit_test(test_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
