/* What a report says of registers and addresses: names, fields, and the element of a task's output that holds a byte,
 * against the task's footprint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "inflight.h"
#include "npu_regs.h"

#define SET(regs, reg, field, value) ((regs)[NPU_REG_##reg / 4] |= (uint32_t)(value) << NPU_##reg##_##field##_LSB)

/* Every byte that the footprint says is written belongs to the element at its place, and no byte beside it to any. */
static void check_output(unsigned unit, const uint32_t *regs, uint32_t n, uint64_t elements) {
    npu_out_tensor t;
    tb_buffers buffers;
    uint64_t bytes = 0;
    uint32_t at[3];
    assert_true(npu_out_tensor_of(unit, regs, n, &t));
    assert_int_equal((uint64_t)t.size[0] * t.size[1] * t.size[2], elements);
    tb_buffers_init(&buffers, "task", NULL, 0);
    tb_buffers_begin(&buffers, "task", 0);
    npu_footprint(unit, regs, n, &buffers);
    tb_buffers_start(&buffers);
    const tb_buffer *out = &buffers.buffer[buffers.buffers - 1];
    assert_int_equal(out->use, TB_DDR_WRITE);
    const tb_range *r = buffers.range.r + out->first;
    const size_t count = out->end - out->first;
    for (size_t i = 0; i < count; i++) {
        for (uint64_t a = r[i].begin; a < r[i].end; a++, bytes++) {
            assert_true(npu_out_tensor_find(&t, a, at));
            const uint32_t place = t.addr + at[0] * t.step[0] + at[1] * t.step[1] + at[2] * t.step[2];
            assert_in_range((uint32_t)a - place, 0, npu_elem_bytes(t.type) - 1);
            for (unsigned d = 0; d < 3; d++) {
                assert_true(at[d] < t.size[d]);
            }
        }
    }
    assert_int_equal(bytes, elements * npu_elem_bytes(t.type));
    assert_false(npu_out_tensor_find(&t, r[0].begin - 1, at));
    assert_false(npu_out_tensor_find(&t, r[count - 1].end, at));
    tb_buffers_free(&buffers);
}

static void gemm(uint32_t *regs, bool requant) {
    memset(regs, 0, NPU_EX_REGS * sizeof *regs);
    SET(regs, GEMM_CTRL, OP, NPU_GEMM_CTRL_OP_CONV);
    SET(regs, GEMM_CTRL, KERNEL, 1);
    SET(regs, GEMM_CTRL, STRIDE, 1);
    SET(regs, GEMM_CTRL, LAYOUT, 1);
    SET(regs, GEMM_CTRL, REQUANT, requant);
    SET(regs, GEMM_IFM_SIZE, IW, 5);
    SET(regs, GEMM_IFM_SIZE, IH, 3);
    SET(regs, GEMM_OFM_SIZE, OW, 5);
    SET(regs, GEMM_OFM_SIZE, OH, 3);
    SET(regs, GEMM_CHANNELS, IC, 4);
    SET(regs, GEMM_CHANNELS, OC, 6);
    regs[NPU_REG_GEMM_IFM_ADDR / 4] = 0x10001000;
    regs[NPU_REG_GEMM_IFM_CSTEP / 4] = 64;
    regs[NPU_REG_GEMM_WGT_ADDR / 4] = 0x10002000;
    regs[NPU_REG_GEMM_IN_SCALE / 4] = 0x3f800000;
    regs[NPU_REG_GEMM_OUT_SCALE / 4] = 0x3f800000;
    regs[NPU_REG_GEMM_OFM_ADDR / 4] = 0x10003000;
    regs[NPU_REG_GEMM_OFM_CSTEP / 4] = requant ? 12 : 80;
}

static void test_gemm(void **state) {
    uint32_t regs[NPU_EX_REGS];
    npu_out_tensor t;
    uint32_t at[3];
    (void)state;
    gemm(regs, false);
    check_output(UNIT_GEMM, regs, 4, 6 * 15);
    assert_true(npu_out_tensor_of(UNIT_GEMM, regs, 4, &t));
    assert_int_equal(t.type, NPU_ELEM_F32);
    assert_true(npu_out_tensor_find(&t, 0x10003000 + 2 * 80 + (1 * 5 + 3) * 4 + 1, at));
    assert_int_equal(at[0], 2);
    assert_int_equal(at[1], 1);
    assert_int_equal(at[2], 3);
    assert_false(npu_out_tensor_find(&t, 0x10003000 + 60, at)); /* between two channels */
    gemm(regs, true);
    check_output(UNIT_GEMM, regs, 4, 8 * 15); /* channels up to a multiple of N */
    assert_true(npu_out_tensor_of(UNIT_GEMM, regs, 4, &t));
    assert_int_equal(t.type, NPU_ELEM_I8);
    assert_true(npu_out_tensor_find(&t, 0x10003000 + (2 * 5 + 1) * 12 + 5, at));
    assert_int_equal(at[0], 5);
    assert_int_equal(at[1], 2);
    assert_int_equal(at[2], 1);
    regs[NPU_REG_GEMM_CHANNELS / 4] = 0;
    assert_false(npu_out_tensor_of(UNIT_GEMM, regs, 4, &t)); /* no legal task */
}

static void test_alu(void **state) {
    uint32_t regs[NPU_EX_REGS] = {0};
    (void)state;
    SET(regs, ALU_CTRL, OP, NPU_ALU_CTRL_OP_COPY);
    SET(regs, ALU_SIZE, COUNT, 7);
    SET(regs, ALU_ROWS, ROWS, 3);
    SET(regs, ALU_ROWS, PLANES, 2);
    regs[NPU_REG_ALU_A_ADDR / 4] = 0x10001000;
    regs[NPU_REG_ALU_A_RSTEP / 4] = 32;
    regs[NPU_REG_ALU_A_PSTEP / 4] = 128;
    regs[NPU_REG_ALU_O_ADDR / 4] = 0x10002000;
    regs[NPU_REG_ALU_O_RSTEP / 4] = 64;
    regs[NPU_REG_ALU_O_PSTEP / 4] = 256;
    check_output(UNIT_ALU, regs, 4, 2 * 3 * 7);
    SET(regs, ALU_CTRL, DUP, 1);
    check_output(UNIT_ALU, regs, 4, 2 * 3 * 14);
}

static void test_pool(void **state) {
    uint32_t regs[NPU_EX_REGS] = {0};
    (void)state;
    SET(regs, POOL_CHANNELS, C, 4);
    SET(regs, POOL_WINDOW, KW, 2);
    SET(regs, POOL_WINDOW, KH, 2);
    SET(regs, POOL_WINDOW, SW, 2);
    SET(regs, POOL_WINDOW, SH, 2);
    SET(regs, POOL_IFM_SIZE, IW, 8);
    SET(regs, POOL_IFM_SIZE, IH, 6);
    SET(regs, POOL_OFM_SIZE, OW, 4);
    SET(regs, POOL_OFM_SIZE, OH, 3);
    regs[NPU_REG_POOL_IFM_ADDR / 4] = 0x10001000;
    regs[NPU_REG_POOL_IFM_CSTEP / 4] = 8 * 6 * 4;
    regs[NPU_REG_POOL_IFM_RSTEP / 4] = 8 * 4;
    regs[NPU_REG_POOL_OFM_ADDR / 4] = 0x10002000;
    regs[NPU_REG_POOL_OFM_CSTEP / 4] = 64;
    regs[NPU_REG_POOL_OFM_RSTEP / 4] = 16;
    check_output(UNIT_POOL, regs, 4, 4 * 3 * 4);
}

/* Steps that do not nest, and one that runs backwards. */
static void test_odd_steps(void **state) {
    static const npu_out_tensor odd[] = {
        /* rows further apart than channels */
        {.type = NPU_ELEM_F32, .addr = 0x1000, .size = {3, 2, 4}, .step = {16, 64, 4}},
        {.type = NPU_ELEM_F32, .addr = 0x1000, .size = {2, 3, 4}, .step = {1024, (uint32_t)-32, 4}},
        {.type = NPU_ELEM_I8, .addr = 0xffffff00, .size = {8, 20, 4}, .step = {1, 32, 8}}, /* across 2^32 */
        {.type = NPU_ELEM_F32, .addr = 0x1000, .size = {5, 1, 1}, .step = {4, 0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        const npu_out_tensor *t = &odd[i];
        uint32_t at[3];
        for (uint32_t c = 0; c < t->size[0]; c++) {
            for (uint32_t h = 0; h < t->size[1]; h++) {
                for (uint32_t w = 0; w < t->size[2]; w++) {
                    assert_true(npu_out_tensor_find(
                        t, (uint32_t)(t->addr + c * t->step[0] + h * t->step[1] + w * t->step[2]), at));
                    assert_true(at[0] == c && at[1] == h && at[2] == w);
                }
            }
        }
    }
}

static void test_names(void **state) {
    char text[256], scratch[16];
    (void)state;
    assert_string_equal(npu_explain_reg(NPU_REG_GEMM_CTRL, scratch, sizeof scratch), "GEMM_CTRL");
    assert_string_equal(npu_explain_reg(0x1fc, scratch, sizeof scratch), "0x1fc");
    npu_explain_fields(NPU_REG_GEMM_CTRL, NPU_GEMM_CTRL_EN_MASK | NPU_GEMM_CTRL_OP_DEPTHWISE << NPU_GEMM_CTRL_OP_LSB,
                       text, sizeof text);
    assert_non_null(strstr(text, "EN=1"));
    assert_non_null(strstr(text, "OP=DEPTHWISE"));
    assert_null(strstr(text, "BIAS"));
    npu_explain_fields(NPU_REG_GEMM_IFM_CSTEP, 640, text, sizeof text);
    assert_string_equal(text, "640");
    npu_explain_fields(NPU_REG_GEMM_IN_SCALE, 0x3fc00000, text, sizeof text);
    assert_string_equal(text, "1.5");
    npu_explain_fields(NPU_REG_GEMM_CTRL, UINT32_MAX, text, 20); /* no room: cut, not overrun */
    assert_true(strlen(text) < 20);
    npu_explain_value(NPU_ELEM_I8, 0x81, text, sizeof text);
    assert_string_equal(text, "-127");
    npu_explain_value(NPU_ELEM_F32, 0xbf000000, text, sizeof text);
    assert_string_equal(text, "-0.5 (0xbf000000)");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gemm), cmocka_unit_test(test_alu),
                                       cmocka_unit_test(test_pool), cmocka_unit_test(test_odd_steps),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
