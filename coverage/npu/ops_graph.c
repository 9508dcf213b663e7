/* ops_graph.c - networks: the knobs of the test graph, and its layers after optimiser, quantiser and runtime. */
#include "models.h"

#include <string.h>

static const char *const optimise[] = {"none", "before", "after", "both"};
static const char *const data[] = {"plain", "zeros", "ramp", "wide"};
static const char *const ops[] = {"conv",     "depthwise", "groups",     "linear", "pool",   "global pool",
                                  "eltwise",  "binary",    "activation", "norm",   "concat", "resize",
                                  "channels", "shape",     "other",      "rows",   "input"};
static const char *const places[] = {"NPU", "fused", "CPU", "addresses", "input"};
static const char *const weights[] = {"none", "float", "int8"};

#define OPS 16u /* of layers; an input is only read */

static const cov_bin layers_bins[] = {{COV_EACH(1, 12), .hint = ":layers=%"}};
static const cov_bin optimise_bins[] = {NPU_ENUM(optimise, 4, ":optimise=%")};
static const cov_bin data_bins[] = {NPU_ENUM(data, 4, ":data=%"), NPU_ONES};

#define GRAPH(P, D)                                                                                                    \
    P(layers, "one layer alone, or memory that many layers share", layers_bins)                                        \
    P(optimise, "a layer that the optimiser has merged, or not changed", optimise_bins)                                \
    P(data, "values beyond the range of a quantiser, or all zero", data_bins)                                          \
    P(dead, "a division by a weight scale of 0", flag_bins)                                                            \
    P(again, "a blob overwrites another one that shares its memory too early", flag_bins)                              \
    P(bus, "slow or bursty memory between two layers", bus_bins)                                                       \
    P(writes, "the next layer starts before results are written", flag_bins)                                           \
    P(wait, "a layer starts before the driver has seen the end of the previous one", wait_bins)

static const cov_cross case_crosses[] = {
    {COV_CROSS("again_optimise", "an optimised network frees a blob too early", "again", "optimise")}};

const npu_model npu_models_graph[] = {NPU_MODEL("graph", GRAPH, "random networks", case_crosses), {0}};

/* ---- layers ---- */

enum { OP, FROM, PLACE, FROM_PLACE, WEIGHTS, IN_FORM, OUT_FORM, INPUTS, READERS, DEPTH, POINTS };

/* Layer 2 reads layer 1: their operators make a pair. */
#define KIND(name_, number_, layer_, word_)                                                                            \
    { COV_VALUE(name_, number_), .hint = "graph:layers=4 a2=1 op" layer_ "=" word_ }
#define KINDS(layer_)                                                                                                  \
    KIND("conv", 0, layer_, "conv"), KIND("depthwise", 1, layer_, "dw"), KIND("groups", 2, layer_, "group"),           \
        KIND("linear", 3, layer_, "linear"), KIND("pool", 4, layer_, "maxpool"),                                       \
        KIND("global pool", 5, layer_, "globalmax"), KIND("eltwise", 6, layer_, "sum"),                                \
        KIND("binary", 7, layer_, "binary"), KIND("activation", 8, layer_, "act"), KIND("norm", 9, layer_, "norm"),    \
        KIND("concat", 10, layer_, "concat"), KIND("resize", 11, layer_, "interp"),                                    \
        KIND("channels", 12, layer_, "shuffle"), KIND("shape", 13, layer_, "flatten"),                                 \
        KIND("other", 14, layer_, "lrn"), KIND("rows", 15, layer_, "softmax")
static const cov_bin op_bins[] = {KINDS("2")};
static const cov_bin from_bins[] = {KINDS("1"), {COV_VALUE("input", 16), .hint = "graph:layers=4 a2=0"}};
#define PLACES(layer_)                                                                                                 \
    KIND("NPU", 0, layer_, "conv"), KIND("fused", 1, layer_, "act"), KIND("CPU", 2, layer_, "lrn"),                    \
        KIND("addresses", 3, layer_, "concat")
static const cov_bin place_bins[] = {PLACES("2")};
static const cov_bin from_place_bins[] = {PLACES("1"), {COV_VALUE("input", 4), .hint = "graph:layers=4 a2=0"}};
static const cov_bin weights_bins[] = {{COV_VALUE("none", 0), .hint = "graph:layers=4 op2=act"},
                                       {COV_VALUE("float", 1), .hint = "graph:layers=4 op2=conv prec2=float"},
                                       {COV_VALUE("int8", 2), .hint = "graph:layers=4 op2=conv prec2=int8"}};
static const cov_bin in_bins[] = {{COV_VALUE("fp32", 0), .hint = "graph:layers=4 a2=1 prec1=float"},
                                  {COV_VALUE("int8", 1), .hint = "graph:layers=4 a2=1 prec1=chain"}};
static const cov_bin out_bins[] = {{COV_VALUE("fp32", 0), .hint = "graph:layers=4 a3=2 prec2=float"},
                                   {COV_VALUE("int8", 1), .hint = "graph:layers=4 a3=2 prec2=chain"}};
static const cov_bin inputs_bins[] = {{COV_EACH(1, 4), .hint = "graph:layers=4 op4=concat k4=%"}};
static const cov_bin readers_bins[] = {{COV_VALUE("output", 0), .hint = "graph:layers=2 a2=1"},
                                       {COV_VALUE("1", 1), .hint = "graph:layers=4 a2=1 a3=2"},
                                       {COV_VALUE("2", 2), .hint = "graph:layers=4 a3=2 a4=2"},
                                       {COV_VALUE("3", 3), .hint = "graph:layers=5 a3=2 a4=2 a5=2"},
                                       {COV_RANGE("4..", 4, COV_MAX), .hint = "graph:layers=6 a3=2 a4=2 a5=2 a6=2"}};
static const cov_bin depth_bins[] = {{COV_EACH(1, 8), .hint = "graph:layers=%"},
                                     {COV_RANGE("9..", 9, COV_MAX), .hint = "graph:layers=12"}};

static const cov_point layer_points[POINTS] = {
    [OP] = {COV_POINT("op", "one kind of layer is never part of a network", op_bins)},
    [FROM] = {COV_POINT("from", "the output of one kind of layer is read wrongly", from_bins)},
    [PLACE] = {COV_POINT("place", "a layer runs nowhere, or twice", place_bins)},
    [FROM_PLACE] = {COV_POINT("from_place", "a blob is not on the device of its reader", from_place_bins)},
    [WEIGHTS] = {COV_POINT("weights", "float layers between INT8 ones", weights_bins)},
    [IN_FORM] = {COV_POINT("in", "an INT8 blob is quantised once more", in_bins)},
    [OUT_FORM] = {COV_POINT("out", "requantised with the scale of another layer", out_bins)},
    [INPUTS] = {COV_POINT("inputs", "only the first two inputs arrive", inputs_bins)},
    [READERS] = {COV_POINT("readers", "the memory of a blob is freed after its first reader", readers_bins)},
    [DEPTH] = {COV_POINT("depth", "errors that add up from layer to layer", depth_bins)}};

static const cov_rule form_rules[] = {
    {COV_IGNORED, "only convolutions take INT8 blobs", {"!conv|depthwise|groups", "int8", NULL}},
    {COV_IGNORED, "only convolutions output INT8 blobs", {"!conv|depthwise|groups", NULL, "int8"}}};
static const cov_rule place_rules[] = {
    {COV_IGNORED, "these are done by addresses, or on the CPU", {"concat|shape", "NPU|fused"}},
    {COV_IGNORED, "these have no operation for the NPU", {"other", "NPU|fused|addresses"}},
    {COV_IGNORED, "only activations are merged into the previous layer", {"!activation", "fused"}},
    {COV_IGNORED,
     "these always have something to compute",
     {"conv|depthwise|groups|linear|pool|global pool|eltwise|binary|activation|norm|resize|channels|rows",
      "addresses"}},
    {COV_IGNORED,
     "the driver supports all of these",
     {"pool|global pool|eltwise|binary|norm|resize|channels|rows", "CPU"}},
    {COV_IGNORED, "its input is a map", {"concat", "CPU"}}};
static const cov_rule pair_rules[] = {{COV_IGNORED,
                                       "a Reshape separates vectors from layers of maps",
                                       {"linear", "conv|depthwise|groups|pool|global pool|resize|channels"}}};
static const cov_rule move_rules[] = {
    {COV_IGNORED, "a layer with a merged activation runs on the NPU", {"!NPU", "fused"}}};
static const cov_cross layer_crosses[] = {
    {COV_CROSS("pair", "one kind of layer after one other", "from", "op"), COV_RULES(pair_rules)},
    {COV_CROSS("move", "a blob moves between NPU and CPU", "from_place", "place"), COV_RULES(move_rules)},
    {COV_CROSS("op_place", "one kind of layer in one place", "op", "place"), COV_RULES(place_rules)},
    {COV_CROSS("op_form", "an INT8 blob on one side of one kind of layer", "op", "in", "out"), COV_RULES(form_rules)},
    {COV_CROSS("op_readers", "one kind of layer whose output several read", "op", "readers")}};
const cov_group npu_layer_group = {
    COV_GROUP("graph_layer", "executed layers of random networks: a sample for each", layer_points),
    COV_CROSSES(layer_crosses)};

/* Number of a name, COV_NONE: it is not there. */
static int64_t find(const char *name, const char *const *names, uint32_t count) {
    for (uint32_t i = 0; name != NULL && i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return COV_NONE;
}

uint32_t npu_cov_layer_ran(npu_cov *cov, const npu_cov_layer *layer, char *what, size_t size) {
    cov_inst *inst = NULL;
    cov_error err;
    if (cov_instance(npu_cov_db(cov), npu_layer_group.name, NULL, &inst, &err) != COV_OK) {
        return 0;
    }
    const int64_t values[POINTS] = {[OP] = find(layer->op, ops, OPS),
                                    [FROM] = find(layer->from, ops, OPS + 1),
                                    [PLACE] = find(layer->place, places, 4),
                                    [FROM_PLACE] = find(layer->from_place, places, 5),
                                    [WEIGHTS] = find(layer->weights, weights, 3),
                                    [IN_FORM] = layer->in_int8,
                                    [OUT_FORM] = layer->out_int8,
                                    [INPUTS] = layer->inputs,
                                    [READERS] = layer->readers,
                                    [DEPTH] = layer->depth};
    const uint32_t illegal = cov_sample(inst, values);
    if (illegal > 0) {
        cov_illegal(inst, what, size);
    }
    return illegal;
}
