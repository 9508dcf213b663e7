/* code.c - tandem-cov code: the commands about code coverage (docs/coverage-code.md). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code_tool.h"

typedef struct command {
    const char *name, *usage, *about;
    uint32_t least, most;
    const char *options; /* letters of those that it takes */
    const char *needs;   /* and of those that it must have */
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

/* Open the file, run a command on what it holds. */
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

static int export_file(const code_options *o, const code_view *view, int (*fn)(const code_options *, const code_view *, FILE *)) {
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

/* o output, s source, w waivers, e explanations, t thresholds, n only, m modules, j threads, h holes, J json */
static const command commands[] = {
    {"merge", "merge -o OUT.code [-j N] FILES...", "add files of Verilator (.dat) and own ones", 1, UINT32_MAX, "oj", "o", run_merge},
    {"gcov", "gcov -o OUT.code [--root DIR] [--only DIR,DIR] BUILDDIR", "what gcov counted in the objects below BUILDDIR", 1, 1, "osn", "o",
     run_gcov},
    {"report", "report FILE [--waivers F] [--explain F] [--json] [--holes N] [--source DIR] [--modules DIR]",
     "lines, branches and toggles by unit, before and after waivers, what is missing and why", 1, 1, "swemhJ", "", run_report},
    {"info", "info FILE -o X.info", "a tracefile of lcov, with branches", 1, 1, "osm", "o", run_info},
    {"cobertura", "cobertura FILE -o X.xml [--source DIR]", "XML of Cobertura", 1, 1, "osm", "o", run_cobertura},
    {"html", "html FILE -o DIR [--source DIR] [--waivers F] [--explain F]", "pages: all files, and the lines of each", 1, 1, "oswem", "o",
     run_html},
    {"gate", "gate FILE --thresholds T [--waivers F] [--explain F] [--source DIR] [--json]",
     "exit status 1 below a threshold ('line 97', 'branch.dma 95', 'waived 3', 'unexplained 0') or with a stale waiver", 1, 1, "swetmJ",
     "t", run_gate},
    {"user", "user FILE -o OUT.cov [--source DIR]", "cover properties as functional coverage", 1, 1, "osm", "o", run_user},
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void usage(FILE *out) {
    fputs("tandem-cov code: code coverage files\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  tandem-cov code %s\n      %s\n", commands[i].usage, commands[i].about);
    }
    fputs("\nExit status: 0; 1: below a threshold, a stale waiver, or a file that cannot be used; 2: wrong arguments.\n", out);
}

static int refuse(const code_options *o, const char *what, const char *arg) {
    fprintf(stderr, "%s code: %s: %s\n", o->prog, what, arg);
    return 2;
}

static const struct {
    const char *name;
    char letter;
} option_names[] = {{"-o", 'o'},        {"--source", 's'},  {"--root", 's'}, {"--waivers", 'w'}, {"--thresholds", 't'}, {"--only", 'n'},
                    {"--modules", 'm'}, {"--explain", 'e'}, {"-j", 'j'},     {"--holes", 'h'},   {"--json", 'J'}};

/* An option's value into its place. false: it is no number where one is expected. */
static bool set(code_options *o, char letter, const char *value) {
    static const char letters[] = "oswtnme";
    const char **const texts[] = {&o->output, &o->source, &o->waivers, &o->thresholds, &o->only, &o->modules, &o->reasons};
    const char *found = strchr(letters, letter);
    if (found != NULL) {
        *texts[found - letters] = value;
        return value[0] != '\0';
    }
    char *end = NULL;
    const unsigned long number = strtoul(value, &end, 10);
    *(letter == 'j' ? &o->threads : &o->holes) = number;
    return value[0] >= '0' && value[0] <= '9' && *end == '\0' && number <= 1000000;
}

static int parse(code_options *o, const command *c, int argc, char **argv) {
    char given[16] = "";
    for (int i = 3; i < argc; i++) {
        char letter = '\0';
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            o->files[o->file_count++] = argv[i];
            continue;
        }
        for (size_t k = 0; k < sizeof option_names / sizeof option_names[0]; k++) {
            letter = strcmp(argv[i], option_names[k].name) == 0 ? option_names[k].letter : letter;
        }
        if (letter == '\0' || strchr(c->options, letter) == NULL) {
            return refuse(o, "unknown option", argv[i]);
        }
        if (letter == 'J') {
            o->json = true;
            continue;
        }
        if (strchr(given, letter) != NULL || i + 1 == argc || !set(o, letter, argv[i + 1])) {
            return refuse(o, strchr(given, letter) != NULL ? "option given twice" : "option without a value that it can use", argv[i]);
        }
        given[strlen(given)] = letter;
        i++;
    }
    if (o->file_count < c->least || o->file_count > c->most || strspn(c->needs, given) != strlen(c->needs)) {
        return refuse(o, "usage", c->usage);
    }
    return 0;
}

int tool_code(int argc, char **argv) {
    code_options o = {.prog = argv[0], .source = ".", .holes = 40};
    const command *c = NULL;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            usage(stdout);
            return fflush(stdout) == 0 ? 0 : 1;
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
        return 1;
    }
    int status = parse(&o, c, argc, argv);
    status = status == 0 ? c->run(&o) : status;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: stdout: cannot be written\n", o.prog);
        status = 1;
    }
    free(o.files);
    return status;
}
