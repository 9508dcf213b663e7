/* report.c - tandem-cov report as text: scores, then holes with hints, illegal hits, what is ignored. */
#include "tool.h"

#include <inttypes.h>
#include <string.h>

/* A list that gets its title with its first line. */
typedef struct list {
    const char *title;
    uint64_t lines;
} list;

static void begin_line(list *l) {
    if (l->lines++ == 0) {
        printf("\n%s\n", l->title);
    }
}

static void put_hole(void *ctx, const cov_data *data, const tool_item *item) {
    char name[700];
    char hint[300];
    (void)data;
    if (item->role == COV_COUNTED && item->hits < item->goal) {
        begin_line(ctx);
        tool_item_name(item, name, sizeof name);
        tool_item_hint(item, hint, sizeof hint);
        printf("  %-48s %" PRIu64 "/%" PRIu32 "%s%s\n", name, item->hits, item->goal, hint[0] == '\0' ? "" : "  ",
               hint);
    }
}

static void put_illegal(void *ctx, const cov_data *data, const tool_item *item) {
    char name[700];
    (void)data;
    if (item->role == COV_ILLEGAL && item->hits > 0) {
        begin_line(ctx);
        tool_item_name(item, name, sizeof name);
        printf("  %-48s %" PRIu64 "%s%s\n", name, item->hits, item->why[0] == '\0' ? "" : "  ", item->why);
    }
}

static void put_ignored(void *ctx, const cov_data *data, const tool_item *item) {
    char name[700];
    (void)data;
    if (item->role == COV_IGNORED && item->point != NULL) {
        begin_line(ctx);
        tool_item_name(item, name, sizeof name);
        printf("  %-48s %s\n", name, item->why);
    }
}

/* Ignored cells are too many for a line each: one for each reason. */
static void put_ignored_cells(const cov_data *data, list *l) {
    for (uint32_t g = 0; g < data->group_count; g++) {
        for (uint32_t c = 0; c < data->groups[g].cross_count; c++) {
            const cov_data_cross *cross = &data->groups[g].crosses[c];
            for (uint32_t r = 0; r < cross->rule_count; r++) {
                uint32_t cells = 0;
                for (uint32_t i = 0; i < cross->cell_count; i++) {
                    cells += cross->cells[i] == r + 1;
                }
                if (cells > 0 && cross->rules[r].role == COV_IGNORED) {
                    begin_line(l);
                    printf("  %s.%s: %" PRIu32 " cells  %s\n", data->groups[g].name, cross->name, cells,
                           cross->rules[r].why);
                }
            }
        }
    }
}

static void put_line(const char *indent, const char *name, const cov_score *s, const char *note) {
    printf("%s%-*s %6.2f %%  %6" PRIu64 " of %-6" PRIu64 "%s\n", indent, (int)(34 - strlen(indent)), name, s->percent,
           s->covered, s->total, note);
}

static void put_scores(const cov_data *data) {
    char note[120];
    for (uint32_t g = 0; g < data->group_count; g++) {
        const cov_data_group *group = &data->groups[g];
        cov_score s = cov_score_group(data, group);
        (void)snprintf(note, sizeof note, "  weight %" PRIu32 ", %" PRIu64 " samples", group->weight, group->samples);
        put_line("", group->name, &s, note);
        for (uint32_t p = 0; p < group->point_count; p++) {
            s = cov_score_point(data, &group->points[p]);
            put_line("  ", group->points[p].name, &s, "");
        }
        for (uint32_t c = 0; c < group->cross_count; c++) {
            s = cov_score_cross(data, &group->crosses[c]);
            put_line("  ", group->crosses[c].name, &s, "  cross");
        }
    }
}

static void report_text(const cov_data *data) {
    const cov_score s = cov_score_all(data);
    list holes = {"holes (hits/goal, what would hit them)", 0};
    list illegal = {"illegal hits", 0};
    list ignored = {"ignored", 0};
    printf("%.2f %%: %" PRIu64 " of %" PRIu64 " bins and cells, %" PRIu64 " illegal hits, %" PRIu64 " files\n\n",
           s.percent, s.covered, s.total, s.illegal, data->files);
    put_scores(data);
    tool_walk(data, NULL, put_illegal, &illegal);
    tool_walk(data, NULL, put_hole, &holes);
    tool_walk(data, NULL, put_ignored, &ignored);
    put_ignored_cells(data, &ignored);
}

int tool_report(const tool *t) {
    cov_data data;
    cov_error err;
    int rc = cov_read(&data, t->files[0], &err);
    if (rc == COV_OK && t->html != NULL) {
        rc = tool_html(&data, t->html, &err);
    }
    if (rc == COV_OK && t->json) {
        tool_report_json(&data, stdout);
    } else if (rc == COV_OK) {
        report_text(&data);
    }
    cov_data_free(&data);
    return rc == COV_OK ? 0 : tool_error(t, err.text);
}
