/* junit.c - a run as JUnit XML, for CI systems. */
#define _GNU_SOURCE
#include "reports.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

static void put_attribute(FILE *out, const char *name, const char *value) {
    fprintf(out, " %s=\"", name);
    rep_xml(out, value);
    fputc('"', out);
}

static void put_case(FILE *out, const char *suite, sqlite3_stmt *row) {
    char name[256];
    char class_name[160];
    const char *what = reg_row_text(row, "what");
    const char *outcome = reg_row_text(row, "outcome");
    (void)reg_format(class_name, sizeof class_name, "%s.%s-%s", suite, reg_row_text(row, "cfg"),
                     reg_row_text(row, "kind"));
    (void)reg_format(name, sizeof name, "%s %s index %s%s", what, reg_row_text(row, "test"),
                     reg_row_text(row, "first_index"), reg_row_number(row, "second_run") != 0 ? " again" : "");
    fputs("    <testcase", out);
    put_attribute(out, "classname", class_name);
    put_attribute(out, "name", name);
    fprintf(out, " time=\"%.3f\"", (double)reg_row_number(row, "wall_ms") / 1000.0);
    if (strcmp(outcome, "pass") == 0) {
        fputs("/>\n", out);
        return;
    }
    const char *element = outcome[0] == '\0'                                                         ? "skipped"
                          : strcmp(outcome, "fail") == 0 || strcmp(outcome, "nondeterministic") == 0 ? "failure"
                                                                                                     : "error";
    fprintf(out, ">\n      <%s", element);
    put_attribute(out, "message", outcome[0] == '\0' ? reg_row_text(row, "host") : reg_row_text(row, "message"));
    if (outcome[0] != '\0') {
        put_attribute(out, "type", outcome);
    }
    fputc('>', out);
    if (outcome[0] != '\0') {
        rep_xml(out, reg_row_text(row, "repro"));
        fputs("\nlog: ", out);
        rep_xml(out, reg_row_text(row, "log_path"));
    }
    fprintf(out, "</%s>\n    </testcase>\n", element);
}

static int put_head(reg_db *db, int64_t run, FILE *out, char *suite, size_t suite_size) {
    sqlite3_stmt *row = NULL;
    if (reg_db_ask(db,
                   "SELECT r.suite AS suite, r.seed AS seed, r.commit_hash AS commit_hash, coalesce(r.elapsed_ms,0) AS "
                   "elapsed_ms, "
                   "count(*) AS jobs,"
                   " coalesce(sum(j.outcome IN ('fail','nondeterministic')),0) AS failures, coalesce(sum(j.outcome IN "
                   "('error','crash','timeout')),0) AS errors,"
                   " coalesce(sum(j.outcome IS NULL),0) AS skipped FROM run r JOIN job j ON j.run=r.id WHERE r.id=?",
                   &row, REG_VALUES(REG_NUMBER(run))) != REG_OK) {
        return REG_FAIL;
    }
    if (sqlite3_step(row) != SQLITE_ROW) {
        (void)sqlite3_finalize(row);
        return reg_db_fail(db, "read the run");
    }
    char counts[160];
    (void)reg_format(suite, suite_size, "%s", reg_row_text(row, "suite"));
    (void)reg_format(counts, sizeof counts, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\"",
                     (int)reg_row_number(row, "jobs"), (int)reg_row_number(row, "failures"),
                     (int)reg_row_number(row, "errors"), (int)reg_row_number(row, "skipped"),
                     (double)reg_row_number(row, "elapsed_ms") / 1000.0);
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites%s>\n  <testsuite", counts);
    put_attribute(out, "name", suite);
    fprintf(out,
            "%s>\n    <properties>\n      <property name=\"run\" value=\"%" PRId64
            "\"/>\n      <property name=\"seed\"",
            counts, run);
    put_attribute(out, "value", reg_row_text(row, "seed"));
    fputs("/>\n      <property name=\"commit\"", out);
    put_attribute(out, "value", reg_row_text(row, "commit_hash"));
    fputs("/>\n    </properties>\n", out);
    (void)sqlite3_finalize(row);
    return REG_OK;
}

int reg_junit_write(reg_db *db, int64_t run, const char *path) {
    rep_file report;
    char suite[REG_NAME_MAX];
    sqlite3_stmt *row = NULL;
    if (reg_report_open(&report, path) != REG_OK) {
        return REG_FAIL;
    }
    int status = put_head(db, run, report.file, suite, sizeof suite);
    if (status == REG_OK) {
        status = reg_db_ask(db,
                            "SELECT what,test,cfg,kind,first_index,second_run,wall_ms,outcome,message,repro,log_path,"
                            "coalesce(host,'not run') AS host FROM job"
                            " WHERE run=? ORDER BY idx",
                            &row, REG_VALUES(REG_NUMBER(run)));
    }
    if (status == REG_OK) {
        int step;
        while ((step = sqlite3_step(row)) == SQLITE_ROW) {
            put_case(report.file, suite, row);
        }
        status = reg_db_end(db, row, step, "read the jobs");
    }
    if (status != REG_OK) {
        rep_file_drop(&report);
        return status;
    }
    fputs("  </testsuite>\n</testsuites>\n", report.file);
    return reg_report_commit(&report);
}
