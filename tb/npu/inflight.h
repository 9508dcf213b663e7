/*
 * inflight.h - bytes that the tasks of this window read and write, to detect conflicts between tasks in flight and to
 * track undefined results (docs/architecture.md section 5, docs/npu/memory.md).
 */
#ifndef NPU_INFLIGHT_H
#define NPU_INFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tb.h"

/* The units, numbered as their bits in IRQ_STATUS. */
enum { UNIT_ALU = 0, UNIT_POOL = 1, UNIT_GEMM = 2, UNITS = 3 };

/* The properties of a task that conflicts with other tasks depend on. */
typedef struct npu_flight {
    unsigned unit;
    uint32_t seq; /* COUNT of its unit when it is complete */
    bool fence;   /* GEMM: begins only when all earlier GEMM tasks are complete */
    bool reduces; /* ALU: changes ALU_RESULT */
    bool tainted; /* npu_inflight_taint(): its results are undefined */
} npu_flight;

typedef struct npu_inflight {
    tb_ranges next;     /* outputs that the driver declared for the next task */
    tb_buffers buffers; /* of all tasks of this window, in the same order; those that are not complete are live */
    npu_flight *task;
    size_t tasks, cap;
    size_t dropped_to; /* tasks before this one were dropped by a reset */
    size_t fence_from; /* GEMM tasks before this one are complete when a GEMM task without fence begins */
    bool oom;
} npu_inflight;

/* `mem` (of the RTL, of the golden device) will accept accesses of live tasks to their buffers. */
void npu_inflight_init(npu_inflight *f, tb_ddr *const *mem, unsigned mems);
void npu_inflight_free(npu_inflight *f);
/* All tasks are complete (compare point): they are dropped, but reports can name their buffers until the next task
 * starts. Declarations for that one stay. */
void npu_inflight_clear(npu_inflight *f);
/* The same, and their buffers are dropped as well (the memories drop their contents). */
void npu_inflight_forget(npu_inflight *f);
/* The tasks so far no longer run (reset), but their outputs are kept. They stay live until npu_inflight_stopped().
 * Declarations are dropped. */
void npu_inflight_stop(npu_inflight *f);
/* The reset is over: no access of earlier tasks is in flight any more. */
void npu_inflight_stopped(npu_inflight *f);
/* Declare an output of the next task. */
void npu_inflight_output(npu_inflight *f, uint32_t addr, uint32_t bytes);
/* The declarations are complete: sort them. */
void npu_inflight_declared(npu_inflight *f);
/* Was this output declared? true also when nothing was. *where is the first byte that was not. Call
 * npu_inflight_declared() first. */
bool npu_inflight_covered(const npu_inflight *f, uint32_t addr, uint32_t bytes, uint64_t *where);
/*
 * A task of a unit is about to be started with these register values (128 words, a legal task): the memories accept
 * accesses to its buffers, which follow from the registers. It will be complete when COUNT of its unit is `seq` (modulo
 * 65536); `number` is its number in reports. false: two buffers of tasks that may run at the same time, or of this
 * task, overlap.
 */
bool npu_inflight_start(npu_inflight *f, unsigned unit, const uint32_t *regs, uint32_t n, uint32_t seq, uint64_t number,
                        tb_meet *meet);
/* Tasks of a unit up to the one with this number (its COUNT) are complete. */
void npu_inflight_complete(npu_inflight *f, unsigned unit, uint32_t count);
/* All tasks of a unit are complete. */
void npu_inflight_idle(npu_inflight *f, unsigned unit);
/* Mark the tasks of these units (mask), and every later task that reads an output of a marked one. */
void npu_inflight_taint(npu_inflight *f, uint32_t units);
/* Units (mask) with a task that reads, or (write) writes, one of these bytes. */
uint32_t npu_inflight_users(const npu_inflight *f, uint64_t addr, uint64_t bytes, bool write);

/* ---- footprint.c ---- */
/* Memories of npu_inflight_init(), as masks: of the RTL and of the golden device. */
enum { NPU_FOOTPRINT_RTL = 1, NPU_FOOTPRINT_MODEL = 2 };
/* "alu", "pool", "gemm" */
extern const char *const npu_footprint_names[UNITS];
/* Add the buffers of a task and the ranges that it reads and writes, from the register values; between
 * tb_buffers_begin() and tb_buffers_start(). */
void npu_footprint(unsigned unit, const uint32_t *regs, uint32_t n, tb_buffers *t);
/* Does an ALU task with these registers change ALU_RESULT? Does a GEMM task have a fence? */
bool npu_footprint_reduces(const uint32_t *regs);
bool npu_footprint_fenced(const uint32_t *regs);

#endif
