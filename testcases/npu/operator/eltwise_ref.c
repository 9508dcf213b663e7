/* eltwise_ref.c - element-wise operations from their definition (docs/npu/registers.md, ALU_CTRL), in the host's own
 * arithmetic. */
#include "eltwise.h"

static const uint32_t op_of_knob[ELTWISE_OPS] = NPU_ALU_CTRL_OP_NOT_REDUCE_VALUES;

npu_alu_op eltwise_op_of(const tb_knobs *knobs) {
    return (npu_alu_op)op_of_knob[tb_knobs_get(knobs, "op")];
}

uint32_t eltwise_knob_of(npu_alu_op op) {
    uint32_t knob = 0;
    while (knob + 1 < ELTWISE_OPS && op_of_knob[knob] != op) {
        knob++;
    }
    return knob;
}

bool eltwise_uses_p(npu_alu_op op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, op);
}

bool eltwise_uses_q(npu_alu_op op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_Q, op);
}

/* The operations whose result is a new number. */
static float arithmetic(npu_alu_op op, float x, float p, float q) {
    float first = 0.0f; /* a variable: each step is rounded */
    switch (op) {
    case NPU_ALU_ADD:
        return x + p;
    case NPU_ALU_SUB:
        return x - p;
    case NPU_ALU_RSUB:
        return p - x;
    case NPU_ALU_MUL:
        return x * p;
    case NPU_ALU_MULADD:
        first = x * p;
        return first + q;
    case NPU_ALU_ADDMUL:
        first = x + p;
        return first * q;
    case NPU_ALU_GT:
        return x > p ? 1.0f : 0.0f;
    case NPU_ALU_GE:
        return x >= p ? 1.0f : 0.0f;
    default: /* NPU_ALU_EQ */
        return x == p ? 1.0f : 0.0f;
    }
}

uint32_t eltwise_reference(npu_alu_op op, uint32_t x, uint32_t p, uint32_t q) {
    switch (op) {
    case NPU_ALU_COPY:
        return x;
    case NPU_ALU_MAX:
        return ref_float(x) < ref_float(p) ? p : x;
    case NPU_ALU_MIN:
        return ref_float(p) < ref_float(x) ? p : x;
    case NPU_ALU_ABS:
        return x & 0x7FFFFFFFu;
    case NPU_ALU_ADD_I32:
        return x + p;
    case NPU_ALU_PRELU:
        return ref_float(x) > 0.0f ? x : ref_bits(ref_float(x) * ref_float(p));
    default:
        return ref_bits(arithmetic(op, ref_float(x), ref_float(p), ref_float(q)));
    }
}
