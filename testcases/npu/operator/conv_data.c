/* conv_data.c - the operands of a convolution from a seed. */
#include "conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const conv_data_names[CONV_DATA_COUNT] = {"uniform", "extreme",  "zeros",  "sparse",
                                                      "ramp",    "specials", "halves", "ones"};
const char *const conv_wdata_names[CONV_W_COUNT] = {"uniform", "extreme", "zeros", "sparse", "ramp", "ones"};
const char *const conv_scale_names[CONV_SCALE_COUNT] = {"calib", "pow2", "tiny", "huge", "special"};
const char *const conv_wscale_names[CONV_WSCALE_COUNT] = {"plain", "zeros", "hard"};

conv_draw conv_draw_of(const tb_knobs *knobs, uint64_t seed) {
    return (conv_draw){.seed = seed,
                       .data = (conv_data)tb_knobs_get(knobs, "data"),
                       .wdata = (conv_wdata)tb_knobs_get(knobs, "wdata"),
                       .in_scale = (conv_scale)tb_knobs_get(knobs, "in_scale"),
                       .out_scale = (conv_scale)tb_knobs_get(knobs, "out_scale"),
                       .wscale = (conv_wscale)tb_knobs_get(knobs, "wscale"),
                       .hard_bias = tb_knobs_get(knobs, "bias") == 2,
                       .hard_act = tb_knobs_get(knobs, "act_p") != 0,
                       .asym = tb_knobs_get(knobs, "asym") != 0};
}

uint32_t conv_draw_scale(tb_rng *rng, conv_scale kind, float lo, float hi) {
    static const uint64_t special[] = {0x7FC00000u, 0xFFC00001u, 0x7F800000u, 0xFF800000u, 0x00000000u,
                                       0x80000000u, 0x00000001u, 0x807FFFFFu, 0xC2000000u};
    switch (kind) {
    case CONV_SCALE_CALIB:
        return ref_bits(127.0f / tb_rng_f32_range(rng, lo, hi));
    case CONV_SCALE_POW2:
        return (uint32_t)tb_rng_range(rng, 127 - 10, 127 + 10) << 23;
    case CONV_SCALE_TINY:
        return ref_bits(tb_rng_f32_range(rng, 1e-8f, 1e-2f));
    case CONV_SCALE_HUGE:
        return ref_bits(tb_rng_f32_range(rng, 1e6f, 1e30f));
    case CONV_SCALE_SPECIAL:
    case CONV_SCALE_COUNT:
        break;
    }
    return (uint32_t)tb_rng_pick(rng, special, sizeof special / sizeof special[0]);
}

/* Parameters like those of networks. */
static void plain_act(tb_rng *rng, npu_conv *conv) {
    float p[2] = {0.0f, 0.0f};
    switch (conv->act) {
    case NPU_ACT_LEAKY:
        p[0] = tb_rng_f32_range(rng, 0.01f, 0.3f);
        break;
    case NPU_ACT_CLIP:
        p[0] = tb_rng_f32_range(rng, -1.0f, 0.0f);
        p[1] = tb_rng_f32_range(rng, 0.5f, 6.0f);
        break;
    case NPU_ACT_HARDSWISH:
    case NPU_ACT_HARDSIGMOID:
        p[0] = tb_rng_f32_range(rng, 0.1f, 0.5f);
        p[1] = tb_rng_f32_range(rng, 0.2f, 0.8f);
        break;
    case NPU_ACT_ELU:
        p[0] = tb_rng_f32_range(rng, -0.5f, 2.0f);
        break;
    default:
        break;
    }
    conv->act_p[0] = ref_bits(p[0]);
    conv->act_p[1] = ref_bits(p[1]);
}

static void draw_act(const conv_draw *d, npu_conv *conv) {
    tb_rng rng = tb_rng_stream(d->seed, "tensor.act");
    plain_act(&rng, conv);
    if (!d->hard_act || conv->act == NPU_ACT_ELU) { /* values near infinity times a fitted value have no stated bound */
        return;
    }
    const uint32_t alpha = tb_rng_f32_hard(&rng);
    const uint32_t beta = tb_rng_f32_hard(&rng);
    const bool divides = conv->act == NPU_ACT_HARDSWISH || conv->act == NPU_ACT_HARDSIGMOID;
    conv->act_p[0] = divides && (alpha & 0x7FFFFFFFu) == 0 ? conv->act_p[0] : alpha;
    conv->act_p[1] = beta;
}

/* A threshold of the outputs that uses the range of INT8, where input and weights are ordinary. */
static float output_size(const npu_conv *conv) {
    const float taps = (float)conv->kw * (float)conv->kh * (float)(conv->ic / conv->groups);
    const float scale = fabsf(ref_float(conv->in_scale));
    const bool bounded = conv->act == NPU_ACT_SIGMOID || conv->act == NPU_ACT_TANH || conv->act == NPU_ACT_HARDSIGMOID;
    const float size = 20.0f * sqrtf(taps) / scale + (conv->has_bias ? 4.0f : 0.0f);
    return bounded || !isfinite(size) || size < 1e-3f ? 1.0f : size;
}

static int8_t draw_zero(tb_rng *rng) {
    static const uint64_t ends[] = {0x80, 0xFF, 0, 1, 0x7F};
    const uint64_t any = tb_rng_range(rng, 0, 255);
    return (int8_t)(uint8_t)(tb_rng_chance(rng, 1, 2) ? tb_rng_pick(rng, ends, sizeof ends / sizeof ends[0]) : any);
}

static void draw_quant(const conv_draw *d, npu_conv *conv) {
    tb_rng rng = tb_rng_stream(d->seed, "tensor.quant");
    if (d->asym) {
        conv->quant.in_zero = draw_zero(&rng);
        conv->quant.out_zero = draw_zero(&rng);
        conv->quant.to_even = tb_rng_chance(&rng, 1, 2);
        conv->quant.full = tb_rng_chance(&rng, 1, 2);
        conv->int_bias = tb_rng_chance(&rng, 1, 2) && conv->has_bias;
    }
}

void conv_draw_factors(const conv_draw *d, npu_conv *conv) {
    tb_rng rng = tb_rng_stream(d->seed, "tensor.in_scale");
    if (conv->in_scale == 0) {
        conv->in_scale = conv_draw_scale(&rng, d->in_scale, 0.05f, 200.0f);
    }
    draw_act(d, conv);
    draw_quant(d, conv);
    rng = tb_rng_stream(d->seed, "tensor.out_scale");
    const float size = output_size(conv);
    conv->out_scale = conv_draw_scale(&rng, d->out_scale, 0.3f * size, 3.0f * size);
}

/* A value that the quantiser maps to `q`, if possible. */
static uint32_t unquantise(float q, uint32_t in_scale) {
    float scale = fabsf(ref_float(in_scale));
    bool usable = isfinite(scale) && scale >= 1e-4f && scale <= 1e6f;
    return ref_bits(usable ? q / scale : q);
}

static uint32_t draw_input(tb_rng *rng, conv_data kind, size_t i, uint32_t in_scale) {
    switch (kind) {
    case CONV_EXTREME: { /* both ends, and far beyond */
        /* one draw in each statement: C does not define the order within one */
        const float sign = tb_rng_chance(rng, 1, 2) ? 1.0f : -1.0f;
        return unquantise(sign * (tb_rng_chance(rng, 1, 4) ? 1e9f : 127.0f), in_scale);
    }
    case CONV_ZEROS:
        return tb_rng_chance(rng, 1, 2) ? 0 : 0x80000000u;
    case CONV_SPARSE:
        return tb_rng_chance(rng, 1, 10) ? unquantise(tb_rng_f32_range(rng, -127.0f, 127.0f), in_scale) : 0;
    case CONV_RAMP:
        return unquantise((float)(i % 255) - 127.0f, in_scale);
    case CONV_SPECIALS:
        return tb_rng_f32_hard(rng);
    case CONV_HALVES: { /* halves, and the floats next to them */
        const uint32_t half = unquantise((float)tb_rng_range_i64(rng, -130, 129) + 0.5f, in_scale);
        return half + (uint32_t)tb_rng_range(rng, 0, 2) - 1u;
    }
    case CONV_ONES:
        return unquantise(1.0f, in_scale);
    case CONV_UNIFORM:
    case CONV_DATA_COUNT:
        break;
    }
    return unquantise(tb_rng_f32_range(rng, -140.0f, 140.0f), in_scale);
}

void conv_draw_f32(tb_rng *rng, conv_data kind, uint32_t in_scale, uint32_t *dst, size_t count) {
    for (size_t i = 0; i < count; i++) {
        dst[i] = draw_input(rng, kind, i, in_scale);
    }
}

/* INT8 inputs: any byte is legal, also -128, which no quantiser produces. */
static int8_t draw_byte(tb_rng *rng, conv_data kind, size_t i) {
    switch (kind) {
    case CONV_EXTREME:
        return tb_rng_chance(rng, 1, 2) ? 127 : (int8_t)-128;
    case CONV_ZEROS:
        return 0;
    case CONV_SPARSE:
        return tb_rng_chance(rng, 1, 10) ? (int8_t)tb_rng_range_i64(rng, -127, 127) : (int8_t)0;
    case CONV_RAMP:
        return (int8_t)((int)(i % 255) - 127);
    case CONV_ONES:
        return 1;
    default:
        return (int8_t)tb_rng_range_i64(rng, -128, 127);
    }
}

static int8_t draw_weight(tb_rng *rng, conv_wdata kind, size_t i) {
    switch (kind) {
    case CONV_W_EXTREME: /* -128 is no result of the quantiser, but a legal byte */
        return tb_rng_chance(rng, 1, 2) ? 127 : (int8_t)-128;
    case CONV_W_ZEROS:
        return 0;
    case CONV_W_SPARSE:
        return tb_rng_chance(rng, 1, 10) ? (int8_t)tb_rng_range_i64(rng, -127, 127) : (int8_t)0;
    case CONV_W_RAMP:
        return (int8_t)((int)(i % 255) - 127);
    case CONV_W_ONES:
        return 1;
    case CONV_W_UNIFORM:
    case CONV_W_COUNT:
        break;
    }
    return (int8_t)tb_rng_range_i64(rng, -127, 127);
}

static float draw_w_scale(tb_rng *rng, conv_wscale kind) {
    if (kind == CONV_WSCALE_HARD) {
        return ref_float(tb_rng_f32_hard(rng));
    }
    if (kind == CONV_WSCALE_ZEROS && tb_rng_chance(rng, 1, 2)) {
        return tb_rng_chance(rng, 1, 2) ? 0.0f : -0.0f;
    }
    return tb_rng_f32_range(rng, 1.0f, 2000.0f);
}

static void fill_input(conv_tensors *t, const npu_conv *conv, const conv_draw *d, size_t inputs) {
    tb_rng rng = tb_rng_stream(d->seed, "tensor.input");
    if (t->input != NULL) {
        conv_draw_f32(&rng, d->data, conv->in_scale, t->input, inputs);
    }
    for (size_t i = 0; i < inputs; i++) {
        t->quantised[i] = t->input != NULL
                              ? ref_quantise_to(t->input[i], conv->in_scale, conv->quant.in_zero, &conv->quant)
                              : draw_byte(&rng, d->data, i);
    }
}

static void fill_params(conv_tensors *t, const npu_conv *conv, const conv_draw *d, size_t weights) {
    tb_rng rng = tb_rng_stream(d->seed, "tensor.weights");
    for (size_t i = 0; i < weights; i++) {
        t->weights[i] = draw_weight(&rng, d->wdata, i);
    }
    rng = tb_rng_stream(d->seed, "tensor.w_scale");
    for (size_t i = 0; i < conv->oc; i++) {
        t->w_scale[i] = draw_w_scale(&rng, d->wscale);
    }
    rng = tb_rng_stream(d->seed, "tensor.bias");
    for (size_t i = 0; i < conv->oc; i++) {
        t->bias[i] = d->hard_bias ? tb_rng_f32_hard(&rng) : ref_bits(tb_rng_f32_range(&rng, -4.0f, 4.0f));
        if (conv->int_bias) { /* any pattern: sums wrap */
            t->bias[i] = d->hard_bias ? t->bias[i] : (uint32_t)(int32_t)(1000.0f * ref_float(t->bias[i]));
        }
    }
}

int conv_tensors_make(conv_tensors *t, const npu_conv *conv, const conv_draw *d) {
    const size_t inputs = (size_t)conv->ic * conv->ih * conv->iw;
    const size_t weights = (size_t)conv->oc * (conv->ic / conv->groups) * conv->kh * conv->kw;
    const bool f32 = conv->in_layout == NPU_FP32_NCHW;
    *t = (conv_tensors){.input = f32 ? malloc(inputs * 4) : NULL,
                        .quantised = malloc(inputs),
                        .weights = malloc(weights),
                        .w_scale = malloc((size_t)conv->oc * 4),
                        .bias = malloc((size_t)conv->oc * 4)};
    if ((f32 && t->input == NULL) || t->quantised == NULL || t->weights == NULL || t->w_scale == NULL ||
        t->bias == NULL) {
        return -1;
    }
    fill_input(t, conv, d, inputs);
    fill_params(t, conv, d, weights);
    return 0;
}

void conv_tensors_free(conv_tensors *t) {
    free(t->input);
    free(t->quantised);
    free(t->weights);
    free(t->w_scale);
    free(t->bias);
    *t = (conv_tensors){0};
}
