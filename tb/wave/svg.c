/* Timing diagrams: names at the left, cycles on top, one row a signal. */
#include "wave/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CYCLE_PX 32.0 /* wished width of a cycle */
#define PLOT_MIN_PX 640.0
#define PLOT_MAX_PX 2200.0
#define HEAD_PX 44.0 /* title and scale */
#define TITLE_Y 14.0
#define SCALE_Y 34.0
#define NAME_CHARS 28u /* longer names lose their middle */
#define LABEL_PX 64.0  /* least distance of two labels of the scale */

/* ---- text ---- */

void svg_text(FILE *out, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '&' || c == '<' || c == '>' || c == '"') {
            fprintf(out, "&#%u;", c);
        } else {
            fputc(c < ' ' || c == 0x7f ? '?' : c, out);
        }
    }
}

static void print_name(FILE *out, const char *name) {
    const size_t len = strlen(name);
    if (len <= NAME_CHARS) {
        svg_text(out, name, len);
        return;
    }
    svg_text(out, name, NAME_CHARS - 9);
    fputs("\xe2\x80\xa6", out);
    svg_text(out, name + len - 8, 8);
}

static const char *short_name(const view_row *r) {
    const char *dot = strrchr(r->path, '.');
    return r->signal != NULL ? r->signal->name : dot != NULL ? dot + 1 : r->path;
}

/* Plain colours and a second set for dark: nothing that an older SVG renderer would not understand. */
static void print_style(FILE *out) {
    fputs("<style>"
          ".tbw text{font:11px ui-monospace,'DejaVu Sans Mono',monospace;fill:#1f2328}"
          ".tbw .bg{fill:#fff}.tbw .hd{fill:#eef1f5}.tbw .t{font-weight:bold}.tbw .m{fill:#656d76}"
          ".tbw .g{stroke:#dfe3e8;stroke-width:1;fill:none}.tbw .e{fill:none;stroke:#1a7f37;stroke-width:1.2}"
          ".tbw .b{fill:#eaf2fd;stroke:#0969da;stroke-width:1}.tbw .x{fill:#ffd7d5;stroke:#cf222e;stroke-width:1}"
          ".tbw .z{fill:none;stroke:#bf8700;stroke-width:1.2;stroke-dasharray:3 2}.tbw .d{fill:#b6c8de;stroke:#0969da;stroke-width:1}"
          ".tbw .mk{stroke:#cf222e;stroke-width:1.5;fill:none}.tbw .mt{fill:#cf222e;font-weight:bold}"
          "@media(prefers-color-scheme:dark){"
          ".tbw text{fill:#e6edf3}.tbw .bg{fill:#0d1117}.tbw .hd{fill:#1c232c}.tbw .m{fill:#8d96a0}.tbw .g{stroke:#2a313a}.tbw "
          ".e{stroke:#3fb950}"
          ".tbw .b{fill:#12243d;stroke:#58a6ff}.tbw .x{fill:#4b1113;stroke:#ff7b72}.tbw .z{stroke:#d29922}.tbw "
          ".d{fill:#2b4466;stroke:#58a6ff}"
          ".tbw .mk{stroke:#ff7b72}.tbw .mt{fill:#ff7b72}}"
          "</style>\n",
          out);
}

/* ---- scale ---- */

/* Labels at round numbers of cycles, or of time units. */
static void print_scale(const svg_canvas *c, const view_state *v) {
    const double unit = v->period != 0 ? (double)v->period : 1;
    double step = 1;
    for (int i = 0; step * unit * c->px < LABEL_PX; i++) {
        step *= i % 3 == 1 ? 2.5 : 2; /* 1 2 5 10 20 50 */
    }
    const double first = ceil((double)v->from / unit / step) * step;
    fprintf(c->out, "<text class=\"m\" x=\"4\" y=\"%.0f\">%s</text>\n", SCALE_Y, v->period != 0 ? "cycle" : "time");
    for (double at = first; at * unit <= (double)v->to; at += step) {
        const double x = c->left + (at * unit - (double)v->from) * c->px;
        fprintf(c->out, "<path class=\"g\" d=\"M%.1f %.0fV%.0f\"/><text class=\"m\" x=\"%.1f\" y=\"%.0f\">%.0f</text>\n", x, SCALE_Y + 4,
                c->bottom, x + 2, SCALE_Y, at);
    }
}

static void print_marker(const svg_canvas *c, const view_state *v) {
    const uint64_t t = v->view->marker;
    if (!v->marked || t < v->from || t > v->to) {
        return;
    }
    const double x = c->left + (double)(t - v->from) * c->px;
    const bool right = x > c->left + c->plot / 2;
    fprintf(c->out, "<path class=\"mk\" d=\"M%.1f %.0fV%.0f\"/><text class=\"mt\" x=\"%.1f\" y=\"%.0f\"%s>first mismatch, %s %llu</text>\n",
            x, TITLE_Y + 6, c->bottom, x + (right ? -4 : 4), TITLE_Y + 8, right ? " text-anchor=\"end\"" : "",
            v->period != 0 ? "cycle" : "time", (unsigned long long)(v->period != 0 ? t / v->period : t));
}

/* ---- rows ---- */

static void print_rows(const svg_canvas *c, const view_state *v) {
    double y = HEAD_PX;
    size_t r = 0;
    for (size_t g = 0; g < v->view->groups; g++) {
        const tb_wave_group *group = &v->view->group[g];
        fprintf(c->out, "<rect class=\"hd\" x=\"0\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/><text class=\"t\" x=\"4\" y=\"%.0f\">", y,
                c->left + c->plot, SVG_ROW_PX - 2, y + 12);
        svg_text(c->out, group->title, strlen(group->title));
        fputs("</text>\n", c->out);
        y += SVG_ROW_PX;
        for (size_t i = 0; i < group->count; i++, r++) {
            const view_row *row = &v->row[r];
            fprintf(c->out, "<g><title>");
            svg_text(c->out, row->path, strlen(row->path));
            fprintf(c->out, "</title><text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">", c->left - 8, y + 13);
            print_name(c->out, short_name(row));
            fputs("</text></g>\n", c->out);
            if (row->signal == NULL) {
                fprintf(c->out, "<text class=\"m\" x=\"%.0f\" y=\"%.0f\">not in the file</text>\n", c->left + 4, y + 13);
            } else {
                svg_row(c, row, v->from, v->to, y + 2);
            }
            y += SVG_ROW_PX;
        }
    }
}

static void print_svg(svg_canvas *c, const view_state *v) {
    size_t longest = 8;
    for (size_t r = 0; r < v->rows; r++) {
        const size_t len = strlen(short_name(&v->row[r]));
        longest = len > longest ? len : longest;
    }
    const double span = (double)(v->to - v->from) > 0 ? (double)(v->to - v->from) : 1;
    const double wish = v->period != 0 ? span / (double)v->period * CYCLE_PX : PLOT_MAX_PX / 2;
    c->left = 20 + SVG_CHAR_PX * (double)(longest < NAME_CHARS ? longest : NAME_CHARS);
    c->plot = fmin(fmax(wish, PLOT_MIN_PX), PLOT_MAX_PX);
    c->px = c->plot / span;
    c->bottom = HEAD_PX + SVG_ROW_PX * (double)(v->rows + v->view->groups) + 4;
    const double width = c->left + c->plot + 4;
    fprintf(
        c->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tbw\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
        width, c->bottom, width, c->bottom);
    print_style(c->out);
    fprintf(c->out, "<rect class=\"bg\" width=\"%.0f\" height=\"%.0f\"/>\n<text class=\"t\" x=\"4\" y=\"%.0f\">", width, c->bottom,
            TITLE_Y);
    if (v->view->title != NULL) {
        svg_text(c->out, v->view->title, strlen(v->view->title));
    }
    fputs("</text>\n", c->out);
    print_scale(c, v);
    print_rows(c, v);
    print_marker(c, v);
    fputs("</svg>\n", c->out);
}

int tb_wave_svg(const tb_wave_view *view, FILE *out, char *err, size_t err_size) {
    view_state v;
    int status = view_open(&v, view, err, err_size);
    if (status == 0) {
        view_narrow(&v);
        status = view_read(&v, err, err_size);
    }
    if (status == 0) {
        svg_canvas c = {.out = out};
        print_svg(&c, &v);
        if (fflush(out) != 0 || ferror(out) != 0) {
            snprintf(err, err_size, "the timing diagram could not be written");
            status = -1;
        }
    }
    view_close(&v);
    return status;
}
