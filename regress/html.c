/* html.c - a run as a folder of pages: index.html, the list of jobs and, below failures/, the files of failed jobs. It
 * is written atomically. */
#define _GNU_SOURCE
#include "html.h"
#include "reports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char mark[] = "<meta name=\"generator\" content=\"tandem-regress\">";

bool reg_html_is_report(const char *dir) {
    char path[REG_PATH_MAX];
    char text[1024];
    FILE *file = reg_format(path, sizeof path, "%s/index.html", dir) ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return false;
    }
    const size_t length = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    return strstr(text, mark) != NULL;
}

static bool is_empty(const char *path) {
    DIR *dir = opendir(path);
    bool empty = dir != NULL;
    for (struct dirent *entry = dir == NULL ? NULL : readdir(dir); entry != NULL; entry = readdir(dir)) {
        empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return empty;
}

/* Without trailing slashes, as the temporary folder beside it gets its name. */
static bool plain_path(const char *dir, char path[REG_PATH_MAX]) {
    if (!reg_format(path, REG_PATH_MAX, "%s", dir)) {
        return false;
    }
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--) {
        path[length - 1] = '\0';
    }
    return true;
}

int reg_html_check(const char *dir) {
    char path[REG_PATH_MAX];
    char temp[REG_PATH_MAX];
    struct stat info;
    if (!plain_path(dir, path) || !reg_format(temp, sizeof temp, "%s.tmp%ld", path, (long)getpid())) {
        return reg_error("%s: path too long", dir);
    }
    if (lstat(path, &info) == 0 && (!S_ISDIR(info.st_mode) || (!is_empty(path) && !reg_html_is_report(path)))) {
        return reg_error("%s: exists and is not a report, so it is not replaced", path);
    }
    if (mkdir(temp, 0777) != 0) {
        return reg_error("%s: cannot make the folder: %s", temp, reg_why_not_written());
    }
    (void)rmdir(temp);
    return REG_OK;
}

/* One page, by a function that writes it. */
static int write_page(html_report *r, const char *name, int (*write)(html_report *r)) {
    char path[REG_PATH_MAX];
    if (!reg_format(path, sizeof path, "%s/%s", r->dir, name)) {
        return reg_error("%s/%s: path too long", r->dir, name);
    }
    r->out = fopen(path, "we");
    if (r->out == NULL) {
        return reg_error("%s: cannot write: %s", path, reg_why_not_written());
    }
    errno = 0;
    const int status = write(r);
    const bool bad = ferror(r->out) != 0;
    const bool closed = fclose(r->out) == 0;
    if (status == REG_OK && (bad || !closed)) {
        return reg_error("%s: cannot write: %s", path, errno != 0 ? reg_why_not_written() : "write error");
    }
    return status;
}

static int write_index(html_report *r) {
    int (*const sections[])(html_report *) = {html_summary,     html_failures, html_not_run, html_tests,
                                              html_performance, html_trends,   html_slowest};
    int status = REG_OK;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0] && status == REG_OK; i++) {
        status = sections[i](r);
    }
    rep_page_end(r->out);
    return status;
}

/* Replace the old folder by the new one. */
static int put_in_place(const char *temp, const char *path) {
    if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
        return reg_remove_tree(temp);
    }
    if (errno != ENOENT && reg_remove_tree(path) != REG_OK) { /* a file system that cannot exchange */
        return REG_FAIL;
    }
    if (rename(temp, path) != 0) {
        return reg_error("%s: cannot write: %s", path, reg_why_not_written());
    }
    return REG_OK;
}

int reg_html_write(reg_db *db, int64_t run, const char *dir, const char *figures) {
    char path[REG_PATH_MAX];
    char temp[REG_PATH_MAX];
    if (reg_html_check(dir) != REG_OK) {
        return REG_FAIL;
    }
    (void)plain_path(dir, path); /* both fit: they were checked */
    (void)reg_format(temp, sizeof temp, "%s.tmp%ld", path, (long)getpid());
    html_report r = {.db = db, .run = run, .dir = temp, .figures = figures};
    int status = reg_make_dirs(temp);
    if (status == REG_OK) {
        status = write_page(&r, "index.html", write_index);
    }
    status = status == REG_OK ? reg_report_job_count(db, run, &r.job_count) : status;
    for (; status == REG_OK && (r.jobs == 0 || r.jobs < r.job_count); r.jobs += REG_JOBS_AT_ONCE) {
        char name[HTML_NAME];
        html_jobs_name(r.jobs, name);
        status = write_page(&r, name, html_jobs);
    }
    if (status == REG_OK) {
        status = put_in_place(temp, path);
    }
    if (status != REG_OK) {
        (void)reg_remove_tree(temp);
    }
    return status;
}
