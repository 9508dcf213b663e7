/* eltwise_ref.c - element-wise operations from their definition (docs/npu/registers.md, ALU_CTRL), in the host's own arithmetic. */
#include "eltwise.h"

npu_alu_op eltwise_op_of(const tb_knobs *knobs) {
    const int64_t op = tb_knobs_get(knobs, "op");
    return op == ELTWISE_PRELU ? NPU_ALU_PRELU : (npu_alu_op)op;
}

bool eltwise_uses_p(npu_alu_op op) {
    return op != NPU_ALU_COPY && op != NPU_ALU_ABS && op != NPU_ALU_SUM;
}

bool eltwise_uses_q(npu_alu_op op) {
    return op == NPU_ALU_MULADD || op == NPU_ALU_ADDMUL;
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
