/* boxes.h - detections: from the output of a detection layer to boxes in pixels of the picture, and boxes drawn into
 * it. Part of network.h. */
#ifndef NET_BOXES_H
#define NET_BOXES_H

#include "network.h"
#include "picture.h"

/* Position of a picture of w x h in an input of in_w x in_h: its pixel (x, y) is at (left + x * scale_x, top + y *
 * scale_y). */
typedef struct net_fit {
    uint32_t w, h, in_w, in_h;
    float scale_x, scale_y, left, top;
} net_fit;

/* Stretched to the whole input, as ncnn's SSD and YOLOv3 examples do it. */
net_fit net_fit_stretched(const net_picture *picture, uint32_t in_w, uint32_t in_h);
/*
 * Letterbox, as ncnn's YOLOv5 example does it: the longer side fills the input, the aspect stays (sizes cut to whole
 * pixels), the rest on both sides (the smaller half left and above) has the colour `fill`. *out (which is overwritten)
 * is a picture of in_w x in_h. Errors: NET_ERR_ARG, NET_ERR_MEMORY.
 */
net_status net_fit_letterbox(const net_picture *picture, uint32_t in_w, uint32_t in_h, uint8_t fill, net_picture *out,
                             net_fit *fit, net_error *err);

/* Pixels of the picture, x and y of the upper left corner; inside the picture. */
typedef struct net_box {
    uint32_t label; /* as the layer numbers classes: from 1, 0 is the background */
    float score;
    float x, y, w, h;
} net_box;

/*
 * The graph's only output must come from DetectionOutput (SSD), YoloDetectionOutput or Yolov3DetectionOutput; *layer
 * (may be NULL) is that layer's number. NET_ERR_UNSUPPORTED: it does not, or there are several (heads without such a
 * layer).
 */
net_status net_boxes_layer(const net_graph *graph, uint32_t *layer, net_error *err);
/* The least score that the detection layer keeps, and the largest overlap (intersection over union), instead of those
 * in the file. 0..1; NaN: as in the file. */
net_status net_boxes_limits(net_graph *graph, float score, float overlap, net_error *err);
/*
 * Rows of the layer's output (label, score, xmin, ymin, xmax, ymax in parts of the input) as boxes in pixels of the
 * picture, best score first as the layer sorted them; boxes are clipped to the picture, and empty ones left out.
 * box[rows] must have space for all rows of the output. Returns how many.
 */
uint32_t net_boxes_read(const float *row, uint32_t rows, const net_fit *fit, net_box *box);

/* ---- heads without a detection layer: the file does not define their decoding ---- */

#define NET_MAX_HEADS 8u
#define NET_MAX_HEAD_OUTPUTS 32u
#define NET_MAX_ANCHORS 16u /* of a head */

typedef struct net_heads {
    const struct net_head_op *op; /* kind; NULL: YOLOv5 */
    uint32_t count;               /* of grids of cells */
    uint32_t anchors[NET_MAX_HEADS];
    float size[NET_MAX_HEADS][2 * NET_MAX_ANCHORS]; /* width and height of each anchor box in pixels of the input */
    /* filled by net_heads_fit() */
    uint32_t classes, rows;
    uint32_t stride[NET_MAX_HEADS];
    uint32_t score[NET_MAX_HEADS], box[NET_MAX_HEADS]; /* numbers of outputs; not of YOLOv5 */
} net_heads;

/*
 * A kind by its name: nanodet, scrfd, retinaface, ultraface, fastestdet, yolo-fastestv2, yolov8, yolov8-dfl,
 * yolov5-rows, yolox, or yolov5, which needs anchors. anchors: as for net_heads_parse(), for yolov5 and (instead of
 * those for COCO) yolo-fastestv2; else NULL. Errors: NET_ERR_ARG (another name, anchors too many or
 * missing), NET_ERR_FORMAT.
 */
net_status net_heads_named(net_heads *heads, const char *kind, const char *anchors, net_error *err);

/* "10,13,16,30/30,61": heads in the order of the network's outputs, width and height of each anchor box.
 * NET_ERR_FORMAT: something else. */
net_status net_heads_parse(net_heads *heads, const char *text, net_error *err);
/*
 * Match the heads with the outputs of a planned graph with one input, at most NET_MAX_HEAD_OUTPUTS of them. A kind of
 * net_heads_named() looks for its outputs by their shapes. YOLOv5: an output of a anchor boxes and k classes is a
 * convolution's (a * (5 + k) channels) or, as ncnn's YOLOv5 has it, 5 + k wide, a row for each cell, a channels; cells
 * are squares of a whole number of pixels. Errors: NET_ERR_UNSUPPORTED.
 */
net_status net_heads_fit(net_heads *heads, const net_graph *graph, net_error *err);
/*
 * Decode the outputs (output[i]: elements of graph->outputs[i]). YOLOv5: with s the sigmoid, centre
 * 2 s(x) - 0.5 + cell, size (2 s(w))^2 * anchor, score s(object) * s(best class). Boxes from score `least` on; of
 * two boxes of a class that overlap by more than `overlap` the better one stays. row[heads->rows][6] as detection
 * layers give them: net_boxes_read(). NET_ERR_MEMORY.
 */
net_status net_heads_decode(const net_heads *heads, const net_graph *graph, const float *const *output, float least,
                            float overlap, float *row, net_error *err);

/* Draw the outline of a box, `thick` pixels inwards, in a colour of its label. Parts outside the picture are not
 * drawn. */
void net_picture_draw_box(net_picture *picture, const net_box *box, uint32_t thick);
/* Red, green and blue of a label: 12 colours in turn. */
void net_box_colour(uint32_t label, uint8_t rgb[3]);
/* The picture as an 8 bit RGB PNG: the same bytes for the same pixels; written under a temporary name, then renamed.
 * Errors: NET_ERR_ARG, NET_ERR_IO, NET_ERR_MEMORY; NET_ERR_UNSUPPORTED in a build without libstb-dev. */
net_status net_picture_save_png(const net_picture *picture, const char *path, net_error *err);

#endif
