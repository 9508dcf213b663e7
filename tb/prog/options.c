#include "options.h"

#include <inttypes.h>
#include <string.h>

#define MAX_COUNT UINT64_C(1000000)

void tb_prog_usage(FILE *out, const tb_prog_options *o) {
    fprintf(out, "usage: %s [options] [knob=value ...]\n%s (%s)\n\n", o->self, o->prog->about, o->prog->cfg);
    fputs("  --run-seed R --index I --count K\n"
          "                  cases I .. I+K-1 of run R (1, 0, 1), up to the first failure\n"
          "  --seed S        the case of this seed\n"
          "  --case FILE     a stored case\n"
          "  --print-case    write the cases to stdout, do not execute them\n"
          "  --case-dir D    store the case of a failure there (build/cases)\n"
          "  --wave F        FST waveform of the whole run (needs a build with tracing)\n"
          "  --fail-wave F   FST waveform around a failure, taken from a snapshot\n"
          "  --wave-window C its cycles before the failure (2000), a quarter of it after\n"
          "  --result F      write outcome, signature, message, cycles, trace_hash, case\n"
          "  --quiet         print nothing when all is well\n"
          "  --shrink FILE   make a failing case small, with the same failure\n"
          "    --output F    the small case (FILE with -small before .case)\n"
          "    --seconds S   stop after so long (120)\n"
          "    --keep A,B    knobs that stay as they are\n"
          "    --jobs J      attempts at a time (one for each core)\n"
          "  --list          the knobs\n"
          "  --help          this text\n"
          "Exit status: 0 passed, 1 failed, 2 bad input.\n\nknobs:\n",
          out);
    tb_knobs_list(o->prog->knobs, o->prog->knob_count, out);
}

static int flag_option(tb_prog_options *o, const char *arg) {
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--help", &o->help}, {"--list", &o->list}, {"--print-case", &o->print_case}, {"--quiet", &o->quiet}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strcmp(arg, flags[i].name) == 0) {
            *flags[i].flag = true;
            return 0;
        }
    }
    return -1;
}

static int number_option(const char *name, const char *value, uint64_t lo, uint64_t hi, uint64_t *out, char *err, size_t err_size) {
    if (value == NULL || tb_parse_u64(value, out) != 0 || *out < lo || *out > hi) {
        snprintf(err, err_size, "%s: expected a number %" PRIu64 "..%" PRIu64 ", got %.60s", name, lo, hi,
                 value != NULL ? value : "nothing");
        return -1;
    }
    return 0;
}

/* An option with a value. */
static int value_option(tb_prog_options *o, const char *name, const char *value, char *err, size_t err_size) {
    const struct {
        const char *name;
        uint64_t lo, hi, *out;
        bool *have;
    } numbers[] = {{"--seed", 0, UINT64_MAX, &o->seed, &o->have_seed},
                   {"--run-seed", 0, UINT64_MAX, &o->run_seed, &o->have_run},
                   {"--index", 0, UINT64_MAX - MAX_COUNT, &o->index, &o->have_run},
                   {"--count", 1, MAX_COUNT, &o->count, &o->have_run},
                   {"--wave-window", 1, UINT32_MAX, &o->wave_window, NULL},
                   {"--seconds", 1, 86400, &o->seconds, &o->have_shrink},
                   {"--jobs", 1, TB_SHRINK_JOBS, &o->jobs, &o->have_shrink}};
    const struct {
        const char *name;
        const char **out;
    } texts[] = {{"--case", &o->case_file}, {"--case-dir", &o->case_dir},   {"--shrink", &o->shrink}, {"--output", &o->output},
                 {"--keep", &o->keep},      {"--fail-wave", &o->fail_wave}, {"--wave", &o->wave},     {"--result", &o->result}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            if (numbers[i].have != NULL) {
                *numbers[i].have = true;
            }
            return number_option(name, value, numbers[i].lo, numbers[i].hi, numbers[i].out, err, err_size);
        }
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            if (value == NULL || value[0] == '\0') {
                snprintf(err, err_size, "%s: expected a name", name);
                return -1;
            }
            *texts[i].out = value;
            return 0;
        }
    }
    snprintf(err, err_size, "%.60s: unknown option (--help lists them)", name);
    return -1;
}

/* Options that contradict each other. */
static int check_options(const tb_prog_options *o, bool pinned, char *err, size_t err_size) {
    const char *text = NULL;
    if (o->case_file != NULL && o->shrink != NULL) {
        text = "--shrink: names its case itself, expected no --case beside it";
    } else if ((o->case_file != NULL || o->shrink != NULL) && (o->have_seed || o->have_run || pinned)) {
        text = "a stored case fixes everything: expected no seed, run, count or knob beside it";
    } else if (o->have_seed && o->have_run) {
        text = "--seed: names one case, expected no run, index or count beside it";
    } else if (o->shrink == NULL && (o->output != NULL || o->keep != NULL || o->have_shrink)) {
        text = "--output, --seconds, --jobs and --keep belong to --shrink";
    } else if (o->shrink != NULL && (o->wave != NULL || o->fail_wave != NULL || o->result != NULL || o->print_case)) {
        text = "--shrink: expected no waveform, result or --print-case beside it";
    }
    if (text != NULL) {
        snprintf(err, err_size, "%s", text);
    }
    return text != NULL ? -1 : 0;
}

/* The words of the runner and of make: "test NAME", "repro FILE", "shrink FILE". The place of the first word after them, or -1. */
static int take_command(tb_prog_options *o, int argc, char **argv, char *err, size_t err_size) {
    const char *word = argc > 1 ? argv[1] : "";
    const char *value = argc > 2 ? argv[2] : "";
    if (strcmp(word, "repro") == 0 && value[0] != '\0') {
        o->case_file = value;
    } else if (strcmp(word, "shrink") == 0 && value[0] != '\0') {
        o->shrink = value;
    } else if (strcmp(word, "test") != 0) {
        return 1;
    } else if (strcmp(value, o->prog->name) != 0) {
        snprintf(err, err_size, "test %.60s: expected test %s", value, o->prog->name);
        return -1;
    }
    return 3;
}

int tb_prog_parse(tb_prog_options *o, const tb_prog *prog, int argc, char **argv, char *err, size_t err_size) {
    bool pinned = false;
    *o = (tb_prog_options){.prog = prog, .self = argv[0], .run_seed = 1, .count = 1, .seconds = 120, .case_dir = "build/cases"};
    tb_knobs_init(&o->knobs, prog->knobs, prog->knob_count);
    const int first = take_command(o, argc, argv, err, err_size);
    if (first < 0) {
        return -1;
    }
    for (int i = first; i < argc; i++) {
        if (argv[i][0] != '-') {
            if (tb_knobs_pin(&o->knobs, argv[i], err, err_size) != 0) {
                return -1;
            }
            pinned = true;
        } else if (flag_option(o, argv[i]) != 0) {
            if (value_option(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL, err, err_size) != 0) {
                return -1;
            }
            i++;
        }
    }
    return o->help || o->list ? 0 : check_options(o, pinned, err, err_size);
}
