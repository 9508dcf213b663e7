#include "check.h"

#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

static int open_check(tb_checks *checks, const tb_tap *tap, const tb_check_ops *ops, char *err, size_t err_size) {
    tb_check *c = &checks->check[checks->count];
    *c = (tb_check){.ops = ops, .tap = tap, .all = checks};
    for (const tb_check *other = checks->check; other < c; other++) {
        c->index += other->ops == ops;
    }
    c->state = calloc(1, ops->state_bytes > 0 ? ops->state_bytes : 1);
    if (c->state == NULL) {
        snprintf(err, err_size, "out of memory");
        return -1;
    }
    checks->count++;
    return ops->open(c, err, err_size);
}

int tb_checks_open(tb_checks *checks, const tb_sim *sim, const tb_check_ops *const *ops, size_t nops, const char *const *absent, void *ctx,
                   char *err, size_t err_size) {
    memset(checks, 0, sizeof *checks);
    checks->sim = sim;
    checks->ctx = ctx;
    if (tb_taps_open(&checks->taps, sim, err, err_size) != 0) {
        return -1;
    }
    if (checks->taps.count == 0) {
        return 0;
    }
    checks->check = (tb_check *)calloc(checks->taps.count, sizeof *checks->check);
    checks->plan = (tb_check_plan *)calloc(1, sizeof *checks->plan);
    if (checks->check == NULL || checks->plan == NULL) {
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
        for (size_t i = 0; i < checks->taps.count; i++) {
            const tb_tap *tap = &checks->taps.tap[i];
            if (strcmp(tap->kind, ops[k]->unit) == 0 && open_check(checks, tap, ops[k], err, err_size) != 0) {
                goto fail;
            }
        }
    }
    for (size_t i = 0; i < nops; i++) {
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
        free(c->state);
    }
    free(checks->check);
    tb_plan_free(checks);
    tb_taps_close(&checks->taps);
    memset(checks, 0, sizeof *checks);
}

/* Checks of a domain in reset forget what they know, and look at the first cycle after it. */
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

/* Checks of a group of which a signal is set. Those that are due already need not be looked for. */
__attribute__((noinline)) static void wake(const tb_check_plan *p, const tb_plan_probe *at, uint64_t word, tb_plan_map *due) {
    const tb_plan_group *g = &p->group[at - p->probe];
    if ((g->bits & ~due->bit[g->slot]) == 0) {
        return;
    }
    uint64_t found = 0;
    for (const tb_plan_wake *w = &p->wake[g->first], *end = &p->wake[g->end]; w < end; w++) {
        found |= (word & w->mask) != 0 ? w->bit : 0;
    }
    due->bit[g->slot] |= found;
}

static inline void look(const tb_check_plan *p, const tb_plan_probe *at, tb_plan_map *due) {
    uint64_t word;
    memcpy(&word, at->word, sizeof word);
    if (__builtin_expect((word & at->mask) != 0, 0)) {
        wake(p, at, word, due);
    }
}

/* The same for all groups of a domain: most of them have none. */
static inline void find_woken(const tb_check_plan *p, const tb_plan_domain *d, tb_plan_map *due) {
    const tb_plan_probe *const end = &p->probe[d->end];
    for (const tb_plan_probe *at = &p->probe[d->first]; at < end; at += TB_PLAN_STEP) {
        look(p, at, due);
        look(p, at + 1, due);
        look(p, at + 2, due);
        look(p, at + 3, due);
    }
}

/* Checks that are due, of those with a clock in this cycle. Clocks start and stop seldom, so the map of those is kept. */
static void find_due(tb_checks *checks, tb_plan_map *due) {
    tb_check_plan *p = checks->plan;
    for (size_t i = 0; i < p->domains; i++) {
        tb_plan_domain *d = &p->domain[i];
        const bool reset = *d->reset_n == 0;
        const bool runs = !reset && *d->clock != 0;
        if (reset) {
            clear_domain(checks, d);
        }
        if (runs != d->runs) {
            d->runs = runs;
            for (uint32_t w = 0; w < p->words; w++) {
                p->running.bit[w] = runs ? p->running.bit[w] | d->members.bit[w] : p->running.bit[w] & ~d->members.bit[w];
            }
        }
        if (runs) {
            find_woken(p, d, due);
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

/* The checks of one word of the maps, in their order; those that want the next cycle. */
static inline uint64_t call_word(const tb_plan_call *call, uint64_t due) {
    uint64_t again = 0;
    while (due != 0) {
        const uint32_t i = (uint32_t)__builtin_ctzll(due);
        const tb_plan_call *k = &call[i];
        if (k->cycle_all != NULL) {
            again |= k->cycle_all(k->all, due & k->together);
            due &= ~k->together;
            continue;
        }
        k->check->again = false;
        k->cycle(k->check);
        again |= (uint64_t)k->check->again << i;
        due &= due - 1;
    }
    return again;
}

bool tb_checks_cycle(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    tb_plan_map due;
    if (p == NULL) { /* a design without taps */
        return true;
    }
    for (uint32_t w = 0; w < p->words; w++) {
        due.bit[w] = p->always.bit[w] | p->again.bit[w];
    }
    find_due(checks, &due);
    for (uint32_t w = 0; w < p->words; w++) {
        const uint64_t now = due.bit[w] & p->running.bit[w];
        const uint64_t kept = p->again.bit[w] & ~now; /* their clock stands */
        p->again.bit[w] = kept | call_word(&p->call[64 * w], now);
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
             "%s %u (%s): %s, task %" PRIu64 ", transaction %" PRIu64 "%s%s, cycle %" PRIu64 ": got %s, expected %s; its input was %s",
             f->check->ops->unit, f->check->index, f->check->tap->path, f->stream, f->task, f->transaction, f->where[0] != '\0' ? ", " : "",
             f->where, f->cycle, f->got, f->expected, f->input_right ? "right" : "wrong already");
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

void tb_check_fail(tb_check *c, const char *stream, uint64_t transaction, const char *where, const char *got, const char *expected) {
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

void tb_check_differs(tb_check *c, const char *stream, uint64_t transaction, uint64_t got, uint64_t expected) {
    char g[24], e[24];
    snprintf(g, sizeof g, "0x%" PRIx64, got);
    snprintf(e, sizeof e, "0x%" PRIx64, expected);
    tb_check_fail(c, stream, transaction, NULL, g, e);
}
