/*
 * gemm.c - execution of one GEMM task, tile by tile with the unit models: docs/npu.md sections 3 and 4.
 */
#include "gemm.h"

#include <string.h>

static uint32_t min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static uint32_t blocks_of(uint32_t channels, uint32_t n) {
    return (channels + n - 1) / n;
}

/* Everything a step needs to know; only a shorthand for the parameters. */
typedef struct gemm_run {
    uint32_t n;
    const cm_gemm_task *t;
    const cm_mem *mem;
    cm_gemm_buffers *buf;
    cm_gemm_faults *faults;
} gemm_run;

static void mem_read(const gemm_run *g, uint32_t addr, void *dst, uint32_t bytes) {
    if (!g->mem->read(g->mem->ctx, addr, dst, bytes)) {
        memset(dst, 0, bytes);
        g->faults->reads++;
    }
}

/* Input map: quantise and re-order it into words of N channels, [y][x][icb]. */
static void load_ifm(const gemm_run *g) {
    const cm_gemm_task *t = g->t;
    uint32_t n = g->n;
    uint32_t icbs = blocks_of(t->ic, n);
    uint32_t pixels = t->iw * t->ih;
    int8_t words[CM_LAYOUT_PIXELS * CM_MAX_N];
    for (uint32_t icb = 0; icb < icbs; icb++) {
        uint32_t channels = min_u32(n, t->ic - icb * n);
        for (uint32_t p = 0; p < pixels; p += CM_LAYOUT_PIXELS) {
            uint32_t count = min_u32(CM_LAYOUT_PIXELS, pixels - p);
            for (uint32_t c = 0; c < channels; c++) {
                uint32_t addr = t->ifm_addr + (icb * n + c) * t->ifm_cstep + 4 * p;
                mem_read(g, addr, &g->buf->pixels[c * count], 4 * count);
            }
            cm_layout(n, channels, count, t->in_scale, g->buf->pixels, words);
            for (uint32_t i = 0; i < count; i++) {
                memcpy(&g->buf->ifm[((size_t)(p + i) * icbs + icb) * n], &words[i * n], n);
            }
        }
    }
}

static void load_factors(const gemm_run *g) {
    const cm_gemm_task *t = g->t;
    uint32_t bytes = 4 * ((t->oc + 3) / 4 * 4);
    if (t->oscale_en) {
        mem_read(g, t->oscale_addr, g->buf->oscale, bytes);
    }
    if (t->bias_en) {
        mem_read(g, t->bias_addr, g->buf->bias, bytes);
    }
}

/* One tile: all its blocks through im2col, mesh and acc, then into the ofm buffer at pixel `at` of each channel. */
static void compute_tile(const gemm_run *g, uint32_t tile, uint32_t at) {
    const cm_gemm_task *t = g->t;
    cm_gemm_buffers *buf = g->buf;
    uint32_t n = g->n;
    uint32_t icbs = blocks_of(t->ic, n);
    size_t block = 0;
    for (uint32_t ky = 0; ky < t->kh; ky++) {
        for (uint32_t kx = 0; kx < t->kw; kx++) {
            for (uint32_t icb = 0; icb < icbs; icb++) {
                cm_im2col_block(t, n, buf->ifm, tile, ky, kx, icb, buf->act);
                cm_mesh_block(n, buf->act, &buf->wgt[block * n * n], buf->product);
                cm_acc(block == 0, (size_t)2 * n * n, buf->product, buf->acc);
                block++;
            }
        }
    }
    for (uint32_t c = 0; c < n; c++) {
        for (uint32_t j = 0; j < 2 * n; j++) {
            buf->ofm[c * CM_GROUP_PIXELS + at + j] = buf->acc[j * n + c];
        }
    }
}

/* Post-process and write back `count` pixels from pixel p0 on, of the channels of block ocb that exist. */
static void write_group(const gemm_run *g, uint32_t ocb, uint32_t p0, uint32_t count) {
    const cm_gemm_task *t = g->t;
    cm_gemm_buffers *buf = g->buf;
    uint32_t channels = min_u32(g->n, t->oc - ocb * g->n);
    for (uint32_t c = 0; c < channels; c++) {
        uint32_t oc = ocb * g->n + c;
        uint32_t at = oc * t->ofm_cstep + 4 * p0;
        uint32_t oscale = t->oscale_en ? buf->oscale[oc] : 0;
        uint32_t bias = t->bias_en ? buf->bias[oc] : 0;
        if (t->psum_add) {
            mem_read(g, t->psum_addr + at, buf->psum, 4 * count);
        }
        for (uint32_t i = 0; i < count; i++) {
            buf->result[i] = cm_post(t, buf->ofm[c * CM_GROUP_PIXELS + i], t->psum_add ? buf->psum[i] : 0, oscale, bias);
        }
        if (!g->mem->write(g->mem->ctx, t->ofm_addr + at, buf->result, 4 * count)) {
            g->faults->writes[oc % 2]++;
        }
    }
}

void cm_gemm_execute(uint32_t n, const cm_gemm_task *t, const cm_mem *mem, cm_gemm_buffers *buf, cm_gemm_faults *faults) {
    gemm_run g = {.n = n, .t = t, .mem = mem, .buf = buf, .faults = faults};
    uint32_t pixels = t->ow * t->oh;
    uint32_t tiles = (pixels + 2 * n - 1) / (2 * n);
    uint32_t group = min_u32(t->group == 0 ? 1 : t->group, CM_GROUP_PIXELS / (2 * n));
    uint32_t wgt_bytes = t->kh * t->kw * blocks_of(t->ic, n) * n * n; /* of one block of output channels */

    load_ifm(&g);
    load_factors(&g);
    for (uint32_t ocb = 0; ocb < blocks_of(t->oc, n); ocb++) {
        mem_read(&g, t->wgt_addr + ocb * wgt_bytes, buf->wgt, wgt_bytes);
        for (uint32_t first = 0; first < tiles; first += group) {
            uint32_t p0 = first * 2 * n;
            uint32_t last = min_u32(first + group, tiles);
            for (uint32_t tile = first; tile < last; tile++) {
                compute_tile(&g, tile, tile * 2 * n - p0);
            }
            write_group(&g, ocb, p0, min_u32(last * 2 * n, pixels) - p0);
        }
    }
}

bool cm_gemm_run(uint32_t n, const cm_gemm_task *task, const cm_mem *mem) {
    cm_gemm_buffers buf; /* on the stack because this function may not allocate; a device owns its own */
    cm_gemm_faults faults = {0};
    if (!cm_gemm_fits(n, task)) {
        return false;
    }
    cm_gemm_execute(n, task, mem, &buf, &faults);
    return faults.reads == 0 && faults.writes[0] == 0 && faults.writes[1] == 0;
}
