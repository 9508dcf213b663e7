/*
 * npu_conv_plan.c - how a convolution is cut into tasks that the hardware can do.
 */
#include "npu_priv.h"

/* Two tasks of this size are in the input buffer together, so that one loads while the other computes. */
#define IFM_WORDS_GOAL (NPU_IFM_WORDS / 2u)

/* Output pixels that are written back together: 1 KB of one channel, long bursts that still leave room for the next group. */
#define GROUP_PIXELS 256u

/* Segments of rows do not become shorter than this many input columns for the sake of more input channels. */
#define SEGMENT_COLUMNS 512u

static npu_status check_sizes(const npu_conv *c) {
    if (c->iw == 0 || c->ih == 0 || c->ic == 0 || c->oc == 0 || c->kw == 0 || c->kh == 0 || c->stride_w == 0 || c->stride_h == 0 ||
        c->dil_w == 0 || c->dil_h == 0) {
        return NPU_ERR_ZERO_SIZE;
    }
    if (c->iw > NPU_MAX_DIM || c->ih > NPU_MAX_DIM || c->ic > NPU_MAX_DIM || c->oc > NPU_MAX_DIM) {
        return NPU_ERR_TOO_LARGE;
    }
    if (c->kw > NPU_MAX_KERNEL || c->kh > NPU_MAX_KERNEL || c->dil_w != 1 || c->dil_h != 1) {
        return NPU_ERR_KERNEL;
    }
    if (c->stride_w > NPU_MAX_STRIDE || c->stride_h > NPU_MAX_STRIDE) {
        return NPU_ERR_STRIDE;
    }
    if (c->pad_l >= c->kw || c->pad_r >= c->kw || c->pad_t >= c->kh || c->pad_b >= c->kh) {
        return NPU_ERR_PADDING;
    }
    return NPU_OK;
}

npu_status npu_conv_shape(const npu_conv *conv, uint32_t *ow, uint32_t *oh) {
    if (conv->act != NPU_ACT_NONE && conv->act != NPU_ACT_RELU) {
        return NPU_ERR_ARG;
    }
    npu_status status = check_sizes(conv);
    if (status != NPU_OK) {
        return status;
    }
    uint32_t padded_w = conv->iw + conv->pad_l + conv->pad_r;
    uint32_t padded_h = conv->ih + conv->pad_t + conv->pad_b;
    if (padded_w < conv->kw || padded_h < conv->kh) {
        return NPU_ERR_TOO_SMALL;
    }
    *ow = (padded_w - conv->kw) / conv->stride_w + 1;
    *oh = (padded_h - conv->kh) / conv->stride_h + 1;
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
    uint32_t first = oh0 * conv->stride_h + k0;
    return span_of(first, first + (oh - 1) * conv->stride_h + k, conv->pad_t, conv->ih);
}

npu_span npu_conv_columns(const npu_conv *conv, uint32_t ow0, uint32_t ow) {
    uint32_t first = ow0 * conv->stride_w;
    return span_of(first, first + (ow - 1) * conv->stride_w + conv->kw, conv->pad_l, conv->iw);
}

/* Most input rows that `oh` output rows need, wherever they lie. */
static uint32_t rows_needed(const npu_conv *conv, uint32_t oh) {
    return npu_min(conv->ih, (oh - 1) * conv->stride_h + conv->kh);
}

/* Most output rows of a task whose input takes at most `words` words; 0 when not even one row fits. */
static uint32_t rows_that_fit(const npu_conv *conv, uint32_t ow, uint32_t oh, uint32_t icb, uint32_t words) {
    uint32_t ih = words / (conv->iw * icb);
    if (ih < rows_needed(conv, 1)) {
        return 0;
    }
    uint32_t rows = ih >= conv->ih ? oh : (ih - conv->kh) / conv->stride_h + 1;
    return npu_min(npu_min(rows, oh), NPU_MAX_PIXELS / ow);
}

/* Most output columns of a segment whose input takes at most `words` words; 0 when not even one fits. */
static uint32_t columns_that_fit(const npu_conv *conv, uint32_t ow, uint32_t icb, uint32_t words) {
    uint32_t iw = words / icb;
    if (iw >= conv->iw) {
        return ow;
    }
    return iw < conv->kw ? 0 : npu_min(ow, (iw - conv->kw) / conv->stride_w + 1);
}

/* Cut `total` into the fewest pieces of at most `most`, as equal as possible: size of all but the last, and their number. */
static void cut(uint32_t total, uint32_t most, uint32_t *size, uint32_t *pieces) {
    *size = npu_div_up(total, npu_div_up(total, most));
    *pieces = npu_div_up(total, *size);
}

/* Largest number of channel blocks that a limit of the caller allows; 0: the limit is impossible. */
static uint32_t blocks_allowed(uint32_t n, uint32_t limit) {
    return limit == 0 ? NPU_MAX_DIM : limit / n;
}

/* Can the convolution be cut as the caller asks? */
static npu_status check_split(uint32_t n, const npu_conv_split *split) {
    if (blocks_allowed(n, split->max_ic) == 0 || blocks_allowed(n, split->max_oc) == 0 || split->group > NPU_MAX_GROUP) {
        return NPU_ERR_SPLIT;
    }
    return NPU_OK;
}

/* Whole rows only where those of one output row fit with one block of channels: nothing smaller can be cut without row_split. */
static bool needs_row_split(const npu_conv *conv, const npu_conv_split *split, uint32_t ow) {
    return conv->iw > NPU_IFM_WORDS / rows_needed(conv, 1) || (split->max_ow != 0 && split->max_ow < ow);
}

static void plan_channels(uint32_t n, const npu_conv *conv, const npu_conv_split *split, npu_conv_plan *plan) {
    uint32_t icb_rows =
        plan->row_split ? IFM_WORDS_GOAL / npu_min(conv->iw, SEGMENT_COLUMNS) : NPU_IFM_WORDS / (rows_needed(conv, 1) * conv->iw);
    uint32_t icb_wgt = NPU_WGT_WORDS / (conv->kw * npu_conv_kh_task(conv, plan) * n);
    uint32_t icb_most = npu_min(npu_min(icb_rows, icb_wgt), blocks_allowed(n, split->max_ic));
    uint32_t ocb_most = npu_min(NPU_MAX_TASK_OC / n, blocks_allowed(n, split->max_oc));
    uint32_t icb = 0;
    uint32_t ocb = 0;
    cut(npu_div_up(conv->ic, n), icb_most, &icb, &plan->ic_tasks);
    plan->ic_task = npu_min(conv->ic, icb * n);
    cut(npu_div_up(conv->oc, n), ocb_most, &ocb, &plan->oc_tasks);
    plan->oc_task = npu_min(conv->oc, ocb * n);
}

static void plan_columns(const npu_conv *conv, const npu_conv_split *split, npu_conv_plan *plan) {
    uint32_t columns = plan->ow;
    if (plan->row_split) {
        columns = columns_that_fit(conv, plan->ow, npu_div_up(plan->ic_task, plan->n), IFM_WORDS_GOAL);
    }
    if (plan->row_split && split->max_ow != 0) {
        columns = npu_min(columns, split->max_ow);
    }
    cut(plan->ow, columns, &plan->ow_task, &plan->ow_tasks);
}

static void plan_rows(const npu_conv *conv, const npu_conv_split *split, npu_conv_plan *plan) {
    uint32_t icb = npu_div_up(plan->ic_task, plan->n);
    if (plan->row_split) {
        plan->oh_task = 1;
        plan->oh_tasks = plan->oh;
        return;
    }
    uint32_t rows = rows_that_fit(conv, plan->ow, plan->oh, icb, IFM_WORDS_GOAL);
    if (rows == 0) {
        rows = rows_that_fit(conv, plan->ow, plan->oh, icb, NPU_IFM_WORDS);
    }
    if (split->max_oh != 0) {
        rows = npu_min(rows, split->max_oh);
    }
    cut(plan->oh, rows, &plan->oh_task, &plan->oh_tasks);
}

npu_status npu_conv_plan_make(uint32_t n, const npu_conv *conv, const npu_conv_split *split, npu_conv_plan *plan) {
    static const npu_conv_split driver_decides = {0};
    uint32_t ow = 0;
    uint32_t oh = 0;
    if (!npu_is_mesh_size(n) || conv == NULL || plan == NULL) {
        return NPU_ERR_ARG;
    }
    if (split == NULL) {
        split = &driver_decides;
    }
    npu_status status = npu_conv_shape(conv, &ow, &oh);
    if (status == NPU_OK) {
        status = check_split(n, split);
    }
    if (status != NPU_OK) {
        return status;
    }
    uint64_t wgt_bytes = (uint64_t)npu_div_up(conv->oc, n) * npu_div_up(conv->ic, n) * conv->kh * conv->kw * n * n;
    if (wgt_bytes > UINT32_MAX) {
        return NPU_ERR_ADDR_OVERFLOW;
    }
    plan->n = n;
    plan->ow = ow;
    plan->oh = oh;
    plan->row_split = needs_row_split(conv, split, ow);
    plan->group = split->group != 0 ? split->group : GROUP_PIXELS / (2 * n);
    plan->serial = split->serial;
    plan->wgt_bytes = (uint32_t)wgt_bytes;
    plan->param_bytes = npu_div_up(conv->oc, 4) * 16;
    plan_channels(n, conv, split, plan);
    plan_columns(conv, split, plan);
    plan_rows(conv, split, plan);
    return NPU_OK;
}

/* Can the hardware do every task of this size? */
static bool tasks_fit(const npu_conv *conv, const npu_conv_plan *plan) {
    uint32_t icb = npu_div_up(plan->ic_task, plan->n);
    if (plan->oc_task > NPU_MAX_TASK_OC || icb > NPU_WGT_WORDS / (conv->kw * npu_conv_kh_task(conv, plan) * plan->n)) {
        return false;
    }
    if (plan->row_split) {
        return plan->oh_task == 1 && plan->ow_task <= columns_that_fit(conv, plan->ow, icb, NPU_IFM_WORDS);
    }
    return plan->ow_task == plan->ow && plan->oh_task <= rows_that_fit(conv, plan->ow, plan->oh, icb, NPU_IFM_WORDS);
}

npu_status npu_conv_plan_check(const npu_conv *conv, const npu_conv_plan *plan) {
    npu_conv_plan fresh;
    /* What does not depend on the splits must be as a fresh plan says; each split must be one that the hardware can do. */
    npu_status status = npu_conv_plan_make(plan->n, conv, NULL, &fresh);
    if (status != NPU_OK) {
        return status;
    }
    if (plan->ow != fresh.ow || plan->oh != fresh.oh || plan->wgt_bytes != fresh.wgt_bytes || plan->param_bytes != fresh.param_bytes) {
        return NPU_ERR_SPLIT;
    }
    if (plan->ow_task == 0 || plan->oh_task == 0 || plan->ic_task == 0 || plan->oc_task == 0 || plan->group == 0 ||
        plan->group > NPU_MAX_GROUP) {
        return NPU_ERR_SPLIT;
    }
    if (plan->ow_tasks != npu_div_up(plan->ow, plan->ow_task) || plan->oh_tasks != npu_div_up(plan->oh, plan->oh_task) ||
        plan->ic_tasks != npu_div_up(conv->ic, plan->ic_task) || plan->oc_tasks != npu_div_up(conv->oc, plan->oc_task)) {
        return NPU_ERR_SPLIT;
    }
    if ((plan->ic_tasks > 1 && plan->ic_task % plan->n != 0) || (plan->oc_tasks > 1 && plan->oc_task % plan->n != 0)) {
        return NPU_ERR_SPLIT;
    }
    return plan->ic_task <= conv->ic && tasks_fit(conv, plan) ? NPU_OK : NPU_ERR_SPLIT;
}
