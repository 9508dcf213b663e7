/* sequence_gemm.c - random GEMM tasks inside the limits of docs/npu/npu.md section 3.2. */
#include "sequence.h"

#include "npu_regs.h"
#include "num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IFM_WORDS 16384u
#define WGT_WORDS 4608u

typedef struct gemm_shape {
    uint32_t n, op, kw, kh, sw, sh, dw, dh, pad_l, pad_t, iw, ih, ic, ow, oh, oc, icb, ocb, words, group;
    bool nhwc_in, requant, raw, psum, oscale, bias, resident, keep, fence;
    bool wide; /* INT16: two words of the input or the weights for each of INT8 */
    uint32_t act;
} gemm_shape;

/* Bytes of a block of channels of a pixel, and of a partial sum. */
static uint32_t block_bytes(const gemm_shape *s) {
    return s->n << s->wide;
}

static uint32_t sum_bytes(const gemm_shape *s) {
    return 4u << s->wide;
}

/* Words of weights of a block of output channels. */
static uint32_t wgt_words(const gemm_shape *s) {
    return (s->op == 0 ? s->kw * s->kh * s->icb * s->n : s->op == 1 ? s->kw * s->kh : 0) << s->wide;
}

static uint32_t extent(uint32_t k, uint32_t d) {
    return (k - 1) * d + 1;
}

static bool resident_fits(const gemm_shape *s) {
    const uint32_t pixels = 2 * s->n * tb_min_u32(s->group, (s->wide ? 256 : 512) / s->n), icw = s->icb << s->wide;
    const uint32_t rows_out = tb_min_u32(s->oh, 1 + (pixels + s->ow - 2) / s->ow);
    const uint64_t rows_in = tb_min_u32(s->ih, (rows_out - 1) * s->sh + extent(s->kh, s->dh));
    const bool streams = rows_in * s->iw * icw + 64u * icw <= IFM_WORDS;
    return (s->ocb + 1) / 2 * s->words <= WGT_WORDS && (streams || (uint64_t)s->ih * s->iw * icw <= IFM_WORDS);
}

static bool fits(const gemm_shape *s) {
    if (s->words > WGT_WORDS || s->iw * s->ih > 65535 || s->ow * s->oh > 65535 || s->oc > 1024) {
        return false;
    }
    return s->resident ? resident_fits(s) : (uint64_t)s->ih * s->iw * s->icb << s->wide <= IFM_WORDS;
}

static void draw_map(tb_rng *rng, gemm_shape *s) {
    /* one in sixteen does not fit into the input buffer and streams through it */
    const bool large = seq_chance(rng, 16);
    s->kw = seq_chance(rng, 8) ? seq_small(rng, 1, 11) : seq_small(rng, 1, 4);
    s->kh = seq_chance(rng, 4) ? seq_small(rng, 1, 7) : s->kw;
    s->sw = seq_small(rng, 1, 4);
    s->sh = seq_chance(rng, 2) ? s->sw : seq_small(rng, 1, 5);
    s->dw = seq_chance(rng, 4) ? seq_small(rng, 1, 4) : 1;
    s->dh = seq_chance(rng, 4) ? seq_small(rng, 1, 4) : 1;
    s->pad_l = seq_small(rng, 0, s->kw);
    s->pad_t = seq_small(rng, 0, s->kh);
    s->iw = large ? (uint32_t)tb_rng_range(rng, 100, 200) : seq_small(rng, 1, 40);
    s->ih = large ? (uint32_t)tb_rng_range(rng, 100, 300) : seq_small(rng, 1, 40);
    /* positions to the right and below the map are zeros: one output more than fits the map is legal */
    const uint32_t ow = (s->iw + s->pad_l) / s->sw + 1;
    const uint32_t oh = (s->ih + s->pad_t) / s->sh + 1;
    s->ow = seq_chance(rng, 3) ? (uint32_t)tb_rng_range(rng, 1, ow) : ow;
    s->oh = seq_chance(rng, 3) ? (uint32_t)tb_rng_range(rng, 1, oh) : oh;
}

static void draw_shape(uint32_t n, bool int16, tb_rng *rng, const seq_weights *before, gemm_shape *s) {
    do {
        memset(s, 0, sizeof *s);
        s->n = n;
        s->wide = int16 && seq_chance(rng, 2); /* without INT16 the draws are those that they were */
        s->op = seq_chance(rng, 2) ? 0u : (uint32_t)tb_rng_range(rng, 1, 2);
        draw_map(rng, s);
        s->ic = seq_small(rng, 1, 3 * n + 3);
        s->oc = s->op == 0 ? seq_small(rng, 1, 4 * n + 3) : s->ic;
        s->group = seq_chance(rng, 4) ? seq_small(rng, 1, 512 / n) : seq_small(rng, 1, 8);
        s->resident = seq_chance(rng, 2);
        s->keep = before->resident && seq_chance(rng, 2);
        if (s->keep) {
            s->resident = true;
            s->wide = before->wide;
            s->op = before->op;
            s->kw = before->kw;
            s->kh = before->kh;
            s->ic = before->ic;
            s->oc = before->oc;
        }
        s->icb = tb_div_up(s->ic, n);
        s->ocb = tb_div_up(s->oc, n);
        s->words = wgt_words(s);
    } while (!fits(s) || (uint64_t)s->ow * s->oh * s->ocb * s->kw * s->kh * (s->op == 0 ? s->icb : 1) > 400000u);
    s->nhwc_in = seq_chance(rng, 2);
    s->psum = seq_chance(rng, 4);
    s->raw = seq_chance(rng, 4);
    s->requant = !s->raw && seq_chance(rng, 2);
    s->oscale = !s->raw && !seq_chance(rng, 4);
    s->bias = !s->raw && seq_chance(rng, 2);
    s->act = s->raw || seq_chance(rng, 3) ? 0u : (uint32_t)tb_rng_range(rng, 1, NPU_GEMM_ACT_TYPE_COUNT - 1);
    s->fence = seq_chance(rng, 4);
}

/* The knobs cut_...: a smaller shape with the same settings. */
static void cut_shape(const tc_run *run, gemm_shape *s) {
    s->kw = seq_cut(run, "cut_k", s->kw);
    s->kh = seq_cut(run, "cut_k", s->kh);
    s->pad_l = seq_cut(run, "cut_k", s->pad_l);
    s->pad_t = seq_cut(run, "cut_k", s->pad_t);
    s->iw = seq_cut(run, "cut_map", s->iw);
    s->ih = seq_cut(run, "cut_map", s->ih);
    s->ow = tb_min_u32(seq_cut(run, "cut_map", s->ow), (s->iw + s->pad_l) / s->sw + 1);
    s->oh = tb_min_u32(seq_cut(run, "cut_map", s->oh), (s->ih + s->pad_t) / s->sh + 1);
    s->ic = seq_cut(run, "cut_ch", s->ic);
    s->oc = seq_cut(run, "cut_ch", s->oc);
    s->icb = (s->ic + s->n - 1) / s->n;
    s->ocb = (s->oc + s->n - 1) / s->n;
    s->words = wgt_words(s);
}

/* The packed weights: random where a channel exists, 0 elsewhere. A word of INT16 is one of low bytes and one of high
 * bytes. */
static uint32_t make_weights(tc_run *run, tb_rng *rng, const gemm_shape *s) {
    const uint32_t n = s->n;
    const uint32_t step = s->op == 0 ? s->words * n : (s->words * n + 15u) / 16 * 16;
    const uint32_t bytes = step * s->ocb + 16;
    const uint32_t addr = npu_dev_alloc(run->dev, bytes, 64, NPU_BUF_IN);
    uint8_t *data = calloc(1, bytes);
    bool good = addr != 0 && data != NULL;
    if (good) {
        tb_rng_fill(rng, data, bytes);
        seq_set_bytes(run, (int8_t *)data, bytes);
        for (uint32_t ocb = 0; ocb < s->ocb; ocb++) {
            for (uint32_t w = 0; w < s->words; w++) {
                for (uint32_t c = 0; c < n; c++) {
                    int8_t *v = (int8_t *)&data[ocb * step + w * n + c];
                    const uint32_t at = w >> s->wide;
                    const bool exists = ocb * n + c < s->oc && (s->op != 0 || at / n % s->icb * n + at % n < s->ic);
                    *v = !exists ? 0 : *v == -128 && !s->wide ? -127 : *v;
                }
            }
        }
        good = npu_dev_write(run->dev, addr, data, bytes);
    }
    free(data);
    return good ? addr : 0;
}

static bool make_input(tc_run *run, tb_rng *rng, const gemm_shape *s, seq_task *t) {
    const uint32_t block = block_bytes(s);
    if (s->nhwc_in) {
        const uint32_t pitch = (s->icb + (seq_chance(rng, 2) ? seq_small(rng, 0, 2) : 0)) * block;
        const uint32_t addr = seq_alloc(run, rng, s->iw * s->ih * pitch + 64, block, NPU_BUF_IN);
        for (uint32_t p = 0; addr != 0 && pitch != s->icb * block && p < s->iw * s->ih; p++) {
            if (!seq_fill_bytes(run, rng, addr + p * pitch, s->icb * block)) {
                return false;
            }
        }
        seq_write(t, NPU_REG_GEMM_IFM_ADDR, addr);
        seq_write(t, NPU_REG_GEMM_IFM_CSTEP, pitch);
        return addr != 0 && (pitch != s->icb * block || seq_fill_bytes(run, rng, addr, s->iw * s->ih * pitch));
    }
    const uint32_t cstep = (s->iw * s->ih + seq_small(rng, 0, 8)) * 4;
    const uint32_t addr = seq_alloc(run, rng, s->ic * cstep + 64, 4, NPU_BUF_IN);
    seq_write(t, NPU_REG_GEMM_IFM_ADDR, addr);
    seq_write(t, NPU_REG_GEMM_IFM_CSTEP, cstep);
    return addr != 0 && seq_fill_f32(run, rng, (seq_output){addr, s->iw * s->ih * 4, s->ic, cstep, 1, 0}, true);
}

static bool make_output(tc_run *run, tb_rng *rng, const gemm_shape *s, seq_task *t) {
    const uint32_t pixels = s->ow * s->oh;
    const uint32_t block = block_bytes(s), element = s->raw ? sum_bytes(s) : 4;
    if (s->requant) {
        const uint32_t pitch = (s->ocb + (seq_chance(rng, 2) ? seq_small(rng, 0, 2) : 0)) * block;
        const uint32_t addr = seq_alloc(run, rng, pixels * pitch + 64, block, NPU_BUF_OUT);
        seq_write(t, NPU_REG_GEMM_OFM_ADDR, addr);
        seq_write(t, NPU_REG_GEMM_OFM_CSTEP, pitch);
        seq_out(t, (seq_output){addr, s->ocb * block, pixels, pitch, 1, 0});
        return addr != 0;
    }
    const uint32_t cstep = (pixels + seq_small(rng, 0, 8)) * element;
    const uint32_t addr = seq_alloc(run, rng, s->oc * cstep + 64, element, NPU_BUF_OUT);
    seq_write(t, NPU_REG_GEMM_OFM_ADDR, addr);
    seq_write(t, NPU_REG_GEMM_OFM_CSTEP, cstep);
    seq_out(t, (seq_output){addr, pixels * element, s->oc, cstep, 1, 0});
    return addr != 0;
}

static bool make_psum(tc_run *run, tb_rng *rng, const gemm_shape *s, seq_task *t) {
    const uint32_t cstep = (s->ow * s->oh + seq_small(rng, 0, 8)) * sum_bytes(s);
    const uint32_t addr = s->psum ? seq_alloc(run, rng, s->oc * cstep + 64, sum_bytes(s), NPU_BUF_IN) : 0;
    seq_write(t, NPU_REG_GEMM_PSUM_ADDR, addr);
    seq_write(t, NPU_REG_GEMM_PSUM_CSTEP, cstep);
    for (uint32_t c = 0; s->psum && addr != 0 && c < s->oc; c++) {
        if (!seq_fill_bytes(run, rng, addr + c * cstep, s->ow * s->oh * sum_bytes(s))) {
            return false;
        }
    }
    return !s->psum || addr != 0;
}

static bool make_factors(tc_run *run, tb_rng *rng, const gemm_shape *s, uint32_t reg, bool used, seq_task *t) {
    const uint32_t bytes = (s->oc + 3) / 4 * 16;
    const uint32_t addr = used ? npu_dev_alloc(run->dev, bytes, 16, NPU_BUF_IN) : 0;
    seq_write(t, reg, addr);
    return !used || (addr != 0 && seq_fill_f32(run, rng, (seq_output){addr, bytes, 1, 0, 1, 0}, seq_chance(rng, 4)));
}

static void write_geometry(const gemm_shape *s, tb_rng *rng, seq_task *t) {
    const bool square = s->kw == s->kh && s->kw <= 7 && s->sw == s->sh && s->sw <= 7 && s->dw == 1 && s->dh == 1 &&
                        s->pad_l <= 3 && s->pad_t <= 3;
    const bool ext = !square || seq_chance(rng, 2);
    const uint32_t short_form = s->kw << NPU_GEMM_CTRL_KERNEL_LSB | s->sw << NPU_GEMM_CTRL_STRIDE_LSB |
                                s->pad_l << NPU_GEMM_CTRL_PAD_LEFT_LSB | s->pad_t << NPU_GEMM_CTRL_PAD_TOP_LSB;
    uint32_t ctrl = NPU_GEMM_CTRL_EN_MASK | s->op << NPU_GEMM_CTRL_OP_LSB;
    seq_write(t, NPU_REG_GEMM_IFM_SIZE, s->ih << 16 | s->iw);
    seq_write(t, NPU_REG_GEMM_CHANNELS, s->oc << 16 | s->ic);
    seq_write(t, NPU_REG_GEMM_OFM_SIZE, s->oh << 16 | s->ow);
    seq_write(t, NPU_REG_GEMM_GROUP, s->group);
    if (ext) {
        seq_write(t, NPU_REG_GEMM_EXT_KERNEL, s->kw | s->kh << 8 | s->dw << 16 | s->dh << 24);
        seq_write(t, NPU_REG_GEMM_EXT_STRIDE, s->sw | s->sh << 8);
        seq_write(t, NPU_REG_GEMM_EXT_PAD, s->pad_l | s->pad_t << 16);
    }
    ctrl |= ext ? NPU_GEMM_CTRL_EXT_MASK : short_form;
    ctrl |= (s->bias ? NPU_GEMM_CTRL_BIAS_MASK : 0) | (s->requant ? NPU_GEMM_CTRL_REQUANT_MASK : 0) |
            (s->nhwc_in ? 0 : NPU_GEMM_CTRL_LAYOUT_MASK);
    ctrl |= (s->oscale ? NPU_GEMM_CTRL_OSCALE_MASK : 0) | (s->raw ? NPU_GEMM_CTRL_DIV_IC_MASK : 0) |
            (s->psum ? NPU_GEMM_CTRL_PSUM_ADD_MASK : 0);
    ctrl |= (s->fence ? NPU_GEMM_CTRL_FENCE_MASK : 0) | (s->resident ? NPU_GEMM_CTRL_WGT_RES_MASK : 0) |
            (s->keep ? NPU_GEMM_CTRL_WGT_KEEP_MASK : 0);
    ctrl |= s->wide ? NPU_GEMM_CTRL_WIDE_MASK : 0;
    if (!s->wide && seq_chance(rng, 3)) { /* INT16 is symmetric */
        seq_write(t, NPU_REG_GEMM_QUANT, tb_rng_u32(rng));
        ctrl |= NPU_GEMM_CTRL_QUANT_MASK | (s->bias && seq_chance(rng, 2) ? NPU_GEMM_CTRL_IBIAS_MASK : 0);
    }
    seq_write(t, NPU_REG_GEMM_CTRL, ctrl);
}

int seq_draw_gemm(tc_run *run, tb_rng *rng, seq_weights *before, seq_task *t) {
    gemm_shape s;
    memset(t, 0, sizeof *t);
    t->unit = NPU_UNIT_GEMM;
    draw_shape(run->n, run->npu.int16, rng, before, &s);
    cut_shape(run, &s);
    const uint32_t wgt = s.keep ? before->addr : s.op == 2 ? 0x100u : make_weights(run, rng, &s);
    const bool good = wgt != 0 && make_input(run, rng, &s, t) && make_output(run, rng, &s, t) &&
                      make_psum(run, rng, &s, t) && make_factors(run, rng, &s, NPU_REG_GEMM_OSCALE_ADDR, s.oscale, t) &&
                      make_factors(run, rng, &s, NPU_REG_GEMM_BIAS_ADDR, s.bias, t);
    if (!good) {
        return tc_no_memory(run);
    }
    /* sums of products are about 127 * 127 * sqrt(taps), of INT16 32767 * 32767 * sqrt(taps); the requantiser brings
     * most of them into its range */
    const float in_scale = tb_rng_f32_range(rng, 10.0f, 100.0f) * (s.wide ? 256.0f : 1.0f);
    const float out_scale = (s.oscale ? tb_rng_f32_range(rng, 0.001f, 0.1f) : tb_rng_f32_range(rng, 0.0005f, 0.02f)) /
                            (s.wide ? 256.0f : 1.0f);
    uint32_t bits = 0;
    memcpy(&bits, &in_scale, 4);
    seq_write(t, NPU_REG_GEMM_IN_SCALE, bits);
    memcpy(&bits, &out_scale, 4);
    seq_write(t, NPU_REG_GEMM_OUT_SCALE, bits);
    seq_write(t, NPU_REG_GEMM_ACT, s.act);
    for (uint32_t i = 0; i < 4; i++) {
        seq_write(t, NPU_REG_GEMM_ACT_P0 + 4 * i, seq_float(rng));
    }
    seq_write(t, NPU_REG_GEMM_WGT_ADDR, wgt);
    write_geometry(&s, rng, t);
    *before = (seq_weights){s.resident, s.wide, s.op, s.kw, s.kh, s.ic, s.oc, wgt};
    snprintf(t->what, sizeof t->what,
             "GEMM%s op=%u k=%ux%u s=%ux%u d=%ux%u pad=%u,%u in=%ux%ux%u%s out=%ux%ux%u%s%s act=%u G=%u%s%s%s",
             s.wide ? " INT16" : "", s.op, s.kw, s.kh, s.sw, s.sh, s.dw, s.dh, s.pad_l, s.pad_t, s.iw, s.ih, s.ic,
             s.nhwc_in ? "i8" : "", s.ow, s.oh, s.oc,
             s.requant ? "i8"
             : s.raw   ? "raw"
                       : "",
             s.psum ? " psum" : "", s.act, s.group, s.resident ? " res" : "", s.keep ? " keep" : "",
             s.fence ? " fence" : "");
    return 0;
}
