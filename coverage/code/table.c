/* table.c - the points of a code_data. */
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "report/report.h"

void code_init(code_data *data) {
    memset(data, 0, sizeof *data);
    cov_data_init(&data->memory);
}

void code_free(code_data *data) {
    free(data->points);
    cov_data_free(&data->memory);
    code_init(data);
}

static int by_number(uint32_t a, uint32_t b) {
    return a < b ? -1 : a > b;
}

int code_order(const code_point *a, const code_point *b) {
    int rc = a->file == b->file ? 0 : strcmp(a->file, b->file);
    rc = rc != 0 ? rc : by_number(a->line, b->line);
    rc = rc != 0 ? rc : by_number(a->column, b->column);
    rc = rc != 0 ? rc : by_number(a->kind, b->kind);
    rc = rc != 0 ? rc : strcmp(a->name, b->name);
    rc = rc != 0 ? rc : strcmp(a->lines, b->lines);
    return rc != 0 ? rc : strcmp(a->module, b->module);
}

static int by_place(const void *a, const void *b) {
    return code_order(a, b);
}

code_point *code_place(code_data *data, cov_error *err) {
    if (!rep_more(&data->points, data->count, sizeof *data->points)) {
        (void)cov_no_memory(err);
        return NULL;
    }
    code_point *point = &data->points[data->count++];
    memset(point, 0, sizeof *point);
    return point;
}

const char *code_keep(code_data *data, const char *text, size_t length) {
    return length == 0 ? "" : cov_text(&data->memory, text, length);
}

int code_add(code_data *data, const code_point *from, cov_error *err) {
    code_point *point = code_place(data, err);
    if (point == NULL) {
        return COV_NO_MEMORY;
    }
    /* points come file by file: one copy of its name will do */
    const char *before = data->count > 1 ? point[-1].file : NULL;
    *point = *from;
    point->file =
        before != NULL && strcmp(before, from->file) == 0 ? before : code_keep(data, from->file, strlen(from->file));
    before = data->count > 1 ? point[-1].module : NULL;
    point->module = before != NULL && strcmp(before, from->module) == 0
                        ? before
                        : code_keep(data, from->module, strlen(from->module));
    point->name = code_keep(data, from->name, strlen(from->name));
    point->lines = code_keep(data, from->lines, strlen(from->lines));
    if (point->file == NULL || point->module == NULL || point->name == NULL || point->lines == NULL) {
        data->count--;
        return cov_no_memory(err);
    }
    return COV_OK;
}

void code_settle(code_data *data) {
    size_t kept = 0;
    if (data->count > 1) {
        qsort(data->points, data->count, sizeof *data->points, by_place);
    }
    for (size_t i = 0; i < data->count; i++) {
        if (kept > 0 && code_order(&data->points[kept - 1], &data->points[i]) == 0) {
            cov_add(&data->points[kept - 1].hits, data->points[i].hits);
        } else {
            data->points[kept++] = data->points[i];
        }
    }
    data->count = kept;
}
