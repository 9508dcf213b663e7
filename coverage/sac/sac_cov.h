/*
 * sac_cov.h - functional coverage of the shift-add engine: the tasks that the cases of testcases/sac have run. The file
 * that it writes merges with those of other runs (docs/coverage.md).
 */
#ifndef COVERAGE_SAC_COV_H
#define COVERAGE_SAC_COV_H

#include "coverage/cov.h"
#include "tb.h"

/* A task as it ran: sizes after fitting, modes, and what happened to it. */
typedef struct sac_cov_task {
    uint32_t wv, cv, nv, wow; /* vector sizes; columns of a result */
    uint32_t c, n, w, h, kw, kh, stride, pt, pl, ow, oh;
    uint32_t win, pool_stride, pool_pt, pool_pl; /* win 0: no pooling */
    bool relu, add, post_relu, from_cache;
    uint32_t full, to;          /* 0 none, 1 maximum, 2 average; 0 memory, 1 cache, 2 both */
    uint32_t batches, bus, end; /* end: 0 done, 1 aborted, 2 read error, 3 write error */
    bool load_stall, write_stall;
    int64_t aborted_in; /* state that an abort has met: enum sac_cov_state; COV_NONE: not aborted */
    int64_t error_at;   /* what the burst with an error belongs to: enum sac_cov_operand; COV_NONE: no error */
    int64_t data, codes, d, scale, bias; /* how the operands were drawn: knobs of sac_task */
} sac_cov_task;

enum sac_cov_state { SAC_COV_SETUP, SAC_COV_INPUT, SAC_COV_PRELOAD, SAC_COV_CONV, SAC_COV_DRAIN };
enum sac_cov_operand {
    SAC_COV_FEATURES,
    SAC_COV_RESIDUAL,
    SAC_COV_SHIFTS,
    SAC_COV_PARAM,
    SAC_COV_FILTERS,
    SAC_COV_OUTPUT
};

typedef struct sac_cov {
    cov_db *db;
    cov_inst *inst;
} sac_cov;

/* Compile the description. 0, or -1 with one line in err. */
int sac_cov_open(sac_cov *cov, char *err, size_t err_size);
void sac_cov_close(sac_cov *cov);
/* A task has ended as it had to. */
void sac_cov_sample(sac_cov *cov, const sac_cov_task *task);
/* Write names and counters; job: the line of a suite that repeats the run. 0, or -1 with one line in err. */
int sac_cov_save(sac_cov *cov, const char *path, const char *job, char *err, size_t err_size);

#endif
