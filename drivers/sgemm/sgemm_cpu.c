/*
 * sgemm_cpu.c - small GEMMs on the processor: the same loop as the engine's contract, bit for bit.
 *
 * Float arithmetic must be binary32 with round to nearest even, subnormals kept, and not contracted
 * (-ffp-contract=off).
 */
#include "sgemm_priv.h"

#define COLUMNS 64u /* of C that advance together */

typedef union bits {
    float f;
    uint32_t u;
} bits;

static float canonical(float f) {
    bits x = {.f = f};
    x.u = f != f ? 0x7FC00000u : x.u;
    return x.f;
}

static float from_half(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 31u, fraction = h & 1023u;
    bits x;
    if (exponent == 31) {
        x.u = fraction != 0 ? 0x7FC00000u : sign | 0x7F800000u;
    } else if (exponent == 0 && fraction == 0) {
        x.u = sign;
    } else {
        exponent += 112;
        if (exponent == 112) { /* a subnormal: shift up to the hidden bit */
            for (exponent++; fraction < 1024; exponent--) {
                fraction <<= 1;
            }
            fraction &= 1023u;
        }
        x.u = sign | exponent << 23 | fraction << 13;
    }
    return x.f;
}

static uint16_t to_half(float f) {
    const bits x = {.f = f};
    const uint32_t mag = x.u & 0x7FFFFFFFu;
    const uint16_t sign = (uint16_t)((x.u >> 16) & 0x8000u);
    if (mag > 0x7F800000u) {
        return 0x7E00;
    }
    if (mag >= 0x477FF000u) { /* 65520 */
        return (uint16_t)(sign | 0x7C00u);
    }
    const uint32_t exponent = mag >> 23;
    if (exponent < 102) { /* below 2^-25 */
        return sign;
    }
    /* the fraction with its hidden bit, and how many bits of it are lost */
    const uint32_t whole = (mag & 0x7FFFFFu) | 0x800000u;
    const uint32_t lost = exponent < 113 ? 126 - exponent : 13;
    const uint32_t kept = whole >> lost, rest = whole & ((1u << lost) - 1), tie = 1u << (lost - 1);
    const uint32_t up = rest > tie || (rest == tie && (kept & 1u) != 0) ? 1 : 0;
    return (uint16_t)(sign | (kept + up + (exponent < 113 ? 0 : (exponent - 113) << 10)));
}

/* `count` neighbouring elements; at most COLUMNS. */
static sgemm_status load(const sgemm_hal *hal, uint32_t addr, bool f16, float *dst, uint32_t count) {
    uint16_t half[COLUMNS];
    const npu_hal_status status =
        f16 ? hal->mem_read(hal->ctx, addr, half, 2 * count) : hal->mem_read(hal->ctx, addr, dst, 4 * count);
    for (uint32_t j = 0; j < count && f16 && status == NPU_HAL_OK; j++) {
        dst[j] = from_half(half[j]);
    }
    return status == NPU_HAL_OK ? SGEMM_OK : SGEMM_ERR_HAL;
}

static sgemm_status store(const sgemm_hal *hal, uint32_t addr, bool f16, float *src, uint32_t count) {
    uint16_t half[COLUMNS];
    for (uint32_t j = 0; j < count; j++) {
        src[j] = canonical(src[j]);
        half[j] = f16 ? to_half(src[j]) : 0;
    }
    const npu_hal_status status =
        f16 ? hal->mem_write(hal->ctx, addr, half, 2 * count) : hal->mem_write(hal->ctx, addr, src, 4 * count);
    return status == NPU_HAL_OK ? SGEMM_OK : SGEMM_ERR_HAL;
}

static uint32_t at(uint32_t addr, uint32_t ld, uint32_t row, uint32_t col, bool f16) {
    return addr + (row * ld + col) * (f16 ? 2u : 4u);
}

/* b(k, j0 ..): rows of B, or columns of its transpose. */
static sgemm_status load_b(const sgemm_hal *hal, const sgemm_gemm *g, uint32_t k, uint32_t j0, float *b,
                           uint32_t count) {
    sgemm_status status = SGEMM_OK;
    if (!g->tb) {
        status = load(hal, at(g->b, g->ldb, k, j0, g->b16), g->b16, b, count);
    }
    for (uint32_t j = 0; j < count && g->tb && status == SGEMM_OK; j++) {
        status = load(hal, at(g->b, g->ldb, j0 + j, k, g->b16), g->b16, &b[j], 1);
    }
    for (uint32_t j = 0; j < count && g->half; j++) {
        b[j] = from_half(to_half(b[j]));
    }
    return status;
}

/* Columns j0 .. of row i of C. */
static sgemm_status part(const sgemm_hal *hal, const sgemm_gemm *g, uint32_t i, uint32_t j0, uint32_t count) {
    float s[COLUMNS], b[COLUMNS], a = 0.0f;
    sgemm_status status = SGEMM_OK;
    for (uint32_t j = 0; j < count; j++) {
        s[j] = 0.0f;
    }
    if (g->beta != 0.0f) {
        status = load(hal, at(g->c, g->ldc, i, j0, g->c16), g->c16, s, count);
        for (uint32_t j = 0; j < count; j++) {
            s[j] = g->beta * s[j];
        }
    }
    for (uint32_t k = 0; k < g->k && sgemm_reads_ab(g) && status == SGEMM_OK; k++) {
        status = load(hal, g->ta ? at(g->a, g->lda, k, i, g->a16) : at(g->a, g->lda, i, k, g->a16), g->a16, &a, 1);
        if (status == SGEMM_OK) {
            status = load_b(hal, g, k, j0, b, count);
        }
        a = g->alpha * a;
        a = g->half ? from_half(to_half(a)) : a;
        for (uint32_t j = 0; j < count; j++) {
            s[j] = s[j] + a * b[j];
        }
    }
    return status == SGEMM_OK ? store(hal, at(g->c, g->ldc, i, j0, g->c16), g->c16, s, count) : status;
}

sgemm_status sgemm_cpu(const sgemm_hal *hal, const sgemm_gemm *g) {
    sgemm_status status = SGEMM_OK;
    for (uint32_t i = 0; i < g->m && status == SGEMM_OK; i++) {
        for (uint32_t j = 0; j < g->n && status == SGEMM_OK; j += COLUMNS) {
            status = part(hal, g, i, j, g->n - j < COLUMNS ? g->n - j : COLUMNS);
        }
    }
    return status;
}
