/* nonsense.c - tasks with anything in their registers, and soft resets at any moment. */
#include <string.h>

#include "tests.h"

static const uint32_t bus_weights[] = {4, 4, 4, 2, 3, 3};
static const tb_knob knobs[] = {
    {"tasks", 1, 40, TB_KNOB_SMALL, NULL, NULL, "tasks"},
    {"flaws", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with one setting broken"},
    {"resets", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of tasks that a soft reset ends"},
    {"bus", 0, 5, TB_KNOB_ENUM, gemm_bus_names, bus_weights, "timing of the buses"},
};

/* A small legal GEMM with knobs of its own. */
static gemm small(const tb_prog_run *run, uint32_t i, tb_rng *rng) {
    tb_knobs k = {0};
    tb_knobs_init(&k, gemm_knobs, GEMM_KNOBS);
    tb_knobs_draw(&k, run->seed + i);
    tb_knobs_set(&k, "m", (int64_t)tb_rng_small(rng, 1, 20));
    tb_knobs_set(&k, "n", (int64_t)tb_rng_small(rng, 1, 20));
    tb_knobs_set(&k, "k", (int64_t)tb_rng_small(rng, 0, 20));
    tb_knobs_set(&k, "span", 0);
    if (!gemm_mode_legal(tb_knobs_get(&k, "half"))) {
        tb_knobs_set(&k, "half", gemm_mode_legal(0) ? 0 : 1);
    }
    return gemm_make(run->seed, &k, i, NULL);
}

/* Task registers in the order of their offsets. */
enum { A, B, C, LDA, LDB, LDC, SIZE, KSIZE, ALPHA, BETA, START, REGS };

/* One setting becomes one that the engine must refuse, or stays legal by chance: the model knows. */
static void break_one(tb_rng *rng, uint32_t regs[REGS]) {
    const uint32_t matrix = (uint32_t)tb_rng_range(rng, 0, 2);
    switch (tb_rng_range(rng, 0, 9)) {
    case 0: /* M or N is 0 */
        regs[SIZE] &= tb_rng_chance(rng, 1, 2) ? 0xFFFF0000u : 0x0000FFFFu;
        break;
    case 1:
        regs[KSIZE] = 65536 + (uint32_t)tb_rng_range(rng, 0, 3);
        break;
    case 2: /* a short row, or just long enough */
        regs[LDA + matrix] -= 1 + (uint32_t)tb_rng_range(rng, 0, 2);
        break;
    case 3:
        regs[LDA + matrix] = 0x01000000u + (uint32_t)tb_rng_range(rng, 0, 1) * 0xFE000000u;
        break;
    case 4: /* misaligned; by 2 it is legal for binary16 */
        regs[A + matrix] += (uint32_t)tb_rng_range(rng, 1, 3);
        break;
    case 5: /* past 2^32, from its first or from its last byte */
        regs[A + matrix] = 0xFFFFFFFCu;
        break;
    case 6:
        regs[START] |= 1u << tb_rng_range(rng, 7, 31);
        break;
    case 7: /* other modes */
        regs[START] ^= 1u << tb_rng_range(rng, 3, 6);
        break;
    case 8: /* rows so long that the last one is past 2^32 */
        regs[LDA + matrix] = 0xFFFFFFu;
        regs[SIZE] |= 0x00400040u;
        break;
    default:
        regs[tb_rng_range(rng, 0, REGS - 1)] = tb_rng_u32(rng);
        break;
    }
}

/* Would the engine, were this task legal, stay within memory that was written? Only then it may be legal. */
static bool harmless(test_bench *t, const uint32_t regs[REGS], const uint32_t before[REGS]) {
    sgm_device probe = t->dev->model;
    for (uint32_t i = 0; i < REGS; i++) {
        probe.task[i] = regs[i];
    }
    bool same = true;
    for (uint32_t i = 0; i < REGS; i++) {
        same = same && regs[i] == before[i];
    }
    return same || !sgm_device_legal(&probe);
}

static bool one(test_bench *t, uint32_t i, tb_rng *rng) {
    const tb_knobs *k = t->run->knobs;
    const gemm g = small(t->run, i, rng);
    const sgemm_args *x = &g.x;
    uint32_t before[REGS], regs[REGS], alpha, beta, status = SGEMM_STATUS_BUSY_MASK;
    memcpy(&alpha, &x->alpha, 4);
    memcpy(&beta, &x->beta, 4);
    /* column-major: the engine's A is B */
    const bool col = x->order == SGEMM_COL_MAJOR;
    const uint32_t flags = x->flags, a16 = (flags & (col ? SGEMM_B_F16 : SGEMM_A_F16)) != 0,
                   b16 = (flags & (col ? SGEMM_A_F16 : SGEMM_B_F16)) != 0, c16 = (flags & SGEMM_C_F16) != 0;
    const uint32_t ta = (col ? x->trans_b : x->trans_a) != SGEMM_NO_TRANS,
                   tb = (col ? x->trans_a : x->trans_b) != SGEMM_NO_TRANS;
    const uint32_t m = (uint32_t)(col ? x->n : x->m), n = (uint32_t)(col ? x->m : x->n);
    const uint32_t legal[REGS] = {[A] = col ? x->b : x->a,
                                  [B] = col ? x->a : x->b,
                                  [C] = x->c,
                                  [LDA] = (uint32_t)(col ? x->ldb : x->lda),
                                  [LDB] = (uint32_t)(col ? x->lda : x->ldb),
                                  [LDC] = (uint32_t)x->ldc,
                                  [SIZE] = m | n << 16,
                                  [KSIZE] = (uint32_t)x->k,
                                  [ALPHA] = alpha,
                                  [BETA] = beta,
                                  [START] = ta << SGEMM_START_TRANS_A_LSB | tb << SGEMM_START_TRANS_B_LSB |
                                            a16 << SGEMM_START_A_F16_LSB | b16 << SGEMM_START_B_F16_LSB |
                                            c16 << SGEMM_START_C_F16_LSB |
                                            ((flags & SGEMM_HALF) != 0 ? SGEMM_START_HALF_MASK : 0)};
    memcpy(before, legal, sizeof before);
    memcpy(regs, legal, sizeof regs);
    if (tb_rng_chance(rng, (uint32_t)tb_knobs_get(k, "flaws"), 100)) {
        break_one(rng, regs);
    }
    if (!harmless(t, regs, before)) {
        return true; /* a legal task of another shape, for which nothing is prepared */
    }
    gemm_fill(t->dev, &g);
    bool ok = true;
    for (uint32_t r = 0; r < REGS && ok; r++) {
        ok = sgemm_device_reg_write(t->dev, SGEMM_REG_A_ADDR + 4 * r, r == START ? regs[r] | 1u : regs[r]);
    }
    if (ok && tb_rng_chance(rng, (uint32_t)tb_knobs_get(k, "resets"), 100)) {
        for (uint64_t c = tb_rng_small(rng, 0, 3000); c > 0 && ok; c--) {
            ok = tb_run_step(&t->dev->run);
        }
        return ok && sgemm_device_soft_reset(t->dev) && sgemm_device_compare(t->dev);
    }
    while (ok && (status & SGEMM_STATUS_BUSY_MASK) != 0) {
        ok = sgemm_device_reg_read(t->dev, SGEMM_REG_STATUS, &status);
    }
    ok = ok && sgemm_device_compare(t->dev); /* with IRQ_STATUS and ERR as the task has left them */
    ok = ok && sgemm_device_reg_write(t->dev, SGEMM_REG_IRQ_STATUS, SGEMM_IRQ_STATUS_TASK_MASK);
    return ok && (tb_rng_chance(rng, 1, 2) || sgemm_device_reg_write(t->dev, SGEMM_REG_ERR, 0xFFFFFFFFu));
}

static int body(void *bench, tb_prog_run *run) {
    test_bench t;
    test_begin(&t, bench, run);
    tb_rng rng = tb_rng_stream(run->seed, "nonsense");
    for (uint32_t i = 0; i < (uint32_t)tb_knobs_get(run->knobs, "tasks") && !tb_run_failed(&t.dev->run); i++) {
        if (!one(&t, i, &rng)) {
            break;
        }
    }
    return 0;
}

const tb_test test_nonsense = {.name = "nonsense",
                               .about = "tasks with settings that must be refused, soft resets at any moment",
                               TB_KNOBS_OF(knobs),
                               .bench = &sgemm_bench,
                               .body = body};
