/* What a task reads and writes, from its registers (docs/npu.md section 3). The golden device has accepted it, so the values are legal. */
#include "inflight.h"
#include "npu_regs.h"

#include <stdlib.h>

#define GET(regs, reg, field) (((regs)[NPU_REG_##reg / 4] & NPU_##reg##_##field##_MASK) >> NPU_##reg##_##field##_LSB)

void npu_ranges_add(npu_ranges *v, size_t from, uint64_t begin, uint64_t bytes) {
    if (bytes == 0) {
        return;
    }
    if (v->count > from && v->r[v->count - 1].end == begin) {
        v->r[v->count - 1].end += bytes;
        return;
    }
    if (v->count == v->cap) {
        const size_t cap = v->cap == 0 ? 256 : v->cap * 2;
        npu_range *r = (npu_range *)realloc(v->r, cap * sizeof *r);
        if (r == NULL) {
            v->oom = true;
            return;
        }
        v->r = r;
        v->cap = cap;
    }
    v->r[v->count++] = (npu_range){.begin = begin, .end = begin + bytes};
}

/* A strided block: `outer` x `inner` pieces of `bytes` bytes; addresses wrap at 2^32 as the hardware's do. */
typedef struct block {
    uint32_t addr, outer, outer_step, inner, inner_step;
    uint64_t bytes;
} block;

static void add_block(npu_ranges *v, const block *b) {
    const size_t from = v->count;
    for (uint32_t o = 0; o < b->outer; o++) {
        for (uint32_t i = 0; i < b->inner; i++) {
            npu_ranges_add(v, from, (uint32_t)(b->addr + o * b->outer_step + i * b->inner_step), b->bytes);
        }
    }
}

static void add_flat(npu_ranges *v, uint32_t addr, uint64_t bytes) {
    add_block(v, &(block){.addr = addr, .outer = 1, .inner = 1, .bytes = bytes});
}

static uint32_t align_up(uint32_t v, uint32_t n) {
    return (v + n - 1) / n * n;
}

/* Whole maps of one task: channels of contiguous FP32 pixels, or pixels of INT8 channels. */
static void add_map(npu_ranges *v, bool nhwc, uint32_t n, uint32_t addr, uint32_t step, uint32_t channels, uint32_t pixels) {
    if (nhwc) {
        add_block(v, &(block){.addr = addr, .outer = 1, .inner = pixels, .inner_step = step, .bytes = align_up(channels, n)});
    } else {
        add_block(v, &(block){.addr = addr, .outer = 1, .inner = channels, .inner_step = step, .bytes = (uint64_t)pixels * 4});
    }
}

static void gemm_weights(const uint32_t *regs, uint32_t n, npu_ranges *reads) {
    const bool ext = GET(regs, GEMM_CTRL, EXT) != 0;
    const uint32_t kw = ext ? GET(regs, GEMM_EXT_KERNEL, KW) : GET(regs, GEMM_CTRL, KERNEL);
    const uint32_t kh = ext ? GET(regs, GEMM_EXT_KERNEL, KH) : GET(regs, GEMM_CTRL, KERNEL);
    const uint64_t ocb = align_up(GET(regs, GEMM_CHANNELS, OC), n) / n;
    const uint64_t icb = align_up(GET(regs, GEMM_CHANNELS, IC), n) / n;
    if (GET(regs, GEMM_CTRL, WGT_KEEP) != 0) {
        return;
    }
    if (GET(regs, GEMM_CTRL, OP) == NPU_GEMM_CTRL_OP_CONV) {
        add_flat(reads, regs[NPU_REG_GEMM_WGT_ADDR / 4], ocb * icb * kw * kh * n * n);
    } else if (GET(regs, GEMM_CTRL, OP) == NPU_GEMM_CTRL_OP_DEPTHWISE) {
        add_flat(reads, regs[NPU_REG_GEMM_WGT_ADDR / 4], ocb * align_up(kw * kh * n, 16));
    }
}

static void gemm(const uint32_t *regs, uint32_t n, npu_ranges *reads, npu_ranges *writes) {
    const uint32_t oc = GET(regs, GEMM_CHANNELS, OC);
    const uint32_t out = GET(regs, GEMM_OFM_SIZE, OW) * GET(regs, GEMM_OFM_SIZE, OH);
    if (reads != NULL) {
        add_map(reads, GET(regs, GEMM_CTRL, LAYOUT) == 0, n, regs[NPU_REG_GEMM_IFM_ADDR / 4], regs[NPU_REG_GEMM_IFM_CSTEP / 4],
                GET(regs, GEMM_CHANNELS, IC), GET(regs, GEMM_IFM_SIZE, IW) * GET(regs, GEMM_IFM_SIZE, IH));
        gemm_weights(regs, n, reads);
        if (GET(regs, GEMM_CTRL, OSCALE) != 0) {
            add_flat(reads, regs[NPU_REG_GEMM_OSCALE_ADDR / 4], align_up(oc, 4) * 4);
        }
        if (GET(regs, GEMM_CTRL, BIAS) != 0) {
            add_flat(reads, regs[NPU_REG_GEMM_BIAS_ADDR / 4], align_up(oc, 4) * 4);
        }
        if (GET(regs, GEMM_CTRL, PSUM_ADD) != 0) {
            add_map(reads, false, n, regs[NPU_REG_GEMM_PSUM_ADDR / 4], regs[NPU_REG_GEMM_PSUM_CSTEP / 4], oc, out);
        }
    }
    if (writes != NULL) {
        add_map(writes, GET(regs, GEMM_CTRL, REQUANT) != 0, n, regs[NPU_REG_GEMM_OFM_ADDR / 4], regs[NPU_REG_GEMM_OFM_CSTEP / 4], oc, out);
    }
}

static bool uses_p(uint32_t op) {
    return op != NPU_ALU_CTRL_OP_COPY && op != NPU_ALU_CTRL_OP_ABS && op != NPU_ALU_CTRL_OP_SUM;
}

static bool uses_q(uint32_t op) {
    return op == NPU_ALU_CTRL_OP_MULADD || op == NPU_ALU_CTRL_OP_ADDMUL || op == NPU_ALU_CTRL_OP_DOT || op == NPU_ALU_CTRL_OP_SUM;
}

bool npu_footprint_reduces(const uint32_t *regs) {
    const uint32_t op = GET(regs, ALU_CTRL, OP);
    return op == NPU_ALU_CTRL_OP_DOT || op == NPU_ALU_CTRL_OP_SUM;
}

bool npu_footprint_fenced(const uint32_t *regs) {
    return GET(regs, GEMM_CTRL, FENCE) != 0;
}

static void alu(const uint32_t *regs, npu_ranges *reads, npu_ranges *writes) {
    const uint32_t op = GET(regs, ALU_CTRL, OP);
    const uint32_t p = uses_p(op) ? GET(regs, ALU_CTRL, P_KIND) : NPU_ALU_CTRL_P_KIND_SCALAR;
    const uint32_t q = uses_q(op) ? GET(regs, ALU_CTRL, Q_KIND) : NPU_ALU_CTRL_Q_KIND_SCALAR;
    const uint64_t row = (uint64_t)GET(regs, ALU_SIZE, COUNT) * 4;
    const uint32_t rows = GET(regs, ALU_ROWS, ROWS);
    const uint32_t planes = GET(regs, ALU_ROWS, PLANES);
    block b = {.outer = planes, .inner = rows, .bytes = row};
    if (reads != NULL) {
        b.addr = regs[NPU_REG_ALU_A_ADDR / 4];
        b.outer_step = regs[NPU_REG_ALU_A_PSTEP / 4];
        b.inner_step = regs[NPU_REG_ALU_A_RSTEP / 4];
        add_block(reads, &b);
        if (p == NPU_ALU_CTRL_P_KIND_VECTOR || q == NPU_ALU_CTRL_Q_KIND_VECTOR) {
            b.addr = regs[NPU_REG_ALU_B_ADDR / 4];
            b.outer_step = regs[NPU_REG_ALU_B_PSTEP / 4];
            b.inner_step = regs[NPU_REG_ALU_B_RSTEP / 4];
            add_block(reads, &b);
        }
        if (p == NPU_ALU_CTRL_P_KIND_PLANE) {
            add_flat(reads, regs[NPU_REG_ALU_P_ADDR / 4], (uint64_t)planes * 4);
        }
        if (q == NPU_ALU_CTRL_Q_KIND_PLANE) {
            add_flat(reads, regs[NPU_REG_ALU_Q_ADDR / 4], (uint64_t)planes * 4);
        }
    }
    if (writes != NULL) {
        b.addr = regs[NPU_REG_ALU_O_ADDR / 4];
        b.outer_step = regs[NPU_REG_ALU_O_PSTEP / 4];
        b.inner_step = regs[NPU_REG_ALU_O_RSTEP / 4];
        b.bytes = npu_footprint_reduces(regs) ? 4 : GET(regs, ALU_CTRL, DUP) != 0 ? 2 * row : row;
        add_block(writes, &b);
    }
}

/* A strip of `w` columns and `h` rows of all channels. */
static void add_strip(npu_ranges *v, bool int8, uint32_t channels, uint32_t addr, uint32_t cstep, uint32_t rstep, uint32_t w, uint32_t h) {
    if (int8) {
        add_block(v, &(block){.addr = addr, .outer = h, .outer_step = rstep, .inner = w, .inner_step = cstep, .bytes = channels});
    } else {
        add_block(
            v, &(block){.addr = addr, .outer = channels, .outer_step = cstep, .inner = h, .inner_step = rstep, .bytes = (uint64_t)w * 4});
    }
}

static void pool(const uint32_t *regs, uint32_t n, npu_ranges *reads, npu_ranges *writes) {
    const bool int8 = GET(regs, POOL_CTRL, INT8) != 0;
    const uint32_t c = int8 ? align_up(GET(regs, POOL_CHANNELS, C), n) : GET(regs, POOL_CHANNELS, C);
    const uint32_t kw = GET(regs, POOL_WINDOW, KW);
    const uint32_t kh = GET(regs, POOL_WINDOW, KH);
    const uint32_t oh = GET(regs, POOL_OFM_SIZE, OH);
    const uint32_t ih = GET(regs, POOL_IFM_SIZE, IH);
    const uint32_t last = (oh - 1) * GET(regs, POOL_WINDOW, SH) + kh - GET(regs, POOL_PAD, TOP);
    if (reads != NULL) {
        add_strip(reads, int8, c, regs[NPU_REG_POOL_IFM_ADDR / 4], regs[NPU_REG_POOL_IFM_CSTEP / 4], regs[NPU_REG_POOL_IFM_RSTEP / 4],
                  GET(regs, POOL_IFM_SIZE, IW), last < ih ? last : ih);
        if (GET(regs, POOL_CTRL, TYPE) == NPU_POOL_CTRL_TYPE_AVG && GET(regs, POOL_CTRL, EXCLUDE_PAD) != 0 && !int8) {
            add_flat(reads, regs[NPU_REG_POOL_TAB_ADDR / 4], (uint64_t)kw * kh * 4);
        }
    }
    if (writes != NULL) {
        add_strip(writes, int8, c, regs[NPU_REG_POOL_OFM_ADDR / 4], regs[NPU_REG_POOL_OFM_CSTEP / 4], regs[NPU_REG_POOL_OFM_RSTEP / 4],
                  GET(regs, POOL_OFM_SIZE, OW), oh);
    }
}

void npu_footprint(unsigned unit, const uint32_t *regs, uint32_t n, npu_ranges *reads, npu_ranges *writes) {
    switch (unit) {
    case UNIT_ALU:
        alu(regs, reads, writes);
        break;
    case UNIT_POOL:
        pool(regs, n, reads, writes);
        break;
    default:
        gemm(regs, n, reads, writes);
        break;
    }
}
