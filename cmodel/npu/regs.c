/*
 * regs.c - the register file: docs/npu/registers.md (regs/npu.regs), docs/npu/npu.md section 3.5 (order of effects).
 */
#include "regs.h"

typedef struct reg_info {
    bool exists;
    uint32_t access;
    uint32_t fields; /* bits that exist */
    uint32_t reset;
} reg_info;

#define REG_ROW(name, offset, access, exact, timed, w1c, reset)                                                        \
    [(offset) / 4] = {true, (access), (exact) | (timed) | (w1c), (reset)},
static const reg_info reg_table[CM_REG_WORDS] = {NPU_REGS_TABLE(REG_ROW)};
#undef REG_ROW

static const reg_info *find_reg(uint32_t offset) {
    const uint32_t word = offset / 4;
    return word < CM_REG_WORDS && reg_table[word].exists ? &reg_table[word] : NULL;
}

static uint32_t strobe_mask(uint32_t byte_strobes) {
    uint32_t mask = 0;
    for (uint32_t b = 0; b < 4; b++) {
        if (byte_strobes >> b & 1u) {
            mask |= 0xFFu << (8 * b);
        }
    }
    return mask;
}

/* Registers and bits of a unit. */
typedef struct unit_info {
    uint32_t ctrl, enable; /* the register that starts a task, and its bit */
    cm_reg_action start;
    uint32_t count;   /* COUNT register */
    uint32_t err_lsb; /* the unit's byte in ERR */
} unit_info;

static const unit_info units[CM_UNIT_COUNT] = {
    [CM_UNIT_ALU] = {NPU_REG_ALU_CTRL, NPU_ALU_CTRL_EN_MASK, CM_REG_START_ALU, NPU_REG_ALU_COUNT,
                     NPU_ERR_ALU_BUS_RD0_LSB},
    [CM_UNIT_POOL] = {NPU_REG_POOL_CTRL, NPU_POOL_CTRL_EN_MASK, CM_REG_START_POOL, NPU_REG_POOL_COUNT,
                      NPU_ERR_POOL_BUS_RD0_LSB},
    [CM_UNIT_GEMM] = {NPU_REG_GEMM_CTRL, NPU_GEMM_CTRL_EN_MASK, CM_REG_START_GEMM, NPU_REG_GEMM_COUNT,
                      NPU_ERR_BUS_RD0_LSB},
};

void cm_regs_reset(cm_regs *r) {
    for (uint32_t i = 0; i < CM_REG_WORDS; i++) {
        r->value[i] = reg_table[i].reset;
    }
    r->value[NPU_REG_CONFIG / 4] |= r->n << NPU_CONFIG_MESH_N_LSB | (uint32_t)r->has_alu << NPU_CONFIG_EN_ALU_LSB |
                                    (uint32_t)r->has_pool << NPU_CONFIG_EN_POOL_LSB |
                                    (uint32_t)r->has_int16 << NPU_CONFIG_EN_INT16_LSB;
}

uint32_t cm_regs_irq(const cm_regs *r) {
    return r->value[NPU_REG_IRQ_STATUS / 4] & r->value[NPU_REG_IRQ_ENABLE / 4];
}

static uint32_t irq_id(const cm_regs *r) {
    uint32_t lines = cm_regs_irq(r);
    for (uint32_t i = 0; i < CM_UNIT_COUNT; i++) {
        if (lines >> i & 1u) {
            return i + 1;
        }
    }
    return 0;
}

uint32_t cm_regs_read(const cm_regs *r, uint32_t offset) {
    offset &= ~3u; /* a 32-bit slave sees words */
    const reg_info *reg = find_reg(offset);
    if (reg == NULL || reg->access == NPU_ACCESS_WO) {
        return 0;
    }
    if (offset == NPU_REG_IRQ_ID) {
        return irq_id(r);
    }
    return r->value[offset / 4];
}

cm_reg_action cm_regs_write(cm_regs *r, uint32_t offset, uint32_t value, uint32_t byte_strobes) {
    offset &= ~3u;
    const reg_info *reg = find_reg(offset);
    if (reg == NULL || reg->access == NPU_ACCESS_RO) {
        return CM_REG_NOTHING;
    }
    uint32_t mask = strobe_mask(byte_strobes) & reg->fields;
    uint32_t *word = &r->value[offset / 4];
    switch (reg->access) {
    case NPU_ACCESS_W1C:
        *word &= ~(value & mask);
        return CM_REG_NOTHING;
    case NPU_ACCESS_WO: /* PERF_CTRL: the counters of a model without time stay 0 */
        return offset == NPU_REG_CTRL && (value & mask & NPU_CTRL_SOFT_RESET_MASK) ? CM_REG_SOFT_RESET : CM_REG_NOTHING;
    default:
        *word = (*word & ~mask) | (value & mask);
        break;
    }
    for (size_t u = 0; u < CM_UNIT_COUNT; u++) {
        if (offset == units[u].ctrl && (*word & units[u].enable)) {
            *word &= ~units[u].enable; /* reads back 0 */
            return units[u].start;
        }
    }
    return CM_REG_NOTHING;
}

void cm_regs_raise_err(cm_regs *r, cm_unit unit, uint32_t bits) {
    if (bits != 0) {
        r->value[NPU_REG_ERR / 4] |= bits << units[unit].err_lsb;
        r->value[NPU_REG_IRQ_STATUS / 4] |= 1u << unit;
    }
}

void cm_regs_task_done(cm_regs *r, cm_unit unit) {
    uint32_t *count = &r->value[units[unit].count / 4];
    *count = (*count + 1) & NPU_GEMM_COUNT_DONE_MASK; /* the same field in the three registers */
    r->value[NPU_REG_IRQ_STATUS / 4] |= 1u << unit;
}
