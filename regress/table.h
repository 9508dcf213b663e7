/*
 * table.h - tables of the regression runner: one description of columns, printed as aligned text and as JSON (private
 * to regress/).
 */
#ifndef REG_TABLE_H
#define REG_TABLE_H

#include "db.h"

struct json_t;

typedef enum reg_cell {
    REG_CELL_TEXT,
    REG_CELL_NOTE,   /* text; without one in any row the column is not shown */
    REG_CELL_NUMBER, /* integer: to the right in text, a number in JSON */
    REG_CELL_REAL,   /* as it is written in the cell: to the right in text, a number in JSON */
    REG_CELL_FLAG    /* "0" or "1": no or yes in text, false or true in JSON */
} reg_cell;

typedef struct reg_column {
    const char *key;   /* in JSON */
    const char *title; /* in text; NULL: only in JSON */
    reg_cell type;
} reg_column;

typedef struct reg_table {
    const reg_column *columns;
    size_t column_count;
    char **cells; /* row after row; NULL: unknown */
    size_t row_count;
    struct reg_own_columns *owned; /* columns that were made for this table alone */
} reg_table;

void reg_table_init(reg_table *table, const reg_column *columns, size_t column_count);
void reg_table_free(reg_table *table);

/* One more column of numbers, in place `at` of those that there are; of a table without rows. REG_NONE: there is no
   room for it. The title is the name and what comes after it. */
int reg_table_column(reg_table *table, size_t at, const char *name, const char *title);

/* Add a row; a NULL cell is unknown ("-" in text, null in JSON). */
int reg_table_add(reg_table *table, const char *const *cells);

/* Add every row of a prepared statement, whose columns are those of the table in their order. The statement is
 * finalized. */
int reg_table_query(reg_table *table, reg_db *db, struct sqlite3_stmt *stmt);

/* Cell of a row by the key of its column; NULL: unknown, or no such column. */
const char *reg_table_cell(const reg_table *table, size_t row, const char *key);

/* Has one of the rows first..first+count-1 something in that column? */
bool reg_table_any(const reg_table *table, size_t column, size_t first, size_t count);

/* Aligned columns below their titles; nothing when there is no row. */
void reg_table_print(const reg_table *table, FILE *out);

/* The only row as lines "title: value". */
void reg_table_print_record(const reg_table *table, FILE *out);

/* A string; bytes that are no UTF-8 and control characters become harmless. NULL: out of memory. */
struct json_t *reg_json_text(const char *text);

/* An array of objects; NULL: out of memory. */
struct json_t *reg_table_json(const reg_table *table);

/* Print a document with a line end; takes the reference. NULL (out of memory) is reported. */
int reg_json_print(struct json_t *document, FILE *out);

/* Both: the table alone, as text or as JSON. */
int reg_table_show(const reg_table *table, bool json, FILE *out);

#endif
