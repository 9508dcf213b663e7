/*
 * conv_gen.c - the generator of convolutions: boundary shapes and anything between, cut down to a budget of clock
 * cycles.
 */
#include "conv.h"
#include "num.h"

#include <string.h>

typedef struct gen {
    tb_knobs *knobs;
    uint64_t seed;
    uint32_t n;
    conv_shape shape;
    bool plain;
    bool depthwise; /* the test dw: the knob c is ic, oc and groups */
} gen;

/* The sizes of one direction. */
typedef struct side {
    const char *map, *kernel, *stride, *dilation, *pad0, *pad1;
} side;

static const side columns = {"iw", "kw", "sw", "dil_w", "pl", "pr"};
static const side lines = {"ih", "kh", "sh", "dil_h", "pt", "pb"};

static const char *knob_of(const gen *g, const char *name) {
    const bool channels = strcmp(name, "ic") == 0 || strcmp(name, "oc") == 0 || strcmp(name, "groups") == 0;
    return g->depthwise && channels ? "c" : name;
}

static int64_t get(const gen *g, const char *name) {
    return tb_knobs_get(g->knobs, knob_of(g, name));
}

static bool pinned(const gen *g, const char *name) {
    return tb_knobs_is_pinned(g->knobs, knob_of(g, name));
}

static void draw_in(const gen *g, const char *name, int64_t lo, int64_t hi) {
    tb_knobs_draw_in(g->knobs, knob_of(g, name), g->seed, lo, hi);
}

/* Set unless pinned, kept inside the legal range. */
static void put(const gen *g, const char *name, int64_t value) {
    if (!pinned(g, name)) {
        const int i = tb_knobs_find(g->knobs, knob_of(g, name));
        const tb_knob *k = &g->knobs->table[i];
        g->knobs->value[i] = value < k->lo ? k->lo : value > k->hi ? k->hi : value;
    }
}

/* A draw of its own, beside that of the knob's value. */
static tb_rng beside(const gen *g, const char *name, uint64_t which) {
    const tb_rng stream = tb_rng_stream(g->seed, name);
    return tb_rng_fork(&stream, which);
}

static bool chance(const gen *g, const char *name, uint32_t num, uint32_t den) {
    tb_rng rng = beside(g, name, 1);
    return tb_rng_chance(&rng, num, den);
}

static void draw_log(const gen *g, const char *name, int64_t lo, int64_t hi) {
    tb_rng rng = beside(g, name, 2);
    put(g, name, (int64_t)tb_rng_small(&rng, (uint64_t)lo, (uint64_t)hi));
}

/* In [1, hi]: small values in half of the cases, large ones in the other half. */
static void draw_size(const gen *g, const char *name, int64_t hi) {
    draw_in(g, name, chance(g, name, 1, 2) ? 1 : hi / 3 + 1, hi);
}

static void draw_pair(const gen *g, const char *a, const char *b, int64_t lo, int64_t hi) {
    draw_in(g, a, lo, hi);
    draw_in(g, b, lo, hi);
}

/* Ranges of maps and channels for each class of shapes. */
static void draw_class(const gen *g) {
    const int64_t n = g->n;
    draw_size(g, "iw", 48);
    draw_size(g, "ih", 48);
    draw_size(g, "ic", 4 * n);
    draw_size(g, "oc", 4 * n);
    switch (g->shape) {
    case POINT:
        put(g, "iw", 1);
        put(g, "ih", 1);
        draw_in(g, "oc", 1, 8 * n);
        break;
    case ROW:
        put(g, "ih", 1);
        draw_in(g, "iw", 1, 300);
        break;
    case TINY:
    case PADDED:
        draw_pair(g, "iw", "ih", 1, 4);
        break;
    case WIDE:
        draw_in(g, "iw", 300, 2300);
        draw_in(g, "ih", 1, 8);
        draw_pair(g, "ic", "oc", 1, n);
        break;
    case BROAD:
        draw_in(g, "ih", 1, 3);
        draw_in(g, "iw", 16385, 20000);
        draw_pair(g, "ic", "oc", 1, 2);
        break;
    case TALL:
        draw_in(g, "iw", 1, 3);
        draw_in(g, "ih", 300, 2000);
        draw_in(g, "ic", 1, 2 * n);
        draw_in(g, "oc", 1, n);
        break;
    case ROWS: /* a map of more words than two tasks may have together */
        draw_in(g, "iw", 32, 160);
        put(g, "ih", (chance(g, "ih", 1, 2) ? 8192 : 16384) / get(g, "iw") + 1 + get(g, "ih"));
        draw_in(g, "ic", 1, tb_min_i64(n, 8));
        draw_in(g, "oc", 1, n);
        break;
    case STREAM: /* more pixels than a task can have: its rows go on with the same weights */
        draw_in(g, "iw", 100, 400);
        put(g, "ih", 65536 / get(g, "iw") + 2);
        draw_pair(g, "ic", "oc", 1, 3);
        break;
    case DEEP: /* more weights than the buffer holds */
        draw_pair(g, "iw", "ih", 1, 9);
        draw_in(g, "oc", 1, 2 * n);
        break;
    case MANY: /* more output channels than a task may have */
        draw_in(g, "oc", 1025, 1600);
        draw_in(g, "ic", 1, n);
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
static void draw_groups(const gen *g) {
    const bool wanted = pinned(g, "groups") || g->shape == DW || g->shape == GROUPED;
    if (g->depthwise) {
        return;
    }
    if (!wanted || g->plain) {
        put(g, "groups", 1);
    } else if (g->shape == DW) {
        put(g, "groups",
            pinned(g, "ic") && pinned(g, "oc")    ? common_divisor(get(g, "ic"), get(g, "oc"))
            : pinned(g, "ic") || !pinned(g, "oc") ? get(g, "ic")
                                                  : get(g, "oc"));
    } else {
        const int64_t of = pinned(g, "ic") && pinned(g, "oc") ? common_divisor(get(g, "ic"), get(g, "oc"))
                           : pinned(g, "ic")                  ? get(g, "ic")
                           : pinned(g, "oc")                  ? get(g, "oc")
                                                              : 0;
        tb_rng rng = beside(g, "groups", 1);
        const int64_t wish = (int64_t)tb_rng_range(&rng, 2, chance(g, "ic", 1, 2) ? g->n : 4 * (uint64_t)g->n);
        put(g, "groups", of != 0 ? divisor(of, wish) : wish);
        if (chance(g, "oc", 1, 2)) { /* few channels in each: several groups fit into one block */
            draw_pair(g, "ic", "oc", 1, g->n);
        }
    }
    const int64_t groups = get(g, "groups");
    if (groups > 1) {
        const bool same = g->shape == DW || (pinned(g, "ic") && get(g, "ic") == groups);
        put(g, "ic", g->shape == DW ? groups : groups * tb_max_i64(1, get(g, "ic") / groups));
        put(g, "oc", same ? groups : groups * tb_max_i64(1, get(g, "oc") / groups));
        if (g->shape == GROUPED && !pinned(g, "ic") && get(g, "ic") == groups && !pinned(g, "oc")) {
            put(g, "ic", groups * (1 + (get(g, "oc") / groups) % 3)); /* depthwise has a class of its own */
        }
    }
}

/*
 * One knob that stands for several (0 or -1: it does not) and the ones of both sides. `of_class`: the range of the
 * class, 0: the weights of `all`.
 */
static void draw_both(const gen *g, const char *all, const char *a, const char *b, int64_t lo, int64_t hi,
                      bool of_class) {
    const int64_t value = get(g, all);
    if (pinned(g, all) && value != 0) {
        put(g, a, value);
        put(g, b, value);
    } else if (!pinned(g, all) && !pinned(g, a) && !pinned(g, b) && value != 0 && !of_class) {
        put(g, a, value);
        put(g, b, value);
    } else {
        draw_pair(g, a, b, lo, hi);
        if (!pinned(g, all) && chance(g, all, 1, 2)) {
            put(g, b, get(g, a));
        }
    }
}

static void draw_kernel(const gen *g) {
    const bool large = g->shape == LARGE && chance(g, "kw", 1, 4);
    const int64_t k_lo = g->shape == LARGE ? (large ? 1 : 8) : g->shape == TINY ? 5 : g->shape == DEEP ? 3 : 1;
    const int64_t k_hi = g->shape == LARGE                        ? (large ? 40 : 11)
                         : g->shape == BROAD                      ? 4
                         : g->shape == MANY || g->shape == STREAM ? 3
                                                                  : 7;
    const bool k_class = g->shape == LARGE || g->shape == TINY || g->shape == DEEP || g->shape == BROAD ||
                         g->shape == MANY || g->shape == STREAM;
    draw_both(g, "k", "kw", "kh", k_lo, k_hi, k_class);
    draw_both(g, "s", "sw", "sh", g->shape == STREAM ? 2 : 1,
              g->shape == STRIDED  ? 255
              : g->shape == STREAM ? 4
                                   : 7,
              g->shape == STRIDED || g->shape == STREAM);
    draw_both(g, "d", "dil_w", "dil_h", 1, g->shape == DILATED ? 9 : 3, g->shape == DILATED);
    if (g->plain) {
        put(g, "dil_w", tb_max_i64(1, get(g, "d")));
        put(g, "dil_h", tb_max_i64(1, get(g, "d")));
    }
    if (!g->depthwise && get(g, "groups") < get(g, "ic")) { /* weights of one kernel row have to fit */
        put(g, "kw", tb_min_i64(get(g, "kw"), 4608 / g->n));
    }
}

static int64_t extent(const gen *g, const side *s) {
    return (get(g, s->kernel) - 1) * get(g, s->dilation) + 1;
}

/* Padding of one side: below the kernel, or far beyond it. */
static void draw_pads(const gen *g, const side *s) {
    const int64_t e = extent(g, s);
    const bool map_first = g->shape == POINT || g->shape == TINY || (g->shape == ROW && s->map[1] == 'h');
    const int64_t p = get(g, "p");
    if (g->shape == PADDED && !pinned(g, "p")) {
        draw_log(g, s->pad0, 0, 255);
        draw_log(g, s->pad1, 0, 255);
    } else if ((pinned(g, "p") && p >= 0) || (!pinned(g, "p") && p >= 0 && !map_first && p < e)) {
        put(g, s->pad0, p);
        put(g, s->pad1, p);
    } else {
        draw_pair(g, s->pad0, s->pad1, map_first ? e / 2 : 0, e - 1);
    }
}

/* Enough of map and padding together for one window: the map grows, or the padding, or holes and kernel shrink; what is
 * not pinned. */
static void fit_side(const gen *g, const side *s) {
    put(g, s->map, tb_max_i64(get(g, s->map), extent(g, s) - get(g, s->pad0) - get(g, s->pad1)));
    const bool pads_free = !(pinned(g, "p") && get(g, "p") >= 0);
    int64_t missing = extent(g, s) - get(g, s->pad0) - get(g, s->pad1) - get(g, s->map);
    if (missing > 0 && pads_free) {
        put(g, s->pad0, get(g, s->pad0) + (missing + 1) / 2);
        missing = extent(g, s) - get(g, s->pad0) - get(g, s->pad1) - get(g, s->map);
        put(g, s->pad1, get(g, s->pad1) + tb_max_i64(0, missing));
    }
    const int64_t room = get(g, s->pad0) + get(g, s->pad1) + get(g, s->map);
    if (extent(g, s) > room && !(pinned(g, "d") && get(g, "d") != 0)) {
        put(g, s->dilation, 1);
    }
    if (extent(g, s) > room && !(pinned(g, "k") && get(g, "k") != 0)) {
        put(g, s->kernel, room);
    }
}

/* The knobs that stand for several follow from those. */
static void combine(const gen *g) {
    const int64_t pad = get(g, "pl");
    const bool same_pad = pad == get(g, "pr") && pad == get(g, "pt") && pad == get(g, "pb");
    put(g, "k", get(g, "kw") == get(g, "kh") ? get(g, "kw") : 0);
    put(g, "s", get(g, "sw") == get(g, "sh") ? get(g, "sw") : 0);
    put(g, "d", get(g, "dil_w") == get(g, "dil_h") ? get(g, "dil_w") : 0);
    put(g, "p", same_pad ? pad : -1);
}

/* Roughly the clock cycles of one run as the driver cuts it. UINT64_MAX: no plan. */
static uint64_t cost(const gen *g) {
    conv_case what;
    npu_conv_plan p;
    if (conv_case_of(g->n, g->knobs, &what) != NPU_OK || npu_conv_plan_make(g->n, &what.drive, NULL, &p) != NPU_OK) {
        return UINT64_MAX;
    }
    return conv_cost(g->n, &what.drive, &p, (uint32_t)get(g, "bus"));
}

/* Which of the sizes make the class what it is. */
static bool protected_size(conv_shape shape, const char *name) {
    const bool map = name[0] == 'i' && name[1] != 'c';
    return (map && (shape == ROWS || shape == WIDE || shape == BROAD || shape == TALL || shape == STREAM)) ||
           (shape == DEEP && name[1] == 'c' && name[0] == 'i') || (shape == MANY && name[0] == 'o');
}

static bool groups_free(const gen *g) {
    return !pinned(g, "groups") && !pinned(g, "ic") && !pinned(g, "oc") && get(g, "groups") > 2;
}

/* Fewer groups, of the same size. */
static void shrink_groups(const gen *g) {
    const int64_t groups = get(g, "groups");
    const int64_t fewer = groups - (groups - 2 + 3) / 4;
    const int64_t in = get(g, "ic") / groups;
    const int64_t out = get(g, "oc") / groups;
    put(g, "groups", fewer);
    put(g, "ic", in * fewer);
    put(g, "oc", out * fewer);
}

/* Make the largest size that is free smaller; false: there is none. */
static bool shrink(const gen *g, bool protect) {
    static const char *const names[] = {"oc", "ic", "iw", "ih", "pl", "pr", "pt", "pb"};
    const bool pads = g->shape == PADDED && !pinned(g, "p");
    const int64_t groups = get(g, "groups");
    const int64_t need_w = tb_max_i64(1, extent(g, &columns) - get(g, "pl") - get(g, "pr"));
    const int64_t need_h = tb_max_i64(1, extent(g, &lines) - get(g, "pt") - get(g, "pb"));
    const int64_t low[] = {
        groups, groups, need_w, need_h, extent(g, &columns), extent(g, &columns), extent(g, &lines), extent(g, &lines)};
    size_t largest = 0;
    int64_t value = 0;
    for (size_t i = g->depthwise ? 2 : 0; i < (pads ? 8u : 4u); i++) {
        const int64_t v = get(g, names[i]);
        if (!pinned(g, names[i]) && v > low[i] && v - low[i] > value &&
            !(protect && protected_size(g->shape, names[i]))) {
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
    put(g, names[largest], get(g, names[largest]) - step);
    return true;
}

static void fit_budget(const gen *g) {
    for (int protect = 1; protect >= 0; protect--) {
        while (cost(g) > conv_budget(g->n) / 2 && shrink(g, protect != 0)) {
        }
    }
}

/* What is no part of the operator itself. */
static void no_frills(const gen *g) {
    static const char *const names[] = {
        "shape",   "groups",  "act_p",  "in_layout", "out_layout", "max_ow",    "max_ow2", "max_oh",  "max_ic",
        "max_oc",  "group",   "serial", "no_res",    "second",     "max_oh2",   "max_ic2", "max_oc2", "group2",
        "serial2", "no_res2", "gap",    "tight",     "in_shift",   "out_shift", "place",   "bus",     "wait"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!(g->depthwise && strcmp(names[i], "groups") == 0)) {
            put(g, names[i], 0);
        }
    }
    put(g, "d", 1);
    put(g, "act", get(g, "act") & 1);
}

int conv_generate(uint32_t n, uint64_t seed, bool plain, tb_knobs *knobs, char *err, size_t err_size) {
    gen g = {.knobs = knobs, .seed = seed, .n = n, .plain = plain, .depthwise = tb_knobs_find(knobs, "c") >= 0};
    tb_knobs_draw(knobs, seed);
    if (plain) {
        no_frills(&g);
    }
    g.shape = (conv_shape)get(&g, "shape");
    draw_class(&g);
    draw_groups(&g);
    draw_kernel(&g);
    if (g.shape == DEEP && get(&g, "groups") == 1) { /* now that the taps are known: one to two buffers full */
        const int64_t full = 4608 / (get(&g, "kw") * get(&g, "kh"));
        draw_in(&g, "ic", full + 1, full + full / 2 + n);
    }
    if (get(&g, "data") == CONV_HALVES) { /* halves stay halves only where products are exact */
        put(&g, "in_scale", CONV_SCALE_POW2);
    }
    draw_pads(&g, &columns);
    draw_pads(&g, &lines);
    fit_side(&g, &columns);
    fit_side(&g, &lines);
    combine(&g);
    fit_budget(&g);
    if (!plain) {
        conv_draw_splits(n, seed, knobs);
    }
    return conv_check(n, knobs, err, err_size);
}
