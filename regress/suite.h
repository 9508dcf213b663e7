/* suite.h - a line of a suite between reading (suite.c, suite_line.c) and expansion (expand.c). */
#ifndef REG_SUITE_H
#define REG_SUITE_H

#include "design.h"
#include "job.h"

/* One line of a suite before expansion. */
typedef struct suite_line {
    reg_job job;
    const reg_design *design;
    bool cfg[REG_CFG_MAX]; /* of the design: which are used */
    uint64_t count;
    uint64_t determinism;
    uint64_t cover;            /* jobs of a coverage run, 0: none; */
    uint64_t code;             /* so many of them with the build that counts lines */
    char except[REG_ARGS_MAX]; /* "unit all", "test operators": what is left out, separated by commas; empty: none */
    char when[REG_ARGS_MAX];   /* a file without which the line is skipped; empty: none */
} suite_line;

typedef struct suite_reader {
    const char *path;
    unsigned line;
    unsigned depth; /* of includes */
    const reg_suite_options *options;
    const reg_design *design; /* design of the suite: configurations without a design are its own */
    reg_suite *suite;
} suite_reader;

/* "file:line: what" on stderr; REG_USAGE. */
reg_status reg_suite_bad(const suite_reader *reader, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The name becomes part of a program's and a folder's name. */
bool reg_name_valid(const char *name);

/* Read the rest of a line that begins with what its jobs are (`word`: unit, test, ...; repeat: each twice), and add its
 * jobs. */
reg_status reg_line_parse(const suite_reader *reader, const char *word, bool repeat, char **rest, const char *blanks);

/* Add the jobs of a line to the suite. */
reg_status reg_line_expand(const suite_reader *reader, suite_line *line);

/* A build that counts code coverage takes many times as long. */
#define REG_CODE_SLOWER 10u

/* A suite that marks no job: all that can write coverage, once each, the first one of each test, of each bench and of
 * the stored cases with the build that counts lines. */
void reg_mark_all(reg_suite *suite);

#endif
