/* draw.c - boxes drawn into a picture, and the picture as a PNG file. */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boxes.h"
#include "internal.h"

#if defined(__has_include)
#if __has_include(<stb/stb_image_write.h>)
#define HAVE_STB_WRITE 1
/*
 * The library does not look whether its allocations worked: the picture is given up instead. What it had allocated
 * until then is lost.
 */
static _Thread_local jmp_buf no_memory;

static void *png_alloc(void *old, size_t size) {
    void *memory = realloc(old, size);
    if (memory == NULL) {
        longjmp(no_memory, 1);
    }
    return memory;
}

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#define STBIW_MALLOC(size) png_alloc(NULL, size)
#define STBIW_REALLOC_SIZED(old, from, to) png_alloc(old, to)
#define STBIW_REALLOC(old, to) png_alloc(old, to)
#define STBIW_FREE(old) free(old)
#include <stb/stb_image_write.h>
#endif
#endif

void net_box_colour(uint32_t label, uint8_t rgb[3]) {
    static const uint8_t colour[12][3] = {{255, 64, 64},  {64, 224, 64},   {64, 128, 255}, {255, 208, 0},
                                          {255, 64, 255}, {0, 224, 224},   {255, 144, 32}, {160, 96, 255},
                                          {160, 255, 0},  {255, 128, 160}, {0, 160, 112},  {176, 112, 64}};
    memcpy(rgb, colour[(label + 11u) % 12u], 3);
}

/* Rows y0..y1 - 1 of columns x0..x1 - 1, all inside the picture. */
static void fill(net_picture *picture, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1, const uint8_t rgb[3]) {
    for (uint32_t y = y0; y < y1; y++) {
        for (uint32_t x = x0; x < x1; x++) {
            memcpy(picture->rgb + 3 * ((size_t)y * picture->w + x), rgb, 3);
        }
    }
}

/* The pixel in which a coordinate lies: 0..size - 1; NaN: 0. */
static uint32_t pixel_of(float at, uint32_t size) {
    return (uint32_t)fminf(fmaxf(floorf(at), 0.0f), (float)(size - 1));
}

void net_picture_draw_box(net_picture *picture, const net_box *box, uint32_t thick) {
    if (picture->w == 0 || picture->h == 0 || thick == 0 ||
        !(box->x < (float)picture->w && box->y < (float)picture->h) ||
        !(box->x + box->w > 0.0f && box->y + box->h > 0.0f)) {
        return;
    }
    uint8_t rgb[3];
    net_box_colour(box->label, rgb);
    uint32_t x0 = pixel_of(box->x, picture->w);
    uint32_t y0 = pixel_of(box->y, picture->h);
    /* the last pixel that the box covers partly */
    uint32_t x1 = pixel_of(ceilf(box->x + box->w) - 1.0f, picture->w) + 1;
    uint32_t y1 = pixel_of(ceilf(box->y + box->h) - 1.0f, picture->h) + 1;
    uint32_t tx = thick < x1 - x0 ? thick : x1 - x0;
    uint32_t ty = thick < y1 - y0 ? thick : y1 - y0;
    fill(picture, x0, y0, x1, y0 + ty, rgb);
    fill(picture, x0, y1 - ty, x1, y1, rgb);
    fill(picture, x0, y0, x0 + tx, y1, rgb);
    fill(picture, x1 - tx, y0, x1, y1, rgb);
}

/* ---- PNG ---- */

#ifdef HAVE_STB_WRITE
typedef struct sink {
    const char *path;
    bool called;
    net_status status;
    net_error *err;
} sink;

/* The whole file in one call. */
static void write_all(void *user, void *data, int bytes) {
    sink *s = user;
    s->called = true;
    s->status = net_save(s->path, data, (size_t)bytes, s->err);
}
#endif

net_status net_picture_save_png(const net_picture *picture, const char *path, net_error *err) {
    if (picture == NULL || picture->rgb == NULL || path == NULL || picture->w > NET_MAX_PICTURE_SIDE ||
        picture->h > NET_MAX_PICTURE_SIDE) {
        return net_fail(err, NET_ERR_ARG, "net_picture_save_png: no picture, or one of more than %u x %u",
                        NET_MAX_PICTURE_SIDE, NET_MAX_PICTURE_SIDE);
    }
#ifdef HAVE_STB_WRITE
    sink s = {.path = path, .err = err};
    if (setjmp(no_memory) != 0 ||
        stbi_write_png_to_func(write_all, &s, (int)picture->w, (int)picture->h, 3, picture->rgb,
                               (int)(3 * picture->w)) == 0 ||
        !s.called) {
        return net_fail(err, NET_ERR_MEMORY, "%.200s: out of memory for a picture of %u x %u", path, picture->w,
                        picture->h);
    }
    return s.status;
#else
    return net_fail(err, NET_ERR_UNSUPPORTED,
                    "%.200s: this program was built without libstb-dev (make deps): it writes no pictures", path);
#endif
}
