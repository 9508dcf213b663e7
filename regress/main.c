/* main.c - tandem-regress: command line. */
#define _GNU_SOURCE
#include "reg.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARALLEL_MAX 256
#define DEFAULT_TIMEOUT_S 120
#define DEFAULT_MEMORY_MB 4096

static const char help_text[] = "tandem-regress - run lists of verification jobs, keep their results\n"
                                "\n"
                                "  tandem-regress run --suite NAME|FILE [options]  run a suite or a job list\n"
                                "  tandem-regress list [NAME|FILE] [options]       the suites, or commands of one\n"
                                "  tandem-regress targets --suite NAME|FILE        the programs that it needs\n"
                                "  tandem-regress report [--run N]                 table of a run (or newest)\n"
                                "  tandem-regress diff RUN1 RUN2                   compare outcome, hash, cycles\n"
                                "\n"
                                "  --suite NAME|FILE  NAME is SUITE_DIR/NAME.suite; with a / or .suite: a file\n"
                                "  --jobs N           processes at a time (default: processors)\n"
                                "  --seed S           seed of the run (default: the suite's seed line, else 1)\n"
                                "  --cfg n4,n8        only these configurations\n"
                                "  --kind fast        build for lines without kind= (debug, tap, cov, san)\n"
                                "  --timeout S        seconds for lines without timeout= (default 120)\n"
                                "  --memory MB        address space for lines without memory= (default 4096,\n"
                                "                     0: any; there is no limit for kind san)\n"
                                "  --fail-fast        stop at the first failure\n"
                                "  --print-jobs       print the expanded list, itself a suite, and run nothing\n"
                                "  --db FILE          results database (default BUILD_DIR/results.db)\n"
                                "  --out DIR          logs, results, cases (default BUILD_DIR/regress/RUN)\n"
                                "  --build-dir DIR    where the programs are (default build)\n"
                                "  --suite-dir DIR    where named suites are (default regress/suites)\n"
                                "  --unit-dir DIR     folder behind \"unit all\" (default testcases/unit)\n"
                                "  --stored-dir DIR   folder behind \"case all\" (default testcases/cases)\n"
                                "  --junit FILE       write the run as JUnit XML (run, report)\n"
                                "  --html FILE        write the run as a page (run, report)\n"
                                "  --help             this text\n"
                                "\n"
                                "Exit status: 0 all passed, 1 something failed or nothing ran, 2 usage.\n"
                                "docs/regress.md describes suites, outcomes and the database.\n";

typedef struct options {
    const char *command;
    const char *suite;
    const char *seed;
    const char *run;
    const char *db;
    const char *out;
    const char *build_dir;
    const char *suite_dir;
    const char *junit;
    const char *html;
    const char *positional[2];
    int positionals;
    int parallel;
    uint64_t seed_value;
    bool fail_fast;
    bool print_jobs;
    reg_suite_options expand;
} options;

static reg_status usage(const char *fmt, const char *word) __attribute__((format(printf, 1, 0)));

static reg_status usage(const char *fmt, const char *word) {
    char text[REG_TEXT_MAX];
    (void)reg_format(text, sizeof text, fmt, word);
    reg_error("%s (see tandem-regress --help)", text);
    return REG_USAGE;
}

static reg_status take_cfg(options *o, const char *value) {
    char copy[64];
    if (!reg_format(copy, sizeof copy, "%s", value)) {
        return usage("--cfg %s: too long", value);
    }
    memset(o->expand.cfg, 0, sizeof o->expand.cfg);
    char *rest = copy;
    for (char *part = strsep(&rest, ","); part != NULL; part = strsep(&rest, ",")) {
        size_t i = 0;
        while (i < REG_CFG_COUNT && strcmp(part, reg_cfg_names[i]) != 0) {
            i++;
        }
        if (i == REG_CFG_COUNT) {
            return usage("--cfg %s: expected n4, n8, n16 or n32, separated by commas", value);
        }
        o->expand.cfg[i] = true;
    }
    return REG_OK;
}

static reg_status take_number(const char *name, const char *value, uint64_t lo, uint64_t hi, uint64_t *number) {
    if (!reg_parse_u64(value, lo, hi, number)) {
        reg_error("%s %s: expected a number from %" PRIu64 " to %" PRIu64 " (see tandem-regress --help)", name, value, lo, hi);
        return REG_USAGE;
    }
    return REG_OK;
}

static reg_status take_value(options *o, const char *name, const char *value) {
    uint64_t number = 0;
    reg_status status = REG_OK;
    const struct {
        const char *name;
        const char **target;
    } texts[] = {{"--suite", &o->suite},
                 {"--run", &o->run},
                 {"--db", &o->db},
                 {"--out", &o->out},
                 {"--build-dir", &o->build_dir},
                 {"--seed", &o->seed},
                 {"--junit", &o->junit},
                 {"--html", &o->html},
                 {"--suite-dir", &o->suite_dir},
                 {"--kind", &o->expand.kind},
                 {"--unit-dir", &o->expand.unit_dir},
                 {"--stored-dir", &o->expand.stored_dir}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            if (value[0] == '\0') {
                return usage("%s: expected a value that is not empty", name);
            }
            *texts[i].target = value;
            return REG_OK;
        }
    }
    if (strcmp(name, "--jobs") == 0) {
        status = take_number(name, value, 1, PARALLEL_MAX, &number);
        o->parallel = (int)number;
    } else if (strcmp(name, "--timeout") == 0) {
        status = take_number(name, value, 1, 86400, &number);
        o->expand.timeout_s = (uint32_t)number;
    } else if (strcmp(name, "--memory") == 0) {
        status = take_number(name, value, 0, 1048576, &number);
        o->expand.memory_mb = (uint32_t)number;
    } else if (strcmp(name, "--cfg") == 0) {
        status = take_cfg(o, value);
    } else {
        status = usage("option %s is unknown", name);
    }
    return status;
}

static reg_status parse_options(options *o, int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        char name[32];
        const char *equals = strchr(argv[i], '=');
        if (strcmp(argv[i], "--fail-fast") == 0) {
            o->fail_fast = true;
        } else if (strcmp(argv[i], "--print-jobs") == 0) {
            o->print_jobs = true;
        } else if (argv[i][0] != '-') {
            if (o->positionals == 2) {
                return usage("argument \"%s\" is one too many", argv[i]);
            }
            o->positional[o->positionals++] = argv[i];
        } else if (equals != NULL) {
            (void)reg_format(name, sizeof name, "%.*s", (int)(equals - argv[i]), argv[i]);
            if (take_value(o, name, equals + 1) != REG_OK) {
                return REG_USAGE;
            }
        } else if (i + 1 == argc) {
            return usage("option %s: expected a value, or no such option", argv[i]);
        } else {
            if (take_value(o, argv[i], argv[i + 1]) != REG_OK) {
                return REG_USAGE;
            }
            i++;
        }
    }
    if (!reg_kind_known(o->expand.kind)) {
        return usage("--kind %s: expected fast, debug, tap, cov or san", o->expand.kind);
    }
    return o->seed == NULL ? REG_OK : take_number("--seed", o->seed, 0, UINT64_MAX, &o->seed_value);
}

/* A name stands for a file of the suite folder. */
static reg_status load_suite(const options *o, reg_suite *suite, char path[REG_PATH_MAX]) {
    const char *name = o->suite;
    size_t length = strlen(name);
    bool file = strchr(name, '/') != NULL || (length > 6 && strcmp(name + length - 6, ".suite") == 0);
    bool fits = file ? reg_format(path, REG_PATH_MAX, "%s", name) : reg_format(path, REG_PATH_MAX, "%s/%s.suite", o->suite_dir, name);
    if (!fits) {
        return usage("--suite %s: too long", name);
    }
    if (!file && access(path, R_OK) != 0) {
        reg_error("suite \"%s\" is unknown: no %s (tandem-regress list shows the suites)", name, path);
        return REG_USAGE;
    }
    return reg_suite_load(suite, path, &o->expand);
}

/* Flush stdout; what was printed to a full disk was not printed. */
static int close_output(int status) {
    if (fflush(stdout) != 0 || ferror(stdout)) {
        reg_error("standard output: cannot write: %s", strerror(errno));
        return REG_FAIL;
    }
    return status;
}

static bool have_programs(const reg_suite *suite, const char *build_dir) {
    char previous[REG_PATH_MAX] = "";
    char path[REG_PATH_MAX];
    for (size_t i = 0; i < suite->count; i++) {
        if (!reg_job_program(&suite->jobs[i], build_dir, path, sizeof path)) {
            reg_error("--build-dir %s: too long", build_dir);
            return false;
        }
        if (strcmp(path, previous) != 0 && access(path, X_OK) != 0) {
            reg_error("%s: no such program, and the suite needs it (make regress builds it)", path);
            return false;
        }
        (void)reg_format(previous, sizeof previous, "%s", path);
    }
    return true;
}

static void print_summary(const options *o, const reg_plan *plan, const reg_totals *totals, reg_end end, double elapsed) {
    const reg_suite *suite = plan->suite;
    printf("%s: %zu jobs in %.1f s, %d at a time, seed 0x%" PRIx64 ", run %" PRId64 ", logs in %s\n", suite->name, suite->count, elapsed,
           plan->parallel, plan->seed, plan->run, plan->out_dir);
    (void)reg_report_totals(plan->db, plan->run, stdout);
    (void)reg_report_outcomes(plan->db, plan->run, stdout);
    if (suite->budget_s != 0) {
        double over = elapsed - suite->budget_s;
        printf("budget %u s: %s %.1f s\n", suite->budget_s, over > 0 ? "overrun by" : "left", over > 0 ? over : -over);
    }
    if (o->junit != NULL) {
        printf("JUnit XML: %s\n", o->junit);
    }
    if (o->html != NULL) {
        printf("page: %s\n", o->html);
    }
    if (totals->not_run != 0) {
        printf("not run: %zu jobs (%s)\n", totals->not_run, end == REG_END_INTERRUPTED ? "interrupted" : "stopped at the first failure");
    }
    printf("%zu passed, %zu failed\n", totals->passed, totals->failed);
}

/* The reports that the command line asks for. */
static int write_files(const options *o, reg_db *db, int64_t run) {
    int status = o->junit != NULL ? reg_junit_write(db, run, o->junit) : REG_OK;
    if (status == REG_OK && o->html != NULL) {
        status = reg_html_write(db, run, o->html);
    }
    return status;
}

/* The run stands in the database; run its jobs and say how it went. */
static int run_plan(const options *o, const reg_plan *plan) {
    static const char *const states[] = {"done", "interrupted", "stopped"};
    reg_totals totals;
    if (plan->progress->terminal) {
        printf("%s: %zu jobs, %d at a time, seed 0x%" PRIx64 ", run %" PRId64 ", budget %u s\n", plan->suite->name, plan->suite->count,
               plan->parallel, plan->seed, plan->run, plan->suite->budget_s);
    }
    reg_end end = reg_run_jobs(plan, &totals);
    double elapsed = reg_now() - plan->progress->started;
    if (end == REG_END_BROKEN || reg_db_end_run(plan->db, plan->run, states[end], (uint64_t)(elapsed * 1000.0)) != REG_OK) {
        return REG_FAIL;
    }
    if (write_files(o, plan->db, plan->run) != REG_OK) {
        return REG_FAIL;
    }
    print_summary(o, plan, &totals, end, elapsed);
    return totals.failed == 0 && totals.not_run == 0 && totals.passed > 0 ? REG_OK : REG_FAIL;
}

static int run_with_db(const options *o, const reg_suite *suite, const char *suite_path, reg_db *db) {
    reg_run_info info = {.suite = suite->name, .suite_path = suite_path, .build_dir = o->build_dir, .budget_s = suite->budget_s};
    reg_progress progress = {.terminal = isatty(STDOUT_FILENO) != 0, .started = reg_now(), .total = suite->count, .parallel = o->parallel};
    char out_dir[REG_PATH_MAX - 128]; /* room for the names below it */
    info.parallel = o->parallel;
    info.seed = o->seed != NULL ? o->seed_value : suite->seed;
    reg_host_info(&info);
    if (reg_db_begin_run(db, &info, suite) != REG_OK) {
        return REG_FAIL;
    }
    bool fits = o->out != NULL ? reg_format(out_dir, sizeof out_dir, "%s", o->out)
                               : reg_format(out_dir, sizeof out_dir, "%s/regress/%" PRId64, o->build_dir, info.id);
    if (!fits) {
        return usage("--out %s: too long", o->out != NULL ? o->out : o->build_dir);
    }
    if (reg_make_dirs(out_dir) != REG_OK || reg_db_set_out_dir(db, info.id, out_dir) != REG_OK) {
        return REG_FAIL;
    }
    reg_plan plan = {.suite = suite,
                     .build_dir = o->build_dir,
                     .out_dir = out_dir,
                     .seed = info.seed,
                     .run = info.id,
                     .parallel = o->parallel,
                     .fail_fast = o->fail_fast,
                     .db = db,
                     .progress = &progress};
    return run_plan(o, &plan);
}

static int open_db(const options *o, reg_db *db, bool create) {
    char path[REG_PATH_MAX];
    bool fits = o->db != NULL ? reg_format(path, sizeof path, "%s", o->db) : reg_format(path, sizeof path, "%s/results.db", o->build_dir);
    if (!fits) {
        return usage("--db %s: too long", o->db != NULL ? o->db : o->build_dir);
    }
    char *slash = strrchr(path, '/');
    if (create && slash != NULL && slash != path) {
        *slash = '\0';
        if (reg_make_dirs(path) != REG_OK) {
            return REG_FAIL;
        }
        *slash = '/';
    }
    return reg_db_open(db, path, create);
}

static int command_run(const options *o) {
    reg_suite suite;
    reg_db db;
    char path[REG_PATH_MAX];
    if (o->suite == NULL || o->positionals != 0) {
        return usage("run: expected --suite NAME or --suite FILE%s", "");
    }
    int status = load_suite(o, &suite, path);
    if (status != REG_OK) {
        return status;
    }
    const char *const files[] = {o->junit, o->html};
    for (size_t i = 0; i < 2 && status == REG_OK && !o->print_jobs; i++) { /* better known now than after the last job */
        if (files[i] != NULL) {
            reg_report_file probe;
            status = reg_report_open(&probe, files[i]);
            reg_report_abort(&probe);
        }
    }
    if (status != REG_OK) {
        reg_suite_free(&suite);
        return status;
    }
    if (o->print_jobs) {
        reg_suite_print(&suite, o->seed != NULL ? o->seed_value : suite.seed, stdout);
    } else if (suite.count == 0) {
        reg_error("%s: nothing to run (no line of the suite is for these configurations)", path);
        status = REG_FAIL;
    } else if (!have_programs(&suite, o->build_dir)) {
        status = REG_FAIL;
    } else {
        status = open_db(o, &db, true);
        if (status == REG_OK) {
            status = run_with_db(o, &suite, path, &db);
            reg_db_close(&db);
        }
    }
    reg_suite_free(&suite);
    return close_output(status);
}

static int command_targets(const options *o) {
    reg_suite suite;
    char path[REG_PATH_MAX];
    if (o->suite == NULL || o->positionals != 0) {
        return usage("targets: expected --suite NAME or --suite FILE%s", "");
    }
    int status = load_suite(o, &suite, path);
    char previous[REG_PATH_MAX] = "";
    for (size_t i = 0; status == REG_OK && i < suite.count; i++) {
        char target[REG_PATH_MAX];
        char earlier[REG_PATH_MAX];
        if (!reg_job_program(&suite.jobs[i], o->build_dir, target, sizeof target)) {
            status = usage("--build-dir %s: too long", o->build_dir);
            break;
        }
        bool seen = strcmp(target, previous) == 0; /* most jobs follow one of their kind */
        for (size_t j = 0; j < i && !seen; j++) {
            seen = reg_job_program(&suite.jobs[j], o->build_dir, earlier, sizeof earlier) && strcmp(earlier, target) == 0;
        }
        if (!seen) {
            printf("%s\n", target);
        }
        (void)reg_format(previous, sizeof previous, "%s", target);
    }
    reg_suite_free(&suite);
    return status == REG_OK ? close_output(status) : status;
}

static int command_report(const options *o) {
    reg_db db;
    int64_t run = 0;
    if (o->positionals != 0) {
        return usage("report: argument \"%s\" is one too many", o->positional[0]);
    }
    int status = open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    status = reg_db_find_run(&db, o->run, &run);
    if (status == REG_OK) {
        status = o->junit != NULL || o->html != NULL ? write_files(o, &db, run) : reg_report_print(&db, run, stdout);
    }
    reg_db_close(&db);
    return status == REG_OK ? close_output(status) : status;
}

static int command_diff(const options *o) {
    reg_db db;
    int64_t runs[2] = {0, 0};
    if (o->positionals != 2) {
        return usage("diff: expected two runs%s", "");
    }
    int status = open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    for (int i = 0; status == REG_OK && i < 2; i++) {
        status = reg_db_find_run(&db, o->positional[i], &runs[i]);
    }
    if (status == REG_OK) {
        status = close_output(reg_report_diff(&db, runs[0], runs[1], stdout));
    }
    reg_db_close(&db);
    return status;
}

static int command_list(options *o) {
    reg_suite suite;
    char path[REG_PATH_MAX];
    if (o->suite == NULL && o->positionals == 1) {
        o->suite = o->positional[0];
    } else if (o->positionals != 0) {
        return usage("list: argument \"%s\" is one too many", o->positional[0]);
    }
    if (o->suite == NULL) {
        return close_output(reg_list_suites(o->suite_dir, &o->expand));
    }
    int status = load_suite(o, &suite, path);
    if (status != REG_OK) {
        return status;
    }
    uint64_t seed = o->seed != NULL ? o->seed_value : suite.seed;
    for (size_t i = 0; i < suite.count; i++) {
        reg_command command;
        if (reg_command_build(&command, &suite.jobs[i], o->build_dir, seed, NULL, NULL)) {
            printf("%s%s\n", command.line, suite.jobs[i].second_run ? "  # again: same trace hash" : "");
        }
    }
    printf("%s: %zu jobs, budget %u s\n", suite.name, suite.count, suite.budget_s);
    reg_suite_free(&suite);
    return close_output(REG_OK);
}

int main(int argc, char **argv) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    options o = {.build_dir = "build",
                 .suite_dir = "regress/suites",
                 .parallel = processors < 1              ? 1
                             : processors > PARALLEL_MAX ? PARALLEL_MAX
                                                         : (int)processors,
                 .expand = {.kind = "fast",
                            .cfg = {true, true, true, true},
                            .unit_dir = "testcases/unit",
                            .stored_dir = "testcases/cases",
                            .timeout_s = DEFAULT_TIMEOUT_S,
                            .memory_mb = DEFAULT_MEMORY_MB}};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help_text, stdout);
            return close_output(REG_OK);
        }
    }
    if (argc < 2) {
        return usage("expected a command: run, list, targets, report or diff%s", "");
    }
    /* A file size limit is reported as a failed write, not by a signal. */
    (void)signal(SIGXFSZ, SIG_IGN);
    /* A reader of the output that goes away does not end the run: its results still reach the database. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (parse_options(&o, argc, argv) != REG_OK) {
        return REG_USAGE;
    }
    if (strcmp(argv[1], "run") == 0) {
        return command_run(&o);
    }
    if (strcmp(argv[1], "list") == 0) {
        return command_list(&o);
    }
    if (strcmp(argv[1], "targets") == 0) {
        return command_targets(&o);
    }
    if (strcmp(argv[1], "report") == 0) {
        return command_report(&o);
    }
    if (strcmp(argv[1], "diff") == 0) {
        return command_diff(&o);
    }
    return usage("command \"%s\" is unknown: expected run, list, targets, report or diff", argv[1]);
}
