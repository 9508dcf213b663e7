/* db.c - the results database: opening, schema, migrations. */
#define _GNU_SOURCE
#include "db.h"
#include "report/report.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#define BUSY_TIMEOUT_MS 30000

/*
 * Entry i takes a database from version i to i+1. Entries are never edited, only added. Seeds and hashes are text:
 * SQLite's integers have a sign. Job rows are written at the start of the run; outcome NULL means that the job has not
 * finished.
 */
static const char *const migrations[] = {
    "CREATE TABLE run("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " suite TEXT NOT NULL,"
    " suite_path TEXT NOT NULL,"
    " seed TEXT NOT NULL,"
    " commit_hash TEXT NOT NULL,"
    " dirty INTEGER NOT NULL,"
    " tools TEXT NOT NULL,"
    " host TEXT NOT NULL,"
    " launcher TEXT NOT NULL,"
    " shard TEXT NOT NULL,"
    " parallel INTEGER NOT NULL,"
    " budget_s INTEGER NOT NULL,"
    " build_dir TEXT NOT NULL,"
    " out_dir TEXT,"
    " state TEXT NOT NULL," /* running, done, stopped, interrupted */
    " started_at INTEGER NOT NULL,"
    " elapsed_ms INTEGER);"
    "CREATE TABLE job("
    " id INTEGER PRIMARY KEY,"
    " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " idx INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL DEFAULT 1,"
    " what TEXT NOT NULL," /* unit, test, network, case */
    " test TEXT NOT NULL,"
    " cfg TEXT NOT NULL,"
    " kind TEXT NOT NULL,"
    " seed TEXT NOT NULL,"
    " first_index INTEGER NOT NULL,"
    " cases INTEGER NOT NULL,"
    " args TEXT NOT NULL,"
    " second_run INTEGER NOT NULL,"
    " timeout_s INTEGER NOT NULL,"
    " memory_mb INTEGER NOT NULL,"
    " cmd TEXT NOT NULL,"
    " outcome TEXT," /* pass, fail, error, crash, timeout, nondeterministic */
    " signature TEXT,"
    " message TEXT,"
    " repro TEXT,"
    " cycles INTEGER,"
    " trace_hash TEXT,"
    " exit_status INTEGER,"
    " wall_ms INTEGER,"
    " cpu_ms INTEGER,"
    " max_rss_kb INTEGER,"
    " case_path TEXT,"
    " wave_path TEXT,"
    " log_path TEXT,"
    " UNIQUE(run, idx, attempt));",
    "CREATE INDEX job_history ON job(what, test, cfg, kind, seed, first_index);"
    "CREATE INDEX job_signature ON job(run, signature) WHERE signature IS NOT NULL;",
    /* Resuming, explained failures, removed files, times of a job's last runs. */
    "CREATE TABLE program("
    " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " path TEXT NOT NULL,"
    " hash TEXT NOT NULL,"
    " PRIMARY KEY(run, path)) WITHOUT ROWID;"
    "ALTER TABLE run ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;" /* how often */
    "ALTER TABLE run ADD COLUMN cleaned INTEGER NOT NULL DEFAULT 0;" /* its files were removed */
    "ALTER TABLE job ADD COLUMN bundle_path TEXT;"                   /* folder that explains the failure */
    "ALTER TABLE job ADD COLUMN shrunk_path TEXT;"                   /* a small case with the same failure */
    "CREATE INDEX job_time ON job(what, test, cfg, kind, cases, args, id) WHERE outcome='pass';",
    /* Cycles of the operators of a job and their lower bounds; NULL: not in the result. */
    "ALTER TABLE job ADD COLUMN work_cases INTEGER;"  /* cases that the following sums are of */
    "ALTER TABLE job ADD COLUMN work_cycles INTEGER;" /* cycles with a task */
    "ALTER TABLE job ADD COLUMN mac_bound INTEGER;"
    "ALTER TABLE job ADD COLUMN read_bound INTEGER;"
    "ALTER TABLE job ADD COLUMN write_bound INTEGER;"
    "ALTER TABLE job ADD COLUMN bound INTEGER;", /* of each case the largest one */
    /* Coverage: where the jobs of a run write theirs, and the figures of the run (percent: after waivers,
       before_percent: without them). */
    "ALTER TABLE run ADD COLUMN coverage_dir TEXT;"
    "CREATE TABLE coverage("
    " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " place INTEGER NOT NULL," /* in the table of a run */
    " name TEXT NOT NULL,"
    " percent REAL NOT NULL,"
    " before_percent REAL NOT NULL,"
    " covered INTEGER NOT NULL,"
    " total INTEGER NOT NULL,"
    " PRIMARY KEY(run, name)) WITHOUT ROWID;",
    /* Designs: bounds by their names; a second design was an example, whose name was that of its test; suites lay in
       one folder. */
    "ALTER TABLE job ADD COLUMN bounds TEXT;" /* {"NAME":cycles}; NULL: not in the result */
    "UPDATE job SET bounds=json_object('mesh',mac_bound,'read',read_bound,'write',write_bound) WHERE work_cases IS NOT "
    "NULL;"
    "ALTER TABLE job DROP COLUMN mac_bound;"
    "ALTER TABLE job DROP COLUMN read_bound;"
    "ALTER TABLE job DROP COLUMN write_bound;"
    "UPDATE job SET what='test',cfg=test||'/'||cfg WHERE what='example';"
    "UPDATE run SET suite_path='" REG_ALL_DESIGNS "'||substr(suite_path,16) WHERE suite_path LIKE 'regress/suites/%';",
    /* Why the machine kept a job from running; it has no outcome. */
    "ALTER TABLE job ADD COLUMN host TEXT;",
    /* SHA-256 of what was not committed when the run began. */
    "ALTER TABLE run ADD COLUMN changes TEXT NOT NULL DEFAULT '';",
    /* Runs of functional qualification, each a row: mutants by verdict, weak: infected, not detected; failures of unit
       checks, and those of them that name the right unit. */
    "CREATE TABLE qualify("
    " id INTEGER PRIMARY KEY,"
    " at INTEGER NOT NULL,"
    " design TEXT NOT NULL,"
    " cfg TEXT NOT NULL,"
    " suite TEXT NOT NULL,"
    " commit_hash TEXT NOT NULL,"
    " dirty INTEGER NOT NULL,"
    " mutants INTEGER NOT NULL,"
    " of_all INTEGER NOT NULL,"
    " detected INTEGER NOT NULL,"
    " weak INTEGER NOT NULL,"
    " reached INTEGER NOT NULL,"
    " not_reached INTEGER NOT NULL,"
    " equivalent INTEGER NOT NULL,"
    " score REAL NOT NULL,"
    " seconds REAL NOT NULL,"
    " cpu_s REAL NOT NULL,"
    " by_units INTEGER NOT NULL,"
    " blamed INTEGER NOT NULL);",
};

#define SCHEMA_VERSION ((int)(sizeof migrations / sizeof migrations[0]))

/* A lock of the database could not be given back: SQLite would try each further statement for ten seconds. */
static bool lock_lost;

int reg_db_fail(const reg_db *db, const char *what) {
    if (lock_lost) {
        return REG_FAIL; /* has been told */
    }
    const char *reason = db->handle == NULL ? "out of memory" : sqlite3_errmsg(db->handle);
    /* SQLite reports a refused write as an I/O error without the reason, which is nearly always this one. */
    bool write = db->handle != NULL && sqlite3_extended_errcode(db->handle) == SQLITE_IOERR_WRITE;
    const int code = db->handle == NULL ? SQLITE_NOMEM : sqlite3_errcode(db->handle);
    const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    lock_lost = code == SQLITE_PROTOCOL;
    (void)rep_host(code == SQLITE_FULL || code == SQLITE_NOMEM       ? code == SQLITE_FULL ? ENOSPC : ENOMEM
                   : code == SQLITE_IOERR || code == SQLITE_CANTOPEN ? EIO
                   : lock_lost                                       ? ENOLCK
                                                                     : 0); /* it has been opened before */
    /* a full disk is told once, not by each of the writes that it refuses */
    static int told = SQLITE_OK;
    if (code == told && (code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_READONLY)) {
        return REG_FAIL;
    }
    told = code;
    return reg_error("%s: cannot %s: %s%s", db->path, what, reason,
                     write       ? " (write refused: disk full or file size limit)"
                     : lock_lost ? " (a lock was refused)"
                     : damaged   ? REG_DB_GO_ON
                                 : "");
}

int reg_db_exec(const reg_db *db, const char *sql) {
    return !lock_lost && sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? REG_OK : REG_FAIL;
}

int reg_db_prepare(const reg_db *db, const char *sql, struct sqlite3_stmt **stmt) {
    *stmt = NULL;
    if (lock_lost || sqlite3_prepare_v2(db->handle, sql, -1, stmt, NULL) != SQLITE_OK) {
        return reg_db_fail(db, "prepare a query");
    }
    return REG_OK;
}

int reg_db_bind(const reg_db *db, struct sqlite3_stmt *stmt, const reg_value *value, size_t count) {
    int rc = SQLITE_OK;
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        const int at = (int)i + 1;
        if (value[i].kind == REG_VALUE_TEXT) {
            rc = sqlite3_bind_text(stmt, at, value[i].text, -1, SQLITE_TRANSIENT);
        } else if (value[i].kind == REG_VALUE_NUMBER) {
            rc = sqlite3_bind_int64(stmt, at, value[i].number);
        } else if (value[i].kind == REG_VALUE_REAL) {
            rc = sqlite3_bind_double(stmt, at, value[i].real);
        } else {
            rc = sqlite3_bind_null(stmt, at);
        }
    }
    return rc == SQLITE_OK ? REG_OK : reg_db_fail(db, "fill in a query");
}

int reg_db_ask(const reg_db *db, const char *sql, struct sqlite3_stmt **stmt, const reg_value *value, size_t count) {
    int status = reg_db_prepare(db, sql, stmt);
    if (status == REG_OK && (status = reg_db_bind(db, *stmt, value, count)) != REG_OK) {
        (void)sqlite3_finalize(*stmt);
        *stmt = NULL;
    }
    return status;
}

int reg_db_put(const reg_db *db, struct sqlite3_stmt *stmt, const reg_value *value, size_t count) {
    int status = lock_lost ? REG_FAIL : reg_db_bind(db, stmt, value, count);
    status = status == REG_OK && sqlite3_step(stmt) != SQLITE_DONE ? reg_db_fail(db, "write") : status;
    (void)sqlite3_reset(stmt);
    return status;
}

int reg_db_write(const reg_db *db, const char *sql, const reg_value *value, size_t count) {
    sqlite3_stmt *stmt = NULL;
    int status = reg_db_prepare(db, sql, &stmt);
    status = status == REG_OK ? reg_db_put(db, stmt, value, count) : status;
    (void)sqlite3_finalize(stmt);
    return status;
}

int reg_db_end(const reg_db *db, struct sqlite3_stmt *stmt, int step, const char *what) {
    const int status = step == SQLITE_DONE || step == SQLITE_ROW ? REG_OK : reg_db_fail(db, what);
    (void)sqlite3_finalize(stmt);
    return status;
}

static int column_of(struct sqlite3_stmt *row, const char *name) {
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        if (strcmp(sqlite3_column_name(row, i), name) == 0) {
            return i;
        }
    }
    return -1; /* which SQLite reads as NULL */
}

bool reg_row_known(struct sqlite3_stmt *row, const char *name) {
    return sqlite3_column_type(row, column_of(row, name)) != SQLITE_NULL;
}

const char *reg_row_text(struct sqlite3_stmt *row, const char *name) {
    const unsigned char *text = sqlite3_column_text(row, column_of(row, name));
    return text == NULL ? "" : (const char *)text;
}

int64_t reg_row_number(struct sqlite3_stmt *row, const char *name) {
    return sqlite3_column_int64(row, column_of(row, name));
}

static int read_version(const reg_db *db, int *version) {
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db->handle, "PRAGMA user_version", -1, &stmt, NULL) != SQLITE_OK) {
        return REG_FAIL;
    }
    int status = REG_FAIL;
    if (sqlite3_step(stmt) == SQLITE_ROW) {
        *version = sqlite3_column_int(stmt, 0);
        status = REG_OK;
    }
    (void)sqlite3_finalize(stmt);
    return status;
}

/* All steps in one transaction: a database is of one version or of the other. */
static int migrate(const reg_db *db) {
    int version = 0;
    if (read_version(db, &version) != REG_OK) {
        return reg_db_fail(db, "read the schema version");
    }
    if (version == SCHEMA_VERSION) {
        return REG_OK;
    }
    if (reg_db_exec(db, "BEGIN IMMEDIATE") != REG_OK || read_version(db, &version) != REG_OK) {
        return reg_db_fail(db, "lock the database");
    }
    if (version > SCHEMA_VERSION || version < 0) {
        reg_error("%s: schema version %d is newer than this program's (%d)", db->path, version, SCHEMA_VERSION);
        (void)reg_db_exec(db, "ROLLBACK");
        return REG_FAIL;
    }
    char pragma[64];
    (void)reg_format(pragma, sizeof pragma, "PRAGMA user_version=%d", SCHEMA_VERSION);
    int status = REG_OK;
    for (int i = version; status == REG_OK && i < SCHEMA_VERSION; i++) {
        status = reg_db_exec(db, migrations[i]);
    }
    if (status != REG_OK || reg_db_exec(db, pragma) != REG_OK || reg_db_exec(db, "COMMIT") != REG_OK) {
        status = reg_db_fail(db, "bring the schema up to date");
        (void)reg_db_exec(db, "ROLLBACK");
    }
    return status;
}

static int check_path(const char *path, bool create) {
    struct stat info;
    if (stat(path, &info) != 0) {
        if (errno == ENOENT && create) {
            return REG_OK;
        }
        return reg_error("%s: no results database: %s", path, reg_why());
    }
    if (!S_ISREG(info.st_mode)) {
        return reg_error("%s: cannot be the results database: not a regular file", path);
    }
    return REG_OK;
}

/* Two runners that create the database at the same moment: SQLite does not wait when the journal mode changes, so this
 * does. */
static int use_wal(const reg_db *db) {
    const double end = reg_now() + BUSY_TIMEOUT_MS / 1000.0;
    while (reg_db_exec(db, "PRAGMA journal_mode=WAL") != REG_OK) {
        if (sqlite3_errcode(db->handle) != SQLITE_BUSY || reg_now() > end) {
            return REG_FAIL;
        }
        reg_pause(20);
    }
    return reg_db_exec(db, "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON");
}

/* SQL function run_state(id, state): a runner that dies cannot write so. */
static void run_state(sqlite3_context *call, int count, sqlite3_value **value) {
    reg_db *db = sqlite3_user_data(call);
    const char *state = (const char *)sqlite3_value_text(value[1]);
    (void)count;
    if (state != NULL && strcmp(state, "running") == 0 &&
        !reg_lock_held(&db->lock, db->path, sqlite3_value_int64(value[0]))) {
        sqlite3_result_text(call, "died", -1, SQLITE_STATIC);
    } else {
        sqlite3_result_value(call, value[1]);
    }
}

/* SQL function key(value, ..): one number for them all (FNV-1a), as SQLite sorts numbers several times faster than the
 * texts that identify a job. */
static void key(sqlite3_context *call, int count, sqlite3_value **value) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < count; i++) {
        const unsigned char *text = sqlite3_value_text(value[i]);
        for (int at = sqlite3_value_bytes(value[i]); at >= 0; at--, text++) { /* with its end, also of NULL */
            hash = (hash ^ (at == 0 ? 0u : *text)) * UINT64_C(0x100000001b3);
        }
    }
    sqlite3_result_int64(call, (int64_t)hash);
}

/* Into the file itself, before a write-ahead log can hold it. */
static int mark(const reg_db *db) {
    char pragma[64];
    sqlite3_stmt *stmt = NULL;
    const char *ask = "SELECT 1 FROM pragma_application_id WHERE application_id=?";
    if (sqlite3_prepare_v2(db->handle, ask, -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_bind_int(stmt, 1, REG_APPLICATION_ID) != SQLITE_OK) {
        return REG_FAIL;
    }
    const int step = sqlite3_step(stmt);
    (void)sqlite3_finalize(stmt);
    (void)reg_format(pragma, sizeof pragma, "PRAGMA application_id=%d", REG_APPLICATION_ID);
    return step == SQLITE_ROW ? REG_OK : reg_db_exec(db, pragma);
}

int reg_db_open(reg_db *db, const char *path, bool create) {
    memset(db, 0, sizeof *db);
    db->lock = REG_UNLOCKED;
    if (!reg_format(db->path, sizeof db->path, "%s", path)) {
        return reg_error("%s: path too long", path);
    }
    if (check_path(path, create) != REG_OK || reg_db_ours(path, create) != REG_OK) {
        return REG_FAIL;
    }
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path, &db->handle, flags, NULL) != SQLITE_OK) {
        (void)reg_db_fail(db, "open the results database");
        reg_db_close(db);
        return REG_FAIL;
    }
    (void)sqlite3_busy_timeout(db->handle, BUSY_TIMEOUT_MS);
    int status = REG_OK;
    if (sqlite3_create_function(db->handle, "run_state", 2, SQLITE_UTF8, db, run_state, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db->handle, "key", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, key, NULL, NULL) !=
            SQLITE_OK ||
        mark(db) != REG_OK || use_wal(db) != REG_OK) {
        status = reg_db_fail(db, "open the results database");
    }
    if (status == REG_OK) {
        status = migrate(db);
    }
    if (status == REG_OK) {
        status = reg_db_sound(db);
    }
    if (status != REG_OK) {
        reg_db_close(db);
    }
    return status;
}

void reg_db_close(reg_db *db) {
    (void)sqlite3_finalize(db->finish_job);
    (void)sqlite3_close(db->handle);
    reg_lock_release(&db->lock);
    db->finish_job = NULL;
    db->handle = NULL;
}
