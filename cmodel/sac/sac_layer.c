/* sac_layer.c - a layer on plain tensors. */
#include "sac_layer.h"

#include <stdlib.h>
#include <string.h>

#include "sac_contract.h"
#include "sac_regs.h"

void sac_layer_map(const cm_layer_task *t, uint32_t *w, uint32_t *h) {
    *w = t->pool ? t->pw : t->ow;
    *h = t->pool ? t->ph : t->oh;
}

void sac_layer_out(const cm_layer_task *t, uint32_t *w, uint32_t *h) {
    sac_layer_map(t, w, h);
    if (t->full != 0) {
        *w = *h = 1;
    }
}

/* Sums of one channel with one weight for all outputs: acc[oy][ox] += term(x, code, d) = x * term(1, code, d). */
static void add_weight(const cm_layer_task *t, const int8_t *x, uint8_t code, unsigned d, uint32_t r, uint32_t f,
                       uint32_t *acc) {
    const int32_t unit = sac_term(1, code, d);
    for (uint32_t oy = 0; oy < t->oh; oy++) {
        const int64_t y = (int64_t)oy * t->stride + r - t->pt;
        if (y < 0 || y >= t->h) {
            continue;
        }
        for (uint32_t ox = 0; ox < t->ow; ox++) {
            const int64_t col = (int64_t)ox * t->stride + f - t->pl;
            if (col >= 0 && col < t->w) {
                acc[oy * t->ow + ox] += (uint32_t)(x[y * t->w + col] * unit);
            }
        }
    }
}

/* Convolution and ReLU of filter n. */
static void conv(const cm_layer_task *t, const sac_operands *o, uint32_t n, uint32_t *acc, int8_t *out) {
    const uint32_t kernel = t->kh * t->kw;
    for (uint32_t i = 0; i < t->oh * t->ow; i++) {
        acc[i] = (uint32_t)o->param[n].bias;
    }
    for (uint32_t c = 0; c < t->c; c++) {
        for (uint32_t i = 0; i < kernel; i++) {
            const uint8_t code = o->codes[((size_t)n * t->c + c) * kernel + i];
            if ((code & 7u) != SAC_CODE_ZERO) {
                add_weight(t, o->in + (size_t)c * t->h * t->w, code, o->d[c], i / t->kw, i % t->kw, acc);
            }
        }
    }
    for (uint32_t i = 0; i < t->oh * t->ow; i++) {
        const int8_t a = sac_shr((int32_t)acc[i], o->param[n].sh);
        out[i] = (int8_t)(t->relu && a < 0 ? 0 : a);
    }
}

/* Maximum over the elements of a window that lie in the map; there is one at least. */
static int8_t window_max(const cm_layer_task *t, const int8_t *map, uint32_t px, uint32_t py) {
    const int64_t x0 = (int64_t)px * t->pool_stride - t->pool_pl, y0 = (int64_t)py * t->pool_stride - t->pool_pt;
    int8_t max = INT8_MIN;
    for (int64_t y = y0; y < y0 + t->win; y++) {
        for (int64_t x = x0; x < x0 + t->win; x++) {
            if (x >= 0 && x < t->ow && y >= 0 && y < t->oh && map[y * t->ow + x] > max) {
                max = map[y * t->ow + x];
            }
        }
    }
    return max;
}

/* Full-size pooling of one channel. */
static int8_t full_pool(const cm_layer_task *t, const int8_t *map, uint32_t pixels, int g) {
    int32_t sum = 0;
    int8_t max = INT8_MIN;
    for (uint32_t i = 0; i < pixels; i++) {
        sum += map[i];
        max = map[i] > max ? map[i] : max;
    }
    return t->full == (SAC_MODE_FULL_MAX) ? max : sac_average(sum, pixels, g);
}

int sac_layer_run(const cm_layer_task *t, const sac_operands *o, int8_t *out) {
    uint32_t w, h;
    sac_layer_map(t, &w, &h);
    const size_t pixels = (size_t)w * h, conv_pixels = (size_t)t->ow * t->oh;
    uint32_t *acc = malloc(conv_pixels * sizeof *acc);
    int8_t *before = malloc(conv_pixels), *map = malloc(pixels);
    const int rc = acc != NULL && before != NULL && map != NULL ? 0 : -1;
    for (uint32_t n = 0; n < t->n && rc == 0; n++) {
        const sac_param *p = &o->param[n];
        conv(t, o, n, acc, before);
        for (uint32_t i = 0; i < pixels; i++) {
            int8_t a = t->pool ? window_max(t, before, i % w, i / w) : before[i];
            if (t->add) {
                a = sac_residual(a, o->res[n * pixels + i], p->la, p->lb, p->r);
            }
            map[i] = (int8_t)(t->post_relu && a < 0 ? 0 : a);
        }
        if (t->full != 0) {
            out[n] = full_pool(t, map, (uint32_t)pixels, p->g);
        } else {
            memcpy(out + n * pixels, map, pixels);
        }
    }
    free(acc);
    free(before);
    free(map);
    return rc;
}
