/*
 * npu_conv_shape.c - hardware resources of a convolution and its tasks, and the check of a plan against them.
 */
#include "npu_conv_priv.h"

uint32_t npu_conv_extent_w(const npu_conv *c) {
    return (c->kw - 1) * c->dil_w + 1;
}

uint32_t npu_conv_extent_h(const npu_conv *c, uint32_t k) {
    return (k - 1) * c->dil_h + 1;
}

static npu_status check_sizes(const npu_conv *c) {
    if (c->iw == 0 || c->ih == 0 || c->ic == 0 || c->oc == 0 || c->kw == 0 || c->kh == 0 || c->stride_w == 0 ||
        c->stride_h == 0 || c->dil_w == 0 || c->dil_h == 0 || c->groups == 0) {
        return NPU_ERR_ZERO_SIZE;
    }
    if (c->iw > NPU_MAX_DIM || c->ih > NPU_MAX_DIM || c->ic > NPU_MAX_DIM || c->oc > NPU_MAX_DIM) {
        return NPU_ERR_TOO_LARGE;
    }
    if (c->kw > NPU_MAX_BYTE || c->kh > NPU_MAX_BYTE) {
        return NPU_ERR_KERNEL;
    }
    if (c->stride_w > NPU_MAX_BYTE || c->stride_h > NPU_MAX_BYTE || c->dil_w > NPU_MAX_BYTE ||
        c->dil_h > NPU_MAX_BYTE) {
        return NPU_ERR_STRIDE;
    }
    if (c->pad_l > NPU_MAX_BYTE || c->pad_r > NPU_MAX_BYTE || c->pad_t > NPU_MAX_BYTE || c->pad_b > NPU_MAX_BYTE) {
        return NPU_ERR_PADDING;
    }
    return c->ic % c->groups != 0 || c->oc % c->groups != 0 ? NPU_ERR_GROUPS : NPU_OK;
}

/* INT16 is symmetric, and its tensors are not those of INT8. */
static bool width_is_legal(const npu_conv *c) {
    const npu_layout other = c->wide ? NPU_INT8_NHWC : NPU_INT16_NHWC;
    const npu_quant *q = &c->quant;
    return c->in_layout != other && c->out_layout != other &&
           !(c->wide && (c->int_bias || q->in_zero != 0 || q->out_zero != 0 || q->to_even || q->full));
}

npu_status npu_conv_shape(const npu_conv *c, uint32_t *ow, uint32_t *oh) {
    npu_status status = (uint32_t)c->in_layout <= NPU_INT16_NHWC && (uint32_t)c->out_layout <= NPU_INT16_NHWC
                            ? check_sizes(c)
                            : NPU_ERR_ARG;
    if (status == NPU_OK && !width_is_legal(c)) {
        status = NPU_ERR_LAYOUT;
    }
    if (status == NPU_OK) {
        status = npu_act_check(c->act, c->act_p);
    }
    if (status == NPU_OK && c->int_bias && !c->has_bias) {
        status = NPU_ERR_LAYOUT;
    }
    if (status != NPU_OK) {
        return status;
    }
    uint32_t padded_w = c->iw + c->pad_l + c->pad_r;
    uint32_t padded_h = c->ih + c->pad_t + c->pad_b;
    if (padded_w < npu_conv_extent_w(c) || padded_h < npu_conv_extent_h(c, c->kh)) {
        return NPU_ERR_TOO_SMALL;
    }
    *ow = (padded_w - npu_conv_extent_w(c)) / c->stride_w + 1;
    *oh = (padded_h - npu_conv_extent_h(c, c->kh)) / c->stride_h + 1;
    return *ow > NPU_MAX_DIM || *oh > NPU_MAX_DIM ? NPU_ERR_TOO_LARGE : NPU_OK;
}

/* Lines `first` .. `end`-1 of a padded map, counted from its first line of padding. */
static npu_span span_of(uint32_t first, uint32_t end, uint32_t pad, uint32_t map) {
    uint32_t map_end = pad + map;
    npu_span span = {0, 0, 0, 0};
    if (end <= pad || first >= map_end) {
        return span;
    }
    span.before = first < pad ? pad - first : 0;
    span.after = end > map_end ? end - map_end : 0;
    span.first = first + span.before - pad;
    span.count = end - span.after - pad - span.first;
    return span;
}

npu_span npu_conv_rows(const npu_conv *conv, uint32_t k0, uint32_t k, uint32_t oh0, uint32_t oh) {
    uint32_t first = oh0 * conv->stride_h + k0 * conv->dil_h;
    return span_of(first, first + (oh - 1) * conv->stride_h + npu_conv_extent_h(conv, k), conv->pad_t, conv->ih);
}

npu_span npu_conv_columns(const npu_conv *conv, uint32_t ow0, uint32_t ow) {
    uint32_t first = ow0 * conv->stride_w;
    return span_of(first, first + (ow - 1) * conv->stride_w + npu_conv_extent_w(conv), conv->pad_l, conv->iw);
}

uint32_t npu_conv_rows_needed(const npu_conv *c, uint32_t k, uint32_t oh) {
    return npu_min(c->ih, (oh - 1) * c->stride_h + npu_conv_extent_h(c, k));
}

uint32_t npu_conv_rows_from(const npu_conv *c, const npu_conv_plan *p, uint32_t ih) {
    uint32_t rows = p->oh;
    if (ih < npu_conv_rows_needed(c, p->kh_task, 1)) {
        return 0;
    }
    if (ih < c->ih) {
        rows = (ih - npu_conv_extent_h(c, p->kh_task)) / c->stride_h + 1;
    }
    return npu_min(npu_min(rows, p->oh), NPU_MAX_PIXELS / p->ow);
}

uint32_t npu_conv_columns_from(const npu_conv *c, uint32_t ow, uint32_t icb, uint32_t words) {
    uint32_t iw = words / npu_conv_pixel_words(c, icb);
    if (iw >= c->iw) {
        return ow;
    }
    return iw < npu_conv_extent_w(c) ? 0 : npu_min(ow, (iw - npu_conv_extent_w(c)) / c->stride_w + 1);
}

/* Tiles that the hardware writes back together at most. */
static uint32_t group_of(const npu_conv *c, uint32_t n, uint32_t group) {
    return npu_min(group, (c->wide ? 256 : 512) / n);
}

uint64_t npu_conv_window_words(const npu_conv *c, const npu_conv_plan *p, uint32_t icb, uint32_t group) {
    uint32_t pixels = 2 * p->n * group_of(c, p->n, group);
    uint32_t oh = npu_min(p->oh_task != 0 ? p->oh_task : p->oh, 1 + (pixels + p->ow - 2) / p->ow);
    uint64_t words = npu_conv_pixel_words(c, icb);
    return npu_conv_rows_needed(c, p->kh_task, oh) * words * c->iw + 64 * words;
}

uint32_t npu_conv_wgt_words(const npu_conv *c, const npu_conv_plan *p, uint32_t k, uint32_t icb) {
    return (p->op == NPU_GEMM_DEPTHWISE ? k * c->kw : k * c->kw * icb * p->n) * (c->wide ? 2 : 1);
}

uint32_t npu_conv_resident_ocb(const npu_conv *c, const npu_conv_plan *p, uint32_t icb) {
    return 2 * (NPU_WGT_WORDS / npu_conv_wgt_words(c, p, p->kh_task, icb));
}

uint64_t npu_conv_wgt_bytes(const npu_conv *conv, const npu_conv_plan *plan, uint32_t blocks, uint32_t k,
                            uint32_t icb) {
    uint64_t bytes = (uint64_t)npu_conv_wgt_words(conv, plan, k, icb) * plan->n;
    return blocks * (plan->op == NPU_GEMM_DEPTHWISE ? (bytes + 15) / 16 * 16 : bytes);
}

uint32_t npu_conv_batch_ic(const npu_conv *c, const npu_conv_plan *p) {
    return c->ic / c->groups * p->merge;
}

uint32_t npu_conv_batch_oc(const npu_conv *c, const npu_conv_plan *p) {
    return c->oc / c->groups * p->merge;
}

bool npu_conv_merge_is_aligned(const npu_conv *c, uint32_t n, uint32_t m) {
    uint32_t icg = c->ic / c->groups;
    uint32_t ocg = c->oc / c->groups;
    if (m >= c->groups) {
        return true;
    }
    return (c->in_layout == NPU_FP32_NCHW || m * icg % n == 0) &&
           m * ocg % (c->out_layout == NPU_FP32_NCHW ? 4 : n) == 0;
}

npu_status npu_conv_plan_bytes(const npu_conv *c, npu_conv_plan *p) {
    uint64_t wgt = 0;
    uint64_t scratch = 0;
    for (uint32_t g = 0; g < p->group_tasks; g++) {
        uint32_t groups = npu_conv_batch_groups(c, p, g);
        uint32_t icb = npu_div_up(c->ic / c->groups * groups, p->n);
        uint32_t ocb = npu_div_up(c->oc / c->groups * groups, p->n);
        wgt += npu_conv_wgt_bytes(c, p, ocb, p->kh_task, icb) * (p->kh_tasks - 1);
        wgt += npu_conv_wgt_bytes(c, p, ocb, c->kh - p->kh_task * (p->kh_tasks - 1), icb);
    }
    if (npu_conv_uses_scratch(c) && (p->ic_tasks > 1 || p->kh_tasks > 1)) {
        scratch = npu_conv_scratch_step(c, p) * p->oc_task;
    }
    if (wgt > UINT32_MAX || scratch > UINT32_MAX) {
        return NPU_ERR_ADDR_OVERFLOW;
    }
    p->wgt_bytes = (uint32_t)wgt;
    p->scratch_bytes = (uint32_t)scratch;
    p->param_bytes = npu_div_up(c->oc, 4) * 16;
    return NPU_OK;
}

/* Does the hardware support every task of this size? */
static bool tasks_fit(const npu_conv *c, const npu_conv_plan *p) {
    uint32_t icb = npu_div_up(p->ic_task, p->n);
    uint32_t ocb = npu_div_up(p->oc_task, p->n);
    if (p->oc_task > NPU_MAX_TASK_OC || npu_conv_wgt_words(c, p, p->kh_task, icb) > NPU_WGT_WORDS) {
        return false;
    }
    if (p->row_split) {
        return !p->resident && p->oh_task == 1 && p->kh_task == 1 &&
               p->ow_task <= npu_conv_columns_from(c, p->ow, icb, NPU_IFM_WORDS);
    }
    if (p->ow_task != p->ow || c->iw > NPU_IFM_WORDS) {
        return false;
    }
    if (p->resident) {
        return ocb <= npu_conv_resident_ocb(c, p, icb) &&
               p->oh_task <= npu_conv_rows_from(c, p, NPU_MAX_PIXELS / c->iw) &&
               npu_conv_window_words(c, p, icb, p->group) <= NPU_IFM_WORDS;
    }
    return p->oh_task <= npu_conv_rows_from(c, p, NPU_IFM_WORDS / (c->iw * npu_conv_pixel_words(c, icb)));
}

/* Is `size` a split of `total` into `pieces`? */
static bool is_cut(uint32_t total, uint32_t size, uint32_t pieces) {
    return size != 0 && size <= total && pieces == npu_div_up(total, size);
}

static bool channels_fit(const npu_conv *c, const npu_conv_plan *p) {
    uint32_t n = p->n;
    if (!is_cut(npu_conv_batch_oc(c, p), p->oc_task, p->oc_tasks) || (p->oc_tasks > 1 && p->oc_task % n != 0)) {
        return false;
    }
    if (p->op == NPU_GEMM_DEPTHWISE) {
        return p->ic_task == p->oc_task && p->ic_tasks == 1;
    }
    return is_cut(npu_conv_batch_ic(c, p), p->ic_task, p->ic_tasks) && (p->ic_tasks == 1 || p->ic_task % n == 0);
}

npu_status npu_conv_plan_check(const npu_conv *conv, const npu_conv_plan *plan) {
    npu_conv_plan fresh;
    /* Values that do not depend on the splits must equal those of a fresh plan; each split must be legal for the
     * hardware.
     */
    npu_status status = npu_conv_plan_make(plan->n, conv, NULL, &fresh);
    if (status != NPU_OK) {
        return status;
    }
    if (plan->ow != fresh.ow || plan->oh != fresh.oh || plan->op != fresh.op || plan->group == 0 ||
        plan->group > NPU_MAX_BYTE || !is_cut(conv->groups, plan->merge, plan->group_tasks) ||
        !npu_conv_merge_is_aligned(conv, plan->n, plan->merge)) {
        return NPU_ERR_SPLIT;
    }
    if (plan->op == NPU_GEMM_DEPTHWISE && plan->merge != conv->groups) {
        return NPU_ERR_SPLIT;
    }
    if (!is_cut(plan->ow, plan->ow_task, plan->ow_tasks) || !is_cut(plan->oh, plan->oh_task, plan->oh_tasks) ||
        !is_cut(conv->kh, plan->kh_task, plan->kh_tasks) || !channels_fit(conv, plan) || !tasks_fit(conv, plan)) {
        return NPU_ERR_SPLIT;
    }
    fresh = *plan;
    status = npu_conv_plan_bytes(conv, &fresh);
    if (status != NPU_OK) {
        return status;
    }
    return plan->wgt_bytes == fresh.wgt_bytes && plan->param_bytes == fresh.param_bytes &&
                   plan->scratch_bytes == fresh.scratch_bytes
               ? NPU_OK
               : NPU_ERR_SPLIT;
}
