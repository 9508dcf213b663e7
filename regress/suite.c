/*
 * suite.c - suite files and job lists: one language, read here and printed here (expand.c makes the jobs).
 *
 * A line describes jobs of one kind; expansion makes one job for every configuration and every step of count. A printed
 * job list uses the same lines with count 1 and an explicit index, so it runs as it is.
 */
#define _GNU_SOURCE
#include "suite.h"
#include "opt/opt.h"
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kind_names[] = {"fast", "debug", "tap", "cov", "san"};

enum {
    KEY_CFG,
    KEY_KIND,
    KEY_COUNT,
    KEY_INDEX,
    KEY_CASES,
    KEY_TIMEOUT,
    KEY_MEMORY,
    KEY_DETERMINISM,
    KEY_EXCEPT,
    KEY_WEIGHT,
    KEY_COVER,
    KEY_CODE,
    KEY_WHEN,
    KEY_SEED,
    KEY_TOTAL
};

typedef struct key_rule {
    const char *name;
    uint64_t lo;
    uint64_t hi; /* 0: the value is no number */
} key_rule;

static const key_rule key_rules[KEY_TOTAL] = {
    [KEY_CFG] = {"cfg", 0, 0},
    [KEY_KIND] = {"kind", 0, 0},
    [KEY_COUNT] = {"count", 0, 100000},
    [KEY_INDEX] = {"index", 0, UINT32_MAX},
    [KEY_CASES] = {"cases", 1, 1000000},
    [KEY_TIMEOUT] = {"timeout", 1, 86400},
    [KEY_MEMORY] = {"memory", 0, 1048576},
    [KEY_DETERMINISM] = {"determinism", 0, 100000},
    [KEY_EXCEPT] = {"except", 0, 0},
    [KEY_WEIGHT] = {"weight", 1, REG_WEIGHT_MAX},
    [KEY_COVER] = {"cover", 1, 100000},
    [KEY_CODE] = {"code", 1, 100000},
    [KEY_WHEN] = {"when", 0, 0},
    [KEY_SEED] = {"seed", 0, UINT64_MAX},
};

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

/* One configuration of a line: NAME of the suite's design, or DESIGN/NAME. All of a line belong to one design.
 */
static reg_status parse_one_cfg(const suite_reader *reader, char *part, bool first, suite_line *line) {
    char expected[160];
    char *slash = strchr(part, '/');
    const char *name = slash != NULL ? slash + 1 : part;
    const reg_design *design = reader->design;
    if (slash != NULL) {
        *slash = '\0';
        design = reg_design_find(reader->options->designs, part);
    }
    if (design == NULL) {
        return slash == NULL
                   ? reg_suite_bad(reader, "configuration \"%s\": there is no description designs/NAME/design here",
                                   part)
                   : reg_suite_bad(reader, "configuration \"%s/%s\": there is no design %s", part, name, part);
    }
    const size_t i = reg_design_cfg(design, name);
    if (i == design->cfgs) {
        reg_design_cfg_list(design, expected, sizeof expected);
        return reg_suite_bad(reader, "configuration \"%s\" is unknown (expected %s, separated by commas)", name,
                             expected);
    }
    if (!first && design != line->design) {
        return reg_suite_bad(reader, "configuration \"%s/%s\": the others of the line are of design %s", design->name,
                             name, line->design->name);
    }
    if (line->cfg[i]) {
        return reg_suite_bad(reader, "configuration \"%s\" is given twice", name);
    }
    line->design = design;
    line->cfg[i] = true;
    return REG_OK;
}

static reg_status parse_cfg(const suite_reader *reader, char *text, suite_line *line) {
    reg_status status = REG_OK;
    char *rest = text;
    memset(line->cfg, 0, sizeof line->cfg);
    for (char *part = strsep(&rest, ","); part != NULL && status == REG_OK; part = strsep(&rest, ",")) {
        status = parse_one_cfg(reader, part, part == text, line);
    }
    return status;
}

static reg_status apply_key(const suite_reader *reader, suite_line *line, int key, char *value) {
    const key_rule *rule = &key_rules[key];
    uint64_t number = 0;
    if (rule->hi != 0 && !opt_number(value, rule->lo, rule->hi, &number)) {
        return reg_suite_bad(reader, "%s=%s: expected a number from %" PRIu64 " to %" PRIu64, rule->name, value,
                             rule->lo, rule->hi);
    }
    switch (key) {
    case KEY_CFG:
        return parse_cfg(reader, value, line);
    case KEY_KIND:
        if (!reg_kind_known(value)) {
            return reg_suite_bad(reader, "kind=%s: expected fast, debug, tap, cov or san", value);
        }
        (void)reg_format(line->job.kind, sizeof line->job.kind, "%s", value);
        return REG_OK;
    case KEY_WHEN:
        return reg_format(line->when, sizeof line->when, "%s", value) ? REG_OK
                                                                      : reg_suite_bad(reader, "when= is too long");
    case KEY_EXCEPT:
        return reg_format(line->except, sizeof line->except, "%s", value)
                   ? REG_OK
                   : reg_suite_bad(reader, "except= is too long");
    case KEY_COUNT:
        line->count = number;
        return REG_OK;
    case KEY_INDEX:
        line->job.index = number;
        return REG_OK;
    case KEY_CASES:
        line->job.cases = (uint32_t)number;
        return REG_OK;
    case KEY_TIMEOUT:
        line->job.timeout_s = (uint32_t)number;
        return REG_OK;
    case KEY_MEMORY:
        line->job.memory_mb = (uint32_t)number;
        return REG_OK;
    case KEY_WEIGHT:
        line->job.weight = (uint32_t)number;
        return REG_OK;
    case KEY_COVER:
        line->cover = number;
        return REG_OK;
    case KEY_CODE:
        line->code = number;
        return REG_OK;
    case KEY_SEED: /* an argument of the program comes later than the seed of the run, and wins */
        (void)reg_format(line->job.args, sizeof line->job.args, "--run-seed 0x%" PRIx64, number);
        return REG_OK;
    default:
        line->determinism = number;
        return REG_OK;
    }
}

static reg_status parse_key(const suite_reader *reader, suite_line *line, char *token, bool seen[KEY_TOTAL]) {
    char *value = strchr(token, '=');
    if (value == NULL) {
        return reg_suite_bad(reader, "\"%s\" is not of the form key=value (arguments of the program follow --)", token);
    }
    *value++ = '\0';
    int key = 0;
    while (key < KEY_TOTAL && strcmp(token, key_rules[key].name) != 0) {
        key++;
    }
    if (key == KEY_TOTAL) {
        return reg_suite_bad(reader,
                             "key \"%s\" is unknown (expected cfg, kind, count, index, cases, timeout, memory, "
                             "determinism, weight, cover, "
                             "when, seed or except)",
                             token);
    }
    if (seen[key]) {
        return reg_suite_bad(reader, "key \"%s\" is given twice", token);
    }
    seen[key] = true;
    return apply_key(reader, line, key, value);
}

static reg_status parse_args(const suite_reader *reader, suite_line *line, char **rest, const char *blanks) {
    size_t used = strlen(line->job.args); /* seed= */
    for (char *token = strtok_r(NULL, blanks, rest); token != NULL; token = strtok_r(NULL, blanks, rest)) {
        if (!reg_format(line->job.args + used, sizeof line->job.args - used, "%s%s", used == 0 ? "" : " ", token)) {
            return reg_suite_bad(reader, "the arguments after -- are longer than %d characters", REG_ARGS_MAX - 1);
        }
        used = strlen(line->job.args);
    }
    return REG_OK;
}

int reg_suite_add(reg_suite *suite, const reg_job *job) {
    if (!rep_more(&suite->jobs, suite->count, sizeof *suite->jobs)) {
        return reg_error("out of memory");
    }
    suite->jobs[suite->count++] = *job;
    return REG_OK;
}

static reg_status check_line(const suite_reader *reader, const suite_line *line, const bool seen[KEY_TOTAL],
                             bool repeat) {
    if (!seen[KEY_CFG]) {
        return reg_suite_bad(reader, "cfg= is missing (expected cfg=NAME, or several separated by commas)");
    }
    if (!reg_has_cases(line->job.what) && (seen[KEY_COUNT] || seen[KEY_INDEX] || seen[KEY_CASES] || seen[KEY_SEED])) {
        return reg_suite_bad(reader, "a %s has no count, index, cases or seed",
                             line->job.what == REG_NETWORK ? "network" : "stored case");
    }
    if (line->job.what == REG_CASE && (strcmp(line->job.name, "all") == 0) != (line->job.args[0] == '\0')) {
        return reg_suite_bad(reader, "case: expected \"case all\", or \"case NAME ... -- FILE\"");
    }
    const char *several = line->job.what == REG_UNIT ? "all" : line->job.what == REG_TEST ? "operators" : "";
    if (seen[KEY_EXCEPT] && strcmp(line->job.name, several) != 0) {
        return reg_suite_bad(reader, "except= belongs to \"unit all\" and \"test operators\"");
    }
    if (seen[KEY_COVER] && (line->job.what == REG_NETWORK || line->job.what == REG_PYTHON)) {
        return reg_suite_bad(reader, "cover= belongs to unit, test and case: a %s writes no coverage",
                             line->job.what == REG_PYTHON ? "testcase in Python" : reg_what_name(line->job.what));
    }
    if (line->code > line->cover) {
        return reg_suite_bad(reader, "code=%" PRIu64 " is more than cover=%" PRIu64, line->code, line->cover);
    }
    if (seen[KEY_COUNT] && line->count == 0 && line->cover == 0) {
        return reg_suite_bad(reader, "count=0: expected at least 1, or cover=");
    }
    if (!reg_has_cases(line->job.what) && line->cover > 1) {
        return reg_suite_bad(reader, "cover=%" PRIu64 ": a stored case is one job, expected cover=1", line->cover);
    }
    if (repeat && seen[KEY_DETERMINISM]) {
        return reg_suite_bad(reader, "repeat already runs every job twice: determinism= has no meaning here");
    }
    if (line->determinism > line->count) {
        return reg_suite_bad(reader, "determinism=%" PRIu64 " is more than count=%" PRIu64, line->determinism,
                             line->count);
    }
    return REG_OK;
}

/* Jobs of a run for coverage: `cover` of a line, once, the first `code` of them with the build that counts lines. */
static reg_status expand_marked(const suite_reader *reader, suite_line *line) {
    const uint32_t timeout = line->job.timeout_s;
    const uint64_t index = line->job.index;
    reg_status status = REG_OK;
    line->determinism = 0;
    for (int code = 1; code >= 0 && status == REG_OK; code--) {
        suite_line part = *line;
        part.count = code != 0 ? line->code : line->cover - line->code;
        part.job.index = code != 0 ? index : index + line->code * line->job.cases;
        part.job.timeout_s = timeout * (code != 0 ? REG_CODE_SLOWER : 1);
        (void)reg_format(part.job.kind, sizeof part.job.kind, "%s", code != 0 ? "cov" : "fast");
        status = part.count > 0 ? reg_line_expand(reader, &part) : REG_OK;
    }
    return status;
}

/* Lines without their data do not run, and the run reports that. */
static void leave_out(const suite_reader *reader, const suite_line *line) {
    char *text = reader->suite->left_out;
    const size_t used = strlen(text);
    (void)reg_format(text + used, sizeof reader->suite->left_out - used, "left out: %s %s (there is no %s)\n",
                     reg_what_name(line->job.what), line->job.name, line->when);
}

static reg_status parse_jobs(const suite_reader *reader, const char *word, bool repeat, char **rest,
                             const char *blanks) {
    suite_line line;
    bool seen[KEY_TOTAL] = {false};
    memset(&line, 0, sizeof line);
    line.count = 1;
    line.job.cases = 1;
    line.job.weight = 1;
    line.job.timeout_s = reader->options->timeout_s;
    line.job.memory_mb = reader->options->memory_mb;
    (void)reg_format(line.job.kind, sizeof line.job.kind, "%s", reader->options->kind);
    line.job.what = reg_what_of(word);
    const char *name = strtok_r(NULL, blanks, rest);
    if (name == NULL || !reg_name_valid(name)) {
        return reg_suite_bad(reader, "%s: expected a name of small letters, digits, - and _, not \"%s\"", word,
                             name == NULL ? "" : name);
    }
    (void)reg_format(line.job.name, sizeof line.job.name, "%s", name);
    for (char *token = strtok_r(NULL, blanks, rest); token != NULL; token = strtok_r(NULL, blanks, rest)) {
        reg_status status =
            strcmp(token, "--") == 0 ? parse_args(reader, &line, rest, blanks) : parse_key(reader, &line, token, seen);
        if (status != REG_OK) {
            return status;
        }
    }
    reg_status status = check_line(reader, &line, seen, repeat);
    if (status != REG_OK) {
        return status;
    }
    if (repeat) {
        line.determinism = line.count;
    }
    if (line.when[0] != '\0' && access(line.when, F_OK) != 0) {
        leave_out(reader, &line);
        return REG_OK;
    }
    return reader->options->marked ? expand_marked(reader, &line)
           : line.count > 0        ? reg_line_expand(reader, &line)
                                   : REG_OK;
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
        return parse_jobs(reader, word, repeat, &rest, blanks);
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
