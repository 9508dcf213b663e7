/* slurm_tasks.c - assignment of jobs to tasks and arrays; the folders that describe it to the nodes and to a later
 * runner. */
#define _GNU_SOURCE
#include "slurm.h"
#include "opt/opt.h"
#include "report/report.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

bool slurm_array_dir(const slurm_runner *r, uint32_t number, char *out, size_t size) {
    if (!reg_format(out, size, "%s/%u", r->folder, number)) {
        reg_error("%s: path too long", r->folder);
        return false;
    }
    return true;
}

/* rep_more() of a list of the runner; false: a line was printed. */
static bool grow(void *list, size_t count, size_t size) {
    const bool good = count < UINT32_MAX / 2 && rep_more(list, count, size);
    if (!good) {
        reg_error("out of memory");
    }
    return good;
}

static slurm_array *add_array(slurm_runner *r, uint32_t number) {
    if (!grow(&r->arrays, r->array_count, sizeof *r->arrays)) {
        return NULL;
    }
    slurm_array *array = &r->arrays[r->array_count++];
    *array = (slurm_array){.number = number, .first = (uint32_t)r->shard_count};
    return array;
}

/* A shard of the newest array. */
static slurm_shard *add_shard(slurm_runner *r, uint32_t task) {
    if (!grow(&r->shards, r->shard_count, sizeof *r->shards)) {
        return NULL;
    }
    slurm_shard *shard = &r->shards[r->shard_count++];
    *shard = (slurm_shard){.first = (uint32_t)r->entry_count,
                           .array = (uint32_t)r->array_count - 1,
                           .task = task,
                           .beats = -1,
                           .beat_at = reg_now()};
    r->arrays[r->array_count - 1].count++;
    return shard;
}

/* An attempt at a job, in the newest shard. */
static bool add_entry(slurm_runner *r, size_t job, uint32_t attempt) {
    if (!grow(&r->entries, r->entry_count, sizeof *r->entries)) {
        return false;
    }
    slurm_job *known = &r->jobs[job];
    r->entries[r->entry_count] =
        (slurm_entry){.job = job, .attempt = attempt, .shard = (uint32_t)r->shard_count - 1, .older = known->entry};
    known->entry = (uint32_t)++r->entry_count;
    known->attempt = attempt > known->attempt ? attempt : known->attempt;
    r->shards[r->shard_count - 1].count++;
    r->arrays[r->array_count - 1].unseen++;
    return true;
}

slurm_entry *slurm_entry_of(const slurm_runner *r, size_t job, uint32_t attempt) {
    if (job >= r->plan->suite->count) {
        return NULL;
    }
    for (uint32_t at = r->jobs[job].entry; at != 0; at = r->entries[at - 1].older) {
        if (r->entries[at - 1].attempt == attempt) {
            return &r->entries[at - 1];
        }
    }
    return NULL;
}

bool slurm_shard_served(const slurm_runner *r, const slurm_shard *shard) {
    for (uint32_t i = 0; i < shard->count; i++) {
        const slurm_entry *entry = &r->entries[shard->first + i];
        if (!entry->seen && !r->jobs[entry->job].taken) {
            return false;
        }
    }
    return true;
}

/* ---- writing ---- */

/* A word of the shell. */
static void put_quoted(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
        } else {
            fputc(*text, out);
        }
    }
    fputc('\'', out);
}

static int write_script(const char *dir) {
    char path[REG_PATH_MAX];
    char program[REG_PATH_MAX];
    char here[REG_PATH_MAX];
    char folder[PATH_MAX];
    rep_file file;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0 || getcwd(here, sizeof here) == NULL || realpath(dir, folder) == NULL ||
        !reg_format(path, sizeof path, "%s/task.sh", dir)) {
        return reg_error("%s: cannot write a script: %s", dir, reg_why_not_written());
    }
    program[length] = '\0';
    if (reg_report_open(&file, path) != REG_OK) {
        return REG_FAIL;
    }
    fputs("#!/bin/sh\n# One task of a job array.\ndir=", file.file);
    put_quoted(file.file, folder);
    fputs("\nexec >>\"$dir/$SLURM_ARRAY_TASK_ID.log\" 2>&1\ncd ", file.file);
    put_quoted(file.file, here);
    fputs(" || exit 1\nexec ", file.file);
    put_quoted(file.file, program);
    fputs(" node \"$dir\" \"$SLURM_ARRAY_TASK_ID\"\n", file.file);
    return reg_report_commit(&file);
}

static int write_array(slurm_runner *r, const slurm_array *array) {
    const reg_plan *plan = r->plan;
    const slurm_shard *last = &r->shards[array->first + array->count - 1];
    const size_t first = r->shards[array->first].first;
    const size_t count = last->first + last->count - first;
    char dir[REG_PATH_MAX];
    char done[REG_PATH_MAX + 8];
    slurm_head head = {
        .run = plan->run, .seed = plan->seed, .parallel = r->asked->cpus, .beat_s = r->beat_s, .tasks = array->count};
    if (!slurm_array_dir(r, array->number, dir, sizeof dir)) {
        return REG_FAIL;
    }
    (void)reg_format(head.build_dir, sizeof head.build_dir, "%s", plan->build_dir);
    (void)reg_format(head.out_dir, sizeof head.out_dir, "%s", plan->out_dir);
    (void)reg_format(head.coverage_dir, sizeof head.coverage_dir, "%s",
                     plan->coverage_dir == NULL ? "" : plan->coverage_dir);
    (void)reg_format(done, sizeof done, "%s/done", dir);
    slurm_line *lines = calloc(count, sizeof *lines);
    if (lines == NULL) {
        return reg_error("out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        const slurm_entry *entry = &r->entries[first + i];
        lines[i] = (slurm_line){.task = r->shards[entry->shard].task,
                                .idx = entry->job,
                                .attempt = entry->attempt,
                                .job = plan->suite->jobs[entry->job]};
    }
    int status = reg_make_dirs(done);
    if (status == REG_OK) {
        status = write_script(dir);
    }
    if (status == REG_OK) { /* last, as it makes the array valid */
        status = slurm_list_write(dir, &head, lines, count);
    }
    free(lines);
    return status;
}

static double expected(const slurm_runner *r, size_t job) {
    const double seconds = r->plan->expected[job].seconds;
    return seconds >= 0 ? seconds : r->mean_s;
}

int slurm_tasks_add(slurm_runner *r, const size_t *jobs, size_t count) {
    const double wanted = (double)r->asked->shard_s * r->asked->cpus;
    slurm_array *array = NULL;
    double left = 0;
    for (size_t i = 0; i < count; i++) {
        left += expected(r, jobs[i]);
    }
    double filled = 0;
    bool open = false;
    for (size_t i = 0; i < count; i++) {
        /* no task is shorter than requested: a remainder that is too short for a task goes into the last one */
        if (!open || (filled >= wanted && left >= wanted)) {
            if (array == NULL || array->count == SLURM_TASKS_MAX) {
                if (array != NULL && write_array(r, array) != REG_OK) {
                    return REG_FAIL;
                }
                array = add_array(r, ++r->last_array);
            }
            if (array == NULL || add_shard(r, array->count) == NULL) {
                return REG_FAIL;
            }
            open = true;
            filled = 0;
        }
        const slurm_job *known = &r->jobs[jobs[i]];
        const uint32_t next = known->attempt + 1;
        const uint32_t free_one = r->plan->past[jobs[i]].attempt; /* whose folder does not exist */
        if (!add_entry(r, jobs[i], next > free_one ? next : free_one)) {
            return REG_FAIL;
        }
        filled += expected(r, jobs[i]);
        left -= expected(r, jobs[i]);
    }
    return array == NULL ? REG_OK : write_array(r, array);
}

/* ---- tasks of an earlier runner ---- */

static int adopt(slurm_runner *r, uint32_t number) {
    char dir[REG_PATH_MAX];
    slurm_head head;
    slurm_line *lines;
    size_t count;
    if (!slurm_array_dir(r, number, dir, sizeof dir)) {
        return REG_FAIL;
    }
    int status = slurm_list_read(dir, &head, &lines, &count);
    if (status != REG_OK) {
        return status == REG_NONE ? REG_OK : status;
    }
    slurm_array *array = add_array(r, number);
    status = array == NULL ? REG_FAIL : REG_OK;
    for (size_t i = 0; i < count && status == REG_OK; i++) {
        if (head.run != r->plan->run || lines[i].idx >= r->plan->suite->count || lines[i].task > array->count ||
            lines[i].task + 1 < array->count) {
            status = reg_error("%s: the list is of another run", dir);
        } else if (lines[i].task == array->count && add_shard(r, lines[i].task) == NULL) {
            status = REG_FAIL;
        } else if (!add_entry(r, lines[i].idx, lines[i].attempt)) {
            status = REG_FAIL;
        } else {
            r->shards[r->shard_count - 1].state = SHARD_SUBMITTED;
            r->shards[r->shard_count - 1].adopted = true;
        }
    }
    if (array != NULL) {
        array->submitted = true;
    }
    free(lines);
    return status;
}

static int adopt_all(slurm_runner *r) {
    DIR *folder = opendir(r->folder);
    if (folder == NULL) {
        return reg_error("%s: cannot read: %s", r->folder, reg_why());
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        uint64_t number = 0;
        if (opt_number(entry->d_name, 1, UINT32_MAX - 1, &number) && number > r->last_array) {
            r->last_array = (uint32_t)number;
        }
    }
    (void)closedir(folder);
    int status = REG_OK;
    for (uint32_t number = 1; number <= r->last_array && status == REG_OK; number++) {
        status = adopt(r, number);
    }
    return status;
}

/* Names of Slurm jobs are random, as two databases may have the same run number. */
static int draw_name(slurm_runner *r, const char *path) {
    uint64_t number = 0;
    rep_file file;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number || reg_report_open(&file, path) != REG_OK) {
        return REG_FAIL;
    }
    (void)reg_format(r->name, sizeof r->name, "tandem-%016" PRIx64, number);
    fprintf(file.file, "%s\n", r->name);
    return reg_report_commit(&file);
}

/* False: there is none. */
static bool read_name(slurm_runner *r, const char *path) {
    char line[sizeof r->name] = "";
    FILE *file = fopen(path, "re");
    bool good = file != NULL && fgets(line, sizeof line, file) != NULL && strncmp(line, "tandem-", 7) == 0 &&
                strchr(line, '\n') != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)reg_format(r->name, sizeof r->name, "%.*s", (int)strcspn(line, "\n"), line);
    return good;
}

int slurm_tasks_open(slurm_runner *r) {
    char path[REG_PATH_MAX];
    r->jobs = calloc(r->plan->suite->count + 1, sizeof *r->jobs);
    r->retry = calloc(r->plan->suite->count + 1, sizeof *r->retry);
    if (r->jobs == NULL || r->retry == NULL) {
        return reg_error("out of memory");
    }
    if (!reg_format(r->folder, sizeof r->folder, "%s/slurm/%" PRId64, r->plan->out_dir, r->plan->run) ||
        !reg_format(path, sizeof path, "%s/name", r->folder)) {
        return reg_error("%s: path too long", r->plan->out_dir);
    }
    if (r->plan->resumed && read_name(r, path)) {
        return adopt_all(r);
    }
    int status = reg_remove_tree(r->folder); /* of a run of another database with the same number */
    if (status == REG_OK) {
        status = reg_make_dirs(r->folder);
    }
    return status == REG_OK ? draw_name(r, path) : status;
}

void slurm_tasks_close(slurm_runner *r) {
    free(r->jobs);
    free(r->retry);
    free(r->entries);
    free(r->shards);
    free(r->arrays);
    free(r->nodes);
}
