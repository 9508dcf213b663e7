/* prog.c - runs the cases, reports a failure, writes the files at the end. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../case/store.h"
#include "../sim/sim.h"
#include "tandem.h"
#include "options.h"
#include "report.h"
#include "opt/opt.h"
#include "report/report.h"

/* ---- cases ---- */

int tb_test_check(const tb_test *test, const tb_knobs *knobs, char *err, size_t err_size) {
    return test->check != NULL ? test->check(test, knobs, err, err_size) : 0;
}

static int read_case(tb_prog_options *o, const tb_kv *kv, uint64_t *seed, char *err, size_t err_size) {
    const char *name = NULL;
    char text[512];
    if (tb_kv_get_str(kv, "test", &name, err, err_size) != 0) {
        return -1;
    }
    o->test = tb_prog_find(o->prog, name);
    if (o->test == NULL && o->prog->test_count == 1) {
        return opt_fail(err, err_size, "%s: test=%.60s, expected %s", o->stored, name, o->prog->tests[0].name);
    }
    if (o->test == NULL) {
        return opt_fail(err, err_size, "%s: unknown test %.60s (`list` shows them)", o->stored, name);
    }
    tb_knobs_init(&o->knobs, o->test->knobs, o->test->knob_count);
    if (tb_case_head(kv, o->stored, o->prog->cfg, &name, seed, err, err_size) != 0 ||
        tb_case_knobs(kv, o->stored, &o->knobs, err, err_size) != 0) {
        return -1;
    }
    if (tb_test_check(o->test, &o->knobs, text, sizeof text) != 0) {
        return opt_fail(err, err_size, "%s: %s", o->stored, text);
    }
    return 0;
}

int tb_prog_load(tb_prog_options *o, uint64_t *seed, char *err, size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    int rc = tb_kv_load(&kv, o->stored, err, err_size);
    rc = rc == 0 ? read_case(o, &kv, seed, err, err_size) : rc;
    tb_kv_free(&kv);
    return rc;
}

static int generate(const tb_prog_options *o, uint64_t seed, tb_knobs *knobs, char *err, size_t err_size) {
    const tb_test *test = o->test;
    char text[512];
    int rc = 0;
    if (test->generate != NULL) {
        rc = test->generate(test, seed, o->command == TB_RUN, knobs, text, sizeof text);
    } else {
        tb_knobs_draw(knobs, seed);
        if (test->constrain != NULL) {
            test->constrain(knobs, seed);
        }
        rc = tb_test_check(test, knobs, text, sizeof text);
    }
    if (rc != 0) {
        snprintf(err, err_size, "%s: %s", test->name, text);
    }
    return rc;
}

static int write_case(const tb_prog_options *o, uint64_t seed, const tb_knobs *knobs, char *err, size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    int rc = tb_case_to_kv(o->test->name, o->prog->cfg, seed, knobs, &kv);
    if (rc != 0) {
        snprintf(err, err_size, "out of memory");
    } else if (o->print_case) {
        rc = tb_kv_write(&kv, stdout);
        if (rc != 0) {
            snprintf(err, err_size, "stdout: cannot be written");
        }
    } else {
        rc = tb_kv_save(&kv, o->case_out, err, err_size);
    }
    tb_kv_free(&kv);
    return rc;
}

void tb_prog_pins(const tb_knobs *knobs, char *dst, size_t size) {
    size_t at = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < knobs->count && at < size; i++) {
        const tb_knob *k = &knobs->table[i];
        if (!knobs->pinned[i]) {
            continue;
        }
        const int n = tb_knob_kind_of(k) == TB_KNOB_ENUM
                          ? snprintf(dst + at, size - at, " %s=%s", k->name, k->names[knobs->value[i]])
                          : snprintf(dst + at, size - at, " %s=%" PRId64, k->name, knobs->value[i]);
        at = n < 0 ? size : at + (size_t)n;
    }
    if (at >= size) {
        dst[0] = '\0';
    }
}

/* ---- failures ---- */

const char *tb_prog_case_word(const tb_prog_options *o) {
    return o->prog->repro != NULL ? " CASE=" : o->prog->test_count == 1 ? " --case " : " repro ";
}

/* The command that reproduces this failure; also into the result, for the runner. */
static void reproducer(const tb_prog_options *o, const tb_prog_run *run, char *dst, size_t size) {
    const tb_prog *prog = o->prog;
    const char *path = run->result->case_path;
    char pins[512] = "", more[300] = "";
    if (prog->again != NULL) {
        prog->again(prog, more, sizeof more);
    }
    if (path[0] != '\0') {
        snprintf(dst, size, "%s%s%s%s", prog->repro != NULL ? prog->repro : o->self, tb_prog_case_word(o), path, more);
    } else {
        tb_prog_pins(run->knobs, pins, sizeof pins);
        if (prog->repro != NULL) {
            snprintf(dst, size, "%s TEST=%s SEED=0x%016" PRIx64 " CFG=%s%s%s", prog->repro, run->test->name, run->seed,
                     prog->cfg, pins, more);
        } else {
            const bool one = prog->test_count == 1; /* it needs no command */
            snprintf(dst, size, "%s%s%s --seed 0x%016" PRIx64 "%s%s", o->self, one ? "" : " test ",
                     one ? "" : run->test->name, run->seed, pins, more);
        }
    }
}

/*
 * Snapshots are taken by the run itself; the pictures beside the waveform are drawn here, those of a report by the
 * report.
 */
static void write_wave(tb_prog_run *p, tb_run *run) {
    char err[256];
    if ((p->folder != NULL && tb_make_folder(p->folder, p->no_wave, sizeof p->no_wave) != 0) ||
        tb_run_fail_wave(run, p->no_wave, sizeof p->no_wave) != 0) {
        if (p->folder == NULL) {
            fprintf(stderr, "no waveform: %s\n", p->no_wave);
        }
        return;
    }
    p->no_wave[0] = '\0';
    if (p->folder == NULL) { /* a report is moved to its place when complete, and then contains its final path */
        tb_kv_set(&p->result->extra, "wave", p->fail_wave);
        if (tb_run_draw(run, err, sizeof err) != 0) {
            fprintf(stderr, "no waveform: %s\n", err);
        }
    }
}

void tb_prog_failed(tb_prog_run *p, tb_run *run) {
    tb_story_end(run);
    const bool known = tb_run_failed(run);
    snprintf(p->failure.signature, sizeof p->failure.signature, "%s", p->result->signature);
    snprintf(p->failure.path, sizeof p->failure.path, "%s", known ? run->failure.path : run->sim.failure_path);
    p->failure.cycle = known ? run->failure.cycle : run->sim.cycle;
    if (p->hang == NULL && run->hang_text != NULL) {
        p->hang = strdup(run->hang_text);
    }
    if (p->fail_wave != NULL) {
        write_wave(p, run);
    }
}

/* Print one line for the failure and one for its reproducer; write the case and all other requested files. */
static void report_failure(const tb_prog_options *o, tb_prog_run *run, tb_report *report) {
    char again[1024], err[512];
    const tb_prog *prog = o->prog;
    tb_result *result = run->result;
    if (o->command == TB_REPRO) {
        snprintf(result->case_path, sizeof result->case_path, "%s", o->stored);
    } else if (o->case_dir != NULL &&
               tb_case_store(o->case_dir, run->test->name, prog->cfg, run->seed, run->knobs, result->case_path,
                             sizeof result->case_path, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->self, err);
    }
    reproducer(o, run, again, sizeof again);
    tb_kv_set(&result->extra, "repro", again);
    if (run->wave != NULL) {
        tb_kv_set(&result->extra, "wave", run->wave);
    }
    printf("FAIL test=%s seed=0x%016" PRIx64 " cfg=%s : %s\n%s\n", run->test->name, run->seed, prog->cfg,
           result->message, again);
    if (run->hang != NULL) {
        printf("\n%s", run->hang);
    }
    if (report != NULL && tb_report_write(report, again, err, sizeof err) != 0) {
        fprintf(stderr, "%s: no report: %s\n", o->self, err);
    }
}

void tb_prog_run_free(tb_prog_run *run) {
    if (run->o->prog->release != NULL) {
        run->o->prog->release(run);
    }
    free(run->hang);
    run->hang = NULL;
}

/* One resolved case. 0 or -1 (could not run). */
static int execute(const tb_prog_options *o, uint64_t seed, const tb_knobs *knobs, tb_result *result, char *err,
                   size_t err_size) {
    tb_prog_run run = {.o = o,
                       .test = o->test,
                       .seed = seed,
                       .knobs = knobs,
                       .wave = o->wave,
                       .fail_wave = o->fail_wave,
                       .wave_window = o->wave_window,
                       .dump = o->dump,
                       .result = result};
    tb_report *report = tb_report_begin(&run);
    int rc = tb_test_execute(&run);
    tb_mutation_case(result);
    if (rc == 0 && result->outcome == TB_PASS && o->prog->passed != NULL) {
        rc = o->prog->passed(&run);
    }
    if (rc != 0 && result->outcome == TB_PASS) {
        snprintf(err, err_size, "%s", run.err);
    } else {
        rc = 0;
    }
    if (result->outcome == TB_HOST) {
        snprintf(err, err_size, "%s", result->message);
        rc = -1;
    } else if (result->outcome != TB_PASS) {
        report_failure(o, &run, report);
    }
    tb_report_end(report);
    tb_prog_run_free(&run);
    return rc;
}

/* One after the other until one fails. 0 or -1 (could not run). */
static int run_generated(tb_prog_options *o, tb_result *result, char *err, size_t err_size) {
    for (uint64_t i = 0; i < o->count && result->outcome == TB_PASS; i++) {
        const bool given = o->have_seed || o->command == TB_RUN;
        const uint64_t seed = given ? o->seed : tb_rng_test_seed(o->run_seed, o->test->name, o->index + i);
        if (generate(o, seed, &o->knobs, err, err_size) != 0 ||
            ((o->print_case || o->case_out != NULL) && write_case(o, seed, &o->knobs, err, err_size) != 0) ||
            (!o->print_case && execute(o, seed, &o->knobs, result, err, err_size) != 0)) {
            return -1;
        }
    }
    return 0;
}

static int run_stored(tb_prog_options *o, tb_result *result, char *err, size_t err_size) {
    uint64_t seed = 0;
    return tb_prog_load(o, &seed, err, err_size) == 0 ? execute(o, seed, &o->knobs, result, err, err_size) : -1;
}

/* ---- files at the end ---- */

/*
 * The line of a suite that repeats the run, which took so many clock cycles; empty where none does. A test "unit-x" is
 * the suite's "unit x".
 */
static void job_line(const tb_prog_options *o, uint64_t cycles, char *dst, size_t size) {
    const tb_prog *prog = o->prog;
    const char *name = o->test != NULL ? o->test->name : "";
    const bool unit = strncmp(name, "unit-", 5) == 0;
    char pins[512], kind[40] = "", took[40] = "";
    dst[0] = '\0';
    if (o->command != TB_TEST || o->have_seed || o->test == NULL) {
        return;
    }
    if (prog->kind != NULL) {
        snprintf(kind, sizeof kind, " kind=%s", prog->kind);
    }
    if (cycles > 0) {
        snprintf(took, sizeof took, " cycles %" PRIu64, cycles);
    }
    tb_prog_pins(&o->knobs, pins, sizeof pins);
    const int n = snprintf(dst, size, "%s %s cfg=%s%s cases=%" PRIu64 " index=%" PRIu64 "%s%s # run seed %" PRIu64 "%s",
                           unit ? "unit" : "test", unit ? name + 5 : name, prog->cfg, kind, o->count, o->index,
                           pins[0] != '\0' ? " --" : "", pins, o->run_seed, took);
    if (n < 0 || (size_t)n >= size) {
        dst[0] = '\0';
    }
}

static int write_code_cov(const tb_prog_options *o, char *err, size_t err_size) {
    char *text = NULL;
    size_t size = 0;
    char why[400];
    int rc = tb_sim_coverage_text(tb_shim_get(), &text, &size, err, err_size);
    if (rc == 0 && o->prog->code_save(text, size, o->code_cov, why, sizeof why) != 0) {
        snprintf(err, err_size, "--code-cov: %s", why);
        rc = -1;
    }
    free(text);
    return rc;
}

static int write_coverage(const tb_prog_options *o, uint64_t cycles, char *err, size_t err_size) {
    char job[200], why[400];
    job_line(o, cycles, job, sizeof job);
    if (o->cov != NULL && o->prog->cov_save != NULL && o->prog->cov_save(o->prog, o->cov, job, why, sizeof why) != 0) {
        return opt_fail(err, err_size, "--cov: %s", why);
    }
    return o->code_cov != NULL ? write_code_cov(o, err, err_size) : 0;
}

static int run_all(tb_prog_options *o, tb_result *result, bool *cases, char *err, size_t err_size) {
    const tb_prog *prog = o->prog;
    char why[400];
    int rc = tb_report_check(o, err, err_size);
    const bool covers = o->cov != NULL && prog->cov_open != NULL; /* a bench may have code coverage alone */
    if (rc == 0 && covers && prog->cov_open(prog, why, sizeof why) != 0) {
        snprintf(err, err_size, "--cov: %s", why);
        rc = -1;
    }
    const int special = rc == 0 && prog->instead != NULL ? prog->instead(o, result, err, err_size) : 1;
    *cases = special == 1;
    rc = rc == 0 && special < 0 ? -1 : rc;
    if (rc == 0 && *cases) {
        rc = o->command == TB_REPRO ? run_stored(o, result, err, err_size) : run_generated(o, result, err, err_size);
    }
    if (rc == 0 && !o->print_case) {
        rc = write_coverage(o, result->cycles, err, err_size);
    }
    if (covers) {
        prog->cov_close(prog);
    }
    return rc;
}

static int run_cases(tb_prog_options *o) {
    char err[1024] = "", note[64] = "";
    bool cases = true;
    tb_result result;
    tb_result_init(&result);
    if (tb_shim_get() != NULL) { /* only a simulation tests the flag; without one a signal just ends the program */
        tb_sim_catch_signals();
    }
    int rc = tb_mutation_begin(tb_shim_get(), &o->mutation, err, sizeof err);
    rc = rc == 0 ? run_all(o, &result, &cases, err, sizeof err) : rc;
    rc = tb_mutation_end(&result, rc, err, sizeof err);
    if (rc != 0) {
        tb_result_fail(&result, TB_ERROR, "cannot run", "%s", err);
    }
    tb_result_close(&result);
    if (rc != 0) {
        fprintf(stderr, "%s: %s\n", o->self, result.outcome == TB_FAIL ? err : result.message);
    } else if (result.outcome == TB_HOST) {
        fprintf(stderr, "%s: %s\n", o->self, result.message);
    } else if (rep_host_error() != 0) {
        fprintf(stderr, "%s: the machine refused: %s; the files of the failure may be incomplete\n", o->self,
                strerror(rep_host_error()));
    } else if (result.outcome == TB_PASS && cases && !o->quiet && !o->print_case) {
        if (o->prog->note != NULL) {
            o->prog->note(o->prog, note, sizeof note);
        }
        printf("PASS test=%s cfg=%s%s cases=%" PRIu64 " cycles=%" PRIu64 " hash=%016" PRIx64 "\n", o->test->name,
               o->prog->cfg, note, o->count, result.cycles, result.trace_hash);
    }
    if (!rep_flush()) {
        tb_result_fail(&result, TB_ERROR, "cannot run", "stdout: cannot be written");
    }
    int status = tb_result_exit(&result);
    if (o->result != NULL && !o->print_case && tb_result_save(&result, o->result, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->self, err);
        status = status == 0 ? 1 : status;
    }
    tb_result_free(&result);
    return status;
}

static int run_command(tb_prog_options *o) {
    switch (o->command) {
    case TB_LIST:
        tb_prog_list(stdout, o);
        return 0;
    case TB_DIFF:
        return tb_prog_diff(o);
    case TB_SHRINK:
        return tb_prog_shrink(o);
    default:
        return run_cases(o);
    }
}

int tb_prog_main(const tb_prog *prog, int argc, char **argv) {
    char err[1024] = "";
    tb_prog_options o;
    int status = 0;
    rep_host_forget();
    signal(SIGXFSZ, SIG_IGN); /* a file beyond its size limit is a write error, not a fatal signal */
    if (argc > 1 && strcmp(argv[1], "wave") == 0) { /* these have nothing to do with cases */
        status = tb_prog_wave(argc, argv);
    } else if (argc > 1 && strcmp(argv[1], "device") == 0) {
        status = tb_prog_device(prog, argc, argv);
    } else if (argc > 1 && strcmp(argv[1], "axi-check") == 0) {
        status = tb_prog_axi_check(prog, argc, argv);
    } else if (tb_prog_parse(&o, prog, argc, argv, err, sizeof err) != 0) {
        status = opt_bad(argv[0], "%s", err);
    } else if (o.help) {
        tb_prog_usage(stdout, &o);
    } else {
        status = run_command(&o);
    }
    return rep_end(status);
}
