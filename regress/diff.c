/* diff.c - changes from one run to another: new failures, fixed ones, other hashes, other cycles. */
#define _GNU_SOURCE
#include "table.h"
#include "reports.h"

#include <inttypes.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* One row for each job of either run: its key, then outcome, trace hash and cycles on both sides. Equal lines of a
   suite are matched by their order. Rows are grouped, not joined: a join of long lists compares each job with each. */
static const char diff_sql[] =
    "WITH j AS (SELECT run, idx, seed, coalesce(outcome,'not run') AS outcome, coalesce(trace_hash,'none') AS hash,"
    "  coalesce(cycles,'none') AS cycles,"
    "  what||' '||test||' '||cfg||'-'||kind||' index '||first_index||' cases '||cases||CASE args WHEN '' THEN '' ELSE "
    "' '||args END"
    "   ||CASE second_run WHEN 1 THEN ' again' ELSE '' END AS name FROM job WHERE run IN (?1,?2)),"
    " n AS (SELECT *, row_number() OVER (PARTITION BY name,seed,run ORDER BY idx) AS nth FROM j),"
    " g AS (SELECT name,"
    " max(outcome) FILTER (WHERE run=?1) AS outcome_a, max(outcome) FILTER (WHERE run=?2) AS outcome_b,"
    " max(hash) FILTER (WHERE run=?1) AS hash_a, max(hash) FILTER (WHERE run=?2) AS hash_b,"
    " max(cycles) FILTER (WHERE run=?1) AS cycles_a, max(cycles) FILTER (WHERE run=?2) AS cycles_b,"
    "  coalesce(max(idx) FILTER (WHERE run=?1),max(idx)) AS place FROM n GROUP BY name,seed,nth)"
    " SELECT * FROM g ORDER BY CASE WHEN outcome_a IS NULL THEN 2 WHEN outcome_a=outcome_b THEN 3"
    "  WHEN outcome_a='pass' THEN 0 WHEN outcome_b='pass' THEN 1 ELSE 2 END, place";

static const reg_column columns[] = {{"change", "change", REG_CELL_TEXT},
                                     {"job", "job", REG_CELL_TEXT},
                                     {"before", "before", REG_CELL_TEXT},
                                     {"after", "after", REG_CELL_TEXT},
                                     {"percent", "%", REG_CELL_REAL}};

typedef struct comparison {
    int64_t run_a, run_b;
    size_t total, different, hashed;
    reg_table changes;
} comparison;

static int add_change(comparison *c, const char *change, const char *job, const char *before, const char *after,
                      const char *percent) {
    return reg_table_add(&c->changes, (const char *const[]){change, job, before, after, percent});
}

static const char *outcome_change(const char *before, const char *after) {
    return strcmp(after, "pass") == 0 ? (strcmp(before, "not run") == 0 ? "outcome" : "fixed")
           : strcmp(before, "pass") == 0 && strcmp(after, "not run") != 0 ? "new failure"
                                                                          : "outcome";
}

static int cycle_change(comparison *c, const char *job, const char *before, const char *after) {
    char percent[32];
    const double a = strtod(before, NULL);
    const double b = strtod(after, NULL);
    if (strcmp(before, "none") == 0 || strcmp(after, "none") == 0) {
        return add_change(c, "cycles", job, before, after, NULL);
    }
    (void)reg_format(percent, sizeof percent, "%+.1f", a > 0 ? (b - a) / a * 100.0 : 100.0);
    return add_change(c, b > a ? "slower" : "faster", job, before, after, percent);
}

/* One job; what differs becomes rows of the table. */
static int compare_row(comparison *c, sqlite3_stmt *row) {
    const char *job = reg_row_text(row, "name");
    const size_t before = c->changes.row_count;
    char where[48];
    int status = REG_OK;
    if (!reg_row_known(row, "outcome_a") || !reg_row_known(row, "outcome_b")) {
        const bool first = !reg_row_known(row, "outcome_b");
        (void)reg_format(where, sizeof where, "only in run %" PRId64, first ? c->run_a : c->run_b);
        status = add_change(c, where, job, first ? reg_row_text(row, "outcome_a") : NULL,
                            first ? NULL : reg_row_text(row, "outcome_b"), NULL);
    } else {
        if (strcmp(reg_row_text(row, "outcome_a"), reg_row_text(row, "outcome_b")) != 0) {
            status = add_change(c, outcome_change(reg_row_text(row, "outcome_a"), reg_row_text(row, "outcome_b")), job,
                                reg_row_text(row, "outcome_a"), reg_row_text(row, "outcome_b"), NULL);
        }
        if (status == REG_OK && strcmp(reg_row_text(row, "hash_a"), reg_row_text(row, "hash_b")) != 0) {
            status = add_change(c, "trace hash", job, reg_row_text(row, "hash_a"), reg_row_text(row, "hash_b"), NULL);
        }
        if (status == REG_OK && strcmp(reg_row_text(row, "cycles_a"), reg_row_text(row, "cycles_b")) != 0) {
            status = cycle_change(c, job, reg_row_text(row, "cycles_a"), reg_row_text(row, "cycles_b"));
        }
        c->hashed += strcmp(reg_row_text(row, "hash_a"), "none") != 0 &&
                             strcmp(reg_row_text(row, "hash_a"), reg_row_text(row, "hash_b")) == 0
                         ? 1
                         : 0;
    }
    c->total++;
    c->different += c->changes.row_count > before ? 1 : 0;
    return status;
}

static int show(const comparison *c, bool json, FILE *out) {
    if (json) {
        return reg_json_print(json_pack("{s:[I,I],s:I,s:I,s:I,s:o*}", "runs", (json_int_t)c->run_a,
                                        (json_int_t)c->run_b, "jobs", (json_int_t)c->total, "differ",
                                        (json_int_t)c->different, "equal_hashes", (json_int_t)c->hashed, "changes",
                                        reg_table_json(&c->changes)),
                              out);
    }
    reg_table_print(&c->changes, out);
    fprintf(out, "runs %" PRId64 " and %" PRId64 ": %zu jobs, %zu differ, %zu with equal trace hashes\n", c->run_a,
            c->run_b, c->total, c->different, c->hashed);
    return REG_OK;
}

int reg_diff(reg_db *db, int64_t run_a, int64_t run_b, bool json, FILE *out) {
    comparison c = {.run_a = run_a, .run_b = run_b};
    sqlite3_stmt *row = NULL;
    int step = SQLITE_DONE;
    int status = reg_db_ask(db, diff_sql, &row, REG_VALUES(REG_NUMBER(run_a), REG_NUMBER(run_b)));
    reg_table_init(&c.changes, columns, sizeof columns / sizeof columns[0]);
    while (status == REG_OK && (step = sqlite3_step(row)) == SQLITE_ROW) {
        status = compare_row(&c, row);
    }
    if (status == REG_OK && step != SQLITE_DONE) {
        status = reg_db_fail(db, "read the results");
    }
    (void)sqlite3_finalize(row);
    if (status == REG_OK) {
        status = show(&c, json, out);
    }
    reg_table_free(&c.changes);
    return status == REG_OK && c.different == 0 && c.total > 0 ? REG_OK : REG_FAIL;
}
