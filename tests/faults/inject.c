/*
 * inject.c - run a program in which the k-th call of some kind fails: inject [options] -- PROGRAM ARGUMENTS.
 *
 * System calls are caught by a seccomp filter that asks this process (user notification), so the calls that libc makes
 * on its own, of stdio or posix_spawn(), are seen like all others; a preloaded library sees only those that cross a
 * library's border. Allocations fail in the preloaded library. Calls count from the end of the loader's work on, and
 * only those of the program itself, not of its children (but those that it forks, with --children); writes to
 * standard error never fail, so that it can say why.
 *
 * No process of the program outlives this one: it ends them all when it gets SIGTERM or its own parent dies, the kernel
 * ends the program when this process is killed. Without an answer their calls would block, or fail for ever.
 *
 * The report ($1 = --report) has one `key value` a line: for each kind the number of calls, what was failed, how the
 * program ended; with --sites the number of the first allocation from each place.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject.h"

typedef struct call_kind {
    const char *name;
    int error; /* errno of a failed call, unless --as says another */
    int call[7];
} call_kind;

static const call_kind kinds[] = {
    {"write", ENOSPC, {SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, -1}},
    {"read", EIO, {SYS_read, SYS_pread64, SYS_readv, -1}},
    {"open", EMFILE, {SYS_openat, SYS_open, SYS_creat, -1}},
    {"rename", ENOSPC, {SYS_rename, SYS_renameat, SYS_renameat2, -1}},
    {"sync", EIO, {SYS_fsync, SYS_fdatasync, -1}},
    {"mkdir", ENOSPC, {SYS_mkdir, SYS_mkdirat, -1}},
    {"unlink", EIO, {SYS_unlink, SYS_unlinkat, SYS_rmdir, -1}},
    {"truncate", ENOSPC, {SYS_ftruncate, SYS_truncate, SYS_fallocate, -1}},
    {"stat", EIO, {SYS_newfstatat, SYS_stat, SYS_fstat, SYS_lstat, SYS_statx, SYS_access, -1}},
    {"list", EIO, {SYS_getdents64, -1}},
    {"lock", ENOLCK, {SYS_fcntl, SYS_flock, -1}},
    {"fork", EAGAIN, {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, -1}},
    {"mmap", ENOMEM, {SYS_mmap, SYS_mremap, -1}},
    {"pipe", EMFILE, {SYS_pipe, SYS_pipe2, SYS_socketpair, -1}},
};
enum { WRITE, READ, FORK = 11 }; /* FORK and those after it: not of a file */
#define KINDS (sizeof kinds / sizeof *kinds)

static const struct {
    const char *name;
    int error;
} errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},     {"EMFILE", EMFILE}, {"EACCES", EACCES},
              {"ENOMEM", ENOMEM}, {"EINTR", EINTR}, {"EROFS", EROFS},   {"EDQUOT", EDQUOT}};

static struct {
    const char *report, *preload;
    int kind; /* index, -1: all are only counted, -2: allocations */
    uint64_t at;
    int error;         /* 0: the call is done by half */
    bool on, sites;    /* all later calls fail, too; call sites of allocations are noted */
    bool trace;        /* of an allocation that fails: its callers */
    bool children;     /* calls of forked children count, too */
    pid_t asker;       /* whose call is decided */
    bool disk;         /* a full disk: only calls that need space on it fail */
    int32_t clock;     /* --clock */
    uint64_t n[KINDS]; /* calls so far */
    uint64_t failed;
    char what[PATH_MAX + 100]; /* the first call that failed */
    pid_t child;
    bool started, ended;
    int status;
    inject_page *page;
    char page_path[64];
} self = {.kind = -1};

static volatile sig_atomic_t stop; /* the signal that asks for the end */

static void die(const char *what) {
    perror(what);
    exit(125);
}

/* ---- the filter ---- */

static int install(void) {
    struct sock_filter code[200];
    uint16_t n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t k = 0; k < KINDS; k++) {
        for (const int *call = kinds[k].call; *call >= 0 && (self.kind == -1 || self.kind == (int)k); call++) {
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)*call, 0, 1);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
        }
    }
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, INJECT_START, 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = n, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        die("prctl");
    }
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* ---- a call ---- */

static int kind_of(int call) {
    for (size_t k = 0; k < KINDS; k++) {
        for (const int *c = kinds[k].call; *c >= 0; c++) {
            if (*c == call) {
                return (int)k;
            }
        }
    }
    return -1;
}

static bool of_child(pid_t thread) {
    char path[64];
    if (thread == self.child || self.children) {
        return true;
    }
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)self.child, (int)thread);
    return access(path, F_OK) == 0;
}

static void text_of(uint64_t address, char *to, size_t size) {
    struct iovec mine = {to, size - 1}, theirs = {(void *)(uintptr_t)address, size - 1};
    ssize_t got = process_vm_readv(self.asker, &mine, 1, &theirs, 1, 0);
    for (size_t less = size - 1; got < 0 && less > 64; less /= 2) { /* the text may end at the border of a page */
        mine.iov_len = theirs.iov_len = less;
        got = process_vm_readv(self.asker, &mine, 1, &theirs, 1, 0);
    }
    to[got < 0 ? 0 : got] = '\0';
}

/* The file that a call is about, for the report: a path, in the first argument or the second, or a descriptor. */
static void describe(const struct seccomp_data *d, int kind, char *to, size_t size) {
    char path[PATH_MAX] = "", link[64];
    if (kind < FORK && (int)d->args[0] == AT_FDCWD) {
        text_of(d->args[1], path, sizeof path);
    } else if (kind < FORK && d->args[0] > UINT16_MAX) {
        text_of(d->args[0], path, sizeof path);
    } else if (kind < FORK) {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)self.asker, (int)d->args[0]);
        const ssize_t got = readlink(link, path, sizeof path - 1);
        path[got < 0 ? 0 : got] = '\0';
    }
    snprintf(to, size, "%s %s", kinds[kind].name, path);
}

/* Calls that count: not those to standard error, not what only asks. */
static bool counts(const struct seccomp_data *d, int kind) {
    struct stat info;
    char link[64];
    if (kind == WRITE && d->args[0] == 2) {
        return false;
    }
    if (d->nr == SYS_fcntl) {
        return d->args[1] == F_SETLK || d->args[1] == F_SETLKW || d->args[1] == F_OFD_SETLK;
    }
    if (d->nr == SYS_mmap && (d->args[2] & PROT_EXEC) != 0) {
        return false; /* the loader */
    }
    if (d->nr == SYS_fstat || (d->nr == SYS_newfstatat && (d->args[3] & AT_EMPTY_PATH) != 0)) {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)self.asker, (int)d->args[0]);
        return stat(link, &info) == 0; /* a guard asks for all that could be open */
    }
    if (kind > READ) {
        return true;
    }
    /* A disk has no space for regular files only, and only there a transfer of a few bytes may be short; the kernel's
     * own descriptors, such as a signalfd, have neither. */
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)self.asker, (int)d->args[0]);
    return stat(link, &info) == 0 &&
           (S_ISREG(info.st_mode) || (S_ISFIFO(info.st_mode) && !self.disk && self.error != 0));
}

/* A descriptor of another process. */
static int fd_of(pid_t pid, int fd) {
    const int process = (int)syscall(SYS_pidfd_open, pid, 0);
    const int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    if (process >= 0) {
        (void)close(process);
    }
    return copy;
}

/* Do the first half of a read or a write in place of the program. */
static bool half(const struct seccomp_data *d, int64_t *result) {
    struct iovec one = {(void *)(uintptr_t)d->args[1], d->args[2]};
    const bool vector = d->nr == SYS_writev || d->nr == SYS_readv;
    if (vector) {
        struct iovec mine = {&one, sizeof one}, theirs = {(void *)(uintptr_t)d->args[1], sizeof one};
        if (process_vm_readv(self.asker, &mine, 1, &theirs, 1, 0) != (ssize_t)sizeof one) {
            return false;
        }
    }
    const size_t size = one.iov_len / 2;
    char *data = size == 0 || size > (64u << 20) ? NULL : malloc(size);
    const int fd = fd_of(self.asker, (int)d->args[0]);
    struct iovec mine = {data, size}, theirs = {one.iov_base, size};
    ssize_t done = -1;
    if (data != NULL && fd >= 0 && kind_of(d->nr) == WRITE &&
        process_vm_readv(self.asker, &mine, 1, &theirs, 1, 0) == (ssize_t)size) {
        done = d->nr == SYS_pwrite64 ? pwrite(fd, data, size, (off_t)d->args[3]) : write(fd, data, size);
    } else if (data != NULL && fd >= 0 && kind_of(d->nr) == READ) {
        done = d->nr == SYS_pread64 ? pread(fd, data, size, (off_t)d->args[3]) : read(fd, data, size);
        mine.iov_len = theirs.iov_len = done > 0 ? (size_t)done : 0;
        if (done > 0 && process_vm_writev(self.asker, &mine, 1, &theirs, 1, 0) != done) {
            done = -1;
        }
    }
    free(data);
    if (fd >= 0) {
        (void)close(fd);
    }
    *result = done;
    return done >= 0;
}

static void decide(const struct seccomp_notif *ask, struct seccomp_notif_resp *answer) {
    const struct seccomp_data *d = &ask->data;
    const int kind = kind_of(d->nr);
    self.asker = (pid_t)ask->pid;
    answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (!of_child((pid_t)ask->pid)) {
        return;
    }
    if (d->nr == SYS_prctl) {
        self.started = true;
        answer->flags = 0;
        return;
    }
    if (!self.started || !counts(d, kind)) {
        return;
    }
    const uint64_t number = ++self.n[kind];
    if (kind != self.kind || self.at == 0 || (self.on ? number < self.at : number != self.at)) {
        return;
    }
    if (self.failed == 0) {
        describe(d, kind, self.what, sizeof self.what);
    }
    int64_t result = 0;
    if (self.error != 0 && !(self.disk && number == self.at)) {
        answer->flags = 0;
        answer->error = -self.error;
        self.failed++;
    } else if (half(d, &result)) { /* a disk that becomes full takes a part of the first write that does not fit */
        answer->flags = 0;
        answer->val = result;
        self.failed++;
    }
}

/* What has ended; orphans come to this process, too. False: none is left. */
static bool reap(int options) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, options)) > 0) {
        if (pid == self.child) {
            self.ended = true;
            self.status = status;
        }
    }
    return pid == 0;
}

static void serve(int listener) {
    struct seccomp_notif ask;
    struct seccomp_notif_resp answer;
    struct pollfd p = {listener, POLLIN, 0};
    while (stop == 0) {
        const int ready = poll(&p, 1, 20); /* SIGCHLD ends it early */
        (void)reap(WNOHANG);
        if (ready > 0 && (p.revents & POLLIN) == 0) {
            break; /* no process is left */
        }
        if (ready <= 0) {
            continue;
        }
        memset(&ask, 0, sizeof ask);
        memset(&answer, 0, sizeof answer);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) == 0) {
            answer.id = ask.id;
            decide(&ask, &answer);
            (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
        }
    }
}

/* ---- start and end ---- */

static void on_signal(int number) {
    stop = number == SIGCHLD ? stop : number;
}

static pid_t parent_of(const char *pid) {
    char path[300];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *in = fopen(path, "re");
    if (in != NULL) {
        (void)fscanf(in, "%*d (%*[^)]) %*c %d", &parent);
        (void)fclose(in);
    }
    return parent;
}

/* Children first: theirs then become children of this process. */
static void kill_all(void) {
    do {
        DIR *all = opendir("/proc");
        for (struct dirent *e; all != NULL && (e = readdir(all)) != NULL;) {
            if (parent_of(e->d_name) == getpid()) {
                (void)kill((pid_t)atoi(e->d_name), SIGKILL);
            }
        }
        if (all != NULL) {
            (void)closedir(all);
        }
        (void)usleep(1000);
    } while (reap(WNOHANG));
}

/* In memory that has a path as long as this process lives. */
static void make_page(void) {
    const int fd = memfd_create("inject", MFD_CLOEXEC);
    snprintf(self.page_path, sizeof self.page_path, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (fd < 0 || ftruncate(fd, sizeof *self.page) != 0 ||
        (self.page = mmap(NULL, sizeof *self.page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) {
        die("shared memory");
    }
    *self.page = (inject_page){.fail_at = self.kind == -2 ? self.at : 0,
                               .on = self.on,
                               .sites = self.sites,
                               .clock = self.clock,
                               .trace = self.trace,
                               .children = self.children};
}

/* In the child: it stops until the parent has taken the listener, for sending it would need a call that asks. */
static void become(char **argv, pid_t parent) {
    (void)setenv("INJECT_PAGE", self.page_path, 1);
    (void)setenv("LD_PRELOAD", self.preload, 1);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    self.page->listener = getppid() == parent ? install() : -1;
    (void)raise(SIGSTOP);
    execvp(argv[0], argv);
    _exit(127);
}

static void start(char **argv) {
    const struct sigaction action = {.sa_handler = on_signal}; /* not SA_RESTART */
    const pid_t parent = getpid();
    (void)sigaction(SIGCHLD, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if ((self.child = fork()) < 0) {
        die("fork");
    }
    if (self.child == 0) {
        become(argv, parent);
    }
    while (waitpid(self.child, &self.status, WUNTRACED) < 0 && errno == EINTR) {
    }
    const int listener = fd_of(self.child, self.page->listener);
    if (listener < 0) {
        (void)kill(self.child, SIGKILL);
        die("no seccomp filter");
    }
    (void)kill(self.child, SIGCONT);
    serve(listener);
    if (stop != 0) {
        kill_all();
    }
    while (!self.ended) {
        (void)reap(0);
    }
}

static void report(void) {
    FILE *out = fopen(self.report, "w");
    if (out == NULL) {
        die(self.report);
    }
    for (size_t k = 0; k < KINDS; k++) {
        fprintf(out, "%s %llu\n", kinds[k].name, (unsigned long long)self.n[k]);
    }
    fprintf(out, "alloc %llu\n", (unsigned long long)self.page->count);
    fprintf(out, "failed %llu %s\n", (unsigned long long)(self.failed + self.page->failed),
            self.kind == -2 ? "alloc" : self.what);
    fprintf(out, WIFSIGNALED(self.status) ? "signal %d\n" : "exit %d\n",
            WIFSIGNALED(self.status) ? WTERMSIG(self.status) : WEXITSTATUS(self.status));
    for (uint32_t i = 0; i < INJECT_SITES; i++) {
        if (self.page->first[i] != 0) {
            fprintf(out, "site %llu\n", (unsigned long long)self.page->first[i]);
        }
    }
    if (fclose(out) != 0) {
        die(self.report);
    }
}

static void usage(void) {
    fprintf(stderr, "usage: inject --report FILE --preload LIBRARY [--call KIND --at K [--as ERROR|half] [--on] "
                    "[--disk]] [--children] [--trace] [--sites] [--clock SECONDS] -- PROGRAM ...\n");
    exit(125);
}

static void parse_call(const char *name) {
    self.kind = strcmp(name, "alloc") == 0 ? -2 : -3;
    for (size_t k = 0; k < KINDS; k++) {
        if (strcmp(name, kinds[k].name) == 0) {
            self.kind = (int)k;
            self.error = kinds[k].error;
        }
    }
    if (self.kind == -3) {
        usage();
    }
}

static void parse_error(const char *name) {
    self.error = strcmp(name, "half") == 0 ? 0 : -1;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (strcmp(name, errors[i].name) == 0) {
            self.error = errors[i].error;
        }
    }
    if (self.error < 0) {
        usage();
    }
}

static char **parse(char **argv) {
    for (argv++; *argv != NULL && strcmp(*argv, "--") != 0; argv++) {
        if (strcmp(*argv, "--on") == 0) {
            self.on = true;
        } else if (strcmp(*argv, "--disk") == 0) {
            self.disk = self.on = true;
        } else if (strcmp(*argv, "--children") == 0) {
            self.children = true;
        } else if (strcmp(*argv, "--trace") == 0) {
            self.trace = true;
        } else if (strcmp(*argv, "--sites") == 0) {
            self.sites = true;
        } else if (argv[1] == NULL) {
            usage();
        } else if (strcmp(*argv, "--call") == 0) {
            parse_call(*++argv);
        } else if (strcmp(*argv, "--at") == 0) {
            self.at = strtoull(*++argv, NULL, 10);
        } else if (strcmp(*argv, "--as") == 0) {
            parse_error(*++argv);
        } else if (strcmp(*argv, "--report") == 0) {
            self.report = *++argv;
        } else if (strcmp(*argv, "--preload") == 0) {
            self.preload = *++argv;
        } else if (strcmp(*argv, "--clock") == 0) {
            self.clock = (int32_t)strtol(*++argv, NULL, 10);
        } else {
            usage();
        }
    }
    if (*argv == NULL || argv[1] == NULL || self.report == NULL || self.preload == NULL) {
        usage();
    }
    return argv + 1;
}

int main(int argc, char **argv) {
    (void)argc;
    char **program = parse(argv);
    make_page();
    start(program);
    report();
    return WIFSIGNALED(self.status) ? 128 + WTERMSIG(self.status) : WEXITSTATUS(self.status);
}
