/* walk.c - bins and cells one after the other, with their names and hints. */
#include "tool.h"

#include <string.h>

static void walk_group(const cov_data *data, const cov_data_group *group, tool_item_fn fn, void *ctx) {
    for (uint32_t p = 0; p < group->point_count; p++) {
        const cov_data_point *point = &group->points[p];
        for (uint32_t b = 0; b < point->bin_count; b++) {
            const cov_data_bin *bin = &point->bins[b];
            const tool_item item = {.group = group,
                                    .point = point,
                                    .index = b,
                                    .role = bin->role,
                                    .hits = data->counts[point->first + b],
                                    .goal = bin->goal,
                                    .partial = bin->partial || point->partial,
                                    .why = bin->why};
            fn(ctx, data, &item);
        }
    }
    for (uint32_t c = 0; c < group->cross_count; c++) {
        const cov_data_cross *cross = &group->crosses[c];
        for (uint32_t i = 0; i < cross->cell_count; i++) {
            const cov_data_rule *rule = NULL;
            tool_item item = {
                .group = group, .cross = cross, .index = i, .goal = cross->goal, .partial = cross->partial};
            item.role = cov_cell_role(cross, i, &rule);
            item.hits = data->counts[cross->first + i];
            item.why = rule == NULL ? "" : rule->why;
            if (cross->cells[i] != COV_CELL_UNKNOWN) {
                fn(ctx, data, &item);
            }
        }
    }
}

void tool_walk(const cov_data *data, const cov_data_group *group, tool_item_fn fn, void *ctx) {
    for (uint32_t g = 0; g < data->group_count; g++) {
        if (group == NULL || group == &data->groups[g]) {
            walk_group(data, &data->groups[g], fn, ctx);
        }
    }
}

void tool_item_name(const tool_item *item, char *dst, size_t size) {
    char cell[500];
    if (item->point != NULL) {
        (void)snprintf(dst, size, "%s.%s.%s", item->group->name, item->point->name,
                       item->point->bins[item->index].name);
    } else {
        cov_cell_name(item->group, item->cross, item->index, cell, sizeof cell);
        (void)snprintf(dst, size, "%s.%s.(%s)", item->group->name, item->cross->name, cell);
    }
}

void tool_item_hint(const tool_item *item, char *dst, size_t size) {
    if (item->point != NULL) {
        (void)snprintf(dst, size, "%s", item->point->bins[item->index].hint);
    } else {
        cov_cell_hint(item->group, item->cross, item->index, dst, size);
    }
}
