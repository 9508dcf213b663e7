/* heads.c - heads without a detection layer: their kinds by name, and those of YOLOv5 and YOLOv7 (sigmoid centres and
 * sizes). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "boxes.h"
#include "heads.h"
#include "internal.h"

net_status net_heads_parse(net_heads *heads, const char *text, net_error *err) {
    if (heads == NULL || text == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_heads_parse: null argument");
    }
    *heads = (net_heads){0};
    uint32_t numbers = 0; /* of this head */
    for (const char *at = text;; at++) {
        char *end;
        float value = strtof(at, &end);
        if (heads->count == NET_MAX_HEADS || numbers == 2 * NET_MAX_ANCHORS || end == at ||
            !(value > 0.0f && value <= 65536.0f)) {
            break;
        }
        heads->size[heads->count][numbers++] = value;
        if (*end == ',') {
            at = end;
            continue;
        }
        if ((*end != '/' && *end != '\0') || numbers % 2 != 0) {
            break;
        }
        heads->anchors[heads->count++] = numbers / 2;
        numbers = 0;
        if (*end == '\0') {
            return NET_OK;
        }
        at = end;
    }
    *heads = (net_heads){0};
    return net_fail(err, NET_ERR_FORMAT,
                    "anchors '%.100s': expected width,height,... of the anchor boxes of each output, / between outputs",
                    text);
}

/* ---- kinds by name ---- */

const net_shape *net_head_input(const net_graph *graph) {
    return &graph->blob[graph->input].shape;
}

const net_shape *net_head_output(const net_graph *graph, uint32_t output) {
    return &graph->blob[graph->outputs[output]].shape;
}

bool net_head_level(net_heads *heads, uint32_t stride, uint32_t score, uint32_t box, uint32_t classes, uint32_t rows) {
    if (heads->count == NET_MAX_HEADS || (heads->count > 0 && heads->classes != classes)) {
        return false;
    }
    heads->stride[heads->count] = stride;
    heads->score[heads->count] = score;
    heads->box[heads->count] = box;
    heads->classes = classes;
    heads->rows += rows;
    heads->count++;
    return true;
}

net_status net_heads_named(net_heads *heads, const char *kind, const char *anchors, net_error *err) {
    if (heads == NULL || kind == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_heads_named: null argument");
    }
    *heads = (net_heads){0};
    if (strcmp(kind, "yolov5") == 0) {
        return anchors != NULL ? net_heads_parse(heads, anchors, err)
                               : net_fail(err, NET_ERR_ARG, "yolov5: the sizes of its anchor boxes are missing");
    }
    const net_head_op *op = net_head_ops;
    while (op->name != NULL && strcmp(op->name, kind) != 0) {
        op++;
    }
    if (op->name == NULL || (anchors != NULL && op->anchors == NULL)) {
        return net_fail(err, NET_ERR_ARG,
                        op->name == NULL ? "'%.60s' is not a kind of head" : "%.60s has no anchor boxes", kind);
    }
    net_status status = NET_OK;
    if (op->anchors != NULL) {
        status = net_heads_parse(heads, anchors != NULL ? anchors : op->anchors, err);
    }
    heads->op = op;
    return status;
}

static net_status fit_named(net_heads *heads, const net_graph *graph, net_error *err) {
    heads->count = 0;
    if (graph->input == NET_NONE || graph->num_outputs == 0 || graph->num_outputs > NET_MAX_HEAD_OUTPUTS ||
        !heads->op->fit(heads, graph)) {
        const net_shape *in = graph->input == NET_NONE ? NULL : net_head_input(graph);
        return net_fail(err, NET_ERR_UNSUPPORTED,
                        "%.120s: %u outputs do not fit %s over an input of %ux%u: expected %s", graph->name,
                        graph->num_outputs, heads->op->name, in != NULL ? in->w : 0, in != NULL ? in->h : 0,
                        heads->op->expected);
    }
    return NET_OK;
}

/* ---- YOLOv5 ---- */

/* Where element e of anchor box a and cell i lies: a * anchor + i * cell + e * element. */
typedef struct head_layout {
    size_t anchor, cell, element;
    uint32_t cells, values;
} head_layout;

static bool layout_of(const net_shape *s, uint32_t anchors, head_layout *l) {
    if (s->dims == 3 && s->c == anchors && s->w > 5) {
        *l = (head_layout){(size_t)s->w * s->h, s->w, 1, s->h, s->w};
        return true;
    }
    uint32_t values = s->c / anchors;
    size_t plane = (size_t)s->w * s->h;
    *l = (head_layout){values * plane, 1, plane, s->w * s->h, values};
    return s->dims == 3 && s->c % anchors == 0 && values > 5;
}

/* Side of a cell in pixels of the input; 0: not a whole number of pixels, or different for columns and rows. */
static uint32_t stride_of(const net_shape *input, const net_shape *s, const head_layout *l) {
    uint64_t pixels = (uint64_t)input->w * input->h;
    uint64_t stride = (uint64_t)sqrt((double)pixels / l->cells);
    bool whole = stride > 0 && input->w % stride == 0 && input->h % stride == 0 && pixels == stride * stride * l->cells;
    bool square = l->element == 1 || (whole && s->w == input->w / stride);
    return whole && square ? (uint32_t)stride : 0;
}

net_status net_heads_fit(net_heads *heads, const net_graph *graph, net_error *err) {
    if (heads == NULL || graph == NULL || !graph->planned) {
        return net_fail(err, NET_ERR_ARG, "net_heads_fit: no planned graph");
    }
    if (heads->op != NULL) {
        return fit_named(heads, graph, err);
    }
    if (graph->num_outputs != heads->count || graph->input == NET_NONE) {
        return net_fail(err, NET_ERR_UNSUPPORTED, "%.200s: %u inputs and %u outputs, the anchors are for one and %u",
                        graph->name, graph->num_inputs, graph->num_outputs, heads->count);
    }
    const net_shape *input = &graph->blob[graph->input].shape;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < heads->count; i++) {
        const net_blob *blob = &graph->blob[graph->outputs[i]];
        head_layout l;
        bool fits = layout_of(&blob->shape, heads->anchors[i], &l);
        heads->stride[i] = fits ? stride_of(input, &blob->shape, &l) : 0;
        if (heads->stride[i] == 0 || (i > 0 && l.values - 5 != heads->classes)) {
            return net_fail(
                err, NET_ERR_UNSUPPORTED,
                "%.120s: output '%.60s' of %ux%ux%u (w, h, c) is not a head of %u anchor boxes over an input of %ux%u",
                graph->name, blob->name, blob->shape.w, blob->shape.h, blob->shape.c, heads->anchors[i], input->w,
                input->h);
        }
        heads->classes = l.values - 5;
        rows += (uint64_t)l.cells * heads->anchors[i];
    }
    heads->rows = (uint32_t)rows; /* all outputs together have fewer than NET_MAX_ELEMENTS elements */
    return NET_OK;
}

/* Adds the candidates of one anchor box of a head; returns the new number of candidates. */
static uint32_t decode(const net_shape *input, const head_layout *l, const float *value, const float *anchor,
                       uint32_t stride, float least, net_found *list, uint32_t count) {
    uint32_t columns = input->w / stride;
    for (uint32_t i = 0; i < l->cells; i++) {
        const float *cell = value + i * l->cell;
        uint32_t best = 5;
        for (uint32_t q = 6; q < l->values; q++) {
            best = cell[q * l->element] > cell[best * l->element] ? q : best;
        }
        float score = net_found_sigmoid(cell[4 * l->element]) * net_found_sigmoid(cell[best * l->element]);
        if (score >= least) {
            float x = (2.0f * net_found_sigmoid(cell[0]) - 0.5f + (float)(i % columns)) * (float)stride;
            float y = (2.0f * net_found_sigmoid(cell[l->element]) - 0.5f + (float)(i / columns)) * (float)stride;
            float w = 2.0f * net_found_sigmoid(cell[2 * l->element]);
            float h = 2.0f * net_found_sigmoid(cell[3 * l->element]);
            w = w * w * anchor[0] * 0.5f;
            h = h * h * anchor[1] * 0.5f;
            float in_w = (float)input->w;
            float in_h = (float)input->h;
            net_found *f = &list[count++];
            *f = (net_found){.score = score,
                             .label = best - 4,
                             .box = {(x - w) / in_w, (y - h) / in_h, (x + w) / in_w, (y + h) / in_h}};
            f->area = net_found_area(f->box);
        }
    }
    return count;
}

net_status net_heads_decode(const net_heads *heads, const net_graph *graph, const float *const *output, float least,
                            float overlap, float *row, net_error *err) {
    const net_shape *input = &graph->blob[graph->input].shape;
    net_found *list = malloc((size_t)heads->rows * sizeof *list + 1);
    uint32_t count = 0;
    if (list == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory for %u boxes", heads->rows);
    }
    if (heads->op != NULL) {
        net_decoded d = {.input = input, .least = least, .list = list, .rows = heads->rows};
        heads->op->decode(heads, graph, output, &d);
        count = d.count;
    }
    for (uint32_t i = 0; heads->op == NULL && i < heads->count; i++) {
        head_layout l;
        (void)layout_of(&graph->blob[graph->outputs[i]].shape, heads->anchors[i], &l);
        for (uint32_t a = 0; a < heads->anchors[i]; a++) {
            count = decode(input, &l, output[i] + a * l.anchor, &heads->size[i][2 * (size_t)a], heads->stride[i], least,
                           list, count);
        }
    }
    net_found_sort(list, count);
    net_found_write(list, net_found_suppress(list, count, overlap, NET_FOUND_PER_CLASS), row, heads->rows);
    free(list);
    return NET_OK;
}
