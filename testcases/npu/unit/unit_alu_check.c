/* dut: alu_check */
/*
 * Random settings of the ALU, many with one rule broken, through the check; the verdict is that of the golden model's decoder. The latency is checked and checks are
 * broken off.
 */
#include <stdio.h>

#include "check_bench.h"
#include "npu_regs.h"
#include "npu_task.h"
#include "task_noise.h"

#define LATENCY 1u

typedef struct bench {
    tb_sig task;
    cm_alu_task t;
} bench;

static void draw_legal(tb_rng *rng, cm_alu_task *t) {
    uint32_t *const by4[] = {&t->a_addr, &t->a_rstep, &t->a_pstep, &t->b_addr, &t->b_rstep, &t->b_pstep,
                             &t->o_addr, &t->o_rstep, &t->o_pstep, &t->p_addr, &t->q_addr};
    uint32_t *const any[] = {&t->p, &t->q, &t->act_p[0], &t->act_p[1], &t->act_p[2], &t->act_p[3]};
    t->op = check_range(rng, 0, NPU_ALU_CTRL_OP_PRELU);
    t->p_kind = check_range(rng, 0, 2);
    t->q_kind = check_range(rng, 0, 2);
    t->dup = tb_rng_chance(rng, 1, 2);
    t->act = check_range(rng, 0, 11);
    t->count = (uint32_t)tb_rng_small(rng, 1, (1u << 24) - 1);
    t->rows = (uint32_t)tb_rng_small(rng, 1, 65535);
    t->planes = (uint32_t)tb_rng_small(rng, 1, 65535);
    for (size_t i = 0; i < sizeof by4 / sizeof *by4; i++) {
        *by4[i] = tb_rng_u32(rng) & ~UINT32_C(3);
    }
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
        *any[i] = tb_rng_u32(rng);
    }
    if (t->p_kind == 1 && t->q_kind == 1) {
        t->q_kind = 2 * check_range(rng, 0, 1);
    }
    t->act = t->op == NPU_ALU_CTRL_OP_ADD_I32 ? 0 : t->act;
    if (t->op == NPU_ALU_CTRL_OP_DOT || t->op == NPU_ALU_CTRL_OP_SUM) {
        t->dup = false;
        t->q_kind = 0;
    }
}

/* Break one rule. */
static void flaw(tb_rng *rng, cm_alu_task *t) {
    uint32_t *const by4[] = {&t->a_addr, &t->a_rstep, &t->a_pstep, &t->b_addr, &t->b_rstep, &t->b_pstep,
                             &t->o_addr, &t->o_rstep, &t->o_pstep, &t->p_addr, &t->q_addr};
    uint32_t *const zero[] = {&t->count, &t->rows, &t->planes};
    switch (check_range(rng, 0, 6)) {
    case 0:
        *zero[check_range(rng, 0, 2)] = 0;
        break;
    case 1:
        *by4[check_range(rng, 0, 10)] |= 1u << check_range(rng, 0, 1);
        break;
    case 2:
        t->op = check_range(rng, NPU_ALU_CTRL_OP_PRELU + 1, 31);
        break;
    case 3:
        *(tb_rng_chance(rng, 1, 2) ? &t->p_kind : &t->q_kind) = 3;
        break;
    case 4:
        t->p_kind = t->q_kind = 1;
        break;
    case 5:
        t->act = check_range(rng, 12, 15);
        break;
    default: /* rules of one operation */
        t->op = check_range(rng, NPU_ALU_CTRL_OP_ADD_I32, NPU_ALU_CTRL_OP_PRELU);
        t->dup = tb_rng_chance(rng, 1, 3);
        t->q_kind = tb_rng_chance(rng, 1, 3) ? check_range(rng, 1, 2) : 0;
        break;
    }
}

#define PUT(field, value) (((uint32_t)(value) << NPU_##field##_LSB) & NPU_##field##_MASK)

static bool legal(const cm_alu_task *t) {
    uint32_t regs[128] = {0};
    cm_alu_task out;
    regs[NPU_REG_ALU_A_ADDR / 4] = t->a_addr;
    regs[NPU_REG_ALU_A_RSTEP / 4] = t->a_rstep;
    regs[NPU_REG_ALU_A_PSTEP / 4] = t->a_pstep;
    regs[NPU_REG_ALU_B_ADDR / 4] = t->b_addr;
    regs[NPU_REG_ALU_B_RSTEP / 4] = t->b_rstep;
    regs[NPU_REG_ALU_B_PSTEP / 4] = t->b_pstep;
    regs[NPU_REG_ALU_O_ADDR / 4] = t->o_addr;
    regs[NPU_REG_ALU_O_RSTEP / 4] = t->o_rstep;
    regs[NPU_REG_ALU_O_PSTEP / 4] = t->o_pstep;
    regs[NPU_REG_ALU_SIZE / 4] = PUT(ALU_SIZE_COUNT, t->count);
    regs[NPU_REG_ALU_ROWS / 4] = PUT(ALU_ROWS_ROWS, t->rows) | PUT(ALU_ROWS_PLANES, t->planes);
    regs[NPU_REG_ALU_P / 4] = t->p;
    regs[NPU_REG_ALU_Q / 4] = t->q;
    regs[NPU_REG_ALU_P_ADDR / 4] = t->p_addr;
    regs[NPU_REG_ALU_Q_ADDR / 4] = t->q_addr;
    regs[NPU_REG_ALU_CTRL / 4] =
        PUT(ALU_CTRL_OP, t->op) | PUT(ALU_CTRL_P_KIND, t->p_kind) | PUT(ALU_CTRL_Q_KIND, t->q_kind) | PUT(ALU_CTRL_DUP, t->dup);
    regs[NPU_REG_ALU_ACT / 4] = PUT(ALU_ACT_TYPE, t->act);
    return cm_alu_decode(regs, &out);
}

static void draw(const unit *u, void *ctx, tb_rng *rng, bool *expected, uint32_t *latency) {
    bench *b = ctx;
    draw_legal(rng, &b->t);
    if (tb_rng_chance(rng, (uint32_t)unit_knob(u, "wild"), 100)) {
        b->t.op = check_range(rng, 0, 31);
        b->t.p_kind = check_range(rng, 0, 3);
        b->t.q_kind = check_range(rng, 0, 3);
        b->t.dup = tb_rng_chance(rng, 1, 2);
        b->t.act = check_range(rng, 0, 15);
    } else if (tb_rng_chance(rng, (uint32_t)unit_knob(u, "flaws"), 100)) {
        flaw(rng, &b->t);
    }
    *expected = legal(&b->t);
    *latency = LATENCY;
    npu_alu_task_set(b->task, &b->t);
}

static void noise(void *ctx, tb_rng *rng) {
    task_noise_port(rng, ((const bench *)ctx)->task);
}

static void describe(const void *ctx, char *text, size_t size) {
    const cm_alu_task *t = &((const bench *)ctx)->t;
    snprintf(text, size, "op %u p_kind %u q_kind %u dup %d act %u count %u rows %u planes %u a 0x%x b 0x%x o 0x%x p 0x%x q 0x%x",
             (unsigned)t->op, (unsigned)t->p_kind, (unsigned)t->q_kind, t->dup, (unsigned)t->act, (unsigned)t->count, (unsigned)t->rows,
             (unsigned)t->planes, (unsigned)t->a_addr, (unsigned)t->b_addr, (unsigned)t->o_addr, (unsigned)t->p_addr, (unsigned)t->q_addr);
}

static const check_ops ops = {CM_ALU_TASK_WIDTH, draw, noise, describe, NULL, NULL};

static int run(unit *u) {
    bench b = {.task = unit_port(u, "task_i")};
    return check_bench_run(u, &ops, &b);
}

const unit_bench unit_this_bench = {.name = "alu_check",
                                    .about = "limits of an ALU task against the golden model's decoder",
                                    .knobs = check_bench_knobs,
                                    .nknobs = CHECK_BENCH_KNOBS,
                                    .constrain = check_bench_constrain,
                                    .run = run};
