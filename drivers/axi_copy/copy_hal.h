/*
 * copy_hal.h - the driver's interface to a device.
 */
#ifndef COPY_HAL_H
#define COPY_HAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct copy_hal {
    void *ctx;
    bool (*read)(void *ctx, uint32_t reg, uint32_t *value); /* false: the device is gone */
    bool (*write)(void *ctx, uint32_t reg, uint32_t value);
    bool (*wait)(void *ctx, bool irq); /* until the interrupt, or some time */
} copy_hal;

#endif
