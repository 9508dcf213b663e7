/*
 * The device with several units at work: compare points, events and bus errors by unit, tasks in flight, time series of
 * the debug port.
 */
#include "stand_in.h"

/* ---- three units ---- */

static void reg(npu_dev *dev, uint32_t offset, uint32_t value) {
    npu_dev_hal(dev)->reg_write(npu_dev_hal(dev)->ctx, offset, value);
}

static uint32_t reg_of(npu_dev *dev, uint32_t offset) {
    uint32_t v = 0;
    npu_dev_hal(dev)->reg_read(npu_dev_hal(dev)->ctx, offset, &v);
    return v;
}

/* Sum of eight floats (reduce) or their absolute values. */
static void start_alu(npu_dev *dev, bool reduce, uint32_t in, uint32_t out) {
    const npu_hal *hal = npu_dev_hal(dev);
    hal->task_output(hal->ctx, out, reduce ? 4 : 32);
    reg(dev, NPU_REG_ALU_A_ADDR, in);
    reg(dev, NPU_REG_ALU_O_ADDR, out);
    reg(dev, NPU_REG_ALU_SIZE, 8);
    reg(dev, NPU_REG_ALU_ROWS, 1u << 16 | 1);
    reg(dev, NPU_REG_ALU_Q, 0x3F800000u);
    reg(dev, NPU_REG_ALU_CTRL,
        (reduce ? NPU_ALU_CTRL_OP_SUM : NPU_ALU_CTRL_OP_ABS) << NPU_ALU_CTRL_OP_LSB | NPU_ALU_CTRL_EN_MASK);
}

/* Maximum of 2 x 1 windows of one row of eight floats; one output of 16 bytes. */
static void start_pool(npu_dev *dev, uint32_t in, uint32_t out) {
    const npu_hal *hal = npu_dev_hal(dev);
    hal->task_output(hal->ctx, out, 16);
    reg(dev, NPU_REG_POOL_IFM_ADDR, in);
    reg(dev, NPU_REG_POOL_OFM_ADDR, out);
    reg(dev, NPU_REG_POOL_IFM_SIZE, 1u << 16 | 8);
    reg(dev, NPU_REG_POOL_OFM_SIZE, 1u << 16 | 4);
    reg(dev, NPU_REG_POOL_CHANNELS, 1);
    reg(dev, NPU_REG_POOL_WINDOW, 1u << 24 | 2u << 16 | 1u << 8 | 2);
    reg(dev, NPU_REG_POOL_CTRL, NPU_POOL_CTRL_EN_MASK);
}

typedef struct three {
    npu_dev *dev;
    uint32_t a, b, sum, abs, max;
} three;

static void open_three(three *t, fault f) {
    static const float v[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    now = GOOD;
    t->dev = open_dev(NPU_DEV_TANDEM);
    now = f;
    t->a = put(t->dev, v, sizeof v);
    t->b = put(t->dev, v, sizeof v);
    t->sum = npu_dev_alloc(t->dev, 4, 64, NPU_BUF_OUT);
    t->abs = npu_dev_alloc(t->dev, 32, 64, NPU_BUF_OUT);
    t->max = npu_dev_alloc(t->dev, 16, 64, NPU_BUF_OUT);
    input_addr = t->a;
    reg(t->dev, NPU_REG_IRQ_ENABLE, 7);
}

/* All units at work; a compare point only when the driver has seen all of them done. */
static void three_units(void **state) {
    (void)state;
    three t;
    open_three(&t, GOOD);
    const npu_hal *hal = npu_dev_hal(t.dev);
    start_alu(t.dev, true, t.a, t.sum);
    start_pool(t.dev, t.b, t.max);
    start_alu(t.dev, false, t.a, t.abs);
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_POOL, 10), NPU_HAL_OK);
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_GEMM, 1), NPU_HAL_TIMEOUT);
    assert_int_equal(reg_of(t.dev, NPU_REG_ALU_COUNT), 2);
    assert_int_equal(t.dev->pending, 3); /* nobody looked at the POOL */
    assert_int_equal(reg_of(t.dev, NPU_REG_GEMM_COUNT), 0);
    assert_int_equal(t.dev->pending, 3);
    assert_int_equal(reg_of(t.dev, NPU_REG_POOL_COUNT), 1);
    assert_int_equal(t.dev->pending, 0);
    assert_int_equal(t.dev->inflight.tasks, 0);
    const uint32_t minus_four = 0xC0800000u;
    assert_int_equal(reg_of(t.dev, NPU_REG_ALU_RESULT), minus_four);
    reg(t.dev, NPU_REG_IRQ_STATUS, NPU_IRQ_STATUS_ALU_MASK); /* one unit's event at a time */
    start_alu(t.dev, false, t.b, t.abs);
    assert_int_equal(hal->wait_irq(hal->ctx, NPU_HAL_IRQ_ALU, 10), NPU_HAL_OK);
    assert_int_equal(reg_of(t.dev, NPU_REG_ALU_COUNT), 3);
    assert_int_equal(t.dev->pending, 0);
    const bool ok = npu_dev_finish(t.dev);
    assert_string_equal(npu_dev_get_failure(t.dev)->message, "");
    assert_true(ok);
    npu_dev_close(t.dev);
}

static void three_units_find(void **state) {
    (void)state;
    static const struct {
        fault f;
        const char *signature;
    } cases[] = {{WRONG_RESULT, "reg:ALU_RESULT"}, {NO_POOL_IRQ, "event:IRQ_STATUS"},
                 {LATE_POOL, "tandem:count"},      {BUS_ERROR, ""},
                 {BLAMES_POOL, "event:ERR"},       {NO_BLAME, "event:ERR"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        three t;
        open_three(&t, cases[i].f);
        output_addr = t.sum;
        npu_dev_inject_error(t.dev, 1, 0, 0);
        start_alu(t.dev, true, t.a, t.sum);
        start_pool(t.dev, t.b, t.max);
        npu_dev_hal(t.dev)->delay_us(npu_dev_hal(t.dev)->ctx, 2);
        reg_of(t.dev, NPU_REG_ALU_COUNT);
        reg_of(t.dev, NPU_REG_POOL_COUNT);
        npu_dev_finish(t.dev);
        if (strcmp(npu_dev_get_failure(t.dev)->signature, cases[i].signature) != 0) {
            fail_msg("fault %d: expected '%s', got '%s': %s", (int)cases[i].f, cases[i].signature,
                     npu_dev_get_failure(t.dev)->signature, npu_dev_get_failure(t.dev)->message);
        }
        npu_dev_close(t.dev);
    }
}

/* Flags that are still set when a window begins, and events that fall on them. */
static void stale_flags(void **state) {
    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        three t;
        open_three(&t, LATE_ALU);
        const npu_hal *hal = npu_dev_hal(t.dev);
        start_alu(t.dev, false, t.a, t.abs);
        reg(t.dev, NPU_REG_IRQ_STATUS, NPU_IRQ_STATUS_ALU_MASK); /* too early on the RTL; the model's flag is gone */
        assert_int_equal(reg_of(t.dev, NPU_REG_ALU_COUNT), 0);
        hal->delay_us(hal->ctx, 2);
        assert_int_equal(reg_of(t.dev, NPU_REG_ALU_COUNT), 1);
        assert_int_equal(t.dev->pending, 0); /* a window begins with the RTL's flag set */
        start_alu(t.dev, true, t.b, t.sum);
        hal->delay_us(hal->ctx, late != 0 ? 2 : 0); /* the second task is done before its flag is cleared, or after */
        reg(t.dev, NPU_REG_IRQ_STATUS, NPU_IRQ_STATUS_ALU_MASK);
        assert_int_equal(t.dev->ev[npu_reg_events(NPU_REG_IRQ_STATUS)].unsure, late != 0 ? NPU_IRQ_STATUS_ALU_MASK : 0);
        hal->delay_us(hal->ctx, 2);
        assert_int_equal(reg_of(t.dev, NPU_REG_ALU_COUNT), 2);
        npu_dev_finish(t.dev);
        assert_string_equal(npu_dev_get_failure(t.dev)->message, "");
        npu_dev_close(t.dev);
    }
    now = GOOD;
}

/* Only the output of the unit that met the error is undefined. */
static void others_stay_defined(void **state) {
    (void)state;
    three t;
    open_three(&t, BUS_ERROR);
    output_addr = t.max; /* the POOL's */
    npu_dev_inject_error(t.dev, 1, 0, 0);
    start_pool(t.dev, t.b, t.max);
    start_alu(t.dev, true, t.a, t.sum);
    npu_dev_hal(t.dev)->delay_us(npu_dev_hal(t.dev)->ctx, 2);
    assert_false(npu_dev_finish(t.dev));
    assert_string_equal(npu_dev_get_failure(t.dev)->signature, "mem:differ");
    npu_dev_close(t.dev);
}

/* What a driver may not do. */
static void driver_errors(void **state) {
    (void)state;
    three t;
    open_three(&t, GOOD);
    start_pool(t.dev, t.b, t.max);
    start_alu(t.dev, false, t.max, t.abs); /* reads what the POOL may still write, and beyond */
    assert_string_equal(npu_dev_get_failure(t.dev)->signature, "mem:overlap:alu");
    npu_dev_close(t.dev);
    open_three(&t, GOOD);
    start_alu(t.dev, false, t.b, t.abs);
    start_pool(t.dev, t.abs, t.max);
    assert_string_equal(npu_dev_get_failure(t.dev)->signature, "mem:overlap:pool");
    assert_non_null(strstr(npu_dev_get_failure(t.dev)->message,
                           "`out` of alu task 0, which is written, and `ifm` of pool task 0 overlap"));
    npu_dev_close(t.dev);
    open_three(&t, GOOD);
    start_alu(t.dev, false, t.b, t.abs);
    assert_int_equal(reg_of(t.dev, NPU_REG_STATUS) & NPU_STATUS_ALU_BUSY_MASK, 0); /* idle: the driver may go on */
    start_pool(t.dev, t.abs, t.max);
    assert_string_equal(npu_dev_get_failure(t.dev)->signature, "");
    npu_dev_close(t.dev);
    open_three(&t, GOOD);
    const npu_hal *hal = npu_dev_hal(t.dev);
    start_pool(t.dev, t.b, t.max);
    hal->task_output(hal->ctx, t.abs, 16);
    reg(t.dev, NPU_REG_POOL_OFM_ADDR, t.abs + 4);
    reg(t.dev, NPU_REG_POOL_CTRL, NPU_POOL_CTRL_EN_MASK); /* writes 4 bytes more than it said */
    assert_string_equal(npu_dev_get_failure(t.dev)->signature, "driver:undeclared");
    npu_dev_close(t.dev);
    now = GOOD;
}

/* ---- time series ---- */

static void time_series(void **state) {
    (void)state;
    const npu_dev_perf_window *w;
    now = GOOD;
    npu_dev *dev = open_dev(NPU_DEV_RTL);
    const npu_hal *hal = npu_dev_hal(dev);
    const uint64_t base = npu_dev_cycles(dev);
    perf_from = base + 100;
    assert_true(npu_dev_perf_start(dev, 0));
    hal->delay_us(hal->ctx, 8); /* 1600 cycles */
    size_t count = npu_dev_perf_stop(dev, &w);
    assert_true(count >= 48 && count <= 96);
    uint64_t sum[3] = {0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(w[i].from, w[0].from + (uint64_t)i * w[0].cycles);
        assert_int_equal(w[i].level[0], i + 1 == count ? PERF_CYCLES - 1 : (i + 1) * w[0].cycles - 1);
        assert_int_equal(w[i].level[11], 9);
        sum[0] += w[i].event[0];
        sum[1] += w[i].event[1];
        sum[2] += w[i].event[35];
    }
    assert_true(sum[0] == 0 && sum[1] == PERF_CYCLES && sum[2] == PERF_CYCLES / 4);
    /* windows of a given width */
    uint32_t v = 0;
    assert_int_equal(hal->reg_read(hal->ctx, NPU_REG_ID, &v), NPU_HAL_OK); /* for the watchdog */
    perf_from = npu_dev_cycles(dev) + 100;
    assert_true(npu_dev_perf_start(dev, 7));
    hal->delay_us(hal->ctx, 8);
    count = npu_dev_perf_stop(dev, &w);
    assert_int_equal(count, (PERF_CYCLES + 6) / 7);
    assert_int_equal(w[0].event[1], 7);
    assert_int_equal(w[count - 1].event[1], PERF_CYCLES % 7);
    /* nothing happens */
    assert_int_equal(hal->reg_read(hal->ctx, NPU_REG_ID, &v), NPU_HAL_OK);
    perf_from = 0;
    assert_true(npu_dev_perf_start(dev, 0));
    hal->delay_us(hal->ctx, 1);
    assert_int_equal(npu_dev_perf_stop(dev, &w), 0);
    npu_dev_close(dev);
    without_perf = true; /* a port of another width is not the port */
    dev = open_dev(NPU_DEV_RTL);
    assert_false(npu_dev_perf_start(dev, 0));
    npu_dev_close(dev);
    without_perf = false;
    dev = open_dev(NPU_DEV_MODEL);
    assert_false(npu_dev_perf_start(dev, 0));
    assert_int_equal(npu_dev_perf_stop(dev, &w), 0);
    npu_dev_close(dev);
}

/* ---- conflicts between tasks in flight ---- */

#define REG(name) regs[NPU_REG_##name / 4]

/* A GEMM task: 4 x 1 pixels, 2 channels 64 bytes apart, 1x1 kernel. */
static void gemm_regs(uint32_t *regs, uint32_t ifm, uint32_t ofm, bool fence) {
    memset(regs, 0, NPU_REG_WORDS * sizeof *regs);
    REG(GEMM_CTRL) = NPU_GEMM_CTRL_LAYOUT_MASK | 1u << NPU_GEMM_CTRL_KERNEL_LSB | 1u << NPU_GEMM_CTRL_STRIDE_LSB |
                     (fence ? NPU_GEMM_CTRL_FENCE_MASK : 0);
    REG(GEMM_IFM_SIZE) = REG(GEMM_OFM_SIZE) = 1u << 16 | 4;
    REG(GEMM_CHANNELS) = 2u << 16 | 2;
    REG(GEMM_IFM_ADDR) = ifm;
    REG(GEMM_OFM_ADDR) = ofm;
    REG(GEMM_IFM_CSTEP) = REG(GEMM_OFM_CSTEP) = 64;
    REG(GEMM_WGT_ADDR) = 0x2000;
}

static void alu_regs(uint32_t *regs, uint32_t op, uint32_t a, uint32_t o) {
    memset(regs, 0, NPU_REG_WORDS * sizeof *regs);
    REG(ALU_CTRL) = op << NPU_ALU_CTRL_OP_LSB;
    REG(ALU_A_ADDR) = a;
    REG(ALU_O_ADDR) = o;
    REG(ALU_A_RSTEP) = REG(ALU_O_RSTEP) = 32;
    REG(ALU_SIZE) = 4;
    REG(ALU_ROWS) = 1u << 16 | 2;
}

typedef struct window {
    npu_inflight f;
    uint32_t seq[UNITS];
    tb_meet meet;
} window;

static bool start(window *w, unsigned unit, const uint32_t *regs) {
    w->seq[unit]++;
    return npu_inflight_start(&w->f, unit, regs, 4, w->seq[unit], w->seq[unit], &w->meet);
}

static void forget(window *w) {
    npu_inflight_free(&w->f);
    memset(w, 0, sizeof *w);
}

static void live_buffers(void **state) {
    (void)state;
    uint32_t regs[NPU_REG_WORDS];
    window w;
    memset(&w, 0, sizeof w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    gemm_regs(regs, 0x1000, 0x3010, false); /* the rows below, in between the channels of the first task */
    assert_true(start(&w, UNIT_GEMM, regs));
    gemm_regs(regs, 0x1000, 0x300c, false);
    assert_false(start(&w, UNIT_GEMM, regs));
    assert_int_equal(w.meet.addr, 0x300c);
    forget(&w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    gemm_regs(regs, 0x3040, 0x4000, false); /* reads what the first one writes */
    assert_false(start(&w, UNIT_GEMM, regs));
    assert_int_equal(w.meet.addr, 0x3040);
    forget(&w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    npu_inflight_complete(&w.f, UNIT_GEMM, 1); /* the first one is complete */
    gemm_regs(regs, 0x3000, 0x4000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    gemm_regs(regs, 0x4000, 0x3000, true); /* fenced */
    assert_true(start(&w, UNIT_GEMM, regs));
    gemm_regs(regs, 0x1000, 0x1040, false); /* over its own input */
    assert_false(start(&w, UNIT_GEMM, regs));
    assert_string_equal(w.meet.a->name, "ifm");
    assert_string_equal(w.meet.b->name, "ofm");
    forget(&w);
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x1000, 0x1000); /* in place */
    assert_true(start(&w, UNIT_ALU, regs));
    forget(&w);
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x1000, 0x1004);
    assert_false(start(&w, UNIT_ALU, regs));
    forget(&w);
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x1000, 0x3000);
    REG(ALU_O_RSTEP) = 12; /* the second row begins inside the first one */
    assert_false(start(&w, UNIT_ALU, regs));
    forget(&w);
}

/* Units know nothing of each other's order; a fence is for the GEMM alone; the ALU orders its own tasks. */
static void live_units(void **state) {
    (void)state;
    uint32_t regs[NPU_REG_WORDS];
    window w;
    memset(&w, 0, sizeof w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    /* rows of 16 bytes in the gaps of the GEMM's channels: 3010, 3030 */
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x3010, 0x6000);
    assert_true(start(&w, UNIT_ALU, regs));
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x6000, 0x6000); /* the ALU's own result, in place */
    assert_true(start(&w, UNIT_ALU, regs));
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x3020, 0x7000); /* second row reads 3040 */
    assert_false(start(&w, UNIT_ALU, regs));
    assert_int_equal(w.meet.addr, 0x3040);
    gemm_regs(regs, 0x1000, 0x6020, true); /* a fence does not wait for the ALU */
    assert_false(start(&w, UNIT_GEMM, regs));
    assert_int_equal(w.meet.addr, 0x6020);
    npu_inflight_complete(&w.f, UNIT_ALU, 3);
    gemm_regs(regs, 0x1000, 0x6020, true);
    assert_true(start(&w, UNIT_GEMM, regs));
    forget(&w);
}

/* What a bus error makes undefined: the unit's outputs, and what was computed from them. */
static void live_taint(void **state) {
    (void)state;
    uint32_t regs[NPU_REG_WORDS];
    window w;
    memset(&w, 0, sizeof w);
    gemm_regs(regs, 0x1000, 0x3000, false);
    assert_true(start(&w, UNIT_GEMM, regs));
    npu_inflight_complete(&w.f, UNIT_GEMM, 1);
    alu_regs(regs, NPU_ALU_CTRL_OP_SUM, 0x3000, 0x6000);
    assert_true(start(&w, UNIT_ALU, regs));
    alu_regs(regs, NPU_ALU_CTRL_OP_ABS, 0x8000, 0x9000);
    assert_true(start(&w, UNIT_ALU, regs));
    npu_inflight_taint(&w.f, 1u << UNIT_GEMM);
    assert_true(w.f.task[0].tainted && w.f.task[1].tainted && w.f.task[1].reduces && !w.f.task[2].tainted);
    npu_inflight_taint(&w.f, 1u << UNIT_POOL);
    assert_false(w.f.task[0].tainted || w.f.task[1].tainted || w.f.task[2].tainted);
    assert_int_equal(npu_inflight_users(&w.f, 0x3000, 16, false), 1u << UNIT_ALU);
    assert_int_equal(npu_inflight_users(&w.f, 0x3000, 16, true), 1u << UNIT_GEMM);
    /* a sum of each row, 32 bytes apart */
    assert_int_equal(npu_inflight_users(&w.f, 0x6000, 16, true), 1u << UNIT_ALU);
    assert_int_equal(npu_inflight_users(&w.f, 0x6010, 16, true), 0);
    forget(&w);
}

static void declared_outputs(void **state) {
    (void)state;
    npu_inflight f;
    uint64_t where = 0;
    memset(&f, 0, sizeof f);
    assert_true(npu_inflight_covered(&f, 0x100, 4, &where)); /* nothing was declared */
    npu_inflight_output(&f, 0x200, 16);
    npu_inflight_output(&f, 0x100, 16);
    npu_inflight_output(&f, 0x110, 8);
    npu_inflight_declared(&f);
    assert_int_equal(f.next.count, 2);
    assert_true(npu_inflight_covered(&f, 0x100, 24, &where));
    assert_true(npu_inflight_covered(&f, 0x20c, 4, &where));
    assert_false(npu_inflight_covered(&f, 0x114, 8, &where));
    assert_int_equal(where, 0x118);
    assert_false(npu_inflight_covered(&f, 0x1fc, 4, &where));
    assert_int_equal(where, 0x1fc);
    npu_inflight_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_units),         cmocka_unit_test(three_units_find), cmocka_unit_test(stale_flags),
        cmocka_unit_test(others_stay_defined), cmocka_unit_test(driver_errors),    cmocka_unit_test(live_buffers),
        cmocka_unit_test(live_units),          cmocka_unit_test(live_taint),       cmocka_unit_test(declared_outputs),
        cmocka_unit_test(time_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
