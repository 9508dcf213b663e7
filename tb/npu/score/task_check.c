/*
 * task_check.c - gemm_check, alu_check and pool_check: whether a task is legal, and the cycle of the verdict.
 */
#include "task_bits.h"

#include <inttypes.h>
#include <stdio.h>

#include "npu_regs.h"

#define PORTS clr_i, start_i, task_i, busy_o, done_o, ok_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    tb_sig mode; /* mode: settings that are not in the task, GEMM PAD_MODE or POOL TYPE */
    npu_score_kind kind;
    bool running, legal;
    uint32_t left; /* cycles until the verdict */
    npu_score_task now;
    bool has_before; /* GEMM: a task passed since the last clear */
    cm_gemm_task before;
} state;

static int open_kind(tb_check *c, npu_score_kind kind, const char *mode, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->kind = kind;
    c->clock.ptr = NULL; /* part of npu_regs, which has no gated clock */
    return mode != NULL ? tb_check_sig(c, mode, 2, &s->mode, err, err_size) : 0;
}

static int open_gemm(tb_check *c, char *err, size_t err_size) {
    return open_kind(c, NPU_SCORE_GEMM, "pad_mode_i", err, err_size);
}

static int open_alu(tb_check *c, char *err, size_t err_size) {
    return open_kind(c, NPU_SCORE_ALU, NULL, err, err_size);
}

static int open_pool(tb_check *c, char *err, size_t err_size) {
    return open_kind(c, NPU_SCORE_POOL, "type_i", err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->running = s->has_before = false;
}

static void begin(tb_check *c, state *s) {
    uint32_t regs[NPU_SCORE_REGS];
    npu_score_task decoded;
    npu_score_task_get(s->kind, s->task_i, &s->now);
    npu_score_task_regs(s->kind, &s->now, regs);
    if (s->kind == NPU_SCORE_GEMM) {
        regs[NPU_REG_GEMM_CTRL / 4] |= (uint32_t)tb_get(s->mode) << NPU_GEMM_CTRL_PAD_MODE_LSB;
    } else if (s->kind == NPU_SCORE_POOL) {
        regs[NPU_REG_POOL_CTRL / 4] &= ~NPU_POOL_CTRL_TYPE_MASK;
        regs[NPU_REG_POOL_CTRL / 4] |= (uint32_t)tb_get(s->mode) << NPU_POOL_CTRL_TYPE_LSB;
    }
    s->legal = npu_score_task_decode(s->kind, npu_score_n(c), regs, &decoded);
    s->left = s->kind == NPU_SCORE_ALU ? 1 : 3;
    if (s->kind == NPU_SCORE_GEMM) {
        s->legal = s->legal && (!s->now.gemm.wide || npu_score_int16(c)) &&
                   cm_gemm_follows(s->has_before ? &s->before : NULL, &s->now.gemm);
        s->left = s->now.gemm.wgt_res ? 14 : 7;
    }
    s->running = true;
    c->task++;
}

/* Modes and sizes that are not 0, as many as fit; addresses and parameters are less helpful. */
static void describe(const state *s, char *text, size_t size) {
    const npu_task_fields *all = &npu_task_tables[s->kind];
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < all->count; i++) {
        const npu_task_field *f = &all->f[i];
        const uint32_t value = npu_task_value(f, &s->now);
        char part[40];
        const int length = snprintf(part, sizeof part, "%s%s %" PRIu32, at > 0 ? ", " : "", f->name, value);
        if (f->bits < 32 && value != 0 && at + (size_t)length < size) {
            memcpy(text + at, part, (size_t)length + 1);
            at += (size_t)length;
        }
    }
}

static void verdict(tb_check *c, state *s) {
    const bool ok = tb_get(s->ok_o) != 0;
    if (ok != s->legal) {
        char where[96];
        describe(s, where, sizeof where);
        tb_check_fail(c, "verdict", c->task, where, ok ? "legal" : "not legal", s->legal ? "legal" : "not legal");
    }
    s->running = false;
    if (s->kind == NPU_SCORE_GEMM && s->legal) {
        s->before = s->now.gemm;
        s->has_before = true;
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    tb_check_value(c, "busy", c->task, tb_get(s->busy_o), s->running);
    const bool done = s->running && --s->left == 0;
    if (tb_check_value(c, "done", c->task, tb_get(s->done_o), done) && done) {
        verdict(c, s);
    }
    if (tb_get(s->clr_i) != 0) {
        clear(c);
    } else if (tb_get(s->start_i) != 0) {
        begin(c, s);
    }
    c->again = s->running;
}

const tb_check_ops npu_score_gemm_check = {.unit = "gemm_check",
                                           TB_STATE(state, PORTS),
                                           .wake = "clr_i, start_i, busy_o, done_o",
                                           .open = open_gemm,
                                           .clear = clear,
                                           .cycle = cycle};
const tb_check_ops npu_score_alu_check = {.unit = "alu_check",
                                          TB_STATE(state, PORTS),
                                          .wake = "clr_i, start_i, busy_o, done_o",
                                          .open = open_alu,
                                          .clear = clear,
                                          .cycle = cycle};
const tb_check_ops npu_score_pool_check = {.unit = "pool_check",
                                           TB_STATE(state, PORTS),
                                           .wake = "clr_i, start_i, busy_o, done_o",
                                           .open = open_pool,
                                           .clear = clear,
                                           .cycle = cycle};
