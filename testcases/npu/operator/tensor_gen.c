/* tensor_gen.c - functions that the generators of operator tests share. */
#include "tensor.h"

#include <string.h>

static const char *knob_of(const tc_gen *g, const char *name) {
    const bool channels = strcmp(name, "ic") == 0 || strcmp(name, "oc") == 0 || strcmp(name, "groups") == 0;
    return g->channels != NULL && channels ? g->channels : name;
}

int64_t gen_get(const tc_gen *g, const char *name) {
    return tb_knobs_get(g->knobs, knob_of(g, name));
}

bool gen_pinned(const tc_gen *g, const char *name) {
    return tb_knobs_is_pinned(g->knobs, knob_of(g, name));
}

void gen_draw_in(const tc_gen *g, const char *name, int64_t lo, int64_t hi) {
    tb_knobs_draw_in(g->knobs, knob_of(g, name), g->seed, lo, hi);
}

void gen_put(const tc_gen *g, const char *name, int64_t value) {
    const int i = tb_knobs_find(g->knobs, knob_of(g, name));
    if (i >= 0 && !gen_pinned(g, name)) {
        const tb_knob *k = &g->knobs->table[i];
        g->knobs->value[i] = value < k->lo ? k->lo : value > k->hi ? k->hi : value;
    }
}

bool gen_chance(const tc_gen *g, const char *name, uint32_t num, uint32_t den) {
    const tb_rng stream = tb_rng_stream(g->seed, name);
    tb_rng rng = tb_rng_fork(&stream, 1);
    return tb_rng_chance(&rng, num, den);
}

void gen_size(const tc_gen *g, const char *name, int64_t hi) {
    gen_draw_in(g, name, gen_chance(g, name, 1, 2) ? 1 : hi / 3 + 1, hi);
}

void gen_simplest(const tc_gen *g, const char *const *names, size_t count) {
    for (size_t i = 0; g->plain && i < count; i++) {
        gen_put(g, names[i], 0);
    }
}

void gen_start(const tc_gen *g) {
    static const char *const frills[] = {"gap", "place", "bus", "wait"};
    tb_knobs_draw(g->knobs, g->seed);
    gen_simplest(g, frills, sizeof frills / sizeof frills[0]);
}

void gen_spread(const tc_gen *g, const char *all, int64_t none, const char *const *names, size_t count) {
    bool any_pinned = false;
    for (size_t i = 0; i < count; i++) {
        any_pinned = any_pinned || gen_pinned(g, names[i]);
    }
    if (!gen_pinned(g, all) && any_pinned) {
        gen_put(g, all, none);
    }
    for (size_t i = 0; i < count && gen_get(g, all) != none; i++) {
        gen_put(g, names[i], gen_get(g, all));
    }
}

bool gen_shrink(const tc_gen *g, const char *const *names, const int64_t *low, size_t count) {
    const char *name = NULL;
    int64_t room = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t lowest = low != NULL && low[i] > 1 ? low[i] : 1;
        const int64_t v = gen_get(g, names[i]) - lowest;
        if (!gen_pinned(g, names[i]) && v > room) {
            name = names[i];
            room = v;
        }
    }
    if (name == NULL) {
        return false;
    }
    gen_put(g, name, gen_get(g, name) - (room + 3) / 4);
    return true;
}

uint32_t gen_slowness(const tb_knobs *knobs) {
    static const uint32_t slowness[TC_BUS_COUNT] = {1, 1, 2, 4, 4, 4};
    return slowness[tb_knobs_get(knobs, "bus")];
}

uint64_t gen_budget(uint32_t n) {
    return n == 4 ? 60000 : n == 8 ? 50000 : n == 16 ? 40000 : 30000;
}
