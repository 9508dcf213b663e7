/*
 * rt_predict.c - clock cycles of a single layer: the driver lists the tasks that it would start, predict_*.c computes
 * their duration. No device is needed. docs/npu/performance.md, "Prediction".
 */
#include <stdlib.h>
#include <string.h>

#include "plan_search.h"
#include "rt.h"

/* One operation of the driver, to its return. */
static bool add_job(const net_rt *rt, npu_job *job, npu_status status, net_tasks *list, net_rt_estimate *e) {
    return status == NPU_OK && net_predict_job(job, rt->npu.n, list, e);
}

/* As run_eltwise() in rt.c: two inputs at a time. */
static bool add_eltwise(const net_rt *rt, uint32_t layer, net_tasks *list, net_rt_estimate *e) {
    const net_layer *l = &rt->graph->layer[layer];
    npu_eltwise op = rt->layer[layer].elt;
    bool good = true;
    for (uint32_t k = 1; good && (k == 1 || k < l->num_in); k++) {
        npu_job job;
        if (k > 1) {
            op.a = op.out;
            op.b.addr = rt_addr(rt, l->in[k]);
        }
        good = add_job(rt, &job, npu_job_eltwise(&job, &rt->npu, &op), list, e);
    }
    return good;
}

static bool add_broadcast(const net_rt *rt, uint32_t layer, net_tasks *list, net_rt_estimate *e) {
    bool good = true;
    for (uint32_t i = 0; good && i < rt->layer[layer].pieces; i++) {
        const npu_eltwise op = rt_broadcast_piece(rt, layer, i);
        npu_job job;
        good = add_job(rt, &job, npu_job_eltwise(&job, &rt->npu, &op), list, e);
    }
    return good;
}

static bool add_norm(const net_rt *rt, uint32_t layer, net_tasks *list, net_rt_estimate *e) {
    const rt_layer *rl = &rt->layer[layer];
    bool good = true;
    for (uint32_t i = 0; good && i < rl->norms; i++) {
        const npu_rows rows = rt_norm_rows(rl, i);
        npu_job job;
        good = add_job(rt, &job, npu_job_rows(&job, &rt->npu, &rows), list, e);
    }
    return good;
}

/* The softmax of each head. */
static bool add_softmax(const net_rt *rt, const net_layer *layer, net_tasks *list, net_rt_estimate *e) {
    bool good = true;
    if (!rt_softmax_on_npu(layer)) {
        return true;
    }
    uint32_t queries;
    uint32_t keys;
    const uint32_t heads = rt_softmax_size(rt->graph, layer, &queries, &keys);
    for (uint32_t h = 0; good && h < heads; h++) {
        const npu_rows rows = rt_softmax_rows(rt, queries, keys);
        npu_job job;
        good = add_job(rt, &job, npu_job_rows(&job, &rt->npu, &rows), list, e);
    }
    return good;
}

/* Each kind once, times how often it runs. */
static bool add_products(const net_rt *rt, uint32_t layer, net_tasks *list, net_rt_estimate *e) {
    net_product product[NET_MAX_PRODUCTS];
    uint32_t times[NET_MAX_PRODUCTS];
    uint32_t count = net_layer_products(rt->graph, &rt->graph->layer[layer], product, times);
    npu_job job;
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; good && k < times[i]; k++) {
            good = add_job(rt, &job, rt_product_job(rt, &product[i], &job), list, e);
        }
    }
    return good && add_softmax(rt, &rt->graph->layer[layer], list, e);
}

/* Copies of a blob into the parts of larger ones: run_nothing() in rt.c. */
static bool add_copies(const net_rt *rt, uint32_t layer, net_tasks *list, net_rt_estimate *e) {
    const net_layer *l = &rt->graph->layer[layer];
    bool good = true;
    for (uint32_t k = 0; good && l->num_in == 1 && k < l->num_out; k++) {
        if (rt_is_copied(rt, l->in[0], l->out[k]) && rt_copies_on_device(rt, l->in[0], l->out[k])) {
            const npu_tensor in = rt_tensor(rt, l->in[0], rt_addr(rt, l->in[0]));
            const npu_tensor out = rt_tensor(rt, l->out[k], rt_addr(rt, l->out[k]));
            npu_job job;
            good = add_job(rt, &job, npu_job_copy(&job, &rt->npu, &in, &out), list, e);
        }
    }
    return good;
}

static bool add_layer(const net_rt *rt, uint32_t layer, net_tasks *list, net_rt_estimate *e) {
    const rt_layer *rl = &rt->layer[layer];
    npu_job job;
    bool good = true;
    if (rl->rows > 0) {
        return add_job(rt, &job, npu_job_conv(&job, &rt->npu, &rl->conv, &rl->plan), list, e);
    }
    if (rl->products) {
        return add_products(rt, layer, list, e);
    }
    switch (rl->kind) {
    case RT_NOTHING:
        return rt->graph->layer[layer].kind == NET_INPUT || add_copies(rt, layer, list, e);
    case RT_CONV:
        if (rt->dev == NULL) { /* no addresses */
            *e = net_plan_predict(&rl->conv, &rl->plan, list);
            return e->cycles != 0;
        }
        return add_job(rt, &job, npu_job_conv(&job, &rt->npu, &rl->conv, &rl->plan), list, e);
    case RT_POOL:
        return add_job(rt, &job, npu_job_pool(&job, &rt->npu, &rl->pool), list, e);
    case RT_ELTWISE:
        return rl->pieces > 0 ? add_broadcast(rt, layer, list, e) : add_eltwise(rt, layer, list, e);
    case RT_UPSAMPLE:
        return add_job(rt, &job, npu_job_upsample2x(&job, &rt->npu, &rl->elt.a, &rl->elt.out), list, e);
    case RT_MOVE:
        for (uint32_t m = 0; good && m < rl->moves; m++) {
            good = add_job(rt, &job, rt_move_job(rt, layer, m, &job), list, e);
        }
        return good;
    case RT_NORM:
        return add_norm(rt, layer, list, e);
    default:
        return true;
    }
}

net_rt_estimate net_rt_predict(const net_rt *rt, uint32_t layer) {
    net_tasks list = {0};
    net_rt_estimate e = {0};
    if (!add_layer(rt, layer, &list, &e)) {
        e = (net_rt_estimate){0};
    }
    e.bound = tb_max_u64(e.mesh, tb_max_u64(e.read, e.write));
    free(list.task);
    return e;
}
