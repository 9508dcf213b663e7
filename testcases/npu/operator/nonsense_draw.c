/* nonsense_draw.c - corrupts settings: one field, some, one bit, or all of them. */
#include "nonsense.h"

#include "npu_regs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const non_kind_names[NON_KINDS] = {"any", "field", "few", "flip", "random", "legal"};

typedef struct field {
    uint16_t offset;
    bool address;
    uint32_t mask;
} field;

#define FIELD(reg, name)                                                                                               \
    { NPU_REG_##reg, false, NPU_##reg##_##name##_MASK }
#define WORD(reg)                                                                                                      \
    { NPU_REG_##reg, false, UINT32_MAX }
#define ADDRESS(reg)                                                                                                   \
    { NPU_REG_##reg, true, UINT32_MAX }

static const field gemm_fields[] = {
    ADDRESS(GEMM_IFM_ADDR),     WORD(GEMM_IFM_CSTEP),       ADDRESS(GEMM_WGT_ADDR),      ADDRESS(GEMM_OSCALE_ADDR),
    ADDRESS(GEMM_BIAS_ADDR),    ADDRESS(GEMM_OFM_ADDR),     WORD(GEMM_OFM_CSTEP),        ADDRESS(GEMM_PSUM_ADDR),
    WORD(GEMM_PSUM_CSTEP),      FIELD(GEMM_IFM_SIZE, IW),   FIELD(GEMM_IFM_SIZE, IH),    FIELD(GEMM_CHANNELS, IC),
    FIELD(GEMM_CHANNELS, OC),   FIELD(GEMM_OFM_SIZE, OW),   FIELD(GEMM_OFM_SIZE, OH),    WORD(GEMM_IN_SCALE),
    WORD(GEMM_OUT_SCALE),       FIELD(GEMM_EXT_KERNEL, KW), FIELD(GEMM_EXT_KERNEL, KH),  FIELD(GEMM_EXT_KERNEL, DW),
    FIELD(GEMM_EXT_KERNEL, DH), FIELD(GEMM_EXT_STRIDE, SW), FIELD(GEMM_EXT_STRIDE, SH),  FIELD(GEMM_EXT_PAD, LEFT),
    FIELD(GEMM_EXT_PAD, RIGHT), FIELD(GEMM_EXT_PAD, TOP),   FIELD(GEMM_EXT_PAD, BOTTOM), FIELD(GEMM_ACT, TYPE),
    WORD(GEMM_ACT_P0),          WORD(GEMM_ACT_P1),          WORD(GEMM_ACT_P2),           WORD(GEMM_ACT_P3),
    FIELD(GEMM_GROUP, TILES),   FIELD(GEMM_CTRL, OP),       FIELD(GEMM_CTRL, KERNEL),    FIELD(GEMM_CTRL, STRIDE),
    FIELD(GEMM_CTRL, PAD_MODE), FIELD(GEMM_CTRL, PAD_LEFT), FIELD(GEMM_CTRL, PAD_TOP),   FIELD(GEMM_CTRL, BIAS),
    FIELD(GEMM_CTRL, REQUANT),  FIELD(GEMM_CTRL, LAYOUT),   FIELD(GEMM_CTRL, OSCALE),    FIELD(GEMM_CTRL, DIV_IC),
    FIELD(GEMM_CTRL, EXT),      FIELD(GEMM_CTRL, PSUM_ADD), FIELD(GEMM_CTRL, FENCE),     FIELD(GEMM_CTRL, WGT_RES),
    FIELD(GEMM_CTRL, WGT_KEEP), FIELD(GEMM_CTRL, IBIAS),    FIELD(GEMM_CTRL, QUANT),     FIELD(GEMM_QUANT, ZIN),
    FIELD(GEMM_QUANT, ZOUT),    FIELD(GEMM_QUANT, RNE),     FIELD(GEMM_QUANT, FULL)};

static const field alu_fields[] = {ADDRESS(ALU_A_ADDR),
                                   WORD(ALU_A_RSTEP),
                                   WORD(ALU_A_PSTEP),
                                   ADDRESS(ALU_B_ADDR),
                                   WORD(ALU_B_RSTEP),
                                   WORD(ALU_B_PSTEP),
                                   ADDRESS(ALU_O_ADDR),
                                   WORD(ALU_O_RSTEP),
                                   WORD(ALU_O_PSTEP),
                                   FIELD(ALU_SIZE, COUNT),
                                   FIELD(ALU_ROWS, ROWS),
                                   FIELD(ALU_ROWS, PLANES),
                                   WORD(ALU_P),
                                   WORD(ALU_Q),
                                   ADDRESS(ALU_P_ADDR),
                                   ADDRESS(ALU_Q_ADDR),
                                   FIELD(ALU_ACT, TYPE),
                                   FIELD(ALU_ACT, FUNC),
                                   WORD(ALU_ACT_P0),
                                   WORD(ALU_ACT_P1),
                                   WORD(ALU_ACT_P2),
                                   WORD(ALU_ACT_P3),
                                   FIELD(ALU_CTRL, OP),
                                   FIELD(ALU_CTRL, P_KIND),
                                   FIELD(ALU_CTRL, Q_KIND),
                                   FIELD(ALU_CTRL, DUP)};

static const field pool_fields[] = {ADDRESS(POOL_IFM_ADDR),       WORD(POOL_IFM_CSTEP),     WORD(POOL_IFM_RSTEP),
                                    ADDRESS(POOL_OFM_ADDR),       WORD(POOL_OFM_CSTEP),     WORD(POOL_OFM_RSTEP),
                                    FIELD(POOL_IFM_SIZE, IW),     FIELD(POOL_IFM_SIZE, IH), FIELD(POOL_OFM_SIZE, OW),
                                    FIELD(POOL_OFM_SIZE, OH),     FIELD(POOL_CHANNELS, C),  FIELD(POOL_WINDOW, KW),
                                    FIELD(POOL_WINDOW, KH),       FIELD(POOL_WINDOW, SW),   FIELD(POOL_WINDOW, SH),
                                    FIELD(POOL_PAD, LEFT),        FIELD(POOL_PAD, TOP),     WORD(POOL_RECIP),
                                    ADDRESS(POOL_TAB_ADDR),       FIELD(POOL_CTRL, TYPE),   FIELD(POOL_CTRL, INT8),
                                    FIELD(POOL_CTRL, EXCLUDE_PAD)};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const struct {
    const field *fields;
    size_t count;
    uint32_t first, last, ctrl, en;
} units[NPU_UNIT_COUNT] = {
    [NPU_UNIT_GEMM] = {gemm_fields, COUNT(gemm_fields), NPU_REG_GEMM_IFM_ADDR, NPU_REG_GEMM_PSUM_CSTEP,
                       NPU_REG_GEMM_CTRL, NPU_GEMM_CTRL_EN_MASK},
    [NPU_UNIT_ALU] = {alu_fields, COUNT(alu_fields), NPU_REG_ALU_A_ADDR, NPU_REG_ALU_ACT_P3, NPU_REG_ALU_CTRL,
                      NPU_ALU_CTRL_EN_MASK},
    [NPU_UNIT_POOL] = {pool_fields, COUNT(pool_fields), NPU_REG_POOL_IFM_ADDR, NPU_REG_POOL_CTRL, NPU_REG_POOL_CTRL,
                       NPU_POOL_CTRL_EN_MASK},
};

void non_unit_regs(npu_unit unit, uint32_t *first, uint32_t *last, uint32_t *ctrl, uint32_t *en) {
    *first = units[unit].first;
    *last = units[unit].last;
    *ctrl = units[unit].ctrl;
    *en = units[unit].en;
}

/* A value of `bits` bits: the ends, one bit, small ones, anything. */
static uint32_t draw_value(tb_rng *rng, uint32_t bits) {
    const uint32_t top = bits == 32 ? UINT32_MAX : (1u << bits) - 1;
    switch (tb_rng_range(rng, 0, 7)) {
    case 0:
        return 0;
    case 1:
        return top;
    case 2:
        return 1u << tb_rng_range(rng, 0, bits - 1);
    case 3:
    case 4:
        return (uint32_t)tb_rng_small(rng, 0, top);
    case 5:
        return (uint32_t)tb_rng_small(rng, 0, top) & ~0x1Fu & top;
    default:
        return tb_rng_u32(rng) & top;
    }
}

static uint32_t draw_address(tb_rng *rng, uint32_t scratch, uint32_t bytes) {
    const uint32_t low = 1u << tb_rng_range(rng, 0, 6);
    if (seq_chance(rng, 4)) {
        return draw_value(rng, 32);
    }
    if (seq_chance(rng, 3)) {
        return tb_rng_u32(rng) & ~(low - 1);
    }
    return scratch + ((uint32_t)tb_rng_range(rng, 0, bytes - 1) & ~(low - 1));
}

size_t non_fields(npu_unit unit) {
    return units[unit].count;
}

uint32_t non_get(const non_task *t, size_t index) {
    const field *f = &units[t->unit].fields[index];
    return (t->regs[f->offset / 4] & f->mask) >> __builtin_ctz(f->mask);
}

void non_set(non_task *t, size_t index, uint32_t value) {
    const field *f = &units[t->unit].fields[index];
    uint32_t *reg = &t->regs[f->offset / 4];
    *reg = (*reg & ~f->mask) | (value << __builtin_ctz(f->mask) & f->mask);
}

void non_spoil_field(tb_rng *rng, size_t index, uint32_t scratch, uint32_t bytes, non_task *t) {
    const field *f = &units[t->unit].fields[index];
    const uint32_t width = (uint32_t)__builtin_popcount(f->mask);
    non_set(t, index, f->address ? draw_address(rng, scratch, bytes) : draw_value(rng, width));
}

void non_spoil(tb_rng *rng, non_kind kind, uint32_t scratch, uint32_t bytes, non_task *t) {
    const size_t count = units[t->unit].count;
    const uint32_t one_in = kind == NON_RANDOM ? 1 : (uint32_t)tb_rng_range(rng, 4, 16);
    const size_t chosen = tb_rng_range(rng, 0, count - 1);
    if (kind == NON_FIELD) {
        non_spoil_field(rng, chosen, scratch, bytes, t);
    } else if (kind == NON_FLIP) {
        const uint32_t width = (uint32_t)__builtin_popcount(units[t->unit].fields[chosen].mask);
        non_set(t, chosen, non_get(t, chosen) ^ 1u << tb_rng_range(rng, 0, width - 1));
    }
    for (size_t i = 0; (kind == NON_FEW || kind == NON_RANDOM) && i < count; i++) {
        if (seq_chance(rng, one_in)) {
            non_spoil_field(rng, i, scratch, bytes, t);
        }
    }
}

void non_from(const seq_task *legal, non_task *task) {
    memset(task, 0, sizeof *task);
    task->unit = legal->unit;
    for (uint32_t i = 0; i < legal->write_count; i++) {
        task->regs[legal->writes[i][0] / 4] = legal->writes[i][1];
    }
    task->regs[units[task->unit].ctrl / 4] &= ~units[task->unit].en;
}

void non_print(const non_task *t) {
    printf("nonsense: %s, about %" PRIu64 " cycles\n", t->legal ? "legal" : "illegal", t->work);
    for (uint32_t limit = 0; limit < non_limits(t->unit); limit++) {
        if ((t->violated >> limit & 1) != 0) {
            printf("nonsense: violated: %s\n", non_limit_name(t->unit, limit));
        }
    }
    for (uint32_t offset = units[t->unit].first; offset <= units[t->unit].last; offset += 4) {
        printf("nonsense:   0x%03X = 0x%08X\n", offset, t->regs[offset / 4]);
    }
}
