#include "knob.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <string.h>

void tb_knobs_init(tb_knobs *knobs, const tb_knob *table, size_t count) {
    memset(knobs, 0, sizeof *knobs);
    knobs->table = table;
    knobs->count = count < TB_KNOB_MAX ? count : TB_KNOB_MAX;
    for (size_t i = 0; i < knobs->count; i++) {
        knobs->value[i] = table[i].lo;
    }
}

static int find_len(const tb_knobs *knobs, const char *name, size_t len) {
    for (size_t i = 0; i < knobs->count; i++) {
        if (strncmp(knobs->table[i].name, name, len) == 0 && knobs->table[i].name[len] == '\0') {
            return (int)i;
        }
    }
    return -1;
}

int tb_knobs_find(const tb_knobs *knobs, const char *name) {
    return find_len(knobs, name, strlen(name));
}

void tb_knob_range_text(const tb_knob *knob, char *dst, size_t size) {
    if (tb_knob_kind_of(knob) != TB_KNOB_ENUM) {
        snprintf(dst, size, "%" PRId64 "..%" PRId64, knob->lo, knob->hi);
        return;
    }
    size_t at = 0;
    dst[0] = '\0';
    for (int64_t i = 0; i <= knob->hi && at < size; i++) {
        const int n = snprintf(dst + at, size - at, "%s%s", i == 0 ? "" : "|", knob->names[i]);
        at += n > 0 ? (size_t)n : 0;
    }
}

static int bad_value(const tb_knob *k, const char *value, char *err, size_t err_size) {
    char range[256];
    tb_knob_range_text(k, range, sizeof range);
    return opt_fail(err, err_size, "%s=%.60s: expected %s (%s)", k->name, value, range, k->help);
}

static int parse_value(const tb_knob *k, const char *text, int64_t *out) {
    if (tb_knob_kind_of(k) == TB_KNOB_ENUM) {
        for (int64_t i = 0; i <= k->hi; i++) {
            if (strcmp(k->names[i], text) == 0) {
                *out = i;
                return 0;
            }
        }
        return -1;
    }
    int64_t v;
    if (tb_parse_i64(text, &v) != 0 || v < k->lo || v > k->hi) {
        return -1;
    }
    *out = v;
    return 0;
}

static int unknown(const tb_knobs *knobs, const char *name, size_t len, char *err, size_t err_size) {
    size_t at = 0;
    const int n = snprintf(err, err_size, "unknown knob %.*s, expected one of:", (int)(len < 60 ? len : 60), name);
    at += n > 0 ? (size_t)n : 0;
    for (size_t i = 0; i < knobs->count && at < err_size; i++) {
        const int m = snprintf(err + at, err_size - at, " %s", knobs->table[i].name);
        at += m > 0 ? (size_t)m : 0;
    }
    return -1;
}

int tb_knobs_pin_value(tb_knobs *knobs, const char *name, const char *value, char *err, size_t err_size) {
    const int i = tb_knobs_find(knobs, name);
    if (i < 0) {
        return unknown(knobs, name, strlen(name), err, err_size);
    }
    int64_t v;
    if (parse_value(&knobs->table[i], value, &v) != 0) {
        return bad_value(&knobs->table[i], value, err, err_size);
    }
    knobs->value[i] = v;
    knobs->pinned[i] = true;
    return 0;
}

int tb_knobs_pin(tb_knobs *knobs, const char *text, char *err, size_t err_size) {
    const char *eq = strchr(text, '=');
    if (eq == NULL) {
        return opt_fail(err, err_size, "%.60s: expected name=value", text);
    }
    const size_t len = (size_t)(eq - text);
    char name[TB_KV_MAX_KEY + 1];
    if (len == 0 || len > TB_KV_MAX_KEY || find_len(knobs, text, len) < 0) {
        return unknown(knobs, text, len, err, err_size);
    }
    memcpy(name, text, len);
    name[len] = '\0';
    return tb_knobs_pin_value(knobs, name, eq + 1, err, err_size);
}

static int64_t draw_one(const tb_knob *k, tb_rng rng, int64_t lo, int64_t hi) {
    switch (tb_knob_kind_of(k)) {
    case TB_KNOB_SMALL: {
        const uint64_t where = tb_rng_range(&rng, 0, 15);
        if (where < 2) {
            return where == 0 ? lo : hi;
        }
        return (int64_t)((uint64_t)lo + tb_rng_small(&rng, 0, (uint64_t)hi - (uint64_t)lo));
    }
    case TB_KNOB_ENUM:
    case TB_KNOB_WEIGHTED:
        if (k->weight != NULL) {
            return lo + (int64_t)tb_rng_weighted(&rng, k->weight + (lo - k->lo), (size_t)(hi - lo) + 1);
        }
        break;
    case TB_KNOB_UNIFORM:
    case TB_KNOB_LATER: /* a flag, never a kind */
        break;
    }
    return tb_rng_range_i64(&rng, lo, hi);
}

void tb_knobs_draw(tb_knobs *knobs, uint64_t seed) {
    for (size_t i = 0; i < knobs->count; i++) {
        const tb_knob *k = &knobs->table[i];
        if (!knobs->pinned[i]) {
            knobs->value[i] = draw_one(k, tb_rng_stream(seed, k->name), k->lo, k->hi);
        }
    }
}

int64_t tb_knobs_draw_in(tb_knobs *knobs, const char *name, uint64_t seed, int64_t lo, int64_t hi) {
    const int i = tb_knobs_find(knobs, name);
    if (i < 0) {
        return 0;
    }
    const tb_knob *k = &knobs->table[i];
    if (!knobs->pinned[i]) {
        lo = lo < k->lo ? k->lo : lo > k->hi ? k->hi : lo;
        hi = hi > k->hi ? k->hi : hi < lo ? lo : hi;
        knobs->value[i] = draw_one(k, tb_rng_stream(seed, k->name), lo, hi);
    }
    return knobs->value[i];
}

int64_t tb_knobs_get(const tb_knobs *knobs, const char *name) {
    const int i = tb_knobs_find(knobs, name);
    return i < 0 ? 0 : knobs->value[i];
}

const char *tb_knobs_get_name(const tb_knobs *knobs, const char *name) {
    const int i = tb_knobs_find(knobs, name);
    return i < 0 || tb_knob_kind_of(&knobs->table[i]) != TB_KNOB_ENUM ? NULL : knobs->table[i].names[knobs->value[i]];
}

bool tb_knobs_is_pinned(const tb_knobs *knobs, const char *name) {
    const int i = tb_knobs_find(knobs, name);
    return i >= 0 && knobs->pinned[i];
}

int tb_knobs_set(tb_knobs *knobs, const char *name, int64_t value) {
    const int i = tb_knobs_find(knobs, name);
    if (i < 0 || value < knobs->table[i].lo || value > knobs->table[i].hi) {
        return -1;
    }
    knobs->value[i] = value;
    return 0;
}

int tb_knobs_to_kv(const tb_knobs *knobs, tb_kv *kv) {
    for (size_t i = 0; i < knobs->count; i++) {
        const tb_knob *k = &knobs->table[i];
        const int rc = tb_knob_kind_of(k) == TB_KNOB_ENUM ? tb_kv_set(kv, k->name, k->names[knobs->value[i]])
                                                          : tb_kv_set_i64(kv, k->name, knobs->value[i]);
        if (rc != 0) {
            return -1;
        }
    }
    return 0;
}

int tb_knobs_from_kv(tb_knobs *knobs, const tb_kv *kv, char *err, size_t err_size) {
    for (size_t i = 0; i < knobs->count; i++) {
        const tb_knob *k = &knobs->table[i];
        const char *text;
        if (((unsigned)k->kind & (unsigned)TB_KNOB_LATER) != 0 && tb_kv_find(kv, k->name) == NULL) {
            knobs->value[i] = k->lo;
            continue;
        }
        if (tb_kv_get_str(kv, k->name, &text, err, err_size) != 0) {
            return -1;
        }
        int64_t v;
        if (parse_value(k, text, &v) != 0) {
            return bad_value(k, text, err, err_size);
        }
        knobs->value[i] = v;
    }
    return 0;
}

void tb_knobs_list(const tb_knob *table, size_t count, FILE *file) {
    for (size_t i = 0; i < count; i++) {
        char range[256];
        tb_knob_range_text(&table[i], range, sizeof range);
        fprintf(file, "  %-12s %-24s %s\n", table[i].name, range, table[i].help);
    }
}
