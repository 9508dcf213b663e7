/* totals.c - how much of what a run has done: cases of each test and configuration, as text and as a page. */
#define _GNU_SOURCE
#include "table.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* Benches and stored cases are many: one row each. Second runs repeat a case and do not count. */
static const char totals_sql[] =
    "SELECT CASE what WHEN 'unit' THEN 'unit benches' WHEN 'case' THEN 'stored cases' ELSE what||' '||test END AS label, cfg,"
    "  sum(CASE WHEN outcome='pass' AND second_run=0 THEN cases ELSE 0 END) AS passed,"
    "  sum(CASE WHEN outcome='pass' AND second_run=0 THEN coalesce(cycles,0) ELSE 0 END) AS done,"
    "  sum(CASE WHEN outcome IS NOT 'pass' THEN 1 ELSE 0 END) AS not_passed"
    " FROM job WHERE run=? GROUP BY label,cfg"
    " ORDER BY CASE what WHEN 'test' THEN 0 WHEN 'network' THEN 1 WHEN 'case' THEN 2 ELSE 3 END, label";

/* The row with this label, which is the last one or a new one. NULL: out of memory. */
static reg_total *row_of(reg_total **rows, size_t *count, const char *label) {
    if (*count > 0 && strcmp((*rows)[*count - 1].label, label) == 0) {
        return &(*rows)[*count - 1];
    }
    reg_total *more = realloc(*rows, (*count + 1) * sizeof **rows);
    if (more == NULL) {
        return NULL;
    }
    *rows = more;
    more[*count] = (reg_total){0};
    (void)reg_format(more[*count].label, sizeof more[*count].label, "%s", label);
    return &more[(*count)++];
}

int reg_totals_load(reg_db *db, int64_t run, reg_total **rows, size_t *count) {
    sqlite3_stmt *stmt = NULL;
    int step;
    *rows = NULL;
    *count = 0;
    if (reg_db_prepare(db, totals_sql, &stmt) != REG_OK) {
        return REG_FAIL;
    }
    (void)sqlite3_bind_int64(stmt, 1, run);
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
        reg_total *row = row_of(rows, count, reg_row_text(stmt, "label"));
        if (row == NULL) {
            reg_error("out of memory");
            break;
        }
        int cfg = 0;
        while (cfg < REG_CFG_COUNT && strcmp(reg_row_text(stmt, "cfg"), reg_cfg_names[cfg]) != 0) {
            cfg++;
        }
        *(cfg < REG_CFG_COUNT ? &row->cases[cfg] : &row->other) += (uint64_t)reg_row_number(stmt, "passed");
        row->cycles += (uint64_t)reg_row_number(stmt, "done");
        row->not_passed += (uint64_t)reg_row_number(stmt, "not_passed");
    }
    const int status = step == SQLITE_DONE ? REG_OK : step == SQLITE_ROW ? REG_FAIL : reg_db_fail(db, "read the results");
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
    for (int i = 0; i < REG_CFG_COUNT; i++) {
        sum += row->cases[i];
    }
    return sum;
}

static const reg_column columns[] = {{"label", "cases passed", REG_CELL_TEXT},
                                     {"n4", "n4", REG_CELL_NUMBER},
                                     {"n8", "n8", REG_CELL_NUMBER},
                                     {"n16", "n16", REG_CELL_NUMBER},
                                     {"n32", "n32", REG_CELL_NUMBER},
                                     {"all", "all", REG_CELL_NUMBER},
                                     {"cycles", "cycles", REG_CELL_NUMBER},
                                     {"jobs_not_passed", "jobs not passed", REG_CELL_NUMBER}};

static int add_row(reg_table *table, const reg_total *row) {
    char numbers[7][24];
    const char *cells[8] = {row->label};
    for (int i = 0; i < REG_CFG_COUNT; i++) {
        (void)reg_format(numbers[i], sizeof numbers[i], "%" PRIu64, row->cases[i]);
    }
    (void)reg_format(numbers[4], sizeof numbers[4], "%" PRIu64, all_of(row));
    (void)reg_format(numbers[5], sizeof numbers[5], "%" PRIu64, row->cycles);
    (void)reg_format(numbers[6], sizeof numbers[6], "%" PRIu64, row->not_passed);
    for (int i = 0; i < 7; i++) {
        cells[i + 1] = numbers[i];
    }
    return reg_table_add(table, cells);
}

int reg_totals_table(reg_db *db, int64_t run, reg_table *table) {
    reg_total *rows = NULL;
    size_t count = 0;
    reg_table_init(table, columns, sizeof columns / sizeof columns[0]);
    int status = reg_totals_load(db, run, &rows, &count);
    for (size_t i = 0; i < count && status == REG_OK; i++) {
        status = add_row(table, &rows[i]);
    }
    free(rows);
    return status;
}

/* ---- on one screen ---- */

/* What did not pass comes first, then what took most cycles. */
static int more_important(const void *a, const void *b) {
    const reg_total *x = a;
    const reg_total *y = b;
    if ((x->not_passed != 0) != (y->not_passed != 0)) {
        return x->not_passed != 0 ? -1 : 1;
    }
    return x->cycles != y->cycles ? (x->cycles > y->cycles ? -1 : 1) : strcmp(x->label, y->label);
}

/* The rows that do not fit become one. The number of rows that are left. */
static size_t fold(reg_total *rows, size_t count, size_t most) {
    if (count <= most || most == 0) {
        return count;
    }
    qsort(rows, count, sizeof *rows, more_important);
    reg_total rest = {0};
    for (size_t i = most - 1; i < count; i++) {
        for (int c = 0; c < REG_CFG_COUNT; c++) {
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

/* A long name keeps its beginning; it may be cut within a character of several bytes only where there is none. */
static void cut_label(char *label) {
    if (strlen(label) > LABEL) {
        size_t at = LABEL - 2;
        while (at > 0 && ((unsigned char)label[at] & 0xc0) == 0x80) {
            at--;
        }
        (void)strcpy(label + at, "..");
    }
}

int reg_report_totals(reg_db *db, int64_t run, size_t most, FILE *out) {
    reg_column shown[sizeof columns / sizeof columns[0]];
    uint64_t sums[REG_CFG_COUNT] = {0};
    reg_table table;
    reg_total *rows = NULL;
    size_t count = 0;
    int status = reg_totals_load(db, run, &rows, &count);
    memcpy(shown, columns, sizeof shown);
    reg_table_init(&table, shown, sizeof columns / sizeof columns[0]);
    count = fold(rows, count, most);
    for (size_t i = 0; i < count && status == REG_OK; i++) {
        cut_label(rows[i].label);
        status = add_row(&table, &rows[i]);
        for (int c = 0; c < REG_CFG_COUNT; c++) {
            sums[c] += rows[i].cases[c];
        }
    }
    for (int c = 0; c < REG_CFG_COUNT; c++) { /* mesh sizes without a case take no room */
        shown[c + 1].title = sums[c] == 0 ? NULL : shown[c + 1].title;
    }
    shown[7].title = "not passed";
    if (status == REG_OK) {
        reg_table_print(&table, out);
    }
    free(rows);
    reg_table_free(&table);
    return status;
}
