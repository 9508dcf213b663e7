/*
 * reg.h - what all of the regression runner shares (private to regress/, as every header here).
 *
 * suite file -> jobs (job.h) -> processes and their results (process.h, schedule.h) -> database (db.h) -> reports
 * (reports.h). Functions return 0 or REG_OK on success; a function that fails has already printed its one line on
 * stderr unless its comment says otherwise (REG_NONE: there is none, nothing was printed).
 */
#ifndef REG_H
#define REG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/report.h"
#include <sys/types.h>

#define REG_NAME_MAX 48
#define REG_ARGS_MAX 256
#define REG_PATH_MAX 1024
#define REG_TEXT_MAX 1024
#define REG_CFG_NAME_MAX 8 /* a configuration: "n4" */
#define REG_LABEL_MAX 32   /* its name in jobs: "n4", of another design than the default "dsp/w16" */
#define REG_WEIGHT_MAX 1000

/* REG_HOST, also an exit status: the machine kept jobs from running, nothing else is wrong. */
typedef enum reg_status { REG_OK = 0, REG_FAIL = 1, REG_USAGE = 2, REG_HOST = 3, REG_NONE = 4 } reg_status;

/* ---- util.c ---- */

/* The text of errno, which is noted if it is about the machine (rep_host()). */
const char *reg_why(void);
/* The same after a call that writes (rep_host_write()). */
const char *reg_why_not_written(void);
/* One line on stderr, "tandem-regress: ...". Returns REG_FAIL. */
int reg_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for bad input. Returns REG_USAGE. */
int reg_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Like snprintf; false when the text did not fit (it is then cut, but terminated). */
bool reg_format(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Make a directory and its parents. */
int reg_make_dirs(const char *path);

/* Remove a file or a folder with everything in it; a missing path is fine. Symbolic links are removed, not followed. */
int reg_remove_tree(const char *path);

/*
 * visit() for the file or folder and everything in it, a folder before its entries, in the order of their names, until
 * it returns something else than REG_OK. A missing path is fine. Symbolic links are visited, not followed.
 */
struct stat;
int reg_walk(const char *path, int (*visit)(const char *path, const struct stat *info, void *context), void *context);

/* Seconds of the monotonic clock. */
double reg_now(void);

/* Wait that many milliseconds. */
void reg_pause(long milliseconds);

/* Why can the machine not write into that folder? False: it can. */
bool reg_host_cause(const char *dir, char *cause, size_t size);

/* rep_file_open() and rep_file_close() of report.h, synced; an error is printed: REG_FAIL. */
int reg_report_open(rep_file *report, const char *path);
int reg_report_commit(rep_file *report);

#endif
