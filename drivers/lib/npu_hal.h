/*
 * npu_hal.h - the environment of the driver.
 *
 * The driver reaches the NPU only through this table of functions. tb/npu implements it over the
 * Verilated RTL and the golden model, tests implement it as a mock, a board support package implements it over
 * memory-mapped registers.
 */
#ifndef NPU_HAL_H
#define NPU_HAL_H

#include <stdint.h>

/* Interrupt lines, bits of the masks below; the same numbers as in IRQ_STATUS. */
#define NPU_HAL_IRQ_ALU (1u << 0)
#define NPU_HAL_IRQ_POOL (1u << 1)
#define NPU_HAL_IRQ_GEMM (1u << 2)

typedef enum npu_hal_status {
    NPU_HAL_OK = 0,
    NPU_HAL_TIMEOUT = 1, /* no interrupt within the given time */
    NPU_HAL_FAULT = 2    /* the access failed (bus error, device gone, simulation stopped) */
} npu_hal_status;

typedef struct npu_hal {
    void *ctx; /* passed to every function */
    /* Read or write the 32-bit register at byte offset 0..508 (a multiple of 4). */
    npu_hal_status (*reg_read)(void *ctx, uint32_t offset, uint32_t *value);
    npu_hal_status (*reg_write)(void *ctx, uint32_t offset, uint32_t value);
    /* Wait until one of the interrupt lines in the mask is high; return NPU_HAL_TIMEOUT after timeout_us microseconds
     * (of device time). */
    npu_hal_status (*wait_irq)(void *ctx, uint32_t line_mask, uint32_t timeout_us);
    /* Let at least us microseconds pass (used between two polls). */
    void (*delay_us)(void *ctx, uint32_t us);
    /* Write back (flush) or drop (invalidate) the CPU's cached copy of a byte range of device memory. NULL where memory
     * is coherent. */
    void (*cache_flush)(void *ctx, uint32_t addr, uint32_t bytes);
    void (*cache_invalidate)(void *ctx, uint32_t addr, uint32_t bytes);
    /*
     * Declare bytes that the next started task writes (may be NULL); called once for each range, before the registers
     * of the task are written. Checked by the testbench.
     */
    void (*task_output)(void *ctx, uint32_t addr, uint32_t bytes);
    /*
     * The same for `rows` ranges of `bytes` bytes, `step` bytes from one to the next: channels, pixels of an NHWC
     * tensor that shares its buffer, rows of a strip. Bytes between them are not written. NULL: task_output is called
     * for each range instead. An environment that tracks ranges should have it: a task may write 65535 pixels.
     */
    void (*task_output_rows)(void *ctx, uint32_t addr, uint32_t bytes, uint32_t rows, uint32_t step);
} npu_hal;

#endif
