/* terms.h - every product of the shift-add engine at the ends of its factors. */
#ifndef SAC_TERMS_H
#define SAC_TERMS_H

#include "sac_device.h"

extern const tb_knob terms_knobs[];
extern const size_t terms_knob_count;

/*
 * Every code by every shift d by the activations -128, -1, 0, 1 and 127, in each third of a word (kernel width 1) and
 * at each tap (width 3): what the engine leaves in memory must be the product itself, scaled back or saturated, by
 * arithmetic of its own, and what the golden model leaves.
 */
int terms_case(void *bench, tb_prog_run *run);

#endif
