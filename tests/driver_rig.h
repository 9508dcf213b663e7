/*
 * driver_rig.h - the driver on the golden device, watched: what the device reads was flushed, what a task writes is
 * exactly what the driver declared for it, and GEMM tasks that may overlap in time (no fence between them) do not touch
 * each other's results.
 */
#ifndef DRIVER_RIG_H
#define DRIVER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmodel.h"
#include "npu.h"
#include "npu_regs.h"

#define RIG_BASE 0x10000000u
#define RIG_BYTES (64u << 20)
#define RIG_GUARD 0xA5u

enum { RIG_FLUSHED = 1, RIG_DECLARED = 2, RIG_WRITTEN = 4, RIG_DROPPED = 8 };

typedef struct rig {
    uint8_t *mem, *flags;
    cm_device *model;
    npu_hal hal;
    npu dev;
    uint32_t top;               /* end of what is allocated */
    uint64_t declared, written; /* bytes of the task to come, those of it that were written */
    uint32_t tasks;             /* number of the task to come, from 1 */
    uint32_t fence;             /* the last GEMM task with a fence: those before it are complete */
    bool gemm;                  /* a GEMM task runs */
    uint32_t *reader, *writer;  /* for each byte: the task that touched it last */
} rig;

static inline uint32_t rig_draw(uint32_t lo, uint32_t hi) {
    return lo + (uint32_t)rand() % (hi - lo + 1);
}

/* Bytes that another GEMM task touches, which may run at the same time. */
static void rig_conflict(const rig *r, const uint32_t *other, uint32_t at, const char *what) {
    if (r->gemm && other[at] != r->tasks && other[at] >= r->fence) {
        fail_msg("tasks %u and %u without a fence between them: 0x%08X %s", other[at], r->tasks, RIG_BASE + at, what);
    }
}

static bool rig_mem_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    rig *r = ctx;
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t line = (addr + i - RIG_BASE) & ~15u; /* a beat reads more than the bytes that count */
        bool known = false;
        for (uint32_t j = 0; j < 16 && !known; j++) {
            known = (r->flags[line + j] & (RIG_FLUSHED | RIG_WRITTEN)) != 0;
        }
        if (!known) {
            fail_msg("the device reads 0x%08X, which was not flushed", addr + i);
        }
        rig_conflict(r, r->writer, addr + i - RIG_BASE, "was written and is read");
        r->reader[addr + i - RIG_BASE] = r->tasks;
    }
    memcpy(dst, r->mem + (addr - RIG_BASE), bytes);
    return true;
}

static bool rig_mem_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    rig *r = ctx;
    for (uint32_t i = 0; i < bytes; i++) {
        uint8_t *f = &r->flags[addr + i - RIG_BASE];
        if ((*f & RIG_DECLARED) == 0) {
            fail_msg("task %u writes 0x%08X, which the driver did not declare", r->tasks, addr + i);
        }
        if ((*f & RIG_FLUSHED) == 0) {
            fail_msg("task %u writes 0x%08X, which was not flushed", r->tasks, addr + i);
        }
        rig_conflict(r, r->writer, addr + i - RIG_BASE, "was written and is written");
        rig_conflict(r, r->reader, addr + i - RIG_BASE, "was read and is written");
        r->writer[addr + i - RIG_BASE] = r->tasks;
        *f &= (uint8_t)~RIG_DECLARED;
        *f |= RIG_WRITTEN;
        r->written++;
    }
    memcpy(r->mem + (addr - RIG_BASE), src, bytes);
    return true;
}

static npu_hal_status rig_reg_read(void *ctx, uint32_t offset, uint32_t *value) {
    rig *r = ctx;
    *value = cm_device_read(r->model, offset);
    return NPU_HAL_OK;
}

static npu_hal_status rig_reg_write(void *ctx, uint32_t offset, uint32_t value) {
    rig *r = ctx;
    r->gemm = offset == NPU_REG_GEMM_CTRL;
    r->fence = r->gemm && (value & NPU_GEMM_CTRL_FENCE_MASK) != 0 ? r->tasks : r->fence;
    cm_device_write(r->model, offset, value, 0xF);
    if ((offset == NPU_REG_GEMM_CTRL || offset == NPU_REG_ALU_CTRL || offset == NPU_REG_POOL_CTRL) &&
        (value & 1u) != 0) {
        uint32_t err = cm_device_read(r->model, NPU_REG_ERR);
        if (err != 0) {
            fail_msg("task %u: ERR = 0x%08X", r->tasks, err);
        }
        if (r->declared != r->written) {
            fail_msg("task %u wrote %llu bytes of the %llu declared", r->tasks, (unsigned long long)r->written,
                     (unsigned long long)r->declared);
        }
        r->tasks++;
        r->declared = r->written = 0;
    }
    return NPU_HAL_OK;
}

static npu_hal_status rig_wait_irq(void *ctx, uint32_t mask, uint32_t timeout_us) {
    const rig *r = ctx;
    (void)timeout_us;
    return (cm_device_irq(r->model) & mask) != 0 ? NPU_HAL_OK : NPU_HAL_TIMEOUT;
}

static void rig_delay(void *ctx, uint32_t us) {
    (void)ctx;
    (void)us;
}

static uint8_t *rig_flags(rig *r, uint32_t addr, uint32_t bytes) {
    if (addr < RIG_BASE || bytes > RIG_BYTES || addr - RIG_BASE > RIG_BYTES - bytes) {
        fail_msg("0x%08X and %u bytes are not in memory", addr, bytes);
    }
    return r->flags + (addr - RIG_BASE);
}

static void rig_flush(void *ctx, uint32_t addr, uint32_t bytes) {
    uint8_t *f = rig_flags(ctx, addr, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        f[i] |= RIG_FLUSHED;
    }
}

static void rig_invalidate(void *ctx, uint32_t addr, uint32_t bytes) {
    uint8_t *f = rig_flags(ctx, addr, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        f[i] |= RIG_DROPPED;
    }
}

static void rig_output(void *ctx, uint32_t addr, uint32_t bytes) {
    rig *r = ctx;
    uint8_t *f = rig_flags(r, addr, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        if ((f[i] & RIG_DECLARED) != 0) {
            fail_msg("0x%08X is declared twice", addr + i);
        }
        f[i] |= RIG_DECLARED;
    }
    r->declared += bytes;
}

static void rig_output_rows(void *ctx, uint32_t addr, uint32_t bytes, uint32_t rows, uint32_t step) {
    for (uint32_t i = 0; i < rows; i++) {
        rig_output(ctx, addr + i * step, bytes);
    }
}

static inline void rig_open(rig *r, uint32_t n) {
    memset(r, 0, sizeof *r);
    r->mem = malloc(RIG_BYTES);
    r->flags = calloc(1, RIG_BYTES);
    assert_non_null(r->mem);
    assert_non_null(r->flags);
    r->reader = calloc(RIG_BYTES, sizeof *r->reader);
    r->writer = calloc(RIG_BYTES, sizeof *r->writer);
    assert_non_null(r->reader);
    assert_non_null(r->writer);
    r->tasks = r->fence = 1;
    cm_mem mem = {r, rig_mem_read, rig_mem_write};
    r->model = cm_device_new(n, &mem);
    assert_non_null(r->model);
    r->hal = (npu_hal){.ctx = r,
                       .reg_read = rig_reg_read,
                       .reg_write = rig_reg_write,
                       .wait_irq = rig_wait_irq,
                       .delay_us = rig_delay,
                       .cache_flush = rig_flush,
                       .cache_invalidate = rig_invalidate,
                       .task_output = rig_output,
                       .task_output_rows = rig_output_rows};
    assert_int_equal(npu_init(&r->dev, &r->hal, NPU_WAIT_IRQ, 100), NPU_OK);
    assert_int_equal(r->dev.n, n);
}

static inline void rig_close(rig *r) {
    cm_device_free(r->model);
    free(r->mem);
    free(r->flags);
    free(r->reader);
    free(r->writer);
}

/* Forget all buffers. */
static inline void rig_reset(rig *r) {
    memset(r->mem, RIG_GUARD, r->top);
    memset(r->flags, 0, r->top);
    memset(r->reader, 0, r->top * sizeof *r->reader);
    memset(r->writer, 0, r->top * sizeof *r->writer);
    r->top = 64;
}

static inline uint8_t *rig_at(const rig *r, uint32_t addr) {
    return r->mem + (addr - RIG_BASE);
}

/* A buffer with guard bytes around it. */
static inline uint32_t rig_alloc(rig *r, uint64_t bytes, uint32_t align) {
    uint32_t addr = (r->top + align - 1) / align * align;
    assert_true(addr + bytes + 64 < RIG_BYTES);
    r->top = addr + (uint32_t)bytes + 64;
    memset(r->mem + addr, RIG_GUARD, bytes + 64);
    memset(r->flags + addr, 0, bytes + 64);
    return RIG_BASE + addr;
}

static inline uint32_t rig_word(const rig *r, uint32_t addr) {
    uint32_t v;
    memcpy(&v, rig_at(r, addr), 4);
    return v;
}

static inline void rig_set(rig *r, uint32_t addr, uint32_t v) {
    memcpy(rig_at(r, addr), &v, 4);
}

/* ---- tensors ---- */

static inline uint32_t rig_up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b * b;
}

/* A tensor in memory of its own; with gaps between channels or pixels when gap is set. Its bytes are guards. */
static inline npu_tensor rig_tensor(rig *r, npu_layout layout, uint32_t w, uint32_t h, uint32_t c, uint32_t gap) {
    uint32_t n = r->dev.n;
    npu_tensor t = {.w = w, .h = h, .c = c, .layout = layout};
    if (layout == NPU_INT8_NHWC) {
        t.step = rig_up(c, n) + gap * n;
        t.addr = rig_alloc(r, (uint64_t)t.step * w * h, n) + 0;
    } else {
        t.step = (w * h == 1 ? 4 : rig_up(w * h * 4, 16)) + gap * (w * h == 1 ? 4 : 16);
        t.addr = rig_alloc(r, (uint64_t)t.step * c, 16);
    }
    return t;
}

static inline uint32_t rig_element(const npu_tensor *t, uint32_t c, uint32_t y, uint32_t x) {
    return t->layout == NPU_INT8_NHWC ? t->addr + (y * t->w + x) * t->step + c
                                      : t->addr + c * t->step + (y * t->w + x) * 4;
}

/* Random values: INT8 in -127..127 with pad channels 0, FP32 of ordinary size, some of them special. */
static inline void rig_fill(rig *r, const npu_tensor *t) {
    static const uint32_t special[] = {0, 0x80000000u, 0x7F800000u, 0xFF800000u, 0x7FC12345u, 1u, 0x7F7FFFFFu};
    for (uint32_t y = 0; y < t->h; y++) {
        for (uint32_t x = 0; x < t->w; x++) {
            uint32_t end = t->layout == NPU_INT8_NHWC ? rig_up(t->c, r->dev.n) : t->c;
            for (uint32_t c = 0; c < end; c++) {
                float v = ((float)rig_draw(0, 2000) - 1000.0f) / 300.0f;
                uint32_t bits;
                memcpy(&bits, &v, 4);
                if (t->layout == NPU_INT8_NHWC) {
                    *rig_at(r, rig_element(t, c, y, x)) = c < t->c ? (uint8_t)(rig_draw(0, 254) - 127) : 0;
                } else {
                    rig_set(r, rig_element(t, c, y, x), rig_draw(0, 60) == 0 ? special[rig_draw(0, 6)] : bits);
                }
            }
        }
    }
}

/* Every byte between the elements and behind them is still a guard; pad channels are 0; the output was dropped from the
 * cache. */
static inline void rig_check_gaps(const rig *r, const npu_tensor *t) {
    uint32_t n = r->dev.n;
    bool int8 = t->layout == NPU_INT8_NHWC;
    uint32_t pieces = int8 ? t->w * t->h : t->c;
    uint32_t used = int8 ? rig_up(t->c, n) : t->w * t->h * 4;
    for (uint32_t i = 0; i < pieces; i++) {
        const uint8_t *p = rig_at(r, t->addr + i * t->step);
        for (uint32_t b = int8 ? t->c : used; b < t->step; b++) {
            if (p[b] != (b < used ? 0 : RIG_GUARD)) {
                fail_msg("byte %u of piece %u is 0x%02X", b, i, p[b]);
            }
        }
        for (uint32_t b = 0; b < used; b++) {
            assert_true((r->flags[p - r->mem + b] & RIG_DROPPED) != 0);
        }
    }
    for (uint32_t b = 0; b < 32; b++) {
        assert_int_equal(*rig_at(r, t->addr + pieces * t->step + b), RIG_GUARD);
    }
}

/* Parameters P0..P3 of an activation, by docs/npu/npu.md section 2. */
static inline void rig_act(npu_act act, const uint32_t p[2], uint32_t out[4]) {
    volatile float alpha, beta, lower, inverse, upper;
    memcpy(out, p, 8);
    out[2] = out[3] = 0;
    if (act == NPU_ACT_HARDSWISH || act == NPU_ACT_HARDSIGMOID) {
        uint32_t bits[2] = {p[0], p[1]};
        memcpy((void *)&alpha, &bits[0], 4);
        memcpy((void *)&beta, &bits[1], 4);
        lower = -beta / alpha;
        inverse = 1.0f / alpha;
        upper = inverse + lower;
        memcpy(&out[2], (const void *)&lower, 4);
        memcpy(&out[3], (const void *)&upper, 4);
    }
}

static inline uint32_t rig_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return bits;
}

#endif
