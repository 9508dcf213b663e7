/*
 * sgemm_flat.c - driver and golden model of the GEMM engine behind a flat interface, for test_sgemm_numpy.py: a memory
 * from byte address 0 on, the model as the device.
 */
#include <string.h>

#include "cm_fp.h"
#include "sgemm.h"
#include "sgemm_model.h"

typedef struct flat {
    uint8_t *mem;
    uint32_t size;
    sgm_device device;
    uint32_t flushes, invalidates;
} flat;

static bool inside(const flat *f, uint64_t addr, size_t bytes) {
    return addr <= f->size && bytes <= f->size - addr;
}

static bool get(void *ctx, uint64_t addr, void *data, size_t bytes) {
    flat *f = (flat *)ctx;
    if (inside(f, addr, bytes)) {
        memcpy(data, f->mem + addr, bytes);
    }
    return inside(f, addr, bytes);
}

static bool put(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    flat *f = (flat *)ctx;
    if (inside(f, addr, bytes)) {
        memcpy(f->mem + addr, data, bytes);
    }
    return inside(f, addr, bytes);
}

static npu_hal_status mem_read(void *ctx, uint32_t addr, void *data, uint32_t bytes) {
    return get(ctx, addr, data, bytes) ? NPU_HAL_OK : NPU_HAL_FAULT;
}

static npu_hal_status mem_write(void *ctx, uint32_t addr, const void *data, uint32_t bytes) {
    return put(ctx, addr, data, bytes) ? NPU_HAL_OK : NPU_HAL_FAULT;
}

static npu_hal_status reg_read(void *ctx, uint32_t reg, uint32_t *value) {
    *value = sgm_device_read(&((flat *)ctx)->device, reg);
    return NPU_HAL_OK;
}

static npu_hal_status reg_write(void *ctx, uint32_t reg, uint32_t value) {
    sgm_device_write(&((flat *)ctx)->device, reg, value);
    return NPU_HAL_OK;
}

static void delay(void *ctx, uint32_t us) {
    (void)ctx, (void)us;
}

static void flush(void *ctx, uint32_t addr, uint32_t bytes) {
    (void)addr, (void)bytes;
    ((flat *)ctx)->flushes++;
}

static void invalidate(void *ctx, uint32_t addr, uint32_t bytes) {
    (void)addr, (void)bytes;
    ((flat *)ctx)->invalidates++;
}

/*
 * One GEMM through the driver. args: order, trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, flags; setting: limits
 * m, n, k, ld, min_dim, CONFIG; counts (out): tasks, flushes, invalidates, computed by the processor. Returns the
 * status.
 */
int flat_gemm(uint8_t *mem, uint32_t size, const int32_t *args, float alpha, float beta, const uint32_t *setting,
              uint32_t *counts) {
    flat f = {.mem = mem, .size = size};
    const npu_hal bus = {.ctx = &f,
                         .reg_read = reg_read,
                         .reg_write = reg_write,
                         .delay_us = delay,
                         .cache_flush = flush,
                         .cache_invalidate = invalidate};
    const sgemm_hal hal = {.bus = &bus, .ctx = &f, .mem_read = mem_read, .mem_write = mem_write};
    const sgemm_limits limits = {setting[0], setting[1], setting[2], setting[3]};
    const sgemm_args x = {args[0],
                          args[1],
                          args[2],
                          args[3],
                          args[4],
                          args[5],
                          alpha,
                          (uint32_t)args[6],
                          args[7],
                          (uint32_t)args[8],
                          args[9],
                          beta,
                          (uint32_t)args[10],
                          args[11],
                          (uint32_t)args[12]};
    sgemm_dev dev;
    f.device.mem = (sgm_mem){&f, get, put};
    f.device.config = setting[5];
    sgemm_status status = sgemm_init(&dev, &hal, false, 1);
    status = status == SGEMM_OK ? sgemm_set_limits(&dev, &limits) : status;
    if (status == SGEMM_OK) {
        dev.min_dim = setting[4];
        status = sgemm_run(&dev, &x);
    }
    counts[0] = f.device.count;
    counts[1] = f.flushes;
    counts[2] = f.invalidates;
    counts[3] = dev.cpu;
    return f.device.failed ? -1 : (int)status;
}

int flat_argument(int status) {
    return sgemm_argument((sgemm_status)status);
}

void flat_widen(const uint16_t *in, uint32_t *out, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        out[i] = cm_fp_from_f16(in[i]);
    }
}

void flat_narrow(const uint32_t *in, uint16_t *out, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        out[i] = cm_fp_to_f16(in[i]);
    }
}
