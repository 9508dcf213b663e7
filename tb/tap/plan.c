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

/* A signal to be looked at. 0 or -1 (out of memory). */
static int look_for(tb_check_plan *p, const uint8_t *ptr, size_t bytes, uint8_t bits, tb_plan_use use, size_t check) {
    if (!rep_more(&p->wake, p->wakes, sizeof *p->wake)) {
        return -1;
    }
    p->wake[p->wakes++] =
        (tb_plan_wake){.ptr = ptr, .bytes = (uint32_t)bytes, .byte_bits = bits, .use = use, .check = (uint32_t)check};
    return 0;
}

static int add_wake(tb_check *c, tb_sig sig, uint32_t most, uint8_t bits, tb_plan_use use, char *err, size_t err_size) {
    if (sig.width > most) {
        return opt_fail(err, err_size, "%s: a signal that wakes a check has at most %" PRIu32 " bits, got %" PRIu32,
                        c->tap->path, most, sig.width);
    }
    if (c->all->every_cycle) {
        return 0;
    }
    const uint8_t *ptr = (const uint8_t *)sig.ptr;
    return look_for(c->all->plan, ptr, tb_sig_bytes(sig), bits, use, (size_t)(c - c->all->check)) == 0
               ? 0
               : opt_fail(err, err_size, "out of memory");
}

int tb_check_wake(tb_check *c, tb_sig sig, char *err, size_t err_size) {
    return add_wake(c, sig, 32, 0xff, TB_PLAN_SET, err, err_size);
}

int tb_check_wake_bits(tb_check *c, tb_sig sig, uint8_t bits, char *err, size_t err_size) {
    return add_wake(c, sig, 8, bits, TB_PLAN_SET, err, err_size);
}

int tb_check_watch(tb_check *c, tb_sig sig, char *err, size_t err_size) {
    return add_wake(c, sig, 32, 0xff, TB_PLAN_CHANGE, err, err_size);
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

/* By address; one byte of it after the other, from the lowest on. 0 or -1. */
static int sort_wakes(tb_check_plan *p) {
    for (uint32_t shift = 0; p->span >> shift != 0 && shift < 64; shift += 8) {
        size_t first[257] = {0};
        tb_plan_wake *to = (tb_plan_wake *)malloc((p->wakes + 1) * sizeof *to);
        if (to == NULL) {
            return -1;
        }
        for (const tb_plan_wake *w = p->wake; w < p->wake + p->wakes; w++) {
            first[1 + ((size_t)(w->ptr - p->low) >> shift & 0xffu)]++;
        }
        for (size_t i = 1; i < 256; i++) {
            first[i] += first[i - 1];
        }
        for (const tb_plan_wake *w = p->wake; w < p->wake + p->wakes; w++) {
            to[first[(size_t)(w->ptr - p->low) >> shift & 0xffu]++] = *w;
        }
        free(p->wake);
        p->wake = to;
    }
    return 0;
}

/* A block that begins with the word of a signal, or earlier, so as not to end beyond the last one. */
static const uint8_t *block_of(const tb_check_plan *p, const tb_plan_wake *w) {
    const uint8_t *last = p->low + p->span - TB_PLAN_BLOCK, *word = w->ptr - (uintptr_t)w->ptr % WORD;
    return p->span < TB_PLAN_BLOCK ? p->low : word < last ? word : last;
}

/* Can the probe have this signal? It must be in the block, and a byte has one mask. */
static bool takes(const tb_plan_probe *probe, const tb_plan_wake *w) {
    if (w->ptr < probe->block || w->ptr + w->bytes > probe->block + TB_PLAN_BLOCK) {
        return false;
    }
    const size_t at = (size_t)(w->ptr - probe->block);
    for (size_t i = at; i < at + w->bytes && w->use == TB_PLAN_SET; i++) {
        if (probe->mask[i] != 0 && probe->mask[i] != w->byte_bits) {
            return false;
        }
    }
    return true;
}

static size_t probe_of(tb_check_plan *p, const tb_plan_wake *w) {
    for (size_t i = p->probes; i > 0; i--) { /* signals come by address: it is one of the last ones */
        if (takes(&p->probe[i - 1], w)) {
            return i - 1;
        }
    }
    p->probe[p->probes] = (tb_plan_probe){.block = block_of(p, w)};
    return p->probes++;
}

/* Which signals each probe has. */
static void place_signals(tb_check_plan *p) {
    for (size_t i = 0; i < p->wakes; i++) {
        tb_plan_wake *w = &p->wake[i];
        w->probe = (uint32_t)probe_of(p, w);
        tb_plan_probe *probe = &p->probe[w->probe];
        for (size_t at = (size_t)(w->ptr - probe->block), end = at + w->bytes; at < end; at++) {
            probe->mask[at] = w->use == TB_PLAN_SET ? w->byte_bits : probe->mask[at];
            probe->bytes[w->use] |= UINT64_C(1) << at;
            probe->any |= UINT64_C(1) << at;
        }
    }
    if (p->probes % 2 != 0) { /* one that looks at nothing */
        p->probe[p->probes++] = (tb_plan_probe){.block = p->probe[0].block};
    }
    for (size_t i = 0; i < p->probes; i++) {
        p->sets += p->probe[i].bytes[TB_PLAN_SET] != 0;
    }
    p->sets += p->sets % 2;
}

/* The rows of all probes: first those of the sets that are kept, of which the empty one is known. */
static void fill_rows(tb_check_plan *p, uint64_t *next) {
    uint64_t *woken = p->woken = next;
    next += p->sets * p->words;
    for (tb_plan_probe *at = p->probe; at < p->probe + p->probes; at++) {
        at->woken = woken;
        woken += at->bytes[TB_PLAN_SET] != 0 ? p->words : 0;
        at->kept = next;
        next += TB_PLAN_KEPT * p->words;
        for (size_t use = 0; use < TB_PLAN_CONTROL; use++, next += TB_PLAN_BLOCK * p->words) {
            at->row[use] = next;
        }
    }
    for (const tb_plan_wake *w = p->wake; w < p->wake + p->wakes; w++) {
        const tb_plan_probe *at = &p->probe[w->probe];
        if (w->use != TB_PLAN_CONTROL) {
            uint64_t *row = (uint64_t *)at->row[w->use] + (size_t)(w->ptr - at->block) * p->words;
            for (size_t i = 0; i < w->bytes; i++, row += p->words) {
                row[w->check / 64] |= UINT64_C(1) << w->check % 64;
            }
        }
    }
}

static int make_probes(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    find_span(p);
    if (sort_wakes(p) != 0) {
        return -1;
    }
    /* at most one for each signal, and one to make their number even; memory that no probe needs is not touched */
    p->probe = (tb_plan_probe *)aligned_alloc(TB_CHECK_LINE, (p->wakes + 2) * sizeof *p->probe);
    if (p->probe == NULL) {
        return -1;
    }
    place_signals(p);
    const size_t each = TB_PLAN_KEPT + TB_PLAN_CONTROL * TB_PLAN_BLOCK;
    uint64_t *rows = (uint64_t *)tb_check_memory(checks, (p->sets + p->probes * each) * p->words * sizeof *rows);
    if (rows == NULL) {
        return -1;
    }
    fill_rows(p, rows);
    for (size_t i = 0; i < p->probes && p->span < TB_PLAN_BLOCK; i++) { /* a copy begins where they begin */
        p->probe[i].block = p->few;
    }
    return 0;
}

/* Neighbours of a unit that takes all its checks at once share a call. */
static void make_crowds(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    const tb_check *c = checks->check;
    for (size_t first = 0, end; first < checks->count; first = end) {
        tb_plan_crowd crowd = {.cycle_all = c[first].ops->cycle_all, .state = c[first].state, .first = first % 64};
        for (end = first; end < checks->count && end / 64 == first / 64 && c[end].ops == c[first].ops; end++) {
            crowd.together |= UINT64_C(1) << end % 64;
        }
        for (size_t i = first; i < end; i++) {
            p->crowd[i] = crowd;
        }
        p->together.bit[first / 64] |= crowd.cycle_all != NULL ? crowd.together : 0;
    }
}

static int add_control(tb_check_plan *p, tb_sig signal) {
    return signal.ptr != NULL ? look_for(p, (const uint8_t *)signal.ptr, 1, 0xff, TB_PLAN_CONTROL, 0) : 0;
}

/* 0 or -1 (out of memory). */
static int join_domain(tb_check_plan *p, const tb_check *c, size_t index) {
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
        if (!rep_more(&p->domain, p->domains, sizeof *p->domain)) {
            return -1;
        }
        p->domain[p->domains++] = (tb_plan_domain){.reset_n = reset_n, .clock = clock, .outer = outer};
        if (add_control(p, c->reset_n) != 0 || add_control(p, c->clock) != 0 || add_control(p, c->outer) != 0) {
            return -1;
        }
    }
    set(&p->domain[d].members, index);
    return 0;
}

int tb_plan_make(tb_checks *checks, char *err, size_t err_size) {
    tb_check_plan *p = checks->plan;
    if (checks->count > TB_PLAN_CHECKS) {
        return opt_fail(err, err_size, "%zu checks, expected at most %u", checks->count, TB_PLAN_CHECKS);
    }
    p->words = (uint32_t)((checks->count + 64 * TB_PLAN_LOT - 1) / (64 * TB_PLAN_LOT)) * TB_PLAN_LOT;
    p->crowd = (tb_plan_crowd *)tb_check_memory(checks, checks->count * sizeof *p->crowd);
    if (p->crowd == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    for (size_t i = 0; i < checks->count; i++) {
        if (checks->check[i].ops->cycle != NULL || checks->check[i].ops->cycle_all != NULL) {
            if (join_domain(p, &checks->check[i], i) != 0) {
                return opt_fail(err, err_size, "out of memory");
            }
            set(&p->always, i);
        }
    }
    for (size_t i = 0; i < p->wakes; i++) {
        const tb_plan_wake *w = &p->wake[i];
        if (w->use != TB_PLAN_CONTROL) {
            p->always.bit[w->check / 64] &= ~(UINT64_C(1) << w->check % 64);
        }
        if (w->use == TB_PLAN_CHANGE) { /* there is no cycle before the first one */
            set(&p->again, w->check);
        }
    }
    if (make_probes(checks) != 0) {
        return opt_fail(err, err_size, "out of memory");
    }
    make_crowds(checks);
    p->set = p->always;
    p->look = true;
    return 0;
}

void tb_plan_free(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    if (p != NULL) {
        free(p->domain);
        free(p->wake);
        free(p->probe);
    }
}
