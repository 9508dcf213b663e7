/*
 * alloc.c - refused calls are noted in one place instead of at each caller.
 *
 * Programs that give verdicts are linked with --wrap for the functions that need something of the machine: memory,
 * descriptors, processes, files (REFUSALS_NOTED in scripts/flags.mk). The linker gives these names to the
 * callers and to the C library.
 */
#include "report/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTED(type, name, parameters, arguments, refused, note)                                                        \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters {                                                                                    \
        type result = __real_##name arguments;                                                                         \
        if (refused) {                                                                                                 \
            (void)(note)(errno);                                                                                       \
        }                                                                                                              \
        return result;                                                                                                 \
    }
NOTED(void *, malloc, (size_t size), (size), result == NULL, rep_host)
NOTED(void *, calloc, (size_t count, size_t size), (count, size), result == NULL, rep_host)
NOTED(void *, realloc, (void *old, size_t size), (old, size), result == NULL, rep_host)
NOTED(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), result == NULL, rep_host)
NOTED(char *, strdup, (const char *text), (text), result == NULL, rep_host)
NOTED(char *, strndup, (const char *text, size_t most), (text, most), result == NULL, rep_host)
NOTED(int, pipe, (int fd[2]), (fd), result != 0, rep_host)
NOTED(int, pipe2, (int fd[2], int flags), (fd, flags), result != 0, rep_host)
NOTED(pid_t, fork, (void), (), result < 0, rep_host)
NOTED(FILE *, fopen, (const char *path, const char *mode), (path, mode), result == NULL,
      mode[0] == 'r' ? rep_host : rep_host_write)
NOTED(FILE *, fdopen, (int fd, const char *mode), (fd, mode), result == NULL, rep_host)
NOTED(DIR *, opendir, (const char *path), (path), result == NULL, rep_host)
typedef int filter(const struct dirent *);
typedef int order(const struct dirent **, const struct dirent **);
NOTED(int, scandir, (const char *path, struct dirent ***to, filter *wanted, order *before), (path, to, wanted, before),
      result < 0, rep_host)
NOTED(int, access, (const char *path, int mode), (path, mode), result != 0, rep_host)
NOTED(int, lstat, (const char *path, struct stat *to), (path, to), result != 0, rep_host)
NOTED(int, stat, (const char *path, struct stat *to), (path, to), result != 0, rep_host)
NOTED(int, fstat, (int fd, struct stat *to), (fd, to), result != 0, rep_host)
NOTED(int, mkdir, (const char *path, mode_t mode), (path, mode), result != 0, rep_host_write)
NOTED(size_t, fwrite, (const void *from, size_t size, size_t count, FILE *out), (from, size, count, out),
      result < count, rep_host_write)
NOTED(int, fflush, (FILE * out), (out), result != 0, rep_host_write)
NOTED(int, fclose, (FILE * file), (file), result != 0, rep_host_write)
/* the end of a file is no error */
NOTED(size_t, fread, (void *to, size_t size, size_t count, FILE *in), (to, size, count, in),
      result < count && ferror(in) != 0, rep_host)
NOTED(char *, fgets, (char *to, int size, FILE *in), (to, size, in), result == NULL && ferror(in) != 0, rep_host)
NOTED(ssize_t, getline, (char **to, size_t *size, FILE *in), (to, size, in), result < 0 && feof(in) == 0, rep_host)

int __wrap_asprintf(char **to, const char *format, ...);
int __wrap_asprintf(char **to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = vasprintf(to, format, args);
    va_end(args);
    if (length < 0) {
        (void)rep_host(errno);
    }
    return length;
}

/* Of libjansson, which reads by itself; a text that is no JSON leaves errno alone. */
void *__real_json_load_file(const char *path, size_t flags, void *error);
void *__wrap_json_load_file(const char *path, size_t flags, void *error);
void *__wrap_json_load_file(const char *path, size_t flags, void *error) {
    errno = 0;
    void *json = __real_json_load_file(path, flags, error);
    if (json == NULL) {
        (void)rep_host(errno);
    }
    return json;
}
