/*
 * graph.c - small random networks through the library network/: quantised, optimised, run on the device, every layer
 * against its definition. The knobs describe the network completely, so that shrinking them removes layers.
 */
#include "graph_run.h"

#include <stdio.h>

/* ---- knobs ---- */

#define OPERATOR(id, name, weight, ...) weight,
static const uint32_t op_weight[GRAPH_OPS] = {
#include "graph_ops.def"
};
#undef OPERATOR
/* Weights of distances: near layers are read more often than distant ones. */
static const uint32_t near_weight[GRAPH_LAYERS] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 6, 18};
static const uint32_t far_weight[GRAPH_LAYERS] = {4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 2};
static const uint32_t k_weight[7] = {5, 2, 6, 1, 2, 1, 1};
static const uint32_t s_weight[3] = {10, 4, 1};
static const uint32_t p_weight[4] = {4, 5, 2, 1};
static const uint32_t d_weight[2] = {6, 1};
static const uint32_t act_weight[GRAPH_ACTS] = {8, 6, 2, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1};
static const uint32_t prec_weight[GRAPH_PRECS] = {3, 7, 2};
static const uint32_t data_weight[GRAPH_DATA_COUNT] = {8, 1, 1, 2, 0};
static const uint32_t optimise_weight[GRAPH_OPTIMISE_COUNT] = {1, 1, 3, 3};
static const uint32_t flag_weight[2] = {3, 1};
const char *const graph_data_names[GRAPH_DATA_COUNT] = {"plain", "zeros", "ramp", "wide", "ones"};
const char *const graph_optimise_names[GRAPH_OPTIMISE_COUNT] = {"none", "before", "after", "both"};
static const char *const wait_names[2] = {"irq", "poll"};

/* Weights of the distances from layer i to the layers before it. */
#define NEAR(i) (near_weight + GRAPH_LAYERS - (i))
#define FAR(i) (far_weight + GRAPH_LAYERS - (i))

/* Layer i of the network; fields in the order of the enumeration below. */
#define LAYER(i)                                                                                                       \
    {"op" #i, 0, GRAPH_OPS - 1, TB_KNOB_ENUM, graph_op_names, op_weight, "operator of layer " #i},                     \
        {"a" #i, 0, i - 1, TB_KNOB_WEIGHTED, NULL, NEAR(i), "layer that it reads; 0: the input"},                      \
        {"b" #i, 0, i - 1, TB_KNOB_WEIGHTED, NULL, FAR(i), "the second one, if it reads two"},                         \
        {"k" #i, 1, 7, TB_KNOB_WEIGHTED, NULL, k_weight, "kernel, variant of an operator, number of inputs"},          \
        {"s" #i, 1, 3, TB_KNOB_WEIGHTED, NULL, s_weight, "stride, variant"},                                           \
        {"p" #i, 0, 3, TB_KNOB_WEIGHTED, NULL, p_weight, "padding"},                                                   \
        {"d" #i, 1, 2, TB_KNOB_WEIGHTED, NULL, d_weight, "dilation; pooling: 2 rounds sizes up"},                      \
        {"oc" #i, 1, 128, TB_KNOB_UNIFORM, NULL, NULL, "output channels; odd: with bias"},                             \
        {"act" #i, 0, GRAPH_ACTS - 1, TB_KNOB_ENUM, graph_act_names, act_weight, "activation"}, {                      \
        "prec" #i, 0, GRAPH_PRECS - 1, TB_KNOB_ENUM, graph_prec_names, prec_weight,                                    \
            "of weights; chain: INT8 output if its readers support it"                                                 \
    }
enum { OP, SRC_A, SRC_B, KERNEL, STRIDE, PAD, DILATION, CHANNELS, ACT, PREC, FIELDS };

static const tb_knob knobs_of_graph[] = {
    LAYER(1),
    LAYER(2),
    LAYER(3),
    LAYER(4),
    LAYER(5),
    LAYER(6),
    LAYER(7),
    LAYER(8),
    LAYER(9),
    LAYER(10),
    LAYER(11),
    LAYER(12),
    {"layers", 1, GRAPH_LAYERS, TB_KNOB_UNIFORM, NULL, NULL, "number of layers"},
    {"c", 1, 128, TB_KNOB_UNIFORM, NULL, NULL, "channels of the input"},
    {"h", 1, GRAPH_SIDE, TB_KNOB_UNIFORM, NULL, NULL, "rows of the input"},
    {"w", 1, GRAPH_SIDE, TB_KNOB_UNIFORM, NULL, NULL, "columns of the input"},
    {"data", 0, GRAPH_DATA_COUNT - 1, TB_KNOB_ENUM, graph_data_names, data_weight,
     "values of the input; wide: beyond the ranges of the quantiser"},
    {"dead", 0, 1, TB_KNOB_WEIGHTED, NULL, flag_weight, "1: the first output of every layer with weights has none"},
    {"optimise", 0, GRAPH_OPTIMISE_COUNT - 1, TB_KNOB_ENUM, graph_optimise_names, optimise_weight,
     "the optimiser, before and after quantisation"},
    {"again", 0, 1, TB_KNOB_WEIGHTED, NULL, flag_weight,
     "1: a second inference, in which blobs share memory: same outputs"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"writes", 0, 1, TB_KNOB_WEIGHTED, NULL, tc_writes_weight, TC_WRITES_HELP},
    {"wait", 0, 1, TB_KNOB_ENUM, wait_names, NULL, "how the driver waits"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

/* Index of a field of layer i among the knobs. */
static size_t at(uint32_t layer, uint32_t field) {
    return (size_t)(layer - 1) * FIELDS + field;
}

static uint32_t value(const tb_knobs *k, uint32_t layer, uint32_t field) {
    return (uint32_t)k->value[at(layer, field)];
}

void graph_from_knobs(const tb_knobs *k, graph_knobs *out) {
    *out =
        (graph_knobs){.layers = tc_knob(k, "layers"), .w = tc_knob(k, "w"), .h = tc_knob(k, "h"), .c = tc_knob(k, "c")};
    for (uint32_t i = 1; i <= GRAPH_LAYERS; i++) {
        out->layer[i] = (graph_spec){.op = (graph_op)value(k, i, OP),
                                     .a = value(k, i, SRC_A),
                                     .b = value(k, i, SRC_B),
                                     .k = value(k, i, KERNEL),
                                     .s = value(k, i, STRIDE),
                                     .p = value(k, i, PAD),
                                     .d = value(k, i, DILATION),
                                     .oc = value(k, i, CHANNELS),
                                     .act = value(k, i, ACT),
                                     .prec = (graph_prec)value(k, i, PREC)};
    }
}

/* ---- size ---- */

/* Clock cycles, roughly: register accesses, the mesh at half its speed, operands over the bus. */
static tb_shrink_size size(uint32_t n, const tb_knobs *knobs) {
    graph_knobs k;
    graph g;
    graph_from_knobs(knobs, &k);
    graph_resolve(&k, &g);
    const uint32_t slow = tb_knobs_get(knobs, "writes") != 0 ? 6 : gen_slowness(knobs);
    const uint64_t bytes = 4 * g.elements + g.weights;
    const uint64_t cycles = 800 * (uint64_t)g.layers + g.macs / (n * n) + bytes * slow / 20;
    return (tb_shrink_size){.cycles = cycles << tb_knobs_get(knobs, "again"), .work = g.macs};
}

static int check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    const uint64_t cycles = size(n, knobs).cycles;
    if (cycles > 50 * gen_budget(n)) {
        return opt_fail(err, err_size, "the network is too large: about %llu cycles, expected at most %llu",
                        (unsigned long long)cycles, (unsigned long long)(50 * gen_budget(n)));
    }
    return 0;
}

/* In a third of the networks most layers are convolutions with INT8 blobs between them, which are rare otherwise. */
static void draw_chain(const tc_gen *g) {
    static const graph_op ops[] = {GRAPH_CONV, GRAPH_DW, GRAPH_GROUP};
    char name[3][16];
    if (!gen_chance(g, "chain", 1, 3)) {
        return;
    }
    for (uint32_t i = 1; i <= GRAPH_LAYERS; i++) {
        snprintf(name[0], sizeof name[0], "op%u", i);
        snprintf(name[1], sizeof name[1], "a%u", i);
        snprintf(name[2], sizeof name[2], "prec%u", i);
        if (gen_chance(g, name[0], 4, 5)) {
            gen_put(g, name[0], ops[gen_get(g, name[0]) % 3]);
            gen_put(g, name[1], i - 1);
            gen_put(g, name[2], GRAPH_CHAIN);
        }
    }
    gen_put(g, "optimise", gen_get(g, "optimise") | 2);
}

static void generate(const tc_gen *g) {
    static const char *const sides[] = {"h", "w", "c"};
    static const char *const layers[] = {"layers"};
    const int64_t side = 1 + (int64_t)(g->seed % 24);
    char name[16];
    gen_start(g);
    draw_chain(g);
    gen_draw_in(g, "c", 1, 3 * (int64_t)g->n);
    gen_size(g, "h", side);
    gen_size(g, "w", side);
    for (uint32_t i = 1; i <= GRAPH_LAYERS; i++) {
        snprintf(name, sizeof name, "oc%u", i);
        gen_draw_in(g, name, 1, gen_chance(g, name, 1, 3) ? 3 * (int64_t)g->n : (int64_t)g->n + 1);
    }
    while (size(g->n, g->knobs).cycles > 2 * gen_budget(g->n) &&
           (gen_shrink(g, sides, NULL, 3) || gen_shrink(g, layers, NULL, 1))) {
    }
}

/* ---- settle: unused knobs get their lowest value, and unused layers are removed ---- */

#define F(field) (1u << (field))
#define ONE (F(OP) | F(SRC_A))
#define WEIGHTS (ONE | F(CHANNELS) | F(ACT) | F(PREC))
#define WINDOW (F(KERNEL) | F(STRIDE) | F(PAD))
#define OPERATOR(id, name, weight, fields, ...) fields,
/* Fields that an operator uses. */
static const uint32_t fields_of[GRAPH_OPS] = {
#include "graph_ops.def"
};

static void move_layer(tb_knobs *knobs, uint32_t from, uint32_t to, const uint32_t now[GRAPH_LAYERS + 1]) {
    const uint32_t used = fields_of[value(knobs, from, OP)];
    for (uint32_t f = 0; f < FIELDS; f++) {
        const int64_t v = knobs->value[at(from, f)];
        const int64_t kept = (used >> f & 1) == 0       ? knobs->table[at(to, f)].lo
                             : f == SRC_A || f == SRC_B ? (int64_t)now[v]
                                                        : v;
        knobs->value[at(to, f)] = kept;
    }
}

/*
 * Remove the layers that are left out and renumber the others. now[] maps each old number to the new one, for a removed
 * layer to that of the layer whose output replaces its own. The network is the same except for the names of its layers.
 */
static void settle(tb_knobs *knobs) {
    const int layers_at = tb_knobs_find(knobs, "layers");
    const uint32_t layers = (uint32_t)knobs->value[layers_at];
    uint32_t now[GRAPH_LAYERS + 1] = {0};
    uint32_t left = 0;
    for (uint32_t i = 1; i <= layers; i++) {
        if (value(knobs, i, OP) == GRAPH_SKIP) {
            now[i] = now[value(knobs, i, SRC_A)];
            continue;
        }
        now[i] = ++left;
        move_layer(knobs, i, left, now);
    }
    for (uint32_t i = left + 1; i <= GRAPH_LAYERS; i++) {
        for (uint32_t f = 0; f < FIELDS; f++) {
            knobs->value[at(i, f)] = knobs->table[at(i, f)].lo;
        }
    }
    knobs->value[layers_at] = left > 0 ? left : 1;
}

const tc_test tc_graph = {.name = "graph",
                          .help = "a small random network, quantised and optimised, on the device",
                          .is_operator = false,
                          TB_KNOBS_OF(knobs_of_graph),
                          .generate = generate,
                          .check = check,
                          .execute = graph_execute,
                          .size = size,
                          .settle = settle};
