/*
 * gc.c - removes logs, cases and waveforms of old runs, so that they do not fill a disk.
 *
 * Only folders that the runner made for jobs of the run are touched: the folder of a run may contain other files
 * (--out). A run with a live runner is skipped; others are locked while their files are removed, so that no runner
 * resumes them meanwhile.
 */
#define _GNU_SOURCE
#include "table.h"
#include "reports.h"
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY_S INT64_C(86400)

typedef struct gc_run {
    reg_run_info info;
    int64_t age_s;
    bool cleaned, running, remove;
    uint64_t bytes; /* of its files */
} gc_run;

typedef struct collection {
    gc_run *runs; /* newest first */
    size_t count;
} collection;

/* Space that it takes on the disk; of a file with several links, its part. */
static int add_entry(const char *path, const struct stat *info, void *context) {
    (void)path;
    *(uint64_t *)context += (uint64_t)info->st_blocks * 512 / (S_ISREG(info->st_mode) ? info->st_nlink : 1);
    return REG_OK;
}

/* Files of launcher slurm for the run; false: none. */
static bool launcher_dir(const gc_run *run, char *out, size_t size) {
    return reg_format(out, size, "%s/slurm/%" PRId64, run->info.out_dir, run->info.id) && access(out, F_OK) == 0;
}

/* Each attempt at a job, and its explanation. */
static int each_of_job(const char *out_dir, const reg_suite *suite, const reg_past *past, size_t i,
                       int (*visit)(const char *path, void *context), void *context) {
    char path[REG_PATH_MAX];
    int status = REG_OK;
    for (uint32_t attempt = 1; status == REG_OK; attempt++) {
        reg_job_dir(out_dir, &suite->jobs[i], i, attempt, path, sizeof path);
        if (access(path, F_OK) == 0) {
            status = visit(path, context);
        } else if (errno != ENOENT && errno != ENOTDIR) {
            status = reg_error("%s: cannot read: %s", path, reg_why());
        } else if (attempt >= past[i].attempt) {
            break;
        }
    }
    reg_explained_dir(out_dir, i, path, sizeof path);
    return status == REG_OK && access(path, F_OK) == 0 ? visit(path, context) : status;
}

/* Do it with every folder of a job of the run; also with the launcher's files, the programs, the jobs of `verify` and
 * the report. The jobs are read here, so that only those of one run are in memory. */
static int each_folder(reg_db *db, const gc_run *run, int (*visit)(const char *path, void *context), void *context) {
    reg_suite suite;
    reg_past *past = NULL;
    struct stat info;
    if (run->info.out_dir[0] == '\0' || (stat(run->info.out_dir, &info) != 0 && errno == ENOENT)) {
        return REG_OK; /* removed before */
    }
    int status = reg_db_load_jobs(db, &run->info, &suite, &past);
    for (size_t i = 0; status == REG_OK && i < suite.count; i++) {
        status = each_of_job(run->info.out_dir, &suite, past, i, visit, context);
    }
    reg_suite_free(&suite);
    free(past);
    char path[REG_PATH_MAX];
    if (status == REG_OK && launcher_dir(run, path, sizeof path)) {
        status = visit(path, context);
    }
    if (status == REG_OK && reg_pinned_dir(run->info.out_dir, path, sizeof path) && access(path, F_OK) == 0) {
        status = visit(path, context);
    }
    if (status == REG_OK && reg_verify_dir(run->info.out_dir, path, sizeof path) && access(path, F_OK) == 0) {
        status = visit(path, context);
    }
    if (status == REG_OK && reg_report_dir(run->info.out_dir, path, sizeof path) && reg_html_is_report(path)) {
        status = visit(path, context);
    }
    return status;
}

static int add_bytes(const char *path, void *context) {
    return reg_walk(path, add_entry, context);
}

static int remove_folder(const char *path, void *context) {
    (void)context;
    return reg_remove_tree(path);
}

/* ---- inventory ---- */

static int load_run(reg_db *db, int64_t id, int64_t started, bool cleaned, gc_run *run) {
    memset(run, 0, sizeof *run);
    run->cleaned = cleaned;
    run->age_s = (int64_t)time(NULL) - started;
    run->running = reg_lock_held(&db->lock, db->path, id);
    const int status = reg_db_load_run(db, id, &run->info);
    return status == REG_OK ? each_folder(db, run, add_bytes, &run->bytes) : status;
}

static int load_all(reg_db *db, collection *c) {
    sqlite3_stmt *row = NULL;
    int step;
    int status = reg_db_prepare(db, "SELECT id, started_at, cleaned FROM run ORDER BY id DESC", &row);
    if (status != REG_OK) {
        return status;
    }
    while (status == REG_OK && (step = sqlite3_step(row)) == SQLITE_ROW) {
        if (!rep_more(&c->runs, c->count, sizeof *c->runs)) {
            status = reg_error("out of memory");
            break;
        }
        status = load_run(db, reg_row_number(row, "id"), reg_row_number(row, "started_at"),
                          reg_row_number(row, "cleaned") != 0, &c->runs[c->count]);
        c->count++;
    }
    const int end = reg_db_end(db, row, status == REG_OK ? step : SQLITE_DONE, "read the runs");
    return status == REG_OK ? end : status;
}

/* ---- removal ---- */

static void choose(const reg_gc_plan *plan, collection *c) {
    uint64_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        gc_run *run = &c->runs[i];
        const bool by_number = plan->keep_runs >= 0 && (int64_t)i < plan->keep_runs;
        const bool by_age = plan->keep_days >= 0 && run->age_s < plan->keep_days * DAY_S;
        const bool asked = plan->keep_runs >= 0 || plan->keep_days >= 0;
        run->remove = asked && !by_number && !by_age && !run->running;
        kept += run->remove ? 0 : run->bytes;
    }
    /* the oldest first */
    for (size_t i = c->count; i > 0 && plan->max_mib >= 0 && kept > (uint64_t)plan->max_mib << 20; i--) {
        gc_run *run = &c->runs[i - 1];
        if (!run->remove && !run->running) {
            run->remove = true;
            kept -= run->bytes;
        }
    }
}

static int note_removed(reg_db *db, int64_t run, bool forget) {
    return reg_db_write(db, forget ? "DELETE FROM run WHERE id=?" : "UPDATE run SET cleaned=1 WHERE id=?",
                        REG_VALUES(REG_NUMBER(run)));
}

static int remove_run(reg_db *db, const gc_run *run, bool forget) {
    int status = reg_lock_run(&db->lock, db->path, run->info.id, 0);
    if (status == REG_OK) {
        status = each_folder(db, run, remove_folder, NULL);
    }
    if (status == REG_OK) {
        if (run->info.out_dir[0] != '\0') {
            char path[REG_PATH_MAX];
            (void)reg_format(path, sizeof path, "%s/slurm", run->info.out_dir);
            (void)rmdir(path);
            (void)reg_format(path, sizeof path, "%s/signoff.json", run->info.out_dir);
            (void)unlink(path);
            reg_runfile_remove(run->info.out_dir);
            (void)rmdir(run->info.out_dir); /* stays when other files are in it */
        }
        status = forget || run->bytes > 0 ? note_removed(db, run->info.id, forget) : REG_OK;
    }
    reg_lock_release(&db->lock);
    return status;
}

/* A folder that a later run wrote into belongs to that run. */
static bool shared(const collection *c, size_t at) {
    for (size_t i = 0; i < at; i++) {
        if (strcmp(c->runs[i].info.out_dir, c->runs[at].info.out_dir) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- output ---- */

static const reg_column columns[] = {{"run", "run", REG_CELL_NUMBER},       {"suite", "suite", REG_CELL_TEXT},
                                     {"days", "days ago", REG_CELL_NUMBER}, {"mib", "MiB", REG_CELL_REAL},
                                     {"files", "files", REG_CELL_TEXT},     {"out_dir", "in", REG_CELL_TEXT}};

static int add_row(reg_table *table, const gc_run *run, const char *files) {
    char id[24];
    char days[24];
    char mib[32];
    (void)reg_format(id, sizeof id, "%" PRId64, run->info.id);
    (void)reg_format(days, sizeof days, "%" PRId64, run->age_s / DAY_S);
    (void)reg_format(mib, sizeof mib, "%.1f", (double)run->bytes / 1048576.0);
    return reg_table_add(table, (const char *const[]){id, run->info.suite, days, mib, files, run->info.out_dir});
}

static int show(const reg_gc_plan *plan, const reg_table *table, uint64_t freed, uint64_t kept, FILE *out) {
    if (plan->json) {
        return reg_json_print(json_pack("{s:o*,s:b,s:I,s:I}", "runs", reg_table_json(table), "dry_run", plan->dry_run,
                                        "freed_bytes", (json_int_t)freed, "kept_bytes", (json_int_t)kept),
                              out);
    }
    reg_table_print(table, out);
    fprintf(out, "%s %.1f MiB, %.1f MiB stay\n", plan->dry_run ? "would free" : "freed", (double)freed / 1048576.0,
            (double)kept / 1048576.0);
    return REG_OK;
}

int reg_gc(const reg_gc_plan *plan, reg_db *db, FILE *out) {
    collection c = {0};
    reg_table table;
    uint64_t freed = 0;
    uint64_t kept = 0;
    reg_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    int status = load_all(db, &c);
    if (status == REG_OK) {
        choose(plan, &c);
    }
    for (size_t i = 0; i < c.count && status == REG_OK; i++) {
        gc_run *run = &c.runs[i];
        const bool other = shared(&c, i);
        run->bytes = other ? 0 : run->bytes; /* counted with the later run */
        const bool remove = run->remove && (plan->forget || (!run->cleaned && !other));
        if (remove && !plan->dry_run) {
            status = other ? note_removed(db, run->info.id, true) : remove_run(db, run, plan->forget);
        }
        *(run->remove ? &freed : &kept) += run->bytes;
        if (status == REG_OK && (remove || run->bytes > 0 || run->running)) {
            status = add_row(&table, run,
                             remove         ? (plan->dry_run ? "would go" : "removed")
                             : run->running ? "in use"
                                            : "stay");
        }
    }
    if (status == REG_OK) {
        status = show(plan, &table, freed, kept, out);
    }
    reg_table_free(&table);
    free(c.runs);
    return status;
}
