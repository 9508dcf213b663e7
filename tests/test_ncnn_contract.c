/*
 * test_ncnn_contract.c - random layers of ncnn through the driver on the golden device, against the reference of
 * ncnn_ref.h, bit for bit: docs/npu/ncnn-contract.md.
 *
 * QUICK_CASES cases, FULL_CASES with TANDEM_CHECK=1. TANDEM_NCNN_SEED=n runs case n alone and prints it;
 * TANDEM_NCNN_COUNT=n runs cases 1..n. The test fails when a result differs, when something that the contract speaks of
 * never happened, and when a deliberately wrong reference got through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ncnn_case.h"
#include "ncnn_dev.h"
#include "ncnn_ref.h"
#include "npu.h"

#define QUICK_CASES 10000u
#define FULL_CASES 40000u
#define LINE 2048u
#define LINES 20u      /* differing cases that are printed */
#define EQUAL_EVERY 8u /* cases between two on which the variants that must not differ are tried */

/* What a case is, counted in cases. */
typedef enum shape_class {
    S_CONVOLUTION,
    S_GROUPED,
    S_DEPTHWISE,
    S_INNER_PRODUCT,
    S_QUANTIZE,
    S_DEQUANTIZE,
    S_CHAINED,
    S_IN_INT8,
    S_OUT_INT8,
    S_OUT_FP32,
    S_NO_BIAS,
    S_PADS_DIFFER,
    S_STRIDE,
    S_DILATION,
    S_NOT_SQUARE,
    S_KERNEL_11,
    S_CHANNELS_LEFT, /* not a multiple of N */
    S_CUT,
    S_ONE_SCALE,   /* one weight scale for several groups */
    S_GROUP_SCALE, /* one for each group of several channels */
    S_N4,
    S_N8,
    S_N16,
    S_N32,
    S_ACT,                             /* activation a, FP32 and INT8 output: S_ACT + 2*a + INT8 */
    S_FLAVOUR = S_ACT + 2 * NCNN_ACTS, /* flavour f, FP32 and INT8 output */
    S_CLASSES = (int)S_FLAVOUR + 2 * NCNN_FLAVOURS
} shape_class;

typedef struct harness {
    ncnn_dev *dev[4];
    ncnn_fit fit;
    uint64_t events[NCNN_EVENTS];
    uint64_t shapes[S_CLASSES];
    uint64_t caught[NCNN_VARIANTS]; /* seed of the first case that differs, 0: none */
    uint64_t cases, layers, values, differing;
} harness;

/* ---- classes ---- */

static const char *shape_name(int s, char *buffer, size_t bytes) {
    static const char *const names[] = {"Convolution",
                                        "ConvolutionDepthWise, grouped",
                                        "depthwise",
                                        "InnerProduct",
                                        "Quantize",
                                        "Dequantize",
                                        "chained",
                                        "INT8 input",
                                        "INT8 output",
                                        "FP32 output",
                                        "no bias",
                                        "asymmetric pads",
                                        "stride",
                                        "dilation",
                                        "kernel w != h",
                                        "kernel of 11",
                                        "channels % N",
                                        "cuts by the caller",
                                        "one scale, groups",
                                        "a scale a group",
                                        "N = 4",
                                        "N = 8",
                                        "N = 16",
                                        "N = 32"};
    if (s < S_ACT) {
        return names[s];
    }
    if (s < S_FLAVOUR) {
        snprintf(buffer, bytes, "activation_type %d, %s", (s - S_ACT) / 2, (s - S_ACT) % 2 != 0 ? "INT8" : "FP32");
    } else {
        snprintf(buffer, bytes, "values: %s, %s", ncnn_flavour_name((ncnn_flavour)((s - S_FLAVOUR) / 2)),
                 (s - S_FLAVOUR) % 2 != 0 ? "INT8" : "FP32");
    }
    return buffer;
}

static void count_shape(harness *h, const ncnn_case *c, const ncnn_layer *l) {
    uint64_t *s = h->shapes;
    const bool window = l->kind == NCNN_CONVOLUTION || l->kind == NCNN_CONVOLUTION_DW;
    const bool depthwise = window && l->group > 1 && l->group == l->c && l->group == l->num_output;
    const int32_t n = (int32_t)c->n;
    s[S_CONVOLUTION] += l->kind == NCNN_CONVOLUTION;
    s[S_GROUPED] += l->kind == NCNN_CONVOLUTION_DW && !depthwise && l->group > 1;
    s[S_DEPTHWISE] += depthwise;
    s[S_INNER_PRODUCT] += l->kind == NCNN_INNER_PRODUCT;
    s[S_QUANTIZE] += l->kind == NCNN_QUANTIZE;
    s[S_DEQUANTIZE] += l->kind == NCNN_DEQUANTIZE;
    s[S_IN_INT8] += window && l->in_int8 != 0;
    s[S_OUT_INT8] += l->out_int8 != 0;
    s[S_OUT_FP32] += l->out_int8 == 0;
    s[S_N4] += n == 4;
    s[S_N8] += n == 8;
    s[S_N16] += n == 16;
    s[S_N32] += n == 32;
    s[S_CHANNELS_LEFT] += window && l->c % n != 0 && l->num_output % n != 0;
    s[S_FLAVOUR + 2 * (int)c->flavour + l->out_int8]++;
    if (l->kind == NCNN_QUANTIZE || l->kind == NCNN_DEQUANTIZE) {
        return;
    }
    s[S_ACT + 2 * l->activation_type + l->out_int8]++;
    s[S_NO_BIAS] += l->bias_term == 0;
    s[S_CUT] += c->cut.max_ic + c->cut.max_oc + c->cut.max_oh != 0;
    s[S_PADS_DIFFER] += l->pad_left != l->pad_right && l->pad_top != l->pad_bottom;
    s[S_STRIDE] += l->stride_w > 1 || l->stride_h > 1;
    s[S_DILATION] += l->dilation_w != l->dilation_h && (l->kernel_w > 1 || l->kernel_h > 1);
    s[S_NOT_SQUARE] += l->kernel_w != l->kernel_h;
    s[S_KERNEL_11] += l->kernel_w == 11 || l->kernel_h == 11;
    s[S_ONE_SCALE] += l->group > 1 && l->weight_scales == 1;
    s[S_GROUP_SCALE] += l->group > 1 && l->weight_scales == l->group && l->num_output > l->group;
}

/* ---- one case ---- */

static size_t first_difference(const void *a, const void *b, size_t bytes) {
    const uint8_t *p = a;
    const uint8_t *q = b;
    size_t i = 0;
    while (i < bytes && p[i] == q[i]) {
        i++;
    }
    return i;
}

static void report_difference(const ncnn_case *c, const ncnn_layer *l, const void *got, const void *want, size_t byte) {
    char line[LINE];
    const size_t size = l->out_int8 != 0 ? 1 : 4;
    const size_t i = byte / size;
    uint32_t g = 0, w = 0;
    memcpy(&g, (const uint8_t *)got + i * size, size);
    memcpy(&w, (const uint8_t *)want + i * size, size);
    ncnn_case_print(c, line, sizeof line);
    printf("DIFFERS layer %d element %zu: the device 0x%08X, the reference 0x%08X; %s; again: TANDEM_NCNN_SEED=%llu\n",
           (int)(l - c->layer), i, g, w, line, (unsigned long long)c->seed);
}

/* References that are wrong on purpose, as long as none of their results has differed; and those that are right. */
static void try_variants(harness *h, const ncnn_case *c, const ncnn_layer *l, const ncnn_blobs *b, const void *got,
                         size_t bytes) {
    uint8_t *out = malloc(bytes);
    assert_non_null(out);
    for (int v = NCNN_RIGHT + 1; v < NCNN_VARIANTS; v++) {
        const bool equal = v >= NCNN_EQUAL_FROM;
        const bool worth = c->flavour != NCNN_WRAP || v == NCNN_SUM_SATURATES; /* these take long */
        if (h->caught[v] != 0 || !worth || (equal && c->seed % EQUAL_EVERY != 0)) {
            continue;
        }
        assert_int_equal(ncnn_ref_run(l, b, &h->fit, (ncnn_variant)v, NULL, out), 0);
        if (memcmp(out, got, bytes) != 0) {
            h->caught[v] = c->seed;
        }
    }
    free(out);
}

/* Run layer i on the device and in the reference; *result gets the output (the caller's to free). False: they differ.
 */
static bool run_layer(harness *h, ncnn_dev *d, const ncnn_case *c, uint32_t i, const void *in, void **result) {
    const ncnn_layer *l = &c->layer[i];
    ncnn_blobs b = c->blobs[i];
    const size_t bytes = ncnn_case_outputs(l) * (l->out_int8 != 0 ? 1 : 4);
    void *got = malloc(bytes);
    void *want = malloc(bytes);
    assert_true(got != NULL && want != NULL);
    const int status = ncnn_dev_layer(d, l, &b, &c->cut);
    if (status != NPU_OK) {
        char line[LINE];
        ncnn_case_print(c, line, sizeof line);
        fail_msg("layer %u: status %d (%s); %s", i, status, status < 0 ? "memory" : npu_strerror((npu_status)status),
                 line);
    }
    ncnn_dev_output(d, got);
    if (i > 0) {
        b.in = in;
    }
    assert_int_equal(ncnn_ref_run(l, &b, &h->fit, NCNN_RIGHT, h->events, want), 0);
    const size_t byte = first_difference(got, want, bytes);
    if (byte != bytes && h->differing < LINES) {
        report_difference(c, l, got, want, byte);
    }
    try_variants(h, c, l, &b, got, bytes);
    count_shape(h, c, l);
    h->layers++;
    h->values += ncnn_case_outputs(l);
    free(want);
    *result = got;
    return byte == bytes;
}

static void run_case(harness *h, uint64_t seed) {
    ncnn_case c;
    void *out[2] = {NULL, NULL};
    bool same = true;
    assert_int_equal(ncnn_case_draw(&c, seed), 0);
    ncnn_dev *d = h->dev[seed % 4];
    ncnn_dev_begin(d);
    for (uint32_t i = 0; i < c.layers && same; i++) {
        same = run_layer(h, d, &c, i, out[0], &out[i]);
    }
    h->shapes[S_CHAINED] += c.layers == 2;
    h->differing += !same;
    h->cases++;
    free(out[0]);
    free(out[1]);
    ncnn_case_free(&c);
}

/* ---- the tests ---- */

static void open_harness(harness *h) {
    memset(h, 0, sizeof *h);
    if (ncnn_fit_load(&h->fit, "regs/act_fit.txt") != 0) {
        fail_msg("regs/act_fit.txt: not there or not whole (run from the root of the tree)");
    }
    for (uint32_t i = 0; i < 4; i++) {
        h->dev[i] = ncnn_dev_open(4u << i);
        assert_non_null(h->dev[i]);
    }
}

static void close_harness(harness *h) {
    for (uint32_t i = 0; i < 4; i++) {
        ncnn_dev_close(h->dev[i]);
    }
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : otherwise;
}

static void print_report(const harness *h) {
    char buffer[64];
    printf("%llu cases, %llu layers, %llu values, %llu cases differ\n", (unsigned long long)h->cases,
           (unsigned long long)h->layers, (unsigned long long)h->values, (unsigned long long)h->differing);
    printf("layers:\n");
    for (int s = 0; s < S_CLASSES; s++) {
        printf("%10llu  %s\n", (unsigned long long)h->shapes[s], shape_name(s, buffer, sizeof buffer));
    }
    for (int open = 0; open < 2; open++) {
        printf("values%s:\n", open != 0 ? " that ncnn leaves open and docs/npu/npu.md decides" : "");
        for (int e = 0; e < NCNN_EVENTS; e++) {
            if (ncnn_event_is_open((ncnn_event)e) == (open != 0)) {
                printf("%10llu  %s\n", (unsigned long long)h->events[e], ncnn_event_name((ncnn_event)e));
            }
        }
    }
    printf("references that are wrong on purpose, and the case that shows it:\n");
    for (int v = NCNN_RIGHT + 1; v < NCNN_EQUAL_FROM; v++) {
        printf("%10llu  %s\n", (unsigned long long)h->caught[v], ncnn_variant_name((ncnn_variant)v));
    }
}

/* Everything that the contract speaks of has happened, and nothing that it rules out. */
static unsigned missing_classes(const harness *h) {
    char buffer[64];
    unsigned missing = 0;
    for (int s = 0; s < S_CLASSES; s++) {
        if (h->shapes[s] == 0) {
            printf("NEVER: %s\n", shape_name(s, buffer, sizeof buffer));
            missing++;
        }
    }
    for (int e = 0; e < NCNN_EVENTS; e++) {
        if ((h->events[e] == 0) != (e == NCNN_E_FIT_FAR)) {
            printf("%s: %s\n", e == NCNN_E_FIT_FAR ? "HAPPENED" : "NEVER", ncnn_event_name((ncnn_event)e));
            missing++;
        }
    }
    return missing;
}

static unsigned wrong_variants(const harness *h) {
    unsigned wrong = 0;
    for (int v = NCNN_RIGHT + 1; v < NCNN_VARIANTS; v++) {
        if ((h->caught[v] != 0) == (v >= NCNN_EQUAL_FROM)) {
            printf("%s: %s (seed %llu)\n", v >= NCNN_EQUAL_FROM ? "DIFFERS AND MUST NOT" : "NOT CAUGHT",
                   ncnn_variant_name((ncnn_variant)v), (unsigned long long)h->caught[v]);
            wrong++;
        }
    }
    return wrong;
}

static void random_layers(void **state) {
    (void)state;
    const char *check = getenv("TANDEM_CHECK");
    const bool full = check != NULL && strcmp(check, "1") == 0;
    const uint64_t count = number_of("TANDEM_NCNN_COUNT", full ? FULL_CASES : QUICK_CASES);
    const uint64_t alone = number_of("TANDEM_NCNN_SEED", 0);
    harness *h = malloc(sizeof *h);
    assert_non_null(h);
    open_harness(h);
    if (alone != 0) {
        ncnn_case c;
        char line[LINE];
        assert_int_equal(ncnn_case_draw(&c, alone), 0);
        ncnn_case_print(&c, line, sizeof line);
        ncnn_case_free(&c);
        run_case(h, alone);
        printf("%s\n%s\n", line, h->differing == 0 ? "no difference" : "differs");
    }
    for (uint64_t seed = 1; alone == 0 && seed <= count; seed++) {
        run_case(h, seed);
    }
    unsigned bad = 0;
    if (alone == 0) {
        print_report(h);
        bad = missing_classes(h) + wrong_variants(h);
    }
    const uint64_t differing = h->differing;
    close_harness(h);
    free(h);
    assert_int_equal(differing, 0);
    assert_int_equal(bad, 0);
}

/* A 1x1 convolution of one value, computed with a pencil. FP32 output: `bits`. */
typedef struct by_hand {
    float x, bottom;
    int8_t weight;
    float weight_scale, bias, top;
    int32_t out_int8;
    uint32_t bits;
} by_hand;

static void pencil(void **state) {
    (void)state;
    const by_hand rows[] = {
        {2.5f, 1.0f, 1, 1.0f, 0.0f, 0.0f, 0, 0x40400000u},           /* 2.5 -> 3 */
        {-2.5f, 1.0f, 1, 1.0f, 0.0f, 0.0f, 0, 0xC0400000u},          /* -2.5 -> -3 */
        {0x1.fffffep-2f, 1.0f, 1, 1.0f, 0.0f, 0.0f, 0, 0x00000000u}, /* the float before 0.5 -> 0 */
        {-0.5f, 1.0f, -127, 1.0f, 0.0f, 0.0f, 0, 0x42FE0000u},       /* -1 * -127 */
        {1000.0f, 1.0f, 2, 1.0f, 0.0f, 0.0f, 0, 0x437E0000u},        /* 127 * 2 */
        {1.0f, 1.0f, 1, 3.0f, 0.0f, 0.0f, 0, 0x3EAAAAABu},           /* 1/3 */
        {3.0f, 1.0f, 1, 3.0f, 0.0f, 0.0f, 0, 0x3F800000u},           /* 3 * f32(1/3) rounds to 1 */
        {1.0f, 2.0f, 1, 0.0f, 7.0f, 0.0f, 0, 0x40E00000u},           /* weight scale 0: the bias */
        {-1.0f, 1.0f, 0, 1.0f, 0.0f, 0.0f, 0, 0x00000000u},          /* 0 + 0 */
        {1.0f, 1.0f, 5, 1.0f, 0.0f, 0.5f, 1, 3u},                    /* 2.5 -> 3 */
        {1.0f, 1.0f, -5, 1.0f, 0.0f, 0.5f, 1, 0xFDu},                /* -2.5 -> -3 */
        {1.0f, 1.0f, -5, 1.0f, 0.0f, 100.0f, 1, 0x81u},              /* -500 -> -127 */
        {1.0f, 1.0f, 5, 1.0f, 0.0f, 0x1p30f, 1, 0x7Fu},              /* 5 * 2^30: out of ncnn's contract, saturates */
        {__builtin_inff(), 0.0f, 5, 1.0f, 0.0f, 1.0f, 1, 0u},        /* inf * 0 -> 0; 0 * (1/0) = NaN -> 0 */
        {1.0f, 1.0f, 1, 0x1p-149f, 0.0f, 0.0f, 0, 0x7F800000u},      /* 1 / 2^-149 is infinite */
        {1.0f, 1.0f, 1, 0x1p127f, 0x1p-149f, 0.0f, 0, 0x00400001u},  /* 2^-127 + 2^-149 */
        {__builtin_nanf(""), 1.0f, 1, 1.0f, __builtin_nanf("0x1234"), 0.0f, 0, 0x7FC00000u}, /* NaN -> 0; 0 + NaN */
    };
    const ncnn_cut cut = {0};
    for (size_t i = 0; i < 4 * sizeof rows / sizeof rows[0]; i++) {
        const by_hand *row = &rows[i / 4];
        const ncnn_layer l = {.kind = NCNN_CONVOLUTION,
                              .w = 1,
                              .h = 1,
                              .c = 1,
                              .num_output = 1,
                              .kernel_w = 1,
                              .kernel_h = 1,
                              .dilation_w = 1,
                              .dilation_h = 1,
                              .stride_w = 1,
                              .stride_h = 1,
                              .bias_term = 1,
                              .group = 1,
                              .out_int8 = row->out_int8,
                              .weight_scales = 1,
                              .bottom_scale = row->bottom,
                              .top_scale = row->top};
        const ncnn_blobs b = {
            .in = &row->x, .weight = &row->weight, .weight_scale = &row->weight_scale, .bias = &row->bias};
        ncnn_dev *d = ncnn_dev_open(4u << (i % 4));
        assert_non_null(d);
        uint32_t got = 0, ref = 0;
        assert_int_equal(ncnn_dev_layer(d, &l, &b, &cut), NPU_OK);
        ncnn_dev_output(d, &got);
        assert_int_equal(ncnn_ref_run(&l, &b, NULL, NCNN_RIGHT, NULL, &ref), 0);
        ncnn_dev_close(d);
        if (got != row->bits || ref != row->bits) {
            fail_msg("row %zu: by hand 0x%08X, the device 0x%08X, the reference 0x%08X", i / 4, row->bits, got, ref);
        }
    }
}

/* The one value that the driver refuses: HardSwish divides by alpha. */
static void refused(void **state) {
    (void)state;
    const float x = 1.0f, zeros[2] = {0.0f, -0.0f};
    const int8_t weight = 1;
    const ncnn_cut cut = {0};
    const ncnn_blobs b = {.in = &x, .weight = &weight, .weight_scale = &x, .bias = &x};
    ncnn_layer l = {.kind = NCNN_INNER_PRODUCT,
                    .w = 1,
                    .h = 1,
                    .c = 1,
                    .num_output = 1,
                    .group = 1,
                    .weight_scales = 1,
                    .bottom_scale = 1.0f};
    l.kernel_w = l.kernel_h = l.dilation_w = l.dilation_h = l.stride_w = l.stride_h = 1;
    l.activation_type = NCNN_ACT_HARDSWISH;
    ncnn_dev *d = ncnn_dev_open(8);
    assert_non_null(d);
    for (int i = 0; i < 2; i++) {
        l.activation_params[0] = zeros[i];
        assert_int_equal(ncnn_dev_layer(d, &l, &b, &cut), NPU_ERR_ACT);
    }
    l.activation_params[0] = 0x1p-149f;
    assert_int_equal(ncnn_dev_layer(d, &l, &b, &cut), NPU_OK);
    ncnn_dev_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pencil), cmocka_unit_test(refused),
                                       cmocka_unit_test(random_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
