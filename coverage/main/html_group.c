/* html_group.c - the page of a covergroup: bins of its coverpoints, crosses as grids. */
#include "tool.h"

#include <inttypes.h>
#include <string.h>

#define GRID_CELLS 6000u /* larger crosses show their holes only */

static const char *look(cov_role role, uint64_t hits, uint32_t goal) {
    return role == COV_IGNORED   ? "off"
           : role == COV_ILLEGAL ? (hits > 0 ? "miss" : "off")
           : hits >= goal        ? "hit"
                                 : "miss";
}

static void put_point(const cov_data *data, const cov_data_point *point, FILE *out) {
    const cov_score s = cov_score_point(data, point);
    fprintf(out, "<h2 id=\"%s\">%s</h2>\n<p>", point->name, point->name);
    html_meter(out, &s);
    fprintf(out, " &middot; %" PRIu64 " of %" PRIu64 " &middot; weight %" PRIu32 "</p>\n<p class=\"soft\">", s.covered,
            s.total, point->weight);
    rep_xml(out, point->bug);
    fputs("</p>\n<div class=\"scroll\"><table><tr><th>bin</th><th>values</th><th class=\"n\">hits</th><th "
          "class=\"n\">goal</th>"
          "<th>hint, or why it does not count</th></tr>\n",
          out);
    for (uint32_t b = 0; b < point->bin_count; b++) {
        const cov_data_bin *bin = &point->bins[b];
        const uint64_t hits = data->counts[point->first + b];
        fputs("<tr><td>", out);
        rep_xml(out, bin->name);
        fputs(bin->partial ? " (not in all files)</td><td><code>" : "</td><td><code>", out);
        rep_xml(out, bin->values);
        fprintf(out, "</code></td><td class=\"n %s\">%" PRIu64 "</td><td class=\"n\">%" PRIu32 "</td><td>",
                look(bin->role, hits, bin->goal), hits, bin->goal);
        if (bin->role != COV_COUNTED) {
            fputs(bin->role == COV_ILLEGAL ? "illegal: " : "ignored: ", out);
            rep_xml(out, bin->why);
        } else {
            fputs("<code>", out);
            rep_xml(out, bin->hint);
            fputs("</code>", out);
        }
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

/* Rows: tuples of all coverpoints but the last, columns: its bins. */
static void put_grid(const cov_data *data, const cov_data_group *group, const cov_data_cross *cross, FILE *out) {
    const uint32_t last = cross->point_count - 1;
    const cov_data_point *point = &group->points[cross->points[last]];
    uint32_t bins[COV_CROSS_MAX];
    fputs("<div class=\"scroll\"><table class=\"grid\"><tr>", out);
    for (uint32_t p = 0; p < last; p++) {
        fprintf(out, "<th>%s</th>", group->points[cross->points[p]].name);
    }
    for (uint32_t i = 0; i < cross->dim[last]; i++) {
        fputs("<th class=\"n\">", out);
        rep_xml(out, point->bins[cov_crossed_bin(point, i)].name);
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
    for (uint32_t cell = 0; cell < cross->cell_count; cell++) {
        if (cell % cross->dim[last] == 0) {
            cov_cell_bins(group, cross, cell, bins);
            fputs("<tr>", out);
            for (uint32_t p = 0; p < last; p++) {
                fputs("<th class=\"w\">", out);
                rep_xml(out, group->points[cross->points[p]].bins[bins[p]].name);
                fputs("</th>", out);
            }
        }
        const cov_data_rule *rule = NULL;
        const uint64_t hits = data->counts[cross->first + cell];
        const cov_role role = cov_cell_role(cross, cell, &rule);
        fprintf(out, "<td class=\"n %s\"", look(role, hits, cross->goal));
        if (rule != NULL) {
            fputs(" title=\"", out);
            rep_xml(out, rule->why);
            fputs("\"", out);
        }
        if (rule != NULL && hits == 0) {
            fputs(role == COV_ILLEGAL ? ">&times;</td>" : ">&#8211;</td>", out);
        } else {
            fprintf(out, ">%" PRIu64 "</td>", hits);
        }
        fputs((cell + 1) % cross->dim[last] == 0 ? "</tr>\n" : "", out);
    }
    fputs("</table></div>\n", out);
}

static void put_rules(const cov_data_cross *cross, FILE *out) {
    for (uint32_t r = 0; r < cross->rule_count; r++) {
        uint32_t cells = 0;
        for (uint32_t i = 0; i < cross->cell_count; i++) {
            cells += cross->cells[i] == r + 1;
        }
        if (cells > 0) {
            fprintf(out, "<p class=\"soft\">%" PRIu32 " cells %s: ", cells,
                    cross->rules[r].role == COV_ILLEGAL ? "illegal (&times;)" : "ignored (&#8211;)");
            rep_xml(out, cross->rules[r].why);
            fputs("</p>\n", out);
        }
    }
}

static void put_cell_holes(const cov_data *data, const cov_data_group *group, const cov_data_cross *cross, FILE *out) {
    char text[700];
    const cov_data_rule *rule = NULL;
    fputs("<details><summary>its holes, and what would hit them</summary><div class=\"scroll\"><table>\n", out);
    for (uint32_t i = 0; i < cross->cell_count; i++) {
        if (cov_cell_role(cross, i, &rule) == COV_COUNTED && data->counts[cross->first + i] < cross->goal) {
            cov_cell_name(group, cross, i, text, sizeof text);
            fputs("<tr><td>", out);
            rep_xml(out, text);
            fputs("</td><td><code>", out);
            cov_cell_hint(group, cross, i, text, sizeof text);
            rep_xml(out, text);
            fputs("</code></td></tr>\n", out);
        }
    }
    fputs("</table></div></details>\n", out);
}

static void put_cross(const cov_data *data, const cov_data_group *group, const cov_data_cross *cross, FILE *out) {
    const cov_score s = cov_score_cross(data, cross);
    fprintf(out, "<h2 id=\"%s\">%s</h2>\n<p>", cross->name, cross->name);
    html_meter(out, &s);
    fprintf(out,
            " &middot; %" PRIu64 " of %" PRIu64 " &middot; goal %" PRIu32 " &middot; weight %" PRIu32
            "</p>\n<p class=\"soft\">",
            s.covered, s.total, cross->goal, cross->weight);
    rep_xml(out, cross->bug);
    fputs("</p>\n", out);
    put_rules(cross, out);
    if (cross->cell_count <= GRID_CELLS) {
        put_grid(data, group, cross, out);
    }
    if (s.covered < s.total) {
        put_cell_holes(data, group, cross, out);
    }
}

void html_group_page(const cov_data *data, const cov_data_group *group, FILE *out) {
    const cov_score s = cov_score_group(data, group);
    char title[160];
    (void)snprintf(title, sizeof title, "Coverage of %s", group->name);
    html_begin(out, title, NULL);
    fputs("<p><a href=\"index.html\">all groups</a></p>\n<p>", out);
    html_meter(out, &s);
    fprintf(out,
            " &middot; %" PRIu64 " of %" PRIu64 " bins and cells &middot; %" PRIu64 " samples</p>\n<p class=\"soft\">",
            s.covered, s.total, group->samples);
    rep_xml(out, group->about);
    fputs("</p>\n<p>", out);
    for (uint32_t p = 0; p < group->point_count; p++) {
        fprintf(out, "<a href=\"#%s\">%s</a> ", group->points[p].name, group->points[p].name);
    }
    for (uint32_t c = 0; c < group->cross_count; c++) {
        fprintf(out, "<a href=\"#%s\">%s</a> ", group->crosses[c].name, group->crosses[c].name);
    }
    fputs("</p>\n", out);
    for (uint32_t p = 0; p < group->point_count; p++) {
        put_point(data, &group->points[p], out);
    }
    for (uint32_t c = 0; c < group->cross_count; c++) {
        put_cross(data, group, &group->crosses[c], out);
    }
    rep_page_end(out);
}
