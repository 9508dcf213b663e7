/* conv_knobs.c - the knobs of the tests conv, dw and linear, and the convolutions that they describe. */
#include "conv.h"
#include "npu_regs.h"

#include <stdio.h>

static const char *const shape_names[CONV_SHAPE_COUNT] = {
    "any",  "point",     "row",     "tiny",    "wide",    "broad",  "tall",  "rows",  "deep",
    "many", "depthwise", "grouped", "dilated", "strided", "padded", "large", "stream"};
const char *const conv_act_names[NPU_ACT_COUNT] = NPU_GEMM_ACT_TYPE_NAMES;
const char *const conv_layout_names[2] = {"fp32", "int8"};
const char *const conv_wait_names[2] = {"irq", "poll"};

static const uint32_t shape_weight[CONV_SHAPE_COUNT] = {16, 2, 2, 3, 2, 1, 2, 4, 3, 1, 5, 6, 3, 2, 2, 3, 2};
/* Weights of values beyond the listed ones are small. 0, the first value, means the separate knobs. */
static const uint32_t kernel_weight[256] = {4, 4, 1, 8, 1, 3, 1, 3, 1, 1, 1, 1};
static const uint32_t stride_weight[256] = {3, 10, 6, 1, 1, 1, 1, 1};
static const uint32_t dilation_weight[256] = {1, 24, 3, 1, 1};
static const uint32_t pad_weight[257] = {6, 5, 6, 2, 1, 1, 1, 1};
static const uint32_t act_weight[NPU_ACT_COUNT] = {8, 6, 2, 2, 2, 2, 2, 2, 2, 1, 2, 1};
static const uint32_t rare_weight[] = {5, 1};
static const uint32_t layout_weight[] = {3, 2};
static const uint32_t bias_weight[] = {2, 5, 1};
static const uint32_t data_weight[CONV_DATA_COUNT] = {10, 3, 1, 2, 2, 3, 3};
static const uint32_t wdata_weight[CONV_W_COUNT] = {10, 3, 1, 2, 2};
static const uint32_t scale_weight[CONV_SCALE_COUNT] = {10, 4, 1, 1, 1};
static const uint32_t wscale_weight[CONV_WSCALE_COUNT] = {8, 2, 2};
static const uint32_t bus_weight[TC_BUS_COUNT] = {4, 3, 4, 2, 3, 3};
static const uint32_t second_weight[] = {1, 3};

#define LATER_ENUM (TB_KNOB_ENUM | TB_KNOB_LATER)
#define LATER_SMALL (TB_KNOB_SMALL | TB_KNOB_LATER)
#define LATER_UNIFORM (TB_KNOB_UNIFORM | TB_KNOB_LATER)
#define LATER_WEIGHTED (TB_KNOB_WEIGHTED | TB_KNOB_LATER)

/* Map, kernel, stride, dilation and padding: of conv and dw. */
#define KNOBS_OF_MAP                                                                                                   \
    {"ih", 1, 16384, TB_KNOB_SMALL, NULL, NULL, "input rows"},                                                         \
        {"iw", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "input columns"},                                                  \
        {"k", 0, 255, TB_KNOB_WEIGHTED, NULL, kernel_weight, "square kernel; 0: kw and kh"},                           \
        {"kw", 1, 255, TB_KNOB_UNIFORM, NULL, NULL, "kernel columns"},                                                 \
        {"kh", 1, 255, TB_KNOB_UNIFORM, NULL, NULL, "kernel rows"},                                                    \
        {"s", 0, 255, TB_KNOB_WEIGHTED, NULL, stride_weight, "stride both ways; 0: sw and sh"},                        \
        {"sw", 1, 255, TB_KNOB_UNIFORM, NULL, NULL, "column stride"},                                                  \
        {"sh", 1, 255, TB_KNOB_UNIFORM, NULL, NULL, "row stride"},                                                     \
        {"d", 0, 255, LATER_WEIGHTED, NULL, dilation_weight, "dilation both ways; 0: dil_w and dil_h"},                \
        {"dil_w", 1, 255, LATER_UNIFORM, NULL, NULL, "columns from one kernel column to the next"},                    \
        {"dil_h", 1, 255, LATER_UNIFORM, NULL, NULL, "rows from one kernel row to the next"},                          \
        {"p", -1, 255, TB_KNOB_WEIGHTED, NULL, pad_weight, "padding on all sides; -1: pl pr pt pb"},                   \
        {"pl", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "padding left"},                                                   \
        {"pr", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "padding right"},                                                  \
        {"pt", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "padding above"}, {                                                \
        "pb", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "padding below"                                                     \
    }

/* Post-processing of the sums, and data. */
#define KNOBS_OF_DATA                                                                                                  \
    {"act", 0, NPU_ACT_COUNT - 1, TB_KNOB_ENUM, conv_act_names, act_weight, "activation"},                             \
        {"act_p", 0, 1, LATER_WEIGHTED, NULL, rare_weight, "parameters of the activation: 0 plain, 1 hard"},           \
        {"bias",                                                                                                       \
         0,                                                                                                            \
         2,                                                                                                            \
         TB_KNOB_WEIGHTED,                                                                                             \
         NULL,                                                                                                         \
         bias_weight,                                                                                                  \
         "0 none, 1 plain values, 2 hard values (NaN, subnormals ...)"},                                               \
        {"in_layout", 0, 1, LATER_ENUM, conv_layout_names, layout_weight, "FP32 NCHW or INT8 NHWC"},                   \
        {"out_layout", 0, 1, LATER_ENUM, conv_layout_names, layout_weight, "FP32 NCHW or INT8 NHWC"},                  \
        {"data", 0, CONV_DATA_COUNT - 1, TB_KNOB_ENUM, conv_data_names, data_weight, "input values"},                  \
        {"wdata", 0, CONV_W_COUNT - 1, TB_KNOB_ENUM, conv_wdata_names, wdata_weight, "weights"},                       \
        {"in_scale",                                                                                                   \
         0,                                                                                                            \
         CONV_SCALE_COUNT - 1,                                                                                         \
         TB_KNOB_ENUM,                                                                                                 \
         conv_scale_names,                                                                                             \
         scale_weight,                                                                                                 \
         "scale of the input quantiser"},                                                                              \
        {"out_scale",                                                                                                  \
         0,                                                                                                            \
         CONV_SCALE_COUNT - 1,                                                                                         \
         LATER_ENUM,                                                                                                   \
         conv_scale_names,                                                                                             \
         scale_weight,                                                                                                 \
         "scale of the output quantiser"},                                                                             \
        {"wscale",                                                                                                     \
         0,                                                                                                            \
         CONV_WSCALE_COUNT - 1,                                                                                        \
         TB_KNOB_ENUM,                                                                                                 \
         conv_wscale_names,                                                                                            \
         wscale_weight,                                                                                                \
         "weight scales, which give the output scales"},                                                               \
    {                                                                                                                  \
        "asym", 0, 1, LATER_WEIGHTED, NULL, rare_weight,                                                               \
            "1: zero-points, rounding, range and int32 biases are drawn; 0: symmetric INT8"                            \
    }

/* Splits of the first run and of the second. */
#define KNOBS_OF_SPLITS                                                                                                \
    {"max_ow",                                                                                                         \
     0,                                                                                                                \
     65535,                                                                                                            \
     LATER_SMALL,                                                                                                      \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     "most output columns of a task; below the width, tasks take one kernel row and a segment of a row; 0: the "       \
     "driver decides"},                                                                                                \
        {"max_oh", 0, 16384, TB_KNOB_SMALL, NULL, NULL, "most output rows of a task; 0: the driver decides"},          \
        {"max_ic", 0, 4096, TB_KNOB_SMALL, NULL, NULL, "most input channels of a task; 0 or at least N"},              \
        {"max_oc", 0, 4096, TB_KNOB_SMALL, NULL, NULL, "most output channels of a task; 0 or at least N"},             \
        {"group", 0, 255, TB_KNOB_SMALL, NULL, NULL, "tiles written back together; 0: the driver decides"},            \
        {"serial", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: one task in flight"},                                        \
        {"no_res", 0, 1, LATER_WEIGHTED, NULL, rare_weight, "1: weights do not stay on chip"},                         \
        {"max_kh", 0, 255, LATER_SMALL, NULL, NULL, "most kernel rows of a task; 0: the driver decides"},              \
        {"res", 0, 1, LATER_WEIGHTED, NULL, rare_weight, "1: weights stay on chip where they can; not with no_res"},   \
        {"second",                                                                                                     \
         0,                                                                                                            \
         1,                                                                                                            \
         TB_KNOB_WEIGHTED,                                                                                             \
         NULL,                                                                                                         \
         second_weight,                                                                                                \
         "1: run again with the splits below and expect the same bytes"},                                              \
        {"max_ow2", 0, 65535, LATER_SMALL, NULL, NULL, "max_ow of the second run"},                                    \
        {"max_oh2", 0, 16384, TB_KNOB_SMALL, NULL, NULL, "max_oh of the second run"},                                  \
        {"max_ic2", 0, 4096, TB_KNOB_SMALL, NULL, NULL, "max_ic of the second run"},                                   \
        {"max_oc2", 0, 4096, TB_KNOB_SMALL, NULL, NULL, "max_oc of the second run"},                                   \
        {"group2", 0, 255, TB_KNOB_SMALL, NULL, NULL, "group of the second run"},                                      \
        {"serial2", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "serial of the second run"},                                    \
        {"no_res2", 0, 1, LATER_UNIFORM, NULL, NULL, "no_res of the second run"},                                      \
        {"max_kh2", 0, 255, LATER_SMALL, NULL, NULL, "max_kh of the second run"}, {                                    \
        "res2", 0, 1, LATER_UNIFORM, NULL, NULL, "res of the second run"                                               \
    }

#define KNOBS_OF_ENVIRONMENT                                                                                           \
    {"gap", 0, 8, TB_KNOB_SMALL, NULL, NULL, "unused units between channels (16 bytes) or pixels (N bytes)"},          \
        {"tight",                                                                                                      \
         0,                                                                                                            \
         1,                                                                                                            \
         LATER_WEIGHTED,                                                                                               \
         NULL,                                                                                                         \
         rare_weight,                                                                                                  \
         "1: the channels of an FP32 map of one pixel are 4 bytes apart"},                                             \
        {"in_shift",                                                                                                   \
         0,                                                                                                            \
         3,                                                                                                            \
         LATER_UNIFORM,                                                                                                \
         NULL,                                                                                                         \
         NULL,                                                                                                         \
         "offset of the input from a multiple of 16, in 4 bytes (INT8: N bytes)"},                                     \
        {"out_shift", 0, 3, LATER_UNIFORM, NULL, NULL, "the same of the output"},                                      \
        {"place", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "shift of the buffers against 4 KB, in 16-byte units"},         \
        {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, bus_weight, "bus timing"},                            \
        {"wait", 0, 1, TB_KNOB_ENUM, conv_wait_names, NULL, "how the driver waits"}, {                                 \
        "dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"                    \
    }

#define SHAPE_KNOB                                                                                                     \
    { "shape", 0, CONV_SHAPE_COUNT - 1, TB_KNOB_ENUM, shape_names, shape_weight, "kind of shape to generate" }

static const tb_knob knobs_of_conv[] = {
    SHAPE_KNOB,
    {"ic", 1, 4096, TB_KNOB_SMALL, NULL, NULL, "input channels"},
    {"oc", 1, 4096, TB_KNOB_SMALL, NULL, NULL, "output channels"},
    {"groups", 1, 4096, LATER_SMALL, NULL, NULL, "groups; as many as channels: depthwise"},
    KNOBS_OF_MAP,
    KNOBS_OF_DATA,
    KNOBS_OF_SPLITS,
    KNOBS_OF_ENVIRONMENT,
};

static const tb_knob knobs_of_dw[] = {
    SHAPE_KNOB,      {"c", 1, 4096, TB_KNOB_SMALL, NULL, NULL, "channels"},
    KNOBS_OF_MAP,    KNOBS_OF_DATA,
    KNOBS_OF_SPLITS, KNOBS_OF_ENVIRONMENT,
};

static const tb_knob knobs_of_linear[] = {
    {"in_len", 1, 262140, TB_KNOB_SMALL, NULL, NULL, "length of the input"},
    {"out_len", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "length of the output"},
    KNOBS_OF_DATA,
    KNOBS_OF_SPLITS,
    KNOBS_OF_ENVIRONMENT,
};

const tc_test tc_conv = {
    .name = "conv",
    .help = "convolution, constrained random over shapes, groups, layouts, splits, data and bus timing",
    .is_operator = true,
    TB_KNOBS_OF(knobs_of_conv),
    .generate = conv_generate,
    .check = conv_check,
    .execute = conv_execute,
    .size = conv_size,
    .settle = conv_settle};

const tc_test tc_dw = {.name = "dw",
                       .help = "depthwise convolution: conv with as many groups as channels",
                       .is_operator = true,
                       TB_KNOBS_OF(knobs_of_dw),
                       .generate = conv_generate,
                       .check = conv_check,
                       .execute = conv_execute,
                       .size = conv_size,
                       .settle = conv_settle};

const tc_test tc_linear = {.name = "linear",
                           .help = "fully connected layer of any length",
                           .is_operator = true,
                           TB_KNOBS_OF(knobs_of_linear),
                           .generate = linear_generate,
                           .check = conv_check,
                           .execute = conv_execute,
                           .size = conv_size,
                           .settle = conv_settle};

static npu_conv conv_of(const tb_knobs *k) {
    npu_conv c = {.iw = tc_knob(k, "iw"),
                  .ih = tc_knob(k, "ih"),
                  .ic = tc_knob(k, "ic"),
                  .oc = tc_knob(k, "oc"),
                  .groups = tc_knob(k, "groups"),
                  .kw = tc_knob(k, "kw"),
                  .kh = tc_knob(k, "kh"),
                  .stride_w = tc_knob(k, "sw"),
                  .stride_h = tc_knob(k, "sh"),
                  .dil_w = tc_knob(k, "dil_w"),
                  .dil_h = tc_knob(k, "dil_h"),
                  .pad_l = tc_knob(k, "pl"),
                  .pad_r = tc_knob(k, "pr"),
                  .pad_t = tc_knob(k, "pt"),
                  .pad_b = tc_knob(k, "pb")};
    if (tb_knobs_find(k, "c") >= 0) {
        c.ic = c.oc = c.groups = tc_knob(k, "c");
    }
    return c;
}

npu_status conv_case_of(uint32_t n, const tb_knobs *k, conv_case *out) {
    static const npu_conv vector = {
        .iw = 1, .ih = 1, .kw = 1, .kh = 1, .stride_w = 1, .stride_h = 1, .dil_w = 1, .dil_h = 1, .groups = 1};
    npu_status status = NPU_OK;
    out->linear = tb_knobs_find(k, "in_len") >= 0;
    out->math = out->linear ? vector : conv_of(k);
    if (out->linear) {
        out->math.ic = tc_knob(k, "in_len");
        out->math.oc = tc_knob(k, "out_len");
    }
    out->math.act = (npu_act)tb_knobs_get(k, "act");
    out->math.act_p[0] = UINT32_C(0x3F800000); /* drawn later; not 0, which is illegal for some activations */
    out->math.has_bias = tb_knobs_get(k, "bias") != 0;
    out->math.in_layout = (npu_layout)tb_knobs_get(k, "in_layout");
    out->math.out_layout = (npu_layout)tb_knobs_get(k, "out_layout");
    out->drive = out->math;
    if (out->linear) {
        status = npu_linear_make(n, out->math.ic, out->math.oc, out->math.in_layout, out->math.out_layout, &out->drive);
        out->drive.act = out->math.act;
        out->drive.act_p[0] = out->math.act_p[0];
        out->drive.has_bias = out->math.has_bias;
    }
    return status;
}

npu_conv_split conv_split_of(const tb_knobs *k, bool second) {
    npu_conv_split split = {.max_ow = tc_knob(k, second ? "max_ow2" : "max_ow"),
                            .max_oh = tc_knob(k, second ? "max_oh2" : "max_oh"),
                            .max_ic = tc_knob(k, second ? "max_ic2" : "max_ic"),
                            .max_oc = tc_knob(k, second ? "max_oc2" : "max_oc"),
                            .group = tc_knob(k, second ? "group2" : "group"),
                            .serial = tc_knob(k, second ? "serial2" : "serial") != 0,
                            .max_kh = tc_knob(k, second ? "max_kh2" : "max_kh"),
                            .no_resident = tc_knob(k, second ? "no_res2" : "no_res") != 0};
    split.resident = !split.no_resident && tc_knob(k, second ? "res2" : "res") != 0;
    return split;
}

/* A knob that stands for two: their value, or `none` where they differ. */
static void settle_both(tb_knobs *k, const char *all, int64_t none, const char *a, const char *b) {
    const int64_t v = tb_knobs_get(k, a);
    tb_knobs_set(k, all, v == tb_knobs_get(k, b) ? v : none);
}

void conv_settle(tb_knobs *k) {
    const int64_t groups = tb_knobs_get(k, "groups");
    const int64_t pad = tb_knobs_get(k, "pl");
    if (groups > 1) {
        const int64_t in = tb_knobs_get(k, "ic") / groups;
        const int64_t out = tb_knobs_get(k, "oc") / groups;
        tb_knobs_set(k, "ic", groups * (in > 0 ? in : 1));
        tb_knobs_set(k, "oc", groups * (out > 0 ? out : 1));
    }
    settle_both(k, "k", 0, "kw", "kh");
    settle_both(k, "s", 0, "sw", "sh");
    settle_both(k, "d", 0, "dil_w", "dil_h");
    tb_knobs_set(k, "p",
                 pad == tb_knobs_get(k, "pr") && pad == tb_knobs_get(k, "pt") && pad == tb_knobs_get(k, "pb") ? pad
                                                                                                              : -1);
}

/* The knobs that stand for several. */
static int check_combined(const tb_knobs *knobs, const npu_conv *c, char *err, size_t err_size) {
    const int64_t k = tb_knobs_get(knobs, "k");
    const int64_t s = tb_knobs_get(knobs, "s");
    const int64_t d = tb_knobs_get(knobs, "d");
    const int64_t p = tb_knobs_get(knobs, "p");
    if ((k != 0 && (c->kw != k || c->kh != k)) || (s != 0 && (c->stride_w != s || c->stride_h != s)) ||
        (d != 0 && (c->dil_w != d || c->dil_h != d)) ||
        (p >= 0 && (c->pad_l != p || c->pad_r != p || c->pad_t != p || c->pad_b != p))) {
        return opt_fail(
            err, err_size,
            "k, s, d or p contradicts kw kh, sw sh, dil_w dil_h or pl pr pt pb (k=0, s=0, d=0, p=-1 leave it to "
            "those)");
    }
    return 0;
}

int conv_check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    conv_case what;
    npu_conv_plan plan;
    npu_status status = conv_case_of(n, knobs, &what);
    const npu_conv *c = &what.math;
    if (status == NPU_OK && !what.linear && check_combined(knobs, c, err, err_size) != 0) {
        return -1;
    }
    for (int second = 0; second <= (tb_knobs_get(knobs, "second") != 0 ? 1 : 0) && status == NPU_OK; second++) {
        const npu_conv_split split = conv_split_of(knobs, second != 0);
        status = npu_conv_plan_make(n, &what.drive, &split, &plan);
    }
    if (status != NPU_OK) {
        return opt_fail(
            err, err_size,
            "impossible convolution (iw=%u ih=%u ic=%u oc=%u groups=%u kw=%u kh=%u dil_w=%u dil_h=%u pl=%u pr=%u "
            "pt=%u pb=%u): %s",
            c->iw, c->ih, c->ic, c->oc, c->groups, c->kw, c->kh, c->dil_w, c->dil_h, c->pad_l, c->pad_r, c->pad_t,
            c->pad_b, npu_strerror(status));
    }
    return conv_check_memory(c, &plan, err, err_size);
}
