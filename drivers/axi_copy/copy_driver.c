#include "copy_driver.h"

copy_status copy_prepare(const copy_hal *hal, uint32_t src, uint32_t dst, uint32_t bytes) {
    if (bytes > AXI_COPY_LEN_BYTES_MASK) {
        return COPY_FAIL_ARG;
    }
    const bool ok = hal->write(hal->ctx, AXI_COPY_REG_SRC, src) && hal->write(hal->ctx, AXI_COPY_REG_DST, dst) &&
                    hal->write(hal->ctx, AXI_COPY_REG_LEN, bytes);
    return ok ? COPY_OK : COPY_FAIL_DEVICE;
}

copy_status copy_start(const copy_hal *hal, bool irq) {
    const uint32_t ctrl = AXI_COPY_CTRL_START_MASK | (irq ? AXI_COPY_CTRL_IRQ_EN_MASK : 0);
    return hal->write(hal->ctx, AXI_COPY_REG_CTRL, ctrl) ? COPY_OK : COPY_FAIL_DEVICE;
}

copy_status copy_wait(const copy_hal *hal, bool irq) {
    uint32_t status = 0, err = 0;
    while ((status & AXI_COPY_STATUS_DONE_MASK) == 0) {
        if (!hal->wait(hal->ctx, irq) || !hal->read(hal->ctx, AXI_COPY_REG_STATUS, &status)) {
            return COPY_FAIL_DEVICE;
        }
    }
    if (!hal->write(hal->ctx, AXI_COPY_REG_STATUS, AXI_COPY_STATUS_DONE_MASK) ||
        !hal->read(hal->ctx, AXI_COPY_REG_ERR, &err)) {
        return COPY_FAIL_DEVICE;
    }
    return (err & AXI_COPY_ERR_RANGE_MASK) != 0   ? COPY_FAIL_RANGE
           : (err & AXI_COPY_ERR_READ_MASK) != 0  ? COPY_FAIL_READ
           : (err & AXI_COPY_ERR_WRITE_MASK) != 0 ? COPY_FAIL_WRITE
                                                  : COPY_OK;
}
