/* reports.h - what is made of recorded runs: reports, comparisons, signatures (private to regress/). */
#ifndef REG_REPORTS_H
#define REG_REPORTS_H

#include "db.h"

#define REG_CFGS_MAX 16 /* of one run that a table shows */

/* ---- junit.c, html*.c, sarif.c, summary.c, report.c ---- */
int reg_junit_write(reg_db *db, int64_t run, const char *path);
/* The report as a folder of pages, written atomically. An existing report is replaced, anything else is not. figures:
 * JSON of the published figures, which may be missing. */
int reg_html_write(reg_db *db, int64_t run, const char *dir, const char *figures);
/* Could that folder be written? */
int reg_html_check(const char *dir);
/* Was that folder written by reg_html_write? */
bool reg_html_is_report(const char *dir);
/* SARIF 2.1.0: one result for each signature; source_dir: where a unit that a signature names has its file (NAME.sv, at
 * any depth). */
int reg_sarif_write(reg_db *db, int64_t run, const char *source_dir, const char *path);
/* A summary as JSON: the run, counts, tests, performance, failures by signature. */
int reg_summary_write(reg_db *db, int64_t run, const char *path);
/* signoff.c: OUT/signoff.json; the SHA-256 of its content, false: there is none. */
int reg_signoff_write(reg_db *db, int64_t run);
bool reg_signoff_sum(const char *out_dir, char sum[65]);
/* Everything about a run. */
int reg_report_print(reg_db *db, int64_t run, bool json, FILE *out);
/* One line: counts per outcome. */
int reg_report_outcomes(reg_db *db, int64_t run, FILE *out);

/* ---- explain.c ---- */

typedef struct reg_explain_plan {
    int64_t run;
    const char *build_dir;
    const char *out_dir;
    uint32_t most;    /* signatures */
    uint32_t seconds; /* for all of them */
    int parallel;     /* processes of a search for a small case */
    bool terminal;
} reg_explain_plan;

/* Run one representative of each signature again, with a report; look for a small case where that is quick. The table
 * of signatures is printed. */
int reg_explain(const reg_explain_plan *plan, reg_db *db, FILE *out);

/* ---- diff.c ---- */

/* Compare outcomes, trace hashes and cycles of two runs: 0 when they agree. */
int reg_diff(reg_db *db, int64_t run_a, int64_t run_b, bool json, FILE *out);

/* ---- totals.c ---- */

/* One test, network, all stored cases or all benches: cases that passed in each configuration (second runs apart),
 * their clock cycles, jobs that did not pass. */
typedef struct reg_total {
    char label[80];
    uint64_t cases[REG_CFGS_MAX]; /* in the order of reg_cfgs */
    uint64_t other;               /* in configurations beyond those */
    uint64_t cycles;
    uint64_t not_passed;
} reg_total;

/* Configurations of the jobs of a run: the default design first, then by name. */
typedef struct reg_cfgs {
    char name[REG_CFGS_MAX][REG_LABEL_MAX];
    size_t count;
} reg_cfgs;

/* *rows is to be freed. */
int reg_totals_load(reg_db *db, int64_t run, reg_cfgs *cfgs, reg_total **rows, size_t *count);
/* As a table (to be freed). */
struct reg_table;
int reg_totals_table(reg_db *db, int64_t run, struct reg_table *table);
/* At most so many rows, on the terminal: what did not pass and what took most cycles; the others are one row. */
int reg_report_totals(reg_db *db, int64_t run, size_t most, FILE *out);

#endif
