/*
 * rt_predict.c - clock cycles of a layer, from its shape and its plan alone: what mesh and buses need, what cannot overlap, and the pause between tasks. The constants come from docs/performance.md (operators
 * by themselves, N = 32, bus profile `ideal`) and were fixed before any network was looked at.
 */
#include "rt.h"

#define BUS_BYTES 32u     /* both channels of the bus in a cycle */
#define TASK_START 60u    /* register writes and the read of the outcome around the tasks of an operator */
#define TASK_LATENCY 320u /* first read to first product, last sum to the last write response */
#define TASK_PAUSE 40u    /* between two tasks that wait for each other's unit */

static uint64_t up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Bytes of `pixels` pixels with `channels` channels on the bus. */
static uint64_t tensor_bytes(npu_layout layout, uint32_t n, uint64_t pixels, uint64_t channels) {
    return layout == NPU_INT8_NHWC ? pixels * up(channels, n) * n : pixels * channels * 4;
}

/* Input rows that output rows y .. y+rows-1 read with kernel rows k .. k+count-1. */
static uint64_t input_rows(const npu_conv *c, uint64_t y, uint64_t rows, uint64_t k, uint64_t count) {
    const uint64_t first = y * c->stride_h + k * c->dil_h;
    const uint64_t end = (y + rows - 1) * c->stride_h + (k + count - 1) * c->dil_h + 1;
    const uint64_t from = first > c->pad_t ? first - c->pad_t : 0;
    const uint64_t to = least(end > c->pad_t ? end - c->pad_t : 0, c->ih);
    return to > from ? to - from : 0;
}

/* One row of tasks: all output columns of some output rows, some kernel rows, a slice of input and of output channels. */
typedef struct slice {
    uint64_t oy, rows, ky, kh, ic, oc;
    bool adds, last; /* reads sums; writes the result */
} slice;

static void add_conv_task(const npu_conv *c, const npu_conv_plan *p, const slice *s, net_rt_estimate *e) {
    const bool depthwise = p->op == NPU_GEMM_DEPTHWISE;
    const uint32_t n = p->n;
    const uint64_t icb = depthwise ? 1 : up(s->ic, n);
    const uint64_t ocb = up(s->oc, n);
    const uint64_t taps = s->kh * c->kw;
    const uint64_t pixels = s->rows * p->ow;
    const uint64_t rows = input_rows(c, s->oy, s->rows, s->ky, s->kh);
    const uint64_t pass = up(pixels, 2ull * n) * n * taps * icb;
    const uint64_t input = tensor_bytes(c->in_layout, n, rows * c->iw, depthwise ? s->oc : s->ic);
    const uint64_t weights = ocb * taps * icb * n * (depthwise ? 1 : n);
    const uint64_t sums = pixels * s->oc * 4;
    const uint64_t first_rows = input_rows(c, s->oy, least(up(2ull * n, p->ow), s->rows), s->ky, s->kh);
    const uint64_t first_input = tensor_bytes(c->in_layout, n, first_rows * c->iw, depthwise ? least(s->oc, n) : s->ic);
    uint64_t fill = up(first_input + weights / ocb, BUS_BYTES);
    /* with the input on chip, the first block of output channels cannot go on before its rows are there */
    if (!p->resident && input / BUS_BYTES > pass) {
        fill = most(fill, input / BUS_BYTES - pass);
    }
    e->mesh += pass * ocb;
    e->read += up(input + weights + s->oc * 8 + (s->adds ? sums : 0), BUS_BYTES);
    e->write += up(s->last ? tensor_bytes(c->out_layout, n, pixels, s->oc) : sums, BUS_BYTES);
    e->fill = e->tasks == 0 ? fill : e->fill;
    e->tasks += p->row_split ? s->rows * p->ow_tasks : p->ow_tasks;
}

static void predict_conv(const npu_conv *c, const npu_conv_plan *p, net_rt_estimate *e) {
    const uint64_t icg = c->ic / c->groups;
    const uint64_t ocg = c->oc / c->groups;
    for (uint64_t g = 0; g < p->group_tasks; g++) {
        const uint64_t groups = least(p->merge, c->groups - g * p->merge);
        const uint64_t ic = p->op == NPU_GEMM_DEPTHWISE ? p->ic_task : groups * icg;
        const uint64_t oc = groups * ocg;
        for (uint64_t o = 0; o < oc; o += p->oc_task) {
            for (uint64_t i = 0; i < ic; i += p->ic_task) {
                for (uint64_t k = 0; k < c->kh; k += p->kh_task) {
                    for (uint64_t y = 0; y < p->oh; y += p->oh_task) {
                        const slice s = {.oy = y,
                                         .rows = least(p->oh_task, p->oh - y),
                                         .ky = k,
                                         .kh = least(p->kh_task, c->kh - k),
                                         .ic = least(p->ic_task, ic - i),
                                         .oc = least(p->oc_task, oc - o),
                                         .adds = i != 0 || k != 0,
                                         .last = i + p->ic_task >= ic && k + p->kh_task >= c->kh};
                        add_conv_task(c, p, &s, e);
                    }
                }
            }
        }
    }
    /* the last group of pixels, all channels of a block */
    e->drain = up(tensor_bytes(c->out_layout, p->n, least((uint64_t)p->group * 2 * p->n, (uint64_t)p->ow * p->oh), p->n), BUS_BYTES);
}

static void predict_streams(const npu_tensor *const *in, uint32_t inputs, const npu_tensor *out, uint32_t n, net_rt_estimate *e) {
    for (uint32_t i = 0; i < inputs; i++) {
        e->read += up(tensor_bytes(in[i]->layout, n, (uint64_t)in[i]->w * in[i]->h, in[i]->c), BUS_BYTES);
    }
    e->write += up(tensor_bytes(out->layout, n, (uint64_t)out->w * out->h, out->c), BUS_BYTES);
    e->tasks += 1;
}

net_rt_estimate net_rt_predict(const net_rt *rt, uint32_t layer) {
    const rt_layer *rl = &rt->layer[layer];
    const net_layer *l = &rt->graph->layer[layer];
    const uint32_t n = rt->npu.n;
    net_rt_estimate e = {0};
    const npu_tensor *in[2] = {&rl->elt.a, &rl->elt.b};
    switch (rl->kind) {
    case RT_CONV:
        predict_conv(&rl->conv, &rl->plan, &e);
        break;
    case RT_POOL:
        in[0] = &rl->pool.in;
        predict_streams(in, 1, &rl->pool.out, n, &e);
        e.fill = up(tensor_bytes(in[0]->layout, n, (uint64_t)in[0]->w * rl->pool.kh, least(in[0]->c, n)), BUS_BYTES);
        break;
    case RT_ELTWISE:
        for (uint32_t k = 1; k == 1 || k < (rl->pieces > 0 ? rl->pieces + 1 : l->num_in); k++) {
            predict_streams(in, l->num_in > 1 && !rl->by_channel ? 2 : 1, &rl->elt.out, n, &e);
        }
        break;
    case RT_UPSAMPLE:
        predict_streams(in, 1, &rl->elt.out, n, &e);
        break;
    case RT_MOVE:
        for (uint32_t m = 0; m < rl->moves; m++) {
            const net_shape *s = &rt->graph->blob[l->in[0]].shape;
            const uint64_t bytes = (uint64_t)rl->move[m].count * s->w * s->h * 4;
            e.read += up(bytes, BUS_BYTES);
            e.write += up(bytes, BUS_BYTES);
            e.tasks += 1;
        }
        break;
    default:
        return e;
    }
    e.bound = most(e.mesh, most(e.read, e.write));
    e.cycles = e.bound + e.fill + e.drain + TASK_START + TASK_LATENCY + (e.tasks > 0 ? (e.tasks - 1) * TASK_PAUSE : 0);
    return e;
}
