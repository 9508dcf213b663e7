/*
 * score.h - the checks of the NPU's units inside the running NPU (tb/tap/check.h); one file for each unit.
 *
 * layout.c follows the ports of layout, and so on; tb/npu/taps.list says what else is tapped. Predictions come from the
 * golden functions of cmodel.h; where a unit has none (queues, walkers), the check writes its behaviour down from
 * docs/npu/npu.md.
 */
#ifndef NPU_SCORE_H
#define NPU_SCORE_H

#include <stdlib.h>

#include "cmodel.h"
#include "tb.h"

/* Parameters of the design; the ctx of all checks. */
typedef struct npu_score_ctx {
    uint32_t n;
} npu_score_ctx;

static inline uint32_t npu_score_n(const tb_check *c) {
    return ((const npu_score_ctx *)c->all->ctx)->n;
}

/* Value of a signal of up to 8 bits. */
static inline uint32_t npu_score_b(tb_sig s) {
    return *(const uint8_t *)s.ptr;
}

/* valid && ready */
static inline bool npu_score_fire(tb_sig valid, tb_sig ready) {
    return (*(const uint8_t *)valid.ptr & *(const uint8_t *)ready.ptr) != 0;
}

/*
 * All checks; the NPU has units for the first `npu_score_count`, benches also hold library units that it does not use.
 */
extern const tb_check_ops *const npu_score_all[];
extern const size_t npu_score_count, npu_score_count_bench;

extern const tb_check_ops npu_score_clk_gate;
extern const tb_check_ops npu_score_layout;
extern const tb_check_ops npu_score_gemm, npu_score_gemm_queue, npu_score_ifm_ld, npu_score_wgt_ld, npu_score_par_ld;
extern const tb_check_ops npu_score_ifm_buf, npu_score_wgt_buf, npu_score_par_buf;
extern const tb_check_ops npu_score_fp_mul, npu_score_fp_add, npu_score_fp_i32_to_f32, npu_score_fp_f32_to_i8;
extern const tb_check_ops npu_score_fp_sub, npu_score_fp_max, npu_score_fp_min, npu_score_fp_cmp,
    npu_score_fp_f32_to_i32;
extern const tb_check_ops npu_score_act;
extern const tb_check_ops npu_score_transpose;
extern const tb_check_ops npu_score_requant;
extern const tb_check_ops npu_score_post;
extern const tb_check_ops npu_score_im2col, npu_score_mesh, npu_score_acc, npu_score_ofm_buf;
extern const tb_check_ops npu_score_dma_rd;
extern const tb_check_ops npu_score_dma_wr;
extern const tb_check_ops npu_score_send_buf;
extern const tb_check_ops npu_score_gemm_check;
extern const tb_check_ops npu_score_alu_check;
extern const tb_check_ops npu_score_pool_check;
extern const tb_check_ops npu_score_npu_perf;
extern const tb_check_ops npu_score_npu_regs;
extern const tb_check_ops npu_score_npu_top;
extern const tb_check_ops npu_score_alu, npu_score_alu_walk, npu_score_alu_chan, npu_score_alu_math;
extern const tb_check_ops npu_score_pool_ld, npu_score_pool_line, npu_score_pool_seq, npu_score_pool_op,
    npu_score_pool_out, npu_score_pool_chan, npu_score_pool;

/*
 * Which unit ("alu", "pool", "gemm") has asked for an access of a DMA channel to this address: by the jobs whose bursts
 * are in flight on it, or all of whose bursts are one unit's. NULL: not known, as in builds without taps.
 */
const char *npu_score_dma_client(const tb_checks *checks, unsigned channel, bool write, uint64_t addr);

#endif
