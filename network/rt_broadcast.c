/*
 * rt_broadcast.c - BinaryOp of two blobs of different shapes: piece by piece, each one operation of the ALU. A piece is
 * a plane or a row of the output; each operand has as many elements there, or one of them a single element.
 */
#include "rt.h"

/* Above it the host is faster: a piece takes about ten register accesses. */
#define MOST_PIECES 4096u

/* A blob in the shape of the output: elements, and bytes from one to the next, 0 where it repeats (c, h, w). */
typedef struct side {
    uint32_t blob;
    uint32_t size[3], step[3];
} side;

static side look(const net_rt *rt, uint32_t blob, const uint32_t size[3]) {
    const net_shape *s = &rt->graph->blob[blob].shape;
    side v = {.blob = blob, .step = {size[1] * size[2] * 4, size[2] * 4, 4}};
    v.step[0] = s->dims == 3 ? (uint32_t)rt_cstep(s) : v.step[0];
    for (int i = 0; i < 3; i++) {
        v.size[i] = size[i];
        v.step[i] = size[i] == 1 ? 0 : v.step[i];
    }
    return v;
}

/* Both inputs and the output, and how they are split. */
typedef struct pieces {
    side in[2], out;
    uint32_t a;   /* number of the input that is operand a */
    bool element; /* the other operand has a single element in a piece; else both have all */
    bool planes;  /* a piece is a plane of the output; else a row */
} pieces;

/* The rows of a plane are contiguous. */
static bool whole_planes(const side *s) {
    return s->size[1] == 1 || s->step[1] == s->size[2] * 4;
}

static pieces cut(const net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    uint32_t deep[2][NET_MAX_DIMS];
    uint32_t size[2][3];
    uint32_t out[3];
    pieces p = {.a = 0};
    net_op_binary_sizes(rt->graph, layer, deep);
    for (int i = 0; i < 3; i++) { /* of three dimensions: d is 1 */
        size[0][i] = deep[0][i == 0 ? 0 : i + 1];
        size[1][i] = deep[1][i == 0 ? 0 : i + 1];
        out[i] = size[0][i] > size[1][i] ? size[0][i] : size[1][i];
    }
    for (int i = 0; i < 2; i++) {
        p.in[i] = look(rt, layer->in[i], size[i]);
    }
    p.out = look(rt, layer->out[0], out);
    p.element = size[0][2] != size[1][2];
    p.a = p.element && size[0][2] == 1 ? 1 : 0;
    const side *other = &p.in[1 - p.a];
    bool together = p.element ? other->size[1] == 1 : other->size[1] == out[1];
    p.planes = together && p.in[p.a].size[1] == out[1] && whole_planes(&p.in[p.a]) && whole_planes(&p.out) &&
               (p.element || whole_planes(other));
    return p;
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* The operation of piece (c, y), with the blobs at these addresses. */
static npu_eltwise piece(const rt_layer *rl, const pieces *p, const uint32_t in[2], uint32_t out, uint32_t c,
                         uint32_t y) {
    const net_shape shape = {3, p->out.size[2], p->planes ? p->out.size[1] : 1, 1, 1};
    npu_eltwise op = rl->elt;
    uint32_t at[2];
    for (int i = 0; i < 2; i++) {
        const side *s = &p->in[i];
        at[i] = in[i] + least(c, s->size[0] - 1) * s->step[0] + least(y, s->size[1] - 1) * s->step[1];
    }
    op.a = (npu_tensor){.addr = at[p->a],
                        .step = (uint32_t)rt_cstep(&shape),
                        .w = shape.w,
                        .h = shape.h,
                        .c = 1,
                        .layout = NPU_FP32_NCHW};
    op.b = op.out = op.a;
    op.b.addr = op.p_addr = at[1 - p->a];
    op.out.addr = out + c * p->out.step[0] + y * p->out.step[1];
    return op;
}

static uint32_t rows_of(const pieces *p) {
    return p->planes ? 1 : p->out.size[1];
}

bool rt_map_broadcast(net_rt *rt, uint32_t number, int32_t code) {
    static const uint32_t probe[2] = {0x10000000u, 0x50000000u};
    rt_layer *rl = &rt->layer[number];
    const pieces p = cut(rt, number);
    npu_job job;
    if (rt->graph->blob[p.out.blob].shape.dims == 4) {
        return rt_reason(rl, "inputs of different shapes with four dimensions");
    }
    if (!rt_binary_op(code, p.a == 1, &rl->elt.op)) {
        return rt_reason(rl, "operation %d", code);
    }
    if ((uint64_t)p.out.size[0] * rows_of(&p) > MOST_PIECES) {
        return rt_reason(rl, "inputs of different shapes, in more than %u pieces", MOST_PIECES);
    }
    rl->kind = RT_ELTWISE;
    rl->pieces = p.out.size[0] * rows_of(&p);
    rl->elt.p_kind = p.element ? NPU_CHANNEL : NPU_VECTOR;
    rl->elt = piece(rl, &p, probe, 0x90000000u, 0, 0);
    npu_status status = npu_job_eltwise(&job, &rt->npu, &rl->elt);
    return status == NPU_OK || rt_reason(rl, "the driver: %s", npu_strerror(status));
}

npu_eltwise rt_broadcast_piece(const net_rt *rt, uint32_t number, uint32_t index) {
    const pieces p = cut(rt, number);
    const uint32_t in[2] = {rt_addr(rt, p.in[0].blob), rt_addr(rt, p.in[1].blob)};
    return piece(&rt->layer[number], &p, in, rt_addr(rt, p.out.blob), index / rows_of(&p), index % rows_of(&p));
}

npu_status rt_run_broadcast(net_rt *rt, uint32_t number) {
    npu_status ns = NPU_OK;
    for (uint32_t i = 0; ns == NPU_OK && i < rt->layer[number].pieces; i++) {
        const npu_eltwise op = rt_broadcast_piece(rt, number, i);
        ns = npu_eltwise_run(&rt->npu, &op);
    }
    return ns;
}
