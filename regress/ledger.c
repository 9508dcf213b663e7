/* ledger.c - verdicts of jobs: pairs of runs are compared, failures printed, everything counted and recorded. */
#define _GNU_SOURCE
#include "ledger.h"
#include "report/report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void reg_result_set(reg_result *result, const char *outcome, const char *signature, const char *message) {
    (void)reg_format(result->outcome, sizeof result->outcome, "%s", outcome);
    (void)reg_format(result->signature, sizeof result->signature, "%s", signature);
    (void)reg_format(result->message, sizeof result->message, "%s", message);
}

/* The second run of a job must end as the first one did, with the same trace hash. */
static void compare_runs(const reg_verdict *first, reg_finished *item) {
    reg_result *second = &item->result;
    char text[REG_TEXT_MAX];
    if (item->doubted) {
        return;
    }
    if (strcmp(first->outcome, second->outcome) != 0) {
        (void)reg_format(text, sizeof text, "first run %s, second run %s: %.800s", first->outcome, second->outcome,
                         second->message);
        reg_result_set(second, "nondeterministic", "nondeterministic outcome", text);
    } else if (strcmp(second->outcome, "pass") != 0) {
        return; /* failed twice in the same way: report the failure itself */
    } else if (first->trace_hash[0] == '\0' || second->trace_hash[0] == '\0') {
        reg_result_set(second, "error", "no trace hash", "run twice, but the result has no trace_hash to compare");
    } else if (strcmp(first->trace_hash, second->trace_hash) != 0) {
        (void)reg_format(text, sizeof text, "trace hash %s, first run %s", second->trace_hash, first->trace_hash);
        reg_result_set(second, "nondeterministic", "nondeterministic trace", text);
    }
}

/* The same cases in another configuration. A label is the configuration, after DESIGN/ where it is not the default. */
static bool same_cases(const reg_job *a, const reg_job *b) {
    const char *end_a = strrchr(a->cfg, '/'), *end_b = strrchr(b->cfg, '/');
    const size_t length = end_a == NULL ? 0 : (size_t)(end_a - a->cfg);
    const bool same_design =
        length == (end_b == NULL ? 0 : (size_t)(end_b - b->cfg)) && strncmp(a->cfg, b->cfg, length) == 0;
    return same_design && strcmp(a->cfg, b->cfg) != 0 && a->what == b->what && strcmp(a->name, b->name) == 0 &&
           a->index == b->index && a->cases == b->cases && strcmp(a->args, b->args) == 0;
}

/* Results that must not depend on the configuration: as those of every job before it with the same cases. */
static void compare_cfgs(const reg_ledger *ledger, reg_finished *item) {
    const reg_suite *suite = ledger->plan->suite;
    const bool asked = item->result.portable == 1 && strcmp(item->result.outcome, "pass") == 0;
    for (size_t i = 0; asked && i < suite->count; i++) {
        const reg_verdict *other = &ledger->verdicts[i];
        if (other->known && strcmp(other->outcome, "pass") == 0 &&
            same_cases(&suite->jobs[i], &suite->jobs[item->job]) &&
            strcmp(other->trace_hash, item->result.trace_hash) != 0) {
            char text[REG_TEXT_MAX];
            (void)reg_format(text, sizeof text, "the hash of the results is %s, in %s it is %s for the same cases",
                             item->result.trace_hash, suite->jobs[i].cfg, other->trace_hash);
            reg_result_set(&item->result, "fail", "differs between configurations", text);
            return;
        }
    }
}

static void set_repro(const reg_plan *plan, const reg_job *job, reg_result *result) {
    reg_command command;
    if (strcmp(result->outcome, "pass") == 0 || result->repro[0] != '\0') {
        return;
    }
    if (result->case_path[0] != '\0') {
        bool fast = strcmp(job->kind, "fast") == 0; /* the default of make repro */
        (void)reg_format(result->repro, sizeof result->repro, "make repro CASE=%.*s%s%s", REG_TEXT_MAX - 64,
                         result->case_path, fast ? "" : " KIND=", fast ? "" : job->kind);
    } else if (reg_command_build(&command, job, plan->build_dir, plan->seed, NULL)) {
        (void)reg_format(result->repro, sizeof result->repro, "%s", command.line);
    }
}

/* The verdict is final: count it, print it, queue it for the database. */
static void conclude(reg_ledger *ledger, reg_finished *item) {
    const reg_job *job = &ledger->plan->suite->jobs[item->job];
    reg_progress *progress = ledger->plan->progress;
    reg_verdict *known = &ledger->verdicts[item->job];
    known->known = true;
    (void)reg_format(known->outcome, sizeof known->outcome, "%s", item->result.outcome);
    (void)reg_format(known->trace_hash, sizeof known->trace_hash, "%s", item->result.trace_hash);
    set_repro(ledger->plan, job, &item->result);
    progress->done++;
    progress->busy_s += (double)item->result.wall_ms / 1000.0;
    if (strcmp(item->result.outcome, "pass") == 0) {
        ledger->totals->passed++;
    } else {
        ledger->totals->failed++;
        ledger->failed = true;
        progress->failed++;
        reg_progress_failure(progress, job, &item->result);
    }
    item->next = NULL;
    *ledger->tail = item;
    ledger->tail = &item->next;
}

static void log_of(const reg_plan *plan, const reg_finished *item, char *out, size_t size) {
    char dir[REG_PATH_MAX];
    reg_job_dir(plan->out_dir, &plan->suite->jobs[item->job], item->job, item->attempt, dir, sizeof dir);
    (void)reg_format(out, size, "%s/log.txt", dir);
}

/* The machine kept the job from running: no verdict, and it is not finished. */
static void note_host(reg_ledger *ledger, reg_finished *item) {
    const reg_plan *plan = ledger->plan;
    ledger->totals->host++;
    plan->progress->host++;
    (void)reg_format(ledger->totals->host_cause, sizeof ledger->totals->host_cause, "%s", item->result.message);
    (void)reg_format(item->result.repro, sizeof item->result.repro, "make regress RESUME=1 RUN=%lld runs it again",
                     (long long)plan->run);
    reg_progress_failure(plan->progress, &plan->suite->jobs[item->job], &item->result);
    if (plan->keeper == NULL) { /* the line was printed; without a row the job is merely one that did not run */
        char log[REG_PATH_MAX + 16];
        log_of(plan, item, log, sizeof log);
        (void)reg_db_host_job(plan->db, plan->run, item->job, item->attempt, item->result.message, log);
    }
    free(item);
}

reg_finished *reg_ledger_item(size_t job, uint32_t attempt) {
    reg_finished *item = calloc(1, sizeof *item);
    if (item == NULL) {
        reg_error("out of memory");
        return NULL;
    }
    item->job = job;
    item->attempt = attempt;
    return item;
}

void reg_ledger_take(reg_ledger *ledger, reg_finished *item) {
    const reg_suite *suite = ledger->plan->suite;
    const size_t index = item->job;
    if (strcmp(item->result.outcome, "host") == 0) {
        note_host(ledger, item);
        return;
    }
    if (ledger->plan->keeper != NULL) { /* pairs are compared by the runner: the other one may be on another node */
        conclude(ledger, item);
        return;
    }
    if (suite->jobs[index].second_run && !ledger->verdicts[index - 1].known) {
        ledger->held[index] = item;
        return;
    }
    if (suite->jobs[index].second_run) {
        compare_runs(&ledger->verdicts[index - 1], item);
    }
    compare_cfgs(ledger, item);
    conclude(ledger, item);
    if (suite->jobs[index].checked_twice && ledger->held[index + 1] != NULL) {
        reg_finished *second = ledger->held[index + 1];
        ledger->held[index + 1] = NULL;
        compare_runs(&ledger->verdicts[index], second);
        conclude(ledger, second);
    }
}

/* A copy of what is in the database; without it nothing is lost but the way back from a damaged database. */
static void append(const reg_plan *plan, const char *text, size_t length) {
    char path[REG_PATH_MAX];
    const int fd = reg_runfile_done(plan->out_dir, path, sizeof path)
                       ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
                       : -1;
    if (fd >= 0) {
        (void)!write(fd, text, length);
        (void)close(fd);
    }
}

bool reg_ledger_doubt(reg_ledger *ledger, size_t job, const char *message) {
    static const char outcome[] = "nondeterministic";
    static const char signature[] = "nondeterministic attempts";
    reg_verdict *known = &ledger->verdicts[job];
    if (ledger->held[job] != NULL) {
        ledger->held[job]->doubted = true;
        reg_result_set(&ledger->held[job]->result, outcome, signature, message);
        return true;
    }
    if (!known->known || strcmp(known->outcome, outcome) == 0) {
        return true;
    }
    reg_result doubt;
    memset(&doubt, 0, sizeof doubt);
    reg_result_set(&doubt, outcome, signature, message);
    set_repro(ledger->plan, &ledger->plan->suite->jobs[job], &doubt);
    if (strcmp(known->outcome, "pass") == 0) {
        ledger->totals->passed--;
        ledger->totals->failed++;
        ledger->plan->progress->failed++;
    }
    ledger->failed = true;
    (void)reg_format(known->outcome, sizeof known->outcome, "%s", outcome);
    reg_progress_failure(ledger->plan->progress, &ledger->plan->suite->jobs[job], &doubt);
    if (!reg_ledger_record(ledger) || reg_db_doubt_job(ledger->plan->db, ledger->plan->run, job, &doubt) != REG_OK) {
        return false;
    }
    const reg_finished again = {.job = job, .attempt = 1, .doubted = true, .result = doubt};
    char *text = NULL;
    size_t length = 0;
    FILE *records = rep_memory(&text, &length);
    if (records != NULL && reg_record_print(records, ledger->plan->run, &again) == REG_OK && fclose(records) == 0) {
        append(ledger->plan, text, length);
    }
    free(text);
    return true;
}

static int record_one(const reg_plan *plan, const reg_finished *item) {
    char log[REG_PATH_MAX + 16];
    if (plan->keeper != NULL) {
        int status = plan->keeper->keep(plan->keeper->context, item);
        return status == REG_NONE ? REG_OK : status;
    }
    log_of(plan, item, log, sizeof log);
    return reg_db_finish_job(plan->db, plan->run, item->job, item->attempt, &item->result, log);
}

static void drop_recorded(reg_ledger *ledger) {
    while (ledger->to_record != NULL) {
        reg_finished *item = ledger->to_record;
        ledger->to_record = item->next;
        free(item);
    }
    ledger->tail = &ledger->to_record;
}

bool reg_ledger_record(reg_ledger *ledger) {
    const bool into_db = ledger->plan->keeper == NULL;
    if (ledger->to_record == NULL) {
        return true;
    }
    char *done = NULL;
    size_t length = 0;
    FILE *records = into_db ? rep_memory(&done, &length) : NULL;
    bool good = !into_db || reg_db_begin(ledger->plan->db) == REG_OK;
    for (const reg_finished *item = ledger->to_record; good && item != NULL; item = item->next) {
        good = record_one(ledger->plan, item) == REG_OK;
        if (records != NULL) {
            (void)reg_record_print(records, ledger->plan->run, item);
        }
    }
    if (good && into_db) {
        good = reg_db_commit(ledger->plan->db) == REG_OK;
    }
    if (!good && into_db) {
        (void)reg_db_exec(ledger->plan->db, "ROLLBACK");
    }
    if (records != NULL && fclose(records) == 0 && good) {
        append(ledger->plan, done, length);
    }
    free(done);
    if (good || !into_db) { /* else they stay for another try */
        drop_recorded(ledger);
    }
    return good;
}

/* Jobs that ended before this runner started. */
static void take_past(reg_ledger *ledger) {
    const reg_plan *plan = ledger->plan;
    for (size_t i = 0; i < plan->suite->count; i++) {
        const reg_past *past = &plan->past[i];
        reg_verdict *known = &ledger->verdicts[i];
        if (past->outcome[0] == '\0') {
            continue;
        }
        known->known = true;
        (void)reg_format(known->outcome, sizeof known->outcome, "%s", past->outcome);
        (void)reg_format(known->trace_hash, sizeof known->trace_hash, "%s", past->trace_hash);
        size_t *counter = strcmp(past->outcome, "pass") == 0 ? &ledger->totals->passed : &ledger->totals->failed;
        (*counter)++;
    }
    plan->progress->before = ledger->totals->passed + ledger->totals->failed;
    plan->progress->done = plan->progress->before;
    plan->progress->failed = ledger->totals->failed;
}

int reg_ledger_open(reg_ledger *ledger, const reg_plan *plan, reg_totals *totals) {
    const size_t count = plan->suite->count;
    memset(totals, 0, sizeof *totals);
    *ledger = (reg_ledger){.plan = plan, .totals = totals};
    ledger->tail = &ledger->to_record;
    ledger->verdicts = calloc(count + 1, sizeof *ledger->verdicts);
    ledger->held = calloc(count + 1, sizeof(reg_finished *));
    if (ledger->verdicts == NULL || ledger->held == NULL) {
        reg_error("out of memory");
        reg_ledger_close(ledger);
        return REG_FAIL;
    }
    take_past(ledger);
    return REG_OK;
}

void reg_ledger_close(reg_ledger *ledger) {
    const size_t count = ledger->plan->suite->count;
    for (size_t i = 0; ledger->held != NULL && i < count; i++) {
        free(ledger->held[i]);
    }
    for (const reg_finished *item = ledger->to_record; item != NULL; item = item->next) {
        size_t *counter = strcmp(item->result.outcome, "pass") == 0 ? &ledger->totals->passed : &ledger->totals->failed;
        (*counter)--;
        ledger->totals->unrecorded++;
    }
    drop_recorded(ledger);
    free(ledger->held);
    free(ledger->verdicts);
    ledger->totals->not_run = count - ledger->totals->passed - ledger->totals->failed;
}
