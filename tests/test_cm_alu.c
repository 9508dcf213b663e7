/*
 * test_cm_alu.c - the ALU of the golden model: fields, limits from both sides, single operations, what is read and
 * written (docs/npu/npu.md section 3.3). Whole tasks against NumPy: tests/test_numpy_alu.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmodel.h"
#include "npu_regs.h"

#define SET(regs, reg, field, v)                                                                                       \
    ((regs)[NPU_REG_##reg / 4] = ((regs)[NPU_REG_##reg / 4] & ~NPU_##reg##_##field##_MASK) |                           \
                                 (((uint32_t)(v) << NPU_##reg##_##field##_LSB) & NPU_##reg##_##field##_MASK))

#define ONE 0x3F800000u
#define TWO 0x40000000u
#define THREE 0x40400000u
#define NAN_Q 0x7FC00000u
#define NAN_X 0xFFC12345u /* another NaN */
#define MINUS_0 0x80000000u
#define INF 0x7F800000u

static void legal(uint32_t *r) {
    memset(r, 0, 128 * sizeof *r);
    SET(r, ALU_CTRL, OP, NPU_ALU_CTRL_OP_MULADD);
    SET(r, ALU_CTRL, P_KIND, NPU_ALU_CTRL_P_KIND_VECTOR);
    SET(r, ALU_CTRL, Q_KIND, NPU_ALU_CTRL_Q_KIND_PLANE);
    SET(r, ALU_ACT, TYPE, 3);
    SET(r, ALU_SIZE, COUNT, 5);
    SET(r, ALU_ROWS, ROWS, 6);
    SET(r, ALU_ROWS, PLANES, 7);
    for (uint32_t i = 0; i < 9; i++) { /* ALU_A_ADDR .. ALU_O_PSTEP */
        r[NPU_REG_ALU_A_ADDR / 4 + i] = 0x1000 + 4 * i;
    }
    r[NPU_REG_ALU_P / 4] = 0x11;
    r[NPU_REG_ALU_Q / 4] = 0x12;
    r[NPU_REG_ALU_P_ADDR / 4] = 0x2004;
    r[NPU_REG_ALU_Q_ADDR / 4] = 0x2008;
    for (uint32_t i = 0; i < 4; i++) {
        r[NPU_REG_ALU_ACT_P0 / 4 + i] = 0x40 + i;
    }
}

static bool ok(const uint32_t *r) {
    cm_alu_task t;
    return cm_alu_decode(r, &t);
}

static void test_fields(void **state) {
    (void)state;
    uint32_t r[128];
    cm_alu_task t;
    legal(r);
    assert_true(cm_alu_decode(r, &t));
    assert_int_equal(t.op, NPU_ALU_CTRL_OP_MULADD);
    assert_int_equal(t.p_kind, 1);
    assert_int_equal(t.q_kind, 2);
    assert_false(t.dup);
    assert_int_equal(t.act, CM_ACT_CLIP);
    assert_int_equal(t.count, 5);
    assert_int_equal(t.rows, 6);
    assert_int_equal(t.planes, 7);
    const uint32_t got[] = {t.a_addr,  t.a_rstep, t.a_pstep, t.b_addr, t.b_rstep,
                            t.b_pstep, t.o_addr,  t.o_rstep, t.o_pstep};
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(got[i], 0x1000 + 4 * i);
    }
    assert_int_equal(t.p, 0x11);
    assert_int_equal(t.q, 0x12);
    assert_int_equal(t.p_addr, 0x2004);
    assert_int_equal(t.q_addr, 0x2008);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(t.act_p[i], 0x40 + i);
    }
    SET(r, ALU_CTRL, DUP, 1);
    SET(r, ALU_SIZE, COUNT, 0xFFFFFF);
    SET(r, ALU_ROWS, ROWS, 0xFFFF);
    SET(r, ALU_ROWS, PLANES, 0xFFFF);
    assert_true(cm_alu_decode(r, &t));
    assert_true(t.dup && t.count == 0xFFFFFF && t.rows == 0xFFFF && t.planes == 0xFFFF);
}

static void test_limits(void **state) {
    (void)state;
    uint32_t r[128];
    for (uint32_t v = 0; v < 32; v++) { /* plain settings that every operation takes */
        legal(r);
        SET(r, ALU_CTRL, Q_KIND, 0);
        SET(r, ALU_ACT, TYPE, 0);
        SET(r, ALU_CTRL, OP, v);
        assert_int_equal(ok(r), v <= 18);
    }
    for (uint32_t v = 0; v < 16; v++) {
        legal(r);
        SET(r, ALU_ACT, TYPE, v);
        assert_int_equal(ok(r), v <= 13);
    }
    for (uint32_t v = 0; v < 4; v++) { /* an activation or a function, with integers neither */
        legal(r);
        SET(r, ALU_CTRL, Q_KIND, 0);
        SET(r, ALU_ACT, FUNC, v);
        SET(r, ALU_ACT, TYPE, 1);
        assert_int_equal(ok(r), v == 0);
        SET(r, ALU_ACT, TYPE, 0);
        assert_true(ok(r));
        SET(r, ALU_CTRL, OP, NPU_ALU_CTRL_OP_ADD_I32);
        assert_int_equal(ok(r), v == 0);
    }
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t q = 0; q < 4; q++) {
            legal(r);
            SET(r, ALU_CTRL, P_KIND, p);
            SET(r, ALU_CTRL, Q_KIND, q);
            assert_int_equal(ok(r), p < 3 && q < 3 && !(p == 1 && q == 1));
            SET(r, ALU_CTRL, OP, NPU_ALU_CTRL_OP_COPY); /* whether or not the operation uses them */
            assert_int_equal(ok(r), p < 3 && q < 3 && !(p == 1 && q == 1));
        }
    }
    legal(r);
    SET(r, ALU_SIZE, COUNT, 0);
    assert_false(ok(r));
    SET(r, ALU_SIZE, COUNT, 1);
    assert_true(ok(r));
    SET(r, ALU_ROWS, ROWS, 0);
    assert_false(ok(r));
    SET(r, ALU_ROWS, ROWS, 1);
    assert_true(ok(r));
    SET(r, ALU_ROWS, PLANES, 0);
    assert_false(ok(r));
    SET(r, ALU_ROWS, PLANES, 1);
    assert_true(ok(r));
}

static void test_alignment(void **state) {
    (void)state;
    uint32_t r[128];
    static const uint32_t offsets[] = {NPU_REG_ALU_A_ADDR, NPU_REG_ALU_A_RSTEP, NPU_REG_ALU_A_PSTEP,
                                       NPU_REG_ALU_B_ADDR, NPU_REG_ALU_B_RSTEP, NPU_REG_ALU_B_PSTEP,
                                       NPU_REG_ALU_O_ADDR, NPU_REG_ALU_O_RSTEP, NPU_REG_ALU_O_PSTEP,
                                       NPU_REG_ALU_P_ADDR, NPU_REG_ALU_Q_ADDR};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        for (uint32_t off = 0; off < 8; off++) {
            legal(r);
            r[offsets[i] / 4] = 0xFFFFFFF0u + off;
            assert_int_equal(ok(r), off % 4 == 0);
        }
    }
    legal(r);
    r[NPU_REG_ALU_P / 4] = 3; /* values, not addresses */
    r[NPU_REG_ALU_Q / 4] = 3;
    assert_true(ok(r));
}

static void test_limits_of_single_operations(void **state) {
    (void)state;
    uint32_t r[128];
    for (uint32_t act = 0; act < CM_ACT_COUNT; act++) {
        legal(r);
        SET(r, ALU_CTRL, OP, NPU_ALU_CTRL_OP_ADD_I32);
        SET(r, ALU_ACT, TYPE, act);
        assert_int_equal(ok(r), act == 0);
    }
    for (uint32_t op = NPU_ALU_CTRL_OP_DOT; op <= NPU_ALU_CTRL_OP_SUMSQ; op++) {
        for (uint32_t q = 0; q < 3; q++) {
            for (uint32_t dup = 0; dup < 2; dup++) {
                legal(r);
                SET(r, ALU_CTRL, OP, op);
                SET(r, ALU_CTRL, P_KIND, NPU_ALU_CTRL_P_KIND_PLANE);
                SET(r, ALU_CTRL, Q_KIND, q);
                SET(r, ALU_CTRL, DUP, dup);
                assert_int_equal(ok(r), op == NPU_ALU_CTRL_OP_PRELU || (q == 0 && dup == 0));
            }
        }
    }
}

static void test_refusal_leaves_output(void **state) {
    (void)state;
    uint32_t r[128];
    cm_alu_task t, before;
    memset(&t, 0x5A, sizeof t);
    memcpy(&before, &t, sizeof t);
    legal(r);
    SET(r, ALU_SIZE, COUNT, 0);
    assert_false(cm_alu_decode(r, &t));
    assert_memory_equal(&t, &before, sizeof t);
}

static void test_elements(void **state) {
    (void)state;
    static const struct {
        uint32_t op, x, p, q, y;
    } rows[] = {
        {NPU_ALU_CTRL_OP_COPY, NAN_X, ONE, ONE, NAN_X},
        {NPU_ALU_CTRL_OP_ADD, ONE, TWO, 9, THREE},
        {NPU_ALU_CTRL_OP_ADD, NAN_X, TWO, 0, NAN_Q}, /* arithmetic makes one NaN, selection keeps its bits */
        {NPU_ALU_CTRL_OP_ADD, MINUS_0, MINUS_0, 0, MINUS_0},
        {NPU_ALU_CTRL_OP_SUB, THREE, TWO, 0, ONE},
        {NPU_ALU_CTRL_OP_SUB, MINUS_0, 0, 0, MINUS_0},
        {NPU_ALU_CTRL_OP_SUB, 0, 0, 0, 0},
        {NPU_ALU_CTRL_OP_SUB, INF, INF, 0, NAN_Q},
        {NPU_ALU_CTRL_OP_RSUB, TWO, THREE, 0, ONE},
        {NPU_ALU_CTRL_OP_RSUB, 0, MINUS_0, 0, MINUS_0},
        {NPU_ALU_CTRL_OP_MUL, TWO, MINUS_0, 0, MINUS_0},
        {NPU_ALU_CTRL_OP_MUL, 0, INF, 0, NAN_Q},
        {NPU_ALU_CTRL_OP_MUL, 0x00000001, TWO, 0, 0x00000002}, /* subnormal */
        /* the product is rounded before the addition */
        {NPU_ALU_CTRL_OP_MULADD, 0x3F800001, 0x3F800001, 0xBF800002, 0},
        {NPU_ALU_CTRL_OP_ADDMUL, ONE, TWO, TWO, 0x40C00000},        /* (1 + 2) * 2 */
        {NPU_ALU_CTRL_OP_ADDMUL, 0x4B800000, ONE, TWO, 0x4C000000}, /* 2^24 + 1 is rounded first */
        {NPU_ALU_CTRL_OP_MAX, ONE, TWO, 0, TWO},
        {NPU_ALU_CTRL_OP_MAX, 0, MINUS_0, 0, 0},
        {NPU_ALU_CTRL_OP_MAX, MINUS_0, 0, 0, MINUS_0}, /* equal: x stays */
        {NPU_ALU_CTRL_OP_MAX, NAN_X, ONE, 0, NAN_X},
        {NPU_ALU_CTRL_OP_MAX, ONE, NAN_X, 0, ONE},
        {NPU_ALU_CTRL_OP_MIN, ONE, TWO, 0, ONE},
        {NPU_ALU_CTRL_OP_MIN, THREE, TWO, 0, TWO},
        {NPU_ALU_CTRL_OP_MIN, 0, MINUS_0, 0, 0},
        {NPU_ALU_CTRL_OP_MIN, NAN_X, ONE, 0, NAN_X},
        {NPU_ALU_CTRL_OP_MIN, ONE, NAN_X, 0, ONE},
        {NPU_ALU_CTRL_OP_GT, TWO, ONE, 0, ONE},
        {NPU_ALU_CTRL_OP_GT, ONE, ONE, 0, 0},
        {NPU_ALU_CTRL_OP_GT, ONE, NAN_Q, 0, 0},
        {NPU_ALU_CTRL_OP_GE, ONE, ONE, 0, ONE},
        {NPU_ALU_CTRL_OP_GE, MINUS_0, 0, 0, ONE},
        {NPU_ALU_CTRL_OP_GE, NAN_Q, NAN_Q, 0, 0},
        {NPU_ALU_CTRL_OP_EQ, MINUS_0, 0, 0, ONE},
        {NPU_ALU_CTRL_OP_EQ, ONE, TWO, 0, 0},
        {NPU_ALU_CTRL_OP_EQ, NAN_Q, NAN_Q, 0, 0},
        {NPU_ALU_CTRL_OP_ABS, NAN_X, 0, 0, 0x7FC12345},
        {NPU_ALU_CTRL_OP_ABS, MINUS_0, 0, 0, 0},
        {NPU_ALU_CTRL_OP_ADD_I32, 0x7FFFFFFF, 1, 0, 0x80000000},
        {NPU_ALU_CTRL_OP_ADD_I32, NAN_X, 0, 0, NAN_X},
        {NPU_ALU_CTRL_OP_SUMSQ, THREE, NAN_X, NAN_X, 0x41100000u},
        {NPU_ALU_CTRL_OP_SUMSQ, MINUS_0, 0, 0, 0},
        {NPU_ALU_CTRL_OP_RMAX, NAN_X, 0, 0, NAN_X},
        {NPU_ALU_CTRL_OP_PRELU, THREE, TWO, 9, THREE},
        {NPU_ALU_CTRL_OP_PRELU, 0xBF800000u, TWO, 9, 0xC0000000u},
        {NPU_ALU_CTRL_OP_PRELU, 1, TWO, 0, 1},         /* the smallest positive number */
        {NPU_ALU_CTRL_OP_PRELU, INF, MINUS_0, 0, INF}, /* a positive x does not meet the slope */
        {NPU_ALU_CTRL_OP_PRELU, ONE, NAN_X, 0, ONE},
        {NPU_ALU_CTRL_OP_PRELU, 0, 0xBF800000u, 0, MINUS_0}, /* zeros are multiplied */
        {NPU_ALU_CTRL_OP_PRELU, MINUS_0, TWO, 0, MINUS_0},
        {NPU_ALU_CTRL_OP_PRELU, 0xFF800000u, 0, 0, NAN_Q},
        {NPU_ALU_CTRL_OP_PRELU, NAN_X, ONE, 0, NAN_Q}, /* so are NaN, of either sign */
        {NPU_ALU_CTRL_OP_PRELU, 0x7F812345u, ONE, 0, NAN_Q},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t y = cm_alu_element(rows[i].op, rows[i].x, rows[i].p, rows[i].q);
        if (y != rows[i].y) {
            fail_msg("row %zu, op %u: got %08x, expected %08x", i, rows[i].op, y, rows[i].y);
        }
    }
}

/* ---- tasks on a memory of words 0..WORDS-1 ---- */

#define WORDS 2048u

typedef struct words {
    uint32_t w[WORDS];
    unsigned reads, writes; /* accesses */
} words;

static bool word_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    words *m = ctx;
    if (addr > sizeof m->w || bytes > sizeof m->w - addr) {
        return false;
    }
    m->reads++;
    memcpy(dst, (const uint8_t *)m->w + addr, bytes);
    return true;
}

static bool word_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    words *m = ctx;
    if (addr > sizeof m->w || bytes > sizeof m->w - addr) {
        return false;
    }
    m->writes++;
    memcpy((uint8_t *)m->w + addr, src, bytes);
    return true;
}

#define NOWHERE 0x10000000u

static cm_alu_task plain(uint32_t op, uint32_t count) {
    cm_alu_task t = {.op = op, .count = count, .rows = 1, .planes = 1, .o_addr = 4096, .p = TWO, .q = ONE};
    t.b_addr = t.p_addr = t.q_addr = NOWHERE;
    return t;
}

/* Which operand each operation reads; the array of an operand that is not used may be anywhere. */
static void test_unused_operands_are_not_read(void **state) {
    (void)state;
    static const bool uses_p[19] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1};
    static const bool uses_q[19] = {0, 0, 0, 0, 0, 1, 1}; /* reductions: scalar only */
    words m = {0};
    cm_mem mem = {&m, word_read, word_write};
    for (uint32_t op = 0; op < 19; op++) {
        const bool reduces = op == 14 || op == 15 || op == 17 || op == 18;
        uint32_t result = 7;
        for (uint32_t kind = 0; kind < 3; kind++) {
            cm_alu_task t = plain(op, 3);
            t.p_kind = kind;
            assert_int_equal(cm_alu_run(&t, &mem, &result), kind == 0 || !uses_p[op]);
            t.p_kind = 0;
            t.q_kind = kind;
            if (!reduces) {
                assert_int_equal(cm_alu_run(&t, &mem, &result), kind == 0 || !uses_q[op]);
            }
        }
        assert_int_equal(result, reduces ? 0 : 7); /* the result register is for reductions */
        cm_alu_task t = plain(op, 3);
        t.a_addr = NOWHERE;
        assert_false(cm_alu_run(&t, &mem, &result));
        t.a_addr = 0;
        t.o_addr = NOWHERE;
        assert_false(cm_alu_run(&t, &mem, &result));
    }
}

static void test_run_refuses_what_decode_refuses(void **state) {
    (void)state;
    words m = {0};
    cm_mem mem = {&m, word_read, word_write};
    uint32_t result = 7;
    cm_alu_task t = plain(NPU_ALU_CTRL_OP_SUM, 3);
    t.dup = true;
    assert_false(cm_alu_run(&t, &mem, &result));
    t = plain(NPU_ALU_CTRL_OP_COUNT, 3);
    assert_false(cm_alu_run(&t, &mem, &result));
    assert_int_equal(m.reads + m.writes, 0);
    assert_int_equal(result, 7);
}

static void test_steps_wrap(void **state) {
    (void)state;
    words m = {0};
    cm_mem mem = {&m, word_read, word_write};
    uint32_t result;
    cm_alu_task t = plain(NPU_ALU_CTRL_OP_COPY, 2);
    t.rows = 2, t.planes = 2;
    t.a_addr = 40, t.a_rstep = 0u - 16, t.a_pstep = 0u - 8; /* modulo 2^32: backwards */
    t.o_rstep = 8, t.o_pstep = 0xFFFFF000u;                 /* plane 1 a page lower */
    for (uint32_t i = 0; i < WORDS; i++) {
        m.w[i] = i < 1024 ? 100 + i : 0;
    }
    assert_true(cm_alu_run(&t, &mem, &result));
    const uint32_t plane0[] = {110, 111, 106, 107};
    const uint32_t plane1[] = {108, 109, 104, 105};
    assert_memory_equal(&m.w[1024], plane0, sizeof plane0);
    assert_int_equal(m.w[1028], 0);
    assert_memory_equal(&m.w[0], plane1, sizeof plane1);
    assert_int_equal(m.w[4], 104);
}

static void test_in_place_and_twice(void **state) {
    (void)state;
    words m = {0};
    cm_mem mem = {&m, word_read, word_write};
    uint32_t result;
    cm_alu_task t = plain(NPU_ALU_CTRL_OP_ADD_I32, 1000);
    t.o_addr = 4, t.a_addr = 4, t.p = 1;
    for (uint32_t i = 0; i < 1002; i++) {
        m.w[i] = 10 * i;
    }
    assert_true(cm_alu_run(&t, &mem, &result));
    for (uint32_t i = 0; i < 1002; i++) {
        assert_int_equal(m.w[i], 10 * i + (i >= 1 && i < 1001));
    }
    t = plain(NPU_ALU_CTRL_OP_COPY, 300);
    t.dup = true;
    t.o_addr = 4 * 1100;
    assert_true(cm_alu_run(&t, &mem, &result));
    for (uint32_t i = 0; i < 600; i++) {
        assert_int_equal(m.w[1100 + i], m.w[i / 2]);
    }
    assert_int_equal(m.w[1700], 0);
}

static void test_result_is_that_of_the_last_row(void **state) {
    (void)state;
    words m = {0};
    cm_mem mem = {&m, word_read, word_write};
    uint32_t result = 0;
    cm_alu_task t = plain(NPU_ALU_CTRL_OP_DOT, 2);
    t.p_kind = NPU_ALU_CTRL_P_KIND_PLANE;
    t.p_addr = 400;
    t.rows = 2, t.planes = 2;
    t.a_rstep = 8, t.a_pstep = 16, t.o_rstep = 4, t.o_pstep = 8;
    t.q = 0xBF800000u; /* -1, then ReLU */
    t.act = CM_ACT_RELU;
    for (uint32_t i = 0; i < 8; i++) {
        m.w[i] = i < 6 ? ONE : 0xC0000000u; /* 1, and -2 in the last row */
    }
    m.w[100] = TWO;
    m.w[101] = THREE;
    assert_true(cm_alu_run(&t, &mem, &result));
    const uint32_t want[] = {0, 0, 0, 0x41400000u}; /* -(-2 - 2) * 3 = 12 */
    assert_memory_equal(&m.w[1024], want, sizeof want);
    assert_int_equal(result, 0x41400000u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_limits_of_single_operations),
        cmocka_unit_test(test_refusal_leaves_output),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_unused_operands_are_not_read),
        cmocka_unit_test(test_run_refuses_what_decode_refuses),
        cmocka_unit_test(test_steps_wrap),
        cmocka_unit_test(test_in_place_and_twice),
        cmocka_unit_test(test_result_is_that_of_the_last_row),
    };
    return cmocka_run_group_tests_name("cm_alu", tests, NULL, NULL);
}
