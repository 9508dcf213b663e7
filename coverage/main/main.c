/* main.c - tandem-cov: coverage files are merged, reported, compared, ranked and held against thresholds (docs/coverage.md). */
#include "code_tool.h"

#include <stdlib.h>
#include <string.h>

typedef struct command {
    const char *name, *usage, *about;
    uint32_t least, most; /* files */
    const char *
        options; /* letters of those that it takes: o output, l like, h html, t thresholds, c code, r trend, g gates, j json, x text, p those of plan */
    int (*run)(const tool *t);
} command;

static const command commands[] = {
    {"merge", "merge -o OUT [--like FILE] FILES...", "add files; --like: keep the shape of FILE, and name what is stale", 1, UINT32_MAX,
     "ol", tool_merge},
    {"report", "report FILE [--text | --json] [--html DIR]", "scores, holes and what would hit them, illegal hits, what is ignored and why",
     1, 1, "hjx", tool_report},
    {"diff", "diff A B [--json]", "what one covers and the other does not", 2, 2, "jx", tool_diff},
    {"rank", "rank FILES... [-o SUITE] [--json]", "the fewest files with the coverage of all, as lines of a suite", 1, UINT32_MAX, "ojx",
     tool_rank},
    {"plan", "plan FILE --cfg CFG [--kind KIND] [--jobs 20] [--cases 5] [--round 1] [--random 20] [--tried FILE] [--give-up 5] [-o SUITE]",
     "jobs whose pins would hit what FILE has not: lines of a suite; --random: percent of jobs without pins", 1, 1, "op", tool_plan},
    {"gate", "gate FILE --thresholds T [--json]",
     "exit status 1 below a threshold: lines 'total 95', 'GROUP 90', 'GROUP.POINT 100', 'illegal 0'", 1, 1, "tjx", tool_gate},
    {"summary", "summary FILE [--code JSON] [-o OUT] [--json]",
     "functional and code coverage in a few lines; OUT: figures for tandem-regress coverage", 1, 1, "cojx", tool_summary},
    {"index", "index FILE -o OUT.html [--code JSON] [--trend JSON] [--gates JSON]",
     "the page over the folders functional and code beside it", 1, 1, "ocrg", tool_index},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static void usage(FILE *out) {
    fputs("tandem-cov: functional coverage files\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  tandem-cov %s\n      %s\n", commands[i].usage, commands[i].about);
    }
    fputs("  tandem-cov code COMMAND ...\n      code coverage: lines, branches, toggles (tandem-cov code --help)\n", out);
    fputs("\nExit status: 0; 1: below a threshold, or a file that cannot be used; 2: wrong arguments.\n", out);
}

int tool_error(const tool *t, const char *text) {
    fprintf(stderr, "%s: %s\n", t->prog, text);
    return 1;
}

int tool_refuse(const tool *t, const char *what, const char *arg) {
    fprintf(stderr, "%s: %s%s%s\n", t->prog, what, arg[0] == '\0' ? "" : ": ", arg);
    return 2;
}

/* The place of an option's value; NULL: it has none. */
static const char **value_of(tool *t, const char *arg, char *letter) {
    const struct {
        const char *name;
        char letter;
        const char **place;
    } values[] = {{"-o", 'o', &t->output},
                  {"--like", 'l', &t->like},
                  {"--html", 'h', &t->html},
                  {"--thresholds", 't', &t->thresholds},
                  {"--code", 'c', &t->code},
                  {"--trend", 'r', &t->trend},
                  {"--gates", 'g', &t->gates},
                  {"--cfg", 'p', &t->plan.cfg},
                  {"--kind", 'p', &t->plan.kind},
                  {"--tried", 'p', &t->plan.tried},
                  {"--jobs", 'p', &t->plan.jobs},
                  {"--cases", 'p', &t->plan.cases},
                  {"--round", 'p', &t->plan.round},
                  {"--random", 'p', &t->plan.random},
                  {"--give-up", 'p', &t->plan.give_up}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (strcmp(arg, values[i].name) == 0) {
            *letter = values[i].letter;
            return values[i].place;
        }
    }
    return NULL;
}

static int parse(tool *t, const command *c, int argc, char **argv) {
    bool plain = false; /* behind "--" all are files */
    for (int i = 2; i < argc; i++) {
        const char *arg = argv[i];
        char letter = '\0';
        if (plain || arg[0] != '-' || arg[1] == '\0') {
            t->files[t->file_count++] = argv[i];
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            plain = true;
            continue;
        }
        const char **value = value_of(t, arg, &letter);
        if (value == NULL) {
            letter = strcmp(arg, "--json") == 0 ? 'j' : strcmp(arg, "--text") == 0 ? 'x' : '\0';
        }
        if (letter == '\0' || strchr(c->options, letter) == NULL) {
            return tool_refuse(t, "unknown option", arg);
        }
        if (value != NULL) {
            if (i + 1 == argc || *value != NULL) {
                return tool_refuse(t, *value != NULL ? "option given twice" : "option without its value", arg);
            }
            *value = argv[++i];
        }
        t->json = t->json || letter == 'j';
    }
    if (t->file_count < c->least || t->file_count > c->most) {
        return tool_refuse(t, "usage", c->usage);
    }
    if (((c->run == tool_merge || c->run == tool_index) && t->output == NULL) || (c->run == tool_gate && t->thresholds == NULL)) {
        return tool_refuse(t, "usage", c->usage);
    }
    return 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv) {
    tool t = {.prog = argc > 0 ? argv[0] : "tandem-cov"};
    const command *c = NULL;
    if (argc > 1 && strcmp(argv[1], "code") == 0) {
        return tool_code(argc, argv);
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            usage(stdout);
            return fflush(stdout) == 0 ? 0 : 1;
        }
    }
    for (size_t i = 0; i < COMMANDS && argc > 1; i++) {
        c = strcmp(argv[1], commands[i].name) == 0 ? &commands[i] : c;
    }
    if (c == NULL) {
        if (argc > 1) {
            return tool_refuse(&t, "unknown command (see --help)", argv[1]);
        }
        usage(stderr);
        return 2;
    }
    t.files = calloc((size_t)argc, sizeof *t.files);
    if (t.files == NULL) {
        return tool_error(&t, "out of memory");
    }
    int status = parse(&t, c, argc, argv);
    if (status == 0) {
        if (c->run == tool_rank || c->run == tool_merge) {
            qsort(t.files, t.file_count, sizeof *t.files, by_name);
        }
        status = c->run(&t);
        if (fflush(stdout) != 0 || ferror(stdout)) {
            status = tool_error(&t, "stdout: cannot be written");
        }
    }
    free(t.files);
    return status;
}
