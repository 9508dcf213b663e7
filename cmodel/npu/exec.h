/*
 * exec.h - private to cmodel: memory accesses of a running task, and its failed ones.
 */
#ifndef CM_EXEC_H
#define CM_EXEC_H

#include "cmodel.h"

/* Failed memory accesses of a task. */
typedef struct cm_faults {
    uint64_t reads;
    uint64_t writes[2]; /* by DMA channel */
} cm_faults;

/* Copy bytes out of memory; bytes that could not be read count as zero. */
void cm_exec_read(const cm_mem *mem, cm_faults *faults, uint32_t addr, void *dst, uint32_t bytes);
/* Copy bytes into memory; a failure counts for `channel` (0 or 1). */
void cm_exec_write(const cm_mem *mem, cm_faults *faults, uint32_t channel, uint32_t addr, const void *src,
                   uint32_t bytes);
/* True when nothing failed. */
bool cm_exec_clean(const cm_faults *faults);

/* Execute a task that its decoder accepts (docs/npu/npu.md section 3, "Limits"); add to *faults. log: intermediate
 * values, or NULL. */
void cm_alu_execute(const cm_alu_task *t, const cm_mem *mem, uint32_t *result, cm_faults *faults, const cm_log *log);
void cm_pool_execute(uint32_t n, const cm_pool_task *t, const cm_mem *mem, cm_faults *faults, const cm_log *log);

/* Pass intermediate values to the log, if there is one. */
static inline void cm_exec_log(const cm_log *log, cm_log_stream stream, uint64_t first, uint64_t step, uint32_t count,
                               const void *values) {
    if (log != NULL) {
        log->values(log->ctx, stream, first, step, count, values);
    }
}

#endif
