/*
 * sgemm_alone.h - the golden model alone behind the driver's HAL, for programs without an RTL.
 */
#ifndef SGEMM_ALONE_H
#define SGEMM_ALONE_H

#include "sgemm_hal.h"
#include "sgemm_model.h"
#include "tb.h"

typedef struct sgemm_alone {
    tb_ddr mem; /* from SGEMM_MEM_BASE on */
    sgm_device model;
    npu_hal bus;
    sgemm_hal hal; /* for the driver */
} sgemm_alone;

/* config: value of the register CONFIG. 0, or -1 without memory. The struct must not be moved. */
int sgemm_alone_open(sgemm_alone *alone, uint32_t config);
void sgemm_alone_close(sgemm_alone *alone);

#endif
