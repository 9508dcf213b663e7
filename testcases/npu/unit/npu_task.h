/*
 * npu_task.h - task descriptors (npu_pkg::gemm_task_t, alu_task_t, pool_task_t) on a port, from the golden model's
 * structs.
 */
#ifndef UNIT_NPU_TASK_H
#define UNIT_NPU_TASK_H

#include "bench.h"

/* Drive a task port. */
void npu_task_set(tb_sig port, const cm_gemm_task *task);
void npu_alu_task_set(tb_sig port, const cm_alu_task *task);
void npu_pool_task_set(tb_sig port, const cm_pool_task *task);

#endif
