/*
 * plan_search.h - the fastest split of a convolution by prediction (document 002, section 3.3), private to network/.
 * Host only: results do not depend on a plan, and the driver has its own rule.
 */
#ifndef NET_PLAN_SEARCH_H
#define NET_PLAN_SEARCH_H

#include "predict.h"
#include "schedule.h"

/* Mesh, read, write in cycles, tasks, fill, and a number of cycles below which no such plan ends (bound). `plan` is one
 * of this convolution. */
net_rt_estimate net_plan_bound(const npu_conv *conv, const npu_conv_plan *plan);

/* Cycles of the convolution with this plan; addresses are not used. All 0: the driver refuses, or no memory. */
net_rt_estimate net_plan_predict(const npu_conv *conv, const npu_conv_plan *plan, net_tasks *list);

/*
 * Search all splits: weights streamed or on chip, rows, columns, slices of input and output channels and of kernel
 * rows, tiles written together. *found gets the driver's own plan and the best one; the own one wherever none is
 * faster by at least NET_PLAN_MARGIN parts of a thousand. Ties: fewer tasks, then the order of the loops. Errors:
 * those of npu_conv_plan_make(); NPU_ERR_ARG: out of memory.
 */
#define NET_PLAN_MARGIN 5u
npu_status net_plan_search(uint32_t n, const npu_conv *conv, net_rt_schedule *found);

#endif
