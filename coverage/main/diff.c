/* diff.c - tandem-cov diff: bins and cells that one file covers and the other does not. */
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct compare {
    const cov_data *other; /* the other file's hits in the shape of this one */
    const char *title;
    uint64_t lines;
    bool json;
} compare;

/* Items that only this file covers. */
static void put_lost(void *ctx, const cov_data *data, const tool_item *item) {
    compare *c = ctx;
    char name[700];
    const uint32_t at = (item->point != NULL ? item->point->first : item->cross->first) + item->index;
    (void)data;
    if (item->role != COV_COUNTED || item->hits < item->goal || c->other->counts[at] >= item->goal) {
        return;
    }
    tool_item_name(item, name, sizeof name);
    if (c->json) {
        fputs(c->lines++ == 0 ? "\n  " : ",\n  ", stdout);
        rep_json(stdout, name);
    } else {
        if (c->lines++ == 0) {
            printf("%s\n", c->title);
        }
        printf("  %s\n", name);
    }
}

/* The hits of `from` in the shape of `like`, without those that it has itself. */
static int reshape(const cov_data *like, const cov_data *from, cov_data *out, cov_error *err) {
    char *bytes = NULL;
    size_t size = 0;
    int rc = cov_print((cov_data *)(uintptr_t)like, &bytes, &size, err); /* makes its text, changes nothing else */
    cov_data_init(out);
    rc = rc == COV_OK ? cov_parse(out, bytes, size, "shape", err) : rc;
    if (rc == COV_OK) {
        memset(out->counts, 0, out->count_count * sizeof *out->counts);
        rc = cov_load(out, from, NULL, NULL, err);
    }
    free(bytes);
    return rc;
}

int tool_diff(const tool *t) {
    cov_data side[2];
    cov_data shaped[2];
    cov_error err;
    for (int i = 0; i < 2; i++) {
        cov_data_init(&side[i]);
        cov_data_init(&shaped[i]);
    }
    int rc = cov_read(&side[0], t->files[0], &err);
    rc = rc == COV_OK ? cov_read(&side[1], t->files[1], &err) : rc;
    for (int i = 0; i < 2 && rc == COV_OK; i++) {
        rc = reshape(&side[i], &side[1 - i], &shaped[i], &err);
    }
    if (rc == COV_OK) {
        const cov_score a = cov_score_all(&side[0]);
        const cov_score b = cov_score_all(&side[1]);
        compare only[2] = {{&shaped[0], "only in the first:", 0, t->json},
                           {&shaped[1], "only in the second:", 0, t->json}};
        if (t->json) {
            printf("{\"percent\": [%.2f, %.2f], \"only_first\": [", a.percent, b.percent);
            tool_walk(&side[0], NULL, put_lost, &only[0]);
            fputs("], \"only_second\": [", stdout);
            tool_walk(&side[1], NULL, put_lost, &only[1]);
            fputs("]}\n", stdout);
        } else {
            printf("%.2f %% (%" PRIu64 " of %" PRIu64 "), %.2f %% (%" PRIu64 " of %" PRIu64 ")\n", a.percent, a.covered,
                   a.total, b.percent, b.covered, b.total);
            tool_walk(&side[0], NULL, put_lost, &only[0]);
            tool_walk(&side[1], NULL, put_lost, &only[1]);
        }
    }
    for (int i = 0; i < 2; i++) {
        cov_data_free(&side[i]);
        cov_data_free(&shaped[i]);
    }
    return rc == COV_OK ? 0 : tool_error(t, err.text);
}
