/* jobs_chain.c - two jobs of one unit, the later one reads what the earlier one wrote. */
#include "jobs.h"

#include "eltwise.h"
#include "pool.h"

static int make(tc_run *run, const tb_knobs *knobs, uint64_t seed, jobs_chain *c, const npu_tensor shape[3]) {
    const tensor_place place = {.knobs = knobs, .seed = seed};
    if (tensor_make(run, &place, "chain.in", shape[0], NPU_BUF_IN, &c->in) != 0 ||
        tensor_make(run, &place, "chain.mid", shape[1], NPU_BUF_SCRATCH, &c->mid) != 0 ||
        tensor_make(run, &place, "chain.out", shape[2], NPU_BUF_OUT, &c->out) != 0) {
        return -1;
    }
    tb_rng rng = tb_rng_stream(seed, "chain.data");
    tensor_fill(&c->in, &rng, (tensor_data)tb_knobs_get(knobs, "data"));
    return tensor_put(run, &c->in, false) != 0 || tensor_blank(run, &c->mid) != 0 || tensor_blank(run, &c->out) != 0
               ? -1
               : 0;
}

/* mid = in + in, out = |mid| or max(mid, -1). */
static int prepare_alu(tc_run *run, const tb_knobs *knobs, uint64_t seed, tb_rng *rng, jobs_chain *c) {
    npu_tensor shape[3] = {{.w = (uint32_t)tb_rng_range(rng, 1, 40),
                            .h = (uint32_t)tb_rng_range(rng, 1, 20),
                            .c = (uint32_t)tb_rng_range(rng, 1, 20)}};
    shape[1] = shape[2] = shape[0];
    if (make(run, knobs, seed, c, shape) != 0) {
        return -1;
    }
    c->elt[0] = (npu_eltwise){.op = NPU_ALU_ADD, .p_kind = NPU_VECTOR, .a = c->in.at, .b = c->in.at, .out = c->mid.at};
    c->elt[1] = (npu_eltwise){.op = tb_rng_chance(rng, 1, 2) ? NPU_ALU_ABS : NPU_ALU_MAX,
                              .p = ref_bits(-1.0f),
                              .a = c->mid.at,
                              .out = c->out.at};
    for (size_t i = 0; i < c->in.count; i++) {
        c->mid.v[i] = eltwise_reference(NPU_ALU_ADD, c->in.v[i], c->in.v[i], 0);
        c->out.v[i] = eltwise_reference(c->elt[1].op, c->mid.v[i], c->elt[1].p, 0);
    }
    return 0;
}

/* Maxima of maxima. */
static int prepare_pool(tc_run *run, const tb_knobs *knobs, uint64_t seed, tb_rng *rng, jobs_chain *c) {
    npu_tensor shape[3] = {{.w = (uint32_t)tb_rng_range(rng, 7, 80),
                            .h = (uint32_t)tb_rng_range(rng, 7, 20),
                            .c = (uint32_t)tb_rng_range(rng, 1, 2 * run->n),
                            .layout = tb_rng_chance(rng, 1, 2) ? NPU_INT8_NHWC : NPU_FP32_NCHW}};
    shape[1] = shape[2] = shape[0];
    shape[1].w -= 2;
    shape[1].h -= 2;
    shape[2].w -= 4;
    shape[2].h -= 4;
    if (make(run, knobs, seed, c, shape) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < 2; i++) {
        c->pool[i] = (npu_pool){.in = i == 0 ? c->in.at : c->mid.at,
                                .out = i == 0 ? c->mid.at : c->out.at,
                                .kw = 3,
                                .kh = 3,
                                .stride_w = 1,
                                .stride_h = 1};
    }
    pool_reference(&c->pool[0], &c->in, &c->mid);
    pool_reference(&c->pool[1], &c->mid, &c->out);
    return 0;
}

int jobs_chain_prepare(tc_run *run, const tb_knobs *knobs, uint64_t seed, jobs_chain *c) {
    tb_rng rng = tb_rng_stream(seed, "jobs.chain");
    c->is_pool = tb_rng_chance(&rng, 1, 2);
    return c->is_pool ? prepare_pool(run, knobs, seed, &rng, c) : prepare_alu(run, knobs, seed, &rng, c);
}

npu_status jobs_chain_start(const npu *dev, const jobs_chain *c, uint32_t which, npu_job *job) {
    return c->is_pool ? npu_job_pool(job, dev, &c->pool[which]) : npu_job_eltwise(job, dev, &c->elt[which]);
}

void jobs_chain_verify(tc_run *run, const jobs_chain *c) {
    tensor_check(run, &c->mid, "first of the chain", NULL, NULL);
    if (tc_ok(run)) {
        tensor_check(run, &c->out, "second of the chain", NULL, NULL);
    }
}

void jobs_chain_release(jobs_chain *c) {
    tensor_free(&c->in);
    tensor_free(&c->mid);
    tensor_free(&c->out);
}
