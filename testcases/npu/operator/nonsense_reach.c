/*
 * nonsense_reach.c - ranges that a legal task reads and writes, for any addresses and steps (docs/npu/npu.md section
 * 3).
 */
#include "nonsense.h"

#include "npu_regs.h"
#include "num.h"

#include <stdlib.h>

#define REG(t, reg) ((t)->regs[NPU_REG_##reg / 4])
#define GET(t, reg, field) ((REG(t, reg) & NPU_##reg##_##field##_MASK) >> NPU_##reg##_##field##_LSB)

#define LONGEST (256u << 10) /* of a range that is checked: more than a task processes before it is stopped */

/* `outer` x `inner` pieces; addresses wrap at 2^32. */
typedef struct block {
    uint32_t addr, outer, outer_step, inner, inner_step;
    uint64_t bytes;
} block;

static void add(non_ranges *v, uint32_t addr, uint64_t bytes) {
    if (v->count == v->cap) {
        v->all = false;
        return;
    }
    v->all = v->all && bytes <= LONGEST;
    v->r[v->count++] = (non_range){addr, addr + (bytes > LONGEST ? LONGEST : bytes)};
}

static void add_block(non_ranges *v, const block *b) {
    const bool fits = (uint64_t)b->outer * b->inner <= NON_PIECES;
    const uint32_t inner = fits || b->inner <= NON_PIECES ? b->inner : NON_PIECES;
    v->all = v->all && fits;
    for (uint32_t o = 0, pieces = 0; o < b->outer && pieces <= NON_PIECES; o++) {
        for (uint32_t i = 0; i < inner && pieces <= NON_PIECES; i++, pieces++) {
            add(v, b->addr + o * b->outer_step + i * b->inner_step, b->bytes);
        }
    }
    /* too many: the first ones in the other order as well */
    for (uint32_t i = 0, pieces = 0; !fits && i < b->inner && pieces <= NON_PIECES; i++) {
        for (uint32_t o = 0; o < b->outer && pieces <= NON_PIECES; o++, pieces++) {
            add(v, b->addr + o * b->outer_step + i * b->inner_step, b->bytes);
        }
    }
}

static void add_flat(non_ranges *v, uint32_t addr, uint64_t bytes) {
    add_block(v, &(block){.addr = addr, .outer = 1, .inner = 1, .bytes = bytes});
}

static void add_map(non_ranges *v, bool nhwc, uint32_t n, uint32_t addr, uint32_t step, uint32_t channels,
                    uint32_t pixels) {
    const block pixel = {
        .addr = addr, .outer = 1, .inner = pixels, .inner_step = step, .bytes = tb_align_up(channels, n)};
    const block plane = {
        .addr = addr, .outer = 1, .inner = channels, .inner_step = step, .bytes = (uint64_t)pixels * 4};
    add_block(v, nhwc ? &pixel : &plane);
}

static void reach_gemm(uint32_t n, const non_task *t, non_ranges *reads, non_ranges *writes) {
    const bool ext = GET(t, GEMM_CTRL, EXT) != 0;
    const uint64_t kw = ext ? GET(t, GEMM_EXT_KERNEL, KW) : GET(t, GEMM_CTRL, KERNEL);
    const uint64_t kh = ext ? GET(t, GEMM_EXT_KERNEL, KH) : GET(t, GEMM_CTRL, KERNEL);
    const uint32_t ic = GET(t, GEMM_CHANNELS, IC);
    const uint32_t oc = GET(t, GEMM_CHANNELS, OC);
    const uint32_t out = GET(t, GEMM_OFM_SIZE, OW) * GET(t, GEMM_OFM_SIZE, OH);
    const uint32_t op = GET(t, GEMM_CTRL, OP);
    add_map(reads, GET(t, GEMM_CTRL, LAYOUT) == 0, n, REG(t, GEMM_IFM_ADDR), REG(t, GEMM_IFM_CSTEP), ic,
            GET(t, GEMM_IFM_SIZE, IW) * GET(t, GEMM_IFM_SIZE, IH));
    if (op == NPU_GEMM_CTRL_OP_CONV) {
        add_flat(reads, REG(t, GEMM_WGT_ADDR), (uint64_t)tb_align_up(oc, n) * tb_align_up(ic, n) * kw * kh);
    } else if (op == NPU_GEMM_CTRL_OP_DEPTHWISE) {
        add_flat(reads, REG(t, GEMM_WGT_ADDR), (tb_align_up(oc, n) / n) * ((kw * kh * n + 15) / 16 * 16));
    }
    if (GET(t, GEMM_CTRL, OSCALE) != 0) {
        add_flat(reads, REG(t, GEMM_OSCALE_ADDR), tb_align_up(oc, 4) * 4);
    }
    if (GET(t, GEMM_CTRL, BIAS) != 0) {
        add_flat(reads, REG(t, GEMM_BIAS_ADDR), tb_align_up(oc, 4) * 4);
    }
    if (GET(t, GEMM_CTRL, PSUM_ADD) != 0) {
        add_map(reads, false, n, REG(t, GEMM_PSUM_ADDR), REG(t, GEMM_PSUM_CSTEP), oc, out);
    }
    add_map(writes, GET(t, GEMM_CTRL, REQUANT) != 0, n, REG(t, GEMM_OFM_ADDR), REG(t, GEMM_OFM_CSTEP), oc, out);
}

static void reach_alu(const non_task *t, non_ranges *reads, non_ranges *writes) {
    const uint32_t op = GET(t, ALU_CTRL, OP);
    const bool reduces = NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, op);
    const bool dup = GET(t, ALU_CTRL, DUP) != 0;
    const uint32_t rows = GET(t, ALU_ROWS, ROWS);
    const uint32_t planes = GET(t, ALU_ROWS, PLANES);
    const uint64_t bytes = (uint64_t)GET(t, ALU_SIZE, COUNT) * 4;
    const block a = {REG(t, ALU_A_ADDR), planes, REG(t, ALU_A_PSTEP), rows, REG(t, ALU_A_RSTEP), bytes};
    const block b = {REG(t, ALU_B_ADDR), planes, REG(t, ALU_B_PSTEP), rows, REG(t, ALU_B_RSTEP), bytes};
    const block o = {REG(t, ALU_O_ADDR),  planes,
                     REG(t, ALU_O_PSTEP), rows,
                     REG(t, ALU_O_RSTEP), reduces ? 4 : dup ? 2 * bytes : bytes};
    const bool in_place = !reduces && !dup && a.addr == o.addr && (planes == 1 || a.outer_step == o.outer_step) &&
                          (rows == 1 || a.inner_step == o.inner_step);
    if (!in_place) { /* a row may be written to its source */
        add_block(reads, &a);
    }
    if (GET(t, ALU_CTRL, P_KIND) == 1 || GET(t, ALU_CTRL, Q_KIND) == 1) {
        add_block(reads, &b);
    }
    if (GET(t, ALU_CTRL, P_KIND) == 2) {
        add_flat(reads, REG(t, ALU_P_ADDR), (uint64_t)planes * 4);
    }
    if (GET(t, ALU_CTRL, Q_KIND) == 2) {
        add_flat(reads, REG(t, ALU_Q_ADDR), (uint64_t)planes * 4);
    }
    add_block(writes, &o);
}

static void add_strip(non_ranges *v, bool int8, uint32_t c, const uint32_t *regs, uint32_t w, uint32_t h) {
    const block nhwc = {regs[0], h, regs[2], w, regs[1], c};
    const block nchw = {regs[0], c, regs[1], h, regs[2], (uint64_t)w * 4};
    add_block(v, int8 ? &nhwc : &nchw);
}

static void reach_pool(uint32_t n, const non_task *t, non_ranges *reads, non_ranges *writes) {
    const bool int8 = GET(t, POOL_CTRL, INT8) != 0;
    const uint32_t c = int8 ? tb_align_up(GET(t, POOL_CHANNELS, C), n) : GET(t, POOL_CHANNELS, C);
    add_strip(reads, int8, c, &REG(t, POOL_IFM_ADDR), GET(t, POOL_IFM_SIZE, IW), GET(t, POOL_IFM_SIZE, IH));
    if (GET(t, POOL_CTRL, TYPE) == NPU_POOL_CTRL_TYPE_AVG && GET(t, POOL_CTRL, EXCLUDE_PAD) != 0 && !int8) {
        add_flat(reads, REG(t, POOL_TAB_ADDR), (uint64_t)GET(t, POOL_WINDOW, KW) * GET(t, POOL_WINDOW, KH) * 4);
    }
    add_strip(writes, int8, c, &REG(t, POOL_OFM_ADDR), GET(t, POOL_OFM_SIZE, OW), GET(t, POOL_OFM_SIZE, OH));
}

void non_reach(uint32_t n, const non_task *task, non_ranges *reads, non_ranges *writes) {
    reads->count = writes->count = 0;
    reads->all = writes->all = true;
    if (task->unit == NPU_UNIT_GEMM) {
        reach_gemm(n, task, reads, writes);
    } else if (task->unit == NPU_UNIT_ALU) {
        reach_alu(task, reads, writes);
    } else {
        reach_pool(n, task, reads, writes);
    }
}

static int by_begin(const void *a, const void *b) {
    const non_range *x = (const non_range *)a;
    const non_range *y = (const non_range *)b;
    return x->begin < y->begin ? -1 : x->begin > y->begin ? 1 : 0;
}

bool non_determinate(non_ranges *reads, non_ranges *writes) {
    qsort(reads->r, reads->count, sizeof *reads->r, by_begin);
    qsort(writes->r, writes->count, sizeof *writes->r, by_begin);
    for (size_t i = 1; i < writes->count; i++) {
        if (writes->r[i].begin < writes->r[i - 1].end) {
            return false;
        }
    }
    uint64_t reach = 0; /* end of all reads that begin before this write */
    for (size_t w = 0, r = 0; w < writes->count; w++) {
        for (; r < reads->count && reads->r[r].begin < writes->r[w].end; r++) {
            reach = reads->r[r].end > reach ? reads->r[r].end : reach;
        }
        if (reach > writes->r[w].begin) {
            return false;
        }
    }
    return true;
}

bool non_touches(const non_ranges *v, uint64_t begin, uint64_t end) {
    for (size_t i = 0; i < v->count; i++) {
        if (v->r[i].begin < end && begin < v->r[i].end) {
            return true;
        }
    }
    return false;
}
