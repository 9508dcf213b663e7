/*
 * gemm.h - random GEMMs: the knobs of a case, its matrices in memory, and their contents.
 */
#ifndef GEMM_H
#define GEMM_H

#include "sgemm.h"
#include "sgemm_device.h"

#define GEMM_MAX 8u        /* GEMMs of a case */
#define GEMM_DIM_MAX 65535 /* of M, N and K */

#define GEMM_KNOBS 27u
extern const tb_knob gemm_knobs[GEMM_KNOBS];
extern const char *const gemm_bus_names[6];

/* Redraw the knobs whose range depends on others and on the build. */
void gemm_constrain(tb_knobs *knobs, uint64_t seed);
/* Modes that the build lacks are refused. */
int gemm_check(const tb_test *test, const tb_knobs *knobs, char *err, size_t err_size);
/* Cost of a case, for the shrinker. */
tb_shrink_size gemm_size(const tb_test *test, const tb_knobs *knobs);

/* One GEMM of a case. */
typedef struct gemm {
    sgemm_args x;
    uint64_t stream; /* of its data */
    int data;        /* knob `data` */
    bool fed;        /* A is the C of the GEMM before */
} gemm;

/* GEMM number i of a case. *prev: the one before it, or NULL. */
gemm gemm_make(uint64_t seed, const tb_knobs *knobs, uint32_t i, const gemm *prev);
/* Fill its matrices on both sides; C only where it is read. Bytes between rows stay unwritten. */
void gemm_fill(sgemm_device *dev, const gemm *g);
/* Limits of a task that split it as the knob `split` says, as far as its modes allow. */
sgemm_limits gemm_limits(const tb_knobs *knobs, const gemm *g);
/* A value of the distribution `data`, as bits of binary32. */
uint32_t gemm_value(tb_rng *rng, int data);

/* The knob `mode` allows what this build of the engine has. */
bool gemm_mode_legal(int64_t half);

#endif
