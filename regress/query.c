/* query.c - queries of the results database: one statement and one description of columns each. */
#define _GNU_SOURCE
#include "query_sql.h"

#include <sqlite3.h>
#include <string.h>

static const reg_column run_columns[] = {
    {"run", "run", REG_CELL_NUMBER},
    {"suite", "suite", REG_CELL_TEXT},
    {"started", "started (UTC)", REG_CELL_TEXT},
    {"state", "state", REG_CELL_TEXT},
    {"seed", "seed", REG_CELL_TEXT},
    {"commit", "commit", REG_CELL_TEXT},
    {"jobs", "jobs", REG_CELL_NUMBER},
    {"passed", "passed", REG_CELL_NUMBER},
    {"failed", "failed", REG_CELL_NUMBER},
    {"not_run", "not run", REG_CELL_NUMBER},
    {"seconds", "seconds", REG_CELL_REAL},
    {"resumed", NULL, REG_CELL_NUMBER},
    {"files_removed", NULL, REG_CELL_FLAG},
    {"out_dir", NULL, REG_CELL_TEXT},
};
static const char runs_sql[] =
    "SELECT r.id, r.suite, datetime(r.started_at,'unixepoch'), " STATE(r) ", r.seed, " COMMIT(
        r) ", count(j.id), coalesce(sum(j.outcome='pass'),0),"
           " coalesce(sum(j.outcome<>'pass'),0), coalesce(sum(j.outcome IS NULL),0), round(r.elapsed_ms/1000.0,1), "
           "r.resumed, r.cleaned, "
           "r.out_dir"
           " FROM run r LEFT JOIN job j ON j.run=r.id GROUP BY r.id ORDER BY r.id DESC LIMIT :limit";

static const reg_column failure_columns[] = {
    {"job", "job", REG_CELL_NUMBER},       {"what", "what", REG_CELL_TEXT},
    {"build", "build", REG_CELL_TEXT},     {"index", "index", REG_CELL_NUMBER},
    {"outcome", "outcome", REG_CELL_TEXT}, {"signature", "signature", REG_CELL_TEXT},
    {"message", "message", REG_CELL_TEXT}, {"repro", "repeat with", REG_CELL_TEXT},
    {"case", NULL, REG_CELL_TEXT},         {"wave", NULL, REG_CELL_TEXT},
    {"report", NULL, REG_CELL_TEXT},       {"small_case", NULL, REG_CELL_TEXT},
    {"log", NULL, REG_CELL_TEXT},
};
static const char failures_sql[] = "SELECT j.idx, " NAME(
    j) ", j.cfg||'-'||j.kind, j.first_index, j.outcome, j.signature, j.message, j.repro, j.case_path, j.wave_path,"
       " j.bundle_path, j.shrunk_path, j.log_path FROM job j WHERE j.run=:run AND j.outcome<>'pass' AND " ASKED
       " ORDER BY j.idx LIMIT :limit";

static const reg_column bucket_columns[] = {
    {"jobs", "jobs", REG_CELL_NUMBER}, {"signature", "signature", REG_CELL_TEXT}, {"outcome", "outcome", REG_CELL_TEXT},
    {"job", "job", REG_CELL_NUMBER},   {"what", "what", REG_CELL_TEXT},           {"build", "build", REG_CELL_TEXT},
    {"message", NULL, REG_CELL_TEXT},  {"repro", "repeat with", REG_CELL_TEXT},   {"case", NULL, REG_CELL_TEXT},
    {"wave", NULL, REG_CELL_TEXT},     {"report", NULL, REG_CELL_TEXT},           {"small_case", NULL, REG_CELL_TEXT},
    {"log", NULL, REG_CELL_TEXT},
};
/* A signature from a job names unit and rule or check. One from the runner (crash, timeout ..) does not, so the test is
 * added to it. The representative has a case and takes the fewest cycles. */
static const char buckets_sql[] =
    "WITH f AS (SELECT j.*, CASE WHEN j.outcome='fail' AND j.signature IS NOT NULL THEN j.signature"
    "   ELSE coalesce(j.signature,j.outcome)||', '||j.what||' '||j.test END AS bucket"
    "  FROM job j WHERE j.run=:run AND j.outcome<>'pass' AND " ASKED "),"
    " r AS (SELECT f.*, count(*) OVER (PARTITION BY bucket) AS jobs, row_number() OVER (PARTITION BY bucket"
    "   ORDER BY bundle_path IS NULL, case_path IS NULL, cycles IS NULL, cycles, idx) AS nth FROM f)"
    " SELECT jobs, bucket, outcome, idx, " NAME(
        r) ", cfg||'-'||kind, message, repro, case_path, wave_path, bundle_path, shrunk_path, log_path"
           " FROM r WHERE nth=1 ORDER BY jobs DESC, idx LIMIT :limit";

static const reg_column not_run_columns[] = {
    {"jobs", "jobs", REG_CELL_NUMBER},       {"cause", "cause", REG_CELL_TEXT}, {"outcome", "outcome", REG_CELL_TEXT},
    {"job", "job", REG_CELL_NUMBER},         {"what", "what", REG_CELL_TEXT},   {"build", "build", REG_CELL_TEXT},
    {"repro", "repeat with", REG_CELL_TEXT}, {"log", NULL, REG_CELL_TEXT},
};
/* Causes that differ only in the folder of the job are one. The other columns are those of the job of min(). */
static const char not_run_sql[] = "SELECT count(*), coalesce(j.host, CASE " STATE(
    r) " WHEN 'interrupted' THEN 'interrupted' WHEN 'stopped' THEN "
       "'stopped at the first failure' WHEN 'died' THEN 'the runner died' WHEN 'running' THEN 'not yet' ELSE "
       "'the machine failed, and the run could not go on' END), " OUTCOME(j) ", min(j.idx), " NAME(
           j) ", j.cfg||'-'||j.kind, 'make regress RESUME=1 RUN='||r.id, j.log_path FROM job j JOIN run r ON r.id=j.run"
              " WHERE j.run=:run AND j.outcome IS NULL AND " ASKED
              " GROUP BY coalesce(replace(j.host, substr(j.log_path,1,length(j.log_path)-length('/log.txt')), ''), "
              "j.host)"
              " ORDER BY 1 DESC, 4 LIMIT :limit";

static const reg_column history_columns[] = {
    {"run", "run", REG_CELL_NUMBER},       {"started", "started (UTC)", REG_CELL_TEXT},
    {"commit", "commit", REG_CELL_TEXT},   {"what", "what", REG_CELL_TEXT},
    {"build", "build", REG_CELL_TEXT},     {"seed", "seed", REG_CELL_TEXT},
    {"jobs", "jobs", REG_CELL_NUMBER},     {"passed", "passed", REG_CELL_NUMBER},
    {"failed", "failed", REG_CELL_NUMBER}, {"not_run", "not run", REG_CELL_NUMBER},
    {"cases", "cases", REG_CELL_NUMBER},   {"cycles", "cycles", REG_CELL_NUMBER},
    {"cpu_s", "cpu s", REG_CELL_REAL},     {"signatures", "signatures", REG_CELL_TEXT},
};
static const char history_sql[] = "SELECT r.id, datetime(r.started_at,'unixepoch'), " COMMIT(
    r) ", j.what||' '||j.test, j.cfg||'-'||j.kind, r.seed, count(*),"
       " coalesce(sum(j.outcome='pass'),0), coalesce(sum(j.outcome<>'pass'),0), sum(j.outcome IS NULL),"
       " sum(CASE WHEN j.outcome='pass' AND j.second_run=0 THEN j.cases ELSE 0 END), sum(j.cycles), "
       "round(sum(j.cpu_ms)/1000.0,2),"
       " group_concat(DISTINCT j.signature) FROM job j JOIN run r ON r.id=j.run WHERE " ASKED
       " GROUP BY r.id, j.what, j.test, j.cfg, j.kind ORDER BY r.id DESC, min(j.idx) LIMIT :limit";

static const reg_column slowest_columns[] = {
    {"job", "job", REG_CELL_NUMBER},         {"what", "what", REG_CELL_TEXT},
    {"build", "build", REG_CELL_TEXT},       {"index", "index", REG_CELL_NUMBER},
    {"cases", "cases", REG_CELL_NUMBER},     {"outcome", "outcome", REG_CELL_TEXT},
    {"wall_ms", "wall ms", REG_CELL_NUMBER}, {"cpu_ms", "cpu ms", REG_CELL_NUMBER},
    {"memory_mib", "MiB", REG_CELL_NUMBER},  {"cycles", "cycles", REG_CELL_NUMBER},
};
static const char slowest_sql[] = "SELECT j.idx, " NAME(
    j) ", j.cfg||'-'||j.kind, j.first_index, j.cases, j.outcome, j.wall_ms, j.cpu_ms, j.max_rss_kb/1024, j.cycles"
       " FROM job j WHERE j.run=:run AND j.outcome IS NOT NULL AND " ASKED
       " ORDER BY j.wall_ms DESC, j.idx LIMIT :limit";

static const reg_column flaky_columns[] = {
    {"what", "what", REG_CELL_TEXT},         {"build", "build", REG_CELL_TEXT},
    {"seed", "seed", REG_CELL_TEXT},         {"index", "index", REG_CELL_NUMBER},
    {"cases", "cases", REG_CELL_NUMBER},     {"commit", "commit", REG_CELL_TEXT},
    {"results", "results", REG_CELL_NUMBER}, {"outcomes", "outcomes", REG_CELL_TEXT},
    {"hashes", "hashes", REG_CELL_NUMBER},   {"runs", "runs", REG_CELL_TEXT},
};
/* One commit and, where it is known, one program; a changed work tree without known programs is not comparable. All
 * jobs of all runs are grouped by a number; only the groups that disagree are read again. */
#define FLAKY_KEY "k.tree,k.what,k.test,k.cfg,k.kind,k.seed,k.first_index,k.cases,k.args,k.hash"
#define FLAKY "min(k.outcome)<>max(k.outcome) OR min(k.trace)<>max(k.trace)"
static const char flaky_sql[] =
    "WITH t AS MATERIALIZED (SELECT id, commit_hash, dirty, min(id) OVER (PARTITION BY commit_hash,dirty) AS tree"
    "  FROM run),"
    " k AS NOT MATERIALIZED (SELECT j.*, t.commit_hash, t.dirty, t.tree, p.hash,"
    "   CASE j.outcome WHEN 'pass' THEN j.trace_hash END AS trace FROM job j JOIN t ON t.id=j.run"
    "  LEFT JOIN program p ON p.run=j.run AND p.path=substr(j.cmd,1,instr(j.cmd||' ',' ')-1)"
    "  WHERE j.outcome IS NOT NULL AND (p.hash IS NOT NULL OR t.dirty=0) AND " ASKED "),"
    " g AS MATERIALIZED (SELECT max(k.id) AS id FROM k GROUP BY key(" FLAKY_KEY ") HAVING " FLAKY "),"
    " o AS (SELECT k.* FROM g CROSS JOIN k ON k.id=g.id)"
    " SELECT k.what||' '||k.test||CASE k.args WHEN '' THEN '' ELSE ' '||k.args END, k.cfg||'-'||k.kind, k.seed, "
    "k.first_index, k.cases,"
    "  " COMMIT(k) ", count(*), group_concat(DISTINCT k.outcome), count(DISTINCT k.trace), group_concat(DISTINCT k.run)"
                   " FROM o CROSS JOIN k ON " SAME(k, o) " AND k.tree=o.tree AND k.hash IS o.hash GROUP BY " FLAKY_KEY
                                                         " HAVING " FLAKY " ORDER BY max(k.id) DESC LIMIT :limit";

static const reg_column first_columns[] = {
    {"job", NULL, REG_CELL_NUMBER},
    {"what", "what", REG_CELL_TEXT},
    {"build", "build", REG_CELL_TEXT},
    {"seed", "seed", REG_CELL_TEXT},
    {"index", "index", REG_CELL_NUMBER},
    {"signature", "signature", REG_CELL_TEXT},
    {"first_failed_run", "first failed run", REG_CELL_NUMBER},
    {"first_failed_commit", "commit", REG_CELL_TEXT},
    {"last_passed_run", "last passed run", REG_CELL_NUMBER},
    {"last_passed_commit", "commit", REG_CELL_TEXT},
};
/* f as it stands: merged with what uses it, its last passed run would be searched for again for each row of the
 * history. */
static const char first_sql[] = "WITH f AS MATERIALIZED (SELECT j.*, (SELECT max(g.run) FROM job g WHERE " SAME(
    g, j) " AND g.run<j.run AND g.outcome='pass') AS good"
          "  FROM job j WHERE j.run=:run AND j.outcome<>'pass' AND j.second_run=0 AND (:job IS NULL OR j.idx=:job) "
          "AND " ASKED "),"
          " b AS (SELECT f.*, (SELECT min(h.run) FROM job h WHERE " SAME(
              h,
              f) " AND h.outcome<>'pass' AND h.run>coalesce(f.good,0)) AS bad FROM f)"
                 " SELECT b.idx, " NAME(b) ", b.cfg||'-'||b.kind, b.seed, b.first_index, b.signature, b.bad, " COMMIT(
                     rb) ", b.good, " COMMIT(rg) " FROM b JOIN run rb ON rb.id=b.bad LEFT JOIN run rg ON rg.id=b.good "
                                                 "ORDER BY b.idx LIMIT :limit";

static const reg_query queries[] = {
    {"runs", "the runs, newest first", runs_sql, run_columns, COUNT(run_columns), .empty = "no run"},
    {"failures", "the failures of a run", failures_sql, failure_columns, COUNT(failure_columns), .of_run = true,
     .empty = "nothing failed"},
    {"buckets", "failures of a run by signature", buckets_sql, bucket_columns, COUNT(bucket_columns), .of_run = true,
     .empty = "nothing failed"},
    {"not-run", "jobs of a run that did not run, by cause", not_run_sql, not_run_columns, COUNT(not_run_columns),
     .of_run = true, .empty = "every job ran"},
    {"history", "a test over the runs", history_sql, history_columns, COUNT(history_columns), .needs_test = true,
     .empty = "it never ran"},
    {"slowest", "the longest jobs of a run", slowest_sql, slowest_columns, COUNT(slowest_columns), .of_run = true,
     .empty = "nothing ran"},
    {"flaky", "same commit and seed, another outcome or hash", flaky_sql, flaky_columns, COUNT(flaky_columns),
     .must_be_empty = true, .empty = "nothing is flaky"},
    {"first-failure", "the first failure of what fails in a run", first_sql, first_columns, COUNT(first_columns),
     .of_run = true, .empty = "nothing failed"},
};

const reg_query *reg_query_at(size_t i) {
    if (i < COUNT(queries)) {
        return &queries[i];
    }
    i -= COUNT(queries);
    return i < reg_sum_query_count ? &reg_sum_queries[i] : NULL;
}

const reg_query *reg_query_find(const char *name) {
    for (size_t i = 0; reg_query_at(i) != NULL; i++) {
        if (strcmp(reg_query_at(i)->name, name) == 0) {
            return reg_query_at(i);
        }
    }
    return NULL;
}

/* A statement has the parameters that it needs; NULL text stays NULL. */
static void bind(sqlite3_stmt *stmt, const char *name, const char *text) {
    const int at = sqlite3_bind_parameter_index(stmt, name);
    if (at != 0 && text != NULL) {
        (void)sqlite3_bind_text(stmt, at, text, -1, SQLITE_TRANSIENT);
    }
}

static void bind_number(sqlite3_stmt *stmt, const char *name, int64_t number) {
    const int at = sqlite3_bind_parameter_index(stmt, name);
    if (at != 0) {
        (void)sqlite3_bind_int64(stmt, at, number);
    }
}

/* The statement of a query, with the columns that the run has: its text, which is to be freed with sqlite3_free(),
 * or NULL. */
static char *complete(const reg_query *query, reg_db *db, const reg_query_about *about, reg_table *table) {
    sqlite3_stmt *stmt = NULL;
    const char *mark = query->names != NULL ? strchr(query->sql, '@') : NULL;
    char *each = sqlite3_mprintf("%s", "");
    if (mark == NULL) {
        sqlite3_free(each);
        return sqlite3_mprintf("%s", query->sql);
    }
    if (reg_db_prepare(db, query->names, &stmt) != REG_OK) {
        sqlite3_free(each);
        return NULL;
    }
    bind_number(stmt, ":run", about->run);
    int step = SQLITE_DONE;
    bool bad = false;
    for (size_t at = query->names_at; !bad && (step = sqlite3_step(stmt)) == SQLITE_ROW; at++) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        char *one = name == NULL ? NULL : sqlite3_mprintf(query->each, name); /* a text of this file */
        char *more = one == NULL ? NULL : sqlite3_mprintf("%s%s, ", each, one);
        bad = more == NULL || reg_table_column(table, at, name, query->title) != REG_OK;
        sqlite3_free(one);
        sqlite3_free(each);
        each = more;
    }
    bad = reg_db_end(db, stmt, step, "read the columns") != REG_OK || bad || each == NULL;
    char *sql = bad ? NULL : sqlite3_mprintf("%.*s%s%s", (int)(mark - query->sql), query->sql, each, mark + 1);
    sqlite3_free(each);
    return sql;
}

int reg_query_ask(const reg_query *query, reg_db *db, const reg_query_about *about, reg_table *table) {
    sqlite3_stmt *stmt = NULL;
    reg_table_init(table, query->columns, query->column_count);
    char *sql = complete(query, db, about, table);
    const int status = sql == NULL ? reg_error("%s: the query cannot be made: out of memory", db->path)
                                   : reg_db_prepare(db, sql, &stmt);
    sqlite3_free(sql);
    if (status != REG_OK) {
        return REG_FAIL;
    }
    bind_number(stmt, ":run", about->run);
    bind_number(stmt, ":limit", about->limit);
    bind(stmt, ":what", about->what);
    bind(stmt, ":test", about->test);
    bind(stmt, ":cfg", about->cfg);
    bind(stmt, ":kind", about->kind);
    bind(stmt, ":job", about->job);
    return reg_table_query(table, db, stmt);
}
