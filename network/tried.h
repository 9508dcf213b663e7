/*
 * tried.h - the networks of models/ as test cases of an engine: LeNet and the digits network with their weights and
 * images, SqueezeNet v1.1 with weights and input from a seed and an input of any size.
 */
#ifndef NET_TRIED_H
#define NET_TRIED_H

#include "pow2_net.h"
#include "target.h"

#define NET_TRIED_IMAGES 400u /* of models/digits/heldout.csv */
#define NET_TRIED_LAYERS 30u

/* Knobs of such a case; a test may have more. */
extern const char *const net_tried_names[3];
extern const uint32_t net_tried_weights[3];
#define NET_TRIED_KNOBS                                                                                                \
    {"net", 0, 2, TB_KNOB_ENUM, net_tried_names, net_tried_weights, "network"},                                        \
        {"images", 1, NET_TRIED_IMAGES, TB_KNOB_SMALL, NULL, NULL, "images (squeezenet: 1)"},                          \
        {"first", 0, NET_TRIED_IMAGES - 1, TB_KNOB_UNIFORM, NULL, NULL, "first image; after the last comes number 0"}, \
        {"layer", 0, NET_TRIED_LAYERS, TB_KNOB_UNIFORM, NULL, NULL, "one of the engine's layers; 0: all"}, {           \
        "side", 25, 227, TB_KNOB_SMALL, NULL, NULL, "squeezenet: columns and rows of its input"                        \
    }

/* Redraw the knobs for a case of about a second: few images; of squeezenet one layer, small. */
void net_tried_constrain(tb_knobs *knobs, uint64_t seed);

typedef struct net_tried {
    const net_target *target;
    void *engine;
    net_scales *scales; /* of an engine with integers: the ones that it was opened with; else NULL */
    /* largest error of an element against FP32 on the same input, of the largest one; besides a step of its scale */
    double bound;
} net_tried;

typedef struct net_tried_result {
    uint32_t images, right, fp32_right; /* with labels */
    uint64_t tasks, cycles, expected;   /* of all images */
    char signature[32];                 /* of a failure; empty: none */
    char message[400];
} net_tried_result;

/*
 * Run a case. Failures: of the engine, "net:run"; a layer's output that is further from FP32 on the same input than the
 * bound, "net:output"; an image of another class than in FP32, "net:class", though FP32 is certain. 0, or -1 with one
 * line: files of models/ cannot be read.
 */
int net_tried_run(const net_tried *tried, const tb_knobs *knobs, uint64_t seed, net_tried_result *result,
                  net_error *err);

#endif
