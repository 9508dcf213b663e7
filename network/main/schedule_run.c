/* schedule_run.c - one convolution with one plan on a device, with data from a seed: its cycles and its output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num.h"
#include "schedule.h"
#include "../../tb/case/rng.h"

#define SPARE (UINT64_C(1) << 20)

typedef struct layer_run {
    const schedule_options *opt;
    npu_conv c;
    const npu_conv_plan *plan;
    npu_dev *dev;
    npu device;
    uint32_t in_bytes, out_bytes;
} layer_run;

static uint32_t map_bytes(uint32_t pixels, uint32_t channels, uint32_t step, npu_layout layout) {
    return tb_align_up((layout == NPU_FP32_NCHW ? channels : pixels) * step, 16);
}

static npu_status upload(layer_run *r, uint32_t *to, const void *src, uint32_t bytes) {
    *to = npu_dev_alloc(r->dev, bytes, 64, NPU_BUF_IN);
    return *to != 0 && npu_dev_write(r->dev, *to, src, bytes) ? NPU_OK : NPU_ERR_HAL;
}

/* Values of -1..1, or the bytes -127..127. */
static void fill(tb_rng *rng, void *dst, uint32_t bytes, bool floats) {
    for (uint32_t i = 0; i < (floats ? bytes / 4 : bytes); i++) {
        if (floats) {
            ((float *)dst)[i] = tb_rng_f32_range(rng, -1.0f, 1.0f);
        } else {
            ((int8_t *)dst)[i] = (int8_t)tb_rng_range_i64(rng, -127, 127);
        }
    }
}

static npu_status put_input(layer_run *r, tb_rng *rng) {
    void *data = malloc((size_t)r->in_bytes + 16);
    if (data == NULL) {
        return NPU_ERR_HAL;
    }
    fill(rng, data, r->in_bytes, r->c.in_layout == NPU_FP32_NCHW);
    npu_status status = upload(r, &r->c.ifm_addr, data, r->in_bytes);
    free(data);
    return status;
}

static npu_status put_weights(layer_run *r, tb_rng *rng) {
    const uint32_t count = r->c.oc * (r->c.ic / r->c.groups) * r->c.kh * r->c.kw;
    int8_t *weights = malloc((size_t)count + 1);
    int8_t *packed = malloc((size_t)r->plan->wgt_bytes + 1);
    npu_status status = weights == NULL || packed == NULL ? NPU_ERR_HAL : NPU_OK;
    if (status == NPU_OK) {
        fill(rng, weights, count, false);
        status = npu_conv_pack_weights(&r->c, r->plan, weights, packed, r->plan->wgt_bytes);
    }
    status = status == NPU_OK ? upload(r, &r->c.wgt_addr, packed, r->plan->wgt_bytes) : status;
    free(weights);
    free(packed);
    return status;
}

/* Factors and biases: small, so that no result saturates. */
static npu_status put_factors(layer_run *r, tb_rng *rng) {
    const uint32_t bytes = r->plan->param_bytes;
    float *values = malloc((size_t)bytes + 4);
    npu_status status = values == NULL ? NPU_ERR_HAL : NPU_OK;
    for (uint32_t k = 0; k < 2 && status == NPU_OK; k++) {
        for (uint32_t i = 0; i < bytes / 4; i++) {
            values[i] = tb_rng_f32_range(rng, 0.0f, k == 0 ? 1.0f / 4096 : 1.0f);
        }
        if (k == 0 || r->c.has_bias) {
            status = upload(r, k == 0 ? &r->c.oscale_addr : &r->c.bias_addr, values, bytes);
        }
    }
    free(values);
    return status;
}

static npu_status load(layer_run *r) {
    tb_rng rng = tb_rng_stream(r->opt->seed, "schedule");
    npu_status status = put_input(r, &rng);
    status = status == NPU_OK ? put_weights(r, &rng) : status;
    status = status == NPU_OK ? put_factors(r, &rng) : status;
    r->c.ofm_addr = npu_dev_alloc(r->dev, r->out_bytes, 64, NPU_BUF_OUT);
    r->c.scratch_bytes = r->plan->scratch_bytes;
    r->c.scratch_addr =
        r->plan->scratch_bytes == 0 ? 0 : npu_dev_alloc(r->dev, r->plan->scratch_bytes, 64, NPU_BUF_SCRATCH);
    return status == NPU_OK && (r->c.ofm_addr == 0 || (r->c.scratch_addr == 0 && r->c.scratch_bytes != 0)) ? NPU_ERR_HAL
                                                                                                           : status;
}

/* The elements of the output, without gaps. */
static bool hash_output(const layer_run *r, uint64_t *hash) {
    const uint32_t pixels = r->plan->ow * r->plan->oh;
    const bool floats = r->c.out_layout == NPU_FP32_NCHW;
    const uint32_t pieces = floats ? r->c.oc : pixels;
    const uint32_t bytes = floats ? pixels * 4 : r->c.oc;
    uint32_t *data = calloc(1, (size_t)bytes + 4);
    bool ok = data != NULL;
    *hash = 0;
    for (uint32_t i = 0; ok && i < pieces; i++) {
        ok = npu_dev_read(r->dev, r->c.ofm_addr + i * r->c.ofm_cstep, data, bytes);
        for (uint32_t k = 0; ok && k < tb_div_up(bytes, 4); k++) {
            *hash = (*hash ^ data[k]) * UINT64_C(0x100000001B3);
        }
    }
    free(data);
    return ok;
}

bool schedule_run(const schedule_options *opt, const npu_conv *conv, const npu_conv_plan *plan, uint64_t *cycles,
                  uint64_t *hash, char *err, size_t err_size) {
    layer_run r = {.opt = opt, .c = *conv, .plan = plan};
    r.in_bytes = map_bytes(conv->iw * conv->ih, conv->ic, conv->ifm_cstep, conv->in_layout);
    r.out_bytes = map_bytes(plan->ow * plan->oh, conv->oc, conv->ofm_cstep, conv->out_layout);
    const npu_dev_cfg cfg = {.kind = opt->kind,
                             .n = opt->n,
                             .seed = opt->seed,
                             .ddr_bytes = (uint64_t)r.in_bytes + r.out_bytes + plan->wgt_bytes + plan->scratch_bytes +
                                          2ull * plan->param_bytes + SPARE,
                             .poison_reads = true};
    r.dev = npu_dev_open(&cfg, err, err_size);
    if (r.dev == NULL) {
        return false;
    }
    npu_status status = npu_init(&r.device, npu_dev_hal(r.dev), NPU_WAIT_IRQ, 10000000u);
    status = status == NPU_OK ? load(&r) : status;
    const uint64_t before = npu_dev_cycles(r.dev);
    status = status == NPU_OK ? npu_conv_run(&r.device, &r.c, plan) : status;
    *cycles = npu_dev_cycles(r.dev) - before - npu_dev_compare_cycles(r.dev);
    const bool read = status == NPU_OK && hash_output(&r, hash);
    const bool good = npu_dev_finish(r.dev) && read;
    if (!good) {
        const npu_dev_failure *f = npu_dev_get_failure(r.dev);
        const bool device = f != NULL && f->signature[0] != '\0';
        (void)snprintf(err, err_size, "%.90s: %.280s", device ? f->signature : "driver",
                       device ? f->message : npu_strerror(status));
    }
    npu_dev_close(r.dev);
    return good;
}
