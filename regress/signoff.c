/* signoff.c - OUT/signoff.json: what a run was made of and what came out, sealed with a hash of its own content; and
 * `verify`, which checks the seal, the programs, and runs a sample of the jobs again, with the stored cases of those
 * that failed. */
#define _GNU_SOURCE
#include "cli.h"
#include "ledger.h"
#include "query.h"
#include "reports.h"
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUM_SIZE 65              /* SHA-256 as text */
#define CASE_BYTES (16u * 1024u) /* larger ones are not part of the document */

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

/* Of a suite, whose path may stand for a file of each design. */
static bool sum_of_suite(const char *path, char sum[SUM_SIZE]) {
    return sum_of("IFS=; set -- $FILE; [ -r \"$1\" ] && cat -- \"$@\" | sha256sum 2>/dev/null", path, sum);
}

/* The document is written line by line, for a run may have many jobs: HEAD with its sum, the content in canonical form
 * with a line for each failure and each job, and a last line. Without line ends what is between the first and the last
 * line is the content, whose sum it is. */
#define HEAD "{\"sha256\":\"%.64s\",\"content\":\n"
#define JOBS "],\"jobs\":["
#define CANONICAL (JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15))
static bool sum_of_content(const char *path, char sum[SUM_SIZE]) {
    return access(path, R_OK) == 0 &&
           sum_of("sed '1d;$d' \"$FILE\" 2>/dev/null | tr -d '\\n' | sha256sum 2>/dev/null", path, sum);
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
    char suite[SUM_SIZE] = "";
    (void)sum_of_suite(info->suite_path, suite);
    fprintf(out, "{\"changes_sha256\":\"%s\",\"failures\":[\n", info->changes);
    int status = write_failures(db, info, out);
    fputs("\n" JOBS "\n", out);
    status = status == REG_OK ? reg_report_jobs_json(db, info->id, CANONICAL, out) : status;
    fputs("\n],\"programs\":", out);
    const bool programs = put_json(program_list(db, info), out);
    fputs(",\"run\":", out);
    const bool head = put_json(head_of(db, info->id), out);
    fprintf(out, ",\"suite_sha256\":\"%s\"}\n}\n", suite);
    return status == REG_OK && !(programs && head) ? reg_error("out of memory") : status;
}

int reg_signoff_write(reg_db *db, int64_t run) {
    char sum[SUM_SIZE] = "";
    reg_run_info info;
    rep_file file;
    char path[REG_PATH_MAX];
    if (reg_db_load_run(db, run, &info) != REG_OK || !sign_path(info.out_dir, path, sizeof path)) {
        return REG_FAIL;
    }
    (void)unlink(path); /* of an earlier end of the run */
    int status = reg_report_open(&file, path);
    if (status != REG_OK) {
        return status;
    }
    fprintf(file.file, HEAD, "................................................................");
    status = write_content(db, &info, file.file);
    if (status == REG_OK && fflush(file.file) == 0 && !sum_of_content(file.temporary, sum)) {
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
    FILE *file = sign_path(out_dir, path, sizeof path) ? fopen(path, "re") : NULL;
    const bool good =
        file != NULL && fscanf(file, "{\"sha256\":\"%64[0-9a-f]\"", sum) == 1 && strlen(sum) == SUM_SIZE - 1;
    if (file == NULL || ferror(file) != 0) {
        (void)rep_host_write(errno); /* EACCES: the file is the run's own */
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    sum[good ? SUM_SIZE - 1 : 0] = '\0';
    return good;
}

/* ---- verify ---- */

/* A case of a job that failed. */
typedef struct replay {
    size_t job;
    const char *name;
    const char *trace_hash; /* empty: not known */
    char path[REG_PATH_MAX];
} replay;

/* Results that agree and that differ. */
typedef struct tally {
    size_t same, differ;
} tally;

/* The content without its jobs, and where each of them is in the file. */
typedef struct document {
    FILE *file;
    json_t *content;
    long *jobs;
    size_t job_count;
} document;

static void close_document(document *d) {
    if (d->file != NULL) {
        (void)fclose(d->file);
    }
    json_decref(d->content);
    free(d->jobs);
}

/* False: out of memory. */
static bool read_lines(document *d, FILE *rest) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    long at = 0;
    bool jobs = false;
    bool good = true;
    for (bool first = true; good && (length = getline(&line, &room, d->file)) > 0; first = false, at += length) {
        if (jobs && line[0] == '{') {
            good = rep_more(&d->jobs, d->job_count, sizeof *d->jobs);
            if (good) {
                d->jobs[d->job_count++] = at;
            }
        } else if (!first) {
            jobs = strncmp(line, JOBS, strlen(JOBS)) == 0;
            fputs(line, rest);
        }
    }
    free(line);
    return good;
}

static int open_document(document *d, const char *path) {
    char *text = NULL;
    size_t size = 0;
    *d = (document){.file = fopen(path, "re")};
    if (d->file == NULL) {
        return reg_error("%s: %s (a run writes it at its end)", path, reg_why());
    }
    FILE *rest = rep_memory(&text, &size);
    bool good = rest != NULL && read_lines(d, rest);
    good = rest != NULL && fclose(rest) == 0 && good;
    d->content = good ? json_loads(text, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    free(text);
    if (d->content == NULL) {
        close_document(d);
        return reg_error("%s: not a sign-off file of the runner, or damaged", path);
    }
    return REG_OK;
}

/* NULL: there is none. */
static json_t *job_of(const document *d, size_t job) {
    char *line = NULL;
    size_t room = 0;
    const bool got =
        job < d->job_count && fseek(d->file, d->jobs[job], SEEK_SET) == 0 && getline(&line, &room, d->file) > 0;
    json_t *object = got ? json_loads(line, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    free(line);
    return object;
}

typedef struct verifier {
    const document *then;
    replay *replays; /* their numbers follow those of the jobs */
    size_t replay_count;
    tally of_jobs, of_cases;
} verifier;

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static void put_verdict(const char *when, const char *outcome, const char *signature, const char *hash,
                        const char *end) {
    printf("%s %s%s%s%s%s%s", when, outcome, signature[0] == '\0' ? "" : " ", signature, hash[0] == '\0' ? "" : " ",
           hash, end);
}

static int compare(void *context, const reg_finished *item) {
    verifier *v = context;
    const size_t jobs = v->then->job_count;
    const replay *r = item->job < jobs ? NULL : &v->replays[item->job - jobs];
    const size_t job = r == NULL ? item->job : r->job;
    json_t *then = job_of(v->then, job);
    const char *hash = r == NULL ? text_of(then, "trace_hash") : r->trace_hash;
    const reg_result *now = &item->result;
    const bool same = strcmp(text_of(then, "outcome"), now->outcome) == 0 &&
                      strcmp(text_of(then, "signature"), now->signature) == 0 &&
                      ((r != NULL && hash[0] == '\0') || strcmp(hash, now->trace_hash) == 0);
    tally *sum = r == NULL ? &v->of_jobs : &v->of_cases;
    sum->same += same;
    sum->differ += !same;
    if (!same) {
        printf("job %zu: %s %s%s%s: ", job, text_of(then, "what"), text_of(then, "cfg"), r == NULL ? "" : ", ",
               r == NULL ? "" : r->name);
        put_verdict("then", text_of(then, "outcome"), text_of(then, "signature"), hash, ", ");
        put_verdict("now", now->outcome, now->signature, now->trace_hash, "\n");
    }
    json_decref(then);
    return REG_OK;
}

static bool tick(void *context) {
    (void)context;
    return true;
}

/* Is it the file that a run has linked? */
static bool same_file(const char *a, const char *b) {
    struct stat x;
    struct stat y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The programs of the run, and those of the build folder. False: one of the run is not what was signed. */
static bool check_programs(const reg_run_info *info, const json_t *programs) {
    char copy[REG_PATH_MAX];
    char sum[SUM_SIZE] = "";
    bool good = true;
    size_t i;
    json_t *program;
    json_array_foreach(programs, i, program) {
        const char *path = text_of(program, "path");
        const char *sealed = text_of(program, "sha256");
        const bool found = pinned(info, path, copy, sizeof copy) && sum_of_file(copy, sum);
        if (!found || strcmp(sum, sealed) != 0) {
            printf("%s: its copy in %s/programs %s\n", path, info->out_dir,
                   found ? "is not the program that was signed" : "is gone");
            good = false;
        } else if (!same_file(copy, path) && sum_of_file(path, sum) && strcmp(sum, sealed) != 0) {
            printf("note: %s is another program now: SHA-256 %.16s, signed %.16s\n", path, sum, sealed);
        }
    }
    return good;
}

/* One line for everything that is not what was signed. False: something is not. */
static bool check_seal(const reg_run_info *info, const json_t *content, const char *path) {
    reg_run_info now;
    char sum[SUM_SIZE] = "";
    char sealed[SUM_SIZE];
    bool good = true;
    if (!reg_signoff_sum(info->out_dir, sealed) || !sum_of_content(path, sum) || strcmp(sum, sealed) != 0) {
        printf("%s: the content is not what was sealed: SHA-256 %.16s, sealed %.16s\n", path, sum, sealed);
        good = false;
    }
    good = check_programs(info, json_object_get(content, "programs")) && good;
    if (sum_of_suite(info->suite_path, sum) && strcmp(sum, text_of(content, "suite_sha256")) != 0) {
        printf("note: %s has changed since; the jobs are those of the run\n", info->suite_path);
    }
    reg_commit_info(&now);
    if (strcmp(now.commit, info->commit) != 0 || now.dirty != info->dirty) {
        printf("note: the tree is at %.12s%s, the run was at %.12s%s; its own programs run\n", now.commit,
               now.dirty ? " with changes" : "", info->commit, info->dirty ? " with changes" : "");
    } else if (strcmp(now.changes, text_of(content, "changes_sha256")) != 0) {
        printf("note: the changes in the tree are not those of the run; its own programs run\n");
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

/* One more job: a case of a failure, as it was signed. */
static int add_replay(verifier *v, reg_suite *suite, const char *dir, const json_t *failure, const char *key,
                      const char *name) {
    replay *r = &v->replays[v->replay_count];
    const char *text = text_of(failure, key);
    r->job = (size_t)json_integer_value(json_object_get(failure, "job"));
    r->name = name;
    r->trace_hash = strcmp(key, "case") == 0 ? text_of(failure, "trace_hash") : "";
    if (text[0] == '\0') {
        return REG_OK;
    }
    if (!reg_format(r->path, sizeof r->path, "%s/%05zu-%s.case", dir, r->job, key) ||
        rep_save(r->path, text, strlen(text)) != 0) {
        return reg_error("%s: cannot write: %s", r->path, reg_why_not_written());
    }
    reg_job job = suite->jobs[r->job];
    job.checked_twice = false;
    job.second_run = false;
    job.stored = r->path;
    v->replay_count++;
    return reg_suite_add(suite, &job);
}

/* The cases of those failures that are among the drawn jobs, behind them. */
static int add_replays(verifier *v, reg_suite *suite, const char *dir, const json_t *failures, size_t *order,
                       size_t *count) {
    const size_t jobs = suite->count;
    const size_t drawn = *count;
    int status = REG_OK;
    size_t i;
    size_t at = 0;
    json_t *failure;
    json_array_foreach(failures, i, failure) {
        const size_t job = (size_t)json_integer_value(json_object_get(failure, "job"));
        while (at < drawn && order[at] < job) {
            at++;
        }
        if (at < drawn && order[at] == job && status == REG_OK) {
            status = add_replay(v, suite, dir, failure, "case", "stored case");
            status = status == REG_OK ? add_replay(v, suite, dir, failure, "small_case", "small case") : status;
        }
    }
    for (i = jobs; i < suite->count; i++) {
        order[(*count)++] = i;
    }
    return status;
}

/* A folder with the programs of the run. */
static int make_folder(const reg_run_info *info, char *dir, size_t size) {
    char link[REG_PATH_MAX + 32];
    (void)reg_verify_dir(info->out_dir, dir, size);
    (void)reg_format(link, sizeof link, "%s/programs", dir);
    if (reg_remove_tree(dir) != REG_OK || reg_make_dirs(dir) != REG_OK) {
        return REG_FAIL;
    }
    return symlink("../programs", link) == 0 ? REG_OK : reg_error("%s: %s", link, reg_why());
}

static int run_again(const options *o, const reg_run_info *info, reg_suite *suite, const reg_past *past,
                     const document *then) {
    char dir[sizeof info->out_dir + 16];
    const size_t jobs = suite->count;
    const json_t *failures = json_object_get(then->content, "failures");
    const size_t most = jobs + 2 * json_array_size(failures) + 1;
    reg_totals totals;
    verifier v = {.then = then, .replays = calloc(2 * json_array_size(failures) + 1, sizeof *v.replays)};
    struct reg_keeper keeper = {.keep = compare, .tick = tick, .context = &v};
    reg_progress progress = {.started = reg_now(), .parallel = (int)o->parallel, .quiet = true};
    size_t *order = calloc(most, sizeof *order);
    reg_past *fresh = calloc(most, sizeof *fresh); /* no outcome yet */
    reg_expectation *expected = calloc(most, sizeof *expected);
    int status = order == NULL || fresh == NULL || expected == NULL || v.replays == NULL
                     ? reg_error("out of memory")
                     : make_folder(info, dir, sizeof dir);
    if (status == REG_OK) {
        size_t count = draw(past, jobs, info->seed, o->all ? 0 : o->sample, order);
        const size_t drawn = count;
        status = add_replays(&v, suite, dir, failures, order, &count);
        for (size_t i = 0; i < most; i++) {
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
        const reg_end end = status == REG_OK ? reg_run_jobs(&plan, &totals) : REG_END_BROKEN;
        status = end == REG_END_DONE && drawn > 0 && v.of_jobs.same == drawn && v.of_cases.same == count - drawn
                     ? REG_OK
                     : REG_FAIL;
        if (count != drawn) {
            printf("cases of the jobs that failed: %zu verified, %zu differ, %zu not run\n", v.of_cases.same,
                   v.of_cases.differ, count - drawn - v.of_cases.same - v.of_cases.differ);
        }
        printf("%zu verified, %zu differ, %zu not run\n", v.of_jobs.same, v.of_jobs.differ,
               jobs - v.of_jobs.same - v.of_jobs.differ);
    }
    free(v.replays);
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
    document then;
    if (reg_db_load_run(db, run, &info) != REG_OK || !sign_path(info.out_dir, path, sizeof path) ||
        open_document(&then, path) != REG_OK) {
        return REG_FAIL;
    }
    const bool sealed = check_seal(&info, then.content, path);
    int status = reg_db_load_jobs(db, &info, &suite, &past);
    if (status == REG_OK) {
        status = run_again(o, &info, &suite, past, &then);
        reg_suite_free(&suite);
        free(past);
    }
    close_document(&then);
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
