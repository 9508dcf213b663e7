/* bundle_tensors.c - how an error went through the streams of the tasks: the tensor logs of the second run, compared. */
#include "bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool differs(const tb_tlog_diff *d) {
    return d->only_a || d->only_b || d->shape_differs || d->wrong != 0;
}

static int note(void *ctx, const tb_tlog_diff *d) {
    struct bundle *b = (struct bundle *)ctx;
    if (d->only_b && !b->ex.has_checks) {
        return 0; /* a build without taps cannot see what is between the units of the RTL */
    }
    b->streams_all++;
    b->streams_wrong += differs(d);
    if (!differs(d) || b->streams == BUNDLE_STREAMS) {
        return 0;
    }
    bundle_stream *s = &b->stream[b->streams++];
    *s = (bundle_stream){.task = d->task, .wrong = d->wrong, .total = d->total, .missing = d->only_a || d->only_b};
    snprintf(s->name, sizeof s->name, "%s", d->stream);
    if (d->only_a || d->only_b) {
        snprintf(s->first, sizeof s->first, "only %s has it", d->only_a ? "the RTL" : "the model");
        return 0;
    }
    size_t at = 0;
    for (unsigned i = 0; d->wrong > 0 && i < d->axes && at < sizeof s->first; i++) {
        at += (size_t)snprintf(s->first + at, sizeof s->first - at, "%s%s %zu", i == 0 ? "" : ", ", d->axis[i], d->first[i]);
    }
    if (d->shape_differs && at < sizeof s->first) {
        snprintf(s->first + at, sizeof s->first - at, "%sother length", at > 0 ? "; " : "");
    }
    snprintf(s->got, sizeof s->got, "%s", d->wrong > 0 ? d->a : "");
    snprintf(s->expected, sizeof s->expected, "%s", d->wrong > 0 ? d->b : "");
    return 0;
}

void bundle_read_tensors(struct bundle *b, unsigned devices) {
    char rtl[700], model[700], sub[32] = "";
    if (!b->ex.has_rtl || !b->ex.has_model) {
        snprintf(b->no_tensors, sizeof b->no_tensors, "not available: it takes RTL and model (--device tandem)");
        return;
    }
    if (devices > 1) {
        snprintf(sub, sizeof sub, "/device-%u", devices);
    }
    snprintf(rtl, sizeof rtl, "%s/tensors%s/rtl", b->temp, sub);
    snprintf(model, sizeof model, "%s/tensors%s/model", b->temp, sub);
    if (access(rtl, R_OK) != 0) {
        snprintf(b->no_tensors, sizeof b->no_tensors, "not available: no tensor log was written");
        return;
    }
    char err[256];
    if (tb_tlog_compare(rtl, model, note, b, err, sizeof err) != 0) {
        snprintf(b->no_tensors, sizeof b->no_tensors, "not available: %.200s", err);
    }
}

/* ---- their size ---- */

typedef struct room {
    struct bundle *b;
    unsigned device;
    bool compared; /* the device whose streams were */
    bool oom;
} room;

/* What differs stays before what does not. */
static bool keep_first(void *ctx, const char *stream, uint64_t task) {
    const room *r = (const room *)ctx;
    for (size_t i = 0; r->compared && i < r->b->streams; i++) {
        if (r->b->stream[i].task == task && strcmp(r->b->stream[i].name, stream) == 0) {
            return true;
        }
    }
    return false;
}

static void gone(void *ctx, const char *stream, uint64_t task, uint64_t bytes) {
    room *r = (room *)ctx;
    struct bundle *b = r->b;
    bundle_left *list = (bundle_left *)realloc(b->left, (b->lefts + 1) * sizeof *list);
    if (list == NULL) {
        r->oom = true;
        return;
    }
    b->left = list;
    b->left[b->lefts] = (bundle_left){.device = r->device, .task = task, .bytes = bytes};
    snprintf(b->left[b->lefts++].name, sizeof list->name, "%s", stream);
    b->left_bytes += bytes;
}

void bundle_trim_tensors(struct bundle *b, unsigned devices) {
    static const char *const side[] = {"rtl", "model", "streams"};
    char path[3][700], sub[32] = "";
    const char *dirs[3];
    uint64_t bytes = b->o->report_limit << 20;
    /* the last device is the one that failed: its streams have the first claim */
    for (unsigned device = devices; device > 0 && b->trim_err[0] == '\0'; device--) {
        room r = {.b = b, .device = device, .compared = device == devices};
        if (device > 1) {
            snprintf(sub, sizeof sub, "/device-%u", device);
        }
        for (unsigned i = 0; i < 3; i++) {
            snprintf(path[i], sizeof path[i], "%s/tensors%s/%s", b->temp, device > 1 ? sub : "", side[i]);
            dirs[i] = path[i];
        }
        if (tb_tlog_trim(dirs, 3, &bytes, keep_first, gone, &r, b->trim_err, sizeof b->trim_err) == 0 && r.oom) {
            snprintf(b->trim_err, sizeof b->trim_err, "out of memory");
        }
    }
}

void bundle_left_line(const struct bundle *b, char *dst, size_t size) {
    dst[0] = '\0';
    if (b->trim_err[0] != '\0') {
        snprintf(dst, size, "tensors/ cannot be kept below %" PRIu64 " MiB: %s", b->o->report_limit, b->trim_err);
    } else if (b->lefts > 0) {
        snprintf(dst, size, "%zu streams, %" PRIu64 " bytes, are not in tensors/, which may have %" PRIu64 " MiB (--report-limit)",
                 b->lefts, b->left_bytes, b->o->report_limit);
    }
}

void bundle_left_stream(const bundle_left *l, char *dst, size_t size) {
    char device[32] = "", task[40] = "";
    if (l->device > 1) {
        snprintf(device, sizeof device, "device %u: ", l->device);
    }
    if (l->task != UINT64_MAX) {
        snprintf(task, sizeof task, " of task %" PRIu64, l->task);
    }
    snprintf(dst, size, "%s%s%s, %" PRIu64 " bytes", device, l->name, task, l->bytes);
}
