/*
 * rows_ref.c - softmax and normalisations of rows from their definition (docs/npu/driver.md, Rows), in the host's own
 * arithmetic; the functions within their bound (docs/npu/npu.md section 2).
 */
#include "rows.h"

#include "reduce.h"

#include <math.h>
#include <stdlib.h>

#define CANONICAL_NAN 0x7FC00000u

/* ---- softmax: an interval for each element ---- */

/* `cols` elements, every `step`-th; each sum has `sums` roundings. */
static void softmax_row(const uint32_t *x, size_t cols, size_t step, double sums, uint32_t *bits, uint32_t *out) {
    float most = -INFINITY;
    double sum = 0.0;
    for (size_t i = 0; i < cols * step; i += step) { /* NaN is passed over */
        most = ref_float(x[i]) > most ? ref_float(x[i]) : most;
    }
    for (size_t i = 0; i < cols * step; i += step) {
        const float above = ref_float(x[i]) - most;
        sum += exp((double)above);
    }
    /* 3/4 of a unit for e^v and for the reciprocal, half a one for each sum on the way of a value and for the product,
     * twice over; and of the smallest subnormal */
    const double share = (sums + 16.0) * 0x1p-23;
    for (size_t i = 0; i < cols * step; i += step) {
        const float above = ref_float(x[i]) - most;
        const double y = exp((double)above) / sum;
        const double slack = y * share + 0x1p-148;
        out[i] = isnan(y) ? CANONICAL_NAN : ref_bits((float)y);
        bits[ROWS_ROOTS * i] = isnan(y) ? CANONICAL_NAN : ref_bits((float)fmax(0.0, y - slack));
        bits[ROWS_ROOTS * i + 1] = isnan(y) ? CANONICAL_NAN : ref_bits((float)(y + slack));
    }
}

/* ---- normalisations: a few roots, all else bit for bit ---- */

/* The FP32 values within the bound of 1/sqrt(v), ROWS_ROOTS at most. */
static uint32_t roots_of(uint32_t v, uint32_t roots[ROWS_ROOTS]) {
    const ref_value value = ref_func(NPU_FUNC_RSQRT, v);
    uint32_t count = 0;
    if (value.exact) {
        roots[0] = value.bits;
        return 1;
    }
    float root = (float)value.lo;
    root = (double)root < value.lo ? nextafterf(root, INFINITY) : root;
    for (; (double)root <= value.hi && count < ROWS_ROOTS; root = nextafterf(root, INFINITY)) {
        roots[count++] = ref_bits(root);
    }
    return count;
}

/* One element behind the root. gamma comes first in layer norm, where it is multiplied before the root. */
static uint32_t scaled(const npu_rows *r, float x, float root, const uint32_t *gamma, const uint32_t *beta, size_t i) {
    float y = 0.0f; /* a variable: each step is rounded */
    if (r->kind == NPU_ROWS_RMS_NORM) {
        y = x * root;
        return ref_bits(gamma != NULL ? y * ref_float(gamma[i]) : y);
    }
    y = gamma != NULL ? x * ref_float(gamma[i]) : x;
    y = y * root;
    return ref_bits(beta != NULL ? y + ref_float(beta[i]) : y);
}

static int norm_row(const npu_rows *r, const uint32_t *gamma, const uint32_t *beta, const uint32_t *x, uint32_t *bits,
                    uint32_t *out) {
    const uint32_t share = ref_bits(1.0f / (float)r->cols);
    uint32_t *v = malloc((size_t)r->cols * 4);
    uint32_t roots[ROWS_ROOTS];
    if (v == NULL) {
        return -1;
    }
    const float mean = r->kind == NPU_ROWS_LAYER_NORM ? ref_float(reduce_reference(x, NULL, r->cols, share)) : 0.0f;
    for (size_t i = 0; i < r->cols; i++) {
        v[i] = r->kind == NPU_ROWS_LAYER_NORM ? ref_bits(ref_float(x[i]) - mean) : x[i];
    }
    const float squares = ref_float(reduce_reference(v, v, r->cols, share));
    const uint32_t count = roots_of(ref_bits(squares + ref_float(r->eps)), roots);
    for (size_t i = 0; i < r->cols; i++) {
        for (uint32_t k = 0; k < ROWS_ROOTS; k++) {
            bits[ROWS_ROOTS * i + k] = scaled(r, ref_float(v[i]), ref_float(roots[k < count ? k : 0]), gamma, beta, i);
        }
        out[i] = bits[ROWS_ROOTS * i];
    }
    free(v);
    return 0;
}

int rows_expect(const npu_rows *rows, const uint32_t *gamma, const uint32_t *beta, const uint32_t *x,
                rows_values *values, uint32_t *out) {
    rows_free(values);
    const bool across = rows->kind == NPU_ROWS_SOFTMAX_ACROSS;
    values->softmax = rows->kind == NPU_ROWS_SOFTMAX || across;
    values->bits = calloc((size_t)rows->rows * rows->cols, ROWS_ROOTS * sizeof *values->bits);
    if (values->bits == NULL) {
        return -1;
    }
    for (uint32_t c = 0; across && c < rows->cols; c++) {
        softmax_row(x + c, rows->rows, rows->cols, (double)rows->rows, values->bits + ROWS_ROOTS * (size_t)c, out + c);
    }
    for (uint32_t r = 0; !across && r < rows->rows; r++) {
        const size_t at = (size_t)r * rows->cols;
        uint32_t *bits = values->bits + ROWS_ROOTS * at;
        if (values->softmax) {
            softmax_row(x + at, rows->cols, 1, (double)rows->cols / 32.0, bits, out + at);
        } else if (norm_row(rows, gamma, beta, x + at, bits, out + at) != 0) {
            return -1;
        }
    }
    return 0;
}

bool rows_match(const void *ctx, size_t i, uint32_t want, uint32_t got) {
    const rows_values *v = ctx;
    const uint32_t *bits = v->bits + ROWS_ROOTS * i;
    (void)want;
    if (!v->softmax || bits[0] == CANONICAL_NAN) {
        return got == bits[0] || (!v->softmax && (got == bits[1] || got == bits[2]));
    }
    return ref_float(got) >= ref_float(bits[0]) && ref_float(got) <= ref_float(bits[1]);
}

void rows_free(rows_values *values) {
    free(values->bits);
    values->bits = NULL;
}
