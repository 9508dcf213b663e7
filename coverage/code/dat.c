/* dat.c - Verilator's coverage files: a line "C '\1key\2value\1key\2value...' count" for each point. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "report/report.h"

#define MAGIC "# SystemC::Coverage-3"

/* Keys that say which point it is; Verilator shortens them. */
typedef struct fields {
    char file[CODE_NAME_BYTES], page[CODE_NAME_BYTES], name[CODE_NAME_BYTES], lines[CODE_NAME_BYTES];
    uint32_t line, column;
} fields;

bool code_is_dat(const char *text, size_t size) {
    return size >= sizeof MAGIC - 1 && memcmp(text, MAGIC, sizeof MAGIC - 1) == 0;
}

static int bad(const char *name, uint64_t line, const char *what, cov_error *err) {
    return cov_fail(err, COV_BAD_FILE, "%s: line %" PRIu64 ": %s", name, line, what);
}

/* "...' 123": where the quote is, and the number; NULL: it is no line of a point. */
static const char *find_count(const char *line, const char *end, uint64_t *count) {
    const char *quote = end;
    while (quote > line && quote[-1] != '\'') {
        quote--;
    }
    if (end - line < 6 || memcmp(line, "C '", 3) != 0 || quote - line < 4 || end - quote < 2 || end - quote > 21 ||
        quote[0] != ' ') {
        return NULL;
    }
    *count = 0;
    for (const char *p = quote + 1; p < end; p++) {
        const uint64_t digit = (uint64_t)(*p - '0');
        if (*p < '0' || *p > '9' || *count > (UINT64_MAX - digit) / 10) {
            return NULL;
        }
        *count = *count * 10 + digit;
    }
    return quote - 1;
}

int code_split_dat(const char *text, size_t size, char **shape, size_t *shape_bytes, uint64_t **counts, size_t *points,
                   const char *name, cov_error *err) {
    const char *end = text + size;
    const char *at = memchr(text, '\n', size);
    uint64_t number = 1;
    if (at == NULL || !code_is_dat(text, size)) {
        return cov_fail(err, COV_BAD_FILE, "%s: not a coverage file of Verilator", name);
    }
    *points = 0;
    *shape_bytes = 0;
    *counts = NULL;
    *shape = malloc(size);
    int rc = *shape == NULL ? cov_no_memory(err) : COV_OK;
    for (at++; rc == COV_OK && at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        uint64_t count = 0;
        const char *quote = stop == NULL ? NULL : find_count(at, stop, &count);
        if (quote == NULL) {
            rc = bad(name, number + 1, stop == NULL ? "cut off" : "expected a point and its count", err);
            break;
        }
        if (!rep_more(counts, *points, sizeof **counts)) {
            rc = cov_no_memory(err);
            break;
        }
        (*counts)[(*points)++] = count;
        const size_t length = (size_t)(quote - at) - 3;
        memcpy(*shape + *shape_bytes, at + 3, length);
        *shape_bytes += length;
        (*shape)[(*shape_bytes)++] = '\n';
        at = stop + 1;
    }
    if (rc != COV_OK) {
        free(*shape);
        free(*counts);
        *shape = NULL;
        *counts = NULL;
    }
    return rc;
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* A value, with %XX as it was. false: too long, or no printable text. */
static bool take_text(char dst[CODE_NAME_BYTES], const char *from, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        char c = from[i];
        if (c == '%') {
            if (i + 2 >= length || hex(from[i + 1]) < 0 || hex(from[i + 2]) < 0) {
                return false;
            }
            c = (char)(hex(from[i + 1]) * 16 + hex(from[i + 2]));
            i += 2;
        }
        if (n + 1 >= CODE_NAME_BYTES) {
            return false;
        }
        dst[n++] = c;
    }
    dst[n] = '\0';
    return strlen(dst) == n && cov_is_line(dst, CODE_NAME_BYTES);
}

static bool take_number(uint32_t *dst, const char *from, size_t length) {
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (from[i] < '0' || from[i] > '9' || value > UINT32_MAX) {
            return false;
        }
        value = value * 10 + (uint64_t)(from[i] - '0');
    }
    *dst = (uint32_t)value;
    return length > 0 && value <= UINT32_MAX;
}

/* Is it this key, short or in full? */
static bool is_key(const char *key, size_t length, const char *shorter, const char *longer) {
    return (length == strlen(shorter) && memcmp(key, shorter, length) == 0) ||
           (length == strlen(longer) && memcmp(key, longer, length) == 0);
}

static bool take_field(fields *f, const char *key, size_t key_length, const char *value, size_t length) {
    if (is_key(key, key_length, "f", "filename")) {
        return take_text(f->file, value, length);
    }
    if (is_key(key, key_length, "page", "page")) {
        return take_text(f->page, value, length);
    }
    if (is_key(key, key_length, "o", "comment")) {
        return take_text(f->name, value, length);
    }
    if (is_key(key, key_length, "S", "linescov")) {
        return take_text(f->lines, value, length);
    }
    if (is_key(key, key_length, "l", "lineno")) {
        return take_number(&f->line, value, length);
    }
    /* hierarchy and what else there is */
    return is_key(key, key_length, "n", "column") ? take_number(&f->column, value, length) : true;
}

static bool take_fields(fields *f, const char *at, const char *end) {
    memset(f, 0, sizeof *f);
    while (at < end) {
        const char *value = *at == '\1' ? memchr(at, '\2', (size_t)(end - at)) : NULL;
        if (value == NULL) {
            return false;
        }
        const char *stop = memchr(value, '\1', (size_t)(end - value));
        stop = stop == NULL ? end : stop;
        if (!take_field(f, at + 1, (size_t)(value - at) - 1, value + 1, (size_t)(stop - value) - 1)) {
            return false;
        }
        at = stop;
    }
    return f->file[0] != '\0' && f->name[0] != '\0';
}

/* "v_line/fifo__W8_D2": kind and module. false: an unknown page. */
static bool take_page(code_point *point, const char *page, const char *name, char module[CODE_NAME_BYTES]) {
    static const struct {
        const char *page;
        code_kind kind;
    } pages[] = {{"v_line/", CODE_BLOCK},
                 {"v_branch/", CODE_ARM},
                 {"v_toggle/", CODE_TOGGLE},
                 {"v_user/", CODE_USER},
                 {"v_expr/", CODE_EXPR}};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        const size_t length = strlen(pages[i].page);
        if (strncmp(page, pages[i].page, length) != 0) {
            continue;
        }
        point->kind = pages[i].kind;
        if (point->kind == CODE_BLOCK && strcmp(name, "block") != 0) { /* arms of cases and of chains of ifs */
            point->kind = CODE_ARM;
        }
        (void)snprintf(module, CODE_NAME_BYTES, "%s", page + length);
        char *parameters = strstr(module, "__");
        if (parameters != NULL && parameters != module) {
            *parameters = '\0';
        }
        return true;
    }
    return false;
}

/* Lists of lines that are none are refused here, once for all. */
static bool good_lines(const char *lines) {
    uint32_t first = 0;
    uint32_t last = 0;
    const char *at = lines;
    while (code_next_lines(&at, &first, &last)) {
    }
    return *at == '\0';
}

int code_parse_dat_shape(code_data *data, const char *shape, size_t bytes, const char *name, cov_error *err) {
    const char *end = shape + bytes;
    uint64_t number = 2;
    for (const char *at = shape; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        char module[CODE_NAME_BYTES];
        fields f;
        code_point point = {.hits = 0};
        if (!take_fields(&f, at, stop)) {
            return bad(name, number, "not the fields of a point", err);
        }
        if (!take_page(&point, f.page, f.name, module)) {
            return bad(name, number, "a page of another name than v_line, v_branch, v_toggle, v_user and v_expr", err);
        }
        if (!good_lines(f.lines)) {
            return bad(name, number, "not a list of lines", err);
        }
        point.file = f.file;
        point.module = module;
        point.name = f.name;
        point.lines = point.kind == CODE_BLOCK || point.kind == CODE_ARM ? f.lines : "";
        point.line = f.line;
        point.column = f.column;
        const int rc = code_add(data, &point, err);
        if (rc != COV_OK) {
            return rc;
        }
        at = stop + 1;
    }
    return COV_OK;
}

int code_parse_dat(code_data *data, const char *text, size_t size, const char *name, cov_error *err) {
    char *shape = NULL;
    uint64_t *counts = NULL;
    size_t shape_bytes = 0;
    size_t points = 0;
    code_init(data);
    int rc = code_split_dat(text, size, &shape, &shape_bytes, &counts, &points, name, err);
    rc = rc == COV_OK ? code_parse_dat_shape(data, shape, shape_bytes, name, err) : rc;
    for (size_t i = 0; rc == COV_OK && i < points; i++) {
        data->points[i].hits = counts[i];
    }
    free(shape);
    free(counts);
    if (rc == COV_OK) {
        code_settle(data);
        data->files = 1;
    } else {
        code_free(data);
    }
    return rc;
}

int code_save_dat(const char *text, size_t size, const char *path, cov_error *err) {
    const size_t length = strlen(path);
    code_data data;
    if (length < 5 || strcmp(path + length - 5, ".code") != 0) {
        return cov_save(path, text, size, err);
    }
    int rc = code_parse_dat(&data, text, size, path, err);
    rc = rc == COV_OK ? code_write(&data, path, err) : rc;
    code_free(&data);
    return rc;
}

int code_save_text(const char *text, size_t size, const char *path, char *err, size_t err_size) {
    cov_error why;
    if (code_save_dat(text, size, path, &why) == COV_OK) {
        return 0;
    }
    (void)snprintf(err, err_size, "%s", why.text);
    return -1;
}
