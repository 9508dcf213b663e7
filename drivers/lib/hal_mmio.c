/*
 * hal_mmio.c - memory-mapped registers, UIO interrupts. The only file of the driver that needs an operating system.
 */
#include "hal_mmio.h"

#include "npu_regs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- time ---- */

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void delay_us(void *ctx, uint32_t us) {
    struct timespec t = {.tv_sec = (time_t)(us / 1000000u), .tv_nsec = (long)(us % 1000000u) * 1000};
    (void)ctx;
    while (nanosleep(&t, &t) != 0 && errno == EINTR) {
    }
}

/* ---- registers ---- */

static bool is_register(uint32_t offset) {
    return offset < NPU_MMIO_REG_BYTES && offset % 4 == 0;
}

static volatile uint32_t *reg_at(const npu_mmio *m, uint32_t offset) {
    return (volatile uint32_t *)(void *)(m->reg.at + offset);
}

static npu_hal_status reg_read(void *ctx, uint32_t offset, uint32_t *value) {
    const npu_mmio *m = (const npu_mmio *)ctx;
    *value = 0;
    if (!is_register(offset)) {
        return NPU_HAL_FAULT;
    }
    *value = *reg_at(m, offset);
    __sync_synchronize(); /* results are read after the register that signals them */
    return NPU_HAL_OK;
}

static npu_hal_status reg_write(void *ctx, uint32_t offset, uint32_t value) {
    const npu_mmio *m = (const npu_mmio *)ctx;
    if (!is_register(offset)) {
        return NPU_HAL_FAULT;
    }
    __sync_synchronize(); /* operands are in memory before the task starts */
    *reg_at(m, offset) = value;
    __sync_synchronize();
    return NPU_HAL_OK;
}

/* ---- interrupts ---- */

static bool line_high(const npu_mmio *m, uint32_t line_mask) {
    const uint32_t high = *reg_at(m, NPU_REG_IRQ_STATUS) & *reg_at(m, NPU_REG_IRQ_ENABLE);
    __sync_synchronize();
    return (high & line_mask) != 0;
}

/* The kernel masks an interrupt when it occurs. A line that is still high fires again at once, so nothing is lost. */
static bool enable(int fd) {
    const uint32_t one = 1;
    ssize_t done;
    do {
        done = write(fd, &one, sizeof one);
    } while (done < 0 && errno == EINTR);
    return done == (ssize_t)sizeof one || (done < 0 && errno == ENOSYS); /* ENOSYS: nothing to enable in this driver */
}

static bool take_count(npu_mmio *m, int fd) {
    uint32_t count;
    ssize_t got;
    do {
        got = read(fd, &count, sizeof count);
    } while (got < 0 && errno == EINTR);
    m->interrupts++;
    return got == (ssize_t)sizeof count;
}

/* Wait for one of the interrupts that carry these lines, at most until the time `end`. */
static npu_hal_status wait_any(npu_mmio *m, uint32_t line_mask, uint64_t end) {
    struct pollfd fds[NPU_MMIO_IRQS];
    nfds_t count = 0;
    for (uint32_t i = 0; i < m->cfg.irqs; i++) {
        if ((m->cfg.irq[i].lines & line_mask) != 0) {
            fds[count++] = (struct pollfd){.fd = m->irq_fd[i], .events = POLLIN};
        }
    }
    const uint64_t now = now_us();
    const uint64_t left_ms = now < end ? (end - now + 999u) / 1000u : 0;
    const int ready = poll(fds, count, left_ms > 0x7FFFFFFFu ? 0x7FFFFFFF : (int)left_ms);
    if (ready < 0) {
        return errno == EINTR ? NPU_HAL_OK : NPU_HAL_FAULT;
    }
    if (ready == 0) {
        return NPU_HAL_TIMEOUT;
    }
    for (nfds_t i = 0; i < count; i++) {
        if ((fds[i].revents & POLLIN) != 0) {
            if (!take_count(m, fds[i].fd)) {
                return NPU_HAL_FAULT;
            }
        } else if (fds[i].revents != 0) { /* the device is gone */
            return NPU_HAL_FAULT;
        }
    }
    return NPU_HAL_OK;
}

static npu_hal_status wait_irq(void *ctx, uint32_t line_mask, uint32_t timeout_us) {
    npu_mmio *m = (npu_mmio *)ctx;
    const uint64_t end = now_us() + timeout_us;
    npu_hal_status status = NPU_HAL_OK;
    bool tried = false;
    uint32_t carried = 0;
    for (uint32_t i = 0; i < m->cfg.irqs; i++) {
        carried |= m->cfg.irq[i].lines;
    }
    if ((carried & line_mask) == 0) {
        return NPU_HAL_FAULT;
    }
    for (;;) {
        if (line_high(m, line_mask)) {
            return NPU_HAL_OK;
        }
        /* also where other lines of a joined interrupt stay high */
        if (status != NPU_HAL_OK || (tried && now_us() >= end)) {
            return status != NPU_HAL_OK ? status : NPU_HAL_TIMEOUT;
        }
        tried = true;
        for (uint32_t i = 0; i < m->cfg.irqs; i++) {
            if ((m->cfg.irq[i].lines & line_mask) != 0 && !enable(m->irq_fd[i])) {
                return NPU_HAL_FAULT;
            }
        }
        status = wait_any(m, line_mask, end);
    }
}

/* ---- cache ---- */

void *npu_mmio_cpu(const npu_mmio *m, uint32_t addr, size_t bytes) {
    if (m->ddr.base == NULL || addr < m->cfg.ddr_addr || addr - m->cfg.ddr_addr > m->cfg.ddr_bytes ||
        bytes > m->cfg.ddr_bytes - (addr - m->cfg.ddr_addr)) {
        return NULL;
    }
    return m->ddr.at + (addr - m->cfg.ddr_addr);
}

static void cache_flush(void *ctx, uint32_t addr, uint32_t bytes) {
    const npu_mmio *m = (const npu_mmio *)ctx;
    m->cfg.cache_flush(m->cfg.cache_ctx, npu_mmio_cpu(m, addr, bytes), addr, bytes);
}

static void cache_invalidate(void *ctx, uint32_t addr, uint32_t bytes) {
    const npu_mmio *m = (const npu_mmio *)ctx;
    m->cfg.cache_invalidate(m->cfg.cache_ctx, npu_mmio_cpu(m, addr, bytes), addr, bytes);
}

/* ---- open and close ---- */

/* Map [offset, offset + bytes) of a file or device. 0; -1 with one line. */
static int map(npu_mmio_map *map, const char *what, const char *path, uint64_t offset, size_t bytes, char *err,
               size_t err_size) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t lead = offset % page;
    struct stat st;
    const int fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        snprintf(err, err_size, "%s: %s: %s", what, path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    /* the size of a device is not known here; mmap refuses what does not fit */
    if (S_ISREG(st.st_mode) && (offset > (uint64_t)st.st_size || bytes > (uint64_t)st.st_size - offset)) {
        snprintf(err, err_size, "%s: %s has %llu bytes, expected at least %llu from offset %llu", what, path,
                 (unsigned long long)st.st_size, (unsigned long long)bytes, (unsigned long long)offset);
        close(fd);
        return -1;
    }
    map->length = (size_t)lead + bytes;
    void *base = mmap(NULL, map->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - lead));
    if (base == MAP_FAILED) {
        snprintf(err, err_size, "%s: %s: cannot map %llu bytes at offset 0x%llx: %s", what, path,
                 (unsigned long long)bytes, (unsigned long long)offset, strerror(errno));
        close(fd);
        return -1;
    }
    close(fd); /* the mapping stays */
    map->base = base;
    map->at = (uint8_t *)base + lead;
    return 0;
}

static void unmap(npu_mmio_map *map) {
    if (map->base != NULL) {
        munmap(map->base, map->length);
        map->base = NULL;
    }
}

static int check(const npu_mmio_cfg *cfg, char *err, size_t err_size) {
    if (cfg->reg_path == NULL) {
        snprintf(err, err_size, "registers: no path given, expected a UIO device or /dev/mem");
    } else if (cfg->reg_offset % 4 != 0) {
        snprintf(err, err_size, "registers: offset 0x%llx, expected a multiple of 4",
                 (unsigned long long)cfg->reg_offset);
    } else if (cfg->irqs > NPU_MMIO_IRQS) {
        snprintf(err, err_size, "interrupts: %u given, expected at most %u", cfg->irqs, NPU_MMIO_IRQS);
    } else if ((cfg->cache_flush == NULL) != (cfg->cache_invalidate == NULL)) {
        snprintf(err, err_size, "cache: one hook given, expected cache_flush and cache_invalidate or neither");
    } else if (cfg->ddr_path != NULL && cfg->ddr_bytes == 0) {
        snprintf(err, err_size, "memory: 0 bytes of %s, expected at least 1", cfg->ddr_path);
    } else if (cfg->ddr_path != NULL && cfg->ddr_bytes > UINT64_C(0x100000000) - cfg->ddr_addr) {
        snprintf(err, err_size, "memory: %llu bytes at 0x%08x, expected them below 4 GiB",
                 (unsigned long long)cfg->ddr_bytes, cfg->ddr_addr);
    } else {
        return 0;
    }
    return -1;
}

static int open_irqs(npu_mmio *m, char *err, size_t err_size) {
    for (uint32_t i = 0; i < m->cfg.irqs; i++) {
        const npu_mmio_irq *irq = &m->cfg.irq[i];
        m->irq_fd[i] = irq->path == NULL ? irq->fd : open(irq->path, O_RDWR | O_CLOEXEC);
        if (m->irq_fd[i] < 0) {
            snprintf(err, err_size, "interrupt %u: %s: %s", i, irq->path == NULL ? "descriptor" : irq->path,
                     irq->path == NULL ? "negative, expected an open one" : strerror(errno));
            return -1;
        }
    }
    return 0;
}

static void fill_hal(npu_mmio *m) {
    m->hal = (npu_hal){.ctx = m, .reg_read = reg_read, .reg_write = reg_write, .delay_us = delay_us};
    m->hal.wait_irq = m->cfg.irqs > 0 ? wait_irq : NULL;
    if (m->cfg.cache_flush != NULL) {
        m->hal.cache_flush = cache_flush;
        m->hal.cache_invalidate = cache_invalidate;
    }
}

int npu_mmio_open(npu_mmio *m, const npu_mmio_cfg *cfg, char *err, size_t err_size) {
    memset(m, 0, sizeof *m);
    for (uint32_t i = 0; i < NPU_MMIO_IRQS; i++) {
        m->irq_fd[i] = -1;
    }
    if (check(cfg, err, err_size) != 0) {
        return -1;
    }
    m->cfg = *cfg;
    if (map(&m->reg, "registers", cfg->reg_path, cfg->reg_offset, NPU_MMIO_REG_BYTES, err, err_size) != 0 ||
        (cfg->ddr_path != NULL &&
         map(&m->ddr, "memory", cfg->ddr_path, cfg->ddr_offset, cfg->ddr_bytes, err, err_size) != 0) ||
        open_irqs(m, err, err_size) != 0) {
        npu_mmio_close(m);
        return -1;
    }
    fill_hal(m);
    return 0;
}

void npu_mmio_close(npu_mmio *m) {
    unmap(&m->reg);
    unmap(&m->ddr);
    for (uint32_t i = 0; i < m->cfg.irqs; i++) {
        if (m->cfg.irq[i].path != NULL && m->irq_fd[i] >= 0) {
            close(m->irq_fd[i]);
        }
    }
    memset(m, 0, sizeof *m);
}

const npu_hal *npu_mmio_hal(const npu_mmio *m) {
    return &m->hal;
}
