/*
 * sgemm_cov.h - coverage of the GEMM engine: the GEMMs of the cases of testcases/sgemm. The file that it writes merges
 * with those of other runs (docs/coverage.md).
 */
#ifndef COVERAGE_SGEMM_COV_H
#define COVERAGE_SGEMM_COV_H

#include "coverage/cov.h"
#include "tb.h"

typedef struct sgemm_cov {
    cov_db *db;
    cov_inst *inst;
    int64_t dim, vec, chains; /* of the configuration: sizes are counted relative to them */
} sgemm_cov;

/* Compile the description. 0, or -1 with one line in err. */
int sgemm_cov_open(sgemm_cov *cov, int64_t dim, int64_t vec, int64_t chains, char *err, size_t err_size);
void sgemm_cov_close(sgemm_cov *cov);
/* A case of the test `sgemm` was executed and has passed. */
void sgemm_cov_case(sgemm_cov *cov, const tb_knobs *knobs);
/* Write names and counters; job: the line of a suite that repeats the run. 0, or -1 with one line in err. */
int sgemm_cov_save(sgemm_cov *cov, const char *path, const char *job, char *err, size_t err_size);

#endif
