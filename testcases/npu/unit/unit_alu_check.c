/* dut: alu_check */
/*
 * Random settings of the ALU, many with one rule broken, through the check.
 */
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
    t->op = check_range(rng, 0, NPU_ALU_CTRL_OP_COUNT - 1);
    t->p_kind = check_range(rng, 0, 2);
    t->q_kind = check_range(rng, 0, 2);
    t->dup = tb_rng_chance(rng, 1, 2);
    t->act = check_range(rng, 0, CM_ACT_COUNT - 1);
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
    t->func = tb_rng_chance(rng, 1, 2) ? check_range(rng, 0, NPU_ALU_ACT_FUNC_COUNT - 1) : 0;
    t->act = t->op == NPU_ALU_CTRL_OP_ADD_I32 || t->func != 0 ? 0 : t->act;
    t->func = t->op == NPU_ALU_CTRL_OP_ADD_I32 ? 0 : t->func;
    if (NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, t->op)) {
        t->dup = false;
        t->q_kind = 0;
    }
}

/* Break one rule. */
static void flaw(tb_rng *rng, cm_alu_task *t) {
    uint32_t *const by4[] = {&t->a_addr, &t->a_rstep, &t->a_pstep, &t->b_addr, &t->b_rstep, &t->b_pstep,
                             &t->o_addr, &t->o_rstep, &t->o_pstep, &t->p_addr, &t->q_addr};
    uint32_t *const zero[] = {&t->count, &t->rows, &t->planes};
    switch (check_range(rng, 0, 7)) {
    case 0:
        *zero[check_range(rng, 0, 2)] = 0;
        break;
    case 1:
        check_misalign(rng, by4, sizeof by4 / sizeof *by4, 2);
        break;
    case 2:
        t->op = check_range(rng, NPU_ALU_CTRL_OP_COUNT, 31);
        break;
    case 3:
        *(tb_rng_chance(rng, 1, 2) ? &t->p_kind : &t->q_kind) = 3;
        break;
    case 4:
        t->p_kind = t->q_kind = 1;
        break;
    case 5:
        t->act = check_range(rng, CM_ACT_COUNT, 15);
        break;
    case 6: /* an activation and a function, also with integers */
        t->act = check_range(rng, 0, CM_ACT_COUNT - 1);
        t->func = check_range(rng, 0, NPU_ALU_ACT_FUNC_COUNT - 1);
        t->op = tb_rng_chance(rng, 1, 2) ? NPU_ALU_CTRL_OP_ADD_I32 : t->op;
        break;
    default: /* rules of one operation */
        t->op = check_range(rng, NPU_ALU_CTRL_OP_ADD_I32, NPU_ALU_CTRL_OP_COUNT - 1);
        t->dup = tb_rng_chance(rng, 1, 3);
        t->q_kind = tb_rng_chance(rng, 1, 3) ? check_range(rng, 1, 2) : 0;
        break;
    }
}

static uint32_t draw(const unit *u, void *ctx, tb_rng *rng) {
    bench *b = ctx;
    draw_legal(rng, &b->t);
    if (tb_rng_chance(rng, (uint32_t)unit_knob(u, "wild"), 100)) {
        b->t.op = check_range(rng, 0, 31);
        b->t.p_kind = check_range(rng, 0, 3);
        b->t.q_kind = check_range(rng, 0, 3);
        b->t.dup = tb_rng_chance(rng, 1, 2);
        b->t.act = check_range(rng, 0, 15);
        b->t.func = check_range(rng, 0, NPU_ALU_ACT_FUNC_COUNT - 1);
    } else if (tb_rng_chance(rng, (uint32_t)unit_knob(u, "flaws"), 100)) {
        flaw(rng, &b->t);
    }
    npu_alu_task_set(b->task, &b->t);
    return LATENCY;
}

static void noise(void *ctx, tb_rng *rng) {
    task_noise_port(rng, ((const bench *)ctx)->task);
}

static const check_ops ops = {CM_ALU_TASK_WIDTH, draw, noise, NULL, NULL};

static int run(unit *u) {
    bench b = {.task = unit_port(u, "task_i")};
    return check_bench_run(u, &ops, &b);
}

UNIT_BENCH("alu_check", "limits of an ALU task", check_bench_knobs, .constrain = check_bench_constrain);
