/* Timing diagrams: names at the left, cycles on top, one row a signal. */
#include "wave/svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

#define CYCLE_PX 56.0 /* wished width of a cycle */
#define CYCLES 12u    /* unless the view says otherwise: with the longest names still no wider than a page */
#define PLOT_MIN_PX 640.0
#define PLOT_MAX_PX 2300.0
#define HEAD_PX 48.0 /* title and scale */
#define TITLE_Y 13.0
#define MARKER_Y 26.0
#define SCALE_Y 40.0
#define NAME_CHARS 28u  /* longer names lose their middle */
#define FOLD_DIGITS 32u /* of a value among the words */
#define SHORT_BYTES (NAME_CHARS + 4u)
#define LABEL_PX 64.0 /* least distance of two labels of the scale */

/* ---- text ---- */

/* A long name loses its middle. */
static void short_text(char text[SHORT_BYTES], const char *name) {
    const size_t len = strlen(name);
    if (len <= NAME_CHARS) {
        snprintf(text, SHORT_BYTES, "%s", name);
    } else {
        snprintf(text, SHORT_BYTES, "%.*s\xe2\x80\xa6%s", (int)NAME_CHARS - 9, name, name + len - 8);
    }
}

static const char *short_name(const view_row *r) {
    const char *dot = strrchr(r->path, '.');
    return r->signal != NULL ? r->signal->name : dot != NULL ? dot + 1 : r->path;
}

/* Plain colours and a second set for dark: nothing that an older SVG renderer would not understand. */
static void print_style(FILE *out) {
    fputs("<style>"
          ".tbw text{font:11px ui-monospace,'DejaVu Sans Mono',monospace;fill:#1f2328}"
          ".tbw .v{font-size:10px;text-anchor:middle}"
          ".tbw .bg{fill:#fff}.tbw .hd{fill:#eef1f5}.tbw .t{font-weight:bold}.tbw .m{fill:#656d76}"
          ".tbw .g{stroke:#dfe3e8;stroke-width:1;fill:none}.tbw .e{fill:none;stroke:#1a7f37;stroke-width:1.2}"
          ".tbw .b{fill:#eaf2fd;stroke:#0969da;stroke-width:1}.tbw .x{fill:#ffd7d5;stroke:#cf222e;stroke-width:1}"
          ".tbw .z{fill:none;stroke:#bf8700;stroke-width:1.2;stroke-dasharray:3 2}.tbw "
          ".d{fill:#b6c8de;stroke:#0969da;stroke-width:1}"
          ".tbw .mk{stroke:#cf222e;stroke-width:1.5;fill:none}.tbw .mt{fill:#cf222e;font-weight:bold}"
          "@media(prefers-color-scheme:dark){"
          ".tbw text{fill:#e6edf3}.tbw .bg{fill:#0d1117}.tbw .hd{fill:#1c232c}.tbw .m{fill:#8d96a0}.tbw "
          ".g{stroke:#2a313a}.tbw "
          ".e{stroke:#3fb950}"
          ".tbw .b{fill:#12243d;stroke:#58a6ff}.tbw .x{fill:#4b1113;stroke:#ff7b72}.tbw .z{stroke:#d29922}.tbw "
          ".d{fill:#2b4466;stroke:#58a6ff}"
          ".tbw .mk{stroke:#ff7b72}.tbw .mt{fill:#ff7b72}}"
          "</style>\n",
          out);
}

/* Above the diagram, cut where it ends; all of it is what a pointer on it shows. */
static void print_title(const svg_canvas *c, const char *title) {
    const size_t length = title != NULL ? strlen(title) : 0;
    const double fit = (c->left + c->plot) / SVG_CHAR_PX;
    size_t bytes = 0; /* up to the end of the last character that fits with an ellipsis behind it */
    for (size_t i = 0, chars = 2; i < length && (double)chars < fit; chars++) {
        const size_t size = rep_utf8(title + i, length - i);
        i += size != 0 ? size : 1;
        bytes = i;
    }
    char *cut = malloc(bytes + 1);
    if (cut == NULL) {
        *c->no_memory = true;
        return;
    }
    memcpy(cut, title != NULL ? title : "", bytes);
    cut[bytes] = '\0';
    fputs("<g><title>", c->out);
    rep_xml(c->out, title);
    fprintf(c->out, "</title><text class=\"t\" x=\"4\" y=\"%.0f\">", TITLE_Y);
    rep_xml(c->out, cut);
    fputs(bytes < length ? "\xe2\x80\xa6</text></g>\n" : "</text></g>\n", c->out);
    free(cut);
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
        fprintf(c->out,
                "<path class=\"g\" d=\"M%.1f %.0fV%.0f\"/><text class=\"m\" x=\"%.1f\" y=\"%.0f\">%.0f</text>\n", x,
                SCALE_Y + 4, c->bottom, x + 2, SCALE_Y, at);
    }
}

static void print_marker(const svg_canvas *c, const view_state *v) {
    const uint64_t t = v->view->marker;
    if (!v->marked || t < v->from || t > v->to) {
        return;
    }
    const double x = c->left + (double)(t - v->from) * c->px;
    const bool right = x > c->left + c->plot / 2;
    fprintf(c->out,
            "<path class=\"mk\" d=\"M%.1f %.0fV%.0f\"/><text class=\"mt\" x=\"%.1f\" y=\"%.0f\"%s>first mismatch, %s "
            "%llu</text>\n",
            x, MARKER_Y - 8, c->bottom, x + (right ? -4 : 4), MARKER_Y, right ? " text-anchor=\"end\"" : "",
            v->period != 0 ? "cycle" : "time", (unsigned long long)(v->period != 0 ? t / v->period : t));
}

/* ---- rows ---- */

/* Signals that hold one known value, and those that the file does not have, are words and not waves. */
static bool is_folded(const view_row *r) {
    return r->signal == NULL || r->changes == 0 ||
           (r->changes == 1 && memchr(r->bits, 'x', r->signal->width) == NULL &&
            memchr(r->bits, 'z', r->signal->width) == NULL);
}

static void fold_entry(const svg_canvas *c, const view_row *r, char *text, size_t size) {
    char name[SHORT_BYTES];
    short_text(name, short_name(r));
    if (r->signal == NULL || r->changes == 0) {
        snprintf(text, size, "%s: %s", name, r->signal == NULL ? "not in the file" : "no value");
        return;
    }
    char *value = malloc(r->signal->width / 4 + 2);
    *c->no_memory = *c->no_memory || value == NULL;
    const size_t n = value != NULL ? tb_wave_hex(r->bits, r->signal->width, value) : 0;
    snprintf(text, size, "%s=%.*s%s", name, (int)(n < FOLD_DIGITS ? n : FOLD_DIGITS), value != NULL ? value : "",
             n > FOLD_DIGITS ? "\xe2\x80\xa6" : "");
    free(value);
}

/* The folded signals of a group, wrapped. Returns the number of lines; out NULL: only counts. */
static unsigned print_folded(const svg_canvas *c, FILE *out, const view_row *row, size_t rows, double y) {
    const size_t wide = (size_t)((c->plot - 8) / SVG_CHAR_PX);
    unsigned lines = 0;
    size_t used = 0;
    for (size_t i = 0; i < rows; i++) {
        char text[SHORT_BYTES + FOLD_DIGITS + 16];
        if (!is_folded(&row[i])) {
            continue;
        }
        fold_entry(c, &row[i], text, sizeof text);
        const size_t len = strlen(text);
        if (lines == 0 || used + len + 2 > wide) {
            if (out != NULL) {
                fprintf(out, "%s<text class=\"m\" x=\"%.0f\" y=\"%.0f\" xml:space=\"preserve\">",
                        lines > 0 ? "</text>\n" : "", c->left + 4, y + lines * SVG_ROW_PX + 13);
            }
            lines++;
            used = 0;
        }
        used += len + 2;
        if (out != NULL) {
            rep_xml(out, text);
            fputs("  ", out);
        }
    }
    if (lines > 0 && out != NULL) {
        fprintf(out, "</text>\n<text class=\"m\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">unchanged</text>\n",
                c->left - 8, y + 13);
    }
    return lines;
}

static void print_wave(const svg_canvas *c, const view_state *v, const view_row *row, double y) {
    char name[SHORT_BYTES];
    short_text(name, short_name(row));
    fputs("<g><title>", c->out);
    rep_xml(c->out, row->path);
    fprintf(c->out, "</title><text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">", c->left - 8, y + 13);
    rep_xml(c->out, name);
    fputs("</text></g>\n", c->out);
    svg_row(c, row, v->from, v->to, y + 2);
}

static void print_rows(const svg_canvas *c, const view_state *v) {
    double y = HEAD_PX;
    const view_row *row = v->row;
    for (size_t g = 0; g < v->view->groups; g++) {
        const tb_wave_group *group = &v->view->group[g];
        fprintf(c->out,
                "<rect class=\"hd\" x=\"0\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/><text class=\"t\" x=\"4\" "
                "y=\"%.0f\">",
                y, c->left + c->plot, SVG_ROW_PX - 2, y + 12);
        rep_xml(c->out, group->title);
        fputs("</text>\n", c->out);
        y += SVG_ROW_PX;
        for (size_t i = 0; i < group->count; i++) {
            if (!is_folded(&row[i])) {
                print_wave(c, v, &row[i], y);
                y += SVG_ROW_PX;
            }
        }
        y += SVG_ROW_PX * print_folded(c, c->out, row, group->count, y);
        row += group->count;
    }
}

/* ---- the whole ---- */

/* Sizes, from the names and the rows. */
static void lay_out(svg_canvas *c, const view_state *v) {
    size_t longest = sizeof "unchanged" - 1;
    size_t lines = v->view->groups;
    const view_row *row = v->row;
    for (size_t r = 0; r < v->rows; r++) {
        const size_t len = strlen(short_name(&row[r]));
        longest = !is_folded(&row[r]) && len > longest ? len : longest;
        lines += is_folded(&row[r]) ? 0 : 1;
    }
    const double span = v->to > v->from ? (double)(v->to - v->from) : 1;
    const double wish = v->period != 0 ? span / (double)v->period * CYCLE_PX : PLOT_MAX_PX / 2;
    c->left = 20 + SVG_CHAR_PX * (double)(longest < NAME_CHARS ? longest : NAME_CHARS);
    c->plot = fmin(fmax(wish, PLOT_MIN_PX), PLOT_MAX_PX);
    c->px = c->plot / span;
    for (size_t g = 0; g < v->view->groups; g++) {
        lines += print_folded(c, NULL, row, v->view->group[g].count, 0);
        row += v->view->group[g].count;
    }
    c->bottom = HEAD_PX + SVG_ROW_PX * (double)lines + 4;
}

static void print_svg(svg_canvas *c, const view_state *v) {
    lay_out(c, v);
    const double width = c->left + c->plot + 4;
    fprintf(c->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tbw\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
            "%.0f\" role=\"img\">\n",
            width, c->bottom, width, c->bottom);
    print_style(c->out);
    fprintf(c->out, "<rect class=\"bg\" width=\"%.0f\" height=\"%.0f\"/>\n", width, c->bottom);
    print_title(c, v->view->title);
    print_scale(c, v);
    print_rows(c, v);
    print_marker(c, v);
    fputs("</svg>\n", c->out);
}

int tb_wave_svg(const tb_wave_view *view, const char *output, char *err, size_t err_size) {
    view_state v;
    int status = view_open(&v, view, err, err_size);
    if (status == 0) {
        view_narrow(&v, CYCLES);
        status = view_read(&v, err, err_size);
    }
    if (status == 0) {
        rep_file f;
        int error = rep_file_open(&f, output);
        if (error == 0) {
            bool no_memory = false;
            svg_canvas c = {.out = f.file, .no_memory = &no_memory};
            print_svg(&c, &v);
            if (no_memory) {
                rep_file_drop(&f);
            }
            error = no_memory ? ENOMEM : rep_file_close(&f, false);
        }
        if (error != 0) {
            snprintf(err, err_size, "%.200s: %s", output, strerror(error));
            status = -1;
        }
    }
    view_close(&v);
    return status;
}
