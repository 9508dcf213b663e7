/* npu_perf.c - counters and marks of all events and levels, compared when software reads them. */
#include "score.h"

#include <inttypes.h>

#define COUNTERS 36u
#define MARKS 12u
#define FIRST_MARK 40u
/*
 * Events are counted by eights of cycles: bit k of the counts of all events since the last flush() is in plane k, and
 * carry-save adders put eight cycles into them at once, whatever the events are.
 */
#define PLANES 8u
#define EIGHT 8u
#define HELD ((1u << PLANES) - EIGHT) /* cycles that they can count */
#define MASK48 ((UINT64_C(1) << 48) - 1)

#define PORTS clr_i, run_i, event_i, level_i, snap_i, rd_i, sel_i, lo_o, clear_i, hi_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint64_t event[EIGHT]; /* of the last cycles, */
    uint32_t events;       /* so many */
    uint32_t held;         /* cycles counted in the planes */
    uint64_t plane[PLANES];
    uint64_t count[COUNTERS], copy[COUNTERS];
    uint16_t mark[MARKS], mark_copy[MARKS];
    uint16_t last[MARKS]; /* levels that are in the marks already */
    bool marked;
    uint64_t value; /* on the output */
    uint32_t which; /* its number */
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
    s->held = s->events = 0;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    forget(s);
    memset(s->copy, 0, sizeof s->copy);
    memset(s->mark, 0, sizeof s->mark);
    memset(s->mark_copy, 0, sizeof s->mark_copy);
    s->value = 0;
    s->marked = false;
}

/* a + b + c, bit by bit: the sum stays in a, the carry is returned. */
static inline uint64_t add(uint64_t *a, uint64_t b, uint64_t c) {
    const uint64_t both = *a ^ b, carry = (*a & b) | (both & c);
    *a = both ^ c;
    return carry;
}

static void count_eight(state *s) {
    const uint64_t *e = s->event;
    uint64_t *p = s->plane;
    const uint64_t two_a = add(p, e[0], e[1]), two_b = add(p, e[2], e[3]), four_a = add(p + 1, two_a, two_b);
    const uint64_t two_c = add(p, e[4], e[5]), two_d = add(p, e[6], e[7]), four_b = add(p + 1, two_c, two_d);
    uint64_t carry = add(p + 2, four_a, four_b);
    for (uint32_t k = 3; carry != 0; k++) {
        const uint64_t next = p[k] & carry;
        p[k] ^= carry;
        carry = next;
    }
    s->events = 0;
    s->held += EIGHT;
}

static void flush(state *s) {
    if (s->events > 0) {
        memset(&s->event[s->events], 0, (EIGHT - s->events) * sizeof *s->event);
        count_eight(s);
    }
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

static void count(state *s) {
    s->event[s->events++] = *(const uint64_t *)s->event_i.ptr;
    if (s->events == EIGHT) {
        count_eight(s);
        if (s->held >= HELD) {
            flush(s);
        }
    }
    uint16_t level[MARKS];
    if (npu_score_same(s->level_i.ptr, s->last, sizeof s->last) && s->marked) { /* unchanged levels change no mark */
        return;
    }
    memcpy(level, s->level_i.ptr, sizeof level);
    memcpy(s->last, level, sizeof level);
    s->marked = true;
    for (uint32_t i = 0; i < MARKS; i++) {
        s->mark[i] = level[i] > s->mark[i] ? level[i] : s->mark[i];
    }
}

static void snapshot(state *s) {
    flush(s);
    memcpy(s->copy, s->count, sizeof s->copy);
    memcpy(s->mark_copy, s->mark, sizeof s->mark_copy);
    memset(s->mark, 0, sizeof s->mark);
    s->marked = false;
}

static void read_copy(state *s) {
    const uint32_t which = (uint32_t)tb_get(s->sel_i);
    s->which = which;
    s->value = which < COUNTERS                                    ? s->copy[which]
               : which >= FIRST_MARK && which < FIRST_MARK + MARKS ? s->mark_copy[which - FIRST_MARK]
                                                                   : 0;
    s->reads++;
}

static void command(tb_check *c, state *s, bool run) {
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

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint64_t got = *(const uint32_t *)s->lo_o.ptr | (uint64_t) * (const uint16_t *)s->hi_o.ptr << 32;
    if (got != s->value) {
        tb_check_failf(c, "value", s->reads, "number %" PRIu32 "|%" PRIu64 "|%" PRIu64, s->which, got, s->value);
    }
    const uint32_t run = npu_score_b(s->run_i);
    if ((npu_score_b(s->clr_i) | npu_score_b(s->rd_i) | npu_score_b(s->snap_i) | npu_score_b(s->clear_i)) != 0) {
        command(c, s, run != 0);
    } else if (run != 0) {
        count(s);
    }
}

const tb_check_ops npu_score_npu_perf = {
    .unit = "npu_perf", TB_STATE(state, PORTS), .open = open, .clear = clear, .cycle = cycle};
