/* totals.c - amount of work of a run: cases of each test and configuration, as text and as a page. */
#define _GNU_SOURCE
#include "query_sql.h"
#include "reports.h"
#include "report/report.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* All benches are one row, and so are all stored cases. Second runs repeat a case and do not count. */
static const char totals_sql[] =
    "SELECT CASE what WHEN 'unit' THEN 'unit benches' WHEN 'case' THEN 'stored cases' ELSE what||' '||test END AS "
    "label, cfg,"
    "  sum(CASE WHEN outcome='pass' AND second_run=0 THEN cases ELSE 0 END) AS passed,"
    "  sum(CASE WHEN outcome='pass' AND second_run=0 THEN coalesce(cycles,0) ELSE 0 END) AS done,"
    "  sum(CASE WHEN outcome IS NOT 'pass' THEN 1 ELSE 0 END) AS not_passed"
    " FROM job WHERE run=? GROUP BY label,cfg"
    " ORDER BY CASE what WHEN 'test' THEN 0 WHEN 'network' THEN 1 WHEN 'case' THEN 2 ELSE 3 END, label";

const char reg_cfgs_sql[] = "SELECT cfg FROM job WHERE run=:run GROUP BY cfg ORDER BY instr(cfg,'/')<>0, "
                            "substr(cfg,1,instr(cfg,'/')), length(cfg), cfg";

static int load_cfgs(reg_db *db, int64_t run, reg_cfgs *cfgs) {
    sqlite3_stmt *stmt = NULL;
    memset(cfgs, 0, sizeof *cfgs);
    if (reg_db_ask(db, reg_cfgs_sql, &stmt, REG_VALUES(REG_NUMBER(run))) != REG_OK) {
        return REG_FAIL;
    }
    int step = SQLITE_DONE;
    while (cfgs->count < REG_CFGS_MAX && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
        (void)reg_format(cfgs->name[cfgs->count++], sizeof cfgs->name[0], "%s", reg_row_text(stmt, "cfg"));
    }
    return reg_db_end(db, stmt, step, "read the configurations");
}

/* The row with this label, which is the last one or a new one. NULL: out of memory. */
static reg_total *row_of(reg_total **rows, size_t *count, const char *label) {
    if (*count > 0 && strcmp((*rows)[*count - 1].label, label) == 0) {
        return &(*rows)[*count - 1];
    }
    if (!rep_more(rows, *count, sizeof **rows)) {
        return NULL;
    }
    reg_total *more = *rows;
    more[*count] = (reg_total){0};
    (void)reg_format(more[*count].label, sizeof more[*count].label, "%s", label);
    return &more[(*count)++];
}

int reg_totals_load(reg_db *db, int64_t run, reg_cfgs *cfgs, reg_total **rows, size_t *count) {
    sqlite3_stmt *stmt = NULL;
    int step;
    *rows = NULL;
    *count = 0;
    if (load_cfgs(db, run, cfgs) != REG_OK ||
        reg_db_ask(db, totals_sql, &stmt, REG_VALUES(REG_NUMBER(run))) != REG_OK) {
        return REG_FAIL;
    }
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
        reg_total *row = row_of(rows, count, reg_row_text(stmt, "label"));
        if (row == NULL) {
            reg_error("out of memory");
            break;
        }
        size_t cfg = 0;
        while (cfg < cfgs->count && strcmp(reg_row_text(stmt, "cfg"), cfgs->name[cfg]) != 0) {
            cfg++;
        }
        *(cfg < cfgs->count ? &row->cases[cfg] : &row->other) += (uint64_t)reg_row_number(stmt, "passed");
        row->cycles += (uint64_t)reg_row_number(stmt, "done");
        row->not_passed += (uint64_t)reg_row_number(stmt, "not_passed");
    }
    const int status = step == SQLITE_DONE  ? REG_OK
                       : step == SQLITE_ROW ? REG_FAIL
                                            : reg_db_fail(db, "read the results");
    (void)sqlite3_finalize(stmt);
    if (status != REG_OK) {
        free(*rows);
        *rows = NULL;
        *count = 0;
    }
    return status;
}

static uint64_t all_of(const reg_total *row) {
    uint64_t sum = row->other;
    for (int i = 0; i < REG_CFGS_MAX; i++) {
        sum += row->cases[i];
    }
    return sum;
}

static const reg_column columns[] = {{"label", "cases passed", REG_CELL_TEXT},
                                     {"all", "all", REG_CELL_NUMBER},
                                     {"cycles", "cycles", REG_CELL_NUMBER},
                                     {"jobs_not_passed", "jobs not passed", REG_CELL_NUMBER}};

/* A column for each configuration behind the label. */
static int add_columns(reg_table *table, const reg_cfgs *cfgs) {
    int status = REG_OK;
    for (size_t i = 0; i < cfgs->count && status == REG_OK; i++) {
        status = reg_table_column(table, 1 + i, cfgs->name[i], "");
    }
    return status;
}

static int add_row(reg_table *table, const reg_cfgs *cfgs, const reg_total *row) {
    char numbers[REG_CFGS_MAX + 3][24];
    const char *cells[REG_CFGS_MAX + 4] = {row->label};
    const uint64_t rest[3] = {all_of(row), row->cycles, row->not_passed};
    for (size_t i = 0; i < cfgs->count + 3; i++) {
        (void)reg_format(numbers[i], sizeof numbers[i], "%" PRIu64,
                         i < cfgs->count ? row->cases[i] : rest[i - cfgs->count]);
        cells[i + 1] = numbers[i];
    }
    return reg_table_add(table, cells);
}

int reg_totals_table(reg_db *db, int64_t run, reg_table *table) {
    reg_cfgs cfgs;
    reg_total *rows = NULL;
    size_t count = 0;
    reg_table_init(table, columns, sizeof columns / sizeof columns[0]);
    int status = reg_totals_load(db, run, &cfgs, &rows, &count);
    if (status == REG_OK) {
        status = add_columns(table, &cfgs);
    }
    for (size_t i = 0; i < count && status == REG_OK; i++) {
        status = add_row(table, &cfgs, &rows[i]);
    }
    free(rows);
    return status;
}

/* ---- on one screen ---- */

/* Failed tests come first, then those with most cycles. */
static int more_important(const void *a, const void *b) {
    const reg_total *x = a;
    const reg_total *y = b;
    if ((x->not_passed != 0) != (y->not_passed != 0)) {
        return x->not_passed != 0 ? -1 : 1;
    }
    return x->cycles != y->cycles ? (x->cycles > y->cycles ? -1 : 1) : strcmp(x->label, y->label);
}

/* Rows beyond the limit are merged into one. The number of rows that are left. */
static size_t fold(reg_total *rows, size_t count, size_t most) {
    if (count <= most || most == 0) {
        return count;
    }
    qsort(rows, count, sizeof *rows, more_important);
    reg_total rest = {0};
    for (size_t i = most - 1; i < count; i++) {
        for (int c = 0; c < REG_CFGS_MAX; c++) {
            rest.cases[c] += rows[i].cases[c];
        }
        rest.other += rows[i].other;
        rest.cycles += rows[i].cycles;
        rest.not_passed += rows[i].not_passed;
    }
    (void)reg_format(rest.label, sizeof rest.label, "and %zu more", count - most + 1);
    rows[most - 1] = rest;
    return most;
}

#define LABEL 24 /* characters */

/* A long name keeps its beginning; it is not cut within a character of several bytes. */
static void cut_label(char *label) {
    if (strlen(label) > LABEL) {
        size_t at = LABEL - 2;
        while (at > 0 && ((unsigned char)label[at] & 0xc0) == 0x80) {
            at--;
        }
        (void)strcpy(label + at, "..");
    }
}

/* Configurations without a case have no column. */
static void drop_empty(reg_cfgs *cfgs, reg_total *rows, size_t count) {
    for (size_t c = 0; c < cfgs->count;) {
        uint64_t sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += rows[i].cases[c];
        }
        if (sum != 0) {
            c++;
            continue;
        }
        cfgs->count--;
        memmove(cfgs->name[c], cfgs->name[c + 1], (cfgs->count - c) * sizeof cfgs->name[0]);
        for (size_t i = 0; i < count; i++) {
            memmove(&rows[i].cases[c], &rows[i].cases[c + 1], (cfgs->count - c) * sizeof rows[i].cases[0]);
            rows[i].cases[cfgs->count] = 0;
        }
    }
}

int reg_report_totals(reg_db *db, int64_t run, size_t most, FILE *out) {
    reg_column shown[sizeof columns / sizeof columns[0]];
    reg_table table;
    reg_cfgs cfgs;
    reg_total *rows = NULL;
    size_t count = 0;
    int status = reg_totals_load(db, run, &cfgs, &rows, &count);
    memcpy(shown, columns, sizeof shown);
    shown[3].title = "not passed";
    reg_table_init(&table, shown, sizeof columns / sizeof columns[0]);
    if (status == REG_OK) {
        count = fold(rows, count, most);
        drop_empty(&cfgs, rows, count);
        status = add_columns(&table, &cfgs);
    }
    for (size_t i = 0; i < count && status == REG_OK; i++) {
        cut_label(rows[i].label);
        status = add_row(&table, &cfgs, &rows[i]);
    }
    if (status == REG_OK) {
        reg_table_print(&table, out);
    }
    free(rows);
    reg_table_free(&table);
    return status;
}
