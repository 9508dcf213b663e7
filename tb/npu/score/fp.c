/*
 * fp.c - checks of the floating-point units: the result is at the output one cycle after the operands were enabled
 * (docs/fp.md), and stays while en_i is low.
 *
 * That it stayed is checked only when the unit is enabled again: a check in every cycle would cost too much for
 * hundreds of units that are mostly idle.
 */
#include "score.h"
#include "cm_fp_lanes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LANES CM_FP_LANES
#define ALL ((1u << LANES) - 1)

/*
 * There are hundreds of them in the NPU, many side by side: lanes with the same operation. So the state of LANES
 * neighbours is in the one of the first, value beside value, and where all of them have a result, the compiler predicts
 * and compares them together. The states of the others are not used.
 */
typedef struct state {
    const uint8_t *en[LANES];
    const void *y[LANES];
    const void *a[LANES];
    const void *b[LANES]; /* NULL: the unit has one operand */
    /* operands of the pending result; afterwards a_was is this result */
    cm_fp_lanes a_was, b_was;
    cm_fp_lanes count;                       /* of results */
    uint32_t members;                        /* lanes; a bit for each here and below */
    uint32_t due;                            /* the output of this cycle belongs to a_was, b_was */
    uint32_t held;                           /* otherwise: the output must still be a_was */
    bool y_row, a_row, b_row, b_one, en_one; /* words of all lanes are neighbours; or they are one */
} state;

#define PORTS en_i, a_i, y_o

typedef uint32_t fp_fn(uint32_t a, uint32_t b);
typedef cm_fp_lanes fp_lanes_fn(cm_fp_lanes a, cm_fp_lanes b);

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

static cm_fp_lanes i32_to_f32_lanes(cm_fp_lanes a, cm_fp_lanes b) {
    (void)b;
    return cm_fp_i32_to_f32_lanes(a);
}

static cm_fp_lanes f32_to_i8_lanes(cm_fp_lanes a, cm_fp_lanes b) {
    if ((b[0] | b[1] | b[2] | b[3]) == 0) {
        return (cm_fp_lanes)cm_fp_f32_to_i8_lanes(a) & 0xffu;
    }
    return (cm_fp_lanes){f32_to_i8(a[0], b[0]), f32_to_i8(a[1], b[1]), f32_to_i8(a[2], b[2]), f32_to_i8(a[3], b[3])};
}

/* Value of a port of 1, 2 or 4 bytes. */
static inline uint32_t port(const void *p, unsigned bytes) {
    return bytes == 1 ? *(const uint8_t *)p : bytes == 2 ? *(const uint16_t *)p : *(const uint32_t *)p;
}

/* A check's number among those that are called together: of its unit, in one word of the plan's maps. */
static uint32_t number_of(const tb_check *c) {
    const size_t at = (size_t)(c - c->all->check), word = at - at % 64;
    return (uint32_t)(c->index < at - word ? c->index : at - word);
}

static state *state_of(const tb_check *c) {
    return (state *)c->state - number_of(c) % LANES;
}

static int open_one(tb_check *c, char *err, size_t err_size) {
    state *s = state_of(c);
    const uint32_t i = number_of(c) % LANES;
    TB_SIGNALS(p, PORTS);
    if (tb_tap_ports(c->tap, TB_PORTS_OF(p, PORTS), err, err_size) != 0) {
        return -1;
    }
    s->en[i] = (const uint8_t *)p.en_i.ptr;
    s->a[i] = p.a_i.ptr;
    s->y[i] = p.y_o.ptr;
    s->members |= 1u << i;
    for (uint32_t k = i + 1; k < LANES; k++) { /* lanes that do not exist */
        s->en[k] = s->en[i];
    }
    return 0;
}

static int open_two(tb_check *c, char *err, size_t err_size) {
    tb_sig b;
    if (open_one(c, err, err_size) != 0 || tb_check_sig(c, "b_i", 0, &b, err, err_size) != 0) {
        return -1;
    }
    state_of(c)->b[number_of(c) % LANES] = b.ptr;
    return 0;
}

/* An operand of 64 bits counts as two: b is its upper half. */
static int open_long(tb_check *c, char *err, size_t err_size) {
    if (open_one(c, err, err_size) != 0) {
        return -1;
    }
    state *s = state_of(c);
    const uint32_t i = number_of(c) % LANES;
    s->b[i] = (const uint8_t *)s->a[i] + 4;
    return 0;
}

/* Do the ports of the lanes lie so many bytes apart? */
static bool apart(const void *const port[LANES], size_t bytes) {
    for (uint32_t i = 1; i < LANES; i++) {
        if ((const uint8_t *)port[i] != (const uint8_t *)port[0] + i * bytes) {
            return false;
        }
    }
    return true;
}

/* With the last of its lanes. */
static int opened(const tb_check *c, int status, unsigned second, unsigned in, unsigned out) {
    state *s = state_of(c);
    if (status == 0 && s->members == ALL) {
        s->y_row = out == 4 && apart(s->y, 4);
        s->a_row = in == 4 && apart(s->a, 4);
        s->b_row = second == 4 && apart(s->b, 4);
        s->en_one = s->en[1] == s->en[0] && s->en[2] == s->en[0] && s->en[3] == s->en[0];
        s->b_one = second != 0 && apart(s->b, 0);
    }
    return status;
}

static void clear(tb_check *c) {
    state *s = state_of(c);
    s->due &= ~(1u << number_of(c) % LANES);
    s->held &= ~(1u << number_of(c) % LANES);
}

__attribute__((cold)) static void differs(tb_check *c, const state *s, uint32_t i, uint32_t got, uint32_t expected) {
    char where[96];
    if (s->b[i] != NULL) {
        snprintf(where, sizeof where, "a 0x%08" PRIx32 ", b 0x%08" PRIx32, s->a_was[i], s->b_was[i]);
    } else {
        snprintf(where, sizeof where, "a 0x%08" PRIx32, s->a_was[i]);
    }
    tb_check_failf(c, "result", s->count[i], "%s|0x%" PRIx32 "|0x%" PRIx32, where, got, expected);
}

/* The output of lane i in this cycle. */
static inline void look(tb_check *c, state *s, uint32_t i, fp_fn *model, unsigned out) {
    const uint32_t got = port(s->y[i], out);
    if ((s->due >> i & 1u) != 0) {
        const uint32_t expected = model(s->a_was[i], s->b_was[i]);
        if (got != expected) {
            differs(c, s, i, got, expected);
        }
        s->count[i]++;
        s->a_was[i] = expected;
        s->held |= 1u << i;
    } else if ((s->held >> i & 1u) != 0 && got != s->a_was[i]) {
        tb_check_value(c, "held result", s->count[i] - 1, got, s->a_was[i]);
    }
}

static inline cm_fp_lanes gather(const void *const from[LANES], unsigned bytes, bool row) {
    if (bytes == 4 && row) {
        cm_fp_lanes all;
        memcpy(&all, from[0], sizeof all);
        return all;
    }
    return (cm_fp_lanes){port(from[0], bytes), port(from[1], bytes), port(from[2], bytes), port(from[3], bytes)};
}

/* All lanes have a result. False: one is wrong, and nothing has changed. */
static inline bool look_at_all(state *s, fp_fn *model, fp_lanes_fn *lanes, unsigned out) {
    const cm_fp_lanes a = s->a_was, b = s->b_was, got = gather(s->y, out, s->y_row);
    const cm_fp_lanes expected =
        lanes != NULL ? lanes(a, b)
                      : (cm_fp_lanes){model(a[0], b[0]), model(a[1], b[1]), model(a[2], b[2]), model(a[3], b[3])};
    uint64_t wrong[2];
    const cm_fp_lanes differ = got ^ expected;
    memcpy(wrong, &differ, sizeof wrong);
    if ((wrong[0] | wrong[1]) != 0) {
        return false;
    }
    s->count += 1;
    s->a_was = expected;
    s->held = ALL;
    return true;
}

static inline void sample_all(state *s, unsigned second, unsigned in) {
    s->a_was = gather(s->a, in, s->a_row);
    if (second != 0) {
        s->b_was = s->b_one ? cm_fp_all(port(s->b[0], second)) : gather(s->b, second, s->b_row);
    }
}

/* Lanes whose en_i is 1. */
static inline uint32_t enabled(const state *s) {
    if (s->en_one) {
        return *s->en[0] != 0 ? ALL : 0;
    }
    uint32_t set = 0;
    for (uint32_t i = 0; i < LANES; i++) {
        set |= (uint32_t)*s->en[i] << i;
    }
    return set;
}

/* One cycle of the lanes `now`; those whose results are due in the next one. */
static inline uint32_t step(tb_check *check, state *s, uint32_t now, fp_fn *model, fp_lanes_fn *lanes, unsigned second,
                            unsigned in, unsigned out) {
    if (now != ALL || s->due != ALL || !look_at_all(s, model, lanes, out)) {
        for (uint32_t left = now; left != 0; left &= left - 1) {
            const uint32_t i = (uint32_t)__builtin_ctz(left);
            look(&check[i], s, i, model, out);
        }
    }
    const uint32_t due = enabled(s) & now;
    s->due = (s->due & ~now) | due;
    if (due == ALL) {
        sample_all(s, second, in);
        return due;
    }
    for (uint32_t left = due; left != 0; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        s->a_was[i] = port(s->a[i], in);
        s->b_was[i] = second != 0 ? port(s->b[i], second) : 0;
    }
    return due;
}

static inline uint64_t step_all(tb_check *check, void *states, uint64_t due, fp_fn *model, fp_lanes_fn *lanes,
                                unsigned second, unsigned in, unsigned out) {
    uint64_t again = 0;
    for (uint64_t left = due; left != 0;) {
        const uint32_t i = (uint32_t)__builtin_ctzll(left) / LANES * LANES;
        const uint32_t now = (uint32_t)(left >> i) & ALL;
        left &= ~((uint64_t)ALL << i);
        again |= (uint64_t)step(&check[i], &((state *)states)[i], now, model, lanes, second, in, out) << i;
    }
    return again;
}

/* A unit: its name, its model, that of all lanes or NULL, how it is opened, bytes of b_i (0: there is none), of a_i and
 * of y_o. */
#define FP_UNIT(NAME, MODEL, LANES_MODEL, OPEN, SECOND, IN, OUT)                                                       \
    static uint64_t cycle_##NAME(tb_check *check, void *states, uint64_t due) {                                        \
        return step_all(check, states, due, MODEL, LANES_MODEL, SECOND, IN, OUT);                                      \
    }                                                                                                                  \
    static int open_##NAME(tb_check *c, char *err, size_t err_size) {                                                  \
        return opened(c, OPEN(c, err, err_size), SECOND, IN, OUT);                                                     \
    }                                                                                                                  \
    static void finish_##NAME(tb_check *c) {                                                                           \
        look(c, state_of(c), number_of(c) % LANES, MODEL, OUT);                                                        \
    }                                                                                                                  \
    const tb_check_ops npu_score_##NAME = {.unit = #NAME,                                                              \
                                           .state_bytes = sizeof(state),                                               \
                                           .wake = "en_i",                                                             \
                                           .open = open_##NAME,                                                        \
                                           .clear = clear,                                                             \
                                           .cycle_all = cycle_##NAME,                                                  \
                                           .finish = finish_##NAME}

FP_UNIT(fp_mul, cm_fp_mul, cm_fp_mul_lanes, open_two, 4, 4, 4);
FP_UNIT(fp_add, cm_fp_add, cm_fp_add_lanes, open_two, 4, 4, 4);
FP_UNIT(fp_sub, cm_fp_sub, NULL, open_two, 4, 4, 4);
FP_UNIT(fp_max, cm_fp_max, NULL, open_two, 4, 4, 4);
FP_UNIT(fp_min, cm_fp_min, NULL, open_two, 4, 4, 4);
FP_UNIT(fp_cmp, relations, NULL, open_two, 4, 4, 1);
FP_UNIT(fp_i32_to_f32, i32_to_f32, i32_to_f32_lanes, open_one, 0, 4, 4);
FP_UNIT(fp_i64_to_f32, i64_to_f32, NULL, open_long, 4, 4, 4);
FP_UNIT(fp_f32_to_i16, f32_to_i16, NULL, open_one, 0, 4, 2);
FP_UNIT(fp_f32_to_i32, f32_to_i32, NULL, open_one, 0, 4, 4);
FP_UNIT(fp_f32_to_i8, f32_to_i8, f32_to_i8_lanes, open_two, 2, 4, 1);
FP_UNIT(fp_f16_to_f32, f16_to_f32, NULL, open_one, 0, 2, 4);
FP_UNIT(fp_f32_to_f16, f32_to_f16, NULL, open_one, 0, 4, 2);
