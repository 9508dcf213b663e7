/* thresholds.c - the files that both gates read: lines "name number", comments from # on. */
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* 1: a threshold, 0: an empty line, -1: neither. */
static int read_line(char *line, char name[TOOL_NAME_BYTES], double *limit) {
    char number[64];
    char more[2];
    char *end = number;
    line[strcspn(line, "#\n\r")] = '\0';
    const int found = sscanf(line, "%199s %63s %1s", name, number, more);
    if (found <= 0) {
        return 0;
    }
    *limit = strtod(number, &end);
    return found == 2 && end != number && *end == '\0' && *limit >= 0.0 ? 1 : -1;
}

int tool_thresholds(const char *path, tool_judge *judge, void *ctx, cov_error *err) {
    char line[512];
    char name[TOOL_NAME_BYTES];
    cov_error why;
    double limit = 0.0;
    int rc = COV_OK;
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        return tool_told(errno, path, err);
    }
    for (uint32_t number = 1; rc == COV_OK && fgets(line, sizeof line, in) != NULL; number++) {
        const bool cut = strlen(line) == sizeof line - 1;
        const int kind = read_line(line, name, &limit);
        (void)snprintf(why.text, sizeof why.text, "not a name and a number from 0 to 100");
        rc = kind < 0 || cut ? COV_BAD_FILE : kind == 0 ? COV_OK : judge(ctx, name, limit, &why);
        if (rc != COV_OK) {
            (void)snprintf(err->text, sizeof err->text, "%.170s: line %" PRIu32 ": %.190s", path, number, why.text);
        }
    }
    rc = rc == COV_OK && !feof(in) ? tool_told(errno, path, err) : rc;
    (void)fclose(in);
    return rc;
}
