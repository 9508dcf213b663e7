/*
 * transpose.c - one block of the transposer: docs/npu/npu.md section 4 and the header comment of its module.
 */
#include "cmodel.h"

#ifdef __SSE2__
#include <immintrin.h>

/* Two rows of eight bytes, one after the other in both vectors: bytes of a and b in turn. */
static inline __m128i in_turn(const int8_t *a, const int8_t *b) {
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i_u *)a), _mm_loadl_epi64((const __m128i_u *)b));
}

/* Two columns as rows. */
static inline void store(int8_t *to, uint32_t n, __m128i rows) {
    _mm_storel_epi64((__m128i_u *)to, rows);
    _mm_storeh_pd((double *)(void *)(to + n), _mm_castsi128_pd(rows));
}

/* 8 x 8 bytes of n x n: bytes of rows 4, then 2, then 1 apart are put side by side. */
static inline void eight(uint32_t n, const int8_t *in, int8_t *out) {
    const __m128i a = in_turn(in, in + 4 * n), b = in_turn(in + n, in + 5 * n), c = in_turn(in + 2 * n, in + 6 * n),
                  d = in_turn(in + 3 * n, in + 7 * n);
    const __m128i even = _mm_unpacklo_epi8(a, c), odd = _mm_unpacklo_epi8(b, d); /* columns 0 to 3 */
    const __m128i even_4 = _mm_unpackhi_epi8(a, c), odd_4 = _mm_unpackhi_epi8(b, d);
    store(out, n, _mm_unpacklo_epi8(even, odd));
    store(out + 2 * n, n, _mm_unpackhi_epi8(even, odd));
    store(out + 4 * n, n, _mm_unpacklo_epi8(even_4, odd_4));
    store(out + 6 * n, n, _mm_unpackhi_epi8(even_4, odd_4));
}
#endif

void cm_transpose(uint32_t n, const int8_t *in, int8_t *out) {
#ifdef __SSE2__
    if (n % 8 == 0) {
        for (uint32_t i = 0; i < n; i += 8) {
            for (uint32_t j = 0; j < n; j += 8) {
                eight(n, &in[i * n + j], &out[j * n + i]);
            }
        }
        return;
    }
#endif
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            out[j * n + i] = in[i * n + j];
        }
    }
}
