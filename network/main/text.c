/* text.c - files that are written completely or not at all. */
#include "text.h"

#include <string.h>

bool put_file(const char *path, void (*put)(FILE *out, const void *ctx), const void *ctx) {
    const int error = rep_write(path, put, ctx);
    if (error != 0) {
        fprintf(stderr, "tandem-net: %.500s: cannot write: %s\n", path, strerror(error));
    }
    return error == 0;
}
