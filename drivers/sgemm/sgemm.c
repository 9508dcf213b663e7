/*
 * sgemm.c - device, tasks, splits (docs/sgemm/driver.md).
 */
#include "sgemm_priv.h"

#define POLL_US 1u
#define LIMIT_DIM 65535u
#define LIMIT_LD 0xFFFFFFu
#define IRQ_LINE 1u
#define ERR_BUS (SGEMM_ERR_BUS_RD0_MASK | SGEMM_ERR_BUS_RD1_MASK | SGEMM_ERR_BUS_WR_MASK)

static sgemm_status reg_read(const sgemm_dev *dev, uint32_t reg, uint32_t *value) {
    return dev->hal->bus->reg_read(dev->hal->bus->ctx, reg, value) == NPU_HAL_OK ? SGEMM_OK : SGEMM_ERR_HAL;
}

static sgemm_status reg_write(const sgemm_dev *dev, uint32_t reg, uint32_t value) {
    return dev->hal->bus->reg_write(dev->hal->bus->ctx, reg, value) == NPU_HAL_OK ? SGEMM_OK : SGEMM_ERR_HAL;
}

sgemm_status sgemm_init(sgemm_dev *dev, const sgemm_hal *hal, bool irq, uint32_t timeout_us) {
    uint32_t id = 0, status_reg = 0, count = 0;
    if (dev == NULL || hal == NULL || hal->bus == NULL || hal->bus->reg_read == NULL || hal->bus->reg_write == NULL ||
        hal->bus->delay_us == NULL || (irq && hal->bus->wait_irq == NULL) || hal->mem_read == NULL ||
        hal->mem_write == NULL || timeout_us == 0) {
        return SGEMM_ERR_NULL;
    }
    *dev = (sgemm_dev){.hal = hal,
                       .limits = {LIMIT_DIM, LIMIT_DIM, LIMIT_DIM, LIMIT_LD},
                       .min_dim = SGEMM_MIN_DIM,
                       .timeout_us = timeout_us,
                       .irq = irq};
    sgemm_status status = reg_read(dev, SGEMM_REG_ID, &id);
    if (status == SGEMM_OK && id != SGEMM_REG_ID_RESET) {
        return SGEMM_ERR_NO_DEVICE;
    }
    status = status == SGEMM_OK ? reg_read(dev, SGEMM_REG_CONFIG, &dev->config) : status;
    status = status == SGEMM_OK ? reg_read(dev, SGEMM_REG_STATUS, &status_reg) : status;
    if (status == SGEMM_OK && (status_reg & (SGEMM_STATUS_BUSY_MASK | SGEMM_STATUS_RESETTING_MASK)) != 0) {
        return SGEMM_ERR_BUSY;
    }
    status = status == SGEMM_OK ? reg_read(dev, SGEMM_REG_COUNT, &count) : status;
    dev->started = (uint16_t)count;
    return status == SGEMM_OK ? reg_write(dev, SGEMM_REG_IRQ_ENABLE, irq ? SGEMM_IRQ_ENABLE_TASK_MASK : 0) : status;
}

sgemm_status sgemm_set_limits(sgemm_dev *dev, const sgemm_limits *limits) {
    if (dev == NULL || limits == NULL || limits->m - 1 >= LIMIT_DIM || limits->n - 1 >= LIMIT_DIM ||
        limits->k - 1 >= LIMIT_DIM || limits->ld - 1 >= LIMIT_LD) {
        return SGEMM_ERR_NULL;
    }
    dev->limits = *limits;
    return SGEMM_OK;
}

static void flush(const sgemm_dev *dev, const sgemm_matrix *m) {
    if (dev->hal->bus->cache_flush != NULL) {
        dev->hal->bus->cache_flush(dev->hal->bus->ctx, m->addr, (uint32_t)sgemm_extent(m));
    }
}

static void invalidate(sgemm_dev *dev) {
    for (uint32_t i = 0; i < dev->outs && dev->hal->bus->cache_invalidate != NULL; i++) {
        dev->hal->bus->cache_invalidate(dev->hal->bus->ctx, dev->out[i].addr, dev->out[i].bytes);
    }
    dev->outs = 0;
}

/* An error stays in ERR until it is cleared here. A refused task does not count as started any more. */
static sgemm_status errors(sgemm_dev *dev) {
    uint32_t err = 0, count = 0;
    sgemm_status status = reg_read(dev, SGEMM_REG_ERR, &err);
    if (status != SGEMM_OK || err == 0) {
        return status;
    }
    status = reg_write(dev, SGEMM_REG_ERR, err);
    if (status == SGEMM_OK && (err & ~ERR_BUS) != 0) {
        status = reg_read(dev, SGEMM_REG_COUNT, &count);
        dev->started = (uint16_t)count;
        return status == SGEMM_OK ? SGEMM_ERR_DEVICE : status;
    }
    return status == SGEMM_OK ? SGEMM_ERR_BUS : status;
}

/* A little time passes, or the interrupt comes. */
static sgemm_status pause(const sgemm_dev *dev, uint32_t *waited) {
    const npu_hal *bus = dev->hal->bus;
    if (*waited >= dev->timeout_us) {
        return SGEMM_ERR_TIMEOUT;
    }
    if (!dev->irq) {
        bus->delay_us(bus->ctx, POLL_US);
        *waited += POLL_US;
        return SGEMM_OK;
    }
    const npu_hal_status got = bus->wait_irq(bus->ctx, IRQ_LINE, dev->timeout_us - *waited);
    if (got != NPU_HAL_OK) {
        return got == NPU_HAL_TIMEOUT ? SGEMM_ERR_TIMEOUT : SGEMM_ERR_HAL;
    }
    /* cleared before COUNT and STATUS are read: an event that comes later raises the line again */
    return reg_write(dev, SGEMM_REG_IRQ_STATUS, SGEMM_IRQ_STATUS_TASK_MASK);
}

/* Until STATUS has these bits with these values. */
static sgemm_status until(const sgemm_dev *dev, uint32_t mask, uint32_t want) {
    uint32_t value = 0, waited = 0;
    for (;;) {
        sgemm_status status = reg_read(dev, SGEMM_REG_STATUS, &value);
        if (status != SGEMM_OK || (value & mask) == want) {
            return status;
        }
        status = pause(dev, &waited);
        if (status != SGEMM_OK) {
            return status;
        }
    }
}

sgemm_status sgemm_wait(sgemm_dev *dev) {
    if (dev == NULL) {
        return SGEMM_ERR_NULL;
    }
    sgemm_status status = until(dev, SGEMM_STATUS_BUSY_MASK, 0);
    uint32_t count = 0;
    status = status == SGEMM_OK ? reg_read(dev, SGEMM_REG_COUNT, &count) : status;
    status = status == SGEMM_OK ? reg_write(dev, SGEMM_REG_IRQ_STATUS, SGEMM_IRQ_STATUS_TASK_MASK) : status;
    invalidate(dev);
    if (status != SGEMM_OK) {
        return status;
    }
    const bool all = (uint16_t)count == dev->started;
    status = errors(dev);
    return status == SGEMM_OK && !all ? SGEMM_ERR_DEVICE : status;
}

/* One task, when the engine can take it. */
static sgemm_status start(sgemm_dev *dev, const sgemm_gemm *g) {
    const union {
        float f;
        uint32_t u;
    } alpha = {.f = g->alpha}, beta = {.f = g->beta};
    const uint32_t mode = SGEMM_START_GO_MASK | (g->ta ? SGEMM_START_TRANS_A_MASK : 0) |
                          (g->tb ? SGEMM_START_TRANS_B_MASK : 0) | (g->a16 ? SGEMM_START_A_F16_MASK : 0) |
                          (g->b16 ? SGEMM_START_B_F16_MASK : 0) | (g->c16 ? SGEMM_START_C_F16_MASK : 0) |
                          (g->half ? SGEMM_START_HALF_MASK : 0);
    const struct {
        uint32_t reg, value;
    } regs[] = {{SGEMM_REG_A_ADDR, g->a},   {SGEMM_REG_B_ADDR, g->b},
                {SGEMM_REG_C_ADDR, g->c},   {SGEMM_REG_LDA, g->lda},
                {SGEMM_REG_LDB, g->ldb},    {SGEMM_REG_LDC, g->ldc},
                {SGEMM_REG_KSIZE, g->k},    {SGEMM_REG_SIZE, g->m << SGEMM_SIZE_M_LSB | g->n << SGEMM_SIZE_N_LSB},
                {SGEMM_REG_ALPHA, alpha.u}, {SGEMM_REG_BETA, beta.u},
                {SGEMM_REG_START, mode}};
    sgemm_status status = until(dev, SGEMM_STATUS_READY_MASK, SGEMM_STATUS_READY_MASK);
    for (uint32_t i = 0; i < sizeof regs / sizeof *regs && status == SGEMM_OK; i++) {
        status = reg_write(dev, regs[i].reg, regs[i].value);
    }
    dev->started = (uint16_t)(dev->started + (status == SGEMM_OK ? 1 : 0));
    return status;
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Address of element (row, col) of op(X), stored transposed or not. */
static uint32_t element(uint32_t addr, uint32_t ld, bool transposed, bool f16, uint32_t row, uint32_t col) {
    const uint32_t at = transposed ? col * ld + row : row * ld + col;
    return addr + at * (f16 ? 2u : 4u);
}

/* The slices of k of one part of C: they ascend, and the later ones add to what the earlier ones wrote. */
static sgemm_status slices(sgemm_dev *dev, const sgemm_gemm *g, uint32_t i, uint32_t j) {
    sgemm_gemm part = *g;
    sgemm_status status = SGEMM_OK;
    uint32_t k = 0;
    part.m = least(dev->limits.m, g->m - i);
    part.n = least(dev->limits.n, g->n - j);
    part.c = element(g->c, g->ldc, false, g->c16, i, j);
    if (!sgemm_reads_ab(g)) {
        part.k = 0;
        return start(dev, &part);
    }
    do {
        part.k = least(dev->limits.k, g->k - k);
        part.a = element(g->a, g->lda, g->ta, g->a16, i, k);
        part.b = element(g->b, g->ldb, g->tb, g->b16, k, j);
        status = start(dev, &part);
        part.beta = 1.0f;
        k += part.k;
    } while (k < g->k && status == SGEMM_OK);
    return status;
}

static sgemm_status tasks(sgemm_dev *dev, const sgemm_gemm *g) {
    const sgemm_matrix c = sgemm_matrix_c(g);
    sgemm_status status = SGEMM_OK;
    if (dev->outs == 2) { /* two GEMMs are remembered */
        status = sgemm_wait(dev);
        if (status != SGEMM_OK) {
            return status;
        }
    }
    if (sgemm_reads_ab(g)) {
        const sgemm_matrix a = sgemm_matrix_a(g), b = sgemm_matrix_b(g);
        flush(dev, &a);
        flush(dev, &b);
    }
    flush(dev, &c); /* also where it is not read: the bytes between its rows share its cache lines */
    dev->out[dev->outs].addr = c.addr;
    dev->out[dev->outs++].bytes = (uint32_t)sgemm_extent(&c);
    for (uint32_t i = 0; i < g->m && status == SGEMM_OK; i += least(dev->limits.m, g->m - i)) {
        for (uint32_t j = 0; j < g->n && status == SGEMM_OK; j += least(dev->limits.n, g->n - j)) {
            status = slices(dev, g, i, j);
        }
    }
    return status;
}

sgemm_status sgemm_submit(sgemm_dev *dev, const sgemm_args *args) {
    sgemm_status status = sgemm_check(dev, args);
    if (status != SGEMM_OK) {
        return status;
    }
    const sgemm_gemm g = sgemm_row_major(args);
    dev->cpu = false;
    if (g.m == 0 || g.n == 0 || (!sgemm_reads_ab(&g) && g.beta == 1.0f)) {
        return SGEMM_OK;
    }
    if (g.m >= dev->min_dim && g.n >= dev->min_dim && g.k >= dev->min_dim) {
        return tasks(dev, &g);
    }
    status = sgemm_wait(dev);
    dev->cpu = true;
    return status == SGEMM_OK ? sgemm_cpu(dev->hal, &g) : status;
}

sgemm_status sgemm_run(sgemm_dev *dev, const sgemm_args *args) {
    const sgemm_status status = sgemm_submit(dev, args);
    if (dev == NULL || args == NULL || dev->outs == 0) {
        return status;
    }
    const sgemm_status waited = sgemm_wait(dev);
    return status == SGEMM_OK ? waited : status;
}

sgemm_status sgemm_cblas(sgemm_dev *dev, int order, int trans_a, int trans_b, int32_t m, int32_t n, int32_t k,
                         float alpha, uint32_t a, int32_t lda, uint32_t b, int32_t ldb, float beta, uint32_t c,
                         int32_t ldc) {
    const sgemm_args args = {order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 0};
    return sgemm_run(dev, &args);
}

static int trans_of(char c) {
    return c == 'N' || c == 'n'   ? SGEMM_NO_TRANS
           : c == 'T' || c == 't' ? SGEMM_TRANS
           : c == 'C' || c == 'c' ? SGEMM_CONJ_TRANS
                                  : 0;
}

sgemm_status sgemm_blas(sgemm_dev *dev, char trans_a, char trans_b, int32_t m, int32_t n, int32_t k, float alpha,
                        uint32_t a, int32_t lda, uint32_t b, int32_t ldb, float beta, uint32_t c, int32_t ldc) {
    return sgemm_cblas(dev, SGEMM_COL_MAJOR, trans_of(trans_a), trans_of(trans_b), m, n, k, alpha, a, lda, b, ldb, beta,
                       c, ldc);
}

sgemm_status sgemm_perf_snapshot(const sgemm_dev *dev, bool clear) {
    return dev == NULL ? SGEMM_ERR_NULL
                       : reg_write(dev, SGEMM_REG_PERF_CTRL,
                                   SGEMM_PERF_CTRL_SNAPSHOT_MASK | (clear ? SGEMM_PERF_CTRL_CLEAR_MASK : 0));
}

sgemm_status sgemm_perf_read(const sgemm_dev *dev, uint32_t number, uint64_t *value) {
    uint32_t lo = 0, hi = 0;
    if (dev == NULL || value == NULL || number > SGEMM_PERF_SEL_SEL_MASK) {
        return SGEMM_ERR_NULL;
    }
    sgemm_status status = reg_write(dev, SGEMM_REG_PERF_SEL, number);
    status = status == SGEMM_OK ? reg_read(dev, SGEMM_REG_PERF_LO, &lo) : status;
    status = status == SGEMM_OK ? reg_read(dev, SGEMM_REG_PERF_HI, &hi) : status;
    *value = (uint64_t)hi << 32 | lo;
    return status;
}
