/* part.h - single layers of a network: measurements and reports (tandem-net run --only, --each). */
#ifndef NETPART_H
#define NETPART_H

#include <sys/types.h>

#include "run.h"

#define PART_COUNTERS 40u /* docs/npu/npu.md section 5, without the marks */

/* Result of a part; a child writes it at once into its pipe. */
typedef struct part_outcome {
    bool done; /* the child has completed */
    net_status status;
    uint64_t cycles, trace_hash;
    double seconds;                  /* CPU time */
    uint64_t counter[PART_COUNTERS]; /* with --stalls on an RTL, else 0: sums over its layers */
    char signature[96];
    char message[400];
} part_outcome;

typedef struct part {
    uint32_t first, last;
    uint64_t macs;
    net_rt_estimate estimate; /* sum over its layers */
    part_outcome out;
    pid_t pid; /* 0: not running */
    int fd;
} part;

typedef struct part_job {
    const netrun_options *opt;
    netrun run; /* the whole network on the golden model */
    part *part;
    uint32_t *order; /* parts, the largest first */
    uint32_t count, started, finished, running;
    uint64_t macs, work, work_done; /* work: predicted cycles */
    double start;
    bool terminal;
} part_job;

/* In percent of the measured value. */
double part_off(uint64_t prediction, uint64_t cycles);
/* Share of its cycles in percent; 0 without cycles. */
double part_share(const part *p, uint64_t cycles);
uint64_t part_bytes(const part *p, bool written);

/* part_table.c: a line for each part, subtotals by type of layer, the total. Returns the first failure, or NULL. */
const part *part_table(const part_job *j, uint64_t *cycles, uint64_t *hash);
/* Median over the parts of the prediction's distance in percent; 0 without an RTL. */
double part_median_off(const part_job *j);

/* part_json.c, part_page.c: everything as JSON, and as a page with a timeline and a roofline. false: the line is
 * printed. */
bool part_json(const part_job *j, const char *path);
bool part_page(const part_job *j, const char *path);

#endif
