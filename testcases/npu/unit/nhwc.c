/* nhwc.c - write jobs of INT8 NHWC blocks, from docs/npu/npu.md sections 3.1 and 4 and the contract of module requant. */
#include "nhwc.h"

#include <string.h>

static void add_job(nhwc_block *out, uint32_t addr, uint32_t bytes, uint32_t pixel, const int8_t *src) {
    out->job[out->jobs++] = (nhwc_job){addr, bytes};
    for (uint32_t at = 0; at < bytes; at += 16) {
        nhwc_beat *beat = &out->beat[out->beats++];
        beat->bytes = bytes - at < 16 ? bytes - at : 16;
        beat->pixel = pixel;
        memcpy(beat->data, src + at, beat->bytes);
    }
}

void nhwc_plan(uint32_t n, uint32_t chan, uint32_t addr, uint32_t pitch, uint32_t npix, const int8_t *value, nhwc_block *out) {
    out->jobs = out->beats = 0;
    for (uint32_t k = 0; k < n / 4; k++) {
        const uint32_t first = 8 * k + 4 * chan;
        const uint32_t left = npix > first ? npix - first : 0;
        const uint32_t count = left < 4 ? left : 4;
        if (pitch == n && count > 0) { /* neighbouring pixels are neighbours in memory */
            add_job(out, addr + 8 * k * pitch, count * n, first, value + (size_t)first * n);
            continue;
        }
        for (uint32_t i = 0; i < count; i++) {
            add_job(out, addr + (8 * k + i) * pitch, n, first + i, value + (size_t)(first + i) * n);
        }
    }
}
