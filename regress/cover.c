/* cover.c - coverage of a run as figures in the database, from which trends are drawn. */
#define _GNU_SOURCE
#include "db.h"

#include <jansson.h>
#include <sqlite3.h>
#include <string.h>

typedef struct figure {
    const char *name;
    double percent, before;
    json_int_t covered, points;
} figure;

/* {"name": "line", "percent": 97.1, "percent_before": 96.0, "covered": 970, "points": 999}; false: another form. */
static bool take_figure(json_t *item, figure *f) {
    return json_unpack(item, "{s:s, s:F, s:F, s:I, s:I}", "name", &f->name, "percent", &f->percent, "percent_before",
                       &f->before, "covered", &f->covered, "points", &f->points) == 0 &&
           f->name[0] != '\0' && f->percent >= 0 && f->percent <= 100 && f->before >= 0 && f->before <= 100 &&
           f->covered >= 0 && f->covered <= f->points;
}

static int insert(reg_db *db, int64_t run, const json_t *figures, const char *path) {
    sqlite3_stmt *stmt = NULL;
    size_t i;
    json_t *item;
    int status = reg_db_prepare(
        db,
        "INSERT OR REPLACE INTO coverage(run,name,percent,before_percent,covered,total,place) VALUES(?,?,?,?,?,?,?)",
        &stmt);
    json_array_foreach(figures, i, item) {
        figure f;
        if (status == REG_OK && !take_figure(item, &f)) {
            status = reg_error("%s: figures[%zu]: expected name, percent, percent_before (0 to 100), covered, points",
                               path, i);
        }
        if (status != REG_OK) {
            break;
        }
        status = reg_db_put(db, stmt,
                            REG_VALUES(REG_NUMBER(run), REG_TEXT(f.name), REG_REAL(f.percent), REG_REAL(f.before),
                                       REG_NUMBER(f.covered), REG_NUMBER(f.points), REG_NUMBER(i)));
    }
    (void)sqlite3_finalize(stmt);
    return status;
}

int reg_cover_keep(reg_db *db, int64_t run, const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        if (error.line > 0) {
            reg_error("%s:%d: %s", path, error.line, error.text);
        } else {
            reg_error("%s: %s", path, error.text);
        }
        return REG_FAIL;
    }
    const json_t *figures = json_object_get(root, "figures");
    int status = REG_FAIL;
    if (!json_is_array(figures) || json_array_size(figures) == 0) {
        reg_error("%s: expected an object with \"figures\", which are an array", path);
    } else {
        status = reg_db_begin(db);
        if (status == REG_OK) {
            status = insert(db, run, figures, path);
            status = status == REG_OK ? reg_db_commit(db) : status;
            if (status != REG_OK) {
                (void)reg_db_exec(db, "ROLLBACK");
            }
        }
    }
    json_decref(root);
    return status;
}
