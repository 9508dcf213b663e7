/* op_detect.c - ends of networks: softmax and anchor boxes. */
#include <math.h>

#include "op.h"

static net_status softmax_shape(net_plan *p) {
    uint32_t axis;
    net_status status = net_plan_axis(p, 0, 0, &axis);
    if (status != NET_OK) {
        return status;
    }
    if (net_layer_int(p->layer, 0, 0) != 0 && net_layer_int(p->layer, 1, 0) != 1) {
        return NET_BAD(p, "axis %d without key 1 set to 1", net_layer_int(p->layer, 0, 0));
    }
    return net_plan_same(p);
}

static void softmax_run(const net_work *work) {
    const net_shape *shape = net_work_in(work, 0);
    int32_t axis = net_layer_int(work->layer, 0, 0);
    net_axis a = net_shape_axis(shape, (uint32_t)(axis < 0 ? axis + (int32_t)shape->dims : axis));
    for (uint32_t block = 0; block < a.outer; block++) {
        for (uint32_t k = 0; k < a.step; k++) {
            const float *x = work->in[0] + (size_t)block * a.n * a.step + k;
            float *y = work->out[0] + (size_t)block * a.n * a.step + k;
            float largest = x[0];
            float sum = 0.0f;
            for (uint32_t i = 1; i < a.n; i++) {
                largest = x[(size_t)i * a.step] > largest ? x[(size_t)i * a.step] : largest;
            }
            for (uint32_t i = 0; i < a.n; i++) {
                y[(size_t)i * a.step] = expf(x[(size_t)i * a.step] - largest);
                sum += y[(size_t)i * a.step];
            }
            for (uint32_t i = 0; i < a.n; i++) {
                y[(size_t)i * a.step] /= sum;
            }
        }
    }
}

/* ---- PriorBox: anchor boxes of each cell of a map, and their variances ---- */

static uint32_t array_count(const net_layer *layer, uint32_t key) {
    uint32_t count;
    (void)net_layer_array(layer, key, &count);
    return count;
}

static float array_float(const net_layer *layer, uint32_t key, uint32_t i) {
    uint32_t count;
    return net_value_float(net_layer_array(layer, key, &count)[i]);
}

/* One input and neither image size nor largest boxes: boxes in parts of the map, as MXNet has them. */
static bool relative_boxes(const net_layer *layer) {
    return layer->num_in == 1 && net_layer_int(layer, 9, 0) == NET_ABSENT &&
           net_layer_int(layer, 10, 0) == NET_ABSENT && array_count(layer, 1) == 0;
}

static net_status prior_box_shape(net_plan *p) {
    const net_layer *layer = p->layer;
    const net_shape *in = net_plan_in(p, 0);
    uint64_t smallest = array_count(layer, 0);
    uint64_t largest = array_count(layer, 1);
    uint64_t ratios = array_count(layer, 2);
    bool relative = relative_boxes(layer);
    if (in->dims != 3 || smallest == 0 || (!relative && largest != 0 && largest != smallest) ||
        (relative && ratios == 0)) {
        return NET_BAD(p, "%u dimensions, %u smallest and %u largest boxes, expected 3 and equal numbers", in->dims,
                       (uint32_t)smallest, (uint32_t)largest);
    }
    bool by_input = net_layer_int(layer, 9, 0) == NET_ABSENT || net_layer_int(layer, 10, 0) == NET_ABSENT;
    if (!relative && ((by_input && layer->num_in != 2) ||
                      (!by_input && (net_layer_int(layer, 9, 0) < 1 || net_layer_int(layer, 10, 0) < 1)))) {
        return NET_BAD(p, "%s", "no size of the image (keys 9 and 10, or a second input)");
    }
    uint64_t priors = relative ? smallest - 1 + ratios
                               : smallest * (1 + ratios * (net_layer_int(layer, 7, 1) != 0 ? 2 : 1)) + largest;
    if (priors > NET_MAX_ELEMENTS || 4 * priors * in->w * in->h > NET_MAX_ELEMENTS) {
        return NET_BAD(p, "%llu boxes in each of %u cells", (unsigned long long)priors, in->w * in->h);
    }
    uint64_t count = 4 * priors * in->w * in->h;
    return net_plan_out(p, 0, (net_shape){relative ? 1 : 2, (uint32_t)count, relative ? 1 : 2, 1, 1});
}

static float *put_box(float *box, float x, float y, float half_w, float half_h, float image_w, float image_h) {
    box[0] = (x - half_w) / image_w;
    box[1] = (y - half_h) / image_h;
    box[2] = (x + half_w) / image_w;
    box[3] = (y + half_h) / image_h;
    return box + 4;
}

/* Boxes around (x, y) in pixels of the image. */
static float *cell_boxes(const net_layer *layer, float *box, float x, float y, float image_w, float image_h) {
    for (uint32_t k = 0; k < array_count(layer, 0); k++) {
        float size = array_float(layer, 0, k);
        box = put_box(box, x, y, size * 0.5f, size * 0.5f, image_w, image_h);
        if (array_count(layer, 1) > 0) {
            float mixed = sqrtf(size * array_float(layer, 1, k));
            box = put_box(box, x, y, mixed * 0.5f, mixed * 0.5f, image_w, image_h);
        }
        for (uint32_t r = 0; r < array_count(layer, 2); r++) {
            float root = sqrtf(array_float(layer, 2, r));
            float w = size * root;
            float h = size / root;
            box = put_box(box, x, y, w * 0.5f, h * 0.5f, image_w, image_h);
            if (net_layer_int(layer, 7, 1) != 0) {
                box = put_box(box, x, y, h * 0.5f, w * 0.5f, image_w, image_h);
            }
        }
    }
    return box;
}

static float *relative_cell_boxes(const net_layer *layer, const net_shape *map, float *box, float x, float y) {
    float rows = (float)map->h;
    float columns = (float)map->w;
    for (uint32_t k = 0; k < array_count(layer, 0); k++) {
        float size = array_float(layer, 0, k);
        box = put_box(box, x, y, size * rows / columns / 2.0f, size / 2.0f, 1.0f, 1.0f);
    }
    for (uint32_t r = 1; r < array_count(layer, 2); r++) {
        float size = array_float(layer, 0, 0);
        float root = sqrtf(array_float(layer, 2, r));
        box = put_box(box, x, y, size * rows / columns * root / 2.0f, size / root / 2.0f, 1.0f, 1.0f);
    }
    return box;
}

/* Where the boxes of cell (0, 0) have their middle along one dimension, and how far it is to the next cell, both in
 * pixels of the image. MMDetection (keys 14 and 15) has whole pixels, and the middle between the first and the last. */
typedef struct cell_grid {
    float first, step;
} cell_grid;

static cell_grid grid_of(const net_layer *layer, uint32_t step_key, float image, uint32_t cells, bool relative) {
    float step = net_layer_float(layer, step_key, (float)NET_ABSENT);
    if (step == (float)NET_ABSENT) {
        step = image / (float)cells;
        step = !relative && net_layer_int(layer, 14, 0) != 0 ? ceilf(step) : step;
    }
    bool centred = !relative && net_layer_int(layer, 15, 0) != 0;
    return (cell_grid){net_layer_float(layer, 13, 0.0f) * (centred ? step - 1.0f : step), step};
}

static void prior_box_run(const net_work *work) {
    const net_layer *layer = work->layer;
    const net_shape *map = net_work_in(work, 0);
    const net_shape *os = net_work_out(work, 0);
    bool relative = relative_boxes(layer);
    int32_t w = net_layer_int(layer, 9, 0);
    int32_t h = net_layer_int(layer, 10, 0);
    float image_w = relative ? 1.0f : (float)(w == NET_ABSENT ? (int32_t)net_work_in(work, 1)->w : w);
    float image_h = relative ? 1.0f : (float)(h == NET_ABSENT ? (int32_t)net_work_in(work, 1)->h : h);
    cell_grid across = grid_of(layer, 11, image_w, map->w, relative);
    cell_grid down = grid_of(layer, 12, image_h, map->h, relative);
    float *box = work->out[0];
    for (uint32_t i = 0; i < map->h; i++) {
        float y = down.first + (float)i * down.step;
        float x = across.first;
        for (uint32_t j = 0; j < map->w; j++, x += across.step) {
            box =
                relative ? relative_cell_boxes(layer, map, box, x, y) : cell_boxes(layer, box, x, y, image_w, image_h);
        }
    }
    for (uint32_t i = 0; net_layer_int(layer, 8, 0) != 0 && i < os->w; i++) {
        float v = work->out[0][i];
        work->out[0][i] = v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v;
    }
    for (uint32_t i = 0; !relative && i < os->w; i++) {
        work->out[0][os->w + i] = net_layer_float(layer, 3 + i % 4, i % 4 < 2 ? 0.1f : 0.2f);
    }
}

const net_op net_ops_detect[] = {
    {"Softmax", 1, 1, 1, 1, NULL, softmax_shape, softmax_run, NULL, true},
    {"PriorBox", 1, 2, 1, 1, NULL, prior_box_shape, prior_box_run, NULL, false},
    {0},
};
