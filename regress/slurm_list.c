/* slurm_list.c - the jobs of the tasks of an array, as a text file that runner and nodes read. */
#define _GNU_SOURCE
#include "slurm.h"
#include "opt/opt.h"
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_LINE "tandem-regress tasks 1"

void slurm_line_print(FILE *out, const slurm_line *line) {
    const reg_job *job = &line->job;
    fprintf(out, "job %u %zu %u %s %s %s %s %" PRIu64 " %u %u %u %d%s%s\n", line->task, line->idx, line->attempt,
            reg_what_name(job->what), job->name, job->cfg, job->kind, job->index, job->cases, job->timeout_s,
            job->memory_mb, job->second_run ? 1 : 0, job->args[0] == '\0' ? "" : " ", job->args);
}

int slurm_list_write(const char *dir, const slurm_head *head, const slurm_line *lines, size_t count) {
    char path[REG_PATH_MAX];
    rep_file file;
    if (strpbrk(head->build_dir, "\r\n") != NULL || strpbrk(head->out_dir, "\r\n") != NULL ||
        strpbrk(head->coverage_dir, "\r\n") != NULL) {
        return reg_error("%s: a line end in the name of a folder", dir);
    }
    if (!reg_format(path, sizeof path, "%s/jobs.txt", dir)) {
        return reg_error("%s: path too long", dir);
    }
    if (reg_report_open(&file, path) != REG_OK) {
        return REG_FAIL;
    }
    fprintf(file.file, "%s\nrun %" PRId64 "\nseed 0x%" PRIx64 "\nbuild %s\nout %s\nparallel %u\nbeat %u\ntasks %u\n",
            FORMAT_LINE, head->run, head->seed, head->build_dir, head->out_dir, head->parallel, head->beat_s,
            head->tasks);
    if (head->coverage_dir[0] != '\0') {
        fprintf(file.file, "coverage %s\n", head->coverage_dir);
    }
    for (size_t i = 0; i < count; i++) {
        slurm_line_print(file.file, &lines[i]);
    }
    fprintf(file.file, "end %zu\n", count);
    return reg_report_commit(&file);
}

static bool take_number(char **rest, uint64_t hi, uint64_t *value) {
    const char *word = strsep(rest, " ");
    return word != NULL && opt_number(word, 0, hi, value);
}

static bool take_text(char **rest, char *out, size_t size) {
    const char *word = strsep(rest, " ");
    return word != NULL && word[0] != '\0' && reg_format(out, size, "%s", word);
}

bool slurm_line_take(char *rest, uint32_t tasks, slurm_line *line) {
    char what[16];
    uint64_t task, idx, attempt, cases, timeout, memory, second;
    memset(line, 0, sizeof *line);
    reg_job *job = &line->job;
    if (!take_number(&rest, UINT32_MAX, &task) || task >= tasks || !take_number(&rest, 100 * 1000 * 1000, &idx) ||
        !take_number(&rest, UINT32_MAX, &attempt) || attempt == 0 || !take_text(&rest, what, sizeof what) ||
        !take_text(&rest, job->name, sizeof job->name) || !take_text(&rest, job->cfg, sizeof job->cfg) ||
        !take_text(&rest, job->kind, sizeof job->kind) || !take_number(&rest, UINT64_MAX, &job->index) ||
        !take_number(&rest, UINT32_MAX, &cases) || !take_number(&rest, UINT32_MAX, &timeout) ||
        !take_number(&rest, UINT32_MAX, &memory) || !take_number(&rest, 1, &second)) {
        return false;
    }
    job->what = reg_what_of(what);
    job->cases = (uint32_t)cases;
    job->timeout_s = (uint32_t)timeout;
    job->memory_mb = (uint32_t)memory;
    job->second_run = second != 0; /* part of the name of its folder */
    line->task = (uint32_t)task;
    line->idx = (size_t)idx;
    line->attempt = (uint32_t)attempt;
    return job->what != REG_WHAT_COUNT && reg_format(job->args, sizeof job->args, "%s", rest == NULL ? "" : rest);
}

static bool take_head(const char *key, const char *value, slurm_head *head) {
    uint64_t number = 0;
    char *dir = strcmp(key, "build") == 0      ? head->build_dir
                : strcmp(key, "out") == 0      ? head->out_dir
                : strcmp(key, "coverage") == 0 ? head->coverage_dir
                                               : NULL;
    if (dir != NULL) {
        return reg_format(dir, REG_PATH_MAX, "%s", value);
    }
    if (strcmp(key, "seed") == 0) {
        return opt_number(value, 0, UINT64_MAX, &head->seed);
    }
    if (!opt_number(value, 1, INT64_MAX, &number)) {
        return false;
    }
    if (strcmp(key, "run") == 0) {
        head->run = (int64_t)number;
        return true;
    }
    uint32_t *field = strcmp(key, "parallel") == 0 ? &head->parallel
                      : strcmp(key, "beat") == 0   ? &head->beat_s
                      : strcmp(key, "tasks") == 0  ? &head->tasks
                                                   : NULL;
    if (field == NULL || number > 100000) {
        return false;
    }
    *field = (uint32_t)number;
    return true;
}

/* False: not written by a runner. */
static bool take_lines(FILE *file, slurm_head *head, slurm_line **lines, size_t *count) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    bool first = true;
    bool good = true;
    bool ended = false;
    while (good && !ended && (length = getline(&line, &room, file)) > 0) {
        good = line[length - 1] == '\n';
        line[strcspn(line, "\n")] = '\0';
        char *rest = line;
        const char *key = first ? "" : strsep(&rest, " ");
        if (first) {
            good = good && strcmp(line, FORMAT_LINE) == 0;
            first = false;
        } else if (rest == NULL) {
            good = false;
        } else if (strcmp(key, "end") == 0) {
            uint64_t said = 0;
            ended = opt_number(rest, 0, UINT64_MAX, &said) && said == *count;
            good = good && ended;
        } else if (strcmp(key, "job") == 0) {
            good = good && rep_more(lines, *count, sizeof **lines) &&
                   slurm_line_take(rest, head->tasks, &(*lines)[*count]);
            *count += 1;
        } else {
            good = good && take_head(key, rest, head);
        }
    }
    free(line);
    return good && ended && head->run > 0 && head->parallel > 0 && head->beat_s > 0;
}

int slurm_list_read(const char *dir, slurm_head *head, slurm_line **lines, size_t *count) {
    char path[REG_PATH_MAX];
    memset(head, 0, sizeof *head);
    *lines = NULL;
    *count = 0;
    (void)reg_format(path, sizeof path, "%s/jobs.txt", dir);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        if (errno == ENOENT) {
            return REG_NONE;
        }
        return reg_error("%s: cannot read: %s", path, reg_why());
    }
    bool good = take_lines(file, head, lines, count);
    (void)fclose(file);
    if (!good) {
        reg_error("%s: not written by the runner, or damaged", path);
        free(*lines);
        *lines = NULL;
    }
    return good ? REG_OK : REG_FAIL;
}
