/* html_part.c - pieces of the pages of a report: heads, numbers, tables. */
#define _GNU_SOURCE
#include "html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A text of more bytes than this in one cell wraps where it can. */
#define LONG_TEXT 40u

void html_put(FILE *out, const char *text) {
    reg_put_escaped(out, text);
}

void html_putf(FILE *out, const char *fmt, ...) {
    char text[REG_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    reg_put_escaped(out, text);
}

void html_head(FILE *out, const char *title) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
          "<meta name=\"generator\" content=\"tandem-regress\">\n<title>",
          out);
    html_put(out, title);
    fprintf(out, "</title>\n<style>%s</style></head>\n<body>\n", html_style);
}

void html_foot(FILE *out) {
    fputs("</main>\n</body></html>\n", out);
}

void html_number(FILE *out, const char *text) {
    const size_t length = text == NULL ? 0 : strlen(text);
    if (length == 0) {
        fputs("&#8211;", out);
    } else if (length < 5 || strspn(text, "0123456789") != length) {
        html_put(out, text);
    } else {
        for (size_t i = 0; i < length; i++) {
            fprintf(out, "%s%c", i != 0 && (length - i) % 3 == 0 ? "&#8239;" : "", text[i]);
        }
    }
}

uint64_t html_count(const reg_table *table, size_t row, const char *key) {
    const char *text = reg_table_cell(table, row, key);
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

/* A number that is bad unless it is 0. */
static bool is_trouble(const reg_column *column, const char *text) {
    return text != NULL && strcmp(text, "0") != 0 && (strcmp(column->key, "failed") == 0 || strcmp(column->key, "jobs_not_passed") == 0);
}

static void put_cell(FILE *out, const reg_column *column, const char *text) {
    const size_t length = text == NULL ? 0 : strlen(text);
    switch (column->type) {
    case REG_CELL_NUMBER:
    case REG_CELL_REAL:
        fprintf(out, "<td class=\"n%s\">", is_trouble(column, text) ? " bad" : "");
        html_number(out, text);
        break;
    case REG_CELL_FLAG:
        fputs("<td>", out);
        fputs(text == NULL ? "&#8211;" : strcmp(text, "0") == 0 ? "no" : "yes", out);
        break;
    default: {
        const bool outcome = strcmp(column->key, "outcome") == 0;
        const char *colour = !outcome || text == NULL ? "" : strcmp(text, "pass") == 0 ? " good" : " bad";
        fprintf(out, "<td class=\"%s%s\">", length > LONG_TEXT ? "l" : "w", colour);
        if (length == 0) {
            fputs("&#8211;", out);
        } else {
            html_put(out, text);
        }
    }
    }
    fputs("</td>", out);
}

static bool is_shown(const reg_table *table, size_t column, size_t first, size_t count) {
    bool any = false;
    for (size_t r = first; r < first + count && !any; r++) {
        const char *text = table->cells[r * table->column_count + column];
        any = text != NULL && text[0] != '\0';
    }
    return any && table->columns[column].title != NULL;
}

void html_table(FILE *out, const reg_table *table, size_t first, size_t count) {
    bool shown[64];
    fputs("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>", out);
    for (size_t c = 0; c < table->column_count && c < sizeof shown / sizeof shown[0]; c++) {
        const reg_cell type = table->columns[c].type;
        shown[c] = is_shown(table, c, first, count);
        if (shown[c]) {
            fprintf(out, "<th%s>", type == REG_CELL_NUMBER || type == REG_CELL_REAL ? " class=\"n\"" : "");
            html_put(out, table->columns[c].title);
            fputs("</th>", out);
        }
    }
    fputs("</tr></thead><tbody>\n", out);
    for (size_t r = first; r < first + count; r++) {
        fputs("<tr>", out);
        for (size_t c = 0; c < table->column_count && c < sizeof shown / sizeof shown[0]; c++) {
            if (shown[c]) {
                put_cell(out, &table->columns[c], table->cells[r * table->column_count + c]);
            }
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

int html_ask(const html_report *r, const char *question, uint32_t limit, reg_table *table) {
    const reg_query_about about = {.run = r->run, .limit = limit};
    return reg_query_ask(reg_query_find(question), r->db, &about, table);
}
