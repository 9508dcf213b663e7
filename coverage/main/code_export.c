/* code_export.c - code coverage for other tools: tracefiles of lcov, XML of Cobertura, and cover properties as
 * functional coverage. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code_tool.h"

/* ---- lcov ---- */

static void put_functions(FILE *out, const code_view *view, const char *file) {
    uint64_t found = 0;
    uint64_t hit = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < view->data.count; i++) {
            const code_point *p = &view->data.points[i];
            if (p->kind != CODE_FUNCTION || strcmp(p->file, file) != 0) {
                continue;
            }
            if (pass == 0) {
                fprintf(out, "FN:%" PRIu32 ",%s\n", p->line, p->name);
                found++;
                hit += p->hits > 0;
            } else {
                fprintf(out, "FNDA:%" PRIu64 ",%s\n", p->hits, p->name);
            }
        }
    }
    if (found > 0) {
        fprintf(out, "FNF:%" PRIu64 "\nFNH:%" PRIu64 "\n", found, hit);
    }
}

/* Arms of a line are one block; "-": its line was never reached. */
static void put_arms(FILE *out, const code_view *view, const code_group *file) {
    uint32_t line = 0;
    unsigned arm = 0;
    for (size_t i = file->first; i < file->first + file->count; i++) {
        const code_item *item = &view->items.item[i];
        if (item->metric == CODE_M_BRANCH) {
            arm = item->line == line ? arm + 1 : 0;
            line = item->line;
            fprintf(out, "BRDA:%" PRIu32 ",0,%u,%" PRIu64 "\n", line, arm, item->hits);
        }
    }
    const code_tally *t = &file->tally[CODE_M_BRANCH];
    fprintf(out, "BRF:%" PRIu64 "\nBRH:%" PRIu64 "\n", t->points, t->covered);
}

static bool has_lines(const code_group *file) {
    return file->tally[CODE_M_LINE].points + file->tally[CODE_M_BRANCH].points > 0;
}

int code_tool_info(const code_options *o, const code_view *view, FILE *out) {
    (void)o;
    fputs("TN:tandem\n", out);
    for (size_t f = 0; f < view->file_count; f++) {
        const code_group *file = &view->files[f];
        if (!has_lines(file)) {
            continue;
        }
        fprintf(out, "SF:%s\n", file->name);
        put_functions(out, view, file->name);
        put_arms(out, view, file);
        for (size_t i = file->first; i < file->first + file->count; i++) {
            const code_item *item = &view->items.item[i];
            if (item->metric == CODE_M_LINE) {
                fprintf(out, "DA:%" PRIu32 ",%" PRIu64 "\n", item->line, item->hits);
            }
        }
        fprintf(out, "LF:%" PRIu64 "\nLH:%" PRIu64 "\nend_of_record\n", file->tally[CODE_M_LINE].points,
                file->tally[CODE_M_LINE].covered);
    }
    return 0;
}

/* ---- Cobertura ---- */

static double rate(const code_tally *t) {
    return code_percent_before(t) / 100.0;
}

/* The arms of a line: how many, and how many with hits. */
static code_tally arms_of(const code_view *view, const code_group *file, uint32_t line) {
    code_tally t = {0};
    for (size_t i = file->first; i < file->first + file->count; i++) {
        const code_item *item = &view->items.item[i];
        if (item->metric == CODE_M_BRANCH && item->line == line) {
            code_count(&t, item);
        }
    }
    return t;
}

static void put_class(FILE *out, const code_view *view, const code_group *file) {
    const char *base = strrchr(file->name, '/');
    fputs("        <class name=\"", out);
    rep_xml(out, base == NULL ? file->name : base + 1);
    fputs("\" filename=\"", out);
    rep_xml(out, file->name);
    fprintf(out,
            "\" line-rate=\"%.4f\" branch-rate=\"%.4f\" complexity=\"0\">\n          <methods/>\n          <lines>\n",
            rate(&file->tally[CODE_M_LINE]), rate(&file->tally[CODE_M_BRANCH]));
    for (size_t i = file->first; i < file->first + file->count; i++) {
        const code_item *item = &view->items.item[i];
        if (item->metric != CODE_M_LINE) {
            continue;
        }
        const code_tally arms = arms_of(view, file, item->line);
        fprintf(out, "            <line number=\"%" PRIu32 "\" hits=\"%" PRIu64 "\" branch=\"%s\"", item->line,
                item->hits, arms.points > 0 ? "true" : "false");
        if (arms.points > 0) {
            fprintf(out, " condition-coverage=\"%.0f%% (%" PRIu64 "/%" PRIu64 ")\"", code_percent_before(&arms),
                    arms.covered, arms.points);
        }
        fputs("/>\n", out);
    }
    fputs("          </lines>\n        </class>\n", out);
}

int code_tool_cobertura(const code_options *o, const code_view *view, FILE *out) {
    const code_tally *line = &view->total[CODE_M_LINE];
    const code_tally *branch = &view->total[CODE_M_BRANCH];
    char unit[200];
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE coverage SYSTEM "
            "\"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n"
            "<coverage line-rate=\"%.4f\" branch-rate=\"%.4f\" lines-covered=\"%" PRIu64 "\" lines-valid=\"%" PRIu64
            "\" branches-covered=\"%" PRIu64 "\" branches-valid=\"%" PRIu64
            "\" complexity=\"0\" version=\"tandem-cov\" timestamp=\"0\">\n"
            "  <sources>\n    <source>",
            rate(line), rate(branch), line->covered, line->points, branch->covered, branch->points);
    rep_xml(out, o->source);
    fputs("</source>\n  </sources>\n  <packages>\n", out);
    for (size_t u = 0; u < view->unit_count; u++) {
        const code_group *group = &view->units[u];
        if (!has_lines(group)) {
            continue;
        }
        fputs("    <package name=\"", out);
        rep_xml(out, group->name);
        fprintf(out, "\" line-rate=\"%.4f\" branch-rate=\"%.4f\" complexity=\"0\">\n      <classes>\n",
                rate(&group->tally[CODE_M_LINE]), rate(&group->tally[CODE_M_BRANCH]));
        for (size_t f = 0; f < view->file_count; f++) {
            code_unit(view->files[f].name, unit, sizeof unit);
            if (strcmp(unit, group->name) == 0 && has_lines(&view->files[f])) {
                put_class(out, view, &view->files[f]);
            }
        }
        fputs("      </classes>\n    </package>\n", out);
    }
    fputs("  </packages>\n</coverage>\n", out);
    return 0;
}

/* ---- cover properties ---- */

typedef struct user {
    cov_group *groups;
    cov_point *points; /* one for each cover property */
    const cov_group **list;
    char *text; /* names, bugs, hints */
    size_t used;
    uint32_t group_count, point_count;
} user;

#define TEXT_BYTES 700u /* of one cover property */

static const char *keep(user *u, const char *text) {
    char *at = u->text + u->used;
    u->used += (size_t)sprintf(at, "%s", text) + 1;
    return at;
}

static int add_property(user *u, const code_options *o, const code_item *item, cov_error *err) {
    static const cov_bin seen = {COV_VALUE("seen", 1)};
    char name[160];
    char bug[300];
    char hit[101] = ""; /* hints have at most 100 bytes */
    code_source source;
    int rc = code_source_read(&source, o->source, item->file, err);
    if (rc != COV_OK) {
        return rc;
    }
    if (!code_source_note(&source, item->line, "bug", bug, sizeof bug)) {
        rc = cov_fail(err, COV_BAD_FILE,
                      "%.200s:%" PRIu32 ": cover property %.60s: expected a comment \"// bug: ...\" on or above it",
                      item->file, item->line, item->name);
    }
    /* of the property, else of its module or unit of a list: in the comment at the left margin next above */
    uint32_t head = item->line;
    while (head > 0 && strncmp(code_source_line(&source, head), "//", 2) != 0) {
        head--;
    }
    const bool hint = code_source_note(&source, item->line, "hit", hit, sizeof hit) ||
                      code_source_note(&source, head, "hit", hit, sizeof hit);
    code_source_free(&source);
    (void)snprintf(name, sizeof name, "sv-%s", item->module);
    if (rc == COV_OK && (u->group_count == 0 || strcmp(u->groups[u->group_count - 1].name, name) != 0)) {
        u->groups[u->group_count] =
            (cov_group){.name = keep(u, name), .about = "cover properties", .points = &u->points[u->point_count]};
        u->list[u->group_count] = &u->groups[u->group_count];
        u->group_count++;
    }
    if (rc == COV_OK) {
        u->points[u->point_count++] = (cov_point){.name = keep(u, item->name),
                                                  .bug = keep(u, bug),
                                                  .hint = hint ? keep(u, hit) : NULL,
                                                  .bins = &seen,
                                                  .bin_count = 1};
        u->groups[u->group_count - 1].point_count++;
    }
    return rc;
}

/* By module, then as they are. */
static int by_module(const void *a, const void *b) {
    const code_item *x = *(const code_item *const *)a;
    const code_item *y = *(const code_item *const *)b;
    const int rc = strcmp(x->module, y->module);
    return rc != 0 ? rc : x < y ? -1 : x > y;
}

/* Descriptions from the properties, counters from their hits. */
static int write_user(user *u, const code_options *o, const code_item **items, size_t count, cov_error *err) {
    cov_db *db = NULL;
    cov_inst *inst = NULL;
    int rc = COV_OK;
    for (size_t i = 0; rc == COV_OK && i < count; i++) {
        rc = add_property(u, o, items[i], err);
    }
    rc = rc == COV_OK ? cov_open(&db, u->list, u->group_count, err) : rc;
    for (uint32_t g = 0; rc == COV_OK && g < u->group_count; g++) {
        rc = cov_instance(db, u->groups[g].name, NULL, &inst, err);
    }
    if (rc == COV_OK) {
        cov_data *data = cov_db_data(db);
        size_t at = 0;
        for (uint32_t g = 0; g < data->group_count; g++) {
            for (uint32_t p = 0; p < data->groups[g].point_count; p++) {
                const uint64_t hits = items[at++]->hits;
                data->counts[data->groups[g].points[p].first] = hits;
                data->groups[g].samples += hits;
            }
        }
        rc = cov_write(data, o->output, err);
    }
    cov_close(db);
    return rc;
}

int code_tool_user(const code_options *o, const code_view *view) {
    const size_t most = (size_t)view->total[CODE_M_USER].points;
    const code_item **items = calloc(most + 1, sizeof *items);
    cov_error err;
    size_t count = 0;
    user u = {.groups = calloc(most + 1, sizeof *u.groups),
              .points = calloc(most + 1, sizeof *u.points),
              .list = calloc(most + 1, sizeof *u.list),
              .text = malloc((most + 1) * TEXT_BYTES)};
    int rc = COV_NO_MEMORY;
    (void)snprintf(err.text, sizeof err.text, "out of memory");
    if (items != NULL && u.groups != NULL && u.points != NULL && u.list != NULL && u.text != NULL) {
        for (size_t i = 0; i < view->items.count; i++) {
            if (view->items.item[i].metric == CODE_M_USER) {
                items[count++] = &view->items.item[i];
            }
        }
        qsort(items, count, sizeof *items, by_module);
        rc = write_user(&u, o, items, count, &err);
    }
    if (rc == COV_OK) {
        printf("%s: %" PRIu64 " of %zu cover properties\n", o->output, view->total[CODE_M_USER].covered, count);
    } else {
        fprintf(stderr, "%s: %s\n", o->prog, err.text);
    }
    free(u.groups);
    free(u.points);
    free(u.list);
    free(u.text);
    free(items);
    return rc == COV_OK ? 0 : 1;
}
