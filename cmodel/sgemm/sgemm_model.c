/*
 * sgemm_model.c - the definition of a GEMM (docs/sgemm/sgemm.md section 2): for each element of C the sum in ascending
 * order of k, on beta*C, with alpha on A before the product.
 */
#include "sgemm_model.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fp.h"

/* `count` neighbouring elements from memory, as binary32. */
static bool load(const sgm_mem *mem, uint64_t addr, bool f16, uint32_t *dst, size_t count) {
    uint16_t part[64];
    if (!f16) {
        return mem->read(mem->ctx, addr, dst, 4 * count);
    }
    for (size_t at = 0; at < count; at += 64) {
        const size_t n = count - at < 64 ? count - at : 64;
        if (!mem->read(mem->ctx, addr + 2 * at, part, 2 * n)) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            dst[at + i] = cm_fp_from_f16(part[i]);
        }
    }
    return true;
}

/* A stored matrix as rows x cols binary32. */
static uint32_t *matrix(const sgm_mem *mem, uint32_t addr, uint32_t ld, uint32_t rows, uint32_t cols, bool f16) {
    const uint32_t size = f16 ? 2 : 4;
    uint32_t *m = malloc((size_t)rows * cols * sizeof *m);
    for (uint32_t r = 0; m != NULL && r < rows; r++) {
        if (!load(mem, addr + (uint64_t)r * ld * size, f16, m + (size_t)r * cols, cols)) {
            free(m);
            m = NULL;
        }
    }
    return m;
}

static uint32_t rounded(uint32_t v, bool half) {
    return half ? cm_fp_from_f16(cm_fp_to_f16(v)) : v;
}

/* op(B) as K x N floats, rounded. */
static float *operand_b(const sgm_task *t, const uint32_t *stored) {
    float *b = malloc((size_t)t->k * t->n * sizeof *b);
    for (uint32_t k = 0; b != NULL && k < t->k; k++) {
        for (uint32_t j = 0; j < t->n; j++) {
            const uint32_t v = t->tb ? stored[(size_t)j * t->k + k] : stored[(size_t)k * t->n + j];
            b[(size_t)k * t->n + j] = cm_fp_to_float(rounded(v, t->half));
        }
    }
    return b;
}

/*
 * One row of C. Sums of all columns advance together through k, which leaves the order within each of them. A NaN is
 * made canonical at the end: no step makes anything but a NaN of it.
 */
static void row(const sgm_task *t, uint32_t i, const uint32_t *a, const float *b, float *s) {
    for (uint32_t k = 0; k < t->k; k++) {
        const uint32_t stored = t->ta ? a[(size_t)k * t->m + i] : a[(size_t)i * t->k + k];
        const float v = cm_fp_to_float(rounded(cm_fp_mul(t->alpha, stored), t->half));
        const float *line = b + (size_t)k * t->n;
        for (uint32_t j = 0; j < t->n; j++) {
            s[j] = s[j] + v * line[j];
        }
    }
}

static bool store(const sgm_mem *mem, uint64_t addr, bool f16, const float *s, uint32_t *bits, uint32_t count) {
    uint16_t *half = (uint16_t *)bits; /* element j is written after its value was read */
    for (uint32_t j = 0; j < count; j++) {
        const uint32_t v = cm_fp_canonical(s[j]);
        if (f16) {
            half[j] = cm_fp_to_f16(v);
        } else {
            bits[j] = v;
        }
    }
    return mem->write(mem->ctx, addr, bits, (size_t)count * (f16 ? 2 : 4));
}

bool sgm_gemm(const sgm_mem *mem, const sgm_task *t) {
    const bool product = sgm_reads_ab(t);
    uint32_t *a = NULL, *b_stored = NULL;
    float *b = NULL;
    bool ok = true;
    if (product) {
        a = matrix(mem, t->a, t->lda, t->ta ? t->k : t->m, t->ta ? t->m : t->k, t->a16);
        b_stored = matrix(mem, t->b, t->ldb, t->tb ? t->n : t->k, t->tb ? t->k : t->n, t->b16);
        b = b_stored != NULL ? operand_b(t, b_stored) : NULL;
        ok = a != NULL && b != NULL;
    }
    float *s = malloc((size_t)t->n * sizeof *s);
    uint32_t *bits = malloc((size_t)t->n * sizeof *bits);
    ok = ok && s != NULL && bits != NULL;
    for (uint32_t i = 0; ok && i < t->m; i++) {
        const uint64_t addr = t->c + (uint64_t)i * t->ldc * (t->c16 ? 2 : 4);
        memset(s, 0, (size_t)t->n * sizeof *s);
        if (!sgm_zero(t->beta)) {
            ok = load(mem, addr, t->c16, bits, t->n);
            for (uint32_t j = 0; ok && j < t->n; j++) {
                s[j] = cm_fp_to_float(cm_fp_mul(t->beta, bits[j]));
            }
        }
        if (ok && product) {
            row(t, i, a, b, s);
        }
        ok = ok && store(mem, addr, t->c16, s, bits, t->n);
    }
    free(a);
    free(b_stored);
    free(b);
    free(s);
    free(bits);
    return ok;
}
