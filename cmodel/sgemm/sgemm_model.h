/*
 * sgemm_model.h - golden model of the blocked GEMM engine: the arithmetic of docs/sgemm/sgemm.md section 2, and the
 * registers in front of it. Untimed: a task is done when START is written.
 *
 * Nothing here depends on blocks, lanes or configurations: there is one answer.
 */
#ifndef SGEMM_MODEL_H
#define SGEMM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of the model. False: the range is not mapped. */
typedef struct sgm_mem {
    void *ctx;
    bool (*read)(void *ctx, uint64_t addr, void *data, size_t bytes);
    bool (*write)(void *ctx, uint64_t addr, const void *data, size_t bytes);
} sgm_mem;

/* A task: C = alpha*op(A)*op(B) + beta*C. Sizes in elements, addresses in bytes, alpha and beta as bits of binary32. */
typedef struct sgm_task {
    uint32_t a, b, c;       /* addresses of element (0, 0) */
    uint32_t lda, ldb, ldc; /* elements from one stored row to the next */
    uint32_t m, n, k;
    uint32_t alpha, beta;
    bool ta, tb;        /* stored transposed: A is K x M, B is N x K */
    bool a16, b16, c16; /* elements are binary16 */
    bool half;          /* alpha*A and B are rounded to binary16 */
} sgm_task;

typedef struct sgm_device {
    sgm_mem mem;
    uint32_t config; /* value of CONFIG: the build; the only thing that the modes depend on */
    uint32_t task[11];
    uint32_t irq, irq_enable, err, perf_sel;
    uint16_t count;
    uint64_t starts; /* tasks that were started, dropped ones included */
    bool last_ran;   /* the last start was executed */
    bool failed;     /* memory is not mapped, or out of memory */
} sgm_device;

/* alpha or beta is +0 or -0, as a comparison of BLAS has it. */
static inline bool sgm_zero(uint32_t bits) {
    return (bits & 0x7FFFFFFFu) == 0;
}

/* Are A and B read? */
static inline bool sgm_reads_ab(const sgm_task *t) {
    return t->k != 0 && !sgm_zero(t->alpha);
}

/* Execute a legal task. False: memory is not mapped, or out of memory. */
bool sgm_gemm(const sgm_mem *mem, const sgm_task *t);

/* The task that the task registers describe. */
sgm_task sgm_device_task(const sgm_device *d);
/* Would it be started in this build, or dropped with ERR.CONFIG? */
bool sgm_device_legal(const sgm_device *d);
void sgm_device_reset(sgm_device *d);
void sgm_device_write(sgm_device *d, uint32_t reg, uint32_t value);
uint32_t sgm_device_read(const sgm_device *d, uint32_t reg);

#endif
