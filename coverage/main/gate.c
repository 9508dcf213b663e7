/* gate.c - tandem-cov gate: a file of thresholds, and exit status 1 below one of them. */
#include "tool.h"

#include <inttypes.h>
#include <string.h>

/* Percent of a name; false: nothing has it. */
static bool percent_of(const cov_data *data, const char *name, double *percent) {
    if (strcmp(name, "total") == 0) {
        *percent = cov_score_all(data).percent;
        return true;
    }
    const size_t length = strcspn(name, ".");
    for (uint32_t g = 0; g < data->group_count; g++) {
        const cov_data_group *group = &data->groups[g];
        if (strlen(group->name) != length || memcmp(group->name, name, length) != 0) {
            continue;
        }
        if (name[length] == '\0') {
            *percent = cov_score_group(data, group).percent;
            return true;
        }
        for (uint32_t p = 0; p < group->point_count; p++) {
            if (strcmp(group->points[p].name, name + length + 1) == 0) {
                *percent = cov_score_point(data, &group->points[p]).percent;
                return true;
            }
        }
        for (uint32_t c = 0; c < group->cross_count; c++) {
            if (strcmp(group->crosses[c].name, name + length + 1) == 0) {
                *percent = cov_score_cross(data, &group->crosses[c]).percent;
                return true;
            }
        }
    }
    return false;
}

/* Is its threshold an upper limit? */
static bool is_count(const char *name) {
    return strcmp(name, "illegal") == 0 || strcmp(name, "unhinted") == 0;
}

static void count_unhinted(void *ctx, const cov_data *data, const tool_item *item) {
    char hint[300];
    uint64_t *count = ctx;
    (void)data;
    if (item->role == COV_COUNTED && item->hits < item->goal) {
        tool_item_hint(item, hint, sizeof hint);
        *count += hint[0] == '\0';
    }
}

typedef struct gate {
    const tool *t;
    const cov_data *data;
    uint32_t lines, below;
    bool illegal_said;
} gate;

static void tell(gate *g, const char *name, double percent, double least, bool good) {
    if (g->t->json) {
        printf("%s\n  {\"name\": ", g->lines == 0 ? "{\"thresholds\": [" : ",");
        rep_json(stdout, name);
        printf(", \"is\": %.2f, \"threshold\": %.2f, \"pass\": %s}", percent, least, good ? "true" : "false");
    } else {
        printf("%s  %-40s %.2f, %s %.2f\n", good ? "ok   " : "BELOW", name, percent,
               is_count(name) ? "at most" : "at least", least);
    }
    g->lines++;
    g->below += !good;
}

static void judge_illegal(gate *g, double most) {
    const double hits = (double)cov_score_all(g->data).illegal;
    g->illegal_said = true;
    tell(g, "illegal", hits, most, hits <= most);
}

/* "total", "group", "group.point": least percent; "illegal": most hits; "unhinted": most holes without a hint. */
static int judge(void *ctx, const char *name, double limit, cov_error *err) {
    gate *g = ctx;
    double percent = 0.0;
    if (strcmp(name, "illegal") == 0) {
        judge_illegal(g, limit);
    } else if (strcmp(name, "unhinted") == 0) {
        uint64_t holes = 0;
        tool_walk(g->data, NULL, count_unhinted, &holes);
        tell(g, name, (double)holes, limit, (double)holes <= limit);
    } else if (limit > 100.0) {
        return COV_BAD_FILE;
    } else if (!percent_of(g->data, name, &percent)) {
        return cov_fail(err, COV_BAD_FILE, "nothing in %.100s has the name %.80s", g->t->files[0], name);
    } else {
        tell(g, name, percent, limit, percent >= limit);
    }
    return COV_OK;
}

int tool_gate(const tool *t) {
    cov_data data;
    cov_error err;
    gate g = {.t = t, .data = &data};
    int rc = cov_read(&data, t->files[0], &err);
    if (rc == COV_OK) {
        rc = tool_thresholds(t->thresholds, judge, &g, &err);
        if (rc == COV_OK && !g.illegal_said) { /* without a line: none */
            judge_illegal(&g, 0.0);
        }
        if (t->json && rc != COV_IO) {
            printf("%s], \"pass\": %s}\n", g.lines == 0 ? "{\"thresholds\": [" : "",
                   rc == COV_OK && g.below == 0 ? "true" : "false");
        }
    }
    cov_data_free(&data);
    return rc != COV_OK ? tool_error(t, err.text) : g.below > 0;
}
