/* builder.c - builds the programs of a run beside its jobs. */
#define _GNU_SOURCE
#include "builder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends of the pipes: the builder's, then the runner's. */
typedef struct pipes {
    int output[2]; /* [1] is the builder's */
    int grant[2];  /* [0] is the builder's */
    int back[2];   /* [1] is the builder's */
    int list;      /* its standard input */
} pipes;

static void close_fd(int *fd) {
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

static void close_pipes(pipes *p) {
    int *const all[] = {&p->output[0], &p->output[1], &p->grant[0], &p->grant[1], &p->back[0], &p->back[1], &p->list};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        close_fd(all[i]);
    }
}

/* The paths of the programs to build, as a file in the folder of the run. */
static int write_list(const reg_builder *b, int *fd) {
    char path[REG_PATH_MAX];
    (void)reg_format(path, sizeof path, "%s/build.list", b->run->out_dir);
    FILE *file = fopen(path, "we");
    const size_t count = b->programs->count;
    for (size_t i = 0; file != NULL && i <= count; i++) {
        const size_t k = i == 0 ? b->first : i - 1;
        if (k < count && b->programs->list[k].hash == 0 && (i == 0 || k != b->first)) {
            fprintf(file, "%s\n", b->programs->list[k].path);
        }
    }
    *fd = file != NULL && fclose(file) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    return *fd >= 0 ? REG_OK : reg_error("%s: cannot write: %s", path, reg_why_not_written());
}

/* Body of the child up to exec; async-signal-safe calls only. */
static void become_builder(const reg_builder *b, const pipes *p, const char *command, pid_t runner) {
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != runner) {
        _exit(127);
    }
    (void)reg_guardian_tell(b->guardian, getpid());
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(p->list, 0) == 0 && dup2(p->output[1], 1) == 1 && dup2(p->output[1], 2) == 2 &&
        fcntl(p->grant[0], F_SETFD, 0) == 0 && fcntl(p->back[1], F_SETFD, 0) == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    }
    _exit(127);
}

static int launch(reg_builder *b, pipes *p, const char *command) {
    char jobserver[32];
    (void)reg_format(jobserver, sizeof jobserver, "%d,%d", p->grant[0], p->back[1]);
    const pid_t runner = getpid();
    (void)fflush(NULL);
    (void)setenv("TANDEM_JOBSERVER", jobserver, 1);
    b->pid = fork();
    if (b->pid == 0) {
        become_builder(b, p, command, runner);
    }
    (void)unsetenv("TANDEM_JOBSERVER");
    if (b->pid < 0) {
        b->pid = 0;
        return reg_error("cannot start a process: %s", reg_why());
    }
    (void)setpgid(b->pid, b->pid);
    return REG_OK;
}

int reg_builder_start(reg_builder *b, const char *command) {
    pipes p = {{-1, -1}, {-1, -1}, {-1, -1}, -1};
    char path[REG_PATH_MAX];
    for (size_t i = 0; i < b->programs->count; i++) {
        b->asked += b->programs->list[i].hash == 0 ? 1 : 0;
    }
    if (b->asked == 0) {
        return REG_OK;
    }
    (void)reg_format(path, sizeof path, "%s/build.log", b->run->out_dir);
    b->log = fopen(path, "we");
    if (b->log == NULL) {
        return reg_error("%s: cannot write: %s", path, reg_why_not_written());
    }
    int status = write_list(b, &p.list);
    if (status == REG_OK &&
        (pipe2(p.output, O_CLOEXEC) != 0 || pipe2(p.grant, O_CLOEXEC) != 0 || pipe2(p.back, O_CLOEXEC) != 0)) {
        status = reg_error("cannot make a pipe: %s", reg_why());
    }
    status = status == REG_OK ? launch(b, &p, command) : status;
    if (status == REG_OK) {
        int *const ours[] = {&p.output[0], &p.grant[1], &p.back[0]};
        int *const to[] = {&b->output_fd, &b->grant_fd, &b->return_fd};
        for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
            *to[i] = *ours[i];
            *ours[i] = -1;
            (void)fcntl(*to[i], F_SETFL, O_NONBLOCK);
        }
    }
    close_pipes(&p);
    return status;
}

/* A program is up to date: the run gets its copy. */
static int take_program(reg_builder *b, const char *path) {
    for (size_t i = 0; i < b->programs->count; i++) {
        reg_program *program = &b->programs->list[i];
        if (program->hash != 0 || strcmp(program->path, path) != 0) {
            continue;
        }
        reg_programs one = {.list = program, .count = 1}; /* whose copy may be of an earlier build */
        int status = reg_programs_hash(&one);
        status = status == REG_OK ? reg_programs_pin(&one, b->run) : status;
        status = status == REG_OK ? reg_db_put_program(b->db, b->run->id, program) : status;
        b->built += status == REG_OK ? 1 : 0;
        program->hash = status == REG_OK ? program->hash : 0;
        return status;
    }
    return REG_OK; /* not asked for */
}

/* "  CXX   top (n32-tap)": what it does; any other line is for the user. */
static bool take_line(reg_builder *b) {
    static const char ready[] = "  READY ";
    fprintf(b->log, "%s\n", b->line);
    if (strncmp(b->line, ready, sizeof ready - 1) == 0) {
        if (take_program(b, b->line + sizeof ready - 1) != REG_OK) {
            b->failed = true;
            reg_builder_stop(b);
        }
        return false;
    }
    const size_t capitals = strspn(b->line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ");
    if (strncmp(b->line, "  ", 2) == 0 && capitals > 4 && b->line[capitals - 1] == ' ') {
        (void)reg_format(b->now, sizeof b->now, "%.*s", (int)sizeof b->now - 1, b->line + strspn(b->line, " "));
        b->now_since = reg_now();
        return false;
    }
    return true;
}

void reg_builder_read(reg_builder *b, void (*say)(void *context, const char *line), void *context) {
    char block[4096];
    ssize_t got = 0;
    while (b->output_fd >= 0 && (got = read(b->output_fd, block, sizeof block)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (block[i] != '\n' && b->length + 1 < sizeof b->line) {
                b->line[b->length++] = block[i];
                continue;
            }
            b->line[b->length] = '\0';
            b->length = 0;
            if (take_line(b)) {
                say(context, b->line);
            }
            if (block[i] != '\n') { /* the line is longer than the buffer */
                b->line[b->length++] = block[i];
            }
        }
    }
    if (got == 0) {
        close_fd(&b->output_fd);
    }
    got = -1;
    while (b->return_fd >= 0 && (got = read(b->return_fd, block, sizeof block)) > 0) {
        b->granted -= (int)got;
    }
    if (got == 0) { /* else the runner would wake up for it all the time */
        close_fd(&b->return_fd);
    }
}

bool reg_builder_reap(reg_builder *b) {
    int wait_status = 0;
    uint64_t unused;
    if (b->pid == 0 || !reg_reap(b->guardian, b->pid, &wait_status, &unused, &unused)) {
        return b->pid == 0;
    }
    b->pid = 0;
    b->granted = 0;
    return true;
}

int reg_builder_leaves(const reg_builder *b) {
    return b->pid == 0 || b->parallel < 2 ? b->parallel : b->parallel / 2;
}

void reg_builder_share(reg_builder *b, int running, bool waiting) {
    const int jobs = waiting ? reg_builder_leaves(b) : running;
    while (b->pid != 0 && b->granted < b->parallel - 1 - jobs && write(b->grant_fd, "+", 1) == 1) {
        b->granted++;
    }
}

void reg_builder_stop(reg_builder *b) {
    if (b->pid != 0) {
        (void)kill(-b->pid, SIGTERM);
    }
}

void reg_builder_close(reg_builder *b) {
    close_fd(&b->output_fd);
    close_fd(&b->grant_fd);
    close_fd(&b->return_fd);
    if (b->log != NULL) {
        (void)fclose(b->log);
    }
}
