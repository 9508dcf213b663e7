/* db.h - the results database, and what a run has in its folder (private to regress/). */
#ifndef REG_DB_H
#define REG_DB_H

#include "lock.h"
#include "process.h"

/* ---- db.c, store.c: the results database ---- */

struct sqlite3;
struct sqlite3_stmt;

typedef struct reg_db {
    struct sqlite3 *handle;
    struct sqlite3_stmt *finish_job;
    reg_lock lock; /* released when the database is closed */
    char path[REG_PATH_MAX];
} reg_db;

typedef struct reg_run_info {
    int64_t id; /* filled in by reg_db_begin_run */
    char suite[REG_NAME_MAX];
    char suite_path[REG_PATH_MAX];
    char build_dir[REG_PATH_MAX];
    char out_dir[REG_PATH_MAX - 128]; /* room for the names below it */
    uint64_t seed;
    uint32_t budget_s;
    int parallel;
    char commit[64];
    bool dirty;
    char changes[65]; /* SHA-256 of what is not committed; empty: nothing, or unknown */
    char tools[512];
    char host[256];
    char shard[24];
    char launcher[16];
    char coverage_dir[REG_PATH_MAX - 128]; /* where jobs write their coverage; empty: nowhere */
    uint64_t elapsed_ms;                   /* so far */
    int64_t started_at;
} reg_run_info;

/* State of a job in the database before this runner starts. */
typedef struct reg_past {
    char outcome[24]; /* empty: it has to run */
    char trace_hash[40];
    uint32_t attempt; /* that gave the outcome; without one: the next attempt */
} reg_past;

/* Open the database, creating it when create is true, and bring its schema up to date. */
int reg_db_open(reg_db *db, const char *path, bool create);
void reg_db_close(reg_db *db);

/* Print SQLite's message on the last failure; returns REG_FAIL. */
int reg_db_fail(const reg_db *db, const char *what);

/* Execute SQL without results. */
int reg_db_exec(const reg_db *db, const char *sql);

/* Prepare a statement. */
int reg_db_prepare(const reg_db *db, const char *sql, struct sqlite3_stmt **stmt);

/* A value of a statement. REG_KNOWN: a text, of which the empty one is NULL, for unknown and empty are the same
 * here. */
typedef struct reg_value {
    enum { REG_VALUE_NULL, REG_VALUE_TEXT, REG_VALUE_NUMBER, REG_VALUE_REAL } kind;
    const char *text;
    int64_t number;
    double real;
} reg_value;
#define REG_TEXT(value) ((reg_value){.kind = REG_VALUE_TEXT, .text = (value)})
#define REG_KNOWN(value) ((reg_value){.kind = (value)[0] == '\0' ? REG_VALUE_NULL : REG_VALUE_TEXT, .text = (value)})
#define REG_NUMBER(value) ((reg_value){.kind = REG_VALUE_NUMBER, .number = (int64_t)(value)})
#define REG_NUMBER_IF(known, value)                                                                                    \
    ((reg_value){.kind = (known) ? REG_VALUE_NUMBER : REG_VALUE_NULL, .number = (int64_t)(value)})
#define REG_REAL(value) ((reg_value){.kind = REG_VALUE_REAL, .real = (value)})
#define REG_VALUES(...) (const reg_value[]){__VA_ARGS__}, sizeof((const reg_value[]){__VA_ARGS__}) / sizeof(reg_value)

/* Give a statement its values, from ?1 on. */
int reg_db_bind(const reg_db *db, struct sqlite3_stmt *stmt, const reg_value *value, size_t count);
/* Prepare a statement and give it its values. */
int reg_db_ask(const reg_db *db, const char *sql, struct sqlite3_stmt **stmt, const reg_value *value, size_t count);
/* A statement that has no rows, with these values; it can be used again. */
int reg_db_put(const reg_db *db, struct sqlite3_stmt *stmt, const reg_value *value, size_t count);
/* The same from its text. */
int reg_db_write(const reg_db *db, const char *sql, const reg_value *value, size_t count);
/* The last step of a statement, which is freed; what: was to be done. */
int reg_db_end(const reg_db *db, struct sqlite3_stmt *stmt, int step, const char *what);
/* A column of a row by its name in the statement: not NULL; as text, NULL as ""; as a number, NULL as 0. A name that no
 * column has reads as NULL. */
bool reg_row_known(struct sqlite3_stmt *row, const char *name);
const char *reg_row_text(struct sqlite3_stmt *row, const char *name);
int64_t reg_row_number(struct sqlite3_stmt *row, const char *name);

/* Write the rows of a run, its programs and jobs; id 0: the next one, of which no folder is there. */
int reg_db_put_run(reg_db *db, reg_run_info *info, const reg_suite *suite, const reg_programs *programs);

/* Record a run with its programs and all its jobs, none of them finished, in one transaction. The run is locked before
   anybody sees it. An empty out_dir becomes BUILD_DIR/regress/RUN. */
int reg_db_begin_run(reg_db *db, reg_run_info *info, const reg_suite *suite, const reg_programs *programs);

/* A program of a run has been built. */
int reg_db_put_program(const reg_db *db, int64_t run, const reg_program *program);

int reg_db_begin(reg_db *db);
int reg_db_commit(reg_db *db);

/* Record a finished job (index into the suite). The first attempt with an outcome stays: a second one is an error. */
int reg_db_finish_job(reg_db *db, int64_t run, size_t idx, uint32_t attempt, const reg_result *result,
                      const char *log_path);

/* Attempts at a recorded job contradict each other: outcome, signature and message change, a repro where there was
 * none. */
int reg_db_doubt_job(reg_db *db, int64_t run, size_t idx, const reg_result *result);

/* The machine kept a job from running: the cause. It has no outcome, so that a resumed run runs it again. */
int reg_db_host_job(reg_db *db, int64_t run, size_t idx, uint32_t attempt, const char *cause, const char *log_path);

/* Results of the explanation of a job: folder, waveform, small case; empty text changes nothing. */
int reg_db_explain_job(reg_db *db, int64_t run, size_t idx, const char *bundle, const char *wave, const char *shrunk);

/* The run is resumed: state running, one more resume. */
int reg_db_resume_run(reg_db *db, int64_t run);

/* state: done, interrupted, stopped (fail-fast). */
int reg_db_end_run(reg_db *db, int64_t run, const char *state, uint64_t elapsed_ms);

/* The newest run's id, or the one that the text names. */
int reg_db_find_run(reg_db *db, const char *text, int64_t *run);

/* ---- dbcheck.c: is it ours, is it whole? ---- */

#define REG_APPLICATION_ID 0x544e444d /* "TNDM" */
#define REG_DB_GO_ON ": tandem-regress recover sets it aside and rebuilds it"
typedef enum reg_db_is {
    REG_DB_OURS,
    REG_DB_MISSING,
    REG_DB_EMPTY,
    REG_DB_NO_DATABASE,
    REG_DB_FOREIGN, /* of another program */
    REG_DB_DAMAGED,
    REG_DB_UNREADABLE /* errno */
} reg_db_is;
/* What a file is, by its beginning; it stays as it is. */
reg_db_is reg_db_look(const char *path);
/* Every page of a database of ours. */
bool reg_db_whole(const char *path);
/* Before it is opened: a file of other programs is refused (printed) and stays as it is. create: it may be missing. */
int reg_db_ours(const char *path, bool create);
/* After it was opened: damage is found (printed). */
int reg_db_sound(const reg_db *db);

/* ---- load.c: a run out of the database ---- */

/* The newest run of a suite (its file), 0 when there is none. */
int reg_db_newest_of(reg_db *db, const char *suite_path, int64_t *run);
/* Everything but tools and host, which have no influence. */
int reg_db_load_run(reg_db *db, int64_t run, reg_run_info *info);
/* The job list with the state of each job; *past is to be freed, the suite with reg_suite_free. */
int reg_db_load_jobs(reg_db *db, const reg_run_info *info, reg_suite *suite, reg_past **past);
/* One job of it. */
int reg_db_load_job(reg_db *db, int64_t run, size_t idx, reg_job *job);
/* The programs that the run was started with; hash 0: not built until now. */
int reg_db_load_programs(reg_db *db, int64_t run, reg_programs *programs);

/* ---- runfile.c: what a run is, in its folder, for `recover` ---- */

/* OUT/run.txt; the files of an earlier run in that folder go. */
int reg_runfile_write(const reg_run_info *info, const reg_suite *suite, const reg_programs *programs);
/* REG_NONE: there is none. Else to be freed, also after a failure. */
int reg_runfile_read(const char *out_dir, reg_run_info *info, reg_suite *suite, reg_programs *programs);
/* OUT/end.txt; state NULL: the run goes on. */
void reg_runfile_end(const char *out_dir, const char *state, uint64_t elapsed_ms);
/* Remove them. */
void reg_runfile_remove(const char *out_dir);
/* Path of OUT/done.txt: a record (slurm_record.c) of each finished job, after it was written into the database. */
bool reg_runfile_done(const char *out_dir, char *out, size_t size);

/* ---- recover.c, salvage.c ---- */

/* What came back. */
typedef struct reg_recovered {
    size_t runs, jobs;              /* from folders; jobs: finished ones */
    size_t salvaged, salvaged_jobs; /* rows of the damaged file; all jobs */
    size_t unfinished;              /* jobs without an outcome */
} reg_recovered;
/* Rows of a damaged database that can be read and are not in the other one. */
int reg_salvage(reg_db *db, const char *damaged, reg_recovered *sum);
/* Bring back what folders of runs and a damaged database have. check: only look. dir: more folders of runs. */
int reg_recover(const char *path, const char *build_dir, const char *const *dir, int dirs, bool check);

/* ---- gc.c ---- */

typedef struct reg_gc_plan {
    int64_t keep_runs; /* the newest ones; -1: not given */
    int64_t keep_days; /* younger ones; -1: not given */
    int64_t max_mib;   /* then remove the oldest until the rest fits; -1: not given */
    bool forget;       /* their rows go, too */
    bool dry_run;
    bool json;
} reg_gc_plan;

/* Remove the files of runs that no option keeps; reports the space freed. */
int reg_gc(const reg_gc_plan *plan, reg_db *db, FILE *out);

/* ---- cover.c ---- */

/* Keep the figures of a file of `tandem-cov summary` with a run: {"figures": [{"name", "percent", "percent_before",
 * "covered", "points"}, ..]}. */
int reg_cover_keep(reg_db *db, int64_t run, const char *path);

/* ---- qualify.c ---- */

/* Keep the summary of a run of functional qualification (`qualify.py report --json`), with the commit of the folder in
 * which this is called. Errors, in one line: no such file, it is not such a summary, the database. */
int reg_qualify_keep(reg_db *db, const char *path);

/* ---- hostinfo.c ---- */
/* commit, dirty */
void reg_commit_info(reg_run_info *info);
/* tools, host */
void reg_host_info(reg_run_info *info);

#endif
