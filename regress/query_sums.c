/* query_sums.c - queries of sums: of each test, of each operator's cycles, of each run of a suite. */
#define _GNU_SOURCE
#include "query_sql.h"

/* Cases that count: passed, and not as a second run. NULL where a configuration has no job. */
#define CASES(condition)                                                                                               \
    "sum(CASE WHEN " condition " THEN CASE WHEN j.outcome='pass' AND j.second_run=0 THEN j.cases ELSE 0 END END)"
#define COUNTED "CASE WHEN j.outcome='pass' AND j.second_run=0 THEN "

/* Between "failed" and "cases": one column for each configuration. */
static const reg_column test_columns[] = {
    {"what", NULL, REG_CELL_TEXT},
    {"name", NULL, REG_CELL_TEXT},
    {"label", "test", REG_CELL_TEXT},
    {"failed", "failed", REG_CELL_NUMBER},
    {"cases", "cases passed", REG_CELL_NUMBER},
    {"jobs", "jobs", REG_CELL_NUMBER},
    {"not_run", "not run", REG_CELL_NUMBER},
    {"cycles", "cycles", REG_CELL_NUMBER},
    {"cpu_s", "cpu s", REG_CELL_REAL},
};
#define FAILED "coalesce(sum(j.outcome<>'pass'),0)"
static const char tests_sql[] =
    "SELECT j.what, j.test, j.what||' '||j.test, " FAILED
    ", @" CASES("1") ", count(*), sum(j.outcome IS NULL), sum(" COUNTED "j.cycles END), round(sum(j.cpu_ms)/1000.0,1)"
                     " FROM job j WHERE j.run=:run AND " ASKED " GROUP BY j.what, j.test"
                     " ORDER BY " FAILED "=0, instr('test,network,python,case,unit',j.what), j.test LIMIT :limit";

/* Between "cycles" and "bound": one column for each bound. */
static const reg_column performance_columns[] = {
    {"name", "operator", REG_CELL_TEXT}, {"build", "build", REG_CELL_TEXT},
    {"cases", "cases", REG_CELL_NUMBER}, {"cycles", "cycles", REG_CELL_NUMBER},
    {"bound", "bound", REG_CELL_NUMBER}, {"ratio", "cycles / bound", REG_CELL_REAL},
};
static const char performance_sql[] =
    "SELECT j.test, j.cfg||'-'||j.kind, sum(j.work_cases), sum(j.work_cycles), @"
    "sum(j.bound), round(1.0*sum(j.work_cycles)/nullif(sum(j.bound),0),2) FROM job j"
    " WHERE j.run=:run AND j.what='test' AND j.outcome='pass' AND j.second_run=0 AND j.work_cases>0 AND " ASKED
    " GROUP BY j.test, j.cfg, j.kind ORDER BY j.test, length(j.cfg), j.cfg, j.kind LIMIT :limit";
static const char bounds_sql[] = "SELECT b.key FROM job j, json_each(j.bounds) b WHERE j.run=:run AND j.bounds IS NOT "
                                 "NULL GROUP BY b.key ORDER BY min(b.id)";

static const reg_column trend_columns[] = {
    {"run", "run", REG_CELL_NUMBER},
    {"started", "started (UTC)", REG_CELL_TEXT},
    {"commit", "commit", REG_CELL_TEXT},
    {"state", "state", REG_CELL_TEXT},
    {"jobs", "jobs", REG_CELL_NUMBER},
    {"passed", "passed", REG_CELL_NUMBER},
    {"failed", "failed", REG_CELL_NUMBER},
    {"not_run", "not run", REG_CELL_NUMBER},
    {"cases", "cases passed", REG_CELL_NUMBER},
    {"cycles", "cycles", REG_CELL_NUMBER},
    {"seconds", "seconds", REG_CELL_REAL},
    {"cpu_s", "cpu s", REG_CELL_REAL},
};
#define SUMS                                                                                                           \
    "count(j.id), coalesce(sum(j.outcome='pass'),0), coalesce(sum(j.outcome<>'pass'),0), coalesce(sum(j.id IS NOT "    \
    "NULL AND j.outcome IS "                                                                                           \
    "NULL),0),"                                                                                                        \
    " coalesce(sum(" COUNTED "j.cases END),0), coalesce(sum(" COUNTED                                                  \
    "j.cycles END),0), round(r.elapsed_ms/1000.0,1), round(sum(j.cpu_ms)/1000.0,1)"
/* The runs are chosen before their jobs are read. */
static const char trend_sql[] = "SELECT r.id, datetime(r.started_at,'unixepoch'), " COMMIT(r) ", " STATE(
    r) ", " SUMS
       " FROM (SELECT a.* FROM run a JOIN run m ON m.id=:run AND a.suite_path=m.suite_path AND a.shard=m.shard"
       "  WHERE a.id<=:run ORDER BY a.id DESC LIMIT :limit) r"
       " LEFT JOIN job j ON j.run=r.id GROUP BY r.id ORDER BY r.id DESC";

static const reg_column suite_columns[] = {
    {"suite", "suite", REG_CELL_TEXT},          {"shard", NULL, REG_CELL_TEXT},
    {"run", "newest run", REG_CELL_NUMBER},     {"started", "started (UTC)", REG_CELL_TEXT},
    {"commit", "commit", REG_CELL_TEXT},        {"state", "state", REG_CELL_TEXT},
    {"jobs", "jobs", REG_CELL_NUMBER},          {"passed", "passed", REG_CELL_NUMBER},
    {"failed", "failed", REG_CELL_NUMBER},      {"not_run", "not run", REG_CELL_NUMBER},
    {"cases", "cases passed", REG_CELL_NUMBER}, {"cycles", "cycles", REG_CELL_NUMBER},
    {"seconds", "seconds", REG_CELL_REAL},      {"cpu_s", "cpu s", REG_CELL_REAL},
};
static const char suites_sql[] =
    "SELECT r.suite, r.shard, r.id, datetime(r.started_at,'unixepoch'), " COMMIT(r) ", " STATE(
        r) ", " SUMS " FROM run r LEFT JOIN job j ON j.run=r.id"
           " WHERE r.id IN (SELECT max(id) FROM run WHERE id<=:run GROUP BY suite_path, shard) GROUP BY r.id ORDER BY "
           "r.suite, r.shard LIMIT "
           ":limit";

static const reg_column coverage_columns[] = {
    {"run", "run", REG_CELL_NUMBER},         {"started", "started (UTC)", REG_CELL_TEXT},
    {"commit", "commit", REG_CELL_TEXT},     {"name", "what", REG_CELL_TEXT},
    {"percent", "percent", REG_CELL_REAL},   {"percent_before", "before waivers", REG_CELL_REAL},
    {"covered", "covered", REG_CELL_NUMBER}, {"points", "of", REG_CELL_NUMBER},
    {"cycles", NULL, REG_CELL_NUMBER},
};
static const char coverage_sql[] = "SELECT r.id, datetime(r.started_at,'unixepoch'), " COMMIT(
    r) ", c.name, round(c.percent,2), round(c.before_percent,2), c.covered, c.total, (SELECT sum(j.cycles) FROM job j "
       "WHERE j.run=r.id)"
       " FROM (SELECT a.* FROM run a JOIN run m ON m.id=:run AND a.suite_path=m.suite_path AND a.shard=m.shard"
       "  WHERE a.id<=:run AND EXISTS (SELECT 1 FROM coverage WHERE run=a.id) ORDER BY a.id DESC LIMIT :limit) r"
       " JOIN coverage c ON c.run=r.id ORDER BY r.id DESC, c.place";

static const reg_column qualify_columns[] = {
    {"at", "at (UTC)", REG_CELL_TEXT},
    {"design", "design", REG_CELL_TEXT},
    {"cfg", "cfg", REG_CELL_TEXT},
    {"suite", "suite", REG_CELL_TEXT},
    {"commit", "commit", REG_CELL_TEXT},
    {"mutants", "mutants", REG_CELL_NUMBER},
    {"of", "of", REG_CELL_NUMBER},
    {"detected", "detected", REG_CELL_NUMBER},
    {"weak", "weak", REG_CELL_NUMBER},
    {"reached", "reached", REG_CELL_NUMBER},
    {"not_reached", "not reached", REG_CELL_NUMBER},
    {"equivalent", "equivalent", REG_CELL_NUMBER},
    {"score", "score", REG_CELL_REAL},
    {"blame", "blame", REG_CELL_REAL},
    {"cpu_s", "cpu s", REG_CELL_REAL},
    {"seconds", NULL, REG_CELL_REAL},
};
/* The name that may follow the question is that of a design. */
static const char qualify_sql[] = "SELECT datetime(q.at,'unixepoch'), q.design, q.cfg, q.suite, " COMMIT(
    q) ", q.mutants, q.of_all, q.detected, q.weak, q.reached, q.not_reached, q.equivalent, round(q.score,2),"
       " round(100.0*q.blamed/nullif(q.by_units,0),1), round(q.cpu_s,1), q.seconds FROM qualify q"
       " WHERE (:test IS NULL OR q.design=:test) AND (:cfg IS NULL OR instr(:cfg,','||q.cfg||',')>0 OR"
       " instr(:cfg,','||q.design||'/'||q.cfg||',')>0) ORDER BY q.id DESC LIMIT :limit";

const reg_query reg_sum_queries[] = {
    {"tests", "each test of a run: cases passed, by configuration", tests_sql, test_columns, COUNT(test_columns),
     .of_run = true, .names = reg_cfgs_sql, .each = CASES("j.cfg='%q'"), .title = "", .names_at = 4,
     .empty = "the run has no job"},
    {"performance", "cycles of each operator beside its bounds", performance_sql, performance_columns,
     COUNT(performance_columns), .of_run = true, .names = bounds_sql, .each = "sum(json_extract(j.bounds,'$.%q'))",
     .title = " bound", .names_at = 4, .empty = "no job of the run has measured operators"},
    {"trend", "a run and those of its suite before it", trend_sql, trend_columns, COUNT(trend_columns), .of_run = true,
     .empty = "no run"},
    {"coverage", "coverage of a run, and of those of its suite before", coverage_sql, coverage_columns,
     COUNT(coverage_columns), .of_run = true, .empty = "no coverage is kept (make coverage)"},
    {"qualify", "runs of make qualify, newest first", qualify_sql, qualify_columns, COUNT(qualify_columns),
     .empty = "none is kept (make qualify)"},
    {"suites", "the newest run of each suite", suites_sql, suite_columns, COUNT(suite_columns), .of_run = true,
     .empty = "no run"},
};
const size_t reg_sum_query_count = COUNT(reg_sum_queries);
