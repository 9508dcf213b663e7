/* merge.c - tandem-cov merge. */
#include "tool.h"

#include <inttypes.h>

static void told(void *ctx, const char *what, uint64_t hits) {
    const tool *t = ctx;
    fprintf(stderr, "%s: stale: %s has %" PRIu64 " hits, but no place in %s\n", t->prog, what, hits, t->like);
}

/* Everything into the shape of one file, whose own hits count only if it is among the files. */
static int merge_like(const tool *t, cov_data *data, cov_error *err) {
    cov_data all;
    cov_data_init(&all);
    int rc = cov_read(data, t->like, err);
    if (rc == COV_OK) {
        for (uint32_t i = 0; i < data->count_count; i++) {
            data->counts[i] = 0;
        }
        for (uint32_t g = 0; g < data->group_count; g++) {
            data->groups[g].samples = 0;
        }
        data->files = 0;
    }
    for (uint32_t i = 0; rc == COV_OK && i < t->file_count; i++) {
        cov_data one;
        rc = cov_read(&one, t->files[i], err);
        rc = rc == COV_OK ? cov_load(data, &one, told, (void *)(uintptr_t)t, err) : rc;
        cov_data_free(&one);
    }
    cov_data_free(&all);
    return rc;
}

typedef struct partial {
    uint64_t count;
    char first[600];
} partial;

static void count_partial(void *ctx, const cov_data *data, const tool_item *item) {
    partial *p = ctx;
    (void)data;
    if (item->partial && p->count++ == 0) {
        tool_item_name(item, p->first, sizeof p->first);
    }
}

int tool_merge(const tool *t) {
    cov_data data;
    cov_error err;
    int rc = COV_OK;
    cov_data_init(&data);
    if (t->like != NULL) {
        rc = merge_like(t, &data, &err);
    } else {
        for (uint32_t i = 0; rc == COV_OK && i < t->file_count; i++) {
            rc = cov_merge_file(&data, t->files[i], &err);
        }
    }
    rc = rc == COV_OK ? cov_write(&data, t->output, &err) : rc;
    if (rc == COV_OK) {
        partial p = {0};
        const cov_score s = cov_score_all(&data);
        tool_walk(&data, NULL, count_partial, &p);
        if (p.count > 0) {
            fprintf(stderr, "%s: stale or new: %" PRIu64 " bins and cells are not in all files, the first one is %s\n",
                    t->prog, p.count, p.first);
        }
        printf("%s: %" PRIu64 " files, %.2f %%, %" PRIu64 " of %" PRIu64 " bins and cells, %" PRIu64 " illegal hits\n",
               t->output, data.files, s.percent, s.covered, s.total, s.illegal);
    }
    cov_data_free(&data);
    return rc == COV_OK ? 0 : tool_error(t, err.text);
}
