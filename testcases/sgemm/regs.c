/* regs.c - registers: reset values, every bit written and read back, events, overrun, soft reset. */
#include <stdio.h>

#include "tests.h"

static const uint32_t bus_weights[] = {4, 4, 4, 2, 3, 3};
static const tb_knob knobs[] = {
    {"writes", 1, 400, TB_KNOB_SMALL, NULL, NULL, "random register writes"},
    {"bus", 0, 5, TB_KNOB_ENUM, gemm_bus_names, bus_weights, "timing of the buses"},
};

typedef struct row {
    const char *name;
    uint32_t reg, access, mask, reset;
} row;
#define ROW(name, offset, access, exact, timed, w1c, reset) {#name, offset, access, (exact) | (timed) | (w1c), reset},
static const row rows[] = {SGEMM_REGS_TABLE(ROW)};
#define ROWS (sizeof rows / sizeof *rows)

static bool expect(test_bench *t, const row *r, const char *when, uint32_t expected) {
    uint32_t got = 0;
    if (!tb_run_read(&t->dev->run, SGEMM_PORT_REGS, r->reg, &got)) {
        return false;
    }
    if (got != expected) {
        tb_run_fail(&t->dev->run, "regs:value", "register %s %s: got 0x%x, expected 0x%x", r->name, when, got,
                    expected);
    }
    return got == expected;
}

static bool reset_values(test_bench *t, const char *when) {
    for (size_t i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        const uint32_t expected = r->reg == SGEMM_REG_CONFIG ? t->dev->model.config : r->reset;
        if (!expect(t, r, when, expected)) {
            return false;
        }
    }
    for (uint32_t reg = SGEMM_REG_START + 4; reg < 256; reg += 4) { /* there are none */
        const row none = {"none", reg, 0, 0, 0};
        if (!expect(t, &none, when, 0)) {
            return false;
        }
    }
    return true;
}

/* CONFIG says what this program was built with. */
static void config(test_bench *t) {
    const uint32_t expected = SGEMM_CFG_DIM << SGEMM_CONFIG_DIM_LSB | SGEMM_CFG_VEC << SGEMM_CONFIG_VEC_LSB |
                              SGEMM_CFG_R << SGEMM_CONFIG_CHAINS_LSB;
    const uint32_t modes = SGEMM_CONFIG_EN_HALF_MASK | SGEMM_CONFIG_HALF_BUF_MASK;
    if ((t->dev->model.config & ~modes) != expected) {
        tb_run_fail(&t->dev->run, "regs:config", "CONFIG: got 0x%x, expected 0x%x and modes", t->dev->model.config,
                    expected);
    }
}

/* A write to some bytes of a register; events are cleared by those bytes alone. */
static bool write_part(test_bench *t, uint32_t reg, uint32_t value, uint8_t strb) {
    const bool event = reg == SGEMM_REG_IRQ_STATUS || reg == SGEMM_REG_ERR;
    const uint32_t old = event ? 0 : sgm_device_read(&t->dev->model, reg);
    uint32_t mask = 0;
    for (unsigned i = 0; i < 4; i++) {
        mask |= (strb >> i & 1) != 0 ? 0xFFu << 8 * i : 0;
    }
    sgm_device_write(&t->dev->model, reg, (old & ~mask) | (value & mask));
    return tb_run_write_part(&t->dev->run, SGEMM_PORT_REGS, reg, value, strb);
}

/* Random values into random registers; what has no effect beside its value reads back through its mask. */
static void writes(test_bench *t) {
    tb_rng rng = tb_rng_stream(t->run->seed, "writes");
    for (int64_t i = 0; i < tb_knobs_get(t->run->knobs, "writes"); i++) {
        const uint32_t reg = 4 * (uint32_t)tb_rng_range(&rng, 0, 63);
        const uint32_t go = reg == SGEMM_REG_START ? SGEMM_START_GO_MASK : 0;
        const uint32_t value = tb_rng_u32(&rng) & ~go;
        const uint8_t strb = tb_rng_chance(&rng, 1, 2) ? 15 : (uint8_t)tb_rng_range(&rng, 0, 15);
        if (reg != SGEMM_REG_CTRL && !write_part(t, reg, value, strb)) {
            return;
        }
    }
    sgemm_device_compare(t->dev);
}

/* A long task runs, a second one is queued, a third one is too much. */
static void overrun(test_bench *t) {
    tb_knobs k = {0};
    tb_knobs_init(&k, gemm_knobs, GEMM_KNOBS);
    tb_knobs_set(&k, "m", 3 * SGEMM_CFG_DIM);
    tb_knobs_set(&k, "n", 3 * SGEMM_CFG_DIM);
    tb_knobs_set(&k, "k", 2 * SGEMM_CFG_VEC);
    tb_knobs_set(&k, "half", gemm_mode_legal(0) ? 0 : 1);
    const gemm g = gemm_make(t->run->seed, &k, 0, NULL);
    uint32_t status = 0;
    gemm_fill(t->dev, &g);
    t->drv.min_dim = 0;
    sgemm_submit(&t->drv, &g.x);
    sgemm_submit(&t->drv, &g.x);
    const uint32_t start = t->dev->model.task[(SGEMM_REG_START - SGEMM_REG_A_ADDR) / 4] | SGEMM_START_GO_MASK;
    sgemm_device_poke(t->dev, SGEMM_REG_START, start);
    tb_run_read(&t->dev->run, SGEMM_PORT_REGS, SGEMM_REG_STATUS, &status);
    if (status != SGEMM_STATUS_BUSY_MASK) {
        tb_run_fail(&t->dev->run, "regs:status", "STATUS with two tasks: got 0x%x, expected BUSY alone", status);
    }
    t->dev->model.err |= SGEMM_ERR_OVERRUN_MASK;
    const sgemm_status got = sgemm_wait(&t->drv);
    if (got != SGEMM_ERR_DEVICE) {
        tb_run_fail(&t->dev->run, "driver:status", "after an overrun the driver answered \"%s\"", sgemm_strerror(got));
    }
    sgemm_device_compare(t->dev);
}

static int body(void *bench, tb_prog_run *run) {
    test_bench t;
    test_begin(&t, bench, run);
    if (reset_values(&t, "after reset")) {
        config(&t);
        writes(&t);
    }
    if (!tb_run_failed(&t.dev->run) && sgemm_device_soft_reset(t.dev) && reset_values(&t, "after a soft reset")) {
        sgemm_init(&t.drv, &t.dev->hal, false, 1000000);
        overrun(&t);
    }
    return 0;
}

const tb_test test_regs = {.name = "regs",
                           .about = "registers: reset values, masks, events, overrun, soft reset",
                           TB_KNOBS_OF(knobs),
                           .bench = &sgemm_bench,
                           .body = body};
