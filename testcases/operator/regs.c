/*
 * regs.c - directed test of the registers: reset values, writable bits, event flags, refused tasks, overrun, soft reset.
 */
#include "../tests.h"

#include "npu_regs.h"

#include <stdio.h>

#define TIMEOUT_US 1000u
#define READY NPU_STATUS_GEMM_READY_MASK
#define GEMM_IRQ NPU_IRQ_STATUS_GEMM_MASK

typedef struct reg {
    const char *name;
    uint32_t offset, access, exact, timed, w1c, reset;
} reg;

#define ROW(name, offset, access, exact, timed, w1c, reset) {#name, offset, access, exact, timed, w1c, reset},
static const reg regs[] = {NPU_REG_TABLE(ROW)};
#undef ROW
#define REGS (sizeof regs / sizeof regs[0])

/* What a register reads right after reset, when nothing runs. */
static uint32_t idle_value(const tc_run *run, const reg *r) {
    return r->access == NPU_ACCESS_WO ? 0 : r->offset == NPU_REG_CONFIG ? run->n : r->reset;
}

/* Counters may have been counting up to the reset; the copies that PERF_LO and PERF_HI show are cleared by it. */
static bool check_reset_values(tc_run *run) {
    for (size_t i = 0; i < REGS; i++) {
        /* whether ALU and POOL are present is the build's business */
        const uint32_t mask = regs[i].offset == NPU_REG_CONFIG ? ~(NPU_CONFIG_EN_ALU_MASK | NPU_CONFIG_EN_POOL_MASK) : UINT32_MAX;
        if (!tc_expect(run, regs[i].name, regs[i].offset, mask, idle_value(run, &regs[i]))) {
            return false;
        }
    }
    return true;
}

static bool soft_reset(tc_run *run) {
    uint32_t status = NPU_STATUS_RESETTING_MASK;
    if (!tc_write(run, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK)) {
        return false;
    }
    for (unsigned i = 0; (status & NPU_STATUS_RESETTING_MASK) != 0; i++) {
        if (i > 10000) {
            tc_fail(run, "regs: reset never ends", "STATUS.RESETTING is still 1 after 10000 reads");
            return false;
        }
        if (!tc_read(run, NPU_REG_STATUS, &status)) {
            return false;
        }
    }
    return true;
}

static const reg *reg_at(uint32_t offset) {
    for (size_t i = 0; i < REGS; i++) {
        if (regs[i].offset == offset) {
            return &regs[i];
        }
    }
    return NULL;
}

static bool check_unused(tc_run *run) {
    for (uint32_t offset = 0; offset < 512; offset += 4) {
        if (reg_at(offset) == NULL && (!tc_expect(run, "unused offset", offset, UINT32_MAX, 0) || !tc_write(run, offset, UINT32_MAX) ||
                                       !tc_expect(run, "unused offset", offset, UINT32_MAX, 0))) {
            return false;
        }
    }
    return true;
}

/* Random values in all writable registers at once: no register shows another one's value, and read-only ones keep theirs. */
static bool check_writable(tc_run *run, unsigned rounds) {
    tb_rng rng = tb_rng_stream(run->seed, "regs.values");
    uint32_t value[REGS] = {0};
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < REGS; i++) {
            const reg *r = &regs[i];
            uint32_t v = round == 0 ? UINT32_MAX : round == 1 ? 0 : tb_rng_u32(&rng);
            if (r->offset == NPU_REG_GEMM_CTRL) {
                v &= ~NPU_GEMM_CTRL_EN_MASK;
            }
            value[i] = r->access == NPU_ACCESS_RW ? v & r->exact : idle_value(run, r);
            if ((r->access == NPU_ACCESS_RW || r->access == NPU_ACCESS_RO) && !tc_write(run, r->offset, v)) {
                return false;
            }
        }
        for (size_t i = 0; i < REGS; i++) {
            const uint32_t mask = regs[i].offset == NPU_REG_CONFIG ? NPU_CONFIG_MESH_N_MASK : UINT32_MAX;
            if (!tc_expect(run, regs[i].name, regs[i].offset, mask, value[i])) {
                return false;
            }
        }
    }
    return true;
}

/* The smallest task: one pixel, one channel, kernel 1. Its registers, GEMM_CTRL last. */
typedef struct setting {
    uint32_t offset, value;
} setting;

#define SETTINGS 16
#define CTRL_MIN (NPU_GEMM_CTRL_LAYOUT_MASK | 1u << NPU_GEMM_CTRL_KERNEL_LSB | 1u << NPU_GEMM_CTRL_STRIDE_LSB)

static bool write_task(tc_run *run, uint32_t base, setting change, bool start) {
    const setting task[SETTINGS] = {
        {NPU_REG_GEMM_IFM_ADDR, base},          {NPU_REG_GEMM_IFM_CSTEP, 16},         {NPU_REG_GEMM_WGT_ADDR, base + 0x100},
        {NPU_REG_GEMM_OSCALE_ADDR, base},       {NPU_REG_GEMM_BIAS_ADDR, base},       {NPU_REG_GEMM_OFM_ADDR, base + 0x800},
        {NPU_REG_GEMM_OFM_CSTEP, 16},           {NPU_REG_GEMM_PSUM_ADDR, base},       {NPU_REG_GEMM_IFM_SIZE, 0x00010001u},
        {NPU_REG_GEMM_CHANNELS, 0x00010001u},   {NPU_REG_GEMM_OFM_SIZE, 0x00010001u}, {NPU_REG_GEMM_IN_SCALE, 0x3F800000u},
        {NPU_REG_GEMM_EXT_KERNEL, 0x01010101u}, {NPU_REG_GEMM_EXT_STRIDE, 0x0101u},   {NPU_REG_GEMM_ACT, 0},
        {NPU_REG_GEMM_CTRL, CTRL_MIN}};
    for (size_t i = 0; i < SETTINGS; i++) {
        uint32_t value = task[i].offset == change.offset ? change.value : task[i].value;
        value |= task[i].offset == NPU_REG_GEMM_CTRL && start ? NPU_GEMM_CTRL_EN_MASK : 0;
        if (!tc_write(run, task[i].offset, value)) {
            return false;
        }
    }
    return true;
}

/* An event flag goes when a 1 is written to it, and only then. */
static bool check_w1c(tc_run *run, const char *name, uint32_t offset, uint32_t flag) {
    return tc_expect(run, name, offset, UINT32_MAX, flag) && tc_write(run, offset, 0) && tc_expect(run, name, offset, UINT32_MAX, flag) &&
           tc_write(run, offset, ~flag) && tc_expect(run, name, offset, UINT32_MAX, flag) && tc_write(run, offset, flag) &&
           tc_expect(run, name, offset, UINT32_MAX, 0);
}

static bool irq_line(tc_run *run, bool want) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    const npu_hal_status got = hal->wait_irq(hal->ctx, NPU_HAL_IRQ_GEMM, 1);
    if (got != (want ? NPU_HAL_OK : NPU_HAL_TIMEOUT)) {
        tc_fail(run, "regs: interrupt line", "the GEMM interrupt line is %s, expected %s", want ? "low" : "high", want ? "high" : "low");
        return false;
    }
    return true;
}

/* Status, mask, line and identification of the interrupt that is raised by now. */
static bool check_irq(tc_run *run) {
    return tc_write(run, NPU_REG_IRQ_ENABLE, 0) && tc_expect(run, "IRQ_ID", NPU_REG_IRQ_ID, UINT32_MAX, 0) && irq_line(run, false) &&
           tc_write(run, NPU_REG_IRQ_ENABLE, NPU_IRQ_ENABLE_GEMM_MASK) && tc_expect(run, "IRQ_ID", NPU_REG_IRQ_ID, UINT32_MAX, 3) &&
           irq_line(run, true) && check_w1c(run, "IRQ_STATUS", NPU_REG_IRQ_STATUS, GEMM_IRQ) &&
           tc_expect(run, "IRQ_ID", NPU_REG_IRQ_ID, UINT32_MAX, 0) && irq_line(run, false);
}

/* The hardware looks at a task for some cycles before it refuses it. */
static bool wait_idle(tc_run *run) {
    uint32_t status = 0;
    for (unsigned i = 0; i < 10000 && status != READY; i++) {
        if (!tc_read(run, NPU_REG_STATUS, &status)) {
            return false;
        }
    }
    if (status != READY) {
        tc_fail(run, "regs: never idle", "STATUS is 0x%X after 10000 reads, expected 0x%X", status, READY);
    }
    return status == READY;
}

static bool check_refused(tc_run *run, uint32_t base, setting change) {
    return write_task(run, base, change, true) && wait_idle(run) && tc_expect(run, "GEMM_COUNT", NPU_REG_GEMM_COUNT, UINT32_MAX, 0) &&
           check_irq(run) && check_w1c(run, "ERR", NPU_REG_ERR, NPU_ERR_CONFIG_MASK);
}

/* One setting each that docs/npu.md section 3 forbids. */
static bool check_limits(tc_run *run, uint32_t base) {
    const uint32_t n = run->n;
    const uint32_t ext = NPU_GEMM_CTRL_LAYOUT_MASK | NPU_GEMM_CTRL_EXT_MASK;
    const uint32_t raw = CTRL_MIN | NPU_GEMM_CTRL_DIV_IC_MASK;
    const setting bad[] = {
        {NPU_REG_GEMM_CTRL, CTRL_MIN | 1u << NPU_GEMM_CTRL_OP_LSB},
        {NPU_REG_GEMM_CTRL, CTRL_MIN | 2u << NPU_GEMM_CTRL_OP_LSB},
        {NPU_REG_GEMM_CTRL, CTRL_MIN | 1u << NPU_GEMM_CTRL_PAD_MODE_LSB},
        {NPU_REG_GEMM_CTRL, CTRL_MIN & ~NPU_GEMM_CTRL_LAYOUT_MASK},
        {NPU_REG_GEMM_CTRL, CTRL_MIN | NPU_GEMM_CTRL_REQUANT_MASK},
        {NPU_REG_GEMM_CTRL, CTRL_MIN & ~NPU_GEMM_CTRL_KERNEL_MASK},
        {NPU_REG_GEMM_CTRL, CTRL_MIN & ~NPU_GEMM_CTRL_STRIDE_MASK},
        {NPU_REG_GEMM_CTRL, raw | NPU_GEMM_CTRL_OSCALE_MASK},
        {NPU_REG_GEMM_CTRL, raw | NPU_GEMM_CTRL_BIAS_MASK},
        {NPU_REG_GEMM_ACT, 2},
        {NPU_REG_GEMM_ACT, 15},
        {NPU_REG_GEMM_IFM_SIZE, 0x00010000u},
        {NPU_REG_GEMM_IFM_SIZE, 0x00000001u},
        {NPU_REG_GEMM_CHANNELS, 0x00010000u},
        {NPU_REG_GEMM_CHANNELS, 0x00000001u},
        {NPU_REG_GEMM_CHANNELS, 1025u << 16 | 1u},
        {NPU_REG_GEMM_CHANNELS, 1u << 16 | (4608u + 1u)},
        {NPU_REG_GEMM_CHANNELS, 1u << 16 | 65535u},
        {NPU_REG_GEMM_OFM_SIZE, 0x00010000u},
        {NPU_REG_GEMM_OFM_SIZE, 0x00000001u},
        {NPU_REG_GEMM_OFM_SIZE, 256u << 16 | 256u},
        {NPU_REG_GEMM_IFM_SIZE, 2u << 16 | 8193u},
        {NPU_REG_GEMM_IFM_SIZE, 0xFFFFFFFFu},
        {NPU_REG_GEMM_IFM_ADDR, base + 2},
        {NPU_REG_GEMM_IFM_CSTEP, 24},
        {NPU_REG_GEMM_WGT_ADDR, base + 8},
        {NPU_REG_GEMM_OSCALE_ADDR, base + 4},
        {NPU_REG_GEMM_BIAS_ADDR, base + 8},
        {NPU_REG_GEMM_OFM_ADDR, base + 1},
        {NPU_REG_GEMM_OFM_CSTEP, 4},
        {NPU_REG_GEMM_PSUM_ADDR, base + 3},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (!check_refused(run, base, bad[i])) {
            return false;
        }
    }
    /* zeros in the extended form: kw, kh, dw, dh, sw, sh; and more taps than the weight buffer holds */
    const setting bad_ext[] = {
        {NPU_REG_GEMM_EXT_KERNEL, 0x01010100u},
        {NPU_REG_GEMM_EXT_KERNEL, 0x01010001u},
        {NPU_REG_GEMM_EXT_KERNEL, 0x01000101u},
        {NPU_REG_GEMM_EXT_KERNEL, 0x00010101u},
        {NPU_REG_GEMM_EXT_STRIDE, 0x0100u},
        {NPU_REG_GEMM_EXT_STRIDE, 0x0001u},
        {NPU_REG_GEMM_EXT_KERNEL, 0x01010000u | (4608u / n / 16u + 1u) << 8 | 16u},
    };
    for (size_t i = 0; i < sizeof bad_ext / sizeof bad_ext[0]; i++) {
        if (!write_task(run, base, bad_ext[i], false) || !tc_write(run, NPU_REG_GEMM_CTRL, ext | NPU_GEMM_CTRL_EN_MASK) ||
            !tc_expect(run, "GEMM_COUNT", NPU_REG_GEMM_COUNT, UINT32_MAX, 0) || !check_irq(run) ||
            !check_w1c(run, "ERR", NPU_REG_ERR, NPU_ERR_CONFIG_MASK)) {
            return false;
        }
    }
    return true;
}

static int fill(tc_run *run, uint32_t addr, uint32_t bytes) {
    static const uint8_t zeros[64];
    for (uint32_t i = 0; i < bytes; i += sizeof zeros) {
        if (!npu_dev_write(run->dev, addr + i, zeros, sizeof zeros)) {
            snprintf(run->err, sizeof run->err, "regs: cannot write device memory at 0x%08X", addr + i);
            return -1;
        }
    }
    return 0;
}

static uint32_t task_memory(tc_run *run) {
    const uint32_t base = npu_dev_alloc(run->dev, 4096, 4096, NPU_BUF_SCRATCH);
    if (base == 0) {
        snprintf(run->err, sizeof run->err, "regs: no device memory");
    }
    return base != 0 && fill(run, base, 4096) == 0 ? base : 0;
}

static bool wait_count(tc_run *run, uint32_t want) {
    uint32_t count = 0;
    for (unsigned i = 0; i < 10000 && count != want; i++) {
        if (!tc_read(run, NPU_REG_GEMM_COUNT, &count)) {
            return false;
        }
    }
    if (count != want) {
        tc_fail(run, "regs: GEMM_COUNT", "GEMM_COUNT is %u after 10000 reads, expected %u", count, want);
    }
    return count == want;
}

/* The task that all refused ones were made from is a legal one: it completes. */
static bool check_legal(tc_run *run, uint32_t base) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    hal->task_output(hal->ctx, base + 0x800, 4);
    return write_task(run, base, (setting){0, 0}, true) && wait_count(run, 1) && tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, 0) &&
           check_irq(run);
}

/* Start tasks until the device takes no more: the one too many is dropped, the others complete. The model is never busy, so this is for the RTL alone. */
static bool check_overrun(tc_run *run, uint32_t base) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    uint32_t started = 0;
    uint32_t status = READY;
    hal->task_output(hal->ctx, base + 0x800, 1024);
    /* 16 x 16 pixels, so that tasks take longer than a register access */
    if (!write_task(run, base, (setting){NPU_REG_GEMM_OFM_SIZE, 0x00100010u}, false)) {
        return false;
    }
    while (started < 64) {
        if (!tc_read(run, NPU_REG_STATUS, &status)) {
            return false;
        }
        if (!tc_write(run, NPU_REG_GEMM_CTRL, CTRL_MIN | NPU_GEMM_CTRL_EN_MASK)) {
            return false;
        }
        if ((status & READY) == 0) {
            break;
        }
        started++;
    }
    if (started == 64) {
        tc_fail(run, "regs: never full", "64 tasks were started and STATUS.GEMM_READY was never 0");
        return false;
    }
    /* A task may have been taken between the look at STATUS and the start. */
    uint32_t err = 0;
    if (!tc_read(run, NPU_REG_ERR, &err)) {
        return false;
    }
    started += (err & NPU_ERR_OVERRUN_MASK) != 0 ? 0 : 1;
    return wait_count(run, started) && tc_expect(run, "ERR", NPU_REG_ERR, UINT32_MAX, err & NPU_ERR_OVERRUN_MASK) && soft_reset(run) &&
           check_reset_values(run);
}

/* A reset in the middle of tasks: everything reads as after reset, and a task runs. */
static bool check_reset_while_busy(tc_run *run, uint32_t base) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    hal->task_output(hal->ctx, base + 0x800, 1024);
    return write_task(run, base, (setting){NPU_REG_GEMM_OFM_SIZE, 0x00100010u}, true) && soft_reset(run) && check_reset_values(run) &&
           check_legal(run, base);
}

static int on_rtl_alone(tc_run *run, const char *bus, uint64_t seed) {
    tc_close(run);
    run->kind = NPU_DEV_RTL;
    if (tc_open(run, bus, seed, 0, NPU_WAIT_POLL, TIMEOUT_US) != 0) {
        return -1;
    }
    const uint32_t base = task_memory(run);
    if (base == 0) {
        return -1;
    }
    (void)(soft_reset(run) && check_overrun(run, base) && check_reset_while_busy(run, base)); /* what goes wrong is noted */
    return 0;
}

static int execute(tc_run *run) {
    const char *bus = tb_knobs_get_name(run->knobs, "bus");
    const uint64_t seed = (uint64_t)tb_knobs_get(run->knobs, "dseed");
    if (tc_open(run, bus, seed, 0, NPU_WAIT_POLL, TIMEOUT_US) != 0) {
        return -1;
    }
    const uint32_t base = task_memory(run);
    if (base == 0) {
        return -1;
    }
    const bool good = soft_reset(run) && check_reset_values(run) && check_unused(run) &&
                      check_writable(run, tc_knob(run->knobs, "rounds")) && soft_reset(run) && check_reset_values(run) &&
                      check_limits(run, base) && check_legal(run, base) && soft_reset(run) && check_reset_values(run);
    if (run->kind == NPU_DEV_MODEL) {
        printf("not run: overrun and reset of a busy device: the model is never busy\n");
        return 0;
    }
    return good && tc_ok(run) ? on_rtl_alone(run, bus, seed) : 0;
}

static const tb_knob knobs[] = {
    {"rounds", 2, 64, TB_KNOB_SMALL, NULL, NULL, "rounds of values in all writable registers"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

static int generate(uint32_t n, uint64_t seed, bool plain, tb_knobs *drawn, char *err, size_t err_size) {
    (void)n;
    (void)plain;
    (void)err;
    (void)err_size;
    tb_knobs_draw(drawn, seed);
    return 0;
}

static int check(uint32_t n, const tb_knobs *given, char *err, size_t err_size) {
    (void)n;
    (void)given;
    (void)err;
    (void)err_size;
    return 0;
}

const tc_test tc_regs = {.name = "regs",
                         .help = "registers: reset values, writable bits, event flags, refused tasks, overrun, soft reset",
                         .knobs = knobs,
                         .knob_count = sizeof knobs / sizeof knobs[0],
                         .generate = generate,
                         .check = check,
                         .execute = execute};
