/* rt_search.c - the search of splits for the convolutions of a network; equal layers are searched once. */
#include <string.h>

#include "plan_search.h"
#include "rt.h"

static bool is_conv(const rt_layer *rl) {
    return rl->kind == RT_CONV || rl->rows > 0;
}

bool net_rt_conv(const net_rt *rt, uint32_t layer, npu_conv *conv) {
    *conv = rt->layer[layer].conv;
    return is_conv(&rt->layer[layer]);
}

bool net_rt_search(const net_rt *rt, uint32_t layer, net_rt_schedule *found) {
    const rt_layer *rl = &rt->layer[layer];
    return is_conv(rl) && net_plan_search(rt->npu.n, &rl->conv, found) == NPU_OK;
}

/* Layers that differ in data alone have the same plan. */
static bool same_shape(const npu_conv *a, const npu_conv *b) {
    npu_conv x = *a;
    npu_conv y = *b;
    x.in_scale = y.in_scale = x.out_scale = y.out_scale = 0;
    x.quant.out_zero = y.quant.out_zero = 0;
    x.ifm_addr = y.ifm_addr = x.wgt_addr = y.wgt_addr = x.oscale_addr = y.oscale_addr = 0;
    x.bias_addr = y.bias_addr = x.ofm_addr = y.ofm_addr = x.scratch_addr = y.scratch_addr = 0;
    x.scratch_bytes = y.scratch_bytes = 0;
    return memcmp(&x, &y, sizeof x) == 0;
}

void rt_search(net_rt *rt) {
    for (uint32_t i = 0; rt->options.search && i < rt->graph->num_layers; i++) {
        rt_layer *rl = &rt->layer[i];
        net_rt_schedule found;
        if (!is_conv(rl) || !rt_runs(rt, i)) {
            continue;
        }
        uint32_t k = 0;
        while (k < i && !(is_conv(&rt->layer[k]) && rt_runs(rt, k) && same_shape(&rt->layer[k].conv, &rl->conv))) {
            k++;
        }
        if (k < i) {
            rl->plan = rt->layer[k].plan;
        } else if (net_rt_search(rt, i, &found)) {
            rl->plan = found.best;
        }
    }
}
