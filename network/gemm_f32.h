/* gemm_f32.h - matrix products in FP32 with a fixed order of additions. Inside network/ only. */
#ifndef NET_GEMM_F32_H
#define NET_GEMM_F32_H

#include <stdbool.h>
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
 * sum[r][c] = sum[r][c] + a[r][0] * b[0][c] + a[r][1] * b[1][c] ..., in this order, each product and each sum rounded:
 * the same bits as one element at a time, on every machine. a: `rows` (1..GEMM_ROWS) rows of `depth` numbers, `a_step`
 * apart; b: `depth` rows of GEMM_COLUMNS numbers, `b_step` apart; sum: GEMM_ROWS rows of GEMM_COLUMNS, of which those
 * after `rows` mean nothing.
 */
void gemm_f32_block(const float *a, size_t a_step, uint32_t rows, const float *b, size_t b_step, uint32_t depth,
                    float *sum);

/* out[m][n] = start + sum of a[m][k] * b[k][n], the additions in this order. Steps: from row to row. */
typedef struct gemm_f32 {
    uint32_t m, n, k;
    const float *a;
    size_t a_step;
    const float *b; /* [k][n], or [n][k] when `b_rows` */
    size_t b_step;
    bool b_rows;
    /* start[i * start_row + j * start_column] for row i and column j; NULL: zeros */
    const float *start;
    size_t start_row, start_column;
    float *out;
    size_t out_step;
    float *pack; /* [k][GEMM_COLUMNS] */
} gemm_f32;
void gemm_f32_run(const gemm_f32 *g);

#endif
