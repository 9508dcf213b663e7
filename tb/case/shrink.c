#include "shrink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a child process writes back. */
typedef struct answer {
    int rc;
    uint64_t cycles;
    char signature[TB_SHRINK_SIGNATURE];
} answer;

typedef struct shrinker {
    const tb_shrink_cfg *cfg;
    tb_knobs *best;
    tb_shrink_stats *stats;
    double begin, limit; /* seconds: start of all; what one attempt may take */
} shrinker;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noreturn)) static void child(const tb_shrink_cfg *cfg, const tb_knobs *knobs, int fd, pid_t parent) {
    answer a;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (getppid() != parent || null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0) {
        _exit(2);
    }
    memset(&a, 0, sizeof a);
    a.rc = cfg->run(cfg->ctx, knobs, a.signature, &a.cycles);
    _exit(write(fd, &a, sizeof a) == (ssize_t)sizeof a ? 0 : 2);
}

/* A hang and a death are failures with a name, too. */
static void wait_for(pid_t pid, int fd, double limit, answer *a) {
    const double end = now() + limit;
    memset(a, 0, sizeof *a);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n;
    do {
        const double left = end - now();
        n = poll(&p, 1, limit <= 0 ? -1 : left > 0 ? (int)(left * 1000) + 1 : 0);
    } while (n < 0 && errno == EINTR);
    const bool hang = n == 0;
    if (hang) {
        kill(pid, SIGKILL);
    }
    const bool answered = !hang && read(fd, a, sizeof *a) == (ssize_t)sizeof *a;
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!answered) {
        a->rc = 0;
        snprintf(a->signature, sizeof a->signature, hang ? "host:timeout" : "host:signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
}

/* 0; -1: no process. limit in seconds, 0: none. */
static int attempt(const tb_shrink_cfg *cfg, const tb_knobs *knobs, double limit, answer *a) {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) {
        return -1;
    }
    const pid_t parent = getpid();
    fflush(NULL); /* the child must not write again what waits in buffers */
    const pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        child(cfg, knobs, fd[1], parent);
    }
    close(fd[1]);
    if (pid > 0) {
        wait_for(pid, fd[0], limit, a);
    }
    close(fd[0]);
    return pid > 0 ? 0 : -1;
}

static bool time_is_up(shrinker *s) {
    if (s->cfg->seconds > 0 && now() - s->begin > s->cfg->seconds) {
        s->stats->out_of_time = true;
    }
    return s->stats->out_of_time;
}

/* Take `knobs` for the best if the failure is the same. */
static bool try(shrinker *s, const tb_knobs *knobs) {
    answer a;
    if (time_is_up(s) || (s->cfg->legal != NULL && !s->cfg->legal(s->cfg->ctx, knobs))) {
        return false;
    }
    s->stats->runs++;
    if (attempt(s->cfg, knobs, s->limit, &a) != 0 || a.rc != 0 || strcmp(a.signature, s->stats->signature) != 0) {
        return false;
    }
    s->stats->steps++;
    s->stats->cycles_after = a.cycles;
    *s->best = *knobs;
    return true;
}

static bool kept(const shrinker *s, const char *name) {
    const size_t length = strlen(name);
    for (const char *p = s->cfg->keep; p != NULL && *p != '\0';) {
        const size_t word = strcspn(p, ",");
        if (word == length && strncmp(p, name, length) == 0) {
            return true;
        }
        p += word + (p[word] == ',');
    }
    return false;
}

static bool can_fall(const shrinker *s, size_t i) {
    return s->best->value[i] > s->best->table[i].lo && !kept(s, s->best->table[i].name);
}

/* All sizes at once: the quickest way down from a large case. */
static bool halve_all(shrinker *s) {
    tb_knobs knobs = *s->best;
    bool any = false;
    for (size_t i = 0; i < knobs.count; i++) {
        if (can_fall(s, i) && tb_knob_kind_of(&knobs.table[i]) != TB_KNOB_ENUM) {
            knobs.value[i] -= (knobs.value[i] - knobs.table[i].lo + 1) / 2;
            any = true;
        }
    }
    if (!any || !try(s, &knobs)) {
        return false;
    }
    if (s->cfg->log != NULL) {
        fprintf(s->cfg->log, "  all knobs by half (attempt %u)\n", s->stats->runs);
    }
    return true;
}

static bool set_one(shrinker *s, size_t i, int64_t value) {
    tb_knobs knobs = *s->best;
    const int64_t before = knobs.value[i];
    knobs.value[i] = value;
    if (!try(s, &knobs)) {
        return false;
    }
    if (s->cfg->log != NULL) {
        fprintf(s->cfg->log, "  %s %" PRId64 " -> %" PRId64 " (attempt %u)\n", knobs.table[i].name, before, value, s->stats->runs);
    }
    return true;
}

/* One knob: straight to its lowest value, else in steps of a half, a quarter ... of the way. */
static bool lower(shrinker *s, size_t i) {
    const int64_t lo = s->best->table[i].lo;
    bool any = set_one(s, i, lo);
    for (int64_t step = (s->best->value[i] - lo) / 2; step > 0 && !s->stats->out_of_time; step /= 2) {
        while (s->best->value[i] - step > lo && set_one(s, i, s->best->value[i] - step)) {
            any = true;
        }
    }
    return any;
}

int tb_shrink(const tb_shrink_cfg *cfg, tb_knobs *knobs, tb_shrink_stats *stats, char *err, size_t err_size) {
    answer a;
    shrinker s = {.cfg = cfg, .best = knobs, .stats = stats, .begin = now()};
    memset(stats, 0, sizeof *stats);
    if (attempt(cfg, knobs, cfg->seconds, &a) != 0) {
        snprintf(err, err_size, "cannot make a process: %s", strerror(errno));
        return -1;
    }
    if (a.rc != 0 || a.signature[0] == '\0') {
        snprintf(err, err_size, a.rc != 0 ? "the case cannot be run" : "the case passes, expected one that fails");
        return -1;
    }
    snprintf(stats->signature, sizeof stats->signature, "%s", a.signature);
    stats->runs = 1;
    stats->cycles_before = stats->cycles_after = a.cycles;
    /* what hangs keeps its own limit; others have thrice the time of the first run, which was the largest case */
    s.limit = 3 * (now() - s.begin) + 2;
    bool any = true;
    while (any && !stats->out_of_time) {
        any = false;
        while (halve_all(&s)) {
            any = true;
        }
        for (size_t i = 0; i < knobs->count; i++) {
            any = (can_fall(&s, i) && lower(&s, i)) || any;
        }
    }
    return 0;
}
