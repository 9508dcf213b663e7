/*
 * cache_hal.h - a HAL with a CPU cache in it, for tests of the driver's cache maintenance.
 *
 * Between the CPU (the test: npu_cache_write, npu_cache_read) and device memory stands a write-back, write-allocate
 * cache with lines of 64 bytes. The NPU sees device memory alone. Lines leave and come at random moments, as they do on
 * a real machine: dirty ones are written back whole, lines that the CPU once touched are fetched again ahead of use. So
 * whatever the driver does not flush or invalidate goes wrong for some seed.
 */
#ifndef NPU_CACHE_HAL_H
#define NPU_CACHE_HAL_H

#include "npu/device.h"

typedef struct npu_cache npu_cache;

/* A cache over the memory of a device; every call of its HAL goes on to the device. The device must outlive it. NULL:
 * out of memory. */
npu_cache *npu_cache_new(npu_dev *dev, uint64_t seed);
/* What is dirty is lost. */
void npu_cache_free(npu_cache *cache);
const npu_hal *npu_cache_hal(npu_cache *cache);

/* Accesses of the CPU. false: outside device memory (or out of memory for lines). */
bool npu_cache_write(npu_cache *cache, uint32_t addr, const void *src, size_t bytes);
bool npu_cache_read(npu_cache *cache, uint32_t addr, void *dst, size_t bytes);

/* One call of cache_flush or cache_invalidate by the driver. */
typedef struct npu_cache_call {
    bool invalidate;
    uint32_t addr, bytes;
} npu_cache_call;
/* Number of such calls so far. */
uint64_t npu_cache_calls(const npu_cache *cache);
/* Leave out call number k, counted from 0. *call (may be NULL) is filled when it comes. */
void npu_cache_skip(npu_cache *cache, uint64_t k, npu_cache_call *call);

#endif
