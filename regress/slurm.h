/*
 * slurm.h - jobs on the nodes of a Slurm cluster (private to regress/).
 *
 * Runner (slurm.c) and nodes (node.c) communicate through files only, in OUT/slurm/RUN/, which all of them must share:
 *
 *     name           the first part of the names of all our Slurm jobs, drawn at random when the run begins
 *     A/jobs.txt     the jobs of the tasks of array A (slurm_list.c); written before the array is submitted
 *     A/task.sh      what a task executes: tandem-regress node A TASK
 *     A/TASK.task/   of the one process that works on the task; `beat` grows while it is alive, `end` comes last.
 *                    `lost` is the runner's: it has given the task up, and a process that finds the file ends
 *     A/TASK.log     what it printed
 *     A/done/        one record for each finished attempt: JOB.ATTEMPT.txt (slurm_record.c)
 *
 * Slurm's state is only a hint: a task that has begun is alive as long as its heartbeat continues, a job is done when
 * its record exists.
 */
#ifndef REG_SLURM_H
#define REG_SLURM_H

#include "ledger.h"

#define SLURM_TASKS_MAX 1000 /* of one array: below the usual MaxArraySize of 1001 */
#define SLURM_ATTEMPTS_MAX 3 /* that one runner may lose */

/* Options of the command line. */
typedef struct reg_slurm_asked {
    const char *partition; /* NULL: Slurm's default; so are the next two */
    const char *account;
    const char *args;   /* more arguments for sbatch, separated by blanks */
    uint32_t shard_s;   /* expected seconds of a task */
    double poll_s;      /* between two queries of Slurm */
    uint32_t silence_s; /* a task without a heartbeat for so long is lost */
    uint32_t cpus;      /* of a task: jobs at a time */
} reg_slurm_asked;

/* Are sbatch, squeue and scancel installed? REG_USAGE (printed): no. */
int slurm_probe(void);
reg_end slurm_run_jobs(const reg_plan *plan, reg_totals *totals);

/* ---- slurm_list.c: A/jobs.txt ---- */

typedef struct slurm_head {
    int64_t run;
    uint64_t seed;
    char build_dir[REG_PATH_MAX];
    char out_dir[REG_PATH_MAX];
    char coverage_dir[REG_PATH_MAX]; /* empty: none */
    uint32_t parallel;               /* jobs at a time in a task */
    uint32_t beat_s;                 /* between two beats */
    uint32_t tasks;
} slurm_head;

/* A job of a task. */
typedef struct slurm_line {
    uint32_t task;
    size_t idx; /* place in the suite of the run */
    uint32_t attempt;
    reg_job job;
} slurm_line;

/* One line "job ..", and what follows its first word. */
void slurm_line_print(FILE *out, const slurm_line *line);
bool slurm_line_take(char *rest, uint32_t tasks, slurm_line *line);
/* Write DIR/jobs.txt; lines in order of tasks. */
int slurm_list_write(const char *dir, const slurm_head *head, const slurm_line *lines, size_t count);
/* *lines is to be freed. REG_NONE: there is no such file (nothing is printed). */
int slurm_list_read(const char *dir, slurm_head *head, slurm_line **lines, size_t *count);

/* ---- slurm_record.c: A/done/JOB.ATTEMPT.txt ---- */

/* Write the record of a finished attempt below DIR. */
int slurm_record_write(const char *dir, int64_t run, const reg_finished *item);
/* Fill in the result of item (its job and attempt are given). Returns a short text that says what is wrong, NULL on
 * success. */
const char *slurm_record_load(const char *dir, int64_t run, reg_finished *item);

/* ---- slurm_call.c: Slurm's own programs ---- */

typedef struct slurm_caller {
    reg_guardian guardian;
    char scratch[REG_PATH_MAX]; /* file for their output */
} slurm_caller;

/* Find a program of Slurm; REG_USAGE (printed) when there is none. */
int slurm_find(const char *name, char *path, size_t size);
/* Run a command; *text is its output, stderr included, to be freed, also on failure when it is not NULL. REG_OK: exit
 * status 0. Nothing is printed. */
int slurm_call(const slurm_caller *caller, const reg_command *command, double timeout_s, char **text);
/* The last line of an output that is not blank; cut to size. */
void slurm_last_line(const char *text, char *out, size_t size);

/* ---- slurm_tasks.c: shards, arrays ---- */

typedef struct slurm_entry {
    size_t job;
    uint32_t attempt;
    uint32_t shard;
    uint32_t older; /* entry of the same job + 1; 0: none */
    bool seen;      /* its record was read */
} slurm_entry;

typedef enum slurm_state { SHARD_WRITTEN, SHARD_SUBMITTED, SHARD_OVER } slurm_state;

/* A task of an array. */
typedef struct slurm_shard {
    slurm_state state;
    uint32_t first, count; /* entries */
    uint32_t array;        /* place in the list */
    uint32_t task;
    bool adopted;           /* of an earlier runner */
    bool listed;            /* by squeue, the last time */
    bool running, ran;      /* as squeue says, and said the time before */
    bool claimed;           /* by a process on a node */
    uint32_t absent, ended; /* answers of squeue in a row without it, since its end */
    off_t beats;
    double beat_at; /* time of its last change */
    uint32_t node;  /* where it ran: place in the list + 1; 0: unknown */
} slurm_shard;

typedef struct slurm_array {
    uint32_t number;       /* its folder */
    uint32_t first, count; /* shards */
    bool submitted;
    size_t unseen;     /* records that may still come */
    char slurm_id[24]; /* as squeue says, empty: unknown */
} slurm_array;

/* A node that ran tasks. */
typedef struct slurm_node {
    char name[64];
    uint32_t barren; /* tasks that ended there without any record, in a row */
} slurm_node;

typedef struct slurm_job {
    uint32_t entry;   /* the newest one + 1; 0: none */
    uint32_t attempt; /* the newest one */
    uint32_t lost;    /* attempts that this runner lost */
    bool taken;       /* has an outcome, or waits in the ledger for its first run */
    uint32_t from;    /* the attempt that gave it; 0: no attempt did */
    char outcome[24]; /* as that attempt said */
    char trace_hash[40];
} slurm_job;

typedef struct slurm_runner {
    const reg_plan *plan;
    const reg_slurm_asked *asked;
    reg_ledger ledger;
    slurm_caller caller;
    char folder[REG_PATH_MAX]; /* OUT/slurm/RUN */
    char name[48];             /* of our Slurm jobs: NAME-ARRAY */
    slurm_job *jobs;           /* one a job of the suite */
    slurm_entry *entries;
    size_t entry_count;
    slurm_shard *shards;
    size_t shard_count;
    slurm_array *arrays;
    size_t array_count;
    slurm_node *nodes;
    size_t node_count;
    uint32_t last_array; /* highest number of a folder */
    uint32_t beat_s;
    double scan_s; /* between two looks for records */
    double mean_s; /* expected time of a job without a measured time */
    size_t *retry; /* jobs whose attempt was lost */
    size_t retry_count;
    bool accepted; /* Slurm has taken an array of this runner */
    uint32_t refused;
    bool silent;      /* squeue did not answer the last time */
    char reason[160]; /* why a task waits, as squeue says; empty: none waits */
    uint32_t stuck;   /* answers of squeue in a row with tasks that wait for more than their turn, and none that runs */
    bool stopping;
    bool hurried; /* told twice */
    reg_end end;
    int signal_fd;
    double scan_at, ask_at, submit_at;
} slurm_runner;

/* The folder of an array. False: the path is too long (printed). */
bool slurm_array_dir(const slurm_runner *r, uint32_t number, char *out, size_t size);
/* Make OUT/slurm/RUN, or continue with the files of an earlier runner in it. */
int slurm_tasks_open(slurm_runner *r);
void slurm_tasks_close(slurm_runner *r);
/* Distribute jobs (places in the suite) to shards and arrays and write their folders; nothing is submitted. */
int slurm_tasks_add(slurm_runner *r, const size_t *jobs, size_t count);
/* The entry of an attempt, NULL: not one of ours. */
slurm_entry *slurm_entry_of(const slurm_runner *r, size_t job, uint32_t attempt);
/* A shard is finished: every record was read or belongs to a job that has an outcome. */
bool slurm_shard_served(const slurm_runner *r, const slurm_shard *shard);

/* ---- slurm_ask.c: submitting, querying, cancelling ---- */

/* Submit an array. REG_NONE: Slurm refused, try again later. REG_FAIL: it refused, a line was printed. */
int slurm_submit(slurm_runner *r, slurm_array *array);
/* No further record of the shard is expected. */
void slurm_shard_over(slurm_runner *r, slurm_shard *shard);
/* Which of our tasks wait or run, as Slurm says? False: no response. *tasks: their number. */
bool slurm_ask(slurm_runner *r, size_t *tasks);
/* Cancel all tasks that slurm_ask found, or one shard of them. */
bool slurm_cancel(slurm_runner *r, const slurm_shard *only);

#endif
