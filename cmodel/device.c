/*
 * device.c - the NPU behind its register interface, without time: a task is complete when the write that starts it returns
 * (docs/architecture.md section 5, docs/npu.md section 3).
 */
#include "gemm.h"
#include "regs.h"

#include "npu_regs.h"

#include <stdlib.h>

struct cm_device {
    cm_mem mem;
    cm_regs regs;
    uint64_t faults;
    uint64_t macs;
    cm_task_hook *hook;
    void *hook_ctx;
    cm_gemm_buffers buf;
};

cm_device *cm_device_new(uint32_t n, const cm_mem *mem) {
    if (n != 4 && n != 8 && n != 16 && n != 32) {
        return NULL;
    }
    cm_device *dev = calloc(1, sizeof *dev);
    if (dev != NULL) {
        dev->mem = *mem;
        cm_regs_reset(&dev->regs, n);
    }
    return dev;
}

void cm_device_free(cm_device *dev) {
    free(dev);
}

uint32_t cm_device_read(cm_device *dev, uint32_t offset) {
    return cm_regs_read(&dev->regs, offset);
}

/*
 * The specification does not say which channel reads what, so the model reports all its failed reads on channel 0. In tandem bus errors come
 * from the RTL alone; this is for the model as the only device.
 */
static uint32_t err_of(const cm_gemm_faults *f) {
    return (f->reads ? NPU_ERR_BUS_RD0_MASK : 0) | (f->writes[0] ? NPU_ERR_BUS_WR0_MASK : 0) | (f->writes[1] ? NPU_ERR_BUS_WR1_MASK : 0);
}

static void start_gemm(cm_device *dev) {
    uint32_t n = dev->regs.n;
    cm_gemm_task task;
    cm_gemm_faults faults = {0};
    if (!cm_gemm_decode(n, dev->regs.value, &task)) {
        cm_regs_raise_err(&dev->regs, NPU_ERR_CONFIG_MASK);
        return;
    }
    cm_gemm_execute(n, &task, &dev->mem, &dev->buf, &faults);
    dev->faults += faults.reads + faults.writes[0] + faults.writes[1];
    /* those of the convolution as it is asked for, without the padding of channels and tiles */
    dev->macs += (uint64_t)task.ow * task.oh * task.oc * task.ic * task.kw * task.kh;
    cm_regs_raise_err(&dev->regs, err_of(&faults));
    cm_regs_task_done(&dev->regs);
    if (dev->hook != NULL) {
        dev->hook(dev->hook_ctx, &task);
    }
}

void cm_device_write(cm_device *dev, uint32_t offset, uint32_t value, uint32_t byte_strobes) {
    switch (cm_regs_write(&dev->regs, offset, value, byte_strobes)) {
    case CM_REG_START_GEMM:
        start_gemm(dev);
        break;
    case CM_REG_SOFT_RESET:
        cm_regs_reset(&dev->regs, dev->regs.n);
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
