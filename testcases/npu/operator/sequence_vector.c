/* sequence_vector.c - random ALU and POOL tasks inside the limits of docs/npu/npu.md sections 3.3 and 3.4. */
#include "sequence.h"

#include "npu_regs.h"
#include "num.h"

#include <stdio.h>
#include <string.h>

enum { SCALAR, VECTOR, PLANE };

typedef struct alu_shape {
    uint32_t op, p_kind, q_kind, count, rows, planes, act, func;
    bool dup, in_place;
} alu_shape;

static bool alu_uses_p(uint32_t op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, op);
}

static bool alu_uses_q(uint32_t op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_Q, op);
}

static bool alu_reduces(uint32_t op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, op);
}

static void draw_alu_shape(tb_rng *rng, alu_shape *s) {
    memset(s, 0, sizeof *s);
    s->op = (uint32_t)tb_rng_range(rng, 0, NPU_ALU_CTRL_OP_COUNT - 1);
    s->count = seq_chance(rng, 4) ? seq_small(rng, 1, 6000) : seq_small(rng, 1, 300);
    s->rows = seq_small(rng, 1, 5);
    s->planes = seq_small(rng, 1, 5);
    s->p_kind = (uint32_t)tb_rng_range(rng, 0, 2);
    s->q_kind = alu_reduces(s->op) ? SCALAR : (uint32_t)tb_rng_range(rng, 0, 2);
    if (s->p_kind == VECTOR && s->q_kind == VECTOR) {
        s->q_kind = PLANE;
    }
    s->act = s->op == NPU_ALU_CTRL_OP_ADD_I32 || seq_chance(rng, 2)
                 ? 0u
                 : (uint32_t)tb_rng_range(rng, 1, NPU_GEMM_ACT_TYPE_COUNT - 1);
    s->func = s->op == NPU_ALU_CTRL_OP_ADD_I32 || s->act != 0 || seq_chance(rng, 2)
                  ? 0u
                  : (uint32_t)tb_rng_range(rng, 1, NPU_ALU_ACT_FUNC_COUNT - 1);
    s->dup = !alu_reduces(s->op) && seq_chance(rng, 6);
    s->in_place = !alu_reduces(s->op) && !s->dup && seq_chance(rng, 4);
}

/* Steps of a tensor: rows and planes of `bytes` bytes with small gaps. */
static seq_output place(tb_rng *rng, const alu_shape *s, uint32_t bytes) {
    seq_output at = {0, bytes, s->rows, 0, s->planes, 0};
    at.rstep = bytes + 4 * seq_small(rng, 0, 6);
    at.pstep = at.rstep * s->rows + 4 * seq_small(rng, 0, 6);
    return at;
}

static void write_place(seq_task *t, uint32_t reg, const seq_output *at) {
    seq_write(t, reg, at->addr);
    seq_write(t, reg + 4, at->rstep);
    seq_write(t, reg + 8, at->pstep);
}

static bool make_alu_operands(tc_run *run, tb_rng *rng, const alu_shape *s, seq_task *t) {
    const bool reads_b = (alu_uses_p(s->op) && s->p_kind == VECTOR) || (alu_uses_q(s->op) && s->q_kind == VECTOR);
    seq_output a = place(rng, s, s->count * 4);
    seq_output b = place(rng, s, s->count * 4);
    a.addr = seq_alloc(run, rng, a.pstep * s->planes + 64, 4, s->in_place ? NPU_BUF_SCRATCH : NPU_BUF_IN);
    b.addr = reads_b ? seq_alloc(run, rng, b.pstep * s->planes + 64, 4, NPU_BUF_IN) : 0;
    if (a.addr == 0 || (reads_b && b.addr == 0) || !seq_fill_f32(run, rng, a, true) ||
        (reads_b && !seq_fill_f32(run, rng, b, true))) {
        return false;
    }
    seq_output out = place(rng, s, alu_reduces(s->op) ? 4u : s->dup ? s->count * 8 : s->count * 4);
    if (s->in_place) {
        out = a;
    } else {
        out.addr = seq_alloc(run, rng, out.pstep * s->planes + 64, 4, NPU_BUF_OUT);
    }
    if (reads_b && seq_chance(rng, 4)) {
        b.pstep = 0; /* every plane uses B of the first one */
    }
    write_place(t, NPU_REG_ALU_A_ADDR, &a);
    write_place(t, NPU_REG_ALU_B_ADDR, &b);
    write_place(t, NPU_REG_ALU_O_ADDR, &out);
    seq_out(t, out);
    return out.addr != 0;
}

static bool make_alu_planes(tc_run *run, tb_rng *rng, bool used, uint32_t planes, uint32_t reg, seq_task *t) {
    const uint32_t addr = used ? seq_alloc(run, rng, planes * 4 + 64, 4, NPU_BUF_IN) : 0;
    seq_write(t, reg, addr);
    return !used || (addr != 0 && seq_fill_f32(run, rng, (seq_output){addr, planes * 4, 1, 0, 1, 0}, true));
}

int seq_draw_alu(tc_run *run, tb_rng *rng, seq_task *t) {
    alu_shape s;
    memset(t, 0, sizeof *t);
    t->unit = NPU_UNIT_ALU;
    draw_alu_shape(rng, &s);
    s.count = seq_cut(run, "cut_map", s.count);
    s.rows = seq_cut(run, "cut_map", s.rows);
    s.planes = seq_cut(run, "cut_ch", s.planes);
    if (!make_alu_operands(run, rng, &s, t) ||
        !make_alu_planes(run, rng, alu_uses_p(s.op) && s.p_kind == PLANE, s.planes, NPU_REG_ALU_P_ADDR, t) ||
        !make_alu_planes(run, rng, alu_uses_q(s.op) && s.q_kind == PLANE, s.planes, NPU_REG_ALU_Q_ADDR, t)) {
        return tc_no_memory(run);
    }
    seq_write(t, NPU_REG_ALU_SIZE, s.count);
    seq_write(t, NPU_REG_ALU_ROWS, s.planes << 16 | s.rows);
    seq_write(t, NPU_REG_ALU_P, seq_float(rng));
    seq_write(t, NPU_REG_ALU_Q, seq_float(rng));
    seq_write(t, NPU_REG_ALU_ACT, s.act | s.func << NPU_ALU_ACT_FUNC_LSB);
    for (uint32_t i = 0; i < 4; i++) {
        seq_write(t, NPU_REG_ALU_ACT_P0 + 4 * i, seq_float(rng));
    }
    seq_write(t, NPU_REG_ALU_CTRL,
              NPU_ALU_CTRL_EN_MASK | s.op << NPU_ALU_CTRL_OP_LSB | s.p_kind << NPU_ALU_CTRL_P_KIND_LSB |
                  s.q_kind << NPU_ALU_CTRL_Q_KIND_LSB | (s.dup ? NPU_ALU_CTRL_DUP_MASK : 0));
    snprintf(t->what, sizeof t->what, "ALU op=%u p=%u q=%u count=%u rows=%u planes=%u act=%u func=%u%s%s", s.op,
             s.p_kind, s.q_kind, s.count, s.rows, s.planes, s.act, s.func, s.dup ? " dup" : "",
             s.in_place ? " in place" : "");
    return 0;
}

typedef struct pool_shape {
    uint32_t iw, ih, ow, oh, c, kw, kh, sw, sh, left, top;
    uint32_t type; /* of POOL_CTRL */
    bool int8, exclude;
} pool_shape;

static const char *const type_names[] = NPU_POOL_CTRL_TYPE_NAMES;

static void draw_pool_shape(uint32_t n, tb_rng *rng, pool_shape *s) {
    do {
        memset(s, 0, sizeof *s);
        s->type = NPU_POOL_CTRL_TYPE_COUNT - 1 - (uint32_t)tb_rng_range(rng, 0, NPU_POOL_CTRL_TYPE_COUNT - 1);
        s->int8 = seq_chance(rng, 2);
        s->exclude = seq_chance(rng, 2);
        s->kw = seq_chance(rng, 12) ? seq_small(rng, 1, 255) : seq_small(rng, 1, 7);
        s->kh = seq_chance(rng, 3) ? seq_small(rng, 1, 13) : s->kw;
        s->sw = seq_small(rng, 1, 5);
        s->sh = seq_chance(rng, 2) ? s->sw : seq_small(rng, 1, 5);
        s->left = seq_small(rng, 0, s->kw - 1);
        s->top = seq_small(rng, 0, s->kh - 1);
        s->iw = seq_chance(rng, 6) ? seq_small(rng, 1, 512) : seq_small(rng, 1, 40);
        s->ih = seq_small(rng, 1, 40);
        s->c = seq_small(rng, 1, 3 * n + 9);
        s->ow = (uint32_t)tb_rng_range(rng, 1, (s->iw + s->left - 1) / s->sw + 1);
        s->oh = (uint32_t)tb_rng_range(rng, 1, (s->ih + s->top - 1) / s->sh + 1);
    } while (s->ow > 64 || (uint64_t)s->ow * s->oh * s->kw * s->kh * s->c > 3000000u);
}

/* The knobs cut_...: a smaller shape with the same settings. */
static void cut_pool_shape(const tc_run *run, pool_shape *s) {
    s->kw = seq_cut(run, "cut_k", s->kw);
    s->kh = seq_cut(run, "cut_k", s->kh);
    s->left = tb_min_u32(s->left, s->kw - 1);
    s->top = tb_min_u32(s->top, s->kh - 1);
    s->iw = seq_cut(run, "cut_map", s->iw);
    s->ih = seq_cut(run, "cut_map", s->ih);
    s->ow = tb_min_u32(seq_cut(run, "cut_map", s->ow), (s->iw + s->left - 1) / s->sw + 1);
    s->oh = tb_min_u32(seq_cut(run, "cut_map", s->oh), (s->ih + s->top - 1) / s->sh + 1);
    s->c = seq_cut(run, "cut_ch", s->c);
}

static uint32_t make_pool_table(tc_run *run, tb_rng *rng, const pool_shape *s) {
    const uint32_t addr = seq_alloc(run, rng, s->kw * s->kh * 4 + 64, 4, NPU_BUF_IN);
    for (uint32_t r = 1; addr != 0 && r <= s->kh; r++) {
        for (uint32_t c = 1; c <= s->kw; c++) {
            const float f = 1.0f / (float)(r * c);
            if (!npu_dev_write(run->dev, addr + 4 * ((r - 1) * s->kw + c - 1), &f, 4)) {
                return 0;
            }
        }
    }
    return addr;
}

/* One side of a pooling task: address, steps; input is filled, output declared. */
static bool make_pool_map(tc_run *run, tb_rng *rng, const pool_shape *s, uint32_t w, uint32_t h, uint32_t reg,
                          bool input, seq_task *t) {
    const npu_buf_kind kind = input ? NPU_BUF_IN : NPU_BUF_OUT;
    const uint32_t n = run->n;
    const uint32_t blocks = tb_align_up(s->c, n);
    const uint32_t cstep = s->int8 ? blocks + n * (seq_chance(rng, 2) ? seq_small(rng, 0, 2) : 0) : 0;
    const uint32_t rstep = s->int8 ? w * cstep + n * seq_small(rng, 0, 2) : (w + seq_small(rng, 0, 5)) * 4;
    const uint32_t plane = s->int8 ? cstep : rstep * h + 4 * seq_small(rng, 0, 5);
    const uint32_t addr = seq_alloc(run, rng, (s->int8 ? rstep * h : plane * s->c) + 64, s->int8 ? n : 4, kind);
    const seq_output at =
        s->int8 ? (seq_output){addr, blocks, w, cstep, h, rstep} : (seq_output){addr, w * 4, h, rstep, s->c, plane};
    seq_write(t, reg, addr);
    seq_write(t, reg + 4, plane);
    seq_write(t, reg + 8, rstep);
    if (!input) {
        seq_out(t, at);
        return addr != 0;
    }
    for (uint32_t y = 0; s->int8 && addr != 0 && y < h; y++) {
        for (uint32_t x = 0; x < w; x++) {
            if (!seq_fill_bytes(run, rng, addr + y * rstep + x * cstep, blocks)) {
                return false;
            }
        }
    }
    return addr != 0 && (s->int8 || seq_fill_f32(run, rng, at, true));
}

int seq_draw_pool(tc_run *run, tb_rng *rng, seq_task *t) {
    pool_shape s;
    uint32_t recip = 0;
    memset(t, 0, sizeof *t);
    t->unit = NPU_UNIT_POOL;
    draw_pool_shape(run->n, rng, &s);
    cut_pool_shape(run, &s);
    const float f = 1.0f / (float)(s.kw * s.kh);
    memcpy(&recip, &f, 4);
    const bool table = s.type == NPU_POOL_CTRL_TYPE_AVG && !s.int8 && s.exclude;
    const uint32_t tab = table ? make_pool_table(run, rng, &s) : 0;
    if ((table && tab == 0) || !make_pool_map(run, rng, &s, s.iw, s.ih, NPU_REG_POOL_IFM_ADDR, true, t) ||
        !make_pool_map(run, rng, &s, s.ow, s.oh, NPU_REG_POOL_OFM_ADDR, false, t)) {
        return tc_no_memory(run);
    }
    seq_write(t, NPU_REG_POOL_IFM_SIZE, s.ih << 16 | s.iw);
    seq_write(t, NPU_REG_POOL_OFM_SIZE, s.oh << 16 | s.ow);
    seq_write(t, NPU_REG_POOL_CHANNELS, s.c);
    seq_write(t, NPU_REG_POOL_WINDOW, s.kw | s.kh << 8 | s.sw << 16 | s.sh << 24);
    seq_write(t, NPU_REG_POOL_PAD, s.left | s.top << 8);
    seq_write(t, NPU_REG_POOL_RECIP, recip);
    seq_write(t, NPU_REG_POOL_TAB_ADDR, tab);
    seq_write(t, NPU_REG_POOL_CTRL,
              NPU_POOL_CTRL_EN_MASK | s.type << NPU_POOL_CTRL_TYPE_LSB | (s.int8 ? NPU_POOL_CTRL_INT8_MASK : 0) |
                  (s.exclude ? NPU_POOL_CTRL_EXCLUDE_PAD_MASK : 0));
    snprintf(t->what, sizeof t->what, "POOL %s%s%s k=%ux%u s=%ux%u pad=%u,%u in=%ux%u out=%ux%u c=%u",
             type_names[s.type], s.int8 ? " i8" : "", s.exclude ? " excl" : "", s.kw, s.kh, s.sw, s.sh, s.left, s.top,
             s.iw, s.ih, s.ow, s.oh, s.c);
    return 0;
}
