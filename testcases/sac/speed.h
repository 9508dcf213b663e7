/*
 * speed.h - whole layers on an ideal bus: their cycles against the cycle model of docs/sac/sac.md, section 5.
 */
#ifndef SAC_SPEED_H
#define SAC_SPEED_H

#include "sac_device.h"

extern const tb_knob speed_knobs[];
extern const size_t speed_knob_count;

/* One layer, on a sac_device. The total may be at most a tenth above the model's; CYC_CONV must be equal. */
int speed_case(void *bench, tb_prog_run *run);

#endif
