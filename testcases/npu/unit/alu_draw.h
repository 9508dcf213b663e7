/*
 * alu_draw.h - random tasks of the ALU: every operation and kind of operand, rows and planes with steps of either sign,
 * in place and not, any alignment to 4.
 */
#ifndef UNIT_ALU_DRAW_H
#define UNIT_ALU_DRAW_H

#include "bench.h"

#define ALU_DRAW_BASE UINT32_C(0x40000000) /* address of the first byte of memory */

/* The caller sets streams and limits; the rest describes the last task. */
typedef struct alu_draw {
    tb_rng rng, rng_data;
    uint32_t op;                  /* of ALU_CTRL; NPU_ALU_CTRL_OP_COUNT: any */
    uint32_t count, rows, planes; /* most of each */
    uint32_t values;              /* 0 ordinary, 1 corners of FP32, 2 few different ones, 3 ordinary with corners */
    bool long_rows;               /* 8000 to 16384 elements in one row (reductions: in four) */
    uint32_t used;                /* bytes of memory from the first to the last of the task */
} alu_draw;

/* The next value of the data. */
uint32_t alu_draw_value(alu_draw *b);
/* A task that the hardware accepts, within 2 MB of memory. Operands that it does not use are outside. */
void alu_draw_task(alu_draw *b, cm_alu_task *t);

#endif
