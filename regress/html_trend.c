/* html_trend.c - the runs of a suite one after the other, as small charts: outcomes, cycles, time. */
#define _GNU_SOURCE
#include "html.h"

#include <stdlib.h>

#define RUNS 40u
/* A chart in units of its view box, which are about pixels. */
#define WIDTH 300
#define HEIGHT 130
#define LEFT 44
#define RIGHT 6
#define TOP 8
#define BOTTOM 18

typedef struct chart {
    FILE *out;
    const reg_table *runs; /* newest first */
    double top;            /* value at the upper end */
} chart;

/* 1, 2 or 5 times a power of ten, not below the value. */
static double round_up(double value) {
    double power = 1;
    while (power * 10 < value) {
        power *= 10;
    }
    while (power > value && power > 1e-6) {
        power /= 10;
    }
    return value <= power ? power : value <= 2 * power ? 2 * power : value <= 5 * power ? 5 * power : 10 * power;
}

/* 12, 3.4k, 56M */
static void put_short(FILE *out, double value) {
    static const char *const units[] = {"", "k", "M", "G", "T"};
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1000;
        unit++;
    }
    fprintf(out, "%.3g%s", value, units[unit]);
}

static double number(const chart *c, size_t row, const char *key) {
    const char *text = reg_table_cell(c->runs, row, key);
    return text == NULL ? 0 : strtod(text, NULL);
}

static double y_of(const chart *c, double value) {
    return HEIGHT - BOTTOM - value / c->top * (HEIGHT - TOP - BOTTOM);
}

/* Middle of the place of the i-th run, the oldest one on the left. */
static double x_of(const chart *c, size_t row) {
    const double step = (double)(WIDTH - LEFT - RIGHT) / (double)c->runs->row_count;
    return LEFT + step * ((double)(c->runs->row_count - 1 - row) + 0.5);
}

static void begin_chart(chart *c, const char *title, double most) {
    c->top = round_up(most > 0 ? most : 1);
    fputs("<figure><figcaption>", c->out);
    rep_xml(c->out, title);
    fputs("</figcaption>\n", c->out);
    rep_svg_begin(c->out, NULL, WIDTH, HEIGHT, title);
    for (int i = 0; i <= 2; i++) {
        const double y = y_of(c, c->top * i / 2);
        fprintf(c->out, "<path class=\"axis\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT,
                y, WIDTH - RIGHT, LEFT - 5, y + 3.5);
        put_short(c->out, c->top * i / 2);
        fputs("</text>\n", c->out);
    }
    const size_t last = c->runs->row_count - 1;
    for (size_t row = 0; row <= last; row += last == 0 ? 1 : last) {
        rep_svg_text(c->out, row == 0 && last != 0 ? WIDTH - RIGHT - 18.0 : x_of(c, row), HEIGHT - 5, "middle",
                     "run %s", reg_table_cell(c->runs, row, "run"));
    }
}

static void put_title(const chart *c, size_t row, const char *key, const char *unit) {
    fputs("<title>run ", c->out);
    rep_xml(c->out, reg_table_cell(c->runs, row, "run"));
    fputs(": ", c->out);
    rep_number(c->out, reg_table_cell(c->runs, row, key));
    fprintf(c->out, " %s</title>", unit);
}

static void end_chart(const chart *c) {
    fputs("</svg></figure>\n", c->out);
}

/* Bars of jobs: passed, failed above, not run on top. */
static void put_outcomes(chart *c) {
    static const char *const keys[] = {"passed", "failed", "not_run"};
    static const char *const words[] = {"passed", "failed", "not run"};
    static const char *const classes[] = {"pass", "fail", "idle"};
    double most = 0;
    for (size_t row = 0; row < c->runs->row_count; row++) {
        most = number(c, row, "jobs") > most ? number(c, row, "jobs") : most;
    }
    begin_chart(c, "Jobs: passed, failed, not run", most);
    const double step = (double)(WIDTH - LEFT - RIGHT) / (double)c->runs->row_count;
    const double wide = step * 0.8 < 22 ? step * 0.8 : 22;
    for (size_t row = 0; row < c->runs->row_count; row++) {
        double below = 0;
        for (int i = 0; i < 3; i++) {
            const double value = number(c, row, keys[i]);
            if (value > 0) {
                fprintf(c->out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", classes[i],
                        x_of(c, row) - wide / 2, y_of(c, below + value), wide, y_of(c, below) - y_of(c, below + value));
                put_title(c, row, keys[i], words[i]);
                fputs("</rect>\n", c->out);
            }
            below += value;
        }
    }
    end_chart(c);
}

static void put_line(chart *c, const char *title, const char *key, const char *unit) {
    double most = 0;
    for (size_t row = 0; row < c->runs->row_count; row++) {
        most = number(c, row, key) > most ? number(c, row, key) : most;
    }
    begin_chart(c, title, most);
    fputs("<polyline class=\"line\" points=\"", c->out);
    for (size_t i = c->runs->row_count; i > 0; i--) {
        fprintf(c->out, "%.1f,%.1f ", x_of(c, i - 1), y_of(c, number(c, i - 1, key)));
    }
    fputs("\"/>\n", c->out);
    for (size_t row = 0; row < c->runs->row_count; row++) {
        fprintf(c->out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\">", x_of(c, row),
                y_of(c, number(c, row, key)));
        put_title(c, row, key, unit);
        fputs("</circle>\n", c->out);
    }
    end_chart(c);
}

int html_trends(html_report *r) {
    reg_table runs = {0};
    const int status = html_ask(r, "trend", RUNS, &runs);
    if (status == REG_OK && runs.row_count != 0) {
        chart c = {.out = r->out, .runs = &runs};
        fprintf(r->out,
                "<h2 id=\"trends\">Trends</h2>\n<p class=\"soft\">The last %zu run%s of this suite up to this one. "
                "Cycles are those of "
                "passed jobs; other "
                "seeds and counts have other cycles.</p>\n<div class=\"charts\">\n",
                runs.row_count, runs.row_count == 1 ? "" : "s");
        put_outcomes(&c);
        put_line(&c, "Clock cycles", "cycles", "cycles");
        put_line(&c, "Time, seconds", "seconds", "s");
        put_line(&c, "CPU time, seconds", "cpu_s", "s");
        fputs("</div>\n<p><span class=\"key\"><i class=\"pass\"></i>passed</span><span class=\"key\"><i "
              "class=\"fail\"></i>failed</span>"
              "<span class=\"key\"><i class=\"idle\"></i>not run</span></p>\n<details><summary>As numbers</summary>\n",
              r->out);
        html_table(r->out, &runs, 0, runs.row_count);
        fputs("</details>\n", r->out);
    }
    reg_table_free(&runs);
    return status;
}
