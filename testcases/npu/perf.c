/* perf.c - `tandem run --perf`: every performance counter, and what happened over time as text and as a picture. */
#include "cli.h"

#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- counters, grouped by unit (docs/npu/npu.md section 5) ---- */

typedef struct counter {
    uint32_t number;
    const char *name;
    char unit; /* 'c' cycles, printed with their share; 'n' number; 'm' mark */
} counter;

typedef struct group {
    const char *name;
    counter counter[14];
} group;

#define C(name) NPU_PERF_SEL_SEL_##name
static const group groups[] = {
    {"GEMM",
     {{C(GEMM_BUSY), "busy", 'c'},
      {C(GEMM_COMPUTE), "compute: mesh works", 'c'},
      {C(GEMM_LOAD), "load", 'c'},
      {C(GEMM_WRITE_BACK), "write-back", 'c'},
      {C(IM2COL_WAITS_ROWS), "stall: input rows", 'c'},
      {C(IM2COL_WAITS_WEIGHTS), "stall: weights", 'c'},
      {C(IM2COL_WAITS_ROOM), "stall: room in ofm_buf", 'c'},
      {C(POST0_WAITS_ROOM), "post 0 waits for send_buf", 'c'},
      {C(POST1_WAITS_ROOM), "post 1 waits for send_buf", 'c'},
      {C(POST0_WAITS_PSUM), "post 0 waits for sums", 'c'},
      {C(POST1_WAITS_PSUM), "post 1 waits for sums", 'c'},
      {C(MOST_OFM_TILES), "ofm_buf: most tiles", 'm'},
      {C(MOST_IFM_WORDS), "ifm_buf: most words", 'm'}}},
    {"ALU",
     {{C(ALU_BUSY), "busy", 'c'},
      {C(ALU_WAITS_OPERANDS), "stall: operands", 'c'},
      {C(ALU_WAITS_ROOM), "stall: send_buf", 'c'},
      {C(ALU0_RESULTS), "results out, channel 0", 'c'},
      {C(ALU1_RESULTS), "results out, channel 1", 'c'}}},
    {"POOL",
     {{C(POOL_BUSY), "busy", 'c'},
      {C(POOL_WAITS_INPUT), "stall: input", 'c'},
      {C(POOL_WAITS_ROOM), "stall: send_buf", 'c'}}},
    {"read channel 0",
     {{C(READ0_BEATS), "beats", 'c'},
      {C(READ0_BURSTS), "bursts", 'n'},
      {C(READ0_WAITS_BUS), "waits for the bus", 'c'},
      {C(READ0_HELD), "consumer waits", 'c'},
      {C(MOST_READ0_BURSTS), "most bursts in flight", 'm'}}},
    {"read channel 1",
     {{C(READ1_BEATS), "beats", 'c'},
      {C(READ1_BURSTS), "bursts", 'n'},
      {C(READ1_WAITS_BUS), "waits for the bus", 'c'},
      {C(READ1_HELD), "consumer waits", 'c'},
      {C(MOST_READ1_BURSTS), "most bursts in flight", 'm'}}},
    {"write channel 0",
     {{C(WRITE0_BEATS), "beats", 'c'},
      {C(WRITE0_BURSTS), "bursts", 'n'},
      {C(WRITE0_WAITS_BUS), "waits for the bus", 'c'},
      {C(WRITE0_WAITS_DATA), "waits for data", 'c'},
      {C(MOST_WRITE0_BURSTS), "most bursts in flight", 'm'},
      {C(MOST_SEND0_GEMM), "send_buf: words of GEMM", 'm'},
      {C(MOST_SEND0_POOL), "send_buf: words of POOL", 'm'},
      {C(MOST_SEND0_ALU), "send_buf: words of ALU", 'm'}}},
    {"write channel 1",
     {{C(WRITE1_BEATS), "beats", 'c'},
      {C(WRITE1_BURSTS), "bursts", 'n'},
      {C(WRITE1_WAITS_BUS), "waits for the bus", 'c'},
      {C(WRITE1_WAITS_DATA), "waits for data", 'c'},
      {C(MOST_WRITE1_BURSTS), "most bursts in flight", 'm'},
      {C(MOST_SEND1_GEMM), "send_buf: words of GEMM", 'm'},
      {C(MOST_SEND1_POOL), "send_buf: words of POOL", 'm'},
      {C(MOST_SEND1_ALU), "send_buf: words of ALU", 'm'}}},
};

static double percent(double part, double whole) {
    return whole > 0 ? 100.0 * part / whole : 0.0;
}

static void print_counters(FILE *out, const uint64_t *p) {
    fprintf(out, "performance counters over %" PRIu64 " cycles with a task:\n", p[0]);
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        fprintf(out, "  %s\n", groups[g].name);
        for (const counter *c = groups[g].counter; c->name != NULL; c++) {
            fprintf(out, "    %2u %-28s %12" PRIu64, c->number, c->name, p[c->number]);
            if (c->unit == 'c') {
                fprintf(out, " %5.1f %%", percent((double)p[c->number], (double)p[0]));
            }
            fputs("\n", out);
        }
    }
}

/* ---- tracks of the time series ---- */

typedef struct track {
    const char *head; /* abbreviation, for the table */
    const char *name; /* for the picture */
    uint32_t number;  /* of the counter or mark */
    uint32_t full;    /* marks: the value of full; 0: an event, full is every cycle */
} track;

#define IFM_WORDS 16384u
#define OFM_SUMS 1024u /* a tile with mesh size n has n of them */
#define SEND_GEMM 512u
#define SEND_OTHER 256u
#define IN_FLIGHT 16u
#define OFM_TILES C(MOST_OFM_TILES)

static const track tracks[] = {
    {"rd0", "read channel 0", C(READ0_BEATS), 0},
    {"rd1", "read channel 1", C(READ1_BEATS), 0},
    {"wr0", "write channel 0", C(WRITE0_BEATS), 0},
    {"wr1", "write channel 1", C(WRITE1_BEATS), 0},
    {"mesh", "mesh works", C(GEMM_COMPUTE), 0},
    {"rows", "stall: input rows", C(IM2COL_WAITS_ROWS), 0},
    {"wgt", "stall: weights", C(IM2COL_WAITS_WEIGHTS), 0},
    {"ofm", "stall: room in ofm_buf", C(IM2COL_WAITS_ROOM), 0},
    {"load", "GEMM load", C(GEMM_LOAD), 0},
    {"post", "GEMM write-back", C(GEMM_WRITE_BACK), 0},
    {"p0wt", "post 0 waits for send_buf", C(POST0_WAITS_ROOM), 0},
    {"p1wt", "post 1 waits for send_buf", C(POST1_WAITS_ROOM), 0},
    {"ps0", "post 0 waits for partial sums", C(POST0_WAITS_PSUM), 0},
    {"ps1", "post 1 waits for partial sums", C(POST1_WAITS_PSUM), 0},
    {"alu", "ALU busy", C(ALU_BUSY), 0},
    {"a-op", "ALU waits for operands", C(ALU_WAITS_OPERANDS), 0},
    {"a-wr", "ALU waits for send_buf", C(ALU_WAITS_ROOM), 0},
    {"pool", "POOL busy", C(POOL_BUSY), 0},
    {"p-in", "POOL waits for input", C(POOL_WAITS_INPUT), 0},
    {"p-wr", "POOL waits for send_buf", C(POOL_WAITS_ROOM), 0},
    {"r0bs", "read channel 0 waits for the bus", C(READ0_WAITS_BUS), 0},
    {"r1bs", "read channel 1 waits for the bus", C(READ1_WAITS_BUS), 0},
    {"r0us", "read channel 0: consumer waits", C(READ0_HELD), 0},
    {"r1us", "read channel 1: consumer waits", C(READ1_HELD), 0},
    {"w0bs", "write channel 0 waits for the bus", C(WRITE0_WAITS_BUS), 0},
    {"w1bs", "write channel 1 waits for the bus", C(WRITE1_WAITS_BUS), 0},
    {"w0da", "write channel 0 waits for data", C(WRITE0_WAITS_DATA), 0},
    {"w1da", "write channel 1 waits for data", C(WRITE1_WAITS_DATA), 0},
    {"IFM", "ifm_buf level", C(MOST_IFM_WORDS), IFM_WORDS},
    {"OFM", "ofm_buf level", OFM_TILES, OFM_SUMS},
    {"SG0", "send_buf 0, GEMM", C(MOST_SEND0_GEMM), SEND_GEMM},
    {"SG1", "send_buf 1, GEMM", C(MOST_SEND1_GEMM), SEND_GEMM},
    {"SP0", "send_buf 0, POOL", C(MOST_SEND0_POOL), SEND_OTHER},
    {"SP1", "send_buf 1, POOL", C(MOST_SEND1_POOL), SEND_OTHER},
    {"SA0", "send_buf 0, ALU", C(MOST_SEND0_ALU), SEND_OTHER},
    {"SA1", "send_buf 1, ALU", C(MOST_SEND1_ALU), SEND_OTHER},
    {"FR0", "bursts in flight, read channel 0", C(MOST_READ0_BURSTS), IN_FLIGHT},
    {"FR1", "bursts in flight, read channel 1", C(MOST_READ1_BURSTS), IN_FLIGHT},
    {"FW0", "bursts in flight, write channel 0", C(MOST_WRITE0_BURSTS), IN_FLIGHT},
    {"FW1", "bursts in flight, write channel 1", C(MOST_WRITE1_BURSTS), IN_FLIGHT},
};
#define TRACKS (sizeof tracks / sizeof tracks[0])

/* 0 .. 1 */
static double value(const track *t, const npu_dev_perf_window *w, uint32_t n) {
    double v;
    if (t->full == 0) {
        v = (double)w->event[t->number] / w->cycles;
    } else {
        v = (double)w->level[t->number - NPU_DEV_PERF_FIRST_LEVEL] / (t->number == OFM_TILES ? OFM_SUMS / n : t->full);
    }
    return v < 1 ? v : 1;
}

/* Tracks with any event or level. */
static size_t used_tracks(const tc_stats *s, const track **used) {
    size_t count = 0;
    for (size_t t = 0; t < TRACKS; t++) {
        bool any = false;
        for (size_t i = 0; i < s->series_count && !any; i++) {
            any = value(&tracks[t], &s->series[i], 1) > 0;
        }
        if (any) {
            used[count++] = &tracks[t];
        }
    }
    return count;
}

/* One cell: percent and a bar of eighths. */
static void print_cell(FILE *out, double v) {
    static const char *const bar[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                      "\u2585", "\u2586", "\u2587", "\u2588"};
    if (v <= 0) {
        fputs("    .", out);
        return;
    }
    const unsigned eighths = (unsigned)(v * 8 + 0.5);
    fprintf(out, " %3.0f%s", 100 * v, bar[eighths > 0 ? eighths : 1]);
}

static void print_series(FILE *out, const tc_stats *s, uint32_t n) {
    const track *used[TRACKS];
    const size_t count = used_tracks(s, used);
    fprintf(out,
            "over time: one line is %u cycles; percent of its cycles (small letters), highest level in percent of full "
            "(capitals)\n",
            s->series[0].cycles);
    for (size_t t = 0; t < count; t++) {
        fprintf(out, "  %-5s %s\n", used[t]->head, used[t]->name);
    }
    fprintf(out, "  %10s", "cycle");
    for (size_t t = 0; t < count; t++) {
        fprintf(out, " %4s", used[t]->head);
    }
    fputs("\n", out);
    for (size_t i = 0; i < s->series_count; i++) {
        fprintf(out, "  %10" PRIu64, s->series[i].from);
        for (size_t t = 0; t < count; t++) {
            print_cell(out, value(used[t], &s->series[i], n));
        }
        fputs("\n", out);
    }
}

void cli_print_perf(FILE *out, const tc_stats *s, uint32_t n) {
    print_counters(out, s->perf);
    if (s->series_count == 0) {
        fprintf(out,
                "over time: not sampled: this RTL has no ports perf_event_o and perf_level_o, or nothing happened\n");
        return;
    }
    print_series(out, s, n);
}

/* ---- picture ---- */

#define LABEL_W 230.0
#define PLOT_W 900.0
#define TRACK_H 24.0
#define GAP_H 6.0
#define HEAD_H 52.0

static const char *colour(const track *t) {
    if (t->full != 0) {
        return "#7a7f87";
    }
    return strstr(t->name, "stall") != NULL || strstr(t->name, "wait") != NULL ? "#c8553d"
           : t->number <= 5 && t->number >= 2                                  ? "#2f6f9f"
                                                                               : "#3f8f5f";
}

static void svg_track(FILE *f, const tc_stats *s, const track *t, uint32_t n, double top, double first,
                      double per_cycle) {
    fprintf(f, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LABEL_W - 8, top + TRACK_H / 2 + 4,
            t->name);
    fprintf(f,
            "<rect x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" fill=\"#f2f3f5\"/>\n<path fill=\"%s\" "
            "d=\"M%.1f %.1f",
            LABEL_W, top, PLOT_W, TRACK_H, colour(t), LABEL_W, top + TRACK_H);
    for (size_t i = 0; i < s->series_count; i++) {
        const npu_dev_perf_window *w = &s->series[i];
        const double x = LABEL_W + ((double)w->from - first) * per_cycle;
        const double y = top + TRACK_H * (1 - value(t, w, n));
        fprintf(f, "L%.2f %.2fL%.2f %.2f", x, y, x + w->cycles * per_cycle, y);
    }
    fprintf(f, "L%.1f %.1fZ\"/>\n", LABEL_W + PLOT_W, top + TRACK_H);
}

static void svg_write(FILE *f, const tc_stats *s, uint32_t n) {
    const track *used[TRACKS];
    const size_t count = used_tracks(s, used);
    const npu_dev_perf_window *last = &s->series[s->series_count - 1];
    const double first = (double)s->series[0].from;
    const double cycles = (double)(last->from + last->cycles) - first;
    const double height = HEAD_H + (double)count * (TRACK_H + GAP_H) + 30;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n<text x=\"12\" y=\"20\" "
            "font-size=\"14\">",
            LABEL_W + PLOT_W + 30, height, LABEL_W + PLOT_W + 30, height);
    rep_xml(f, s->what);
    fprintf(f,
            "</text>\n<text x=\"12\" y=\"38\" fill=\"#555555\">%.0f cycles, windows of %u; blue: beats on the bus, "
            "green: work, red: waiting, "
            "grey: levels (full height: full)</text>\n",
            cycles, s->series[0].cycles);
    for (size_t t = 0; t < count; t++) {
        svg_track(f, s, used[t], n, HEAD_H + (double)t * (TRACK_H + GAP_H), first, PLOT_W / cycles);
    }
    const double axis = HEAD_H + (double)count * (TRACK_H + GAP_H);
    for (int i = 0; i <= 10; i++) {
        const double x = LABEL_W + PLOT_W * i / 10;
        fprintf(f,
                "<path stroke=\"#bbbbbb\" d=\"M%.1f %.1fv5\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
                "fill=\"#555555\">%.0f</text>\n",
                x, axis, x, axis + 18, cycles * i / 10);
    }
    fputs("</svg>\n", f);
}

/* ---- JSON ---- */

static void json_number(FILE *f, const char *key, uint64_t number) {
    fprintf(f, ",\n \"%s\": %" PRIu64, key, number);
}

static void json_counters(FILE *f, const uint64_t *p) {
    bool first = true;
    fputs(",\n \"counters\": [", f);
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        for (const counter *c = groups[g].counter; c->name != NULL; c++) {
            fprintf(f,
                    "%s\n  {\"number\": %u, \"group\": \"%s\", \"name\": \"%s\", \"unit\": \"%s\", \"value\": %" PRIu64
                    "}",
                    first ? "" : ",", c->number, groups[g].name, c->name,
                    c->unit == 'c'   ? "cycles"
                    : c->unit == 'n' ? "number"
                                     : "mark",
                    p[c->number]);
            first = false;
        }
    }
    fputs("]", f);
}

static void json_series(FILE *f, const tc_stats *s, uint32_t n) {
    const track *used[TRACKS];
    const size_t count = used_tracks(s, used);
    fputs(",\n \"series\": [", f);
    for (size_t i = 0; i < s->series_count; i++) {
        fprintf(f, "%s\n  {\"from\": %" PRIu64 ", \"cycles\": %u", i == 0 ? "" : ",", s->series[i].from,
                s->series[i].cycles);
        for (size_t t = 0; t < count; t++) {
            fprintf(f, ", \"%s\": %.4f", used[t]->name, value(used[t], &s->series[i], n));
        }
        fputs("}", f);
    }
    fputs("]\n}\n", f);
}

static void json_write(FILE *f, const tc_stats *s, uint32_t n) {
    const uint64_t per_cycle = 32; /* bytes of two channels */
    fputs("{\n \"operator\": ", f);
    rep_json(f, s->what);
    fputs(",\n \"tasks\": ", f);
    rep_json(f, s->tasks);
    json_number(f, "n", n);
    json_number(f, "macs", s->macs);
    json_number(f, "cycles", s->cycles);
    json_number(f, "cycles_with_a_task", s->perf[0]);
    if (s->bounds.op != NULL) {
        json_number(f, "mac_bound", s->bounds.mac_cycles);
        json_number(f, "read_bound", (s->bounds.read_bytes + per_cycle - 1) / per_cycle);
        json_number(f, "write_bound", (s->bounds.write_bytes + per_cycle - 1) / per_cycle);
    }
    json_counters(f, s->perf);
    json_series(f, s, n);
}

/* ---- files ---- */

int cli_written(int error, const char *path, char *err, size_t err_size) {
    if (error != 0) {
        return opt_fail(err, err_size, "%s: cannot be written: %s", path, strerror(error));
    }
    printf("%s: written\n", path);
    return 0;
}

static int write_file(const char *path, const tc_stats *s, uint32_t n,
                      void (*write)(FILE *, const tc_stats *, uint32_t), char *err, size_t err_size) {
    rep_file f;
    int error = rep_file_open(&f, path);
    if (error == 0) {
        write(f.file, s, n);
        error = rep_file_close(&f, false);
    }
    return cli_written(error, path, err, err_size);
}

int cli_perf_svg(const char *path, const tc_stats *s, uint32_t n, char *err, size_t err_size) {
    if (s->series_count == 0) {
        return opt_fail(err, err_size, "%s: not written: nothing was sampled", path);
    }
    return write_file(path, s, n, svg_write, err, err_size);
}

int cli_perf_json(const char *path, const tc_stats *s, uint32_t n, char *err, size_t err_size) {
    return write_file(path, s, n, json_write, err, err_size);
}
