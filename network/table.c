/* table.c - reader and writer of ncnn's calibration tables. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "report/report.h"

#define WEIGHTS_SUFFIX "_param_0"
#define MAX_KEY 300u
#define MAX_LINES (2 * NET_MAX_LAYERS)

typedef struct table_reader {
    const char *name;
    uint32_t line;
    const char *at;
    const char *end; /* of the line */
    net_error *err;
} table_reader;

#define TABLE_BAD(r, format, ...)                                                                                      \
    net_fail((r)->err, NET_ERR_FORMAT, "%.150s:%u: " format, (r)->name, (r)->line, __VA_ARGS__)

void net_table_free(net_table *table) {
    if (table == NULL) {
        return;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        free(table->line[i].key);
        free(table->line[i].scale);
    }
    free(table->line);
    free(table->order);
    memset(table, 0, sizeof *table);
}

/* First index in sorted order whose key is not below this one. */
static uint32_t lower_bound(const net_table *table, const char *key) {
    uint32_t lo = 0;
    uint32_t hi = table->count;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (strcmp(table->line[table->order[middle]].key, key) < 0) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    return lo;
}

static const net_table_line *find_key(const net_table *table, const char *key) {
    uint32_t at = lower_bound(table, key);
    bool found = at < table->count && strcmp(table->line[table->order[at]].key, key) == 0;
    return found ? &table->line[table->order[at]] : NULL;
}

static bool make_key(char key[MAX_KEY], const char *layer, bool weights) {
    return (size_t)snprintf(key, MAX_KEY, "%s%s", layer, weights ? WEIGHTS_SUFFIX : "") < MAX_KEY;
}

const net_table_line *net_table_find(const net_table *table, const char *layer, bool weights) {
    char key[MAX_KEY];
    return make_key(key, layer, weights) ? find_key(table, key) : NULL;
}

static bool remove_key(net_table *table, const char *key) {
    const net_table_line *line = find_key(table, key);
    if (line == NULL) {
        return false;
    }
    uint32_t number = (uint32_t)(line - table->line);
    uint32_t at = lower_bound(table, key);
    free(table->line[number].key);
    free(table->line[number].scale);
    table->count--;
    memmove(&table->line[number], &table->line[number + 1], (table->count - number) * sizeof *table->line);
    memmove(&table->order[at], &table->order[at + 1], (table->count - at) * sizeof *table->order);
    for (uint32_t i = 0; i < table->count; i++) {
        table->order[i] -= table->order[i] > number;
    }
    return true;
}

bool net_table_remove(net_table *table, const char *layer) {
    char key[MAX_KEY];
    bool weights = make_key(key, layer, true) && remove_key(table, key);
    return (make_key(key, layer, false) && remove_key(table, key)) || weights;
}

static bool make_room(net_table *table) {
    return rep_more(&table->line, table->count, sizeof *table->line) &&
           rep_more(&table->order, table->count, sizeof *table->order);
}

/* Takes the ownership of key and scale when it returns true. The key is new. */
static bool add_line(net_table *table, char *key, float *scale, uint32_t count) {
    if (key == NULL || scale == NULL || !make_room(table)) {
        return false;
    }
    uint32_t at = lower_bound(table, key);
    memmove(&table->order[at + 1], &table->order[at], (table->count - at) * sizeof *table->order);
    table->order[at] = table->count;
    table->line[table->count++] = (net_table_line){.key = key, .count = count, .scale = scale};
    return true;
}

net_status net_table_add(net_table *table, const char *layer, bool weights, const float *scale, uint32_t count,
                         net_error *err) {
    char key[MAX_KEY];
    if (table == NULL || layer == NULL || scale == NULL || count == 0 || table->count >= MAX_LINES) {
        return net_fail(err, NET_ERR_ARG, "net_table_add: null argument, no scales or too many lines");
    }
    bool ok = make_key(key, layer, weights) && layer[0] != '\0';
    for (const char *p = layer; ok && *p != '\0'; p++) {
        ok = (unsigned char)*p > ' ' && *p != 0x7f;
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = scale[i] >= 0;
    }
    if (!ok) {
        return net_fail(
            err, NET_ERR_ARG,
            "calibration table: layer '%.60s': a name with blanks, or a scale that is negative or no number", layer);
    }
    if (find_key(table, key) != NULL) {
        return net_fail(err, NET_ERR_ARG, "calibration table: '%.60s' is already in the table", key);
    }
    char *own_key = strdup(key);
    float *own_scale = malloc(count * sizeof *own_scale);
    if (own_scale != NULL) {
        memcpy(own_scale, scale, count * sizeof *own_scale);
    }
    if (!add_line(table, own_key, own_scale, count)) {
        free(own_key);
        free(own_scale);
        return net_fail(err, NET_ERR_MEMORY, "calibration table: out of memory");
    }
    return NET_OK;
}

/* ---- reading ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Next word of the line; 0: none left. */
static size_t next_word(table_reader *r, const char **word) {
    while (r->at < r->end && is_blank(*r->at)) {
        r->at++;
    }
    *word = r->at;
    while (r->at < r->end && !is_blank(*r->at)) {
        r->at++;
    }
    return (size_t)(r->at - *word);
}

static bool to_scale(const char *word, size_t len, float *scale) {
    char text[64];
    char *stop;
    if (len == 3 && memcmp(word, "inf", 3) == 0) {
        *scale = INFINITY;
        return true;
    }
    if (len >= sizeof text) {
        return false;
    }
    memcpy(text, word, len);
    text[len] = '\0';
    if (strspn(text, "0123456789.eE+-") != len) {
        return false;
    }
    *scale = strtof(text, &stop);
    return *stop == '\0' && stop != text && *scale >= 0;
}

static net_status read_line(table_reader *r, net_table *table) {
    const char *word;
    size_t len = next_word(r, &word);
    const char *rest = r->at;
    uint32_t count = 0;
    if (len == 0) {
        return NET_OK;
    }
    if (len >= MAX_KEY) {
        return TABLE_BAD(r, "name of %zu characters, expected at most %u", len, MAX_KEY - 1);
    }
    if (table->count == MAX_LINES) {
        return TABLE_BAD(r, "more than %u lines", MAX_LINES);
    }
    char *key = strndup(word, len);
    const char *skip;
    while (next_word(r, &skip) > 0) {
        count++;
    }
    float *scale = malloc(((size_t)count + 1) * sizeof *scale);
    net_status status = NET_OK;
    if (key == NULL || scale == NULL) {
        status = net_fail(r->err, NET_ERR_MEMORY, "%.150s:%u: out of memory", r->name, r->line);
    } else if (count == 0) {
        status = TABLE_BAD(r, "'%.60s' has no scales", key);
    } else if (find_key(table, key) != NULL) {
        status = TABLE_BAD(r, "'%.60s' is given twice", key);
    }
    r->at = rest;
    for (uint32_t i = 0; status == NET_OK && i < count; i++) {
        len = next_word(r, &word);
        if (!to_scale(word, len, &scale[i])) {
            status = TABLE_BAD(r, "scale %u of '%.60s' is '%.*s', expected a number that is not negative", i, key,
                               (int)(len < 60 ? len : 60), word);
        }
    }
    if (status == NET_OK && !add_line(table, key, scale, count)) {
        status = net_fail(r->err, NET_ERR_MEMORY, "%.150s:%u: out of memory", r->name, r->line);
    }
    if (status != NET_OK) {
        free(key);
        free(scale);
    }
    return status;
}

net_status net_table_parse(net_table *table, const char *text, size_t bytes, const char *name, net_error *err) {
    if (table == NULL || text == NULL || name == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_table_parse: null argument");
    }
    memset(table, 0, sizeof *table);
    if (bytes > NET_MAX_TABLE_BYTES) {
        return net_fail(err, NET_ERR_FORMAT, "%.150s: %zu bytes, expected at most %u", name, bytes,
                        NET_MAX_TABLE_BYTES);
    }
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f) {
            return net_fail(err, NET_ERR_FORMAT, "%.150s: byte %zu is 0x%02x, expected text", name, i, c);
        }
    }
    table_reader r = {.name = name, .err = err};
    net_status status = NET_OK;
    for (size_t at = 0; status == NET_OK && at < bytes;) {
        const char *stop = memchr(text + at, '\n', bytes - at);
        r.at = text + at;
        r.end = stop == NULL ? text + bytes : stop;
        r.line++;
        at = (size_t)(r.end - text) + 1;
        status = read_line(&r, table);
    }
    if (status == NET_OK && table->count == 0) {
        status = net_fail(err, NET_ERR_FORMAT, "%.150s: no scales in it", name);
    }
    if (status != NET_OK) {
        net_table_free(table);
    }
    return status;
}

net_status net_table_load(net_table *table, const char *path, net_error *err) {
    char *data = NULL;
    size_t bytes = 0;
    if (table == NULL || path == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_table_load: null argument");
    }
    memset(table, 0, sizeof *table);
    net_status status = net_read_file(path, NET_MAX_TABLE_BYTES, &data, &bytes, err);
    if (status == NET_OK) {
        status = net_table_parse(table, data, bytes, path, err);
        free(data);
    }
    return status;
}

/* ---- writing ---- */

static void print_scale(FILE *out, float scale) {
    char text[64];
    (void)snprintf(text, sizeof text, "%f", (double)scale);
    float again = strtof(text, NULL);
    if (memcmp(&again, &scale, sizeof scale) != 0) {
        (void)snprintf(text, sizeof text, "%.9g", (double)scale);
    }
    fprintf(out, "%s ", text);
}

net_status net_table_print(const net_table *table, char **text, size_t *bytes, net_error *err) {
    if (table == NULL || text == NULL || bytes == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_table_print: null argument");
    }
    *text = NULL;
    *bytes = 0;
    FILE *out = rep_memory(text, bytes);
    bool ok = out != NULL;
    for (uint32_t i = 0; ok && i < table->count; i++) {
        fprintf(out, "%s ", table->line[i].key);
        for (uint32_t k = 0; k < table->line[i].count; k++) {
            print_scale(out, table->line[i].scale[k]);
        }
        ok = fprintf(out, "\n") == 1;
    }
    if (out != NULL) {
        ok = fclose(out) == 0 && ok;
    }
    if (!ok) {
        free(*text);
        *text = NULL;
        *bytes = 0;
    }
    return ok ? NET_OK : net_fail(err, NET_ERR_MEMORY, "calibration table: out of memory");
}

net_status net_table_save(const net_table *table, const char *path, net_error *err) {
    char *text = NULL;
    size_t bytes = 0;
    if (path == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_table_save: null argument");
    }
    net_status status = net_table_print(table, &text, &bytes, err);
    if (status == NET_OK) {
        status = net_save(path, text, bytes, err);
        free(text);
    }
    return status;
}
