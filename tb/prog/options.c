/* options.c - the command line of programs that run cases. */
#include "options.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "../sim/sim.h"
#include "opt/opt.h"

#define MAX_COUNT UINT64_C(1000000)
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const struct {
    const char *name;
    tb_command command;
    const char *line, *head; /* of --help */
} commands[] = {
    {"run", TB_RUN, "  run OP [knob=value ...]     run one operator; show its performance\n",
     "run OP [knob=value ...] [options]\n\nRun one operator. Knobs that are not pinned are drawn from the seed; what "
     "is not "
     "part of the\n"
     "operation itself stays at its simplest value unless it is pinned.\n"},
    {"test", TB_TEST, "  test NAME [knob=value ...]  run constrained-random cases of a test\n",
     "test NAME [knob=value ...] [options]\n\nRun constrained-random cases of a test. A pinned knob is not drawn.\n"},
    {"repro", TB_REPRO, "  repro FILE                  run a stored case (also: case FILE)\n",
     "repro FILE [options]\n\nRun a stored case.\n"},
    {"case", TB_REPRO, NULL, NULL},
    {"shrink", TB_SHRINK, "  shrink FILE                 find the smallest case with the same failure\n",
     "shrink FILE [options]\n\nKnobs of the case move towards their simplest values as long as it fails with the same "
     "signature.\n"},
    {"diff", TB_DIFF, "  diff DIR DIR                compare two tensor logs (--dump), stream by stream\n",
     "diff DIR DIR\n\nCompare two tensor logs, DIR/index.txt: one line for each stream that differs, in the order\nof "
     "the "
     "first one. Exit status: "
     "0 "
     "equal, 1 different, 2 cannot be read.\n"},
    {"list", TB_LIST, "  list [--json]               list tests, knobs and their ranges\n",
     "list [--json]\n\nList tests, knobs and their ranges.\n"},
};

const tb_test *tb_prog_find(const tb_prog *prog, const char *name) {
    for (size_t i = 0; i < prog->test_count; i++) {
        if (strcmp(prog->tests[i].name, name) == 0) {
            return &prog->tests[i];
        }
    }
    return NULL;
}

/* ---- arguments without a dash ---- */

static void set_test(tb_prog_options *o, const tb_test *test) {
    o->test = test;
    tb_knobs_init(&o->knobs, test->knobs, test->knob_count);
}

static int take_test(tb_prog_options *o, const char *word, char *err, size_t err_size) {
    const tb_test *test = tb_prog_find(o->prog, word);
    if (test != NULL && (o->command == TB_TEST || test->is_operator)) {
        set_test(o, test);
        return 0;
    }
    size_t at = (size_t)snprintf(
        err, err_size, "unknown %s %.60s, expected one of:", o->command == TB_RUN ? "operator" : "test", word);
    for (size_t i = 0; i < o->prog->test_count && at < err_size; i++) {
        if (o->command == TB_TEST || o->prog->tests[i].is_operator) {
            at += (size_t)snprintf(err + at, err_size - at, " %s", o->prog->tests[i].name);
        }
    }
    return -1;
}

/* A program with one test does not need its name. */
static bool only_test(tb_prog_options *o) {
    const bool one =
        o->prog->test_count == 1 && (o->command == TB_RUN || o->command == TB_TEST || o->command == TB_FLAT);
    if (one && o->test == NULL) {
        set_test(o, &o->prog->tests[0]);
    }
    return one;
}

static int take_word(void *ctx, const char *word, char *err, size_t err_size) {
    tb_prog_options *o = (tb_prog_options *)ctx;
    const bool cases = o->command == TB_RUN || o->command == TB_TEST;
    if (cases && o->test == NULL && (o->prog->test_count > 1 || strchr(word, '=') == NULL)) {
        return take_test(o, word, err, err_size);
    }
    if (cases || o->command == TB_FLAT) {
        (void)only_test(o);
        o->pinned = true;
        return tb_knobs_pin(&o->knobs, word, err, err_size);
    }
    if ((o->command == TB_REPRO || o->command == TB_SHRINK) && o->stored == NULL) {
        o->stored = word;
        return 0;
    }
    if (o->command == TB_DIFF && o->dir[1] == NULL) {
        o->dir[o->dir[0] != NULL] = word;
        return 0;
    }
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (commands[i].command == o->command && commands[i].line != NULL) {
            snprintf(err, err_size, "%s: unexpected argument %.60s", commands[i].name, word);
        }
    }
    return -1;
}

/* ---- the table ---- */

/* Options that are known to be given only by their `given` flag. */
typedef struct given {
    bool wave_window, report_limit, seconds, jobs, list;
    const char *stored, *shrink; /* options without a command */
} given;

/* The rows of all options: they name places in `o` and `g`, so they are made for each parse. */
typedef struct table {
    opt_row cases[8], files[6], logs[2], counters[1], coverage[1], code[1], shrink[7], mutants[6], list[2];
    opt_group group[10];
} table;

#define ROWS(to, ...)                                                                                                  \
    do {                                                                                                               \
        const opt_row rows[] = {__VA_ARGS__};                                                                          \
        static_assert(sizeof rows == sizeof(to), "as many rows as the table has");                                     \
        memcpy(to, rows, sizeof rows);                                                                                 \
    } while (0)

static void rows_of_cases(table *t, tb_prog_options *o, given *g) {
    const unsigned generated = TB_IN_RUN | TB_IN_TEST | TB_IN_FLAT, many = TB_IN_TEST | TB_IN_FLAT;
    ROWS(t->cases,
         OPT(U64, "--run-seed", "R", "run seed R, from which the seeds of cases follow (1)", &o->run_seed,
             .given = &o->have_run, .sets = many),
         OPT(U64, "--index", "I", "number of the first case (0)", &o->index, .given = &o->have_run,
             .hi = UINT64_MAX - MAX_COUNT, .sets = many),
         OPT(U64, "--count", "K", "number of cases; a failure ends the run (1)", &o->count, .given = &o->have_run,
             .lo = 1, .hi = MAX_COUNT, .sets = many),
         OPT(U64, "--seed", "S", "the one case with this seed", &o->seed, .given = &o->have_seed, .sets = generated),
         OPT(TEXT, "--case", "FILE", "run a stored case", &g->stored, .sets = TB_IN_FLAT),
         OPT(TEXT, "--case", "F", "write the resolved case to F as well", &o->case_out, .sets = TB_IN_RUN | TB_IN_TEST),
         OPT(FLAG, "--print-case", NULL, "write the resolved cases to stdout, do not execute them", &o->print_case,
             .sets = generated),
         OPT(TEXT, "--case-dir", "D",
             o->prog->case_dir != NULL ? "folder for the cases of failures (build/cases)"
                                       : "folder for the cases of failures",
             &o->case_dir, .sets = TB_IN_CASES));
}

/* What a run leaves: waveforms, report, result; tensor logs, counters, coverage. */
static void rows_of_files(table *t, tb_prog_options *o, given *g) {
    ROWS(t->files,
         OPT(TEXT, "--wave", "F", "FST waveform of the whole run (needs a build with tracing)", &o->wave,
             .sets = TB_IN_CASES),
         OPT(TEXT, "--fail-wave", "F", "FST waveform around a failure", &o->fail_wave, .sets = TB_IN_CASES),
         OPT(U64, "--wave-window", "C",
             "cycles of --fail-wave before the failure (2000); a quarter\nof them follow after it", &o->wave_window,
             .given = &g->wave_window, .lo = 1, .hi = UINT32_MAX, .sets = TB_IN_CASES),
         OPT(TEXT, "--report", "DIR",
             "after a failure: run it again and write a full report\ninto this folder (report.html, report.txt, "
             "wave.fst ...)",
             &o->report, .sets = TB_IN_CASES),
         OPT(TEXT, "--result", "F", "write outcome, signature, message, cycles, trace_hash, case", &o->result,
             .sets = TB_IN_CASES),
         OPT(FLAG, "--quiet", NULL, "print nothing when all cases pass", &o->quiet, .sets = TB_IN_EVERY));
    ROWS(t->logs,
         OPT(TEXT, "--dump", "D", "write tensor logs into D, a folder for each side", &o->dump, .sets = TB_IN_CASES),
         OPT(U64, "--report-limit", "M", "largest tensor logs in a report, in MiB (64)", &o->report_limit,
             .given = &g->report_limit, .hi = 1u << 20, .sets = TB_IN_CASES));
    ROWS(t->counters, OPT(TEXT, "--counters", "F",
                          "write bursts, beats, stalls, latencies of each bus of the last\n"
                          "case, transfers of other handshakes (JSON)",
                          &o->counters, .sets = TB_IN_CASES));
    ROWS(t->coverage,
         OPT(TEXT, "--cov", "F", "write functional coverage (if the program has any)", &o->cov, .sets = TB_IN_CASES));
    ROWS(t->code, OPT(TEXT, "--code-cov", "F",
                      "write code coverage of the RTL, for tandem-cov code (KIND=cov);\na name that ends "
                      "in .code gives a small file",
                      &o->code_cov, .sets = TB_IN_CASES));
}

static void rows_of_shrink(table *t, tb_prog_options *o, given *g) {
    const unsigned small = TB_IN_SHRINK | TB_IN_FLAT;
    ROWS(t->shrink,
         OPT(TEXT, "--shrink", "FILE", "find the smallest case with the same failure:", &g->shrink, .sets = TB_IN_FLAT),
         OPT(TEXT, "--output", "F", "file for the small case (FILE with -small before .case)", &o->output,
             .sets = small),
         OPT(U64, "--seconds", "S", "stop after S seconds (120)", &o->seconds, .given = &g->seconds, .lo = 1,
             .hi = 1000000, .sets = small),
         OPT(U64, "--jobs", "J", "attempts at a time (number of cores); the result is the same", &o->jobs,
             .given = &g->jobs, .lo = 1, .hi = TB_SHRINK_JOBS, .sets = small),
         OPT(TEXT, "--keep", "A,B", "knobs to keep unchanged", &o->keep, .sets = small),
         OPT(FLAG, "--same-unit", NULL, "accept any failure that names the same unit, not only the\nsame signature",
             &o->same_unit, .sets = small),
         OPT(FLAG, "--signature-only", NULL,
             "keep what a check of a unit found, not also what the case\nleads to without that check (wrong memory, a "
             "hang ..)",
             &o->signature_only, .sets = small));
}

static void rows_of_mutants(table *t, tb_mutation_options *m) {
    ROWS(t->mutants,
         OPT(U32, "--mutant", "M", "run mutant M instead of the design", &m->mutant, .lo = 1, .sets = TB_IN_CASES),
         OPT(TEXT, "--mutants", "F", "run all mutants whose numbers are in F, beside the design:", &m->list,
             .sets = TB_IN_CASES),
         OPT(TEXT, "--verdicts", "F", "write the verdict on each of them to F", &m->verdicts, .sets = TB_IN_CASES),
         OPT(U64, "--mutant-jobs", "J",
             "mutants at a time (number of cores); 0: none is run, one\nthat differs is \"infected\"", &m->jobs,
             .lo = 0, .hi = 1024, .sets = TB_IN_CASES),
         OPT(U64, "--mutant-cycles", "C", "clock cycles of each (to the end of the run)", &m->cycles, .lo = 1,
             .sets = TB_IN_CASES),
         OPT(U64, "--mutant-seconds", "S", "seconds of each (60)", &m->seconds, .lo = 1, .hi = 100000,
             .sets = TB_IN_CASES));
}

/* A bench of the program is a table, so it has counters of its buses. */
static bool has_tables(const tb_prog *prog) {
    for (size_t i = 0; i < prog->test_count; i++) {
        if (prog->tests[i].bench != NULL && prog->tests[i].execute == NULL) {
            return true;
        }
    }
    return false;
}

/* The groups of rows, without the options of things that this program does not have. */
static void make_table(table *t, tb_prog_options *o, given *g) {
    const tb_prog *prog = o->prog;
    const bool mutated = tb_shim_get() != NULL && tb_shim_get()->mutants != NULL;
    rows_of_cases(t, o, g);
    rows_of_files(t, o, g);
    rows_of_shrink(t, o, g);
    rows_of_mutants(t, &o->mutation);
    ROWS(t->list, OPT(FLAG, "--list", NULL, "list the knobs", &g->list, .sets = TB_IN_FLAT),
         OPT(FLAG, "--json", NULL, "as JSON", &o->json, .sets = TB_IN_LIST));
    const opt_group groups[] = {OPT_GROUP(NULL, t->cases),
                                OPT_GROUP(NULL, t->files),
                                {NULL, prog->options, prog->option_count},
                                {NULL, t->logs, prog->dumps ? COUNT(t->logs) : 0},
                                {NULL, t->counters, has_tables(prog)},
                                {NULL, t->coverage, prog->cov_open != NULL || prog->code_save != NULL},
                                {NULL, t->code, prog->code_save != NULL},
                                OPT_GROUP(NULL, t->shrink),
                                {NULL, t->mutants, mutated ? COUNT(t->mutants) : 0},
                                OPT_GROUP(NULL, t->list)};
    static_assert(sizeof groups == sizeof t->group, "as many groups as the table has");
    memcpy(t->group, groups, sizeof groups);
}

static int parse_or_help(tb_prog_options *o, given *g, int argc, char **argv, FILE *help, char *err, size_t err_size) {
    table t;
    make_table(&t, o, g);
    opt_line line = {.group = t.group, .groups = COUNT(t.group), .set = 1u << o->command, .word = take_word, .ctx = o};
    line.command = o->flat ? NULL : argv[1];
    if (help != NULL) {
        opt_help(help, &line);
        return 0;
    }
    const int first = o->flat ? 1 : 2;
    const int rc = opt_parse(&line, argc - first, argv + first, err, err_size);
    o->help = line.help;
    return rc;
}

/* ---- help ---- */

static void usage_commands(FILE *out, const tb_prog_options *o) {
    fprintf(out, "usage: %s COMMAND ... (%s, %s)\n\n", o->self, o->prog->about, o->prog->cfg);
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (commands[i].command == TB_LIST) {
            fputs("  device                      serve a bench as a device to another program\n"
                  "  wave FILE                   show a waveform file: table, picture, save file\n"
                  "  axi-check FILE --prefix P   check a port in a waveform by the rules of AXI\n",
                  out);
        }
        fputs(commands[i].line != NULL ? commands[i].line : "", out);
    }
    fputs("\nEach command answers --help. Exit status: 0 passed, 1 failed, 2 bad input,\n3 the machine refused memory, "
          "space or the like.\n",
          out);
}

static void usage_tests(FILE *out, const tb_prog_options *o) {
    if (o->test != NULL) {
        fprintf(out, "\nknobs of %s (%s):\n", o->test->name, o->test->about);
        tb_knobs_list(o->test->knobs, o->test->knob_count, out);
        return;
    }
    fputs(o->command == TB_RUN ? "\noperators:" : "\ntests:", out);
    for (size_t i = 0; i < o->prog->test_count; i++) {
        if (o->command == TB_TEST || o->prog->tests[i].is_operator) {
            fprintf(out, " %s", o->prog->tests[i].name);
        }
    }
    fputs("\n", out);
}

void tb_prog_usage(FILE *out, const tb_prog_options *o) {
    tb_prog_options scratch = *o;
    given g = {false};
    char name[1] = "";
    char *argv[] = {name, name};
    if (o->command == TB_NO_COMMAND) {
        usage_commands(out, o);
        return;
    }
    if (o->flat) {
        fprintf(out,
                "usage: %s [options] [knob=value ...]\n       %s COMMAND ...: run, test, repro, shrink, diff, "
                "device, wave, axi-check, list; each "
                "answers "
                "--help\n%s (%s)\n",
                o->self, o->self, o->prog->about, o->prog->cfg);
    } else {
        for (size_t i = 0; i < COUNT(commands); i++) {
            if (commands[i].command == o->command && commands[i].head != NULL) {
                fprintf(out, "usage: %s %s", o->self, commands[i].head);
            }
        }
    }
    fputs("\noptions:\n", out);
    (void)parse_or_help(&scratch, &g, 0, argv, out, NULL, 0);
    if (o->flat) {
        fputs("Exit status: 0 passed, 1 failed, 2 bad input,\n3 the machine refused memory, space or the like.\n", out);
    }
    if (o->command == TB_RUN || o->command == TB_TEST || o->flat) {
        (void)only_test(&scratch);
        usage_tests(out, &scratch);
    }
}

/* ---- combinations of options ---- */

static const char *missing(const tb_prog_options *o) {
    const bool run = o->command == TB_RUN || o->command == TB_TEST,
               file = o->command == TB_REPRO || o->command == TB_SHRINK;
    if (run && o->test == NULL) {
        return o->command == TB_RUN ? "run: expected an operator (--help lists them)"
                                    : "test: expected a test (--help lists them)";
    }
    if (file && o->stored == NULL) {
        return o->command == TB_REPRO ? "repro: expected a case file" : "shrink: expected a case file";
    }
    return o->command == TB_DIFF && o->dir[1] == NULL ? "diff: expected two folders" : NULL;
}

static const char *flat_contradiction(const tb_prog_options *o, const given *g) {
    if (g->stored != NULL && g->shrink != NULL) {
        return "--shrink: names its own case, cannot be combined with --case";
    }
    if ((g->stored != NULL || g->shrink != NULL) && (o->have_seed || o->have_run || o->pinned)) {
        return "a stored case fixes everything: it cannot be combined with a seed, run, count or knob";
    }
    if (g->shrink == NULL &&
        (o->output != NULL || o->keep != NULL || g->seconds || g->jobs || o->same_unit || o->signature_only)) {
        return "--output, --seconds, --jobs, --keep, --same-unit and --signature-only belong to --shrink";
    }
    if (g->shrink != NULL &&
        (o->wave != NULL || o->fail_wave != NULL || o->result != NULL || o->report != NULL || o->print_case)) {
        return "--shrink: cannot be combined with a waveform, result, report or --print-case";
    }
    return NULL;
}

static const char *mutation_contradiction(const tb_prog_options *o) {
    const tb_mutation_options *m = &o->mutation;
    if ((m->list != NULL) != (m->verdicts != NULL)) {
        return "--mutants and --verdicts: each needs the other";
    }
    if (m->list != NULL && (m->mutant != 0 || o->wave != NULL || o->fail_wave != NULL || o->report != NULL ||
                            o->dump != NULL || o->cov != NULL || o->code_cov != NULL || o->print_case)) {
        return "--mutants: cannot be combined with --mutant, a waveform, report, log, coverage file or --print-case";
    }
    return NULL;
}

static int check_options(const tb_prog_options *o, const given *g, char *err, size_t err_size) {
    const char *text = missing(o);
    if (text == NULL && o->flat) {
        text = flat_contradiction(o, g);
    }
    if (text == NULL && o->have_seed && o->have_run) {
        text = "--seed: names one case, cannot be combined with --run-seed, --index or --count";
    }
    if (text == NULL && o->count > 1 && ((o->wave != NULL && !o->flat) || o->dump != NULL || o->case_out != NULL)) {
        text = "--wave, --dump and --case are for one case: expected --count 1";
    }
    if (text == NULL && g->report_limit && o->report == NULL) {
        text = "--report-limit: needs --report";
    }
    if (text == NULL && o->report != NULL && o->fail_wave != NULL) {
        text = "--report: writes its own waveform, cannot be combined with --fail-wave";
    }
    if (text == NULL) {
        text = mutation_contradiction(o);
    }
    if (text != NULL) {
        return opt_fail(err, err_size, "%s", text);
    }
    if (o->prog->check_options != NULL && o->prog->check_options(o, err, err_size) != 0) {
        return -1;
    }
    return o->code_cov != NULL ? tb_sim_coverage_check(tb_shim_get(), "--code-cov", err, err_size) : 0;
}

/* ---- the command line ---- */

static int find_command(tb_prog_options *o, int argc, char **argv, char *err, size_t err_size) {
    for (size_t i = 0; argc > 1 && i < COUNT(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            o->command = commands[i].command;
            return 0;
        }
    }
    if (o->prog->test_count == 1) {
        o->command = TB_FLAT;
        o->flat = true;
        return 0;
    }
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        o->help = true;
        return 0;
    }
    if (argc < 2) {
        snprintf(err, err_size,
                 "expected a command: run, test, repro, shrink, diff, device, wave, axi-check or list (--help)");
    } else {
        snprintf(
            err, err_size,
            "unknown command %.60s, expected run, test, repro, shrink, diff, device, wave, axi-check or list (--help)",
            argv[1]);
    }
    return -1;
}

int tb_prog_parse(tb_prog_options *o, const tb_prog *prog, int argc, char **argv, char *err, size_t err_size) {
    given g = {false};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (tb_prog_options){.prog = prog,
                           .self = argv[0],
                           .command = TB_NO_COMMAND,
                           .case_dir = prog->case_dir,
                           .run_seed = 1,
                           .seed = 1,
                           .count = 1,
                           .report_limit = 64,
                           .seconds = 120,
                           .mutation = {.jobs = (uint64_t)(cores > 0 ? cores : 1), .seconds = 60}};
    if (find_command(o, argc, argv, err, err_size) != 0) {
        return -1;
    }
    if (o->help) {
        return 0;
    }
    if (parse_or_help(o, &g, argc, argv, NULL, err, err_size) != 0) {
        return -1;
    }
    (void)only_test(o);
    if (o->help) {
        return 0;
    }
    if (o->flat) {
        o->stored = g.shrink != NULL ? g.shrink : g.stored;
        o->command = g.list ? TB_LIST : g.shrink != NULL ? TB_SHRINK : g.stored != NULL ? TB_REPRO : TB_TEST;
    }
    return o->command == TB_LIST ? 0 : check_options(o, &g, err, err_size);
}
