/* store.c - writing runs and jobs into the results database. */
#define _GNU_SOURCE
#include "db.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int reg_db_begin(reg_db *db) {
    return reg_db_exec(db, "BEGIN IMMEDIATE") == REG_OK ? REG_OK : reg_db_fail(db, "write");
}

int reg_db_commit(reg_db *db) {
    return reg_db_exec(db, "COMMIT") == REG_OK ? REG_OK : reg_db_fail(db, "write");
}

/* The next number of a run. A folder that is there belongs to a run that the database has lost. */
static int next_id(reg_db *db, reg_run_info *info) {
    char path[REG_PATH_MAX];
    sqlite3_stmt *row = NULL;
    if (reg_db_prepare(db,
                       "SELECT 1+max((SELECT coalesce(max(id),0) FROM run),"
                       "(SELECT coalesce(max(seq),0) FROM sqlite_sequence WHERE name='run')) AS id",
                       &row) != REG_OK) {
        return REG_FAIL;
    }
    const int step = sqlite3_step(row);
    const int64_t first = step == SQLITE_ROW ? reg_row_number(row, "id") : 1;
    info->id = first;
    while (info->out_dir[0] == '\0' &&
           reg_format(path, sizeof path, "%s/regress/%" PRId64, info->build_dir, info->id) && access(path, F_OK) == 0) {
        info->id++;
    }
    if (info->id > first) {
        fprintf(stderr,
                "%s has no run %" PRId64 ", but %s/regress has: this one is run %" PRId64
                " (tandem-regress recover reads the folders)\n",
                db->path, first, info->build_dir, info->id);
    }
    return reg_db_end(db, row, step, "read the runs");
}

static int insert_run(reg_db *db, const reg_run_info *info) {
    char seed[24];
    (void)reg_format(seed, sizeof seed, "0x%" PRIx64, info->seed);
    return reg_db_write(
        db,
        "INSERT INTO run(id,suite,suite_path,seed,commit_hash,dirty,tools,host,launcher,shard,parallel,budget_s,"
        "build_dir,started_at,coverage_dir,changes,state) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,'running')",
        REG_VALUES(REG_NUMBER(info->id), REG_TEXT(info->suite), REG_TEXT(info->suite_path), REG_TEXT(seed),
                   REG_TEXT(info->commit), REG_NUMBER(info->dirty), REG_TEXT(info->tools), REG_TEXT(info->host),
                   REG_TEXT(info->launcher), REG_TEXT(info->shard), REG_NUMBER(info->parallel),
                   REG_NUMBER(info->budget_s), REG_TEXT(info->build_dir), REG_NUMBER(info->started_at),
                   REG_KNOWN(info->coverage_dir), REG_TEXT(info->changes)));
}

/* Where the run keeps its files. */
static int set_out_dir(reg_db *db, reg_run_info *info) {
    if (info->out_dir[0] == '\0' &&
        !reg_format(info->out_dir, sizeof info->out_dir, "%s/regress/%" PRId64, info->build_dir, info->id)) {
        return reg_refuse("--build-dir %s: too long", info->build_dir);
    }
    return reg_db_write(db, "UPDATE run SET out_dir=? WHERE id=?",
                        REG_VALUES(REG_TEXT(info->out_dir), REG_NUMBER(info->id)));
}

static int insert_job(reg_db *db, sqlite3_stmt *stmt, const reg_run_info *info, const reg_job *job, size_t idx) {
    reg_command command;
    char seed[24];
    if (!reg_command_build(&command, job, info->build_dir, info->seed, NULL)) {
        return reg_error("job %zu (%s %s): the command is too long", idx, reg_what_name(job->what), job->name);
    }
    (void)reg_format(seed, sizeof seed, "0x%" PRIx64, info->seed);
    return reg_db_put(db, stmt,
                      REG_VALUES(REG_NUMBER(info->id), REG_NUMBER(idx), REG_TEXT(reg_what_name(job->what)),
                                 REG_TEXT(job->name), REG_TEXT(job->cfg), REG_TEXT(job->kind), REG_TEXT(seed),
                                 REG_NUMBER(job->index), REG_NUMBER(job->cases), REG_TEXT(job->args),
                                 REG_NUMBER(job->second_run), REG_NUMBER(job->timeout_s), REG_NUMBER(job->memory_mb),
                                 REG_TEXT(command.line)));
}

static int insert_programs(reg_db *db, int64_t run, const reg_programs *programs) {
    sqlite3_stmt *stmt = NULL;
    int status = reg_db_prepare(db, "INSERT INTO program(run,path,hash) VALUES(?,?,?)", &stmt);
    for (size_t i = 0; status == REG_OK && i < programs->count; i++) {
        char hash[24];
        (void)reg_format(hash, sizeof hash, "%016" PRIx64, programs->list[i].hash);
        status = reg_db_put(db, stmt, REG_VALUES(REG_NUMBER(run), REG_TEXT(programs->list[i].path), REG_TEXT(hash)));
    }
    (void)sqlite3_finalize(stmt);
    return status;
}

int reg_db_put_program(const reg_db *db, int64_t run, const reg_program *program) {
    char hash[24];
    (void)reg_format(hash, sizeof hash, "%016" PRIx64, program->hash);
    return reg_db_write(db, "UPDATE program SET hash=?3 WHERE run=?1 AND path=?2",
                        REG_VALUES(REG_NUMBER(run), REG_TEXT(program->path), REG_TEXT(hash)));
}

static int insert_jobs(reg_db *db, const reg_run_info *info, const reg_suite *suite) {
    sqlite3_stmt *stmt = NULL;
    int status = reg_db_prepare(
        db,
        "INSERT INTO job(run,idx,what,test,cfg,kind,seed,first_index,cases,args,second_run,timeout_s,memory_mb,cmd)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        &stmt);
    for (size_t i = 0; status == REG_OK && i < suite->count; i++) {
        status = insert_job(db, stmt, info, &suite->jobs[i], i);
    }
    (void)sqlite3_finalize(stmt);
    return status;
}

int reg_db_put_run(reg_db *db, reg_run_info *info, const reg_suite *suite, const reg_programs *programs) {
    int status = info->id == 0 ? next_id(db, info) : REG_OK;
    status = status == REG_OK ? insert_run(db, info) : status;
    status = status == REG_OK ? set_out_dir(db, info) : status;
    status = status == REG_OK ? insert_programs(db, info->id, programs) : status;
    return status == REG_OK ? insert_jobs(db, info, suite) : status;
}

int reg_db_begin_run(reg_db *db, reg_run_info *info, const reg_suite *suite, const reg_programs *programs) {
    if (reg_db_begin(db) != REG_OK) {
        return REG_FAIL;
    }
    info->started_at = (int64_t)time(NULL); /* time for people */
    int status = reg_db_put_run(db, info, suite, programs);
    status = status == REG_OK ? reg_lock_run(&db->lock, db->path, info->id, 0) : status;
    status = status == REG_OK ? reg_runfile_write(info, suite, programs) : status;
    status = status == REG_OK ? reg_db_commit(db) : status;
    if (status != REG_OK) {
        (void)reg_db_exec(db, "ROLLBACK");
    }
    return status;
}

int reg_db_resume_run(reg_db *db, int64_t run) {
    return reg_db_write(db, "UPDATE run SET state='running', resumed=resumed+1 WHERE id=?",
                        REG_VALUES(REG_NUMBER(run)));
}

int reg_db_explain_job(reg_db *db, int64_t run, size_t idx, const char *bundle, const char *wave, const char *shrunk) {
    return reg_db_write(
        db,
        "UPDATE job SET bundle_path=coalesce(?,bundle_path), wave_path=coalesce(?,wave_path), "
        "shrunk_path=coalesce(?,shrunk_path) WHERE run=? AND idx=?",
        REG_VALUES(REG_KNOWN(bundle), REG_KNOWN(wave), REG_KNOWN(shrunk), REG_NUMBER(run), REG_NUMBER(idx)));
}

int reg_db_finish_job(reg_db *db, int64_t run, size_t idx, uint32_t attempt, const reg_result *result,
                      const char *log_path) {
    if (db->finish_job == NULL &&
        reg_db_prepare(
            db,
            "UPDATE job SET "
            "outcome=?,signature=?,message=?,repro=?,cycles=?,trace_hash=?,exit_status=?,wall_ms=?,cpu_ms=?,"
            "max_rss_kb=?,case_path=?,wave_path=?,log_path=?,attempt=?,bounds=?,work_cases=?,work_cycles=?,bound=?"
            " WHERE run=? AND idx=? AND outcome IS NULL",
            &db->finish_job) != REG_OK) {
        return REG_FAIL;
    }
    const bool measured = result->work[REG_WORK_CASES] != 0;
    int status = reg_db_put(
        db, db->finish_job,
        REG_VALUES(REG_TEXT(result->outcome), REG_KNOWN(result->signature), REG_KNOWN(result->message),
                   REG_KNOWN(result->repro), REG_NUMBER_IF(result->has_cycles, result->cycles),
                   REG_KNOWN(result->trace_hash), REG_NUMBER(result->exit_status), REG_NUMBER(result->wall_ms),
                   REG_NUMBER(result->cpu_ms), REG_NUMBER(result->max_rss_kb), REG_KNOWN(result->case_path),
                   REG_KNOWN(result->wave_path), REG_KNOWN(log_path), REG_NUMBER(attempt),
                   REG_KNOWN(measured ? result->bounds : ""), REG_NUMBER_IF(measured, result->work[REG_WORK_CASES]),
                   REG_NUMBER_IF(measured, result->work[REG_WORK_CYCLES]),
                   REG_NUMBER_IF(measured, result->work[REG_WORK_BOUND]), REG_NUMBER(run), REG_NUMBER(idx)));
    if (status == REG_OK && sqlite3_changes(db->handle) != 1) {
        status = reg_error("%s: run %" PRId64 ", job %zu: another runner has recorded it", db->path, run, idx);
    }
    return status;
}

int reg_db_doubt_job(reg_db *db, int64_t run, size_t idx, const reg_result *result) {
    return reg_db_write(
        db, "UPDATE job SET outcome=?, signature=?, message=?, repro=coalesce(repro,?) WHERE run=? AND idx=?",
        REG_VALUES(REG_TEXT(result->outcome), REG_KNOWN(result->signature), REG_KNOWN(result->message),
                   REG_KNOWN(result->repro), REG_NUMBER(run), REG_NUMBER(idx)));
}

int reg_db_host_job(reg_db *db, int64_t run, size_t idx, uint32_t attempt, const char *cause, const char *log_path) {
    return reg_db_write(
        db, "UPDATE job SET host=?, attempt=?, log_path=? WHERE run=? AND idx=? AND outcome IS NULL",
        REG_VALUES(REG_TEXT(cause), REG_NUMBER(attempt), REG_TEXT(log_path), REG_NUMBER(run), REG_NUMBER(idx)));
}

int reg_db_end_run(reg_db *db, int64_t run, const char *state, uint64_t elapsed_ms) {
    return reg_db_write(db, "UPDATE run SET state=?, elapsed_ms=? WHERE id=?",
                        REG_VALUES(REG_TEXT(state), REG_NUMBER(elapsed_ms), REG_NUMBER(run)));
}

int reg_db_find_run(reg_db *db, const char *text, int64_t *run) {
    sqlite3_stmt *stmt = NULL;
    uint64_t number = 0;
    if (text != NULL && !opt_number(text, 1, INT64_MAX, &number)) {
        return reg_refuse("run \"%s\": expected the number of a run", text);
    }
    const reg_value value = REG_NUMBER(number);
    if (reg_db_ask(db, text == NULL ? "SELECT max(id) FROM run" : "SELECT id FROM run WHERE id=?", &stmt, &value,
                   text == NULL ? 0 : 1) != REG_OK) {
        return REG_FAIL;
    }
    const int step = sqlite3_step(stmt);
    const bool found = step == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL;
    *run = found ? sqlite3_column_int64(stmt, 0) : 0;
    const int status = reg_db_end(db, stmt, step, "read the runs");
    if (status != REG_OK || found) {
        return status;
    }
    return text == NULL ? reg_error("%s: it holds no run yet", db->path)
                        : reg_error("%s: there is no run %s", db->path, text);
}
