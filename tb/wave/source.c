/* Where VCD text comes from: a file, or the program fst2vcd that turns an FST into it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wave/vcd.h"
#include "opt/opt.h"

#define CONVERTER "fst2vcd"

typedef struct source {
    vcd_ids *ids;
    bool pipe;
} source;

/* The program that writes into in->file. */
typedef struct converter {
    pid_t pid; /* 0: the stream is a file */
    int error; /* errno of a program that could not be started */
} converter;

__attribute__((noreturn)) static void run_converter(const char *path, int out, int report) {
    /* it must not outlive a reader that was killed */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_RDWR);
    if (null >= 0 && dup2(null, 0) >= 0 && dup2(null, 2) >= 0 && dup2(out, 1) >= 0) {
        execlp(CONVERTER, CONVERTER, "-f", path, (char *)NULL);
    }
    const int error = errno;
    const ssize_t told = write(report, &error, sizeof error);
    _exit(told == (ssize_t)sizeof error ? 127 : 126);
}

static int start_converter(const char *path, converter *c, FILE **stream) {
    int data[2];
    int report[2];
    if (pipe2(data, O_CLOEXEC) != 0) {
        return -1;
    }
    if (pipe2(report, O_CLOEXEC) != 0) {
        close(data[0]);
        close(data[1]);
        return -1;
    }
    c->pid = fork();
    if (c->pid == 0) {
        run_converter(path, data[1], report[1]);
    }
    close(data[1]);
    close(report[1]);
    ssize_t n = -1;
    do {
        n = c->pid > 0 ? read(report[0], &c->error, sizeof c->error) : 0;
    } while (n < 0 && errno == EINTR);
    c->error = n == (ssize_t)sizeof c->error ? c->error : 0;
    close(report[0]);
    *stream = c->pid > 0 ? fdopen(data[0], "r") : NULL;
    if (*stream == NULL) {
        close(data[0]);
    }
    return *stream != NULL ? 0 : -1;
}

/* Wait for the program; true when it ended well. One whose output is no longer read is ended. */
static bool end_converter(const converter *c) {
    int status = 0;
    if (c->pid <= 0) {
        return true;
    }
    pid_t got;
    do {
        got = waitpid(c->pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    return got == c->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int begin(const tb_wave *wave, const source *src, vcd_stream *in, converter *c, char *err, size_t err_size) {
    *in = (vcd_stream){.name = wave->path, .line = 1, .err = err, .err_size = err_size};
    *c = (converter){0};
    const int status = src->pipe                                      ? start_converter(wave->file, c, &in->file)
                       : (in->file = fopen(wave->file, "rb")) != NULL ? 0
                                                                      : -1;
    if (status != 0) {
        snprintf(err, err_size, "%s: %s", wave->path, strerror(errno));
        end_converter(c);
    } else if (c->error != 0) {
        snprintf(err, err_size, "%s: cannot be read: " CONVERTER " (of the package gtkwave): %s", wave->path,
                 strerror(c->error));
        fclose(in->file);
        end_converter(c);
        return -1;
    }
    return status;
}

/* whole: the text was read to its end, so the program must have ended well. */
static int end(const tb_wave *wave, vcd_stream *in, const converter *c, int status, bool whole) {
    if (!whole && c->pid > 0) {
        kill(c->pid, SIGKILL);
    }
    fclose(in->file);
    const bool well = end_converter(c);
    if (c->pid > 0 && (status != 0 || (whole && !well))) {
        snprintf(in->err, in->err_size, "%s: damaged FST", wave->path);
        status = -1;
    }
    vcd_stream_free(in);
    return status;
}

static int read_source(tb_wave *wave, wave_sink *sink, char *err, size_t err_size) {
    const source *src = wave->lib;
    vcd_stream in;
    converter c;
    if (begin(wave, src, &in, &c, err, err_size) != 0) {
        return -1;
    }
    int status = vcd_header(&in, NULL, NULL);
    if (status == 0) {
        status = vcd_values(&in, wave, src->ids, sink);
    }
    return end(wave, &in, &c, status, feof(in.file) != 0);
}

static void close_source(tb_wave *wave) {
    source *src = wave->lib;
    vcd_ids_free(src->ids);
    free(src);
}

static int open_source(tb_wave *wave, bool from_program, char *err, size_t err_size) {
    source *src = calloc(1, sizeof *src);
    vcd_stream in;
    converter c;
    if (src == NULL) {
        return opt_fail(err, err_size, "%s: out of memory", wave->path);
    }
    src->pipe = from_program;
    src->ids = vcd_ids_new();
    wave->lib = src;
    wave->close = close_source;
    wave->read = read_source;
    if (src->ids == NULL) {
        return opt_fail(err, err_size, "%s: out of memory", wave->path);
    }
    if (begin(wave, src, &in, &c, err, err_size) != 0) {
        return -1;
    }
    int status = vcd_header(&in, wave, src->ids);
    if (status == 0) {
        status = vcd_values(&in, wave, src->ids, NULL);
    }
    return end(wave, &in, &c, status, feof(in.file) != 0);
}

int wave_open_vcd(tb_wave *wave, char *err, size_t err_size) {
    return open_source(wave, false, err, err_size);
}

int wave_open_pipe(tb_wave *wave, char *err, size_t err_size) {
    return open_source(wave, true, err, err_size);
}
