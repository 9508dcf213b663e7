/* reduce_ref.c - reductions of the ALU from their definition (docs/npu/npu.md section 2), in the host's own arithmetic.
 */
#include "reduce.h"

#define ACCUMULATORS 32u

uint32_t reduce_reference(const uint32_t *a, const uint32_t *b, size_t count, uint32_t scale) {
    float acc[ACCUMULATORS] = {0};
    for (size_t i = 0; i < count; i++) {
        float v = ref_float(a[i]);
        if (b != NULL) {
            v = v * ref_float(b[i]);
        }
        acc[i % ACCUMULATORS] += v;
    }
    for (uint32_t s = ACCUMULATORS / 2; s > 0; s /= 2) {
        for (uint32_t j = 0; j < s; j++) {
            acc[j] += acc[j + s];
        }
    }
    return ref_bits(acc[0] * ref_float(scale));
}

uint32_t reduce_mean_reference(const uint32_t *a, size_t count) {
    return reduce_reference(a, NULL, count, ref_bits(1.0f / (float)count));
}
