/*
 * pool.c - maximum and average over windows: docs/npu/npu.md sections 2 (pooling) and 3.4.
 */
#include "exec.h"
#include "regs.h"
#include "cm_num.h"

#define MAX_IW 512u
#define MAX_OW 64u
#define MAX_N 32u

static bool sizes_fit(const cm_pool_task *t) {
    if (t->kw == 0 || t->kh == 0 || t->sw == 0 || t->sh == 0 || t->iw == 0 || t->ih == 0 || t->ow == 0 || t->oh == 0 ||
        t->c == 0) {
        return false;
    }
    if (t->iw > MAX_IW || t->ow > MAX_OW || t->pad_l >= t->kw || t->pad_t >= t->kh) {
        return false;
    }
    return (t->ow - 1) * t->sw < t->iw + t->pad_l && (t->oh - 1) * t->sh < t->ih + t->pad_t; /* no empty window */
}

static bool pool_fits(uint32_t n, const cm_pool_task *t) {
    uint32_t all = t->ifm_addr | t->ifm_cstep | t->ifm_rstep | t->ofm_addr | t->ofm_cstep | t->ofm_rstep;
    if (n != 4 && n != 8 && n != 16 && n != 32) {
        return false;
    }
    if (!sizes_fit(t) || all % (t->int8 ? n : 4) != 0 || t->tab_addr % 4 != 0) {
        return false;
    }
    return !t->int8 || (t->ifm_cstep >= cm_align_up(t->c, n) && t->ofm_cstep >= cm_align_up(t->c, n));
}

bool cm_pool_decode(uint32_t n, const uint32_t *regs, cm_pool_task *out) {
    cm_pool_task t = {
        .avg = CM_GET(regs, POOL_CTRL, TYPE) == NPU_POOL_CTRL_TYPE_AVG,
        .int8 = CM_GET(regs, POOL_CTRL, INT8) != 0,
        .exclude = CM_GET(regs, POOL_CTRL, EXCLUDE_PAD) != 0,
        .kw = CM_GET(regs, POOL_WINDOW, KW),
        .kh = CM_GET(regs, POOL_WINDOW, KH),
        .sw = CM_GET(regs, POOL_WINDOW, SW),
        .sh = CM_GET(regs, POOL_WINDOW, SH),
        .pad_l = CM_GET(regs, POOL_PAD, LEFT),
        .pad_t = CM_GET(regs, POOL_PAD, TOP),
        .iw = CM_GET(regs, POOL_IFM_SIZE, IW),
        .ih = CM_GET(regs, POOL_IFM_SIZE, IH),
        .ow = CM_GET(regs, POOL_OFM_SIZE, OW),
        .oh = CM_GET(regs, POOL_OFM_SIZE, OH),
        .c = CM_GET(regs, POOL_CHANNELS, C),
        .ifm_addr = CM_GET(regs, POOL_IFM_ADDR, ADDR),
        .ifm_cstep = CM_GET(regs, POOL_IFM_CSTEP, BYTES),
        .ifm_rstep = CM_GET(regs, POOL_IFM_RSTEP, BYTES),
        .ofm_addr = CM_GET(regs, POOL_OFM_ADDR, ADDR),
        .ofm_cstep = CM_GET(regs, POOL_OFM_CSTEP, BYTES),
        .ofm_rstep = CM_GET(regs, POOL_OFM_RSTEP, BYTES),
        .recip = CM_GET(regs, POOL_RECIP, VALUE),
        .tab_addr = CM_GET(regs, POOL_TAB_ADDR, ADDR),
    };
    if (CM_GET(regs, POOL_CTRL, TYPE) > NPU_POOL_CTRL_TYPE_AVG || !pool_fits(n, &t)) {
        return false;
    }
    *out = t;
    return true;
}

/*
 * A task works on lanes: the N channels of a block of an INT8 map, or one channel of an FP32 map. An INT8
 * element is kept as int32.
 */
typedef struct pool_run {
    const cm_pool_task *t;
    const cm_mem *mem;
    cm_faults *faults;
    const cm_log *log;
    uint32_t first;           /* channel of lane 0 */
    uint32_t lanes, channels; /* channels: lanes that exist; the others are zero throughout */
    uint32_t ifm_addr, ofm_addr;
    uint32_t row[MAX_IW][MAX_N];
    uint32_t acc[MAX_OW][MAX_N]; /* running maximum or sum of each window of an output row */
} pool_run;

/* The part of a window along one dimension that lies inside the map: first..end-1. */
static uint32_t inside(uint32_t out, uint32_t stride, uint32_t pad, uint32_t k, uint32_t size, uint32_t *end) {
    uint32_t start = out * stride; /* counted from the left edge of the padding, so that it stays positive */
    *end = cm_min_u32(start + k, size + pad) - pad;
    return start > pad ? start - pad : 0;
}

static void read_row(pool_run *p, uint32_t y) {
    const cm_pool_task *t = p->t;
    uint32_t addr = p->ifm_addr + y * t->ifm_rstep;
    if (!t->int8) {
        uint32_t v[MAX_IW];
        cm_exec_read(p->mem, p->faults, addr, v, 4 * t->iw);
        for (uint32_t x = 0; x < t->iw; x++) {
            p->row[x][0] = v[x];
        }
        return;
    }
    for (uint32_t x = 0; x < t->iw; x++) {
        int8_t v[MAX_N] = {0};
        cm_exec_read(p->mem, p->faults, addr + x * t->ifm_cstep, v, p->channels);
        for (uint32_t l = 0; l < p->lanes; l++) {
            p->row[x][l] = (uint32_t)(int32_t)v[l];
        }
    }
}

/* The running value m of a window, after element v. */
static uint32_t take(const cm_pool_task *t, uint32_t m, uint32_t v) {
    if (t->avg) {
        return t->int8 ? m + v : cm_fp_add(m, v);
    }
    bool above = t->int8 ? (int32_t)v > (int32_t)m : cm_fp_lt(m, v);
    return above ? v : m;
}

/* Add one row of the map to the windows of an output row; row by row and left to right is the raster order of each
 * window. */
static void take_row(pool_run *p, bool first_row) {
    const cm_pool_task *t = p->t;
    for (uint32_t ox = 0; ox < t->ow; ox++) {
        uint32_t end;
        uint32_t begin = inside(ox, t->sw, t->pad_l, t->kw, t->iw, &end);
        for (uint32_t l = 0; l < p->lanes; l++) {
            uint32_t x = begin;
            uint32_t m = p->acc[ox][l];
            if (first_row) {
                m = t->avg ? 0 : p->row[x++][l]; /* a sum starts at +0, a maximum is one of the elements */
            }
            for (; x < end; x++) {
                m = take(t, m, p->row[x][l]);
            }
            p->acc[ox][l] = m;
        }
    }
}

/* Half away from zero, clamped. */
static int8_t divide(int32_t sum, int32_t count) {
    int32_t q = sum < 0 ? -((-2 * sum + count) / (2 * count)) : (2 * sum + count) / (2 * count);
    return (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
}

/* Finish the windows of output row oy, which have `rows` rows inside the map, and write them. */
static void write_row(pool_run *p, uint32_t oy, uint32_t rows) {
    const cm_pool_task *t = p->t;
    uint32_t addr = p->ofm_addr + oy * t->ofm_rstep;
    uint64_t at = ((uint64_t)p->first * t->oh + oy) * t->ow; /* in a log */
    uint32_t y[MAX_OW];
    for (uint32_t ox = 0; ox < t->ow; ox++) {
        uint32_t end;
        uint32_t cols = 0 - inside(ox, t->sw, t->pad_l, t->kw, t->iw, &end);
        cols += end;
        if (t->int8) {
            int8_t v[MAX_N];
            uint32_t count = t->exclude ? rows * cols : t->kw * t->kh;
            for (uint32_t l = 0; l < p->lanes; l++) {
                v[l] = t->avg ? divide((int32_t)p->acc[ox][l], (int32_t)count) : (int8_t)(int32_t)p->acc[ox][l];
            }
            cm_exec_log(p->log, CM_LOG_POOL, at + ox, (uint64_t)t->oh * t->ow, p->channels, v);
            cm_exec_write(p->mem, p->faults, 0, addr + ox * t->ofm_cstep, v, p->lanes);
            continue;
        }
        uint32_t factor = t->recip;
        if (t->avg && t->exclude) {
            cm_exec_read(p->mem, p->faults, t->tab_addr + 4 * ((rows - 1) * t->kw + cols - 1), &factor, 4);
        }
        y[ox] = t->avg ? cm_fp_mul(p->acc[ox][0], factor) : p->acc[ox][0];
    }
    if (!t->int8) {
        cm_exec_log(p->log, CM_LOG_POOL, at, 1, t->ow, y);
        cm_exec_write(p->mem, p->faults, 0, addr, y, 4 * t->ow);
    }
}

void cm_pool_execute(uint32_t n, const cm_pool_task *t, const cm_mem *mem, cm_faults *faults, const cm_log *log) {
    pool_run p = {.t = t, .mem = mem, .faults = faults, .log = log, .lanes = t->int8 ? n : 1};
    for (uint32_t c = 0; c < t->c; c += p.lanes) {
        p.first = c;
        p.channels = cm_min_u32(p.lanes, t->c - c);
        p.ifm_addr = t->ifm_addr + c * (t->int8 ? 1 : t->ifm_cstep);
        p.ofm_addr = t->ofm_addr + c * (t->int8 ? 1 : t->ofm_cstep);
        for (uint32_t oy = 0; oy < t->oh; oy++) {
            uint32_t end;
            uint32_t begin = inside(oy, t->sh, t->pad_t, t->kh, t->ih, &end);
            for (uint32_t y = begin; y < end; y++) {
                read_row(&p, y);
                take_row(&p, y == begin);
            }
            write_row(&p, oy, end - begin);
        }
    }
}

bool cm_pool_run(uint32_t n, const cm_pool_task *task, const cm_mem *mem) {
    cm_faults faults = {0};
    if (!pool_fits(n, task)) {
        return false;
    }
    cm_pool_execute(n, task, mem, &faults, NULL);
    return cm_exec_clean(&faults);
}
