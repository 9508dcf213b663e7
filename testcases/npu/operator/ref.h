/*
 * ref.h - values straight from the definition (docs/npu/npu.md section 2), in the host's own arithmetic. It shares no
 * code with driver, model and RTL, so it finds errors that they have in common.
 */
#ifndef TESTCASES_GEMM_REF_H
#define TESTCASES_GEMM_REF_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "npu.h"

static inline float ref_float(uint32_t bits) {
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

/* NaN becomes 0x7FC00000, as for all NaNs from arithmetic. */
static inline uint32_t ref_bits(float value) {
    uint32_t u;
    memcpy(&u, &value, 4);
    return isnan(value) ? 0x7FC00000u : u;
}

/* int8(x * scale). */
int8_t ref_quantise(uint32_t x, uint32_t scale);
/* The same with a zero-point, rounding and range (GEMM_QUANT); quant->out_zero is not used. */
int8_t ref_quantise_to(uint32_t x, uint32_t scale, int8_t zero, const npu_quant *quant);

/* Expected value of an activation: one bit pattern or, where the function is fitted, anything near its true value. */
typedef struct ref_value {
    bool exact;
    uint32_t bits;
    double lo, hi; /* not exact */
} ref_value;

/*
 * act(y) with the parameters of the driver's interface. Fitted functions: within the errors of docs/npu/activations.md.
 * ELU: act_p[0] finite.
 */
ref_value ref_act(npu_act act, const uint32_t act_p[2], uint32_t y);
ref_value ref_func(npu_func func, uint32_t y);
bool ref_is_f32(const ref_value *value, uint32_t got);
/* int8(value * scale) behind quant->out_zero. */
bool ref_is_i8(const ref_value *value, uint32_t scale, const npu_quant *quant, int8_t got);
/* For messages: the bits, or the centre of the range. */
double ref_middle(const ref_value *value);

#endif
