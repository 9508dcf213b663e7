/*
 * ledger.h - processing of finished jobs, for all launchers (private to regress/).
 *
 * launcher (sched.c, slurm.c) -> ledger -> database, failure lines, totals. On a node of a cluster a keeper replaces
 * the database.
 */
#ifndef REG_LEDGER_H
#define REG_LEDGER_H

#include "schedule.h"

/* One attempt that has ended. */
typedef struct reg_finished {
    size_t job; /* place in the suite */
    uint32_t attempt;
    bool doubted; /* attempts at it contradict each other: the outcome is final */
    reg_result result;
    struct reg_finished *next;
} reg_finished;

/* Takes finished jobs instead of the database. */
struct reg_keeper {
    /* REG_NONE: it must not count, the process is being ended. Else REG_OK, or REG_FAIL with a line printed. */
    int (*keep)(void *context, const reg_finished *item);
    /* Called at least once a second, also before a job is started. False: no more jobs, those that run do not count. */
    bool (*tick)(void *context);
    void *context;
};

typedef struct reg_verdict {
    char outcome[24];
    char trace_hash[40];
    bool known;
} reg_verdict;

typedef struct reg_ledger {
    const reg_plan *plan;
    reg_totals *totals;
    reg_verdict *verdicts;   /* one a job */
    reg_finished **held;     /* one a job: second runs that wait for the first */
    reg_finished *to_record; /* finished, not yet in the database */
    reg_finished **tail;
    bool failed; /* a job did, since this runner started */
} reg_ledger;

/* Begin with the earlier outcomes of the plan. */
int reg_ledger_open(reg_ledger *ledger, const reg_plan *plan, reg_totals *totals);
/* Counts the jobs that did not run. Those that could not be recorded are among them. */
void reg_ledger_close(reg_ledger *ledger);

/* Space for an attempt; NULL: a line was printed. */
reg_finished *reg_ledger_item(size_t job, uint32_t attempt);
/* An attempt has ended; the item belongs to the ledger from now on. One a job. */
void reg_ledger_take(reg_ledger *ledger, reg_finished *item);
/* A later attempt contradicts the one that was taken: the job is nondeterministic, also where it is in the database.
 * False: that could not be written. */
bool reg_ledger_doubt(reg_ledger *ledger, size_t job, const char *message);
/* Write finished jobs to the database; false when that fails, and they wait for the next call. */
bool reg_ledger_record(reg_ledger *ledger);

/* ---- slurm_record.c: an attempt as text: lines key=value, the last one a hash of the others ---- */
int reg_record_print(FILE *out, int64_t run, const reg_finished *item);
/* Text (which changes) of one record. item says job and attempt; attempt 0: the record does. What is wrong, or NULL. */
const char *reg_record_take(char *text, int64_t run, reg_finished *item);

/* The outcome that a runner gives. */
void reg_result_set(reg_result *result, const char *outcome, const char *signature, const char *message);

#endif
