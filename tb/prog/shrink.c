#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "../case/store.h"
#include "../sim/sim.h"
#include "options.h"

typedef struct shrink_job {
    const tb_prog *prog;
    uint64_t seed, max_cycles;
    bool unsaved; /* a step could not be stored */
    char path[1024];
    char err[1024];
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
    return failed ? 0 : rc;
}

static tb_shrink_size size(void *ctx, const tb_knobs *knobs) {
    return ((const shrink_job *)ctx)->prog->size(knobs);
}

static bool stop(void *ctx) {
    (void)ctx;
    return tb_sim_signal() != 0;
}

/* After each step: whatever happens next, the smallest so far is there. */
static void save(void *ctx, const tb_knobs *knobs) {
    shrink_job *job = (shrink_job *)ctx;
    job->unsaved = tb_case_save(job->path, job->prog->name, job->prog->cfg, job->seed, knobs, job->err, sizeof job->err) != 0;
}

/* "x.case" becomes "x-small.case". */
static void small_name(const tb_prog_options *o, char *dst, size_t dst_size) {
    const size_t length = strlen(o->shrink);
    const bool has_end = length > 5 && strcmp(o->shrink + length - 5, ".case") == 0;
    if (o->output != NULL) {
        snprintf(dst, dst_size, "%s", o->output);
    } else {
        snprintf(dst, dst_size, "%.*s-small.case", (int)(has_end ? length - 5 : length), o->shrink);
    }
}

static void print_end(const tb_prog_options *o, const shrink_job *job, const tb_shrink_stats *s) {
    printf("%s: %u of %u attempts fail in the same way, %.1f s%s\n", s->signature, s->steps, s->runs, s->seconds,
           s->stopped       ? "; stopped by a signal"
           : s->failed      ? "; stopped: no memory or no process left"
           : s->out_of_time ? "; stopped at the limit of time"
                            : "");
    if (s->work_before != 0) {
        printf("%s %" PRIu64 " -> %" PRIu64 "\n", o->prog->work_name, s->work_before, s->work_after);
    }
    printf("cycles until it fails %" PRIu64 " -> %" PRIu64 "\n%s --case %s\n", s->cycles_before, s->cycles_after, o->self, job->path);
}

int tb_prog_shrink(tb_prog_options *o) {
    char err[1024] = "";
    const tb_prog *prog = o->prog;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    shrink_job job = {.prog = prog};
    tb_shrink_stats stats;
    if (tb_prog_load(prog, o->shrink, &job.seed, &o->knobs, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->self, err);
        return 2;
    }
    const tb_shrink_cfg cfg = {.ctx = &job,
                               .legal = legal,
                               .run = run,
                               .limit = limit,
                               .size = prog->size != NULL ? size : NULL,
                               .step = save,
                               .stop = stop,
                               .seconds = (double)o->seconds,
                               .jobs = o->jobs != 0 ? (unsigned)o->jobs
                                       : cores > 0  ? (unsigned)cores
                                                    : 1,
                               .log = o->quiet ? NULL : stdout,
                               .live = isatty(STDOUT_FILENO) != 0,
                               .work_name = prog->work_name,
                               .keep = o->keep};
    small_name(o, job.path, sizeof job.path);
    tb_sim_catch_signals();
    int rc = tb_shrink(&cfg, &o->knobs, &stats, err, sizeof err);
    if (rc == 0) {
        save(&job, &o->knobs);
        rc = job.unsaved ? -1 : 0;
        snprintf(err, sizeof err, "%s", job.err);
    }
    if (rc != 0) {
        fprintf(stderr, "%s: %s: %s\n", o->self, o->shrink, err);
        return 1;
    }
    print_end(o, &job, &stats);
    return 0;
}
