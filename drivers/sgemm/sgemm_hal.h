/*
 * sgemm_hal.h - the environment of the driver: registers, interrupt and caches through npu_hal.h, which all drivers
 * share, and the processor's own view of the memory that the matrices lie in.
 */
#ifndef SGEMM_HAL_H
#define SGEMM_HAL_H

#include <stdint.h>

#include "npu_hal.h"

typedef struct sgemm_hal {
    const npu_hal *bus; /* bit 0 of an interrupt mask: the engine's line */
    void *ctx;          /* of the next two functions */
    /*
     * The processor reads or writes memory at a byte address of the engine: for small GEMMs, which it computes itself.
     */
    npu_hal_status (*mem_read)(void *ctx, uint32_t addr, void *data, uint32_t bytes);
    npu_hal_status (*mem_write)(void *ctx, uint32_t addr, const void *data, uint32_t bytes);
} sgemm_hal;

#endif
