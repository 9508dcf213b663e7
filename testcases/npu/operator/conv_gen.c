/*
 * conv_gen.c - the generator of convolutions: boundary shapes and anything between, reduced to a budget of clock
 * cycles.
 */
#include "conv.h"
#include "num.h"

#include <string.h>

/* The sizes of one direction. */
typedef struct side {
    const char *map, *kernel, *stride, *dilation, *pad0, *pad1;
} side;

static const side columns = {"iw", "kw", "sw", "dil_w", "pl", "pr"};
static const side lines = {"ih", "kh", "sh", "dil_h", "pt", "pb"};

static conv_shape shape_of(const tc_gen *g) {
    return (conv_shape)gen_get(g, "shape");
}

/* A separate draw, independent of the knob's value. */
static tb_rng beside(const tc_gen *g, const char *name, uint64_t which) {
    const tb_rng stream = tb_rng_stream(g->seed, name);
    return tb_rng_fork(&stream, which);
}

static void draw_log(const tc_gen *g, const char *name, int64_t lo, int64_t hi) {
    tb_rng rng = beside(g, name, 2);
    gen_put(g, name, (int64_t)tb_rng_small(&rng, (uint64_t)lo, (uint64_t)hi));
}

static void draw_pair(const tc_gen *g, const char *a, const char *b, int64_t lo, int64_t hi) {
    gen_draw_in(g, a, lo, hi);
    gen_draw_in(g, b, lo, hi);
}

/* Ranges of maps and channels for each class of shapes. */
static void draw_class(const tc_gen *g) {
    const int64_t n = g->n;
    gen_size(g, "iw", 48);
    gen_size(g, "ih", 48);
    gen_size(g, "ic", 4 * n);
    gen_size(g, "oc", 4 * n);
    switch (shape_of(g)) {
    case POINT:
        gen_put(g, "iw", 1);
        gen_put(g, "ih", 1);
        gen_draw_in(g, "oc", 1, 8 * n);
        break;
    case ROW:
        gen_put(g, "ih", 1);
        gen_draw_in(g, "iw", 1, 300);
        break;
    case TINY:
    case PADDED:
        draw_pair(g, "iw", "ih", 1, 4);
        break;
    case WIDE:
        gen_draw_in(g, "iw", 300, 2300);
        gen_draw_in(g, "ih", 1, 8);
        draw_pair(g, "ic", "oc", 1, n);
        break;
    case BROAD:
        gen_draw_in(g, "ih", 1, 3);
        gen_draw_in(g, "iw", 16385, 20000);
        draw_pair(g, "ic", "oc", 1, 2);
        break;
    case TALL:
        gen_draw_in(g, "iw", 1, 3);
        gen_draw_in(g, "ih", 300, 2000);
        gen_draw_in(g, "ic", 1, 2 * n);
        gen_draw_in(g, "oc", 1, n);
        break;
    case ROWS: /* a map of more words than two tasks may have together */
        gen_draw_in(g, "iw", 32, 160);
        gen_put(g, "ih", (gen_chance(g, "ih", 1, 2) ? 8192 : 16384) / gen_get(g, "iw") + 1 + gen_get(g, "ih"));
        gen_draw_in(g, "ic", 1, tb_min_i64(n, 8));
        gen_draw_in(g, "oc", 1, n);
        break;
    case STREAM: /* more pixels than a task can have: its rows continue with the same weights */
        gen_draw_in(g, "iw", 100, 400);
        gen_put(g, "ih", 65536 / gen_get(g, "iw") + 2);
        draw_pair(g, "ic", "oc", 1, 3);
        break;
    case DEEP: /* more weights than the buffer holds */
        draw_pair(g, "iw", "ih", 1, 9);
        gen_draw_in(g, "oc", 1, 2 * n);
        break;
    case MANY: /* more output channels than a task may have */
        gen_draw_in(g, "oc", 1025, 1600);
        gen_draw_in(g, "ic", 1, n);
        draw_pair(g, "iw", "ih", 1, 5);
        break;
    case STRIDED:
        draw_pair(g, "iw", "ih", 1, 200);
        break;
    default:
        break;
    }
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The largest divisor of `of` that is at most `wish`. */
static int64_t divisor(int64_t of, int64_t wish) {
    int64_t d = tb_max_i64(1, tb_min_i64(wish, of));
    while (of % d != 0) {
        d--;
    }
    return d;
}

/* A number of groups that divides pinned channels; channels that are free become multiples of it. */
static void draw_groups(const tc_gen *g) {
    const conv_shape shape = shape_of(g);
    const bool wanted = gen_pinned(g, "groups") || shape == DW || shape == GROUPED;
    if (g->channels != NULL) {
        return;
    }
    if (!wanted || g->plain) {
        gen_put(g, "groups", 1);
    } else if (shape == DW) {
        gen_put(g, "groups",
                gen_pinned(g, "ic") && gen_pinned(g, "oc")    ? common_divisor(gen_get(g, "ic"), gen_get(g, "oc"))
                : gen_pinned(g, "ic") || !gen_pinned(g, "oc") ? gen_get(g, "ic")
                                                              : gen_get(g, "oc"));
    } else {
        const int64_t of = gen_pinned(g, "ic") && gen_pinned(g, "oc")
                               ? common_divisor(gen_get(g, "ic"), gen_get(g, "oc"))
                           : gen_pinned(g, "ic") ? gen_get(g, "ic")
                           : gen_pinned(g, "oc") ? gen_get(g, "oc")
                                                 : 0;
        tb_rng rng = beside(g, "groups", 1);
        const int64_t wish = (int64_t)tb_rng_range(&rng, 2, gen_chance(g, "ic", 1, 2) ? g->n : 4 * (uint64_t)g->n);
        gen_put(g, "groups", of != 0 ? divisor(of, wish) : wish);
        if (gen_chance(g, "oc", 1, 2)) { /* few channels in each: several groups fit into one block */
            draw_pair(g, "ic", "oc", 1, g->n);
        }
    }
    const int64_t groups = gen_get(g, "groups");
    if (groups > 1) {
        const bool same = shape == DW || (gen_pinned(g, "ic") && gen_get(g, "ic") == groups);
        gen_put(g, "ic", shape == DW ? groups : groups * tb_max_i64(1, gen_get(g, "ic") / groups));
        gen_put(g, "oc", same ? groups : groups * tb_max_i64(1, gen_get(g, "oc") / groups));
        if (shape == GROUPED && !gen_pinned(g, "ic") && gen_get(g, "ic") == groups && !gen_pinned(g, "oc")) {
            gen_put(g, "ic", groups * (1 + (gen_get(g, "oc") / groups) % 3)); /* depthwise has its own class */
        }
    }
}

/*
 * One knob that stands for several (0 or -1: it does not) and the ones of both sides. `of_class`: the range of the
 * class, 0: the weights of `all`.
 */
static void draw_both(const tc_gen *g, const char *all, const char *a, const char *b, int64_t lo, int64_t hi,
                      bool of_class) {
    const int64_t value = gen_get(g, all);
    if (gen_pinned(g, all) && value != 0) {
        gen_put(g, a, value);
        gen_put(g, b, value);
    } else if (!gen_pinned(g, all) && !gen_pinned(g, a) && !gen_pinned(g, b) && value != 0 && !of_class) {
        gen_put(g, a, value);
        gen_put(g, b, value);
    } else {
        draw_pair(g, a, b, lo, hi);
        if (!gen_pinned(g, all) && gen_chance(g, all, 1, 2)) {
            gen_put(g, b, gen_get(g, a));
        }
    }
}

static void draw_kernel(const tc_gen *g) {
    const conv_shape shape = shape_of(g);
    const bool large = shape == LARGE && gen_chance(g, "kw", 1, 4);
    const int64_t k_lo = shape == LARGE ? (large ? 1 : 8) : shape == TINY ? 5 : shape == DEEP ? 3 : 1;
    const int64_t k_hi = shape == LARGE                     ? (large ? 40 : 11)
                         : shape == BROAD                   ? 4
                         : shape == MANY || shape == STREAM ? 3
                                                            : 7;
    const bool k_class =
        shape == LARGE || shape == TINY || shape == DEEP || shape == BROAD || shape == MANY || shape == STREAM;
    draw_both(g, "k", "kw", "kh", k_lo, k_hi, k_class);
    draw_both(g, "s", "sw", "sh", shape == STREAM ? 2 : 1,
              shape == STRIDED  ? 255
              : shape == STREAM ? 4
                                : 7,
              shape == STRIDED || shape == STREAM);
    draw_both(g, "d", "dil_w", "dil_h", 1, shape == DILATED ? 9 : 3, shape == DILATED);
    if (g->plain) {
        gen_put(g, "dil_w", tb_max_i64(1, gen_get(g, "d")));
        gen_put(g, "dil_h", tb_max_i64(1, gen_get(g, "d")));
    }
    if (g->channels == NULL && gen_get(g, "groups") < gen_get(g, "ic")) { /* weights of one kernel row have to fit */
        gen_put(g, "kw", tb_min_i64(gen_get(g, "kw"), 4608 / g->n));
    }
}

static int64_t extent(const tc_gen *g, const side *s) {
    return (gen_get(g, s->kernel) - 1) * gen_get(g, s->dilation) + 1;
}

/* Padding of one side: below the kernel, or far beyond it. */
static void draw_pads(const tc_gen *g, const side *s) {
    const conv_shape shape = shape_of(g);
    const int64_t e = extent(g, s);
    const bool map_first = shape == POINT || shape == TINY || (shape == ROW && s->map[1] == 'h');
    const int64_t p = gen_get(g, "p");
    if (shape == PADDED && !gen_pinned(g, "p")) {
        draw_log(g, s->pad0, 0, 255);
        draw_log(g, s->pad1, 0, 255);
    } else if ((gen_pinned(g, "p") && p >= 0) || (!gen_pinned(g, "p") && p >= 0 && !map_first && p < e)) {
        gen_put(g, s->pad0, p);
        gen_put(g, s->pad1, p);
    } else {
        draw_pair(g, s->pad0, s->pad1, map_first ? e / 2 : 0, e - 1);
    }
}

/* Enough of map and padding together for one window: the map grows, or the padding, or holes and kernel shrink;
 * whatever is not pinned. */
static void fit_side(const tc_gen *g, const side *s) {
    gen_put(g, s->map, tb_max_i64(gen_get(g, s->map), extent(g, s) - gen_get(g, s->pad0) - gen_get(g, s->pad1)));
    const bool pads_free = !(gen_pinned(g, "p") && gen_get(g, "p") >= 0);
    int64_t missing = extent(g, s) - gen_get(g, s->pad0) - gen_get(g, s->pad1) - gen_get(g, s->map);
    if (missing > 0 && pads_free) {
        gen_put(g, s->pad0, gen_get(g, s->pad0) + (missing + 1) / 2);
        missing = extent(g, s) - gen_get(g, s->pad0) - gen_get(g, s->pad1) - gen_get(g, s->map);
        gen_put(g, s->pad1, gen_get(g, s->pad1) + tb_max_i64(0, missing));
    }
    const int64_t room = gen_get(g, s->pad0) + gen_get(g, s->pad1) + gen_get(g, s->map);
    if (extent(g, s) > room && !(gen_pinned(g, "d") && gen_get(g, "d") != 0)) {
        gen_put(g, s->dilation, 1);
    }
    if (extent(g, s) > room && !(gen_pinned(g, "k") && gen_get(g, "k") != 0)) {
        gen_put(g, s->kernel, room);
    }
}

/* Sets the knobs that stand for several. */
static void combine(const tc_gen *g) {
    const int64_t pad = gen_get(g, "pl");
    const bool same_pad = pad == gen_get(g, "pr") && pad == gen_get(g, "pt") && pad == gen_get(g, "pb");
    gen_put(g, "k", gen_get(g, "kw") == gen_get(g, "kh") ? gen_get(g, "kw") : 0);
    gen_put(g, "s", gen_get(g, "sw") == gen_get(g, "sh") ? gen_get(g, "sw") : 0);
    gen_put(g, "d", gen_get(g, "dil_w") == gen_get(g, "dil_h") ? gen_get(g, "dil_w") : 0);
    gen_put(g, "p", same_pad ? pad : -1);
}

/* Approximate clock cycles of one run with the driver's plan. UINT64_MAX: no plan. */
static uint64_t cost(const tc_gen *g) {
    conv_case what;
    npu_conv_plan p;
    if (conv_case_of(g->n, g->knobs, &what) != NPU_OK || npu_conv_plan_make(g->n, &what.drive, NULL, &p) != NPU_OK) {
        return UINT64_MAX;
    }
    return conv_cost(g->n, &what.drive, &p, (uint32_t)gen_get(g, "bus"));
}

/* The sizes that are essential for the class. */
static bool protected_size(conv_shape shape, const char *name) {
    const bool map = name[0] == 'i' && name[1] != 'c';
    return (map && (shape == ROWS || shape == WIDE || shape == BROAD || shape == TALL || shape == STREAM)) ||
           (shape == DEEP && name[1] == 'c' && name[0] == 'i') || (shape == MANY && name[0] == 'o');
}

static bool groups_free(const tc_gen *g) {
    return !gen_pinned(g, "groups") && !gen_pinned(g, "ic") && !gen_pinned(g, "oc") && gen_get(g, "groups") > 2;
}

/* Fewer groups, of the same size. */
static void shrink_groups(const tc_gen *g) {
    const int64_t groups = gen_get(g, "groups");
    const int64_t fewer = groups - (groups - 2 + 3) / 4;
    const int64_t in = gen_get(g, "ic") / groups;
    const int64_t out = gen_get(g, "oc") / groups;
    gen_put(g, "groups", fewer);
    gen_put(g, "ic", in * fewer);
    gen_put(g, "oc", out * fewer);
}

/* Reduce the largest size that is not pinned; false: there is none. */
static bool shrink(const tc_gen *g, bool protect) {
    static const char *const names[] = {"oc", "ic", "iw", "ih", "pl", "pr", "pt", "pb"};
    const bool pads = shape_of(g) == PADDED && !gen_pinned(g, "p");
    const int64_t groups = gen_get(g, "groups");
    const int64_t need_w = tb_max_i64(1, extent(g, &columns) - gen_get(g, "pl") - gen_get(g, "pr"));
    const int64_t need_h = tb_max_i64(1, extent(g, &lines) - gen_get(g, "pt") - gen_get(g, "pb"));
    const int64_t low[] = {
        groups, groups, need_w, need_h, extent(g, &columns), extent(g, &columns), extent(g, &lines), extent(g, &lines)};
    size_t largest = 0;
    int64_t value = 0;
    for (size_t i = g->channels != NULL ? 2 : 0; i < (pads ? 8u : 4u); i++) {
        const int64_t v = gen_get(g, names[i]);
        if (!gen_pinned(g, names[i]) && v > low[i] && v - low[i] > value &&
            !(protect && protected_size(shape_of(g), names[i]))) {
            largest = i;
            value = v - low[i];
        }
    }
    if (groups_free(g) && groups - 2 > value) {
        shrink_groups(g);
        return true;
    }
    if (value == 0) {
        return false;
    }
    const int64_t step = largest < 2 ? groups * ((value / groups + 3) / 4) : (value + 3) / 4;
    gen_put(g, names[largest], gen_get(g, names[largest]) - step);
    return true;
}

static void fit_budget(const tc_gen *g) {
    for (int protect = 1; protect >= 0; protect--) {
        while (cost(g) > conv_budget(g->n) / 2 && shrink(g, protect != 0)) {
        }
    }
}

/* Knobs that are not part of the operator itself. */
static void no_frills(const tc_gen *g) {
    static const char *const names[] = {
        "shape",   "groups", "act_p",   "in_layout", "out_layout", "max_ow", "max_ow2",  "max_oh",
        "max_ic",  "max_oc", "group",   "serial",    "no_res",     "second", "max_oh2",  "max_ic2",
        "max_oc2", "group2", "serial2", "no_res2",   "gap",        "tight",  "in_shift", "out_shift",
        "place",   "bus",    "wait",    "max_kh",    "max_kh2",    "res",    "res2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!(g->channels != NULL && strcmp(names[i], "groups") == 0)) {
            gen_put(g, names[i], 0);
        }
    }
    gen_put(g, "d", 1);
    gen_put(g, "act", gen_get(g, "act") & 1);
}

void conv_generate(const tc_gen *given) {
    tc_gen own = *given;
    const tc_gen *g = &own;
    own.channels = tb_knobs_find(given->knobs, "c") >= 0 ? "c" : NULL; /* the test dw */
    tb_knobs_draw(g->knobs, g->seed);
    if (g->plain) {
        no_frills(g);
    }
    draw_class(g);
    draw_groups(g);
    draw_kernel(g);
    if (shape_of(g) == DEEP && gen_get(g, "groups") == 1) { /* the taps are known now: one to two buffers full */
        const int64_t full = 4608 / (gen_get(g, "kw") * gen_get(g, "kh"));
        gen_draw_in(g, "ic", full + 1, full + full / 2 + g->n);
    }
    if (gen_get(g, "data") == CONV_HALVES) { /* halves remain halves only if products are exact */
        gen_put(g, "in_scale", CONV_SCALE_POW2);
    }
    draw_pads(g, &columns);
    draw_pads(g, &lines);
    fit_side(g, &columns);
    fit_side(g, &lines);
    combine(g);
    fit_budget(g);
    if (!g->plain) {
        conv_draw_splits(g->n, g->seed, g->knobs);
    }
}
