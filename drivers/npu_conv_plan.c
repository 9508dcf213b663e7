/*
 * npu_conv_plan.c - how a convolution is cut into tasks that the hardware can do.
 */
#include "npu_priv.h"

/* Two tasks of this size are in the input buffer together, so that one loads while the other computes. */
#define IFM_WORDS_GOAL (NPU_IFM_WORDS / 2u)

/* Input rows of one group of pixels, where rows stream: the rest of the buffer takes those of the next groups. */
#define WINDOW_GOAL (NPU_IFM_WORDS / 8u * 5u)

/* Output pixels that are written back together: 1 KB of one channel, long bursts that still leave room for the next group. */
#define GROUP_PIXELS 256u

/* Segments of rows do not become shorter than this many input columns for the sake of more input channels. */
#define SEGMENT_COLUMNS 512u

/* What one more batch of groups costs: its start, its first rows and its last results; in cycles. */
#define BATCH_CYCLES 1000u

static uint32_t extent_w(const npu_conv *c) {
    return (c->kw - 1) * c->dil_w + 1;
}

/* Input rows that k kernel rows span. */
static uint32_t extent_h(const npu_conv *c, uint32_t k) {
    return (k - 1) * c->dil_h + 1;
}

static npu_status check_sizes(const npu_conv *c) {
    if (c->iw == 0 || c->ih == 0 || c->ic == 0 || c->oc == 0 || c->kw == 0 || c->kh == 0 || c->stride_w == 0 || c->stride_h == 0 ||
        c->dil_w == 0 || c->dil_h == 0 || c->groups == 0) {
        return NPU_ERR_ZERO_SIZE;
    }
    if (c->iw > NPU_MAX_DIM || c->ih > NPU_MAX_DIM || c->ic > NPU_MAX_DIM || c->oc > NPU_MAX_DIM) {
        return NPU_ERR_TOO_LARGE;
    }
    if (c->kw > NPU_MAX_BYTE || c->kh > NPU_MAX_BYTE) {
        return NPU_ERR_KERNEL;
    }
    if (c->stride_w > NPU_MAX_BYTE || c->stride_h > NPU_MAX_BYTE || c->dil_w > NPU_MAX_BYTE || c->dil_h > NPU_MAX_BYTE) {
        return NPU_ERR_STRIDE;
    }
    if (c->pad_l > NPU_MAX_BYTE || c->pad_r > NPU_MAX_BYTE || c->pad_t > NPU_MAX_BYTE || c->pad_b > NPU_MAX_BYTE) {
        return NPU_ERR_PADDING;
    }
    return c->ic % c->groups != 0 || c->oc % c->groups != 0 ? NPU_ERR_GROUPS : NPU_OK;
}

/* Check the shape of a convolution and compute its output size. */
static npu_status conv_shape(const npu_conv *c, uint32_t *ow, uint32_t *oh) {
    bool in_known = c->in_layout == NPU_FP32_NCHW || c->in_layout == NPU_INT8_NHWC;
    bool out_known = c->out_layout == NPU_FP32_NCHW || c->out_layout == NPU_INT8_NHWC;
    npu_status status = in_known && out_known ? check_sizes(c) : NPU_ERR_ARG;
    if (status == NPU_OK) {
        status = npu_act_check(c->act, c->act_p);
    }
    if (status != NPU_OK) {
        return status;
    }
    uint32_t padded_w = c->iw + c->pad_l + c->pad_r;
    uint32_t padded_h = c->ih + c->pad_t + c->pad_b;
    if (padded_w < extent_w(c) || padded_h < extent_h(c, c->kh)) {
        return NPU_ERR_TOO_SMALL;
    }
    *ow = (padded_w - extent_w(c)) / c->stride_w + 1;
    *oh = (padded_h - extent_h(c, c->kh)) / c->stride_h + 1;
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
    return span_of(first, first + (oh - 1) * conv->stride_h + extent_h(conv, k), conv->pad_t, conv->ih);
}

npu_span npu_conv_columns(const npu_conv *conv, uint32_t ow0, uint32_t ow) {
    uint32_t first = ow0 * conv->stride_w;
    return span_of(first, first + (ow - 1) * conv->stride_w + extent_w(conv), conv->pad_l, conv->iw);
}

/* Most input rows that `oh` output rows need from k kernel rows, wherever they lie. */
static uint32_t rows_needed(const npu_conv *c, uint32_t k, uint32_t oh) {
    return npu_min(c->ih, (oh - 1) * c->stride_h + extent_h(c, k));
}

/* Most output rows whose input is at most `ih` rows; 0 when not even one fits. */
static uint32_t rows_from(const npu_conv *c, const npu_conv_plan *p, uint32_t ih) {
    uint32_t rows = p->oh;
    if (ih < rows_needed(c, p->kh_task, 1)) {
        return 0;
    }
    if (ih < c->ih) {
        rows = (ih - extent_h(c, p->kh_task)) / c->stride_h + 1;
    }
    return npu_min(npu_min(rows, p->oh), NPU_MAX_PIXELS / p->ow);
}

/* Most output columns of a segment whose input takes at most `words` words; 0 when not even one fits. */
static uint32_t columns_that_fit(const npu_conv *c, uint32_t ow, uint32_t icb, uint32_t words) {
    uint32_t iw = words / icb;
    if (iw >= c->iw) {
        return ow;
    }
    return iw < extent_w(c) ? 0 : npu_min(ow, (iw - extent_w(c)) / c->stride_w + 1);
}

/* Tiles that the hardware writes back together at most. */
static uint32_t group_of(uint32_t n, uint32_t group) {
    return npu_min(group, 512 / n);
}

/* Words of the input rows of one group, where rows stream (docs/npu.md section 3.2, "Input"). */
static uint64_t window_words(const npu_conv *c, const npu_conv_plan *p, uint32_t icb, uint32_t group) {
    uint32_t pixels = 2 * p->n * group_of(p->n, group);
    uint32_t oh = npu_min(p->oh_task != 0 ? p->oh_task : p->oh, 1 + (pixels + p->ow - 2) / p->ow);
    return (uint64_t)rows_needed(c, p->kh_task, oh) * c->iw * icb + 64 * (uint64_t)icb;
}

/* Words of weights of one block of output channels. */
static uint32_t wgt_words(const npu_conv *c, const npu_conv_plan *p, uint32_t k, uint32_t icb) {
    return p->op == NPU_GEMM_DEPTHWISE ? k * c->kw : k * c->kw * icb * p->n;
}

/* Most blocks of output channels whose weights stay on chip together. */
static uint32_t resident_ocb(const npu_conv *c, const npu_conv_plan *p, uint32_t icb) {
    return 2 * (NPU_WGT_WORDS / wgt_words(c, p, p->kh_task, icb));
}

uint64_t npu_conv_wgt_bytes(const npu_conv *conv, const npu_conv_plan *plan, uint32_t blocks, uint32_t k, uint32_t icb) {
    uint64_t bytes = (uint64_t)wgt_words(conv, plan, k, icb) * plan->n;
    return blocks * (plan->op == NPU_GEMM_DEPTHWISE ? (bytes + 15) / 16 * 16 : bytes);
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

static uint32_t batch_ic(const npu_conv *c, const npu_conv_plan *p) {
    return c->ic / c->groups * p->merge;
}

static uint32_t batch_oc(const npu_conv *c, const npu_conv_plan *p) {
    return c->oc / c->groups * p->merge;
}

/*
 * Do batches of m groups begin where the hardware can begin? INT8 pixels at multiples of N channels, factors at multiples of 4 channels.
 */
static bool merge_is_aligned(const npu_conv *c, uint32_t n, uint32_t m) {
    uint32_t icg = c->ic / c->groups;
    uint32_t ocg = c->oc / c->groups;
    if (m >= c->groups) {
        return true;
    }
    return (c->in_layout == NPU_FP32_NCHW || m * icg % n == 0) && m * ocg % (c->out_layout == NPU_FP32_NCHW ? 4 : n) == 0;
}

/* Groups of a batch: few blocks of weights that are mostly zeros against few batches that are mostly overhead. */
static uint32_t best_merge(const npu_conv *c, uint32_t n, uint64_t pixels) {
    uint32_t icg = c->ic / c->groups;
    uint32_t ocg = c->oc / c->groups;
    uint64_t tiles = (pixels + 2 * n - 1) / (2 * n);
    uint64_t best_cost = UINT64_MAX;
    uint32_t best = c->groups;
    tiles = tiles > 4096 ? 4096 : tiles; /* of larger maps only the blocks count */
    for (uint32_t m = 1; m <= c->groups; m++) {
        if (merge_is_aligned(c, n, m)) {
            uint64_t blocks = (uint64_t)npu_div_up(m * icg, n) * npu_div_up(m * ocg, n);
            uint64_t cost = npu_div_up(c->groups, m) * (blocks * c->kw * c->kh * n * tiles + BATCH_CYCLES);
            best = cost < best_cost ? m : best;
            best_cost = cost < best_cost ? cost : best_cost;
        }
    }
    return best;
}

/* Kernel rows and input channels of a slice: as few slices as possible, and of those the one with the most kernel rows. */
static npu_status plan_slices(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p) {
    uint32_t total = npu_div_up(batch_ic(c, p), p->n);
    uint32_t allowed = blocks_allowed(p->n, split->max_ic);
    bool depthwise = p->op == NPU_GEMM_DEPTHWISE;
    uint64_t best_slices = UINT64_MAX;
    uint32_t best_icb = 0;
    for (uint32_t k = p->row_split ? 1 : c->kh; k > 0; k--) {
        uint32_t columns = p->row_split ? npu_min(c->iw, npu_max(SEGMENT_COLUMNS, extent_w(c))) : c->iw;
        uint32_t words = columns * (p->row_split ? 1 : rows_needed(c, k, 1));
        uint32_t per_block = k * c->kw * (depthwise ? 1 : p->n);
        uint32_t goal = p->row_split && words <= IFM_WORDS_GOAL ? IFM_WORDS_GOAL : NPU_IFM_WORDS;
        uint32_t icb = npu_min(npu_min(goal / words, NPU_WGT_WORDS / per_block), npu_min(allowed, total));
        if (depthwise) { /* each channel has its own sums: nothing but the kernel can be sliced */
            icb = goal >= words && per_block <= NPU_WGT_WORDS ? 1 : 0;
        }
        uint64_t slices = icb == 0 ? UINT64_MAX : (uint64_t)npu_div_up(c->kh, k) * (depthwise ? 1 : npu_div_up(total, icb));
        if (slices < best_slices) {
            best_slices = slices;
            best_icb = icb;
            p->kh_task = k;
        }
    }
    if (best_slices == UINT64_MAX) {
        return NPU_ERR_KERNEL;
    }
    cut(c->kh, p->kh_task, &p->kh_task, &p->kh_tasks);
    if (!depthwise) {
        uint32_t icb = 0;
        cut(total, best_icb, &icb, &p->ic_tasks);
        p->ic_task = npu_min(batch_ic(c, p), icb * p->n);
    }
    return NPU_OK;
}

/* Output rows of a task whose input rows are all on chip. */
static uint32_t rows_at_once(const npu_conv *c, const npu_conv_plan *p, uint32_t icb) {
    uint32_t rows = rows_from(c, p, IFM_WORDS_GOAL / (c->iw * icb));
    return rows != 0 ? rows : rows_from(c, p, NPU_IFM_WORDS / (c->iw * icb));
}

/* A number of tiles written back together with which the rows of a group fit; 0: none. */
static uint32_t resident_group(const npu_conv *c, const npu_conv_plan *p, const npu_conv_split *split, uint32_t icb, uint32_t words) {
    uint32_t group = p->group;
    while (window_words(c, p, icb, group) > words) {
        group = split->group != 0 ? 0 : group / 2;
        if (group == 0) {
            return 0;
        }
    }
    return group;
}

/*
 * Weights on chip and rows that stream, or rows on chip and weights that stream? The first, where all weights fit; else what reads less: the weights once for each block of rows, or the input once for each
 * block of output channels.
 */
static void choose_resident(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p, uint32_t ocb) {
    uint32_t icb = npu_div_up(p->ic_task, p->n);
    uint32_t most = npu_min(resident_ocb(c, p, icb), NPU_MAX_TASK_OC / p->n);
    uint32_t group = resident_group(c, p, split, icb, WINDOW_GOAL);
    if (group == 0) {
        group = resident_group(c, p, split, icb, NPU_IFM_WORDS);
    }
    if (split->no_resident || most == 0 || group == 0) {
        return;
    }
    uint32_t slices = npu_div_up(ocb, npu_min(most, blocks_allowed(p->n, split->max_oc)));
    uint32_t row_blocks = npu_div_up(p->oh, rows_at_once(c, p, icb));
    uint64_t input = (uint64_t)c->iw * c->ih * (c->in_layout == NPU_FP32_NCHW ? 4 : 1);
    uint64_t weights = (uint64_t)ocb * p->kh_task * c->kw * p->n;
    if (slices == 1 || input * (slices - 1) < weights * (row_blocks - 1)) {
        p->resident = true;
        p->group = group;
    }
}

/* Channels of a depthwise task: as many as fit, with rows that stream if possible. */
static void plan_depthwise(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p) {
    uint32_t total = npu_div_up(c->ic, p->n);
    uint32_t most = npu_min(blocks_allowed(p->n, split->max_ic), blocks_allowed(p->n, split->max_oc));
    uint32_t cb = 0;
    most = npu_min(npu_min(most, NPU_MAX_TASK_OC / p->n), total);
    if (!split->no_resident && !p->row_split) {
        uint32_t group = resident_group(c, p, split, 1, WINDOW_GOAL);
        group = group != 0 ? group : resident_group(c, p, split, 1, NPU_IFM_WORDS);
        p->resident = group != 0;
        if (p->resident) {
            p->group = group;
            cb = npu_max(WINDOW_GOAL / (uint32_t)window_words(c, p, 1, group), 1);
            cb = npu_min(cb, resident_ocb(c, p, 1));
        }
    }
    if (p->row_split) {
        uint32_t columns = npu_min(c->iw, npu_max(SEGMENT_COLUMNS, extent_w(c)));
        cb = npu_max(IFM_WORDS_GOAL / columns, 1);
    } else if (!p->resident) {
        cb = npu_max(IFM_WORDS_GOAL / (c->iw * rows_needed(c, p->kh_task, 1)), 1);
    }
    cut(total, npu_min(cb, most), &cb, &p->oc_tasks);
    p->oc_task = npu_min(c->oc, cb * p->n);
    p->ic_task = p->oc_task;
    p->ic_tasks = 1;
}

static void plan_outputs(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p) {
    uint32_t total = npu_div_up(batch_oc(c, p), p->n);
    uint32_t most = npu_min(NPU_MAX_TASK_OC / p->n, blocks_allowed(p->n, split->max_oc));
    uint32_t ocb = 0;
    if (!p->row_split) {
        choose_resident(c, split, p, total);
    }
    if (p->resident) {
        most = npu_min(most, resident_ocb(c, p, npu_div_up(p->ic_task, p->n)));
    }
    cut(total, most, &ocb, &p->oc_tasks);
    p->oc_task = npu_min(batch_oc(c, p), ocb * p->n);
}

static npu_status plan_pixels(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p) {
    uint32_t icb = npu_div_up(p->ic_task, p->n);
    uint32_t rows = 1;
    uint32_t columns = p->ow;
    if (p->row_split) {
        columns = columns_that_fit(c, p->ow, icb, IFM_WORDS_GOAL);
        columns = columns != 0 ? columns : columns_that_fit(c, p->ow, icb, NPU_IFM_WORDS);
        columns = split->max_ow != 0 ? npu_min(columns, split->max_ow) : columns;
    } else {
        rows = p->resident ? rows_from(c, p, NPU_MAX_PIXELS / c->iw) : rows_at_once(c, p, icb);
        rows = split->max_oh != 0 ? npu_min(rows, split->max_oh) : rows;
    }
    if (columns == 0 || rows == 0) {
        return NPU_ERR_KERNEL;
    }
    cut(p->ow, columns, &p->ow_task, &p->ow_tasks);
    cut(p->oh, rows, &p->oh_task, &p->oh_tasks);
    return NPU_OK;
}

/* Bytes that follow from the cuts. */
static npu_status plan_bytes(const npu_conv *c, npu_conv_plan *p) {
    uint64_t wgt = 0;
    uint64_t scratch = 0;
    for (uint32_t g = 0; g < p->group_tasks; g++) {
        uint32_t groups = npu_conv_batch_groups(c, p, g);
        uint32_t icb = npu_div_up(c->ic / c->groups * groups, p->n);
        uint32_t ocb = npu_div_up(c->oc / c->groups * groups, p->n);
        wgt += npu_conv_wgt_bytes(c, p, ocb, p->kh_task, icb) * (p->kh_tasks - 1);
        wgt += npu_conv_wgt_bytes(c, p, ocb, c->kh - p->kh_task * (p->kh_tasks - 1), icb);
    }
    if (c->out_layout == NPU_INT8_NHWC && (p->ic_tasks > 1 || p->kh_tasks > 1)) {
        scratch = npu_conv_scratch_step(p) * p->oc_task;
    }
    if (wgt > UINT32_MAX || scratch > UINT32_MAX) {
        return NPU_ERR_ADDR_OVERFLOW;
    }
    p->wgt_bytes = (uint32_t)wgt;
    p->scratch_bytes = (uint32_t)scratch;
    p->param_bytes = npu_div_up(c->oc, 4) * 16;
    return NPU_OK;
}

static npu_status check_split(uint32_t n, const npu_conv_split *split) {
    if (blocks_allowed(n, split->max_ic) == 0 || blocks_allowed(n, split->max_oc) == 0 || split->group > NPU_MAX_BYTE) {
        return NPU_ERR_SPLIT;
    }
    return NPU_OK;
}

static npu_status plan_cuts(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p) {
    bool depthwise = c->groups > 1 && c->groups == c->ic && c->ic == c->oc;
    p->op = depthwise ? NPU_GEMM_DEPTHWISE : NPU_GEMM_CONV;
    p->merge = depthwise ? c->groups : best_merge(c, p->n, (uint64_t)p->ow * p->oh);
    p->group_tasks = npu_div_up(c->groups, p->merge);
    /* Whole rows only where one of one block of channels fits: nothing smaller can be cut without row_split. */
    p->row_split = c->iw > NPU_IFM_WORDS || (split->max_ow != 0 && split->max_ow < p->ow);
    p->resident = false;
    p->group = split->group != 0 ? split->group : GROUP_PIXELS / (2 * p->n);
    p->serial = split->serial;
    p->oh_task = split->max_oh; /* so far: the most that the caller wants */
    npu_status status = plan_slices(c, split, p);
    if (status != NPU_OK) {
        return status;
    }
    if (depthwise) {
        plan_depthwise(c, split, p);
    } else {
        plan_outputs(c, split, p);
    }
    status = plan_pixels(c, split, p);
    return status != NPU_OK ? status : plan_bytes(c, p);
}

npu_status npu_conv_plan_make(uint32_t n, const npu_conv *conv, const npu_conv_split *split, npu_conv_plan *plan) {
    static const npu_conv_split driver_decides = {0};
    npu_conv_plan p;
    if (!npu_is_mesh_size(n) || conv == NULL || plan == NULL) {
        return NPU_ERR_ARG;
    }
    if (split == NULL) {
        split = &driver_decides;
    }
    p.n = n;
    npu_status status = conv_shape(conv, &p.ow, &p.oh);
    if (status == NPU_OK) {
        status = check_split(n, split);
    }
    if (status == NPU_OK) {
        status = plan_cuts(conv, split, &p);
    }
    if (status == NPU_OK) {
        *plan = p;
    }
    return status;
}

/* Can the hardware do every task of this size? */
static bool tasks_fit(const npu_conv *c, const npu_conv_plan *p) {
    uint32_t icb = npu_div_up(p->ic_task, p->n);
    uint32_t ocb = npu_div_up(p->oc_task, p->n);
    if (p->oc_task > NPU_MAX_TASK_OC || wgt_words(c, p, p->kh_task, icb) > NPU_WGT_WORDS) {
        return false;
    }
    if (p->row_split) {
        return !p->resident && p->oh_task == 1 && p->kh_task == 1 && p->ow_task <= columns_that_fit(c, p->ow, icb, NPU_IFM_WORDS);
    }
    if (p->ow_task != p->ow || c->iw > NPU_IFM_WORDS) {
        return false;
    }
    if (p->resident) {
        return ocb <= resident_ocb(c, p, icb) && p->oh_task <= rows_from(c, p, NPU_MAX_PIXELS / c->iw) &&
               window_words(c, p, icb, p->group) <= NPU_IFM_WORDS;
    }
    return p->oh_task <= rows_from(c, p, NPU_IFM_WORDS / (c->iw * icb));
}

/* Is `size` a cut of `total` into `pieces`? */
static bool is_cut(uint32_t total, uint32_t size, uint32_t pieces) {
    return size != 0 && size <= total && pieces == npu_div_up(total, size);
}

static bool channels_fit(const npu_conv *c, const npu_conv_plan *p) {
    uint32_t n = p->n;
    if (!is_cut(batch_oc(c, p), p->oc_task, p->oc_tasks) || (p->oc_tasks > 1 && p->oc_task % n != 0)) {
        return false;
    }
    if (p->op == NPU_GEMM_DEPTHWISE) {
        return p->ic_task == p->oc_task && p->ic_tasks == 1;
    }
    return is_cut(batch_ic(c, p), p->ic_task, p->ic_tasks) && (p->ic_tasks == 1 || p->ic_task % n == 0);
}

npu_status npu_conv_plan_check(const npu_conv *conv, const npu_conv_plan *plan) {
    npu_conv_plan fresh;
    /* What does not depend on the splits must be as a fresh plan says; each split must be one that the hardware can do. */
    npu_status status = npu_conv_plan_make(plan->n, conv, NULL, &fresh);
    if (status != NPU_OK) {
        return status;
    }
    if (plan->ow != fresh.ow || plan->oh != fresh.oh || plan->op != fresh.op || plan->group == 0 || plan->group > NPU_MAX_BYTE ||
        !is_cut(conv->groups, plan->merge, plan->group_tasks) || !merge_is_aligned(conv, plan->n, plan->merge)) {
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
    status = plan_bytes(conv, &fresh);
    if (status != NPU_OK) {
        return status;
    }
    return plan->wgt_bytes == fresh.wgt_bytes && plan->param_bytes == fresh.param_bytes && plan->scratch_bytes == fresh.scratch_bytes
               ? NPU_OK
               : NPU_ERR_SPLIT;
}
