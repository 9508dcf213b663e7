/* dut: pool_check */
/*
 * Random settings of the POOL, many at the edge of a limit or with one rule broken, through the check.
 */
#include "check_bench.h"
#include "npu_regs.h"
#include "npu_task.h"
#include "task_noise.h"
#include "num.h"

#define N ((uint32_t)NPU_CFG_N)
#define LATENCY 3u

typedef struct bench {
    tb_sig task, type;
    cm_pool_task t;
    uint32_t type_value; /* POOL_CTRL.TYPE */
} bench;

/* Windows of one dimension. past: the last one begins just past the map. */
static void draw_windows(tb_rng *rng, uint32_t in_max, uint32_t out_max, bool past, uint32_t *in, uint32_t *out,
                         uint32_t *k, uint32_t *s, uint32_t *pad) {
    *in = (uint32_t)tb_rng_small(rng, 1, in_max);
    *k = (uint32_t)tb_rng_small(rng, 1, 255);
    *s = (uint32_t)tb_rng_small(rng, 1, 255);
    *pad = tb_rng_chance(rng, 1, 2) ? check_range(rng, 0, *k - 1) : 0;
    const uint32_t most = (*in + *pad - 1) / *s + 1; /* windows that are not empty */
    *out = past ? tb_min_u32(most + 1, 65535) : tb_min_u32(most, out_max);
    if (!past && tb_rng_chance(rng, 1, 2)) {
        *out = check_range(rng, 1, *out);
    }
}

static void draw_legal(tb_rng *rng, bench *b, uint32_t past) {
    cm_pool_task *t = &b->t;
    uint32_t *const tensor[] = {&t->ifm_addr, &t->ifm_cstep, &t->ifm_rstep, &t->ofm_addr, &t->ofm_cstep, &t->ofm_rstep};
    b->type_value = check_range(rng, 0, 1);
    t->avg = b->type_value == 1;
    t->int8 = tb_rng_chance(rng, 1, 2);
    t->exclude = tb_rng_chance(rng, 1, 2);
    draw_windows(rng, 512, 64, past == 1, &t->iw, &t->ow, &t->kw, &t->sw, &t->pad_l);
    draw_windows(rng, 65535, 65535, past == 2, &t->ih, &t->oh, &t->kh, &t->sh, &t->pad_t);
    t->c = (uint32_t)tb_rng_small(rng, 1, 65535);
    for (size_t i = 0; i < 6; i++) {
        *tensor[i] = tb_rng_u32(rng) & (t->int8 ? ~(N - 1) : ~UINT32_C(3));
    }
    uint32_t *const pitch[2] = {&t->ifm_cstep, &t->ofm_cstep};
    const uint32_t exact = (t->c + N - 1) / N * N;
    for (size_t i = 0; i < 2 && t->int8; i++) {
        if (*pitch[i] < exact || tb_rng_chance(rng, 3, 4)) {
            *pitch[i] = exact + N * check_range(rng, 0, 2);
        }
    }
    t->recip = tb_rng_u32(rng);
    t->tab_addr = tb_rng_u32(rng) & ~UINT32_C(3);
}

/* Break one rule that is not a product. */
static void flaw(tb_rng *rng, bench *b) {
    cm_pool_task *t = &b->t;
    uint32_t *const zero[] = {&t->iw, &t->ih, &t->ow, &t->oh, &t->c, &t->kw, &t->kh, &t->sw, &t->sh};
    uint32_t *const tensor[] = {&t->ifm_addr, &t->ifm_cstep, &t->ifm_rstep, &t->ofm_addr, &t->ofm_cstep, &t->ofm_rstep};
    switch (check_range(rng, 0, 7)) {
    case 0:
        *zero[check_range(rng, 0, 8)] = 0;
        break;
    case 1: /* an odd number of words is legal for FP32 */
        check_misalign(rng, tensor, 6, 5);
        break;
    case 2:
        t->tab_addr |= 1u << check_range(rng, 0, 1);
        break;
    case 3:
        *(tb_rng_chance(rng, 1, 2) ? &t->ifm_cstep : &t->ofm_cstep) = (t->c - 1) / N * N;
        break;
    case 4:
        t->pad_l = tb_rng_chance(rng, 1, 2) ? check_range(rng, t->kw, 255) : t->pad_l;
        t->pad_t = tb_rng_chance(rng, 1, 2) ? check_range(rng, t->kh, 255) : t->pad_t;
        break;
    case 5:
        b->type_value = check_range(rng, 2, 3);
        break;
    case 6: /* the most rows there may be, or none, which is as many in 16 bits after one less */
        t->ih = check_range(rng, 65525, 65535);
        t->kh = 255;
        t->sh = 1;
        t->pad_t = check_range(rng, 0, 15);
        t->oh = tb_rng_chance(rng, 1, 2) ? 0 : check_range(rng, 65530, 65535);
        break;
    default: /* the largest maps, with windows that fit */
        t->iw = tb_rng_chance(rng, 1, 2) ? check_range(rng, 512, 514) : t->iw;
        t->ow = check_range(rng, 60, 67);
        t->iw = t->iw < t->ow ? t->ow : t->iw;
        t->sw = 1;
        break;
    }
}

/* Sizes from anywhere: products whose low halves may look legal. */
static void draw_wild(tb_rng *rng, bench *b) {
    uint32_t *const any[] = {&b->t.ih, &b->t.oh, &b->t.iw, &b->t.ow};
    draw_legal(rng, b, 0);
    for (size_t i = 0; i < 4; i++) {
        *any[i] = (uint32_t)tb_rng_small(rng, 0, i < 2 || tb_rng_chance(rng, 1, 4) ? 65535 : 600);
    }
    b->t.sw = (uint32_t)tb_rng_small(rng, 0, 255);
    b->t.sh = (uint32_t)tb_rng_small(rng, 0, 255);
}

static uint32_t draw(const unit *u, void *ctx, tb_rng *rng) {
    bench *b = ctx;
    const bool broken = tb_rng_chance(rng, (uint32_t)unit_knob(u, "flaws"), 100);
    const uint32_t past = broken ? check_range(rng, 0, 5) : 0; /* 1, 2: an empty window, otherwise another rule */
    if (tb_rng_chance(rng, (uint32_t)unit_knob(u, "wild"), 100)) {
        draw_wild(rng, b);
    } else {
        draw_legal(rng, b, past);
        if (broken && (past == 0 || past > 2)) {
            flaw(rng, b);
        }
    }
    npu_pool_task_set(b->task, &b->t);
    tb_set(b->type, b->type_value);
    return LATENCY;
}

static void noise(void *ctx, tb_rng *rng) {
    const bench *b = ctx;
    task_noise_port(rng, b->task);
    tb_set(b->type, tb_rng_u32(rng) & 3u);
}

static const check_ops ops = {CM_POOL_TASK_WIDTH, draw, noise, NULL, NULL};

static int run(unit *u) {
    bench b = {.task = unit_port(u, "task_i"), .type = unit_port(u, "type_i")};
    return check_bench_run(u, &ops, &b);
}

UNIT_BENCH("pool_check", "limits of a POOL task", check_bench_knobs, .constrain = check_bench_constrain);
