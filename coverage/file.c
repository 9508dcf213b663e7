/* file.c - coverage files: a header of three lines, the shape as text, the counters as numbers of variable length; both
 * with a checksum. */
#include "priv.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "tandem-cov 1\n"
#define FILE_BYTES_MAX (64u << 20)
#define HEAD_BYTES_MAX 600u

uint64_t cov_checksum(const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ size;
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word = 0;
        for (unsigned i = 0; i < 8; i++) {
            word |= (uint64_t)p[i] << (8 * i);
        }
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    for (; size > 0; p++, size--) {
        hash = (hash ^ *p) * UINT64_C(0x100000001b3);
    }
    return hash ^ hash >> 32;
}

size_t cov_put_varint(unsigned char *dst, uint64_t value) {
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) {
        dst[n++] = (unsigned char)(value | 0x80);
    }
    dst[n++] = (unsigned char)value;
    return n;
}

bool cov_get_varint(const unsigned char **at, const unsigned char *end, uint64_t *value) {
    uint64_t v = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        const unsigned char byte = *(*at)++;
        if (shift == 63 && byte > 1) {
            return false;
        }
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = v;
            return byte != 0 || shift == 0; /* the shortest form only */
        }
    }
    return false;
}

/* Samples of each group, then pairs: zeros before a counter that is not 0, and that counter; the zeros at the end are
 * left out. */
static size_t put_counts(const cov_data *data, unsigned char *dst) {
    size_t at = 0;
    uint64_t zeros = 0;
    for (uint32_t g = 0; g < data->group_count; g++) {
        at += cov_put_varint(dst + at, data->groups[g].samples);
    }
    for (uint32_t i = 0; i < data->count_count; i++) {
        if (data->counts[i] == 0) {
            zeros++;
        } else {
            at += cov_put_varint(dst + at, zeros);
            at += cov_put_varint(dst + at, data->counts[i]);
            zeros = 0;
        }
    }
    return at;
}

/* Counters of bytes, added to those of data. All or nothing. */
static int add_counts(cov_data *data, const unsigned char *at, const unsigned char *end, const char *name,
                      cov_error *err) {
    for (int pass = 0; pass < 2; pass++) { /* look first, then add */
        const unsigned char *p = at;
        uint64_t value = 0;
        uint64_t zeros = 0;
        uint64_t index = 0;
        for (uint32_t g = 0; g < data->group_count; g++) {
            if (!cov_get_varint(&p, end, &value)) {
                return cov_fail(err, COV_BAD_FILE, "%s: counters are missing", name);
            }
            cov_add(&data->groups[g].samples, pass == 0 ? 0 : value);
        }
        while (p < end) {
            if (!cov_get_varint(&p, end, &zeros) || !cov_get_varint(&p, end, &value) || value == 0 ||
                zeros >= data->count_count - index) {
                return cov_fail(err, COV_BAD_FILE, "%s: counters do not fit the shape", name);
            }
            index += zeros;
            cov_add(&data->counts[index++], pass == 0 ? 0 : value);
        }
    }
    return COV_OK;
}

int cov_print(cov_data *data, char **bytes, size_t *size, cov_error *err) {
    char head[HEAD_BYTES_MAX];
    const int rc = cov_shape_make(data, err);
    if (rc != COV_OK) {
        return rc;
    }
    unsigned char *body = malloc(((size_t)data->count_count * 2 + data->group_count + 1) * 10);
    if (body == NULL) {
        return cov_no_memory(err);
    }
    const size_t count_bytes = put_counts(data, body);
    const int head_bytes = snprintf(
        head, sizeof head, MAGIC "files %" PRIu64 " shape %zu %016" PRIx64 " counts %zu %016" PRIx64 "\njob %s\n",
        data->files, data->shape_bytes, cov_checksum(data->shape, data->shape_bytes), count_bytes,
        cov_checksum(body, count_bytes), data->job);
    *size = (size_t)head_bytes + data->shape_bytes + count_bytes;
    *bytes = malloc(*size);
    if (*bytes == NULL) {
        free(body);
        return cov_no_memory(err);
    }
    memcpy(*bytes, head, (size_t)head_bytes);
    memcpy(*bytes + head_bytes, data->shape, data->shape_bytes);
    memcpy(*bytes + (size_t)head_bytes + data->shape_bytes, body, count_bytes);
    free(body);
    return COV_OK;
}

int cov_save(const char *path, const void *bytes, size_t size, cov_error *err) {
    const int error = rep_save(path, bytes, size);
    return error == 0 ? COV_OK : cov_fail(err, COV_IO, "%s: %s", path, strerror(error));
}

int cov_write(cov_data *data, const char *path, cov_error *err) {
    char *bytes = NULL;
    size_t size = 0;
    int rc = cov_print(data, &bytes, &size, err);
    rc = rc == COV_OK ? cov_save(path, bytes, size, err) : rc;
    free(bytes);
    return rc;
}

int cov_slurp(const char *path, unsigned char **bytes, size_t *size, cov_error *err) {
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    *bytes = NULL;
    *size = 0;
    if (fd < 0 || fstat(fd, &about) != 0) {
        const int why = rep_host(errno);
        if (fd >= 0) {
            close(fd);
        }
        return cov_fail(err, COV_IO, "%s: %s", path, strerror(why));
    }
    if (!S_ISREG(about.st_mode) || about.st_size > (off_t)FILE_BYTES_MAX) {
        close(fd);
        return cov_fail(err, COV_BAD_FILE, "%s: %s", path,
                        S_ISREG(about.st_mode) ? "larger than 64 MiB" : "not a file");
    }
    *bytes = malloc((size_t)about.st_size + 1);
    while (*bytes != NULL && *size < (size_t)about.st_size) {
        const ssize_t got = read(fd, *bytes + *size, (size_t)about.st_size - *size);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            (void)rep_host(got < 0 ? errno : 0);
            break;
        }
        *size += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    if (*bytes == NULL) {
        return cov_no_memory(err);
    }
    if (*size != (size_t)about.st_size) {
        free(*bytes);
        *bytes = NULL;
        return cov_fail(err, COV_IO, "%s: cannot be read to its end", path);
    }
    return COV_OK;
}

/* A coverage file in memory, taken apart. */
typedef struct parts {
    uint64_t files;
    char job[HEAD_BYTES_MAX];
    const char *shape;
    size_t shape_bytes;
    const unsigned char *counts;
    size_t count_bytes;
} parts;

static int take_apart(parts *p, const unsigned char *bytes, size_t size, const char *name, cov_error *err) {
    char head[HEAD_BYTES_MAX];
    uint64_t shape_sum = 0;
    uint64_t count_sum = 0;
    int used = 0;
    const size_t magic = sizeof MAGIC - 1;
    if (size < magic || memcmp(bytes, MAGIC, magic) != 0) {
        return cov_fail(err, COV_BAD_FILE, "%s: not a coverage file", name);
    }
    const size_t room = size - magic < sizeof head - 1 ? size - magic : sizeof head - 1;
    memcpy(head, bytes + magic, room);
    head[room] = '\0';
    const int found = sscanf(head, "files %20" SCNu64 " shape %9zu %16" SCNx64 " counts %9zu %16" SCNx64 "%n",
                             &p->files, &p->shape_bytes, &shape_sum, &p->count_bytes, &count_sum, &used);
    char *job = head + used;
    char *stop = found == 5 && strncmp(job, "\njob ", 5) == 0 ? strchr(job + 5, '\n') : NULL;
    if (stop == NULL || p->files == 0) {
        return cov_fail(err, COV_BAD_FILE, "%s: damaged in its first lines", name);
    }
    *stop = '\0';
    (void)snprintf(p->job, sizeof p->job, "%s", job + 5);
    const size_t from = magic + (size_t)(stop - head) + 1;
    if (!cov_is_line(p->job, 200) || p->shape_bytes > size - from || p->count_bytes != size - from - p->shape_bytes) {
        return cov_fail(err, COV_BAD_FILE, "%s: cut off, or damaged in its first lines", name);
    }
    p->shape = (const char *)bytes + from;
    p->counts = bytes + from + p->shape_bytes;
    if (cov_checksum(p->shape, p->shape_bytes) != shape_sum || cov_checksum(p->counts, p->count_bytes) != count_sum) {
        return cov_fail(err, COV_BAD_FILE, "%s: its checksum is wrong", name);
    }
    return COV_OK;
}

static int build(cov_data *data, const parts *p, const char *name, cov_error *err) {
    int rc = cov_shape_parse(data, p->shape, p->shape_bytes, name, err);
    rc = rc == COV_OK ? add_counts(data, p->counts, p->counts + p->count_bytes, name, err) : rc;
    if (rc == COV_OK) {
        data->files = p->files;
        data->job = cov_text(data, p->job, strlen(p->job));
        data->shape = malloc(p->shape_bytes + 1);
        data->shape_bytes = p->shape_bytes;
        rc = data->job == NULL || data->shape == NULL ? cov_no_memory(err) : COV_OK;
    }
    if (rc == COV_OK) {
        memcpy(data->shape, p->shape, p->shape_bytes);
        data->shape[p->shape_bytes] = '\0';
    } else {
        cov_data_free(data);
    }
    return rc;
}

int cov_parse(cov_data *data, const void *bytes, size_t size, const char *name, cov_error *err) {
    parts p;
    cov_data_init(data);
    const int rc = take_apart(&p, bytes, size, name, err);
    return rc == COV_OK ? build(data, &p, name, err) : rc;
}

int cov_parse_parts(cov_data *data, const char *shape, size_t shape_bytes, const void *counts, size_t count_bytes,
                    cov_error *err) {
    const parts p = {
        .files = 1, .shape = shape, .shape_bytes = shape_bytes, .counts = counts, .count_bytes = count_bytes};
    cov_data_init(data);
    return build(data, &p, "parts", err);
}

int cov_read(cov_data *data, const char *path, cov_error *err) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    cov_data_init(data);
    int rc = cov_slurp(path, &bytes, &size, err);
    rc = rc == COV_OK ? cov_parse(data, bytes, size, path, err) : rc;
    free(bytes);
    return rc;
}

int cov_merge_file(cov_data *into, const char *path, cov_error *err) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    parts p;
    int rc = cov_slurp(path, &bytes, &size, err);
    rc = rc == COV_OK ? take_apart(&p, bytes, size, path, err) : rc;
    if (rc == COV_OK && into->files > 0) {
        rc = cov_shape_make(into, err);
    }
    if (rc == COV_OK && into->files == 0) {
        cov_data_free(into);
        rc = build(into, &p, path, err);
    } else if (rc == COV_OK && into->shape_bytes == p.shape_bytes && memcmp(into->shape, p.shape, p.shape_bytes) == 0) {
        rc = add_counts(into, p.counts, p.counts + p.count_bytes, path, err);
        if (rc == COV_OK) {
            cov_add(&into->files, p.files);
            into->job = "";
        }
    } else if (rc == COV_OK) {
        cov_data from;
        cov_data_init(&from);
        rc = build(&from, &p, path, err);
        if (rc == COV_OK) {
            cov_error why;
            rc = cov_merge(into, &from, &why);
            if (rc != COV_OK) {
                rc = cov_fail(err, rc, "%.150s: %.240s", path, why.text);
            }
        }
        cov_data_free(&from);
    }
    free(bytes);
    return rc;
}
