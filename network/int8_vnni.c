/*
 * int8_vnni.c - the sums of an INT8 layer on machines that add four products of bytes in one step (AVX-512 VNNI).
 *
 * That step multiplies unsigned by signed bytes, so inputs are stored as q + 128, and a sum starts with -128 times the
 * sum of its filter: exact, as int32 holds every intermediate value (int8_vnni_takes()). A vector has sixteen outputs
 * of a map next to each other; the input is kept with its channels innermost, in groups of four.
 */
#include <stdlib.h>
#include <string.h>

#include "int8_sums.h"

#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#include <immintrin.h>

#define VECTOR 16u
#define COLUMNS (2u * VECTOR) /* outputs of a block */
#define ROWS 8u               /* filters of a block */
#define MOST 65536u           /* 255 * 128 * 65536 < 2^31 */
#define OFFSET 128

static uint32_t group_channels(const int8_layer *l) {
    return l->in.c / l->conv->groups;
}

/* Groups of four channels. */
static uint32_t quads(const int8_layer *l) {
    return (group_channels(l) + 3) / 4;
}

static size_t map_width(const int8_layer *l) {
    return (size_t)l->in.w + l->conv->pad_l + l->conv->pad_r;
}

bool int8_vnni_takes(const int8_layer *l) {
    const net_conv *c = l->conv;
    return (uint64_t)quads(l) * 4 * c->kernel_h * c->kernel_w <= MOST && l->out.c / c->groups >= 2;
}

size_t int8_vnni_map(const int8_layer *l) {
    return (size_t)(l->in.h + l->conv->pad_t + l->conv->pad_b) * map_width(l) * quads(l) * 4;
}

size_t int8_vnni_patch(const int8_layer *l) {
    return (size_t)l->depth * COLUMNS;
}

bool int8_vnni_prepare(int8_layer *l) {
    uint32_t channels = group_channels(l);
    uint32_t taps = l->conv->kernel_h * l->conv->kernel_w;
    l->depth = taps * quads(l) * 4;
    l->packed = calloc(l->out.c, l->depth);
    l->base = calloc(l->out.c, sizeof *l->base);
    for (uint32_t oc = 0; l->packed != NULL && l->base != NULL && oc < l->out.c; oc++) {
        const int8_t *from = l->weight + (size_t)oc * channels * taps;
        int8_t *to = l->packed + (size_t)oc * l->depth;
        for (uint32_t ic = 0; ic < channels; ic++) {
            for (uint32_t k = 0; k < taps; k++) {
                to[(size_t)k * quads(l) * 4 + ic] = from[(size_t)ic * taps + k];
                l->base[oc] -= OFFSET * from[(size_t)ic * taps + k];
            }
        }
    }
    return l->packed != NULL && l->base != NULL;
}

/* One group's input: q + 128, padding around it, channels innermost. */
static void spread(const int8_layer *l, const int8_t *in, uint8_t *map) {
    uint32_t channels = group_channels(l);
    size_t plane = (size_t)l->in.h * l->in.w;
    size_t step = (size_t)quads(l) * 4;
    memset(map, OFFSET, int8_vnni_map(l));
    for (uint32_t y = 0; y < l->in.h; y++) {
        uint8_t *row = map + ((y + l->conv->pad_t) * map_width(l) + l->conv->pad_l) * step;
        for (uint32_t ic = 0; ic < channels; ic += 4) {
            const int8_t *from = in + ic * plane + (size_t)y * l->in.w;
            uint32_t count = channels - ic < 4 ? channels - ic : 4;
            for (uint32_t x = 0; x < l->in.w; x++) {
                uint8_t *to = row + x * step + ic;
                for (uint32_t k = 0; k < count; k++) {
                    to[k] = (uint8_t)(from[k * plane + x] + OFFSET);
                }
            }
        }
    }
}

/* The windows of `count` outputs from `first` on: for each tap and four channels the bytes of all outputs side by side.
 */
static void gather(const int8_layer *l, const uint8_t *map, uint32_t first, uint32_t count, uint8_t *patch) {
    const net_conv *c = l->conv;
    size_t step = (size_t)quads(l) * 4;
    for (uint32_t p = 0; p < count; p++) {
        uint32_t y = (first + p) / l->out.w * c->stride_h;
        uint32_t x = (first + p) % l->out.w * c->stride_w;
        uint8_t *to = patch + (size_t)p * 4;
        for (uint32_t ky = 0; ky < c->kernel_h; ky++) {
            for (uint32_t kx = 0; kx < c->kernel_w; kx++) {
                const uint8_t *from =
                    map + ((y + ky * (size_t)c->dilation_h) * map_width(l) + x + kx * (size_t)c->dilation_w) * step;
                for (size_t k = 0; k < step; k += 4, to += COLUMNS * 4) {
                    memcpy(to, from + k, 4);
                }
            }
        }
    }
}

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ROW_START(i)                                                                                                   \
    const int8_t *w##i = w + (i < rows ? i : rows - 1) * (size_t)depth;                                                \
    __m512i l##i = _mm512_set1_epi32(base[i < rows ? i : rows - 1]);                                                   \
    __m512i r##i = l##i;
#define ROW_ADD(i)                                                                                                     \
    memcpy(&four, w##i + k, 4);                                                                                        \
    taps = _mm512_set1_epi32(four);                                                                                    \
    l##i = _mm512_dpbusd_epi32(l##i, left, taps);                                                                      \
    r##i = _mm512_dpbusd_epi32(r##i, right, taps);
#define ROW_STORE(i)                                                                                                   \
    if (i < rows) {                                                                                                    \
        _mm512_mask_storeu_epi32(out + i * plane, left_mask, l##i);                                                    \
        _mm512_mask_storeu_epi32(out + i * plane + VECTOR, right_mask, r##i);                                          \
    }

/* The first `count` columns of a block of 1..ROWS filters. */
static void block(const int8_t *w, const int32_t *base, uint32_t rows, const uint8_t *patch, uint32_t depth,
                  uint32_t count, int32_t *out, size_t plane) {
    const __mmask16 left_mask = count >= VECTOR ? 0xffff : (__mmask16)((1u << count) - 1);
    const __mmask16 right_mask = count <= VECTOR ? 0 : (__mmask16)((1u << (count - VECTOR)) - 1);
    EACH(ROW_START)
    for (uint32_t k = 0; k < depth; k += 4, patch += COLUMNS * 4) {
        const __m512i left = _mm512_loadu_si512(patch);
        const __m512i right = _mm512_loadu_si512(patch + VECTOR * 4);
        __m512i taps;
        int32_t four;
        EACH(ROW_ADD)
    }
    EACH(ROW_STORE)
}

void int8_sums_vnni(const int8_layer *l, const int8_t *in, const int8_scratch *s) {
    size_t plane = (size_t)l->out.w * l->out.h;
    uint32_t filters = l->out.c / l->conv->groups;
    size_t group_in = (size_t)group_channels(l) * l->in.h * l->in.w;
    uint8_t *map = (uint8_t *)s->map;
    uint8_t *patch = (uint8_t *)s->patch;
    memset(patch, 0, int8_vnni_patch(l));
    for (uint32_t g = 0; g < l->conv->groups; g++) {
        spread(l, in + g * group_in, map);
        for (uint32_t first = 0; first < plane; first += COLUMNS) {
            uint32_t count = plane - first < COLUMNS ? (uint32_t)(plane - first) : COLUMNS;
            gather(l, map, first, count, patch);
            for (uint32_t k = 0; k < filters; k += ROWS) {
                uint32_t oc = g * filters + k;
                block(l->packed + (size_t)oc * l->depth, l->base + oc, filters - k < ROWS ? filters - k : ROWS, patch,
                      l->depth, count, s->sum + oc * plane + first, plane);
            }
        }
    }
}

#else

bool int8_vnni_takes(const int8_layer *l) {
    (void)l;
    return false;
}

size_t int8_vnni_map(const int8_layer *l) {
    (void)l;
    return 0;
}

size_t int8_vnni_patch(const int8_layer *l) {
    (void)l;
    return 0;
}

bool int8_vnni_prepare(int8_layer *l) {
    (void)l;
    return false;
}

void int8_sums_vnni(const int8_layer *l, const int8_t *in, const int8_scratch *s) {
    (void)l;
    (void)in;
    (void)s;
}

#endif
