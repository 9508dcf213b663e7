/* put.c - what the commands write: errors of files, scores as JSON. */
#include "tool.h"

#include <inttypes.h>
#include <string.h>

void put_score(FILE *out, const cov_score *s) {
    fprintf(out,
            "\"percent\": %.2f, \"total\": %" PRIu64 ", \"covered\": %" PRIu64 ", \"illegal_hits\": %" PRIu64
            ", \"ignored\": %" PRIu64,
            s->percent, s->total, s->covered, s->illegal, s->ignored);
}

int tool_told(int error, const char *path, cov_error *err) {
    if (error != 0) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: %s", path, strerror(error));
    }
    return error == 0 ? COV_OK : COV_IO;
}
