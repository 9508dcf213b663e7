/* history.c - how long jobs took, and which failed, in earlier runs. It decides the order of jobs and what a terminal
 * shows, never a result. */
#define _GNU_SOURCE
#include "reg.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* The last times of one job say more about the next than one time. */
static const char time_sql[] = "SELECT avg(wall_ms) FROM (SELECT wall_ms FROM job WHERE what=? AND test=? AND cfg=? "
                               "AND kind=? AND cases=? AND args=?"
                               " AND outcome='pass' ORDER BY id DESC LIMIT 8)";

static const char failed_sql[] =
    "SELECT what,test,cfg,kind,first_index,cases,args FROM job WHERE outcome<>'pass' AND run="
    "(SELECT max(r.id) FROM run r WHERE r.suite_path=? AND r.shard=? AND (?3=0 OR r.id<?3)"
    " AND EXISTS(SELECT 1 FROM job j WHERE j.run=r.id AND j.outcome IS NOT NULL))";

static void bind_text(sqlite3_stmt *stmt, int column, const char *text) {
    (void)sqlite3_bind_text(stmt, column, text, -1, SQLITE_TRANSIENT);
}

/* Another index of the same line takes about as long. */
static bool same_line(const reg_job *a, const reg_job *b) {
    return a->what == b->what && strcmp(a->name, b->name) == 0 && strcmp(a->cfg, b->cfg) == 0 &&
           strcmp(a->kind, b->kind) == 0 && a->cases == b->cases && strcmp(a->args, b->args) == 0;
}

static int load_times(reg_db *db, const reg_suite *suite, reg_expectation *list) {
    sqlite3_stmt *stmt = NULL;
    int status = reg_db_prepare(db, time_sql, &stmt);
    for (size_t i = 0; status == REG_OK && i < suite->count; i++) {
        const reg_job *job = &suite->jobs[i];
        if (i > 0 && same_line(job, job - 1)) {
            list[i].seconds = list[i - 1].seconds;
            continue;
        }
        bind_text(stmt, 1, reg_what_name(job->what));
        bind_text(stmt, 2, job->name);
        bind_text(stmt, 3, job->cfg);
        bind_text(stmt, 4, job->kind);
        (void)sqlite3_bind_int64(stmt, 5, job->cases);
        bind_text(stmt, 6, job->args);
        if (sqlite3_step(stmt) == SQLITE_ROW) {
            const bool known = sqlite3_column_type(stmt, 0) != SQLITE_NULL;
            list[i].seconds = known ? sqlite3_column_double(stmt, 0) / 1000.0 : -1.0;
        } else {
            status = reg_db_fail(db, "read earlier runs");
        }
        (void)sqlite3_reset(stmt);
    }
    (void)sqlite3_finalize(stmt);
    return status;
}

/* The row of a failure: mark its job and the second run of it. */
static void mark_failed(sqlite3_stmt *row, const reg_suite *suite, reg_expectation *list) {
    const reg_what what = reg_what_of(reg_row_text(row, "what"));
    for (size_t i = 0; i < suite->count; i++) {
        const reg_job *job = &suite->jobs[i];
        if (job->what == what && job->index == (uint64_t)reg_row_number(row, "first_index") &&
            job->cases == (uint32_t)reg_row_number(row, "cases") && strcmp(job->name, reg_row_text(row, "test")) == 0 &&
            strcmp(job->cfg, reg_row_text(row, "cfg")) == 0 && strcmp(job->kind, reg_row_text(row, "kind")) == 0 &&
            strcmp(job->args, reg_row_text(row, "args")) == 0) {
            list[i].failed = true;
        }
    }
}

static int load_failures(reg_db *db, const reg_suite *suite, const char *suite_path, const char *shard, int64_t before,
                         reg_expectation *list) {
    sqlite3_stmt *row = NULL;
    int step;
    if (reg_db_prepare(db, failed_sql, &row) != REG_OK) {
        return REG_FAIL;
    }
    bind_text(row, 1, suite_path);
    bind_text(row, 2, shard);
    (void)sqlite3_bind_int64(row, 3, before);
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        mark_failed(row, suite, list);
    }
    int status = step == SQLITE_DONE ? REG_OK : reg_db_fail(db, "read earlier runs");
    (void)sqlite3_finalize(row);
    return status;
}

int reg_history_load(reg_db *db, const reg_suite *suite, const char *suite_path, const char *shard, int64_t before,
                     reg_expectation **list) {
    *list = calloc(suite->count + 1, sizeof **list);
    if (*list == NULL) {
        reg_error("out of memory");
        return REG_FAIL;
    }
    int status = load_times(db, suite, *list);
    if (status == REG_OK) {
        status = load_failures(db, suite, suite_path, shard, before, *list);
    }
    if (status != REG_OK) {
        free(*list);
        *list = NULL;
    }
    return status;
}

double reg_history_mean(const reg_expectation *list, size_t count, double fallback, size_t *known) {
    double sum = 0;
    *known = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].seconds >= 0) {
            sum += list[i].seconds;
            (*known)++;
        }
    }
    return *known == 0 ? fallback : sum / (double)*known;
}
