/*
 * hal_mmio.h - the HAL over memory-mapped registers on a POSIX system: a UIO device or /dev/mem.
 *
 * The register window and, optionally, the memory that the NPU accesses are mapped into the process. Interrupts come
 * from UIO descriptors: poll() waits, a read of four bytes takes the count, a write of a 1 enables the line again.
 * hal_mmio.c is hosted code (POSIX); the rest of the driver does not need it.
 */
#ifndef NPU_HAL_MMIO_H
#define NPU_HAL_MMIO_H

#include <stddef.h>
#include <stdint.h>

#include "npu_hal.h"

/* Bytes of the register window that the driver uses. */
#define NPU_MMIO_REG_BYTES 512u
/* The NPU has three interrupt lines; a system may join them. */
#define NPU_MMIO_IRQS 3u

typedef struct npu_mmio_irq {
    uint32_t lines;   /* lines (NPU_HAL_IRQ_*) of this interrupt */
    const char *path; /* UIO device; NULL: fd */
    int fd;           /* open descriptor that behaves like one of UIO; remains owned by the caller */
} npu_mmio_irq;

typedef struct npu_mmio_cfg {
    const char *reg_path; /* "/dev/uio0", "/dev/mem" */
    uint64_t reg_offset;  /* of the window in it: UIO: map number * page size; /dev/mem: physical address */
    /* Memory that the NPU accesses; ddr_path NULL: the board maps it itself. */
    const char *ddr_path;
    uint64_t ddr_offset;
    size_t ddr_bytes;
    uint32_t ddr_addr; /* the NPU's address of its first byte */
    npu_mmio_irq irq[NPU_MMIO_IRQS];
    uint32_t irqs; /* how many of them; 0: the HAL has no wait_irq, use NPU_WAIT_POLL */
    /*
     * Cache maintenance of the board, both or none (NULL: memory is coherent). cpu points to the range in this process,
     * NULL where it lies outside the mapped memory. Whatever ordering the processor needs between memory and register
     * accesses beyond a full barrier belongs here as well.
     */
    void (*cache_flush)(void *ctx, void *cpu, uint32_t addr, uint32_t bytes);
    void (*cache_invalidate)(void *ctx, void *cpu, uint32_t addr, uint32_t bytes);
    void *cache_ctx;
} npu_mmio_cfg;

typedef struct npu_mmio_map {
    void *base; /* as mmap() gave it; NULL: not mapped */
    size_t length;
    uint8_t *at; /* the first requested byte */
} npu_mmio_map;

/* Owned by the caller; filled by npu_mmio_open(). */
typedef struct npu_mmio {
    npu_mmio_cfg cfg;
    npu_hal hal;
    npu_mmio_map reg, ddr;
    int irq_fd[NPU_MMIO_IRQS];
    uint32_t interrupts; /* taken so far */
} npu_mmio;

/*
 * Map and open everything. 0; -1 with one line in err (what, where, what was expected) and nothing left open. Paths and
 * hooks must outlive the mapping. A regular file serves as a window too (tests): it must be large enough.
 */
int npu_mmio_open(npu_mmio *m, const npu_mmio_cfg *cfg, char *err, size_t err_size);
/* Safe on a zeroed struct. */
void npu_mmio_close(npu_mmio *m);
/* For npu_init(). Valid while m is open. */
const npu_hal *npu_mmio_hal(const npu_mmio *m);
/* Pointer to bytes of the NPU's memory in this process; NULL: not all of them are mapped. */
void *npu_mmio_cpu(const npu_mmio *m, uint32_t addr, size_t bytes);

#endif
