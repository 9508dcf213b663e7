/* load.c - a run read from the database, to be resumed. */
#define _GNU_SOURCE
#include "db.h"
#include "opt/opt.h"
#include "report/report.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int reg_db_newest_of(reg_db *db, const char *suite_path, int64_t *run) {
    sqlite3_stmt *row = NULL;
    if (reg_db_ask(db, "SELECT coalesce(max(id),0) AS id FROM run WHERE suite_path=?", &row,
                   REG_VALUES(REG_TEXT(suite_path))) != REG_OK) {
        return REG_FAIL;
    }
    int step = sqlite3_step(row);
    *run = step == SQLITE_ROW ? reg_row_number(row, "id") : 0;
    return reg_db_end(db, row, step, "read the run");
}

int reg_db_load_run(reg_db *db, int64_t run, reg_run_info *info) {
    sqlite3_stmt *row = NULL;
    memset(info, 0, sizeof *info);
    if (reg_db_ask(db,
                   "SELECT suite,suite_path,build_dir,coalesce(out_dir,'') AS "
                   "out_dir,seed,budget_s,parallel,commit_hash,dirty,changes,"
                   "coalesce(elapsed_ms,0) AS elapsed_ms,shard,launcher,coalesce(coverage_dir,'') AS coverage_dir "
                   "FROM run WHERE id=?",
                   &row, REG_VALUES(REG_NUMBER(run))) != REG_OK) {
        return REG_FAIL;
    }
    int step = sqlite3_step(row);
    bool good = step == SQLITE_ROW;
    info->id = run;
    if (good) {
        good = reg_format(info->suite, sizeof info->suite, "%s", reg_row_text(row, "suite")) &&
               reg_format(info->suite_path, sizeof info->suite_path, "%s", reg_row_text(row, "suite_path")) &&
               reg_format(info->build_dir, sizeof info->build_dir, "%s", reg_row_text(row, "build_dir")) &&
               reg_format(info->out_dir, sizeof info->out_dir, "%s", reg_row_text(row, "out_dir")) &&
               opt_number(reg_row_text(row, "seed"), 0, UINT64_MAX, &info->seed) &&
               reg_format(info->commit, sizeof info->commit, "%s", reg_row_text(row, "commit_hash")) &&
               reg_format(info->changes, sizeof info->changes, "%s", reg_row_text(row, "changes")) &&
               reg_format(info->shard, sizeof info->shard, "%s", reg_row_text(row, "shard")) &&
               reg_format(info->launcher, sizeof info->launcher, "%s", reg_row_text(row, "launcher")) &&
               reg_format(info->coverage_dir, sizeof info->coverage_dir, "%s", reg_row_text(row, "coverage_dir"));
        info->budget_s = (uint32_t)reg_row_number(row, "budget_s");
        info->parallel = (int)reg_row_number(row, "parallel");
        info->dirty = reg_row_number(row, "dirty") != 0;
        info->elapsed_ms = (uint64_t)reg_row_number(row, "elapsed_ms");
    }
    if (reg_db_end(db, row, step, "read the run") != REG_OK) {
        return REG_FAIL;
    }
    if (!good) {
        reg_error("%s: run %" PRId64 " was not written by the runner, or is damaged", db->path, run);
    }
    return good ? REG_OK : REG_FAIL;
}

/* False: the row was not written by a runner. */
static bool take_job(sqlite3_stmt *row, reg_job *job) {
    memset(job, 0, sizeof *job);
    job->what = reg_what_of(reg_row_text(row, "what"));
    job->index = (uint64_t)reg_row_number(row, "first_index");
    job->cases = (uint32_t)reg_row_number(row, "cases");
    job->second_run = reg_row_number(row, "second_run") != 0;
    job->timeout_s = (uint32_t)reg_row_number(row, "timeout_s");
    job->memory_mb = (uint32_t)reg_row_number(row, "memory_mb");
    return job->what != REG_WHAT_COUNT && reg_format(job->name, sizeof job->name, "%s", reg_row_text(row, "test")) &&
           reg_format(job->cfg, sizeof job->cfg, "%s", reg_row_text(row, "cfg")) &&
           reg_format(job->kind, sizeof job->kind, "%s", reg_row_text(row, "kind")) &&
           reg_format(job->args, sizeof job->args, "%s", reg_row_text(row, "args"));
}

/* An attempt that was started has a folder; the next one must have another. */
static uint32_t next_attempt(const char *out_dir, const reg_job *job, size_t index, uint32_t attempt) {
    char dir[REG_PATH_MAX];
    for (;; attempt++) {
        reg_job_dir(out_dir, job, index, attempt, dir, sizeof dir);
        if (access(dir, F_OK) != 0) {
            return attempt;
        }
    }
}

/* Add the row to the suite; a message or NULL. */
static const char *add_row(sqlite3_stmt *row, const reg_run_info *info, reg_suite *suite, reg_past **past) {
    reg_job job;
    const size_t index = suite->count;
    if ((uint64_t)reg_row_number(row, "idx") != index || !take_job(row, &job) || (job.second_run && index == 0)) {
        return "was not written by the runner, or is damaged";
    }
    if (reg_suite_add(suite, &job) != REG_OK) {
        return "is too large";
    }
    if (job.second_run) {
        suite->jobs[index - 1].checked_twice = true;
    }
    if (!rep_more(past, index, sizeof **past)) {
        return "is too large";
    }
    reg_past *known = &(*past)[index];
    (void)reg_format(known->outcome, sizeof known->outcome, "%s", reg_row_text(row, "outcome"));
    (void)reg_format(known->trace_hash, sizeof known->trace_hash, "%s", reg_row_text(row, "trace_hash"));
    known->attempt = (uint32_t)reg_row_number(row, "attempt");
    if (known->outcome[0] == '\0') {
        known->attempt = next_attempt(info->out_dir, &job, index, known->attempt);
    }
    return NULL;
}

int reg_db_load_jobs(reg_db *db, const reg_run_info *info, reg_suite *suite, reg_past **past) {
    sqlite3_stmt *row = NULL;
    int step = SQLITE_DONE;
    const char *trouble = NULL;
    memset(suite, 0, sizeof *suite);
    *past = NULL;
    (void)reg_format(suite->name, sizeof suite->name, "%s", info->suite);
    suite->seed = info->seed;
    suite->budget_s = info->budget_s;
    if (reg_db_ask(
            db,
            "SELECT "
            "idx,what,test,cfg,kind,first_index,cases,args,second_run,timeout_s,memory_mb,outcome,trace_hash,attempt"
            " FROM job WHERE run=? ORDER BY idx",
            &row, REG_VALUES(REG_NUMBER(info->id))) != REG_OK) {
        return REG_FAIL;
    }
    while (trouble == NULL && (step = sqlite3_step(row)) == SQLITE_ROW) {
        trouble = add_row(row, info, suite, past);
    }
    if (trouble != NULL) {
        reg_error("%s: run %" PRId64 ", job %zu: the list %s", db->path, info->id, suite->count, trouble);
    }
    if (reg_db_end(db, row, step, "read the run") == REG_OK && trouble == NULL) {
        return REG_OK;
    }
    reg_suite_free(suite);
    free(*past);
    *past = NULL;
    return REG_FAIL;
}

int reg_db_load_job(reg_db *db, int64_t run, size_t idx, reg_job *job) {
    sqlite3_stmt *row = NULL;
    if (reg_db_ask(db, "SELECT * FROM job WHERE run=? AND idx=?", &row, REG_VALUES(REG_NUMBER(run), REG_NUMBER(idx))) !=
        REG_OK) {
        return REG_FAIL;
    }
    const int step = sqlite3_step(row);
    const bool good = step == SQLITE_ROW && take_job(row, job);
    const int status = reg_db_end(db, row, step, "read the run");
    return status == REG_OK && !good ? reg_error("%s: run %" PRId64 " has no job %zu", db->path, run, idx) : status;
}

int reg_db_load_programs(reg_db *db, int64_t run, reg_programs *programs) {
    sqlite3_stmt *row = NULL;
    int step;
    int status = REG_OK;
    programs->list = NULL;
    programs->count = 0;
    if (reg_db_ask(db, "SELECT path,hash FROM program WHERE run=? ORDER BY path", &row, REG_VALUES(REG_NUMBER(run))) !=
        REG_OK) {
        return REG_FAIL;
    }
    while (status == REG_OK && (step = sqlite3_step(row)) == SQLITE_ROW) {
        status = reg_programs_add(programs, reg_row_text(row, "path"), strtoull(reg_row_text(row, "hash"), NULL, 16));
    }
    int end = reg_db_end(db, row, status == REG_OK ? step : SQLITE_DONE, "read the run");
    return status == REG_OK ? end : status;
}
