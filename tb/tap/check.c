#include "check.h"

#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

const char *const TB_CHECKS_SOME[] = {NULL};

static const tb_check_ops *find_ops(const tb_check_ops *const *ops, size_t nops, const char *unit) {
    for (size_t i = 0; i < nops; i++) {
        if (strcmp(ops[i]->unit, unit) == 0) {
            return ops[i];
        }
    }
    return NULL;
}

static bool listed(const char *const *names, const char *name) {
    for (; names != NULL && *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whole lines. */
static size_t in_lines(size_t bytes) {
    return (bytes + TB_CHECK_LINE - 1) / TB_CHECK_LINE * TB_CHECK_LINE;
}

static size_t instances(const tb_checks *checks, const tb_check_ops *ops) {
    size_t count = 0;
    for (size_t i = 0; i < checks->taps.count; i++) {
        count += strcmp(checks->taps.tap[i].kind, ops->unit) == 0;
    }
    return count;
}

/* Memory for all checks and their states, zeroed. */
static int allocate(tb_checks *checks, const tb_check_ops *const *ops, size_t nops) {
    size_t bytes = TB_CHECK_LINE;
    for (size_t k = 0; k < nops; k++) {
        bytes += in_lines(instances(checks, ops[k]) * ops[k]->state_bytes);
    }
    const size_t all = in_lines(checks->taps.count * sizeof *checks->check);
    checks->check = (tb_check *)aligned_alloc(TB_CHECK_LINE, all);
    checks->states = (uint8_t *)aligned_alloc(TB_CHECK_LINE, bytes);
    checks->plan = (tb_check_plan *)calloc(1, sizeof *checks->plan);
    if (checks->check == NULL || checks->states == NULL || checks->plan == NULL) {
        return -1;
    }
    memset(checks->check, 0, all);
    memset(checks->states, 0, bytes);
    return 0;
}

/* Where `part` is a component of the instance path: characters before it, with their point; 0: nowhere. */
static size_t scope_of(const char *path, const char *part) {
    const size_t length = strlen(part);
    for (const char *p = strstr(path, part); p != NULL; p = strstr(p + 1, part)) {
        if (p > path && p[-1] == '.' && (p[length] == '.' || p[length] == '\0')) {
            return (size_t)(p - path);
        }
    }
    return 0;
}

/* The tap of a gate in the scope of so many characters of the path, which end with a point, or in one around it. */
static const tb_tap *gate_around(const tb_checks *checks, const char *path, size_t scope, const char *name) {
    for (; scope > 0; scope--) {
        const tb_tap *tap = NULL;
        for (size_t i = 0; path[scope - 1] == '.' && (tap = tb_taps_find(&checks->taps, checks->gate->unit, i)); i++) {
            if (strncmp(tap->path, path, scope) == 0 && strcmp(tap->path + scope, name) == 0) {
                return tap;
            }
        }
    }
    return NULL;
}

static int find_clock(tb_check *c, char *err, size_t err_size) {
    const tb_check_ops *ops = c->all->gate;
    if (ops == NULL || tb_taps_find(&c->all->taps, ops->unit, 0) == NULL) {
        return 0;
    }
    for (const tb_check_gate *g = ops->gates; g->part != NULL; g++) {
        const size_t scope = scope_of(c->tap->path, g->part);
        if (scope > 0) {
            const tb_tap *tap = gate_around(c->all, c->tap->path, scope, g->gate);
            if (tap == NULL) {
                snprintf(err, err_size, "%s: there is no tap of the clock gate of %s", c->tap->path, g->part);
                return -1;
            }
            if (tb_tap_sig(tap, "en_i", 1, c->clock.ptr == NULL ? &c->clock : &c->outer, err, err_size) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

int tb_check_ports(tb_check *c, tb_ports ports, char *err, size_t err_size) {
    c->reset_n = tb_tap_find(c->tap, "rst_ni");
    return tb_tap_ports(c->tap, ports, err, err_size) != 0 ? -1 : find_clock(c, err, err_size);
}

static int open_check(tb_check *c, char *err, size_t err_size) {
    const tb_ports ports = tb_ports_of(&c->ops->ports, c->state);
    if (tb_check_ports(c, ports, err, err_size) != 0 || (c->ops->open != NULL && c->ops->open(c, err, err_size) != 0)) {
        return -1;
    }
    const tb_ports wake = {.names = c->ops->wake != NULL ? c->ops->wake : ""};
    tb_ports_place next = TB_PORTS_FIRST;
    char name[64];
    while (tb_ports_next(&wake, &next, name, sizeof name)) {
        tb_sig sig;
        if (tb_check_sig(c, name, 0, &sig, err, err_size) != 0 || tb_check_wake(c, sig, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The instances of a unit, their states from `state` on. */
static int open_unit(tb_checks *checks, const tb_check_ops *ops, uint8_t *state, char *err, size_t err_size) {
    unsigned index = 0;
    for (size_t i = 0; i < checks->taps.count; i++) {
        const tb_tap *tap = &checks->taps.tap[i];
        if (strcmp(tap->kind, ops->unit) == 0) {
            tb_check *c = &checks->check[checks->count++];
            *c = (tb_check){.ops = ops,
                            .cycle = ops->cycle_all != NULL ? NULL : ops->cycle,
                            .tap = tap,
                            .all = checks,
                            .index = index};
            c->state = &state[index++ * ops->state_bytes];
            if (open_check(c, err, err_size) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

int tb_checks_open(tb_checks *checks, const tb_sim *sim, const tb_check_ops *const *ops, size_t nops,
                   const char *const *absent, void *ctx, char *err, size_t err_size) {
    memset(checks, 0, sizeof *checks);
    checks->sim = sim;
    checks->ctx = ctx;
    checks->every_cycle = absent == TB_CHECKS_SOME;
    if (tb_taps_open(&checks->taps, sim, err, err_size) != 0) {
        return -1;
    }
    if (checks->taps.count == 0) {
        return 0;
    }
    if (allocate(checks, ops, nops) != 0) {
        snprintf(err, err_size, "out of memory");
        goto fail;
    }
    for (size_t i = 0; i < checks->taps.count; i++) {
        const tb_tap *tap = &checks->taps.tap[i];
        if (find_ops(ops, nops, tap->kind) == NULL) {
            snprintf(err, err_size, "tap of %s: no check knows the kind '%s'", tap->path, tap->kind);
            goto fail;
        }
    }
    for (size_t k = 0; k < nops; k++) {
        checks->gate = ops[k]->gates != NULL ? ops[k] : checks->gate;
    }
    uint8_t *state = checks->states;
    for (size_t k = 0; k < nops; k++) {
        if (open_unit(checks, ops[k], state, err, err_size) != 0) {
            goto fail;
        }
        state += in_lines(instances(checks, ops[k]) * ops[k]->state_bytes);
    }
    for (size_t i = 0; i < nops && absent != TB_CHECKS_SOME; i++) {
        if (tb_taps_find(&checks->taps, ops[i]->unit, 0) == NULL && !listed(absent, ops[i]->unit)) {
            snprintf(err, err_size, "%s: the design has no tap of this kind", ops[i]->unit);
            goto fail;
        }
    }
    if (tb_plan_make(checks, err, err_size) == 0) {
        return 0;
    }
fail:
    tb_checks_close(checks);
    return -1;
}

void tb_checks_close(tb_checks *checks) {
    for (size_t i = 0; i < checks->count; i++) {
        tb_check *c = &checks->check[i];
        if (c->ops->close != NULL) {
            c->ops->close(c);
        }
    }
    free(checks->states);
    free(checks->check);
    tb_plan_free(checks);
    tb_taps_close(&checks->taps);
    memset(checks, 0, sizeof *checks);
}

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

/* Is a bit of the mask set in the block? */
static inline bool any_set(const tb_plan_probe *at) {
#ifdef __AVX2__
    return _mm256_testz_si256(_mm256_loadu_si256((const __m256i_u *)at->block),
                              _mm256_loadu_si256((const __m256i_u *)at->mask)) == 0;
#else
    uint64_t block[TB_PLAN_BLOCK / 8], mask[TB_PLAN_BLOCK / 8];
    memcpy(block, at->block, sizeof block);
    memcpy(mask, at->mask, sizeof mask);
    return ((block[0] & mask[0]) | (block[1] & mask[1]) | (block[2] & mask[2]) | (block[3] & mask[3])) != 0;
#endif
}

/* A bit for each byte of the block in which one is. */
static inline uint32_t bytes_set(const tb_plan_probe *at) {
#ifdef __AVX2__
    const __m256i set = _mm256_and_si256(_mm256_loadu_si256((const __m256i_u *)at->block),
                                         _mm256_loadu_si256((const __m256i_u *)at->mask));
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(set, _mm256_setzero_si256()));
#else
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < TB_PLAN_BLOCK / 8; i++) {
        uint64_t block, mask;
        memcpy(&block, at->block + 8 * i, sizeof block);
        memcpy(&mask, at->mask + 8 * i, sizeof mask);
        block &= mask;
        /* the lowest bit of each byte: is one of it set? */
        block = ((((block & low) + low) | block) & ~low) >> 7;
        bytes |= (block * UINT64_C(0x0102040810204080)) >> 56 << (8 * i); /* side by side, without carries */
    }
    return (uint32_t)bytes;
#endif
}

/* The set bytes differ from the last time that any was set. */
__attribute__((noinline)) static void find_woken_by(tb_plan_probe *at, uint32_t set, uint32_t words) {
    memset(at->woken, 0, words * sizeof *at->woken);
    at->set = set;
    for (; set != 0; set &= set - 1) {
        const tb_plan_byte *b = &at->byte[__builtin_ctz(set)];
        at->woken[b->slot] |= b->bits;
    }
}

/* The same bytes as before, in a design with more checks than TB_PLAN_LOT words have bits. */
__attribute__((noinline)) static void wake_more(const tb_plan_probe *at, uint32_t words, tb_plan_map *due) {
    for (uint32_t w = TB_PLAN_LOT; w < words; w++) {
        due->bit[w] |= at->woken[w];
    }
}

static inline void look(tb_plan_probe *at, uint32_t words, tb_plan_map *due) {
    if (__builtin_expect(any_set(at), 0)) {
        const uint32_t set = bytes_set(at);
        if (__builtin_expect(set != at->set, 0)) {
            find_woken_by(at, set, words);
        }
        *(lot *)due->bit |= *(const lot *)at->woken;
        if (words > TB_PLAN_LOT) {
            wake_more(at, words, due);
        }
    }
}

/* Checks of a domain with a set signal: most have none. */
static inline void find_woken(const tb_check_plan *p, const tb_plan_domain *d, uint32_t words, tb_plan_map *due) {
    const tb_plan_probe *const end = &p->probe[d->end];
    for (tb_plan_probe *at = &p->probe[d->first]; at < end; at += TB_PLAN_STEP) {
        look(at, words, due);
        look(at + 1, words, due);
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

/* Checks that are due, of those with a clock in this cycle. */
static inline void find_due(tb_checks *checks, uint32_t words, tb_plan_map *due) {
    tb_check_plan *p = checks->plan;
    if (p->span < TB_PLAN_BLOCK) {
        memcpy(p->few, p->low, p->span);
    }
    for (tb_plan_domain *d = p->domain, *end = d + p->domains; d < end; d++) {
        const bool reset = *d->reset_n == 0, runs = !reset & (*d->clock != 0) & (*d->outer != 0);
        if (__builtin_expect(reset | (runs != d->runs), 0)) {
            change_domain(checks, d, runs);
        }
        if (runs) {
            find_woken(p, d, words, due);
        }
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

/* Call the checks of one word of the maps, in their order; returns those to be called in the next cycle, too. */
static inline uint64_t call_word(const tb_checks *checks, uint32_t word, uint64_t due) {
    tb_check *const check = &checks->check[64 * word];
    uint64_t again = 0;
    while (due != 0) {
        const uint32_t i = (uint32_t)__builtin_ctzll(due);
        tb_check *c = &check[i];
        if (c->cycle != NULL) {
            c->again = false;
            c->cycle(c);
            again |= (uint64_t)c->again << i;
            due &= due - 1;
        } else {
            const tb_plan_crowd *crowd = &checks->plan->crowd[64 * word + i];
            const uint64_t now = due & crowd->together;
            again |= crowd->cycle_all(&check[crowd->first], crowd->state, now >> crowd->first) << crowd->first;
            due &= ~now;
        }
    }
    return again;
}

bool tb_checks_cycle(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    tb_plan_map due;
    if (p == NULL) { /* a design without taps */
        return true;
    }
    const uint32_t words = p->words;
    for (uint32_t w = 0; w < words; w += TB_PLAN_LOT) {
        *(lot *)&due.bit[w] = *(const lot *)&p->always.bit[w] | *(const lot *)&p->again.bit[w];
    }
    find_due(checks, words, &due);
    for (uint32_t w = 0; w < words; w++) {
        const uint64_t now = due.bit[w] & p->running.bit[w];
        const uint64_t kept = p->again.bit[w] & ~now; /* their clock is gated off */
        p->again.bit[w] = kept | call_word(checks, w, now);
    }
    if (p->failed) {
        rest(checks);
        p->failed = false;
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
