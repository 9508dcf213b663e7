/* bench_main.c - the main program of every unit bench: options, cases, results. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "coverage/code/code.h"

#define DEFAULT_MAX_CYCLES UINT64_C(5000000)
#define RESET_CYCLES 3u
#define MAX_COUNT UINT64_C(1000000)

typedef struct options {
    uint64_t seed, run_seed, index, count, max_cycles;
    bool have_seed, have_case, help, list, print_case; /* have_case: anything that chooses cases was given */
    const char *case_file, *case_dir, *wave, *result, *vectors, *cov, *code_cov;
    npu_cov *counted; /* with --cov */
} options;

static void usage(FILE *out, const char *prog) {
    fprintf(out, "usage: %s [options] [knob=value ...]\n%s (%s)\n\n", prog, unit_this_bench.about, NPU_CFG_NAME);
    fputs("  --run-seed R --index I --count K  cases I .. I+K-1 of run R (1, 0, 1)\n"
          "  --seed S        the case of this seed\n"
          "  --case FILE     a stored case\n"
          "  --vectors FILE  check vectors, a line each: `a b result flags` or `a result flags`, hexadecimal (TestFloat's text form);\n"
          "                  - is standard input; for the fp units (docs/fp.md)\n"
          "  --print-case    write the case to stdout, do not execute it\n"
          "  --case-dir D    store the case of a failure there\n"
          "  --wave F        FST waveform (needs a build with tracing)\n"
          "  --cycles C      longest case in clock cycles\n"
          "  --result FILE   write outcome, signature, message, cycles, trace_hash, case\n"
          "  --cov FILE      write what was covered, for tandem-cov\n"
          "  --code-cov F    write what was executed of the RTL, for tandem-cov code (KIND=cov); F.code is small\n"
          "  --list          the knobs\n"
          "  --help          this text\n\nknobs:\n",
          out);
    tb_knobs_list(unit_this_bench.knobs, unit_this_bench.nknobs, out);
}

static void test_name(char *dst, size_t size) {
    snprintf(dst, size, "unit-%s", unit_this_bench.name);
}

static int number_option(const char *name, const char *value, uint64_t lo, uint64_t hi, uint64_t *out, char *err, size_t err_size) {
    if (!value || tb_parse_u64(value, out) != 0 || *out < lo || *out > hi) {
        snprintf(err, err_size, "%s: expected a number %" PRIu64 "..%" PRIu64 ", got '%s'", name, lo, hi, value ? value : "nothing");
        return -1;
    }
    return 0;
}

static int text_option(const char *name, const char *value, const char **out, char *err, size_t err_size) {
    if (!value || !value[0]) {
        snprintf(err, err_size, "%s: expected a file or folder name", name);
        return -1;
    }
    *out = value;
    return 0;
}

/* Options that take a value; 1: not one of them. */
static int value_option(options *o, const char *name, const char *value, char *err, size_t err_size) {
    const struct {
        const char *name;
        uint64_t lo, hi, *out;
    } numbers[] = {{"--seed", 0, UINT64_MAX, &o->seed},
                   {"--run-seed", 0, UINT64_MAX, &o->run_seed},
                   {"--index", 0, UINT64_MAX - MAX_COUNT, &o->index},
                   {"--count", 1, MAX_COUNT, &o->count},
                   {"--cycles", 1, UINT64_MAX, &o->max_cycles}};
    const struct {
        const char *name;
        const char **out;
    } texts[] = {{"--case", &o->case_file},  {"--case-dir", &o->case_dir}, {"--wave", &o->wave},        {"--result", &o->result},
                 {"--vectors", &o->vectors}, {"--cov", &o->cov},           {"--code-cov", &o->code_cov}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            o->have_seed = o->have_seed || i == 0;
            o->have_case = true;
            return number_option(name, value, numbers[i].lo, numbers[i].hi, numbers[i].out, err, err_size);
        }
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            o->have_case = o->have_case || i < 2;
            return text_option(name, value, texts[i].out, err, err_size);
        }
    }
    return 1;
}

static int parse_args(options *o, tb_knobs *knobs, int argc, char **argv, char *err, size_t err_size) {
    *o = (options){.run_seed = 1, .count = 1, .max_cycles = DEFAULT_MAX_CYCLES};
    bool pinned = false;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0) {
            o->help = true;
        } else if (strcmp(arg, "--list") == 0) {
            o->list = true;
        } else if (strcmp(arg, "--print-case") == 0) {
            o->print_case = true;
        } else if (arg[0] == '-') {
            const int rc = value_option(o, arg, i + 1 < argc ? argv[i + 1] : NULL, err, err_size);
            if (rc > 0) {
                snprintf(err, err_size, "%s: unknown option (--help lists them)", arg);
            }
            if (rc != 0) {
                return -1;
            }
            i++;
        } else if (tb_knobs_pin(knobs, arg, err, err_size) != 0) {
            return -1;
        } else {
            pinned = true;
        }
    }
    if (o->code_cov && tb_sim_coverage_check(tb_shim_get(), "--code-cov", err, err_size) != 0) {
        return -1;
    }
    if (o->vectors && (o->have_case || o->print_case || pinned)) {
        snprintf(err, err_size, "--vectors: the stream fixes everything: no seed, count, case, cycles or knob beside it");
        return -1;
    }
    if (o->case_file && (o->have_seed || pinned || o->count > 1)) {
        snprintf(err, err_size, "--case: a stored case fixes everything: no seed, count or knob beside it");
        return -1;
    }
    if (o->have_seed && o->count > 1) {
        snprintf(err, err_size, "--seed: names one case, expected no --count beside it");
        return -1;
    }
    return 0;
}

/* ---- the case ---- */

static int case_to_kv(const tb_knobs *knobs, uint64_t seed, tb_kv *kv) {
    char name[64];
    test_name(name, sizeof name);
    if (tb_kv_set(kv, "test", name) != 0 || tb_kv_set(kv, "cfg", NPU_CFG_NAME) != 0 || tb_kv_set_hex(kv, "seed", seed) != 0) {
        return -1;
    }
    return tb_knobs_to_kv(knobs, kv);
}

static int case_from_file(const char *path, tb_knobs *knobs, uint64_t *seed, char *err, size_t err_size) {
    char name[64];
    const char *test, *cfg;
    tb_kv kv;
    test_name(name, sizeof name);
    tb_kv_init(&kv);
    int rc = -1;
    if (tb_kv_load(&kv, path, err, err_size) != 0 || tb_kv_get_str(&kv, "test", &test, err, err_size) != 0 ||
        tb_kv_get_str(&kv, "cfg", &cfg, err, err_size) != 0 || tb_kv_get_u64(&kv, "seed", 0, UINT64_MAX, seed, err, err_size) != 0) {
        goto out;
    }
    if (strcmp(test, name) != 0) {
        snprintf(err, err_size, "%s: test=%s, expected %s", path, test, name);
    } else if (strcmp(cfg, NPU_CFG_NAME) != 0) {
        snprintf(err, err_size, "%s: cfg=%s, expected %s (this program is built for it)", path, cfg, NPU_CFG_NAME);
    } else {
        rc = tb_knobs_from_kv(knobs, &kv, err, err_size);
    }
out:
    tb_kv_free(&kv);
    return rc;
}

static void generate(tb_knobs *knobs, uint64_t seed) {
    tb_knobs_draw(knobs, seed);
    if (unit_this_bench.constrain) {
        unit_this_bench.constrain(knobs, seed);
    }
}

/* Store the case of a failure; its path goes into the result. */
static int store_case(const options *o, const tb_knobs *knobs, uint64_t seed, tb_result *result, char *err, size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    snprintf(result->case_path, sizeof result->case_path, "%s/unit-%s-%s-%016" PRIx64 ".case", o->case_dir, unit_this_bench.name,
             NPU_CFG_NAME, seed);
    int rc = case_to_kv(knobs, seed, &kv);
    if (rc != 0) {
        snprintf(err, err_size, "%s: out of memory", o->case_dir);
    } else {
        rc = tb_kv_save(&kv, result->case_path, err, err_size);
    }
    if (rc != 0) {
        result->case_path[0] = '\0';
    }
    tb_kv_free(&kv);
    return rc;
}

/* ---- execution ---- */

static int open_model(unit *u, const options *o, char *err, size_t err_size) {
    const tb_run_cfg cfg = {.seed = u->seed,
                            .clk = "clk_i",
                            .rst_n = unit_this_bench.no_reset ? NULL : "rst_ni",
                            .reset_cycles = RESET_CYCLES,
                            .wave = o->wave};
    u->score = (npu_score_ctx){.n = NPU_CFG_N};
    return tb_run_open(&u->run, &cfg, err, err_size) == 0
               ? tb_run_checks(&u->run, npu_score_all, npu_score_count_bench, TB_CHECKS_SOME, &u->score, err, err_size)
               : -1;
}

static void close_model(unit *u) {
    tb_run_close(&u->run);
    if (u->sb_used) {
        tb_sb_free(&u->sb);
    }
}

/* A scoreboard that is not satisfied at the end is a failure like any other. */
static void final_checks(unit *u) {
    if (!unit_this_bench.open_end) {
        unit_finish_checks(u);
    }
    if (!u->sb_used || u->result->outcome != TB_PASS || tb_sb_done(&u->sb)) {
        return;
    }
    char text[256];
    char signature[96];
    tb_sb_report(&u->sb, text, sizeof text);
    snprintf(signature, sizeof signature, "%s: %s", u->name, u->sb.mismatches > 0 ? "mismatch" : "missing output");
    tb_result_fail(u->result, TB_FAIL, signature, "%s", text);
}

/* The executor around a bench: 0 or -1 (could not run). */
static int execute(const options *o, const tb_knobs *knobs, uint64_t seed, tb_result *result, char *err, size_t err_size) {
    unit u = {.name = unit_this_bench.name,
              .seed = seed,
              .knobs = knobs,
              .max_cycles = o->max_cycles,
              .hash = TB_HASH_INIT,
              .result = result,
              .cov = o->counted};
    int rc = open_model(&u, o, err, err_size);
    if (rc == 0) {
        rc = unit_this_bench.run(&u);
        final_checks(&u);
        if (rc != 0 && result->outcome == TB_PASS) {
            snprintf(err, err_size, "%s: out of memory", u.name);
        } else {
            rc = 0;
        }
        result->cycles += u.cycle;
        result->trace_hash = tb_hash_u64(result->trace_hash, tb_hash_final(u.hash));
    }
    close_model(&u);
    return rc;
}

/* The vectors of a stream instead of cases: 0 or -1 (could not run). */
static int run_vectors(const options *o, tb_result *result, char *err, size_t err_size) {
    const bool from_stdin = strcmp(o->vectors, "-") == 0;
    unit u = {.name = unit_this_bench.name, .max_cycles = UINT64_MAX, .hash = TB_HASH_INIT, .result = result};
    if (!unit_this_bench.vectors) {
        snprintf(err, err_size, "--vectors: unit-%s has no vectors, expected one of the fp units (docs/fp.md)", u.name);
        return -1;
    }
    FILE *in = from_stdin ? stdin : fopen(o->vectors, "r");
    if (!in) {
        snprintf(err, err_size, "%s: cannot be opened: %s", o->vectors, strerror(errno));
        return -1;
    }
    int rc = open_model(&u, o, err, err_size);
    if (rc == 0) {
        rc = unit_this_bench.vectors(&u, in, from_stdin ? "stdin" : o->vectors, err, err_size);
        result->cycles = u.cycle;
        result->trace_hash = tb_hash_u64(result->trace_hash, tb_hash_final(u.hash));
    }
    close_model(&u);
    if (!from_stdin) {
        fclose(in);
    }
    return rc;
}

/* A limit on the cycles is no part of the case, but a hang may depend on it. */
static void print_limit(const options *o) {
    if (o->max_cycles != DEFAULT_MAX_CYCLES) {
        printf(" --cycles %" PRIu64, o->max_cycles);
    }
    putchar('\n');
}

/* " k=3 act=relu": what was pinned; empty: it does not fit. */
static void pins_text(const tb_knobs *knobs, char *dst, size_t size) {
    size_t at = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < knobs->count && at < size; i++) {
        const tb_knob *k = &knobs->table[i];
        if (!knobs->pinned[i]) {
            continue;
        }
        const int n = tb_knob_kind_of(k) == TB_KNOB_ENUM ? snprintf(dst + at, size - at, " %s=%s", k->name, k->names[knobs->value[i]])
                                                         : snprintf(dst + at, size - at, " %s=%" PRId64, k->name, knobs->value[i]);
        at = n < 0 ? size : at + (size_t)n;
    }
    if (at >= size) {
        dst[0] = '\0';
    }
}

static void print_failure(const options *o, const char *prog, const tb_knobs *knobs, uint64_t seed, const tb_result *result) {
    char pins[1024];
    pins_text(knobs, pins, sizeof pins);
    printf("FAIL unit-%s cfg=%s seed=0x%016" PRIx64 ": %s\n", unit_this_bench.name, NPU_CFG_NAME, seed, result->message);
    if (o->case_file || result->case_path[0]) {
        printf("  reproduce: %s --case %s", prog, o->case_file ? o->case_file : result->case_path);
        print_limit(o);
        return;
    }
    printf("  reproduce: %s --seed 0x%016" PRIx64, prog, seed);
    fputs(pins, stdout);
    print_limit(o);
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

/* One case after the other until one fails. 0 or -1 (could not run). */
static int run_cases(const options *o, const char *prog, tb_knobs *knobs, tb_result *result, char *err, size_t err_size) {
    char name[64];
    test_name(name, sizeof name);
    for (uint64_t k = 0; k < o->count; k++) {
        uint64_t seed = o->have_seed ? o->seed : tb_rng_test_seed(o->run_seed, name, o->index + k);
        if (o->case_file) {
            if (case_from_file(o->case_file, knobs, &seed, err, err_size) != 0) {
                return -1;
            }
        } else {
            generate(knobs, seed);
        }
        if (o->print_case) {
            tb_kv kv;
            tb_kv_init(&kv);
            const int rc = case_to_kv(knobs, seed, &kv) == 0 ? tb_kv_write(&kv, stdout) : -1;
            tb_kv_free(&kv);
            if (rc != 0) {
                snprintf(err, err_size, "stdout: cannot be written");
                return -1;
            }
            continue;
        }
        if (execute(o, knobs, seed, result, err, err_size) != 0) {
            return -1;
        }
        if (result->outcome != TB_PASS) {
            int rc = 0;
            if (o->case_dir && !o->case_file) {
                rc = store_case(o, knobs, seed, result, err, err_size);
            }
            print_failure(o, prog, knobs, seed, result);
            return rc;
        }
    }
    return 0;
}

/* --cov: begin. 0 or -1. */
static int start_cov(options *o, char *err, size_t err_size) {
    cov_error why;
    if (o->cov == NULL || npu_cov_open(&o->counted, &why) == COV_OK) {
        return 0;
    }
    snprintf(err, err_size, "--cov: %s", why.text);
    return -1;
}

#ifdef NPU_BUILD_KIND
#define JOB_KIND " kind=" NPU_BUILD_KIND
#else
#define JOB_KIND "" /* without a design */
#endif

/* --cov: the file, with the line of a suite that repeats the run where one does. 0 or -1. */
static int write_cov(const options *o, const tb_knobs *knobs, uint64_t cycles, char *err, size_t err_size) {
    cov_error why;
    char job[200] = "";
    char pins[1024];
    pins_text(knobs, pins, sizeof pins);
    if (!o->have_seed && o->case_file == NULL && o->vectors == NULL) {
        const int n = snprintf(
            job, sizeof job, "unit %s cfg=%s" JOB_KIND " cases=%" PRIu64 " index=%" PRIu64 "%s%s # run seed %" PRIu64 " cycles %" PRIu64,
            unit_this_bench.name, NPU_CFG_NAME, o->count, o->index, pins[0] != '\0' ? " --" : "", pins, o->run_seed, cycles);
        job[n < 0 || (size_t)n >= sizeof job ? 0 : n] = '\0';
    }
    if (cov_set_job(npu_cov_db(o->counted), job, &why) != COV_OK ||
        cov_write(cov_db_data(npu_cov_db(o->counted)), o->cov, &why) != COV_OK) {
        snprintf(err, err_size, "--cov: %s", why.text);
        return -1;
    }
    return 0;
}

int main(int argc, char **argv) {
    char err[512] = "";
    options o;
    tb_knobs knobs;
    tb_result result;
    tb_knobs_init(&knobs, unit_this_bench.knobs, unit_this_bench.nknobs);
    if (parse_args(&o, &knobs, argc, argv, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err);
        return 2;
    }
    if (o.help || o.list) {
        if (o.help) {
            usage(stdout, argv[0]);
        } else {
            tb_knobs_list(unit_this_bench.knobs, unit_this_bench.nknobs, stdout);
        }
        return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
    }
    tb_sim_catch_signals();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write error, not a death */
    tb_result_init(&result);
    int rc = start_cov(&o, err, sizeof err);
    if (rc == 0) {
        rc = o.vectors ? run_vectors(&o, &result, err, sizeof err) : run_cases(&o, argv[0], &knobs, &result, err, sizeof err);
    }
    if (rc == 0 && o.counted != NULL && !o.print_case) {
        rc = write_cov(&o, &knobs, result.cycles, err, sizeof err);
    }
    npu_cov_close(o.counted);
    if (rc == 0 && o.code_cov && !o.print_case) {
        rc = write_code_cov(o.code_cov, err, sizeof err);
    }
    if (rc != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err);
        tb_result_fail(&result, TB_ERROR, "cannot run", "%s", err);
    } else if (result.outcome == TB_PASS && !o.print_case && !o.vectors) {
        printf("PASS unit-%s cfg=%s cases=%" PRIu64 " cycles=%" PRIu64 " hash=%016" PRIx64 "\n", unit_this_bench.name, NPU_CFG_NAME,
               o.count, result.cycles, result.trace_hash);
    }
    int status = tb_result_exit(&result);
    if (o.result && !o.print_case && tb_result_save(&result, o.result, err, sizeof err) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err);
        status = status == 0 ? 1 : status;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) { /* ferror: an earlier part of a long text */
        fprintf(stderr, "%s: stdout: cannot be written\n", argv[0]);
        status = status == 0 ? 1 : status;
    }
    tb_result_free(&result);
    return status;
}
