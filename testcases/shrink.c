/* shrink.c - `tandem shrink`: a failing case made small. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const cli_options *o;
    const tc_test *test;
    uint64_t seed;
} job;

static bool legal(void *ctx, const tb_knobs *knobs) {
    const job *j = (const job *)ctx;
    char err[512];
    return j->test->check == NULL || j->test->check(NPU_CFG_N, knobs, err, sizeof err) == 0;
}

static int run(void *ctx, const tb_knobs *knobs, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    const job *j = (const job *)ctx;
    tb_result result;
    tb_result_init(&result);
    tc_run run = {.test = j->test, .n = NPU_CFG_N, .seed = j->seed, .knobs = knobs, .kind = j->o->kind, .result = &result};
    int rc = j->test->execute(&run);
    tc_close(&run);
    free(run.series);
    snprintf(signature, TB_SHRINK_SIGNATURE, "%s", result.outcome == TB_PASS ? "" : result.signature);
    *cycles = result.cycles;
    rc = result.outcome == TB_PASS ? rc : 0;
    tb_result_free(&result);
    return rc;
}

/* Where the small case goes: "x.case" becomes "x-small.case". */
static void output_name(const cli_options *o, char *dst, size_t size) {
    const size_t length = strlen(o->case_file);
    const bool has_end = length > 5 && strcmp(o->case_file + length - 5, ".case") == 0;
    if (o->output != NULL) {
        snprintf(dst, size, "%s", o->output);
    } else {
        snprintf(dst, size, "%.*s-small.case", (int)(has_end ? length - 5 : length), o->case_file);
    }
}

static int save(const cli_options *o, const job *j, const tb_knobs *knobs, char *path, size_t path_size, char *err, size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    output_name(o, path, path_size);
    int rc = cli_case_to_kv(j->test, j->seed, knobs, &kv);
    if (rc != 0) {
        snprintf(err, err_size, "out of memory");
    } else {
        rc = tb_kv_save(&kv, path, err, err_size);
    }
    tb_kv_free(&kv);
    return rc;
}

int cli_shrink(const cli_options *o) {
    char err[1024] = "", path[1024];
    tb_knobs knobs;
    tb_shrink_stats stats;
    job j = {.o = o};
    if (cli_case_load(o->case_file, &j.test, &j.seed, &knobs, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->prog, err);
        return 2;
    }
    const tb_shrink_cfg cfg = {
        .ctx = &j, .legal = legal, .run = run, .seconds = (double)o->seconds, .log = o->quiet ? NULL : stdout, .keep = o->keep};
    if (tb_shrink(&cfg, &knobs, &stats, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s: %s\n", o->prog, o->case_file, err);
        return 1;
    }
    if (save(o, &j, &knobs, path, sizeof path, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->prog, err);
        return 1;
    }
    printf("%s: %u of %u attempts fail in the same way%s\n", stats.signature, stats.steps, stats.runs,
           stats.out_of_time ? "; stopped at the limit of time" : "");
    printf("cycles %" PRIu64 " -> %" PRIu64 "\nmake repro CASE=%s\n", stats.cycles_before, stats.cycles_after, path);
    return 0;
}
