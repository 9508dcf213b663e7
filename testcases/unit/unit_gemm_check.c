/* dut: gemm_check */
/*
 * Random register settings, most of them at the edge of one limit, through the check; the verdict is that of the golden model's decoder. The latency is checked
 * and checks are broken off at any moment.
 */
#include <inttypes.h>

#include "bench.h"
#include "npu_regs.h"
#include "npu_task.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define LATENCY 6u /* start to verdict */

static const tb_knob knobs[] = {
    {"checks", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "checks"},
    {"wild", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of settings from anywhere, hardly ever legal"},
    {"flaws", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of settings with one rule broken"},
    {"abort", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of checks that are broken off"},
    UNIT_STALL_KNOB("start", "percent of cycles without a start"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "checks", seed, 500, 3000);
    tb_knobs_draw_in(k, "wild", seed, 0, 20);
    tb_knobs_draw_in(k, "abort", seed, 0, 30);
}

/* Settings as software writes them. */
typedef struct settings {
    cm_gemm_task t;
    uint32_t op, pad_mode, layout, requant, act, other; /* other: bits of GEMM_CTRL that no rule speaks of */
} settings;

static uint32_t range(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_range(rng, lo, hi);
}

/* Two factors up to amax and bmax whose product is about limit: just inside, exact where possible, or (over) just outside where possible. */
static void pair(tb_rng *rng, uint32_t limit, uint32_t amax, uint32_t bmax, bool over, uint32_t *a, uint32_t *b) {
    const uint32_t first = (uint32_t)tb_rng_small(rng, 1, limit < amax ? limit : amax);
    uint32_t second = limit / first + (over ? 1 : 0);
    if (!over && tb_rng_chance(rng, 1, 3)) {
        second = range(rng, 1, second);
    }
    *a = first;
    *b = second < 1 ? 1 : second > bmax ? bmax : second;
}

static void draw_legal(tb_rng *rng, settings *s, uint32_t over) {
    const uint32_t icb = over == 5 ? 4608 / N + 1 : (uint32_t)tb_rng_small(rng, 1, 4608 / N);
    cm_gemm_task *t = &s->t;
    task_noise_fields(rng, t);
    const uint32_t ic = range(rng, (icb - 1) * N + 1, icb * N);
    t->ic = ic < 65535 ? ic : 65535;
    const uint32_t map = 16384 / icb < 65535 ? 16384 / icb : 65535;
    pair(rng, map, 65535, 65535, over == 1, &t->iw, &t->ih);
    pair(rng, over == 5 ? 1 : 4608 / N / icb, 255, 255, over == 2, &t->kw, &t->kh);
    pair(rng, 65535, 65535, 65535, over == 3, &t->ow, &t->oh);
    t->oc = over == 4 ? range(rng, 1025, 65535) : tb_rng_chance(rng, 1, 4) ? 1024 : range(rng, 1, 1024);
    uint32_t *const nonzero[] = {&t->sw, &t->sh, &t->dw, &t->dh};
    for (size_t i = 0; i < 4; i++) {
        *nonzero[i] = range(rng, 1, 255);
    }
    uint32_t *const by4[] = {&t->ifm_addr, &t->ofm_addr, &t->psum_addr};
    uint32_t *const by16[] = {&t->ifm_cstep, &t->ofm_cstep, &t->wgt_addr, &t->oscale_addr, &t->bias_addr};
    for (size_t i = 0; i < 3; i++) {
        *by4[i] &= ~UINT32_C(3);
    }
    for (size_t i = 0; i < 5; i++) {
        *by16[i] &= ~UINT32_C(15);
    }
    s->op = s->pad_mode = s->requant = 0;
    s->layout = 1;
    s->act = range(rng, 0, 1);
    s->other = tb_rng_u32(rng);
    if (t->raw_out) {
        t->oscale_en = t->bias_en = false;
        s->act = 0;
    }
}

/* Break one rule that is not a product. */
static void flaw(tb_rng *rng, settings *s) {
    cm_gemm_task *t = &s->t;
    uint32_t *const zero[] = {&t->iw, &t->ih, &t->ic, &t->ow, &t->oh, &t->oc, &t->kw, &t->kh, &t->sw, &t->sh, &t->dw, &t->dh};
    uint32_t *const by4[] = {&t->ifm_addr, &t->ofm_addr, &t->psum_addr};
    uint32_t *const by16[] = {&t->ifm_cstep, &t->ofm_cstep, &t->wgt_addr, &t->oscale_addr, &t->bias_addr};
    switch (range(rng, 0, 7)) {
    case 0:
        *zero[range(rng, 0, 11)] = 0;
        break;
    case 1:
        *by4[range(rng, 0, 2)] |= 1u << range(rng, 0, 1);
        break;
    case 2:
        *by16[range(rng, 0, 4)] |= 1u << range(rng, 0, 3);
        break;
    case 3:
        s->op = range(rng, 1, 3);
        break;
    case 4:
        s->pad_mode = range(rng, 1, 3);
        break;
    case 5:
        s->layout = range(rng, 0, 1);
        s->requant = 1 - s->layout * range(rng, 0, 1);
        break;
    case 6:
        s->act = range(rng, 2, 15);
        break;
    default:
        t->raw_out = true;
        t->oscale_en = tb_rng_chance(rng, 1, 3);
        t->bias_en = tb_rng_chance(rng, 1, 3);
        s->act = range(rng, 0, 1);
        break;
    }
}

static void draw(const unit *u, tb_rng *rng, settings *s) {
    if (tb_rng_chance(rng, (uint32_t)unit_knob(u, "wild"), 100)) {
        draw_legal(rng, s, 0);
        /* sizes from anywhere: products up to 2^32 whose low halves may look legal */
        uint32_t *const any[] = {&s->t.iw, &s->t.ih, &s->t.ic, &s->t.ow, &s->t.oh};
        for (size_t i = 0; i < 5; i++) {
            *any[i] = tb_rng_chance(rng, 1, 2) ? 1u << range(rng, 0, 15) : (uint32_t)tb_rng_small(rng, 0, 65535);
        }
        s->t.kw = (uint32_t)tb_rng_small(rng, 0, 255);
        s->t.kh = (uint32_t)tb_rng_small(rng, 0, 255);
        return;
    }
    const bool broken = tb_rng_chance(rng, (uint32_t)unit_knob(u, "flaws"), 100);
    const uint32_t over = broken ? range(rng, 0, 9) : 0; /* 1..5: a size, otherwise another rule */
    draw_legal(rng, s, over);
    if (broken && (over == 0 || over > 5)) {
        flaw(rng, s);
    }
    s->t.act = s->act;
}

#define PUT(field, value) (((uint32_t)(value) << NPU_##field##_LSB) & NPU_##field##_MASK)

static uint32_t control(const settings *s) {
    const uint32_t ruled = NPU_GEMM_CTRL_OP_MASK | NPU_GEMM_CTRL_PAD_MODE_MASK | NPU_GEMM_CTRL_BIAS_MASK | NPU_GEMM_CTRL_REQUANT_MASK |
                           NPU_GEMM_CTRL_LAYOUT_MASK | NPU_GEMM_CTRL_OSCALE_MASK | NPU_GEMM_CTRL_DIV_IC_MASK | NPU_GEMM_CTRL_PSUM_ADD_MASK |
                           NPU_GEMM_CTRL_FENCE_MASK;
    return (s->other & ~ruled) | PUT(GEMM_CTRL_OP, s->op) | PUT(GEMM_CTRL_PAD_MODE, s->pad_mode) | PUT(GEMM_CTRL_BIAS, s->t.bias_en) |
           PUT(GEMM_CTRL_REQUANT, s->requant) | PUT(GEMM_CTRL_LAYOUT, s->layout) | PUT(GEMM_CTRL_OSCALE, s->t.oscale_en) |
           PUT(GEMM_CTRL_DIV_IC, s->t.raw_out) | PUT(GEMM_CTRL_PSUM_ADD, s->t.psum_add) | PUT(GEMM_CTRL_FENCE, s->t.fence);
}

/* The golden model's verdict on the registers. Geometry goes through the extended registers, which hold every value. */
static bool legal(const settings *s) {
    const cm_gemm_task *t = &s->t;
    uint32_t regs[128] = {0};
    cm_gemm_task out;
    regs[NPU_REG_GEMM_CTRL / 4] = control(s) | NPU_GEMM_CTRL_EXT_MASK;
    regs[NPU_REG_GEMM_EXT_KERNEL / 4] =
        PUT(GEMM_EXT_KERNEL_KW, t->kw) | PUT(GEMM_EXT_KERNEL_KH, t->kh) | PUT(GEMM_EXT_KERNEL_DW, t->dw) | PUT(GEMM_EXT_KERNEL_DH, t->dh);
    regs[NPU_REG_GEMM_EXT_STRIDE / 4] = PUT(GEMM_EXT_STRIDE_SW, t->sw) | PUT(GEMM_EXT_STRIDE_SH, t->sh);
    regs[NPU_REG_GEMM_EXT_PAD / 4] = PUT(GEMM_EXT_PAD_LEFT, t->pad_l) | PUT(GEMM_EXT_PAD_TOP, t->pad_t);
    regs[NPU_REG_GEMM_IFM_SIZE / 4] = PUT(GEMM_IFM_SIZE_IW, t->iw) | PUT(GEMM_IFM_SIZE_IH, t->ih);
    regs[NPU_REG_GEMM_CHANNELS / 4] = PUT(GEMM_CHANNELS_IC, t->ic) | PUT(GEMM_CHANNELS_OC, t->oc);
    regs[NPU_REG_GEMM_OFM_SIZE / 4] = PUT(GEMM_OFM_SIZE_OW, t->ow) | PUT(GEMM_OFM_SIZE_OH, t->oh);
    regs[NPU_REG_GEMM_ACT / 4] = PUT(GEMM_ACT_TYPE, s->act);
    regs[NPU_REG_GEMM_GROUP / 4] = PUT(GEMM_GROUP_TILES, t->group);
    regs[NPU_REG_GEMM_IFM_ADDR / 4] = t->ifm_addr;
    regs[NPU_REG_GEMM_IFM_CSTEP / 4] = t->ifm_cstep;
    regs[NPU_REG_GEMM_WGT_ADDR / 4] = t->wgt_addr;
    regs[NPU_REG_GEMM_OSCALE_ADDR / 4] = t->oscale_addr;
    regs[NPU_REG_GEMM_BIAS_ADDR / 4] = t->bias_addr;
    regs[NPU_REG_GEMM_OFM_ADDR / 4] = t->ofm_addr;
    regs[NPU_REG_GEMM_OFM_CSTEP / 4] = t->ofm_cstep;
    regs[NPU_REG_GEMM_PSUM_ADDR / 4] = t->psum_addr;
    regs[NPU_REG_GEMM_IN_SCALE / 4] = t->in_scale;
    return cm_gemm_decode(N, regs, &out);
}

typedef struct bench {
    tb_sig clr, start, task, ctrl, act, busy, done, ok;
    settings s;
    uint32_t age;   /* cycles since the start, 0: none runs */
    uint32_t abort; /* age at which it is broken off, 0: never */
    uint64_t checks;
    bool expected;
    unit_stall start_stall;
    tb_rng rng, when;
} bench;

static void drive(const unit *u, bench *b) {
    const bool start = b->age == 0 && unit_go(&b->start_stall);
    if (start) {
        draw(u, &b->rng, &b->s);
        b->expected = legal(&b->s);
        b->abort = tb_rng_chance(&b->when, (uint32_t)unit_knob(u, "abort"), 100) ? range(&b->when, 1, LATENCY) : 0;
        npu_task_set(b->task, &b->s.t);
        tb_set_field(b->task, TASK_BITS - 1, 1, b->s.op == NPU_GEMM_CTRL_OP_DEPTHWISE);
        tb_set(b->ctrl, control(&b->s));
        tb_set(b->act, b->s.act);
    } else if (b->age == 0) {
        task_noise_port(&b->rng, b->task);
        tb_set(b->ctrl, tb_rng_u32(&b->rng));
        tb_set(b->act, tb_rng_u32(&b->rng));
    }
    tb_set(b->start, start);
    tb_set(b->clr, b->age > 0 ? b->age == b->abort : !start && tb_rng_chance(&b->when, 1, 16));
}

static void sample(unit *u, bench *b) {
    const cm_gemm_task *t = &b->s.t;
    const bool verdict = b->age == LATENCY;
    unit_expect_value(u, "busy_o", tb_get(b->busy), b->age > 0);
    unit_expect_value(u, "done_o", tb_get(b->done), verdict);
    if (verdict && (tb_get(b->ok) != 0) != b->expected) {
        unit_fail(u, "ok_o",
                  "ok_o, check %" PRIu64 ", cycle %" PRIu64 ": got %d, expected %d (iw %" PRIu32 " ih %" PRIu32 " ic %" PRIu32
                  " ow %" PRIu32 " oh %" PRIu32 " oc %" PRIu32 " kw %" PRIu32 " kh %" PRIu32 " op %" PRIu32 " pad_mode %" PRIu32
                  " layout %" PRIu32 " requant %" PRIu32 " act %" PRIu32 " div_ic %d oscale %d bias %d)",
                  b->checks, u->cycle, !b->expected, b->expected, t->iw, t->ih, t->ic, t->ow, t->oh, t->oc, t->kw, t->kh, b->s.op,
                  b->s.pad_mode, b->s.layout, b->s.requant, b->s.act, t->raw_out, t->oscale_en, t->bias_en);
    }
    if (tb_get(b->start)) {
        b->age = 1;
    } else if (verdict || (b->age > 0 && b->age == b->abort)) {
        b->age = 0;
        b->checks++;
    } else if (b->age > 0) {
        b->age++;
    }
}

static int run(unit *u) {
    bench b = {.clr = unit_port(u, "clr_i"),
               .start = unit_port(u, "start_i"),
               .task = unit_port(u, "task_i"),
               .ctrl = unit_port(u, "ctrl_i"),
               .act = unit_port(u, "act_i"),
               .busy = unit_port(u, "busy_o"),
               .done = unit_port(u, "done_o"),
               .ok = unit_port(u, "ok_o")};
    unit_expect_value(u, "bits of a task", b.task.width, TASK_BITS);
    b.start_stall = unit_stall_make(u, "start");
    b.rng = unit_stream(u, "settings");
    b.when = unit_stream(u, "when");
    unit_reset(u);
    while (unit_ok(u) && b.checks < (uint64_t)unit_knob(u, "checks")) {
        drive(u, &b);
        unit_settle(u);
        sample(u, &b);
        unit_edge(u);
    }
    return 0;
}

const unit_bench unit_this_bench = {.name = "gemm_check",
                                    .about = "limits of a task against the golden model's decoder",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
