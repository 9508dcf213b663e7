/* regs_tasks.c - the smallest task of each unit, illegal variants of it, and more tasks than fit. */
#include "regs.h"

#include "npu_regs.h"

#include <string.h>

#define SUMMANDS 256u
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

#define GEMM_MIN (NPU_GEMM_CTRL_LAYOUT_MASK | 1u << NPU_GEMM_CTRL_KERNEL_LSB | 1u << NPU_GEMM_CTRL_STRIDE_LSB)
#define GEMM_EXT (NPU_GEMM_CTRL_LAYOUT_MASK | NPU_GEMM_CTRL_EXT_MASK)
#define GEMM_RAW (GEMM_MIN | NPU_GEMM_CTRL_DIV_IC_MASK)
#define GEMM_OP(op) (GEMM_MIN | (uint32_t)(op) << NPU_GEMM_CTRL_OP_LSB)
#define ALU_OP(op) ((uint32_t)(op) << NPU_ALU_CTRL_OP_LSB)
#define ALU_FUNC(func) ((uint32_t)(func) << NPU_ALU_ACT_FUNC_LSB)
#define ALU_KIND(p, q) ((uint32_t)(p) << NPU_ALU_CTRL_P_KIND_LSB | (uint32_t)(q) << NPU_ALU_CTRL_Q_KIND_LSB)
#define ADDRESS(reg, at)                                                                                               \
    { NPU_REG_##reg, at, true }
#define VALUE(reg, value)                                                                                              \
    { NPU_REG_##reg, value, false }

/* One pixel, one channel, kernel 1. */
static const regs_setting gemm_task[] = {ADDRESS(GEMM_IFM_ADDR, 0),
                                         VALUE(GEMM_IFM_CSTEP, 32),
                                         ADDRESS(GEMM_WGT_ADDR, 0x100),
                                         ADDRESS(GEMM_OSCALE_ADDR, 0),
                                         ADDRESS(GEMM_BIAS_ADDR, 0),
                                         ADDRESS(GEMM_OFM_ADDR, REGS_OUT),
                                         VALUE(GEMM_OFM_CSTEP, 32),
                                         ADDRESS(GEMM_PSUM_ADDR, 0),
                                         VALUE(GEMM_PSUM_CSTEP, 16),
                                         VALUE(GEMM_IFM_SIZE, 0x00010001u),
                                         VALUE(GEMM_CHANNELS, 0x00010001u),
                                         VALUE(GEMM_OFM_SIZE, 0x00010001u),
                                         VALUE(GEMM_IN_SCALE, 0x3F800000u),
                                         VALUE(GEMM_EXT_KERNEL, 0x01010101u),
                                         VALUE(GEMM_EXT_STRIDE, 0x0101u),
                                         VALUE(GEMM_ACT, 0),
                                         VALUE(GEMM_GROUP, 0),
                                         VALUE(GEMM_CTRL, GEMM_MIN)};

/* One element copied. */
static const regs_setting alu_task[] = {ADDRESS(ALU_A_ADDR, 0),
                                        VALUE(ALU_A_RSTEP, 16),
                                        VALUE(ALU_A_PSTEP, 16),
                                        ADDRESS(ALU_B_ADDR, 0),
                                        VALUE(ALU_B_RSTEP, 16),
                                        VALUE(ALU_B_PSTEP, 16),
                                        ADDRESS(ALU_O_ADDR, REGS_OUT),
                                        VALUE(ALU_O_RSTEP, 16),
                                        VALUE(ALU_O_PSTEP, 16),
                                        VALUE(ALU_SIZE, 1),
                                        VALUE(ALU_ROWS, 0x00010001u),
                                        ADDRESS(ALU_P_ADDR, 0),
                                        ADDRESS(ALU_Q_ADDR, 0),
                                        VALUE(ALU_ACT, 0),
                                        VALUE(ALU_CTRL, 0)};

/* The maximum of one element. */
static const regs_setting pool_task[] = {ADDRESS(POOL_IFM_ADDR, 0),
                                         VALUE(POOL_IFM_CSTEP, 32),
                                         VALUE(POOL_IFM_RSTEP, 256),
                                         ADDRESS(POOL_OFM_ADDR, REGS_OUT),
                                         VALUE(POOL_OFM_CSTEP, 32),
                                         VALUE(POOL_OFM_RSTEP, 256),
                                         VALUE(POOL_IFM_SIZE, 0x00010001u),
                                         VALUE(POOL_OFM_SIZE, 0x00010001u),
                                         VALUE(POOL_CHANNELS, 1),
                                         VALUE(POOL_WINDOW, 0x01010101u),
                                         VALUE(POOL_PAD, 0),
                                         ADDRESS(POOL_TAB_ADDR, 0),
                                         VALUE(POOL_CTRL, 0)};

/* What the names of its registers and fields say of a unit; its bits of ERR are ERR_CONFIG and ERR_OVERRUN. */
#define REGS_UNIT(NAME, ERR, TASK)                                                                                     \
    .name = #NAME, .irq = NPU_IRQ_STATUS_##NAME##_MASK, .line = NPU_HAL_IRQ_##NAME,                                    \
    .ready = NPU_STATUS_##NAME##_READY_MASK, .busy = NPU_STATUS_##NAME##_BUSY_MASK, .config = ERR##_CONFIG_MASK,       \
    .overrun = ERR##_OVERRUN_MASK, .count = NPU_REG_##NAME##_COUNT, .count_name = #NAME "_COUNT",                      \
    .ctrl = NPU_REG_##NAME##_CTRL, .en = NPU_##NAME##_CTRL_EN_MASK, .task = TASK, .settings = COUNT(TASK)

const regs_unit regs_gemm = {REGS_UNIT(GEMM, NPU_ERR, gemm_task), .id = 3,
                             .longer = {{VALUE(GEMM_OFM_SIZE, 0x00100010u)}}, .longer_bytes = 1024};
const regs_unit regs_alu = {REGS_UNIT(ALU, NPU_ERR_ALU, alu_task), .present = NPU_CONFIG_EN_ALU_MASK, .id = 1,
                            .longer = {{VALUE(ALU_SIZE, 512)}}, .longer_bytes = 2048};
const regs_unit regs_pool = {REGS_UNIT(POOL, NPU_ERR_POOL, pool_task), .present = NPU_CONFIG_EN_POOL_MASK, .id = 2,
                             .longer = {{VALUE(POOL_IFM_SIZE, 0x00080040u), VALUE(POOL_OFM_SIZE, 0x00080040u)}},
                             .longer_bytes = 2048};

static const regs_change gemm_bad[] = {
    {{VALUE(GEMM_CTRL, GEMM_OP(1)), VALUE(GEMM_CHANNELS, 0x00020001u)}},
    {{VALUE(GEMM_CTRL, GEMM_OP(2)), VALUE(GEMM_CHANNELS, 0x00010002u)}},
    {{VALUE(GEMM_CTRL, GEMM_OP(3))}},
    {{VALUE(GEMM_CTRL, GEMM_MIN | 1u << NPU_GEMM_CTRL_PAD_MODE_LSB)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN & ~NPU_GEMM_CTRL_KERNEL_MASK)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN & ~NPU_GEMM_CTRL_STRIDE_MASK)}},
    {{VALUE(GEMM_CTRL, GEMM_RAW | NPU_GEMM_CTRL_OSCALE_MASK)}},
    {{VALUE(GEMM_CTRL, GEMM_RAW | NPU_GEMM_CTRL_BIAS_MASK)}},
    {{VALUE(GEMM_CTRL, GEMM_RAW | NPU_GEMM_CTRL_REQUANT_MASK)}},
    {{VALUE(GEMM_CTRL, GEMM_RAW), VALUE(GEMM_ACT, 1)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN | NPU_GEMM_CTRL_IBIAS_MASK)}},
    {{VALUE(GEMM_ACT, NPU_GEMM_ACT_TYPE_COUNT)}},
    {{VALUE(GEMM_ACT, 15)}},
    /* INT8 tensors: alignment and pitch */
    {{VALUE(GEMM_CTRL, GEMM_MIN & ~NPU_GEMM_CTRL_LAYOUT_MASK), ADDRESS(GEMM_IFM_ADDR, 2)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN & ~NPU_GEMM_CTRL_LAYOUT_MASK), VALUE(GEMM_IFM_CSTEP, 34)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN & ~NPU_GEMM_CTRL_LAYOUT_MASK), VALUE(GEMM_IFM_CSTEP, 32),
      VALUE(GEMM_CHANNELS, 0x00010021u)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN | NPU_GEMM_CTRL_REQUANT_MASK), ADDRESS(GEMM_OFM_ADDR, REGS_OUT + 2)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN | NPU_GEMM_CTRL_REQUANT_MASK), VALUE(GEMM_OFM_CSTEP, 33)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN | NPU_GEMM_CTRL_REQUANT_MASK), VALUE(GEMM_OFM_CSTEP, 32),
      VALUE(GEMM_CHANNELS, 0x00210001u)}},
    /* sizes */
    {{VALUE(GEMM_IFM_SIZE, 0x00010000u)}},
    {{VALUE(GEMM_IFM_SIZE, 0x00000001u)}},
    {{VALUE(GEMM_CHANNELS, 0x00010000u)}},
    {{VALUE(GEMM_CHANNELS, 0x00000001u)}},
    {{VALUE(GEMM_CHANNELS, 1025u << 16 | 1u)}},
    {{VALUE(GEMM_CHANNELS, 1u << 16 | (4608u + 1u))}},
    {{VALUE(GEMM_CHANNELS, 1u << 16 | 65535u)}},
    {{VALUE(GEMM_OFM_SIZE, 0x00010000u)}},
    {{VALUE(GEMM_OFM_SIZE, 0x00000001u)}},
    {{VALUE(GEMM_OFM_SIZE, 256u << 16 | 256u)}},
    {{VALUE(GEMM_IFM_SIZE, 2u << 16 | 8193u)}},
    {{VALUE(GEMM_IFM_SIZE, 0xFFFFFFFFu)}},
    /* resident weights: kept without any before, kept without being resident, too many, rows that do not fit */
    {{VALUE(GEMM_CTRL, GEMM_MIN | NPU_GEMM_CTRL_WGT_RES_MASK | NPU_GEMM_CTRL_WGT_KEEP_MASK)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN | NPU_GEMM_CTRL_WGT_KEEP_MASK)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN | NPU_GEMM_CTRL_WGT_RES_MASK), VALUE(GEMM_CHANNELS, 65u << 16 | 4608u)}},
    {{VALUE(GEMM_CTRL, GEMM_MIN | NPU_GEMM_CTRL_WGT_RES_MASK), VALUE(GEMM_IFM_SIZE, 1u << 16 | 16385u)}},
    /* addresses and steps */
    {{ADDRESS(GEMM_IFM_ADDR, 2)}},
    {{VALUE(GEMM_IFM_CSTEP, 18)}},
    {{ADDRESS(GEMM_WGT_ADDR, 0x108)}},
    {{ADDRESS(GEMM_OSCALE_ADDR, 4)}},
    {{ADDRESS(GEMM_BIAS_ADDR, 8)}},
    {{ADDRESS(GEMM_OFM_ADDR, REGS_OUT + 1)}},
    {{VALUE(GEMM_OFM_CSTEP, 6)}},
    {{ADDRESS(GEMM_PSUM_ADDR, 3)}},
    {{VALUE(GEMM_PSUM_CSTEP, 17)}},
    /* zeros in the extended form; more taps than the weight buffer holds with any N */
    {{VALUE(GEMM_CTRL, GEMM_EXT), VALUE(GEMM_EXT_KERNEL, 0x01010100u)}},
    {{VALUE(GEMM_CTRL, GEMM_EXT), VALUE(GEMM_EXT_KERNEL, 0x01010001u)}},
    {{VALUE(GEMM_CTRL, GEMM_EXT), VALUE(GEMM_EXT_KERNEL, 0x01000101u)}},
    {{VALUE(GEMM_CTRL, GEMM_EXT), VALUE(GEMM_EXT_KERNEL, 0x00010101u)}},
    {{VALUE(GEMM_CTRL, GEMM_EXT), VALUE(GEMM_EXT_STRIDE, 0x0100u)}},
    {{VALUE(GEMM_CTRL, GEMM_EXT), VALUE(GEMM_EXT_STRIDE, 0x0001u)}},
    {{VALUE(GEMM_CTRL, GEMM_EXT), VALUE(GEMM_EXT_KERNEL, 0x01012121u), VALUE(GEMM_CHANNELS, 0x00010005u)}},
};

static const regs_change alu_bad[] = {
    {{VALUE(ALU_CTRL, ALU_OP(NPU_ALU_CTRL_OP_COUNT))}},
    {{VALUE(ALU_CTRL, ALU_OP(31))}},
    {{VALUE(ALU_CTRL, ALU_OP(1) | ALU_KIND(3, 0))}},
    {{VALUE(ALU_CTRL, ALU_OP(5) | ALU_KIND(0, 3))}},
    {{VALUE(ALU_CTRL, ALU_OP(5) | ALU_KIND(1, 1))}},
    {{VALUE(ALU_CTRL, ALU_OP(13)), VALUE(ALU_ACT, 1)}},
    {{VALUE(ALU_CTRL, ALU_OP(13)), VALUE(ALU_ACT, ALU_FUNC(1))}},
    {{VALUE(ALU_ACT, 1 | ALU_FUNC(2))}},
    {{VALUE(ALU_ACT, 13 | ALU_FUNC(3))}},
    {{VALUE(ALU_CTRL, ALU_OP(14) | NPU_ALU_CTRL_DUP_MASK)}},
    {{VALUE(ALU_CTRL, ALU_OP(15) | NPU_ALU_CTRL_DUP_MASK)}},
    {{VALUE(ALU_CTRL, ALU_OP(17) | NPU_ALU_CTRL_DUP_MASK)}},
    {{VALUE(ALU_CTRL, ALU_OP(18) | NPU_ALU_CTRL_DUP_MASK)}},
    {{VALUE(ALU_CTRL, ALU_OP(14) | ALU_KIND(0, 1))}},
    {{VALUE(ALU_CTRL, ALU_OP(15) | ALU_KIND(0, 2))}},
    {{VALUE(ALU_CTRL, ALU_OP(17) | ALU_KIND(0, 2))}},
    {{VALUE(ALU_CTRL, ALU_OP(18) | ALU_KIND(0, 1))}},
    {{VALUE(ALU_ACT, NPU_GEMM_ACT_TYPE_COUNT)}},
    {{VALUE(ALU_ACT, 15)}},
    {{VALUE(ALU_SIZE, 0)}},
    {{VALUE(ALU_ROWS, 0x00010000u)}},
    {{VALUE(ALU_ROWS, 0x00000001u)}},
    {{ADDRESS(ALU_A_ADDR, 2)}},
    {{VALUE(ALU_A_RSTEP, 1)}},
    {{VALUE(ALU_A_PSTEP, 2)}},
    {{ADDRESS(ALU_B_ADDR, 1)}},
    {{VALUE(ALU_B_RSTEP, 2)}},
    {{VALUE(ALU_B_PSTEP, 1)}},
    {{ADDRESS(ALU_O_ADDR, REGS_OUT + 2)}},
    {{VALUE(ALU_O_RSTEP, 1)}},
    {{VALUE(ALU_O_PSTEP, 2)}},
    {{ADDRESS(ALU_P_ADDR, 1)}},
    {{ADDRESS(ALU_Q_ADDR, 2)}},
};

static const regs_change pool_bad[] = {
    {{VALUE(POOL_CTRL, NPU_POOL_CTRL_TYPE_COUNT << NPU_POOL_CTRL_TYPE_LSB)}},
    {{VALUE(POOL_CTRL, 3u << NPU_POOL_CTRL_TYPE_LSB)}},
    {{VALUE(POOL_IFM_SIZE, 0x00010000u)}},
    {{VALUE(POOL_IFM_SIZE, 0x00000001u)}},
    {{VALUE(POOL_OFM_SIZE, 0x00010000u)}},
    {{VALUE(POOL_OFM_SIZE, 0x00000001u)}},
    {{VALUE(POOL_CHANNELS, 0)}},
    {{VALUE(POOL_WINDOW, 0x01010100u)}},
    {{VALUE(POOL_WINDOW, 0x01010001u)}},
    {{VALUE(POOL_WINDOW, 0x01000101u)}},
    {{VALUE(POOL_WINDOW, 0x00010101u)}},
    {{VALUE(POOL_IFM_SIZE, 1u << 16 | 513u)}},
    {{VALUE(POOL_IFM_SIZE, 1u << 16 | 65u), VALUE(POOL_OFM_SIZE, 1u << 16 | 65u)}},
    {{VALUE(POOL_PAD, 0x0001u)}},
    {{VALUE(POOL_PAD, 0x0100u)}},
    /* the last window is outside of the map */
    {{VALUE(POOL_OFM_SIZE, 1u << 16 | 2u)}},
    {{VALUE(POOL_OFM_SIZE, 2u << 16 | 1u)}},
    {{VALUE(POOL_IFM_SIZE, 4u << 16 | 4u), VALUE(POOL_OFM_SIZE, 2u << 16 | 3u), VALUE(POOL_WINDOW, 0x02020202u)}},
    {{VALUE(POOL_IFM_SIZE, 0xFFFF0001u), VALUE(POOL_OFM_SIZE, 0xFFFF0001u), VALUE(POOL_WINDOW, 0x02010101u)}},
    /* addresses and steps */
    {{ADDRESS(POOL_IFM_ADDR, 2)}},
    {{VALUE(POOL_IFM_CSTEP, 34)}},
    {{VALUE(POOL_IFM_RSTEP, 257)}},
    {{ADDRESS(POOL_OFM_ADDR, REGS_OUT + 1)}},
    {{VALUE(POOL_OFM_CSTEP, 33)}},
    {{VALUE(POOL_OFM_RSTEP, 258)}},
    {{ADDRESS(POOL_TAB_ADDR, 2)}},
    {{VALUE(POOL_CTRL, NPU_POOL_CTRL_INT8_MASK), VALUE(POOL_IFM_CSTEP, 32), VALUE(POOL_OFM_CSTEP, 64),
      VALUE(POOL_CHANNELS, 33)}},
    {{VALUE(POOL_CTRL, NPU_POOL_CTRL_INT8_MASK), VALUE(POOL_IFM_CSTEP, 64), VALUE(POOL_OFM_CSTEP, 32),
      VALUE(POOL_CHANNELS, 33)}},
};

static const regs_setting *changed(const regs_change *change, const regs_setting *s) {
    for (size_t i = 0; change != NULL && i < REGS_CHANGES && change->set[i].offset != 0; i++) {
        if (change->set[i].offset == s->offset) {
            return &change->set[i];
        }
    }
    return s;
}

bool regs_write_task(tc_run *run, const regs_unit *unit, uint32_t base, const regs_change *change, bool start) {
    for (size_t i = 0; i < unit->settings; i++) {
        const regs_setting *s = changed(change, &unit->task[i]);
        const uint32_t en = start && s->offset == unit->ctrl ? unit->en : 0;
        if (!tc_write(run, s->offset, (s->value + (s->address ? base : 0)) | en)) {
            return false;
        }
    }
    return true;
}

/* The hardware checks a task for some cycles before it refuses it. */
static bool refused(tc_run *run, const regs_unit *unit, uint32_t base, const regs_change *change) {
    return regs_write_task(run, unit, base, change, true) && regs_wait_idle(run) &&
           tc_expect(run, unit->count_name, unit->count, UINT32_MAX, 0) && regs_check_irq(run, unit) &&
           regs_check_w1c(run, "ERR", NPU_REG_ERR, unit->config);
}

bool regs_check_limits(tc_run *run, const regs_unit *unit, uint32_t base) {
    const regs_change *bad = unit == &regs_gemm ? gemm_bad : unit == &regs_alu ? alu_bad : pool_bad;
    const size_t count = unit == &regs_gemm ? COUNT(gemm_bad) : unit == &regs_alu ? COUNT(alu_bad) : COUNT(pool_bad);
    for (size_t i = 0; i < count; i++) {
        if (!refused(run, unit, base, &bad[i])) {
            return false;
        }
    }
    return true;
}

bool regs_check_absent(tc_run *run, const regs_unit *unit, uint32_t base) {
    return refused(run, unit, base, NULL);
}

bool regs_check_legal(tc_run *run, const regs_unit *unit, uint32_t base) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    hal->task_output(hal->ctx, base + REGS_OUT, 4);
    return regs_write_task(run, unit, base, NULL, true) && regs_wait_count(run, unit, 1) &&
           tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, 0) && regs_check_irq(run, unit);
}

bool regs_check_result(tc_run *run, uint32_t base) {
    static const regs_change sum = {{VALUE(ALU_SIZE, SUMMANDS), VALUE(ALU_CTRL, ALU_OP(NPU_ALU_CTRL_OP_SUM))}};
    const npu_hal *hal = npu_dev_hal(run->dev);
    tb_rng rng = tb_rng_stream(run->seed, "regs.result");
    float values[SUMMANDS];
    uint32_t before = 0; /* ALU_RESULT */
    for (uint32_t i = 0; i < SUMMANDS; i++) {
        values[i] = 1.0f;
    }
    if (!npu_dev_write(run->dev, base, values, sizeof values)) {
        return false;
    }
    for (uint32_t tasks = 0, count = 0; tasks < 3; tasks++) {
        const float factor = (float)(tasks + 1), result = factor * (float)SUMMANDS;
        uint32_t q, want, got, any;
        memcpy(&q, &factor, sizeof q);
        memcpy(&want, &result, sizeof want);
        hal->task_output(hal->ctx, base + REGS_OUT, 4);
        if (!tc_write(run, NPU_REG_ALU_Q, q) || !regs_write_task(run, &regs_alu, base, &sum, true)) {
            return false;
        }
        for (uint32_t reads = 0; count == tasks && reads < 10000; reads++) {
            if (!tc_read(run, NPU_REG_ALU_RESULT, &got) || !tc_read(run, NPU_REG_ALU_COUNT, &count) ||
                !tc_read(run, 4 * (uint32_t)tb_rng_range(&rng, 0, 127), &any)) {
                return false;
            }
            if (count == tasks && got != before) {
                tc_fail(run, "regs: result too early",
                        "ALU_RESULT is 0x%08X while the task runs, expected 0x%08X, as before", got, before);
                return false;
            }
        }
        if (!regs_wait_count(run, &regs_alu, tasks + 1) ||
            !tc_expect(run, "ALU_RESULT", NPU_REG_ALU_RESULT, UINT32_MAX, want)) {
            return false;
        }
        before = want;
    }
    return true;
}

bool regs_check_overrun(tc_run *run, const regs_unit *unit, uint32_t base) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    uint32_t started = 0;
    uint32_t status = unit->ready;
    uint32_t ctrl = 0;
    hal->task_output(hal->ctx, base + REGS_OUT, unit->longer_bytes);
    if (!regs_write_task(run, unit, base, &unit->longer, false) || !tc_read(run, unit->ctrl, &ctrl)) {
        return false;
    }
    while (started < 64) {
        if (!tc_read(run, NPU_REG_STATUS, &status) || !tc_write(run, unit->ctrl, ctrl | unit->en)) {
            return false;
        }
        if ((status & unit->ready) == 0) {
            break;
        }
        started++;
    }
    if (started == 64) {
        tc_fail(run, "regs: never full", "64 tasks of the %s were started and its bit of STATUS was never 0",
                unit->name);
        return false;
    }
    /* A task may have been accepted between the read of STATUS and the start. */
    uint32_t err = 0;
    if (!tc_read(run, NPU_REG_ERR, &err)) {
        return false;
    }
    started += (err & unit->overrun) != 0 ? 0 : 1;
    return regs_wait_count(run, unit, started) && tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, err & unit->overrun);
}
