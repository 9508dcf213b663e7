/*
 * shrink_case.h - a stored case made small, from the command line: the same in every program that has cases.
 */
#ifndef TB_PROG_SHRINK_CASE_H
#define TB_PROG_SHRINK_CASE_H

#include "../case/shrink.h"

typedef struct tb_shrink_case {
    const char *self, *file;    /* the program as it was called, the stored case */
    const char *output;         /* where the small case goes; NULL: FILE with -small before .case */
    const char *test, *cfg;     /* of the case */
    uint64_t seed;              /* of the case */
    bool quiet;                 /* no line for each step */
    const char *before, *after; /* of the file's name in the command that repeats the small case: "make repro CASE=", "" */
    tb_shrink_cfg shrink;       /* jobs 0: number of cores; step, stop, log and live are filled in */
} tb_shrink_case;

/*
 * Shrink in place, with the smallest case so far in its file after each step, and print how far it went and the command that repeats it. SIGINT and SIGTERM end it.
 * Exit status: 0; 1 when nothing was to be shrunk, it was stopped, or the file cannot be written (one line on stderr).
 */
int tb_shrink_case_run(const tb_shrink_case *job, tb_knobs *knobs);

#endif
