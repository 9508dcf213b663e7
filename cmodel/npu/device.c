/*
 * device.c - the NPU behind its register interface, without time: a task is complete when the write that starts it
 * returns (docs/architecture.md section 5, docs/npu/npu.md section 3).
 */
#include "gemm.h"
#include "regs.h"

#include <stdlib.h>

struct cm_device {
    cm_mem mem;
    cm_regs regs;
    uint64_t faults;
    uint64_t macs;
    cm_task_hook *hook;
    void *hook_ctx;
    const cm_log *log;
    bool has_before; /* a GEMM task was accepted since reset: `before` is the last one */
    cm_gemm_task before;
    cm_gemm_buffers buf;
};

cm_device *cm_device_new(uint32_t n, const cm_mem *mem) {
    if (n != 4 && n != 8 && n != 16 && n != 32) {
        return NULL;
    }
    cm_device *dev = calloc(1, sizeof *dev);
    if (dev != NULL) {
        dev->mem = *mem;
        dev->regs.n = n;
        dev->regs.has_alu = true;
        dev->regs.has_pool = true;
        cm_regs_reset(&dev->regs);
    }
    return dev;
}

void cm_device_free(cm_device *dev) {
    free(dev);
}

static void reset(cm_device *dev) {
    cm_regs_reset(&dev->regs);
    dev->has_before = false;
}

void cm_device_set_units(cm_device *dev, bool alu, bool pool) {
    dev->regs.has_alu = alu;
    dev->regs.has_pool = pool;
    reset(dev);
}

void cm_device_set_int16(cm_device *dev, bool on) {
    dev->regs.has_int16 = on;
    reset(dev);
}

uint32_t cm_device_read(cm_device *dev, uint32_t offset) {
    return cm_regs_read(&dev->regs, offset);
}

/*
 * The specification says of few accesses which channel makes them, so the model reports all its failed reads on channel
 * 0, and on channel 0 the failed writes that no rule gives to channel 1. In tandem bus errors come from the RTL alone;
 * this is for the model as the only device.
 */
static void finish(cm_device *dev, cm_unit unit, const cm_faults *f) {
    dev->faults += f->reads + f->writes[0] + f->writes[1];
    cm_regs_raise_err(&dev->regs, unit,
                      (f->reads ? NPU_ERR_BUS_RD0_MASK : 0) | (f->writes[0] ? NPU_ERR_BUS_WR0_MASK : 0) |
                          (f->writes[1] ? NPU_ERR_BUS_WR1_MASK : 0));
    cm_regs_task_done(&dev->regs, unit);
}

/* Multiplications of the operator itself, without the padding of channels and tiles. */
static uint64_t macs_of(const cm_gemm_task *t) {
    uint64_t one_channel = (uint64_t)t->ow * t->oh * t->oc * t->kw * t->kh;
    return t->op == NPU_GEMM_CTRL_OP_CONV ? one_channel * t->ic : t->op == NPU_GEMM_CTRL_OP_DEPTHWISE ? one_channel : 0;
}

static void start_gemm(cm_device *dev) {
    cm_gemm_task task;
    cm_faults faults = {0};
    if (!cm_gemm_decode(dev->regs.n, dev->regs.value, &task) || (task.wide && !dev->regs.has_int16) ||
        !cm_gemm_follows(dev->has_before ? &dev->before : NULL, &task)) {
        cm_regs_raise_err(&dev->regs, CM_UNIT_GEMM, NPU_ERR_CONFIG_MASK);
        return;
    }
    dev->has_before = true;
    dev->before = task;
    cm_gemm_execute(dev->regs.n, &task, &dev->mem, &dev->buf, &faults, dev->log);
    dev->macs += macs_of(&task);
    finish(dev, CM_UNIT_GEMM, &faults);
    if (dev->hook != NULL) {
        dev->hook(dev->hook_ctx, &task);
    }
}

static void start_alu(cm_device *dev) {
    cm_alu_task task;
    cm_faults faults = {0};
    if (!dev->regs.has_alu || !cm_alu_decode(dev->regs.value, &task)) {
        cm_regs_raise_err(&dev->regs, CM_UNIT_ALU, NPU_ERR_CONFIG_MASK);
        return;
    }
    cm_alu_execute(&task, &dev->mem, &dev->regs.value[NPU_REG_ALU_RESULT / 4], &faults, dev->log);
    finish(dev, CM_UNIT_ALU, &faults);
}

static void start_pool(cm_device *dev) {
    cm_pool_task task;
    cm_faults faults = {0};
    if (!dev->regs.has_pool || !cm_pool_decode(dev->regs.n, dev->regs.value, &task)) {
        cm_regs_raise_err(&dev->regs, CM_UNIT_POOL, NPU_ERR_CONFIG_MASK);
        return;
    }
    cm_pool_execute(dev->regs.n, &task, &dev->mem, &faults, dev->log);
    finish(dev, CM_UNIT_POOL, &faults);
}

void cm_device_write(cm_device *dev, uint32_t offset, uint32_t value, uint32_t byte_strobes) {
    switch (cm_regs_write(&dev->regs, offset, value, byte_strobes)) {
    case CM_REG_START_GEMM:
        start_gemm(dev);
        break;
    case CM_REG_START_ALU:
        start_alu(dev);
        break;
    case CM_REG_START_POOL:
        start_pool(dev);
        break;
    case CM_REG_SOFT_RESET:
        reset(dev);
        break;
    case CM_REG_NOTHING:
        break;
    }
}

uint32_t cm_device_irq(const cm_device *dev) {
    return cm_regs_irq(&dev->regs);
}

uint64_t cm_device_faults(const cm_device *dev) {
    return dev->faults;
}

uint64_t cm_device_macs(const cm_device *dev) {
    return dev->macs;
}

void cm_device_on_task(cm_device *dev, cm_task_hook *hook, void *ctx) {
    dev->hook = hook;
    dev->hook_ctx = ctx;
}

void cm_device_set_log(cm_device *dev, const cm_log *log) {
    dev->log = log;
}
