/* schedule.h - splits of a network's convolutions; apart from network.h, which needs no driver. */
#ifndef NET_SCHEDULE_H
#define NET_SCHEDULE_H

#include "../drivers/npu/npu.h"
#include "network.h"

/*
 * The splits of a convolution: the driver's own plan and the fastest of all that its limits allow, by predicted cycles
 * (document 002, section 3.3; docs/npu/performance.md, "Schedule search"). best is own where no plan is at least 0.5 %
 * faster. plans: how many were looked at; open: how many of them could be faster than `own` by their bound; tried:
 * how many of these were predicted; complete: all that could be the best were.
 */
typedef struct net_rt_schedule {
    npu_conv conv; /* addresses are not set before a device is loaded */
    npu_conv_plan own, best;
    uint64_t own_cycles, best_cycles;
    uint64_t bound; /* of the own plan: mesh or bus */
    uint32_t plans, open, tried;
    bool complete;
} net_rt_schedule;
/* The layer as a convolution of the driver. false: it is none. */
bool net_rt_conv(const net_rt *rt, uint32_t layer, npu_conv *conv);
/* false: the layer is no convolution on the NPU. */
bool net_rt_search(const net_rt *rt, uint32_t layer, net_rt_schedule *found);

#endif
