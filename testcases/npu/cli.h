/*
 * cli.h - private to the program `tandem`: its own options, its output of a run, its report.
 */
#ifndef TESTCASES_CLI_H
#define TESTCASES_CLI_H

#include "tests.h"

/* tb_prog.ctx of `tandem`. */
typedef struct tandem {
    tc_setup setup;          /* --device, --break, --init-seed, --plusarg, --no-checks */
    int kind;                /* --device, as the parser leaves it */
    const char *plusarg[2];  /* of setup, with its end */
    const char *broken_text; /* --break as it was given, or NULL */
    bool perf, have_window, bus;
    const char *perf_svg;  /* --perf: picture of the time series, or NULL */
    const char *perf_json; /* --perf: all of it as JSON, or NULL */
    const char *bus_json;
    uint64_t perf_window;
    npu_cov *cov;     /* --cov, while cases run */
    double cpu_begin; /* CPU time when the case began */
} tandem;

/* "model", "rtl", "tandem" */
const char *cli_kind_name(npu_dev_kind kind);

extern const tb_report_ops cli_report;

/* --perf: every counter, and the time series of a run as text. */
void cli_print_perf(FILE *out, const tc_stats *stats, uint32_t n);
/* The time series as a picture. 0; -1 with one line in err. */
int cli_perf_svg(const char *path, const tc_stats *stats, uint32_t n, char *err, size_t err_size);

/* The same as JSON: the operator, its bounds, every counter by name, the series. 0; -1 with one line in err. */
int cli_perf_json(const char *path, const tc_stats *stats, uint32_t n, char *err, size_t err_size);

/* Handle the result of a function of report/ for a file: 0 and a line on stdout, or -1 with one line in err. */
int cli_written(int error, const char *path, char *err, size_t err_size);
/* --bus F.json. 0; -1 with one line in err. */
int cli_bus_json(const char *path, const char *json, char *err, size_t err_size);

/* Add a measured case to the sums of a result file: work_cases, work_cycles (with a task), and their lower bounds:
 * bound_mesh, bound_read, bound_write (two channels of 16 bytes), bound (sum of the largest one of each case). Nothing
 * without RTL or bounds. */
void cli_add_work(tb_kv *extra, const tc_stats *stats);

/* The measurements of a run. */
void cli_print_stats(FILE *out, const tc_stats *stats, uint32_t n, double cpu_seconds);

#endif
