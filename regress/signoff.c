/* signoff.c - OUT/signoff.json: what a run was made of and what came out, sealed with a hash of its own content. */
#define _GNU_SOURCE
#include "query.h"
#include "reports.h"
#include "signoff.h"
#include "report/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASE_BYTES (16u * 1024u) /* larger ones are not part of the document */

/* SHA-256 of what a shell command prints, whose $FILE is `path`; false: not known. */
static bool sum_of(const char *command, const char *path, char sum[REG_SUM_SIZE]) {
    char line[256] = "";
    FILE *pipe = setenv("FILE", path, 1) == 0 ? popen(command, "re") : NULL;
    const bool got = pipe != NULL && fgets(line, sizeof line, pipe) != NULL;
    const bool good = pipe != NULL && pclose(pipe) == 0 && got && strspn(line, "0123456789abcdef") == REG_SUM_SIZE - 1;
    (void)reg_format(sum, REG_SUM_SIZE, "%.*s", good ? REG_SUM_SIZE - 1 : 0, line);
    return good;
}

bool reg_sum_of_file(const char *path, char sum[REG_SUM_SIZE]) {
    return access(path, R_OK) == 0 && sum_of("sha256sum < \"$FILE\" 2>/dev/null", path, sum);
}

/* Of a suite, whose path may stand for a file of each design. */
bool reg_sum_of_suite(const char *path, char sum[REG_SUM_SIZE]) {
    return sum_of("IFS=; set -- $FILE; [ -r \"$1\" ] && cat -- \"$@\" | sha256sum 2>/dev/null", path, sum);
}

/* The document is written line by line, for a run may have many jobs: HEAD with its sum, the content in canonical form
 * with a line for each failure and each job, and a last line. Without line ends what is between the first and the last
 * line is the content, whose sum it is. */
#define HEAD "{\"sha256\":\"%.64s\",\"content\":\n"
#define CANONICAL (JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15))
bool reg_sum_of_content(const char *path, char sum[REG_SUM_SIZE]) {
    return access(path, R_OK) == 0 &&
           sum_of("sed '1d;$d' \"$FILE\" 2>/dev/null | tr -d '\\n' | sha256sum 2>/dev/null", path, sum);
}

bool reg_signoff_path(const char *out_dir, char *path, size_t size) {
    return reg_format(path, size, "%s/signoff.json", out_dir);
}

/* The copy of a program that belongs to the run. */
bool reg_signoff_program(const reg_run_info *info, const char *program, char *path, size_t size) {
    char dir[REG_PATH_MAX];
    const size_t length = strlen(info->build_dir);
    return reg_pinned_dir(info->out_dir, dir, sizeof dir) && strncmp(program, info->build_dir, length) == 0 &&
           reg_format(path, size, "%s%s", dir, program + length);
}

static json_t *program_list(reg_db *db, const reg_run_info *info) {
    reg_programs programs;
    json_t *list = json_array();
    if (reg_db_load_programs(db, info->id, &programs) != REG_OK) {
        return list;
    }
    for (size_t i = 0; i < programs.count; i++) {
        char path[REG_PATH_MAX];
        char sum[REG_SUM_SIZE] = "";
        if (reg_signoff_program(info, programs.list[i].path, path, sizeof path)) {
            (void)reg_sum_of_file(path, sum);
        }
        (void)json_array_append_new(list, json_pack("{s:s, s:s}", "path", programs.list[i].path, "sha256", sum));
    }
    reg_programs_free(&programs);
    return list;
}

/* Takes the reference; a refused write is told when the file is closed. */
static bool put_json(json_t *value, FILE *out) {
    const bool good = json_dumpf(value, out, CANONICAL) == 0 || (value != NULL && ferror(out) != 0);
    json_decref(value);
    return good;
}

/* The text of a small file; NULL: there is none. */
static json_t *case_text(const char *path) {
    char text[CASE_BYTES];
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    const size_t size = file != NULL ? fread(text, 1, sizeof text, file) : 0;
    const bool whole = size > 0 && size < sizeof text;
    if (file != NULL) {
        (void)fclose(file);
    }
    text[whole ? size : 0] = '\0';
    return whole ? reg_json_text(text) : NULL;
}

/* The cases of jobs that failed, and the trace hash of those that were explained. */
static int write_failures(reg_db *db, const reg_run_info *info, FILE *out) {
    const reg_query_about about = {.run = info->id, .limit = UINT32_MAX};
    reg_table table = {0};
    const char *comma = "";
    int status = reg_query_ask(reg_query_find("failures"), db, &about, &table);
    for (size_t row = 0; status == REG_OK && row < table.row_count; row++) {
        const char *signature = reg_table_cell(&table, row, "signature");
        const uint64_t idx = strtoull(reg_table_cell(&table, row, "job"), NULL, 10);
        char dir[REG_PATH_MAX];
        char path[REG_PATH_MAX];
        reg_result again = {0};
        reg_explained_dir(info->out_dir, idx, dir, sizeof dir);
        const bool known = signature != NULL && reg_format(path, sizeof path, "%s/result.txt", dir) &&
                           reg_result_load(&again, path) == NULL && strcmp(again.signature, signature) == 0;
        json_t *stored = case_text(reg_table_cell(&table, row, "case"));
        if (stored != NULL) {
            json_t *failure = json_pack("{s:I, s:o, s:o*, s:s}", "job", (json_int_t)idx, "case", stored, "small_case",
                                        case_text(reg_table_cell(&table, row, "small_case")), "trace_hash",
                                        known ? again.trace_hash : "");
            fputs(comma, out);
            status = put_json(failure, out) ? REG_OK : reg_error("out of memory");
            comma = ",\n";
        }
    }
    reg_table_free(&table);
    return status;
}

static json_t *head_of(reg_db *db, int64_t run) {
    reg_table table = {0};
    json_t *rows = reg_report_part(db, run, REG_PART_HEAD, &table) == REG_OK ? reg_table_json(&table) : NULL;
    reg_table_free(&table);
    return rows;
}

/* Keys in their order: changes_sha256, failures, jobs, programs, run, suite_sha256. */
static int write_content(reg_db *db, const reg_run_info *info, FILE *out) {
    char suite[REG_SUM_SIZE] = "";
    (void)reg_sum_of_suite(info->suite_path, suite);
    fprintf(out, "{\"changes_sha256\":\"%s\",\"failures\":[\n", info->changes);
    int status = write_failures(db, info, out);
    fputs("\n" REG_SIGNOFF_JOBS "\n", out);
    status = status == REG_OK ? reg_report_jobs_json(db, info->id, CANONICAL, out) : status;
    fputs("\n],\"programs\":", out);
    const bool programs = put_json(program_list(db, info), out);
    fputs(",\"run\":", out);
    const bool head = put_json(head_of(db, info->id), out);
    fprintf(out, ",\"suite_sha256\":\"%s\"}\n}\n", suite);
    return status == REG_OK && !(programs && head) ? reg_error("out of memory") : status;
}

int reg_signoff_write(reg_db *db, int64_t run) {
    char sum[REG_SUM_SIZE] = "";
    reg_run_info info;
    rep_file file;
    char path[REG_PATH_MAX];
    if (reg_db_load_run(db, run, &info) != REG_OK || !reg_signoff_path(info.out_dir, path, sizeof path)) {
        return REG_FAIL;
    }
    (void)unlink(path); /* of an earlier end of the run */
    int status = reg_report_open(&file, path);
    if (status != REG_OK) {
        return status;
    }
    fprintf(file.file, HEAD, "................................................................");
    status = write_content(db, &info, file.file);
    if (status == REG_OK && fflush(file.file) == 0 && !reg_sum_of_content(file.temporary, sum)) {
        status = reg_error("%s: cannot be sealed (sha256sum of coreutils is needed)", path);
    }
    if (status != REG_OK) {
        rep_file_drop(&file);
        return status;
    }
    rewind(file.file); /* what could not be written is told by the commit */
    fprintf(file.file, HEAD, sum);
    return reg_report_commit(&file);
}

bool reg_signoff_sum(const char *out_dir, char sum[65]) {
    char path[REG_PATH_MAX];
    FILE *file = reg_signoff_path(out_dir, path, sizeof path) ? fopen(path, "re") : NULL;
    const bool good =
        file != NULL && fscanf(file, "{\"sha256\":\"%64[0-9a-f]\"", sum) == 1 && strlen(sum) == REG_SUM_SIZE - 1;
    if (file == NULL || ferror(file) != 0) {
        (void)rep_host_write(errno); /* EACCES: the file is the run's own */
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    sum[good ? REG_SUM_SIZE - 1 : 0] = '\0';
    return good;
}
