/*
 * jobs.h - private to the jobs test.
 */
#ifndef TESTCASES_JOBS_H
#define TESTCASES_JOBS_H

#include "tensor.h"

/*
 * A small convolution. It has no expected values of its own (the conv test has): verify() keeps the results of the
 * first run and expects those of later ones to be the same. It uses the knobs gap and place; everything else follows
 * from the seed.
 */
extern const tensor_kind jobs_conv_kind;

/* Two jobs of the ALU or of the POOL, `which` 0 and 1: the later one reads what the earlier one writes. It uses the
 * knobs gap, place and data. */
typedef struct jobs_chain {
    tensor in, mid, out;
    bool is_pool;
    npu_eltwise elt[2];
    npu_pool pool[2];
} jobs_chain;
int jobs_chain_prepare(tc_run *run, const tb_knobs *knobs, uint64_t seed, jobs_chain *chain);
npu_status jobs_chain_start(const npu *dev, const jobs_chain *chain, uint32_t which, npu_job *job);
void jobs_chain_verify(tc_run *run, const jobs_chain *chain);
void jobs_chain_release(jobs_chain *chain);

#endif
