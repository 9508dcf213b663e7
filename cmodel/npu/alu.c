/*
 * alu.c - element-wise operations and reductions on rows of FP32: docs/npu/npu.md sections 2 (reductions) and 3.3.
 */
#include "exec.h"
#include "regs.h"
#include "cm_num.h"

#define CHUNK 256u /* elements that are worked on at a time; a multiple of the accumulators */
#define ACCUMULATORS 32u
#define FP_ONE 0x3F800000u
#define FP_SIGN 0x80000000u
#define FP_MINUS_INF 0xFF800000u

uint32_t cm_alu_element(uint32_t op, uint32_t x, uint32_t p, uint32_t q) {
    switch (op) {
    case NPU_ALU_CTRL_OP_ADD:
        return cm_fp_add(x, p);
    case NPU_ALU_CTRL_OP_SUB:
        return cm_fp_add(x, p ^ FP_SIGN);
    case NPU_ALU_CTRL_OP_RSUB:
        return cm_fp_add(p, x ^ FP_SIGN);
    case NPU_ALU_CTRL_OP_MUL:
    case NPU_ALU_CTRL_OP_DOT:
        return cm_fp_mul(x, p);
    case NPU_ALU_CTRL_OP_MULADD:
        return cm_fp_add(cm_fp_mul(x, p), q);
    case NPU_ALU_CTRL_OP_ADDMUL:
        return cm_fp_mul(cm_fp_add(x, p), q);
    case NPU_ALU_CTRL_OP_MAX:
        return cm_fp_lt(x, p) ? p : x;
    case NPU_ALU_CTRL_OP_MIN:
        return cm_fp_lt(p, x) ? p : x;
    case NPU_ALU_CTRL_OP_GT:
        return cm_fp_lt(p, x) ? FP_ONE : 0;
    case NPU_ALU_CTRL_OP_GE:
        return cm_fp_le(p, x) ? FP_ONE : 0;
    case NPU_ALU_CTRL_OP_EQ:
        return cm_fp_eq(x, p) ? FP_ONE : 0;
    case NPU_ALU_CTRL_OP_ABS:
        return x & ~FP_SIGN;
    case NPU_ALU_CTRL_OP_ADD_I32:
        return x + p;
    case NPU_ALU_CTRL_OP_PRELU:
        return cm_fp_lt(0, x) ? x : cm_fp_mul(x, p);
    case NPU_ALU_CTRL_OP_SUMSQ:
        return cm_fp_mul(x, x);
    default: /* COPY, SUM, RMAX */
        return x;
    }
}

uint32_t cm_alu_start(uint32_t op) {
    return op == NPU_ALU_CTRL_OP_RMAX ? FP_MINUS_INF : 0;
}

uint32_t cm_alu_join(uint32_t op, uint32_t acc, uint32_t v) {
    if (op == NPU_ALU_CTRL_OP_RMAX) {
        return cm_fp_lt(acc, v) ? v : acc;
    }
    return cm_fp_add(acc, v);
}

static bool reduces(uint32_t op) {
    return op == NPU_ALU_CTRL_OP_DOT || op == NPU_ALU_CTRL_OP_SUM || op == NPU_ALU_CTRL_OP_RMAX ||
           op == NPU_ALU_CTRL_OP_SUMSQ;
}

static bool uses_p(uint32_t op) {
    return op != NPU_ALU_CTRL_OP_COPY && op != NPU_ALU_CTRL_OP_ABS && op != NPU_ALU_CTRL_OP_SUM &&
           op != NPU_ALU_CTRL_OP_RMAX && op != NPU_ALU_CTRL_OP_SUMSQ;
}

static bool uses_q(uint32_t op) {
    return op == NPU_ALU_CTRL_OP_MULADD || op == NPU_ALU_CTRL_OP_ADDMUL || reduces(op);
}

static bool alu_fits(const cm_alu_task *t) {
    uint32_t by4 = t->a_addr | t->a_rstep | t->a_pstep | t->b_addr | t->b_rstep | t->b_pstep | t->o_addr | t->o_rstep |
                   t->o_pstep | t->p_addr | t->q_addr;
    if (t->op > NPU_ALU_CTRL_OP_SUMSQ || t->act >= CM_ACT_COUNT || t->p_kind > NPU_ALU_CTRL_P_KIND_PLANE ||
        t->q_kind > NPU_ALU_CTRL_Q_KIND_PLANE) {
        return false;
    }
    if (t->p_kind == NPU_ALU_CTRL_P_KIND_VECTOR && t->q_kind == NPU_ALU_CTRL_Q_KIND_VECTOR) {
        return false;
    }
    if (t->count == 0 || t->rows == 0 || t->planes == 0 || by4 % 4 != 0) {
        return false;
    }
    if (t->act != CM_ACT_NONE && (t->op == NPU_ALU_CTRL_OP_ADD_I32 || t->func != NPU_ALU_ACT_FUNC_NONE)) {
        return false;
    }
    if (t->op == NPU_ALU_CTRL_OP_ADD_I32 && t->func != NPU_ALU_ACT_FUNC_NONE) {
        return false;
    }
    return !(reduces(t->op) && (t->dup || t->q_kind != NPU_ALU_CTRL_Q_KIND_SCALAR));
}

bool cm_alu_decode(const uint32_t *regs, cm_alu_task *out) {
    cm_alu_task t = {
        .op = CM_GET(regs, ALU_CTRL, OP),
        .p_kind = CM_GET(regs, ALU_CTRL, P_KIND),
        .q_kind = CM_GET(regs, ALU_CTRL, Q_KIND),
        .dup = CM_GET(regs, ALU_CTRL, DUP) != 0,
        .act = CM_GET(regs, ALU_ACT, TYPE),
        .func = CM_GET(regs, ALU_ACT, FUNC),
        .count = CM_GET(regs, ALU_SIZE, COUNT),
        .rows = CM_GET(regs, ALU_ROWS, ROWS),
        .planes = CM_GET(regs, ALU_ROWS, PLANES),
        .a_addr = CM_GET(regs, ALU_A_ADDR, ADDR),
        .a_rstep = CM_GET(regs, ALU_A_RSTEP, BYTES),
        .a_pstep = CM_GET(regs, ALU_A_PSTEP, BYTES),
        .b_addr = CM_GET(regs, ALU_B_ADDR, ADDR),
        .b_rstep = CM_GET(regs, ALU_B_RSTEP, BYTES),
        .b_pstep = CM_GET(regs, ALU_B_PSTEP, BYTES),
        .o_addr = CM_GET(regs, ALU_O_ADDR, ADDR),
        .o_rstep = CM_GET(regs, ALU_O_RSTEP, BYTES),
        .o_pstep = CM_GET(regs, ALU_O_PSTEP, BYTES),
        .p = CM_GET(regs, ALU_P, VALUE),
        .q = CM_GET(regs, ALU_Q, VALUE),
        .p_addr = CM_GET(regs, ALU_P_ADDR, ADDR),
        .q_addr = CM_GET(regs, ALU_Q_ADDR, ADDR),
        .act_p = {CM_GET(regs, ALU_ACT_P0, VALUE), CM_GET(regs, ALU_ACT_P1, VALUE), CM_GET(regs, ALU_ACT_P2, VALUE),
                  CM_GET(regs, ALU_ACT_P3, VALUE)},
    };
    if (!alu_fits(&t)) {
        return false;
    }
    *out = t;
    return true;
}

/* One row: where it lies, and the scalars that hold for it (those of VECTOR operands change with each element). */
typedef struct alu_row {
    uint32_t a_addr, b_addr, o_addr;
    uint32_t p, q;
    uint64_t first; /* of the row's values in a log */
    const cm_log *log;
} alu_row;

/* The end of an element: the activation, or the function in its place. */
static uint32_t finish(const cm_alu_task *t, uint32_t v) {
    return cm_func(t->func, cm_activate(t->act, t->act_p, v));
}

/* x[i] becomes the value of operation `op` on element i of a chunk that starts `done` elements into the row. */
static void compute_chunk(const cm_alu_task *t, const cm_mem *mem, const alu_row *row, uint32_t done, uint32_t count,
                          uint32_t *x, cm_faults *faults) {
    uint32_t b[CHUNK];
    bool p_vector = uses_p(t->op) && t->p_kind == NPU_ALU_CTRL_P_KIND_VECTOR;
    bool q_vector = uses_q(t->op) && t->q_kind == NPU_ALU_CTRL_Q_KIND_VECTOR;
    cm_exec_read(mem, faults, row->a_addr + 4 * done, x, 4 * count);
    if (p_vector || q_vector) {
        cm_exec_read(mem, faults, row->b_addr + 4 * done, b, 4 * count);
    }
    for (uint32_t i = 0; i < count; i++) {
        x[i] = cm_alu_element(t->op, x[i], p_vector ? b[i] : row->p, q_vector ? b[i] : row->q);
    }
}

static void element_row(const cm_alu_task *t, const cm_mem *mem, const alu_row *row, cm_faults *faults) {
    uint32_t x[CHUNK], y[2 * CHUNK];
    uint32_t copies = t->dup ? 2 : 1;
    for (uint32_t done = 0; done < t->count; done += CHUNK) {
        uint32_t count = cm_min_u32(CHUNK, t->count - done);
        compute_chunk(t, mem, row, done, count, x, faults);
        cm_exec_log(row->log, CM_LOG_ALU_VALUE, row->first + done, 1, count, x);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t v = x[i] = finish(t, x[i]);
            for (uint32_t k = 0; k < copies; k++) {
                y[copies * i + k] = v;
            }
        }
        cm_exec_log(row->log, CM_LOG_ALU_RESULT, row->first + done, 1, count, x);
        cm_exec_write(mem, faults, 0, row->o_addr + 4 * copies * done, y, 4 * copies * count);
    }
}

/* The order of the steps is part of the result. */
static uint32_t reduce_row(const cm_alu_task *t, const cm_mem *mem, const alu_row *row, cm_faults *faults) {
    uint32_t acc[ACCUMULATORS];
    uint32_t x[CHUNK];
    for (uint32_t j = 0; j < ACCUMULATORS; j++) {
        acc[j] = cm_alu_start(t->op);
    }
    for (uint32_t done = 0; done < t->count; done += CHUNK) {
        uint32_t count = cm_min_u32(CHUNK, t->count - done);
        compute_chunk(t, mem, row, done, count, x, faults);
        for (uint32_t i = 0; i < count; i++) {
            acc[i % ACCUMULATORS] = cm_alu_join(t->op, acc[i % ACCUMULATORS], x[i]);
        }
    }
    for (uint32_t s = ACCUMULATORS / 2; s > 0; s /= 2) {
        for (uint32_t j = 0; j < s; j++) {
            acc[j] = cm_alu_join(t->op, acc[j], acc[j + s]);
        }
    }
    uint32_t v = cm_fp_mul(acc[0], row->q);
    uint32_t y = finish(t, v);
    cm_exec_log(row->log, CM_LOG_ALU_VALUE, row->first, 1, 1, &v);
    cm_exec_log(row->log, CM_LOG_ALU_RESULT, row->first, 1, 1, &y);
    cm_exec_write(mem, faults, 0, row->o_addr, &y, 4);
    return y;
}

void cm_alu_execute(const cm_alu_task *t, const cm_mem *mem, uint32_t *result, cm_faults *faults, const cm_log *log) {
    for (uint32_t plane = 0; plane < t->planes; plane++) {
        alu_row row = {.p = t->p, .q = t->q, .log = log};
        if (uses_p(t->op) && t->p_kind == NPU_ALU_CTRL_P_KIND_PLANE) {
            cm_exec_read(mem, faults, t->p_addr + 4 * plane, &row.p, 4);
        }
        if (uses_q(t->op) && t->q_kind == NPU_ALU_CTRL_Q_KIND_PLANE) {
            cm_exec_read(mem, faults, t->q_addr + 4 * plane, &row.q, 4);
        }
        for (uint32_t r = 0; r < t->rows; r++) {
            row.a_addr = t->a_addr + plane * t->a_pstep + r * t->a_rstep;
            row.b_addr = t->b_addr + plane * t->b_pstep + r * t->b_rstep;
            row.o_addr = t->o_addr + plane * t->o_pstep + r * t->o_rstep;
            row.first = ((uint64_t)plane * t->rows + r) * (reduces(t->op) ? 1 : t->count);
            if (reduces(t->op)) {
                *result = reduce_row(t, mem, &row, faults); /* that of the last row stays */
            } else {
                element_row(t, mem, &row, faults);
            }
        }
    }
}

bool cm_alu_run(const cm_alu_task *task, const cm_mem *mem, uint32_t *result) {
    cm_faults faults = {0};
    if (!alu_fits(task)) {
        return false;
    }
    cm_alu_execute(task, mem, result, &faults, NULL);
    return cm_exec_clean(&faults);
}
