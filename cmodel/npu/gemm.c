/*
 * gemm.c - execution of one GEMM task, tile by tile with the unit models: docs/npu/npu.md sections 3.2 and 4.
 */
#include "gemm.h"
#include "regs.h"

#include <string.h>

/* FP32 NCHW: `count` pixels from pixel p0 on, quantised and re-ordered into words of N channels, dst[pixel][icb]. */
static void load_fp32(const cm_gemm_state *g, uint32_t p0, uint32_t count, int8_t *dst) {
    const cm_gemm_task *t = g->t;
    uint32_t n = g->n;
    uint32_t icbs = cm_gemm_blocks(t->ic, n);
    int8_t words[CM_LAYOUT_PIXELS * CM_MAX_N];
    for (uint32_t icb = 0; icb < icbs; icb++) {
        uint32_t channels = cm_min_u32(n, t->ic - icb * n);
        for (uint32_t p = 0; p < count; p += CM_LAYOUT_PIXELS) {
            uint32_t part = cm_min_u32(CM_LAYOUT_PIXELS, count - p);
            for (uint32_t c = 0; c < channels; c++) {
                uint32_t addr = t->ifm_addr + (icb * n + c) * t->ifm_cstep + 4 * (p0 + p);
                cm_exec_read(g->mem, g->faults, addr, &g->buf->pixels[c * part], 4 * part);
            }
            cm_layout(n, channels, part, t->in_scale, cm_quant_in(t), g->buf->pixels, words);
            for (uint32_t i = 0; i < part; i++) {
                memcpy(&dst[((size_t)(p + i) * icbs + icb) * n], &words[i * n], n);
            }
        }
    }
}

/* INT8 NHWC: the same words as they are; channels that do not exist are zero. */
static void load_int8(const cm_gemm_state *g, uint32_t p0, uint32_t count, int8_t *dst) {
    const cm_gemm_task *t = g->t;
    size_t bytes = (size_t)cm_gemm_blocks(t->ic, g->n) * g->n;
    memset(dst, 0, count * bytes);
    for (uint32_t p = 0; p < count; p++) {
        cm_exec_read(g->mem, g->faults, t->ifm_addr + (p0 + p) * t->ifm_cstep, &dst[p * bytes], t->ic);
    }
}

/* Make rows row0..row1-1 those in buf->ifm. The first row only moves down; rows already loaded are kept. */
static void load_rows(cm_gemm_state *g, uint32_t row0, uint32_t row1) {
    const cm_gemm_task *t = g->t;
    size_t row_bytes = ((size_t)t->iw * cm_gemm_blocks(t->ic, g->n) * g->n) << t->wide;
    uint32_t have = g->row1 > row0 ? g->row1 - row0 : 0;
    if (have > 0) {
        memmove(g->buf->ifm, &g->buf->ifm[(row0 - g->row0) * row_bytes], have * row_bytes);
    }
    if (row1 > row0 + have) {
        uint32_t count = (row1 - row0 - have) * t->iw;
        int8_t *dst = &g->buf->ifm[have * row_bytes];
        if (t->wide) {
            cm_gemm_load_wide(g, (row0 + have) * t->iw, count, dst);
        } else if (t->nhwc_in) {
            load_int8(g, (row0 + have) * t->iw, count, dst);
        } else {
            load_fp32(g, (row0 + have) * t->iw, count, dst);
        }
    }
    g->row0 = row0;
    g->row1 = row0 + have > row1 ? row0 + have : row1;
}

/* The input rows of output pixels p0..p1-1, as far as they are inside the map. */
static void load_rows_of(cm_gemm_state *g, uint32_t p0, uint32_t p1) {
    const cm_gemm_task *t = g->t;
    uint32_t begin = p0 / t->ow * t->sh; /* counted from the top of the padding, so that it stays positive */
    uint32_t end = (p1 - 1) / t->ow * t->sh + (t->kh - 1) * t->dh + 1;
    begin = cm_min_u32(begin > t->pad_t ? begin - t->pad_t : 0, t->ih);
    end = cm_min_u32(end > t->pad_t ? end - t->pad_t : 0, t->ih);
    if (end > begin) {
        load_rows(g, begin, end);
    }
}

static void load_factors(const cm_gemm_state *g) {
    const cm_gemm_task *t = g->t;
    uint32_t bytes = 4 * ((t->oc + 3) / 4 * 4);
    if (t->oscale_en) {
        cm_exec_read(g->mem, g->faults, t->oscale_addr, g->buf->oscale, bytes);
    }
    if (t->bias_en) {
        cm_exec_read(g->mem, g->faults, t->bias_addr, g->buf->bias, bytes);
    }
}

/* Weights of block ocb; in memory each block starts on a multiple of 16 bytes. */
static void load_weights(const cm_gemm_state *g, uint32_t ocb, int8_t *dst) {
    uint32_t bytes = (uint32_t)cm_gemm_wgt_words(g->n, g->t) * g->n;
    if (bytes > 0) {
        cm_exec_read(g->mem, g->faults, g->t->wgt_addr + ocb * ((bytes + 15) / 16 * 16), dst, bytes);
    }
}

/* All blocks of a tile at one kernel position; DEPTHWISE and CONVERT have one, whose weights are on the diagonal. */
static void compute_position(const cm_gemm_state *g, const cm_gemm_task *view, uint32_t ocb, uint32_t tile, uint32_t ky,
                             uint32_t kx, const int8_t *wgt) {
    cm_gemm_buffers *buf = g->buf;
    uint32_t n = g->n;
    uint32_t icbs = cm_gemm_blocks(view->ic, n);
    uint32_t position = ky * view->kw + kx;
    if (view->op != NPU_GEMM_CTRL_OP_CONV) {
        cm_im2col_block(view, n, buf->ifm, tile, ky, kx, ocb, buf->act);
        cm_mesh_diagonal(n, buf->act, view->op == NPU_GEMM_CTRL_OP_CONVERT ? NULL : &wgt[position * n], buf->product);
        cm_acc(position == 0, (size_t)2 * n * n, buf->product, buf->acc);
        return;
    }
    for (uint32_t icb = 0; icb < icbs; icb++) {
        uint32_t block = position * icbs + icb;
        cm_im2col_block(view, n, buf->ifm, tile, ky, kx, icb, buf->act);
        cm_mesh_block(n, buf->act, &wgt[(size_t)block * n * n], buf->product);
        cm_acc(block == 0, (size_t)2 * n * n, buf->product, buf->acc);
    }
}

/* One tile: all its blocks through im2col, mesh and acc, then into the ofm buffer at pixel `at` of each channel. */
static void compute_tile(const cm_gemm_state *g, uint32_t ocb, uint32_t tile, uint32_t at, const int8_t *wgt) {
    cm_gemm_buffers *buf = g->buf;
    uint32_t n = g->n;
    cm_gemm_task view = *g->t; /* the rows in buf->ifm as a map of their own */
    view.pad_t += g->row0;
    view.ih = g->row1 - g->row0;
    if (view.wide) {
        cm_gemm_tile_wide(g, &view, ocb, tile, at, wgt);
        return;
    }
    for (uint32_t ky = 0; ky < view.kh; ky++) {
        for (uint32_t kx = 0; kx < view.kw; kx++) {
            compute_position(g, &view, ocb, tile, ky, kx, wgt);
        }
    }
    for (uint32_t c = 0; c < n; c++) {
        for (uint32_t j = 0; j < 2 * n; j++) {
            buf->ofm[c * CM_GROUP_PIXELS + at + j] = buf->acc[j * n + c];
        }
    }
}

/* `count` results of output channel oc from pixel p0 on into buf->result. */
static void post_channel(const cm_gemm_state *g, uint32_t oc, uint32_t p0, uint32_t count) {
    const cm_gemm_task *t = g->t;
    cm_gemm_buffers *buf = g->buf;
    const int32_t *sums = &buf->ofm[oc % g->n * CM_GROUP_PIXELS];
    uint32_t oscale = t->oscale_en ? buf->oscale[oc] : 0;
    uint32_t bias = t->bias_en ? buf->bias[oc] : 0;
    if (t->psum_add) {
        cm_exec_read(g->mem, g->faults, t->psum_addr + oc * t->psum_cstep + 4 * p0, buf->psum, 4 * count);
    }
    for (uint32_t i = 0; i < count; i++) {
        buf->result[i] = cm_post(t, sums[i], t->psum_add ? buf->psum[i] : 0, oscale, bias);
    }
    const uint64_t first = (uint64_t)oc * t->ow * t->oh + p0;
    cm_exec_log(g->log, CM_LOG_SUM, first, 1, count, sums);
    cm_exec_log(g->log, CM_LOG_POST, first, 1, count, buf->result);
}

/* Post-process and write back `count` pixels from pixel p0 on of block ocb. Of an NCHW output only the channels that
 * exist are there. */
static void write_group(const cm_gemm_state *g, uint32_t ocb, uint32_t p0, uint32_t count) {
    const cm_gemm_task *t = g->t;
    cm_gemm_buffers *buf = g->buf;
    uint32_t n = g->n;
    uint32_t channels = cm_min_u32(n, t->oc - ocb * n);
    memset(buf->words, 0, (size_t)count * n);
    for (uint32_t c = 0; c < channels; c++) {
        uint32_t oc = ocb * n + c;
        post_channel(g, oc, p0, count);
        if (!t->requant) {
            cm_exec_write(g->mem, g->faults, oc % 2, t->ofm_addr + oc * t->ofm_cstep + 4 * p0, buf->result, 4 * count);
            continue;
        }
        for (uint32_t i = 0; i < count; i++) {
            buf->words[i * n + c] = cm_requant(t, buf->result[i]);
            cm_exec_log(g->log, CM_LOG_REQUANT, (uint64_t)oc * t->ow * t->oh + p0 + i, 1, 1, &buf->words[i * n + c]);
        }
    }
    for (uint32_t i = 0; t->requant && i < count; i++) {
        cm_exec_write(g->mem, g->faults, 0, t->ofm_addr + (p0 + i) * t->ofm_cstep + ocb * n, &buf->words[i * n], n);
    }
}

/* Output pixels p0..p1-1 of block ocb. */
static void run_group(const cm_gemm_state *g, uint32_t ocb, uint32_t p0, uint32_t p1, const int8_t *wgt) {
    for (uint32_t p = p0; p < p1; p += 2 * g->n) {
        compute_tile(g, ocb, p / (2 * g->n), p - p0, wgt);
    }
    if (g->t->wide) {
        cm_gemm_write_wide(g, ocb, p0, p1 - p0);
    } else {
        write_group(g, ocb, p0, p1 - p0);
    }
}

void cm_gemm_execute(uint32_t n, const cm_gemm_task *t, const cm_mem *mem, cm_gemm_buffers *buf, cm_faults *faults,
                     const cm_log *log) {
    cm_gemm_state g = {.n = n, .t = t, .mem = mem, .buf = buf, .faults = faults, .log = log};
    uint32_t pixels = t->ow * t->oh;
    uint32_t group = 2 * n * cm_gemm_group(n, t->wide, t->group);
    uint32_t ocbs = cm_gemm_blocks(t->oc, n);
    size_t wgt_bytes = (size_t)cm_gemm_wgt_words(n, t) * n;

    load_factors(&g);
    if (!t->wgt_res) {
        load_rows(&g, 0, t->ih);
        for (uint32_t ocb = 0; ocb < ocbs; ocb++) {
            load_weights(&g, ocb, buf->wgt);
            for (uint32_t p = 0; p < pixels; p += group) {
                run_group(&g, ocb, p, cm_min_u32(p + group, pixels), buf->wgt);
            }
        }
        return;
    }
    for (uint32_t ocb = 0; ocb < ocbs; ocb++) {
        load_weights(&g, ocb, &buf->wgt[ocb * wgt_bytes]);
    }
    for (uint32_t p = 0; p < pixels; p += group) {
        uint32_t end = cm_min_u32(p + group, pixels);
        load_rows_of(&g, p, end);
        for (uint32_t ocb = 0; ocb < ocbs; ocb++) {
            run_group(&g, ocb, p, end, &buf->wgt[ocb * wgt_bytes]);
        }
    }
}

bool cm_gemm_run(uint32_t n, const cm_gemm_task *task, const cm_mem *mem) {
    cm_gemm_buffers buf; /* on the stack because this function may not allocate; a device owns its own */
    cm_faults faults = {0};
    if (!cm_gemm_fits(n, task)) {
        return false;
    }
    cm_gemm_execute(n, task, mem, &buf, &faults, NULL);
    return cm_exec_clean(&faults);
}
