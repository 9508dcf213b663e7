/*
 * transpose.c - one block of the transposer: docs/npu/npu.md section 4 and the header comment of its module.
 */
#include "cmodel.h"

void cm_transpose(uint32_t n, const int8_t *in, int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            out[j * n + i] = in[i * n + j];
        }
    }
}
