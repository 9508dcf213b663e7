/* paths.c - paths of a job's program, and of the files of a job and of the run. */
#include "job.h"

#include <string.h>

void reg_job_dir(const char *out_dir, const reg_job *job, size_t index, uint32_t attempt, char *out, size_t size) {
    char number[24] = "";
    if (attempt > 1) { /* a folder of its own: processes of the previous attempt may still be writing */
        (void)reg_format(number, sizeof number, ".%u", attempt);
    }
    char cfg[REG_LABEL_MAX];
    (void)reg_format(cfg, sizeof cfg, "%s", job->cfg);
    /* of another design than the default: one folder */
    cfg[strcspn(cfg, "/")] = cfg[strcspn(cfg, "/")] == '/' ? '-' : '\0';
    (void)reg_format(out, size, "%s/%05zu-%s-%s-%s%s%s", out_dir, index, reg_what_name(job->what), job->name, cfg,
                     job->second_run ? "-again" : "", number);
}

void reg_cover_stem(const char *coverage_dir, size_t index, char *out, size_t size) {
    out[0] = '\0';
    if (coverage_dir != NULL && coverage_dir[0] != '\0') {
        (void)reg_format(out, size, "%s/%05zu", coverage_dir, index);
    }
}

bool reg_pinned_dir(const char *out_dir, char *out, size_t size) {
    return reg_format(out, size, "%s/programs", out_dir);
}

bool reg_verify_dir(const char *out_dir, char *out, size_t size) {
    return reg_format(out, size, "%s/verify", out_dir);
}

bool reg_report_dir(const char *out_dir, char *out, size_t size) {
    return reg_format(out, size, "%s/report", out_dir);
}

void reg_explained_dir(const char *out_dir, size_t index, char *out, size_t size) {
    (void)reg_format(out, size, "%s/%05zu-explained", out_dir, index);
}

bool reg_job_program(const reg_job *job, const char *build_dir, char *out, size_t size) {
    switch (job->what) {
    case REG_UNIT:
        return reg_format(out, size, "%s/%s-%s/unit-%s", build_dir, job->cfg, job->kind, job->name);
    case REG_TEST:
    case REG_CASE:
        return reg_format(out, size, "%s/%s-%s/tandem", build_dir, job->cfg, job->kind);
    case REG_PYTHON:
        return reg_format(out, size, "%s/%s-%s/tandem-python", build_dir, job->cfg, job->kind);
    default:
        return reg_format(out, size, "%s/%s-%s/tandem-net", build_dir, job->cfg, job->kind);
    }
}
