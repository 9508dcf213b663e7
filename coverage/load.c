/* load.c - items of two shapes are matched by their names; those of a given shape are added to it. */
#include "priv.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding by name; the same place first, since shapes are mostly equal ---- */

const cov_data_group *cov_find_group(const cov_data *data, const char *name, uint32_t near) {
    if (near < data->group_count && strcmp(data->groups[near].name, name) == 0) {
        return &data->groups[near];
    }
    for (uint32_t g = 0; g < data->group_count; g++) {
        if (strcmp(data->groups[g].name, name) == 0) {
            return &data->groups[g];
        }
    }
    return NULL;
}

const cov_data_point *cov_find_point(const cov_data_group *group, const char *name, uint32_t near) {
    if (near < group->point_count && strcmp(group->points[near].name, name) == 0) {
        return &group->points[near];
    }
    for (uint32_t p = 0; p < group->point_count; p++) {
        if (strcmp(group->points[p].name, name) == 0) {
            return &group->points[p];
        }
    }
    return NULL;
}

const cov_data_cross *cov_find_cross(const cov_data_group *group, const char *name, uint32_t near) {
    if (near < group->cross_count && strcmp(group->crosses[near].name, name) == 0) {
        return &group->crosses[near];
    }
    for (uint32_t c = 0; c < group->cross_count; c++) {
        if (strcmp(group->crosses[c].name, name) == 0) {
            return &group->crosses[c];
        }
    }
    return NULL;
}

uint32_t cov_find_bin(const cov_data_point *point, const char *name, uint32_t near) {
    if (near < point->bin_count && strcmp(point->bins[near].name, name) == 0) {
        return near;
    }
    for (uint32_t b = 0; b < point->bin_count; b++) {
        if (strcmp(point->bins[b].name, name) == 0) {
            return b;
        }
    }
    return UINT32_MAX;
}

/* Do bins have the same meaning: values and role? */
bool cov_same_bin(const cov_data_bin *a, const cov_data_bin *b) {
    return a->role == b->role && a->steps == b->steps && strcmp(a->values, b->values) == 0;
}

/* Crosses are of the same coverpoints, in the same order. */
bool cov_same_points(const cov_data_group *ga, const cov_data_cross *a, const cov_data_group *gb,
                     const cov_data_cross *b) {
    bool same = a->point_count == b->point_count;
    for (uint32_t p = 0; same && p < a->point_count; p++) {
        same = strcmp(ga->points[a->points[p]].name, gb->points[b->points[p]].name) == 0;
    }
    return same;
}

/*
 * map[cell of a] = that cell of b, or UINT32_MAX. Bins of other values are others. To be freed; NULL: out of memory.
 */
uint32_t *cov_map_cells(const cov_data_group *ga, const cov_data_cross *a, const cov_data_group *gb,
                        const cov_data_cross *b) {
    uint32_t *map = calloc(a->cell_count, sizeof *map);
    uint32_t *dims[COV_CROSS_MAX] = {NULL};
    bool good = map != NULL;
    for (uint32_t p = 0; good && p < a->point_count; p++) {
        const cov_data_point *pa = &ga->points[a->points[p]];
        const cov_data_point *pb = &gb->points[b->points[p]];
        uint32_t next = 0;
        dims[p] = calloc(a->dim[p], sizeof *dims[p]);
        good = dims[p] != NULL;
        for (uint32_t i = 0; good && i < pa->bin_count; i++) {
            if (!cov_is_crossed(&pa->bins[i])) {
                continue;
            }
            const uint32_t at = cov_find_bin(pb, pa->bins[i].name, i);
            uint32_t index = UINT32_MAX;
            if (at != UINT32_MAX && cov_same_bin(&pa->bins[i], &pb->bins[at])) {
                index = 0;
                for (uint32_t k = 0; k < at; k++) {
                    index += cov_is_crossed(&pb->bins[k]);
                }
            }
            dims[p][next++] = index;
        }
    }
    for (uint32_t cell = 0; good && cell < a->cell_count; cell++) {
        uint32_t rest = cell;
        uint32_t stride = 1;
        map[cell] = 0;
        for (uint32_t p = a->point_count; p-- > 0;) {
            const uint32_t index = dims[p][rest % a->dim[p]];
            rest /= a->dim[p];
            map[cell] = index == UINT32_MAX || map[cell] == UINT32_MAX ? UINT32_MAX : map[cell] + index * stride;
            stride *= b->dim[p];
        }
    }
    for (uint32_t p = 0; p < COV_CROSS_MAX; p++) {
        free(dims[p]);
    }
    if (!good) {
        free(map);
        return NULL;
    }
    return map;
}

/* ---- into a given shape ---- */

typedef struct loader {
    cov_data *into;
    const cov_data *from;
    cov_stale_fn told;
    void *ctx;
} loader;

static void stale(const loader *l, const cov_data_group *group, const char *item, const char *part, uint64_t hits) {
    char what[500];
    (void)snprintf(what, sizeof what, "%s%s%s%s%s", group->name, item[0] == '\0' ? "" : ".", item,
                   part[0] == '\0' ? "" : ".", part);
    if (l->told != NULL) {
        l->told(l->ctx, what, hits);
    }
}

static uint64_t sum(const uint64_t *counts, uint32_t count) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++) {
        cov_add(&all, counts[i]);
    }
    return all;
}

static void load_point(const loader *l, const cov_data_group *to, const cov_data_group *group,
                       const cov_data_point *point, uint32_t near) {
    const cov_data_point *target = cov_find_point(to, point->name, near);
    const uint64_t *counts = l->from->counts + point->first;
    if (target == NULL) {
        stale(l, group, point->name, "", sum(counts, point->bin_count));
        return;
    }
    for (uint32_t b = 0; b < point->bin_count; b++) {
        const uint32_t at = cov_find_bin(target, point->bins[b].name, b);
        if (at == UINT32_MAX || !cov_same_bin(&target->bins[at], &point->bins[b])) {
            stale(l, group, point->name, point->bins[b].name, counts[b]);
        } else {
            cov_add(&l->into->counts[target->first + at], counts[b]);
        }
    }
}

static int load_cross(const loader *l, const cov_data_group *to, const cov_data_group *group,
                      const cov_data_cross *cross, uint32_t near, cov_error *err) {
    const cov_data_cross *target = cov_find_cross(to, cross->name, near);
    const uint64_t *counts = l->from->counts + cross->first;
    char cell[300];
    if (target == NULL || !cov_same_points(group, cross, to, target)) {
        stale(l, group, cross->name, "", sum(counts, cross->cell_count));
        return COV_OK;
    }
    uint32_t *map = cov_map_cells(group, cross, to, target);
    if (map == NULL) {
        return cov_no_memory(err);
    }
    for (uint32_t i = 0; i < cross->cell_count; i++) {
        if (map[i] != UINT32_MAX) {
            cov_add(&l->into->counts[target->first + map[i]], counts[i]);
        } else if (counts[i] != 0) {
            cov_cell_name(group, cross, i, cell, sizeof cell);
            stale(l, group, cross->name, cell, counts[i]);
        }
    }
    free(map);
    return COV_OK;
}

int cov_load(cov_data *into, const cov_data *from, cov_stale_fn told, void *ctx, cov_error *err) {
    const loader l = {into, from, told, ctx};
    int rc = COV_OK;
    for (uint32_t g = 0; rc == COV_OK && g < from->group_count; g++) {
        const cov_data_group *group = &from->groups[g];
        const cov_data_group *to = cov_find_group(into, group->name, g);
        if (to == NULL) {
            stale(&l, group, "", "", group->samples);
            continue;
        }
        cov_add(&into->groups[to - into->groups].samples, group->samples);
        for (uint32_t p = 0; p < group->point_count; p++) {
            load_point(&l, to, group, &group->points[p], p);
        }
        for (uint32_t c = 0; rc == COV_OK && c < group->cross_count; c++) {
            rc = load_cross(&l, to, group, &group->crosses[c], c, err);
        }
    }
    cov_add(&into->files, from->files);
    into->job = "";
    return rc;
}
