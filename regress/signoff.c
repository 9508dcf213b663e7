/* signoff.c - OUT/signoff.json: what a run was made of and what came out, sealed with a hash of its own content; and
 * `verify`, which checks the seal, the programs, and runs a sample of the jobs again. */
#define _GNU_SOURCE
#include "cli.h"
#include "ledger.h"
#include "query.h"
#include "reports.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUM_SIZE 65 /* SHA-256 as text */

/* SHA-256 of what a shell command prints, whose $FILE is `path`; false: not known. */
static bool sum_of(const char *command, const char *path, char sum[SUM_SIZE]) {
    char line[256] = "";
    FILE *pipe = setenv("FILE", path, 1) == 0 ? popen(command, "re") : NULL;
    const bool got = pipe != NULL && fgets(line, sizeof line, pipe) != NULL;
    const bool good = pipe != NULL && pclose(pipe) == 0 && got && strspn(line, "0123456789abcdef") == SUM_SIZE - 1;
    (void)reg_format(sum, SUM_SIZE, "%.*s", good ? SUM_SIZE - 1 : 0, line);
    return good;
}

static bool sum_of_file(const char *path, char sum[SUM_SIZE]) {
    return access(path, R_OK) == 0 && sum_of("sha256sum < \"$FILE\" 2>/dev/null", path, sum);
}

/* Of the changes that are not committed. */
static void sum_of_tree(char sum[SUM_SIZE]) {
    (void)sum_of("{ git diff HEAD --binary; git ls-files -o --exclude-standard -z | xargs -0 -r sha256sum --; } "
                 "2>/dev/null | sha256sum 2>/dev/null",
                 "", sum);
}

/* Of a document in its canonical form. */
static bool sum_of_json(const json_t *content, const char *near, char sum[SUM_SIZE]) {
    char path[REG_PATH_MAX];
    char *text = json_dumps(content, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    bool good = text != NULL && reg_format(path, sizeof path, "%s.%ld.sum", near, (long)getpid()) &&
                rep_save(path, text, strlen(text)) == 0 && sum_of_file(path, sum);
    (void)unlink(path);
    free(text);
    return good;
}

static bool sign_path(const char *out_dir, char *path, size_t size) {
    return reg_format(path, size, "%s/signoff.json", out_dir);
}

/* The copy of a program that belongs to the run. */
static bool pinned(const reg_run_info *info, const char *program, char *path, size_t size) {
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
        char sum[SUM_SIZE] = "";
        if (pinned(info, programs.list[i].path, path, sizeof path)) {
            (void)sum_of_file(path, sum);
        }
        (void)json_array_append_new(list, json_pack("{s:s, s:s}", "path", programs.list[i].path, "sha256", sum));
    }
    reg_programs_free(&programs);
    return list;
}

static json_t *part_of(reg_db *db, int64_t run, reg_part part) {
    reg_table table = {0};
    json_t *rows = reg_report_part(db, run, part, &table) == REG_OK ? reg_table_json(&table) : NULL;
    reg_table_free(&table);
    return rows;
}

int reg_signoff_write(reg_db *db, int64_t run) {
    char sum[SUM_SIZE];
    reg_run_info info;
    rep_file file;
    char path[REG_PATH_MAX];
    char suite[SUM_SIZE] = "";
    char tree[SUM_SIZE] = "";
    if (reg_db_load_run(db, run, &info) != REG_OK || !sign_path(info.out_dir, path, sizeof path)) {
        return REG_FAIL;
    }
    (void)sum_of_file(info.suite_path, suite);
    if (info.dirty) {
        sum_of_tree(tree);
    }
    json_t *content =
        json_pack("{s:o, s:s, s:s, s:o, s:o}", "run", part_of(db, run, REG_PART_HEAD), "suite_sha256", suite,
                  "changes_sha256", tree, "programs", program_list(db, &info), "jobs", part_of(db, run, REG_PART_JOBS));
    if (content == NULL || !sum_of_json(content, path, sum)) {
        (void)unlink(path); /* of an earlier end of the run */
        json_decref(content);
        return reg_error("%s: cannot be sealed (sha256sum of coreutils is needed)", path);
    }
    json_t *document = json_pack("{s:s, s:o}", "sha256", sum, "content", content);
    int status = reg_report_open(&file, path);
    if (status == REG_OK && document != NULL) {
        (void)json_dumpf(document, file.file, JSON_INDENT(1) | JSON_SORT_KEYS);
        (void)fputc('\n', file.file);
        status = reg_report_commit(&file);
    }
    json_decref(document);
    return status;
}

bool reg_signoff_sum(const char *out_dir, char sum[65]) {
    char path[REG_PATH_MAX];
    json_error_t error;
    json_t *document = sign_path(out_dir, path, sizeof path) ? json_load_file(path, 0, &error) : NULL;
    const char *text = document != NULL ? json_string_value(json_object_get(document, "sha256")) : NULL;
    const bool good = text != NULL && strlen(text) == SUM_SIZE - 1;
    (void)reg_format(sum, SUM_SIZE, "%s", good ? text : "");
    json_decref(document);
    return good;
}

/* ---- verify ---- */

typedef struct verifier {
    const json_t *jobs; /* as they were signed */
    size_t same, differ;
} verifier;

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static int compare(void *context, const reg_finished *item) {
    verifier *v = context;
    const json_t *then = json_array_get(v->jobs, item->job);
    const reg_result *now = &item->result;
    const bool same = strcmp(text_of(then, "outcome"), now->outcome) == 0 &&
                      strcmp(text_of(then, "signature"), now->signature) == 0 &&
                      strcmp(text_of(then, "trace_hash"), now->trace_hash) == 0;
    v->same += same;
    v->differ += !same;
    if (!same) {
        printf("job %zu: %s %s: then %s %s %s, now %s %s %s\n", item->job, text_of(then, "what"), text_of(then, "cfg"),
               text_of(then, "outcome"), text_of(then, "signature"), text_of(then, "trace_hash"), now->outcome,
               now->signature, now->trace_hash);
    }
    return REG_OK;
}

static bool tick(void *context) {
    (void)context;
    return true;
}

/* One line for everything that is not what was signed. False: something is not. */
static bool check_seal(const reg_run_info *info, const json_t *document, const char *path) {
    const json_t *content = json_object_get(document, "content");
    reg_run_info now;
    char sum[SUM_SIZE] = "";
    bool good = true;
    if (!sum_of_json(content, path, sum) || strcmp(sum, text_of(document, "sha256")) != 0) {
        printf("%s: the content is not what was sealed: SHA-256 %.16s, sealed %.16s\n", path, sum,
               text_of(document, "sha256"));
        good = false;
    }
    size_t i;
    json_t *program;
    json_array_foreach(json_object_get(content, "programs"), i, program) {
        char copy[REG_PATH_MAX];
        if (!pinned(info, text_of(program, "path"), copy, sizeof copy) || !sum_of_file(copy, sum) ||
            strcmp(sum, text_of(program, "sha256")) != 0) {
            printf("%s: its copy in %s/programs is not the program that was signed\n", text_of(program, "path"),
                   info->out_dir);
            good = false;
        }
    }
    if (sum_of_file(info->suite_path, sum) && strcmp(sum, text_of(content, "suite_sha256")) != 0) {
        printf("note: %s has changed since; the jobs are those of the run\n", info->suite_path);
    }
    reg_commit_info(&now);
    if (strcmp(now.commit, info->commit) != 0 || now.dirty != info->dirty) {
        printf("note: the tree is at %.12s%s, the run was at %.12s%s; its own programs run\n", now.commit,
               now.dirty ? " with changes" : "", info->commit, info->dirty ? " with changes" : "");
    } else if (now.dirty) {
        sum_of_tree(sum);
        if (strcmp(sum, text_of(content, "changes_sha256")) != 0) {
            printf("note: the changes in the tree are not those of the run; its own programs run\n");
        }
    }
    return good;
}

/* So many of the finished jobs, drawn by the seed of the run; in their order. */
static size_t draw(const reg_past *past, size_t count, uint64_t seed, uint32_t most, size_t *order) {
    size_t left = 0, drawn = 0;
    for (size_t i = 0; i < count; i++) {
        left += past[i].outcome[0] != '\0';
    }
    for (size_t i = 0; i < count; i++) {
        if (past[i].outcome[0] == '\0') {
            continue;
        }
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (most == 0 || (seed >> 33) % left < most - drawn) {
            order[drawn++] = i;
        }
        left--;
    }
    return drawn;
}

/* In a folder of its own, with the programs of the run. */
static int run_again(const options *o, const reg_run_info *info, const reg_suite *suite, const reg_past *past,
                     const json_t *jobs) {
    char dir[sizeof info->out_dir + 16];
    char link[REG_PATH_MAX + 32];
    verifier v = {.jobs = jobs};
    reg_totals totals;
    struct reg_keeper keeper = {.keep = compare, .tick = tick, .context = &v};
    reg_progress progress = {.started = reg_now(), .parallel = (int)o->parallel};
    size_t *order = calloc(suite->count + 1, sizeof *order);
    reg_past *fresh = calloc(suite->count + 1, sizeof *fresh); /* no outcome yet */
    reg_expectation *expected = calloc(suite->count + 1, sizeof *expected);
    (void)reg_verify_dir(info->out_dir, dir, sizeof dir);
    (void)reg_format(link, sizeof link, "%s/programs", dir);
    int status = order == NULL || fresh == NULL || expected == NULL ? reg_error("out of memory") : reg_remove_tree(dir);
    status = status == REG_OK ? reg_make_dirs(dir) : status;
    if (status == REG_OK && symlink("../programs", link) != 0) {
        status = reg_error("%s: %s", link, strerror(errno));
    }
    if (status == REG_OK) {
        const size_t count = draw(past, suite->count, info->seed, o->all ? 0 : o->sample, order);
        for (size_t i = 0; i < suite->count; i++) {
            fresh[i].attempt = 1;
        }
        progress.total = count;
        const reg_plan plan = {.suite = suite,
                               .build_dir = info->build_dir,
                               .out_dir = dir,
                               .coverage_dir = "",
                               .seed = info->seed,
                               .run = info->id,
                               .parallel = (int)o->parallel,
                               .past = fresh,
                               .order = order,
                               .order_count = count,
                               .expected = expected,
                               .progress = &progress,
                               .keeper = &keeper};
        const reg_end end = reg_run_jobs(&plan, &totals);
        printf("%zu verified, %zu differ, %zu not run\n", v.same, v.differ, suite->count - v.same - v.differ);
        status = end == REG_END_DONE && v.differ == 0 && v.same == count && count > 0 ? REG_OK : REG_FAIL;
    }
    free(order);
    free(fresh);
    free(expected);
    return status;
}

static int verify_run(const options *o, reg_db *db, int64_t run) {
    reg_run_info info;
    reg_suite suite;
    reg_past *past = NULL;
    char path[REG_PATH_MAX];
    json_error_t error;
    if (reg_db_load_run(db, run, &info) != REG_OK || !sign_path(info.out_dir, path, sizeof path)) {
        return REG_FAIL;
    }
    json_t *document = json_load_file(path, 0, &error);
    if (document == NULL) {
        return reg_error("%s: %s (a run writes it at its end)", path, error.text);
    }
    const bool sealed = check_seal(&info, document, path);
    int status = reg_db_load_jobs(db, &info, &suite, &past);
    if (status == REG_OK) {
        status = run_again(o, &info, &suite, past, json_object_get(json_object_get(document, "content"), "jobs"));
        reg_suite_free(&suite);
        free(past);
    }
    json_decref(document);
    return status == REG_OK && !sealed ? REG_FAIL : status;
}

int cli_verify(options *o) {
    reg_db db;
    int64_t run = 0;
    if (o->positionals != 1 || (o->all && o->sample_given)) {
        return cli_usage("verify: expected the number of a run, and --sample N or --all%s", "");
    }
    int status = cli_open_db(o, &db, false);
    if (status != REG_OK) {
        return status;
    }
    status = reg_db_find_run(&db, o->positional[0], &run);
    if (status == REG_OK) {
        status = verify_run(o, &db, run);
    }
    reg_db_close(&db);
    return cli_close_output(status);
}
