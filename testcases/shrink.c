/* shrink.c - `tandem shrink`: a failing case made small. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    bool unsaved; /* a step could not be stored */
    char path[1024];
    char err[1024];
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

static bool stop(void *ctx) {
    (void)ctx;
    return tb_sim_signal() != 0;
}

/* Where the small case goes: "x.case" becomes "x-small.case". */
static void output_name(const cli_options *o, char *dst, size_t dst_size) {
    const size_t length = strlen(o->case_file);
    const bool has_end = length > 5 && strcmp(o->case_file + length - 5, ".case") == 0;
    if (o->output != NULL) {
        snprintf(dst, dst_size, "%s", o->output);
    } else {
        snprintf(dst, dst_size, "%.*s-small.case", (int)(has_end ? length - 5 : length), o->case_file);
    }
}

/* After each step: whatever happens next, the smallest so far is there. */
static void save(void *ctx, const tb_knobs *knobs) {
    job *j = (job *)ctx;
    tb_kv kv;
    tb_kv_init(&kv);
    j->unsaved = true;
    if (cli_case_to_kv(j->test, j->seed, knobs, &kv) != 0) {
        snprintf(j->err, sizeof j->err, "out of memory");
    } else {
        j->unsaved = tb_kv_save(&kv, j->path, j->err, sizeof j->err) != 0;
    }
    tb_kv_free(&kv);
}

static void print_share(uint64_t before, uint64_t after) {
    const double percent = before > 0 ? 100.0 * (double)after / (double)before : 0;
    printf(percent < 0.1 ? " (%.4f %%)\n" : " (%.1f %%)\n", percent);
}

static void print_end(const job *j, const tb_shrink_stats *s) {
    printf("%s: %u of %u attempts fail in the same way, %.1f s%s\n", s->signature, s->steps, s->runs, s->seconds,
           s->stopped       ? "; stopped by a signal"
           : s->failed      ? "; stopped: no memory or no process left"
           : s->out_of_time ? "; stopped at the limit of time"
                            : "");
    if (s->work_before != 0) {
        printf("MACs %" PRIu64 " -> %" PRIu64, s->work_before, s->work_after);
        print_share(s->work_before, s->work_after);
    }
    if (s->cycles_before != 0) {
        printf("cycles until it fails %" PRIu64 " -> %" PRIu64, s->cycles_before, s->cycles_after);
        print_share(s->cycles_before, s->cycles_after);
    }
    char setup[256];
    cli_setup_text(j->o, setup, sizeof setup);
    printf("make repro CASE=%s%s\n", j->path, setup);
}

int cli_shrink(const cli_options *o) {
    char err[1024] = "";
    tb_knobs knobs;
    tb_shrink_stats stats;
    job j = {.o = o};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cli_case_load(o->case_file, &j.test, &j.seed, &knobs, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->prog, err);
        return 2;
    }
    const tb_shrink_cfg cfg = {.ctx = &j,
                               .legal = legal,
                               .run = run,
                               .limit = limit,
                               .same = same,
                               .size = j.test->size != NULL ? size : NULL,
                               .settle = settle,
                               .step = save,
                               .stop = stop,
                               .wishes = wishes,
                               .wish_count = sizeof wishes / sizeof wishes[0],
                               .seconds = (double)o->seconds,
                               .jobs = o->jobs != 0                           ? (unsigned)o->jobs
                                       : cores > 0 && cores <= TB_SHRINK_JOBS ? (unsigned)cores
                                                                              : 1,
                               .log = o->quiet ? NULL : stdout,
                               .live = isatty(STDOUT_FILENO) != 0,
                               .work_name = "MACs",
                               .keep = o->keep};
    output_name(o, j.path, sizeof j.path);
    tb_sim_catch_signals();
    if (tb_shrink(&cfg, &knobs, &stats, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s: %s\n", o->prog, o->case_file, err);
        return 1;
    }
    save(&j, &knobs);
    if (j.unsaved) {
        fprintf(stderr, "%s: %s\n", o->prog, j.err);
        return 1;
    }
    print_end(&j, &stats);
    return stats.stopped || stats.failed ? 1 : 0;
}
