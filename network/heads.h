/* heads.h - kinds of heads without a detection layer: a row of a table for each. Inside network/ only. */
#ifndef NET_HEADS_H
#define NET_HEADS_H

#include "boxes.h"
#include "found.h"

/* Candidates that are collected: those below `least` are left out. */
typedef struct net_decoded {
    const net_shape *input;
    float least;
    net_found *list; /* [rows] */
    uint32_t rows, count;
} net_decoded;

typedef struct net_head_op {
    const char *name;
    const char *expected; /* the outputs, for an error */
    const char *anchors;  /* for net_heads_parse(), or NULL: the kind has none that could be given */
    /* Which outputs of a planned graph are which: one net_head_level() for each grid. false: they do not fit. */
    bool (*fit)(net_heads *heads, const net_graph *graph);
    void (*decode)(const net_heads *heads, const net_graph *graph, const float *const *output, net_decoded *decoded);
} net_head_op;

/* A row without a name ends the table. */
extern const net_head_op net_head_ops[];

const net_shape *net_head_input(const net_graph *graph);
const net_shape *net_head_output(const net_graph *graph, uint32_t output);
/* Add a grid with the numbers of its outputs. false: too many, or another number of classes than the one before. */
bool net_head_level(net_heads *heads, uint32_t stride, uint32_t score, uint32_t box, uint32_t classes, uint32_t rows);

#endif
