/*
 * task_bits.h - task descriptors on the ports of units (npu_pkg::gemm_task_t and so on), as structures of cmodel.h, and
 * as register words.
 */
#ifndef NPU_TASK_BITS_H
#define NPU_TASK_BITS_H

#include "score.h"

typedef enum npu_score_kind { NPU_SCORE_GEMM, NPU_SCORE_ALU, NPU_SCORE_POOL, NPU_SCORE_KINDS } npu_score_kind;

#define NPU_SCORE_REGS 128u /* words of the register file */

/* A task of any kind. */
typedef union npu_score_task {
    cm_gemm_task gemm;
    cm_alu_task alu;
    cm_pool_task pool;
} npu_score_task;

/* A member of a descriptor (regs/npu.regs): where it is in the RTL's struct, in the model's, and in the registers. */
typedef struct npu_task_field {
    const char *name;
    uint16_t lsb, bits;
    uint16_t offset, bytes; /* bytes 1: a bool */
    uint16_t reg, reg_lsb;  /* where software writes it, */
    uint16_t one;           /* times this */
} npu_task_field;

typedef struct npu_task_fields {
    const npu_task_field *f;
    size_t count;
    uint32_t bits; /* of the descriptor */
} npu_task_fields;
extern const npu_task_fields npu_task_tables[NPU_SCORE_KINDS];

/* Value of a member of a cm_gemm_task, cm_alu_task or cm_pool_task. */
uint32_t npu_task_value(const npu_task_field *f, const void *task);
/* Write such a task to a signal of as many bits as its descriptor has. */
void npu_task_set_bits(npu_score_kind kind, tb_sig sig, const void *task);
/* The descriptor on such a signal. */
void npu_score_task_get(npu_score_kind kind, tb_sig sig, npu_score_task *task);
/* Compare the descriptor on a signal with `expected`; the first field that differs is reported. True: equal. */
bool npu_score_task_same(tb_check *c, const char *stream, npu_score_kind kind, tb_sig sig,
                         const npu_score_task *expected);
/* Register words of this task (extended form); words of other units are 0. */
void npu_score_task_regs(npu_score_kind kind, const npu_score_task *task, uint32_t regs[NPU_SCORE_REGS]);
/* cm_gemm_decode(), cm_alu_decode() or cm_pool_decode() of the register words. */
bool npu_score_task_decode(npu_score_kind kind, uint32_t n, const uint32_t regs[NPU_SCORE_REGS], npu_score_task *task);

#endif
