/*
 * inflight.h - which bytes the tasks of this window read and write, so that conflicts between tasks in flight are found and undefined results are known
 * (docs/architecture.md section 5).
 */
#ifndef NPU_INFLIGHT_H
#define NPU_INFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The units, numbered as their bits in IRQ_STATUS. */
enum { UNIT_ALU = 0, UNIT_POOL = 1, UNIT_GEMM = 2, UNITS = 3 };

typedef struct npu_range {
    uint64_t begin, end; /* bytes, end excluded */
} npu_range;

typedef struct npu_ranges {
    npu_range *r;
    size_t count, cap;
    bool oom;
} npu_ranges;

/* A task as far as other tasks are concerned. */
typedef struct npu_flight {
    unsigned unit;
    uint32_t seq; /* COUNT of its unit when it is complete */
    bool fence;   /* GEMM: begins when all earlier GEMM tasks are complete */
    bool reduces; /* ALU: changes ALU_RESULT */
    bool tainted; /* npu_inflight_taint(): its results are undefined */
    size_t reads, reads_end, writes, writes_end;
} npu_flight;

typedef struct npu_inflight {
    npu_ranges next;          /* outputs that the driver declared for the task to come */
    npu_ranges reads, writes; /* of all tasks of this window */
    npu_flight *task;
    size_t tasks, cap;
    size_t live_from;  /* tasks before this one are gone (reset) */
    size_t fence_from; /* GEMM tasks before this one are complete when a GEMM task without fence begins */
    bool oom;
} npu_inflight;

void npu_inflight_free(npu_inflight *f);
/* Forget all tasks (compare point). Declarations for the task to come stay. */
void npu_inflight_clear(npu_inflight *f);
/* Tasks so far no longer run (reset); what they wrote is still known. Declarations are dropped. */
void npu_inflight_stop(npu_inflight *f);
/* The next task writes this. */
void npu_inflight_output(npu_inflight *f, uint32_t addr, uint32_t bytes);
/* The declarations are complete: put them in order. */
void npu_inflight_declared(npu_inflight *f);
/* Was this output declared? true also when nothing was. *where is the first byte that was not. Call npu_inflight_declared() first. */
bool npu_inflight_covered(const npu_inflight *f, uint32_t addr, uint32_t bytes, uint64_t *where);
/*
 * A task of a unit was started with these register values (128 words); it is number `seq` of its unit, and done[] tasks of each unit are known to be complete (all modulo
 * 65536). Its reads follow from the registers, its writes from the declarations, or from the registers when there are none; declarations are consumed. false: it conflicts
 * with a task in flight, *where is the first common byte.
 */
bool npu_inflight_start(npu_inflight *f, unsigned unit, const uint32_t *regs, uint32_t n, uint32_t seq, const uint32_t done[UNITS],
                        uint64_t *where);
/* Mark the tasks of these units (mask), and every task that reads what a marked one before it wrote. */
void npu_inflight_taint(npu_inflight *f, uint32_t units);
/* Units (mask) with a task that touches one of these bytes: reads them, or (write) writes them. */
uint32_t npu_inflight_users(const npu_inflight *f, uint64_t addr, uint64_t bytes, bool write);

/* ---- footprint.c ---- */
/* Add a range; side by side with the last one at or after index `from` it grows that one. */
void npu_ranges_add(npu_ranges *v, size_t from, uint64_t begin, uint64_t bytes);
/* What a task reads and writes, from the register values. Either list may be NULL. */
void npu_footprint(unsigned unit, const uint32_t *regs, uint32_t n, npu_ranges *reads, npu_ranges *writes);
/* Does an ALU task with these registers change ALU_RESULT? Has a GEMM task a fence? */
bool npu_footprint_reduces(const uint32_t *regs);
bool npu_footprint_fenced(const uint32_t *regs);

#endif
