/* cmd_run.c - the command `run`: a new run, or a resumed one. */
#define _GNU_SOURCE
#include "cli.h"
#include "reports.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 12u          /* rows of the table of tests, for a summary of 24 lines */
#define ROWS_OF_FAILED 6u /* the same if there is a table of failures */

static void print_file(const char *what, const char *path, const char *below, bool written) {
    printf("%s: %s%s%s\n", what, path, below, written ? "" : " (could not be written)");
}

/* missing: of cli_write_files() */
static void print_files(const options *o, const reg_plan *plan, unsigned missing) {
    char path[REG_PATH_MAX];
    if (cli_page_dir(o, plan->db, plan->run, path)) {
        print_file("report", path, "/index.html", (missing & CLI_PAGES) == 0);
    }
    if (o->html != NULL) {
        print_file("report", o->html, "/index.html", (missing & CLI_HTML) == 0);
    }
    if (o->junit != NULL) {
        print_file("JUnit XML", o->junit, "", (missing & CLI_JUNIT) == 0);
    }
    if (o->sarif != NULL) {
        print_file("SARIF", o->sarif, "", (missing & CLI_SARIF) == 0);
    }
    if (o->summary_json != NULL) {
        print_file("JSON", o->summary_json, "", (missing & CLI_SUMMARY) == 0);
    }
}

static const char *how_many(const reg_plan *plan, char *out, size_t size) {
    (void)(plan->slurm != NULL ? reg_format(out, size, "under Slurm")
                               : reg_format(out, size, "%d at a time", plan->parallel));
    return out;
}

/* Why jobs did not run, and what to do about it. */
static void print_not_run(const reg_plan *plan, const reg_totals *totals, reg_end end) {
    static const char *const reasons[] = {"the machine kept them from running",
                                          "interrupted",
                                          "stopped at the first failure",
                                          "the machine failed several times in a row",
                                          "the run could not go on",
                                          "their program could not be built"};
    printf("not run: %zu jobs (%s)\n", totals->not_run, reasons[end]);
    if (end == REG_END_BUILD) {
        printf("build: %s/build.log\n", plan->out_dir);
        return;
    }
    if (totals->unrecorded != 0) {
        printf("%zu of them ended, but %s could not be written\n", totals->unrecorded, plan->db->path);
    }
    if (totals->host != 0) {
        printf("host: %zu jobs, the last one: %s\n", totals->host, totals->host_cause);
    }
    if (end != REG_END_FAIL_FAST) {
        printf("%smake regress RESUME=1 RUN=%" PRId64 " runs them\n",
               end == REG_END_HOST || end == REG_END_BROKEN ? "when the cause is gone: " : "", plan->run);
    }
}

/* One screen. What cannot be read or written was reported; the last line comes in any case. */
static void print_summary(const options *o, const reg_plan *plan, const reg_totals *totals, reg_end end, double elapsed,
                          unsigned missing) {
    const reg_suite *suite = plan->suite;
    char how[32];
    char sum[65];
    printf("%s: %zu jobs in %.1f s, %s, seed 0x%" PRIx64 ", run %" PRId64 "\n", suite->name, suite->count, elapsed,
           how_many(plan, how, sizeof how), plan->seed, plan->run);
    (void)reg_report_totals(plan->db, plan->run, totals->failed == 0 ? ROWS : ROWS_OF_FAILED, stdout);
    (void)reg_report_outcomes(plan->db, plan->run, stdout);
    if (suite->budget_s != 0) {
        double over = elapsed - suite->budget_s;
        printf("budget %u s: %s %.1f s\n", suite->budget_s, over > 0 ? "overrun by" : "left", over > 0 ? over : -over);
    }
    fputs(suite->left_out, stdout);
    printf("logs: %s\n", plan->out_dir);
    print_files(o, plan, missing);
    if (reg_signoff_sum(plan->out_dir, sum)) {
        printf("signed: SHA-256 %s\n", sum);
    }
    if (totals->not_run != 0) {
        print_not_run(plan, totals, end);
    }
    printf("%zu passed, %zu failed", totals->passed, totals->failed);
    if (totals->not_run != 0) {
        printf(", %zu did not run%s", totals->not_run,
               end == REG_END_INTERRUPTED ? " (interrupted)"
               : end == REG_END_BUILD     ? " (the build failed)"
                                          : "");
    }
    fputc('\n', stdout);
}

/* The run is in the database; run its jobs and print the summary. */
static int run_plan(const options *o, const reg_plan *plan) {
    static const char *const states[] = {"done", "interrupted", "stopped", "host", "host", "stopped"};
    reg_totals totals;
    if (plan->order_count == 0) {
        printf("run %" PRId64 " is complete: there is nothing to resume\n", plan->run);
    } else if (plan->order_count < plan->suite->count) {
        printf("run %" PRId64 " resumed: %zu of %zu jobs are missing\n", plan->run, plan->order_count,
               plan->suite->count);
        (void)fflush(stdout);
    }
    if (plan->progress->terminal) {
        char how[32];
        printf("%s: %zu jobs, %s, seed 0x%" PRIx64 ", run %" PRId64 ", budget %u s\n", plan->suite->name,
               plan->suite->count, how_many(plan, how, sizeof how), plan->seed, plan->run, plan->suite->budget_s);
    }
    reg_end end = reg_launcher_find(plan->slurm != NULL ? "slurm" : "local")->run(plan, &totals);
    const double elapsed = (double)plan->elapsed_ms / 1000.0 + reg_now() - plan->progress->started;
    const char *state = end == REG_END_DONE && totals.not_run != 0 ? states[REG_END_HOST] : states[end];
    const uint64_t took = (uint64_t)(elapsed * 1000.0);
    bool good = reg_db_end_run(plan->db, plan->run, state, took) == REG_OK;
    reg_runfile_end(plan->out_dir, state, took);
    if (good && totals.failed > 0 && (end == REG_END_DONE || end == REG_END_FAIL_FAST)) {
        const reg_explain_plan explain = {.run = plan->run,
                                          .build_dir = plan->build_dir,
                                          .out_dir = plan->out_dir,
                                          .most = o->explain,
                                          .seconds = o->explain_time,
                                          .parallel = plan->parallel,
                                          .terminal = plan->progress->terminal};
        good = reg_explain(&explain, plan->db, stdout) == REG_OK;
    }
    (void)reg_signoff_write(plan->db, plan->run); /* a failure was printed; pages and summary come nevertheless */
    const unsigned missing = cli_write_files(o, plan->db, plan->run);
    print_summary(o, plan, &totals, end, elapsed, missing);
    rep_host_forget(); /* from here on, the exit status is that of the jobs */
    if (totals.failed != 0) {
        return REG_FAIL;
    }
    if (!good || missing != 0 || totals.host != 0 || totals.unrecorded != 0 || end == REG_END_HOST ||
        end == REG_END_BROKEN) {
        return REG_HOST;
    }
    return totals.not_run == 0 && totals.passed > 0 ? REG_OK : REG_FAIL;
}

/* Run the jobs without an outcome. */
static int run_list(const options *o, reg_db *db, const reg_run_info *info, const reg_suite *suite,
                    reg_programs *programs, const reg_past *past, bool resumed) {
    reg_progress progress = {.terminal = isatty(STDOUT_FILENO) != 0,
                             .started = reg_now(),
                             .total = suite->count,
                             .parallel = (int)o->parallel};
    size_t *order = NULL;
    reg_plan plan = {.suite = suite,
                     .build_dir = info->build_dir,
                     .out_dir = info->out_dir,
                     .coverage_dir = info->coverage_dir,
                     .seed = info->seed,
                     .run = info->id,
                     .elapsed_ms = info->elapsed_ms,
                     .parallel = (int)o->parallel,
                     .fail_fast = o->fail_fast,
                     .past = past,
                     .resumed = resumed,
                     .slurm = strcmp(info->launcher, "slurm") == 0 ? &o->slurm : NULL,
                     .db = db,
                     .build = o->build,
                     .programs = programs,
                     .info = info,
                     .progress = &progress};
    reg_expectation *expected = NULL;
    int status = reg_make_dirs(info->out_dir);
    if (status == REG_OK && info->coverage_dir[0] != '\0') {
        status = reg_make_dirs(info->coverage_dir);
    }
    if (status == REG_OK) {
        status = reg_history_load(db, suite, info->suite_path, info->shard, info->id, &expected);
    }
    if (status == REG_OK) {
        status = reg_order_jobs(suite, past, expected, &order, &plan.order_count);
    }
    if (status == REG_OK) {
        plan.order = order;
        plan.expected = expected;
        status = run_plan(o, &plan);
    }
    free(order);
    free(expected);
    return status;
}

/* ---- a new run ---- */

static void release(int *fd) {
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

/* building: lock of the build folder, released when the run has its own programs. */
static int begin_run(const options *o, const reg_suite *suite, const char *suite_path, reg_programs *programs,
                     int *building) {
    reg_db db;
    reg_run_info info = {.budget_s = suite->budget_s,
                         .parallel = (int)o->parallel,
                         .seed = o->seed != NULL ? o->seed_value : suite->seed};
    reg_past *past = calloc(suite->count, sizeof *past);
    if (past == NULL) {
        return reg_error("out of memory");
    }
    for (size_t i = 0; i < suite->count; i++) {
        past[i].attempt = 1;
    }
    int status = REG_OK;
    if (!reg_format(info.suite_path, sizeof info.suite_path, "%s", suite_path) ||
        !reg_format(info.build_dir, sizeof info.build_dir, "%s", o->build_dir) ||
        !reg_format(info.out_dir, sizeof info.out_dir, "%s", o->out != NULL ? o->out : "")) {
        status = cli_usage("--out %s: too long", o->out != NULL ? o->out : o->build_dir);
    }
    if (!reg_format(info.coverage_dir, sizeof info.coverage_dir, "%s", o->coverage != NULL ? o->coverage : "")) {
        status = cli_usage("--coverage %s: too long", o->coverage);
    }
    (void)reg_format(info.shard, sizeof info.shard, "%u/%u", o->shard, o->shards);
    (void)reg_format(info.launcher, sizeof info.launcher, "%s", o->launcher != NULL ? o->launcher : "local");
    (void)reg_format(info.suite, sizeof info.suite, "%s", suite->name);
    reg_commit_info(&info);
    reg_host_info(&info);
    if (status == REG_OK) {
        status = cli_open_db(o, &db, true);
    }
    if (status == REG_OK) {
        status = reg_db_begin_run(&db, &info, suite, programs);
        if (status == REG_OK && o->build == NULL) { /* else the builder pins them */
            status = reg_programs_pin(programs, &info);
        }
        release(building);
        if (status == REG_OK) {
            status = run_list(o, &db, &info, suite, programs, past, false);
        }
        reg_db_close(&db);
    }
    free(past);
    return status;
}

/* Only as many jobs as fit into the budget by their expected times, if there is a database. */
static int limit_time(const options *o, reg_suite *suite, const char *path) {
    reg_db db;
    reg_expectation *expected = NULL;
    size_t known;
    const size_t all = suite->count;
    int status = cli_open_known_db(o, &db);
    if (status == REG_OK) {
        status = reg_history_load(&db, suite, path, "1/1", 0, &expected);
        reg_db_close(&db);
    } else if (status == REG_NONE) {
        expected = malloc((all + 1) * sizeof *expected);
        status = expected == NULL ? REG_FAIL : REG_OK;
        for (size_t i = 0; i < all && status == REG_OK; i++) {
            expected[i] = (reg_expectation){.seconds = -1.0};
        }
    }
    if (status == REG_OK) {
        (void)reg_history_mean(expected, all, 0, &known);
        status = reg_draw_time(suite, o->seed != NULL ? o->seed_value : suite->seed, expected,
                               (double)o->budget * o->parallel);
    }
    if (status == REG_OK) {
        suite->budget_s = o->budget;
        fprintf(stderr, "budget %u s: %zu of %zu jobs drawn, the times of %zu are known\n", o->budget, suite->count,
                all, known);
    }
    free(expected);
    return status;
}

/* --count, --budget, --shard: a part of the suite. */
static int limit_suite(const options *o, reg_suite *suite, const char *path) {
    int status = REG_OK;
    if (o->count != 0) {
        status = reg_draw_count(suite, o->seed != NULL ? o->seed_value : suite->seed, o->count);
    }
    if (status == REG_OK && o->budget != 0) {
        status = limit_time(o, suite, path);
    }
    if (status == REG_OK) {
        reg_draw_shard(suite, o->shard, o->shards);
    }
    return status;
}

static int run_suite(const options *o, const reg_suite *suite, const char *path) {
    reg_programs programs;
    if (suite->count == 0) {
        return reg_error("%s: nothing to run (no line of the suite is for these configurations, or the shard is empty)",
                         path);
    }
    int building = o->build == NULL ? reg_build_lock(o->build_dir) : -1;
    int status = reg_programs_of(&programs, suite, o->build_dir);
    if (status == REG_OK) {
        status = o->build == NULL ? reg_programs_hash(&programs) : REG_OK;
        if (status == REG_OK) {
            status = begin_run(o, suite, path, &programs, &building);
        }
        reg_programs_free(&programs);
    }
    release(&building);
    return status;
}

/* ---- a resumed run ---- */

/* The programs of the run, pinned when it was started or when they had been built. */
static int same_programs(const options *o, reg_db *db, const reg_run_info *info, reg_programs *programs) {
    int building = o->build == NULL ? reg_build_lock(info->build_dir) : -1;
    int status = reg_db_load_programs(db, info->id, programs);
    status = status == REG_OK ? reg_programs_pin(programs, info) : status;
    for (size_t i = 0; i < programs->count && status == REG_OK && o->build == NULL; i++) {
        if (programs->list[i].hash == 0) {
            status =
                reg_refuse("run %" PRId64 " cannot be resumed: %s was not built when it ended (make regress RESUME=1 "
                           "builds it)",
                           info->id, programs->list[i].path);
        }
    }
    release(&building);
    return status;
}

/* Options beside --resume must equal those that the run was started with. */
static int same_options(const options *o, const reg_run_info *info) {
    char path[REG_PATH_MAX];
    reg_run_info now;
    if (o->suite != NULL) {
        if (cli_suite_path(o, path) != REG_OK) {
            return REG_USAGE;
        }
        if (strcmp(path, info->suite_path) != 0) {
            return reg_refuse("run %" PRId64 " cannot be resumed: it is of suite %s, not %s", info->id,
                              info->suite_path, path);
        }
    }
    if (o->seed != NULL && o->seed_value != info->seed) {
        return reg_refuse("run %" PRId64 " cannot be resumed: its seed is 0x%" PRIx64 ", not %s", info->id, info->seed,
                          o->seed);
    }
    if (strcmp(o->build_dir, info->build_dir) != 0) {
        return reg_refuse("run %" PRId64 " cannot be resumed: its programs are in %s, not in %s (--build-dir)",
                          info->id, info->build_dir, o->build_dir);
    }
    if (o->launcher != NULL && strcmp(o->launcher, info->launcher) != 0) {
        return reg_refuse("run %" PRId64 " cannot be resumed: its launcher is %s, not %s", info->id, info->launcher,
                          o->launcher);
    }
    reg_commit_info(&now);
    if (strcmp(now.commit, info->commit) != 0) {
        return reg_refuse("run %" PRId64 " cannot be resumed: it is of commit %.12s, not %.12s", info->id, info->commit,
                          now.commit);
    }
    if (now.dirty != info->dirty) {
        return reg_refuse("run %" PRId64 " cannot be resumed: its work tree was %s, this one is %s", info->id,
                          info->dirty ? "changed" : "clean", now.dirty ? "changed" : "clean");
    }
    return REG_OK;
}

static bool missing(const reg_suite *suite, const reg_past *past) {
    for (size_t i = 0; i < suite->count; i++) {
        if (past[i].outcome[0] == '\0') {
            return true;
        }
    }
    return false;
}

/* The list from the database; the run is locked. */
static int continue_run(const options *o, reg_db *db, const reg_run_info *info) {
    reg_suite suite;
    reg_past *past = NULL;
    if (reg_db_load_jobs(db, info, &suite, &past) != REG_OK) {
        return REG_FAIL;
    }
    reg_programs programs = {0};
    int status = same_programs(o, db, info, &programs);
    if (status == REG_OK && missing(&suite, past)) {
        status = reg_db_resume_run(db, info->id);
        reg_runfile_end(info->out_dir, NULL, 0);
    }
    if (status == REG_OK) {
        status = run_list(o, db, info, &suite, &programs, past, true);
    }
    reg_programs_free(&programs);
    reg_suite_free(&suite);
    free(past);
    return status;
}

/* --resume RUN; else the newest run of --suite; else the newest run. */
static int find_resumed(const options *o, reg_db *db, int64_t *run) {
    char path[REG_PATH_MAX];
    if (o->run != NULL || o->suite == NULL) {
        return reg_db_find_run(db, o->run, run);
    }
    if (cli_suite_path(o, path) != REG_OK) {
        return REG_USAGE;
    }
    int status = reg_db_newest_of(db, path, run);
    if (status == REG_OK && *run == 0) {
        status = reg_refuse("%s: no run of suite %s that could be resumed", db->path, path);
    }
    return status;
}

static int resume_run(const options *o) {
    reg_db db;
    reg_run_info info;
    int64_t run = 0;
    if (o->list_option != NULL || o->print_jobs || o->expand.marked) {
        return cli_usage("--resume: the run has its own list of jobs, it cannot be combined with %s",
                         o->print_jobs      ? "--print-jobs"
                         : o->expand.marked ? "--marked"
                                            : o->list_option);
    }
    int status = cli_open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    status = find_resumed(o, &db, &run);
    if (status == REG_OK) {
        status = reg_db_load_run(&db, run, &info);
    }
    if (status == REG_OK) {
        status = same_options(o, &info);
    }
    if (status == REG_OK) {
        const reg_launcher *launcher = reg_launcher_find(info.launcher);
        status =
            launcher != NULL ? launcher->probe() : (int)cli_usage("launcher %s of the run is unknown", info.launcher);
    }
    if (status == REG_OK) { /* a runner that was killed a moment ago may still be going */
        status = reg_lock_run(&db.lock, db.path, run, 1.0);
    }
    if (status == REG_OK) {
        status = continue_run(o, &db, &info);
    }
    reg_db_close(&db);
    return status;
}

/* Detect this now rather than after the last job. */
static int probe_files(const options *o) {
    const char *const files[] = {o->junit, o->sarif, o->summary_json};
    int status = o->html != NULL ? reg_html_check(o->html) : REG_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && status == REG_OK; i++) {
        if (files[i] != NULL) {
            rep_file probe;
            status = reg_report_open(&probe, files[i]);
            rep_file_drop(&probe);
        }
    }
    return status;
}

int cli_run(options *o) {
    reg_suite suite;
    char path[REG_PATH_MAX];
    if ((o->suite == NULL && !o->resume) || o->positionals != 0) {
        return cli_usage("run: expected --suite NAME, --suite FILE or --resume%s", "");
    }
    if (o->build != NULL && o->launcher != NULL && strcmp(o->launcher, "slurm") == 0) {
        return cli_usage("run: --build needs the local launcher: the tasks of %s need all programs when they start",
                         o->launcher);
    }
    int status = o->print_jobs ? REG_OK : probe_files(o);
    if (o->resume) {
        return status == REG_OK ? cli_close_output(resume_run(o)) : status;
    }
    if (status == REG_OK && o->launcher != NULL && !o->print_jobs) {
        status = reg_launcher_find(o->launcher)->probe();
    }
    if (status == REG_OK) {
        status = cli_load_suite(o, &suite, path);
    }
    if (status != REG_OK) {
        return status;
    }
    status = limit_suite(o, &suite, path);
    if (status == REG_OK && o->print_jobs) {
        reg_suite_print(&suite, o->seed != NULL ? o->seed_value : suite.seed, stdout);
    } else if (status == REG_OK) {
        status = run_suite(o, &suite, path);
    }
    reg_suite_free(&suite);
    return cli_close_output(status);
}
