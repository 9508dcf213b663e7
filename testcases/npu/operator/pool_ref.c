/*
 * pool_ref.c - pooling straight from the definition (docs/npu/npu.md section 2), in the host's own arithmetic. It
 * shares nothing with driver, model and RTL.
 */
#include "pool.h"

#include "reduce.h"

uint32_t pool_windows(uint32_t map, uint32_t before, uint32_t after, uint32_t k, uint32_t stride, bool ceil_mode) {
    uint32_t count = 0;
    /* windows inside the padded map; with ceil_mode also the next one, unless it begins in the right padding */
    for (uint32_t begin = 0; begin + k <= map + before + after; begin += stride) {
        count++;
    }
    const uint32_t next = count * stride;
    const uint32_t end = count == 0 ? 0 : next - stride + k; /* of the last one */
    if (ceil_mode && end < map + before + after && next < map + before &&
        (count > 0 || k - (map + before + after) < stride)) {
        count++;
    }
    return count;
}

/* The part of a window that lies inside the map. */
typedef struct window {
    uint32_t y0, y1, x0, x1;
} window;

static window window_of(const npu_pool *p, uint32_t oy, uint32_t ox) {
    if (p->global) {
        return (window){0, p->in.h, 0, p->in.w};
    }
    const int64_t y = (int64_t)oy * p->stride_h - p->pad_t;
    const int64_t x = (int64_t)ox * p->stride_w - p->pad_l;
    window w = {.y0 = y < 0 ? 0 : (uint32_t)y, .x0 = x < 0 ? 0 : (uint32_t)x};
    w.y1 = y + p->kh > p->in.h ? p->in.h : (uint32_t)(y + p->kh);
    w.x1 = x + p->kw > p->in.w ? p->in.w : (uint32_t)(x + p->kw);
    return w;
}

static uint32_t max_fp32(const tensor *in, uint32_t c, window w) {
    uint32_t m = in->v[tensor_index(in, c, w.y0, w.x0)];
    for (uint32_t y = w.y0; y < w.y1; y++) {
        for (uint32_t x = w.x0; x < w.x1; x++) {
            const uint32_t v = in->v[tensor_index(in, c, y, x)];
            m = ref_float(v) > ref_float(m) ? v : m;
        }
    }
    return m;
}

static uint32_t max_int8(const tensor *in, uint32_t c, window w) {
    int32_t m = INT32_MIN;
    for (uint32_t y = w.y0; y < w.y1; y++) {
        for (uint32_t x = w.x0; x < w.x1; x++) {
            const int32_t v = (int32_t)in->v[tensor_index(in, c, y, x)];
            m = v > m ? v : m;
        }
    }
    return (uint32_t)m;
}

static uint32_t average_fp32(const tensor *in, uint32_t c, window w, uint32_t count) {
    float s = 0.0f;
    const float factor = 1.0f / (float)count;
    for (uint32_t y = w.y0; y < w.y1; y++) {
        for (uint32_t x = w.x0; x < w.x1; x++) {
            s = s + ref_float(in->v[tensor_index(in, c, y, x)]);
        }
    }
    return ref_bits(s * factor);
}

static uint32_t average_int8(const tensor *in, uint32_t c, window w, uint32_t count) {
    int64_t s = 0;
    for (uint32_t y = w.y0; y < w.y1; y++) {
        for (uint32_t x = w.x0; x < w.x1; x++) {
            s += (int32_t)in->v[tensor_index(in, c, y, x)];
        }
    }
    const int64_t size = s < 0 ? -s : s;
    int64_t q = size / count;
    q += 2 * (size % count) >= count ? 1 : 0; /* halves away from zero */
    q = q > 127 ? 127 : q;
    return (uint32_t)(s < 0 ? -q : q);
}

static uint32_t element(const npu_pool *p, const tensor *in, uint32_t c, uint32_t oy, uint32_t ox) {
    const bool int8 = p->in.layout == NPU_INT8_NHWC;
    const window w = window_of(p, oy, ox);
    if (p->type == NPU_POOL_CTRL_TYPE_MAX) {
        return int8 ? max_int8(in, c, w) : max_fp32(in, c, w);
    }
    if (p->global && !int8) { /* a reduction of the ALU */
        return reduce_mean_reference(in->v + tensor_index(in, c, 0, 0), (size_t)p->in.w * p->in.h);
    }
    const uint32_t inside = (w.y1 - w.y0) * (w.x1 - w.x0);
    const uint32_t count = p->exclude_pad || p->global ? inside : p->kw * p->kh;
    return int8 ? average_int8(in, c, w, count) : average_fp32(in, c, w, count);
}

void pool_reference(const npu_pool *p, const tensor *in, tensor *out) {
    size_t i = 0;
    for (uint32_t c = 0; c < out->at.c; c++) {
        for (uint32_t oy = 0; oy < out->at.h; oy++) {
            for (uint32_t ox = 0; ox < out->at.w; ox++) {
                out->v[i++] = element(p, in, c, oy, ox);
            }
        }
    }
}
