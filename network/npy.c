/* npy.c - reader of NumPy's .npy files. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "picture.h"

#define MAX_DIMS 8u

/* Text after 'key': in the header, which is a Python dictionary; NULL: not there. */
static const char *value_of(const char *header, const char *key) {
    const char *at = strstr(header, key);
    at = at == NULL ? NULL : strchr(at, ':');
    return at == NULL ? NULL : at + 1 + strspn(at + 1, " ");
}

static bool read_dims(const char *at, uint64_t dims[MAX_DIMS], uint32_t *count) {
    *count = 0;
    if (at == NULL || *at != '(') {
        return false;
    }
    at++;
    for (;;) {
        at += strspn(at, " ,");
        if (*at == ')') {
            return true;
        }
        if (*at < '0' || *at > '9' || *count == MAX_DIMS) {
            return false;
        }
        char *end;
        dims[(*count)++] = strtoull(at, &end, 10);
        at = end;
    }
}

/* Compares the dimensions of the shape, outermost first, with those of the file without leading ones. */
static bool same_dims(const net_shape *shape, const uint64_t *dims, uint32_t count) {
    uint32_t all[NET_MAX_DIMS];
    net_shape_outer(shape, all);
    while (count > shape->dims && dims[0] == 1) {
        dims++;
        count--;
    }
    bool same = count == shape->dims;
    for (uint32_t i = 0; same && i < count; i++) {
        same = dims[i] == all[i];
    }
    return same;
}

static net_status read_npy(const char *path, char *data, size_t bytes, const net_shape *shape, float *out,
                           net_error *err) {
    size_t fixed = bytes > 7 && data[6] >= 2 ? 12 : 10;
    if (bytes < 12 || memcmp(data, "\x93NUMPY", 6) != 0 || data[6] < 1 || data[6] > 3) {
        return net_fail(err, NET_ERR_FORMAT, "%.200s: no .npy file of version 1 to 3", path);
    }
    uint64_t length = (uint64_t)(uint8_t)data[8] | (uint64_t)(uint8_t)data[9] << 8;
    if (fixed == 12) {
        length |= (uint64_t)(uint8_t)data[10] << 16 | (uint64_t)(uint8_t)data[11] << 24;
    }
    if (length == 0 || length > bytes - fixed || memchr(data + fixed, '\0', (size_t)length) != NULL) {
        return net_fail(err, NET_ERR_FORMAT, "%.200s: a header of %llu bytes in a file of %zu", path,
                        (unsigned long long)length, bytes);
    }
    char *header = data + fixed;
    header[length - 1] = '\0'; /* a newline */
    const char *type = value_of(header, "'descr'");
    const char *order = value_of(header, "'fortran_order'");
    uint64_t dims[MAX_DIMS];
    uint32_t count;
    if (type == NULL || order == NULL || strncmp(type, "'<f4'", 5) != 0 || strncmp(order, "False", 5) != 0) {
        return net_fail(err, NET_ERR_UNSUPPORTED, "%.200s: expected little-endian 32 bit floats in C order", path);
    }
    size_t elements = net_shape_elements(shape);
    if (!read_dims(value_of(header, "'shape'"), dims, &count) || !same_dims(shape, dims, count)) {
        return net_fail(err, NET_ERR_FORMAT, "%.200s: expected the shape of the input, %ux%ux%u (%u dimensions)", path,
                        shape->c, shape->h, shape->w, shape->dims);
    }
    if (bytes - fixed - (size_t)length != elements * sizeof *out) {
        return net_fail(err, NET_ERR_FORMAT, "%.200s: %zu bytes of data, expected %zu", path,
                        bytes - fixed - (size_t)length, elements * sizeof *out);
    }
    memcpy(out, header + length, elements * sizeof *out);
    return NET_OK;
}

net_status net_npy_load(const char *path, const net_shape *shape, float *out, net_error *err) {
    char *data = NULL;
    size_t bytes = 0;
    if (path == NULL || shape == NULL || out == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_npy_load: null argument");
    }
    net_status status = net_read_file(path, 4 * (size_t)NET_MAX_ELEMENTS + 65536, &data, &bytes, err);
    if (status == NET_OK) {
        status = read_npy(path, data, bytes, shape, out, err);
        free(data);
    }
    return status;
}
