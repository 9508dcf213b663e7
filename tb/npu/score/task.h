/* task.h - tasks as they travel between the units: npu_pkg::gemm_task_t. */
#ifndef NPU_SCORE_TASK_H
#define NPU_SCORE_TASK_H

#include "score.h"

/* Read a port of type gemm_task_t. */
void npu_score_gemm_task(tb_sig port, cm_gemm_task *t);

#endif
