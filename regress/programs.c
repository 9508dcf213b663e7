/* programs.c - the programs that a suite runs, and a hash of their contents: a run is only resumed with the same
 * ones. */
#define _GNU_SOURCE
#include "reg.h"

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
    int fd = open(program->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || access(program->path, X_OK) != 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return reg_error("%s: no such program, and the suite needs it (make regress builds it)", program->path);
    }
    const size_t size = (size_t)info.st_size;
    void *bytes = size == 0 ? NULL : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    int status = REG_OK;
    if (bytes == MAP_FAILED) {
        status = reg_error("%s: cannot read: %s", program->path, strerror(errno));
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
