/* compare.c - two tensor logs, file by file. */
#include "tlog/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 65536u /* bytes that are compared at a time */
#define LINE 1024u
#define ENTRIES 10000000u

typedef struct entry {
    char *text; /* the line, cut into words */
    const char *stream, *unit, *file, *axis[TB_TLOG_AXES];
    uint64_t task;
    unsigned axes;
    bool ordered;  /* transactions */
    size_t number; /* line of the folder */
} entry;

typedef struct folder {
    char path[LINE];
    const char *dir;
    entry *list, **sorted;
    size_t count, cap;
} folder;

typedef struct place {
    char *err;
    size_t err_size;
} place;

static void release(folder *ix) {
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

/* Only what tlog.c writes: no path leads out of the folder, no line of a report has anything odd in it. */
static bool harmless(const char *s) {
    for (; *s != '\0'; s++) {
        const bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');
        if (!letter && strchr("._-/+", *s) == NULL) {
            return false;
        }
    }
    return true;
}

static bool parse_axes(entry *e, char *axes) {
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
static const char *parse(entry *e) {
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
    return axes != NULL && *p == '\0' && parse_axes(e, (char *)(uintptr_t)axes) ? NULL : "axes=NAME,.. at the end, at most four";
}

static int order(const entry *a, const entry *b) {
    const int by_name = strcmp(a->stream, b->stream);
    return by_name != 0 ? by_name : a->task != b->task ? (a->task < b->task ? -1 : 1) : 0;
}

static int by_stream(const void *a, const void *b) {
    const entry *x = *(entry *const *)a, *y = *(entry *const *)b;
    const int first = order(x, y);
    return first != 0 ? first : x->number < y->number ? -1 : x->number > y->number;
}

static int add(folder *ix, const char *line, const place *to) {
    if (ix->count == ix->cap) {
        const size_t cap = ix->cap == 0 ? 64 : 2 * ix->cap;
        entry *list = (entry *)realloc(ix->list, cap * sizeof *list);
        if (list == NULL) {
            snprintf(to->err, to->err_size, "out of memory");
            return -1;
        }
        ix->list = list;
        ix->cap = cap;
    }
    entry *e = &ix->list[ix->count];
    *e = (entry){.text = strdup(line), .number = ix->count + 1};
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

static int sort(folder *ix, const place *to) {
    ix->sorted = (entry **)calloc(ix->count + 1, sizeof *ix->sorted);
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
            snprintf(to->err, to->err_size, "%s: line %zu: %s of this task stands in line %zu already", ix->path, ix->sorted[i]->number,
                     ix->sorted[i]->stream, ix->sorted[i - 1]->number);
            return -1;
        }
    }
    return 0;
}

static int read_index(folder *ix, const char *dir, const place *to) {
    char line[LINE];
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
            snprintf(to->err, to->err_size, "%s: line %zu: too long, cut off, or one too many", ix->path, ix->count + 1);
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

static const entry *find(const folder *ix, const entry *like) {
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

static FILE *open_file(const folder *ix, const entry *e, tb_npy *npy, const place *to) {
    char path[2 * LINE];
    snprintf(path, sizeof path, "%s/%s", ix->dir, e->file);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        snprintf(to->err, to->err_size, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (tb_npy_read(f, path, npy, to->err, to->err_size) != 0) {
        fclose(f);
        return NULL;
    }
    if (npy->axes != e->axes) {
        snprintf(to->err, to->err_size, "%s: %u axes, expected %u as the index says", path, npy->axes, e->axes);
        fclose(f);
        return NULL;
    }
    return f;
}

/* A value for a person: floats with all their digits and their bits. */
static void print_value(tb_tlog_type type, const uint8_t *at, char dst[32]) {
    int32_t i;
    uint32_t u;
    uint64_t l;
    float f;
    switch (type) {
    case TB_TLOG_I8:
        snprintf(dst, 32, "%d", (int8_t)*at);
        break;
    case TB_TLOG_U8:
        snprintf(dst, 32, "%u", *at);
        break;
    case TB_TLOG_I32:
        memcpy(&i, at, sizeof i);
        snprintf(dst, 32, "%" PRId32, i);
        break;
    case TB_TLOG_U32:
        memcpy(&u, at, sizeof u);
        snprintf(dst, 32, "0x%08" PRIx32, u);
        break;
    case TB_TLOG_F32:
        memcpy(&u, at, sizeof u);
        memcpy(&f, at, sizeof f);
        snprintf(dst, 32, "%.6g (0x%08" PRIx32 ")", (double)f, u);
        break;
    case TB_TLOG_U64:
        memcpy(&l, at, sizeof l);
        snprintf(dst, 32, "0x%" PRIx64, l);
        break;
    }
}

static void coordinates(uint64_t at, const tb_npy *npy, size_t first[TB_TLOG_AXES]) {
    for (unsigned i = npy->axes; i-- > 0;) {
        first[i] = (size_t)(at % npy->size[i]);
        at /= npy->size[i];
    }
}

/* Count what differs in the elements that both have. -1: a file cannot be read. */
static int compare_data(FILE *a, FILE *b, const tb_npy *npy, tb_tlog_diff *d) {
    uint8_t x[PIECE], y[PIECE];
    const size_t bytes = tb_npy_bytes(npy->type);
    for (uint64_t done = 0; done < d->total;) {
        const uint64_t left = d->total - done;
        const size_t n = left < PIECE / bytes ? (size_t)left : PIECE / bytes;
        if (fread(x, bytes, n, a) != n || fread(y, bytes, n, b) != n) {
            return -1;
        }
        for (size_t i = 0; memcmp(x, y, n * bytes) != 0 && i < n; i++) {
            if (memcmp(x + i * bytes, y + i * bytes, bytes) != 0 && d->wrong++ == 0) {
                coordinates(done + i, npy, d->first);
                print_value(npy->type, x + i * bytes, d->a);
                print_value(npy->type, y + i * bytes, d->b);
            }
        }
        done += n;
    }
    return 0;
}

static void describe(tb_tlog_diff *d, const entry *e) {
    *d = (tb_tlog_diff){.stream = e->stream, .unit = e->unit, .task = e->task, .axes = e->axes};
    memcpy(d->axis, e->axis, sizeof d->axis);
}

static int compare_pair(const folder *ia, const entry *a, const folder *ib, const entry *b, tb_tlog_diff *d, const place *to) {
    tb_npy na, nb;
    FILE *fa = open_file(ia, a, &na, to);
    FILE *fb = fa != NULL ? open_file(ib, b, &nb, to) : NULL;
    int rc = fb != NULL ? 0 : -1;
    if (rc == 0) {
        describe(d, a);
        const bool same_type = na.type == nb.type && na.axes == nb.axes && a->ordered == b->ordered;
        const bool same_rest = same_type && memcmp(na.size + 1, nb.size + 1, (na.axes - 1) * sizeof *na.size) == 0;
        d->shape_differs = !same_rest || na.size[0] != nb.size[0];
        d->total = same_rest && (!d->shape_differs || a->ordered) ? (na.elements < nb.elements ? na.elements : nb.elements) : 0;
        if (d->total > 0 && compare_data(fa, fb, &na, d) != 0) {
            snprintf(to->err, to->err_size, "%s/%s or %s/%s: cannot be read", ia->dir, a->file, ib->dir, b->file);
            rc = -1;
        }
    }
    if (fa != NULL) {
        fclose(fa);
    }
    if (fb != NULL) {
        fclose(fb);
    }
    return rc;
}

/* 1: the callback wants no more. */
static int compare_all(const folder *a, const folder *b, int (*each)(void *, const tb_tlog_diff *), void *ctx, const place *to) {
    tb_tlog_diff d;
    for (size_t i = 0; i < a->count; i++) {
        const entry *e = &a->list[i], *other = find(b, e);
        describe(&d, e);
        d.only_a = other == NULL;
        if (other != NULL && compare_pair(a, e, b, other, &d, to) != 0) {
            return -1;
        }
        if (each(ctx, &d) != 0) {
            return 1;
        }
    }
    for (size_t i = 0; i < b->count; i++) {
        if (find(a, &b->list[i]) == NULL) {
            describe(&d, &b->list[i]);
            d.only_b = true;
            if (each(ctx, &d) != 0) {
                return 1;
            }
        }
    }
    return 0;
}

int tb_tlog_compare(const char *dir_a, const char *dir_b, int (*each)(void *ctx, const tb_tlog_diff *diff), void *ctx, char *err,
                    size_t err_size) {
    const place to = {.err = err, .err_size = err_size};
    folder a = {0}, b = {0};
    int rc = read_index(&a, dir_a, &to) == 0 && read_index(&b, dir_b, &to) == 0 ? 0 : -1;
    if (rc == 0) {
        rc = compare_all(&a, &b, each, ctx, &to) < 0 ? -1 : 0;
    }
    release(&a);
    release(&b);
    return rc;
}
