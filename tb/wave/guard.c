/* Reading of files that may be damaged, in a child process that may crash. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wave/wave_priv.h"
#include "opt/opt.h"
#include "report/report.h"

#define KEPT_BYTES (1u << 20) /* of the child's standard error */
#define MAX_FDS 4096

/* gcc says it in one way, clang in another */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_MEMORY false /* the sanitizer reserves terabytes of addresses */
#else
#define LIMIT_MEMORY true
#endif

typedef struct guard {
    int result; /* read end: one byte, what `work` returned */
    int error;  /* read end: standard error of the child */
    char *text;
    size_t len, room;
} guard;

/* The child closes pipes and sockets of the caller (sleeping snapshots, other children): a process that waits for their
 * end would wait for this child. */
static void close_pipes(int keep) {
    for (int fd = 3; fd < MAX_FDS; fd++) {
        struct stat st;
        if (fd != keep && fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))) {
            close(fd);
        }
    }
}

static void limit(int what, rlim_t soft, rlim_t hard) {
    const struct rlimit r = {.rlim_cur = soft, .rlim_max = hard};
    setrlimit(what, &r);
}

__attribute__((noreturn)) static void child(int result, int error, int (*work)(void *ctx), void *ctx, unsigned seconds,
                                            unsigned mib) {
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP,  SIGSEGV, SIGBUS, SIGFPE,
                                  SIGILL, SIGABRT, SIGXCPU, SIGALRM, SIGCHLD};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++) {
        signal(handled[i], SIG_DFL);
    }
    dup2(error, 2);
    close_pipes(result);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_CPU, seconds, (rlim_t)seconds + 1);
    if (LIMIT_MEMORY) {
        limit(RLIMIT_AS, (rlim_t)mib << 20, (rlim_t)mib << 20);
    }
    const int done = work(ctx);
    if (done != 0 && rep_host_error() == ENOMEM) {
        rep_host_forget(); /* what a damaged file asks for, beyond the limit above, is not refused by the machine */
    }
    const unsigned char status = (unsigned char)rep_end(done);
    _exit(write(result, &status, 1) == 1 ? 0 : REP_HOST_EXIT);
}

/* Read some of the child's standard error. False: there is no more. */
static bool keep_text(guard *g) {
    char some[4096];
    const ssize_t got = read(g->error, some, sizeof some);
    const size_t n = got > 0 ? (size_t)got : 0;
    if (g->len + n > g->room && g->room < KEPT_BYTES) {
        const size_t room = g->room == 0 ? 4 * sizeof some : 2 * g->room;
        char *more = realloc(g->text, room);
        g->text = more != NULL ? more : g->text;
        g->room = more != NULL ? room : g->room;
    }
    const size_t kept = n < g->room - g->len ? n : g->room - g->len;
    if (kept > 0) {
        memcpy(g->text + g->len, some, kept);
        g->len += kept;
    }
    return got > 0;
}

/* Read the child's messages until both pipes end or time is up. 1: it did its work, 0: it crashed. */
static int listen_to(guard *g, double until, unsigned char *status) {
    struct pollfd p[2] = {{.fd = g->result, .events = POLLIN}, {.fd = g->error, .events = POLLIN}};
    int done = 0;
    while (p[0].fd >= 0 || p[1].fd >= 0) {
        const double left = until - rep_seconds(CLOCK_MONOTONIC);
        const int n = left > 0 ? poll(p, 2, (int)(left * 1000) + 1) : 0;
        if (n == 0) {
            return 0;
        }
        if (n > 0 && p[0].revents != 0) {
            done |= read(g->result, status, 1) == 1 ? 1 : 0;
            p[0].fd = -1;
        }
        if (n > 0 && p[1].revents != 0) {
            p[1].fd = keep_text(g) ? p[1].fd : -1;
        }
    }
    return done;
}

/* How the child ended. The output of a crashing library is of no use. */
static void explain(const char *path, int end, char *err, size_t err_size) {
    const int sig = WIFSIGNALED(end) ? WTERMSIG(end) : 0;
    if (sig == SIGPIPE) {
        raise(SIGPIPE); /* as if the caller had written: whoever reads its output has gone */
    }
    if (WIFEXITED(end) && WEXITSTATUS(end) == REP_HOST_EXIT) {
        snprintf(err, err_size, "%s: what was found in it is lost: %s", wave_shown(path), strerror(rep_host(EIO)));
        return;
    }
    const bool asked = sig == SIGPIPE || sig == SIGINT || sig == SIGTERM || sig == SIGHUP;
    snprintf(err, err_size, "%s: %s", wave_shown(path),
             asked               ? "interrupted"
             : wave_is_vcd(path) ? "damaged VCD"
                                 : "damaged FST");
}

static int open_pipes(int fd[4]) {
    if (pipe2(fd, O_CLOEXEC) != 0) {
        return -1;
    }
    if (pipe2(fd + 2, O_CLOEXEC) != 0) {
        close(fd[0]);
        close(fd[1]);
        return -1;
    }
    return 0;
}

int tb_wave_guard(const char *path, int (*work)(void *ctx), void *ctx, unsigned seconds, unsigned mib, char *err,
                  size_t err_size) {
    int fd[4];
    /* what is still in the buffers would be written twice */
    fflush(NULL);
    if (open_pipes(fd) != 0) {
        return opt_fail(err, err_size, "%s: cannot make a pipe: %s", path, strerror(errno));
    }
    int end = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        child(fd[1], fd[3], work, ctx, seconds, mib);
    }
    const int error = errno;
    close(fd[1]);
    close(fd[3]);
    guard *g = pid > 0 ? calloc(1, sizeof *g) : NULL;
    unsigned char status = 0;
    int done = 0;
    if (g != NULL) {
        g->result = fd[0];
        g->error = fd[2];
        done = listen_to(g, rep_seconds(CLOCK_MONOTONIC) + 4.0 * seconds + 5, &status);
    }
    close(fd[0]);
    close(fd[2]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, &end, 0) < 0 && errno == EINTR) {
        }
    }
    if (pid < 0) {
        snprintf(err, err_size, "%s: cannot start a process to read it: %s", path, strerror(error));
    } else if (done == 0) {
        explain(path, end, err, err_size);
    } else if (g != NULL && g->len > 0) {
        fwrite(g->text, 1, g->len, stderr);
    }
    if (g != NULL) {
        free(g->text);
    }
    free(g);
    return done ? status : -1;
}
