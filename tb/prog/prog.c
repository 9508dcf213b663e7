#include "options.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../case/store.h"
#include "../sim/sim.h"

/* ---- stored cases ---- */

int tb_prog_check(const tb_prog *prog, const tb_knobs *knobs, char *err, size_t err_size) {
    return prog->check != NULL ? prog->check(knobs, err, err_size) : 0;
}

int tb_prog_load(const tb_prog *prog, const char *path, uint64_t *seed, tb_knobs *knobs, char *err, size_t err_size) {
    char text[400];
    const char *test;
    tb_kv kv;
    tb_kv_init(&kv);
    tb_knobs_init(knobs, prog->knobs, prog->knob_count);
    int rc = tb_kv_load(&kv, path, err, err_size);
    rc = rc == 0 ? tb_case_head(&kv, path, prog->cfg, &test, seed, err, err_size) : rc;
    if (rc == 0 && strcmp(test, prog->name) != 0) {
        snprintf(err, err_size, "%s: test=%.60s, expected %s", path, test, prog->name);
        rc = -1;
    }
    rc = rc == 0 ? tb_case_knobs(&kv, path, knobs, err, err_size) : rc;
    if (rc == 0 && tb_prog_check(prog, knobs, text, sizeof text) != 0) {
        snprintf(err, err_size, "%s: %s", path, text);
        rc = -1;
    }
    tb_kv_free(&kv);
    return rc;
}

/* ---- failures ---- */

/* The command that shows this failure again. */
static void reproducer(const tb_prog_options *o, const tb_knobs *knobs, uint64_t seed, const tb_result *result, char *dst, size_t size) {
    if (result->case_path[0] != '\0') {
        snprintf(dst, size, "%s --case %s", o->self, result->case_path);
        return;
    }
    int at = snprintf(dst, size, "%s --seed 0x%016" PRIx64, o->self, seed);
    for (size_t i = 0; i < knobs->count && at > 0 && (size_t)at < size; i++) {
        const tb_knob *k = &knobs->table[i];
        if (knobs->pinned[i] && tb_knob_kind_of(k) == TB_KNOB_ENUM) {
            at += snprintf(dst + at, size - (size_t)at, " %s=%s", k->name, k->names[knobs->value[i]]);
        } else if (knobs->pinned[i]) {
            at += snprintf(dst + at, size - (size_t)at, " %s=%" PRId64, k->name, knobs->value[i]);
        }
    }
}

/* One line for the failure, one for the way back to it; the case into a file. */
static void report_failure(const tb_prog_options *o, const tb_knobs *knobs, uint64_t seed, tb_result *result) {
    char again[1024], err[512];
    const tb_prog *prog = o->prog;
    if (o->case_file != NULL) {
        snprintf(result->case_path, sizeof result->case_path, "%s", o->case_file);
    } else if (tb_case_store(o->case_dir, prog->name, prog->cfg, seed, knobs, result->case_path, sizeof result->case_path, err,
                             sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->self, err);
    }
    reproducer(o, knobs, seed, result, again, sizeof again);
    tb_kv_set(&result->extra, "repro", again);
    if (o->wave != NULL) {
        tb_kv_set(&result->extra, "wave", o->wave);
    }
    printf("FAIL test=%s seed=0x%016" PRIx64 " cfg=%s : %s\n%s\n", prog->name, seed, prog->cfg, result->message, again);
}

/* ---- cases ---- */

/* One resolved case. 0 or -1 (could not run). */
static int execute(const tb_prog_options *o, const tb_knobs *knobs, uint64_t seed, tb_result *result, char *err, size_t err_size) {
    tb_prog_run run = {
        .seed = seed, .knobs = knobs, .wave = o->wave, .fail_wave = o->fail_wave, .wave_window = o->wave_window, .result = result};
    const int rc = o->prog->execute(&run);
    if (rc != 0 && result->outcome == TB_PASS) {
        snprintf(err, err_size, "%s", run.err);
        free(run.report);
        return -1;
    }
    if (result->outcome != TB_PASS) {
        report_failure(o, knobs, seed, result);
        if (run.report != NULL) {
            printf("\n%s", run.report);
        }
    }
    free(run.report);
    return 0;
}

static int print_case(const tb_prog *prog, const tb_knobs *knobs, uint64_t seed, char *err, size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    const int rc = tb_case_to_kv(prog->name, prog->cfg, seed, knobs, &kv) == 0 ? tb_kv_write(&kv, stdout) : -1;
    if (rc != 0) {
        snprintf(err, err_size, "stdout: cannot be written");
    }
    tb_kv_free(&kv);
    return rc;
}

static int generate(const tb_prog *prog, tb_knobs *knobs, uint64_t seed, char *err, size_t err_size) {
    tb_knobs_draw(knobs, seed);
    if (prog->constrain != NULL) {
        prog->constrain(knobs, seed);
    }
    return tb_prog_check(prog, knobs, err, err_size);
}

/* One after the other until one fails. 0 or -1 (could not run). */
static int run_cases(tb_prog_options *o, tb_result *result, char *err, size_t err_size) {
    const tb_prog *prog = o->prog;
    for (uint64_t i = 0; i < o->count && result->outcome == TB_PASS; i++) {
        uint64_t seed = o->have_seed ? o->seed : tb_rng_test_seed(o->run_seed, prog->name, o->index + i);
        int rc = o->case_file != NULL ? tb_prog_load(prog, o->case_file, &seed, &o->knobs, err, err_size)
                                      : generate(prog, &o->knobs, seed, err, err_size);
        if (rc == 0) {
            rc = o->print_case ? print_case(prog, &o->knobs, seed, err, err_size) : execute(o, &o->knobs, seed, result, err, err_size);
        }
        if (rc != 0) {
            return -1;
        }
    }
    return 0;
}

static int test(tb_prog_options *o) {
    char err[1024] = "";
    tb_result result;
    tb_result_init(&result);
    tb_sim_catch_signals();
    if (run_cases(o, &result, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->self, err);
        tb_result_fail(&result, TB_ERROR, "cannot run", "%s", err);
    } else if (result.outcome == TB_PASS && !o->quiet && !o->print_case) {
        printf("PASS test=%s cfg=%s cases=%" PRIu64 " cycles=%" PRIu64 " hash=%016" PRIx64 "\n", o->prog->name, o->prog->cfg, o->count,
               result.cycles, result.trace_hash);
    }
    int status = tb_result_exit(&result);
    if (o->result != NULL && !o->print_case && tb_result_save(&result, o->result, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->self, err);
        status = status == 0 ? 1 : status;
    }
    tb_result_free(&result);
    return status;
}

int tb_prog_main(const tb_prog *prog, int argc, char **argv) {
    char err[1024] = "";
    tb_prog_options o;
    int status = 0;
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write error, not a death */
    if (tb_prog_parse(&o, prog, argc, argv, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err);
        return 2;
    }
    if (o.help) {
        tb_prog_usage(stdout, &o);
    } else if (o.list) {
        tb_knobs_list(prog->knobs, prog->knob_count, stdout);
    } else {
        status = o.shrink != NULL ? tb_prog_shrink(&o) : test(&o);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: stdout: cannot be written\n", argv[0]);
        status = status == 0 ? 1 : status;
    }
    return status;
}
