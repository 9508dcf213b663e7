/* tensor_mem.c - tensors and parameters as bytes of device memory; measurements of a run. */
#include "tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_MAX 4096u
#define BEAT 16u

uint32_t tensor_alloc(tc_run *run, const char *name, uint32_t bytes, uint32_t shift, npu_buf_kind kind) {
    tb_rng rng = tb_rng_stream((uint64_t)tb_knobs_get(run->knobs, "place"), name);
    const uint32_t unit = run->n > 16 ? run->n : 16; /* INT8 tensors start on a multiple of N */
    const uint32_t past =
        tc_knob(run->knobs, "place") == 0 ? 0 : unit * (uint32_t)tb_rng_range(&rng, 0, PLACE_MAX / unit - 1);
    const uint32_t addr = npu_dev_alloc(run->dev, tb_align_up(bytes + shift, 16) + past, PLACE_MAX, kind);
    if (addr == 0) {
        snprintf(run->err, sizeof run->err, "%s: %s of %u bytes does not fit into device memory", run->test->name, name,
                 bytes);
        return 0;
    }
    return addr + past + shift;
}

int tensor_write(tc_run *run, uint32_t addr, const void *src, size_t bytes) {
    if (!npu_dev_write(run->dev, addr, src, bytes)) {
        return opt_fail(run->err, sizeof run->err, "%s: cannot write %zu bytes at 0x%08X of device memory",
                        run->test->name, bytes, addr);
    }
    return 0;
}

int tensor_new_bytes(tc_run *run, const char *name, const void *src, size_t bytes, uint32_t *addr) {
    *addr = tensor_alloc(run, name, (uint32_t)bytes, 0, NPU_BUF_IN);
    return *addr == 0 ? -1 : tensor_write(run, *addr, src, bytes);
}

static bool is_i8(const npu_tensor *t) {
    return t->layout == NPU_INT8_NHWC;
}

uint32_t tensor_pieces(const npu_tensor *t) {
    return is_i8(t) ? t->w * t->h : t->c;
}

uint32_t tensor_piece_bytes(const tc_run *run, const npu_tensor *t) {
    return is_i8(t) ? tb_align_up(t->c, run->n) : t->w * t->h * 4;
}

uint32_t tensor_step(const tc_run *run, const npu_tensor *t, uint32_t gap, bool tight) {
    if (is_i8(t)) {
        return tb_align_up(t->c, run->n) + gap * run->n;
    }
    return tight && t->w == 1 && t->h == 1 ? 4 + 4 * gap : tb_align_up(t->w * t->h * 4, 16) + 16 * gap;
}

uint64_t tensor_bytes(const npu_tensor *t) {
    return (uint64_t)tensor_pieces(t) * t->step;
}

int tensor_new(tc_run *run, const char *name, npu_tensor *t, uint32_t shift, npu_buf_kind kind) {
    const uint64_t bytes = tensor_bytes(t);
    if (bytes > UINT32_C(1) << 30) {
        return opt_fail(run->err, sizeof run->err, "%s: %s does not fit into device memory", run->test->name, name);
    }
    t->addr = tensor_alloc(run, name, (uint32_t)bytes, shift, kind);
    return t->addr == 0 ? -1 : 0;
}

int tensor_write_pieces(tc_run *run, const npu_tensor *t, tensor_pack *pack, const void *ctx, uint8_t *image,
                        uint32_t base) {
    const uint32_t bytes = tensor_piece_bytes(run, t);
    uint8_t *data = malloc(bytes + 2 * BEAT);
    int rc = data != NULL ? 0 : tc_no_memory(run);
    for (uint32_t pass = 0; pass < 2; pass++) { /* garbage first, because the beats around two pieces may overlap */
        for (uint32_t i = 0; rc == 0 && i < tensor_pieces(t); i++) {
            const uint32_t addr = t->addr + i * t->step;
            const uint32_t first = pass == 0 ? addr & ~(BEAT - 1) : addr;
            const uint32_t length = pass == 0 ? tb_align_up(addr + bytes, BEAT) - first : bytes;
            if (pass == 0) {
                memset(data, 0xFF, length);
            } else {
                pack(ctx, t, i, bytes, data);
            }
            if (image != NULL) {
                memcpy(image + (first - base), data, length);
            }
            rc = tensor_write(run, first, data, length);
        }
    }
    free(data);
    return rc;
}

/* Pad channels get values that differ from results. */
static void pack_elements(const void *ctx, const npu_tensor *t, uint32_t i, uint32_t bytes, uint8_t *dst) {
    const uint8_t *elements = ctx;
    if (!is_i8(t)) {
        memcpy(dst, elements + (size_t)i * bytes, bytes);
        return;
    }
    memset(dst, 0x55, bytes);
    for (uint32_t c = 0; c < t->c; c++) {
        dst[c] = elements[(size_t)c * t->w * t->h + i];
    }
}

int tensor_write_elements(tc_run *run, const npu_tensor *t, const void *elements) {
    return tensor_write_pieces(run, t, pack_elements, elements, NULL, 0);
}

int tensor_prefill(tc_run *run, const npu_tensor *t) {
    const size_t bytes = (size_t)tensor_bytes(t);
    uint8_t *fill = malloc(bytes);
    if (fill == NULL) {
        return tc_no_memory(run);
    }
    memset(fill, TENSOR_FILL, bytes);
    const int rc = tensor_write(run, t->addr, fill, bytes);
    free(fill);
    return rc;
}

uint8_t *tensor_read(tc_run *run, const char *what, const npu_tensor *t) {
    const size_t bytes = (size_t)tensor_bytes(t);
    uint8_t *image = malloc(bytes);
    if (image == NULL) {
        tc_no_memory(run);
    } else if (!npu_dev_read(run->dev, t->addr, image, bytes)) {
        tc_fail(run, "output unreadable", "%s: %zu bytes of output at 0x%08X cannot be read", what, bytes, t->addr);
        free(image);
        image = NULL;
    }
    return image;
}

void tensor_check_gaps(tc_run *run, const char *what, const npu_tensor *t, const uint8_t *image) {
    const uint32_t bytes = tensor_piece_bytes(run, t);
    for (uint32_t i = 0; i < tensor_pieces(t); i++) {
        const uint8_t *piece = image + (size_t)i * t->step;
        for (uint32_t b = is_i8(t) ? t->c : bytes; b < t->step; b++) {
            if (b < bytes && piece[b] != 0) {
                tc_fail(run, "pad channel not zero", "%s: pixel %u: channel %u, padding, is %d", what, i, b,
                        (int8_t)piece[b]);
                return;
            }
            if (b >= bytes && piece[b] != TENSOR_FILL) {
                tc_fail(run, "gap written", "%s: byte %u after %s %u, a gap, was written (0x%02X)", what, b - bytes,
                        is_i8(t) ? "pixel" : "channel", i, piece[b]);
                return;
            }
        }
    }
}

size_t tensor_offset(const npu_tensor *t, uint32_t c, uint32_t pixel) {
    return is_i8(t) ? (size_t)pixel * t->step + c : (size_t)c * t->step + (size_t)pixel * 4;
}

uint32_t tensor_word(const uint8_t *bytes) {
    uint32_t v;
    memcpy(&v, bytes, 4);
    return v;
}

int8_t *tensor_take_i8(const npu_tensor *t, const uint8_t *image) {
    const uint32_t pixels = t->w * t->h;
    int8_t *dst = malloc((size_t)pixels * t->c);
    for (uint32_t c = 0; dst != NULL && c < t->c; c++) {
        for (uint32_t i = 0; i < pixels; i++) {
            dst[(size_t)c * pixels + i] = (int8_t)image[tensor_offset(t, c, i)];
        }
    }
    return dst;
}

void tensor_check_same(tc_run *run, const char *signature, const npu_tensor *t, const uint8_t *first,
                       const uint8_t *second) {
    const size_t bytes = is_i8(t) ? 1 : 4;
    for (uint32_t c = 0; c < t->c; c++) {
        for (uint32_t i = 0; i < t->w * t->h; i++) {
            const size_t at = tensor_offset(t, c, i);
            if (memcmp(first + at, second + at, bytes) != 0) {
                tc_fail(run, signature, "channel %u row %u column %u: 0x%08X one way, 0x%08X the other way", c,
                        i / t->w, i % t->w, bytes == 1 ? first[at] : tensor_word(first + at),
                        bytes == 1 ? second[at] : tensor_word(second + at));
                return;
            }
        }
    }
}

tensor_clock tensor_now(const tc_run *run) {
    tensor_clock t = {.cycles = npu_dev_cycles(run->dev)};
    npu_dev_time_split(run->dev, &t.rtl_s, &t.harness_s);
    return t;
}

void tensor_measure(tc_run *run, tensor_clock start) {
    const tensor_clock end = tensor_now(run);
    tc_stats *s = &run->stats;
    s->measured = true;
    s->cycles = end.cycles - start.cycles;
    s->rtl_s = end.rtl_s - start.rtl_s;
    s->harness_s = end.harness_s - start.harness_s;
}
