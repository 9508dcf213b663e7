/*
 * layout.c - FP32 pixels of N channels become INT8 words of N channels: docs/npu/npu.md sections 2 (quantiser) and 4
 * (layout).
 */
#include "cm_fp_lanes.h"
#include "cmodel.h"

void cm_layout(uint32_t n, uint32_t channels, uint32_t count, uint32_t in_scale, uint32_t quant, const uint32_t *in,
               int8_t *out) {
    int8_t row[64]; /* of a channel */
    for (uint32_t c = 0; c < n; c++) {
        uint32_t i = 0;
        for (; quant == 0 && c < channels && i + CM_FP_LANES <= count; i += CM_FP_LANES) {
            cm_fp_lanes v;
            memcpy(&v, &in[c * count + i], sizeof v);
            const cm_fp_ints q = cm_fp_f32_to_i8_lanes(cm_fp_mul_lanes(v, cm_fp_all(in_scale)));
            for (uint32_t k = 0; k < CM_FP_LANES; k++) {
                row[i + k] = (int8_t)q[k];
            }
        }
        for (; i < count; i++) {
            row[i] = c < channels ? cm_fp_quantise(cm_fp_mul(in[c * count + i], in_scale), quant) : 0;
        }
        for (i = 0; i < count; i++) {
            out[i * n + c] = row[i];
        }
    }
}

void cm_layout_wide(uint32_t n, uint32_t channels, uint32_t count, uint32_t in_scale, const uint32_t *in, int8_t *out) {
    for (uint32_t c = 0; c < n; c++) {
        for (uint32_t i = 0; i < count; i++) {
            const int16_t q = c < channels ? cm_fp_f32_to_i16(cm_fp_mul(in[c * count + i], in_scale)) : 0;
            out[2 * i * n + c] = (int8_t)(q & 0xFF);
            out[(2 * i + 1) * n + c] = (int8_t)(q >> 8);
        }
    }
}
