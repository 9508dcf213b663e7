/* tiles.c - a layer in tiles of rows. */
#include "tiles.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sac_plan.h"

/* The golden model of a larger engine: it reads what the other model reads, and keeps what it writes. */
typedef struct whole {
    sac_model model;
    tb_ddr *mem;
    uint8_t *out; /* bytes of memory from `base` on */
    uint64_t base;
    size_t bytes;
} whole;

static bool mem_read(void *ctx, uint64_t addr, void *data, size_t bytes) {
    return tb_ddr_read(((whole *)ctx)->mem, addr, data, bytes);
}

static bool mem_write(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    whole *w = (whole *)ctx;
    if (addr < w->base || addr + bytes > w->base + w->bytes) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        w->out[addr - w->base + i] = ((const uint8_t *)data)[i];
    }
    return true;
}

static bool hal_read(void *ctx, uint32_t reg, uint32_t *value) {
    *value = sac_model_read(&((whole *)ctx)->model, reg);
    return true;
}

static bool hal_write(void *ctx, uint32_t reg, uint32_t value) {
    sac_model_write(&((whole *)ctx)->model, reg, value);
    return true;
}

static bool hal_wait(void *ctx, bool irq) {
    (void)ctx;
    (void)irq;
    return true;
}

/* The whole layer on the larger engine: w->out. */
static sac_status run_whole(whole *w, const sac_task *t) {
    const sac_hal hal = {.ctx = w, .read = hal_read, .write = hal_write, .wait = hal_wait};
    sac_dev drv;
    sac_status status = sac_open(&drv, &hal);
    status = status == SAC_OK ? sac_start(&drv, t, false) : status;
    return status == SAC_OK ? sac_wait(&drv, false) : status;
}

/* What the tiles left in memory is what the layer leaves. */
static bool compare(sac_device *dev, const sac_dev *drv, const sac_task *t) {
    const uint32_t mh = t->pool ? t->ph : t->oh, mw = t->pool ? t->pw : t->ow, groups = (t->n + drv->cv - 1) / drv->cv;
    const uint32_t group = sac_tensor_bytes(drv, 1, mh, mw), step = t->out_step != 0 ? t->out_step : group;
    const size_t bytes = (size_t)(groups - 1) * step + group;
    sac_build build = dev->model.build;
    whole w = {.mem = &dev->pair.model, .out = malloc(bytes), .base = t->out, .bytes = bytes};
    uint8_t *got = malloc(bytes);
    build.pages *= TILES_CACHE;
    const sac_mem mem = {.ctx = &w, .read = mem_read, .write = mem_write};
    if (sac_model_init(&w.model, &mem, &build) != 0 || w.out == NULL || got == NULL) {
        tb_run_fail(&dev->run, "host:memory", "out of memory");
    } else {
        tb_ddr_read(&dev->pair.rtl, t->out, got, bytes);
        tb_ddr_read(&dev->pair.rtl, t->out, w.out, bytes); /* between channel groups nothing is written */
        const sac_status status = run_whole(&w, t);
        if (status != SAC_OK) {
            tb_run_fail(&dev->run, "tiles:whole", "the whole layer: the driver answered \"%s\"", sac_strerror(status));
        }
        for (size_t i = 0; i < bytes && !tb_run_failed(&dev->run); i++) {
            if (got[i] != w.out[i]) {
                tb_run_fail(&dev->run, "tiles:mismatch",
                            "tiles of a layer: byte %zu of the output: got 0x%02x, expected 0x%02x of the whole layer",
                            i, got[i], w.out[i]);
            }
        }
    }
    sac_model_free(&w.model);
    free(w.out);
    free(got);
    return !tb_run_failed(&dev->run);
}

bool tiles_run(sac_device *dev, sac_dev *drv, const tb_prog_run *run, const sac_task *t, uint32_t rows,
               tiles_task *one) {
    uint32_t most = 0;
    if (sac_layer_rows(drv, t, &most) != SAC_OK) {
        return true;
    }
    sac_status status = SAC_OK;
    for (uint32_t tile = 0; status == SAC_OK; tile++) {
        sac_task part;
        status = sac_layer_tile(drv, t, rows < most ? rows : most, tile, &part);
        if (status == SAC_OK && !one(dev, drv, run, &part)) {
            return false;
        }
    }
    /* ended behind the last row, or in a tile that lies in the padding below the map, which the driver refuses */
    if (status != SAC_FAIL_ARG && status != SAC_FAIL_KERNEL) {
        tb_run_fail(&dev->run, "tiles:plan", "a tile: the driver answered \"%s\"", sac_strerror(status));
        return false;
    }
    const uint64_t errors = dev->run.port[SAC_PORT_F]->slave.errors[0] + dev->run.port[SAC_PORT_F]->slave.errors[1] +
                            dev->run.port[SAC_PORT_W]->slave.errors[0];
    return errors != 0 || status == SAC_FAIL_KERNEL || compare(dev, drv, t);
}
