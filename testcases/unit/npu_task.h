/*
 * npu_task.h - a task descriptor (npu_pkg::gemm_task_t) on a port, as the golden model's struct and back.
 */
#ifndef UNIT_NPU_TASK_H
#define UNIT_NPU_TASK_H

#include "bench.h"

void npu_task_set(tb_sig port, const cm_gemm_task *task);
/* Compare all fields; a difference is a failure that names the field. */
void npu_task_expect(unit *u, tb_sig port, const cm_gemm_task *task);

#endif
