/*
 * int16.c - INT16 convolutions (npu_conv.wide) and conversions: every element against its definition, twice with
 * different splits. On a device without INT16 the driver must refuse, and the device must drop such a task.
 */
#include "int16.h"
#include "npu_regs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const op_names[INT16_OPS] = {"conv", "dw", "to", "from"};
static const char *const data_names[INT16_DATA] = {"plain", "extreme", "small", "specials"};
static const char *const layout_names[] = {"fp32", "int16"};
static const char *const act_names[] = {"none", "relu", "leaky"};
static const char *const resident_names[] = {"auto", "no", "yes"};
static const uint32_t op_weight[INT16_OPS] = {8, 3, 1, 1};
static const uint32_t data_weight[INT16_DATA] = {6, 3, 2, 2};

#define MAX_MACS 1500000u
#define MAX_ELEMENTS 60000u

#define SPLIT_KNOBS(end)                                                                                               \
    {"max_ic" end, 0, 64, TB_KNOB_SMALL, NULL, NULL, "blocks of input channels of a task, 0: the driver decides"},     \
        {"max_oc" end, 0, 64, TB_KNOB_SMALL, NULL, NULL, "blocks of output channels of a task"},                       \
        {"max_kh" end, 0, 8, TB_KNOB_SMALL, NULL, NULL, "kernel rows of a task"},                                      \
        {"max_oh" end, 0, 64, TB_KNOB_SMALL, NULL, NULL, "output rows of a task"},                                     \
        {"max_ow" end, 0, 64, TB_KNOB_SMALL, NULL, NULL, "output columns of a task"},                                  \
        {"group" end, 0, 255, TB_KNOB_SMALL, NULL, NULL, "tiles written back together"}, {                             \
        "res" end, 0, 2, TB_KNOB_ENUM, resident_names, NULL, "weights on chip"                                         \
    }

static const tb_knob knobs_of_int16[] = {
    {"op", 0, INT16_OPS - 1, TB_KNOB_ENUM, op_names, op_weight, "to, from: conversions of FP32"},
    {"ic", 1, 1024, TB_KNOB_SMALL, NULL, NULL, "input channels"},
    {"oc", 1, 1024, TB_KNOB_SMALL, NULL, NULL, "output channels, of conv"},
    {"h", 1, 1024, TB_KNOB_SMALL, NULL, NULL, "input rows"},
    {"w", 1, 4096, TB_KNOB_SMALL, NULL, NULL, "input columns"},
    {"kw", 1, 11, TB_KNOB_SMALL, NULL, NULL, "kernel columns"},
    {"kh", 1, 11, TB_KNOB_SMALL, NULL, NULL, "kernel rows"},
    {"s", 1, 4, TB_KNOB_SMALL, NULL, NULL, "stride"},
    {"d", 1, 3, TB_KNOB_SMALL, NULL, NULL, "dilation"},
    {"pad_l", 0, 6, TB_KNOB_SMALL, NULL, NULL, "columns of padding"},
    {"pad_t", 0, 6, TB_KNOB_SMALL, NULL, NULL, "rows of padding"},
    {"pad_r", 0, 6, TB_KNOB_SMALL, NULL, NULL, "columns of padding"},
    {"pad_b", 0, 6, TB_KNOB_SMALL, NULL, NULL, "rows of padding"},
    {"in", 0, 1, TB_KNOB_ENUM, layout_names, NULL, "input"},
    {"out", 0, 1, TB_KNOB_ENUM, layout_names, NULL, "output"},
    {"act", 0, 2, TB_KNOB_ENUM, act_names, NULL, "activation"},
    {"bias", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: biases"},
    {"data", 0, INT16_DATA - 1, TB_KNOB_ENUM, data_names, data_weight, "input values and weights"},
    {"gap", 0, 3, TB_KNOB_SMALL, NULL, NULL, "unused units between channels (16 bytes) or pixels (2N bytes)"},
    SPLIT_KNOBS(""),
    SPLIT_KNOBS("2"),
    {"second", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: once more, with the second splits"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"wait", 0, 1, TB_KNOB_ENUM, conv_wait_names, NULL, "how the driver waits"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

/* ---- the operator ---- */

static npu_conv conv_of(const tb_knobs *k) {
    static const npu_act acts[] = {NPU_ACT_NONE, NPU_ACT_RELU, NPU_ACT_LEAKY};
    const bool dw = tb_knobs_get(k, "op") == INT16_DW;
    const uint32_t ic = tc_knob(k, "ic");
    return (npu_conv){.iw = tc_knob(k, "w"),
                      .ih = tc_knob(k, "h"),
                      .ic = ic,
                      .oc = dw ? ic : tc_knob(k, "oc"),
                      .kw = tc_knob(k, "kw"),
                      .kh = tc_knob(k, "kh"),
                      .stride_w = tc_knob(k, "s"),
                      .stride_h = tc_knob(k, "s"),
                      .dil_w = tc_knob(k, "d"),
                      .dil_h = tc_knob(k, "d"),
                      .pad_l = tc_knob(k, "pad_l"),
                      .pad_r = tc_knob(k, "pad_r"),
                      .pad_t = tc_knob(k, "pad_t"),
                      .pad_b = tc_knob(k, "pad_b"),
                      .groups = dw ? ic : 1,
                      .act = acts[tb_knobs_get(k, "act")],
                      .act_p = {0x3DCCCCCDu, 0},
                      .has_bias = tb_knobs_get(k, "bias") != 0,
                      .wide = true,
                      .in_layout = tb_knobs_get(k, "in") != 0 ? NPU_INT16_NHWC : NPU_FP32_NCHW,
                      .out_layout = tb_knobs_get(k, "out") != 0 ? NPU_INT16_NHWC : NPU_FP32_NCHW};
}

static npu_conv_split split_of(uint32_t n, const tb_knobs *k, bool second) {
    static const char *const names[2][7] = {{"max_ic", "max_oc", "max_kh", "max_oh", "max_ow", "group", "res"},
                                            {"max_ic2", "max_oc2", "max_kh2", "max_oh2", "max_ow2", "group2", "res2"}};
    const char *const *name = names[second];
    return (npu_conv_split){.max_ic = n * tc_knob(k, name[0]),
                            .max_oc = n * tc_knob(k, name[1]),
                            .max_kh = tc_knob(k, name[2]),
                            .max_oh = tc_knob(k, name[3]),
                            .max_ow = tc_knob(k, name[4]),
                            .group = tc_knob(k, name[5]),
                            .no_resident = tb_knobs_get(k, name[6]) == 1,
                            .resident = tb_knobs_get(k, name[6]) == 2};
}

static bool converts(const tb_knobs *k) {
    return tb_knobs_get(k, "op") >= INT16_TO;
}

static int check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    const npu_conv c = conv_of(knobs);
    if ((uint64_t)c.iw * c.ih * c.ic > 64 * (uint64_t)MAX_ELEMENTS) {
        return opt_fail(err, err_size, "the input is too large");
    }
    for (uint32_t second = 0; second < 2 && !converts(knobs); second++) {
        npu_conv_plan plan;
        const npu_conv_split split = split_of(n, knobs, second != 0);
        const npu_status status = npu_conv_plan_make(n, &c, &split, &plan);
        if (status != NPU_OK) {
            return opt_fail(err, err_size, "the driver refuses this convolution: %s", npu_strerror(status));
        }
        if (plan.op != (tb_knobs_get(knobs, "op") == INT16_DW && c.ic > 1 ? NPU_GEMM_DEPTHWISE : NPU_GEMM_CONV)) {
            return opt_fail(err, err_size, "not an operator of this name");
        }
    }
    return 0;
}

static uint64_t macs_of(const tb_knobs *k) {
    const npu_conv c = conv_of(k);
    const uint64_t in = (uint64_t)c.iw * c.ih;
    return in * c.kw * c.kh * c.oc * (c.groups == 1 ? c.ic : 1) / (c.stride_w * c.stride_h) + in;
}

static void generate(const tc_gen *g) {
    static const char *const sizes[] = {"ic", "oc", "h", "w", "kw", "kh"};
    gen_start(g);
    gen_draw_in(g, "ic", 1, gen_chance(g, "int16.deep", 1, 4) ? 20 * (int64_t)g->n : 3 * (int64_t)g->n);
    gen_draw_in(g, "oc", 1, 3 * (int64_t)g->n);
    gen_draw_in(g, "h", 1, 24);
    gen_draw_in(g, "w", 1, gen_chance(g, "int16.wide", 1, 8) ? 300 : 30);
    gen_draw_in(g, "kw", 1, gen_chance(g, "int16.kernel", 1, 6) ? 11 : 3);
    gen_draw_in(g, "kh", 1, gen_chance(g, "int16.kernel", 1, 6) ? 11 : 3);
    const bool large = gen_chance(g, "int16.group", 1, 8); /* more tiles in a group than INT16 has room for */
    if (large) {
        gen_draw_in(g, "ic", 1, g->n);
        gen_draw_in(g, "h", 24, 40);
        gen_draw_in(g, "w", 24, 40);
        gen_draw_in(g, "group", 65, 255);
    }
    const bool splits = !large && gen_chance(g, "int16.splits", 1, 2);
    static const char *const names[] = {"max_ic",  "max_oc",  "max_kh",  "max_oh",  "max_ow",
                                        "max_ic2", "max_oc2", "max_kh2", "max_oh2", "max_ow2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gen_draw_in(g, names[i], 0, splits ? 3 : 0);
    }
    while ((macs_of(g->knobs) > MAX_MACS ||
            (uint64_t)tc_knob(g->knobs, "w") * tc_knob(g->knobs, "h") * tc_knob(g->knobs, "ic") > MAX_ELEMENTS) &&
           gen_shrink(g, sizes, NULL, sizeof sizes / sizeof *sizes)) {
    }
    /* windows that do not fit into the padded map, and splits that the driver refuses: the simplest ones instead */
    char err[128];
    static const char *const frills[] = {"d", "kw", "kh", "max_ow", "max_ow2", "res", "res2", "group", "group2"};
    static const int64_t simple[] = {1, 1, 1, 0, 0, 0, 0, 0, 0};
    for (size_t i = 0; i < sizeof frills / sizeof *frills && check(g->n, g->knobs, err, sizeof err) != 0; i++) {
        gen_put(g, frills[i], simple[i]);
    }
}

/* ---- runs ---- */

static int prefill(op16 *t) {
    const size_t bytes = (size_t)int16_pieces(&t->out) * t->out.step;
    memset(t->expected, TENSOR_FILL, bytes);
    return tensor_write(t->run, t->out.addr, t->expected, bytes);
}

static int place_params(op16 *t, const npu_conv_plan *plan) {
    tc_run *run = t->run;
    const size_t count = plan->param_bytes / 4;
    int8_t *packed = malloc(plan->wgt_bytes);
    float *array = calloc(count, sizeof *array);
    int rc = packed == NULL || array == NULL ? tc_no_memory(run) : 0;
    npu_status status = NPU_OK;
    if (rc == 0) {
        status = npu_conv_pack_weights16(&t->conv, plan, t->w, packed, plan->wgt_bytes);
    }
    if (rc == 0 && status == NPU_OK) {
        memcpy(array, t->oscale, t->conv.oc * sizeof *array);
        rc = tensor_new_bytes(run, "weights", packed, plan->wgt_bytes, &t->conv.wgt_addr) != 0 ||
                     tensor_new_bytes(run, "oscale", array, plan->param_bytes, &t->conv.oscale_addr) != 0
                 ? -1
                 : 0;
    }
    if (rc == 0 && status == NPU_OK && t->conv.has_bias) {
        memcpy(array, t->bias, t->conv.oc * sizeof *array);
        rc = tensor_new_bytes(run, "bias", array, plan->param_bytes, &t->conv.bias_addr);
    }
    if (rc == 0 && plan->scratch_bytes != 0) {
        t->conv.scratch_addr = npu_dev_alloc(run->dev, plan->scratch_bytes, 16, NPU_BUF_OUT);
        t->conv.scratch_bytes = plan->scratch_bytes;
        rc = t->conv.scratch_addr == 0 ? tc_no_memory(run) : 0;
    }
    free(packed);
    free(array);
    if (status != NPU_OK) {
        tc_driver_failed(run, "weights", status, NPU_OK);
    }
    return rc;
}

/* A task of INT16 on a device that has none must be dropped with ERR.CONFIG. */
static void must_drop(op16 *t) {
    tc_run *run = t->run;
    const uint32_t err = NPU_ERR_CONFIG_MASK;
    if (!tc_write(run, NPU_REG_GEMM_IFM_SIZE, 0x00010001) || !tc_write(run, NPU_REG_GEMM_CHANNELS, 0x00010001) ||
        !tc_write(run, NPU_REG_GEMM_OFM_SIZE, 0x00010001) ||
        !tc_write(run, NPU_REG_GEMM_CTRL,
                  NPU_GEMM_CTRL_EN_MASK | NPU_GEMM_CTRL_WIDE_MASK | NPU_GEMM_CTRL_LAYOUT_MASK |
                      1u << NPU_GEMM_CTRL_KERNEL_LSB | 1u << NPU_GEMM_CTRL_STRIDE_LSB)) {
        return;
    }
    uint32_t value = 0;
    for (uint32_t i = 0; i < 100 && (value & err) == 0; i++) {
        if (!tc_read(run, NPU_REG_ERR, &value)) {
            return;
        }
    }
    if ((value & err) == 0) {
        tc_fail(run, "int16: accepted", "the device has no INT16, but a task of it was not dropped with ERR.CONFIG");
    }
    tc_write(run, NPU_REG_ERR, value);
    tc_write(run, NPU_REG_IRQ_STATUS, 7);
}

static int run_once(op16 *t, bool second) {
    tc_run *run = t->run;
    const char *what = second ? "second run" : "first run";
    npu_conv_plan plan;
    npu_status status = NPU_OK;
    if (t->op < INT16_TO) {
        const npu_conv_split split = split_of(run->n, run->knobs, second);
        status = npu_conv_plan_make(run->n, &t->conv, &split, &plan);
        if (status == NPU_OK && place_params(t, &plan) != 0) {
            return -1;
        }
    }
    if (prefill(t) != 0) {
        return -1;
    }
    const tensor_clock start = tensor_now(run);
    if (status == NPU_OK) {
        status = t->op < INT16_TO ? npu_conv_run(&run->npu, &t->conv, &plan) : npu_convert_run(&run->npu, &t->convert);
    }
    if (!second) {
        tensor_measure(run, start);
    }
    if (!run->npu.int16) {
        if (status != NPU_ERR_NO_UNIT) {
            tc_driver_failed(run, what, status, NPU_ERR_NO_UNIT);
        } else if (!second) {
            must_drop(t);
        }
        return 0;
    }
    if (status != NPU_OK) {
        tc_driver_failed(run, what, status, NPU_OK);
        return 0;
    }
    int16_expect(t);
    int16_compare(t, what);
    return 0;
}

static int make_params(op16 *t, tb_rng *rng, int16_data data) {
    const npu_conv *c = &t->conv;
    const size_t weights = (size_t)c->oc * (c->ic / c->groups) * c->kw * c->kh;
    t->w = malloc(weights * sizeof *t->w);
    t->oscale = malloc(c->oc * sizeof *t->oscale);
    t->bias = malloc(c->oc * sizeof *t->bias);
    if (t->w == NULL || t->oscale == NULL || t->bias == NULL) {
        return tc_no_memory(t->run);
    }
    for (size_t i = 0; i < weights; i++) {
        t->w[i] = int16_draw(rng, data);
    }
    for (uint32_t i = 0; i < c->oc; i++) {
        t->oscale[i] = tb_rng_f32_range(rng, 1e-9f, 2e-8f);
        t->bias[i] = tb_rng_f32_range(rng, -8.0f, 8.0f);
    }
    return 0;
}

static int prepare(op16 *t) {
    const tb_knobs *k = t->run->knobs;
    const int16_data data = (int16_data)tb_knobs_get(k, "data");
    tb_rng rng = tb_rng_stream(t->run->seed, "int16.input");
    const float scale = tb_rng_f32_range(&rng, 500.0f, 4000.0f);
    npu_conv *c = &t->conv;
    npu_conv_plan plan;
    t->in = (npu_tensor){.w = c->iw, .h = c->ih, .c = c->ic, .layout = c->in_layout};
    t->out = t->in;
    t->out.layout = c->out_layout;
    if (t->op >= INT16_TO) {
        t->in.layout = t->op == INT16_TO ? NPU_FP32_NCHW : NPU_INT16_NHWC;
        t->out.layout = t->op == INT16_TO ? NPU_INT16_NHWC : NPU_FP32_NCHW;
    } else if (npu_conv_plan_make(t->run->n, c, NULL, &plan) == NPU_OK) {
        t->out.w = plan.ow;
        t->out.h = plan.oh;
        t->out.c = c->oc;
    }
    if (int16_draw_input(t, &rng, data, scale) != 0 || make_params(t, &rng, data) != 0 ||
        int16_place(t, "the input", &t->in, NPU_BUF_IN) != 0 ||
        int16_place(t, "the output", &t->out, NPU_BUF_OUT) != 0 || int16_write_input(t) != 0) {
        return -1;
    }
    c->in_scale = ref_bits(scale);
    c->out_scale = ref_bits(tb_rng_f32_range(&rng, 100.0f, 5000.0f));
    c->ifm_addr = t->in.addr;
    c->ifm_cstep = t->in.step;
    c->ofm_addr = t->out.addr;
    c->ofm_cstep = t->out.step;
    t->expected = malloc((size_t)int16_pieces(&t->out) * t->out.step);
    return t->expected == NULL ? tc_no_memory(t->run) : 0;
}

static int prepare_convert(op16 *t) {
    t->convert = (npu_convert){.in = t->in, .out = t->out, .scale = t->conv.in_scale};
    if (t->op == INT16_TO) {
        return 0;
    }
    t->convert.scale = ref_bits(1.0f / ref_float(t->conv.in_scale));
    const size_t bytes = npu_convert_factor_bytes(&t->convert);
    float *factors = malloc(bytes);
    int rc = factors == NULL ? tc_no_memory(t->run) : 0;
    if (rc == 0) {
        const npu_status status = npu_convert_make_factors(&t->convert, factors, bytes);
        if (status != NPU_OK) {
            tc_driver_failed(t->run, "factors", status, NPU_OK);
        } else {
            rc = tensor_new_bytes(t->run, "factors", factors, bytes, &t->convert.factor_addr);
        }
    }
    free(factors);
    return rc;
}

static int execute(tc_run *run) {
    const tb_knobs *k = run->knobs;
    op16 t = {.run = run, .op = (int16_op)tb_knobs_get(k, "op"), .conv = conv_of(k)};
    const uint64_t elements = (uint64_t)t.conv.iw * t.conv.ih * (t.conv.ic + t.conv.oc + 2 * run->n);
    int rc = tc_open(run, elements * 64 + (UINT64_C(64) << 20), TENSOR_GEMM_TIMEOUT_US);
    if (rc == 0) {
        rc = prepare(&t);
    }
    if (rc == 0 && t.op >= INT16_TO) {
        rc = prepare_convert(&t);
    }
    if (rc == 0 && tc_ok(run)) {
        rc = run_once(&t, false);
    }
    if (rc == 0 && tc_ok(run) && tb_knobs_get(k, "second") != 0) {
        rc = run_once(&t, true);
    }
    free(t.f32);
    free(t.q);
    free(t.w);
    free(t.oscale);
    free(t.bias);
    free(t.expected);
    return rc;
}

const tc_test tc_int16 = {.name = "int16",
                          .help = "INT16 convolution, depthwise convolution or conversion; without EnInt16 its refusal",
                          TB_KNOBS_OF(knobs_of_int16),
                          .generate = generate,
                          .check = check,
                          .execute = execute};
