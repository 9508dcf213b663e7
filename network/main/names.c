/* names.c - names of classes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "photos.h"

#define MAX_NAMES_BYTES (16u << 20)

void photos_names_free(photos_names *n) {
    free(n->text);
    free(n->line);
}

bool photos_names_load(photos_names *n, const char *path) {
    FILE *file = fopen(path, "rb");
    n->text = file != NULL ? malloc(MAX_NAMES_BYTES) : NULL;
    size_t bytes = n->text != NULL ? fread(n->text, 1, MAX_NAMES_BYTES, file) : 0;
    bool ok = n->text != NULL && ferror(file) == 0 && bytes < MAX_NAMES_BYTES;
    if (!ok) {
        fprintf(stderr, "tandem-net: %s: cannot read: %s\n", path,
                bytes == MAX_NAMES_BYTES ? "too long" : strerror(errno));
    }
    if (file != NULL) {
        fclose(file);
    }
    for (size_t i = 0; ok && i < bytes; i++) {
        n->count += n->text[i] == '\n' || i + 1 == bytes;
    }
    n->line = ok ? calloc((size_t)n->count + 1, sizeof *n->line) : NULL;
    char *at = n->text;
    for (uint32_t i = 0; n->line != NULL && i < n->count; i++) {
        size_t left = bytes - (size_t)(at - n->text);
        char *end = memchr(at, '\n', left);
        end = end != NULL ? end : at + left;
        n->line[i] = at;
        *end = '\0';
        if (end > at && end[-1] == '\r') {
            end[-1] = '\0';
        }
        at = end + 1;
    }
    return n->line != NULL;
}
