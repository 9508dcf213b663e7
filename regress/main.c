/* main.c - tandem-regress: command line. */
#define _GNU_SOURCE
#include "cli.h"
#include "reports.h"
#include "report/report.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARALLEL_MAX 256
#define DEFAULT_TIMEOUT_S 120
#define DEFAULT_MEMORY_MB 4096

/* The file, or that of one of the designs. */
static bool suite_exists(const options *o, const char *path) {
    const reg_designs *designs = o->expand.designs;
    bool found = o->suite_dir != NULL && access(path, R_OK) == 0;
    for (size_t i = 0; o->suite_dir == NULL && i < designs->count && !found; i++) {
        char below[REG_PATH_MAX];
        char own[REG_PATH_MAX];
        found = (o->expand.design == NULL || o->expand.design == &designs->list[i]) &&
                reg_format(below, sizeof below, "/suites/%s.suite", o->suite) &&
                reg_design_room(&designs->list[i], "designs", below, own, sizeof own) && access(own, R_OK) == 0;
    }
    return found;
}

reg_status cli_suite_path(const options *o, char path[REG_PATH_MAX]) {
    const char *name = o->suite;
    size_t length = strlen(name);
    bool file = strchr(name, '/') != NULL || (length > 6 && strcmp(name + length - 6, ".suite") == 0);
    bool fits = file ? reg_format(path, REG_PATH_MAX, "%s", name)
                     : reg_format(path, REG_PATH_MAX, "%s%s%s.suite", o->suite_dir != NULL ? o->suite_dir : "",
                                  o->suite_dir != NULL ? "/" : REG_ALL_DESIGNS, name);
    if (!fits) {
        return cli_usage("--suite %s: too long", name);
    }
    if (!file && !suite_exists(o, path)) {
        return reg_refuse("suite \"%s\" is unknown: no %s (tandem-regress list shows the suites)", name, path);
    }
    return REG_OK;
}

reg_status cli_load_suite(const options *o, reg_suite *suite, char path[REG_PATH_MAX]) {
    reg_status status = cli_suite_path(o, path);
    return status == REG_OK ? reg_suite_load(suite, path, &o->expand) : status;
}

/* Flush stdout and report write errors such as a full disk. */
int cli_close_output(int status) {
    return rep_flush() || status != REG_OK ? status : REG_FAIL;
}

/* Write the reports that the command line requests. */
bool cli_page_dir(const options *o, reg_db *db, int64_t run, char path[REG_PATH_MAX]) {
    reg_run_info info;
    return o->report && reg_db_load_run(db, run, &info) == REG_OK && reg_report_dir(info.out_dir, path, REG_PATH_MAX);
}

bool cli_has_files(const options *o) {
    return o->junit != NULL || o->html != NULL || o->sarif != NULL || o->summary_json != NULL || o->report;
}

unsigned cli_write_files(const options *o, reg_db *db, int64_t run) {
    char figures[REG_PATH_MAX];
    char path[REG_PATH_MAX];
    unsigned missing = 0;
    const bool fits = reg_format(figures, sizeof figures, "%s%s", o->figures != NULL ? o->figures : o->build_dir,
                                 o->figures != NULL ? "" : "/figures.json");
    if (o->junit != NULL && reg_junit_write(db, run, o->junit) != REG_OK) {
        missing |= CLI_JUNIT;
    }
    if (o->sarif != NULL && reg_sarif_write(db, run, o->source_dir, o->sarif) != REG_OK) {
        missing |= CLI_SARIF;
    }
    if (o->summary_json != NULL && reg_summary_write(db, run, o->summary_json) != REG_OK) {
        missing |= CLI_SUMMARY;
    }
    if (!fits) {
        (void)cli_usage("--figures %s: too long", o->figures != NULL ? o->figures : o->build_dir);
    }
    if (o->html != NULL && (!fits || reg_html_write(db, run, o->html, figures) != REG_OK)) {
        missing |= CLI_HTML;
    }
    if (cli_page_dir(o, db, run, path) && (!fits || reg_html_write(db, run, path, figures) != REG_OK)) {
        missing |= CLI_PAGES;
    }
    return missing;
}

int cli_open_known_db(const options *o, reg_db *db) {
    char path[REG_PATH_MAX];
    bool fits = o->db != NULL ? reg_format(path, sizeof path, "%s", o->db)
                              : reg_format(path, sizeof path, "%s/results.db", o->build_dir);
    return fits && access(path, F_OK) != 0 ? REG_NONE : cli_open_db(o, db, false);
}

static int db_path(const options *o, char path[REG_PATH_MAX]) {
    const bool fits = o->db != NULL ? reg_format(path, REG_PATH_MAX, "%s", o->db)
                                    : reg_format(path, REG_PATH_MAX, "%s/results.db", o->build_dir);
    return fits ? REG_OK : (int)cli_usage("--db %s: too long", o->db != NULL ? o->db : o->build_dir);
}

int cli_recover(options *o) {
    char path[REG_PATH_MAX];
    const int status = db_path(o, path);
    return status != REG_OK
               ? status
               : cli_close_output(reg_recover(path, o->build_dir, o->positional, o->positionals, o->check));
}

int cli_open_db(const options *o, reg_db *db, bool create) {
    char path[REG_PATH_MAX];
    const int fits = db_path(o, path);
    if (fits != REG_OK) {
        return fits;
    }
    char *slash = strrchr(path, '/');
    if (create && slash != NULL && slash != path) {
        *slash = '\0';
        if (reg_make_dirs(path) != REG_OK) {
            return REG_FAIL;
        }
        *slash = '/';
    }
    return reg_db_open(db, path, create);
}

#define COMMANDS "run, list, targets, report, diff, query, coverage, qualify, failure, gc, verify, recover or node"
static const struct {
    const char *name;
    int (*run)(options *o);
} commands[] = {{"run", cli_run},           {"list", cli_list},     {"targets", cli_targets},
                {"report", cli_report},     {"diff", cli_diff},     {"query", cli_query},
                {"coverage", cli_coverage}, {"gc", cli_gc},         {"qualify", cli_qualify},
                {"failure", cli_failure},   {"verify", cli_verify}, {"recover", cli_recover},
                {"node", cli_node}};

/*
 * Memory of libjansson (2.14), whose reader ends the process by an assertion when it gets none. What malloc() refuses,
 * and notes, comes from a reserve that is never used again.
 */
static _Alignas(16) char spare[1 << 20];

static void *json_alloc(size_t size) {
    static size_t used;
    const size_t whole = (size + 15) & ~(size_t)15;
    void *memory = malloc(size);
    if (memory == NULL && whole <= sizeof spare - used) {
        memory = spare + used;
        used += whole;
    }
    return memory;
}

static void json_free(void *memory) {
    const char *at = memory;
    if (at < spare || at >= spare + sizeof spare) {
        free(memory);
    }
}

int main(int argc, char **argv) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    options o = {.build_dir = "build",
                 .source_dir = "rtl",
                 .parallel = processors < 1              ? 1
                             : processors > PARALLEL_MAX ? PARALLEL_MAX
                                                         : (uint32_t)processors,
                 .limit = 20,
                 .sample = 20,
                 .gc = {.keep_runs = -1, .keep_days = -1, .max_mib = -1},
                 .explain_time = 60,
                 .shard = 1,
                 .shards = 1,
                 .slurm = {.shard_s = 60, .poll_s = 5, .silence_s = 60, .cpus = 1},
                 .expand = {.kind = "fast", .timeout_s = DEFAULT_TIMEOUT_S, .memory_mb = DEFAULT_MEMORY_MB}};
    static char name[] = "tandem-regress";
    program_invocation_name = name; /* of rep_flush() */
    json_set_alloc_funcs(json_alloc, json_free);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_print_help();
            return cli_close_output(REG_OK);
        }
    }
    if (argc < 2) {
        return cli_usage("expected a command: " COMMANDS "%s", "");
    }
    /* A file size limit is reported as a failed write, not by a signal. */
    (void)signal(SIGXFSZ, SIG_IGN);
    /* A closed output pipe does not end the run: its results still reach the database. */
    (void)signal(SIGPIPE, SIG_IGN);
    reg_designs designs;
    o.expand.designs = &designs;
    int status = reg_designs_load(&designs);
    status = status == REG_OK ? (int)cli_parse(&o, argc, argv) : (int)REG_USAGE;
    for (size_t i = 0; status == REG_OK; i++) {
        if (i == sizeof commands / sizeof commands[0]) {
            status = cli_usage("command \"%s\" is unknown: expected " COMMANDS, argv[1]);
        } else if (strcmp(argv[1], commands[i].name) == 0) {
            status = commands[i].run(&o);
            break;
        }
    }
    reg_designs_free(&designs);
    return rep_end(status);
}
