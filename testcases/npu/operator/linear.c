/* linear.c - generator of fully connected layers; the rest is that of the test conv. */
#include "conv.h"

/* Short vectors, blocks and their neighbours, and lengths at which buffers overflow. */
static void draw_length(const tc_gen *g, const char *name, int64_t longest) {
    const tb_rng stream = tb_rng_stream(g->seed, name);
    tb_rng rng = tb_rng_fork(&stream, 1);
    const uint64_t kind = tb_rng_range(&rng, 0, 7);
    if (kind == 0) {
        gen_put(g, name, (int64_t)(g->n * tb_rng_range(&rng, 1, 8)) + tb_rng_range_i64(&rng, -1, 1));
    } else if (kind == 1) {
        gen_draw_in(g, name, longest / 4, longest);
    } else {
        gen_draw_in(g, name, 1, kind < 4 ? 1000 : 40);
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

/* Reduces the longer one that is not pinned. */
static void fit_budget(const tc_gen *g) {
    while (cost(g->n, g->knobs) > conv_budget(g->n) / 2) {
        const int64_t in = gen_pinned(g, "in_len") ? 1 : gen_get(g, "in_len");
        const int64_t out = gen_pinned(g, "out_len") ? 1 : gen_get(g, "out_len");
        if (in <= 1 && out <= 1) {
            return;
        }
        if (in > out) {
            gen_put(g, "in_len", in - (in + 3) / 4);
        } else {
            gen_put(g, "out_len", out - (out + 3) / 4);
        }
    }
}

void linear_generate(const tc_gen *g) {
    static const char *const frills[] = {
        "act_p", "in_layout", "out_layout", "max_ow", "max_ow2", "max_oh",  "max_oh2", "max_ic",  "max_oc",
        "group", "serial",    "no_res",     "second", "max_ic2", "max_oc2", "group2",  "serial2", "no_res2",
        "tight", "in_shift",  "out_shift",  "max_kh", "max_kh2", "res",     "res2"};
    gen_start(g);
    gen_simplest(g, frills, sizeof frills / sizeof frills[0]);
    if (g->plain) {
        gen_put(g, "act", gen_get(g, "act") & 1);
    }
    draw_length(g, "in_len", 70000);
    draw_length(g, "out_len", 3000);
    if (gen_get(g, "in_layout") == NPU_INT8_NHWC) {
        gen_put(g, "in_len", gen_get(g, "in_len") > 65535 ? 65535 : gen_get(g, "in_len"));
    }
    if (gen_get(g, "data") == CONV_HALVES) {
        gen_put(g, "in_scale", CONV_SCALE_POW2);
    }
    fit_budget(g);
    if (!g->plain) {
        conv_draw_splits(g->n, g->seed, g->knobs);
    }
}
