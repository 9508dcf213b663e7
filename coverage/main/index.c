/* index.c - tandem-cov index: the first page of a run for coverage, over the pages of functional and of code coverage.
 */
#include "figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct page {
    FILE *out;
    const cov_data *data;
    json_t *code, *trend, *gates; /* NULL: not given */
    figure kinds[FIGURE_KINDS];
} page;

static void put_text(const page *p, const json_t *text) {
    rep_xml(p->out, json_is_string(text) ? json_string_value(text) : "");
}

static void put_tile(const page *p, const char *title, double percent, double before, bool waivers) {
    fprintf(p->out, "<div class=\"tile\"><b>%.2f&nbsp;%%</b><span class=\"soft\">%s", percent, title);
    if (waivers) {
        fprintf(p->out, "<br>%.2f&nbsp;%% before waivers", before);
    }
    fputs("</span></div>\n", p->out);
}

static void put_tiles(const page *p) {
    const cov_score all = cov_score_all(p->data);
    fputs("<div class=\"tiles\">\n", p->out);
    put_tile(p, "functional", all.percent, all.percent, false);
    for (int k = 0; k < FIGURE_KINDS && p->code != NULL; k++) {
        put_tile(p, p->kinds[k].name, p->kinds[k].percent, p->kinds[k].before, true);
    }
    fprintf(p->out,
            "<div class=\"tile\"><b>%" PRIu64
            "</b><span class=\"soft\">files of jobs and cover properties</span></div>\n</div>\n",
            p->data->files);
}

/* gates: an array of what `gate --json` printed. */
static void put_gates(const page *p) {
    size_t i;
    size_t k;
    json_t *gate;
    json_t *line;
    if (p->gates == NULL) {
        return;
    }
    fputs(
        "<h2>Gate</h2>\n<div class=\"scroll\"><table class=\"grid\"><tr><th></th><th>figure</th><th class=\"n\">is</th>"
        "<th class=\"n\">threshold</th></tr>\n",
        p->out);
    json_array_foreach(p->gates, i, gate) {
        json_array_foreach(json_object_get(gate, "thresholds"), k, line) {
            const bool pass = json_is_true(json_object_get(line, "pass"));
            fprintf(p->out, "<tr><td class=\"w %s\">%s</td><td class=\"w\">", pass ? "hit" : "miss",
                    pass ? "ok" : "below");
            put_text(p, json_object_get(line, "name"));
            fprintf(p->out, "</td><td class=\"n\">%.2f</td><td class=\"n\">%.2f</td></tr>\n",
                    json_number_value(json_object_get(line, "is")),
                    json_number_value(json_object_get(line, "threshold")));
        }
    }
    fputs("</table></div>\n", p->out);
}

/* ---- trend ---- */

static const char *const trend_names[] = {"functional", "line", "branch", "toggle"};
#define TRENDS (sizeof trend_names / sizeof trend_names[0])

static double trend_value(const json_t *row) {
    return json_number_value(json_object_get(row, "percent"));
}

/* The rows of a name, newest first, as a line or as dots: x from 50 to 580, y from 10 (100 %) to 150 (the lowest value,
 * rounded down to tens). */
static void put_line(const page *p, size_t name, json_int_t first, json_int_t last, double low, bool dots) {
    size_t i;
    json_t *row;
    const double step = last > first ? 530.0 / (double)(last - first) : 0.0;
    if (!dots) {
        fprintf(p->out, "<polyline class=\"t%zu\" points=\"", name);
    }
    json_array_foreach(p->trend, i, row) {
        const json_int_t run = json_integer_value(json_object_get(row, "run"));
        const double x = 50.0 + step * (double)(run - first);
        const double y = 10.0 + 140.0 * (100.0 - trend_value(row)) / (100.0 - low);
        if (strcmp(json_string_value(json_object_get(row, "name")), trend_names[name]) != 0) {
            continue;
        }
        if (dots) {
            fprintf(p->out,
                    "<circle class=\"d%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>run %" JSON_INTEGER_FORMAT
                    ": %s %.2f %%</title></circle>\n",
                    name, x, y, run, trend_names[name], trend_value(row));
        } else {
            fprintf(p->out, "%.1f,%.1f ", x, y);
        }
    }
    fputs(dots ? "" : "\"/>\n", p->out);
}

static bool trend_is_good(const json_t *trend) {
    size_t i;
    json_t *row;
    json_array_foreach(trend, i, row) {
        if (!json_is_string(json_object_get(row, "name")) || !json_is_integer(json_object_get(row, "run")) ||
            !json_is_number(json_object_get(row, "percent"))) {
            return false;
        }
    }
    return json_is_array(trend);
}

static void put_trend(const page *p) {
    json_int_t first = INT64_MAX;
    json_int_t last = 0;
    double low = 100.0;
    size_t i;
    json_t *row;
    if (p->trend == NULL || json_array_size(p->trend) == 0) {
        return;
    }
    json_array_foreach(p->trend, i, row) {
        for (size_t k = 0; k < TRENDS; k++) {
            if (strcmp(json_string_value(json_object_get(row, "name")), trend_names[k]) == 0) {
                const json_int_t run = json_integer_value(json_object_get(row, "run"));
                first = run < first ? run : first;
                last = run > last ? run : last;
                low = trend_value(row) < low ? trend_value(row) : low;
            }
        }
    }
    low = low >= 100.0 ? 90.0 : (double)((int)low / 10 * 10);
    fputs("<h2>Trend</h2>\n", p->out);
    rep_svg_begin(p->out, "trend", 600, 170, "coverage of the runs of this suite");
    fputs("<path class=\"axis\" d=\"M40 10V150H590\"/>", p->out);
    rep_svg_text(p->out, 36, 14, "end", "100");
    rep_svg_text(p->out, 36, 154, "end", "%.0f\xe2\x80\x8a%%", low);
    rep_svg_text(p->out, 40, 166, "start", "run %" JSON_INTEGER_FORMAT, first);
    if (last > first) {
        rep_svg_text(p->out, 590, 166, "end", "run %" JSON_INTEGER_FORMAT, last);
    }
    for (size_t k = 0; k < TRENDS; k++) {
        put_line(p, k, first, last, low, false);
        put_line(p, k, first, last, low, true);
    }
    fputs("</svg>\n<p class=\"soft\">", p->out);
    for (size_t k = 0; k < TRENDS; k++) {
        fprintf(p->out, "<span class=\"key k%zu\"></span>%s ", k, trend_names[k]);
    }
    fputs("(after waivers)</p>\n", p->out);
}

/* ---- contents ---- */

static void put_groups(const page *p) {
    fputs(
        "<h2>Functional coverage</h2>\n<p><a href=\"functional/index.html\">All groups, bins, crosses, holes and what "
        "would hit "
        "them</a></p>\n"
        "<div class=\"scroll\"><table><tr><th>group</th><th>score</th><th class=\"n\">holes</th><th>about</th></tr>\n",
        p->out);
    for (uint32_t g = 0; g < p->data->group_count; g++) {
        const cov_data_group *group = &p->data->groups[g];
        const cov_score s = cov_score_group(p->data, group);
        char name[160];
        html_page_name(group, name, sizeof name);
        fprintf(p->out, "<tr><td class=\"w\"><a href=\"functional/%s\">%s</a></td><td class=\"w\">", name, group->name);
        html_meter(p->out, &s);
        fprintf(p->out, "</td><td class=\"n\">%" PRIu64 "</td><td>", s.total - s.covered);
        rep_xml(p->out, group->about);
        fputs("</td></tr>\n", p->out);
    }
    fputs("</table></div>\n", p->out);
}

static void put_kind(const page *p, const figure *f) {
    if (f->points == 0) {
        fputs("<td class=\"n soft\">-</td><td class=\"n soft\">-</td>", p->out);
    } else {
        fprintf(p->out, "<td class=\"n\">%.2f</td><td class=\"n soft\">%.2f</td>", f->percent, f->before);
    }
}

static bool put_units(const page *p) {
    size_t i;
    json_t *unit;
    bool good = true;
    fputs("<h2>Code coverage</h2>\n<p><a href=\"code/index.html\">All files, lines, arms, toggles, waivers and their "
          "reasons</a></p>\n"
          "<div class=\"scroll\"><table class=\"grid\"><tr><th>unit</th><th class=\"n\">line, %</th><th "
          "class=\"n\">before</th>"
          "<th class=\"n\">branch, %</th><th class=\"n\">before</th><th class=\"n\">toggle, %</th><th "
          "class=\"n\">before</th></tr>\n",
          p->out);
    json_array_foreach(json_object_get(p->code, "units"), i, unit) {
        figure kinds[FIGURE_KINDS];
        good = good && figures_of(unit, kinds);
        if (!good) {
            break;
        }
        fputs("<tr><td class=\"w\">", p->out);
        put_text(p, json_object_get(unit, "name"));
        fputs("</td>", p->out);
        for (int k = 0; k < FIGURE_KINDS; k++) {
            put_kind(p, &kinds[k]);
        }
        fputs("</tr>\n", p->out);
    }
    fputs("</table></div>\n", p->out);
    return good;
}

static bool put_page(const page *p) {
    bool good = true;
    html_begin(p->out, "Coverage",
               ".trend{width:100%;max-width:760px}.trend polyline{fill:none;stroke-width:2}"
               ".t0{stroke:#2f7ed8}.t1{stroke:#3f9c69}.t2{stroke:#d08a1f}.t3{stroke:#9a5fc4}"
               ".d0{fill:#2f7ed8}.d1{fill:#3f9c69}.d2{fill:#d08a1f}.d3{fill:#9a5fc4}"
               ".key{display:inline-block;width:14px;height:3px;vertical-align:middle;margin:0 4px 0 "
               "10px}.k0{background:#2f7ed8}"
               ".k1{background:#3f9c69}.k2{background:#d08a1f}.k3{background:#9a5fc4}");
    put_tiles(p);
    put_gates(p);
    put_trend(p);
    put_groups(p);
    if (p->code != NULL) {
        good = put_units(p);
    }
    rep_page_end(p->out);
    return good;
}

static int write_page(page *p, const tool *t, cov_error *err) {
    rep_file file;
    int rc = tool_told(rep_file_open(&file, t->output), t->output, err);
    if (rc != COV_OK) {
        return rc;
    }
    p->out = file.file;
    if (!put_page(p)) {
        rep_file_drop(&file);
        return cov_fail(err, COV_IO, "%.200s: expected the JSON of tandem-cov code report", t->code);
    }
    return tool_told(rep_file_close(&file, false), t->output, err);
}

/* The JSON files of the command line. */
static int load(page *p, const tool *t, cov_error *err) {
    const struct {
        const char *path;
        json_t **to;
    } files[] = {{t->code, &p->code}, {t->trend, &p->trend}, {t->gates, &p->gates}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i].path != NULL) {
            *files[i].to = figures_load(files[i].path, err);
            if (*files[i].to == NULL) {
                return COV_IO;
            }
        }
    }
    const char *wrong = p->code != NULL && !figures_of(json_object_get(p->code, "total"), p->kinds) ? t->code
                        : p->trend != NULL && !trend_is_good(p->trend)                              ? t->trend
                        : p->gates != NULL && !json_is_array(p->gates)                              ? t->gates
                                                                                                    : NULL;
    if (wrong != NULL) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: not what make coverage writes there", wrong);
    }
    return wrong == NULL ? COV_OK : COV_BAD_FILE;
}

int tool_index(const tool *t) {
    cov_data data;
    cov_error err;
    page p = {.data = &data};
    int rc = cov_read(&data, t->files[0], &err);
    if (rc == COV_OK) {
        rc = load(&p, t, &err);
    }
    if (rc == COV_OK) {
        rc = write_page(&p, t, &err);
    }
    json_decref(p.code);
    json_decref(p.trend);
    json_decref(p.gates);
    cov_data_free(&data);
    return rc != COV_OK ? tool_error(t, err.text) : 0;
}
