/* rank.c - tandem-cov rank: the fewest files that cover what all cover, as lines of a suite. */
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct ranking {
    cov_data all;
    uint64_t **counts; /* of each file, in the shape of all */
    char **jobs;
    uint32_t *order;
    uint64_t *gain;
    uint32_t chosen;
} ranking;

/* Counters of a file in the shape of all. */
static int reshape(ranking *r, const tool *t, uint32_t file, cov_data *empty, cov_error *err) {
    cov_data one;
    int rc = cov_read(&one, t->files[file], err);
    if (rc == COV_OK) {
        r->jobs[file] = strdup(one.job);
        r->counts[file] = calloc((size_t)r->all.count_count + 1, sizeof(uint64_t));
        if (r->jobs[file] == NULL || r->counts[file] == NULL) {
            (void)snprintf(err->text, sizeof err->text, "out of memory");
            rc = COV_NO_MEMORY;
        }
    }
    if (rc == COV_OK) {
        memset(empty->counts, 0, empty->count_count * sizeof *empty->counts);
        rc = cov_load(empty, &one, NULL, NULL, err);
    }
    if (rc == COV_OK) {
        memcpy(r->counts[file], empty->counts, empty->count_count * sizeof *empty->counts);
    }
    cov_data_free(&one);
    return rc;
}

static int load(ranking *r, const tool *t, cov_error *err) {
    cov_data empty;
    char *bytes = NULL;
    size_t size = 0;
    int rc = COV_OK;
    cov_data_init(&empty);
    for (uint32_t i = 0; rc == COV_OK && i < t->file_count; i++) {
        rc = cov_merge_file(&r->all, t->files[i], err);
    }
    rc = rc == COV_OK ? cov_print(&r->all, &bytes, &size, err) : rc;
    rc = rc == COV_OK ? cov_parse(&empty, bytes, size, "all", err) : rc;
    for (uint32_t i = 0; rc == COV_OK && i < t->file_count; i++) {
        rc = reshape(r, t, i, &empty, err);
    }
    cov_data_free(&empty);
    free(bytes);
    return rc;
}

/* Lines of a suite; a file that does not know its job is a comment. */
static void put_lines(const ranking *r, const tool *t, FILE *out) {
    const cov_score s = cov_score_all(&r->all);
    fprintf(out, "# %" PRIu32 " of %" PRIu32 " jobs with the coverage of all: %" PRIu64 " bins and cells\n", r->chosen, t->file_count,
            s.covered);
    for (uint32_t i = 0; i < r->chosen; i++) {
        const char *job = r->jobs[r->order[i]];
        fprintf(out, "%s%s\n", job[0] == '\0' ? "# no job is known of " : "", job[0] == '\0' ? t->files[r->order[i]] : job);
    }
}

static int write_lines(const ranking *r, const tool *t, cov_error *err) {
    tool_out out;
    if (tool_out_open(&out, t->output, err) != COV_OK) {
        return COV_IO;
    }
    put_lines(r, t, out.file);
    return tool_out_close(&out, err);
}

static void put_table(const ranking *r, const tool *t) {
    if (t->json) {
        const cov_score s = cov_score_all(&r->all);
        printf("{\"files\": %" PRIu32 ", \"covered\": %" PRIu64 ", \"chosen\": [", t->file_count, s.covered);
        for (uint32_t i = 0; i < r->chosen; i++) {
            printf("%s\n  {\"file\": ", i == 0 ? "" : ",");
            put_json(stdout, t->files[r->order[i]]);
            fputs(", \"job\": ", stdout);
            put_json(stdout, r->jobs[r->order[i]]);
            printf(", \"gain\": %" PRIu64 "}", r->gain[i]);
        }
        puts("]}");
    } else if (t->output == NULL) {
        put_lines(r, t, stdout);
    } else {
        for (uint32_t i = 0; i < r->chosen; i++) {
            printf("%8" PRIu64 "  %s\n", r->gain[i], t->files[r->order[i]]);
        }
    }
}

int tool_rank(const tool *t) {
    ranking r = {0};
    cov_error err;
    cov_data_init(&r.all);
    r.counts = calloc(t->file_count, sizeof *r.counts);
    r.jobs = calloc(t->file_count, sizeof *r.jobs);
    r.order = calloc(t->file_count, sizeof *r.order);
    r.gain = calloc(t->file_count, sizeof *r.gain);
    int rc = COV_NO_MEMORY;
    if (r.counts == NULL || r.jobs == NULL || r.order == NULL || r.gain == NULL) {
        (void)snprintf(err.text, sizeof err.text, "out of memory");
    } else {
        rc = load(&r, t, &err);
    }
    if (rc == COV_OK) {
        rc = cov_rank(&r.all, (const uint64_t *const *)r.counts, t->file_count, r.order, r.gain, &r.chosen, &err);
    }
    if (rc == COV_OK && t->output != NULL) {
        rc = write_lines(&r, t, &err);
    }
    if (rc == COV_OK) {
        put_table(&r, t);
    }
    for (uint32_t i = 0; i < t->file_count; i++) {
        free(r.counts == NULL ? NULL : r.counts[i]);
        free(r.jobs == NULL ? NULL : r.jobs[i]);
    }
    free(r.counts);
    free(r.jobs);
    free(r.order);
    free(r.gain);
    cov_data_free(&r.all);
    return rc == COV_OK ? 0 : tool_error(t, err.text);
}
