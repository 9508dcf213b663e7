/* job.h - suites and their jobs: what to run, its programs and folders (private to regress/). */
#ifndef REG_JOB_H
#define REG_JOB_H

#include "reg.h"

#define REG_ALL_DESIGNS                                                                                                \
    "designs/"                                                                                                         \
    "*"                                                                                                                \
    "/suites/" /* path of a suite that each design may have a file of */

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
    const char *stored; /* a case of this job, which runs instead; NULL: none */
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
    bool ordered;                /* jobs start in the order of the list */
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
 * folder holds now, and a program without a hash gets that of its copy, if there is one. REG_USAGE (printed): neither
 * folder has it. */
int reg_programs_pin(reg_programs *programs, const struct reg_run_info *run);
void reg_programs_free(reg_programs *programs);

/* ---- list.c ---- */
/* One line for each suite of a folder. */
int reg_list_suites(const char *suite_dir, const reg_suite_options *expand, bool json);

#endif
