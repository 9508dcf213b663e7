/* precision.h - what a detection network finds beside what is there: boxes of its outputs, mean average precision. */
#ifndef NET_PRECISION_H
#define NET_PRECISION_H

#include "boxes.h"

/* From the outputs of a network to boxes: those of its detection layer, or (raw) of heads without such a layer. */
typedef struct net_finder {
    bool raw;
    net_heads heads;      /* raw: of net_heads_named() or net_heads_parse() */
    float least, overlap; /* raw: as in net_heads_decode() */
    /* filled by net_finder_init() */
    uint32_t rows;
    float *row;
    net_box *box;
} net_finder;
/* For a planned graph. Errors: NET_ERR_UNSUPPORTED (other outputs), NET_ERR_MEMORY. */
net_status net_finder_init(net_finder *finder, const net_graph *graph, net_error *err);
/* Boxes of an inference in pixels of the picture, best score first: finder->box[*count]. output: as in
 * net_heads_decode(). NET_ERR_MEMORY. */
net_status net_finder_boxes(net_finder *finder, const net_graph *graph, const float *const *output, const net_fit *fit,
                            uint32_t *count, net_error *err);
void net_finder_free(net_finder *finder);

/* A box of picture number `image`, as the network numbers classes. Of one that is there the score is unused. */
typedef struct net_object {
    uint32_t image;
    net_box box;
} net_object;

typedef struct net_precision {
    const net_object *truth; /* of the caller */
    uint32_t truths;
    net_object *found;
    uint32_t founds, room;
} net_precision;

/* Mean over the classes that have objects. half: two boxes fit from an overlap (intersection over union) of 0.5 on;
 * mean: the mean over 0.5, 0.55 ... 0.95. 0..1. */
typedef struct net_precision_result {
    uint32_t objects, classes;
    double half, mean;
} net_precision_result;

/* Boxes that a network has found in a picture. NET_ERR_MEMORY. */
net_status net_precision_add(net_precision *p, uint32_t image, const net_box *box, uint32_t count, net_error *err);
net_status net_precision_measure(net_precision *p, net_precision_result *result, net_error *err);
void net_precision_free(net_precision *p);

#endif
