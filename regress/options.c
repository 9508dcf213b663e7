/* options.c - the command line: options and their values. */
#define _GNU_SOURCE
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"

#define PARALLEL_MAX 256u

static const char commands_text[] = "tandem-regress - run lists of verification jobs, keep their results\n"
                                    "\n"
                                    "  tandem-regress run --suite NAME|FILE [options]  run a suite or a list of jobs\n"
                                    "  tandem-regress run --resume [RUN] [options]     run the jobs that a run missed\n"
                                    "  tandem-regress list [NAME|FILE] [options]       list suites, or a suite's jobs\n"
                                    "  tandem-regress targets --suite NAME|FILE        list the programs it needs\n"
                                    "  tandem-regress report [--run N]                 print everything about a run\n"
                                    "  tandem-regress diff RUN1 RUN2                   compare two runs\n"
                                    "  tandem-regress query [QUESTION [TEST]]          query the database (without\n"
                                    "                                                  QUESTION: list the questions)\n"
                                    "  tandem-regress coverage FILE [--run N]          store the coverage of a run:\n"
                                    "                                                  FILE is of tandem-cov summary\n"
                                    "  tandem-regress qualify FILE                     store a score of make qualify\n"
                                    "  tandem-regress verify RUN [--sample N | --all]  check a sign-off: seal and\n"
                                    "                                                  programs; run jobs again\n"
                                    "  tandem-regress recover [DIR..] [--check]        rebuild the database from\n"
                                    "                                                  folders of runs\n"
                                    "\n";
static const char end_text[] = "\n"
                               "Exit status: 0 all passed, 1 something failed or nothing ran, 2 bad usage,\n"
                               "3 the machine refused memory, space or the like.\n"
                               "docs/regress.md describes suites, outcomes and the database.\n";

reg_status cli_usage(const char *fmt, const char *word) {
    char text[REG_TEXT_MAX];
    (void)reg_format(text, sizeof text, fmt, word);
    return reg_refuse("%s (see tandem-regress --help)", text);
}

/* Configurations, as jobs call them or as their design does; without any design here no name is known, so all are
 * taken. */
static int take_cfg(void *to, const char *value, char *err, size_t err_size) {
    options *o = (options *)to;
    const reg_designs *designs = o->expand.designs;
    char expected[160] = "";
    if (!reg_format(o->cfg, sizeof o->cfg, ",%s,", value)) {
        return opt_fail(err, err_size, "'%.60s' is too long", value);
    }
    const char *part = value;
    for (size_t length = strcspn(part, ","); designs->count > 0; part += length + 1, length = strcspn(part, ",")) {
        bool known = false;
        for (size_t d = 0; d < designs->count && !known; d++) {
            for (size_t c = 0; c < designs->list[d].cfgs && !known; c++) {
                char label[REG_LABEL_MAX];
                const char *name = designs->list[d].cfg[c];
                reg_design_label(&designs->list[d], c, label, sizeof label);
                known = (strlen(label) == length && strncmp(label, part, length) == 0) ||
                        (strlen(name) == length && strncmp(name, part, length) == 0);
            }
        }
        if (!known) {
            reg_design_cfg_list(&designs->list[0], expected, sizeof expected);
            return opt_fail(err, err_size, "expected %s, separated by commas, got '%.60s'", expected, value);
        }
        if (part[length] == '\0') {
            break;
        }
    }
    o->expand.cfg = o->cfg;
    return 0;
}

static int take_design(void *to, const char *value, char *err, size_t err_size) {
    options *o = (options *)to;
    o->expand.design = reg_design_find(o->expand.designs, value);
    if (o->expand.design == NULL) {
        snprintf(err, err_size, "expected a design with a description designs/NAME/design, got '%.60s'", value);
    }
    return o->expand.design == NULL ? -1 : 0;
}

/* i/n */
static int take_shard(void *to, const char *value, char *err, size_t err_size) {
    options *o = (options *)to;
    char copy[32];
    uint64_t i = 0;
    uint64_t n = 0;
    bool good = reg_format(copy, sizeof copy, "%s", value);
    char *slash = good ? strchr(copy, '/') : NULL;
    if (slash != NULL) {
        *slash = '\0';
        good = opt_number(slash + 1, 1, 100000, &n) && opt_number(copy, 1, n, &i);
    }
    if (slash == NULL || !good) {
        return opt_fail(err, err_size, "expected for example 2/5, the second of five parts, got '%.60s'", value);
    }
    o->shard = (uint32_t)i;
    o->shards = (uint32_t)n;
    return 0;
}

/* --resume may have a value, the number of a run. */
static int take_resume(void *to, const char *next, char *err, size_t err_size) {
    options *o = (options *)to;
    uint64_t number = 0;
    (void)err;
    (void)err_size;
    o->resume = true;
    if (next == NULL || !opt_number(next, 0, UINT64_MAX, &number)) {
        return 0;
    }
    o->run = next;
    return 1;
}

static int take_positional(void *ctx, const char *word, char *err, size_t err_size) {
    options *o = (options *)ctx;
    if (o->positionals == 3) {
        return opt_fail(err, err_size, "unexpected argument \"%.60s\"", word);
    }
    o->positional[o->positionals++] = word;
    return 0;
}

/* Options with their groups. Those that select jobs are recorded in `list`. */
typedef struct option_table {
    opt_row row[64];
    opt_group group[8];
    size_t rows, groups;
    bool list[11];
} option_table;

#define ADD_GROUP(TABLE, TITLE, ROWS) add_group(TABLE, (opt_group)OPT_GROUP(TITLE, ROWS))
static void add_group(option_table *table, opt_group group) {
    group.row = (const opt_row *)memcpy(&table->row[table->rows], group.row, group.count * sizeof group.row[0]);
    table->rows += group.count;
    table->group[table->groups++] = group;
}

static void add_jobs(option_table *table, options *t) {
    static const char *const kinds[] = {"fast", "debug", "tap", "cov", "san", NULL};
    bool *list = table->list;
    const opt_row what[] = {
        OPT(TEXT, "--suite", "NAME|FILE", "NAME.suite of each design; with a / or .suite: a file", &t->suite),
        OPT(TEXT, "--seed", "S", "seed of the run (default: the suite's seed line, else 1)", &t->seed),
        OPT(TAKE, "--cfg", "CFG,CFG", "only these configurations", t, .given = &list[0], .take = take_cfg),
        OPT(TAKE, "--design", "NAME", "only this design (default: each has its part of a suite)", t,
            .take = take_design),
        OPT(TEXT, "--kind", "fast", "build for lines without kind= (debug, tap, cov, san)", &t->kind, .given = &list[1],
            .words = kinds),
        OPT(U32, "--timeout", "S", "seconds for lines without timeout= (default 120)", &t->expand.timeout_s,
            .given = &list[2], .lo = 1, .hi = 86400),
        OPT(U32, "--memory", "MB",
            "address space for lines without memory= (default 4096,\n"
            "0: any; there is no limit for kind san)",
            &t->expand.memory_mb, .given = &list[3], .hi = 1048576),
        OPT(U32, "--count", "N", "draw N jobs of the suite, by weight= and seed", &t->count, .given = &list[4], .lo = 1,
            .hi = 1000000),
        OPT(U32, "--budget", "S", "draw jobs until their last times fill S seconds", &t->budget, .given = &list[5],
            .lo = 1, .hi = 604800),
        OPT(TAKE, "--shard", "I/N", "the I-th of N parts of the list", t, .given = &list[6], .take = take_shard),
        OPT(FLAG, "--marked", NULL,
            "only the jobs marked for coverage: cover= jobs, the first\n"
            "code= of them in builds that count lines (kind cov)",
            &t->expand.marked),
        OPT(TEXT, "--coverage", "DIR",
            "test, unit and case jobs write their coverage:\n"
            "DIR/NNNNN.cov, with kind cov also DIR/NNNNN.code",
            &t->coverage, .given = &list[7]),
        OPT(FLAG, "--print-jobs", NULL, "print the expanded list, itself a suite, and run nothing", &t->print_jobs),
        OPT(MAYBE, "--resume", "[RUN]",
            "run the missing jobs of a run (the newest one; with\n"
            "--suite: of that suite), at the same commit",
            t, .take = take_resume),
    };
    ADD_GROUP(table, "what to run", what);
}

static void add_running(option_table *table, options *t) {
    static const char *const launchers[] = {"local", "slurm", NULL};
    const opt_row how[] = {
        OPT(U32, "--jobs", "N", "processes at a time (default: processors)", &t->parallel, .lo = 1, .hi = PARALLEL_MAX),
        OPT(TEXT, "--build", "COMMAND",
            "builds programs while jobs run: reads their paths, prints\n"
            "\"  READY PATH\" for each",
            &t->build),
        OPT(FLAG, "--fail-fast", NULL, "stop at the first failure", &t->fail_fast),
        OPT(U32, "--explain", "N",
            "run one failure of each of the first N signatures again,\n"
            "with a report, and shrink its case (default 0)",
            &t->explain, .hi = 1000),
        OPT(U32, "--explain-time", "S", "limit of that in seconds (default 60)", &t->explain_time, .lo = 1,
            .hi = 86400),
    };
    const opt_row slurm[] = {
        OPT(TEXT, "--launcher", "slurm", "submit job arrays instead of starting processes (local)", &t->launcher,
            .words = launchers),
        OPT(U32, "--shard-seconds", "S", "least expected work of a task (default 60)", &t->slurm.shard_s, .hi = 86400),
        OPT(U32, "--slurm-cpus", "N", "processors of a task, each runs a job (default 1)", &t->slurm.cpus, .lo = 1,
            .hi = PARALLEL_MAX),
        OPT(TEXT, "--slurm-partition", "P", "for sbatch", &t->slurm.partition),
        OPT(TEXT, "--slurm-account", "A", "for sbatch", &t->slurm.account),
        OPT(TEXT, "--slurm-args", "\"WORDS\"", "for sbatch", &t->slurm.args),
        OPT(REAL, "--slurm-poll", "S", "seconds between two queries of Slurm (default 5)", &t->slurm.poll_s,
            .least = 0.1, .most = 3600),
        OPT(U32, "--slurm-silence", "S", "seconds without a heartbeat, after which a task is lost\n(default 60)",
            &t->slurm.silence_s, .lo = 3, .hi = 86400),
    };
    const opt_row write[] = {
        OPT(FLAG, "--report", NULL, "write pages into OUT/report", &t->report),
        OPT(TEXT, "--html", "DIR", "write the same pages into DIR", &t->html),
        OPT(TEXT, "--figures", "FILE",
            "figures of `make figures` that they show (default\n"
            "BUILD_DIR/figures.json)",
            &t->figures),
        OPT(TEXT, "--junit", "FILE", "JUnit XML", &t->junit),
        OPT(TEXT, "--sarif", "FILE", "SARIF 2.1.0: one result for each signature", &t->sarif),
        OPT(TEXT, "--source-dir", "DIR", "folder of the files of units, for SARIF (default rtl)", &t->source_dir),
        OPT(TEXT, "--summary-json", "F", "summary of the run as JSON", &t->summary_json),
    };
    ADD_GROUP(table, "how to run it", how);
    ADD_GROUP(table, "on a Slurm cluster (docs/regress.md)", slurm);
    ADD_GROUP(table, "what to write (run, report)", write);
}

static void add_looking(option_table *table, options *t) {
    bool *list = table->list;
    const opt_row look[] = {
        OPT(TEXT, "--run", "N", "the run (report, query, failure; default: newest)", &t->run),
        OPT(TEXT, "--job", NULL, NULL, &t->job),
        OPT(U32, "--sample", "N", "jobs that verify runs again (default 20), drawn by the seed", &t->sample,
            .given = &t->sample_given, .lo = 1),
        OPT(FLAG, "--all", NULL, "verify: all jobs", &t->all),
        OPT(U32, "--limit", "N", "at most N rows (query; default 20)", &t->limit, .lo = 1),
        OPT(FLAG, "--json", NULL, "tables as JSON (list, report, diff, query, gc)", &t->json),
    };
    const opt_row clean[] = {
        OPT(I64, "--keep-runs", "N", "keep the newest N runs", &t->gc.keep_runs, .hi = UINT32_MAX),
        OPT(I64, "--keep-days", "D", "keep runs that are younger than D days", &t->gc.keep_days, .hi = 100000),
        OPT(I64, "--max-size", "MB", "then remove the oldest until the rest takes at most MB", &t->gc.max_mib,
            .hi = UINT32_MAX),
        OPT(FLAG, "--forget", NULL, "remove them from the database, too", &t->gc.forget),
        OPT(FLAG, "--dry-run", NULL, "only print what would be removed", &t->gc.dry_run),
    };
    const opt_row again[] = {
        OPT(FLAG, "--check", NULL, "only read the whole database and print what is missing", &t->check),
    };
    const opt_row where[] = {
        OPT(TEXT, "--db", "FILE", "results database (default BUILD_DIR/results.db)", &t->db),
        OPT(TEXT, "--out", "DIR", "logs, results, cases (default BUILD_DIR/regress/RUN)", &t->out, .given = &list[8]),
        OPT(TEXT, "--build-dir", "DIR", "where the programs are (default build)", &t->build_dir),
        OPT(TEXT, "--suite-dir", "DIR", "where named suites are (default designs/*/suites)", &t->suite_dir),
        OPT(TEXT, "--unit-dir", "DIR", "folder behind \"unit all\" (default: the design's)", &t->expand.unit_dir,
            .given = &list[9]),
        OPT(TEXT, "--stored-dir", "DIR", "folder behind \"case all\" (default: the design's)", &t->expand.stored_dir,
            .given = &list[10]),
    };
    ADD_GROUP(table, "selection", look);
    ADD_GROUP(table, "what to remove (gc; rows of the database stay, a run that runs does, too)", clean);
    ADD_GROUP(table, "what to bring back (recover)", again);
    ADD_GROUP(table, "where", where);
}

/* With o NULL only the help is needed. */
static int parse_or_help(options *o, int argc, char **argv, char *err, size_t err_size) {
    options scratch = {0};
    options *t = o != NULL ? o : &scratch;
    option_table table = {0};
    add_jobs(&table, t);
    add_running(&table, t);
    add_looking(&table, t);
    opt_line line = {.group = table.group, .groups = table.groups, .word = take_positional, .ctx = o};
    if (o == NULL) {
        opt_help(stdout, &line);
        return 0;
    }
    if (opt_parse(&line, argc - 2, argv + 2, err, err_size) != 0) {
        return -1;
    }
    for (size_t i = 0; i < table.rows; i++) {
        const bool *given = table.row[i].given;
        o->list_option = given != NULL && *given ? table.row[i].name : o->list_option;
    }
    return 0;
}

void cli_print_help(void) {
    fputs(commands_text, stdout);
    (void)parse_or_help(NULL, 0, NULL, NULL, 0);
    fputs(end_text, stdout);
}

reg_status cli_parse(options *o, int argc, char **argv) {
    char err[REG_TEXT_MAX];
    if (parse_or_help(o, argc, argv, err, sizeof err) != 0) {
        return cli_usage("%s", err);
    }
    if (o->kind != NULL) {
        o->expand.kind = o->kind;
    }
    if (o->seed != NULL && !opt_number(o->seed, 0, UINT64_MAX, &o->seed_value)) {
        return cli_usage("--seed %s: expected a number of 64 bits", o->seed);
    }
    return REG_OK;
}
