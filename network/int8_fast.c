/*
 * int8_fast.c - the sums of an INT8 layer in loops that a compiler vectorises: products of 16 bit numbers along a row
 * of memory, which every common instruction set adds in pairs.
 *
 * The input of a group is widened to 16 bits once, padded, with the channels innermost; the window of an output is then
 * copied into one row (kernel row, kernel column, channel). The order of the additions differs from int8_scalar.c;
 * without overflow a sum does not depend on it.
 */
#include <stdlib.h>
#include <string.h>

#include "int8_sums.h"

#define LANES 16u            /* rows are filled up with zeros to a multiple of this */
#define MAX_PRODUCTS 131072u /* 127 * 128 * 131072 < 2^31 */

static uint32_t group_channels(const int8_layer *l) {
    return l->in.c / l->conv->groups;
}

bool int8_fast_takes(const int8_layer *l) {
    return (uint64_t)group_channels(l) * l->conv->kernel_h * l->conv->kernel_w <= MAX_PRODUCTS;
}

size_t int8_fast_map(const int8_layer *l) {
    const net_conv *c = l->conv;
    return (size_t)(l->in.h + c->pad_t + c->pad_b) * (l->in.w + c->pad_l + c->pad_r) * group_channels(l);
}

size_t int8_fast_patch(const int8_layer *l) {
    return (size_t)l->depth * INT8_TILE;
}

bool int8_fast_prepare(int8_layer *l) {
    const net_conv *c = l->conv;
    uint32_t channels = group_channels(l);
    uint32_t taps = c->kernel_h * c->kernel_w;
    l->depth = (taps * channels + LANES - 1) / LANES * LANES;
    l->wide = calloc((size_t)l->out.c * l->depth, sizeof *l->wide);
    for (uint32_t oc = 0; l->wide != NULL && oc < l->out.c; oc++) {
        for (uint32_t k = 0; k < taps; k++) {
            for (uint32_t ic = 0; ic < channels; ic++) {
                l->wide[(size_t)oc * l->depth + (size_t)k * channels + ic] =
                    l->weight[((size_t)oc * channels + ic) * taps + k];
            }
        }
    }
    return l->wide != NULL;
}

/* One group's input: 16 bits, padding around it, channels innermost. */
static void spread(const int8_layer *l, const int8_t *in, int16_t *map) {
    const net_conv *c = l->conv;
    uint32_t channels = group_channels(l);
    size_t width = (size_t)l->in.w + c->pad_l + c->pad_r;
    if (c->pad_l + c->pad_r + c->pad_t + c->pad_b > 0) {
        memset(map, 0, int8_fast_map(l) * sizeof *map);
    }
    for (uint32_t y = 0; y < l->in.h; y++) {
        int16_t *row = map + ((y + c->pad_t) * width + c->pad_l) * channels;
        for (uint32_t ic = 0; ic < channels; ic++) {
            const int8_t *from = in + ((size_t)ic * l->in.h + y) * l->in.w;
            for (uint32_t x = 0; x < l->in.w; x++) {
                row[(size_t)x * channels + ic] = from[x];
            }
        }
    }
}

/* The window of output `at` (row by row) as a row of `depth` numbers; those after the last product are zero already. */
static void gather(const int8_layer *l, const int16_t *map, uint32_t at, int16_t *patch) {
    const net_conv *c = l->conv;
    uint32_t channels = group_channels(l);
    size_t width = (size_t)l->in.w + c->pad_l + c->pad_r;
    uint32_t y = at / l->out.w * c->stride_h;
    uint32_t x = at % l->out.w * c->stride_w;
    for (uint32_t ky = 0; ky < c->kernel_h; ky++) {
        const int16_t *row = map + ((size_t)(y + ky * c->dilation_h) * width + x) * channels;
        if (c->dilation_w == 1) {
            memcpy(patch, row, (size_t)c->kernel_w * channels * sizeof *patch);
            patch += (size_t)c->kernel_w * channels;
            continue;
        }
        for (uint32_t kx = 0; kx < c->kernel_w; kx++, patch += channels) {
            memcpy(patch, row + (size_t)kx * c->dilation_w * channels, channels * sizeof *patch);
        }
    }
}

/* Four filters over one row. */
static void dot4(const int16_t *restrict a, const int16_t *restrict w, uint32_t depth, int32_t sum[4]) {
    uint32_t n = depth / LANES * LANES;
    const int16_t *restrict w1 = w + depth;
    const int16_t *restrict w2 = w1 + depth;
    const int16_t *restrict w3 = w2 + depth;
    int32_t s0 = 0;
    int32_t s1 = 0;
    int32_t s2 = 0;
    int32_t s3 = 0;
    for (uint32_t k = 0; k < n; k++) {
        s0 += a[k] * w[k];
        s1 += a[k] * w1[k];
        s2 += a[k] * w2[k];
        s3 += a[k] * w3[k];
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

static int32_t dot1(const int16_t *restrict a, const int16_t *restrict w, uint32_t depth) {
    uint32_t n = depth / LANES * LANES;
    int32_t sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        sum += a[k] * w[k];
    }
    return sum;
}

/* `count` outputs from `first` on, of all filters of a group. */
static void tile(const int8_layer *l, const int16_t *patch, const int16_t *wide, uint32_t first, uint32_t count,
                 int32_t *out) {
    size_t plane = (size_t)l->out.w * l->out.h;
    uint32_t filters = l->out.c / l->conv->groups;
    for (uint32_t oc = 0; oc < filters; oc += oc + 4 <= filters ? 4 : 1) {
        for (uint32_t p = 0; p < count; p++) {
            const int16_t *row = patch + (size_t)p * l->depth;
            int32_t *to = out + oc * plane + first + p;
            if (oc + 4 > filters) {
                *to = dot1(row, wide + (size_t)oc * l->depth, l->depth);
                continue;
            }
            int32_t sum[4];
            dot4(row, wide + (size_t)oc * l->depth, l->depth, sum);
            for (uint32_t i = 0; i < 4; i++) {
                to[i * plane] = sum[i];
            }
        }
    }
}

void int8_sums_fast(const int8_layer *l, const int8_t *in, const int8_scratch *s) {
    const net_conv *c = l->conv;
    uint32_t plane = l->out.w * l->out.h;
    uint32_t filters = l->out.c / c->groups;
    size_t group_in = (size_t)group_channels(l) * l->in.h * l->in.w;
    memset(s->patch, 0, int8_fast_patch(l) * sizeof *s->patch);
    for (uint32_t g = 0; g < c->groups; g++) {
        spread(l, in + g * group_in, s->map);
        for (uint32_t first = 0; first < plane; first += INT8_TILE) {
            uint32_t count = plane - first < INT8_TILE ? plane - first : INT8_TILE;
            for (uint32_t p = 0; p < count; p++) {
                gather(l, s->map, first + p, s->patch + (size_t)p * l->depth);
            }
            tile(l, s->patch, l->wide + (size_t)g * filters * l->depth, first, count,
                 s->sum + (size_t)g * filters * plane);
        }
    }
}

#define BLOCK 64u

/* net_quantize_value() of a block. One step after the other, as each is a loop that a compiler vectorises. */
static void quantize_block(const float *in, float scale, int8_t *out) {
    float v[BLOCK];
    int32_t number[BLOCK]; /* -1; 0: NaN */
    for (uint32_t i = 0; i < BLOCK; i++) {
        v[i] = in[i] * scale;
    }
    for (uint32_t i = 0; i < BLOCK; i++) {
        number[i] = -(v[i] == v[i]);
    }
    for (uint32_t i = 0; i < BLOCK; i++) {
        v[i] = v[i] < 127.0f ? v[i] : 127.0f;
    }
    for (uint32_t i = 0; i < BLOCK; i++) {
        v[i] = v[i] > -127.0f ? v[i] : -127.0f;
    }
    for (uint32_t i = 0; i < BLOCK; i++) {
        int32_t whole = (int32_t)v[i];
        float rest = v[i] - (float)whole;
        out[i] = (int8_t)(number[i] & (whole + (rest >= 0.5f) - (rest <= -0.5f)));
    }
}

void int8_quantize_fast(const float *in, float scale, int8_t *out, size_t count) {
    float rest[BLOCK] = {0};
    int8_t result[BLOCK];
    for (; count >= BLOCK; count -= BLOCK, in += BLOCK, out += BLOCK) {
        quantize_block(in, scale, out);
    }
    if (count > 0) {
        memcpy(rest, in, count * sizeof *in);
        quantize_block(rest, scale, result);
        memcpy(out, result, count);
    }
}
