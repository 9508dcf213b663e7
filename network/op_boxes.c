/*
 * op_boxes.c - detections: boxes decoded, sorted by score, and thinned out where they overlap.
 *
 * How many there are depends on the data. The output has a row of six for each that is possible (label from 1, score,
 * xmin, ymin, xmax, ymax in parts of the image); rows after the last detection are 0. Equal scores keep the order in
 * which the boxes were found.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"
#include "op.h"

static void write_rows(const net_work *work, const net_found *list, uint32_t count) {
    net_found_write(list, count, work->out[0], net_work_out(work, 0)->h);
}

/* An output of that many rows, and memory for that many candidates. */
static net_status rows_out(net_plan *p, uint64_t rows, uint64_t candidates) {
    if (rows > NET_MAX_ELEMENTS / NET_FOUND_ROW || candidates > NET_MAX_ELEMENTS / NET_FOUND_ROW) {
        return NET_BAD(p, "%llu boxes, expected at most %u",
                       (unsigned long long)(rows > candidates ? rows : candidates), NET_MAX_ELEMENTS / NET_FOUND_ROW);
    }
    p->layer->scratch = (size_t)candidates * sizeof(net_found);
    return net_plan_out(p, 0, (net_shape){2, NET_FOUND_ROW, (uint32_t)rows, 1, 1});
}

/* ---- DetectionOutput (SSD): offsets, class probabilities and anchor boxes ---- */

/* The three inputs. Caffe: offsets, scores of each box one after the other, and a blob of two rows, boxes and
 * variances. MXNet (key 0 is -233): a row of scores for each class, a row of four for each box, variances from the
 * settings. */
typedef struct ssd_form {
    bool rows; /* MXNet */
    uint32_t priors, classes;
} ssd_form;

static ssd_form ssd_form_of(const net_layer *layer, const net_shape *scores, const net_shape *boxes) {
    int32_t classes = net_layer_int(layer, 0, 0);
    if (classes == NET_ABSENT) {
        return (ssd_form){true, boxes->h, scores->h};
    }
    return (ssd_form){false, boxes->w / 4, classes < 0 ? 0 : (uint32_t)classes};
}

static net_status ssd_shape(net_plan *p) {
    const net_shape *scores = net_plan_in(p, 1);
    const net_shape *boxes = net_plan_in(p, 2);
    ssd_form form = ssd_form_of(p->layer, scores, boxes);
    uint32_t per_class = 0;
    uint32_t keep = 0;
    net_status status = net_plan_number(p, 2, 300, 1, INT32_MAX, "boxes of a class", &per_class);
    status = status == NET_OK ? net_plan_number(p, 3, 100, 1, INT32_MAX, "boxes in all", &keep) : status;
    if (status != NET_OK) {
        return status;
    }
    bool fits = boxes->dims == 2 && (form.rows ? scores->dims == 2 && boxes->w == 4 : boxes->h == 2);
    if (form.classes < 2 || !fits || boxes->w % 4 != 0) {
        return NET_BAD(p, "%u classes and anchor boxes of %ux%u, expected at least 2 and %s", form.classes, boxes->h,
                       boxes->w, form.rows ? "rows of 4" : "2 rows");
    }
    uint64_t offsets = 4 * (uint64_t)form.priors;
    uint64_t all = (uint64_t)form.priors * form.classes;
    if (net_shape_elements(net_plan_in(p, 0)) != offsets || net_shape_elements(scores) != all) {
        return NET_BAD(p, "%u offsets and %u scores, %u boxes of %u classes need %llu and %llu",
                       net_shape_elements(net_plan_in(p, 0)), net_shape_elements(scores), form.priors, form.classes,
                       (unsigned long long)offsets, (unsigned long long)all);
    }
    uint64_t most = (uint64_t)(per_class < form.priors ? per_class : form.priors) * (form.classes - 1);
    uint64_t rows = keep < most ? keep : most;
    return rows_out(p, rows, rows + form.priors);
}

/* Anchor box i moved and stretched by its offsets. */
static void ssd_box(const net_work *work, const ssd_form *form, uint32_t i, net_found *found) {
    const float given[4] = {net_layer_float(work->layer, 5, 0.1f), net_layer_float(work->layer, 6, 0.1f),
                            net_layer_float(work->layer, 7, 0.2f), net_layer_float(work->layer, 8, 0.2f)};
    const float *offset = work->in[0] + (size_t)i * 4;
    const float *anchor = work->in[2] + (size_t)i * 4;
    const float *variance = form->rows ? given : anchor + net_work_in(work, 2)->w;
    float w = anchor[2] - anchor[0];
    float h = anchor[3] - anchor[1];
    float x = variance[0] * offset[0] * w + (anchor[0] + anchor[2]) * 0.5f;
    float y = variance[1] * offset[1] * h + (anchor[1] + anchor[3]) * 0.5f;
    w = expf(variance[2] * offset[2]) * w;
    h = expf(variance[3] * offset[3]) * h;
    found->box[0] = x - w * 0.5f;
    found->box[1] = y - h * 0.5f;
    found->box[2] = x + w * 0.5f;
    found->box[3] = y + h * 0.5f;
    found->area = net_found_area(found->box);
}

static void ssd_run(const net_work *work) {
    const net_layer *layer = work->layer;
    ssd_form form = ssd_form_of(layer, net_work_in(work, 1), net_work_in(work, 2));
    uint32_t per_class = (uint32_t)net_layer_int(layer, 2, 300);
    uint32_t rows = net_work_out(work, 0)->h;
    float limit = net_layer_float(layer, 1, 0.05f);
    float threshold = net_layer_float(layer, 4, 0.5f);
    net_found *list = work->scratch; /* the best of the classes so far, then the candidates of one class */
    uint32_t kept = 0;
    for (uint32_t k = 1; k < form.classes; k++) { /* class 0 is the background */
        net_found *own = list + kept;
        uint32_t count = 0;
        for (uint32_t i = 0; i < form.priors; i++) {
            size_t at = form.rows ? (size_t)k * form.priors + i : (size_t)i * form.classes + k;
            float score = work->in[1][at];
            if (score > threshold) {
                own[count] = (net_found){.score = score, .label = k};
                ssd_box(work, &form, i, &own[count]);
                count++;
            }
        }
        net_found_sort(own, count);
        kept += net_found_suppress(own, count < per_class ? count : per_class, limit, NET_FOUND_RATIO);
        net_found_sort(list, kept);
        kept = kept < rows ? kept : rows;
    }
    write_rows(work, list, kept);
}

/* ---- YOLO: cells with anchor boxes; version 2 has softmax classes and anchors in cells, version 3 sigmoid classes and
 * anchors in pixels ---- */

static net_status yolo_shape(net_plan *p) {
    const net_layer *layer = p->layer;
    bool v3 = layer->type[4] == 'v';
    uint32_t classes = 0;
    uint32_t boxes = 0;
    uint32_t biases;
    uint32_t masks;
    uint32_t scales;
    uint64_t rows = 0;
    net_status status = net_plan_number(p, 0, 20, 1, 65535, "number of classes", &classes);
    status = status == NET_OK ? net_plan_number(p, 1, 5, 1, 65535, "boxes of a cell", &boxes) : status;
    if (status != NET_OK) {
        return status;
    }
    (void)net_layer_array(layer, 4, &biases);
    const net_value *mask = net_layer_array(layer, 5, &masks);
    (void)net_layer_array(layer, 6, &scales);
    uint64_t needed = (uint64_t)boxes * layer->num_in;
    if (v3 ? masks < needed || scales < layer->num_in : biases / 2 < boxes) {
        return NET_BAD(p,
                       "%u anchor sizes, %u masks and %u scales (keys 4, 5, 6) are too few for %u boxes and %u inputs",
                       biases, masks, scales, boxes, layer->num_in);
    }
    for (uint64_t i = 0; v3 && i < needed; i++) {
        float index = net_value_float(mask[i]);
        if (!(index >= 0.0f && index < (float)(biases / 2))) {
            return NET_BAD(p, "mask %g (key 5) of %u anchor boxes", (double)index, biases / 2);
        }
    }
    for (uint32_t i = 0; i < layer->num_in; i++) {
        const net_shape *in = net_plan_in(p, i);
        if (in->dims != 3 || in->c != (uint64_t)boxes * (5 + classes)) {
            return NET_BAD(p, "input %u has %u channels, expected %u x (5 + %u)", i, in->c, boxes, classes);
        }
        rows += (uint64_t)in->w * in->h * boxes;
    }
    return rows_out(p, rows, rows);
}

/* Version 2: the first class with the largest softmax probability, which rounding may share between classes. Returns
 * the probability times that of the box. `step`: elements from one class to the next. */
static float softmax_score(float box, const float *score, size_t step, uint32_t classes, uint32_t *label) {
    float largest = score[0];
    float sum = 0.0f;
    for (uint32_t q = 1; q < classes; q++) {
        largest = score[q * step] > largest ? score[q * step] : largest;
    }
    for (uint32_t q = 0; q < classes; q++) {
        sum += expf(score[q * step] - largest);
    }
    float best = 0.0f;
    *label = 1; /* 0 is the background */
    for (uint32_t q = 0; q < classes; q++) {
        float share = expf(score[q * step] - largest) / sum;
        *label = share > best ? q + 1 : *label;
        best = share > best ? share : best;
    }
    return net_found_sigmoid(box) * best;
}

/* Version 3: the first class with the largest score. ncnn's 1 / (1 + e^-box * (1 + e^-class)) is not the product of the
 * two sigmoids (a bracket before the first * is missing) but larger; thresholds are chosen with it, so it stays. */
static float sigmoid_score(float box, const float *score, size_t step, uint32_t classes, uint32_t *label) {
    uint32_t best = 0;
    for (uint32_t q = 1; q < classes; q++) {
        best = score[q * step] > score[best * step] ? q : best;
    }
    *label = best + 1;
    return 1.0f / (1.0f + expf(-box) * (1.0f + expf(-score[best * step])));
}

/* Adds the candidates of one anchor box of one input; returns the new number of candidates. */
static uint32_t yolo_cells(const net_work *work, uint32_t input, uint32_t anchor, bool v3, net_found *list,
                           uint32_t count) {
    const net_layer *layer = work->layer;
    const net_shape *s = net_work_in(work, input);
    uint32_t classes = (uint32_t)net_layer_int(layer, 0, 20);
    uint32_t boxes = (uint32_t)net_layer_int(layer, 1, 5);
    float threshold = net_layer_float(layer, 2, 0.01f);
    uint32_t unused;
    const net_value *bias = net_layer_array(layer, 4, &unused);
    uint32_t index = anchor;
    float net_w = (float)s->w;
    float net_h = (float)s->h;
    if (v3) {
        float scale = net_value_float(net_layer_array(layer, 6, &unused)[input]);
        index = (uint32_t)net_value_float(net_layer_array(layer, 5, &unused)[input * boxes + anchor]);
        net_w = truncf(scale * net_w);
        net_h = truncf(scale * net_h);
    }
    size_t plane = (size_t)s->w * s->h;
    for (uint32_t y = 0; y < s->h; y++) {
        for (uint32_t x = 0; x < s->w; x++) {
            const float *cell = work->in[input] + (size_t)anchor * (5 + classes) * plane + (size_t)y * s->w + x;
            net_found *f = &list[count];
            f->score = v3 ? sigmoid_score(cell[4 * plane], cell + 5 * plane, plane, classes, &f->label)
                          : softmax_score(cell[4 * plane], cell + 5 * plane, plane, classes, &f->label);
            if (f->score >= threshold) {
                float cx = ((float)x + net_found_sigmoid(cell[0])) / (float)s->w;
                float cy = ((float)y + net_found_sigmoid(cell[plane])) / (float)s->h;
                float w = expf(cell[2 * plane]) * net_value_float(bias[2 * index]) / net_w;
                float h = expf(cell[3 * plane]) * net_value_float(bias[2 * index + 1]) / net_h;
                f->box[0] = cx - w * 0.5f;
                f->box[1] = cy - h * 0.5f;
                f->box[2] = cx + w * 0.5f;
                f->box[3] = cy + h * 0.5f;
                f->area = v3 ? w * h : net_found_area(f->box);
                count++;
            }
        }
    }
    return count;
}

static void yolo_run(const net_work *work) {
    bool v3 = work->layer->type[4] == 'v';
    uint32_t boxes = (uint32_t)net_layer_int(work->layer, 1, 5);
    net_found *list = work->scratch;
    uint32_t count = 0;
    for (uint32_t i = 0; i < work->layer->num_in; i++) {
        for (uint32_t k = 0; k < boxes; k++) {
            count = yolo_cells(work, i, k, v3, list, count);
        }
    }
    net_found_sort(list, count);
    write_rows(work, list,
               net_found_suppress(list, count, net_layer_float(work->layer, 3, 0.45f),
                                  v3 ? NET_FOUND_PRODUCT : NET_FOUND_RATIO));
}

const net_op net_ops_boxes[] = {
    {"DetectionOutput", 3, 3, 1, 1, NULL, ssd_shape, ssd_run, NULL, false},
    {"YoloDetectionOutput", 1, NET_ANY, 1, 1, NULL, yolo_shape, yolo_run, NULL, false},
    {"Yolov3DetectionOutput", 1, NET_ANY, 1, 1, NULL, yolo_shape, yolo_run, NULL, false},
    {0},
};
