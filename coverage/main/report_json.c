/* report_json.c - tandem-cov report --json: everything that a file holds, one object. */
#include "tool.h"

#include <inttypes.h>

static const char *const role_names[] = {"counted", "illegal", "ignored"}; /* cov_role */

static void put_bin(const cov_data *data, const cov_data_point *point, uint32_t b, FILE *out) {
    const cov_data_bin *bin = &point->bins[b];
    const uint64_t hits = data->counts[point->first + b];
    fputs("      {\"name\": ", out);
    rep_json(out, bin->name);
    fputs(", \"values\": ", out);
    rep_json(out, bin->values);
    fprintf(out,
            ", \"role\": \"%s\", \"hits\": %" PRIu64 ", \"goal\": %" PRIu32
            ", \"covered\": %s, \"partial\": %s, \"hint\": ",
            role_names[bin->role], hits, bin->goal, bin->role == COV_COUNTED && hits >= bin->goal ? "true" : "false",
            bin->partial ? "true" : "false");
    rep_json(out, bin->hint);
    fputs(", \"why\": ", out);
    rep_json(out, bin->why);
    fputs("}", out);
}

static void put_point(const cov_data *data, const cov_data_point *point, FILE *out) {
    const cov_score s = cov_score_point(data, point);
    fputs("    {\"name\": ", out);
    rep_json(out, point->name);
    fputs(", \"bug\": ", out);
    rep_json(out, point->bug);
    fprintf(out, ", \"weight\": %" PRIu32 ", ", point->weight);
    put_score(out, &s);
    fputs(", \"bins\": [\n", out);
    for (uint32_t b = 0; b < point->bin_count; b++) {
        put_bin(data, point, b, out);
        fputs(b + 1 < point->bin_count ? ",\n" : "\n", out);
    }
    fputs("    ]}", out);
}

/* Cells that are holes, and illegal ones that were hit; the others are numbers in the score. */
static void put_cross(const cov_data *data, const cov_data_group *group, const cov_data_cross *cross, FILE *out) {
    const cov_score s = cov_score_cross(data, cross);
    char text[700];
    const char *comma = "\n";
    fputs("    {\"name\": ", out);
    rep_json(out, cross->name);
    fputs(", \"bug\": ", out);
    rep_json(out, cross->bug);
    fputs(", \"points\": [", out);
    for (uint32_t p = 0; p < cross->point_count; p++) {
        fputs(p == 0 ? "" : ", ", out);
        rep_json(out, group->points[cross->points[p]].name);
    }
    fprintf(out, "], \"weight\": %" PRIu32 ", \"goal\": %" PRIu32 ", ", cross->weight, cross->goal);
    put_score(out, &s);
    fputs(", \"cells\": [", out);
    for (uint32_t i = 0; i < cross->cell_count; i++) {
        const cov_data_rule *rule = NULL;
        const cov_role role = cov_cell_role(cross, i, &rule);
        const uint64_t hits = data->counts[cross->first + i];
        if ((role == COV_COUNTED && hits < cross->goal) || (role == COV_ILLEGAL && hits > 0)) {
            cov_cell_name(group, cross, i, text, sizeof text);
            fprintf(out, "%s      {\"bins\": ", comma);
            rep_json(out, text);
            fprintf(out, ", \"role\": \"%s\", \"hits\": %" PRIu64 ", \"hint\": ", role_names[role], hits);
            cov_cell_hint(group, cross, i, text, sizeof text);
            rep_json(out, text);
            fputs(", \"why\": ", out);
            rep_json(out, rule == NULL ? "" : rule->why);
            fputs("}", out);
            comma = ",\n";
        }
    }
    fputs("], \"rules\": [", out);
    for (uint32_t r = 0; r < cross->rule_count; r++) {
        uint32_t cells = 0;
        for (uint32_t i = 0; i < cross->cell_count; i++) {
            cells += cross->cells[i] == r + 1;
        }
        fprintf(out, "%s{\"role\": \"%s\", \"cells\": %" PRIu32 ", \"why\": ", r == 0 ? "" : ", ",
                role_names[cross->rules[r].role], cells);
        rep_json(out, cross->rules[r].why);
        fputs("}", out);
    }
    fputs("]}", out);
}

void tool_report_json(const cov_data *data, FILE *out) {
    const cov_score all = cov_score_all(data);
    fprintf(out, "{\"files\": %" PRIu64 ", \"job\": ", data->files);
    rep_json(out, data->job);
    fputs(", ", out);
    put_score(out, &all);
    fputs(", \"groups\": [\n", out);
    for (uint32_t g = 0; g < data->group_count; g++) {
        const cov_data_group *group = &data->groups[g];
        const cov_score s = cov_score_group(data, group);
        fputs("  {\"name\": ", out);
        rep_json(out, group->name);
        fputs(", \"about\": ", out);
        rep_json(out, group->about);
        fprintf(out, ", \"weight\": %" PRIu32 ", \"samples\": %" PRIu64 ", ", group->weight, group->samples);
        put_score(out, &s);
        fputs(", \"points\": [\n", out);
        for (uint32_t p = 0; p < group->point_count; p++) {
            put_point(data, &group->points[p], out);
            fputs(p + 1 < group->point_count ? ",\n" : "\n", out);
        }
        fputs("  ], \"crosses\": [\n", out);
        for (uint32_t c = 0; c < group->cross_count; c++) {
            put_cross(data, group, &group->crosses[c], out);
            fputs(c + 1 < group->cross_count ? ",\n" : "\n", out);
        }
        fputs(g + 1 < data->group_count ? "  ]},\n" : "  ]}\n", out);
    }
    fputs("]}\n", out);
}
