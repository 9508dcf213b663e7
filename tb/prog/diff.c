/* diff.c - the command diff: two tensor logs, stream by stream. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "../tlog/tlog.h"
#include "options.h"

typedef struct tally {
    uint64_t streams, different, only_a, only_b;
    const char *side; /* "rtl", "model", ..: part of a whole dump; "": folders with an index */
} tally;

static void print_name(const tally *t, const tb_tlog_diff *d) {
    printf("%s%s%s", t->side, t->side[0] != '\0' ? ": " : "", d->stream);
    if (d->task != UINT64_MAX) {
        printf(" task %" PRIu64, d->task);
    }
}

/* One line for each stream that differs. */
static int print_diff(void *ctx, const tb_tlog_diff *d) {
    tally *t = (tally *)ctx;
    t->streams++;
    if (!d->only_a && !d->only_b && !d->shape_differs && d->wrong == 0) {
        return 0;
    }
    t->only_a += d->only_a;
    t->only_b += d->only_b;
    t->different += !d->only_a && !d->only_b;
    print_name(t, d);
    if (d->only_a || d->only_b) {
        printf(": only in the %s folder\n", d->only_a ? "first" : "second");
        return 0;
    }
    if (d->shape_differs && d->total == 0) {
        puts(": shapes or types differ");
        return 0;
    }
    printf(": %s%" PRIu64 " of %" PRIu64 " differ", d->shape_differs ? "other length, " : "", d->wrong, d->total);
    for (unsigned i = 0; d->wrong > 0 && i < d->axes; i++) {
        printf("%s %s %zu", i == 0 ? ", first" : ",", d->axis[i], d->first[i]);
    }
    if (d->wrong > 0) {
        printf(": %s, %s", d->a, d->b);
    }
    puts("");
    return 0;
}

/* Does the folder, or this part of it, hold an index? */
static bool holds(const char *dir, const char *part) {
    char path[1200];
    return (size_t)snprintf(path, sizeof path, "%s%s%s/index.txt", dir, part[0] != '\0' ? "/" : "", part) <
               sizeof path &&
           access(path, F_OK) == 0;
}

static int compare_part(const tb_prog_options *o, const char *part, tally *t, char *err, size_t err_size) {
    char a[1200], b[1200];
    const bool in_a = holds(o->dir[0], part), in_b = holds(o->dir[1], part);
    if (!in_a && !in_b) {
        return 0;
    }
    if (in_a != in_b) {
        printf("%s: only in the %s folder\n", part, in_a ? "first" : "second");
        t->only_a += in_a;
        t->only_b += in_b;
        return 0;
    }
    snprintf(a, sizeof a, "%s/%s", o->dir[0], part);
    snprintf(b, sizeof b, "%s/%s", o->dir[1], part);
    t->side = part;
    return tb_tlog_compare(a, b, print_diff, t, err, err_size);
}

/* Folders of --dump: the sides of the first device, then of further ones. */
static int compare_whole(const tb_prog_options *o, tally *t, char *err, size_t err_size) {
    static const char *const sides[] = {"model", "rtl", "streams"};
    char part[48];
    for (unsigned device = 1, found = 1; found > 0; device++) {
        found = 0;
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            if (device == 1) {
                snprintf(part, sizeof part, "%s", sides[i]);
            } else {
                snprintf(part, sizeof part, "device-%u/%s", device, sides[i]);
            }
            found += holds(o->dir[0], part) || holds(o->dir[1], part);
            if (compare_part(o, part, t, err, err_size) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static bool is_whole(const char *dir) {
    return !holds(dir, "") && (holds(dir, "rtl") || holds(dir, "model"));
}

int tb_prog_diff(const tb_prog_options *o) {
    char err[512];
    tally t = {.side = ""};
    const int rc = is_whole(o->dir[0]) && is_whole(o->dir[1])
                       ? compare_whole(o, &t, err, sizeof err)
                       : tb_tlog_compare(o->dir[0], o->dir[1], print_diff, &t, err, sizeof err);
    if (rc != 0) {
        fflush(stdout);
        return opt_bad(o->self, "%s", err);
    }
    if (t.different + t.only_a + t.only_b == 0) {
        printf("equal: %" PRIu64 " streams\n", t.streams);
        return 0;
    }
    printf("different: %" PRIu64 " of %" PRIu64 " streams; only in the first: %" PRIu64 ", only in the second: %" PRIu64
           "\n",
           t.different, t.streams, t.only_a, t.only_b);
    return 1;
}
