/* util.c - messages, paths, clocks and report files. */
#define _GNU_SOURCE
#include "reg.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void reg_error(const char *fmt, ...) {
    char text[REG_TEXT_MAX * 4];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "tandem-regress: %s\n", text);
}

bool reg_format(char *out, size_t size, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(out, size, fmt, args);
    va_end(args);
    return length >= 0 && (size_t)length < size;
}

size_t reg_utf8_sequence(const unsigned char *p) {
    if (p[0] < 0x80) {
        return p[0] >= 0x20 || p[0] == '\t' || p[0] == '\n' || p[0] == '\r' ? 1 : 0;
    }
    size_t length = p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool forbidden = (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf4 && p[1] >= 0x90) || (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe);
    return overlong || forbidden ? 0 : length;
}

int reg_make_dirs(const char *path) {
    char part[REG_PATH_MAX];
    if (!reg_format(part, sizeof part, "%s", path)) {
        reg_error("%s: path too long", path);
        return REG_FAIL;
    }
    for (char *p = part + 1; *p != '\0'; p++) {
        if (*p != '/') {
            continue;
        }
        *p = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            reg_error("%s: cannot make the folder: %s", part, strerror(errno));
            return REG_FAIL;
        }
        *p = '/';
    }
    struct stat info;
    if (mkdir(part, 0777) != 0 && (errno != EEXIST || stat(part, &info) != 0 || !S_ISDIR(info.st_mode))) {
        reg_error("%s: cannot make the folder: %s", part, strerror(errno));
        return REG_FAIL;
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
        reg_error("%s: cannot remove: %s", path, strerror(errno));
        return REG_FAIL;
    }
    return REG_OK;
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

bool reg_parse_u64(const char *text, uint64_t lo, uint64_t hi, uint64_t *value) {
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    if (digits[0] == '\0' || strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") != strlen(digits)) {
        return false;
    }
    errno = 0;
    unsigned long long parsed = strtoull(digits, NULL, hex ? 16 : 10);
    if (errno != 0 || parsed < lo || parsed > hi) {
        return false;
    }
    *value = parsed;
    return true;
}

int reg_report_open(reg_report_file *report, const char *path) {
    struct stat info;
    report->file = NULL;
    report->temp[0] = '\0';
    if (!reg_format(report->path, sizeof report->path, "%s", path)) {
        reg_error("%s: path too long", path);
        return REG_FAIL;
    }
    /* Renaming over a device node would replace the device. */
    bool direct = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    if (!direct) {
        (void)reg_format(report->temp, sizeof report->temp, "%s.tmp%ld", path, (long)getpid());
    }
    report->file = fopen(direct ? report->path : report->temp, "we");
    if (report->file == NULL) {
        reg_error("%s: cannot write: %s", path, strerror(errno));
        report->temp[0] = '\0';
        return REG_FAIL;
    }
    return REG_OK;
}

void reg_report_abort(reg_report_file *report) {
    if (report->file != NULL) {
        (void)fclose(report->file);
        report->file = NULL;
    }
    if (report->temp[0] != '\0') {
        (void)unlink(report->temp);
        report->temp[0] = '\0';
    }
}

int reg_report_commit(reg_report_file *report) {
    errno = 0;
    bool good = fflush(report->file) == 0 && ferror(report->file) == 0;
    if (good && report->temp[0] != '\0') {
        good = fsync(fileno(report->file)) == 0;
    }
    int reason = errno;
    if (fclose(report->file) != 0 && good) {
        good = false;
        reason = errno;
    }
    report->file = NULL;
    if (good && report->temp[0] != '\0') {
        good = rename(report->temp, report->path) == 0;
        reason = errno;
    }
    if (!good) {
        reg_error("%s: cannot write: %s", report->path, reason != 0 ? strerror(reason) : "write error");
        reg_report_abort(report);
        return REG_FAIL;
    }
    report->temp[0] = '\0';
    return REG_OK;
}
