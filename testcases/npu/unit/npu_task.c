/* npu_task.c - tasks on ports of a bench. */
#include "npu_task.h"

#include "score/task_bits.h"

void npu_task_set(tb_sig port, const cm_gemm_task *task) {
    npu_task_set_bits(NPU_SCORE_GEMM, port, task);
}

void npu_alu_task_set(tb_sig port, const cm_alu_task *task) {
    npu_task_set_bits(NPU_SCORE_ALU, port, task);
}

void npu_pool_task_set(tb_sig port, const cm_pool_task *task) {
    npu_task_set_bits(NPU_SCORE_POOL, port, task);
}
