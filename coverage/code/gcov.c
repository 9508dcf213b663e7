/* gcov.c - what gcov says of C sources: it is run over all objects of a build folder and answers with a line of JSON
 * for each. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "part.h"
#include "report/report.h"

/* Does a path lie in one of "dir,dir"? */
static bool is_below(const char *path, const char *only) {
    for (const char *at = only; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        const size_t used = length > 0 && at[length - 1] == '/' ? length - 1 : length;
        if (used > 0 && strncmp(path, at, used) == 0 && path[used] == '/') {
            return true;
        }
        at += length + (at[length] == ',');
    }
    return only == NULL;
}

/* A source's path without the root; dst may be too short: false. */
static bool relative(char dst[CODE_NAME_BYTES], const char *path, const char *folder, const char *root) {
    char full[2 * CODE_NAME_BYTES];
    const bool absolute = path[0] == '/' || folder[0] == '\0';
    const int length = snprintf(full, sizeof full, "%s%s%s", absolute ? "" : folder, absolute ? "" : "/", path);
    const size_t at = strlen(root);
    const bool inside = strncmp(full, root, at) == 0 && full[at] == '/';
    return length > 0 && (size_t)length < sizeof full &&
           (size_t)snprintf(dst, CODE_NAME_BYTES, "%s", inside ? full + at + 1 : full) < CODE_NAME_BYTES;
}

static uint64_t count_of(const json_t *entry, const char *key) {
    const json_t *value = json_object_get(entry, key);
    const double number = json_number_value(value);
    return number <= 0.0 ? 0 : json_is_integer(value) ? (uint64_t)json_integer_value(value) : (uint64_t)number;
}

static uint32_t line_of(const json_t *entry, const char *key) {
    const json_int_t value = json_integer_value(json_object_get(entry, key));
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static int take_line(code_data *data, const char *file, const json_t *entry, cov_error *err) {
    char name[40];
    size_t index = 0;
    size_t arm = 0;
    json_t *branch = NULL;
    const uint32_t line = line_of(entry, "line_number");
    code_point point = {.file = file,
                        .module = "",
                        .name = "line",
                        .lines = "",
                        .line = line,
                        .kind = CODE_LINE,
                        .hits = count_of(entry, "count")};
    int rc = line == 0 ? COV_OK : code_add(data, &point, err);
    json_array_foreach(json_object_get(entry, "branches"), index, branch) {
        if (rc != COV_OK || json_is_true(json_object_get(branch, "throw"))) {
            continue;
        }
        (void)snprintf(name, sizeof name, "branch %zu", arm++);
        point.kind = CODE_ARM;
        point.name = name;
        point.hits = count_of(branch, "count");
        rc = code_add(data, &point, err);
    }
    return rc;
}

static int take_function(code_data *data, const char *file, const json_t *entry, cov_error *err) {
    const char *name = json_string_value(json_object_get(entry, "name"));
    const uint32_t line = line_of(entry, "start_line");
    const code_point point = {.file = file,
                              .module = "",
                              .name = name,
                              .lines = "",
                              .line = line,
                              .kind = CODE_FUNCTION,
                              .hits = count_of(entry, "execution_count")};
    return name == NULL || line == 0 || !cov_is_line(name, CODE_NAME_BYTES - 1) ? COV_OK : code_add(data, &point, err);
}

int code_parse_gcov(code_data *data, const char *json, size_t size, const char *root, const char *only,
                    const char *name, cov_error *err) {
    json_error_t why;
    char file[CODE_NAME_BYTES];
    size_t index = 0;
    size_t k = 0;
    json_t *source = NULL;
    json_t *entry = NULL;
    json_t *all = json_loadb(json, size, 0, &why);
    json_t *sources = json_object_get(all, "files");
    const char *folder = json_string_value(json_object_get(all, "current_working_directory"));
    int rc =
        json_is_array(sources) ? COV_OK : cov_fail(err, COV_BAD_FILE, "%s: not what gcov --json-format writes", name);
    json_array_foreach(sources, index, source) {
        const char *path = json_string_value(json_object_get(source, "file"));
        if (rc != COV_OK || path == NULL || !relative(file, path, folder == NULL ? "" : folder, root) ||
            !is_below(file, only) || !cov_is_line(file, CODE_NAME_BYTES - 1)) {
            continue;
        }
        json_array_foreach(json_object_get(source, "lines"), k, entry) {
            rc = rc == COV_OK ? take_line(data, file, entry, err) : rc;
        }
        json_array_foreach(json_object_get(source, "functions"), k, entry) {
            rc = rc == COV_OK ? take_function(data, file, entry, err) : rc;
        }
    }
    json_decref(all);
    return rc;
}

/* ---- the objects of a build ---- */

/* nftw() has no argument for its caller. */
static _Thread_local struct {
    char **names;
    size_t count;
    bool failed;
} found;

static int keep_object(const char *path, const struct stat *about, int type, struct FTW *where) {
    const size_t length = strlen(path);
    (void)about;
    (void)where;
    if (type != FTW_F || length < 5 || strcmp(path + length - 5, ".gcno") != 0) {
        return 0;
    }
    char *copy = strdup(path);
    found.failed = copy == NULL || !rep_more(&found.names, found.count, sizeof *found.names);
    if (!found.failed) {
        found.names[found.count++] = copy;
    }
    return found.failed;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* gcov's answers for one object, from a pipe. gcov looks for sources from the root. */
static FILE *start_gcov(const char *root, const char *object, pid_t *pid) {
    int ends[2];
    const char *program = getenv("GCOV");
    program = program != NULL && program[0] != '\0' ? program : "gcov";
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return NULL;
    }
    *pid = fork();
    if (*pid == 0) {
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (chdir(root) == 0 && dup2(ends[1], STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0) {
            (void)execlp(program, program, "--branch-probabilities", "--json-format", "--stdout", object, (char *)NULL);
        }
        _exit(127);
    }
    close(ends[1]);
    FILE *in = *pid > 0 ? fdopen(ends[0], "r") : NULL;
    if (in == NULL) {
        close(ends[0]);
    }
    return in;
}

static int run_one(code_data *data, const char *root, const char *object, const char *only, cov_error *err) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    pid_t pid = -1;
    int status = 0;
    int rc = COV_OK;
    FILE *in = start_gcov(root, object, &pid);
    if (in == NULL) {
        return cov_fail(err, COV_IO, "gcov cannot be started: %s", strerror(errno));
    }
    while ((length = getline(&line, &room, in)) > 0) {
        rc = rc == COV_OK && line[0] == '{' ? code_parse_gcov(data, line, (size_t)length, root, only, object, err) : rc;
    }
    if (rc == COV_OK && !feof(in)) {
        rc = cov_fail(err, COV_IO, "%s: what gcov writes cannot be read: %s", object, strerror(errno));
    }
    free(line);
    fclose(in);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (rc == COV_OK && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        rc = cov_fail(err, COV_IO, "%s: gcov failed (status %d)", object, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    return rc;
}

int code_run_gcov(code_data *data, const char *root, const char *build, const char *only, cov_error *err) {
    code_init(data);
    char *full_root = realpath(root, NULL);
    char *full_build = realpath(build, NULL);
    int rc = COV_OK;
    if (full_root == NULL || full_build == NULL) {
        rc = cov_fail(err, COV_IO, "%s: %s", full_root == NULL ? root : build, strerror(errno));
    }
    memset(&found, 0, sizeof found);
    if (rc == COV_OK && nftw(full_build, keep_object, 16, FTW_PHYS) != 0) {
        rc = found.failed ? cov_no_memory(err) : cov_fail(err, COV_IO, "%s: %s", build, strerror(errno));
    }
    if (rc == COV_OK && found.count == 0) {
        rc = cov_fail(err, COV_IO, "%s: no objects that gcov counts (*.gcno) are there", build);
    }
    if (rc == COV_OK) {
        qsort(found.names, found.count, sizeof *found.names, by_text);
    }
    for (size_t i = 0; rc == COV_OK && i < found.count; i++) {
        rc = run_one(data, full_root, found.names[i], only, err);
    }
    for (size_t i = 0; i < found.count; i++) {
        free(found.names[i]);
    }
    free(found.names);
    free(full_root);
    free(full_build);
    if (rc == COV_OK) {
        code_settle(data);
        data->files = 1;
    } else {
        code_free(data);
    }
    return rc;
}
