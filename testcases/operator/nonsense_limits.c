/*
 * nonsense_limits.c - which tasks the hardware has to accept, written from docs/npu.md section 3 a third time, so that RTL and model do not share a mistake unseen.
 */
#include "nonsense.h"

#include "npu_regs.h"

#include <string.h>

#define REG(t, reg) ((t)->regs[NPU_REG_##reg / 4])
#define GET(t, reg, field) ((REG(t, reg) & NPU_##reg##_##field##_MASK) >> NPU_##reg##_##field##_LSB)

#define IFM_WORDS 16384u
#define WGT_WORDS 4608u

static uint64_t ceil_div(uint64_t v, uint64_t n) {
    return (v + n - 1) / n;
}

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static bool multiple(uint32_t v, uint32_t n) {
    return v % n == 0;
}

typedef struct gemm {
    uint64_t kw, kh, sw, sh, dw, dh;
    uint64_t iw, ih, ic, ow, oh, oc, icb, ocb, words, group;
    uint32_t op;
    bool res, keep, raw, nhwc_in, requant;
} gemm;

static void gemm_get(uint32_t n, const non_task *t, gemm *g) {
    const bool ext = GET(t, GEMM_CTRL, EXT) != 0;
    g->kw = ext ? GET(t, GEMM_EXT_KERNEL, KW) : GET(t, GEMM_CTRL, KERNEL);
    g->kh = ext ? GET(t, GEMM_EXT_KERNEL, KH) : GET(t, GEMM_CTRL, KERNEL);
    g->dw = ext ? GET(t, GEMM_EXT_KERNEL, DW) : 1;
    g->dh = ext ? GET(t, GEMM_EXT_KERNEL, DH) : 1;
    g->sw = ext ? GET(t, GEMM_EXT_STRIDE, SW) : GET(t, GEMM_CTRL, STRIDE);
    g->sh = ext ? GET(t, GEMM_EXT_STRIDE, SH) : GET(t, GEMM_CTRL, STRIDE);
    g->iw = GET(t, GEMM_IFM_SIZE, IW);
    g->ih = GET(t, GEMM_IFM_SIZE, IH);
    g->ic = GET(t, GEMM_CHANNELS, IC);
    g->oc = GET(t, GEMM_CHANNELS, OC);
    g->ow = GET(t, GEMM_OFM_SIZE, OW);
    g->oh = GET(t, GEMM_OFM_SIZE, OH);
    g->icb = ceil_div(g->ic, n);
    g->ocb = ceil_div(g->oc, n);
    g->op = GET(t, GEMM_CTRL, OP);
    g->words = g->op == 0 ? g->kh * g->kw * g->icb * n : g->op == 1 ? g->kh * g->kw : 0;
    g->group = GET(t, GEMM_GROUP, TILES);
    g->group = g->group == 0 ? 1 : min_u64(g->group, 512 / n);
    g->res = GET(t, GEMM_CTRL, WGT_RES) != 0;
    g->keep = GET(t, GEMM_CTRL, WGT_KEEP) != 0;
    g->raw = GET(t, GEMM_CTRL, DIV_IC) != 0;
    g->nhwc_in = GET(t, GEMM_CTRL, LAYOUT) == 0;
    g->requant = GET(t, GEMM_CTRL, REQUANT) != 0;
}

static bool gemm_options(const non_task *t, const gemm *g) {
    const bool raw_alone = GET(t, GEMM_CTRL, OSCALE) == 0 && GET(t, GEMM_CTRL, BIAS) == 0 && !g->requant && GET(t, GEMM_ACT, TYPE) == 0;
    return g->op <= 2 && GET(t, GEMM_CTRL, PAD_MODE) == 0 && GET(t, GEMM_ACT, TYPE) <= 11 && (g->op == 0 || g->oc == g->ic) &&
           (!g->raw || raw_alone);
}

static bool gemm_sizes(const gemm *g) {
    return g->iw != 0 && g->ih != 0 && g->ic != 0 && g->ow != 0 && g->oh != 0 && g->oc != 0 && g->kw != 0 && g->kh != 0 && g->sw != 0 &&
           g->sh != 0 && g->dw != 0 && g->dh != 0 && g->oc <= 1024 && g->ih * g->iw <= 65535 && g->ow * g->oh <= 65535;
}

/* Sizes are not zero. */
static bool gemm_buffers(uint32_t n, const gemm *g) {
    const uint64_t rows_out = min_u64(g->oh, 1 + (2 * n * g->group + g->ow - 2) / g->ow);
    const uint64_t rows = min_u64(g->ih, (rows_out - 1) * g->sh + (g->kh - 1) * g->dh + 1);
    const bool whole = g->ih * g->iw * g->icb <= IFM_WORDS;
    const bool streams = g->res && rows * g->iw * g->icb + 64 * g->icb <= IFM_WORDS;
    return g->words <= WGT_WORDS && (!g->res || (g->ocb + 1) / 2 * g->words <= WGT_WORDS) && (whole || streams);
}

static bool gemm_keeps(const non_task *t, const gemm *g, const non_before *b) {
    return g->res && b->resident && b->op == g->op && b->wgt_addr == REG(t, GEMM_WGT_ADDR) && b->kw == g->kw && b->kh == g->kh &&
           b->ic == g->ic && b->oc == g->oc;
}

static bool gemm_addresses(uint32_t n, const non_task *t, const gemm *g) {
    const uint32_t in = g->nhwc_in ? n : 4;
    const uint32_t out = g->requant ? n : 4;
    return multiple(REG(t, GEMM_WGT_ADDR), 16) && multiple(REG(t, GEMM_OSCALE_ADDR), 16) && multiple(REG(t, GEMM_BIAS_ADDR), 16) &&
           multiple(REG(t, GEMM_PSUM_ADDR), 4) && multiple(REG(t, GEMM_PSUM_CSTEP), 4) && multiple(REG(t, GEMM_IFM_ADDR), in) &&
           multiple(REG(t, GEMM_IFM_CSTEP), in) && multiple(REG(t, GEMM_OFM_ADDR), out) && multiple(REG(t, GEMM_OFM_CSTEP), out) &&
           (!g->nhwc_in || REG(t, GEMM_IFM_CSTEP) >= g->icb * n) && (!g->requant || REG(t, GEMM_OFM_CSTEP) >= g->ocb * n);
}

static void judge_gemm(uint32_t n, const non_before *before, non_task *t) {
    gemm g;
    gemm_get(n, t, &g);
    t->legal =
        gemm_options(t, &g) && gemm_sizes(&g) && gemm_buffers(n, &g) && gemm_addresses(n, t, &g) && (!g.keep || gemm_keeps(t, &g, before));
    t->keeps = t->legal && g.keep;
    if (t->legal) {
        const uint64_t tiles = ceil_div(g.ow * g.oh, 2 * n);
        const uint64_t blocks = tiles * g.ocb * g.kw * g.kh * (g.op == 0 ? g.icb : 1);
        t->work = blocks * n + g.iw * g.ih * g.icb * n / 4 + g.ow * g.oh * g.ocb * n / 4 + g.ocb * g.words;
    }
}

static void judge_alu(non_task *t) {
    static const uint16_t aligned[] = {NPU_REG_ALU_A_ADDR,  NPU_REG_ALU_A_RSTEP, NPU_REG_ALU_A_PSTEP, NPU_REG_ALU_B_ADDR,
                                       NPU_REG_ALU_B_RSTEP, NPU_REG_ALU_B_PSTEP, NPU_REG_ALU_O_ADDR,  NPU_REG_ALU_O_RSTEP,
                                       NPU_REG_ALU_O_PSTEP, NPU_REG_ALU_P_ADDR,  NPU_REG_ALU_Q_ADDR};
    const uint64_t count = GET(t, ALU_SIZE, COUNT);
    const uint64_t rows = GET(t, ALU_ROWS, ROWS);
    const uint64_t planes = GET(t, ALU_ROWS, PLANES);
    const uint32_t op = GET(t, ALU_CTRL, OP);
    const uint32_t p = GET(t, ALU_CTRL, P_KIND);
    const uint32_t q = GET(t, ALU_CTRL, Q_KIND);
    const uint32_t act = GET(t, ALU_ACT, TYPE);
    const bool dup = GET(t, ALU_CTRL, DUP) != 0;
    t->legal = op <= 16 && act <= 11 && p <= 2 && q <= 2 && !(p == 1 && q == 1) && count != 0 && rows != 0 && planes != 0;
    t->legal = t->legal && !(op == NPU_ALU_CTRL_OP_ADD_I32 && act != 0);
    t->legal = t->legal && !((op == NPU_ALU_CTRL_OP_DOT || op == NPU_ALU_CTRL_OP_SUM) && (dup || q != 0));
    for (size_t i = 0; i < sizeof aligned / sizeof aligned[0]; i++) {
        t->legal = t->legal && multiple(t->regs[aligned[i] / 4], 4);
    }
    t->work = rows * planes * (count / 2 + 20);
}

static void judge_pool(uint32_t n, non_task *t) {
    static const uint16_t aligned[] = {NPU_REG_POOL_IFM_ADDR, NPU_REG_POOL_IFM_CSTEP, NPU_REG_POOL_IFM_RSTEP,
                                       NPU_REG_POOL_OFM_ADDR, NPU_REG_POOL_OFM_CSTEP, NPU_REG_POOL_OFM_RSTEP};
    const uint64_t iw = GET(t, POOL_IFM_SIZE, IW);
    const uint64_t ih = GET(t, POOL_IFM_SIZE, IH);
    const uint64_t ow = GET(t, POOL_OFM_SIZE, OW);
    const uint64_t oh = GET(t, POOL_OFM_SIZE, OH);
    const uint64_t kw = GET(t, POOL_WINDOW, KW);
    const uint64_t kh = GET(t, POOL_WINDOW, KH);
    const uint64_t sw = GET(t, POOL_WINDOW, SW);
    const uint64_t sh = GET(t, POOL_WINDOW, SH);
    const uint64_t left = GET(t, POOL_PAD, LEFT);
    const uint64_t top = GET(t, POOL_PAD, TOP);
    const uint64_t c = GET(t, POOL_CHANNELS, C);
    const bool int8 = GET(t, POOL_CTRL, INT8) != 0;
    const uint64_t pitch = ceil_div(c, n) * n;
    t->legal =
        GET(t, POOL_CTRL, TYPE) <= 1 && iw != 0 && ih != 0 && ow != 0 && oh != 0 && c != 0 && kw != 0 && kh != 0 && sw != 0 && sh != 0;
    t->legal = t->legal && iw <= 512 && ow <= 64 && left < kw && top < kh && (ow - 1) * sw < iw + left && (oh - 1) * sh < ih + top;
    t->legal =
        t->legal && (!int8 || (REG(t, POOL_IFM_CSTEP) >= pitch && REG(t, POOL_OFM_CSTEP) >= pitch)) && multiple(REG(t, POOL_TAB_ADDR), 4);
    for (size_t i = 0; i < sizeof aligned / sizeof aligned[0]; i++) {
        t->legal = t->legal && multiple(t->regs[aligned[i] / 4], int8 ? n : 4);
    }
    t->work = pitch * (oh * ow * kh * kw / 2 + ih * iw);
}

void non_judge(uint32_t n, const non_before *before, non_task *task) {
    task->legal = task->keeps = false;
    task->work = 0;
    if (task->unit == NPU_UNIT_GEMM) {
        judge_gemm(n, before, task);
    } else if (task->unit == NPU_UNIT_ALU) {
        judge_alu(task);
    } else {
        judge_pool(n, task);
    }
}

void non_remember(const non_task *t, non_before *before) {
    gemm g;
    if (t->unit != NPU_UNIT_GEMM) {
        return;
    }
    gemm_get(4, t, &g); /* what is taken from it does not depend on N */
    *before = (non_before){g.res, g.op, REG(t, GEMM_WGT_ADDR), (uint32_t)g.kw, (uint32_t)g.kh, (uint32_t)g.ic, (uint32_t)g.oc};
}
