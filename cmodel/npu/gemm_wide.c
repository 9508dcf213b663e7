/*
 * gemm_wide.c - the steps of an INT16 GEMM task that differ from those of INT8: docs/npu/npu.md sections 2 and 3.2.
 */
#include "gemm.h"
#include "regs.h"

#include <string.h>

static void load_fp32(const cm_gemm_state *g, uint32_t p0, uint32_t count, int8_t *dst) {
    const cm_gemm_task *t = g->t;
    const uint32_t n = g->n, icbs = cm_gemm_blocks(t->ic, n);
    int8_t words[2 * CM_LAYOUT_PIXELS * CM_MAX_N];
    for (uint32_t icb = 0; icb < icbs; icb++) {
        const uint32_t channels = cm_min_u32(n, t->ic - icb * n);
        for (uint32_t p = 0; p < count; p += CM_LAYOUT_PIXELS) {
            const uint32_t part = cm_min_u32(CM_LAYOUT_PIXELS, count - p);
            for (uint32_t c = 0; c < channels; c++) {
                const uint32_t addr = t->ifm_addr + (icb * n + c) * t->ifm_cstep + 4 * (p0 + p);
                cm_exec_read(g->mem, g->faults, addr, &g->buf->pixels[c * part], 4 * part);
            }
            cm_layout_wide(n, channels, part, t->in_scale, g->buf->pixels, words);
            for (uint32_t i = 0; i < part; i++) {
                memcpy(&dst[((size_t)(p + i) * icbs + icb) * 2 * n], &words[2 * i * n], 2 * n);
            }
        }
    }
}

/* INT16 NHWC: the words as they are; channels that do not exist are zero. */
static void load_int16(const cm_gemm_state *g, uint32_t p0, uint32_t count, int8_t *dst) {
    const cm_gemm_task *t = g->t;
    const uint32_t n = g->n, icbs = cm_gemm_blocks(t->ic, n), last = t->ic - (icbs - 1) * n;
    for (uint32_t p = 0; p < count; p++) {
        int8_t *pixel = &dst[(size_t)p * icbs * 2 * n];
        cm_exec_read(g->mem, g->faults, t->ifm_addr + (p0 + p) * t->ifm_cstep, pixel, icbs * 2 * n);
        for (uint32_t word = 2 * icbs - 2; word < 2 * icbs; word++) {
            memset(&pixel[word * n + last], 0, n - last);
        }
    }
}

void cm_gemm_load_wide(const cm_gemm_state *g, uint32_t p0, uint32_t count, int8_t *dst) {
    if (g->t->nhwc_in) {
        load_int16(g, p0, count, dst);
    } else {
        load_fp32(g, p0, count, dst);
    }
}

/* All blocks of a tile at one kernel position. */
static void compute_position(const cm_gemm_state *g, const cm_gemm_task *view, uint32_t ocb, uint32_t tile, uint32_t ky,
                             uint32_t kx, const int8_t *wgt) {
    cm_gemm_buffers *buf = g->buf;
    const uint32_t n = g->n, position = ky * view->kw + kx;
    const bool conv = view->op == NPU_GEMM_CTRL_OP_CONV;
    const uint32_t icbs = conv ? cm_gemm_blocks(view->ic, n) : 1;
    for (uint32_t i = 0; i < icbs; i++) {
        const uint32_t icb = conv ? i : ocb, block = position * icbs + i;
        cm_im2col_block(view, n, buf->ifm, tile, ky, kx, 2 * icb, buf->act);
        cm_im2col_block(view, n, buf->ifm, tile, ky, kx, 2 * icb + 1, buf->act_high);
        if (conv) {
            cm_mesh_block_wide(n, buf->act, buf->act_high, &wgt[(size_t)block * 2 * n * n], buf->product_wide);
        } else {
            cm_mesh_diagonal_wide(n, buf->act, buf->act_high,
                                  view->op == NPU_GEMM_CTRL_OP_CONVERT ? NULL : &wgt[(size_t)block * 2 * n],
                                  buf->product_wide);
        }
        cm_acc_wide(block == 0, (size_t)2 * n * n, buf->product_wide, buf->acc_wide);
    }
}

void cm_gemm_tile_wide(const cm_gemm_state *g, const cm_gemm_task *view, uint32_t ocb, uint32_t tile, uint32_t at,
                       const int8_t *wgt) {
    cm_gemm_buffers *buf = g->buf;
    const uint32_t n = g->n;
    for (uint32_t ky = 0; ky < view->kh; ky++) {
        for (uint32_t kx = 0; kx < view->kw; kx++) {
            compute_position(g, view, ocb, tile, ky, kx, wgt);
        }
    }
    for (uint32_t c = 0; c < n; c++) {
        for (uint32_t j = 0; j < 2 * n; j++) {
            buf->ofm_wide[c * (CM_GROUP_PIXELS / 2) + at + j] = buf->acc_wide[j * n + c];
        }
    }
}

/* `count` results of output channel oc from pixel p0 on into buf->result_wide. */
static void post_channel(const cm_gemm_state *g, uint32_t oc, uint32_t p0, uint32_t count) {
    const cm_gemm_task *t = g->t;
    cm_gemm_buffers *buf = g->buf;
    const int64_t *sums = &buf->ofm_wide[oc % g->n * (CM_GROUP_PIXELS / 2)];
    const uint32_t oscale = t->oscale_en ? buf->oscale[oc] : 0, bias = t->bias_en ? buf->bias[oc] : 0;
    if (t->psum_add) {
        cm_exec_read(g->mem, g->faults, t->psum_addr + oc * t->psum_cstep + 8 * p0, buf->psum_wide, 8 * count);
    }
    for (uint32_t i = 0; i < count; i++) {
        buf->result_wide[i] = cm_post_wide(t, sums[i], t->psum_add ? buf->psum_wide[i] : 0, oscale, bias);
        buf->result[i] = (uint32_t)buf->result_wide[i];
    }
}

void cm_gemm_write_wide(const cm_gemm_state *g, uint32_t ocb, uint32_t p0, uint32_t count) {
    const cm_gemm_task *t = g->t;
    cm_gemm_buffers *buf = g->buf;
    const uint32_t n = g->n, channels = cm_min_u32(n, t->oc - ocb * n);
    memset(buf->words, 0, (size_t)count * 2 * n);
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t oc = ocb * n + c;
        post_channel(g, oc, p0, count);
        if (t->requant) {
            for (uint32_t i = 0; i < count; i++) {
                const int16_t q = cm_requant_wide(t, buf->result[i]);
                buf->words[2 * i * n + c] = (int8_t)(q & 0xFF);
                buf->words[(2 * i + 1) * n + c] = (int8_t)(q >> 8);
            }
        } else if (t->raw_out) {
            cm_exec_write(g->mem, g->faults, oc % 2, t->ofm_addr + oc * t->ofm_cstep + 8 * p0, buf->result_wide,
                          8 * count);
        } else {
            cm_exec_write(g->mem, g->faults, oc % 2, t->ofm_addr + oc * t->ofm_cstep + 4 * p0, buf->result, 4 * count);
        }
    }
    for (uint32_t i = 0; t->requant && i < count; i++) {
        cm_exec_write(g->mem, g->faults, 0, t->ofm_addr + (p0 + i) * t->ofm_cstep + ocb * 2 * n, &buf->words[2 * i * n],
                      2 * n);
    }
}
