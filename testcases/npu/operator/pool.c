/*
 * pool.c - the pool test: one pooling through the driver, every output against the definition.
 */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const shape_names[POOL_SHAPE_COUNT] = {"any", "wide", "large", "tiny", "deep", "whole"};
static const char *const type_names[] = NPU_POOL_CTRL_TYPE_NAMES;
static const uint32_t shape_weight[POOL_SHAPE_COUNT] = {8, 3, 3, 2, 2, 3};

static const tb_knob knobs_of_pool[] = {
    {"shape", 0, POOL_SHAPE_COUNT - 1, TB_KNOB_ENUM, shape_names, shape_weight, "kind of shape to generate"},
    {"w", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "input columns"},
    {"h", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "input rows"},
    {"c", 1, 4096, TB_KNOB_SMALL, NULL, NULL, "channels"},
    {"type", 0, NPU_POOL_CTRL_TYPE_COUNT - 1, TB_KNOB_ENUM, type_names, NULL, "of POOL_CTRL"},
    {"int8", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: INT8 NHWC, 0: FP32 NCHW"},
    {"k", 0, 255, TB_KNOB_SMALL, NULL, NULL, "square window; 0: kw and kh"},
    {"kw", 1, 255, TB_KNOB_SMALL, NULL, NULL, "window columns"},
    {"kh", 1, 255, TB_KNOB_SMALL, NULL, NULL, "window rows"},
    {"s", 0, 255, TB_KNOB_SMALL, NULL, NULL, "stride both ways; 0: sw and sh"},
    {"sw", 1, 255, TB_KNOB_SMALL, NULL, NULL, "column stride"},
    {"sh", 1, 255, TB_KNOB_SMALL, NULL, NULL, "row stride"},
    {"p", -1, 254, TB_KNOB_SMALL, NULL, NULL, "padding on all sides; -1: pl pr pt pb"},
    {"pl", 0, 254, TB_KNOB_SMALL, NULL, NULL, "padding left"},
    {"pr", 0, 254, TB_KNOB_SMALL, NULL, NULL, "padding right"},
    {"pt", 0, 254, TB_KNOB_SMALL, NULL, NULL, "padding above"},
    {"pb", 0, 254, TB_KNOB_SMALL, NULL, NULL, "padding below"},
    {"exclude", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: averages over elements inside the map only"},
    {"ceil", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: size of the output is rounded up"},
    {"global", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: the window is the map"},
    TENSOR_KNOBS,
};

typedef struct pool_op {
    tensor_op op;
    npu_pool pool;
} pool_op;

static uint64_t bytes_of(uint32_t n, const tb_knobs *knobs) {
    npu_pool p = pool_of(knobs);
    uint32_t ow = 0;
    uint32_t oh = 0;
    npu_pool_shape(&p, &ow, &oh); /* zero if it is impossible, which prepare() reports */
    const uint64_t gaps = UINT64_C(16) * tc_knob(knobs, "gap");
    const uint64_t pixels = (uint64_t)p.in.w * p.in.h + (uint64_t)ow * oh;
    return p.in.layout == NPU_INT8_NHWC ? pixels * (p.in.c + n + (uint64_t)n * tc_knob(knobs, "gap"))
                                        : (pixels * 4 + 2 * gaps + 64) * p.in.c;
}

/* Factors for windows at the edges of the map. */
static int put_table(tc_run *run, const tensor_place *place, npu_pool *p) {
    npu_status status = npu_pool_table_bytes(p, &p->table_bytes);
    if (status != NPU_OK || p->table_bytes == 0) {
        if (status != NPU_OK) {
            tc_driver_failed(run, "size of the factor table", status, NPU_OK);
        }
        return 0;
    }
    float *table = malloc(p->table_bytes);
    uint32_t *bits = malloc(p->table_bytes);
    if (table != NULL && bits != NULL) {
        status = npu_pool_make_table(p, table, p->table_bytes);
        memcpy(bits, table, p->table_bytes);
        p->table_addr = tensor_put_array(run, place, "table", bits, p->table_bytes / 4);
    }
    free(table);
    free(bits);
    if (status != NPU_OK) {
        tc_driver_failed(run, "factor table", status, NPU_OK);
    }
    return p->table_addr != 0 ? 0 : -1;
}

static bool right_shape(tc_run *run, const npu_pool *p, uint32_t ow, uint32_t oh) {
    const uint32_t w = p->global ? 1 : pool_windows(p->in.w, p->pad_l, p->pad_r, p->kw, p->stride_w, p->ceil_mode);
    const uint32_t h = p->global ? 1 : pool_windows(p->in.h, p->pad_t, p->pad_b, p->kh, p->stride_h, p->ceil_mode);
    if (w != ow || h != oh) {
        tc_fail(run, "pool: shape", "npu_pool_shape gives %u x %u outputs, the definition %u x %u", ow, oh, w, h);
    }
    return w == ow && h == oh;
}

static void describe(pool_op *o) {
    const npu_pool *p = &o->pool;
    const char *what = p->type == NPU_POOL_CTRL_TYPE_AVG ? "average" : type_names[p->type];
    const uint32_t size = p->in.layout == NPU_INT8_NHWC ? 1 : 4;
    if (p->global) {
        snprintf(o->op.what, sizeof o->op.what, "%ux%ux%u, global %s pooling, %s", p->in.w, p->in.h, p->in.c, what,
                 size == 1 ? "INT8" : "FP32");
    } else {
        snprintf(o->op.what, sizeof o->op.what,
                 "%ux%ux%u -> %ux%ux%u, %s pooling, window %ux%u, stride %u %u, padding %u %u %u %u%s%s, %s", p->in.w,
                 p->in.h, p->in.c, p->out.w, p->out.h, p->out.c, what, p->kw, p->kh, p->stride_w, p->stride_h, p->pad_l,
                 p->pad_r, p->pad_t, p->pad_b, p->exclude_pad ? " excluded" : "", p->ceil_mode ? ", rounded up" : "",
                 size == 1 ? "INT8" : "FP32");
    }
    o->op.bounds = (tc_bounds){.op = p->type == NPU_POOL_CTRL_TYPE_AVG   ? "average pooling"
                                     : p->type == NPU_POOL_CTRL_TYPE_MAX ? "max pooling"
                                                                         : "pooling",
                               .read_bytes = size * o->op.a.count,
                               .write_bytes = size * o->op.out.count};
}

static int prepare(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op) {
    pool_op *o = (pool_op *)op;
    const tensor_place place = {.knobs = knobs, .seed = seed};
    npu_pool *p = &o->pool;
    *p = pool_of(knobs);
    const npu_status status = npu_pool_shape(p, &p->out.w, &p->out.h);
    if (status != NPU_OK || !right_shape(run, p, p->out.w, p->out.h)) {
        if (status != NPU_OK) {
            tc_driver_failed(run, "size of the output", status, NPU_OK);
        }
        return 0;
    }
    if (tensor_make(run, &place, "input", p->in, NPU_BUF_IN, &o->op.a) != 0 ||
        tensor_make(run, &place, "output", p->out, NPU_BUF_OUT, &o->op.out) != 0) {
        return -1;
    }
    p->in = o->op.a.at;
    p->out = o->op.out.at;
    tb_rng rng = tb_rng_stream(seed, "pool.input");
    tensor_fill(&o->op.a, &rng, (tensor_data)tb_knobs_get(knobs, "data"));
    pool_reference(p, &o->op.a, &o->op.out);
    describe(o);
    if (tensor_put(run, &o->op.a, (seed & 1) != 0) != 0 || tensor_blank(run, &o->op.out) != 0) {
        return -1;
    }
    return put_table(run, &place, p);
}

static npu_status start(const npu *dev, const tensor_op *op, npu_job *job) {
    return npu_job_pool(job, dev, &((const pool_op *)op)->pool);
}

static npu_status run_it(npu *dev, tensor_op *op) {
    return npu_pool_run(dev, &((pool_op *)op)->pool);
}

const tensor_kind pool_kind = {
    .test = &tc_pool, .size = sizeof(pool_op), .bytes = bytes_of, .prepare = prepare, .start = start, .run = run_it};

const tc_test tc_pool = {.name = "pool",
                         .help = "pooling, constrained random over shapes, windows, layouts, data and bus timing",
                         .is_operator = true,
                         TB_KNOBS_OF(knobs_of_pool),
                         .generate = pool_generate,
                         .settle = pool_settle,
                         .check = pool_check,
                         .kind = &pool_kind,
                         .execute = tensor_execute};
