/* merge.c - adding data of differing shapes: the union. */
#include "priv.h"

#include <stdlib.h>
#include <string.h>

typedef struct merger {
    cov_data *out;
    const cov_data *side[2];
    cov_error *err;
} merger;

/* Choose one of two texts, independent of their order. */
static const char *one_of(const char *a, const char *b) {
    return strcmp(a, b) >= 0 ? a : b;
}

static const char *copy(cov_data *data, const char *text) {
    return cov_text(data, text, strlen(text));
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static int conflict(const merger *m, const char *group, const char *item, const char *part, const char *what) {
    return cov_fail(m->err, COV_CONFLICT, "%s%s%s%s%s has %s in another file", group, item[0] == '\0' ? "" : ".", item,
                    part[0] == '\0' ? "" : ".", part, what);
}

static int bin_order(const void *a, const void *b) {
    const cov_data_bin *x = a;
    const cov_data_bin *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

static int point_order(const void *a, const void *b) {
    const cov_data_point *x = a;
    const cov_data_point *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

static int cross_order(const void *a, const void *b) {
    const cov_data_cross *x = a;
    const cov_data_cross *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

static int group_order(const void *a, const void *b) {
    const cov_data_group *x = a;
    const cov_data_group *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

/* a and b: the coverpoint on either side; one may be NULL, then `lone` says whether the other side has the group. */
static int merge_point(const merger *m, const char *group, const cov_data_point *a, const cov_data_point *b, bool lone,
                       cov_data_point *out) {
    const cov_data_point *any = a != NULL ? a : b;
    *out = *any;
    out->partial = any->partial || lone;
    out->bins =
        cov_alloc(m->out, (size_t)(a == NULL ? 0 : a->bin_count) + (b == NULL ? 0 : b->bin_count), sizeof *out->bins);
    out->bin_count = 0;
    if (a != NULL && b != NULL) {
        if (a->weight != b->weight) {
            return conflict(m, group, a->name, "", "another weight");
        }
        out->partial = a->partial || b->partial;
        out->rank = least(a->rank, b->rank);
        out->bug = one_of(a->bug, b->bug);
    }
    out->name = copy(m->out, out->name);
    out->bug = copy(m->out, out->bug);
    if (out->bins == NULL || out->name == NULL || out->bug == NULL) {
        return cov_no_memory(m->err);
    }
    for (int side = 0; side < 2; side++) {
        const cov_data_point *here = side == 0 ? a : b;
        const cov_data_point *there = side == 0 ? b : a;
        for (uint32_t i = 0; here != NULL && i < here->bin_count; i++) {
            const cov_data_bin *bin = &here->bins[i];
            const uint32_t at = there == NULL ? UINT32_MAX : cov_find_bin(there, bin->name, i);
            if (at != UINT32_MAX && side == 1) {
                continue;
            }
            cov_data_bin *to = &out->bins[out->bin_count++];
            *to = *bin;
            to->partial = bin->partial || (there != NULL && at == UINT32_MAX) || (there == NULL && lone);
            if (at != UINT32_MAX) {
                const cov_data_bin *o = &there->bins[at];
                if (!cov_same_bin(bin, o) || bin->goal != o->goal) {
                    return conflict(m, group, any->name, bin->name,
                                    bin->goal != o->goal ? "another goal" : "other values or another role");
                }
                to->rank = least(bin->rank, o->rank);
                to->partial = bin->partial || o->partial;
                to->why = one_of(bin->why, o->why);
                to->hint = one_of(bin->hint, o->hint);
            }
            to->name = copy(m->out, to->name);
            to->values = copy(m->out, to->values);
            to->why = copy(m->out, to->why);
            to->hint = copy(m->out, to->hint);
            if (to->name == NULL || to->values == NULL || to->why == NULL || to->hint == NULL) {
                return cov_no_memory(m->err);
            }
        }
    }
    if (out->bin_count > COV_BINS_MAX) {
        return conflict(m, group, any->name, "", "other bins, too many together,");
    }
    if (out->bin_count > 1) {
        qsort(out->bins, out->bin_count, sizeof *out->bins, bin_order);
    }
    return COV_OK;
}

/* Number of this rule among those of the cross, added if necessary; 0: too many, or out of memory. */
static uint8_t rule_number(const merger *m, cov_data_cross *cross, const cov_data_rule *rule) {
    for (uint32_t r = 0; r < cross->rule_count; r++) {
        if (cross->rules[r].role == rule->role && strcmp(cross->rules[r].why, rule->why) == 0) {
            return (uint8_t)(r + 1);
        }
    }
    const char *why = copy(m->out, rule->why);
    if (cross->rule_count >= COV_RULES_MAX || why == NULL) {
        return 0;
    }
    cross->rules[cross->rule_count++] = (cov_data_rule){rule->role, why};
    return (uint8_t)cross->rule_count;
}

/* The cells of the union, from those of both sides: maps lead from a side to the union. */
static int merge_cells(const merger *m, const char *group, const cov_data_cross *const side[2], uint32_t *const map[2],
                       cov_data_cross *out) {
    /* of each cell: the rule of either side; NULL and known: counted */
    const cov_data_rule **rules = calloc(out->cell_count, sizeof *rules);
    bool *known = calloc(out->cell_count, sizeof *known);
    int rc = rules == NULL || known == NULL ? cov_no_memory(m->err) : COV_OK;
    for (int s = 0; s < 2 && rc == COV_OK; s++) {
        for (uint32_t i = 0; side[s] != NULL && i < side[s]->cell_count && rc == COV_OK; i++) {
            if (side[s]->cells[i] == COV_CELL_UNKNOWN) {
                continue;
            }
            const uint32_t at = map[s][i];
            const cov_data_rule *rule = NULL;
            const cov_role role = cov_cell_role(side[s], i, &rule);
            if (known[at] && (rules[at] == NULL ? COV_COUNTED : rules[at]->role) != role) {
                rc = conflict(m, group, out->name, "", "a cell of another role");
            } else if (!known[at] || (rule != NULL && strcmp(rule->why, rules[at]->why) > 0)) {
                rules[at] = rule;
                known[at] = true;
            }
        }
    }
    for (uint32_t i = 0; rc == COV_OK && i < out->cell_count; i++) {
        out->cells[i] = !known[i] ? COV_CELL_UNKNOWN : rules[i] == NULL ? 0 : rule_number(m, out, rules[i]);
        if (known[i] && rules[i] != NULL && out->cells[i] == 0) {
            rc = conflict(m, group, out->name, "", "other rules, too many together,");
        }
    }
    free(rules);
    free(known);
    return rc;
}

static int merge_cross(const merger *m, const cov_data_group *const groups[2], const cov_data_cross *const side[2],
                       bool lone, const cov_data_group *out_group, cov_data_cross *out) {
    const int first = side[0] != NULL ? 0 : 1;
    const cov_data_cross *any = side[first];
    *out = *any;
    out->partial = any->partial || lone;
    if (side[0] != NULL && side[1] != NULL) {
        if (!cov_same_points(groups[0], side[0], groups[1], side[1])) {
            return conflict(m, out_group->name, any->name, "", "other coverpoints");
        }
        if (side[0]->goal != side[1]->goal || side[0]->weight != side[1]->weight) {
            return conflict(m, out_group->name, any->name, "", "another goal or weight");
        }
        out->rank = least(side[0]->rank, side[1]->rank);
        out->partial = side[0]->partial || side[1]->partial;
        out->bug = one_of(side[0]->bug, side[1]->bug);
    }
    out->name = copy(m->out, out->name);
    out->bug = copy(m->out, out->bug);
    out->rules = cov_alloc(m->out, COV_RULES_MAX, sizeof *out->rules);
    out->rule_count = 0;
    if (out->name == NULL || out->bug == NULL || out->rules == NULL) {
        return cov_no_memory(m->err);
    }
    for (uint32_t p = 0; p < out->point_count; p++) {
        const char *name = groups[first]->points[any->points[p]].name;
        out->points[p] = (uint32_t)(cov_find_point(out_group, name, any->points[p]) - out_group->points);
    }
    int rc = cov_cross_size(m->out, out_group, out, m->err);
    uint32_t *map[2] = {NULL, NULL};
    for (int s = 0; rc == COV_OK && s < 2; s++) {
        if (side[s] != NULL) {
            map[s] = cov_map_cells(groups[s], side[s], out_group, out);
            rc = map[s] == NULL ? cov_no_memory(m->err) : COV_OK;
        }
    }
    rc = rc == COV_OK ? merge_cells(m, out_group->name, side, map, out) : rc;
    free(map[0]);
    free(map[1]);
    return rc == COV_BAD_FILE ? COV_CONFLICT : rc;
}

static int merge_group(const merger *m, const cov_data_group *a, const cov_data_group *b, cov_data_group *out) {
    const cov_data_group *const sides[2] = {a, b};
    const bool both = a != NULL && b != NULL;
    const cov_data_group *any = a != NULL ? a : b;
    int rc = COV_OK;
    *out = (cov_data_group){.rank = both ? least(a->rank, b->rank) : any->rank, .weight = any->weight};
    out->name = copy(m->out, any->name);
    out->about = copy(m->out, both ? one_of(a->about, b->about) : any->about);
    const size_t points = (size_t)(a == NULL ? 0 : a->point_count) + (b == NULL ? 0 : b->point_count);
    const size_t crosses = (size_t)(a == NULL ? 0 : a->cross_count) + (b == NULL ? 0 : b->cross_count);
    out->points = cov_alloc(m->out, points, sizeof *out->points);
    out->crosses = cov_alloc(m->out, crosses, sizeof *out->crosses);
    if (out->name == NULL || out->about == NULL || out->points == NULL || out->crosses == NULL) {
        return cov_no_memory(m->err);
    }
    if (both && a->weight != b->weight) {
        return conflict(m, a->name, "", "", "another weight");
    }
    for (int s = 0; s < 2; s++) {
        const cov_data_group *other = sides[1 - s];
        for (uint32_t p = 0; sides[s] != NULL && p < sides[s]->point_count && rc == COV_OK; p++) {
            const cov_data_point *here = &sides[s]->points[p];
            const cov_data_point *there = other == NULL ? NULL : cov_find_point(other, here->name, p);
            if (there == NULL || s == 0) {
                rc = merge_point(m, out->name, s == 0 ? here : NULL, s == 0 ? there : here, both && there == NULL,
                                 &out->points[out->point_count++]);
            }
        }
    }
    if (rc == COV_OK && out->point_count > 1) {
        qsort(out->points, out->point_count, sizeof *out->points, point_order);
    }
    for (int s = 0; s < 2; s++) {
        const cov_data_group *other = sides[1 - s];
        for (uint32_t c = 0; sides[s] != NULL && c < sides[s]->cross_count && rc == COV_OK; c++) {
            const cov_data_cross *here = &sides[s]->crosses[c];
            const cov_data_cross *there = other == NULL ? NULL : cov_find_cross(other, here->name, c);
            if (there == NULL || s == 0) {
                const cov_data_cross *const pair[2] = {s == 0 ? here : NULL, s == 0 ? there : here};
                rc = merge_cross(m, sides, pair, both && there == NULL, out, &out->crosses[out->cross_count++]);
            }
        }
    }
    if (rc == COV_OK && out->cross_count > 1) {
        qsort(out->crosses, out->cross_count, sizeof *out->crosses, cross_order);
    }
    return rc;
}

/* A name may not be a coverpoint here and a cross there. */
static int check_kinds(const merger *m, const cov_data_group *group) {
    for (uint32_t c = 0; c < group->cross_count; c++) {
        if (cov_find_point(group, group->crosses[c].name, c) != NULL) {
            return conflict(m, group->name, group->crosses[c].name, "", "another kind");
        }
    }
    return COV_OK;
}

static int unite(const merger *m) {
    int rc = COV_OK;
    cov_data *out = m->out;
    out->groups = cov_alloc(out, (size_t)m->side[0]->group_count + m->side[1]->group_count, sizeof *out->groups);
    if (out->groups == NULL) {
        return cov_no_memory(m->err);
    }
    for (int s = 0; s < 2; s++) {
        for (uint32_t g = 0; g < m->side[s]->group_count && rc == COV_OK; g++) {
            const cov_data_group *here = &m->side[s]->groups[g];
            const cov_data_group *there = cov_find_group(m->side[1 - s], here->name, g);
            if (there == NULL || s == 0) {
                cov_data_group *to = &out->groups[out->group_count++];
                rc = merge_group(m, s == 0 ? here : NULL, s == 0 ? there : here, to);
                rc = rc == COV_OK ? check_kinds(m, to) : rc;
            }
        }
    }
    if (rc == COV_OK && out->group_count > 1) {
        qsort(out->groups, out->group_count, sizeof *out->groups, group_order);
    }
    rc = rc == COV_OK ? cov_place(out, m->err) : rc;
    return rc == COV_BAD_FILE ? COV_CONFLICT : rc;
}

int cov_merge(cov_data *into, cov_data *from, cov_error *err) {
    cov_data out;
    const merger m = {&out, {into, from}, err};
    cov_data_init(&out);
    int rc = unite(&m);
    rc = rc == COV_OK ? cov_load(&out, into, NULL, NULL, err) : rc;
    rc = rc == COV_OK ? cov_load(&out, from, NULL, NULL, err) : rc;
    if (rc == COV_OK && into->files == 0 && from->job[0] != '\0') { /* it was empty: take the other one */
        const char *job = copy(&out, from->job);
        out.job = job == NULL ? "" : job;
    }
    if (rc != COV_OK) {
        cov_data_free(&out);
        return rc;
    }
    cov_data_free(into);
    *into = out;
    return COV_OK;
}
