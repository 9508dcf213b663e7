/*
 * npu_conv_plan.c - splits a convolution into tasks that the hardware supports.
 */
#include "npu_conv_priv.h"

/* Two tasks of this size are in the input buffer together, so that one loads while the other computes. */
#define IFM_WORDS_GOAL (NPU_IFM_WORDS / 2u)

/* Share of the input rows of one group of pixels, when rows are streamed: the rest of the buffer takes those of the
 * next groups. */
#define WINDOW_GOAL (NPU_IFM_WORDS / 8u * 5u)

/* Output pixels that are written back together: half a KB of one FP32 channel. Long bursts, and a short end of the
 * task. */
#define GROUP_PIXELS 128u

/* Bytes per cycle of both channels of the bus. */
#define BUS_BYTES 32u

/* A task whose first input arrives late is cut into at most this many blocks of rows. */
#define FILL_BLOCKS 4u

/* Segments of rows are not made shorter than this many input columns to fit more input channels. */
#define SEGMENT_COLUMNS 512u

/* Cost of one more batch of groups in cycles: its start, its first rows and its last results. */
#define BATCH_CYCLES 1000u

/* Cost of one more task of a batch in cycles. */
#define TASK_CYCLES 500u

/* Number of sizes of a task that are tried for full tiles. */
#define SIZES_TRIED 64u

/* Cut `total` into the fewest pieces of at most `most`, as equal as possible: size of all but the last, and their
 * number. */
static void cut(uint32_t total, uint32_t most, uint32_t *size, uint32_t *pieces) {
    *size = npu_div_up(total, npu_div_up(total, most));
    *pieces = npu_div_up(total, *size);
}

/* Largest number of channel blocks that a limit of the caller allows; 0: the limit is impossible. */
static uint32_t blocks_allowed(uint32_t n, uint32_t limit) {
    return limit == 0 ? NPU_MAX_DIM : limit / n;
}

/* Groups of a batch: a trade-off between blocks of weights that are mostly zeros and batches that are mostly
 * overhead. */
static uint32_t best_merge(const npu_conv *c, uint32_t n, uint64_t pixels) {
    uint32_t icg = c->ic / c->groups;
    uint32_t ocg = c->oc / c->groups;
    uint64_t tiles = (pixels + 2 * n - 1) / (2 * n);
    uint64_t best_cost = UINT64_MAX;
    uint32_t best = c->groups;
    tiles = tiles > 4096 ? 4096 : tiles; /* for larger maps only the blocks matter */
    for (uint32_t m = 1; m <= c->groups; m++) {
        if (npu_conv_merge_is_aligned(c, n, m)) {
            uint64_t blocks = (uint64_t)npu_div_up(m * icg, n) * npu_div_up(m * ocg, n);
            uint64_t cycles = blocks * c->kw * c->kh * n * tiles * (c->wide ? 2 : 1);
            uint64_t cost = npu_div_up(c->groups, m) * (cycles + BATCH_CYCLES);
            best = cost < best_cost ? m : best;
            best_cost = cost < best_cost ? cost : best_cost;
        }
    }
    return best;
}

/* Kernel rows and input channels of a slice: as few slices as possible, and of those the one with the most kernel rows.
 */
static npu_status plan_slices(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p) {
    uint32_t total = npu_div_up(npu_conv_batch_ic(c, p), p->n);
    uint32_t allowed = blocks_allowed(p->n, split->max_ic);
    bool depthwise = p->op == NPU_GEMM_DEPTHWISE;
    uint64_t best_slices = UINT64_MAX;
    uint32_t best_icb = 0;
    uint32_t most_k = split->max_kh != 0 ? npu_min(split->max_kh, c->kh) : c->kh;
    for (uint32_t k = p->row_split ? 1 : most_k; k > 0; k--) {
        uint32_t columns = p->row_split ? npu_min(c->iw, npu_max(SEGMENT_COLUMNS, npu_conv_extent_w(c))) : c->iw;
        uint32_t words = npu_conv_pixel_words(c, columns) * (p->row_split ? 1 : npu_conv_rows_needed(c, k, 1));
        uint32_t per_block = npu_conv_wgt_words(c, p, k, 1);
        uint32_t goal = p->row_split && words <= IFM_WORDS_GOAL ? IFM_WORDS_GOAL : NPU_IFM_WORDS;
        uint32_t icb = npu_min(npu_min(goal / words, NPU_WGT_WORDS / per_block), npu_min(allowed, total));
        if (depthwise) { /* each channel has its own sums: only the kernel can be sliced */
            icb = goal >= words && per_block <= NPU_WGT_WORDS ? 1 : 0;
        }
        uint64_t slices =
            icb == 0 ? UINT64_MAX : (uint64_t)npu_div_up(c->kh, k) * (depthwise ? 1 : npu_div_up(total, icb));
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
        p->ic_task = npu_min(npu_conv_batch_ic(c, p), icb * p->n);
    }
    return NPU_OK;
}

/* Output rows of a task whose input rows are all on chip. */
static uint32_t rows_at_once(const npu_conv *c, const npu_conv_plan *p, uint32_t icb) {
    uint32_t row = c->iw * npu_conv_pixel_words(c, icb);
    uint32_t rows = npu_conv_rows_from(c, p, IFM_WORDS_GOAL / row);
    return rows != 0 ? rows : npu_conv_rows_from(c, p, NPU_IFM_WORDS / row);
}

/* Cycles of the bus for the input of a batch, and of the mesh for `rows` output rows of one block of output channels.
 */
static uint64_t input_cycles(const npu_conv *c, const npu_conv_plan *p) {
    uint64_t bytes = (uint64_t)c->iw * c->ih * npu_conv_batch_ic(c, p) * npu_element_bytes(c->in_layout);
    return bytes / BUS_BYTES;
}

static uint64_t pass_cycles(const npu_conv *c, const npu_conv_plan *p, uint32_t rows) {
    uint64_t tiles = npu_div_up(rows * p->ow, 2 * p->n);
    return (c->wide ? 2 : 1) * tiles * p->n * p->kh_task * c->kw * npu_div_up(p->ic_task, p->n);
}

/*
 * With the input on chip, the first block of output channels waits for the whole input of its task. Where that takes
 * longer than its computation, smaller blocks of rows begin earlier; each reads the weights once more, which needs
 * spare bus bandwidth, and should leave no tile half full.
 */
static uint32_t rows_for_start(const npu_conv *c, const npu_conv_plan *p, uint32_t rows) {
    uint32_t ocb = npu_div_up(npu_conv_batch_oc(c, p), p->n);
    uint64_t whole = pass_cycles(c, p, p->oh);
    uint64_t weights = npu_conv_wgt_bytes(c, p, ocb, p->kh_task, npu_div_up(p->ic_task, p->n)) / BUS_BYTES;
    uint32_t best = rows;
    if (p->op != NPU_GEMM_CONV || rows < p->oh || input_cycles(c, p) <= whole) {
        return rows;
    }
    for (uint32_t blocks = 2; blocks <= npu_min(FILL_BLOCKS, p->oh); blocks++) {
        uint32_t size = npu_div_up(p->oh, blocks);
        bool full_tiles = size * blocks == p->oh && pass_cycles(c, p, size) * blocks == whole;
        if (full_tiles && (input_cycles(c, p) + blocks * weights) * 4 <= whole * ocb * 3) {
            best = size;
        }
    }
    return best;
}

/*
 * Output rows of a task, at most `rows`: as equal as possible, or fewer where the tasks then have fewer tiles that are
 * partly empty. Each task costs its start and its end.
 */
static uint32_t rows_of_full_tiles(const npu_conv *c, const npu_conv_plan *p, uint32_t rows) {
    /* the others compute each block of channels once */
    uint32_t ocb = p->op == NPU_GEMM_CONV ? npu_div_up(p->oc_task, p->n) : 1;
    uint32_t equal = npu_div_up(p->oh, npu_div_up(p->oh, rows));
    uint32_t best = equal;
    uint64_t best_cycles = UINT64_MAX;
    for (uint32_t size = equal; size > equal / 2 && equal - size < SIZES_TRIED; size--) {
        uint32_t whole = p->oh / size;
        uint32_t rest = p->oh % size;
        uint64_t tiles_cycles = whole * pass_cycles(c, p, size) + (rest != 0 ? pass_cycles(c, p, rest) : 0);
        uint64_t cycles = tiles_cycles * ocb + (uint64_t)npu_div_up(p->oh, size) * TASK_CYCLES;
        if (cycles < best_cycles) {
            best = size;
            best_cycles = cycles;
        }
    }
    return best;
}

/* A number of tiles written back together with which the rows of a group fit; 0: none. */
static uint32_t resident_group(const npu_conv *c, const npu_conv_plan *p, const npu_conv_split *split, uint32_t icb,
                               uint32_t words) {
    uint32_t group = p->group;
    while (npu_conv_window_words(c, p, icb, group) > words) {
        group = split->group != 0 ? 0 : group / 2;
        if (group == 0) {
            return 0;
        }
    }
    return group;
}

/*
 * Stationary weights and streamed rows, or stationary rows and streamed weights? The first, where all weights fit; else
 * the one that reads less: the weights once for each block of rows, or the input once for each block of output
 * channels.
 */
static void choose_resident(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p, uint32_t ocb) {
    uint32_t icb = npu_div_up(p->ic_task, p->n);
    uint32_t most = npu_min(npu_conv_resident_ocb(c, p, icb), NPU_MAX_TASK_OC / p->n);
    uint32_t group = resident_group(c, p, split, icb, WINDOW_GOAL);
    if (group == 0) {
        group = resident_group(c, p, split, icb, NPU_IFM_WORDS);
    }
    if (split->no_resident || most == 0 || group == 0) {
        return;
    }
    uint32_t slices = npu_div_up(ocb, npu_min(most, blocks_allowed(p->n, split->max_oc)));
    uint32_t rows = rows_at_once(c, p, icb);
    uint32_t row_blocks = npu_div_up(p->oh, split->max_oh != 0 ? npu_min(rows, split->max_oh) : rows);
    uint64_t input = (uint64_t)c->iw * c->ih * npu_element_bytes(c->in_layout);
    uint64_t weights = (uint64_t)ocb * p->kh_task * c->kw * p->n * (c->wide ? 2 : 1);
    if (!split->resident && row_blocks == 1 && input_cycles(c, p) <= pass_cycles(c, p, p->oh)) {
        /* the input arrives while the first block of output channels is computed, so that nothing waits for other
         * weights */
        return;
    }
    if (split->resident || slices == 1 || input * (slices - 1) < weights * (row_blocks - 1)) {
        p->resident = true;
        p->group = group;
    }
}

/* Channels of a depthwise task: as many as fit, with streamed rows if possible. */
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
            cb = npu_max(WINDOW_GOAL / (uint32_t)npu_conv_window_words(c, p, 1, group), 1);
            cb = npu_min(cb, npu_conv_resident_ocb(c, p, 1));
        }
    }
    if (p->row_split) {
        uint32_t columns = npu_min(c->iw, npu_max(SEGMENT_COLUMNS, npu_conv_extent_w(c)));
        cb = npu_max(IFM_WORDS_GOAL / npu_conv_pixel_words(c, columns), 1);
    } else if (!p->resident) {
        cb = npu_max(IFM_WORDS_GOAL / (npu_conv_pixel_words(c, c->iw) * npu_conv_rows_needed(c, p->kh_task, 1)), 1);
    }
    cut(total, npu_min(cb, most), &cb, &p->oc_tasks);
    p->oc_task = npu_min(c->oc, cb * p->n);
    p->ic_task = p->oc_task;
    p->ic_tasks = 1;
}

static void plan_outputs(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p) {
    uint32_t total = npu_div_up(npu_conv_batch_oc(c, p), p->n);
    uint32_t most = npu_min(NPU_MAX_TASK_OC / p->n, blocks_allowed(p->n, split->max_oc));
    uint32_t ocb = 0;
    if (!p->row_split) {
        choose_resident(c, split, p, total);
    }
    if (p->resident) {
        most = npu_min(most, npu_conv_resident_ocb(c, p, npu_div_up(p->ic_task, p->n)));
    }
    cut(total, most, &ocb, &p->oc_tasks);
    p->oc_task = npu_min(npu_conv_batch_oc(c, p), ocb * p->n);
}

static npu_status plan_pixels(const npu_conv *c, const npu_conv_split *split, npu_conv_plan *p) {
    uint32_t icb = npu_div_up(p->ic_task, p->n);
    uint32_t rows = 1;
    uint32_t columns = p->ow;
    if (p->row_split) {
        columns = npu_conv_columns_from(c, p->ow, icb, IFM_WORDS_GOAL);
        columns = columns != 0 ? columns : npu_conv_columns_from(c, p->ow, icb, NPU_IFM_WORDS);
        columns = split->max_ow != 0 ? npu_min(columns, split->max_ow) : columns;
    } else {
        rows = p->resident ? npu_conv_rows_from(c, p, NPU_MAX_PIXELS / c->iw)
                           : rows_for_start(c, p, rows_at_once(c, p, icb));
        rows = split->max_oh != 0 ? npu_min(rows, split->max_oh) : rows != 0 ? rows_of_full_tiles(c, p, rows) : 0;
    }
    if (columns == 0 || rows == 0) {
        return NPU_ERR_KERNEL;
    }
    cut(p->ow, columns, &p->ow_task, &p->ow_tasks);
    cut(p->oh, rows, &p->oh_task, &p->oh_tasks);
    return NPU_OK;
}

static npu_status check_split(uint32_t n, const npu_conv_split *split) {
    if (blocks_allowed(n, split->max_ic) == 0 || blocks_allowed(n, split->max_oc) == 0 || split->group > NPU_MAX_BYTE ||
        (split->resident && split->no_resident)) {
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
    p->oh_task = split->max_oh; /* so far: the limit of the caller */
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
    return status != NPU_OK ? status : npu_conv_plan_bytes(c, p);
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
    npu_status status = npu_conv_shape(conv, &p.ow, &p.oh);
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
