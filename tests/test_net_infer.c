/* FP32 reference, quantiser and runtime: against loops written here, against the committed INT8 model, and across mesh
 * sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../network/network.h"
#include "../tb/case/rng.h"

#define DIGITS "models/digits/"
#define NORM 0.0625f

static void load_planned(net_graph *g, const char *stem) {
    char param[200];
    char bin[200];
    net_error err = {""};
    (void)snprintf(param, sizeof param, DIGITS "%s.param", stem);
    (void)snprintf(bin, sizeof bin, DIGITS "%s.bin", stem);
    if (net_graph_load(g, param, bin, &err) != NET_OK || net_graph_plan(g, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
}

static void load_images(net_images *images, const char *name) {
    char path[200];
    net_error err = {""};
    (void)snprintf(path, sizeof path, DIGITS "%s", name);
    if (net_images_load(images, path, 64, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
}

/* A network with random float weights (bias included) from its text. */
static void random_network(net_graph *g, const char *text, uint64_t seed) {
    net_error err = {""};
    tb_rng rng = tb_rng_stream(seed, "test_net_infer.weights");
    if (net_graph_parse_param(g, text, strlen(text), "t", &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
    size_t cap = 1u << 20;
    size_t used = 0;
    uint8_t *bin = malloc(cap);
    assert_non_null(bin);
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const net_layer *layer = &g->layer[i];
        uint32_t weights = (uint32_t)net_layer_int(layer, 6, 0);
        uint32_t bias = net_layer_int(layer, 5, 0) != 0 ? (uint32_t)net_layer_int(layer, 0, 0) : 0;
        if (layer->kind != NET_CONV) {
            continue;
        }
        assert_true(used + 4 + 4 * ((size_t)weights + bias) <= cap);
        memset(bin + used, 0, 4);
        used += 4;
        for (uint32_t k = 0; k < weights + bias; k++, used += 4) {
            float value = ((float)tb_rng_range(&rng, 0, 2000) - 1000.0f) / 1000.0f;
            memcpy(bin + used, &value, 4);
        }
    }
    net_status status = net_graph_parse_bin(g, bin, used, "b", &err);
    status = status == NET_OK ? net_graph_plan(g, &err) : status;
    free(bin);
    if (status != NET_OK) {
        fail_msg("%s", err.text);
    }
}

static const char branchy[] = "7767517\n8 9\n"
                              "Input in 0 1 x 0=9 1=7 2=3\n"
                              "Convolution c1 1 1 x a 0=6 1=3 4=1 5=1 6=162\n"
                              "ReLU r1 1 1 a b\n"
                              "Split s 1 2 b b1 b2\n"
                              "Convolution c2 1 1 b1 c 0=5 1=3 11=1 3=2 13=1 4=1 14=0 15=0 16=0 6=90 9=1\n"
                              "Convolution c3 1 1 c d 0=4 1=2 3=2 5=1 6=80\n"
                              "Flatten f 1 1 d e\n"
                              "Dropout dr 1 1 b2 z\n";

/* ---- FP32 reference ---- */

static void test_reference(void **state) {
    (void)state;
    /* 1 channel, 2x2 kernel, worked out by hand: out = bias + sum, stride 1, padding on the right and below only */
    net_graph g;
    net_error err = {""};
    const char *text = "7767517\n3 3\nInput in 0 1 x 0=2 1=2 2=1\nConvolution c 1 1 x y 0=1 1=2 4=0 15=1 14=0 16=1 5=1 "
                       "6=4\nReLU r 1 1 y z\n";
    const float bin[6] = {0.0f, 1.0f, -2.0f, 3.0f, -4.0f, 0.5f};
    const float input[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    const float expected[4] = {1.0f - 4.0f + 9.0f - 16.0f + 0.5f, 2.0f + 12.0f + 0.5f, 3.0f - 8.0f + 0.5f, 4.0f + 0.5f};
    net_ref *ref = NULL;
    assert_int_equal(net_graph_parse_param(&g, text, strlen(text), "t", &err), NET_OK);
    assert_int_equal(net_ref_new(&g, &ref, &err), NET_ERR_ARG); /* neither planned nor weights */
    assert_int_equal(net_graph_parse_bin(&g, bin, sizeof bin, "b", &err), NET_OK);
    assert_int_equal(net_graph_plan(&g, &err), NET_OK);
    assert_int_equal(net_ref_new(&g, &ref, &err), NET_OK);
    net_ref_run(ref, input);
    for (int i = 0; i < 4; i++) {
        assert_true(net_ref_blob(ref, 1)[i] == expected[i]);
        assert_true(net_ref_blob(ref, 2)[i] == (expected[i] > 0.0f ? expected[i] : 0.0f));
    }
    net_ref_free(ref);
    net_graph_free(&g);
}

static void test_softmax(void **state) {
    (void)state;
    const char *text = "7767517\n2 2\nInput in 0 1 x 0=2 1=3 2=4\nSoftmax s 1 1 x y 0=%d 1=1\n";
    float input[24];
    for (int i = 0; i < 24; i++) {
        input[i] = (float)((i * 7) % 11) * 0.5f;
    }
    const int step[3] = {6, 2, 1};
    const int size[3] = {4, 3, 2};
    for (int axis = -3; axis < 3; axis++) {
        char buffer[200];
        net_graph g;
        net_ref *ref = NULL;
        int d = axis < 0 ? axis + 3 : axis;
        (void)snprintf(buffer, sizeof buffer, text, axis);
        assert_int_equal(net_graph_parse_param(&g, buffer, strlen(buffer), "t", NULL), NET_OK);
        assert_int_equal(net_graph_parse_bin(&g, "", 0, "b", NULL), NET_OK);
        assert_int_equal(net_graph_plan(&g, NULL), NET_OK);
        assert_int_equal(net_ref_new(&g, &ref, NULL), NET_OK);
        net_ref_run(ref, input);
        const float *y = net_ref_blob(ref, 1);
        for (int i = 0; i < 24; i++) {
            int first = i - i / step[d] % size[d] * step[d];
            double sum = 0.0;
            for (int k = 0; k < size[d]; k++) {
                sum += exp((double)input[first + k * step[d]]);
            }
            assert_float_equal(y[i], (float)(exp((double)input[i]) / sum), 1e-6f);
        }
        net_ref_free(ref);
        net_graph_free(&g);
    }
}

static void test_digits_fp32(void **state) {
    (void)state;
    net_graph g;
    net_images images;
    net_ref *ref = NULL;
    float input[64];
    uint32_t right = 0;
    load_planned(&g, "digits");
    load_images(&images, "heldout.csv");
    assert_true(images.count >= 300);
    assert_int_equal(net_ref_new(&g, &ref, NULL), NET_OK);
    for (uint32_t i = 0; i < images.count; i++) {
        net_images_input(&images, i, NORM, input);
        net_ref_run(ref, input);
        right += net_argmax(net_ref_blob(ref, g.output), 10) == images.label[i];
    }
    assert_int_equal(right, 395); /* as stated in models/digits/README.md */
    net_ref_free(ref);
    net_images_free(&images);
    net_graph_free(&g);
}

/* ---- quantiser ---- */

static void test_round(void **state) {
    (void)state;
    assert_int_equal(net_quantize_value(0.5f, 1.0f), 1);
    assert_int_equal(net_quantize_value(-0.5f, 1.0f), -1);
    assert_int_equal(net_quantize_value(0.49999997f, 1.0f), 0);
    assert_int_equal(net_quantize_value(2.5f, 1.0f), 3);
    assert_int_equal(net_quantize_value(126.5f, 1.0f), 127);
    assert_int_equal(net_quantize_value(1e30f, 1e30f), 127);
    assert_int_equal(net_quantize_value(-1e30f, 1e30f), -127);
    assert_int_equal(net_quantize_value(NAN, 1.0f), 0);
    assert_int_equal(net_quantize_value(-128.0f, 1.0f), -127);
}

/* Our quantiser on the float files gives the committed INT8 model, which NumPy wrote, bit for bit. */
static void test_quantise_digits(void **state) {
    (void)state;
    net_graph f;
    net_graph q;
    net_images calib;
    net_error err = {""};
    load_planned(&f, "digits");
    load_planned(&q, "digits-int8");
    load_images(&calib, "calibration.csv");
    float *absmax = calloc(f.num_layers, sizeof *absmax);
    assert_non_null(absmax);
    assert_int_equal(net_calibrate(&f, &calib, calib.count + 1, NORM, absmax, &err), NET_ERR_ARG);
    assert_int_equal(net_calibrate(&f, &calib, calib.count, NORM, absmax, &err), NET_OK);
    assert_int_equal(net_quantize(&f, absmax, &err), NET_OK);
    uint32_t convs = 0;
    for (uint32_t i = 0, k = 0; i < q.num_layers; i++, k++) {
        const net_layer *b = &q.layer[i];
        if (b->kind != NET_CONV) {
            continue;
        }
        while (f.layer[k].kind != NET_CONV) {
            k++;
        }
        const net_layer *a = &f.layer[k];
        assert_int_equal(a->num_tensors, b->num_tensors);
        for (uint32_t t = 0; t < a->num_tensors; t++) {
            assert_int_equal(a->tensor[t].role, b->tensor[t].role);
            assert_int_equal(a->tensor[t].count, b->tensor[t].count);
            if (b->tensor[t].i8 != NULL) {
                assert_memory_equal(a->tensor[t].i8, b->tensor[t].i8, b->tensor[t].count);
            } else {
                assert_memory_equal(a->tensor[t].f32, b->tensor[t].f32, b->tensor[t].count * sizeof(float));
            }
        }
        convs++;
    }
    assert_int_equal(convs, 4);
    free(absmax);
    net_images_free(&calib);
    net_graph_free(&f);
    net_graph_free(&q);
}

/* ---- runtime on the golden model ---- */

static npu_dev *open_model(uint32_t n) {
    char err[400] = "";
    npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = n, .seed = 1, .poison_reads = true};
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    if (dev == NULL) {
        fail_msg("%s", err);
    }
    return dev;
}

/* INT8 convolution as the definition says it, straight loops. */
static void plain_conv(const net_graph *g, const net_layer *layer, const float *in, float *out, bool relu) {
    const net_conv *c = &layer->conv;
    const net_shape *is = &g->blob[layer->in[0]].shape;
    const net_shape *os = &g->blob[layer->out[0]].shape;
    const int8_t *w = net_layer_tensor(layer, NET_ROLE_WEIGHT)->i8;
    const float *ws = net_layer_tensor(layer, NET_ROLE_WEIGHT_SCALE)->f32;
    float bs = net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0];
    for (uint32_t o = 0; o < os->w * os->h * os->c; o++) {
        uint32_t oc = o / (os->w * os->h);
        int32_t sum = 0;
        for (uint32_t t = 0; t < is->c * c->kernel_h * c->kernel_w; t++) {
            uint32_t ic = t / (c->kernel_h * c->kernel_w);
            int32_t y = (int32_t)(o / os->w % os->h * c->stride_h + t / c->kernel_w % c->kernel_h) - (int32_t)c->pad_t;
            int32_t x = (int32_t)(o % os->w * c->stride_w + t % c->kernel_w) - (int32_t)c->pad_l;
            if (y >= 0 && x >= 0 && y < (int32_t)is->h && x < (int32_t)is->w) {
                sum += net_quantize_value(in[(ic * is->h + (uint32_t)y) * is->w + (uint32_t)x], bs) *
                       w[oc * is->c * c->kernel_h * c->kernel_w + t];
            }
        }
        float scale = ws[oc] == 0.0f ? 0.0f : 1.0f / (bs * ws[oc]);
        float v = (float)sum * scale;
        v = c->has_bias ? v + net_layer_tensor(layer, NET_ROLE_BIAS)->f32[oc] : v;
        out[o] = relu && !(v > 0.0f) ? 0.0f : v;
    }
}

/* A graph with Split, separate ReLU, odd sizes, different strides of rows and columns, padding on some sides only. */
static void test_branches(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    assert_int_equal(net_graph_parse_param(&g, branchy, strlen(branchy), "t", &err), NET_OK);
    assert_int_equal(net_graph_plan(&g, &err), NET_OK); /* e and z are both outputs */
    assert_true(g.output == NET_NONE && g.num_outputs == 2);
    net_graph_free(&g);
    const char *one_branch = "7767517\n7 7\n"
                             "Input in 0 1 x 0=9 1=7 2=3\n"
                             "Convolution c1 1 1 x a 0=6 1=3 4=1 5=1 6=162\n"
                             "ReLU r1 1 1 a b\n"
                             "Split s 1 1 b b1\n"
                             "Convolution c2 1 1 b1 c 0=5 1=3 11=1 3=2 13=1 4=1 14=0 15=0 16=0 6=90 9=1\n"
                             "Convolution c3 1 1 c d 0=4 1=2 3=2 5=1 6=80\n"
                             "Flatten f 1 1 d e\n";
    random_network(&g, one_branch, 5);
    float absmax[7] = {0.0f, 1.0f, 0.0f, 0.0f, 5.0f, 20.0f, 0.0f};
    assert_int_equal(net_quantize(&g, absmax, &err), NET_OK);
    float input[189];
    tb_rng rng = tb_rng_stream(5, "test_net_infer.input");
    for (int i = 0; i < 189; i++) {
        input[i] = ((float)tb_rng_range(&rng, 0, 2400) - 1200.0f) / 1000.0f;
    }
    float b[9 * 7 * 6];
    float c[5 * 7 * 5];
    float d[4 * 3 * 2];
    plain_conv(&g, &g.layer[1], input, b, true);
    plain_conv(&g, &g.layer[4], b, c, true);
    assert_int_equal(net_shape_elements(&g.blob[4].shape), 140);
    plain_conv(&g, &g.layer[5], c, d, false);
    assert_int_equal(net_shape_elements(&g.blob[5].shape), 24);
    for (uint32_t n = 4; n <= 32; n *= 2) {
        npu_dev *dev = open_model(n);
        net_rt *rt = NULL;
        if (net_rt_new(&g, dev, &rt, &err) != NET_OK || net_rt_run(rt, input, &err) != NET_OK ||
            net_rt_run(rt, input, &err) != NET_OK) {
            fail_msg("%s", err.text);
        }
        assert_memory_equal(net_rt_blob(rt, 2), b, sizeof b);
        assert_memory_equal(net_rt_blob(rt, 3), b, sizeof b);
        assert_memory_equal(net_rt_blob(rt, 4), c, 140 * sizeof(float));
        assert_memory_equal(net_rt_blob(rt, g.output), d, sizeof d);
        assert_true(net_rt_layer_hash(rt, 1) == net_hash(b, 378) && net_rt_layer_hash(rt, 2) == net_hash(b, 378));
        assert_true(net_rt_layer_on_npu(rt, 2) && !net_rt_layer_on_npu(rt, 3));
        net_rt_free(rt);
        npu_dev_close(dev);
    }
    net_graph_free(&g);
}

static void test_digits_int8(void **state) {
    (void)state;
    net_graph g;
    net_images images;
    net_error err = {""};
    load_planned(&g, "digits-int8");
    load_images(&images, "heldout.csv");
    for (uint32_t n = 4; n <= 32; n *= 2) {
        float a[1024];
        float b[1024];
        float input[64];
        npu_dev *dev = open_model(n);
        net_rt *rt = NULL;
        assert_int_equal(net_rt_new(&g, dev, &rt, &err), NET_OK);
        for (uint32_t i = 0; i < 10; i++) {
            net_images_input(&images, i, NORM, input);
            if (net_rt_run(rt, input, &err) != NET_OK) {
                fail_msg("%s", err.text);
            }
            memcpy(a, input, sizeof input);
            for (uint32_t k = 1; k <= 4; k++) {
                const net_layer *layer = &g.layer[k];
                plain_conv(&g, layer, a, b, layer->conv.relu);
                memcpy(a, b, sizeof a);
                assert_memory_equal(net_rt_blob(rt, layer->out[0]), a,
                                    net_shape_elements(&g.blob[layer->out[0]].shape) * sizeof(float));
            }
        }
        net_rt_free(rt);
        npu_dev_close(dev);
    }
    net_images_free(&images);
    net_graph_free(&g);
}

static void test_refused(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    net_rt *rt = NULL;
    npu_dev *dev = open_model(4);
    load_planned(&g, "digits");
    assert_int_equal(net_rt_new(NULL, dev, &rt, &err), NET_ERR_ARG);
    assert_int_equal(net_rt_new(&g, NULL, &rt, &err), NET_ERR_ARG);
    assert_int_equal(net_rt_new(&g, dev, &rt, &err), NET_OK); /* a float network runs in C */
    assert_true(net_rt_layer_where(rt, 1).place == NET_ON_CPU && !net_rt_layer_on_npu(rt, 1));
    assert_string_equal(net_rt_layer_where(rt, 1).reason, "not quantised");
    net_rt_free(rt);
    net_graph_free(&g);
    net_ref *ref = NULL;
    load_planned(&g, "digits-int8");
    assert_int_equal(net_ref_new(&g, &ref, &err), NET_ERR_UNSUPPORTED);
    net_graph_free(&g);
    float absmax[2] = {0.0f, 1.0f};
    random_network(
        &g, "7767517\n2 2\nInput in 0 1 x 0=20000 1=1 2=1\nConvolution big 1 1 x y 0=1 1=255 11=1 2=70 12=1 6=255\n",
        1);
    assert_int_equal(net_quantize(&g, absmax, &err), NET_OK);
    assert_int_equal(net_rt_new(&g, dev, &rt, &err), NET_OK);
    assert_true(net_rt_layer_where(rt, 1).place == NET_ON_CPU);
    assert_string_equal(net_rt_layer_where(rt, 1).reason,
                        "the driver: kernel or window larger than 255, or than the hardware can do");
    net_rt_free(rt);
    net_graph_free(&g);
    npu_dev_close(dev);
}

/* Requantised outputs (102) run when the scales agree, and are refused when they do not. */
static void test_requantised(void **state) {
    (void)state;
    const char *text = "7767517\n4 4\nInput in 0 1 x 0=4 1=4 2=1\nConvolution c 1 1 x y 0=1 1=1 6=1 8=102\nSplit s 1 1 "
                       "y z\nConvolution d "
                       "1 1 z w 0=1 1=1 6=1 8=2\n";
    const float input[16] = {0.1f, -0.2f, 0.3f, 1.0f, 2.0f, -3.0f};
    for (int differ = 0; differ < 2; differ++) {
        uint8_t bin[64] = {0x38, 0x4b, 0x0d, 0x00, 100, 0, 0, 0};
        const float scales[3] = {100.0f, 64.0f, differ != 0 ? 33.0f : 32.0f}; /* weight, bottom, top */
        const float next[2] = {50.0f, 32.0f};
        memcpy(bin + 8, scales, 12);
        memcpy(bin + 20, bin, 4);
        bin[24] = 206; /* -50 */
        memcpy(bin + 28, next, 8);
        net_graph g;
        net_error err = {""};
        net_rt *rt = NULL;
        npu_dev *dev = open_model(8);
        assert_int_equal(net_graph_parse_param(&g, text, strlen(text), "t", &err), NET_OK);
        assert_int_equal(net_graph_parse_bin(&g, bin, 36, "b", &err), NET_OK);
        assert_int_equal(net_graph_plan(&g, &err), NET_OK);
        if (differ != 0) {
            assert_int_equal(net_rt_new(&g, dev, &rt, &err), NET_ERR_UNSUPPORTED);
            assert_non_null(strstr(err.text, "requantised with another scale"));
        } else {
            float y[16];
            float w[16];
            assert_int_equal(net_rt_new(&g, dev, &rt, &err), NET_OK);
            assert_int_equal(net_rt_run(rt, input, &err), NET_OK);
            plain_conv(&g, &g.layer[1], input, y, false);
            plain_conv(&g, &g.layer[3], y, w, false);
            assert_memory_equal(net_rt_blob(rt, g.output), w, sizeof w);
            net_rt_free(rt);
        }
        npu_dev_close(dev);
        net_graph_free(&g);
    }
}

/* What follows a convolution: a ReLU with a slope, which the convolution does, a sum of two branches, pooling. */
static void test_layers_behind(void **state) {
    (void)state;
    net_graph g;
    net_error err = {""};
    net_rt *rt = NULL;
    random_network(&g,
                   "7767517\n6 7\n"
                   "Input in 0 1 x 0=6 1=5 2=3\n"
                   "Convolution c 1 1 x a 0=4 1=3 4=1 5=1 6=108\n"
                   "ReLU leaky 1 1 a b 0=0.25\n"
                   "Split s 1 2 b b1 b2\n"
                   "BinaryOp sum 2 1 b1 b2 d 0=0\n"
                   "Pooling p 1 1 d e 4=1\n",
                   7);
    float absmax[6] = {0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    float input[90];
    tb_rng rng = tb_rng_stream(7, "test_net_infer.cpu");
    for (int i = 0; i < 90; i++) {
        input[i] = ((float)tb_rng_range(&rng, 0, 2000) - 1000.0f) / 1000.0f;
    }
    assert_int_equal(net_quantize(&g, absmax, &err), NET_OK);
    npu_dev *dev = open_model(8);
    if (net_rt_new(&g, dev, &rt, &err) != NET_OK || net_rt_run(rt, input, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
    float a[120];
    uint32_t negative = 0;
    plain_conv(&g, &g.layer[1], input, a, false);
    for (uint32_t c = 0; c < 4; c++) {
        float best = -INFINITY;
        for (uint32_t i = c * 30; i < (c + 1) * 30; i++) {
            float b = a[i] > 0.0f ? a[i] : a[i] * 0.25f;
            negative += b < 0.0f;
            assert_true(net_rt_blob(rt, 1)[i] == b && net_rt_blob(rt, 2)[i] == b && net_rt_blob(rt, 5)[i] == b + b);
            best = b + b > best ? b + b : best;
        }
        assert_true(net_rt_blob(rt, 6)[c] == best);
    }
    assert_true(negative > 10 && net_rt_layer_on_npu(rt, 1) && net_rt_layer_where(rt, 2).fused &&
                net_rt_layer_on_npu(rt, 5));
    net_rt_free(rt);
    npu_dev_close(dev);
    net_graph_free(&g);
}

/* ---- images ---- */

static void bad_images(const char *text, uint32_t pixels, const char *part) {
    char path[] = "/tmp/test_net_images_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    net_images images;
    net_error err = {""};
    net_status status = net_images_load(&images, path, pixels, &err);
    net_images_free(&images);
    remove(path);
    if (part == NULL) {
        assert_int_equal(status, NET_OK);
    } else if (status != NET_ERR_FORMAT || strstr(err.text, part) == NULL) {
        fail_msg("\"%s\": \"%s\" does not contain \"%s\"", text, err.text, part);
    }
}

static void test_images(void **state) {
    (void)state;
    bad_images("1,2,3\n4,5,6", 2, NULL);
    bad_images("1,2,3\r\n255,0,65535\r\n", 2, NULL);
    bad_images("", 2, "0 lines");
    bad_images("1,2,3\n", 64, "expected 64 pixels");
    bad_images("1,2,3\n4,5\n,,,,,,,,", 2, ":2: pixel 1");
    bad_images("1,256,3\n", 2, ":1: pixel 1 is not a number of 0..255");
    bad_images("1,-2,3\n", 2, "pixel 1");
    bad_images("1,2,3,4\n", 2, "after 2 pixels");
    bad_images("1,2,65536\n", 2, "after 2 pixels");
    bad_images("1,2,3\n\n1,2,3\n1,2,3\n", 2, ":2: pixel 0");
    net_images images;
    net_error err = {""};
    assert_int_equal(net_images_load(&images, "no/such.csv", 2, &err), NET_ERR_IO);
    assert_int_equal(net_images_load(&images, "no/such.csv", 0, &err), NET_ERR_ARG);
    const float nans[3] = {NAN, 1.0f, 1.0f};
    assert_int_equal(net_argmax(nans, 3), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),       cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_digits_fp32),     cmocka_unit_test(test_round),
        cmocka_unit_test(test_quantise_digits), cmocka_unit_test(test_branches),
        cmocka_unit_test(test_layers_behind),   cmocka_unit_test(test_digits_int8),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_requantised),
        cmocka_unit_test(test_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
