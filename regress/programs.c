/* programs.c - the programs that a suite runs, a hash of their contents, and copies of them that belong to a run, so
 * that a build beside it changes nothing. */
#define _GNU_SOURCE
#include "db.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LANES 4

static uint64_t rotate(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    return rotate((hash ^ word) * UINT64_C(0x9e3779b97f4a7c15), 29);
}

/* Several lanes, so that gigabytes of programs take a second: the hash distinguishes builds, it is not
 * cryptographic. */
static uint64_t hash_bytes(const unsigned char *bytes, size_t size) {
    uint64_t lane[LANES] = {1, 2, 3, 4};
    uint64_t word[LANES] = {0};
    size_t at = 0;
    for (; at + sizeof word <= size; at += sizeof word) {
        memcpy(word, bytes + at, sizeof word);
        for (int i = 0; i < LANES; i++) {
            lane[i] = mix(lane[i], word[i]);
        }
    }
    memset(word, 0, sizeof word);
    if (at < size) {
        memcpy(word, bytes + at, size - at);
    }
    uint64_t hash = size;
    for (int i = 0; i < LANES; i++) {
        hash = mix(mix(hash, lane[i]), word[i]);
    }
    return hash ^ hash >> 32;
}

static int hash_file(reg_program *program) {
    struct stat info;
    errno = 0;
    int fd = open(program->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || access(program->path, X_OK) != 0) {
        (void)rep_host(errno);
        if (fd >= 0) {
            (void)close(fd);
        }
        return reg_error("%s: no such program, and the suite needs it (make regress builds it)", program->path);
    }
    const size_t size = (size_t)info.st_size;
    void *bytes = size == 0 ? NULL : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    int status = REG_OK;
    if (bytes == MAP_FAILED) {
        status = reg_error("%s: cannot read: %s", program->path, reg_why());
    } else {
        program->hash = hash_bytes(bytes, size);
        if (bytes != NULL) {
            (void)munmap(bytes, size);
        }
    }
    (void)close(fd);
    return status;
}

static bool has(const reg_programs *programs, const char *path) {
    for (size_t i = programs->count; i > 0; i--) { /* most jobs follow one of their kind */
        if (strcmp(programs->list[i - 1].path, path) == 0) {
            return true;
        }
    }
    return false;
}

int reg_programs_add(reg_programs *programs, const char *path, uint64_t hash) {
    if (!rep_more(&programs->list, programs->count, sizeof *programs->list)) {
        return reg_error("out of memory");
    }
    reg_program *added = &programs->list[programs->count++];
    added->hash = hash;
    (void)reg_format(added->path, sizeof added->path, "%s", path);
    return REG_OK;
}

int reg_programs_of(reg_programs *programs, const reg_suite *suite, const char *build_dir) {
    programs->list = NULL;
    programs->count = 0;
    for (size_t i = 0; i < suite->count; i++) {
        char path[REG_PATH_MAX];
        if (!reg_job_program(&suite->jobs[i], build_dir, path, sizeof path)) {
            reg_error("--build-dir %s: too long", build_dir);
            reg_programs_free(programs);
            return REG_USAGE;
        }
        if (has(programs, path)) {
            continue;
        }
        if (reg_programs_add(programs, path, 0) != REG_OK) {
            reg_programs_free(programs);
            return REG_FAIL;
        }
    }
    return REG_OK;
}

int reg_programs_hash(reg_programs *programs) {
    int status = REG_OK;
    for (size_t i = 0; status == REG_OK && i < programs->count; i++) {
        status = hash_file(&programs->list[i]);
    }
    return status;
}

void reg_programs_free(reg_programs *programs) {
    free(programs->list);
    programs->list = NULL;
    programs->count = 0;
}

/* ---- programs of a run ---- */

static int copy_file(const char *from, const char *to) {
    static char block[1 << 16];
    struct stat info;
    ssize_t got = -1;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out =
        in >= 0 && fstat(in, &info) == 0 ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, info.st_mode & 0777) : -1;
    while (out >= 0 && (got = read(in, block, sizeof block)) > 0) {
        if (write(out, block, (size_t)got) != got) {
            got = -1;
            break;
        }
    }
    int status = got == 0 ? REG_OK : reg_error("%s: cannot copy to %s: %s", from, to, reg_why_not_written());
    if (in >= 0) {
        (void)close(in);
    }
    if (out >= 0 && close(out) != 0 && status == REG_OK) {
        status = reg_error("%s: cannot write: %s", to, reg_why_not_written());
    }
    return status;
}

/* A build replaces files by new ones and never writes into them, so a link keeps the contents. */
static int link_file(const char *from, const char *to) {
    char dir[REG_PATH_MAX];
    (void)reg_format(dir, sizeof dir, "%.*s", (int)(strrchr(to, '/') - to), to);
    if (reg_make_dirs(dir) != REG_OK) {
        return REG_FAIL;
    }
    if (unlink(to) != 0 && errno != ENOENT) {
        return reg_error("%s: cannot remove: %s", to, reg_why_not_written());
    }
    char copy[REG_PATH_MAX];
    if (link(from, to) == 0) {
        return REG_OK;
    }
    (void)reg_format(copy, sizeof copy, "%s.tmp", to);
    (void)unlink(copy);
    if (copy_file(from, copy) != REG_OK) {
        return REG_FAIL;
    }
    return rename(copy, to) == 0 ? REG_OK : reg_error("%s: cannot rename: %s", copy, reg_why_not_written());
}

typedef struct tree {
    const char *from;
    const char *to;
} tree;

static int link_entry(const char *path, const struct stat *info, void *context) {
    const tree *t = context;
    char copy[REG_PATH_MAX];
    if (!S_ISREG(info->st_mode)) {
        return REG_OK;
    }
    return reg_format(copy, sizeof copy, "%s%s", t->to, path + strlen(t->from)) ? link_file(path, copy)
                                                                                : reg_error("%s: path too long", t->to);
}

/* The package that a program for testcases in Python runs is beside its build, and pinned with it. */
static int pin_package(const char *program, const reg_run_info *run, const char *dir) {
    char from[REG_PATH_MAX];
    char to[REG_PATH_MAX];
    const char *name = strrchr(program, '/');
    if (name == NULL || strcmp(name, "/tandem-python") != 0) {
        return REG_OK;
    }
    const char *package = name - program > 4 && strncmp(name - 4, "-san", 4) == 0 ? "python-san" : "python";
    if (!reg_format(from, sizeof from, "%s/%s", run->build_dir, package) ||
        !reg_format(to, sizeof to, "%s/%s", dir, package)) {
        return reg_error("%s: path too long", dir);
    }
    const int status = reg_remove_tree(to);
    return status == REG_OK ? reg_walk(from, link_entry, &(tree){.from = from, .to = to}) : status;
}

/* 0: it is not there. */
static uint64_t hash_of(const char *path) {
    reg_program there;
    if (access(path, X_OK) != 0) {
        (void)rep_host(errno);
        return 0;
    }
    return reg_format(there.path, sizeof there.path, "%s", path) && hash_file(&there) == REG_OK ? there.hash : 0;
}

int reg_programs_pin(reg_programs *programs, const reg_run_info *run) {
    char dir[REG_PATH_MAX];
    if (!reg_pinned_dir(run->out_dir, dir, sizeof dir)) {
        return reg_error("%s: path too long", run->out_dir);
    }
    for (size_t i = 0; i < programs->count; i++) {
        reg_program *program = &programs->list[i];
        char pinned[REG_PATH_MAX];
        if (strncmp(program->path, run->build_dir, strlen(run->build_dir)) != 0 ||
            !reg_format(pinned, sizeof pinned, "%s%s", dir, program->path + strlen(run->build_dir))) {
            return reg_error("%s: path too long", dir);
        }
        const uint64_t there = hash_of(pinned);
        if (program->hash == 0 || there == program->hash) {
            program->hash = there; /* 0: it has still to be built */
            continue;
        }
        if (hash_of(program->path) != program->hash) {
            return reg_refuse(
                "run %lld cannot be resumed: %s is not the program that it was started with, and %s has no "
                "copy of that",
                (long long)run->id, program->path, dir);
        }
        if (pin_package(program->path, run, dir) != REG_OK || link_file(program->path, pinned) != REG_OK) {
            return REG_FAIL;
        }
        if (hash_of(pinned) != program->hash) {
            return reg_error("%s: it changed while it was copied to %s", program->path, pinned);
        }
    }
    return REG_OK;
}
