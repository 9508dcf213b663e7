/* dut: gemm_check */
/*
 * Random register settings, most of them at the edge of one limit, through the check. Resident and kept weights follow
 * each other.
 */
#include "check_bench.h"
#include "npu_regs.h"
#include "npu_task.h"
#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)
#define LATENCY 7u           /* start to verdict */
#define LATENCY_RESIDENT 14u /* with WGT_RES */
#define IFM_WORDS 16384u
#define WGT_WORDS 4608u

/* Settings as software writes them. */
typedef struct settings {
    cm_gemm_task t;
    uint32_t pad_mode, other; /* other: bits of GEMM_CTRL that no rule depends on */
} settings;

typedef struct bench {
    tb_sig task, pad_mode;
    settings s;
    cm_gemm_task before, decoded; /* last accepted task; task of the current check */
    bool has_before;              /* since the last clear */
    uint64_t accepted;
} bench;

/* What is broken: 0 nothing, or one of these sizes. */
enum { OVER_MAP = 1, OVER_WEIGHTS, OVER_PIXELS, OVER_OC, OVER_IC, OVER_ROWS, OVER_COUNT };

/* Channels and kernel; the weights just fit into a bank, resident or not. */
static void draw_weights(tb_rng *rng, cm_gemm_task *t, uint32_t over) {
    const bool conv = t->op == 0;
    const uint32_t blocks = 1024 / N, deepest = WGT_WORDS / N >> t->wide;
    const uint32_t icb = over == OVER_IC ? deepest + 1 : (uint32_t)tb_rng_small(rng, 1, conv ? deepest : blocks);
    const uint32_t ic = check_range(rng, (icb - 1) * N + 1, icb * N);
    t->ic = ic < 65535 ? ic : 65535;
    t->oc = over == OVER_OC            ? check_range(rng, 1025, 65535)
            : tb_rng_chance(rng, 1, 4) ? 1024
                                       : (uint32_t)tb_rng_small(rng, 1, 1024);
    t->oc = conv ? t->oc : t->ic;
    uint32_t words = conv ? deepest / icb : WGT_WORDS >> t->wide;
    if (t->wgt_res) {
        uint32_t half = ((t->oc + N - 1) / N + 1) / 2;
        if (conv && half > words && over != OVER_OC) {
            half = words < 1 ? 1 : check_range(rng, 1, words);
            t->oc = check_range(rng, 2 * (half - 1) * N + 1, 2 * half * N < 1024 ? 2 * half * N : 1024);
        }
        words /= half;
    }
    check_pair(rng, words < 1 ? 1 : words, 255, 255, over == OVER_WEIGHTS, &t->kw, &t->kh);
}

/* Input rows of a group of tiles at most, the height of the map aside. */
static uint32_t group_rows(const cm_gemm_task *t) {
    const uint32_t touched = 1 + (2 * N * t->group + t->ow - 2) / t->ow;
    return ((touched < t->oh ? touched : t->oh) - 1) * t->sh + (t->kh - 1) * t->dh + 1;
}

/* A map that is larger than the buffer, and rows of a group that just fit. */
static void draw_streamed(tb_rng *rng, cm_gemm_task *t, uint32_t over) {
    const uint32_t icb = (t->ic + N - 1) / N << t->wide; /* words of a pixel */
    if (icb * 64 >= IFM_WORDS) {
        return;
    }
    t->sh = (uint32_t)tb_rng_small(rng, 1, 8);
    t->dh = (uint32_t)tb_rng_small(rng, 1, 4);
    t->ow = (uint32_t)tb_rng_small(rng, 1, 600);
    t->oh = (uint32_t)tb_rng_small(rng, 1, 65535 / t->ow);
    const uint32_t rows = group_rows(t);
    const uint32_t room = IFM_WORDS / icb - 64;
    t->iw = room / rows + (over == OVER_ROWS ? 1 : 0);
    t->iw = t->iw < 1 ? 1 : t->iw;
    t->ih = check_range(rng, rows - (rows > 1), 65535 / t->iw < rows ? rows : 65535 / t->iw);
    t->ih = t->ih > 65535 ? 65535 : t->ih;
}

/* Rows of a group whose number, or whose words, exceed 16 bits, and would be legal when truncated. */
static void draw_wrapped(tb_rng *rng, cm_gemm_task *t) {
    t->ow = 1;
    t->group = 512 / N >> t->wide;
    t->oh = check_range(rng, 1030, 65535);
    t->dh = 1;
    if (tb_rng_chance(rng, 1, 2)) { /* 65472 .. 65535 words */
        t->iw = check_range(rng, 40, 63);
        t->ih = 65535 / t->iw;
        t->sh = 255;
    } else { /* 65536 rows and some; 1023 output rows beyond the first */
        t->iw = 1;
        t->ih = check_range(rng, 50000, 65535);
        t->sh = 65;
    }
}

static void draw_tensors(tb_rng *rng, cm_gemm_task *t) {
    uint32_t *const ifm[] = {&t->ifm_addr, &t->ifm_cstep};
    uint32_t *const ofm[] = {&t->ofm_addr, &t->ofm_cstep};
    uint32_t *const by4[] = {&t->psum_addr, &t->psum_cstep};
    uint32_t *const by16[] = {&t->wgt_addr, &t->oscale_addr, &t->bias_addr};
    const uint32_t block = N << t->wide, sum = 4u << t->wide;
    for (size_t i = 0; i < 2; i++) {
        *ifm[i] &= t->nhwc_in ? ~(block - 1) : ~UINT32_C(3);
        *ofm[i] &= t->requant ? ~(block - 1) : t->raw_out ? ~(sum - 1) : ~UINT32_C(3);
        *by4[i] &= ~(sum - 1);
    }
    for (size_t i = 0; i < 3; i++) {
        *by16[i] &= ~UINT32_C(15);
    }
    /* the pitch of an INT8 tensor: exact, some more, anything */
    const uint32_t exact[2] = {(t->ic + N - 1) / N * block, (t->oc + N - 1) / N * block};
    uint32_t *const pitch[2] = {&t->ifm_cstep, &t->ofm_cstep};
    for (size_t i = 0; i < 2; i++) {
        if ((i == 0 ? t->nhwc_in : t->requant) && (tb_rng_chance(rng, 3, 4) || *pitch[i] < exact[i])) {
            *pitch[i] = exact[i] + block * check_range(rng, 0, 2);
        }
    }
}

static void draw_legal(tb_rng *rng, settings *s, uint32_t over) {
    cm_gemm_task *t = &s->t;
    task_noise_fields(rng, t);
    t->op = tb_rng_chance(rng, 2, 3) ? 0 : check_range(rng, 1, 2);
    t->wide = UNIT_INT16 && tb_rng_chance(rng, 1, 3);
    t->group = check_range(rng, 1, 512 / N >> t->wide);
    t->wgt_res = tb_rng_chance(rng, 1, 2);
    t->wgt_keep = false;
    uint32_t *const nonzero[] = {&t->sw, &t->sh, &t->dw, &t->dh};
    for (size_t i = 0; i < 4; i++) {
        *nonzero[i] = check_range(rng, 1, 255);
    }
    draw_weights(rng, t, over);
    const uint32_t pixel = (t->ic + N - 1) / N << t->wide;
    const uint32_t map = IFM_WORDS / pixel < 65535 ? IFM_WORDS / pixel : 65535;
    check_pair(rng, map, 65535, 65535, over == OVER_MAP, &t->iw, &t->ih);
    check_pair(rng, 65535, 65535, 65535, over == OVER_PIXELS, &t->ow, &t->oh);
    if (t->wgt_res && (over == OVER_ROWS || (over != OVER_MAP && over != OVER_PIXELS && tb_rng_chance(rng, 2, 3)))) {
        draw_streamed(rng, t, over);
        if (over == OVER_ROWS && tb_rng_chance(rng, 1, 2)) {
            draw_wrapped(rng, t);
        }
    }
    draw_tensors(rng, t);
    s->pad_mode = 0;
    s->other = tb_rng_u32(rng);
    t->act = check_range(rng, 0, CM_ACT_COUNT - 1);
    if (t->raw_out) {
        t->oscale_en = t->bias_en = t->requant = false;
        t->act = 0;
    }
    t->ibias = t->ibias && t->bias_en;
    if (t->wide) { /* symmetric */
        t->ibias = t->rne = t->full = false;
        t->zin = t->zout = 0;
    }
}

/* Break one rule that is not a product. */
static void flaw(tb_rng *rng, settings *s) {
    cm_gemm_task *t = &s->t;
    uint32_t *const zero[] = {&t->iw, &t->ih, &t->ic, &t->ow, &t->oh, &t->oc,
                              &t->kw, &t->kh, &t->sw, &t->sh, &t->dw, &t->dh};
    uint32_t *const tensor[] = {&t->ifm_addr,  &t->ifm_cstep, &t->ofm_addr,
                                &t->ofm_cstep, &t->psum_addr, &t->psum_cstep};
    uint32_t *const by16[] = {&t->wgt_addr, &t->oscale_addr, &t->bias_addr};
    switch (check_range(rng, 0, 10)) {
    case 0:
        *zero[check_range(rng, 0, 11)] = 0;
        break;
    case 1: /* an odd number of words is legal where a tensor is not INT8 */
        check_misalign(rng, tensor, 6, 5);
        break;
    case 2:
        check_misalign(rng, by16, 3, 4);
        break;
    case 3:
        t->op = check_range(rng, 0, 3);
        break;
    case 4:
        s->pad_mode = check_range(rng, 1, 3);
        break;
    case 5: /* a pitch below the channels */
        *(tb_rng_chance(rng, 1, 2) ? &t->ifm_cstep : &t->ofm_cstep) = N * check_range(rng, 0, 8);
        t->nhwc_in = tb_rng_chance(rng, 3, 4);
        t->requant = tb_rng_chance(rng, 3, 4);
        break;
    case 6:
        t->act = check_range(rng, CM_ACT_COUNT, 15);
        break;
    case 7:
        t->wgt_keep = true;
        t->wgt_res = tb_rng_chance(rng, 1, 2);
        break;
    case 8:
        t->raw_out = true;
        t->oscale_en = tb_rng_chance(rng, 1, 4);
        t->bias_en = tb_rng_chance(rng, 1, 4);
        t->requant = tb_rng_chance(rng, 1, 4);
        t->act = tb_rng_chance(rng, 1, 2) ? 0 : check_range(rng, 0, CM_ACT_COUNT - 1);
        break;
    case 9: /* INT16 where there is none, or with another quantiser */
        t->wide = true;
        t->group = check_range(rng, 1, 256 / N);
        t->zin = check_range(rng, 0, 1) * tb_rng_u32(rng) >> 24;
        t->zout = check_range(rng, 0, 1) * tb_rng_u32(rng) >> 24;
        t->rne = tb_rng_chance(rng, 1, 4);
        t->full = tb_rng_chance(rng, 1, 4);
        t->ibias = t->bias_en && tb_rng_chance(rng, 1, 4);
        break;
    default: /* int32 biases without biases */
        t->ibias = true;
        t->bias_en = tb_rng_chance(rng, 1, 4);
        break;
    }
}

/* Sizes from anywhere: products up to 2^32 whose low halves may look legal. */
static void draw_wild(tb_rng *rng, settings *s) {
    uint32_t *const any[] = {&s->t.iw, &s->t.ih, &s->t.ic, &s->t.ow, &s->t.oh};
    draw_legal(rng, s, 0);
    for (size_t i = 0; i < 5; i++) {
        *any[i] = tb_rng_chance(rng, 1, 2) ? 1u << check_range(rng, 0, 15) : (uint32_t)tb_rng_small(rng, 0, 65535);
    }
    s->t.kw = (uint32_t)tb_rng_small(rng, 0, 255);
    s->t.kh = (uint32_t)tb_rng_small(rng, 0, 255);
}

/* The weights of the previous task, or nearly those. */
static void draw_keep(tb_rng *rng, bench *b, bool broken) {
    cm_gemm_task *t = &b->s.t;
    uint32_t *const same[] = {&t->op, &t->kw, &t->kh, &t->ic, &t->oc};
    *t = b->before;
    t->wgt_res = t->wgt_keep = true;
    t->fence = tb_rng_chance(rng, 1, 2);
    t->oscale_addr = tb_rng_u32(rng) & ~UINT32_C(15);
    b->s.pad_mode = 0;
    if (broken && tb_rng_chance(rng, 1, 3)) {
        t->wgt_addr ^= 16u << check_range(rng, 0, 27);
    } else if (broken && tb_rng_chance(rng, 1, 4)) {
        t->wgt_res = false;
    } else if (broken) {
        uint32_t *const field = same[check_range(rng, 0, 4)];
        *field = *field > 1 && tb_rng_chance(rng, 1, 2) ? *field - 1 : *field + 1;
        *field &= field == &t->op ? 3u : field == &t->kw || field == &t->kh ? 255u : 65535u;
    }
}

#define PUT(field, value) (((uint32_t)(value) << NPU_##field##_LSB) & NPU_##field##_MASK)

static uint32_t control(const settings *s) {
    const cm_gemm_task *t = &s->t;
    const uint32_t ruled = NPU_GEMM_CTRL_OP_MASK | NPU_GEMM_CTRL_PAD_MODE_MASK | NPU_GEMM_CTRL_BIAS_MASK |
                           NPU_GEMM_CTRL_REQUANT_MASK | NPU_GEMM_CTRL_LAYOUT_MASK | NPU_GEMM_CTRL_OSCALE_MASK |
                           NPU_GEMM_CTRL_DIV_IC_MASK | NPU_GEMM_CTRL_PSUM_ADD_MASK | NPU_GEMM_CTRL_FENCE_MASK |
                           NPU_GEMM_CTRL_WGT_RES_MASK | NPU_GEMM_CTRL_WGT_KEEP_MASK | NPU_GEMM_CTRL_IBIAS_MASK |
                           NPU_GEMM_CTRL_QUANT_MASK | NPU_GEMM_CTRL_WIDE_MASK;
    return (s->other & ~ruled) | PUT(GEMM_CTRL_OP, t->op) | PUT(GEMM_CTRL_PAD_MODE, s->pad_mode) |
           PUT(GEMM_CTRL_BIAS, t->bias_en) | PUT(GEMM_CTRL_REQUANT, t->requant) | PUT(GEMM_CTRL_LAYOUT, !t->nhwc_in) |
           PUT(GEMM_CTRL_OSCALE, t->oscale_en) | PUT(GEMM_CTRL_DIV_IC, t->raw_out) |
           PUT(GEMM_CTRL_PSUM_ADD, t->psum_add) | PUT(GEMM_CTRL_FENCE, t->fence) | PUT(GEMM_CTRL_WGT_RES, t->wgt_res) |
           PUT(GEMM_CTRL_WGT_KEEP, t->wgt_keep) | PUT(GEMM_CTRL_IBIAS, t->ibias) | NPU_GEMM_CTRL_QUANT_MASK |
           PUT(GEMM_CTRL_WIDE, t->wide);
}

/* The settings as an accepted task has them. Geometry goes through the extended registers, which hold every value. */
static void decode(bench *b) {
    const cm_gemm_task *t = &b->s.t;
    uint32_t regs[128] = {0};
    regs[NPU_REG_GEMM_CTRL / 4] = control(&b->s) | NPU_GEMM_CTRL_EXT_MASK;
    regs[NPU_REG_GEMM_EXT_KERNEL / 4] = PUT(GEMM_EXT_KERNEL_KW, t->kw) | PUT(GEMM_EXT_KERNEL_KH, t->kh) |
                                        PUT(GEMM_EXT_KERNEL_DW, t->dw) | PUT(GEMM_EXT_KERNEL_DH, t->dh);
    regs[NPU_REG_GEMM_EXT_STRIDE / 4] = PUT(GEMM_EXT_STRIDE_SW, t->sw) | PUT(GEMM_EXT_STRIDE_SH, t->sh);
    regs[NPU_REG_GEMM_EXT_PAD / 4] = PUT(GEMM_EXT_PAD_LEFT, t->pad_l) | PUT(GEMM_EXT_PAD_TOP, t->pad_t);
    regs[NPU_REG_GEMM_IFM_SIZE / 4] = PUT(GEMM_IFM_SIZE_IW, t->iw) | PUT(GEMM_IFM_SIZE_IH, t->ih);
    regs[NPU_REG_GEMM_CHANNELS / 4] = PUT(GEMM_CHANNELS_IC, t->ic) | PUT(GEMM_CHANNELS_OC, t->oc);
    regs[NPU_REG_GEMM_OFM_SIZE / 4] = PUT(GEMM_OFM_SIZE_OW, t->ow) | PUT(GEMM_OFM_SIZE_OH, t->oh);
    regs[NPU_REG_GEMM_ACT / 4] = PUT(GEMM_ACT_TYPE, t->act);
    regs[NPU_REG_GEMM_GROUP / 4] = PUT(GEMM_GROUP_TILES, t->group);
    regs[NPU_REG_GEMM_IFM_ADDR / 4] = t->ifm_addr;
    regs[NPU_REG_GEMM_IFM_CSTEP / 4] = t->ifm_cstep;
    regs[NPU_REG_GEMM_WGT_ADDR / 4] = t->wgt_addr;
    regs[NPU_REG_GEMM_OSCALE_ADDR / 4] = t->oscale_addr;
    regs[NPU_REG_GEMM_BIAS_ADDR / 4] = t->bias_addr;
    regs[NPU_REG_GEMM_OFM_ADDR / 4] = t->ofm_addr;
    regs[NPU_REG_GEMM_OFM_CSTEP / 4] = t->ofm_cstep;
    regs[NPU_REG_GEMM_PSUM_ADDR / 4] = t->psum_addr;
    regs[NPU_REG_GEMM_PSUM_CSTEP / 4] = t->psum_cstep;
    regs[NPU_REG_GEMM_IN_SCALE / 4] = t->in_scale;
    regs[NPU_REG_GEMM_QUANT / 4] = PUT(GEMM_QUANT_ZIN, t->zin) | PUT(GEMM_QUANT_ZOUT, t->zout) |
                                   PUT(GEMM_QUANT_RNE, t->rne) | PUT(GEMM_QUANT_FULL, t->full);
    cm_gemm_decode(N, regs, &b->decoded);
}

static uint32_t draw(const unit *u, void *ctx, tb_rng *rng) {
    bench *b = ctx;
    const bool broken = tb_rng_chance(rng, (uint32_t)unit_knob(u, "flaws"), 100);
    const uint32_t over = broken ? check_range(rng, 0, 2 * OVER_COUNT) : 0;
    if (tb_rng_chance(rng, (uint32_t)unit_knob(u, "wild"), 100)) {
        draw_wild(rng, &b->s);
    } else if (b->accepted > 0 && tb_rng_chance(rng, 1, b->has_before && b->before.wgt_res ? 2 : 8)) {
        draw_keep(rng, b, broken);
    } else {
        draw_legal(rng, &b->s, over);
        if (broken && (over == 0 || over >= OVER_COUNT)) {
            flaw(rng, &b->s);
        }
    }
    decode(b);
    npu_task_set(b->task, &b->s.t);
    tb_set(b->pad_mode, b->s.pad_mode);
    return b->s.t.wgt_res ? LATENCY_RESIDENT : LATENCY;
}

static void noise(void *ctx, tb_rng *rng) {
    const bench *b = ctx;
    task_noise_port(rng, b->task);
    tb_set(b->pad_mode, tb_rng_u32(rng) & 3u);
}

static void verdict(void *ctx, bool accepted) {
    bench *b = ctx;
    if (accepted) {
        b->before = b->decoded;
        b->has_before = true;
        b->accepted++;
    }
}

static void forget(void *ctx) {
    ((bench *)ctx)->has_before = false;
}

static const check_ops ops = {CM_GEMM_TASK_WIDTH, draw, noise, verdict, forget};

static int run(unit *u) {
    bench b = {.task = unit_port(u, "task_i"), .pad_mode = unit_port(u, "pad_mode_i")};
    return check_bench_run(u, &ops, &b);
}

UNIT_BENCH("gemm_check", "limits of a GEMM task against the golden model's decoder", check_bench_knobs,
           .constrain = check_bench_constrain);
