/*
 * rt_rows.c - an inner product of each row of a matrix as a 1x1 convolution: the rows are the positions of a map, their
 * elements its channels. The driver has each channel contiguous, so the host turns the matrix on its way to the device
 * and the result on its way back; products, scales, bias and activation are the NPU's, for all rows at once.
 */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

static uint32_t pitch_of(uint32_t rows) {
    const net_shape map = {3, rows, 1, 2, 1};
    return (uint32_t)rt_cstep(&map);
}

bool rt_map_rows(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const net_shape *in = &rt->graph->blob[layer->in[0]].shape;
    rt_layer *rl = &rt->layer[number];
    npu_conv_split split;
    memset(&split, 0, sizeof split);
    rl->conv = (npu_conv){.iw = in->h,
                          .ih = 1,
                          .ic = in->w,
                          .oc = layer->conv.num_output,
                          .kw = 1,
                          .kh = 1,
                          .stride_w = 1,
                          .stride_h = 1,
                          .dil_w = 1,
                          .dil_h = 1,
                          .groups = 1,
                          .ifm_cstep = pitch_of(in->h),
                          .ofm_cstep = pitch_of(in->h)};
    memcpy(&rl->conv.in_scale, &net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0], sizeof rl->conv.in_scale);
    rl->conv.has_bias = net_layer_tensor(layer, NET_ROLE_BIAS) != NULL;
    if (!rt_act(&layer->act, &rl->conv.act, rl->conv.act_p)) {
        return rt_reason(rl, "activation %d", (int)layer->act.type);
    }
    npu_status status = npu_conv_plan_make(rt->npu.n, &rl->conv, &split, &rl->plan);
    if (status != NPU_OK) {
        return rt_reason(rl, "the driver: %s", npu_strerror(status));
    }
    rl->rows = in->h; /* the blobs are on the host: the layer stays RT_CPU for all else */
    return false;
}

uint64_t rt_rows_bytes(const rt_layer *rl) {
    return (uint64_t)rl->conv.ic * rl->conv.ifm_cstep + (uint64_t)rl->conv.oc * rl->conv.ofm_cstep +
           rl->plan.scratch_bytes;
}

bool rt_load_rows(net_rt *rt, rt_layer *rl) {
    rl->conv.ifm_addr = npu_dev_alloc(rt->dev, rl->conv.ic * rl->conv.ifm_cstep, 16, NPU_BUF_SCRATCH);
    rl->conv.ofm_addr = npu_dev_alloc(rt->dev, rl->conv.oc * rl->conv.ofm_cstep, 16, NPU_BUF_SCRATCH);
    rl->conv.scratch_bytes = rl->plan.scratch_bytes;
    rl->conv.scratch_addr =
        rl->plan.scratch_bytes == 0 ? 0 : npu_dev_alloc(rt->dev, rl->plan.scratch_bytes, 64, NPU_BUF_SCRATCH);
    return rl->conv.ifm_addr != 0 && rl->conv.ofm_addr != 0 &&
           (rl->plan.scratch_bytes == 0 || rl->conv.scratch_addr != 0);
}

/* The matrix [rows][ic] as a map of ic channels; gaps between channels are zeros. */
static bool upload(const net_rt *rt, const rt_layer *rl, const float *matrix) {
    uint32_t step = rl->conv.ifm_cstep / 4;
    float *map = calloc((size_t)rl->conv.ic * step + 1, sizeof *map);
    for (uint32_t r = 0; map != NULL && r < rl->rows; r++) {
        for (uint32_t c = 0; c < rl->conv.ic; c++) {
            map[(size_t)c * step + r] = matrix[(size_t)r * rl->conv.ic + c];
        }
    }
    bool ok = map != NULL && npu_dev_write(rt->dev, rl->conv.ifm_addr, map, (size_t)rl->conv.ic * step * sizeof *map);
    free(map);
    return ok;
}

static bool download(const net_rt *rt, const rt_layer *rl, float *matrix) {
    float *channel = malloc((size_t)rl->rows * sizeof *channel + 1);
    bool ok = channel != NULL;
    for (uint32_t c = 0; ok && c < rl->conv.oc; c++) {
        ok = npu_dev_read(rt->dev, rl->conv.ofm_addr + c * rl->conv.ofm_cstep, channel,
                          (size_t)rl->rows * sizeof *channel);
        for (uint32_t r = 0; ok && r < rl->rows; r++) {
            matrix[(size_t)r * rl->conv.oc + c] = channel[r];
        }
    }
    free(channel);
    return ok;
}

npu_status rt_run_rows(net_rt *rt, const rt_layer *rl, const float *in, float *out) {
    if (!upload(rt, rl, in)) {
        return NPU_ERR_HAL;
    }
    npu_status ns = npu_conv_run(&rt->npu, &rl->conv, &rl->plan);
    return ns == NPU_OK && !download(rt, rl, out) ? NPU_ERR_HAL : ns;
}
