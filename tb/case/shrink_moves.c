/* shrink_moves.c - candidates of the shrinker: which values are simpler, and which knobs move together. */
#include "hash.h"
#include "shrink_priv.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED_RANGE (INT64_C(1) << 24) /* a knob with so many values is a seed, no size */
#define SEED_VALUES 4
#define DEEPEST 6u /* sizes are reduced to 1/2 .. 1/64 at once */

/* ---- memo and list ---- */

static uint64_t hash_of(const tb_knobs *knobs) {
    uint64_t h = TB_HASH_INIT;
    for (size_t i = 0; i < knobs->count; i++) {
        h = tb_hash_u64(h, (uint64_t)knobs->value[i]);
    }
    return tb_hash_final(h) | 1; /* 0 marks free slots */
}

/* The slot of a hash, or the free one where it belongs. size is not 0. */
static uint64_t *slot_of(uint64_t *slot, size_t size, uint64_t hash) {
    size_t at = (hash >> 1) & (size - 1);
    while (slot[at] != 0 && slot[at] != hash) {
        at = (at + 1) & (size - 1);
    }
    return &slot[at];
}

static bool was_tried(const shrinker *s, const tb_knobs *knobs) {
    return s->memo.size != 0 && *slot_of(s->memo.slot, s->memo.size, hash_of(knobs)) != 0;
}

void shrink_memo_put(shrinker *s, const tb_knobs *knobs) {
    shrink_memo *m = &s->memo;
    if (m->used * 2 >= m->size) {
        const size_t size = m->size == 0 ? 1024 : m->size * 2;
        uint64_t *slot = (uint64_t *)calloc(size, sizeof *slot);
        if (slot == NULL) {
            s->failed = true;
            return;
        }
        for (size_t i = 0; i < m->size; i++) {
            if (m->slot[i] != 0) {
                *slot_of(slot, size, m->slot[i]) = m->slot[i];
            }
        }
        free(m->slot);
        m->slot = slot;
        m->size = size;
    }
    const uint64_t hash = hash_of(knobs);
    uint64_t *slot = slot_of(m->slot, m->size, hash);
    m->used += *slot == 0;
    *slot = hash;
}

void shrink_list_free(shrink_list *list) {
    free(list->at);
    free(list->cost);
    free(list->tag);
    *list = (shrink_list){0};
}

static bool grow(shrink_list *l) {
    return rep_more(&l->at, l->count, sizeof *l->at) && rep_more(&l->cost, l->count, sizeof *l->cost) &&
           rep_more(&l->tag, l->count, sizeof *l->tag);
}

static bool legal(const shrinker *s, const tb_knobs *knobs) {
    return s->cfg->legal == NULL || s->cfg->legal(s->cfg->ctx, knobs);
}

static void settle(const shrinker *s, tb_knobs *knobs) {
    if (s->cfg->settle != NULL) {
        s->cfg->settle(s->cfg->ctx, knobs);
    }
}

static bool is_number(const tb_knob *k) {
    return tb_knob_kind_of(k) != TB_KNOB_ENUM;
}

static bool is_seed(const tb_knob *k) {
    return k->hi - k->lo >= SEED_RANGE;
}

static const tb_shrink_wish *wish_of(const shrinker *s, size_t knob) {
    for (size_t i = 0; i < s->cfg->wish_count; i++) {
        const tb_shrink_wish *w = &s->cfg->wishes[i];
        if (strcmp(w->knob, s->best->table[knob].name) == 0 &&
            (w->count == NULL || tb_knobs_find(s->best, w->count) >= 0)) {
            return &s->cfg->wishes[i];
        }
    }
    return NULL;
}

static double cost_of(const shrinker *s, const tb_knobs *k) {
    const uint64_t cycles = s->cfg->size != NULL ? s->cfg->size(s->cfg->ctx, k).cycles : 0;
    if (cycles != 0) {
        return (double)cycles;
    }
    double product = 1;
    for (size_t i = 0; i < k->count; i++) {
        product *= is_number(&k->table[i]) && !is_seed(&k->table[i]) && wish_of(s, i) == NULL
                       ? (double)(k->value[i] - k->table[i].lo + 1)
                       : 1;
    }
    return product;
}

static bool kept(const shrinker *s, const char *name) {
    const size_t length = strlen(name);
    for (const char *p = s->cfg->keep; p != NULL && *p != '\0';) {
        const size_t word = strcspn(p, ",");
        if (word == length && strncmp(p, name, length) == 0) {
            return true;
        }
        p += word + (p[word] == ',');
    }
    return false;
}

/* A knob to be kept has changed nevertheless, because it is derived from others. */
static bool moves_kept(const shrinker *s, const tb_knobs *knobs) {
    tb_knobs settled = *s->best;
    settle(s, &settled);
    for (size_t i = 0; i < knobs->count; i++) {
        if (knobs->value[i] != s->best->value[i] && knobs->value[i] != settled.value[i] &&
            kept(s, knobs->table[i].name)) {
            return true;
        }
    }
    return false;
}

/* Append a candidate, unless it changes nothing. */
static void add(shrinker *s, tb_knobs *knobs, size_t tag) {
    shrink_list *l = &s->list;
    settle(s, knobs);
    if (memcmp(knobs->value, s->best->value, knobs->count * sizeof knobs->value[0]) == 0 || was_tried(s, knobs) ||
        moves_kept(s, knobs) || !legal(s, knobs)) {
        return;
    }
    for (size_t i = 0; i < l->count; i++) {
        if (memcmp(knobs->value, l->at[i].value, knobs->count * sizeof knobs->value[0]) == 0) {
            return;
        }
    }
    if (!grow(l)) {
        s->failed = true;
        return;
    }
    l->at[l->count] = *knobs;
    l->cost[l->count] = cost_of(s, knobs);
    l->tag[l->count++] = tag;
}

/* Drop candidates that cost more than `most`; cheap candidates first where they are sorted. */
static void finish(shrinker *s, bool sort, double most) {
    shrink_list *l = &s->list;
    for (size_t i = 1; sort && i < l->count; i++) { /* stable */
        for (size_t j = i; j > 0 && l->cost[j] < l->cost[j - 1]; j--) {
            const tb_knobs at = l->at[j];
            const double cost = l->cost[j];
            const size_t tag = l->tag[j];
            l->at[j] = l->at[j - 1];
            l->cost[j] = l->cost[j - 1];
            l->tag[j] = l->tag[j - 1];
            l->at[j - 1] = at;
            l->cost[j - 1] = cost;
            l->tag[j - 1] = tag;
        }
    }
    size_t kept_count = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->cost[i] <= most) {
            l->at[kept_count] = l->at[i];
            l->tag[kept_count++] = l->tag[i];
        }
    }
    l->count = kept_count;
}

/* ---- order of simplicity ---- */

static int name_index(const tb_shrink_wish *w, const char *name) {
    for (int i = 0; w != NULL && w->order == TB_SHRINK_NAMES && w->names[i] != NULL; i++) {
        if (strcmp(w->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* 0: the simplest value of an ENUM. */
static int64_t enum_rank(const shrinker *s, size_t knob, int64_t value) {
    const tb_knob *k = &s->best->table[knob];
    const tb_shrink_wish *w = wish_of(s, knob);
    const int listed = name_index(w, k->names[value]);
    int64_t rank = 0;
    for (int64_t v = 0; v <= k->hi; v++) {
        const int other = name_index(w, k->names[v]);
        rank += listed >= 0 ? other >= 0 && other < listed : other >= 0 || v < value;
    }
    return rank;
}

static int64_t enum_value(const shrinker *s, size_t knob, int64_t rank) {
    int64_t v = 0;
    while (v < s->best->table[knob].hi && enum_rank(s, knob, v) != rank) {
        v++;
    }
    return v;
}

static unsigned parts_of(const shrinker *s, size_t knob) {
    const tb_shrink_wish *w = wish_of(s, knob);
    const int at = w->count != NULL ? tb_knobs_find(s->best, w->count) : -1;
    unsigned bits = 0;
    while (bits < 63 && s->best->table[knob].hi >> bits != 0) {
        bits++;
    }
    return at >= 0 && s->best->value[at] < (int64_t)bits ? (unsigned)s->best->value[at] : bits;
}

static int64_t simplest(const shrinker *s, size_t knob) {
    const tb_knob *k = &s->best->table[knob];
    const tb_shrink_wish *w = wish_of(s, knob);
    if (!is_number(k)) {
        return enum_value(s, knob, 0);
    }
    if (w != NULL && w->order == TB_SHRINK_UP) {
        return k->hi;
    }
    return w != NULL ? s->best->value[knob] : k->lo; /* of parts no set is the simplest */
}

/* Is it a number that makes the case large? */
static bool is_size(const shrinker *s, size_t knob) {
    const tb_knob *k = &s->best->table[knob];
    if (!is_number(k) || is_seed(k) || wish_of(s, knob) != NULL || s->best->value[knob] <= k->lo || kept(s, k->name)) {
        return false;
    }
    if (s->cfg->size == NULL) {
        return true;
    }
    tb_knobs less = *s->best;
    less.value[knob] = less.value[knob] / 2 > k->lo ? less.value[knob] / 2 : k->lo;
    settle(s, &less);
    return less.value[knob] < s->best->value[knob] && (!legal(s, &less) || cost_of(s, &less) < cost_of(s, s->best));
}

/* ---- moves ---- */

/* value >> shift, not below the lowest; shift DEEPEST + 1: the lowest. */
static int64_t fallen(const shrinker *s, size_t knob, unsigned shift) {
    const int64_t lo = s->best->table[knob].lo;
    const int64_t v = shift > DEEPEST ? lo : s->best->value[knob] >> shift;
    return v > lo ? v : lo;
}

/* Knobs of the same value move together: kernel columns and rows, channels in and out, groups and channels. */
static void size_moves(shrinker *s, const bool *sized, unsigned shift) {
    const size_t count = s->best->count;
    tb_knobs all = *s->best;
    for (size_t i = 0; i < count; i++) {
        all.value[i] = sized[i] ? fallen(s, i, shift) : all.value[i];
    }
    tb_knobs one = all;
    add(s, &one, 0);
    for (size_t i = 0; i < count; i++) {
        if (!sized[i]) {
            continue;
        }
        tb_knobs alone = *s->best, same = *s->best, others = all, different = all;
        for (size_t j = 0; j < count; j++) {
            if (sized[j] && s->best->value[j] == s->best->value[i]) {
                same.value[j] = fallen(s, j, shift);
                different.value[j] = s->best->value[j];
            }
        }
        alone.value[i] = fallen(s, i, shift);
        others.value[i] = s->best->value[i];
        add(s, &alone, i);
        add(s, &same, i);
        add(s, &others, i);
        add(s, &different, i);
    }
}

void shrink_list_sizes(shrinker *s) {
    bool sized[TB_KNOB_MAX] = {false};
    for (size_t i = 0; i < s->best->count; i++) {
        sized[i] = is_size(s, i);
    }
    s->list.count = 0;
    for (unsigned shift = 1; shift <= DEEPEST + 1; shift++) {
        size_moves(s, sized, shift);
    }
    finish(s, true, 0.8 * cost_of(s, s->best));
}

void shrink_list_frills(shrinker *s) {
    size_t frill[TB_KNOB_MAX];
    size_t count = 0;
    s->list.count = 0;
    for (size_t i = 0; i < s->best->count; i++) {
        if (!kept(s, s->best->table[i].name) && s->best->value[i] != simplest(s, i) && !is_size(s, i)) {
            frill[count++] = i;
        }
    }
    for (size_t chunk = count; chunk > 1; chunk = (chunk + 1) / 2) {
        for (size_t from = 0; from < count; from += chunk) {
            tb_knobs less = *s->best;
            for (size_t i = from; i < from + chunk && i < count; i++) {
                less.value[frill[i]] = simplest(s, frill[i]);
            }
            add(s, &less, 0);
        }
    }
    finish(s, false, INFINITY);
}

size_t shrink_order(shrinker *s, size_t order[TB_KNOB_MAX]) {
    double saved[TB_KNOB_MAX];
    const double now = cost_of(s, s->best);
    const size_t count = s->best->count;
    for (size_t i = 0; i < count; i++) {
        tb_knobs less = *s->best;
        less.value[i] = simplest(s, i);
        saved[i] = !kept(s, less.table[i].name) && legal(s, &less) ? now - cost_of(s, &less) : 0;
        size_t at = i;
        for (; at > 0 && saved[i] > saved[order[at - 1]]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    return count;
}

/* One knob to a value, and with it those that are equal to it. */
static void single(shrinker *s, size_t knob, int64_t value) {
    const int64_t before = s->best->value[knob];
    tb_knobs alone = *s->best;
    tb_knobs same = *s->best;
    alone.value[knob] = value;
    add(s, &alone, knob);
    const bool together = before > 2 && value < before && is_number(&same.table[knob]) && wish_of(s, knob) == NULL;
    for (size_t j = 0; j < same.count && together; j++) {
        const tb_knob *k = &same.table[j];
        if (same.value[j] == before && is_number(k) && wish_of(s, j) == NULL && !kept(s, k->name)) {
            same.value[j] = value > k->lo ? value : k->lo;
        }
    }
    same.value[knob] = value;
    add(s, &same, knob);
}

/* The lowest value, then ever smaller fractions of the distance to it. */
static void number_ladder(shrinker *s, size_t knob) {
    const int64_t lo = s->best->table[knob].lo;
    const int64_t v = s->best->value[knob];
    const int64_t way = v - lo;
    if (is_seed(&s->best->table[knob])) {
        for (int64_t i = 0; i < SEED_VALUES && lo + i < v; i++) {
            single(s, knob, lo + i);
        }
        return;
    }
    single(s, knob, lo);
    int64_t before = lo;
    for (unsigned shift = DEEPEST; shift > 0; shift--) {
        const int64_t at = lo + (way >> shift);
        if (at > before) {
            single(s, knob, at);
            before = at;
        }
        if (v >> shift > before) { /* what divided it does so again */
            single(s, knob, v >> shift);
            before = v >> shift;
        }
    }
    for (int64_t step = way / 4; step > 0; step /= 2) {
        single(s, knob, v - step);
    }
}

static void bits_ladder(shrinker *s, size_t knob) {
    const int64_t now = s->best->value[knob];
    const unsigned parts = parts_of(s, knob);
    unsigned live[64];
    unsigned count = 0;
    for (unsigned i = 0; i < parts; i++) {
        if ((now >> i & 1) == 0) {
            live[count++] = i;
        }
    }
    for (unsigned keep = count; keep-- > 0;) { /* one alone, the last ones first */
        int64_t mask = now;
        for (unsigned i = 0; i < count; i++) {
            mask |= i != keep ? INT64_C(1) << live[i] : 0;
        }
        single(s, knob, mask);
    }
    for (unsigned chunk = count / 2; chunk > 0; chunk /= 2) {
        for (unsigned from = 0; from < count; from += chunk) {
            int64_t mask = now;
            for (unsigned i = from; i < from + chunk && i < count; i++) {
                mask |= INT64_C(1) << live[i];
            }
            single(s, knob, mask);
        }
    }
}

static void ladder(shrinker *s, size_t knob) {
    const tb_knob *k = &s->best->table[knob];
    const tb_shrink_wish *w = wish_of(s, knob);
    if (kept(s, k->name)) {
        return;
    }
    if (!is_number(k)) {
        const int64_t now = enum_rank(s, knob, s->best->value[knob]);
        for (int64_t rank = 0; rank < now; rank++) {
            single(s, knob, enum_value(s, knob, rank));
        }
    } else if (w == NULL) {
        if (s->best->value[knob] > k->lo) {
            number_ladder(s, knob);
        }
    } else if (w->order == TB_SHRINK_UP) {
        for (int64_t v = k->hi; v > s->best->value[knob]; v--) {
            single(s, knob, v);
        }
    } else if (w->order == TB_SHRINK_BITS) {
        bits_ladder(s, knob);
    }
}

void shrink_list_single(shrinker *s, const size_t *order, size_t count) {
    s->list.count = 0;
    for (size_t i = 0; i < count; i++) {
        ladder(s, order[i]);
    }
    finish(s, false, INFINITY);
}
