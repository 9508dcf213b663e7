/*
 * suite.c - suite files and job lists: one language, read here and printed here.
 *
 * A line describes jobs of one kind; expansion makes one job for every configuration and every step of count. A printed job list uses the same
 * lines with count 1 and an explicit index, so it runs as it is.
 */
#define _GNU_SOURCE
#include "reg.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const reg_cfg_names[REG_CFG_COUNT] = {"n4", "n8", "n16", "n32"};

static const char *const kind_names[] = {"fast", "debug", "tap", "cov", "san"};

/* One line of a suite before expansion. */
typedef struct suite_line {
    reg_job job;
    bool cfg[REG_CFG_COUNT];
    char own_cfg[REG_CFG_COUNT]
                [sizeof((reg_job *)0)->cfg]; /* of an example, whose configurations have other names; cfg says which are used */
    uint64_t count;
    uint64_t determinism;
    char except[REG_ARGS_MAX]; /* "unit all": benches that are left out, separated by commas; empty: none */
} suite_line;

typedef struct suite_reader {
    const char *path;
    unsigned line;
    const reg_suite_options *options;
    reg_suite *suite;
} suite_reader;

enum { KEY_CFG, KEY_KIND, KEY_COUNT, KEY_INDEX, KEY_CASES, KEY_TIMEOUT, KEY_MEMORY, KEY_DETERMINISM, KEY_EXCEPT, KEY_TOTAL };

typedef struct key_rule {
    const char *name;
    uint64_t lo;
    uint64_t hi; /* 0: the value is no number */
} key_rule;

static const key_rule key_rules[KEY_TOTAL] = {
    [KEY_CFG] = {"cfg", 0, 0},
    [KEY_KIND] = {"kind", 0, 0},
    [KEY_COUNT] = {"count", 1, 100000},
    [KEY_INDEX] = {"index", 0, UINT32_MAX},
    [KEY_CASES] = {"cases", 1, 1000000},
    [KEY_TIMEOUT] = {"timeout", 1, 86400},
    [KEY_MEMORY] = {"memory", 0, 1048576},
    [KEY_DETERMINISM] = {"determinism", 0, 100000},
    [KEY_EXCEPT] = {"except", 0, 0},
};

static reg_status bad(const suite_reader *reader, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static reg_status bad(const suite_reader *reader, const char *fmt, ...) {
    char text[REG_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "%s:%u: %s\n", reader->path, reader->line, text);
    return REG_USAGE;
}

static const char *const what_names[REG_WHAT_COUNT] = {"unit", "test", "network", "case", "example"};

const char *reg_what_name(reg_what what) {
    return what_names[what];
}

bool reg_has_cases(reg_what what) {
    return what == REG_UNIT || what == REG_TEST || what == REG_EXAMPLE;
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

static bool name_valid(const char *name) {
    /* The name becomes part of a program's and a folder's name. */
    size_t length = strlen(name);
    return length > 0 && length < REG_NAME_MAX && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

static reg_status parse_cfg(const suite_reader *reader, char *text, bool cfg[REG_CFG_COUNT]) {
    memset(cfg, 0, REG_CFG_COUNT * sizeof cfg[0]);
    char *rest = text;
    for (char *part = strsep(&rest, ","); part != NULL; part = strsep(&rest, ",")) {
        size_t i = 0;
        while (i < REG_CFG_COUNT && strcmp(part, reg_cfg_names[i]) != 0) {
            i++;
        }
        if (i == REG_CFG_COUNT) {
            return bad(reader, "configuration \"%s\" is unknown (expected n4, n8, n16 or n32, separated by commas)", part);
        }
        if (cfg[i]) {
            return bad(reader, "configuration \"%s\" stands twice", part);
        }
        cfg[i] = true;
    }
    return REG_OK;
}

/* Configurations of an example: names of small letters and digits. */
static reg_status parse_own_cfg(const suite_reader *reader, char *text, suite_line *line) {
    char *rest = text;
    size_t count = 0;
    for (char *part = strsep(&rest, ","); part != NULL; part = strsep(&rest, ","), count++) {
        const size_t length = strlen(part);
        if (length == 0 || length >= sizeof line->own_cfg[0] || strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789") != length) {
            return bad(reader, "configuration \"%s\": expected at most %zu small letters and digits", part, sizeof line->own_cfg[0] - 1);
        }
        if (count == REG_CFG_COUNT) {
            return bad(reader, "an example has at most %d configurations in one line", REG_CFG_COUNT);
        }
        (void)reg_format(line->own_cfg[count], sizeof line->own_cfg[0], "%s", part);
        line->cfg[count] = true;
    }
    return REG_OK;
}

static reg_status apply_key(const suite_reader *reader, suite_line *line, int key, char *value) {
    const key_rule *rule = &key_rules[key];
    uint64_t number = 0;
    if (rule->hi != 0 && !reg_parse_u64(value, rule->lo, rule->hi, &number)) {
        return bad(reader, "%s=%s: expected a number from %" PRIu64 " to %" PRIu64, rule->name, value, rule->lo, rule->hi);
    }
    switch (key) {
    case KEY_CFG:
        return line->job.what == REG_EXAMPLE ? parse_own_cfg(reader, value, line) : parse_cfg(reader, value, line->cfg);
    case KEY_KIND:
        if (!reg_kind_known(value)) {
            return bad(reader, "kind=%s: expected fast, debug, tap, cov or san", value);
        }
        (void)reg_format(line->job.kind, sizeof line->job.kind, "%s", value);
        return REG_OK;
    case KEY_EXCEPT:
        return reg_format(line->except, sizeof line->except, "%s", value) ? REG_OK : bad(reader, "except= is too long");
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
    default:
        line->determinism = number;
        return REG_OK;
    }
}

static reg_status parse_key(const suite_reader *reader, suite_line *line, char *token, bool seen[KEY_TOTAL]) {
    char *value = strchr(token, '=');
    if (value == NULL) {
        return bad(reader, "\"%s\" is no key=value (arguments for the program stand after --)", token);
    }
    *value++ = '\0';
    int key = 0;
    while (key < KEY_TOTAL && strcmp(token, key_rules[key].name) != 0) {
        key++;
    }
    if (key == KEY_TOTAL) {
        return bad(reader, "key \"%s\" is unknown (expected cfg, kind, count, index, cases, timeout, memory, determinism or except)",
                   token);
    }
    if (seen[key]) {
        return bad(reader, "key \"%s\" stands twice", token);
    }
    seen[key] = true;
    return apply_key(reader, line, key, value);
}

static reg_status parse_args(const suite_reader *reader, suite_line *line, char **rest, const char *blanks) {
    size_t used = 0;
    for (char *token = strtok_r(NULL, blanks, rest); token != NULL; token = strtok_r(NULL, blanks, rest)) {
        if (!reg_format(line->job.args + used, sizeof line->job.args - used, "%s%s", used == 0 ? "" : " ", token)) {
            return bad(reader, "the arguments after -- are longer than %d characters", REG_ARGS_MAX - 1);
        }
        used = strlen(line->job.args);
    }
    return REG_OK;
}

int reg_suite_add(reg_suite *suite, const reg_job *job) {
    if (suite->count == suite->capacity) {
        size_t capacity = suite->capacity == 0 ? 256 : suite->capacity * 2;
        reg_job *jobs = realloc(suite->jobs, capacity * sizeof *jobs);
        if (jobs == NULL) {
            reg_error("out of memory");
            return REG_FAIL;
        }
        suite->jobs = jobs;
        suite->capacity = capacity;
    }
    suite->jobs[suite->count++] = *job;
    return REG_OK;
}

/* Whoever asks for some configurations does not ask for an example, which has others. */
static bool cfg_wanted(const suite_reader *reader, const suite_line *line, size_t c) {
    bool all = true;
    for (size_t i = 0; i < REG_CFG_COUNT; i++) {
        all = all && reader->options->cfg[i];
    }
    return line->cfg[c] && (line->job.what == REG_EXAMPLE ? all : reader->options->cfg[c]);
}

static reg_status expand_line(const suite_reader *reader, const suite_line *line) {
    const bool own = line->job.what == REG_EXAMPLE;
    for (size_t c = 0; c < REG_CFG_COUNT; c++) {
        if (!cfg_wanted(reader, line, c)) {
            continue;
        }
        for (uint64_t i = 0; i < line->count; i++) {
            reg_job job = line->job;
            (void)reg_format(job.cfg, sizeof job.cfg, "%s", own ? line->own_cfg[c] : reg_cfg_names[c]);
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

static reg_status check_line(const suite_reader *reader, const suite_line *line, const bool seen[KEY_TOTAL], bool repeat) {
    if (!seen[KEY_CFG]) {
        return bad(reader, "cfg= is missing (expected cfg=n8, or several separated by commas)");
    }
    if (!reg_has_cases(line->job.what) && (seen[KEY_COUNT] || seen[KEY_INDEX] || seen[KEY_CASES])) {
        return bad(reader, "a %s has no count, index or cases", line->job.what == REG_NETWORK ? "network" : "stored case");
    }
    if (line->job.what == REG_CASE && (strcmp(line->job.name, "all") == 0) != (line->job.args[0] == '\0')) {
        return bad(reader, "case: expected \"case all\", or \"case NAME ... -- FILE\"");
    }
    if (seen[KEY_EXCEPT] && !(line->job.what == REG_UNIT && strcmp(line->job.name, "all") == 0)) {
        return bad(reader, "except= belongs to \"unit all\"");
    }
    if (repeat && seen[KEY_DETERMINISM]) {
        return bad(reader, "repeat already runs every job twice: determinism= has no meaning here");
    }
    if (line->determinism > line->count) {
        return bad(reader, "determinism=%" PRIu64 " is more than count=%" PRIu64, line->determinism, line->count);
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

/* "unit all": the line once for every bench unit_NAME.c of the unit folder, in order of their names. */
static reg_status expand_all_units(const suite_reader *reader, suite_line *line) {
    struct dirent **entries = NULL;
    int count = scandir(reader->options->unit_dir, &entries, is_bench, alphasort);
    if (count <= 0) {
        free(entries);
        return bad(reader, "unit all: no unit_*.c in %s", reader->options->unit_dir);
    }
    reg_status status = REG_OK;
    for (int i = 0; i < count; i++) {
        char *name = entries[i]->d_name + strlen("unit_");
        name[strlen(name) - 2] = '\0';
        if (status == REG_OK && !name_valid(name)) {
            status = bad(reader, "unit all: %s/unit_%s.c is no name for a unit", reader->options->unit_dir, name);
        } else if (status == REG_OK && !take_name(line->except, name)) {
            (void)reg_format(line->job.name, sizeof line->job.name, "%s", name);
            status = expand_line(reader, line);
        }
        free(entries[i]);
    }
    free(entries);
    if (status == REG_OK && line->except[strspn(line->except, ",")] != '\0') {
        return bad(reader, "except: there is no bench %s in %s", line->except, reader->options->unit_dir);
    }
    return status;
}

static int is_stored(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 5, ".case") == 0;
}

/* Keep of the line's configurations the one that the case file names. */
static reg_status cfg_of_stored(const suite_reader *reader, suite_line *line) {
    char text[256];
    bool known = false;
    FILE *in = fopen(line->job.args, "r");
    if (in == NULL) {
        return bad(reader, "case all: %s: %s", line->job.args, strerror(errno));
    }
    while (fgets(text, sizeof text, in) != NULL) {
        text[strcspn(text, "\r\n")] = '\0';
        for (size_t c = 0; c < REG_CFG_COUNT && strncmp(text, "cfg=", 4) == 0; c++) {
            const bool same = strcmp(text + 4, reg_cfg_names[c]) == 0;
            line->cfg[c] = line->cfg[c] && same;
            known = known || same;
        }
    }
    (void)fclose(in);
    return known ? REG_OK : bad(reader, "case all: %s names no cfg", line->job.args);
}

/* "case all": the line once for every NAME.case of the folder of stored cases, in order of their names, for the configuration that the case names. */
static reg_status expand_all_stored(const suite_reader *reader, const suite_line *line) {
    struct dirent **entries = NULL;
    const char *dir = reader->options->stored_dir;
    int count = scandir(dir, &entries, is_stored, alphasort);
    if (count <= 0) {
        free(entries);
        return bad(reader, "case all: no *.case in %s", dir);
    }
    reg_status status = REG_OK;
    for (int i = 0; i < count; i++) {
        suite_line one = *line;
        char *name = entries[i]->d_name;
        bool fits = reg_format(one.job.args, sizeof one.job.args, "%s/%s", dir, name);
        name[strlen(name) - strlen(".case")] = '\0';
        if (status == REG_OK && (!fits || strchr(one.job.args, ' ') != NULL || !name_valid(name))) {
            status = bad(reader, "case all: %s/%s.case is no name for a case", dir, name);
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

static reg_status parse_jobs(const suite_reader *reader, const char *word, bool repeat, char **rest, const char *blanks) {
    suite_line line;
    bool seen[KEY_TOTAL] = {false};
    memset(&line, 0, sizeof line);
    line.count = 1;
    line.job.cases = 1;
    line.job.timeout_s = reader->options->timeout_s;
    line.job.memory_mb = reader->options->memory_mb;
    (void)reg_format(line.job.kind, sizeof line.job.kind, "%s", reader->options->kind);
    line.job.what = reg_what_of(word);
    const char *name = strtok_r(NULL, blanks, rest);
    if (name == NULL || !name_valid(name)) {
        return bad(reader, "%s: expected a name of small letters, digits, - and _, not \"%s\"", word, name == NULL ? "" : name);
    }
    (void)reg_format(line.job.name, sizeof line.job.name, "%s", name);
    for (char *token = strtok_r(NULL, blanks, rest); token != NULL; token = strtok_r(NULL, blanks, rest)) {
        reg_status status = strcmp(token, "--") == 0 ? parse_args(reader, &line, rest, blanks) : parse_key(reader, &line, token, seen);
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
    bool all = strcmp(line.job.name, "all") == 0;
    if (all && line.job.what == REG_CASE) {
        return expand_all_stored(reader, &line);
    }
    return all && line.job.what == REG_UNIT ? expand_all_units(reader, &line) : expand_line(reader, &line);
}

/* The lines that set one value for the whole suite. */
static reg_status parse_setting(const suite_reader *reader, const char *word, char **rest, const char *blanks) {
    const char *value = strtok_r(NULL, blanks, rest);
    if (value == NULL || strtok_r(NULL, blanks, rest) != NULL) {
        return bad(reader, "%s: expected one value", word);
    }
    uint64_t number = 0;
    if (strcmp(word, "budget") == 0) {
        if (!reg_parse_u64(value, 1, 604800, &number)) {
            return bad(reader, "budget %s: expected seconds, 1 to 604800", value);
        }
        reader->suite->budget_s = (uint32_t)number;
    } else if (strcmp(word, "seed") == 0) {
        if (!reg_parse_u64(value, 0, UINT64_MAX, &reader->suite->seed)) {
            return bad(reader, "seed %s: expected a number of 64 bits", value);
        }
    } else {
        if (!name_valid(value)) {
            return bad(reader, "suite %s: expected a name of small letters, digits, - and _", value);
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
    bool repeat = strcmp(word, "repeat") == 0;
    if (repeat) {
        word = strtok_r(NULL, blanks, &rest);
        if (word == NULL) {
            return bad(reader, "repeat: expected unit, test, network, case or example after it");
        }
    }
    if (reg_what_of(word) != REG_WHAT_COUNT) {
        return parse_jobs(reader, word, repeat, &rest, blanks);
    }
    return bad(reader, "\"%s\" is unknown (expected unit, test, network, case, example, repeat, budget, seed or suite)", word);
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
    for (char *p = suite->name; *p != '\0'; p++) { /* a file may be called anything, a suite may not */
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        bool fits = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_';
        *p = fits ? *p : '-';
    }
    if (!name_valid(suite->name)) {
        (void)reg_format(suite->name, sizeof suite->name, "suite");
    }
}

reg_status reg_suite_load(reg_suite *suite, const char *path, const reg_suite_options *options) {
    suite_reader reader = {.path = path, .line = 0, .options = options, .suite = suite};
    memset(suite, 0, sizeof *suite);
    suite->seed = 1;
    name_from_path(suite, path);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        reg_error("%s: cannot read the suite: %s", path, strerror(errno));
        return REG_USAGE;
    }
    char text[REG_TEXT_MAX];
    reg_status status = REG_OK;
    while (status == REG_OK && fgets(text, sizeof text, file) != NULL) {
        reader.line++;
        if (strchr(text, '\n') == NULL && !feof(file)) {
            status = bad(&reader, "the line is longer than %d characters", REG_TEXT_MAX - 2);
        } else {
            status = parse_line(&reader, text);
        }
    }
    if (status == REG_OK && ferror(file)) {
        reg_error("%s: cannot read the suite: %s", path, strerror(errno));
        status = REG_USAGE;
    }
    (void)fclose(file);
    if (status != REG_OK) {
        reg_suite_free(suite);
    }
    return status;
}

void reg_suite_free(reg_suite *suite) {
    free(suite->jobs);
    suite->jobs = NULL;
    suite->count = 0;
    suite->capacity = 0;
}

void reg_suite_print(const reg_suite *suite, uint64_t seed, FILE *out) {
    fprintf(out, "suite %s\nseed 0x%" PRIx64 "\n", suite->name, seed);
    if (suite->budget_s != 0) {
        fprintf(out, "budget %u\n", suite->budget_s);
    }
    for (size_t i = 0; i < suite->count; i++) {
        const reg_job *job = &suite->jobs[i];
        if (job->second_run) {
            continue;
        }
        fprintf(out, "%s%s %s cfg=%s kind=%s", job->checked_twice ? "repeat " : "", reg_what_name(job->what), job->name, job->cfg,
                job->kind);
        if (reg_has_cases(job->what)) {
            fprintf(out, " index=%" PRIu64 " cases=%u", job->index, job->cases);
        }
        fprintf(out, " timeout=%u memory=%u%s%s\n", job->timeout_s, job->memory_mb, job->args[0] == '\0' ? "" : " -- ", job->args);
    }
}

void reg_job_dir(const char *out_dir, const reg_job *job, size_t index, uint32_t attempt, char *out, size_t size) {
    char number[24] = "";
    if (attempt > 1) { /* a folder of its own: what is left of the attempt before may still be writing */
        (void)reg_format(number, sizeof number, ".%u", attempt);
    }
    (void)reg_format(out, size, "%s/%05zu-%s-%s-%s%s%s", out_dir, index, reg_what_name(job->what), job->name, job->cfg,
                     job->second_run ? "-again" : "", number);
}

bool reg_job_program(const reg_job *job, const char *build_dir, char *out, size_t size) {
    switch (job->what) {
    case REG_UNIT:
        return reg_format(out, size, "%s/%s-%s/unit-%s", build_dir, job->cfg, job->kind, job->name);
    case REG_TEST:
    case REG_CASE:
        return reg_format(out, size, "%s/%s-%s/tandem", build_dir, job->cfg, job->kind);
    case REG_EXAMPLE:
        return reg_format(out, size, "%s/example-%s/%s-%s/%s", build_dir, job->name, job->cfg, job->kind, job->name);
    default:
        return reg_format(out, size, "%s/%s-%s/tandem-net", build_dir, job->cfg, job->kind);
    }
}
