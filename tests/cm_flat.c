/*
 * cm_flat.c - a golden device on one flat memory, for tests that load it as a shared object (tests/numpy_model.py).
 */
#include "cmodel.h"

#include <string.h>

uint32_t cm_flat_run(uint32_t n, uint8_t *bytes, uint32_t size, const uint32_t *writes, uint32_t count,
                     uint32_t *results);

typedef struct flat_mem {
    uint8_t *bytes;
    uint32_t size;
} flat_mem;

static bool flat_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    const flat_mem *m = ctx;
    if (addr > m->size || bytes > m->size - addr) {
        return false;
    }
    memcpy(dst, m->bytes + addr, bytes);
    return true;
}

static bool flat_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    const flat_mem *m = ctx;
    if (addr > m->size || bytes > m->size - addr) {
        return false;
    }
    memcpy(m->bytes + addr, src, bytes);
    return true;
}

/*
 * Make a device of mesh size n on memory bytes[0..size-1], do `count` register writes (writes[2i] offset, writes[2i+1]
 * value), and leave ERR, GEMM_COUNT, IRQ_STATUS, the low half of the MAC count, ALU_COUNT, POOL_COUNT and ALU_RESULT in
 * results[0..6]. Returns 0, or 1 when there is no such device.
 */
uint32_t cm_flat_run(uint32_t n, uint8_t *bytes, uint32_t size, const uint32_t *writes, uint32_t count,
                     uint32_t *results) {
    flat_mem flat = {bytes, size};
    cm_mem mem = {&flat, flat_read, flat_write};
    cm_device *dev = cm_device_new(n, &mem);
    if (dev == NULL) {
        return 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        cm_device_write(dev, writes[2 * i], writes[2 * i + 1], 0xF);
    }
    results[0] = cm_device_read(dev, 0x01C);
    results[1] = cm_device_read(dev, 0x020);
    results[2] = cm_device_read(dev, 0x010);
    results[3] = (uint32_t)cm_device_macs(dev);
    results[4] = cm_device_read(dev, 0x034);
    results[5] = cm_device_read(dev, 0x038);
    results[6] = cm_device_read(dev, 0x03C);
    cm_device_free(dev);
    return 0;
}
