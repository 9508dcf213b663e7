/*
 * prog.h - the main program of everything that runs cases: command line, cases, failures, reports, waveforms,
 * shrinking, result and coverage files.
 *
 * A program is a table of tests. A test has knobs and an executor that reads nothing but the case. Commands of every
 * program: run, test, repro, shrink, diff, device, wave, axi-check, list. A program with one test also takes options
 * without a command: `prog --seed 1 knob=2`, `prog --case FILE`, `prog --shrink FILE`. Exit status: 0 passed,
 * 1 failed, 2 bad input.
 */
#ifndef TB_PROG_H
#define TB_PROG_H

#include "../../opt/opt.h"
#include "../axi/monitor.h"
#include "../case/knob.h"
#include "../case/result.h"
#include "../case/shrink.h"
#include "../run/run.h"
#include "mutation.h"

typedef struct tb_prog tb_prog;
typedef struct tb_test tb_test;
typedef struct tb_tandem tb_tandem;
typedef struct tb_report tb_report;
typedef struct tb_report_ops tb_report_ops;
struct tb_story;

/* TB_FLAT: options without a command. */
typedef enum tb_command { TB_RUN, TB_TEST, TB_REPRO, TB_SHRINK, TB_DIFF, TB_LIST, TB_FLAT, TB_NO_COMMAND } tb_command;

/* Commands that know an option: bits for opt.sets. */
enum {
    TB_IN_RUN = 1 << TB_RUN,
    TB_IN_TEST = 1 << TB_TEST,
    TB_IN_REPRO = 1 << TB_REPRO,
    TB_IN_SHRINK = 1 << TB_SHRINK,
    TB_IN_DIFF = 1 << TB_DIFF,
    TB_IN_LIST = 1 << TB_LIST,
    TB_IN_FLAT = 1 << TB_FLAT,
    TB_IN_CASES = TB_IN_RUN | TB_IN_TEST | TB_IN_REPRO | TB_IN_FLAT, /* all commands that execute cases, except
                                                                      * shrink */
    TB_IN_EVERY = TB_IN_CASES | TB_IN_SHRINK
};

/* The command line. */
typedef struct tb_prog_options {
    const tb_prog *prog;
    const char *self; /* argv[0] */
    tb_command command;
    bool flat;            /* there was no command */
    const tb_test *test;  /* run, test; of repro and shrink once the case was read */
    const char *stored;   /* repro, shrink: the case to read */
    const char *case_out; /* run, test: where the resolved case goes, too, or NULL */
    const char *case_dir; /* where cases of failures go, or NULL */
    const char *wave, *fail_wave, *dump, *result, *report, *cov, *code_cov, *counters;
    const char *dir[2];        /* diff */
    const char *output, *keep; /* shrink: where the small case goes, or NULL; knobs that stay, or NULL */
    uint64_t seed, run_seed, index, count;
    uint64_t wave_window;   /* cycles of a failure's waveform before it, 0: not given */
    uint64_t report_limit;  /* MiB of tensor logs in a report */
    uint64_t seconds, jobs; /* of the shrinker; jobs 0: number of cores */
    bool have_seed, have_run, pinned, json, quiet, print_case, same_unit, signature_only, help;
    tb_knobs knobs; /* with the pins of the command line */
    tb_mutation_options mutation;
} tb_prog_options;

/* What is known of the first failure, beside the message. signature empty: nothing. */
typedef struct tb_prog_failure {
    char signature[128];
    uint64_t cycle;
    char path[160]; /* instance whose assertion failed; empty: no assertion */
} tb_prog_failure;

/* One case in execution. */
typedef struct tb_prog_run {
    const tb_prog_options *o;
    const tb_test *test;
    uint64_t seed;         /* seed of the case */
    const tb_knobs *knobs; /* knobs of the case, all resolved */
    bool again;            /* a repeated run: for a waveform, a report, the shrinker */
    bool no_checks;        /* the checks of the units are not called: what a build without them sees */
    const char *wave;      /* FST file of the run, or NULL */
    const char *fail_wave; /* FST file around a failure, or NULL */
    const char *folder;    /* folder to make before fail_wave is written, or NULL */
    uint64_t wave_window;  /* cycles of fail_wave before the failure; 0: default of the executor */
    /* folder for tensor logs, or NULL; a further device of the case has a folder device-<number> in it */
    const char *dump;
    uint64_t max_cycles;    /* end the run as a failure after so many, 0: no limit; for attempts of the shrinker */
    struct tb_story *story; /* log for a report (tb/run/story.h), or NULL */
    tb_result *result;      /* failures go there; cycles and trace_hash are added up over the cases */
    /* filled by the executor */
    tb_prog_failure failure;
    char no_wave[256]; /* why fail_wave was not written; empty: it was */
    /* the hash of the case is `results`, made by the body, and must be the same in all configurations; else that of the
     * ports and the memory */
    bool portable;
    uint64_t results;
    unsigned devices; /* number of devices that were opened: a test may use several, one after the other */
    char *hang;       /* report on a hang, as text from malloc(), or NULL */
    void *more;       /* for the program's own use */
    char err[512];    /* why the case could not be run */
} tb_prog_run;

struct tb_test {
    const char *name;  /* [a-z][a-z0-9_-]*; seeds of its cases follow from it */
    const char *about; /* one line */
    bool is_operator;  /* it is an operator of the command `run` */
    const tb_knob *knobs;
    size_t knob_count;
    /*
     * Fill every knob that is not pinned. plain: knobs that are not part of the operation itself get their simplest
     * value. -1 with one line: the pinned knobs contradict each other. NULL: knobs are drawn, then constrain() redraws
     * those that depend on others (NULL: none does), then check() tests them.
     */
    int (*generate)(const tb_test *test, uint64_t seed, bool plain, tb_knobs *knobs, char *err, size_t err_size);
    void (*constrain)(tb_knobs *knobs, uint64_t seed);
    /* Can a case with these knobs be executed? -1 with one line: no. NULL: any can. */
    int (*check)(const tb_test *test, const tb_knobs *knobs, char *err, size_t err_size);
    /*
     * A bench, and what the test does on it: 0, or -1 with run->err: it could not be run (tandem.h). Or an executor of
     * one's own; -1 as above.
     */
    const tb_tandem *bench;
    int (*body)(void *bench, tb_prog_run *run);
    int (*execute)(tb_prog_run *run);
    /* Size of the case, for the shrinker and its report (tb/case/shrink.h). NULL: the product of all numbers. */
    tb_shrink_size (*size)(const tb_test *test, const tb_knobs *knobs);
    /* For shrinking: update the knobs that are derived from others. NULL: there are none. */
    void (*settle)(const tb_test *test, tb_knobs *knobs);
    const void *self; /* for the program's own use */
};

struct tb_prog {
    const char *about; /* one line for --help */
    const char *cfg;   /* configuration of the design that this program was built with */
    const char *kind;  /* kind of the build, for coverage files; NULL: nothing Verilated is in it */
    const tb_test *tests;
    size_t test_count;
    /* usual folder for cases of failures; NULL: they are not stored unless --case-dir asks for it */
    const char *case_dir;
    const char *repro;     /* command that repeats a case, "make repro"; NULL: the program itself */
    const char *work_name; /* unit of tb_shrink_size.work: "bytes" */
    const tb_shrink_wish *wishes;
    size_t wish_count;
    void *ctx; /* for the functions below */
    /* ---- all may be NULL ---- */
    const opt_row *options; /* further options of the program; `sets` are bits TB_IN_ */
    size_t option_count;
    /* Is this combination of options legal? Returns 0, or -1 with one line. */
    int (*check_options)(const tb_prog_options *o, char *err, size_t err_size);
    /* " device=x": how cases are executed, for the line PASS. */
    void (*note)(const tb_prog *prog, char *dst, size_t size);
    /* Further arguments of the command that repeats a case: " --cycles 100", or variables for prog.repro. */
    void (*again)(const tb_prog *prog, char *dst, size_t size);
    /* Commands of the design that run no cases: 0 done, 1 none was given, -1 with one line in err. */
    int (*instead)(const tb_prog_options *o, tb_result *result, char *err, size_t err_size);
    /* A case has passed, and its run is still open, which ends with tb_test_execute(): what its buses did. */
    void (*seen)(tb_prog_run *run, const tb_run *of);
    /* After a case that passed: coverage, statistics. A failure goes into run->result. 0, or -1 with run->err. */
    int (*passed)(tb_prog_run *run);
    /* Release run->more. */
    void (*release)(tb_prog_run *run);
    /*
     * --cov (without these functions no file is written): open; write, with the line of a suite that repeats the run
     * (empty: none does); close, also when open failed.
     */
    int (*cov_open)(const tb_prog *prog, char *err, size_t err_size);
    int (*cov_save)(const tb_prog *prog, const char *path, const char *job, char *err, size_t err_size);
    void (*cov_close)(const tb_prog *prog);
    /* --code-cov: write Verilator's coverage data. */
    int (*code_save)(const char *text, size_t size, const char *path, char *err, size_t err_size);
    /* axi-check --project-rules. */
    void (*axi_rules)(tb_axi_mon_cfg *cfg);
    bool dumps;                  /* executors write tensor logs: --dump, and streams in reports */
    bool judges;                 /* executors know no_checks: something else judges a run, too */
    const tb_report_ops *report; /* the design's part of reports (report.h) */
};

/*
 * For executors on a tb_run, after a failure and before it is closed: record what failed where, and write the waveform
 * around it if requested.
 */
void tb_prog_failed(tb_prog_run *run, tb_run *of);
/* The whole program; returns its exit status. */
int tb_prog_main(const tb_prog *prog, int argc, char **argv);

#endif
