/* code_report.c - code coverage as text, as JSON, and against thresholds. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code_tool.h"

/* ---- text ---- */

static void put_cell(const code_tally *t) {
    if (t->points == 0) {
        printf(" %27s", "-");
        return;
    }
    printf(" %6.2f (%6.2f) %5" PRIu64 "/%-5" PRIu64, code_percent(t), code_percent_before(t), t->covered, t->points);
}

static void put_row(const char *name, const code_tally tally[CODE_METRICS]) {
    printf("%-12.12s", name);
    for (unsigned m = 0; m < CODE_SCORED; m++) {
        put_cell(&tally[m]);
    }
    putchar('\n');
}

/* What has no hit, metric by metric, with the line of the source. */
static void put_holes(const code_options *o, const code_view *view, code_metric metric) {
    char text[500];
    uint64_t shown = 0;
    uint64_t count = 0;
    for (size_t f = 0; f < view->file_count; f++) {
        const code_group *file = &view->files[f];
        const size_t end = file->first + file->count;
        code_source source = {0};
        cov_error ignored;
        bool tried = false;
        for (size_t i = file->first; i < end;) {
            const code_item *item = &view->items.item[i];
            if (item->metric != metric || !code_is_hole(item)) {
                i++;
                continue;
            }
            i = code_view_hole(view, i, end, text, sizeof text);
            if (count++ == 0) {
                printf("\nnot hit: %s\n", code_metric_name(metric));
            }
            if (o->holes != 0 && shown >= o->holes) {
                continue;
            }
            if (!tried) {
                tried = true; /* a hole without its source just has no text */
                (void)code_source_read(&source, o->source, file->name, &ignored);
            }
            shown++;
            const char *line = code_source_line(&source, item->line);
            printf("  %s:%" PRIu32 "  %s%s%.110s\n", file->name, item->line, text, text[0] == '\0' ? "" : "  | ",
                   line + strspn(line, " \t"));
            const code_waiver *reason = code_view_reason(view, item);
            if (reason != NULL) {
                printf("      why: %s\n      hit: %s\n", reason->why, reason->how);
            }
        }
        code_source_free(&source);
    }
    if (shown < count) {
        printf("  and %" PRIu64 " more (--holes 0 has all)\n", count - shown);
    }
}

static void put_waivers(const code_view *view) {
    if (view->waivers.count > 0) {
        printf("\nwaived\n");
    }
    for (size_t i = 0; i < view->waivers.count; i++) {
        const code_waiver *w = &view->waivers.waiver[i];
        printf("  %5" PRIu64 "  %s\n         %s\n", w->missing, w->what, w->why);
    }
}

static void put_stale(FILE *out, const char *path, const code_waivers *list, const char *label, const char *covered) {
    for (size_t i = 0; i < list->count; i++) {
        const code_waiver *w = &list->waiver[i];
        if (w->missing == 0) {
            fprintf(out, "%s:%" PRIu32 ": %s: %s: %s\n", path, w->line, label, w->what,
                    w->matched == 0 ? "it matches nothing" : covered);
        }
    }
}

void code_tool_stale(FILE *out, const code_options *o, const code_view *view) {
    put_stale(out, o->waivers, &view->waivers, "stale", "all that it matches is covered");
    put_stale(out, o->reasons, &view->reasons, "explains nothing",
              "all that it matches is covered, waived or explained above");
}

int code_tool_report(const code_options *o, const code_view *view) {
    const code_tally all = code_view_all(view);
    if (o->json) {
        code_tool_json(stdout, view);
        return 0;
    }
    printf("%-12s %27s %27s %27s\n", "unit", "line % (before waivers)", "branch", "toggle");
    for (size_t i = 0; i < view->unit_count; i++) {
        const code_tally *t = view->units[i].tally;
        if (t[0].points + t[1].points + t[2].points > 0) {
            put_row(view->units[i].name, t);
        }
    }
    put_row("all", view->total);
    printf("\nwaived: %" PRIu64 " of %" PRIu64 " points (%.2f %%), %zu waivers, %zu of them stale\n", all.waived,
           all.points, all.points == 0 ? 0.0 : 100.0 * (double)all.waived / (double)all.points, view->waivers.count,
           view->stale);
    printf("holes: %" PRIu64 ", %" PRIu64 " of them explained; %zu explanations explain nothing\n", view->holes,
           view->explained, view->idle);
    printf("cover properties: %" PRIu64 " of %" PRIu64 "\n", view->total[CODE_M_USER].covered,
           view->total[CODE_M_USER].points);
    code_tool_stale(stdout, o, view);
    for (unsigned m = 0; m < CODE_METRICS; m++) {
        put_holes(o, view, (code_metric)m);
    }
    put_waivers(view);
    if (view->empty_count > 0) {
        printf("\nmodules and packages without any point\n");
    }
    for (size_t i = 0; i < view->empty_count; i++) {
        printf("  %s (%s)\n", view->empty[i].name, view->empty[i].file);
    }
    return 0;
}

/* ---- JSON ---- */

static void put_tallies(FILE *out, const code_tally tally[CODE_METRICS]) {
    for (unsigned m = 0; m < CODE_METRICS; m++) {
        const code_tally *t = &tally[m];
        if (m >= CODE_SCORED && t->points == 0) {
            continue;
        }
        fprintf(out,
                "%s\"%s\": {\"points\": %" PRIu64 ", \"covered\": %" PRIu64 ", \"waived\": %" PRIu64
                ", \"percent\": %.2f, \"percent_before\": %.2f}",
                m == 0 ? "" : ", ", code_metric_name((code_metric)m), t->points, t->covered, t->waived, code_percent(t),
                code_percent_before(t));
    }
}

static void put_groups(FILE *out, const char *key, const code_group *groups, size_t count) {
    fprintf(out, ",\n\"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        fputs(i == 0 ? "\n  {\"name\": " : ",\n  {\"name\": ", out);
        rep_json(out, groups[i].name);
        fputs(", ", out);
        put_tallies(out, groups[i].tally);
        fputc('}', out);
    }
    fputs("]", out);
}

static void put_items(FILE *out, const code_view *view, bool waived) {
    char text[500];
    bool first = true;
    fprintf(out, ",\n\"%s\": [", waived ? "waived" : "holes");
    for (size_t i = 0; i < view->items.count;) {
        const code_item *item = &view->items.item[i];
        if (item->hits > 0 || code_is_hole(item) == waived) {
            i++;
            continue;
        }
        const size_t next = waived ? i + 1 : code_view_hole(view, i, view->items.count, text, sizeof text);
        fprintf(out, "%s\n  {\"kind\": \"%s\", \"file\": ", first ? "" : ",", code_metric_name(item->metric));
        rep_json(out, item->file);
        fprintf(out, ", \"line\": %" PRIu32 ", \"points\": %zu, \"name\": ", item->line, next - i);
        rep_json(out, waived ? item->name : text);
        const code_waiver *reason = waived ? &view->waivers.waiver[item->waiver - 1] : code_view_reason(view, item);
        fputs(", \"why\": ", out);
        rep_json(out, reason == NULL ? "" : reason->why);
        if (!waived) {
            fputs(", \"hit\": ", out);
            rep_json(out, reason == NULL ? "" : reason->how);
        }
        fputc('}', out);
        first = false;
        i = next;
    }
    fputs("]", out);
}

static void put_json_stale(FILE *out, const code_waivers *list, bool *first) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->waiver[i].missing == 0) {
            fputs(*first ? "" : ", ", out);
            rep_json(out, list->waiver[i].what);
            *first = false;
        }
    }
}

void code_tool_json(FILE *out, const code_view *view) {
    const code_tally all = code_view_all(view);
    bool first = true;
    fputs("{\"total\": {", out);
    put_tallies(out, view->total);
    fprintf(out,
            "},\n\"files_merged\": %" PRIu64 ", \"points\": %" PRIu64
            ", \"waived_percent\": %.2f, \"holes_points\": %" PRIu64 ", \"explained\": %" PRIu64,
            view->data.files, all.points, all.points == 0 ? 0.0 : 100.0 * (double)all.waived / (double)all.points,
            view->holes, view->explained);
    put_groups(out, "units", view->units, view->unit_count);
    put_groups(out, "files", view->files, view->file_count);
    put_items(out, view, false);
    put_items(out, view, true);
    fputs(",\n\"stale\": [", out);
    put_json_stale(out, &view->waivers, &first);
    fputs("],\n\"explain_nothing\": [", out);
    first = true;
    put_json_stale(out, &view->reasons, &first);
    fputs("],\n\"no_points\": [", out);
    for (size_t i = 0; i < view->empty_count; i++) {
        fputs(i == 0 ? "{\"module\": " : ", {\"module\": ", out);
        rep_json(out, view->empty[i].name);
        fputs(", \"file\": ", out);
        rep_json(out, view->empty[i].file);
        fputc('}', out);
    }
    fputs("]}\n", out);
}

/* ---- gate ---- */

/* The counts of "line", "branch.dma"; NULL: nothing has this name. */
static const code_tally *tally_of(const code_view *view, const char *name) {
    for (unsigned m = 0; m < CODE_METRICS; m++) {
        const char *metric = code_metric_name((code_metric)m);
        const size_t length = strlen(metric);
        if (strncmp(name, metric, length) != 0) {
            continue;
        }
        if (name[length] == '\0') {
            return &view->total[m];
        }
        for (size_t i = 0; name[length] == '.' && i < view->unit_count; i++) {
            if (strcmp(view->units[i].name, name + length + 1) == 0) {
                return &view->units[i].tally[m];
            }
        }
    }
    return NULL;
}

/* Text, or an entry of a list in JSON. */
static void tell(const code_options *o, uint32_t *told, const char *name, double is, double before, double limit,
                 bool most) {
    const bool good = most ? is <= limit : is >= limit;
    const char *verdict = good ? "ok   " : most ? "ABOVE" : "BELOW";
    if (o->json) {
        printf("%s\n  {\"name\": ", *told == 0 ? "{\"thresholds\": [" : ",");
        rep_json(stdout, name);
        printf(", \"is\": %.2f, \"before_waivers\": %.2f, \"threshold\": %.2f, \"pass\": %s}", is, before, limit,
               good ? "true" : "false");
    } else if (most) {
        printf("%s %s %.2f %%, at most %g\n", verdict, name, is, limit);
    } else {
        printf("%s %s %.2f %% (%.2f %% before waivers), at least %g\n", verdict, name, is, before, limit);
    }
    ++*told;
}

typedef struct gate {
    const code_options *o;
    const code_view *view;
    uint32_t told;
    int below;
} gate;

/* "line", "branch.dma": least percent; "waived": most percent; "unexplained": most holes. */
static int judge(void *ctx, const char *name, double limit, cov_error *err) {
    gate *g = ctx;
    const code_view *view = g->view;
    if (limit > 100.0) {
        return COV_BAD_FILE;
    }
    if (strcmp(name, "waived") == 0) {
        const code_tally all = code_view_all(view);
        const double share = all.points == 0 ? 0.0 : 100.0 * (double)all.waived / (double)all.points;
        tell(g->o, &g->told, name, share, 0.0, limit, true);
        g->below += share > limit;
        return COV_OK;
    }
    if (strcmp(name, "unexplained") == 0) {
        const double left = (double)(view->holes - view->explained);
        if (!g->o->json) {
            printf("%s explained %" PRIu64 " of %" PRIu64 " holes, at most %g unexplained\n",
                   left > limit ? "ABOVE" : "ok   ", view->explained, view->holes, limit);
            ++g->told;
        } else {
            tell(g->o, &g->told, name, left, 0.0, limit, true);
        }
        g->below += left > limit;
        return COV_OK;
    }
    const code_tally *t = tally_of(view, name);
    if (t == NULL) {
        return cov_fail(err, COV_BAD_FILE,
                        "nothing has this name: line, branch, toggle, waived, unexplained, KIND.UNIT");
    }
    tell(g->o, &g->told, name, code_percent(t), code_percent_before(t), limit, false);
    g->below += code_percent(t) < limit;
    return COV_OK;
}

int code_tool_gate(const code_options *o, const code_view *view) {
    gate g = {.o = o, .view = view};
    cov_error err;
    if (tool_thresholds(o->thresholds, judge, &g, &err) != COV_OK) {
        fprintf(stderr, "%s: %s\n", o->prog, err.text);
        return 1;
    }
    if (o->json) {
        printf("%s], \"stale\": %zu, \"pass\": %s}\n", g.told == 0 ? "{\"thresholds\": [" : "", view->stale,
               g.below == 0 && view->stale == 0 ? "true" : "false");
    }
    code_tool_stale(o->json ? stderr : stdout, o, view);
    return g.below > 0 || view->stale > 0;
}
