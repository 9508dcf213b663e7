/* main.c - the program `tandem`: operators, tests and stored cases on the whole NPU. */
#include "cli.h"
#include "explain.h"
#include "coverage/code/code.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_TESTS 32u
#define OPTIONS 8

static const char *const kind_names[] = {"model", "rtl", "tandem", NULL};

const char *cli_kind_name(npu_dev_kind kind) {
    return kind_names[kind];
}

static tandem *of(const tb_prog *prog) {
    return (tandem *)prog->ctx;
}

/* ---- options ---- */

static int take_break(void *to, const char *value, char *err, size_t err_size) {
    tandem *t = (tandem *)to;
    t->broken_text = value;
    if (npu_dev_broken_parse(value, &t->setup.broken)) {
        return 0;
    }
    return opt_fail(err, err_size, "expected PORT.CHANNEL:HANDSHAKES such as m0.R:100, or m0.R:100:flip, got '%.60s'",
                    value);
}

static bool has_end(const char *arg, const char *end) {
    const size_t length = arg != NULL ? strlen(arg) : 0;
    return length > strlen(end) && arg[0] != '-' && strcmp(arg + length - strlen(end), end) == 0;
}

/* --perf and --bus may name a file. */
static int take_perf(void *to, const char *next, char *err, size_t err_size) {
    tandem *t = (tandem *)to;
    (void)err;
    (void)err_size;
    t->perf = true;
    t->perf_svg = has_end(next, ".svg") ? next : NULL;
    t->perf_json = has_end(next, ".json") ? next : NULL;
    return t->perf_svg != NULL || t->perf_json != NULL;
}

static int take_bus(void *to, const char *next, char *err, size_t err_size) {
    tandem *t = (tandem *)to;
    (void)err;
    (void)err_size;
    t->bus = true;
    t->bus_json = has_end(next, ".json") ? next : NULL;
    return t->bus_json != NULL;
}

static int check_options(const tb_prog_options *o, char *err, size_t err_size) {
    tandem *t = of(o->prog);
    const char *text = NULL;
    t->setup.kind = (npu_dev_kind)t->kind;
    t->setup.plusargs = t->plusarg[0] != NULL ? t->plusarg : NULL;
    const bool model = t->setup.kind == NPU_DEV_MODEL;
    if (!model && tb_shim_get() == NULL) {
        return opt_fail(err, err_size, "--device %s: this program contains no RTL, expected model",
                        cli_kind_name(t->setup.kind));
    }
    if (o->code_cov != NULL && model) {
        text = "--code-cov: the model has no RTL, expected --device rtl or tandem";
    } else if (t->have_window && !t->perf) {
        text = "--window: needs --perf";
    } else if (model && t->bus) {
        text = "--bus: the model has no bus, expected --device rtl or tandem";
    } else if (model && t->perf) {
        text = "--perf: the model has no clock, expected --device rtl or tandem";
    } else if (model && o->wave != NULL) {
        text = "--wave: the model has no waveform, expected --device rtl or tandem";
    }
    if (text != NULL) {
        snprintf(err, err_size, "%s", text);
    }
    return text != NULL ? -1 : 0;
}

/* Variables of `make repro`: " BREAK=m0.R:100 INIT_SEED=0x1". */
static void again(const tb_prog *prog, char *dst, size_t size) {
    const tandem *t = of(prog);
    const tc_setup *s = &t->setup;
    char init[40] = "";
    if (s->have_init_seed) {
        snprintf(init, sizeof init, " INIT_SEED=0x%" PRIx64, s->init_seed);
    }
    snprintf(dst, size, "%s%s%s%s%s%s%s%s", s->kind != NPU_DEV_TANDEM ? " DEVICE=" : "",
             s->kind != NPU_DEV_TANDEM ? cli_kind_name(s->kind) : "", s->broken.on ? " BREAK=" : "",
             s->broken.on ? t->broken_text : "", init, s->plusargs != NULL ? " PLUSARG=" : "",
             s->plusargs != NULL ? t->plusarg[0] : "", s->no_checks ? " NO_CHECKS=1" : "");
}

static void note(const tb_prog *prog, char *dst, size_t size) {
    snprintf(dst, size, " device=%s", cli_kind_name(of(prog)->setup.kind));
}

/* ---- tests ---- */

static const tc_test *tc_of(const tb_test *test) {
    return (const tc_test *)test->self;
}

static int generate(const tb_test *test, uint64_t seed, bool plain, tb_knobs *knobs, char *err, size_t err_size) {
    return tc_generate(tc_of(test), NPU_CFG_N, seed, plain, knobs, err, err_size);
}

static int check(const tb_test *test, const tb_knobs *knobs, char *err, size_t err_size) {
    return tc_check(tc_of(test), NPU_CFG_N, knobs, err, err_size);
}

static tb_shrink_size size_of(const tb_test *test, const tb_knobs *knobs) {
    return tc_of(test)->size(NPU_CFG_N, knobs);
}

static void settle(const tb_test *test, tb_knobs *knobs) {
    tc_of(test)->settle(knobs);
}

static int execute(tb_prog_run *p) {
    tandem *t = of(p->o->prog);
    tc_run *run = (tc_run *)malloc(sizeof *run);
    if (run == NULL) {
        return opt_fail(p->err, sizeof p->err, "out of memory");
    }
    *run = (tc_run){.test = tc_of(p->test),
                    .n = NPU_CFG_N,
                    .seed = p->seed,
                    .knobs = p->knobs,
                    .setup = t->setup,
                    .wave = p->wave,
                    .fail_wave = p->fail_wave,
                    .wave_window = p->wave_window,
                    .folder = p->folder,
                    .dump = p->story != NULL && t->setup.kind == NPU_DEV_MODEL ? NULL : p->dump,
                    .explain = (npu_explain *)p->story, /* its first member */
                    .result = p->result};
    p->more = run;
    run->setup.max_cycles = p->max_cycles;
    run->setup.no_checks = run->setup.no_checks || p->no_checks;
    if (!p->again) {
        run->perf = t->perf;
        run->perf_window = (uint32_t)t->perf_window;
        run->bus = t->bus;
        run->cov = t->cov;
    }
    t->cpu_begin = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const int rc = run->test->execute(run);
    tc_close(run);
    p->hang = run->hang;
    p->devices = run->devices;
    p->failure.cycle = run->failure.cycle;
    snprintf(p->failure.signature, sizeof p->failure.signature, "%s", run->failure.signature);
    snprintf(p->failure.path, sizeof p->failure.path, "%s", run->failure.path);
    const bool clock = t->setup.kind != NPU_DEV_MODEL;
    snprintf(p->no_wave, sizeof p->no_wave, "%s",
             clock || p->fail_wave == NULL ? run->no_wave : "the model has no clock");
    snprintf(p->err, sizeof p->err, "%s", run->err);
    return rc;
}

static void release(tb_prog_run *p) {
    tc_run *run = (tc_run *)p->more;
    if (run != NULL) {
        free(run->series);
        free(run->bus_text);
        free(run->bus_json);
        free(run);
    }
    p->more = NULL;
}

/* ---- after a case that passed ---- */

static void print_run(const tandem *t, const tc_run *run) {
    cli_print_stats(stdout, &run->stats, NPU_CFG_N, rep_seconds(CLOCK_PROCESS_CPUTIME_ID) - t->cpu_begin);
    if (run->bus_text != NULL) {
        printf("on the buses since reset:\n%s", run->bus_text);
    }
    if (t->perf) {
        cli_print_perf(stdout, &run->stats, NPU_CFG_N);
    }
}

/* A case that has passed is covered. */
static void count_case(const tandem *t, const tb_prog_run *p) {
    char what[400];
    if (t->cov != NULL && npu_cov_case(t->cov, p->test->name, NPU_CFG_N, t->setup.kind != NPU_DEV_MODEL, p->knobs, what,
                                       sizeof what) > 0) {
        tb_result_fail(p->result, TB_FAIL, "illegal coverage", "illegal bin hit: %s", what);
    }
}

static int passed(tb_prog_run *p) {
    const tandem *t = of(p->o->prog);
    const tc_run *run = (const tc_run *)p->more;
    int rc = 0;
    if (p->o->command == TB_RUN && !p->o->quiet && run->stats.measured) {
        print_run(t, run);
    }
    count_case(t, p);
    if (p->result->outcome != TB_PASS) {
        return 0;
    }
    cli_add_work(&p->result->extra, &run->stats);
    if (t->bus_json != NULL && run->bus_json == NULL) {
        rc = opt_fail(p->err, sizeof p->err, "%s: not written: the traffic was not counted", t->bus_json);
    } else if (t->bus_json != NULL) {
        rc = cli_bus_json(t->bus_json, run->bus_json, p->err, sizeof p->err);
    }
    if (rc == 0 && t->perf_json != NULL) {
        rc = cli_perf_json(t->perf_json, &run->stats, NPU_CFG_N, p->err, sizeof p->err);
    }
    if (rc == 0 && t->perf_svg != NULL) {
        rc = cli_perf_svg(t->perf_svg, &run->stats, NPU_CFG_N, p->err, sizeof p->err);
    }
    return rc;
}

/* ---- coverage files ---- */

static int cov_begin(const tb_prog *prog, char *err, size_t err_size) {
    return npu_cov_begin(&of(prog)->cov, err, err_size);
}

static int cov_save(const tb_prog *prog, const char *path, const char *job, char *err, size_t err_size) {
    return npu_cov_save(of(prog)->cov, path, job, err, err_size);
}

static void cov_end(const tb_prog *prog) {
    npu_cov_close(of(prog)->cov);
    of(prog)->cov = NULL;
}

/* ---- the program ---- */

/* Plain data; a generator may draw them after this. */
static const char *const plain_data[] = {"zeros", "ones", "ramp", NULL};
static const tb_shrink_wish wishes[] = {
    {"data", TB_SHRINK_NAMES, plain_data, NULL},   {"wdata", TB_SHRINK_NAMES, plain_data, NULL},
    {"values", TB_SHRINK_NAMES, plain_data, NULL}, {"skip", TB_SHRINK_BITS, NULL, "tasks"},
    {"skip", TB_SHRINK_BITS, NULL, "jobs"},        {"cut", TB_SHRINK_UP, NULL, NULL},
    {"cut_map", TB_SHRINK_UP, NULL, NULL},         {"cut_ch", TB_SHRINK_UP, NULL, NULL},
    {"cut_k", TB_SHRINK_UP, NULL, NULL},
};

static size_t make_tests(tb_test *tests) {
    for (size_t i = 0; i < tc_test_count && i < MAX_TESTS; i++) {
        const tc_test *tc = tc_tests[i];
        tests[i] = (tb_test){.name = tc->name,
                             .about = tc->help,
                             .is_operator = tc->is_operator,
                             .knobs = tc->knobs,
                             .knob_count = tc->knob_count,
                             .generate = generate,
                             .check = check,
                             .execute = execute,
                             .size = tc->size != NULL ? size_of : NULL,
                             .settle = tc->settle != NULL ? settle : NULL,
                             .self = tc};
    }
    return tc_test_count;
}

/* The options that only this program has; they name places in t. */
static void make_options(tandem *t, opt_row options[OPTIONS]) {
    const opt_row rows[OPTIONS] = {
        OPT(WORD, "--device", "D",
            "model, rtl or tandem (both, compared; the default where\n"
            "the program contains the RTL)",
            &t->kind, .words = kind_names, .sets = TB_IN_EVERY),
        OPT(TAKE, "--break", "M.C:K",
            "memory that hangs: channel C (AW, W, B, AR, R) of port M (m0, m1)\n"
            "stops after K handshakes; m0.R:K:flip: beat K of read data is\n"
            "wrong, once",
            t, .take = take_break, .sets = TB_IN_EVERY),
        OPT(U64, "--init-seed", "S",
            "seed of the initial state of registers and memories (else it\n"
            "follows from the case); no result may depend on it",
            &t->setup.init_seed, .given = &t->setup.have_init_seed, .sets = TB_IN_EVERY),
        OPT(FLAG, "--no-checks", NULL, "builds with taps: without the checks of the units", &t->setup.no_checks,
            .sets = TB_IN_EVERY),
        OPT(TEXT, "--plusarg", "+A", "for $test$plusargs of the design", &t->plusarg[0], .sets = TB_IN_EVERY),
        OPT(MAYBE, "--perf", "[F.svg]",
            "all performance counters and what happened over time, also as a\n"
            "picture, or with a name that ends in .json as JSON",
            t, .take = take_perf, .sets = TB_IN_RUN),
        OPT(MAYBE, "--bus", "[F.json]",
            "traffic of each port: lengths, latencies, bursts in flight,\n"
            "efficiency, recommendations of the protocol; also as JSON",
            t, .take = take_bus, .sets = TB_IN_RUN),
        OPT(U64, "--window", "W", "cycles of one row of it (default: automatic)", &t->perf_window,
            .given = &t->have_window, .lo = 1, .hi = UINT32_MAX, .sets = TB_IN_RUN),
    };
    memcpy(options, rows, sizeof rows);
}

int main(int argc, char **argv) {
    tb_test tests[MAX_TESTS];
    tandem t = {.kind = tb_shim_get() == NULL ? NPU_DEV_MODEL : NPU_DEV_TANDEM};
    opt_row options[OPTIONS];
    make_options(&t, options);
    const tb_prog prog = {.about = "operators and tests on the whole NPU",
                          .cfg = NPU_CFG_NAME,
#ifdef NPU_BUILD_KIND
                          .kind = NPU_BUILD_KIND,
#endif
                          .tests = tests,
                          .test_count = make_tests(tests),
                          .case_dir = "build/cases",
                          .repro = "make repro",
                          .work_name = "MACs",
                          .wishes = wishes,
                          .wish_count = sizeof wishes / sizeof wishes[0],
                          .ctx = &t,
                          .options = options,
                          .option_count = sizeof options / sizeof options[0],
                          .check_options = check_options,
                          .note = note,
                          .again = again,
                          .passed = passed,
                          .release = release,
                          .cov_open = cov_begin,
                          .cov_save = cov_save,
                          .cov_close = cov_end,
                          .code_save = code_save_text,
                          .axi_rules = npu_dev_axi_rules,
                          .dumps = true,
                          .judges = true,
                          .report = &cli_report};
    _Static_assert(MAX_TESTS >= 20, "one for each test");
    return tb_prog_main(&prog, argc, argv);
}
