/* rt_move.c - layers that move whole channels: Slice, Crop, ShuffleChannel, on request Concat, as copies by the NPU,
 * so that blobs stay on the device. */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

/* `count` channels of a blob from `first` on, every `every`-th. */
static npu_tensor channels_of(const net_rt *rt, uint32_t blob, uint32_t addr, uint32_t first, uint32_t every,
                              uint32_t count) {
    const net_shape *s = &rt->graph->blob[blob].shape;
    npu_tensor t = {.w = 1, .h = 1, .step = 4, .layout = NPU_FP32_NCHW};
    if (s->dims == 3) {
        t.w = s->w;
        t.h = s->h;
        t.step = (uint32_t)rt_cstep(s);
    }
    t.c = count;
    t.addr = addr + first * t.step;
    t.step *= every;
    return t;
}

/* Memory for the pieces of a layer. */
static rt_move *pieces(rt_layer *rl, uint32_t count) {
    rl->move = calloc((size_t)count + 1, sizeof *rl->move);
    rl->moves = rl->move == NULL ? 0 : count;
    rl->kind = RT_MOVE;
    return rl->move;
}

/* Does the driver accept every piece? */
static bool probe(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    rt_layer *rl = &rt->layer[number];
    npu_status status = rl->move == NULL ? NPU_ERR_ARG : NPU_OK;
    for (uint32_t i = 0; status == NPU_OK && i < rl->moves; i++) {
        const rt_move *m = &rl->move[i];
        npu_job job;
        npu_tensor in = channels_of(rt, layer->in[m->in], 0x10000000u, m->from, m->from_every, m->count);
        npu_tensor out = channels_of(rt, layer->out[m->out], 0x90000000u, m->to, m->to_every, m->count);
        status = npu_job_copy(&job, &rt->npu, &in, &out);
    }
    return status == NPU_OK || rt_reason(rl, "the driver: %s", npu_strerror(status));
}

bool rt_map_concat_copies(net_rt *rt, uint32_t number) {
    const net_graph *g = rt->graph;
    const net_layer *layer = &g->layer[number];
    uint32_t first = 0;
    rt_move *m = pieces(&rt->layer[number], layer->num_in);
    for (uint32_t i = 0; m != NULL && i < layer->num_in; i++) {
        const net_shape *in = &g->blob[layer->in[i]].shape;
        const uint32_t count = in->dims == 3 ? in->c : in->w;
        m[i] = (rt_move){.in = i, .from_every = 1, .to = first, .to_every = 1, .count = count};
        first += count;
    }
    return probe(rt, number);
}

bool rt_map_slice(net_rt *rt, uint32_t number) {
    const net_graph *g = rt->graph;
    const net_layer *layer = &g->layer[number];
    const net_shape *in = &g->blob[layer->in[0]].shape;
    int32_t axis = net_layer_int(layer, 1, 0);
    uint32_t first = 0;
    if ((axis != 0 && axis != -(int32_t)in->dims) || (in->dims != 3 && in->dims != 1)) {
        return rt_reason(&rt->layer[number], "along an axis other than the outermost one");
    }
    rt_move *m = pieces(&rt->layer[number], layer->num_out);
    for (uint32_t i = 0; m != NULL && i < layer->num_out; i++) {
        const net_shape *out = &g->blob[layer->out[i]].shape;
        uint32_t count = in->dims == 3 ? out->c : out->w;
        m[i] = (rt_move){.out = i, .from = first, .from_every = 1, .to_every = 1, .count = count};
        first += count;
    }
    return probe(rt, number);
}

bool rt_map_crop(net_rt *rt, uint32_t number) {
    const net_graph *g = rt->graph;
    const net_layer *layer = &g->layer[number];
    uint32_t first = 0;
    if (layer->num_in != 1 || !net_op_crops_channels(g, layer, &first)) {
        return rt_reason(&rt->layer[number], "a window of rows or columns, or a second input");
    }
    rt_move *m = pieces(&rt->layer[number], 1);
    if (m != NULL) {
        *m = (rt_move){.from = first, .from_every = 1, .to_every = 1, .count = g->blob[layer->out[0]].shape.c};
    }
    return probe(rt, number);
}

/* Channel i of group k becomes channel i * groups + k. */
bool rt_map_shuffle(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    uint32_t channels = rt->graph->blob[layer->in[0]].shape.c;
    uint32_t groups = (uint32_t)net_layer_int(layer, 0, 1);
    groups = net_layer_int(layer, 1, 0) != 0 ? channels / groups : groups;
    rt_move *m = pieces(&rt->layer[number], groups);
    for (uint32_t k = 0; m != NULL && k < groups; k++) {
        m[k] = (rt_move){
            .from = k * (channels / groups), .from_every = 1, .to = k, .to_every = groups, .count = channels / groups};
    }
    return probe(rt, number);
}

/* Both sides of copy i. */
static void sides(const net_rt *rt, uint32_t number, uint32_t i, npu_tensor *in, npu_tensor *out) {
    const net_layer *layer = &rt->graph->layer[number];
    const rt_move *m = &rt->layer[number].move[i];
    *in = channels_of(rt, layer->in[m->in], rt_addr(rt, layer->in[m->in]), m->from, m->from_every, m->count);
    *out = channels_of(rt, layer->out[m->out], rt_addr(rt, layer->out[m->out]), m->to, m->to_every, m->count);
}

npu_status rt_move_job(const net_rt *rt, uint32_t number, uint32_t i, npu_job *job) {
    npu_tensor in;
    npu_tensor out;
    sides(rt, number, i, &in, &out);
    return npu_job_copy(job, &rt->npu, &in, &out);
}

npu_status rt_run_move(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const rt_layer *rl = &rt->layer[number];
    npu_status ns = NPU_OK;
    for (uint32_t i = 0; ns == NPU_OK && i < rl->moves; i++) {
        npu_tensor in;
        npu_tensor out;
        sides(rt, number, i, &in, &out);
        ns = npu_copy_run(&rt->npu, &in, &out);
    }
    for (uint32_t k = 0; k < layer->num_out; k++) { /* of a Slice also those that are where they have to be */
        rt->blob[layer->out[k]].on_dev = ns == NPU_OK;
    }
    return ns;
}
