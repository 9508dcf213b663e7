/* rank.c - tandem-cov rank: the fewest files that cover what all cover, as lines of a suite. */
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct file {
    const char *path;
    uint64_t *counts; /* in the shape of all */
    char *job;
    uint64_t cycles; /* UINT64_MAX: not known */
} file;

typedef struct ranking {
    cov_data all;
    file *files;       /* cheaper ones first: of equal gains they win */
    uint64_t **counts; /* theirs */
    uint32_t *order;
    uint64_t *gain;
    uint32_t chosen;
} ranking;

/* The number after a word of the comment of a job: "test a cfg=n4 # run seed 7 cycles 100". */
static bool said(const char *job, const char *word, uint64_t *value) {
    const char *at = strchr(job, '#');
    at = at == NULL ? NULL : strstr(at, word);
    return at != NULL && sscanf(at + strlen(word), " %" SCNu64, value) == 1;
}

/* Counters of a file in the shape of all. */
static int reshape(ranking *r, const tool *t, uint32_t i, cov_data *empty, cov_error *err) {
    cov_data one;
    file *f = &r->files[i];
    int rc = cov_read(&one, t->files[i], err);
    if (rc == COV_OK) {
        f->path = t->files[i];
        f->job = strdup(one.job);
        f->counts = calloc((size_t)r->all.count_count + 1, sizeof(uint64_t));
        if (f->job == NULL || f->counts == NULL) {
            rc = cov_fail(err, COV_NO_MEMORY, "out of memory");
        } else if (!said(f->job, " cycles ", &f->cycles)) {
            f->cycles = UINT64_MAX;
        }
    }
    if (rc == COV_OK) {
        memset(empty->counts, 0, empty->count_count * sizeof *empty->counts);
        rc = cov_load(empty, &one, NULL, NULL, err);
    }
    if (rc == COV_OK) {
        memcpy(f->counts, empty->counts, empty->count_count * sizeof *empty->counts);
    }
    cov_data_free(&one);
    return rc;
}

static int by_cycles(const void *a, const void *b) {
    const file *x = a;
    const file *y = b;
    return x->cycles != y->cycles ? (x->cycles < y->cycles ? -1 : 1) : strcmp(x->path, y->path);
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

/* Have the chosen jobs one run seed? */
static bool one_seed(const ranking *r, uint64_t *seed) {
    for (uint32_t i = 0; i < r->chosen; i++) {
        uint64_t own = 0;
        if (!said(r->files[r->order[i]].job, "# run seed ", &own) || (i > 0 && own != *seed)) {
            return false;
        }
        *seed = own;
    }
    return r->chosen > 0;
}

/* A job with what its comment says of the run seed as a word, before the arguments of the program. */
static void put_job(const char *job, bool with_seed, FILE *out) {
    uint64_t seed = 0;
    const bool known = said(job, "# run seed ", &seed);
    size_t length = known ? strcspn(job, "#") : strlen(job);
    while (known && length > 0 && job[length - 1] == ' ') {
        length--;
    }
    const char *args = strstr(job, " -- ");
    const size_t head = args != NULL && args < job + length ? (size_t)(args - job) : length;
    fprintf(out, "%.*s", (int)head, job);
    if (known && with_seed) {
        fprintf(out, " seed=%" PRIu64, seed);
    }
    fprintf(out, "%.*s\n", (int)(length - head), job + head);
}

/* Lines of a suite; a file that does not know its job is a comment. */
static void put_lines(const ranking *r, const tool *t, FILE *out) {
    const cov_score s = cov_score_all(&r->all);
    uint64_t seed = 0;
    const bool one = one_seed(r, &seed);
    fprintf(out, "# %" PRIu32 " of %" PRIu32 " jobs with the coverage of all: %" PRIu64 " bins and cells\n", r->chosen,
            t->file_count, s.covered);
    if (one) {
        fprintf(out, "seed %" PRIu64 "\n", seed);
    }
    for (uint32_t i = 0; i < r->chosen; i++) {
        const file *f = &r->files[r->order[i]];
        if (f->job[0] == '\0') {
            fprintf(out, "# no job is known of %s\n", f->path);
        } else {
            put_job(f->job, !one, out);
        }
    }
}

static int write_lines(const ranking *r, const tool *t, cov_error *err) {
    rep_file out;
    if (tool_told(rep_file_open(&out, t->output), t->output, err) != COV_OK) {
        return COV_IO;
    }
    put_lines(r, t, out.file);
    return tool_told(rep_file_close(&out, false), t->output, err);
}

static void put_table(const ranking *r, const tool *t) {
    if (t->json) {
        const cov_score s = cov_score_all(&r->all);
        printf("{\"files\": %" PRIu32 ", \"covered\": %" PRIu64 ", \"chosen\": [", t->file_count, s.covered);
        for (uint32_t i = 0; i < r->chosen; i++) {
            printf("%s\n  {\"file\": ", i == 0 ? "" : ",");
            rep_json(stdout, r->files[r->order[i]].path);
            fputs(", \"job\": ", stdout);
            rep_json(stdout, r->files[r->order[i]].job);
            printf(", \"gain\": %" PRIu64 "}", r->gain[i]);
        }
        puts("]}");
    } else if (t->output == NULL) {
        put_lines(r, t, stdout);
    } else {
        for (uint32_t i = 0; i < r->chosen; i++) {
            printf("%8" PRIu64 "  %s\n", r->gain[i], r->files[r->order[i]].path);
        }
    }
}

int tool_rank(const tool *t) {
    ranking r = {0};
    cov_error err;
    cov_data_init(&r.all);
    r.counts = calloc(t->file_count, sizeof *r.counts);
    r.files = calloc(t->file_count, sizeof *r.files);
    r.order = calloc(t->file_count, sizeof *r.order);
    r.gain = calloc(t->file_count, sizeof *r.gain);
    int rc = COV_NO_MEMORY;
    if (r.counts == NULL || r.files == NULL || r.order == NULL || r.gain == NULL) {
        (void)snprintf(err.text, sizeof err.text, "out of memory");
    } else {
        rc = load(&r, t, &err);
    }
    if (rc == COV_OK) {
        qsort(r.files, t->file_count, sizeof *r.files, by_cycles);
        for (uint32_t i = 0; i < t->file_count; i++) {
            r.counts[i] = r.files[i].counts;
        }
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
    for (uint32_t i = 0; r.files != NULL && i < t->file_count; i++) {
        free(r.files[i].counts);
        free(r.files[i].job);
    }
    free(r.files);
    free(r.counts);
    free(r.order);
    free(r.gain);
    cov_data_free(&r.all);
    return rc == COV_OK ? 0 : tool_error(t, err.text);
}
