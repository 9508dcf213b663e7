/* html.c - a run as one page: what it was, how much of what passed, what did not. */
#define _GNU_SOURCE
#include "reg.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>

static const char style[] = "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;margin:1em 0}"
                            "td,th{border:1px solid #bbb;padding:2px 8px;text-align:right}td:first-child,th:first-child,.t{text-align:left}"
                            ".bad{color:#b00}";

static const char *text_at(sqlite3_stmt *stmt, int column) {
    const unsigned char *text = sqlite3_column_text(stmt, column);
    return text == NULL ? "" : (const char *)text;
}

static int put_head(reg_db *db, int64_t run, FILE *out) {
    sqlite3_stmt *row = NULL;
    if (reg_db_prepare(db, "SELECT suite,seed,commit_hash,dirty,state,coalesce(elapsed_ms,0),tools,host FROM run WHERE id=?", &row) !=
        REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(row, 1, run);
    if (sqlite3_step(row) != SQLITE_ROW) {
        (void)sqlite3_finalize(row);
        return reg_db_fail(db, "read the run");
    }
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>run %" PRId64
            "</title><style>%s</style></head><body>\n",
            run, style);
    fprintf(out, "<h1>Suite ");
    reg_put_escaped(out, text_at(row, 0));
    fprintf(out, ", run %" PRId64 "</h1>\n<p>", run);
    reg_put_escaped(out, text_at(row, 4));
    fprintf(out, ", %.1f s, seed %s, commit ", (double)sqlite3_column_int64(row, 5) / 1000.0, text_at(row, 1));
    reg_put_escaped(out, text_at(row, 2));
    fprintf(out, "%s<br>", sqlite3_column_int(row, 3) != 0 ? " (changed)" : "");
    reg_put_escaped(out, text_at(row, 6));
    fputs("<br>", out);
    reg_put_escaped(out, text_at(row, 7));
    fputs("</p>\n", out);
    (void)sqlite3_finalize(row);
    return REG_OK;
}

static int put_totals(reg_db *db, int64_t run, FILE *out) {
    reg_total *rows = NULL;
    size_t count = 0;
    if (reg_totals_load(db, run, &rows, &count) != REG_OK) {
        return REG_FAIL;
    }
    fputs("<h2>Cases passed</h2>\n<table><tr><th></th>", out);
    for (int i = 0; i < REG_CFG_COUNT; i++) {
        fprintf(out, "<th>%s</th>", reg_cfg_names[i]);
    }
    fputs("<th>all</th><th>cycles</th><th>jobs not passed</th></tr>\n", out);
    for (size_t r = 0; r < count; r++) {
        uint64_t all = rows[r].other;
        fputs("<tr><td>", out);
        reg_put_escaped(out, rows[r].label);
        fputs("</td>", out);
        for (int i = 0; i < REG_CFG_COUNT; i++) {
            all += rows[r].cases[i];
            fprintf(out, "<td>%" PRIu64 "</td>", rows[r].cases[i]);
        }
        fprintf(out, "<td>%" PRIu64 "</td><td>%" PRIu64 "</td><td%s>%" PRIu64 "</td></tr>\n", all, rows[r].cycles,
                rows[r].not_passed != 0 ? " class=\"bad\"" : "", rows[r].not_passed);
    }
    fputs("</table>\n", out);
    free(rows);
    return REG_OK;
}

static void put_failure(FILE *out, sqlite3_stmt *row) {
    fputs("<tr>", out);
    for (int i = 0; i < 5; i++) {
        fputs("<td class=\"t\">", out);
        reg_put_escaped(out, text_at(row, i));
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

static int put_failures(reg_db *db, int64_t run, FILE *out) {
    sqlite3_stmt *row = NULL;
    int step;
    if (reg_db_prepare(
            db,
            "SELECT what||' '||test, cfg||'-'||kind, coalesce(outcome,'not run'), coalesce(message,''), coalesce(repro,cmd) FROM job"
            " WHERE run=? AND outcome IS NOT 'pass' ORDER BY outcome IS NULL, idx",
            &row) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(row, 1, run);
    fputs("<h2>Jobs that did not pass</h2>\n", out);
    fputs("<table><tr><th>job</th><th>build</th><th>outcome</th><th>message</th><th>again</th></tr>\n", out);
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        put_failure(out, row);
    }
    fputs("</table>\n</body></html>\n", out);
    const int status = step == SQLITE_DONE ? REG_OK : reg_db_fail(db, "read the jobs");
    (void)sqlite3_finalize(row);
    return status;
}

int reg_html_write(reg_db *db, int64_t run, const char *path) {
    reg_report_file report;
    if (reg_report_open(&report, path) != REG_OK) {
        return REG_FAIL;
    }
    int status = put_head(db, run, report.file);
    if (status == REG_OK) {
        status = put_totals(db, run, report.file);
    }
    if (status == REG_OK) {
        status = put_failures(db, run, report.file);
    }
    if (status != REG_OK) {
        reg_report_abort(&report);
        return status;
    }
    return reg_report_commit(&report);
}
