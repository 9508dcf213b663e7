/*
 * fp.c - checks of the floating-point units: the result is at the output one cycle after the operands were enabled
 * (docs/fp.md), and stays while en_i is low.
 *
 * That it stayed is checked only when the unit is enabled again: a check in every cycle would cost too much for
 * hundreds of units that are mostly idle.
 */
#include "score.h"

#include <inttypes.h>
#include <stdio.h>

/* There are hundreds of them in the NPU, so the state is small: several fit in a cache line. */
typedef struct state {
    const uint8_t *en;
    const void *y;
    const void *a;
    const void *b;         /* NULL: the unit has one operand */
    uint32_t a_was, b_was; /* operands of the pending result; afterwards a_was is this result */
    uint32_t count;        /* of results */
    bool due;              /* the output of this cycle belongs to a_was, b_was */
    bool held;             /* otherwise: the output must still be a_was */
} state;

#define PORTS en_i, a_i, y_o

typedef uint32_t fp_fn(uint32_t a, uint32_t b);

static uint32_t i32_to_f32(uint32_t a, uint32_t b) {
    (void)b;
    return cm_fp_i32_to_f32((int32_t)a);
}

static uint32_t f32_to_i32(uint32_t a, uint32_t b) {
    (void)b;
    return (uint32_t)cm_fp_f32_to_i32(a);
}

static uint32_t i64_to_f32(uint32_t a, uint32_t b) {
    return cm_fp_i64_to_f32((int64_t)((uint64_t)b << 32 | a));
}

static uint32_t f32_to_i16(uint32_t a, uint32_t b) {
    (void)b;
    return (uint16_t)cm_fp_f32_to_i16(a);
}

static uint32_t f32_to_i8(uint32_t a, uint32_t b) {
    return (uint8_t)cm_fp_quantise(a, b);
}

static uint32_t relations(uint32_t a, uint32_t b) {
    return (uint32_t)cm_fp_lt(a, b) | (uint32_t)cm_fp_le(a, b) << 1 | (uint32_t)cm_fp_eq(a, b) << 2;
}

static uint32_t f16_to_f32(uint32_t a, uint32_t b) {
    (void)b;
    return cm_fp_from_f16((uint16_t)a);
}

static uint32_t f32_to_f16(uint32_t a, uint32_t b) {
    (void)b;
    return cm_fp_to_f16(a);
}

/* Value of a port of 1, 2 or 4 bytes. */
static inline uint32_t port(const void *p, unsigned bytes) {
    return bytes == 1 ? *(const uint8_t *)p : bytes == 2 ? *(const uint16_t *)p : *(const uint32_t *)p;
}

static int open_one(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    TB_SIGNALS(p, PORTS);
    if (tb_tap_ports(c->tap, TB_PORTS_OF(p, PORTS), err, err_size) != 0) {
        return -1;
    }
    s->en = (const uint8_t *)p.en_i.ptr;
    s->a = p.a_i.ptr;
    s->y = p.y_o.ptr;
    return 0;
}

static int open_two(tb_check *c, char *err, size_t err_size) {
    tb_sig b;
    if (open_one(c, err, err_size) != 0 || tb_check_sig(c, "b_i", 0, &b, err, err_size) != 0) {
        return -1;
    }
    ((state *)c->state)->b = b.ptr;
    return 0;
}

/* An operand of 64 bits counts as two: b is its upper half. */
static int open_long(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (open_one(c, err, err_size) != 0) {
        return -1;
    }
    s->b = (const uint8_t *)s->a + 4;
    return 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->due = s->held = false;
}

__attribute__((cold)) static void differs(tb_check *c, const state *s, uint32_t got, uint32_t expected) {
    char where[96];
    if (s->b != NULL) {
        snprintf(where, sizeof where, "a 0x%08" PRIx32 ", b 0x%08" PRIx32, s->a_was, s->b_was);
    } else {
        snprintf(where, sizeof where, "a 0x%08" PRIx32, s->a_was);
    }
    tb_check_failf(c, "result", s->count, "%s|0x%" PRIx32 "|0x%" PRIx32, where, got, expected);
}

/* The output of this cycle. */
static inline void look(tb_check *c, state *s, fp_fn *model, unsigned out) {
    const uint32_t got = port(s->y, out);
    if (s->due) {
        const uint32_t expected = model(s->a_was, s->b_was);
        if (got != expected) {
            differs(c, s, got, expected);
        }
        s->count++;
        s->a_was = expected;
        s->held = true;
    } else if (s->held && got != s->a_was) {
        tb_check_value(c, "held result", s->count - 1, got, s->a_was);
    }
}

/* One cycle of a unit; true: its result is due in the next one. */
static inline bool step(tb_check *c, state *s, fp_fn *model, unsigned second, unsigned in, unsigned out) {
    look(c, s, model, out);
    s->due = *s->en != 0;
    if (s->due) {
        s->a_was = port(s->a, in);
        s->b_was = second != 0 ? port(s->b, second) : 0;
    }
    return s->due;
}

static inline uint64_t step_all(tb_check *check, void *states, uint64_t due, fp_fn *model, unsigned second, unsigned in,
                                unsigned out) {
    uint64_t again = 0;
    for (; due != 0; due &= due - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(due);
        again |= (uint64_t)step(&check[i], &((state *)states)[i], model, second, in, out) << i;
    }
    return again;
}

/* A unit: its name, model, how it is opened, bytes of b_i (0: there is none), of a_i and of y_o. */
#define FP_UNIT(NAME, MODEL, OPEN, SECOND, IN, OUT)                                                                    \
    static uint64_t cycle_##NAME(tb_check *check, void *states, uint64_t due) {                                        \
        return step_all(check, states, due, MODEL, SECOND, IN, OUT);                                                   \
    }                                                                                                                  \
    static void finish_##NAME(tb_check *c) {                                                                           \
        look(c, (state *)c->state, MODEL, OUT);                                                                        \
    }                                                                                                                  \
    const tb_check_ops npu_score_##NAME = {.unit = #NAME,                                                              \
                                           .state_bytes = sizeof(state),                                               \
                                           .wake = "en_i",                                                             \
                                           .open = OPEN,                                                               \
                                           .clear = clear,                                                             \
                                           .cycle_all = cycle_##NAME,                                                  \
                                           .finish = finish_##NAME}

FP_UNIT(fp_mul, cm_fp_mul, open_two, 4, 4, 4);
FP_UNIT(fp_add, cm_fp_add, open_two, 4, 4, 4);
FP_UNIT(fp_sub, cm_fp_sub, open_two, 4, 4, 4);
FP_UNIT(fp_max, cm_fp_max, open_two, 4, 4, 4);
FP_UNIT(fp_min, cm_fp_min, open_two, 4, 4, 4);
FP_UNIT(fp_cmp, relations, open_two, 4, 4, 1);
FP_UNIT(fp_i32_to_f32, i32_to_f32, open_one, 0, 4, 4);
FP_UNIT(fp_i64_to_f32, i64_to_f32, open_long, 4, 4, 4);
FP_UNIT(fp_f32_to_i16, f32_to_i16, open_one, 0, 4, 2);
FP_UNIT(fp_f32_to_i32, f32_to_i32, open_one, 0, 4, 4);
FP_UNIT(fp_f32_to_i8, f32_to_i8, open_two, 2, 4, 1);
FP_UNIT(fp_f16_to_f32, f16_to_f32, open_one, 0, 2, 4);
FP_UNIT(fp_f32_to_f16, f32_to_f16, open_one, 0, 4, 2);
