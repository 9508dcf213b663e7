/* list.c - the suites of a folder. */
#define _GNU_SOURCE
#include "table.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
        status = reg_table_add(table, (const char *const[]){suite.name, jobs, suite.budget_s == 0 ? NULL : budget, path});
        reg_suite_free(&suite);
    }
    return status;
}

int reg_list_suites(const char *suite_dir, const reg_suite_options *expand, bool json) {
    struct dirent **entries = NULL;
    reg_table table;
    int count = scandir(suite_dir, &entries, is_suite, alphasort);
    if (count < 0) {
        reg_error("%s: cannot list: %s", suite_dir, strerror(errno));
        return REG_FAIL;
    }
    int status = REG_OK;
    reg_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < count; i++) {
        char path[REG_PATH_MAX];
        bool fits = reg_format(path, sizeof path, "%s/%s", suite_dir, entries[i]->d_name);
        int added = fits ? add_suite(&table, path, expand) : REG_USAGE;
        status = added == REG_OK ? status : added; /* the others are still shown */
        free(entries[i]);
    }
    free(entries);
    int shown = reg_table_show(&table, json, stdout);
    reg_table_free(&table);
    return status == REG_OK ? shown : status;
}
