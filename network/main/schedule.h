/* schedule.h - tandem-net schedule: the splits of a network's convolutions by search beside the driver's own. */
#ifndef NETMAIN_SCHEDULE_H
#define NETMAIN_SCHEDULE_H

#include "../schedule.h"

typedef struct schedule_options {
    uint32_t n;
    uint64_t seed;
    const char *device; /* model: nothing is measured */
    npu_dev_kind kind;
    bool layers;   /* a line for each distinct layer */
    bool all;      /* measure layers without another plan, too */
    uint64_t most; /* cycles: longer ones are not measured */
} schedule_options;

/* Run the convolution with data from the seed. *hash: of its output. false: *err has a line. */
bool schedule_run(const schedule_options *opt, const npu_conv *conv, const npu_conv_plan *plan, uint64_t *cycles,
                  uint64_t *hash, char *err, size_t err_size);

#endif
