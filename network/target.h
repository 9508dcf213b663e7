/*
 * target.h - engines that compute some layers of a network, while all others run in plain C in FP32. What an engine
 * can do and how it is reached is its own (network/NAME); placing layers, blobs and the order of the layers is common.
 * The NPU's runtime (rt.h) keeps blobs on the device instead.
 *
 * Blobs are gapless FP32 arrays. An engine with another number format quantises what it reads and gives back numbers
 * that this format holds exactly.
 */
#ifndef NET_TARGET_H
#define NET_TARGET_H

#include "network.h"

typedef enum net_target_place {
    NET_TARGET_CPU,
    NET_TARGET_ENGINE,
    NET_TARGET_FUSED /* computed with the layer before it, which is on the engine */
} net_target_place;

/* One layer of a network on an engine. */
typedef struct net_target_layer {
    net_target_place place;
    uint32_t last;     /* not on the CPU: the last one of the layers that are one step of the engine; itself: none */
    char reason[112];  /* NET_TARGET_CPU: why; empty: there is nothing that an engine would compute */
    uint64_t tasks;    /* of the last run */
    uint64_t cycles;   /* of the engine in the last run by its counters, 0 without an RTL */
    uint64_t expected; /* the same by the engine's formula, 0: it has none */
} net_target_layer;

/* How an engine is opened. */
typedef struct net_target_options {
    const char *device;              /* "model": its golden model alone; "tandem": RTL and model */
    const char *bus, *wave;          /* of the RTL: timing of the buses, FST file, or NULL */
    uint64_t seed;                   /* of bus timing and initial state */
    const uint32_t *sizes;           /* parameters of the build, in the order of its description */
    bool half;                       /* operands of 16 bits, where the engine has them */
    const struct net_scales *scales; /* of all blobs, for engines with integers (pow2_net.h) */
} net_target_options;

typedef struct net_target {
    const char *name;
    /* *engine must be closed after success. Errors: NET_ERR_DEVICE, NET_ERR_MEMORY, NET_ERR_ARG. */
    net_status (*open)(const net_target_options *options, void **engine, net_error *err);
    void (*close)(void *engine);
    /* Decide where each layer of a planned graph runs: layer[num_layers], all NET_TARGET_CPU before. */
    void (*map)(void *engine, const net_graph *graph, net_target_layer *layer);
    /*
     * Compute layer `number` and what is fused into it: its first input, the first output of the last one. In tandem
     * RTL and model are compared. Errors: NET_ERR_DEVICE, NET_ERR_MEMORY.
     */
    net_status (*run)(void *engine, const net_graph *graph, uint32_t number, net_target_layer *layer, const float *in,
                      float *out, net_error *err);
    /* Of an engine with integers: can no sum of the layer overflow, with the scales as they are? NULL: it computes in
     * floating point. */
    bool (*fits)(void *engine, uint32_t layer);
} net_target;

/* A network on an engine. */
typedef struct net_targeted net_targeted;

/* The graph must be planned and have float weights; it and the engine must outlive *out. Errors: NET_ERR_ARG,
 * NET_ERR_UNSUPPORTED, NET_ERR_MEMORY. */
net_status net_targeted_new(const net_graph *graph, const net_target *target, void *engine, net_targeted **out,
                            net_error *err);
void net_targeted_free(net_targeted *t);
/* One inference: the elements of all input blobs, one blob after the other. Errors: those of net_target.run. */
net_status net_targeted_run(net_targeted *t, const float *input, net_error *err);
/* The same, with layers first .. last alone on the engine. */
net_status net_targeted_run_some(net_targeted *t, const float *input, uint32_t first, uint32_t last, net_error *err);
const net_graph *net_targeted_graph(const net_targeted *t);
/* Contents of a blob after a run; not of one between fused layers. */
const float *net_targeted_blob(const net_targeted *t, uint32_t blob);
const net_target_layer *net_targeted_layer(const net_targeted *t, uint32_t layer);
/* Multiply-accumulates of the layers on the engine. */
uint64_t net_targeted_macs(const net_targeted *t);

/* For `map`: note why a layer stays on the CPU. */
void net_target_reason(net_target_layer *layer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For `map`: the only layer that reads the first output of this one; NET_NONE: it is an output of the network. */
uint32_t net_target_next(const net_graph *graph, uint32_t layer);

#endif
