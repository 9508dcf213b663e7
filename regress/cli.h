/* cli.h - the command line of tandem-regress (private to its main program). */
#ifndef REG_CLI_H
#define REG_CLI_H

#include "design.h"
#include "slurm.h"

typedef struct options {
    const char *suite;
    const char *seed;
    const char *run;
    const char *job;
    const char *db;
    const char *out;
    const char *coverage; /* folder for the coverage of the jobs, or NULL */
    const char *build_dir;
    const char *suite_dir; /* NULL: the folders of the designs */
    const char *junit;
    const char *html;
    const char *sarif;
    const char *summary_json;
    const char *figures;    /* NULL: BUILD_DIR/figures.json */
    const char *source_dir; /* of the design */
    const char *launcher;   /* NULL: local, or that of the run */
    const char *build;      /* command that builds programs, or NULL: they are there */
    reg_slurm_asked slurm;
    const char *positional[3];
    int positionals;
    uint32_t parallel;
    uint64_t seed_value;
    bool fail_fast;
    bool print_jobs;
    bool resume;
    bool report; /* write the pages into OUT/report */
    bool json;
    bool all, sample_given; /* verify */
    uint32_t sample;        /* jobs to run again */
    const char *kind;       /* as it was given, or NULL; expand has the default */
    uint32_t count;         /* jobs to draw, 0: all */
    uint32_t budget;        /* seconds to fill, 0: as long as it takes */
    uint32_t explain;       /* signatures to explain */
    uint32_t explain_time;  /* seconds for them */
    bool check;             /* recover: only look */
    uint32_t shard, shards;
    reg_gc_plan gc;
    uint32_t limit;          /* rows of a query */
    const char *list_option; /* an option that selects jobs, or NULL: a resumed run already has its list */
    reg_suite_options expand;
    char cfg[128]; /* ",n4,n8," */
} options;

/* "tandem-regress: <text> (see ...)"; REG_USAGE. fmt has one %s for word. */
reg_status cli_usage(const char *fmt, const char *word) __attribute__((format(printf, 1, 0)));

/* Options after the command word. An error is printed. */
reg_status cli_parse(options *o, int argc, char **argv);
void cli_print_help(void);

/* The file behind --suite: NAME is one of the suite folder. */
reg_status cli_suite_path(const options *o, char path[REG_PATH_MAX]);
/* That file, read and expanded. */
reg_status cli_load_suite(const options *o, reg_suite *suite, char path[REG_PATH_MAX]);
/* REG_NONE: it does not exist (nothing is printed). */
int cli_open_known_db(const options *o, reg_db *db);
int cli_open_db(const options *o, reg_db *db, bool create);
/* Does the command line request report files? */
bool cli_has_files(const options *o);
/* The folder of --report; false when it is not requested. */
bool cli_page_dir(const options *o, reg_db *db, int64_t run, char path[REG_PATH_MAX]);
/* Write the reports that the command line requests; a bit for each that could not be written (a line was printed). */
enum { CLI_JUNIT = 1, CLI_SARIF = 2, CLI_SUMMARY = 4, CLI_HTML = 8, CLI_PAGES = 16 };
unsigned cli_write_files(const options *o, reg_db *db, int64_t run);
/* Flush stdout and report write errors such as a full disk. */
int cli_close_output(int status);

/* Commands; exit status. */
int cli_run(options *o);
int cli_list(options *o);
int cli_targets(options *o);
int cli_report(options *o);
int cli_diff(options *o);
int cli_query(options *o);
int cli_gc(options *o);
int cli_recover(options *o);
int cli_coverage(options *o);
int cli_qualify(options *o);
int cli_failure(options *o);
int cli_node(options *o);
int cli_verify(options *o);

#endif
