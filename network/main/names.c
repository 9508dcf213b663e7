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
    *n = (photos_names){0};
}

static net_status no_memory(net_error *err) {
    (void)snprintf(err->text, sizeof err->text, "out of memory");
    return NET_ERR_MEMORY;
}

net_status photos_names_load(photos_names *n, const char *path, net_error *err) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: cannot read: %s", path, strerror(errno));
        return NET_ERR_IO;
    }
    n->text = malloc(MAX_NAMES_BYTES);
    const size_t bytes = n->text != NULL ? fread(n->text, 1, MAX_NAMES_BYTES, file) : 0;
    const int error = ferror(file) != 0 ? errno : 0;
    (void)fclose(file);
    if (error != 0 || bytes == MAX_NAMES_BYTES) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: cannot read: %s", path,
                       error != 0 ? strerror(error) : "too long");
        return NET_ERR_IO;
    }
    for (size_t i = 0; i < bytes; i++) {
        n->count += n->text[i] == '\n' || i + 1 == bytes;
    }
    n->line = n->text != NULL ? calloc((size_t)n->count + 1, sizeof *n->line) : NULL;
    if (n->line == NULL) {
        return no_memory(err);
    }
    char *at = n->text;
    for (uint32_t i = 0; i < n->count; i++) {
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
    return NET_OK;
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

net_status photos_objects_load(photos_objects *p, const char *path, uint32_t count, const char *const *image,
                               net_error *err) {
    photos_names lines = {0};
    net_status status = photos_names_load(&lines, path, err);
    if (status == NET_OK) {
        p->object = calloc((size_t)lines.count + 1, sizeof *p->object);
        status = p->object != NULL ? NET_OK : no_memory(err);
    }
    for (uint32_t i = 0; status == NET_OK && i < lines.count; i++) {
        char name[256];
        net_object t = {.image = count};
        if (lines.line[i][0] == '\0') {
            continue;
        }
        if (!parse(lines.line[i], name, &t.box)) {
            (void)snprintf(err->text, sizeof err->text,
                           "%.200s:%u: expected picture, class, x, y, width and height of an object", path, i + 1);
            status = NET_ERR_FORMAT;
        }
        for (uint32_t k = 0; status == NET_OK && k < count && t.image == count; k++) {
            t.image = strcmp(base_name(image[k]), name) == 0 ? k : count;
        }
        if (t.image < count) {
            p->object[p->count++] = t;
        }
    }
    photos_names_free(&lines);
    if (status == NET_OK && p->count == 0) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: no objects of these pictures", path);
        status = NET_ERR_FORMAT;
    }
    return status;
}

void photos_objects_free(photos_objects *p) {
    free(p->object);
    *p = (photos_objects){0};
}
