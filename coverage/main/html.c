/* html.c - the report as pages: index.html with all groups and all holes. The pages are self-contained: no script, no
 * external font, style or image. */
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define HOLES_SHOWN 2000u

/* Style of these pages only: hit, missing and ignored bins, and coverage of a group. */
static const char marks[] =
    ":root{--hit:#d9f0e0;--hitink:#14532d;--miss:#fbdcd8;--missink:#8c1d13;--none:#eceef0}"
    "@media(prefers-color-scheme:dark){:root{--hit:#173a26;--hitink:#a4e3bc;--miss:#4a1c18;--missink:#ffb4ab;--none:#"
    "262b30}}"
    "p{margin:.3em 0}.grid{width:auto}th,td{padding:3px 10px}"
    ".hit{background:var(--hit);color:var(--hitink)}.miss{background:var(--miss);color:var(--missink)}"
    ".off{background:var(--none);color:var(--soft)}"
    ".bar{display:inline-block;width:90px;height:9px;background:var(--none);border:1px solid "
    "var(--line);border-radius:3px;"
    "margin-right:8px}.bar i{display:block;height:100%;background:var(--goodbar)}";

void html_begin(FILE *out, const char *title, const char *style) {
    char rules[sizeof marks + 1200];
    (void)snprintf(rules, sizeof rules, "%s%s", marks, style == NULL ? "" : style);
    rep_page_begin(out, title, NULL, rules);
    fputs("<main>\n<h1>", out);
    rep_xml(out, title);
    fputs("</h1>\n", out);
}

void html_meter(FILE *out, const cov_score *s) {
    fprintf(out, "<span class=\"bar\"><i style=\"width:%.1f%%\"></i></span>%.2f&nbsp;%%", s->percent, s->percent);
}

/* Name of a group's page: names of groups are letters, digits, '_', '-' and '@'. */
void html_page_name(const cov_data_group *group, char *dst, size_t size) {
    (void)snprintf(dst, size, "group-%s.html", group->name);
    for (char *p = dst; *p != '\0'; p++) {
        *p = *p == '@' ? '.' : *p;
    }
}

static void put_groups(const cov_data *data, FILE *out) {
    char page[160];
    fputs("<div class=\"scroll\"><table><tr><th>group</th><th>score</th><th class=\"n\">covered</th><th "
          "class=\"n\">of</th>"
          "<th class=\"n\">ignored</th><th class=\"n\">illegal hits</th><th class=\"n\">weight</th><th "
          "class=\"n\">samples</th><th>about</th></tr>\n",
          out);
    for (uint32_t g = 0; g < data->group_count; g++) {
        const cov_data_group *group = &data->groups[g];
        const cov_score s = cov_score_group(data, group);
        html_page_name(group, page, sizeof page);
        fprintf(out, "<tr><td class=\"w\"><a href=\"%s\">%s</a></td><td class=\"w\">", page, group->name);
        html_meter(out, &s);
        fprintf(out,
                "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64
                "</td><td class=\"n%s\">%" PRIu64 "</td><td class=\"n\">%" PRIu32 "</td><td class=\"n\">%" PRIu64
                "</td><td>",
                s.covered, s.total, s.ignored, s.illegal > 0 ? " miss" : "", s.illegal, group->weight, group->samples);
        rep_xml(out, group->about);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

typedef struct holes {
    FILE *out;
    uint64_t count;
} holes;

static void put_hole(void *ctx, const cov_data *data, const tool_item *item) {
    holes *h = ctx;
    char text[700];
    (void)data;
    if (item->role != COV_COUNTED || item->hits >= item->goal) {
        return;
    }
    if (h->count++ >= HOLES_SHOWN) {
        return;
    }
    tool_item_name(item, text, sizeof text);
    fputs("<tr><td><code>", h->out);
    rep_xml(h->out, text);
    fprintf(h->out, "</code>%s</td><td class=\"n\">%" PRIu64 "/%" PRIu32 "</td><td><code>",
            item->partial ? " (not in all files)" : "", item->hits, item->goal);
    tool_item_hint(item, text, sizeof text);
    rep_xml(h->out, text);
    fputs("</code></td></tr>\n", h->out);
}

static void index_page(const cov_data *data, FILE *out) {
    char text[64];
    const cov_score s = cov_score_all(data);
    holes h = {out, 0};
    html_begin(out, "Functional coverage", NULL);
    fputs("<div class=\"tiles\">", out);
    (void)snprintf(text, sizeof text, "%.2f&nbsp;%%", s.percent);
    rep_tile(out, NULL, text, "score");
    (void)snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64, s.covered, s.total);
    rep_tile(out, NULL, text, "bins and cells");
    (void)snprintf(text, sizeof text, "%" PRIu64, s.illegal);
    rep_tile(out, NULL, text, "illegal hits");
    (void)snprintf(text, sizeof text, "%" PRIu64, s.ignored);
    rep_tile(out, NULL, text, "ignored, with reasons");
    (void)snprintf(text, sizeof text, "%" PRIu64, data->files);
    rep_tile(out, NULL, text, "files");
    fputs("</div>\n<h2>Groups</h2>\n", out);
    put_groups(data, out);
    fprintf(out, "<h2>Holes</h2>\n<p class=\"soft\">%" PRIu64 " of them; hits and goal, and what would hit it.</p>\n",
            s.total - s.covered);
    fputs("<div class=\"scroll\"><table><tr><th>bin or cell</th><th class=\"n\">hits</th><th>hint</th></tr>\n", out);
    tool_walk(data, NULL, put_hole, &h);
    fputs("</table></div>\n", out);
    if (h.count > HOLES_SHOWN) {
        fprintf(out, "<p class=\"soft\">The first %u; the pages of the groups have all.</p>\n", HOLES_SHOWN);
    }
    rep_page_end(out);
}

int tool_write(const char *dir, const char *name, void (*fn)(FILE *out, const void *ctx), const void *ctx,
               cov_error *err) {
    char path[PATH_MAX];
    const bool fits = (size_t)snprintf(path, sizeof path, "%s%s%s", dir, dir[0] == '\0' ? "" : "/", name) < sizeof path;
    return tool_told(fits ? rep_write(path, fn, ctx) : ENAMETOOLONG, path, err);
}

typedef struct page {
    const cov_data *data;
    const cov_data_group *group; /* NULL: the index */
} page;

static void put_page(FILE *out, const void *ctx) {
    const page *p = ctx;
    if (p->group == NULL) {
        index_page(p->data, out);
    } else {
        html_group_page(p->data, p->group, out);
    }
}

static int write_page(const cov_data *data, const cov_data_group *group, const char *dir, const char *name,
                      cov_error *err) {
    page p = {data, group};
    return tool_write(dir, name, put_page, &p, err);
}

int tool_html(const cov_data *data, const char *dir, cov_error *err) {
    char name[160];
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        return cov_fail(err, COV_IO, "%.200s: %s", dir, strerror(errno));
    }
    int rc = COV_OK;
    for (uint32_t g = 0; rc == COV_OK && g < data->group_count; g++) {
        html_page_name(&data->groups[g], name, sizeof name);
        rc = write_page(data, &data->groups[g], dir, name, err);
    }
    return rc == COV_OK ? write_page(data, NULL, dir, "index.html", err) : rc;
}
