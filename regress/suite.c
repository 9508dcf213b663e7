/*
 * suite.c - suite files and job lists: one language, read here and printed here (suite_line.c reads a line of
 * jobs, expand.c makes the jobs).
 *
 * A line describes jobs of one kind; expansion makes one job for every configuration and every step of count. A printed
 * job list uses the same lines with count 1 and an explicit index, so it runs as it is.
 */
#define _GNU_SOURCE
#include "suite.h"
#include "opt/opt.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kind_names[] = {"fast", "debug", "tap", "cov", "san"};

reg_status reg_suite_bad(const suite_reader *reader, const char *fmt, ...) {
    char text[REG_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "%s:%u: %s\n", reader->path, reader->line, text);
    return REG_USAGE;
}

static const char *const what_names[REG_WHAT_COUNT] = {"unit", "test", "network", "case", "python"};

const char *reg_what_name(reg_what what) {
    return what_names[what];
}

bool reg_has_cases(reg_what what) {
    return what == REG_UNIT || what == REG_TEST || what == REG_PYTHON;
}

reg_what reg_what_of(const char *word) {
    size_t i = 0;
    while (i < REG_WHAT_COUNT && strcmp(word, what_names[i]) != 0) {
        i++;
    }
    return (reg_what)i;
}

bool reg_kind_known(const char *kind) {
    for (size_t i = 0; i < sizeof kind_names / sizeof kind_names[0]; i++) {
        if (strcmp(kind, kind_names[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool reg_name_valid(const char *name) {
    size_t length = strlen(name);
    return length > 0 && length < REG_NAME_MAX && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

int reg_suite_add(reg_suite *suite, const reg_job *job) {
    if (!rep_more(&suite->jobs, suite->count, sizeof *suite->jobs)) {
        return reg_error("out of memory");
    }
    suite->jobs[suite->count++] = *job;
    return REG_OK;
}

static reg_status parse_file(suite_reader *reader);

/* include FILE, beside this one: its job lines as if they were here. */
static reg_status parse_include(const suite_reader *reader, const char *name) {
    char path[REG_PATH_MAX];
    const char *slash = strrchr(reader->path, '/');
    suite_reader inner = *reader;
    if (name == NULL || strchr(name, '/') != NULL ||
        !reg_format(path, sizeof path, "%.*s%s", slash == NULL ? 0 : (int)(slash - reader->path + 1), reader->path,
                    name)) {
        return reg_suite_bad(reader, "include: expected the name of a file beside this one");
    }
    if (reader->depth >= 4) {
        return reg_suite_bad(reader, "include %s: too deep", name);
    }
    inner.path = path;
    inner.line = 0;
    inner.depth = reader->depth + 1;
    return parse_file(&inner);
}

/* The lines that set one value for the whole suite. */
static reg_status parse_setting(const suite_reader *reader, const char *word, char **rest, const char *blanks) {
    const char *value = strtok_r(NULL, blanks, rest);
    if (value == NULL || strtok_r(NULL, blanks, rest) != NULL) {
        return reg_suite_bad(reader, "%s: expected one value", word);
    }
    uint64_t number = 0;
    if (strcmp(word, "budget") == 0) {
        if (!opt_number(value, 1, 604800, &number)) {
            return reg_suite_bad(reader, "budget %s: expected seconds, 1 to 604800", value);
        }
        reader->suite->budget_s = (uint32_t)number;
    } else if (strcmp(word, "seed") == 0) {
        if (!opt_number(value, 0, UINT64_MAX, &reader->suite->seed)) {
            return reg_suite_bad(reader, "seed %s: expected a number of 64 bits", value);
        }
    } else {
        if (!reg_name_valid(value)) {
            return reg_suite_bad(reader, "suite %s: expected a name of small letters, digits, - and _", value);
        }
        (void)reg_format(reader->suite->name, sizeof reader->suite->name, "%s", value);
    }
    return REG_OK;
}

static reg_status parse_line(const suite_reader *reader, char *text) {
    const char *blanks = " \t\r\n";
    char *rest = NULL;
    text[strcspn(text, "#")] = '\0';
    const char *word = strtok_r(text, blanks, &rest);
    if (word == NULL) {
        return REG_OK;
    }
    if (strcmp(word, "budget") == 0 || strcmp(word, "seed") == 0 || strcmp(word, "suite") == 0) {
        return parse_setting(reader, word, &rest, blanks);
    }
    if (strcmp(word, "ordered") == 0) {
        reader->suite->ordered = true;
        return strtok_r(NULL, blanks, &rest) == NULL ? REG_OK : reg_suite_bad(reader, "ordered: expected no value");
    }
    if (strcmp(word, "include") == 0) {
        return parse_include(reader, strtok_r(NULL, blanks, &rest));
    }
    bool repeat = strcmp(word, "repeat") == 0;
    if (repeat) {
        word = strtok_r(NULL, blanks, &rest);
        if (word == NULL) {
            return reg_suite_bad(reader, "repeat: expected unit, test, network, case or python after it");
        }
    }
    if (reg_what_of(word) != REG_WHAT_COUNT) {
        return reg_line_parse(reader, word, repeat, &rest, blanks);
    }
    return reg_suite_bad(
        reader,
        "\"%s\" is unknown (expected unit, test, network, case, python, repeat, include, budget, seed, suite or "
        "ordered)",
        word);
}

/* All lines of the reader's file. */
static reg_status parse_file(suite_reader *reader) {
    FILE *file = fopen(reader->path, "re");
    if (file == NULL) {
        return reg_refuse("%s: cannot read the suite: %s", reader->path, reg_why());
    }
    char text[REG_TEXT_MAX];
    reg_status status = REG_OK;
    while (status == REG_OK && fgets(text, sizeof text, file) != NULL) {
        reader->line++;
        if (strchr(text, '\n') == NULL && !feof(file)) {
            status = reg_suite_bad(reader, "the line is longer than %d characters", REG_TEXT_MAX - 2);
        } else {
            status = parse_line(reader, text);
        }
    }
    if (status == REG_OK && !feof(file)) {
        status = reg_refuse("%s: cannot read the suite: %s", reader->path, reg_why());
    }
    (void)fclose(file);
    return status;
}

/* The suite is called after its file unless a line names it. */
static void name_from_path(reg_suite *suite, const char *path) {
    const char *base = strrchr(path, '/');
    base = base == NULL ? path : base + 1;
    (void)reg_format(suite->name, sizeof suite->name, "%s", base);
    char *dot = strrchr(suite->name, '.');
    if (dot != NULL && dot != suite->name) {
        *dot = '\0';
    }
    for (char *p = suite->name; *p != '\0'; p++) { /* the name of a suite is restricted, that of a file is not */
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        bool fits = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_';
        *p = fits ? *p : '-';
    }
    if (!reg_name_valid(suite->name)) {
        (void)reg_format(suite->name, sizeof suite->name, "suite");
    }
}

/* The files of a suite, one for each design that has it; their budgets add up. */
static reg_status parse_of_designs(suite_reader *reader, const char *name) {
    const reg_designs *designs = reader->options->designs;
    reg_status status = REG_OK;
    uint32_t budget = 0;
    for (size_t i = 0; i < designs->count && status == REG_OK; i++) {
        char path[REG_PATH_MAX];
        char below[REG_NAME_MAX + 32];
        suite_reader own = *reader;
        const reg_design *design = &designs->list[i];
        (void)reg_format(below, sizeof below, "/suites/%s", name);
        if ((reader->options->design != NULL && reader->options->design != design) ||
            !reg_design_room(design, "designs", below, path, sizeof path) || access(path, R_OK) != 0) {
            continue;
        }
        own.path = path;
        own.design = design;
        own.suite->budget_s = 0;
        status = parse_file(&own);
        budget += own.suite->budget_s;
    }
    reader->suite->budget_s = budget;
    return status;
}

static reg_status load(reg_suite *suite, const char *path, const reg_suite_options *options) {
    suite_reader reader = {.path = path, .options = options, .suite = suite};
    const size_t all = strlen(REG_ALL_DESIGNS);
    memset(suite, 0, sizeof *suite);
    suite->seed = 1;
    name_from_path(suite, path);
    reader.design = options->design != NULL ? options->design : reg_design_of_suite(options->designs, path);
    reg_status status =
        strncmp(path, REG_ALL_DESIGNS, all) == 0 ? parse_of_designs(&reader, path + all) : parse_file(&reader);
    if (status != REG_OK) {
        reg_suite_free(suite);
    }
    return status;
}

reg_status reg_suite_load(reg_suite *suite, const char *path, const reg_suite_options *options) {
    reg_status status = load(suite, path, options);
    if (status == REG_OK && options->marked && suite->count == 0) {
        reg_suite_options any = *options;
        any.marked = false;
        status = load(suite, path, &any);
        if (status == REG_OK) {
            reg_mark_all(suite);
        }
    }
    return status;
}

void reg_suite_free(reg_suite *suite) {
    free(suite->jobs);
    suite->jobs = NULL;
    suite->count = 0;
}

void reg_suite_print(const reg_suite *suite, uint64_t seed, FILE *out) {
    fprintf(out, "suite %s\nseed 0x%" PRIx64 "\n", suite->name, seed);
    for (const char *line = suite->left_out; *line != '\0'; line += strcspn(line, "\n") + 1) {
        fprintf(out, "# %.*s\n", (int)strcspn(line, "\n"), line);
    }
    if (suite->budget_s != 0) {
        fprintf(out, "budget %u\n", suite->budget_s);
    }
    fputs(suite->ordered ? "ordered\n" : "", out);
    for (size_t i = 0; i < suite->count; i++) {
        const reg_job *job = &suite->jobs[i];
        if (job->second_run) {
            continue;
        }
        fprintf(out, "%s%s %s cfg=%s kind=%s", job->checked_twice ? "repeat " : "", reg_what_name(job->what), job->name,
                job->cfg, job->kind);
        if (reg_has_cases(job->what)) {
            fprintf(out, " index=%" PRIu64 " cases=%u", job->index, job->cases);
        }
        if (job->weight > 1) {
            fprintf(out, " weight=%u", job->weight);
        }
        fprintf(out, " timeout=%u memory=%u%s%s\n", job->timeout_s, job->memory_mb, job->args[0] == '\0' ? "" : " -- ",
                job->args);
    }
}
