/* summary.c - a run as a short JSON document. */
#define _GNU_SOURCE
#include "query.h"
#include "reports.h"

#include <jansson.h>

#define SLOWEST 10u

typedef struct part {
    const char *key;
    const char *question; /* NULL: a part of the report */
    reg_part report;
    uint32_t limit;
    bool one; /* one row: an object */
} part;

static const part parts[] = {
    {.key = "run", .report = REG_PART_HEAD, .one = true},
    {.key = "totals", .question = "trend", .limit = 1, .one = true},
    {.key = "outcomes", .report = REG_PART_OUTCOMES},
    {.key = "failures", .question = "buckets", .limit = UINT32_MAX},
    {.key = "not_run", .question = "not-run", .limit = UINT32_MAX},
    {.key = "tests", .question = "tests", .limit = UINT32_MAX},
    {.key = "performance", .question = "performance", .limit = UINT32_MAX},
    {.key = "slowest", .question = "slowest", .limit = SLOWEST},
};

static int add_part(reg_db *db, int64_t run, const part *p, json_t *document) {
    reg_table table;
    const reg_query_about about = {.run = run, .limit = p->limit};
    int status = p->question != NULL ? reg_query_ask(reg_query_find(p->question), db, &about, &table)
                                     : reg_report_part(db, run, p->report, &table);
    json_t *rows = status == REG_OK ? reg_table_json(&table) : NULL;
    json_t *value = p->one ? json_incref(json_array_get(rows, 0)) : json_incref(rows);
    json_decref(rows);
    if (status == REG_OK && json_object_set_new(document, p->key, value) != 0) {
        status = reg_error("out of memory");
    }
    reg_table_free(&table);
    return status;
}

int reg_summary_write(reg_db *db, int64_t run, const char *path) {
    rep_file file;
    json_t *document = json_object();
    int status = document == NULL ? reg_error("out of memory") : REG_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == REG_OK; i++) {
        status = add_part(db, run, &parts[i], document);
    }
    if (status == REG_OK) {
        status = reg_report_open(&file, path);
    }
    if (status != REG_OK) {
        json_decref(document);
        return status;
    }
    status = reg_json_print(document, file.file);
    if (status != REG_OK) {
        rep_file_drop(&file);
        return status;
    }
    return reg_report_commit(&file);
}
