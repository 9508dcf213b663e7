/*
 * exec.c - job processes.
 *
 * Each job is the leader of its own process group, so that all its children end with it. Jobs die with the runner: the
 * kernel kills the leader (parent death signal), the guardian process kills the rest of the group.
 */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/* A job that writes without end must not fill the disk before its time-out. */
#define FILE_LIMIT_BYTES (1024ull * 1024ull * 1024ull)
#define GUARDED_MAX 1024

/* Message of the runner to the guardian: a group was started (pid) or has ended (-pid). Smaller than PIPE_BUF, so
 * writes never mix. */
typedef struct guard_note {
    pid_t pid;
} guard_note;

/* Body of the guardian: keeps the list of groups until the pipe closes, then kills what is left. */
static void guard(int pipe_fd) {
    pid_t groups[GUARDED_MAX];
    size_t count = 0;
    guard_note note;
    for (;;) {
        ssize_t got = read(pipe_fd, &note, sizeof note);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != (ssize_t)sizeof note) {
            break;
        }
        if (note.pid > 0 && count < GUARDED_MAX) {
            groups[count++] = note.pid;
        }
        for (size_t i = 0; note.pid < 0 && i < count; i++) {
            if (groups[i] == -note.pid) {
                groups[i] = groups[--count];
                break;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        (void)kill(-groups[i], SIGKILL);
    }
}

int reg_guardian_tell(const reg_guardian *guardian, pid_t pid) {
    guard_note note = {.pid = pid};
    ssize_t written;
    do {
        written = write(guardian->pipe_fd, &note, sizeof note);
    } while (written < 0 && errno == EINTR);
    return written == (ssize_t)sizeof note ? 0 : -1;
}

int reg_guardian_start(reg_guardian *guardian) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return reg_error("cannot make a pipe: %s", reg_why());
    }
    (void)fflush(NULL);
    guardian->pid = fork();
    if (guardian->pid < 0) {
        reg_error("cannot start a process: %s", reg_why());
        (void)close(ends[0]);
        (void)close(ends[1]);
        return REG_FAIL;
    }
    if (guardian->pid == 0) {
        /* Own session: no signal meant for the runner's group or terminal reaches it. No other descriptor stays open,
           so that a pipe behind the runner's output closes when the runner ends. */
        (void)setsid();
        int keep = dup2(ends[0], 0);
        (void)close_range(1, ~0u, 0);
        if (keep == 0) {
            guard(0);
        }
        _exit(0);
    }
    (void)close(ends[0]);
    guardian->pipe_fd = ends[1];
    return REG_OK;
}

void reg_guardian_stop(reg_guardian *guardian) {
    (void)close(guardian->pipe_fd);
    while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

void reg_command_begin(reg_command *command) {
    command->used = 0;
    command->argc = 0;
    command->argv[0] = NULL;
    command->program[0] = '\0';
    command->line[0] = '\0';
}

bool reg_command_add(reg_command *command, const char *word) {
    size_t length = strlen(word) + 1;
    if (command->used + length > sizeof command->text ||
        command->argc + 1 >= sizeof command->argv / sizeof command->argv[0]) {
        return false;
    }
    memcpy(command->text + command->used, word, length);
    command->argv[command->argc++] = command->text + command->used;
    command->argv[command->argc] = NULL;
    command->used += length;
    size_t line = strlen(command->line);
    return reg_format(command->line + line, sizeof command->line - line, "%s%s", line == 0 ? "" : " ", word);
}

static bool add_words(reg_command *command, const char *words) {
    char copy[REG_ARGS_MAX];
    (void)reg_format(copy, sizeof copy, "%s", words);
    char *rest = NULL;
    bool good = true;
    for (char *word = strtok_r(copy, " ", &rest); good && word != NULL; word = strtok_r(NULL, " ", &rest)) {
        good = reg_command_add(command, word);
    }
    return good;
}

bool reg_job_covers(const reg_job *job) {
    return !job->second_run && (job->what == REG_TEST || job->what == REG_UNIT || job->what == REG_CASE);
}

/* --cov STEM.cov, and what the build counted */
static bool add_cover(reg_command *command, const reg_job *job, const char *stem) {
    char path[REG_PATH_MAX];
    bool good = reg_format(path, sizeof path, "%s.cov", stem) && reg_command_add(command, "--cov") &&
                reg_command_add(command, path);
    if (strcmp(job->kind, "cov") == 0) {
        good = good && reg_format(path, sizeof path, "%s.code", stem) && reg_command_add(command, "--code-cov") &&
               reg_command_add(command, path);
    }
    return good;
}

bool reg_command_case(reg_command *command, const reg_job *job, const char *verb, const char *path) {
    char copy[REG_ARGS_MAX];
    char *rest = NULL;
    bool good = job->what != REG_NETWORK && reg_format(copy, sizeof copy, "%s", job->args) &&
                reg_command_add(command, verb) && reg_command_add(command, path);
    char *word = strtok_r(copy, " ", &rest);
    if (job->what == REG_CASE && word != NULL) {
        word = strtok_r(NULL, " ", &rest);
    }
    for (; good && word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (word[0] == '-' || strchr(word, '=') == NULL) {
            good = reg_command_add(command, word);
        }
    }
    return good;
}

/* What a job runs, without its files. */
static bool add_job(reg_command *command, const reg_job *job, uint64_t seed) {
    char number[32];
    bool good = true;
    if (job->what == REG_TEST || job->what == REG_PYTHON) {
        good = reg_command_add(command, "test") && reg_command_add(command, job->name);
    }
    if (job->what == REG_CASE) {
        good = reg_command_add(command, "repro");
    }
    if (reg_has_cases(job->what)) {
        (void)reg_format(number, sizeof number, "0x%llx", (unsigned long long)seed);
        good = good && reg_command_add(command, "--run-seed") && reg_command_add(command, number);
        (void)reg_format(number, sizeof number, "%llu", (unsigned long long)job->index);
        good = good && reg_command_add(command, "--index") && reg_command_add(command, number);
        (void)reg_format(number, sizeof number, "%u", job->cases);
        good = good && reg_command_add(command, "--count") && reg_command_add(command, number);
    }
    if (job->what == REG_NETWORK) { /* bus timing; an argument of the suite comes later and wins */
        (void)reg_format(number, sizeof number, "0x%llx", (unsigned long long)seed);
        good = reg_command_add(command, "--seed") && reg_command_add(command, number);
    }
    return good && add_words(command, job->args);
}

bool reg_command_build(reg_command *command, const reg_job *job, const char *build_dir, uint64_t seed,
                       const reg_job_files *files) {
    char program[REG_PATH_MAX];
    reg_command_begin(command);
    bool good = reg_job_program(job, build_dir, program, sizeof program) && reg_command_add(command, program);
    if (good && files != NULL) {
        good = reg_job_program(job, files->programs, command->program, sizeof command->program);
    }
    good = good &&
           (job->stored != NULL ? reg_command_case(command, job, "repro", job->stored) : add_job(command, job, seed));
    if (good && files != NULL) {
        good = reg_command_add(command, "--result") && reg_command_add(command, files->result);
    }
    if (good && files != NULL && job->what != REG_NETWORK && job->stored == NULL) {
        good = reg_command_add(command, "--case-dir") && reg_command_add(command, files->case_dir);
    }
    if (good && files != NULL && files->cover != NULL && reg_job_covers(job)) {
        good = add_cover(command, job, files->cover);
    }
    return good;
}

static void limit(int which, unsigned long long bytes) {
    struct rlimit current;
    if (getrlimit(which, &current) == 0 && (current.rlim_cur == RLIM_INFINITY || current.rlim_cur > bytes)) {
        current.rlim_cur = (rlim_t)bytes;
        (void)setrlimit(which, &current);
    }
}

/* A child before exec. It lives in the memory of the runner, which stands still meanwhile: a fork would copy the page
 * tables of the whole job list for each job. */
typedef struct newborn {
    const reg_guardian *guardian;
    const reg_command *command;
    const char *log_path;
    uint32_t memory_mb;
    pid_t runner;
    int error;   /* why it could not become the job */
    bool of_log; /* the log was refused; else the program */
} newborn;

/* Async-signal-safe calls only. */
static int become_job(void *context) {
    newborn *n = context;
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != n->runner) { /* it died before the line above */
        _exit(127);
    }
    /* Sent before exec, so that the guardian knows the group before the job starts children. Without a guardian (it was
     * killed) the parent death signal remains. */
    (void)reg_guardian_tell(n->guardian, getpid());
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(n->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    n->of_log = in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0;
    if (!n->of_log) {
        limit(RLIMIT_CORE, 0);
        limit(RLIMIT_FSIZE, FILE_LIMIT_BYTES);
        if (n->memory_mb != 0) {
            limit(RLIMIT_AS, (unsigned long long)n->memory_mb * 1024 * 1024);
        }
        (void)execv(n->command->program[0] == '\0' ? n->command->argv[0] : n->command->program, n->command->argv);
    }
    n->error = errno;
    _exit(127);
}

pid_t reg_spawn(const reg_guardian *guardian, const reg_command *command, const char *log_path, uint32_t memory_mb,
                char cause[REG_TEXT_MAX]) {
    _Alignas(16) char stack[1 << 16];
    newborn n = {
        .guardian = guardian, .command = command, .log_path = log_path, .memory_mb = memory_mb, .runner = getpid()};
    /* returns when the child has become the job, or has ended */
    const pid_t pid = clone(become_job, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &n);
#ifdef __SANITIZE_ADDRESS__
    /* the child's functions have not returned: what AddressSanitizer put around their variables is still marked */
    __asan_unpoison_memory_region(stack, sizeof stack);
#endif
    if (pid < 0) {
        (void)reg_format(cause, REG_TEXT_MAX, "cannot start a process for the job: %s", reg_why());
    }
    if (pid < 0 || n.error == 0) {
        return pid;
    }
    (void)reg_format(cause, REG_TEXT_MAX, "%s: cannot %s: %s", n.of_log ? log_path : command->argv[0],
                     n.of_log ? "write" : "run", strerror(n.error));
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    (void)reg_guardian_tell(guardian, -pid);
    return -1;
}

bool reg_reap(const reg_guardian *guardian, pid_t pid, int *wait_status, uint64_t *cpu_ms, uint64_t *max_rss_kb) {
    siginfo_t info;
    info.si_pid = 0;
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
        return false;
    }
    /* While the leader is a zombie its process id cannot be reused, so this reaches its own group only. */
    (void)kill(-pid, SIGKILL);
    struct rusage usage;
    memset(&usage, 0, sizeof usage);
    while (wait4(pid, wait_status, 0, &usage) < 0 && errno == EINTR) {
    }
    (void)reg_guardian_tell(guardian, -pid);
    *cpu_ms = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
              (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
    *max_rss_kb = (uint64_t)usage.ru_maxrss;
    return true;
}
