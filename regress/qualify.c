/* qualify.c - runs of functional qualification (docs/qualification.md) in the database: their history. */
#define _GNU_SOURCE
#include "db.h"

#include <jansson.h>
#include <string.h>
#include <time.h>

typedef struct summary {
    const char *design, *cfg, *suite;
    json_int_t mutants, of, units, right, around;
    double score, seconds, cpu;
    const json_t *verdicts;
} summary;

/* Mutants with one of these verdicts, NULL after the last; those that are not named are 0. */
static json_int_t of_verdicts(const summary *s, const char *const *name) {
    json_int_t sum = 0;
    for (; *name != NULL; name++) {
        sum += json_integer_value(json_object_get(s->verdicts, *name));
    }
    return sum;
}

static bool take_summary(json_t *root, summary *s) {
    return json_unpack(root, "{s:s, s:s, s:s, s:I, s:I, s:F, s:F, s:F, s:o, s:{s:I, s:I, s:I}}", "design", &s->design,
                       "cfg", &s->cfg, "suite", &s->suite, "mutants", &s->mutants, "of", &s->of, "score", &s->score,
                       "seconds", &s->seconds, "cpu", &s->cpu, "verdicts", &s->verdicts, "blamed", "by_units",
                       &s->units, "right", &s->right, "around", &s->around) == 0 &&
           json_is_object(s->verdicts) && s->mutants >= 0 && s->mutants <= s->of && s->score >= 0 && s->score <= 100 &&
           s->seconds >= 0 && s->cpu >= 0;
}

static int insert(reg_db *db, const summary *s) {
    static const char *const detected[] = {"detected", NULL}, *const reached[] = {"reached", NULL},
                             *const missed[] = {"not-reached", NULL},
                             *const same[] = {"equivalent", "proven", "absent", NULL}; /* are not counted */
    reg_run_info info = {.id = 0};
    reg_commit_info(&info);
    const json_int_t found = of_verdicts(s, detected), at = of_verdicts(s, reached), none = of_verdicts(s, missed),
                     equal = of_verdicts(s, same);
    return reg_db_write(
        db,
        "INSERT INTO qualify(at,design,cfg,suite,commit_hash,dirty,mutants,of_all,detected,weak,reached,not_reached,"
        "equivalent,score,seconds,cpu_s,by_units,blamed) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        REG_VALUES(REG_NUMBER(time(NULL)), REG_TEXT(s->design), REG_TEXT(s->cfg), REG_TEXT(s->suite),
                   REG_TEXT(info.commit), REG_NUMBER(info.dirty), REG_NUMBER(s->mutants), REG_NUMBER(s->of),
                   REG_NUMBER(found), REG_NUMBER(s->mutants - found - at - none - equal), REG_NUMBER(at),
                   REG_NUMBER(none), REG_NUMBER(equal), REG_REAL(s->score), REG_REAL(s->seconds), REG_REAL(s->cpu),
                   REG_NUMBER(s->units), REG_NUMBER(s->right + s->around)));
}

int reg_qualify_keep(reg_db *db, const char *path) {
    json_error_t error;
    summary s = {.design = NULL};
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        if (error.line > 0) {
            return reg_error("%s:%d: %s", path, error.line, error.text);
        }
        return reg_error("%s: %s", path, error.text);
    }
    const int status = take_summary(root, &s)
                           ? insert(db, &s)
                           : reg_error("%s: expected the summary of a run of qualify (qualify.py report --json)", path);
    json_decref(root);
    return status;
}
