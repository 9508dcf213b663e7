/* tensor.c - tensors of operator tests in device memory, and the function that runs one operator. */
#include "tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE 4096u
#define BEAT 16u
#define SLACK 64u /* space for bytes that hardware may read next to the data */

const char *const tensor_data_names[TENSOR_DATA_COUNT] = {"plain", "extreme",  "halves", "zeros",
                                                          "ramp",  "specials", "ones"};
const uint32_t tensor_data_weight[TENSOR_DATA_COUNT] = {8, 3, 4, 1, 2, 4};
const char *const tensor_wait_names[2] = {"irq", "poll"};
const uint32_t tensor_bus_weight[TC_BUS_COUNT] = {4, 3, 4, 2, 3, 3};

/* ---- data ---- */

static uint32_t int8_value(tb_rng *rng, tensor_data data, size_t i) {
    int64_t v = 0;
    switch (data) {
    case TENSOR_EXTREME:
        v = tb_rng_chance(rng, 1, 2) ? 127 : -127;
        break;
    case TENSOR_HALVES:
        v = tb_rng_range_i64(rng, -2, 2);
        break;
    case TENSOR_ZEROS:
        break;
    case TENSOR_RAMP:
        v = (int64_t)(i % 255) - 127;
        break;
    case TENSOR_ONES:
        v = 1;
        break;
    case TENSOR_SPECIALS: /* -128 is no result of the quantiser, but a legal byte */
        v = tb_rng_chance(rng, 1, 2) ? -128 : tb_rng_range_i64(rng, -128, 127);
        break;
    case TENSOR_PLAIN:
    case TENSOR_DATA_COUNT:
        v = tb_rng_range_i64(rng, -127, 127);
        break;
    }
    return (uint32_t)v;
}

static uint32_t fp32_value(tb_rng *rng, tensor_data data, size_t i) {
    static const uint64_t extremes[] = {0x7F7FFFFFu, 0xFF7FFFFFu, 0x7F000000u, 0xFF000000u,
                                        0x42FE0000u, 0xC2FE0000u, 0x71C00000u, 0xF1C00000u};
    switch (data) {
    case TENSOR_EXTREME:
        return (uint32_t)tb_rng_pick(rng, extremes, sizeof extremes / sizeof extremes[0]);
    case TENSOR_HALVES: {
        const uint32_t half = ref_bits((float)tb_rng_range_i64(rng, -130, 129) + 0.5f);
        return half + (uint32_t)tb_rng_range(rng, 0, 2) - 1u;
    }
    case TENSOR_ZEROS:
        return tb_rng_chance(rng, 1, 2) ? 0 : 0x80000000u;
    case TENSOR_RAMP:
        return ref_bits((float)(i % 255) - 127.0f);
    case TENSOR_ONES:
        return TENSOR_ONE;
    case TENSOR_SPECIALS:
        return tb_rng_f32_hard(rng);
    case TENSOR_PLAIN:
    case TENSOR_DATA_COUNT:
        break;
    }
    return ref_bits(tb_rng_f32_range(rng, -4.0f, 4.0f));
}

uint32_t tensor_value(tb_rng *rng, npu_layout layout, tensor_data data, size_t i) {
    return layout == NPU_INT8_NHWC ? int8_value(rng, data, i) : fp32_value(rng, data, i);
}

void tensor_fill(tensor *t, tb_rng *rng, tensor_data data) {
    for (size_t i = 0; i < t->count; i++) {
        t->v[i] = tensor_value(rng, t->at.layout, data, i);
    }
}

/* ---- device memory ---- */

/* A buffer at an address that is a multiple of `unit`; *base and *capacity describe all of it. 0 with run->err: no
 * room. */
static uint32_t buffer(tc_run *run, const tensor_place *place, const char *name, uint64_t bytes, uint32_t unit,
                       npu_buf_kind kind, uint32_t *base, uint32_t *capacity) {
    const uint32_t where = tc_knob(place->knobs, "place");
    tb_rng rng = tb_rng_stream(place->seed + where, name);
    const uint32_t shift = where == 0 ? 0 : unit * (uint32_t)tb_rng_range(&rng, 0, PAGE / unit - 1);
    *capacity = (uint32_t)bytes + shift + SLACK;
    *base = bytes + PAGE + SLACK > UINT32_MAX ? 0 : npu_dev_alloc(run->dev, *capacity, PAGE, kind);
    if (*base == 0) {
        snprintf(run->err, sizeof run->err, "%s: %s of %" PRIu64 " bytes does not fit into device memory",
                 run->test->name, name, bytes);
        return 0;
    }
    return *base + shift;
}

static uint32_t draw_gap(const tensor_place *place, const char *name) {
    const uint32_t most = tc_knob(place->knobs, "gap");
    const uint32_t where = tc_knob(place->knobs, "place");
    const tb_rng stream = tb_rng_stream(place->seed + where, name);
    tb_rng rng = tb_rng_fork(&stream, 1);
    return where == 0 ? most : (uint32_t)tb_rng_range(&rng, 0, most);
}

int tensor_make(tc_run *run, const tensor_place *place, const char *name, npu_tensor shape, npu_buf_kind kind,
                tensor *t) {
    const bool int8 = shape.layout == NPU_INT8_NHWC;
    const uint32_t pixel = run->n << place->wide, unit = int8 ? pixel : 4;
    const uint32_t step_unit = int8 ? pixel : shape.w == 1 && shape.h == 1 ? 4u : BEAT;
    *t = (tensor){.at = shape, .count = (size_t)shape.w * shape.h * shape.c};
    if (t->count > TENSOR_MAX_ELEMENTS) {
        return tc_no_memory(run);
    }
    t->at.step = tb_align_up(tensor_piece_bytes(run, &shape), step_unit) + step_unit * draw_gap(place, name);
    t->at.addr =
        buffer(run, place, name, (uint64_t)t->at.step * tensor_pieces(&shape), unit, kind, &t->base, &t->capacity);
    if (t->at.addr == 0) {
        return -1;
    }
    t->v = calloc(t->count, 4);
    return t->v == NULL ? tc_no_memory(run) : 0;
}

void tensor_free(tensor *t) {
    free(t->v);
    free(t->image);
    *t = (tensor){0};
}

typedef struct packing {
    const tensor *t;
    bool junk_pads;
} packing;

static void pack_values(const void *ctx, const npu_tensor *at, uint32_t i, uint32_t bytes, uint8_t *dst) {
    const packing *p = ctx;
    const size_t plane = (size_t)at->w * at->h;
    if (at->layout == NPU_FP32_NCHW) {
        memcpy(dst, p->t->v + i * plane, bytes);
        return;
    }
    for (uint32_t c = 0; c < bytes; c++) {
        dst[c] = c < at->c ? (uint8_t)p->t->v[c * plane + i] : p->junk_pads ? (uint8_t)(0x91u + c) : 0;
    }
}

int tensor_put(tc_run *run, tensor *t, bool junk_pads) {
    return tensor_write_pieces(run, &t->at, pack_values, &(const packing){t, junk_pads}, t->image, t->base);
}

int tensor_blank(tc_run *run, tensor *t) {
    free(t->image);
    t->image = malloc(t->capacity);
    if (t->image == NULL) {
        return tc_no_memory(run);
    }
    memset(t->image, TENSOR_FILL, t->capacity);
    return npu_dev_write(run->dev, t->base, t->image, t->capacity) ? 0 : tc_no_memory(run);
}

uint32_t tensor_put_array(tc_run *run, const tensor_place *place, const char *name, const uint32_t *values,
                          uint32_t count) {
    uint32_t base;
    uint32_t capacity;
    const uint32_t bytes = count * 4;
    const uint32_t addr = buffer(run, place, name, bytes, 4, NPU_BUF_IN, &base, &capacity);
    const uint32_t first = addr & ~(BEAT - 1);
    const uint32_t end = tb_align_up(addr + bytes, BEAT);
    uint8_t *data = addr == 0 ? NULL : malloc(end - first);
    if (data == NULL) {
        if (addr != 0) {
            tc_no_memory(run);
        }
        return 0;
    }
    memset(data, 0xFF, end - first);
    memcpy(data + (addr - first), values, bytes);
    const bool good = npu_dev_write(run->dev, first, data, end - first);
    free(data);
    if (!good) {
        tc_no_memory(run);
    }
    return good ? addr : 0;
}

/* ---- comparison ---- */

static void wrong_element(tc_run *run, const tensor *t, const char *op, size_t i, uint32_t got) {
    char signature[96];
    const uint32_t want = t->v[i];
    const size_t plane = (size_t)t->at.w * t->at.h;
    const uint32_t c = (uint32_t)(i / plane);
    const uint32_t y = (uint32_t)(i % plane / t->at.w);
    const uint32_t x = (uint32_t)(i % t->at.w);
    snprintf(signature, sizeof signature, "%s: reference", op);
    if (t->at.layout == NPU_INT8_NHWC) {
        tc_fail(run, signature, "%s: channel %u row %u column %u: got %d, the definition gives %d", op, c, y, x,
                (int)(int32_t)got, (int)(int32_t)want);
    } else {
        tc_fail(run, signature,
                "%s: channel %u row %u column %u: got 0x%08X (%.9g), the definition gives 0x%08X (%.9g)", op, c, y, x,
                got, (double)ref_float(got), want, (double)ref_float(want));
    }
}

static uint32_t element(const tensor *t, const uint8_t *memory, uint32_t c, uint32_t y, uint32_t x) {
    const uint8_t *at = memory + (t->at.addr - t->base) + tensor_offset(&t->at, c, y * t->at.w + x);
    return t->at.layout == NPU_INT8_NHWC ? (uint32_t)(int32_t)(int8_t)*at : tensor_word(at);
}

static bool elements_right(tc_run *run, const tensor *t, const char *op, const uint8_t *memory, tensor_match match,
                           const void *ctx) {
    size_t i = 0;
    for (uint32_t c = 0; c < t->at.c; c++) {
        for (uint32_t y = 0; y < t->at.h; y++) {
            for (uint32_t x = 0; x < t->at.w; x++, i++) {
                const uint32_t got = element(t, memory, c, y, x);
                if (match != NULL ? !match(ctx, i, t->v[i], got) : got != t->v[i]) {
                    wrong_element(run, t, op, i, got);
                    return false;
                }
            }
        }
    }
    return true;
}

/* Pad channels must be zero, all other bytes around the elements unchanged. */
static void check_rest(tc_run *run, const tensor *t, const char *op, const uint8_t *memory) {
    const uint32_t bytes = tensor_piece_bytes(run, &t->at);
    const uint32_t start = t->at.addr - t->base;
    const uint64_t length = (uint64_t)tensor_pieces(&t->at) * t->at.step;
    char signature[96];
    for (uint32_t at = 0; at < t->capacity; at++) {
        const uint32_t inside = at - start;
        const bool owned = at >= start && inside < length && inside % t->at.step < bytes;
        const bool pad = owned && t->at.layout == NPU_INT8_NHWC && inside % t->at.step >= t->at.c;
        if (pad && memory[at] != 0) {
            snprintf(signature, sizeof signature, "%s: pad channel", op);
            tc_fail(run, signature, "%s: pad channel %u of pixel %u is %u, expected 0", op, inside % t->at.step,
                    inside / t->at.step, memory[at]);
            return;
        }
        if (!owned && memory[at] != t->image[at]) {
            snprintf(signature, sizeof signature, "%s: gap written", op);
            tc_fail(run, signature, "%s: the byte at 0x%08X, next to the output, was written (0x%02X, expected 0x%02X)",
                    op, t->base + at, memory[at], t->image[at]);
            return;
        }
    }
}

bool tensor_get(tc_run *run, tensor *t) {
    uint8_t *memory = malloc(t->capacity);
    const bool good = memory != NULL && npu_dev_read(run->dev, t->base, memory, t->capacity);
    size_t i = 0;
    for (uint32_t c = 0; good && c < t->at.c; c++) {
        for (uint32_t y = 0; y < t->at.h; y++) {
            for (uint32_t x = 0; x < t->at.w; x++) {
                t->v[i++] = element(t, memory, c, y, x);
            }
        }
    }
    free(memory);
    return good;
}

void tensor_check(tc_run *run, const tensor *t, const char *op, tensor_match match, const void *ctx) {
    uint8_t *memory = malloc(t->capacity);
    if (memory == NULL || t->image == NULL || !npu_dev_read(run->dev, t->base, memory, t->capacity)) {
        tc_fail(run, "output unreadable", "%s: %u bytes of output at 0x%08X cannot be read", op, t->capacity, t->base);
    } else if (elements_right(run, t, op, memory, match, ctx)) {
        check_rest(run, t, op, memory);
    }
    free(memory);
}

uint64_t tensor_memory(uint64_t bytes, uint32_t buffers) {
    const uint64_t mib64 = UINT64_C(64) << 20;
    return ((bytes + (uint64_t)buffers * 4 * PAGE + (UINT64_C(1) << 20)) / mib64 + 1) * mib64;
}

/* ---- one operator ---- */

int tensor_put_again(tc_run *run, tensor_op *op) {
    if (tensor_blank(run, op->in_place ? &op->a : &op->out) != 0) {
        return -1;
    }
    return tensor_put(run, &op->a, false);
}

void tensor_check_result(tc_run *run, const tensor_op *op, const char *name, tensor_match match, const void *ctx) {
    tensor expected = op->in_place ? op->a : op->out;
    expected.v = op->out.v;
    tensor_check(run, &expected, name, match, ctx);
}

static void run_measured(tc_run *run, const tensor_kind *kind, tensor_op *op) {
    tc_stats *s = &run->stats;
    npu_status status = npu_perf_clear(&run->npu);
    const uint16_t before[NPU_UNIT_COUNT] = {run->npu.started[0], run->npu.started[1], run->npu.started[2]};
    const tensor_clock begin = tensor_now(run);
    if (status == NPU_OK) {
        status = kind->run(&run->npu, op);
    }
    tensor_measure(run, begin);
    if (status == NPU_OK) {
        status = npu_perf_read(&run->npu, s->perf, NPU_PERF_COUNT);
    }
    if (status != NPU_OK) {
        tc_driver_failed(run, kind->test->name, status, NPU_OK);
        return;
    }
    s->bounds = op->bounds;
    snprintf(s->what, sizeof s->what, "%s", op->what);
    snprintf(s->tasks, sizeof s->tasks, "%u ALU, %u POOL, %u GEMM",
             (uint16_t)(run->npu.started[NPU_UNIT_ALU] - before[NPU_UNIT_ALU]),
             (uint16_t)(run->npu.started[NPU_UNIT_POOL] - before[NPU_UNIT_POOL]),
             (uint16_t)(run->npu.started[NPU_UNIT_GEMM] - before[NPU_UNIT_GEMM]));
}

int tensor_again(tc_run *run, const tensor_kind *kind, tensor_op *op) {
    return kind->again != NULL ? kind->again(run, op) : tensor_blank(run, &op->out);
}

void tensor_verify(tc_run *run, const tensor_kind *kind, tensor_op *op) {
    if (kind->verify != NULL) {
        kind->verify(run, op);
    } else {
        tensor_check(run, &op->out, kind->test->name, NULL, NULL);
    }
}

void tensor_release(const tensor_kind *kind, tensor_op *op) {
    if (kind->release != NULL) {
        kind->release(op);
    }
    tensor_free(&op->a);
    tensor_free(&op->b);
    tensor_free(&op->out);
}

int tensor_execute(tc_run *run) {
    const tensor_kind *kind = run->test->kind;
    tensor_op *op = calloc(1, kind->size);
    if (op == NULL) {
        return tc_no_memory(run);
    }
    int rc = tc_open(run, tensor_memory(kind->bytes(run->n, run->knobs), 8), TENSOR_TIMEOUT_US);
    if (rc == 0) {
        rc = kind->prepare(run, run->knobs, run->seed, op);
    }
    if (rc == 0 && tc_ok(run)) {
        run_measured(run, kind, op);
        if (tc_ok(run)) {
            tensor_verify(run, kind, op);
        }
    }
    tensor_release(kind, op);
    free(op);
    return rc;
}
