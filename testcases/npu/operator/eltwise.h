/*
 * eltwise.h - private to the eltwise test, and to tests that mix operators.
 */
#ifndef TESTCASES_ELTWISE_H
#define TESTCASES_ELTWISE_H

#include "act.h"
#include "npu_regs.h"
#include "tensor.h"

bool eltwise_uses_p(npu_alu_op op);
bool eltwise_uses_q(npu_alu_op op);
/* op(x, p, q) from the definition; FP32 bits. */
uint32_t eltwise_reference(npu_alu_op op, uint32_t x, uint32_t p, uint32_t q);

void eltwise_generate(const tc_gen *g);
int eltwise_check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size);

/* Values of the knob op: the operations that do not reduce, in the order of their numbers. */
#define ELTWISE_OPS NPU_ALU_CTRL_OP_NOT_REDUCE_COUNT
npu_alu_op eltwise_op_of(const tb_knobs *knobs);
/* The value of the knob that stands for an operation. */
uint32_t eltwise_knob_of(npu_alu_op op);

/* Operators that have names of their own. */
typedef enum eltwise_named {
    NAMED_NONE,
    NAMED_THRESHOLD,
    NAMED_CLIP,
    NAMED_SCALE_BIAS,
    NAMED_DROPOUT,
    NAMED_MEAN_NORM,
    NAMED_RESIDUAL,
    NAMED_PRELU,
    NAMED_COUNT
} eltwise_named;

extern const tensor_kind eltwise_kind;

#endif
