/*
 * mock_npu.h - a HAL that expects an exact script of calls. Each call must be the next one of the script.
 */
#ifndef MOCK_NPU_H
#define MOCK_NPU_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "npu.h"
#include "npu_regs.h"

typedef enum mock_kind {
    MOCK_READ,
    MOCK_WRITE,
    MOCK_IRQ,
    MOCK_DELAY,
    MOCK_OUTPUT,
    MOCK_FLUSH,
    MOCK_INVALIDATE
} mock_kind;

typedef struct mock_call {
    mock_kind kind;
    uint32_t a, b; /* offset or address or mask; value or bytes or time-out or microseconds */
    npu_hal_status answer;
} mock_call;

#define MOCK_MAX 2048

typedef struct mock_npu {
    npu_hal hal;
    mock_call script[MOCK_MAX];
    size_t count, at;
} mock_npu;

static inline void mock_add(mock_npu *m, mock_kind kind, uint32_t a, uint32_t b, npu_hal_status answer) {
    assert_true(m->count < MOCK_MAX);
    m->script[m->count++] = (mock_call){kind, a, b, answer};
}

static inline void mock_read(mock_npu *m, uint32_t offset, uint32_t value) {
    mock_add(m, MOCK_READ, offset, value, NPU_HAL_OK);
}

static inline void mock_write(mock_npu *m, uint32_t offset, uint32_t value) {
    mock_add(m, MOCK_WRITE, offset, value, NPU_HAL_OK);
}

static inline const mock_call *mock_next(mock_npu *m, mock_kind kind, uint32_t a) {
    static const char *const names[] = {"read",        "write",       "wait_irq",        "delay",
                                        "task_output", "cache_flush", "cache_invalidate"};
    if (m->at >= m->count) {
        fail_msg("call %zu: %s 0x%X after the end of the script", m->at, names[kind], a);
    }
    const mock_call *c = &m->script[m->at];
    if (c->kind != kind || c->a != a) {
        fail_msg("call %zu: %s 0x%X, expected %s 0x%X", m->at, names[kind], a, names[c->kind], c->a);
    }
    m->at++;
    return c;
}

static inline void mock_check(mock_npu *m, mock_kind kind, uint32_t a, uint32_t b) {
    const mock_call *c = mock_next(m, kind, a);
    if (c->b != b) {
        fail_msg("call %zu: 0x%X: got 0x%X, expected 0x%X", m->at - 1, a, b, c->b);
    }
}

static npu_hal_status mock_reg_read(void *ctx, uint32_t offset, uint32_t *value) {
    const mock_call *c = mock_next(ctx, MOCK_READ, offset);
    *value = c->b;
    return c->answer;
}

static npu_hal_status mock_reg_write(void *ctx, uint32_t offset, uint32_t value) {
    mock_npu *m = ctx;
    mock_check(m, MOCK_WRITE, offset, value);
    return m->script[m->at - 1].answer;
}

static npu_hal_status mock_wait_irq(void *ctx, uint32_t mask, uint32_t timeout_us) {
    mock_npu *m = ctx;
    mock_check(m, MOCK_IRQ, mask, timeout_us);
    return m->script[m->at - 1].answer;
}

static void mock_delay_us(void *ctx, uint32_t us) {
    mock_check(ctx, MOCK_DELAY, us, 0);
}

static void mock_task_output(void *ctx, uint32_t addr, uint32_t bytes) {
    mock_check(ctx, MOCK_OUTPUT, addr, bytes);
}

static void mock_flush(void *ctx, uint32_t addr, uint32_t bytes) {
    mock_check(ctx, MOCK_FLUSH, addr, bytes);
}

static void mock_invalidate(void *ctx, uint32_t addr, uint32_t bytes) {
    mock_check(ctx, MOCK_INVALIDATE, addr, bytes);
}

/* An empty script; every function of the HAL is there. */
static inline void mock_init(mock_npu *m) {
    m->count = 0;
    m->at = 0;
    m->hal = (npu_hal){m,          mock_reg_read,   mock_reg_write,   mock_wait_irq, mock_delay_us,
                       mock_flush, mock_invalidate, mock_task_output, NULL};
}

/* Every call of the script was made. */
static inline void mock_done(const mock_npu *m) {
    if (m->at != m->count) {
        fail_msg("%zu calls of %zu were made", m->at, m->count);
    }
}

/* A device as npu_init() leaves it. */
static inline npu mock_device(mock_npu *m, npu_wait wait) {
    npu dev = {.hal = &m->hal, .n = 8, .units = 7, .wait = wait, .timeout_us = 50};
    return dev;
}

#endif
