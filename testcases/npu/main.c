/* main.c - the program `tandem`: operators, tests and stored cases on the whole NPU. */
#include "cli.h"
#include "coverage/code/code.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The command that shows this failure again; also into the result, for the runner. */
static void reproducer(const cli_options *o, const tc_run *run, const tb_result *result, char *dst, size_t size) {
    int at;
    if (o->command == CLI_REPRO || result->case_path[0] != '\0') {
        at = snprintf(dst, size, "make repro CASE=%s", o->command == CLI_REPRO ? o->case_file : result->case_path);
    } else {
        at = snprintf(dst, size, "make repro TEST=%s SEED=0x%016" PRIx64 " CFG=%s", run->test->name, run->seed, NPU_CFG_NAME);
        for (size_t i = 0; i < run->knobs->count && at > 0 && (size_t)at < size; i++) {
            const tb_knob *k = &run->knobs->table[i];
            if (!run->knobs->pinned[i]) {
                continue;
            }
            if (tb_knob_kind_of(k) == TB_KNOB_ENUM) {
                at += snprintf(dst + at, size - (size_t)at, " %s=%s", k->name, k->names[run->knobs->value[i]]);
            } else {
                at += snprintf(dst + at, size - (size_t)at, " %s=%" PRId64, k->name, run->knobs->value[i]);
            }
        }
    }
    if (at > 0 && (size_t)at < size) {
        cli_setup_text(o, dst + at, size - (size_t)at);
    }
}

/* One line for the failure, one for the way back to it. */
static void report_failure(const cli_options *o, const tc_run *run, struct bundle *bundle, tb_result *result) {
    char again[1024];
    char err[512];
    if (o->command != CLI_REPRO &&
        cli_case_store(o->case_dir, run->test, run->seed, run->knobs, result->case_path, sizeof result->case_path, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->prog, err);
    }
    if (o->command == CLI_REPRO) {
        snprintf(result->case_path, sizeof result->case_path, "%s", o->case_file);
    }
    reproducer(o, run, result, again, sizeof again);
    tb_kv_set(&result->extra, "repro", again);
    if (run->wave != NULL) {
        tb_kv_set(&result->extra, "wave", run->wave);
    }
    printf("FAIL test=%s seed=0x%016" PRIx64 " cfg=%s : %s\n%s\n", run->test->name, run->seed, NPU_CFG_NAME, result->message, again);
    if (run->hang != NULL) {
        printf("\n%s", run->hang);
    }
    if (bundle != NULL && cli_bundle_write(bundle, result, again, err, sizeof err) != 0) {
        fprintf(stderr, "%s: no report: %s\n", o->prog, err);
    }
}

/* A case that has passed is covered. */
static void count_case(const cli_options *o, const tc_test *test, const tb_knobs *knobs, tb_result *result) {
    char what[400];
    if (o->counted != NULL &&
        npu_cov_case(o->counted, test->name, NPU_CFG_N, o->setup.kind != NPU_DEV_MODEL, knobs, what, sizeof what) > 0) {
        tb_result_fail(result, TB_FAIL, "illegal coverage", "what must not occur has occurred: %s", what);
    }
}

#ifdef NPU_BUILD_KIND
#define JOB_KIND " kind=" NPU_BUILD_KIND
#else
#define JOB_KIND "" /* the golden model alone */
#endif

/* The line of a suite that repeats the run, which takes so many clock cycles; empty where none does. */
static void job_line(const cli_options *o, uint64_t cycles, char *dst, size_t size) {
    int at = 0;
    dst[0] = '\0';
    if (o->command != CLI_TEST || o->have_seed) {
        return;
    }
    at =
        snprintf(dst, size, "test %s cfg=%s" JOB_KIND " cases=%" PRIu64 " index=%" PRIu64, o->test->name, NPU_CFG_NAME, o->count, o->index);
    const char *before = " --";
    for (size_t i = 0; i < o->knobs.count && at > 0 && (size_t)at < size; i++) {
        const tb_knob *k = &o->knobs.table[i];
        if (o->knobs.pinned[i] && tb_knob_kind_of(k) == TB_KNOB_ENUM) {
            at += snprintf(dst + at, size - (size_t)at, "%s %s=%s", before, k->name, k->names[o->knobs.value[i]]);
        } else if (o->knobs.pinned[i]) {
            at += snprintf(dst + at, size - (size_t)at, "%s %s=%" PRId64, before, k->name, o->knobs.value[i]);
        }
        before = o->knobs.pinned[i] ? "" : before;
    }
    if (at > 0 && (size_t)at < size) {
        at += snprintf(dst + at, size - (size_t)at, " # run seed %" PRIu64, o->run_seed);
    }
    if (at > 0 && (size_t)at < size && cycles > 0) {
        at += snprintf(dst + at, size - (size_t)at, " cycles %" PRIu64, cycles);
    }
    if (at < 0 || (size_t)at >= size) {
        dst[0] = '\0';
    }
}

/* --cov: the file. 0 or -1 with one line in err. */
static int write_cov(const cli_options *o, uint64_t cycles, char *err, size_t err_size) {
    cov_error why;
    char job[200];
    job_line(o, cycles, job, sizeof job);
    if (cov_set_job(npu_cov_db(o->counted), job, &why) != COV_OK ||
        cov_write(cov_db_data(npu_cov_db(o->counted)), o->cov, &why) != COV_OK) {
        snprintf(err, err_size, "--cov: %s", why.text);
        return -1;
    }
    return 0;
}

/* --code-cov: the file. 0 or -1 with one line in err. */
static int write_code_cov(const char *path, char *err, size_t err_size) {
    cov_error why;
    char *text = NULL;
    size_t size = 0;
    int rc = tb_sim_coverage_text(tb_shim_get(), &text, &size, err, err_size);
    if (rc == 0 && code_save_dat(text, size, path, &why) != COV_OK) {
        snprintf(err, err_size, "--code-cov: %s", why.text);
        rc = -1;
    }
    free(text);
    return rc;
}

/* Execute one resolved case. 0 or -1 (could not run). */
static int execute(const cli_options *o, const tc_test *test, uint64_t seed, const tb_knobs *knobs, tb_result *result, char *err,
                   size_t err_size) {
    tc_run run = {.test = test,
                  .n = NPU_CFG_N,
                  .seed = seed,
                  .knobs = knobs,
                  .setup = o->setup,
                  .wave = o->wave,
                  .fail_wave = o->fail_wave,
                  .wave_window = o->wave_window,
                  .dump = o->dump,
                  .result = result};
    run.perf = o->perf;
    run.bus = o->bus;
    run.cov = o->counted;
    run.perf_window = (uint32_t)o->perf_window;
    struct bundle *bundle = cli_bundle_begin(o, &run);
    const double begin = cpu_seconds();
    int rc = test->execute(&run);
    tc_close(&run);
    if (rc != 0 && result->outcome == TB_PASS) {
        snprintf(err, err_size, "%s", run.err);
        free(run.series);
        free(run.hang);
        free(run.bus_text);
        free(run.bus_json);
        cli_bundle_end(bundle);
        return -1;
    }
    rc = 0;
    if (result->outcome == TB_PASS && o->command == CLI_RUN && !o->quiet && run.stats.measured) {
        cli_print_stats(stdout, &run.stats, NPU_CFG_N, cpu_seconds() - begin);
        if (run.bus_text != NULL) {
            printf("on the buses since reset:\n%s", run.bus_text);
        }
        if (o->perf) {
            cli_print_perf(stdout, &run.stats, NPU_CFG_N);
        }
    }
    if (result->outcome == TB_PASS) {
        count_case(o, test, knobs, result);
    }
    if (result->outcome == TB_PASS) {
        cli_add_work(&result->extra, &run.stats);
    }
    if (result->outcome == TB_PASS && o->bus_json != NULL && run.bus_json != NULL) {
        rc = cli_bus_json(o->bus_json, run.bus_json, err, err_size);
    }
    if (rc == 0 && result->outcome == TB_PASS && o->perf_json != NULL) {
        rc = cli_perf_json(o->perf_json, &run.stats, NPU_CFG_N, err, err_size);
    }
    if (rc == 0 && result->outcome == TB_PASS && o->perf_svg != NULL) {
        rc = cli_perf_svg(o->perf_svg, &run.stats, NPU_CFG_N, err, err_size);
    }
    if (result->outcome != TB_PASS) {
        report_failure(o, &run, bundle, result);
    }
    cli_bundle_end(bundle);
    free(run.series);
    free(run.hang);
    free(run.bus_text);
    free(run.bus_json);
    return rc;
}

static int write_case(const cli_options *o, const tc_test *test, uint64_t seed, const tb_knobs *knobs, char *err, size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    int rc = cli_case_to_kv(test, seed, knobs, &kv);
    if (rc != 0) {
        snprintf(err, err_size, "out of memory");
    } else if (o->print_case) {
        rc = tb_kv_write(&kv, stdout);
        if (rc != 0) {
            snprintf(err, err_size, "stdout: cannot be written");
        }
    } else {
        rc = tb_kv_save(&kv, o->case_file, err, err_size);
    }
    tb_kv_free(&kv);
    return rc;
}

/* Generated cases, one after the other until one fails. */
static int run_generated(cli_options *o, tb_result *result, char *err, size_t err_size) {
    char text[512];
    for (uint64_t i = 0; i < o->count && result->outcome == TB_PASS; i++) {
        const uint64_t seed = o->have_seed || o->command == CLI_RUN ? o->seed : tb_rng_test_seed(o->run_seed, o->test->name, o->index + i);
        if (o->test->generate(NPU_CFG_N, seed, o->command == CLI_RUN, &o->knobs, text, sizeof text) != 0) {
            snprintf(err, err_size, "%s: %s", o->test->name, text);
            return -1;
        }
        if ((o->print_case || o->case_file != NULL) && write_case(o, o->test, seed, &o->knobs, err, err_size) != 0) {
            return -1;
        }
        if (!o->print_case && execute(o, o->test, seed, &o->knobs, result, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

static int run_stored(cli_options *o, tb_result *result, char *err, size_t err_size) {
    uint64_t seed = 0;
    if (cli_case_load(o->case_file, &o->test, &seed, &o->knobs, err, err_size) != 0) {
        return -1;
    }
    return execute(o, o->test, seed, &o->knobs, result, err, err_size);
}

static int run_cases(cli_options *o) {
    char err[1024] = "";
    tb_result result;
    tb_result_init(&result);
    if (o->setup.kind != NPU_DEV_MODEL) { /* only a simulation looks at the flag; the model alone just ends */
        tb_sim_catch_signals();
    }
    int rc = cli_bundle_check(o, err, sizeof err);
    if (rc == 0 && o->cov != NULL) {
        cov_error why;
        rc = npu_cov_open(&o->counted, &why) == COV_OK ? 0 : -1;
        if (rc != 0) {
            snprintf(err, sizeof err, "--cov: %s", why.text);
        }
    }
    if (rc == 0) {
        rc = o->command == CLI_REPRO ? run_stored(o, &result, err, sizeof err) : run_generated(o, &result, err, sizeof err);
    }
    if (rc == 0 && o->cov != NULL && !o->print_case) {
        rc = write_cov(o, result.cycles, err, sizeof err);
    }
    if (rc == 0 && o->code_cov != NULL && !o->print_case) {
        rc = write_code_cov(o->code_cov, err, sizeof err);
    }
    npu_cov_close(o->counted);
    o->counted = NULL;
    if (rc != 0) {
        fprintf(stderr, "%s: %s\n", o->prog, err);
        tb_result_fail(&result, TB_ERROR, "cannot run", "%s", err);
    } else if (result.outcome == TB_PASS && !o->quiet && !o->print_case) {
        printf("PASS test=%s cfg=%s device=%s cases=%" PRIu64 " cycles=%" PRIu64 " hash=%016" PRIx64 "\n", o->test->name, NPU_CFG_NAME,
               cli_kind_name(o->setup.kind), o->count, result.cycles, result.trace_hash);
    }
    int status = tb_result_exit(&result);
    if (o->result != NULL && !o->print_case && tb_result_save(&result, o->result, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", o->prog, err);
        status = status == 0 ? 1 : status;
    }
    tb_result_free(&result);
    return status;
}

int main(int argc, char **argv) {
    char err[1024] = "";
    cli_options o;
    int status = 0;
    signal(SIGXFSZ, SIG_IGN);                       /* a file that may not grow is a write error, not a death */
    if (argc > 1 && strcmp(argv[1], "wave") == 0) { /* these have nothing to do with cases */
        return cli_wave(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "axi-check") == 0) {
        return cli_axi_check(argc, argv);
    }
    if (cli_parse(&o, argc, argv, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err);
        return 2;
    }
    if (o.help) {
        cli_usage(stdout, &o);
    } else if (o.command == CLI_LIST) {
        cli_list(stdout, o.json);
    } else if (o.command == CLI_DIFF) {
        status = cli_diff(&o);
    } else if (o.command == CLI_SHRINK) {
        status = cli_shrink(&o);
    } else {
        status = run_cases(&o);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) { /* ferror: an earlier part of a long text */
        fprintf(stderr, "%s: stdout: cannot be written\n", argv[0]);
        status = status == 0 ? 1 : status;
    }
    return status;
}
