/* query.h - queries of the results database, each one statement and one table (private to regress/). */
#ifndef REG_QUERY_H
#define REG_QUERY_H

#include "table.h"

/* Restrictions of a query; text that is NULL does not restrict. */
typedef struct reg_query_about {
    int64_t run;
    const char *what; /* unit, test, .. */
    const char *test; /* name of a unit, a test, .. */
    const char *cfg;  /* ",n4,n8," */
    const char *kind;
    const char *job; /* number of one job; used by first-failure only */
    uint32_t limit;  /* rows */
} reg_query_about;

typedef struct reg_query {
    const char *name;
    const char *help; /* one line */
    const char *sql;  /* parameters :run :what :test :cfg :kind :job :limit */
    const reg_column *columns;
    size_t column_count;
    bool of_run;        /* :run stands for one run */
    bool needs_test;    /* :test must be given */
    bool must_be_empty; /* a row is a failure: exit status 1 */
    const char *empty;  /* text when there is no row */
    /* Columns that depend on the run: `names` lists them; each is `each` with the name for %q, which `sql` takes in
       place of its '@', as columns before number `names_at` with the titles `title`. NULL: no such columns. */
    const char *names, *each, *title;
    size_t names_at;
} reg_query;

/* Data of a report, beside queries. */
typedef enum reg_part {
    REG_PART_HEAD,    /* the run, one row */
    REG_PART_OUTCOMES /* how many jobs of each outcome */
} reg_part;
/* The table is initialised here and to be freed. */
int reg_report_part(reg_db *db, int64_t run, reg_part part, reg_table *table);
/* Jobs `first` to `first`+`count`-1 of the list; its length. What is made of all jobs reads so many at once. */
#define REG_JOBS_AT_ONCE 500u
int reg_report_jobs(reg_db *db, int64_t run, size_t first, size_t count, reg_table *table);
int reg_report_job_count(reg_db *db, int64_t run, size_t *count);
/* All of them, each as a line of JSON, with commas between them; flags of json_dumpf(). */
int reg_report_jobs_json(reg_db *db, int64_t run, size_t flags, FILE *out);

/* NULL: no such query. */
const reg_query *reg_query_find(const char *name);
/* The i-th query, NULL after the last one. */
const reg_query *reg_query_at(size_t i);
/* Run it; the rows go into a table that is initialised here and to be freed. */
int reg_query_ask(const reg_query *query, reg_db *db, const reg_query_about *about, reg_table *table);

#endif
