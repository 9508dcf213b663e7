/* linear.c - generator of fully connected layers; the rest is the test conv's. */
#include "conv.h"

static void put(tb_knobs *knobs, const char *name, int64_t value) {
    if (!tb_knobs_is_pinned(knobs, name)) {
        (void)tb_knobs_set(knobs, name, value);
    }
}

/* Short vectors, blocks and their neighbours, and lengths at which buffers overflow. */
static void draw_length(uint32_t n, uint64_t seed, tb_knobs *knobs, const char *name, int64_t longest) {
    const tb_rng stream = tb_rng_stream(seed, name);
    tb_rng rng = tb_rng_fork(&stream, 1);
    const uint64_t kind = tb_rng_range(&rng, 0, 7);
    if (kind == 0) {
        put(knobs, name, (int64_t)(n * tb_rng_range(&rng, 1, 8)) + tb_rng_range_i64(&rng, -1, 1));
    } else if (kind == 1) {
        tb_knobs_draw_in(knobs, name, seed, longest / 4, longest);
    } else {
        tb_knobs_draw_in(knobs, name, seed, 1, kind < 4 ? 1000 : 40);
    }
}

static uint64_t cost(uint32_t n, const tb_knobs *knobs) {
    conv_case what;
    npu_conv_plan p;
    if (conv_case_of(n, knobs, &what) != NPU_OK || npu_conv_plan_make(n, &what.drive, NULL, &p) != NPU_OK) {
        return UINT64_MAX;
    }
    return conv_cost(n, &what.drive, &p, tc_knob(knobs, "bus"));
}

/* The longer one that is free becomes shorter. */
static void fit_budget(uint32_t n, tb_knobs *knobs) {
    while (cost(n, knobs) > conv_budget(n) / 2) {
        const int64_t in = tb_knobs_is_pinned(knobs, "in_len") ? 1 : tb_knobs_get(knobs, "in_len");
        const int64_t out = tb_knobs_is_pinned(knobs, "out_len") ? 1 : tb_knobs_get(knobs, "out_len");
        if (in <= 1 && out <= 1) {
            return;
        }
        if (in > out) {
            put(knobs, "in_len", in - (in + 3) / 4);
        } else {
            put(knobs, "out_len", out - (out + 3) / 4);
        }
    }
}

int linear_generate(uint32_t n, uint64_t seed, bool plain, tb_knobs *knobs, char *err, size_t err_size) {
    static const char *const frills[] = {
        "act_p", "in_layout", "out_layout", "max_ow",    "max_ow2", "max_oh",  "max_oh2", "max_ic",  "max_oc",
        "group", "serial",    "no_res",     "second",    "max_ic2", "max_oc2", "group2",  "serial2", "no_res2",
        "gap",   "tight",     "in_shift",   "out_shift", "place",   "bus",     "wait"};
    tb_knobs_draw(knobs, seed);
    for (size_t i = 0; plain && i < sizeof frills / sizeof frills[0]; i++) {
        put(knobs, frills[i], 0);
    }
    if (plain) {
        put(knobs, "act", tb_knobs_get(knobs, "act") & 1);
    }
    draw_length(n, seed, knobs, "in_len", 70000);
    draw_length(n, seed, knobs, "out_len", 3000);
    if (tb_knobs_get(knobs, "in_layout") == NPU_INT8_NHWC) {
        put(knobs, "in_len", tb_knobs_get(knobs, "in_len") > 65535 ? 65535 : tb_knobs_get(knobs, "in_len"));
    }
    if (tb_knobs_get(knobs, "data") == CONV_HALVES) {
        put(knobs, "in_scale", CONV_SCALE_POW2);
    }
    fit_budget(n, knobs);
    if (!plain) {
        conv_draw_splits(n, seed, knobs);
    }
    return conv_check(n, knobs, err, err_size);
}
