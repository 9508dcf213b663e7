/* process.h - the processes of jobs and what they leave (private to regress/). */
#ifndef REG_PROCESS_H
#define REG_PROCESS_H

#include "job.h"

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
    uint64_t portable; /* 1: trace_hash must be the same in all configurations */
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
/* A group was started (pid), or has ended (-pid). Async-signal-safe. */
int reg_guardian_tell(const reg_guardian *guardian, pid_t pid);

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

/* "repro FILE" or "shrink FILE" of a case of this job, and how the job ran beside its case: arguments of its line,
 * without knobs (name=value), which are in the case, and without the file of a stored case. False when it does not
 * fit, or when this kind of program has no cases. */
bool reg_command_case(reg_command *command, const reg_job *job, const char *verb, const char *path);

/* Does a job write coverage? Second runs would only count everything twice. */
bool reg_job_covers(const reg_job *job);

/* Start a job in its own process group with its output in log_path. Returns the process id, or -1 with the cause: no
 * process, no log, or no such program. */
pid_t reg_spawn(const reg_guardian *guardian, const reg_command *command, const char *log_path, uint32_t memory_mb,
                char cause[REG_TEXT_MAX]);

/* True when the process has ended: its group is killed, the process reaped, the numbers filled in. */
bool reg_reap(const reg_guardian *guardian, pid_t pid, int *wait_status, uint64_t *cpu_ms, uint64_t *max_rss_kb);

#endif
