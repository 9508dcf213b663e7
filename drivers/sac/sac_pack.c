/* sac_pack.c - the device's formats: features, filter stream, PARAM (docs/sac/sac.md, sections 2 and 7). */
#include "sac.h"

#define VOID_CODE 7u /* weight 0, and what stands for absent weights */

static bool in(int32_t value, int32_t lowest, int32_t highest) {
    return value >= lowest && value <= highest;
}

static uint32_t up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

static uint32_t page_bytes(const sac_dev *dev) {
    return up(dev->wv * dev->cv, 16) * 16;
}

uint32_t sac_tensor_bytes(const sac_dev *dev, uint32_t c, uint32_t h, uint32_t w) {
    return up(c, dev->cv) * h * up(w, dev->wv) * page_bytes(dev);
}

/* Words of a filter: equation 25; with kernel width 1 a word serves three channel groups. */
static uint32_t filter_words(const sac_dev *dev, uint32_t c, uint32_t kh, uint32_t kw) {
    return up(c, kw == 1 ? 3 * dev->cv : dev->cv) * kh * up(kw, 3);
}

static uint32_t batch_bytes(const sac_dev *dev, uint32_t c, uint32_t kh, uint32_t kw) {
    return up(filter_words(dev, c, kh, kw) * dev->nv * dev->cv * 3 / 2, 16) * 16;
}

uint32_t sac_filter_bytes(const sac_dev *dev, uint32_t n, uint32_t c, uint32_t kh, uint32_t kw) {
    return up(n, dev->nv) * batch_bytes(dev, c, kh, kw);
}

uint32_t sac_param_bytes(const sac_dev *dev, uint32_t n) {
    return up(n, dev->nv) * dev->nv * 16;
}

/* Offset of an element in the pages of a tensor. */
static size_t offset(const sac_dev *dev, uint32_t h, uint32_t w, uint32_t c, uint32_t y, uint32_t x) {
    const size_t page = ((size_t)(c / dev->cv) * h + y) * up(w, dev->wv) + x / dev->wv;
    return page * page_bytes(dev) + x % dev->wv * dev->cv + c % dev->cv;
}

void sac_pack_tensor(const sac_dev *dev, uint32_t c, uint32_t h, uint32_t w, const int8_t *data, uint8_t *pages) {
    const uint32_t bytes = sac_tensor_bytes(dev, c, h, w);
    for (uint32_t i = 0; i < bytes; i++) {
        pages[i] = 0;
    }
    for (uint32_t i = 0; i < c * h * w; i++) {
        pages[offset(dev, h, w, i / w / h, i / w % h, i % w)] = (uint8_t)data[i];
    }
}

void sac_unpack_tensor(const sac_dev *dev, uint32_t c, uint32_t h, uint32_t w, const uint8_t *pages, int8_t *data) {
    for (uint32_t i = 0; i < c * h * w; i++) {
        data[i] = (int8_t)pages[offset(dev, h, w, i / w / h, i / w % h, i % w)];
    }
}

sac_status sac_pack_filters(const sac_dev *dev, uint32_t n, uint32_t c, uint32_t kh, uint32_t kw, const uint8_t *codes,
                            uint8_t *stream) {
    if (dev == NULL || codes == NULL || stream == NULL) {
        return SAC_FAIL_ARG;
    }
    if (!in((int32_t)n, 1, 4096) || !in((int32_t)c, 1, 4096)) {
        return SAC_FAIL_MAP;
    }
    if (!in((int32_t)kh, 1, 11) || !in((int32_t)kw, 1, 11)) {
        return SAC_FAIL_KERNEL;
    }
    const uint32_t bytes = sac_filter_bytes(dev, n, c, kh, kw), words = filter_words(dev, c, kh, kw), cv = dev->cv;
    const uint32_t batch = batch_bytes(dev, c, kh, kw);
    for (uint32_t i = 0; i < bytes; i++) {
        stream[i] = VOID_CODE * 0x11u;
    }
    for (uint32_t i = 0; i < n * c * kh * kw; i++) {
        const uint32_t f = i % kw, r = i / kw % kh, ch = i / kw / kh % c, filter = i / kw / kh / c, group = ch / cv;
        const uint32_t tap = kw == 1 ? group % 3 : f % 3;
        const uint32_t word = kw == 1 ? group / 3 * kh + r : (group * kh + r) * up(kw, 3) + f / 3;
        const size_t nibble = ((size_t)(filter % dev->nv) * words + word) * 3 * cv + tap * cv + ch % cv;
        uint8_t *at = &stream[(size_t)(filter / dev->nv) * batch + nibble / 2];
        if (codes[i] >= 15) {
            return SAC_FAIL_CODE;
        }
        *at = (uint8_t)(nibble % 2 == 0 ? (*at & 0xF0u) | codes[i] : (*at & 0x0Fu) | (unsigned)codes[i] << 4);
    }
    return SAC_OK;
}

sac_status sac_pack_params(const sac_dev *dev, uint32_t n, const sac_filter *filter, uint8_t *params) {
    if (dev == NULL || filter == NULL || params == NULL) {
        return SAC_FAIL_ARG;
    }
    if (!in((int32_t)n, 1, 4096)) {
        return SAC_FAIL_MAP;
    }
    const uint32_t bytes = sac_param_bytes(dev, n);
    for (uint32_t i = 0; i < bytes; i++) {
        params[i] = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        const sac_filter *f = &filter[i];
        uint8_t *p = params + 16 * (size_t)i;
        if (!in(f->sh, -8, 31) || !in(f->la, 0, 7) || !in(f->lb, 0, 7) || !in(f->r, -8, 15) || !in(f->g, -7, 7)) {
            return SAC_FAIL_SHIFT;
        }
        for (unsigned b = 0; b < 4; b++) {
            p[b] = (uint8_t)((uint32_t)f->bias >> (8 * b));
        }
        p[4] = (uint8_t)f->sh;
        p[5] = (uint8_t)f->la;
        p[6] = (uint8_t)f->lb;
        p[7] = (uint8_t)f->r;
        p[8] = (uint8_t)f->g;
    }
    return SAC_OK;
}

sac_status sac_check_sums(uint32_t c, uint32_t kernel, const uint8_t *codes, const uint8_t *d, int32_t bias) {
    if (codes == NULL || d == NULL) {
        return SAC_FAIL_ARG;
    }
    uint64_t sum = (uint64_t)(bias < 0 ? -(int64_t)bias : bias);
    for (uint32_t i = 0; i < c; i++) {
        if (d[i] > 7) {
            return SAC_FAIL_SHIFT;
        }
        for (uint32_t t = 0; t < kernel; t++) {
            const uint32_t k = codes[(size_t)i * kernel + t] & 7u;
            sum += k == VOID_CODE ? 0 : UINT64_C(128) << (k + d[i]);
        }
    }
    return sum < UINT64_C(1) << 31 ? SAC_OK : SAC_FAIL_OVERFLOW;
}
