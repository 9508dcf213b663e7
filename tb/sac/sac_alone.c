#include "sac_alone.h"

#include "sac_device.h"

static bool mem_read(void *ctx, uint64_t addr, void *data, size_t bytes) {
    return tb_ddr_read((tb_ddr *)ctx, addr, data, bytes);
}

static bool mem_write(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    return tb_ddr_write((tb_ddr *)ctx, addr, data, bytes);
}

static bool reg_read(void *ctx, uint32_t reg, uint32_t *value) {
    *value = sac_model_read(&((sac_alone *)ctx)->model, reg);
    return true;
}

static bool reg_write(void *ctx, uint32_t reg, uint32_t value) {
    sac_model_write(&((sac_alone *)ctx)->model, reg, value);
    return true;
}

/* A task is done when it was started. */
static bool wait_irq(void *ctx, bool irq) {
    (void)ctx, (void)irq;
    return true;
}

int sac_alone_open(sac_alone *alone, const sac_build *build) {
    const sac_mem mem = {.ctx = &alone->mem, .read = mem_read, .write = mem_write};
    *alone = (sac_alone){.hal = {.ctx = alone, .read = reg_read, .write = reg_write, .wait = wait_irq}};
    return tb_ddr_init(&alone->mem, SAC_MEM_BASE, SAC_MEM_SIZE, 1) == 0 &&
                   sac_model_init(&alone->model, &mem, build) == 0
               ? 0
               : -1;
}

void sac_alone_close(sac_alone *alone) {
    sac_model_free(&alone->model);
    tb_ddr_free(&alone->mem);
}
