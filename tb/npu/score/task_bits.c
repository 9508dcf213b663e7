/* task_bits.c - one table of fields for each descriptor, lowest bit first. */
#include "task_bits.h"

#include <inttypes.h>
#include <stdio.h>

#include "npu_regs.h"

typedef struct field {
    const char *name;
    uint16_t bits;
    uint16_t offset, bytes; /* in the structure; bytes 1: a bool */
    uint16_t reg, lsb;      /* where software writes it */
} field;

#define FIELD(type, member, bits, reg, name)                                                                                               \
    { #member, bits, offsetof(type, member), sizeof(((type *)NULL)->member), NPU_REG_##reg, NPU_##reg##_##name##_LSB }

#define G(member, bits, reg, name) FIELD(cm_gemm_task, member, bits, reg, name)
static const field gemm_fields[] = {G(act_p[3], 32, GEMM_ACT_P3, VALUE),
                                    G(act_p[2], 32, GEMM_ACT_P2, VALUE),
                                    G(act_p[1], 32, GEMM_ACT_P1, VALUE),
                                    G(act_p[0], 32, GEMM_ACT_P0, VALUE),
                                    G(out_scale, 32, GEMM_OUT_SCALE, VALUE),
                                    G(in_scale, 32, GEMM_IN_SCALE, VALUE),
                                    G(psum_cstep, 32, GEMM_PSUM_CSTEP, BYTES),
                                    G(psum_addr, 32, GEMM_PSUM_ADDR, ADDR),
                                    G(ofm_cstep, 32, GEMM_OFM_CSTEP, BYTES),
                                    G(ofm_addr, 32, GEMM_OFM_ADDR, ADDR),
                                    G(bias_addr, 32, GEMM_BIAS_ADDR, ADDR),
                                    G(oscale_addr, 32, GEMM_OSCALE_ADDR, ADDR),
                                    G(wgt_addr, 32, GEMM_WGT_ADDR, ADDR),
                                    G(ifm_cstep, 32, GEMM_IFM_CSTEP, BYTES),
                                    G(ifm_addr, 32, GEMM_IFM_ADDR, ADDR),
                                    G(group, 8, GEMM_GROUP, TILES),
                                    G(oc, 16, GEMM_CHANNELS, OC),
                                    G(oh, 16, GEMM_OFM_SIZE, OH),
                                    G(ow, 16, GEMM_OFM_SIZE, OW),
                                    G(ic, 16, GEMM_CHANNELS, IC),
                                    G(ih, 16, GEMM_IFM_SIZE, IH),
                                    G(iw, 16, GEMM_IFM_SIZE, IW),
                                    G(pad_t, 8, GEMM_EXT_PAD, TOP),
                                    G(pad_l, 8, GEMM_EXT_PAD, LEFT),
                                    G(dh, 8, GEMM_EXT_KERNEL, DH),
                                    G(dw, 8, GEMM_EXT_KERNEL, DW),
                                    G(sh, 8, GEMM_EXT_STRIDE, SH),
                                    G(sw, 8, GEMM_EXT_STRIDE, SW),
                                    G(kh, 8, GEMM_EXT_KERNEL, KH),
                                    G(kw, 8, GEMM_EXT_KERNEL, KW),
                                    G(act, 4, GEMM_ACT, TYPE),
                                    G(wgt_keep, 1, GEMM_CTRL, WGT_KEEP),
                                    G(wgt_res, 1, GEMM_CTRL, WGT_RES),
                                    G(requant, 1, GEMM_CTRL, REQUANT),
                                    G(nhwc_in, 1, GEMM_CTRL, LAYOUT),
                                    G(psum_add, 1, GEMM_CTRL, PSUM_ADD),
                                    G(raw_out, 1, GEMM_CTRL, DIV_IC),
                                    G(oscale_en, 1, GEMM_CTRL, OSCALE),
                                    G(bias_en, 1, GEMM_CTRL, BIAS),
                                    G(fence, 1, GEMM_CTRL, FENCE),
                                    G(op, 2, GEMM_CTRL, OP)};

#define A(member, bits, reg, name) FIELD(cm_alu_task, member, bits, reg, name)
static const field alu_fields[] = {A(act_p[3], 32, ALU_ACT_P3, VALUE),
                                   A(act_p[2], 32, ALU_ACT_P2, VALUE),
                                   A(act_p[1], 32, ALU_ACT_P1, VALUE),
                                   A(act_p[0], 32, ALU_ACT_P0, VALUE),
                                   A(q_addr, 32, ALU_Q_ADDR, ADDR),
                                   A(p_addr, 32, ALU_P_ADDR, ADDR),
                                   A(q, 32, ALU_Q, VALUE),
                                   A(p, 32, ALU_P, VALUE),
                                   A(o_pstep, 32, ALU_O_PSTEP, BYTES),
                                   A(o_rstep, 32, ALU_O_RSTEP, BYTES),
                                   A(o_addr, 32, ALU_O_ADDR, ADDR),
                                   A(b_pstep, 32, ALU_B_PSTEP, BYTES),
                                   A(b_rstep, 32, ALU_B_RSTEP, BYTES),
                                   A(b_addr, 32, ALU_B_ADDR, ADDR),
                                   A(a_pstep, 32, ALU_A_PSTEP, BYTES),
                                   A(a_rstep, 32, ALU_A_RSTEP, BYTES),
                                   A(a_addr, 32, ALU_A_ADDR, ADDR),
                                   A(planes, 16, ALU_ROWS, PLANES),
                                   A(rows, 16, ALU_ROWS, ROWS),
                                   A(count, 24, ALU_SIZE, COUNT),
                                   A(act, 4, ALU_ACT, TYPE),
                                   A(dup, 1, ALU_CTRL, DUP),
                                   A(q_kind, 2, ALU_CTRL, Q_KIND),
                                   A(p_kind, 2, ALU_CTRL, P_KIND),
                                   A(op, 5, ALU_CTRL, OP)};

#define P(member, bits, reg, name) FIELD(cm_pool_task, member, bits, reg, name)
static const field pool_fields[] = {P(tab_addr, 32, POOL_TAB_ADDR, ADDR),
                                    P(recip, 32, POOL_RECIP, VALUE),
                                    P(ofm_rstep, 32, POOL_OFM_RSTEP, BYTES),
                                    P(ofm_cstep, 32, POOL_OFM_CSTEP, BYTES),
                                    P(ofm_addr, 32, POOL_OFM_ADDR, ADDR),
                                    P(ifm_rstep, 32, POOL_IFM_RSTEP, BYTES),
                                    P(ifm_cstep, 32, POOL_IFM_CSTEP, BYTES),
                                    P(ifm_addr, 32, POOL_IFM_ADDR, ADDR),
                                    P(c, 16, POOL_CHANNELS, C),
                                    P(oh, 16, POOL_OFM_SIZE, OH),
                                    P(ow, 16, POOL_OFM_SIZE, OW),
                                    P(ih, 16, POOL_IFM_SIZE, IH),
                                    P(iw, 16, POOL_IFM_SIZE, IW),
                                    P(pad_t, 8, POOL_PAD, TOP),
                                    P(pad_l, 8, POOL_PAD, LEFT),
                                    P(sh, 8, POOL_WINDOW, SH),
                                    P(sw, 8, POOL_WINDOW, SW),
                                    P(kh, 8, POOL_WINDOW, KH),
                                    P(kw, 8, POOL_WINDOW, KW),
                                    P(exclude, 1, POOL_CTRL, EXCLUDE_PAD),
                                    P(int8, 1, POOL_CTRL, INT8),
                                    P(avg, 1, POOL_CTRL, TYPE)};

typedef struct fields {
    const field *f;
    size_t count;
} fields;

static const fields tables[NPU_SCORE_KINDS] = {[NPU_SCORE_GEMM] = {gemm_fields, sizeof gemm_fields / sizeof *gemm_fields},
                                               [NPU_SCORE_ALU] = {alu_fields, sizeof alu_fields / sizeof *alu_fields},
                                               [NPU_SCORE_POOL] = {pool_fields, sizeof pool_fields / sizeof *pool_fields}};

static uint32_t load(const field *f, const npu_score_task *task) {
    const uint8_t *at = (const uint8_t *)task + f->offset;
    uint32_t value;
    if (f->bytes == 1) {
        return *(const bool *)at;
    }
    memcpy(&value, at, sizeof value);
    return value;
}

static void store(const field *f, npu_score_task *task, uint32_t value) {
    uint8_t *at = (uint8_t *)task + f->offset;
    if (f->bytes == 1) {
        *(bool *)at = value != 0;
    } else {
        memcpy(at, &value, sizeof value);
    }
}

uint32_t npu_score_task_bits(npu_score_kind kind) {
    uint32_t bits = 0;
    for (size_t i = 0; i < tables[kind].count; i++) {
        bits += tables[kind].f[i].bits;
    }
    return bits;
}

void npu_score_task_get(npu_score_kind kind, tb_sig sig, npu_score_task *task) {
    uint32_t lsb = 0;
    memset(task, 0, sizeof *task);
    for (size_t i = 0; i < tables[kind].count; i++) {
        const field *f = &tables[kind].f[i];
        store(f, task, (uint32_t)tb_get_field(sig, lsb, f->bits));
        lsb += f->bits;
    }
}

bool npu_score_task_same(tb_check *c, const char *stream, npu_score_kind kind, tb_sig sig, const npu_score_task *expected) {
    npu_score_task got;
    npu_score_task_get(kind, sig, &got);
    for (size_t i = 0; i < tables[kind].count; i++) {
        const field *f = &tables[kind].f[i];
        const uint32_t g = load(f, &got), e = load(f, expected);
        if (g != e) {
            char text[2][24];
            snprintf(text[0], sizeof text[0], "0x%" PRIx32, g);
            snprintf(text[1], sizeof text[1], "0x%" PRIx32, e);
            tb_check_fail(c, stream, c->task, f->name, text[0], text[1]);
            return false;
        }
    }
    return true;
}

void npu_score_task_regs(npu_score_kind kind, const npu_score_task *task, uint32_t regs[NPU_SCORE_REGS]) {
    memset(regs, 0, NPU_SCORE_REGS * sizeof *regs);
    for (size_t i = 0; i < tables[kind].count; i++) {
        const field *f = &tables[kind].f[i];
        regs[f->reg / 4] |= load(f, task) << f->lsb;
    }
    if (kind == NPU_SCORE_GEMM) {
        regs[NPU_REG_GEMM_CTRL / 4] ^= NPU_GEMM_CTRL_LAYOUT_MASK; /* nhwc_in is its opposite */
        regs[NPU_REG_GEMM_CTRL / 4] |= NPU_GEMM_CTRL_EXT_MASK;
    }
}

bool npu_score_task_decode(npu_score_kind kind, uint32_t n, const uint32_t regs[NPU_SCORE_REGS], npu_score_task *task) {
    switch (kind) {
    case NPU_SCORE_GEMM:
        return cm_gemm_decode(n, regs, &task->gemm);
    case NPU_SCORE_ALU:
        return cm_alu_decode(regs, &task->alu);
    default:
        return cm_pool_decode(n, regs, &task->pool);
    }
}
