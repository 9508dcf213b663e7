/*
 * task_noise.h - random bits for what a unit must not look at: fields of a task that it has no use for, and the task
 * port while no task is valid.
 */
#ifndef UNIT_TASK_NOISE_H
#define UNIT_TASK_NOISE_H

#include "bench.h"
#include "npu_task.h"

#define TASK_BITS CM_GEMM_TASK_WIDTH

/* Every field random over its whole width, but for those that change what most units do: op, wgt_res and wgt_keep stay.
 */
void task_noise_fields(tb_rng *rng, cm_gemm_task *task);
/* All bits of a task port random. */
void task_noise_port(tb_rng *rng, tb_sig port);

#endif
