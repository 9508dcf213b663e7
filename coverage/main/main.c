/* main.c - tandem-cov: coverage files are merged, reported, compared, ranked and checked against thresholds
 * (docs/coverage.md). */
#include "code_tool.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

enum { MERGE = 1, REPORT = 2, DIFF = 4, RANK = 8, PLAN = 16, GATE = 32, SUMMARY = 64, INDEX = 128 };

typedef struct command {
    const char *name, *usage, *about;
    uint32_t least, most; /* files */
    unsigned set;         /* its bit in the table of options */
    int (*run)(const tool *t);
} command;

static const command commands[] = {
    {"merge", "merge -o OUT [--like FILE] FILES...",
     "add up files; --like: keep the shape of FILE, and name what is stale", 1, UINT32_MAX, MERGE, tool_merge},
    {"report", "report FILE [--text | --json] [--html DIR]",
     "print scores, holes with hints, illegal hits, ignored bins with the reason", 1, 1, REPORT, tool_report},
    {"diff", "diff A B [--json]", "list bins and cells that only one of them covers", 2, 2, DIFF, tool_diff},
    {"rank", "rank FILES... [-o SUITE] [--json]",
     "find the fewest files with the coverage of all; write them as lines of a suite", 1, UINT32_MAX, RANK, tool_rank},
    {"plan",
     "plan FILE --cfg CFG [--kind KIND] [--jobs 20] [--cases 5] [--round 1] [--random 20] [--tried FILE] [--give-up 5] "
     "[-o SUITE]",
     "plan jobs whose pins aim at the holes of FILE, as lines of a suite; --random: percent of jobs without pins", 1, 1,
     PLAN, tool_plan},
    {"gate", "gate FILE --thresholds T [--json]",
     "compare with thresholds, exit status 1 below one: lines 'total 95', 'GROUP 90', 'GROUP.POINT 100', 'illegal 0'",
     1, 1, GATE, tool_gate},
    {"summary", "summary FILE [--code JSON] [-o OUT] [--json]",
     "print functional and code coverage in a few lines; OUT: figures for tandem-regress coverage", 1, 1, SUMMARY,
     tool_summary},
    {"index", "index FILE -o OUT.html [--code JSON] [--trend JSON] [--gates JSON]",
     "write the page over the folders functional and code beside it", 1, 1, INDEX, tool_index},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

int tool_error(const tool *t, const char *text) {
    fprintf(stderr, "%s: %s\n", t->prog, text);
    return 1;
}

int tool_refuse(const tool *t, const char *what, const char *arg) {
    fprintf(stderr, "%s: %s%s%s\n", t->prog, what, arg[0] == '\0' ? "" : ": ", arg);
    return 2;
}

static int add_file(void *ctx, const char *word, char *err, size_t err_size) {
    tool *t = (tool *)ctx;
    (void)err;
    (void)err_size;
    t->files[t->file_count++] = (char *)(uintptr_t)word;
    return 0;
}

/* Options, for a command (0: for the help of all of them). */
static int parse_or_help(tool *t, const command *c, int argc, char **argv, FILE *help) {
    char err[256];
    bool text = false;
    bool given[10] = {false};
    const opt_row rows[] = {
        OPT(TEXT, "-o", "OUT", "the file to write", &t->output, .sets = MERGE | RANK | PLAN | SUMMARY | INDEX,
            .given = &given[0]),
        OPT(TEXT, "--like", "FILE", "merge: keep the shape of FILE", &t->like, .sets = MERGE, .given = &given[1]),
        OPT(TEXT, "--html", "DIR", "report: pages", &t->html, .sets = REPORT, .given = &given[2]),
        OPT(TEXT, "--thresholds", "T", "gate: the thresholds", &t->thresholds, .sets = GATE, .given = &given[3]),
        OPT(TEXT, "--code", "JSON", "summary, index: of `tandem-cov code report`", &t->code, .sets = SUMMARY | INDEX,
            .given = &given[4]),
        OPT(TEXT, "--trend", "JSON", "index: of `tandem-regress query coverage`", &t->trend, .sets = INDEX,
            .given = &given[5]),
        OPT(TEXT, "--gates", "JSON", "index: an array of what gates printed", &t->gates, .sets = INDEX,
            .given = &given[6]),
        OPT(FLAG, "--json", NULL, "JSON instead of text", &t->json, .sets = REPORT | DIFF | RANK | GATE | SUMMARY),
        OPT(FLAG, "--text", NULL, "text, as without it", &text, .sets = REPORT | DIFF | RANK | GATE | SUMMARY),
        OPT(TEXT, "--cfg", "CFG", "plan: the configuration of its jobs", &t->plan.cfg, .sets = PLAN,
            .given = &given[7]),
        OPT(TEXT, "--kind", "KIND", "plan: their kind of build", &t->plan.kind, .sets = PLAN, .given = &given[8]),
        OPT(TEXT, "--tried", "FILE", "plan: attempts of earlier plans", &t->plan.tried, .sets = PLAN,
            .given = &given[9]),
        OPT(U32, "--jobs", "N", "plan: jobs (20)", &t->plan.jobs, .sets = PLAN, .lo = 1, .hi = 100000),
        OPT(U32, "--cases", "N", "plan: cases of a job (5)", &t->plan.cases, .sets = PLAN, .lo = 1, .hi = 1000000),
        OPT(U32, "--round", "N", "plan: number of the plan, other cases in each (1)", &t->plan.round, .sets = PLAN,
            .hi = 1000000),
        OPT(U32, "--random", "N", "plan: percent of jobs without pins (20)", &t->plan.random, .sets = PLAN, .hi = 100),
        OPT(U32, "--give-up", "N", "plan: tries of a bin (5)", &t->plan.give_up, .sets = PLAN, .lo = 1, .hi = 1000)};
    const opt_group group = OPT_GROUP("options", rows);
    opt_line line = {
        .group = &group, .groups = 1, .set = c != NULL ? c->set : 0, .once = true, .word = add_file, .ctx = t};
    if (help != NULL) {
        opt_help(help, &line);
        return 0;
    }
    if (opt_parse(&line, argc - 2, argv + 2, err, sizeof err) != 0) {
        return tool_refuse(t, err, "");
    }
    if (t->file_count < c->least || t->file_count > c->most || ((c->set & (MERGE | INDEX)) != 0 && t->output == NULL) ||
        (c->set == GATE && t->thresholds == NULL)) {
        return tool_refuse(t, "usage", c->usage);
    }
    return 0;
}

static void usage(FILE *out) {
    tool nothing = {0};
    fputs("tandem-cov: functional coverage files\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  tandem-cov %s\n      %s\n", commands[i].usage, commands[i].about);
    }
    fputs("  tandem-cov code COMMAND ...\n      code coverage: lines, branches, toggles (tandem-cov code --help)\n",
          out);
    fputs("\n", out);
    (void)parse_or_help(&nothing, NULL, 0, NULL, out);
    fputs("\nExit status: 0; 1: below a threshold, or a file that cannot be used; 2: wrong arguments;\n"
          "3: the machine refused memory, space or the like.\n",
          out);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv) {
    tool t = {.prog = argc > 0 ? argv[0] : "tandem-cov",
              .plan = {.jobs = 20, .cases = 5, .round = 1, .random = 20, .give_up = 5}};
    const command *c = NULL;
    if (argc > 1 && strcmp(argv[1], "code") == 0) {
        return tool_code(argc, argv);
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            usage(stdout);
            return rep_end(0);
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
        return rep_end(tool_error(&t, "out of memory"));
    }
    int status = parse_or_help(&t, c, argc, argv, NULL);
    if (status == 0) {
        if (c->run == tool_rank || c->run == tool_merge) {
            qsort(t.files, t.file_count, sizeof *t.files, by_name);
        }
        status = c->run(&t);
    }
    free(t.files);
    return rep_end(status);
}
