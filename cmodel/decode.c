/*
 * decode.c - the GEMM registers as a task, and the limits of docs/npu.md section 3.
 */
#include "gemm.h"

#include "npu_regs.h"

/* Field of a register in an array of register words, by the names of the generated header. */
#define GET(regs, reg, field) (((regs)[NPU_REG_##reg / 4] & NPU_##reg##_##field##_MASK) >> NPU_##reg##_##field##_LSB)

static void decode_geometry(const uint32_t *regs, cm_gemm_task *t) {
    if (GET(regs, GEMM_CTRL, EXT)) {
        t->kw = GET(regs, GEMM_EXT_KERNEL, KW);
        t->kh = GET(regs, GEMM_EXT_KERNEL, KH);
        t->dw = GET(regs, GEMM_EXT_KERNEL, DW);
        t->dh = GET(regs, GEMM_EXT_KERNEL, DH);
        t->sw = GET(regs, GEMM_EXT_STRIDE, SW);
        t->sh = GET(regs, GEMM_EXT_STRIDE, SH);
        t->pad_l = GET(regs, GEMM_EXT_PAD, LEFT);
        t->pad_t = GET(regs, GEMM_EXT_PAD, TOP);
    } else {
        t->kw = t->kh = GET(regs, GEMM_CTRL, KERNEL);
        t->dw = t->dh = 1;
        t->sw = t->sh = GET(regs, GEMM_CTRL, STRIDE);
        t->pad_l = GET(regs, GEMM_CTRL, PAD_LEFT);
        t->pad_t = GET(regs, GEMM_CTRL, PAD_TOP);
    }
    t->iw = GET(regs, GEMM_IFM_SIZE, IW);
    t->ih = GET(regs, GEMM_IFM_SIZE, IH);
    t->ic = GET(regs, GEMM_CHANNELS, IC);
    t->oc = GET(regs, GEMM_CHANNELS, OC);
    t->ow = GET(regs, GEMM_OFM_SIZE, OW);
    t->oh = GET(regs, GEMM_OFM_SIZE, OH);
    t->group = GET(regs, GEMM_GROUP, TILES);
}

static void decode_addresses(const uint32_t *regs, cm_gemm_task *t) {
    t->ifm_addr = GET(regs, GEMM_IFM_ADDR, ADDR);
    t->ifm_cstep = GET(regs, GEMM_IFM_CSTEP, BYTES);
    t->wgt_addr = GET(regs, GEMM_WGT_ADDR, ADDR);
    t->oscale_addr = GET(regs, GEMM_OSCALE_ADDR, ADDR);
    t->bias_addr = GET(regs, GEMM_BIAS_ADDR, ADDR);
    t->ofm_addr = GET(regs, GEMM_OFM_ADDR, ADDR);
    t->ofm_cstep = GET(regs, GEMM_OFM_CSTEP, BYTES);
    t->psum_addr = GET(regs, GEMM_PSUM_ADDR, ADDR);
    t->in_scale = GET(regs, GEMM_IN_SCALE, VALUE);
}

static void decode_options(const uint32_t *regs, cm_gemm_task *t) {
    t->fence = GET(regs, GEMM_CTRL, FENCE) != 0;
    t->bias_en = GET(regs, GEMM_CTRL, BIAS) != 0;
    t->oscale_en = GET(regs, GEMM_CTRL, OSCALE) != 0;
    t->raw_out = GET(regs, GEMM_CTRL, DIV_IC) != 0;
    t->psum_add = GET(regs, GEMM_CTRL, PSUM_ADD) != 0;
    t->act = GET(regs, GEMM_ACT, TYPE);
}

static bool modes_exist(const uint32_t *regs) {
    return GET(regs, GEMM_CTRL, OP) == NPU_GEMM_CTRL_OP_CONV && GET(regs, GEMM_CTRL, PAD_MODE) == NPU_GEMM_CTRL_PAD_MODE_ZERO &&
           GET(regs, GEMM_CTRL, LAYOUT) == 1 && GET(regs, GEMM_CTRL, REQUANT) == 0 && GET(regs, GEMM_ACT, TYPE) <= NPU_GEMM_ACT_TYPE_RELU;
}

/* The description of each address register names its alignment; it holds whether or not the task uses that address. */
static bool addresses_aligned(const cm_gemm_task *t) {
    uint32_t by4 = t->ifm_addr | t->ofm_addr | t->psum_addr;
    uint32_t by16 = t->ifm_cstep | t->ofm_cstep | t->wgt_addr | t->oscale_addr | t->bias_addr;
    return by4 % 4 == 0 && by16 % 16 == 0;
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
    /* the widths of the fields keep every product far from 2^64 */
    uint64_t icbs = ((uint64_t)t->ic + n - 1) / n;
    uint64_t in_pixels = (uint64_t)t->iw * t->ih;
    uint64_t out_pixels = (uint64_t)t->ow * t->oh;
    uint64_t wgt_words = (uint64_t)t->kw * t->kh * icbs * n;
    if (t->oc > CM_MAX_OC || in_pixels > 65535 || out_pixels > 65535 || in_pixels * icbs > CM_IFM_WORDS || wgt_words > CM_WGT_WORDS) {
        return false;
    }
    return !(t->raw_out && (t->oscale_en || t->bias_en || t->act != CM_ACT_NONE));
}

bool cm_gemm_decode(uint32_t n, const uint32_t *regs, cm_gemm_task *out) {
    cm_gemm_task t = {0};
    decode_geometry(regs, &t);
    decode_addresses(regs, &t);
    decode_options(regs, &t);
    if (!modes_exist(regs) || !addresses_aligned(&t) || !cm_gemm_fits(n, &t)) {
        return false;
    }
    uint32_t most = CM_GROUP_PIXELS / (2 * n);
    t.group = t.group == 0 ? 1 : t.group > most ? most : t.group;
    *out = t;
    return true;
}
