/* out.c - a text file that appears whole or not at all. */
#include "tool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int failed(const char *path, cov_error *err) {
    (void)snprintf(err->text, sizeof err->text, "%.200s: %s", path, strerror(errno));
    return COV_IO;
}

int tool_out_open(tool_out *out, const char *path, cov_error *err) {
    out->path = path;
    out->file = NULL;
    if ((size_t)snprintf(out->temporary, sizeof out->temporary, "%s.tmp%ld", path, (long)getpid()) < sizeof out->temporary) {
        out->file = fopen(out->temporary, "w");
    } else {
        errno = ENAMETOOLONG;
    }
    return out->file != NULL ? COV_OK : failed(path, err);
}

int tool_out_close(tool_out *out, cov_error *err) {
    const bool broken = ferror(out->file) != 0;
    if (fclose(out->file) == 0 && !broken && rename(out->temporary, out->path) == 0) {
        return COV_OK;
    }
    const int status = failed(out->path, err);
    (void)unlink(out->temporary);
    return status;
}
