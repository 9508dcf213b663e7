/* targets.h - all engines that networks run on, besides the NPU. */
#ifndef NET_TARGETS_H
#define NET_TARGETS_H

#include "target.h"

extern const net_target net_target_sgemm, net_target_sac;

/* All of them; NULL ends the list. */
#define NET_TARGETS                                                                                                    \
    { &net_target_sgemm, &net_target_sac, NULL }

#endif
