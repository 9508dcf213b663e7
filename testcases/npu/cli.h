/*
 * cli.h - private to the program `tandem`: options and cases.
 */
#ifndef TESTCASES_CLI_H
#define TESTCASES_CLI_H

#include "tests.h"

typedef enum cli_command { CLI_RUN, CLI_TEST, CLI_REPRO, CLI_SHRINK, CLI_DIFF, CLI_LIST } cli_command;

typedef struct cli_options {
    const char *prog;
    cli_command command;
    const tc_test *test;   /* run, test */
    const char *case_file; /* repro, shrink: the case to read; run and test: where the resolved case goes, or NULL */
    const char *case_dir;  /* where cases of failures go */
    const char *wave, *fail_wave, *result, *dump;
    const char *report;   /* --report: folder for all there is to know of a failure, or NULL */
    const char *cov;      /* --cov: coverage file to write, or NULL */
    const char *code_cov; /* --code-cov: code coverage file to write, or NULL */
    npu_cov *counted;     /* of it, while cases run */
    const char *dir[2];   /* diff */
    uint64_t seed, run_seed, index, count;
    bool bus; /* --bus */
    const char *bus_json;
    bool have_seed, have_run, json, quiet, help, print_case, perf, have_window;
    const char *perf_svg;  /* --perf: picture of the time series, or NULL */
    const char *perf_json; /* --perf: all of it as JSON, or NULL */
    uint64_t perf_window;
    uint64_t report_limit; /* --report-limit: MiB of tensors/ in a report */
    bool have_report_limit;
    uint64_t wave_window; /* --wave-window, 0: not given */
    bool have_wave_window;
    tc_setup setup;            /* --device, --break, --init-seed, --plusarg, --no-checks */
    const char *plusarg[2];    /* of setup, with its end */
    const char *broken_text;   /* --break as it was given, or NULL */
    const char *output, *keep; /* shrink: where the small case goes, or NULL; knobs that stay, or NULL */
    uint64_t seconds, jobs;    /* jobs 0: as many as there are cores */
    bool have_seconds, have_jobs, same_unit;
    tb_knobs knobs; /* with the pins of the command line */
} cli_options;

/* Fill the options from the command line. -1 with one line in err. */
int cli_parse(cli_options *o, int argc, char **argv, char *err, size_t err_size);
void cli_usage(FILE *out, const cli_options *o);
/* What `make repro` needs beside the case to run it so: " BREAK=m0.R:100 INIT_SEED=0x1", empty when nothing was given. */
void cli_setup_text(const cli_options *o, char *dst, size_t size);
/* The tests and their knobs. */
void cli_list(FILE *out, bool json);
/* "model", "rtl", "tandem" */
const char *cli_kind_name(npu_dev_kind kind);

/* A resolved case as text. 0 or -1 (out of memory). */
int cli_case_to_kv(const tc_test *test, uint64_t seed, const tb_knobs *knobs, tb_kv *kv);
/* Read and check a case file: test, seed, knobs. -1 with one line in err. */
int cli_case_load(const char *path, const tc_test **test, uint64_t *seed, tb_knobs *knobs, char *err, size_t err_size);
/* Store the case of a failure in a folder, which is made when it does not exist; its path goes into path. -1 with one line in err. */
int cli_case_store(const char *dir, const tc_test *test, uint64_t seed, const tb_knobs *knobs, char *path, size_t path_size, char *err,
                   size_t err_size);

/* ---- bundle.c: --report ---- */
struct bundle;
/* May the folder be written? -1 with one line in err. */
int cli_bundle_check(const cli_options *o, char *err, size_t err_size);
/* Before a case that might fail: let its waveform go where the report will be. NULL without --report, or out of memory. */
struct bundle *cli_bundle_begin(const cli_options *o, tc_run *run);
/* After a failure: run the case once more, write the folder, print what fits on a screen. again: the command that repeats it. 0 or -1 with one line in err. */
int cli_bundle_write(struct bundle *b, tb_result *result, const char *again, char *err, size_t err_size);
/* Release; what is half done is removed. */
void cli_bundle_end(struct bundle *b);

/* Compare two tensor logs; exit status. */
int cli_diff(const cli_options *o);

/* `tandem wave`: a waveform file as a table, a picture, a save file. Parses its own options; exit status. */
int cli_wave(int argc, char **argv);
/* `tandem axi-check`: rules of AXI on a port of a waveform file. Parses its own options; exit status. */
int cli_axi_check(int argc, char **argv);

/* Make the stored case small; exit status. */
int cli_shrink(const cli_options *o);

/* --perf: every counter, and the time series of a run as text. */
void cli_print_perf(FILE *out, const tc_stats *stats, uint32_t n);
/* The time series as a picture. 0; -1 with one line in err. */
int cli_perf_svg(const char *path, const tc_stats *stats, uint32_t n, char *err, size_t err_size);

/* The same as JSON: what the operator is, its bounds, every counter by name, the series. 0; -1 with one line in err. */
int cli_perf_json(const char *path, const tc_stats *stats, uint32_t n, char *err, size_t err_size);

/* A string of JSON with its quotes. */
void cli_json_text(FILE *out, const char *text);

/* --bus F.json. 0; -1 with one line in err. */
int cli_bus_json(const char *path, const char *json, char *err, size_t err_size);

/* Add a measured case to the sums of a result file: work_cases, work_cycles (with a task), and what they need at least: bound.mesh, bound.read, bound.write (two
   channels of 16 bytes), bound (sum of the largest one of each case). Nothing without RTL or bounds. */
void cli_add_work(tb_kv *extra, const tc_stats *stats);

/* The measurements of a run. */
void cli_print_stats(FILE *out, const tc_stats *stats, uint32_t n, double cpu_seconds);

#endif
