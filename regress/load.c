/* load.c - a run out of the database, so that it can go on. */
#define _GNU_SOURCE
#include "reg.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *text_at(sqlite3_stmt *stmt, int column) {
    const unsigned char *text = sqlite3_column_text(stmt, column);
    return text == NULL ? "" : (const char *)text;
}

static int finish(reg_db *db, sqlite3_stmt *stmt, int step) {
    int status = step == SQLITE_DONE || step == SQLITE_ROW ? REG_OK : reg_db_fail(db, "read the run");
    (void)sqlite3_finalize(stmt);
    return status;
}

int reg_db_newest_of(reg_db *db, const char *suite_path, int64_t *run) {
    sqlite3_stmt *row = NULL;
    if (reg_db_prepare(db, "SELECT coalesce(max(id),0) FROM run WHERE suite_path=?", &row) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_text(row, 1, suite_path, -1, SQLITE_TRANSIENT);
    int step = sqlite3_step(row);
    *run = step == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
    return finish(db, row, step);
}

int reg_db_load_run(reg_db *db, int64_t run, reg_run_info *info) {
    sqlite3_stmt *row = NULL;
    memset(info, 0, sizeof *info);
    if (reg_db_prepare(db,
                       "SELECT suite,suite_path,build_dir,coalesce(out_dir,''),seed,budget_s,parallel,commit_hash,dirty,"
                       "coalesce(elapsed_ms,0),shard,launcher,coalesce(coverage_dir,'') FROM run WHERE id=?",
                       &row) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(row, 1, run);
    int step = sqlite3_step(row);
    bool good = step == SQLITE_ROW;
    info->id = run;
    if (good) {
        good = reg_format(info->suite, sizeof info->suite, "%s", text_at(row, 0)) &&
               reg_format(info->suite_path, sizeof info->suite_path, "%s", text_at(row, 1)) &&
               reg_format(info->build_dir, sizeof info->build_dir, "%s", text_at(row, 2)) &&
               reg_format(info->out_dir, sizeof info->out_dir, "%s", text_at(row, 3)) &&
               reg_parse_u64(text_at(row, 4), 0, UINT64_MAX, &info->seed) &&
               reg_format(info->commit, sizeof info->commit, "%s", text_at(row, 7)) &&
               reg_format(info->shard, sizeof info->shard, "%s", text_at(row, 10)) &&
               reg_format(info->launcher, sizeof info->launcher, "%s", text_at(row, 11)) &&
               reg_format(info->coverage_dir, sizeof info->coverage_dir, "%s", text_at(row, 12));
        info->budget_s = (uint32_t)sqlite3_column_int64(row, 5);
        info->parallel = sqlite3_column_int(row, 6);
        info->dirty = sqlite3_column_int(row, 8) != 0;
        info->elapsed_ms = (uint64_t)sqlite3_column_int64(row, 9);
    }
    if (finish(db, row, step) != REG_OK) {
        return REG_FAIL;
    }
    if (!good) {
        reg_error("%s: run %" PRId64 " is not what a runner writes", db->path, run);
    }
    return good ? REG_OK : REG_FAIL;
}

/* False: the row is not what a runner writes. */
static bool take_job(sqlite3_stmt *row, reg_job *job) {
    memset(job, 0, sizeof *job);
    job->what = reg_what_of(text_at(row, 1));
    job->index = (uint64_t)sqlite3_column_int64(row, 5);
    job->cases = (uint32_t)sqlite3_column_int64(row, 6);
    job->second_run = sqlite3_column_int(row, 8) != 0;
    job->timeout_s = (uint32_t)sqlite3_column_int64(row, 9);
    job->memory_mb = (uint32_t)sqlite3_column_int64(row, 10);
    return job->what != REG_WHAT_COUNT && reg_format(job->name, sizeof job->name, "%s", text_at(row, 2)) &&
           reg_format(job->cfg, sizeof job->cfg, "%s", text_at(row, 3)) && reg_format(job->kind, sizeof job->kind, "%s", text_at(row, 4)) &&
           reg_format(job->args, sizeof job->args, "%s", text_at(row, 7));
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
    if ((uint64_t)sqlite3_column_int64(row, 0) != index || !take_job(row, &job) || (job.second_run && index == 0)) {
        return "is not what a runner writes";
    }
    if (reg_suite_add(suite, &job) != REG_OK) {
        return "is too large";
    }
    if (job.second_run) {
        suite->jobs[index - 1].checked_twice = true;
    }
    if (index % 256 == 0) {
        reg_past *more = realloc(*past, (index + 256) * sizeof *more);
        if (more == NULL) {
            return "is too large";
        }
        *past = more;
    }
    reg_past *known = &(*past)[index];
    (void)reg_format(known->outcome, sizeof known->outcome, "%s", text_at(row, 11));
    (void)reg_format(known->trace_hash, sizeof known->trace_hash, "%s", text_at(row, 12));
    known->attempt = (uint32_t)sqlite3_column_int64(row, 13);
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
    if (reg_db_prepare(db,
                       "SELECT idx,what,test,cfg,kind,first_index,cases,args,second_run,timeout_s,memory_mb,outcome,trace_hash,attempt"
                       " FROM job WHERE run=? ORDER BY idx",
                       &row) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(row, 1, info->id);
    while (trouble == NULL && (step = sqlite3_step(row)) == SQLITE_ROW) {
        trouble = add_row(row, info, suite, past);
    }
    if (trouble != NULL) {
        reg_error("%s: run %" PRId64 ", job %zu: the list %s", db->path, info->id, suite->count, trouble);
    }
    if (finish(db, row, step) == REG_OK && trouble == NULL) {
        return REG_OK;
    }
    reg_suite_free(suite);
    free(*past);
    *past = NULL;
    return REG_FAIL;
}

int reg_db_load_programs(reg_db *db, int64_t run, reg_programs *programs) {
    sqlite3_stmt *row = NULL;
    int step;
    int status = REG_OK;
    programs->list = NULL;
    programs->count = 0;
    if (reg_db_prepare(db, "SELECT path,hash FROM program WHERE run=? ORDER BY path", &row) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(row, 1, run);
    while (status == REG_OK && (step = sqlite3_step(row)) == SQLITE_ROW) {
        reg_program *more = realloc(programs->list, (programs->count + 1) * sizeof *more);
        if (more == NULL) {
            reg_error("out of memory");
            status = REG_FAIL;
            break;
        }
        programs->list = more;
        reg_program *added = &more[programs->count++];
        (void)reg_format(added->path, sizeof added->path, "%s", text_at(row, 0));
        added->hash = strtoull(text_at(row, 1), NULL, 16);
    }
    int end = finish(db, row, status == REG_OK ? step : SQLITE_DONE);
    return status == REG_OK ? end : status;
}
