/* diff.c - `tandem diff`: two tensor logs, stream by stream. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct tally {
    uint64_t streams, different, only_a, only_b;
} tally;

static void print_name(const tb_tlog_diff *d) {
    printf("%s", d->stream);
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
    print_name(d);
    if (d->only_a || d->only_b) {
        printf(": only in the %s folder\n", d->only_a ? "first" : "second");
        return 0;
    }
    if (d->shape_differs && d->total == 0) {
        puts(": shapes or types differ");
        return 0;
    }
    printf(": %s%" PRIu64 " of %" PRIu64 " wrong", d->shape_differs ? "lengths differ, " : "", d->wrong, d->total);
    for (unsigned i = 0; d->wrong > 0 && i < d->axes; i++) {
        printf("%s %s %zu", i == 0 ? ", first" : ",", d->axis[i], d->first[i]);
    }
    if (d->wrong > 0) {
        printf(": %s, %s", d->a, d->b);
    }
    puts("");
    return 0;
}

int cli_diff(const cli_options *o) {
    char err[512];
    tally t = {0};
    if (tb_tlog_compare(o->dir[0], o->dir[1], print_diff, &t, err, sizeof err) != 0) {
        fflush(stdout);
        fprintf(stderr, "%s: %s\n", o->prog, err);
        return 2;
    }
    if (t.different + t.only_a + t.only_b == 0) {
        printf("equal: %" PRIu64 " streams\n", t.streams);
        return 0;
    }
    printf("different: %" PRIu64 " of %" PRIu64 " streams; only in the first: %" PRIu64 ", only in the second: %" PRIu64 "\n", t.different,
           t.streams, t.only_a, t.only_b);
    return 1;
}
