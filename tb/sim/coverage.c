/* coverage.c - the code coverage of a process as a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"

/* All of a file in memory, to be freed; NULL: errno says why. */
static char *slurp(int fd, size_t *size) {
    const off_t end = lseek(fd, 0, SEEK_END);
    char *text = end >= 0 ? malloc((size_t)end + 1) : NULL;
    *size = 0;
    while (text != NULL && *size < (size_t)end) {
        const ssize_t got = pread(fd, text + *size, (size_t)end - *size, (off_t)*size);
        if (got <= 0) {
            free(text);
            return NULL;
        }
        *size += (size_t)got;
    }
    return text;
}

int tb_sim_coverage_check(const tb_shim *shim, const char *path, char *err, size_t err_size) {
    const bool can = shim != NULL && shim->coverage_write != NULL;
    if (!can) {
        snprintf(err, err_size, "%s: code coverage needs a build that counts it (KIND=cov)", path);
    }
    return can ? 0 : -1;
}

/* The runtime writes files only, and does not detect a full disk: so its file is in memory. */
int tb_sim_coverage_text(const tb_shim *shim, char **text, size_t *size, char *err, size_t err_size) {
    char name[64];
    *text = NULL;
    if (tb_sim_coverage_check(shim, "coverage", err, err_size) != 0) {
        return -1;
    }
    const int fd = memfd_create("coverage", 0);
    if (fd >= 0) {
        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        if (!shim->coverage_write(name, err, err_size)) {
            close(fd);
            return -1;
        }
        *text = slurp(fd, size);
    }
    if (*text == NULL) {
        snprintf(err, err_size, "no memory for the code coverage: %s", strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return *text != NULL ? 0 : -1;
}
