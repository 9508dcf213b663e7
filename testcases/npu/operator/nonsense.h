/*
 * nonsense.h - settings that no driver would choose, for the test `nonsense`, and their specified behaviour.
 */
#ifndef TESTCASES_NONSENSE_H
#define TESTCASES_NONSENSE_H

#include "sequence.h"

#define NON_WORDS 128u   /* registers, by word */
#define NON_PIECES 2000u /* most ranges of a task that is run to its end */

/* A task of one unit: the values of its registers, and derived properties. */
typedef struct non_task {
    npu_unit unit;
    uint32_t regs[NON_WORDS];
    uint64_t violated; /* limits, one bit each */
    bool legal, keeps; /* accepted; with the weights of an earlier task */
    uint64_t work;     /* about as many cycles, where legal */
} non_task;

/* The last accepted GEMM task, for WGT_KEEP. */
typedef struct non_before {
    bool resident; /* its weights may be kept: it had WGT_RES, and there was no reset since */
    uint32_t op, wgt_addr, kw, kh, ic, oc;
} non_before;

typedef struct non_range {
    uint64_t begin, end;
} non_range;

typedef struct non_ranges {
    non_range *r;
    size_t count, cap;
    bool all; /* nothing was left out */
} non_ranges;

/* ---- nonsense_limits.c: docs/npu/npu.md section 3, "Limits" ---- */
void non_judge(uint32_t n, const non_before *before, non_task *task);
/* The limits of a unit, from 0; the name of one. */
uint32_t non_limits(npu_unit unit);
const char *non_limit_name(npu_unit unit, uint32_t limit);
/* State after this accepted task. */
void non_remember(const non_task *task, non_before *before);

/* ---- nonsense_reach.c ---- */
/* The ranges that a legal task reads and writes, truncated when there are too many. */
void non_reach(uint32_t n, const non_task *task, non_ranges *reads, non_ranges *writes);
/* Do the results follow from the memory before the task? Not if a task writes bytes that it reads, or writes bytes
 * twice. Sorts the lists. */
bool non_determinate(non_ranges *reads, non_ranges *writes);
/* Does one of the ranges overlap [begin, end)? */
bool non_touches(const non_ranges *v, uint64_t begin, uint64_t end);

/* ---- nonsense_draw.c ---- */
typedef enum non_kind { NON_ANY, NON_FIELD, NON_FEW, NON_FLIP, NON_RANDOM, NON_LEGAL, NON_KINDS } non_kind;
extern const char *const non_kind_names[NON_KINDS];
/* Corrupt a legal task. [scratch, scratch + bytes): range for valid addresses. */
void non_spoil(tb_rng *rng, non_kind kind, uint32_t scratch, uint32_t bytes, non_task *task);
/* The fields of a unit's registers, counted from 0; corrupt one of them; read it, write it. */
size_t non_fields(npu_unit unit);
void non_spoil_field(tb_rng *rng, size_t field, uint32_t scratch, uint32_t bytes, non_task *task);
uint32_t non_get(const non_task *task, size_t field);
void non_set(non_task *task, size_t field, uint32_t value);
/* The registers of a legal task. */
void non_from(const seq_task *legal, non_task *task);
/* The registers of a unit: byte offsets, the control register last. */
void non_unit_regs(npu_unit unit, uint32_t *first, uint32_t *last, uint32_t *ctrl, uint32_t *en);

/* Text of a task's settings and violated limits, for the report of a failure. */
void non_print(const non_task *task);

/* ---- nonsense_edge.c ---- */
/* Change a task so that this limit, and no other one, is violated, mostly by as little as possible; beyond = false: so
 * that it is just kept, if such a task can be found (see task->legal). [scratch, scratch + bytes) as above. false: none
 * was found, the task is unchanged. */
bool non_edge(uint32_t n, const non_before *before, tb_rng *rng, uint32_t limit, bool beyond, uint32_t scratch,
              uint32_t bytes, non_task *task);

#endif
