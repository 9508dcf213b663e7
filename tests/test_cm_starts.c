/*
 * test_cm_starts.c - tasks of the three units on one golden device: counts, interrupts, error bytes, units left out,
 * kept weights (docs/npu/npu.md sections 3.2 and 3.5).
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
#define ONE 0x3F800000u
#define GEMM_START                                                                                                     \
    (NPU_GEMM_CTRL_EN_MASK | NPU_GEMM_CTRL_LAYOUT_MASK | 1u << NPU_GEMM_CTRL_KERNEL_LSB |                              \
     1u << NPU_GEMM_CTRL_STRIDE_LSB)
#define ALU_SUM (NPU_ALU_CTRL_EN_MASK | NPU_ALU_CTRL_OP_SUM << NPU_ALU_CTRL_OP_LSB)
#define ALU_COPY (NPU_ALU_CTRL_EN_MASK | NPU_ALU_CTRL_OP_COPY << NPU_ALU_CTRL_OP_LSB)
#define POOL_MAX NPU_POOL_CTRL_EN_MASK

typedef struct fixture {
    uint32_t mem[MEM_BYTES / 4];
    cm_device *dev;
} fixture;

static bool mem_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    const fixture *f = ctx;
    if (addr > MEM_BYTES || bytes > MEM_BYTES - addr) {
        return false;
    }
    memcpy(dst, (const uint8_t *)f->mem + addr, bytes);
    return true;
}

static bool mem_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    fixture *f = ctx;
    if (addr > MEM_BYTES || bytes > MEM_BYTES - addr) {
        return false;
    }
    memcpy((uint8_t *)f->mem + addr, src, bytes);
    return true;
}

static void wr(fixture *f, uint32_t offset, uint32_t value) {
    cm_device_write(f->dev, offset, value, 0xF);
}

static uint32_t rd(fixture *f, uint32_t offset) {
    return cm_device_read(f->dev, offset);
}

/* A small legal task in the registers of each unit: GEMM 1 pixel at 0x100 to 0x300, ALU 4 words at 0x400 to 0x500, POOL
 * 2 words at 0x600 to 0x700. */
static void program(fixture *f) {
    wr(f, NPU_REG_GEMM_IFM_ADDR, 0x100);
    wr(f, NPU_REG_GEMM_WGT_ADDR, 0x200);
    wr(f, NPU_REG_GEMM_OFM_ADDR, 0x300);
    wr(f, NPU_REG_GEMM_IFM_SIZE, 0x00010001);
    wr(f, NPU_REG_GEMM_CHANNELS, 0x00010001);
    wr(f, NPU_REG_GEMM_OFM_SIZE, 0x00010001);
    wr(f, NPU_REG_GEMM_IN_SCALE, ONE);
    wr(f, NPU_REG_ALU_A_ADDR, 0x400);
    wr(f, NPU_REG_ALU_O_ADDR, 0x500);
    wr(f, NPU_REG_ALU_SIZE, 4);
    wr(f, NPU_REG_ALU_ROWS, 0x00010001);
    wr(f, NPU_REG_ALU_Q, ONE);
    wr(f, NPU_REG_POOL_IFM_ADDR, 0x600);
    wr(f, NPU_REG_POOL_OFM_ADDR, 0x700);
    wr(f, NPU_REG_POOL_IFM_SIZE, 0x00010002);
    wr(f, NPU_REG_POOL_OFM_SIZE, 0x00010001);
    wr(f, NPU_REG_POOL_CHANNELS, 1);
    wr(f, NPU_REG_POOL_WINDOW, 0x01010102);
}

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return -1;
    }
    cm_mem mem = {f, mem_read, mem_write};
    f->dev = cm_device_new(8, &mem);
    *state = f;
    if (f->dev == NULL) {
        return -1;
    }
    f->mem[0x100 / 4] = 0x40400000; /* 3.0 */
    f->mem[0x200 / 4] = 5;
    for (uint32_t i = 0; i < 4; i++) {
        f->mem[0x400 / 4 + i] = ONE;
    }
    f->mem[0x600 / 4] = 0xBF800000;
    f->mem[0x604 / 4] = 0x40000000;
    program(f);
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    cm_device_free(f->dev);
    free(f);
    return 0;
}

static void check(fixture *f, uint32_t gemm, uint32_t alu, uint32_t pool, uint32_t irq, uint32_t err) {
    assert_int_equal(rd(f, NPU_REG_GEMM_COUNT), gemm);
    assert_int_equal(rd(f, NPU_REG_ALU_COUNT), alu);
    assert_int_equal(rd(f, NPU_REG_POOL_COUNT), pool);
    assert_int_equal(rd(f, NPU_REG_IRQ_STATUS), irq);
    assert_int_equal(rd(f, NPU_REG_ERR), err);
}

static void test_each_unit_completes(void **state) {
    fixture *f = *state;
    wr(f, NPU_REG_IRQ_ENABLE, 7);
    wr(f, NPU_REG_POOL_CTRL, POOL_MAX);
    check(f, 0, 0, 1, 2, 0);
    assert_int_equal(f->mem[0x700 / 4], 0x40000000);
    assert_int_equal(rd(f, NPU_REG_IRQ_ID), 2);
    wr(f, NPU_REG_GEMM_CTRL, GEMM_START);
    check(f, 1, 0, 1, 6, 0);
    assert_int_equal(f->mem[0x300 / 4], 0x41700000); /* 15.0 */
    assert_int_equal(rd(f, NPU_REG_IRQ_ID), 2);      /* the lowest */
    wr(f, NPU_REG_ALU_CTRL, ALU_SUM);
    check(f, 1, 1, 1, 7, 0);
    assert_int_equal(f->mem[0x500 / 4], 0x40800000); /* 4.0 */
    assert_int_equal(rd(f, NPU_REG_IRQ_ID), 1);
    assert_int_equal(cm_device_irq(f->dev), 7);
    wr(f, NPU_REG_IRQ_ENABLE, 4);
    assert_int_equal(cm_device_irq(f->dev), 4);
    assert_int_equal(rd(f, NPU_REG_IRQ_ID), 3);
    assert_int_equal(rd(f, NPU_REG_ALU_CTRL), ALU_SUM & ~NPU_ALU_CTRL_EN_MASK);
    assert_int_equal(rd(f, NPU_REG_POOL_CTRL), 0);
    assert_int_equal(rd(f, NPU_REG_STATUS), NPU_REG_STATUS_RESET);
    assert_int_equal(cm_device_macs(f->dev), 1);
}

static void test_alu_result_stays(void **state) {
    fixture *f = *state;
    assert_int_equal(rd(f, NPU_REG_ALU_RESULT), 0);
    wr(f, NPU_REG_ALU_CTRL, ALU_SUM);
    assert_int_equal(rd(f, NPU_REG_ALU_RESULT), 0x40800000);
    wr(f, NPU_REG_ALU_RESULT, 1);
    wr(f, NPU_REG_ALU_CTRL, ALU_COPY); /* does not reduce */
    wr(f, NPU_REG_ALU_SIZE, 0);
    wr(f, NPU_REG_ALU_CTRL, ALU_SUM); /* dropped */
    assert_int_equal(rd(f, NPU_REG_ALU_RESULT), 0x40800000);
    check(f, 0, 2, 0, 1, NPU_ERR_ALU_CONFIG_MASK);
    wr(f, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK);
    assert_int_equal(rd(f, NPU_REG_ALU_RESULT), 0);
    check(f, 0, 0, 0, 0, 0);
}

static void test_config_errors_by_unit(void **state) {
    fixture *f = *state;
    wr(f, NPU_REG_ALU_ROWS, 0x00010000);
    wr(f, NPU_REG_ALU_CTRL, ALU_SUM);
    check(f, 0, 0, 0, 1, NPU_ERR_ALU_CONFIG_MASK);
    wr(f, NPU_REG_POOL_WINDOW, 0x01010002);
    wr(f, NPU_REG_POOL_CTRL, POOL_MAX);
    check(f, 0, 0, 0, 3, NPU_ERR_ALU_CONFIG_MASK | NPU_ERR_POOL_CONFIG_MASK);
    wr(f, NPU_REG_GEMM_WGT_ADDR, 4);
    wr(f, NPU_REG_GEMM_CTRL, GEMM_START);
    check(f, 0, 0, 0, 7, NPU_ERR_ALU_CONFIG_MASK | NPU_ERR_POOL_CONFIG_MASK | NPU_ERR_CONFIG_MASK);
    wr(f, NPU_REG_ERR, NPU_ERR_POOL_CONFIG_MASK);
    check(f, 0, 0, 0, 7, NPU_ERR_ALU_CONFIG_MASK | NPU_ERR_CONFIG_MASK);
    assert_int_equal(f->mem[0x300 / 4] | f->mem[0x500 / 4] | f->mem[0x700 / 4], 0);
    program(f); /* the device works on */
    wr(f, NPU_REG_ALU_CTRL, ALU_SUM);
    wr(f, NPU_REG_POOL_CTRL, POOL_MAX);
    wr(f, NPU_REG_GEMM_CTRL, GEMM_START);
    assert_int_equal(rd(f, NPU_REG_ALU_COUNT) + rd(f, NPU_REG_POOL_COUNT) + rd(f, NPU_REG_GEMM_COUNT), 3);
}

static void test_bus_errors_by_unit(void **state) {
    fixture *f = *state;
    wr(f, NPU_REG_ALU_A_ADDR, MEM_BYTES);
    wr(f, NPU_REG_ALU_CTRL, ALU_COPY);
    check(f, 0, 1, 0, 1, NPU_ERR_ALU_BUS_RD0_MASK); /* the task completes all the same */
    wr(f, NPU_REG_ALU_O_ADDR, MEM_BYTES);
    wr(f, NPU_REG_ALU_CTRL, ALU_COPY);
    check(f, 0, 2, 0, 1, NPU_ERR_ALU_BUS_RD0_MASK | NPU_ERR_ALU_BUS_WR0_MASK);
    wr(f, NPU_REG_ERR, 0x3F3F3F);
    wr(f, NPU_REG_IRQ_STATUS, 7);
    wr(f, NPU_REG_POOL_IFM_ADDR, MEM_BYTES);
    wr(f, NPU_REG_POOL_CTRL, POOL_MAX);
    check(f, 0, 2, 1, 2, NPU_ERR_POOL_BUS_RD0_MASK);
    wr(f, NPU_REG_POOL_OFM_ADDR, MEM_BYTES);
    wr(f, NPU_REG_POOL_CTRL, POOL_MAX);
    check(f, 0, 2, 2, 2, NPU_ERR_POOL_BUS_RD0_MASK | NPU_ERR_POOL_BUS_WR0_MASK);
    wr(f, NPU_REG_ERR, 0x3F3F3F);
    wr(f, NPU_REG_GEMM_IFM_ADDR, MEM_BYTES);
    wr(f, NPU_REG_GEMM_CTRL, GEMM_START);
    check(f, 1, 2, 2, 6, NPU_ERR_BUS_RD0_MASK);
    assert_int_equal(cm_device_faults(f->dev), 7);
}

static void test_start_needs_strobe_of_byte_0(void **state) {
    fixture *f = *state;
    cm_device_write(f->dev, NPU_REG_ALU_CTRL, ALU_SUM, 0xE);
    cm_device_write(f->dev, NPU_REG_POOL_CTRL, POOL_MAX, 0xE);
    check(f, 0, 0, 0, 0, 0);
    cm_device_write(f->dev, NPU_REG_ALU_CTRL, ALU_SUM, 0x1);
    cm_device_write(f->dev, NPU_REG_POOL_CTRL, POOL_MAX, 0x1);
    check(f, 0, 1, 1, 3, 0);
}

static void test_units_left_out(void **state) {
    fixture *f = *state;
    assert_int_equal(rd(f, NPU_REG_CONFIG), 0x308);
    for (uint32_t units = 0; units < 4; units++) {
        bool alu = units & 1, pool = units & 2;
        cm_device_set_units(f->dev, alu, pool);
        for (int round = 0; round < 2; round++) { /* a reset does not bring them back */
            program(f);
            assert_int_equal(rd(f, NPU_REG_CONFIG), 8 | (uint32_t)alu << 8 | (uint32_t)pool << 9);
            assert_int_equal(rd(f, NPU_REG_STATUS), NPU_REG_STATUS_RESET);
            wr(f, NPU_REG_ALU_CTRL, ALU_SUM);
            wr(f, NPU_REG_POOL_CTRL, POOL_MAX);
            wr(f, NPU_REG_GEMM_CTRL, GEMM_START);
            check(f, 1, alu, pool, 7, (alu ? 0 : NPU_ERR_ALU_CONFIG_MASK) | (pool ? 0 : NPU_ERR_POOL_CONFIG_MASK));
            wr(f, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK);
        }
    }
}

/* Start a GEMM task with or without WGT_RES and WGT_KEEP; true: accepted. */
static bool gemm(fixture *f, bool resident, bool keep) {
    uint32_t before = rd(f, NPU_REG_GEMM_COUNT);
    wr(f, NPU_REG_ERR, NPU_ERR_CONFIG_MASK);
    wr(f, NPU_REG_GEMM_CTRL,
       GEMM_START | (resident ? NPU_GEMM_CTRL_WGT_RES_MASK : 0) | (keep ? NPU_GEMM_CTRL_WGT_KEEP_MASK : 0));
    bool accepted = rd(f, NPU_REG_GEMM_COUNT) == before + 1;
    assert_int_equal(rd(f, NPU_REG_ERR), accepted ? 0 : NPU_ERR_CONFIG_MASK);
    return accepted;
}

static void test_kept_weights(void **state) {
    fixture *f = *state;
    assert_false(gemm(f, true, true)); /* no task before */
    assert_true(gemm(f, true, false));
    assert_true(gemm(f, true, true));
    assert_true(gemm(f, true, true)); /* a task that keeps them leaves them too */
    assert_false(gemm(f, false, true));
    assert_true(gemm(f, true, true)); /* a dropped task changes nothing */
    wr(f, NPU_REG_ALU_CTRL, ALU_SUM); /* nor do the other units */
    wr(f, NPU_REG_POOL_CTRL, POOL_MAX);
    assert_true(gemm(f, true, true));
    wr(f, NPU_REG_GEMM_WGT_ADDR, 0x210);
    assert_false(gemm(f, true, true));
    wr(f, NPU_REG_GEMM_WGT_ADDR, 0x200);
    assert_true(gemm(f, true, true));
    assert_true(gemm(f, false, false)); /* this one overwrites them */
    assert_false(gemm(f, true, true));
    assert_true(gemm(f, true, false));
    wr(f, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK);
    program(f);
    assert_false(gemm(f, true, true));
    f->mem[0x300 / 4] = 0;
    assert_true(gemm(f, true, false) && gemm(f, true, true));
    assert_int_equal(f->mem[0x300 / 4], 0x41700000); /* the weights are those in memory */
}

/* INT16 needs a device that has it, and weights of one width are not kept for the other. */
static void test_widths(void **state) {
    fixture *f = *state;
    const uint32_t wide = GEMM_START | NPU_GEMM_CTRL_WIDE_MASK | NPU_GEMM_CTRL_WGT_RES_MASK;
    wr(f, NPU_REG_GEMM_CTRL, wide);
    check(f, 0, 0, 0, 4, NPU_ERR_CONFIG_MASK);
    cm_device_set_int16(f->dev, true); /* resets it */
    program(f);
    wr(f, NPU_REG_GEMM_CTRL, wide);
    check(f, 1, 0, 0, 4, 0);
    wr(f, NPU_REG_GEMM_CTRL, wide | NPU_GEMM_CTRL_WGT_KEEP_MASK);
    check(f, 2, 0, 0, 4, 0);
    assert_false(gemm(f, true, true));
    assert_true(gemm(f, true, false) && gemm(f, true, true));
    wr(f, NPU_REG_GEMM_CTRL, wide | NPU_GEMM_CTRL_WGT_KEEP_MASK);
    check(f, 4, 0, 0, 4, NPU_ERR_CONFIG_MASK);
}

/* ---- inner values ---- */

typedef struct heard {
    uint32_t calls[CM_LOG_POOL + 1];
    uint32_t word[CM_LOG_POOL + 1]; /* the first value, as it is in memory */
} heard;

static void hear(void *ctx, cm_log_stream stream, uint64_t first, uint64_t step, uint32_t count, const void *values) {
    heard *h = ctx;
    assert_true(step > 0 && count > 0);
    if (first == 0) {
        memcpy(&h->word[stream], values, stream == CM_LOG_REQUANT ? 1 : 4);
    }
    h->calls[stream]++;
}

static void test_log(void **state) {
    fixture *f = *state;
    heard h = {0};
    const cm_log log = {&h, hear};
    cm_device_set_log(f->dev, &log);
    wr(f, NPU_REG_GEMM_CTRL, GEMM_START);
    wr(f, NPU_REG_ALU_CTRL, ALU_SUM);
    wr(f, NPU_REG_POOL_CTRL, POOL_MAX);
    assert_true(h.calls[CM_LOG_SUM] == 1 && h.calls[CM_LOG_POST] == 1 && h.calls[CM_LOG_REQUANT] == 0);
    assert_int_equal(h.word[CM_LOG_SUM], 15);
    assert_int_equal(h.word[CM_LOG_POST], f->mem[0x300 / 4]);
    assert_int_equal(h.word[CM_LOG_ALU_RESULT], 0x40800000); /* 4.0 */
    assert_int_equal(h.word[CM_LOG_POOL], 0x40000000);
    cm_device_set_log(f->dev, NULL);
    const heard before = h;
    wr(f, NPU_REG_GEMM_CTRL, GEMM_START);
    assert_memory_equal(&h, &before, sizeof h);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_each_unit_completes),
        TEST(test_alu_result_stays),
        TEST(test_config_errors_by_unit),
        TEST(test_bus_errors_by_unit),
        TEST(test_start_needs_strobe_of_byte_0),
        TEST(test_units_left_out),
        TEST(test_kept_weights),
        TEST(test_widths),
        TEST(test_log),
    };
    return cmocka_run_group_tests_name("cm_starts", tests, NULL, NULL);
}
