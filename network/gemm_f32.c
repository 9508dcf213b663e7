/* gemm_f32.c - blocks of a matrix product in FP32: eight rows at a time over two vectors of columns, so that the sums
 * stay in registers. */
#include "gemm_f32.h"

#include <string.h>

typedef float vec __attribute__((vector_size(4 * GEMM_LANES)));

static vec load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ROW_POINTER(i) const float *a##i = a + (i < rows ? i : rows - 1) * (size_t)depth;
#define ROW_START(i)                                                                                                   \
    vec l##i = start == NULL ? zero : zero + start[i < rows ? i : rows - 1];                                           \
    vec r##i = l##i;
#define ROW_ADD(i)                                                                                                     \
    l##i += left * a##i[k];                                                                                            \
    r##i += right * a##i[k];
#define ROW_STORE(i)                                                                                                   \
    memcpy(out + i * GEMM_COLUMNS, &l##i, sizeof l##i);                                                                \
    memcpy(out + i * GEMM_COLUMNS + GEMM_LANES, &r##i, sizeof r##i);

void gemm_f32_block(const float *a, uint32_t rows, const float *b, size_t step, uint32_t depth, const float *start,
                    float *out) {
    const vec zero = {0};
    EACH(ROW_POINTER)
    EACH(ROW_START)
    for (uint32_t k = 0; k < depth; k++, b += step) {
        vec left = load(b);
        vec right = load(b + GEMM_LANES);
        EACH(ROW_ADD)
    }
    EACH(ROW_STORE)
}
