/*
 * conv_gen.c - the generator of convolutions: boundary shapes and anything between, cut down to a budget of clock cycles.
 */
#include "conv.h"

typedef struct gen {
    tb_knobs *knobs;
    uint64_t seed;
    uint32_t n;
    conv_shape shape;
} gen;

static int64_t get(const gen *g, const char *name) {
    return tb_knobs_get(g->knobs, name);
}

static bool pinned(const gen *g, const char *name) {
    return tb_knobs_is_pinned(g->knobs, name);
}

static void draw_in(const gen *g, const char *name, int64_t lo, int64_t hi) {
    tb_knobs_draw_in(g->knobs, name, g->seed, lo, hi);
}

/* Set unless pinned, kept inside the legal range. */
static void put(const gen *g, const char *name, int64_t value) {
    if (!pinned(g, name)) {
        const int i = tb_knobs_find(g->knobs, name);
        const tb_knob *k = &g->knobs->table[i];
        g->knobs->value[i] = value < k->lo ? k->lo : value > k->hi ? k->hi : value;
    }
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* A draw of its own, beside that of the knob's value. */
static bool chance(const gen *g, const char *name, uint32_t num, uint32_t den) {
    const tb_rng stream = tb_rng_stream(g->seed, name);
    tb_rng rng = tb_rng_fork(&stream, 1);
    return tb_rng_chance(&rng, num, den);
}

/* In [1, hi]: small values in half of the cases, large ones in the other half. */
static void draw_size(const gen *g, const char *name, int64_t hi) {
    draw_in(g, name, chance(g, name, 1, 2) ? 1 : hi / 3 + 1, hi);
}

/* Ranges of maps, channels and kernels for each class of shapes. */
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
        draw_in(g, "iw", 1, 4);
        draw_in(g, "ih", 1, 4);
        draw_in(g, "k", 5, 7);
        break;
    case WIDE:
        draw_in(g, "iw", 300, 2300);
        draw_in(g, "ih", 1, 8);
        draw_in(g, "ic", 1, n);
        draw_in(g, "oc", 1, n);
        break;
    case BROAD:
        draw_in(g, "ih", 1, 4);
        draw_in(g, "k", 2, 4);
        draw_in(g, "iw", 16384 / most(1, least(get(g, "ih"), get(g, "k"))) + 1, 20000);
        draw_in(g, "ic", 1, 2);
        draw_in(g, "oc", 1, 2);
        break;
    case TALL:
        draw_in(g, "iw", 1, 3);
        draw_in(g, "ih", 300, 2000);
        draw_in(g, "ic", 1, 2 * n);
        draw_in(g, "oc", 1, n);
        break;
    case ROWS: /* a map of more words than two tasks may have together */
        draw_in(g, "iw", 32, 160);
        put(g, "ih", 8192 / get(g, "iw") + 1 + get(g, "ih"));
        draw_in(g, "ic", 1, least(n, 8));
        draw_in(g, "oc", 1, n);
        break;
    case DEEP: /* more weights than the buffer holds */
        draw_in(g, "k", 3, 7);
        draw_in(g, "iw", 1, 9);
        draw_in(g, "ih", 1, 9);
        draw_in(g, "oc", 1, 2 * n);
        break;
    case MANY: /* more output channels than a task may have */
        draw_in(g, "oc", 1025, 1600);
        draw_in(g, "ic", 1, n);
        draw_in(g, "iw", 1, 5);
        draw_in(g, "ih", 1, 5);
        draw_in(g, "k", 1, 3);
        break;
    case ANY:
    case CONV_SHAPE_COUNT:
        break;
    }
}

/* One side of the kernel: larger than pinned padding, not larger than a pinned map. */
static void draw_kernel_side(const gen *g, const char *side, const char *map, const char *pad0, const char *pad1) {
    if (pinned(g, "k") && get(g, "k") != 0) {
        return;
    }
    int64_t lo = 1;
    int64_t hi = 7;
    lo = pinned(g, "p") ? most(lo, get(g, "p") + 1) : lo;
    lo = pinned(g, pad0) ? most(lo, get(g, pad0) + 1) : lo;
    lo = pinned(g, pad1) ? most(lo, get(g, pad1) + 1) : lo;
    hi = pinned(g, map) ? most(lo, least(hi, get(g, map))) : hi;
    put(g, side, least(hi, most(lo, get(g, side))));
}

/* k, s and p stand for several knobs; a pin of one of those turns them off. */
static void draw_kernel(const gen *g) {
    const int64_t k = get(g, "k");
    if (!pinned(g, "k") && (pinned(g, "kw") || pinned(g, "kh"))) {
        put(g, "k", 0);
    } else if (k != 0) {
        put(g, "kw", k);
        put(g, "kh", k);
    }
    draw_kernel_side(g, "kw", "iw", "pl", "pr");
    draw_kernel_side(g, "kh", "ih", "pt", "pb");
    if (get(g, "kw") != get(g, "kh")) {
        put(g, "k", 0);
    } else if (get(g, "k") != 0) {
        put(g, "k", get(g, "kw"));
    }
    const int64_t s = get(g, "s");
    if (!pinned(g, "s") && (pinned(g, "sw") || pinned(g, "sh"))) {
        put(g, "s", 0);
    } else if (s != 0) {
        put(g, "sw", s);
        put(g, "sh", s);
    }
}

/* One side of the map: padding below the kernel, and enough of map and padding together for one window. */
static void draw_pad_side(const gen *g, const char *kernel, const char *map, const char *pad0, const char *pad1) {
    const int64_t k = get(g, kernel);
    const bool map_first = g->shape == POINT || g->shape == TINY || (g->shape == ROW && map[1] == 'h');
    draw_in(g, pad0, map_first ? k / 2 : 0, k - 1);
    draw_in(g, pad1, map_first ? k / 2 : 0, k - 1);
    put(g, map, most(get(g, map), k - get(g, pad0) - get(g, pad1)));
}

static void draw_padding(const gen *g) {
    const bool side_pinned = pinned(g, "pl") || pinned(g, "pr") || pinned(g, "pt") || pinned(g, "pb");
    if (!pinned(g, "p")) {
        put(g, "p", side_pinned ? -1 : least(get(g, "p"), least(get(g, "kw"), get(g, "kh")) - 1));
    }
    draw_pad_side(g, "kw", "iw", "pl", "pr");
    draw_pad_side(g, "kh", "ih", "pt", "pb");
    const int64_t p = get(g, "p");
    if (p < 0) {
        return;
    }
    /* One padding for all sides: where it is too small for the map, a map that is free grows. */
    put(g, "pl", p);
    put(g, "pr", p);
    put(g, "pt", p);
    put(g, "pb", p);
    put(g, "iw", most(get(g, "iw"), get(g, "kw") - 2 * p));
    put(g, "ih", most(get(g, "ih"), get(g, "kh") - 2 * p));
}

/* Cycles of a beat of data, by the bus. */
static const uint32_t slowness[TC_BUS_COUNT] = {1, 1, 2, 4, 4, 4};

static uint64_t up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/* Roughly the clock cycles of a plan with row_split: each task loads its segment of one input row and its weights. */
static uint64_t cost_of_segments(const gen *g, const npu_conv *c, const npu_conv_plan *p) {
    const uint64_t n = g->n;
    const uint64_t tasks = conv_tasks(c, p);
    const uint64_t icb = up(p->ic_task, n);
    const uint64_t ocb = up(p->oc_task, n);
    const uint64_t mesh = up(p->ow_task, 2 * n) * n * c->kw * icb * ocb;
    const uint64_t segment = (uint64_t)(p->ow_task - 1) * c->stride_w + c->kw;
    const uint64_t loads = segment * p->ic_task / 4 + icb * ocb * c->kw * n * n / 16;
    const uint64_t stores = (uint64_t)p->ow_task * p->oc_task * 2 / 4;
    return tasks * (mesh + (loads + stores) * slowness[get(g, "bus")] + 400);
}

/* Roughly the clock cycles of one run. UINT64_MAX: no plan. */
static uint64_t cost(const gen *g, bool second, bool with_split) {
    const npu_conv c = conv_of(g->knobs);
    const npu_conv_split split = conv_split_of(g->knobs, second);
    npu_conv_plan p;
    if (npu_conv_plan_make(g->n, &c, with_split ? &split : NULL, &p) != NPU_OK) {
        return UINT64_MAX;
    }
    if (p.row_split) {
        return cost_of_segments(g, &c, &p);
    }
    const uint64_t n = g->n;
    const uint64_t tasks = conv_tasks(&c, &p);
    const uint64_t mesh = p.oh_tasks * up((uint64_t)p.ow * p.oh_task, 2 * n) * n * c.kh * c.kw * up(c.ic, n) * up(c.oc, n);
    const uint64_t rows = (uint64_t)p.oh_tasks * ((uint64_t)(p.oh_task - 1) * c.stride_h + c.kh);
    const uint64_t loads = p.oc_tasks * rows * c.iw * c.ic / 4 + p.oh_tasks * (uint64_t)p.wgt_bytes / 16;
    const uint64_t stores = (uint64_t)p.ow * p.oh * c.oc * (2 * p.ic_tasks - 1) / 4;
    return mesh + (loads + stores) * slowness[get(g, "bus")] + tasks * 400;
}

/* Clock cycles of a case: well below a second of simulation. */
static uint64_t budget(uint32_t n) {
    return n == 4 ? 300000 : n == 8 ? 250000 : n == 16 ? 200000 : 160000;
}

/* Which of the sizes make the class what it is. */
static bool protected_size(conv_shape shape, const char *name) {
    const bool map = name[0] == 'i' && name[1] != 'c';
    return (map && (shape == ROWS || shape == WIDE || shape == BROAD || shape == TALL)) ||
           (shape == DEEP && name[1] == 'c' && name[0] == 'i') || (shape == MANY && name[0] == 'o');
}

/* Make the largest size that is free smaller; false: there is none. */
static bool shrink(const gen *g, bool protect) {
    static const char *const names[] = {"oc", "ic", "iw", "ih"};
    const npu_conv c = conv_of(g->knobs);
    const int64_t low[] = {1, 1, most(1, (int64_t)c.kw - c.pad_l - c.pad_r), most(1, (int64_t)c.kh - c.pad_t - c.pad_b)};
    const char *name = NULL;
    int64_t value = 0;
    for (size_t i = 0; i < 4; i++) {
        const int64_t v = get(g, names[i]);
        if (!pinned(g, names[i]) && v > low[i] && v - low[i] > value && !(protect && protected_size(g->shape, names[i]))) {
            name = names[i];
            value = v - low[i];
        }
    }
    if (name == NULL) {
        return false;
    }
    put(g, name, get(g, name) - (value + 3) / 4);
    return true;
}

static void fit_budget(const gen *g) {
    for (int protect = 1; protect >= 0; protect--) {
        while (cost(g, false, false) > budget(g->n) / 2 && shrink(g, protect != 0)) {
        }
    }
}

/* A limit in channels that cuts `channels` into at most `pieces` slices; 0 when there is nothing to cut. */
static void draw_channel_limit(const gen *g, const char *name, int64_t channels, int64_t pieces) {
    const int64_t blocks = (channels + g->n - 1) / g->n;
    if (blocks < 2 || !chance(g, name, 1, 2)) {
        put(g, name, 0);
        return;
    }
    draw_in(g, name, g->n * most(1, blocks / pieces), blocks * g->n - 1);
}

static void draw_split(const gen *g, bool second) {
    const npu_conv c = conv_of(g->knobs);
    const char *max_ow = second ? "max_ow2" : "max_ow";
    const char *max_oh = second ? "max_oh2" : "max_oh";
    npu_conv_plan p;
    if (npu_conv_plan_make(g->n, &c, NULL, &p) != NPU_OK) { /* conv_check() says why */
        put(g, max_ow, 0);
        put(g, max_oh, 0);
        return;
    }
    if (p.ow > 1 && chance(g, max_ow, 1, 4)) {
        draw_in(g, max_ow, most(1, p.ow / 5), p.ow - 1);
    } else {
        put(g, max_ow, 0);
    }
    if (p.oh > 1 && chance(g, max_oh, 1, 2)) {
        draw_in(g, max_oh, most(1, p.oh / 10), p.oh - 1);
    } else {
        put(g, max_oh, 0);
    }
    draw_channel_limit(g, second ? "max_ic2" : "max_ic", c.ic, 5);
    draw_channel_limit(g, second ? "max_oc2" : "max_oc", c.oc, 5);
    if (cost(g, second, true) > budget(g->n)) {
        put(g, max_ow, 0);
    }
    if (cost(g, second, true) > budget(g->n)) {
        put(g, max_oh, 0);
        put(g, second ? "max_ic2" : "max_ic", 0);
        put(g, second ? "max_oc2" : "max_oc", 0);
    }
}

/* A second way of splitting that differs in something. */
static void differ(const gen *g) {
    const npu_conv_split a = conv_split_of(g->knobs, false);
    const npu_conv_split b = conv_split_of(g->knobs, true);
    if (a.max_ow == b.max_ow && a.max_oh == b.max_oh && a.max_ic == b.max_ic && a.max_oc == b.max_oc && a.group == b.group &&
        a.serial == b.serial) {
        put(g, "serial2", a.serial ? 0 : 1);
        put(g, "group2", a.group == 1 ? 2 : 1);
    }
}

static void no_frills(const gen *g) {
    static const char *const names[] = {"max_ow",  "max_ow2", "max_oh", "max_ic",  "max_oc", "group", "serial", "second", "max_oh2",
                                        "max_ic2", "max_oc2", "group2", "serial2", "gap",    "place", "bus",    "wait"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        put(g, names[i], 0);
    }
}

int conv_generate(uint32_t n, uint64_t seed, bool plain, tb_knobs *knobs, char *err, size_t err_size) {
    gen g = {.knobs = knobs, .seed = seed, .n = n};
    tb_knobs_draw(knobs, seed);
    if (plain) {
        no_frills(&g);
    }
    g.shape = (conv_shape)get(&g, "shape");
    draw_class(&g);
    draw_kernel(&g);
    if (g.shape == DEEP) { /* now that the taps are known: one to two buffers full */
        const int64_t full = 4608 / (get(&g, "kw") * get(&g, "kh"));
        draw_in(&g, "ic", full + 1, full + full / 2 + n);
    }
    if (get(&g, "data") == CONV_HALVES) { /* halves stay halves only where products are exact */
        put(&g, "in_scale", CONV_SCALE_POW2);
    }
    draw_padding(&g);
    fit_budget(&g);
    if (!plain) {
        draw_split(&g, false);
        draw_split(&g, true);
        differ(&g);
    }
    return conv_check(n, knobs, err, err_size);
}
