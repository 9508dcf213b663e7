/* options.c - the command line: options and their values. */
#define _GNU_SOURCE
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PARALLEL_MAX 256

const char cli_help[] = "tandem-regress - run lists of verification jobs, keep their results\n"
                        "\n"
                        "  tandem-regress run --suite NAME|FILE [options]  run a suite or a job list\n"
                        "  tandem-regress run --resume [RUN] [options]     what a run did not come to\n"
                        "  tandem-regress list [NAME|FILE] [options]       the suites, or commands of one\n"
                        "  tandem-regress targets --suite NAME|FILE        the programs that it needs\n"
                        "  tandem-regress report [--run N]                 everything about a run\n"
                        "  tandem-regress diff RUN1 RUN2                   new failures, fixed, slower\n"
                        "  tandem-regress query [QUESTION [TEST]]          ask the database (without\n"
                        "                                                  QUESTION: what can be asked)\n"
                        "  tandem-regress coverage FILE [--run N]          keep what a run covered: a\n"
                        "                                                  file of tandem-cov summary\n"
                        "\n"
                        "what to run:\n"
                        "  --suite NAME|FILE  NAME is SUITE_DIR/NAME.suite; with a / or .suite: a file\n"
                        "  --seed S           seed of the run (default: the suite's seed line, else 1)\n"
                        "  --cfg n4,n8        only these configurations\n"
                        "  --kind fast        build for lines without kind= (debug, tap, cov, san)\n"
                        "  --timeout S        seconds for lines without timeout= (default 120)\n"
                        "  --memory MB        address space for lines without memory= (default 4096,\n"
                        "                     0: any; there is no limit for kind san)\n"
                        "  --count N          draw N jobs of the suite, by weight= and seed\n"
                        "  --budget S         draw jobs until their last times fill S seconds\n"
                        "  --shard I/N        the I-th of N parts of the list\n"
                        "  --marked           only what lines mark for coverage: cover= jobs, the first\n"
                        "                     code= of them in builds that count lines (kind cov)\n"
                        "  --coverage DIR     test, unit and case jobs write what they covered:\n"
                        "                     DIR/NNNNN.cov, with kind cov also DIR/NNNNN.code\n"
                        "  --print-jobs       print the expanded list, itself a suite, and run nothing\n"
                        "  --resume [RUN]     go on with a run (the newest one; with --suite: of that\n"
                        "                     suite): same commit, same programs, only missing jobs\n"
                        "how to run it:\n"
                        "  --jobs N           processes at a time (default: processors)\n"
                        "  --fail-fast        stop at the first failure\n"
                        "  --explain N        run one failure of each of the first N signatures again,\n"
                        "                     with a report, and look for a small case (default 0)\n"
                        "  --explain-time S   seconds for all that (default 60)\n"
                        "on a Slurm cluster (docs/regress.md):\n"
                        "  --launcher slurm   submit job arrays instead of starting processes (local)\n"
                        "  --shard-seconds S  expected work of a task, at least (default 60)\n"
                        "  --slurm-cpus N     processors of a task, jobs at a time in it (default 1)\n"
                        "  --slurm-partition P, --slurm-account A, --slurm-args \"WORDS\"\n"
                        "                     for sbatch\n"
                        "  --slurm-poll S     between two questions to Slurm (default 5)\n"
                        "  --slurm-silence S  a task without a sign of life is lost (default 60)\n"
                        "what to write (run, report):\n"
                        "  --report           pages in OUT/report\n"
                        "  --html DIR         the same pages in DIR\n"
                        "  --figures FILE     figures of `make figures` that they show (default\n"
                        "                     BUILD_DIR/figures.json)\n"
                        "  --junit FILE       JUnit XML\n"
                        "  --sarif FILE       SARIF 2.1.0: one result for each signature\n"
                        "  --source-dir DIR   where it looks for the file of a unit (default rtl)\n"
                        "  --summary-json F   summary of the run as JSON\n"
                        "what to look at:\n"
                        "  --run N            the run that is asked for (report, query, failure; default:\n"
                        "                     newest)\n"
                        "  --limit N          at most so many rows (query; default 20)\n"
                        "  --json             tables as JSON (list, report, diff, query, gc)\n"
                        "what to remove (gc; rows of the database stay, a run that runs does, too):\n"
                        "  --keep-runs N      keep the newest N runs\n"
                        "  --keep-days D      keep runs that are younger than D days\n"
                        "  --max-size MB      then remove the oldest until the rest takes at most MB\n"
                        "  --forget           remove them from the database, too\n"
                        "  --dry-run          only say what would go\n"
                        "where:\n"
                        "  --db FILE          results database (default BUILD_DIR/results.db)\n"
                        "  --out DIR          logs, results, cases (default BUILD_DIR/regress/RUN)\n"
                        "  --build-dir DIR    where the programs are (default build)\n"
                        "  --suite-dir DIR    where named suites are (default regress/suites)\n"
                        "  --unit-dir DIR     folder behind \"unit all\" (default testcases/npu/unit)\n"
                        "  --stored-dir DIR   folder behind \"case all\" (default testcases/npu/cases)\n"
                        "  --help             this text\n"
                        "\n"
                        "Exit status: 0 all passed, 1 something failed or nothing ran, 2 usage.\n"
                        "docs/regress.md describes suites, outcomes and the database.\n";

reg_status cli_usage(const char *fmt, const char *word) {
    char text[REG_TEXT_MAX];
    (void)reg_format(text, sizeof text, fmt, word);
    reg_error("%s (see tandem-regress --help)", text);
    return REG_USAGE;
}

static reg_status take_cfg(options *o, const char *value) {
    char copy[64];
    if (!reg_format(copy, sizeof copy, "%s", value)) {
        return cli_usage("--cfg %s: too long", value);
    }
    memset(o->expand.cfg, 0, sizeof o->expand.cfg);
    char *rest = copy;
    for (char *part = strsep(&rest, ","); part != NULL; part = strsep(&rest, ",")) {
        size_t i = 0;
        while (i < REG_CFG_COUNT && strcmp(part, reg_cfg_names[i]) != 0) {
            i++;
        }
        if (i == REG_CFG_COUNT) {
            return cli_usage("--cfg %s: expected n4, n8, n16 or n32, separated by commas", value);
        }
        o->expand.cfg[i] = true;
    }
    return REG_OK;
}

/* An option with a value: a text or a number of lo..hi. */
typedef struct option_rule {
    const char *name;
    const char **text; /* or */
    uint32_t *number;
    int64_t *wide; /* or */
    uint32_t lo, hi;
    bool list; /* says what the job list is made of */
} option_rule;

static reg_status take_ruled(options *o, const option_rule *rule, const char *value) {
    uint64_t number = 0;
    if (rule->text != NULL && value[0] == '\0') {
        return cli_usage("%s: expected a value that is not empty", rule->name);
    }
    if (rule->list) {
        o->list_option = rule->name;
    }
    if (rule->text != NULL) {
        *rule->text = value;
        return REG_OK;
    }
    if (!reg_parse_u64(value, rule->lo, rule->hi, &number)) {
        reg_error("%s %s: expected a number from %u to %u (see tandem-regress --help)", rule->name, value, rule->lo, rule->hi);
        return REG_USAGE;
    }
    if (rule->wide != NULL) {
        *rule->wide = (int64_t)number;
    } else {
        *rule->number = (uint32_t)number;
    }
    return REG_OK;
}

/* i/n */
static reg_status take_shard(options *o, const char *value) {
    char copy[32];
    uint64_t i = 0;
    uint64_t n = 0;
    bool good = reg_format(copy, sizeof copy, "%s", value);
    char *slash = good ? strchr(copy, '/') : NULL;
    if (slash != NULL) {
        *slash = '\0';
        good = reg_parse_u64(slash + 1, 1, 100000, &n) && reg_parse_u64(copy, 1, n, &i);
    }
    if (slash == NULL || !good) {
        return cli_usage("--shard %s: expected for example 2/5, the second of five parts", value);
    }
    o->shard = (uint32_t)i;
    o->shards = (uint32_t)n;
    return REG_OK;
}

/* Seconds with a fraction. */
static reg_status take_poll(options *o, const char *value) {
    char *end = NULL;
    const double seconds = strtod(value, &end);
    if (value[strspn(value, "0123456789.")] != '\0' || end == value || *end != '\0' || seconds < 0.1 || seconds > 3600) {
        return cli_usage("--slurm-poll %s: expected seconds from 0.1 to 3600", value);
    }
    o->slurm.poll_s = seconds;
    return REG_OK;
}

static reg_status take_value(options *o, const char *name, const char *value) {
    const option_rule rules[] = {
        {.name = "--suite", .text = &o->suite},
        {.name = "--run", .text = &o->run},
        {.name = "--job", .text = &o->job},
        {.name = "--db", .text = &o->db},
        {.name = "--out", .text = &o->out, .list = true},
        {.name = "--coverage", .text = &o->coverage, .list = true},
        {.name = "--build-dir", .text = &o->build_dir},
        {.name = "--seed", .text = &o->seed},
        {.name = "--junit", .text = &o->junit},
        {.name = "--html", .text = &o->html},
        {.name = "--sarif", .text = &o->sarif},
        {.name = "--summary-json", .text = &o->summary_json},
        {.name = "--figures", .text = &o->figures},
        {.name = "--source-dir", .text = &o->source_dir},
        {.name = "--suite-dir", .text = &o->suite_dir},
        {.name = "--kind", .text = &o->kind, .list = true},
        {.name = "--unit-dir", .text = &o->expand.unit_dir, .list = true},
        {.name = "--stored-dir", .text = &o->expand.stored_dir, .list = true},
        {.name = "--jobs", .number = &o->parallel, .lo = 1, .hi = PARALLEL_MAX},
        {.name = "--count", .number = &o->count, .lo = 1, .hi = 1000000, .list = true},
        {.name = "--budget", .number = &o->budget, .lo = 1, .hi = 604800, .list = true},
        {.name = "--explain", .number = &o->explain, .lo = 0, .hi = 1000},
        {.name = "--explain-time", .number = &o->explain_time, .lo = 1, .hi = 86400},
        {.name = "--keep-runs", .wide = &o->gc.keep_runs, .lo = 0, .hi = UINT32_MAX},
        {.name = "--keep-days", .wide = &o->gc.keep_days, .lo = 0, .hi = 100000},
        {.name = "--max-size", .wide = &o->gc.max_mib, .lo = 0, .hi = UINT32_MAX},
        {.name = "--launcher", .text = &o->launcher},
        {.name = "--slurm-partition", .text = &o->slurm.partition},
        {.name = "--slurm-account", .text = &o->slurm.account},
        {.name = "--slurm-args", .text = &o->slurm.args},
        {.name = "--slurm-silence", .number = &o->slurm.silence_s, .lo = 3, .hi = 86400},
        {.name = "--slurm-cpus", .number = &o->slurm.cpus, .lo = 1, .hi = PARALLEL_MAX},
        {.name = "--shard-seconds", .number = &o->slurm.shard_s, .lo = 0, .hi = 86400},
        {.name = "--limit", .number = &o->limit, .lo = 1, .hi = UINT32_MAX},
        {.name = "--timeout", .number = &o->expand.timeout_s, .lo = 1, .hi = 86400, .list = true},
        {.name = "--memory", .number = &o->expand.memory_mb, .lo = 0, .hi = 1048576, .list = true},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(name, rules[i].name) == 0) {
            return take_ruled(o, &rules[i], value);
        }
    }
    if (strcmp(name, "--cfg") == 0) {
        o->list_option = "--cfg";
        return take_cfg(o, value);
    }
    if (strcmp(name, "--shard") == 0) {
        o->list_option = "--shard";
        return take_shard(o, value);
    }
    if (strcmp(name, "--slurm-poll") == 0) {
        return take_poll(o, value);
    }
    return cli_usage("option %s is unknown", name);
}

/* --resume may have a value: the number of a run. True: the word after it is one. */
static bool take_resume(options *o, const char *next) {
    uint64_t number = 0;
    o->resume = true;
    if (next != NULL && reg_parse_u64(next, 0, UINT64_MAX, &number)) {
        o->run = next;
        return true;
    }
    return false;
}

/* A word that is no option with a value. False: it is one. */
static bool take_flag(options *o, const char *word) {
    const struct {
        const char *name;
        bool *target;
    } flags[] = {{"--fail-fast", &o->fail_fast}, {"--print-jobs", &o->print_jobs}, {"--json", &o->json},           {"--report", &o->report},
                 {"--forget", &o->gc.forget},    {"--dry-run", &o->gc.dry_run},    {"--marked", &o->expand.marked}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(word, flags[i].name) == 0) {
            *flags[i].target = true;
            return true;
        }
    }
    return false;
}

static reg_status take_positional(options *o, const char *word) {
    if (o->positionals == 3) {
        return cli_usage("argument \"%s\" is one too many", word);
    }
    o->positional[o->positionals++] = word;
    return REG_OK;
}

/* One word with its value; *i moves over both. */
static reg_status take_word(options *o, int argc, char **argv, int *i) {
    char name[32];
    const char *word = argv[*i];
    const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
    const char *equals = strchr(word, '=');
    if (take_flag(o, word)) {
        return REG_OK;
    }
    if (strcmp(word, "--resume") == 0) {
        *i += take_resume(o, next) ? 1 : 0;
        return REG_OK;
    }
    if (word[0] != '-') {
        return take_positional(o, word);
    }
    if (equals == NULL) {
        *i += 1;
        return next == NULL ? cli_usage("option %s: expected a value, or no such option", word) : take_value(o, word, next);
    }
    (void)reg_format(name, sizeof name, "%.*s", (int)(equals - word), word);
    if (strcmp(name, "--resume") == 0) {
        return take_resume(o, equals + 1) ? REG_OK : cli_usage("--resume=%s: expected the number of a run", equals + 1);
    }
    return take_value(o, name, equals + 1);
}

reg_status cli_parse(options *o, int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        if (take_word(o, argc, argv, &i) != REG_OK) {
            return REG_USAGE;
        }
    }
    if (o->launcher != NULL && reg_launcher_find(o->launcher) == NULL) {
        return cli_usage("--launcher %s: expected local or slurm", o->launcher);
    }
    if (o->kind != NULL) {
        o->expand.kind = o->kind;
    }
    if (!reg_kind_known(o->expand.kind)) {
        return cli_usage("--kind %s: expected fast, debug, tap, cov or san", o->expand.kind);
    }
    if (o->seed != NULL && !reg_parse_u64(o->seed, 0, UINT64_MAX, &o->seed_value)) {
        return cli_usage("--seed %s: expected a number of 64 bits", o->seed);
    }
    return REG_OK;
}
