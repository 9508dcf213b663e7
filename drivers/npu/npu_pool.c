/*
 * npu_pool.c - pooling: strips of columns as POOL tasks. The FP32 global average is a reduction of the ALU (npu_alu.c).
 */
#include "npu_priv.h"

static bool averages(const npu_pool *p) {
    return p->type == NPU_POOL_CTRL_TYPE_AVG;
}

static bool is_fp32_global_average(const npu_pool *p) {
    return p->global && averages(p) && p->in.layout == NPU_FP32_NCHW;
}

static npu_status check_window(const npu_pool *p) {
    if (p->in.w == 0 || p->in.h == 0 ||
        (!p->global && (p->kw == 0 || p->kh == 0 || p->stride_w == 0 || p->stride_h == 0))) {
        return NPU_ERR_ZERO_SIZE;
    }
    if (p->in.w > NPU_MAX_DIM || p->in.h > NPU_MAX_DIM) {
        return NPU_ERR_TOO_LARGE;
    }
    if (p->type >= NPU_POOL_CTRL_TYPE_COUNT ||
        (p->sum && (!averages(p) || p->global || p->in.layout != NPU_FP32_NCHW))) {
        return NPU_ERR_ARG;
    }
    if (p->global) {
        return !is_fp32_global_average(p) && (p->in.w > NPU_MAX_BYTE || p->in.h > NPU_MAX_BYTE) ? NPU_ERR_KERNEL
                                                                                                : NPU_OK;
    }
    if (p->kw > NPU_MAX_BYTE || p->kh > NPU_MAX_BYTE) {
        return NPU_ERR_KERNEL;
    }
    if (p->stride_w > NPU_MAX_BYTE || p->stride_h > NPU_MAX_BYTE) {
        return NPU_ERR_STRIDE;
    }
    return p->pad_l >= p->kw || p->pad_r >= p->kw || p->pad_t >= p->kh || p->pad_b >= p->kh ? NPU_ERR_PADDING : NPU_OK;
}

/* Windows along one dimension; 0: none. */
static uint32_t windows(uint32_t map, uint32_t before, uint32_t after, uint32_t k, uint32_t stride, bool ceil_mode) {
    uint32_t padded = map + before + after;
    if (padded < k) { /* ceil mode adds one window that exceeds the end, if the next one would begin beyond it */
        return ceil_mode && k - padded < stride ? 1 : 0;
    }
    uint32_t count = (padded - k) / stride + 1;
    if (ceil_mode && (padded - k) % stride != 0 && count * stride < map + before) {
        count++;
    }
    return count;
}

npu_status npu_pool_shape(const npu_pool *pool, uint32_t *ow, uint32_t *oh) {
    if (pool == NULL || ow == NULL || oh == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = check_window(pool);
    if (status != NPU_OK) {
        return status;
    }
    if (pool->global) {
        *ow = 1;
        *oh = 1;
        return NPU_OK;
    }
    uint32_t w = windows(pool->in.w, pool->pad_l, pool->pad_r, pool->kw, pool->stride_w, pool->ceil_mode);
    uint32_t h = windows(pool->in.h, pool->pad_t, pool->pad_b, pool->kh, pool->stride_h, pool->ceil_mode);
    if (w == 0 || h == 0) {
        return NPU_ERR_TOO_SMALL;
    }
    if (w > NPU_MAX_DIM || h > NPU_MAX_DIM) {
        return NPU_ERR_TOO_LARGE;
    }
    *ow = w;
    *oh = h;
    return NPU_OK;
}

/* Only windows cut by the edge of the map have other factors than the whole window; one table serves all. */
static bool needs_table(const npu_pool *p, uint32_t ow, uint32_t oh) {
    bool cut = p->pad_l != 0 || p->pad_t != 0 || (ow - 1) * p->stride_w + p->kw > p->in.w + p->pad_l ||
               (oh - 1) * p->stride_h + p->kh > p->in.h + p->pad_t;
    return averages(p) && !p->sum && p->exclude_pad && p->in.layout == NPU_FP32_NCHW && !p->global && cut;
}

npu_status npu_pool_table_bytes(const npu_pool *pool, uint32_t *bytes) {
    uint32_t ow = 0;
    uint32_t oh = 0;
    if (bytes == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_pool_shape(pool, &ow, &oh);
    if (status == NPU_OK) {
        *bytes = needs_table(pool, ow, oh) ? pool->kw * pool->kh * 4 : 0;
    }
    return status;
}

npu_status npu_pool_make_table(const npu_pool *pool, float *dst, size_t dst_bytes) {
    uint32_t bytes = 0;
    if (dst == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_pool_table_bytes(pool, &bytes);
    if (status == NPU_OK && dst_bytes < bytes) {
        status = NPU_ERR_BUF_SIZE;
    }
    for (uint32_t i = 0; status == NPU_OK && i < bytes / 4; i++) {
        dst[i] = npu_float(npu_reciprocal((i / pool->kw + 1) * (i % pool->kw + 1)));
    }
    return status;
}

/* ---- tasks ---- */

static uint32_t address(const npu_tensor *t, uint32_t x) {
    return t->addr + x * (t->layout == NPU_INT8_NHWC ? t->step : 4);
}

static uint32_t row_step(const npu_tensor *t) {
    return t->w * (t->layout == NPU_INT8_NHWC ? t->step : 4);
}

static void output_of(const npu_tensor *t, uint32_t n, uint32_t x0, uint32_t columns, npu_output *o) {
    if (t->layout == NPU_INT8_NHWC) {
        *o = (npu_output){address(t, x0), npu_align(t->c, n), columns, t->step, t->h, row_step(t)};
    } else {
        *o = (npu_output){address(t, x0), columns * 4, t->h, row_step(t), t->c, t->step};
    }
}

static void put_sizes(const npu_pool *p, uint32_t iw, uint32_t ow, uint32_t left, npu_task *task) {
    npu_task_put(task, NPU_REG_POOL_IFM_SIZE,
                 NPU_FIELD(NPU_POOL_IFM_SIZE_IW, iw) | NPU_FIELD(NPU_POOL_IFM_SIZE_IH, p->in.h));
    npu_task_put(task, NPU_REG_POOL_OFM_SIZE,
                 NPU_FIELD(NPU_POOL_OFM_SIZE_OW, ow) | NPU_FIELD(NPU_POOL_OFM_SIZE_OH, p->out.h));
    npu_task_put(task, NPU_REG_POOL_CHANNELS, NPU_FIELD(NPU_POOL_CHANNELS_C, p->in.c));
    npu_task_put(task, NPU_REG_POOL_WINDOW,
                 NPU_FIELD(NPU_POOL_WINDOW_KW, p->kw) | NPU_FIELD(NPU_POOL_WINDOW_KH, p->kh) |
                     NPU_FIELD(NPU_POOL_WINDOW_SW, p->stride_w) | NPU_FIELD(NPU_POOL_WINDOW_SH, p->stride_h));
    npu_task_put(task, NPU_REG_POOL_PAD, NPU_FIELD(NPU_POOL_PAD_LEFT, left) | NPU_FIELD(NPU_POOL_PAD_TOP, p->pad_t));
}

static bool next_pool(npu_job *job, npu_task *task) {
    npu_pool_state *s = &job->s.pool;
    const npu_pool *p = &s->pool;
    bool fp32 = p->in.layout == NPU_FP32_NCHW;
    uint32_t ctrl = NPU_POOL_CTRL_EN_MASK | NPU_FIELD(NPU_POOL_CTRL_TYPE, p->type);
    if (s->x0 >= p->out.w) {
        return false;
    }
    uint32_t ow = npu_min(s->strip, p->out.w - s->x0);
    uint32_t begin = s->x0 * p->stride_w; /* in columns of the padded map */
    uint32_t left = begin < p->pad_l ? p->pad_l - begin : 0;
    uint32_t x = begin + left - p->pad_l;
    uint32_t iw = npu_min((ow - 1) * p->stride_w + p->kw - left, p->in.w - x);
    npu_task_put(task, NPU_REG_POOL_IFM_ADDR, address(&p->in, x));
    npu_task_put(task, NPU_REG_POOL_IFM_CSTEP, p->in.step);
    npu_task_put(task, NPU_REG_POOL_IFM_RSTEP, row_step(&p->in));
    npu_task_put(task, NPU_REG_POOL_OFM_ADDR, address(&p->out, s->x0));
    npu_task_put(task, NPU_REG_POOL_OFM_CSTEP, p->out.step);
    npu_task_put(task, NPU_REG_POOL_OFM_RSTEP, row_step(&p->out));
    put_sizes(p, iw, ow, left, task);
    ctrl |= fp32 ? 0 : NPU_POOL_CTRL_INT8_MASK;
    if (averages(p) && fp32 && p->table_bytes != 0) {
        npu_task_put(task, NPU_REG_POOL_TAB_ADDR, p->table_addr);
        ctrl |= NPU_POOL_CTRL_EXCLUDE_PAD_MASK;
    } else if (averages(p) && fp32) {
        npu_task_put(task, NPU_REG_POOL_RECIP, p->sum ? NPU_F32_ONE : npu_reciprocal(p->kw * p->kh));
    } else if (averages(p) && p->exclude_pad) {
        ctrl |= NPU_POOL_CTRL_EXCLUDE_PAD_MASK;
    }
    npu_task_put(task, NPU_REG_POOL_CTRL, ctrl);
    output_of(&p->out, s->n, s->x0, ow, &task->out);
    s->x0 += ow;
    return true;
}

/* ---- checks ---- */

/* The output that the caller describes. If it is larger than the windows cover, some windows are empty. */
static npu_status check_output(const npu_pool *p, uint32_t ow, uint32_t oh) {
    const npu_tensor *out = &p->out;
    if (p->in.layout != out->layout) {
        return NPU_ERR_LAYOUT;
    }
    if (!p->global && (((uint64_t)out->w - 1) * p->stride_w >= (uint64_t)p->in.w + p->pad_l ||
                       ((uint64_t)out->h - 1) * p->stride_h >= (uint64_t)p->in.h + p->pad_t)) {
        return NPU_ERR_EMPTY_WINDOW;
    }
    return out->w != ow || out->h != oh || out->c != p->in.c ? NPU_ERR_SHAPE : NPU_OK;
}

static npu_status check_pool(const npu_pool *p, const npu *dev, uint32_t *table_bytes) {
    uint32_t ow = 0;
    uint32_t oh = 0;
    npu_status status = npu_tensor_check(&p->in, dev->n);
    if (status == NPU_OK) {
        status = npu_pool_shape(p, &ow, &oh);
    }
    if (status == NPU_OK) {
        status = npu_tensor_check(&p->out, dev->n);
    }
    if (status == NPU_OK) {
        status = check_output(p, ow, oh);
    }
    if (status != NPU_OK) {
        return status;
    }
    *table_bytes = needs_table(p, ow, oh) ? p->kw * p->kh * 4 : 0;
    if (p->table_bytes < *table_bytes) {
        return NPU_ERR_BUF_SIZE;
    }
    return *table_bytes != 0 && p->table_addr % 4 != 0 ? NPU_ERR_ALIGN : NPU_OK;
}

npu_status npu_job_pool(npu_job *job, const npu *dev, const npu_pool *pool) {
    uint32_t table_bytes = 0;
    if (pool == NULL || job == NULL || dev == NULL || !npu_is_mesh_size(dev->n)) {
        return NPU_ERR_ARG;
    }
    npu_status status = check_pool(pool, dev, &table_bytes);
    if (status == NPU_OK && is_fp32_global_average(pool)) {
        return npu_job_global_average(job, dev, &pool->in, pool->out.addr, pool->out.step);
    }
    if (status == NPU_OK) {
        status = npu_job_begin(job, dev, NPU_UNIT_POOL, next_pool);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_tensor_area(&pool->in, dev->n), NPU_READ, false);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_flat_area(pool->table_addr, table_bytes), NPU_READ, false);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_tensor_area(&pool->out, dev->n), NPU_WRITE, false);
    }
    if (status != NPU_OK) {
        return status;
    }
    npu_pool_state *s = &job->s.pool;
    s->pool = *pool;
    s->pool.table_bytes = table_bytes;
    s->n = dev->n;
    s->x0 = 0;
    if (pool->global) {
        s->pool.kw = pool->in.w;
        s->pool.kh = pool->in.h;
        s->pool.stride_w = s->pool.stride_h = 1;
        s->pool.pad_l = s->pool.pad_t = 0;
    }
    s->strip = npu_min(NPU_POOL_RESULTS, (NPU_POOL_COLUMNS - s->pool.kw) / s->pool.stride_w + 1);
    return NPU_OK;
}

npu_status npu_pool_run(npu *dev, const npu_pool *pool) {
    npu_job job;
    return npu_job_run(dev, &job, npu_job_pool(&job, dev, pool));
}
