/* conv_data.c - the operands of a convolution from a seed. */
#include "conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    return u;
}

static float float_of(uint32_t u) {
    float v;
    memcpy(&v, &u, 4);
    return v;
}

static uint32_t draw_in_scale(tb_rng *rng, conv_scale kind) {
    static const uint64_t special[] = {0x7FC00000u, 0xFFC00001u, 0x7F800000u, 0xFF800000u, 0x00000000u,
                                       0x80000000u, 0x00000001u, 0x807FFFFFu, 0xC2000000u};
    switch (kind) {
    case CONV_SCALE_CALIB:
        return bits_of(127.0f / tb_rng_f32_range(rng, 0.05f, 200.0f));
    case CONV_SCALE_POW2:
        return (uint32_t)tb_rng_range(rng, 127 - 10, 127 + 10) << 23;
    case CONV_SCALE_TINY:
        return bits_of(tb_rng_f32_range(rng, 1e-8f, 1e-2f));
    case CONV_SCALE_HUGE:
        return bits_of(tb_rng_f32_range(rng, 1e6f, 1e30f));
    case CONV_SCALE_SPECIAL:
    case CONV_SCALE_COUNT:
        break;
    }
    return (uint32_t)tb_rng_pick(rng, special, sizeof special / sizeof special[0]);
}

/* A value that lands at `q` after the quantiser, where that is possible. */
static uint32_t unquantise(float q, uint32_t in_scale) {
    float scale = fabsf(float_of(in_scale));
    bool usable = isfinite(scale) && scale >= 1e-4f && scale <= 1e6f;
    return bits_of(usable ? q / scale : q);
}

static uint32_t draw_input(tb_rng *rng, conv_data kind, size_t i, uint32_t in_scale) {
    switch (kind) {
    case CONV_EXTREME: {                                            /* both ends, and far beyond */
        const float sign = tb_rng_chance(rng, 1, 2) ? 1.0f : -1.0f; /* one draw a statement: C leaves their order within one open */
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
    case CONV_UNIFORM:
    case CONV_DATA_COUNT:
        break;
    }
    return unquantise(tb_rng_f32_range(rng, -140.0f, 140.0f), in_scale);
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
    case CONV_W_UNIFORM:
    case CONV_W_COUNT:
        break;
    }
    return (int8_t)tb_rng_range_i64(rng, -127, 127);
}

static float draw_w_scale(tb_rng *rng, conv_wscale kind) {
    if (kind == CONV_WSCALE_HARD) {
        return float_of(tb_rng_f32_hard(rng));
    }
    if (kind == CONV_WSCALE_ZEROS && tb_rng_chance(rng, 1, 2)) {
        return tb_rng_chance(rng, 1, 2) ? 0.0f : -0.0f;
    }
    return tb_rng_f32_range(rng, 1.0f, 2000.0f);
}

int conv_tensors_make(conv_tensors *t, const npu_conv *conv, const tb_knobs *knobs, uint64_t seed) {
    size_t inputs = (size_t)conv->ic * conv->ih * conv->iw;
    size_t weights = (size_t)conv->oc * conv->ic * conv->kh * conv->kw;
    conv_data data = (conv_data)tb_knobs_get(knobs, "data");
    conv_wdata wdata = (conv_wdata)tb_knobs_get(knobs, "wdata");
    conv_wscale wscale = (conv_wscale)tb_knobs_get(knobs, "wscale");
    bool hard_bias = tb_knobs_get(knobs, "bias") == 2;
    *t = (conv_tensors){.input = malloc(inputs * 4),
                        .weights = malloc(weights),
                        .w_scale = malloc((size_t)conv->oc * 4),
                        .bias = malloc((size_t)conv->oc * 4)};
    if (t->input == NULL || t->weights == NULL || t->w_scale == NULL || t->bias == NULL) {
        return -1;
    }
    tb_rng rng = tb_rng_stream(seed, "tensor.in_scale");
    t->in_scale = draw_in_scale(&rng, (conv_scale)tb_knobs_get(knobs, "in_scale"));
    rng = tb_rng_stream(seed, "tensor.input");
    for (size_t i = 0; i < inputs; i++) {
        t->input[i] = draw_input(&rng, data, i, t->in_scale);
    }
    rng = tb_rng_stream(seed, "tensor.weights");
    for (size_t i = 0; i < weights; i++) {
        t->weights[i] = draw_weight(&rng, wdata, i);
    }
    rng = tb_rng_stream(seed, "tensor.w_scale");
    for (size_t i = 0; i < conv->oc; i++) {
        t->w_scale[i] = draw_w_scale(&rng, wscale);
    }
    rng = tb_rng_stream(seed, "tensor.bias");
    for (size_t i = 0; i < conv->oc; i++) {
        t->bias[i] = hard_bias ? tb_rng_f32_hard(&rng) : bits_of(tb_rng_f32_range(&rng, -4.0f, 4.0f));
    }
    return 0;
}

void conv_tensors_free(conv_tensors *t) {
    free(t->input);
    free(t->weights);
    free(t->w_scale);
    free(t->bias);
    *t = (conv_tensors){0};
}
