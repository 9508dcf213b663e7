/* code_page.c - the page of a source: its lines with their hits, the arms of each, the toggles that are missing. */
#include <inttypes.h>
#include <string.h>

#include "code_tool.h"

#define REASONS_MAX 32u /* of a line; further ones are on the first page */

/* Where the items of each metric are, as lines go on. */
typedef struct cursor {
    const code_view *view;
    size_t at[CODE_METRICS], end[CODE_METRICS];
    uint32_t told[REASONS_MAX]; /* explanations of this line's holes, each one once */
    uint32_t told_count;
} cursor;

static cursor begin(const code_view *view, const code_group *file) {
    cursor c = {.view = view};
    size_t at = file->first;
    for (unsigned m = 0; m < CODE_METRICS; m++) { /* items are in the order of their metrics */
        c.at[m] = at;
        while (at < file->first + file->count && (unsigned)view->items.item[at].metric == m) {
            at++;
        }
        c.end[m] = at;
    }
    return c;
}

/* Remember the explanation of a hole. */
static void tell(cursor *c, const code_item *item) {
    bool known = item->reason == 0 || c->told_count == REASONS_MAX;
    for (uint32_t i = 0; i < c->told_count && !known; i++) {
        known = c->told[i] == item->reason;
    }
    if (!known) {
        c->told[c->told_count++] = item->reason;
    }
}

/* Explanations of the line's holes, below them; entries with equal texts are shown once. */
static void put_told(FILE *out, cursor *c) {
    const code_waiver *before = NULL;
    for (uint32_t i = 0; i < c->told_count; i++) {
        const code_waiver *w = &c->view->reasons.waiver[c->told[i] - 1];
        if (before == NULL || strcmp(before->why, w->why) != 0 || strcmp(before->how, w->how) != 0) {
            fputs("<div class=\"soft\">", out);
            rep_xml(out, w->why);
            fputs("<br><b>To hit it:</b> ", out);
            rep_xml(out, w->how);
            fputs("</div>", out);
        }
        before = w;
    }
    c->told_count = 0;
}

/* The next item of a metric on this line, or before it; NULL: none. */
static const code_item *next(cursor *c, code_metric metric, uint32_t line) {
    const size_t at = c->at[metric];
    if (at >= c->end[metric] || c->view->items.item[at].line > line) {
        return NULL;
    }
    c->at[metric]++;
    tell(c, &c->view->items.item[at]);
    return &c->view->items.item[at];
}

static const char *look(const code_item *item) {
    return item->hits > 0 ? "hit" : item->waiver != 0 ? "off" : "miss";
}

static void put_title(FILE *out, const code_view *view, const code_item *item) {
    if (item->waiver != 0) {
        fputs(" title=\"waived: ", out);
        rep_xml(out, view->waivers.waiver[item->waiver - 1].why);
        fputc('"', out);
    }
}

/* Arms, cover properties and expressions: each with its hits. */
static void put_small(FILE *out, cursor *c, code_metric metric, uint32_t line) {
    for (const code_item *item = next(c, metric, line); item != NULL; item = next(c, metric, line)) {
        fprintf(out, "<span class=\"arm %s\"", look(item));
        put_title(out, c->view, item);
        fputc('>', out);
        rep_xml(out, item->name);
        fprintf(out, " %" PRIu64 "</span> ", item->hits);
    }
}

/* Bits of the line: how many. Which of them have no hit stands below the line, from *first on. */
static void put_toggles(FILE *out, cursor *c, uint32_t line, size_t *first) {
    code_tally t = {0};
    *first = c->at[CODE_M_TOGGLE];
    for (const code_item *item = next(c, CODE_M_TOGGLE, line); item != NULL; item = next(c, CODE_M_TOGGLE, line)) {
        code_count(&t, item);
    }
    if (t.points > 0) {
        fprintf(out, "<span class=\"arm %s\">%" PRIu64 "/%" PRIu64 " bits</span> ",
                t.covered + t.waived == t.points ? (t.waived > 0 ? "off" : "hit") : "miss", t.covered, t.points);
    }
}

/* Bits without a hit, those in a row as one. */
static void put_bits(FILE *out, const cursor *c, size_t from) {
    const size_t end = c->at[CODE_M_TOGGLE];
    char text[500];
    for (size_t i = from; i < end;) {
        const code_item *item = &c->view->items.item[i];
        if (item->hits > 0) {
            i++;
            continue;
        }
        size_t after = i + 1;
        (void)snprintf(text, sizeof text, "%s", item->name);
        if (item->waiver == 0) {
            after = code_view_hole(c->view, i, end, text, sizeof text);
        }
        fprintf(out, "<span class=\"arm %s\"", look(item));
        put_title(out, c->view, item);
        fputc('>', out);
        rep_xml(out, text);
        fputs("</span> ", out);
        i = after;
    }
}

/* A row below the line: its bits without a hit, and why. */
static void put_below(FILE *out, cursor *c, size_t first) {
    bool any = c->told_count > 0;
    for (size_t i = first; i < c->at[CODE_M_TOGGLE] && !any; i++) {
        any = c->view->items.item[i].hits == 0;
    }
    if (any) {
        fputs("<tr><td></td><td></td><td colspan=\"2\" class=\"below\">", out);
        put_bits(out, c, first);
        put_told(out, c);
        fputs("</td></tr>\n", out);
    }
}

static void put_head(FILE *out, const code_group *file) {
    html_begin(out, file->name,
               "main{max-width:none}.src td{border:0;padding:0 8px;vertical-align:top}"
               ".src pre{margin:0;padding:0;background:none;font:13px/1.45 "
               "ui-monospace,Menlo,Consolas,monospace;white-space:pre;tab-size:2}"
               ".arm{display:inline-block;font-size:.8em;border-radius:3px;padding:0 5px;margin:1px 0}"
               ".src .below{padding:0 8px 6px 5ch;max-width:110ch}tr:target{outline:2px solid var(--link)}");
    fputs("<p><a href=\"index.html\">all files</a></p>\n<p>", out);
    for (unsigned m = 0; m < CODE_METRICS; m++) {
        if (file->tally[m].points > 0) {
            fprintf(out, "%s ", code_metric_name((code_metric)m));
            code_put_percent(out, &file->tally[m], true);
            fprintf(out, " (%" PRIu64 " of %" PRIu64 ") &nbsp; ", file->tally[m].covered, file->tally[m].points);
        }
    }
    fputs("</p>\n", out);
}

/* Links to the lines with holes. */
static void put_holes(FILE *out, const code_view *view, const code_group *file) {
    for (unsigned m = 0; m < CODE_METRICS; m++) {
        uint32_t before = 0;
        for (size_t i = file->first; i < file->first + file->count; i++) {
            const code_item *item = &view->items.item[i];
            if ((unsigned)item->metric != m || !code_is_hole(item) || item->line == before) {
                continue;
            }
            fprintf(out, "%s<a href=\"#l%" PRIu32 "\">%" PRIu32 "</a>", before == 0 ? "<p>missing, " : " ", item->line,
                    item->line);
            if (before == 0) {
                fprintf(out, " (%s)", code_metric_name((code_metric)m));
            }
            before = item->line;
        }
        fputs(before != 0 ? "</p>\n" : "", out);
    }
}

void code_page(const code_view *view, const code_group *file, const code_source *source, FILE *out) {
    cursor c = begin(view, file);
    put_head(out, file);
    put_holes(out, view, file);
    fputs("<div class=\"scroll\"><table class=\"src\">\n", out);
    for (uint32_t line = 1; line <= source->count; line++) {
        const code_item *item = next(&c, CODE_M_LINE, line);
        fprintf(out, "<tr id=\"l%" PRIu32 "\"><td class=\"n soft\">%" PRIu32 "</td>", line, line);
        if (item == NULL) {
            fputs("<td></td><td><pre>", out);
        } else {
            fprintf(out, "<td class=\"n %s\"", look(item));
            put_title(out, view, item);
            fprintf(out, ">%" PRIu64 "</td><td class=\"%s\"><pre>", item->hits, item->hits > 0 ? "" : look(item));
        }
        rep_xml(out, code_source_line(source, line));
        fputs("</pre></td><td>", out);
        put_small(out, &c, CODE_M_BRANCH, line);
        put_small(out, &c, CODE_M_USER, line);
        put_small(out, &c, CODE_M_EXPR, line);
        size_t first = 0;
        put_toggles(out, &c, line, &first);
        fputs("</td></tr>\n", out);
        put_below(out, &c, first);
    }
    fputs("</table></div>\n", out);
    rep_page_end(out);
}
