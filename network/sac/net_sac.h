/*
 * net_sac.h - networks on the shift-add engine: convolutions and inner products whose weights are powers of two, with
 * ReLU, maximum pooling and pooling over the whole map in the same task; pooling alone as an identity. All else is the
 * processor's, in FP32.
 */
#ifndef NET_SAC_H
#define NET_SAC_H

#include "../pow2_net.h"
#include "sac_plan.h"

/* How the engine is reached. */
typedef struct net_sac_port {
    const sac_hal *hal;
    uint32_t base, bytes; /* memory for tensors and weights, at a multiple of 16 */
    void *ctx;
    bool (*write)(void *ctx, uint32_t addr, const void *data, size_t bytes);
    bool (*read)(void *ctx, uint32_t addr, void *data, size_t bytes);
    /* A task is done: compare both sides. False: the line. NULL: nothing to compare. */
    bool (*done)(void *ctx, char *text, size_t size);
} net_sac_port;

typedef struct net_sac {
    net_sac_port port;
    sac_dev drv;
    const net_graph *graph;   /* since net_sac_map() */
    const net_scales *scales; /* set before a layer runs */
    uint32_t held, half;      /* blob whose values a half of the feature cache holds, NET_NONE: none, and which half */
} net_sac;

/* An engine for net_targeted_new(), without net_target.open and .close. Errors: NET_ERR_DEVICE. */
net_status net_sac_init(net_sac *s, const net_sac_port *port, const net_scales *scales, net_error *err);
/* Can no sum of the layer leave 32 bits, with the scales as they are? For net_scales_set(); ctx: the net_sac. */
bool net_sac_fits(void *ctx, uint32_t layer);

/* Functions of a net_target whose engine is a net_sac. */
void net_sac_map(void *engine, const net_graph *graph, net_target_layer *layer);
net_status net_sac_run(void *engine, const net_graph *graph, uint32_t number, net_target_layer *layer, const float *in,
                       float *out, net_error *err);
/* A device in tandem, with all of its memory for networks. */
struct sac_device;
net_sac_port net_sac_tandem(struct sac_device *dev);
/* These and what opens the model alone, or RTL and model. */
extern const net_target net_target_sac;

#endif
