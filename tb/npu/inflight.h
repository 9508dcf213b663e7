/*
 * inflight.h - which bytes the tasks in flight read and write, so that conflicts between them are found (docs/architecture.md section 5).
 */
#ifndef NPU_INFLIGHT_H
#define NPU_INFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmodel.h"

typedef struct npu_range {
    uint64_t begin, end; /* bytes, end excluded */
} npu_range;

typedef struct npu_ranges {
    npu_range *r;
    size_t count, cap;
} npu_ranges;

typedef struct npu_flight {
    uint32_t seq; /* GEMM_COUNT.DONE when it is complete */
    size_t reads, reads_end, writes, writes_end;
} npu_flight;

typedef struct npu_inflight {
    npu_ranges next;          /* outputs that the driver declared for the task to come */
    npu_ranges reads, writes; /* of all tasks of this window */
    npu_flight *task;
    size_t tasks, cap;
    size_t live_from; /* tasks before this one were fenced off */
    bool oom;
} npu_inflight;

void npu_inflight_free(npu_inflight *f);
/* Forget all tasks (compare point). Declarations for the task to come stay. */
void npu_inflight_clear(npu_inflight *f);
/* The next task writes this. */
void npu_inflight_output(npu_inflight *f, uint32_t addr, uint32_t bytes);
/*
 * A task was started; it is number `seq`, and `done` tasks are known to be complete (both modulo 65536). Its reads follow from the task, its writes from the declarations, or
 * from the task when there are none. false: it conflicts with a task in flight, *where is the first common byte.
 */
bool npu_inflight_start(npu_inflight *f, const cm_gemm_task *task, uint32_t n, uint32_t seq, uint32_t done, uint64_t *where);

#endif
