/* bundle_html.c - the report as one page: no script, nothing from a network. */
#include "bundle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS 6u     /* with a heat map */
#define ELEMENTS 12u /* in the table of wrong ones */
#define STREAMS 16u
#define BURSTS 14u /* of a port */

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--ink:#1d2125;--soft:#5d666f;--line:#dfe2e5;--bad:#b3261e;--good:#1f7a46;"
    "--mark:#fdf3d6;--code:#f1f3f4;--h0:#eceff1;--h1:#f7c6bf;--h2:#ef9a8f;--h3:#e06a5c;--h4:#c53f33;--h5:#96201a;--hm:#7b8fb5}"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1c2024;--ink:#e4e7ea;--soft:#9aa4ad;--line:#323a41;--bad:#ff8a7f;"
    "--good:#6fd09a;--mark:#3a3218;--code:#262b30;--h0:#2a3036;--h1:#5a2a28;--h2:#8a352f;--h3:#bb4a40;--h4:#e36b5d;--h5:#ffa79b;--hm:#"
    "8296c4}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}"
    "main{max-width:1120px;margin:0 auto;padding:20px 16px 48px}h1{font-size:1.3rem;line-height:1.35;margin:.2em 0 "
    ".5em;overflow-wrap:anywhere}"
    "h1 b{color:var(--bad)}h2{font-size:1.05rem;margin:1.8em 0 .5em}p{margin:.4em 0}.soft,caption{color:var(--soft)}"
    "code,td.m,pre{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.86em}"
    "code{background:var(--code);padding:.1em .35em;border-radius:4px;overflow-wrap:anywhere}"
    "pre{background:var(--code);padding:10px 12px;border-radius:6px;overflow-x:auto;margin:.5em 0}"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px;margin:.6em 0}"
    ".scroll{overflow-x:auto}.wave{margin:.6em 0}table{border-collapse:collapse;width:100%}caption{text-align:left;padding-bottom:4px}"
    "th{text-align:left;font-weight:600;color:var(--soft);white-space:nowrap}th,td{padding:3px 14px 3px 0;border-bottom:1px solid "
    "var(--line);"
    "vertical-align:top}td.m{white-space:nowrap}tr.now td{background:var(--mark)}tr:last-child td{border-bottom:0}"
    "ol.story{list-style:none;margin:0;padding:0 0 0 18px;border-left:2px solid var(--line)}ol.story li{margin:.5em 0;position:relative;"
    "overflow-wrap:anywhere}ol.story li:before{content:'';position:absolute;left:-24px;top:.5em;width:10px;height:10px;border-radius:50%;"
    "background:var(--soft)}ol.story li.first:before{background:var(--bad)}ol.story "
    ".at{color:var(--soft);font-variant-numeric:tabular-nums}"
    ".bad{color:var(--bad)}.good{color:var(--good)}.heat{display:flex;flex-wrap:wrap;gap:10px 12px;margin:.8em 0}.heat figure{margin:0;"
    "text-align:center;font-size:.75rem;color:var(--soft)}.heat svg{display:block;margin:0 auto 2px;border:1px solid var(--line)}"
    ".heat0{fill:var(--h0)}.heat1{fill:var(--h1)}.heat2{fill:var(--h2)}.heat3{fill:var(--h3)}.heat4{fill:var(--h4)}.heat5{fill:var(--h5)}"
    ".heatm{fill:var(--hm)}.key{display:inline-flex;align-items:center;gap:5px;margin-right:14px;font-size:.8rem;color:var(--soft)}"
    ".key svg{flex:none}.wave svg{max-width:none}details summary{cursor:pointer;color:var(--soft)}";

void bundle_escape(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

/* printf, escaped. */
__attribute__((format(printf, 2, 3))) static void put(FILE *out, const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bundle_escape(out, text);
}

static void head(const struct bundle *b, FILE *out) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
          "content=\"width=device-width,initial-scale=1\">"
          "<title>",
          out);
    put(out, "%s: %s", b->run->test->name, b->headline);
    fprintf(out, "</title><style>%s</style></head>\n<body><main>\n<p class=\"soft\">", style);
    put(out, "%s, %s, seed 0x%016" PRIx64 ", %s", b->run->test->name, NPU_CFG_NAME, b->run->seed, cli_kind_name(b->t->setup.kind));
    fputs("</p>\n<h1>", out);
    bundle_escape(out, b->headline);
    fputs("</h1>\n<p class=\"soft\">", out);
    if (b->check != NULL) {
        put(out, "in %s, task %" PRIu64 ", transaction %" PRIu64 ". ", b->check->path, b->check->task, b->check->transaction);
        fputs(b->check->input_right ? "No unit that feeds it had failed before: the error was made here."
                                    : "A unit that feeds it had failed before.",
              out);
    } else if (b->ex.has_rtl) {
        put(out, "at cycle %" PRIu64 "; %s.", b->cycle, bundle_checks_text(b));
    }
    fputs("</p>\n", out);
    if (!b->same) {
        fputs("<p class=\"card bad\">A second run of the case did not fail in the same way. What follows is from the second run.</p>\n",
              out);
    }
}

/* What tensors/ had no room for. */
static void left_out(const struct bundle *b, FILE *out) {
    char line[400];
    bundle_left_line(b, line, sizeof line);
    if (line[0] == '\0') {
        return;
    }
    fputs("<details><summary>", out);
    put(out, "Left out: %s", line);
    fputs("</summary><ul>\n", out);
    for (size_t i = 0; i < b->lefts; i++) {
        bundle_left_stream(&b->left[i], line, sizeof line);
        fputs("<li>", out);
        bundle_escape(out, line);
        fputs("</li>\n", out);
    }
    fputs("</ul></details>\n", out);
}

static void streams(const struct bundle *b, FILE *out) {
    if (b->no_tensors[0] != '\0' || b->streams_wrong == 0) {
        fputs("<p class=\"soft\">Streams of the tasks: ", out);
        put(out, "%s", b->no_tensors[0] != '\0' ? b->no_tensors : "equal in RTL and model");
        fputs("</p>\n", out);
        return;
    }
    fputs(
        "<div class=\"scroll\"><table><caption>Streams in order of flow; right ones are left out</caption><tr><th>stream</th><th>task</th>"
        "<th>wrong</th><th>of</th><th>first</th><th>got</th><th>expected</th></tr>\n",
        out);
    for (size_t i = 0; i < b->streams && i < STREAMS; i++) {
        const bundle_stream *s = &b->stream[i];
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
    if (b->streams_wrong > STREAMS) {
        fprintf(out, "<p class=\"soft\">and %zu more of %zu streams</p>\n", b->streams_wrong - STREAMS, b->streams_all);
    }
    if (bundle_cut_short(b)) {
        fprintf(out, "<p class=\"soft\">The run ended at cycle %" PRIu64 ": what had not come by then counts as wrong.</p>\n",
                b->ex.cycles);
    }
    fputs("<p class=\"soft\">All of them: <code>tandem diff tensors/rtl tensors/model</code></p>\n", out);
}

static void spread(const struct bundle *b, FILE *out) {
    char line[700];
    if (b->first->hang != NULL) {
        fputs("<h2>Who waits for whom</h2>\n<pre>", out);
        bundle_escape(out, b->first->hang);
        fputs("</pre>\n", out);
    }
    fputs("<h2>How it spread</h2>\n<ol class=\"story\">\n", out);
    if (b->check == NULL) {
        fprintf(out, "<li class=\"first\"><span class=\"at\">cycle %" PRIu64 "</span> ", b->cycle);
        bundle_escape(out, b->result->message);
        fputs("</li>\n", out);
    }
    for (size_t i = 0; i < b->ex.checks; i++) {
        const npu_ex_check *c = &b->ex.check[i];
        fprintf(out, "<li%s><span class=\"at\">cycle %" PRIu64 "</span> <b>", c == b->check ? " class=\"first\"" : "", c->cycle);
        put(out, "%s %u", c->unit, c->index);
        fputs("</b>: ", out);
        put(out, "%s%s%s: got %s, expected %s ", c->stream, c->where[0] != '\0' ? ", " : "", c->where, c->got, c->expected);
        fprintf(out, "<span class=\"%s\">(input %s)</span></li>\n", c->input_right ? "bad" : "soft",
                c->input_right ? "right" : "wrong already");
    }
    if (b->culprit != NULL) {
        tb_axi_burst_text(&b->ex.axi[b->culprit_port], b->culprit, line, sizeof line);
        fprintf(out, "<li><span class=\"at\">cycle %" PRIu64 "</span> %s brings the first wrong element: ", b->culprit->first,
                b->ex.axi[b->culprit_port].name);
        bundle_escape(out, line);
        fputs("</li>\n", out);
    }
    for (uint64_t i = 0; i < b->ex.rules && i < sizeof b->ex.rule / sizeof b->ex.rule[0]; i++) {
        fputs("<li>bus: ", out);
        bundle_escape(out, b->ex.rule[i]);
        fputs("</li>\n", out);
    }
    bundle_end_line(b, line, sizeof line);
    if (strcmp(line, b->result->message) != 0) {
        fprintf(out, "<li><span class=\"at\">cycle %" PRIu64 "</span> ", b->ex.cycles);
        bundle_escape(out, line);
        fputs("</li>\n", out);
    }
    fputs("</ol>\n", out);
    streams(b, out);
    left_out(b, out);
}

/* ---- output elements ---- */

static void legend(FILE *out) {
    static const struct {
        const char *class, *text;
    } keys[] = {{"heat0", "right"}, {"heat1", "few wrong"}, {"heat5", "all wrong"}, {"heatm", "not written"}};
    fputs("<p>", out);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        fprintf(out, "<span class=\"key\"><svg width=\"12\" height=\"12\"><rect class=\"%s\" width=\"12\" height=\"12\"/></svg>%s</span>",
                keys[i].class, keys[i].text);
    }
    fputs("</p>\n", out);
}

static void heat_map(const struct bundle *b, uint32_t task, FILE *out) {
    const npu_ex_task *t = &b->ex.task[task];
    tb_heat heat;
    if (tb_heat_init(&heat, t->out.size[0], t->out.size[1], t->out.size[2]) != 0) {
        fputs("<p class=\"soft\">no picture: out of memory</p>\n", out);
        return;
    }
    for (size_t i = 0; i < b->ex.wrongs; i++) {
        const npu_ex_wrong *w = &b->ex.wrong[i];
        if (w->task == task) {
            tb_heat_add(&heat, w->at, w->missing ? TB_HEAT_MISSING : TB_HEAT_WRONG);
        }
    }
    fputs("<div class=\"heat\">", out);
    for (uint32_t p = 0; p < heat.panels; p++) {
        char name[48];
        tb_heat_panel_name(&heat, p, name, sizeof name);
        fputs("<figure>", out);
        tb_heat_svg(&heat, p, out);
        fprintf(out, "<figcaption>%s", name);
        const uint64_t count = tb_heat_panel_count(&heat, p);
        if (count > 0) {
            fprintf(out, "<br><span class=\"bad\">%" PRIu64 "</span>", count);
        }
        fputs("</figcaption></figure>\n", out);
    }
    fputs("</div>\n", out);
    tb_heat_free(&heat);
}

static void wrong_table(const struct bundle *b, FILE *out) {
    fputs("<div class=\"scroll\"><table><tr><th>task</th><th>channel</th><th>row</th><th>column</th><th>address</th><th>got</th>"
          "<th>expected</th></tr>\n",
          out);
    for (size_t i = 0; i < b->ex.wrongs && i < ELEMENTS; i++) {
        const npu_ex_wrong *w = &b->ex.wrong[i];
        char name[48], got[40], expected[40];
        bundle_task_name(b, w->task, name, sizeof name);
        bundle_wrong_values(b, w, got, expected, sizeof got);
        fprintf(out, "<tr><td class=\"m\">%s</td>", name);
        for (unsigned d = 0; d < 3; d++) {
            if (w->task == NPU_EX_NONE) {
                fputs("<td>-</td>", out);
            } else {
                fprintf(out, "<td>%u</td>", w->at[d]);
            }
        }
        fprintf(out, "<td class=\"m\">0x%08" PRIx64 "</td><td class=\"m\">%s</td><td class=\"m\">%s</td></tr>\n", w->addr, got, expected);
    }
    fprintf(out, "</table></div>\n<p class=\"soft\">%" PRIu64 " wrong elements in %" PRIu64 " bytes; wrong.txt lists them.</p>\n",
            b->ex.wrong_elements, b->ex.wrong_bytes);
}

static void outputs(const struct bundle *b, FILE *out) {
    unsigned shown = 0, more = 0;
    fputs("<h2>Which output elements</h2>\n", out);
    if (!b->ex.compared) {
        fputs("<p class=\"soft\">not available: RTL and model were not compared</p>\n", out);
        return;
    }
    if (b->ex.wrong_elements == 0) {
        fputs("<p>All bytes of the memory are right.</p>\n", out);
        return;
    }
    for (uint32_t i = 0; i < b->ex.tasks; i++) {
        const npu_ex_task *t = &b->ex.task[i];
        char line[256], name[48];
        if (t->wrong + t->missing == 0) {
            continue;
        }
        if (shown++ >= TASKS) {
            more++;
            continue;
        }
        bundle_task_name(b, i, name, sizeof name);
        bundle_extent_line(b, i, line, sizeof line);
        fputs("<div class=\"card\"><b>", out);
        bundle_escape(out, name);
        fprintf(out, "</b>, output %u x %u x %u (channels, rows, columns)<br>", t->out.size[0], t->out.size[1], t->out.size[2]);
        bundle_escape(out, line);
        heat_map(b, i, out);
        legend(out);
        fputs("</div>\n", out);
    }
    if (more > 0) {
        fprintf(out, "<p class=\"soft\">and %u more tasks</p>\n", more);
    }
    wrong_table(b, out);
}

/* ---- registers, bus ---- */

static void register_row(void *ctx, const char *name, uint32_t offset, uint32_t value, bool changed, const char *meaning) {
    FILE *out = (FILE *)ctx;
    if (value == 0 && !changed) {
        return;
    }
    fprintf(out, "<tr%s><td class=\"m\">%s</td><td class=\"m\">0x%03x</td><td class=\"m\">0x%08x</td><td>", changed ? " class=\"now\"" : "",
            name, offset, value);
    bundle_escape(out, meaning);
    fputs("</td></tr>\n", out);
}

static void program(const struct bundle *b, FILE *out) {
    char name[48];
    fputs("<h2>Register program</h2>\n", out);
    if (b->task >= b->ex.tasks) {
        fputs("<p class=\"soft\">no task was started</p>\n", out);
        return;
    }
    bundle_task_name(b, b->task, name, sizeof name);
    fputs("<div class=\"scroll\"><table><caption>", out);
    put(out,
        "%s of %zu tasks, started at cycle %" PRIu64
        ". Marked: other than in the task of its unit before it. Registers that are not listed are 0. All writes: registers.txt",
        name, b->ex.tasks, b->ex.task[b->task].cycle);
    fputs("</caption><tr><th>register</th><th>offset</th><th>value</th><th>meaning</th></tr>\n", out);
    bundle_each_register(b, b->task, register_row, out);
    fputs("</table></div>\n", out);
}

static void cycle_cell(FILE *out, uint64_t cycle) {
    if (cycle == TB_AXI_LOG_NEVER) {
        fputs("<td class=\"m soft\">-</td>", out);
    } else {
        fprintf(out, "<td class=\"m\">%" PRIu64 "</td>", cycle);
    }
}

static void burst_row(const struct bundle *b, const tb_axi_log *log, const tb_axi_burst *burst, FILE *out) {
    char where[64] = "";
    if (burst->has_addr && log != &b->ex.axi[0]) {
        npu_explain_where(&b->ex, burst->addr, where, sizeof where);
    } else if (burst->has_addr) {
        char scratch[16];
        snprintf(where, sizeof where, "%s, 0x%08x", npu_explain_reg((uint32_t)burst->addr, scratch, sizeof scratch), (uint32_t)burst->data);
    }
    fprintf(out, "<tr%s><td>%s</td><td>%s</td><td class=\"m\">0x%08" PRIx64 "</td><td class=\"m\">%u</td>",
            tb_axi_burst_during(burst, b->look, b->look) ? " class=\"now\"" : "", log->name, burst->write ? "write" : "read", burst->addr,
            tb_axi_burst_bytes(log, burst));
    fprintf(out, "<td class=\"m\">%" PRIu64 "</td>", burst->id);
    cycle_cell(out, burst->taken);
    cycle_cell(out, burst->first);
    cycle_cell(out, burst->last);
    cycle_cell(out, burst->end);
    const bool ended = burst->end != TB_AXI_LOG_NEVER;
    fprintf(out, "<td%s>%s</td><td>%s</td></tr>\n", burst->resp > TB_AXI_EXOKAY ? " class=\"bad\"" : "",
            ended ? tb_axi_resp_name(burst->resp) : "-", where);
}

static void bus(const struct bundle *b, FILE *out) {
    uint64_t from, to;
    fputs("<h2>Bus around the failure</h2>\n", out);
    if (!b->ex.has_rtl) {
        fputs("<p class=\"soft\">not available: no RTL took part</p>\n", out);
        return;
    }
    bundle_window(b, &from, &to);
    fprintf(
        out,
        "<div class=\"scroll\"><table><caption>Transactions of cycles %" PRIu64 " to %" PRIu64 "; marked: in flight at cycle %" PRIu64
        ". All: axi.txt</caption><tr><th>port</th><th></th><th>address</th><th>bytes</th><th>id</th><th>address at</th><th>first data</th>"
        "<th>last data</th><th>end</th><th>response</th><th>what</th></tr>\n",
        from, to, b->look);
    for (unsigned p = 0; p < NPU_EX_PORTS; p++) {
        const tb_axi_log *log = &b->ex.axi[p];
        unsigned shown = 0;
        for (uint64_t i = tb_axi_log_first(log); i < log->count; i++) {
            if (tb_axi_burst_during(tb_axi_log_get(log, i), from, to) && shown++ < BURSTS) {
                burst_row(b, log, tb_axi_log_get(log, i), out);
            }
        }
        if (shown > BURSTS) {
            fprintf(out, "<tr><td>%s</td><td class=\"soft\" colspan=\"10\">and %u more</td></tr>\n", log->name, shown - BURSTS);
        }
    }
    fputs("</table></div>\n", out);
}

/* A picture that bundle_draw_wave() left. False: it did not. */
static bool put_picture(const struct bundle *b, const char *name, FILE *out) {
    char path[640], part[4096];
    snprintf(path, sizeof path, "%s/%s", b->temp, name);
    FILE *f = b->has_wave ? fopen(path, "r") : NULL;
    if (f == NULL) {
        return false;
    }
    fputs("<div class=\"scroll wave\">", out);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) {
        fwrite(part, 1, n, out);
    }
    fclose(f);
    fputs("</div>\n", out);
    return true;
}

static void timing(const struct bundle *b, FILE *out) {
    fputs("<h2>Timing</h2>\n", out);
    if (!put_picture(b, "timing.svg", out)) {
        fputs("<p class=\"soft\">not available: ", out);
        put(out, "%s", b->has_wave ? "the waveform could not be read" : b->no_wave);
        fputs("</p>\n", out);
        return;
    }
    fprintf(out,
            "<p class=\"soft\">Marker: cycle %" PRIu64 ". With GTKWave: <code>gtkwave wave.gtkw</code></p>\n"
            "<details><summary>More cycles</summary>\n",
            b->marker);
    put_picture(b, "timing-wide.svg", out);
    fputs("</details>\n", out);
}

static void last_part(const struct bundle *b, FILE *out) {
    fputs("<h2>Again</h2>\n<pre>", out);
    bundle_escape(out, b->again);
    fputs("</pre>\n<p>The case itself: <a href=\"case.case\">case.case</a>", out);
    if (b->has_wave) {
        fputs("; the waveform: <a href=\"wave.fst\">wave.fst</a>", out);
    }
    fputs(". Lists: <a href=\"registers.txt\">registers.txt</a>, <a href=\"axi.txt\">axi.txt</a>, <a href=\"wrong.txt\">wrong.txt</a>, "
          "<a href=\"report.txt\">report.txt</a></p>\n<h2>Versions</h2>\n<pre>",
          out);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f != NULL) {
        bundle_versions(b, f);
        fclose(f);
        bundle_escape(out, text);
    }
    free(text);
    fputs("</pre>\n</main></body></html>\n", out);
}

void bundle_report_html(const struct bundle *b, FILE *out) {
    head(b, out);
    spread(b, out);
    outputs(b, out);
    program(b, out);
    bus(b, out);
    timing(b, out);
    last_part(b, out);
}
