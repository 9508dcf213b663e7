/*
 * ncnn_ref.c - see ncnn_ref.h. Compiled with -ffp-contract=off -fno-fast-math: a float expression of one operator is
 * one IEEE-754 step.
 */
#include "ncnn_ref.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO_31 2147483648.0f

/* One layer being computed. */
typedef struct work {
    const ncnn_layer *l;
    const ncnn_blobs *b;
    const ncnn_fit *fit;
    ncnn_variant wrong;
    uint64_t *seen;
    int32_t padded_w, padded_h, out_w, out_h;
    int8_t *padded; /* [c][padded_h][padded_w]: quantised, then padded */
} work;

static void happened(const work *k, ncnn_event e, bool yes) {
    if (k->seen != NULL && yes) {
        k->seen[e]++;
    }
}

static float canonical_nan(void) {
    const uint32_t bits = 0x7FC00000u;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The end of an arithmetic step: there is one NaN. */
static float step(const work *k, float v) {
    if (isnan(v)) {
        return canonical_nan();
    }
    return k->wrong == NCNN_FLUSH && fpclassify(v) == FP_SUBNORMAL ? 0.0f : v;
}

/* ---- float2int8 ---- */

static bool is_half(float v) {
    return fabsf(v) < 127.0f && fabsf(v - truncf(v)) == 0.5f;
}

static bool is_below_half(float v) {
    return fabsf(v) < 127.0f && !is_half(v) && is_half(nextafterf(v, v < 0 ? -INFINITY : INFINITY));
}

/* In the right form: C's round(), clamped. NaN, infinity and what no int holds are not ncnn's: the NPU's rule. */
static int8_t float2int8(const work *k, float v, bool input) {
    const ncnn_variant w = k->wrong;
    if (isnan(v)) {
        return w == NCNN_NAN_IS_MAX ? 127 : 0;
    }
    if (!(fabsf(v) < TWO_31)) {
        return v < 0 || w == NCNN_HUGE_WRAPS ? (int8_t)(w == NCNN_CLAMP_128 ? -128 : -127) : 127;
    }
    float whole = roundf(v);
    if (input && w == NCNN_INPUT_HALF_UP) {
        whole = (float)floor((double)v + 0.5);
    } else if (input && w == NCNN_INPUT_ADD_HALF) {
        const float moved = v + copysignf(0.5f, v);
        whole = truncf(moved);
    } else if ((input && w == NCNN_INPUT_HALF_EVEN) || (!input && w == NCNN_OUTPUT_HALF_EVEN)) {
        whole = rintf(v);
    } else if (!input && w == NCNN_OUTPUT_TRUNCATES) {
        whole = truncf(v);
    }
    const int32_t i = (int32_t)fmaxf(fminf(whole, 1000.0f), -1000.0f);
    const int32_t low = w == NCNN_CLAMP_128 ? -128 : -127;
    return (int8_t)(i > 127 ? 127 : i < low ? low : i);
}

static int8_t quantise(const work *k, float x) {
    const float scale = k->l->bottom_scale;
    float v = x * scale;
    if (k->wrong == NCNN_INPUT_DIVIDES) {
        const float size = 1.0f / scale;
        v = x / size;
    }
    v = step(k, v);
    happened(k, NCNN_E_IN_HALF, is_half(v));
    happened(k, NCNN_E_IN_BELOW_HALF, is_below_half(v));
    happened(k, NCNN_E_IN_SATURATED, fabsf(v) >= 127.5f && fabsf(v) < TWO_31);
    happened(k, NCNN_E_IN_HUGE, fabsf(v) >= TWO_31 && !isinf(v));
    happened(k, NCNN_E_IN_INF, isinf(v));
    happened(k, NCNN_E_IN_NAN, isnan(v));
    happened(k, NCNN_E_IN_NEGATIVE_ZERO, v == 0 && signbit(v));
    return float2int8(k, v, true);
}

/* ---- input: quantised first, then padded ---- */

static int32_t limit(int32_t at, int32_t size) {
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static int8_t padded_value(const work *k, int32_t c, int32_t y, int32_t x) {
    const ncnn_layer *l = k->l;
    const bool outside = y < 0 || y >= l->h || x < 0 || x >= l->w;
    if (outside && k->wrong == NCNN_PAD_FIRST && l->in_int8 == 0) {
        work quiet = *k;
        quiet.seen = NULL;
        return quantise(&quiet, 0.0f);
    }
    if (outside && k->wrong != NCNN_PADS_NOT_ZERO) {
        return 0;
    }
    const size_t at = ((size_t)c * (size_t)l->h + (size_t)limit(y, l->h)) * (size_t)l->w + (size_t)limit(x, l->w);
    return l->in_int8 != 0 ? ((const int8_t *)k->b->in)[at] : quantise(k, ((const float *)k->b->in)[at]);
}

static int prepare(work *k) {
    const ncnn_layer *l = k->l;
    const bool swap = k->wrong == NCNN_PADS_SWAPPED;
    const int32_t left = swap ? l->pad_right : l->pad_left;
    const int32_t top = swap ? l->pad_bottom : l->pad_top;
    k->padded_w = l->w + l->pad_left + l->pad_right;
    k->padded_h = l->h + l->pad_top + l->pad_bottom;
    k->padded = malloc((size_t)l->c * (size_t)k->padded_h * (size_t)k->padded_w);
    if (k->padded == NULL) {
        return -1;
    }
    int8_t *to = k->padded;
    for (int32_t c = 0; c < l->c; c++) {
        for (int32_t y = 0; y < k->padded_h; y++) {
            for (int32_t x = 0; x < k->padded_w; x++) {
                *to++ = padded_value(k, c, y - top, x - left);
            }
        }
    }
    return 0;
}

/* ---- the sum ---- */

/* The int64 that an int32 holds after it has wrapped. */
static int32_t wrapped(const work *k, int64_t sum) {
    const int64_t two_32 = INT64_C(4294967296);
    happened(k, NCNN_E_SUM_WRAPPED, sum > INT32_MAX || sum < INT32_MIN);
    if (k->wrong == NCNN_SUM_SATURATES) {
        return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
    }
    while (sum > INT32_MAX) {
        sum -= two_32;
    }
    while (sum < INT32_MIN) {
        sum += two_32;
    }
    return (int32_t)sum;
}

/* Product number i of the window of output (o, y, x): taps of a channel side by side, channels one after another. */
static int32_t product(const work *k, int32_t o, int32_t y, int32_t x, int32_t i) {
    const ncnn_layer *l = k->l;
    const int32_t taps = l->kernel_w * l->kernel_h;
    const int32_t icg = l->c / l->group;
    const int32_t c = o / (l->num_output / l->group) * icg + i / taps;
    const int32_t ky = i % taps / l->kernel_w;
    const int32_t kx = i % l->kernel_w;
    const int32_t dilation_w = k->wrong == NCNN_DILATION_ROW ? l->dilation_h : l->dilation_w;
    const int32_t py = y * l->stride_h + ky * l->dilation_h;
    const int32_t px = x * l->stride_w + kx * dilation_w;
    if (px >= k->padded_w) { /* NCNN_DILATION_ROW only */
        return 0;
    }
    return k->padded[(c * k->padded_h + py) * k->padded_w + px] * k->b->weight[o * icg * taps + i];
}

static int32_t sum_of(const work *k, int32_t o, int32_t y, int32_t x) {
    const ncnn_layer *l = k->l;
    const int32_t products = l->c / l->group * l->kernel_w * l->kernel_h;
    int64_t sum = 0;
    float rounded = 0.0f;
    for (int32_t i = 0; i < products; i++) {
        const int32_t p = product(k, o, y, x, k->wrong == NCNN_SUM_BACKWARDS ? products - 1 - i : i);
        sum += p;
        rounded = rounded + (float)p;
    }
    return k->wrong == NCNN_SUM_IS_FLOAT && fabsf(rounded) < TWO_31 ? (int32_t)rounded : wrapped(k, sum);
}

static float sum_to_float(const work *k, int32_t sum) {
    float f = (float)sum;
    happened(k, NCNN_E_SUM_ABOVE_2_24, llabs((long long)sum) > 16777216 && (double)f != (double)sum);
    if (k->wrong == NCNN_SUM_CUT && fabs((double)f) > fabs((double)sum)) {
        f = nextafterf(f, 0.0f);
    }
    return f;
}

/* ---- scale, bias ---- */

static float weight_scale_of(const work *k, int32_t o) {
    const ncnn_layer *l = k->l;
    const int32_t n = k->wrong == NCNN_FIRST_SCALE ? 1 : l->weight_scales;
    return k->b->weight_scale[n == 1 ? 0 : n == l->num_output ? o : o / (l->num_output / l->group)];
}

static float factor_of(const work *k, int32_t o) {
    const float bottom = k->l->bottom_scale;
    const float weight = weight_scale_of(k, o);
    if (weight == 0 && k->wrong != NCNN_ZERO_SCALE_IS_INF) {
        happened(k, NCNN_E_FACTOR_OF_ZERO, true);
        return 0.0f;
    }
    if (k->wrong == NCNN_FACTOR_DOUBLE) {
        return step(k, (float)(1.0 / ((double)bottom * (double)weight)));
    }
    const float both = step(k, bottom * weight);
    const float factor = step(k, 1.0f / both);
    happened(k, NCNN_E_FACTOR_INF, isinf(factor));
    happened(k, NCNN_E_FACTOR_ZERO, factor == 0);
    happened(k, NCNN_E_FACTOR_NAN, isnan(factor));
    happened(k, NCNN_E_FACTOR_SUBNORMAL, fpclassify(factor) == FP_SUBNORMAL);
    return factor;
}

static float scaled(const work *k, int32_t o, float sum) {
    const float weight = weight_scale_of(k, o);
    if (k->wrong == NCNN_FACTOR_DIVIDES && weight != 0) {
        const float both = step(k, k->l->bottom_scale * weight);
        return step(k, sum / both);
    }
    if (k->wrong == NCNN_FACTOR_IN_TWO_STEPS && weight != 0) {
        const float first = 1.0f / k->l->bottom_scale;
        const float second = 1.0f / weight;
        const float half_way = step(k, sum * first);
        return step(k, half_way * second);
    }
    return step(k, sum * factor_of(k, o));
}

static float with_bias(const work *k, int32_t o, int32_t sum) {
    const float f = sum_to_float(k, sum);
    if (k->l->bias_term == 0) {
        return scaled(k, o, f);
    }
    const float bias = k->b->bias[o];
    happened(k, NCNN_E_BIAS_NAN, isnan(bias));
    happened(k, NCNN_E_BIAS_INF, isinf(bias));
    if (k->wrong == NCNN_FUSED) {
        return step(k, fmaf(f, factor_of(k, o), bias));
    }
    if (k->wrong == NCNN_BIAS_IN_SUM) {
        const double units = rint((double)bias / (double)factor_of(k, o));
        const double total = (double)sum + units;
        return fabs(total) < 2147483647.0 ? scaled(k, o, (float)total) : step(k, scaled(k, o, f) + bias);
    }
    if (k->wrong == NCNN_DOUBLE) {
        return step(k, (float)((double)f * (double)factor_of(k, o) + (double)bias));
    }
    const float v = scaled(k, o, f);
    return step(k, v + bias);
}

/* ---- activation ---- */

/* What the fitted ones stand for, in double. */
static double true_function(int32_t type, double v) {
    if (type == NCNN_ACT_SIGMOID) {
        return 1.0 / (1.0 + exp(-fmax(fmin(v, 88.376), -88.376)));
    }
    return v * tanh(v > 40 ? v : log1p(exp(v)));
}

static float fitted(const work *k, int32_t type, float v) {
    const bool mish = type == NCNN_ACT_MISH;
    const bool negative = signbit(v) != 0;
    float y = negative ? 0.0f : mish ? v : 1.0f;
    if (isnan(v)) {
        return canonical_nan();
    }
    const bool inside = fabsf(v) < 8.0f;
    happened(k, NCNN_E_AT_BORDER, fabsf(v) <= 8.0f && 2.0f * v == truncf(2.0f * v));
    if (inside) {
        const int segment = (int)floor(fabs((double)v) * 2.0);
        const float *c = k->fit->c[mish][negative][segment];
        const float t1 = step(k, c[0] * v);
        const float t2 = step(k, t1 + c[1]);
        const float t3 = step(k, t2 * v);
        y = step(k, t3 + c[2]);
    }
    happened(k, NCNN_E_FIT_INSIDE, inside);
    happened(k, NCNN_E_FIT_LIMIT, !inside);
    const double bound = mish ? 1e-3 * fmax(1.0, fabs((double)v)) : 1e-3;
    happened(k, NCNN_E_FIT_FAR, !isinf(v) && !(fabs(true_function(type, (double)v) - (double)y) <= bound));
    return y;
}

static float clipped(const work *k, float v) {
    const float low = k->l->activation_params[0];
    const float high = k->l->activation_params[1];
    happened(k, NCNN_E_CLIP_CROSSED, !(low <= high));
    happened(k, NCNN_E_AT_BORDER, v == low || v == high);
    happened(k, NCNN_E_CLIP_LOW, v < low);
    happened(k, NCNN_E_CLIP_HIGH, v > high && !(v < low));
    if (v < low) {
        return low;
    }
    if (v > high) {
        return high;
    }
    return v;
}

static float hardswish(const work *k, float v) {
    const float alpha = k->l->activation_params[0];
    const float beta = k->l->activation_params[1];
    const float lower = -beta / alpha;
    const float inverse = 1.0f / alpha;
    const float upper = k->wrong == NCNN_UPPER_IN_ONE ? (1.0f - beta) / alpha : inverse + lower;
    happened(k, NCNN_E_AT_BORDER, v == lower || v == upper);
    happened(k, NCNN_E_HARDSWISH_OFF, v < lower);
    if (v < lower) {
        return 0.0f;
    }
    happened(k, NCNN_E_HARDSWISH_ON, v > upper);
    if (v > upper) {
        return v;
    }
    happened(k, NCNN_E_HARDSWISH_LINE, true);
    const float sloped = step(k, v * alpha);
    const float line = step(k, sloped + beta);
    return step(k, v * line);
}

static float activated(const work *k, float v) {
    const int32_t type = k->l->activation_type;
    switch (type) {
    case NCNN_ACT_RELU:
        return v > 0 || (k->wrong == NCNN_RELU_KEEPS_ZERO && v == 0) ? v : 0.0f;
    case NCNN_ACT_LEAKY:
        happened(k, NCNN_E_LEAKY_SLOPE, !(v > 0));
        return v > 0 ? v : step(k, v * k->l->activation_params[0]);
    case NCNN_ACT_CLIP:
        return clipped(k, v);
    case NCNN_ACT_SIGMOID:
    case NCNN_ACT_MISH:
        return fitted(k, type, v);
    case NCNN_ACT_HARDSWISH:
        return hardswish(k, v);
    default:
        return v;
    }
}

/* ---- one output ---- */

static float result_of(const work *k, int32_t o, int32_t sum) {
    if (k->wrong == NCNN_ACT_BEFORE_BIAS && k->l->bias_term != 0) {
        return step(k, activated(k, scaled(k, o, (float)sum)) + k->b->bias[o]);
    }
    const float v = with_bias(k, o, sum);
    happened(k, NCNN_E_V_SUBNORMAL, fpclassify(v) == FP_SUBNORMAL);
    happened(k, NCNN_E_V_NEGATIVE_ZERO, v == 0 && signbit(v));
    return activated(k, v);
}

static int8_t requantised(const work *k, int32_t o, int32_t sum, float y) {
    const float top = k->l->top_scale;
    float v = step(k, y * top);
    if (k->wrong == NCNN_TOP_IN_FACTOR && k->l->activation_type == NCNN_ACT_NONE) {
        const float factor = factor_of(k, o) * top;
        const float bias = k->l->bias_term != 0 ? k->b->bias[o] * top : 0.0f;
        v = (float)sum * factor;
        v = step(k, v + bias);
    }
    happened(k, NCNN_E_OUT_HALF, is_half(v));
    happened(k, NCNN_E_OUT_BELOW_HALF, is_below_half(v));
    happened(k, NCNN_E_OUT_SATURATED, fabsf(v) >= 127.5f && fabsf(v) < TWO_31);
    happened(k, NCNN_E_OUT_HUGE, fabsf(v) >= TWO_31 && !isinf(v));
    happened(k, NCNN_E_OUT_INT8_NAN, isnan(v));
    happened(k, NCNN_E_OUT_INT8_INF, isinf(v));
    return float2int8(k, v, false);
}

static void put(const work *k, void *out, size_t at, int32_t o, int32_t sum, float y) {
    if (k->l->out_int8 != 0) {
        ((int8_t *)out)[at] = requantised(k, o, sum, y);
        return;
    }
    happened(k, NCNN_E_OUT_NEGATIVE_ZERO, y == 0 && signbit(y));
    happened(k, NCNN_E_OUT_NAN, isnan(y));
    happened(k, NCNN_E_OUT_INF, isinf(y));
    memcpy((char *)out + at * sizeof y, &y, sizeof y);
}

static void convert(const work *k, void *out) {
    const size_t count = (size_t)k->l->c * (size_t)k->l->h * (size_t)k->l->w;
    for (size_t i = 0; i < count; i++) {
        if (k->l->kind == NCNN_QUANTIZE) {
            ((int8_t *)out)[i] = quantise(k, ((const float *)k->b->in)[i]);
        } else {
            const float q = (float)((const int8_t *)k->b->in)[i];
            put(k, out, i, 0, 0, step(k, q * k->l->bottom_scale));
        }
    }
}

bool ncnn_ref_shape(const ncnn_layer *l, int32_t *out_w, int32_t *out_h) {
    const int32_t extent_w = l->dilation_w * (l->kernel_w - 1) + 1;
    const int32_t extent_h = l->dilation_h * (l->kernel_h - 1) + 1;
    const int32_t w = l->w + l->pad_left + l->pad_right - extent_w;
    const int32_t h = l->h + l->pad_top + l->pad_bottom - extent_h;
    if (w < 0 || h < 0) {
        return false;
    }
    *out_w = w / l->stride_w + 1;
    *out_h = h / l->stride_h + 1;
    return true;
}

int ncnn_ref_run(const ncnn_layer *l, const ncnn_blobs *b, const ncnn_fit *fit, ncnn_variant variant, uint64_t *seen,
                 void *out) {
    work k = {.l = l, .b = b, .fit = fit, .wrong = variant, .seen = seen};
    if (l->kind == NCNN_QUANTIZE || l->kind == NCNN_DEQUANTIZE) {
        convert(&k, out);
        return 0;
    }
    /* InnerProduct: each input is a channel of one pixel */
    ncnn_layer flat = *l;
    if (l->kind == NCNN_INNER_PRODUCT) {
        flat.c = l->w;
        flat.w = 1;
        k.l = &flat;
    }
    if (!ncnn_ref_shape(k.l, &k.out_w, &k.out_h) || prepare(&k) != 0) {
        return -1;
    }
    size_t at = 0;
    for (int32_t o = 0; o < l->num_output; o++) {
        for (int32_t y = 0; y < k.out_h; y++) {
            for (int32_t x = 0; x < k.out_w; x++) {
                const int32_t sum = sum_of(&k, o, y, x);
                put(&k, out, at++, o, sum, result_of(&k, o, sum));
            }
        }
    }
    free(k.padded);
    return 0;
}
