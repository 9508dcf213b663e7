/* signoff.h - what writing a sign-off (signoff.c) and verifying it (verify.c) share. */
#ifndef REG_SIGNOFF_H
#define REG_SIGNOFF_H

#include "db.h"

#define REG_SUM_SIZE 65                 /* SHA-256 as text */
#define REG_SIGNOFF_JOBS "],\"jobs\":[" /* the line of the document behind which each job is a line */

/* SHA-256 of a file; of a suite, whose path may stand for a file of each design; of the content of a sign-off. False:
 * not known. */
bool reg_sum_of_file(const char *path, char sum[REG_SUM_SIZE]);
bool reg_sum_of_suite(const char *path, char sum[REG_SUM_SIZE]);
bool reg_sum_of_content(const char *path, char sum[REG_SUM_SIZE]);

/* OUT/signoff.json; false: the path is too long. */
bool reg_signoff_path(const char *out_dir, char *path, size_t size);

/* The copy of a program that belongs to the run; false: the path is too long, or the program is not of its builds. */
bool reg_signoff_program(const reg_run_info *info, const char *program, char *path, size_t size);

#endif
