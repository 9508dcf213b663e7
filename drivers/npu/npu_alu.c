/*
 * npu_alu.c - operators of the ALU: element-wise operations, reductions, upsampling, copies.
 */
#include "npu_priv.h"

static bool uses_p(npu_alu_op op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, op);
}

static bool uses_q(npu_alu_op op) {
    return NPU_HAS(NPU_ALU_CTRL_OP_WITH_Q, op);
}

static void put_operands(const npu_alu_state *s, npu_task *task) {
    npu_task_put(task, NPU_REG_ALU_A_ADDR, s->a_addr);
    npu_task_put(task, NPU_REG_ALU_A_RSTEP, s->a_rstep);
    npu_task_put(task, NPU_REG_ALU_A_PSTEP, s->a_pstep);
    npu_task_put(task, NPU_REG_ALU_B_ADDR, s->b_addr);
    npu_task_put(task, NPU_REG_ALU_B_RSTEP, s->b_rstep);
    npu_task_put(task, NPU_REG_ALU_B_PSTEP, s->b_pstep);
    npu_task_put(task, NPU_REG_ALU_O_ADDR, s->o_addr[s->at]);
    npu_task_put(task, NPU_REG_ALU_O_RSTEP, s->o_rstep);
    npu_task_put(task, NPU_REG_ALU_O_PSTEP, s->o_pstep);
    npu_task_put(task, NPU_REG_ALU_SIZE, NPU_FIELD(NPU_ALU_SIZE_COUNT, s->count));
    npu_task_put(task, NPU_REG_ALU_ROWS,
                 NPU_FIELD(NPU_ALU_ROWS_ROWS, s->rows) | NPU_FIELD(NPU_ALU_ROWS_PLANES, s->planes));
    npu_task_put(task, NPU_REG_ALU_P, s->p);
    npu_task_put(task, NPU_REG_ALU_Q, s->q);
    npu_task_put(task, NPU_REG_ALU_P_ADDR, s->p_addr);
    npu_task_put(task, NPU_REG_ALU_Q_ADDR, s->q_addr);
}

void npu_alu_put(const npu_alu_state *s, npu_task *task) {
    static const uint32_t act_regs[4] = {NPU_REG_ALU_ACT_P0, NPU_REG_ALU_ACT_P1, NPU_REG_ALU_ACT_P2,
                                         NPU_REG_ALU_ACT_P3};
    uint32_t params[4];
    put_operands(s, task);
    uint32_t used = npu_act_params(s->act, s->act_p, params);
    for (uint32_t i = 0; i < used; i++) {
        npu_task_put(task, act_regs[i], params[i]);
    }
    npu_task_put(task, NPU_REG_ALU_ACT, NPU_FIELD(NPU_ALU_ACT_TYPE, s->act) | NPU_FIELD(NPU_ALU_ACT_FUNC, s->func));
    npu_task_put(task, NPU_REG_ALU_CTRL, s->ctrl | NPU_ALU_CTRL_EN_MASK);
    task->out = (npu_output){s->o_addr[s->at], s->out_count * 4, s->rows, s->o_rstep, s->planes, s->o_pstep};
}

static bool next_alu(npu_job *job, npu_task *task) {
    npu_alu_state *s = &job->s.alu;
    if (s->at == s->tasks) {
        return false;
    }
    npu_alu_put(s, task);
    s->at++;
    return true;
}

/* One task that copies `count` elements. */
static void start_state(npu_alu_state *s, npu_alu_op op, uint32_t a, uint32_t out, uint32_t count) {
    *s = (npu_alu_state){.ctrl = NPU_FIELD(NPU_ALU_CTRL_OP, op),
                         .act = NPU_ACT_NONE,
                         .a_addr = a,
                         .o_addr = {out},
                         .count = count,
                         .rows = 1,
                         .planes = 1,
                         .out_count = count,
                         .tasks = 1};
}

static npu_status add_tensors(npu_job *job, const npu *dev, const npu_tensor *in, const npu_tensor *out,
                              bool in_place) {
    npu_status status = npu_job_area(job, npu_tensor_area(in, dev->n), NPU_READ, false);
    return status != NPU_OK ? status : npu_job_area(job, npu_tensor_area(out, dev->n), NPU_WRITE, in_place);
}

/* Two tensors of one layout; `scale` is how much wider and higher the second one is. */
static npu_status check_pair(const npu *dev, const npu_tensor *in, const npu_tensor *out, uint32_t scale) {
    npu_status status = npu_tensor_check(in, dev->n);
    if (status == NPU_OK) {
        status = npu_tensor_check(out, dev->n);
    }
    if (status == NPU_OK && in->layout != out->layout) {
        status = NPU_ERR_LAYOUT;
    }
    if (status == NPU_OK && (in->w * scale != out->w || in->h * scale != out->h || in->c != out->c)) {
        status = NPU_ERR_SHAPE;
    }
    return status;
}

/* ---- element-wise ---- */

/* Channels without gaps? */
static bool is_dense(const npu_tensor *t) {
    return t->c == 1 || t->step == (uint64_t)t->w * t->h * 4;
}

/* One row, if channels have no gaps and no operand is per channel; else a plane for each channel. */
static void shape_planes(npu_alu_state *s, const npu_tensor *t, bool dense) {
    uint64_t pixels = (uint64_t)t->w * t->h;
    if (dense && pixels * t->c <= NPU_ALU_MAX_COUNT) {
        s->count = (uint32_t)pixels * t->c;
    } else if (pixels <= NPU_ALU_MAX_COUNT) {
        s->count = (uint32_t)pixels;
        s->planes = t->c;
    } else {
        s->count = t->w;
        s->rows = t->h;
        s->planes = t->c;
        s->a_rstep = s->b_rstep = s->o_rstep = t->w * 4;
    }
    s->out_count = s->count;
}

static npu_status check_eltwise(const npu *dev, const npu_eltwise *op, bool b_used, bool channels_used) {
    npu_status status = check_pair(dev, &op->a, &op->out, 1);
    if (status == NPU_OK && b_used) {
        status = check_pair(dev, &op->a, &op->b, 1);
    }
    if (status == NPU_OK && op->a.layout != NPU_FP32_NCHW) {
        status = NPU_ERR_LAYOUT;
    }
    if (status == NPU_OK && channels_used && ((op->p_addr | op->q_addr) & 3u) != 0) {
        status = NPU_ERR_ALIGN;
    }
    if (status == NPU_OK) {
        status = npu_act_check(op->act, op->act_p);
    }
    if (status == NPU_OK && op->func != NPU_FUNC_NONE && op->act != NPU_ACT_NONE) {
        status = NPU_ERR_ACT;
    }
    bool changes = op->act != NPU_ACT_NONE || op->func != NPU_FUNC_NONE;
    return status == NPU_OK && op->op == NPU_ALU_ADD_I32 && changes ? NPU_ERR_LAYOUT : status;
}

static npu_status eltwise_areas(npu_job *job, const npu *dev, const npu_eltwise *op, bool b_used) {
    npu_area none = npu_flat_area(0, 0);
    npu_status status = npu_job_area(job, npu_tensor_area(&op->a, dev->n), NPU_READ, false);
    if (status == NPU_OK) {
        status = npu_job_area(job, b_used ? npu_tensor_area(&op->b, dev->n) : none, NPU_READ, false);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_tensor_area(&op->out, dev->n), NPU_WRITE, true);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, op->p_kind == NPU_CHANNEL ? npu_flat_area(op->p_addr, (uint64_t)op->a.c * 4) : none,
                              NPU_READ, false);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, op->q_kind == NPU_CHANNEL ? npu_flat_area(op->q_addr, (uint64_t)op->a.c * 4) : none,
                              NPU_READ, false);
    }
    return status;
}

static void eltwise_state(npu_alu_state *s, const npu_eltwise *op, bool b_used, bool channels_used) {
    start_state(s, op->op, op->a.addr, op->out.addr, 0);
    s->ctrl |= NPU_FIELD(NPU_ALU_CTRL_P_KIND, op->p_kind) | NPU_FIELD(NPU_ALU_CTRL_Q_KIND, op->q_kind);
    s->a_pstep = op->a.step;
    s->o_pstep = op->out.step;
    s->b_addr = b_used ? op->b.addr : 0;
    s->b_pstep = b_used ? op->b.step : 0;
    s->p = op->p;
    s->q = op->q;
    s->p_addr = op->p_kind == NPU_CHANNEL ? op->p_addr : 0;
    s->q_addr = op->q_kind == NPU_CHANNEL ? op->q_addr : 0;
    s->act = op->act;
    s->func = op->func;
    s->act_p[0] = op->act_p[0];
    s->act_p[1] = op->act_p[1];
    shape_planes(s, &op->a, is_dense(&op->a) && is_dense(&op->out) && (!b_used || is_dense(&op->b)) && !channels_used);
}

npu_status npu_job_eltwise(npu_job *job, const npu *dev, const npu_eltwise *given) {
    if (given == NULL || (uint32_t)given->op >= NPU_ALU_OP_COUNT || NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, given->op) ||
        (uint32_t)given->func >= NPU_FUNC_COUNT) {
        return NPU_ERR_ARG;
    }
    npu_eltwise op = *given;
    /* unused operands are ignored */
    op.p_kind = uses_p(op.op) ? op.p_kind : NPU_SCALAR;
    op.q_kind = uses_q(op.op) ? op.q_kind : NPU_SCALAR;
    op.p_addr = op.p_kind == NPU_CHANNEL ? op.p_addr : 0;
    op.q_addr = op.q_kind == NPU_CHANNEL ? op.q_addr : 0;
    if ((uint32_t)op.p_kind > NPU_CHANNEL || (uint32_t)op.q_kind > NPU_CHANNEL) {
        return NPU_ERR_ARG;
    }
    bool b_used = op.p_kind == NPU_VECTOR || op.q_kind == NPU_VECTOR;
    bool channels_used = op.p_kind == NPU_CHANNEL || op.q_kind == NPU_CHANNEL;
    npu_status status = npu_job_begin(job, dev, NPU_UNIT_ALU, next_alu);
    if (status == NPU_OK && op.p_kind == NPU_VECTOR && op.q_kind == NPU_VECTOR) {
        status = NPU_ERR_LAYOUT;
    }
    if (status == NPU_OK) {
        status = check_eltwise(dev, &op, b_used, channels_used);
    }
    if (status == NPU_OK) {
        status = eltwise_areas(job, dev, &op, b_used);
    }
    if (status == NPU_OK) {
        eltwise_state(&job->s.alu, &op, b_used, channels_used);
    }
    return status;
}

npu_status npu_eltwise_run(npu *dev, const npu_eltwise *op) {
    npu_job job;
    return npu_job_run(dev, &job, npu_job_eltwise(&job, dev, op));
}

/* ---- reductions ---- */

npu_status npu_job_dot(npu_job *job, const npu *dev, uint32_t a_addr, uint32_t b_addr, uint32_t len, uint32_t scale,
                       uint32_t out_addr) {
    npu_status status = npu_job_begin(job, dev, NPU_UNIT_ALU, next_alu);
    if (status == NPU_OK && len == 0) {
        status = NPU_ERR_ZERO_SIZE;
    }
    if (status == NPU_OK && len > NPU_ALU_MAX_COUNT) {
        status = NPU_ERR_TOO_LARGE;
    }
    if (status == NPU_OK && ((a_addr | b_addr | out_addr) & 3u) != 0) {
        status = NPU_ERR_ALIGN;
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_flat_area(a_addr, (uint64_t)len * 4), NPU_READ, false);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_flat_area(b_addr, (uint64_t)len * 4), NPU_READ, false);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_flat_area(out_addr, 4), NPU_WRITE, false);
    }
    if (status == NPU_OK) {
        npu_alu_state *s = &job->s.alu;
        start_state(s, NPU_ALU_DOT, a_addr, out_addr, len);
        s->ctrl |= NPU_FIELD(NPU_ALU_CTRL_P_KIND, NPU_VECTOR);
        s->b_addr = b_addr;
        s->q = scale;
        s->out_count = 1;
    }
    return status;
}

npu_status npu_dot_run(npu *dev, uint32_t a_addr, uint32_t b_addr, uint32_t len, uint32_t scale, uint32_t out_addr,
                       uint32_t *result) {
    npu_job job;
    if (result == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_job_run(dev, &job, npu_job_dot(&job, dev, a_addr, b_addr, len, scale, out_addr));
    return status != NPU_OK ? status : npu_reg_read(dev, NPU_REG_ALU_RESULT, result);
}

npu_status npu_job_global_average(npu_job *job, const npu *dev, const npu_tensor *in, uint32_t out_addr,
                                  uint32_t out_step) {
    if (in == NULL) {
        return NPU_ERR_ARG;
    }
    npu_tensor out = {.addr = out_addr, .step = out_step, .w = 1, .h = 1, .c = in->c, .layout = NPU_FP32_NCHW};
    npu_status status = npu_job_begin(job, dev, NPU_UNIT_ALU, next_alu);
    if (status == NPU_OK) {
        status = npu_tensor_check(in, dev->n);
    }
    if (status == NPU_OK && in->layout != NPU_FP32_NCHW) {
        status = NPU_ERR_LAYOUT;
    }
    if (status == NPU_OK && (uint64_t)in->w * in->h > NPU_ALU_MAX_COUNT) {
        status = NPU_ERR_TOO_LARGE;
    }
    if (status == NPU_OK) {
        status = npu_tensor_check(&out, dev->n);
    }
    if (status == NPU_OK) {
        status = add_tensors(job, dev, in, &out, false);
    }
    if (status == NPU_OK) {
        npu_alu_state *s = &job->s.alu;
        start_state(s, NPU_ALU_SUM, in->addr, out_addr, in->w * in->h);
        s->planes = in->c;
        s->a_pstep = in->step;
        s->o_pstep = out_step;
        s->q = npu_reciprocal(in->w * in->h);
        s->out_count = 1;
    }
    return status;
}

npu_status npu_global_average_run(npu *dev, const npu_tensor *in, uint32_t out_addr, uint32_t out_step) {
    npu_job job;
    return npu_job_run(dev, &job, npu_job_global_average(&job, dev, in, out_addr, out_step));
}

/* ---- upsampling and copies ---- */

/* Contiguous rows of `count` elements; each pixel of an NHWC tensor is a row. */
static void pixel_rows(npu_alu_state *s, const npu_tensor *in, uint32_t n) {
    s->count = npu_align(in->c, n) / 4;
    s->out_count = s->count;
    s->rows = in->w;
    s->planes = in->h;
    s->a_rstep = in->step;
    s->a_pstep = in->w * in->step;
}

npu_status npu_job_upsample2x(npu_job *job, const npu *dev, const npu_tensor *in, const npu_tensor *out) {
    if (in == NULL || out == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_job_begin(job, dev, NPU_UNIT_ALU, next_alu);
    if (status == NPU_OK) {
        status = check_pair(dev, in, out, 2);
    }
    if (status == NPU_OK) {
        status = add_tensors(job, dev, in, out, false);
    }
    if (status != NPU_OK) {
        return status;
    }
    npu_alu_state *s = &job->s.alu;
    start_state(s, NPU_ALU_COPY, in->addr, out->addr, in->w);
    if (in->layout == NPU_FP32_NCHW) { /* even rows, odd rows */
        s->ctrl |= NPU_ALU_CTRL_DUP_MASK;
        s->out_count = out->w;
        s->rows = in->h;
        s->planes = in->c;
        s->a_rstep = in->w * 4;
        s->a_pstep = in->step;
        s->o_rstep = out->w * 8;
        s->o_pstep = out->step;
        s->o_addr[1] = out->addr + out->w * 4;
        s->tasks = 2;
        return NPU_OK;
    }
    pixel_rows(s, in, dev->n);
    s->o_rstep = 2 * out->step;
    s->o_pstep = 2 * out->w * out->step;
    for (uint32_t i = 1; i < 4; i++) { /* each pixel is written to four places */
        s->o_addr[i] = out->addr + (i % 2 + i / 2 * out->w) * out->step;
    }
    s->tasks = 4;
    return NPU_OK;
}

npu_status npu_upsample2x_run(npu *dev, const npu_tensor *in, const npu_tensor *out) {
    npu_job job;
    return npu_job_run(dev, &job, npu_job_upsample2x(&job, dev, in, out));
}

npu_status npu_job_copy(npu_job *job, const npu *dev, const npu_tensor *in, const npu_tensor *out) {
    if (in == NULL || out == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_job_begin(job, dev, NPU_UNIT_ALU, next_alu);
    if (status == NPU_OK) {
        status = check_pair(dev, in, out, 1);
    }
    if (status == NPU_OK) {
        status = add_tensors(job, dev, in, out, false);
    }
    if (status != NPU_OK) {
        return status;
    }
    npu_alu_state *s = &job->s.alu;
    start_state(s, NPU_ALU_COPY, in->addr, out->addr, 0);
    s->a_pstep = in->step;
    s->o_pstep = out->step;
    if (in->layout == NPU_FP32_NCHW) {
        shape_planes(s, in, is_dense(in) && is_dense(out));
        return NPU_OK;
    }
    pixel_rows(s, in, dev->n);
    s->o_rstep = out->step;
    s->o_pstep = out->w * out->step;
    uint64_t words = (uint64_t)in->w * in->h * s->count;
    /* pixels without gaps: one row */
    if (in->step == s->count * 4 && out->step == in->step && words <= NPU_ALU_MAX_COUNT) {
        s->count = (uint32_t)words;
        s->out_count = s->count;
        s->rows = 1;
        s->planes = 1;
    }
    return NPU_OK;
}

npu_status npu_copy_run(npu *dev, const npu_tensor *in, const npu_tensor *out) {
    npu_job job;
    return npu_job_run(dev, &job, npu_job_copy(&job, dev, in, out));
}
