/* compare.c - two tensor logs, file by file. */
#include "tlog/index.h"
#include "tlog/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 65536u /* bytes that are compared at a time */

static FILE *open_file(const tlog_index *ix, const tlog_entry *e, tb_npy *npy, const tlog_place *to) {
    char path[2 * TLOG_LINE];
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

static void describe(tb_tlog_diff *d, const tlog_entry *e) {
    *d = (tb_tlog_diff){.stream = e->stream, .unit = e->unit, .task = e->task, .axes = e->axes};
    memcpy(d->axis, e->axis, sizeof d->axis);
}

static int compare_pair(const tlog_index *ia, const tlog_entry *a, const tlog_index *ib, const tlog_entry *b,
                        tb_tlog_diff *d, const tlog_place *to) {
    tb_npy na, nb;
    FILE *fa = open_file(ia, a, &na, to);
    FILE *fb = fa != NULL ? open_file(ib, b, &nb, to) : NULL;
    int rc = fb != NULL ? 0 : -1;
    if (rc == 0) {
        describe(d, a);
        const bool same_type = na.type == nb.type && na.axes == nb.axes && a->ordered == b->ordered;
        const bool same_rest = same_type && memcmp(na.size + 1, nb.size + 1, (na.axes - 1) * sizeof *na.size) == 0;
        d->shape_differs = !same_rest || na.size[0] != nb.size[0];
        d->total = same_rest && (!d->shape_differs || a->ordered)
                       ? (na.elements < nb.elements ? na.elements : nb.elements)
                       : 0;
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

/* 1: the callback has ended it. */
static int compare_all(const tlog_index *a, const tlog_index *b, int (*each)(void *, const tb_tlog_diff *), void *ctx,
                       const tlog_place *to) {
    tb_tlog_diff d;
    for (size_t i = 0; i < a->count; i++) {
        const tlog_entry *e = &a->list[i], *other = tlog_index_find(b, e);
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
        if (tlog_index_find(a, &b->list[i]) == NULL) {
            describe(&d, &b->list[i]);
            d.only_b = true;
            if (each(ctx, &d) != 0) {
                return 1;
            }
        }
    }
    return 0;
}

int tb_tlog_compare(const char *dir_a, const char *dir_b, int (*each)(void *ctx, const tb_tlog_diff *diff), void *ctx,
                    char *err, size_t err_size) {
    const tlog_place to = {.err = err, .err_size = err_size};
    tlog_index a = {0}, b = {0};
    int rc = tlog_index_read(&a, dir_a, &to) == 0 && tlog_index_read(&b, dir_b, &to) == 0 ? 0 : -1;
    if (rc == 0) {
        rc = compare_all(&a, &b, each, ctx, &to) < 0 ? -1 : 0;
    }
    tlog_index_free(&a);
    tlog_index_free(&b);
    return rc;
}
