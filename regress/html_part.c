/* html_part.c - pieces of the pages of a report: heads, numbers, tables. */
#define _GNU_SOURCE
#include "html.h"

#include <stdlib.h>
#include <string.h>

/* A text of more bytes than this in one cell wraps where it can. */
#define LONG_TEXT 40u

/* Style of these pages only. */
static const char style[] =
    "html{scroll-padding-top:5rem}h3{font-size:1rem;margin:0 0 .4em}"
    "nav{position:sticky;top:0;z-index:1;background:var(--bg);border-bottom:1px solid var(--line)}"
    "nav ul{display:flex;gap:2px 18px;flex-wrap:wrap;list-style:none;max-width:1160px;margin:0 auto;padding:8px 16px}"
    "nav a{text-decoration:none}code{background:var(--code);padding:.1em "
    ".35em;border-radius:4px}pre{white-space:pre-wrap}"
    ".card.fail{border-left:4px solid var(--badbar)}.card.idle{border-left:4px solid var(--idle)}"
    "dl{display:grid;grid-template-columns:minmax(76px,max-content) minmax(0,1fr);gap:2px 16px;margin:.4em 0}"
    "dt{color:var(--soft)}dd{margin:0}"
    ".links{display:flex;flex-wrap:wrap;gap:2px 16px;margin:.4em 0;padding:0;list-style:none}"
    "tr:last-child td{border-bottom:0}td.l{min-width:16em;overflow-wrap:anywhere}"
    ".line{fill:none;stroke:var(--bar);stroke-width:1.8}.dot{fill:var(--bar)}"
    ".pass{fill:var(--goodbar)}.fail{fill:var(--badbar)}.idle{fill:var(--idle)}"
    ".meter{display:block;width:110px;height:10px;background:var(--code);border:1px solid "
    "var(--line);border-radius:3px}"
    ".meter i{display:block;height:100%;background:var(--bar);border-radius:2px}"
    ".key{font-size:.86rem;color:var(--soft);margin-right:14px}"
    ".key i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}"
    ".key .pass{background:var(--goodbar)}.key .fail{background:var(--badbar)}.key .idle{background:var(--idle)}";

void html_head(FILE *out, const char *title) {
    rep_page_begin(out, title, "tandem-regress", style);
}

uint64_t html_count(const reg_table *table, size_t row, const char *key) {
    const char *text = reg_table_cell(table, row, key);
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

/* A number that is bad unless it is 0. */
static bool is_trouble(const reg_column *column, const char *text) {
    return text != NULL && strcmp(text, "0") != 0 &&
           (strcmp(column->key, "failed") == 0 || strcmp(column->key, "jobs_not_passed") == 0);
}

static void put_cell(FILE *out, const reg_column *column, const char *text) {
    const size_t length = text == NULL ? 0 : strlen(text);
    switch (column->type) {
    case REG_CELL_NUMBER:
    case REG_CELL_REAL:
        fprintf(out, "<td class=\"n%s\">", is_trouble(column, text) ? " bad" : "");
        rep_number(out, text);
        break;
    case REG_CELL_FLAG:
        fputs("<td>", out);
        fputs(text == NULL ? "&#8211;" : strcmp(text, "0") == 0 ? "no" : "yes", out);
        break;
    default: {
        const char *colour = text == NULL || strcmp(column->key, "outcome") != 0         ? ""
                             : strcmp(text, "pass") == 0                                 ? " good"
                             : strcmp(text, "host") == 0 || strcmp(text, "not run") == 0 ? " warn"
                                                                                         : " bad";
        fprintf(out, "<td class=\"%s%s\">", length > LONG_TEXT ? "l" : "w", colour);
        if (length == 0) {
            fputs("&#8211;", out);
        } else {
            rep_xml(out, text);
        }
    }
    }
    fputs("</td>", out);
}

void html_table(FILE *out, const reg_table *table, size_t first, size_t count) {
    bool shown[64];
    fputs("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>", out);
    for (size_t c = 0; c < table->column_count && c < sizeof shown / sizeof shown[0]; c++) {
        const reg_cell type = table->columns[c].type;
        shown[c] = table->columns[c].title != NULL && reg_table_any(table, c, first, count);
        if (shown[c]) {
            fprintf(out, "<th%s>", type == REG_CELL_NUMBER || type == REG_CELL_REAL ? " class=\"n\"" : "");
            rep_xml(out, table->columns[c].title);
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
