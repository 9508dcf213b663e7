/*
 * graph.h - random networks (test `graph`): a network described by knobs, and its layers and blobs.
 *
 * graph_resolve() makes a legal network of any combination of knobs: sizes are reduced, and additional layers adapt
 * inputs that do not match. graph_print() writes it as .param text, which the library network/ reads like any other.
 */
#ifndef TESTCASES_GRAPH_H
#define TESTCASES_GRAPH_H

#include "../tests.h"

#define GRAPH_LAYERS 12u  /* that knobs describe */
#define GRAPH_MOST 96u    /* layers and blobs with those that make them fit */
#define GRAPH_TEXT 32768u /* bytes of .param text */
#define GRAPH_SIDE 64u    /* maps grow up to so many rows and columns */
#define GRAPH_NONE UINT32_MAX

/* Knob `op`: GRAPH_CONV and so on, one for each line of graph_ops.def. */
#define OPERATOR(id, ...) GRAPH_##id,
typedef enum graph_op {
#include "graph_ops.def"
    GRAPH_OPS
} graph_op;
#undef OPERATOR
extern const char *const graph_op_names[GRAPH_OPS];

/* Knob `act`: the first seven can stand in a layer with weights. */
#define GRAPH_ACTS 14u
#define GRAPH_FUSED_ACTS 7u
extern const char *const graph_act_names[GRAPH_ACTS];

/* Knob `prec` of layers with weights. */
typedef enum graph_prec {
    GRAPH_INT8,  /* with an FP32 output */
    GRAPH_CHAIN, /* with an INT8 output, where all readers can take one */
    GRAPH_FLOAT,
    GRAPH_PRECS
} graph_prec;
extern const char *const graph_prec_names[GRAPH_PRECS];

/* The knobs of a layer. */
typedef struct graph_spec {
    graph_op op;
    uint32_t a, b; /* layers that it reads; 0: the input */
    uint32_t k, s, p, d, oc;
    uint32_t act;
    graph_prec prec;
} graph_spec;

/* The whole network by its knobs; layer[0] is not used. */
typedef struct graph_knobs {
    uint32_t layers, w, h, c;
    graph_spec layer[GRAPH_LAYERS + 1];
} graph_knobs;

/* Element (c, y, x); dims 1: a vector of w; dims 2: h rows of w. */
typedef struct graph_blob {
    uint32_t dims, w, h, c;
    uint32_t uses;  /* layers that read it */
    uint32_t power; /* highest power of the input in it */
} graph_blob;

typedef struct graph_layer {
    char type[24], name[32], settings[128];
    uint32_t in[4], num_in;
    uint32_t out, out2; /* out2: GRAPH_NONE, or a second output */
} graph_layer;

typedef struct graph {
    graph_blob blob[GRAPH_MOST];
    graph_layer layer[GRAPH_MOST];
    uint32_t blobs, layers;
    uint32_t of[GRAPH_LAYERS + 1]; /* blob that a knob means by the number of a layer */
    uint64_t macs, elements;       /* multiply-accumulates; elements of all inputs and outputs of layers */
    uint64_t weights;
} graph;

/* Always a network that can be executed, however large. */
void graph_resolve(const graph_knobs *k, graph *g);
/* .param text; returns its length. */
size_t graph_print(const graph *g, char text[GRAPH_TEXT]);
/* Number in the knobs of a layer of this name; 0: none (the input, a Split). */
uint32_t graph_number(const char *name);

/* ---- graph_build.c, for graph_resolve() ---- */

/* A layer with one input and one output of this shape; returns its output. */
uint32_t graph_add(graph *g, const char *name, const char *type, uint32_t in, graph_blob out, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* The layer added last reads this blob, too. */
void graph_also(graph *g, uint32_t in);
/* The blob as a map, if need be by a Reshape. */
uint32_t graph_map(graph *g, const char *name, uint32_t in);
/* Another blob of the same shape: `wish`, or one made of it by a 1x1 convolution, or another one, or the blob itself.
 */
uint32_t graph_partner(graph *g, const char *name, uint32_t in, uint32_t wish);
/* Another blob that a Concat along the outermost dimension can take, with at most `most` channels together; GRAPH_NONE:
 * there is none. */
uint32_t graph_beside(const graph *g, uint32_t in, uint32_t wish, uint32_t most);

/* ---- graph_ops.c ---- */

typedef struct graph_row {
    /* Adds the layers of one spec after blob `in`; returns their output. name: of the layer. */
    uint32_t (*add)(graph *g, const graph_spec *s, const char *name, uint32_t in);
    bool map;         /* `in` is a map */
    const char *type; /* of its layer, and what coverage calls that; empty: several share one */
    const char *kind;
} graph_row;
extern const graph_row graph_rows[GRAPH_OPS];

/* Adds the layers of one spec after blob `in`; returns their output. name: of the layer. */
uint32_t graph_layers(graph *g, const graph_spec *s, const char *name, uint32_t in);

#endif
