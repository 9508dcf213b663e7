/* shrink.c - a stored case made small. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../case/store.h"
#include "../sim/sim.h"
#include "tandem.h"
#include "options.h"
#include "report/report.h"

typedef struct job {
    const tb_prog_options *o;
    uint64_t seed, max_cycles;
    bool unsaved; /* the last step could not be stored */
    char path[1024];
    char err[1024];
} job;

/* ---- attempts ---- */

static bool legal(void *ctx, const tb_knobs *knobs) {
    char err[512];
    return tb_test_check(((const job *)ctx)->o->test, knobs, err, sizeof err) == 0;
}

static void limit(void *ctx, uint64_t cycles) {
    ((job *)ctx)->max_cycles = cycles;
}

/* One execution. The signature is empty if it passes. */
static int execute(const job *j, const tb_knobs *knobs, bool no_checks, char *signature, uint64_t *cycles) {
    tb_result result;
    tb_result_init(&result);
    tb_prog_run one = {.o = j->o,
                       .test = j->o->test,
                       .seed = j->seed,
                       .knobs = knobs,
                       .again = true,
                       .no_checks = no_checks,
                       .max_cycles = no_checks ? 0 : j->max_cycles, /* it does not end at the first wrong value */
                       .result = &result};
    const int rc = tb_test_execute(&one);
    const bool failed = result.outcome != TB_PASS;
    snprintf(signature, sizeof result.signature, "%s", failed ? result.signature : "");
    *cycles = result.cycles;
    tb_prog_run_free(&one);
    tb_result_free(&result);
    return failed ? 0 : rc;
}

static bool found_by_check(const char *signature) {
    return strncmp(signature, "unit:", 5) == 0;
}

/*
 * What the check of a unit finds may be seen outside as well: the same case without the checks, as in a build that has
 * none, ends with a signature of its own, which goes into a second line. A small case that keeps the first one only
 * could pass where the user saw the failure.
 */
static int run(void *ctx, const tb_knobs *knobs, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    const job *j = (const job *)ctx;
    uint64_t ignored = 0;
    const int rc = execute(j, knobs, false, signature, cycles);
    if (rc == 0 && j->o->prog->judges && !j->o->signature_only && found_by_check(signature)) {
        char *end = signature + strlen(signature);
        (void)execute(j, knobs, true, end + 1, &ignored);
        *end = end[1] == '\0' ? '\0' : '\n';
    }
    return rc;
}

/* Characters of the first two words of a signature: mem:differ, axi:<rule>, unit:<unit>. What follows (a port, the root
 * of a hang) may change. */
static size_t two_words(const char *signature) {
    const size_t first = strcspn(signature, ":\n");
    return signature[first] == ':' ? first + 1 + strcspn(signature + first + 1, ":\n") : first;
}

static bool same_text(const char *want, const char *got, size_t length, size_t got_length) {
    return length == got_length && strncmp(want, got, length) == 0;
}

/* The same signature, or with --same-unit the same unit; and the same effect without the checks. */
static bool same(void *ctx, const char *want, const char *got) {
    const job *j = (const job *)ctx;
    const char *effect = strchr(want, '\n'), *got_effect = strchr(got, '\n');
    if (effect != NULL && (got_effect == NULL ||
                           !same_text(effect + 1, got_effect + 1, two_words(effect + 1), two_words(got_effect + 1)))) {
        return false;
    }
    return j->o->same_unit && found_by_check(want) ? same_text(want, got, two_words(want), two_words(got))
                                                   : same_text(want, got, strcspn(want, "\n"), strcspn(got, "\n"));
}

static tb_shrink_size size(void *ctx, const tb_knobs *knobs) {
    const tb_test *test = ((const job *)ctx)->o->test;
    return test->size(test, knobs);
}

static void settle(void *ctx, tb_knobs *knobs) {
    const tb_test *test = ((const job *)ctx)->o->test;
    if (test->settle != NULL) {
        test->settle(test, knobs);
    }
}

/* ---- the small case ---- */

/* "x.case" becomes "x-small.case". */
static void name_target(job *j) {
    const char *file = j->o->stored;
    const size_t length = strlen(file);
    const bool has_end = length > 5 && strcmp(file + length - 5, ".case") == 0;
    if (j->o->output != NULL) {
        snprintf(j->path, sizeof j->path, "%s", j->o->output);
    } else {
        snprintf(j->path, sizeof j->path, "%.*s-small.case", (int)(has_end ? length - 5 : length), file);
    }
}

/* After each step, so that the smallest case so far is on disk if the program is killed. */
static void save(void *ctx, const tb_knobs *knobs) {
    job *j = (job *)ctx;
    j->unsaved = tb_case_save(j->path, j->o->test->name, j->o->prog->cfg, j->seed, knobs, j->err, sizeof j->err) != 0;
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

static void print_end(const job *j, const tb_shrink_stats *s) {
    const tb_prog *prog = j->o->prog;
    char more[300] = "";
    const char *effect = strchr(s->signature, '\n');
    printf("%.*s%s%s: %u of %u attempts fail in the same way, %.1f s%s\n", (int)strcspn(s->signature, "\n"),
           s->signature, effect != NULL ? ", without that check " : "", effect != NULL ? effect + 1 : "", s->steps,
           s->runs, s->seconds,
           s->stopped       ? "; stopped by a signal"
           : s->failed      ? "; stopped: no memory or no process left"
           : s->out_of_time ? "; stopped at the limit of time"
                            : "");
    print_share(prog->work_name, s->work_before, s->work_after);
    print_share("cycles until it fails", s->cycles_before, s->cycles_after);
    if (prog->again != NULL) {
        prog->again(prog, more, sizeof more);
    }
    printf("%s%s%s%s\n", prog->repro != NULL ? prog->repro : j->o->self, tb_prog_case_word(j->o), j->path, more);
}

int tb_prog_shrink(tb_prog_options *o) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    tb_shrink_stats stats;
    job j = {.o = o};
    if (tb_prog_load(o, &j.seed, j.err, sizeof j.err) != 0) {
        return opt_bad(o->self, "%s", j.err);
    }
    tb_shrink_cfg cfg = {.ctx = &j,
                         .legal = legal,
                         .run = run,
                         .limit = limit,
                         .same = same,
                         .size = o->test->size != NULL ? size : NULL,
                         .settle = settle,
                         .step = save,
                         .step_ctx = &j,
                         .stop = stop,
                         .wishes = o->prog->wishes,
                         .wish_count = o->prog->wish_count,
                         .seconds = (double)o->seconds,
                         .jobs = (unsigned)o->jobs,
                         .log = o->quiet ? NULL : stdout,
                         .live = isatty(STDOUT_FILENO) != 0,
                         .work_name = o->prog->work_name,
                         .keep = o->keep};
    if (cfg.jobs == 0) {
        cfg.jobs = cores < 1 ? 1 : cores > (long)TB_SHRINK_JOBS ? TB_SHRINK_JOBS : (unsigned)cores;
    }
    name_target(&j);
    tb_sim_catch_signals();
    if (tb_shrink(&cfg, &o->knobs, &stats, j.err, sizeof j.err) != 0) {
        fprintf(stderr, "%s: %s: %s\n", o->self, o->stored, j.err);
        return 1;
    }
    save(&j, &o->knobs);
    if (j.unsaved) {
        fprintf(stderr, "%s: %s\n", o->self, j.err);
        return 1;
    }
    print_end(&j, &stats);
    if (stats.failed) {
        fprintf(stderr, "%s: the machine refused: %s; a smaller case may be possible\n", o->self,
                strerror(rep_host_error()));
    }
    return stats.stopped || stats.failed ? 1 : 0;
}
