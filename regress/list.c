/* list.c - the suites of the designs, or of a folder. */
#define _GNU_SOURCE
#include "design.h"
#include "table.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_suite(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 6 && strcmp(entry->d_name + length - 6, ".suite") == 0;
}

static const reg_column columns[] = {{"suite", "suite", REG_CELL_TEXT},
                                     {"jobs", "jobs", REG_CELL_NUMBER},
                                     {"budget_s", "budget s", REG_CELL_NUMBER},
                                     {"path", NULL, REG_CELL_TEXT}};

static int add_suite(reg_table *table, const char *path, const reg_suite_options *expand) {
    reg_suite suite;
    char jobs[24];
    char budget[24];
    int status = reg_suite_load(&suite, path, expand);
    if (status == REG_OK) {
        (void)reg_format(jobs, sizeof jobs, "%zu", suite.count);
        (void)reg_format(budget, sizeof budget, "%u", suite.budget_s);
        status =
            reg_table_add(table, (const char *const[]){suite.name, jobs, suite.budget_s == 0 ? NULL : budget, path});
        reg_suite_free(&suite);
    }
    return status;
}

/* The suites of a folder. REG_ALL_DESIGNS: of a design, those that no earlier design has. */
static int add_folder(reg_table *table, const char *dir, const char *before, const reg_suite_options *expand) {
    struct dirent **entries = NULL;
    const int count = scandir(dir, &entries, is_suite, alphasort);
    int status = REG_OK;
    if (count < 0) {
        return reg_error("%s: cannot list: %s", dir, reg_why());
    }
    for (int i = 0; i < count; i++) {
        char path[REG_PATH_MAX];
        bool seen = false;
        bool fits = reg_format(path, sizeof path, "%s%s", before, entries[i]->d_name);
        for (size_t row = 0; row < table->row_count; row++) {
            seen = seen || strcmp(reg_table_cell(table, row, "path"), path) == 0;
        }
        int added = !fits ? REG_USAGE : seen ? REG_OK : add_suite(table, path, expand);
        status = added == REG_OK ? status : added; /* the others are still shown */
        free(entries[i]);
    }
    free(entries);
    return status;
}

int reg_list_suites(const char *suite_dir, const reg_suite_options *expand, bool json) {
    char path[REG_PATH_MAX];
    reg_table table;
    int status = REG_OK;
    reg_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    if (suite_dir != NULL) {
        (void)reg_format(path, sizeof path, "%s/", suite_dir);
        status = add_folder(&table, suite_dir, path, expand);
    }
    for (size_t i = 0; suite_dir == NULL && i < expand->designs->count; i++) {
        const reg_design *design = &expand->designs->list[i];
        if ((expand->design == NULL || expand->design == design) &&
            reg_design_room(design, "designs", "/suites", path, sizeof path) && access(path, R_OK) == 0) {
            const int added = add_folder(&table, path, REG_ALL_DESIGNS, expand);
            status = added == REG_OK ? status : added;
        }
    }
    int shown = reg_table_show(&table, json, stdout);
    reg_table_free(&table);
    return status == REG_OK ? shown : status;
}
