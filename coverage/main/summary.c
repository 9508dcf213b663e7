/* summary.c - tandem-cov summary: functional and code coverage in a few lines, and as figures that a database keeps. */
#include "figures.h"

#include <inttypes.h>
#include <string.h>

/* {"figures": [..]}: functional coverage and its groups, then the kinds of code coverage. */
static void put_figure(FILE *out, const char *name, const char *more, double percent, double before, uint64_t covered,
                       uint64_t points, bool first) {
    char whole[200];
    (void)snprintf(whole, sizeof whole, "%s%s%s", name, more[0] == '\0' ? "" : " ", more);
    fprintf(out, "%s\n  {\"name\": ", first ? "" : ",");
    rep_json(out, whole);
    fprintf(out, ", \"percent\": %.4f, \"percent_before\": %.4f, \"covered\": %" PRIu64 ", \"points\": %" PRIu64 "}",
            percent, before, covered, points);
}

static void put_figures(const cov_data *data, const figure *kinds, FILE *out) {
    const cov_score all = cov_score_all(data);
    fputs("{\"figures\": [", out);
    put_figure(out, "functional", "", all.percent, all.percent, all.covered, all.total, true);
    for (int k = 0; k < FIGURE_KINDS && kinds != NULL; k++) {
        put_figure(out, kinds[k].name, "", kinds[k].percent, kinds[k].before, kinds[k].covered, kinds[k].points, false);
    }
    for (uint32_t g = 0; g < data->group_count; g++) {
        const cov_score s = cov_score_group(data, &data->groups[g]);
        put_figure(out, "functional", data->groups[g].name, s.percent, s.percent, s.covered, s.total, false);
    }
    fputs("\n]}\n", out);
}

static void print(const cov_data *data, const figure *kinds) {
    const cov_score all = cov_score_all(data);
    printf("%-12s %8s %16s %9s %9s %8s\n", "coverage", "percent", "before waivers", "covered", "of", "waived");
    printf("%-12s %8.2f %16.2f %9" PRIu64 " %9" PRIu64 " %8s\n", "functional", all.percent, all.percent, all.covered,
           all.total, "-");
    for (int k = 0; k < FIGURE_KINDS && kinds != NULL; k++) {
        const figure *f = &kinds[k];
        printf("%-12s %8.2f %16.2f %9" PRIu64 " %9" PRIu64 " %8" PRIu64 "\n", f->name, f->percent, f->before,
               f->covered, f->points, f->waived);
    }
    if (all.illegal > 0) {
        printf("illegal hits: %" PRIu64 "\n", all.illegal);
    }
}

static int write_figures(const cov_data *data, const figure *kinds, const char *path, cov_error *err) {
    rep_file file;
    const int rc = tool_told(rep_file_open(&file, path), path, err);
    if (rc != COV_OK) {
        return rc;
    }
    put_figures(data, kinds, file.file);
    return tool_told(rep_file_close(&file, false), path, err);
}

int tool_summary(const tool *t) {
    cov_data data;
    cov_error err;
    figure kinds[FIGURE_KINDS];
    int rc = cov_read(&data, t->files[0], &err);
    json_t *code = rc == COV_OK && t->code != NULL ? figures_load(t->code, &err) : NULL;
    if (rc == COV_OK && t->code != NULL && code == NULL) {
        rc = COV_IO;
    } else if (code != NULL && !figures_of(json_object_get(code, "total"), kinds)) {
        rc = cov_fail(&err, COV_BAD_FILE, "%.200s: expected the JSON of tandem-cov code report", t->code);
    }
    if (rc == COV_OK && t->output != NULL) {
        rc = write_figures(&data, code != NULL ? kinds : NULL, t->output, &err);
    }
    if (rc == COV_OK && t->json) {
        put_figures(&data, code != NULL ? kinds : NULL, stdout);
    } else if (rc == COV_OK) {
        print(&data, code != NULL ? kinds : NULL);
    }
    json_decref(code);
    cov_data_free(&data);
    return rc != COV_OK ? tool_error(t, err.text) : 0;
}
