/* test_driver.c - the driver's device functions; plans and packing are in test_driver_plan.c, the calls of a
 * convolution in test_driver_conv.c. */
#include "mock_npu.h"

#define CONFIG_N8 0x00000008u

/* ---- npu_strerror ---- */

static void strerror_texts(void **state) {
    (void)state;
    for (int i = 0; i < (int)NPU_STATUS_COUNT; i++) {
        const char *text = npu_strerror((npu_status)i);
        assert_non_null(text);
        assert_string_not_equal(text, "unknown status");
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(text, npu_strerror((npu_status)j));
        }
    }
    assert_string_equal(npu_strerror(NPU_STATUS_COUNT), "unknown status");
    assert_string_equal(npu_strerror((npu_status)1000), "unknown status");
}

/* ---- npu_init ---- */

static void expect_identity(mock_npu *m, uint32_t id, uint32_t config) {
    mock_read(m, NPU_REG_ID, id);
    mock_read(m, NPU_REG_CONFIG, config);
}

static void init_irq(void **state) {
    (void)state;
    mock_npu m;
    npu dev;
    mock_init(&m);
    expect_identity(&m, NPU_REG_ID_RESET, CONFIG_N8 | NPU_CONFIG_EN_ALU_MASK);
    mock_write(&m, NPU_REG_CTRL, 1);
    mock_read(&m, NPU_REG_STATUS, NPU_STATUS_RESETTING_MASK);
    mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
    mock_read(&m, NPU_REG_STATUS, NPU_STATUS_GEMM_READY_MASK);
    mock_write(&m, NPU_REG_IRQ_ENABLE, NPU_IRQ_ENABLE_GEMM_MASK | NPU_IRQ_ENABLE_ALU_MASK);
    assert_int_equal(npu_init(&dev, &m.hal, NPU_WAIT_IRQ, 50), NPU_OK);
    mock_done(&m);
    assert_int_equal(dev.n, 8);
    assert_int_equal(dev.units, 1u << NPU_UNIT_GEMM | 1u << NPU_UNIT_ALU);
    for (int u = 0; u < NPU_UNIT_COUNT; u++) {
        assert_int_equal(dev.started[u], 0);
    }
}

static void init_poll(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 8, 16, 32};
    for (size_t i = 0; i < 4; i++) {
        mock_npu m;
        npu dev;
        mock_init(&m);
        m.hal.wait_irq = NULL;
        expect_identity(&m, NPU_REG_ID_RESET, sizes[i]);
        mock_write(&m, NPU_REG_CTRL, 1);
        mock_read(&m, NPU_REG_STATUS, 0);
        mock_write(&m, NPU_REG_IRQ_ENABLE, 0);
        assert_int_equal(npu_init(&dev, &m.hal, NPU_WAIT_POLL, 50), NPU_OK);
        mock_done(&m);
        assert_int_equal(dev.n, sizes[i]);
    }
}

static void init_no_device(void **state) {
    (void)state;
    static const uint32_t ids[] = {0, 0xFFFFFFFFu, NPU_REG_ID_RESET + 1, NPU_REG_ID_RESET ^ 0x10000u};
    static const uint32_t sizes[] = {0, 1, 5, 12, 64, 255};
    npu dev;
    mock_npu m;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        mock_init(&m);
        mock_read(&m, NPU_REG_ID, ids[i]);
        assert_int_equal(npu_init(&dev, &m.hal, NPU_WAIT_IRQ, 50), NPU_ERR_NO_DEVICE);
        mock_done(&m);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        mock_init(&m);
        expect_identity(&m, NPU_REG_ID_RESET, sizes[i]);
        assert_int_equal(npu_init(&dev, &m.hal, NPU_WAIT_IRQ, 50), NPU_ERR_NO_DEVICE);
        mock_done(&m);
    }
}

static void init_bad_arguments(void **state) {
    (void)state;
    npu dev;
    mock_npu m;
    mock_init(&m);
    assert_int_equal(npu_init(NULL, &m.hal, NPU_WAIT_IRQ, 50), NPU_ERR_ARG);
    assert_int_equal(npu_init(&dev, NULL, NPU_WAIT_IRQ, 50), NPU_ERR_ARG);
    assert_int_equal(npu_init(&dev, &m.hal, (npu_wait)2, 50), NPU_ERR_ARG);
    assert_int_equal(npu_init(&dev, &m.hal, NPU_WAIT_IRQ, 0), NPU_ERR_ARG);
    npu_hal hal = m.hal;
    hal.reg_read = NULL;
    assert_int_equal(npu_init(&dev, &hal, NPU_WAIT_IRQ, 50), NPU_ERR_ARG);
    hal = m.hal;
    hal.reg_write = NULL;
    assert_int_equal(npu_init(&dev, &hal, NPU_WAIT_IRQ, 50), NPU_ERR_ARG);
    hal = m.hal;
    hal.delay_us = NULL;
    assert_int_equal(npu_init(&dev, &hal, NPU_WAIT_POLL, 50), NPU_ERR_ARG);
    hal = m.hal;
    hal.wait_irq = NULL;
    assert_int_equal(npu_init(&dev, &hal, NPU_WAIT_IRQ, 50), NPU_ERR_ARG);
    mock_done(&m);
}

static void init_never_out_of_reset(void **state) {
    (void)state;
    npu dev;
    mock_npu m;
    mock_init(&m);
    expect_identity(&m, NPU_REG_ID_RESET, CONFIG_N8);
    mock_write(&m, NPU_REG_CTRL, 1);
    for (int i = 0; i < 50; i++) {
        mock_read(&m, NPU_REG_STATUS, NPU_STATUS_RESETTING_MASK);
        mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
    }
    mock_read(&m, NPU_REG_STATUS, NPU_STATUS_RESETTING_MASK);
    assert_int_equal(npu_init(&dev, &m.hal, NPU_WAIT_IRQ, 50), NPU_ERR_TIMEOUT);
    mock_done(&m);
}

static void init_faults(void **state) {
    (void)state;
    for (size_t bad = 0; bad < 5; bad++) {
        npu dev;
        mock_npu m;
        mock_init(&m);
        expect_identity(&m, NPU_REG_ID_RESET, CONFIG_N8);
        mock_write(&m, NPU_REG_CTRL, 1);
        mock_read(&m, NPU_REG_STATUS, 0);
        mock_write(&m, NPU_REG_IRQ_ENABLE, NPU_IRQ_ENABLE_GEMM_MASK);
        m.script[bad].answer = NPU_HAL_FAULT;
        m.count = bad + 1; /* nothing may follow */
        assert_int_equal(npu_init(&dev, &m.hal, NPU_WAIT_IRQ, 50), NPU_ERR_HAL);
        mock_done(&m);
    }
}

/* ---- performance counters ---- */

static void perf(void **state) {
    (void)state;
    mock_npu m;
    uint64_t out[NPU_PERF_COUNT + 1] = {0};
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    mock_write(&m, NPU_REG_PERF_CTRL, NPU_PERF_CTRL_SNAPSHOT_MASK);
    for (uint32_t i = 0; i < NPU_PERF_COUNT; i++) {
        mock_write(&m, NPU_REG_PERF_SEL, i);
        mock_read(&m, NPU_REG_PERF_LO, 0x80000000u + i);
        mock_read(&m, NPU_REG_PERF_HI, 0xFF00u + i);
    }
    mock_write(&m, NPU_REG_PERF_CTRL, NPU_PERF_CTRL_CLEAR_MASK);
    assert_int_equal(npu_perf_read(&dev, out, NPU_PERF_COUNT), NPU_OK);
    assert_int_equal(npu_perf_clear(&dev), NPU_OK);
    mock_done(&m);
    for (uint64_t i = 0; i < NPU_PERF_COUNT; i++) {
        assert_true(out[i] == ((0xFF00u + i) << 32 | (0x80000000u + i)));
    }
    assert_int_equal(npu_perf_read(&dev, out, NPU_PERF_COUNT + 1), NPU_ERR_ARG);
    assert_int_equal(npu_perf_read(&dev, NULL, 1), NPU_ERR_ARG);
    assert_int_equal(npu_perf_read(NULL, out, 1), NPU_ERR_ARG);
    assert_int_equal(npu_perf_clear(NULL), NPU_ERR_ARG);
    dev.hal = NULL;
    assert_int_equal(npu_perf_read(&dev, out, 1), NPU_ERR_ARG);
    assert_int_equal(npu_perf_clear(&dev), NPU_ERR_ARG);
}

static void perf_faults(void **state) {
    (void)state;
    for (size_t bad = 0; bad < 4; bad++) {
        mock_npu m;
        uint64_t out[1];
        mock_init(&m);
        npu dev = mock_device(&m, NPU_WAIT_IRQ);
        mock_write(&m, NPU_REG_PERF_CTRL, NPU_PERF_CTRL_SNAPSHOT_MASK);
        mock_write(&m, NPU_REG_PERF_SEL, 0);
        mock_read(&m, NPU_REG_PERF_LO, 0);
        mock_read(&m, NPU_REG_PERF_HI, 0);
        m.script[bad].answer = NPU_HAL_FAULT;
        m.count = bad + 1;
        assert_int_equal(npu_perf_read(&dev, out, 1), NPU_ERR_HAL);
        mock_done(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strerror_texts),     cmocka_unit_test(init_irq),
        cmocka_unit_test(init_poll),          cmocka_unit_test(init_no_device),
        cmocka_unit_test(init_bad_arguments), cmocka_unit_test(init_never_out_of_reset),
        cmocka_unit_test(init_faults),        cmocka_unit_test(perf),
        cmocka_unit_test(perf_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
