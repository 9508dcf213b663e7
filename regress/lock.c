/* lock.c - which runs have a live runner, and whether somebody builds. The kernel releases a lock when its process
 * ends, so there are no stale locks. */
#define _GNU_SOURCE
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static int open_locks(const char *db_path) {
    char path[REG_PATH_MAX + 8];
    (void)reg_format(path, sizeof path, "%s.lock", db_path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        reg_error("%s: cannot open: %s", path, reg_why());
    }
    return fd;
}

int reg_build_lock(const char *build_dir) {
    char path[REG_PATH_MAX + 8];
    char line[128] = "";
    (void)reg_format(path, sizeof path, "%s/lock", build_dir);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    const double begin = reg_now();
    double next = begin + 0.5;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
        if (reg_now() >= next) {
            ssize_t size = pread(fd, line, sizeof line - 1, 0);
            line[size > 0 ? size : 0] = '\0';
            line[strcspn(line, "\n")] = '\0';
            reg_error("waiting for %s: %s; waited %.0f s", path, line, reg_now() - begin);
            next += 60;
        }
        reg_pause(50);
    }
    if (fd >= 0 && ftruncate(fd, 0) == 0) {
        const char *command = getenv("TANDEM_COMMAND");
        time_t now = time(NULL);
        struct tm local;
        (void)strftime(line, sizeof line, "%T", localtime_r(&now, &local));
        (void)dprintf(fd, "%s has held it since %s, process %d\n", command != NULL ? command : "tandem-regress", line,
                      (int)getpid());
    }
    return fd;
}

static struct flock byte_of(int64_t run) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = run, .l_len = 1};
}

/* The kernel drops all locks of a process on a file when it closes any descriptor of it: there is one descriptor. */
static bool open_once(reg_lock *lock, const char *db_path) {
    lock->fd = lock->fd >= 0 ? lock->fd : open_locks(db_path);
    return lock->fd >= 0;
}

int reg_lock_run(reg_lock *lock, const char *db_path, int64_t run, double wait_s) {
    const double end = reg_now() + wait_s;
    if (!open_once(lock, db_path)) {
        return REG_FAIL;
    }
    for (;;) {
        struct flock byte = byte_of(run);
        if (fcntl(lock->fd, F_SETLK, &byte) == 0) {
            lock->run = run;
            return REG_OK;
        }
        int reason = errno;
        if (reason != EACCES && reason != EAGAIN) {
            reg_error("%s.lock: cannot lock: %s", db_path, strerror(reason));
            break;
        }
        if (reg_now() >= end) {
            byte = byte_of(run);
            long holder = fcntl(lock->fd, F_GETLK, &byte) == 0 && byte.l_type != F_UNLCK ? (long)byte.l_pid : 0;
            reg_error("run %lld is still running (process %ld)", (long long)run, holder);
            break;
        }
        reg_pause(50);
    }
    reg_lock_release(lock);
    return REG_FAIL;
}

int reg_lock_all(reg_lock *lock, const char *db_path) {
    struct flock all = byte_of(1);
    all.l_len = 0; /* to the end */
    if (!open_once(lock, db_path)) {
        return REG_FAIL;
    }
    if (fcntl(lock->fd, F_SETLK, &all) != 0) {
        return reg_error("%s: a run is still running", db_path);
    }
    return REG_OK;
}

bool reg_lock_held(reg_lock *lock, const char *db_path, int64_t run) {
    struct flock byte = byte_of(run);
    if (lock->run == run || !open_once(lock, db_path)) { /* if unknown, the run must not be touched */
        return true;
    }
    return fcntl(lock->fd, F_GETLK, &byte) != 0 || byte.l_type != F_UNLCK;
}

void reg_lock_release(reg_lock *lock) {
    if (lock->fd >= 0) {
        (void)close(lock->fd);
    }
    *lock = REG_UNLOCKED;
}
