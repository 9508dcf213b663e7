/* code_view.c - a file of code coverage prepared for reports: waived, and added up by files and units. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "code_tool.h"
#include "report/report.h"

static int no_memory(cov_error *err) {
    return cov_fail(err, COV_NO_MEMORY, "out of memory");
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const code_group *)a)->name, ((const code_group *)b)->name);
}

/* The group of a name; NULL: out of memory. Groups are few. */
static code_group *group_of(code_group **groups, size_t *count, const char *name) {
    for (size_t i = *count; i > 0; i--) {
        if (strcmp((*groups)[i - 1].name, name) == 0) {
            return &(*groups)[i - 1];
        }
    }
    if (!rep_more(groups, *count, sizeof **groups)) {
        return NULL;
    }
    code_group *more = *groups;
    memset(&more[*count], 0, sizeof *more);
    (void)snprintf(more[*count].name, sizeof more[*count].name, "%s", name);
    return &more[(*count)++];
}

static int add_up(code_view *view, cov_error *err) {
    char unit[200];
    for (size_t i = 0; i < view->items.count; i++) {
        const code_item *item = &view->items.item[i];
        code_unit(item->file, unit, sizeof unit);
        code_group *file = group_of(&view->files, &view->file_count, item->file);
        code_group *of_unit = group_of(&view->units, &view->unit_count, unit);
        if (file == NULL || of_unit == NULL) {
            return no_memory(err);
        }
        file->first = file->count == 0 ? i : file->first;
        file->count++;
        code_count(&file->tally[item->metric], item);
        code_count(&of_unit->tally[item->metric], item);
        code_count(&view->total[item->metric], item);
        if ((unsigned)item->metric < CODE_SCORED && code_is_hole(item)) {
            view->holes++;
            view->explained += item->reason != 0;
        }
    }
    if (view->unit_count > 1) {
        qsort(view->units, view->unit_count, sizeof *view->units, by_name);
    }
    return COV_OK;
}

static bool has_points(const code_data *data, const code_module *module) {
    for (size_t i = 0; i < data->count; i++) {
        if (strcmp(data->points[i].module, module->name) == 0 && strcmp(data->points[i].file, module->file) == 0) {
            return true;
        }
    }
    return false;
}

/* Modules of the sources that no point belongs to. */
static int find_empty(code_view *view, const code_options *o, cov_error *err) {
    char path[600];
    struct stat about;
    const char *dir = o->modules != NULL ? o->modules : "rtl";
    (void)snprintf(path, sizeof path, "%s/%s", o->source, dir);
    if (o->modules == NULL && (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))) {
        return COV_OK;
    }
    const int rc = code_modules(&view->empty, &view->empty_count, o->source, dir, err);
    size_t kept = 0;
    for (size_t i = 0; i < view->empty_count; i++) { /* those with points go to the end, to be freed with the others */
        if (!has_points(&view->data, &view->empty[i])) {
            const code_module keep = view->empty[i];
            view->empty[i] = view->empty[kept];
            view->empty[kept++] = keep;
        }
    }
    for (size_t i = kept; i < view->empty_count; i++) {
        free(view->empty[i].file);
        free(view->empty[i].name);
    }
    view->empty_count = kept;
    return rc;
}

/* A file of waivers or of explanations, applied to the items; path NULL: there is none. */
static int take_reasons(code_view *view, code_waivers *list, code_use use, const char *path, const char *root,
                        cov_error *err) {
    if (path == NULL) {
        return COV_OK;
    }
    int rc = code_waivers_read(list, path, use, err);
    rc = rc == COV_OK ? code_waive(list, &view->items, root, err) : rc;
    for (size_t i = 0; rc == COV_OK && i < list->count; i++) {
        *(use == CODE_WAIVE ? &view->stale : &view->idle) += list->waiver[i].missing == 0;
    }
    return rc;
}

int code_view_open(code_view *view, const code_options *o, cov_error *err) {
    memset(view, 0, sizeof *view);
    int rc = code_read(&view->data, o->files[0], err);
    rc = rc == COV_OK ? code_items_make(&view->items, &view->data, err) : rc;
    rc = rc == COV_OK ? take_reasons(view, &view->waivers, CODE_WAIVE, o->waivers, o->source, err) : rc;
    rc = rc == COV_OK ? take_reasons(view, &view->reasons, CODE_EXPLAIN, o->reasons, o->source, err) : rc;
    rc = rc == COV_OK ? add_up(view, err) : rc;
    rc = rc == COV_OK ? find_empty(view, o, err) : rc;
    if (rc != COV_OK) {
        code_view_close(view);
    }
    return rc;
}

void code_view_close(code_view *view) {
    code_modules_free(view->empty, view->empty_count);
    free(view->units);
    free(view->files);
    code_waivers_free(&view->waivers);
    code_waivers_free(&view->reasons);
    code_items_free(&view->items);
    code_free(&view->data);
    memset(view, 0, sizeof *view);
}

code_tally code_view_all(const code_view *view) {
    code_tally all = {0};
    for (unsigned m = 0; m < CODE_SCORED; m++) {
        all.points += view->total[m].points;
        all.covered += view->total[m].covered;
        all.waived += view->total[m].waived;
    }
    return all;
}

const code_waiver *code_view_reason(const code_view *view, const code_item *item) {
    return item->reason == 0 ? NULL : &view->reasons.waiver[item->reason - 1];
}

/* "a_q[3]" is bit 3 of "a_q"; false: it has no index at its end. */
static bool take_index(const char *name, size_t *length, unsigned *index) {
    const char *open = strrchr(name, '[');
    int used = 0;
    *length = strlen(name);
    if (open == NULL || sscanf(open, "[%9u]%n", index, &used) != 1 || used == 0 || open[used] != '\0') {
        return false;
    }
    *length = (size_t)(open - name);
    return true;
}

size_t code_view_hole(const code_view *view, size_t from, size_t end, char *text, size_t size) {
    const code_item *first = &view->items.item[from];
    size_t length = 0;
    unsigned lowest = 0;
    size_t i = from + 1;
    (void)snprintf(text, size, "%s", first->name);
    if (first->metric != CODE_M_TOGGLE || !take_index(first->name, &length, &lowest)) {
        return i;
    }
    unsigned highest = lowest;
    for (; i < end; i++) { /* bits in a row */
        const code_item *item = &view->items.item[i];
        size_t other = 0;
        unsigned index = 0;
        if (!code_is_hole(item) || item->reason != first->reason || item->metric != CODE_M_TOGGLE ||
            item->line != first->line || !take_index(item->name, &other, &index) || other != length ||
            strncmp(item->name, first->name, length) != 0 || index != highest + 1) {
            break;
        }
        highest = index;
    }
    if (highest > lowest) {
        (void)snprintf(text, size, "%.*s[%u..%u]", (int)length, first->name, lowest, highest);
    }
    return i;
}
