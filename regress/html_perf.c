/* html_perf.c - cycles of each operator beside the lower bounds, and beside published figures where `make figures` has
 * run. */
#define _GNU_SOURCE
#include "design.h"
#include "html.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ratio of bound and time, as a bar. */
static void put_meter(FILE *out, double share) {
    const double percent = share > 1 ? 100 : 100 * share;
    fprintf(out,
            "<td><span class=\"meter\" role=\"img\" aria-label=\"%.0f %%\"><i style=\"width:%.0f%%\"></i></span></td>",
            percent, percent);
}

static void put_number(FILE *out, uint64_t number) {
    char text[24];
    (void)reg_format(text, sizeof text, "%" PRIu64, number);
    fputs("<td class=\"n\">", out);
    rep_number(out, text);
    fputs("</td>", out);
}

static void put_operators(FILE *out, const reg_table *t) {
    fputs("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>", out);
    for (size_t c = 0; c < t->column_count; c++) {
        const char *title = t->columns[c].title;
        fputs(c < 2 ? "<th>" : "<th class=\"n\">", out);
        rep_xml(out, strcmp(t->columns[c].key, "bound") == 0   ? "largest"
                     : strcmp(t->columns[c].key, "ratio") == 0 ? "cycles / largest"
                                                               : title);
        fputs("</th>", out);
    }
    fputs("<th>largest / cycles</th></tr></thead><tbody>\n", out);
    for (size_t row = 0; row < t->row_count; row++) {
        const uint64_t cycles = html_count(t, row, "cycles");
        fputs("<tr>", out);
        for (size_t c = 0; c < t->column_count; c++) {
            const char *text = t->cells[row * t->column_count + c];
            if (t->columns[c].type == REG_CELL_NUMBER) {
                put_number(out, html_count(t, row, t->columns[c].key));
                continue;
            }
            fputs(t->columns[c].type == REG_CELL_REAL ? "<td class=\"n\">" : "<td class=\"w\">", out);
            if (text == NULL) {
                fputs("&#8211;", out);
            } else {
                rep_xml(out, text);
            }
            fputs("</td>", out);
        }
        put_meter(out, cycles == 0 ? 0 : (double)html_count(t, row, "bound") / (double)cycles);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* Explanation of the bounds, from the descriptions of the designs, if there are any; how many there are. out may be
 * NULL. */
static size_t put_metrics(FILE *out) {
    reg_designs designs;
    size_t count = 0;
    const int status = reg_designs_load(&designs);
    for (size_t d = 0; status == REG_OK && d < designs.count; d++) {
        count += designs.list[d].metrics;
        for (size_t i = 0; out != NULL && i < designs.list[d].metrics; i++) {
            fputs(" ", out);
            rep_xml(out, designs.list[d].metric[i].name);
            fputs(": ", out);
            rep_xml(out, designs.list[d].metric[i].about);
            fputs(".", out);
        }
    }
    reg_designs_free(&designs);
    return count;
}

/* A row of the file; numbers that are missing count as 0. */
static void put_figure(FILE *out, const json_t *row, const json_t *bounds) {
    uint64_t bound = 0;
    const uint64_t cycles = (uint64_t)json_integer_value(json_object_get(row, "cycles"));
    const uint64_t published = (uint64_t)json_integer_value(json_object_get(row, "published"));
    const json_t *goal = json_object_get(row, "goal_met");
    const char *name = json_string_value(json_object_get(row, "operator"));
    fputs("<tr><td class=\"w\">", out);
    rep_xml(out, name);
    fputs("</td>", out);
    put_number(out, cycles);
    for (size_t i = 0; i < json_array_size(bounds); i++) {
        const char *key = json_string_value(json_array_get(bounds, i));
        const uint64_t value = (uint64_t)json_integer_value(json_object_get(row, key == NULL ? "" : key));
        bound = value > bound ? value : bound;
        put_number(out, value);
    }
    fprintf(out, "<td class=\"n\">%.3f</td>", bound == 0 ? 0.0 : (double)cycles / (double)bound);
    if (published != 0) {
        put_number(out, published);
        fprintf(out, "<td class=\"n\">%.3f</td>", (double)cycles / (double)published);
        put_meter(out, (double)cycles / (double)published);
    } else {
        fputs("<td class=\"n\">&#8211;</td><td class=\"n\">&#8211;</td><td></td>", out);
    }
    fprintf(out, "<td class=\"%s\">%s</td></tr>\n", json_is_false(goal) ? "bad" : "",
            json_is_boolean(goal) ? json_is_true(goal) ? "yes" : "no" : "&#8211;");
}

static void put_figures(html_report *r) {
    json_error_t error;
    json_t *document = access(r->figures, R_OK) == 0 ? json_load_file(r->figures, 0, &error) : NULL;
    const json_t *rows = json_object_get(document, "rows");
    const json_t *bounds = json_object_get(document, "bounds");
    const char *cfg = json_string_value(json_object_get(document, "cfg"));
    const char *commit = json_string_value(json_object_get(document, "commit"));
    fputs("<h3>Published figures</h3>\n", r->out);
    if (!json_is_array(rows)) {
        fprintf(r->out, "<p>%s: <code>make figures</code> (some minutes) writes ",
                document == NULL && access(r->figures, F_OK) != 0 ? "Not measured" : "Not readable");
        rep_xml(r->out, r->figures);
        fputs(", and the next report shows it here.</p>\n", r->out);
    } else {
        fputs("<p class=\"soft\">Full size, ideal bus, ", r->out);
        rep_xml(r->out, cfg == NULL ? "?" : cfg);
        fputs(", commit ", r->out);
        rep_xml(r->out, commit == NULL ? "unknown" : commit);
        fputs(". Share: cycles here / published cycles.</p>\n<div class=\"scroll\" "
              "tabindex=\"0\"><table><thead><tr><th>operator</th><th "
              "class=\"n\">cycles</th>",
              r->out);
        for (size_t i = 0; i < json_array_size(bounds); i++) {
            const char *key = json_string_value(json_array_get(bounds, i));
            fputs("<th class=\"n\">", r->out);
            rep_xml(r->out, key == NULL ? "" : key);
            fputs(" bound</th>", r->out);
        }
        fputs(
            "<th class=\"n\">/ bound</th>"
            "<th class=\"n\">published</th><th class=\"n\">share</th><th></th><th>goal met</th></tr></thead><tbody>\n",
            r->out);
        for (size_t i = 0; i < json_array_size(rows); i++) {
            put_figure(r->out, json_array_get(rows, i), bounds);
        }
        fputs("</tbody></table></div>\n", r->out);
    }
    json_decref(document);
}

int html_performance(html_report *r) {
    reg_table table = {0};
    const bool described = put_metrics(NULL) > 0;
    const int status = html_ask(r, "performance", UINT32_MAX, &table);
    if (status == REG_OK) {
        fputs("<h2 id=\"performance\">Performance</h2>\n<h3>Operators of this run</h3>\n", r->out);
        if (table.row_count == 0) {
            fputs(described ? "<p>No job of this run has measured operators on the RTL: <code>make regress "
                              "SUITE=smoke</code> has such jobs.</p>\n"
                            : "<p>Nothing is measured: the description of the design has no line "
                              "<code>metric</code>.</p>\n",
                  r->out);
        } else {
            fputs("<p class=\"soft\">Sums over the cases that passed: cycles with a task beside what each bound needs "
                  "at least.",
                  r->out);
            (void)put_metrics(r->out);
            fputs(" The cases are random: small ones and a bus that stalls on purpose take longer than the figures "
                  "below.</p>\n",
                  r->out);
            put_operators(r->out, &table);
        }
        if (described || access(r->figures, F_OK) == 0) {
            put_figures(r);
        }
    }
    reg_table_free(&table);
    return status;
}
