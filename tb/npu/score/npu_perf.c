/* npu_perf.c - counters and marks of all events and levels, compared when software reads them. */
#include "score.h"

#include <inttypes.h>

#define COUNTERS 36u
#define MARKS 12u
#define FIRST_MARK 40u
/* Events are counted in bytes: byte k of word i has event 8 * k + i. They are added to the counts before they overflow.
 */
#define WORDS 8u
#define FULL 255u
typedef uint64_t four __attribute__((vector_size(32), may_alias));
#define MASK48 ((UINT64_C(1) << 48) - 1)

#define PORTS clr_i, run_i, event_i, level_i, snap_i, rd_i, sel_i, lo_o, clear_i, hi_o
typedef struct state {
    uint64_t value; /* on the output */
    uint16_t mark[MARKS];
    const uint8_t *run, *clr, *rd, *snap, *clear; /* ports that are looked at in every cycle */
    const void *event, *level, *lo, *hi;
    uint32_t space; /* cycles until a byte of `word` may be full */
    _Alignas(TB_CHECK_LINE) uint64_t word[WORDS];
    uint64_t count[COUNTERS], copy[COUNTERS];
    uint16_t mark_copy[MARKS];
    uint32_t which; /* number of the value */
    uint64_t reads;
    TB_PORTS(ports, PORTS);
} state;
_Static_assert(offsetof(state, word) == 2 * TB_CHECK_LINE, "what every cycle needs is in three lines");

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (s->event_i.width != COUNTERS || s->level_i.width != 16 * MARKS) {
        return opt_fail(err, err_size, "%s: %" PRIu32 " events and %" PRIu32 " bits of levels, expected %u and %u",
                        c->tap->path, s->event_i.width, s->level_i.width, COUNTERS, 16 * MARKS);
    }
    s->run = (const uint8_t *)s->run_i.ptr;
    s->clr = (const uint8_t *)s->clr_i.ptr;
    s->rd = (const uint8_t *)s->rd_i.ptr;
    s->snap = (const uint8_t *)s->snap_i.ptr;
    s->clear = (const uint8_t *)s->clear_i.ptr;
    s->event = s->event_i.ptr;
    s->level = s->level_i.ptr;
    s->lo = s->lo_o.ptr;
    s->hi = s->hi_o.ptr;
    s->space = FULL;
    return 0;
}

static void forget(state *s) {
    memset(s->word, 0, sizeof s->word);
    memset(s->count, 0, sizeof s->count);
    s->space = FULL;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    forget(s);
    memset(s->copy, 0, sizeof s->copy);
    memset(s->mark, 0, sizeof s->mark);
    memset(s->mark_copy, 0, sizeof s->mark_copy);
    s->value = 0;
}

/* The bytes into the counts. */
__attribute__((noinline, hot)) static void flush(state *s) {
    for (uint32_t i = 0; i < COUNTERS; i++) {
        s->count[i] = (s->count[i] + (s->word[i % WORDS] >> i / WORDS * 8 & 0xffu)) & MASK48;
    }
    memset(s->word, 0, sizeof s->word);
    s->space = FULL;
}

static inline void raise_marks(uint16_t *restrict mark, const uint16_t *restrict level) {
    for (uint32_t i = 0; i < MARKS; i++) {
        mark[i] = level[i] > mark[i] ? level[i] : mark[i];
    }
}

static inline void count(state *s) {
    const uint64_t event = *(const uint64_t *)s->event, ones = UINT64_C(0x0101010101010101);
    const four all = {event, event, event, event}, mask = {ones, ones, ones, ones};
    four *word = (four *)s->word;
    raise_marks(s->mark, (const uint16_t *)s->level);
    word[0] += all >> (four){0, 1, 2, 3} & mask;
    word[1] += all >> (four){4, 5, 6, 7} & mask;
    if (--s->space == 0) {
        flush(s);
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
    if (*s->clr != 0) {
        clear(c);
        return;
    }
    if (*s->rd != 0) { /* before a snapshot of the same cycle */
        read_copy(s);
    }
    if (*s->snap != 0) {
        snapshot(s);
    }
    if (run) {
        count(s);
    }
    if (*s->clear != 0) {
        forget(s);
    }
}

__attribute__((cold, noinline)) static void differs(tb_check *c, const state *s, uint64_t got) {
    tb_check_failf(c, "value", s->reads, "number %" PRIu32 "|%" PRIu64 "|%" PRIu64, s->which, got, s->value);
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint64_t got = *(const uint32_t *)s->lo | (uint64_t)npu_score_half(s->hi) << 32;
    const uint32_t run = *s->run;
    if (got != s->value) {
        differs(c, s, got);
    } else if ((*s->clr | *s->rd | *s->snap | *s->clear) != 0) {
        command(c, s, run != 0);
    } else if (run != 0) {
        count(s);
    }
}

const tb_check_ops npu_score_npu_perf = {
    .unit = "npu_perf", TB_STATE(state, PORTS), .open = open, .clear = clear, .cycle = cycle};
