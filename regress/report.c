/* report.c - runs as text: the table, the summary, the difference between two. */
#define _GNU_SOURCE
#include "reg.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

static const char *text_at(sqlite3_stmt *stmt, int column) {
    const unsigned char *text = sqlite3_column_text(stmt, column);
    return text == NULL ? "" : (const char *)text;
}

static int finish_query(reg_db *db, sqlite3_stmt *stmt, int step) {
    int status = step == SQLITE_DONE || step == SQLITE_ROW ? REG_OK : reg_db_fail(db, "read the results");
    (void)sqlite3_finalize(stmt);
    return status;
}

static int print_run_head(reg_db *db, int64_t run, FILE *out) {
    sqlite3_stmt *row = NULL;
    if (reg_db_prepare(db,
                       "SELECT suite,seed,commit_hash,dirty,state,coalesce(elapsed_ms,0),budget_s,tools,host,"
                       "datetime(started_at,'unixepoch'),parallel FROM run WHERE id=?",
                       &row) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(row, 1, run);
    int step = sqlite3_step(row);
    if (step == SQLITE_ROW) {
        fprintf(out, "run %" PRId64 ": suite %s, seed %s, %s, started %s UTC\n", run, text_at(row, 0), text_at(row, 1), text_at(row, 4),
                text_at(row, 9));
        fprintf(out, "commit %s%s\n%s; %s, %d jobs at a time\n", text_at(row, 2), sqlite3_column_int(row, 3) != 0 ? " (changed)" : "",
                text_at(row, 7), text_at(row, 8), sqlite3_column_int(row, 10));
        fprintf(out, "%.1f s", (double)sqlite3_column_int64(row, 5) / 1000.0);
        if (sqlite3_column_int(row, 6) != 0) {
            fprintf(out, " of a budget of %d s", sqlite3_column_int(row, 6));
        }
        fputc('\n', out);
    }
    return finish_query(db, row, step);
}

int reg_report_outcomes(reg_db *db, int64_t run, FILE *out) {
    sqlite3_stmt *row = NULL;
    if (reg_db_prepare(db,
                       "SELECT coalesce(outcome,'not run'), count(*) FROM job WHERE run=? GROUP BY 1"
                       " ORDER BY CASE WHEN outcome='pass' THEN 0 ELSE 1 END, 1",
                       &row) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(row, 1, run);
    int step;
    const char *comma = "outcomes: ";
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        fprintf(out, "%s%d %s", comma, sqlite3_column_int(row, 1), text_at(row, 0));
        comma = ", ";
    }
    fputc('\n', out);
    return finish_query(db, row, step);
}

int reg_report_print(reg_db *db, int64_t run, FILE *out) {
    sqlite3_stmt *row = NULL;
    if (print_run_head(db, run, out) != REG_OK ||
        reg_db_prepare(db,
                       "SELECT idx,what||' '||test||CASE second_run WHEN 1 THEN ' again' ELSE '' END,cfg||'-'||kind,first_index,cases,"
                       "coalesce(outcome,'not run'),cycles,trace_hash,wall_ms,max_rss_kb,message,repro FROM job WHERE run=? ORDER BY idx",
                       &row) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(row, 1, run);
    fprintf(out, "\n%5s %-24s %-9s %6s %5s %-8s %12s %-18s %9s %7s\n", "job", "what", "build", "index", "cases", "outcome", "cycles",
            "trace hash", "wall ms", "MiB");
    int step;
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        const char *cycles = text_at(row, 6);
        fprintf(out, "%5d %-24s %-9s %6s %5s %-8s %12s %-18s %9s %7lld\n", sqlite3_column_int(row, 0), text_at(row, 1), text_at(row, 2),
                text_at(row, 3), text_at(row, 4), text_at(row, 5), cycles[0] == '\0' ? "-" : cycles,
                sqlite3_column_type(row, 7) == SQLITE_NULL ? "-" : text_at(row, 7), text_at(row, 8), sqlite3_column_int64(row, 9) / 1024);
        if (strcmp(text_at(row, 5), "pass") != 0 && strcmp(text_at(row, 5), "not run") != 0) {
            fprintf(out, "      %s\n      %s\n", text_at(row, 10), text_at(row, 11));
        }
    }
    int status = finish_query(db, row, step);
    if (status == REG_OK) {
        fputc('\n', out);
        status = reg_report_totals(db, run, out);
    }
    if (status == REG_OK) {
        fputc('\n', out);
        status = reg_report_outcomes(db, run, out);
    }
    return status;
}

/* One row a job that stands in either run: its key, then outcome, trace hash and cycles on both sides. Equal lines of a suite are told apart by their
   order. */
static const char diff_sql[] =
    "WITH j AS (SELECT run, idx, seed, coalesce(outcome,'not run') AS outcome, coalesce(trace_hash,'none') AS hash,"
    "  coalesce(cycles,'none') AS cycles,"
    "  what||' '||test||' '||cfg||'-'||kind||' index '||first_index||' cases '||cases||CASE args WHEN '' THEN '' ELSE ' '||args END"
    "   ||CASE second_run WHEN 1 THEN ' again' ELSE '' END AS name,"
    "  row_number() OVER (PARTITION BY run,what,test,cfg,kind,seed,first_index,cases,args,second_run ORDER BY idx) AS nth"
    "  FROM job WHERE run IN (?1,?2)),"
    " a AS (SELECT * FROM j WHERE run=?1), b AS (SELECT * FROM j WHERE run=?2)"
    " SELECT a.name, a.outcome, b.outcome, a.hash, b.hash, a.cycles, b.cycles, a.idx AS place FROM a"
    "  LEFT JOIN b ON a.name=b.name AND a.seed=b.seed AND a.nth=b.nth"
    " UNION ALL SELECT b.name, NULL, b.outcome, NULL, b.hash, NULL, b.cycles, b.idx FROM b"
    "  WHERE NOT EXISTS(SELECT 1 FROM a WHERE a.name=b.name AND a.seed=b.seed AND a.nth=b.nth) ORDER BY place";

/* Prints one row when it differs; true when it does. */
static bool diff_row(sqlite3_stmt *row, int64_t run_a, int64_t run_b, FILE *out) {
    const char *name = text_at(row, 0);
    if (sqlite3_column_type(row, 1) == SQLITE_NULL || sqlite3_column_type(row, 2) == SQLITE_NULL) {
        fprintf(out, "%s: only in run %" PRId64 "\n", name, sqlite3_column_type(row, 1) == SQLITE_NULL ? run_b : run_a);
        return true;
    }
    bool differs = false;
    static const char *const fields[] = {"outcome", "trace hash", "cycles"};
    for (int i = 0; i < 3; i++) {
        const char *a = text_at(row, 1 + 2 * i);
        const char *b = text_at(row, 2 + 2 * i);
        if (strcmp(a, b) != 0) {
            fprintf(out, "%s: %s %s, then %s\n", name, fields[i], a, b);
            differs = true;
        }
    }
    return differs;
}

int reg_report_diff(reg_db *db, int64_t run_a, int64_t run_b, FILE *out) {
    sqlite3_stmt *row = NULL;
    if (reg_db_prepare(db, diff_sql, &row) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(row, 1, run_a);
    (void)sqlite3_bind_int64(row, 2, run_b);
    int step;
    size_t total = 0;
    size_t different = 0;
    size_t hashed = 0;
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        total++;
        different += diff_row(row, run_a, run_b, out) ? 1 : 0;
        hashed += strcmp(text_at(row, 3), "none") != 0 && strcmp(text_at(row, 3), text_at(row, 4)) == 0 ? 1 : 0;
    }
    int status = finish_query(db, row, step);
    if (status != REG_OK) {
        return status;
    }
    fprintf(out, "runs %" PRId64 " and %" PRId64 ": %zu jobs, %zu differ, %zu with equal trace hashes\n", run_a, run_b, total, different,
            hashed);
    return different == 0 && total > 0 ? REG_OK : REG_FAIL;
}
