/* The memory checker of the device: each kind of wrong access is named with its task, unit, buffer and address; what is
 * legal and close to it is not. */
#include "stand_in.h"

static void reg(npu_dev *dev, uint32_t offset, uint32_t value) {
    npu_dev_hal(dev)->reg_write(npu_dev_hal(dev)->ctx, offset, value);
}

static uint32_t reg_of(npu_dev *dev, uint32_t offset) {
    uint32_t v = 0;
    npu_dev_hal(dev)->reg_read(npu_dev_hal(dev)->ctx, offset, &v);
    return v;
}

static void cycles(npu_dev *dev) {
    npu_dev_hal(dev)->delay_us(npu_dev_hal(dev)->ctx, 1);
}

#define COUNT 9u /* floats: two whole beats and four bytes of a third */
#define BYTES (4 * COUNT)

typedef struct rig {
    npu_dev *dev;
    uint32_t in, out, max;
} rig;

static void open_rig(rig *t, npu_dev_kind kind) {
    static const float v[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9};
    now = GOOD;
    rogue = NO_ROGUE;
    t->dev = open_dev(kind);
    now = LATE_ALU; /* the ALU takes its time */
    t->in = put(t->dev, v, sizeof v);
    t->out = npu_dev_alloc(t->dev, 128, 64, NPU_BUF_OUT);
    t->max = npu_dev_alloc(t->dev, 64, 64, NPU_BUF_OUT);
}

/* out = |in| */
static void start_alu(npu_dev *dev, uint32_t in, uint32_t out) {
    reg(dev, NPU_REG_ALU_A_ADDR, in);
    reg(dev, NPU_REG_ALU_O_ADDR, out);
    reg(dev, NPU_REG_ALU_SIZE, COUNT);
    reg(dev, NPU_REG_ALU_ROWS, 1u << 16 | 1);
    reg(dev, NPU_REG_ALU_CTRL, NPU_ALU_CTRL_OP_ABS << NPU_ALU_CTRL_OP_LSB | NPU_ALU_CTRL_EN_MASK);
}

/* Two rows of two outputs, 32 bytes apart. */
static void start_pool(npu_dev *dev, uint32_t in, uint32_t out) {
    reg(dev, NPU_REG_POOL_IFM_ADDR, in);
    reg(dev, NPU_REG_POOL_OFM_ADDR, out);
    reg(dev, NPU_REG_POOL_OFM_RSTEP, 32);
    reg(dev, NPU_REG_POOL_IFM_SIZE, 2u << 16 | 2);
    reg(dev, NPU_REG_POOL_OFM_SIZE, 2u << 16 | 2);
    reg(dev, NPU_REG_POOL_CHANNELS, 1);
    reg(dev, NPU_REG_POOL_WINDOW, 1u << 24 | 1u << 16 | 1u << 8 | 1);
    reg(dev, NPU_REG_POOL_CTRL, NPU_POOL_CTRL_EN_MASK);
}

static void beat(rig *t, bool write, uint32_t addr, uint32_t strobes) {
    rogue = write ? ROGUE_WRITE : ROGUE_READ;
    rogue_addr = addr;
    rogue_strobes = strobes;
    cycles(t->dev);
}

static void expect(const rig *t, const char *signature, const char *text) {
    const npu_dev_failure *f = npu_dev_get_failure(t->dev);
    if (strcmp(f->signature, signature) != 0 || strstr(f->message, text) == NULL) {
        fail_msg("expected %s: %s, got %s: %s", signature, text, f->signature, f->message);
    }
}

/* One beat of the RTL while an ALU task runs (number 1: another one is complete), and a POOL task. */
static void strays(void **state) {
    (void)state;
    static const struct {
        bool write;
        int from, at; /* from: 0 in, 1 out, 2 max */
        uint32_t strobes;
        const char *signature, *text;
    } cases[] = {
        {true, 1, 0, 0xffff, "", ""},
        {true, 1, 32, 0x000f, "", ""},
        {true, 1, 32, 0x0010, "mem:write-outside:alu", "1 byte past the end of `out` of alu task 1"},
        {true, 1, 32, 0x8000, "mem:write-outside:alu", "12 bytes past the end of `out` of alu task 1"},
        {true, 1, -16, 0xc000, "mem:write-outside:alu", "2 bytes before `out` of alu task 1"},
        {true, 1, 48, 0x0001, "mem:write-outside:alu", "13 bytes past the end of `out` of alu task 1"},
        {true, 2, 0, 0x00ff, "", ""},
        {true, 2, 32, 0x00ff, "", ""},
        {true, 2, 0, 0x0100, "mem:write-outside:pool", "in a gap of `ofm` of pool task 0, 1 byte from it"},
        {true, 0, 16, 0x0001, "mem:write-read-only:alu", "which may only be read: in `a` of alu task 1"},
        {true, 0, 48, 0x0001, "mem:write-read-only:alu", "input buffer 0"},
        {false, 0, 0, 0, "", ""},
        {false, 0, 32, 0, "", ""},
        {false, 0, 48, 0, "mem:read-outside:alu", "13 bytes past the end of `a` of alu task 1"},
        {false, 1, 0, 0, "mem:read-outside:alu", "output buffer 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig t;
        open_rig(&t, NPU_DEV_TANDEM);
        start_alu(t.dev, t.in, t.out + 64);
        cycles(t.dev);
        assert_int_equal(reg_of(t.dev, NPU_REG_ALU_COUNT), 1);
        start_alu(t.dev, t.in, t.out);
        start_pool(t.dev, t.in, t.max);
        const uint32_t from[] = {t.in, t.out, t.max};
        beat(&t, cases[i].write, from[cases[i].from] + (uint32_t)cases[i].at, cases[i].strobes);
        expect(&t, cases[i].signature, cases[i].text);
        npu_dev_close(t.dev);
    }
}

/* Buffers are open as long as their task may run: until the driver has seen it complete. */
static void life(void **state) {
    (void)state;
    rig t;
    open_rig(&t, NPU_DEV_RTL);
    beat(&t, true, t.out, 1);
    expect(&t, "mem:write-outside:none", "no task is in flight; output buffer 1");
    npu_dev_close(t.dev);
    for (int how = 0; how < 4; how++) {
        open_rig(&t, NPU_DEV_RTL);
        start_alu(t.dev, t.in, t.out);
        cycles(t.dev);
        beat(&t, true, t.out, 1);
        expect(&t, "", "");
        if (how == 0) {
            assert_int_equal(reg_of(t.dev, NPU_REG_ALU_COUNT), 1);
        } else if (how == 1) {
            assert_int_equal(reg_of(t.dev, NPU_REG_STATUS) & NPU_STATUS_ALU_BUSY_MASK, 0);
        } else if (how == 2) {
            npu_dev_reset(t.dev);
        } else {
            reg(t.dev, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK);
            beat(&t, true, t.out, 1); /* bursts in flight may still come */
            expect(&t, "", "");
            reg_of(t.dev, NPU_REG_STATUS);
        }
        beat(&t, true, t.out + 16, 1);
        expect(&t, "mem:write-outside:alu", "in `out` of alu task 0, which is complete");
        npu_dev_close(t.dev);
    }
}

/* A byte of an input that was never written: the RTL alone, and in tandem, where the model reads it first. */
static void unwritten(void **state) {
    (void)state;
    rig t;
    open_rig(&t, NPU_DEV_RTL);
    tb_ddr_unwrite(&t.dev->ddr, t.in + 33, 1);
    start_alu(t.dev, t.in, t.out);
    beat(&t, false, t.in + 16, 0);
    expect(&t, "", "");
    beat(&t, false, t.in + 32, 0);
    expect(&t, "mem:read-unwritten:alu", "RTL read 0x");
    expect(&t, "mem:read-unwritten:alu", "on m1, which was never written: in `a` of alu task 0; input buffer 0");
    npu_dev_close(t.dev);
    open_rig(&t, NPU_DEV_TANDEM);
    tb_ddr_unwrite(&t.dev->ddr, t.in + 36, 1); /* beside the input */
    tb_ddr_unwrite(&t.dev->model_ddr, t.in + 36, 1);
    start_alu(t.dev, t.in, t.out);
    beat(&t, false, t.in + 32, 0);
    expect(&t, "", "");
    npu_dev_close(t.dev);
    open_rig(&t, NPU_DEV_TANDEM);
    tb_ddr_unwrite(&t.dev->model_ddr, t.in + 33, 1);
    start_alu(t.dev, t.in, t.out);
    expect(&t, "mem:read-unwritten:alu", "the model read 0x");
    npu_dev_close(t.dev);
}

/* What lies beside an input in its last beat is not the same for RTL and model, so a design that uses it is found by
 * its result. */
static void beside(void **state) {
    (void)state;
    rig t;
    uint8_t rtl[16], model[16];
    open_rig(&t, NPU_DEV_TANDEM);
    start_alu(t.dev, t.in, t.out);
    tb_ddr_beat_read(&t.dev->ddr, t.in + 32, rtl, 16, 0, 15);
    t.dev->model_ddr.watch = true;
    tb_ddr_beat_read(&t.dev->model_ddr, t.in + 32, model, 16, 0, 15);
    assert_memory_equal(rtl, model, 4);
    assert_true(memcmp(rtl + 4, model + 4, 12) != 0);
    npu_dev_close(t.dev);
}

/* Settings of the driver that are wrong: the golden device meets them first. */
static void driver_is_wrong(void **state) {
    (void)state;
    rig t;
    open_rig(&t, NPU_DEV_TANDEM);
    start_alu(t.dev, t.in, t.in + 4);
    expect(&t, "mem:overlap:alu", "`out` of alu task 0, which is written, and `a` of alu task 0 overlap at 0x");
    npu_dev_close(t.dev);
    open_rig(&t, NPU_DEV_TANDEM);
    start_alu(t.dev, t.in, t.out + 100); /* past the end of the buffer */
    expect(&t, "mem:write-outside:alu", "the model wrote 0x");
    expect(&t, "mem:write-outside:alu", "in no buffer");
    npu_dev_close(t.dev);
    open_rig(&t, NPU_DEV_TANDEM);
    start_alu(t.dev, t.in, t.in); /* in place is fine, but not in an input of the testcase */
    expect(&t, "mem:write-read-only:alu", "the model wrote 0x");
    npu_dev_close(t.dev);
    open_rig(&t, NPU_DEV_TANDEM);
    npu_dev_allow_overlap(t.dev, true);
    start_alu(t.dev, t.in, t.out);
    start_pool(t.dev, t.in, t.out);
    expect(&t, "", "");
    npu_dev_close(t.dev);
}

/* A start that the driver did not make is refused and noticed; one that goes unnoticed is a failure. */
static void stray_start(void **state) {
    (void)state;
    for (unsigned u = 0; u < UNITS; u++) {
        rig t;
        open_rig(&t, NPU_DEV_TANDEM);
        start_alu(t.dev, t.in, t.out);
        assert_true(npu_dev_stray_start(t.dev, u));
        assert_int_equal(reg_of(t.dev, NPU_REG_ERR), npu_units[u].refused & reg_of(t.dev, NPU_REG_ERR));
        assert_int_not_equal(reg_of(t.dev, NPU_REG_ERR), 0);
        npu_dev_run(t.dev, 400);
        assert_int_equal(reg_of(t.dev, NPU_REG_ALU_COUNT), 1);
        assert_int_equal(t.dev->stray, 0); /* compared */
        reg(t.dev, NPU_REG_ERR, UINT32_MAX);
        assert_true(npu_dev_finish(t.dev));
        npu_dev_close(t.dev);
    }
    rig t;
    open_rig(&t, NPU_DEV_TANDEM);
    start_alu(t.dev, t.in, t.out);
    now = HIDDEN_ERR;
    assert_false(npu_dev_stray_start(t.dev, UNIT_POOL));
    expect(&t, "event:ERR", "a start of the POOL with illegal settings, among tasks of the driver, was not refused");
    assert_false(npu_dev_stray_start(t.dev, UNIT_POOL));
    npu_dev_close(t.dev);
}

/* What a task that a reset drops has not written is undefined, and nobody who reads it reads what was never written. */
static void dropped_task(void **state) {
    (void)state;
    for (int hard = 0; hard < 2; hard++) {
        rig t;
        uint64_t where;
        open_rig(&t, NPU_DEV_TANDEM);
        start_alu(t.dev, t.in, t.out);
        tb_ddr_unwrite(&t.dev->ddr, t.out + 8, 12);
        if (hard != 0) {
            npu_dev_reset(t.dev);
        } else {
            reg(t.dev, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK);
            reg_of(t.dev, NPU_REG_STATUS);
        }
        assert_false(tb_ddr_find_unwritten(&t.dev->ddr, t.out, BYTES, &where));
        assert_true(tb_ddr_find_unwritten(&t.dev->ddr, t.out + BYTES, 1, &where));
        if (hard == 0) { /* the stand-in has no reset pin */
            start_alu(t.dev, t.out, t.out + 64);
            npu_dev_run(t.dev, 400);
            assert_int_equal(reg_of(t.dev, NPU_REG_ALU_COUNT), 1);
        }
        expect(&t, "", "");
        npu_dev_close(t.dev);
    }
}

/* Memories that fail say how much has moved. */
static void broken_memory(void **state) {
    (void)state;
    rig t;
    open_rig(&t, NPU_DEV_TANDEM);
    start_alu(t.dev, t.in, t.out);
    const uint64_t before = npu_dev_handshakes(t.dev, 1, TB_AXI_R);
    npu_dev_inject_slow(t.dev, 1, TB_AXI_R, 50);
    npu_dev_inject_hang(t.dev, 1, TB_AXI_AR, 0);
    beat(&t, false, t.in, 0);
    assert_int_equal(npu_dev_handshakes(t.dev, 1, TB_AXI_R), before);
    npu_dev_mend(t.dev);
    npu_dev_run(t.dev, 100);
    assert_int_equal(npu_dev_handshakes(t.dev, 1, TB_AXI_R), before + 1);
    assert_int_equal(npu_dev_error_responses(t.dev, false), 0);
    npu_dev_inject_response(t.dev, 1, 0, 0, TB_AXI_DECERR, 0);
    beat(&t, false, t.in, 0);
    npu_dev_run(t.dev, 100);
    assert_int_equal(npu_dev_error_responses(t.dev, false), 1);
    assert_int_equal(npu_dev_error_responses(t.dev, true), 0);
    assert_int_equal(npu_dev_handshakes(t.dev, 2, TB_AXI_R) + npu_dev_handshakes(t.dev, 0, TB_AXI_CHANNELS), 0);
    npu_dev_close(t.dev);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strays),          cmocka_unit_test(life),
        cmocka_unit_test(unwritten),       cmocka_unit_test(beside),
        cmocka_unit_test(driver_is_wrong), cmocka_unit_test(stray_start),
        cmocka_unit_test(dropped_task),    cmocka_unit_test(broken_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
