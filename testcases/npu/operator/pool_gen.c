/* pool_gen.c - knobs and generator of the pool test. */
#include "pool.h"
#include "num.h"

#include <stdio.h>

npu_pool pool_of(const tb_knobs *knobs) {
    const npu_layout layout = tb_knobs_get(knobs, "int8") != 0 ? NPU_INT8_NHWC : NPU_FP32_NCHW;
    npu_pool p = {
        .in = {.w = tc_knob(knobs, "w"), .h = tc_knob(knobs, "h"), .c = tc_knob(knobs, "c"), .layout = layout},
        .type = tc_knob(knobs, "type"),
        .exclude_pad = tb_knobs_get(knobs, "exclude") != 0,
        .ceil_mode = tb_knobs_get(knobs, "ceil") != 0,
        .global = tb_knobs_get(knobs, "global") != 0,
        .kw = tc_knob(knobs, "kw"),
        .kh = tc_knob(knobs, "kh"),
        .stride_w = tc_knob(knobs, "sw"),
        .stride_h = tc_knob(knobs, "sh"),
        .pad_l = tc_knob(knobs, "pl"),
        .pad_r = tc_knob(knobs, "pr"),
        .pad_t = tc_knob(knobs, "pt"),
        .pad_b = tc_knob(knobs, "pb")};
    p.out = p.in;
    return p;
}

/* ---- generator ---- */

/* Ranges of maps, channels and windows for each class of shapes. */
static void draw_class(const tc_gen *g, pool_shape shape) {
    const int64_t n = g->n;
    const bool too_large =
        (gen_pinned(g, "w") && gen_get(g, "w") > 255) || (gen_pinned(g, "h") && gen_get(g, "h") > 255);
    gen_put(g, "global", shape == POOL_WHOLE && !too_large ? 1 : 0);
    gen_size(g, "w", 64);
    gen_size(g, "h", 64);
    gen_size(g, "c", 4 * n);
    switch (shape) {
    case POOL_WIDE:
        gen_draw_in(g, "w", 300, 3000);
        gen_draw_in(g, "h", 1, 8);
        gen_draw_in(g, "c", 1, n);
        break;
    case POOL_LARGE:
        gen_put(g, "k", gen_chance(g, "k", 1, 2) ? 0 : gen_get(g, "k"));
        gen_draw_in(g, "k", gen_get(g, "k") == 0 ? 0 : 1, gen_get(g, "k") == 0 ? 0 : 255);
        gen_draw_in(g, "kw", 1, 255);
        gen_draw_in(g, "kh", 1, 255);
        gen_put(g, "s", gen_chance(g, "s", 1, 2) ? 0 : gen_get(g, "s"));
        gen_draw_in(g, "sw", 1, 255);
        gen_draw_in(g, "sh", 1, 255);
        gen_draw_in(g, "w", 1, 600);
        gen_draw_in(g, "h", 1, 300);
        gen_draw_in(g, "c", 1, n);
        break;
    case POOL_TINY:
        gen_draw_in(g, "w", 1, 4);
        gen_draw_in(g, "h", 1, 4);
        gen_draw_in(g, "k", 3, 9);
        break;
    case POOL_DEEP:
        gen_draw_in(g, "w", 1, 7);
        gen_draw_in(g, "h", 1, 7);
        gen_draw_in(g, "c", 4 * n, 1200);
        break;
    case POOL_WHOLE:
        gen_draw_in(g, "w", 1, gen_chance(g, "w", 1, 3) ? 255 : 30);
        gen_draw_in(g, "h", 1, gen_chance(g, "h", 1, 3) ? 255 : 30);
        break;
    case POOL_ANY:
    case POOL_SHAPE_COUNT:
        break;
    }
    if (gen_get(g, "global") == 1) {
        gen_put(g, "w", tb_min_i64(gen_get(g, "w"), 255));
        gen_put(g, "h", tb_min_i64(gen_get(g, "h"), 255));
    }
}

/* A pinned map that is too small for the window: more padding, or a smaller window, whichever is not pinned. */
static void fit_window(const tc_gen *g, const char *kernel, const char *map, const char *pad0, const char *pad1) {
    const int64_t most_pad = gen_get(g, kernel) - 1;
    for (int i = 0; i < 2 && !(gen_pinned(g, "p") && gen_get(g, "p") >= 0); i++) {
        const char *pad = i == 0 ? pad0 : pad1;
        const int64_t missing = gen_get(g, kernel) - gen_get(g, pad0) - gen_get(g, pad1) - gen_get(g, map);
        if (missing > 0) {
            gen_put(g, "p", -1);
            gen_put(g, pad, tb_min_i64(most_pad, gen_get(g, pad) + missing));
        }
    }
    const int64_t room = gen_get(g, pad0) + gen_get(g, pad1) + gen_get(g, map);
    if (gen_get(g, kernel) > room && !(gen_pinned(g, "k") && gen_get(g, "k") != 0)) {
        gen_put(g, "k", 0);
        gen_put(g, kernel, room);
        gen_put(g, "p", -1);
        gen_put(g, pad0, tb_min_i64(gen_get(g, pad0), gen_get(g, kernel) - 1));
        gen_put(g, pad1, tb_min_i64(gen_get(g, pad1), gen_get(g, kernel) - 1));
    }
}

/* Pinned padding, which the window has to exceed. */
static int64_t pinned_pad(const tc_gen *g, const char *pad) {
    return gen_pinned(g, "p") && gen_get(g, "p") >= 0 ? gen_get(g, "p") : gen_pinned(g, pad) ? gen_get(g, pad) : 0;
}

/* Padding below the window, and a map that has at least one. */
static void draw_padding(const tc_gen *g, const char *kernel, const char *map, const char *pad0, const char *pad1) {
    const int64_t pinned = tb_max_i64(pinned_pad(g, pad0), pinned_pad(g, pad1));
    if (gen_get(g, kernel) <= pinned && !(gen_pinned(g, "k") && gen_get(g, "k") != 0)) {
        gen_put(g, "k", 0);
        gen_put(g, kernel, pinned + 1);
    }
    const int64_t k = gen_get(g, kernel);
    gen_draw_in(g, pad0, 0, k - 1);
    gen_draw_in(g, pad1, 0, k - 1);
    const int64_t p = gen_get(g, "p");
    if (p >= 0) {
        gen_put(g, pad0, p);
        gen_put(g, pad1, p);
    }
    if (gen_get(g, "global") == 0) {
        gen_put(g, map, tb_max_i64(gen_get(g, map), k - gen_get(g, pad0) - gen_get(g, pad1)));
        fit_window(g, kernel, map, pad0, pad1);
    }
}

static void draw_window(const tc_gen *g) {
    static const char *const kernel[] = {"kw", "kh"};
    static const char *const stride[] = {"sw", "sh"};
    const bool side_pinned = gen_pinned(g, "pl") || gen_pinned(g, "pr") || gen_pinned(g, "pt") || gen_pinned(g, "pb");
    if (gen_get(g, "shape") != POOL_LARGE) { /* those that k and s do not set */
        gen_draw_in(g, "kw", 1, 9);
        gen_draw_in(g, "kh", 1, 9);
        gen_draw_in(g, "sw", 1, 7);
        gen_draw_in(g, "sh", 1, 7);
        gen_draw_in(g, "k", gen_get(g, "k") == 0 ? 0 : 1, gen_get(g, "k") == 0 ? 0 : 9);
        gen_draw_in(g, "s", gen_get(g, "s") == 0 ? 0 : 1, gen_get(g, "s") == 0 ? 0 : 4);
    }
    if (gen_get(g, "shape") == POOL_TINY) {
        gen_draw_in(g, "k", 3, 9);
    }
    gen_spread(g, "k", 0, kernel, 2);
    gen_spread(g, "s", 0, stride, 2);
    if (!gen_pinned(g, "p")) {
        const int64_t small = tb_min_i64(gen_get(g, "kw"), gen_get(g, "kh"));
        gen_put(g, "p",
                side_pinned || gen_chance(g, "p", 1, 2) ? -1
                : gen_chance(g, "pl", 1, 2)             ? small / 2
                                                        : tb_min_i64(gen_get(g, "p"), small - 1));
    }
    draw_padding(g, "kw", "w", "pl", "pr");
    draw_padding(g, "kh", "h", "pt", "pb");
}

/* Approximate clock cycles of a case: one position of the window in each cycle, for a group of channels. */
static uint64_t cost(uint32_t n, const tb_knobs *knobs) {
    npu_pool p = pool_of(knobs);
    uint32_t ow = 0;
    uint32_t oh = 0;
    if (npu_pool_shape(&p, &ow, &oh) != NPU_OK) {
        return 0; /* pool_check() reports the reason */
    }
    const bool int8 = p.in.layout == NPU_INT8_NHWC;
    const uint64_t group = int8 ? 4 * n : n;
    const uint64_t places = p.global ? (uint64_t)p.in.w * p.in.h : (uint64_t)p.kw * p.kh;
    const uint64_t bytes = ((uint64_t)p.in.w * p.in.h + (uint64_t)ow * oh) * p.in.c * (int8 ? 1 : 4);
    return (p.in.c + group - 1) / group * ow * oh * places + bytes / 32 * gen_slowness(knobs);
}

static void settle_both(tb_knobs *k, const char *all, const char *a, const char *b) {
    const int64_t v = tb_knobs_get(k, a);
    tb_knobs_set(k, all, v == tb_knobs_get(k, b) ? v : 0);
}

void pool_settle(tb_knobs *k) {
    const int64_t pad = tb_knobs_get(k, "pl");
    settle_both(k, "k", "kw", "kh");
    settle_both(k, "s", "sw", "sh");
    tb_knobs_set(k, "p",
                 pad == tb_knobs_get(k, "pr") && pad == tb_knobs_get(k, "pt") && pad == tb_knobs_get(k, "pb") ? pad
                                                                                                              : -1);
}

void pool_generate(const tc_gen *g) {
    static const char *const sizes[] = {"c", "h", "w"};
    gen_start(g);
    const pool_shape shape = (pool_shape)gen_get(g, "shape");
    draw_class(g, shape);
    draw_window(g);
    const npu_pool p = pool_of(g->knobs);
    const int64_t low[] = {1, (int64_t)p.kh - p.pad_t - p.pad_b, (int64_t)p.kw - p.pad_l - p.pad_r};
    while (cost(g->n, g->knobs) > gen_budget(g->n) &&
           gen_shrink(g, sizes, low, shape == POOL_WIDE && !gen_pinned(g, "h") ? 2 : 3)) {
    }
}

int pool_check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    const npu_pool p = pool_of(knobs);
    const int64_t k = tb_knobs_get(knobs, "k");
    const int64_t s = tb_knobs_get(knobs, "s");
    const int64_t pad = tb_knobs_get(knobs, "p");
    uint32_t ow = 0;
    uint32_t oh = 0;
    (void)n;
    if ((k != 0 && (p.kw != k || p.kh != k)) || (s != 0 && (p.stride_w != s || p.stride_h != s)) ||
        (pad >= 0 && (p.pad_l != pad || p.pad_r != pad || p.pad_t != pad || p.pad_b != pad))) {
        return opt_fail(err, err_size,
                        "k, s or p contradicts kw kh, sw sh or pl pr pt pb (k=0, s=0, p=-1 leave it to those)");
    }
    const npu_status status = npu_pool_shape(&p, &ow, &oh);
    if (status != NPU_OK) {
        return opt_fail(err, err_size,
                        "impossible pooling (w=%u h=%u kw=%u kh=%u sw=%u sh=%u pl=%u pr=%u pt=%u pb=%u global=%d): %s",
                        p.in.w, p.in.h, p.kw, p.kh, p.stride_w, p.stride_h, p.pad_l, p.pad_r, p.pad_t, p.pad_b,
                        p.global ? 1 : 0, npu_strerror(status));
    }
    if ((uint64_t)p.in.w * p.in.h * p.in.c > TENSOR_MAX_ELEMENTS || (uint64_t)ow * oh * p.in.c > TENSOR_MAX_ELEMENTS) {
        return opt_fail(err, err_size, "expected at most %u elements in a tensor", (unsigned)TENSOR_MAX_ELEMENTS);
    }
    return 0;
}
