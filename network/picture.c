/* picture.c - photographs as input of a network. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "picture.h"

#if defined(__has_include)
#if __has_include(<stb/stb_image.h>)
#define HAVE_STB 1
/* Only the formats that are used; no SIMD, so that every machine decodes the same pixels. */
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_SIMD
#define STBI_NO_FAILURE_STRINGS
#define STBI_NO_THREAD_LOCALS
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_PNM
#define STBI_MAX_DIMENSIONS NET_MAX_PICTURE_SIDE
#include <stb/stb_image.h>
#endif
#endif

bool net_picture_can_decode(void) {
#ifdef HAVE_STB
    return true;
#else
    return false;
#endif
}

void net_picture_free(net_picture *picture) {
    if (picture != NULL) {
        free(picture->rgb);
        *picture = (net_picture){0};
    }
}

net_status net_picture_decode(net_picture *picture, const void *data, size_t bytes, const char *name, net_error *err) {
    if (picture == NULL || data == NULL || name == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_picture_decode: null argument");
    }
    *picture = (net_picture){0};
    if (bytes > NET_MAX_PICTURE_BYTES) {
        return net_fail(err, NET_ERR_FORMAT, "%.200s: %zu bytes, expected at most %u", name, bytes,
                        NET_MAX_PICTURE_BYTES);
    }
#ifdef HAVE_STB
    int w = 0;
    int h = 0;
    int channels = 0;
    picture->rgb = stbi_load_from_memory(data, (int)bytes, &w, &h, &channels, 3);
    if (picture->rgb == NULL) {
        return net_fail(err, NET_ERR_FORMAT, "%.200s: expected a PNG, JPEG or PNM picture of at most %u x %u pixels",
                        name, NET_MAX_PICTURE_SIDE, NET_MAX_PICTURE_SIDE);
    }
    picture->w = (uint32_t)w;
    picture->h = (uint32_t)h;
    return NET_OK;
#else
    return net_fail(err, NET_ERR_UNSUPPORTED,
                    "%.200s: this program was built without libstb-dev (make deps): it reads no pictures", name);
#endif
}

net_status net_picture_load(net_picture *picture, const char *path, net_error *err) {
    char *data = NULL;
    size_t bytes = 0;
    if (picture == NULL || path == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_picture_load: null argument");
    }
    *picture = (net_picture){0};
    net_status status = net_read_file(path, NET_MAX_PICTURE_BYTES, &data, &bytes, err);
    if (status == NET_OK) {
        status = net_picture_decode(picture, data, bytes, path, err);
        free(data);
    }
    return status;
}

/* ---- resizing ---- */

/* Position of output i of one dimension between two inputs. */
typedef struct tap {
    uint32_t first, second;
    int32_t weight[2]; /* of 2048 */
} tap;

static void make_taps(uint32_t in, uint32_t out, tap *taps) {
    double scale = (double)in / (double)out;
    for (uint32_t i = 0; i < out; i++) {
        float at = (float)(((double)i + 0.5) * scale - 0.5);
        float left = floorf(at);
        float part = at - left;
        if (left < 0.0f) {
            left = 0.0f;
            part = 0.0f;
        }
        taps[i].first = (uint32_t)left;
        if (taps[i].first + 1 >= in) {
            taps[i].first = in > 1 ? in - 2 : 0;
            part = 1.0f;
        }
        taps[i].second = in > 1 ? taps[i].first + 1 : 0;
        taps[i].weight[0] = (int32_t)((1.0f - part) * 2048.0f + 0.5f);
        taps[i].weight[1] = (int32_t)(part * 2048.0f + 0.5f);
    }
}

static void resize_row(const uint8_t *in, const tap *taps, uint32_t w, int32_t *out) {
    for (uint32_t x = 0; x < w; x++) {
        const uint8_t *a = in + 3 * (size_t)taps[x].first;
        const uint8_t *b = in + 3 * (size_t)taps[x].second;
        for (uint32_t c = 0; c < 3; c++) {
            out[3 * (size_t)x + c] = (a[c] * taps[x].weight[0] + b[c] * taps[x].weight[1]) >> 4;
        }
    }
}

net_status net_picture_resize(const net_picture *picture, uint32_t w, uint32_t h, uint8_t *out, net_error *err) {
    if (picture == NULL || picture->rgb == NULL || out == NULL || w == 0 || h == 0 || w > NET_MAX_PICTURE_SIDE ||
        h > NET_MAX_PICTURE_SIDE) {
        return net_fail(err, NET_ERR_ARG, "net_picture_resize: no picture, or a size of %u x %u, expected 1..%u", w, h,
                        NET_MAX_PICTURE_SIDE);
    }
    tap *taps = malloc(((size_t)w + h) * sizeof *taps);
    int32_t *rows = malloc(6 * (size_t)w * sizeof *rows);
    if (taps == NULL || rows == NULL) {
        free(taps);
        free(rows);
        return net_fail(err, NET_ERR_MEMORY, "out of memory for a picture of %u x %u", w, h);
    }
    make_taps(picture->w, w, taps);
    make_taps(picture->h, h, taps + w);
    int32_t *above = rows;
    int32_t *below = rows + 3 * (size_t)w;
    for (uint32_t y = 0; y < h; y++) {
        const tap *t = &taps[w + y];
        resize_row(picture->rgb + 3 * (size_t)picture->w * t->first, taps, w, above);
        resize_row(picture->rgb + 3 * (size_t)picture->w * t->second, taps, w, below);
        for (size_t i = 0; i < 3 * (size_t)w; i++) {
            out[3 * (size_t)w * y + i] =
                (uint8_t)((((t->weight[0] * above[i]) >> 16) + ((t->weight[1] * below[i]) >> 16) + 2) >> 2);
        }
    }
    free(taps);
    free(rows);
    return NET_OK;
}

/* ---- to floats ---- */

float net_picture_value(const net_picture_prep *prep, uint32_t channel, uint32_t pixel) {
    float x = (float)pixel;
    float mean = prep->mean[channel];
    float norm = prep->norm[channel];
    if (prep->has_mean && prep->has_norm) {
        float offset = -mean * norm;
        return x * norm + offset;
    }
    return prep->has_mean ? x - mean : prep->has_norm ? x * norm : x;
}

net_status net_picture_input(const net_picture *picture, const net_picture_prep *prep, const net_shape *shape,
                             float *out, net_error *err) {
    if (picture == NULL || prep == NULL || shape == NULL || out == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_picture_input: null argument");
    }
    uint32_t channels = prep->order == NET_PIXEL_GRAY ? 1 : 3;
    if (shape->dims != 3 || shape->c != channels) {
        return net_fail(err, NET_ERR_UNSUPPORTED,
                        "an input of %u dimensions with %u channels, expected 3 with %u for a picture", shape->dims,
                        shape->c, channels);
    }
    size_t plane = (size_t)shape->w * shape->h;
    uint8_t *pixels = malloc(3 * plane + 1);
    net_status status = pixels == NULL ? net_fail(err, NET_ERR_MEMORY, "out of memory for a picture") : NET_OK;
    status = status == NET_OK ? net_picture_resize(picture, shape->w, shape->h, pixels, err) : status;
    for (size_t i = 0; status == NET_OK && i < plane; i++) {
        const uint8_t *p = pixels + 3 * i;
        if (prep->order == NET_PIXEL_GRAY) {
            out[i] = net_picture_value(prep, 0, (uint32_t)(77 * p[0] + 150 * p[1] + 29 * p[2]) >> 8);
            continue;
        }
        for (uint32_t c = 0; c < 3; c++) {
            out[c * plane + i] = net_picture_value(prep, c, p[prep->order == NET_PIXEL_BGR ? 2 - c : c]);
        }
    }
    free(pixels);
    return status;
}
