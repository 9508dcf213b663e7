/* html_copy.c - logs, cases and reports of failures, copied into the report of a run so that its folder can be moved.
 */
#define _GNU_SOURCE
#include "html.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -1: missing, or no regular file. */
static int open_regular(const char *path, uint64_t *size) {
    struct stat info;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const bool known = fd >= 0 && fstat(fd, &info) == 0;
    if (!known) {
        (void)rep_host_write(errno); /* files of the run: EACCES is not an answer, either */
    }
    if (fd >= 0 && (!known || !S_ISREG(info.st_mode))) {
        (void)close(fd);
        return -1;
    }
    *size = fd >= 0 ? (uint64_t)info.st_size : 0;
    return fd;
}

/* From the current position on; path is that of the copy. note: a first line, or NULL. */
static int copy_rest(int fd, const char *path, const char *note) {
    char block[65536];
    ssize_t got = 0;
    FILE *out = fopen(path, "we");
    bool good = out != NULL && (note == NULL || fputs(note, out) >= 0);
    while (good && (got = read(fd, block, sizeof block)) > 0) {
        good = fwrite(block, 1, (size_t)got, out) == (size_t)got;
    }
    const bool closed = out == NULL || fclose(out) == 0;
    if (!good || got < 0 || !closed) {
        return reg_error("%s: cannot write: %s", path, reg_why_not_written());
    }
    return REG_OK;
}

int html_copy_tail(const char *from, const char *dir, const char *name, size_t size_max) {
    char path[REG_PATH_MAX];
    char note[128];
    uint64_t size = 0;
    if (from == NULL || from[0] == '\0') {
        return REG_NONE;
    }
    const int fd = open_regular(from, &size);
    if (fd < 0) {
        return REG_NONE;
    }
    const bool cut = size > size_max;
    if (cut) {
        (void)reg_format(note, sizeof note, "[the last %zu of %" PRIu64 " bytes]\n", size_max, size);
    }
    int status = REG_OK;
    if (!reg_format(path, sizeof path, "%s/%s", dir, name) || (cut && lseek(fd, -(off_t)size_max, SEEK_END) < 0)) {
        status = reg_error("%s/%s: cannot write: %s", dir, name, errno != 0 ? reg_why_not_written() : "path too long");
    } else {
        status = copy_rest(fd, path, cut ? note : NULL);
    }
    (void)close(fd);
    return status;
}

typedef struct copying {
    const char *to;
    size_t skip; /* bytes of the path before the part that stays the same */
    uint64_t file_max;
    unsigned *left_out;
} copying;

static int copy_entry(const char *from, const struct stat *info, void *context) {
    const copying *c = context;
    char path[REG_PATH_MAX];
    uint64_t size = 0;
    if (!reg_format(path, sizeof path, "%s%s", c->to, from + c->skip)) {
        *c->left_out += 1;
        return REG_OK;
    }
    if (S_ISDIR(info->st_mode)) {
        return reg_make_dirs(path);
    }
    if (!S_ISREG(info->st_mode)) {
        return REG_OK;
    }
    if ((uint64_t)info->st_size > c->file_max) {
        *c->left_out += 1;
        return REG_OK;
    }
    const int fd = open_regular(from, &size);
    const int status = fd < 0 ? REG_OK : copy_rest(fd, path, NULL);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

int html_copy_tree(const char *from, const char *to, uint64_t file_max, unsigned *left_out) {
    struct stat info;
    *left_out = 0;
    if (from == NULL || stat(from, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return REG_NONE;
    }
    return reg_walk(from, copy_entry, &(copying){to, strlen(from), file_max, left_out});
}
