/* im2col_addr.c - the words of the input that a block in im2col's activation stage reads. */
#include "im2col_state.h"
#include "num.h"

typedef im2col_state state;

/* Pixels of the tile that enters the activation stage, as many at once as vector instructions like. */
__attribute__((noinline, hot)) static void enter_pixels(state *s) {
    const npu_score_shape *t = s->t;
    const uint32_t count = 2 * s->n, first = s->a.tile * count, sw = t->sw, right = t->sw * t->icw;
    uint32_t ow = first % t->ow, y = first / t->ow * t->sh - t->pad_t;
    for (uint32_t i = 0; i < count; y += t->sh, ow = 0) {
        const uint32_t x = ow * sw - t->pad_l, at = s->base + (y * t->iw + x) * t->icw;
        const uint32_t end = tb_min_u32(i + t->ow - ow, count); /* of the row or of the tile */
        for (uint32_t j = 0; j < end - i; j += TOGETHER) {
            for (uint32_t k = 0; k < TOGETHER; k++) {
                s->y[i + j + k] = y;
                s->x[i + j + k] = x + (j + k) * sw;
                s->at[i + j + k] = at + (j + k) * right;
            }
        }
        i = end;
    }
    for (uint32_t i = count; first + i > t->pixels; i--) {
        s->y[i - 1] = UINT32_MAX / 2; /* past the last pixel: outside for any position of the kernel */
    }
}

/* Addresses for a position of the kernel. */
__attribute__((noinline, hot)) static void enter_position(state *s) {
    const npu_score_shape *t = s->t;
    const uint32_t pixels = 2 * s->n, ih = t->ih, iw = t->iw, dy = s->a.ky * t->dh, dx = s->a.kx * t->dw;
    const uint32_t by = (dy * iw + dx) * t->icw + (s->a.ib << t->wide);
    for (uint32_t i = 0; i < pixels; i += TOGETHER) {
        for (uint32_t k = 0; k < TOGETHER; k++) {
            s->mask[i + k] = ((s->y[i + k] + dy < ih) & (s->x[i + k] + dx < iw)) != 0 ? RING - 1 : 0;
            s->addr[i + k] = (uint16_t)(s->at[i + k] + by);
        }
    }
    for (uint32_t i = t->wide ? pixels : 0; i-- > 0;) { /* both words of one pixel, not two pixels */
        s->mask[2 * i] = s->mask[2 * i + 1] = s->mask[i];
        s->addr[2 * i] = s->addr[i];
        s->addr[2 * i + 1] = (uint16_t)(s->addr[2 * i] + 1);
    }
}

/* The next channels at the same position of the kernel: all addresses go on alike. */
static inline void enter_channels(state *s) {
    const uint16_t by = (uint16_t)(1u << s->t->wide);
    for (uint32_t i = 0; i < 2 * s->t->cycles; i += TOGETHER) {
        for (uint32_t k = 0; k < TOGETHER; k++) {
            s->addr[i + k] = (uint16_t)(s->addr[i + k] + by);
        }
    }
}

__attribute__((hot)) void npu_im2col_addresses(im2col_state *s) {
    if (s->t->op == NPU_SCORE_CONV && s->a.block != 0 && s->a.ib != 0) {
        enter_channels(s);
        return;
    }
    if (s->a.block == 0) {
        enter_pixels(s);
    }
    enter_position(s);
}
