/* items.c - what is scored: lines and branches follow from the blocks and arms that the tools count. */
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "report/report.h"

#define LINES_MAX 100000u /* of one block */

const char *code_metric_name(code_metric metric) {
    static const char *const names[CODE_METRICS] = {"line", "branch", "toggle", "user", "expr"};
    return names[metric];
}

static bool take_number(const char **at, uint32_t *value) {
    const char *p = *at;
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9' && v <= UINT32_MAX; p++) {
        v = v * 10 + (uint64_t)(*p - '0');
    }
    const bool good = p != *at && v > 0 && v <= UINT32_MAX;
    *value = (uint32_t)v;
    *at = good ? p : *at;
    return good;
}

bool code_next_lines(const char **at, uint32_t *first, uint32_t *last) {
    const char *p = *at;
    if (*p == '\0' || !take_number(&p, first)) {
        return false;
    }
    *last = *first;
    if (*p == '-') {
        p++;
        if (!take_number(&p, last) || *last < *first || *last - *first > LINES_MAX) {
            return false;
        }
    }
    if (*p == ',' && p[1] != '\0') {
        p++;
    } else if (*p != '\0') {
        return false;
    }
    *at = p;
    return true;
}

typedef struct list {
    code_item *item;
    size_t count;
    bool failed;
} list;

static void add(list *l, code_metric metric, const code_point *p, const char *name, uint32_t line, uint32_t column) {
    l->failed = l->failed || !rep_more(&l->item, l->count, sizeof *l->item);
    if (!l->failed) {
        l->item[l->count++] = (code_item){.file = p->file,
                                          .module = p->module,
                                          .name = name,
                                          .line = line,
                                          .column = column,
                                          .metric = metric,
                                          .hits = p->hits};
    }
}

static void add_point(list *l, const code_point *p) {
    uint32_t first = 0;
    uint32_t last = 0;
    const char *at = p->lines;
    switch (p->kind) {
    case CODE_BLOCK:
    case CODE_ARM:
        if (p->kind == CODE_ARM) {
            add(l, CODE_M_BRANCH, p, p->name, p->line, p->column);
        }
        if (p->column > 0) { /* Verilator's; arms of gcov have no column, and it counts lines itself */
            add(l, CODE_M_LINE, p, "", p->line, 0);
        }
        while (code_next_lines(&at, &first, &last)) {
            for (uint32_t line = first; line <= last; line++) {
                add(l, CODE_M_LINE, p, "", line, 0);
            }
        }
        break;
    case CODE_LINE:
        add(l, CODE_M_LINE, p, "", p->line, 0);
        break;
    case CODE_TOGGLE:
        add(l, CODE_M_TOGGLE, p, p->name, p->line, p->column);
        break;
    case CODE_USER:
        add(l, CODE_M_USER, p, p->name, p->line, p->column);
        break;
    case CODE_EXPR:
        add(l, CODE_M_EXPR, p, p->name, p->line, p->column);
        break;
    case CODE_FUNCTION:
        break;
    }
}

static int by_number(uint32_t a, uint32_t b) {
    return a < b ? -1 : a > b;
}

/* "a[9]" comes before "a[10]". */
static int by_name(const char *a, const char *b) {
    while (*a != '\0' && *a == *b && !(*a >= '0' && *a <= '9')) {
        a++;
        b++;
    }
    const bool numbers = *a >= '0' && *a <= '9' && *b >= '0' && *b <= '9';
    if (numbers) {
        const size_t la = strspn(a, "0123456789");
        const size_t lb = strspn(b, "0123456789");
        const int rc = la != lb ? (la < lb ? -1 : 1) : strncmp(a, b, la);
        return rc != 0 ? rc : by_name(a + la, b + lb);
    }
    return strcmp(a, b);
}

static int order(const void *a, const void *b) {
    const code_item *x = a;
    const code_item *y = b;
    int rc = x->file == y->file ? 0 : strcmp(x->file, y->file);
    rc = rc != 0 ? rc : by_number(x->metric, y->metric);
    rc = rc != 0 ? rc : by_number(x->line, y->line);
    rc = rc != 0 ? rc : by_number(x->column, y->column);
    rc = rc != 0 ? rc : by_name(x->name, y->name);
    return rc != 0 ? rc : x->module == y->module ? 0 : strcmp(x->module, y->module);
}

static bool same(const code_item *x, const code_item *y) {
    return x->metric == y->metric && x->line == y->line && x->column == y->column && strcmp(x->name, y->name) == 0 &&
           strcmp(x->file, y->file) == 0;
}

int code_items_make(code_items *items, const code_data *data, cov_error *err) {
    list l = {0};
    for (size_t i = 0; i < data->count; i++) {
        add_point(&l, &data->points[i]);
    }
    if (l.failed) {
        free(l.item);
        *items = (code_items){0};
        return cov_no_memory(err);
    }
    if (l.count > 1) {
        qsort(l.item, l.count, sizeof *l.item, order);
    }
    size_t kept = 0;
    for (size_t i = 0; i < l.count; i++) {
        code_item *before = kept > 0 ? &l.item[kept - 1] : NULL;
        if (before == NULL || !same(before, &l.item[i])) {
            l.item[kept++] = l.item[i];
        } else if (before->metric == CODE_M_LINE) {
            before->hits = before->hits > l.item[i].hits ? before->hits : l.item[i].hits;
        } else {
            cov_add(&before->hits, l.item[i].hits);
        }
    }
    *items = (code_items){.item = l.item, .count = kept};
    return COV_OK;
}

void code_items_free(code_items *items) {
    free(items->item);
    *items = (code_items){0};
}

void code_count(code_tally *tally, const code_item *item) {
    tally->points++;
    tally->covered += item->hits > 0;
    tally->waived += item->hits == 0 && item->waiver != 0;
}

bool code_is_hole(const code_item *item) {
    return item->hits == 0 && item->waiver == 0;
}

double code_percent(const code_tally *t) {
    return t->points == t->waived ? 100.0 : 100.0 * (double)t->covered / (double)(t->points - t->waived);
}

double code_percent_before(const code_tally *t) {
    return t->points == 0 ? 100.0 : 100.0 * (double)t->covered / (double)t->points;
}

void code_unit(const char *file, char *dst, size_t size) {
    const char *slash = strrchr(file, '/');
    const char *from = file;
    if (slash == NULL) {
        (void)snprintf(dst, size, ".");
        return;
    }
    for (const char *p = file; p < slash; p++) {
        from = *p == '/' ? p + 1 : from;
    }
    (void)snprintf(dst, size, "%.*s", (int)(slash - from), from);
}
