#include "net_sgemm.h"

#include <stdlib.h>
#include <string.h>

#include "../op.h"

#define TIMEOUT_US 100000000u

net_status net_sgemm_init(net_sgemm *s, const net_sgemm_port *port, bool half, net_error *err) {
    *s = (net_sgemm){.port = *port, .flags = half ? SGEMM_HALF : 0};
    const sgemm_status status = sgemm_init(&s->drv, port->hal, false, TIMEOUT_US);
    s->drv.min_dim = 0;
    return status == SGEMM_OK ? NET_OK : net_fail(err, NET_ERR_DEVICE, "sgemm_init: %s", sgemm_strerror(status));
}

/* ---- memory of a layer ---- */

/* Room for a matrix of floats; 0: there is none. */
static uint32_t room(net_sgemm *s, uint64_t count) {
    const uint64_t bytes = (count * sizeof(float) + 63) / 64 * 64;
    if (bytes > s->port.bytes - s->used) {
        return 0;
    }
    const uint32_t at = s->port.base + s->used;
    s->used += (uint32_t)bytes;
    return at;
}

/* A matrix in a new place; 0: no room, or the device is gone. */
static uint32_t put(net_sgemm *s, const float *data, uint64_t count) {
    const uint32_t at = room(s, count);
    const sgemm_hal *hal = s->port.hal;
    return at != 0 && hal->mem_write(hal->ctx, at, data, (uint32_t)(count * sizeof *data)) == NPU_HAL_OK ? at : 0;
}

static uint32_t put_ones(net_sgemm *s, uint32_t count) {
    float *ones = malloc(count * sizeof *ones);
    uint32_t at = 0;
    if (ones != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            ones[i] = 1.0f;
        }
        at = put(s, ones, count);
    }
    free(ones);
    return at;
}

/* ---- GEMMs ---- */

/* Row-major without gaps: c (m x n) = a (m x k) * op(b) + beta * c. */
typedef struct product {
    uint32_t m, n, k, a, b, c;
    bool tb; /* b is stored n x k */
    float beta;
} product;

static sgemm_status submit(net_sgemm *s, const product *p) {
    const sgemm_args x = {SGEMM_ROW_MAJOR,
                          SGEMM_NO_TRANS,
                          p->tb ? SGEMM_TRANS : SGEMM_NO_TRANS,
                          (int32_t)p->m,
                          (int32_t)p->n,
                          (int32_t)p->k,
                          1.0f,
                          p->a,
                          (int32_t)p->k,
                          p->b,
                          (int32_t)(p->tb ? p->k : p->n),
                          p->beta,
                          p->c,
                          (int32_t)p->n,
                          s->flags};
    const sgemm_bound b = sgemm_cycles(&s->drv, &x);
    s->tasks++;
    s->expected += b.bound + b.fill + b.drain;
    return sgemm_submit(&s->drv, &x);
}

/* ---- layers ---- */

/* What a layer is to the engine: per group m outputs, n pixels, k elements of a sum. */
typedef struct work {
    const net_layer *layer;
    const net_shape *in, *out;
    uint32_t m, n, k;
    uint32_t weights, bias, ones, columns, sums; /* addresses */
} work;

/* Rows (channel, ky, kx), columns (y, x): the input under that tap, 0 in the padding. */
static void im2col(const work *w, const float *in, float *columns) {
    const net_conv *c = &w->layer->conv;
    const uint32_t taps = c->kernel_h * c->kernel_w;
    for (uint32_t row = 0; row < w->k; row++) {
        const float *map = in + (size_t)(row / taps) * w->in->h * w->in->w;
        const uint32_t ky = row % taps / c->kernel_w * c->dilation_h, kx = row % c->kernel_w * c->dilation_w;
        for (uint32_t i = 0; i < w->n; i++) {
            /* in the padding the differences wrap and are larger than any map */
            const uint32_t y = i / w->out->w * c->stride_h + ky - c->pad_t;
            const uint32_t x = i % w->out->w * c->stride_w + kx - c->pad_l;
            columns[(size_t)row * w->n + i] = y < w->in->h && x < w->in->w ? map[(size_t)y * w->in->w + x] : 0.0f;
        }
    }
}

/* The group's input as the second matrix; the same memory for every group. False: no memory, or the device is gone. */
static bool load_columns(net_sgemm *s, work *w, const float *in) {
    const uint64_t count = (uint64_t)w->k * w->n;
    float *columns = malloc(count * sizeof *columns);
    const sgemm_hal *hal = s->port.hal;
    bool ok = columns != NULL;
    if (ok) {
        im2col(w, in, columns);
        w->columns = w->columns != 0 ? w->columns : room(s, count);
        ok = w->columns != 0 &&
             hal->mem_write(hal->ctx, w->columns, columns, (uint32_t)(count * sizeof *columns)) == NPU_HAL_OK;
    }
    free(columns);
    return ok;
}

/* sums (m x n) = weights (m x k) * columns (k x n), then + bias (m x 1) * ones (1 x n). */
static sgemm_status convolve(net_sgemm *s, const work *w, uint32_t group) {
    const uint32_t first = group * w->m * (uint32_t)sizeof(float);
    const uint32_t c = w->sums + first * w->n;
    const product sums = {w->m, w->n, w->k, w->weights + first * w->k, w->columns, c, false, 0.0f};
    const product bias = {w->m, w->n, 1, w->bias + first, w->ones, c, false, 1.0f};
    sgemm_status status = submit(s, &sums);
    if (status == SGEMM_OK && w->bias != 0) {
        status = submit(s, &bias);
    }
    return status == SGEMM_OK ? sgemm_wait(&s->drv) : status;
}

/* One image: sums (1 x m) = input (1 x k) * weights (m x k) transposed, then + 1 * bias. */
static sgemm_status multiply(net_sgemm *s, const work *w) {
    const product sums = {1, w->m, w->k, w->columns, w->weights, w->sums, true, 0.0f};
    const product bias = {1, w->m, 1, w->ones, w->bias, w->sums, false, 1.0f};
    sgemm_status status = submit(s, &sums);
    if (status == SGEMM_OK && w->bias != 0) {
        status = submit(s, &bias);
    }
    return status == SGEMM_OK ? sgemm_wait(&s->drv) : status;
}

static bool is_inner(const net_layer *layer) {
    return strcmp(layer->type, "InnerProduct") == 0;
}

/* Weights, bias, ones and room for the sums on the device. */
static bool place(net_sgemm *s, work *w, uint32_t groups) {
    const net_tensor *weight = net_layer_tensor(w->layer, NET_ROLE_WEIGHT);
    const net_tensor *bias = net_layer_tensor(w->layer, NET_ROLE_BIAS);
    const uint32_t outputs = w->m * groups;
    s->used = 0;
    w->weights = put(s, weight->f32, weight->count);
    w->sums = room(s, (uint64_t)outputs * w->n);
    w->bias = bias != NULL ? put(s, bias->f32, outputs) : 0;
    w->ones = bias != NULL ? put_ones(s, w->n) : 0;
    return w->weights != 0 && w->sums != 0 && (bias == NULL || (w->bias != 0 && w->ones != 0));
}

static sgemm_status compute(net_sgemm *s, work *w, const float *in, float *out) {
    const net_layer *layer = w->layer;
    const bool inner = is_inner(layer);
    const uint32_t groups = inner ? 1 : layer->conv.groups;
    const sgemm_hal *hal = s->port.hal;
    sgemm_status status = place(s, w, groups) ? SGEMM_OK : SGEMM_ERR_HAL;
    if (inner && status == SGEMM_OK) {
        w->columns = put(s, in, w->k);
        status = w->columns != 0 ? multiply(s, w) : SGEMM_ERR_HAL;
    }
    const size_t step = (size_t)w->in->h * w->in->w * (w->in->c / groups);
    for (uint32_t g = 0; g < groups && !inner && status == SGEMM_OK; g++) {
        status = load_columns(s, w, in + g * step) ? convolve(s, w, g) : SGEMM_ERR_HAL;
    }
    if (status != SGEMM_OK) {
        return status;
    }
    const uint32_t count = w->m * groups * w->n;
    if (hal->mem_read(hal->ctx, w->sums, out, count * (uint32_t)sizeof *out) != NPU_HAL_OK) {
        return SGEMM_ERR_HAL;
    }
    net_act_apply(&layer->act, out, out, count);
    return SGEMM_OK;
}

net_status net_sgemm_run(void *engine, const net_graph *graph, uint32_t number, net_target_layer *tl, const float *in,
                         float *out, net_error *err) {
    net_sgemm *s = (net_sgemm *)engine;
    const net_layer *layer = &graph->layer[number];
    const net_conv *c = &layer->conv;
    const net_shape *is = &graph->blob[layer->in[0]].shape, *os = &graph->blob[layer->out[0]].shape;
    work w = {.layer = layer, .in = is, .out = os, .m = c->num_output / c->groups, .n = os->w * os->h};
    w.k = is->c / c->groups * c->kernel_h * c->kernel_w;
    if (is_inner(layer)) {
        w = (work){.layer = layer, .in = is, .out = os, .m = c->num_output, .n = 1, .k = net_shape_elements(is)};
    }
    char text[300] = "";
    s->tasks = s->expected = 0;
    sgemm_perf_snapshot(&s->drv, true);
    const sgemm_status status = compute(s, &w, in, out);
    sgemm_perf_snapshot(&s->drv, true);
    if ((s->port.done != NULL && !s->port.done(s->port.ctx, text, sizeof text)) || status != SGEMM_OK ||
        sgemm_perf_read(&s->drv, SGEMM_PERF_SEL_SEL_CYCLES, &tl->cycles) != SGEMM_OK) {
        return net_fail(err, NET_ERR_DEVICE, "%.150s:%u: layer '%.60s': %s", graph->name, layer->line, layer->name,
                        text[0] != '\0' ? text : sgemm_strerror(status));
    }
    tl->tasks = s->tasks;
    tl->expected = s->expected;
    return NET_OK;
}

void net_sgemm_map(void *engine, const net_graph *graph, net_target_layer *layer) {
    (void)engine;
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        const net_layer *l = &graph->layer[i];
        const bool conv = strcmp(l->type, "Convolution") == 0 || strcmp(l->type, "ConvolutionDepthWise") == 0;
        layer[i].last = i;
        if (!conv && !is_inner(l)) {
            net_target_reason(&layer[i], "%s", net_layer_macs(graph, i) > 0 ? "no GEMM in Caffe" : "");
        } else if (!conv && graph->blob[l->out[0]].shape.dims != 1) {
            net_target_reason(&layer[i], "an inner product of each row");
        } else if (conv && graph->blob[l->in[0]].shape.dims != 3) {
            net_target_reason(&layer[i], "a convolution over a vector");
        } else {
            layer[i].place = NET_TARGET_ENGINE;
        }
    }
}
