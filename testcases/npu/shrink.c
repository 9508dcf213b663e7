/* shrink.c - `tandem shrink`: a failing case made small. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Data without surprises; whatever else a generator draws comes after them. */
static const char *const plain_data[] = {"zeros", "ones", "ramp", NULL};
static const tb_shrink_wish wishes[] = {
    {"data", TB_SHRINK_NAMES, plain_data, NULL},   {"wdata", TB_SHRINK_NAMES, plain_data, NULL},
    {"values", TB_SHRINK_NAMES, plain_data, NULL}, {"skip", TB_SHRINK_BITS, NULL, "tasks"},
    {"skip", TB_SHRINK_BITS, NULL, "jobs"},        {"cut", TB_SHRINK_UP, NULL, NULL},
    {"cut_map", TB_SHRINK_UP, NULL, NULL},         {"cut_ch", TB_SHRINK_UP, NULL, NULL},
    {"cut_k", TB_SHRINK_UP, NULL, NULL},
};

typedef struct job {
    const cli_options *o;
    const tc_test *test;
    uint64_t seed, max_cycles;
} job;

static bool legal(void *ctx, const tb_knobs *knobs) {
    const job *j = (const job *)ctx;
    char err[512];
    return j->test->check == NULL || j->test->check(NPU_CFG_N, knobs, err, sizeof err) == 0;
}

static void limit(void *ctx, uint64_t cycles) {
    ((job *)ctx)->max_cycles = cycles;
}

static int run(void *ctx, const tb_knobs *knobs, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    const job *j = (const job *)ctx;
    tb_result result;
    tb_result_init(&result);
    tc_run run = {.test = j->test, .n = NPU_CFG_N, .seed = j->seed, .knobs = knobs, .setup = j->o->setup, .result = &result};
    run.setup.max_cycles = j->max_cycles;
    int rc = j->test->execute(&run);
    tc_close(&run);
    free(run.series);
    snprintf(signature, TB_SHRINK_SIGNATURE, "%s", result.outcome == TB_PASS ? "" : result.signature);
    *cycles = result.cycles;
    rc = result.outcome == TB_PASS ? rc : 0;
    tb_result_free(&result);
    return rc;
}

/* unit:<unit>:<stream>: the same unit. */
static bool same(void *ctx, const char *want, const char *got) {
    const job *j = (const job *)ctx;
    const char *stream = j->o->same_unit && strncmp(want, "unit:", 5) == 0 ? strchr(want + 5, ':') : NULL;
    return stream != NULL ? strncmp(want, got, (size_t)(stream - want) + 1) == 0 : strcmp(want, got) == 0;
}

static tb_shrink_size size(void *ctx, const tb_knobs *knobs) {
    const job *j = (const job *)ctx;
    return j->test->size != NULL ? j->test->size(NPU_CFG_N, knobs) : (tb_shrink_size){0};
}

static void settle(void *ctx, tb_knobs *knobs) {
    const job *j = (const job *)ctx;
    if (j->test->settle != NULL) {
        j->test->settle(knobs);
    }
}

int cli_shrink(const cli_options *o) {
    char err[1024] = "", setup[256];
    tb_knobs knobs;
    job j = {.o = o};
    if (cli_case_load(o->case_file, &j.test, &j.seed, &knobs, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->prog, err);
        return 2;
    }
    cli_setup_text(o, setup, sizeof setup);
    const tb_shrink_case front = {.self = o->prog,
                                  .file = o->case_file,
                                  .output = o->output,
                                  .test = j.test->name,
                                  .cfg = NPU_CFG_NAME,
                                  .seed = j.seed,
                                  .quiet = o->quiet,
                                  .before = "make repro CASE=",
                                  .after = setup,
                                  .shrink = {.ctx = &j,
                                             .legal = legal,
                                             .run = run,
                                             .limit = limit,
                                             .same = same,
                                             .size = j.test->size != NULL ? size : NULL,
                                             .settle = settle,
                                             .wishes = wishes,
                                             .wish_count = sizeof wishes / sizeof wishes[0],
                                             .seconds = (double)o->seconds,
                                             .jobs = (unsigned)o->jobs,
                                             .work_name = "MACs",
                                             .keep = o->keep}};
    return tb_shrink_case_run(&front, &knobs);
}
