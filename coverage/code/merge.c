/* merge.c - many files added up. Files of one program have the same points: these are parsed once, the others cost no
 * more than their counters. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "report/report.h"

/* Points that many files share. */
typedef struct shape {
    bool dat; /* of Verilator's files, as code_split_dat() gives it; else packed */
    void *bytes;
    size_t size;
    code_data data; /* in the order of the shape */
    uint64_t *hits;
} shape;

/* A thread takes every `step`th file. */
typedef struct worker {
    char *const *paths;
    size_t count, from, step;
    shape *shapes;
    size_t shape_count;
    uint64_t files;
    int rc;
    size_t failed; /* the first file that cannot be used */
    cov_error err;
} worker;

static shape *find(worker *w, bool dat, const void *bytes, size_t size) {
    for (size_t i = 0; i < w->shape_count; i++) {
        shape *s = &w->shapes[i];
        if (s->dat == dat && s->size == size && memcmp(s->bytes, bytes, size) == 0) {
            return s;
        }
    }
    return NULL;
}

/* A new shape with a copy of its bytes; NULL: out of memory. */
static shape *begin(worker *w, bool dat, const void *bytes, size_t size) {
    if (!rep_more(&w->shapes, w->shape_count, sizeof *w->shapes)) {
        return NULL;
    }
    shape *s = &w->shapes[w->shape_count];
    *s = (shape){.dat = dat, .size = size, .bytes = malloc(size + 1)};
    code_init(&s->data);
    if (s->bytes == NULL) {
        return NULL;
    }
    memcpy(s->bytes, bytes, size);
    w->shape_count++;
    return s;
}

static int finish(shape *s, cov_error *err) {
    s->hits = calloc(s->data.count + 1, sizeof *s->hits);
    return s->hits == NULL ? cov_no_memory(err) : COV_OK;
}

static int add_dat(worker *w, const char *bytes, size_t size, const char *path) {
    char *text = NULL;
    uint64_t *counts = NULL;
    size_t text_bytes = 0;
    size_t points = 0;
    int rc = code_split_dat(bytes, size, &text, &text_bytes, &counts, &points, path, &w->err);
    shape *s = rc == COV_OK ? find(w, true, text, text_bytes) : NULL;
    if (rc == COV_OK && s == NULL) {
        s = begin(w, true, text, text_bytes);
        rc = s == NULL ? cov_no_memory(&w->err) : code_parse_dat_shape(&s->data, text, text_bytes, path, &w->err);
        rc = rc == COV_OK ? finish(s, &w->err) : rc;
    }
    for (size_t i = 0; rc == COV_OK && i < points; i++) {
        cov_add(&s->hits[i], counts[i]);
    }
    w->files += rc == COV_OK;
    free(text);
    free(counts);
    return rc;
}

static int add_own(worker *w, const unsigned char *bytes, size_t size, const char *path) {
    code_parts parts;
    int rc = code_take_apart(&parts, bytes, size, path, &w->err);
    shape *s = rc == COV_OK ? find(w, false, parts.shape, parts.shape_bytes) : NULL;
    if (rc == COV_OK && s == NULL) {
        s = begin(w, false, parts.shape, parts.shape_bytes);
        rc = s == NULL ? cov_no_memory(&w->err) : code_parse_shape(&s->data, &parts, path, &w->err);
        rc = rc == COV_OK ? finish(s, &w->err) : rc;
    }
    if (rc == COV_OK && parts.points != s->data.count) {
        rc = cov_fail(&w->err, COV_BAD_FILE, "%s: damaged: another number of points than it says", path);
    }
    rc = rc == COV_OK ? code_add_counts(s->hits, &parts, path, &w->err) : rc;
    w->files += rc == COV_OK ? parts.files : 0;
    return rc;
}

static void *work(void *ctx) {
    worker *w = ctx;
    for (size_t i = w->from; i < w->count && w->rc == COV_OK; i += w->step) {
        unsigned char *bytes = NULL;
        size_t size = 0;
        w->rc = cov_slurp(w->paths[i], &bytes, &size, &w->err);
        if (w->rc == COV_OK) {
            w->rc = code_is_dat((const char *)bytes, size) ? add_dat(w, (const char *)bytes, size, w->paths[i])
                                                           : add_own(w, bytes, size, w->paths[i]);
        }
        w->failed = i;
        free(bytes);
    }
    return NULL;
}

static int gather(code_data *data, worker *w, cov_error *err) {
    int rc = COV_OK;
    for (size_t i = 0; i < w->shape_count; i++) {
        const shape *s = &w->shapes[i];
        for (size_t k = 0; rc == COV_OK && k < s->data.count; k++) {
            code_point point = s->data.points[k];
            point.hits = s->hits[k];
            rc = code_add(data, &point, err);
        }
    }
    cov_add(&data->files, w->files);
    return rc;
}

static void drop(worker *w) {
    for (size_t i = 0; i < w->shape_count; i++) {
        free(w->shapes[i].bytes);
        free(w->shapes[i].hits);
        code_free(&w->shapes[i].data);
    }
    free(w->shapes);
}

int code_merge(code_data *data, char *const *paths, size_t count, unsigned threads, cov_error *err) {
    const unsigned most = count < 64 ? (unsigned)count : 64;
    threads = threads < 1 || most == 0 ? 1 : threads > most ? most : threads;
    worker *workers = calloc(threads, sizeof *workers);
    pthread_t *handles = calloc(threads, sizeof *handles);
    unsigned started = 0;
    int rc = COV_OK;
    code_init(data);
    if (workers == NULL || handles == NULL) {
        rc = cov_no_memory(err);
        threads = 0;
    }
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (worker){.paths = paths, .count = count, .from = i, .step = threads};
    }
    while (started + 1 < threads && pthread_create(&handles[started], NULL, work, &workers[started + 1]) == 0) {
        started++;
    }
    for (unsigned i = 0; i < threads; i++) { /* this thread takes the first share, and those that got no thread */
        if (i == 0 || i > started) {
            (void)work(&workers[i]);
        }
    }
    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(handles[i], NULL);
    }
    size_t first = SIZE_MAX; /* of several bad files the first one is named, independent of the threads */
    for (unsigned i = 0; i < threads; i++) {
        if (workers[i].rc != COV_OK && workers[i].failed < first) {
            first = workers[i].failed;
            rc = workers[i].rc;
            *err = workers[i].err;
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        rc = rc == COV_OK ? gather(data, &workers[i], err) : rc;
        drop(&workers[i]);
    }
    free(workers);
    free(handles);
    if (rc == COV_OK) {
        code_settle(data);
    } else {
        code_free(data);
    }
    return rc;
}
