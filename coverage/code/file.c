/* file.c - own files of code coverage: a header of two lines, the points as packed text, the counters as numbers of
 * variable length; both with a checksum. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "part.h"

#define MAGIC "tandem-code 1\n"
#define HEAD_BYTES_MAX 240u
#define HEAD_SUM_BYTES 23u /* " head ", 16 digits, the end of the line */
#define SHAPE_TEXT_MAX (256u << 20)

/* A letter for each kind: block, arm, line, toggle, user, expression, function. */
static const char letters[CODE_KINDS + 1] = "baltuef";

/* ---- shape ---- */

/* Text that grows. */
typedef struct text {
    char *bytes;
    size_t used, room;
    bool failed;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *format, ...) {
    va_list args;
    if (t->room - t->used < 4 * CODE_NAME_BYTES) {
        const size_t room = t->room * 2 + 64 * CODE_NAME_BYTES;
        char *bytes = t->failed ? NULL : realloc(t->bytes, room);
        t->failed = bytes == NULL;
        if (t->failed) {
            return;
        }
        t->bytes = bytes;
        t->room = room;
    }
    va_start(args, format);
    const int length = vsnprintf(t->bytes + t->used, t->room - t->used, format, args);
    va_end(args);
    t->used += length > 0 ? (size_t)length : 0;
}

/* "F file", "M module" where they change, and a line for each point. */
static void put_shape(text *t, const code_data *data) {
    const char *file = "";
    const char *module = "";
    for (size_t i = 0; i < data->count; i++) {
        const code_point *p = &data->points[i];
        if (strcmp(file, p->file) != 0) {
            put(t, "F %s\n", p->file);
            file = p->file;
        }
        if (strcmp(module, p->module) != 0) {
            put(t, "M %s\n", p->module);
            module = p->module;
        }
        put(t, "%c %" PRIu32 " %" PRIu32 " %s %s\n", letters[p->kind], p->line, p->column,
            p->lines[0] == '\0' ? "-" : p->lines, p->name);
    }
}

static int damaged(const char *name, const char *what, cov_error *err) {
    return cov_fail(err, COV_BAD_FILE, "%s: damaged: %s", name, what);
}

/* One line of a point. */
static bool take_point(code_point *p, const char *line, char lines[CODE_NAME_BYTES]) {
    int used = 0;
    char letter = '\0';
    if (sscanf(line, "%c %10" SCNu32 " %10" SCNu32 " %399[-,0-9]%n", &letter, &p->line, &p->column, lines, &used) !=
            4 ||
        used == 0 || line[used] != ' ') {
        return false;
    }
    used++; /* one blank: a name may begin with more */
    const char *kind = letter == '\0' ? NULL : strchr(letters, letter);
    if (kind == NULL || line[used] == '\0') {
        return false;
    }
    p->kind = (code_kind)(kind - letters);
    p->name = line + used;
    if (strcmp(lines, "-") == 0) {
        lines[0] = '\0';
    }
    uint32_t first = 0;
    uint32_t last = 0;
    const char *at = lines;
    while (code_next_lines(&at, &first, &last)) {
    }
    p->lines = lines;
    return *at == '\0' && (lines[0] == '\0' || p->kind <= CODE_ARM);
}

/* A line of a shape into the data. */
static int take_line(code_data *data, char file[CODE_NAME_BYTES], char module[CODE_NAME_BYTES], const char *line,
                     const char *name, cov_error *err) {
    char lines[CODE_NAME_BYTES];
    code_point point = {.file = file, .module = module};
    if (!cov_is_line(line, 3 * CODE_NAME_BYTES) || strlen(line) < 2) {
        return damaged(name, "a line that is not text", err);
    }
    if (line[0] == 'F' || line[0] == 'M') {
        if (line[1] != ' ' || strlen(line) - 2 >= CODE_NAME_BYTES) {
            return damaged(name, "a name that is too long", err);
        }
        (void)snprintf(line[0] == 'F' ? file : module, CODE_NAME_BYTES, "%s", line + 2);
        return COV_OK;
    }
    if (file[0] == '\0' || !take_point(&point, line, lines) || strlen(point.name) >= CODE_NAME_BYTES) {
        return damaged(name, "a line that is not a point", err);
    }
    const int rc = code_add(data, &point, err);
    if (rc == COV_OK && data->count > 1 &&
        code_order(&data->points[data->count - 2], &data->points[data->count - 1]) >= 0) {
        return damaged(name, "points that are not in their order", err);
    }
    return rc;
}

int code_parse_shape(code_data *data, const code_parts *parts, const char *name, cov_error *err) {
    char file[CODE_NAME_BYTES] = "";
    char module[CODE_NAME_BYTES] = "";
    uLongf size = parts->shape_text;
    char *shape = malloc(parts->shape_text + 1);
    if (shape == NULL) {
        return cov_no_memory(err);
    }
    int rc = COV_OK;
    if (uncompress((Bytef *)shape, &size, parts->shape, parts->shape_bytes) != Z_OK || size != parts->shape_text) {
        rc = damaged(name, "points that cannot be unpacked", err);
    }
    shape[rc == COV_OK ? size : 0] = '\0';
    for (char *at = shape; rc == COV_OK && at < shape + size;) {
        char *stop = strchr(at, '\n');
        if (stop == NULL) {
            rc = damaged(name, "a line without its end", err);
            break;
        }
        *stop = '\0';
        rc = take_line(data, file, module, at, name, err);
        at = stop + 1;
    }
    free(shape);
    if (rc == COV_OK && data->count != parts->points) {
        rc = damaged(name, "another number of points than it says", err);
    }
    return rc;
}

/* ---- counters: pairs, the zeros before a counter that is not 0, and that counter ---- */

static size_t put_counts(const code_data *data, unsigned char *dst) {
    size_t at = 0;
    uint64_t zeros = 0;
    for (size_t i = 0; i < data->count; i++) {
        if (data->points[i].hits == 0) {
            zeros++;
        } else {
            at += cov_put_varint(dst + at, zeros);
            at += cov_put_varint(dst + at, data->points[i].hits);
            zeros = 0;
        }
    }
    return at;
}

int code_add_counts(uint64_t *hits, const code_parts *parts, const char *name, cov_error *err) {
    const unsigned char *end = parts->counts + parts->count_bytes;
    for (int pass = 0; pass < 2; pass++) { /* look first, then add */
        uint64_t index = 0;
        for (const unsigned char *p = parts->counts; p < end;) {
            uint64_t zeros = 0;
            uint64_t value = 0;
            if (!cov_get_varint(&p, end, &zeros) || !cov_get_varint(&p, end, &value) || value == 0 ||
                zeros >= parts->points - index) {
                return damaged(name, "counters that do not fit its points", err);
            }
            index += zeros;
            cov_add(&hits[index++], pass == 0 ? 0 : value);
        }
    }
    return COV_OK;
}

/* ---- the file ---- */

int code_print(const code_data *data, char **bytes, size_t *size, cov_error *err) {
    char head[HEAD_BYTES_MAX];
    text t = {0};
    put_shape(&t, data);
    uLongf shape_bytes = compressBound(t.used);
    unsigned char *counts = malloc(data->count * 20 + 1);
    unsigned char *shape = malloc(shape_bytes);
    *bytes = NULL;
    int rc = t.failed || counts == NULL || shape == NULL ? cov_no_memory(err) : COV_OK;
    if (rc == COV_OK && compress2(shape, &shape_bytes, (const Bytef *)(t.used > 0 ? t.bytes : ""), t.used, 6) != Z_OK) {
        rc = cov_no_memory(err);
    }
    if (rc == COV_OK) {
        const size_t count_bytes = put_counts(data, counts);
        int head_bytes = snprintf(
            head, sizeof head, MAGIC "files %" PRIu64 " points %zu shape %zu %zu %016" PRIx64 " counts %zu %016" PRIx64,
            data->files, data->count, t.used, (size_t)shape_bytes, cov_checksum(shape, shape_bytes), count_bytes,
            cov_checksum(counts, count_bytes));
        head_bytes += snprintf(head + head_bytes, sizeof head - (size_t)head_bytes, " head %016" PRIx64 "\n",
                               cov_checksum(head, (size_t)head_bytes));
        *size = (size_t)head_bytes + shape_bytes + count_bytes;
        *bytes = malloc(*size);
        if (*bytes == NULL) {
            rc = cov_no_memory(err);
        } else {
            memcpy(*bytes, head, (size_t)head_bytes);
            memcpy(*bytes + head_bytes, shape, shape_bytes);
            memcpy(*bytes + (size_t)head_bytes + shape_bytes, counts, count_bytes);
        }
    }
    free(t.bytes);
    free(counts);
    free(shape);
    return rc;
}

int code_write(const code_data *data, const char *path, cov_error *err) {
    char *bytes = NULL;
    size_t size = 0;
    int rc = code_print(data, &bytes, &size, err);
    rc = rc == COV_OK ? cov_save(path, bytes, size, err) : rc;
    free(bytes);
    return rc;
}

int code_take_apart(code_parts *p, const unsigned char *bytes, size_t size, const char *name, cov_error *err) {
    char head[HEAD_BYTES_MAX];
    char sum[HEAD_SUM_BYTES + 1];
    uint64_t shape_sum = 0;
    uint64_t count_sum = 0;
    int used = 0;
    const size_t magic = sizeof MAGIC - 1;
    if (size < magic || memcmp(bytes, MAGIC, magic) != 0) {
        return cov_fail(err, COV_BAD_FILE, "%s: neither a file of Verilator's coverage nor one of tandem-cov code",
                        name);
    }
    const size_t room = size < sizeof head - 1 ? size : sizeof head - 1;
    memcpy(head, bytes, room);
    head[room] = '\0';
    const int found = sscanf(
        head + magic, "files %20" SCNu64 " points %9zu shape %9zu %9zu %16" SCNx64 " counts %9zu %16" SCNx64 "%n",
        &p->files, &p->points, &p->shape_text, &p->shape_bytes, &shape_sum, &p->count_bytes, &count_sum, &used);
    const size_t line = magic + (size_t)used;
    (void)snprintf(sum, sizeof sum, " head %016" PRIx64 "\n", cov_checksum(head, line));
    if (found != 7 || used == 0 || strncmp(head + line, sum, HEAD_SUM_BYTES) != 0 || p->files == 0 ||
        p->shape_text > SHAPE_TEXT_MAX) {
        return damaged(name, "its first lines", err);
    }
    const size_t from = line + HEAD_SUM_BYTES;
    if (p->shape_bytes > size - from || p->count_bytes != size - from - p->shape_bytes) {
        return damaged(name, "cut off, or its first lines are wrong", err);
    }
    p->shape = bytes + from;
    p->counts = bytes + from + p->shape_bytes;
    if (cov_checksum(p->shape, p->shape_bytes) != shape_sum || cov_checksum(p->counts, p->count_bytes) != count_sum) {
        return damaged(name, "its checksum is wrong", err);
    }
    return COV_OK;
}

int code_parse(code_data *data, const void *bytes, size_t size, const char *name, cov_error *err) {
    code_parts parts;
    code_init(data);
    if (code_is_dat(bytes, size)) {
        return code_parse_dat(data, bytes, size, name, err);
    }
    int rc = code_take_apart(&parts, bytes, size, name, err);
    rc = rc == COV_OK ? code_parse_shape(data, &parts, name, err) : rc;
    uint64_t *hits = rc == COV_OK ? calloc(parts.points + 1, sizeof *hits) : NULL;
    if (rc == COV_OK) {
        rc = hits == NULL ? cov_no_memory(err) : code_add_counts(hits, &parts, name, err);
    }
    for (size_t i = 0; rc == COV_OK && i < data->count; i++) {
        data->points[i].hits = hits[i];
    }
    free(hits);
    if (rc == COV_OK) {
        data->files = parts.files;
    } else {
        code_free(data);
    }
    return rc;
}

int code_read(code_data *data, const char *path, cov_error *err) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    code_init(data);
    int rc = cov_slurp(path, &bytes, &size, err);
    rc = rc == COV_OK ? code_parse(data, bytes, size, path, err) : rc;
    free(bytes);
    return rc;
}
