/* conv_block.c - convolutions in FP32 as matrix products: GEMM_COLUMNS outputs of a map at a time, all filters of a
 * group over the same inputs. */
#include "conv_block.h"

#include <string.h>

#include "gemm_f32.h"

bool conv_block_takes(const net_conv *c, const net_shape *out) {
    return c->num_output / c->groups >= GEMM_ROWS / 2 && (uint64_t)out->w * out->h >= GEMM_COLUMNS / 2;
}

size_t conv_block_bytes(const net_layer *layer, const net_shape *in) {
    const net_conv *c = &layer->conv;
    return (size_t)in->c / c->groups * c->kernel_w * c->kernel_h * GEMM_COLUMNS * sizeof(float);
}

/* The inputs of outputs first.. of a map for one tap of one input channel; zeros in the padding and behind the last
 * output. */
static void pack_tap(const net_conv *c, const net_shape *is, const net_shape *os, const float *map, uint32_t ky,
                     uint32_t kx, uint32_t first, float *to) {
    uint32_t oy = first / os->w;
    uint32_t ox = first % os->w;
    int64_t dx = (int64_t)kx * c->dilation_w - c->pad_l;
    for (uint32_t p = 0; p < GEMM_COLUMNS;) {
        uint32_t run = os->w - ox < GEMM_COLUMNS - p ? os->w - ox : GEMM_COLUMNS - p;
        int64_t y = (int64_t)oy * c->stride_h + (int64_t)ky * c->dilation_h - c->pad_t;
        const float *row = map + y * is->w;
        int64_t x = (int64_t)ox * c->stride_w + dx;
        if (oy >= os->h || y < 0 || y >= is->h) {
            memset(to + p, 0, run * sizeof *to);
        } else if (c->stride_w == 1 && x >= 0 && x + run <= is->w) {
            memcpy(to + p, row + x, run * sizeof *to);
        } else {
            for (uint32_t i = 0; i < run; i++, x += c->stride_w) {
                to[p + i] = x < 0 || x >= is->w ? 0.0f : row[x];
            }
        }
        p += run;
        ox = 0;
        oy++;
    }
}

/* Inputs of a block of outputs, in the order of the weights: input channel, kernel row, kernel column. */
static void pack(const net_conv *c, const net_shape *is, const net_shape *os, const float *in, uint32_t first,
                 float *to) {
    for (uint32_t ic = 0; ic < is->c / c->groups; ic++) {
        const float *map = in + (size_t)ic * is->w * is->h;
        for (uint32_t ky = 0; ky < c->kernel_h; ky++) {
            for (uint32_t kx = 0; kx < c->kernel_w; kx++, to += GEMM_COLUMNS) {
                pack_tap(c, is, os, map, ky, kx, first, to);
            }
        }
    }
}

void conv_block_run(const net_work *work, const net_shape *is, const net_shape *os) {
    const net_conv *c = &work->layer->conv;
    const net_tensor *bias = net_layer_tensor(work->layer, NET_ROLE_BIAS);
    const float *weight = net_layer_tensor(work->layer, NET_ROLE_WEIGHT)->f32;
    uint32_t plane = os->w * os->h;
    uint32_t filters = os->c / c->groups;
    uint32_t depth = is->c / c->groups * c->kernel_h * c->kernel_w;
    float *inputs = work->scratch;
    float block[GEMM_ROWS * GEMM_COLUMNS] = {0};
    for (uint32_t g = 0; g < c->groups; g++) {
        const float *in = work->in[0] + (size_t)g * (is->c / c->groups) * is->w * is->h;
        for (uint32_t first = 0; first < plane; first += GEMM_COLUMNS) {
            uint32_t count = plane - first < GEMM_COLUMNS ? plane - first : GEMM_COLUMNS;
            pack(c, is, os, in, first, inputs);
            for (uint32_t k = 0; k < filters; k += GEMM_ROWS) {
                uint32_t oc = g * filters + k;
                uint32_t rows = filters - k < GEMM_ROWS ? filters - k : GEMM_ROWS;
                for (uint32_t r = 0; r < rows; r++) {
                    for (uint32_t p = 0; p < GEMM_COLUMNS; p++) {
                        block[r * GEMM_COLUMNS + p] = bias == NULL ? 0.0f : bias->f32[oc + r];
                    }
                }
                gemm_f32_block(weight + (size_t)oc * depth, depth, rows, inputs, GEMM_COLUMNS, depth, block);
                for (uint32_t r = 0; r < rows; r++) {
                    memcpy(work->out[0] + (size_t)(oc + r) * plane + first, block + (size_t)r * GEMM_COLUMNS,
                           count * sizeof *block);
                }
            }
        }
    }
    net_act_apply(&work->layer->act, work->out[0], work->out[0], (size_t)os->c * plane);
}
