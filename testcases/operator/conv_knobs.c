/* conv_knobs.c - the knobs of a convolution, and the generator that draws them so that a case is legal and short. */
#include "conv.h"

#include <stdio.h>

static const char *const shape_names[CONV_SHAPE_COUNT] = {"any", "point", "row", "tiny", "wide", "broad", "tall", "rows", "deep", "many"};
static const char *const data_names[CONV_DATA_COUNT] = {"uniform", "extreme", "zeros", "sparse", "ramp", "specials", "halves"};
static const char *const wdata_names[CONV_W_COUNT] = {"uniform", "extreme", "zeros", "sparse", "ramp"};
static const char *const scale_names[CONV_SCALE_COUNT] = {"calib", "pow2", "tiny", "huge", "special"};
static const char *const wscale_names[CONV_WSCALE_COUNT] = {"plain", "zeros", "hard"};
static const char *const act_names[] = {"none", "relu"};
static const char *const wait_names[] = {"irq", "poll"};

static const uint32_t shape_weight[CONV_SHAPE_COUNT] = {16, 2, 2, 3, 2, 1, 2, 3, 3, 1};
static const uint32_t kernel_weight[] = {4, 4, 1, 8, 1, 3, 1, 3};
static const uint32_t stride_weight[] = {3, 10, 6, 1, 1, 1, 1, 1};
static const uint32_t pad_weight[] = {6, 5, 6, 2, 1, 1, 1, 1};
static const uint32_t bias_weight[] = {2, 5, 1};
static const uint32_t data_weight[CONV_DATA_COUNT] = {10, 3, 1, 2, 2, 3, 3};
static const uint32_t wdata_weight[CONV_W_COUNT] = {10, 3, 1, 2, 2};
static const uint32_t scale_weight[CONV_SCALE_COUNT] = {10, 4, 1, 1, 1};
static const uint32_t wscale_weight[CONV_WSCALE_COUNT] = {8, 2, 2};
static const uint32_t bus_weight[TC_BUS_COUNT] = {4, 3, 4, 2, 3, 3};
static const uint32_t second_weight[] = {1, 3};

static const tb_knob knobs_of_conv[] = {
    {"shape", 0, CONV_SHAPE_COUNT - 1, TB_KNOB_ENUM, shape_names, shape_weight, "kind of shape that the generator looks for"},
    {"ic", 1, 4096, TB_KNOB_SMALL, NULL, NULL, "input channels"},
    {"oc", 1, 4096, TB_KNOB_SMALL, NULL, NULL, "output channels"},
    {"ih", 1, 16384, TB_KNOB_SMALL, NULL, NULL, "input rows"},
    {"iw", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "input columns"},
    {"k", 0, 7, TB_KNOB_WEIGHTED, NULL, kernel_weight, "square kernel; 0: kw and kh"},
    {"kw", 1, 7, TB_KNOB_UNIFORM, NULL, NULL, "kernel columns"},
    {"kh", 1, 7, TB_KNOB_UNIFORM, NULL, NULL, "kernel rows"},
    {"s", 0, 7, TB_KNOB_WEIGHTED, NULL, stride_weight, "stride both ways; 0: sw and sh"},
    {"sw", 1, 7, TB_KNOB_UNIFORM, NULL, NULL, "column stride"},
    {"sh", 1, 7, TB_KNOB_UNIFORM, NULL, NULL, "row stride"},
    {"p", -1, 6, TB_KNOB_WEIGHTED, NULL, pad_weight, "padding on all sides; -1: pl pr pt pb"},
    {"pl", 0, 6, TB_KNOB_UNIFORM, NULL, NULL, "padding left"},
    {"pr", 0, 6, TB_KNOB_UNIFORM, NULL, NULL, "padding right"},
    {"pt", 0, 6, TB_KNOB_UNIFORM, NULL, NULL, "padding above"},
    {"pb", 0, 6, TB_KNOB_UNIFORM, NULL, NULL, "padding below"},
    {"act", 0, 1, TB_KNOB_ENUM, act_names, NULL, "activation"},
    {"bias", 0, 2, TB_KNOB_WEIGHTED, NULL, bias_weight, "0 none, 1 plain values, 2 hard values (NaN, subnormals ...)"},
    {"data", 0, CONV_DATA_COUNT - 1, TB_KNOB_ENUM, data_names, data_weight, "input values"},
    {"wdata", 0, CONV_W_COUNT - 1, TB_KNOB_ENUM, wdata_names, wdata_weight, "weights"},
    {"in_scale", 0, CONV_SCALE_COUNT - 1, TB_KNOB_ENUM, scale_names, scale_weight, "scale of the input quantiser"},
    {"wscale", 0, CONV_WSCALE_COUNT - 1, TB_KNOB_ENUM, wscale_names, wscale_weight, "weight scales, which give the output scales"},
    {"max_ow", 0, 65535, TB_KNOB_SMALL | TB_KNOB_LATER, NULL, NULL,
     "most output columns of a task; below the width, tasks take one kernel row and a segment of a row; 0: the driver decides"},
    {"max_oh", 0, 16384, TB_KNOB_SMALL, NULL, NULL, "most output rows of a task; 0: the driver decides"},
    {"max_ic", 0, 4096, TB_KNOB_SMALL, NULL, NULL, "most input channels of a task; 0 or at least N"},
    {"max_oc", 0, 4096, TB_KNOB_SMALL, NULL, NULL, "most output channels of a task; 0 or at least N"},
    {"group", 0, 255, TB_KNOB_SMALL, NULL, NULL, "tiles written back together; 0: the driver decides"},
    {"serial", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: one task in flight"},
    {"second", 0, 1, TB_KNOB_WEIGHTED, NULL, second_weight, "1: run again with the splits below and expect the same bytes"},
    {"max_ow2", 0, 65535, TB_KNOB_SMALL | TB_KNOB_LATER, NULL, NULL, "max_ow of the second run"},
    {"max_oh2", 0, 16384, TB_KNOB_SMALL, NULL, NULL, "max_oh of the second run"},
    {"max_ic2", 0, 4096, TB_KNOB_SMALL, NULL, NULL, "max_ic of the second run"},
    {"max_oc2", 0, 4096, TB_KNOB_SMALL, NULL, NULL, "max_oc of the second run"},
    {"group2", 0, 255, TB_KNOB_SMALL, NULL, NULL, "group of the second run"},
    {"serial2", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "serial of the second run"},
    {"gap", 0, 8, TB_KNOB_SMALL, NULL, NULL, "unused 16-byte units between channels"},
    {"place", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "shift of the buffers against 4 KB, in 16-byte units"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, bus_weight, "bus timing"},
    {"wait", 0, 1, TB_KNOB_ENUM, wait_names, NULL, "how the driver waits"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

const tc_test tc_conv = {.name = "conv",
                         .help = "convolution, constrained random over shapes, splits, data and bus timing",
                         .is_operator = true,
                         .knobs = knobs_of_conv,
                         .knob_count = sizeof knobs_of_conv / sizeof knobs_of_conv[0],
                         .generate = conv_generate,
                         .check = conv_check,
                         .execute = conv_execute};

npu_conv conv_of(const tb_knobs *knobs) {
    npu_conv c = {.iw = tc_knob(knobs, "iw"),
                  .ih = tc_knob(knobs, "ih"),
                  .ic = tc_knob(knobs, "ic"),
                  .oc = tc_knob(knobs, "oc"),
                  .kw = tc_knob(knobs, "kw"),
                  .kh = tc_knob(knobs, "kh"),
                  .stride_w = tc_knob(knobs, "sw"),
                  .stride_h = tc_knob(knobs, "sh"),
                  .dil_w = 1,
                  .dil_h = 1,
                  .groups = 1,
                  .pad_l = tc_knob(knobs, "pl"),
                  .pad_r = tc_knob(knobs, "pr"),
                  .pad_t = tc_knob(knobs, "pt"),
                  .pad_b = tc_knob(knobs, "pb"),
                  .act = (npu_act)tb_knobs_get(knobs, "act"),
                  .has_bias = tb_knobs_get(knobs, "bias") != 0};
    return c;
}

npu_conv_split conv_split_of(const tb_knobs *knobs, bool second) {
    npu_conv_split split = {.max_ow = tc_knob(knobs, second ? "max_ow2" : "max_ow"),
                            .max_oh = tc_knob(knobs, second ? "max_oh2" : "max_oh"),
                            .max_ic = tc_knob(knobs, second ? "max_ic2" : "max_ic"),
                            .max_oc = tc_knob(knobs, second ? "max_oc2" : "max_oc"),
                            .group = tc_knob(knobs, second ? "group2" : "group"),
                            .serial = tc_knob(knobs, second ? "serial2" : "serial") != 0};
    return split;
}

uint64_t conv_tasks(const npu_conv *conv, const npu_conv_plan *plan) {
    uint64_t row_tasks = (uint64_t)plan->oh_tasks * plan->kh_tasks;
    if (plan->row_split) {
        row_tasks = 0;
        for (uint64_t y = 0; y < (uint64_t)plan->oh * conv->stride_h; y += conv->stride_h) {
            for (uint64_t k = 0; k < conv->kh; k++) {
                row_tasks += y + k >= conv->pad_t && y + k < (uint64_t)conv->pad_t + conv->ih;
            }
        }
    }
    return row_tasks * plan->ow_tasks * plan->ic_tasks * plan->oc_tasks * plan->group_tasks;
}

int conv_check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    const npu_conv conv = conv_of(knobs);
    const int64_t k = tb_knobs_get(knobs, "k");
    const int64_t s = tb_knobs_get(knobs, "s");
    const int64_t p = tb_knobs_get(knobs, "p");
    npu_conv_plan plan;
    if ((k != 0 && (conv.kw != k || conv.kh != k)) || (s != 0 && (conv.stride_w != s || conv.stride_h != s)) ||
        (p >= 0 && (conv.pad_l != p || conv.pad_r != p || conv.pad_t != p || conv.pad_b != p))) {
        snprintf(err, err_size, "k, s or p contradicts kw kh, sw sh or pl pr pt pb (k=0, s=0, p=-1 leave it to those)");
        return -1;
    }
    for (int second = 0; second <= (tb_knobs_get(knobs, "second") != 0 ? 1 : 0); second++) {
        const npu_conv_split split = conv_split_of(knobs, second != 0);
        const npu_status status = npu_conv_plan_make(n, &conv, &split, &plan);
        if (status != NPU_OK) {
            snprintf(err, err_size,
                     "impossible convolution (iw=%u ih=%u ic=%u oc=%u kw=%u kh=%u pl=%u pr=%u pt=%u pb=%u max_ow=%u max_oh=%u max_ic=%u "
                     "max_oc=%u): %s",
                     conv.iw, conv.ih, conv.ic, conv.oc, conv.kw, conv.kh, conv.pad_l, conv.pad_r, conv.pad_t, conv.pad_b, split.max_ow,
                     split.max_oh, split.max_ic, split.max_oc, npu_strerror(status));
            return -1;
        }
    }
    if ((uint64_t)conv.ic * conv.ih * conv.iw > UINT32_C(1) << 27 || (uint64_t)conv.oc * plan.ow * plan.oh > UINT32_C(1) << 27) {
        snprintf(err, err_size, "a tensor of more than 134217728 elements does not fit into device memory");
        return -1;
    }
    return 0;
}
