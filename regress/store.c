/* store.c - writing runs and jobs into the results database. */
#define _GNU_SOURCE
#include "reg.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>

static void bind_text(sqlite3_stmt *stmt, int column, const char *text) {
    (void)sqlite3_bind_text(stmt, column, text, -1, SQLITE_TRANSIENT);
}

/* Empty text becomes NULL: unknown and empty are the same here. */
static void bind_known(sqlite3_stmt *stmt, int column, const char *text) {
    if (text[0] == '\0') {
        (void)sqlite3_bind_null(stmt, column);
    } else {
        bind_text(stmt, column, text);
    }
}

static void bind_number(sqlite3_stmt *stmt, int column, uint64_t number) {
    (void)sqlite3_bind_int64(stmt, column, (sqlite3_int64)number);
}

int reg_db_begin(reg_db *db) {
    return reg_db_exec(db, "BEGIN IMMEDIATE") == REG_OK ? REG_OK : reg_db_fail(db, "write");
}

int reg_db_commit(reg_db *db) {
    return reg_db_exec(db, "COMMIT") == REG_OK ? REG_OK : reg_db_fail(db, "write");
}

static int insert_run(reg_db *db, reg_run_info *info) {
    sqlite3_stmt *stmt = NULL;
    char seed[24];
    if (reg_db_prepare(
            db,
            "INSERT INTO "
            "run(suite,suite_path,seed,commit_hash,dirty,tools,host,launcher,shard,parallel,budget_s,build_dir,state,"
            "started_at,coverage_dir) VALUES(?,?,?,?,?,?,?,?13,?8,?9,?10,?11,'running',?12,?14)",
            &stmt) != REG_OK) {
        return REG_FAIL;
    }
    (void)reg_format(seed, sizeof seed, "0x%" PRIx64, info->seed);
    bind_text(stmt, 1, info->suite);
    bind_text(stmt, 2, info->suite_path);
    bind_text(stmt, 3, seed);
    bind_text(stmt, 4, info->commit);
    bind_number(stmt, 5, info->dirty ? 1 : 0);
    bind_text(stmt, 6, info->tools);
    bind_text(stmt, 7, info->host);
    bind_text(stmt, 8, info->shard);
    bind_number(stmt, 9, (uint64_t)info->parallel);
    bind_number(stmt, 10, info->budget_s);
    bind_text(stmt, 11, info->build_dir);
    bind_number(stmt, 12, (uint64_t)time(NULL)); /* for people: when was that */
    bind_text(stmt, 13, info->launcher);
    bind_known(stmt, 14, info->coverage_dir);
    int status = sqlite3_step(stmt) == SQLITE_DONE ? REG_OK : reg_db_fail(db, "write");
    (void)sqlite3_finalize(stmt);
    info->id = sqlite3_last_insert_rowid(db->handle);
    return status;
}

/* Where the run keeps its files. */
static int set_out_dir(reg_db *db, reg_run_info *info) {
    if (info->out_dir[0] == '\0' &&
        !reg_format(info->out_dir, sizeof info->out_dir, "%s/regress/%" PRId64, info->build_dir, info->id)) {
        reg_error("--build-dir %s: too long", info->build_dir);
        return REG_USAGE;
    }
    sqlite3_stmt *stmt = NULL;
    if (reg_db_prepare(db, "UPDATE run SET out_dir=? WHERE id=?", &stmt) != REG_OK) {
        return REG_FAIL;
    }
    bind_text(stmt, 1, info->out_dir);
    (void)sqlite3_bind_int64(stmt, 2, info->id);
    int status = sqlite3_step(stmt) == SQLITE_DONE ? REG_OK : reg_db_fail(db, "write");
    (void)sqlite3_finalize(stmt);
    return status;
}

static int insert_job(reg_db *db, sqlite3_stmt *stmt, const reg_run_info *info, const reg_job *job, size_t idx) {
    reg_command command;
    char seed[24];
    if (!reg_command_build(&command, job, info->build_dir, info->seed, NULL)) {
        reg_error("job %zu (%s %s): the command is too long", idx, reg_what_name(job->what), job->name);
        return REG_FAIL;
    }
    (void)reg_format(seed, sizeof seed, "0x%" PRIx64, info->seed);
    bind_number(stmt, 1, (uint64_t)info->id);
    bind_number(stmt, 2, idx);
    bind_text(stmt, 3, reg_what_name(job->what));
    bind_text(stmt, 4, job->name);
    bind_text(stmt, 5, job->cfg);
    bind_text(stmt, 6, job->kind);
    bind_text(stmt, 7, seed);
    bind_number(stmt, 8, job->index);
    bind_number(stmt, 9, job->cases);
    bind_text(stmt, 10, job->args);
    bind_number(stmt, 11, job->second_run ? 1 : 0);
    bind_number(stmt, 12, job->timeout_s);
    bind_number(stmt, 13, job->memory_mb);
    bind_text(stmt, 14, command.line);
    if (sqlite3_step(stmt) != SQLITE_DONE) {
        return reg_db_fail(db, "write");
    }
    (void)sqlite3_reset(stmt);
    return REG_OK;
}

static int insert_programs(reg_db *db, int64_t run, const reg_programs *programs) {
    sqlite3_stmt *stmt = NULL;
    if (reg_db_prepare(db, "INSERT INTO program(run,path,hash) VALUES(?,?,?)", &stmt) != REG_OK) {
        return REG_FAIL;
    }
    int status = REG_OK;
    for (size_t i = 0; status == REG_OK && i < programs->count; i++) {
        char hash[24];
        (void)reg_format(hash, sizeof hash, "%016" PRIx64, programs->list[i].hash);
        (void)sqlite3_bind_int64(stmt, 1, run);
        bind_text(stmt, 2, programs->list[i].path);
        bind_text(stmt, 3, hash);
        status = sqlite3_step(stmt) == SQLITE_DONE ? REG_OK : reg_db_fail(db, "write");
        (void)sqlite3_reset(stmt);
    }
    (void)sqlite3_finalize(stmt);
    return status;
}

int reg_db_begin_run(reg_db *db, reg_run_info *info, const reg_suite *suite, const reg_programs *programs,
                     reg_lock *lock) {
    sqlite3_stmt *stmt = NULL;
    if (reg_db_begin(db) != REG_OK) {
        return REG_FAIL;
    }
    int status = insert_run(db, info);
    if (status == REG_OK) {
        status = set_out_dir(db, info);
    }
    if (status == REG_OK) {
        status = reg_lock_run(lock, db->path, info->id, 0);
    }
    if (status == REG_OK) {
        status = insert_programs(db, info->id, programs);
    }
    if (status == REG_OK) {
        status = reg_db_prepare(
            db,
            "INSERT INTO job(run,idx,what,test,cfg,kind,seed,first_index,cases,args,second_run,timeout_s,memory_mb,cmd)"
            " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            &stmt);
    }
    for (size_t i = 0; status == REG_OK && i < suite->count; i++) {
        status = insert_job(db, stmt, info, &suite->jobs[i], i);
    }
    (void)sqlite3_finalize(stmt);
    if (status == REG_OK) {
        status = reg_db_commit(db);
    }
    if (status != REG_OK) {
        (void)reg_db_exec(db, "ROLLBACK");
    }
    return status;
}

int reg_db_resume_run(reg_db *db, int64_t run) {
    sqlite3_stmt *stmt = NULL;
    if (reg_db_prepare(db, "UPDATE run SET state='running', resumed=resumed+1 WHERE id=?", &stmt) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(stmt, 1, run);
    int status = sqlite3_step(stmt) == SQLITE_DONE ? REG_OK : reg_db_fail(db, "write");
    (void)sqlite3_finalize(stmt);
    return status;
}

int reg_db_explain_job(reg_db *db, int64_t run, size_t idx, const char *bundle, const char *wave, const char *shrunk) {
    sqlite3_stmt *stmt = NULL;
    if (reg_db_prepare(db,
                       "UPDATE job SET bundle_path=coalesce(?,bundle_path), wave_path=coalesce(?,wave_path), "
                       "shrunk_path=coalesce(?,shrunk_path)"
                       " WHERE run=? AND idx=?",
                       &stmt) != REG_OK) {
        return REG_FAIL;
    }
    bind_known(stmt, 1, bundle);
    bind_known(stmt, 2, wave);
    bind_known(stmt, 3, shrunk);
    (void)sqlite3_bind_int64(stmt, 4, run);
    bind_number(stmt, 5, idx);
    int status = sqlite3_step(stmt) == SQLITE_DONE ? REG_OK : reg_db_fail(db, "write");
    (void)sqlite3_finalize(stmt);
    return status;
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
    sqlite3_stmt *stmt = db->finish_job;
    bind_text(stmt, 1, result->outcome);
    bind_known(stmt, 2, result->signature);
    bind_known(stmt, 3, result->message);
    bind_known(stmt, 4, result->repro);
    if (result->has_cycles) {
        bind_number(stmt, 5, result->cycles);
    } else {
        (void)sqlite3_bind_null(stmt, 5);
    }
    bind_known(stmt, 6, result->trace_hash);
    (void)sqlite3_bind_int(stmt, 7, result->exit_status);
    bind_number(stmt, 8, result->wall_ms);
    bind_number(stmt, 9, result->cpu_ms);
    bind_number(stmt, 10, result->max_rss_kb);
    bind_known(stmt, 11, result->case_path);
    bind_known(stmt, 12, result->wave_path);
    bind_known(stmt, 13, log_path);
    bind_number(stmt, 14, attempt);
    const bool measured = result->work[REG_WORK_CASES] != 0;
    bind_known(stmt, 15, measured ? result->bounds : "");
    for (int i = 0; i < REG_WORK_COUNT; i++) {
        if (measured) {
            bind_number(stmt, 16 + i, result->work[i]);
        } else {
            (void)sqlite3_bind_null(stmt, 16 + i);
        }
    }
    (void)sqlite3_bind_int64(stmt, 16 + REG_WORK_COUNT, run);
    bind_number(stmt, 17 + REG_WORK_COUNT, idx);
    int status = sqlite3_step(stmt) == SQLITE_DONE ? REG_OK : reg_db_fail(db, "write");
    (void)sqlite3_reset(stmt);
    if (status == REG_OK && sqlite3_changes(db->handle) != 1) {
        reg_error("%s: run %" PRId64 ", job %zu: another runner has recorded it", db->path, run, idx);
        status = REG_FAIL;
    }
    return status;
}

int reg_db_doubt_job(reg_db *db, int64_t run, size_t idx, const reg_result *result) {
    sqlite3_stmt *stmt = NULL;
    if (reg_db_prepare(
            db, "UPDATE job SET outcome=?, signature=?, message=?, repro=coalesce(repro,?) WHERE run=? AND idx=?",
            &stmt) != REG_OK) {
        return REG_FAIL;
    }
    bind_text(stmt, 1, result->outcome);
    bind_known(stmt, 2, result->signature);
    bind_known(stmt, 3, result->message);
    bind_known(stmt, 4, result->repro);
    (void)sqlite3_bind_int64(stmt, 5, run);
    bind_number(stmt, 6, idx);
    int status = sqlite3_step(stmt) == SQLITE_DONE ? REG_OK : reg_db_fail(db, "write");
    (void)sqlite3_finalize(stmt);
    return status;
}

int reg_db_end_run(reg_db *db, int64_t run, const char *state, uint64_t elapsed_ms) {
    sqlite3_stmt *stmt = NULL;
    if (reg_db_prepare(db, "UPDATE run SET state=?, elapsed_ms=? WHERE id=?", &stmt) != REG_OK) {
        return REG_FAIL;
    }
    bind_text(stmt, 1, state);
    bind_number(stmt, 2, elapsed_ms);
    (void)sqlite3_bind_int64(stmt, 3, run);
    int status = sqlite3_step(stmt) == SQLITE_DONE ? REG_OK : reg_db_fail(db, "write");
    (void)sqlite3_finalize(stmt);
    return status;
}

int reg_db_find_run(reg_db *db, const char *text, int64_t *run) {
    sqlite3_stmt *stmt = NULL;
    uint64_t number = 0;
    if (text != NULL && !opt_number(text, 1, INT64_MAX, &number)) {
        reg_error("run \"%s\": expected the number of a run", text);
        return REG_USAGE;
    }
    if (reg_db_prepare(db, text == NULL ? "SELECT max(id) FROM run" : "SELECT id FROM run WHERE id=?", &stmt) !=
        REG_OK) {
        return REG_FAIL;
    }
    if (text != NULL) {
        bind_number(stmt, 1, number);
    }
    int status = REG_FAIL;
    if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
        *run = sqlite3_column_int64(stmt, 0);
        status = REG_OK;
    } else {
        reg_error("%s: no run %s", db->path, text == NULL ? "in it" : text);
    }
    (void)sqlite3_finalize(stmt);
    return status;
}
