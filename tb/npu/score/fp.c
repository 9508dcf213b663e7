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

#define LANES CM_FP_ROW
#define HALF (LANES / 2)
#define USUAL 3u /* layouts of a unit */

/* Bytes between y_o, a_i and b_i of neighbours in both halves of the lanes; 0: all in a half have the same signal. */
enum { Y, A, B, SIGNALS };
typedef int16_t apart[SIGNALS];

/*
 * There are hundreds of them in the NPU, many side by side: lanes with the same operation. Up to LANES neighbours whose
 * signals lie at regular distances form a group, whose state is in that of the first one, value beside value. As long
 * as the same lanes of it have a result in every cycle, they are predicted and compared together.
 */
typedef struct state {
    /* ---- of the group: two lines of the cache ---- */
    cm_fp_row a_was, b_was; /* operands of the pending results */
    const uint8_t *first;   /* y_o of the first lane; all other signals are found by their distance from it: */
    int32_t a, b;           /* a_i and b_i of the first lane, */
    int32_t en[2];          /* two times eight bytes that contain en_i of all lanes */
    apart high, next;       /* bytes from the signals of the first lane to those of the other half, and of the next */
    uint8_t members;        /* lanes, a bit for each here and below; 0: this is not the first one */
    uint8_t together;       /* those due, if the distances are usual; else 0; 1 where this is not the first one */
    uint8_t usual;          /* 1 + the usual distances of the unit, 0: others */
    uint64_t en_due[2];     /* bits of those that are due */
    uint64_t rows;          /* results of all due lanes, looked at together */
    /* ---- of the group, used when lanes begin or end ---- */
    cm_fp_row result, count; /* of each lane: the last result, and how many, beside those in rows */
    uint64_t en_all[2];      /* bits of all lanes */
    uint8_t due;             /* the output of this cycle belongs to a_was, b_was */
    uint8_t held;            /* otherwise: the output must still be the result */
    bool regular;
    /* ---- of each lane, in its own ---- */
    uint8_t lane;     /* its number in the group */
    uint8_t en_place; /* of its en_i in the bytes of the group */
    const uint8_t *en_i;
    const uint8_t *y_o, *a_i;
    const uint8_t *b_i;  /* NULL: the unit has one operand */
    cm_fp_row unused[1]; /* the lines of different groups belong to different sets of the cache */
} state;
_Static_assert(sizeof(void *) != 8 || offsetof(state, result) == 2 * TB_CHECK_LINE, "what is used in each cycle");
_Static_assert(sizeof(void *) != 8 || sizeof(state) == 9 * sizeof(cm_fp_row), "groups begin with a line");

#define PORTS en_i, a_i, y_o

typedef uint32_t fp_fn(uint32_t a, uint32_t b);
typedef uint64_t fp_others_fn(tb_check *check, state *states, uint64_t now, uint64_t done);
typedef void fp_row_fn(cm_fp_row *y, const cm_fp_row *a, const cm_fp_row *b);

/* A unit: its model, bytes of b_i (0: there is none), of a_i and of y_o, and where most groups have their signals. */
typedef struct unit {
    fp_fn *model;
    unsigned second, in, out;
    apart usual[USUAL];
} unit;

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
    return (uint32_t)(int32_t)cm_fp_quantise(a, b);
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

static inline void i32_to_f32_row(cm_fp_row *y, const cm_fp_row *a, const cm_fp_row *b) {
    (void)b;
    cm_fp_i32_to_f32_row(y, a);
}

/* The usual quantiser, 0. */
static inline void f32_to_i8_row(cm_fp_row *y, const cm_fp_row *a, const cm_fp_row *b) {
    (void)b;
    cm_fp_row_ints q;
    cm_fp_f32_to_i8_row(&q, a);
    *y = (cm_fp_row)q;
}

/* Value of a port of 1 (with a sign), 2 or 4 bytes. */
static inline uint32_t port(const void *p, unsigned bytes) {
    return bytes == 1 ? (uint32_t) * (const int8_t *)p : bytes == 2 ? *(const uint16_t *)p : *(const uint32_t *)p;
}

/* The group's. */
static state *state_of(const tb_check *c) {
    state *own = (state *)c->state;
    return own - own->lane;
}

static int open_one(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    TB_SIGNALS(p, PORTS);
    if (tb_check_list(c, TB_PORTS_OF(p, PORTS), err, err_size) != 0) {
        return -1;
    }
    s->en_i = (const uint8_t *)p.en_i.ptr;
    s->a_i = (const uint8_t *)p.a_i.ptr;
    s->y_o = (const uint8_t *)p.y_o.ptr;
    return 0;
}

static int open_two(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    TB_SIGNALS(p, PORTS, b_i);
    if (tb_check_list(c, TB_PORTS_OF(p, PORTS, b_i), err, err_size) != 0) {
        return -1;
    }
    s->en_i = (const uint8_t *)p.en_i.ptr;
    s->a_i = (const uint8_t *)p.a_i.ptr;
    s->b_i = (const uint8_t *)p.b_i.ptr;
    s->y_o = (const uint8_t *)p.y_o.ptr;
    return 0;
}

/* An operand of 64 bits counts as two: b is its upper half. */
static int open_long(tb_check *c, char *err, size_t err_size) {
    if (open_one(c, err, err_size) != 0) {
        return -1;
    }
    state *s = (state *)c->state;
    s->b_i = s->a_i + 4;
    return 0;
}

/* Are the signals `which` of so many lanes, whole halves, at regular distances? */
static bool in_rows(state *s, const uint8_t *const at[LANES], uint32_t lanes, uint32_t which) {
    const ptrdiff_t high = at[lanes - HALF] - at[0], next = at[1] - at[0];
    for (uint32_t i = 0; i < lanes; i++) {
        if (at[i] != at[0] + (i < HALF ? 0 : high) + i % HALF * next) {
            return false;
        }
    }
    s->high[which] = (int16_t)high;
    s->next[which] = (int16_t)next;
    return high == s->high[which] && next == s->next[which];
}

/* The distance of a signal of the group, if it fits. */
static bool from_first(const state *s, const uint8_t *at, int32_t *distance) {
    *distance = (int32_t)(at - s->first);
    return *distance == at - s->first;
}

/* Are the enables of so many lanes in two times eight bytes? These are between the enables, or whole words, which
 * belong to the design (tb/tap/plan.c). */
static bool find_enables(state *s, uint32_t lanes) {
    const uint8_t *low = s->en_i, *high = low;
    for (uint32_t i = 1; i < lanes; i++) {
        low = s[i].en_i < low ? s[i].en_i : low;
        high = s[i].en_i > high ? s[i].en_i : high;
    }
    const bool near = high - low < 8;
    const uint8_t *const en[2] = {near ? low - (uintptr_t)low % 8 : low, near ? high - (uintptr_t)high % 8 : high - 7};
    for (uint32_t i = 0; i < lanes; i++) {
        const size_t place = (size_t)(s[i].en_i - en[0]);
        s[i].en_place = (uint8_t)(place < 8 ? place : 8 + (size_t)(s[i].en_i - en[1]));
    }
    return high - low < 16 && from_first(s, en[0], &s->en[0]) && from_first(s, en[1], &s->en[1]);
}

/* The bytes with the enables of these lanes. */
static void enables_of(const state *s, uint32_t lanes, uint64_t en[2]) {
    uint8_t on[16] = {0};
    for (; lanes != 0; lanes &= lanes - 1) {
        on[s[__builtin_ctz(lanes)].en_place] = 1;
    }
    memcpy(en, on, sizeof on);
}

/* A group of so many lanes, if it is regular. */
static bool form(state *s, uint32_t lanes, const unit *u) {
    const uint8_t *y[LANES], *a[LANES], *b[LANES];
    for (uint32_t i = 0; i < lanes; i++) {
        y[i] = s[i].y_o;
        a[i] = s[i].a_i;
        b[i] = s[i].b_i;
    }
    s->first = y[0];
    if (!in_rows(s, y, lanes, Y) || !in_rows(s, a, lanes, A) || !from_first(s, a[0], &s->a) ||
        (u->second != 0 && (!in_rows(s, b, lanes, B) || !from_first(s, b[0], &s->b))) || !find_enables(s, lanes)) {
        return false;
    }
    for (uint32_t i = 0; i < lanes; i++) {
        s[i].lane = (uint8_t)i;
        s[i].members = 0;
        s[i].together = i != 0;
    }
    s->members = (uint8_t)((1u << lanes) - 1);
    s->regular = true;
    enables_of(s, s->members, s->en_all);
    for (uint8_t k = 0; k < USUAL; k++) {
        s->usual = memcmp(s->next, u->usual[k], sizeof s->next) == 0 ? (uint8_t)(k + 1) : s->usual;
    }
    return true;
}

/* With the last check of those that are called together, as they have their bits in one word of the plan's maps: the
 * groups among them. */
static int opened(const tb_check *c, int status, const unit *u) {
    const size_t at = (size_t)(c - c->all->check) % 64;
    if (status == 0 && (at == 63 || c->index + 1 == tb_taps_count(&c->all->taps, c->ops->unit))) {
        const size_t count = c->index < at ? c->index + 1 : at + 1;
        state *s = (state *)c->state + 1 - count;
        for (size_t left = count, lanes = 0; left > 0; left -= lanes, s += lanes) {
            s->members = 1;
            lanes = left >= LANES && form(s, LANES, u) ? LANES : left >= HALF && form(s, HALF, u) ? HALF : 1;
        }
    }
    return status;
}

/* Counts of the lanes, after results that were looked at together. */
static inline void settle(state *s) {
    cm_fp_row due;
    cm_fp_row_lanes(&due, s->due);
    s->count += due & (uint32_t)s->rows;
    s->rows = 0;
}

static void set_due(state *s, uint32_t due) {
    s->due = (uint8_t)due;
    s->together = s->usual != 0 ? (uint8_t)due : 0;
    if (due == s->members) {
        memcpy(s->en_due, s->en_all, sizeof s->en_due);
    } else if (due == 0) {
        memset(s->en_due, 0, sizeof s->en_due);
    } else {
        enables_of(s, due, s->en_due);
    }
}

static void clear(tb_check *c) {
    state *s = state_of(c);
    const uint32_t others = ~(1u << ((state *)c->state)->lane);
    settle(s);
    set_due(s, s->due & others);
    s->held &= (uint8_t)others;
}

__attribute__((cold)) static void differs(tb_check *c, const state *s, uint32_t i, uint32_t got, uint32_t expected) {
    char where[96];
    if (s[i].b_i != NULL) {
        snprintf(where, sizeof where, "a 0x%08" PRIx32 ", b 0x%08" PRIx32, s->a_was[i], s->b_was[i]);
    } else {
        snprintf(where, sizeof where, "a 0x%08" PRIx32, s->a_was[i]);
    }
    tb_check_failf(c, "result", s->count[i], "%s|0x%" PRIx32 "|0x%" PRIx32, where, got, expected);
}

/* The output of lane i in this cycle. */
static void look(tb_check *c, state *s, uint32_t i, const unit *u) {
    const uint32_t got = port(s[i].y_o, u->out), shown = u->out == 1 ? 0xFF : UINT32_MAX;
    if ((s->due >> i & 1u) != 0) {
        const uint32_t expected = u->model(s->a_was[i], s->b_was[i]);
        if (got != expected) {
            differs(c, s, i, got & shown, expected & shown);
        }
        s->count[i]++;
        s->result[i] = expected;
        s->held |= (uint8_t)(1u << i);
    } else if ((s->held >> i & 1u) != 0 && got != s->result[i]) {
        tb_check_value(c, "held result", s->count[i] - 1, got & shown, s->result[i] & shown);
    }
}

/* One cycle of the lanes `now`, each by itself: the signals are not at regular distances, or one is wrong. */
__attribute__((noinline)) static uint32_t step_lanes(tb_check *check, state *s, uint32_t now, const unit *u) {
    settle(s);
    uint32_t due = s->due & ~now;
    for (uint32_t left = now; left != 0; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        look(&check[i], s, i, u);
        if (*s[i].en_i != 0) {
            due |= 1u << i;
            s->a_was[i] = port(s[i].a_i, u->in);
            s->b_was[i] = u->second != 0 ? port(s[i].b_i, u->second) : 0;
        }
    }
    set_due(s, due);
    return due & now;
}

/* The values of a signal, of which the first one is at `low`. */
static inline void gather(cm_fp_row *row, const uint8_t *low, ptrdiff_t half, ptrdiff_t d, unsigned bytes) {
    const uint8_t *const high = low + half;
    if (bytes == 4 && d == 4) {
        cm_fp_row_load(row, low, high);
    } else if (bytes == 4 && d == 0) {
        cm_fp_row_spread(row, low, high);
    } else if (bytes == 2 && d == 0) {
        const uint32_t a = port(low, bytes), b = port(high, bytes);
        *row = (cm_fp_row){a, a, a, a, b, b, b, b};
    } else if (bytes == 4 && d == 12) {
        cm_fp_row_thirds(row, low, high);
    } else if (bytes == 1 && d == 1) {
        cm_fp_row_from_bytes(row, low, high);
    } else {
        for (uint32_t i = 0; i < LANES; i++) {
            (*row)[i] = port((i < HALF ? low : high) + (ptrdiff_t)(i % HALF) * d, bytes);
        }
    }
}

/* Two times eight bytes with the enables of a group. */
static inline void enables(const state *s, uint64_t on[2]) {
    memcpy(&on[0], s->first + s->en[0], sizeof on[0]);
    memcpy(&on[1], s->first + s->en[1], sizeof on[1]);
}

/* The results of a group. False: a quantiser that is not the usual one needs a call, which is only made `anyway`. */
static inline bool predict(cm_fp_row *y, const state *s, fp_row_fn *model, const unit *u, bool anyway) {
    if (u->model != f32_to_i8 || !cm_fp_row_any(&s->b_was)) {
        model(y, &s->a_was, &s->b_was);
    } else if (anyway) {
        cm_fp_row_ints q;
        cm_fp_quantise_row(&q, &s->a_was, &s->b_was);
        *y = (cm_fp_row)q;
    } else {
        return false;
    }
    return true;
}

/* One cycle of the lanes that are due, all of which are enabled again. False: this is not so, or a result is wrong;
 * nothing has changed. */
static inline bool look_together(state *s, fp_row_fn *model, const unit *u, const int16_t next[SIGNALS], uint32_t lanes,
                                 bool anyway) {
    uint64_t on[2];
    enables(s, on);
    if (((~on[0] & s->en_due[0]) | (~on[1] & s->en_due[1])) != 0) {
        return false;
    }
    cm_fp_row got, expected;
    gather(&got, s->first, s->high[Y], next[Y], u->out);
    if (!predict(&expected, s, model, u, anyway) || (~cm_fp_row_equal(&got, &expected) & lanes) != 0) {
        return false;
    }
    s->rows++;
    gather(&s->a_was, s->first + s->a, s->high[A], next[A], u->in);
    if (u->second != 0) {
        gather(&s->b_was, s->first + s->b, s->high[B], next[B], u->second);
    }
    return true;
}

/* Which lanes of a regular group are enabled? */
static inline uint32_t enabled(const state *s) {
    uint64_t on[2];
    enables(s, on);
    if (((~on[0] & s->en_all[0]) | (~on[1] & s->en_all[1])) == 0) {
        return s->members;
    }
    uint32_t lanes = 0;
    if (((on[0] & s->en_all[0]) | (on[1] & s->en_all[1])) != 0) {
        for (uint32_t i = 0; i < LANES && (s->members >> i & 1u) != 0; i++) {
            lanes |= (*s[i].en_i != 0 ? 1u : 0u) << i;
        }
    }
    return lanes;
}

/* One cycle of lanes of a regular group of which some begin or end. False as above. */
static inline bool change(state *s, uint32_t now, fp_row_fn *model, const unit *u) {
    const uint32_t due = s->due, held = s->held & now & ~due;
    if (!s->regular || (due & ~now) != 0) {
        return false;
    }
    cm_fp_row got, expected, which;
    gather(&got, s->first, s->high[Y], s->next[Y], u->out);
    predict(&expected, s, model, u, true);
    if (((cm_fp_row_equal(&got, &expected) & due) | (cm_fp_row_equal(&got, &s->result) & held)) != (due | held)) {
        return false;
    }
    s->rows++;
    settle(s);
    cm_fp_row_lanes(&which, due);
    s->result = (expected & which) | (s->result & ~which);
    s->held |= (uint8_t)due;
    gather(&s->a_was, s->first + s->a, s->high[A], s->next[A], u->in);
    if (u->second != 0) {
        gather(&s->b_was, s->first + s->b, s->high[B], s->next[B], u->second);
    }
    set_due(s, enabled(s) & now);
    return true;
}

/* The steps of groups, from the first one of `now` on that is not as usual. Returns the lanes to be called in the next
 * cycle, with those of the groups before, `done`. */
__attribute__((always_inline)) static inline uint64_t step_others(tb_check *check, state *states, uint64_t now,
                                                                  uint64_t done, fp_row_fn *model, const unit *u) {
    while (now != 0) {
        const uint32_t any = (uint32_t)__builtin_ctzll(now), i = any - states[any].lane;
        state *s = &states[i];
        const uint32_t lanes = (uint32_t)(now >> i) & s->members;
        now &= ~((uint64_t)lanes << i);
        const bool good =
            model != NULL && ((lanes == s->due && s->regular && look_together(s, model, u, s->next, lanes, true)) ||
                              change(s, lanes, model, u));
        done |= (uint64_t)(good ? s->due & lanes : step_lanes(&check[i], s, lanes, u)) << i;
    }
    return done;
}

/* The steps of those that are due. As long as these are whole groups with usual distances, no function is called. */
__attribute__((always_inline)) static inline uint64_t step_all(tb_check *check, state *states, uint64_t due,
                                                               fp_row_fn *model, const unit *u, fp_others_fn *others) {
    if (model == NULL) {
        return others(check, states, due, 0);
    }
    uint64_t now = due;
    do {
        const uint32_t i = (uint32_t)__builtin_ctzll(now);
        state *s = &states[i];
        const uint64_t lanes = now >> i & s->members;
        if (lanes != s->together ||
            !(s->usual == 1 ? look_together(s, model, u, u->usual[0], (uint32_t)lanes, false)
              : s->usual == 2
                  ? u->usual[1][Y] != 0 && look_together(s, model, u, u->usual[1], (uint32_t)lanes, false)
                  : u->usual[2][Y] != 0 && look_together(s, model, u, u->usual[2], (uint32_t)lanes, false))) {
            return others(check, states, now, due & ~now);
        }
        now ^= lanes << i;
    } while (now != 0);
    return due;
}

/* A unit: its name, its model, that of a row or NULL, how it is opened, bytes of b_i, of a_i and of y_o, and the usual
 * distances between the signals of neighbours. */
#define FP_UNIT(NAME, MODEL, ROW, OPEN, SECOND, IN, OUT, ...)                                                          \
    static const unit unit_##NAME = {MODEL, SECOND, IN, OUT, {__VA_ARGS__}};                                           \
    __attribute__((noinline, hot)) static uint64_t others_##NAME(tb_check *check, state *states, uint64_t now,         \
                                                                 uint64_t done) {                                      \
        return step_others(check, states, now, done, ROW, &unit_##NAME);                                               \
    }                                                                                                                  \
    __attribute__((hot)) static uint64_t cycle_##NAME(tb_check *check, void *states, uint64_t due) {                   \
        return step_all(check, (state *)states, due, ROW, &unit_##NAME, others_##NAME);                                \
    }                                                                                                                  \
    static int open_##NAME(tb_check *c, char *err, size_t err_size) {                                                  \
        return opened(c, OPEN(c, err, err_size), &unit_##NAME);                                                        \
    }                                                                                                                  \
    static void finish_##NAME(tb_check *c) {                                                                           \
        settle(state_of(c));                                                                                           \
        look(c, state_of(c), ((state *)c->state)->lane, &unit_##NAME);                                                 \
    }                                                                                                                  \
    const tb_check_ops npu_score_##NAME = {.unit = #NAME,                                                              \
                                           .state_bytes = sizeof(state),                                               \
                                           .wake = "en_i",                                                             \
                                           .open = open_##NAME,                                                        \
                                           .clear = clear,                                                             \
                                           .cycle_all = cycle_##NAME,                                                  \
                                           .finish = finish_##NAME}

FP_UNIT(fp_mul, cm_fp_mul, cm_fp_mul_row, open_two, 4, 4, 4, {4, 4, 0}, {12, 12, 0}, {4, 4, 4});
FP_UNIT(fp_add, cm_fp_add, cm_fp_add_row, open_two, 4, 4, 4, {12, 4, 0}, {4, 4, 4});
FP_UNIT(fp_sub, cm_fp_sub, NULL, open_two, 4, 4, 4, {0});
FP_UNIT(fp_max, cm_fp_max, NULL, open_two, 4, 4, 4, {0});
FP_UNIT(fp_min, cm_fp_min, NULL, open_two, 4, 4, 4, {0});
FP_UNIT(fp_cmp, relations, NULL, open_two, 4, 4, 1, {0});
FP_UNIT(fp_i32_to_f32, i32_to_f32, i32_to_f32_row, open_one, 0, 4, 4, {12, 4});
FP_UNIT(fp_i64_to_f32, i64_to_f32, NULL, open_long, 4, 4, 4, {0});
FP_UNIT(fp_f32_to_i16, f32_to_i16, NULL, open_one, 0, 4, 2, {0});
FP_UNIT(fp_f32_to_i32, f32_to_i32, NULL, open_one, 0, 4, 4, {0});
FP_UNIT(fp_f32_to_i8, f32_to_i8, f32_to_i8_row, open_two, 2, 4, 1, {1, 4, 0});
FP_UNIT(fp_f16_to_f32, f16_to_f32, NULL, open_one, 0, 2, 4, {0});
FP_UNIT(fp_f32_to_f16, f32_to_f16, NULL, open_one, 0, 4, 2, {0});
