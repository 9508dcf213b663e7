/* salvage.c - rows of a damaged database. SQLite stops at a damaged page; reading goes on behind it. */
#define _GNU_SOURCE
#include "db.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* Columns that both tables have, separated by commas; to be freed with sqlite3_free(). */
static char *common_columns(const reg_db *db, sqlite3_stmt *from, const char *table) {
    char *list = NULL;
    for (int i = 0; i < sqlite3_column_count(from); i++) {
        sqlite3_stmt *row = NULL;
        const reg_value values[] = {REG_TEXT(table), REG_TEXT(sqlite3_column_name(from, i))};
        if (reg_db_ask(db, "SELECT 1 FROM pragma_table_info(?) WHERE name=?", &row, values, 2) != REG_OK) {
            break;
        }
        if (sqlite3_step(row) == SQLITE_ROW) {
            char *more = sqlite3_mprintf("%s%s%s", list == NULL ? "" : list, list == NULL ? "" : ",",
                                         sqlite3_column_name(from, i));
            sqlite3_free(list);
            list = more;
        }
        (void)sqlite3_finalize(row);
    }
    return list;
}

/* One row; a row that is there, or that no runner writes, is left out. */
static size_t put_row(const reg_db *db, sqlite3_stmt *put, sqlite3_stmt *from, int skip) {
    for (int i = skip; i < sqlite3_column_count(from); i++) {
        (void)sqlite3_bind_value(put, i - skip + 1, sqlite3_column_value(from, i));
    }
    const bool good = sqlite3_step(put) == SQLITE_DONE && sqlite3_changes(db->handle) == 1;
    (void)sqlite3_reset(put);
    return good ? 1 : 0;
}

/* From row number `at` on until SQLite stops; the number of the last row. *ended: that was the end of the table. */
static int64_t copy_from(const reg_db *db, sqlite3_stmt *from, sqlite3_stmt *put, int64_t at, bool *ended,
                         size_t *count) {
    int64_t last = at - 1;
    int step;
    (void)sqlite3_bind_int64(from, 1, at);
    while ((step = sqlite3_step(from)) == SQLITE_ROW) {
        last = sqlite3_column_int64(from, 0);
        *count += put_row(db, put, from, 1);
    }
    *ended = step == SQLITE_DONE;
    (void)sqlite3_reset(from);
    return last;
}

/* A table whose rows have numbers; `key`: that number, where a table has none its rows end at the first damage. */
static size_t copy_table(const reg_db *db, sqlite3 *old, const char *table, const char *key, const char *only) {
    sqlite3_stmt *from = NULL;
    sqlite3_stmt *put = NULL;
    size_t count = 0;
    char *all = sqlite3_mprintf("SELECT * FROM %s", table);
    char *columns = sqlite3_prepare_v2(old, all, -1, &from, NULL) == SQLITE_OK ? common_columns(db, from, table) : NULL;
    (void)sqlite3_finalize(from);
    from = NULL;
    char *read = sqlite3_mprintf("SELECT %s,%s FROM %s NOT INDEXED WHERE %s>=?1%s%s", key, columns, table, key,
                                 strcmp(key, "id") == 0 ? " ORDER BY " : "", strcmp(key, "id") == 0 ? "id" : "");
    int places = 1;
    for (const char *p = columns; p != NULL && *p != '\0'; p++) {
        places += *p == ',' ? 1 : 0;
    }
    char marks[256] = "?1";
    for (int i = 2; i <= places && strlen(marks) + 8 < sizeof marks; i++) {
        (void)reg_format(marks + strlen(marks), sizeof marks - strlen(marks), ",?%d", i);
    }
    char *write = sqlite3_mprintf("WITH v(%s) AS (VALUES(%s)) INSERT OR IGNORE INTO %s(%s) SELECT * FROM v WHERE %s",
                                  columns, marks, table, columns, only);
    if (columns != NULL && sqlite3_prepare_v2(old, read, -1, &from, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db->handle, write, -1, &put, NULL) == SQLITE_OK) {
        bool ended = false;
        int64_t at = 0;
        for (int64_t step = 1; !ended && at < INT64_MAX / 2;) {
            const int64_t last = copy_from(db, from, put, at, &ended, &count);
            step = last >= at ? 1 : step * (step < 64 ? 1 : 2) + (step < 64 ? 1 : 0);
            at = (last >= at ? last : at - 1) + step;
        }
    }
    (void)sqlite3_finalize(from);
    (void)sqlite3_finalize(put);
    sqlite3_free(all);
    sqlite3_free(columns);
    sqlite3_free(read);
    sqlite3_free(write);
    return count;
}

int reg_salvage(reg_db *db, const char *damaged, reg_recovered *sum) {
    sqlite3 *old = NULL;
    if (sqlite3_open_v2(damaged, &old, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
        sum->salvaged = copy_table(db, old, "run", "id", "typeof(v.id)='integer' AND typeof(v.started_at)='integer'");
        (void)copy_table(db, old, "program", "0", "EXISTS(SELECT 1 FROM run WHERE id=v.run)");
        (void)copy_table(db, old, "coverage", "0", "EXISTS(SELECT 1 FROM run WHERE id=v.run)");
        (void)copy_table(db, old, "qualify", "id", "typeof(v.id)='integer' AND typeof(v.at)='integer'");
        /* outcomes of jobs that no folder knows replace the rows without one */
        (void)reg_db_exec(db,
                          "CREATE TEMP TRIGGER job_known BEFORE INSERT ON main.job WHEN new.outcome IS NOT NULL BEGIN "
                          "DELETE FROM job WHERE run=new.run AND idx=new.idx AND outcome IS NULL; END");
        sum->salvaged_jobs = copy_table(
            db, old, "job", "id",
            "EXISTS(SELECT 1 FROM run WHERE id=v.run) AND typeof(v.idx)='integer' AND (v.outcome IS NULL OR v.outcome "
            "IN ('pass','fail','error','crash','timeout','nondeterministic')) AND NOT EXISTS(SELECT 1 FROM job WHERE "
            "run=v.run AND idx=v.idx AND (outcome IS NOT NULL OR v.outcome IS NULL))");
        (void)reg_db_exec(db, "DROP TRIGGER job_known");
    }
    (void)sqlite3_close(old);
    return REG_OK;
}
