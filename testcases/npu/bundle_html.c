/* bundle_html.c - the NPU's part of the page of a report: wrong output elements, and the register program. */
#include "bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

#define TASKS 6u     /* with a heat map */
#define ELEMENTS 12u /* in the table of wrong ones */

const char bundle_style[] =
    ":root{--h0:#eceff1;--h1:#f7c6bf;--h2:#ef9a8f;--h3:#e06a5c;--h4:#c53f33;--h5:#96201a;--hm:#7b8fb5}"
    "@media(prefers-color-scheme:dark){:root{--h0:#2a3036;--h1:#5a2a28;--h2:#8a352f;--h3:#bb4a40;--h4:#e36b5d;--h5:#"
    "ffa79b;--hm:#8296c4}}"
    ".heat{display:flex;flex-wrap:wrap;gap:10px 12px;margin:.8em 0}.heat figure{margin:0;"
    "text-align:center;font-size:.75rem;color:var(--soft)}.heat svg{display:block;margin:0 auto 2px;border:1px solid "
    "var(--line)}"
    ".heat0{fill:var(--h0)}.heat1{fill:var(--h1)}.heat2{fill:var(--h2)}.heat3{fill:var(--h3)}.heat4{fill:var(--h4)}."
    "heat5{fill:var(--h5)}"
    ".heatm{fill:var(--hm)}.key{display:inline-flex;align-items:center;gap:5px;margin-right:14px;font-size:.8rem;color:"
    "var(--soft)}"
    ".key svg{flex:none}";

/* ---- output elements ---- */

static void legend(FILE *out) {
    static const struct {
        const char *class, *text;
    } keys[] = {{"heat0", "right"}, {"heat1", "few wrong"}, {"heat5", "all wrong"}, {"heatm", "not written"}};
    fputs("<p>", out);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        fprintf(out,
                "<span class=\"key\"><svg width=\"12\" height=\"12\"><rect class=\"%s\" width=\"12\" "
                "height=\"12\"/></svg>%s</span>",
                keys[i].class, keys[i].text);
    }
    fputs("</p>\n", out);
}

static void heat_map(const tb_report *r, uint32_t task, FILE *out) {
    const npu_bundle *b = npu_bundle_of(r);
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

static void wrong_table(const tb_report *r, FILE *out) {
    const npu_bundle *b = npu_bundle_of(r);
    fputs("<div "
          "class=\"scroll\"><table><tr><th>task</th><th>channel</th><th>row</th><th>column</th><th>address</"
          "th><th>got</th>"
          "<th>expected</th></tr>\n",
          out);
    for (size_t i = 0; i < b->ex.wrongs && i < ELEMENTS; i++) {
        const npu_ex_wrong *w = &b->ex.wrong[i];
        char name[48], got[40], expected[40];
        bundle_task_name(r, w->task, name, sizeof name);
        bundle_wrong_values(r, w, got, expected, sizeof got);
        fprintf(out, "<tr><td class=\"m\">%s</td>", name);
        for (unsigned d = 0; d < 3; d++) {
            if (w->task == NPU_EX_NONE) {
                fputs("<td>-</td>", out);
            } else {
                fprintf(out, "<td>%u</td>", w->at[d]);
            }
        }
        fprintf(out, "<td class=\"m\">0x%08" PRIx64 "</td><td class=\"m\">%s</td><td class=\"m\">%s</td></tr>\n",
                w->addr, got, expected);
    }
    fprintf(out,
            "</table></div>\n<p class=\"soft\">%" PRIu64 " wrong elements in %" PRIu64
            " bytes; wrong.txt lists them.</p>\n",
            b->ex.wrong_elements, b->ex.wrong_bytes);
}

static void outputs(const tb_report *r, FILE *out) {
    const npu_bundle *b = npu_bundle_of(r);
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
        bundle_task_name(r, i, name, sizeof name);
        bundle_extent_line(r, i, line, sizeof line);
        fputs("<div class=\"card\"><b>", out);
        rep_xml(out, name);
        fprintf(out, "</b>, output %u x %u x %u (channels, rows, columns)<br>", t->out.size[0], t->out.size[1],
                t->out.size[2]);
        rep_xml(out, line);
        heat_map(r, i, out);
        legend(out);
        fputs("</div>\n", out);
    }
    if (more > 0) {
        fprintf(out, "<p class=\"soft\">and %u more tasks</p>\n", more);
    }
    wrong_table(r, out);
}

/* ---- registers ---- */

static void register_row(void *ctx, const char *name, uint32_t offset, uint32_t value, bool changed,
                         const char *meaning) {
    FILE *out = (FILE *)ctx;
    if (value == 0 && !changed) {
        return;
    }
    fprintf(out, "<tr%s><td class=\"m\">%s</td><td class=\"m\">0x%03x</td><td class=\"m\">0x%08x</td><td>",
            changed ? " class=\"now\"" : "", name, offset, value);
    rep_xml(out, meaning);
    fputs("</td></tr>\n", out);
}

static void program(const tb_report *r, FILE *out) {
    const npu_bundle *b = npu_bundle_of(r);
    char name[48];
    fputs("<h2>Register program</h2>\n", out);
    if (b->task >= b->ex.tasks) {
        fputs("<p class=\"soft\">no task was started</p>\n", out);
        return;
    }
    bundle_task_name(r, b->task, name, sizeof name);
    fputs("<div class=\"scroll\"><table><caption>", out);
    rep_xmlf(out,
             "%s of %zu tasks, started at cycle %" PRIu64
             ". Marked: different from the previous task of the unit. Registers that are not listed are 0. All writes: "
             "registers.txt",
             name, b->ex.tasks, b->ex.task[b->task].cycle);
    fputs("</caption><tr><th>register</th><th>offset</th><th>value</th><th>meaning</th></tr>\n", out);
    bundle_each_register(r, b->task, register_row, out);
    fputs("</table></div>\n", out);
}

void bundle_html(const tb_report *r, FILE *out) {
    outputs(r, out);
    program(r, out);
}
