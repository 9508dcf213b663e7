/* coverage.c - the code coverage of a process as a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"

/* Copy all of a file; false: errno says why. */
static bool copy(int from, FILE *to) {
    char block[65536];
    ssize_t got;
    while ((got = read(from, block, sizeof block)) > 0) {
        if (fwrite(block, 1, (size_t)got, to) != (size_t)got) {
            return false;
        }
    }
    return got == 0;
}

/* Under a temporary name, then renamed. */
static int save(int from, const char *path, char *err, size_t err_size) {
    const size_t size = strlen(path) + 32;
    char *temporary = malloc(size);
    FILE *out = NULL;
    bool good = temporary != NULL;
    if (good) {
        (void)snprintf(temporary, size, "%s.tmp%ld", path, (long)getpid());
        out = fopen(temporary, "wb");
        good = out != NULL;
    }
    if (good) {
        good = copy(from, out);
        good = fclose(out) == 0 && good;
        good = good && rename(temporary, path) == 0;
    }
    if (!good) {
        snprintf(err, err_size, "%s: cannot be written: %s", path, temporary == NULL ? "out of memory" : strerror(errno));
        if (out != NULL) {
            (void)unlink(temporary);
        }
    }
    free(temporary);
    return good ? 0 : -1;
}

int tb_sim_coverage_check(const tb_shim *shim, const char *path, char *err, size_t err_size) {
    const bool can = shim != NULL && shim->coverage_write != NULL;
    if (!can) {
        snprintf(err, err_size, "%s: code coverage needs a build that counts it (KIND=cov)", path);
    }
    return can ? 0 : -1;
}

/* The runtime does not notice a disk that is full, so it writes into memory, and what is there is copied with a look at every step. */
int tb_sim_write_coverage(const tb_shim *shim, const char *path, char *err, size_t err_size) {
    char name[64];
    if (tb_sim_coverage_check(shim, path, err, err_size) != 0) {
        return -1;
    }
    const int fd = memfd_create("coverage", 0);
    if (fd < 0) {
        snprintf(err, err_size, "%s: no memory for the coverage: %s", path, strerror(errno));
        return -1;
    }
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int rc = shim->coverage_write(name, err, err_size) ? 0 : -1;
    if (rc == 0) {
        rc = save(fd, path, err, err_size);
    }
    close(fd);
    return rc;
}
