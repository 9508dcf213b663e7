/*
 * int16_ref.c - data of the int16 test in device memory, and the definition of INT16 convolutions and conversions.
 */
#include "int16.h"

#include <stdlib.h>

/* ---- data ---- */

int16_t int16_draw(tb_rng *rng, int16_data data) {
    static const int16_t ends[] = {-32768, -32767, 32767, 0, 1, -1, 255, -255, 256, -256, 127, -128};
    switch (data) {
    case INT16_EXTREME:
        return ends[tb_rng_range(rng, 0, sizeof ends / sizeof *ends - 1)];
    case INT16_SMALL:
        return (int16_t)tb_rng_range_i64(rng, -2, 2);
    default:
        return (int16_t)tb_rng_range_i64(rng, -32767, 32767);
    }
}

/* half away from zero, clamped; NaN gives 0 */
static int16_t quantise16(float v) {
    if (isnan(v)) {
        return 0;
    }
    const double r = round((double)v); /* half away from zero */
    return (int16_t)(r > 32767 ? 32767 : r < -32767 ? -32767 : r);
}

int int16_draw_input(op16 *t, tb_rng *rng, int16_data data, float scale) {
    const size_t count = (size_t)t->in.w * t->in.h * t->in.c;
    t->q = malloc(count * sizeof *t->q);
    t->f32 = malloc(count * 4);
    if (t->q == NULL || t->f32 == NULL) {
        return tc_no_memory(t->run);
    }
    for (size_t i = 0; i < count; i++) {
        t->q[i] = int16_draw(rng, data);
        if (t->in.layout == NPU_FP32_NCHW) {
            /* halves between two integers, and what no quantiser gives */
            float v = ((float)t->q[i] + 0.5f * (float)tb_rng_range_i64(rng, -1, 1)) / scale;
            t->f32[i] = data == INT16_SPECIALS && tb_rng_chance(rng, 1, 3) ? tb_rng_f32_hard(rng) : ref_bits(v);
            t->q[i] = quantise16(ref_float(t->f32[i]) * scale);
        }
    }
    return 0;
}

/* ---- device memory ---- */

static uint32_t block_bytes(const op16 *t, const npu_tensor *x) {
    return tb_align_up(x->c, t->run->n) * 2;
}

uint32_t int16_pieces(const npu_tensor *x) {
    return x->layout == NPU_FP32_NCHW ? x->c : x->w * x->h;
}

int int16_place(op16 *t, const char *name, npu_tensor *x, npu_buf_kind kind) {
    const uint32_t gap = tc_knob(t->run->knobs, "gap"), n = t->run->n;
    x->step =
        x->layout == NPU_FP32_NCHW ? tb_align_up(x->w * x->h * 4, 16) + 16 * gap : block_bytes(t, x) + 2 * n * gap;
    const uint32_t addr = npu_dev_alloc(t->run->dev, int16_pieces(x) * x->step + 64, 4096, kind);
    if (addr == 0) {
        return opt_fail(t->run->err, sizeof t->run->err, "int16: %s does not fit into device memory", name);
    }
    x->addr = addr;
    return 0;
}

/* Place of an INT16 element's low byte; the high one is N further. */
static size_t low_byte(uint32_t n, const npu_tensor *x, uint32_t c, uint32_t pixel) {
    return (size_t)pixel * x->step + 2 * n * (c / n) + c % n;
}

int int16_write_input(op16 *t) {
    const npu_tensor *x = &t->in;
    const uint32_t pixels = x->w * x->h, n = t->run->n;
    const size_t bytes = (size_t)int16_pieces(x) * x->step;
    uint8_t *image = malloc(bytes);
    if (image == NULL) {
        return tc_no_memory(t->run);
    }
    memset(image, 0x5B, bytes); /* pad channels of the input have no influence */
    for (uint32_t c = 0; c < x->c; c++) {
        if (x->layout == NPU_FP32_NCHW) {
            memcpy(&image[(size_t)c * x->step], &t->f32[(size_t)c * pixels], (size_t)pixels * 4);
        }
        for (uint32_t p = 0; x->layout != NPU_FP32_NCHW && p < pixels; p++) {
            const uint16_t v = (uint16_t)t->q[(size_t)c * pixels + p];
            image[low_byte(n, x, c, p)] = (uint8_t)v;
            image[low_byte(n, x, c, p) + n] = (uint8_t)(v >> 8);
        }
    }
    const int rc = tensor_write(t->run, x->addr, image, bytes);
    free(image);
    return rc;
}

/* ---- expected results ---- */

static int64_t sum_at(const op16 *t, uint32_t oc, uint32_t oy, uint32_t ox) {
    const npu_conv *c = &t->conv;
    const uint32_t icg = c->ic / c->groups, first = c->groups == 1 ? 0 : oc;
    int64_t sum = 0;
    for (uint32_t ic = 0; ic < icg; ic++) {
        for (uint32_t ky = 0; ky < c->kh; ky++) {
            for (uint32_t kx = 0; kx < c->kw; kx++) {
                const int64_t y = (int64_t)oy * c->stride_h + (int64_t)ky * c->dil_h - c->pad_t,
                              x = (int64_t)ox * c->stride_w + (int64_t)kx * c->dil_w - c->pad_l;
                if (y >= 0 && y < c->ih && x >= 0 && x < c->iw) {
                    const int64_t a = t->q[((size_t)(first + ic) * c->ih + (size_t)y) * c->iw + (size_t)x];
                    sum += a * t->w[(((size_t)oc * icg + ic) * c->kh + ky) * c->kw + kx];
                }
            }
        }
    }
    return sum;
}

static float result_at(const op16 *t, uint32_t oc, uint32_t pixel) {
    const npu_conv *c = &t->conv;
    if (t->op == INT16_TO) { /* a quantised input passes */
        return (float)t->q[(size_t)oc * t->in.w * t->in.h + pixel];
    }
    if (t->op == INT16_FROM) {
        return (float)t->q[(size_t)oc * t->in.w * t->in.h + pixel] * ref_float(t->convert.scale);
    }
    float y = (float)sum_at(t, oc, pixel / t->out.w, pixel % t->out.w); /* one rounding */
    y = y * t->oscale[oc];
    if (c->has_bias) {
        y = y + t->bias[oc];
    }
    return ref_float(ref_act(c->act, c->act_p, ref_bits(y)).bits);
}

void int16_expect(op16 *t) {
    const npu_tensor *o = &t->out;
    const uint32_t n = t->run->n;
    for (uint32_t p = 0; o->layout != NPU_FP32_NCHW && p < o->w * o->h; p++) {
        memset(&t->expected[(size_t)p * o->step], 0, block_bytes(t, o)); /* pad channels are written 0 */
    }
    for (uint32_t c = 0; c < o->c; c++) {
        for (uint32_t p = 0; p < o->w * o->h; p++) {
            const float y = result_at(t, c, p);
            if (o->layout == NPU_FP32_NCHW) {
                const uint32_t bits = ref_bits(y);
                memcpy(&t->expected[(size_t)c * o->step + 4 * p], &bits, 4);
            } else {
                const uint16_t v = (uint16_t)quantise16(t->op == INT16_TO ? y : y * ref_float(t->conv.out_scale));
                t->expected[low_byte(n, o, c, p)] = (uint8_t)v;
                t->expected[low_byte(n, o, c, p) + n] = (uint8_t)(v >> 8);
            }
        }
    }
}

void int16_compare(op16 *t, const char *what) {
    const npu_tensor *o = &t->out;
    const size_t bytes = (size_t)int16_pieces(o) * o->step;
    uint8_t *got = malloc(bytes);
    if (got == NULL || !npu_dev_read(t->run->dev, o->addr, got, bytes)) {
        tc_fail(t->run, "output unreadable", "int16: the output cannot be read");
    } else if (memcmp(got, t->expected, bytes) != 0) {
        size_t i = 0;
        while (got[i] == t->expected[i]) {
            i++;
        }
        tc_fail(t->run, "int16: reference",
                "%s: byte %zu of %s %zu of the output is 0x%02X, the definition gives 0x%02X", what, i % o->step,
                o->layout == NPU_FP32_NCHW ? "channel" : "pixel", i / o->step, got[i], t->expected[i]);
    }
    free(got);
}
