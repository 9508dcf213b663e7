/*
 * sched.c - runs the jobs of a plan, a fixed number at a time.
 *
 * Order of start is that of the plan; the outcome of a job never depends on other jobs or on the clock (except a
 * time-out, which is an outcome of its own). Finished jobs are written to the database after their successors have been
 * started, several in one transaction.
 */
#define _GNU_SOURCE
#include "builder.h"
#include "ledger.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time between SIGTERM and SIGKILL of a job. */
#define GRACE_S 2.0
/* The runner wakes up once a second, at least. After so long a pause the machine stood still: suspended, say. */
#define STILL_S 2.0
/* Jobs in a row that the machine kept from running, after which the run stops. */
#define HOST_ROW 3u

typedef enum slot_phase { SLOT_FREE, SLOT_RUNNING, SLOT_TOLD, SLOT_KILLED } slot_phase;

typedef struct slot {
    slot_phase phase;
    bool timed_out;
    pid_t pid;
    size_t job;
    double started;
    double deadline; /* of the present phase */
} slot;

typedef struct sched {
    const reg_plan *plan;
    reg_ledger ledger;
    reg_guardian guardian;
    reg_builder builder;
    size_t *program; /* of each job, its place among the programs; NULL: all programs are there */
    slot *slots;
    bool *begun; /* one a place in the order */
    size_t next; /* the first place in the order that has not begun */
    size_t running;
    bool stopping;
    reg_end end;
    int signal_fd;
    unsigned host_row; /* jobs in a row that the machine kept from running */
    double awake;      /* when the deadlines were last looked at */
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

static void tell_slot(slot *busy, int signal_number, slot_phase phase) {
    (void)kill(-busy->pid, signal_number);
    busy->phase = phase;
    busy->deadline = reg_now() + GRACE_S;
}

/* No new jobs; running ones get SIGTERM, and SIGKILL the second time. */
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
    reg_builder_stop(&s->builder);
}

/* The machine kept a job from running, or let it run to its end. When that happens in a row there is no use in trying
 * the others; running jobs go on. */
static void host_row(sched *s, bool host) {
    s->host_row = host ? s->host_row + 1 : 0;
    if (s->host_row >= HOST_ROW && !s->stopping) {
        s->stopping = true;
        s->end = REG_END_HOST;
        reg_builder_stop(&s->builder);
    }
}

/* No process for a job. */
static int not_started(sched *s, size_t index, const char *cause) {
    reg_finished *item = reg_ledger_item(index, s->plan->past[index].attempt);
    if (item == NULL) {
        return REG_FAIL;
    }
    reg_result_set(&item->result, "host", "", cause);
    reg_ledger_take(&s->ledger, item);
    host_row(s, true);
    return REG_OK;
}

static int start_job(sched *s, slot *free_slot, size_t index) {
    const reg_plan *plan = s->plan;
    const reg_job *job = &plan->suite->jobs[index];
    char dir[REG_PATH_MAX];
    char cases[REG_PATH_MAX];
    char result[REG_PATH_MAX];
    char log[REG_PATH_MAX];
    char cover[REG_PATH_MAX];
    char programs[REG_PATH_MAX];
    char cause[REG_TEXT_MAX];
    reg_command command;
    job_dir(plan, index, dir, sizeof dir);
    job_file(plan, index, "cases", cases, sizeof cases);
    result_file(plan, index, result, sizeof result);
    job_file(plan, index, "log.txt", log, sizeof log);
    if (reg_remove_tree(dir) != REG_OK || reg_make_dirs(cases) != REG_OK) {
        if (!reg_host_cause(plan->out_dir, cause, sizeof cause)) {
            (void)reg_format(cause, sizeof cause, "%.900s: cannot make the folder", dir);
        }
        return not_started(s, index, cause);
    }
    reg_cover_stem(plan->coverage_dir, index, cover, sizeof cover);
    const reg_job_files files = {
        .programs = programs, .result = result, .case_dir = cases, .cover = cover[0] == '\0' ? NULL : cover};
    if (!reg_pinned_dir(plan->out_dir, programs, sizeof programs) ||
        !reg_command_build(&command, job, plan->build_dir, plan->seed, &files)) {
        return reg_error("%s: the command is too long", dir);
    }
    bool sanitizer = strcmp(job->kind, "san") == 0; /* reserves terabytes of addresses */
    free_slot->started = reg_now();
    free_slot->deadline = free_slot->started + job->timeout_s;
    free_slot->pid = reg_spawn(&s->guardian, &command, log, sanitizer ? 0 : job->memory_mb, cause);
    if (free_slot->pid < 0) {
        return not_started(s, index, cause);
    }
    free_slot->phase = SLOT_RUNNING;
    free_slot->timed_out = false;
    free_slot->job = index;
    s->running++;
    return REG_OK;
}

/* Signals that a job neither sends to itself nor gets from the runner, except at a time-out: another process, or the
 * kernel when memory is short. */
static bool from_outside(int number) {
    return number == SIGKILL || number == SIGTERM || number == SIGINT || number == SIGHUP;
}

/* Outcome of a process that did not end with a whole, consistent result file. */
static void judge_end(const reg_job *job, const slot *ended, int wait_status, const char *trouble, const char *tail,
                      reg_result *result) {
    char text[REG_TEXT_MAX];
    const char *colon = tail[0] == '\0' ? "" : ": ";
    if (ended->timed_out) {
        (void)reg_format(text, sizeof text, "not done after %u s%s%s", job->timeout_s, colon, tail);
        reg_result_set(result, "timeout", "timeout", text);
    } else if (WIFSIGNALED(wait_status)) {
        char signature[64];
        const char *name = sigabbrev_np(WTERMSIG(wait_status));
        const bool outside = from_outside(WTERMSIG(wait_status));
        (void)reg_format(signature, sizeof signature, "crash SIG%s", name == NULL ? "?" : name);
        (void)reg_format(text, sizeof text, "killed by SIG%s%s%s%s", name == NULL ? "?" : name,
                         outside ? ", which the runner did not send" : "", colon, tail);
        reg_result_set(result, outside ? "host" : "crash", outside ? "" : signature, text);
    } else if (trouble != NULL) {
        (void)reg_format(text, sizeof text, "exit status %d, %s%s%s", result->exit_status, trouble, colon, tail);
        reg_result_set(result, "error", trouble, text);
    } else if ((result->exit_status == 0) != (strcmp(result->outcome, "pass") == 0)) {
        (void)reg_format(text, sizeof text, "exit status %d, but the result file says %s%s%s", result->exit_status,
                         result->outcome, result->message[0] == '\0' ? "" : ": ", result->message);
        reg_result_set(result, "error", "exit status contradicts the result", text);
    }
}

/* Outcome from the way a process ended and from its result file. */
static void judge(sched *s, const slot *ended, int wait_status, reg_result *result) {
    char path[REG_PATH_MAX];
    char tail[REG_TEXT_MAX / 2];
    char cause[REG_TEXT_MAX];
    result_file(s->plan, ended->job, path, sizeof path);
    const char *trouble = reg_result_load(result, path);
    job_file(s->plan, ended->job, "log.txt", path, sizeof path);
    reg_log_last_line(path, tail, sizeof tail);
    result->exit_status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    if (!ended->timed_out && (trouble == reg_result_unread || result->exit_status == REP_HOST_EXIT)) {
        (void)reg_format(cause, sizeof cause, "%s",
                         trouble == reg_result_unread                    ? trouble
                         : trouble == NULL && result->message[0] != '\0' ? result->message
                         : tail[0] != '\0'                               ? tail
                                                                         : "exit status 3 without a message");
        reg_result_set(result, "host", "", cause);
        return;
    }
    judge_end(&s->plan->suite->jobs[ended->job], ended, wait_status, trouble, tail, result);
    /* a machine that cannot write makes jobs fail in any way, but not with a whole result file */
    if (strcmp(result->outcome, "pass") != 0 && strcmp(result->outcome, "fail") != 0) {
        job_dir(s->plan, ended->job, path, sizeof path);
        if (reg_host_cause(path, cause, sizeof cause)) {
            reg_result_set(result, "host", "", cause);
        }
    }
}

static void finish_slot(sched *s, slot *ended, int wait_status, uint64_t cpu_ms, uint64_t rss_kb) {
    bool stopped = s->stopping && ended->phase != SLOT_RUNNING && !ended->timed_out;
    s->running--;
    if (stopped) { /* stopped: it counts as not run */
        ended->phase = SLOT_FREE;
        return;
    }
    reg_finished *item = reg_ledger_item(ended->job, s->plan->past[ended->job].attempt);
    if (item == NULL) {
        stop_all(s, REG_END_BROKEN);
        ended->phase = SLOT_FREE;
        return;
    }
    item->result.wall_ms = (uint64_t)((reg_now() - ended->started) * 1000.0);
    item->result.cpu_ms = cpu_ms;
    item->result.max_rss_kb = rss_kb;
    ended->phase = SLOT_FREE;
    judge(s, ended, wait_status, &item->result);
    host_row(s, strcmp(item->result.outcome, "host") == 0);
    reg_ledger_take(&s->ledger, item);
    if (s->ledger.failed && s->plan->fail_fast && !s->stopping) {
        stop_all(s, REG_END_FAIL_FAST);
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
    const double now = reg_now();
    const double still = now - s->awake > STILL_S ? now - s->awake : 0; /* of the jobs, too: that is no time-out */
    s->awake = now;
    for (int i = 0; i < s->plan->parallel; i++) {
        slot *busy = &s->slots[i];
        busy->deadline += still;
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

/* Milliseconds until something is due. */
static int wait_time(const sched *s) {
    double soonest = reg_now() + (s->plan->progress->terminal ? 0.25 : 1.0);
    for (int i = 0; i < s->plan->parallel; i++) {
        if (s->slots[i].phase != SLOT_FREE && s->slots[i].deadline < soonest) {
            soonest = s->slots[i].deadline;
        }
    }
    double left = soonest - reg_now();
    return left <= 0 ? 0 : (int)(left * 1000.0) + 1;
}

static void wait_for_news(sched *s) {
    struct pollfd wait[] = {{.fd = s->signal_fd, .events = POLLIN},
                            {.fd = s->builder.output_fd, .events = POLLIN},
                            {.fd = s->builder.return_fd, .events = POLLIN}};
    if (poll(wait, sizeof wait / sizeof wait[0], wait_time(s)) <= 0) {
        return;
    }
    struct signalfd_siginfo news;
    while (read(s->signal_fd, &news, sizeof news) == (ssize_t)sizeof news) {
        if (news.ssi_signo != SIGCHLD) {
            stop_all(s, REG_END_INTERRUPTED);
        }
    }
}

/* The first job in the order that has not begun and whose program is there; order_count: there is none. */
static size_t next_job(sched *s) {
    const reg_plan *plan = s->plan;
    while (s->next < plan->order_count && s->begun[s->next]) {
        s->next++;
    }
    size_t place = s->next;
    while (s->program != NULL && place < plan->order_count &&
           (s->begun[place] || plan->programs->list[s->program[plan->order[place]]].hash == 0)) {
        place++;
    }
    return place;
}

/* True: a job waits for a free slot. */
static bool fill_slots(sched *s) {
    const size_t most = (size_t)reg_builder_leaves(&s->builder);
    for (int i = 0; !s->stopping; i++) {
        const size_t place = next_job(s);
        if (place == s->plan->order_count) {
            return false;
        }
        while (i < s->plan->parallel && s->slots[i].phase != SLOT_FREE) {
            i++;
        }
        if (i == s->plan->parallel || s->running >= most) {
            return true;
        }
        s->begun[place] = true;
        if (start_job(s, &s->slots[i], s->plan->order[place]) != REG_OK) {
            stop_all(s, REG_END_BROKEN);
        }
    }
    return false;
}

/* ---- programs that are built meanwhile ---- */

static void say(void *context, const char *line) {
    const sched *s = (const sched *)context;
    reg_progress_clear(s->plan->progress);
    puts(line);
    (void)fflush(stdout);
}

/* Which program each job runs. One of a single unit is built first: it takes the least time. */
static int find_programs(sched *s) {
    const reg_plan *plan = s->plan;
    char path[REG_PATH_MAX];
    s->builder.first = plan->programs->count;
    s->program = calloc(plan->suite->count + 1, sizeof *s->program);
    for (size_t i = 0, k = 0; s->program != NULL && i < plan->suite->count; i++) {
        (void)reg_job_program(&plan->suite->jobs[i], plan->build_dir, path, sizeof path);
        for (size_t tried = 0; tried < plan->programs->count && strcmp(plan->programs->list[k].path, path) != 0;
             tried++) { /* mostly that of the job before */
            k = (k + 1) % plan->programs->count;
        }
        s->program[i] = k;
        if (plan->suite->jobs[i].what == REG_UNIT && s->builder.first == plan->programs->count) {
            s->builder.first = k;
        }
    }
    return s->program != NULL ? REG_OK : reg_error("out of memory");
}

static int start_builder(sched *s) {
    const reg_plan *plan = s->plan;
    if (plan->build == NULL) {
        return REG_OK;
    }
    s->builder.programs = plan->programs;
    s->builder.run = plan->info;
    s->builder.db = plan->db;
    s->builder.guardian = &s->guardian;
    return find_programs(s) == REG_OK ? reg_builder_start(&s->builder, plan->build) : REG_FAIL;
}

/* A program is missing: it does not compile, or the machine is at fault. */
static reg_end build_end(sched *s) {
    char cause[REG_TEXT_MAX];
    if (s->builder.failed) {
        return REG_END_BROKEN; /* a line has been printed */
    }
    if (!reg_host_cause(s->plan->build_dir, cause, sizeof cause)) {
        return REG_END_BUILD;
    }
    say(s, cause);
    return REG_END_BROKEN;
}

/* waiting: a job waits for a free slot. */
static void look_at_builder(sched *s, bool waiting) {
    reg_builder *b = &s->builder;
    reg_builder_read(b, say, s);
    if (reg_builder_reap(b) && b->built < b->asked && !s->stopping) {
        reg_builder_read(b, say, s);
        if (b->built < b->asked) {
            s->stopping = true;
            s->end = build_end(s);
        }
    }
    reg_builder_share(b, (int)s->running, waiting);
    s->plan->progress->asked = b->asked;
    s->plan->progress->built = b->built;
    s->plan->progress->now = b->pid != 0 ? b->now : NULL;
    s->plan->progress->now_since = b->now_since;
}

/* Seconds until the end, estimated from earlier runs, or else from this one; negative: unknown. */
static double time_left(const sched *s) {
    const reg_plan *plan = s->plan;
    const size_t fresh = plan->progress->done - plan->progress->before;
    size_t known;
    double sum = 0;
    double longest = 0;
    const double mean = reg_history_mean(plan->expected, plan->suite->count,
                                         fresh > 0 ? plan->progress->busy_s / (double)fresh : -1.0, &known);
    if (mean < 0) {
        return -1.0;
    }
    for (size_t i = s->next; i < plan->order_count; i++) {
        const double one = plan->expected[plan->order[i]].seconds;
        sum += s->begun[i] ? 0 : one >= 0 ? one : mean;
    }
    if (s->builder.pid != 0 && s->builder.built > 0) { /* programs take as long as those before them */
        sum += (reg_now() - plan->progress->started) * (double)(plan->parallel - (int)s->running) *
               (double)(s->builder.asked - s->builder.built) / (double)s->builder.built;
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
        look_at_builder(s, fill_slots(s));
        if (s->end != REG_END_BROKEN && !reg_ledger_record(&s->ledger)) {
            stop_all(s, REG_END_BROKEN);
        }
        if (s->running == 0 && s->builder.pid == 0 && (s->stopping || next_job(s) == s->plan->order_count)) {
            return;
        }
        if (reg_progress_due(s->plan->progress)) {
            s->plan->progress->left_s = time_left(s);
            reg_progress_draw(s->plan->progress);
        }
        wait_for_news(s);
        if (s->plan->keeper != NULL && !s->plan->keeper->tick(s->plan->keeper->context) && !s->stopping) {
            stop_all(s, REG_END_INTERRUPTED);
        }
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

reg_end reg_run_jobs(const reg_plan *plan, reg_totals *totals) {
    sched s = {.plan = plan,
               .builder = {.parallel = plan->parallel, .output_fd = -1, .grant_fd = -1, .return_fd = -1},
               .end = REG_END_DONE,
               .signal_fd = -1,
               .awake = reg_now()};
    sigset_t before;
    if (reg_ledger_open(&s.ledger, plan, totals) != REG_OK) {
        return REG_END_BROKEN;
    }
    s.slots = calloc((size_t)plan->parallel, sizeof *s.slots);
    s.begun = calloc(plan->order_count + 1, sizeof *s.begun);
    if (s.slots == NULL || s.begun == NULL) {
        reg_error("out of memory");
        s.end = REG_END_BROKEN;
    } else if (reg_guardian_start(&s.guardian) != REG_OK) {
        s.end = REG_END_BROKEN;
    } else {
        if (start_builder(&s) != REG_OK) {
            s.end = REG_END_BROKEN;
        } else if (open_signals(&s, &before)) {
            loop(&s);
            reg_progress_clear(plan->progress);
            (void)close(s.signal_fd);
        } else {
            reg_error("cannot watch signals: %s", reg_why());
            s.end = REG_END_BROKEN;
        }
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        reg_guardian_stop(&s.guardian);
    }
    free(s.slots);
    free(s.begun);
    free(s.program);
    reg_builder_close(&s.builder);
    if (s.ledger.to_record != NULL) { /* the jobs that were stopped may have made room */
        (void)reg_ledger_record(&s.ledger);
    }
    reg_ledger_close(&s.ledger);
    return s.end;
}
