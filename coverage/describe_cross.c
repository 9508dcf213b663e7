/* describe_cross.c - crosses of a description: their coverpoints, and the rules that exclude cells. */
#include "priv.h"

#include <string.h>

int cov_describe_cross(cov_data *data, cov_data_group *group, cov_data_cross *cross, const cov_cross *text,
                       cov_error *err);

/* Is the bin in "a|b" or "!a|b"? */
static bool in_list(const char *list, const char *name) {
    const bool not = list[0] == '!';
    const size_t length = strlen(name);
    for (const char *at = list + not ;; at++) {
        const size_t part = strcspn(at, "|");
        if (part == length && memcmp(at, name, length) == 0) {
            return !not ;
        }
        at += part;
        if (*at == '\0') {
            return not ;
        }
    }
}

/* Every name of a list is a counted bin of the coverpoint. */
static int check_list(const char *where, const char *cross, const cov_data_point *point, const char *list,
                      cov_error *err) {
    for (const char *at = list + (list[0] == '!');; at++) {
        const size_t part = strcspn(at, "|");
        uint32_t b = 0;
        while (b < point->bin_count && (!cov_is_crossed(&point->bins[b]) || strlen(point->bins[b].name) != part ||
                                        memcmp(point->bins[b].name, at, part) != 0)) {
            b++;
        }
        if (b == point->bin_count) {
            return cov_fail(err, COV_BAD_MODEL, "%s.%s: a rule names '%.*s', which is not a counted bin of %s", where,
                            cross, (int)part, at, point->name);
        }
        at += part;
        if (*at == '\0') {
            return COV_OK;
        }
    }
}

static int add_rules(cov_data *data, const cov_data_group *group, cov_data_cross *cross, const cov_cross *text,
                     cov_error *err) {
    if (text->rule_count > COV_RULES_MAX) {
        return cov_fail(err, COV_BAD_MODEL, "%s.%s: more than %u rules", group->name, cross->name, COV_RULES_MAX);
    }
    cross->rules = cov_alloc(data, text->rule_count, sizeof *cross->rules);
    if (cross->rules == NULL) {
        return cov_no_memory(err);
    }
    for (uint32_t r = 0; r < text->rule_count; r++) {
        const cov_rule *rule = &text->rules[r];
        bool any = false;
        if (rule->role == COV_COUNTED || rule->why == NULL || rule->why[0] == '\0' || !cov_is_line(rule->why, 300)) {
            return cov_fail(err, COV_BAD_MODEL, "%s.%s: rule %u ignores or forbids, and gives its reason in one line",
                            group->name, cross->name, r + 1);
        }
        for (uint32_t p = 0; p < COV_CROSS_MAX; p++) {
            if (rule->bins[p] != NULL && p >= cross->point_count) {
                return cov_fail(err, COV_BAD_MODEL, "%s.%s: rule %u has bins for more coverpoints than the cross",
                                group->name, cross->name, r + 1);
            }
            any = any || rule->bins[p] != NULL;
            const int rc = rule->bins[p] == NULL ? COV_OK
                                                 : check_list(group->name, cross->name,
                                                              &group->points[cross->points[p]], rule->bins[p], err);
            if (rc != COV_OK) {
                return rc;
            }
        }
        if (!any) {
            return cov_fail(err, COV_BAD_MODEL, "%s.%s: rule %u takes every cell", group->name, cross->name, r + 1);
        }
        cross->rules[r] = (cov_data_rule){.role = rule->role, .why = cov_text(data, rule->why, strlen(rule->why))};
        if (cross->rules[r].why == NULL) {
            return cov_no_memory(err);
        }
    }
    cross->rule_count = text->rule_count;
    return COV_OK;
}

static uint8_t rule_of(const cov_data_group *group, const cov_data_cross *cross, const cov_cross *text, uint32_t cell) {
    uint32_t bins[COV_CROSS_MAX];
    cov_cell_bins(group, cross, cell, bins);
    for (uint32_t r = 0; r < text->rule_count; r++) {
        bool fits = true;
        for (uint32_t p = 0; fits && p < cross->point_count; p++) {
            const char *list = text->rules[r].bins[p];
            fits = list == NULL || in_list(list, group->points[cross->points[p]].bins[bins[p]].name);
        }
        if (fits) {
            return (uint8_t)(r + 1);
        }
    }
    return 0;
}

int cov_describe_cross(cov_data *data, cov_data_group *group, cov_data_cross *cross, const cov_cross *text,
                       cov_error *err) {
    if (text->bug == NULL || text->bug[0] == '\0' || !cov_is_line(text->bug, 300)) {
        return cov_fail(err, COV_BAD_MODEL, "%s.%s: a cross says in one line which bug would hide behind its holes",
                        group->name, cross->name);
    }
    cross->bug = cov_text(data, text->bug, strlen(text->bug));
    cross->goal = text->goal == 0 ? 1 : text->goal;
    while (cross->point_count < COV_CROSS_MAX && text->points[cross->point_count] != NULL) {
        const char *name = text->points[cross->point_count];
        uint32_t p = 0;
        while (p < group->point_count && strcmp(group->points[p].name, name) != 0) {
            p++;
        }
        for (uint32_t i = 0; i < cross->point_count; i++) {
            if (cross->points[i] == p) {
                return cov_fail(err, COV_BAD_MODEL, "%s.%s: coverpoint %s twice", group->name, cross->name, name);
            }
        }
        if (p == group->point_count) {
            return cov_fail(err, COV_BAD_MODEL, "%s.%s: no coverpoint has the name %s", group->name, cross->name, name);
        }
        cross->points[cross->point_count++] = p;
    }
    if (cross->point_count < 2) {
        return cov_fail(err, COV_BAD_MODEL, "%s.%s: a cross has 2 to %u coverpoints", group->name, cross->name,
                        COV_CROSS_MAX);
    }
    int rc = cross->bug == NULL ? cov_no_memory(err) : cov_cross_size(data, group, cross, err);
    if (rc == COV_BAD_FILE) {
        rc = COV_BAD_MODEL;
    }
    rc = rc == COV_OK ? add_rules(data, group, cross, text, err) : rc;
    for (uint32_t cell = 0; rc == COV_OK && cell < cross->cell_count; cell++) {
        cross->cells[cell] = rule_of(group, cross, text, cell);
    }
    return rc;
}
