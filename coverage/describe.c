/* describe.c - from the static tables of a covergroup to names and counters; illegal descriptions are refused here. */
#include "priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A coverpoint while its bins grow. */
typedef struct work {
    cov_data *data;
    const char *group;
    const cov_point *text;
    cov_data_point *point;
    cov_lookup *look;
    cov_error *err;
    size_t span_room;
    const char *steps[COV_BINS_MAX]; /* of transitions, until all names are known */
} work;

static __attribute__((format(printf, 2, 3))) int refuse(const work *w, const char *format, ...) {
    char what[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return cov_fail(w->err, COV_BAD_MODEL, "%s.%s: %s", w->group, w->point->name, what);
}

/* "lo..hi", "v", with open ends */
static void range_text(char *dst, size_t size, int64_t lo, int64_t hi) {
    if (lo == hi) {
        (void)snprintf(dst, size, "%" PRId64, lo);
    } else if (lo == COV_MIN && hi == COV_MAX) {
        (void)snprintf(dst, size, "any");
    } else if (lo == COV_MIN) {
        (void)snprintf(dst, size, "..%" PRId64, hi);
    } else if (hi == COV_MAX) {
        (void)snprintf(dst, size, "%" PRId64 "..", lo);
    } else {
        (void)snprintf(dst, size, "%" PRId64 "..%" PRId64, lo, hi);
    }
}

/* The hint with each % replaced, and the group in front of a leading colon. */
static const char *make_hint(const work *w, const char *hint, const char *value) {
    char text[200];
    size_t at = 0;
    if (hint == NULL) {
        return "";
    }
    if (hint[0] == ':') {
        at = (size_t)snprintf(text, sizeof text, "%s", w->group);
    }
    for (; *hint != '\0' && at + 1 < sizeof text; hint++) {
        if (*hint == '%') {
            for (const char *v = value; *v != '\0' && at + 1 < sizeof text; v++) {
                text[at++] = *v;
            }
        } else {
            text[at++] = *hint;
        }
    }
    text[at] = '\0';
    return cov_text(w->data, text, at);
}

/* One more bin; -1 in *index is never seen by the caller. sample: replaces % in its hint. */
static int add_bin(work *w, const cov_bin *b, const char *name, const char *values, const char *sample,
                   uint32_t *index) {
    cov_data_point *point = w->point;
    const char *hint = b->hint != NULL ? b->hint : b->role == COV_COUNTED ? w->text->hint : NULL;
    if (name == NULL || !cov_is_name(name)) {
        return refuse(w, "bin %u needs a name of 1 to 120 printable characters without | ! \"", point->bin_count + 1);
    }
    if (point->bin_count >= COV_BINS_MAX) {
        return refuse(w, "more than %u bins", COV_BINS_MAX);
    }
    for (uint32_t i = 0; i < point->bin_count; i++) {
        if (strcmp(point->bins[i].name, name) == 0) {
            return refuse(w, "two bins have the name %s", name);
        }
    }
    if (b->role == COV_IGNORED && (b->why == NULL || b->why[0] == '\0')) {
        return refuse(w, "bin %s is ignored without a reason", name);
    }
    if ((b->why != NULL && !cov_is_line(b->why, 300)) || (hint != NULL && !cov_is_line(hint, 100))) {
        return refuse(w, "bin %s: reasons and hints are one line (300, 100 bytes)", name);
    }
    cov_data_bin *bin = &point->bins[point->bin_count];
    *bin = (cov_data_bin){.role = b->role, .rank = point->bin_count, .steps = b->kind == COV_KIND_STEPS};
    bin->goal = b->goal != 0 ? b->goal : w->text->goal != 0 ? w->text->goal : 1;
    bin->name = cov_text(w->data, name, strlen(name));
    bin->values = cov_text(w->data, values, strlen(values));
    bin->why = cov_text(w->data, b->why == NULL ? "" : b->why, b->why == NULL ? 0 : strlen(b->why));
    bin->hint = make_hint(w, hint, sample);
    if (bin->name == NULL || bin->values == NULL || bin->why == NULL || bin->hint == NULL) {
        return cov_no_memory(w->err);
    }
    *index = point->bin_count++;
    return COV_OK;
}

static int add_span(work *w, uint32_t bin, int64_t lo, int64_t hi) {
    if (lo > hi) {
        return refuse(w, "bin %s is empty: %" PRId64 " > %" PRId64, w->point->bins[bin].name, lo, hi);
    }
    if (w->look->span_count == w->span_room) {
        const size_t room = w->span_room == 0 ? 16 : w->span_room * 2;
        cov_span *more = cov_alloc(w->data, room, sizeof *more);
        if (more == NULL) {
            return cov_no_memory(w->err);
        }
        if (w->look->span_count > 0) {
            memcpy(more, w->look->spans, w->look->span_count * sizeof *more);
        }
        w->look->spans = more;
        w->span_room = room;
    }
    w->look->spans[w->look->span_count++] = (cov_span){lo, hi, bin};
    return COV_OK;
}

static int add_range(work *w, const cov_bin *b, const char *name, int64_t lo, int64_t hi, const char *sample) {
    char values[64];
    char low[32];
    uint32_t bin = 0;
    range_text(values, sizeof values, lo, hi);
    (void)snprintf(low, sizeof low, "%" PRId64, lo == COV_MIN ? hi : lo);
    const int rc = add_bin(w, b, name, values, sample == NULL ? low : sample, &bin);
    return rc != COV_OK ? rc : add_span(w, bin, lo, hi);
}

static int add_each(work *w, const cov_bin *b) {
    char name[160];
    if (b->lo > b->hi || (uint64_t)b->hi - (uint64_t)b->lo >= COV_BINS_MAX) {
        return refuse(w, "bins for each of %" PRId64 "..%" PRId64 ": 1 to %u of them", b->lo, b->hi, COV_BINS_MAX);
    }
    for (int64_t v = b->lo;; v++) {
        (void)snprintf(name, sizeof name, "%s%" PRId64, b->name == NULL ? "" : b->name, v);
        const int rc = add_range(w, b, name, v, v, NULL);
        if (rc != COV_OK || v == b->hi) {
            return rc;
        }
    }
}

static int add_pow2(work *w, const cov_bin *b) {
    char name[160];
    char values[64];
    if (b->lo < 1 || b->lo > b->hi) {
        return refuse(w, "bins by powers of two: 1 <= %" PRId64 " <= %" PRId64 " does not hold", b->lo, b->hi);
    }
    for (int64_t v = b->lo;;) {
        const int shift = 64 - __builtin_clzll((uint64_t)v);
        const int64_t end = shift >= 63 || (INT64_C(1) << shift) - 1 > b->hi ? b->hi : (INT64_C(1) << shift) - 1;
        range_text(values, sizeof values, v, end);
        (void)snprintf(name, sizeof name, "%s%s", b->name == NULL ? "" : b->name, values);
        const int rc = add_range(w, b, name, v, end, NULL);
        if (rc != COV_OK || end == b->hi) {
            return rc;
        }
        v = end + 1;
    }
}

static int add_set(work *w, const cov_bin *b) {
    char values[200] = "";
    char low[32];
    uint32_t bin = 0;
    size_t at = 0;
    if (b->set == NULL || b->count == 0) {
        return refuse(w, "bin %s is empty: a set without values", b->name == NULL ? "?" : b->name);
    }
    for (uint32_t i = 0; i < b->count && at < 160; i++) {
        at += (size_t)snprintf(values + at, sizeof values - at, "%s%" PRId64, i == 0 ? "" : ",", b->set[i]);
    }
    if (at >= 160) { /* long sets are also distinguished by their values */
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (uint32_t i = 0; i < b->count; i++) {
            hash = (hash ^ (uint64_t)b->set[i]) * UINT64_C(0x100000001b3);
        }
        (void)snprintf(values + 120, sizeof values - 120, ".. (%u values, %016" PRIx64 ")", b->count, hash);
    }
    (void)snprintf(low, sizeof low, "%" PRId64, b->set[0]);
    int rc = add_bin(w, b, b->name, values, low, &bin);
    for (uint32_t i = 0; rc == COV_OK && i < b->count; i++) {
        rc = add_span(w, bin, b->set[i], b->set[i]);
    }
    return rc;
}

static int add_names(work *w, const cov_bin *b) {
    int rc = COV_OK;
    if (b->names == NULL || b->count == 0) {
        return refuse(w, "a table of names without a name");
    }
    for (uint32_t i = 0; rc == COV_OK && i < b->count; i++) {
        if (b->names[i] != NULL) {
            rc = add_range(w, b, b->names[i], i, i, b->names[i]);
        }
    }
    return rc;
}

static int add_mask(work *w, const cov_bin *b) {
    char values[64];
    char low[32];
    uint32_t bin = 0;
    (void)snprintf(values, sizeof values, "&0x%" PRIx64 "=0x%" PRIx64, (uint64_t)b->lo, (uint64_t)b->hi);
    (void)snprintf(low, sizeof low, "%" PRId64, b->hi);
    if (b->lo < 0 || b->hi < 0 || (b->hi & ~b->lo) != 0) {
        return refuse(w, "bin %s is empty: no value has %s", b->name == NULL ? "?" : b->name, values);
    }
    const int rc = add_bin(w, b, b->name, values, low, &bin);
    if (rc == COV_OK) {
        w->look->masks[w->look->mask_count++] = (cov_mask){b->lo, b->hi, bin};
    }
    return rc;
}

static int add_steps(work *w, const cov_bin *b) {
    uint32_t bin = 0;
    if (b->steps == NULL || !cov_is_line(b->steps, 200)) {
        return refuse(w, "a transition needs its steps: \"a => b\"");
    }
    const int rc = add_bin(w, b, b->name == NULL ? b->steps : b->name, b->steps, "", &bin);
    if (rc == COV_OK) {
        w->steps[bin] = b->steps;
    }
    return rc;
}

static int add_default(work *w, const cov_bin *b) {
    uint32_t bin = 0;
    const int rc = add_bin(w, b, b->name, "*", "", &bin);
    if (rc == COV_OK && w->look->fallback != 0) {
        return refuse(w, "bins %s and %s are both the default", w->point->bins[w->look->fallback - 1].name, b->name);
    }
    w->look->fallback = bin + 1;
    return rc;
}

/* "a => b => c" with the names of other bins. */
static int resolve(work *w, uint32_t bin) {
    cov_seq *seq = &w->look->seqs[w->look->seq_count];
    uint16_t steps[COV_STEPS_MAX];
    const char *at = w->steps[bin];
    seq->bin = bin;
    for (bool more = true; more;) {
        const char *end = strstr(at, "=>");
        size_t length = end == NULL ? strlen(at) : (size_t)(end - at);
        more = end != NULL;
        const char *name = at;
        for (; length > 0 && *name == ' '; name++, length--) {
        }
        for (; length > 0 && name[length - 1] == ' '; length--) {
        }
        uint32_t b = 0;
        while (b < w->point->bin_count && (w->point->bins[b].steps || strlen(w->point->bins[b].name) != length ||
                                           memcmp(w->point->bins[b].name, name, length) != 0)) {
            b++;
        }
        if (b == w->point->bin_count) {
            return refuse(w, "transition %s: no bin has the name '%.*s'", w->point->bins[bin].name, (int)length, name);
        }
        if (seq->count == COV_STEPS_MAX) {
            return refuse(w, "transition %s: more than %u steps", w->point->bins[bin].name, COV_STEPS_MAX);
        }
        steps[seq->count++] = (uint16_t)(b + 1);
        at = end == NULL ? at : end + 2;
    }
    if (seq->count < 2) {
        return refuse(w, "transition %s is empty: it needs two steps", w->point->bins[bin].name);
    }
    for (uint32_t i = 0; i < seq->count; i++) {
        seq->step[i] = steps[seq->count - 1 - i];
    }
    w->look->seq_count++;
    return COV_OK;
}

/* Bins that a line of the table becomes, at most. */
static uint64_t bins_of(const cov_bin *b) {
    switch (b->kind) {
    case COV_KIND_EACH:
        return b->hi < b->lo ? 0 : (uint64_t)b->hi - (uint64_t)b->lo + 1;
    case COV_KIND_POW2:
        return 64;
    case COV_KIND_NAMES:
        return b->count;
    default:
        return 1;
    }
}

static int add_line(work *w, const cov_bin *b) {
    switch (b->kind) {
    case COV_KIND_RANGE:
        return add_range(w, b, b->name, b->lo, b->hi, NULL);
    case COV_KIND_EACH:
        return add_each(w, b);
    case COV_KIND_POW2:
        return add_pow2(w, b);
    case COV_KIND_SET:
        return add_set(w, b);
    case COV_KIND_NAMES:
        return add_names(w, b);
    case COV_KIND_MASK:
        return add_mask(w, b);
    case COV_KIND_STEPS:
        return add_steps(w, b);
    case COV_KIND_DEFAULT:
        return add_default(w, b);
    }
    return refuse(w, "a bin of an unknown kind");
}

static int describe_point(work *w) {
    uint64_t room = 0;
    int rc = COV_OK;
    for (uint32_t i = 0; i < w->text->bin_count; i++) {
        room += bins_of(&w->text->bins[i]);
        room = room > COV_BINS_MAX ? COV_BINS_MAX : room;
    }
    if (w->text->bug == NULL || w->text->bug[0] == '\0' || !cov_is_line(w->text->bug, 300)) {
        return refuse(w, "a coverpoint says in one line which bug would hide behind its holes");
    }
    if (w->text->bin_count == 0) {
        return refuse(w, "no bins");
    }
    w->point->bins = cov_alloc(w->data, room + 1, sizeof *w->point->bins);
    w->look->masks = cov_alloc(w->data, w->text->bin_count, sizeof *w->look->masks);
    w->look->seqs = cov_alloc(w->data, w->text->bin_count, sizeof *w->look->seqs);
    w->point->bug = cov_text(w->data, w->text->bug, strlen(w->text->bug));
    if (w->point->bins == NULL || w->look->masks == NULL || w->look->seqs == NULL || w->point->bug == NULL) {
        return cov_no_memory(w->err);
    }
    for (uint32_t i = 0; rc == COV_OK && i < w->text->bin_count; i++) {
        rc = add_line(w, &w->text->bins[i]);
    }
    for (uint32_t b = 0; rc == COV_OK && b < w->point->bin_count; b++) {
        rc = w->steps[b] == NULL ? COV_OK : resolve(w, b);
    }
    return rc == COV_OK ? cov_compile(w->data, w->group, w->point, w->look, w->err) : rc;
}

/* describe_cross.c */
int cov_describe_cross(cov_data *data, cov_data_group *group, cov_data_cross *cross, const cov_cross *text,
                       cov_error *err);

static bool name_taken(const cov_data_group *group, uint32_t points, uint32_t crosses, const char *name) {
    for (uint32_t i = 0; i < points; i++) {
        if (strcmp(group->points[i].name, name) == 0) {
            return true;
        }
    }
    for (uint32_t i = 0; i < crosses; i++) {
        if (strcmp(group->crosses[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int take_name(cov_data *data, const cov_data_group *group, bool cross, uint32_t index, const char *name,
                     const char **place, cov_error *err) {
    if (name == NULL || !cov_is_word(name)) {
        return cov_fail(err, COV_BAD_MODEL, "%s: %s %u needs a name of letters, digits, _ and -", group->name,
                        cross ? "cross" : "coverpoint", index + 1);
    }
    if (name_taken(group, cross ? group->point_count : index, cross ? index : 0, name)) {
        return cov_fail(err, COV_BAD_MODEL, "%s: two coverpoints or crosses have the name %s", group->name, name);
    }
    *place = cov_text(data, name, strlen(name));
    return *place == NULL ? cov_no_memory(err) : COV_OK;
}

static uint32_t weight_of(uint32_t weight) {
    return weight == 0 ? 1 : weight == COV_NO_WEIGHT ? 0 : weight;
}

int cov_describe(cov_data *data, cov_data_group *group, const cov_group *text, cov_lookup *lookups, cov_error *err) {
    if (text->about == NULL || !cov_is_line(text->about, 300)) {
        return cov_fail(err, COV_BAD_MODEL, "%s: a group says in one line what it is about", group->name);
    }
    group->about = cov_text(data, text->about, strlen(text->about));
    group->weight = weight_of(text->weight);
    group->points = cov_alloc(data, text->point_count, sizeof *group->points);
    group->crosses = cov_alloc(data, text->cross_count, sizeof *group->crosses);
    if (group->about == NULL || group->points == NULL || group->crosses == NULL) {
        return cov_no_memory(err);
    }
    if (text->point_count == 0) {
        return cov_fail(err, COV_BAD_MODEL, "%s: no coverpoints", group->name);
    }
    group->point_count = text->point_count;
    group->cross_count = text->cross_count;
    int rc = COV_OK;
    for (uint32_t p = 0; rc == COV_OK && p < text->point_count; p++) {
        work *w = calloc(1, sizeof *w);
        if (w == NULL) {
            return cov_no_memory(err);
        }
        cov_data_point *point = &group->points[p];
        *w = (work){.data = data,
                    .group = group->name,
                    .text = &text->points[p],
                    .point = point,
                    .look = &lookups[p],
                    .err = err};
        point->rank = p;
        point->weight = weight_of(text->points[p].weight);
        rc = take_name(data, group, false, p, text->points[p].name, &point->name, err);
        rc = rc == COV_OK ? describe_point(w) : rc;
        free(w);
    }
    for (uint32_t c = 0; rc == COV_OK && c < text->cross_count; c++) {
        cov_data_cross *cross = &group->crosses[c];
        cross->rank = c;
        cross->weight = weight_of(text->crosses[c].weight);
        rc = take_name(data, group, true, c, text->crosses[c].name, &cross->name, err);
        rc = rc == COV_OK ? cov_describe_cross(data, group, cross, &text->crosses[c], err) : rc;
    }
    return rc;
}
