/*
 * decode.c - the GEMM registers as a task, and the limits of docs/npu/npu.md section 3.2.
 */
#include "gemm.h"
#include "regs.h"
#include "cm_num.h"

static void decode_geometry(const uint32_t *regs, cm_gemm_task *t) {
    if (CM_GET(regs, GEMM_CTRL, EXT)) {
        t->kw = CM_GET(regs, GEMM_EXT_KERNEL, KW);
        t->kh = CM_GET(regs, GEMM_EXT_KERNEL, KH);
        t->dw = CM_GET(regs, GEMM_EXT_KERNEL, DW);
        t->dh = CM_GET(regs, GEMM_EXT_KERNEL, DH);
        t->sw = CM_GET(regs, GEMM_EXT_STRIDE, SW);
        t->sh = CM_GET(regs, GEMM_EXT_STRIDE, SH);
        t->pad_l = CM_GET(regs, GEMM_EXT_PAD, LEFT);
        t->pad_t = CM_GET(regs, GEMM_EXT_PAD, TOP);
    } else {
        t->kw = t->kh = CM_GET(regs, GEMM_CTRL, KERNEL);
        t->dw = t->dh = 1;
        t->sw = t->sh = CM_GET(regs, GEMM_CTRL, STRIDE);
        t->pad_l = CM_GET(regs, GEMM_CTRL, PAD_LEFT);
        t->pad_t = CM_GET(regs, GEMM_CTRL, PAD_TOP);
    }
    t->iw = CM_GET(regs, GEMM_IFM_SIZE, IW);
    t->ih = CM_GET(regs, GEMM_IFM_SIZE, IH);
    t->ic = CM_GET(regs, GEMM_CHANNELS, IC);
    t->oc = CM_GET(regs, GEMM_CHANNELS, OC);
    t->ow = CM_GET(regs, GEMM_OFM_SIZE, OW);
    t->oh = CM_GET(regs, GEMM_OFM_SIZE, OH);
    t->group = CM_GET(regs, GEMM_GROUP, TILES);
}

static void decode_addresses(const uint32_t *regs, cm_gemm_task *t) {
    t->ifm_addr = CM_GET(regs, GEMM_IFM_ADDR, ADDR);
    t->ifm_cstep = CM_GET(regs, GEMM_IFM_CSTEP, BYTES);
    t->wgt_addr = CM_GET(regs, GEMM_WGT_ADDR, ADDR);
    t->oscale_addr = CM_GET(regs, GEMM_OSCALE_ADDR, ADDR);
    t->bias_addr = CM_GET(regs, GEMM_BIAS_ADDR, ADDR);
    t->ofm_addr = CM_GET(regs, GEMM_OFM_ADDR, ADDR);
    t->ofm_cstep = CM_GET(regs, GEMM_OFM_CSTEP, BYTES);
    t->psum_addr = CM_GET(regs, GEMM_PSUM_ADDR, ADDR);
    t->psum_cstep = CM_GET(regs, GEMM_PSUM_CSTEP, BYTES);
}

static void decode_options(const uint32_t *regs, cm_gemm_task *t) {
    t->op = CM_GET(regs, GEMM_CTRL, OP);
    t->fence = CM_GET(regs, GEMM_CTRL, FENCE) != 0;
    t->bias_en = CM_GET(regs, GEMM_CTRL, BIAS) != 0;
    t->oscale_en = CM_GET(regs, GEMM_CTRL, OSCALE) != 0;
    t->raw_out = CM_GET(regs, GEMM_CTRL, DIV_IC) != 0;
    t->psum_add = CM_GET(regs, GEMM_CTRL, PSUM_ADD) != 0;
    t->nhwc_in = CM_GET(regs, GEMM_CTRL, LAYOUT) == 0;
    t->requant = CM_GET(regs, GEMM_CTRL, REQUANT) != 0;
    t->wgt_res = CM_GET(regs, GEMM_CTRL, WGT_RES) != 0;
    t->wgt_keep = CM_GET(regs, GEMM_CTRL, WGT_KEEP) != 0;
    t->ibias = CM_GET(regs, GEMM_CTRL, IBIAS) != 0;
    t->wide = CM_GET(regs, GEMM_CTRL, WIDE) != 0;
    if (CM_GET(regs, GEMM_CTRL, QUANT)) {
        t->zin = CM_GET(regs, GEMM_QUANT, ZIN);
        t->zout = CM_GET(regs, GEMM_QUANT, ZOUT);
        t->rne = CM_GET(regs, GEMM_QUANT, RNE) != 0;
        t->full = CM_GET(regs, GEMM_QUANT, FULL) != 0;
    }
    t->act = CM_GET(regs, GEMM_ACT, TYPE);
    t->in_scale = CM_GET(regs, GEMM_IN_SCALE, VALUE);
    t->out_scale = CM_GET(regs, GEMM_OUT_SCALE, VALUE);
    t->act_p[0] = CM_GET(regs, GEMM_ACT_P0, VALUE);
    t->act_p[1] = CM_GET(regs, GEMM_ACT_P1, VALUE);
    t->act_p[2] = CM_GET(regs, GEMM_ACT_P2, VALUE);
    t->act_p[3] = CM_GET(regs, GEMM_ACT_P3, VALUE);
}

/* The description of each address register names its alignment; it holds whether or not the task uses that address. */
static bool addresses_fit(uint32_t n, const cm_gemm_task *t) {
    const uint32_t word = n << t->wide, sum = 4u << t->wide; /* of a channel block of NHWC; a partial sum */
    if ((t->wgt_addr | t->oscale_addr | t->bias_addr) % 16 != 0 || (t->psum_addr | t->psum_cstep) % sum != 0) {
        return false;
    }
    if ((t->ifm_addr | t->ifm_cstep) % (t->nhwc_in ? word : 4) != 0 ||
        (t->ofm_addr | t->ofm_cstep) % (t->requant   ? word
                                        : t->raw_out ? sum
                                                     : 4) !=
            0) {
        return false;
    }
    return !(t->nhwc_in && t->ifm_cstep < cm_gemm_blocks(t->ic, n) * word) &&
           !(t->requant && t->ofm_cstep < cm_gemm_blocks(t->oc, n) * word);
}

static bool options_fit(const cm_gemm_task *t) {
    if (t->op > NPU_GEMM_CTRL_OP_CONVERT || t->act >= CM_ACT_COUNT ||
        (t->op != NPU_GEMM_CTRL_OP_CONV && t->oc != t->ic)) {
        return false;
    }
    if ((t->wgt_keep && !t->wgt_res) || (t->ibias && !t->bias_en)) {
        return false;
    }
    if (t->wide && (t->ibias || t->zin != 0 || t->zout != 0 || t->rne || t->full)) { /* INT16 is symmetric */
        return false;
    }
    return !(t->raw_out && (t->oscale_en || t->bias_en || t->requant || t->act != CM_ACT_NONE));
}

uint64_t cm_gemm_wgt_words(uint32_t n, const cm_gemm_task *t) {
    uint64_t taps = (uint64_t)t->kw * t->kh;
    switch (t->op) {
    case NPU_GEMM_CTRL_OP_CONV:
        return (taps * cm_gemm_blocks(t->ic, n) * n) << t->wide;
    case NPU_GEMM_CTRL_OP_DEPTHWISE:
        return taps << t->wide;
    default:
        return 0;
    }
}

/* The most input rows that the pixels of one group need. The widths of the fields keep every product here far from
 * 2^64. */
static uint64_t rows_of_group(uint32_t n, const cm_gemm_task *t) {
    uint64_t pixels = 2u * n * cm_gemm_group(n, t->wide, t->group);
    uint64_t out_rows = cm_min_u64(t->oh, 1 + (pixels + t->ow - 2) / t->ow);
    return cm_min_u64(t->ih, (out_rows - 1) * t->sh + (uint64_t)(t->kh - 1) * t->dh + 1);
}

/* Data that must be on chip: weights of one block of output channels, with WGT_RES of all; the input map, or with
 * WGT_RES the rows of a group. */
static bool memories_fit(uint32_t n, const cm_gemm_task *t) {
    uint64_t icbs = (uint64_t)cm_gemm_blocks(t->ic, n) << t->wide; /* words of a pixel */
    uint64_t ocbs = cm_gemm_blocks(t->oc, n);
    uint64_t wgt_words = cm_gemm_wgt_words(n, t);
    if (wgt_words > CM_WGT_WORDS || (t->wgt_res && (ocbs + 1) / 2 * wgt_words > CM_WGT_WORDS)) {
        return false;
    }
    if ((uint64_t)t->ih * t->iw * icbs <= CM_IFM_WORDS) {
        return true;
    }
    return t->wgt_res && rows_of_group(n, t) * t->iw * icbs + CM_LAYOUT_PIXELS * icbs <= CM_IFM_WORDS;
}

bool cm_gemm_fits(uint32_t n, const cm_gemm_task *t) {
    if (n != 4 && n != 8 && n != 16 && n != 32) {
        return false;
    }
    if (t->iw == 0 || t->ih == 0 || t->ic == 0 || t->ow == 0 || t->oh == 0 || t->oc == 0) {
        return false;
    }
    if (t->kw == 0 || t->kh == 0 || t->sw == 0 || t->sh == 0 || t->dw == 0 || t->dh == 0) {
        return false;
    }
    if (t->oc > CM_MAX_OC || (uint64_t)t->iw * t->ih > 65535 || (uint64_t)t->ow * t->oh > 65535) {
        return false;
    }
    return options_fit(t) && memories_fit(n, t);
}

bool cm_gemm_decode(uint32_t n, const uint32_t *regs, cm_gemm_task *out) {
    cm_gemm_task t = {0};
    decode_geometry(regs, &t);
    decode_addresses(regs, &t);
    decode_options(regs, &t);
    if (CM_GET(regs, GEMM_CTRL, PAD_MODE) != NPU_GEMM_CTRL_PAD_MODE_ZERO || !cm_gemm_fits(n, &t) ||
        !addresses_fit(n, &t)) {
        return false;
    }
    t.group = cm_gemm_group(n, t.wide, t.group);
    *out = t;
    return true;
}

bool cm_gemm_follows(const cm_gemm_task *before, const cm_gemm_task *task) {
    if (!task->wgt_keep) {
        return true;
    }
    return before != NULL && before->wgt_res && before->op == task->op && before->wgt_addr == task->wgt_addr &&
           before->wide == task->wide && before->kw == task->kw && before->kh == task->kh && before->ic == task->ic &&
           before->oc == task->oc;
}
