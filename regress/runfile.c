/*
 * runfile.c - what a run is, as files in its folder: `recover` writes its rows again from them.
 *
 * OUT/run.txt: its settings, programs and jobs, written when it begins. OUT/done.txt: a record of each finished job.
 * OUT/end.txt: how it ended.
 */
#define _GNU_SOURCE
#include "slurm.h"
#include "opt/opt.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT_LINE "tandem-regress run 1"

typedef struct text_field {
    const char *key;
    size_t offset, size; /* in reg_run_info */
} text_field;

#define TEXT(member)                                                                                                   \
    { #member, offsetof(reg_run_info, member), sizeof((reg_run_info *)0)->member }
static const text_field texts[] = {TEXT(suite),  TEXT(suite_path), TEXT(build_dir),   TEXT(out_dir),
                                   TEXT(commit), TEXT(changes),    TEXT(tools),       TEXT(host),
                                   TEXT(shard),  TEXT(launcher),   TEXT(coverage_dir)};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool path_of(const char *out_dir, const char *name, char *out, size_t size) {
    return reg_format(out, size, "%s/%s", out_dir, name);
}

bool reg_runfile_done(const char *out_dir, char *out, size_t size) {
    return path_of(out_dir, "done.txt", out, size);
}

void reg_runfile_remove(const char *out_dir) {
    static const char *const names[] = {"run.txt", "done.txt", "end.txt"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[REG_PATH_MAX];
        if (path_of(out_dir, names[i], path, sizeof path)) {
            (void)unlink(path);
        }
    }
}

int reg_runfile_write(const reg_run_info *info, const reg_suite *suite, const reg_programs *programs) {
    char path[REG_PATH_MAX];
    rep_file file;
    if (reg_make_dirs(info->out_dir) != REG_OK) {
        return REG_FAIL;
    }
    reg_runfile_remove(info->out_dir);
    if (!path_of(info->out_dir, "run.txt", path, sizeof path)) {
        return reg_error("%s: path too long", info->out_dir);
    }
    if (reg_report_open(&file, path) != REG_OK) {
        return REG_FAIL;
    }
    fprintf(file.file, "%s\n", FORMAT_LINE);
    for (size_t i = 0; i < COUNT(texts); i++) {
        const char *value = (const char *)info + texts[i].offset;
        fprintf(file.file, "%s %.*s\n", texts[i].key, (int)strcspn(value, "\r\n"), value);
    }
    fprintf(file.file, "run %" PRId64 "\nseed 0x%" PRIx64 "\nbudget %u\nparallel %d\ndirty %d\nstarted %" PRId64 "\n",
            info->id, info->seed, info->budget_s, info->parallel, info->dirty ? 1 : 0, info->started_at);
    for (size_t i = 0; i < programs->count; i++) {
        fprintf(file.file, "program %016" PRIx64 " %s\n", programs->list[i].hash, programs->list[i].path);
    }
    for (size_t i = 0; i < suite->count; i++) {
        slurm_line_print(file.file, &(slurm_line){.idx = i, .attempt = 1, .job = suite->jobs[i]});
    }
    fprintf(file.file, "end %zu\n", suite->count);
    return reg_report_commit(&file);
}

void reg_runfile_end(const char *out_dir, const char *state, uint64_t elapsed_ms) {
    char path[REG_PATH_MAX];
    rep_file file;
    if (!path_of(out_dir, "end.txt", path, sizeof path)) {
        return;
    }
    if (state == NULL) {
        (void)unlink(path);
    } else if (reg_report_open(&file, path) == REG_OK) {
        fprintf(file.file, "%s %" PRIu64 "\n", state, elapsed_ms);
        (void)reg_report_commit(&file);
    }
}

static bool take_number(const char *key, const char *value, reg_run_info *info) {
    uint64_t number = 0;
    if (!opt_number(value, 0, strcmp(key, "seed") == 0 ? UINT64_MAX : INT64_MAX, &number)) {
        return false;
    }
    if (strcmp(key, "run") == 0) {
        info->id = (int64_t)number;
    } else if (strcmp(key, "seed") == 0) {
        info->seed = number;
    } else if (strcmp(key, "budget") == 0) {
        info->budget_s = (uint32_t)number;
    } else if (strcmp(key, "parallel") == 0) {
        info->parallel = (int)number;
    } else if (strcmp(key, "dirty") == 0) {
        info->dirty = number != 0;
    } else if (strcmp(key, "started") == 0) {
        info->started_at = (int64_t)number;
    }
    return true;
}

static bool take_line(const char *key, char *value, reg_run_info *info, reg_suite *suite, reg_programs *programs) {
    if (strcmp(key, "job") == 0) {
        slurm_line line;
        return slurm_line_take(value, 1, &line) && line.idx == suite->count &&
               reg_suite_add(suite, &line.job) == REG_OK;
    }
    if (strcmp(key, "program") == 0) {
        char *path = NULL;
        const uint64_t hash = strtoull(value, &path, 16);
        return *path == ' ' && reg_programs_add(programs, path + 1, hash) == REG_OK;
    }
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (strcmp(key, texts[i].key) == 0) {
            return reg_format((char *)info + texts[i].offset, texts[i].size, "%s", value);
        }
    }
    return take_number(key, value, info);
}

int reg_runfile_read(const char *out_dir, reg_run_info *info, reg_suite *suite, reg_programs *programs) {
    char path[REG_PATH_MAX];
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    bool ended = false;
    memset(info, 0, sizeof *info);
    memset(suite, 0, sizeof *suite);
    memset(programs, 0, sizeof *programs);
    FILE *file = path_of(out_dir, "run.txt", path, sizeof path) ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return REG_NONE;
    }
    for (size_t number = 0; good && !ended && getline(&line, &room, file) > 0; number++) {
        line[strcspn(line, "\n")] = '\0';
        char *value = line;
        const char *key = number == 0 ? "" : strsep(&value, " ");
        if (number == 0) {
            good = strcmp(line, FORMAT_LINE) == 0;
        } else if (value == NULL) {
            good = false;
        } else if (strcmp(key, "end") == 0) {
            ended = strtoull(value, NULL, 10) == suite->count;
            good = ended;
        } else {
            good = take_line(key, value, info, suite, programs);
        }
    }
    free(line);
    (void)fclose(file);
    if (!good || !ended || info->id <= 0) {
        return reg_error("%s: not written by the runner, or damaged", path);
    }
    return REG_OK;
}
