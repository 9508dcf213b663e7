/* plan_hole.c - bins and cells that are not covered: their weights, and the chance that a case hits them. */
#include "plan.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* Weights, while holes are read. */
typedef struct reading {
    plan *p;
    double groups; /* sum of weights of groups with something to count */
    double parts;  /* of the parts of this group */
    const cov_data_group *of;
    const void *part; /* coverpoint or cross whose total that is */
    uint64_t total;
    bool failed;
} reading;

static double sum_of_parts(const cov_data *data, const cov_data_group *group) {
    double sum = 0.0;
    for (uint32_t i = 0; i < group->point_count; i++) {
        sum += cov_score_point(data, &group->points[i]).total > 0 ? (double)group->points[i].weight : 0.0;
    }
    for (uint32_t i = 0; i < group->cross_count; i++) {
        sum += cov_score_cross(data, &group->crosses[i]).total > 0 ? (double)group->crosses[i].weight : 0.0;
    }
    return sum;
}

/* Share of this bin or cell in the total score, in percent. */
static double weigh(reading *r, const cov_data *data, const tool_item *item) {
    const void *part = item->point != NULL ? (const void *)item->point : (const void *)item->cross;
    if (r->of != item->group) {
        r->of = item->group;
        r->parts = sum_of_parts(data, item->group);
    }
    if (r->part != part) {
        r->part = part;
        r->total =
            item->point != NULL ? cov_score_point(data, item->point).total : cov_score_cross(data, item->cross).total;
    }
    const uint32_t weight = item->point != NULL ? item->point->weight : item->cross->weight;
    const double whole = r->groups * r->parts * (double)r->total;
    return whole == 0.0 ? 0.0 : 100.0 * (double)item->group->weight * (double)weight / whole;
}

static plan_hole *add_hole(plan *p) {
    if (!rep_more(&p->holes, p->hole_count, sizeof *p->holes)) {
        return NULL;
    }
    memset(&p->holes[p->hole_count], 0, sizeof p->holes[0]);
    return &p->holes[p->hole_count++];
}

static void take_hole(void *ctx, const cov_data *data, const tool_item *item) {
    reading *r = ctx;
    char name[700];
    uint32_t places[COV_CROSS_MAX];
    if (r->failed || item->role != COV_COUNTED || item->hits >= item->goal) {
        return;
    }
    const double weight = weigh(r, data, item);
    plan_hole *hole = weight > 0.0 ? add_hole(r->p) : NULL;
    tool_item_name(item, name, sizeof name);
    if (hole == NULL || (hole->name = strdup(name)) == NULL) {
        r->failed = weight > 0.0;
        return;
    }
    hole->group = (uint32_t)(item->group - data->groups);
    hole->weight = weight;
    hole->left = weight;
    hole->bin_count = item->point != NULL ? 1 : item->cross->point_count;
    if (item->point != NULL) {
        hole->bins[0] = r->p->bin_at[item->point->first + item->index];
        return;
    }
    cov_cell_bins(item->group, item->cross, item->index, places);
    for (uint32_t i = 0; i < hole->bin_count; i++) {
        hole->bins[i] = r->p->bin_at[item->group->points[item->cross->points[i]].first + places[i]];
    }
}

/* For each bin the holes that it is part of. */
static bool list_by_bin(plan *p) {
    uint32_t sum = 0;
    for (uint32_t h = 0; h < p->hole_count; h++) {
        for (uint32_t i = 0; i < p->holes[h].bin_count; i++) {
            p->bins[p->holes[h].bins[i]].hole_count++;
        }
    }
    for (uint32_t b = 0; b < p->bin_count; b++) {
        p->bins[b].hole_first = sum;
        p->bins[b].hole = PLAN_NONE;
        sum += p->bins[b].hole_count;
        p->bins[b].hole_count = 0;
    }
    p->of_bin = calloc((size_t)sum + 1, sizeof *p->of_bin);
    p->stamp = calloc((size_t)p->hole_count + 1, sizeof *p->stamp);
    p->holds = calloc((size_t)p->hole_count + 1, sizeof *p->holds);
    p->near = calloc((size_t)p->bin_count + 1, sizeof *p->near);
    for (uint32_t h = 0; p->of_bin != NULL && h < p->hole_count; h++) {
        for (uint32_t i = 0; i < p->holes[h].bin_count; i++) {
            plan_bin *bin = &p->bins[p->holes[h].bins[i]];
            p->of_bin[bin->hole_first + bin->hole_count++] = h;
            bin->hole = p->holes[h].bin_count == 1 ? h : bin->hole;
        }
    }
    return p->of_bin != NULL && p->stamp != NULL && p->holds != NULL && p->near != NULL;
}

int plan_read_holes(plan *p, cov_error *err) {
    reading r = {.p = p};
    for (uint32_t g = 0; g < p->data->group_count; g++) {
        const cov_data_group *group = &p->data->groups[g];
        r.groups += cov_score_group(p->data, group).total > 0 ? (double)group->weight : 0.0;
    }
    tool_walk(p->data, NULL, take_hole, &r);
    if (r.failed || !list_by_bin(p)) {
        return cov_fail(err, COV_NO_MEMORY, "out of memory");
    }
    return COV_OK;
}

void plan_free(plan *p) {
    for (uint32_t i = 0; i < p->word_count; i++) {
        free(p->words[i].text);
    }
    for (uint32_t i = 0; i < p->hole_count; i++) {
        free(p->holes[i].name);
    }
    free(p->words);
    free(p->alts);
    free(p->bins);
    free(p->bin_at);
    free(p->holes);
    free(p->of_bin);
    free(p->tests);
    free(p->samples);
    free(p->line_value);
    free(p->stamp);
    free(p->holds);
    free(p->near);
}

/* ---- chances ---- */

double plan_tries(const plan *p, const plan_hole *hole) {
    double tries = hole->tries;
    for (uint32_t i = 0; i < hole->bin_count; i++) {
        const uint32_t own = p->bins[hole->bins[i]].hole;
        tries = own != PLAN_NONE && p->holes[own].tries > tries ? p->holes[own].tries : tries;
    }
    return tries;
}

/* Does the value hit the bin? That of the hint does, and if it is a value of the bin itself, so do the bin's others. */
static bool makes(const plan *p, const plan_bin *bin, uint32_t hinted, uint32_t value) {
    const plan_word *hint = &p->words[hinted];
    const plan_word *word = &p->words[value];
    return value == hinted || (bin->range && hint->number && word->number && hint->value >= bin->lo &&
                               hint->value <= bin->hi && word->value >= bin->lo && word->value <= bin->hi);
}

/* How the line's pins relate to one way to hit a bin. */
typedef struct state {
    double chance;
    uint32_t own;     /* pins of the line that select it */
    uint32_t against; /* the knob of a need that the line pins to another value; PLAN_NONE: there is none */
} state;

static state state_of(const plan *p, const plan_bin *bin, const plan_alt *alt) {
    state s = {bin->chance, 0, PLAN_NONE};
    if (alt->count == 0) {
        return s;
    }
    const plan_pin *last = &alt->pins[alt->count - 1];
    if (p->line_value[last->knob] == PLAN_NONE) {
        return s;
    }
    if (!makes(p, bin, last->value, p->line_value[last->knob])) {
        s.chance = 0.0;
        return s;
    }
    uint32_t open = 0;
    for (uint32_t i = 0; i + 1 < alt->count; i++) {
        const uint32_t value = p->line_value[alt->pins[i].knob];
        open += value == PLAN_NONE;
        s.against = value != PLAN_NONE && value != alt->pins[i].value ? alt->pins[i].knob : s.against;
    }
    if (s.against == PLAN_NONE) {
        s.own = alt->count - open;
        s.chance = open == 0 ? 1.0 : bin->chance > 0.3 ? bin->chance : 0.3;
    }
    return s;
}

/* Another bin of the hole needs a contradicting value: their hints are independent, so both may still be hit. */
static bool asked_for(const plan *p, const plan_hole *hole, uint32_t test, uint32_t knob) {
    for (uint32_t i = 0; i < hole->bin_count; i++) {
        const plan_bin *bin = &p->bins[hole->bins[i]];
        for (uint32_t a = 0; a < bin->alt_count; a++) {
            const plan_alt *alt = &p->alts[bin->alt_first + a];
            const plan_pin *last = alt->count == 0 ? NULL : &alt->pins[alt->count - 1];
            if (last != NULL && alt->test == test && last->knob == knob &&
                makes(p, bin, last->value, p->line_value[knob])) {
                return true;
            }
        }
    }
    return false;
}

double plan_chance(const plan *p, const plan_hole *hole, uint32_t test, uint32_t *own) {
    double chance = 1.0;
    *own = 0;
    for (uint32_t i = 0; i < hole->bin_count && chance > 0.0; i++) {
        const plan_bin *bin = &p->bins[hole->bins[i]];
        state best = {bin->chance, 0, PLAN_NONE};
        bool said = false;
        for (uint32_t a = 0; a < bin->alt_count; a++) {
            if (p->alts[bin->alt_first + a].test != test) {
                continue;
            }
            state s = state_of(p, bin, &p->alts[bin->alt_first + a]);
            if (s.against != PLAN_NONE && asked_for(p, hole, test, s.against)) {
                s.chance = 0.5;
                s.own = 1;
            }
            if (!said || s.chance > best.chance) {
                best = s;
            }
            said = true;
        }
        chance *= best.chance;
        *own += best.own;
    }
    return chance;
}

double plan_once(double one, uint32_t cases) {
    double never = 1.0;
    double factor = 1.0 - one;
    for (uint32_t rest = cases; rest > 0; rest >>= 1) {
        never *= (rest & 1u) != 0 ? factor : 1.0;
        factor *= factor;
    }
    return 1.0 - never;
}
