/*
 * rt_predict.c - clock cycles of a single layer: the driver lists the tasks that it would start, predict_*.c computes
 * their duration. No device is needed. docs/npu/performance.md, "Prediction".
 */
#include <stdlib.h>
#include <string.h>

#include "predict.h"
#include "rt.h"
#include "report/report.h"

#define OUTCOME 24u /* from the last write response to the driver's return: interrupt and register reads */

typedef struct task_list {
    net_task *task;
    uint32_t count;
} task_list;

/* All tasks of a job. Registers keep their values from task to task. false: out of memory. */
static bool list_tasks(npu_job *job, task_list *list) {
    uint32_t reg[NPU_TASK_REGS][2];
    uint32_t writes;
    list->count = 0;
    while ((writes = npu_job_next_task(job, reg)) != 0) {
        if (!rep_more(&list->task, list->count, sizeof *list->task)) {
            return false;
        }
        net_task *t = &list->task[list->count];
        if (list->count == 0) {
            memset(t, 0, sizeof *t);
        } else {
            *t = t[-1];
        }
        for (uint32_t i = 0; i < writes; i++) {
            t->reg[reg[i][0] / 4 % 128] = reg[i][1];
        }
        t->writes = writes;
        list->count++;
    }
    return true;
}

/* One operation of the driver, to its return. */
static bool add_job(const net_rt *rt, npu_job *job, npu_status status, task_list *list, net_rt_estimate *e) {
    if (status != NPU_OK || !list_tasks(job, list)) {
        return false;
    }
    const npu_unit unit = job->unit;
    e->cycles += unit == NPU_UNIT_GEMM   ? net_predict_gemm(list->task, list->count, rt->npu.n, e)
                 : unit == NPU_UNIT_POOL ? net_predict_pool(list->task, list->count, rt->npu.n, e)
                                         : net_predict_alu(list->task, list->count, e);
    e->cycles += OUTCOME;
    e->tasks += list->count;
    return true;
}

/* As run_eltwise() in rt.c: two inputs at a time. */
static bool add_eltwise(const net_rt *rt, uint32_t layer, task_list *list, net_rt_estimate *e) {
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

static bool add_broadcast(const net_rt *rt, uint32_t layer, task_list *list, net_rt_estimate *e) {
    bool good = true;
    for (uint32_t i = 0; good && i < rt->layer[layer].pieces; i++) {
        const npu_eltwise op = rt_broadcast_piece(rt, layer, i);
        npu_job job;
        good = add_job(rt, &job, npu_job_eltwise(&job, &rt->npu, &op), list, e);
    }
    return good;
}

/* Each kind once, times how often it runs. */
static bool add_products(const net_rt *rt, uint32_t layer, task_list *list, net_rt_estimate *e) {
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
    return good;
}

static bool add_layer(const net_rt *rt, uint32_t layer, task_list *list, net_rt_estimate *e) {
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
    case RT_CONV:
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
    default:
        return true;
    }
}

net_rt_estimate net_rt_predict(const net_rt *rt, uint32_t layer) {
    task_list list = {0};
    net_rt_estimate e = {0};
    if (!add_layer(rt, layer, &list, &e)) {
        e = (net_rt_estimate){0};
    }
    e.bound = tb_max_u64(e.mesh, tb_max_u64(e.read, e.write));
    free(list.task);
    return e;
}
