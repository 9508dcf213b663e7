/* score.c - the table of checks. */
#include "score.h"

/* Units of rtl/lib that the NPU does not use. */
#define NOT_IN_NPU &npu_score_fp_sub, &npu_score_fp_max, &npu_score_fp_min, &npu_score_fp_cmp, &npu_score_fp_f32_to_i32

/* A unit stands before those that contain it (tb/tap/check.h). */
/* clang-format off */
const tb_check_ops *const npu_score_all[] = {
    &npu_score_clk_gate,
    &npu_score_npu_top,
    &npu_score_dma_rd,
    &npu_score_send_buf,
    &npu_score_dma_wr,
    &npu_score_fp_mul,
    &npu_score_fp_add,
    &npu_score_fp_i32_to_f32,
    &npu_score_fp_f32_to_i8,
    &npu_score_act,
    &npu_score_transpose,
    &npu_score_requant,
    &npu_score_post,
    &npu_score_layout,
    &npu_score_im2col,
    &npu_score_mesh,
    &npu_score_acc,
    &npu_score_ofm_buf,
    &npu_score_alu_math,
    &npu_score_alu_chan,
    &npu_score_alu_walk,
    &npu_score_alu,
    &npu_score_gemm_check,
    &npu_score_alu_check,
    &npu_score_pool_check,
    &npu_score_npu_perf,
    &npu_score_npu_regs,
    &npu_score_gemm_queue,
    &npu_score_ifm_ld,
    &npu_score_wgt_ld,
    &npu_score_par_ld,
    &npu_score_ifm_buf,
    &npu_score_wgt_buf,
    &npu_score_par_buf,
    &npu_score_pool_ld,
    &npu_score_pool_line,
    &npu_score_pool_seq,
    &npu_score_pool_op,
    &npu_score_pool_out,
    &npu_score_pool_chan,
    &npu_score_pool,
    &npu_score_gemm,
    NOT_IN_NPU,
};
/* clang-format on */
const size_t npu_score_count_bench = sizeof npu_score_all / sizeof *npu_score_all;
const size_t npu_score_count =
    (sizeof npu_score_all - sizeof(const tb_check_ops *[]){NOT_IN_NPU}) / sizeof *npu_score_all;
