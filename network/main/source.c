/* source.c - the inputs of tandem-net classify and tandem-net calibrate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "photos.h"

static bool ends_with(const char *text, const char *end) {
    size_t len = strlen(text);
    return len > strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

net_status photos_source_open(photos_source *source, const photos_options *o, const net_shape *shape, net_error *err) {
    *source = (photos_source){.opt = o, .shape = shape};
    source->images = calloc((size_t)o->count + 1, sizeof *source->images);
    if (source->images == NULL) {
        (void)snprintf(err->text, sizeof err->text, "out of memory");
        return NET_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < o->count; i++) {
        uint32_t more = 1;
        if (ends_with(o->input[i], ".csv")) {
            net_status status = net_images_load(&source->images[i], o->input[i], net_shape_elements(shape), err);
            if (status != NET_OK) {
                return status;
            }
            more = source->images[i].count;
        }
        source->count += more;
    }
    source->fit = calloc((size_t)source->count + 1, sizeof *source->fit);
    if (source->fit == NULL) {
        (void)snprintf(err->text, sizeof err->text, "out of memory");
        return NET_ERR_MEMORY;
    }
    return NET_OK;
}

void photos_source_free(photos_source *source) {
    for (uint32_t i = 0; source->images != NULL && i < source->opt->count; i++) {
        net_images_free(&source->images[i]);
    }
    free(source->images);
    free(source->fit);
}

/* The file of input *i; *i becomes the line in it. */
static uint32_t file_of(const photos_source *source, uint32_t *i) {
    uint32_t file = 0;
    for (;;) {
        uint32_t lines = source->images[file].count > 0 ? source->images[file].count : 1;
        if (*i < lines) {
            return file;
        }
        *i -= lines;
        file++;
    }
}

bool photos_source_label(const photos_source *source, uint32_t i, uint32_t *label) {
    uint32_t file = file_of(source, &i);
    if (source->images[file].count > 0) {
        *label = source->images[file].label[i];
        return true;
    }
    return false;
}

void photos_source_name(const photos_source *source, uint32_t i, char *text, size_t size) {
    uint32_t file = file_of(source, &i);
    if (source->images[file].count > 0) {
        (void)snprintf(text, size, "%s:%u", source->opt->input[file], i + 1);
    } else {
        (void)snprintf(text, size, "%s", source->opt->input[file]);
    }
}

net_status photos_picture(const photos_options *o, const net_picture *picture, const net_shape *shape, float *input,
                          net_fit *fit, net_error *err) {
    if (!o->letterbox) {
        *fit = net_fit_stretched(picture, shape->w, shape->h);
        return net_picture_input(picture, &o->prep, shape, input, err);
    }
    net_picture boxed;
    net_status status = net_fit_letterbox(picture, shape->w, shape->h, (uint8_t)o->fill, &boxed, fit, err);
    if (status == NET_OK) {
        status = net_picture_input(&boxed, &o->prep, shape, input, err);
        net_picture_free(&boxed);
    }
    return status;
}

const char *const photos_heads[] = {"yolov5",         "nanodet", "scrfd",      "retinaface",  "ultraface", "fastestdet",
                                    "yolo-fastestv2", "yolov8",  "yolov8-dfl", "yolov5-rows", "yolox",     NULL};

net_status photos_finder(const photos_options *o, net_finder *finder, net_error *err) {
    *finder = (net_finder){.raw = o->head != NULL || o->anchors != NULL,
                           .least = isnan(o->threshold) ? 0.25f : (float)o->threshold,
                           .overlap = isnan(o->overlap) ? 0.45f : (float)o->overlap};
    return o->head != NULL      ? net_heads_named(&finder->heads, o->head, o->anchors, err)
           : o->anchors != NULL ? net_heads_parse(&finder->heads, o->anchors, err)
                                : NET_OK;
}

net_status photos_input(void *user, uint32_t i, float *input, net_error *err) {
    const photos_source *source = user;
    const net_picture_prep *prep = &source->opt->prep;
    net_fit *fit = &source->fit[i];
    uint32_t file = file_of(source, &i);
    const char *path = source->opt->input[file];
    const net_images *images = &source->images[file];
    if (images->count > 0) {
        uint32_t plane = source->shape->w * source->shape->h;
        for (uint32_t k = 0; k < images->pixels; k++) {
            uint32_t channel = k / plane;
            input[k] =
                net_picture_value(prep, channel < 2 ? channel : 2, images->pixel[(size_t)i * images->pixels + k]);
        }
        return NET_OK;
    }
    if (ends_with(path, ".npy")) { /* pixels of the input itself */
        *fit = (net_fit){.w = source->shape->w,
                         .h = source->shape->h,
                         .in_w = source->shape->w,
                         .in_h = source->shape->h,
                         .scale_x = 1.0f,
                         .scale_y = 1.0f};
        return net_npy_load(path, source->shape, input, err);
    }
    net_picture picture;
    net_status status = net_picture_load(&picture, path, err);
    if (status == NET_OK) {
        status = photos_picture(source->opt, &picture, source->shape, input, fit, err);
        net_picture_free(&picture);
    }
    return status;
}
