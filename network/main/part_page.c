/* part_page.c - layers by themselves as a page: figures, a timeline of the units, a roofline, a table. It stands alone: no script, nothing from elsewhere. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "part.h"
#include "text.h"

#define CLOCK_MHZ 200.0
#define BUS_BYTES 32.0 /* of both channels in a cycle, each way */

static const char style[] =
    ":root{color-scheme:light "
    "dark;--page:#fafafa;--box:#fff;--text:#1c2024;--dim:#59616a;--rule:#dde1e4;--a:#2f7ed8;--b:#3f9c69;--c:#d08a1f;"
    "--bad:#b3261e}"
    "@media(prefers-color-scheme:dark){:root{--page:#131618;--box:#1b1f23;--text:#e5e8ea;--dim:#9ba5ae;--rule:#333a40;--a:#6aa9f4;--b:#"
    "57b884;"
    "--c:#e2a94f;--bad:#ff8a80}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}"
    "main{max-width:1160px;margin:0 auto;padding:12px 16px "
    "48px}h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:1.6em 0 .4em}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:10px}.tile{background:var(--box);border:1px solid "
    "var(--rule);"
    "border-radius:8px;padding:8px 14px}.tile b{display:block;font-size:1.25rem}.dim{color:var(--dim)}"
    ".scroll{overflow-x:auto;background:var(--box);border:1px solid var(--rule);border-radius:8px}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}th,td{padding:2px 9px;border-bottom:1px solid var(--rule);"
    "text-align:right;white-space:nowrap}th{color:var(--dim)}.l{text-align:left}.bad{color:var(--bad)}"
    "svg{display:block;width:100%;min-width:700px}svg "
    "text{font-size:11px;fill:var(--dim)}.axis{stroke:var(--rule);fill:none}.roof{stroke:var(--dim);"
    "fill:none;stroke-width:1.5}.s0{fill:var(--a)}.s1{fill:var(--b)}.s2{fill:var(--c)}";

static uint64_t total(const part_job *j) {
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < j->count; i++) {
        cycles += j->part[i].out.cycles;
    }
    return cycles;
}

static void put_tile(FILE *out, const char *value, const char *what) {
    fprintf(out, "<div class=\"tile\"><b>%s</b><span class=\"dim\">%s</span></div>\n", value, what);
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
    put_tile(out, text, "layers as the golden model has them");
    (void)snprintf(text, sizeof text, "%" PRIu64, cycles);
    put_tile(out, text, "cycles of the layers");
    (void)snprintf(text, sizeof text, "%.2f ms", ms);
    put_tile(out, text, "at 200 MHz");
    if (j->opt->published > 0) {
        (void)snprintf(text, sizeof text, "%.2f ms", j->opt->published);
        put_tile(out, text, "published");
        (void)snprintf(text, sizeof text, "%.2f", ms / j->opt->published);
        put_tile(out, text, "of the published time");
    }
    (void)snprintf(text, sizeof text, "%.1f&nbsp;%%",
                   cycles == 0 ? 0.0 : 100.0 * (double)j->macs / (2.0 * j->opt->n * j->opt->n * (double)cycles));
    put_tile(out, text, "of the mesh's multiply-accumulates");
    (void)snprintf(text, sizeof text, "%+.1f&nbsp;%%", part_off(prediction, cycles));
    put_tile(out, text, "predicted cycles off");
    if (j->opt->stalls) {
        (void)snprintf(text, sizeof text, "%.1f MB", (double)bytes / 1e6);
        put_tile(out, text, "over the bus");
    }
    fputs("</div>\n", out);
}

/* ---- timeline: a row for each unit, a box for each layer; its height is the share of the layer's cycles ---- */

typedef struct track {
    const char *name;
    uint32_t counter, colour;
} track;

static const track tracks[] = {{"load", 21, 0},          {"mesh", 1, 1},        {"write-back", 22, 0}, {"waits: input", 6, 2},
                               {"waits: weights", 7, 2}, {"waits: room", 8, 2}, {"ALU", 27, 1},        {"ALU waits", 28, 2},
                               {"POOL", 30, 1},          {"POOL waits", 31, 2}};
#define TRACKS (sizeof tracks / sizeof tracks[0])
#define ROW 26.0
#define LEFT 100.0
#define WIDE 980.0

static void put_timeline(const part_job *j, FILE *out) {
    const double all = (double)total(j);
    const double height = ROW * (double)TRACKS;
    fprintf(
        out,
        "<h2>Timeline</h2>\n<p class=\"dim\">Layers one after the other, as wide as their cycles; a box fills its row as far as the unit "
        "fills the "
        "layer's cycles.</p>\n<div class=\"scroll\"><svg viewBox=\"0 0 1090 %.0f\" role=\"img\" aria-label=\"timeline of the units\">\n",
        height + 24);
    for (size_t t = 0; t < TRACKS; t++) {
        const double base = ROW * (double)(t + 1);
        double x = LEFT;
        fprintf(out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text><path class=\"axis\" d=\"M%.0f %.1fH%.0f\"/>\n", LEFT - 8,
                base - 7, tracks[t].name, LEFT, base, LEFT + WIDE);
        for (uint32_t i = 0; i < j->count && all > 0; i++) {
            const part *p = &j->part[i];
            const double w = WIDE * (double)p->out.cycles / all;
            const double share = part_share(p, p->out.counter[tracks[t].counter]);
            const double h = (ROW - 5) * (share > 100 ? 100 : share) / 100;
            if (h > 0.3) {
                fprintf(out, "<rect class=\"s%u\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>", tracks[t].colour, x,
                        base - h, w > 0.6 ? w - 0.3 : w, h);
                put_html_text(out, j->run.graph.layer[p->first].name);
                fprintf(out, ": %s %.1f %%</title></rect>\n", tracks[t].name, share);
            }
            x += w;
        }
    }
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\">0</text><text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.0f cycles</text>\n</svg></div>\n",
            LEFT, height + 16, LEFT + WIDE, height + 16, all);
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
    fprintf(
        out,
        "<h2>Roofline</h2>\n<p class=\"dim\">Layers with multiply-accumulates. Left of the ridge (%.0f a byte) the bus is the bound: 32 "
        "bytes read and 32 "
        "written a cycle; right of it the mesh, %.0f a cycle.</p>\n<div class=\"scroll\"><svg viewBox=\"0 0 1090 350\" role=\"img\" "
        "aria-label=\"roofline\">\n<path class=\"axis\" d=\"M%.0f 12V%.0fH%.0f\"/><path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1fH%.1f\"/>\n",
        ridge, peak, LEFT, PLOT_H + 12, LEFT + PLOT_W, plot_x(MIN_INTENSITY), plot_y(MIN_INTENSITY * 2 * BUS_BYTES, peak), plot_x(ridge),
        plot_y(peak, peak), LEFT + PLOT_W);
    for (double tick = 1; tick <= MAX_INTENSITY; tick *= 8) {
        fprintf(out, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.0f</text>\n", plot_x(tick), PLOT_H + 26, tick);
    }
    for (double tick = peak; tick >= peak / 512; tick /= 8) {
        fprintf(out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n", LEFT - 8, plot_y(tick, peak) + 4, tick);
    }
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">MACs a byte</text><text x=\"%.0f\" y=\"10\">MACs a cycle</text>\n",
            LEFT + PLOT_W, PLOT_H + 40, LEFT + 6);
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
        put_html_text(out, j->run.graph.layer[p->first].name);
        fprintf(out, ": %.1f MACs a byte, %.1f a cycle, %.1f %% of the cycles</title></circle>\n", (double)p->macs / bytes,
                (double)p->macs / (double)p->out.cycles, 100.0 * (double)p->out.cycles / all);
    }
    fputs("</svg></div>\n", out);
}

/* ---- table ---- */

static void put_row(const part_job *j, const part *p, FILE *out) {
    const uint64_t *c = p->out.counter;
    const uint64_t prediction = p->estimate.cycles;
    fprintf(out, "<tr><td class=\"l\">%u</td><td class=\"l\">", p->first);
    put_html_text(out, j->run.graph.layer[p->first].type);
    fputs("</td><td class=\"l\">", out);
    put_html_text(out, j->run.graph.layer[p->first].name);
    fprintf(out, "</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>%+.1f</td>", p->macs, p->out.cycles, prediction,
            part_off(prediction, p->out.cycles));
    if (j->opt->stalls) {
        fprintf(out, "<td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.2f</td>",
                part_share(p, c[21]), part_share(p, c[1]), part_share(p, c[22]), part_share(p, c[6] + c[28] + c[31]), part_share(p, c[7]),
                part_share(p, c[8] + c[29] + c[32]), part_share(p, (c[25] + c[26]) / 2),
                (double)(part_bytes(p, false) + part_bytes(p, true)) / 1e6);
    }
    if (p->out.status == NET_OK) {
        fputs("<td class=\"l\">same</td></tr>\n", out);
    } else {
        fputs("<td class=\"l bad\">", out);
        put_html_text(out, p->out.message);
        fputs("</td></tr>\n", out);
    }
}

static void put_all(FILE *out, const void *ctx) {
    const part_job *j = ctx;
    const char *slash = strrchr(j->opt->net, '/');
    const char *name = slash == NULL ? j->opt->net : slash + 1;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
          "content=\"width=device-width,initial-scale=1\"><title>",
          out);
    put_html_text(out, name);
    fprintf(out, "</title>\n<style>%s</style></head>\n<body><main>\n<h1>", style);
    put_html_text(out, name);
    fprintf(out, ", N = %u, device %s</h1>\n", j->opt->n, j->opt->device);
    put_tiles(j, out);
    if (j->opt->stalls) {
        put_timeline(j, out);
        put_roofline(j, out);
    } else {
        fputs("<p class=\"dim\">Without --stalls there are no counters: no timeline, no roofline.</p>\n", out);
    }
    fputs("<h2>Layers</h2>\n<div class=\"scroll\"><table><tr><th class=\"l\">layer</th><th class=\"l\">type</th><th "
          "class=\"l\">name</th><th>MACs</th>"
          "<th>cycles</th><th>predicted</th><th>off, %</th>",
          out);
    if (j->opt->stalls) {
        fputs("<th>load, %</th><th>mesh, %</th><th>write-back, %</th><th>waits for input, %</th><th>weights, %</th><th>room, "
              "%</th><th>sums, %</th><th>MB</th>",
              out);
    }
    fputs("<th class=\"l\">result</th></tr>\n", out);
    for (uint32_t i = 0; i < j->count; i++) {
        put_row(j, &j->part[i], out);
    }
    fputs("</table></div>\n</main></body></html>\n", out);
}

bool part_page(const part_job *j, const char *path) {
    return put_file(path, put_all, j);
}
