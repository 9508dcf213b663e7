/*
 * options.h - private to tb/prog: what its files share.
 */
#ifndef TB_PROG_OPTIONS_H
#define TB_PROG_OPTIONS_H

#include "prog.h"

/* Fill the options. 0, or -1 with one line in err. */
int tb_prog_parse(tb_prog_options *o, const tb_prog *prog, int argc, char **argv, char *err, size_t err_size);
void tb_prog_usage(FILE *out, const tb_prog_options *o);
/* The tests and their knobs, as text or as JSON. */
void tb_prog_list(FILE *out, const tb_prog_options *o);

/* By name; NULL: unknown. */
const tb_test *tb_prog_find(const tb_prog *prog, const char *name);
/* Can these knobs be executed? 0, or -1 with one line in err. */
int tb_test_check(const tb_test *test, const tb_knobs *knobs, char *err, size_t err_size);
/* Read and check a stored case, o->stored: test, knobs, seed. 0, or -1 with one line in err. */
int tb_prog_load(tb_prog_options *o, uint64_t *seed, char *err, size_t err_size);
/* What stands between the program, or its command that repeats cases, and the file of a case: " repro ". */
const char *tb_prog_case_word(const tb_prog_options *o);
/* " k=3 act=relu": the pinned knobs; empty when they do not fit. */
void tb_prog_pins(const tb_knobs *knobs, char *dst, size_t size);
/* Release what a run holds. */
void tb_prog_run_free(tb_prog_run *run);

/* Commands; exit status. device, wave and axi-check parse their own options. */
int tb_prog_shrink(tb_prog_options *o);
int tb_prog_diff(const tb_prog_options *o);
int tb_prog_device(const tb_prog *prog, int argc, char **argv);
int tb_prog_wave(int argc, char **argv);
int tb_prog_axi_check(const tb_prog *prog, int argc, char **argv);

#endif
