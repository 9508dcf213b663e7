/* common.c - what the targets share. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

volatile uint8_t *fuzz_told;

_Noreturn void fuzz_fail(const char *what, const char *detail) {
    if (fuzz_told != NULL) {
        *fuzz_told = 1;
    }
    fprintf(stderr, "property does not hold: %s: %s\n", what, detail);
    abort();
}

void fuzz_check_line(const char *text) {
    if (text[0] == '\0') {
        fuzz_fail("an error has a line", "empty");
    }
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            fuzz_fail("an error is one printable line", text);
        }
    }
}

const char *fuzz_file(const uint8_t *data, size_t size) {
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
        fuzz_fail("a file in memory", "cannot be made");
    }
    return path;
}
