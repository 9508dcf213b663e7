/*
 * npu_rows.c - softmax, layer norm and RMS norm of rows: a few tasks of the ALU, one after the other. A row is a plane
 * of one row, so that a value of each row can be an operand. Softmax across the rows has a line of values, one for each
 * column, which is the vector operand of all rows.
 */
#include "npu_priv.h"

/* What a step reads and writes, what it takes as vector operand, and when it is there. */
typedef enum place { IN, OUT, STATS, STATS_LINE } place; /* STATS: a value of each row; LINE: all of them in one row */
typedef enum only { ALWAYS, WITH_GAMMA, WITH_BETA, WITHOUT_BETA } only;
typedef enum factor { NOTHING, ONE, MEAN, EPS, GAMMA, BETA } factor;

/* y = func(op(x, p, q)); p is the row's value from STATS unless `p` says something else. */
typedef struct step {
    uint8_t op, from, to, only, func;
    uint8_t p, q;
} step;

static const step softmax[] = {
    {NPU_ALU_RMAX, IN, STATS, ALWAYS, NPU_FUNC_NONE, NOTHING, ONE},
    {NPU_ALU_SUB, IN, OUT, ALWAYS, NPU_FUNC_EXP, NOTHING, NOTHING},
    {NPU_ALU_SUM, OUT, STATS, ALWAYS, NPU_FUNC_RECIP, NOTHING, ONE},
    {NPU_ALU_MUL, OUT, OUT, ALWAYS, NPU_FUNC_NONE, NOTHING, NOTHING},
};
static const step layer_norm[] = {
    {NPU_ALU_SUM, IN, STATS, ALWAYS, NPU_FUNC_NONE, NOTHING, MEAN},
    {NPU_ALU_SUB, IN, OUT, ALWAYS, NPU_FUNC_NONE, NOTHING, NOTHING},
    {NPU_ALU_SUMSQ, OUT, STATS, ALWAYS, NPU_FUNC_NONE, NOTHING, MEAN},
    {NPU_ALU_ADD, STATS_LINE, STATS_LINE, ALWAYS, NPU_FUNC_RSQRT, EPS, NOTHING},
    {NPU_ALU_MUL, OUT, OUT, WITH_GAMMA, NPU_FUNC_NONE, GAMMA, NOTHING},
    {NPU_ALU_MUL, OUT, OUT, WITHOUT_BETA, NPU_FUNC_NONE, NOTHING, NOTHING},
    {NPU_ALU_MULADD, OUT, OUT, WITH_BETA, NPU_FUNC_NONE, NOTHING, BETA},
};
static const step rms_norm[] = {
    {NPU_ALU_SUMSQ, IN, STATS, ALWAYS, NPU_FUNC_NONE, NOTHING, MEAN},
    {NPU_ALU_ADD, STATS_LINE, STATS_LINE, ALWAYS, NPU_FUNC_RSQRT, EPS, NOTHING},
    {NPU_ALU_MUL, IN, OUT, ALWAYS, NPU_FUNC_NONE, NOTHING, NOTHING},
    {NPU_ALU_MUL, OUT, OUT, WITH_GAMMA, NPU_FUNC_NONE, GAMMA, NOTHING},
};
static const struct {
    const step *step;
    uint32_t count;
} steps[NPU_ROWS_KINDS] = {
    [NPU_ROWS_SOFTMAX] = {softmax, sizeof softmax / sizeof softmax[0]},
    [NPU_ROWS_LAYER_NORM] = {layer_norm, sizeof layer_norm / sizeof layer_norm[0]},
    [NPU_ROWS_RMS_NORM] = {rms_norm, sizeof rms_norm / sizeof rms_norm[0]},
};

static bool left_out(const npu_rows *r, const step *s) {
    return (s->only == WITH_GAMMA && r->gamma_addr == 0) || (s->only == WITH_BETA && r->beta_addr == 0) ||
           (s->only == WITHOUT_BETA && r->beta_addr != 0);
}

static void operands(const npu_rows *r, const step *s, npu_alu_state *t) {
    npu_operand p = NPU_SCALAR, q = NPU_SCALAR;
    if (s->p == GAMMA || s->q == BETA) { /* the same for every row */
        t->b_addr = s->p == GAMMA ? r->gamma_addr : r->beta_addr;
    }
    if (s->p == GAMMA) {
        p = NPU_VECTOR;
    } else if (s->p == EPS) {
        t->p = r->eps;
    } else if (NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, s->op)) {
        p = NPU_CHANNEL;
        t->p_addr = r->scratch_addr;
    }
    if (s->q == BETA) {
        q = NPU_VECTOR;
    }
    t->q = s->q == ONE ? NPU_F32_ONE : s->q == MEAN ? npu_reciprocal(r->cols) : 0;
    t->ctrl |= NPU_FIELD(NPU_ALU_CTRL_P_KIND, p) | NPU_FIELD(NPU_ALU_CTRL_Q_KIND, q);
}

static npu_alu_state task_of(const npu_rows *r, const step *s) {
    bool line = s->from == STATS_LINE;
    npu_alu_state t = {.ctrl = NPU_FIELD(NPU_ALU_CTRL_OP, s->op),
                       .act = NPU_ACT_NONE,
                       .func = s->func,
                       .a_addr = line            ? r->scratch_addr
                                 : s->from == IN ? r->in_addr
                                                 : r->out_addr,
                       .a_pstep = line            ? 0
                                  : s->from == IN ? r->in_step
                                                  : r->out_step,
                       .o_addr = {s->to == OUT ? r->out_addr : r->scratch_addr},
                       .o_pstep = line           ? 0
                                  : s->to == OUT ? r->out_step
                                                 : 4,
                       .count = line ? r->rows : r->cols,
                       .rows = 1,
                       .planes = line ? 1 : r->rows,
                       .tasks = 1};
    t.out_count = s->to == STATS ? 1 : t.count;
    operands(r, s, &t);
    return t;
}

/*
 * Softmax across n rows: the largest of each column, n tasks; e^(x - it) of all rows; the sums, n tasks; their
 * reciprocals; the products of all rows with these. The line of values is in scratch.
 */
static bool next_across(npu_rows_state *s, npu_task *task) {
    const npu_rows *r = &s->rows;
    const uint32_t n = r->rows, at = s->at++, i = at <= n ? at : at - n - 1;
    const bool all = at == n || at == 2 * n + 2, sums = at > n;
    const uint32_t from = sums ? r->out_addr : r->in_addr, pitch = sums ? r->out_step : r->in_step;
    npu_alu_state t = {.act = NPU_ACT_NONE,
                       .count = r->cols,
                       .out_count = r->cols,
                       .rows = 1,
                       .planes = 1,
                       .tasks = 1,
                       .a_addr = from,
                       .o_addr = {r->scratch_addr},
                       .b_addr = r->scratch_addr};
    npu_alu_op op = NPU_ALU_COPY;
    if (at > 2 * n + 2) {
        return false;
    }
    if (all) {
        op = at == n ? NPU_ALU_SUB : NPU_ALU_MUL;
        t.func = at == n ? NPU_FUNC_EXP : NPU_FUNC_NONE;
        t.planes = n;
        t.a_pstep = pitch;
        t.o_addr[0] = r->out_addr;
        t.o_pstep = r->out_step;
    } else if (at == 2 * n + 1) {
        t.a_addr = r->scratch_addr;
        t.func = NPU_FUNC_RECIP;
    } else {
        op = i == 0 ? NPU_ALU_COPY : sums ? NPU_ALU_ADD : NPU_ALU_MAX;
        t.a_addr = i == 0 ? from : r->scratch_addr; /* the line so far, with row i as vector operand */
        t.b_addr = from + i * pitch;
    }
    t.ctrl = NPU_FIELD(NPU_ALU_CTRL_OP, op) |
             NPU_FIELD(NPU_ALU_CTRL_P_KIND, NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, op) ? NPU_VECTOR : NPU_SCALAR);
    npu_alu_put(&t, task);
    return true;
}

static bool next_rows(npu_job *job, npu_task *task) {
    npu_rows_state *s = &job->s.rows;
    if (s->rows.kind == NPU_ROWS_SOFTMAX_ACROSS) {
        return next_across(s, task);
    }
    const step *list = steps[s->rows.kind].step;
    while (s->at < steps[s->rows.kind].count && left_out(&s->rows, &list[s->at])) {
        s->at++;
    }
    if (s->at == steps[s->rows.kind].count) {
        return false;
    }
    npu_alu_state t = task_of(&s->rows, &list[s->at]);
    npu_alu_put(&t, task);
    s->at++;
    return true;
}

uint32_t npu_rows_scratch_bytes(const npu_rows *rows) {
    const bool across = rows != NULL && rows->kind == NPU_ROWS_SOFTMAX_ACROSS;
    return rows == NULL ? 0
           : across     ? npu_align(npu_min(rows->cols, NPU_ALU_MAX_COUNT) * 4, 16)
                        : npu_align(npu_min(rows->rows, NPU_MAX_DIM) * 4, 16);
}

static npu_status check(const npu_rows *r) {
    if (r->rows == 0 || r->cols == 0) {
        return NPU_ERR_ZERO_SIZE;
    }
    if (r->rows > NPU_MAX_DIM || r->cols > NPU_ALU_MAX_COUNT) {
        return NPU_ERR_TOO_LARGE;
    }
    if (((r->in_addr | r->in_step | r->out_addr | r->out_step | r->gamma_addr | r->beta_addr) & 3u) != 0 ||
        (r->scratch_addr & 15u) != 0) {
        return NPU_ERR_ALIGN;
    }
    if (r->rows > 1 && (r->in_step < r->cols * 4 || r->out_step < r->cols * 4)) {
        return NPU_ERR_CSTEP;
    }
    const bool norm = r->kind == NPU_ROWS_LAYER_NORM || r->kind == NPU_ROWS_RMS_NORM;
    if ((!norm && r->gamma_addr != 0) ||
        (r->beta_addr != 0 && (r->kind != NPU_ROWS_LAYER_NORM || r->gamma_addr == 0))) {
        return NPU_ERR_LAYOUT;
    }
    return r->scratch_addr == 0 || r->scratch_bytes < npu_rows_scratch_bytes(r) ? NPU_ERR_SCRATCH : NPU_OK;
}

npu_status npu_job_rows(npu_job *job, const npu *dev, const npu_rows *rows) {
    if (rows == NULL || (uint32_t)rows->kind >= NPU_ROWS_KINDS) {
        return NPU_ERR_ARG;
    }
    uint64_t bytes = (uint64_t)rows->cols * 4;
    npu_status status = npu_job_begin(job, dev, NPU_UNIT_ALU, next_rows);
    if (status == NPU_OK) {
        status = check(rows);
    }
    if (status != NPU_OK) {
        return status;
    }
    const struct {
        npu_area area;
        npu_use use;
        bool in_place;
    } areas[] = {
        {{rows->in_addr, rows->in_step, rows->rows, bytes}, NPU_READ, false},
        {{rows->out_addr, rows->out_step, rows->rows, bytes}, NPU_WRITE, true},
        {npu_flat_area(rows->gamma_addr, rows->gamma_addr != 0 ? bytes : 0), NPU_READ, false},
        {npu_flat_area(rows->beta_addr, rows->beta_addr != 0 ? bytes : 0), NPU_READ, false},
        {npu_flat_area(rows->scratch_addr, npu_rows_scratch_bytes(rows)), NPU_SCRATCH, false},
    };
    for (uint32_t i = 0; i < sizeof areas / sizeof areas[0] && status == NPU_OK; i++) {
        status = npu_job_area(job, areas[i].area, areas[i].use, areas[i].in_place);
    }
    job->s.rows = (npu_rows_state){.rows = *rows};
    return status;
}

npu_status npu_rows_run(npu *dev, const npu_rows *rows) {
    npu_job job;
    return npu_job_run(dev, &job, npu_job_rows(&job, dev, rows));
}
