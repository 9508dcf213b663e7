/* ops_vector.c - the operator space of the tests pool, eltwise, act, reduce, rows, convert and int16. */
#include "models.h"

#include "npu_regs.h"

static const char *const pool_shapes[] = {"any", "wide", "large", "tiny", "deep", "whole"};
static const char *const pool_types[] = NPU_POOL_CTRL_TYPE_NAMES;
static const char *const ops[] = NPU_ALU_CTRL_OP_NOT_REDUCE_NAMES;
static const char *const kinds[] = {"scalar", "vector", "channel"};
static const char *const tensor_data[] = {"plain", "extreme", "halves", "zeros", "ramp", "specials"};
static const char *const reductions[] = {"dot", "mean"};
static const char *const factors[] = {"one", "plain", "hard"};
static const char *const row_kinds[] = {"softmax", "layer_norm", "rms_norm", "softmax_across"};
static const char *const eps_kinds[] = {"plain", "zero", "hard"};
static const char *const convert_shapes[] = {"any", "point", "line", "large", "deep"};
static const char *const directions[] = {"int8", "fp32"};
static const char *const convert_data[] = {"uniform", "extreme", "zeros", "sparse", "ramp", "specials", "halves"};
static const char *const convert_scales[] = {"calib", "pow2", "tiny", "huge", "special"};

static const char *const int16_ops[] = {"conv", "dw", "to", "from"};
static const char *const int16_data[] = {"plain", "extreme", "small", "specials"};
static const char *const int16_layouts[] = {"fp32", "int16"};
static const char *const int16_acts[] = {"none", "relu", "leaky"};
static const char *const int16_resident[] = {"auto", "no", "yes"};

static const cov_bin pool_shape_bins[] = {NPU_ENUM(pool_shapes, 6, ":shape=%")};
static const cov_bin type_bins[] = {NPU_ENUM(pool_types, NPU_POOL_CTRL_TYPE_COUNT, ":type=%")};
static const cov_bin op_bins[] = {NPU_ENUM(ops, NPU_ALU_CTRL_OP_NOT_REDUCE_COUNT, ":op=%")};
static const cov_bin p_bins[] = {NPU_ENUM(kinds, 3, ":p_kind=%")};
static const cov_bin q_bins[] = {NPU_ENUM(kinds, 3, ":q_kind=%")};
static const cov_bin act_bins[] = {NPU_ENUM(npu_act_names, NPU_GEMM_ACT_TYPE_COUNT, ":act=%")};
static const char *const funcs[] = NPU_ALU_ACT_FUNC_NAMES;
static const cov_bin func_bins[] = {NPU_ENUM(funcs, NPU_ALU_ACT_FUNC_COUNT, ":func=%")};
static const cov_bin data_bins[] = {NPU_ENUM(tensor_data, 6, ":data=%"), NPU_ONES};
static const cov_bin what_bins[] = {NPU_ENUM(reductions, 2, ":what=%")};
static const cov_bin factor_bins[] = {NPU_ENUM(factors, 3, ":scale=%")};
static const cov_bin row_kind_bins[] = {NPU_ENUM(row_kinds, 4, ":kind=%")};
static const cov_bin affine_bins[] = {{COV_EACH(0, 2), .hint = ":affine=%"}};
static const cov_bin eps_bins[] = {NPU_ENUM(eps_kinds, 3, ":eps=%")};
static const cov_bin convert_shape_bins[] = {NPU_ENUM(convert_shapes, 5, ":shape=%")};
static const cov_bin to_bins[] = {NPU_ENUM(directions, 2, ":to=%")};
static const cov_bin convert_data_bins[] = {NPU_ENUM(convert_data, 7, ":data=%"), NPU_ONES};
static const cov_bin convert_scale_bins[] = {NPU_ENUM(convert_scales, 5, ":scale=%")};
static const cov_bin int16_op_bins[] = {NPU_ENUM(int16_ops, 4, ":op=%")};
static const cov_bin int16_data_bins[] = {NPU_ENUM(int16_data, 4, ":data=%")};
static const cov_bin int16_in_bins[] = {NPU_ENUM(int16_layouts, 2, ":in=%")};
static const cov_bin int16_out_bins[] = {NPU_ENUM(int16_layouts, 2, ":out=%")};
static const cov_bin int16_act_bins[] = {NPU_ENUM(int16_acts, 3, ":act=%")};
static const cov_bin int16_res_bins[] = {NPU_ENUM(int16_resident, 3, ":res=%")};
static const cov_bin ic_rest_bins[] = {NPU_RESTS(":ic=")};
static const cov_bin oc_rest_bins[] = {NPU_RESTS(":oc=")};
static const cov_bin slice_bins[] = {
    {COV_VALUE("one", 0), .hint = ":op=conv max_ic=0 max_kh=0"},
    {COV_VALUE("several", 1), .hint = ":op=conv ic=20 oc=8 h=6 w=6 kw=3 kh=3 d=1 max_ic=1 max_ow=0 max_ow2=0"}};
static const cov_bin window_bins[] = {
    {COV_EACH(1, 9)}, {COV_RANGE("10..31", 10, 31)}, {COV_RANGE("32..", 32, COV_MAX)}};
static const cov_bin stride_bins[] = {{COV_EACH(1, 5)}, {COV_RANGE("6..", 6, COV_MAX)}};
static const cov_bin pad_bins[] = {{COV_EACH(0, 4)}, {COV_RANGE("5..", 5, COV_MAX)}};
static const cov_bin size_bins[] = {{COV_POW2(1, 65535)}};
static const cov_bin channel_bins[] = {{COV_POW2(1, 8192)}};
static const cov_bin length_bins[] = {{COV_POW2(1, 1000000)}};
static const cov_bin rows_bins[] = {{COV_POW2(1, 16383)}, {COV_POW2(16384, 65535), .hint = ":c=1 w=1 h=%"}};
static const cov_bin c_rest_bins[] = {NPU_RESTS(":c=")};
static const cov_bin w_rest_bins[] = {NPU_RESTS(":w=")};
static const cov_bin gap_bins[] = {{COV_EACH(0, 8), .hint = ":gap=%"}};
static const cov_bin place_bins[] = {{COV_VALUE("at 4 KB", 0), .hint = ":place=0"}, {COV_RANGE("elsewhere", 1, 255)}};

static int64_t kw(const npu_case *c) {
    return npu_knob(c, "global") == 1 ? npu_knob(c, "w") : npu_knob(c, "k") == 0 ? npu_knob(c, "kw") : npu_knob(c, "k");
}
static int64_t kh(const npu_case *c) {
    return npu_knob(c, "global") == 1 ? npu_knob(c, "h") : npu_knob(c, "k") == 0 ? npu_knob(c, "kh") : npu_knob(c, "k");
}
/* A global window has neither stride nor padding. */
static int64_t of_window(const npu_case *c, const char *one, int64_t apart, const char *own) {
    return npu_knob(c, "global") == 1 ? COV_NONE : npu_knob(c, one) == apart ? npu_knob(c, own) : npu_knob(c, one);
}
NPU_VALUE(sw, of_window(c, "s", 0, "sw"))
NPU_VALUE(sh, of_window(c, "s", 0, "sh"))
NPU_VALUE(pl, of_window(c, "p", -1, "pl"))
NPU_VALUE(pr, of_window(c, "p", -1, "pr"))
NPU_VALUE(pt, of_window(c, "p", -1, "pt"))
NPU_VALUE(pb, of_window(c, "p", -1, "pb"))
NPU_VALUE(c_rest, npu_rest(npu_knob(c, "c"), c->n))
NPU_VALUE(w_rest, npu_rest(npu_knob(c, "w"), c->n))
NPU_VALUE(ic_rest, npu_rest(npu_knob(c, "ic"), c->n))
NPU_VALUE(oc_rest, npu_knob(c, "op") == 0 ? npu_rest(npu_knob(c, "oc"), c->n) : COV_NONE)
/* Is the sum of a convolution made by several tasks? */
NPU_VALUE(slices, npu_knob(c, "op") != 0                                                           ? COV_NONE
                  : npu_knob(c, "max_ic") != 0 && npu_knob(c, "max_ic") * c->n < npu_knob(c, "ic") ? 1
                  : npu_knob(c, "max_kh") != 0 && npu_knob(c, "max_kh") < npu_knob(c, "kh")        ? 1
                                                                                                   : 0)
/* Knobs that only one kind of reduction has. */
NPU_VALUE(dot_length, npu_knob(c, "what") == 0 ? npu_knob(c, "len") : COV_NONE)
NPU_VALUE(mean_w, npu_knob(c, "what") == 1 ? npu_knob(c, "w") : COV_NONE)
NPU_VALUE(mean_h, npu_knob(c, "what") == 1 ? npu_knob(c, "h") : COV_NONE)
NPU_VALUE(mean_c, npu_knob(c, "what") == 1 ? npu_knob(c, "c") : COV_NONE)

#define AROUND(P, D)                                                                                                   \
    P(gap, "the space between channels or pixels is written", gap_bins)                                                \
    P(place, "a burst crosses 4 KB, or is split one beat early", place_bins)                                           \
    P(bus, "a unit loses data with slow or bursty memory", bus_bins)                                                   \
    P(wait, "interrupt and status are inconsistent", wait_bins)

#define POOL(P, D)                                                                                                     \
    P(shape, "a kind of shape that takes a separate path", pool_shape_bins)                                            \
    P(type, "an average begins with the first value as a maximum does", type_bins)                                     \
    P(int8, "the number of lanes differs for bytes and words", flag_bins)                                              \
    D(kw, "window columns are counted wrong at one width", window_bins, kw, ":global=0 k=0 kw=%")                      \
    D(kh, "window rows are counted wrong at one height", window_bins, kh, ":global=0 k=0 kh=%")                        \
    D(sw, "windows that overlap, or leave columns out", stride_bins, sw, ":global=0 s=0 sw=%")                         \
    D(sh, "windows that overlap, or leave rows out", stride_bins, sh, ":global=0 s=0 sh=%")                            \
    D(pl, "padding on the left is included in a maximum", pad_bins, pl, ":global=0 p=-1 pl=%")                         \
    D(pr, "padding on the right is included in a maximum", pad_bins, pr, ":global=0 p=-1 pr=%")                        \
    D(pt, "padding above is included in a maximum", pad_bins, pt, ":global=0 p=-1 pt=%")                               \
    D(pb, "padding below is included in a maximum", pad_bins, pb, ":global=0 p=-1 pb=%")                               \
    P(exclude, "the divisor counts padding, or does not", flag_bins)                                                   \
    P(ceil, "the last window reaches beyond the padding", flag_bins)                                                   \
    P(global, "a window as large as the map is truncated", flag_bins)                                                  \
    P(w, "a row that just fits a buffer, or just does not", size_bins)                                                 \
    P(h, "rows are counted wrong", size_bins)                                                                          \
    D(c_rest, "lanes beyond the last channel are written", c_rest_bins, c_rest, NULL)                                  \
    P(data, "NaN, infinities and signed zeros in a maximum", data_bins)                                                \
    AROUND(P, D)
#define ELTWISE(P, D)                                                                                                  \
    P(op, "an operation swaps its operands", op_bins)                                                                  \
    P(p_kind, "a scalar is read as a vector, or once for each channel", p_bins)                                        \
    P(q_kind, "a scalar is read as a vector, or once for each channel", q_bins)                                        \
    P(act, "the activation of the previous operation is used", act_bins)                                               \
    P(func, "the function is left out, or that of another number", func_bins)                                          \
    P(hard, "the activation is wrong for parameters at the limits of FP32", flag_bins)                                 \
    P(w, "the last word of a row is not full", size_bins)                                                              \
    P(h, "rows are counted wrong", size_bins)                                                                          \
    P(c, "channels are counted wrong", size_bins)                                                                      \
    D(w_rest, "lanes beyond the last element are written", w_rest_bins, w_rest, NULL)                                  \
    P(in_place, "an operand is overwritten before it is read", flag_bins)                                              \
    P(same, "both operands are one tensor, read twice", flag_bins)                                                     \
    P(data, "NaN, infinities, subnormals and signed zeros of an operation", data_bins)                                 \
    AROUND(P, D)
#define ACT(P, D)                                                                                                      \
    P(act, "the wrong segment of a fitted function is used", act_bins)                                                 \
    P(hard, "the activation is wrong for parameters at the limits of FP32", flag_bins)                                 \
    P(w, "the last word of a row is not full", size_bins)                                                              \
    P(h, "rows are counted wrong", size_bins)                                                                          \
    D(w_rest, "lanes beyond the last element are written", w_rest_bins, w_rest, NULL)                                  \
    P(in_place, "the input is overwritten before it is read", flag_bins)                                               \
    P(data, "NaN and infinities of a function", data_bins)                                                             \
    AROUND(P, D)
#define REDUCE(P, D)                                                                                                   \
    P(what, "a sum begins with that of the previous reduction", what_bins)                                             \
    D(len, "a vector that ends in the middle of a word", length_bins, dot_length, ":what=dot len=%")                   \
    P(scale, "the factor of the sum is NaN, tiny or huge", factor_bins)                                                \
    D(w, "a map that ends in the middle of a word", size_bins, mean_w, ":what=mean w=%")                               \
    D(h, "rows are counted wrong", size_bins, mean_h, ":what=mean h=%")                                                \
    D(c, "the sum of a channel begins with that of another one", size_bins, mean_c, ":what=mean c=%")                  \
    P(data, "NaN and infinities in a sum; sums that cancel", data_bins)                                                \
    AROUND(P, D)
#define ROWS(P, D)                                                                                                     \
    P(kind, "a normalisation leaves a step out, or has one too many", row_kind_bins)                                   \
    P(cols, "a row that ends in the middle of a word, or in a second chunk", length_bins)                              \
    P(rows, "the operand of a row is that of another one", size_bins)                                                  \
    P(packed, "rows that begin inside a beat", flag_bins)                                                              \
    P(affine, "gamma or beta is read for the first row only", affine_bins)                                             \
    P(eps, "what is added before the root is left out, or is the root of NaN", eps_bins)                               \
    P(in_place, "a row is overwritten before a later step has read it", flag_bins)                                     \
    P(data, "NaN and infinities in a row; rows of zeros", data_bins)                                                   \
    AROUND(P, D)
#define CONVERT(P, D)                                                                                                  \
    P(shape, "a kind of shape that takes a separate path", convert_shape_bins)                                         \
    P(to, "quantised and dequantised by the same factor", to_bins)                                                     \
    P(c, "channels are counted wrong", channel_bins)                                                                   \
    P(h, "rows are counted wrong", rows_bins)                                                                          \
    P(w, "the last pixels of a row are left out", size_bins)                                                           \
    D(c_rest, "lanes beyond the last channel are not zero", c_rest_bins, c_rest, NULL)                                 \
    P(data, "saturation, halves, zeros and NaN of the quantiser", convert_data_bins)                                   \
    P(scale, "the quantiser's factor is tiny, huge or special", convert_scale_bins)                                    \
    AROUND(P, D)

#define INT16(P, D)                                                                                                    \
    P(op, "one operator is that of INT8", int16_op_bins)                                                               \
    P(in, "a word of one of the two planes goes to the other", int16_in_bins)                                          \
    P(out, "a result is written in the place of another plane, or of half a word", int16_out_bins)                     \
    P(act, "the activation of a result that shares a word", int16_act_bins)                                            \
    P(bias, "the bias is added to half of an int64", flag_bins)                                                        \
    P(data, "carries between bytes, between the halves of a sum; the quantiser", int16_data_bins)                      \
    D(ic_rest, "bytes beyond the last input channel count", ic_rest_bins, ic_rest, NULL)                               \
    D(oc_rest, "planes beyond the last output channel are not 0", oc_rest_bins, oc_rest, NULL)                         \
    D(slices, "partial sums are int32", slice_bins, slices, NULL)                                                      \
    P(res, "rows are freed by words of INT8", int16_res_bins)                                                          \
    P(second, "the result depends on the splits", flag_bins)                                                           \
    P(bus, "a unit loses data with slow or bursty memory", bus_bins)                                                   \
    P(wait, "interrupt and status are inconsistent", wait_bins)

static const cov_rule pool_rules[] = {{COV_IGNORED, "a maximum has no divisor", {"max", NULL, "yes"}}};
static const cov_cross pool_crosses[] = {
    {COV_CROSS("kw_sw", "windows wider than their stride share columns", "kw", "sw")},
    {COV_CROSS("kh_sh", "windows higher than their stride share rows", "kh", "sh")},
    {COV_CROSS("type_data", "special values of a maximum and of an average, in bytes and words", "type", "data",
               "int8")},
    {COV_CROSS("edges", "the divisor at the edge of a map", "type", "ceil", "exclude"), COV_RULES(pool_rules)},
    {COV_CROSS("rest_int8", "the last lanes, in bytes and words", "c_rest", "int8", "type")}};

static const cov_rule op_p_rules[] = {{COV_IGNORED,
                                       "p and q share one stream of the ALU: docs/npu/npu.md 3.3 refuses two vectors",
                                       {"muladd|addmul", "vector", "vector"}}};
static const cov_rule op_act_rules[] = {
    {COV_IGNORED,
     "activations are of FP32: docs/npu/npu.md 3.3 refuses one after a sum of integers",
     {"add_i32", "!none"}}};
static const cov_cross eltwise_crosses[] = {
    {COV_CROSS("op_p", "one operation reads p from the wrong place", "op", "p_kind", "q_kind"), COV_RULES(op_p_rules)},
    {COV_CROSS("op_data", "one operation with one class of values: NaN, zeros, halves", "op", "data")},
    {COV_CROSS("func_data", "NaN, zeros and infinities of a function", "func", "data")},
    {COV_CROSS("op_act", "an operation and the activation after it", "op", "act"), COV_RULES(op_act_rules)},
    {COV_CROSS("op_in_place", "one operation writes its output before it has read its input", "op", "in_place",
               "same")}};

static const cov_cross act_crosses[] = {
    {COV_CROSS("act_data", "one function with one class of values", "act", "data")},
    {COV_CROSS("act_hard", "one function with parameters at the edge of FP32", "act", "hard", "in_place")}};

static const cov_cross reduce_crosses[] = {
    {COV_CROSS("what_data", "one kind of sum with one class of values", "what", "data")}};

static const cov_cross rows_crosses[] = {
    {COV_CROSS("kind_data", "one normalisation with one class of values", "kind", "data")},
    {COV_CROSS("kind_affine", "one normalisation with or without factors, in place", "kind", "affine", "in_place")},
    {COV_CROSS("kind_eps", "one normalisation with one class of eps", "kind", "eps")}};

static const cov_cross convert_crosses[] = {
    {COV_CROSS("data_scale", "halves, zeros and NaN at a factor of the quantiser", "to", "data", "scale")},
    {COV_CROSS("rest", "the last lanes, in both directions", "to", "c_rest")}};

static const cov_cross int16_crosses[] = {
    {COV_CROSS("op_data", "one operator with one class of values", "op", "data")},
    {COV_CROSS("layouts", "input and output of both kinds", "in", "out", "slices")},
    {COV_CROSS("rests", "the last channels of both sides", "ic_rest", "oc_rest")}};

const npu_model npu_models_vector[] = {NPU_MODEL("pool", POOL, "pooling", pool_crosses),
                                       NPU_MODEL("eltwise", ELTWISE, "elementwise operations", eltwise_crosses),
                                       NPU_MODEL("act", ACT, "activations by themselves", act_crosses),
                                       NPU_MODEL("reduce", REDUCE, "inner products and averages", reduce_crosses),
                                       NPU_MODEL("rows", ROWS, "softmax and normalisations", rows_crosses),
                                       NPU_MODEL("convert", CONVERT, "conversions between layouts", convert_crosses),
                                       NPU_MODEL("int16", INT16, "INT16 convolutions", int16_crosses),
                                       {0}};
