/*
 * ncnn_case.c - see ncnn_case.h.
 */
#include "ncnn_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET 24000 /* products of a layer, more or less */

typedef struct rng {
    uint64_t s;
} rng;

static uint64_t next(rng *r) {
    uint64_t z = r->s += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static int32_t draw(rng *r, int32_t lo, int32_t hi) {
    return lo + (int32_t)(next(r) % (uint64_t)((int64_t)hi - lo + 1));
}

static bool one_in(rng *r, int32_t n) {
    return draw(r, 1, n) == 1;
}

static float uniform(rng *r, float lo, float hi) {
    return lo + (hi - lo) * ((float)draw(r, 0, 1 << 20) / 1048576.0f);
}

static float any_bits(rng *r) {
    const uint32_t b = (uint32_t)next(r);
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

static float special(rng *r) {
    static const uint32_t values[] = {0,           0x80000000u, 1,           0x80000001u, 0x007FFFFFu, 0x00800000u,
                                      0x7F7FFFFFu, 0xFF7FFFFFu, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 0xFFC12345u,
                                      0x7F800001u, 0x3EFFFFFFu, 0xBEFFFFFFu, 0x3F000000u, 0x4F000000u, 0xCF000000u,
                                      0x4EFFFFFFu, 0x42FE0000u, 0xC2FF0000u};
    float f;
    memcpy(&f, &values[draw(r, 0, (int32_t)(sizeof values / sizeof values[0]) - 1)], sizeof f);
    return f;
}

/* Any magnitude, subnormals among them. */
static float any_size(rng *r) {
    const float v = ldexpf(uniform(r, 1.0f, 2.0f), draw(r, -149, 127));
    return v == 0 ? 1e-45f : v;
}

const char *ncnn_flavour_name(ncnn_flavour f) {
    static const char *const names[NCNN_FLAVOURS] = {"plain",   "halves", "extreme",  "zeros",
                                                     "special", "bits",   "long sum", "wrap"};
    return names[f];
}

/* ---- shapes ---- */

static int32_t products_of(const ncnn_layer *l) {
    return l->kind == NCNN_INNER_PRODUCT ? l->w : l->c / l->group * l->kernel_w * l->kernel_h;
}

size_t ncnn_case_outputs(const ncnn_layer *l) {
    int32_t w = 1;
    int32_t h = 1;
    if (l->kind == NCNN_QUANTIZE || l->kind == NCNN_DEQUANTIZE) {
        return (size_t)l->c * (size_t)l->h * (size_t)l->w;
    }
    if (l->kind != NCNN_INNER_PRODUCT && !ncnn_ref_shape(l, &w, &h)) {
        return 0;
    }
    return (size_t)l->num_output * (size_t)w * (size_t)h;
}

static int32_t side(rng *r) {
    return one_in(r, 3) ? 1 : one_in(r, 2) ? 3 : draw(r, 1, 11);
}

static void draw_window(rng *r, ncnn_layer *l) {
    l->kernel_w = side(r);
    l->kernel_h = one_in(r, 2) ? l->kernel_w : side(r);
    l->dilation_w = one_in(r, 4) ? draw(r, 2, 4) : 1;
    l->dilation_h = one_in(r, 4) ? draw(r, 2, 4) : 1;
    l->stride_w = one_in(r, 3) ? draw(r, 2, 4) : 1;
    l->stride_h = one_in(r, 3) ? draw(r, 2, 4) : 1;
    const bool pads = one_in(r, 2);
    l->pad_left = pads ? draw(r, 0, 5) : 0;
    l->pad_right = pads ? draw(r, 0, 5) : 0;
    l->pad_top = pads ? draw(r, 0, 5) : 0;
    l->pad_bottom = pads ? draw(r, 0, 5) : 0;
}

/* The input of a chained layer is given; that of a first one is drawn. */
static void draw_map(rng *r, ncnn_layer *l, bool chained) {
    const int32_t most = one_in(r, 4) ? 70 : 12;
    if (!chained) {
        l->w = draw(r, 1, 14);
        l->h = draw(r, 1, 14);
        l->c = draw(r, 1, most);
    }
    l->group = 1;
    l->num_output = draw(r, 1, most);
    if (l->kind != NCNN_CONVOLUTION_DW) {
        return;
    }
    if (chained || one_in(r, 2)) {
        l->group = l->num_output = l->c;
    } else {
        l->group = draw(r, 2, 6);
        l->c = l->group * draw(r, 1, 6);
        l->num_output = l->group * draw(r, 1, 6);
    }
}

static void draw_convolution(rng *r, ncnn_layer *l, bool chained) {
    for (;;) {
        draw_map(r, l, chained);
        draw_window(r, l);
        const size_t outputs = ncnn_case_outputs(l);
        if (outputs != 0 && outputs * (size_t)products_of(l) <= BUDGET) {
            return;
        }
    }
}

/* Windows that cover the whole input: one output for each channel, `products` products or a few more. */
static void draw_long(rng *r, ncnn_layer *l, int32_t products) {
    l->kind = one_in(r, 3) ? NCNN_INNER_PRODUCT : NCNN_CONVOLUTION;
    l->num_output = draw(r, 1, 3);
    if (l->kind == NCNN_INNER_PRODUCT) {
        l->w = products + draw(r, 1, 40);
        return;
    }
    l->kernel_w = l->w = draw(r, products > 100000 ? 9 : 3, 11);
    l->kernel_h = l->h = draw(r, products > 100000 ? 9 : 3, 11);
    l->c = products / (l->w * l->h) + 1;
}

static void draw_scale_count(rng *r, ncnn_layer *l) {
    l->weight_scales = l->num_output;
    if (l->kind == NCNN_CONVOLUTION_DW) {
        l->weight_scales = one_in(r, 3) ? 1 : l->group;
    }
}

static void draw_shape(rng *r, const ncnn_case *c, ncnn_layer *l, bool chained) {
    l->group = l->kernel_w = l->kernel_h = l->dilation_w = l->dilation_h = l->stride_w = l->stride_h = 1;
    if (c->flavour == NCNN_LONG_SUM || c->flavour == NCNN_WRAP) {
        l->h = l->c = 1;
        draw_long(r, l, c->flavour == NCNN_WRAP ? 140000 : draw(r, 1060, 2000));
    } else if (l->kind == NCNN_INNER_PRODUCT) {
        l->w = chained ? l->w : draw(r, 1, one_in(r, 4) ? 600 : 70);
        l->h = l->c = 1;
        l->num_output = draw(r, 1, 40);
    } else if (l->kind == NCNN_CONVOLUTION || l->kind == NCNN_CONVOLUTION_DW) {
        draw_convolution(r, l, chained);
    } else {
        if (!chained) {
            l->w = draw(r, 1, 12);
            l->h = draw(r, 1, 12);
            l->c = draw(r, 1, 70);
        }
        l->num_output = l->c;
    }
    draw_scale_count(r, l);
}

/* ---- values ---- */

static float draw_bottom(rng *r, ncnn_flavour f) {
    switch (f) {
    case NCNN_HALVES:
        return ldexpf(1.0f, draw(r, -3, 5));
    case NCNN_EXTREME:
        return any_size(r);
    case NCNN_BITS:
        return any_bits(r);
    case NCNN_SPECIAL:
        return one_in(r, 6) ? special(r) : 127.0f / uniform(r, 0.5f, 20.0f);
    default:
        return 127.0f / uniform(r, 0.5f, 20.0f);
    }
}

static float draw_weight_scale(rng *r, ncnn_flavour f, float bottom) {
    const float plain = 127.0f / uniform(r, 0.05f, 2.0f);
    switch (f) {
    case NCNN_HALVES:
        return ldexpf(1.0f, 4); /* the same for all channels: put_halves() counts on it */
    case NCNN_EXTREME:
        /* the product of the scales ordinary, near the ends of the range, or anything */
        return one_in(r, 3) ? any_size(r)
                            : ldexpf(uniform(r, 1.0f, 2.0f), draw(r, 0, 1)  ? draw(r, -12, 12)
                                                             : one_in(r, 2) ? 126
                                                                            : -140) /
                                  bottom;
    case NCNN_ZEROS:
        return one_in(r, 3) ? (one_in(r, 3) ? -0.0f : 0.0f) : plain;
    case NCNN_SPECIAL:
        return one_in(r, 5) ? special(r) : one_in(r, 5) ? -plain : plain;
    case NCNN_BITS:
        return any_bits(r);
    default:
        return plain;
    }
}

/* A half, or the float before it, in units of 2^-power. */
static float near_half(rng *r, int32_t range, int power) {
    const float half = (float)draw(r, -range, range) * 0.5f;
    return ldexpf(one_in(r, 5) ? nextafterf(half, 0.0f) : half, -power);
}

static float draw_bias(rng *r, ncnn_flavour f, float factor, int32_t products) {
    const float reach = factor * 3000.0f * sqrtf((float)products);
    switch (f) {
    case NCNN_HALVES:
        return near_half(r, 100, -ilogbf(factor));
    case NCNN_BITS:
        return any_bits(r);
    case NCNN_SPECIAL:
        return one_in(r, 5) ? special(r) : uniform(r, -1.0f, 1.0f) * reach;
    case NCNN_EXTREME:
        return one_in(r, 3) ? any_size(r) : uniform(r, -1.0f, 1.0f) * reach;
    default:
        return one_in(r, 8) ? 0.0f : uniform(r, -1.0f, 1.0f) * (isfinite(reach) ? reach : 1.0f);
    }
}

static float draw_top(rng *r, ncnn_flavour f, float factor, int32_t products) {
    const float reach = fabsf(factor) * 4000.0f * sqrtf((float)products);
    switch (f) {
    case NCNN_HALVES:
        return ldexpf(1.0f, -ilogbf(factor) - draw(r, 0, 2));
    case NCNN_BITS:
        return any_bits(r);
    case NCNN_SPECIAL:
        return one_in(r, 6) ? special(r) : 127.0f / reach;
    case NCNN_EXTREME:
        return one_in(r, 2) ? any_size(r) : 127.0f / reach;
    default:
        return (isfinite(reach) && reach > 0 ? 127.0f / reach : 1.0f) * uniform(r, 0.2f, 2.0f);
    }
}

static float draw_input(rng *r, ncnn_flavour f, float bottom) {
    switch (f) {
    case NCNN_HALVES:
        return near_half(r, one_in(r, 20) ? 300 : 9, ilogbf(bottom));
    case NCNN_BITS:
        return any_bits(r);
    case NCNN_SPECIAL:
        return one_in(r, 6) ? special(r) : uniform(r, -160.0f, 160.0f) / (isnormal(bottom) ? bottom : 1.0f);
    case NCNN_EXTREME:
        return one_in(r, 10) ? any_size(r) : uniform(r, -160.0f, 160.0f) / bottom;
    case NCNN_LONG_SUM:
    case NCNN_WRAP:
        return uniform(r, one_in(r, 50) ? 10.0f : 127.0f, 200.0f) / bottom;
    default:
        return uniform(r, -150.0f, 150.0f) / bottom;
    }
}

/* sign: of the channel, where all products have one sign; quiet: a channel of zeros. */
static int8_t draw_weight(rng *r, ncnn_flavour f, int32_t sign, bool quiet) {
    if (quiet) {
        return 0;
    }
    switch (f) {
    case NCNN_HALVES:
        return (int8_t)(one_in(r, 2) ? 0 : draw(r, -1, 1));
    case NCNN_LONG_SUM:
    case NCNN_WRAP:
        return (int8_t)(sign * (one_in(r, 50) ? draw(r, 100, 127) : 127));
    default:
        return (int8_t)draw(r, -127, 127);
    }
}

static int8_t draw_int8(rng *r, ncnn_flavour f) {
    const bool large = f == NCNN_LONG_SUM || f == NCNN_WRAP;
    return (int8_t)(large ? 127 : f == NCNN_HALVES ? draw(r, -4, 4) : draw(r, -127, 127));
}

static void draw_activation(rng *r, ncnn_layer *l, ncnn_flavour f, float reach) {
    float *p = l->activation_params;
    l->activation_type = draw(r, 0, NCNN_ACTS - 1);
    p[0] = f == NCNN_HALVES && l->activation_type == NCNN_ACT_LEAKY ? 0.5f : uniform(r, 0.01f, 1.0f); /* slope, alpha */
    p[1] = uniform(r, 0.1f, 3.0f);                                                                    /* beta */
    if (l->activation_type == NCNN_ACT_CLIP) {
        p[0] = uniform(r, -1.0f, 0.2f) * reach;
        p[1] = uniform(r, 0.2f, 1.0f) * reach;
    } else if (l->activation_type == NCNN_ACT_HARDSWISH && one_in(r, 2)) {
        p[0] = 1.0f / 6.0f;
        p[1] = 0.5f;
    }
    for (int i = 0; i < 2; i++) {
        const float drawn = f == NCNN_BITS ? any_bits(r) : special(r);
        const bool alpha = l->activation_type == NCNN_ACT_HARDSWISH && i == 0; /* not 0: the driver refuses it */
        if ((f == NCNN_BITS || (f == NCNN_SPECIAL && one_in(r, 4))) && !(alpha && drawn == 0)) {
            p[i] = drawn;
        }
    }
}

/* Where the activation changes its formula, or the float beside it. */
static float border(rng *r, const ncnn_layer *l) {
    const float *p = l->activation_params;
    float v = 0.5f * (float)draw(r, -17, 17); /* segments of Sigmoid and Mish */
    if (l->activation_type == NCNN_ACT_CLIP) {
        v = p[draw(r, 0, 1)];
    } else if (l->activation_type == NCNN_ACT_HARDSWISH) {
        const float lower = -p[1] / p[0];
        const float inverse = 1.0f / p[0];
        v = one_in(r, 2) ? lower : inverse + lower;
    }
    const int32_t side_of_it = draw(r, -1, 1);
    return side_of_it == 0 ? v : nextafterf(v, (float)side_of_it * INFINITY);
}

static void *own(ncnn_case *c, size_t bytes) {
    void *p = malloc(bytes);
    if (p != NULL) {
        c->own[c->owned++] = p;
    }
    return p;
}

/* ---- a layer's data ---- */

static int draw_input_blob(rng *r, ncnn_case *c, const ncnn_layer *l, ncnn_blobs *b) {
    const size_t count = (size_t)l->c * (size_t)l->h * (size_t)l->w;
    void *in = own(c, count * 4);
    for (size_t i = 0; in != NULL && i < count; i++) {
        if (l->in_int8 != 0) {
            ((int8_t *)in)[i] = draw_int8(r, c->flavour);
        } else {
            ((float *)in)[i] = draw_input(r, c->flavour, l->bottom_scale);
        }
    }
    b->in = in;
    return in != NULL ? 0 : -1;
}

static int draw_weight_blobs(rng *r, ncnn_case *c, ncnn_layer *l, ncnn_blobs *b) {
    const ncnn_flavour f = c->flavour;
    const int32_t products = products_of(l);
    float *scale = own(c, (size_t)l->weight_scales * sizeof *scale);
    float *bias = own(c, (size_t)l->num_output * sizeof *bias);
    int8_t *weight = own(c, (size_t)l->num_output * (size_t)products);
    if (scale == NULL || bias == NULL || weight == NULL) {
        return -1;
    }
    for (int32_t i = 0; i < l->weight_scales; i++) {
        scale[i] = draw_weight_scale(r, f, l->bottom_scale);
    }
    const float factor = 1.0f / (l->bottom_scale * scale[0]);
    draw_activation(r, l, f, factor * 4000.0f * sqrtf((float)products));
    int8_t *w = weight;
    for (int32_t o = 0; o < l->num_output; o++) {
        const bool quiet = (f == NCNN_HALVES || f == NCNN_SPECIAL) && one_in(r, 4);
        const int32_t sign = one_in(r, 2) ? -1 : 1;
        bias[o] = quiet && one_in(r, 2) ? border(r, l) : draw_bias(r, f, factor, products);
        for (int32_t i = 0; i < products; i++) {
            *w++ = draw_weight(r, f, sign, quiet);
        }
    }
    l->top_scale = draw_top(r, f, factor, products);
    *b = (ncnn_blobs){.in = b->in, .weight = weight, .weight_scale = scale, .bias = bias};
    return 0;
}

static int draw_layer(rng *r, ncnn_case *c, uint32_t i, bool int8_out) {
    ncnn_layer *l = &c->layer[i];
    ncnn_blobs *b = &c->blobs[i];
    draw_shape(r, c, l, i > 0);
    l->in_int8 = i > 0 || l->kind == NCNN_DEQUANTIZE || (l->kind != NCNN_QUANTIZE && one_in(r, 4));
    if (c->flavour == NCNN_WRAP && l->kind == NCNN_INNER_PRODUCT) {
        l->in_int8 = 0; /* longer than 65535 */
    }
    l->out_int8 = l->kind == NCNN_QUANTIZE || (l->kind != NCNN_DEQUANTIZE && int8_out);
    l->bias_term = !one_in(r, 4);
    if (i == 0) {
        l->bottom_scale = draw_bottom(r, c->flavour);
    }
    const bool weights = l->kind != NCNN_QUANTIZE && l->kind != NCNN_DEQUANTIZE;
    if (weights && draw_weight_blobs(r, c, l, b) != 0) {
        return -1;
    }
    return i == 0 ? draw_input_blob(r, c, l, b) : 0;
}

static int draw_second(rng *r, ncnn_case *c) {
    const ncnn_layer *a = &c->layer[0];
    ncnn_layer *l = &c->layer[1];
    const bool vector = a->kind == NCNN_INNER_PRODUCT;
    l->w = l->h = 1;
    l->c = a->num_output;
    if (a->kind == NCNN_QUANTIZE) {
        l->w = a->w;
        l->h = a->h;
    } else if (!vector) {
        (void)ncnn_ref_shape(a, &l->w, &l->h);
    }
    l->kind = draw(r, 0, 3) == 0 ? NCNN_DEQUANTIZE : draw(r, 0, 1) ? NCNN_CONVOLUTION : NCNN_CONVOLUTION_DW;
    if (vector && !one_in(r, 4)) {
        l->kind = NCNN_INNER_PRODUCT;
        l->w = l->c;
    }
    l->bottom_scale = a->kind == NCNN_QUANTIZE ? a->bottom_scale : a->top_scale;
    return draw_layer(r, c, 1, one_in(r, 2));
}

static ncnn_flavour draw_flavour(rng *r) {
    static const ncnn_flavour often[] = {NCNN_PLAIN,   NCNN_PLAIN, NCNN_HALVES,  NCNN_HALVES,  NCNN_EXTREME,
                                         NCNN_EXTREME, NCNN_ZEROS, NCNN_SPECIAL, NCNN_SPECIAL, NCNN_BITS};
    return one_in(r, 250) ? NCNN_WRAP : one_in(r, 20) ? NCNN_LONG_SUM : often[draw(r, 0, 9)];
}

int ncnn_case_draw(ncnn_case *c, uint64_t seed) {
    rng stream = {seed * UINT64_C(0xD1342543DE82EF95) + 1};
    rng *r = &stream;
    *c = (ncnn_case){.seed = seed, .n = 4u << (seed % 4), .layers = 1};
    const int32_t kind = draw(r, 0, 99);
    c->flavour = draw_flavour(r);
    c->layer[0].kind = kind < 40   ? NCNN_CONVOLUTION
                       : kind < 74 ? NCNN_CONVOLUTION_DW
                       : kind < 88 ? NCNN_INNER_PRODUCT
                       : kind < 94 ? NCNN_QUANTIZE
                                   : NCNN_DEQUANTIZE;
    const bool chain =
        one_in(r, 6) && c->layer[0].kind != NCNN_DEQUANTIZE && c->flavour != NCNN_LONG_SUM && c->flavour != NCNN_WRAP;
    const int32_t n = (int32_t)c->n;
    if (one_in(r, 3)) {
        c->cut = (ncnn_cut){.max_oh = (uint32_t)draw(r, 0, 4),
                            .max_ic = (uint32_t)(draw(r, 0, 1) * draw(r, n, 2 * n)),
                            .max_oc = (uint32_t)(draw(r, 0, 1) * draw(r, n, 2 * n)),
                            .group = (uint32_t)(draw(r, 0, 1) * draw(r, 1, 40)),
                            .serial = one_in(r, 3),
                            .no_resident = one_in(r, 3)};
    }
    if (draw_layer(r, c, 0, chain || one_in(r, 2)) != 0) {
        return -1;
    }
    if (chain) {
        c->layers = 2;
        return draw_second(r, c);
    }
    return 0;
}

void ncnn_case_free(ncnn_case *c) {
    for (uint32_t i = 0; i < c->owned; i++) {
        free(c->own[i]);
    }
    c->owned = 0;
}

void ncnn_case_print(const ncnn_case *c, char *line, size_t bytes) {
    static const char *const kinds[NCNN_KINDS] = {"Convolution", "ConvolutionDepthWise", "InnerProduct", "Quantize",
                                                  "Dequantize"};
    int used =
        snprintf(line, bytes, "seed %llu: N=%u, %s", (unsigned long long)c->seed, c->n, ncnn_flavour_name(c->flavour));
    for (uint32_t i = 0; i < c->layers && used > 0 && (size_t)used < bytes; i++) {
        const ncnn_layer *l = &c->layer[i];
        used += snprintf(
            line + used, bytes - (size_t)used,
            "; %s %dx%dx%d %s -> %d %s, kernel %dx%d dilation %dx%d stride %dx%d pads %d %d %d %d group %d bias %d "
            "activation %d (%a %a) bottom %a top %a, %d weight scales",
            kinds[l->kind], l->w, l->h, l->c, l->in_int8 != 0 ? "INT8" : "FP32", l->num_output,
            l->out_int8 != 0 ? "INT8" : "FP32", l->kernel_w, l->kernel_h, l->dilation_w, l->dilation_h, l->stride_w,
            l->stride_h, l->pad_left, l->pad_right, l->pad_top, l->pad_bottom, l->group, l->bias_term,
            l->activation_type, (double)l->activation_params[0], (double)l->activation_params[1],
            (double)l->bottom_scale, (double)l->top_scale, l->weight_scales);
    }
}
