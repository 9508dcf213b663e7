/*
 * Where the bytes of a waveform are, and of which format: the file itself, its unpacked copy where it is packed with
 * gzip (RFC 1952), or standard input. The readers go through a file several times and jump in it, so a copy is a file
 * without a name in TMPDIR or /tmp: whatever happens to the program, nothing of it is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "opt/opt.h"
#include "report/report.h"
#include "wave/wave_priv.h"

#define FST_HEADER 0u
#define FST_HEADER_BYTES 329u
#define FST_PACKED 254u
#define CHUNK 65536u
#define UNPACKED_MAX (UINT64_C(8) << 30) /* a packed file of some KiB must not fill the disk */
#define PACKED_RATIO 64u                 /* assumed, where the size counts */
#define STDIN "/proc/self/fd/0"

typedef enum format { FORMAT_OTHER, FORMAT_FST, FORMAT_VCD } format;

const char *wave_shown(const char *path) {
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* By the first bytes: an FST begins with a header block of known length, a VCD with a keyword. */
static format format_of(const unsigned char *b, size_t n) {
    if (n >= 9 && ((b[0] == FST_HEADER && b[7] == FST_HEADER_BYTES / 256 && b[8] == FST_HEADER_BYTES % 256) ||
                   b[0] == FST_PACKED)) {
        return FORMAT_FST;
    }
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", b[i]) != NULL && b[i] != '\0') {
        i++;
    }
    return i < n && b[i] == '$' ? FORMAT_VCD : FORMAT_OTHER;
}

static bool is_gzip(const unsigned char *b, ssize_t n) {
    return n >= 2 && b[0] == 0x1f && b[1] == 0x8b;
}

/* ---- copies ---- */

static int copy_new(void) {
    char path[4096];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.4000s/tandem-wave-XXXXXX", folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    const int fd = mkstemp(path);
    if (fd >= 0) {
        unlink(path);
    }
    return fd;
}

static bool copy_write(int fd, const unsigned char *data, size_t size) {
    while (size > 0) {
        const ssize_t n = write(fd, data, size);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static int copy_failed(const char *path, int fd, char *err, size_t err_size) {
    const int error = rep_host_write(errno);
    if (fd >= 0) {
        close(fd);
    }
    return opt_fail(err, err_size, "%s: cannot be copied to TMPDIR: %s", wave_shown(path), strerror(error));
}

/* The descriptor of an unpacked copy, or -1. Takes `packed`. */
static int unpack(const char *path, int packed, char *err, size_t err_size) {
    unsigned char data[CHUNK];
    uint64_t size = 0;
    int n = 0;
    const gzFile z = gzdopen(packed, "rb");
    const int fd = z != NULL ? copy_new() : -1;
    if (fd < 0) {
        copy_failed(path, -1, err, err_size);
        (void)(z != NULL ? gzclose(z) : close(packed));
        return -1;
    }
    while ((n = gzread(z, data, sizeof data)) > 0 && size <= UNPACKED_MAX) {
        size += (uint64_t)n;
        if (!copy_write(fd, data, (size_t)n)) {
            copy_failed(path, fd, err, err_size);
            gzclose(z);
            return -1;
        }
    }
    const int end = gzclose(z);
    if (n == 0 && end == Z_OK) {
        return fd;
    }
    close(fd);
    return size > UNPACKED_MAX  ? opt_fail(err, err_size, "%s: unpacks to more than 8 GiB", path)
           : end == Z_MEM_ERROR ? opt_fail(err, err_size, "%s: out of memory", wave_shown(path))
                                : opt_fail(err, err_size, "%s: damaged gzip: %s", wave_shown(path),
                                           n == 0 ? "it ends too early" : "not what was packed");
}

int tb_wave_stdin(char *err, size_t err_size) {
    unsigned char data[CHUNK];
    struct stat st;
    ssize_t n = 0;
    if (fstat(0, &st) != 0) {
        return opt_fail(err, err_size, "standard input: %s", strerror(errno));
    }
    const int again = S_ISREG(st.st_mode) && lseek(0, 0, SEEK_CUR) == 0 ? open(STDIN, O_RDONLY | O_CLOEXEC) : -1;
    if (again >= 0) {
        close(again);
        return 0;
    }
    if (isatty(0)) {
        return opt_fail(err, err_size, "standard input: a terminal, expected a waveform file");
    }
    const int fd = copy_new();
    if (fd < 0) {
        return copy_failed("-", -1, err, err_size);
    }
    while ((n = read(0, data, sizeof data)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0 && !copy_write(fd, data, (size_t)n)) {
            return copy_failed("-", fd, err, err_size);
        }
    }
    if (n < 0 || lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, 0) != 0) {
        const int error = errno;
        close(fd);
        return opt_fail(err, err_size, "standard input: cannot be read: %s", strerror(error));
    }
    close(fd);
    return 0;
}

/* ---- which bytes ---- */

static int open_file(const char *path, char *err, size_t err_size) {
    struct stat st;
    if (strcmp(path, "-") == 0) {
        const int fd = tb_wave_stdin(err, err_size) == 0 ? open(STDIN, O_RDONLY) : -2;
        return fd == -1 ? opt_fail(err, err_size, "standard input: %s", strerror(errno)) : fd;
    }
    const int known = stat(path, &st);
    if (known == 0 && !S_ISREG(st.st_mode)) { /* to open a named pipe would wait for its writer */
        return opt_fail(err, err_size, "%s: not a regular file", path);
    }
    const int fd = known == 0 ? open(path, O_RDONLY) : -1;
    return fd >= 0 ? fd : opt_fail(err, err_size, "%s: %s", path, errno == ENOENT ? "no such file" : strerror(errno));
}

int wave_bytes_open(const char *path, wave_bytes *b, char *err, size_t err_size) {
    unsigned char head[512];
    *b = (wave_bytes){.fd = -1};
    int fd = open_file(path, err, err_size);
    if (fd < 0) {
        return -1;
    }
    ssize_t n = pread(fd, head, sizeof head, 0);
    const bool packed = is_gzip(head, n);
    if (packed) {
        fd = unpack(path, fd, err, err_size);
        if (fd < 0) {
            return -1;
        }
        n = pread(fd, head, sizeof head, 0);
    }
    const format found = n > 0 ? format_of(head, (size_t)n) : FORMAT_OTHER;
    if (found == FORMAT_OTHER) {
        close(fd);
        return opt_fail(err, err_size, "%s: %s", wave_shown(path),
                        n < 0    ? "cannot be read"
                        : n == 0 ? "empty file"
                                 : "neither an FST nor a VCD file");
    }
    b->vcd = found == FORMAT_VCD;
    if (packed || strcmp(path, "-") == 0) {
        b->fd = fd; /* stays open in the program that reads an FST where no library does */
    } else {
        close(fd);
    }
    return 0;
}

bool wave_is_vcd(const char *path) {
    unsigned char head[512];
    char err[256];
    const int fd = open_file(path, err, sizeof err);
    if (fd < 0) {
        return false;
    }
    const gzFile z = gzdopen(fd, "rb"); /* reads what is not packed as it is */
    const int n = z != NULL ? gzread(z, head, sizeof head) : 0;
    (void)(z != NULL ? gzclose(z) : close(fd));
    return n > 0 && format_of(head, (size_t)n) == FORMAT_VCD;
}

uint64_t tb_wave_size(const char *path) {
    unsigned char head[2] = {0, 0};
    char err[256];
    struct stat st;
    const int fd = open_file(path, err, sizeof err);
    if (fd < 0) {
        return 0;
    }
    const uint64_t size = fstat(fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    const uint64_t ratio = is_gzip(head, pread(fd, head, sizeof head, 0)) ? PACKED_RATIO : 1;
    close(fd);
    return size * ratio;
}
