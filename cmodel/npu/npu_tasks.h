/*
 * npu_tasks.h - tasks as the units get them.
 *
 * Generated from regs/npu.regs by tools/gen_regs.py: do not edit, run `make regs`.
 * A member has _LSB and _WIDTH in the descriptor of the RTL.
 */
#ifndef NPU_TASKS_H
#define NPU_TASKS_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */

/* GEMM task: what the register file hands to the engines of the GEMM path, docs/npu/npu.md section 3.2 */
typedef struct cm_gemm_task {
    uint32_t op; /* OpConv, OpDepthwise, OpConvert */
    bool fence; /* start only when all earlier tasks are complete */
    bool bias_en;
    bool oscale_en;
    bool raw_out; /* div_ic: write int32 partial sums */
    bool psum_add; /* add int32 partial sums read from psum_addr */
    bool nhwc_in; /* INT8 NHWC input */
    bool requant; /* INT8 NHWC output */
    bool wgt_res; /* resident weights, pixel groups outermost */
    bool wgt_keep; /* weights of the task before */
    uint32_t act;
    uint32_t kw; /* kernel width, 1..255 */
    uint32_t kh;
    uint32_t sw; /* stride, 1..255 */
    uint32_t sh;
    uint32_t dw; /* dilation, 1..255 */
    uint32_t dh;
    uint32_t pad_l;
    uint32_t pad_t;
    uint32_t iw; /* input map */
    uint32_t ih;
    uint32_t ic;
    uint32_t ow; /* output map */
    uint32_t oh;
    uint32_t oc;
    uint32_t group; /* tiles written back together */
    uint32_t ifm_addr; /* byte addresses; channel steps or pixel pitches in bytes */
    uint32_t ifm_cstep;
    uint32_t wgt_addr;
    uint32_t oscale_addr;
    uint32_t bias_addr;
    uint32_t ofm_addr;
    uint32_t ofm_cstep;
    uint32_t psum_addr;
    uint32_t psum_cstep;
    uint32_t in_scale; /* FP32 */
    uint32_t out_scale; /* FP32 */
    uint32_t act_p[4]; /* FP32 */
} cm_gemm_task;

#define CM_GEMM_TASK_WIDTH 663u
#define CM_GEMM_TASK_OP_LSB 661u
#define CM_GEMM_TASK_OP_WIDTH 2u
#define CM_GEMM_TASK_FENCE_LSB 660u
#define CM_GEMM_TASK_FENCE_WIDTH 1u
#define CM_GEMM_TASK_BIAS_EN_LSB 659u
#define CM_GEMM_TASK_BIAS_EN_WIDTH 1u
#define CM_GEMM_TASK_OSCALE_EN_LSB 658u
#define CM_GEMM_TASK_OSCALE_EN_WIDTH 1u
#define CM_GEMM_TASK_RAW_OUT_LSB 657u
#define CM_GEMM_TASK_RAW_OUT_WIDTH 1u
#define CM_GEMM_TASK_PSUM_ADD_LSB 656u
#define CM_GEMM_TASK_PSUM_ADD_WIDTH 1u
#define CM_GEMM_TASK_NHWC_IN_LSB 655u
#define CM_GEMM_TASK_NHWC_IN_WIDTH 1u
#define CM_GEMM_TASK_REQUANT_LSB 654u
#define CM_GEMM_TASK_REQUANT_WIDTH 1u
#define CM_GEMM_TASK_WGT_RES_LSB 653u
#define CM_GEMM_TASK_WGT_RES_WIDTH 1u
#define CM_GEMM_TASK_WGT_KEEP_LSB 652u
#define CM_GEMM_TASK_WGT_KEEP_WIDTH 1u
#define CM_GEMM_TASK_ACT_LSB 648u
#define CM_GEMM_TASK_ACT_WIDTH 4u
#define CM_GEMM_TASK_KW_LSB 640u
#define CM_GEMM_TASK_KW_WIDTH 8u
#define CM_GEMM_TASK_KH_LSB 632u
#define CM_GEMM_TASK_KH_WIDTH 8u
#define CM_GEMM_TASK_SW_LSB 624u
#define CM_GEMM_TASK_SW_WIDTH 8u
#define CM_GEMM_TASK_SH_LSB 616u
#define CM_GEMM_TASK_SH_WIDTH 8u
#define CM_GEMM_TASK_DW_LSB 608u
#define CM_GEMM_TASK_DW_WIDTH 8u
#define CM_GEMM_TASK_DH_LSB 600u
#define CM_GEMM_TASK_DH_WIDTH 8u
#define CM_GEMM_TASK_PAD_L_LSB 592u
#define CM_GEMM_TASK_PAD_L_WIDTH 8u
#define CM_GEMM_TASK_PAD_T_LSB 584u
#define CM_GEMM_TASK_PAD_T_WIDTH 8u
#define CM_GEMM_TASK_IW_LSB 568u
#define CM_GEMM_TASK_IW_WIDTH 16u
#define CM_GEMM_TASK_IH_LSB 552u
#define CM_GEMM_TASK_IH_WIDTH 16u
#define CM_GEMM_TASK_IC_LSB 536u
#define CM_GEMM_TASK_IC_WIDTH 16u
#define CM_GEMM_TASK_OW_LSB 520u
#define CM_GEMM_TASK_OW_WIDTH 16u
#define CM_GEMM_TASK_OH_LSB 504u
#define CM_GEMM_TASK_OH_WIDTH 16u
#define CM_GEMM_TASK_OC_LSB 488u
#define CM_GEMM_TASK_OC_WIDTH 16u
#define CM_GEMM_TASK_GROUP_LSB 480u
#define CM_GEMM_TASK_GROUP_WIDTH 8u
#define CM_GEMM_TASK_IFM_ADDR_LSB 448u
#define CM_GEMM_TASK_IFM_ADDR_WIDTH 32u
#define CM_GEMM_TASK_IFM_CSTEP_LSB 416u
#define CM_GEMM_TASK_IFM_CSTEP_WIDTH 32u
#define CM_GEMM_TASK_WGT_ADDR_LSB 384u
#define CM_GEMM_TASK_WGT_ADDR_WIDTH 32u
#define CM_GEMM_TASK_OSCALE_ADDR_LSB 352u
#define CM_GEMM_TASK_OSCALE_ADDR_WIDTH 32u
#define CM_GEMM_TASK_BIAS_ADDR_LSB 320u
#define CM_GEMM_TASK_BIAS_ADDR_WIDTH 32u
#define CM_GEMM_TASK_OFM_ADDR_LSB 288u
#define CM_GEMM_TASK_OFM_ADDR_WIDTH 32u
#define CM_GEMM_TASK_OFM_CSTEP_LSB 256u
#define CM_GEMM_TASK_OFM_CSTEP_WIDTH 32u
#define CM_GEMM_TASK_PSUM_ADDR_LSB 224u
#define CM_GEMM_TASK_PSUM_ADDR_WIDTH 32u
#define CM_GEMM_TASK_PSUM_CSTEP_LSB 192u
#define CM_GEMM_TASK_PSUM_CSTEP_WIDTH 32u
#define CM_GEMM_TASK_IN_SCALE_LSB 160u
#define CM_GEMM_TASK_IN_SCALE_WIDTH 32u
#define CM_GEMM_TASK_OUT_SCALE_LSB 128u
#define CM_GEMM_TASK_OUT_SCALE_WIDTH 32u
#define CM_GEMM_TASK_ACT_P0_LSB 96u
#define CM_GEMM_TASK_ACT_P0_WIDTH 32u
#define CM_GEMM_TASK_ACT_P1_LSB 64u
#define CM_GEMM_TASK_ACT_P1_WIDTH 32u
#define CM_GEMM_TASK_ACT_P2_LSB 32u
#define CM_GEMM_TASK_ACT_P2_WIDTH 32u
#define CM_GEMM_TASK_ACT_P3_LSB 0u
#define CM_GEMM_TASK_ACT_P3_WIDTH 32u

/* X(name, element, lsb, width, register, field) for each member, highest first; the field is the one that software writes. */
#define CM_GEMM_TASK_TABLE(X) \
    X(op, op, 661u, 2u, GEMM_CTRL, OP) \
    X(fence, fence, 660u, 1u, GEMM_CTRL, FENCE) \
    X(bias_en, bias_en, 659u, 1u, GEMM_CTRL, BIAS) \
    X(oscale_en, oscale_en, 658u, 1u, GEMM_CTRL, OSCALE) \
    X(raw_out, raw_out, 657u, 1u, GEMM_CTRL, DIV_IC) \
    X(psum_add, psum_add, 656u, 1u, GEMM_CTRL, PSUM_ADD) \
    X(nhwc_in, nhwc_in, 655u, 1u, GEMM_CTRL, LAYOUT) \
    X(requant, requant, 654u, 1u, GEMM_CTRL, REQUANT) \
    X(wgt_res, wgt_res, 653u, 1u, GEMM_CTRL, WGT_RES) \
    X(wgt_keep, wgt_keep, 652u, 1u, GEMM_CTRL, WGT_KEEP) \
    X(act, act, 648u, 4u, GEMM_ACT, TYPE) \
    X(kw, kw, 640u, 8u, GEMM_EXT_KERNEL, KW) \
    X(kh, kh, 632u, 8u, GEMM_EXT_KERNEL, KH) \
    X(sw, sw, 624u, 8u, GEMM_EXT_STRIDE, SW) \
    X(sh, sh, 616u, 8u, GEMM_EXT_STRIDE, SH) \
    X(dw, dw, 608u, 8u, GEMM_EXT_KERNEL, DW) \
    X(dh, dh, 600u, 8u, GEMM_EXT_KERNEL, DH) \
    X(pad_l, pad_l, 592u, 8u, GEMM_EXT_PAD, LEFT) \
    X(pad_t, pad_t, 584u, 8u, GEMM_EXT_PAD, TOP) \
    X(iw, iw, 568u, 16u, GEMM_IFM_SIZE, IW) \
    X(ih, ih, 552u, 16u, GEMM_IFM_SIZE, IH) \
    X(ic, ic, 536u, 16u, GEMM_CHANNELS, IC) \
    X(ow, ow, 520u, 16u, GEMM_OFM_SIZE, OW) \
    X(oh, oh, 504u, 16u, GEMM_OFM_SIZE, OH) \
    X(oc, oc, 488u, 16u, GEMM_CHANNELS, OC) \
    X(group, group, 480u, 8u, GEMM_GROUP, TILES) \
    X(ifm_addr, ifm_addr, 448u, 32u, GEMM_IFM_ADDR, ADDR) \
    X(ifm_cstep, ifm_cstep, 416u, 32u, GEMM_IFM_CSTEP, BYTES) \
    X(wgt_addr, wgt_addr, 384u, 32u, GEMM_WGT_ADDR, ADDR) \
    X(oscale_addr, oscale_addr, 352u, 32u, GEMM_OSCALE_ADDR, ADDR) \
    X(bias_addr, bias_addr, 320u, 32u, GEMM_BIAS_ADDR, ADDR) \
    X(ofm_addr, ofm_addr, 288u, 32u, GEMM_OFM_ADDR, ADDR) \
    X(ofm_cstep, ofm_cstep, 256u, 32u, GEMM_OFM_CSTEP, BYTES) \
    X(psum_addr, psum_addr, 224u, 32u, GEMM_PSUM_ADDR, ADDR) \
    X(psum_cstep, psum_cstep, 192u, 32u, GEMM_PSUM_CSTEP, BYTES) \
    X(in_scale, in_scale, 160u, 32u, GEMM_IN_SCALE, VALUE) \
    X(out_scale, out_scale, 128u, 32u, GEMM_OUT_SCALE, VALUE) \
    X(act_p0, act_p[0], 96u, 32u, GEMM_ACT_P0, VALUE) \
    X(act_p1, act_p[1], 64u, 32u, GEMM_ACT_P1, VALUE) \
    X(act_p2, act_p[2], 32u, 32u, GEMM_ACT_P2, VALUE) \
    X(act_p3, act_p[3], 0u, 32u, GEMM_ACT_P3, VALUE)

/* X(register, mask): bits that are inverted once every member has been written to its field. */
#define CM_GEMM_TASK_FLIPS(X) \
    X(GEMM_CTRL, 0x01200000u)

/* ALU task, docs/npu/npu.md section 3.3 */
typedef struct cm_alu_task {
    uint32_t op;
    uint32_t p_kind;
    uint32_t q_kind;
    bool dup;
    uint32_t act;
    uint32_t count; /* elements of a row */
    uint32_t rows;
    uint32_t planes;
    uint32_t a_addr; /* byte addresses and steps */
    uint32_t a_rstep;
    uint32_t a_pstep;
    uint32_t b_addr;
    uint32_t b_rstep;
    uint32_t b_pstep;
    uint32_t o_addr;
    uint32_t o_rstep;
    uint32_t o_pstep;
    uint32_t p; /* FP32 */
    uint32_t q;
    uint32_t p_addr;
    uint32_t q_addr;
    uint32_t act_p[4]; /* FP32 */
} cm_alu_task;

#define CM_ALU_TASK_WIDTH 614u
#define CM_ALU_TASK_OP_LSB 609u
#define CM_ALU_TASK_OP_WIDTH 5u
#define CM_ALU_TASK_P_KIND_LSB 607u
#define CM_ALU_TASK_P_KIND_WIDTH 2u
#define CM_ALU_TASK_Q_KIND_LSB 605u
#define CM_ALU_TASK_Q_KIND_WIDTH 2u
#define CM_ALU_TASK_DUP_LSB 604u
#define CM_ALU_TASK_DUP_WIDTH 1u
#define CM_ALU_TASK_ACT_LSB 600u
#define CM_ALU_TASK_ACT_WIDTH 4u
#define CM_ALU_TASK_COUNT_LSB 576u
#define CM_ALU_TASK_COUNT_WIDTH 24u
#define CM_ALU_TASK_ROWS_LSB 560u
#define CM_ALU_TASK_ROWS_WIDTH 16u
#define CM_ALU_TASK_PLANES_LSB 544u
#define CM_ALU_TASK_PLANES_WIDTH 16u
#define CM_ALU_TASK_A_ADDR_LSB 512u
#define CM_ALU_TASK_A_ADDR_WIDTH 32u
#define CM_ALU_TASK_A_RSTEP_LSB 480u
#define CM_ALU_TASK_A_RSTEP_WIDTH 32u
#define CM_ALU_TASK_A_PSTEP_LSB 448u
#define CM_ALU_TASK_A_PSTEP_WIDTH 32u
#define CM_ALU_TASK_B_ADDR_LSB 416u
#define CM_ALU_TASK_B_ADDR_WIDTH 32u
#define CM_ALU_TASK_B_RSTEP_LSB 384u
#define CM_ALU_TASK_B_RSTEP_WIDTH 32u
#define CM_ALU_TASK_B_PSTEP_LSB 352u
#define CM_ALU_TASK_B_PSTEP_WIDTH 32u
#define CM_ALU_TASK_O_ADDR_LSB 320u
#define CM_ALU_TASK_O_ADDR_WIDTH 32u
#define CM_ALU_TASK_O_RSTEP_LSB 288u
#define CM_ALU_TASK_O_RSTEP_WIDTH 32u
#define CM_ALU_TASK_O_PSTEP_LSB 256u
#define CM_ALU_TASK_O_PSTEP_WIDTH 32u
#define CM_ALU_TASK_P_LSB 224u
#define CM_ALU_TASK_P_WIDTH 32u
#define CM_ALU_TASK_Q_LSB 192u
#define CM_ALU_TASK_Q_WIDTH 32u
#define CM_ALU_TASK_P_ADDR_LSB 160u
#define CM_ALU_TASK_P_ADDR_WIDTH 32u
#define CM_ALU_TASK_Q_ADDR_LSB 128u
#define CM_ALU_TASK_Q_ADDR_WIDTH 32u
#define CM_ALU_TASK_ACT_P0_LSB 96u
#define CM_ALU_TASK_ACT_P0_WIDTH 32u
#define CM_ALU_TASK_ACT_P1_LSB 64u
#define CM_ALU_TASK_ACT_P1_WIDTH 32u
#define CM_ALU_TASK_ACT_P2_LSB 32u
#define CM_ALU_TASK_ACT_P2_WIDTH 32u
#define CM_ALU_TASK_ACT_P3_LSB 0u
#define CM_ALU_TASK_ACT_P3_WIDTH 32u

/* X(name, element, lsb, width, register, field) for each member, highest first; the field is the one that software writes. */
#define CM_ALU_TASK_TABLE(X) \
    X(op, op, 609u, 5u, ALU_CTRL, OP) \
    X(p_kind, p_kind, 607u, 2u, ALU_CTRL, P_KIND) \
    X(q_kind, q_kind, 605u, 2u, ALU_CTRL, Q_KIND) \
    X(dup, dup, 604u, 1u, ALU_CTRL, DUP) \
    X(act, act, 600u, 4u, ALU_ACT, TYPE) \
    X(count, count, 576u, 24u, ALU_SIZE, COUNT) \
    X(rows, rows, 560u, 16u, ALU_ROWS, ROWS) \
    X(planes, planes, 544u, 16u, ALU_ROWS, PLANES) \
    X(a_addr, a_addr, 512u, 32u, ALU_A_ADDR, ADDR) \
    X(a_rstep, a_rstep, 480u, 32u, ALU_A_RSTEP, BYTES) \
    X(a_pstep, a_pstep, 448u, 32u, ALU_A_PSTEP, BYTES) \
    X(b_addr, b_addr, 416u, 32u, ALU_B_ADDR, ADDR) \
    X(b_rstep, b_rstep, 384u, 32u, ALU_B_RSTEP, BYTES) \
    X(b_pstep, b_pstep, 352u, 32u, ALU_B_PSTEP, BYTES) \
    X(o_addr, o_addr, 320u, 32u, ALU_O_ADDR, ADDR) \
    X(o_rstep, o_rstep, 288u, 32u, ALU_O_RSTEP, BYTES) \
    X(o_pstep, o_pstep, 256u, 32u, ALU_O_PSTEP, BYTES) \
    X(p, p, 224u, 32u, ALU_P, VALUE) \
    X(q, q, 192u, 32u, ALU_Q, VALUE) \
    X(p_addr, p_addr, 160u, 32u, ALU_P_ADDR, ADDR) \
    X(q_addr, q_addr, 128u, 32u, ALU_Q_ADDR, ADDR) \
    X(act_p0, act_p[0], 96u, 32u, ALU_ACT_P0, VALUE) \
    X(act_p1, act_p[1], 64u, 32u, ALU_ACT_P1, VALUE) \
    X(act_p2, act_p[2], 32u, 32u, ALU_ACT_P2, VALUE) \
    X(act_p3, act_p[3], 0u, 32u, ALU_ACT_P3, VALUE)

/* X(register, mask): bits that are inverted once every member has been written to its field. */
#define CM_ALU_TASK_FLIPS(X)

/* POOL task, docs/npu/npu.md section 3.4 */
typedef struct cm_pool_task {
    bool avg; /* 0 maximum, 1 average */
    bool int8; /* INT8 NHWC, else FP32 NCHW */
    bool exclude; /* average over the elements inside the map */
    uint32_t kw;
    uint32_t kh;
    uint32_t sw;
    uint32_t sh;
    uint32_t pad_l;
    uint32_t pad_t;
    uint32_t iw;
    uint32_t ih;
    uint32_t ow;
    uint32_t oh;
    uint32_t c;
    uint32_t ifm_addr; /* byte addresses and steps */
    uint32_t ifm_cstep;
    uint32_t ifm_rstep;
    uint32_t ofm_addr;
    uint32_t ofm_cstep;
    uint32_t ofm_rstep;
    uint32_t recip; /* FP32 */
    uint32_t tab_addr;
} cm_pool_task;

#define CM_POOL_TASK_WIDTH 387u
#define CM_POOL_TASK_AVG_LSB 386u
#define CM_POOL_TASK_AVG_WIDTH 1u
#define CM_POOL_TASK_INT8_LSB 385u
#define CM_POOL_TASK_INT8_WIDTH 1u
#define CM_POOL_TASK_EXCLUDE_LSB 384u
#define CM_POOL_TASK_EXCLUDE_WIDTH 1u
#define CM_POOL_TASK_KW_LSB 376u
#define CM_POOL_TASK_KW_WIDTH 8u
#define CM_POOL_TASK_KH_LSB 368u
#define CM_POOL_TASK_KH_WIDTH 8u
#define CM_POOL_TASK_SW_LSB 360u
#define CM_POOL_TASK_SW_WIDTH 8u
#define CM_POOL_TASK_SH_LSB 352u
#define CM_POOL_TASK_SH_WIDTH 8u
#define CM_POOL_TASK_PAD_L_LSB 344u
#define CM_POOL_TASK_PAD_L_WIDTH 8u
#define CM_POOL_TASK_PAD_T_LSB 336u
#define CM_POOL_TASK_PAD_T_WIDTH 8u
#define CM_POOL_TASK_IW_LSB 320u
#define CM_POOL_TASK_IW_WIDTH 16u
#define CM_POOL_TASK_IH_LSB 304u
#define CM_POOL_TASK_IH_WIDTH 16u
#define CM_POOL_TASK_OW_LSB 288u
#define CM_POOL_TASK_OW_WIDTH 16u
#define CM_POOL_TASK_OH_LSB 272u
#define CM_POOL_TASK_OH_WIDTH 16u
#define CM_POOL_TASK_C_LSB 256u
#define CM_POOL_TASK_C_WIDTH 16u
#define CM_POOL_TASK_IFM_ADDR_LSB 224u
#define CM_POOL_TASK_IFM_ADDR_WIDTH 32u
#define CM_POOL_TASK_IFM_CSTEP_LSB 192u
#define CM_POOL_TASK_IFM_CSTEP_WIDTH 32u
#define CM_POOL_TASK_IFM_RSTEP_LSB 160u
#define CM_POOL_TASK_IFM_RSTEP_WIDTH 32u
#define CM_POOL_TASK_OFM_ADDR_LSB 128u
#define CM_POOL_TASK_OFM_ADDR_WIDTH 32u
#define CM_POOL_TASK_OFM_CSTEP_LSB 96u
#define CM_POOL_TASK_OFM_CSTEP_WIDTH 32u
#define CM_POOL_TASK_OFM_RSTEP_LSB 64u
#define CM_POOL_TASK_OFM_RSTEP_WIDTH 32u
#define CM_POOL_TASK_RECIP_LSB 32u
#define CM_POOL_TASK_RECIP_WIDTH 32u
#define CM_POOL_TASK_TAB_ADDR_LSB 0u
#define CM_POOL_TASK_TAB_ADDR_WIDTH 32u

/* X(name, element, lsb, width, register, field) for each member, highest first; the field is the one that software writes. */
#define CM_POOL_TASK_TABLE(X) \
    X(avg, avg, 386u, 1u, POOL_CTRL, TYPE) \
    X(int8, int8, 385u, 1u, POOL_CTRL, INT8) \
    X(exclude, exclude, 384u, 1u, POOL_CTRL, EXCLUDE_PAD) \
    X(kw, kw, 376u, 8u, POOL_WINDOW, KW) \
    X(kh, kh, 368u, 8u, POOL_WINDOW, KH) \
    X(sw, sw, 360u, 8u, POOL_WINDOW, SW) \
    X(sh, sh, 352u, 8u, POOL_WINDOW, SH) \
    X(pad_l, pad_l, 344u, 8u, POOL_PAD, LEFT) \
    X(pad_t, pad_t, 336u, 8u, POOL_PAD, TOP) \
    X(iw, iw, 320u, 16u, POOL_IFM_SIZE, IW) \
    X(ih, ih, 304u, 16u, POOL_IFM_SIZE, IH) \
    X(ow, ow, 288u, 16u, POOL_OFM_SIZE, OW) \
    X(oh, oh, 272u, 16u, POOL_OFM_SIZE, OH) \
    X(c, c, 256u, 16u, POOL_CHANNELS, C) \
    X(ifm_addr, ifm_addr, 224u, 32u, POOL_IFM_ADDR, ADDR) \
    X(ifm_cstep, ifm_cstep, 192u, 32u, POOL_IFM_CSTEP, BYTES) \
    X(ifm_rstep, ifm_rstep, 160u, 32u, POOL_IFM_RSTEP, BYTES) \
    X(ofm_addr, ofm_addr, 128u, 32u, POOL_OFM_ADDR, ADDR) \
    X(ofm_cstep, ofm_cstep, 96u, 32u, POOL_OFM_CSTEP, BYTES) \
    X(ofm_rstep, ofm_rstep, 64u, 32u, POOL_OFM_RSTEP, BYTES) \
    X(recip, recip, 32u, 32u, POOL_RECIP, VALUE) \
    X(tab_addr, tab_addr, 0u, 32u, POOL_TAB_ADDR, ADDR)

/* X(register, mask): bits that are inverted once every member has been written to its field. */
#define CM_POOL_TASK_FLIPS(X)

/* clang-format on */

#endif
