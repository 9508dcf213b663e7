/*
 * exec.c - memory accesses of a running task: docs/npu/npu.md section 3.5 (a task with failed accesses runs on and
 * completes).
 */
#include "exec.h"

#include <string.h>

void cm_exec_read(const cm_mem *mem, cm_faults *faults, uint32_t addr, void *dst, uint32_t bytes) {
    if (!mem->read(mem->ctx, addr, dst, bytes)) {
        memset(dst, 0, bytes);
        faults->reads++;
    }
}

void cm_exec_write(const cm_mem *mem, cm_faults *faults, uint32_t channel, uint32_t addr, const void *src,
                   uint32_t bytes) {
    if (!mem->write(mem->ctx, addr, src, bytes)) {
        faults->writes[channel]++;
    }
}

bool cm_exec_clean(const cm_faults *faults) {
    return faults->reads == 0 && faults->writes[0] == 0 && faults->writes[1] == 0;
}
