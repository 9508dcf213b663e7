/* cmd_show.c - the commands that look: list, targets, report, diff. */
#define _GNU_SOURCE
#include "cli.h"

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
        return cli_usage("report: argument \"%s\" is one too many", o->positional[0]);
    }
    int status = cli_open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    status = reg_db_find_run(&db, o->run, &run);
    if (status == REG_OK) {
        status = o->junit != NULL || o->html != NULL ? cli_write_files(o, &db, run) : reg_report_print(&db, run, stdout);
    }
    reg_db_close(&db);
    return status == REG_OK ? cli_close_output(status) : status;
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
        status = cli_close_output(reg_report_diff(&db, runs[0], runs[1], stdout));
    }
    reg_db_close(&db);
    return status;
}

int cli_list(options *o) {
    reg_suite suite;
    char path[REG_PATH_MAX];
    if (o->suite == NULL && o->positionals == 1) {
        o->suite = o->positional[0];
    } else if (o->positionals != 0) {
        return cli_usage("list: argument \"%s\" is one too many", o->positional[0]);
    }
    if (o->suite == NULL) {
        return cli_close_output(reg_list_suites(o->suite_dir, &o->expand));
    }
    int status = cli_load_suite(o, &suite, path);
    if (status != REG_OK) {
        return status;
    }
    uint64_t seed = o->seed != NULL ? o->seed_value : suite.seed;
    for (size_t i = 0; i < suite.count; i++) {
        reg_command command;
        if (reg_command_build(&command, &suite.jobs[i], o->build_dir, seed, NULL, NULL)) {
            printf("%s%s\n", command.line, suite.jobs[i].second_run ? "  # again: same trace hash" : "");
        }
    }
    printf("%s: %zu jobs, budget %u s\n", suite.name, suite.count, suite.budget_s);
    reg_suite_free(&suite);
    return cli_close_output(REG_OK);
}
