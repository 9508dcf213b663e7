/* memory.c - text that grows in memory. */
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct memory {
    char **text;
    size_t *bytes;
    size_t capacity;
    bool bad; /* something is missing */
} memory;

static ssize_t take(void *cookie, const char *data, size_t size) {
    memory *m = cookie;
    const size_t need = *m->bytes + size + 1;
    if (need > m->capacity) {
        const size_t capacity = need > 2 * m->capacity ? need : 2 * m->capacity;
        char *grown = realloc(*m->text, capacity);
        if (grown == NULL) {
            m->bad = true;
            errno = ENOMEM;
            return 0; /* an error of the stream */
        }
        *m->text = grown;
        m->capacity = capacity;
    }
    memcpy(*m->text + *m->bytes, data, size);
    *m->bytes += size;
    (*m->text)[*m->bytes] = '\0';
    return (ssize_t)size;
}

static int finish(void *cookie) {
    memory *m = cookie;
    const bool bad = m->bad;
    if (bad) {
        free(*m->text);
        *m->text = NULL;
        *m->bytes = 0;
        errno = ENOMEM;
    }
    free(m);
    return bad ? EOF : 0;
}

FILE *rep_memory(char **text, size_t *bytes) {
    memory *m = calloc(1, sizeof *m);
    *text = calloc(1, 1);
    *bytes = 0;
    FILE *out = m == NULL || *text == NULL
                    ? NULL
                    : fopencookie(m, "w", (cookie_io_functions_t){.write = take, .close = finish});
    if (out == NULL) {
        (void)rep_host(errno);
        free(m);
        free(*text);
        *text = NULL;
        return NULL;
    }
    *m = (memory){.text = text, .bytes = bytes, .capacity = 1};
    return out;
}
