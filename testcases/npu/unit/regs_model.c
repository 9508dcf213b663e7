/* regs_model.c - npu_regs as its header describes it. */
#include "regs_bench.h"

#include <string.h>

#include "npu_regs.h"

#define SRST_CYCLES 4u /* shortest soft reset */

static const uint32_t ctrl_reg[REGS_UNITS] = {NPU_REG_GEMM_CTRL, NPU_REG_ALU_CTRL, NPU_REG_POOL_CTRL};
static const uint32_t en_mask[REGS_UNITS] = {NPU_GEMM_CTRL_EN_MASK, NPU_ALU_CTRL_EN_MASK, NPU_POOL_CTRL_EN_MASK};
static const uint32_t irq_bit[REGS_UNITS] = {NPU_IRQ_STATUS_GEMM_MASK, NPU_IRQ_STATUS_ALU_MASK, NPU_IRQ_STATUS_POOL_MASK};
static const uint32_t busy_mask[REGS_UNITS] = {NPU_STATUS_GEMM_BUSY_MASK, NPU_STATUS_ALU_BUSY_MASK, NPU_STATUS_POOL_BUSY_MASK};
static const uint32_t ready_mask[REGS_UNITS] = {NPU_STATUS_GEMM_READY_MASK, NPU_STATUS_ALU_READY_MASK, NPU_STATUS_POOL_READY_MASK};

/* No task runs in the model of the registers. */
static bool no_memory_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    (void)ctx, (void)addr, (void)dst, (void)bytes;
    return false;
}

static bool no_memory_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    (void)ctx, (void)addr, (void)src, (void)bytes;
    return false;
}

int regs_model_init(regs_model *m, bool alu, bool pool) {
    const cm_mem mem = {NULL, no_memory_read, no_memory_write};
    memset(m, 0, sizeof *m);
    m->slot[REGS_GEMM].present = true;
    m->slot[REGS_ALU].present = alu;
    m->slot[REGS_POOL].present = pool;
    m->regs = cm_device_new(NPU_CFG_N, &mem);
    if (!m->regs) {
        return -1;
    }
    cm_device_set_units(m->regs, alu, pool);
    return 0;
}

static uint32_t status(const regs_model *m) {
    uint32_t value = 0;
    if (m->resetting) {
        return NPU_STATUS_RESETTING_MASK;
    }
    for (uint32_t i = 0; i < REGS_UNITS; i++) {
        const regs_slot *s = &m->slot[i];
        value |= (s->pending || s->inflight > 0 ? busy_mask[i] : 0u) | (s->pending ? 0u : ready_mask[i]);
    }
    return value;
}

static uint64_t number(const regs_model *m, uint32_t sel) {
    if (sel < REGS_COUNTERS) {
        return m->counter_copy[sel];
    }
    return sel >= REGS_FIRST_MARK && sel < REGS_FIRST_MARK + REGS_MARKS ? m->mark_copy[sel - REGS_FIRST_MARK] : 0;
}

uint32_t regs_model_read(const regs_model *m, uint32_t offset) {
    const uint32_t lines = m->irq_status & m->irq_enable;
    const uint64_t copy = number(m, cm_device_read(m->regs, NPU_REG_PERF_SEL));
    switch (offset) {
    case NPU_REG_STATUS:
        return status(m);
    case NPU_REG_IRQ_STATUS:
        return m->irq_status;
    case NPU_REG_IRQ_ID:
        return (lines & 1u) ? 1 : (lines & 2u) ? 2 : (lines & 4u) ? 3 : 0;
    case NPU_REG_ERR:
        return m->err;
    case NPU_REG_GEMM_COUNT:
        return m->slot[REGS_GEMM].count & 0xffffu;
    case NPU_REG_ALU_COUNT:
        return m->slot[REGS_ALU].count & 0xffffu;
    case NPU_REG_POOL_COUNT:
        return m->slot[REGS_POOL].count & 0xffffu;
    case NPU_REG_ALU_RESULT:
        return m->result;
    case NPU_REG_PERF_LO:
        return (uint32_t)copy;
    case NPU_REG_PERF_HI:
        return (uint32_t)(copy >> 32) & 0xffffu;
    default:
        return cm_device_read(m->regs, offset);
    }
}

bool regs_model_valid(const regs_model *m, uint32_t unit_index) {
    const regs_slot *s = &m->slot[unit_index];
    return s->pending && s->check_left == 0;
}

/* Decode the registers into the task that is expected on the port. check: cycles from the start's effect to its *_valid_o. */
static bool decode(regs_model *m, uint32_t unit_index, uint32_t *check) {
    uint32_t regs[128];
    bool good = false;
    for (uint32_t i = 0; i < 128; i++) {
        regs[i] = cm_device_read(m->regs, 4 * i);
    }
    switch (unit_index) {
    case REGS_GEMM:
        *check = (regs[NPU_REG_GEMM_CTRL / 4] & NPU_GEMM_CTRL_WGT_RES_MASK) != 0 ? 17 : 10;
        good = cm_gemm_decode(NPU_CFG_N, regs, &m->gemm) && cm_gemm_follows(m->has_before ? &m->before : NULL, &m->gemm);
        if (good) {
            m->before = m->gemm;
            m->has_before = true;
        }
        break;
    case REGS_ALU:
        *check = 4;
        good = cm_alu_decode(regs, &m->alu);
        break;
    default:
        *check = 6;
        good = cm_pool_decode(NPU_CFG_N, regs, &m->pool);
        break;
    }
    return good;
}

static void clear_all(regs_model *m) {
    cm_device_write(m->regs, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK, 0xf);
    m->err = m->irq_status = m->irq_enable = m->result = 0;
    m->have = m->has_before = false;
    for (uint32_t i = 0; i < REGS_UNITS; i++) {
        const bool present = m->slot[i].present;
        m->slot[i] = (regs_slot){.present = present};
    }
    memset(m->counter, 0, sizeof m->counter);
    memset(m->counter_copy, 0, sizeof m->counter_copy);
    memset(m->mark, 0, sizeof m->mark);
    memset(m->mark_copy, 0, sizeof m->mark_copy);
}

typedef struct effect {
    uint32_t clear_irq, clear_err;
    bool start[REGS_UNITS], reset, snap, clear;
} effect;

/* What the write does at this edge. */
static effect write_effect(regs_model *m, const regs_write *w) {
    effect e = {0};
    uint32_t value = w->value;
    uint32_t ones = 0;
    for (uint32_t i = 0; i < 4; i++) {
        ones |= (w->strobes >> i) & 1u ? value & (0xffu << (8 * i)) : 0;
    }
    e.clear_irq = w->offset == NPU_REG_IRQ_STATUS ? ones : 0;
    e.clear_err = w->offset == NPU_REG_ERR ? ones : 0;
    e.reset = w->offset == NPU_REG_CTRL && (ones & NPU_CTRL_SOFT_RESET_MASK) != 0;
    e.snap = w->offset == NPU_REG_PERF_CTRL && (ones & NPU_PERF_CTRL_SNAPSHOT_MASK) != 0;
    e.clear = w->offset == NPU_REG_PERF_CTRL && (ones & NPU_PERF_CTRL_CLEAR_MASK) != 0;
    for (uint32_t i = 0; i < REGS_UNITS; i++) {
        if (w->offset == ctrl_reg[i]) {
            e.start[i] = (ones & en_mask[i]) != 0;
            value &= ~en_mask[i]; /* the model of the registers must not execute it */
        }
    }
    if (w->offset != NPU_REG_CTRL) {
        cm_device_write(m->regs, w->offset, value, w->strobes);
    }
    return e;
}

static void step_counters(regs_model *m, const regs_in *in, const effect *e) {
    const bool run = (status(m) & (NPU_STATUS_GEMM_BUSY_MASK | NPU_STATUS_ALU_BUSY_MASK | NPU_STATUS_POOL_BUSY_MASK)) != 0;
    if (e->snap) {
        memcpy(m->counter_copy, m->counter, sizeof m->counter);
        memcpy(m->mark_copy, m->mark, sizeof m->mark);
        memset(m->mark, 0, sizeof m->mark);
    }
    for (uint32_t i = 0; i < REGS_COUNTERS; i++) {
        m->counter[i] = e->clear ? 0 : m->counter[i] + (run && ((in->events >> i) & 1u));
    }
    for (uint32_t i = 0; i < REGS_MARKS && run; i++) {
        m->mark[i] = in->level[i] > m->mark[i] ? in->level[i] : m->mark[i];
    }
}

/* The pending task of a unit: check over, handed on, or a new one. Returns the ERR bits that it sets. */
static uint32_t step_slot(regs_model *m, uint32_t unit_index, bool ready, bool start) {
    regs_slot *s = &m->slot[unit_index];
    const bool valid = regs_model_valid(m, unit_index);
    const bool was_pending = s->pending;
    uint32_t err = 0;
    if (!s->present) {
        return start ? NPU_ERR_CONFIG_MASK : 0;
    }
    if (s->pending && s->check_left > 0 && --s->check_left == 0 && !s->good) {
        s->pending = false;
        err = NPU_ERR_CONFIG_MASK;
    }
    if (valid && ready) {
        s->pending = false;
        s->inflight++;
    }
    if (start && was_pending) {
        err |= NPU_ERR_OVERRUN_MASK;
    } else if (start) {
        s->pending = true;
        s->good = decode(m, unit_index, &s->check_left);
        s->check_left--;
    }
    return err;
}

static void step_result(regs_model *m, const regs_in *in) {
    if (!m->slot[REGS_ALU].present) {
        return;
    }
    if (in->result_we) {
        m->pend = in->result;
        m->have = true;
    }
    if (in->done[REGS_ALU]) {
        m->result = m->have ? m->pend : m->result;
        m->have = false;
    }
}

void regs_model_step(regs_model *m, const regs_in *in, const regs_write *w) {
    effect e = {0};
    if (m->resetting) {
        clear_all(m);
        m->reset_age++;
        m->resetting = !(m->reset_age >= SRST_CYCLES && in->drained);
        return;
    }
    if (w) {
        e = write_effect(m, w);
    }
    step_counters(m, in, &e);
    m->irq_status &= ~e.clear_irq;
    m->err &= ~e.clear_err;
    for (uint32_t i = 0; i < REGS_UNITS; i++) {
        const uint32_t err = step_slot(m, i, in->ready[i], e.start[i]) | ((in->bus_err >> (4 * i)) & 0xfu);
        const bool done = in->done[i];
        m->slot[i].inflight -= done;
        m->slot[i].count += done;
        m->err |= err << (8 * i);
        m->irq_status |= done || err != 0 ? irq_bit[i] : 0;
    }
    step_result(m, in);
    m->irq_enable = cm_device_read(m->regs, NPU_REG_IRQ_ENABLE);
    if (e.reset) {
        m->resetting = true;
        m->reset_age = 0;
    }
}
