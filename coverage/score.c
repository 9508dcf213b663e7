/* score.c - how much of a description was seen, and which files are enough to see it. */
#include "priv.h"

#include <stdlib.h>
#include <string.h>

static double part(uint64_t covered, uint64_t total) {
    return total == 0 ? 100.0 : 100.0 * (double)covered / (double)total;
}

static void count_one(cov_score *s, cov_role role, uint64_t hits, uint32_t goal) {
    if (role == COV_COUNTED) {
        s->total++;
        s->covered += hits >= goal;
    } else if (role == COV_ILLEGAL) {
        cov_add(&s->illegal, hits);
    } else {
        s->ignored++;
    }
}

cov_score cov_score_point(const cov_data *data, const cov_data_point *point) {
    cov_score s = {0};
    for (uint32_t b = 0; b < point->bin_count; b++) {
        count_one(&s, point->bins[b].role, data->counts[point->first + b], point->bins[b].goal);
    }
    s.percent = part(s.covered, s.total);
    return s;
}

cov_score cov_score_cross(const cov_data *data, const cov_data_cross *cross) {
    cov_score s = {0};
    const cov_data_rule *rule = NULL;
    for (uint32_t i = 0; i < cross->cell_count; i++) {
        count_one(&s, cov_cell_role(cross, i, &rule), data->counts[cross->first + i], cross->goal);
    }
    s.percent = part(s.covered, s.total);
    return s;
}

/* A part of a whole: items with nothing to cover are left out of the mean. */
static void add_part(cov_score *all, double *weights, const cov_score *s, uint32_t weight) {
    all->total += s->total;
    all->covered += s->covered;
    all->ignored += s->ignored;
    cov_add(&all->illegal, s->illegal);
    if (s->total > 0) {
        all->percent += (double)weight * s->percent;
        *weights += (double)weight;
    }
}

static void close_mean(cov_score *all, double weights) {
    if (weights == 0.0) {
        all->percent = 100.0;
    } else {
        all->percent = all->percent / weights;
    }
}

cov_score cov_score_group(const cov_data *data, const cov_data_group *group) {
    cov_score all = {0};
    double weights = 0.0;
    for (uint32_t p = 0; p < group->point_count; p++) {
        const cov_score s = cov_score_point(data, &group->points[p]);
        add_part(&all, &weights, &s, group->points[p].weight);
    }
    for (uint32_t c = 0; c < group->cross_count; c++) {
        const cov_score s = cov_score_cross(data, &group->crosses[c]);
        add_part(&all, &weights, &s, group->crosses[c].weight);
    }
    close_mean(&all, weights);
    return all;
}

cov_score cov_score_all(const cov_data *data) {
    cov_score all = {0};
    double weights = 0.0;
    for (uint32_t g = 0; g < data->group_count; g++) {
        const cov_score s = cov_score_group(data, &data->groups[g]);
        add_part(&all, &weights, &s, data->groups[g].weight);
    }
    close_mean(&all, weights);
    return all;
}

/* ---- the smallest set of files ---- */

/* Hits that every counter should get: up to its goal, but no more than all files have; 0 where nothing counts. */
static void wanted(const cov_data *all, uint64_t *want) {
    const cov_data_rule *rule = NULL;
    for (uint32_t g = 0; g < all->group_count; g++) {
        const cov_data_group *group = &all->groups[g];
        for (uint32_t p = 0; p < group->point_count; p++) {
            for (uint32_t b = 0; b < group->points[p].bin_count; b++) {
                const cov_data_bin *bin = &group->points[p].bins[b];
                const uint32_t at = group->points[p].first + b;
                want[at] = bin->role != COV_COUNTED || all->counts[at] < bin->goal ? 0 : bin->goal;
            }
        }
        for (uint32_t c = 0; c < group->cross_count; c++) {
            const cov_data_cross *cross = &group->crosses[c];
            for (uint32_t i = 0; i < cross->cell_count; i++) {
                const uint32_t at = cross->first + i;
                want[at] =
                    cov_cell_role(cross, i, &rule) != COV_COUNTED || all->counts[at] < cross->goal ? 0 : cross->goal;
            }
        }
    }
}

static uint64_t gain_of(const uint64_t *lack, const uint64_t *counts, uint32_t count) {
    uint64_t gain = 0;
    for (uint32_t i = 0; i < count; i++) {
        gain += lack[i] < counts[i] ? lack[i] : counts[i];
    }
    return gain;
}

/* Could the others do without it? Then its hits leave `have`. */
static bool superfluous(const uint64_t *want, uint64_t *have, const uint64_t *counts, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (want[i] != 0 && (have[i] < counts[i] || have[i] - counts[i] < want[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        have[i] -= counts[i] <= have[i] ? counts[i] : have[i];
    }
    return true;
}

int cov_rank(const cov_data *all, const uint64_t *const *counts, uint32_t files, uint32_t *order, uint64_t *gain,
             uint32_t *chosen, cov_error *err) {
    const uint32_t count = all->count_count;
    uint64_t *want = calloc(count + 1u, sizeof *want);
    uint64_t *lack = calloc(count + 1u, sizeof *lack);
    uint64_t *have = calloc(count + 1u, sizeof *have);
    uint64_t *most = calloc(files + 1u, sizeof *most); /* gains only fall, so an old one is a bound */
    bool *taken = calloc(files + 1u, sizeof *taken);
    const bool good = want != NULL && lack != NULL && have != NULL && most != NULL && taken != NULL;
    *chosen = 0;
    if (good) {
        wanted(all, want);
        memcpy(lack, want, count * sizeof *lack);
        memset(most, 0xff, files * sizeof *most);
    }
    while (good) {
        uint32_t best = UINT32_MAX;
        uint64_t best_gain = 0;
        for (uint32_t f = 0; f < files; f++) {
            if (!taken[f] && most[f] > best_gain) {
                most[f] = gain_of(lack, counts[f], count);
                if (most[f] > best_gain) {
                    best = f;
                    best_gain = most[f];
                }
            }
        }
        if (best == UINT32_MAX) {
            break;
        }
        taken[best] = true;
        order[*chosen] = best;
        gain[(*chosen)++] = best_gain;
        for (uint32_t i = 0; i < count; i++) {
            lack[i] -= lack[i] < counts[best][i] ? lack[i] : counts[best][i];
            cov_add(&have[i], counts[best][i]);
        }
    }
    for (uint32_t i = *chosen; good && i-- > 0;) {
        if (superfluous(want, have, counts[order[i]], count)) {
            memmove(&order[i], &order[i + 1], (*chosen - i - 1) * sizeof *order);
            memmove(&gain[i], &gain[i + 1], (*chosen - i - 1) * sizeof *gain);
            (*chosen)--;
        }
    }
    free(want);
    free(lack);
    free(have);
    free(most);
    free(taken);
    return good ? COV_OK : cov_no_memory(err);
}
