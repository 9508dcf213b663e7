/*
 * options.h - private to tb/prog: the command line, and what its files share.
 */
#ifndef TB_PROG_OPTIONS_H
#define TB_PROG_OPTIONS_H

#include "prog.h"

typedef struct tb_prog_options {
    const tb_prog *prog;
    const char *self; /* the program as it was called */
    uint64_t seed, run_seed, index, count, wave_window, seconds, jobs;
    bool have_seed, have_run, have_shrink, help, list, print_case, quiet;
    const char *case_file, *case_dir, *shrink, *output, *keep, *wave, *fail_wave, *result;
    tb_knobs knobs; /* with the pins of the command line */
} tb_prog_options;

/* Fill the options. 0, or -1 with one line in err. */
int tb_prog_parse(tb_prog_options *o, const tb_prog *prog, int argc, char **argv, char *err, size_t err_size);
void tb_prog_usage(FILE *out, const tb_prog_options *o);

/* Can these knobs be executed? 0, or -1 with one line in err. */
int tb_prog_check(const tb_prog *prog, const tb_knobs *knobs, char *err, size_t err_size);
/* Read and check a stored case. 0, or -1 with one line in err. */
int tb_prog_load(const tb_prog *prog, const char *path, uint64_t *seed, tb_knobs *knobs, char *err, size_t err_size);
/* Make the stored case small; exit status. */
int tb_prog_shrink(tb_prog_options *o);

#endif
