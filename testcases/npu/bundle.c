/* bundle.c - --report DIR: the case once more, and the folder with all there is to know of its failure. */
#include "bundle.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ---- */

static int stop(char *err, size_t err_size, const char *what, const char *why) {
    snprintf(err, err_size, "%s: %s", what, why);
    return -1;
}

/* What a report may take the place of: nothing, an empty folder, another report. */
static int replaceable(const char *dir, char *err, size_t err_size) {
    char file[600];
    struct stat st;
    if (stat(dir, &st) != 0) {
        return errno == ENOENT ? 0 : stop(err, err_size, dir, strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) {
        return stop(err, err_size, dir, "exists and is no folder");
    }
    snprintf(file, sizeof file, "%s/report.txt", dir);
    if (access(file, F_OK) == 0) {
        return 0;
    }
    DIR *d = opendir(dir);
    unsigned files = 0;
    while (d != NULL && readdir(d) != NULL) {
        files++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return d != NULL && files <= 2
               ? 0
               : stop(err, err_size, dir, "holds files that are no report; expected a new or empty folder, or an older report");
}

static int check_folder(const tb_prog_options *o, char *err, size_t err_size) {
    if (strlen(o->report) > 400) {
        return stop(err, err_size, "--report", "expected a folder name of at most 400 characters");
    }
    return replaceable(o->report, err, err_size);
}

/* A folder of files and folders of files; links are not followed. */
static void remove_folder(const char *dir) {
    char path[1200];
    struct stat st;
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path) {
            continue;
        }
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            remove_folder(path);
        } else {
            unlink(path);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    rmdir(dir);
}

/* The new report takes its place; the old one leaves when the new one is there. */
static int publish(const struct bundle *b, char *err, size_t err_size) {
    char old[600];
    snprintf(old, sizeof old, "%s.old%d", b->dir, (int)getpid());
    if (replaceable(b->dir, err, err_size) != 0) {
        return -1;
    }
    const bool had = rename(b->dir, old) == 0;
    if (rename(b->temp, b->dir) != 0) {
        const int why = errno;
        if (had) {
            (void)rename(old, b->dir);
        }
        return stop(err, err_size, b->dir, strerror(why));
    }
    if (had) {
        remove_folder(old);
    }
    return 0;
}

/* ---- its files ---- */

typedef void bundle_writer(const struct bundle *b, FILE *out);

static int write_file(const struct bundle *b, const char *name, bundle_writer *writer, char *err, size_t err_size) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s", b->temp, name);
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        return stop(err, err_size, path, strerror(errno));
    }
    writer(b, f);
    const bool bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad) {
        return stop(err, err_size, path, "cannot be written");
    }
    return 0;
}

static void full_text(const struct bundle *b, FILE *out) {
    bundle_report_txt(b, out, BUNDLE_FULL);
}

static int write_files(const struct bundle *b, char *err, size_t err_size) {
    static const struct {
        const char *name;
        bundle_writer *writer;
    } files[] = {{"registers.txt", bundle_registers_txt}, {"axi.txt", bundle_axi_txt},         {"wrong.txt", bundle_wrong_txt},
                 {"versions.txt", bundle_versions},       {"report.html", bundle_report_html}, {"report.txt", full_text}};
    char path[640];
    tb_kv kv;
    tb_kv_init(&kv);
    snprintf(path, sizeof path, "%s/case.case", b->temp);
    int rc = tb_case_to_kv(b->run->test->name, NPU_CFG_NAME, b->run->seed, b->run->knobs, &kv);
    rc = rc != 0 ? stop(err, err_size, path, "out of memory") : tb_kv_save(&kv, path, err, err_size);
    tb_kv_free(&kv);
    for (size_t i = 0; rc == 0 && i < sizeof files / sizeof files[0]; i++) {
        rc = write_file(b, files[i].name, files[i].writer, err, err_size);
    }
    return rc;
}

/* ---- the runs ---- */

static void *begin(tb_prog_run *run) {
    const tb_prog_options *o = run->o;
    struct bundle *b = (struct bundle *)calloc(1, sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    size_t length = strlen(o->report);
    while (length > 1 && o->report[length - 1] == '/') {
        length--;
    }
    b->o = o;
    b->t = (const tandem *)o->prog->ctx;
    b->first = run;
    b->result = run->result;
    tb_result_init(&b->replay);
    snprintf(b->dir, sizeof b->dir, "%.*s", (int)length, o->report);
    snprintf(b->temp, sizeof b->temp, "%s.tmp%d", b->dir, (int)getpid());
    snprintf(b->wave, sizeof b->wave, "%s/wave.fst", b->temp);
    if (b->t->setup.kind == NPU_DEV_MODEL) {
        snprintf(b->no_wave, sizeof b->no_wave, "the model has no clock");
    } else if (tb_shim_get()->trace_open == NULL) {
        snprintf(b->no_wave, sizeof b->no_wave, "this build has no tracing (KIND=tap and KIND=debug have)");
    } else {
        run->fail_wave = b->wave;
        run->folder = b->temp;
    }
    return b;
}

/* The same case, with a device that remembers. */
static void replay(struct bundle *b) {
    const tc_run *first = b->run;
    char dump[640];
    snprintf(dump, sizeof dump, "%s/tensors", b->temp);
    tc_run again = {.test = first->test,
                    .n = first->n,
                    .seed = first->seed,
                    .knobs = first->knobs,
                    .setup = first->setup,
                    .result = &b->replay,
                    .dump = first->setup.kind == NPU_DEV_MODEL ? NULL : dump,
                    .explain = &b->ex};
    const int rc = again.test->execute(&again);
    tc_close(&again);
    free(again.series);
    free(again.hang);
    bundle_read_tensors(b, again.devices);
    if (again.setup.kind != NPU_DEV_MODEL) {
        bundle_trim_tensors(b, again.devices);
    }
    b->replayed = rc == 0 || b->replay.outcome != TB_PASS;
    if (!b->replayed) {
        snprintf(b->no_replay, sizeof b->no_replay, "%s", again.err);
    }
}

static int write_folder(void *report, const char *again, char *err, size_t err_size) {
    struct bundle *b = (struct bundle *)report;
    char path[640];
    tb_result *result = b->first->result;
    b->run = (const tc_run *)b->first->more;
    snprintf(b->again, sizeof b->again, "%s", again);
    if (tb_sim_signal() != 0) {
        return stop(err, err_size, b->dir, "the run was stopped by a signal");
    }
    if (tb_make_folder(b->temp, err, err_size) != 0) {
        return -1;
    }
    if (b->first->fail_wave != NULL) {
        b->has_wave = b->first->no_wave[0] == '\0' && access(b->wave, R_OK) == 0;
        snprintf(b->no_wave, sizeof b->no_wave, "%s",
                 b->has_wave                    ? ""
                 : b->first->no_wave[0] != '\0' ? b->first->no_wave
                                                : "the device was never opened");
    }
    replay(b);
    bundle_judge(b);
    bundle_draw_wave(b);
    if (tb_sim_signal() == 0 && write_files(b, err, err_size) != 0) {
        return -1;
    }
    if (tb_sim_signal() != 0) {
        return stop(err, err_size, b->dir, "stopped by a signal");
    }
    if (publish(b, err, err_size) != 0) {
        return -1;
    }
    bundle_report_txt(b, stdout, BUNDLE_SCREEN);
    snprintf(path, sizeof path, "%s/report.html", b->dir);
    tb_kv_set(&result->extra, "report", path);
    if (b->has_wave) {
        snprintf(path, sizeof path, "%s/wave.fst", b->dir);
        tb_kv_set(&result->extra, "wave", path);
    }
    return 0;
}

static void end(void *report) {
    struct bundle *b = (struct bundle *)report;
    remove_folder(b->temp);
    npu_explain_free(&b->ex);
    tb_result_free(&b->replay);
    free(b->left);
    free(b);
}

const tb_report_ops cli_report = {.check = check_folder, .begin = begin, .write = write_folder, .end = end};
