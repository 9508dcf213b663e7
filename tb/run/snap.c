#include "snap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../sim/sim.h"
#include "report/report.h"

static void close_fd(int *fd) {
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

/* Its read returns 0 and it leaves. */
static void end_child(tb_snap_child *c) {
    if (c->pid > 0) {
        close_fd(&c->order);
        close_fd(&c->done);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    *c = (tb_snap_child){.order = -1, .done = -1};
}

void tb_snap_stop(tb_snaps *snaps) {
    for (size_t i = 0; i < TB_SNAPS; i++) {
        end_child(&snaps->child[i]);
    }
    snaps->on = false;
}

/* All of it, or false: end of file or an error, which is noted if it is the machine's. */
static bool read_all(int fd, void *dst, size_t size) {
    for (size_t at = 0; at < size;) {
        const ssize_t n = read(fd, (char *)dst + at, size - at);
        if (n > 0) {
            at += (size_t)n;
        } else if (n == 0 || rep_host(errno) != EINTR) {
            return false;
        }
    }
    return true;
}

static bool write_all(int fd, const void *src, size_t size) {
    for (size_t at = 0; at < size;) {
        const ssize_t n = write(fd, (const char *)src + at, size - at);
        if (n > 0) {
            at += (size_t)n;
        } else if (n < 0 && rep_host(errno) != EINTR) {
            return false;
        }
    }
    return true;
}

/*
 * The child until it is woken. It keeps no other pipe of its parent open, so that it ends with the parent; output that
 * the parent has not flushed yet, and its own, is discarded.
 */
static int sleep_until_woken(tb_snaps *snaps, tb_snap_child *me, pid_t parent, tb_snap_order *order) {
    static const int signals[2] = {SIGINT, SIGTERM};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before[2];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Ctrl-C reaches every process of the terminal; a sleeping snapshot must ignore it */
    for (size_t i = 0; i < 2; i++) {
        sigaction(signals[i], &ignore, &before[i]);
    }
    if (getppid() != parent) {
        _exit(1);
    }
    for (size_t i = 0; i < TB_SNAPS; i++) {
        close_fd(&snaps->child[i].order);
        close_fd(&snaps->child[i].done);
        snaps->child[i].pid = 0;
    }
    if (!read_all(me->order, order, sizeof *order)) {
        _exit(0);
    }
    for (size_t i = 0; i < 2; i++) {
        sigaction(signals[i], &before[i], NULL);
    }
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0) {
        _exit(1);
    }
    close(null);
    snaps->child[0] = *me;
    snaps->on = false;
    return 1;
}

static int take(tb_snaps *snaps, uint64_t cycle, tb_snap_order *order) {
    int down[2], up[2];
    const double start = rep_seconds(CLOCK_MONOTONIC);
    if (pipe2(down, O_CLOEXEC) != 0) {
        return 0;
    }
    if (pipe2(up, O_CLOEXEC) != 0) {
        close(down[0]);
        close(down[1]);
        return 0;
    }
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        close(down[1]);
        close(up[0]);
        tb_snap_child me = {.pid = 0, .order = down[0], .done = up[1], .cycle = cycle};
        return sleep_until_woken(snaps, &me, parent, order);
    }
    close(down[0]);
    close(up[1]);
    if (pid < 0) {
        close(down[1]);
        close(up[0]);
        return 0;
    }
    end_child(&snaps->child[0]);
    memmove(&snaps->child[0], &snaps->child[1], (TB_SNAPS - 1) * sizeof snaps->child[0]);
    snaps->child[TB_SNAPS - 1] = (tb_snap_child){.pid = pid, .order = down[1], .done = up[0], .cycle = cycle};
    snaps->taken++;
    snaps->fork_seconds += rep_seconds(CLOCK_MONOTONIC) - start;
    return 0;
}

void tb_snap_arm(tb_snaps *snaps, double delay, double period) {
    memset(snaps, 0, sizeof *snaps);
    for (size_t i = 0; i < TB_SNAPS; i++) {
        snaps->child[i] = (tb_snap_child){.order = -1, .done = -1};
    }
    snaps->on = true;
    snaps->period = period > 0 ? period : 1.0;
    snaps->last = rep_seconds(CLOCK_PROCESS_CPUTIME_ID) + delay - snaps->period;
}

int tb_snap_start(tb_snaps *snaps, double period, uint64_t cycle, tb_snap_order *order) {
    tb_snap_arm(snaps, 0, period);
    snaps->last = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
    return take(snaps, cycle, order);
}

int tb_snap_poll(tb_snaps *snaps, uint64_t cycle, tb_snap_order *order) {
    if (!snaps->on) {
        return 0;
    }
    const double now = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (now - snaps->last < snaps->period) {
        return 0;
    }
    snaps->last = now;
    return take(snaps, cycle, order);
}

static tb_snap_child *choose(tb_snaps *snaps, uint64_t from) {
    tb_snap_child *best = NULL;
    for (size_t i = TB_SNAPS; i-- > 0;) {
        tb_snap_child *c = &snaps->child[i];
        if (c->pid > 0 && (best == NULL || best->cycle > from)) {
            best = c;
        }
    }
    return best;
}

int tb_snap_wake(tb_snaps *snaps, const tb_snap_order *order, double seconds, char *err, size_t err_size) {
    int rc = -1;
    tb_snap_child *c = choose(snaps, order->from);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    if (c == NULL) {
        snprintf(err, err_size, "there is no snapshot to repeat the failure from");
        tb_snap_stop(snaps);
        return -1;
    }
    sigaction(SIGPIPE, &ignore, &before); /* a child that died shows as an error of write() */
    const bool sent = write_all(c->order, order, sizeof *order);
    sigaction(SIGPIPE, &before, NULL);
    const double end = rep_seconds(CLOCK_MONOTONIC) + seconds;
    char answer = 0;
    bool told = tb_sim_signal() != 0; /* a run that a signal has ended gets a waveform, too */
    snprintf(err, err_size, "the snapshot died");
    while (sent && rc != 0) {
        const double left = end - rep_seconds(CLOCK_MONOTONIC);
        struct pollfd p = {.fd = c->done, .events = POLLIN};
        const int n = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;
        if (n < 0 && errno == EINTR) {
            if (tb_sim_signal() != 0 && !told) { /* the child ends the waveform where it is */
                told = true;
                kill(c->pid, tb_sim_signal());
            }
            continue;
        }
        if (n == 0) {
            snprintf(err, err_size, "the snapshot did not reach the failure within %.0f seconds", seconds);
            kill(c->pid, SIGKILL);
            break;
        }
        if (n < 0 || !read_all(c->done, &answer, 1)) {
            break;
        }
        rc = answer == 'y' ? 0 : -1;
        if (rc != 0) {
            snprintf(err, err_size, "the snapshot could not write %s", order->wave);
            break;
        }
    }
    tb_snap_stop(snaps);
    return rc;
}

void tb_snap_exit(tb_snaps *snaps, bool ok) {
    const char answer = ok ? 'y' : 'n';
    _exit(write_all(snaps->child[0].done, &answer, 1) ? 0 : 1);
}
