/*
 * mesh.c - one block on the N x N mesh, both streams: docs/npu/npu.md sections 2 (int32) and 4 (mesh).
 */
#include "cmodel.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

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

#ifdef __AVX2__
/*
 * The same where a register holds eight columns: products of two rows are added in pairs, which cannot overflow either.
 * n is a multiple of 8.
 */
static inline void mesh_pairs(uint32_t n, const int8_t *restrict act, const int8_t *restrict wgt,
                              int32_t *restrict out) {
    __m256i pair[16][4]; /* of the weights of rows 2r and 2r + 1, by columns */
    for (uint32_t r = 0; r < n; r += 2) {
        for (uint32_t c = 0; c < n; c += 8) {
            const __m128i even = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i_u *)&wgt[r * n + c]));
            const __m128i odd = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i_u *)&wgt[(r + 1) * n + c]));
            pair[r / 2][c / 8] = _mm256_set_m128i(_mm_unpackhi_epi16(even, odd), _mm_unpacklo_epi16(even, odd));
        }
    }
    for (uint32_t j = 0; j < 2 * n; j++) {
        int32_t a[16]; /* two activations each */
        for (uint32_t r = 0; r < n; r += 8) {
            const __m128i eight = _mm_loadl_epi64((const __m128i_u *)&act[j * n + r]);
            _mm_storeu_si128((__m128i_u *)&a[r / 2], _mm_cvtepi8_epi16(eight));
        }
        __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                          _mm256_setzero_si256()};
        for (uint32_t r = 0; r < n / 2; r++) {
            for (uint32_t c = 0; c < n / 8; c++) {
                sum[c] = _mm256_add_epi32(sum[c], _mm256_madd_epi16(_mm256_set1_epi32(a[r]), pair[r][c]));
            }
        }
        for (uint32_t c = 0; c < n / 8; c++) {
            _mm256_storeu_si256((__m256i_u *)&out[j * n + 8 * c], sum[c]);
        }
    }
}
#endif

#if defined __AVX2__
#define mesh_8 mesh_pairs
#define mesh_16 mesh_pairs
#define mesh_32 mesh_pairs
#else
#define mesh_8 mesh_wide
#define mesh_16 mesh_rows
#if defined __SSE4_1__ || defined __ARM_NEON
#define mesh_32 mesh_wide
#else
#define mesh_32 mesh_rows
#endif
#endif

void cm_mesh_block(uint32_t n, const int8_t *act, const int8_t *wgt, int32_t *out) {
    switch (n) {
    case 4:
        mesh_wide(4, act, wgt, out);
        break;
    case 8:
        mesh_8(8, act, wgt, out);
        break;
    case 16:
        mesh_16(16, act, wgt, out);
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
