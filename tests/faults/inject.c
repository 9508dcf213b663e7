/*
 * inject.c - run a program in which the k-th call of some kind fails: inject [options] -- PROGRAM ARGUMENTS.
 *
 * System calls are caught by a seccomp filter that asks this process (user notification), so the calls that libc makes
 * on its own, of stdio or posix_spawn(), are seen like all others; a preloaded library sees only those that cross a
 * library's border. Allocations fail in the preloaded library. Calls count from the end of the loader's work on, and
 * only those of the program itself, not of its children (but those that it forks, with --children); writes to
 * standard error never fail, so that it can say why.
 *
 * The report ($1 = --report) has one `key value` a line: for each kind the number of calls, what was failed, how the
 * program ended; with --sites the number of the first allocation from each place.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
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
#include <sys/socket.h>
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
    {"fork", EAGAIN, {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, -1}},
    {"mmap", ENOMEM, {SYS_mmap, SYS_mremap, -1}},
    {"mkdir", ENOSPC, {SYS_mkdir, SYS_mkdirat, -1}},
    {"unlink", EIO, {SYS_unlink, SYS_unlinkat, SYS_rmdir, -1}},
    {"truncate", ENOSPC, {SYS_ftruncate, SYS_truncate, SYS_fallocate, -1}},
    {"pipe", EMFILE, {SYS_pipe, SYS_pipe2, SYS_socketpair, -1}},
    {"stat", EIO, {SYS_newfstatat, SYS_stat, SYS_fstat, SYS_lstat, SYS_statx, SYS_access, -1}},
    {"list", EIO, {SYS_getdents64, -1}},
    {"lock", ENOLCK, {SYS_fcntl, SYS_flock, -1}},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static const struct {
    const char *name;
    int error;
} errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EMFILE", EMFILE}, {"EACCES", EACCES},
              {"ENOMEM", ENOMEM}, {"EINTR", EINTR},   {"EROFS", EROFS},   {"EDQUOT", EDQUOT},
              {"ENOENT", ENOENT}, {"EAGAIN", EAGAIN}, {"EPERM", EPERM},   {"EPIPE", EPIPE}};

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

/* One descriptor over a socket. The message is set up before the filter is: sending it must not ask anyone. */
static void send_fd(int to, int fd) {
    char byte = 0;
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec io = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    if (sendmsg(to, &m, 0) < 0) {
        die("sendmsg");
    }
}

static int receive_fd(int from) {
    char byte;
    int fd = -1;
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec io = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    if (recvmsg(from, &m, 0) <= 0 || CMSG_FIRSTHDR(&m) == NULL) {
        return -1;
    }
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
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

static bool is(const struct seccomp_data *d, int kind) {
    return strcmp(kinds[kind].name, "write") == 0 || strcmp(kinds[kind].name, "read") == 0
               ? true
               : d->nr == SYS_ftruncate || d->nr == SYS_fallocate || d->nr == SYS_fsync || d->nr == SYS_fdatasync ||
                     d->nr == SYS_getdents64 || d->nr == SYS_fstat || d->nr == SYS_flock || d->nr == SYS_fcntl;
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

/* The file that a call is about, for the report. */
static void describe(const struct seccomp_data *d, int kind, char *to, size_t size) {
    char path[PATH_MAX] = "", link[64];
    if (is(d, kind)) {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)self.asker, (int)d->args[0]);
        const ssize_t got = readlink(link, path, sizeof path - 1);
        path[got < 0 ? 0 : got] = '\0';
    } else if (d->nr == SYS_openat || d->nr == SYS_newfstatat || d->nr == SYS_unlinkat || d->nr == SYS_mkdirat ||
               d->nr == SYS_statx || d->nr == SYS_renameat || d->nr == SYS_renameat2) {
        text_of(d->args[1], path, sizeof path);
    } else if (d->nr == SYS_open || d->nr == SYS_stat || d->nr == SYS_unlink || d->nr == SYS_mkdir ||
               d->nr == SYS_rename || d->nr == SYS_access || d->nr == SYS_lstat || d->nr == SYS_rmdir ||
               d->nr == SYS_truncate) {
        text_of(d->args[0], path, sizeof path);
    }
    snprintf(to, size, "%s %s", kinds[kind].name, path);
}

/* Calls that count: not those to standard error, not what only asks. */
static bool counts(const struct seccomp_data *d, int kind) {
    struct stat info;
    char link[64];
    if (kind == 0 && d->args[0] == 2) {
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
    if (kind > 1) {
        return true;
    }
    /* A disk has no space for regular files only, and only there a transfer of a few bytes may be short; the kernel's
     * own descriptors, such as a signalfd, have neither. */
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)self.asker, (int)d->args[0]);
    return stat(link, &info) == 0 &&
           (S_ISREG(info.st_mode) || (S_ISFIFO(info.st_mode) && !self.disk && self.error != 0));
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
    const int process = (int)syscall(SYS_pidfd_open, self.asker, 0);
    const int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)d->args[0], 0);
    struct iovec mine = {data, size}, theirs = {one.iov_base, size};
    ssize_t done = -1;
    if (data != NULL && fd >= 0 && kind_of(d->nr) == 0 &&
        process_vm_readv(self.asker, &mine, 1, &theirs, 1, 0) == (ssize_t)size) {
        done = d->nr == SYS_pwrite64 ? pwrite(fd, data, size, (off_t)d->args[3]) : write(fd, data, size);
    } else if (data != NULL && fd >= 0 && kind_of(d->nr) == 1) {
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
    if (process >= 0) {
        (void)close(process);
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

static void serve(int listener) {
    struct seccomp_notif ask;
    struct seccomp_notif_resp answer;
    struct pollfd p = {listener, POLLIN, 0};
    int status;
    for (;;) {
        const int ready = poll(&p, 1, self.ended ? 1000 : 20);
        if (!self.ended && waitpid(self.child, &status, WNOHANG) == self.child) {
            self.ended = true;
            self.status = status;
        }
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

static void make_page(void) {
    snprintf(self.page_path, sizeof self.page_path, "/dev/shm/tandem-inject-%d", (int)getpid());
    const int fd = open(self.page_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || fchmod(fd, 0666) != 0 || ftruncate(fd, sizeof *self.page) != 0) {
        die(self.page_path);
    }
    self.page = mmap(NULL, sizeof *self.page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (self.page == MAP_FAILED) {
        die("mmap");
    }
    (void)close(fd);
    self.page->fail_at = self.kind == -2 ? self.at : 0;
    self.page->on = self.on;
    self.page->sites = self.sites;
    self.page->clock = self.clock;
    self.page->trace = self.trace;
    self.page->children = self.children;
}

static void start(char **argv) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || (self.child = fork()) < 0) {
        die("inject");
    }
    if (self.child == 0) {
        (void)setenv("INJECT_PAGE", self.page_path, 1);
        (void)setenv("LD_PRELOAD", self.preload, 1);
        const int listener = install();
        if (listener < 0) {
            die("seccomp");
        }
        send_fd(pair[1], listener);
        (void)close(listener);
        execvp(argv[0], argv);
        _exit(127);
    }
    (void)close(pair[1]);
    const int listener = receive_fd(pair[0]);
    if (listener < 0) {
        die("no listener");
    }
    (void)close(pair[0]);
    serve(listener);
    if (!self.ended && waitpid(self.child, &self.status, 0) != self.child) {
        die("waitpid");
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
    (void)unlink(self.page_path);
    return WIFSIGNALED(self.status) ? 128 + WTERMSIG(self.status) : WEXITSTATUS(self.status);
}
