/* child.c - runs work on files that may be damaged in a child process, and returns its output. */
#include "core.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_MIB 4096u    /* in addition to the size of this process */
#define SECONDS 10u         /* of CPU time, whatever the file */
#define SECONDS_PER_MIB 20u /* a compressed file expands to many times its size */
#define PREFIX "check: "    /* of messages of the program that has the same function */

typedef struct child {
    int (*work)(void *ctx);
    void *ctx;
    int out, err;
} child;

static int in_child(void *ctx) {
    const child *c = (const child *)ctx;
    if (dup2(c->out, 1) < 0 || dup2(c->err, 2) < 0) {
        return 125;
    }
    return c->work(c->ctx);
}

/* Size of this process, which is also the initial size of the child. */
static unsigned own_mib(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f != NULL) {
        if (fscanf(f, "%lu", &pages) != 1) {
            pages = 0;
        }
        fclose(f);
    }
    const unsigned long mib = pages * (unsigned long)sysconf(_SC_PAGESIZE) >> 20;
    return mib < 1u << 20 ? (unsigned)mib : 1u << 20;
}

static unsigned seconds_for(const char *path) {
    struct stat st;
    const uint64_t mib = stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size >> 20 : 0;
    return SECONDS + (unsigned)(mib < 4096 ? mib : 4096) * SECONDS_PER_MIB;
}

static PyObject *contents(int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)st.st_size);
    for (off_t at = 0; bytes != NULL && at < st.st_size;) {
        const ssize_t got = pread(fd, PyBytes_AS_STRING(bytes) + at, (size_t)(st.st_size - at), at);
        if (got <= 0) {
            Py_DECREF(bytes);
            return PyErr_SetFromErrno(PyExc_OSError);
        }
        at += got;
    }
    return bytes;
}

/* The first line of the child's standard error. */
static void raise_said(const core_state *state, const char *path, int fd) {
    char text[1024];
    const ssize_t got = pread(fd, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    const char *line = strncmp(text, PREFIX, strlen(PREFIX)) == 0 ? text + strlen(PREFIX) : text;
    PyErr_Format(state->error, "%s%s", line, line[0] == '\0' ? path : "");
}

PyObject *child_run(const core_state *state, const char *path, int (*work)(void *ctx), void *ctx, int bad) {
    char err[1024] = "";
    child c = {.work = work,
               .ctx = ctx,
               .out = memfd_create("tandem-out", MFD_CLOEXEC),
               .err = memfd_create("tandem-err", MFD_CLOEXEC)};
    PyObject *result = NULL;
    if (c.out < 0 || c.err < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
    } else {
        int status;
        Py_BEGIN_ALLOW_THREADS;
        status = tb_wave_guard(path, in_child, &c, seconds_for(path), own_mib() + MEMORY_MIB, err, sizeof err);
        Py_END_ALLOW_THREADS;
        if (status < 0) {
            PyErr_SetString(state->error, err);
        } else if (status >= bad) {
            raise_said(state, path, c.err);
        } else {
            result = contents(c.out);
        }
    }
    if (c.out >= 0) {
        close(c.out);
    }
    if (c.err >= 0) {
        close(c.err);
    }
    return result;
}
