#include "heat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FLAT_COLUMNS 32u
#define THIN 10.0 /* the short edge at least */

static uint32_t divide_up(uint32_t a, uint32_t b) {
    return (uint32_t)(((uint64_t)a + b - 1) / b);
}

int tb_heat_init(tb_heat *heat, uint32_t c, uint32_t h, uint32_t w) {
    *heat = (tb_heat){.size = {c, h, w}, .flat = h == 1 && w == 1};
    const uint32_t rows = heat->flat ? divide_up(c, FLAT_COLUMNS) : h;
    const uint32_t columns = heat->flat ? (c < FLAT_COLUMNS ? c : FLAT_COLUMNS) : w;
    heat->per_panel = heat->flat ? c : divide_up(c, TB_HEAT_PANELS);
    heat->panels = divide_up(c, heat->per_panel);
    heat->cell[0] = divide_up(rows, TB_HEAT_CELLS);
    heat->cell[1] = divide_up(columns, TB_HEAT_CELLS);
    heat->cells[0] = divide_up(rows, heat->cell[0]);
    heat->cells[1] = divide_up(columns, heat->cell[1]);
    heat->count =
        (uint32_t *)calloc((size_t)heat->panels * heat->cells[0] * heat->cells[1] * TB_HEAT_KINDS, sizeof *heat->count);
    return heat->count != NULL ? 0 : -1;
}

void tb_heat_free(tb_heat *heat) {
    free(heat->count);
    heat->count = NULL;
}

static uint32_t *count_at(const tb_heat *heat, uint32_t panel, uint32_t row, uint32_t column) {
    return &heat->count[(((size_t)panel * heat->cells[0] + row) * heat->cells[1] + column) * TB_HEAT_KINDS];
}

void tb_heat_add(tb_heat *heat, const uint32_t at[3], tb_heat_kind kind) {
    if (at[0] >= heat->size[0] || at[1] >= heat->size[1] || at[2] >= heat->size[2]) {
        return;
    }
    const uint32_t row = heat->flat ? at[0] / FLAT_COLUMNS : at[1];
    const uint32_t column = heat->flat ? at[0] % FLAT_COLUMNS : at[2];
    count_at(heat, at[0] / heat->per_panel, row / heat->cell[0], column / heat->cell[1])[kind]++;
}

uint64_t tb_heat_panel_count(const tb_heat *heat, uint32_t panel) {
    uint64_t sum = 0;
    for (uint32_t r = 0; r < heat->cells[0]; r++) {
        for (uint32_t c = 0; c < heat->cells[1]; c++) {
            const uint32_t *n = count_at(heat, panel, r, c);
            sum += (uint64_t)n[TB_HEAT_WRONG] + n[TB_HEAT_MISSING];
        }
    }
    return sum;
}

/* Elements of a cell; cells at the edges have fewer, which does not change the picture. */
static double capacity(const tb_heat *heat) {
    return (double)heat->cell[0] * heat->cell[1] * (heat->flat ? 1 : heat->per_panel);
}

unsigned tb_heat_level(const tb_heat *heat, uint32_t panel, uint32_t row, uint32_t column, tb_heat_kind kind) {
    const uint32_t n = count_at(heat, panel, row, column)[kind];
    const double part = (double)n / capacity(heat);
    const unsigned level = 1 + (unsigned)(part * (TB_HEAT_LEVELS - 1) + 0.5);
    return n == 0 ? 0 : level < TB_HEAT_LEVELS ? level : TB_HEAT_LEVELS;
}

void tb_heat_panel_name(const tb_heat *heat, uint32_t panel, char *dst, size_t size) {
    const uint32_t first = panel * heat->per_panel;
    const uint32_t end = first + heat->per_panel < heat->size[0] ? first + heat->per_panel : heat->size[0];
    if (end - first == 1) {
        snprintf(dst, size, "c %u", first);
    } else {
        snprintf(dst, size, "c %u..%u", first, end - 1);
    }
}

/* Cells of one class, those side by side in a row as one rectangle. */
static void draw_row(const tb_heat *heat, uint32_t panel, uint32_t row, FILE *out) {
    unsigned last = 0;
    uint32_t begin = 0;
    for (uint32_t c = 0; c <= heat->cells[1]; c++) {
        unsigned now = 0;
        if (c < heat->cells[1]) {
            now = tb_heat_level(heat, panel, row, c, TB_HEAT_WRONG);
            now = now == 0 && tb_heat_level(heat, panel, row, c, TB_HEAT_MISSING) > 0 ? TB_HEAT_LEVELS + 1 : now;
        }
        if (now == last) {
            continue;
        }
        if (last != 0) {
            fprintf(out, "<rect class=\"heat%c\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"1\"/>",
                    last > TB_HEAT_LEVELS ? 'm' : (char)('0' + last), begin, row, c - begin);
        }
        begin = c;
        last = now;
    }
}

void tb_heat_svg(const tb_heat *heat, uint32_t panel, FILE *out) {
    const double rows = heat->cells[0], columns = heat->cells[1];
    const double edge = rows > columns ? rows : columns;
    const double pixels = heat->panels <= 4 ? 200.0 : heat->panels <= 16 ? 120.0 : 72.0;
    const double height = pixels * rows / edge, width = pixels * columns / edge;
    fprintf(out,
            "<svg width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\" "
            "shape-rendering=\"crispEdges\">"
            "<rect class=\"heat0\" width=\"%.0f\" height=\"%.0f\"/>",
            width > THIN ? width : THIN, height > THIN ? height : THIN, columns, rows, columns, rows);
    for (uint32_t r = 0; r < heat->cells[0]; r++) {
        draw_row(heat, panel, r, out);
    }
    fputs("</svg>", out);
}
