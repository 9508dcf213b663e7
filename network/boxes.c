/* boxes.c - from the output of a detection layer to boxes in pixels of the picture. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "boxes.h"
#include "internal.h"

#define ROW 6u /* elements of a detection (op_boxes.c) */

net_fit net_fit_stretched(const net_picture *picture, uint32_t in_w, uint32_t in_h) {
    return (net_fit){.w = picture->w,
                     .h = picture->h,
                     .in_w = in_w,
                     .in_h = in_h,
                     .scale_x = (float)in_w / (float)picture->w,
                     .scale_y = (float)in_h / (float)picture->h};
}

net_status net_fit_letterbox(const net_picture *picture, uint32_t in_w, uint32_t in_h, uint8_t fill, net_picture *out,
                             net_fit *fit, net_error *err) {
    if (picture == NULL || picture->rgb == NULL || out == NULL || fit == NULL || in_w == 0 || in_h == 0 ||
        in_w > NET_MAX_PICTURE_SIDE || in_h > NET_MAX_PICTURE_SIDE) {
        return net_fail(err, NET_ERR_ARG, "net_fit_letterbox: no picture, or a size of %u x %u, expected 1..%u", in_w,
                        in_h, NET_MAX_PICTURE_SIDE);
    }
    bool wide = (uint64_t)picture->w * in_h >= (uint64_t)picture->h * in_w;
    float scale = wide ? (float)in_w / (float)picture->w : (float)in_h / (float)picture->h;
    uint32_t w = wide ? in_w : (uint32_t)((float)picture->w * scale);
    uint32_t h = wide ? (uint32_t)((float)picture->h * scale) : in_h;
    w = w == 0 ? 1 : w > in_w ? in_w : w;
    h = h == 0 ? 1 : h > in_h ? in_h : h;
    uint32_t left = (in_w - w) / 2;
    uint32_t top = (in_h - h) / 2;
    *out = (net_picture){.w = in_w, .h = in_h, .rgb = malloc(3 * (size_t)in_w * in_h)};
    uint8_t *part = malloc(3 * (size_t)w * h);
    net_status status = out->rgb == NULL || part == NULL
                            ? net_fail(err, NET_ERR_MEMORY, "out of memory for a picture of %u x %u", in_w, in_h)
                            : NET_OK;
    status = status == NET_OK ? net_picture_resize(picture, w, h, part, err) : status;
    if (status == NET_OK) {
        memset(out->rgb, fill, 3 * (size_t)in_w * in_h);
        for (uint32_t y = 0; y < h; y++) {
            memcpy(out->rgb + 3 * ((size_t)(top + y) * in_w + left), part + 3 * (size_t)y * w, 3 * (size_t)w);
        }
        *fit = (net_fit){picture->w, picture->h, in_w, in_h, scale, scale, (float)left, (float)top};
    } else {
        net_picture_free(out);
    }
    free(part);
    return status;
}

/* ---- the layer ---- */

static bool is_ssd(const net_layer *layer) {
    return strcmp(layer->type, "DetectionOutput") == 0;
}

net_status net_boxes_layer(const net_graph *graph, uint32_t *layer, net_error *err) {
    if (graph == NULL || !graph->planned) {
        return net_fail(err, NET_ERR_ARG, "net_boxes_layer: no planned graph");
    }
    static const char wanted[] = "DetectionOutput, YoloDetectionOutput or Yolov3DetectionOutput";
    if (graph->output == NET_NONE) {
        return net_fail(err, NET_ERR_UNSUPPORTED,
                        "%.120s: %u outputs, expected one, of a layer %s (or --head, or --anchors)", graph->name,
                        graph->num_outputs, wanted);
    }
    uint32_t number = graph->blob[graph->output].producer;
    const net_layer *last = &graph->layer[number];
    if (!is_ssd(last) && strcmp(last->type, "YoloDetectionOutput") != 0 &&
        strcmp(last->type, "Yolov3DetectionOutput") != 0) {
        return net_fail(err, NET_ERR_UNSUPPORTED,
                        "%.120s:%u: the output comes from layer '%.60s' of type '%.40s', expected %s (or --head)",
                        graph->name, last->line, last->name, last->type, wanted);
    }
    if (layer != NULL) {
        *layer = number;
    }
    return NET_OK;
}

net_status net_boxes_limits(net_graph *graph, float score, float overlap, net_error *err) {
    uint32_t number = 0;
    net_status status = net_boxes_layer(graph, &number, err);
    if (status == NET_OK && (score < 0.0f || score > 1.0f || overlap < 0.0f || overlap > 1.0f)) {
        status = net_fail(err, NET_ERR_ARG, "net_boxes_limits: expected 0..1");
    }
    if (status != NET_OK) {
        return status;
    }
    net_layer *layer = &graph->layer[number];
    if (!isnan(score)) {
        status = net_layer_set_float(layer, is_ssd(layer) ? 4 : 2, score);
    }
    if (status == NET_OK && !isnan(overlap)) {
        status = net_layer_set_float(layer, is_ssd(layer) ? 1 : 3, overlap);
    }
    return status == NET_OK ? NET_OK : net_fail(err, status, "out of memory");
}

/* Clamps to 0..most; NaN becomes 0. */
static float inside(float value, float most) {
    return fminf(fmaxf(value, 0.0f), most);
}

uint32_t net_boxes_read(const float *row, uint32_t rows, const net_fit *fit, net_box *box) {
    float in_w = (float)fit->in_w;
    float in_h = (float)fit->in_h;
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows; i++, row += ROW) {
        if (!(row[0] >= 1.0f)) { /* after the last detection */
            continue;
        }
        float x0 = inside((row[2] * in_w - fit->left) / fit->scale_x, (float)fit->w);
        float y0 = inside((row[3] * in_h - fit->top) / fit->scale_y, (float)fit->h);
        float x1 = inside((row[4] * in_w - fit->left) / fit->scale_x, (float)fit->w);
        float y1 = inside((row[5] * in_h - fit->top) / fit->scale_y, (float)fit->h);
        if (x1 > x0 && y1 > y0) {
            box[count++] = (net_box){(uint32_t)row[0], row[1], x0, y0, x1 - x0, y1 - y0};
        }
    }
    return count;
}
