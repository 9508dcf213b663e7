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
