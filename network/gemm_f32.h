/* gemm_f32.h - blocks of a matrix product in FP32 with a fixed order of additions. Inside network/ only. */
#ifndef NET_GEMM_F32_H
#define NET_GEMM_F32_H

#include <stddef.h>
#include <stdint.h>

/* Columns of a block: two vectors of the machine that the build is for. */
#if defined(__AVX512F__)
#define GEMM_LANES 16u
#elif defined(__AVX__)
#define GEMM_LANES 8u
#else
#define GEMM_LANES 4u
#endif
#define GEMM_COLUMNS (2u * GEMM_LANES)
#define GEMM_ROWS 8u

/*
 * out[r][c] = start[r] + a[r][0] * b[0][c] + a[r][1] * b[1][c] ..., in this order, each product and each sum rounded:
 * the same bits as one element at a time, on every machine. a: `rows` (1..GEMM_ROWS) rows of `depth` numbers,
 * contiguous; b: `depth` rows of GEMM_COLUMNS numbers, `step` apart; out: GEMM_ROWS rows of GEMM_COLUMNS, of which
 * those after `rows` mean nothing. start: `rows` numbers, NULL: zeros.
 */
void gemm_f32_block(const float *a, uint32_t rows, const float *b, size_t step, uint32_t depth, const float *start,
                    float *out);

#endif
