/*
 * plan_bound.c - a closed form below which no plan of a convolution can end: what the mesh has to compute and what both
 * channels of the bus have to carry. It orders and prunes the candidates of the search (plan_search.c); document 002
 * section 3.3, with the terms of our tasks (docs/npu/performance.md, "Schedule search").
 */
#include "plan_search.h"

#define BUS_BYTES 32u

/* Blocks of `size` along a dimension of `total`: all but the last, and the last one. */
typedef struct blocks {
    uint64_t full, rest;
    uint32_t size;
} blocks;

static blocks cut(uint32_t total, uint32_t size) {
    const uint32_t pieces = tb_div_up(total, size);
    return (blocks){pieces - 1, total - (pieces - 1) * size, size};
}

/* Tiles of 2N pixels of one block of output channels, each task's last one possibly part empty. */
static uint64_t tiles_of(const npu_conv_plan *p) {
    const blocks rows = cut(p->oh, p->oh_task);
    const blocks columns = cut(p->ow, p->ow_task);
    const uint64_t n2 = 2ull * p->n;
    const uint64_t wide = rows.full * tb_div_up_u64((uint64_t)p->oh_task * columns.size, n2) +
                          tb_div_up_u64(rows.rest * columns.size, n2);
    const uint64_t last =
        rows.full * tb_div_up_u64(p->oh_task * columns.rest, n2) + tb_div_up_u64(rows.rest * columns.rest, n2);
    return columns.full * wide + last;
}

/* Input rows that all blocks of rows read together for one slice of `k` kernel rows, less the padding: at either end so
 * many blocks see it as it has rows, at most. */
static uint64_t rows_of(const npu_conv *c, const npu_conv_plan *p, uint32_t k) {
    const blocks rows = cut(p->oh, p->oh_task);
    const uint64_t halo = (uint64_t)(k - 1) * c->dil_h + 1;
    const uint64_t all =
        rows.full * (((uint64_t)p->oh_task - 1) * c->stride_h + halo) + (rows.rest - 1) * c->stride_h + halo;
    const uint64_t count = rows.full + 1;
    const uint64_t pad = c->pad_t * tb_min_u64(count, c->pad_t) + c->pad_b * tb_min_u64(count, c->pad_b);
    /* a block of rows has at most the map, and may lie in the padding altogether */
    return tb_min_u64(all > pad ? all - pad : 0, count * c->ih);
}

/* One batch of ic x oc channels. */
static net_rt_estimate batch(const npu_conv *c, const npu_conv_plan *p, uint32_t ic, uint32_t oc) {
    const uint64_t n = p->n;
    const bool depthwise = p->op == NPU_GEMM_DEPTHWISE;
    const uint64_t icb = depthwise ? 1 : tb_div_up_u64(ic, n);
    const uint64_t ocb = tb_div_up_u64(oc, n);
    const uint64_t tasks = (uint64_t)p->oh_tasks * p->ow_tasks;
    const uint64_t oc_tasks = tb_div_up(oc, p->oc_task);
    const uint64_t slices = (uint64_t)(depthwise ? 1 : tb_div_up(ic, p->ic_task)) * p->kh_tasks;
    const uint64_t f = c->wide ? 2 : 1; /* INT16: two cycles and two bytes for one */
    const uint64_t pixels = (uint64_t)p->ow * p->oh;
    const uint64_t sums = pixels * oc * 4 * f;
    const uint64_t pixel = c->in_layout == NPU_FP32_NCHW ? 4ull * ic : f * tb_div_up_u64(ic, n) * n;
    const uint64_t block = f * c->kh * c->kw * icb * (depthwise ? n : n * n);
    const blocks kernel = cut(c->kh, p->kh_task);
    uint64_t rows = kernel.full * rows_of(c, p, p->kh_task) + rows_of(c, p, (uint32_t)kernel.rest);
    uint64_t times = tasks;
    net_rt_estimate e = {0};
    e.mesh = f * tiles_of(p) * n * c->kh * c->kw * icb * ocb;
    if (p->kh_tasks > 1 ||
        p->row_split) { /* slices that see the padding alone have no task, columns beside it no read */
        const uint64_t inner = p->oh > 2ull * c->kh * c->dil_h ? p->oh - 2ull * c->kh * c->dil_h : 0;
        e.mesh = e.mesh * inner / p->oh;
        rows = rows * inner / p->oh;
        times = 1;
    }
    e.read = rows * c->iw * pixel * (depthwise ? 1 : oc_tasks);
    e.read += block * ocb * (p->resident ? 1 : times) + (slices - 1) * sums * (times > 1 || p->oh_tasks == 1);
    e.write = (slices - 1) * sums * (p->kh_tasks == 1) +
              (c->out_layout == NPU_FP32_NCHW ? pixels * oc * 4 : f * pixels * ocb * n);
    e.fill = block / p->kh_tasks / p->ic_tasks + (uint64_t)c->iw * tb_min_u64(pixel, 4ull * p->ic_task);
    e.tasks = tasks * slices * oc_tasks;
    return e;
}

net_rt_estimate net_plan_bound(const npu_conv *c, const npu_conv_plan *p) {
    net_rt_estimate sum = {0};
    for (uint32_t g = 0; g < 2; g++) { /* full batches, and the last one */
        const uint32_t last = c->groups - p->merge * (p->group_tasks - 1);
        const uint32_t groups = g == 0 ? p->merge : last;
        const uint64_t times = g == 0 ? p->group_tasks - 1 : 1;
        const net_rt_estimate e = batch(c, p, c->ic / c->groups * groups, c->oc / c->groups * groups);
        sum.mesh += times * e.mesh;
        sum.read += times * e.read;
        sum.write += times * e.write;
        sum.tasks += times * e.tasks;
        sum.fill = g == 0 && times > 0 ? e.fill : sum.fill == 0 ? e.fill : sum.fill;
    }
    sum.read /= BUS_BYTES;
    sum.write /= BUS_BYTES;
    sum.fill = c->pad_t == 0 ? sum.fill / BUS_BYTES : 0; /* the first tile may lie in the padding */
    sum.bound = tb_max_u64(tb_max_u64(sum.mesh, sum.write) + sum.fill, sum.read);
    return sum;
}
