/*
 * sched.c - runs the jobs of a plan, a fixed number at a time.
 *
 * Order of start is that of the plan; what a job finds out never depends on its neighbours or on the clock (a time-out excepted, and that is its
 * own outcome). Finished jobs are written to the database after their successors have been started, several in one transaction.
 */
#define _GNU_SOURCE
#include "reg.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A job that is told to stop has this long before it is killed. */
#define GRACE_S 2.0

typedef enum slot_phase { SLOT_FREE, SLOT_RUNNING, SLOT_TOLD, SLOT_KILLED } slot_phase;

typedef struct slot {
    slot_phase phase;
    bool timed_out;
    pid_t pid;
    size_t job;
    double started;
    double deadline; /* of the present phase */
} slot;

typedef struct verdict {
    char outcome[24];
    char trace_hash[40];
    bool known;
} verdict;

typedef struct finished {
    size_t job;
    reg_result result;
    struct finished *next;
} finished;

typedef struct sched {
    const reg_plan *plan;
    reg_totals *totals;
    reg_guardian guardian;
    slot *slots;
    verdict *verdicts;   /* one a job */
    finished **held;     /* one a job: second runs that wait for the first */
    finished *to_record; /* finished, not yet in the database */
    size_t next;         /* place in the order */
    size_t running;
    bool stopping;
    reg_end end;
    int signal_fd;
} sched;

static void job_dir(const reg_plan *plan, size_t index, char *out, size_t size) {
    reg_job_dir(plan->out_dir, &plan->suite->jobs[index], index, plan->past[index].attempt, out, size);
}

static void job_file(const reg_plan *plan, size_t index, const char *name, char *out, size_t size) {
    char dir[REG_PATH_MAX];
    job_dir(plan, index, dir, sizeof dir);
    (void)reg_format(out, size, "%s/%s", dir, name);
}

/* The name carries the attempt so that a later one can never be taken for this one. */
static void result_file(const reg_plan *plan, size_t index, char *out, size_t size) {
    char name[32];
    (void)reg_format(name, sizeof name, "result.%u.txt", plan->past[index].attempt);
    job_file(plan, index, name, out, size);
}

static int start_job(sched *s, slot *free_slot, size_t index) {
    const reg_plan *plan = s->plan;
    const reg_job *job = &plan->suite->jobs[index];
    char dir[REG_PATH_MAX];
    char cases[REG_PATH_MAX];
    char result[REG_PATH_MAX];
    char log[REG_PATH_MAX];
    reg_command command;
    job_dir(plan, index, dir, sizeof dir);
    job_file(plan, index, "cases", cases, sizeof cases);
    result_file(plan, index, result, sizeof result);
    job_file(plan, index, "log.txt", log, sizeof log);
    if (reg_remove_tree(dir) != REG_OK || reg_make_dirs(cases) != REG_OK) {
        return REG_FAIL;
    }
    if (!reg_command_build(&command, job, plan->build_dir, plan->seed, result, cases)) {
        reg_error("%s: the command is too long", dir);
        return REG_FAIL;
    }
    bool sanitizer = strcmp(job->kind, "san") == 0; /* reserves terabytes of addresses */
    free_slot->started = reg_now();
    free_slot->deadline = free_slot->started + job->timeout_s;
    free_slot->pid = reg_spawn(&s->guardian, &command, log, sanitizer ? 0 : job->memory_mb);
    if (free_slot->pid < 0) {
        reg_error("cannot start a process: %s", strerror(errno));
        return REG_FAIL;
    }
    free_slot->phase = SLOT_RUNNING;
    free_slot->timed_out = false;
    free_slot->job = index;
    s->running++;
    return REG_OK;
}

static void tell_slot(slot *busy, int signal_number, slot_phase phase) {
    (void)kill(-busy->pid, signal_number);
    busy->phase = phase;
    busy->deadline = reg_now() + GRACE_S;
}

/* No new jobs; those that run are told to end, and killed when told twice. */
static void stop_all(sched *s, reg_end end) {
    for (int i = 0; i < s->plan->parallel; i++) {
        slot *busy = &s->slots[i];
        if (busy->phase == SLOT_RUNNING) {
            tell_slot(busy, SIGTERM, SLOT_TOLD);
        } else if (busy->phase == SLOT_TOLD && s->stopping && end == REG_END_INTERRUPTED) {
            tell_slot(busy, SIGKILL, SLOT_KILLED);
        }
    }
    if (!s->stopping || end == REG_END_BROKEN) {
        s->end = end;
    }
    s->stopping = true;
}

static void set_outcome(reg_result *result, const char *outcome, const char *signature, const char *message) {
    (void)reg_format(result->outcome, sizeof result->outcome, "%s", outcome);
    (void)reg_format(result->signature, sizeof result->signature, "%s", signature);
    (void)reg_format(result->message, sizeof result->message, "%s", message);
}

/* Outcome from the way a process ended and from its result file. */
static void judge(sched *s, const slot *ended, int wait_status, reg_result *result) {
    const reg_job *job = &s->plan->suite->jobs[ended->job];
    char path[REG_PATH_MAX];
    char text[REG_TEXT_MAX];
    char tail[REG_TEXT_MAX / 2];
    result_file(s->plan, ended->job, path, sizeof path);
    const char *trouble = reg_result_load(result, path);
    job_file(s->plan, ended->job, "log.txt", path, sizeof path);
    reg_log_last_line(path, tail, sizeof tail);
    result->exit_status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    const char *colon = tail[0] == '\0' ? "" : ": ";
    if (ended->timed_out) {
        (void)reg_format(text, sizeof text, "not done after %u s%s%s", job->timeout_s, colon, tail);
        set_outcome(result, "timeout", "timeout", text);
    } else if (WIFSIGNALED(wait_status)) {
        char signature[64];
        const char *name = sigabbrev_np(WTERMSIG(wait_status));
        (void)reg_format(signature, sizeof signature, "crash SIG%s", name == NULL ? "?" : name);
        (void)reg_format(text, sizeof text, "killed by SIG%s%s%s", name == NULL ? "?" : name, colon, tail);
        set_outcome(result, "crash", signature, text);
    } else if (trouble != NULL) {
        (void)reg_format(text, sizeof text, "exit status %d, %s%s%s", result->exit_status, trouble, colon, tail);
        set_outcome(result, "error", trouble, text);
    } else if ((result->exit_status == 0) != (strcmp(result->outcome, "pass") == 0)) {
        (void)reg_format(text, sizeof text, "exit status %d, but the result file says %s%s%s", result->exit_status, result->outcome,
                         result->message[0] == '\0' ? "" : ": ", result->message);
        set_outcome(result, "error", "exit status contradicts the result", text);
    }
}

/* The second run of a job must end as the first one did, with the same trace hash. */
static void compare_runs(const verdict *first, reg_result *second) {
    char text[REG_TEXT_MAX];
    if (strcmp(first->outcome, second->outcome) != 0) {
        (void)reg_format(text, sizeof text, "first run %s, second run %s: %.800s", first->outcome, second->outcome, second->message);
        set_outcome(second, "nondeterministic", "nondeterministic outcome", text);
    } else if (strcmp(second->outcome, "pass") != 0) {
        return; /* failed twice alike: the failure is the news */
    } else if (first->trace_hash[0] == '\0' || second->trace_hash[0] == '\0') {
        set_outcome(second, "error", "no trace hash", "run twice, but the result has no trace_hash to compare");
    } else if (strcmp(first->trace_hash, second->trace_hash) != 0) {
        (void)reg_format(text, sizeof text, "trace hash %s, first run %s", second->trace_hash, first->trace_hash);
        set_outcome(second, "nondeterministic", "nondeterministic trace", text);
    }
}

static void set_repro(const reg_plan *plan, const reg_job *job, reg_result *result) {
    reg_command command;
    if (strcmp(result->outcome, "pass") == 0 || result->repro[0] != '\0') {
        return;
    }
    if (result->case_path[0] != '\0') {
        bool fast = strcmp(job->kind, "fast") == 0; /* what make repro takes by itself */
        (void)reg_format(result->repro, sizeof result->repro, "make repro CASE=%.*s%s%s", REG_TEXT_MAX - 64, result->case_path,
                         fast ? "" : " KIND=", fast ? "" : job->kind);
    } else if (reg_command_build(&command, job, plan->build_dir, plan->seed, NULL, NULL)) {
        (void)reg_format(result->repro, sizeof result->repro, "%s", command.line);
    }
}

/* The verdict stands: count it, say it, queue it for the database. */
static void conclude(sched *s, finished *item) {
    const reg_job *job = &s->plan->suite->jobs[item->job];
    reg_progress *progress = s->plan->progress;
    verdict *known = &s->verdicts[item->job];
    known->known = true;
    (void)reg_format(known->outcome, sizeof known->outcome, "%s", item->result.outcome);
    (void)reg_format(known->trace_hash, sizeof known->trace_hash, "%s", item->result.trace_hash);
    bool pass = strcmp(item->result.outcome, "pass") == 0;
    set_repro(s->plan, job, &item->result);
    progress->done++;
    progress->busy_s += (double)item->result.wall_ms / 1000.0;
    if (pass) {
        s->totals->passed++;
    } else {
        s->totals->failed++;
        progress->failed++;
        reg_progress_failure(progress, job, &item->result);
        if (s->plan->fail_fast && !s->stopping) {
            stop_all(s, REG_END_FAIL_FAST);
        }
    }
    finished **tail = &s->to_record;
    while (*tail != NULL) {
        tail = &(*tail)->next;
    }
    *tail = item;
}

static void finish_slot(sched *s, slot *ended, int wait_status, uint64_t cpu_ms, uint64_t rss_kb) {
    const reg_suite *suite = s->plan->suite;
    size_t index = ended->job;
    bool stopped = s->stopping && ended->phase != SLOT_RUNNING && !ended->timed_out;
    finished *item = calloc(1, sizeof *item);
    s->running--;
    if (item == NULL || stopped) { /* told to stop: it counts as not run */
        if (item == NULL) {
            reg_error("out of memory");
            stop_all(s, REG_END_BROKEN);
        }
        free(item);
        ended->phase = SLOT_FREE;
        return;
    }
    item->job = index;
    item->result.wall_ms = (uint64_t)((reg_now() - ended->started) * 1000.0);
    item->result.cpu_ms = cpu_ms;
    item->result.max_rss_kb = rss_kb;
    judge(s, ended, wait_status, &item->result);
    ended->phase = SLOT_FREE;
    if (suite->jobs[index].second_run && !s->verdicts[index - 1].known) {
        s->held[index] = item;
        return;
    }
    if (suite->jobs[index].second_run) {
        compare_runs(&s->verdicts[index - 1], &item->result);
    }
    conclude(s, item);
    if (suite->jobs[index].checked_twice && s->held[index + 1] != NULL) {
        finished *second = s->held[index + 1];
        s->held[index + 1] = NULL;
        compare_runs(&s->verdicts[index], &second->result);
        conclude(s, second);
    }
}

static void reap_slots(sched *s) {
    for (int i = 0; i < s->plan->parallel; i++) {
        int wait_status = 0;
        uint64_t cpu_ms = 0;
        uint64_t rss_kb = 0;
        slot *busy = &s->slots[i];
        if (busy->phase != SLOT_FREE && reg_reap(&s->guardian, busy->pid, &wait_status, &cpu_ms, &rss_kb)) {
            finish_slot(s, busy, wait_status, cpu_ms, rss_kb);
        }
    }
}

static void check_deadlines(sched *s) {
    double now = reg_now();
    for (int i = 0; i < s->plan->parallel; i++) {
        slot *busy = &s->slots[i];
        if (busy->phase == SLOT_FREE || now < busy->deadline) {
            continue;
        }
        if (busy->phase == SLOT_RUNNING) {
            busy->timed_out = true;
            tell_slot(busy, SIGTERM, SLOT_TOLD);
        } else {
            tell_slot(busy, SIGKILL, SLOT_KILLED);
        }
    }
}

/* Put what has finished into the database; false when that fails. */
static bool record(sched *s) {
    reg_db *db = s->plan->db;
    bool good = true;
    if (s->to_record == NULL) {
        return true;
    }
    good = reg_db_begin(db) == REG_OK;
    while (s->to_record != NULL) {
        finished *item = s->to_record;
        char log[REG_PATH_MAX];
        job_file(s->plan, item->job, "log.txt", log, sizeof log);
        good = good && reg_db_finish_job(db, s->plan->run, item->job, s->plan->past[item->job].attempt, &item->result, log) == REG_OK;
        s->to_record = item->next;
        free(item);
    }
    if (good) {
        good = reg_db_commit(db) == REG_OK;
    }
    if (!good) {
        (void)reg_db_exec(db, "ROLLBACK");
    }
    return good;
}

/* Milliseconds until something is due. */
static int wait_time(const sched *s) {
    double soonest = reg_now() + (s->plan->progress->terminal ? 0.25 : 60.0);
    for (int i = 0; i < s->plan->parallel; i++) {
        if (s->slots[i].phase != SLOT_FREE && s->slots[i].deadline < soonest) {
            soonest = s->slots[i].deadline;
        }
    }
    double left = soonest - reg_now();
    return left <= 0 ? 0 : (int)(left * 1000.0) + 1;
}

static void wait_for_news(sched *s) {
    struct pollfd wait = {.fd = s->signal_fd, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, wait_time(s)) <= 0) {
        return;
    }
    struct signalfd_siginfo news;
    while (read(s->signal_fd, &news, sizeof news) == (ssize_t)sizeof news) {
        if (news.ssi_signo != SIGCHLD) {
            stop_all(s, REG_END_INTERRUPTED);
        }
    }
}

static void fill_slots(sched *s) {
    for (int i = 0; i < s->plan->parallel && !s->stopping && s->next < s->plan->order_count; i++) {
        if (s->slots[i].phase != SLOT_FREE) {
            continue;
        }
        if (start_job(s, &s->slots[i], s->plan->order[s->next]) != REG_OK) {
            stop_all(s, REG_END_BROKEN);
            return;
        }
        s->next++;
    }
}

/* Seconds until the end as far as earlier runs, or else this one, tell; negative: they do not. */
static double time_left(const sched *s) {
    const reg_plan *plan = s->plan;
    const size_t fresh = plan->progress->done - plan->progress->before;
    size_t known;
    double sum = 0;
    double longest = 0;
    const double mean =
        reg_history_mean(plan->expected, plan->suite->count, fresh > 0 ? plan->progress->busy_s / (double)fresh : -1.0, &known);
    if (mean < 0) {
        return -1.0;
    }
    for (size_t i = s->next; i < plan->order_count; i++) {
        const double one = plan->expected[plan->order[i]].seconds;
        sum += one >= 0 ? one : mean;
    }
    for (int i = 0; i < plan->parallel; i++) {
        const slot *busy = &s->slots[i];
        const double one = busy->phase == SLOT_FREE ? 0 : plan->expected[busy->job].seconds;
        const double rest = busy->phase == SLOT_FREE ? 0 : (one >= 0 ? one : mean) - (reg_now() - busy->started);
        sum += rest > 0 ? rest : 0;
        longest = rest > longest ? rest : longest;
    }
    return sum / plan->parallel > longest ? sum / plan->parallel : longest;
}

static void loop(sched *s) {
    for (;;) {
        fill_slots(s);
        if (s->end != REG_END_BROKEN && !record(s)) {
            stop_all(s, REG_END_BROKEN);
        }
        if (s->running == 0 && (s->stopping || s->next == s->plan->order_count)) {
            return;
        }
        if (s->plan->progress->terminal) {
            s->plan->progress->left_s = time_left(s);
            reg_progress_draw(s->plan->progress, false);
        }
        wait_for_news(s);
        reap_slots(s);
        check_deadlines(s);
    }
}

static bool open_signals(sched *s, sigset_t *before) {
    sigset_t watched;
    (void)sigemptyset(&watched);
    (void)sigaddset(&watched, SIGCHLD);
    (void)sigaddset(&watched, SIGINT);
    (void)sigaddset(&watched, SIGTERM);
    (void)sigaddset(&watched, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &watched, before);
    s->signal_fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    return s->signal_fd >= 0;
}

static void release(sched *s) {
    for (size_t i = 0; s->held != NULL && i < s->plan->suite->count; i++) {
        free(s->held[i]);
    }
    while (s->to_record != NULL) {
        finished *item = s->to_record;
        s->to_record = item->next;
        free(item);
    }
    free(s->held);
    free(s->verdicts);
    free(s->slots);
}

/* Jobs that ended before this runner started. */
static void take_past(sched *s) {
    const reg_plan *plan = s->plan;
    for (size_t i = 0; i < plan->suite->count; i++) {
        const reg_past *past = &plan->past[i];
        verdict *known = &s->verdicts[i];
        if (past->outcome[0] == '\0') {
            continue;
        }
        known->known = true;
        (void)reg_format(known->outcome, sizeof known->outcome, "%s", past->outcome);
        (void)reg_format(known->trace_hash, sizeof known->trace_hash, "%s", past->trace_hash);
        size_t *counter = strcmp(past->outcome, "pass") == 0 ? &s->totals->passed : &s->totals->failed;
        (*counter)++;
    }
    plan->progress->before = s->totals->passed + s->totals->failed;
    plan->progress->done = plan->progress->before;
    plan->progress->failed = s->totals->failed;
}

reg_end reg_run_jobs(const reg_plan *plan, reg_totals *totals) {
    sched s = {.plan = plan, .totals = totals, .end = REG_END_DONE, .signal_fd = -1};
    sigset_t before;
    size_t count = plan->suite->count;
    memset(totals, 0, sizeof *totals);
    s.slots = calloc((size_t)plan->parallel, sizeof *s.slots);
    s.verdicts = calloc(count, sizeof *s.verdicts);
    s.held = calloc(count, sizeof(finished *));
    if (s.slots == NULL || s.verdicts == NULL || s.held == NULL) {
        reg_error("out of memory");
        release(&s);
        return REG_END_BROKEN;
    }
    take_past(&s);
    if (reg_guardian_start(&s.guardian) != REG_OK) {
        release(&s);
        return REG_END_BROKEN;
    }
    if (open_signals(&s, &before)) {
        loop(&s);
        reg_progress_clear(plan->progress);
        (void)close(s.signal_fd);
    } else {
        reg_error("cannot watch signals: %s", strerror(errno));
        s.end = REG_END_BROKEN;
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    reg_guardian_stop(&s.guardian);
    release(&s);
    totals->not_run = count - totals->passed - totals->failed;
    return s.end;
}
