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

/* A signal of all lanes. */
typedef struct ports {
    const uint8_t *low; /* that of the first lane */
    int32_t high;       /* bytes from it to the first one in the other half */
    uint32_t apart;     /* bytes between neighbours in both halves; 0: all in a half have the same signal */
} ports;

/*
 * There are hundreds of them in the NPU, many side by side: lanes with the same operation. Up to LANES neighbours whose
 * signals lie at regular distances form a group, whose state is in that of the first one, value beside value. As long
 * as the same lanes of it have a result in every cycle, they are predicted and compared together.
 */
typedef struct state {
    /* ---- of the group ---- */
    cm_fp_row a_was, b_was; /* operands of the pending results */
    cm_fp_row due_row;      /* all ones in the lanes that are due */
    uint32_t members;       /* lanes, a bit for each here and below; 0: this is not the first one */
    uint32_t together;      /* those due, if the group is regular; else 0 */
    const uint8_t *en[2];   /* two times eight bytes that contain en_i of all lanes; */
    uint64_t en_due[2];     /* bits of those that are due */
    ports y, a, b;
    uint64_t rows; /* results of all due lanes, looked at together */
    uint8_t due;   /* the output of this cycle belongs to a_was, b_was */
    uint8_t held;  /* otherwise: the output must still be the result */
    bool regular;
    /* ---- of each lane, in its own ---- */
    uint8_t lane;     /* its number in the group */
    uint8_t en_place; /* of its en_i in the bytes of the group */
    uint32_t result;
    uint64_t count; /* of results, beside those in rows */
    const uint8_t *en_i;
    const void *y_o, *a_i;
    const void *b_i; /* NULL: the unit has one operand */
} state;

#define PORTS en_i, a_i, y_o

typedef uint32_t fp_fn(uint32_t a, uint32_t b);
typedef void fp_row_fn(cm_fp_row *y, const cm_fp_row *a, const cm_fp_row *b);

/* A unit: its model, bytes of b_i (0: there is none), of a_i and of y_o. */
typedef struct unit {
    fp_fn *model;
    unsigned second, in, out;
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

static inline void i32_to_f32_row(cm_fp_row *y, const cm_fp_row *a, const cm_fp_row *b) {
    (void)b;
    cm_fp_i32_to_f32_row(y, a);
}

static inline void f32_to_i8_row(cm_fp_row *y, const cm_fp_row *a, const cm_fp_row *b) {
    cm_fp_row_ints q;
    if (cm_fp_row_any(b)) {
        cm_fp_quantise_row(&q, a, b);
    } else {
        cm_fp_f32_to_i8_row(&q, a);
    }
    *y = (cm_fp_row)q & 0xFFu;
}

/* Value of a port of 1, 2 or 4 bytes. */
static inline uint32_t port(const void *p, unsigned bytes) {
    return bytes == 1 ? *(const uint8_t *)p : bytes == 2 ? *(const uint16_t *)p : *(const uint32_t *)p;
}

/* The group's. */
static state *state_of(const tb_check *c) {
    state *own = (state *)c->state;
    return own - own->lane;
}

static int open_one(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    TB_SIGNALS(p, PORTS);
    if (tb_tap_ports(c->tap, TB_PORTS_OF(p, PORTS), err, err_size) != 0) {
        return -1;
    }
    s->en_i = (const uint8_t *)p.en_i.ptr;
    s->a_i = p.a_i.ptr;
    s->y_o = p.y_o.ptr;
    return 0;
}

static int open_two(tb_check *c, char *err, size_t err_size) {
    tb_sig b;
    if (open_one(c, err, err_size) != 0 || tb_check_sig(c, "b_i", 0, &b, err, err_size) != 0) {
        return -1;
    }
    ((state *)c->state)->b_i = b.ptr;
    return 0;
}

/* An operand of 64 bits counts as two: b is its upper half. */
static int open_long(tb_check *c, char *err, size_t err_size) {
    if (open_one(c, err, err_size) != 0) {
        return -1;
    }
    state *s = (state *)c->state;
    s->b_i = (const uint8_t *)s->a_i + 4;
    return 0;
}

/* Are the signals of so many lanes, whole halves, at regular distances? */
static bool in_rows(const void *const at[LANES], uint32_t lanes, ports *p) {
    const uint8_t *const *signal = (const uint8_t *const *)at;
    const ptrdiff_t high = signal[lanes - HALF] - signal[0], apart = signal[1] - signal[0];
    for (uint32_t i = 0; i < lanes; i++) {
        if (signal[i] != signal[0] + (i < HALF ? 0 : high) + i % HALF * apart) {
            return false;
        }
    }
    *p = (ports){.low = signal[0], .high = (int32_t)high, .apart = (uint32_t)apart};
    return high == p->high && apart == (ptrdiff_t)p->apart;
}

/* Are the enables of so many lanes in two times eight bytes? These are between the enables, or whole words, which
 * belong to the design (tb/tap/plan.c). */
static bool find_enables(state *s, uint32_t lanes) {
    const uint8_t *low = s->en_i, *high = low;
    for (uint32_t i = 1; i < lanes; i++) {
        low = s[i].en_i < low ? s[i].en_i : low;
        high = s[i].en_i > high ? s[i].en_i : high;
    }
    if (high - low < 8) {
        s->en[0] = low - (uintptr_t)low % 8;
        s->en[1] = high - (uintptr_t)high % 8;
    } else {
        s->en[0] = low;
        s->en[1] = high - 7;
    }
    for (uint32_t i = 0; i < lanes; i++) {
        const size_t first = (size_t)(s[i].en_i - s->en[0]);
        s[i].en_place = (uint8_t)(first < 8 ? first : 8 + (size_t)(s[i].en_i - s->en[1]));
    }
    return high - low < 16;
}

/* A group of so many lanes, if it is regular. */
static bool form(state *s, uint32_t lanes, const unit *u) {
    const void *y[LANES], *a[LANES], *b[LANES];
    for (uint32_t i = 0; i < lanes; i++) {
        y[i] = s[i].y_o;
        a[i] = s[i].a_i;
        b[i] = s[i].b_i;
    }
    if (!in_rows(y, lanes, &s->y) || !in_rows(a, lanes, &s->a) || (u->second != 0 && !in_rows(b, lanes, &s->b)) ||
        !find_enables(s, lanes)) {
        return false;
    }
    for (uint32_t i = 0; i < lanes; i++) {
        s[i].lane = (uint8_t)i;
        s[i].members = 0;
    }
    s->members = (1u << lanes) - 1;
    s->regular = true;
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
static void settle(state *s) {
    for (uint32_t left = s->together; left != 0; left &= left - 1) {
        s[__builtin_ctz(left)].count += s->rows;
    }
    s->rows = 0;
}

static void set_due(state *s, uint32_t due) {
    uint8_t on[sizeof s->en_due] = {0};
    for (uint32_t i = 0; i < LANES; i++) {
        const bool set = (due >> i & 1u) != 0;
        s->due_row[i] = set ? UINT32_MAX : 0;
        if (set) {
            on[s[i].en_place] = 1;
        }
    }
    memcpy(s->en_due, on, sizeof on);
    s->due = (uint8_t)due;
    s->together = s->regular ? due : 0;
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
    tb_check_failf(c, "result", s[i].count, "%s|0x%" PRIx32 "|0x%" PRIx32, where, got, expected);
}

/* The output of lane i in this cycle. */
static void look(tb_check *c, state *s, uint32_t i, const unit *u) {
    state *own = &s[i];
    const uint32_t got = port(own->y_o, u->out);
    if ((s->due >> i & 1u) != 0) {
        const uint32_t expected = u->model(s->a_was[i], s->b_was[i]);
        if (got != expected) {
            differs(c, s, i, got, expected);
        }
        own->count++;
        own->result = expected;
        s->held |= (uint8_t)(1u << i);
    } else if ((s->held >> i & 1u) != 0 && got != own->result) {
        tb_check_value(c, "held result", own->count - 1, got, own->result);
    }
}

/* One cycle of the lanes `now`, each by itself: some begin or end, or one is wrong. */
__attribute__((noinline)) static uint32_t change(tb_check *check, state *s, uint32_t now, const unit *u) {
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

static inline void gather(cm_fp_row *row, const ports *p, unsigned bytes) {
    const uint8_t *const low = p->low, *const high = low + p->high;
    const size_t d = p->apart;
    if (bytes == 4 && d == 4) {
        cm_fp_row_load(row, low, high);
    } else if (bytes == 4 && d == 0) {
        cm_fp_row_spread(row, low, high);
    } else if (bytes == 1 && d == 1) {
        cm_fp_row_spread(row, low, high);
        *row = (*row >> (cm_fp_row){0, 8, 16, 24, 0, 8, 16, 24}) & 0xFFu;
    } else if (d == 0) {
        const uint32_t a = port(low, bytes), b = port(high, bytes);
        *row = (cm_fp_row){a, a, a, a, b, b, b, b};
    } else {
        *row =
            (cm_fp_row){port(low, bytes),  port(low + d, bytes),  port(low + 2 * d, bytes),  port(low + 3 * d, bytes),
                        port(high, bytes), port(high + d, bytes), port(high + 2 * d, bytes), port(high + 3 * d, bytes)};
    }
}

/* One cycle of the lanes that are due, all of which are enabled again. False: this is not so, or a result is wrong;
 * nothing has changed. */
static inline bool look_together(state *s, fp_row_fn *model, unsigned second, unsigned in, unsigned out) {
    uint64_t on[2];
    memcpy(&on[0], s->en[0], sizeof on[0]);
    memcpy(&on[1], s->en[1], sizeof on[1]);
    if (((~on[0] & s->en_due[0]) | (~on[1] & s->en_due[1])) != 0) {
        return false;
    }
    cm_fp_row got, expected;
    gather(&got, &s->y, out);
    model(&expected, &s->a_was, &s->b_was);
    const cm_fp_row wrong = (got ^ expected) & s->due_row;
    if (cm_fp_row_any(&wrong)) {
        return false;
    }
    s->rows++;
    gather(&s->a_was, &s->a, in);
    if (second != 0) {
        gather(&s->b_was, &s->b, second);
    }
    return true;
}

/* Those that are due in the next cycle are called again. */
static inline uint64_t step_all(tb_check *check, void *states, uint64_t now, fp_row_fn *model, const unit *u) {
    uint64_t again = now;
    while (now != 0) {
        uint32_t i = (uint32_t)__builtin_ctzll(now);
        state *s = &((state *)states)[i];
        if (s->members == 0) {
            i -= s->lane;
            s -= s->lane;
        }
        const uint32_t lanes = (uint32_t)(now >> i) & s->members;
        now &= ~((uint64_t)s->members << i);
        if (model == NULL || lanes != s->together || !look_together(s, model, u->second, u->in, u->out)) {
            again &= ~((uint64_t)lanes << i) | (uint64_t)change(&check[i], s, lanes, u) << i;
        }
    }
    return again;
}

/* A unit: its name, its model, that of a row or NULL, how it is opened, bytes of b_i, of a_i and of y_o. */
#define FP_UNIT(NAME, MODEL, ROW, OPEN, SECOND, IN, OUT)                                                               \
    static const unit unit_##NAME = {MODEL, SECOND, IN, OUT};                                                          \
    static uint64_t cycle_##NAME(tb_check *check, void *states, uint64_t due) {                                        \
        return step_all(check, states, due, ROW, &unit_##NAME);                                                        \
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

FP_UNIT(fp_mul, cm_fp_mul, cm_fp_mul_row, open_two, 4, 4, 4);
FP_UNIT(fp_add, cm_fp_add, cm_fp_add_row, open_two, 4, 4, 4);
FP_UNIT(fp_sub, cm_fp_sub, NULL, open_two, 4, 4, 4);
FP_UNIT(fp_max, cm_fp_max, NULL, open_two, 4, 4, 4);
FP_UNIT(fp_min, cm_fp_min, NULL, open_two, 4, 4, 4);
FP_UNIT(fp_cmp, relations, NULL, open_two, 4, 4, 1);
FP_UNIT(fp_i32_to_f32, i32_to_f32, i32_to_f32_row, open_one, 0, 4, 4);
FP_UNIT(fp_i64_to_f32, i64_to_f32, NULL, open_long, 4, 4, 4);
FP_UNIT(fp_f32_to_i16, f32_to_i16, NULL, open_one, 0, 4, 2);
FP_UNIT(fp_f32_to_i32, f32_to_i32, NULL, open_one, 0, 4, 4);
FP_UNIT(fp_f32_to_i8, f32_to_i8, f32_to_i8_row, open_two, 2, 4, 1);
FP_UNIT(fp_f16_to_f32, f16_to_f32, NULL, open_one, 0, 2, 4);
FP_UNIT(fp_f32_to_f16, f32_to_f16, NULL, open_one, 0, 4, 2);
