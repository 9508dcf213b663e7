/*
 * slurm.c - runs the jobs of a plan on a Slurm cluster: submits tasks, watches for records, decides what was lost.
 *
 * A job is done when a record of one of its attempts exists; the first one counts, whichever attempt it is. A task is
 * lost when it has ended, or is unknown to Slurm, or has had no heartbeat for too long, and records of it are missing:
 * those jobs are submitted again as the next attempt. The lost task may still be alive (its machine was cut off, say):
 * it ends when it sees the folder of its task again, and its later records must agree with those that count. A task
 * that nobody has begun is taken away before. So no job is lost, and none counts twice.
 */
#define _GNU_SOURCE
#include "slurm.h"
#include "opt/opt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCAN_MAX_S 2.0     /* between two looks for records */
#define ABSENT_MAX 3       /* responses of squeue without a task until it counts as ended */
#define CANCEL_WAIT_S 60.0 /* for tasks that were cancelled */
#define END_WAIT_S 2.0     /* for tasks that have done everything */

static void stop(slurm_runner *r, reg_end end) {
    if (!r->stopping || end == REG_END_BROKEN) {
        r->end = end;
    }
    r->hurried = r->hurried || (r->stopping && end == REG_END_INTERRUPTED);
    r->stopping = true;
}

/* ---- records ---- */

/* A first record of a job, or one that must agree with it. The item is used up. */
static void take_result(slurm_runner *r, slurm_entry *entry, reg_finished *item) {
    slurm_job *job = &r->jobs[entry->job];
    char text[REG_TEXT_MAX];
    entry->seen = true;
    r->arrays[r->shards[entry->shard].array].unseen--;
    if (!job->taken) {
        job->taken = true;
        job->from = entry->attempt;
        (void)reg_format(job->outcome, sizeof job->outcome, "%s", item->result.outcome);
        (void)reg_format(job->trace_hash, sizeof job->trace_hash, "%s", item->result.trace_hash);
        reg_ledger_take(&r->ledger, item);
    } else {
        if (job->from != 0 && (strcmp(job->outcome, item->result.outcome) != 0 ||
                               strcmp(job->trace_hash, item->result.trace_hash) != 0)) {
            (void)reg_format(text, sizeof text, "attempt %u: %s, trace hash %s; attempt %u: %s, trace hash %s",
                             job->from, job->outcome, job->trace_hash[0] == '\0' ? "none" : job->trace_hash,
                             item->attempt, item->result.outcome,
                             item->result.trace_hash[0] == '\0' ? "none" : item->result.trace_hash);
            if (!reg_ledger_doubt(&r->ledger, entry->job, text)) {
                stop(r, REG_END_BROKEN);
            }
        }
        free(item);
    }
    if (r->ledger.failed && r->plan->fail_fast && !r->stopping) {
        stop(r, REG_END_FAIL_FAST);
    }
}

static void load_record(slurm_runner *r, const char *dir, slurm_entry *entry) {
    reg_finished *item = reg_ledger_item(entry->job, entry->attempt);
    if (item == NULL) {
        stop(r, REG_END_BROKEN);
    } else if (slurm_record_load(dir, r->plan->run, item) == NULL) {
        take_result(r, entry, item);
    } else { /* not there yet */
        free(item);
    }
}

static void scan_array(slurm_runner *r, const slurm_array *array) {
    char dir[REG_PATH_MAX];
    char done[REG_PATH_MAX + 8];
    if (array->unseen == 0 || !slurm_array_dir(r, array->number, dir, sizeof dir)) {
        return;
    }
    (void)reg_format(done, sizeof done, "%s/done", dir);
    DIR *folder = opendir(done);
    for (const struct dirent *file = folder == NULL ? NULL : readdir(folder); file != NULL; file = readdir(folder)) {
        char name[64];
        uint64_t job = 0;
        uint64_t attempt = 0;
        char *rest = name;
        (void)reg_format(name, sizeof name, "%s", file->d_name);
        const char *job_text = strsep(&rest, ".");
        const char *attempt_text = strsep(&rest, ".");
        if (rest == NULL || strcmp(rest, "txt") != 0 || !opt_number(job_text, 0, SIZE_MAX, &job) ||
            !opt_number(attempt_text, 1, UINT32_MAX, &attempt)) {
            continue; /* a temporary name, say */
        }
        slurm_entry *entry = slurm_entry_of(r, (size_t)job, (uint32_t)attempt);
        if (entry != NULL && !entry->seen && &r->arrays[r->shards[entry->shard].array] == array) {
            load_record(r, dir, entry);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

static void scan(slurm_runner *r) {
    for (size_t i = 0; i < r->array_count && r->end != REG_END_BROKEN; i++) {
        scan_array(r, &r->arrays[i]);
    }
    if (r->end != REG_END_BROKEN && !reg_ledger_record(&r->ledger)) {
        stop(r, REG_END_BROKEN);
    }
}

/* Records of the attempts whose outcomes are in the database. */
static void take_past(slurm_runner *r) {
    const reg_plan *plan = r->plan;
    for (size_t i = 0; i < plan->suite->count; i++) {
        slurm_job *job = &r->jobs[i];
        job->taken = plan->past[i].outcome[0] != '\0';
        slurm_entry *entry = job->taken ? slurm_entry_of(r, i, plan->past[i].attempt) : NULL;
        char dir[REG_PATH_MAX];
        reg_finished item = {.job = i, .attempt = plan->past[i].attempt};
        if (entry != NULL && slurm_array_dir(r, r->arrays[r->shards[entry->shard].array].number, dir, sizeof dir) &&
            slurm_record_load(dir, plan->run, &item) == NULL) {
            entry->seen = true;
            r->arrays[r->shards[entry->shard].array].unseen--;
            job->from = item.attempt;
            (void)reg_format(job->outcome, sizeof job->outcome, "%s", item.result.outcome);
            (void)reg_format(job->trace_hash, sizeof job->trace_hash, "%s", item.result.trace_hash);
        }
    }
}

/* ---- tasks ---- */

static void give_up(slurm_runner *r, slurm_entry *entry) {
    const slurm_shard *shard = &r->shards[entry->shard];
    char log[REG_PATH_MAX + 64];
    char tail[256];
    char text[REG_TEXT_MAX];
    reg_finished *item = reg_ledger_item(entry->job, entry->attempt);
    if (item == NULL) {
        stop(r, REG_END_BROKEN);
        return;
    }
    (void)reg_format(log, sizeof log, "%s/%u/%u.log", r->folder, r->arrays[shard->array].number, shard->task);
    reg_log_last_line(log, tail, sizeof tail);
    (void)reg_format(text, sizeof text, "no result after %u attempts: the tasks ended without one (%.500s: %s)",
                     SLURM_ATTEMPTS_MAX, log,
                     tail[0] == '\0' ? "empty or missing; do the nodes see this folder?" : tail);
    reg_result_set(&item->result, "host", "", text);
    r->jobs[entry->job].taken = true;
    reg_ledger_take(&r->ledger, item);
    if (r->plan->fail_fast && !r->stopping) {
        stop(r, REG_END_FAIL_FAST);
    }
}

static void task_file(const slurm_runner *r, const slurm_shard *shard, const char *name, char *out, size_t size) {
    (void)reg_format(out, size, "%s/%u/%u.task/%s", r->folder, r->arrays[shard->array].number, shard->task, name);
}

/* No process will begin a job of the shard any more, except one that is cut off from the folder. False: a process has
 * just begun, contrary to what Slurm and the folder said. */
static bool withdraw(const slurm_runner *r, slurm_shard *shard) {
    char folder[REG_PATH_MAX + 64];
    char lost[REG_PATH_MAX + 64];
    task_file(r, shard, "", folder, sizeof folder);
    task_file(r, shard, "lost", lost, sizeof lost);
    /* the same way in which a process takes a task */
    if (mkdir(folder, 0777) != 0 && errno == EEXIST && !shard->claimed && access(lost, F_OK) != 0) {
        shard->claimed = true;
        shard->beat_at = reg_now();
        return false;
    }
    int fd = open(lost, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) {
        (void)close(fd);
    }
    return true;
}

/* A shard from which no further record is expected. */
static void lose(slurm_runner *r, slurm_shard *shard, bool counts) {
    if (!withdraw(r, shard)) {
        return;
    }
    slurm_shard_over(r, shard);
    for (uint32_t i = 0; i < shard->count; i++) {
        slurm_entry *entry = &r->entries[shard->first + i];
        slurm_job *job = &r->jobs[entry->job];
        if (entry->seen || job->taken || job->attempt != entry->attempt) {
            continue;
        }
        job->lost += counts ? 1 : 0;
        if (job->lost >= SLURM_ATTEMPTS_MAX) {
            give_up(r, entry);
        } else {
            r->retry[r->retry_count++] = entry->job;
        }
    }
}

/* Has a process on a node begun, is it alive, has it ended? */
static void look(slurm_runner *r, slurm_shard *shard) {
    char path[REG_PATH_MAX + 64];
    struct stat info;
    task_file(r, shard, "beat", path, sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* opening a file makes a network file system query its server */
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size != shard->beats) {
        shard->beats = info.st_size;
        shard->beat_at = reg_now();
    }
    if (fd >= 0) {
        shard->claimed = true;
        (void)close(fd);
    }
    task_file(r, shard, "end", path, sizeof path);
    fd = shard->claimed ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        shard->ended++;
        (void)close(fd);
    }
}

/* After a response of squeue. */
static void judge(slurm_runner *r, slurm_shard *shard) {
    if (slurm_shard_served(r, shard)) {
        if (shard->listed && !shard->running) { /* other attempts were faster */
            (void)slurm_cancel(r, shard);
        }
        slurm_shard_over(r, shard);
        return;
    }
    look(r, shard);
    shard->absent = shard->listed ? 0 : shard->absent + 1;
    if (shard->listed && !shard->claimed && !(shard->running && shard->ran)) {
        shard->beat_at = reg_now(); /* it waits in the queue, or did so when Slurm answered the last time */
    }
    shard->ran = shard->running;
    const double quiet = reg_now() - shard->beat_at;
    const bool never = !shard->listed && !shard->claimed;
    if (shard->ended >= 2) { /* its last records had time to become visible */
        lose(r, shard, true);
    } else if (never && shard->adopted) { /* cancelled, or not submitted at all, by an earlier runner */
        lose(r, shard, false);
    } else if (never && shard->absent >= ABSENT_MAX) {
        lose(r, shard, true);
    } else if (!shard->listed && shard->absent >= ABSENT_MAX && quiet > 3.0 * r->beat_s) {
        lose(r, shard, true);
    } else if (shard->listed && quiet > r->asked->silence_s) {
        /* Slurm may take long to detect that a task is dead; until then it would occupy the node */
        (void)slurm_cancel(r, shard);
        lose(r, shard, true);
    }
}

static void ask(slurm_runner *r) {
    size_t tasks;
    if (!slurm_ask(r, &tasks)) {
        return;
    }
    scan(r); /* tasks that ended before that response */
    for (size_t i = 0; i < r->shard_count && !r->stopping; i++) {
        if (r->shards[i].state == SHARD_SUBMITTED) {
            judge(r, &r->shards[i]);
        }
    }
    if (r->retry_count > 0 && !r->stopping) {
        if (slurm_tasks_add(r, r->retry, r->retry_count) != REG_OK) {
            stop(r, REG_END_BROKEN);
        }
        r->retry_count = 0;
        r->submit_at = 0;
    }
}

/* Arrays that are written but not submitted. */
static void submit(slurm_runner *r) {
    for (size_t i = 0; i < r->array_count && !r->stopping; i++) {
        if (r->arrays[i].submitted) {
            continue;
        }
        const int status = slurm_submit(r, &r->arrays[i]);
        if (status == REG_FAIL) {
            stop(r, REG_END_BROKEN);
        }
        if (status != REG_OK) {
            return;
        }
        r->scan_at = 0;
    }
}

/* ---- the loop ---- */

static bool all_done(const slurm_runner *r) {
    return r->plan->progress->done + r->plan->progress->host >= r->plan->progress->total;
}

static void watch_signals(slurm_runner *r, double until) {
    const double left = until - reg_now();
    struct pollfd wait = {.fd = r->signal_fd, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, left <= 0 ? 0 : (int)(left * 1000.0) + 1) <= 0) {
        return;
    }
    struct signalfd_siginfo news;
    while (read(r->signal_fd, &news, sizeof news) == (ssize_t)sizeof news) {
        if (news.ssi_signo != SIGCHLD) {
            stop(r, REG_END_INTERRUPTED);
        }
    }
}

static void draw(slurm_runner *r) {
    reg_progress *progress = r->plan->progress;
    size_t running = 0;
    size_t waiting = 0;
    double sum = 0;
    if (!reg_progress_due(progress)) {
        return;
    }
    for (size_t i = 0; i < r->shard_count; i++) {
        running += r->shards[i].state == SHARD_SUBMITTED && r->shards[i].running ? 1 : 0;
        waiting += r->shards[i].state != SHARD_OVER && !r->shards[i].running ? 1 : 0;
    }
    for (size_t i = 0; i < r->plan->suite->count; i++) {
        const double seconds = r->plan->expected[i].seconds;
        sum += r->jobs[i].taken ? 0 : seconds >= 0 ? seconds : r->mean_s;
    }
    progress->left_s = running == 0 ? -1.0 : sum / ((double)running * r->asked->cpus);
    (void)reg_format(progress->note, sizeof progress->note, "  tasks: %zu run, %zu wait", running, waiting);
    reg_progress_draw(progress);
}

static void loop(slurm_runner *r) {
    while (!r->stopping && !all_done(r)) {
        double now = reg_now();
        if (now >= r->submit_at) {
            submit(r);
            r->submit_at = reg_now() + r->asked->poll_s;
        }
        if (now >= r->scan_at && !r->stopping) {
            scan(r);
            r->scan_at = reg_now() + r->scan_s;
        }
        if (now >= r->ask_at && !r->stopping && !all_done(r)) {
            ask(r);
            r->ask_at = reg_now() + r->asked->poll_s;
        }
        draw(r);
        if (!all_done(r) && !r->stopping) {
            const double soon = reg_now() + (r->plan->progress->terminal ? 0.25 : 1.0);
            watch_signals(r, r->scan_at < soon ? r->scan_at : soon);
        }
    }
}

/* Remove all our tasks from the queue. Jobs that finish meanwhile count. */
static void wind_up(slurm_runner *r) {
    const bool broken = r->end == REG_END_BROKEN;
    const bool early = r->stopping;
    const double end = reg_now() + (early && !broken ? CANCEL_WAIT_S : END_WAIT_S);
    bool cancelled = false;
    size_t tasks = 0;
    bool submitted = false;
    for (size_t i = 0; i < r->array_count; i++) {
        submitted = submitted || r->arrays[i].submitted;
    }
    if (!submitted) {
        return;
    }
    bool asked = slurm_ask(r, &tasks);
    while (!asked || tasks > 0) {
        /* Tasks without further jobs end on their own; some may be dead and still listed by Slurm, some have lost a
         * race. */
        const bool over = r->hurried || reg_now() >= end;
        if (asked && !cancelled && (early || over)) {
            cancelled = slurm_cancel(r, NULL);
        }
        if (over || (broken && cancelled)) {
            break;
        }
        watch_signals(r, reg_now() + 0.2);
        asked = slurm_ask(r, &tasks);
    }
    if (!broken) {
        scan(r);
    }
    if (!cancelled && (!asked || tasks > 0)) {
        reg_progress_clear(r->plan->progress);
        reg_error("tasks of this run may still be in Slurm's queue: scancel those whose name begins with %s", r->name);
    }
}

static bool open_signals(slurm_runner *r, sigset_t *before) {
    sigset_t watched;
    (void)sigemptyset(&watched);
    (void)sigaddset(&watched, SIGINT);
    (void)sigaddset(&watched, SIGTERM);
    (void)sigaddset(&watched, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &watched, before);
    r->signal_fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    if (r->signal_fd < 0) {
        reg_error("cannot watch signals: %s", reg_why());
    }
    return r->signal_fd >= 0;
}

/* Tasks for the jobs that no earlier runner has submitted. */
static int add_jobs(slurm_runner *r) {
    size_t known;
    size_t *jobs = calloc(r->plan->order_count + 1, sizeof *jobs);
    size_t count = 0;
    if (jobs == NULL) {
        return reg_error("out of memory");
    }
    r->mean_s = reg_history_mean(r->plan->expected, r->plan->suite->count, 1.0, &known);
    for (size_t i = 0; i < r->plan->order_count; i++) {
        const slurm_job *job = &r->jobs[r->plan->order[i]];
        if (!job->taken && job->entry == 0) {
            jobs[count++] = r->plan->order[i];
        }
    }
    int status = slurm_tasks_add(r, jobs, count);
    free(jobs);
    return status;
}

static void run(slurm_runner *r) {
    sigset_t before;
    if (open_signals(r, &before)) {
        take_past(r);
        scan(r); /* results from the time without a runner */
        if (add_jobs(r) == REG_OK) {
            loop(r);
        } else {
            stop(r, REG_END_BROKEN);
        }
        wind_up(r);
        reg_progress_clear(r->plan->progress);
        (void)close(r->signal_fd);
    } else {
        r->end = REG_END_BROKEN;
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

reg_end slurm_run_jobs(const reg_plan *plan, reg_totals *totals) {
    /* The user's output format of squeue must not affect our parsing. */
    static const char *const filters[] = {"SQUEUE_STATES", "SQUEUE_PARTITION", "SQUEUE_ACCOUNT",
                                          "SQUEUE_QOS",    "SQUEUE_LICENSES",  "SQUEUE_USERS"};
    slurm_runner r = {.plan = plan, .asked = plan->slurm, .end = REG_END_DONE, .signal_fd = -1};
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        (void)unsetenv(filters[i]);
    }
    const uint32_t beat = r.asked->silence_s / 6;
    r.beat_s = beat < 1 ? 1 : beat > 10 ? 10 : beat;
    r.scan_s = r.asked->poll_s / 4 < SCAN_MAX_S ? r.asked->poll_s / 4 : SCAN_MAX_S;
    if (reg_ledger_open(&r.ledger, plan, totals) != REG_OK) {
        return REG_END_BROKEN;
    }
    int status = slurm_tasks_open(&r);
    if (status == REG_OK) {
        (void)reg_format(r.caller.scratch, sizeof r.caller.scratch, "%.900s/slurm.out", r.folder);
        status = reg_guardian_start(&r.caller.guardian);
    }
    if (status == REG_OK) {
        run(&r);
        reg_guardian_stop(&r.caller.guardian);
        (void)unlink(r.caller.scratch);
    } else {
        r.end = REG_END_BROKEN;
    }
    slurm_tasks_close(&r);
    reg_ledger_close(&r.ledger);
    return r.end;
}
