#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD 8u /* bytes looked at with one load */

static void set(tb_plan_map *m, size_t i) {
    m->bit[i / 64] |= UINT64_C(1) << i % 64;
}

static int add_wake(tb_check *c, tb_sig sig, uint32_t most, uint8_t bits, char *err, size_t err_size) {
    tb_check_plan *p = c->all->plan;
    const size_t bytes = tb_sig_bytes(sig);
    if (sig.width > most) {
        snprintf(err, err_size, "%s: a signal that wakes a check has at most %" PRIu32 " bits, got %" PRIu32, c->tap->path, most,
                 sig.width);
        return -1;
    }
    if (p->wakes == p->wake_cap) {
        const size_t cap = p->wake_cap == 0 ? 256 : 2 * p->wake_cap;
        tb_plan_wake *grown = (tb_plan_wake *)realloc(p->wake, cap * sizeof *grown);
        if (grown == NULL) {
            snprintf(err, err_size, "out of memory");
            return -1;
        }
        p->wake = grown;
        p->wake_cap = cap;
    }
    p->wake[p->wakes++] = (tb_plan_wake){
        .ptr = (const uint8_t *)sig.ptr, .bytes = (uint32_t)bytes, .byte_bits = bits, .check = (uint32_t)(c - c->all->check)};
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
    if (x->check / 64 != y->check / 64) {
        return x->check < y->check ? -1 : 1;
    }
    if (x->ptr != y->ptr) {
        return x->ptr < y->ptr ? -1 : 1;
    }
    return x->check < y->check ? -1 : x->check > y->check;
}

/* Mask of `bits` in `bytes` bytes at byte `at` of a word as it is loaded. */
static uint64_t byte_mask(size_t at, uint32_t bytes, uint8_t bits) {
    uint8_t image[WORD] = {0};
    uint64_t mask;
    memset(&image[at], bits, bytes);
    memcpy(&mask, image, sizeof mask);
    return mask;
}

/* Groups without signals up to a whole step. */
static void fill_step(tb_check_plan *p, tb_plan_domain *d) {
    static const uint64_t none = 0;
    while ((d->end - d->first) % TB_PLAN_STEP != 0) {
        p->probe[p->groups++] = (tb_plan_probe){.word = (const uint8_t *)&none};
        d->end++;
    }
}

/* The storage of a signal is aligned to its size, so it lies within one word. Words are of memory that holds signals of the same design; it is one object. */
static void make_groups(tb_check_plan *p) {
    const tb_plan_wake *before = NULL;
    for (size_t i = 0; i < p->wakes; i++) {
        tb_plan_wake *w = &p->wake[i];
        const size_t at = (uintptr_t)w->ptr % WORD;
        const uint8_t *word = w->ptr - at;
        tb_plan_domain *d = &p->domain[w->domain];
        if (before != NULL && before->domain != w->domain) {
            fill_step(p, &p->domain[before->domain]);
        }
        if (before == NULL || p->probe[p->groups - 1].word != word || before->domain != w->domain || before->check / 64 != w->check / 64) {
            d->first = d->end == 0 ? (uint32_t)p->groups : d->first;
            p->probe[p->groups] = (tb_plan_probe){.word = word};
            p->group[p->groups++] = (tb_plan_group){.slot = w->check / 64, .first = (uint32_t)i};
            d->end = (uint32_t)p->groups;
        }
        w->mask = byte_mask(at, w->bytes, w->byte_bits);
        w->bit = UINT64_C(1) << w->check % 64;
        p->probe[p->groups - 1].mask |= w->mask;
        p->group[p->groups - 1].bits |= w->bit;
        p->group[p->groups - 1].end = (uint32_t)i + 1;
        before = w;
    }
    if (before != NULL) {
        fill_step(p, &p->domain[before->domain]);
    }
}

/* Neighbours of a unit that takes all its checks at once share a call. */
static void make_calls(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    for (size_t i = 0; i < checks->count; i++) {
        const tb_check_ops *ops = checks->check[i].ops;
        p->check[i] = &checks->check[i];
        p->call[i] = (tb_plan_call){.check = p->check[i], .cycle = ops->cycle, .cycle_all = ops->cycle_all, .all = &p->check[i / 64 * 64]};
        for (size_t k = i / 64 * 64; k < checks->count && k / 64 == i / 64; k++) {
            p->call[i].together |= checks->check[k].ops == ops ? UINT64_C(1) << k % 64 : 0;
        }
    }
}

static size_t join_domain(tb_check_plan *p, const tb_check *c, size_t index) {
    static const uint8_t one = 1;
    const uint8_t *reset_n = c->reset_n.ptr != NULL ? (const uint8_t *)c->reset_n.ptr : &one;
    const uint8_t *clock = c->clock.ptr != NULL ? (const uint8_t *)c->clock.ptr : &one;
    size_t d = 0;
    while (d < p->domains && (p->domain[d].reset_n != reset_n || p->domain[d].clock != clock)) {
        d++;
    }
    if (d == p->domains) {
        p->domain[p->domains++] = (tb_plan_domain){.reset_n = reset_n, .clock = clock};
    }
    set(&p->domain[d].members, index);
    return d;
}

int tb_plan_make(tb_checks *checks, char *err, size_t err_size) {
    tb_check_plan *p = checks->plan;
    if (checks->count > TB_PLAN_CHECKS) {
        snprintf(err, err_size, "%zu checks, expected at most %u", checks->count, TB_PLAN_CHECKS);
        return -1;
    }
    p->words = (uint32_t)((checks->count + 63) / 64);
    p->domain = (tb_plan_domain *)calloc(checks->count + 1, sizeof *p->domain);
    const size_t groups = p->wakes + TB_PLAN_STEP * checks->count; /* at most: a group for each signal, a step to fill for each domain */
    p->group = (tb_plan_group *)calloc(groups + 1, sizeof *p->group);
    p->probe = (tb_plan_probe *)calloc(groups + 1, sizeof *p->probe);
    p->check = (tb_check **)calloc(checks->count + 1, sizeof *p->check);
    p->call = (tb_plan_call *)calloc(checks->count + 1, sizeof *p->call);
    if (p->domain == NULL || p->group == NULL || p->probe == NULL || p->check == NULL || p->call == NULL) {
        snprintf(err, err_size, "out of memory");
        return -1;
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
    make_groups(p);
    make_calls(checks);
    return 0;
}

void tb_plan_free(tb_checks *checks) {
    tb_check_plan *p = checks->plan;
    if (p != NULL) {
        free(p->domain);
        free(p->wake);
        free(p->group);
        free(p->probe);
        free(p->check);
        free(p->call);
        free(p);
    }
    checks->plan = NULL;
}
