/* history.c - how long jobs took, and which failed, in earlier runs. They affect the order of jobs and the progress
 * line, never a result. */
#define _GNU_SOURCE
#include "schedule.h"
#include "table.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* The mean of the last times is a better estimate than a single one. */
static const char time_sql[] = "SELECT avg(wall_ms) FROM (SELECT wall_ms FROM job WHERE what=? AND test=? AND cfg=? "
                               "AND kind=? AND cases=? AND args=?"
                               " AND outcome='pass' ORDER BY id DESC LIMIT 8)";

/* Keys of the jobs that failed, in the order of strcmp(). */
static const char failed_sql[] =
    "SELECT DISTINCT what||' '||test||' '||cfg||' '||kind||' '||first_index||' '||cases||' '||args FROM job"
    " WHERE outcome<>'pass' AND run="
    "(SELECT max(r.id) FROM run r WHERE r.suite_path=? AND r.shard=? AND (?3=0 OR r.id<?3)"
    " AND EXISTS(SELECT 1 FROM job j WHERE j.run=r.id AND j.outcome IS NOT NULL)) ORDER BY 1";
static const reg_column failed_columns[] = {{"key", NULL, REG_CELL_TEXT}};

/* Jobs of the same line with another index take about as long. */
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
        status = reg_db_bind(db, stmt,
                             REG_VALUES(REG_TEXT(reg_what_name(job->what)), REG_TEXT(job->name), REG_TEXT(job->cfg),
                                        REG_TEXT(job->kind), REG_NUMBER(job->cases), REG_TEXT(job->args)));
        if (status == REG_OK && sqlite3_step(stmt) == SQLITE_ROW) {
            const bool known = sqlite3_column_type(stmt, 0) != SQLITE_NULL;
            list[i].seconds = known ? sqlite3_column_double(stmt, 0) / 1000.0 : -1.0;
        } else if (status == REG_OK) {
            status = reg_db_fail(db, "read earlier runs");
        }
        (void)sqlite3_reset(stmt);
    }
    (void)sqlite3_finalize(stmt);
    return status;
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int load_failures(reg_db *db, const reg_suite *suite, const char *suite_path, const char *shard, int64_t before,
                         reg_expectation *list) {
    sqlite3_stmt *row = NULL;
    reg_table failed;
    reg_table_init(&failed, failed_columns, 1);
    int status =
        reg_db_ask(db, failed_sql, &row, REG_VALUES(REG_TEXT(suite_path), REG_TEXT(shard), REG_NUMBER(before)));
    status = status == REG_OK ? reg_table_query(&failed, db, row) : status;
    for (size_t i = 0; status == REG_OK && failed.row_count != 0 && i < suite->count; i++) {
        const reg_job *job = &suite->jobs[i]; /* also the second run */
        char text[REG_ARGS_MAX + 2 * REG_NAME_MAX + REG_LABEL_MAX + 64];
        char *key = text;
        (void)reg_format(text, sizeof text, "%s %s %s %s %" PRIu64 " %u %s", reg_what_name(job->what), job->name,
                         job->cfg, job->kind, job->index, job->cases, job->args);
        list[i].failed = bsearch(&key, failed.cells, failed.row_count, sizeof key, compare_keys) != NULL;
    }
    reg_table_free(&failed);
    return status;
}

int reg_history_load(reg_db *db, const reg_suite *suite, const char *suite_path, const char *shard, int64_t before,
                     reg_expectation **list) {
    *list = calloc(suite->count + 1, sizeof **list);
    if (*list == NULL) {
        return reg_error("out of memory");
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
