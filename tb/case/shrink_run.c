/* shrink_run.c - attempts of the shrinker: processes side by side, their limits, their end. */
#include "shrink_priv.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 100
#define IDLE_SECONDS 3.0 /* an attempt that uses no CPU time for so long is blocked for good */

/* A running attempt. */
typedef struct attempt {
    pid_t pid; /* 0: free */
    int fd;
    size_t index;
    double cpu, moved; /* CPU time when last seen, and when it last rose */
} attempt;

/* What a child writes back. */
typedef struct message {
    int rc;
    int refused; /* rep_host_error() */
    uint64_t cycles;
    char signature[TB_SHRINK_SIGNATURE];
} message;

bool shrink_over(shrinker *s) {
    if (s->cfg->seconds > 0 && rep_seconds(CLOCK_MONOTONIC) - s->begin > s->cfg->seconds) {
        s->stats->out_of_time = true;
    }
    if (s->cfg->stop != NULL && s->cfg->stop(s->cfg->ctx)) {
        s->stats->stopped = true;
    }
    s->failed = s->failed || rep_host_error() != 0; /* an attempt that the machine disturbed shows nothing */
    return s->stats->out_of_time || s->stats->stopped || s->failed;
}

__attribute__((noreturn)) static void child(const shrinker *s, const tb_knobs *knobs, int fd, pid_t parent) {
    message m;
    const struct rlimit no_core = {0, 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); /* from a terminal; the parent decides */
    signal(SIGTERM, SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (getppid() != parent || null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0) {
        _exit(REP_HOST_EXIT);
    }
    memset(&m, 0, sizeof m);
    if (s->max_cycles != 0 && s->cfg->limit != NULL) {
        s->cfg->limit(s->cfg->ctx, s->max_cycles);
    }
    m.rc = s->cfg->run(s->cfg->ctx, knobs, m.signature, &m.cycles);
    m.refused = rep_host_error();
    _exit(write(fd, &m, sizeof m) == (ssize_t)sizeof m ? 0 : REP_HOST_EXIT);
}

static bool launch(shrinker *s, attempt *a, const tb_knobs *knobs, size_t index) {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) {
        return false;
    }
    const pid_t parent = getpid();
    fflush(NULL); /* the child must not write the buffered output again */
    const pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        child(s, knobs, fd[1], parent);
    }
    close(fd[1]);
    if (pid < 0) {
        close(fd[0]);
        return false;
    }
    *a = (attempt){.pid = pid, .fd = fd[0], .index = index, .moved = rep_seconds(CLOCK_MONOTONIC)};
    return true;
}

/* The end of a child. A hang and a crash have signatures, too. */
static void reap(attempt *a, bool hang, shrink_answer *answer) {
    message m;
    struct rusage use = {0};
    int status = 0;
    if (hang) {
        kill(a->pid, SIGKILL);
    }
    memset(answer, 0, sizeof *answer);
    const ssize_t got = hang ? 0 : read(a->fd, &m, sizeof m);
    const bool answered = got == (ssize_t)sizeof m;
    (void)rep_host(got < 0 ? errno : 0);
    while (wait4(a->pid, &status, 0, &use) < 0 && errno == EINTR) {
    }
    if (answered) {
        (void)rep_host_write(m.refused);
        answer->rc = m.rc;
        answer->cycles = m.cycles;
        memcpy(answer->signature, m.signature, sizeof m.signature);
        answer->signature[sizeof m.signature - 1] = '\0';
    } else if (hang) {
        snprintf(answer->signature, sizeof answer->signature, "host:timeout");
    } else if (WIFSIGNALED(status)) {
        snprintf(answer->signature, sizeof answer->signature, "host:signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) == REP_HOST_EXIT) {
        (void)rep_host(EIO);
    } else {
        snprintf(answer->signature, sizeof answer->signature, "host:exit %d", WEXITSTATUS(status));
    }
    answer->cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                  1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    close(a->fd);
    *a = (attempt){0};
}

static void drop(attempt *a) {
    shrink_answer ignored;
    if (a->pid != 0) {
        reap(a, true, &ignored);
    }
}

/* Limits are in CPU time, so that the load of the machine has no influence. */
static bool hangs(const shrinker *s, attempt *a) {
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(a->pid, &clock) != 0 || clock_gettime(clock, &t) != 0) {
        return false; /* it has just ended */
    }
    const double cpu = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    if (cpu > a->cpu) {
        a->cpu = cpu;
        a->moved = rep_seconds(CLOCK_MONOTONIC);
    }
    return (s->cpu_limit > 0 && cpu > s->cpu_limit) || rep_seconds(CLOCK_MONOTONIC) - a->moved > IDLE_SECONDS;
}

/* Wait a moment for any of them. Returns those with a result, as bits. */
static uint64_t wait_any(const attempt *a, unsigned jobs) {
    struct pollfd p[TB_SHRINK_JOBS];
    uint64_t ready = 0;
    for (unsigned i = 0; i < jobs; i++) {
        p[i] = (struct pollfd){.fd = a[i].pid != 0 ? a[i].fd : -1, .events = POLLIN};
    }
    if (poll(p, jobs, TICK_MS) > 0) {
        for (unsigned i = 0; i < jobs; i++) {
            ready |= (uint64_t)(p[i].revents != 0) << i;
        }
    }
    return ready;
}

int shrink_run_one(shrinker *s, const tb_knobs *knobs, shrink_answer *answer) {
    attempt a = {0};
    if (!launch(s, &a, knobs, 0)) {
        s->failed = true;
        return -1;
    }
    for (;;) {
        const bool ready = wait_any(&a, 1) != 0;
        shrink_over(s);
        if (s->stats->stopped) {
            drop(&a);
            return -1;
        }
        if (ready || hangs(s, &a)) {
            s->stats->out_of_time = s->cpu_limit > 0 && a.cpu > s->cpu_limit;
            reap(&a, !ready, answer);
            return s->stats->out_of_time ? -1 : 0;
        }
    }
}

static bool wanted(const shrinker *s, const shrink_answer *a) {
    if (a->rc != 0 || a->signature[0] == '\0') {
        return false;
    }
    return s->cfg->same != NULL ? s->cfg->same(s->cfg->ctx, s->stats->signature, a->signature)
                                : strcmp(s->stats->signature, a->signature) == 0;
}

static void show(const shrinker *s, size_t index) {
    if (s->cfg->live && s->cfg->log != NULL) {
        fprintf(s->cfg->log, "\r  attempt %zu, %.0f s\033[K", s->stats->runs + index + 1,
                rep_seconds(CLOCK_MONOTONIC) - s->begin);
        fflush(s->cfg->log);
    }
}

/* Collect the available results. Returns the index of the first success so far. */
static size_t collect(shrinker *s, attempt *a, unsigned jobs, uint64_t ready, size_t found, shrink_answer *best) {
    for (unsigned i = 0; i < jobs; i++) {
        shrink_answer answer;
        if (a[i].pid == 0) {
            continue;
        }
        const size_t index = a[i].index;
        const bool said = (ready >> i & 1) != 0;
        if (!said && !hangs(s, &a[i])) {
            continue;
        }
        reap(&a[i], !said, &answer);
        if (index < found && wanted(s, &answer)) {
            found = index;
            *best = answer;
        }
    }
    for (unsigned i = 0; i < jobs; i++) {
        if (a[i].pid != 0 && a[i].index > found) {
            drop(&a[i]);
        }
    }
    return found;
}

size_t shrink_search(shrinker *s, shrink_answer *answer) {
    attempt a[TB_SHRINK_JOBS] = {{0}};
    const unsigned jobs = s->cfg->jobs == 0 ? 1 : s->cfg->jobs > TB_SHRINK_JOBS ? TB_SHRINK_JOBS : s->cfg->jobs;
    const size_t count = s->list.count;
    size_t found = count;
    size_t next = 0;
    for (;;) {
        unsigned busy = 0;
        const bool over = shrink_over(s);
        for (unsigned i = 0; i < jobs; i++) {
            if (over) {
                drop(&a[i]);
            } else if (a[i].pid == 0 && next < found) {
                s->failed = !launch(s, &a[i], &s->list.at[next], next) || s->failed;
                next++;
            }
            busy += a[i].pid != 0;
        }
        if (busy == 0) {
            break;
        }
        show(s, next - busy);
        found = collect(s, a, jobs, wait_any(a, jobs), found, answer);
    }
    s->stats->runs += (unsigned)(found < count ? found + 1 : next);
    return found;
}
