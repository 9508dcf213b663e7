/* ops_gemm.c - the operator space of the tests conv, dw and linear: shapes, splits, layouts, data, environment, and
 * crosses of these. */
#include "models.h"

static const char *const shapes[] = {"any",     "point",   "row",    "tiny",  "wide",      "broad",
                                     "tall",    "rows",    "deep",   "many",  "depthwise", "grouped",
                                     "dilated", "strided", "padded", "large", "stream"};
static const char *const layouts[] = {"fp32", "int8"};
static const char *const data[] = {"uniform", "extreme", "zeros", "sparse", "ramp", "specials", "halves"};
static const char *const wdata[] = {"uniform", "extreme", "zeros", "sparse", "ramp"};
static const char *const scales[] = {"calib", "pow2", "tiny", "huge", "special"};
static const char *const wscales[] = {"plain", "zeros", "hard"};

static const cov_bin shape_bins[] = {NPU_ENUM(shapes, 17, ":shape=%")};
static const cov_bin layout_in_bins[] = {NPU_ENUM(layouts, 2, ":in_layout=%")};
static const cov_bin layout_out_bins[] = {NPU_ENUM(layouts, 2, ":out_layout=%")};
static const cov_bin data_bins[] = {NPU_ENUM(data, 7, ":data=%"), NPU_ONES};
static const cov_bin wdata_bins[] = {NPU_ENUM(wdata, 5, ":wdata=%"), NPU_ONES};
static const cov_bin in_scale_bins[] = {NPU_ENUM(scales, 5, ":in_scale=%")};
static const cov_bin out_scale_bins[] = {NPU_ENUM(scales, 5, ":out_scale=%")};
static const cov_bin wscale_bins[] = {NPU_ENUM(wscales, 3, ":wscale=%")};
static const cov_bin act_bins[] = {NPU_ENUM(npu_act_names, NPU_GEMM_ACT_TYPE_COUNT, ":act=%")};

#define EDGES(h)                                                                                                       \
    {COV_EACH(1, 11), .hint = (h)}, {COV_RANGE("12..31", 12, 31), .hint = (h)},                                        \
        {COV_RANGE("32..254", 32, 254), .hint = (h)}, {                                                                \
        COV_VALUE("255", 255), .hint = (h)                                                                             \
    }
static const cov_bin kw_bins[] = {EDGES(":k=0 kw=%")};
static const cov_bin kh_bins[] = {EDGES(":k=0 kh=%")};
#define FEW(h)                                                                                                         \
    {COV_EACH(1, 8), .hint = (h)}, {COV_RANGE("9..254", 9, 254), .hint = (h)}, {                                       \
        COV_VALUE("255", 255), .hint = (h)                                                                             \
    }
static const cov_bin sw_bins[] = {FEW(":s=0 sw=%")};
static const cov_bin sh_bins[] = {FEW(":s=0 sh=%")};
static const cov_bin dil_w_bins[] = {{COV_EACH(1, 4)}, {COV_RANGE("5..255", 5, 255)}};
static const cov_bin pad_bins[] = {
    {COV_EACH(0, 4)}, {COV_RANGE("5..15", 5, 15)}, {COV_RANGE("16..254", 16, 254)}, {COV_VALUE("255", 255)}};
static const cov_bin map_bins[] = {{COV_POW2(1, 65535)}};
static const cov_bin row_bins[] = {{COV_POW2(1, 16384)}};
static const cov_bin channel_bins[] = {{COV_POW2(1, 4096)}};
static const cov_bin length_bins[] = {{COV_POW2(1, 65535)},
                                      {COV_POW2(65536, 262140), .hint = ":in_layout=fp32 in_len=%"}};
static const cov_bin ic_rest_bins[] = {NPU_RESTS(":ic=")};
static const cov_bin oc_rest_bins[] = {NPU_RESTS(":oc=")};
static const cov_bin c_rest_bins[] = {NPU_RESTS(":c=")};
static const cov_bin in_rest_bins[] = {NPU_RESTS(":in_len=")};
static const cov_bin out_rest_bins[] = {NPU_RESTS(":out_len=")};
/* Bins of a limit and the size that it splits; 32 is a legal limit for every mesh. */
#define SPLITS(limit, size)                                                                                            \
    {COV_VALUE("driver", 0), .hint = ":" limit "=0"}, {COV_VALUE("whole", 1), .hint = ":" limit "=4096"},              \
        {COV_VALUE("two", 2), .hint = ":" size "=64 " limit "=32"},                                                    \
        {COV_VALUE("more", 3), .hint = ":" size "=96 " limit "=32"}, {                                                 \
        COV_VALUE("with a rest", 4), .hint = ":" size "=80 " limit "=32"                                               \
    }
static const cov_bin cut_ow_bins[] = {SPLITS("max_ow", "k=1 s=1 d=1 p=0 iw")};
static const cov_bin cut_oh_bins[] = {SPLITS("max_oh", "k=1 s=1 d=1 p=0 ih")};
static const cov_bin cut_ic_bins[] = {SPLITS("max_ic", "groups=1 ic")};
static const cov_bin cut_oc_bins[] = {SPLITS("max_oc", "groups=1 oc")};
static const cov_bin cut_in_bins[] = {SPLITS("max_ic", "in_len")};
static const cov_bin cut_out_bins[] = {SPLITS("max_oc", "out_len")};
static const cov_bin group_ic_bins[] = {{COV_VALUE("driver", 0), .hint = ":groups=2 max_ic=0"},
                                        {COV_VALUE("whole", 1), .hint = ":groups=2 max_ic=4096"},
                                        {COV_VALUE("two", 2), .hint = ":groups=2 ic=128 max_ic=32"},
                                        {COV_VALUE("more", 3), .hint = ":groups=2 ic=192 max_ic=32"},
                                        {COV_VALUE("with a rest", 4), .hint = ":groups=2 ic=160 max_ic=32"}};
static const cov_bin groups_bins[] = {{COV_VALUE("one", 0), .hint = ":groups=1"},
                                      {COV_VALUE("some", 1), .hint = ":shape=grouped"},
                                      {COV_VALUE("one a channel", 2), .hint = ":shape=depthwise"}};
static const cov_bin cut_kh_bins[] = {{COV_VALUE("driver", 0)},
                                      {COV_EACH(1, 3), .hint = ":k=4 max_kh=%"},
                                      {COV_RANGE("4..255", 4, 255), .hint = ":k=6 max_kh=%"}};
static const cov_bin tiles_bins[] = {{COV_VALUE("driver", 0)}, {COV_POW2(1, 255), .hint = ":group=%"}};
static const cov_bin bias_bins[] = {{COV_VALUE("none", 0), .hint = ":bias=0"},
                                    {COV_VALUE("plain", 1), .hint = ":bias=1"},
                                    {COV_VALUE("hard", 2), .hint = ":bias=2"}};
static const cov_bin gap_bins[] = {{COV_EACH(0, 8), .hint = ":gap=%"}};
static const cov_bin shift_bins[] = {{COV_EACH(0, 3)}};
static const cov_bin place_bins[] = {{COV_VALUE("at 4 KB", 0), .hint = ":place=0"},
                                     {COV_RANGE("1..15", 1, 15), .hint = ":place=%"},
                                     {COV_POW2(16, 254), .hint = ":place=%"},
                                     {COV_VALUE("the last 16 bytes", 255), .hint = ":place=255"}};

/* A size of both directions, or of one. */
static int64_t both(const npu_case *c, const char *one, int64_t apart, const char *own) {
    const int64_t value = npu_knob(c, one);
    return value == apart ? npu_knob(c, own) : value;
}
NPU_VALUE(kw, both(c, "k", 0, "kw"))
NPU_VALUE(kh, both(c, "k", 0, "kh"))
NPU_VALUE(sw, both(c, "s", 0, "sw"))
NPU_VALUE(sh, both(c, "s", 0, "sh"))
NPU_VALUE(dil_w, both(c, "d", 0, "dil_w"))
NPU_VALUE(dil_h, both(c, "d", 0, "dil_h"))
NPU_VALUE(pl, both(c, "p", -1, "pl"))
NPU_VALUE(pr, both(c, "p", -1, "pr"))
NPU_VALUE(pt, both(c, "p", -1, "pt"))
NPU_VALUE(pb, both(c, "p", -1, "pb"))
NPU_VALUE(ow, (npu_knob(c, "iw") + pl(c) + pr(c) - dil_w(c) * (kw(c) - 1) - 1) / sw(c) + 1)
NPU_VALUE(oh, (npu_knob(c, "ih") + pt(c) + pb(c) - dil_h(c) * (kh(c) - 1) - 1) / sh(c) + 1)
NPU_VALUE(ic_rest, npu_rest(npu_knob(c, "ic"), c->n))
NPU_VALUE(oc_rest, npu_rest(npu_knob(c, "oc"), c->n))
NPU_VALUE(c_rest, npu_rest(npu_knob(c, "c"), c->n))
NPU_VALUE(in_rest, npu_rest(npu_knob(c, "in_len"), c->n))
NPU_VALUE(out_rest, npu_rest(npu_knob(c, "out_len"), c->n))
static int64_t groups(const npu_case *c) {
    const int64_t g = npu_knob(c, "groups");
    return g == 1 ? 0 : g == npu_knob(c, "ic") ? 2 : 1;
}
NPU_VALUE(cut_ow, npu_pieces(npu_knob(c, "max_ow"), ow(c)))
NPU_VALUE(cut_oh, npu_pieces(npu_knob(c, "max_oh"), oh(c)))
/* The limits are of the channels of one group. */
NPU_VALUE(cut_ic, npu_pieces(npu_knob(c, "max_ic"), npu_knob(c, "ic") / npu_knob(c, "groups")))
NPU_VALUE(group_ic, groups(c) == 1 ? cut_ic(c) : COV_NONE)
NPU_VALUE(cut_oc, npu_pieces(npu_knob(c, "max_oc"), npu_knob(c, "oc") / npu_knob(c, "groups")))
NPU_VALUE(cut_in, npu_pieces(npu_knob(c, "max_ic"), npu_knob(c, "in_len")))
NPU_VALUE(cut_out, npu_pieces(npu_knob(c, "max_oc"), npu_knob(c, "out_len")))

/* Coverpoints and their values are written together, so that they stay consistent: P is the knob of that name, D a
 * function of knobs. */
#define MAP(P, D)                                                                                                      \
    P(shape, "a kind of shape that takes a separate path in the driver", shape_bins)                                   \
    D(kw, "kernel columns are counted wrong at one width", kw_bins, kw, ":k=0 kw=%")                                   \
    D(kh, "kernel rows are counted wrong at one height", kh_bins, kh, ":k=0 kh=%")                                     \
    D(sw, "a column stride beyond a word skips or repeats pixels", sw_bins, sw, ":s=0 sw=%")                           \
    D(sh, "a row stride beyond the rows that are kept reads old ones", sh_bins, sh, ":s=0 sh=%")                       \
    D(dil_w, "dilated columns are read from the wrong place in a word", dil_w_bins, dil_w, ":d=0 dil_w=%")             \
    D(dil_h, "dilated rows are not in the input buffer any more", dil_w_bins, dil_h, ":d=0 dil_h=%")                   \
    D(pl, "padding on the left shifts the first pixels", pad_bins, pl, ":p=-1 pl=%")                                   \
    D(pr, "padding on the right is missing, or ends a row early", pad_bins, pr, ":p=-1 pr=%")                          \
    D(pt, "padding above is read from the rows of the previous task", pad_bins, pt, ":p=-1 pt=%")                      \
    D(pb, "padding below is read from memory after the map", pad_bins, pb, ":p=-1 pb=%")                               \
    P(iw, "a row that just fits a buffer, or just does not", map_bins)                                                 \
    P(ih, "a map whose rows just fit, or just do not", row_bins)                                                       \
    D(ow, "output columns end in the middle of a word", map_bins, ow, ":k=1 s=1 d=1 p=0 iw=%")                         \
    D(oh, "the last rows of an output are not written", row_bins, oh, ":k=1 s=1 d=1 p=0 ih=%")                         \
    D(max_ow, "segments of rows overlap, or leave a column out", cut_ow_bins, cut_ow, NULL)                            \
    D(max_oh, "tasks of rows overlap, or leave a row out", cut_oh_bins, cut_oh, NULL)                                  \
    P(max_kh, "the sums of kernel rows are added twice, or those of the padding are missing", cut_kh_bins)

#define DATA(P, D)                                                                                                     \
    P(act, "an activation after a convolution uses the parameters of another one", act_bins)                           \
    P(act_p, "the activation is wrong for parameters at the limits of FP32", flag_bins)                                \
    P(bias, "a bias of the previous task, NaN or subnormal, affects the sums", bias_bins)                              \
    P(in_layout, "pixels and channels are swapped", layout_in_bins)                                                    \
    P(out_layout, "results go to the wrong place of the layout", layout_out_bins)                                      \
    P(data, "saturation, halves, zeros or NaN of the input are rounded wrong", data_bins)                              \
    P(wdata, "the largest products do not fit the accumulator", wdata_bins)                                            \
    P(in_scale, "the quantiser's factor is tiny, huge or special", in_scale_bins)                                      \
    P(out_scale, "the output's factor is tiny, huge or special", out_scale_bins)                                       \
    P(wscale, "scales of channels are mixed up, or zero", wscale_bins)                                                 \
    P(asym, "a zero-point, the rounding or the int32 bias of another task is used", flag_bins)

#define AROUND(P, D)                                                                                                   \
    P(group, "tiles that are written together exceed the buffer", tiles_bins)                                          \
    P(serial, "tasks in flight use each other's buffers", flag_bins)                                                   \
    P(no_res, "resident weights are those of another task", flag_bins)                                                 \
    P(res, "weights stay on chip beside a map that fits, and a bank is released too early", flag_bins)                 \
    P(second, "another split of the same operator gives other bytes", flag_bins)                                       \
    P(gap, "the space between channels or pixels is written", gap_bins)                                                \
    P(tight, "channels that share a beat overwrite each other", flag_bins)                                             \
    P(in_shift, "unaligned input is realigned wrong", shift_bins)                                                      \
    P(out_shift, "the strobes of an unaligned output include bytes next to it", shift_bins)                            \
    P(place, "a burst crosses 4 KB, or is cut one beat early", place_bins)                                             \
    P(bus, "a unit loses data with slow or bursty memory", bus_bins)                                                   \
    P(wait, "interrupt and status are inconsistent", wait_bins)

#define CONV(P, D)                                                                                                     \
    MAP(P, D)                                                                                                          \
    P(ic, "input channels of more than one pass", channel_bins)                                                        \
    P(oc, "output channels of more than one tile", channel_bins)                                                       \
    D(ic_rest, "the last lanes of the input are not zero", ic_rest_bins, ic_rest, NULL)                                \
    D(oc_rest, "lanes beyond the last output channel are written", oc_rest_bins, oc_rest, NULL)                        \
    D(groups, "a group reads the channels of another one", groups_bins, groups, NULL)                                  \
    D(group_ic, "the sums of one group continue in the next", group_ic_bins, group_ic, NULL)                           \
    D(max_ic, "partial sums are added twice, or not at all", cut_ic_bins, cut_ic, NULL)                                \
    D(max_oc, "output channels of a later task overwrite those of the first", cut_oc_bins, cut_oc, NULL)               \
    DATA(P, D) AROUND(P, D)
#define DW(P, D)                                                                                                       \
    MAP(P, D)                                                                                                          \
    P(c, "channels of more than one pass", channel_bins)                                                               \
    D(c_rest, "lanes beyond the last channel are written", c_rest_bins, c_rest, NULL) DATA(P, D) AROUND(P, D)
#define LINEAR(P, D)                                                                                                   \
    P(in_len, "an input that is longer than the buffer", length_bins)                                                  \
    P(out_len, "an output of more than one task", map_bins)                                                            \
    D(in_rest, "the last lanes of the input are not zero", in_rest_bins, in_rest, NULL)                                \
    D(out_rest, "lanes beyond the last output are written", out_rest_bins, out_rest, NULL)                             \
    D(max_ic, "partial sums are added twice, or not at all", cut_in_bins, cut_in, NULL)                                \
    D(max_oc, "outputs of a later task overwrite those of the first", cut_out_bins, cut_out, NULL)                     \
    DATA(P, D) AROUND(P, D)

#define MAP_CROSSES                                                                                                    \
    {COV_CROSS("kw_sw", "columns of a kernel wider than its stride are kept, of a narrower one skipped", "kw", "sw")}, \
        {COV_CROSS("kh_sh", "rows of a kernel higher than its stride are kept, of a lower one skipped", "kh", "sh")},  \
        {COV_CROSS("kw_pl", "a window that sees more padding than map", "kw", "pl")},                                  \
        {COV_CROSS("kh_pt", "a window that sees more padding than map", "kh", "pt")},                                  \
        {COV_CROSS("shape_asym", "padding that is a zero-point, in one kind of shape", "shape", "asym")},              \
        {COV_CROSS("shape_layouts", "one kind of shape in one layout alone", "shape", "in_layout", "out_layout")}, {   \
        COV_CROSS("rows_columns", "tasks are split in both directions, and one split ignores the other", "max_ow",     \
                  "max_oh")                                                                                            \
    }
#define DATA_CROSSES                                                                                                   \
    {COV_CROSS("act_layout", "an activation before the output quantiser rounds twice", "act", "out_layout", "bias")},  \
        {COV_CROSS("data_wdata", "products of the largest inputs and the largest weights", "data", "wdata")},          \
        {COV_CROSS("data_scale", "halves, zeros and NaN at a factor of the quantiser", "data", "in_scale",             \
                   "in_layout")},                                                                                      \
        {COV_CROSS("asym_layouts", "a zero-point is added by the wrong quantiser, or twice", "asym", "in_layout",      \
                   "out_layout", "bias")},                                                                             \
    {                                                                                                                  \
        COV_CROSS("bus_layouts", "a layout's bursts under one timing of memory", "bus", "in_layout", "out_layout")     \
    }

static const cov_cross conv_crosses[] = {
    MAP_CROSSES,
    DATA_CROSSES,
    {COV_CROSS("rests", "the last lanes of input and output, in each layout", "ic_rest", "oc_rest", "in_layout",
               "out_layout")},
    {COV_CROSS("channel_cuts", "input and output channels are split", "max_ic", "max_oc")},
    {COV_CROSS("cuts", "channels and rows are split, and partial sums are kept across both", "max_oh", "max_ic")}};

static const cov_cross dw_crosses[] = {
    MAP_CROSSES,
    DATA_CROSSES,
    {COV_CROSS("rest_layout", "the last lanes, in each layout", "c_rest", "in_layout", "out_layout")}};

static const cov_cross linear_crosses[] = {
    DATA_CROSSES,
    {COV_CROSS("rests", "the last lanes of input and output, in each layout", "in_rest", "out_rest", "in_layout",
               "out_layout")},
    {COV_CROSS("cuts", "inputs and outputs are both split", "max_ic", "max_oc")}};

const npu_model npu_models_gemm[] = {NPU_MODEL("conv", CONV, "convolutions", conv_crosses),
                                     NPU_MODEL("dw", DW, "depthwise convolutions", dw_crosses),
                                     NPU_MODEL("linear", LINEAR, "fully connected layers", linear_crosses),
                                     {0}};
