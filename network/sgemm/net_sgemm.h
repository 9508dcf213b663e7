/*
 * net_sgemm.h - networks on the blocked GEMM engine as Caffe computes them: convolutions as im2col and a GEMM, then the
 * bias as a GEMM with K = 1 and beta = 1; inner products as a GEMM with the weights transposed. Pooling, activations,
 * softmax and im2col are the processor's (document 003, sections 2.1 and 3.3.2).
 */
#ifndef NET_SGEMM_H
#define NET_SGEMM_H

#include "../target.h"
#include "sgemm.h"

/* How the engine is reached. */
typedef struct net_sgemm_port {
    const sgemm_hal *hal;
    uint32_t base, bytes; /* memory for matrices, at a multiple of 64 */
    void *ctx;
    /* All tasks of a layer are done: compare both sides. False: the line. NULL: nothing to compare. */
    bool (*done)(void *ctx, char *text, size_t size);
} net_sgemm_port;

typedef struct net_sgemm {
    net_sgemm_port port;
    sgemm_dev drv;
    uint32_t flags; /* of every GEMM */
    uint32_t used;  /* of the port's memory */
    uint64_t tasks, expected;
} net_sgemm;

/*
 * An engine for net_targeted_new(), without net_target.open and .close. half: operands are rounded to binary16. All
 * GEMMs are the engine's; set drv.min_dim after this to leave small ones to the processor, which changes no bit.
 * Errors: NET_ERR_DEVICE.
 */
net_status net_sgemm_init(net_sgemm *s, const net_sgemm_port *port, bool half, net_error *err);

/* Functions of a net_target whose engine is a net_sgemm. */
void net_sgemm_map(void *engine, const net_graph *graph, net_target_layer *layer);
net_status net_sgemm_run(void *engine, const net_graph *graph, uint32_t number, net_target_layer *layer,
                         const float *in, float *out, net_error *err);
/* A device in tandem, with all of its memory for networks. */
struct sgemm_device;
net_sgemm_port net_sgemm_tandem(struct sgemm_device *dev);
/* These and what opens the model alone, or RTL and model. */
extern const net_target net_target_sgemm;

#endif
