/*
 * nonsense_limits.c - the tasks that the hardware has to accept, implemented from docs/npu/npu.md section 3 a third
 * time, to detect errors that RTL and model share.
 */
#include "nonsense.h"

#include "npu_regs.h"
#include "num.h"

#include <string.h>

#define REG(t, reg) ((t)->regs[NPU_REG_##reg / 4])
#define GET(t, reg, field) ((REG(t, reg) & NPU_##reg##_##field##_MASK) >> NPU_##reg##_##field##_LSB)

#define IFM_WORDS 16384u
#define WGT_WORDS 4608u

static bool multiple(uint32_t v, uint32_t n) {
    return v % n == 0;
}

/* Limits of a unit by number; zero KW and KH of the POOL are not separate limits, because LEFT and TOP must be less. */
enum {
    G_OP,
    G_PAD_MODE,
    G_ACT,
    G_CHANNELS,
    G_RAW_OSCALE,
    G_RAW_BIAS,
    G_RAW_REQUANT,
    G_RAW_ACT,
    G_INT_BIAS,
    G_IW,
    G_IH,
    G_IC,
    G_OW,
    G_OH,
    G_OC,
    G_KW,
    G_KH,
    G_SW,
    G_SH,
    G_DW,
    G_DH,
    G_OC_MAX,
    G_PIXELS_IN,
    G_PIXELS_OUT,
    G_WEIGHTS,
    G_RESIDENT,
    G_MAP,
    G_ROWS,
    G_KEEP_ALONE,
    G_KEEP_NOTHING,
    G_KEEP_OP,
    G_KEEP_ADDR,
    G_KEEP_KW,
    G_KEEP_KH,
    G_KEEP_IC,
    G_KEEP_OC,
    G_WGT_ADDR,
    G_OSCALE_ADDR,
    G_BIAS_ADDR,
    G_PSUM_ADDR,
    G_PSUM_CSTEP,
    G_IFM_ADDR,
    G_IFM_CSTEP,
    G_OFM_ADDR,
    G_OFM_CSTEP,
    G_IFM_PITCH,
    G_OFM_PITCH,
    G_LIMITS
};
enum {
    A_OP,
    A_ACT,
    A_P_KIND,
    A_Q_KIND,
    A_VECTORS,
    A_COUNT,
    A_ROWS,
    A_PLANES,
    A_I32_ACT,
    A_ACT_FUNC,
    A_REDUCE_DUP,
    A_REDUCE_Q,
    A_ALIGN, /* one for each address and step */
    A_ALIGNED = 11,
    A_LIMITS = A_ALIGN + A_ALIGNED
};
enum {
    P_TYPE,
    P_IW,
    P_IH,
    P_OW,
    P_OH,
    P_C,
    P_SW,
    P_SH,
    P_IW_MAX,
    P_OW_MAX,
    P_LEFT,
    P_TOP,
    P_COLUMNS,
    P_ROWS,
    P_IFM_PITCH,
    P_OFM_PITCH,
    P_TAB,
    P_ALIGN, /* one for each address and step */
    P_ALIGNED = 6,
    P_LIMITS = P_ALIGN + P_ALIGNED
};

static const char *const gemm_names[G_LIMITS] = {
    [G_OP] = "OP",
    [G_PAD_MODE] = "PAD_MODE",
    [G_ACT] = "TYPE of GEMM_ACT",
    [G_CHANNELS] = "oc = ic",
    [G_RAW_OSCALE] = "DIV_IC, OSCALE",
    [G_RAW_BIAS] = "DIV_IC, BIAS",
    [G_RAW_REQUANT] = "DIV_IC, REQUANT",
    [G_RAW_ACT] = "DIV_IC, GEMM_ACT",
    [G_INT_BIAS] = "IBIAS without BIAS",
    [G_IW] = "iw not 0",
    [G_IH] = "ih not 0",
    [G_IC] = "ic not 0",
    [G_OW] = "ow not 0",
    [G_OH] = "oh not 0",
    [G_OC] = "oc not 0",
    [G_KW] = "kw not 0",
    [G_KH] = "kh not 0",
    [G_SW] = "sw not 0",
    [G_SH] = "sh not 0",
    [G_DW] = "dw not 0",
    [G_DH] = "dh not 0",
    [G_OC_MAX] = "oc",
    [G_PIXELS_IN] = "ih*iw",
    [G_PIXELS_OUT] = "ow*oh",
    [G_WEIGHTS] = "W",
    [G_RESIDENT] = "W of WGT_RES",
    [G_MAP] = "input",
    [G_ROWS] = "rows of a group",
    [G_KEEP_ALONE] = "WGT_KEEP without WGT_RES",
    [G_KEEP_NOTHING] = "WGT_KEEP of nothing",
    [G_KEEP_OP] = "WGT_KEEP, OP",
    [G_KEEP_ADDR] = "WGT_KEEP, GEMM_WGT_ADDR",
    [G_KEEP_KW] = "WGT_KEEP, kw",
    [G_KEEP_KH] = "WGT_KEEP, kh",
    [G_KEEP_IC] = "WGT_KEEP, ic",
    [G_KEEP_OC] = "WGT_KEEP, oc",
    [G_WGT_ADDR] = "GEMM_WGT_ADDR",
    [G_OSCALE_ADDR] = "GEMM_OSCALE_ADDR",
    [G_BIAS_ADDR] = "GEMM_BIAS_ADDR",
    [G_PSUM_ADDR] = "GEMM_PSUM_ADDR",
    [G_PSUM_CSTEP] = "GEMM_PSUM_CSTEP",
    [G_IFM_ADDR] = "GEMM_IFM_ADDR",
    [G_IFM_CSTEP] = "GEMM_IFM_CSTEP",
    [G_OFM_ADDR] = "GEMM_OFM_ADDR",
    [G_OFM_CSTEP] = "GEMM_OFM_CSTEP",
    [G_IFM_PITCH] = "pitch of the input",
    [G_OFM_PITCH] = "pitch of the output",
};
static const char *const alu_names[A_LIMITS] = {
    "OP",         "TYPE of ALU_ACT", "P_KIND",       "Q_KIND",       "P and Q VECTOR", "COUNT",
    "ROWS",       "PLANES",          "ADD_I32, act", "act and func", "reduction, DUP", "reduction, Q_KIND",
    "ALU_A_ADDR", "ALU_A_RSTEP",     "ALU_A_PSTEP",  "ALU_B_ADDR",   "ALU_B_RSTEP",    "ALU_B_PSTEP",
    "ALU_O_ADDR", "ALU_O_RSTEP",     "ALU_O_PSTEP",  "ALU_P_ADDR",   "ALU_Q_ADDR"};
static const char *const pool_names[P_LIMITS] = {"TYPE",
                                                 "IW not 0",
                                                 "IH not 0",
                                                 "OW not 0",
                                                 "OH not 0",
                                                 "C not 0",
                                                 "SW not 0",
                                                 "SH not 0",
                                                 "IW",
                                                 "OW",
                                                 "LEFT < KW",
                                                 "TOP < KH",
                                                 "empty window in a row",
                                                 "empty window in a column",
                                                 "pitch of the input",
                                                 "pitch of the output",
                                                 "POOL_TAB_ADDR",
                                                 "POOL_IFM_ADDR",
                                                 "POOL_IFM_CSTEP",
                                                 "POOL_IFM_RSTEP",
                                                 "POOL_OFM_ADDR",
                                                 "POOL_OFM_CSTEP",
                                                 "POOL_OFM_RSTEP"};
static const struct {
    const char *const *names;
    uint32_t count;
} limits[NPU_UNIT_COUNT] = {[NPU_UNIT_GEMM] = {gemm_names, G_LIMITS},
                            [NPU_UNIT_ALU] = {alu_names, A_LIMITS},
                            [NPU_UNIT_POOL] = {pool_names, P_LIMITS}};

uint32_t non_limits(npu_unit unit) {
    return limits[unit].count;
}

const char *non_limit_name(npu_unit unit, uint32_t limit) {
    return limits[unit].names[limit];
}

/* The bit of a violated limit. */
static uint64_t unless(bool holds, uint32_t limit) {
    return holds ? 0 : UINT64_C(1) << limit;
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
    g->icb = tb_div_up_u64(g->ic, n);
    g->ocb = tb_div_up_u64(g->oc, n);
    g->op = GET(t, GEMM_CTRL, OP);
    g->words = g->op == 0 ? g->kh * g->kw * g->icb * n : g->op == 1 ? g->kh * g->kw : 0;
    g->group = GET(t, GEMM_GROUP, TILES);
    g->group = g->group == 0 ? 1 : tb_min_u64(g->group, 512 / n);
    g->res = GET(t, GEMM_CTRL, WGT_RES) != 0;
    g->keep = GET(t, GEMM_CTRL, WGT_KEEP) != 0;
    g->raw = GET(t, GEMM_CTRL, DIV_IC) != 0;
    g->nhwc_in = GET(t, GEMM_CTRL, LAYOUT) == 0;
    g->requant = GET(t, GEMM_CTRL, REQUANT) != 0;
}

static uint64_t gemm_options(const non_task *t, const gemm *g) {
    return unless(g->op <= 2, G_OP) | unless(GET(t, GEMM_CTRL, PAD_MODE) == 0, G_PAD_MODE) |
           unless(GET(t, GEMM_ACT, TYPE) <= 13, G_ACT) | unless(g->op == 0 || g->oc == g->ic, G_CHANNELS) |
           unless(!g->raw || GET(t, GEMM_CTRL, OSCALE) == 0, G_RAW_OSCALE) |
           unless(!g->raw || GET(t, GEMM_CTRL, BIAS) == 0, G_RAW_BIAS) | unless(!g->raw || !g->requant, G_RAW_REQUANT) |
           unless(!g->raw || GET(t, GEMM_ACT, TYPE) == 0, G_RAW_ACT) |
           unless(GET(t, GEMM_CTRL, IBIAS) == 0 || GET(t, GEMM_CTRL, BIAS) != 0, G_INT_BIAS);
}

static uint64_t gemm_sizes(const gemm *g) {
    return unless(g->iw != 0, G_IW) | unless(g->ih != 0, G_IH) | unless(g->ic != 0, G_IC) | unless(g->ow != 0, G_OW) |
           unless(g->oh != 0, G_OH) | unless(g->oc != 0, G_OC) | unless(g->kw != 0, G_KW) | unless(g->kh != 0, G_KH) |
           unless(g->sw != 0, G_SW) | unless(g->sh != 0, G_SH) | unless(g->dw != 0, G_DW) | unless(g->dh != 0, G_DH) |
           unless(g->oc <= 1024, G_OC_MAX) | unless(g->ih * g->iw <= 65535, G_PIXELS_IN) |
           unless(g->ow * g->oh <= 65535, G_PIXELS_OUT);
}

/* Do the input rows of one group fit? */
static bool gemm_streams(uint32_t n, const gemm *g) {
    if (!g->res || g->ow == 0 || g->oh == 0 || g->kh == 0) {
        return false;
    }
    const uint64_t rows_out = tb_min_u64(g->oh, 1 + (2 * n * g->group + g->ow - 2) / g->ow);
    const uint64_t rows = tb_min_u64(g->ih, (rows_out - 1) * g->sh + (g->kh - 1) * g->dh + 1);
    return rows * g->iw * g->icb + 64 * g->icb <= IFM_WORDS;
}

static uint64_t gemm_buffers(uint32_t n, const gemm *g) {
    const bool fits = g->ih * g->iw * g->icb <= IFM_WORDS || gemm_streams(n, g);
    return unless(g->words <= WGT_WORDS, G_WEIGHTS) |
           unless(!g->res || (g->ocb + 1) / 2 * g->words <= WGT_WORDS, G_RESIDENT) |
           unless(fits, g->res ? G_ROWS : G_MAP);
}

static uint64_t gemm_keeps(const non_task *t, const gemm *g, const non_before *b) {
    if (!g->keep) {
        return 0;
    }
    if (!b->resident) {
        return unless(g->res, G_KEEP_ALONE) | unless(false, G_KEEP_NOTHING);
    }
    return unless(g->res, G_KEEP_ALONE) | unless(b->op == g->op, G_KEEP_OP) |
           unless(b->wgt_addr == REG(t, GEMM_WGT_ADDR), G_KEEP_ADDR) | unless(b->kw == g->kw, G_KEEP_KW) |
           unless(b->kh == g->kh, G_KEEP_KH) | unless(b->ic == g->ic, G_KEEP_IC) | unless(b->oc == g->oc, G_KEEP_OC);
}

static uint64_t gemm_addresses(uint32_t n, const non_task *t, const gemm *g) {
    const uint32_t in = g->nhwc_in ? n : 4;
    const uint32_t out = g->requant ? n : 4;
    return unless(multiple(REG(t, GEMM_WGT_ADDR), 16), G_WGT_ADDR) |
           unless(multiple(REG(t, GEMM_OSCALE_ADDR), 16), G_OSCALE_ADDR) |
           unless(multiple(REG(t, GEMM_BIAS_ADDR), 16), G_BIAS_ADDR) |
           unless(multiple(REG(t, GEMM_PSUM_ADDR), 4), G_PSUM_ADDR) |
           unless(multiple(REG(t, GEMM_PSUM_CSTEP), 4), G_PSUM_CSTEP) |
           unless(multiple(REG(t, GEMM_IFM_ADDR), in), G_IFM_ADDR) |
           unless(multiple(REG(t, GEMM_IFM_CSTEP), in), G_IFM_CSTEP) |
           unless(multiple(REG(t, GEMM_OFM_ADDR), out), G_OFM_ADDR) |
           unless(multiple(REG(t, GEMM_OFM_CSTEP), out), G_OFM_CSTEP) |
           unless(!g->nhwc_in || REG(t, GEMM_IFM_CSTEP) >= g->icb * n, G_IFM_PITCH) |
           unless(!g->requant || REG(t, GEMM_OFM_CSTEP) >= g->ocb * n, G_OFM_PITCH);
}

static void judge_gemm(uint32_t n, const non_before *before, non_task *t) {
    gemm g;
    gemm_get(n, t, &g);
    t->violated = gemm_options(t, &g) | gemm_sizes(&g) | gemm_buffers(n, &g) | gemm_keeps(t, &g, before) |
                  gemm_addresses(n, t, &g);
    t->keeps = t->violated == 0 && g.keep;
    const uint64_t tiles = tb_div_up_u64(g.ow * g.oh, 2 * n);
    const uint64_t blocks = tiles * g.ocb * g.kw * g.kh * (g.op == 0 ? g.icb : 1);
    t->work = blocks * n + g.iw * g.ih * g.icb * n / 4 + g.ow * g.oh * g.ocb * n / 4 + g.ocb * g.words;
}

static void judge_alu(non_task *t) {
    static const uint16_t aligned[A_ALIGNED] = {NPU_REG_ALU_A_ADDR, NPU_REG_ALU_A_RSTEP, NPU_REG_ALU_A_PSTEP,
                                                NPU_REG_ALU_B_ADDR, NPU_REG_ALU_B_RSTEP, NPU_REG_ALU_B_PSTEP,
                                                NPU_REG_ALU_O_ADDR, NPU_REG_ALU_O_RSTEP, NPU_REG_ALU_O_PSTEP,
                                                NPU_REG_ALU_P_ADDR, NPU_REG_ALU_Q_ADDR};
    const uint64_t count = GET(t, ALU_SIZE, COUNT);
    const uint64_t rows = GET(t, ALU_ROWS, ROWS);
    const uint64_t planes = GET(t, ALU_ROWS, PLANES);
    const uint32_t op = GET(t, ALU_CTRL, OP);
    const uint32_t p = GET(t, ALU_CTRL, P_KIND);
    const uint32_t q = GET(t, ALU_CTRL, Q_KIND);
    const uint32_t act = GET(t, ALU_ACT, TYPE);
    const uint32_t func = GET(t, ALU_ACT, FUNC);
    const bool reduces = op == 14 || op == 15 || op == 17 || op == 18;
    t->violated = unless(op <= 18, A_OP) | unless(act <= 13, A_ACT) | unless(p <= 2, A_P_KIND) |
                  unless(q <= 2, A_Q_KIND) | unless(!(p == 1 && q == 1), A_VECTORS) | unless(count != 0, A_COUNT) |
                  unless(rows != 0, A_ROWS) | unless(planes != 0, A_PLANES) |
                  unless(!(op == NPU_ALU_CTRL_OP_ADD_I32 && (act != 0 || func != 0)), A_I32_ACT) |
                  unless(act == 0 || func == 0, A_ACT_FUNC) |
                  unless(!reduces || GET(t, ALU_CTRL, DUP) == 0, A_REDUCE_DUP) | unless(!reduces || q == 0, A_REDUCE_Q);
    for (uint32_t i = 0; i < A_ALIGNED; i++) {
        t->violated |= unless(multiple(t->regs[aligned[i] / 4], 4), A_ALIGN + i);
    }
    t->work = rows * planes * (count / 2 + 20);
}

static void judge_pool(uint32_t n, non_task *t) {
    static const uint16_t aligned[P_ALIGNED] = {NPU_REG_POOL_IFM_ADDR, NPU_REG_POOL_IFM_CSTEP, NPU_REG_POOL_IFM_RSTEP,
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
    const uint64_t pitch = tb_div_up_u64(c, n) * n;
    t->violated = unless(GET(t, POOL_CTRL, TYPE) <= 1, P_TYPE) | unless(iw != 0, P_IW) | unless(ih != 0, P_IH) |
                  unless(ow != 0, P_OW) | unless(oh != 0, P_OH) | unless(c != 0, P_C) | unless(sw != 0, P_SW) |
                  unless(sh != 0, P_SH);
    t->violated |= unless(iw <= 512, P_IW_MAX) | unless(ow <= 64, P_OW_MAX) | unless(left < kw, P_LEFT) |
                   unless(top < kh, P_TOP) | unless(ow == 0 || (ow - 1) * sw < iw + left, P_COLUMNS) |
                   unless(oh == 0 || (oh - 1) * sh < ih + top, P_ROWS) |
                   unless(!int8 || REG(t, POOL_IFM_CSTEP) >= pitch, P_IFM_PITCH) |
                   unless(!int8 || REG(t, POOL_OFM_CSTEP) >= pitch, P_OFM_PITCH) |
                   unless(multiple(REG(t, POOL_TAB_ADDR), 4), P_TAB);
    for (uint32_t i = 0; i < P_ALIGNED; i++) {
        t->violated |= unless(multiple(t->regs[aligned[i] / 4], int8 ? n : 4), P_ALIGN + i);
    }
    t->work = pitch * (oh * ow * kh * kw / 2 + ih * iw);
}

void non_judge(uint32_t n, const non_before *before, non_task *task) {
    task->keeps = false;
    if (task->unit == NPU_UNIT_GEMM) {
        judge_gemm(n, before, task);
    } else if (task->unit == NPU_UNIT_ALU) {
        judge_alu(task);
    } else {
        judge_pool(n, task);
    }
    task->legal = task->violated == 0;
    task->work = task->legal ? task->work : 0;
}

void non_remember(const non_task *t, non_before *before) {
    gemm g;
    if (t->unit != NPU_UNIT_GEMM) {
        return;
    }
    gemm_get(4, t, &g); /* the members used do not depend on N */
    *before = (non_before){g.res,          g.op,           REG(t, GEMM_WGT_ADDR), (uint32_t)g.kw,
                           (uint32_t)g.kh, (uint32_t)g.ic, (uint32_t)g.oc};
}
