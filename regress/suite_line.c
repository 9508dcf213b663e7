/*
 * suite_line.c - a line of a suite that describes jobs: its words, its keys, what they may be combined with.
 */
#include "suite.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

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

reg_status reg_line_parse(const suite_reader *reader, const char *word, bool repeat, char **rest, const char *blanks) {
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
