/*
 * fp.c - checks of the floating-point units that the NPU instantiates: what was enabled is at the output one cycle later (docs/fp.md).
 *
 * That the output holds while en_i is low is left to the unit benches.
 */
#include "score.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct state {
    tb_sig en, a, b, y;
    uint32_t a_was, b_was;
    bool due; /* the output of this cycle belongs to a_was, b_was */
    uint64_t count;
} state;

typedef uint32_t fp_fn(uint32_t a, uint32_t b);

static uint32_t i32_to_f32(uint32_t a, uint32_t b) {
    (void)b;
    return cm_fp_i32_to_f32((int32_t)a);
}

static uint32_t f32_to_i8(uint32_t a, uint32_t b) {
    (void)b;
    return (uint8_t)cm_fp_f32_to_i8(a);
}

static int open_one(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const npu_score_sig sigs[] = {{"en_i", &s->en}, {"a_i", &s->a}, {"y_o", &s->y}};
    return npu_score_bind(c, sigs, sizeof sigs / sizeof *sigs, err, err_size) != 0 ? -1 : tb_check_wake(c, s->en, err, err_size);
}

static int open_two(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    return open_one(c, err, err_size) != 0 ? -1 : tb_check_sig(c, "b_i", 32, &s->b, err, err_size);
}

static void clear(tb_check *c) {
    ((state *)c->state)->due = false;
}

static void differs(tb_check *c, const state *s, uint32_t got, uint32_t expected) {
    char where[96], g[16], e[16];
    if (s->b.ptr != NULL) {
        snprintf(where, sizeof where, "a 0x%08" PRIx32 ", b 0x%08" PRIx32, s->a_was, s->b_was);
    } else {
        snprintf(where, sizeof where, "a 0x%08" PRIx32, s->a_was);
    }
    snprintf(g, sizeof g, "0x%" PRIx32, got);
    snprintf(e, sizeof e, "0x%" PRIx32, expected);
    tb_check_fail(c, "result", s->count, where, g, e);
}

static inline void step(tb_check *c, fp_fn *model) {
    state *s = (state *)c->state;
    if (s->due) {
        const uint32_t expected = model(s->a_was, s->b_was);
        const uint32_t got = s->y.width <= 8 ? *(const uint8_t *)s->y.ptr : *(const uint32_t *)s->y.ptr;
        if (got != expected) {
            differs(c, s, got, expected);
        }
        s->count++;
        s->due = false;
    }
    if (*(const uint8_t *)s->en.ptr != 0) {
        s->a_was = *(const uint32_t *)s->a.ptr;
        s->b_was = s->b.ptr != NULL ? *(const uint32_t *)s->b.ptr : 0;
        s->due = true;
        c->again = true;
    }
}

static void cycle_mul(tb_check *c) {
    step(c, cm_fp_mul);
}

static void cycle_add(tb_check *c) {
    step(c, cm_fp_add);
}

static void cycle_i32_to_f32(tb_check *c) {
    step(c, i32_to_f32);
}

static void cycle_f32_to_i8(tb_check *c) {
    step(c, f32_to_i8);
}

const tb_check_ops npu_score_fp_mul = {
    .unit = "fp_mul", .state_bytes = sizeof(state), .open = open_two, .clear = clear, .cycle = cycle_mul};
const tb_check_ops npu_score_fp_add = {
    .unit = "fp_add", .state_bytes = sizeof(state), .open = open_two, .clear = clear, .cycle = cycle_add};
const tb_check_ops npu_score_fp_i32_to_f32 = {
    .unit = "fp_i32_to_f32", .state_bytes = sizeof(state), .open = open_one, .clear = clear, .cycle = cycle_i32_to_f32};
const tb_check_ops npu_score_fp_f32_to_i8 = {
    .unit = "fp_f32_to_i8", .state_bytes = sizeof(state), .open = open_one, .clear = clear, .cycle = cycle_f32_to_i8};
