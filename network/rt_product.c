/*
 * rt_product.c - INT8 products of layers that find their scales while they run (attention, products of two blobs), as
 * 1x1 convolutions: a's rows are the positions of an INT8 map, b's rows the filters, with factors of 1. The layers
 * themselves run on the host, which quantises, packs b as weights, and takes the sums back.
 */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

static const uint32_t one_bits = 0x3f800000u; /* 1.0 */

static npu_conv conv_of(const net_rt *rt, const net_product *p) {
    const net_shape out = {3, p->m, 1, 2, 1};
    return (npu_conv){.iw = p->m,
                      .ih = 1,
                      .ic = p->k,
                      .oc = p->n,
                      .kw = 1,
                      .kh = 1,
                      .stride_w = 1,
                      .stride_h = 1,
                      .dil_w = 1,
                      .dil_h = 1,
                      .groups = 1,
                      .in_layout = NPU_INT8_NHWC,
                      .in_scale = one_bits,
                      .ifm_cstep = tb_align_up(p->k, rt->npu.n),
                      .ofm_cstep = (uint32_t)rt_cstep(&out)};
}

static npu_status plan_of(const net_rt *rt, const npu_conv *c, npu_conv_plan *plan) {
    npu_conv_split split;
    memset(&split, 0, sizeof split);
    return npu_conv_plan_make(rt->npu.n, c, &split, plan);
}

static void raise(uint32_t *most, uint64_t bytes) {
    *most = bytes > *most ? (uint32_t)bytes : *most;
}

bool rt_map_products(net_rt *rt, uint32_t number) {
    rt_layer *rl = &rt->layer[number];
    rt_products *need = &rt->products;
    net_product list[NET_MAX_PRODUCTS];
    uint32_t times[NET_MAX_PRODUCTS];
    uint32_t count = net_layer_products(rt->graph, &rt->graph->layer[number], list, times);
    for (uint32_t i = 0; i < count; i++) {
        npu_conv_plan plan;
        npu_conv c = conv_of(rt, &list[i]);
        npu_status status = plan_of(rt, &c, &plan);
        if (status != NPU_OK) {
            return rt_reason(rl, "the driver: %s", npu_strerror(status));
        }
        raise(&need->in_bytes, (uint64_t)c.iw * c.ifm_cstep);
        raise(&need->out_bytes, (uint64_t)c.oc * c.ofm_cstep);
        raise(&need->wgt_bytes, plan.wgt_bytes);
        raise(&need->param_bytes, plan.param_bytes);
        raise(&need->scratch_bytes, plan.scratch_bytes);
    }
    rt_need_softmax(rt, &rt->graph->layer[number], need);
    rl->products = count > 0;
    return false; /* the blobs stay on the host */
}

uint64_t rt_products_bytes(const net_rt *rt) {
    const rt_products *p = &rt->products;
    return (uint64_t)p->in_bytes + p->out_bytes + p->wgt_bytes + p->param_bytes + p->scratch_bytes + p->score_bytes +
           p->stats_bytes;
}

static bool allocate(const net_rt *rt, uint32_t bytes, uint32_t *addr) {
    *addr = bytes == 0 ? 0 : npu_dev_alloc(rt->dev, bytes, 64, NPU_BUF_SCRATCH);
    return bytes == 0 || *addr != 0;
}

bool rt_load_products(net_rt *rt) {
    rt_products *p = &rt->products;
    return allocate(rt, p->in_bytes, &p->in) && allocate(rt, p->out_bytes, &p->out) &&
           allocate(rt, p->wgt_bytes, &p->wgt) && allocate(rt, p->param_bytes, &p->param) &&
           allocate(rt, p->scratch_bytes, &p->scratch) && allocate(rt, p->score_bytes, &p->score) &&
           allocate(rt, p->stats_bytes, &p->stats);
}

/* a as pixels of the map, b as packed weights, factors of 1. */
static npu_status upload(const net_rt *rt, const net_product *p, const npu_conv *c, const npu_conv_plan *plan) {
    int8_t *map = calloc(p->m, c->ifm_cstep);
    int8_t *packed = malloc((size_t)plan->wgt_bytes + 1);
    float *param = calloc(1, (size_t)plan->param_bytes + 4);
    float *scale = malloc((size_t)p->n * sizeof *scale + 1);
    npu_status ns = map != NULL && packed != NULL && param != NULL && scale != NULL ? NPU_OK : NPU_ERR_HAL;
    for (size_t i = 0; ns == NPU_OK && i < p->m; i++) {
        memcpy(map + i * c->ifm_cstep, p->a + i * p->k, p->k);
    }
    for (uint32_t i = 0; ns == NPU_OK && i < p->n; i++) {
        scale[i] = 1.0f;
    }
    ns = ns == NPU_OK ? npu_conv_pack_weights(c, plan, p->b, packed, plan->wgt_bytes) : ns;
    ns = ns == NPU_OK ? npu_conv_make_oscale(c, plan, scale, param, plan->param_bytes) : ns;
    if (ns == NPU_OK && (!npu_dev_write(rt->dev, c->ifm_addr, map, (size_t)p->m * c->ifm_cstep) ||
                         !npu_dev_write(rt->dev, c->wgt_addr, packed, plan->wgt_bytes) ||
                         !npu_dev_write(rt->dev, c->oscale_addr, param, plan->param_bytes))) {
        ns = NPU_ERR_HAL;
    }
    free(map);
    free(packed);
    free(param);
    free(scale);
    return ns;
}

/* The map of sums [n][m], turned. */
static bool download(const net_rt *rt, const net_product *p, const npu_conv *c) {
    float *channel = malloc((size_t)p->m * sizeof *channel + 1);
    bool ok = channel != NULL;
    for (uint32_t j = 0; ok && j < p->n; j++) {
        ok = npu_dev_read(rt->dev, c->ofm_addr + j * c->ofm_cstep, channel, (size_t)p->m * sizeof *channel);
        for (size_t i = 0; ok && i < p->m; i++) {
            p->out[i * p->n + j] = channel[i];
        }
    }
    free(channel);
    return ok;
}

void rt_run_product(void *user, const net_product *p) {
    net_rt *rt = user;
    rt_products *r = &rt->products;
    npu_conv_plan plan;
    npu_conv c = conv_of(rt, p);
    npu_status ns = r->status == NPU_OK ? plan_of(rt, &c, &plan) : r->status;
    if (ns == NPU_OK) {
        c.ifm_addr = r->in;
        c.ofm_addr = r->out;
        c.wgt_addr = r->wgt;
        c.oscale_addr = r->param;
        c.scratch_addr = r->scratch;
        c.scratch_bytes = plan.scratch_bytes;
        ns = upload(rt, p, &c, &plan);
    }
    ns = ns == NPU_OK ? npu_conv_run(&rt->npu, &c, &plan) : ns;
    ns = ns == NPU_OK && !download(rt, p, &c) ? NPU_ERR_HAL : ns;
    if (ns != NPU_OK) { /* the layer goes on, its result is not used */
        memset(p->out, 0, (size_t)p->m * p->n * sizeof *p->out);
    }
    r->status = ns;
}

npu_status rt_product_job(const net_rt *rt, const net_product *p, npu_job *job) {
    npu_conv_plan plan;
    npu_conv c = conv_of(rt, p);
    npu_status ns = plan_of(rt, &c, &plan);
    c.ifm_addr = rt->products.in;
    c.ofm_addr = rt->products.out;
    c.wgt_addr = rt->products.wgt;
    c.oscale_addr = rt->products.param;
    c.scratch_addr = rt->products.scratch;
    c.scratch_bytes = plan.scratch_bytes;
    return ns == NPU_OK ? npu_job_conv(job, &rt->npu, &c, &plan) : ns;
}
