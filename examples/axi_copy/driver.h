/*
 * driver.h - driver of the copy engine. It knows a device as three functions and nothing else, so the same code runs on simulation and on silicon.
 */
#ifndef COPY_DRIVER_H
#define COPY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

/* Registers, rtl/axi_copy_regs.sv. */
enum {
    COPY_SRC = 0x00,
    COPY_DST = 0x04,
    COPY_LEN = 0x08,
    COPY_CTRL = 0x0c,
    COPY_STATUS = 0x10,
    COPY_ERR = 0x14,
    COPY_COUNT = 0x18,
    COPY_CONFIG = 0x1c
};
enum { COPY_CTRL_START = 1, COPY_CTRL_IRQ_EN = 2, COPY_STATUS_BUSY = 1, COPY_STATUS_DONE = 2 };
enum { COPY_ERR_READ = 1, COPY_ERR_WRITE = 2, COPY_ERR_RANGE = 4 };
#define COPY_LEN_MAX 0xffffffu

typedef struct copy_hal {
    void *ctx;
    bool (*read)(void *ctx, uint32_t reg, uint32_t *value); /* false: the device is gone */
    bool (*write)(void *ctx, uint32_t reg, uint32_t value);
    bool (*wait)(void *ctx, bool irq); /* until the interrupt, or some time */
} copy_hal;

typedef enum copy_status { COPY_OK, COPY_FAIL_ARG, COPY_FAIL_READ, COPY_FAIL_WRITE, COPY_FAIL_RANGE, COPY_FAIL_DEVICE } copy_status;

/* Say what the next copy is; also while one is under way. */
copy_status copy_prepare(const copy_hal *hal, uint32_t src, uint32_t dst, uint32_t bytes);
/* Start it. The engine must be idle. */
copy_status copy_start(const copy_hal *hal, bool irq);
/* Wait for its end, with the interrupt or by polling, and acknowledge it. */
copy_status copy_wait(const copy_hal *hal, bool irq);

#endif
