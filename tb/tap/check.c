#include "check.h"

#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

/* Checks of a domain in reset drop their state, and are called in the first cycle after it. */
static void clear_domain(tb_checks *checks, const tb_plan_domain *d) {
    tb_check_plan *p = checks->plan;
    for (uint32_t w = 0; w < p->words; w++) {
        p->again.bit[w] |= d->members.bit[w];
        for (uint64_t left = d->members.bit[w]; left != 0; left &= left - 1) {
            tb_check *c = &checks->check[w * 64 + (uint32_t)__builtin_ctzll(left)];
            c->ops->clear(c);
        }
    }
}

/* Words of bitmaps in one vector register, where the machine has them. */
typedef uint64_t lot __attribute__((vector_size(8 * TB_PLAN_LOT), aligned(8), may_alias));

/* A bit for each byte of the block that differs from `before`. */
static inline uint64_t bytes_differ(const uint8_t *block, const uint8_t *before) {
    uint64_t differ = 0;
#if defined __AVX512BW__
    differ = _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(block), _mm512_loadu_si512(before));
#elif defined __AVX2__
    for (uint32_t i = 0; i < TB_PLAN_BLOCK; i += 32) {
        const __m256i same = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i_u *)(block + i)),
                                               _mm256_loadu_si256((const __m256i_u *)(before + i)));
        differ |= (uint64_t)(uint32_t)~_mm256_movemask_epi8(same) << i;
    }
#elif defined __SSE2__
    for (uint32_t i = 0; i < TB_PLAN_BLOCK; i += 16) {
        const __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i_u *)(block + i)),
                                            _mm_loadu_si128((const __m128i_u *)(before + i)));
        differ |= (uint64_t)(~(uint32_t)_mm_movemask_epi8(same) & 0xffffu) << i;
    }
#else
    for (uint32_t i = 0; i < TB_PLAN_BLOCK; i++) {
        differ |= (uint64_t)(block[i] != before[i]) << i;
    }
#endif
    return differ;
}

/* A bit for each byte of the block that has a bit of the mask. */
static inline uint64_t bytes_set(const uint8_t *block, const uint8_t *mask) {
#if defined __AVX512BW__
    return _mm512_test_epi8_mask(_mm512_loadu_si512(block), _mm512_loadu_si512(mask));
#else
    static const uint8_t zeros[TB_PLAN_BLOCK];
    uint8_t both[TB_PLAN_BLOCK];
    for (uint32_t i = 0; i < TB_PLAN_BLOCK; i++) {
        both[i] = block[i] & mask[i];
    }
    return bytes_differ(both, zeros);
#endif
}

/* In which bytes a block differs from the cycle before, of all that it is looked at for. */
static inline uint64_t block_changes(const tb_plan_probe *at) {
    return bytes_differ(at->block, at->before) & at->any;
}

/* Adds the checks that these bytes wake: one lot of words of their rows. */
static inline void add_rows(const uint64_t *row, uint64_t set, uint32_t words, uint64_t *map) {
    lot woken = *(const lot *)map;
    for (; set != 0; set &= set - 1) {
        woken |= *(const lot *)&row[(size_t)__builtin_ctzll(set) * words];
    }
    *(lot *)map = woken;
}

/* A set of bytes that are not 0 takes the place of another one among those that are kept. */
__attribute__((noinline, hot)) static void keep(tb_plan_probe *at, uint32_t place, uint64_t set, uint32_t words) {
    uint64_t *map = &at->kept[place * words];
    at->set[place] = set;
    for (uint32_t w = 0; w < words; w += TB_PLAN_LOT) {
        *(lot *)&map[w] = (lot){0};
        add_rows(at->row[TB_PLAN_SET] + w, set, words, &map[w]);
    }
}

/* These bytes of a block differ: the checks that its signals wake. A change is noted, and not forgotten where the clock
 * of a check stands still. */
static inline void look_at_block(tb_check_plan *p, tb_plan_probe *at, uint64_t changed, uint32_t words) {
    if ((changed & at->bytes[TB_PLAN_SET]) != 0) {
        const uint64_t set = bytes_set(at->block, at->mask);
        const uint32_t place = (uint32_t)(set * UINT64_C(0x9e3779b97f4a7c15) >> 59) % TB_PLAN_KEPT;
        if (at->set[place] != set) {
            keep(at, place, set, words);
        }
        for (uint32_t w = 0; w < words; w += TB_PLAN_LOT) {
            *(lot *)&at->woken[w] = *(const lot *)&at->kept[place * words + w];
        }
    }
    const uint64_t watched = changed & at->bytes[TB_PLAN_CHANGE];
    for (uint32_t w = 0; watched != 0 && w < words; w += TB_PLAN_LOT) {
        add_rows(at->row[TB_PLAN_CHANGE] + w, watched, words, &p->again.bit[w]);
    }
    p->look = p->look || (changed & at->bytes[TB_PLAN_CONTROL]) != 0;
    memcpy(at->before, at->block, TB_PLAN_BLOCK);
}

/* Blocks in which a signal has changed that wakes a check, a reset or a clock enable. In many cycles there are none. */
static inline void look_at_blocks(tb_check_plan *p, uint32_t words) {
    bool any = false;
    for (tb_plan_probe *pair = p->probe, *end = pair + p->probes; pair < end; pair += 2) {
        const uint64_t changed[2] = {block_changes(&pair[0]), block_changes(&pair[1])};
        if ((changed[0] | changed[1]) == 0) {
            continue;
        }
        any = true;
        for (uint32_t i = 0; i < 2; i++) {
            if (changed[i] != 0) {
                look_at_block(p, &pair[i], changed[i], words);
            }
        }
    }
    for (uint32_t w = 0; any && w < words; w += TB_PLAN_LOT) {
        lot set = *(const lot *)&p->always.bit[w];
        for (const uint64_t *woken = p->woken + w, *end = woken + p->sets * words; woken < end; woken += 2 * words) {
            set |= *(const lot *)woken | *(const lot *)(woken + words);
        }
        *(lot *)&p->set.bit[w] = set;
    }
}

/* A domain in reset, or whose clock has started or stopped. This is rare, so the map of the checks with a clock is
 * kept. */
__attribute__((noinline)) static void change_domain(tb_checks *checks, tb_plan_domain *d, bool runs) {
    tb_check_plan *p = checks->plan;
    if (*d->reset_n == 0) {
        clear_domain(checks, d);
    }
    if (runs != d->runs) {
        d->runs = runs;
        for (uint32_t w = 0; w < p->words; w++) {
            p->running.bit[w] = runs ? p->running.bit[w] | d->members.bit[w] : p->running.bit[w] & ~d->members.bit[w];
        }
    }
}

/* All domains: those in reset, and those whose clock has started or stopped. */
__attribute__((noinline, hot)) static void look_at_domains(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    p->look = false;
    for (tb_plan_domain *d = p->domain, *end = d + p->domains; d < end; d++) {
        const bool reset = *d->reset_n == 0, runs = !reset && *d->clock != 0 && *d->outer != 0;
        if (reset || runs != d->runs) {
            change_domain(checks, d, runs);
        }
        p->look = p->look || reset;
    }
}

/* Checks that have failed leave their domains: they are not called any more. */
static void rest(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    for (size_t i = 0; i < checks->count; i++) {
        const uint64_t others = checks->check[i].failed ? ~(UINT64_C(1) << i % 64) : UINT64_MAX;
        p->running.bit[i / 64] &= others;
        for (size_t k = 0; k < p->domains; k++) {
            p->domain[k].members.bit[i / 64] &= others;
        }
    }
}

/* Calls the checks of one word of the maps that are due, first those that are called together, each in their order;
 * returns those to be called in the next cycle, too. */
static inline uint64_t call_word(const tb_check_plan *p, uint32_t word, tb_check *check, uint64_t due) {
    uint64_t again = 0, together = due & p->together.bit[word];
    due ^= together;
    while (together != 0) {
        const tb_plan_crowd *crowd = &p->crowd[64 * word + (uint32_t)__builtin_ctzll(together)];
        const uint64_t now = together & crowd->together;
        together ^= now;
        again |= crowd->cycle_all(&check[crowd->first], crowd->state, now >> crowd->first) << crowd->first;
    }
    for (; due != 0; due &= due - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(due);
        tb_check *c = &check[i];
        c->cycle(c);
        again |= (uint64_t)c->again << i;
        c->again = false;
    }
    return again;
}

__attribute__((always_inline)) static inline void call_due(tb_checks *checks, uint32_t words) {
    tb_check_plan *p = checks->plan;
    if (p->span < TB_PLAN_BLOCK) {
        memcpy(p->few, p->low, p->span);
    }
    look_at_blocks(p, words);
    if (p->look) {
        look_at_domains(checks);
    }
    for (uint32_t w = 0; w < words; w += TB_PLAN_LOT) {
        const lot again = *(const lot *)&p->again.bit[w];
        const lot due = (*(const lot *)&p->set.bit[w] | again) & *(const lot *)&p->running.bit[w];
        *(lot *)&p->due.bit[w] = due;
        *(lot *)&p->again.bit[w] = again & ~due; /* those whose clock is gated off are kept */
    }
    for (uint32_t w = 0; w < words; w++) {
        if (p->due.bit[w] != 0) {
            p->again.bit[w] |= call_word(p, w, &checks->check[64 * w], p->due.bit[w]);
        }
    }
    if (p->failed) {
        rest(checks);
        p->failed = false;
    }
}

__attribute__((hot)) bool tb_checks_cycle(tb_checks *checks) {
    if (checks->plan == NULL) { /* a design without taps */
        return true;
    }
    if (checks->plan->words == TB_PLAN_LOT) { /* as in all but the largest designs */
        call_due(checks, TB_PLAN_LOT);
    } else {
        call_due(checks, checks->plan->words);
    }
    return checks->failures == 0;
}

bool tb_checks_finish(tb_checks *checks) {
    for (size_t i = 0; i < checks->count; i++) {
        tb_check *c = &checks->check[i];
        if (!c->failed && c->ops->finish != NULL) {
            c->ops->finish(c);
        }
    }
    return checks->failures == 0;
}

void tb_check_text(const tb_check_failure *f, char *dst, size_t size) {
    snprintf(dst, size,
             "%s %u (%s): %s, task %" PRIu64 ", transaction %" PRIu64 "%s%s, cycle %" PRIu64
             ": got %s, expected %s; its input was %s",
             f->check->ops->unit, f->check->index, f->check->tap->path, f->stream, f->task, f->transaction,
             f->where[0] != '\0' ? ", " : "", f->where, f->cycle, f->got, f->expected,
             f->input_right ? "right" : "wrong already");
}

int tb_check_sig(tb_check *c, const char *name, uint32_t width, tb_sig *out, char *err, size_t err_size) {
    return tb_tap_sig(c->tap, name, width, out, err, err_size);
}

/* Has one of the units that feed this one failed, directly or through others? Units do not form circles of data. */
static bool fed_wrong(const tb_checks *checks, const tb_check_ops *ops, unsigned depth) {
    for (const char *const *in = ops->inputs; depth > 0 && in != NULL && *in != NULL; in++) {
        for (size_t i = 0; i < checks->count; i++) {
            const tb_check *c = &checks->check[i];
            if (strcmp(c->ops->unit, *in) == 0 && (c->failed || fed_wrong(checks, c->ops, depth - 1))) {
                return true;
            }
        }
    }
    return false;
}

void tb_check_fail(tb_check *c, const char *stream, uint64_t transaction, const char *where, const char *got,
                   const char *expected) {
    tb_checks *all = c->all;
    if (c->failed) {
        return;
    }
    if (all->failures < TB_CHECK_KEEP) {
        tb_check_failure *f = &all->failure[all->failures++];
        *f = (tb_check_failure){.check = c, .cycle = all->sim->cycle, .task = c->task, .transaction = transaction};
        snprintf(f->stream, sizeof f->stream, "%s", stream);
        snprintf(f->where, sizeof f->where, "%s", where != NULL ? where : "");
        snprintf(f->got, sizeof f->got, "%s", got);
        snprintf(f->expected, sizeof f->expected, "%s", expected);
        f->input_right = !fed_wrong(all, c->ops, 4);
    }
    c->failed = true;
    all->plan->failed = true;
}

/* The text after the last bar, which is cut off with it; NULL: there is no bar. */
static const char *cut(char *text) {
    char *bar = strrchr(text, '|');
    if (bar != NULL) {
        *bar++ = '\0';
    }
    return bar;
}

void tb_check_failf(tb_check *c, const char *stream, uint64_t transaction, const char *format, ...) {
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *expected = cut(text), *got = cut(text);
    tb_check_fail(c, stream, transaction, got != NULL ? text : NULL, got != NULL ? got : text,
                  expected != NULL ? expected : "");
}

void tb_check_differs(tb_check *c, const char *stream, uint64_t transaction, uint64_t got, uint64_t expected) {
    tb_check_failf(c, stream, transaction, "0x%" PRIx64 "|0x%" PRIx64, got, expected);
}
