/* sac_plan.c - whole layers: scales to shifts (docs/sac/sac.md, section 2), tiles of rows. */
#include "sac_plan.h"

static bool in(int32_t value, int32_t lowest, int32_t highest) {
    return value >= lowest && value <= highest;
}

/* Weights, and the scales of all stages that the layer has. */
static bool scales_given(const sac_layer *l) {
    return l->codes != NULL && l->q_in != NULL && l->q_conv != NULL &&
           (!l->task.add || (l->q_res != NULL && l->q_sum != NULL)) &&
           (l->task.full != SAC_FULL_AVG || l->q_full != NULL);
}

sac_status sac_layer_check(const sac_dev *dev, const sac_layer *l) {
    if (dev == NULL || l == NULL || !scales_given(l) || !in(l->nmin, -128, 127) ||
        (l->act == SAC_ACT_RELU) != l->task.relu || (l->post_act == SAC_ACT_RELU) != l->task.post_relu) {
        return SAC_FAIL_ARG;
    }
    if (l->float_weights) {
        return SAC_FAIL_RECORD;
    }
    if (l->dilation != 1) {
        return SAC_FAIL_DILATION;
    }
    if (l->pooling == SAC_POOL_AVERAGE) {
        return SAC_FAIL_AVERAGE;
    }
    if (l->act == SAC_ACT_OTHER || l->post_act == SAC_ACT_OTHER) {
        return SAC_FAIL_ACTIVATION;
    }
    const uint32_t g = l->groups;
    if (g == 0 || l->task.c % g != 0 || l->task.n % g != 0 ||
        (g > 1 && (l->task.c / g % dev->cv != 0 || l->task.n / g % dev->cv != 0))) {
        return SAC_FAIL_DEPTHWISE;
    }
    return SAC_OK;
}

/* A float as an integer and an exponent: value = m * 2^e, |m| < 2^24. False: no finite number. */
static bool split(float value, int32_t *m, int32_t *e) {
    union {
        float f;
        uint32_t bits;
    } u = {value};
    const uint32_t exponent = u.bits >> 23 & 255u, fraction = u.bits & 0x7FFFFFu;
    const int32_t size = (int32_t)(exponent == 0 ? fraction : fraction | 0x800000u);
    *m = u.bits >> 31 != 0 ? -size : size;
    *e = (int32_t)(exponent == 0 ? 1 : exponent) - 150;
    return exponent != 255;
}

sac_status sac_scale_bias(float value, int32_t exponent, int32_t *result) {
    int32_t m, e;
    if (result == NULL) {
        return SAC_FAIL_ARG;
    }
    *result = 0;
    if (!split(value, &m, &e)) {
        return SAC_FAIL_OVERFLOW;
    }
    const int64_t size = m < 0 ? -(int64_t)m : m;
    const int32_t shift = e + exponent;
    int64_t scaled = 0;
    if (shift >= 0) {
        if (size != 0 && (shift > 31 || size << shift > INT32_MAX)) {
            return SAC_FAIL_OVERFLOW;
        }
        scaled = size == 0 ? 0 : size << shift;
    } else if (shift >= -25) {
        scaled = (size + (INT64_C(1) << (-shift - 1))) >> -shift;
    }
    *result = (int32_t)(m < 0 ? -scaled : scaled);
    return SAC_OK;
}

sac_status sac_layer_scales(const sac_layer *l, uint32_t group, uint8_t *d, sac_filter *filter) {
    if (l == NULL || d == NULL || filter == NULL || !scales_given(l) || group >= l->groups) {
        return SAC_FAIL_ARG;
    }
    const uint32_t c = l->task.c / l->groups, n = l->task.n / l->groups, kernel = l->task.kh * l->task.kw;
    const int8_t *q_in = l->q_in + (size_t)group * c;
    int32_t most = q_in[0];
    for (uint32_t i = 0; i < c; i++) {
        most = q_in[i] > most ? q_in[i] : most;
    }
    for (uint32_t i = 0; i < c; i++) {
        if (most - q_in[i] > 7) {
            return SAC_FAIL_SHIFT;
        }
        d[i] = (uint8_t)(most - q_in[i]);
    }
    const int32_t e = most - l->nmin;
    for (uint32_t i = 0; i < n; i++) {
        const size_t at = (size_t)group * n + i;
        sac_filter *f = &filter[i];
        *f = (sac_filter){.sh = e - l->q_conv[at]};
        int32_t q = l->q_conv[at];
        sac_status status = l->bias != NULL ? sac_scale_bias(l->bias[at], e, &f->bias) : SAC_OK;
        if (status != SAC_OK) {
            return status;
        }
        if (l->task.add) { /* both operands at the finer of the two scales */
            const int32_t fine = l->q_res[at] > q ? l->q_res[at] : q;
            f->la = fine - q;
            f->lb = fine - l->q_res[at];
            q = l->q_sum[at];
            f->r = fine - q;
        }
        f->g = l->task.full == SAC_FULL_AVG ? l->q_full[at] - q : 0;
        if (!in(f->sh, -8, 31) || !in(f->la, 0, 7) || !in(f->lb, 0, 7) || !in(f->r, -8, 15) || !in(f->g, -7, 7)) {
            return SAC_FAIL_SHIFT;
        }
        status = sac_check_sums(c, kernel, l->codes + at * c * kernel, d, f->bias);
        if (status != SAC_OK) {
            return status;
        }
    }
    return SAC_OK;
}

/* First row of the map before a stage, and rows of it, that rows first .. first + count - 1 behind the stage need. */
typedef struct rows {
    int32_t first, count;
} rows;

static rows before(rows out, uint32_t window, uint32_t stride, uint32_t pad) {
    return (rows){out.first * (int32_t)stride - (int32_t)pad, (out.count - 1) * (int32_t)stride + (int32_t)window};
}

/* The part of them that lies in the map. */
static rows cut(rows r, uint32_t size) {
    const int32_t end = r.first + r.count, top = r.first > 0 ? r.first : 0;
    const int32_t first = top < (int32_t)size ? top : (int32_t)size - 1;
    const int32_t last = end < (int32_t)size ? end : (int32_t)size;
    return (rows){first, last > first ? last - first : 1};
}

sac_status sac_layer_tile(const sac_dev *dev, const sac_task *t, uint32_t count, uint32_t tile, sac_task *out) {
    if (dev == NULL || t == NULL || out == NULL || count == 0) {
        return SAC_FAIL_ARG;
    }
    const uint32_t all = t->pool ? t->ph : t->oh, from = tile < all ? tile * (count < all ? count : all) : all;
    if (from >= all) {
        return SAC_FAIL_ARG;
    }
    if (t->full != SAC_FULL_NONE) {
        return SAC_FAIL_FULL;
    }
    const rows written = {(int32_t)from, (int32_t)(all - from < count ? all - from : count)};
    const rows window = t->pool ? before(written, t->win, t->pool_stride, t->pool_pt) : written;
    const rows conv = t->pool ? cut(window, t->oh) : written;
    const rows need = before(conv, t->kh, t->stride, t->pt), read = cut(need, t->h);
    /* a tile whose rows all lie in the padding still reads one row of the map: below it there is no such padding */
    const int32_t pad = read.first - need.first;
    if (pad < 0 || pad > 7) {
        return SAC_FAIL_KERNEL;
    }
    const uint32_t in_row = sac_tensor_bytes(dev, 1, 1, t->w),
                   out_row = sac_tensor_bytes(dev, 1, 1, t->pool ? t->pw : t->ow);
    *out = *t;
    out->from_cache = out->to_cache = false;
    out->to_memory = true;
    out->in_step = t->in_step != 0 ? t->in_step : t->h * in_row;
    out->out_step = t->out_step != 0 ? t->out_step : all * out_row;
    out->in = t->in + (uint32_t)read.first * in_row;
    out->out = t->out + from * out_row;
    out->res = t->res + from * out_row;
    out->h = (uint32_t)read.count;
    out->pt = (uint32_t)pad;
    out->oh = (uint32_t)conv.count;
    if (t->pool) {
        out->ph = (uint32_t)written.count;
        out->pool_pt = (uint32_t)(conv.first - window.first);
    }
    return SAC_OK;
}

sac_status sac_layer_rows(const sac_dev *dev, const sac_task *t, uint32_t *count) {
    if (dev == NULL || t == NULL || count == NULL) {
        return SAC_FAIL_ARG;
    }
    const uint32_t all = t->pool ? t->ph : t->oh, groups = (t->c + dev->cv - 1) / dev->cv;
    const uint32_t row = groups * ((t->w + dev->wv - 1) / dev->wv);
    for (uint32_t n = all; n > 0; n--) {
        const rows window = t->pool ? before((rows){0, (int32_t)n}, t->win, t->pool_stride, 0) : (rows){0, (int32_t)n};
        const rows need = before(window, t->kh, t->stride, 0);
        if ((uint64_t)(need.count < (int32_t)t->h ? (uint32_t)need.count : t->h) * row <= dev->cache_pages) {
            *count = n;
            return SAC_OK;
        }
    }
    return SAC_FAIL_CACHE_SIZE;
}
