/* util.c - messages, paths, clocks and report files. */
#define _GNU_SOURCE
#include "reg.h"
#include "report/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* In one write, as several processes may write to stderr. */
static void say(const char *fmt, va_list args) {
    char text[REG_TEXT_MAX * 4];
    (void)vsnprintf(text, sizeof text, fmt, args);
    fprintf(stderr, "tandem-regress: %s\n", text);
}

const char *reg_why(void) {
    return strerror(rep_host(errno));
}

const char *reg_why_not_written(void) {
    return strerror(rep_host_write(errno));
}

int reg_error(const char *fmt, ...) {
    va_list args;
    (void)rep_host(strstr(fmt, "out of memory") != NULL ? ENOMEM : 0); /* also that of a library, such as SQLite */
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    return REG_FAIL;
}

int reg_refuse(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    return REG_USAGE;
}

bool reg_format(char *out, size_t size, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(out, size, fmt, args);
    va_end(args);
    return length >= 0 && (size_t)length < size;
}

int reg_make_dirs(const char *path) {
    char part[REG_PATH_MAX];
    if (!reg_format(part, sizeof part, "%s", path)) {
        return reg_error("%s: path too long", path);
    }
    for (char *p = part + 1; *p != '\0'; p++) {
        if (*p != '/') {
            continue;
        }
        *p = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            return reg_error("%s: cannot make the folder: %s", part, reg_why_not_written());
        }
        *p = '/';
    }
    struct stat info;
    if (mkdir(part, 0777) != 0 && (errno != EEXIST || stat(part, &info) != 0 || !S_ISDIR(info.st_mode))) {
        return reg_error("%s: cannot make the folder: %s", part, reg_why_not_written());
    }
    return REG_OK;
}

static int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *walk) {
    (void)info;
    (void)flag;
    (void)walk;
    return remove(path);
}

int reg_remove_tree(const char *path) {
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
        return reg_error("%s: cannot remove: %s", path, reg_why_not_written());
    }
    return REG_OK;
}

/* The entries of a folder that has just been visited, in the order of their names. */
static int walk_below(const char *path, int (*visit)(const char *path, const struct stat *info, void *context),
                      void *context) {
    struct dirent **entries = NULL;
    const int count = scandir(path, &entries, NULL, alphasort);
    int status = count >= 0 || errno == ENOENT ? REG_OK : reg_error("%s: cannot read: %s", path, reg_why());
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char below[REG_PATH_MAX];
        if (status == REG_OK && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            status = reg_format(below, sizeof below, "%s/%s", path, name) ? reg_walk(below, visit, context)
                                                                          : reg_error("%s/%s: too long", path, name);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

int reg_walk(const char *path, int (*visit)(const char *path, const struct stat *info, void *context), void *context) {
    struct stat info;
    if (lstat(path, &info) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? REG_OK : reg_error("%s: cannot read: %s", path, reg_why());
    }
    const int status = visit(path, &info, context);
    return status == REG_OK && S_ISDIR(info.st_mode) ? walk_below(path, visit, context) : status;
}

double reg_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void reg_pause(long milliseconds) {
    const struct timespec pause = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* A block that reaches the disk: an empty file can be made on a full one. */
static int probe(const char *path) {
    static const char block[65536] = {0};
    size_t done = 0;
    ssize_t more = 0;
    int error = 0;
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno;
    }
    while (done < sizeof block && more >= 0) {
        more = write(fd, block + done, sizeof block - done);
        done += more > 0 ? (size_t)more : 0;
    }
    if (more < 0 || fsync(fd) != 0) {
        error = errno;
    }
    (void)close(fd);
    (void)unlink(path);
    return error;
}

bool reg_host_cause(const char *dir, char *cause, size_t size) {
    char path[REG_PATH_MAX + 16];
    (void)reg_format(path, sizeof path, "%s/.probe%ld", dir, (long)getpid());
    const int error = probe(path);
    (void)(error == ENOSPC   ? reg_format(cause, size, "no space left in %s", dir)
           : error == EDQUOT ? reg_format(cause, size, "disk quota exceeded in %s", dir)
                             : reg_format(cause, size, "cannot write in %s: %s", dir, strerror(error)));
    return error != 0;
}

static int told(const char *path, int error) {
    if (error != 0) {
        reg_error("%s: cannot write: %s", path, strerror(error));
    }
    return error == 0 ? REG_OK : REG_FAIL;
}

int reg_report_open(rep_file *report, const char *path) {
    return told(path, rep_file_open(report, path));
}

int reg_report_commit(rep_file *report) {
    return told(report->path, rep_file_close(report, true));
}
