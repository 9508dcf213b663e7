/* op_pool.c - pooling: maximum or average over windows, over the whole map, or over windows that adapt to an output
 * size. */
#include <float.h>

#include "op.h"

#define FULL 0u       /* pad_mode: the last window may extend beyond the end */
#define VALID 1u      /* it may not */
#define SAME_UPPER 2u /* the extra padding at the end */
#define SAME_LOWER 3u

/* One dimension: settings and what follows from them. */
typedef struct pool_side {
    uint32_t kernel, stride, first, last, out;
} pool_side;

static net_status side_settings(net_plan *p, bool rows, pool_side *s) {
    int32_t left = net_layer_int(p->layer, 3, 0);
    const int32_t kernel_w = net_layer_int(p->layer, 1, 0);
    const int32_t stride_w = net_layer_int(p->layer, 2, 1);
    net_status status;
    if (rows) {
        int32_t top = net_layer_int(p->layer, 13, left);
        status = net_plan_number(p, 11, kernel_w, 1, 65535, "kernel height", &s->kernel);
        status = status == NET_OK ? net_plan_number(p, 12, stride_w, 1, 65535, "stride of rows", &s->stride) : status;
        status = status == NET_OK ? net_plan_number(p, 13, left, 0, 65535, "padding at the top", &s->first) : status;
        return status == NET_OK ? net_plan_number(p, 15, top, 0, 65535, "padding at the bottom", &s->last) : status;
    }
    status = net_plan_number(p, 1, 0, 1, 65535, "kernel width", &s->kernel);
    status = status == NET_OK ? net_plan_number(p, 2, 1, 1, 65535, "stride", &s->stride) : status;
    status = status == NET_OK ? net_plan_number(p, 3, 0, 0, 65535, "padding on the left", &s->first) : status;
    return status == NET_OK ? net_plan_number(p, 14, left, 0, 65535, "padding on the right", &s->last) : status;
}

/* Padding by mode and the number of outputs over `size` elements. */
static net_status side_outputs(net_plan *p, uint32_t mode, uint32_t size, pool_side *s) {
    if (mode == SAME_UPPER || mode == SAME_LOWER) {
        uint64_t covered = (uint64_t)((size - 1) / s->stride) * s->stride + s->kernel;
        uint32_t pad = covered > size ? (uint32_t)(covered - size) : 0;
        s->first = mode == SAME_UPPER ? pad / 2 : pad - pad / 2;
        s->last = pad - s->first;
    }
    uint64_t full = (uint64_t)size + s->first + s->last;
    if (full < s->kernel) {
        return NET_BAD(p, "a window of %u on %llu padded elements", s->kernel, (unsigned long long)full);
    }
    uint64_t steps = full - s->kernel;
    if (mode == FULL && steps % s->stride != 0) {
        s->last += s->stride - (uint32_t)(steps % s->stride);
        steps += s->stride - steps % s->stride;
    }
    s->out = (uint32_t)(steps / s->stride + 1);
    if (s->first >= s->kernel || (uint64_t)(s->out - 1) * s->stride >= (uint64_t)size + s->first) {
        return NET_CANNOT(p, "%s", "a window that covers nothing but padding");
    }
    return NET_OK;
}

static net_status adaptive_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    int32_t w = net_layer_int(p->layer, 8, 0);
    int32_t h = net_layer_int(p->layer, 18, w);
    w = w == NET_ABSENT ? (int32_t)in->w : w;
    h = h == NET_ABSENT ? (int32_t)in->h : h;
    if (w < 1 || h < 1) {
        return NET_BAD(p, "an output of %dx%d (keys 8, 18)", h, w);
    }
    return net_plan_out(p, 0, (net_shape){3, (uint32_t)w, (uint32_t)h, in->c, 1});
}

static net_status pool_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    net_pool *pool = &p->layer->pool;
    bool global = net_layer_int(p->layer, 4, 0) != 0;
    uint32_t type;
    uint32_t mode;
    pool_side x = {0};
    pool_side y = {0};
    if (in->dims != 3) {
        return NET_CANNOT(p, "an input with %u dimensions", in->dims);
    }
    net_status status = net_plan_number(p, 0, 0, 0, 1, "type of pooling", &type);
    if (status != NET_OK) {
        return status;
    }
    *pool = (net_pool){.max = type == 0, .adaptive = global || net_layer_int(p->layer, 7, 0) != 0};
    if (global) {
        return net_plan_out(p, 0, (net_shape){1, in->c, 1, 1, 1});
    }
    if (pool->adaptive) {
        return adaptive_shape(p);
    }
    status = net_plan_number(p, 5, 0, FULL, SAME_LOWER, "padding mode", &mode);
    status = status == NET_OK ? side_settings(p, false, &x) : status;
    status = status == NET_OK ? side_settings(p, true, &y) : status;
    status = status == NET_OK ? side_outputs(p, mode, in->w, &x) : status;
    status = status == NET_OK ? side_outputs(p, mode, in->h, &y) : status;
    pool->count_padding = net_layer_int(p->layer, 6, 0) != 0;
    pool->kernel_w = x.kernel;
    pool->stride_w = x.stride;
    pool->pad_l = x.first;
    pool->pad_r = x.last;
    pool->kernel_h = y.kernel;
    pool->stride_h = y.stride;
    pool->pad_t = y.first;
    pool->pad_b = y.last;
    return status == NET_OK ? net_plan_out(p, 0, (net_shape){3, x.out, y.out, in->c, 1}) : status;
}

/* Rows y0..y1-1 and columns x0..x1-1 of a map; the average divides by `count`. */
static float window(const float *map, uint32_t width, bool max, uint32_t y0, uint32_t y1, uint32_t x0, uint32_t x1,
                    float count) {
    float best = -FLT_MAX;
    float sum = 0.0f;
    for (uint32_t y = y0; y < y1; y++) {
        for (uint32_t x = x0; x < x1; x++) {
            float v = map[(size_t)y * width + x];
            best = v > best ? v : best;
            sum += v;
        }
    }
    return max ? best : sum / count;
}

/* The part first..last-1 of window o that lies inside 0..size-1. */
static void clip_window(uint32_t size, uint32_t kernel, uint32_t stride, uint32_t pad, uint32_t o, uint32_t *first,
                        uint32_t *last) {
    uint64_t start = (uint64_t)o * stride;
    uint64_t end = start + kernel - pad; /* pad < kernel */
    *first = start < pad ? 0 : (uint32_t)(start - pad);
    *last = end < size ? (uint32_t)end : size;
}

static void adaptive_window(uint32_t size, uint32_t out, uint32_t o, uint32_t *first, uint32_t *last) {
    *first = (uint32_t)((uint64_t)size * o / out);
    *last = (uint32_t)(((uint64_t)size * (o + 1) + out - 1) / out);
}

static float one_window(const net_pool *pool, const net_shape *is, const float *map, uint32_t y0, uint32_t y1,
                        uint32_t x0, uint32_t x1) {
    uint64_t inside = (uint64_t)(y1 - y0) * (x1 - x0);
    uint64_t count = pool->count_padding ? (uint64_t)pool->kernel_w * pool->kernel_h : inside;
    return window(map, is->w, pool->max, y0, y1, x0, x1, (float)count);
}

/* One element of each of n windows, `stride` apart, into their results. */
static inline void add_element(const float *v, uint32_t stride, bool max, float *out, uint32_t n) {
    if (max) {
        for (uint32_t i = 0; i < n; i++) {
            out[i] = v[(size_t)i * stride] > out[i] ? v[(size_t)i * stride] : out[i];
        }
    } else {
        for (uint32_t i = 0; i < n; i++) {
            out[i] += v[(size_t)i * stride];
        }
    }
}

/* Windows of a row that have all their columns: n of them, the first at `map`. The elements of each are taken in the
 * order of window(), so the bits are the same; one element of all windows at a time is what a compiler vectorises. */
static void whole_windows(const net_pool *pool, const float *map, uint32_t width, uint32_t y0, uint32_t y1, float *out,
                          uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = pool->max ? -FLT_MAX : 0.0f;
    }
    for (uint32_t y = y0; y < y1; y++) {
        for (uint32_t x = 0; x < pool->kernel_w; x++) {
            const float *v = map + (size_t)y * width + x;
            if (pool->stride_w == 1) { /* constants, for the compiler */
                add_element(v, 1, pool->max, out, n);
            } else if (pool->stride_w == 2) {
                add_element(v, 2, pool->max, out, n);
            } else {
                add_element(v, pool->stride_w, pool->max, out, n);
            }
        }
    }
    const uint32_t rows = pool->count_padding ? pool->kernel_h : y1 - y0;
    for (uint32_t i = 0; !pool->max && i < n; i++) {
        out[i] /= (float)((uint64_t)rows * pool->kernel_w);
    }
}

static void pool_map(const net_pool *pool, const net_shape *is, const net_shape *os, const float *map, float *out) {
    uint32_t first = (pool->pad_l + pool->stride_w - 1) / pool->stride_w; /* window with all its columns, */
    uint32_t end = first;                                                 /* behind the last one */
    while (end < os->w && (uint64_t)end * pool->stride_w + pool->kernel_w <= (uint64_t)is->w + pool->pad_l) {
        end++;
    }
    for (uint32_t oy = 0; oy < os->h; oy++, out += os->w) {
        uint32_t y0, y1, x0, x1;
        clip_window(is->h, pool->kernel_h, pool->stride_h, pool->pad_t, oy, &y0, &y1);
        for (uint32_t ox = 0; ox < os->w; ox++) {
            if (ox == first && end > first) {
                whole_windows(pool, map + (size_t)ox * pool->stride_w - pool->pad_l, is->w, y0, y1, out + ox, end - ox);
                ox = end - 1;
                continue;
            }
            clip_window(is->w, pool->kernel_w, pool->stride_w, pool->pad_l, ox, &x0, &x1);
            out[ox] = one_window(pool, is, map, y0, y1, x0, x1);
        }
    }
}

static void adaptive_map(const net_shape *is, const net_shape *os, bool max, const float *map, float *out) {
    for (uint32_t oy = 0; oy < os->h; oy++) {
        for (uint32_t ox = 0; ox < os->w; ox++) {
            uint32_t y0, y1, x0, x1;
            adaptive_window(is->h, os->h, oy, &y0, &y1);
            adaptive_window(is->w, os->w, ox, &x0, &x1);
            *out++ = window(map, is->w, max, y0, y1, x0, x1, (float)((uint64_t)(y1 - y0) * (x1 - x0)));
        }
    }
}

static void pool_run(const net_work *work) {
    const net_shape *is = net_work_in(work, 0);
    net_shape os = *net_work_out(work, 0);
    if (os.dims == 1) { /* global: one window for each channel */
        os = (net_shape){3, 1, 1, os.w, 1};
    }
    const net_pool *pool = &work->layer->pool;
    for (uint32_t c = 0; c < os.c; c++) {
        const float *map = work->in[0] + (size_t)c * is->w * is->h;
        float *out = work->out[0] + (size_t)c * os.w * os.h;
        if (pool->adaptive) {
            adaptive_map(is, &os, pool->max, map, out);
        } else {
            pool_map(pool, is, &os, map, out);
        }
    }
}

const net_op net_ops_pool[] = {
    {"Pooling", 1, 1, 1, 1, NULL, pool_shape, pool_run, NULL, false},
    {0},
};
