/* report.c - --report DIR: runs the case once more and writes the folder with the report on its failure. */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"
#include "../case/store.h"
#include "../sim/sim.h"
#include "tandem.h"
#include "options.h"
#include "report.h"
#include "report/bundle.h"
#include "opt/opt.h"

/* ---- the folder ---- */

static int stop(char *err, size_t err_size, const char *what, const char *why) {
    return opt_fail(err, err_size, "%s: %s", what, why);
}

/* A report may replace nothing, an empty folder, or another report. */
static int replaceable(const char *dir, char *err, size_t err_size) {
    char file[600];
    struct stat st;
    if (stat(dir, &st) != 0) {
        return errno == ENOENT ? 0 : stop(err, err_size, dir, strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) {
        return stop(err, err_size, dir, "exists and is not a folder");
    }
    snprintf(file, sizeof file, "%s/" REP_BUNDLE_TEXT, dir);
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
               : stop(err, err_size, dir,
                      "holds files that do not belong to a report; expected a new or empty folder, or an older report");
}

int tb_report_check(const tb_prog_options *o, char *err, size_t err_size) {
    if (o->report == NULL) {
        return 0;
    }
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

/* Move the new report to its place, then remove the old one. */
static int publish(const tb_report *r, char *err, size_t err_size) {
    char old[600];
    snprintf(old, sizeof old, "%s.old%d", r->dir, (int)getpid());
    if (replaceable(r->dir, err, err_size) != 0) {
        return -1;
    }
    for (;;) {
        const bool had = rename(r->dir, old) == 0;
        if (rename(r->temp, r->dir) == 0) {
            if (had) {
                remove_folder(old);
            }
            return 0;
        }
        const int why = errno;
        if (had && why != EEXIST && why != ENOTEMPTY) {
            (void)rename(old, r->dir);
        } else if (had) {
            remove_folder(old);
        }
        if (why != EEXIST &&
            why != ENOTEMPTY) { /* else another run has just put its report there: the last one stays */
            return stop(err, err_size, r->dir, strerror(rep_host_write(why)));
        }
    }
}

/* ---- its files ---- */

static int write_file(const tb_report *r, const char *name, tb_report_writer *writer, char *err, size_t err_size) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s", r->temp, name);
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        return stop(err, err_size, path, strerror(errno));
    }
    writer(r, f);
    const bool bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad) {
        (void)rep_host_write(bad ? EIO : errno); /* the reason of an earlier write is gone */
        return stop(err, err_size, path, "cannot be written");
    }
    return 0;
}

static void full_text(const tb_report *r, FILE *out) {
    tb_report_text(r, out, true);
}

static int write_case(const tb_report *r, char *err, size_t err_size) {
    const tb_prog_run *f = r->first;
    char path[640];
    snprintf(path, sizeof path, "%s/" REP_BUNDLE_CASE, r->temp);
    return tb_case_save(path, f->test->name, r->o->prog->cfg, f->seed, f->knobs, err, err_size);
}

static int write_files(const tb_report *r, char *err, size_t err_size) {
    static const struct {
        const char *name;
        tb_report_writer *write;
    } files[] = {{REP_BUNDLE_BUS, tb_report_axi},
                 {REP_BUNDLE_VERSIONS, tb_report_versions},
                 {REP_BUNDLE_PAGE, tb_report_html},
                 {REP_BUNDLE_TEXT, full_text}};
    int rc = write_case(r, err, err_size);
    for (size_t i = 0; rc == 0 && r->ops != NULL && i < TB_REPORT_FILES && r->ops->file[i].name != NULL; i++) {
        rc = write_file(r, r->ops->file[i].name, r->ops->file[i].write, err, err_size);
    }
    for (size_t i = 0; rc == 0 && i < sizeof files / sizeof files[0]; i++) {
        rc = write_file(r, files[i].name, files[i].write, err, err_size);
    }
    return rc;
}

/* ---- the runs ---- */

tb_report *tb_report_begin(tb_prog_run *run) {
    const tb_prog_options *o = run->o;
    const tb_shim *shim = tb_shim_get();
    tb_report *r = o->report != NULL ? (tb_report *)calloc(1, sizeof *r) : NULL;
    if (r == NULL) {
        return NULL;
    }
    size_t length = strlen(o->report);
    while (length > 1 && o->report[length - 1] == '/') {
        length--;
    }
    r->o = o;
    r->ops = o->prog->report;
    r->first = run;
    r->result = run->result;
    tb_result_init(&r->replay);
    snprintf(r->dir, sizeof r->dir, "%.*s", (int)length, o->report);
    snprintf(r->temp, sizeof r->temp, "%s.tmp%d", r->dir, (int)getpid());
    snprintf(r->wave, sizeof r->wave, "%s/" REP_BUNDLE_WAVE, r->temp);
    if (shim == NULL) {
        snprintf(r->no_wave, sizeof r->no_wave, "no RTL took part");
    } else if (shim->trace_open == NULL) {
        snprintf(r->no_wave, sizeof r->no_wave, "this build has no tracing (KIND=tap and KIND=debug have)");
    } else {
        run->fail_wave = r->wave;
        run->folder = r->temp;
    }
    return r;
}

/* The same case, with a log for the report. */
static int replay(tb_report *r) {
    const tb_prog_run *first = r->first;
    char dump[640];
    snprintf(dump, sizeof dump, "%s/" REP_BUNDLE_TENSORS, r->temp);
    if (r->ops != NULL) {
        r->more = r->ops->begin();
        if (r->more == NULL) {
            return -1;
        }
    }
    r->story = r->ops != NULL ? r->ops->story(r->more) : &r->own;
    tb_prog_run again = {.o = r->o,
                         .test = first->test,
                         .seed = first->seed,
                         .knobs = first->knobs,
                         .again = true,
                         .dump = r->o->prog->dumps ? dump : NULL,
                         .story = r->story,
                         .result = &r->replay};
    const int rc = tb_test_execute(&again);
    if (again.dump != NULL) {
        tb_report_read_streams(r, again.devices);
        tb_report_trim(r, again.devices);
    }
    r->replayed = rc == 0 || r->replay.outcome != TB_PASS;
    if (!r->replayed) {
        snprintf(r->no_replay, sizeof r->no_replay, "%s", again.err);
    }
    tb_prog_run_free(&again);
    return 0;
}

/* Path of the first run's waveform, or why there is none. */
static void find_wave(tb_report *r) {
    const tb_prog_run *first = r->first;
    if (first->fail_wave == NULL) {
        return;
    }
    r->has_wave = first->no_wave[0] == '\0' && access(r->wave, R_OK) == 0;
    snprintf(r->no_wave, sizeof r->no_wave, "%s",
             r->has_wave                 ? ""
             : first->no_wave[0] != '\0' ? first->no_wave
                                         : "the device was never opened");
}

int tb_report_write(tb_report *r, const char *again, char *err, size_t err_size) {
    char path[640];
    tb_kv *extra = &r->first->result->extra;
    snprintf(r->again, sizeof r->again, "%s", again);
    if (tb_sim_signal() != 0) {
        return stop(err, err_size, r->dir, "the run was stopped by a signal");
    }
    if (tb_make_folder(r->temp, err, err_size) != 0) {
        return -1;
    }
    find_wave(r);
    if (replay(r) != 0) {
        return stop(err, err_size, r->dir, "out of memory");
    }
    tb_report_judge(r);
    tb_report_draw(r);
    if (tb_sim_signal() == 0 && write_files(r, err, err_size) != 0) {
        return -1;
    }
    if (tb_sim_signal() != 0) {
        return stop(err, err_size, r->dir, "stopped by a signal");
    }
    if (publish(r, err, err_size) != 0) {
        return -1;
    }
    tb_report_text(r, stdout, false);
    snprintf(path, sizeof path, "%s/" REP_BUNDLE_PAGE, r->dir);
    tb_kv_set(extra, "report", path);
    if (r->has_wave) {
        snprintf(path, sizeof path, "%s/" REP_BUNDLE_WAVE, r->dir);
        tb_kv_set(extra, "wave", path);
    }
    return 0;
}

void tb_report_end(tb_report *r) {
    if (r == NULL) {
        return;
    }
    remove_folder(r->temp);
    if (r->ops != NULL && r->more != NULL) {
        r->ops->end(r->more);
    }
    tb_story_free(&r->own);
    tb_result_free(&r->replay);
    free(r->left);
    free(r);
}
