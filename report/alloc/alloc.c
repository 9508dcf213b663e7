/*
 * alloc.c - refused allocations are noted in one place instead of at each caller.
 *
 * Programs that give verdicts are linked with --wrap for the functions that allocate (ALLOC_NOTED in scripts/flags.mk).
 */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The linker gives these names to the callers and to the C library. */
#define ALLOCATES(name, parameters, arguments)                                                                         \
    void *__real_##name parameters;                                                                                    \
    void *__wrap_##name parameters;                                                                                    \
    void *__wrap_##name parameters {                                                                                   \
        void *memory = __real_##name arguments;                                                                        \
        if (memory == NULL) {                                                                                          \
            (void)rep_host(errno);                                                                                     \
        }                                                                                                              \
        return memory;                                                                                                 \
    }
ALLOCATES(malloc, (size_t size), (size))
ALLOCATES(calloc, (size_t count, size_t size), (count, size))
ALLOCATES(realloc, (void *old, size_t size), (old, size))
ALLOCATES(aligned_alloc, (size_t alignment, size_t size), (alignment, size))

char *__real_strndup(const char *text, size_t most);
char *__wrap_strndup(const char *text, size_t most);
char *__wrap_strndup(const char *text, size_t most) {
    char *copy = __real_strndup(text, most);
    if (copy == NULL) {
        (void)rep_host(errno);
    }
    return copy;
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
    char *copy = __real_strdup(text);
    if (copy == NULL) {
        (void)rep_host(errno);
    }
    return copy;
}
