/* expand.c - from a line of a suite to its jobs: one for every configuration and every step of count, for every bench,
 * for every operator, for every stored case. */
#define _GNU_SOURCE
#include "suite.h"

#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static reg_status expand_line(const suite_reader *reader, const suite_line *line) {
    for (size_t c = 0; c < line->design->cfgs; c++) {
        char label[REG_LABEL_MAX];
        reg_design_label(line->design, c, label, sizeof label);
        if (!line->cfg[c] || !reg_cfg_wanted(reader->options->cfg, label) ||
            (reader->options->design != NULL && reader->options->design != line->design)) {
            continue;
        }
        for (uint64_t i = 0; i < line->count; i++) {
            reg_job job = line->job;
            (void)reg_format(job.cfg, sizeof job.cfg, "%s", label);
            job.index = line->job.index + i * job.cases;
            /* determinism=M: M jobs, spread evenly over the count. */
            job.checked_twice = i * line->determinism % line->count < line->determinism;
            int status = reg_suite_add(reader->suite, &job);
            if (status == REG_OK && job.checked_twice) {
                job.checked_twice = false;
                job.second_run = true;
                status = reg_suite_add(reader->suite, &job);
            }
            if (status != REG_OK) {
                return REG_USAGE;
            }
        }
    }
    return REG_OK;
}

static int is_bench(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 7 && strncmp(entry->d_name, "unit_", 5) == 0 && strcmp(entry->d_name + length - 2, ".c") == 0;
}

/* Take a name out of a list with commas. False: it is not in it. */
static bool take_name(char *list, const char *name) {
    const size_t length = strlen(name);
    for (char *p = list; *p != '\0';) {
        const size_t word = strcspn(p, ",");
        const size_t step = word + (p[word] == ',');
        if (word == length && strncmp(p, name, length) == 0) {
            memmove(p, p + step, strlen(p + step) + 1);
            return true;
        }
        p += step;
    }
    return false;
}

/* The line for one of the names that it expands to, unless except= lists it. */
static reg_status expand_name(const suite_reader *reader, suite_line *line, const char *name) {
    if (take_name(line->except, name)) {
        return REG_OK;
    }
    (void)reg_format(line->job.name, sizeof line->job.name, "%s", name);
    return expand_line(reader, line);
}

/* Names of except= must exist. */
static reg_status check_except(const suite_reader *reader, const suite_line *line, const char *what,
                               const char *where) {
    return line->except[strspn(line->except, ",")] == '\0'
               ? REG_OK
               : reg_suite_bad(reader, "except: there is no %s %s in %s", what, line->except, where);
}

/* "unit all": the line once for every bench unit_NAME.c of the unit folder, in order of their names. */
static reg_status expand_all_units(const suite_reader *reader, suite_line *line) {
    char room[REG_PATH_MAX];
    struct dirent **entries = NULL;
    const char *dir = reader->options->unit_dir;
    if (dir == NULL) {
        dir = reg_design_room(line->design, "testcases", "/unit", room, sizeof room) ? room : "";
    }
    int count = scandir(dir, &entries, is_bench, alphasort);
    if (count <= 0) {
        free(entries);
        return reg_suite_bad(reader, "unit all: no unit_*.c in %s", dir);
    }
    reg_status status = REG_OK;
    for (int i = 0; i < count; i++) {
        char *name = entries[i]->d_name + strlen("unit_");
        name[strlen(name) - 2] = '\0';
        if (status == REG_OK && !reg_name_valid(name)) {
            status = reg_suite_bad(reader, "unit all: %s/unit_%s.c is not a valid name of a unit", dir, name);
        } else if (status == REG_OK) {
            status = expand_name(reader, line, name);
        }
        free(entries[i]);
    }
    free(entries);
    return status == REG_OK ? check_except(reader, line, "bench", dir) : status;
}

/* "test operators": the line once for every OPERATOR(NAME) of the design's tests.def. */
static reg_status expand_operators(const suite_reader *reader, suite_line *line) {
    char path[REG_PATH_MAX];
    char text[REG_TEXT_MAX];
    reg_status status = REG_OK;
    FILE *in = reg_design_room(line->design, "designs", "/tests.def", path, sizeof path) ? fopen(path, "r") : NULL;
    if (in == NULL) {
        return reg_suite_bad(reader, "test operators: %s: %s", path, reg_why());
    }
    while (status == REG_OK && fgets(text, sizeof text, in) != NULL) {
        char name[REG_NAME_MAX];
        if (sscanf(text, "OPERATOR(%47[a-z0-9_])", name) == 1) {
            status = expand_name(reader, line, name);
        }
    }
    if (status == REG_OK && !feof(in)) {
        status = reg_suite_bad(reader, "test operators: %s: %s", path, reg_why());
    }
    (void)fclose(in);
    return status == REG_OK ? check_except(reader, line, "operator", path) : status;
}

static int is_stored(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 5, ".case") == 0;
}

/* Of the line's configurations, keep the one that the case file names. */
static reg_status cfg_of_stored(const suite_reader *reader, suite_line *line) {
    char text[256];
    bool known = false;
    FILE *in = fopen(line->job.args, "r");
    if (in == NULL) {
        return reg_suite_bad(reader, "case all: %s: %s", line->job.args, reg_why());
    }
    while (fgets(text, sizeof text, in) != NULL) {
        text[strcspn(text, "\r\n")] = '\0';
        for (size_t c = 0; c < line->design->cfgs && strncmp(text, "cfg=", 4) == 0; c++) {
            const bool same = strcmp(text + 4, line->design->cfg[c]) == 0;
            line->cfg[c] = line->cfg[c] && same;
            known = known || same;
        }
    }
    const bool whole = feof(in) != 0;
    (void)fclose(in);
    if (!whole) {
        return reg_suite_bad(reader, "case all: %s: %s", line->job.args, reg_why());
    }
    return known ? REG_OK : reg_suite_bad(reader, "case all: %s names no cfg", line->job.args);
}

/* "case all": the line once for every NAME.case of the folder of stored cases, in order of their names, for the
 * configuration that the case names. */
static reg_status expand_all_stored(const suite_reader *reader, suite_line *line) {
    char room[REG_PATH_MAX];
    struct dirent **entries = NULL;
    const char *dir = reader->options->stored_dir;
    if (dir == NULL) {
        dir = reg_design_room(line->design, "testcases", "/cases", room, sizeof room) ? room : "";
    }
    int count = scandir(dir, &entries, is_stored, alphasort);
    if (count <= 0) {
        free(entries);
        return reg_suite_bad(reader, "case all: no *.case in %s", dir);
    }
    reg_status status = REG_OK;
    for (int i = 0; i < count; i++) {
        suite_line one = *line;
        char *name = entries[i]->d_name;
        bool fits = reg_format(one.job.args, sizeof one.job.args, "%s/%s", dir, name);
        name[strlen(name) - strlen(".case")] = '\0';
        if (status == REG_OK && (!fits || strchr(one.job.args, ' ') != NULL || !reg_name_valid(name))) {
            status = reg_suite_bad(reader, "case all: %s/%s.case is not a valid name of a case", dir, name);
        } else if (status == REG_OK) {
            (void)reg_format(one.job.name, sizeof one.job.name, "%s", name);
            status = cfg_of_stored(reader, &one);
            status = status == REG_OK ? expand_line(reader, &one) : status;
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

reg_status reg_line_expand(const suite_reader *reader, suite_line *line) {
    static const struct {
        reg_what what;
        const char *name;
        reg_status (*expand)(const suite_reader *reader, suite_line *line);
    } groups[] = {{REG_UNIT, "all", expand_all_units},
                  {REG_TEST, "operators", expand_operators},
                  {REG_CASE, "all", expand_all_stored}};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (line->job.what == groups[i].what && strcmp(line->job.name, groups[i].name) == 0) {
            return groups[i].expand(reader, line);
        }
    }
    return expand_line(reader, line);
}

/* ---- coverage of a suite without marks ---- */

static bool same_test(const reg_job *a, const reg_job *b) {
    return a->what == b->what && strcmp(a->cfg, b->cfg) == 0 && (a->what == REG_CASE || strcmp(a->name, b->name) == 0);
}

static bool same_cases(const reg_job *a, const reg_job *b) {
    return a->index == b->index && a->cases == b->cases && strcmp(a->name, b->name) == 0 &&
           strcmp(a->args, b->args) == 0;
}

void reg_mark_all(reg_suite *suite) {
    size_t kept = 0;
    for (size_t i = 0; i < suite->count; i++) {
        reg_job *job = &suite->jobs[i];
        bool wanted = reg_job_covers(job);
        bool first = true;
        for (size_t k = kept; k > 0 && wanted; k--) {
            const bool same = same_test(&suite->jobs[k - 1], job);
            first = first && !same;
            wanted = !same || !same_cases(&suite->jobs[k - 1], job); /* another line has them in another build */
        }
        if (wanted) {
            job->checked_twice = false;
            job->timeout_s *= first ? REG_CODE_SLOWER : 1;
            (void)reg_format(job->kind, sizeof job->kind, "%s", first ? "cov" : "fast");
            suite->jobs[kept++] = *job;
        }
    }
    suite->count = kept;
    const size_t used = strlen(suite->left_out);
    (void)reg_format(suite->left_out + used, sizeof suite->left_out - used,
                     "%s marks no job for coverage (cover=): all its tests, benches and stored cases\n", suite->name);
}
