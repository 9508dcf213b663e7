/* npu_perf.c - counters and marks of all events and levels, compared when software reads them. */
#include "score.h"

#include <inttypes.h>

#define COUNTERS 36u
#define MARKS 12u
#define FIRST_MARK 40u
/*
 * The same events come in many cycles in a row. When others do, the number of these cycles is added to the counts of
 * all events at once: bit k of the counts since the last flush() is in plane k.
 */
#define PLANES 16u
#define HELD ((1u << PLANES) - 1) /* cycles that they can count */
#define MASK48 ((UINT64_C(1) << 48) - 1)

#define PORTS clr_i, run_i, event_i, level_i, snap_i, rd_i, sel_i, lo_o, clear_i, hi_o
typedef struct state {
    uint64_t value;        /* on the output */
    uint64_t event, times; /* of the last cycles, so many of them */
    uint16_t mark[MARKS];
    TB_PORTS(ports, PORTS);
    uint64_t plane[PLANES];
    uint64_t held; /* cycles counted in the planes */
    uint64_t count[COUNTERS], copy[COUNTERS];
    uint16_t mark_copy[MARKS];
    uint32_t which; /* number of the value */
    uint64_t reads;
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (s->event_i.width != COUNTERS || s->level_i.width != 16 * MARKS) {
        return opt_fail(err, err_size, "%s: %" PRIu32 " events and %" PRIu32 " bits of levels, expected %u and %u",
                        c->tap->path, s->event_i.width, s->level_i.width, COUNTERS, 16 * MARKS);
    }
    return 0;
}

static void forget(state *s) {
    memset(s->plane, 0, sizeof s->plane);
    memset(s->count, 0, sizeof s->count);
    s->held = s->times = 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    forget(s);
    memset(s->copy, 0, sizeof s->copy);
    memset(s->mark, 0, sizeof s->mark);
    memset(s->mark_copy, 0, sizeof s->mark_copy);
    s->value = 0;
}

/* The planes into the counts. */
static void empty_planes(state *s) {
    for (uint32_t i = 0; i < COUNTERS; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < PLANES; k++) {
            sum |= (s->plane[k] >> i & 1u) << k;
        }
        s->count[i] = (s->count[i] + sum) & MASK48;
    }
    memset(s->plane, 0, sizeof s->plane);
    s->held = 0;
}

/* The planes cannot count so many cycles more: room for them, or they are counted here. */
__attribute__((cold, noinline)) static void make_room(state *s) {
    empty_planes(s);
    if (s->times > HELD) {
        for (uint32_t i = 0; i < COUNTERS; i++) {
            s->count[i] = (s->count[i] + (s->event >> i & 1u) * s->times) & MASK48;
        }
        s->times = 0;
    }
}

/* The cycles with the same events into the planes: for each bit of their number an addition to all counts. */
static void count_events(state *s) {
    if (s->held + s->times > HELD) {
        make_room(s);
    }
    s->held += s->times;
    for (uint64_t left = s->times; left != 0; left &= left - 1) {
        uint64_t carry = s->event;
        for (uint64_t *plane = &s->plane[__builtin_ctzll(left)]; carry != 0; plane++) {
            const uint64_t next = *plane & carry;
            *plane ^= carry;
            carry = next;
        }
    }
    s->times = 0;
}

static void flush(state *s) {
    count_events(s);
    empty_planes(s);
}

__attribute__((noinline)) static void change_events(state *s, uint64_t event) {
    count_events(s);
    s->event = event;
    s->times = 1;
}

static inline void raise_marks(uint16_t *restrict mark, const uint16_t *restrict level) {
    for (uint32_t i = 0; i < MARKS; i++) {
        mark[i] = level[i] > mark[i] ? level[i] : mark[i];
    }
}

static inline void count(state *s) {
    const uint64_t event = *(const uint64_t *)s->event_i.ptr;
    raise_marks(s->mark, (const uint16_t *)s->level_i.ptr);
    if (event != s->event) {
        change_events(s, event);
    } else {
        s->times++;
    }
}

static void snapshot(state *s) {
    flush(s);
    memcpy(s->copy, s->count, sizeof s->copy);
    memcpy(s->mark_copy, s->mark, sizeof s->mark_copy);
    memset(s->mark, 0, sizeof s->mark);
}

static void read_copy(state *s) {
    const uint32_t which = (uint32_t)tb_get(s->sel_i);
    s->which = which;
    s->value = which < COUNTERS                                    ? s->copy[which]
               : which >= FIRST_MARK && which < FIRST_MARK + MARKS ? s->mark_copy[which - FIRST_MARK]
                                                                   : 0;
    s->reads++;
}

__attribute__((noinline)) static void command(tb_check *c, state *s, bool run) {
    if (npu_score_b(s->clr_i) != 0) {
        clear(c);
        return;
    }
    if (npu_score_b(s->rd_i) != 0) { /* before a snapshot of the same cycle */
        read_copy(s);
    }
    if (npu_score_b(s->snap_i) != 0) {
        snapshot(s);
    }
    if (run) {
        count(s);
    }
    if (npu_score_b(s->clear_i) != 0) {
        forget(s);
    }
}

__attribute__((cold, noinline)) static void differs(tb_check *c, const state *s, uint64_t got) {
    tb_check_failf(c, "value", s->reads, "number %" PRIu32 "|%" PRIu64 "|%" PRIu64, s->which, got, s->value);
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint64_t got = *(const uint32_t *)s->lo_o.ptr | (uint64_t) * (const uint16_t *)s->hi_o.ptr << 32;
    const uint32_t run = npu_score_b(s->run_i);
    if (got != s->value) {
        differs(c, s, got);
    } else if ((npu_score_b(s->clr_i) | npu_score_b(s->rd_i) | npu_score_b(s->snap_i) | npu_score_b(s->clear_i)) != 0) {
        command(c, s, run != 0);
    } else if (run != 0) {
        count(s);
    }
}

const tb_check_ops npu_score_npu_perf = {
    .unit = "npu_perf", TB_STATE(state, PORTS), .open = open, .clear = clear, .cycle = cycle};
