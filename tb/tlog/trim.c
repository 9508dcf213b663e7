/* trim.c - reduces folders of a tensor log to a size limit. */
#include "tlog/index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"

/* A stream of a task in all folders that have it: it stays in all of them or in none. */
typedef struct group {
    const tlog_entry *entry; /* of the first folder */
    uint64_t bytes;
    bool first, gone;
    size_t number;
} group;

typedef struct trim {
    tlog_index ix[TB_TLOG_TRIM_DIRS];
    bool there[TB_TLOG_TRIM_DIRS];
    size_t *group_of[TB_TLOG_TRIM_DIRS]; /* of each entry, in the order of the index */
    size_t dirs;
    group *list, **sorted;
    size_t count;
    uint64_t index_bytes;
} trim;

static int no_memory(const tlog_place *to) {
    snprintf(to->err, to->err_size, "out of memory");
    return -1;
}

/* 0 when there is no such file. */
static uint64_t bytes_of(const char *dir, const char *file) {
    char path[2 * TLOG_LINE];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

static int read_all(trim *t, const char *const *dirs, const tlog_place *to) {
    size_t entries = 0;
    for (size_t d = 0; d < t->dirs; d++) {
        char path[2 * TLOG_LINE];
        snprintf(path, sizeof path, "%s/index.txt", dirs[d]);
        t->there[d] = access(path, F_OK) == 0;
        if (!t->there[d]) {
            continue;
        }
        if (tlog_index_read(&t->ix[d], dirs[d], to) != 0) {
            return -1;
        }
        t->group_of[d] = (size_t *)calloc(t->ix[d].count + 1, sizeof **t->group_of);
        if (t->group_of[d] == NULL) {
            return no_memory(to);
        }
        entries += t->ix[d].count;
        t->index_bytes += bytes_of(dirs[d], "index.txt");
    }
    t->list = (group *)calloc(entries + 1, sizeof *t->list);
    t->sorted = (group **)calloc(entries + 1, sizeof *t->sorted);
    return t->list != NULL && t->sorted != NULL ? 0 : no_memory(to);
}

/* The group of an entry: that of a folder before, or a new one. */
static size_t group_for(trim *t, size_t dir, const tlog_entry *e) {
    for (size_t d = 0; d < dir; d++) {
        const tlog_entry *other = t->there[d] ? tlog_index_find(&t->ix[d], e) : NULL;
        if (other != NULL) {
            return t->group_of[d][other->number - 1];
        }
    }
    t->list[t->count] = (group){.entry = e, .number = t->count};
    return t->count++;
}

static uint64_t collect(trim *t) {
    uint64_t sum = t->index_bytes;
    for (size_t d = 0; d < t->dirs; d++) {
        for (size_t i = 0; t->there[d] && i < t->ix[d].count; i++) {
            const tlog_entry *e = &t->ix[d].list[i];
            const size_t g = group_for(t, d, e);
            const uint64_t bytes = bytes_of(t->ix[d].dir, e->file);
            t->group_of[d][i] = g;
            t->list[g].bytes += bytes;
            sum += bytes;
        }
    }
    return sum;
}

/* Those of `first` in their own order, then the small ones, so that as many as possible are kept. */
static int by_rank(const void *a, const void *b) {
    const group *x = *(group *const *)a, *y = *(group *const *)b;
    if (x->first != y->first) {
        return x->first ? -1 : 1;
    }
    if (!x->first && x->bytes != y->bytes) {
        return x->bytes < y->bytes ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the bytes of what stays. */
static uint64_t choose(trim *t, uint64_t most, bool (*first)(void *ctx, const char *stream, uint64_t task), void *ctx) {
    uint64_t sum = t->index_bytes;
    for (size_t i = 0; i < t->count; i++) {
        t->list[i].first = first(ctx, t->list[i].entry->stream, t->list[i].entry->task);
        t->sorted[i] = &t->list[i];
    }
    qsort(t->sorted, t->count, sizeof *t->sorted, by_rank);
    for (size_t i = 0; i < t->count; i++) {
        group *g = t->sorted[i];
        g->gone = sum > most || g->bytes > most - sum;
        sum += g->gone ? 0 : g->bytes;
    }
    return sum;
}

static void write_line(FILE *f, const tlog_entry *e) {
    char task[24] = "-";
    if (e->task != UINT64_MAX) {
        snprintf(task, sizeof task, "%" PRIu64, e->task);
    }
    fprintf(f, "stream=%s task=%s unit=%s file=%s kind=%s axes=", e->stream, task, e->unit, e->file,
            e->ordered ? "stream" : "tensor");
    for (unsigned i = 0; i < e->axes; i++) {
        fprintf(f, "%s%s", i == 0 ? "" : ",", e->axis[i]);
    }
    fputs("\n", f);
}

/* The index first, so that it never names a removed file. */
static int rewrite(const trim *t, size_t d, const tlog_place *to) {
    const tlog_index *ix = &t->ix[d];
    char path[2 * TLOG_LINE];
    rep_file f;
    int error = rep_file_open(&f, ix->path);
    for (size_t i = 0; error == 0 && i < ix->count; i++) {
        if (!t->list[t->group_of[d][i]].gone) {
            write_line(f.file, &ix->list[i]);
        }
    }
    error = error == 0 ? rep_file_close(&f, false) : error;
    if (error != 0) {
        snprintf(to->err, to->err_size, "%s: cannot be written: %s", ix->path, strerror(error));
        return -1;
    }
    for (size_t i = 0; i < ix->count; i++) {
        snprintf(path, sizeof path, "%s/%s", ix->dir, ix->list[i].file);
        if (t->list[t->group_of[d][i]].gone && unlink(path) != 0 && errno != ENOENT) {
            snprintf(to->err, to->err_size, "%s: cannot be removed: %s", path, strerror(errno));
            return -1;
        }
    }
    return 0;
}

static void release(trim *t) {
    for (size_t d = 0; d < t->dirs; d++) {
        tlog_index_free(&t->ix[d]);
        free(t->group_of[d]);
    }
    free(t->list);
    free(t->sorted);
    free(t);
}

int tb_tlog_trim(const char *const *dirs, size_t count, uint64_t *bytes,
                 bool (*first)(void *ctx, const char *stream, uint64_t task),
                 void (*gone)(void *ctx, const char *stream, uint64_t task, uint64_t bytes), void *ctx, char *err,
                 size_t err_size) {
    const tlog_place to = {.err = err, .err_size = err_size};
    trim *t = (trim *)calloc(1, sizeof *t);
    if (t == NULL) {
        return no_memory(&to);
    }
    t->dirs = count < TB_TLOG_TRIM_DIRS ? count : TB_TLOG_TRIM_DIRS;
    int rc = read_all(t, dirs, &to);
    uint64_t sum = rc == 0 ? collect(t) : 0;
    const bool fits = sum <= *bytes;
    if (rc == 0 && !fits) {
        sum = choose(t, *bytes, first, ctx);
    }
    for (size_t d = 0; !fits && rc == 0 && d < t->dirs; d++) {
        rc = t->there[d] ? rewrite(t, d, &to) : 0;
    }
    for (size_t i = 0; !fits && rc == 0 && i < t->count; i++) {
        if (t->list[i].gone) {
            gone(ctx, t->list[i].entry->stream, t->list[i].entry->task, t->list[i].bytes);
        }
    }
    *bytes = rc != 0 || sum > *bytes ? 0 : *bytes - sum;
    release(t);
    return rc;
}
