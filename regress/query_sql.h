/* query_sql.h - pieces of the statements of queries (private to query.c and query_sums.c). */
#ifndef REG_QUERY_SQL_H
#define REG_QUERY_SQL_H

#include "query.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
/* Restricts a row of job j to the query. */
#define ASKED                                                                                                          \
    "(:what IS NULL OR j.what=:what) AND (:test IS NULL OR j.test=:test) AND (:kind IS NULL OR j.kind=:kind)"          \
    " AND (:cfg IS NULL OR instr(:cfg,','||j.cfg||',')>0)"
#define NAME(j)                                                                                                        \
#j ".what||' '||" #j ".test||CASE " #j ".args WHEN '' THEN '' ELSE ' '||" #j ".args END||CASE " #j                 \
       ".second_run WHEN 1 THEN ' again' ELSE '' END"
#define COMMIT(r) "substr(" #r ".commit_hash,1,12)||CASE " #r ".dirty WHEN 0 THEN '' ELSE '+' END"
/* As it is now: `died` where it says running and no process works on it (db.c). */
#define STATE(r) "run_state(" #r ".id," #r ".state)"
/* Of a job that has one, else why not: the machine, or it was not reached. */
#define OUTCOME(j) "coalesce(" #j ".outcome,CASE WHEN " #j ".host IS NULL THEN 'not run' ELSE 'host' END)"
/* Identity of a job, independent of its run. */
#define SAME(a, b)                                                                                                     \
#a ".what=" #b ".what AND " #a ".test=" #b ".test AND " #a ".cfg=" #b ".cfg AND " #a ".kind=" #b ".kind AND " #a   \
       ".seed=" #b ".seed AND " #a ".first_index=" #b ".first_index AND " #a ".cases=" #b ".cases AND " #a ".args=" #b \
       ".args"

/* Configurations of run :run: the default design first, then by name, n4 before n16. */
extern const char reg_cfgs_sql[];

/* Queries of sums over jobs and runs. */
extern const reg_query reg_sum_queries[];
extern const size_t reg_sum_query_count;

#endif
