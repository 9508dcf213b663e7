#include "shrink_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../case/store.h"
#include "../sim/sim.h"

typedef struct target {
    const tb_shrink_case *job;
    bool unsaved; /* the last step could not be stored */
    char path[1024];
    char err[1024];
} target;

/* "x.case" becomes "x-small.case". */
static void name_target(target *t) {
    const char *file = t->job->file;
    const size_t length = strlen(file);
    const bool has_end = length > 5 && strcmp(file + length - 5, ".case") == 0;
    if (t->job->output != NULL) {
        snprintf(t->path, sizeof t->path, "%s", t->job->output);
    } else {
        snprintf(t->path, sizeof t->path, "%.*s-small.case", (int)(has_end ? length - 5 : length), file);
    }
}

/* After each step: whatever happens next, the smallest so far is there. */
static void save(void *ctx, const tb_knobs *knobs) {
    target *t = (target *)ctx;
    const tb_shrink_case *j = t->job;
    t->unsaved = tb_case_save(t->path, j->test, j->cfg, j->seed, knobs, t->err, sizeof t->err) != 0;
}

static bool stop(void *ctx) {
    (void)ctx;
    return tb_sim_signal() != 0;
}

static void print_share(const char *what, uint64_t before, uint64_t after) {
    if (what != NULL && before != 0) {
        const double percent = 100.0 * (double)after / (double)before;
        printf("%s %" PRIu64 " -> %" PRIu64, what, before, after);
        printf(percent < 0.1 ? " (%.4f %%)\n" : " (%.1f %%)\n", percent);
    }
}

static void print_end(const target *t, const tb_shrink_stats *s) {
    printf("%s: %u of %u attempts fail in the same way, %.1f s%s\n", s->signature, s->steps, s->runs, s->seconds,
           s->stopped       ? "; stopped by a signal"
           : s->failed      ? "; stopped: no memory or no process left"
           : s->out_of_time ? "; stopped at the limit of time"
                            : "");
    print_share(t->job->shrink.work_name, s->work_before, s->work_after);
    print_share("cycles until it fails", s->cycles_before, s->cycles_after);
    printf("%s%s%s\n", t->job->before, t->path, t->job->after);
}

int tb_shrink_case_run(const tb_shrink_case *job, tb_knobs *knobs) {
    target t = {.job = job};
    tb_shrink_cfg cfg = job->shrink;
    tb_shrink_stats stats;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cfg.step = save;
    cfg.step_ctx = &t;
    cfg.stop = stop;
    cfg.log = job->quiet ? NULL : stdout;
    cfg.live = isatty(STDOUT_FILENO) != 0;
    if (cfg.jobs == 0) {
        cfg.jobs = cores < 1 ? 1 : cores > (long)TB_SHRINK_JOBS ? TB_SHRINK_JOBS : (unsigned)cores;
    }
    name_target(&t);
    tb_sim_catch_signals();
    if (tb_shrink(&cfg, knobs, &stats, t.err, sizeof t.err) != 0) {
        fprintf(stderr, "%s: %s: %s\n", job->self, job->file, t.err);
        return 1;
    }
    save(&t, knobs);
    if (t.unsaved) {
        fprintf(stderr, "%s: %s\n", job->self, t.err);
        return 1;
    }
    print_end(&t, &stats);
    return stats.stopped || stats.failed ? 1 : 0;
}
