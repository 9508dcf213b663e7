/* images.c - labelled images as text: pixels and class, separated by commas, an image a line. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_IMAGE_BYTES (64u << 20)
#define MAX_PIXELS 65536u

/* Number at *at, followed by `stop` or, for the last one of a line, by the end of the line. */
static bool take_number(const char **at, const char *end, uint32_t highest, bool last, uint32_t *out) {
    uint32_t value = 0;
    const char *p = *at;
    while (p < end && *p >= '0' && *p <= '9' && value <= highest) {
        value = value * 10 + (uint32_t)(*p - '0');
        p++;
    }
    if (p == *at || value > highest) {
        return false;
    }
    if (last) {
        p += p < end && *p == '\r';
        if (p < end && *p != '\n') {
            return false;
        }
    } else if (p == end || *p != ',') {
        return false;
    }
    *at = p < end ? p + 1 : p;
    *out = value;
    return true;
}

static net_status parse_images(net_images *images, const char *text, size_t bytes, const char *path, net_error *err) {
    const char *at = text;
    const char *end = text + bytes;
    uint32_t lines = 0;
    for (const char *p = text; p < end; p++) {
        lines += *p == '\n' || p + 1 == end;
    }
    /* Every pixel takes two bytes of text, so this allocates no more memory than the size of the file. */
    if (lines == 0 || bytes / lines < 2 * (size_t)images->pixels) {
        return net_fail(err, NET_ERR_FORMAT, "%.200s: %u lines in %zu bytes, expected %u pixels and a class in each",
                        path, lines, bytes, images->pixels);
    }
    images->pixel = malloc((size_t)lines * images->pixels);
    images->label = malloc(lines * sizeof *images->label);
    if (images->pixel == NULL || images->label == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "%.200s: out of memory", path);
    }
    for (uint32_t i = 0; i < lines; i++) {
        uint32_t value;
        for (uint32_t k = 0; k < images->pixels; k++) {
            if (!take_number(&at, end, 255, false, &value)) {
                return net_fail(err, NET_ERR_FORMAT, "%.200s:%u: pixel %u is not a number of 0..255 and a comma", path,
                                i + 1, k);
            }
            images->pixel[(size_t)i * images->pixels + k] = (uint8_t)value;
        }
        if (!take_number(&at, end, 65535, true, &value)) {
            return net_fail(err, NET_ERR_FORMAT,
                            "%.200s:%u: after %u pixels, expected the class (0..65535) and the end of the line", path,
                            i + 1, images->pixels);
        }
        images->label[i] = (uint16_t)value;
    }
    images->count = lines;
    return NET_OK;
}

net_status net_images_load(net_images *images, const char *path, uint32_t pixels, net_error *err) {
    if (images == NULL || path == NULL || pixels == 0 || pixels > MAX_PIXELS) {
        return net_fail(err, NET_ERR_ARG, "net_images_load: null argument or more than %u pixels", MAX_PIXELS);
    }
    char *data = NULL;
    size_t bytes = 0;
    memset(images, 0, sizeof *images);
    net_status status = net_read_file(path, MAX_IMAGE_BYTES, &data, &bytes, err);
    if (status != NET_OK) {
        return status;
    }
    images->pixels = pixels;
    status = parse_images(images, data, bytes, path, err);
    free(data);
    if (status != NET_OK) {
        net_images_free(images);
    }
    return status;
}

void net_images_free(net_images *images) {
    if (images != NULL) {
        free(images->pixel);
        free(images->label);
        memset(images, 0, sizeof *images);
    }
}

void net_images_input(const net_images *images, uint32_t i, float norm, float *out) {
    for (uint32_t k = 0; k < images->pixels; k++) {
        out[k] = (float)images->pixel[(size_t)i * images->pixels + k] * norm;
    }
}

uint32_t net_argmax(const float *value, uint32_t count) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (value[i] > value[best] || (value[best] != value[best] && value[i] == value[i])) {
            best = i;
        }
    }
    return best;
}
