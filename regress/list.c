/* list.c - the suites of a folder. */
#define _GNU_SOURCE
#include "reg.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int is_suite(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 6 && strcmp(entry->d_name + length - 6, ".suite") == 0;
}

int reg_list_suites(const char *suite_dir, const reg_suite_options *expand) {
    struct dirent **entries = NULL;
    int count = scandir(suite_dir, &entries, is_suite, alphasort);
    if (count < 0) {
        reg_error("%s: cannot list: %s", suite_dir, strerror(errno));
        return REG_FAIL;
    }
    int status = REG_OK;
    for (int i = 0; i < count; i++) {
        char path[REG_PATH_MAX];
        reg_suite suite;
        if (reg_format(path, sizeof path, "%s/%s", suite_dir, entries[i]->d_name) && reg_suite_load(&suite, path, expand) == REG_OK) {
            printf("%-12s %6zu jobs, budget %u s\n", suite.name, suite.count, suite.budget_s);
            reg_suite_free(&suite);
        } else {
            status = REG_USAGE;
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}
