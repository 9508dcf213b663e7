/* The buffers that a task reads and writes, from its registers (docs/npu/npu.md section 3). The golden device has
 * accepted the task, so the values are legal. */
#include "inflight.h"
#include "npu_regs.h"
#include "num.h"

#define GET(regs, reg, field) (((regs)[NPU_REG_##reg / 4] & NPU_##reg##_##field##_MASK) >> NPU_##reg##_##field##_LSB)

const char *const npu_footprint_names[UNITS] = {[UNIT_ALU] = "alu", [UNIT_POOL] = "pool", [UNIT_GEMM] = "gemm"};

#define MOST_PIECES (1u << 18) /* of a buffer; a buffer of more is described more coarsely */

/* A strided block: `outer` x `inner` pieces of `bytes` bytes; addresses wrap at 2^32 as the hardware's do. */
typedef struct block {
    uint32_t addr, outer, outer_step, inner, inner_step;
    uint64_t bytes;
} block;

/* No driver programs so many pieces, only tests with random settings on the RTL alone: describe each row of pieces as a
 * whole, or all of memory. Wrong accesses of such a task within these ranges are not found. */
static void add_coarse(tb_buffers *t, const block *b) {
    const uint64_t row = (uint64_t)(b->inner - 1) * b->inner_step + b->bytes;
    const bool all = row > UINT32_MAX || b->outer > MOST_PIECES;
    for (uint32_t o = 0; o < b->outer && !all; o++) {
        tb_buffers_range(t, (uint32_t)(b->addr + o * b->outer_step), row);
    }
    if (all) {
        tb_buffers_range(t, 0, UINT64_C(1) << 32);
    }
}

static void add_block(tb_buffers *t, const char *name, tb_ddr_use use, const block *b) {
    tb_buffers_name(t, name, use);
    if ((uint64_t)b->outer * b->inner > MOST_PIECES) {
        add_coarse(t, b);
        return;
    }
    for (uint32_t o = 0; o < b->outer; o++) {
        for (uint32_t i = 0; i < b->inner; i++) {
            tb_buffers_range(t, (uint32_t)(b->addr + o * b->outer_step + i * b->inner_step), b->bytes);
        }
    }
}

static void add_flat(tb_buffers *t, const char *name, uint32_t addr, uint64_t bytes) {
    add_block(t, name, TB_DDR_READ, &(block){.addr = addr, .outer = 1, .inner = 1, .bytes = bytes});
}

/* Whole maps of one task: channels of contiguous elements of `size` bytes, or pixels of INT8 channels, in planes of
 * `size` bytes a channel. */
static block map_block(bool nhwc, uint32_t n, uint32_t size, uint32_t addr, uint32_t step, uint32_t channels,
                       uint32_t pixels) {
    return nhwc
               ? (block){.addr = addr,
                         .outer = 1,
                         .inner = pixels,
                         .inner_step = step,
                         .bytes = (uint64_t)tb_align_up(channels, n) * size}
               : (block){
                     .addr = addr, .outer = 1, .inner = channels, .inner_step = step, .bytes = (uint64_t)pixels * size};
}

static bool same_place(const block *a, const block *b) {
    return a->addr == b->addr && a->bytes == b->bytes && a->outer == b->outer && a->inner == b->inner &&
           (a->outer == 1 || a->outer_step == b->outer_step) && (a->inner == 1 || a->inner_step == b->inner_step);
}

/* An input; the output may have exactly the same place. */
static void add_input(tb_buffers *t, const char *name, const block *in, const block *out) {
    add_block(t, name, TB_DDR_READ, in);
    if (same_place(in, out)) {
        tb_buffers_in_place(t);
    }
}

static void gemm_weights(tb_buffers *t, const uint32_t *regs, uint32_t n) {
    const bool ext = GET(regs, GEMM_CTRL, EXT) != 0;
    const uint32_t kw = ext ? GET(regs, GEMM_EXT_KERNEL, KW) : GET(regs, GEMM_CTRL, KERNEL);
    const uint32_t kh = ext ? GET(regs, GEMM_EXT_KERNEL, KH) : GET(regs, GEMM_CTRL, KERNEL);
    const uint32_t bytes = 1u + GET(regs, GEMM_CTRL, WIDE); /* of a weight */
    const uint64_t ocb = tb_align_up(GET(regs, GEMM_CHANNELS, OC), n) / n;
    const uint64_t icb = tb_align_up(GET(regs, GEMM_CHANNELS, IC), n) / n;
    if (GET(regs, GEMM_CTRL, OP) == NPU_GEMM_CTRL_OP_CONV) {
        add_flat(t, "weights", regs[NPU_REG_GEMM_WGT_ADDR / 4], ocb * icb * kw * kh * n * n * bytes);
    } else if (GET(regs, GEMM_CTRL, OP) == NPU_GEMM_CTRL_OP_DEPTHWISE) {
        add_flat(t, "weights", regs[NPU_REG_GEMM_WGT_ADDR / 4], ocb * tb_align_up(kw * kh * n * bytes, 16));
    } else {
        return;
    }
    if (GET(regs, GEMM_CTRL, WGT_KEEP) != 0) {
        tb_buffers_only(t, NPU_FOOTPRINT_MODEL); /* they are kept on the chip, but the golden device reads them again */
    }
}

static void gemm(tb_buffers *t, const uint32_t *regs, uint32_t n) {
    const uint32_t oc = GET(regs, GEMM_CHANNELS, OC);
    const uint32_t out = GET(regs, GEMM_OFM_SIZE, OW) * GET(regs, GEMM_OFM_SIZE, OH);
    const uint32_t wide = GET(regs, GEMM_CTRL, WIDE); /* INT16, partial sums of int64 */
    const bool nhwc = GET(regs, GEMM_CTRL, LAYOUT) == 0, quant = GET(regs, GEMM_CTRL, REQUANT) != 0;
    const block ifm =
        map_block(nhwc, n, nhwc ? 1 + wide : 4, regs[NPU_REG_GEMM_IFM_ADDR / 4], regs[NPU_REG_GEMM_IFM_CSTEP / 4],
                  GET(regs, GEMM_CHANNELS, IC), GET(regs, GEMM_IFM_SIZE, IW) * GET(regs, GEMM_IFM_SIZE, IH));
    const block psum =
        map_block(false, n, 4u << wide, regs[NPU_REG_GEMM_PSUM_ADDR / 4], regs[NPU_REG_GEMM_PSUM_CSTEP / 4], oc, out);
    const block ofm = map_block(quant, n, quant ? 1 + wide : 4u << (wide & GET(regs, GEMM_CTRL, DIV_IC)),
                                regs[NPU_REG_GEMM_OFM_ADDR / 4], regs[NPU_REG_GEMM_OFM_CSTEP / 4], oc, out);
    add_block(t, "ifm", TB_DDR_READ, &ifm);
    gemm_weights(t, regs, n);
    if (GET(regs, GEMM_CTRL, OSCALE) != 0) {
        add_flat(t, "oscale", regs[NPU_REG_GEMM_OSCALE_ADDR / 4], tb_align_up(oc, 4) * 4);
    }
    if (GET(regs, GEMM_CTRL, BIAS) != 0) {
        add_flat(t, "bias", regs[NPU_REG_GEMM_BIAS_ADDR / 4], tb_align_up(oc, 4) * 4);
    }
    if (GET(regs, GEMM_CTRL, PSUM_ADD) != 0) {
        add_input(t, "psum", &psum, &ofm);
    }
    add_block(t, "ofm", TB_DDR_WRITE, &ofm);
}

static bool uses_p(uint32_t op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, op);
}

static bool uses_q(uint32_t op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_Q | NPU_ALU_CTRL_OP_WITH_REDUCE, op);
}

bool npu_footprint_reduces(const uint32_t *regs) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, GET(regs, ALU_CTRL, OP));
}

bool npu_footprint_fenced(const uint32_t *regs) {
    return GET(regs, GEMM_CTRL, FENCE) != 0;
}

static void alu(tb_buffers *t, const uint32_t *regs) {
    const uint32_t op = GET(regs, ALU_CTRL, OP);
    const uint32_t p = uses_p(op) ? GET(regs, ALU_CTRL, P_KIND) : NPU_ALU_CTRL_P_KIND_SCALAR;
    const uint32_t q = uses_q(op) ? GET(regs, ALU_CTRL, Q_KIND) : NPU_ALU_CTRL_Q_KIND_SCALAR;
    const uint64_t row = (uint64_t)GET(regs, ALU_SIZE, COUNT) * 4;
    const uint32_t rows = GET(regs, ALU_ROWS, ROWS);
    const uint32_t planes = GET(regs, ALU_ROWS, PLANES);
    const block a = {regs[NPU_REG_ALU_A_ADDR / 4],  planes, regs[NPU_REG_ALU_A_PSTEP / 4], rows,
                     regs[NPU_REG_ALU_A_RSTEP / 4], row};
    const block b = {regs[NPU_REG_ALU_B_ADDR / 4],  planes, regs[NPU_REG_ALU_B_PSTEP / 4], rows,
                     regs[NPU_REG_ALU_B_RSTEP / 4], row};
    const block o = {
        regs[NPU_REG_ALU_O_ADDR / 4],  planes,
        regs[NPU_REG_ALU_O_PSTEP / 4], rows,
        regs[NPU_REG_ALU_O_RSTEP / 4], npu_footprint_reduces(regs) ? 4 : GET(regs, ALU_CTRL, DUP) != 0 ? 2 * row : row};
    add_input(t, "a", &a, &o);
    if (p == NPU_ALU_CTRL_P_KIND_VECTOR || q == NPU_ALU_CTRL_Q_KIND_VECTOR) {
        add_input(t, "b", &b, &o);
    }
    if (p == NPU_ALU_CTRL_P_KIND_PLANE) {
        add_flat(t, "p", regs[NPU_REG_ALU_P_ADDR / 4], (uint64_t)planes * 4);
    }
    if (q == NPU_ALU_CTRL_Q_KIND_PLANE) {
        add_flat(t, "q", regs[NPU_REG_ALU_Q_ADDR / 4], (uint64_t)planes * 4);
    }
    add_block(t, "out", TB_DDR_WRITE, &o);
}

/* A strip of `w` columns and `h` rows of all channels. */
static block strip(bool int8, uint32_t channels, uint32_t addr, uint32_t cstep, uint32_t rstep, uint32_t w,
                   uint32_t h) {
    return int8 ? (block){.addr = addr,
                          .outer = h,
                          .outer_step = rstep,
                          .inner = w,
                          .inner_step = cstep,
                          .bytes = channels}
                : (block){.addr = addr,
                          .outer = channels,
                          .outer_step = cstep,
                          .inner = h,
                          .inner_step = rstep,
                          .bytes = (uint64_t)w * 4};
}

static void pool(tb_buffers *t, const uint32_t *regs, uint32_t n) {
    const bool int8 = GET(regs, POOL_CTRL, INT8) != 0;
    const uint32_t c = int8 ? tb_align_up(GET(regs, POOL_CHANNELS, C), n) : GET(regs, POOL_CHANNELS, C);
    const uint32_t kw = GET(regs, POOL_WINDOW, KW);
    const uint32_t kh = GET(regs, POOL_WINDOW, KH);
    const uint32_t oh = GET(regs, POOL_OFM_SIZE, OH);
    const uint32_t ih = GET(regs, POOL_IFM_SIZE, IH);
    const uint32_t last = (oh - 1) * GET(regs, POOL_WINDOW, SH) + kh - GET(regs, POOL_PAD, TOP);
    const block in = strip(int8, c, regs[NPU_REG_POOL_IFM_ADDR / 4], regs[NPU_REG_POOL_IFM_CSTEP / 4],
                           regs[NPU_REG_POOL_IFM_RSTEP / 4], GET(regs, POOL_IFM_SIZE, IW), last < ih ? last : ih);
    const block out = strip(int8, c, regs[NPU_REG_POOL_OFM_ADDR / 4], regs[NPU_REG_POOL_OFM_CSTEP / 4],
                            regs[NPU_REG_POOL_OFM_RSTEP / 4], GET(regs, POOL_OFM_SIZE, OW), oh);
    add_block(t, "ifm", TB_DDR_READ, &in);
    if (GET(regs, POOL_CTRL, TYPE) == NPU_POOL_CTRL_TYPE_AVG && GET(regs, POOL_CTRL, EXCLUDE_PAD) != 0 && !int8) {
        add_flat(t, "table", regs[NPU_REG_POOL_TAB_ADDR / 4], (uint64_t)kw * kh * 4);
    }
    add_block(t, "ofm", TB_DDR_WRITE, &out);
}

void npu_footprint(unsigned unit, const uint32_t *regs, uint32_t n, tb_buffers *t) {
    switch (unit) {
    case UNIT_ALU:
        alu(t, regs);
        break;
    case UNIT_POOL:
        pool(t, regs, n);
        break;
    default:
        gemm(t, regs, n);
        break;
    }
}
