/*
 * copy_cov.h - coverage of the copy engine: the copies of the cases of testcases/axi_copy. The file that it writes
 * merges with those of other runs (docs/coverage.md).
 */
#ifndef COVERAGE_COPY_COV_H
#define COVERAGE_COPY_COV_H

#include "coverage/cov.h"
#include "tb.h"

typedef struct copy_cov {
    cov_db *db;
    cov_inst *inst;
} copy_cov;

/* Compile the description. 0, or -1 with one line in err. */
int copy_cov_open(copy_cov *cov, char *err, size_t err_size);
void copy_cov_close(copy_cov *cov);
/* A case was executed and has passed. */
void copy_cov_case(copy_cov *cov, const tb_knobs *knobs);
/* Write names and counters; job: the line of a suite that repeats the run. 0, or -1 with one line in err. */
int copy_cov_save(copy_cov *cov, const char *path, const char *job, char *err, size_t err_size);

#endif
