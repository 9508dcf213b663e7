#include "kv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"
#include "report/report.h"

void tb_kv_init(tb_kv *kv) {
    memset(kv, 0, sizeof *kv);
}

void tb_kv_free(tb_kv *kv) {
    for (size_t i = 0; i < kv->count; i++) {
        free(kv->entry[i].key);
        free(kv->entry[i].value);
    }
    free(kv->entry);
    tb_kv_init(kv);
}

static bool key_ok(const char *key, size_t len) {
    if (len == 0 || len > TB_KV_MAX_KEY || key[0] < 'a' || key[0] > 'z') {
        return false;
    }
    for (size_t i = 1; i < len; i++) {
        const char c = key[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) {
            return false;
        }
    }
    return true;
}

/* Control characters would break the one-line forms in which values are printed. */
static bool value_ok(const char *value, size_t len) {
    if (len > TB_KV_MAX_VALUE) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)value[i];
        if (c < 0x20 || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static tb_kv_entry *find(const tb_kv *kv, const char *key, size_t len) {
    for (size_t i = 0; i < kv->count; i++) {
        if (strncmp(kv->entry[i].key, key, len) == 0 && kv->entry[i].key[len] == '\0') {
            return &kv->entry[i];
        }
    }
    return NULL;
}

static int add(tb_kv *kv, const char *key, size_t key_len, const char *value, size_t value_len, unsigned line) {
    if (!rep_more(&kv->entry, kv->count, sizeof *kv->entry)) {
        return -1;
    }
    char *k = strndup(key, key_len);
    char *v = strndup(value, value_len);
    if (k == NULL || v == NULL) {
        free(k);
        free(v);
        return -1;
    }
    kv->entry[kv->count++] = (tb_kv_entry){.key = k, .value = v, .line = line};
    return 0;
}

/* One line without its newline. */
static int parse_line(tb_kv *kv, const char *p, size_t len, unsigned line, char *err, size_t err_size) {
    while (len > 0 && (p[len - 1] == ' ' || p[len - 1] == '\t' || p[len - 1] == '\r')) {
        len--;
    }
    while (len > 0 && (*p == ' ' || *p == '\t')) {
        p++;
        len--;
    }
    if (len == 0 || *p == '#') {
        return 0;
    }
    const char *eq = (const char *)memchr(p, '=', len);
    if (eq == NULL) {
        return opt_fail(err, err_size, "%s:%u: expected key=value", kv->name, line);
    }
    const size_t key_len = (size_t)(eq - p);
    const char *value = eq + 1;
    const size_t value_len = len - key_len - 1;
    if (!key_ok(p, key_len)) {
        return opt_fail(err, err_size, "%s:%u: illegal key, expected [a-z][a-z0-9_]* of at most %u characters",
                        kv->name, line, TB_KV_MAX_KEY);
    }
    if (!value_ok(value, value_len)) {
        return opt_fail(err, err_size, "%s:%u: illegal value of %.*s: control characters or more than %u bytes",
                        kv->name, line, (int)key_len, p, TB_KV_MAX_VALUE);
    }
    const tb_kv_entry *old = find(kv, p, key_len);
    if (old != NULL) {
        return opt_fail(err, err_size, "%s:%u: key %s is already in line %u", kv->name, line, old->key, old->line);
    }
    if (kv->count >= TB_KV_MAX_ENTRIES) {
        return opt_fail(err, err_size, "%s:%u: more than %u keys", kv->name, line, TB_KV_MAX_ENTRIES);
    }
    if (add(kv, p, key_len, value, value_len, line) != 0) {
        return opt_fail(err, err_size, "%s:%u: out of memory", kv->name, line);
    }
    return 0;
}

int tb_kv_parse(tb_kv *kv, const char *text, size_t len, const char *name, char *err, size_t err_size) {
    tb_kv_free(kv);
    snprintf(kv->name, sizeof kv->name, "%s", name);
    if (len > TB_KV_MAX_TEXT) {
        return opt_fail(err, err_size, "%s: longer than %u bytes", kv->name, TB_KV_MAX_TEXT);
    }
    unsigned line = 1;
    size_t at = 0;
    while (at < len) {
        const char *nl = (const char *)memchr(text + at, '\n', len - at);
        const size_t end = nl != NULL ? (size_t)(nl - text) : len;
        if (parse_line(kv, text + at, end - at, line, err, err_size) != 0) {
            tb_kv_free(kv);
            return -1;
        }
        at = end + 1;
        line++;
    }
    return 0;
}

int tb_kv_load(tb_kv *kv, const char *path, char *err, size_t err_size) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return opt_fail(err, err_size, "%s: %s", path, strerror(errno));
    }
    char *text = (char *)malloc((size_t)TB_KV_MAX_TEXT + 1);
    if (text == NULL) {
        fclose(f);
        return opt_fail(err, err_size, "%s: out of memory", path);
    }
    errno = 0;
    const size_t len = fread(text, 1, (size_t)TB_KV_MAX_TEXT + 1, f);
    const bool bad = ferror(f) != 0;
    const int why = errno;
    fclose(f);
    const int rc =
        bad ? opt_fail(err, err_size, "%s: %s", path, strerror(why)) : tb_kv_parse(kv, text, len, path, err, err_size);
    free(text);
    return rc;
}

const char *tb_kv_find(const tb_kv *kv, const char *key) {
    const tb_kv_entry *e = find(kv, key, strlen(key));
    return e != NULL ? e->value : NULL;
}

/* "name:line" or "name" of an entry, for error lines. */
static void place(const tb_kv *kv, const tb_kv_entry *e, char *dst, size_t size) {
    const char *name = kv->name[0] != '\0' ? kv->name : "case";
    if (e != NULL && e->line != 0) {
        snprintf(dst, size, "%s:%u", name, e->line);
    } else {
        snprintf(dst, size, "%s", name);
    }
}

static const tb_kv_entry *require(const tb_kv *kv, const char *key, char *where, size_t where_size, char *err,
                                  size_t err_size) {
    const tb_kv_entry *e = find(kv, key, strlen(key));
    place(kv, e, where, where_size);
    if (e == NULL) {
        opt_fail(err, err_size, "%s: key %s is missing", where, key);
    }
    return e;
}

int tb_kv_get_str(const tb_kv *kv, const char *key, const char **out, char *err, size_t err_size) {
    char where[300];
    const tb_kv_entry *e = require(kv, key, where, sizeof where, err, err_size);
    if (e == NULL) {
        return -1;
    }
    *out = e->value;
    return 0;
}

int tb_parse_i64(const char *text, int64_t *out) {
    const bool neg = text[0] == '-';
    uint64_t v;
    if (!opt_number(text + (neg ? 1 : 0), 0, UINT64_MAX, &v) || v > (uint64_t)INT64_MAX + (neg ? 1u : 0u)) {
        return -1;
    }
    *out = neg ? (int64_t)(0 - v) : (int64_t)v;
    return 0;
}

int tb_kv_get_u64(const tb_kv *kv, const char *key, uint64_t lo, uint64_t hi, uint64_t *out, char *err,
                  size_t err_size) {
    char where[300];
    const tb_kv_entry *e = require(kv, key, where, sizeof where, err, err_size);
    if (e == NULL) {
        return -1;
    }
    if (!opt_number(e->value, lo, hi, out)) {
        return opt_fail(err, err_size, "%s: %s=%.60s, expected a whole number from %" PRIu64 " to %" PRIu64, where, key,
                        e->value, lo, hi);
    }
    return 0;
}

int tb_kv_set(tb_kv *kv, const char *key, const char *value) {
    const size_t key_len = strlen(key);
    const size_t value_len = strlen(value);
    if (!key_ok(key, key_len) || !value_ok(value, value_len)) {
        return -1;
    }
    tb_kv_entry *e = find(kv, key, key_len);
    if (e == NULL) {
        return add(kv, key, key_len, value, value_len, 0);
    }
    char *v = strdup(value);
    if (v == NULL) {
        return -1;
    }
    free(e->value);
    e->value = v;
    e->line = 0;
    return 0;
}

int tb_kv_set_i64(tb_kv *kv, const char *key, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return tb_kv_set(kv, key, text);
}

int tb_kv_set_u64(tb_kv *kv, const char *key, uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return tb_kv_set(kv, key, text);
}

int tb_kv_set_hex(tb_kv *kv, const char *key, uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "0x%016" PRIx64, value);
    return tb_kv_set(kv, key, text);
}

int tb_kv_write(const tb_kv *kv, FILE *file) {
    for (size_t i = 0; i < kv->count; i++) {
        if (fprintf(file, "%s=%s\n", kv->entry[i].key, kv->entry[i].value) < 0) {
            return -1;
        }
    }
    return ferror(file) != 0 ? -1 : 0;
}

int tb_kv_save(const tb_kv *kv, const char *path, char *err, size_t err_size) {
    rep_file f;
    int error = rep_file_open(&f, path);
    if (error != 0) {
        return opt_fail(err, err_size, "%s: %s", path, strerror(error));
    }
    (void)tb_kv_write(kv, f.file); /* an error stays in the file */
    error = rep_file_close(&f, false);
    return error == 0 ? 0 : opt_fail(err, err_size, "%s: cannot write: %s", path, strerror(error));
}
