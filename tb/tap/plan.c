#include "plan.h"
#include "opt/opt.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD 8u /* a word of the design's memory: the word that contains a signal belongs to the design object */

static void set(tb_plan_map *m, size_t i) {
    m->bit[i / 64] |= UINT64_C(1) << i % 64;
}

static int add_wake(tb_check *c, tb_sig sig, uint32_t most, uint8_t bits, char *err, size_t err_size) {
    tb_check_plan *p = c->all->plan;
    const size_t bytes = tb_sig_bytes(sig);
    if (sig.width > most) {
        return opt_fail(err, err_size, "%s: a signal that wakes a check has at most %" PRIu32 " bits, got %" PRIu32,
                        c->tap->path, most, sig.width);
    }
    if (c->all->every_cycle) {
        return 0;
    }
    if (!rep_more(&p->wake, p->wakes, sizeof *p->wake)) {
        return opt_fail(err, err_size, "out of memory");
    }
    p->wake[p->wakes++] = (tb_plan_wake){.ptr = (const uint8_t *)sig.ptr,
                                         .bytes = (uint32_t)bytes,
                                         .byte_bits = bits,
                                         .check = (uint32_t)(c - c->all->check)};
    return 0;
}

int tb_check_wake(tb_check *c, tb_sig sig, char *err, size_t err_size) {
    return add_wake(c, sig, 32, 0xff, err, err_size);
}

int tb_check_wake_bits(tb_check *c, tb_sig sig, uint8_t bits, char *err, size_t err_size) {
    return add_wake(c, sig, 8, bits, err, err_size);
}

static int by_place(const void *a, const void *b) {
    const tb_plan_wake *x = (const tb_plan_wake *)a, *y = (const tb_plan_wake *)b;
    if (x->domain != y->domain) {
        return x->domain < y->domain ? -1 : 1;
    }
    if (x->ptr != y->ptr) {
        return x->ptr < y->ptr ? -1 : 1;
    }
    return x->check < y->check ? -1 : x->check > y->check;
}

/* Where the signals are: whole words. A design is one object, so the memory between two of its signals may be read. */
static void find_span(tb_check_plan *p) {
    const uint8_t *low = p->wakes > 0 ? p->wake[0].ptr : p->few, *end = low;
    for (size_t i = 0; i < p->wakes; i++) {
        const tb_plan_wake *w = &p->wake[i];
        low = w->ptr < low ? w->ptr : low;
        end = w->ptr + w->bytes > end ? w->ptr + w->bytes : end;
    }
    p->low = low - (uintptr_t)low % WORD;
    p->span = ((size_t)(end - p->low) + WORD - 1) / WORD * WORD;
}

/* A block that begins with the word of a signal, or earlier, so as not to end beyond the last one. */
static const uint8_t *block_of(const tb_check_plan *p, const tb_plan_wake *w) {
    const uint8_t *last = p->low + p->span - TB_PLAN_BLOCK, *word = w->ptr - (uintptr_t)w->ptr % WORD;
    return p->span < TB_PLAN_BLOCK ? p->low : word < last ? word : last;
}

/* Can the probe have this signal? It must be in the block; a byte has one mask, and wakes checks of one word of a map.
 */
static bool takes(const tb_plan_probe *probe, const tb_plan_wake *w) {
    if (w->ptr < probe->block || w->ptr + w->bytes > probe->block + TB_PLAN_BLOCK) {
        return false;
    }
    const size_t at = (size_t)(w->ptr - probe->block);
    for (size_t i = at; i < at + w->bytes; i++) {
        if (probe->byte[i].bits != 0 && (probe->byte[i].slot != w->check / 64 || probe->mask[i] != w->byte_bits)) {
            return false;
        }
    }
    return true;
}

static tb_plan_probe *add_probe(tb_check_plan *p, tb_plan_domain *d, const uint8_t *block) {
    tb_plan_probe *probe = &p->probe[p->probes];
    *probe = (tb_plan_probe){
        .block = block, .byte = &p->byte[p->probes * TB_PLAN_BLOCK], .woken = &p->woken[p->probes * p->words]};
    d->first = d->end == 0 ? (uint32_t)p->probes : d->first;
    d->end = (uint32_t)++p->probes;
    return probe;
}

static void probe_signal(tb_check_plan *p, const tb_plan_wake *w) {
    tb_plan_domain *d = &p->domain[w->domain];
    tb_plan_probe *probe = NULL;
    for (uint32_t i = d->first; i < d->end && probe == NULL; i++) {
        probe = takes(&p->probe[i], w) ? &p->probe[i] : NULL;
    }
    probe = probe != NULL ? probe : add_probe(p, d, block_of(p, w));
    const size_t at = (size_t)(w->ptr - probe->block);
    for (size_t i = at; i < at + w->bytes; i++) {
        probe->mask[i] = w->byte_bits;
        probe->byte[i].slot = w->check / 64;
        probe->byte[i].bits |= UINT64_C(1) << w->check % 64;
    }
}

/* Probes of each domain contiguously, filled to a whole step. */
static void make_probes(tb_check_plan *p) {
    find_span(p);
    for (size_t i = 0; i < p->wakes; i++) {
        tb_plan_domain *d = &p->domain[p->wake[i].domain];
        probe_signal(p, &p->wake[i]);
        const bool last = i + 1 == p->wakes || p->wake[i + 1].domain != p->wake[i].domain;
        while (last && (d->end - d->first) % TB_PLAN_STEP != 0) {
            add_probe(p, d, p->probe[d->first].block);
        }
    }
    for (size_t i = 0; i < p->probes && p->span < TB_PLAN_BLOCK; i++) { /* a copy begins where they begin */
        p->probe[i].block = p->few;
    }
}

/* Neighbours of a unit that takes all its checks at once share a call. */
static void make_crowds(tb_checks *checks) {
    for (size_t i = 0, first = 0; i < checks->count; i++) {
        const tb_check_ops *ops = checks->check[i].ops;
        if (i % 64 == 0 || ops != checks->check[first].ops) {
            first = i;
        }
        tb_plan_crowd *crowd = &checks->plan->crowd[i];
        *crowd = (tb_plan_crowd){
            .cycle_all = ops->cycle_all, .state = checks->check[first].state, .first = (uint32_t)(first % 64)};
        for (size_t k = first; k < checks->count && k / 64 == i / 64 && checks->check[k].ops == ops; k++) {
            crowd->together |= UINT64_C(1) << k % 64;
        }
    }
}

static size_t join_domain(tb_check_plan *p, const tb_check *c, size_t index) {
    static const uint8_t one = 1;
    const uint8_t *reset_n = c->reset_n.ptr != NULL ? (const uint8_t *)c->reset_n.ptr : &one;
    const uint8_t *clock = c->clock.ptr != NULL ? (const uint8_t *)c->clock.ptr : &one;
    const uint8_t *outer = c->outer.ptr != NULL ? (const uint8_t *)c->outer.ptr : &one;
    size_t d = 0;
    while (d < p->domains &&
           (p->domain[d].reset_n != reset_n || p->domain[d].clock != clock || p->domain[d].outer != outer)) {
        d++;
    }
    if (d == p->domains) {
        p->domain[p->domains++] = (tb_plan_domain){.reset_n = reset_n, .clock = clock, .outer = outer};
    }
    set(&p->domain[d].members, index);
    return d;
}

/* calloc() of structs that begin with a line of the cache. */
static void *lines(size_t count, size_t size) {
    void *p = aligned_alloc(TB_CHECK_LINE, count * size);
    return p != NULL ? memset(p, 0, count * size) : NULL;
}

int tb_plan_make(tb_checks *checks, char *err, size_t err_size) {
    tb_check_plan *p = checks->plan;
    if (checks->count > TB_PLAN_CHECKS) {
        return opt_fail(err, err_size, "%zu checks, expected at most %u", checks->count, TB_PLAN_CHECKS);
    }
    p->words = (uint32_t)((checks->count + 64 * TB_PLAN_LOT - 1) / (64 * TB_PLAN_LOT)) * TB_PLAN_LOT;
    p->domain = (tb_plan_domain *)lines(checks->count + 1, sizeof *p->domain);
    /* at most: one for each signal, a step of padding for each domain */
    const size_t probes = p->wakes + TB_PLAN_STEP * checks->count;
    p->probe = (tb_plan_probe *)lines(probes + 1, sizeof *p->probe);
    p->byte = (tb_plan_byte *)calloc((probes + 1) * TB_PLAN_BLOCK, sizeof *p->byte);
    p->woken = (uint64_t *)calloc((probes + 1) * p->words, sizeof *p->woken);
    p->crowd = (tb_plan_crowd *)calloc(checks->count + 1, sizeof *p->crowd);
    if (p->domain == NULL || p->probe == NULL || p->byte == NULL || p->woken == NULL || p->crowd == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    for (size_t i = 0; i < checks->count; i++) {
        if (checks->check[i].ops->cycle != NULL || checks->check[i].ops->cycle_all != NULL) {
            const size_t d = join_domain(p, &checks->check[i], i);
            set(&p->always, i);
            for (size_t k = 0; k < p->wakes; k++) {
                p->wake[k].domain = p->wake[k].check == i ? (uint32_t)d : p->wake[k].domain;
            }
        }
    }
    for (size_t i = 0; i < p->wakes; i++) {
        const uint32_t check = p->wake[i].check;
        p->always.bit[check / 64] &= ~(UINT64_C(1) << check % 64);
    }
    if (p->wakes > 0) {
        qsort(p->wake, p->wakes, sizeof *p->wake, by_place);
    }
    make_probes(p);
    make_crowds(checks);
    return 0;
}

void tb_plan_free(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    if (p != NULL) {
        free(p->domain);
        free(p->wake);
        free(p->probe);
        free(p->byte);
        free(p->woken);
        free(p->crowd);
        free(p);
    }
    checks->plan = NULL;
}
