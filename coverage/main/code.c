/* code.c - tandem-cov code: the commands about code coverage (docs/coverage-code.md). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code_tool.h"
#include "opt/opt.h"

enum { MERGE = 1, GCOV = 2, REPORT = 4, INFO = 8, COBERTURA = 16, HTML = 32, GATE = 64, USER = 128 };

typedef struct command {
    const char *name, *usage, *about;
    uint32_t least, most;
    unsigned set; /* its bit in the table of options */
    int (*run)(const code_options *o);
} command;

static int fail(const code_options *o, const cov_error *err) {
    fprintf(stderr, "%s: %s\n", o->prog, err->text);
    return 1;
}

static int told(const code_options *o, const code_data *data) {
    printf("%s: %" PRIu64 " files, %zu points\n", o->output, data->files, data->count);
    return 0;
}

static int run_merge(const code_options *o) {
    code_data data;
    cov_error err;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned threads = o->threads > 0 ? (unsigned)o->threads : cores > 0 ? (unsigned)cores : 1;
    int rc = code_merge(&data, o->files, o->file_count, threads, &err);
    rc = rc == COV_OK ? code_write(&data, o->output, &err) : rc;
    const int status = rc == COV_OK ? told(o, &data) : fail(o, &err);
    code_free(&data);
    return status;
}

static int run_gcov(const code_options *o) {
    code_data data;
    cov_error err;
    int rc = code_run_gcov(&data, o->source, o->files[0], o->only, &err);
    rc = rc == COV_OK ? code_write(&data, o->output, &err) : rc;
    const int status = rc == COV_OK ? told(o, &data) : fail(o, &err);
    code_free(&data);
    return status;
}

/* Open the file, run a command on its contents. */
static int with_view(const code_options *o, int (*fn)(const code_options *o, const code_view *view)) {
    code_view view;
    cov_error err;
    if (code_view_open(&view, o, &err) != COV_OK) {
        return fail(o, &err);
    }
    const int status = fn(o, &view);
    code_view_close(&view);
    return status;
}

typedef struct export {
    const code_options *o;
    const code_view *view;
    int (*fn)(const code_options *o, const code_view *view, FILE *out);
}
export;

static void put_export(FILE *out, const void *ctx) {
    const export *e = ctx;
    (void)e->fn(e->o, e->view, out);
}

static int export_file(const code_options *o, const code_view *view,
                       int (*fn)(const code_options *, const code_view *, FILE *)) {
    export e = {o, view, fn};
    cov_error err;
    return tool_write("", o->output, put_export, &e, &err) == COV_OK ? 0 : fail(o, &err);
}

static int export_info(const code_options *o, const code_view *view) {
    return export_file(o, view, code_tool_info);
}

static int export_cobertura(const code_options *o, const code_view *view) {
    return export_file(o, view, code_tool_cobertura);
}

static int export_html(const code_options *o, const code_view *view) {
    cov_error err;
    return code_tool_html(view, o->source, o->output, &err) == COV_OK ? 0 : fail(o, &err);
}

static int run_report(const code_options *o) {
    return with_view(o, code_tool_report);
}
static int run_info(const code_options *o) {
    return with_view(o, export_info);
}
static int run_cobertura(const code_options *o) {
    return with_view(o, export_cobertura);
}
static int run_html(const code_options *o) {
    return with_view(o, export_html);
}
static int run_gate(const code_options *o) {
    return with_view(o, code_tool_gate);
}
static int run_user(const code_options *o) {
    return with_view(o, code_tool_user);
}

static const command commands[] = {
    {"merge", "merge -o OUT.code [-j N] FILES...", "add files of Verilator (.dat) and own ones", 1, UINT32_MAX, MERGE,
     run_merge},
    {"gcov", "gcov -o OUT.code [--root DIR] [--only DIR,DIR] BUILDDIR",
     "what gcov counted in the objects below BUILDDIR", 1, 1, GCOV, run_gcov},
    {"report", "report FILE [--waivers F] [--explain F] [--json] [--holes N] [--source DIR] [--modules DIR]",
     "lines, branches and toggles by unit, before and after waivers, holes with explanations", 1, 1, REPORT,
     run_report},
    {"info", "info FILE -o X.info", "a tracefile of lcov, with branches", 1, 1, INFO, run_info},
    {"cobertura", "cobertura FILE -o X.xml [--source DIR]", "XML of Cobertura", 1, 1, COBERTURA, run_cobertura},
    {"html", "html FILE -o DIR [--source DIR] [--waivers F] [--explain F]", "pages: all files, and the lines of each",
     1, 1, HTML, run_html},
    {"gate", "gate FILE --thresholds T [--waivers F] [--explain F] [--source DIR] [--json]",
     "exit status 1 below a threshold ('line 97', 'branch.dma 95', 'waived 3', 'unexplained 0') or with a stale waiver",
     1, 1, GATE, run_gate},
    {"user", "user FILE -o OUT.cov [--source DIR]", "cover properties as functional coverage", 1, 1, USER, run_user},
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static int add_file(void *ctx, const char *word, char *err, size_t err_size) {
    code_options *o = (code_options *)ctx;
    (void)err;
    (void)err_size;
    o->files[o->file_count++] = (char *)(uintptr_t)word;
    return 0;
}

/* Options, for a command; with `help` those of all commands are printed. */
static int parse_or_help(code_options *o, const command *c, int argc, char **argv, FILE *help) {
    const unsigned view = REPORT | HTML | GATE, paths = view | INFO | COBERTURA | USER;
    char err[256];
    bool given[9] = {false};
    const opt_row rows[] = {
        OPT(TEXT, "-o", "OUT", "the file or folder to write", &o->output, .sets = ~(unsigned)(REPORT | GATE),
            .given = &given[0]),
        OPT(TEXT, "--source", "DIR", "the folder that paths of sources begin in (.)", &o->source, .sets = paths,
            .given = &given[1]),
        OPT(TEXT, "--root", "DIR", "gcov: the same", &o->source, .sets = GCOV, .given = &given[1]),
        OPT(TEXT, "--only", "DIR,DIR", "gcov: sources below these folders", &o->only, .sets = GCOV, .given = &given[2]),
        OPT(TEXT, "--waivers", "F", "reviewed points that count as covered", &o->waivers, .sets = view,
            .given = &given[3]),
        OPT(TEXT, "--explain", "F", "explanations of holes", &o->reasons, .sets = view, .given = &given[4]),
        OPT(TEXT, "--modules", "DIR", "modules that must have points (rtl)", &o->modules, .sets = paths,
            .given = &given[5]),
        OPT(TEXT, "--thresholds", "T", "gate: the thresholds", &o->thresholds, .sets = GATE, .given = &given[6]),
        OPT(U64, "--holes", "N", "report: at most N holes, 0: all (40)", &o->holes, .sets = REPORT, .given = &given[7],
            .hi = 1000000),
        OPT(FLAG, "--json", NULL, "report, gate: JSON instead of text", &o->json, .sets = REPORT | GATE),
        OPT(U64, "-j", "N", "merge: threads (one for each processor)", &o->threads, .sets = MERGE, .given = &given[8],
            .hi = 1000000)};
    const opt_group group = OPT_GROUP("options", rows);
    opt_line line = {
        .group = &group, .groups = 1, .set = c != NULL ? c->set : 0, .once = true, .word = add_file, .ctx = o};
    if (help != NULL) {
        opt_help(help, &line);
        return 0;
    }
    if (opt_parse(&line, argc - 3, argv + 3, err, sizeof err) != 0) {
        fprintf(stderr, "%s code: %s\n", o->prog, err);
        return 2;
    }
    if (o->file_count < c->least || o->file_count > c->most || ((c->set & (REPORT | GATE)) == 0 && o->output == NULL) ||
        (c->set == GATE && o->thresholds == NULL)) {
        fprintf(stderr, "%s code: usage: %s\n", o->prog, c->usage);
        return 2;
    }
    return 0;
}

static void usage(FILE *out) {
    code_options nothing = {0};
    fputs("tandem-cov code: code coverage files\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  tandem-cov code %s\n      %s\n", commands[i].usage, commands[i].about);
    }
    fputs("\n", out);
    (void)parse_or_help(&nothing, NULL, 0, NULL, out);
    fputs("\nExit status: 0; 1: below a threshold, a stale waiver, or a file that cannot be used; 2: wrong arguments;\n"
          "3: the machine refused memory, space or the like.\n",
          out);
}

int tool_code(int argc, char **argv) {
    code_options o = {.prog = argv[0], .source = ".", .holes = 40};
    const command *c = NULL;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            usage(stdout);
            return rep_end(0);
        }
    }
    for (size_t i = 0; i < COMMANDS && argc > 2; i++) {
        c = strcmp(argv[2], commands[i].name) == 0 ? &commands[i] : c;
    }
    if (c == NULL) {
        usage(stderr);
        return 2;
    }
    o.files = calloc((size_t)argc, sizeof *o.files);
    if (o.files == NULL) {
        fprintf(stderr, "%s: out of memory\n", o.prog);
        return rep_end(1);
    }
    int status = parse_or_help(&o, c, argc, argv, NULL);
    status = status == 0 ? c->run(&o) : status;
    free(o.files);
    return rep_end(status);
}
