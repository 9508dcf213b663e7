/* cmd_show.c - the commands that only read: list, targets, report, diff, query; and gc, which removes files. */
#define _GNU_SOURCE
#include "cli.h"
#include "query.h"
#include "reports.h"
#include "opt/opt.h"

#include <string.h>

int cli_targets(options *o) {
    reg_suite suite;
    char path[REG_PATH_MAX];
    if (o->suite == NULL || o->positionals != 0) {
        return cli_usage("targets: expected --suite NAME or --suite FILE%s", "");
    }
    int status = cli_load_suite(o, &suite, path);
    if (status != REG_OK) {
        return status;
    }
    reg_programs programs;
    status = reg_programs_of(&programs, &suite, o->build_dir);
    for (size_t i = 0; status == REG_OK && i < programs.count; i++) {
        printf("%s\n", programs.list[i].path);
    }
    reg_programs_free(&programs);
    reg_suite_free(&suite);
    return status == REG_OK ? cli_close_output(status) : status;
}

int cli_report(options *o) {
    reg_db db;
    int64_t run = 0;
    if (o->positionals != 0) {
        return cli_usage("report: unexpected argument \"%s\"", o->positional[0]);
    }
    int status = cli_open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    status = reg_db_find_run(&db, o->run, &run);
    if (status == REG_OK) {
        status = cli_has_files(o) ? (cli_write_files(o, &db, run) == 0 ? REG_OK : REG_FAIL)
                                  : reg_report_print(&db, run, o->json, stdout);
    }
    reg_db_close(&db);
    return status == REG_OK ? cli_close_output(status) : status;
}

int cli_coverage(options *o) {
    reg_db db;
    int64_t run = 0;
    if (o->positionals != 1) {
        return cli_usage("coverage: expected a file of tandem-cov summary%s", "");
    }
    int status = cli_open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    status = reg_db_find_run(&db, o->run, &run);
    if (status == REG_OK) {
        status = reg_cover_keep(&db, run, o->positional[0]);
    }
    reg_db_close(&db);
    return status;
}

int cli_qualify(options *o) {
    reg_db db;
    if (o->positionals != 1) {
        return cli_usage("qualify: expected a summary of qualify.py%s", "");
    }
    int status = cli_open_db(o, &db, true);
    if (status == REG_OK) {
        status = reg_qualify_keep(&db, o->positional[0]);
        reg_db_close(&db);
    }
    return status;
}

int cli_diff(options *o) {
    reg_db db;
    int64_t runs[2] = {0, 0};
    if (o->positionals != 2) {
        return cli_usage("diff: expected two runs%s", "");
    }
    int status = cli_open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    for (int i = 0; status == REG_OK && i < 2; i++) {
        status = reg_db_find_run(&db, o->positional[i], &runs[i]);
    }
    if (status == REG_OK) {
        status = cli_close_output(reg_diff(&db, runs[0], runs[1], o->json, stdout));
    }
    reg_db_close(&db);
    return status;
}

static const reg_column job_columns[] = {{"command", "command", REG_CELL_TEXT}, {"second_run", NULL, REG_CELL_FLAG}};

/* The commands of a suite, one a line. */
static int list_jobs(const options *o, const reg_suite *suite) {
    const uint64_t seed = o->seed != NULL ? o->seed_value : suite->seed;
    reg_table table;
    int status = REG_OK;
    reg_table_init(&table, job_columns, sizeof job_columns / sizeof job_columns[0]);
    for (size_t i = 0; i < suite->count && status == REG_OK; i++) {
        reg_command command;
        const bool second = suite->jobs[i].second_run;
        if (!reg_command_build(&command, &suite->jobs[i], o->build_dir, seed, NULL)) {
            continue;
        }
        if (o->json) {
            status = reg_table_add(&table, (const char *const[]){command.line, second ? "1" : "0"});
        } else { /* as one would type it: no table */
            printf("%s%s\n", command.line, second ? "  # again: same trace hash" : "");
        }
    }
    if (status == REG_OK && o->json) {
        status = reg_table_show(&table, true, stdout);
    } else if (status == REG_OK) {
        printf("%s: %zu jobs, budget %u s\n", suite->name, suite->count, suite->budget_s);
    }
    reg_table_free(&table);
    return status;
}

int cli_list(options *o) {
    reg_suite suite;
    char path[REG_PATH_MAX];
    if (o->suite == NULL && o->positionals == 1) {
        o->suite = o->positional[0];
    } else if (o->positionals != 0) {
        return cli_usage("list: unexpected argument \"%s\"", o->positional[0]);
    }
    if (o->suite == NULL) {
        return cli_close_output(reg_list_suites(o->suite_dir, &o->expand, o->json));
    }
    int status = cli_load_suite(o, &suite, path);
    if (status != REG_OK) {
        return status;
    }
    status = list_jobs(o, &suite);
    reg_suite_free(&suite);
    return status == REG_OK ? cli_close_output(status) : status;
}

static int query_names(void) {
    for (size_t i = 0; reg_query_at(i) != NULL; i++) {
        printf("  %-14s %s\n", reg_query_at(i)->name, reg_query_at(i)->help);
    }
    return cli_close_output(REG_OK);
}

static int ask(const options *o, const reg_query *query, reg_query_about *about) {
    reg_db db;
    reg_table table;
    int status = cli_open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    if (query->of_run) {
        status = reg_db_find_run(&db, o->run, &about->run);
    }
    if (status == REG_OK) {
        status = reg_query_ask(query, &db, about, &table);
        if (status == REG_OK) {
            status = reg_table_show(&table, o->json, stdout);
        }
        if (status == REG_OK && table.row_count == 0 && !o->json) {
            printf("%s\n", query->empty);
        }
        if (status == REG_OK && query->must_be_empty && table.row_count != 0) {
            status = REG_FAIL;
        }
        reg_table_free(&table);
    }
    reg_db_close(&db);
    return cli_close_output(status);
}

/* The row of a failure: of the requested job, else the representative of the most frequent signature. NULL:
 * there is none. */
static char *const *row_of_failure(const reg_table *table, const char *job) {
    size_t column = 0;
    while (column < table->column_count && strcmp(table->columns[column].key, "job") != 0) {
        column++;
    }
    for (size_t row = 0; row < table->row_count; row++) {
        char *const *cells = &table->cells[row * table->column_count];
        if (job == NULL || strcmp(cells[column], job) == 0) {
            return cells;
        }
    }
    return NULL;
}

int cli_failure(options *o) {
    reg_db db;
    reg_table table;
    uint64_t number = 0;
    reg_query_about about = {.limit = UINT32_MAX};
    if (o->positionals != 0) {
        return cli_usage("failure: unexpected argument \"%s\"", o->positional[0]);
    }
    if (o->job != NULL && !opt_number(o->job, 0, UINT32_MAX, &number)) {
        return cli_usage("--job %s: expected the number of a job", o->job);
    }
    int status = cli_open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    status = reg_db_find_run(&db, o->run, &about.run);
    if (status == REG_OK) {
        status = reg_query_ask(reg_query_find(o->job == NULL ? "buckets" : "failures"), &db, &about, &table);
        char *const *cells = status == REG_OK ? row_of_failure(&table, o->job) : NULL;
        if (status == REG_OK && cells == NULL) {
            status = reg_error("run %lld: %s%s", (long long)about.run,
                               o->job == NULL ? "nothing failed" : "no failure of job ", o->job == NULL ? "" : o->job);
        }
        for (size_t i = 0; status == REG_OK && i < table.column_count; i++) {
            printf("%s=%s\n", table.columns[i].key, cells[i] == NULL ? "" : cells[i]);
        }
        reg_table_free(&table);
    }
    reg_db_close(&db);
    return status == REG_OK ? cli_close_output(status) : status;
}

int cli_query(options *o) {
    if (o->positionals == 0) {
        return query_names();
    }
    const reg_query *query = reg_query_find(o->positional[0]);
    if (query == NULL) {
        return cli_usage("query \"%s\" is unknown (tandem-regress query lists them)", o->positional[0]);
    }
    if (query->needs_test && o->positionals == 1) {
        return cli_usage("query %s: expected the name of a test, or \"unit NAME\"", query->name);
    }
    reg_query_about about = {.kind = o->kind, .cfg = o->expand.cfg, .limit = o->limit};
    if (o->positionals == 3) {
        about.what = o->positional[1];
        if (reg_what_of(about.what) == REG_WHAT_COUNT) {
            return cli_usage("\"%s\": expected unit, test, network, case or python before a name", about.what);
        }
    }
    if (o->positionals > 1) {
        about.test = o->positional[o->positionals - 1];
    }
    if (o->run != NULL && !query->of_run) {
        return cli_usage("query %s is about all runs: expected no --run", query->name);
    }
    return ask(o, query, &about);
}

int cli_gc(options *o) {
    reg_db db;
    if (o->positionals != 0) {
        return cli_usage("gc: unexpected argument \"%s\"", o->positional[0]);
    }
    if (o->gc.keep_runs < 0 && o->gc.keep_days < 0 && o->gc.max_mib < 0) {
        return cli_usage("gc: expected --keep-runs, --keep-days or --max-size%s", "");
    }
    o->gc.json = o->json;
    int status = cli_open_db(o, &db, false);
    if (status == REG_OK) {
        status = reg_gc(&o->gc, &db, stdout);
        reg_db_close(&db);
        status = status == REG_OK ? cli_close_output(status) : status;
    }
    return status;
}
