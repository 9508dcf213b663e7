/* lookup.c - from a value to its bin: ranges sorted for binary search, small ones as a table; overlaps are found here.
 */
#include "priv.h"

#include <stdlib.h>
#include <string.h>

#define DENSE_MAX 1024         /* values in a table */
#define FAR (INT64_C(1) << 62) /* ends beyond it are in no table */

int64_t cov_mask_next(int64_t lo, int64_t mask, int64_t want) {
    const uint64_t m = (uint64_t)mask;
    const uint64_t v = (uint64_t)lo;
    const uint64_t wrong = (v ^ (uint64_t)want) & m;
    if (wrong == 0) {
        return lo;
    }
    uint64_t bit = UINT64_C(1) << (63u - (unsigned)__builtin_clzll(wrong)); /* the highest one that differs */
    /* it has to fall, so a free one above it rises */
    if (((uint64_t)want & bit) == 0) {
        do {
            bit <<= 1;
        } while ((m & bit) != 0 || (v & bit) != 0);
        if (bit == 0 || bit > (uint64_t)INT64_MAX) {
            return -1;
        }
    }
    return (int64_t)((v & ~(bit - 1)) | bit | ((uint64_t)want & m & (bit - 1)));
}

uint32_t cov_find_slow(const cov_lookup *look, int64_t value) {
    uint32_t from = 0;
    uint32_t to = look->span_count;
    while (from < to) { /* the first one that does not end below the value */
        const uint32_t mid = from + (to - from) / 2;
        if (look->spans[mid].hi < value) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    if (from < look->span_count && look->spans[from].lo <= value) {
        return look->spans[from].bin + 1;
    }
    for (uint32_t i = 0; i < look->mask_count && value >= 0; i++) {
        if ((value & look->masks[i].mask) == look->masks[i].value) {
            return look->masks[i].bin + 1;
        }
    }
    return look->fallback;
}

static int by_low(const void *a, const void *b) {
    const cov_span *x = a;
    const cov_span *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo ? 1 : x->bin < y->bin ? -1 : x->bin > y->bin;
}

static int overlap(const char *where, const cov_data_point *point, uint32_t a, uint32_t b, int64_t value,
                   cov_error *err) {
    if (a == b) {
        return cov_fail(err, COV_BAD_MODEL, "%s.%s: bin %s has the value %lld twice", where, point->name,
                        point->bins[a].name, (long long)value);
    }
    return cov_fail(err, COV_BAD_MODEL, "%s.%s: bins %s and %s overlap at %lld", where, point->name,
                    point->bins[a < b ? a : b].name, point->bins[a < b ? b : a].name, (long long)value);
}

static int check(const char *where, const cov_data_point *point, const cov_lookup *look, cov_error *err) {
    for (uint32_t i = 1; i < look->span_count; i++) {
        if (look->spans[i].lo <= look->spans[i - 1].hi) {
            return overlap(where, point, look->spans[i - 1].bin, look->spans[i].bin, look->spans[i].lo, err);
        }
    }
    for (uint32_t i = 0; i < look->mask_count; i++) {
        const cov_mask *m = &look->masks[i];
        for (uint32_t k = 0; k < i; k++) {
            const cov_mask *o = &look->masks[k];
            if (((m->value ^ o->value) & m->mask & o->mask) == 0) {
                return overlap(where, point, o->bin, m->bin, m->value | o->value, err);
            }
        }
        for (uint32_t k = 0; k < look->span_count; k++) {
            const cov_span *s = &look->spans[k];
            const int64_t at = s->hi < 0 ? -1 : cov_mask_next(s->lo < 0 ? 0 : s->lo, m->mask, m->value);
            if (at >= 0 && at <= s->hi) {
                return overlap(where, point, s->bin, m->bin, at, err);
            }
        }
    }
    for (uint32_t i = 0; i < look->seq_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (look->seqs[i].count == look->seqs[k].count &&
                memcmp(look->seqs[i].step, look->seqs[k].step, look->seqs[i].count * sizeof look->seqs[i].step[0]) ==
                    0) {
                return cov_fail(err, COV_BAD_MODEL, "%s.%s: bins %s and %s are the same transition", where, point->name,
                                point->bins[look->seqs[k].bin].name, point->bins[look->seqs[i].bin].name);
            }
        }
    }
    return COV_OK;
}

/* The table: from the lowest end of a range (or 0) as far as ends lie near. */
static int make_dense(cov_data *data, cov_lookup *look, cov_error *err) {
    int64_t base = 0;
    int64_t last = look->mask_count > 0 ? 63 : 0;
    bool any = look->mask_count > 0;
    for (uint32_t i = 0; i < look->span_count; i++) {
        const cov_span *s = &look->spans[i];
        for (int end = 0; end < 2; end++) {
            const int64_t v = end == 0 ? s->lo : s->hi;
            if (v < -FAR || v > FAR) {
                continue;
            }
            if (!any) {
                base = v;
                last = v;
                any = true;
            }
            base = v < base && last - DENSE_MAX < v ? v : base;
            last = v > last && v < base + DENSE_MAX ? v : last;
        }
    }
    if (!any) {
        return COV_OK;
    }
    look->base = base;
    look->width = (uint32_t)(last - base + 1);
    look->dense = cov_alloc(data, look->width, sizeof *look->dense);
    if (look->dense == NULL) {
        return cov_no_memory(err);
    }
    for (uint32_t i = 0; i < look->width; i++) {
        look->dense[i] = (uint16_t)cov_find_slow(look, base + i);
    }
    return COV_OK;
}

static int by_last(const void *a, const void *b) {
    const cov_seq *x = a;
    const cov_seq *y = b;
    return x->step[0] != y->step[0] ? (x->step[0] < y->step[0] ? -1 : 1) : x->bin < y->bin ? -1 : x->bin > y->bin;
}

int cov_compile(cov_data *data, const char *where, const cov_data_point *point, cov_lookup *look, cov_error *err) {
    if (look->span_count > 0) {
        qsort(look->spans, look->span_count, sizeof *look->spans, by_low);
    }
    int rc = check(where, point, look, err);
    if (rc == COV_OK) {
        rc = make_dense(data, look, err);
    }
    if (rc != COV_OK) {
        return rc;
    }
    look->crossed = cov_alloc(data, point->bin_count, sizeof *look->crossed);
    look->seq_from = cov_alloc(data, (size_t)point->bin_count + 1, sizeof *look->seq_from);
    if (look->crossed == NULL || look->seq_from == NULL) {
        return cov_no_memory(err);
    }
    uint32_t next = 0;
    for (uint32_t b = 0; b < point->bin_count; b++) {
        look->crossed[b] = cov_is_crossed(&point->bins[b]) ? next++ : UINT32_MAX;
    }
    if (look->seq_count > 0) {
        qsort(look->seqs, look->seq_count, sizeof *look->seqs, by_last);
    }
    uint32_t at = 0;
    for (uint32_t b = 0; b <= point->bin_count; b++) {
        while (at < look->seq_count && look->seqs[at].step[0] < b + 1) {
            at++;
        }
        look->seq_from[b] = at;
    }
    return COV_OK;
}
