/*
 * net_sac_depth.c - space to depth: a convolution with stride 2 over few channels as one with stride 1 over four times
 * as many of half the size (docs/sac/sac.md, section 4). The sums are the same, in another order.
 *
 *     x'[4c + 2dy + dx][Y][X] = x[c][2Y + dy][2X + dx], 0 beyond the map
 *     w'[4c + 2dy + dx][R][F] = w[c][2R + dy + pt - 2pt'][2F + dx + pl - 2pl'], 0 beyond the kernel
 */
#include <string.h>

#include "net_sac_priv.h"

/* Rows of w' above the output's own one; all of its rows. */
static uint32_t pad_of(uint32_t pad) {
    return (pad + 1) / 2;
}

static uint32_t kernel_of(uint32_t kernel, uint32_t pad) {
    const int32_t last = (int32_t)kernel - 1 - (int32_t)pad; /* of the input, from twice the output's row on */
    return (uint32_t)((last >= 0 ? last / 2 : -1) + 1) + pad_of(pad);
}

bool net_sac_deepen(const sac_dev *dev, net_sac_work *w) {
    sac_task t = w->task;
    if (t.stride != 2 || !w->with_weights || w->groups != 1 || t.kh <= t.pt || t.kw <= t.pl) {
        return false;
    }
    t.c *= 4;
    t.h = (t.h + 1) / 2;
    t.w = (t.w + 1) / 2;
    t.kh = kernel_of(t.kh, t.pt);
    t.kw = kernel_of(t.kw, t.pl);
    t.pt = pad_of(t.pt);
    t.pl = pad_of(t.pl);
    t.stride = 1;
    net_sac_dummy(&t);
    if (sac_check(dev, &t) != SAC_OK || sac_conv_cycles(dev, &t) >= sac_conv_cycles(dev, &w->task)) {
        return false;
    }
    w->wide = w->task;
    w->task = t;
    w->deep = true;
    return true;
}

void net_sac_deep_map(const net_sac_work *w, const int8_t *in, int8_t *out) {
    const sac_task *a = &w->wide, *b = &w->task;
    memset(out, 0, (size_t)b->c * b->h * b->w);
    for (uint32_t c = 0; c < a->c; c++) {
        for (uint32_t y = 0; y < a->h; y++) {
            for (uint32_t x = 0; x < a->w; x++) {
                const size_t channel = 4 * (size_t)c + 2 * (y % 2) + x % 2;
                out[(channel * b->h + y / 2) * b->w + x / 2] = in[((size_t)c * a->h + y) * a->w + x];
            }
        }
    }
}

void net_sac_deep_codes(const net_sac_work *w, const uint8_t *in, uint8_t *out) {
    const sac_task *a = &w->wide, *b = &w->task;
    memset(out, NET_POW2_ZERO, (size_t)b->n * b->c * b->kh * b->kw);
    for (size_t i = 0; i < (size_t)a->n * a->c; i++) { /* filter and channel */
        for (uint32_t r = 0; r < a->kh; r++) {
            for (uint32_t f = 0; f < a->kw; f++) {
                const uint32_t y = r + 2 * b->pt - a->pt, x = f + 2 * b->pl - a->pl;
                const size_t channel = 4 * i + 2 * (y % 2) + x % 2;
                out[(channel * b->kh + y / 2) * b->kw + x / 2] = in[(i * a->kh + r) * a->kw + f];
            }
        }
    }
}
