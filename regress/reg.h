/*
 * reg.h - the regression runner's own declarations (private to regress/).
 *
 * suite file -> jobs (suite.c) -> processes (exec.c, sched.c) -> results (result.c) -> database (db.c, store.c, load.c)
 * -> reports (junit.c, report.c). Functions return 0 or REG_OK on success; a function that fails has already printed
 * its one line on stderr unless its comment says otherwise (REG_NONE: there is none, nothing was printed).
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
#define REG_CFGS_MAX 16    /* of one run that a table shows */
#define REG_WEIGHT_MAX 1000
#define REG_ALL_DESIGNS                                                                                                \
    "designs/"                                                                                                         \
    "*"                                                                                                                \
    "/suites/" /* path of a suite that each design may have a file of */

/* REG_HOST, also an exit status: the machine kept jobs from running, nothing else is wrong. */
typedef enum reg_status { REG_OK = 0, REG_FAIL = 1, REG_USAGE = 2, REG_HOST = 3, REG_NONE = 4 } reg_status;

/* ---- util.c ---- */

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

/* ---- suite.c: what to run ---- */

typedef enum reg_what {
    REG_UNIT = 0,
    REG_TEST = 1,
    REG_NETWORK = 2,
    REG_CASE = 3,
    REG_PYTHON = 4,
    REG_WHAT_COUNT = 5
} reg_what;

/* One process to run. */
typedef struct reg_job {
    reg_what what;
    char name[REG_NAME_MAX]; /* unit, test, network, stored case or testcase in Python */
    char cfg[REG_LABEL_MAX]; /* configuration; what its builds begin with, below the build folder */
    char kind[8];            /* fast, debug, tap, cov, san */
    char args[REG_ARGS_MAX]; /* further arguments, separated by blanks; may be empty */
    uint64_t index;          /* index of the first case in the random stream of the run */
    uint32_t cases;          /* cases in this job */
    uint32_t timeout_s;
    uint32_t memory_mb; /* address space limit; 0: none */
    uint32_t weight;    /* how likely it is to be drawn when not all jobs run */
    bool checked_twice; /* the next job of the list is the second run of this one */
    bool second_run;    /* the job before this one is the first run */
} reg_job;

/* Settings of the command line for a suite. */
typedef struct reg_suite_options {
    const char *kind; /* kind of build for lines without kind=, default fast */
    const struct reg_designs *designs;
    const struct reg_design *design; /* only this one; NULL: all */
    const char *cfg;                 /* ",n4,n8,": which are wanted; NULL: all */
    uint32_t timeout_s;              /* for lines that do not say */
    uint32_t memory_mb;              /* for lines that do not say */
    const char *unit_dir;            /* whose unit_*.c are "unit all"; NULL: those of the design */
    const char *stored_dir;          /* whose *.case are "case all"; NULL: those of the design */
    bool marked;                     /* only what the suite marks for coverage (cover=), with kind cov */
} reg_suite_options;

typedef struct reg_suite {
    char name[REG_NAME_MAX];
    uint32_t budget_s;           /* 0: the suite has none */
    uint64_t seed;               /* run seed of the file, used when the command line gives none */
    char left_out[REG_TEXT_MAX]; /* lines about missing data (when=); empty: none */
    reg_job *jobs;
    size_t count;
} reg_suite;

/* "unit", "test", "network", "case", "python". */
const char *reg_what_name(reg_what what);
/* REG_WHAT_COUNT: no such word. */
reg_what reg_what_of(const char *word);

/* Draws its cases from the run seed: a unit, a test or a testcase in Python. A network and a stored case are fixed. */
bool reg_has_cases(reg_what what);

/* True when the name is one of the kinds of build. */
bool reg_kind_known(const char *kind);

/* Is a configuration (as jobs call it) among those of ",n4,n8,"? For another design than the default its own name
 * suffices. NULL: all are. */
bool reg_cfg_wanted(const char *list, const char *label);

/* Read a suite or job list and expand it. A path with REG_ALL_DESIGNS stands for the file of each design that has it.
 * Errors are printed as file:line: message and returned as REG_USAGE. */
reg_status reg_suite_load(reg_suite *suite, const char *path, const reg_suite_options *options);
void reg_suite_free(reg_suite *suite);

/* Add a job to a suite. */
int reg_suite_add(reg_suite *suite, const reg_job *job);

/* Write the expanded list; the text is itself a suite file that expands to the same jobs. */
void reg_suite_print(const reg_suite *suite, uint64_t seed, FILE *out);

/* ---- paths.c ---- */

/* The program of a job, below the build folder. */
bool reg_job_program(const reg_job *job, const char *build_dir, char *out, size_t size);

/* The folder with the programs that the jobs of a run execute (programs.c), laid out like the build folder. */
bool reg_pinned_dir(const char *out_dir, char *out, size_t size);
/* Where `verify` runs jobs again. */
bool reg_verify_dir(const char *out_dir, char *out, size_t size);

/* Where the run has its report. */
bool reg_report_dir(const char *out_dir, char *out, size_t size);

/* The folder of one attempt at a job (its place in the list; 1 is the first attempt): log, result, stored cases. */
void reg_job_dir(const char *out_dir, const reg_job *job, size_t index, uint32_t attempt, char *out, size_t size);

/* Where a job (its place in the list) writes its coverage, without the suffix; empty: nowhere. */
void reg_cover_stem(const char *coverage_dir, size_t index, char *out, size_t size);

/* Where the failure of a job is explained. */
void reg_explained_dir(const char *out_dir, size_t index, char *out, size_t size);

/* ---- programs.c: what a suite runs ---- */

typedef struct reg_program {
    char path[REG_PATH_MAX];
    uint64_t hash; /* of its contents */
} reg_program;

struct reg_run_info;
typedef struct reg_programs {
    reg_program *list; /* each once, in order of the jobs that need them */
    size_t count;
} reg_programs;

int reg_programs_add(reg_programs *programs, const char *path, uint64_t hash);
/* The programs of a suite, without reading them. */
int reg_programs_of(reg_programs *programs, const reg_suite *suite, const char *build_dir);
/* Read them all; one that is missing is an error. */
int reg_programs_hash(reg_programs *programs);
/* Pin the programs of a run: links (copies, where the file system has no links) in its folder, which a build does not
 * change. What is pinned has the hashes of the list; a pinned program that has its hash stays, whatever the build
 * folder holds now. REG_USAGE (printed): neither has it. */
int reg_programs_pin(const reg_programs *programs, const struct reg_run_info *run);
void reg_programs_free(reg_programs *programs);

/* ---- result.c: result files of jobs ---- */

/* Cycles of the operators of a job and their lower bounds; sums over its cases. */
typedef enum reg_work {
    REG_WORK_CASES,  /* that were measured; 0: not in the result */
    REG_WORK_CYCLES, /* with a task */
    REG_WORK_BOUND,  /* sum of the largest bound of each case */
    REG_WORK_COUNT
} reg_work;

typedef struct reg_result {
    char outcome[24];
    char signature[256];
    char message[REG_TEXT_MAX];
    char trace_hash[40];
    char case_path[REG_PATH_MAX];
    char wave_path[REG_PATH_MAX];
    char repro[REG_TEXT_MAX];
    uint64_t cycles;
    bool has_cycles;
    uint64_t work[REG_WORK_COUNT];
    char bounds[512]; /* each of them, in cycles: {"read":120,"write":64}; empty: the result names none */
    int exit_status;  /* exit status, or 128 + signal */
    uint64_t wall_ms;
    uint64_t cpu_ms;
    uint64_t max_rss_kb;
} reg_result;

/* Read a result file. On failure returns a short text that says what is wrong with it (nothing is printed), NULL on
 * success. reg_result_unread (its reason is printed): the machine failed, so there is no outcome. */
extern const char reg_result_unread[];
const char *reg_result_load(reg_result *result, const char *path);

/* Copy the last line of a log that is not blank, control characters removed; empty when there is none. */
void reg_log_last_line(const char *path, char *out, size_t size);

/* ---- exec.c: processes ---- */

/* Kills the process groups of running jobs when the runner itself dies for any reason. */
typedef struct reg_guardian {
    int pipe_fd;
    pid_t pid;
} reg_guardian;

int reg_guardian_start(reg_guardian *guardian);
void reg_guardian_stop(reg_guardian *guardian);

typedef struct reg_command {
    char *argv[64];              /* argv[0]: as the user knows the program */
    char program[REG_PATH_MAX];  /* what is executed; empty: argv[0] */
    char text[REG_PATH_MAX * 4]; /* the arguments themselves, each terminated */
    char line[REG_PATH_MAX * 4]; /* as one would type it */
    size_t used, argc;
} reg_command;

/* A command word by word; false when it does not fit. */
void reg_command_begin(reg_command *command);
bool reg_command_add(reg_command *command, const char *word);

/* Files that a job writes for the runner, and where its program is pinned. */
typedef struct reg_job_files {
    const char *programs; /* laid out like the build folder */
    const char *result;   /* its result file */
    const char *case_dir; /* stored cases */
    const char *cover;    /* its coverage, without .cov and, of kind cov, .code; NULL: not requested */
} reg_job_files;

/* Build the command of a job. files NULL: the command as a user would type it. False when it does not fit. */
bool reg_command_build(reg_command *command, const reg_job *job, const char *build_dir, uint64_t seed,
                       const reg_job_files *files);

/* Does a job write coverage? Second runs would only count everything twice. */
bool reg_job_covers(const reg_job *job);

/* Start a job in its own process group with its output in log_path. Returns the process id, or -1 with the cause: no
 * process, no log, or no such program. */
pid_t reg_spawn(const reg_guardian *guardian, const reg_command *command, const char *log_path, uint32_t memory_mb,
                char cause[REG_TEXT_MAX]);

/* True when the process has ended: its group is killed, the process reaped, the numbers filled in. */
bool reg_reap(const reg_guardian *guardian, pid_t pid, int *wait_status, uint64_t *cpu_ms, uint64_t *max_rss_kb);

/* ---- lock.c: builds ---- */

/* Wait until no make builds in a folder, and keep others from it until the descriptor is closed. -1: nobody has ever
 * locked that folder. */
int reg_build_lock(const char *build_dir);

/* ---- db.c, store.c, lock.c: the results database ---- */

struct sqlite3;
struct sqlite3_stmt;

/* Tells which runs have a live runner: byte RUN of DATABASE.lock is locked by its process and released when that ends
 * for any reason. */
typedef struct reg_lock {
    int fd;      /* -1: not open */
    int64_t run; /* that this process has locked; 0: none */
} reg_lock;
#define REG_UNLOCKED ((reg_lock){.fd = -1})

/* Lock a run. wait_s: how long to wait for a runner that is ending. REG_FAIL (printed) when another process has it. */
int reg_lock_run(reg_lock *lock, const char *db_path, int64_t run, double wait_s);
/* Lock all of them. */
int reg_lock_all(reg_lock *lock, const char *db_path);
/* Does a process work on that run, this one or another? */
bool reg_lock_held(reg_lock *lock, const char *db_path, int64_t run);
/* Unlock, as the end of the process does. */
void reg_lock_release(reg_lock *lock);

typedef struct reg_db {
    struct sqlite3 *handle;
    struct sqlite3_stmt *finish_job;
    reg_lock lock; /* released when the database is closed */
    char path[REG_PATH_MAX];
} reg_db;

typedef struct reg_run_info {
    int64_t id; /* filled in by reg_db_begin_run */
    char suite[REG_NAME_MAX];
    char suite_path[REG_PATH_MAX];
    char build_dir[REG_PATH_MAX];
    char out_dir[REG_PATH_MAX - 128]; /* room for the names below it */
    uint64_t seed;
    uint32_t budget_s;
    int parallel;
    char commit[64];
    bool dirty;
    char tools[512];
    char host[256];
    char shard[24];
    char launcher[16];
    char coverage_dir[REG_PATH_MAX - 128]; /* where jobs write their coverage; empty: nowhere */
    uint64_t elapsed_ms;                   /* so far */
    int64_t started_at;
} reg_run_info;

/* State of a job in the database before this runner starts. */
typedef struct reg_past {
    char outcome[24]; /* empty: it has to run */
    char trace_hash[40];
    uint32_t attempt; /* that gave the outcome; without one: the next attempt */
} reg_past;

/* Open the database, creating it when create is true, and bring its schema up to date. */
int reg_db_open(reg_db *db, const char *path, bool create);
void reg_db_close(reg_db *db);

/* ---- dbcheck.c: is it ours, is it whole? ---- */

#define REG_APPLICATION_ID 0x544e444d /* "TNDM" */
#define REG_DB_GO_ON ": tandem-regress recover sets it aside and rebuilds it"
typedef enum reg_db_is {
    REG_DB_OURS,
    REG_DB_MISSING,
    REG_DB_EMPTY,
    REG_DB_NO_DATABASE,
    REG_DB_FOREIGN, /* of another program */
    REG_DB_DAMAGED,
    REG_DB_UNREADABLE /* errno */
} reg_db_is;
/* What a file is, by its beginning; it stays as it is. */
reg_db_is reg_db_look(const char *path);
/* Every page of a database of ours. */
bool reg_db_whole(const char *path);
/* Before it is opened: a file of other programs is refused (printed) and stays as it is. create: it may be missing. */
int reg_db_ours(const char *path, bool create);
/* After it was opened: damage is found (printed). */
int reg_db_sound(const reg_db *db);

/* Print SQLite's message on the last failure; returns REG_FAIL. */
int reg_db_fail(const reg_db *db, const char *what);

/* Execute SQL without results. */
int reg_db_exec(const reg_db *db, const char *sql);

/* Prepare a statement. */
int reg_db_prepare(const reg_db *db, const char *sql, struct sqlite3_stmt **stmt);

/* A value of a statement. REG_KNOWN: a text, of which the empty one is NULL, for unknown and empty are the same
 * here. */
typedef struct reg_value {
    enum { REG_VALUE_NULL, REG_VALUE_TEXT, REG_VALUE_NUMBER, REG_VALUE_REAL } kind;
    const char *text;
    int64_t number;
    double real;
} reg_value;
#define REG_TEXT(value) ((reg_value){.kind = REG_VALUE_TEXT, .text = (value)})
#define REG_KNOWN(value) ((reg_value){.kind = (value)[0] == '\0' ? REG_VALUE_NULL : REG_VALUE_TEXT, .text = (value)})
#define REG_NUMBER(value) ((reg_value){.kind = REG_VALUE_NUMBER, .number = (int64_t)(value)})
#define REG_NUMBER_IF(known, value)                                                                                    \
    ((reg_value){.kind = (known) ? REG_VALUE_NUMBER : REG_VALUE_NULL, .number = (int64_t)(value)})
#define REG_REAL(value) ((reg_value){.kind = REG_VALUE_REAL, .real = (value)})
#define REG_VALUES(...) (const reg_value[]){__VA_ARGS__}, sizeof((const reg_value[]){__VA_ARGS__}) / sizeof(reg_value)

/* Give a statement its values, from ?1 on. */
int reg_db_bind(const reg_db *db, struct sqlite3_stmt *stmt, const reg_value *value, size_t count);
/* Prepare a statement and give it its values. */
int reg_db_ask(const reg_db *db, const char *sql, struct sqlite3_stmt **stmt, const reg_value *value, size_t count);
/* A statement that has no rows, with these values; it can be used again. */
int reg_db_put(const reg_db *db, struct sqlite3_stmt *stmt, const reg_value *value, size_t count);
/* The same from its text. */
int reg_db_write(const reg_db *db, const char *sql, const reg_value *value, size_t count);
/* The last step of a statement, which is freed; what: was to be done. */
int reg_db_end(const reg_db *db, struct sqlite3_stmt *stmt, int step, const char *what);
/* A column of a row by its name in the statement: not NULL; as text, NULL as ""; as a number, NULL as 0. A name that no
 * column has reads as NULL. */
bool reg_row_known(struct sqlite3_stmt *row, const char *name);
const char *reg_row_text(struct sqlite3_stmt *row, const char *name);
int64_t reg_row_number(struct sqlite3_stmt *row, const char *name);

/* Write the rows of a run, its programs and jobs; id 0: the next one, of which no folder is there. */
int reg_db_put_run(reg_db *db, reg_run_info *info, const reg_suite *suite, const reg_programs *programs);

/* Record a run with its programs and all its jobs, none of them finished, in one transaction. The run is locked before
   anybody sees it. An empty out_dir becomes BUILD_DIR/regress/RUN. */
int reg_db_begin_run(reg_db *db, reg_run_info *info, const reg_suite *suite, const reg_programs *programs);

int reg_db_begin(reg_db *db);
int reg_db_commit(reg_db *db);

/* Record a finished job (index into the suite). The first attempt with an outcome stays: a second one is an error. */
int reg_db_finish_job(reg_db *db, int64_t run, size_t idx, uint32_t attempt, const reg_result *result,
                      const char *log_path);

/* Attempts at a recorded job contradict each other: outcome, signature and message change, a repro where there was
 * none. */
int reg_db_doubt_job(reg_db *db, int64_t run, size_t idx, const reg_result *result);

/* The machine kept a job from running: the cause. It has no outcome, so that a resumed run runs it again. */
int reg_db_host_job(reg_db *db, int64_t run, size_t idx, uint32_t attempt, const char *cause, const char *log_path);

/* Results of the explanation of a job: folder, waveform, small case; empty text changes nothing. */
int reg_db_explain_job(reg_db *db, int64_t run, size_t idx, const char *bundle, const char *wave, const char *shrunk);

/* The run is resumed: state running, one more resume. */
int reg_db_resume_run(reg_db *db, int64_t run);

/* state: done, interrupted, stopped (fail-fast). */
int reg_db_end_run(reg_db *db, int64_t run, const char *state, uint64_t elapsed_ms);

/* The newest run's id, or the one that the text names. */
int reg_db_find_run(reg_db *db, const char *text, int64_t *run);

/* ---- load.c: a run out of the database ---- */

/* The newest run of a suite (its file), 0 when there is none. */
int reg_db_newest_of(reg_db *db, const char *suite_path, int64_t *run);
/* Everything but tools and host, which have no influence. */
int reg_db_load_run(reg_db *db, int64_t run, reg_run_info *info);
/* The job list with the state of each job; *past is to be freed, the suite with reg_suite_free. */
int reg_db_load_jobs(reg_db *db, const reg_run_info *info, reg_suite *suite, reg_past **past);
/* The programs that the run was started with. */
int reg_db_load_programs(reg_db *db, int64_t run, reg_programs *programs);

/* ---- runfile.c: what a run is, in its folder, for `recover` ---- */

/* OUT/run.txt; the files of an earlier run in that folder go. */
int reg_runfile_write(const reg_run_info *info, const reg_suite *suite, const reg_programs *programs);
/* REG_NONE: there is none. Else to be freed, also after a failure. */
int reg_runfile_read(const char *out_dir, reg_run_info *info, reg_suite *suite, reg_programs *programs);
/* OUT/end.txt; state NULL: the run goes on. */
void reg_runfile_end(const char *out_dir, const char *state, uint64_t elapsed_ms);
/* Remove them. */
void reg_runfile_remove(const char *out_dir);
/* Path of OUT/done.txt: a record (slurm_record.c) of each finished job, after it was written into the database. */
bool reg_runfile_done(const char *out_dir, char *out, size_t size);

/* ---- recover.c, salvage.c ---- */

/* What came back. */
typedef struct reg_recovered {
    size_t runs, jobs;              /* from folders; jobs: finished ones */
    size_t salvaged, salvaged_jobs; /* rows of the damaged file; all jobs */
    size_t unfinished;              /* jobs without an outcome */
} reg_recovered;
/* Rows of a damaged database that can be read and are not in the other one. */
int reg_salvage(reg_db *db, const char *damaged, reg_recovered *sum);
/* Bring back what folders of runs and a damaged database have. check: only look. dir: more folders of runs. */
int reg_recover(const char *path, const char *build_dir, const char *const *dir, int dirs, bool check);

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
    char note[48]; /* of the launcher, at the end of the line */
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
    bool resumed;                        /* the run is resumed */
    const struct reg_slurm_asked *slurm; /* launcher slurm */
    const struct reg_keeper *keeper;     /* ledger.h: takes finished jobs instead of the database; NULL: none */
} reg_plan;

/* HOST: the machine fails repeatedly. BROKEN: the runner itself could not go on (database, processes), a line has been
 * printed. */
typedef enum reg_end {
    REG_END_DONE = 0,
    REG_END_INTERRUPTED = 1,
    REG_END_FAIL_FAST = 2,
    REG_END_HOST = 3,
    REG_END_BROKEN = 4
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
void reg_progress_draw(reg_progress *progress, bool force);
void reg_progress_clear(reg_progress *progress);
/* One failure, one line: job, cause, and the command that reproduces it. */
void reg_progress_failure(reg_progress *progress, const reg_job *job, const reg_result *result);

/* ---- hostinfo.c ---- */
/* commit, dirty */
void reg_commit_info(reg_run_info *info);
/* tools, host */
void reg_host_info(reg_run_info *info);

/* ---- list.c ---- */
/* One line for each suite of a folder. */
int reg_list_suites(const char *suite_dir, const reg_suite_options *expand, bool json);

/* ---- junit.c, html*.c, sarif.c, summary.c, report.c ---- */
int reg_junit_write(reg_db *db, int64_t run, const char *path);
/* The report as a folder of pages, written atomically. An existing report is replaced, anything else is not. figures:
 * JSON of the published figures, which may be missing. */
int reg_html_write(reg_db *db, int64_t run, const char *dir, const char *figures);
/* Could that folder be written? */
int reg_html_check(const char *dir);
/* Was that folder written by reg_html_write? */
bool reg_html_is_report(const char *dir);
/* SARIF 2.1.0: one result for each signature; source_dir: where a unit that a signature names has its file (NAME.sv, at
 * any depth). */
int reg_sarif_write(reg_db *db, int64_t run, const char *source_dir, const char *path);
/* A summary as JSON: the run, counts, tests, performance, failures by signature. */
int reg_summary_write(reg_db *db, int64_t run, const char *path);
/* signoff.c: OUT/signoff.json; the SHA-256 of its content, false: there is none. */
int reg_signoff_write(reg_db *db, int64_t run);
bool reg_signoff_sum(const char *out_dir, char sum[65]);
/* Everything about a run. */
int reg_report_print(reg_db *db, int64_t run, bool json, FILE *out);
/* One line: counts per outcome. */
int reg_report_outcomes(reg_db *db, int64_t run, FILE *out);

/* ---- explain.c ---- */

typedef struct reg_explain_plan {
    int64_t run;
    const char *build_dir;
    const char *out_dir;
    uint32_t most;    /* signatures */
    uint32_t seconds; /* for all of them */
    int parallel;     /* processes of a search for a small case */
    bool terminal;
} reg_explain_plan;

/* Run one representative of each signature again, with a report; look for a small case where that is quick. The table
 * of signatures is printed. */
int reg_explain(const reg_explain_plan *plan, reg_db *db, FILE *out);

/* ---- gc.c ---- */

typedef struct reg_gc_plan {
    int64_t keep_runs; /* the newest ones; -1: not given */
    int64_t keep_days; /* younger ones; -1: not given */
    int64_t max_mib;   /* then remove the oldest until the rest fits; -1: not given */
    bool forget;       /* their rows go, too */
    bool dry_run;
    bool json;
} reg_gc_plan;

/* Remove the files of runs that no option keeps; reports the space freed. */
int reg_gc(const reg_gc_plan *plan, reg_db *db, FILE *out);

/* ---- cover.c ---- */

/* Keep the figures of a file of `tandem-cov summary` with a run: {"figures": [{"name", "percent", "percent_before",
 * "covered", "points"}, ..]}. */
int reg_cover_keep(reg_db *db, int64_t run, const char *path);

/* ---- diff.c ---- */

/* Compare outcomes, trace hashes and cycles of two runs: 0 when they agree. */
int reg_diff(reg_db *db, int64_t run_a, int64_t run_b, bool json, FILE *out);

/* ---- totals.c ---- */

/* One test, network, all stored cases or all benches: cases that passed in each configuration (second runs apart),
 * their clock cycles, jobs that did not pass. */
typedef struct reg_total {
    char label[80];
    uint64_t cases[REG_CFGS_MAX]; /* in the order of reg_cfgs */
    uint64_t other;               /* in configurations beyond those */
    uint64_t cycles;
    uint64_t not_passed;
} reg_total;

/* Configurations of the jobs of a run: the default design first, then by name. */
typedef struct reg_cfgs {
    char name[REG_CFGS_MAX][REG_LABEL_MAX];
    size_t count;
} reg_cfgs;

/* *rows is to be freed. */
int reg_totals_load(reg_db *db, int64_t run, reg_cfgs *cfgs, reg_total **rows, size_t *count);
/* As a table (to be freed). */
struct reg_table;
int reg_totals_table(reg_db *db, int64_t run, struct reg_table *table);
/* At most so many rows, on the terminal: what did not pass and what took most cycles; the others are one row. */
int reg_report_totals(reg_db *db, int64_t run, size_t most, FILE *out);

#endif
