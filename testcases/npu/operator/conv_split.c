/* conv_split.c - draws the splits of the two runs of a convolution. */
#include "conv.h"
#include "num.h"

typedef struct splits {
    uint32_t n;
    uint64_t seed;
    tb_knobs *knobs;
    npu_conv conv;
    npu_conv_plan plan; /* of the driver alone */
} splits;

/* The knobs of one run. */
typedef struct names {
    const char *ow, *oh, *ic, *oc, *kh, *group, *serial, *no_res, *res;
    bool second;
} names;

static const names of_run[2] = {
    {"max_ow", "max_oh", "max_ic", "max_oc", "max_kh", "group", "serial", "no_res", "res", false},
    {"max_ow2", "max_oh2", "max_ic2", "max_oc2", "max_kh2", "group2", "serial2", "no_res2", "res2", true}};

static void put(const splits *s, const char *name, int64_t value) {
    if (!tb_knobs_is_pinned(s->knobs, name)) {
        (void)tb_knobs_set(s->knobs, name, value);
    }
}

static bool chance(const splits *s, const char *name, uint32_t num, uint32_t den) {
    const tb_rng stream = tb_rng_stream(s->seed, name);
    tb_rng rng = tb_rng_fork(&stream, 1);
    return tb_rng_chance(&rng, num, den);
}

/* A limit in channels that splits `channels` into at most five slices; 0 when no split is possible. */
static void draw_channels(const splits *s, const char *name, uint32_t channels) {
    const int64_t n = s->n;
    const int64_t blocks = (channels + n - 1) / n;
    if (blocks < 2 || !chance(s, name, 1, 2)) {
        put(s, name, 0);
        return;
    }
    tb_knobs_draw_in(s->knobs, name, s->seed, n * tb_max_i64(1, blocks / 5), blocks * n - 1);
}

static bool too_long(const splits *s, bool second) {
    const npu_conv_split split = conv_split_of(s->knobs, second);
    npu_conv_plan p;
    const bool good = npu_conv_plan_make(s->n, &s->conv, &split, &p) == NPU_OK;
    return !good || conv_cost(s->n, &s->conv, &p, tc_knob(s->knobs, "bus")) > conv_budget(s->n);
}

static void draw_run(const splits *s, const names *r) {
    const npu_conv_plan *p = &s->plan;
    if (p->ow > 1 && chance(s, r->ow, 1, 5)) {
        tb_knobs_draw_in(s->knobs, r->ow, s->seed, tb_max_i64(1, p->ow / 5), p->ow - 1);
    } else {
        put(s, r->ow, 0);
    }
    if (p->oh > 1 && chance(s, r->oh, 1, 2)) {
        tb_knobs_draw_in(s->knobs, r->oh, s->seed, tb_max_i64(1, p->oh / 10), p->oh - 1);
    } else {
        put(s, r->oh, 0);
    }
    if (s->conv.kh > 1 && chance(s, r->kh, 1, 8)) {
        tb_knobs_draw_in(s->knobs, r->kh, s->seed, 1, s->conv.kh - 1);
    } else {
        put(s, r->kh, 0);
    }
    draw_channels(s, r->ic, s->conv.ic / s->conv.groups * p->merge);
    draw_channels(s, r->oc, s->conv.oc / s->conv.groups * p->merge);
    const char *const order[] = {r->ow, r->oh, r->no_res, r->res, r->kh, r->ic, r->oc};
    for (size_t i = 0; i < sizeof order / sizeof order[0] && too_long(s, r->second); i++) {
        put(s, order[i], 0);
    }
}

/* Two runs that differ in something. */
static void differ(const splits *s) {
    const npu_conv_split a = conv_split_of(s->knobs, false);
    const npu_conv_split b = conv_split_of(s->knobs, true);
    if (a.max_ow == b.max_ow && a.max_oh == b.max_oh && a.max_ic == b.max_ic && a.max_oc == b.max_oc &&
        a.max_kh == b.max_kh && a.group == b.group && a.serial == b.serial && a.no_resident == b.no_resident &&
        a.resident == b.resident) {
        put(s, "serial2", a.serial ? 0 : 1);
        put(s, "group2", a.group == 1 ? 2 : 1);
    }
}

void conv_draw_splits(uint32_t n, uint64_t seed, tb_knobs *knobs) {
    splits s = {.n = n, .seed = seed, .knobs = knobs};
    conv_case what;
    if (conv_case_of(n, knobs, &what) != NPU_OK || npu_conv_plan_make(n, &what.drive, NULL, &s.plan) != NPU_OK) {
        return; /* conv_check() reports the reason */
    }
    s.conv = what.drive;
    draw_run(&s, &of_run[0]);
    draw_run(&s, &of_run[1]);
    differ(&s);
}
