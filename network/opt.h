/* opt.h - the graph optimiser's parts, private to network/opt*.c. */
#ifndef NET_OPT_H
#define NET_OPT_H

#include "op.h"

typedef struct net_opt {
    net_graph *graph; /* planned; removed layers have no type any more, removed blobs no name */
    net_opt_note *note;
    void *user;
    net_error *err;
    uint32_t changes;
    bool no_memory;
} net_opt;

/* Report a change: one line. */
void net_opt_say(net_opt *opt, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* true: the layer was removed before. */
bool net_opt_gone(const net_layer *layer);
/* Layer that consumes output 0 of a layer; NULL: none. */
net_layer *net_opt_next(net_opt *opt, const net_layer *layer);
/* Remove a layer with one input and one output that only passes elements on. Its consumer reads the input; without a
 * consumer the producer writes the output, which keeps its name. */
void net_opt_bypass(net_opt *opt, net_layer *layer);
/* false: the layer must be kept, because an output of the network would be one of its inputs. */
bool net_opt_can_bypass(const net_opt *opt, const net_layer *layer);
/* Remove a layer together with the blob that it read. */
void net_opt_drop(net_opt *opt, net_layer *layer, uint32_t blob);
/* Fuse `next` into `layer`, which produces its input: layer writes the output of next, next is removed. */
void net_opt_absorb(net_opt *opt, net_layer *layer, net_layer *next);
/* `count` free places in both arrays: layers from `at` on move up. The blobs' places are behind num_blobs, which stays.
 * false: no memory. */
bool net_opt_room(net_graph *graph, uint32_t at, uint32_t count);
/* After the last change: the graph without gaps, without hints if anything changed, planned again. */
net_status net_opt_finish(net_opt *opt, uint32_t *changes);

/* The passes, each over the whole graph. */
void net_opt_identities(net_opt *opt);
void net_opt_splits(net_opt *opt);
void net_opt_fold(net_opt *opt);
void net_opt_activations(net_opt *opt);
void net_opt_requantise(net_opt *opt);

#endif
