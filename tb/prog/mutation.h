/*
 * mutation.h - private to tb/prog: the mutants of a build of kind mut in a run of cases (docs/qualification.md).
 */
#ifndef TB_PROG_MUTATION_H
#define TB_PROG_MUTATION_H

#include "../case/result.h"
#include "../sim/shim.h"

/* The command line's part. Both `mutant` and `list` unset: the program runs as any other. */
typedef struct tb_mutation_options {
    uint32_t mutant;  /* it is the design, 0: none */
    const char *list; /* file with the numbers of the mutants to watch, or NULL */
    /* With list: file to write. First "#", seconds of a processor of the run without a mutant and of all mutants, clock
     * cycles of the former; then a line for each: number, verdict, clock cycles of the run before it differed, cycles
     * from there to the end, cases before the one that fails (a survivor: in which it differed), signature, message, of
     * a survivor whether the trace hash of its run is the `same` as that without a mutant or another one; tabs between
     * them. */
    const char *verdicts;
    uint64_t jobs;    /* children at a time; 0: none, only what differs is found out */
    uint64_t cycles;  /* of a child, 0: to the end of the run */
    uint64_t seconds; /* of a child: time of a processor */
} tb_mutation_options;

/* Before the first case. The options must stay where they are. 0, or -1 with one line in err. */
int tb_mutation_begin(const tb_shim *shim, const tb_mutation_options *o, char *err, size_t err_size);
/* After each case. Does not return in the process of a mutant whose case has failed. */
void tb_mutation_case(const tb_result *result);
/*
 * After the last case; rc != 0: not all could be run, for the reason in err. Does not return in the process of a
 * mutant. Waits for these, and writes the verdicts if all cases have passed without a mutant. Returns rc, or -1 with
 * one line in err.
 */
int tb_mutation_end(const tb_result *result, int rc, char *err, size_t err_size);

#endif
