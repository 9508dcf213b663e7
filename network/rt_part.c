/* rt_part.c - some layers of a network, on inputs that another device has computed. */
#include <string.h>

#include "rt.h"

bool rt_runs(const net_rt *rt, uint32_t number) {
    return !rt->options.part || (number >= rt->options.first && number <= rt->options.last);
}

/* Compares the outputs of a layer with those of the whole network. */
static net_status compare(net_rt *rt, const net_rt *whole, uint32_t number, net_error *err) {
    const net_layer *layer = &rt->graph->layer[number];
    for (uint32_t k = 0; k < layer->num_out; k++) {
        const net_shape *s = &rt->graph->blob[layer->out[k]].shape;
        const uint32_t count = net_shape_elements(s);
        const uint32_t plane = s->w * s->h;
        if (!rt_need_host(rt, layer->out[k])) {
            return rt_device_failed(rt, layer, NPU_ERR_HAL, err);
        }
        const float *got = rt_host(rt, layer->out[k]);
        const float *want = rt_host(whole, layer->out[k]);
        uint32_t at = 0;
        while (at < count && memcmp(got + at, want + at, sizeof *got) == 0) {
            at++;
        }
        if (at < count) {
            return net_fail(err, NET_ERR_DEVICE,
                            "%.100s: layer %u '%.60s' (%.30s), output %u: element %u (channel %u, row %u, column %u) "
                            "is %.9g, expected %.9g",
                            rt->graph->name, number, layer->name, layer->type, k, at, at / plane, at % plane / s->w,
                            at % s->w, (double)got[at], (double)want[at]);
        }
    }
    return NET_OK;
}

/* Sets a blob from outside, unless it is there already. */
static void take(net_rt *rt, const net_rt *whole, uint32_t blob) {
    rt_blob *b = &rt->blob[blob];
    if (!b->on_dev && !b->on_host) {
        memcpy(rt_host(rt, blob), rt_host(whole, blob),
               (size_t)net_shape_elements(&rt->graph->blob[blob].shape) * sizeof(float));
        b->on_host = true;
    }
}

net_status net_rt_run_part(net_rt *rt, const net_rt *whole, net_error *err) {
    const net_graph *g = rt->graph;
    const uint32_t last = rt->options.last < g->num_layers ? rt->options.last : g->num_layers - 1;
    if (!rt->options.part || rt->options.reuse || rt->options.first > last || whole->graph != g ||
        whole->options.reuse || whole->options.part || whole->npu.n != rt->npu.n) {
        return net_fail(err, NET_ERR_ARG,
                        "net_rt_run_part: expected a part without reuse, and the whole network likewise");
    }
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        rt->blob[i].on_dev = rt->blob[i].on_host = false;
    }
    for (uint32_t i = rt->options.first; i <= last; i++) {
        const net_layer *layer = &g->layer[i];
        if (layer->kind == NET_INPUT) {
            take(rt, whole, layer->out[0]);
            continue;
        }
        for (uint32_t k = 0; k < layer->num_in; k++) {
            if (g->blob[layer->in[k]].producer < rt->options.first) {
                take(rt, whole, layer->in[k]);
            }
        }
        net_status status = rt_run_layer(rt, i, err);
        status = status == NET_OK ? compare(rt, whole, i, err) : status;
        if (status != NET_OK) {
            return status;
        }
    }
    return NET_OK;
}
