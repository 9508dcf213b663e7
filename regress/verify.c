/* verify.c - `verify`: the seal of a sign-off, the programs, and a sample of the jobs once more, with the stored cases
 * of those that failed. */
#define _GNU_SOURCE
#include "cli.h"
#include "query.h"
#include "reports.h"
#include "signoff.h"
#include "report/report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
            jobs = strncmp(line, REG_SIGNOFF_JOBS, strlen(REG_SIGNOFF_JOBS)) == 0;
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
    char sum[REG_SUM_SIZE] = "";
    bool good = true;
    size_t i;
    json_t *program;
    json_array_foreach(programs, i, program) {
        const char *path = text_of(program, "path");
        const char *sealed = text_of(program, "sha256");
        const bool found = reg_signoff_program(info, path, copy, sizeof copy) && reg_sum_of_file(copy, sum);
        if (!found || strcmp(sum, sealed) != 0) {
            printf("%s: its copy in %s/programs %s\n", path, info->out_dir,
                   found ? "is not the program that was signed" : "is gone");
            good = false;
        } else if (!same_file(copy, path) && reg_sum_of_file(path, sum) && strcmp(sum, sealed) != 0) {
            printf("note: %s is another program now: SHA-256 %.16s, signed %.16s\n", path, sum, sealed);
        }
    }
    return good;
}

/* One line for everything that is not what was signed. False: something is not. */
static bool check_seal(const reg_run_info *info, const json_t *content, const char *path) {
    reg_run_info now;
    char sum[REG_SUM_SIZE] = "";
    char sealed[REG_SUM_SIZE];
    bool good = true;
    if (!reg_signoff_sum(info->out_dir, sealed) || !reg_sum_of_content(path, sum) || strcmp(sum, sealed) != 0) {
        printf("%s: the content is not what was sealed: SHA-256 %.16s, sealed %.16s\n", path, sum, sealed);
        good = false;
    }
    good = check_programs(info, json_object_get(content, "programs")) && good;
    if (reg_sum_of_suite(info->suite_path, sum) && strcmp(sum, text_of(content, "suite_sha256")) != 0) {
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
    if (reg_db_load_run(db, run, &info) != REG_OK || !reg_signoff_path(info.out_dir, path, sizeof path) ||
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
