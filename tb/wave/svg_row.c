/* The wave of one signal: a line for one bit, hexagons with values for a bus; changes too dense to be distinguished
 * become a block. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wave/svg.h"

#define HIGH 2.0 /* from the top of the row */
#define LOW 14.0
#define MIDDLE 8.0
#define SLOPE 2.0    /* of a hexagon */
#define DENSE_PX 2.5 /* narrower segments are merged */
#define TITLE_DIGITS 64u

typedef enum kind { KIND_VALUE, KIND_X, KIND_Z, KIND_DENSE } kind;

typedef struct segment {
    double x0, x1;
    kind kind;
    const char *bits;
} segment;

static kind kind_of(const char *bits, size_t width) {
    const char *x = memchr(bits, 'x', width);
    const char *z = memchr(bits, 'z', width);
    if (x != NULL) {
        return KIND_X;
    }
    return z == NULL                                                              ? KIND_VALUE
           : memchr(bits, '0', width) == NULL && memchr(bits, '1', width) == NULL ? KIND_Z
                                                                                  : KIND_X;
}

/* The drawn pieces of a row; neighbours that are too narrow are one dense piece. At most one for every DENSE_PX and
 * each change that is wide. */
static size_t segments_of(const svg_canvas *c, const view_row *row, uint64_t from, uint64_t to, segment *seg) {
    size_t n = 0;
    for (size_t i = 0; i < row->changes; i++) {
        const uint64_t end = i + 1 < row->changes ? row->change[i + 1].time : to;
        const double x0 = c->left + (double)(row->change[i].time - from) * c->px;
        const double x1 = c->left + (double)(end - from) * c->px;
        const char *bits = row->bits + row->change[i].value;
        if (x1 <= x0 && i > 0) {
            continue; /* at the right edge */
        }
        const bool narrow = x1 - x0 < DENSE_PX && row->changes > 1;
        if (narrow && n > 0 && seg[n - 1].kind == KIND_DENSE) {
            seg[n - 1].x1 = x1;
        } else {
            seg[n++] = (segment){
                .x0 = x0, .x1 = x1, .kind = narrow ? KIND_DENSE : kind_of(bits, row->signal->width), .bits = bits};
        }
    }
    return n;
}

/* ---- one bit ---- */

static void print_bit(const svg_canvas *c, const segment *seg, size_t n, double y) {
    bool open = false;
    double level = 0;
    for (size_t i = 0; i < n; i++) {
        const bool line = seg[i].kind == KIND_VALUE;
        const double at = y + (seg[i].bits[0] == '1' ? HIGH : LOW);
        if (open && !line) {
            fputs("\"/>", c->out);
        }
        if (line && !open) {
            fprintf(c->out, "<path class=\"e\" d=\"M%.1f %.1f", seg[i].x0, at);
        } else if (line && at != level) {
            fprintf(c->out, "V%.1f", at);
        }
        if (line) {
            fprintf(c->out, "H%.1f", seg[i].x1);
        } else if (seg[i].kind == KIND_Z) {
            fprintf(c->out, "<path class=\"z\" d=\"M%.1f %.1fH%.1f\"/>", seg[i].x0, y + MIDDLE, seg[i].x1);
        } else {
            fprintf(c->out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                    seg[i].kind == KIND_X ? "x" : "d", seg[i].x0, y + HIGH, fmax(seg[i].x1 - seg[i].x0, 0.5),
                    LOW - HIGH);
        }
        open = line;
        level = at;
    }
    fputs(open ? "\"/>\n" : "\n", c->out);
}

/* ---- buses ---- */

static void print_value(const svg_canvas *c, const segment *s, uint32_t width, double y, char *text) {
    const double room = s->x1 - s->x0 - 2 * SLOPE - 1;
    const size_t fit = room > 0 ? (size_t)(room / SVG_DIGIT_PX) : 0;
    const size_t n = tb_wave_hex(s->bits, width, text);
    const double x = (s->x0 + s->x1) / 2;
    if (n <= fit) {
        fprintf(c->out, "<text class=\"v\" x=\"%.1f\" y=\"%.1f\">%.*s</text>", x, y + LOW - 2, (int)n, text);
    } else if (fit >= 4) {
        fprintf(c->out, "<g><title>0x%.*s%s</title><text class=\"v\" x=\"%.1f\" y=\"%.1f\">%.*s\xe2\x80\xa6</text></g>",
                (int)(n < TITLE_DIGITS ? n : TITLE_DIGITS), text, n > TITLE_DIGITS ? "..." : "", x, y + LOW - 2,
                (int)fit - 1, text);
    }
}

static void print_bus(const svg_canvas *c, const segment *seg, size_t n, uint32_t width, double y, char *text) {
    static const char *const style[] = {"b", "x", "z", "d"};
    for (int k = KIND_VALUE; k <= KIND_DENSE; k++) {
        bool open = false;
        for (size_t i = 0; i < n; i++) {
            if (seg[i].kind != (kind)k) {
                continue;
            }
            if (!open) {
                fprintf(c->out, "<path class=\"%s\" d=\"", style[k]);
                open = true;
            }
            const double wide = seg[i].x1 - seg[i].x0;
            const double slope = fmin(SLOPE, wide / 2);
            if (k == KIND_Z) {
                fprintf(c->out, "M%.1f %.1fh%.1f", seg[i].x0, y + MIDDLE, wide);
            } else if (k == KIND_DENSE) {
                fprintf(c->out, "M%.1f %.1fh%.1fv%.1fh%.1fz", seg[i].x0, y + HIGH, fmax(wide, 0.5), LOW - HIGH,
                        -fmax(wide, 0.5));
            } else {
                fprintf(c->out, "M%.1f %.1fl%.1f %.1fh%.1fl%.1f %.1fl%.1f %.1fh%.1fz", seg[i].x0, y + MIDDLE, slope,
                        HIGH - MIDDLE, wide - 2 * slope, slope, MIDDLE - HIGH, -slope, LOW - MIDDLE, 2 * slope - wide);
            }
        }
        fputs(open ? "\"/>" : "", c->out);
    }
    for (size_t i = 0; i < n; i++) {
        if (seg[i].kind == KIND_VALUE || seg[i].kind == KIND_X) {
            print_value(c, &seg[i], width, y, text);
        }
    }
    fputc('\n', c->out);
}

void svg_row(const svg_canvas *c, const view_row *row, uint64_t from, uint64_t to, double y) {
    segment *seg = calloc(row->changes + 1, sizeof *seg);
    char *text = malloc(row->signal->width / 4 + 2);
    if (seg == NULL || text == NULL) {
        *c->no_memory = true;
    } else {
        const size_t n = segments_of(c, row, from, to, seg);
        if (row->signal->width == 1) {
            print_bit(c, seg, n, y);
        } else {
            print_bus(c, seg, n, row->signal->width, y, text);
        }
    }
    free(seg);
    free(text);
}
