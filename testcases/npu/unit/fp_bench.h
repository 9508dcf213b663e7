/*
 * fp_bench.h - what the floating-point benches share: operands with the corners likely, and the clocking of a unit with one register.
 */
#ifndef FP_BENCH_H
#define FP_BENCH_H

#include "bench.h"

#define FP_BENCH_KNOBS 3u
extern const tb_knob fp_bench_knobs[FP_BENCH_KNOBS];
void fp_bench_constrain(tb_knobs *knobs, uint64_t seed);

/* Expected bits. b is 0 for units with one operand. */
typedef uint32_t fp_model_fn(uint32_t a, uint32_t b);
/* Draw the operands of one operation. */
typedef void fp_operands_fn(tb_rng *rng, uint32_t *a, uint32_t *b);

/* Products near the ends of the range and halfway between two results. */
void fp_operands_mul(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Cancellation, far apart exponents, halfway cases. */
void fp_operands_add(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Integers near powers of two and near rounding boundaries. */
void fp_operand_i32(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Floats between -130 and 130 with the halves likely, and all corners. */
void fp_operand_i8(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Equal, negated, neighbouring and unrelated pairs; zeros of both signs, infinities, NaN. */
void fp_operands_cmp(tb_rng *rng, uint32_t *a, uint32_t *b);
/* Floats around the halves, around 2^23..2^24 and around the ends of int32. */
void fp_operand_f32_i32(tb_rng *rng, uint32_t *a, uint32_t *b);

/* Bits of fp_cmp's y_o. */
enum { FP_LT, FP_LE, FP_EQ };

/*
 * The executor: knob `vectors` operations through ports a_i (b_i where the unit has it), en_i, y_o; the bits of `mask` are compared. y_o must hold while en_i
 * is low.
 */
int fp_bench_run(unit *u, fp_model_fn *model, fp_operands_fn *operands, uint32_t mask);

#endif
