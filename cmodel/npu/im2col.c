/*
 * im2col.c - the 2N row vectors that one block of a tile needs: docs/npu/npu.md sections 3 (geometry) and 4 (tile,
 * streams).
 */
#include "cmodel.h"
#include "cm_num.h"

#include <string.h>

void cm_im2col_block(const cm_gemm_task *t, uint32_t n, const int8_t *ifm, uint32_t tile, uint32_t ky, uint32_t kx,
                     uint32_t icb, int8_t *out) {
    size_t blocks = (size_t)cm_div_up(t->ic, n) << t->wide; /* words of a pixel */
    uint64_t pixels = (uint64_t)t->ow * t->oh;
    uint64_t first = (uint64_t)tile * 2 * n;
    int64_t oy = (int64_t)(first / t->ow);
    int64_t ox = (int64_t)(first % t->ow);

    for (uint32_t j = 0; j < 2 * n; j++) {
        int64_t y = oy * t->sh + (int64_t)ky * t->dh - t->pad_t;
        int64_t x = ox * t->sw + (int64_t)kx * t->dw - t->pad_l;
        bool inside = first + j < pixels && y >= 0 && y < t->ih && x >= 0 && x < t->iw;
        if (inside) {
            memcpy(&out[j * n], &ifm[(((size_t)y * t->iw + (size_t)x) * blocks + icb) * n], n);
        } else {
            memset(&out[j * n], (int)t->zin, n);
        }
        ox++;
        if (ox == t->ow) {
            ox = 0;
            oy++;
        }
    }
}
