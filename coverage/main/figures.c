/* figures.c - JSON of `tandem-cov code report`, as numbers. */
#include "figures.h"

json_t *figures_load(const char *path, cov_error *err) {
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL && error.line > 0) {
        (void)snprintf(err->text, sizeof err->text, "%.200s:%d: %s", path, error.line, error.text);
    } else if (root == NULL) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: %s", path, error.text);
    }
    return root;
}

static bool take(const json_t *item, const char *name, figure *f) {
    json_int_t points = 0;
    json_int_t covered = 0;
    json_int_t waived = 0;
    *f = (figure){.name = name, .percent = 100.0, .before = 100.0};
    if (item == NULL || json_is_null(item)) {
        return true;
    }
    if (json_unpack((json_t *)item, "{s:I, s:I, s:I, s:F, s:F}", "points", &points, "covered", &covered, "waived",
                    &waived, "percent", &f->percent, "percent_before", &f->before) != 0 ||
        points < 0 || covered < 0 || waived < 0 || covered > points) {
        return false;
    }
    f->points = (uint64_t)points;
    f->covered = (uint64_t)covered;
    f->waived = (uint64_t)waived;
    return true;
}

bool figures_of(const json_t *object, figure kinds[FIGURE_KINDS]) {
    static const char *const names[FIGURE_KINDS] = {"line", "branch", "toggle"};
    bool good = json_is_object(object);
    for (int k = 0; good && k < FIGURE_KINDS; k++) {
        good = take(json_object_get(object, names[k]), names[k], &kinds[k]);
    }
    return good;
}
