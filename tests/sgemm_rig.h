/* sgemm_rig.h - the GEMM engine's driver on its golden model, with faults: for test_sgemm.c. */
#ifndef SGEMM_RIG_H
#define SGEMM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../cmodel/sgemm/sgemm_model.h"
#include "../drivers/sgemm/sgemm.h"

#define MEM 0x10000u
#define BUILD_FULL (8u | 8u << 8 | 1u << 16 | SGEMM_CONFIG_EN_HALF_MASK)

/* The golden model as the device, from byte address 0 on. */
typedef struct rig {
    uint8_t mem[MEM];
    sgm_device device;
    npu_hal bus;
    sgemm_hal hal;
    sgemm_dev dev;
    int until_fault;        /* accesses to registers and memory until one fails; negative: none does */
    npu_hal_status irq;     /* what the wait for the interrupt answers */
    uint32_t id, busy, err; /* what ID, STATUS and ERR add to the model's */
    uint32_t flushed[16][2], dropped[16][2], flushes, drops; /* ranges */
    uint32_t waits;
} rig;

static inline bool fault(rig *r) {
    return r->until_fault >= 0 && r->until_fault-- == 0;
}

static inline bool model_read(void *ctx, uint64_t addr, void *data, size_t bytes) {
    const rig *r = ctx;
    const bool good = addr + bytes <= MEM;
    if (good) {
        memcpy(data, r->mem + addr, bytes);
    }
    return good;
}

static inline bool model_write(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    rig *r = ctx;
    const bool good = addr + bytes <= MEM;
    if (good) {
        memcpy(r->mem + addr, data, bytes);
    }
    return good;
}

static inline npu_hal_status mem_read(void *ctx, uint32_t addr, void *data, uint32_t bytes) {
    return !fault(ctx) && model_read(ctx, addr, data, bytes) ? NPU_HAL_OK : NPU_HAL_FAULT;
}

static inline npu_hal_status mem_write(void *ctx, uint32_t addr, const void *data, uint32_t bytes) {
    return !fault(ctx) && model_write(ctx, addr, data, bytes) ? NPU_HAL_OK : NPU_HAL_FAULT;
}

static inline npu_hal_status reg_read(void *ctx, uint32_t reg, uint32_t *value) {
    rig *r = ctx;
    if (fault(r)) {
        return NPU_HAL_FAULT;
    }
    *value = sgm_device_read(&r->device, reg);
    *value ^= reg == SGEMM_REG_ID ? r->id : reg == SGEMM_REG_STATUS ? r->busy : reg == SGEMM_REG_ERR ? r->err : 0;
    return NPU_HAL_OK;
}

static inline npu_hal_status reg_write(void *ctx, uint32_t reg, uint32_t value) {
    rig *r = ctx;
    if (fault(r)) {
        return NPU_HAL_FAULT;
    }
    sgm_device_write(&r->device, reg, value);
    return NPU_HAL_OK;
}

static inline npu_hal_status wait_irq(void *ctx, uint32_t mask, uint32_t timeout_us) {
    rig *r = ctx;
    assert_int_equal(mask, 1);
    assert_true(timeout_us > 0);
    r->waits++;
    r->busy = r->irq == NPU_HAL_OK ? 0 : r->busy;
    return r->irq;
}

static inline void delay(void *ctx, uint32_t us) {
    ((rig *)ctx)->waits += us;
}

static inline void flush(void *ctx, uint32_t addr, uint32_t bytes) {
    rig *r = ctx;
    r->flushed[r->flushes % 16][0] = addr;
    r->flushed[r->flushes++ % 16][1] = bytes;
}

static inline void invalidate(void *ctx, uint32_t addr, uint32_t bytes) {
    rig *r = ctx;
    r->dropped[r->drops % 16][0] = addr;
    r->dropped[r->drops++ % 16][1] = bytes;
}

/* An open driver; free() it. */
static inline rig *open_rig(uint32_t config, bool irq) {
    rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->device.config = config;
    r->device.mem = (sgm_mem){.ctx = r, .read = model_read, .write = model_write};
    r->bus = (npu_hal){.ctx = r,
                       .reg_read = reg_read,
                       .reg_write = reg_write,
                       .wait_irq = wait_irq,
                       .delay_us = delay,
                       .cache_flush = flush,
                       .cache_invalidate = invalidate};
    r->hal = (sgemm_hal){.bus = &r->bus, .ctx = r, .mem_read = mem_read, .mem_write = mem_write};
    r->until_fault = -1;
    assert_int_equal(sgemm_init(&r->dev, &r->hal, irq, 1000), SGEMM_OK);
    assert_int_equal(r->dev.min_dim, SGEMM_MIN_DIM);
    r->dev.min_dim = 0;
    return r;
}

#endif
