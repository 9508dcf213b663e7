/* code_html.c - code coverage as pages: index.html with units, files and waivers, one page for each source. They stand
 * alone, as those of functional coverage. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "code_tool.h"

void code_page_name(const char *file, char *dst, size_t size) {
    size_t n = 0;
    for (const char *p = file; *p != '\0' && n + 8 < size; p++) {
        if (*p == '/') {
            dst[n++] = '-';
        }
        dst[n++] = *p == '/' ? '-' : *p;
    }
    (void)snprintf(dst + n, size - n, ".html");
}

void code_put_percent(FILE *out, const code_tally *t, bool html) {
    const char *blank = html ? "&nbsp;" : " ";
    if (t->points == 0) {
        fputs("-", out);
    } else if (t->waived == 0) {
        fprintf(out, "%.2f%s%%", code_percent(t), blank);
    } else {
        fprintf(out, "%.2f%s%% (%.2f%s%% before waivers)", code_percent(t), blank, code_percent_before(t), blank);
    }
}

static void put_meter(FILE *out, const code_tally *t) {
    if (t->points == 0) {
        fputs("<td class=\"n\">-</td><td class=\"n\">-</td>", out);
        return;
    }
    fprintf(out, "<td class=\"w\"><span class=\"bar\"><i style=\"width:%.1f%%\"></i></span>", code_percent(t));
    code_put_percent(out, t, true);
    fprintf(out, "</td><td class=\"n\">%" PRIu64 "/%" PRIu64 "</td>", t->covered, t->points);
}

static void put_groups(FILE *out, const char *title, const code_group *groups, size_t count, bool links) {
    char page[600];
    fprintf(out, "<h2>%s</h2>\n<div class=\"scroll\"><table><tr><th>name</th>", title);
    for (unsigned m = 0; m < CODE_SCORED; m++) {
        fprintf(out, "<th>%s</th><th class=\"n\">hit</th>", code_metric_name((code_metric)m));
    }
    fputs("</tr>\n", out);
    for (size_t i = 0; i < count; i++) {
        const code_tally *t = groups[i].tally;
        if (t[0].points + t[1].points + t[2].points + t[3].points == 0) {
            continue;
        }
        fputs("<tr><td class=\"w\">", out);
        if (links) {
            code_page_name(groups[i].name, page, sizeof page);
            fputs("<a href=\"", out);
            rep_xml(out, page);
            fputs("\">", out);
        }
        rep_xml(out, groups[i].name);
        fputs(links ? "</a></td>" : "</td>", out);
        for (unsigned m = 0; m < CODE_SCORED; m++) {
            put_meter(out, &t[m]);
        }
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

/* Entries that share their two texts are one row. */
static void put_list(FILE *out, const code_waivers *list, const char *how) {
    fprintf(out,
            "<div class=\"scroll\"><table><tr><th>what</th><th class=\"n\">points</th><th>why</th><th>%s</th></tr>\n",
            how);
    for (size_t i = 0; i < list->count;) {
        const code_waiver *first = &list->waiver[i];
        uint64_t points = 0;
        bool stale = false;
        fputs("<tr><td>", out);
        for (size_t from = i; i < list->count && strcmp(list->waiver[i].why, first->why) == 0 &&
                              strcmp(list->waiver[i].how, first->how) == 0;
             i++) {
            const code_waiver *w = &list->waiver[i];
            fprintf(out, "%s<code%s>", i == from ? "" : "<br>", w->missing == 0 ? " class=\"miss\"" : "");
            rep_xml(out, w->what);
            fputs(w->missing == 0 ? "</code> (stale)" : "</code>", out);
            points += w->missing;
            stale = stale || w->missing == 0;
        }
        fprintf(out, "</td><td class=\"n%s\">%" PRIu64 "</td><td>", stale ? " miss" : "", points);
        rep_xml(out, first->why);
        fputs("</td><td>", out);
        rep_xml(out, first->how);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

static void put_waivers(FILE *out, const code_view *view) {
    const code_tally all = code_view_all(view);
    fprintf(out, "<h2>Waivers</h2>\n<p class=\"soft\">%" PRIu64 " of %" PRIu64 " points (%.2f&nbsp;%%).</p>\n",
            all.waived, all.points, all.points == 0 ? 0.0 : 100.0 * (double)all.waived / (double)all.points);
    put_list(out, &view->waivers, "how to look again");
}

static void put_reasons(FILE *out, const code_view *view) {
    fprintf(out,
            "<h2>Holes and why</h2>\n<p class=\"soft\">%" PRIu64 " of %" PRIu64
            " lines, arms and bits without a hit are explained.</p>\n",
            view->explained, view->holes);
    put_list(out, &view->reasons, "what would hit it");
}

static void put_index(FILE *out, const void *ctx) {
    const code_view *view = ctx;
    char text[64];
    html_begin(out, "Code coverage", NULL);
    fputs("<div class=\"tiles\">", out);
    for (unsigned m = 0; m < CODE_METRICS; m++) {
        const code_tally *t = &view->total[m];
        if (t->points > 0) {
            (void)snprintf(text, sizeof text, "%.2f&nbsp;%%", code_percent(t));
            rep_tile(out, NULL, text, code_metric_name((code_metric)m));
        }
    }
    (void)snprintf(text, sizeof text, "%" PRIu64, view->data.files);
    rep_tile(out, NULL, text, "files merged");
    fputs("</div>\n<p>", out);
    for (unsigned m = 0; m < CODE_SCORED; m++) {
        fprintf(out, "%s%s ", m == 0 ? "" : ", ", code_metric_name((code_metric)m));
        code_put_percent(out, &view->total[m], true);
    }
    fputs("</p>\n", out);
    put_groups(out, "Units", view->units, view->unit_count, false);
    put_groups(out, "Files", view->files, view->file_count, true);
    if (view->empty_count > 0) {
        fputs("<h2>Modules and packages without any point</h2>\n<p>", out);
        for (size_t i = 0; i < view->empty_count; i++) {
            fputs(i == 0 ? "" : ", ", out);
            rep_xml(out, view->empty[i].name);
        }
        fputs("</p>\n", out);
    }
    if (view->reasons.count > 0) {
        put_reasons(out, view);
    }
    if (view->waivers.count > 0) {
        put_waivers(out, view);
    }
    rep_page_end(out);
}

typedef struct page {
    const code_view *view;
    const code_group *file;
    const code_source *source;
} page;

static void put_source(FILE *out, const void *ctx) {
    const page *p = ctx;
    code_page(p->view, p->file, p->source, out);
}

int code_tool_html(const code_view *view, const char *root, const char *dir, cov_error *err) {
    char name[600];
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        return cov_fail(err, COV_IO, "%.200s: %s", dir, strerror(errno));
    }
    int rc = COV_OK;
    for (size_t f = 0; rc == COV_OK && f < view->file_count; f++) {
        code_source source;
        page p = {view, &view->files[f], &source};
        rc = code_source_read(&source, root, view->files[f].name, err);
        if (rc == COV_OK) {
            code_page_name(view->files[f].name, name, sizeof name);
            rc = tool_write(dir, name, put_source, &p, err);
        }
        code_source_free(&source);
    }
    return rc == COV_OK ? tool_write(dir, "index.html", put_index, view, err) : rc;
}
