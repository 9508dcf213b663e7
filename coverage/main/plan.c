/* plan.c - tandem-cov plan: jobs whose pins aim at the holes of a coverage file. */
#include "plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(const char *text) {
    return text[0] != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789,_-") == strlen(text);
}

/* 0 or the exit status. */
static int check_options(const tool *t) {
    if (t->plan.cfg == NULL || !is_word(t->plan.cfg)) {
        return tool_refuse(t, "plan needs --cfg, a word", t->plan.cfg == NULL ? "" : t->plan.cfg);
    }
    if (t->plan.kind != NULL && !is_word(t->plan.kind)) {
        return tool_refuse(t, "--kind: expected a word", t->plan.kind);
    }
    if (((uint64_t)t->plan.round + 1) * t->plan.jobs * t->plan.cases > UINT32_MAX) {
        return tool_refuse(t, "--round: too large, indices of cases have 32 bits", "");
    }
    return 0;
}

/* ---- tries of earlier rounds: a line "TRIES<tab>NAME<tab>HINT" for each hole ---- */

static int by_hole_name(const void *a, const void *b) {
    return strcmp((*(plan_hole *const *)a)->name, (*(plan_hole *const *)b)->name);
}

/* False: the line is none of this file's. */
static bool take_tries(plan_hole **sorted, uint32_t count, char *line) {
    char *end = NULL;
    const double tries = strtod(line, &end);
    plan_hole key = {.name = end + 1};
    const plan_hole *wanted = &key;
    if (end == line || *end != '\t' || !(tries >= 0.0 && tries <= 1e9)) {
        return false;
    }
    key.name[strcspn(key.name, "\t\n")] = '\0';
    plan_hole **found = bsearch(&wanted, sorted, count, sizeof(plan_hole *), by_hole_name);
    if (found != NULL) {
        (*found)->tries = tries;
    }
    return true;
}

/* A missing file means the first round. */
static int read_tried(plan *p, const char *path, cov_error *err) {
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    uint32_t number = 0;
    int rc = COV_OK;
    if (in == NULL) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: %s", path, strerror(errno));
        return errno == ENOENT ? COV_OK : COV_IO;
    }
    plan_hole **sorted = calloc((size_t)p->hole_count + 1, sizeof *sorted);
    for (uint32_t i = 0; sorted != NULL && i < p->hole_count; i++) {
        sorted[i] = &p->holes[i];
    }
    if (sorted == NULL) {
        rc = cov_fail(err, COV_NO_MEMORY, "out of memory");
    } else {
        qsort(sorted, p->hole_count, sizeof *sorted, by_hole_name);
    }
    while (rc == COV_OK && getline(&line, &room, in) > 0) {
        number++;
        if (line[0] != '#' && !take_tries(sorted, p->hole_count, line)) {
            rc = cov_fail(err, COV_BAD_FILE, "%.200s:%" PRIu32 ": expected tries, a tab and the name of a bin", path,
                          number);
        }
    }
    if (rc == COV_OK && !feof(in)) {
        rc = cov_fail(err, COV_IO, "%.200s: %s", path, strerror(errno));
    }
    free(line);
    free(sorted);
    (void)fclose(in);
    return rc;
}

/* Holes are in the order of the walk that read them. */
typedef struct writing {
    const plan *p;
    uint32_t next;
    FILE *file;
} writing;

static void put_tries(void *ctx, const cov_data *data, const tool_item *item) {
    writing *w = ctx;
    char name[700];
    char hint[700];
    (void)data;
    tool_item_name(item, name, sizeof name);
    if (w->next == w->p->hole_count || strcmp(w->p->holes[w->next].name, name) != 0) {
        return;
    }
    const plan_hole *hole = &w->p->holes[w->next++];
    if (hole->tries >= 0.0001) {
        tool_item_hint(item, hint, sizeof hint);
        fprintf(w->file, "%.4f\t%s\t%s\n", hole->tries, name, hint);
    }
}

static int write_tried(const plan *p, const char *path, cov_error *err) {
    rep_file out;
    if (tool_told(rep_file_open(&out, path), path, err) != COV_OK) {
        return COV_IO;
    }
    writing w = {.p = p, .file = out.file};
    fputs("# how many hits planned jobs should have had, of bins that nothing has hit: for tandem-cov plan\n",
          out.file);
    tool_walk(p->data, NULL, put_tries, &w);
    return tool_told(rep_file_close(&out, false), path, err);
}

/* ---- lines ---- */

static void put_line(const plan *p, const tool *t, uint32_t number, const plan_line *line, FILE *out) {
    const uint64_t index = ((uint64_t)t->plan.round * t->plan.jobs + number) * t->plan.cases;
    const char *name = p->words[line->test].text;
    const bool unit = strncmp(name, "unit-", 5) == 0;
    fprintf(out, "%s %s cfg=%s", unit ? "unit" : "test", unit ? name + 5 : name, t->plan.cfg);
    if (t->plan.kind != NULL) {
        fprintf(out, " kind=%s", t->plan.kind);
    }
    fprintf(out, " cases=%" PRIu32 " index=%" PRIu64, line->cases, index);
    for (uint32_t i = 0; i < line->pin_count; i++) {
        fprintf(out, "%s%s=%s", i == 0 ? " -- " : " ", p->words[line->pins[i].knob].text,
                p->words[line->pins[i].value].text);
    }
    fputc('\n', out);
}

/* A test without pins, more often where it has more holes. */
static void random_line(const plan *p, uint32_t number, plan_line *line) {
    double sum = 0.0;
    line->test = p->tests[0];
    line->pin_count = 0;
    line->cases = p->cases;
    for (uint32_t i = 0; i < p->test_count; i++) {
        sum += plan_stake(p, p->tests[i]);
    }
    double at = (double)(plan_draw(p, 0, number) >> 11) / 9007199254740992.0 * sum;
    for (uint32_t i = 0; i < p->test_count; i++) {
        const double stake = plan_stake(p, p->tests[i]);
        if (at < stake) {
            line->test = p->tests[i];
            return;
        }
        at -= stake;
    }
}

/* best[]: the best line of each test, recomputed when a planned line concerns the test. */
static void choose(plan *p, plan_line *best, bool *fresh, uint32_t number, plan_line *line) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < p->test_count; i++) {
        if (!fresh[i]) {
            plan_best_line(p, p->tests[i], (uint64_t)number + 1, &best[i]);
            fresh[i] = true;
        }
        most = best[i].gain > best[most].gain ? i : most;
    }
    *line = best[most];
}

/* Tests that share a group with this one have to be recomputed. */
static void forget(const plan *p, bool *fresh, uint32_t test) {
    const uint32_t groups = p->data->group_count;
    for (uint32_t of = 0; of < p->test_count; of++) {
        for (uint32_t g = 0; p->tests[of] == test && g < groups; g++) {
            for (uint32_t i = 0; p->samples[(size_t)of * groups + g] && i < p->test_count; i++) {
                fresh[i] = fresh[i] && !p->samples[(size_t)i * groups + g];
            }
        }
    }
}

static int put_plan(plan *p, const tool *t, FILE *out, cov_error *err) {
    plan_line *best = calloc((size_t)p->test_count + 1, sizeof *best);
    bool *fresh = calloc((size_t)p->test_count + 1, sizeof *fresh);
    const bool good = best != NULL && fresh != NULL;
    for (uint32_t i = 0; good && i < t->plan.jobs; i++) {
        plan_line line;
        if ((uint64_t)(i + 1) * t->plan.random / 100 > (uint64_t)i * t->plan.random / 100) {
            random_line(p, i, &line);
        } else {
            choose(p, best, fresh, i, &line);
        }
        plan_take(p, &line);
        forget(p, fresh, line.test);
        put_line(p, t, i, &line, out);
    }
    free(best);
    free(fresh);
    if (!good) {
        (void)snprintf(err->text, sizeof err->text, "out of memory");
    }
    return good ? COV_OK : COV_NO_MEMORY;
}

static void put_summary(const plan *p, const tool *t) {
    uint32_t without = 0;
    for (uint32_t i = 0; i < p->hole_count; i++) {
        without += plan_tries(p, &p->holes[i]) >= p->give_up;
    }
    printf("%s: %" PRIu32 " jobs for %" PRIu32 " bins and cells that nothing has hit, %" PRIu32 " of them given up\n",
           t->output, p->hole_count == 0 ? 0 : t->plan.jobs, p->hole_count, without);
}

static int make_plan(plan *p, const tool *t, cov_error *err) {
    rep_file out = {.file = stdout};
    int rc = plan_read_bins(p, err);
    rc = rc == COV_OK ? plan_read_holes(p, err) : rc;
    rc = rc == COV_OK && t->plan.tried != NULL ? read_tried(p, t->plan.tried, err) : rc;
    if (rc == COV_OK && p->test_count == 0 && p->hole_count > 0) {
        rc = cov_fail(err, COV_BAD_FILE, "%.200s: no hint names a test", t->files[0]);
    }
    rc = rc == COV_OK && t->output != NULL ? tool_told(rep_file_open(&out, t->output), t->output, err) : rc;
    if (rc != COV_OK) {
        return rc;
    }
    rc = p->hole_count == 0 ? COV_OK : put_plan(p, t, out.file, err);
    if (rc == COV_OK && t->output != NULL) {
        rc = tool_told(rep_file_close(&out, false), t->output, err);
    } else if (t->output != NULL) {
        rep_file_drop(&out);
    }
    return rc == COV_OK && t->plan.tried != NULL ? write_tried(p, t->plan.tried, err) : rc;
}

int tool_plan(const tool *t) {
    cov_data data;
    cov_error err;
    plan p = {.data = &data};
    cov_data_init(&data);
    const int wrong = check_options(t);
    if (wrong != 0) {
        return wrong;
    }
    p.cases = t->plan.cases;
    p.seed = t->plan.round;
    p.give_up = t->plan.give_up;
    int rc = cov_read(&data, t->files[0], &err);
    rc = rc == COV_OK ? make_plan(&p, t, &err) : rc;
    if (rc == COV_OK && t->output != NULL) {
        put_summary(&p, t);
    }
    plan_free(&p);
    cov_data_free(&data);
    return rc == COV_OK ? 0 : tool_error(t, err.text);
}
