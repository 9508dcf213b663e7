/* result.c - the key=value file that a job writes. */
#define _GNU_SOURCE
#include "process.h"
#include "opt/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESULT_SIZE_MAX (1024 * 1024)

/* Copies a value, cut to size. Control characters would reach a terminal: they
 * become blanks. */
static void copy_value(char *out, size_t size, const char *value) {
    size_t length = strnlen(value, size - 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        out[i] = c < 0x20 || c == 0x7f ? ' ' : value[i];
    }
    out[length] = '\0';
}

/* Paths and commands must not be cut. */
static void copy_whole(char *out, size_t size, const char *value) {
    if (strlen(value) < size) {
        copy_value(out, size, value);
    }
}

/* bound_NAME=cycles becomes a member of an object, which queries read by name. */
static void take_bound(reg_result *result, const char *name, uint64_t cycles) {
    const size_t used = strlen(result->bounds);
    const size_t length = strlen(name);
    if (length == 0 || length > 31 || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length ||
        used + length + 32 > sizeof result->bounds) {
        return;
    }
    (void)reg_format(result->bounds + (used == 0 ? 0 : used - 1), sizeof result->bounds - used, "%c\"%s\":%" PRIu64 "}",
                     used == 0 ? '{' : ',', name, cycles);
}

/* The sums of performance; what is not a number, or too large for the database, is 0. */
static void take_work(reg_result *result, const char *key, const char *value) {
    static const char *const keys[REG_WORK_COUNT] = {"work_cases", "work_cycles", "bound"};
    uint64_t number = 0;
    if (!opt_number(value, 0, INT64_MAX, &number)) {
        number = 0;
    }
    if (strncmp(key, "bound_", 6) == 0) {
        take_bound(result, key + 6, number);
    }
    for (size_t i = 0; i < REG_WORK_COUNT; i++) {
        result->work[i] = strcmp(key, keys[i]) == 0 ? number : result->work[i];
    }
}

static void take_pair(reg_result *result, const char *key, const char *value) {
    if (strcmp(key, "outcome") == 0) {
        copy_value(result->outcome, sizeof result->outcome, value);
    } else if (strcmp(key, "signature") == 0) {
        copy_value(result->signature, sizeof result->signature, value);
    } else if (strcmp(key, "message") == 0) {
        copy_value(result->message, sizeof result->message, value);
    } else if (strcmp(key, "trace_hash") == 0) {
        copy_whole(result->trace_hash, sizeof result->trace_hash, value);
    } else if (strcmp(key, "case") == 0) {
        copy_whole(result->case_path, sizeof result->case_path, value);
    } else if (strcmp(key, "wave") == 0) {
        copy_whole(result->wave_path, sizeof result->wave_path, value);
    } else if (strcmp(key, "repro") == 0) {
        copy_whole(result->repro, sizeof result->repro, value);
    } else if (strcmp(key, "cycles") == 0) {
        result->has_cycles = opt_number(value, 0, UINT64_MAX, &result->cycles);
    } else if (strcmp(key, "portable") == 0) {
        result->portable = strcmp(value, "1") == 0;
    } else {
        take_work(result, key, value);
    }
    /* Other keys are for people or for newer runners. */
}

/* Opens a file of a job. It may be of any type: a pipe or a device must not block the runner. NULL with
 * errno set. */
static FILE *open_left_behind(const char *path, off_t size_max) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat info;
    if (fd < 0) {
        return NULL;
    }
    const bool known = fstat(fd, &info) == 0;
    const bool fits = known && S_ISREG(info.st_mode) && info.st_size <= size_max;
    FILE *file = fits ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        const int reason = known && !fits ? EINVAL : errno;
        (void)close(fd);
        errno = reason;
    }
    return file;
}

const char reg_result_unread[] = "result file that cannot be read";

/* What is wrong with a file that cannot be opened or read, by errno: the job's work, or that of the machine. */
static const char *unreadable(const char *path) {
    const int reason = errno;
    if (reason == ENOENT) {
        return "no result file";
    }
    if (reason == EINVAL || reason == EACCES || reason == ELOOP || reason == ENXIO) {
        return "unreadable result file";
    }
    reg_error("%s: cannot read: %s", path, strerror(reason));
    return reg_result_unread;
}

const char *reg_result_load(reg_result *result, const char *path) {
    FILE *file = open_left_behind(path, RESULT_SIZE_MAX);
    if (file == NULL) {
        return unreadable(path);
    }
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    bool whole = true;
    while (whole && (length = getline(&line, &room, file)) > 0) {
        /* The last line of a file that was cut has no line end. */
        whole = line[length - 1] == '\n';
        line[strcspn(line, "\r\n")] = '\0';
        char *value = strchr(line, '=');
        if (whole && line[0] != '#' && value != NULL) {
            *value++ = '\0';
            take_pair(result, line, value);
        }
    }
    const char *trouble = whole && !feof(file) ? unreadable(path) : NULL;
    free(line);
    (void)fclose(file);
    if (trouble != NULL) {
        return trouble;
    }
    if (!whole) {
        return "incomplete result file";
    }
    if (result->outcome[0] == '\0') {
        return "result file without outcome";
    }
    if (strcmp(result->outcome, "pass") != 0 && strcmp(result->outcome, "fail") != 0 &&
        strcmp(result->outcome, "error") != 0 && strcmp(result->outcome, "host") != 0) {
        return "result file with an unknown outcome";
    }
    return NULL;
}

void reg_log_last_line(const char *path, char *out, size_t size) {
    out[0] = '\0';
    FILE *file = open_left_behind(path, INT64_MAX);
    if (file == NULL) {
        return;
    }
    char tail[2048];
    if (fseek(file, -(long)(sizeof tail - 1), SEEK_END) != 0) {
        rewind(file); /* shorter than that */
    }
    size_t length = fread(tail, 1, sizeof tail - 1, file);
    (void)fclose(file);
    tail[length] = '\0';
    for (size_t i = 0; i < length; i++) {
        if (tail[i] == '\0') {
            tail[i] = ' ';
        }
    }
    char *rest = tail;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (line[strspn(line, " \t\r")] != '\0') {
            copy_value(out, size, line);
        }
    }
}
