/* gemm_f32.c - matrix products in FP32: eight rows at a time over two vectors of columns, so that the sums stay in
 * registers. */
#include "gemm_f32.h"

#include <string.h>

typedef float vec __attribute__((vector_size(4 * GEMM_LANES)));

static vec load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ROW_START(i)                                                                                                   \
    const float *a##i = a + (i < rows ? i : rows - 1) * a_step;                                                        \
    vec l##i = load(sum + i * GEMM_COLUMNS);                                                                           \
    vec r##i = load(sum + i * GEMM_COLUMNS + GEMM_LANES);
#define ROW_ADD(i)                                                                                                     \
    l##i += left * a##i[k];                                                                                            \
    r##i += right * a##i[k];
#define ROW_STORE(i)                                                                                                   \
    memcpy(sum + i * GEMM_COLUMNS, &l##i, sizeof l##i);                                                                \
    memcpy(sum + i * GEMM_COLUMNS + GEMM_LANES, &r##i, sizeof r##i);

void gemm_f32_block(const float *a, size_t a_step, uint32_t rows, const float *b, size_t b_step, uint32_t depth,
                    float *sum) {
    EACH(ROW_START)
    for (uint32_t k = 0; k < depth; k++, b += b_step) {
        vec left = load(b);
        vec right = load(b + GEMM_LANES);
        EACH(ROW_ADD)
    }
    EACH(ROW_STORE)
}

/* Columns first.. of b, zeros behind the last one. */
static void pack(const gemm_f32 *g, uint32_t first, uint32_t count) {
    for (uint32_t k = 0; k < g->k; k++) {
        float *to = g->pack + (size_t)k * GEMM_COLUMNS;
        memset(to, 0, GEMM_COLUMNS * sizeof *to);
        if (!g->b_rows) {
            memcpy(to, g->b + k * g->b_step + first, count * sizeof *to);
        }
        for (uint32_t c = 0; g->b_rows && c < count; c++) {
            to[c] = g->b[(first + c) * g->b_step + k];
        }
    }
}

void gemm_f32_run(const gemm_f32 *g) {
    float sum[GEMM_ROWS * GEMM_COLUMNS] = {0};
    for (uint32_t first = 0; first < g->n; first += GEMM_COLUMNS) {
        uint32_t count = g->n - first < GEMM_COLUMNS ? g->n - first : GEMM_COLUMNS;
        pack(g, first, count);
        for (uint32_t i = 0; i < g->m; i += GEMM_ROWS) {
            uint32_t rows = g->m - i < GEMM_ROWS ? g->m - i : GEMM_ROWS;
            for (uint32_t r = 0; r < rows; r++) {
                for (uint32_t c = 0; c < count; c++) {
                    sum[r * GEMM_COLUMNS + c] =
                        g->start == NULL ? 0.0f : g->start[(i + r) * g->start_row + (first + c) * g->start_column];
                }
            }
            gemm_f32_block(g->a + i * g->a_step, g->a_step, rows, g->pack, GEMM_COLUMNS, g->k, sum);
            for (uint32_t r = 0; r < rows; r++) {
                memcpy(g->out + (i + r) * g->out_step + first, sum + (size_t)r * GEMM_COLUMNS, count * sizeof *sum);
            }
        }
    }
}
