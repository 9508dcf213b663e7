/* net_sac_priv.h - shared by the files of this folder. */
#ifndef NET_SAC_PRIV_H
#define NET_SAC_PRIV_H

#include "net_sac.h"

/* What a layer, with those fused into it, is to the engine: sizes and modes; addresses are given when it runs. */
typedef struct net_sac_work {
    sac_task task;
    uint32_t groups;
    bool with_weights; /* else an identity */
    bool deep;         /* space to depth: `task` is that of the deep map, `wide` that of the layer */
    sac_task wide;
    uint32_t last; /* layer */
} net_sac_work;

/* false: the layer does not run on the engine; *tl may have the reason. */
bool net_sac_plan(const net_sac *s, const net_graph *g, uint32_t number, net_sac_work *w, net_target_layer *tl);
/* Addresses that do not overlap, for sac_check(). */
void net_sac_dummy(sac_task *t);

/* ---- net_sac_depth.c ---- */

/* Make a convolution with stride 2 one over the deep map, where that takes fewer cycles. false: it stays as it is. */
bool net_sac_deepen(const sac_dev *dev, net_sac_work *w);
/* The deep map and the deep codes; of absent pixels and taps 0 and the code of 0. */
void net_sac_deep_map(const net_sac_work *w, const int8_t *in, int8_t *out);
void net_sac_deep_codes(const net_sac_work *w, const uint8_t *in, uint8_t *out);

#endif
