/* schedule.h - which jobs of a run are started, when and where (private to regress/). */
#ifndef REG_SCHEDULE_H
#define REG_SCHEDULE_H

#include "db.h"

/* ---- history.c: times and failures of earlier runs; no result depends on them ---- */

typedef struct reg_expectation {
    double seconds; /* mean of the last times that it passed; negative: it never did */
    bool failed;    /* in the last run of its suite */
} reg_expectation;

/* For each job of a suite; failures are those of the newest run before `before` (0: of all) of that suite file and
 * shard. *list is to be freed. */
int reg_history_load(reg_db *db, const reg_suite *suite, const char *suite_path, const char *shard, int64_t before,
                     reg_expectation **list);
/* Mean of the known times, fallback when none is known; the number of known ones. */
double reg_history_mean(const reg_expectation *list, size_t count, double fallback, size_t *known);

/* ---- sched.c: run them all ---- */

typedef struct reg_progress {
    bool terminal;
    bool drawn;
    bool quiet; /* failures are no news */
    double started;
    double last_draw;
    size_t total;
    size_t before; /* had an outcome when the runner started */
    size_t done;   /* with those */
    size_t failed;
    size_t host;   /* kept from running by the machine */
    double busy_s; /* sum of the wall times of the finished jobs */
    double left_s; /* expected until the end; negative: nothing is known */
    int parallel;
    size_t asked;     /* programs to build */
    size_t built;     /* of them */
    const char *now;  /* what is compiled at the moment; NULL or empty: nothing */
    double now_since; /* reg_now() */
    char note[48];    /* of the launcher, at the end of the line */
} reg_progress;

typedef struct reg_plan {
    const reg_suite *suite;
    const char *build_dir;
    const char *out_dir;
    const char *coverage_dir; /* of run_info */
    uint64_t seed;
    int64_t run;
    uint64_t elapsed_ms; /* that the run took before this runner started */
    int parallel;
    bool fail_fast;
    const reg_past *past; /* one a job */
    const size_t *order;  /* places of the jobs to run, in the order in which they start */
    size_t order_count;
    const reg_expectation *expected; /* one a job */
    reg_db *db;
    reg_progress *progress;
    const char *build;        /* command that builds the programs without a hash (builder.h); NULL: all are there */
    reg_programs *programs;   /* of the run */
    const reg_run_info *info; /* of the run */
    bool resumed;             /* the run is resumed */
    const struct reg_slurm_asked *slurm; /* launcher slurm */
    const struct reg_keeper *keeper;     /* ledger.h: takes finished jobs instead of the database; NULL: none */
} reg_plan;

/* HOST: the machine fails repeatedly. BROKEN: the runner itself could not go on (database, processes), a line has been
 * printed. BUILD: a program could not be built. */
typedef enum reg_end {
    REG_END_DONE = 0,
    REG_END_INTERRUPTED = 1,
    REG_END_FAIL_FAST = 2,
    REG_END_HOST = 3,
    REG_END_BROKEN = 4,
    REG_END_BUILD = 5
} reg_end;

typedef struct reg_totals {
    size_t passed;
    size_t failed;
    size_t not_run;                /* with those of the machine's faults */
    size_t host;                   /* the machine kept them from running */
    char host_cause[REG_TEXT_MAX]; /* of the last one */
    size_t unrecorded;             /* they ended, but the database could not be written */
} reg_totals;

/* Run the jobs of a plan that have no outcome; the totals are those of all. */
reg_end reg_run_jobs(const reg_plan *plan, reg_totals *totals);

/* Where jobs run. */
typedef struct reg_launcher {
    const char *name; /* run.launcher in the database */
    /* is everything that it needs available? REG_USAGE (printed): no */
    int (*probe)(void);
    reg_end (*run)(const reg_plan *plan, reg_totals *totals); /* as reg_run_jobs */
} reg_launcher;

/* NULL: there is none of that name. */
const reg_launcher *reg_launcher_find(const char *name);

/* ---- draw.c: part of a suite. A second run stays with its first run, jobs stay in their order ---- */

/* Draw count jobs (all when there are fewer), a job of weight 3 before one of weight 1 three times as often; the seed
 * decides. */
int reg_draw_count(reg_suite *suite, uint64_t seed, uint64_t count);
/* Draw jobs as long as their expected times fit into work_s seconds of one process; at least one job. */
int reg_draw_time(reg_suite *suite, uint64_t seed, const reg_expectation *list, double work_s);
/* Keep every n-th job from the i-th (1..n) on. */
void reg_draw_shard(reg_suite *suite, uint32_t i, uint32_t n);

/* ---- order.c: order of jobs; no result depends on it ---- */

/* The jobs that have no outcome: those that failed in the last run first, then the longest. *order is to be freed. */
int reg_order_jobs(const reg_suite *suite, const reg_past *past, const reg_expectation *list, size_t **order,
                   size_t *count);

/* ---- progress.c ---- */
/* Time for the line: several times a second on a terminal, once a minute elsewhere. */
bool reg_progress_due(const reg_progress *progress);
void reg_progress_draw(reg_progress *progress);
void reg_progress_clear(reg_progress *progress);
/* One failure, one line: job, cause, and the command that reproduces it. */
void reg_progress_failure(reg_progress *progress, const reg_job *job, const reg_result *result);

#endif
