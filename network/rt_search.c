/* rt_search.c - splits of the convolutions of a network other than the driver's: by search, equal layers once, or by a
 * published partition. */
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

#define LANES 144u   /* inputs of the adder tree: 16 channels x 9 taps */
#define MEMORY 2048u /* bytes behind each: the map's rows, then a weight for each output */

/* Document 004: channel steps of equations 7, 8 and 11, cuts of rows. 0 rows: the weights alone fill the memory. */
static npu_conv_split partition_of(uint32_t n, const npu_conv *c) {
    const uint32_t channels = LANES / (c->kw * c->kh) / n * n;
    const uint32_t rows = c->oc < MEMORY ? (MEMORY - c->oc) / c->iw : 0;
    const uint32_t halo = (c->kh - 1) * c->dil_h + 1;
    return (npu_conv_split){.max_ic = channels > n ? channels : n,
                            .max_oh = rows > halo ? (rows - halo) / c->stride_h + 1 : 1,
                            .no_resident = true};
}

static void partition(net_rt *rt) {
    for (uint32_t i = 0; rt->options.partition && i < rt->graph->num_layers; i++) {
        rt_layer *rl = &rt->layer[i];
        if (is_conv(rl) && rt_runs(rt, i)) {
            const npu_conv_split split = partition_of(rt->npu.n, &rl->conv);
            (void)npu_conv_plan_make(rt->npu.n, &rl->conv, &split, &rl->plan); /* else the driver's own */
        }
    }
}

void rt_search(net_rt *rt) {
    partition(rt);
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
