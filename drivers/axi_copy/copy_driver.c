#include "copy_driver.h"

copy_status copy_prepare(const copy_hal *hal, uint32_t src, uint32_t dst, uint32_t bytes) {
    if (bytes > COPY_LEN_MAX) {
        return COPY_FAIL_ARG;
    }
    const bool ok = hal->write(hal->ctx, COPY_SRC, src) && hal->write(hal->ctx, COPY_DST, dst) &&
                    hal->write(hal->ctx, COPY_LEN, bytes);
    return ok ? COPY_OK : COPY_FAIL_DEVICE;
}

copy_status copy_start(const copy_hal *hal, bool irq) {
    const uint32_t ctrl = COPY_CTRL_START | (irq ? (uint32_t)COPY_CTRL_IRQ_EN : 0);
    return hal->write(hal->ctx, COPY_CTRL, ctrl) ? COPY_OK : COPY_FAIL_DEVICE;
}

copy_status copy_wait(const copy_hal *hal, bool irq) {
    uint32_t status = 0, err = 0;
    while ((status & COPY_STATUS_DONE) == 0) {
        if (!hal->wait(hal->ctx, irq) || !hal->read(hal->ctx, COPY_STATUS, &status)) {
            return COPY_FAIL_DEVICE;
        }
    }
    if (!hal->write(hal->ctx, COPY_STATUS, COPY_STATUS_DONE) || !hal->read(hal->ctx, COPY_ERR, &err)) {
        return COPY_FAIL_DEVICE;
    }
    return (err & COPY_ERR_RANGE) != 0   ? COPY_FAIL_RANGE
           : (err & COPY_ERR_READ) != 0  ? COPY_FAIL_READ
           : (err & COPY_ERR_WRITE) != 0 ? COPY_FAIL_WRITE
                                         : COPY_OK;
}
