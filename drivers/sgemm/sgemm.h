/*
 * sgemm.h - driver of the blocked GEMM engine (freestanding C11): C = alpha*op(A)*op(B) + beta*C with the arguments of
 * BLAS (docs/sgemm/driver.md).
 *
 * Matrices are 32-bit byte addresses of the engine's memory. No function allocates. The result has the same bits
 * whichever way it is computed: any block size, any split into tasks, engine or processor (docs/sgemm/sgemm.md,
 * section 2).
 */
#ifndef SGEMM_H
#define SGEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sgemm_hal.h"
#include "sgemm_regs.h"

/* Errors of arguments carry the number of the argument in cblas_sgemm (sgemm_argument()), as xerbla reports it. */
typedef enum sgemm_status {
    SGEMM_OK = 0,
    SGEMM_ERR_ORDER,   /* argument 1: neither row-major nor column-major */
    SGEMM_ERR_TRANS_A, /* 2: no value of CBLAS_TRANSPOSE, or none of N, T, C */
    SGEMM_ERR_TRANS_B, /* 3 */
    SGEMM_ERR_M,       /* 4: negative */
    SGEMM_ERR_N,       /* 5 */
    SGEMM_ERR_K,       /* 6; also: K above the task limit with C in binary16, whose sums cannot cross tasks */
    SGEMM_ERR_A,       /* 8: null, misaligned, or it runs past 2^32 */
    SGEMM_ERR_LDA,     /* 9: shorter than a stored row, or above the task limit */
    SGEMM_ERR_B,       /* 10 */
    SGEMM_ERR_LDB,     /* 11 */
    SGEMM_ERR_C,       /* 13 */
    SGEMM_ERR_LDC,     /* 14 */
    SGEMM_ERR_OVERLAP, /* 13: C overlaps A or B */
    SGEMM_ERR_MODE,    /* this build of the engine lacks the binary16 mode, or does nothing but HALF */
    SGEMM_ERR_NULL,    /* a null pointer for the device or the arguments; a limit out of range */
    SGEMM_ERR_NO_DEVICE,
    SGEMM_ERR_BUSY,    /* the engine has unfinished tasks that this driver did not start */
    SGEMM_ERR_TIMEOUT, /* the engine did not finish in time */
    SGEMM_ERR_BUS,     /* the engine reported a bus error: C is undefined */
    SGEMM_ERR_DEVICE,  /* the engine refused a task */
    SGEMM_ERR_HAL,     /* the HAL reported a fault */
    SGEMM_STATUS_COUNT
} sgemm_status;

/* Text of a status, never NULL. */
const char *sgemm_strerror(sgemm_status status);
/* Number of the argument of cblas_sgemm that a status is about, 0: none. */
int sgemm_argument(sgemm_status status);
/* The same of SGEMM, which has no argument for the order: what xerbla() gets from sgemm_blas(). */
int sgemm_blas_argument(sgemm_status status);

/* The values of CBLAS_ORDER and CBLAS_TRANSPOSE. */
enum { SGEMM_ROW_MAJOR = 101, SGEMM_COL_MAJOR = 102 };
enum { SGEMM_NO_TRANS = 111, SGEMM_TRANS = 112, SGEMM_CONJ_TRANS = 113 };

/* Modes beyond BLAS, bits of `flags`. */
#define SGEMM_A_F16 1u /* A, B, C are stored as binary16 */
#define SGEMM_B_F16 2u
#define SGEMM_C_F16 4u
#define SGEMM_HALF 8u /* alpha*A (column-major: alpha*B) and the other operand are rounded to binary16 */

/* Largest GEMM of a task; larger ones are split. */
typedef struct sgemm_limits {
    uint32_t m, n, k; /* 1 .. 65535 */
    uint32_t ld;      /* 1 .. 2^24 - 1 */
} sgemm_limits;

/* The driver's state of a device; filled by sgemm_init(). */
typedef struct sgemm_dev {
    const sgemm_hal *hal;
    sgemm_limits limits;
    uint32_t min_dim; /* the engine takes GEMMs with M, N and K of at least this; the processor the others */
    uint32_t timeout_us;
    uint32_t config;  /* register CONFIG */
    bool irq;         /* wait for the interrupt instead of polling */
    uint16_t started; /* tasks, modulo 65536 */
    struct {
        uint32_t addr, bytes;
    } out[2]; /* C of the GEMMs that are under way: to be invalidated when they are done */
    uint32_t outs;
    bool cpu; /* the last GEMM was computed by the processor */
} sgemm_dev;

/* A GEMM in the terms of cblas_sgemm. */
typedef struct sgemm_args {
    int order, trans_a, trans_b;
    int32_t m, n, k;
    float alpha;
    uint32_t a;
    int32_t lda;
    uint32_t b;
    int32_t ldb;
    float beta;
    uint32_t c;
    int32_t ldc;
    uint32_t flags;
} sgemm_args;

/* Default of sgemm_dev.min_dim: document 003, section 3.3.1 (measured: docs/sgemm/performance.md). */
#define SGEMM_MIN_DIM 64u

/*
 * Open an idle device. hal and its tables must outlive it. timeout_us (> 0): longest wait for a task. Limits and
 * min_dim get their defaults.
 */
sgemm_status sgemm_init(sgemm_dev *dev, const sgemm_hal *hal, bool irq, uint32_t timeout_us);
/* Smaller limits, for tests of splits. */
sgemm_status sgemm_set_limits(sgemm_dev *dev, const sgemm_limits *limits);

/* Are the arguments legal on this device? */
sgemm_status sgemm_check(const sgemm_dev *dev, const sgemm_args *args);
/*
 * Begin a GEMM. It may read what an earlier one writes: tasks run one after the other. Blocks while two tasks are under
 * way. A small GEMM (sgemm_dev.min_dim) is computed here and now, after the end of all others.
 */
sgemm_status sgemm_submit(sgemm_dev *dev, const sgemm_args *args);
/* Wait until all are done. */
sgemm_status sgemm_wait(sgemm_dev *dev);
/* Both. */
sgemm_status sgemm_run(sgemm_dev *dev, const sgemm_args *args);

/* The argument order of cblas_sgemm. */
sgemm_status sgemm_cblas(sgemm_dev *dev, int order, int trans_a, int trans_b, int32_t m, int32_t n, int32_t k,
                         float alpha, uint32_t a, int32_t lda, uint32_t b, int32_t ldb, float beta, uint32_t c,
                         int32_t ldc);
/* The argument order of SGEMM: column-major, transposes as N, T, C in either case. */
sgemm_status sgemm_blas(sgemm_dev *dev, char trans_a, char trans_b, int32_t m, int32_t n, int32_t k, float alpha,
                        uint32_t a, int32_t lda, uint32_t b, int32_t ldb, float beta, uint32_t c, int32_t ldc);

/* Parameters of the build: a block is dim x dim of C and vec of the sums, computed by r chains. */
typedef struct sgemm_build {
    uint32_t dim, vec, r;
} sgemm_build;
sgemm_build sgemm_build_of(const sgemm_dev *dev);

/* Cycles of a GEMM with M, N, K > 0 and alpha not 0 as one task on an ideal bus (docs/sgemm/performance.md). */
typedef struct sgemm_bound {
    uint64_t sum, passes;         /* sum over the passes of max(P, L_A, L_B); how many they are */
    uint64_t read0, read1, write; /* beats: A and C, B, stored C */
    uint64_t tiles, enters;       /* of C; elements of it that enter the lanes, r rows at a time, in all passes */
    uint64_t bound;               /* the largest of the sum and of the beats */
    uint64_t fill, drain;
} sgemm_bound;
sgemm_bound sgemm_cycles(const sgemm_dev *dev, const sgemm_args *args);

/* Performance counter `number` (register PERF_SEL) of the copy that sgemm_perf_snapshot() took. */
sgemm_status sgemm_perf_snapshot(const sgemm_dev *dev, bool clear);
sgemm_status sgemm_perf_read(const sgemm_dev *dev, uint32_t number, uint64_t *value);

#endif
