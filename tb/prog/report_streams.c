/*
 * report_streams.c - how an error went through the streams of the tasks: the tensor logs of the second run, compared.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tlog/tlog.h"
#include "report.h"
#include "report/bundle.h"
#include "report/report.h"

static bool differs(const tb_tlog_diff *d) {
    return d->only_a || d->only_b || d->shape_differs || d->wrong != 0;
}

static int note(void *ctx, const tb_tlog_diff *d) {
    tb_report *r = (tb_report *)ctx;
    if (d->only_b && !r->story->has_checks) {
        return 0; /* a build without taps has no values from between the units of the RTL */
    }
    r->streams_all++;
    r->streams_wrong += differs(d);
    if (!differs(d) || r->streams == TB_REPORT_STREAMS) {
        return 0;
    }
    tb_report_stream *s = &r->stream[r->streams++];
    *s = (tb_report_stream){.task = d->task, .wrong = d->wrong, .total = d->total, .missing = d->only_a || d->only_b};
    snprintf(s->name, sizeof s->name, "%s", d->stream);
    if (d->only_a || d->only_b) {
        snprintf(s->first, sizeof s->first, "only %s has it", d->only_a ? "the RTL" : "the model");
        return 0;
    }
    size_t at = 0;
    for (unsigned i = 0; d->wrong > 0 && i < d->axes && at < sizeof s->first; i++) {
        at += (size_t)snprintf(s->first + at, sizeof s->first - at, "%s%s %zu", i == 0 ? "" : ", ", d->axis[i],
                               d->first[i]);
    }
    if (d->shape_differs && at < sizeof s->first) {
        snprintf(s->first + at, sizeof s->first - at, "%sother length", at > 0 ? "; " : "");
    }
    snprintf(s->got, sizeof s->got, "%s", d->wrong > 0 ? d->a : "");
    snprintf(s->expected, sizeof s->expected, "%s", d->wrong > 0 ? d->b : "");
    return 0;
}

void tb_report_read_streams(tb_report *r, unsigned devices) {
    char rtl[700], model[700], sub[32] = "";
    if (!r->story->has_rtl || !r->story->has_model) {
        snprintf(r->no_streams, sizeof r->no_streams, "not available: it takes RTL and model in one run");
        return;
    }
    if (devices > 1) {
        snprintf(sub, sizeof sub, "/device-%u", devices);
    }
    snprintf(rtl, sizeof rtl, "%s/" REP_BUNDLE_TENSORS "%s/rtl", r->temp, sub);
    snprintf(model, sizeof model, "%s/" REP_BUNDLE_TENSORS "%s/model", r->temp, sub);
    if (access(rtl, R_OK) != 0) {
        snprintf(r->no_streams, sizeof r->no_streams, "not available: no tensor log was written");
        return;
    }
    char err[256];
    if (tb_tlog_compare(rtl, model, note, r, err, sizeof err) != 0) {
        snprintf(r->no_streams, sizeof r->no_streams, "not available: %.200s", err);
    }
}

/* ---- their size ---- */

typedef struct room {
    tb_report *report;
    unsigned device;
    bool compared; /* the device whose streams were */
    bool oom;
} room;

/* Streams that differ are kept first. */
static bool keep_first(void *ctx, const char *stream, uint64_t task) {
    const room *k = (const room *)ctx;
    const tb_report *r = k->report;
    for (size_t i = 0; k->compared && i < r->streams; i++) {
        if (r->stream[i].task == task && strcmp(r->stream[i].name, stream) == 0) {
            return true;
        }
    }
    return false;
}

static void gone(void *ctx, const char *stream, uint64_t task, uint64_t bytes) {
    room *k = (room *)ctx;
    tb_report *r = k->report;
    if (!rep_more(&r->left, r->lefts, sizeof *r->left)) {
        k->oom = true;
        return;
    }
    r->left[r->lefts] = (tb_report_left){.device = k->device, .task = task, .bytes = bytes};
    snprintf(r->left[r->lefts++].name, sizeof r->left->name, "%s", stream);
    r->left_bytes += bytes;
}

void tb_report_trim(tb_report *r, unsigned devices) {
    static const char *const side[] = {"rtl", "model", "streams"};
    char path[3][700], sub[32] = "";
    const char *dirs[3];
    uint64_t bytes = r->o->report_limit << 20;
    /* the last device is the one that failed: its streams have the first claim */
    for (unsigned device = devices; device > 0 && r->trim_err[0] == '\0'; device--) {
        room k = {.report = r, .device = device, .compared = device == devices};
        if (device > 1) {
            snprintf(sub, sizeof sub, "/device-%u", device);
        }
        for (unsigned i = 0; i < 3; i++) {
            snprintf(path[i], sizeof path[i], "%s/" REP_BUNDLE_TENSORS "%s/%s", r->temp, device > 1 ? sub : "",
                     side[i]);
            dirs[i] = path[i];
        }
        if (tb_tlog_trim(dirs, 3, &bytes, keep_first, gone, &k, r->trim_err, sizeof r->trim_err) == 0 && k.oom) {
            snprintf(r->trim_err, sizeof r->trim_err, "out of memory");
        }
    }
}

void tb_report_left_line(const tb_report *r, char *dst, size_t size) {
    dst[0] = '\0';
    if (r->trim_err[0] != '\0') {
        snprintf(dst, size, "tensors/ cannot be kept below %" PRIu64 " MiB: %s", r->o->report_limit, r->trim_err);
    } else if (r->lefts > 0) {
        snprintf(dst, size,
                 "%zu streams, %" PRIu64 " bytes, are not in tensors/, which may have %" PRIu64 " MiB (--report-limit)",
                 r->lefts, r->left_bytes, r->o->report_limit);
    }
}

void tb_report_left_stream(const tb_report_left *l, char *dst, size_t size) {
    char device[32] = "", task[40] = "";
    if (l->device > 1) {
        snprintf(device, sizeof device, "device %u: ", l->device);
    }
    if (l->task != UINT64_MAX) {
        snprintf(task, sizeof task, " of task %" PRIu64, l->task);
    }
    snprintf(dst, size, "%s%s%s, %" PRIu64 " bytes", device, l->name, task, l->bytes);
}
