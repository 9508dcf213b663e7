/* html.h - the report of a run as a folder of pages (private to regress/html*.c). */
#ifndef REG_HTML_H
#define REG_HTML_H

#include "query.h"

/* Where a report is being written. */
typedef struct html_report {
    reg_db *db;
    int64_t run;
    const char *dir;     /* temporary name of the folder */
    const char *figures; /* JSON of `make figures`, which may be missing */
    FILE *out;           /* the page that is being written */
    size_t job_count;    /* of the run */
    size_t jobs;         /* the first one of the page of jobs */
} html_report;

/* html_part.c: pieces of pages, beside those of report.h. */

/* Begin a page; title is plain text. */
void html_head(FILE *out, const char *title);
/* Number in a cell; 0 where it is unknown. */
uint64_t html_count(const reg_table *table, size_t row, const char *key);
/* Rows first..first+count-1 of a table, in a box of its own that scrolls. Columns without title, and those without a
 * value in any of these rows, are left out. */
void html_table(FILE *out, const reg_table *table, size_t first, size_t count);
/* Query the run; to be freed also when it failed. */
int html_ask(const html_report *r, const char *question, uint32_t limit, reg_table *table);

/* Sections of index.html. */
int html_summary(html_report *r);     /* html_index.c */
int html_failures(html_report *r);    /* html_fail.c */
int html_not_run(html_report *r);     /* html_fail.c */
int html_tests(html_report *r);       /* html_index.c */
int html_performance(html_report *r); /* html_perf.c */
int html_trends(html_report *r);      /* html_trend.c */
int html_slowest(html_report *r);     /* html_index.c */
/* A page of the list of jobs, REG_JOBS_AT_ONCE from r->jobs on, and its name: jobs.html, jobs-500.html, ..
 * html_index.c */
#define HTML_NAME 32
int html_jobs(html_report *r);
void html_jobs_name(size_t first, char name[HTML_NAME]);

/* html_copy.c: evidence into the report; only regular files are copied, and a missing one is no error. */

/* The end of a file, at most size_max bytes, under dir/name: REG_OK, REG_NONE (there is no such file), REG_FAIL. */
int html_copy_tail(const char *from, const char *dir, const char *name, size_t size_max);
/* The files of a folder and of the folders in it; larger ones than file_max are left out and counted. REG_NONE: there
 * is no such folder. */
int html_copy_tree(const char *from, const char *to, uint64_t file_max, unsigned *left_out);

#endif
