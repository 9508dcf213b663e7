/* report_html.c - a report as one page: no script, nothing from a network. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "report/report.h"
#include "report/bundle.h"

#define STREAMS 16u
#define BURSTS 14u /* of a port */

/* Beside the style that all pages share. */
static const char style[] =
    ":root{--mark:#fdf3d6}@media(prefers-color-scheme:dark){:root{--mark:#3a3218}}"
    "caption{color:var(--soft);text-align:left;padding:4px "
    "12px}td.m{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.86em;"
    "white-space:nowrap}code{background:var(--code);padding:.1em .35em;border-radius:4px}tr.now "
    "td{background:var(--mark)}"
    "ol.story{list-style:none;margin:0;padding:0 0 0 18px;border-left:2px solid var(--line)}ol.story li{margin:.5em "
    "0;position:relative}"
    "ol.story li:before{content:'';position:absolute;left:-24px;top:.5em;width:10px;height:10px;border-radius:50%;"
    "background:var(--soft)}ol.story li.first:before{background:var(--bad)}ol.story "
    ".at{color:var(--soft);font-variant-numeric:tabular-nums}";

static void head(const tb_report *r, FILE *out) {
    char title[640], note[64] = "", own[8192];
    const char *more = r->ops != NULL && r->ops->style != NULL ? r->ops->style : "";
    snprintf(title, sizeof title, "%s: %s", r->first->test->name, r->headline);
    snprintf(own, sizeof own, "%s%s", style, more);
    if (r->o->prog->note != NULL) {
        r->o->prog->note(r->o->prog, note, sizeof note);
    }
    rep_page_begin(out, title, NULL, own);
    fputs("<main>\n<p class=\"soft\">", out);
    rep_xmlf(out, "%s, %s, seed 0x%016" PRIx64 "%s%s", r->first->test->name, r->o->prog->cfg, r->first->seed,
             note[0] != '\0' ? "," : "", note);
    fputs("</p>\n<h1>", out);
    rep_xml(out, r->headline);
    fputs("</h1>\n<p class=\"soft\">", out);
    if (r->check != NULL) {
        rep_xmlf(out, "in %s, task %" PRIu64 ", transaction %" PRIu64 ". ", r->check->path, r->check->task,
                 r->check->transaction);
        fputs(r->check->input_right ? "No unit that feeds it had failed before: the error was made here."
                                    : "A unit that feeds it had failed before.",
              out);
    } else if (r->story->has_rtl) {
        rep_xmlf(out, "at cycle %" PRIu64 "; %s.", r->cycle, tb_report_checks_text(r));
    }
    fputs("</p>\n", out);
    if (!r->same) {
        fputs("<p class=\"card bad\">A second run of the case did not fail in the same way. What follows is from the "
              "second run.</p>\n",
              out);
    }
}

/* Streams left out of tensors/. */
static void left_out(const tb_report *r, FILE *out) {
    char line[400];
    tb_report_left_line(r, line, sizeof line);
    if (line[0] == '\0') {
        return;
    }
    fputs("<details><summary>", out);
    rep_xmlf(out, "Left out: %s", line);
    fputs("</summary><ul>\n", out);
    for (size_t i = 0; i < r->lefts; i++) {
        tb_report_left_stream(&r->left[i], line, sizeof line);
        fputs("<li>", out);
        rep_xml(out, line);
        fputs("</li>\n", out);
    }
    fputs("</ul></details>\n", out);
}

static void streams(const tb_report *r, FILE *out) {
    if (!r->o->prog->dumps || (r->no_streams[0] == '\0' && r->streams_all == 0)) {
        return;
    }
    if (r->no_streams[0] != '\0' || r->streams_wrong == 0) {
        fputs("<p class=\"soft\">Streams of the tasks: ", out);
        rep_xmlf(out, "%s", r->no_streams[0] != '\0' ? r->no_streams : "equal in RTL and model");
        fputs("</p>\n", out);
        return;
    }
    fputs("<div class=\"scroll\"><table><caption>Streams in order of flow; right ones are left "
          "out</caption><tr><th>stream</th><th>task</th>"
          "<th>wrong</th><th>of</th><th>first</th><th>got</th><th>expected</th></tr>\n",
          out);
    for (size_t i = 0; i < r->streams && i < STREAMS; i++) {
        const tb_report_stream *s = &r->stream[i];
        fprintf(out, "<tr><td class=\"m\">%s</td><td>", s->name);
        if (s->task != UINT64_MAX) {
            fprintf(out, "%" PRIu64, s->task);
        }
        fprintf(out,
                "</td><td class=\"bad\">%" PRIu64 "</td><td>%" PRIu64
                "</td><td>%s</td><td class=\"m\">%s</td><td class=\"m\">%s</td></tr>\n",
                s->wrong, s->total, s->first, s->got, s->expected);
    }
    fputs("</table></div>\n", out);
    if (r->streams_wrong > STREAMS) {
        fprintf(out, "<p class=\"soft\">and %zu more of %zu streams</p>\n", r->streams_wrong - STREAMS, r->streams_all);
    }
    if (tb_report_cut_short(r)) {
        fprintf(out,
                "<p class=\"soft\">The run ended at cycle %" PRIu64
                ": elements not written by then count as wrong.</p>\n",
                r->story->cycles);
    }
    fputs("<p class=\"soft\">All of them: <code>tandem diff tensors/rtl tensors/model</code></p>\n", out);
}

static void spread(const tb_report *r, FILE *out) {
    char line[700];
    if (r->first->hang != NULL) {
        fputs("<h2>Chain of waits</h2>\n<pre>", out);
        rep_xml(out, r->first->hang);
        fputs("</pre>\n", out);
    }
    fputs("<h2>How it spread</h2>\n<ol class=\"story\">\n", out);
    if (r->check == NULL) {
        fprintf(out, "<li class=\"first\"><span class=\"at\">cycle %" PRIu64 "</span> ", r->cycle);
        rep_xml(out, r->result->message);
        fputs("</li>\n", out);
    }
    for (size_t i = 0; i < r->story->checks; i++) {
        const tb_story_check *c = &r->story->check[i];
        fprintf(out, "<li%s><span class=\"at\">cycle %" PRIu64 "</span> <b>", c == r->check ? " class=\"first\"" : "",
                c->cycle);
        rep_xmlf(out, "%s %u", c->unit, c->index);
        fputs("</b>: ", out);
        rep_xmlf(out, "%s%s%s: got %s, expected %s ", c->stream, c->where[0] != '\0' ? ", " : "", c->where, c->got,
                 c->expected);
        fprintf(out, "<span class=\"%s\">(input %s)</span></li>\n", c->input_right ? "bad" : "soft",
                c->input_right ? "right" : "wrong already");
    }
    if (r->culprit != NULL) {
        tb_axi_burst_text(&r->story->port[r->culprit_port].log, r->culprit, line, sizeof line);
        fprintf(out, "<li><span class=\"at\">cycle %" PRIu64 "</span> %s brings the first wrong element: ",
                r->culprit->first, r->story->port[r->culprit_port].log.name);
        rep_xml(out, line);
        fputs("</li>\n", out);
    }
    for (uint64_t i = 0; i < r->story->rules && i < sizeof r->story->rule / sizeof r->story->rule[0]; i++) {
        fputs("<li>bus: ", out);
        rep_xml(out, r->story->rule[i]);
        fputs("</li>\n", out);
    }
    tb_report_end_line(r, line, sizeof line);
    if (strcmp(line, r->result->message) != 0) {
        fprintf(out, "<li><span class=\"at\">cycle %" PRIu64 "</span> ", r->story->cycles);
        rep_xml(out, line);
        fputs("</li>\n", out);
    }
    fputs("</ol>\n", out);
    streams(r, out);
    left_out(r, out);
}

/* ---- bus ---- */

static void cycle_cell(FILE *out, uint64_t cycle) {
    if (cycle == TB_AXI_LOG_NEVER) {
        fputs("<td class=\"m soft\">-</td>", out);
    } else {
        fprintf(out, "<td class=\"m\">%" PRIu64 "</td>", cycle);
    }
}

static void burst_row(const tb_report *r, unsigned port, const tb_axi_burst *burst, FILE *out) {
    const tb_axi_log *log = &r->story->port[port].log;
    char where[64];
    tb_report_where(r, port, burst, where, sizeof where);
    fprintf(out, "<tr%s><td>%s</td><td>%s</td><td class=\"m\">0x%08" PRIx64 "</td><td class=\"m\">%u</td>",
            tb_axi_burst_during(burst, r->look, r->look) ? " class=\"now\"" : "", log->name,
            burst->write ? "write" : "read", burst->addr, tb_axi_burst_bytes(log, burst));
    fprintf(out, "<td class=\"m\">%" PRIu64 "</td>", burst->id);
    cycle_cell(out, burst->taken);
    cycle_cell(out, burst->first);
    cycle_cell(out, burst->last);
    cycle_cell(out, burst->end);
    const bool ended = burst->end != TB_AXI_LOG_NEVER;
    fprintf(out, "<td%s>%s</td><td>%s</td></tr>\n", burst->resp > TB_AXI_EXOKAY ? " class=\"bad\"" : "",
            ended ? tb_axi_resp_name(burst->resp) : "-", where);
}

static void bus(const tb_report *r, FILE *out) {
    uint64_t from, to;
    if (r->story->has_rtl && r->story->ports == 0) {
        return;
    }
    fputs("<h2>Bus around the failure</h2>\n", out);
    if (!r->story->has_rtl) {
        fputs("<p class=\"soft\">not available: no RTL took part</p>\n", out);
        return;
    }
    tb_report_window(r, &from, &to);
    fprintf(out,
            "<div class=\"scroll\"><table><caption>Transactions of cycles %" PRIu64 " to %" PRIu64
            "; marked: in flight at cycle %" PRIu64
            ". All: axi.txt</caption><tr><th>port</th><th></th><th>address</th><th>bytes</th><th>id</th><th>address "
            "at</th><th>first data</th>"
            "<th>last data</th><th>end</th><th>response</th><th>what</th></tr>\n",
            from, to, r->look);
    for (unsigned p = 0; p < r->story->ports; p++) {
        const tb_axi_log *log = &r->story->port[p].log;
        unsigned shown = 0;
        for (uint64_t i = tb_axi_log_first(log); i < log->count; i++) {
            if (tb_axi_burst_during(tb_axi_log_get(log, i), from, to) && shown++ < BURSTS) {
                burst_row(r, p, tb_axi_log_get(log, i), out);
            }
        }
        if (shown > BURSTS) {
            fprintf(out, "<tr><td>%s</td><td class=\"soft\" colspan=\"10\">and %u more</td></tr>\n", log->name,
                    shown - BURSTS);
        }
    }
    fputs("</table></div>\n", out);
}

/* A picture written by tb_report_draw(), in a box of this class. False: there is none. */
static bool put_picture(const tb_report *r, const char *name, const char *class, FILE *out) {
    char path[640], part[4096];
    snprintf(path, sizeof path, "%s/%s", r->temp, name);
    FILE *f = r->has_wave ? fopen(path, "r") : NULL;
    if (f == NULL) {
        return false;
    }
    fprintf(out, "<div class=\"%s\">", class);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) {
        fwrite(part, 1, n, out);
    }
    fclose(f);
    fputs("</div>\n", out);
    return true;
}

static void timing(const tb_report *r, FILE *out) {
    fputs("<h2>Timing</h2>\n", out);
    if (!put_picture(r, REP_BUNDLE_TIMING, "scroll fit", out)) {
        fputs("<p class=\"soft\">not available: ", out);
        rep_xmlf(out, "%s", r->has_wave ? "the waveform could not be read" : r->no_wave);
        fputs("</p>\n", out);
        return;
    }
    fprintf(out,
            "<p class=\"soft\">Marker: cycle %" PRIu64 ". With GTKWave: <code>gtkwave wave.gtkw</code></p>\n"
            "<details><summary>More cycles</summary>\n",
            r->marker);
    put_picture(r, REP_BUNDLE_TIMING_WIDE, "scroll", out);
    fputs("</details>\n", out);
}

static void last_part(const tb_report *r, FILE *out) {
    fputs("<h2>Repeat it</h2>\n<pre>", out);
    rep_xml(out, r->again);
    fputs("</pre>\n<p>The case itself: <a href=\"" REP_BUNDLE_CASE "\">" REP_BUNDLE_CASE "</a>", out);
    if (r->has_wave) {
        fputs("; the waveform: <a href=\"" REP_BUNDLE_WAVE "\">" REP_BUNDLE_WAVE "</a>", out);
    }
    fputs(". Lists:", out);
    for (size_t i = 0; r->ops != NULL && i < TB_REPORT_FILES && r->ops->file[i].name != NULL; i++) {
        fprintf(out, " <a href=\"%s\">%s</a>,", r->ops->file[i].name, r->ops->file[i].name);
    }
    fputs(" <a href=\"" REP_BUNDLE_BUS "\">" REP_BUNDLE_BUS "</a>, <a href=\"" REP_BUNDLE_TEXT "\">" REP_BUNDLE_TEXT
          "</a></p>\n<h2>Versions</h2>\n<pre>",
          out);
    char *text = NULL;
    size_t size = 0;
    FILE *f = rep_memory(&text, &size);
    if (f != NULL) {
        tb_report_versions(r, f);
        rep_xml(out, fclose(f) == 0 ? text : "out of memory");
    }
    free(text);
    fputs("</pre>\n", out);
    rep_page_end(out);
}

void tb_report_html(const tb_report *r, FILE *out) {
    head(r, out);
    spread(r, out);
    if (r->ops != NULL && r->ops->html != NULL) {
        r->ops->html(r, out);
    }
    bus(r, out);
    timing(r, out);
    last_part(r, out);
}
