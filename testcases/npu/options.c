/* options.c - the command line of `tandem`. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_COUNT UINT64_C(1000000)

static const char *const kind_names[] = {"model", "rtl", "tandem"};

const char *cli_kind_name(npu_dev_kind kind) {
    return kind_names[kind];
}

static void usage_commands(FILE *out, const cli_options *o) {
    fprintf(out,
            "usage: %s COMMAND ... (mesh size %s)\n\n"
            "  run OP [knob=value ...]     one operator, with its performance\n"
            "  test NAME [knob=value ...]  constrained-random cases of a test\n"
            "  repro FILE                  one stored case (also: case FILE)\n"
            "  shrink FILE                 a failing case made small, with the same failure\n"
            "  diff DIR DIR                two tensor logs (--dump), stream by stream\n"
            "  wave FILE                   a waveform file: table, picture, save file\n"
            "  axi-check FILE --prefix P   the rules of AXI on a port in a waveform file\n"
            "  list [--json]               tests, knobs and their ranges\n\n"
            "Each command answers --help. Exit status: 0 passed, 1 failed, 2 bad input.\n",
            o->prog, NPU_CFG_NAME);
}

static void usage_options(FILE *out, cli_command command) {
    if (command == CLI_DIFF) {
        return;
    }
    fputs("\noptions:\n"
          "  --device D      model, rtl or tandem (both, compared; the default where\n"
          "                  the program contains the RTL)\n"
          "  --wave F        FST waveform of the whole run (needs a build with tracing)\n"
          "  --fail-wave F   FST waveform around a failure, taken from a snapshot\n"
          "  --report DIR    after a failure: run it again and write all there is to know\n"
          "                  into this folder (report.html, report.txt, wave.fst ...)\n"
          "  --report-limit M  its tensors/ take at most so many MiB (64)\n"
          "  --wave-window C its cycles before the failure (2000), a quarter of it after\n"
          "  --dump D        tensor logs of every task into D/rtl and D/model\n"
          "  --result F      write outcome, signature, message, cycles, trace_hash, case\n"
          "  --cov F         write what the cases covered, for tandem-cov\n"
          "  --code-cov F    write what was executed of the RTL, for tandem-cov code (KIND=cov); a\n"
          "                  name that ends in .code gives a small file\n"
          "  --case-dir D    store the case of a failure there (build/cases)\n"
          "  --break M.C:K   memory that hangs: channel C (AW, W, B, AR, R) of port M (m0, m1)\n"
          "                  stops after K handshakes; m0.R:K:flip: beat K of read data is\n"
          "                  wrong, once\n"
          "  --init-seed S   seed of the initial state of registers and memories (else it\n"
          "                  follows from the case); nothing may depend on it\n"
          "  --no-checks     builds with taps: without the checks of the units\n"
          "  --plusarg +A    for $test$plusargs of the design\n"
          "  --quiet         print nothing when all is well\n",
          out);
    if (command == CLI_SHRINK) {
        fputs("  --output F      the small case (FILE with -small before .case)\n"
              "  --seconds S     stop trying after so long (120)\n"
              "  --jobs J        attempts at a time (number of cores); the result is the same\n"
              "  --keep A,B      knobs that stay as they are\n"
              "  --same-unit     any failure that names the same unit will do, not only the\n"
              "                  same signature\n",
              out);
    } else if (command != CLI_REPRO) {
        fputs("  --seed S        the case of this seed\n"
              "  --case F        write the resolved case to F as well\n"
              "  --print-case    write the resolved case to stdout, do not execute it\n",
              out);
    }
    if (command == CLI_RUN) {
        fputs("  --perf [F.svg]  all performance counters and what happened over time, also as a\n"
              "                  picture, or with a name that ends in .json as JSON\n"
              "  --bus [F.json]  what went over each port: lengths, latencies, bursts in flight,\n"
              "                  efficiency, recommendations of the protocol; also as JSON\n"
              "  --window W      cycles of one row of it (fits by itself)\n",
              out);
    }
    if (command == CLI_TEST) {
        fputs("  --run-seed R --index I --count K\n"
              "                  cases I .. I+K-1 of run R (1, 0, 1), up to the first failure\n",
              out);
    }
}

void cli_usage(FILE *out, const cli_options *o) {
    static const char *const heads[] = {
        "run OP [knob=value ...] [options]\n\nOne operator. Knobs that are not pinned are drawn from the seed; splits are left to\n"
        "the driver and the bus is ideal unless pinned.\n",
        "test NAME [knob=value ...] [options]\n\nConstrained-random cases. A pinned knob is not drawn.\n",
        "repro FILE [options]\n\nOne stored case.\n",
        "shrink FILE [options]\n\nKnobs of the case move towards their simplest values as long as it fails with the same signature.\n",
        "diff DIR DIR\n\nTwo tensor logs, DIR/index.txt: one line for each stream that differs, in the order\nof the first one. Exit "
        "status: 0 equal, 1 different, 2 cannot be read.\n",
        "list [--json]\n\nTests, knobs and their ranges.\n"};
    if (o->command > CLI_LIST) {
        usage_commands(out, o);
        return;
    }
    fprintf(out, "usage: %s %s", o->prog, heads[o->command]);
    if (o->command != CLI_LIST) {
        usage_options(out, o->command);
    }
    if (o->test != NULL) {
        fprintf(out, "\nknobs of %s (%s):\n", o->test->name, o->test->help);
        tb_knobs_list(o->test->knobs, o->test->knob_count, out);
    } else if (o->command <= CLI_TEST) {
        fputs(o->command == CLI_RUN ? "\noperators:" : "\ntests:", out);
        for (size_t i = 0; i < tc_test_count; i++) {
            if (o->command == CLI_TEST || tc_tests[i]->is_operator) {
                fprintf(out, " %s", tc_tests[i]->name);
            }
        }
        fputs("\n", out);
    }
}

static int number_option(const char *name, const char *value, uint64_t lo, uint64_t hi, uint64_t *out, char *err, size_t err_size) {
    if (value == NULL || tb_parse_u64(value, out) != 0 || *out < lo || *out > hi) {
        snprintf(err, err_size, "%s: expected a number %" PRIu64 "..%" PRIu64 ", got %.60s", name, lo, hi,
                 value == NULL ? "nothing" : value);
        return -1;
    }
    return 0;
}

static int device_option(const char *value, npu_dev_kind *kind, char *err, size_t err_size) {
    for (int i = 0; value != NULL && i < 3; i++) {
        if (strcmp(value, kind_names[i]) == 0) {
            *kind = (npu_dev_kind)i;
            return 0;
        }
    }
    snprintf(err, err_size, "--device: expected model, rtl or tandem, got %.60s", value == NULL ? "nothing" : value);
    return -1;
}

void cli_setup_text(const cli_options *o, char *dst, size_t size) {
    const tc_setup *s = &o->setup;
    char init[40] = "";
    if (s->have_init_seed) {
        snprintf(init, sizeof init, " INIT_SEED=0x%" PRIx64, s->init_seed);
    }
    snprintf(dst, size, "%s%s%s%s%s%s%s%s", s->kind != NPU_DEV_TANDEM ? " DEVICE=" : "",
             s->kind != NPU_DEV_TANDEM ? cli_kind_name(s->kind) : "", s->broken.on ? " BREAK=" : "", s->broken.on ? o->broken_text : "",
             init, s->plusargs != NULL ? " PLUSARG=" : "", s->plusargs != NULL ? o->plusarg[0] : "", s->no_checks ? " NO_CHECKS=1" : "");
}

/* Does a command take option i of the numbers below? */
static bool number_known(cli_command command, unsigned i) {
    static const unsigned of[] = {
        [CLI_RUN] = 0x331, [CLI_TEST] = 0x32f, [CLI_REPRO] = 0x320, [CLI_SHRINK] = 0x1c0, [CLI_DIFF] = 0, [CLI_LIST] = 0};
    return (of[command] >> i & 1) != 0;
}

/* An option with a value; 1: not one of them. */
static int value_option(cli_options *o, const char *name, const char *value, char *err, size_t err_size) {
    const struct {
        const char *name;
        uint64_t lo, hi, *out;
        bool *given;
    } numbers[] = {{"--seed", 0, UINT64_MAX, &o->seed, &o->have_seed},
                   {"--run-seed", 0, UINT64_MAX, &o->run_seed, &o->have_run},
                   {"--index", 0, UINT64_MAX - MAX_COUNT, &o->index, &o->have_run},
                   {"--count", 1, MAX_COUNT, &o->count, &o->have_run},
                   {"--window", 1, UINT32_MAX, &o->perf_window, &o->have_window},
                   {"--wave-window", 1, UINT32_MAX, &o->wave_window, &o->have_wave_window},
                   {"--seconds", 1, 1000000, &o->seconds, &o->have_seconds},
                   {"--jobs", 1, TB_SHRINK_JOBS, &o->jobs, &o->have_jobs},
                   {"--init-seed", 0, UINT64_MAX, &o->setup.init_seed, &o->setup.have_init_seed},
                   {"--report-limit", 0, 1u << 20, &o->report_limit, &o->have_report_limit}};
    const struct {
        const char *name;
        const char **out;
        unsigned commands; /* a bit for each that takes it */
    } texts[] = {{"--case", &o->case_file, 1u << CLI_RUN | 1u << CLI_TEST},
                 {"--case-dir", &o->case_dir, 1u << CLI_RUN | 1u << CLI_TEST | 1u << CLI_REPRO},
                 {"--wave", &o->wave, 1u << CLI_RUN | 1u << CLI_TEST | 1u << CLI_REPRO},
                 {"--fail-wave", &o->fail_wave, 1u << CLI_RUN | 1u << CLI_TEST | 1u << CLI_REPRO},
                 {"--report", &o->report, 1u << CLI_RUN | 1u << CLI_TEST | 1u << CLI_REPRO},
                 {"--dump", &o->dump, 1u << CLI_RUN | 1u << CLI_TEST | 1u << CLI_REPRO},
                 {"--result", &o->result, 1u << CLI_RUN | 1u << CLI_TEST | 1u << CLI_REPRO},
                 {"--cov", &o->cov, 1u << CLI_RUN | 1u << CLI_TEST | 1u << CLI_REPRO},
                 {"--code-cov", &o->code_cov, 1u << CLI_RUN | 1u << CLI_TEST | 1u << CLI_REPRO},
                 {"--plusarg", &o->plusarg[0], 1u << CLI_RUN | 1u << CLI_TEST | 1u << CLI_REPRO | 1u << CLI_SHRINK},
                 {"--output", &o->output, 1u << CLI_SHRINK},
                 {"--keep", &o->keep, 1u << CLI_SHRINK}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            if (!number_known(o->command, (unsigned)i)) {
                return 1;
            }
            *numbers[i].given = true;
            return number_option(name, value, numbers[i].lo, numbers[i].hi, numbers[i].out, err, err_size);
        }
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            if ((texts[i].commands >> o->command & 1u) == 0) {
                return 1;
            }
            if (value == NULL || value[0] == '\0') {
                snprintf(err, err_size, "%s: expected a file or folder name", name);
                return -1;
            }
            *texts[i].out = value;
            return 0;
        }
    }
    if (strcmp(name, "--break") == 0 && o->command <= CLI_SHRINK) {
        o->broken_text = value;
        if (!npu_dev_broken_parse(value, &o->setup.broken)) {
            snprintf(err, err_size, "--break: expected PORT.CHANNEL:HANDSHAKES such as m0.R:100, or m0.R:100:flip, got %.60s",
                     value == NULL ? "nothing" : value);
            return -1;
        }
        return 0;
    }
    return strcmp(name, "--device") == 0 && o->command < CLI_DIFF ? device_option(value, &o->setup.kind, err, err_size) : 1;
}

/* 1: not one of them. */
static int flag_option(cli_options *o, const char *name) {
    const bool cases = o->command == CLI_RUN || o->command == CLI_TEST;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        o->help = true;
    } else if (strcmp(name, "--json") == 0 && o->command == CLI_LIST) {
        o->json = true;
    } else if (strcmp(name, "--quiet") == 0 && o->command < CLI_DIFF) {
        o->quiet = true;
    } else if (strcmp(name, "--no-checks") == 0 && o->command < CLI_DIFF) {
        o->setup.no_checks = true;
    } else if (strcmp(name, "--print-case") == 0 && cases) {
        o->print_case = true;
    } else if (strcmp(name, "--same-unit") == 0 && o->command == CLI_SHRINK) {
        o->same_unit = true;
    } else {
        return 1;
    }
    return 0;
}

static bool has_end(const char *arg, const char *end) {
    const size_t length = arg != NULL ? strlen(arg) : 0;
    return length > strlen(end) && arg[0] != '-' && strcmp(arg + length - strlen(end), end) == 0;
}

/* Options of `run` with a file or without: how many words they take, 0: it is none of them. */
static int view_option(cli_options *o, const char *arg, char *next) {
    if (o->command == CLI_RUN && strcmp(arg, "--perf") == 0) {
        o->perf = true;
        o->perf_svg = has_end(next, ".svg") ? next : NULL;
        o->perf_json = has_end(next, ".json") ? next : NULL;
        return o->perf_svg != NULL || o->perf_json != NULL ? 2 : 1;
    }
    if (o->command == CLI_RUN && strcmp(arg, "--bus") == 0) {
        o->bus = true;
        o->bus_json = has_end(next, ".json") ? next : NULL;
        return o->bus_json != NULL ? 2 : 1;
    }
    return 0;
}

/* The operator, test or file that a command is about. */
static int subject(cli_options *o, const char *arg, char *err, size_t err_size) {
    if (o->command == CLI_REPRO || o->command == CLI_SHRINK) {
        o->case_file = arg;
        return 0;
    }
    if (o->command == CLI_DIFF) {
        o->dir[o->dir[0] != NULL] = arg;
        return 0;
    }
    o->test = tc_test_find(arg);
    if (o->test != NULL && (o->command == CLI_TEST || o->test->is_operator)) {
        tb_knobs_init(&o->knobs, o->test->knobs, o->test->knob_count);
        return 0;
    }
    size_t at = (size_t)snprintf(err, err_size, "unknown %s %.60s, expected one of:", o->command == CLI_RUN ? "operator" : "test", arg);
    for (size_t i = 0; i < tc_test_count && at < err_size; i++) {
        if (o->command == CLI_TEST || tc_tests[i]->is_operator) {
            at += (size_t)snprintf(err + at, err_size - at, " %s", tc_tests[i]->name);
        }
    }
    o->test = NULL;
    return -1;
}

static int command_of(cli_options *o, const char *arg, char *err, size_t err_size) {
    static const struct {
        const char *name;
        cli_command command;
    } commands[] = {{"run", CLI_RUN},       {"test", CLI_TEST}, {"repro", CLI_REPRO}, {"case", CLI_REPRO},
                    {"shrink", CLI_SHRINK}, {"diff", CLI_DIFF}, {"list", CLI_LIST}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(arg, commands[i].name) == 0) {
            o->command = commands[i].command;
            return 0;
        }
    }
    snprintf(err, err_size, "unknown command %.60s, expected run, test, repro, shrink, diff, wave or list (--help)", arg);
    return -1;
}

/* What is given must fit together. */
static int check_options(const cli_options *o, bool have_subject, char *err, size_t err_size) {
    static const char *const missing[] = {"run: expected an operator (--help lists them)", "test: expected a test (--help lists them)",
                                          "repro: expected a case file", "shrink: expected a case file", "diff: expected two folders"};
    if (o->command != CLI_LIST && !have_subject) {
        snprintf(err, err_size, "%s", missing[o->command]);
        return -1;
    }
    if (o->have_seed && o->have_run) {
        snprintf(err, err_size, "--seed names one case: expected no --run-seed, --index or --count beside it");
        return -1;
    }
    if (o->count > 1 &&
        (o->wave != NULL || o->dump != NULL || (o->case_file != NULL && o->command != CLI_REPRO && o->command != CLI_SHRINK))) {
        snprintf(err, err_size, "--wave, --dump and --case are for one case: expected --count 1");
        return -1;
    }
    if (o->setup.kind != NPU_DEV_MODEL && tb_shim_get() == NULL) {
        snprintf(err, err_size, "--device %s: this program contains no RTL, expected model", cli_kind_name(o->setup.kind));
        return -1;
    }
    if (o->code_cov != NULL && o->setup.kind == NPU_DEV_MODEL) {
        snprintf(err, err_size, "--code-cov: the model has no RTL, expected --device rtl or tandem");
        return -1;
    }
    if (o->code_cov != NULL && tb_sim_coverage_check(tb_shim_get(), "--code-cov", err, err_size) != 0) {
        return -1;
    }
    if (o->have_window && !o->perf) {
        snprintf(err, err_size, "--window: expected --perf beside it");
        return -1;
    }
    if (o->have_report_limit && o->report == NULL) {
        snprintf(err, err_size, "--report-limit: expected --report beside it");
        return -1;
    }
    if (o->report != NULL && o->fail_wave != NULL) {
        snprintf(err, err_size, "--report writes a waveform of its own: expected no --fail-wave beside it");
        return -1;
    }
    if (o->setup.kind == NPU_DEV_MODEL && o->bus) {
        snprintf(err, err_size, "--bus: the model has no bus, expected --device rtl or tandem");
        return -1;
    }
    if (o->setup.kind == NPU_DEV_MODEL && o->perf) {
        snprintf(err, err_size, "--perf: the model has no clock, expected --device rtl or tandem");
        return -1;
    }
    if (o->setup.kind == NPU_DEV_MODEL && o->wave != NULL) {
        snprintf(err, err_size, "--wave: the model has no waveform, expected --device rtl or tandem");
        return -1;
    }
    return 0;
}

int cli_parse(cli_options *o, int argc, char **argv, char *err, size_t err_size) {
    bool have_subject = false;
    *o = (cli_options){.prog = argv[0],
                       .command = (cli_command)(CLI_LIST + 1),
                       .case_dir = "build/cases",
                       .run_seed = 1,
                       .seed = 1,
                       .count = 1,
                       .report_limit = 64,
                       .seconds = 120};
    o->setup.kind = tb_shim_get() == NULL ? NPU_DEV_MODEL : NPU_DEV_TANDEM;
    if (argc < 2) {
        snprintf(err, err_size, "expected a command: run, test, repro, shrink, diff, wave or list (--help)");
        return -1;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        o->help = true;
        return 0;
    }
    if (command_of(o, argv[1], err, err_size) != 0) {
        return -1;
    }
    for (int i = 2; i < argc; i++) {
        const char *arg = argv[i];
        int rc = 0;
        if (arg[0] == '-') {
            const int words = view_option(o, arg, argv[i + 1]);
            if (words > 0) {
                i += words - 1;
                continue;
            }
            if (flag_option(o, arg) == 0) {
                continue;
            }
            rc = value_option(o, arg, i + 1 < argc ? argv[i + 1] : NULL, err, err_size);
            i++;
            if (rc > 0) {
                snprintf(err, err_size, "%s: unknown option %.60s (--help lists them)", argv[1], arg);
            }
        } else if (!have_subject && o->command != CLI_LIST) {
            rc = subject(o, arg, err, err_size);
            have_subject = o->command != CLI_DIFF || o->dir[1] != NULL;
        } else if (o->test != NULL) {
            rc = tb_knobs_pin(&o->knobs, arg, err, err_size);
        } else {
            snprintf(err, err_size, "%s: unexpected argument %.60s", argv[1], arg);
            rc = -1;
        }
        if (rc != 0) {
            return -1;
        }
    }
    o->setup.plusargs = o->plusarg[0] != NULL ? o->plusarg : NULL;
    return o->help ? 0 : check_options(o, have_subject, err, err_size);
}
