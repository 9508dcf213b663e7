/*
 * prog.h - the main program of a constrained-random test: options, cases, failures, waveforms, shrinking, the result file for the runner.
 *
 * A test is a table of knobs and an executor that reads nothing but the case. Exit status of the program: 0 passed, 1 failed, 2 bad input.
 */
#ifndef TB_PROG_H
#define TB_PROG_H

#include "../case/knob.h"
#include "../case/shrink.h"
#include "../case/result.h"

/* One case in execution. */
typedef struct tb_prog_run {
    uint64_t seed;         /* of the case */
    const tb_knobs *knobs; /* of the case */
    const char *wave;      /* FST file of the whole run, or NULL */
    const char *fail_wave; /* FST file around a failure, or NULL; the executor writes it */
    uint64_t wave_window;  /* its cycles before the failure, 0: as the executor likes */
    uint64_t max_cycles;   /* end the run as a failure after so many, 0: no limit; for attempts of the shrinker */
    tb_result *result;     /* failures go there; cycles and trace_hash are added up over the cases */
    char err[512];         /* why the case could not be run */
    char *report;          /* text below the line of a failure, or NULL; the program frees it */
} tb_prog_run;

typedef struct tb_prog {
    const char *name;  /* of the test: [a-z][a-z0-9_]* */
    const char *cfg;   /* configuration of the design that this program was built with */
    const char *about; /* one line for --help */
    const tb_knob *knobs;
    size_t knob_count;
    /* Draw again what depends on other knobs; part of the generator. NULL: nothing. */
    void (*constrain)(tb_knobs *knobs, uint64_t seed);
    /* Can these knobs be executed? -1 with one line: no. NULL: all can. */
    int (*check)(const tb_knobs *knobs, char *err, size_t err_size);
    /* What the case asks for, for the shrinker and its report (tb/case/shrink.h). NULL: the product of all numbers. */
    tb_shrink_size (*size)(const tb_knobs *knobs);
    const char *work_name; /* unit of size().work: "bytes" */
    /* Execute. -1 with run->err: it could not be run. */
    int (*execute)(tb_prog_run *run);
} tb_prog;

/* The whole program; returns its exit status. */
int tb_prog_main(const tb_prog *prog, int argc, char **argv);

#endif
