/*
 * regs.c - directed test of the registers: reset values, writable bits, event flags, refused tasks, overrun, soft
 * reset, a result that must not appear before its task completes.
 */
#include "regs.h"

#include "npu_regs.h"

#include <stdio.h>

#define TIMEOUT_US 1000u
#define READY NPU_REG_STATUS_RESET
#define ALL_IRQS (NPU_IRQ_ENABLE_ALU_MASK | NPU_IRQ_ENABLE_POOL_MASK | NPU_IRQ_ENABLE_GEMM_MASK)
#define UNITS 3u

static const regs_unit *const units[UNITS] = {&regs_gemm, &regs_alu, &regs_pool};

typedef struct reg {
    const char *name;
    uint32_t offset, access, exact, timed, w1c, reset;
} reg;

#define ROW(name, offset, access, exact, timed, w1c, reset) {#name, offset, access, exact, timed, w1c, reset},
static const reg regs[] = {NPU_REGS_TABLE(ROW)};
#undef ROW
#define REGS (sizeof regs / sizeof regs[0])

/* Value of a register directly after reset, while no task runs. */
static uint32_t idle_value(const tc_run *run, const reg *r) {
    return r->access == NPU_ACCESS_WO ? 0 : r->offset == NPU_REG_CONFIG ? run->n : r->reset;
}

/* Counters may have counted until the reset, which clears the copies in PERF_LO and PERF_HI. */
static bool check_reset_values(tc_run *run) {
    for (size_t i = 0; i < REGS; i++) {
        /* the presence of ALU, POOL and INT16 depends on the build */
        const uint32_t build = NPU_CONFIG_EN_ALU_MASK | NPU_CONFIG_EN_POOL_MASK | NPU_CONFIG_EN_INT16_MASK,
                       mask = regs[i].offset == NPU_REG_CONFIG ? ~build : UINT32_MAX;
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
        if (reg_at(offset) == NULL &&
            (!tc_expect(run, "unused offset", offset, UINT32_MAX, 0) || !tc_write(run, offset, UINT32_MAX) ||
             !tc_expect(run, "unused offset", offset, UINT32_MAX, 0))) {
            return false;
        }
    }
    return true;
}

/* Random values in all writable registers at once: no register returns the value of another one, and read-only ones do
 * not change. */
static bool check_writable(tc_run *run, unsigned rounds) {
    tb_rng rng = tb_rng_stream(run->seed, "regs.values");
    uint32_t value[REGS] = {0};
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < REGS; i++) {
            const reg *r = &regs[i];
            uint32_t v = round == 0 ? UINT32_MAX : round == 1 ? 0 : tb_rng_u32(&rng);
            for (size_t k = 0; k < UNITS; k++) { /* no task starts */
                v &= r->offset == units[k]->ctrl ? ~units[k]->en : UINT32_MAX;
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

bool regs_check_w1c(tc_run *run, const char *name, uint32_t offset, uint32_t flag) {
    return tc_expect(run, name, offset, UINT32_MAX, flag) && tc_write(run, offset, 0) &&
           tc_expect(run, name, offset, UINT32_MAX, flag) && tc_write(run, offset, ~flag) &&
           tc_expect(run, name, offset, UINT32_MAX, flag) && tc_write(run, offset, flag) &&
           tc_expect(run, name, offset, UINT32_MAX, 0);
}

static bool irq_line(tc_run *run, const regs_unit *unit, bool want) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    const npu_hal_status got = hal->wait_irq(hal->ctx, unit->line, 1);
    if (got != (want ? NPU_HAL_OK : NPU_HAL_TIMEOUT)) {
        tc_fail(run, "regs: interrupt line", "the %s interrupt line is %s, expected %s", unit->name,
                want ? "low" : "high", want ? "high" : "low");
        return false;
    }
    return true;
}

/* The interrupts of the other units are enabled while this one's is not. */
bool regs_check_irq(tc_run *run, const regs_unit *unit) {
    return tc_write(run, NPU_REG_IRQ_ENABLE, ALL_IRQS & ~unit->irq) &&
           tc_expect(run, "IRQ_ID", NPU_REG_IRQ_ID, UINT32_MAX, 0) && irq_line(run, unit, false) &&
           tc_write(run, NPU_REG_IRQ_ENABLE, unit->irq) &&
           tc_expect(run, "IRQ_ID", NPU_REG_IRQ_ID, UINT32_MAX, unit->id) && irq_line(run, unit, true) &&
           regs_check_w1c(run, "IRQ_STATUS", NPU_REG_IRQ_STATUS, unit->irq) &&
           tc_expect(run, "IRQ_ID", NPU_REG_IRQ_ID, UINT32_MAX, 0) && irq_line(run, unit, false);
}

bool regs_wait_idle(tc_run *run) {
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

bool regs_wait_count(tc_run *run, const regs_unit *unit, uint32_t want) {
    uint32_t count = 0;
    for (unsigned i = 0; i < 10000 && count != want; i++) {
        if (!tc_read(run, unit->count, &count)) {
            return false;
        }
    }
    if (count != want) {
        tc_fail(run, "regs: tasks completed", "%s is %u after 10000 reads, expected %u", unit->count_name, count, want);
    }
    return count == want;
}

static int fill(tc_run *run, uint32_t addr, uint32_t bytes) {
    static const uint8_t zeros[64];
    for (uint32_t i = 0; i < bytes; i += sizeof zeros) {
        if (!npu_dev_write(run->dev, addr + i, zeros, sizeof zeros)) {
            return opt_fail(run->err, sizeof run->err, "regs: cannot write device memory at 0x%08X", addr + i);
        }
    }
    return 0;
}

static uint32_t task_memory(tc_run *run) {
    const uint32_t base = npu_dev_alloc(run->dev, REGS_BYTES, 4096, NPU_BUF_SCRATCH);
    if (base == 0) {
        snprintf(run->err, sizeof run->err, "regs: no device memory");
    }
    return base != 0 && fill(run, base, REGS_BYTES) == 0 ? base : 0;
}

/* Is the unit in this build? */
static bool present(tc_run *run, const regs_unit *unit, bool *there) {
    uint32_t config = 0;
    const bool ok = tc_read(run, NPU_REG_CONFIG, &config);
    *there = unit->present == 0 || (config & unit->present) != 0;
    return ok;
}

/* Refused and legal tasks of each unit. */
static bool check_tasks(tc_run *run, uint32_t base) {
    for (size_t i = 0; i < UNITS; i++) {
        bool there = false;
        if (!present(run, units[i], &there)) {
            return false;
        }
        const bool good = there ? regs_check_limits(run, units[i], base) && regs_check_legal(run, units[i], base)
                                : regs_check_absent(run, units[i], base);
        if (!good || !soft_reset(run) || !check_reset_values(run)) {
            return false;
        }
    }
    return true;
}

/* A reset in the middle of tasks: all registers have their reset values, and a task can run. */
static bool check_reset_while_busy(tc_run *run, const regs_unit *unit, uint32_t base) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    hal->task_output(hal->ctx, base + REGS_OUT, unit->longer_bytes);
    return regs_write_task(run, unit, base, &unit->longer, true) && soft_reset(run) && check_reset_values(run) &&
           regs_check_legal(run, unit, base);
}

/* A longer task of the unit runs, or is started again. */
static bool keep_busy(tc_run *run, const regs_unit *unit, uint32_t base) {
    const npu_hal *hal = npu_dev_hal(run->dev);
    uint32_t status = 0;
    if (!tc_read(run, NPU_REG_STATUS, &status) || (status & unit->busy) != 0) {
        return tc_ok(run);
    }
    hal->task_output(hal->ctx, base + REGS_OUT, unit->longer_bytes);
    return regs_write_task(run, unit, base, &unit->longer, true);
}

/* Writes a register, or an offset without one, while a task runs: settings of later tasks change, nothing else. */
static bool check_busy_access(tc_run *run, const regs_unit *unit, uint32_t base, uint32_t offset, tb_rng *rng) {
    const reg *r = reg_at(offset);
    const uint32_t any = tb_rng_u32(rng);
    uint32_t value = r != NULL && r->access == NPU_ACCESS_RW ? any & r->exact : any;
    uint32_t got = 0;
    for (size_t k = 0; k < UNITS; k++) {
        value &= offset == units[k]->ctrl ? ~units[k]->en : UINT32_MAX;
    }
    if (offset == NPU_REG_CTRL) {
        value = 0;
    } else if (r != NULL && r->access == NPU_ACCESS_W1C) { /* no flag, one, some, all of them */
        const uint32_t some[] = {0, 1u << (any & 1u), any & r->w1c, r->w1c};
        value = some[any >> 30];
    }
    if (!keep_busy(run, unit, base) || !tc_write(run, offset, value)) {
        return false;
    }
    if (r == NULL || r->access == NPU_ACCESS_WO) {
        return keep_busy(run, unit, base) &&
               tc_expect(run, r == NULL ? "unused offset" : r->name, offset, UINT32_MAX, 0);
    }
    if (r->access == NPU_ACCESS_RW) {
        return tc_expect(run, r->name, offset, UINT32_MAX, value);
    }
    return keep_busy(run, unit, base) &&
           (offset == NPU_REG_ID ? tc_expect(run, r->name, offset, UINT32_MAX, r->reset) : tc_read(run, offset, &got));
}

static bool check_access_while_busy(tc_run *run, const regs_unit *unit, uint32_t base) {
    tb_rng rng = tb_rng_stream(run->seed, "regs.busy");
    for (uint32_t offset = 0; offset < 512; offset += 4) {
        if (!check_busy_access(run, unit, base, offset, &rng)) {
            return false;
        }
    }
    return regs_wait_idle(run);
}

/* Only for the RTL, because the model is never busy. */
static bool check_busy_units(tc_run *run, uint32_t base) {
    for (size_t i = 0; i < UNITS; i++) {
        bool there = false;
        if (!present(run, units[i], &there)) {
            return false;
        }
        if (!there) {
            printf("not run: overrun and reset of a busy %s: it is not in this build\n", units[i]->name);
            continue;
        }
        if (!soft_reset(run) || !regs_check_overrun(run, units[i], base) || !soft_reset(run) ||
            !check_reset_values(run) || !check_reset_while_busy(run, units[i], base) || !soft_reset(run) ||
            !check_access_while_busy(run, units[i], base)) {
            return false;
        }
        if (units[i] == &regs_alu && (!soft_reset(run) || !regs_check_result(run, base))) {
            return false;
        }
    }
    return true;
}

static int on_rtl_alone(tc_run *run) {
    tc_close(run);
    run->setup.kind = NPU_DEV_RTL;
    if (tc_open(run, 0, TIMEOUT_US) != 0) {
        return -1;
    }
    const uint32_t base = task_memory(run);
    if (base == 0) {
        return -1;
    }
    npu_dev_allow_overlap(run->dev, true); /* the same task is started over and over, to the same output */
    (void)check_busy_units(run, base);     /* failures are noted */
    return 0;
}

static int execute(tc_run *run) {
    if (tc_open(run, 0, TIMEOUT_US) != 0) {
        return -1;
    }
    const uint32_t base = task_memory(run);
    if (base == 0) {
        return -1;
    }
    const bool good = soft_reset(run) && check_reset_values(run) && check_unused(run) &&
                      check_writable(run, tc_knob(run->knobs, "rounds")) && soft_reset(run) &&
                      check_reset_values(run) && check_tasks(run, base);
    if (run->setup.kind == NPU_DEV_MODEL) {
        printf("not run: overrun and reset of a busy device: the model is never busy\n");
        return 0;
    }
    return good && tc_ok(run) ? on_rtl_alone(run) : 0;
}

static const tb_knob knobs[] = {
    {"rounds", 2, 64, TB_KNOB_SMALL, NULL, NULL, "rounds of values in all writable registers"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

const tc_test tc_regs = {.name = "regs",
                         .help =
                             "registers: reset values, writable bits, event flags, refused tasks, overrun, soft reset",
                         TB_KNOBS_OF(knobs),
                         .execute = execute};
