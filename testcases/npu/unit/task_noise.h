/*
 * task_noise.h - random bits for inputs that a unit must ignore: unused fields of a task, and the task port while no
 * task is valid.
 */
#ifndef UNIT_TASK_NOISE_H
#define UNIT_TASK_NOISE_H

#include "bench.h"
#include "npu_task.h"

#define TASK_BITS CM_GEMM_TASK_WIDTH

/* Every field random over its whole width, except those that change the behaviour of most units: op, wgt_res and
 * wgt_keep are kept.
 */
void task_noise_fields(tb_rng *rng, cm_gemm_task *task);
/* All bits of a task port random. */
void task_noise_port(tb_rng *rng, tb_sig port);

#endif
