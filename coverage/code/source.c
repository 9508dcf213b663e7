/* source.c - sources: their lines, and which modules there are. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "part.h"
#include "report/report.h"

#define DEPTH_MAX 16

int code_source_read(code_source *source, const char *root, const char *file, cov_error *err) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    char path[3 * CODE_NAME_BYTES];
    *source = (code_source){0};
    (void)snprintf(path, sizeof path, "%s%s%s", file[0] == '/' ? "" : root, file[0] == '/' ? "" : "/", file);
    const int rc = cov_slurp(path, &bytes, &size, err);
    if (rc != COV_OK) {
        return rc;
    }
    bytes[size] = '\0'; /* cov_slurp has room for it */
    source->text = (char *)bytes;
    size_t lines = 1;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = bytes[i] == '\0' ? '?' : bytes[i];
        lines += bytes[i] == '\n';
    }
    source->line = calloc(lines + 1, sizeof *source->line);
    if (source->line == NULL) {
        code_source_free(source);
        return cov_no_memory(err);
    }
    for (char *at = source->text; *at != '\0';) {
        char *stop = strchr(at, '\n');
        char *next = stop == NULL ? at + strlen(at) : stop + 1;
        char *end = stop == NULL ? next : stop;
        while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) {
            end--;
        }
        source->line[source->count++] = at;
        *end = '\0';
        at = next;
    }
    return COV_OK;
}

void code_source_free(code_source *source) {
    free(source->text);
    free(source->line);
    *source = (code_source){0};
}

const char *code_source_line(const code_source *source, uint32_t line) {
    return line == 0 || line > source->count ? "" : source->line[line - 1];
}

bool code_source_note(const code_source *source, uint32_t line, const char *key, char *dst, size_t size) {
    char mark[40];
    (void)snprintf(mark, sizeof mark, "// %s:", key);
    for (uint32_t l = line; l > 0; l--) {
        const char *text = code_source_line(source, l);
        const char *note = strstr(text, mark);
        if (note != NULL) {
            note += strlen(mark);
            (void)snprintf(dst, size, "%s", note + strspn(note, " "));
            return dst[0] != '\0';
        }
        if (l < line && strncmp(text + strspn(text, " \t"), "//", 2) != 0) {
            break;
        }
    }
    return false;
}

/* ---- modules ---- */

typedef struct modules {
    code_module *module;
    size_t count;
} modules;

static int keep(modules *m, const char *file, const char *name, size_t length, cov_error *err) {
    if (!rep_more(&m->module, m->count, sizeof *m->module)) {
        return cov_no_memory(err);
    }
    code_module *more = m->module;
    more[m->count] = (code_module){.file = strdup(file), .name = strndup(name, length)};
    const bool good = more[m->count].file != NULL && more[m->count].name != NULL;
    m->count++;
    return good ? COV_OK : cov_no_memory(err);
}

/* Lines that begin with "module NAME" or "package NAME". */
static int take_file(modules *m, const char *root, const char *file, cov_error *err) {
    code_source source;
    int rc = code_source_read(&source, root, file, err);
    for (uint32_t i = 1; rc == COV_OK && i <= source.count; i++) {
        const char *at = code_source_line(&source, i);
        at += strspn(at, " \t");
        const size_t word = strncmp(at, "module ", 7) == 0 ? 7 : strncmp(at, "package ", 8) == 0 ? 8 : 0;
        if (word == 0) {
            continue;
        }
        at += word + strspn(at + word, " \t");
        for (const char *rest = NULL; strncmp(at, "automatic ", 10) == 0 || strncmp(at, "static ", 7) == 0; at = rest) {
            rest = strchr(at, ' ') + 1;
        }
        size_t length = 0;
        while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '$') {
            length++;
        }
        rc = length > 0 ? keep(m, file, at, length, err) : rc;
    }
    code_source_free(&source);
    return rc;
}

static bool is_source(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot != NULL && (strcmp(dot, ".sv") == 0 || strcmp(dot, ".v") == 0);
}

static int take_folder(modules *m, const char *root, const char *dir, int depth, cov_error *err) {
    char path[3 * CODE_NAME_BYTES];
    char name[2 * CODE_NAME_BYTES];
    struct dirent **entries = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", root, dir);
    const int count = depth > DEPTH_MAX ? -1 : scandir(path, &entries, NULL, alphasort);
    int rc = count < 0 ? cov_fail(err, COV_IO, "%s: no folder that can be read", path) : COV_OK;
    for (int i = 0; i < count; i++) {
        struct stat about;
        (void)snprintf(name, sizeof name, "%s/%s", dir, entries[i]->d_name);
        (void)snprintf(path, sizeof path, "%s/%s", root, name);
        if (rc == COV_OK && entries[i]->d_name[0] != '.' && stat(path, &about) == 0) {
            rc = S_ISDIR(about.st_mode)          ? take_folder(m, root, name, depth + 1, err)
                 : is_source(entries[i]->d_name) ? take_file(m, root, name, err)
                                                 : COV_OK;
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int code_modules(code_module **module, size_t *count, const char *root, const char *dir, cov_error *err) {
    modules m = {0};
    const int rc = take_folder(&m, root, dir, 0, err);
    if (rc != COV_OK) {
        code_modules_free(m.module, m.count);
        m = (modules){0};
    }
    *module = m.module;
    *count = m.count;
    return rc;
}

void code_modules_free(code_module *module, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(module[i].file);
        free(module[i].name);
    }
    free(module);
}
