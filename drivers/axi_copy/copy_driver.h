/*
 * copy_driver.h - driver of the copy engine. It reaches a device only through three functions, so the same code runs in
 * simulation and on silicon.
 */
#ifndef COPY_DRIVER_H
#define COPY_DRIVER_H

#include "copy_hal.h"
#include "axi_copy_regs.h"

typedef enum copy_status {
    COPY_OK,
    COPY_FAIL_ARG,
    COPY_FAIL_READ,
    COPY_FAIL_WRITE,
    COPY_FAIL_RANGE,
    COPY_FAIL_DEVICE
} copy_status;

/* Set up the next copy; also while one is in flight. */
copy_status copy_prepare(const copy_hal *hal, uint32_t src, uint32_t dst, uint32_t bytes);
/* Start it. The engine must be idle. */
copy_status copy_start(const copy_hal *hal, bool irq);
/* Wait for its end, with the interrupt or by polling, and acknowledge it. */
copy_status copy_wait(const copy_hal *hal, bool irq);

#endif
