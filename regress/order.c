/* order.c - in which order jobs start. Results do not depend on it. */
#define _GNU_SOURCE
#include "schedule.h"

#include <stdlib.h>

typedef struct how {
    const reg_expectation *list;
    bool ordered; /* as the suite has them */
} how;

/* Negative: a starts before b. Jobs without a measured time may be long. */
static int compare(const void *left, const void *right, void *context) {
    const how *by = context;
    const reg_expectation *list = by->list;
    const size_t a = *(const size_t *)left;
    const size_t b = *(const size_t *)right;
    if (list[a].failed != list[b].failed) {
        return list[a].failed ? -1 : 1;
    }
    if (by->ordered) {
        return a < b ? -1 : 1;
    }
    const bool known_a = list[a].seconds >= 0;
    const bool known_b = list[b].seconds >= 0;
    if (known_a != known_b) {
        return known_a ? 1 : -1;
    }
    if (known_a && (list[a].seconds > list[b].seconds || list[a].seconds < list[b].seconds)) {
        return list[a].seconds > list[b].seconds ? -1 : 1;
    }
    return a < b ? -1 : 1;
}

int reg_order_jobs(const reg_suite *suite, const reg_past *past, const reg_expectation *list, size_t **order,
                   size_t *count) {
    *count = 0;
    *order = malloc((suite->count + 1) * sizeof **order);
    if (*order == NULL) {
        return reg_error("out of memory");
    }
    for (size_t i = 0; i < suite->count; i++) {
        if (past[i].outcome[0] == '\0') {
            (*order)[(*count)++] = i;
        }
    }
    how by = {list, suite->ordered};
    qsort_r(*order, *count, sizeof **order, compare, &by);
    return REG_OK;
}
