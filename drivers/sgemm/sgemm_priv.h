/*
 * sgemm_priv.h - shared by the files of the driver.
 */
#ifndef SGEMM_PRIV_H
#define SGEMM_PRIV_H

#include "sgemm.h"

/* A legal GEMM in row-major order: rows of C are neighbouring elements. */
typedef struct sgemm_gemm {
    uint32_t m, n, k;
    uint32_t a, b, c;
    uint32_t lda, ldb, ldc;
    float alpha, beta;
    bool ta, tb;
    bool a16, b16, c16, half;
} sgemm_gemm;

/* Row-major form of legal arguments: column-major order exchanges the operands. */
sgemm_gemm sgemm_row_major(const sgemm_args *args);
/* Are A and B read? */
static inline bool sgemm_reads_ab(const sgemm_gemm *g) {
    return g->k != 0 && g->alpha != 0.0f;
}

/* A stored matrix: rows of `cols` neighbouring elements of `size` bytes. */
typedef struct sgemm_matrix {
    uint32_t addr, ld, rows, cols, size;
} sgemm_matrix;
static inline sgemm_matrix sgemm_matrix_a(const sgemm_gemm *g) {
    return (sgemm_matrix){g->a, g->lda, g->ta ? g->k : g->m, g->ta ? g->m : g->k, g->a16 ? 2u : 4u};
}
static inline sgemm_matrix sgemm_matrix_b(const sgemm_gemm *g) {
    return (sgemm_matrix){g->b, g->ldb, g->tb ? g->n : g->k, g->tb ? g->k : g->n, g->b16 ? 2u : 4u};
}
static inline sgemm_matrix sgemm_matrix_c(const sgemm_gemm *g) {
    return (sgemm_matrix){g->c, g->ldc, g->m, g->n, g->c16 ? 2u : 4u};
}
/* Bytes from the first element to behind the last one. */
static inline uint64_t sgemm_extent(const sgemm_matrix *m) {
    return ((uint64_t)(m->rows - 1) * m->ld + m->cols) * m->size;
}

/* The same GEMM by the processor, with the same bits. */
sgemm_status sgemm_cpu(const sgemm_hal *hal, const sgemm_gemm *g);

#endif
