/*
 * sac_alone.h - the golden model alone behind the driver's HAL, for programs without an RTL.
 */
#ifndef SAC_ALONE_H
#define SAC_ALONE_H

#include "sac_hal.h"
#include "sac_model.h"
#include "tb.h"

typedef struct sac_alone {
    tb_ddr mem; /* from SAC_MEM_BASE on */
    sac_model model;
    sac_hal hal; /* for the driver */
} sac_alone;

/* 0, or -1 without memory; sac_alone_close() in any case. The struct must not be moved. */
int sac_alone_open(sac_alone *alone, const sac_build *build);
void sac_alone_close(sac_alone *alone);

#endif
