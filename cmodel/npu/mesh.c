/*
 * mesh.c - one block on the N x N mesh, both streams: docs/npu/npu.md sections 2 (int32) and 4 (mesh).
 */
#include "cmodel.h"

/*
 * N products cannot overflow (32 * 128 * 128), so plain int32 sums equal the wrapping ones here. Inlined with a
 * constant n, so that the compiler keeps a row of sums in vector registers.
 */
static inline void mesh_rows(uint32_t n, const int8_t *restrict act, const int8_t *restrict wgt,
                             int32_t *restrict out) {
    for (uint32_t j = 0; j < 2 * n; j++) {
        int32_t sum[32] = {0};
        for (uint32_t r = 0; r < n; r++) {
            for (uint32_t c = 0; c < n; c++) {
                sum[c] += act[j * n + r] * wgt[r * n + c];
            }
        }
        for (uint32_t c = 0; c < n; c++) {
            out[j * n + c] = sum[c];
        }
    }
}

/* Weights widened once: small rows fill one vector register as int32, and the longest ones are faster so where the
 * machine multiplies int32 vectors. */
static inline void mesh_wide(uint32_t n, const int8_t *restrict act, const int8_t *restrict wgt,
                             int32_t *restrict out) {
    int32_t wide[32 * 32];
    for (uint32_t i = 0; i < n * n; i++) {
        wide[i] = wgt[i];
    }
    for (uint32_t j = 0; j < 2 * n; j++) {
        int32_t sum[32] = {0};
        for (uint32_t r = 0; r < n; r++) {
            const int32_t a = act[j * n + r];
            for (uint32_t c = 0; c < n; c++) {
                sum[c] += a * wide[r * n + c];
            }
        }
        for (uint32_t c = 0; c < n; c++) {
            out[j * n + c] = sum[c];
        }
    }
}

#if defined __SSE4_1__ || defined __ARM_NEON
#define mesh_32 mesh_wide
#else
#define mesh_32 mesh_rows
#endif

void cm_mesh_block(uint32_t n, const int8_t *act, const int8_t *wgt, int32_t *out) {
    switch (n) {
    case 4:
        mesh_wide(4, act, wgt, out);
        break;
    case 8:
        mesh_wide(8, act, wgt, out);
        break;
    case 16:
        mesh_rows(16, act, wgt, out);
        break;
    case 32:
        mesh_32(32, act, wgt, out);
        break;
    default:
        break; /* no such mesh */
    }
}

void cm_mesh_diagonal(uint32_t n, const int8_t *act, const int8_t *wgt, int32_t *out) {
    for (uint32_t j = 0; j < 2 * n; j++) {
        for (uint32_t c = 0; c < n; c++) {
            out[j * n + c] = act[j * n + c] * (wgt != NULL ? wgt[c] : 1);
        }
    }
}

void cm_mesh_block_wide(uint32_t n, const int8_t *low, const int8_t *high, const int8_t *wgt, int64_t *out) {
    int32_t w[32 * 32];
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t c = 0; c < n; c++) {
            w[r * n + c] = cm_i16(wgt[2 * r * n + c], wgt[(2 * r + 1) * n + c]);
        }
    }
    for (uint32_t j = 0; j < 2 * n; j++) {
        int64_t sum[32] = {0};
        for (uint32_t r = 0; r < n; r++) {
            const int32_t a = cm_i16(low[j * n + r], high[j * n + r]);
            for (uint32_t c = 0; c < n; c++) {
                sum[c] += a * w[r * n + c]; /* at most 2^30: an int32 */
            }
        }
        for (uint32_t c = 0; c < n; c++) {
            out[j * n + c] = sum[c];
        }
    }
}

void cm_mesh_diagonal_wide(uint32_t n, const int8_t *low, const int8_t *high, const int8_t *wgt, int64_t *out) {
    for (uint32_t j = 0; j < 2 * n; j++) {
        for (uint32_t c = 0; c < n; c++) {
            const int32_t w = wgt != NULL ? cm_i16(wgt[c], wgt[n + c]) : 1;
            out[j * n + c] = cm_i16(low[j * n + c], high[j * n + c]) * w;
        }
    }
}
