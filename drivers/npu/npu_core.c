/*
 * npu_core.c - device, registers and performance counters.
 */
#include "npu_priv.h"

#define POLL_US 1u

const char *npu_strerror(npu_status status) {
    switch (status) {
    case NPU_OK:
        return "no error";
    case NPU_ERR_ARG:
        return "null pointer or value outside its range";
    case NPU_ERR_NO_DEVICE:
        return "no NPU of a known version and mesh size";
    case NPU_ERR_ZERO_SIZE:
        return "a size, kernel, stride or dilation is zero";
    case NPU_ERR_KERNEL:
        return "kernel or window larger than 255, or than the hardware can do";
    case NPU_ERR_STRIDE:
        return "stride or dilation larger than 255";
    case NPU_ERR_PADDING:
        return "padding larger than 255, or (pooling) not smaller than the window";
    case NPU_ERR_TOO_SMALL:
        return "padded input smaller than the kernel";
    case NPU_ERR_TOO_LARGE:
        return "dimension above 65535";
    case NPU_ERR_ALIGN:
        return "misaligned address or channel step";
    case NPU_ERR_CSTEP:
        return "step smaller than a channel or a pixel";
    case NPU_ERR_ADDR_OVERFLOW:
        return "buffer runs past the end of the address space";
    case NPU_ERR_OVERLAP:
        return "output or scratch buffer overlaps another buffer";
    case NPU_ERR_SPLIT:
        return "impossible split";
    case NPU_ERR_BUF_SIZE:
        return "buffer too small";
    case NPU_ERR_BUSY:
        return "device is busy with tasks of another driver";
    case NPU_ERR_TIMEOUT:
        return "device did not finish in time";
    case NPU_ERR_BUS:
        return "device reported a bus error";
    case NPU_ERR_DEVICE:
        return "device refused a task";
    case NPU_ERR_HAL:
        return "register access failed";
    case NPU_ERR_GROUPS:
        return "groups do not divide the channels";
    case NPU_ERR_ACT:
        return "unknown activation, or parameters that are illegal for it";
    case NPU_ERR_LAYOUT:
        return "combination of layouts or options that the hardware cannot do";
    case NPU_ERR_SCRATCH:
        return "scratch buffer missing or too small";
    case NPU_ERR_EMPTY_WINDOW:
        return "a pooling window is entirely in the padding";
    case NPU_ERR_NO_UNIT:
        return "this device was built without the unit";
    case NPU_ERR_SHAPE:
        return "tensors do not fit each other";
    case NPU_STATUS_COUNT:
        break;
    }
    return "unknown status";
}

npu_status npu_reg_read(const npu *dev, uint32_t offset, uint32_t *value) {
    return dev->hal->reg_read(dev->hal->ctx, offset, value) == NPU_HAL_OK ? NPU_OK : NPU_ERR_HAL;
}

npu_status npu_reg_write(const npu *dev, uint32_t offset, uint32_t value) {
    return dev->hal->reg_write(dev->hal->ctx, offset, value) == NPU_HAL_OK ? NPU_OK : NPU_ERR_HAL;
}

npu_status npu_reg_poll(const npu *dev, uint32_t offset, uint32_t mask, uint32_t want) {
    for (uint32_t waited = 0;;) {
        uint32_t value = 0;
        npu_status status = npu_reg_read(dev, offset, &value);
        if (status != NPU_OK) {
            return status;
        }
        if ((value & mask) == want) {
            return NPU_OK;
        }
        if (waited >= dev->timeout_us) {
            return NPU_ERR_TIMEOUT;
        }
        dev->hal->delay_us(dev->hal->ctx, POLL_US);
        waited += POLL_US;
    }
}

static npu_status identify(npu *dev) {
    uint32_t id = 0;
    uint32_t config = 0;
    npu_status status = npu_reg_read(dev, NPU_REG_ID, &id);
    if (status != NPU_OK) {
        return status;
    }
    if (id != NPU_REG_ID_RESET) {
        return NPU_ERR_NO_DEVICE;
    }
    status = npu_reg_read(dev, NPU_REG_CONFIG, &config);
    if (status != NPU_OK) {
        return status;
    }
    dev->n = (config & NPU_CONFIG_MESH_N_MASK) >> NPU_CONFIG_MESH_N_LSB;
    dev->units = 1u << NPU_UNIT_GEMM;
    dev->int16 = (config & NPU_CONFIG_EN_INT16_MASK) != 0;
    dev->units |= (config & NPU_CONFIG_EN_ALU_MASK) != 0 ? 1u << NPU_UNIT_ALU : 0;
    dev->units |= (config & NPU_CONFIG_EN_POOL_MASK) != 0 ? 1u << NPU_UNIT_POOL : 0;
    return npu_is_mesh_size(dev->n) ? NPU_OK : NPU_ERR_NO_DEVICE;
}

npu_status npu_init(npu *dev, const npu_hal *hal, npu_wait wait, uint32_t timeout_us) {
    if (dev == NULL || hal == NULL || hal->reg_read == NULL || hal->reg_write == NULL || hal->delay_us == NULL ||
        timeout_us == 0) {
        return NPU_ERR_ARG;
    }
    if ((wait != NPU_WAIT_IRQ && wait != NPU_WAIT_POLL) || (wait == NPU_WAIT_IRQ && hal->wait_irq == NULL)) {
        return NPU_ERR_ARG;
    }
    dev->hal = hal;
    dev->wait = wait;
    dev->timeout_us = timeout_us;
    dev->last_err = 0;
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        dev->started[u] = 0;
    }
    npu_status status = identify(dev);
    if (status == NPU_OK) {
        status = npu_reg_write(dev, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK);
    }
    if (status == NPU_OK) {
        status = npu_reg_poll(dev, NPU_REG_STATUS, NPU_STATUS_RESETTING_MASK, 0);
    }
    if (status == NPU_OK) {
        status = npu_reg_write(dev, NPU_REG_IRQ_ENABLE, wait == NPU_WAIT_IRQ ? dev->units : 0);
    }
    return status;
}

npu_status npu_perf_read(npu *dev, uint64_t *out, size_t count) {
    if (dev == NULL || dev->hal == NULL || out == NULL || count > NPU_PERF_COUNT) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_reg_write(dev, NPU_REG_PERF_CTRL, NPU_PERF_CTRL_SNAPSHOT_MASK);
    for (size_t i = 0; i < count && status == NPU_OK; i++) {
        uint32_t lo = 0;
        uint32_t hi = 0;
        status = npu_reg_write(dev, NPU_REG_PERF_SEL, NPU_FIELD(NPU_PERF_SEL_SEL, i));
        if (status == NPU_OK) {
            status = npu_reg_read(dev, NPU_REG_PERF_LO, &lo);
        }
        if (status == NPU_OK) {
            status = npu_reg_read(dev, NPU_REG_PERF_HI, &hi);
        }
        out[i] = ((uint64_t)hi << 32) | lo;
    }
    return status;
}

npu_status npu_perf_clear(npu *dev) {
    if (dev == NULL || dev->hal == NULL) {
        return NPU_ERR_ARG;
    }
    return npu_reg_write(dev, NPU_REG_PERF_CTRL, NPU_PERF_CTRL_CLEAR_MASK);
}
