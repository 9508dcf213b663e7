/*
 * explain.c - after a run: one failure of each signature runs again with its report; where that was quick, the case is
 * shrunk.
 *
 * Programs with cases (`repro FILE --report DIR`, `shrink FILE`; those in Python have no `shrink`) are run in the build
 * that failed. Their files are noted with the job; outcomes do not change.
 */
#define _GNU_SOURCE
#include "query.h"
#include "reports.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/bundle.h"

/* A failure that reproduces within the first time is shrunk, for at most the second. */
#define QUICK_S 5.0
#define SHRINK_S 20u
#define GRACE_S 2.0
/* Signatures in the summary: it is one screen. */
#define SHOWN 5u

typedef struct explainer {
    const reg_explain_plan *plan;
    reg_db *db;
    FILE *out;
    reg_guardian guardian;
    sigset_t watched;
    double end; /* of the time for all */
    bool interrupted;
} explainer;

/* A failure to be explained. */
typedef struct failure {
    size_t idx;
    reg_job job; /* what, name, cfg, kind, memory */
    char case_path[REG_PATH_MAX];
    char signature[256];
    char dir[REG_PATH_MAX];     /* of its explanation */
    char program[REG_PATH_MAX]; /* as the user knows it, and what is executed */
    char pinned[REG_PATH_MAX];
} failure;

/* Run a command for at most so many seconds. Its wait status; -1: it was stopped, or could not start. */
static int run_command(explainer *e, const reg_command *command, const char *log, uint32_t memory_mb, double seconds) {
    char cause[REG_TEXT_MAX];
    pid_t pid = reg_spawn(&e->guardian, command, log, memory_mb, cause);
    if (pid < 0) {
        reg_error("%s", cause);
        return -1;
    }
    double deadline = reg_now() + seconds;
    bool told = false;
    int wait_status = 0;
    uint64_t unused[2];
    while (!reg_reap(&e->guardian, pid, &wait_status, &unused[0], &unused[1])) {
        const double left = deadline - reg_now();
        if (left <= 0 || (e->interrupted && !told)) {
            (void)kill(-pid, told ? SIGKILL : SIGTERM);
            told = true;
            deadline = reg_now() + GRACE_S;
            continue;
        }
        const struct timespec wait = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        const int news = sigtimedwait(&e->watched, NULL, &wait);
        e->interrupted = e->interrupted || (news > 0 && news != SIGCHLD);
    }
    return told ? -1 : wait_status;
}

static bool has_files(const char *path) {
    DIR *dir = opendir(path);
    bool found = false;
    for (struct dirent *entry = dir == NULL ? NULL : readdir(dir); entry != NULL; entry = readdir(dir)) {
        found = found || entry->d_name[0] != '.';
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return found;
}

static const char *text_in(const failure *f, const char *name, char path[REG_PATH_MAX]) {
    (void)reg_format(path, REG_PATH_MAX, "%s/%s", f->dir, name);
    return path;
}

/* The command that reproduces the failure with a report. False: this kind of program has none. */
static bool show_again(const failure *f, reg_command *command, const char *report, const char *result) {
    reg_command_begin(command);
    (void)reg_format(command->program, sizeof command->program, "%s", f->pinned);
    return reg_command_add(command, f->program) && reg_command_case(command, &f->job, "repro", f->case_path) &&
           reg_command_add(command, "--report") && reg_command_add(command, report) &&
           reg_command_add(command, "--result") && reg_command_add(command, result);
}

static bool search_small(const failure *f, reg_command *command, const char *small, int parallel) {
    char number[24];
    reg_command_begin(command);
    (void)reg_format(command->program, sizeof command->program, "%s", f->pinned);
    bool good = f->job.what != REG_PYTHON && reg_command_add(command, f->program) &&
                reg_command_case(command, &f->job, "shrink", f->case_path) && reg_command_add(command, "--output") &&
                reg_command_add(command, small) && reg_command_add(command, "--seconds");
    (void)reg_format(number, sizeof number, "%u", SHRINK_S);
    good = good && reg_command_add(command, number) && reg_command_add(command, "--jobs");
    (void)reg_format(number, sizeof number, "%d", parallel);
    return good && reg_command_add(command, number);
}

static uint32_t memory_of(const failure *f) {
    return strcmp(f->job.kind, "san") == 0 ? 0 : f->job.memory_mb;
}

/* Shrink the case; path of the small one, or empty. */
static void shrink(explainer *e, const failure *f, char small[REG_PATH_MAX]) {
    reg_command command;
    char log[REG_PATH_MAX];
    const double left = e->end - reg_now();
    (void)text_in(f, "small.case", small);
    if (left > 1.0 && !e->interrupted && search_small(f, &command, small, e->plan->parallel)) {
        (void)run_command(e, &command, text_in(f, "shrink.log", log), memory_of(f),
                          left < SHRINK_S + QUICK_S ? left : SHRINK_S + QUICK_S);
    }
    if (access(small, R_OK) != 0) {
        small[0] = '\0';
    }
}

/* Did it fail in the same way again? Prints a line when not. */
static void compare(explainer *e, const failure *f, int wait_status, const reg_result *again, const char *trouble) {
    if (wait_status == -1) {
        fprintf(e->out, "job %zu, run again: stopped, the time for explanations is over\n", f->idx);
    } else if (trouble != NULL) {
        fprintf(e->out, "job %zu, run again: %s\n", f->idx, trouble);
    } else if (strcmp(again->outcome, "pass") == 0) {
        fprintf(e->out, "job %zu, run again: it passed, with the same case in the same build\n", f->idx);
    } else if (strncmp(again->signature, f->signature, strlen(again->signature)) != 0) {
        fprintf(e->out, "job %zu, run again: another failure, %s\n", f->idx, again->signature);
    }
}

static int explain_one(explainer *e, failure *f) {
    reg_command command;
    reg_result again;
    char report[REG_PATH_MAX];
    char result[REG_PATH_MAX];
    char log[REG_PATH_MAX];
    char small[REG_PATH_MAX] = "";
    char wave[REG_PATH_MAX + 16] = "";
    memset(&again, 0, sizeof again);
    (void)text_in(f, "report", report);
    (void)text_in(f, "result.txt", result);
    if (reg_remove_tree(f->dir) != REG_OK || reg_make_dirs(f->dir) != REG_OK) {
        return REG_FAIL;
    }
    if (!show_again(f, &command, report, result)) {
        return reg_remove_tree(f->dir);
    }
    const double begin = reg_now();
    const int wait_status = run_command(e, &command, text_in(f, "log.txt", log), memory_of(f), e->end - begin);
    const char *trouble = wait_status == -1 ? NULL : reg_result_load(&again, result);
    if (!e->interrupted) {
        compare(e, f, wait_status, &again, trouble);
    }
    if (wait_status != -1 && trouble == NULL && strcmp(again.outcome, "pass") != 0 && reg_now() - begin < QUICK_S) {
        shrink(e, f, small);
    }
    (void)reg_format(wave, sizeof wave, "%s/" REP_BUNDLE_WAVE, report);
    return reg_db_explain_job(e->db, e->plan->run, f->idx, has_files(report) ? report : "",
                              access(wave, R_OK) == 0 ? wave : "", small);
}

/* The failure of a row of the table; false: it has no case, or it is explained. */
static bool take_row(const explainer *e, const reg_table *table, size_t row, failure *f) {
    const char *path = reg_table_cell(table, row, "case");
    memset(f, 0, sizeof *f);
    f->idx = strtoull(reg_table_cell(table, row, "job"), NULL, 10);
    (void)reg_format(f->signature, sizeof f->signature, "%s", reg_table_cell(table, row, "signature"));
    if (path == NULL || reg_table_cell(table, row, "report") != NULL ||
        !reg_format(f->case_path, sizeof f->case_path, "%s", path) ||
        reg_db_load_job(e->db, e->plan->run, f->idx, &f->job) != REG_OK) {
        return false;
    }
    reg_explained_dir(e->plan->out_dir, f->idx, f->dir, sizeof f->dir);
    char programs[REG_PATH_MAX];
    return reg_job_program(&f->job, e->plan->build_dir, f->program, sizeof f->program) &&
           reg_pinned_dir(e->plan->out_dir, programs, sizeof programs) &&
           reg_job_program(&f->job, programs, f->pinned, sizeof f->pinned);
}

static int explain_rows(explainer *e, const reg_table *table) {
    int status = REG_OK;
    for (size_t row = 0; row < table->row_count && row < e->plan->most && status == REG_OK && !e->interrupted; row++) {
        failure f;
        if (reg_now() < e->end && take_row(e, table, row, &f)) {
            if (e->plan->terminal) {
                fprintf(e->out, "\r\033[Kexplaining %s", f.signature);
                (void)fflush(e->out);
            }
            status = explain_one(e, &f);
            if (e->plan->terminal) {
                fputs("\r\033[K", e->out);
            }
        }
    }
    return status;
}

static int explain_all(const reg_explain_plan *plan, reg_db *db, const reg_table *table, FILE *out) {
    explainer e = {.plan = plan, .db = db, .out = out, .end = reg_now() + plan->seconds};
    sigset_t before;
    if (reg_guardian_start(&e.guardian) != REG_OK) {
        return REG_FAIL;
    }
    (void)sigemptyset(&e.watched);
    (void)sigaddset(&e.watched, SIGCHLD);
    (void)sigaddset(&e.watched, SIGINT);
    (void)sigaddset(&e.watched, SIGTERM);
    (void)sigaddset(&e.watched, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &e.watched, &before);
    int status = explain_rows(&e, table);
    /* an interrupt during the last explanation has had its effect */
    while (sigtimedwait(&e.watched, NULL, &(struct timespec){0}) > 0) {
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    reg_guardian_stop(&e.guardian);
    return status;
}

static int ask(const reg_explain_plan *plan, reg_db *db, reg_table *table) {
    const reg_query_about about = {.run = plan->run, .limit = UINT32_MAX};
    return reg_query_ask(reg_query_find("buckets"), db, &about, table);
}

/* Files of an explanation; the command for the small case is that for the original one with another file. */
static void say_found(const reg_table *table, size_t row, FILE *out) {
    const char *job = reg_table_cell(table, row, "job");
    const char *report = reg_table_cell(table, row, "report");
    const char *small = reg_table_cell(table, row, "small_case");
    const char *path = reg_table_cell(table, row, "case");
    const char *again = reg_table_cell(table, row, "repro");
    if (report != NULL) {
        fprintf(out, "job %s: report in %s\n", job, report);
    }
    if (small != NULL) {
        const char *rest = again == NULL || path == NULL ? NULL : strstr(again, path);
        fprintf(out, "job %s: small case: make repro CASE=%s%s\n", job, small, rest == NULL ? "" : rest + strlen(path));
    }
}

int reg_explain(const reg_explain_plan *plan, reg_db *db, FILE *out) {
    reg_table table;
    int status = ask(plan, db, &table);
    if (status == REG_OK && plan->most > 0 && table.row_count > 0) {
        (void)fflush(out);
        status = explain_all(plan, db, &table, out);
        if (status == REG_OK) {
            reg_table_free(&table);
            status = ask(plan, db, &table);
        }
    }
    if (status == REG_OK) {
        const size_t all = table.row_count;
        table.row_count = all < SHOWN ? all : SHOWN;
        reg_table_print(&table, out);
        table.row_count = all;
        if (all > SHOWN) {
            fprintf(out, "and %zu more: tandem-regress query buckets --run %lld --limit %zu\n", all - SHOWN,
                    (long long)plan->run, all);
        }
        for (size_t row = 0; row < all && row < SHOWN; row++) {
            say_found(&table, row, out);
        }
    }
    reg_table_free(&table);
    return status;
}
