/*
 * dbcheck.c - is a file the results database, and is it whole?
 *
 * Another program's file must stay as it is, byte for byte: opening it as a database in WAL mode would already change
 * it. Its header and its tables are therefore read first, without locks and logs.
 */
#define _GNU_SOURCE
#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER 100 /* of a file of SQLite */
#define WAL_HEADER 32
/* Reading every page of a larger file takes longer than most queries. */
#define WHOLE_MAX_BYTES ((off_t)16 << 20)

static uint32_t big_endian(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Bytes at the beginning of a file; -1: it cannot be read. */
static ssize_t read_head(const char *path, unsigned char *head, size_t size, off_t *length) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t got = fstat(fd, &info) == 0 ? 0 : -1;
    for (ssize_t more = 1; got >= 0 && more > 0 && got < (ssize_t)size;) { /* a read may be short */
        more = read(fd, head + got, size - (size_t)got);
        got = more < 0 ? -1 : got + more;
    }
    *length = got < 0 ? 0 : info.st_size;
    (void)close(fd);
    return got;
}

/* Does SQLite call it damage, and not a read or an allocation that the machine refused? */
static bool is_damage(int code) {
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

/* Of a file without our mark: 1: it has our tables, or none yet; 0: others; -1: damaged; -2: it cannot be read. */
static int has_our_tables(const char *path) {
    sqlite3 *handle = NULL;
    sqlite3_stmt *row = NULL;
    int verdict = -1;
    char *uri = sqlite3_mprintf("%s", "file:");
    for (const char *p = path; uri != NULL && *p != '\0'; p++) { /* %, ? and # have a meaning in it */
        char *more = strchr("%?#", *p) != NULL ? sqlite3_mprintf("%s%%%02x", uri, (unsigned)*p)
                                               : sqlite3_mprintf("%s%c", uri, *p);
        sqlite3_free(uri);
        uri = more;
    }
    char *whole = uri == NULL ? NULL : sqlite3_mprintf("%s?immutable=1", uri);
    if (whole != NULL && sqlite3_open_v2(whole, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(handle,
                           "SELECT count(*)=0 OR (sum(name IN ('run','job'))=2 AND "
                           "sum(name NOT IN ('run','job','program','coverage','qualify'))=0) FROM sqlite_master"
                           " WHERE type='table' AND name NOT LIKE 'sqlite_%'",
                           -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW) {
        verdict = sqlite3_column_int(row, 0);
    } else if (handle == NULL || !is_damage(sqlite3_errcode(handle))) {
        verdict = -2;
    }
    (void)sqlite3_finalize(row);
    (void)sqlite3_close(handle);
    sqlite3_free(whole);
    sqlite3_free(uri);
    return verdict;
}

/* A log that SQLite would ignore, with all results in it. */
static bool log_is_cut(const char *path) {
    char log[REG_PATH_MAX + 8];
    unsigned char head[WAL_HEADER];
    off_t length = 0;
    (void)reg_format(log, sizeof log, "%s-wal", path);
    const ssize_t got = read_head(log, head, sizeof head, &length);
    return got > 0 && (got < WAL_HEADER || (big_endian(head) & ~1u) != 0x377f0682u);
}

reg_db_is reg_db_look(const char *path) {
    unsigned char head[HEADER];
    off_t length = 0;
    const ssize_t got = read_head(path, head, sizeof head, &length);
    if (got <= 0) {
        return got == 0 ? REG_DB_EMPTY : errno == ENOENT ? REG_DB_MISSING : REG_DB_UNREADABLE;
    }
    if (got < HEADER || memcmp(head, "SQLite format 3", 16) != 0) {
        return REG_DB_NO_DATABASE;
    }
    const int tables = big_endian(head + 68) == REG_APPLICATION_ID ? 1 : has_our_tables(path);
    if (tables == -2) {
        errno = EIO;
        return REG_DB_UNREADABLE;
    }
    return tables == 0 ? REG_DB_FOREIGN : tables < 0 || log_is_cut(path) ? REG_DB_DAMAGED : REG_DB_OURS;
}

int reg_db_ours(const char *path, bool create) {
    switch (reg_db_look(path)) {
    case REG_DB_EMPTY: /* another runner may be creating it */
        return create ? REG_OK : reg_error("%s: is empty%s", path, REG_DB_GO_ON);
    case REG_DB_NO_DATABASE:
        return reg_error("%s: is not a results database; if it was one, it is damaged%s", path, REG_DB_GO_ON);
    case REG_DB_FOREIGN:
        return reg_error("%s: is a database of another program, not of results", path);
    case REG_DB_DAMAGED:
        return reg_error("%s: is damaged%s", path, REG_DB_GO_ON);
    case REG_DB_UNREADABLE:
        return reg_error("%s: cannot read: %s", path, reg_why());
    default: /* whether it may be missing was checked before */
        return REG_OK;
    }
}

/* 1: good; 0: SQLite finds damage on the way to the first row, or, of a check, says anything but ok; -1: something was
 * not read. */
static int reads(sqlite3 *handle, const char *sql, bool check) {
    sqlite3_stmt *row = NULL;
    int verdict = 1;
    (void)sqlite3_prepare_v2(handle, sql, -1, &row, NULL);
    if (sqlite3_step(row) == SQLITE_ROW && check) {
        const char *said = (const char *)sqlite3_column_text(row, 0);
        const bool unread = said == NULL || strstr(said, "failed to get page") != NULL ||
                            (strstr(said, "unable to get the page") != NULL && strstr(said, "error code=11") == NULL);
        verdict = unread ? -1 : strcmp(said, "ok") == 0;
    }
    const int code = sqlite3_errcode(handle);
    (void)sqlite3_finalize(row);
    return is_damage(code) ? 0 : code == SQLITE_IOERR || code == SQLITE_NOMEM ? -1 : verdict;
}

int reg_db_sound(const reg_db *db) {
    struct stat info;
    const bool whole = stat(db->path, &info) == 0 && info.st_size <= WHOLE_MAX_BYTES;
    const char *const parts[] = {
        whole ? "PRAGMA quick_check(1)" : "SELECT sum(length(suite)+length(tools)+length(host)+length(state)) FROM run",
        whole ? NULL : "SELECT sum(length(cmd)+length(log_path)) FROM job WHERE run=(SELECT max(id) FROM run)"};
    for (size_t i = 0; i < 2 && parts[i] != NULL; i++) {
        const int verdict = reads(db->handle, parts[i], whole);
        if (verdict < 0) {
            errno = EIO;
            return reg_error("%s: cannot read: %s", db->path, reg_why());
        }
        if (verdict == 0) {
            return reg_error("%s: is damaged%s", db->path, REG_DB_GO_ON);
        }
    }
    return REG_OK;
}

bool reg_db_whole(const char *path) {
    sqlite3 *handle = NULL;
    const bool good = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                      sqlite3_busy_timeout(handle, 30000) == SQLITE_OK &&
                      reads(handle, "PRAGMA integrity_check(1)", true) == 1 &&
                      reads(handle, "SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM job)", false) == 1;
    (void)sqlite3_close(handle);
    return good;
}
