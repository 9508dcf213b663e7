/* names.c - files with a line for each class or object. */
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

/* ---- objects ---- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool parse(const char *line, char name[256], net_box *b) {
    int end = 0;
    bool ok = sscanf(line, "%255s %u %f %f %f %f %n", name, &b->label, &b->x, &b->y, &b->w, &b->h, &end) == 6;
    return ok && (line[end] == '\0' || line[end - 1] == ' ') && b->w > 0.0f && b->h > 0.0f; /* a name may follow */
}

bool photos_objects_load(photos_objects *p, const char *path, uint32_t count, const char *const *image) {
    photos_names lines = {0};
    bool ok = photos_names_load(&lines, path);
    p->object = ok ? calloc((size_t)lines.count + 1, sizeof *p->object) : NULL;
    ok = p->object != NULL;
    for (uint32_t i = 0; ok && i < lines.count; i++) {
        char name[256];
        net_object t = {.image = count};
        if (lines.line[i][0] == '\0') {
            continue;
        }
        ok = parse(lines.line[i], name, &t.box);
        if (!ok) {
            fprintf(stderr, "tandem-net: %s:%u: expected picture, class, x, y, width and height of an object\n", path,
                    i + 1);
        }
        for (uint32_t k = 0; ok && k < count && t.image == count; k++) {
            t.image = strcmp(base_name(image[k]), name) == 0 ? k : count;
        }
        if (t.image < count) {
            p->object[p->count++] = t;
        }
    }
    photos_names_free(&lines);
    if (ok && p->count == 0) {
        fprintf(stderr, "tandem-net: %s: no objects of these pictures\n", path);
        ok = false;
    }
    return ok;
}

void photos_objects_free(photos_objects *p) {
    free(p->object);
    *p = (photos_objects){0};
}
