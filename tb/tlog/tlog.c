/* tlog.c - writing a tensor log. */
#include "report/report.h"
#include "tlog/npy.h"

#include <errno.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME 160u         /* bytes of the name of a file */
#define SPILL (4u << 20)  /* bytes of a stream that are kept in memory */
#define SPILL_HEADER 192u /* of a stream on disk, whose length is not known yet */

/* One file of the folder. */
typedef struct item {
    char *stream, *unit;
    char *line; /* of the index */
    bool stream_order;
    uint64_t task;
    tb_npy npy;
    uint8_t *data; /* of a stream, until it is written */
    size_t bytes, cap;
    bool spilled; /* earlier data are in the temporary file */
} item;

struct tb_tlog {
    char *dir;
    item *list;
    size_t count;
    size_t last; /* stream of the last tb_tlog_append() */
    bool failed;
    char err[512];
};

__attribute__((format(printf, 2, 3))) static int fail(tb_tlog *log, const char *format, ...) {
    if (!log->failed) {
        va_list args;
        va_start(args, format);
        vsnprintf(log->err, sizeof log->err, format, args);
        va_end(args);
        log->failed = true;
    }
    return -1;
}

/* Is there nothing in the folder? */
static bool empty(const char *dir) {
    DIR *d = opendir(dir);
    bool nothing = d != NULL;
    for (const struct dirent *e = nothing ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        nothing = nothing && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
    }
    if (d != NULL) {
        closedir(d);
    }
    return nothing;
}

tb_tlog *tb_tlog_create(const char *dir, char *err, size_t err_size) {
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        snprintf(err, err_size, "%s: %s", dir, strerror(errno));
        return NULL;
    }
    if (!empty(dir)) {
        snprintf(err, err_size, "%s: expected a new or an empty folder", dir);
        return NULL;
    }
    tb_tlog *log = (tb_tlog *)calloc(1, sizeof *log);
    char *copy = strdup(dir);
    if (log == NULL || copy == NULL) {
        free(log);
        free(copy);
        snprintf(err, err_size, "out of memory");
        return NULL;
    }
    log->dir = copy;
    return log;
}

/* A name that the index can hold. */
static bool is_name(const char *s, const char *more) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t n = 0;
    while (s != NULL && s[n] != '\0' && (strchr(plain, s[n]) != NULL || strchr(more, s[n]) != NULL)) {
        n++;
    }
    return n > 0 && n < 64 && s[n] == '\0';
}

static bool entry_ok(const tb_tlog_entry *e) {
    bool ok = is_name(e->stream, "._-/") && e->stream[0] != '.' && is_name(e->unit, "._-/") && e->axes >= 1 &&
              e->axes <= TB_TLOG_AXES;
    for (unsigned i = 0; ok && i < e->axes; i++) {
        ok = is_name(e->axis[i], "_");
    }
    return ok;
}

/* The file of a stream of a task: "lane.sum.3.npy"; '/' becomes '+', which no stream has. */
static void file_name(const item *it, char name[NAME]) {
    if (it->task == UINT64_MAX) {
        snprintf(name, NAME, "%s.npy", it->stream);
    } else {
        snprintf(name, NAME, "%s.%" PRIu64 ".npy", it->stream, it->task);
    }
    for (char *p = strchr(name, '/'); p != NULL; p = strchr(p, '/')) {
        *p = '+';
    }
}

static char *index_line(const item *it, const tb_tlog_entry *e) {
    char name[NAME], axes[TB_TLOG_AXES * 64 + TB_TLOG_AXES], task[24] = "-", *line = NULL;
    size_t at = 0;
    file_name(it, name);
    for (unsigned i = 0; i < e->axes; i++) {
        at += (size_t)snprintf(axes + at, sizeof axes - at, "%s%s", i == 0 ? "" : ",", e->axis[i]);
    }
    if (e->task != UINT64_MAX) {
        snprintf(task, sizeof task, "%" PRIu64, e->task);
    }
    const int rc = asprintf(&line, "stream=%s task=%s unit=%s file=%s kind=%s axes=%s\n", e->stream, task, e->unit,
                            name, e->stream_order ? "stream" : "tensor", axes);
    return rc < 0 ? NULL : line;
}

static item *add(tb_tlog *log, const tb_tlog_entry *e) {
    if (!entry_ok(e)) {
        fail(log, "%s: a stream's name, unit or axes cannot stand in an index",
             e->stream != NULL ? e->stream : "(none)");
        return NULL;
    }
    if (!rep_more(&log->list, log->count, sizeof *log->list)) {
        fail(log, "out of memory");
        return NULL;
    }
    item *it = &log->list[log->count++];
    *it =
        (item){.stream = strdup(e->stream), .unit = strdup(e->unit), .task = e->task, .stream_order = e->stream_order};
    it->npy = (tb_npy){.type = e->type, .axes = e->axes};
    memcpy(it->npy.size, e->size, sizeof it->npy.size);
    it->line = it->stream != NULL && it->unit != NULL ? index_line(it, e) : NULL;
    if (it->line == NULL) {
        fail(log, "out of memory");
        return NULL;
    }
    return it;
}

static char *path_of(const tb_tlog *log, const char *name, bool temporary) {
    char *path = NULL;
    return asprintf(&path, temporary ? "%s/.%s.tmp" : "%s/%s", log->dir, name) < 0 ? NULL : path;
}

/* A whole file, which is not there yet. */
static int write_file(tb_tlog *log, const char *name, const void *head, size_t head_bytes, const void *data,
                      size_t bytes) {
    char path[PATH_MAX];
    rep_file f;
    if (snprintf(path, sizeof path, "%s/%s", log->dir, name) >= (int)sizeof path) {
        return fail(log, "%s/%s: name too long", log->dir, name);
    }
    if (access(path, F_OK) == 0) {
        return fail(log, "%s: there is such a file already: written twice", path);
    }
    int error = rep_file_open(&f, path);
    if (error != 0) {
        return fail(log, "%s: %s", path, strerror(error));
    }
    (void)fwrite(head, 1, head_bytes, f.file); /* an error stays in the file */
    (void)fwrite(data, 1, bytes, f.file);
    error = rep_file_close(&f, false);
    return error == 0 ? 0 : fail(log, "%s: cannot be written: %s", path, strerror(error));
}

static int write_item(tb_tlog *log, const item *it, const void *data) {
    uint8_t head[TB_NPY_HEADER];
    char name[NAME];
    uint64_t elements;
    if (tb_npy_elements(&it->npy, &elements) != 0) {
        return fail(log, "%s: a shape that is too large", it->stream);
    }
    file_name(it, name);
    return write_file(log, name, head, tb_npy_header(&it->npy, 0, head), data,
                      (size_t)elements * tb_npy_bytes(it->npy.type));
}

int tb_tlog_tensor(tb_tlog *log, const tb_tlog_entry *entry, const void *data) {
    const item *it = log->failed ? NULL : add(log, entry);
    return it != NULL ? write_item(log, it, data) : -1;
}

static bool same(const item *it, const tb_tlog_entry *e) {
    return it->stream_order && it->task == e->task && strcmp(it->stream, e->stream) == 0;
}

static item *find(tb_tlog *log, const tb_tlog_entry *e) {
    if (log->last < log->count && same(&log->list[log->last], e)) {
        return &log->list[log->last];
    }
    for (size_t i = 0; i < log->count; i++) {
        if (same(&log->list[i], e)) {
            log->last = i;
            return &log->list[i];
        }
    }
    item *it = add(log, e);
    if (it != NULL) {
        it->npy.size[0] = 0;
        log->last = log->count - 1;
    }
    return it;
}

/* Data of a stream so far to its temporary file; `last`: with its header, under its name. */
static int spill(tb_tlog *log, item *it, bool last) {
    uint8_t head[TB_NPY_HEADER];
    char name[NAME];
    file_name(it, name);
    char *tmp = path_of(log, name, true), *path = path_of(log, name, false);
    FILE *f = tmp != NULL && path != NULL ? fopen(tmp, it->spilled ? "r+b" : "wb") : NULL;
    const size_t bytes = tb_npy_header(&it->npy, SPILL_HEADER, head);
    bool ok = f != NULL && bytes == SPILL_HEADER && fwrite(head, 1, bytes, f) == bytes && fseek(f, 0, SEEK_END) == 0 &&
              fwrite(it->data, 1, it->bytes, f) == it->bytes;
    ok = f != NULL && fclose(f) == 0 && ok;
    ok = ok && (!last || rename(tmp, path) == 0);
    if (!ok) {
        fail(log, "%s/%s: cannot be written: %s", log->dir, name, strerror(errno));
    }
    it->spilled = true;
    it->bytes = 0;
    free(tmp);
    free(path);
    return ok ? 0 : -1;
}

/* What is left of streams after an error. */
static void remove_temporary(const tb_tlog *log, const item *it) {
    char name[NAME];
    file_name(it, name);
    char *tmp = it->spilled ? path_of(log, name, true) : NULL;
    if (tmp != NULL) {
        unlink(tmp);
    }
    free(tmp);
}

int tb_tlog_append(tb_tlog *log, const tb_tlog_entry *entry, const void *data) {
    item *it = log->failed ? NULL : find(log, entry);
    if (it == NULL) {
        return -1;
    }
    tb_npy one = it->npy;
    uint64_t elements = 0;
    one.size[0] = 1;
    if (tb_npy_elements(&one, &elements) != 0 || entry->type != it->npy.type || entry->axes != it->npy.axes ||
        memcmp(entry->size + 1, it->npy.size + 1, (entry->axes - 1) * sizeof *entry->size) != 0) {
        return fail(log, "%s: a transaction of another type or size than those before", it->stream);
    }
    const size_t bytes = (size_t)elements * tb_npy_bytes(it->npy.type);
    if (data == NULL) {
        return 0;
    }
    if (it->bytes > SPILL && spill(log, it, false) != 0) {
        return -1;
    }
    if (it->cap - it->bytes < bytes) {
        const size_t cap = it->cap == 0 ? 4096 + bytes : 2 * it->cap + bytes;
        uint8_t *grown = (uint8_t *)realloc(it->data, cap);
        if (grown == NULL) {
            return fail(log, "out of memory");
        }
        it->data = grown;
        it->cap = cap;
    }
    memcpy(it->data + it->bytes, data, bytes);
    it->bytes += bytes;
    it->npy.size[0]++;
    return 0;
}

static int write_index(tb_tlog *log) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = rep_memory(&text, &bytes);
    for (size_t i = 0; f != NULL && i < log->count; i++) {
        fputs(log->list[i].line, f);
    }
    const bool ok = f != NULL && ferror(f) == 0;
    if (f == NULL || fclose(f) != 0 || !ok) {
        free(text);
        return fail(log, "out of memory");
    }
    const int rc = write_file(log, "index.txt", text, bytes, "", 0);
    free(text);
    return rc;
}

int tb_tlog_close(tb_tlog *log, char *err, size_t err_size) {
    for (size_t i = 0; i < log->count && !log->failed; i++) {
        item *it = &log->list[i];
        if (it->stream_order && it->spilled) {
            spill(log, it, true);
        } else if (it->stream_order) {
            write_item(log, it, it->data != NULL ? (const void *)it->data : "");
        }
    }
    if (!log->failed) {
        write_index(log);
    }
    const int rc = log->failed ? -1 : 0;
    snprintf(err, err_size, "%s", log->err);
    for (size_t i = 0; i < log->count; i++) {
        if (rc != 0) {
            remove_temporary(log, &log->list[i]);
        }
        free(log->list[i].stream);
        free(log->list[i].unit);
        free(log->list[i].line);
        free(log->list[i].data);
    }
    free(log->list);
    free(log->dir);
    free(log);
    return rc;
}
