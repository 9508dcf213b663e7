/*
 * sac_flat.c - driver and golden model of the shift-add engine behind a flat interface, for test_sac_numpy.py: one
 * layer through the driver's formats, with the model as the device.
 */
#include <stdlib.h>
#include <string.h>

#include "sac.h"
#include "sac_model.h"

#define PLACE 0x200000u /* bytes for an operand */
#define PLACES 6u

static bool get(void *ctx, uint64_t addr, void *data, size_t bytes) {
    const bool ok = addr + bytes <= (uint64_t)PLACE * PLACES;
    if (ok) {
        memcpy(data, (const uint8_t *)ctx + addr, bytes);
    }
    return ok;
}

static bool put(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    const bool ok = addr + bytes <= (uint64_t)PLACE * PLACES;
    if (ok) {
        memcpy((uint8_t *)ctx + addr, data, bytes);
    }
    return ok;
}

static bool reg_read(void *ctx, uint32_t reg, uint32_t *value) {
    *value = sac_model_read((const sac_model *)ctx, reg);
    return true;
}

static bool reg_write(void *ctx, uint32_t reg, uint32_t value) {
    sac_model_write((sac_model *)ctx, reg, value);
    return true;
}

static bool wait(void *ctx, bool irq) {
    (void)ctx, (void)irq;
    return true;
}

/* Fields in the order of test_sac_numpy.py. */
static sac_task task_of(const uint32_t *f) {
    return (sac_task){.in = 0,
                      .out = PLACE,
                      .res = 2 * PLACE,
                      .filters = 3 * PLACE,
                      .params = 4 * PLACE,
                      .dtab = 5 * PLACE,
                      .c = f[0],
                      .h = f[1],
                      .w = f[2],
                      .n = f[3],
                      .kh = f[4],
                      .kw = f[5],
                      .stride = f[6],
                      .pt = f[7],
                      .pl = f[8],
                      .oh = f[9],
                      .ow = f[10],
                      .relu = f[11] != 0,
                      .pool = f[12] != 0,
                      .win = f[13],
                      .pool_stride = f[14],
                      .pool_pt = f[15],
                      .pool_pl = f[16],
                      .ph = f[17],
                      .pw = f[18],
                      .add = f[19] != 0,
                      .post_relu = f[20] != 0,
                      .full = (sac_full)f[21],
                      .to_memory = true};
}

static sac_status run(sac_dev *dev, uint8_t *mem, const sac_task *t, const int8_t *in, const uint8_t *codes,
                      const int32_t *param, const int8_t *res, int8_t *out) {
    const uint32_t mh = t->pool ? t->ph : t->oh, mw = t->pool ? t->pw : t->ow;
    sac_filter *filter = calloc(t->n, sizeof *filter);
    for (uint32_t i = 0; filter != NULL && i < t->n; i++) {
        const int32_t *p = param + 6 * i;
        filter[i] = (sac_filter){p[0], p[1], p[2], p[3], p[4], p[5]};
    }
    sac_pack_tensor(dev, t->c, t->h, t->w, in, mem);
    sac_pack_tensor(dev, t->n, mh, mw, res, mem + t->res);
    sac_status status = sac_pack_filters(dev, t->n, t->c, t->kh, t->kw, codes, mem + t->filters);
    status = status == SAC_OK ? sac_pack_params(dev, t->n, filter, mem + t->params) : status;
    status = status == SAC_OK ? sac_start(dev, t, false) : status;
    status = status == SAC_OK ? sac_wait(dev, false) : status;
    sac_unpack_tensor(dev, t->n, t->full != 0 ? 1 : mh, t->full != 0 ? 1 : mw, mem + t->out, out);
    free(filter);
    return status;
}

/*
 * One layer. build: W_VECTOR, C_VECTOR, N_VECTOR, pages; in [c][h][w], codes [n][c][kh][kw], d [c], param [n][B, sh,
 * la, lb, r, g], res and out [n][rows][columns]. The driver's status; -1: out of memory.
 */
int flat_layer(const uint32_t *build, const uint32_t *fields, const int8_t *in, const uint8_t *codes, const uint8_t *d,
               const int32_t *param, const int8_t *res, int8_t *out) {
    sac_model model;
    sac_dev dev;
    uint8_t *mem = malloc((size_t)PLACE * PLACES);
    const sac_task t = task_of(fields);
    const sac_hal hal = {&model, reg_read, reg_write, wait};
    const sac_build sizes = {build[0], build[1], build[2], build[3]};
    int status = -1;
    if (sac_model_init(&model, &(sac_mem){mem, get, put}, &sizes) == 0 && mem != NULL) {
        memset(mem, 0xA5, (size_t)PLACE * PLACES);
        memcpy(mem + t.dtab, d, t.c);
        status = (int)sac_open(&dev, &hal);
        status = status == SAC_OK ? (int)run(&dev, mem, &t, in, codes, param, res, out) : status;
    }
    sac_model_free(&model);
    free(mem);
    return status;
}
