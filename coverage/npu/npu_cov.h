/*
 * npu_cov.h - coverage of this NPU: the operator space of the cases of testcases/, and the traffic of its buses. One
 * object for a run; the file that it writes merges with those of other runs (docs/coverage.md).
 */
#ifndef COVERAGE_NPU_COV_H
#define COVERAGE_NPU_COV_H

#include "coverage/cov.h"
#include "tb.h"

typedef struct npu_cov npu_cov;

/* Compile the models. cov_status; a description that is refused is a bug in coverage/npu. */
int npu_cov_open(npu_cov **cov, cov_error *err);
void npu_cov_close(npu_cov *cov);
/* npu_cov_open(), and the file, for programs whose errors are text: 0 or -1. `job`: the line of a suite that repeats
 * the run, or "". */
int npu_cov_begin(npu_cov **cov, char *err, size_t err_size);
int npu_cov_save(npu_cov *cov, const char *path, const char *job, char *err, size_t err_size);
/* Names and counters, to be written. */
cov_db *npu_cov_db(npu_cov *cov);
/*
 * A case was executed and has passed. test: its name; tests without a model count nothing. n: mesh size. rtl: the RTL
 * took part; without it, bins that need a bus (its timing, errors, the test faults) are not counted. Returns the
 * illegal bins and cells that were hit; the last one's text goes into what.
 */
uint32_t npu_cov_case(npu_cov *cov, const char *test, uint32_t n, bool rtl, const tb_knobs *knobs, char *what,
                      size_t size);
/* A layer of a network that has run; names as in ops_graph.c. */
typedef struct npu_cov_layer {
    const char *op, *from;          /* kind of layer; of the one that computed its first input */
    const char *place, *from_place; /* where they ran */
    const char *weights;
    bool in_int8, out_int8; /* first input and output on the device */
    uint32_t inputs, readers, depth;
} npu_cov_layer;
/* Returns as above. */
uint32_t npu_cov_layer_ran(npu_cov *cov, const npu_cov_layer *layer, char *what, size_t size);
/* Traffic of a port from the opening of its device to the end. port: "m0", "m1". Returns as above. */
uint32_t npu_cov_port(npu_cov *cov, const char *port, const tb_axi_monitor *mon, char *what, size_t size);

/* A device was opened or power-cycled: the history of accesses and tasks restarts. */
void npu_cov_power_up(npu_cov *cov);
/*
 * The driver, or a test instead of it, has read a register of the RTL, or is about to write it. value: read, or to be
 * written. busy: busy units, as bits of IRQ_STATUS. A start of a task counts for the order of tasks as well. Returns as
 * above.
 */
uint32_t npu_cov_access(npu_cov *cov, bool write, uint32_t offset, uint32_t value, unsigned busy, char *what,
                        size_t size);
/* The operation of a floating-point unit ("fp_add"), for npu_cov_fp(); -1: no unit of theirs. */
int npu_cov_fp_find(const char *unit);
/* A unit has computed one operation correctly, on these bits; b: 0 where it has one operand. Returns as above. */
uint32_t npu_cov_fp(npu_cov *cov, int op, uint32_t a, uint32_t b, char *what, size_t size);

#endif
