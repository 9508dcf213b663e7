/*
 * sac_hal.h - the driver's interface to a device: the driver reaches the engine only through these functions.
 */
#ifndef SAC_HAL_H
#define SAC_HAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sac_hal {
    void *ctx; /* passed to every function */
    /* Read or write the register at byte offset 0..508, a multiple of 4. False: the device is gone. */
    bool (*read)(void *ctx, uint32_t reg, uint32_t *value);
    bool (*write)(void *ctx, uint32_t reg, uint32_t value);
    bool (*wait)(void *ctx, bool irq); /* until the interrupt, or some time. False: the device is gone */
} sac_hal;

#endif
