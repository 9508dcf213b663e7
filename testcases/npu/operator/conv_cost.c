/* conv_cost.c - the cost of a convolution: tasks, approximate clock cycles, memory. */
#include "conv.h"
#include "num.h"

#include <stdio.h>

#define MAX_ELEMENTS (UINT64_C(1) << 27)

/* Do the kernel rows k0 .. k0+k-1 of one output row see the map? */
static bool sees_map(const npu_conv *c, uint64_t oy, uint32_t k0, uint32_t k) {
    const uint64_t first = oy * c->stride_h + (uint64_t)k0 * c->dil_h;
    return first + (uint64_t)(k - 1) * c->dil_h >= c->pad_t && first < (uint64_t)c->pad_t + c->ih;
}

uint64_t conv_tasks(const npu_conv *conv, const npu_conv_plan *plan) {
    uint64_t row_tasks = (uint64_t)plan->oh_tasks * plan->kh_tasks;
    if (plan->row_split) { /* where padding is a zero-point, rows in it are summed up, too: more tasks than this */
        row_tasks = 0;
        for (uint32_t y = 0; y < plan->oh; y++) {
            uint64_t of_row = 0;
            for (uint32_t k = 0; k < conv->kh; k++) {
                of_row += sees_map(conv, y, k, 1);
            }
            row_tasks += of_row == 0 ? 1 : of_row; /* zeros need a task, too */
        }
    }
    return row_tasks * plan->ow_tasks * plan->ic_tasks * plan->oc_tasks * plan->group_tasks;
}

/* Cycles of a beat of data, by the bus. */
static const uint32_t slowness[TC_BUS_COUNT] = {1, 1, 2, 4, 4, 4};

uint64_t conv_cost(uint32_t n, const npu_conv *c, const npu_conv_plan *p, uint32_t bus) {
    const bool depthwise = p->op == NPU_GEMM_DEPTHWISE;
    const uint64_t taps = (uint64_t)c->kw * p->kh_task;
    const uint64_t icb = tb_div_up_u64(p->ic_task, n);
    const uint64_t ocb = tb_div_up_u64(p->oc_task, n);
    const uint64_t pixels = (uint64_t)p->ow_task * p->oh_task;
    const uint64_t blocks = taps * (depthwise ? 1 : icb);
    const uint64_t mesh = tb_div_up_u64(pixels, 2 * (uint64_t)n) * n * blocks * ocb;
    const uint64_t rows =
        tb_min_u64(c->ih, (uint64_t)(p->oh_task - 1) * c->stride_h + (uint64_t)(p->kh_task - 1) * c->dil_h + 1);
    const uint64_t columns =
        p->row_split
            ? tb_min_u64(c->iw, (uint64_t)(p->ow_task - 1) * c->stride_w + (uint64_t)(c->kw - 1) * c->dil_w + 1)
            : c->iw;
    const uint64_t loads =
        c->in_layout == NPU_INT8_NHWC ? rows * columns * icb * tb_div_up_u64(n, 16) : rows * columns * p->ic_task / 4;
    const uint64_t weights = ocb * blocks * n * (depthwise ? 1 : n) / 16;
    const bool sums = p->ic_tasks > 1 || p->kh_tasks > 1;
    const uint64_t stores =
        c->out_layout == NPU_INT8_NHWC && !sums ? pixels * ocb * 2 : pixels * p->oc_task * (sums ? 2 : 1) / 4;
    return conv_tasks(c, p) * (mesh + (loads + weights + stores) * slowness[bus] + 400);
}

uint64_t conv_macs(const npu_conv *c, const npu_conv_plan *p) {
    return (uint64_t)p->ow * p->oh * c->oc * (c->ic / c->groups) * c->kw * c->kh;
}

tb_shrink_size conv_size(uint32_t n, const tb_knobs *knobs) {
    tb_shrink_size size = {0};
    conv_case what;
    npu_conv_plan plan;
    const npu_status status = conv_case_of(n, knobs, &what);
    for (int second = 0; second <= (tb_knobs_get(knobs, "second") != 0 ? 1 : 0) && status == NPU_OK; second++) {
        const npu_conv_split split = conv_split_of(knobs, second != 0);
        if (npu_conv_plan_make(n, &what.drive, &split, &plan) == NPU_OK) {
            size.cycles += conv_cost(n, &what.drive, &plan, tc_knob(knobs, "bus"));
            size.work = what.linear ? (uint64_t)what.math.ic * what.math.oc : conv_macs(&what.math, &plan);
        }
    }
    return size;
}

/* Well below a second of simulation. */
uint64_t conv_budget(uint32_t n) {
    return n == 4 ? 300000 : n == 8 ? 250000 : n == 16 ? 200000 : 160000;
}

int conv_check_memory(const npu_conv *conv, const npu_conv_plan *plan, char *err, size_t err_size) {
    const uint64_t weights = (uint64_t)conv->oc * (conv->ic / conv->groups) * conv->kw * conv->kh;
    if ((uint64_t)conv->ic * conv->ih * conv->iw > MAX_ELEMENTS ||
        (uint64_t)conv->oc * plan->ow * plan->oh > MAX_ELEMENTS || weights > MAX_ELEMENTS ||
        plan->wgt_bytes > MAX_ELEMENTS) {
        return opt_fail(err, err_size, "a tensor of more than %llu elements does not fit into device memory",
                        (unsigned long long)MAX_ELEMENTS);
    }
    return 0;
}

static uint64_t room_for(uint64_t pixels, uint64_t channels) {
    return (pixels * 4 + 256) * channels + pixels * 512;
}

uint64_t conv_memory(const npu_conv *c, const npu_conv_plan *plan) {
    const uint64_t in = room_for((uint64_t)c->iw * c->ih, c->ic);
    const uint64_t out = room_for((uint64_t)plan->ow * plan->oh, c->oc); /* also enough for the scratch */
    const uint64_t bytes =
        in + 4 * out + 4 * (uint64_t)plan->wgt_bytes + 4 * (uint64_t)plan->param_bytes + (UINT64_C(1) << 20);
    const uint64_t mib64 = UINT64_C(64) << 20;
    return (bytes / mib64 + 1) * mib64;
}
