/*
 * nonsense.h - settings as nobody would choose them, for the test `nonsense`: what the specification says about them.
 */
#ifndef TESTCASES_NONSENSE_H
#define TESTCASES_NONSENSE_H

#include "sequence.h"

#define NON_WORDS 128u   /* registers, by word */
#define NON_PIECES 2000u /* ranges that a task may touch to be run to its end */

/* A task of one unit: the values of its registers, and what follows from them. */
typedef struct non_task {
    npu_unit unit;
    uint32_t regs[NON_WORDS];
    bool legal, keeps; /* accepted; with the weights of an earlier task */
    uint64_t work;     /* about as many cycles, where legal */
} non_task;

/* The last accepted GEMM task, for WGT_KEEP. */
typedef struct non_before {
    bool resident;
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

/* ---- nonsense_limits.c: docs/npu.md section 3, "Limits" ---- */
void non_judge(uint32_t n, const non_before *before, non_task *task);
/* What this accepted task leaves behind. */
void non_remember(const non_task *task, non_before *before);

/* ---- nonsense_reach.c ---- */
/* What a legal task reads and writes, cut off when there is too much of it. */
void non_reach(uint32_t n, const non_task *task, non_ranges *reads, non_ranges *writes);
/* Do the results follow from the memory before the task? Not where a task writes what it reads, or writes twice. Sorts the lists. */
bool non_determinate(non_ranges *reads, non_ranges *writes);
/* Does one of the ranges touch [begin, end)? */
bool non_touches(const non_ranges *v, uint64_t begin, uint64_t end);

/* ---- nonsense_draw.c ---- */
typedef enum non_kind { NON_ANY, NON_FIELD, NON_FEW, NON_FLIP, NON_RANDOM, NON_LEGAL, NON_KINDS } non_kind;
extern const char *const non_kind_names[NON_KINDS];
/* Spoil a legal task. [scratch, scratch + bytes): where addresses may lie that shall lead somewhere. */
void non_spoil(tb_rng *rng, non_kind kind, uint32_t scratch, uint32_t bytes, non_task *task);
/* The registers of a legal task. */
void non_from(const seq_task *legal, non_task *task);
/* The registers of a unit: byte offsets, the control register last. */
void non_unit_regs(npu_unit unit, uint32_t *first, uint32_t *last, uint32_t *ctrl, uint32_t *en);

#endif
