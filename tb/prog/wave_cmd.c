/* wave_cmd.c - the command wave: contents of a waveform file as a table, a picture or a save file for GTKWave. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wave/wave.h"
#include "options.h"
#include "opt/opt.h"

#define MAX_SCOPES 16u
#define MAX_SIGNALS 1024u
#define MAX_NAME 1024u
#define CPU_SECONDS 60u
#define MEMORY_MIB 4096u

typedef struct wave_options {
    const char *prog, *file, *svg, *gtkw, *clock;
    const char *scope[MAX_SCOPES];
    size_t scopes;
    uint64_t from, to, mark; /* cycles, or times of a file without a clock */
    bool have_from, have_to, have_mark, list;
} wave_options;

/* An open file, and the requested signals. */
typedef struct wave_job {
    const wave_options *o;
    tb_wave *wave;
    char clock[MAX_NAME];
    uint64_t period; /* 1 without a clock */
    const char *path[MAX_SIGNALS];
    tb_wave_group group[MAX_SCOPES];
    size_t groups, paths;
    uint64_t first, last;
    int exponent;
} wave_job;

static int take_file(void *ctx, const char *word, char *err, size_t err_size) {
    wave_options *o = (wave_options *)ctx;
    if (o->file != NULL) {
        return opt_fail(err, err_size, "wave: unexpected argument %.60s", word);
    }
    o->file = word;
    return 0;
}

/* 0, or the exit status; -1: the help was requested, and printed. */
static int parse(wave_options *o, int argc, char **argv) {
    char err[400];
    opt_list scopes = {.item = o->scope, .most = MAX_SCOPES};
    const opt_row rows[] = {
        OPT(LIST, "--signals", "S", "the signals of scope S; may be given several times (outermost)", &scopes),
        OPT(FLAG, "--list", NULL, "only list them (all without --signals)", &o->list),
        OPT(U64, "--from", "C", "cycles from this one on; times of the file if it has no clock", &o->from,
            .given = &o->have_from),
        OPT(U64, "--to", "C", "up to this one", &o->to, .given = &o->have_to),
        OPT(U64, "--mark", "C", "position of the marker", &o->mark, .given = &o->have_mark),
        OPT(TEXT, "--clock", "NAME", "full path of the clock (found by its name)", &o->clock),
        OPT(TEXT, "--svg", "F", "timing diagram", &o->svg),
        OPT(TEXT, "--gtkw", "F", "save file: gtkwave FILE F", &o->gtkw),
    };
    const opt_group group = OPT_GROUP(NULL, rows);
    opt_line line = {.group = &group, .groups = 1, .command = "wave", .word = take_file, .ctx = o};
    if (opt_parse(&line, argc - 2, argv + 2, err, sizeof err) != 0) {
        return opt_bad(o->prog, "%s", err);
    }
    o->scopes = scopes.count;
    if (line.help) {
        printf("usage: %s wave FILE [options]\n\nA waveform file (FST or VCD, of any design): its times, clock and "
               "scopes.\n\noptions:\n",
               o->prog);
        opt_help(stdout, &line);
        fputs("\nWith --signals alone: their values at --from. Exit status: 0, 1 cannot be\nwritten, 2 bad input.\n",
              stdout);
        return -1;
    }
    return o->file != NULL ? 0 : opt_bad(o->prog, "wave: expected a waveform file");
}

/* ---- tables ---- */

static void print_file(const wave_job *j) {
    static const char *const unit[] = {"s", "ms", "us", "ns", "ps", "fs"};
    static const char *const digit[] = {"1", "10", "100"};
    size_t count = 0;
    const int e = -j->exponent;
    const char *last = "";
    const tb_wave_signal *s = tb_wave_signals(j->wave, &count);
    printf("%s: %zu signals, times %" PRIu64 " to %" PRIu64, j->o->file, count, j->first, j->last);
    if (e >= 0 && e <= 15) {
        printf(" (%s %s)", digit[(15 - e) % 3], unit[(e + 2) / 3]);
    }
    printf("\n");
    if (j->clock[0] != '\0') {
        printf("clock %s, cycles %" PRIu64 " to %" PRIu64 "\n", j->clock, j->first / j->period, j->last / j->period);
    } else {
        printf("no clock\n");
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(last, s[i].scope) != 0) {
            printf("  %s\n", s[i].scope);
            last = s[i].scope;
        }
    }
}

static void print_list(const wave_job *j) {
    size_t count = 0;
    const tb_wave_signal *s = tb_wave_signals(j->wave, &count);
    for (size_t i = 0; j->o->scopes == 0 && i < count; i++) {
        printf("%s%s%s%s\n", s[i].scope, s[i].scope[0] != '\0' ? "." : "", s[i].name, s[i].range);
    }
    for (size_t i = 0; i < j->paths; i++) {
        const tb_wave_signal *found = tb_wave_find(j->wave, j->path[i]);
        printf("%s%s\n", j->path[i], found != NULL ? found->range : "");
    }
}

typedef struct value_table {
    const wave_job *j;
    char **text; /* by handle */
} value_table;

static int keep_value(void *ctx, uint64_t time, uint32_t handle, const char *bits, uint32_t width) {
    value_table *t = (value_table *)ctx;
    char *text = (char *)malloc(width / 4u + 2u);
    (void)time;
    if (text == NULL) {
        return 1;
    }
    tb_wave_hex(bits, width, text);
    free(t->text[handle]);
    t->text[handle] = text;
    return 0;
}

/* The values at --from. */
static int print_values(const wave_job *j) {
    const size_t handles = tb_wave_handles(j->wave);
    const uint64_t at = j->o->have_from ? j->o->from * j->period + j->period / 2 : j->first;
    uint8_t *want = (uint8_t *)calloc(handles + 1, 1);
    value_table t = {.j = j, .text = (char **)calloc(handles + 1, sizeof *t.text)};
    char err[512] = "out of memory";
    int status = 1;
    for (size_t i = 0; want != NULL && i < j->paths; i++) {
        want[tb_wave_find(j->wave, j->path[i])->handle] = 1;
    }
    if (want != NULL && t.text != NULL) {
        status = tb_wave_read(j->wave, want, at, at, keep_value, &t, err, sizeof err);
    }
    for (size_t i = 0; status == 0 && i < j->paths; i++) {
        const tb_wave_signal *s = tb_wave_find(j->wave, j->path[i]);
        printf("%s%s = %s\n", j->path[i], s->range, t.text[s->handle] != NULL ? t.text[s->handle] : "-");
    }
    for (size_t h = 0; t.text != NULL && h < handles; h++) {
        free(t.text[h]);
    }
    free(t.text);
    free(want);
    return status == 0 ? 0 : opt_bad(j->o->prog, "%s", err);
}

/* ---- files ---- */

static int write_files(const wave_job *j) {
    const wave_options *o = j->o;
    char err[512];
    const tb_wave_view view = {
        .wave = o->file,
        .title = o->file,
        .group = j->group,
        .groups = j->groups,
        .clock = j->clock[0] != '\0' ? j->clock : NULL,
        .marker = o->have_mark ? o->mark * j->period : 0,
        .from = o->have_from ? o->from * j->period : j->first,
        .to = o->have_to ? (o->to + 1) * j->period - 1 : j->last,
        .cycles = o->have_from && o->have_to && o->to >= o->from ? (unsigned)(o->to - o->from + 1) : 0};
    if ((o->svg != NULL && tb_wave_svg(&view, o->svg, err, sizeof err) != 0) ||
        (o->gtkw != NULL && tb_wave_gtkw(&view, o->gtkw, err, sizeof err) != 0)) {
        fprintf(stderr, "%s: %s\n", o->prog, err);
        return 1;
    }
    return 0;
}

/* ---- main ---- */

static int find_clock(wave_job *j, char *err, size_t err_size) {
    const tb_wave_signal *s = tb_wave_clock(j->wave);
    if (j->o->clock != NULL) {
        snprintf(j->clock, sizeof j->clock, "%s", j->o->clock);
    } else if (s != NULL) {
        snprintf(j->clock, sizeof j->clock, "%s%s%s", s->scope, s->scope[0] != '\0' ? "." : "", s->name);
    }
    if (j->clock[0] != '\0' && tb_wave_period(j->wave, j->clock, &j->period, err, err_size) != 0) {
        return -1;
    }
    if (j->period == 0) { /* none, or it does not toggle */
        j->clock[0] = '\0';
        j->period = 1;
    }
    return 0;
}

/* In the guarded child. */
static int work(void *ctx) {
    wave_job *j = (wave_job *)ctx;
    const wave_options *o = j->o;
    char err[512];
    j->wave = tb_wave_open(o->file, err, sizeof err);
    if (j->wave == NULL || find_clock(j, err, sizeof err) != 0) {
        return opt_bad(o->prog, "%s", err);
    }
    tb_wave_times(j->wave, &j->first, &j->last, &j->exponent);
    for (size_t i = 0; i < o->scopes; i++) {
        const size_t n = tb_wave_instance(j->wave, o->scope[i], j->path + j->paths, MAX_SIGNALS - j->paths);
        if (n == 0) {
            return opt_bad(o->prog, "no signals in scope %.200s (without options: a list of scopes)", o->scope[i]);
        }
        j->group[j->groups++] = (tb_wave_group){.title = o->scope[i], .signal = j->path + j->paths, .count = n};
        j->paths += n;
    }
    for (size_t i = 0; i < j->paths; i++) {
        if (j->path[i] == NULL) {
            return opt_bad(o->prog, "out of memory");
        }
    }
    if (o->list) {
        print_list(j);
        return 0;
    }
    if (o->svg != NULL || o->gtkw != NULL) {
        return o->scopes > 0 ? write_files(j)
                             : opt_bad(o->prog, "%s: needs --signals", o->svg != NULL ? "--svg" : "--gtkw");
    }
    if (o->scopes > 0) {
        return print_values(j);
    }
    print_file(j);
    return 0;
}

int tb_prog_wave(int argc, char **argv) {
    wave_options o = {.prog = argv[0]};
    char err[512];
    const int status = parse(&o, argc, argv);
    if (status != 0) {
        return status < 0 ? 0 : status;
    }
    wave_job *j = (wave_job *)calloc(1, sizeof *j);
    if (j == NULL) {
        return opt_bad(o.prog, "out of memory");
    }
    j->o = &o;
    const int done = tb_wave_guard(o.file, work, j, CPU_SECONDS, MEMORY_MIB, err, sizeof err);
    free(j);
    return done >= 0 ? done : opt_bad(o.prog, "%s", err);
}
