/* html.c - the report as pages: index.html with all groups and all holes. The pages stand alone: no script, no font, nothing from elsewhere. */
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOLES_SHOWN 2000u

static const char style[] =
    ":root{color-scheme:light dark;--page:#fafafa;--box:#fff;--text:#1c2024;--dim:#59616a;--rule:#dde1e4;--hit:#d9f0e0;--hitink:#14532d;"
    "--miss:#fbdcd8;--missink:#8c1d13;--none:#eceef0;--fill:#3f9c69;--link:#1f5fae}"
    "@media(prefers-color-scheme:dark){:root{--page:#131618;--box:#1b1f23;--text:#e5e8ea;--dim:#9ba5ae;--rule:#333a40;--hit:#173a26;"
    "--hitink:#a4e3bc;--miss:#4a1c18;--missink:#ffb4ab;--none:#262b30;--fill:#57b884;--link:#8ab8f5}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 "
    "system-ui,sans-serif;overflow-wrap:anywhere}"
    "main{max-width:1160px;margin:0 auto;padding:12px 16px 48px}a{color:var(--link)}h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.8em 0 "
    ".3em}"
    "p{margin:.3em 0}.dim{color:var(--dim)}code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.88em}"
    ".scroll{overflow-x:auto;background:var(--box);border:1px solid var(--rule);border-radius:8px;margin:.5em 0}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}.grid{width:auto}"
    "th,td{padding:3px 10px;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top;overflow-wrap:normal}"
    "th{color:var(--dim);font-weight:600}.n{text-align:right;white-space:nowrap}.w{white-space:nowrap}"
    ".hit{background:var(--hit);color:var(--hitink)}.miss{background:var(--miss);color:var(--missink)}.off{background:var(--none);color:"
    "var(--dim)}"
    ".bar{display:inline-block;width:90px;height:9px;background:var(--none);border:1px solid "
    "var(--rule);border-radius:3px;margin-right:8px}"
    ".bar i{display:block;height:100%;background:var(--fill)}details{margin:.6em 0}summary{cursor:pointer;color:var(--link)}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(120px,1fr));gap:10px;margin:.8em 0}"
    ".tile{background:var(--box);border:1px solid var(--rule);border-radius:8px;padding:8px 14px}.tile b{display:block;font-size:1.3rem}";

void html_begin(FILE *out, const char *title) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
          "content=\"width=device-width,initial-scale=1\">"
          "<title>",
          out);
    put_html(out, title);
    fprintf(out, "</title>\n<style>%s</style></head>\n<body><main>\n<h1>", style);
    put_html(out, title);
    fputs("</h1>\n", out);
}

void html_end(FILE *out) {
    fputs("</main></body></html>\n", out);
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

void html_tile(FILE *out, const char *title, const char *text) {
    fprintf(out, "<div class=\"tile\"><b>%s</b><span class=\"dim\">%s</span></div>", text, title);
}

static void put_groups(const cov_data *data, FILE *out) {
    char page[160];
    fputs("<div class=\"scroll\"><table><tr><th>group</th><th>score</th><th class=\"n\">covered</th><th class=\"n\">of</th>"
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
                "</td><td class=\"n%s\">%" PRIu64 "</td><td class=\"n\">%" PRIu32 "</td><td class=\"n\">%" PRIu64 "</td><td>",
                s.covered, s.total, s.ignored, s.illegal > 0 ? " miss" : "", s.illegal, group->weight, group->samples);
        put_html(out, group->about);
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
    put_html(h->out, text);
    fprintf(h->out, "</code>%s</td><td class=\"n\">%" PRIu64 "/%" PRIu32 "</td><td><code>", item->partial ? " (not in all files)" : "",
            item->hits, item->goal);
    tool_item_hint(item, text, sizeof text);
    put_html(h->out, text);
    fputs("</code></td></tr>\n", h->out);
}

static void index_page(const cov_data *data, FILE *out) {
    char text[64];
    const cov_score s = cov_score_all(data);
    holes h = {out, 0};
    html_begin(out, "Functional coverage");
    fputs("<div class=\"tiles\">", out);
    (void)snprintf(text, sizeof text, "%.2f&nbsp;%%", s.percent);
    html_tile(out, "score", text);
    (void)snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64, s.covered, s.total);
    html_tile(out, "bins and cells", text);
    (void)snprintf(text, sizeof text, "%" PRIu64, s.illegal);
    html_tile(out, "illegal hits", text);
    (void)snprintf(text, sizeof text, "%" PRIu64, s.ignored);
    html_tile(out, "ignored, with reasons", text);
    (void)snprintf(text, sizeof text, "%" PRIu64, data->files);
    html_tile(out, "files", text);
    fputs("</div>\n<h2>Groups</h2>\n", out);
    put_groups(data, out);
    fprintf(out, "<h2>Holes</h2>\n<p class=\"dim\">%" PRIu64 " of them; hits and goal, and what would hit it.</p>\n", s.total - s.covered);
    fputs("<div class=\"scroll\"><table><tr><th>bin or cell</th><th class=\"n\">hits</th><th>hint</th></tr>\n", out);
    tool_walk(data, NULL, put_hole, &h);
    fputs("</table></div>\n", out);
    if (h.count > HOLES_SHOWN) {
        fprintf(out, "<p class=\"dim\">The first %u; the pages of the groups have all.</p>\n", HOLES_SHOWN);
    }
    html_end(out);
}

int tool_write(const char *dir, const char *name, void (*fn)(FILE *out, void *ctx), void *ctx, cov_error *err) {
    const size_t size = strlen(dir) + strlen(name) + 40;
    char *path = malloc(size);
    char *temporary = malloc(size);
    bool good = path != NULL && temporary != NULL;
    FILE *out = NULL;
    if (good) {
        (void)snprintf(path, size, "%s%s%s", dir, dir[0] == '\0' ? "" : "/", name);
        (void)snprintf(temporary, size, "%s.tmp%ld", path, (long)getpid());
        out = fopen(temporary, "w");
        good = out != NULL;
    }
    if (good) {
        fn(out, ctx);
        good = ferror(out) == 0;
        good = fclose(out) == 0 && good && rename(temporary, path) == 0;
    }
    if (!good) {
        (void)snprintf(err->text, sizeof err->text, "%.200s%s%.100s: %s", dir, dir[0] == '\0' ? "" : "/", name,
                       path == NULL || temporary == NULL ? "out of memory" : strerror(errno));
        if (temporary != NULL) {
            (void)unlink(temporary);
        }
    }
    free(path);
    free(temporary);
    return good ? COV_OK : COV_IO;
}

typedef struct page {
    const cov_data *data;
    const cov_data_group *group; /* NULL: the index */
} page;

static void put_page(FILE *out, void *ctx) {
    const page *p = ctx;
    if (p->group == NULL) {
        index_page(p->data, out);
    } else {
        html_group_page(p->data, p->group, out);
    }
}

static int write_page(const cov_data *data, const cov_data_group *group, const char *dir, const char *name, cov_error *err) {
    page p = {data, group};
    return tool_write(dir, name, put_page, &p, err);
}

int tool_html(const cov_data *data, const char *dir, cov_error *err) {
    char name[160];
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: %s", dir, strerror(errno));
        return COV_IO;
    }
    int rc = COV_OK;
    for (uint32_t g = 0; rc == COV_OK && g < data->group_count; g++) {
        html_page_name(&data->groups[g], name, sizeof name);
        rc = write_page(data, &data->groups[g], dir, name, err);
    }
    return rc == COV_OK ? write_page(data, NULL, dir, "index.html", err) : rc;
}
