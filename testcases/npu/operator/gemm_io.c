/* gemm_io.c - tensors and parameters in device memory. */
#include "gemm_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_MAX 4096u

int gemm_no_memory(tc_run *run) {
    snprintf(run->err, sizeof run->err, "%s: out of memory", run->test->name);
    return -1;
}

uint32_t gemm_align(uint32_t v, uint32_t n) {
    return (v + n - 1) / n * n;
}

uint32_t gemm_alloc(tc_run *run, const char *name, uint32_t bytes, uint32_t shift, npu_buf_kind kind) {
    tb_rng rng = tb_rng_stream((uint64_t)tb_knobs_get(run->knobs, "place"), name);
    const uint32_t unit = run->n > 16 ? run->n : 16; /* INT8 tensors start on a multiple of N */
    const uint32_t past = tc_knob(run->knobs, "place") == 0 ? 0 : unit * (uint32_t)tb_rng_range(&rng, 0, PLACE_MAX / unit - 1);
    const uint32_t addr = npu_dev_alloc(run->dev, gemm_align16(bytes + shift) + past, PLACE_MAX, kind);
    if (addr == 0) {
        snprintf(run->err, sizeof run->err, "%s: %s of %u bytes does not fit into device memory", run->test->name, name, bytes);
        return 0;
    }
    return addr + past + shift;
}

int gemm_put(tc_run *run, uint32_t addr, const void *src, size_t bytes) {
    if (!npu_dev_write(run->dev, addr, src, bytes)) {
        snprintf(run->err, sizeof run->err, "%s: cannot write %zu bytes at 0x%08X of device memory", run->test->name, bytes, addr);
        return -1;
    }
    return 0;
}

int gemm_new(tc_run *run, const char *name, const void *src, size_t bytes, uint32_t *addr) {
    *addr = gemm_alloc(run, name, (uint32_t)bytes, 0, NPU_BUF_IN);
    return *addr == 0 ? -1 : gemm_put(run, *addr, src, bytes);
}

static bool is_i8(const npu_tensor *t) {
    return t->layout == NPU_INT8_NHWC;
}

/* Channels or pixels, and the bytes of one without its gap. */
static uint32_t pieces(const npu_tensor *t) {
    return is_i8(t) ? t->w * t->h : t->c;
}

static uint32_t piece_bytes(const tc_run *run, const npu_tensor *t) {
    return is_i8(t) ? gemm_align(t->c, run->n) : t->w * t->h * 4;
}

uint32_t gemm_step(const tc_run *run, const npu_tensor *t, uint32_t gap, bool tight) {
    if (is_i8(t)) {
        return gemm_align(t->c, run->n) + gap * run->n;
    }
    return tight && t->w == 1 && t->h == 1 ? 4 + 4 * gap : gemm_align16(t->w * t->h * 4) + 16 * gap;
}

uint64_t gemm_bytes(const npu_tensor *t) {
    return (uint64_t)pieces(t) * t->step;
}

int gemm_new_tensor(tc_run *run, const char *name, npu_tensor *t, uint32_t shift, npu_buf_kind kind) {
    const uint64_t bytes = gemm_bytes(t);
    if (bytes > UINT32_C(1) << 30) {
        snprintf(run->err, sizeof run->err, "%s: %s does not fit into device memory", run->test->name, name);
        return -1;
    }
    t->addr = gemm_alloc(run, name, (uint32_t)bytes, shift, kind);
    return t->addr == 0 ? -1 : 0;
}

/* Garbage over every 16 bytes in which a piece begins, goes on or ends. */
static int put_garbage(tc_run *run, const npu_tensor *t) {
    const uint32_t bytes = piece_bytes(run, t);
    const uint32_t room = bytes + 32;
    uint8_t *garbage = malloc(room);
    int rc = 0;
    if (garbage == NULL) {
        return gemm_no_memory(run);
    }
    memset(garbage, 0xFF, room);
    for (uint32_t i = 0; i < pieces(t) && rc == 0; i++) {
        const uint32_t at = t->addr + i * t->step;
        const uint32_t from = at & ~15u;
        rc = gemm_put(run, from, garbage, gemm_align16(at + bytes) - from);
    }
    free(garbage);
    return rc;
}

/* Pad channels hold nothing that means anything. */
static void pixel_of(const npu_tensor *t, const int8_t *elements, uint32_t pixel, int8_t *dst, uint32_t bytes) {
    memset(dst, 0x55, bytes);
    for (uint32_t c = 0; c < t->c; c++) {
        dst[c] = elements[(size_t)c * t->w * t->h + pixel];
    }
}

int gemm_put_tensor(tc_run *run, const npu_tensor *t, const void *elements) {
    const uint32_t bytes = piece_bytes(run, t);
    int rc = put_garbage(run, t);
    int8_t *pixel = is_i8(t) ? malloc(bytes) : NULL;
    if (is_i8(t) && pixel == NULL) {
        return gemm_no_memory(run);
    }
    for (uint32_t i = 0; i < pieces(t) && rc == 0; i++) {
        const void *src = pixel;
        if (pixel != NULL) {
            pixel_of(t, elements, i, pixel, bytes);
        } else {
            src = (const uint8_t *)elements + (size_t)i * bytes;
        }
        rc = gemm_put(run, t->addr + i * t->step, src, bytes);
    }
    free(pixel);
    return rc;
}

int gemm_fill_tensor(tc_run *run, const npu_tensor *t) {
    const size_t bytes = (size_t)gemm_bytes(t);
    uint8_t *fill = malloc(bytes);
    if (fill == NULL) {
        return gemm_no_memory(run);
    }
    memset(fill, GEMM_FILL, bytes);
    const int rc = gemm_put(run, t->addr, fill, bytes);
    free(fill);
    return rc;
}

uint8_t *gemm_get_tensor(tc_run *run, const char *what, const npu_tensor *t) {
    const size_t bytes = (size_t)gemm_bytes(t);
    uint8_t *image = malloc(bytes);
    if (image == NULL) {
        gemm_no_memory(run);
    } else if (!npu_dev_read(run->dev, t->addr, image, bytes)) {
        tc_fail(run, "output unreadable", "%s: %zu bytes of output at 0x%08X cannot be read", what, bytes, t->addr);
        free(image);
        image = NULL;
    }
    return image;
}

void gemm_check_gaps(tc_run *run, const char *what, const npu_tensor *t, const uint8_t *image) {
    const uint32_t bytes = piece_bytes(run, t);
    for (uint32_t i = 0; i < pieces(t); i++) {
        const uint8_t *piece = image + (size_t)i * t->step;
        for (uint32_t b = is_i8(t) ? t->c : bytes; b < t->step; b++) {
            if (b < bytes && piece[b] != 0) {
                tc_fail(run, "pad channel not zero", "%s: pixel %u: channel %u, padding, is %d", what, i, b, (int8_t)piece[b]);
                return;
            }
            if (b >= bytes && piece[b] != GEMM_FILL) {
                tc_fail(run, "gap written", "%s: byte %u behind %s %u, a gap, was written (0x%02X)", what, b - bytes,
                        is_i8(t) ? "pixel" : "channel", i, piece[b]);
                return;
            }
        }
    }
}

size_t gemm_at(const npu_tensor *t, uint32_t c, uint32_t pixel) {
    return is_i8(t) ? (size_t)pixel * t->step + c : (size_t)c * t->step + (size_t)pixel * 4;
}

uint32_t gemm_word(const uint8_t *bytes) {
    uint32_t v;
    memcpy(&v, bytes, 4);
    return v;
}

int8_t *gemm_take_i8(const npu_tensor *t, const uint8_t *image) {
    const uint32_t pixels = t->w * t->h;
    int8_t *dst = malloc((size_t)pixels * t->c);
    for (uint32_t c = 0; dst != NULL && c < t->c; c++) {
        for (uint32_t i = 0; i < pixels; i++) {
            dst[(size_t)c * pixels + i] = (int8_t)image[gemm_at(t, c, i)];
        }
    }
    return dst;
}

void gemm_check_same(tc_run *run, const char *signature, const npu_tensor *t, const uint8_t *first, const uint8_t *second) {
    const size_t bytes = is_i8(t) ? 1 : 4;
    for (uint32_t c = 0; c < t->c; c++) {
        for (uint32_t i = 0; i < t->w * t->h; i++) {
            const size_t at = gemm_at(t, c, i);
            if (memcmp(first + at, second + at, bytes) != 0) {
                tc_fail(run, signature, "channel %u row %u column %u: 0x%08X one way, 0x%08X the other way", c, i / t->w, i % t->w,
                        bytes == 1 ? first[at] : gemm_word(first + at), bytes == 1 ? second[at] : gemm_word(second + at));
                return;
            }
        }
    }
}

gemm_instant gemm_now(const tc_run *run) {
    gemm_instant t = {.cycles = npu_dev_cycles(run->dev)};
    npu_dev_time_split(run->dev, &t.rtl_s, &t.harness_s);
    return t;
}

void gemm_measured(tc_run *run, gemm_instant start) {
    const gemm_instant end = gemm_now(run);
    tc_stats *s = &run->stats;
    s->measured = true;
    s->cycles = end.cycles - start.cycles;
    s->rtl_s = end.rtl_s - start.rtl_s;
    s->harness_s = end.harness_s - start.harness_s;
}
