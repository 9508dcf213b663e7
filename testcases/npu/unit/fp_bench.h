/*
 * fp_bench.h - shared by the floating-point benches: operands biased towards corner cases, and the clocking of a unit
 * with one register.
 */
#ifndef FP_BENCH_H
#define FP_BENCH_H

#include "bench.h"
#include "fp_vectors.h"

#define FP_BENCH_KNOBS 3u
extern const tb_knob fp_bench_knobs[FP_BENCH_KNOBS];
void fp_bench_constrain(tb_knobs *knobs, uint64_t seed);

/* Draw the operands of one operation; b is 0 for units with one operand. */
typedef void fp_operands_fn(tb_rng *rng, uint32_t *a, uint32_t *b);

/* Zeros, ends of ranges, infinities, NaNs (tb_rng_f32_hard()); of the NaNs some are those next to infinity. */
uint32_t fp_hard(tb_rng *rng);
/* Products near the ends of the range and halfway between two results. */
void fp_operands_mul(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Cancellation, far apart exponents, halfway cases. */
void fp_operands_add(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Integers near powers of two and near rounding boundaries. */
void fp_operand_i32(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Floats between -130 and 130, biased towards halves, and all corner cases; b: CM_QUANT, every second time 0. */
void fp_operand_i8(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Equal, negated, neighbouring and unrelated pairs; zeros of both signs, infinities, NaN. */
void fp_operands_cmp(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Floats around the halves, around 2^23..2^24 and around the ends of int32. */
void fp_operand_f32_i32(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Every pattern of binary16. */
void fp_operand_f16(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Floats around the values of binary16 and the points between two of them, its subnormals and its largest number. */
void fp_operand_f32_f16(tb_rng *rng, uint32_t *a, uint32_t *b);

/* Bits of fp_cmp's y_o. */
enum { FP_LT, FP_LE, FP_EQ };

/* The executor: knob `vectors` operations through ports a_i (b_i where the unit has it) and en_i. */
int fp_bench_run(unit *u, fp_operands_fn *operands);

/*
 * A whole bench: unit, description, a function above that draws operands, form of its vectors (fp_vectors.h), number of
 * operands.
 */
#define FP_BENCH(NAME, ABOUT, DRAW, VECTORS, OPERANDS)                                                                 \
    static int run(unit *u) {                                                                                          \
        return fp_bench_run(u, DRAW);                                                                                  \
    }                                                                                                                  \
    static int vectors(unit *u, FILE *in, const char *where, char *err, size_t err_size) {                             \
        return fp_vectors_run(u, VECTORS, OPERANDS, in, where, err, err_size);                                         \
    }                                                                                                                  \
    UNIT_BENCH(NAME, ABOUT, fp_bench_knobs, .constrain = fp_bench_constrain, .no_reset = true, .vectors = vectors)

#endif
