/*
 * recover.c - a results database again, from the folders of runs and from what a damaged one still has.
 *
 * Folders come first: their records have a hash, rows of a damaged file have none. Nothing is deleted: the damaged file
 * and its logs get another name.
 */
#define _GNU_SOURCE
#include "ledger.h"
#include "report/bundle.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct recovery {
    reg_db db;
    reg_recovered sum;
} recovery;

/* ---- a folder ---- */

/* Is the run in the database? REG_NONE: no. REG_FAIL: another one of that number. */
static int find_run(recovery *r, const reg_run_info *info) {
    sqlite3_stmt *row = NULL;
    const reg_value id = REG_NUMBER(info->id);
    if (reg_db_ask(&r->db, "SELECT started_at,suite_path FROM run WHERE id=?", &row, &id, 1) != REG_OK) {
        return REG_FAIL;
    }
    int status = REG_NONE;
    if (sqlite3_step(row) == SQLITE_ROW) {
        const bool same = reg_row_number(row, "started_at") == info->started_at &&
                          strcmp(reg_row_text(row, "suite_path"), info->suite_path) == 0;
        status = same ? REG_OK : REG_FAIL;
    }
    (void)sqlite3_finalize(row);
    return status;
}

static bool has_outcome(recovery *r, int64_t run, size_t idx) {
    sqlite3_stmt *row = NULL;
    const reg_value values[] = {REG_NUMBER(run), REG_NUMBER(idx)};
    bool known = reg_db_ask(&r->db, "SELECT 1 FROM job WHERE run=? AND idx=? AND outcome IS NOT NULL", &row, values,
                            2) == REG_OK &&
                 sqlite3_step(row) == SQLITE_ROW;
    (void)sqlite3_finalize(row);
    return known;
}

/* Files of an explanation are where explain.c puts them. */
static int note_explained(recovery *r, const reg_run_info *info, size_t idx) {
    char dir[REG_PATH_MAX];
    char path[3][REG_PATH_MAX + 32];
    static const char *const names[3] = {"report", "report/" REP_BUNDLE_WAVE, "small.case"};
    reg_explained_dir(info->out_dir, idx, dir, sizeof dir);
    if (access(dir, F_OK) != 0) {
        return REG_OK;
    }
    for (int i = 0; i < 3; i++) {
        (void)reg_format(path[i], sizeof path[i], "%s/%s", dir, names[i]);
        path[i][access(path[i], R_OK) == 0 ? strlen(path[i]) : 0] = '\0';
    }
    return reg_db_explain_job(&r->db, info->id, idx, path[0], path[1], path[2]);
}

static int take_record(recovery *r, const reg_run_info *info, const reg_suite *suite, char *text) {
    char dir[REG_PATH_MAX];
    char log[REG_PATH_MAX + 16];
    reg_finished item;
    memset(&item, 0, sizeof item);
    if (reg_record_take(text, info->id, &item) != NULL || item.job >= suite->count) {
        return REG_OK; /* cut when the machine stopped */
    }
    if (has_outcome(r, info->id, item.job)) {
        return item.doubted ? reg_db_doubt_job(&r->db, info->id, item.job, &item.result) : REG_OK;
    }
    reg_job_dir(info->out_dir, &suite->jobs[item.job], item.job, item.attempt, dir, sizeof dir);
    (void)reg_format(log, sizeof log, "%s/log.txt", dir);
    r->sum.jobs++;
    int status = reg_db_finish_job(&r->db, info->id, item.job, item.attempt, &item.result, log);
    if (status == REG_OK && strcmp(item.result.outcome, "pass") != 0) {
        status = note_explained(r, info, item.job);
    }
    return status;
}

/* Each record of done.txt begins with a line run= and ends with a line check=. */
static int take_records(recovery *r, const char *dir, const reg_run_info *info, const reg_suite *suite) {
    char path[REG_PATH_MAX];
    char *line = NULL;
    char *text = NULL;
    size_t room = 0;
    size_t used = 0;
    ssize_t length;
    int status = REG_OK;
    FILE *file = reg_runfile_done(dir, path, sizeof path) ? fopen(path, "re") : NULL;
    while (file != NULL && status == REG_OK && (length = getline(&line, &room, file)) > 0) {
        used = strncmp(line, "run=", 4) == 0 ? 0 : used;
        char *more = realloc(text, used + (size_t)length + 1);
        if (more == NULL) {
            status = reg_error("out of memory");
            break;
        }
        text = more;
        memcpy(text + used, line, (size_t)length + 1);
        used += (size_t)length;
        if (strncmp(line, "check=", 6) == 0) {
            status = take_record(r, info, suite, text);
            used = 0;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    free(line);
    free(text);
    return status;
}

/* OUT/end.txt */
static int take_end(recovery *r, const char *dir, int64_t run) {
    char path[REG_PATH_MAX];
    char state[16] = "";
    uint64_t elapsed = 0;
    FILE *file = reg_format(path, sizeof path, "%s/end.txt", dir) ? fopen(path, "re") : NULL;
    const bool known = file != NULL && fscanf(file, "%15s %" SCNu64, state, &elapsed) == 2;
    if (file != NULL) {
        (void)fclose(file);
    }
    return known ? reg_db_end_run(&r->db, run, state, elapsed) : REG_OK;
}

static int take_folder(recovery *r, const char *dir) {
    reg_run_info info;
    reg_suite suite;
    reg_programs programs;
    const size_t before = r->sum.jobs;
    int status = reg_runfile_read(dir, &info, &suite, &programs);
    int known = status == REG_OK ? find_run(r, &info) : REG_FAIL;
    if (status == REG_OK && known == REG_FAIL) {
        printf("%s: the database has another run %" PRId64 ": left as it is\n", dir, info.id);
    } else if (status == REG_OK) {
        const bool fresh = known == REG_NONE;
        status = fresh ? reg_db_put_run(&r->db, &info, &suite, &programs) : REG_OK;
        status = status == REG_OK ? take_records(r, dir, &info, &suite) : status;
        status = status == REG_OK && (fresh || r->sum.jobs > before) ? take_end(r, dir, info.id) : status;
        r->sum.runs += fresh || r->sum.jobs > before ? 1 : 0;
    }
    if (status != REG_NONE) {
        reg_suite_free(&suite);
        reg_programs_free(&programs);
    }
    return status == REG_NONE || status == REG_FAIL ? REG_OK : status; /* other folders are read, too */
}

static int take_folders(recovery *r, const char *build_dir, const char *const *dir, int dirs) {
    char pattern[REG_PATH_MAX];
    glob_t found;
    int status = REG_OK;
    if (!reg_format(pattern, sizeof pattern, "%s/regress/*", build_dir)) {
        return reg_error("%s: path too long", build_dir);
    }
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && status == REG_OK; i++) {
            status = take_folder(r, found.gl_pathv[i]);
        }
        globfree(&found);
    }
    for (int i = 0; i < dirs && status == REG_OK; i++) {
        status = take_folder(r, dir[i]);
    }
    return status;
}

/* Folders elsewhere (--out) that the database knows. */
static int take_known(recovery *r) {
    sqlite3_stmt *row = NULL;
    int step;
    int status = reg_db_prepare(&r->db, "SELECT DISTINCT out_dir FROM run WHERE out_dir IS NOT NULL", &row);
    while (status == REG_OK && (step = sqlite3_step(row)) == SQLITE_ROW) {
        status = take_folder(r, reg_row_text(row, "out_dir"));
    }
    (void)sqlite3_finalize(row);
    return status;
}

/* ---- the database ---- */

/* The damaged file and its logs under another name. */
static int set_aside(const char *path) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    char stamp[32];
    char aside[REG_PATH_MAX];
    const time_t now = time(NULL);
    struct tm parts;
    (void)strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", gmtime_r(&now, &parts));
    for (int i = 0; i == 0 || access(aside, F_OK) == 0; i++) {
        if (!reg_format(aside, sizeof aside - 8, "%s.damaged-%s-%d", path, stamp, i)) {
            return reg_error("%s: path too long", path);
        }
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char from[REG_PATH_MAX + 8];
        char to[REG_PATH_MAX + 8];
        (void)reg_format(from, sizeof from, "%s%s", path, ends[i]);
        (void)reg_format(to, sizeof to, "%s%s", aside, ends[i]);
        if (rename(from, to) != 0 && errno != ENOENT) {
            return reg_error("%s: cannot set it aside: %s", from, reg_why_not_written());
        }
    }
    printf("%s: damaged, now %s\n", path, aside);
    return REG_OK;
}

static void report(recovery *r) {
    sqlite3_stmt *row = NULL;
    printf("from folders: %zu runs, %zu results\n", r->sum.runs, r->sum.jobs);
    if (r->sum.salvaged != 0 || r->sum.salvaged_jobs != 0) {
        printf("from the damaged file: %zu more runs, %zu more jobs\n", r->sum.salvaged, r->sum.salvaged_jobs);
    }
    if (reg_db_prepare(&r->db,
                       "SELECT run, count(*) AS jobs FROM job WHERE outcome IS NULL GROUP BY run ORDER BY run DESC "
                       "LIMIT 20",
                       &row) == REG_OK) {
        while (sqlite3_step(row) == SQLITE_ROW) {
            printf("missing: run %" PRId64 ": %" PRId64 " jobs without a result\n", reg_row_number(row, "run"),
                   reg_row_number(row, "jobs"));
        }
    }
    (void)sqlite3_finalize(row);
}

/* Write into the database at `path`, with rows of a damaged one where there is one. */
static int fill(recovery *r, const char *path, const char *damaged, const char *build_dir, const char *const *dir,
                int dirs, bool check) {
    if (reg_db_open(&r->db, path, true) != REG_OK) {
        return REG_FAIL;
    }
    int status = reg_db_begin(&r->db);
    status = status == REG_OK ? take_folders(r, build_dir, dir, dirs) : status;
    status = status == REG_OK && damaged != NULL ? reg_salvage(&r->db, damaged, &r->sum) : status;
    status = status == REG_OK ? take_known(r) : status;
    if (status == REG_OK) {
        report(r);
        status = check ? reg_db_exec(&r->db, "ROLLBACK") : reg_db_commit(&r->db);
    }
    reg_db_close(&r->db);
    return status;
}

static int rebuild(recovery *r, const char *path, bool there, const char *build_dir, const char *const *dir, int dirs) {
    static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
    char fresh[REG_PATH_MAX - 8];
    char name[REG_PATH_MAX];
    if (!reg_format(fresh, sizeof fresh, "%s.recover", path)) {
        return reg_error("%s: path too long", path);
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) { /* of a recovery that did not end */
        (void)reg_format(name, sizeof name, "%s%s", fresh, ends[i]);
        (void)unlink(name);
    }
    int status = fill(r, fresh, there ? path : NULL, build_dir, dir, dirs, false);
    status = status == REG_OK && there ? set_aside(path) : status;
    if (status == REG_OK && rename(fresh, path) != 0) {
        status = reg_error("%s: cannot rename: %s", fresh, reg_why_not_written());
    }
    (void)reg_format(name, sizeof name, "%s.lock", fresh);
    (void)unlink(name);
    return status;
}

int reg_recover(const char *path, const char *build_dir, const char *const *dir, int dirs, bool check) {
    recovery r = {0};
    reg_lock lock = REG_UNLOCKED;
    const reg_db_is is = reg_db_look(path);
    if (is == REG_DB_FOREIGN || is == REG_DB_UNREADABLE) {
        return reg_db_ours(path, false);
    }
    if (reg_lock_all(&lock, path) != REG_OK) {
        return REG_FAIL;
    }
    const bool whole = is == REG_DB_OURS && reg_db_whole(path);
    int status;
    if (check && !whole) {
        status = reg_error(is == REG_DB_MISSING ? "%s: is missing%s" : "%s: is damaged%s", path, REG_DB_GO_ON);
    } else if (whole) {
        printf("%s: whole\n", path);
        status = fill(&r, path, NULL, build_dir, dir, dirs, check);
        status = status == REG_OK && check && r.sum.runs != 0 ? REG_FAIL : status;
    } else {
        status = rebuild(&r, path, is != REG_DB_MISSING, build_dir, dir, dirs);
    }
    reg_lock_release(&lock);
    return status;
}
