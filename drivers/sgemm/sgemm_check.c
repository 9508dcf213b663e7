/*
 * sgemm_check.c - which arguments are legal (docs/sgemm/driver.md), and their row-major form.
 */
#include "sgemm_priv.h"

#define FLAGS (SGEMM_A_F16 | SGEMM_B_F16 | SGEMM_C_F16 | SGEMM_HALF)

const char *sgemm_strerror(sgemm_status status) {
    static const char *const text[SGEMM_STATUS_COUNT] = {
        [SGEMM_OK] = "no error",
        [SGEMM_ERR_ORDER] = "argument 1, order: neither row-major nor column-major",
        [SGEMM_ERR_TRANS_A] = "argument 2, transpose of A: unknown",
        [SGEMM_ERR_TRANS_B] = "argument 3, transpose of B: unknown",
        [SGEMM_ERR_M] = "argument 4, M: negative",
        [SGEMM_ERR_N] = "argument 5, N: negative",
        [SGEMM_ERR_K] = "argument 6, K: negative, or above the task limit with C in binary16",
        [SGEMM_ERR_A] = "argument 8, A: null, misaligned, or it runs past 2^32",
        [SGEMM_ERR_LDA] = "argument 9, lda: shorter than a stored row, or above the task limit",
        [SGEMM_ERR_B] = "argument 10, B: null, misaligned, or it runs past 2^32",
        [SGEMM_ERR_LDB] = "argument 11, ldb: shorter than a stored row, or above the task limit",
        [SGEMM_ERR_C] = "argument 13, C: null, misaligned, or it runs past 2^32",
        [SGEMM_ERR_LDC] = "argument 14, ldc: shorter than a row, or above the task limit",
        [SGEMM_ERR_OVERLAP] = "argument 13, C: overlaps A or B",
        [SGEMM_ERR_MODE] = "this engine lacks the binary16 mode",
        [SGEMM_ERR_NULL] = "null pointer, or a limit out of range",
        [SGEMM_ERR_NO_DEVICE] = "no GEMM engine of a known version",
        [SGEMM_ERR_BUSY] = "the engine has tasks of another driver",
        [SGEMM_ERR_TIMEOUT] = "the engine did not finish in time",
        [SGEMM_ERR_BUS] = "the engine reported a bus error",
        [SGEMM_ERR_DEVICE] = "the engine refused a task",
        [SGEMM_ERR_HAL] = "register or memory access failed",
    };
    return (unsigned)status < SGEMM_STATUS_COUNT ? text[status] : "unknown status";
}

int sgemm_argument(sgemm_status status) {
    static const int8_t number[SGEMM_STATUS_COUNT] = {
        [SGEMM_ERR_ORDER] = 1,   [SGEMM_ERR_TRANS_A] = 2, [SGEMM_ERR_TRANS_B] = 3, [SGEMM_ERR_M] = 4,
        [SGEMM_ERR_N] = 5,       [SGEMM_ERR_K] = 6,       [SGEMM_ERR_A] = 8,       [SGEMM_ERR_LDA] = 9,
        [SGEMM_ERR_B] = 10,      [SGEMM_ERR_LDB] = 11,    [SGEMM_ERR_C] = 13,      [SGEMM_ERR_LDC] = 14,
        [SGEMM_ERR_OVERLAP] = 13};
    return (unsigned)status < SGEMM_STATUS_COUNT ? number[status] : 0;
}

int sgemm_blas_argument(sgemm_status status) {
    const int number = sgemm_argument(status);
    return number > 0 ? number - 1 : 0;
}

sgemm_gemm sgemm_row_major(const sgemm_args *x) {
    const bool col = x->order == SGEMM_COL_MAJOR;
    const bool ta = x->trans_a != SGEMM_NO_TRANS, tb = x->trans_b != SGEMM_NO_TRANS;
    const bool a16 = (x->flags & SGEMM_A_F16) != 0, b16 = (x->flags & SGEMM_B_F16) != 0;
    return (sgemm_gemm){.m = (uint32_t)(col ? x->n : x->m),
                        .n = (uint32_t)(col ? x->m : x->n),
                        .k = (uint32_t)x->k,
                        .a = col ? x->b : x->a,
                        .b = col ? x->a : x->b,
                        .c = x->c,
                        .lda = (uint32_t)(col ? x->ldb : x->lda),
                        .ldb = (uint32_t)(col ? x->lda : x->ldb),
                        .ldc = (uint32_t)x->ldc,
                        .alpha = x->alpha,
                        .beta = x->beta,
                        .ta = col ? tb : ta,
                        .tb = col ? ta : tb,
                        .a16 = col ? b16 : a16,
                        .b16 = col ? a16 : b16,
                        .c16 = (x->flags & SGEMM_C_F16) != 0,
                        .half = (x->flags & SGEMM_HALF) != 0};
}

static bool known_trans(int trans) {
    return trans == SGEMM_NO_TRANS || trans == SGEMM_TRANS || trans == SGEMM_CONJ_TRANS;
}

static bool ld_good(int32_t ld, uint32_t row, uint32_t limit) {
    return ld >= 1 && (uint32_t)ld >= row && (uint32_t)ld <= limit;
}

static bool matrix_good(const sgemm_matrix *m) {
    return m->addr != 0 && m->addr % m->size == 0 && m->addr + sgemm_extent(m) <= UINT64_C(1) << 32;
}

/*
 * Do two matrices share a byte? Matrices whose extents overlap are apart when their rows have the same length in bytes
 * and their columns are disjoint modulo that length without wrapping: blocks side by side in one larger matrix.
 */
static bool overlap(const sgemm_matrix *x, const sgemm_matrix *y) {
    if (x->addr >= y->addr + sgemm_extent(y) || y->addr >= x->addr + sgemm_extent(x)) {
        return false;
    }
    const uint64_t row = (uint64_t)x->ld * x->size;
    if (row != (uint64_t)y->ld * y->size) {
        return true;
    }
    const uint64_t x0 = x->addr % row, y0 = y->addr % row;
    const uint64_t x1 = x0 + (uint64_t)x->cols * x->size, y1 = y0 + (uint64_t)y->cols * y->size;
    return x1 > row || y1 > row || (x0 < y1 && y0 < x1);
}

static sgemm_status check_modes(const sgemm_dev *dev, const sgemm_args *x) {
    const bool half_buf = (dev->config & SGEMM_CONFIG_HALF_BUF_MASK) != 0;
    if ((x->flags & ~FLAGS) != 0 || (x->flags != 0 && (dev->config & SGEMM_CONFIG_EN_HALF_MASK) == 0) ||
        (half_buf && (x->flags & SGEMM_HALF) == 0)) {
        return SGEMM_ERR_MODE;
    }
    return SGEMM_OK;
}

static sgemm_status check_shape(const sgemm_dev *dev, const sgemm_args *x) {
    if (x->order != SGEMM_ROW_MAJOR && x->order != SGEMM_COL_MAJOR) {
        return SGEMM_ERR_ORDER;
    }
    if (!known_trans(x->trans_a)) {
        return SGEMM_ERR_TRANS_A;
    }
    if (!known_trans(x->trans_b)) {
        return SGEMM_ERR_TRANS_B;
    }
    if (x->m < 0) {
        return SGEMM_ERR_M;
    }
    if (x->n < 0) {
        return SGEMM_ERR_N;
    }
    if (x->k < 0) {
        return SGEMM_ERR_K;
    }
    const bool col = x->order == SGEMM_COL_MAJOR;
    /* elements of a stored row: of A in row-major order K, transposed or in column-major order M, both: K again */
    const uint32_t row_a = (uint32_t)((x->trans_a != SGEMM_NO_TRANS) != col ? x->m : x->k);
    const uint32_t row_b = (uint32_t)((x->trans_b != SGEMM_NO_TRANS) != col ? x->k : x->n);
    if (!ld_good(x->lda, row_a, dev->limits.ld)) {
        return SGEMM_ERR_LDA;
    }
    if (!ld_good(x->ldb, row_b, dev->limits.ld)) {
        return SGEMM_ERR_LDB;
    }
    return ld_good(x->ldc, (uint32_t)(col ? x->m : x->n), dev->limits.ld) ? SGEMM_OK : SGEMM_ERR_LDC;
}

static sgemm_status check_matrices(const sgemm_dev *dev, const sgemm_args *x) {
    const sgemm_gemm g = sgemm_row_major(x);
    const sgemm_matrix c = sgemm_matrix_c(&g);
    const bool col = x->order == SGEMM_COL_MAJOR;
    if (g.m == 0 || g.n == 0 || (!sgemm_reads_ab(&g) && g.beta == 1.0f)) {
        return SGEMM_OK; /* nothing is touched */
    }
    if (sgemm_reads_ab(&g)) {
        const sgemm_matrix a = sgemm_matrix_a(&g), b = sgemm_matrix_b(&g);
        if (!matrix_good(col ? &b : &a)) {
            return SGEMM_ERR_A;
        }
        if (!matrix_good(col ? &a : &b)) {
            return SGEMM_ERR_B;
        }
        if (!matrix_good(&c)) {
            return SGEMM_ERR_C;
        }
        if (overlap(&c, &a) || overlap(&c, &b)) {
            return SGEMM_ERR_OVERLAP;
        }
    }
    if (!matrix_good(&c)) {
        return SGEMM_ERR_C;
    }
    return g.c16 && sgemm_reads_ab(&g) && g.k > dev->limits.k ? SGEMM_ERR_K : SGEMM_OK;
}

sgemm_status sgemm_check(const sgemm_dev *dev, const sgemm_args *args) {
    if (dev == NULL || args == NULL) {
        return SGEMM_ERR_NULL;
    }
    sgemm_status status = check_shape(dev, args);
    if (status == SGEMM_OK) {
        status = check_modes(dev, args);
    }
    return status == SGEMM_OK ? check_matrices(dev, args) : status;
}
