/* part_page.c - single layers as a page: figures, a timeline of the units, a roofline, a table. The page has no scripts
 * and no external files. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "part.h"
#include "text.h"

#define CLOCK_MHZ 200.0
#define BUS_BYTES 32.0 /* of both channels in a cycle, each way */

/* Styles of this page: three colours for kinds of work, pictures as wide as the page. */
static const char style[] = ":root{--a:#2f7ed8;--b:#3f9c69;--c:#d08a1f}@media(prefers-color-scheme:dark){:root{--a:#"
                            "6aa9f4;--b:#57b884;--c:#e2a94f}}"
                            "th,td{padding:2px 9px;text-align:right;white-space:nowrap}.l{text-align:left}"
                            "svg{display:block;width:100%;min-width:700px}svg "
                            "text{font-size:11px}.roof{stroke:var(--soft);fill:none;stroke-width:1.5}"
                            ".s0{fill:var(--a)}.s1{fill:var(--b)}.s2{fill:var(--c)}";

static uint64_t total(const part_job *j) {
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < j->count; i++) {
        cycles += j->part[i].out.cycles;
    }
    return cycles;
}

static void put_tiles(const part_job *j, FILE *out) {
    const uint64_t cycles = total(j);
    const double ms = (double)cycles / (CLOCK_MHZ * 1e3);
    uint64_t bytes = 0;
    uint64_t prediction = 0;
    uint32_t same = 0;
    char text[64];
    for (uint32_t i = 0; i < j->count; i++) {
        bytes += part_bytes(&j->part[i], false) + part_bytes(&j->part[i], true);
        prediction += j->part[i].estimate.cycles;
        same += j->part[i].out.status == NET_OK;
    }
    fputs("<div class=\"tiles\">\n", out);
    (void)snprintf(text, sizeof text, "%u of %u", same, j->count);
    rep_tile(out, NULL, text, "layers equal to the golden model");
    (void)snprintf(text, sizeof text, "%" PRIu64, cycles);
    rep_tile(out, NULL, text, "cycles of the layers");
    (void)snprintf(text, sizeof text, "%.2f ms", ms);
    rep_tile(out, NULL, text, "at 200 MHz");
    if (j->opt->published > 0) {
        (void)snprintf(text, sizeof text, "%.2f ms", j->opt->published);
        rep_tile(out, NULL, text, "published");
        (void)snprintf(text, sizeof text, "%.2f", ms / j->opt->published);
        rep_tile(out, NULL, text, "of the published time");
    }
    (void)snprintf(text, sizeof text, "%.1f&nbsp;%%",
                   cycles == 0 ? 0.0 : 100.0 * (double)j->macs / (2.0 * j->opt->n * j->opt->n * (double)cycles));
    rep_tile(out, NULL, text, "of the mesh's multiply-accumulates");
    (void)snprintf(text, sizeof text, "%+.1f&nbsp;%%", part_off(prediction, cycles));
    rep_tile(out, NULL, text, "predicted cycles off");
    if (j->opt->stalls) {
        (void)snprintf(text, sizeof text, "%.1f MB", (double)bytes / 1e6);
        rep_tile(out, NULL, text, "over the bus");
    }
    fputs("</div>\n", out);
}

/* ---- timeline: a row for each unit, a box for each layer; its height is the share of the layer's cycles ---- */

typedef struct track {
    const char *name;
    uint32_t counter, colour;
} track;

static const track tracks[] = {
    {"load", 21, 0},       {"mesh", 1, 1}, {"write-back", 22, 0}, {"waits: input", 6, 2}, {"waits: weights", 7, 2},
    {"waits: room", 8, 2}, {"ALU", 27, 1}, {"ALU waits", 28, 2},  {"POOL", 30, 1},        {"POOL waits", 31, 2}};
#define TRACKS (sizeof tracks / sizeof tracks[0])
#define ROW 26.0
#define LEFT 100.0
#define WIDE 980.0

static void put_timeline(const part_job *j, FILE *out) {
    const double all = (double)total(j);
    const double height = ROW * (double)TRACKS;
    fputs("<h2>Timeline</h2>\n<p class=\"soft\">Layers one after the other, as wide as their cycles; a box fills its "
          "row as far as the unit "
          "fills the "
          "layer's cycles.</p>\n<div class=\"scroll\">",
          out);
    rep_svg_begin(out, NULL, 1090, height + 24, "timeline of the units");
    for (size_t t = 0; t < TRACKS; t++) {
        const double base = ROW * (double)(t + 1);
        double x = LEFT;
        rep_svg_text(out, LEFT - 8, base - 7, "end", "%s", tracks[t].name);
        fprintf(out, "<path class=\"axis\" d=\"M%.0f %.1fH%.0f\"/>\n", LEFT, base, LEFT + WIDE);
        for (uint32_t i = 0; i < j->count && all > 0; i++) {
            const part *p = &j->part[i];
            const double w = WIDE * (double)p->out.cycles / all;
            const double share = part_share(p, p->out.counter[tracks[t].counter]);
            const double h = (ROW - 5) * (share > 100 ? 100 : share) / 100;
            if (h > 0.3) {
                fprintf(out, "<rect class=\"s%u\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>",
                        tracks[t].colour, x, base - h, w > 0.6 ? w - 0.3 : w, h);
                rep_xml(out, j->run.graph.layer[p->first].name);
                fprintf(out, ": %s %.1f %%</title></rect>\n", tracks[t].name, share);
            }
            x += w;
        }
    }
    rep_svg_text(out, LEFT, height + 16, "start", "0");
    rep_svg_text(out, LEFT + WIDE, height + 16, "end", "%.0f cycles", all);
    fputs("</svg></div>\n", out);
}

/* ---- roofline: multiply-accumulates a cycle over multiply-accumulates a byte, both logarithmic ---- */

#define PLOT_W 980.0
#define PLOT_H 300.0
#define MIN_INTENSITY 0.5
#define MAX_INTENSITY 4096.0

static double plot_x(double intensity) {
    const double at = intensity < MIN_INTENSITY ? MIN_INTENSITY : intensity > MAX_INTENSITY ? MAX_INTENSITY : intensity;
    return LEFT + PLOT_W * log(at / MIN_INTENSITY) / log(MAX_INTENSITY / MIN_INTENSITY);
}

static double plot_y(double rate, double peak) {
    const double low = peak / 512;
    const double at = rate < low ? low : rate > peak ? peak : rate;
    return 12 + PLOT_H * log(peak / at) / log(peak / low);
}

static void put_roofline(const part_job *j, FILE *out) {
    const double peak = 2.0 * j->opt->n * j->opt->n;
    const double ridge = peak / (2 * BUS_BYTES); /* both ways together */
    fprintf(out,
            "<h2>Roofline</h2>\n<p class=\"soft\">Layers with multiply-accumulates. Left of the ridge (%.0f a byte) "
            "the bus is the bound: 32 "
            "bytes read and 32 "
            "written a cycle; right of it the mesh, %.0f a cycle.</p>\n<div class=\"scroll\">",
            ridge, peak);
    rep_svg_begin(out, NULL, 1090, 350, "roofline");
    fprintf(out,
            "<path class=\"axis\" d=\"M%.0f 12V%.0fH%.0f\"/><path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1fH%.1f\"/>\n",
            LEFT, PLOT_H + 12, LEFT + PLOT_W, plot_x(MIN_INTENSITY), plot_y(MIN_INTENSITY * 2 * BUS_BYTES, peak),
            plot_x(ridge), plot_y(peak, peak), LEFT + PLOT_W);
    for (double tick = 1; tick <= MAX_INTENSITY; tick *= 8) {
        rep_svg_text(out, plot_x(tick), PLOT_H + 26, "middle", "%.0f", tick);
    }
    for (double tick = peak; tick >= peak / 512; tick /= 8) {
        rep_svg_text(out, LEFT - 8, plot_y(tick, peak) + 4, "end", "%.3g", tick);
    }
    rep_svg_text(out, LEFT + PLOT_W, PLOT_H + 40, "end", "MACs a byte");
    rep_svg_text(out, LEFT + 6, 10, "start", "MACs a cycle");
    const double all = (double)total(j);
    for (uint32_t i = 0; i < j->count; i++) {
        const part *p = &j->part[i];
        const double bytes = (double)(part_bytes(p, false) + part_bytes(p, true));
        if (p->macs == 0 || bytes == 0 || p->out.cycles == 0) {
            continue;
        }
        fprintf(out, "<circle class=\"s0\" fill-opacity=\".65\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>",
                plot_x((double)p->macs / bytes), plot_y((double)p->macs / (double)p->out.cycles, peak),
                3 + 18 * sqrt((double)p->out.cycles / all));
        rep_xml(out, j->run.graph.layer[p->first].name);
        fprintf(out, ": %.1f MACs a byte, %.1f a cycle, %.1f %% of the cycles</title></circle>\n",
                (double)p->macs / bytes, (double)p->macs / (double)p->out.cycles, 100.0 * (double)p->out.cycles / all);
    }
    fputs("</svg></div>\n", out);
}

/* ---- table ---- */

static void put_row(const part_job *j, const part *p, FILE *out) {
    const uint64_t *c = p->out.counter;
    const uint64_t prediction = p->estimate.cycles;
    fprintf(out, "<tr><td class=\"l\">%u</td><td class=\"l\">", p->first);
    rep_xml(out, j->run.graph.layer[p->first].type);
    fputs("</td><td class=\"l\">", out);
    rep_xml(out, j->run.graph.layer[p->first].name);
    fprintf(out, "</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>%+.1f</td>", p->macs,
            p->out.cycles, prediction, part_off(prediction, p->out.cycles));
    if (j->opt->stalls) {
        fprintf(
            out,
            "<td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.2f</td>",
            part_share(p, c[21]), part_share(p, c[1]), part_share(p, c[22]), part_share(p, c[6] + c[28] + c[31]),
            part_share(p, c[7]), part_share(p, c[8] + c[29] + c[32]), part_share(p, (c[25] + c[26]) / 2),
            (double)(part_bytes(p, false) + part_bytes(p, true)) / 1e6);
    }
    if (p->out.status == NET_OK) {
        fputs("<td class=\"l\">same</td></tr>\n", out);
    } else {
        fputs("<td class=\"l bad\">", out);
        rep_xml(out, p->out.message);
        fputs("</td></tr>\n", out);
    }
}

static void put_all(FILE *out, const void *ctx) {
    const part_job *j = ctx;
    const char *slash = strrchr(j->opt->net, '/');
    const char *name = slash == NULL ? j->opt->net : slash + 1;
    rep_page_begin(out, name, NULL, style);
    fputs("<main>\n<h1>", out);
    rep_xml(out, name);
    fprintf(out, ", N = %u, device %s</h1>\n", j->opt->n, j->opt->device);
    put_tiles(j, out);
    if (j->opt->stalls) {
        put_timeline(j, out);
        put_roofline(j, out);
    } else {
        fputs("<p class=\"soft\">Without --stalls there are no counters: no timeline, no roofline.</p>\n", out);
    }
    fputs("<h2>Layers</h2>\n<div class=\"scroll\"><table><tr><th class=\"l\">layer</th><th class=\"l\">type</th><th "
          "class=\"l\">name</th><th>MACs</th>"
          "<th>cycles</th><th>predicted</th><th>off, %</th>",
          out);
    if (j->opt->stalls) {
        fputs("<th>load, %</th><th>mesh, %</th><th>write-back, %</th><th>waits for input, %</th><th>weights, "
              "%</th><th>room, "
              "%</th><th>sums, %</th><th>MB</th>",
              out);
    }
    fputs("<th class=\"l\">result</th></tr>\n", out);
    for (uint32_t i = 0; i < j->count; i++) {
        put_row(j, &j->part[i], out);
    }
    fputs("</table></div>\n", out);
    rep_page_end(out);
}

bool part_page(const part_job *j, const char *path) {
    return put_file(path, put_all, j);
}
