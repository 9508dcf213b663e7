/*
 * result.h - the small file in which a program reports the outcome of a job to the runner (key=value lines,
 * docs/architecture.md section 7).
 */
#ifndef TB_RESULT_H
#define TB_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "kv.h"

/* TB_HOST: the machine refused space, memory or a process (rep_host() of report.h): no verdict. */
typedef enum tb_outcome { TB_PASS = 0, TB_FAIL = 1, TB_ERROR = 2, TB_HOST = 3 } tb_outcome;

typedef struct tb_result {
    tb_outcome outcome;
    char signature[128]; /* stable name of the failure for bucketing, empty when passed */
    char message[512];   /* one line for a person */
    uint64_t cycles;
    uint64_t trace_hash;
    char case_path[512]; /* stored case, or empty */
    tb_kv extra;         /* further keys, written last; tb_result_init() makes it empty */
} tb_result;

void tb_result_init(tb_result *result);
void tb_result_free(tb_result *result);
/* Note the first failure; later calls change nothing once the outcome is not TB_PASS. printf-like message. After
 * the machine refused something the outcome is TB_HOST, without a signature. */
void tb_result_fail(tb_result *result, tb_outcome outcome, const char *signature, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The work is done: a pass during which the machine refused something is none, but TB_HOST. */
void tb_result_close(tb_result *result);
/* "pass", "fail", "error", "host" */
const char *tb_outcome_name(tb_outcome outcome);
/* Exit status of a program: 0, 1, 2, 3. */
int tb_result_exit(const tb_result *result);
/* Write the file (temporary name and rename). 0 or -1: disk full, no directory ... */
int tb_result_save(const tb_result *result, const char *path, char *err, size_t err_size);

#endif
