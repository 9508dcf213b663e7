/*
 * task_bits.h - task descriptors as the units pass them on (npu_pkg::gemm_task_t and so on), as structures of cmodel.h, and as register words.
 */
#ifndef NPU_TASK_BITS_H
#define NPU_TASK_BITS_H

#include "score.h"

typedef enum npu_score_kind { NPU_SCORE_GEMM, NPU_SCORE_ALU, NPU_SCORE_POOL, NPU_SCORE_KINDS } npu_score_kind;

#define NPU_SCORE_REGS 128u /* words of the register file */

/* A task large enough for each kind. */
typedef union npu_score_task {
    cm_gemm_task gemm;
    cm_alu_task alu;
    cm_pool_task pool;
} npu_score_task;

/* Bits of the descriptor. */
uint32_t npu_score_task_bits(npu_score_kind kind);
/* The descriptor on a signal of npu_score_task_bits() bits. */
void npu_score_task_get(npu_score_kind kind, tb_sig sig, npu_score_task *task);
/* Compare the descriptor on a signal with `expected`; the first field that differs is reported. True: equal. */
bool npu_score_task_same(tb_check *c, const char *stream, npu_score_kind kind, tb_sig sig, const npu_score_task *expected);
/* Register words that ask for this task (extended form); words of other units are 0. */
void npu_score_task_regs(npu_score_kind kind, const npu_score_task *task, uint32_t regs[NPU_SCORE_REGS]);
/* cm_gemm_decode(), cm_alu_decode() or cm_pool_decode() of the register words. */
bool npu_score_task_decode(npu_score_kind kind, uint32_t n, const uint32_t regs[NPU_SCORE_REGS], npu_score_task *task);

#endif
