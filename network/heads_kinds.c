/*
 * heads_kinds.c - heads of detectors that leave the decoding to the program: which outputs they have, and their boxes.
 *
 * Each decoding is that of the network's own example: of ncnn (NanoDet, SCRFD, RetinaFace, YOLOv8), of the network's
 * authors (UltraFace, FastestDet, yolo-fastestv2, YOLOv8 as exported to ONNX).
 */
#include <math.h>
#include <string.h>

#include "boxes.h"
#include "heads.h"
#include "internal.h"

/* Columns and rows of a grid of cells of `stride` pixels; 0 cells where they do not fill the input. */
typedef struct grid {
    uint32_t w, h;
} grid;

static grid grid_of(const net_shape *input, uint32_t stride) {
    if (input->w % stride != 0 || input->h % stride != 0) {
        return (grid){0, 0};
    }
    return (grid){input->w / stride, input->h / stride};
}

/* Values of an output: element e of cell i is at[i * cell + e * element]. */
typedef struct view {
    const float *at;
    size_t cell, element;
} view;

static view rows_view(const float *at, uint32_t values) {
    return (view){at, values, 1};
}

static view map_view(const float *at, uint32_t cells, uint32_t channel) {
    return (view){at + (size_t)channel * cells, 1, cells};
}

static float value(const view *v, uint32_t cell, uint32_t element) {
    return v->at[cell * v->cell + element * v->element];
}

static uint32_t best_of(const view *v, uint32_t cell, uint32_t first, uint32_t count) {
    uint32_t best = 0;
    for (uint32_t q = 1; q < count; q++) {
        best = value(v, cell, first + q) > value(v, cell, first + best) ? q : best;
    }
    return best;
}

/* A candidate; corners in pixels of the input. */
static void found(net_decoded *d, float score, uint32_t label, float x0, float y0, float x1, float y1) {
    float in_w = (float)d->input->w;
    float in_h = (float)d->input->h;
    if (d->count < d->rows && score >= d->least) {
        net_found *f = &d->list[d->count++];
        *f = (net_found){.score = score, .label = label, .box = {x0 / in_w, y0 / in_h, x1 / in_w, y1 / in_h}};
        f->area = net_found_area(f->box);
    }
}

/* The expected distance of a discrete distribution: sum of k * softmax(k) over `bins` values from `first` on. */
static float expected_distance(const view *v, uint32_t cell, uint32_t first, uint32_t bins) {
    float largest = value(v, cell, first);
    float sum = 0.0f;
    float distance = 0.0f;
    for (uint32_t k = 1; k < bins; k++) {
        largest = fmaxf(largest, value(v, cell, first + k));
    }
    for (uint32_t k = 0; k < bins; k++) {
        float e = expf(value(v, cell, first + k) - largest);
        sum += e;
        distance += (float)k * e;
    }
    return distance / sum;
}

/* A box by its distances (left, top, right, bottom) from the middle of the cell, each a distribution. */
static void found_by_distance(net_decoded *d, const view *box, uint32_t cell, uint32_t first, uint32_t bins,
                              uint32_t columns, uint32_t stride, float score, uint32_t label) {
    if (score < d->least) {
        return;
    }
    float s = (float)stride;
    float x = ((float)(cell % columns) + 0.5f) * s;
    float y = ((float)(cell / columns) + 0.5f) * s;
    float side[4];
    for (uint32_t k = 0; k < 4; k++) {
        side[k] = expected_distance(box, cell, first + k * bins, bins) * s;
    }
    found(d, score, label, x - side[0], y - side[1], x + side[2], y + side[3]);
}

/* ---- NanoDet: for each stride a blob of class probabilities and one of distances, a row for each cell ---- */

/* Rows and columns; of an ONNX model with a batch of one as its outermost dimension. */
static bool is_matrix(const net_shape *s) {
    return s->dims == 2 || (s->dims == 3 && s->c == 1);
}

static bool nanodet_fit(net_heads *heads, const net_graph *g) {
    static const uint32_t strides[4] = {8, 16, 32, 64};
    for (int i = 0; i < 4; i++) {
        grid c = grid_of(net_head_input(g), strides[i]);
        uint32_t hit[2] = {0, 0};
        uint32_t hits = 0;
        for (uint32_t k = 0; k < g->num_outputs; k++) {
            const net_shape *s = net_head_output(g, k);
            if (is_matrix(s) && s->h == c.w * c.h && hits++ < 2) {
                hit[hits - 1] = k;
            }
        }
        if (hits == 0) {
            continue;
        }
        bool second = net_head_output(g, hit[1])->w == 32; /* distances in 8 bins, whatever the order */
        uint32_t box = hit[second ? 1 : 0];
        uint32_t score = hit[second ? 0 : 1];
        if (hits != 2 || net_head_output(g, box)->w % 4 != 0 || net_head_output(g, box)->w < 8 ||
            !net_head_level(heads, strides[i], score, box, net_head_output(g, score)->w, c.w * c.h)) {
            return false;
        }
    }
    return heads->count > 0;
}

static void nanodet_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    for (uint32_t i = 0; i < heads->count; i++) {
        const net_shape *box = net_head_output(g, heads->box[i]);
        view scores = rows_view(output[heads->score[i]], heads->classes);
        view boxes = rows_view(output[heads->box[i]], box->w);
        for (uint32_t cell = 0; cell < box->h; cell++) {
            uint32_t best = best_of(&scores, cell, 0, heads->classes);
            found_by_distance(d, &boxes, cell, 0, box->w / 4, d->input->w / heads->stride[i], heads->stride[i],
                              value(&scores, cell, best), best + 1);
        }
    }
}

/* ---- SCRFD and RetinaFace: for each stride a map of scores and one of boxes, two anchor boxes in each cell ---- */

/* `part`: channels of the scores for each anchor box. */
static bool faces_fit(net_heads *heads, const net_graph *g, uint32_t part) {
    static const uint32_t strides[3] = {8, 16, 32};
    for (int i = 0; i < 3; i++) {
        grid c = grid_of(net_head_input(g), strides[i]);
        uint32_t score = NET_NONE;
        uint32_t box = NET_NONE;
        for (uint32_t k = 0; k < g->num_outputs; k++) {
            const net_shape *s = net_head_output(g, k);
            bool here = s->dims == 3 && s->w == c.w && s->h == c.h;
            score = here && s->c == 2 * part ? k : score;
            box = here && s->c == 8 ? k : box;
        }
        if (score != NET_NONE && box != NET_NONE && !net_head_level(heads, strides[i], score, box, 1, 2 * c.w * c.h)) {
            return false;
        }
    }
    return heads->count > 0;
}

static bool scrfd_fit(net_heads *heads, const net_graph *g) {
    return faces_fit(heads, g, 1);
}

static bool retinaface_fit(net_heads *heads, const net_graph *g) {
    return faces_fit(heads, g, 2);
}

/* Distances in strides from the upper left corner of the cell, whatever the anchor box. */
static void scrfd_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    for (uint32_t i = 0; i < 2 * heads->count; i++) {
        uint32_t level = i / 2;
        const net_shape *s = net_head_output(g, heads->score[level]);
        uint32_t cells = s->w * s->h;
        view score = map_view(output[heads->score[level]], cells, i % 2);
        view box = map_view(output[heads->box[level]], cells, 4 * (i % 2));
        float stride = (float)heads->stride[level];
        for (uint32_t cell = 0; cell < cells; cell++) {
            float x = (float)(cell % s->w) * stride;
            float y = (float)(cell / s->w) * stride;
            found(d, value(&score, cell, 0), 1, x - value(&box, cell, 0) * stride, y - value(&box, cell, 1) * stride,
                  x + value(&box, cell, 2) * stride, y + value(&box, cell, 3) * stride);
        }
    }
}

/* Square anchor boxes of 32 and 16 pixels at stride 8, 128 and 64 at 16, 512 and 256 at 32, around a point 8 pixels
 * right of and below the cell's corner: insightface's base of 16 pixels and its scales 32, 16, 8, 4, 2, 1. */
static void retinaface_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    for (uint32_t i = 0; i < 2 * heads->count; i++) {
        uint32_t level = i / 2;
        const net_shape *s = net_head_output(g, heads->score[level]);
        uint32_t cells = s->w * s->h;
        uint32_t stride = heads->stride[level];
        view score = map_view(output[heads->score[level]], cells, 2 + i % 2);
        view box = map_view(output[heads->box[level]], cells, 4 * (i % 2));
        float side = (float)((stride == 8 ? 32u : stride == 16 ? 128u : 512u) >> (i % 2));
        for (uint32_t cell = 0; cell < cells; cell++) {
            float x = (float)(cell % s->w * stride) + 8.0f + side * value(&box, cell, 0);
            float y = (float)(cell / s->w * stride) + 8.0f + side * value(&box, cell, 1);
            float w = side * expf(value(&box, cell, 2)) * 0.5f;
            float h = side * expf(value(&box, cell, 3)) * 0.5f;
            found(d, value(&score, cell, 0), 1, x - w, y - h, x + w, y + h);
        }
    }
}

/* ---- UltraFace (slim, RFB): two scores and four offsets for each anchor box, all strides one after the other ---- */

static const uint32_t ultra_stride[4] = {8, 16, 32, 64};
static const uint32_t ultra_boxes[4] = {3, 2, 2, 3};
static const float ultra_side[4][3] = {{10, 16, 24}, {32, 48, 0}, {64, 96, 0}, {128, 192, 256}};

static uint32_t cells_along(uint32_t pixels, uint32_t stride) {
    return (pixels + stride - 1) / stride;
}

static bool ultraface_fit(net_heads *heads, const net_graph *g) {
    const net_shape *in = net_head_input(g);
    uint32_t rows = 0;
    uint32_t score = NET_NONE;
    uint32_t box = NET_NONE;
    for (int i = 0; i < 4; i++) {
        rows += cells_along(in->w, ultra_stride[i]) * cells_along(in->h, ultra_stride[i]) * ultra_boxes[i];
    }
    for (uint32_t k = 0; k < g->num_outputs; k++) {
        const net_shape *s = net_head_output(g, k);
        bool fits = net_shape_elements(s) == (uint64_t)rows * s->w;
        score = fits && s->w == 2 ? k : score;
        box = fits && s->w == 4 ? k : box;
    }
    return score != NET_NONE && box != NET_NONE && net_head_level(heads, 8, score, box, 1, rows);
}

static void ultraface_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    (void)g;
    view score = rows_view(output[heads->score[0]], 2);
    view box = rows_view(output[heads->box[0]], 4);
    float in_w = (float)d->input->w;
    float in_h = (float)d->input->h;
    uint32_t row = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t columns = cells_along(d->input->w, ultra_stride[i]);
        uint32_t cells = columns * cells_along(d->input->h, ultra_stride[i]);
        for (uint32_t k = 0; k < cells * ultra_boxes[i]; k++, row++) {
            uint32_t cell = k / ultra_boxes[i];
            float side = ultra_side[i][k % ultra_boxes[i]];
            float w = fminf(side, in_w);
            float h = fminf(side, in_h);
            float x = fminf(((float)(cell % columns) + 0.5f) * (float)ultra_stride[i], in_w);
            float y = fminf(((float)(cell / columns) + 0.5f) * (float)ultra_stride[i], in_h);
            x += value(&box, row, 0) * 0.1f * w;
            y += value(&box, row, 1) * 0.1f * h;
            w *= expf(value(&box, row, 2) * 0.2f) * 0.5f;
            h *= expf(value(&box, row, 3) * 0.2f) * 0.5f;
            found(d, value(&score, row, 1), 1, x - w, y - h, x + w, y + h);
        }
    }
}

/* ---- FastestDet: one map of object, box, classes ---- */

static bool fastestdet_fit(net_heads *heads, const net_graph *g) {
    const net_shape *in = net_head_input(g);
    const net_shape *s = net_head_output(g, 0);
    bool fits = g->num_outputs == 1 && s->dims == 3 && s->c > 5 && in->w % s->w == 0 && in->h % s->h == 0;
    return fits && net_head_level(heads, in->w / s->w, 0, 0, s->c - 5, s->w * s->h);
}

static void fastestdet_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    const net_shape *s = net_head_output(g, 0);
    view v = map_view(output[0], s->w * s->h, 0);
    float step_w = (float)d->input->w / (float)s->w;
    float step_h = (float)d->input->h / (float)s->h;
    for (uint32_t cell = 0; cell < s->w * s->h; cell++) {
        uint32_t best = best_of(&v, cell, 5, heads->classes);
        float score = powf(value(&v, cell, 5 + best), 0.4f) * powf(value(&v, cell, 0), 0.6f);
        float x = ((float)(cell % s->w) + tanhf(value(&v, cell, 1))) * step_w;
        float y = ((float)(cell / s->w) + tanhf(value(&v, cell, 2))) * step_h;
        float w = net_found_sigmoid(value(&v, cell, 3)) * (float)d->input->w * 0.5f;
        float h = net_found_sigmoid(value(&v, cell, 4)) * (float)d->input->h * 0.5f;
        found(d, score, best + 1, x - w, y - h, x + w, y + h);
    }
}

/* ---- yolo-fastestv2: boxes, objects, and classes that all anchor boxes of a cell share; sigmoids and softmax are in
 * the network ---- */

#define FASTEST_ANCHORS 3u

static bool fastestv2_fit(net_heads *heads, const net_graph *g) {
    const net_shape *in = net_head_input(g);
    for (uint32_t stride = 8; stride <= 64; stride *= 2) {
        grid c = grid_of(in, stride);
        for (uint32_t k = 0; c.w > 0 && k < g->num_outputs; k++) {
            const net_shape *s = net_head_output(g, k); /* a cell's values lie side by side */
            if (s->dims == 3 && s->c == c.h && s->h == c.w && s->w > 5 * FASTEST_ANCHORS &&
                !net_head_level(heads, stride, k, k, s->w - 5 * FASTEST_ANCHORS, FASTEST_ANCHORS * c.w * c.h)) {
                return false;
            }
        }
    }
    return heads->count == 2;
}

static void fastestv2_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    for (uint32_t i = 0; i < heads->count; i++) {
        const net_shape *s = net_head_output(g, heads->box[i]);
        view v = rows_view(output[heads->box[i]], s->w);
        float stride = (float)heads->stride[i];
        for (uint32_t cell = 0; cell < s->c * s->h; cell++) {
            uint32_t best = best_of(&v, cell, 5 * FASTEST_ANCHORS, heads->classes);
            for (uint32_t a = 0; a < FASTEST_ANCHORS; a++) {
                float score = value(&v, cell, 4 * FASTEST_ANCHORS + a) * value(&v, cell, 5 * FASTEST_ANCHORS + best);
                float x = (value(&v, cell, 4 * a) * 2.0f - 0.5f + (float)(cell % s->h)) * stride;
                float y = (value(&v, cell, 4 * a + 1) * 2.0f - 0.5f + (float)(cell / s->h)) * stride;
                float w = 2.0f * value(&v, cell, 4 * a + 2);
                float h = 2.0f * value(&v, cell, 4 * a + 3);
                w = w * w * heads->size[i][2 * a] * 0.5f;
                h = h * h * heads->size[i][2 * a + 1] * 0.5f;
                found(d, score, best + 1, x - w, y - h, x + w, y + h);
            }
        }
    }
}

/* ---- YOLOv8 and what has its head (YOLOv9, YOLO11): one output, all cells of strides 8, 16 and 32 ---- */

#define DFL_BINS 16u

/* `box`: values of a box, the classes follow. */
static bool v8_fit(net_heads *heads, const net_graph *g, uint32_t box) {
    const net_shape *s = net_head_output(g, 0);
    uint32_t cells = 0;
    for (uint32_t stride = 8; stride <= 32; stride *= 2) {
        grid c = grid_of(net_head_input(g), stride);
        cells += c.w * c.h;
    }
    bool fits = g->num_outputs == 1 && is_matrix(s) && (s->w == cells || s->h == cells) && s->w + s->h - cells > box;
    return fits && net_head_level(heads, 8, 0, 0, s->w + s->h - cells - box, cells);
}

static bool yolov8_fit(net_heads *heads, const net_graph *g) {
    return v8_fit(heads, g, 4);
}

static bool yolov8_dfl_fit(net_heads *heads, const net_graph *g) {
    return v8_fit(heads, g, 4 * DFL_BINS);
}

static view v8_view(const net_heads *heads, const net_graph *g, const float *at) {
    const net_shape *s = net_head_output(g, 0);
    return s->h == heads->rows ? rows_view(at, s->w) : map_view(at, s->w, 0);
}

/* Middle, width and height in pixels, and probabilities. */
static void yolov8_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    view v = v8_view(heads, g, output[0]);
    for (uint32_t cell = 0; cell < heads->rows; cell++) {
        uint32_t best = best_of(&v, cell, 4, heads->classes);
        float w = value(&v, cell, 2) * 0.5f;
        float h = value(&v, cell, 3) * 0.5f;
        found(d, value(&v, cell, 4 + best), best + 1, value(&v, cell, 0) - w, value(&v, cell, 1) - h,
              value(&v, cell, 0) + w, value(&v, cell, 1) + h);
    }
}

/* Distances as distributions, and classes before the sigmoid: the network as ncnn's example cuts it. */
static void yolov8_dfl_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    view v = v8_view(heads, g, output[0]);
    uint32_t first = 0;
    for (uint32_t stride = 8; stride <= 32; stride *= 2) {
        grid c = grid_of(d->input, stride);
        view part = v;
        part.at += first * v.cell;
        for (uint32_t cell = 0; cell < c.w * c.h; cell++) {
            uint32_t best = best_of(&part, cell, 4 * DFL_BINS, heads->classes);
            found_by_distance(d, &part, cell, 0, DFL_BINS, c.w, stride,
                              net_found_sigmoid(value(&part, cell, 4 * DFL_BINS + best)), best + 1);
        }
        first += c.w * c.h;
    }
}

/* ---- YOLOv5, YOLOv7 and YOLOX as exported to ONNX: rows of middle, width, height, object and classes ---- */

static bool rows_fit(net_heads *heads, const net_graph *g, uint32_t boxes) {
    const net_shape *s = net_head_output(g, 0);
    uint32_t cells = 0;
    for (uint32_t stride = 8; stride <= 32; stride *= 2) {
        grid c = grid_of(net_head_input(g), stride);
        cells += c.w * c.h;
    }
    return g->num_outputs == 1 && is_matrix(s) && s->h == cells * boxes && s->w > 5 &&
           net_head_level(heads, 8, 0, 0, s->w - 5, s->h);
}

static bool yolov5_rows_fit(net_heads *heads, const net_graph *g) {
    return rows_fit(heads, g, 3);
}

static bool yolox_fit(net_heads *heads, const net_graph *g) {
    return rows_fit(heads, g, 1);
}

static void found_row(net_decoded *d, const view *v, uint32_t row, uint32_t classes, const float box[4]) {
    uint32_t best = best_of(v, row, 5, classes);
    found(d, value(v, row, 4) * value(v, row, 5 + best), best + 1, box[0] - box[2] * 0.5f, box[1] - box[3] * 0.5f,
          box[0] + box[2] * 0.5f, box[1] + box[3] * 0.5f);
}

/* Boxes in pixels. */
static void yolov5_rows_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    view v = rows_view(output[0], net_head_output(g, 0)->w);
    for (uint32_t row = 0; row < heads->rows; row++) {
        const float box[4] = {value(&v, row, 0), value(&v, row, 1), value(&v, row, 2), value(&v, row, 3)};
        found_row(d, &v, row, heads->classes, box);
    }
}

/* Middles in cells from that of the row, logarithms of the sides in cells. */
static void yolox_decode(const net_heads *heads, const net_graph *g, const float *const *output, net_decoded *d) {
    view v = rows_view(output[0], net_head_output(g, 0)->w);
    uint32_t row = 0;
    for (uint32_t stride = 8; stride <= 32; stride *= 2) {
        grid c = grid_of(d->input, stride);
        for (uint32_t cell = 0; cell < c.w * c.h; cell++, row++) {
            const float side = (float)stride;
            const float box[4] = {(value(&v, row, 0) + (float)(cell % c.w)) * side,
                                  (value(&v, row, 1) + (float)(cell / c.w)) * side, expf(value(&v, row, 2)) * side,
                                  expf(value(&v, row, 3)) * side};
            found_row(d, &v, row, heads->classes, box);
        }
    }
}

const net_head_op net_head_ops[] = {
    {"nanodet", "class probabilities and distances of strides 8, 16, 32 (64), a row for each cell", NULL, nanodet_fit,
     nanodet_decode},
    {"scrfd", "scores (2 maps) and distances (8 maps) of strides 8, 16, 32", NULL, scrfd_fit, scrfd_decode},
    {"retinaface", "scores (4 maps) and boxes (8 maps) of strides 8, 16, 32", NULL, retinaface_fit, retinaface_decode},
    {"ultraface", "2 scores and 4 offsets for each anchor box of strides 8, 16, 32, 64", NULL, ultraface_fit,
     ultraface_decode},
    {"fastestdet", "one output of 5 + classes maps", NULL, fastestdet_fit, fastestdet_decode},
    {"yolo-fastestv2", "two outputs, 15 + classes values side by side for each cell",
     "12.64,19.39,37.88,51.48,55.71,138.31/126.91,78.23,131.57,214.55,279.92,258.87", fastestv2_fit, fastestv2_decode},
    {"yolov8", "one output, 4 + classes values for each cell of strides 8, 16, 32", NULL, yolov8_fit, yolov8_decode},
    {"yolov8-dfl", "one output, 64 + classes values for each cell of strides 8, 16, 32", NULL, yolov8_dfl_fit,
     yolov8_dfl_decode},
    {"yolov5-rows", "one output, 5 + classes values for each of three boxes of cells of strides 8, 16, 32", NULL,
     yolov5_rows_fit, yolov5_rows_decode},
    {"yolox", "one output, a row of 5 + classes values for each cell of strides 8, 16, 32", NULL, yolox_fit,
     yolox_decode},
    {0},
};
