/* gate.c - tandem-cov gate: a file of thresholds, and exit status 1 below one of them. */
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 200

typedef struct threshold {
    char name[NAME_BYTES]; /* "total", "illegal", "unhinted", "group", "group.point" */
    double least;          /* percent; of "illegal" the most hits, of "unhinted" the most holes without a hint */
} threshold;

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

/* Is it held against a number that it may not be above? */
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

/* "name number", with comments. 1: a threshold, 0: an empty line, -1: neither. */
static int read_line(const char *line, threshold *t) {
    char number[64];
    char more[2];
    char text[512];
    char *end = NULL;
    (void)snprintf(text, sizeof text, "%s", line);
    text[strcspn(text, "#\n\r")] = '\0';
    const int found = sscanf(text, "%199s %63s %1s", t->name, number, more);
    if (found <= 0) {
        return 0;
    }
    t->least = strtod(number, &end);
    const double most = is_count(t->name) ? 1e18 : 100.0;
    return found == 2 && *end == '\0' && end != number && t->least >= 0.0 && t->least <= most ? 1 : -1;
}

typedef struct gate {
    const tool *t;
    const cov_data *data;
    uint32_t lines, below;
    bool illegal_said;
} gate;

static void tell(gate *g, const char *name, double percent, double least, bool good) {
    if (g->t->json) {
        printf("%s\n  {\"name\": ", g->lines == 0 ? "" : ",");
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

static int judge(gate *g, FILE *in, cov_error *err) {
    char line[512];
    threshold t;
    double percent = 0.0;
    for (uint32_t number = 1; fgets(line, sizeof line, in) != NULL; number++) {
        const int kind = read_line(line, &t);
        if (kind < 0 || strlen(line) == sizeof line - 1) {
            (void)snprintf(err->text, sizeof err->text,
                           "%.200s: line %" PRIu32 ": not a name and a number from 0 to 100", g->t->thresholds, number);
            return COV_BAD_FILE;
        }
        if (kind > 0 && strcmp(t.name, "illegal") == 0) {
            judge_illegal(g, t.least);
        } else if (kind > 0 && strcmp(t.name, "unhinted") == 0) {
            uint64_t holes = 0;
            tool_walk(g->data, NULL, count_unhinted, &holes);
            tell(g, "unhinted", (double)holes, t.least, (double)holes <= t.least);
        } else if (kind > 0 && !percent_of(g->data, t.name, &percent)) {
            (void)snprintf(err->text, sizeof err->text,
                           "%.150s: line %" PRIu32 ": nothing in %.100s has the name %.80s", g->t->thresholds, number,
                           g->t->files[0], t.name);
            return COV_BAD_FILE;
        } else if (kind > 0) {
            tell(g, t.name, percent, t.least, percent >= t.least);
        }
    }
    if (!g->illegal_said) { /* without a line: none */
        judge_illegal(g, 0.0);
    }
    return COV_OK;
}

int tool_gate(const tool *t) {
    cov_data data;
    cov_error err;
    gate g = {.t = t, .data = &data};
    int rc = cov_read(&data, t->files[0], &err);
    FILE *in = rc == COV_OK ? fopen(t->thresholds, "r") : NULL;
    if (rc == COV_OK && in == NULL) {
        (void)snprintf(err.text, sizeof err.text, "%.200s: %s", t->thresholds, strerror(errno));
        rc = COV_IO;
    }
    if (rc == COV_OK) {
        fputs(t->json ? "{\"thresholds\": [" : "", stdout);
        rc = judge(&g, in, &err);
        if (t->json) {
            printf("], \"pass\": %s}\n", rc == COV_OK && g.below == 0 ? "true" : "false");
        }
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    cov_data_free(&data);
    return rc != COV_OK ? tool_error(t, err.text) : g.below > 0;
}
