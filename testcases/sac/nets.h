/*
 * nets.h - whole networks on the engine in tandem: the digits network with weights trained to powers of two, LeNet,
 * layers of SqueezeNet v1.1 at reduced size (network/tried.h).
 */
#ifndef SAC_NETS_H
#define SAC_NETS_H

#include "sac_device.h"

extern const tb_knob network_knobs[];
extern const size_t network_knob_count;

/* Redraw knobs that depend on others. */
void network_constrain(tb_knobs *knobs, uint64_t seed);
/* A case, on a sac_device. */
int network_case(void *bench, tb_prog_run *run);

#endif
