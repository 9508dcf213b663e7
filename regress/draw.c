/*
 * draw.c - part of a suite: by number of jobs, by time, or every n-th job.
 *
 * Jobs are drawn without replacement. The draws depend on seed and weights only, so a longer draw begins with the
 * shorter one.
 */
#define _GNU_SOURCE
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

/* Sums of weights in a binary indexed tree: a draw and a removal take logarithmic time. */
typedef struct urn {
    const reg_suite *suite;
    uint64_t *tree;  /* from 1 on */
    size_t *groups;  /* place of each first run in the list */
    size_t count;    /* groups */
    bool *taken;     /* one a job of the suite */
    uint64_t weight; /* of all that is in it */
    uint64_t draws;
    uint64_t seed;
} urn;

static void urn_change(urn *u, size_t group, uint64_t weight, bool add) {
    for (size_t i = group + 1; i <= u->count; i += i & (~i + 1)) {
        u->tree[i] = add ? u->tree[i] + weight : u->tree[i] - weight;
    }
    u->weight = add ? u->weight + weight : u->weight - weight;
}

static uint32_t weight_of(const urn *u, size_t group) {
    const uint32_t weight = u->suite->jobs[u->groups[group]].weight;
    return weight == 0 ? 1 : weight;
}

static void urn_free(urn *u) {
    free(u->tree);
    free(u->groups);
    free(u->taken);
}

static int urn_fill(urn *u, const reg_suite *suite, uint64_t seed) {
    memset(u, 0, sizeof *u);
    u->suite = suite;
    u->seed = seed;
    u->tree = calloc(suite->count + 2, sizeof *u->tree);
    u->groups = calloc(suite->count + 1, sizeof *u->groups);
    u->taken = calloc(suite->count + 1, sizeof *u->taken);
    if (u->tree == NULL || u->groups == NULL || u->taken == NULL) {
        urn_free(u);
        return reg_error("out of memory");
    }
    for (size_t i = 0; i < suite->count; i++) {
        if (!suite->jobs[i].second_run) {
            u->groups[u->count++] = i;
        }
    }
    for (size_t g = 0; g < u->count; g++) {
        urn_change(u, g, weight_of(u, g), true);
    }
    return REG_OK;
}

static uint64_t random_word(uint64_t seed, uint64_t draw) {
    uint64_t x = seed + (draw + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The next group, which leaves the urn; the urn is not empty. */
static size_t urn_draw(urn *u) {
    uint64_t rest = random_word(u->seed, u->draws++) % u->weight;
    size_t at = 0;
    size_t step = 1;
    while (step * 2 <= u->count) {
        step *= 2;
    }
    for (; step > 0; step /= 2) {
        if (at + step <= u->count && u->tree[at + step] <= rest) {
            at += step;
            rest -= u->tree[at];
        }
    }
    urn_change(u, at, weight_of(u, at), false);
    return at;
}

/* Jobs of a group: the first run, and the second one if there is one. */
static size_t group_size(const urn *u, size_t group) {
    return u->suite->jobs[u->groups[group]].checked_twice ? 2 : 1;
}

static void keep(reg_suite *suite, const bool *taken) {
    size_t kept = 0;
    for (size_t i = 0; i < suite->count; i++) {
        if (taken[i]) {
            suite->jobs[kept++] = suite->jobs[i];
        }
    }
    suite->count = kept;
}

static void take(urn *u, size_t group) {
    for (size_t i = 0; i < group_size(u, group); i++) {
        u->taken[u->groups[group] + i] = true;
    }
}

int reg_draw_count(reg_suite *suite, uint64_t seed, uint64_t count) {
    urn u;
    if (urn_fill(&u, suite, seed) != REG_OK) {
        return REG_FAIL;
    }
    for (uint64_t i = 0; i < count && i < u.count; i++) {
        take(&u, urn_draw(&u));
    }
    keep(suite, u.taken);
    urn_free(&u);
    return REG_OK;
}

int reg_draw_time(reg_suite *suite, uint64_t seed, const reg_expectation *list, double work_s) {
    urn u;
    size_t known;
    double used = 0;
    const double mean = reg_history_mean(list, suite->count, 1.0, &known);
    if (urn_fill(&u, suite, seed) != REG_OK) {
        return REG_FAIL;
    }
    for (size_t i = 0; i < u.count; i++) {
        const size_t group = urn_draw(&u);
        const double one = list[u.groups[group]].seconds;
        const double time = (one >= 0 ? one : mean) * (double)group_size(&u, group);
        if (i == 0 || used + time <= work_s) { /* skip it: shorter ones may still fit */
            take(&u, group);
            used += time;
        }
    }
    keep(suite, u.taken);
    urn_free(&u);
    return REG_OK;
}

void reg_draw_shard(reg_suite *suite, uint32_t i, uint32_t n) {
    size_t kept = 0;
    size_t group = 0;
    for (size_t at = 0; at < suite->count; at++) {
        group += suite->jobs[at].second_run ? 0 : 1;
        if ((group - 1) % n == i - 1) {
            suite->jobs[kept++] = suite->jobs[at];
        }
    }
    suite->count = kept;
}
