/*
 * rt_norm.c - softmax, LayerNorm and RMSNorm on the ALU (npu_rows): layers of their own, and the softmax of attention
 * in INT8, whose blobs are on the host.
 */
#include <stdlib.h>
#include <string.h>

#include "attn.h"
#include "rt.h"

/* Addresses for checks by the driver, before memory is planned. */
#define PROBE_IN 0x10000000u
#define PROBE_OUT 0x50000000u
#define PROBE_SCRATCH 0x90000000u
#define PROBE_GAMMA 0xB0000000u
#define PROBE_BETA 0xD0000000u

/* ---- where rows lie on the device ---- */

/* `rows` rows of `cols` elements, `step` bytes apart; `times` such groups, `apart` bytes from each other. */
static void put_rows(rt_layer *rl, uint32_t rows, uint32_t cols, uint64_t step, uint32_t times, uint64_t apart) {
    rl->norm.rows = rows;
    rl->norm.cols = cols;
    rl->norm.in_step = rl->norm.out_step = (uint32_t)step;
    rl->norms = times;
    rl->norm_apart = (uint32_t)apart;
}

/* Each row of the blob. Only channels of three dimensions have gaps between them. */
static void each_row(rt_layer *rl, const net_shape *s) {
    const uint64_t row = (uint64_t)s->w * 4, plane = rt_cstep(s);
    if (s->dims != 3) {
        put_rows(rl, net_shape_elements(s) / s->w, s->w, row, 1, 0);
    } else if (s->h == 1) {
        put_rows(rl, s->c, s->w, plane, 1, 0);
    } else if (plane == row * s->h) { /* no gaps between channels */
        put_rows(rl, s->c * s->h, s->w, row, 1, 0);
    } else {
        put_rows(rl, s->h, s->w, row, s->c, plane);
    }
}

/* Each channel of a blob of three dimensions. */
static void each_map(rt_layer *rl, const net_shape *s) {
    put_rows(rl, s->c, s->w * s->h, rt_cstep(s), 1, 0);
}

/* Softmax across an axis that is not the innermost one: each column of the blob, or of its channels. */
static void each_column(rt_layer *rl, const net_shape *s, uint32_t axis) {
    const net_axis a = net_shape_axis(s, axis);
    rl->norm.kind = NPU_ROWS_SOFTMAX_ACROSS;
    if (s->dims == 4) {
        put_rows(rl, a.n, a.step, (uint64_t)a.step * 4, a.outer, (uint64_t)a.n * a.step * 4);
    } else if (s->dims == 3 && axis == 0) {
        each_map(rl, s);
    } else {
        put_rows(rl, s->h, s->w, (uint64_t)s->w * 4, s->dims == 3 ? s->c : 1, rt_cstep(s));
    }
}

static bool probe(const net_rt *rt, rt_layer *rl) {
    npu_rows r = rl->norm;
    npu_job job;
    r.in_addr = PROBE_IN;
    r.out_addr = PROBE_OUT;
    r.scratch_addr = PROBE_SCRATCH;
    r.scratch_bytes = npu_rows_scratch_bytes(&r);
    r.gamma_addr = rl->p.data != NULL ? PROBE_GAMMA : 0;
    r.beta_addr = rl->q.data != NULL ? PROBE_BETA : 0;
    const npu_status status = npu_job_rows(&job, &rt->npu, &r);
    return status == NPU_OK || rt_reason(rl, "the driver: %s", npu_strerror(status));
}

bool rt_map_softmax(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const net_shape *s = &rt->graph->blob[layer->in[0]].shape;
    const int32_t given = net_layer_int(layer, 0, 0);
    const uint32_t axis = (uint32_t)(given < 0 ? given + (int32_t)s->dims : given);
    rt_layer *rl = &rt->layer[number];
    rl->kind = RT_NORM;
    rl->norm.kind = NPU_ROWS_SOFTMAX;
    if (axis + 1 == s->dims) {
        each_row(rl, s);
    } else {
        each_column(rl, s, axis);
    }
    return probe(rt, rl);
}

static bool take_array(rt_array *array, const net_tensor *values) {
    if (values == NULL) {
        return true;
    }
    array->data = malloc((size_t)values->count * sizeof *array->data + 1);
    array->bytes = values->count * (uint32_t)sizeof *array->data;
    if (array->data != NULL) {
        memcpy(array->data, values->f32, array->bytes);
    }
    return array->data != NULL;
}

bool rt_map_norm(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const net_shape *s = &rt->graph->blob[layer->in[0]].shape;
    const float eps = net_layer_float(layer, 1, 0.001f);
    rt_layer *rl = &rt->layer[number];
    if (s->dims > 3) {
        return rt_reason(rl, "%u dimensions", s->dims);
    }
    rl->kind = RT_NORM;
    rl->norm.kind = layer->type[0] == 'R' ? NPU_ROWS_RMS_NORM : NPU_ROWS_LAYER_NORM;
    memcpy(&rl->norm.eps, &eps, sizeof eps);
    if (net_norm_group(layer, s) == s->w) {
        each_row(rl, s);
    } else {
        each_map(rl, s);
    }
    if (!take_array(&rl->p, net_layer_tensor(layer, NET_ROLE_SCALE)) ||
        !take_array(&rl->q, net_layer_tensor(layer, NET_ROLE_BIAS))) {
        return rt_reason(rl, "out of memory for its factors");
    }
    return probe(rt, rl);
}

/* ---- on the device ---- */

npu_rows rt_norm_rows(const rt_layer *rl, uint32_t i) {
    npu_rows r = rl->norm;
    r.in_addr += i * rl->norm_apart;
    r.out_addr += i * rl->norm_apart;
    return r;
}

npu_status rt_run_norm(net_rt *rt, const rt_layer *rl) {
    npu_status ns = NPU_OK;
    for (uint32_t i = 0; ns == NPU_OK && i < rl->norms; i++) {
        const npu_rows r = rt_norm_rows(rl, i);
        ns = npu_rows_run(&rt->npu, &r);
    }
    return ns;
}

/* ---- the softmax of attention ---- */

bool rt_softmax_on_npu(const net_layer *layer) {
    return (strcmp(layer->type, "MultiHeadAttention") == 0 || strcmp(layer->type, "SDPA") == 0) &&
           net_layer_int(layer, 18, 0) != 0;
}

uint32_t rt_softmax_size(const net_graph *graph, const net_layer *layer, uint32_t *rows, uint32_t *count) {
    if (strcmp(layer->type, "SDPA") == 0) {
        net_product product[2];
        const uint32_t heads = net_sdpa_products(graph, layer, product);
        *rows = product[0].m;
        *count = product[0].n;
        return heads;
    }
    const mha_form f = mha_form_of(graph, layer);
    *rows = f.source;
    *count = f.target;
    return f.heads;
}

npu_rows rt_softmax_rows(const net_rt *rt, uint32_t rows, uint32_t count) {
    npu_rows r = {.kind = NPU_ROWS_SOFTMAX,
                  .rows = rows,
                  .cols = count,
                  .in_addr = rt->products.score,
                  .in_step = count * 4,
                  .out_addr = rt->products.score,
                  .out_step = count * 4,
                  .scratch_addr = rt->products.stats};
    r.scratch_bytes = npu_rows_scratch_bytes(&r);
    return r;
}

void rt_need_softmax(const net_rt *rt, const net_layer *layer, rt_products *need) {
    if (!rt_softmax_on_npu(layer)) {
        return;
    }
    uint32_t rows;
    uint32_t count;
    (void)rt_softmax_size(rt->graph, layer, &rows, &count);
    const npu_rows r = rt_softmax_rows(rt, rows, count);
    const uint32_t bytes = rows * count * 4;
    need->score_bytes = bytes > need->score_bytes ? bytes : need->score_bytes;
    need->stats_bytes = r.scratch_bytes > need->stats_bytes ? r.scratch_bytes : need->stats_bytes;
}

void rt_run_softmax(void *user, float *row, uint32_t rows, uint32_t count) {
    net_rt *rt = user;
    const npu_rows r = rt_softmax_rows(rt, rows, count);
    const size_t bytes = (size_t)rows * count * sizeof *row;
    npu_status ns = rt->products.status;
    if (ns == NPU_OK && !npu_dev_write(rt->dev, r.in_addr, row, bytes)) {
        ns = NPU_ERR_HAL;
    }
    ns = ns == NPU_OK ? npu_rows_run(&rt->npu, &r) : ns;
    if (ns == NPU_OK && !npu_dev_read(rt->dev, r.out_addr, row, bytes)) {
        ns = NPU_ERR_HAL;
    }
    rt->products.status = ns; /* the layer goes on, its result is not used */
}
