#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "shrink_case.h"

typedef struct shrink_job {
    const tb_prog *prog;
    uint64_t seed, max_cycles;
} shrink_job;

static bool legal(void *ctx, const tb_knobs *knobs) {
    char err[512];
    return tb_prog_check(((const shrink_job *)ctx)->prog, knobs, err, sizeof err) == 0;
}

static void limit(void *ctx, uint64_t cycles) {
    ((shrink_job *)ctx)->max_cycles = cycles;
}

static int run(void *ctx, const tb_knobs *knobs, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    const shrink_job *job = (const shrink_job *)ctx;
    tb_result result;
    tb_result_init(&result);
    tb_prog_run one = {.seed = job->seed, .knobs = knobs, .max_cycles = job->max_cycles, .result = &result};
    const int rc = job->prog->execute(&one);
    const bool failed = result.outcome != TB_PASS;
    snprintf(signature, TB_SHRINK_SIGNATURE, "%s", failed ? result.signature : "");
    *cycles = result.cycles;
    tb_result_free(&result);
    free(one.report);
    return failed ? 0 : rc;
}

static tb_shrink_size size(void *ctx, const tb_knobs *knobs) {
    return ((const shrink_job *)ctx)->prog->size(knobs);
}

int tb_prog_shrink(tb_prog_options *o) {
    char err[1024] = "", before[600];
    const tb_prog *prog = o->prog;
    shrink_job job = {.prog = prog};
    if (tb_prog_load(prog, o->shrink, &job.seed, &o->knobs, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->self, err);
        return 2;
    }
    snprintf(before, sizeof before, "%s --case ", o->self);
    const tb_shrink_case front = {.self = o->self,
                                  .file = o->shrink,
                                  .output = o->output,
                                  .test = prog->name,
                                  .cfg = prog->cfg,
                                  .seed = job.seed,
                                  .quiet = o->quiet,
                                  .before = before,
                                  .after = "",
                                  .shrink = {.ctx = &job,
                                             .legal = legal,
                                             .run = run,
                                             .limit = limit,
                                             .size = prog->size != NULL ? size : NULL,
                                             .seconds = (double)o->seconds,
                                             .jobs = (unsigned)o->jobs,
                                             .work_name = prog->work_name,
                                             .keep = o->keep}};
    return tb_shrink_case_run(&front, &o->knobs);
}
