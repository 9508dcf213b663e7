/* order.c - in which order jobs start. Results do not depend on it. */
#define _GNU_SOURCE
#include "reg.h"

#include <stdlib.h>

int reg_order_jobs(const reg_suite *suite, const reg_past *past, size_t **order, size_t *count) {
    *count = 0;
    *order = malloc((suite->count + 1) * sizeof **order);
    if (*order == NULL) {
        reg_error("out of memory");
        return REG_FAIL;
    }
    for (size_t i = 0; i < suite->count; i++) {
        if (past[i].outcome[0] == '\0') {
            (*order)[(*count)++] = i;
        }
    }
    return REG_OK;
}
