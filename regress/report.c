/* report.c - a run as text or JSON: its settings, its jobs, how many of each outcome. */
#define _GNU_SOURCE
#include "query_sql.h"
#include "reports.h"

#include <inttypes.h>
#include <jansson.h>
#include <sqlite3.h>
#include <string.h>

int reg_report_outcomes(reg_db *db, int64_t run, FILE *out) {
    reg_table table;
    const int status = reg_report_part(db, run, REG_PART_OUTCOMES, &table);
    for (size_t row = 0; row < table.row_count; row++) {
        fprintf(out, "%s%s %s", row == 0 ? "outcomes: " : ", ", reg_table_cell(&table, row, "jobs"),
                reg_table_cell(&table, row, "outcome"));
    }
    fputc('\n', out);
    reg_table_free(&table);
    return status;
}

static const reg_column head_columns[] = {
    {"run", "run", REG_CELL_NUMBER},
    {"suite", "suite", REG_CELL_TEXT},
    {"seed", "seed", REG_CELL_TEXT},
    {"commit", "commit", REG_CELL_TEXT},
    {"changed", "changed work tree", REG_CELL_FLAG},
    {"state", "state", REG_CELL_TEXT},
    {"started", "started (UTC)", REG_CELL_TEXT},
    {"seconds", "seconds", REG_CELL_REAL},
    {"budget_s", "budget, seconds", REG_CELL_NUMBER},
    {"parallel", "jobs at a time", REG_CELL_NUMBER},
    {"shard", "shard", REG_CELL_TEXT},
    {"resumed", "resumed, times", REG_CELL_NUMBER},
    {"files_removed", "files removed", REG_CELL_FLAG},
    {"tools", "tools", REG_CELL_TEXT},
    {"host", "host", REG_CELL_TEXT},
    {"build_dir", "programs in", REG_CELL_TEXT},
    {"out_dir", "files in", REG_CELL_TEXT},
};
static const char head_sql[] =
    "SELECT "
    "id,suite,seed,commit_hash,dirty,run_state(id,state),datetime(started_at,'unixepoch'),round(elapsed_ms/1000.0,1),"
    "nullif(budget_s,0),parallel,shard,resumed,cleaned,tools,host,build_dir,out_dir FROM run WHERE id=?";

static const reg_column job_columns[] = {
    {"job", "job", REG_CELL_NUMBER},
    {"what", "what", REG_CELL_TEXT},
    {"name", NULL, REG_CELL_TEXT},
    {"cfg", NULL, REG_CELL_TEXT},
    {"kind", NULL, REG_CELL_TEXT},
    {"build", "build", REG_CELL_TEXT},
    {"index", "index", REG_CELL_NUMBER},
    {"cases", "cases", REG_CELL_NUMBER},
    {"args", NULL, REG_CELL_TEXT},
    {"second_run", NULL, REG_CELL_FLAG},
    {"attempt", NULL, REG_CELL_NUMBER},
    {"outcome", "outcome", REG_CELL_TEXT},
    {"host", "kept from running", REG_CELL_NOTE},
    {"cycles", "cycles", REG_CELL_NUMBER},
    {"trace_hash", "trace hash", REG_CELL_TEXT},
    {"wall_ms", "wall ms", REG_CELL_NUMBER},
    {"cpu_ms", NULL, REG_CELL_NUMBER},
    {"memory_mib", "MiB", REG_CELL_NUMBER},
    {"signature", NULL, REG_CELL_TEXT},
    {"message", NULL, REG_CELL_TEXT},
    {"repro", NULL, REG_CELL_TEXT},
    {"log", NULL, REG_CELL_TEXT},
    {"command", NULL, REG_CELL_TEXT},
};
static const char job_sql[] = "SELECT idx,what||' '||test||CASE second_run WHEN 1 THEN ' again' ELSE '' "
                              "END,test,cfg,kind,cfg||'-'||kind,first_index,"
                              "cases,args,second_run,attempt," OUTCOME(
                                  job) ",host,cycles,trace_hash,wall_ms,cpu_ms,max_rss_kb/1024,signature,message,repro,"
                                       "log_path,cmd FROM job WHERE run=?1 AND idx>=?2 AND idx<?2+?3 ORDER BY idx";

static const reg_column outcome_columns[] = {{"outcome", "outcome", REG_CELL_TEXT}, {"jobs", "jobs", REG_CELL_NUMBER}};
static const char outcome_sql[] =
    "SELECT " OUTCOME(job) ",count(*) FROM job WHERE run=? GROUP BY 1 ORDER BY outcome IS NOT 'pass', 1";

static int load(reg_db *db, int64_t run, const char *sql, const reg_column *columns, size_t count, reg_table *table) {
    sqlite3_stmt *stmt = NULL;
    reg_table_init(table, columns, count);
    if (reg_db_ask(db, sql, &stmt, REG_VALUES(REG_NUMBER(run))) != REG_OK) {
        return REG_FAIL;
    }
    return reg_table_query(table, db, stmt);
}

int reg_report_part(reg_db *db, int64_t run, reg_part part, reg_table *table) {
    return part == REG_PART_HEAD ? load(db, run, head_sql, head_columns, COUNT(head_columns), table)
                                 : load(db, run, outcome_sql, outcome_columns, COUNT(outcome_columns), table);
}

int reg_report_jobs(reg_db *db, int64_t run, size_t first, size_t count, reg_table *table) {
    sqlite3_stmt *stmt = NULL;
    reg_table_init(table, job_columns, COUNT(job_columns));
    const int status =
        reg_db_ask(db, job_sql, &stmt, REG_VALUES(REG_NUMBER(run), REG_NUMBER(first), REG_NUMBER(count)));
    return status == REG_OK ? reg_table_query(table, db, stmt) : status;
}

int reg_report_job_count(reg_db *db, int64_t run, size_t *count) {
    sqlite3_stmt *row = NULL;
    *count = 0;
    if (reg_db_ask(db, "SELECT max(idx)+1 AS jobs FROM job WHERE run=?", &row, REG_VALUES(REG_NUMBER(run))) != REG_OK) {
        return REG_FAIL;
    }
    const int step = sqlite3_step(row);
    *count = step == SQLITE_ROW ? (size_t)reg_row_number(row, "jobs") : 0;
    return reg_db_end(db, row, step, "read the jobs");
}

int reg_report_jobs_json(reg_db *db, int64_t run, size_t flags, FILE *out) {
    reg_table jobs;
    size_t count;
    int status = reg_report_job_count(db, run, &count);
    const char *comma = "";
    for (size_t first = 0; status == REG_OK && first < count; first += REG_JOBS_AT_ONCE) {
        status = reg_report_jobs(db, run, first, REG_JOBS_AT_ONCE, &jobs);
        json_t *list = status == REG_OK ? reg_table_json(&jobs) : NULL;
        for (size_t i = 0; i < jobs.row_count && status == REG_OK; i++) {
            fputs(comma, out);
            comma = ",\n";
            /* a full disk is detected when the file is closed */
            status = json_dumpf(json_array_get(list, i), out, flags) == 0 || ferror(out) != 0
                         ? REG_OK
                         : reg_error("out of memory");
        }
        json_decref(list);
        reg_table_free(&jobs);
    }
    return status;
}

enum { PART_HEAD, PART_JOBS, PART_FAILURES, PART_TOTALS, PART_OUTCOMES, PART_COUNT };

static int print_json(reg_db *db, int64_t run, const reg_table parts[PART_COUNT], FILE *out) {
    static const char *const keys[PART_COUNT] = {"run", "jobs", "failures", "totals", "outcomes"};
    int status = REG_OK;
    for (int i = 0; status == REG_OK && i < PART_COUNT; i++) {
        fprintf(out, "%s\"%s\": ", i == 0 ? "{" : ",\n", keys[i]);
        if (i == PART_JOBS) {
            fputs("[\n", out);
            status = reg_report_jobs_json(db, run, 0, out);
            fputc(']', out);
            continue;
        }
        json_t *rows = reg_table_json(&parts[i]);
        json_t *part = i == PART_HEAD ? json_incref(json_array_get(rows, 0)) : json_incref(rows);
        json_decref(rows);
        status = reg_json_print(part, out);
    }
    fputs("}\n", out);
    return status;
}

static int print_text(reg_db *db, int64_t run, const reg_table parts[PART_COUNT], FILE *out) {
    reg_table_print_record(&parts[PART_HEAD], out);
    for (int i = PART_JOBS; i <= PART_TOTALS; i++) {
        if (parts[i].row_count != 0) {
            fputc('\n', out);
            reg_table_print(&parts[i], out);
        }
    }
    fputc('\n', out);
    return reg_report_outcomes(db, run, out);
}

int reg_report_print(reg_db *db, int64_t run, bool json, FILE *out) {
    reg_table parts[PART_COUNT] = {0};
    const reg_query_about about = {.run = run, .limit = UINT32_MAX};
    int status = reg_report_part(db, run, REG_PART_HEAD, &parts[PART_HEAD]);
    if (status == REG_OK && !json) {
        status = reg_report_jobs(db, run, 0, SIZE_MAX >> 1, &parts[PART_JOBS]);
    }
    if (status == REG_OK) {
        status = reg_query_ask(reg_query_find("failures"), db, &about, &parts[PART_FAILURES]);
    }
    if (status == REG_OK) {
        status = reg_totals_table(db, run, &parts[PART_TOTALS]);
    }
    if (status == REG_OK) {
        status = reg_report_part(db, run, REG_PART_OUTCOMES, &parts[PART_OUTCOMES]);
    }
    if (status == REG_OK) {
        status = json ? print_json(db, run, parts, out) : print_text(db, run, parts, out);
    }
    for (int i = 0; i < PART_COUNT; i++) {
        reg_table_free(&parts[i]);
    }
    return status;
}
