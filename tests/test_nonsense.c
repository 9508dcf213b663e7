/*
 * test_nonsense.c - the test `nonsense` can violate each limit of docs/npu/npu.md section 3 alone, and come so close to
 * it that the golden model, which decides by its own code, changes its mind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmodel.h"

#include "operator/nonsense.h"

#define ROUNDS 40u
#define SCRATCH 0x10000000u
#define SCRATCH_BYTES (48u << 20)
#define WGT_ADDR 0x10004000u

/* Legal tasks for every N. */
static const seq_task bases[] = {
    {.unit = NPU_UNIT_GEMM, /* short form, FP32 */
     .writes = {{NPU_REG_GEMM_IFM_ADDR, 0x10000010u},
                {NPU_REG_GEMM_IFM_CSTEP, 0x200},
                {NPU_REG_GEMM_WGT_ADDR, WGT_ADDR},
                {NPU_REG_GEMM_OFM_ADDR, 0x10008000u},
                {NPU_REG_GEMM_OFM_CSTEP, 0x400},
                {NPU_REG_GEMM_IFM_SIZE, 10u << 16 | 12u},
                {NPU_REG_GEMM_CHANNELS, 7u << 16 | 5u},
                {NPU_REG_GEMM_OFM_SIZE, 10u << 16 | 12u},
                {NPU_REG_GEMM_CTRL, NPU_GEMM_CTRL_LAYOUT_MASK | 3u << NPU_GEMM_CTRL_KERNEL_LSB |
                                        1u << NPU_GEMM_CTRL_STRIDE_LSB | 1u << NPU_GEMM_CTRL_PAD_LEFT_LSB |
                                        1u << NPU_GEMM_CTRL_PAD_TOP_LSB}},
     .write_count = 9},
    {.unit = NPU_UNIT_GEMM, /* extended form, INT8, a map that streams through the input buffer */
     .writes = {{NPU_REG_GEMM_IFM_ADDR, 0x10000100u},
                {NPU_REG_GEMM_IFM_CSTEP, 0x60},
                {NPU_REG_GEMM_WGT_ADDR, WGT_ADDR},
                {NPU_REG_GEMM_OFM_ADDR, 0x10800000u},
                {NPU_REG_GEMM_OFM_CSTEP, 0x80},
                {NPU_REG_GEMM_IFM_SIZE, 200u << 16 | 30u},
                {NPU_REG_GEMM_CHANNELS, 65u << 16 | 40u},
                {NPU_REG_GEMM_OFM_SIZE, 100u << 16 | 15u},
                {NPU_REG_GEMM_GROUP, 2},
                {NPU_REG_GEMM_EXT_KERNEL, 0x01010302u},
                {NPU_REG_GEMM_EXT_STRIDE, 0x0202u},
                {NPU_REG_GEMM_EXT_PAD, 0x00010001u},
                {NPU_REG_GEMM_CTRL, NPU_GEMM_CTRL_EXT_MASK | NPU_GEMM_CTRL_REQUANT_MASK | NPU_GEMM_CTRL_WGT_RES_MASK}},
     .write_count = 13},
    {.unit = NPU_UNIT_GEMM, /* depthwise, sums */
     .writes = {{NPU_REG_GEMM_IFM_ADDR, 0x10000010u},
                {NPU_REG_GEMM_IFM_CSTEP, 0x200},
                {NPU_REG_GEMM_WGT_ADDR, WGT_ADDR},
                {NPU_REG_GEMM_OFM_ADDR, 0x10008000u},
                {NPU_REG_GEMM_OFM_CSTEP, 0x400},
                {NPU_REG_GEMM_IFM_SIZE, 10u << 16 | 12u},
                {NPU_REG_GEMM_CHANNELS, 9u << 16 | 9u},
                {NPU_REG_GEMM_OFM_SIZE, 10u << 16 | 12u},
                {NPU_REG_GEMM_CTRL, NPU_GEMM_CTRL_LAYOUT_MASK | 1u << NPU_GEMM_CTRL_OP_LSB |
                                        3u << NPU_GEMM_CTRL_KERNEL_LSB | 1u << NPU_GEMM_CTRL_STRIDE_LSB |
                                        NPU_GEMM_CTRL_DIV_IC_MASK}},
     .write_count = 9},
    {.unit = NPU_UNIT_ALU,
     .writes = {{NPU_REG_ALU_A_ADDR, 0x10000000u},
                {NPU_REG_ALU_A_RSTEP, 0x100},
                {NPU_REG_ALU_B_ADDR, 0x10001000u},
                {NPU_REG_ALU_O_ADDR, 0x10002000u},
                {NPU_REG_ALU_O_RSTEP, 0x100},
                {NPU_REG_ALU_SIZE, 20},
                {NPU_REG_ALU_ROWS, 2u << 16 | 3u},
                {NPU_REG_ALU_CTRL, 1u << NPU_ALU_CTRL_OP_LSB | 1u << NPU_ALU_CTRL_P_KIND_LSB}},
     .write_count = 8},
    {.unit = NPU_UNIT_ALU, /* a reduction */
     .writes = {{NPU_REG_ALU_A_ADDR, 0x10000000u},
                {NPU_REG_ALU_A_RSTEP, 0x100},
                {NPU_REG_ALU_O_ADDR, 0x10002000u},
                {NPU_REG_ALU_O_RSTEP, 0x100},
                {NPU_REG_ALU_SIZE, 20},
                {NPU_REG_ALU_ROWS, 2u << 16 | 3u},
                {NPU_REG_ALU_CTRL, NPU_ALU_CTRL_OP_SUM << NPU_ALU_CTRL_OP_LSB}},
     .write_count = 7},
    {.unit = NPU_UNIT_POOL,
     .writes = {{NPU_REG_POOL_IFM_ADDR, 0x10000000u},
                {NPU_REG_POOL_IFM_CSTEP, 0x1000},
                {NPU_REG_POOL_IFM_RSTEP, 0x80},
                {NPU_REG_POOL_OFM_ADDR, 0x10100000u},
                {NPU_REG_POOL_OFM_CSTEP, 0x1000},
                {NPU_REG_POOL_OFM_RSTEP, 0x80},
                {NPU_REG_POOL_IFM_SIZE, 20u << 16 | 30u},
                {NPU_REG_POOL_OFM_SIZE, 10u << 16 | 15u},
                {NPU_REG_POOL_CHANNELS, 5},
                {NPU_REG_POOL_WINDOW, 0x02020303u},
                {NPU_REG_POOL_PAD, 0x0101u}},
     .write_count = 11},
    {.unit = NPU_UNIT_POOL,
     .writes = {{NPU_REG_POOL_IFM_ADDR, 0x10000000u},
                {NPU_REG_POOL_IFM_CSTEP, 0x60},
                {NPU_REG_POOL_IFM_RSTEP, 0x1000},
                {NPU_REG_POOL_OFM_ADDR, 0x10100000u},
                {NPU_REG_POOL_OFM_CSTEP, 0x60},
                {NPU_REG_POOL_OFM_RSTEP, 0x1000},
                {NPU_REG_POOL_IFM_SIZE, 20u << 16 | 30u},
                {NPU_REG_POOL_OFM_SIZE, 10u << 16 | 15u},
                {NPU_REG_POOL_CHANNELS, 40},
                {NPU_REG_POOL_WINDOW, 0x02020202u},
                {NPU_REG_POOL_CTRL, NPU_POOL_CTRL_INT8_MASK | 1u << NPU_POOL_CTRL_TYPE_LSB}},
     .write_count = 11}};

/* What the golden model says. */
static bool accepted(uint32_t n, const cm_gemm_task *before, const non_task *t) {
    cm_gemm_task g;
    cm_alu_task a;
    cm_pool_task p;
    return t->unit == NPU_UNIT_GEMM  ? cm_gemm_decode(n, t->regs, &g) && cm_gemm_follows(before, &g)
           : t->unit == NPU_UNIT_ALU ? cm_alu_decode(t->regs, &a)
                                     : cm_pool_decode(n, t->regs, &p);
}

typedef struct seen {
    uint32_t beyond, within;
} seen;

static void look(uint32_t n, const non_before *before, const cm_gemm_task *model_before, tb_rng *rng, non_task t,
                 uint32_t limit, seen *s) {
    const bool beyond = !seq_chance(rng, 2);
    if (!non_edge(n, before, rng, limit, beyond, SCRATCH, SCRATCH_BYTES, &t)) {
        return;
    }
    assert_true(t.legal == (t.violated == 0));
    assert_true(t.legal ? !beyond : t.violated == UINT64_C(1) << limit);
    if (accepted(n, model_before, &t) != t.legal) {
        fail_msg("n=%u, %s: the model disagrees", n, non_limit_name(t.unit, limit));
    }
    *(t.legal ? &s->within : &s->beyond) += 1;
}

/* Every limit alone, and from its other side. */
static void all_limits(uint32_t n) {
    seen by[NPU_UNIT_COUNT][64] = {{{0}}};
    const tb_rng base = tb_rng_stream(n, "test_nonsense");
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
            tb_rng rng = tb_rng_fork(&base, round * 100 + b);
            non_before before = {0};
            cm_gemm_task model_before;
            non_task t;
            const bool kept = round % 2 == 1;
            if (kept) { /* a convolution or, as of OP = CONV with other weights, depthwise */
                non_from(&bases[round % 4 == 1 ? 1 : 2], &t);
                t.regs[NPU_REG_GEMM_CTRL / 4] |= NPU_GEMM_CTRL_WGT_RES_MASK;
                non_remember(&t, &before);
                assert_true(cm_gemm_decode(n, t.regs, &model_before));
            }
            non_from(&bases[b], &t);
            non_judge(n, &before, &t);
            assert_true(t.legal);
            assert_true(accepted(n, kept ? &model_before : NULL, &t));
            for (uint32_t limit = 0; limit < non_limits(t.unit); limit++) {
                look(n, &before, kept ? &model_before : NULL, &rng, t, limit, &by[t.unit][limit]);
            }
        }
    }
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        for (uint32_t limit = 0; limit < non_limits((npu_unit)u); limit++) {
            if (by[u][limit].beyond == 0 || by[u][limit].within == 0) {
                fail_msg("n=%u, unit %u, %s: %u tasks violate it alone, %u just keep it", n, u,
                         non_limit_name((npu_unit)u, limit), by[u][limit].beyond, by[u][limit].within);
            }
            printf("%u %u %s %u %u\n", n, u, non_limit_name((npu_unit)u, limit), by[u][limit].beyond,
                   by[u][limit].within);
        }
    }
}

static void test_limits(void **state) {
    (void)state;
    for (uint32_t n = 4; n <= 32; n *= 2) {
        all_limits(n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
