/* index.c - reading the index of a tensor log. */
#include "tlog/index.h"
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 10000000u

void tlog_index_free(tlog_index *ix) {
    for (size_t i = 0; i < ix->count; i++) {
        free(ix->list[i].text);
    }
    free(ix->list);
    free(ix->sorted);
}

/* The value of the next "key=value" of the line. */
static const char *field(char **p, const char *key) {
    const size_t n = strlen(key);
    char *at = *p;
    if (strncmp(at, key, n) != 0 || at[n] != '=') {
        return NULL;
    }
    at += n + 1;
    char *end = at + strcspn(at, " ");
    *p = *end == '\0' ? end : end + 1;
    *end = '\0';
    return *at != '\0' ? at : NULL;
}

/* Only what tlog.c writes: no path leads out of the folder, no line of a report contains unexpected characters. */
static bool harmless(const char *s) {
    for (; *s != '\0'; s++) {
        const bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');
        if (!letter && strchr("._-/+", *s) == NULL) {
            return false;
        }
    }
    return true;
}

static bool parse_axes(tlog_entry *e, char *axes) {
    for (char *at = axes; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (e->axes == TB_TLOG_AXES || *at == '\0' || !harmless(at)) {
            return false;
        }
        e->axis[e->axes++] = at;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

static bool parse_task(const char *text, uint64_t *task) {
    char *end;
    if (text != NULL && strcmp(text, "-") == 0) {
        *task = UINT64_MAX;
        return true;
    }
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    *task = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
}

/* Order of the words: as tlog.h says. NULL, or what is wrong. */
static const char *parse(tlog_entry *e) {
    char *p = e->text;
    e->stream = field(&p, "stream");
    if (e->stream == NULL || strlen(e->stream) > 100 || !harmless(e->stream)) {
        return "stream=NAME";
    }
    if (!parse_task(field(&p, "task"), &e->task)) {
        return "task=NUMBER";
    }
    e->unit = field(&p, "unit");
    if (e->unit == NULL || strlen(e->unit) > 100 || !harmless(e->unit)) {
        return "unit=NAME";
    }
    e->file = field(&p, "file");
    const size_t length = e->file != NULL ? strlen(e->file) : 0;
    if (length < 5 || !harmless(e->file) || e->file[0] == '.' || strchr(e->file, '/') != NULL ||
        strcmp(e->file + length - 4, ".npy") != 0) {
        return "file=NAME.npy, a file of this folder";
    }
    const char *kind = field(&p, "kind");
    if (kind == NULL || (strcmp(kind, "tensor") != 0 && strcmp(kind, "stream") != 0)) {
        return "kind=tensor or kind=stream";
    }
    e->ordered = kind[0] == 's';
    const char *axes = field(&p, "axes");
    return axes != NULL && *p == '\0' && parse_axes(e, (char *)(uintptr_t)axes)
               ? NULL
               : "axes=NAME,.. at the end, at most four";
}

static int order(const tlog_entry *a, const tlog_entry *b) {
    const int by_name = strcmp(a->stream, b->stream);
    return by_name != 0 ? by_name : a->task != b->task ? (a->task < b->task ? -1 : 1) : 0;
}

static int by_stream(const void *a, const void *b) {
    const tlog_entry *x = *(tlog_entry *const *)a, *y = *(tlog_entry *const *)b;
    const int first = order(x, y);
    return first != 0 ? first : x->number < y->number ? -1 : x->number > y->number;
}

static int add(tlog_index *ix, const char *line, const tlog_place *to) {
    if (!rep_more(&ix->list, ix->count, sizeof *ix->list)) {
        snprintf(to->err, to->err_size, "out of memory");
        return -1;
    }
    tlog_entry *e = &ix->list[ix->count];
    *e = (tlog_entry){.text = strdup(line), .number = ix->count + 1};
    if (e->text == NULL) {
        snprintf(to->err, to->err_size, "out of memory");
        return -1;
    }
    ix->count++;
    const char *wrong = parse(e);
    if (wrong != NULL) {
        snprintf(to->err, to->err_size, "%s: line %zu: expected %s", ix->path, e->number, wrong);
        return -1;
    }
    return 0;
}

static int sort(tlog_index *ix, const tlog_place *to) {
    ix->sorted = (tlog_entry **)calloc(ix->count + 1, sizeof *ix->sorted);
    if (ix->sorted == NULL) {
        snprintf(to->err, to->err_size, "out of memory");
        return -1;
    }
    for (size_t i = 0; i < ix->count; i++) {
        ix->sorted[i] = &ix->list[i];
    }
    qsort(ix->sorted, ix->count, sizeof *ix->sorted, by_stream);
    for (size_t i = 1; i < ix->count; i++) {
        if (order(ix->sorted[i - 1], ix->sorted[i]) == 0) {
            snprintf(to->err, to->err_size, "%s: line %zu: %s of this task is already in line %zu", ix->path,
                     ix->sorted[i]->number, ix->sorted[i]->stream, ix->sorted[i - 1]->number);
            return -1;
        }
    }
    return 0;
}

int tlog_index_read(tlog_index *ix, const char *dir, const tlog_place *to) {
    char line[TLOG_LINE];
    ix->dir = dir;
    if ((size_t)snprintf(ix->path, sizeof ix->path, "%s/index.txt", dir) >= sizeof ix->path) {
        snprintf(to->err, to->err_size, "%.100s...: the name is too long", dir);
        return -1;
    }
    FILE *f = fopen(ix->path, "r");
    if (f == NULL) {
        snprintf(to->err, to->err_size, "%s: %s, expected a folder that --dump has written", ix->path, strerror(errno));
        return -1;
    }
    int rc = 0;
    while (rc == 0 && fgets(line, sizeof line, f) != NULL) {
        const size_t length = strlen(line);
        if (length == 0 || line[length - 1] != '\n' || ix->count == ENTRIES) {
            snprintf(to->err, to->err_size, "%s: line %zu: too long, cut off, or one too many", ix->path,
                     ix->count + 1);
            rc = -1;
            break;
        }
        line[length - 1] = '\0';
        rc = add(ix, line, to);
    }
    if (rc == 0 && ferror(f)) {
        snprintf(to->err, to->err_size, "%s: cannot be read", ix->path);
        rc = -1;
    }
    fclose(f);
    return rc == 0 ? sort(ix, to) : -1;
}

const tlog_entry *tlog_index_find(const tlog_index *ix, const tlog_entry *like) {
    size_t lo = 0, hi = ix->count;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const int c = order(ix->sorted[mid], like);
        if (c == 0) {
            return ix->sorted[mid];
        }
        lo = c < 0 ? mid + 1 : lo;
        hi = c < 0 ? hi : mid;
    }
    return NULL;
}
