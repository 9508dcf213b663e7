/* text.c - text into JSON and pages, files that appear whole or not at all. */
#include "text.h"

#include <errno.h>
#include <string.h>

void put_json_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', out);
        }
        if ((unsigned char)*text < 32) {
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*text);
        } else {
            fputc(*text, out);
        }
    }
    fputc('"', out);
}

void put_html_text(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        const char *instead = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : *text == '"' ? "&quot;" : NULL;
        if (instead != NULL) {
            fputs(instead, out);
        } else {
            fputc((unsigned char)*text < 32 ? '?' : *text, out);
        }
    }
}

bool put_file(const char *path, void (*put)(FILE *out, const void *ctx), const void *ctx) {
    char temporary[600];
    if (strcmp(path, "-") == 0) {
        put(stdout, ctx);
        return true;
    }
    (void)snprintf(temporary, sizeof temporary, "%.500s.tmp", path);
    FILE *out = fopen(temporary, "w");
    bool ok = out != NULL;
    if (ok) {
        put(out, ctx);
        ok = ferror(out) == 0;
        ok = fclose(out) == 0 && ok && rename(temporary, path) == 0;
    }
    if (!ok) {
        fprintf(stderr, "tandem-net: %.500s: cannot write: %s\n", path, strerror(errno));
        (void)remove(temporary);
    }
    return ok;
}
