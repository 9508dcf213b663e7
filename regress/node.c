/*
 * node.c - the command `node`: the jobs of one task of a job array, on a node of a cluster.
 *
 * The local scheduler runs them, with the same limits, groups and time-outs; records replace the database.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "opt/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VISIBLE_S 30.0 /* a network file system shows writes of other machines after at most this time */
#define MISSED_MAX 3   /* beats that cannot be written; the runner gives a task up after six */

typedef struct node {
    const char *dir;         /* of the array */
    char lost[REG_PATH_MAX]; /* exists when the runner has given the task up */
    slurm_head head;
    reg_suite suite; /* places as in the suite of the run; those of other tasks are empty */
    reg_past *past;
    size_t *order;
    size_t count;
    int beat_fd;
    int missed; /* beats in a row */
    double beat_at;
} node;

/* Is the process being ended? Waits that long for the signal. */
static bool being_ended(double seconds) {
    const double end = reg_now() + seconds;
    for (;;) {
        sigset_t pending;
        if (sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
                                          sigismember(&pending, SIGHUP) == 1)) {
            return true;
        }
        if (reg_now() >= end) {
            return false;
        }
        reg_pause(20);
    }
}

/* Slurm ends a task by a signal to each of its processes, in any order: a job that dies just before this process gets
 * its signal has not failed. */
static double suspicion(const reg_result *result) {
    if (strcmp(result->outcome, "pass") == 0 || strcmp(result->outcome, "timeout") == 0) {
        return 0;
    }
    return result->exit_status == 128 + SIGTERM || result->exit_status == 128 + SIGKILL ? 1.0 : 0.2;
}

static int keep(void *context, const reg_finished *item) {
    const node *n = context;
    if (being_ended(suspicion(&item->result))) {
        return REG_NONE;
    }
    return slurm_record_write(n->dir, n->head.run, item);
}

/* A process that was cut off from its folder, or stood still, may be given up: its jobs run elsewhere now. */
static bool given_up(const node *n) {
    int fd = open(n->lost, O_RDONLY | O_CLOEXEC); /* opening a file makes a network file system query its server */
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

static bool tick(void *context) {
    node *n = context;
    if (reg_now() >= n->beat_at) {
        n->beat_at = reg_now() + n->head.beat_s;
        n->missed = write(n->beat_fd, ".", 1) == 1 ? 0 : n->missed + 1;
        return n->missed < MISSED_MAX && !given_up(n);
    }
    return true;
}

/* The jobs of this task. */
static int take_lines(node *n, const slurm_line *lines, size_t count, uint32_t task) {
    size_t top = 0;
    for (size_t i = 0; i < count; i++) {
        n->count += lines[i].task == task ? 1 : 0;
        top = lines[i].task == task && lines[i].idx >= top ? lines[i].idx + 1 : top;
    }
    if (n->count == 0) {
        return reg_refuse("%s: no task %u", n->dir, task);
    }
    n->suite.jobs = calloc(top, sizeof *n->suite.jobs);
    n->past = calloc(top, sizeof *n->past);
    n->order = calloc(n->count, sizeof *n->order);
    if (n->suite.jobs == NULL || n->past == NULL || n->order == NULL) {
        return reg_error("out of memory");
    }
    n->suite.count = top;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (lines[i].task == task) {
            n->suite.jobs[lines[i].idx] = lines[i].job;
            n->past[lines[i].idx].attempt = lines[i].attempt;
            n->order[at++] = lines[i].idx;
        }
    }
    return REG_OK;
}

static int load(node *n, uint32_t task) {
    const double end = reg_now() + VISIBLE_S;
    slurm_line *lines = NULL;
    size_t count = 0;
    int status = slurm_list_read(n->dir, &n->head, &lines, &count);
    while (status == REG_NONE && reg_now() < end) {
        reg_pause(500);
        status = slurm_list_read(n->dir, &n->head, &lines, &count);
    }
    if (status == REG_NONE) {
        return reg_refuse("%s/jobs.txt: no such file (node needs a folder that runner and nodes share)", n->dir);
    }
    if (status == REG_OK) {
        status = take_lines(n, lines, count, task);
        free(lines);
    }
    return status;
}

/* One process works on a task, also when Slurm starts it again: its folder cannot be made twice. REG_NONE: another one
 * has it. */
static int claim(node *n, uint32_t task) {
    char path[REG_PATH_MAX];
    (void)reg_format(path, sizeof path, "%s/%u.task", n->dir, task);
    if (mkdir(path, 0777) != 0) {
        const int reason = errno;
        reg_error("%s: %s", path, reason == EEXIST ? "another process has this task" : strerror(reason));
        return reason == EEXIST ? REG_NONE : REG_FAIL;
    }
    (void)reg_format(n->lost, sizeof n->lost, "%s/%u.task/lost", n->dir, task);
    (void)reg_format(path, sizeof path, "%s/%u.task/beat", n->dir, task);
    n->beat_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (n->beat_fd < 0) {
        return reg_error("%s: %s", path, reg_why());
    }
    return REG_OK;
}

/* The last thing that this task writes. */
static void say_end(const node *n, uint32_t task) {
    char path[REG_PATH_MAX];
    (void)reg_format(path, sizeof path, "%s/%u.task/end", n->dir, task);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) {
        (void)close(fd);
    }
}

static int work(node *n, uint32_t task) {
    reg_totals totals;
    struct reg_keeper keeper = {.keep = keep, .tick = tick, .context = n};
    reg_progress progress = {.started = reg_now(), .total = n->count, .parallel = (int)n->head.parallel};
    const reg_plan plan = {.suite = &n->suite,
                           .build_dir = n->head.build_dir,
                           .out_dir = n->head.out_dir,
                           .coverage_dir = n->head.coverage_dir,
                           .seed = n->head.seed,
                           .run = n->head.run,
                           .parallel = (int)n->head.parallel,
                           .past = n->past,
                           .order = n->order,
                           .order_count = n->count,
                           .progress = &progress,
                           .keeper = &keeper};
    const reg_end end = reg_run_jobs(&plan, &totals);
    printf("task %u: %zu jobs, %zu passed, %zu failed%s\n", task, n->count, totals.passed, totals.failed,
           end == REG_END_DONE ? "" : ", told to end");
    (void)fflush(stdout);
    say_end(n, task);
    return end == REG_END_DONE ? REG_OK : REG_FAIL;
}

int cli_node(options *o) {
    uint64_t task = 0;
    if (o->positionals != 2 || !opt_number(o->positional[1], 0, SLURM_TASKS_MAX - 1, &task)) {
        return cli_usage("node: expected the folder of an array and the number of a task%s", "");
    }
    node n = {.dir = o->positional[0], .beat_fd = -1};
    int status = load(&n, (uint32_t)task);
    if (status == REG_OK) {
        status = claim(&n, (uint32_t)task);
    }
    if (status == REG_OK) {
        status = work(&n, (uint32_t)task);
    }
    if (n.beat_fd >= 0) {
        (void)close(n.beat_fd);
    }
    free(n.suite.jobs);
    free(n.past);
    free(n.order);
    return status == REG_NONE ? REG_OK : status;
}
