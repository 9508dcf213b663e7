/* table.c - tables as text and as JSON. */
#define _GNU_SOURCE
#include "table.h"
#include "reports.h"
#include "report/report.h"

#include <errno.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

void reg_table_init(reg_table *table, const reg_column *columns, size_t column_count) {
    memset(table, 0, sizeof *table);
    table->columns = columns;
    table->column_count = column_count;
}

void reg_table_free(reg_table *table) {
    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    free(table->owned);
    table->cells = NULL;
    table->owned = NULL;
    table->row_count = 0;
}

#define OWN_MAX 48u /* columns of a table that has columns of its own */

struct reg_own_columns {
    reg_column column[OWN_MAX];
    char text[REG_CFGS_MAX][2][REG_LABEL_MAX + 16]; /* key and title of those that were added */
    size_t added;
};

int reg_table_column(reg_table *table, size_t at, const char *name, const char *title) {
    struct reg_own_columns *own = table->owned;
    if (own == NULL) {
        own = calloc(1, sizeof *own);
        if (own == NULL) {
            return reg_error("out of memory");
        }
        memcpy(own->column, table->columns, table->column_count * sizeof *own->column);
        table->owned = own;
        table->columns = own->column;
    }
    if (table->column_count == OWN_MAX || own->added == REG_CFGS_MAX) {
        return REG_NONE;
    }
    char(*text)[REG_LABEL_MAX + 16] = own->text[own->added++];
    (void)reg_format(text[0], sizeof text[0], "%s", name);
    (void)reg_format(text[1], sizeof text[1], "%s%s", name, title);
    memmove(&own->column[at + 1], &own->column[at], (table->column_count - at) * sizeof *own->column);
    own->column[at] = (reg_column){text[0], text[1], REG_CELL_NUMBER};
    table->column_count++;
    return REG_OK;
}

static const char *cell(const reg_table *table, size_t row, size_t column) {
    return table->cells[row * table->column_count + column];
}

const char *reg_table_cell(const reg_table *table, size_t row, const char *key) {
    for (size_t c = 0; c < table->column_count; c++) {
        if (strcmp(table->columns[c].key, key) == 0) {
            return cell(table, row, c);
        }
    }
    return NULL;
}

bool reg_table_any(const reg_table *table, size_t column, size_t first, size_t count) {
    bool any = false;
    for (size_t r = first; r < first + count && !any; r++) {
        const char *text = cell(table, r, column);
        any = text != NULL && text[0] != '\0';
    }
    return any;
}

int reg_table_add(reg_table *table, const char *const *cells) {
    const size_t columns = table->column_count;
    if (!rep_more(&table->cells, table->row_count, columns * sizeof *table->cells)) {
        return reg_error("out of memory");
    }
    char **row = table->cells + table->row_count * columns;
    for (size_t i = 0; i < columns; i++) {
        row[i] = cells[i] == NULL ? NULL : strdup(cells[i]);
        if (cells[i] != NULL && row[i] == NULL) {
            while (i > 0) {
                free(row[--i]);
            }
            return reg_error("out of memory");
        }
    }
    table->row_count++;
    return REG_OK;
}

int reg_table_query(reg_table *table, reg_db *db, struct sqlite3_stmt *stmt) {
    const char *row[64];
    int status = REG_OK;
    int step = SQLITE_DONE;
    if (table->column_count > sizeof row / sizeof row[0] || (size_t)sqlite3_column_count(stmt) != table->column_count) {
        status = reg_error("a query has other columns than its table");
    }
    while (status == REG_OK && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
        for (size_t i = 0; i < table->column_count; i++) {
            const int type = sqlite3_column_type(stmt, (int)i); /* a value without a text: out of memory */
            row[i] = (const char *)sqlite3_column_text(stmt, (int)i);
            status = row[i] == NULL && type != SQLITE_NULL ? reg_error("out of memory") : status;
        }
        status = status == REG_OK ? reg_table_add(table, row) : status;
    }
    if (status == REG_OK && step != SQLITE_DONE) {
        status = reg_db_fail(db, "read the results");
    }
    (void)sqlite3_finalize(stmt);
    return status;
}

/* ---- text ---- */

static const char *text_of(const reg_table *table, size_t row, size_t column) {
    const char *text = cell(table, row, column);
    if (text == NULL) {
        return "-";
    }
    if (table->columns[column].type == REG_CELL_FLAG) {
        return strcmp(text, "0") == 0 ? "no" : "yes";
    }
    return text;
}

/* Characters, not bytes. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        width += (*p & 0xc0) != 0x80 ? 1 : 0;
    }
    return width;
}

static bool to_the_right(const reg_column *column) {
    return column->type == REG_CELL_NUMBER || column->type == REG_CELL_REAL;
}

static void pad(FILE *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fputc(' ', out);
    }
}

/* One line; columns of width 0 are not shown. No blanks at its end. */
static void print_line(const reg_table *table, const size_t *widths, size_t last, size_t row, bool titles, FILE *out) {
    bool first = true;
    for (size_t c = 0; c <= last; c++) {
        if (widths[c] == 0) {
            continue;
        }
        const char *text = titles ? table->columns[c].title : text_of(table, row, c);
        const size_t rest = widths[c] - width_of(text);
        const bool right = to_the_right(&table->columns[c]);
        if (!first) {
            fputs("  ", out);
        }
        first = false;
        pad(out, right ? rest : 0);
        fputs(text, out);
        pad(out, right || c == last ? 0 : rest);
    }
    fputc('\n', out);
}

void reg_table_print(const reg_table *table, FILE *out) {
    size_t widths[64] = {0};
    size_t last = 0;
    if (table->row_count == 0) {
        return;
    }
    for (size_t c = 0; c < table->column_count; c++) {
        const reg_column *column = &table->columns[c];
        if (column->title == NULL || (column->type == REG_CELL_NOTE && !reg_table_any(table, c, 0, table->row_count))) {
            continue;
        }
        last = c;
        widths[c] = width_of(column->title);
        for (size_t r = 0; r < table->row_count; r++) {
            const size_t width = width_of(text_of(table, r, c));
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    print_line(table, widths, last, 0, true, out);
    for (size_t r = 0; r < table->row_count; r++) {
        print_line(table, widths, last, r, false, out);
    }
}

void reg_table_print_record(const reg_table *table, FILE *out) {
    for (size_t c = 0; c < table->column_count && table->row_count > 0; c++) {
        if (table->columns[c].title != NULL) {
            fprintf(out, "%s: %s\n", table->columns[c].title, text_of(table, 0, c));
        }
    }
}

/* ---- JSON ---- */

/* JSON must be UTF-8. */
json_t *reg_json_text(const char *text) {
    char *clean = strdup(text);
    if (clean == NULL) {
        return NULL;
    }
    for (unsigned char *p = (unsigned char *)clean; *p != '\0';) {
        const size_t length = *p < 0x20 ? 1 : rep_utf8((const char *)p, strlen((const char *)p));
        if (length == 0) {
            *p = '?';
        }
        p += length == 0 ? 1 : length;
    }
    json_t *value = json_string(clean);
    free(clean);
    return value;
}

static json_t *json_cell(reg_cell type, const char *text) {
    if (text == NULL) {
        return json_null();
    }
    switch (type) {
    case REG_CELL_NUMBER:
        return json_integer((json_int_t)strtoll(text, NULL, 10));
    case REG_CELL_REAL:
        return json_real(strtod(text, NULL));
    case REG_CELL_FLAG:
        return json_boolean(strcmp(text, "0") != 0);
    default:
        return reg_json_text(text);
    }
}

static json_t *json_row(const reg_table *table, size_t row) {
    json_t *object = json_object();
    for (size_t c = 0; object != NULL && c < table->column_count; c++) {
        if (json_object_set_new(object, table->columns[c].key,
                                json_cell(table->columns[c].type, cell(table, row, c))) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

struct json_t *reg_table_json(const reg_table *table) {
    json_t *array = json_array();
    for (size_t r = 0; array != NULL && r < table->row_count; r++) {
        if (json_array_append_new(array, json_row(table, r)) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

int reg_json_print(struct json_t *document, FILE *out) {
    if (document == NULL) {
        return reg_error("out of memory");
    }
    int bad = json_dumpf(document, out, JSON_INDENT(1)); /* a full disk is detected when stdout is closed */
    json_decref(document);
    fputc('\n', out);
    if (bad != 0 && ferror(out) == 0) {
        return reg_error("cannot write JSON");
    }
    return REG_OK;
}

int reg_table_show(const reg_table *table, bool json, FILE *out) {
    if (json) {
        return reg_json_print(reg_table_json(table), out);
    }
    reg_table_print(table, out);
    return REG_OK;
}
