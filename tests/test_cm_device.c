/*
 * test_cm_device.c - the golden device as software sees it: registers, strobes, interrupts, errors, counters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmodel.h"
#include "npu_regs.h"

#define MEM_BYTES 0x1000u
#define CTRL_1X1                                                                                                       \
    (NPU_GEMM_CTRL_EN_MASK | NPU_GEMM_CTRL_LAYOUT_MASK | 1u << NPU_GEMM_CTRL_KERNEL_LSB |                              \
     1u << NPU_GEMM_CTRL_STRIDE_LSB)

#define CONFIG_N8 (8u | NPU_CONFIG_EN_ALU_MASK | NPU_CONFIG_EN_POOL_MASK)
#define STATUS_IDLE (NPU_STATUS_GEMM_READY_MASK | NPU_STATUS_ALU_READY_MASK | NPU_STATUS_POOL_READY_MASK)

typedef struct fixture {
    uint8_t mem[MEM_BYTES];
    cm_device *dev;
    int hooks;
} fixture;

static bool mem_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    const fixture *f = ctx;
    if (addr > MEM_BYTES || bytes > MEM_BYTES - addr) {
        return false;
    }
    memcpy(dst, f->mem + addr, bytes);
    return true;
}

static bool mem_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    fixture *f = ctx;
    if (addr > MEM_BYTES || bytes > MEM_BYTES - addr) {
        return false;
    }
    memcpy(f->mem + addr, src, bytes);
    return true;
}

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return -1;
    }
    cm_mem mem = {f, mem_read, mem_write};
    f->dev = cm_device_new(8, &mem);
    *state = f;
    return f->dev == NULL ? -1 : 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    cm_device_free(f->dev);
    free(f);
    return 0;
}

static void wr(fixture *f, uint32_t offset, uint32_t value) {
    cm_device_write(f->dev, offset, value, 0xF);
}

static uint32_t rd(fixture *f, uint32_t offset) {
    return cm_device_read(f->dev, offset);
}

/* One pixel, one channel: 3.0 in, weight 5, so 15.0 out. */
static void one_pixel(fixture *f) {
    const float in = 3.0f;
    memcpy(f->mem + 0x100, &in, 4);
    f->mem[0x200] = 5;
    wr(f, NPU_REG_GEMM_IFM_ADDR, 0x100);
    wr(f, NPU_REG_GEMM_IFM_CSTEP, 16);
    wr(f, NPU_REG_GEMM_WGT_ADDR, 0x200);
    wr(f, NPU_REG_GEMM_OFM_ADDR, 0x300);
    wr(f, NPU_REG_GEMM_OFM_CSTEP, 16);
    wr(f, NPU_REG_GEMM_IFM_SIZE, 0x00010001);
    wr(f, NPU_REG_GEMM_CHANNELS, 0x00010001);
    wr(f, NPU_REG_GEMM_OFM_SIZE, 0x00010001);
    wr(f, NPU_REG_GEMM_IN_SCALE, 0x3F800000);
}

static float result(const fixture *f) {
    float out;
    memcpy(&out, f->mem + 0x300, 4);
    return out;
}

static void test_identity(void **state) {
    fixture *f = *state;
    assert_int_equal(rd(f, NPU_REG_ID), 0x4E500001u);
    assert_int_equal(rd(f, NPU_REG_CONFIG), 0x308); /* N, ALU, POOL */
    wr(f, NPU_REG_ID, 0);
    wr(f, NPU_REG_CONFIG, 0xFFFFFFFFu);
    assert_int_equal(rd(f, NPU_REG_ID), 0x4E500001u);
    assert_int_equal(rd(f, NPU_REG_CONFIG), CONFIG_N8);
    cm_mem mem = {f, mem_read, mem_write};
    static const uint32_t bad[] = {0, 1, 5, 31, 33, 64};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_null(cm_device_new(bad[i], &mem));
    }
}

typedef struct row {
    uint32_t offset, access, exact, timed, w1c, reset;
} row;
#define ROW(name, offset, access, exact, timed, w1c, reset) {(offset), (access), (exact), (timed), (w1c), (reset)},
static const row rows[] = {NPU_REGS_TABLE(ROW)};

static void test_reset_values_and_holes(void **state) {
    fixture *f = *state;
    uint32_t expect[128] = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect[rows[i].offset / 4] = rows[i].reset;
    }
    expect[NPU_REG_CONFIG / 4] = CONFIG_N8;
    for (uint32_t w = 0; w < 128; w++) {
        assert_int_equal(rd(f, w * 4), expect[w]);
    }
    for (uint32_t w = 0; w < 128; w++) { /* writes to what is not there change nothing */
        bool known = false;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            known = known || rows[i].offset == w * 4;
        }
        if (!known) {
            wr(f, w * 4, 0xFFFFFFFFu);
            assert_int_equal(rd(f, w * 4), 0);
        }
    }
    for (uint32_t w = 0; w < 128; w++) {
        assert_int_equal(rd(f, w * 4), expect[w]);
    }
}

static void test_write_masks_and_strobes(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].access != NPU_ACCESS_RW) {
            continue;
        }
        bool starts = rows[i].offset == NPU_REG_GEMM_CTRL || rows[i].offset == NPU_REG_ALU_CTRL ||
                      rows[i].offset == NPU_REG_POOL_CTRL;
        uint32_t start = starts ? 1 : 0; /* EN starts a task; tested elsewhere */
        uint32_t ones = ~start;
        wr(f, rows[i].offset, ones);
        assert_int_equal(rd(f, rows[i].offset), rows[i].exact & ones);
        for (uint32_t strobes = 0; strobes < 16; strobes++) {
            wr(f, rows[i].offset, 0xA5A5A5A4u);
            cm_device_write(f->dev, rows[i].offset, 0x5A5A5A5Au, strobes);
            uint32_t want = 0xA5A5A5A4u;
            for (uint32_t b = 0; b < 4; b++) {
                if (strobes >> b & 1) {
                    want = (want & ~(0xFFu << 8 * b)) | (0x5Au << 8 * b);
                }
            }
            assert_int_equal(rd(f, rows[i].offset), want & rows[i].exact);
        }
    }
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 0);
    assert_int_equal(rd(f, NPU_REG_ERR), 0);
}

static void on_task(void *ctx, const cm_gemm_task *task) {
    fixture *f = ctx;
    f->hooks += 1;
    assert_int_equal(task->wgt_addr, 0x200);
}

static void test_task_completes(void **state) {
    fixture *f = *state;
    one_pixel(f);
    cm_device_on_task(f->dev, on_task, f);
    wr(f, NPU_REG_IRQ_ENABLE, 0x3); /* GEMM masked */
    wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    assert_true(result(f) == 15.0f);
    assert_int_equal(rd(f, NPU_REG_GEMM_CTRL), CTRL_1X1 & ~NPU_GEMM_CTRL_EN_MASK);
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 1);
    assert_int_equal(rd(f, NPU_REG_STATUS), STATUS_IDLE);
    assert_int_equal(rd(f, NPU_REG_ERR), 0);
    assert_int_equal(rd(f, NPU_REG_IRQ_STATUS), 4);
    assert_int_equal(rd(f, NPU_REG_IRQ_ID), 0);
    assert_int_equal(cm_device_irq(f->dev), 0);
    wr(f, NPU_REG_IRQ_ENABLE, 0x7);
    assert_int_equal(cm_device_irq(f->dev), 4);
    assert_int_equal(rd(f, NPU_REG_IRQ_ID), 3);
    wr(f, NPU_REG_IRQ_STATUS, 0x3);                        /* other bits */
    cm_device_write(f->dev, NPU_REG_IRQ_STATUS, 0x4, 0xE); /* byte 0 not strobed */
    assert_int_equal(cm_device_irq(f->dev), 4);
    wr(f, NPU_REG_IRQ_STATUS, 0x4);
    assert_int_equal(cm_device_irq(f->dev), 0);
    assert_int_equal(rd(f, NPU_REG_IRQ_STATUS), 0);
    assert_int_equal(rd(f, NPU_REG_IRQ_ID), 0);
    assert_int_equal(f->hooks, 1);
    assert_int_equal(cm_device_macs(f->dev), 1);
    assert_int_equal(cm_device_faults(f->dev), 0);
}

static void test_start_needs_strobe_of_byte_0(void **state) {
    fixture *f = *state;
    one_pixel(f);
    cm_device_write(f->dev, NPU_REG_GEMM_CTRL, CTRL_1X1, 0xE);
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 0);
    assert_int_equal(rd(f, NPU_REG_ERR), 0);
    cm_device_write(f->dev, NPU_REG_GEMM_CTRL, CTRL_1X1, 0x1); /* the other bytes hold what was written before */
    cm_device_write(f->dev, NPU_REG_GEMM_CTRL, NPU_GEMM_CTRL_EN_MASK, 0x8);
    /* kernel and half of the stride are in byte 0, the rest of the stride in byte 1, LAYOUT in byte 2 */
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 1);
    assert_true(result(f) == 15.0f);
}

static void test_count_wraps(void **state) {
    fixture *f = *state;
    one_pixel(f);
    for (int i = 0; i < 65535; i++) {
        wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    }
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 65535);
    wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 0);
    assert_int_equal(cm_device_macs(f->dev), 65536);
}

static void test_config_error_drops_the_task(void **state) {
    fixture *f = *state;
    one_pixel(f);
    cm_device_on_task(f->dev, on_task, f);
    wr(f, NPU_REG_IRQ_ENABLE, 4);
    wr(f, NPU_REG_GEMM_WGT_ADDR, 0x204);
    wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    assert_int_equal(rd(f, NPU_REG_ERR), NPU_ERR_CONFIG_MASK);
    assert_int_equal(rd(f, NPU_REG_IRQ_STATUS), 4);
    assert_int_equal(cm_device_irq(f->dev), 4);
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 0);
    assert_true(result(f) == 0.0f);
    assert_int_equal(f->hooks, 0);
    assert_int_equal(cm_device_macs(f->dev), 0);
    assert_int_equal(rd(f, NPU_REG_GEMM_CTRL) & NPU_GEMM_CTRL_EN_MASK, 0);
    wr(f, NPU_REG_ERR, 0x3F3F2F); /* every bit but the one that is set */
    assert_int_equal(rd(f, NPU_REG_ERR), NPU_ERR_CONFIG_MASK);
    wr(f, NPU_REG_ERR, NPU_ERR_CONFIG_MASK);
    assert_int_equal(rd(f, NPU_REG_ERR), 0);
    assert_int_equal(rd(f, NPU_REG_IRQ_STATUS), 4); /* clearing the cause does not clear the interrupt */
    wr(f, NPU_REG_IRQ_STATUS, 4);
    wr(f, NPU_REG_GEMM_WGT_ADDR, 0x200); /* the device works on */
    wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    assert_true(result(f) == 15.0f);
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 1);
}

static void test_soft_reset(void **state) {
    fixture *f = *state;
    one_pixel(f);
    wr(f, NPU_REG_IRQ_ENABLE, 7);
    wr(f, NPU_REG_PERF_SEL, 5);
    wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    cm_device_write(f->dev, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK, 0xE); /* byte 0 not strobed */
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 1);
    wr(f, NPU_REG_CTRL, ~NPU_CTRL_SOFT_RESET_MASK);
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 1);
    wr(f, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rd(f, rows[i].offset), rows[i].offset == NPU_REG_CONFIG ? CONFIG_N8 : rows[i].reset);
    }
    assert_int_equal(cm_device_irq(f->dev), 0);
    assert_true(result(f) == 15.0f); /* memory stays */
}

static void test_perf_registers_are_still(void **state) {
    fixture *f = *state;
    one_pixel(f);
    wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    wr(f, NPU_REG_PERF_CTRL, 3);
    for (uint32_t sel = 0; sel < 64; sel++) {
        wr(f, NPU_REG_PERF_SEL, sel);
        assert_int_equal(rd(f, NPU_REG_PERF_LO), 0);
        assert_int_equal(rd(f, NPU_REG_PERF_HI), 0);
    }
    assert_int_equal(rd(f, NPU_REG_PERF_CTRL), 0);
}

static void test_bus_errors(void **state) {
    fixture *f = *state;
    one_pixel(f);
    wr(f, NPU_REG_GEMM_OFM_ADDR, MEM_BYTES);
    wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    assert_int_equal(rd(f, NPU_REG_ERR), NPU_ERR_BUS_WR0_MASK);
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), 1); /* the task completes all the same */
    assert_int_equal(cm_device_faults(f->dev), 1);
    wr(f, NPU_REG_GEMM_CHANNELS, 0x00020001);
    wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    assert_int_equal(rd(f, NPU_REG_ERR), NPU_ERR_BUS_WR0_MASK | NPU_ERR_BUS_WR1_MASK);
    assert_int_equal(cm_device_faults(f->dev), 3);
    wr(f, NPU_REG_ERR, 0x3F);
    wr(f, NPU_REG_GEMM_OFM_ADDR, 0x300);
    wr(f, NPU_REG_GEMM_IFM_ADDR, 0xFFFFFFFCu);
    wr(f, NPU_REG_GEMM_CTRL, CTRL_1X1);
    assert_int_equal(rd(f, NPU_REG_ERR), NPU_ERR_BUS_RD0_MASK);
    assert_int_equal(cm_device_faults(f->dev), 4);
    assert_int_equal(rd(f, NPU_REG_IRQ_STATUS), 4);
}

static void test_gemm_run_reports(void **state) {
    fixture *f = *state;
    cm_mem mem = {f, mem_read, mem_write};
    cm_gemm_task t = {
        .kw = 1, .kh = 1, .sw = 1, .sh = 1, .dw = 1, .dh = 1, .iw = 1, .ih = 1, .ic = 1, .ow = 1, .oh = 1, .oc = 1};
    t.ifm_addr = 0x100, t.wgt_addr = 0x200, t.ofm_addr = 0x300, t.ifm_cstep = t.ofm_cstep = 16,
    t.in_scale = 0x3F800000u;
    one_pixel(f);
    assert_true(cm_gemm_run(8, &t, &mem)); /* group 0 counts as 1 */
    assert_true(result(f) == 15.0f);
    t.wgt_addr = MEM_BYTES;
    assert_false(cm_gemm_run(8, &t, &mem));
    t.wgt_addr = 0x200;
    t.oc = 1025; /* outside the limits: refused, not executed */
    assert_false(cm_gemm_run(8, &t, &mem));
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_identity),
        TEST(test_reset_values_and_holes),
        TEST(test_write_masks_and_strobes),
        TEST(test_task_completes),
        TEST(test_start_needs_strobe_of_byte_0),
        TEST(test_count_wraps),
        TEST(test_soft_reset),
        TEST(test_config_error_drops_the_task),
        TEST(test_perf_registers_are_still),
        TEST(test_bus_errors),
        TEST(test_gemm_run_reports),
    };
    return cmocka_run_group_tests_name("cm_device", tests, NULL, NULL);
}
