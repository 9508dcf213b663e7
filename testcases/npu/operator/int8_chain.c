/*
 * int8_chain.c - layers that pass INT8 NHWC tensors to each other without FP32 in between; the last one writes FP32, to
 * which another tensor is added. Every layer is checked against the definition, on the tensor that the layer before
 * wrote to memory.
 */
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAYERS 7u /* the last one outputs FP32 */

static const tb_knob knobs_of_chain[] = {
    {"layers", 2, MAX_LAYERS - 1, TB_KNOB_UNIFORM, NULL, NULL, "layers with an INT8 output"},
    {"c", 1, 256, TB_KNOB_UNIFORM, NULL, NULL, "channels of the input"},
    {"h", 1, 128, TB_KNOB_UNIFORM, NULL, NULL, "rows of the input"},
    {"w", 1, 128, TB_KNOB_UNIFORM, NULL, NULL, "columns of the input"},
    {"max_oc", 1, 256, TB_KNOB_UNIFORM, NULL, NULL,
     "most output channels of a layer (grouped: up to the next multiple)"},
    {"in_layout", 0, 1, TB_KNOB_ENUM, conv_layout_names, NULL, "of the input"},
    {"jobs", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: all layers are passed to the driver at once"},
    {"in_place", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: the sum replaces its first operand"},
    {"gap", 0, 4, TB_KNOB_SMALL, NULL, NULL, "unused units between channels (16 bytes) or pixels (N bytes)"},
    {"place", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "shift of the buffers against 4 KB, in 16-byte units"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"wait", 0, 1, TB_KNOB_ENUM, conv_wait_names, NULL, "how the driver waits"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
    {"writes", 0, 1, (tb_knob_kind)(TB_KNOB_WEIGHTED | TB_KNOB_LATER), NULL, tc_writes_weight, TC_WRITES_HELP},
};

static void generate(const tc_gen *g) {
    tb_knobs_draw(g->knobs, g->seed);
    tb_knobs_draw_in(g->knobs, "c", g->seed, 1, 3 * (int64_t)g->n);
    tb_knobs_draw_in(g->knobs, "max_oc", g->seed, 1, 3 * (int64_t)g->n);
    const int64_t side = 1 + (int64_t)(g->seed % 20); /* small maps more often: most layers keep their size */
    tb_knobs_draw_in(g->knobs, "h", g->seed, 1, side);
    tb_knobs_draw_in(g->knobs, "w", g->seed, 1, side);
    if (tb_knobs_get(g->knobs, "writes") != 0) { /* more pixels than send_buf has words */
        tb_knobs_draw_in(g->knobs, "h", g->seed, 24, 40);
        tb_knobs_draw_in(g->knobs, "w", g->seed, 24, 40);
    }
}

typedef struct chain {
    tc_run *run;
    layer layer[MAX_LAYERS];
    uint32_t count;
} chain;

static layer_kind draw_kind(tb_rng *rng, const npu_tensor *in) {
    const uint64_t r = tb_rng_range(rng, 0, 15);
    if (in->w == 1 && in->h == 1 && r < 8) {
        return LAYER_LINEAR;
    }
    if (r == 15 && in->w <= 7 && in->h <= 7) {
        return LAYER_WHOLE;
    }
    return r < 7 ? LAYER_CONV : r < 12 ? LAYER_DW : LAYER_GROUPED;
}

/* Everything but the addresses of tensors. */
static int make_layers(chain *c) {
    tc_run *run = c->run;
    const tb_knobs *k = run->knobs;
    const uint32_t layers = tc_knob(k, "layers") + 1;
    tb_rng rng = tb_rng_stream(run->seed, "int8_chain.kinds");
    layer_spec spec = {.in = {.w = tc_knob(k, "w"), .h = tc_knob(k, "h"), .c = tc_knob(k, "c")},
                       .max_oc = tc_knob(k, "max_oc")};
    spec.in.layout = (npu_layout)tb_knobs_get(k, "in_layout");
    for (c->count = 0; c->count < layers;) {
        layer *l = &c->layer[c->count];
        spec.index = c->count;
        spec.out_layout = c->count + 1 < layers ? NPU_INT8_NHWC : NPU_FP32_NCHW;
        /* A vector of contiguous FP32 values is not a map with a channel step of 16 bytes. */
        spec.kind = spec.in.layout == NPU_FP32_NCHW ? LAYER_CONV : draw_kind(&rng, &spec.in);
        spec.kind = spec.kind == LAYER_LINEAR && spec.out_layout == NPU_FP32_NCHW ? LAYER_CONV : spec.kind;
        c->count++;
        if (layer_make(l, run, &spec, tc_knob(k, "gap")) != 0) {
            return -1;
        }
        spec.in = l->op.out;
        spec.in_scale = l->op.math.out_scale;
    }
    return 0;
}

static int place_layers(chain *c) {
    tc_run *run = c->run;
    conv_op *first = &c->layer[0].op;
    if (tensor_new(run, "input", &first->in, 0, NPU_BUF_IN) != 0 ||
        tensor_write_elements(run, &first->in,
                              first->t->input != NULL ? (const void *)first->t->input : first->t->quantised) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        conv_op *op = &c->layer[i].op;
        char name[32];
        snprintf(name, sizeof name, "output %u", i);
        if (i > 0) {
            op->in = c->layer[i - 1].op.out;
        }
        if (tensor_new(run, name, &op->out, 0, NPU_BUF_SCRATCH) != 0 || tensor_prefill(run, &op->out) != 0 ||
            conv_op_params(op) != 0) {
            return -1;
        }
    }
    return 0;
}

static void run_layers(chain *c) {
    npu_job jobs[MAX_LAYERS];
    npu *dev = &c->run->npu;
    npu_status status = NPU_OK;
    const bool at_once = tb_knobs_get(c->run->knobs, "jobs") != 0;
    for (uint32_t i = 0; i < c->count && status == NPU_OK; i++) {
        conv_op *op = &c->layer[i].op;
        status =
            at_once ? npu_job_conv(&jobs[i], dev, &op->drive, &op->plan) : npu_conv_run(dev, &op->drive, &op->plan);
    }
    if (status == NPU_OK && at_once) {
        status = npu_jobs_run(dev, jobs, c->count);
    }
    if (status != NPU_OK) {
        tc_driver_failed(c->run, "layers", status, NPU_OK);
    }
}

static int check_layers(chain *c) {
    tc_run *run = c->run;
    for (uint32_t i = 0; i < c->count && tc_ok(run); i++) {
        layer *l = &c->layer[i];
        uint8_t *image = tensor_read(run, l->name, &l->op.out);
        int rc = image == NULL && tc_ok(run) ? -1 : 0;
        if (image != NULL) {
            tensor_check_gaps(run, l->name, &l->op.out, image);
            layer_check(l, image);
            rc = i + 1 < c->count ? layer_set_input(&c->layer[i + 1], image) : 0;
        }
        free(image);
        if (rc != 0) {
            return -1;
        }
    }
    return 0;
}

/* act(a + b) of the last layer's output and another tensor. */
static void check_sum(chain *c, const npu_eltwise *e, const uint32_t *b, const uint8_t *a, const uint8_t *sum) {
    const uint32_t pixels = e->out.w * e->out.h;
    for (uint32_t i = 0; i < pixels * e->out.c && c->run->result->outcome == TB_PASS; i++) {
        const size_t at = tensor_offset(&e->out, i / pixels, i % pixels);
        const float y = ref_float(tensor_word(a + at)) + ref_float(b[i]);
        const ref_value want = ref_act(e->act, e->act_p, ref_bits(y));
        if (!ref_is_f32(&want, tensor_word(sum + at))) {
            tc_fail(c->run, "int8_chain: sum", "channel %u pixel %u: got 0x%08X, the definition gives %.9g", i / pixels,
                    i % pixels, tensor_word(sum + at), ref_middle(&want));
        }
    }
}

static int run_sum(chain *c, npu_eltwise *e, const uint32_t *b) {
    tc_run *run = c->run;
    uint8_t *before = tensor_read(run, "last layer", &e->a);
    int rc = before == NULL ? -1 : 0;
    if (rc == 0) {
        const npu_status status = npu_eltwise_run(&run->npu, e);
        if (status != NPU_OK) {
            tc_driver_failed(run, "sum", status, NPU_OK);
        }
    }
    uint8_t *after = rc == 0 && tc_ok(run) ? tensor_read(run, "sum", &e->out) : NULL;
    if (after != NULL) {
        tensor_check_gaps(run, "sum", &e->out, after);
        check_sum(c, e, b, before, after);
    }
    free(before);
    free(after);
    return rc != 0 && tc_ok(run) ? -1 : 0;
}

static int add_residual(chain *c) {
    tc_run *run = c->run;
    const npu_tensor *last = &c->layer[c->count - 1].op.out;
    const size_t count = (size_t)last->w * last->h * last->c;
    npu_eltwise e = {.op = NPU_ALU_ADD, .p_kind = NPU_VECTOR, .a = *last, .b = *last, .out = *last};
    uint32_t *b = malloc(count * 4);
    if (b == NULL) {
        return tc_no_memory(run);
    }
    tb_rng rng = tb_rng_stream(run->seed, "int8_chain.residual");
    npu_conv act = {.act = (npu_act)tb_rng_range(&rng, 0, NPU_ACT_COUNT - 1), .kw = 1, .kh = 1, .ic = 1, .groups = 1};
    const conv_draw draw = {.seed = run->seed};
    conv_draw_factors(&draw, &act); /* parameters of the activation */
    e.act = act.act;
    memcpy(e.act_p, act.act_p, sizeof e.act_p);
    for (size_t i = 0; i < count; i++) {
        b[i] = ref_bits(tb_rng_f32_range(&rng, -8.0f, 8.0f));
    }
    int rc = tensor_new(run, "residual", &e.b, 0, NPU_BUF_IN);
    if (rc == 0) {
        rc = tensor_write_elements(run, &e.b, b);
    }
    if (rc == 0 && tb_knobs_get(run->knobs, "in_place") == 0) {
        rc = tensor_new(run, "sum", &e.out, 0, NPU_BUF_OUT);
        rc = rc == 0 ? tensor_prefill(run, &e.out) : rc;
    }
    if (rc == 0) {
        rc = run_sum(c, &e, b);
    }
    free(b);
    return rc;
}

static int execute(tc_run *run) {
    chain *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return tc_no_memory(run);
    }
    c->run = run;
    int rc = make_layers(c);
    if (rc == 0) {
        rc = tc_open(run, UINT64_C(256) << 20, TENSOR_GEMM_TIMEOUT_US);
    }
    if (rc == 0) {
        rc = place_layers(c);
    }
    if (rc == 0 && tc_ok(run)) {
        run_layers(c);
    }
    if (rc == 0 && tc_ok(run)) {
        rc = check_layers(c);
    }
    if (rc == 0 && tc_ok(run)) {
        rc = add_residual(c);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        layer_free(&c->layer[i]);
    }
    free(c);
    return rc;
}

const tc_test tc_int8_chain = {.name = "int8_chain",
                               .help = "2 to 6 layers that stay in INT8 NHWC, one to FP32, and a residual sum",
                               .is_operator = false,
                               TB_KNOBS_OF(knobs_of_chain),
                               .generate = generate,
                               .execute = execute};
