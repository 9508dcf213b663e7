#include "sgemm_alone.h"

#include "sgemm_device.h"

static bool model_read(void *ctx, uint64_t addr, void *data, size_t bytes) {
    return tb_ddr_read((tb_ddr *)ctx, addr, data, bytes);
}

static bool model_write(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    return tb_ddr_write((tb_ddr *)ctx, addr, data, bytes);
}

static npu_hal_status mem_read(void *ctx, uint32_t addr, void *data, uint32_t bytes) {
    return model_read(&((sgemm_alone *)ctx)->mem, addr, data, bytes) ? NPU_HAL_OK : NPU_HAL_FAULT;
}

static npu_hal_status mem_write(void *ctx, uint32_t addr, const void *data, uint32_t bytes) {
    return model_write(&((sgemm_alone *)ctx)->mem, addr, data, bytes) ? NPU_HAL_OK : NPU_HAL_FAULT;
}

static npu_hal_status reg_read(void *ctx, uint32_t reg, uint32_t *value) {
    *value = sgm_device_read(&((sgemm_alone *)ctx)->model, reg);
    return NPU_HAL_OK;
}

static npu_hal_status reg_write(void *ctx, uint32_t reg, uint32_t value) {
    sgemm_alone *alone = (sgemm_alone *)ctx;
    sgm_device_write(&alone->model, reg, value);
    return alone->model.failed ? NPU_HAL_FAULT : NPU_HAL_OK;
}

/* A task is done when it was started. */
static npu_hal_status wait_irq(void *ctx, uint32_t line_mask, uint32_t timeout_us) {
    (void)ctx, (void)line_mask, (void)timeout_us;
    return NPU_HAL_OK;
}

static void delay(void *ctx, uint32_t us) {
    (void)ctx, (void)us;
}

int sgemm_alone_open(sgemm_alone *alone, uint32_t config) {
    *alone = (sgemm_alone){.model = {.config = config}};
    if (tb_ddr_init(&alone->mem, SGEMM_MEM_BASE, SGEMM_MEM_SIZE, 1) != 0) {
        return -1;
    }
    alone->model.mem = (sgm_mem){.ctx = &alone->mem, .read = model_read, .write = model_write};
    alone->bus =
        (npu_hal){.ctx = alone, .reg_read = reg_read, .reg_write = reg_write, .wait_irq = wait_irq, .delay_us = delay};
    alone->hal = (sgemm_hal){.bus = &alone->bus, .ctx = alone, .mem_read = mem_read, .mem_write = mem_write};
    return 0;
}

void sgemm_alone_close(sgemm_alone *alone) {
    tb_ddr_free(&alone->mem);
}
